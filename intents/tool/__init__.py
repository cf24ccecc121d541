"""`IntentTool`: what an agent calls to create, list and cancel standing intents for an owner."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Self

from intents.errors import (
    ConcurrentUpdate,
    IntentNotFound,
    IntentsError,
    InvalidIntent,
    NotAuthorized,
    TransitionNotAllowed,
)
from intents.lifecycle import Status
from intents.text.languages import UNDETERMINED
from intents.tool.input import ToolArguments, draft_of, published_schema, read_arguments
from intents.tool.repair import ToolInputError

if TYPE_CHECKING:
    from intents.aio import AsyncIntentService
    from intents.schemas import Identity, IntentRead, Limits
    from intents.service import IntentService

#: How many intents a ``list`` returns at once: a page that a prompt can hold.
PAGE: Final = 20

#: What of an intent the model sees: everything but whose it is.
_HIDDEN: Final = {"agent_id", "creator", "advice"}

_DESCRIPTION: Final = """\
Standing reminders that wait for words in messages, not for a time. The system checks every message by itself; when \
one completes a trigger keyword, it injects the stored reminder into your prompt as a line of <standing_intents>. \
You never have to watch for it.

- create: store a reminder. list: show the stored ones, their ids and how often they fired. cancel: end one for good.
- Do not deliver, repeat or act on a reminder before it is injected. When it is, work it into your reply.
- Cancel only when the user asks for it. That a matter is settled in the conversation is no request to cancel.
- For clock times and dates ("Friday at 9", "in two hours") use scheduled tasks, not this tool.
- trigger_keywords: one completed entry is enough. An entry is complete when all its words occur in one message, in \
any order and in their usual forms; text in double quotes must occur as it stands. Give several phrasings as separate \
entries: ["release candidate", "RC"], never as one entry. Words of exclude_keywords keep it silent.
- Scope: channel_scope says where it listens (conversation, channel, anywhere), sender_scope whose messages trigger it \
(sender: the user's own, or those of the person that sender_id names; anyone). Only owners can see or cancel it.
- Unless said otherwise it fires at most {max_fires}, {cooldown} apart, and stops listening after {expires_after}.\
"""


@dataclass(frozen=True, slots=True)
class _Step:
    """One call of the service, and how its result is told."""

    run: Callable[[Any], Any]
    tell: Callable[[Any], dict[str, Any]]


class IntentTool:
    """The tool ``intent`` for one owner in one turn. Get it from `for_identity`.

    Attributes:
        name: what the model calls it: ``intent``.
    """

    name: Final = "intent"

    def __init__(
        self,
        service: IntentService | AsyncIntentService,
        identity: Identity,
        *,
        turn_id: str | None,
        session_id: str | None,
    ) -> None:
        self._service = service
        self._identity = identity
        self._turn_id = turn_id
        self._session_id = session_id

    @classmethod
    def for_identity(
        cls,
        service: IntentService | AsyncIntentService,
        identity: Identity,
        *,
        turn_id: str | None = None,
        session_id: str | None = None,
    ) -> Self | None:
        """Return the tool for an owner, and None for anyone else: do not offer it to their model then.

        Args:
            service: the agent's intents, synchronous or not.
            identity: who speaks, as the host's channel authenticated it; no argument of a call can name another.
            turn_id: the message that is being answered; an intent never fires on the turn that created it.
            session_id: the host's session, recorded only.
        """
        if not service.settings.owners.allows(identity):
            return None
        return cls(service, identity, turn_id=turn_id, session_id=session_id)

    @property
    def description(self) -> str:
        """What the model is told about the tool, with this service's defaults."""
        limits: Limits = self._service.settings.limits
        return _DESCRIPTION.format(
            max_fires="once" if limits.max_fires == 1 else f"{limits.max_fires} times",
            cooldown=_in_words(limits.cooldown),
            expires_after=_in_words(limits.expires_after),
        )

    @property
    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, a fresh copy: one closed object whose properties are all required."""
        languages = self._service.settings.analyzer.languages
        return published_schema(tuple(dict.fromkeys((*languages, UNDETERMINED))))

    def call(self, arguments: dict[str, Any] | str) -> dict[str, Any]:
        """Carry out one call of the model.

        Args:
            arguments: what the model sent, decoded or as JSON text. Usual slips are mended.

        Returns:
            A JSON-safe answer: ``{"ok": true, "action": …}`` with the intent (``create``, ``cancel``) or the page of
            intents (``list``), or ``{"ok": false, "error": {"code": …, "message": …}}`` for whatever the model got
            wrong, with a remedy that it can act on.

        Raises:
            SchemaMismatch: the tables are missing: the host's mistake, not the model's.
            TypeError: the service is an asynchronous one; use `acall`.
        """
        if self._is_async:
            raise TypeError("This tool has an AsyncIntentService; await acall() instead of call().")
        try:
            step = self._read(arguments)
            return step.tell(step.run(self._service))
        except _REFUSALS as error:
            return _refusal(error)

    async def acall(self, arguments: dict[str, Any] | str) -> dict[str, Any]:
        """Carry out one call without blocking the event loop; see `call`.

        A synchronous service works in a thread.
        """
        if not self._is_async:
            return await asyncio.to_thread(self.call, arguments)
        try:
            step = self._read(arguments)
            return step.tell(await step.run(self._service))
        except _REFUSALS as error:
            return _refusal(error)

    @property
    def _is_async(self) -> bool:
        return inspect.iscoroutinefunction(self._service.create)

    def _read(self, arguments: dict[str, Any] | str) -> _Step:
        wanted = read_arguments(arguments)
        if wanted.action == "create":
            return self._create(wanted)
        if wanted.action == "list":
            return self._list(wanted)
        return self._cancel(wanted)

    def _create(self, wanted: ToolArguments) -> _Step:
        settings = self._service.settings
        draft = draft_of(wanted, now=settings.now(), analyzer=settings.analyzer)
        return _Step(
            lambda service: service.create(
                draft, by=self._identity, turn_id=self._turn_id, session_id=self._session_id
            ),
            lambda intent: {
                "ok": True,
                "action": "create",
                "intent": _shown(intent),
                "advice": list(intent.advice),
                "message": "Stored. The system injects it when it triggers; do not deliver it now.",
            },
        )

    def _list(self, wanted: ToolArguments) -> _Step:
        chosen = wanted.status or "live"
        status = None if chosen in ("live", "all") else Status(chosen)

        def tell(intents: list[IntentRead]) -> dict[str, Any]:
            page = intents[:PAGE]
            return {
                "ok": True,
                "action": "list",
                "status": chosen,
                "intents": [_shown(intent) for intent in page],
                "next_after": page[-1].id if len(intents) > PAGE else None,
            }

        return _Step(
            lambda service: service.list(status=status, live=chosen == "live", after=wanted.after, limit=PAGE + 1),
            tell,
        )

    def _cancel(self, wanted: ToolArguments) -> _Step:
        return _Step(
            lambda service: service.cancel(wanted.intent_id, by=self._identity, reason=wanted.reason),
            lambda intent: {
                "ok": True,
                "action": "cancel",
                "intent": _shown(intent),
                "message": "Cancelled for good.",
            },
        )


_REFUSALS: Final = (
    ToolInputError,
    InvalidIntent,
    IntentNotFound,
    NotAuthorized,
    TransitionNotAllowed,
    ConcurrentUpdate,
)
_CODES: Final[dict[type[IntentsError], str]] = {
    InvalidIntent: "invalid_arguments",
    IntentNotFound: "not_found",
    NotAuthorized: "not_allowed",
    TransitionNotAllowed: "finished",
    ConcurrentUpdate: "busy",
}


def _refusal(error: Exception) -> dict[str, Any]:
    if isinstance(error, ToolInputError):
        code, message = error.code, error.message
    else:
        code = next(code for kind, code in _CODES.items() if isinstance(error, kind))
        message = str(error)
    return {"ok": False, "error": {"code": code, "message": message}}


def _shown(intent: IntentRead) -> dict[str, Any]:
    return intent.model_dump(mode="json", exclude=_HIDDEN)


def _in_words(length: timedelta) -> str:
    for unit, seconds in (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count, rest = divmod(int(length.total_seconds()), seconds)
        # "24 hours" says more than "1 day" about a cooldown.
        if rest == 0 and (count > 1 or seconds == 1):
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return str(length)
