"""The tables: an intent and its guards, the turns and firings that moved it, the log, the prefilter's indexes.

`metadata.create_all()` makes the whole schema of the dialect, triggers and index table included, exactly as the
migrations do. Foreign keys take no action: a host may have them off, and a cascade under a batch rebuild deletes
children.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    DDL,
    JSON,
    CheckConstraint,
    Column,
    Connection,
    Double,
    Enum,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    event,
    text,
)
from sqlalchemy.ext.hybrid import hybrid_method
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from intents import ddl
from intents.lifecycle import LIVE, TERMINAL, Status, sql_list
from intents.sqltypes import Key, UtcDateTime

#: Longest identity part, agent id, turn id and session id.
ID_CHARS = 512
_DIGEST = String(64)
#: The unique index that keeps one live intent of identical wishes.
TWINS_INDEX = f"uq_{ddl.INTENTS}_live_fingerprint"


class Base(DeclarativeBase):
    """Declarative base of the library's own tables; hosts keep theirs."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


metadata = Base.metadata

_STATUS = Enum(
    Status,
    name="intent_status",
    native_enum=False,
    create_constraint=False,
    length=16,
    values_callable=lambda statuses: [status.value for status in statuses],
)
_IS_LIVE = text(f"status IN ({sql_list(LIVE)})")
_IS_TERMINAL = text(f"status IN ({sql_list(TERMINAL)})")
_IS_FIRED = text(f"status = '{Status.FIRED.value}'")


