"""One user turn from its match to its reply: matched once and held, then confirmed or given back.

What the adapters of agent frameworks have in common.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from intents.hook import AsyncPromptHook, PromptHook
from intents.invocation import Invocation
from intents.schemas import Matches
from intents.tool import IntentTool

if TYPE_CHECKING:
    from intents.aio import AsyncIntentService
    from intents.schemas import Turn
    from intents.service import IntentService

log = logging.getLogger("intents.contrib")

Result = TypeVar("Result")

#: Seconds that the lookup of a turn may take unless told otherwise; a later answer spends nothing.
TIMEOUT = 2.0

ABANDONED = "The reply was not read to its end."


class Delivery:
    """What a run owes the store for one turn.

    The run that fired something confirms it or gives it back. A run that only got the answer of an earlier run of the
    same turn again confirms, but never gives back: that run may still be about to reply. A run that neither confirms
    nor gives back leaves the firings to `Limits.hold_for`.

    Args:
        service: the agent's intents.
        turn: the user's message; needs an id.
        timeout: seconds that the lookup may take; a later answer spends nothing.

    Attributes:
        outcome: how the run ended when it raised nothing: ``replied``, ``paused`` (it waits for a person and will be
            resumed) or ``abandoned``.
    """

    def __init__(self, service: IntentService | AsyncIntentService, turn: Turn, *, timeout: float = TIMEOUT) -> None:
        self.service = service
        self.turn = turn
        self.outcome: Literal["replied", "paused", "abandoned"] = "replied"
        self._timeout = timeout
        self._matches = Matches()

    @property
    def block(self) -> str | None:
        """The hidden block for the prompt; None when nothing fired."""
        return self._matches.context

    def tool(self) -> IntentTool | None:
        """The `intent` tool for the turn's sender; None for anyone who is not an owner."""
        return IntentTool.for_identity(
            self.service, self.turn.identity, turn_id=self.turn.id, session_id=self.turn.session_id
        )

    def open(self) -> None:
        """Match the turn and hold what fires."""
        hook = PromptHook(self._synchronous())
        self._matches = hook.matches(self.turn, Invocation.after(self._timeout), hold=True)

    def confirm(self) -> None:
        """Settle as delivered. A failure is logged: the reply exists and must not be lost."""
        if self.block is not None:
            with _logged("confirmed"):
                self._synchronous().confirm(self.turn)

    def release(self, reason: str) -> None:
        """Give back what this run fired. A failure is logged: the run's own error comes first."""
        if self._fired:
            with _logged("released"):
                self._synchronous().release(self.turn, reason=reason)

    async def aopen(self) -> None:
        """Match the turn and hold what fires; see `open`. A cancelled call spends nothing."""
        invocation = Invocation.after(self._timeout)

        async def look() -> None:
            hook: Any = (AsyncPromptHook if is_async(self.service) else PromptHook)(cast("Any", self.service))
            self._matches = await _call(self.service, hook.matches, self.turn, invocation, hold=True)

        try:
            await to_the_end(look(), on_cancel=invocation.cancel)
        except asyncio.CancelledError as error:
            # It may have been too late to stop the commit.
            await self.arelease(reason_of(error))
            raise

    async def aconfirm(self) -> None:
        """Settle as delivered; see `confirm`."""
        if self.block is not None:
            with _logged("confirmed"):
                await to_the_end(_call(self.service, self.service.confirm, self.turn))

    async def arelease(self, reason: str) -> None:
        """Give back what this run fired; see `release`."""
        if self._fired:
            with _logged("released"):
                await to_the_end(_call(self.service, self.service.release, self.turn, reason=reason))

    @property
    def _fired(self) -> bool:
        return self.block is not None and not self._matches.duplicate

    def _synchronous(self) -> IntentService:
        if is_async(self.service):
            raise TypeError("A synchronous run needs an IntentService; with an AsyncIntentService await the run.")
        return cast("IntentService", self.service)


@contextmanager
def delivering(delivery: Delivery) -> Iterator[None]:
    """Match before the block, settle after it."""
    delivery.open()
    try:
        yield
    except BaseException as error:
        delivery.release(reason_of(error))
        raise
    if delivery.outcome == "replied":
        delivery.confirm()
    elif delivery.outcome == "abandoned":
        delivery.release(ABANDONED)


@asynccontextmanager
async def adelivering(delivery: Delivery) -> AsyncIterator[None]:
    """Match before the block, settle after it; the event loop never waits for a lock."""
    await delivery.aopen()
    try:
        yield
    except BaseException as error:
        await delivery.arelease(reason_of(error))
        raise
    if delivery.outcome == "replied":
        await delivery.aconfirm()
    elif delivery.outcome == "abandoned":
        await delivery.arelease(ABANDONED)


def reason_of(error: BaseException) -> str:
    """Why a run's firings are given back, for the audit log; never the error's own text."""
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | GeneratorExit):
        return "The run was cancelled."
    return f"The run failed with {type(error).__name__}."


def is_async(service: IntentService | AsyncIntentService) -> bool:
    """Whether a service's methods are awaited."""
    return inspect.iscoroutinefunction(service.match)


async def to_the_end(work: Awaitable[Result], *, on_cancel: Callable[[], None] = lambda: None) -> Result:
    """Await work that must not stop half-way: a cancellation goes on once it has ended."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        on_cancel()
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        if not task.cancelled():
            # Looked at, so that asyncio does not report it as forgotten.
            task.exception()
        raise


async def _call(service: IntentService | AsyncIntentService, method: Callable[..., Any], *args: Any, **kw: Any) -> Any:
    """Await a method of an asynchronous service; run one of a synchronous service in a thread."""
    if is_async(service):
        return await method(*args, **kw)
    return await asyncio.to_thread(method, *args, **kw)


@contextmanager
def _logged(what: str) -> Iterator[None]:
    try:
        yield
    except Exception:
        log.exception("What a turn fired could not be %s; it is given back when its hold lapses.", what)
