"""Making, upgrading and checking the schema, and keeping a host's Alembic from touching it.

The library's own history is recorded in the table ``intents_alembic_version``. A host may instead run the same
revisions in its own Alembic history (``version_locations``); then `upgrade` leaves the schema to it and says so.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext, MigrationStep
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, column, inspect, select, table

from intents.blueprint import (
    HEALED_BY_UPGRADE,
    MODEL_TABLES,
    TABLE_NAMES,
    VERSION_TABLE,
    Finding,
    blueprint_for,
    reading,
    require_supported,
    schema_problems,
)
from intents.errors import SchemaMismatch
from intents.schema_lock import schema_transaction

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Where a host that runs our revisions in its own history records them, and how it knows them there.
_HOST_VERSION_TABLE: Final = "alembic_version"
_REVISION_PREFIX: Final = "intents_"
_OUR_FILES: Final = re.compile(rf"{_REVISION_PREFIX}\d{{4}}_\w*\.py|__init__\.py")
_UPGRADE_REMEDY: Final = (
    "Run `intents upgrade` or call intents.upgrade(engine); where your own Alembic history holds the revisions, run "
    "`alembic upgrade heads`."
)
_STRAY_REMEDY: Final = (
    "`alembic revision` wrote there because it saw no other head. Move them to your own versions directory, with your "
    "last revision (or None) as down_revision, and say where the next ones belong: `alembic revision --head "
    "yourbranch@head --version-path migrations/versions`."
)
_NEWER_REMEDY: Final = "Install the version that made them: `pip install --upgrade standing-intents`."


def upgrade(engine_or_connection: Engine | Connection, revision: str = "head") -> None:
    """Bring the schema to a revision; when it is there already, nothing is done.

    Safe when several processes call it at once, on an empty database too: the lock is taken first and the recorded
    revision is read after it, so one process does the work and the others find it done. With nothing to do, no
    lock is taken, so that a start-up never waits for another process's writing.

    At the newest revision it also heals what can be made again from the code and the rows: a full-text table that is
    missing, older or damaged is rebuilt from the live rows; missing triggers and indexes are made. A schema made by
    ``metadata.create_all()`` is taken over: it is recorded as being at the newest revision.

    Transactions:

    * An engine, or a connection that is in no transaction: one transaction of its own, committed; nothing is left when
      it fails. On SQLite it begins with ``BEGIN IMMEDIATE``, in every transaction mode of the driver.
    * A connection in a transaction (``with engine.begin() as connection``, a host's migration, a session's connection):
      runs inside it and neither commits nor rolls it back; the host does. What a failed call did is undone by a
      savepoint. On SQLite:

      - in the legacy mode of pysqlite (the default) the driver has sent no BEGIN before the first write, so ``BEGIN
        IMMEDIATE`` is sent here and ends with the host's commit or rollback; the tables vanish with a rollback. Inside
        ``begin_nested()`` that mode cannot undo, and the call is refused;
      - with ``isolation_level=None`` and an event that emits BEGIN, or with ``autocommit=False``, the write lock is
        taken inside that transaction. If it has already read and another process has written since, `ConcurrentUpdate`
        says that the host must roll back and retry;
      - with AUTOCOMMIT there is no transaction to join: the call has one of its own and commits it.

      On PostgreSQL the advisory lock is held until the host's transaction ends, which should be READ COMMITTED. A
      connection in AUTOCOMMIT is refused.

    No logging is configured, no pragma is set, and Alembic's global ``op`` and ``context`` are left alone, so that it
    may be called from a host's own migration (not in its ``--sql`` mode, where there is no connection).

    Args:
        engine_or_connection: where the tables are, or shall be.
        revision: ``head``, an id such as ``intents_0001``, or a step such as ``+1``.

    Raises:
        ConcurrentUpdate: another process held the lock for longer than the host's busy or lock time-out.
        SchemaMismatch: the schema is too new, beyond healing or in the host's history; or a stray revision is there.
        UnsupportedDialect: neither SQLite nor PostgreSQL; SQLite too old or without FTS5; a mode that cannot undo.
        ValueError: there is no such revision above the present one.
    """
    script = _script_directory()
    if revision in ("head", "heads") and _is_whole(engine_or_connection, script):
        return
    with schema_transaction(engine_or_connection) as connection:
        require_supported(connection)
        present = _recorded(connection, VERSION_TABLE)
        _refuse_newer(script, present)
        if not present:
            if _is_kept_by_host(connection, script):
                _heal(connection)
                return
            present = _take_over(connection, script)
        _run(connection, script, revision, present, down=False)
        if _recorded(connection, VERSION_TABLE) == _heads(script):
            _heal(connection)


def downgrade(engine_or_connection: Engine | Connection, revision: str) -> None:
    """Take the schema back to an earlier revision; ``base`` drops the tables with all that is stored in them.

    Transactions are as in `upgrade`.

    Args:
        engine_or_connection: where the tables are.
        revision: ``base``, an id, or a step such as ``-1``.

    Raises:
        ConcurrentUpdate: another process holds the lock.
        SchemaMismatch: the schema is newer than this version, or not recorded in the library's own version table; or
            somebody's revision lies in the installed package.
        UnsupportedDialect: see `upgrade`.
        ValueError: there is no such revision below the present one.
    """
    script = _script_directory()
    with schema_transaction(engine_or_connection) as connection:
        require_supported(connection)
        present = _recorded(connection, VERSION_TABLE)
        _refuse_newer(script, present)
        if not present and _existing_tables(connection):
            raise SchemaMismatch(
                f"The schema of standing intents is not recorded in {VERSION_TABLE}.",
                "Run `alembic downgrade` in the history that made it, or intents.upgrade(engine) first to record it.",
            )
        if present:
            _run(connection, script, revision, present, down=True)
        drop_empty_version_table(connection)


def check_schema(engine_or_connection: Engine | Connection) -> None:
    """Make sure that the schema is the one this version works with; nothing is created, changed or committed.

    For the start of an application. Of the rows nothing is read; `intents.doctor.examine` does that. What a host added
    to our tables is not looked at.

    Raises:
        SchemaMismatch: the tables are missing, older or newer than this version, or damaged: a table, column,
            constraint, index or trigger is missing, AUTOINCREMENT is lost, the full-text table is absent, has other
            columns or lost the tables behind it; or somebody's revision lies in the installed package. The message
            names the command to run.
        UnsupportedDialect: neither SQLite nor PostgreSQL, or a SQLite that is older than 3.37 or lacks FTS5.
    """
    with reading(engine_or_connection) as connection:
        require_supported(connection)
        if not _existing_tables(connection):
            raise SchemaMismatch("The tables of standing intents are missing in this database.", _UPGRADE_REMEDY)
        script = _script_directory()
        present = _recorded(connection, VERSION_TABLE) or _recorded_by_host(connection)
        _refuse_newer(script, present)
        if present and present != _heads(script):
            raise SchemaMismatch(
                "The tables of standing intents are older than this version: "
                f"they are at {', '.join(sorted(present))}.",
                _UPGRADE_REMEDY,
            )
        _refuse_damage(schema_problems(connection))


def include_name(name: str | None, type_: str, parent_names: Mapping[str, Any]) -> bool:
    """Hide the library's tables from a host's autogenerate; everything else stays visible.

    For the ``env.py`` of a host whose ``target_metadata`` does not hold our tables::

        context.configure(..., include_name=intents.include_name)

    With a filter of the host's own::

        def include_name(name, type_, parent_names):
            return intents.include_name(name, type_, parent_names) and mine(name, type_, parent_names)

    Tables are known by their exact names, the tables behind the full-text index and our version table included.

    Args:
        name: the name that Alembic read from the database.
        type_: ``schema``, ``table``, ``column``, ``index``, ``unique_constraint`` or ``foreign_key_constraint``.
        parent_names: what it belongs to; not needed here.
    """
    return not (type_ == "table" and name in TABLE_NAMES)


def include_only_ours(name: str | None, type_: str, parent_names: Mapping[str, Any]) -> bool:
    """The filter of the library's own Alembic environment: only the tables of the models are compared."""
    return type_ != "table" or name in {model_table.name for model_table in MODEL_TABLES}


