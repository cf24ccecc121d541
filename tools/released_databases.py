"""Write the databases that a release leaves behind, as SQL, so that later releases can be held to upgrade them.

    python -m tools.released_databases

writes ``tests/fixtures/<revision>.sqlite.sql`` and ``….postgresql.sql`` for the newest revision: the schema as its
migration makes it, and intents of every status, made by the library itself at a clock that stands still. Run it while
a revision is being made; once it is released, its files stay as they are. `tests.schema.test_released_schemas` loads
them.
"""

from __future__ import annotations

import io
import itertools
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, inspect, text
from sqlalchemy.orm import sessionmaker

from intents import Analyzer, Identity, IntentCreate, IntentService, OwnerPolicy, Turn, upgrade
from intents.testing import FrozenClock

ROOT = Path(__file__).parent.parent
DIRECTORY = ROOT / "tests" / "fixtures"
START = datetime(2026, 7, 27, 9, tzinfo=UTC)
MIRA = Identity(provider="slack", sender_id="U-MIRA", conversation_id="C-RELEASE")
BEN = MIRA.model_copy(update={"sender_id": "U-BEN"})

#: Rows refer only to rows of tables before theirs.
_TABLES = (
    "standing_intent_turns",
    "standing_intents",
    "standing_intent_firings",
    "standing_intent_events",
    "standing_intent_anchors",
)


def main() -> None:
    """Write both files."""
    from tests import postgresql  # noqa: PLC0415 - needs the test extra

    DIRECTORY.mkdir(exist_ok=True)
    home = postgresql.new_home()
    try:
        with postgresql.database(postgresql.start(home)) as url:
            _write(create_engine(url))
        _write(create_engine("sqlite://"))
    finally:
        postgresql.stop(home)


def _write(engine: Engine) -> None:
    dialect = engine.dialect.name
    upgrade(engine)
    fill(engine)
    path = DIRECTORY / f"{head()}.{dialect}.sql"
    path.write_text("\n".join([schema(dialect), *rows(engine), ""]), encoding="utf-8")
    engine.dispose()
    print(f"wrote {path.relative_to(ROOT)}")


def head() -> str:
    """The newest revision."""
    (revision,) = ScriptDirectory(str(ROOT / "migrations")).get_heads()
    return revision


def schema(dialect: str) -> str:
    """The script that makes the schema, in one transaction, its revision recorded."""
    script = io.StringIO()
    config = Config(output_buffer=script)
    config.set_main_option("script_location", str(ROOT / "migrations"))
    config.set_main_option("sqlalchemy.url", f"{dialect}://")
    command.upgrade(config, "head", sql=True)
    return script.getvalue()


def rows(engine: Engine) -> Iterator[str]:
    """The rows as statements, each value as the database writes it."""
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SET TIME ZONE 'UTC'"))
        for table in _TABLES:
            if inspect(connection).has_table(table):
                yield from _rows_of(connection, table)


def _rows_of(connection: Connection, table: str) -> Iterator[str]:
    on_postgresql = connection.dialect.name == "postgresql"
    columns = [column["name"] for column in inspect(connection).get_columns(table)]
    quoted = ", ".join(f"quote_nullable({name}::text)" if on_postgresql else f"quote({name})" for name in columns)
    order = "1, 2, 3, 4" if table == "standing_intent_anchors" else "key"
    for row in connection.execute(text(f"SELECT {quoted} FROM {table} ORDER BY {order}")):  # noqa: S608
        yield f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(row)});"  # noqa: S608
    if on_postgresql and "key" in columns:
        yield f"SELECT setval(pg_get_serial_sequence('{table}', 'key'), (SELECT max(key) FROM {table}));"  # noqa: S608


def fill(engine: Engine) -> None:
    """Live through a few days: afterwards there is an intent of every status, and one whose delivery is open."""
    clock = FrozenClock(START)
    owners = OwnerPolicy(["slack:U-MIRA"])
    service = IntentService(sessionmaker(engine), owners=owners, analyzer=Analyzer(["en", "fr"]), clock=clock)
    another = IntentService(sessionmaker(engine), agent_id="another", owners=owners, clock=clock)
    numbers = itertools.count(1)

    def create(name: str, *keywords: str, by: IntentService = service, **fields: object) -> str:
        draft = IntentCreate.model_validate(
            {"description": name, "trigger_keywords": list(keywords), "sender_scope": "anyone", **fields}
        )
        return by.create(draft, by=MIRA, turn_id=f"create-{name}", session_id="s-1").id

    def say(words: str, *, hold: bool = False) -> Turn:
        turn = Turn(text=words, identity=BEN, id=f"m-{next(numbers)}", session_id="s-1", at=clock())
        assert service.match(turn, hold=hold), words  # noqa: S101 - or the dump would lack what it is for
        return turn

    with _steady_ids():
        create("armed", "release candidate", "RC")
        create("armed in French", "déployer", language="fr", channel_scope="conversation", exclude_keywords=["annulé"])
        create("armed with a phrase", '"press kit" launch', "发布检查清单", within=8, channel_scope="anywhere")
        create("armed for its owner", "invoice INC-4821", sender_scope="sender")
        create("armed of another agent", "release candidate", by=another)
        create("pending", "budget", armed=False)
        create("given back", "rollback")
        create("armed again", "standup", cooldown="PT1H")
        create("fired", "audit")
        create("done", "offsite", max_fires=1)
        create("held", "contract", max_fires=1)
        cancelled = create("cancelled", "lunch")
        create("expired", "webinar", expires_at=START + timedelta(hours=2))
        clock.advance(hours=1)
        service.release(say("Is there a rollback plan?", hold=True), reason="the reply was suppressed")
        say("The standup is at ten.")
        service.cancel(cancelled, by=MIRA, reason="said so")
        clock.advance(hours=2)
        service.sweep()
        service.confirm(say("How did the audit go?", hold=True))
        say("The offsite is booked.")
        say("Who signs the contract?", hold=True)


@contextmanager
def _steady_ids() -> Iterator[None]:
    ids = (uuid.UUID(int=number, version=4) for number in itertools.count(1))
    with mock.patch("uuid.uuid4", side_effect=ids):
        yield


if __name__ == "__main__":
    main()
