"""The tables of standing intents, the index of their triggers, and what protects them.

Revision ID: intents_0001
Revises:
Created: 2026-07-27

A frozen copy: nothing of the library is imported here, so that this revision never changes when the code does. A test
holds it against the models and the lifecycle table.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op as alembic_op
from alembic.operations import Operations

revision = "intents_0001"
down_revision = None
branch_labels = ("intents",)
depends_on = None

# SQLite's rowid alias must be declared INTEGER; moments are fixed-width text there, so that text order is time order.
_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_MOMENT = sa.DateTime(timezone=True).with_variant(sa.String(26), "sqlite")

_IS_LIVE = sa.text("status IN ('pending', 'armed', 'fired')")
_IS_TERMINAL = sa.text("status IN ('done', 'cancelled', 'expired')")
_IS_FIRED = sa.text("status = 'fired'")

_FTS = "standing_intents_fts"
_CREATE_FTS = (
    f"CREATE VIRTUAL TABLE {_FTS} USING fts5(anchors, scope, tokenize = 'ascii', detail = 'column', columnsize = 0)"
)
_TUNE_FTS = tuple(
    f"INSERT INTO {_FTS} ({_FTS}, rank) VALUES ('{name}', {value})"  # noqa: S608
    for name, value in (("automerge", 2), ("crisismerge", 4))
)
#: What FTS5 keeps its table in. Left behind without their parent they would be in the way of a new one.
_FTS_SHADOWS = tuple(f"{_FTS}_{part}" for part in ("config", "content", "data", "docsize", "idx"))

_SQLITE_TRIGGERS = (
    """CREATE TRIGGER standing_intents_guard_status
BEFORE UPDATE OF status ON standing_intents
WHEN NEW.status IS NOT OLD.status AND NOT (
    (OLD.status = 'pending' AND NEW.status = 'armed') OR
    (OLD.status = 'armed' AND NEW.status = 'fired') OR
    (OLD.status = 'fired' AND NEW.status = 'done') OR
    (OLD.status = 'fired' AND NEW.status = 'armed') OR
    (OLD.status = 'pending' AND NEW.status = 'cancelled') OR
    (OLD.status = 'armed' AND NEW.status = 'cancelled') OR
    (OLD.status = 'fired' AND NEW.status = 'cancelled') OR
    (OLD.status = 'pending' AND NEW.status = 'expired') OR
    (OLD.status = 'armed' AND NEW.status = 'expired') OR
    (OLD.status = 'fired' AND NEW.status = 'expired')
)
BEGIN SELECT RAISE(ABORT, 'standing_intents: this status change is not in the lifecycle table'); END""",
    """CREATE TRIGGER standing_intents_guard_identity
BEFORE UPDATE ON standing_intents
WHEN NEW.key IS NOT OLD.key OR NEW.id IS NOT OLD.id
BEGIN SELECT RAISE(ABORT, 'standing_intents: key and id never change'); END""",
    """CREATE TRIGGER standing_intents_guard_insert
BEFORE INSERT ON standing_intents
WHEN EXISTS (SELECT 1 FROM standing_intents WHERE key = NEW.key)
    OR EXISTS (SELECT 1 FROM standing_intents WHERE id = NEW.id)
    OR (NEW.status IN ('pending', 'armed', 'fired') AND EXISTS (
        SELECT 1 FROM standing_intents WHERE agent_id = NEW.agent_id AND fingerprint = NEW.fingerprint
        AND status IN ('pending', 'armed', 'fired')))
BEGIN SELECT RAISE(ABORT, 'standing_intents: this row exists and is never replaced'); END""",
    """CREATE TRIGGER standing_intents_guard_twin
BEFORE UPDATE OF agent_id, fingerprint ON standing_intents
WHEN NEW.status IN ('pending', 'armed', 'fired') AND EXISTS (
    SELECT 1 FROM standing_intents WHERE agent_id = NEW.agent_id AND fingerprint = NEW.fingerprint
    AND status IN ('pending', 'armed', 'fired') AND key <> OLD.key)
BEGIN SELECT RAISE(ABORT, 'standing_intents: this row exists and is never replaced'); END""",
    """CREATE TRIGGER standing_intents_index_insert
AFTER INSERT ON standing_intents
WHEN NEW.status IN ('pending', 'armed', 'fired')
BEGIN INSERT OR REPLACE INTO standing_intents_fts (rowid, anchors, scope) VALUES (NEW.key, NEW.anchors, NEW.scope); END""",  # noqa: E501
    """CREATE TRIGGER standing_intents_index_update
AFTER UPDATE OF anchors, scope, status ON standing_intents
WHEN NEW.status IN ('pending', 'armed', 'fired') AND (OLD.status NOT IN ('pending', 'armed', 'fired')
    OR NEW.anchors IS NOT OLD.anchors OR NEW.scope IS NOT OLD.scope)