class StandingIntent(Base):
    """One standing intent: what to remind of, what triggers it, and where it stands in its life.

    A new object is ``pending`` before any flush. Status moves only through `lifecycle.advance`; the database refuses a
    status change outside the lifecycle table, a change of ``key`` or ``id`` and an insert that would replace a row.
    """

    __tablename__ = ddl.INTENTS

    key: Mapped[int] = mapped_column(Key, primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(36), unique=True)
    agent_id: Mapped[str] = mapped_column(String(ID_CHARS))
    description: Mapped[str] = mapped_column(Text)
    trigger_keywords: Mapped[list[str]] = mapped_column(JSON)
    exclude_keywords: Mapped[list[str]] = mapped_column(JSON)
    language: Mapped[str] = mapped_column(String(16))
    within: Mapped[int | None] = mapped_column(Integer)
    clauses: Mapped[dict[str, Any]] = mapped_column(JSON)
    anchors: Mapped[str] = mapped_column(Text)
    scope: Mapped[str] = mapped_column(_DIGEST)
    analyzer_version: Mapped[str] = mapped_column(String(64))
    channel_scope: Mapped[str] = mapped_column(String(16))
    channel_key: Mapped[str | None] = mapped_column(Text)
    conversation_id: Mapped[str | None] = mapped_column(String(ID_CHARS))
    sender_scope: Mapped[str] = mapped_column(String(16))
    sender_key: Mapped[str | None] = mapped_column(Text)
    sender_id: Mapped[str | None] = mapped_column(String(ID_CHARS))
    creator_provider: Mapped[str] = mapped_column(String(ID_CHARS))
    creator_account: Mapped[str] = mapped_column(String(ID_CHARS))
    creator_sender: Mapped[str] = mapped_column(String(ID_CHARS))
    creator_conversation: Mapped[str | None] = mapped_column(String(ID_CHARS))
    source_session_id: Mapped[str | None] = mapped_column(String(ID_CHARS))
    source_turn_key: Mapped[str | None] = mapped_column(_DIGEST)
    fingerprint: Mapped[str] = mapped_column(_DIGEST)
    status: Mapped[Status] = mapped_column(_STATUS)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    max_fires: Mapped[int] = mapped_column(Integer)
    fire_count: Mapped[int] = mapped_column(Integer)
    cooldown_seconds: Mapped[float] = mapped_column(Double)
    last_fired_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    rearm_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    held_turn_key: Mapped[int | None] = mapped_column(Key, ForeignKey(f"{ddl.TURNS}.key"))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime)
    version: Mapped[int] = mapped_column(Integer)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012 - SQLAlchemy reads it as a plain dictionary
    __table_args__ = (
        CheckConstraint(f"status IN ({sql_list(Status)})", name="status"),
        CheckConstraint("max_fires BETWEEN 1 AND 1000", name="max_fires"),
        CheckConstraint("fire_count BETWEEN 0 AND max_fires", name="fire_count"),
        CheckConstraint("cooldown_seconds BETWEEN 0 AND 31622400", name="cooldown"),
        CheckConstraint("within IS NULL OR within >= 1", name="within"),
        CheckConstraint("description <> ''", name="description"),
        CheckConstraint("anchors <> ''", name="anchors"),
        CheckConstraint(f"status <> '{Status.DONE.value}' OR fire_count = max_fires", name="done"),
        CheckConstraint(
            f"status <> '{Status.FIRED.value}'"
            " OR (fire_count > 0 AND last_fired_at IS NOT NULL AND rearm_at IS NOT NULL)",
            name="fired",
        ),
        CheckConstraint(f"held_turn_key IS NULL OR status = '{Status.FIRED.value}'", name="held"),
        CheckConstraint("(fire_count = 0) = (last_fired_at IS NULL)", name="last_fired_at"),
        CheckConstraint(
            "(channel_scope = 'anywhere' AND channel_key IS NULL AND conversation_id IS NULL)"
            " OR (channel_scope = 'channel' AND channel_key IS NOT NULL AND conversation_id IS NULL)"
            " OR (channel_scope = 'conversation' AND channel_key IS NOT NULL AND conversation_id IS NOT NULL)",
            name="channel_scope",
        ),
        CheckConstraint(
            "(sender_scope = 'anyone' AND sender_key IS NULL AND sender_id IS NULL)"
            " OR (sender_scope = 'sender' AND sender_key IS NOT NULL AND sender_id IS NOT NULL)",
            name="sender_scope",
        ),
        Index(
            TWINS_INDEX,
            "agent_id",
            "fingerprint",
            unique=True,
            sqlite_where=_IS_LIVE,
            postgresql_where=_IS_LIVE,
        ),
        Index(f"ix_{ddl.INTENTS}_agent", "agent_id", "key"),
        Index(
            f"ix_{ddl.INTENTS}_live_expiry", "agent_id", "expires_at", sqlite_where=_IS_LIVE, postgresql_where=_IS_LIVE
        ),
        Index(
            f"ix_{ddl.INTENTS}_fired_rearm", "agent_id", "rearm_at", sqlite_where=_IS_FIRED, postgresql_where=_IS_FIRED
        ),
        Index(
            f"ix_{ddl.INTENTS}_live_analyzer",
            "agent_id",
            "analyzer_version",
            sqlite_where=_IS_LIVE,
            postgresql_where=_IS_LIVE,
        ),
        Index(
            f"ix_{ddl.INTENTS}_ended",
            "agent_id",
            "updated_at",
            sqlite_where=_IS_TERMINAL,
            postgresql_where=_IS_TERMINAL,
        ),
        {"sqlite_autoincrement": True},
    )

    def __init__(self, **values: Any) -> None:
        values.setdefault("status", Status.PENDING)
        values.setdefault("fire_count", 0)
        super().__init__(**values)

    @property
    def cooldown(self) -> timedelta:
        """The least time between two fires."""
        return timedelta(seconds=self.cooldown_seconds)

    @property
    def is_live(self) -> bool:
        """Whether the stored status is one that something can still leave."""
        return Status(self.status) in LIVE

    @hybrid_method
    def has_expired(self, now: datetime) -> bool:
        """Whether the expiry is reached; the moment itself counts."""
        return self.expires_at <= now

    @hybrid_method
    def has_cooled_down(self, now: datetime) -> bool:
        """Whether the cooldown since the last fire is over; the moment itself counts."""
        return self.rearm_at is None or self.rearm_at <= now

    @has_cooled_down.expression
    @classmethod
    def _has_cooled_down(cls, now: datetime) -> Any:
        return cls.rearm_at.is_(None) | (cls.rearm_at <= now)

    @hybrid_method
    def has_budget(self, now: datetime | None = None) -> bool:
        """Whether another fire is left; guards share one signature, so the time is taken and ignored."""
        return self.fire_count < self.max_fires

    @hybrid_method
    def is_held(self, now: datetime | None = None) -> bool:
        """Whether a firing awaits `confirm` or `release`, lapsed or not."""
        return self.held_turn_key is not None

    @is_held.expression
    @classmethod
    def _is_held(cls, now: datetime | None = None) -> Any:
        return cls.held_turn_key.is_not(None)

    @hybrid_method
    def hold_has_lapsed(self, now: datetime) -> bool:
        """Whether a firing is held and its deadline (kept in ``rearm_at``) has passed."""
        return self.held_turn_key is not None and self.rearm_at is not None and self.rearm_at <= now

    @hold_has_lapsed.expression
    @classmethod
    def _hold_has_lapsed(cls, now: datetime) -> Any:
        return cls.held_turn_key.is_not(None) & (cls.rearm_at <= now)


class IntentTurn(Base):
    """A turn that fired something; a repeated turn id is answered from here."""

    __tablename__ = ddl.TURNS

    key: Mapped[int] = mapped_column(Key, primary_key=True, autoincrement=True)
    agent_id: Mapped[str] = mapped_column(String(ID_CHARS))
    turn_key: Mapped[str | None] = mapped_column(_DIGEST)
    turn_id: Mapped[str | None] = mapped_column(String(ID_CHARS))
    session_id: Mapped[str | None] = mapped_column(String(ID_CHARS))
    delivery: Mapped[str] = mapped_column(String(16))
    held_until: Mapped[datetime | None] = mapped_column(UtcDateTime)
    context: Mapped[str] = mapped_column(Text)
    sent_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    matched_at: Mapped[datetime] = mapped_column(UtcDateTime)

    __table_args__ = (
        CheckConstraint("delivery IN ('delivered', 'held', 'released')", name="delivery"),
        CheckConstraint("(delivery = 'held') = (held_until IS NOT NULL)", name="held_until"),
        Index(f"uq_{ddl.TURNS}_turn", "agent_id", "turn_key", unique=True),
        {"sqlite_autoincrement": True},
    )