def drop_empty_version_table(connection: Connection) -> None:
    """Leave nothing behind when the schema is gone; Alembic by itself keeps its version table for ever."""
    if inspect(connection).has_table(VERSION_TABLE) and not _recorded(connection, VERSION_TABLE):
        connection.exec_driver_sql(f"DROP TABLE {VERSION_TABLE}")


def _script_directory() -> ScriptDirectory:
    """The library's own revisions, as installed.

    Raises:
        SchemaMismatch: a host's revision lies among them. Told by the file's name, so that nobody's code is run.
    """
    home = Path(next(iter(importlib.import_module("intents.migrations").__path__)))
    stray = sorted(str(path) for path in (home / "versions").glob("*.py") if not _OUR_FILES.fullmatch(path.name))
    if stray:
        raise SchemaMismatch(
            f"The installed package of standing intents holds revisions that are not its own: {', '.join(stray)}.",
            _STRAY_REMEDY,
        )
    return ScriptDirectory(str(home))


def _heads(script: ScriptDirectory) -> frozenset[str]:
    return frozenset(script.get_heads())


def _recorded(connection: Connection, version_table: str) -> frozenset[str]:
    if not inspect(connection).has_table(version_table):
        return frozenset()
    return frozenset(connection.scalars(select(column("version_num")).select_from(table(version_table))))


