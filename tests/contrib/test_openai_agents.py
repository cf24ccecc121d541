"""The OpenAI Agents SDK, with its scripted test model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, RunState, function_tool
from agents.run import CallModelData, ModelInputData
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call

from intents import AsyncIntentService, IntentService, Turn
from intents.contrib.openai_agents import StandingIntents
from tests.contrib.conversation import (
    LATER,
    REMINDER,
    AsyncConversation,
    Call,
    Hang,
    ModelDown,
    Say,
    Seen,
    Step,
    arm,
    turn,
)

#: Nothing leaves the machine.
QUIET = RunConfig(tracing_disabled=True)


def scripted(seen: Seen, *steps: Step) -> ScriptedModel:
    def play(step: Step, number: int) -> ModelStep:
        async def respond(call: ModelCall) -> Any:
            seen.note(f"{call.system_instructions}\n{json.dumps(call.input)}", [tool.name for tool in call.tools])
            if isinstance(step, ModelDown):
                return step
            if isinstance(step, Hang):
                step.reached.set()
                await asyncio.Event().wait()
            if isinstance(step, Call):
                return [function_call("intent", step.arguments, call_id=f"call-{number}")]
            assert isinstance(step, Say)
            return [assistant_message(step.text)]

        return ModelStep.respond(respond)

    return ScriptedModel([play(step, number) for number, step in enumerate(steps)])


def assistant(intents: StandingIntents, seen: Seen, *steps: Step, **options: Any) -> Agent[Any]:
    options.setdefault("tools", [intents.tool])
    return Agent(name="Assistant", instructions="Be brief.", model=scripted(seen, *steps), **options)


class TestRun(AsyncConversation):
    async def ask(
        self, service: Any, turn: Turn, *steps: Step, seen: Seen | None = None, timeout: float | None = None
    ) -> Seen:
        seen = seen or Seen()
        intents = StandingIntents(service, timeout=60) if timeout is None else StandingIntents(service, timeout=timeout)
        result = await intents.run(assistant(intents, seen, *steps), turn.text, turn=turn, run_config=QUIET)
        assert result.final_output == steps[-1].text  # type: ignore[union-attr]
        return seen


class TestRunStreamed(AsyncConversation):
    async def ask(
        self, service: Any, turn: Turn, *steps: Step, seen: Seen | None = None, timeout: float | None = None
    ) -> Seen:
        seen = seen or Seen()
        intents = StandingIntents(service, timeout=60) if timeout is None else StandingIntents(service, timeout=timeout)
        agent = assistant(intents, seen, *steps)
        async with intents.run_streamed(agent, turn.text, turn=turn, run_config=QUIET) as result:
            async for _ in result.stream_events():
                pass
        assert result.final_output == steps[-1].text  # type: ignore[union-attr]
        return seen


@pytest.mark.usefixtures("own_loop")
def test_a_synchronous_run(store: IntentService) -> None:
    intent = arm(store)
    intents = StandingIntents(store, timeout=60)
    seen = Seen()
    agent = assistant(intents, seen, Say("Who?"))
    assert intents.run_sync(agent, LATER, turn=turn(LATER, "m2"), run_config=QUIET).final_output == "Who?"
    assert REMINDER in seen.prompts[0]
    assert seen.tools == [["intent"]]
    assert store.release(turn(LATER, "m2")) == 0
    with pytest.raises(ModelDown):
        intents.run_sync(assistant(intents, seen, ModelDown()), LATER, turn=turn(LATER, "m3"), run_config=QUIET)
    assert store.get(intent).fire_count == 1


def test_a_synchronous_run_needs_a_synchronous_service(async_service: AsyncIntentService) -> None:
    intents = StandingIntents(async_service, timeout=60)
    with pytest.raises(TypeError, match="IntentService"):
        intents.run_sync(assistant(intents, Seen(), Say()), LATER, turn=turn(LATER, "m2"), run_config=QUIET)


def test_a_run_of_the_bare_runner_has_neither_tool_nor_block(store: IntentService) -> None:
    arm(store)
    seen = Seen()
    intents = StandingIntents(store, timeout=60)
    asyncio.run(Runner.run(assistant(intents, seen, Say()), LATER, run_config=QUIET))
    assert seen.tools == [[]]
    assert REMINDER not in seen.prompts[0]


def test_a_filter_of_the_host_s_own_runs_first(store: IntentService) -> None:
    arm(store)
    seen = Seen()
    intents = StandingIntents(store, timeout=60)

    async def shout(data: CallModelData[Any]) -> ModelInputData:
        return ModelInputData(data.model_data.input, (data.model_data.instructions or "").upper())

    def plainly(data: CallModelData[Any]) -> ModelInputData:
        return ModelInputData(data.model_data.input, None)

    for number, (call_filter, start) in enumerate([(shout, "BE BRIEF.\n\n<"), (plainly, "<")]):
        said = turn(LATER, "m2")
        config = {"call_model_input_filter": call_filter, "tracing_disabled": True}
        asyncio.run(intents.run(assistant(intents, seen, Say()), LATER, turn=said, run_config=config))
        assert seen.prompts[number].startswith(start + "standing_intents>\n")


def test_the_agent_that_is_handed_the_turn_sees_the_block(store: IntentService) -> None:
    arm(store)
    seen = Seen()
    intents = StandingIntents(store, timeout=60)
    specialist = Agent(name="Specialist", model=scripted(seen, Say()), tools=[intents.tool])
    triage = Agent(
        name="Triage",
        model=ScriptedModel([[function_call("transfer_to_specialist", {}, call_id="h")]]),
        handoffs=[specialist],
    )
    asyncio.run(intents.run(triage, LATER, turn=turn(LATER, "m2"), run_config=QUIET))
    assert REMINDER in seen.prompts[0]
    assert seen.tools == [["intent"]]


def test_a_run_that_waits_for_an_approval_keeps_what_it_fired(store: IntentService) -> None:
    intent = arm(store)
    seen = Seen()
    intents = StandingIntents(store, timeout=60)

    @function_tool(needs_approval=True)
    def deploy() -> str:
        return "deployed"

    agent = Agent(
        name="Assistant",
        model=ScriptedModel([[function_call("deploy", {}, call_id="d")], [assistant_message("Done.")]]),
        tools=[deploy, intents.tool],
    )

    async def body() -> None:
        said = turn(LATER, "m2")
        result = await intents.run(agent, LATER, turn=said, run_config=QUIET)
        assert store.explain(turn(LATER, "m9"), intent_id=intent)[0].rule == "held"
        state: RunState[Any] = result.to_state()
        state.approve(result.interruptions[0])
        result = await intents.run(agent, state, turn=said, run_config=QUIET)
        assert result.final_output == "Done."

    asyncio.run(body())
    assert store.get(intent).fire_count == 1
    assert store.explain(turn(LATER, "m9"), intent_id=intent)[0].rule == "cooldown"
    assert not seen.prompts


@pytest.mark.parametrize("how", ["leave", "cancel"])
def test_a_stream_that_is_not_read_to_its_end_gives_back(service: Any, store: IntentService, how: str) -> None:
    intent = arm(store)
    intents = StandingIntents(service, timeout=60)

    async def body() -> None:
        hang = Hang()
        agent = assistant(intents, Seen(), Call({"action": "list"}), hang)
        async with intents.run_streamed(agent, LATER, turn=turn(LATER, "m2"), run_config=QUIET) as result:
            async for event in result.stream_events():
                if event.type == "run_item_stream_event" and event.name == "tool_output":
                    if how == "leave":
                        break
                    result.cancel()
        assert not hang.reached.is_set() or result.final_output is None

    asyncio.run(body())
    assert store.get(intent).fire_count == 0
    assert store.history(intent)[-1].detail == "The reply was not read to its end."