BEGIN INSERT OR REPLACE INTO standing_intents_fts (rowid, anchors, scope) VALUES (NEW.key, NEW.anchors, NEW.scope); END""",  # noqa: E501
    """CREATE TRIGGER standing_intents_index_retire
AFTER UPDATE OF status ON standing_intents
WHEN OLD.status IN ('pending', 'armed', 'fired') AND NEW.status NOT IN ('pending', 'armed', 'fired')
BEGIN DELETE FROM standing_intents_fts WHERE rowid = OLD.key; END""",
    """CREATE TRIGGER standing_intents_index_delete
AFTER DELETE ON standing_intents
WHEN OLD.status IN ('pending', 'armed', 'fired')
BEGIN DELETE FROM standing_intents_fts WHERE rowid = OLD.key; END""",
    """CREATE TRIGGER standing_intent_turns_guard_insert
BEFORE INSERT ON standing_intent_turns
WHEN EXISTS (SELECT 1 FROM standing_intent_turns WHERE key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'standing_intent_turns: this row exists and is never replaced'); END""",
    """CREATE TRIGGER standing_intent_turns_guard_repetition
BEFORE INSERT ON standing_intent_turns
WHEN EXISTS (SELECT 1 FROM standing_intent_turns WHERE agent_id = NEW.agent_id AND turn_key = NEW.turn_key)
BEGIN SELECT RAISE(IGNORE); END""",
    """CREATE TRIGGER standing_intent_turns_guard_identity
BEFORE UPDATE OF key, agent_id, turn_key ON standing_intent_turns
WHEN NEW.key IS NOT OLD.key OR NEW.agent_id IS NOT OLD.agent_id OR NEW.turn_key IS NOT OLD.turn_key
BEGIN SELECT RAISE(ABORT, 'standing_intent_turns: key, agent_id and turn_key never change'); END""",
    """CREATE TRIGGER standing_intent_firings_guard_insert
BEFORE INSERT ON standing_intent_firings
WHEN EXISTS (SELECT 1 FROM standing_intent_firings WHERE key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'standing_intent_firings: this row exists and is never replaced'); END""",
    """CREATE TRIGGER standing_intent_events_guard_insert
BEFORE INSERT ON standing_intent_events
WHEN EXISTS (SELECT 1 FROM standing_intent_events WHERE key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'standing_intent_events: the log is append-only'); END""",
    """CREATE TRIGGER standing_intent_events_guard_update
BEFORE UPDATE ON standing_intent_events
BEGIN SELECT RAISE(ABORT, 'standing_intent_events: the log is append-only'); END""",
)

_POSTGRESQL_TRIGGERS = (
    """CREATE FUNCTION standing_intents_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.key <> OLD.key OR NEW.id <> OLD.id THEN
        RAISE EXCEPTION 'standing_intents: key and id never change' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.status <> OLD.status AND NOT (
        (OLD.status = 'pending' AND NEW.status = 'armed') OR
    (OLD.status = 'armed' AND NEW.status = 'fired') OR
    (OLD.status = 'fired' AND NEW.status = 'done') OR
    (OLD.status = 'fired' AND NEW.status = 'armed') OR
    (OLD.status = 'pending' AND NEW.status = 'cancelled') OR
    (OLD.status = 'armed' AND NEW.status = 'cancelled') OR
    (OLD.status = 'fired' AND NEW.status = 'cancelled') OR
    (OLD.status = 'pending' AND NEW.status = 'expired') OR
    (OLD.status = 'armed' AND NEW.status = 'expired') OR
    (OLD.status = 'fired' AND NEW.status = 'expired')
    ) THEN
        RAISE EXCEPTION 'standing_intents: this status change is not in the lifecycle table' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$""",  # noqa: E501
    "CREATE TRIGGER standing_intents_guard BEFORE UPDATE OF key, id, status ON standing_intents "
    "FOR EACH ROW EXECUTE FUNCTION standing_intents_guard()",
    """CREATE FUNCTION standing_intent_events_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'standing_intent_events: the log is append-only' USING ERRCODE = 'check_violation';
END $$""",
    "CREATE TRIGGER standing_intent_events_guard BEFORE UPDATE ON standing_intent_events "
    "FOR EACH ROW EXECUTE FUNCTION standing_intent_events_guard()",
)


def upgrade(operations: Operations | None = None, **_: object) -> None:
    """Make the schema; `operations` comes from `intents.upgrade`, Alembic's global ``op`` from its commands."""
    op: Operations = alembic_op if operations is None else operations  # type: ignore[assignment]
    on_sqlite = _is_sqlite(op)
    _create_turns(op)
    _create_intents(op)
    _create_firings(op)
    _create_events(op)
    if on_sqlite:
        for shadow in _FTS_SHADOWS:
            op.execute(f"DROP TABLE IF EXISTS {shadow}")
        for statement in (_CREATE_FTS, *_TUNE_FTS, *_SQLITE_TRIGGERS):
            op.execute(statement)
    else:
        _create_anchors(op)
        for statement in _POSTGRESQL_TRIGGERS:
            op.execute(statement)


