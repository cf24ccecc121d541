"""What every repository function works with: the session, the settings, the prefilter and the write discipline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select

from intents import locks
from intents.errors import IntentNotFound, InvalidIntent
from intents.index import Prefilter, index_for
from intents.models import IntentEvent, StandingIntent
from intents.sanitize import has_forbidden_id_characters

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.orm import Session

    from intents.settings import Settings


#: Largest batch of a sweep, a reindexing or a pruning; PostgreSQL's protocol counts parameters in 16 bits.
BATCH = 20_000


_WRITE_LOG = insert(IntentEvent)


@cache
def _locked_statement(wait: bool) -> Any:
    return (
        select(StandingIntent)
        .where(
            StandingIntent.agent_id == bindparam("agent_id"),
            StandingIntent.key.in_(bindparam("keys", expanding=True)),
        )
        .order_by(StandingIntent.key)
        .with_for_update(skip_locked=not wait)
    )


class Undo(Exception):
    """Leave `Work.writing` and take back what was written inside, without failing."""


def check_intent_id(intent_id: str) -> None:
    """Refuse what can be no intent's id.

    Raises:
        IntentNotFound: it holds characters that no driver could even ask for.
        TypeError: it is no text.
    """
    if not isinstance(intent_id, str):
        raise TypeError("An intent's id is text, as IntentRead.id gives it.")
    if has_forbidden_id_characters(intent_id):
        raise IntentNotFound(intent_id)


def check_batch(limit: int) -> None:
    """Refuse a batch that is empty, or larger than a statement of every driver can name, with `InvalidIntent`."""
    if not 1 <= limit <= BATCH:
        raise InvalidIntent("limit", f"a batch holds 1 to {BATCH:,} rows; call again while more is due.")


@dataclass(frozen=True, slots=True)
class Work:
    """One unit of work in somebody's session.

    Attributes:
        owns_transaction: True when the service will roll the whole transaction back on failure, so that no savepoint
            is needed; False in a host's transaction.
        log: lines of the audit log that the next `flush` writes.
    """

    session: Session
    settings: Settings
    index: Prefilter
    owns_transaction: bool
    log: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, session: Session, settings: Settings, *, owns_transaction: bool) -> Work:
        """Find the prefilter of the session's dialect."""
        return cls(session, settings, index_for(locks.dialect_of(session)), owns_transaction)

    @property
    def agent_id(self) -> str:
        """The agent whose intents these are."""
        return self.settings.agent_id

    @property
    def connection(self) -> Connection:
        """The session's connection, for statements that need no ORM."""
        return locks.connection_of(self.session)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read without flushing what the host has pending."""
        with locks.named_errors(), self.session.no_autoflush:
            yield

    @contextmanager
    def writing(self, *, wait: float | None = None) -> Iterator[None]:
        """Take the write lock, write, and leave nothing half-written in a host's transaction.

        Args:
            wait: most seconds to wait for the lock; `Limits.lock_wait` when None.
        """
        bound = self.settings.limits.lock_wait.total_seconds() if wait is None else wait
        try:
            with (
                locks.named_errors(),
                locks.write_lock(self.session, wait=bound, restore=not self.owns_transaction),
                self._undone_on_failure(),
            ):
                yield
                self.flush()
        except Undo:
            if self.owns_transaction:
                self.session.rollback()
        finally:
            self.log.clear()

    def flush(self) -> None:
        """Write what is pending: first the rows, then the lines of their log in one statement."""
        self.session.flush()
        if self.log:
            self.connection.execute(_WRITE_LOG, self.log)
            self.log.clear()

    def _undone_on_failure(self) -> AbstractContextManager[Any]:
        # The service rolls its own transaction back; in a host's, only what was written here may go.
        return nullcontext() if self.owns_transaction else self.session.begin_nested()

    @contextmanager
    def savepoint_for_race(self) -> Iterator[None]:
        """Where rivals can write meanwhile, keep a unique constraint's refusal from ending the transaction."""
        if locks.writers_are_serial(self.session):
            yield
        else:
            with self.session.begin_nested():
                yield

    def locked(self, intent_id: str) -> StandingIntent:
        """Read one intent afresh and lock its row.

        Raises:
            IntentNotFound: the agent has none of this id.
        """
        check_intent_id(intent_id)
        row = self.session.scalars(
            select(StandingIntent)
            .where(StandingIntent.agent_id == self.agent_id, StandingIntent.id == intent_id)
            .with_for_update(),
            execution_options={"populate_existing": True},
        ).one_or_none()
        if row is None:
            raise IntentNotFound(intent_id)
        return row

    def locked_intents(self, wanted: Sequence[int], *, wait: bool = True) -> dict[int, StandingIntent]:
        """Read the agent's intents of these keys afresh and lock them, in key order.

        Whoever locks a turn locks the intents that it fired first: with one order, no two wait for each other.

        Args:
            wanted: keys of rows.
            wait: False leaves out what somebody else has locked.
        """
        if not wanted:
            return {}
        rows = self.session.scalars(
            _locked_statement(wait),
            {"agent_id": self.agent_id, "keys": list(wanted)},
            execution_options={"populate_existing": True},
        )
        return {row.key: row for row in rows}
