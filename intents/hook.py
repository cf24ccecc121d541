"""What a host calls before it prompts the model."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from intents.aio import AsyncIntentService
    from intents.invocation import Invocation
    from intents.schemas import Matches, Turn
    from intents.service import IntentService

log = logging.getLogger(__name__)

#: The one provider whose turns need no conversation: a web chat is its own.
WITHOUT_CONVERSATION = "webchat"
#: Turns that nobody wrote; they tidy up and never match.
SWEEPING_KINDS = ("heartbeat", "cron")


def reason_to_skip(turn: Turn, invocation: Invocation | None) -> str | None:
    """Why a hook answers a user's turn with nothing; None when it is matched."""
    if turn.kind != "user":
        return "kind"
    nowhere = turn.identity.conversation_id is None and turn.identity.provider != WITHOUT_CONVERSATION
    if nowhere:
        log.warning("A turn was skipped (no_conversation): its identity has no conversation_id; nothing was spent.")
        return "no_conversation"
    if invocation is None:
        log.error("The prompt hook was called without an Invocation; the turn was skipped and nothing was spent.")
        return "no_invocation"
    return None


class PromptHook:
    """Turns an inbound turn into the hidden block of the prompt.

    User turns with a conversation (or of the provider ``webchat``) match; ``heartbeat`` and ``cron`` turns sweep and
    never match; other kinds do nothing.

    Args:
        service: the intents to match.
    """

    def __init__(self, service: IntentService) -> None:
        self._service = service

    def before_prompt(self, turn: Turn, invocation: Invocation | None, *, hold: bool = False) -> str | None:
        """Return the hidden block for this turn; None when nothing fires.

        Args:
            turn: the inbound turn.
            invocation: until when the host wants an answer; without one nothing is matched and one line is logged.
            hold: fire, but wait for `IntentService.confirm` or `release`; needs `Turn.id`.
        """
        return self.matches(turn, invocation, hold=hold).context

    def matches(self, turn: Turn, invocation: Invocation | None, *, hold: bool = False) -> Matches:
        """Return what fired; empty, with ``skipped``, when the turn was not matched."""
        if turn.kind in SWEEPING_KINDS:
            self._service.sweep()
            return self._service._skip("kind")
        reason = reason_to_skip(turn, invocation)
        if reason is not None:
            return self._service._skip(reason)
        return self._service.match(turn, invocation=invocation, hold=hold)


class AsyncPromptHook:
    """`PromptHook` over an `AsyncIntentService`.

    Args:
        service: the intents to match.
    """

    def __init__(self, service: AsyncIntentService) -> None:
        self._service = service

    async def before_prompt(self, turn: Turn, invocation: Invocation | None, *, hold: bool = False) -> str | None:
        """Return the hidden block for this turn; see `PromptHook.before_prompt`."""
        return (await self.matches(turn, invocation, hold=hold)).context

    async def matches(self, turn: Turn, invocation: Invocation | None, *, hold: bool = False) -> Matches:
        """Return what fired; see `PromptHook.matches`."""
        if turn.kind in SWEEPING_KINDS:
            await self._service.sweep()
            return self._service._skip("kind")
        reason = reason_to_skip(turn, invocation)
        if reason is not None:
            return self._service._skip(reason)
        return await self._service.match(turn, invocation=invocation, hold=hold)
