"""The library's Alembic environment, shipped as the package ``intents.migrations``.

Two ways to use it: `intents.upgrade` keeps a version table of the library's own; or a host lists
``intents.migrations:versions`` in the ``version_locations`` of its own Alembic environment and runs both histories with
``alembic upgrade heads``. Revision ids are ``intents_0001``, ``intents_0002``, …; the branch label is ``intents``.

Revisions are frozen: they import nothing of the library, so that a migration never changes when the code does.
"""
