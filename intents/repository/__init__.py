"""The repository: every operation on an agent's intents, inside one session's transaction. It never commits."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING

from intents.errors import TransitionNotAllowed
from intents.lifecycle import Status, effective_status
from intents.policy import OwnerPolicy
from intents.repository import (
    creation,
    delivery,
    explaining,
    journal,
    matching,
    pruning,
    reading,
    reindexing,
    statistics,
    sweeping,
)
from intents.repository.work import Work
from intents.sanitize import clean_line
from intents.schemas import (
    Activity,
    Admin,
    Explanation,
    Identity,
    IntentCreate,
    IntentEventRead,
    IntentRead,
    Limits,
    Matches,
    PruneResult,
    ReindexResult,
    Statistics,
    SweepResult,
    Turn,
)
from intents.settings import Clock, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy.orm import Session

    from intents.context import Wording
    from intents.invocation import Invocation
    from intents.text import Analyzer

__all__ = ["IntentRepository"]

#: Longest reason that the audit log keeps.
REASON_CHARS = 500


class IntentRepository:
    """An agent's intents in the session and the transaction of the caller.

    It flushes and never commits; what it wrote is undone when the caller rolls back. A failed call takes back its own
    writes through a savepoint and leaves the caller's pending objects alone, except that flushing them comes with it.

    Args:
        session: the caller's session.
        agent_id: whose intents; other agents' are invisible.
        owners: who may create, list and cancel.
        analyzer: how text becomes terms; English when None.
        limits: bounds and defaults.
        clock: returns the aware current time; the machine's when None.
        wording: the words of the hidden block.

    Raises:
        UnsupportedDialect: the session's database is neither SQLite nor PostgreSQL.
    """

    def __init__(
        self,
        session: Session,
        *,
        agent_id: str = "main",
        owners: OwnerPolicy = OwnerPolicy(),  # noqa: B008 - frozen
        analyzer: Analyzer | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
        wording: Wording | None = None,
    ) -> None:
        settings = Settings.of(
            agent_id=agent_id, owners=owners, analyzer=analyzer, limits=limits, clock=clock, wording=wording
        )
        self._work = Work.of(session, settings, owns_transaction=False)

    @classmethod
    def _of(cls, session: Session, settings: Settings, *, owns_transaction: bool) -> IntentRepository:
        repository = cls.__new__(cls)
        repository._work = Work.of(session, settings, owns_transaction=owns_transaction)
        return repository

    def create(
        self, draft: IntentCreate, *, by: Identity, turn_id: str | None = None, session_id: str | None = None
    ) -> IntentRead:
        """Create an intent; see `IntentService.create`."""
        return creation.create(self._work, draft, by=by, turn_id=turn_id, session_id=session_id)

    def create_many(
        self,
        drafts: Sequence[IntentCreate],
        *,
        by: Identity,
        turn_id: str | None = None,
        session_id: str | None = None,
    ) -> builtins.list[IntentRead]:
        """Create all intents or none; see `IntentService.create_many`."""
        return creation.create_many(self._work, drafts, by=by, turn_id=turn_id, session_id=session_id)

    def get(self, intent_id: str) -> IntentRead:
        """Return one intent; see `IntentService.get`."""
        with self._work.reading():
            return reading.as_read(reading.find(self._work, intent_id), self._work.settings.now())

    def _ids_beginning_with(self, beginning: str, *, most: int) -> Sequence[str]:
        with self._work.reading():
            return reading.ids_beginning_with(self._work, beginning, most=most)

    def list(
        self, *, status: Status | str | None = None, live: bool = False, after: str | None = None, limit: int = 100
    ) -> list[IntentRead]:
        """Return intents, oldest first; see `IntentService.list`."""
        now = self._work.settings.now()
        with self._work.reading():
            rows = reading.page(self._work, status=status, live=live, after=after, limit=limit, now=now)
            return [reading.as_read(row, now) for row in rows]

    def arm(self, intent_id: str, *, by: Identity) -> IntentRead:
        """Arm a pending intent; see `IntentService.arm`."""
        actor = self._work.settings.owners.require_manager(by, "arm")
        with self._work.writing():
            row = self._work.locked(intent_id)
            now = self._work.settings.now()
            status = effective_status(row, now)
            if status is Status.EXPIRED:
                raise TransitionNotAllowed(row.id, "arm", status.value, "has_expired")
            if status is not Status.ARMED:
                journal.move(self._work, row, "arm", now=now, actor=actor)
            return reading.as_read(row, now)

    def cancel(self, intent_id: str, *, by: Identity | Admin, reason: str | None = None) -> IntentRead:
        """Cancel an intent; see `IntentService.cancel`."""
        actor = self._work.settings.owners.require_manager(by, "cancel")
        with self._work.writing():
            row = self._work.locked(intent_id)
            now = self._work.settings.now()
            if effective_status(row, now) is Status.EXPIRED:
                raise TransitionNotAllowed(row.id, "cancel", Status.EXPIRED.value)
            if row.status != Status.CANCELLED:
                journal.move(self._work, row, "cancel", now=now, actor=actor, detail=_clean(reason))
                self._work.flush()
                self._work.index.remove(self._work.connection, [row.key])
            return reading.as_read(row, now)

    def match(self, turn: Turn, *, invocation: Invocation | None = None, hold: bool = False) -> Matches:
        """Decide which intents fire on a turn, and fire them; see `IntentService.match`.

        In the caller's transaction: the invocation is checked up to the return; the caller may assert it once more
        before its own commit.
        """
        sighting = self._look(turn, invocation=invocation, hold=hold)
        if sighting.answer is not None:
            return sighting.answer
        return self._fire(sighting, invocation=invocation, hold=hold)

    def _look(self, turn: Turn, *, invocation: Invocation | None, hold: bool) -> matching.Sighting:
        sighting = matching.look(self._work, turn, invocation=invocation, hold=hold)
        matching.warn_of_truncation(sighting)
        return sighting

    def _fire(self, sighting: matching.Sighting, *, invocation: Invocation | None, hold: bool) -> Matches:
        return matching.fire(self._work, sighting, invocation=invocation, hold=hold)

    def confirm(self, turn: Turn) -> int:
        """Settle a held turn as delivered; see `IntentService.confirm`."""
        return delivery.confirm(self._work, turn)

    def release(self, turn: Turn, *, reason: str | None = None) -> int:
        """Give a held turn's firings back; see `IntentService.release`."""
        return delivery.release(self._work, turn, reason=_clean(reason))

    def sweep(self, *, limit: int = 1000) -> SweepResult:
        """Write down what time has decided; see `IntentService.sweep`."""
        return sweeping.sweep(self._work, limit=limit)

    def reindex(self, *, after: int | None = None, limit: int = 500) -> ReindexResult:
        """Renew rows of another analyzer; see `IntentService.reindex`."""
        return reindexing.reindex(self._work, after=after, limit=limit)

    def prune(self, *, before: datetime, limit: int = 500) -> PruneResult:
        """Forget finished intents; see `IntentService.prune`."""
        return pruning.prune(self._work, before=before, limit=limit)

    def explain(
        self, turn: Turn, *, intent_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> builtins.list[Explanation]:
        """Dry run; see `IntentService.explain`."""
        return explaining.explain(self._work, turn, intent_id=intent_id, after=after, limit=limit)

    def statistics(self) -> Statistics:
        """Count the agent's intents; see `IntentService.statistics`."""
        return statistics.statistics(self._work)

    def activity(self, *, days: int = 30, intents: int = 10) -> Activity:
        """Count fires and moves; see `IntentService.activity`."""
        return statistics.activity(self._work, days=days, intents=intents)

    def count_live(self) -> dict[Status, int]:
        """Count live intents; see `IntentService.count_live`."""
        return statistics.count_live(self._work)

    def history(self, intent_id: str) -> builtins.list[IntentEventRead]:
        """Return an intent's audit log; see `IntentService.history`."""
        with self._work.reading():
            return reading.log_of(self._work, intent_id)


def _clean(reason: str | None) -> str | None:
    return clean_line(reason)[:REASON_CHARS] or None if reason is not None else None
