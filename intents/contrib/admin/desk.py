"""What the pages ask of the database, through a synchronous or an asynchronous service alike."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from intents import transactions
from intents.aio import AsyncIntentService
from intents.repository import browsing
from intents.service import IntentService

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from intents.schemas import Admin, Explanation, IntentRead, Turn
    from intents.settings import Settings

Result = TypeVar("Result")

#: How many live intents one look at a message goes through at most, oldest first, and how many silent ones it shows.
EXPLAINED: Final = 2000
SHOWN_SILENT: Final = 50
_BATCH: Final = 1000
#: How many newer ones it adds because the message completes their trigger. More than a turn fires.
REACHED: Final = 30
#: Rules that say least about a message: most intents are silent for them. Later is shown later.
_DISTANCE: Final = {"keywords": 1, "scope": 2}


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a message would do.

    Attributes:
        fires: the intents that would fire, oldest first; however many live intents there are.
        silent: the nearest of the others among those looked at.
        total: how many live intents were looked at.
        more: whether there are live intents beyond those.
    """

    fires: tuple[Explanation, ...]
    silent: tuple[Explanation, ...]
    total: int
    more: bool


class Desk:
    """An operator's view of the database behind a service, over all its agents.

    Args:
        service: whose sessions, analyzer, limits and clock are used; `otel.instrument` may have wrapped it.
    """

    def __init__(self, service: IntentService | AsyncIntentService) -> None:
        if not hasattr(service, "match"):
            raise TypeError("service takes an IntentService or an AsyncIntentService.")
        self._service: Any = service
        self._is_async = inspect.iscoroutinefunction(service.match)

    @property
    def agent_id(self) -> str:
        """The service's own agent."""
        return str(self._service.settings.agent_id)

    async def browse(self, filters: browsing.Filters, *, page: int, size: int) -> browsing.Page:
        """Return a page of intents; see `browsing.browse`."""
        return await self._look(partial(browsing.browse, page=page, size=size), filters)

    async def choices(self) -> browsing.Choices:
        """Return what the filters can choose from."""
        return await self._look(lambda session, _settings: browsing.choices(session))

    async def examine(self, intent_id: str) -> browsing.Dossier:
        """Return everything about one intent.

        Raises:
            IntentNotFound: there is none of this id.
        """
        return await self._look(browsing.examine, intent_id)

    async def cancel(self, intent: IntentRead, *, by: Admin, reason: str | None) -> IntentRead:
        """Cancel an intent; see `IntentService.cancel`."""
        service = self._of(intent.agent_id)
        return cast("IntentRead", await _call(partial(service.cancel, intent.id, by=by, reason=reason)))

    async def explain(self, agent_id: str, turn: Turn, *, intent_id: str | None = None) -> Verdicts:
        """Tell what a message would fire; writes nothing.

        Args:
            agent_id: whose intents.
            turn: the message.
            intent_id: look at this one only, whatever its status.

        Raises:
            IntentNotFound: the agent has none of this id.
            ValueError: the agent id is none.
        """
        explain = self._of(agent_id).explain
        if intent_id is not None:
            (one,) = await _call(partial(explain, turn, intent_id=intent_id))
            return Verdicts((one,) if one.fires else (), () if one.fires else (one,), 1, more=False)
        seen: list[Explanation] = []
        more = True
        while more and len(seen) < EXPLAINED:
            after = seen[-1].intent.id if seen else None
            batch = await _call(partial(explain, turn, after=after, limit=_BATCH))
            seen += batch
            more = len(batch) == _BATCH
        if more:
            found = await self._look(self._completed, agent_id, turn)
            known = {each.intent.id for each in seen}
            for newer in (each for each in found if each not in known):
                seen += await _call(partial(explain, turn, intent_id=newer))
        silent = sorted((each for each in seen if not each.fires), key=_distance)
        return Verdicts(tuple(each for each in seen if each.fires), tuple(silent[:SHOWN_SILENT]), len(seen), more=more)

    @staticmethod
    def _completed(session: Session, settings: Settings, agent_id: str, turn: Turn) -> tuple[str, ...]:
        return browsing.completed(session, replace(settings, agent_id=agent_id), turn, limit=REACHED)

    def _of(self, agent_id: str) -> Any:
        if agent_id == self.agent_id:
            return self._service
        settings = self._service.settings
        kind = AsyncIntentService if self._is_async else IntentService
        return kind(
            self._service._sessions,
            agent_id=agent_id,
            owners=settings.owners,
            analyzer=settings.analyzer,
            limits=settings.limits,
            clock=settings.clock,
            wording=settings.wording,
        )

    async def _look(self, work: Callable[..., Result], *arguments: Any) -> Result:
        settings = self._service.settings

        def looked(session: Session) -> Result:
            return transactions.look(session, settings, lambda session: work(session, settings, *arguments))

        if self._is_async:
            async with self._service._sessions() as asynchronous:
                return cast("Result", await asynchronous.run_sync(looked))
        return await asyncio.to_thread(_in_session, self._service._sessions, looked)


def _in_session(sessions: Callable[[], Session], work: Callable[[Session], Result]) -> Result:
    with sessions() as session:
        return work(session)


def _distance(explanation: Explanation) -> int:
    """How far an intent is from firing: the words of one that is nearly complete are named in its detail."""
    if explanation.keyword is not None:
        return 0
    return _DISTANCE.get(str(explanation.rule), 0)


async def _call(method: partial[Any]) -> Any:
    if inspect.iscoroutinefunction(method.func):
        return await cast("Awaitable[Any]", method())
    return await asyncio.to_thread(method)