def downgrade(operations: Operations | None = None, **_: object) -> None:
    """Drop the schema and everything that was stored in it."""
    op: Operations = alembic_op if operations is None else operations  # type: ignore[assignment]
    on_sqlite = _is_sqlite(op)
    op.execute(f"DROP TABLE IF EXISTS {_FTS}") if on_sqlite else op.drop_table("standing_intent_anchors")
    for table in ("standing_intent_events", "standing_intent_firings", "standing_intents", "standing_intent_turns"):
        op.drop_table(table)
    if not on_sqlite:
        for function in ("standing_intents_guard", "standing_intent_events_guard"):
            op.execute(f"DROP FUNCTION {function}()")


def _is_sqlite(op: Operations) -> bool:
    dialect = op.get_context().dialect.name
    if dialect not in ("sqlite", "postgresql"):
        raise NotImplementedError(f"Standing intents live in SQLite or PostgreSQL, not in {dialect}.")
    return dialect == "sqlite"


def _create_turns(op: Operations) -> None:
    op.create_table(
        "standing_intent_turns",
        sa.Column("key", _KEY, nullable=False),
        sa.Column("agent_id", sa.String(512), nullable=False),
        sa.Column("turn_key", sa.String(64)),
        sa.Column("turn_id", sa.String(512)),
        sa.Column("session_id", sa.String(512)),
        sa.Column("delivery", sa.String(16), nullable=False),
        sa.Column("held_until", _MOMENT),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("sent_at", _MOMENT),
        sa.Column("matched_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_standing_intent_turns")),
        sa.CheckConstraint(
            "delivery IN ('delivered', 'held', 'released')", name=op.f("ck_standing_intent_turns_delivery")
        ),
        sa.CheckConstraint(
            "(delivery = 'held') = (held_until IS NOT NULL)", name=op.f("ck_standing_intent_turns_held_until")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("uq_standing_intent_turns_turn"), "standing_intent_turns", ["agent_id", "turn_key"], unique=True
    )