def _recorded_by_host(connection: Connection) -> frozenset[str]:
    return frozenset(each for each in _recorded(connection, _HOST_VERSION_TABLE) if each.startswith(_REVISION_PREFIX))


def _existing_tables(connection: Connection) -> frozenset[str]:
    return frozenset(inspect(connection).get_table_names()) & {model_table.name for model_table in MODEL_TABLES}


def _refuse_newer(script: ScriptDirectory, present: Iterable[str]) -> None:
    known = {revision.revision for revision in script.walk_revisions()}
    unknown = sorted(set(present) - known)
    if unknown:
        raise SchemaMismatch(
            f"The tables of standing intents were made by a newer version: {', '.join(unknown)} is not known here.",
            _NEWER_REMEDY,
        )


def _refuse_damage(problems: list[Finding]) -> None:
    if not problems:
        return
    shown = "; ".join(finding.message for finding in problems[:3])
    more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
    repairable = any(finding.repairable for finding in problems)
    raise SchemaMismatch(
        f"The schema of standing intents is damaged: {shown}{more}.",
        "Run `intents doctor --repair` on this database."
        if repairable
        else "Restore these from a backup or by a migration; `intents doctor` lists them all.",
    )


def _is_whole(target: Engine | Connection, script: ScriptDirectory) -> bool:
    """Whether there is nothing to do, so that no lock need be waited for.

    Not looked at inside a transaction: on SQLite the look would fix a snapshot that could not be written from.
    """
    if isinstance(target, Connection) and target.in_transaction():
        return False
    with reading(target) as connection:
        require_supported(connection)
        return _recorded(connection, VERSION_TABLE) == _heads(script) and not schema_problems(connection)


def _is_kept_by_host(connection: Connection, script: ScriptDirectory) -> bool:
    present = _recorded_by_host(connection)
    if not present:
        return False
    _refuse_newer(script, present)
    if present != _heads(script):
        raise SchemaMismatch(
            f"The schema of standing intents is kept by your own Alembic history, in {_HOST_VERSION_TABLE}.",
            "Run `alembic upgrade heads` there.",
        )
    return True


def _take_over(connection: Connection, script: ScriptDirectory) -> frozenset[str]:
    """Record a schema that is there without a history, made by ``metadata.create_all()``, as what it is."""
    if not _existing_tables(connection):
        return frozenset()
    _heal(connection)
    _refuse_damage(schema_problems(connection))
    context = _context(connection, script)
    context.stamp(script, "heads")
    return _heads(script)


def _context(connection: Connection, script: ScriptDirectory, **options: Any) -> MigrationContext:
    return MigrationContext.configure(
        connection,
        opts={"version_table": VERSION_TABLE, "script": script, "transaction_per_migration": False, **options},
    )


def _run(
    connection: Connection, script: ScriptDirectory, revision: str, present: frozenset[str], *, down: bool
) -> None:
    try:
        steps = _steps(script, revision, tuple(sorted(present)), down=down)
    except (CommandError, RevisionError) as error:
        raise ValueError(f"No revision {revision!r} can be reached from here: {error}") from error
    if not steps:
        return
    context = _context(connection, script, fn=lambda _heads, _context: steps)
    # Handed over instead of installed as alembic.op, which belongs to the host's run if one is under way.
    context.run_migrations(operations=Operations(context))


def _steps(script: ScriptDirectory, revision: str, present: tuple[str, ...], *, down: bool) -> list[MigrationStep]:
    if down:
        revisions = script.iterate_revisions(present, revision, select_for_downgrade=True)
        return [MigrationStep.downgrade_from_script(script.revision_map, each) for each in revisions]
    ahead = list(script.iterate_revisions(revision, present, implicit_base=True))
    return [MigrationStep.upgrade_from_script(script.revision_map, each) for each in reversed(ahead)]


def _heal(connection: Connection) -> None:
    problems = [finding for finding in schema_problems(connection) if finding.kind in HEALED_BY_UPGRADE]
    if problems:
        blueprint_for(connection.dialect.name).repair(connection, problems)
