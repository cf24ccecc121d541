"""The database itself refuses what the lifecycle table does not have, and keeps the index in step: raw SQL included."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DatabaseError, IntegrityError

from intents import ddl
from intents.lifecycle import LIVE, TERMINAL, Status, allowed_moves
from tests.schema.rows import intent_values

Fill = Callable[..., int]
MOVES = [(source, target) for source in Status for target in Status if source is not target]
on_sqlite = pytest.mark.parametrize("engine", ["sqlite-file", "sqlite-memory", "sqlite-new"], indirect=True)

#: What a status needs beside itself to satisfy the row's constraints.
NEEDS = {
    Status.PENDING: "rearm_at = NULL, held_turn_key = NULL",
    Status.ARMED: "rearm_at = NULL, held_turn_key = NULL",
    Status.FIRED: "fire_count = 1, last_fired_at = created_at, rearm_at = expires_at",
    Status.DONE: "fire_count = 1, max_fires = 1, last_fired_at = created_at, rearm_at = NULL",
    Status.CANCELLED: "rearm_at = NULL, held_turn_key = NULL",
    Status.EXPIRED: "rearm_at = NULL, held_turn_key = NULL",
}


def status_of(connection: Connection, key: int) -> str:
    return str(connection.scalar(text("SELECT status FROM standing_intents WHERE key = :key"), {"key": key}))


def indexed(connection: Connection) -> list[int]:
    return list(connection.scalars(text(f"SELECT rowid FROM {ddl.FTS} ORDER BY rowid")))


def set_status(connection: Connection, key: int, status: Status) -> None:
    connection.execute(
        text(f"UPDATE standing_intents SET status = '{status}', {NEEDS[status]} WHERE key = :key"), {"key": key}
    )


@pytest.mark.parametrize(("source", "target"), MOVES)
@pytest.mark.parametrize("engine", ["sqlite-file", "sqlite-new", "postgresql"], indirect=True)
def test_exactly_the_moves_of_the_table_are_let_through(
    engine: Engine, fill: Fill, source: Status, target: Status
) -> None:
    with engine.begin() as connection:
        key = fill(connection, status=source.value)
    if (source, target) in allowed_moves():
        with engine.begin() as connection:
            set_status(connection, key, target)
            assert status_of(connection, key) == target
            if engine.dialect.name == "sqlite":
                assert indexed(connection) == ([key] if target in LIVE else [])
    else:
        with engine.connect() as connection:
            with pytest.raises(DatabaseError, match="not in the lifecycle table"):
                set_status(connection, key, target)
            connection.rollback()
            assert status_of(connection, key) == source


@pytest.mark.parametrize("column", ["key", "id"])
def test_key_and_id_never_change(engine: Engine, fill: Fill, column: str) -> None:
    with engine.begin() as connection:
        key = fill(connection)
    value = "key + 1" if column == "key" else "'another'"
    with engine.connect() as connection, pytest.raises(DatabaseError, match="key and id never change"):
        connection.execute(text(f"UPDATE standing_intents SET {column} = {value} WHERE key = {key}"))


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("by", ["key", "id", "fingerprint"])
@on_sqlite
def test_insert_or_replace_revives_nothing(engine: Engine, fill: Fill, status: Status, by: str) -> None:
    with engine.begin() as connection:
        key = fill(connection, status=status.value, id="the-id", fingerprint="f" * 64)
        before = connection.execute(text("SELECT * FROM standing_intents")).all()
    copied = {
        "key": f"{key}, 'other-id', 'other'",
        "id": "NULL, 'the-id', 'other'",
        "fingerprint": f"NULL, 'other-id', '{'f' * 64}'",
    }[by]
    columns = [name for name in before[0]._fields if name not in ("key", "id", "fingerprint", "status")]
    replace = (
        f"INSERT OR REPLACE INTO standing_intents (key, id, fingerprint, status, {', '.join(columns)})"
        f" SELECT {copied}, 'armed', {', '.join(columns)} FROM standing_intents"
    )
    with engine.connect() as connection:
        if by == "fingerprint" and status in TERMINAL:
            connection.execute(text(replace))  # the same draft may be given again once the first one is over
            assert status_of(connection, key) == status
        else:
            with pytest.raises(IntegrityError, match=r"never replaced|CHECK"):
                connection.execute(text(replace))
        connection.rollback()
        assert connection.execute(text("SELECT * FROM standing_intents")).all() == before


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_on_conflict_do_update_revives_nothing(engine: Engine, fill: Fill) -> None:
    with engine.begin() as connection:
        fill(connection, status="cancelled", id="the-id")
    with engine.connect() as connection, pytest.raises(DatabaseError, match="not in the lifecycle table"):
        connection.execute(
            text(
                "INSERT INTO standing_intents SELECT * FROM standing_intents"
                " ON CONFLICT (id) DO UPDATE SET status = 'armed'"
            )
        )


@on_sqlite
def test_the_index_follows_a_live_row(engine: Engine, fill: Fill) -> None:
    def found(connection: Connection, term: str) -> list[int]:
        query = text(f"SELECT rowid FROM {ddl.FTS} WHERE {ddl.FTS} MATCH :term")
        return list(connection.scalars(query, {"term": f"anchors : {term}"}))

    with engine.begin() as connection:
        first, second = fill(connection, anchors="a1 a2"), fill(connection, anchors="a1", status="pending")
        assert found(connection, "a1") == [first, second]
        connection.execute(text(f"UPDATE standing_intents SET anchors = 'a3' WHERE key = {first}"))
        assert (found(connection, "a1"), found(connection, "a3")) == ([second], [first])
        set_status(connection, first, Status.FIRED)
        assert found(connection, "a3") == [first]
        set_status(connection, first, Status.CANCELLED)
        assert found(connection, "a3") == []
        # A row that is over stays out, whatever happens to its anchors.
        connection.execute(text(f"UPDATE standing_intents SET anchors = 'a4', scope = 's' WHERE key = {first}"))
        assert indexed(connection) == [second]
        connection.execute(text(f"DELETE FROM standing_intents WHERE key = {second}"))
        assert indexed(connection) == []
        connection.exec_driver_sql(f"INSERT INTO {ddl.FTS} ({ddl.FTS}) VALUES ('integrity-check')")


def _index_on_disk(connection: Connection) -> str:
    """A digest of everything that FTS5 keeps."""
    digest = hashlib.sha256()
    for shadow in ddl.FTS_SHADOWS:
        for row in connection.exec_driver_sql(f"SELECT * FROM {shadow}"):
            digest.update(repr(tuple(row)).encode())
    return digest.hexdigest()


@pytest.mark.parametrize("engine", ["sqlite-file", "sqlite-new"], indirect=True)
def test_an_update_of_last_fired_at_does_not_write_the_index(engine: Engine, fill: Fill) -> None:
    with engine.begin() as connection:
        key = fill(connection, status="fired")
        columns = [name for name in intent_values(status="fired") if name not in ("id", "fingerprint")]
        listed = ", ".join(columns)
        connection.execute(
            text(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)"
                f" INSERT INTO standing_intents (id, fingerprint, {listed})"
                f" SELECT i, i, {listed} FROM n, standing_intents"
            )
        )
    with engine.connect() as connection:
        raw: Any = connection.connection.driver_connection
        assert connection.scalar(text("SELECT count(*) FROM standing_intents")) == 10_000
        on_disk, changes = _index_on_disk(connection), raw.total_changes
        for change in (
            "last_fired_at = '2026-07-28 12:00:00.000000'",
            "rearm_at = '2026-07-29 12:00:00.000000', version = version + 1, updated_at = last_fired_at",
            "status = 'armed', rearm_at = NULL",
            "status = 'fired', fire_count = fire_count + 1, rearm_at = last_fired_at",
            "anchors = anchors, scope = scope, status = status",
        ):
            connection.execute(text(f"UPDATE standing_intents SET {change} WHERE key = {key}"))
            changes += 1
            assert raw.total_changes == changes, change
        assert _index_on_disk(connection) == on_disk
        # The measure does see a write of the index.
        connection.execute(text(f"UPDATE standing_intents SET anchors = 'a9' WHERE key = {key}"))
        assert raw.total_changes > changes + 1
        connection.commit()
        assert _index_on_disk(connection) != on_disk


@pytest.mark.parametrize("verb", ["UPDATE", "UPDATE OR REPLACE", "UPDATE OR IGNORE"])
def test_an_update_never_replaces_a_live_row(engine: Engine, fill: Fill, verb: str) -> None:
    if engine.dialect.name == "postgresql":
        verb = "UPDATE"
    with engine.begin() as connection:
        first, second = fill(connection, fingerprint="a" * 64), fill(connection, fingerprint="b" * 64)
        over = fill(connection, fingerprint="c" * 64, status="cancelled")
    with engine.connect() as connection, pytest.raises(IntegrityError):
        connection.execute(text(f"{verb} standing_intents SET fingerprint = '{'a' * 64}' WHERE key = {second}"))
    with engine.begin() as connection:
        # A row that is over is in nobody's way, and stands in no way itself.
        connection.execute(text(f"{verb} standing_intents SET fingerprint = '{'a' * 64}' WHERE key = {over}"))
        connection.execute(text(f"{verb} standing_intents SET fingerprint = '{'c' * 64}' WHERE key = {second}"))
        keys = connection.scalars(text("SELECT key FROM standing_intents ORDER BY key")).all()
        assert keys == [first, second, over]


TURN = (
    "standing_intent_turns (key, agent_id, turn_key, delivery, context, matched_at)"
    " VALUES (:key, :agent, :turn, 'delivered', :context, '2026-07-27 12:00:00.000000')"
)


@pytest.mark.parametrize(
    ("key", "agent", "turn", "kept"),
    [
        (1, "main", "t-2", "first"),
        (1, "another", None, "first"),
        (1, "main", "t-1", "first"),
        (None, "main", "t-1", "first"),
        (2, "main", "t-1", "first"),
        (2, "main", "t-2", "first second"),
        (None, "another", "t-1", "first second"),
        (None, "main", None, "first second"),
    ],
)
@pytest.mark.parametrize("verb", ["INSERT OR REPLACE", "INSERT"])
@on_sqlite
def test_a_turn_is_never_replaced(
    engine: Engine, verb: str, key: int | None, agent: str, turn: str | None, kept: str
) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"INSERT INTO {TURN}"), {"key": 1, "agent": "main", "turn": "t-1", "context": "first"})
    with engine.connect() as connection:
        refused = pytest.raises(IntegrityError, match="standing_intent_turns: this row exists and is never replaced")
        # A turn id that is there already is passed over without an error.
        with refused if key == 1 and turn != "t-1" else contextlib.nullcontext():
            new = {"key": key, "agent": agent, "turn": turn, "context": "second"}
            written = connection.execute(text(f"{verb} INTO {TURN} RETURNING key"), new).all()
            assert len(written) == kept.count("second")
        assert " ".join(connection.scalars(text("SELECT context FROM standing_intent_turns ORDER BY key"))) == kept


@pytest.mark.parametrize("change", ["turn_key = 't-1'", "turn_key = 't-3'", "key = 1", "key = 3", "agent_id = 'other'"])
@pytest.mark.parametrize("verb", ["UPDATE", "UPDATE OR REPLACE"])
@on_sqlite
def test_a_turn_keeps_its_identity(engine: Engine, change: str, verb: str) -> None:
    with engine.begin() as connection:
        for key in (1, 2):
            values = {"key": key, "agent": "main", "turn": f"t-{key}", "context": ""}
            connection.execute(text(f"INSERT INTO {TURN}"), values)
    with engine.connect() as connection:
        with pytest.raises(IntegrityError, match="key, agent_id and turn_key never change"):
            connection.execute(text(f"{verb} standing_intent_turns SET {change} WHERE key = 2"))
        connection.execute(text("UPDATE standing_intent_turns SET context = 'new', key = key WHERE key = 2"))
        assert connection.scalars(text("SELECT turn_key FROM standing_intent_turns ORDER BY key")).all() == [
            "t-1",
            "t-2",
        ]


@on_sqlite
def test_a_firing_is_never_replaced(engine: Engine, fill: Fill) -> None:
    firing = (
        "INSERT OR REPLACE INTO standing_intent_firings (key, turn_key, intent_key, entry, fired_at)"
        " VALUES (1, 1, :key, :entry, '2026-07-27 12:00:00.000000')"
    )
    with engine.begin() as connection:
        key = fill(connection)
        connection.execute(text(f"INSERT INTO {TURN}"), {"key": 1, "agent": "main", "turn": "t-1", "context": ""})
        connection.execute(text(firing), {"key": key, "entry": "release candidate"})
    with engine.connect() as connection:
        with pytest.raises(IntegrityError, match="standing_intent_firings: this row exists and is never replaced"):
            connection.execute(text(firing), {"key": key, "entry": "another"})
        assert connection.scalars(text("SELECT entry FROM standing_intent_firings")).all() == ["release candidate"]


@on_sqlite
def test_a_line_of_the_log_is_never_replaced(engine: Engine, fill: Fill) -> None:
    line = (
        "INSERT OR REPLACE INTO standing_intent_events (key, agent_id, intent_key, event, to_status, at, actor)"
        " VALUES (1, 'main', :key, 'create', 'armed', '2026-07-27 12:00:00.000000', :actor)"
    )
    with engine.begin() as connection:
        key = fill(connection)
        connection.execute(text(line), {"key": key, "actor": "slack/default:U1"})
    with engine.connect() as connection, pytest.raises(IntegrityError, match="append-only"):
        connection.execute(text(line), {"key": key, "actor": "somebody else"})


def test_the_log_is_append_only(engine: Engine, fill: Fill) -> None:
    with engine.begin() as connection:
        key = fill(connection)
        connection.execute(
            text(
                "INSERT INTO standing_intent_events (agent_id, intent_key, event, to_status, at, actor)"
                f" VALUES ('main', {key}, 'create', 'armed', '2026-07-27 12:00:00.000000', 'slack/default:U1')"
            )
        )
    with engine.connect() as connection, pytest.raises(DatabaseError, match="append-only"):
        connection.execute(text("UPDATE standing_intent_events SET actor = 'somebody else'"))


BAD_VALUES = [
    {"status": "revived"},
    {"max_fires": 0},
    {"max_fires": 1001},
    {"fire_count": 4, "last_fired_at": intent_values()["created_at"]},
    {"fire_count": -1},
    {"cooldown_seconds": -1.0},
    {"cooldown_seconds": 31622401.0},
    {"within": 0},
    {"description": ""},
    {"anchors": ""},
    {"fire_count": 1},
    {"last_fired_at": intent_values()["created_at"]},
    {"status": "fired", "rearm_at": None},
    {"status": "done", "max_fires": 2},
    {"channel_scope": "channel"},
    {"channel_scope": "conversation", "channel_key": "[]"},
    {"channel_key": "[]"},
    {"sender_scope": "sender"},
    {"sender_id": "U1"},
    {"channel_scope": "planet"},
    {"agent_id": None},
]


@pytest.mark.parametrize("values", BAD_VALUES, ids=[",".join(values) for values in BAD_VALUES])
@pytest.mark.parametrize("engine", ["sqlite-file", "postgresql"], indirect=True)
def test_impossible_rows_are_refused(engine: Engine, fill: Fill, values: dict[str, Any]) -> None:
    with engine.connect() as connection, pytest.raises((DatabaseError, LookupError)):
        fill(connection, **values)


def test_a_live_draft_is_there_once_and_may_come_again_after_the_end(engine: Engine, fill: Fill) -> None:
    with engine.begin() as connection:
        fill(connection, fingerprint="f" * 64, status="cancelled")
        fill(connection, fingerprint="f" * 64, status="done")
        fill(connection, fingerprint="f" * 64)
        fill(connection, fingerprint="f" * 64, agent_id="another")
    with engine.connect() as connection, pytest.raises(IntegrityError):
        fill(connection, fingerprint="f" * 64, status="pending")