def _create_intents(op: Operations) -> None:
    op.create_table(
        "standing_intents",
        sa.Column("key", _KEY, nullable=False),
        sa.Column("id", sa.String(36), nullable=False),
        sa.Column("agent_id", sa.String(512), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("trigger_keywords", sa.JSON(), nullable=False),
        sa.Column("exclude_keywords", sa.JSON(), nullable=False),
        sa.Column("language", sa.String(16), nullable=False),
        sa.Column("within", sa.Integer()),
        sa.Column("clauses", sa.JSON(), nullable=False),
        sa.Column("anchors", sa.Text(), nullable=False),
        sa.Column("scope", sa.String(64), nullable=False),
        sa.Column("analyzer_version", sa.String(64), nullable=False),
        sa.Column("channel_scope", sa.String(16), nullable=False),
        sa.Column("channel_key", sa.Text()),
        sa.Column("conversation_id", sa.String(512)),
        sa.Column("sender_scope", sa.String(16), nullable=False),
        sa.Column("sender_key", sa.Text()),
        sa.Column("sender_id", sa.String(512)),
        sa.Column("creator_provider", sa.String(512), nullable=False),
        sa.Column("creator_account", sa.String(512), nullable=False),
        sa.Column("creator_sender", sa.String(512), nullable=False),
        sa.Column("creator_conversation", sa.String(512)),
        sa.Column("source_session_id", sa.String(512)),
        sa.Column("source_turn_key", sa.String(64)),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("expires_at", _MOMENT, nullable=False),
        sa.Column("max_fires", sa.Integer(), nullable=False),
        sa.Column("fire_count", sa.Integer(), nullable=False),
        sa.Column("cooldown_seconds", sa.Double(), nullable=False),
        sa.Column("last_fired_at", _MOMENT),
        sa.Column("rearm_at", _MOMENT),
        sa.Column("held_turn_key", _KEY),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("updated_at", _MOMENT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_standing_intents")),
        *(
            sa.CheckConstraint(condition, name=op.f(f"ck_standing_intents_{name}"))
            for name, condition in _INTENT_CHECKS.items()
        ),
        sa.UniqueConstraint("id", name=op.f("uq_standing_intents_id")),
        sa.ForeignKeyConstraint(
            ["held_turn_key"], ["standing_intent_turns.key"], name=op.f("fk_standing_intents_held_turn_key")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_standing_intents_agent"), "standing_intents", ["agent_id", "key"])
    for name, column, where in (
        ("uq_standing_intents_live_fingerprint", "fingerprint", _IS_LIVE),
        ("ix_standing_intents_live_expiry", "expires_at", _IS_LIVE),
        ("ix_standing_intents_fired_rearm", "rearm_at", _IS_FIRED),
        ("ix_standing_intents_live_analyzer", "analyzer_version", _IS_LIVE),
        ("ix_standing_intents_ended", "updated_at", _IS_TERMINAL),
    ):
        op.create_index(
            op.f(name),
            "standing_intents",
            ["agent_id", column],
            unique=name.startswith("uq_"),
            sqlite_where=where,
            postgresql_where=where,
        )


_INTENT_CHECKS = {
    "status": "status IN ('pending', 'armed', 'fired', 'done', 'cancelled', 'expired')",
    "max_fires": "max_fires BETWEEN 1 AND 1000",
    "fire_count": "fire_count BETWEEN 0 AND max_fires",
    "cooldown": "cooldown_seconds BETWEEN 0 AND 31622400",
    "within": "within IS NULL OR within >= 1",
    "description": "description <> ''",
    "anchors": "anchors <> ''",
    "done": "status <> 'done' OR fire_count = max_fires",
    "fired": "status <> 'fired' OR (fire_count > 0 AND last_fired_at IS NOT NULL AND rearm_at IS NOT NULL)",
    "held": "held_turn_key IS NULL OR status = 'fired'",
    "last_fired_at": "(fire_count = 0) = (last_fired_at IS NULL)",
    "channel_scope": (
        "(channel_scope = 'anywhere' AND channel_key IS NULL AND conversation_id IS NULL)"
        " OR (channel_scope = 'channel' AND channel_key IS NOT NULL AND conversation_id IS NULL)"
        " OR (channel_scope = 'conversation' AND channel_key IS NOT NULL AND conversation_id IS NOT NULL)"
    ),
    "sender_scope": (
        "(sender_scope = 'anyone' AND sender_key IS NULL AND sender_id IS NULL)"
        " OR (sender_scope = 'sender' AND sender_key IS NOT NULL AND sender_id IS NOT NULL)"
    ),
}


def _create_firings(op: Operations) -> None:
    op.create_table(
        "standing_intent_firings",
        sa.Column("key", _KEY, nullable=False),
        sa.Column("turn_key", _KEY, nullable=False),
        sa.Column("intent_key", _KEY, nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
        sa.Column("fired_at", _MOMENT, nullable=False),
        sa.Column("previous_fired_at", _MOMENT),
        sa.Column("released_at", _MOMENT),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_standing_intent_firings")),
        sa.ForeignKeyConstraint(
            ["turn_key"], ["standing_intent_turns.key"], name=op.f("fk_standing_intent_firings_turn_key")
        ),
        sa.ForeignKeyConstraint(
            ["intent_key"], ["standing_intents.key"], name=op.f("fk_standing_intent_firings_intent_key")
        ),
        sqlite_autoincrement=True,
    )
    for column in ("turn_key", "intent_key"):
        op.create_index(op.f(f"ix_standing_intent_firings_{column}"), "standing_intent_firings", [column])


def _create_events(op: Operations) -> None:
    op.create_table(
        "standing_intent_events",
        sa.Column("key", _KEY, nullable=False),
        sa.Column("agent_id", sa.String(512), nullable=False),
        sa.Column("intent_key", _KEY, nullable=False),
        sa.Column("event", sa.String(16), nullable=False),
        sa.Column("from_status", sa.String(16)),
        sa.Column("to_status", sa.String(16), nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("turn_id", sa.String(512)),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text()),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_standing_intent_events")),
        sa.CheckConstraint("(event = 'create') = (from_status IS NULL)", name=op.f("ck_standing_intent_events_create")),
        sa.ForeignKeyConstraint(
            ["intent_key"], ["standing_intents.key"], name=op.f("fk_standing_intent_events_intent_key")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_standing_intent_events_intent_key"), "standing_intent_events", ["intent_key"])


def _create_anchors(op: Operations) -> None:
    op.create_table(
        "standing_intent_anchors",
        sa.Column("agent_id", sa.String(512), nullable=False),
        sa.Column("scope", sa.String(64), nullable=False),
        sa.Column("term", sa.Text(), nullable=False),
        sa.Column("intent_key", sa.BigInteger(), nullable=False, autoincrement=False),
        # Named, like everything here: what has no name gets one from the convention of the host that runs this.
        sa.PrimaryKeyConstraint("agent_id", "scope", "term", "intent_key", name=op.f("pk_standing_intent_anchors")),
    )
    op.create_index(op.f("ix_standing_intent_anchors_intent_key"), "standing_intent_anchors", ["intent_key"])