class IntentFiring(Base):
    """One intent fired on one turn. A firing that was given back keeps its row, with the time it was."""

    __tablename__ = ddl.FIRINGS

    key: Mapped[int] = mapped_column(Key, primary_key=True, autoincrement=True)
    turn_key: Mapped[int] = mapped_column(Key, ForeignKey(f"{ddl.TURNS}.key"), index=True)
    intent_key: Mapped[int] = mapped_column(Key, ForeignKey(f"{ddl.INTENTS}.key"), index=True)
    entry: Mapped[str] = mapped_column(Text)
    fired_at: Mapped[datetime] = mapped_column(UtcDateTime)
    previous_fired_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    released_at: Mapped[datetime | None] = mapped_column(UtcDateTime)

    __table_args__ = ({"sqlite_autoincrement": True},)


class IntentEvent(Base):
    """One line of the append-only audit log: a transition of the lifecycle table, or the creation."""

    __tablename__ = ddl.EVENTS

    key: Mapped[int] = mapped_column(Key, primary_key=True, autoincrement=True)
    agent_id: Mapped[str] = mapped_column(String(ID_CHARS))
    intent_key: Mapped[int] = mapped_column(Key, ForeignKey(f"{ddl.INTENTS}.key"), index=True)
    event: Mapped[str] = mapped_column(String(16))
    from_status: Mapped[Status | None] = mapped_column(_STATUS)
    to_status: Mapped[Status] = mapped_column(_STATUS)
    at: Mapped[datetime] = mapped_column(UtcDateTime)
    turn_id: Mapped[str | None] = mapped_column(String(ID_CHARS))
    actor: Mapped[str] = mapped_column(Text)
    detail: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (
        CheckConstraint("(event = 'create') = (from_status IS NULL)", name="create"),
        {"sqlite_autoincrement": True},
    )


#: The prefilter's own tables live apart: no dialect has both, and Alembic must compare neither.
index_metadata = MetaData(naming_convention=metadata.naming_convention)

#: SQLite: an ordinary FTS5 table whose rowid is the intent's key, kept by triggers.
intents_fts = Table(
    ddl.FTS,
    index_metadata,
    Column("rowid", Integer, primary_key=True),
    Column("anchors", Text),
    Column("scope", Text),
)

#: PostgreSQL: one row for each anchor of a live intent, kept by the repository.
intent_anchors = Table(
    ddl.ANCHORS,
    index_metadata,
    Column("agent_id", String(ID_CHARS), primary_key=True),
    Column("scope", _DIGEST, primary_key=True),
    Column("term", Text, primary_key=True),
    Column("intent_key", Key, primary_key=True, autoincrement=False),
    Index(f"ix_{ddl.ANCHORS}_intent_key", "intent_key"),
)


def _run(statement: str, target: Table, moment: str, dialect: str) -> None:
    # DDL() treats percent signs as its own formatting; none of our statements needs them.
    event.listen(target, moment, DDL(statement.replace("%", "%%")).execute_if(dialect=dialect))  # type: ignore[no-untyped-call]


_INTENTS_TABLE = StandingIntent.__table__
assert isinstance(_INTENTS_TABLE, Table)  # noqa: S101 - narrows the declared type for the listeners below

for _statement in (ddl.CREATE_FTS, *ddl.TUNE_FTS):
    _run(_statement, _INTENTS_TABLE, "after_create", "sqlite")
for _statement in ddl.sqlite_triggers().values():
    (_table,) = (table for table in metadata.tables.values() if f" ON {table.name}\n" in _statement)
    _run(_statement, _table, "after_create", "sqlite")
_run(ddl.DROP_FTS, _INTENTS_TABLE, "after_drop", "sqlite")


@event.listens_for(metadata, "after_create")
def _create_on_postgresql(target: MetaData, connection: Connection, **kw: Any) -> None:
    if connection.dialect.name == "postgresql" and _INTENTS_TABLE in kw["tables"]:
        index_metadata.create_all(connection, tables=[intent_anchors])
        for statement in ddl.postgresql_triggers():
            connection.exec_driver_sql(statement)


@event.listens_for(metadata, "after_drop")
def _drop_on_postgresql(target: MetaData, connection: Connection, **kw: Any) -> None:
    if connection.dialect.name == "postgresql" and _INTENTS_TABLE in kw["tables"]:
        intent_anchors.drop(connection, checkfirst=True)
        for name in ddl.POSTGRESQL_FUNCTIONS:
            connection.exec_driver_sql(f"DROP FUNCTION IF EXISTS {name}()")
