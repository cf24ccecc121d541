"""An admin page on SQLAdmin: list, look at, explain and cancel intents; never create, edit or delete one.

::

    app.mount("/intents", create_admin(service, authentication_backend=Backend(secret_key=...)))

Install with ``pip install "standing-intents[admin]"``.
"""

from __future__ import annotations

try:
    import itsdangerous as _signs_the_session_cookie  # noqa: F401
    import sqladmin as _sqladmin  # noqa: F401
except ImportError as error:
    raise ImportError(
        f'intents.contrib.admin needs SQLAdmin and what it imports ({error}): pip install "standing-intents[admin]"'
    ) from error

from intents.contrib.admin.app import create_admin

__all__ = ["create_admin"]
