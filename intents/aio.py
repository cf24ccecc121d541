"""`AsyncIntentService`: the same service over `AsyncSession`.

Needs greenlet, which SQLAlchemy brings as ``sqlalchemy[asyncio]``; nothing of it is imported here.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from intents import transactions
from intents.invocation import Invocation
from intents.policy import OwnerPolicy
from intents.repository import IntentRepository
from intents.schemas import Matches
from intents.settings import Clock, Settings

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncSession
    from sqlalchemy.orm import Session

    from intents.context import Wording
    from intents.lifecycle import Status
    from intents.schemas import (
        Activity,
        Admin,
        Explanation,
        Identity,
        IntentCreate,
        IntentEventRead,
        IntentRead,
        Limits,
        PruneResult,
        ReindexResult,
        Statistics,
        SweepResult,
        Turn,
    )
    from intents.text import Analyzer

Result = TypeVar("Result")


class AsyncIntentService:
    """`IntentService` for asyncio hosts: the same calls, awaited; the event loop never waits for a lock.

    A call that is cancelled is finished before the cancellation goes on, so that a connection never returns to its pool
    in the middle of a commit. A cancelled `match` spends nothing, unless its commit had begun; then the same turn id
    gives the answer on retry.

    Args:
        sessions: an `async_sessionmaker`, or any callable that returns a new `AsyncSession`.
        agent_id: as for `IntentService`, like all further arguments.
    """

    def __init__(
        self,
        sessions: Callable[[], AsyncSession],
        *,
        agent_id: str = "main",
        owners: OwnerPolicy = OwnerPolicy(),  # noqa: B008 - frozen
        analyzer: Analyzer | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
        wording: Wording | None = None,
    ) -> None:
        self._sessions = sessions
        self.settings = Settings.of(
            agent_id=agent_id, owners=owners, analyzer=analyzer, limits=limits, clock=clock, wording=wording
        )

    def using(self, session: Session) -> IntentRepository:
        """Return the synchronous repository for use inside ``AsyncSession.run_sync``, in the host's transaction."""
        return IntentRepository._of(session, self.settings, owns_transaction=False)

    async def create(
        self, draft: IntentCreate, *, by: Identity, turn_id: str | None = None, session_id: str | None = None
    ) -> IntentRead:
        """Create an intent; see `IntentService.create`."""
        return await self._write(
            lambda repository: repository.create(draft, by=by, turn_id=turn_id, session_id=session_id)
        )

    async def create_many(
        self,
        drafts: Sequence[IntentCreate],
        *,
        by: Identity,
        turn_id: str | None = None,
        session_id: str | None = None,
    ) -> builtins.list[IntentRead]:
        """Create all intents or none; see `IntentService.create_many`."""
        return await self._write(
            lambda repository: repository.create_many(drafts, by=by, turn_id=turn_id, session_id=session_id)
        )

    async def get(self, intent_id: str) -> IntentRead:
        """Return one intent; see `IntentService.get`."""
        return await self._read(lambda repository: repository.get(intent_id))

    async def list(
        self, *, status: Status | str | None = None, live: bool = False, after: str | None = None, limit: int = 100
    ) -> list[IntentRead]:
        """Return intents, oldest first; see `IntentService.list`."""
        return await self._read(lambda repository: repository.list(status=status, live=live, after=after, limit=limit))

    async def arm(self, intent_id: str, *, by: Identity) -> IntentRead:
        """Arm a pending intent; see `IntentService.arm`."""
        return await self._write(lambda repository: repository.arm(intent_id, by=by))

    async def cancel(self, intent_id: str, *, by: Identity | Admin, reason: str | None = None) -> IntentRead:
        """Cancel an intent; see `IntentService.cancel`."""
        return await self._write(lambda repository: repository.cancel(intent_id, by=by, reason=reason))

    async def match(self, turn: Turn, *, invocation: Invocation | None = None, hold: bool = False) -> Matches:
        """Decide which intents fire on a turn, and fire them; see `IntentService.match`."""
        call = Invocation.within(invocation)
        return await self._finish(
            lambda session: transactions.match(session, self.settings, turn, invocation=call, hold=hold),
            on_cancel=call.cancel,
        )

    async def confirm(self, turn: Turn) -> int:
        """Settle a held turn as delivered; see `IntentService.confirm`."""
        return await self._write(lambda repository: repository.confirm(turn))

    async def release(self, turn: Turn, *, reason: str | None = None) -> int:
        """Give a held turn's firings back; see `IntentService.release`."""
        return await self._write(lambda repository: repository.release(turn, reason=reason))

    async def sweep(self, *, limit: int = 1000) -> SweepResult:
        """Write down what time has decided; see `IntentService.sweep`."""
        return await self._write(lambda repository: repository.sweep(limit=limit))

    async def reindex(self, *, after: int | None = None, limit: int = 500) -> ReindexResult:
        """Renew rows of another analyzer; see `IntentService.reindex`."""
        return await self._write(lambda repository: repository.reindex(after=after, limit=limit))

    async def prune(self, *, before: datetime, limit: int = 500) -> PruneResult:
        """Forget finished intents; see `IntentService.prune`."""
        return await self._write(lambda repository: repository.prune(before=before, limit=limit))

    async def explain(
        self, turn: Turn, *, intent_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> builtins.list[Explanation]:
        """Dry run; see `IntentService.explain`."""
        return await self._read(
            lambda repository: repository.explain(turn, intent_id=intent_id, after=after, limit=limit)
        )

    async def statistics(self) -> Statistics:
        """Count the agent's intents; see `IntentService.statistics`."""
        return await self._read(lambda repository: repository.statistics())

    async def activity(self, *, days: int = 30, intents: int = 10) -> Activity:
        """Count fires and moves; see `IntentService.activity`."""
        return await self._read(lambda repository: repository.activity(days=days, intents=intents))

    async def count_live(self) -> dict[Status, int]:
        """Count the agent's live intents by effective status: those that something can still happen to; for gauges."""
        return await self._read(lambda repository: repository.count_live())

    async def history(self, intent_id: str) -> builtins.list[IntentEventRead]:
        """Return an intent's audit log; see `IntentService.history`."""
        return await self._read(lambda repository: repository.history(intent_id))

    def _skip(self, reason: str) -> Matches:
        return Matches(skipped=reason)

    async def _read(self, work: Callable[[IntentRepository], Result]) -> Result:
        return await self._finish(lambda session: transactions.read(session, self.settings, work))

    async def _write(self, work: Callable[[IntentRepository], Result]) -> Result:
        return await self._finish(lambda session: transactions.write(session, self.settings, work))

    async def _finish(
        self, work: Callable[[Session], Result], *, on_cancel: Callable[[], None] = lambda: None
    ) -> Result:
        task = asyncio.ensure_future(self._run(work))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            on_cancel()
            await _settled(task)
            raise

    async def _run(self, work: Callable[[Session], Result]) -> Result:
        async with self._sessions() as session:
            return await session.run_sync(work)


async def _settled(task: asyncio.Future[Any]) -> None:
    """Wait until the task has ended, however often the waiter is cancelled; the wait for its lock is bounded."""
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue
    if not task.cancelled():
        # Looked at, so that asyncio does not report as forgotten what nobody waits for any more.
        task.exception()
