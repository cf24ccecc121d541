"""What every adapter must do, told once: a conversation that each framework plays with a scripted model."""

from __future__ import annotations

import asyncio
import contextlib
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from intents import AsyncIntentService, Identity, IntentService, InvalidIntent, Status, Turn
from intents.testing import FrozenClock

OWNER = Identity(provider="slack", sender_id="U1", conversation_id="C1")
OTHER = Identity(provider="slack", sender_id="U2", conversation_id="C1")
REMINDER = "Confirm the rollback owner."
CREATE: dict[str, Any] = {
    "action": "create",
    "description": REMINDER,
    "trigger_keywords": '["release candidate", "RC"]',  # a usual slip of models
    "cooldown": "1h",
}
LATER = "The release candidate is up!"


@dataclass
class Say:
    """The model replies."""

    text: str = "Noted."


@dataclass
class Call:
    """The model calls the tool `intent`."""

    arguments: dict[str, Any]


@dataclass
class Hang:
    """The model never answers; `reached` is set when it has been asked."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)


class ModelDown(Exception):
    """The model fails."""


Step = Say | Call | Hang | ModelDown


@dataclass
class Seen:
    """What the model was given, one entry a call."""

    prompts: list[str] = field(default_factory=list)
    tools: list[list[str]] = field(default_factory=list)
    #: Called at each model call.
    on_call: Callable[[], None] = lambda: None

    def note(self, prompt: str, tools: list[str]) -> None:
        self.on_call()
        self.prompts.append(prompt)
        self.tools.append(tools)


def turn(text: str, turn_id: str | None, identity: Identity = OWNER) -> Turn:
    return Turn(text=text, identity=identity, id=turn_id)


class Conversation:
    """The behaviour of an adapter. A framework's test module inherits it and says how a turn is asked."""

    @abstractmethod
    async def ask(
        self, service: Any, turn: Turn, *steps: Step, seen: Seen | None = None, timeout: float | None = None
    ) -> Seen:
        """Answer a turn with a model that takes these steps, and return what the model saw."""

    def test_a_whole_conversation(
        self, service: IntentService | AsyncIntentService, store: IntentService, clock: FrozenClock
    ) -> None:
        def asked(*args: Any) -> Seen:
            return asyncio.run(self.ask(service, *args))

        # The owner asks for a reminder, in words that would trigger it.
        seen = asked(turn("When the release candidate is up, remind me.", "m1"), Call(CREATE), Say())
        assert seen.tools == [["intent"], ["intent"]]
        assert "Stored. The system injects it" in seen.prompts[1]
        assert "standing_intents>" not in "".join(seen.prompts)
        [intent] = store.list()
        assert (intent.description, intent.status, intent.fire_count) == (REMINDER, Status.ARMED, 0)

        # A later turn fires it: the block reaches the model in every call of the run, and the reply is confirmed.
        seen = asked(turn(LATER, "m2"), Call({"action": "list"}), Say("Who owns the rollback?"))
        assert [prompt.count(REMINDER) for prompt in seen.prompts] == [1, 2]  # the second time in the list too
        for prompt in seen.prompts:
            assert prompt.count("<standing_intents>\nStanding intent (created 2026-01-01): " + REMINDER) == 1
        assert store.get(intent.id).fire_count == 1
        assert store.get(intent.id).rearm_at == clock() + intent.cooldown
        assert store.release(turn(LATER, "m2")) == 0  # no longer held

        # The same turn again: the same block, nothing spent.
        seen = asked(turn(LATER, "m2"), Say())
        assert REMINDER in seen.prompts[0]
        assert store.get(intent.id).fire_count == 1

        # Another sender: nothing, and no tool.
        clock.advance(hours=2)
        seen = asked(turn(LATER, "m3", OTHER), Say())
        assert seen.tools == [[]]
        assert REMINDER not in seen.prompts[0]

        # The run fails: given back, and the retry fires.
        before = store.get(intent.id)
        with pytest.raises(ModelDown):
            asked(turn(LATER, "m4"), ModelDown("secret"))
        assert store.get(intent.id) == before.model_copy(update={"rearm_at": store.get(intent.id).rearm_at})
        assert store.get(intent.id).fire_count == 1
        released = store.history(intent.id)[-1]
        assert (released.event, released.turn_id) == ("release", "m4")
        assert released.detail == "The run failed with ModelDown."
        assert REMINDER in asked(turn(LATER, "m4"), Say()).prompts[0]
        assert store.get(intent.id).fire_count == 2

    def test_it_is_held_while_the_model_works(self, service: Any, store: IntentService) -> None:
        intent = arm(store)
        seen = Seen(on_call=lambda: held.append(store.explain(turn(LATER, "m9"), intent_id=intent)[0].rule))
        held: list[str | None] = []
        asyncio.run(self.ask(service, turn(LATER, "m2"), Say(), seen=seen))
        assert held == ["held"]
        assert store.explain(turn(LATER, "m9"), intent_id=intent)[0].rule == "cooldown"

    def test_who_is_no_owner_cannot_call_the_tool_either(self, service: Any, store: IntentService) -> None:
        # What the framework does with a call of a tool that it did not offer is its own affair.
        with contextlib.suppress(Exception):
            seen = asyncio.run(self.ask(service, turn("Remind me of lunch.", "m1", OTHER), Call(CREATE), Say()))
            assert all(tools == [] for tools in seen.tools)
        assert store.list() == []

    def test_the_block_is_gone_on_the_next_turn(self, service: Any, store: IntentService) -> None:
        arm(store)
        assert REMINDER in asyncio.run(self.ask(service, turn(LATER, "m2"), Say())).prompts[0]
        assert REMINDER not in asyncio.run(self.ask(service, turn("And now?", "m3"), Say())).prompts[0]

    def test_a_turn_that_is_matched_too_late_spends_nothing(self, service: Any, store: IntentService) -> None:
        intent = arm(store)
        seen = asyncio.run(self.ask(service, turn(LATER, "m2"), Say(), timeout=0.0))
        assert REMINDER not in seen.prompts[0]
        assert store.get(intent).fire_count == 0

    def test_a_reply_is_not_lost_when_it_cannot_be_confirmed(
        self, service: Any, store: IntentService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        arm(store)
        breaks(service, "confirm", monkeypatch)
        assert REMINDER in asyncio.run(self.ask(service, turn(LATER, "m2"), Say())).prompts[0]
        assert "could not be confirmed" in caplog.text

    def test_the_run_s_own_error_is_raised_when_nothing_can_be_given_back(
        self, service: Any, store: IntentService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        arm(store)
        breaks(service, "release", monkeypatch)
        with pytest.raises(ModelDown):
            asyncio.run(self.ask(service, turn(LATER, "m2"), ModelDown()))
        assert "could not be released" in caplog.text

    def test_a_turn_without_an_id_is_refused(self, service: Any, store: IntentService) -> None:
        arm(store)
        with pytest.raises(InvalidIntent, match=r"Turn\.id"):
            asyncio.run(self.ask(service, turn(LATER, None), Say()))


class AsyncConversation(Conversation):
    """What a run that is awaited must do besides."""

    def test_a_cancelled_run_gives_back(self, service: Any, store: IntentService) -> None:
        intent = arm(store)

        async def body() -> None:
            hang = Hang()
            task = asyncio.create_task(self.ask(service, turn(LATER, "m2"), hang))
            await asyncio.wait_for(hang.reached.wait(), 10)
            assert store.get(intent).fire_count == 1
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(body())
        assert store.get(intent).status is Status.ARMED
        assert store.get(intent).fire_count == 0
        assert store.history(intent)[-1].detail == "The run was cancelled."

    def test_a_retry_that_fails_takes_nothing_from_the_run_that_replied(
        self, service: Any, store: IntentService
    ) -> None:
        intent = arm(store)

        async def body() -> None:
            hang = Hang()
            first = asyncio.create_task(self.ask(service, turn(LATER, "m2"), hang))
            await asyncio.wait_for(hang.reached.wait(), 10)
            with pytest.raises(ModelDown):
                await self.ask(service, turn(LATER, "m2"), ModelDown())
            assert store.get(intent).fire_count == 1  # the first run may still reply
            assert REMINDER in (await self.ask(service, turn(LATER, "m2"), Say())).prompts[0]
            first.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await first

        asyncio.run(body())
        # The retry has replied, so the first run's end changes nothing.
        assert store.get(intent).fire_count == 1
        assert store.history(intent)[-1].event == "fire"


def arm(store: IntentService) -> str:
    """Store the usual reminder; return its id."""
    from intents.testing import make_draft

    return store.create(make_draft(description=REMINDER), by=OWNER).id


def breaks(service: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a method of the service fail, as when the database is gone."""
    if isinstance(service, IntentService):

        def broken(*_args: Any, **_named: Any) -> None:
            raise OSError("the database is gone")
    else:

        async def broken(*_args: Any, **_named: Any) -> None:  # type: ignore[misc]
            raise OSError("the database is gone")

    monkeypatch.setattr(service, method, broken)
