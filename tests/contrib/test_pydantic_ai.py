"""Pydantic AI, with its function model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, RunContext, ToolOutput
from pydantic_ai.capabilities import Hooks
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.tools import DeferredToolResults

from intents import IntentService, Turn
from intents.contrib.pydantic_ai import StandingIntents
from tests.contrib.conversation import (
    LATER,
    OTHER,
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


def scripted(seen: Seen, *steps: Step) -> FunctionModel:
    remaining = iter(steps)

    async def play(messages: list[ModelMessage], info: AgentInfo) -> Say | Call:
        said = ModelMessagesTypeAdapter.dump_json(messages).decode()
        seen.note(f"{info.instructions}\n{said}", [tool.name for tool in info.function_tools])
        step = next(remaining)
        if isinstance(step, ModelDown):
            raise step
        if isinstance(step, Hang):
            step.reached.set()
            await asyncio.Event().wait()
        assert isinstance(step, Say | Call)
        return step

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = await play(messages, info)
        if isinstance(step, Call):
            return ModelResponse([ToolCallPart("intent", step.arguments)])
        return ModelResponse([TextPart(step.text)])

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        step = await play(messages, info)
        if isinstance(step, Call):
            yield {0: DeltaToolCall("intent", json.dumps(step.arguments), tool_call_id="c")}
        else:
            for word in step.text.split(" "):
                yield word + " "

    return FunctionModel(respond, stream_function=stream)


class TestRun(AsyncConversation):
    async def ask(
        self, service: Any, turn: Turn, *steps: Step, seen: Seen | None = None, timeout: float | None = None
    ) -> Seen:
        seen = seen or Seen()
        intents = (
            StandingIntents(service, turn, timeout=60)
            if timeout is None
            else StandingIntents(service, turn, timeout=timeout)
        )
        agent = Agent(scripted(seen, *steps), instructions="Be brief.")
        result = await agent.run(turn.text, capabilities=[intents])
        assert result.output == steps[-1].text  # type: ignore[union-attr]
        return seen


class TestRunStream(AsyncConversation):
    async def ask(
        self, service: Any, turn: Turn, *steps: Step, seen: Seen | None = None, timeout: float | None = None
    ) -> Seen:
        seen = seen or Seen()
        intents = (
            StandingIntents(service, turn, timeout=60)
            if timeout is None
            else StandingIntents(service, turn, timeout=timeout)
        )
        agent = Agent(scripted(seen, *steps), instructions="Be brief.")
        async with agent.run_stream(turn.text, capabilities=[intents]) as result:
            assert (await result.get_output()).strip() == steps[-1].text  # type: ignore[union-attr]
        return seen


@dataclass
class Deps:
    turn: Turn | None


def agent_for_all_turns(service: Any, seen: Seen, *steps: Step) -> Agent[Deps, str]:
    def turn_of(ctx: RunContext[Deps]) -> Turn | None:
        return ctx.deps.turn

    return Agent(scripted(seen, *steps), deps_type=Deps, capabilities=[StandingIntents(service, turn_of, timeout=60)])


def test_one_agent_answers_the_turns_of_its_dependencies(service: Any, store: IntentService) -> None:
    intent = arm(store)
    seen = Seen()
    agent = agent_for_all_turns(service, seen, *[Say()] * 3)

    async def body() -> None:
        await asyncio.gather(
            agent.run(LATER, deps=Deps(turn(LATER, "m2"))),
            agent.run(LATER, deps=Deps(turn(LATER, "m3", OTHER))),
            agent.run(LATER, deps=Deps(None)),
        )

    asyncio.run(body())
    assert sorted(seen.tools) == [[], [], ["intent"]]
    assert [REMINDER in prompt for prompt, tools in zip(seen.prompts, seen.tools, strict=True) if tools] == [True]
    assert sum(REMINDER in prompt for prompt in seen.prompts) == 1
    assert store.get(intent).fire_count == 1


@pytest.mark.usefixtures("own_loop")
def test_a_synchronous_run(store: IntentService) -> None:
    arm(store)
    seen = Seen()
    agent = Agent(scripted(seen, Say("Who?")))
    assert agent.run_sync(LATER, capabilities=[StandingIntents(store, turn(LATER, "m2"), timeout=60)]).output == "Who?"
    assert REMINDER in seen.prompts[0]
    assert store.release(turn(LATER, "m2")) == 0


def test_a_run_that_waits_for_an_approval_keeps_what_it_fired(service: Any, store: IntentService) -> None:
    intent = arm(store)
    said = turn(LATER, "m2")

    def respond(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        return ModelResponse([ToolCallPart("deploy", {})] if len(messages) == 1 else [TextPart("Done.")])

    agent = Agent(FunctionModel(respond), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def deploy() -> str:
        return "deployed"

    async def body() -> None:
        intents = StandingIntents(service, said, timeout=60)
        asked = await agent.run(LATER, capabilities=[intents])
        assert isinstance(asked.output, DeferredToolRequests)
        assert store.explain(turn(LATER, "m9"), intent_id=intent)[0].rule == "held"
        approved = DeferredToolResults(approvals={asked.output.approvals[0].tool_call_id: True})
        result = await agent.run(
            message_history=asked.all_messages(), deferred_tool_results=approved, capabilities=[intents]
        )
        assert result.output == "Done."

    asyncio.run(body())
    assert store.get(intent).fire_count == 1
    assert store.explain(turn(LATER, "m9"), intent_id=intent)[0].rule == "cooldown"


def test_the_block_does_not_enter_the_history(store: IntentService) -> None:
    arm(store)
    seen = Seen()
    agent = Agent(scripted(seen, Say(), Say()))

    async def body() -> None:
        first = await agent.run(LATER, capabilities=[StandingIntents(store, turn(LATER, "m2"), timeout=60)])
        assert REMINDER not in first.all_messages_json().decode()
        await agent.run(
            "And now?",
            message_history=first.all_messages(),
            capabilities=[StandingIntents(store, turn("And now?", "m3"), timeout=60)],
        )

    asyncio.run(body())
    assert REMINDER in seen.prompts[0]
    assert REMINDER not in seen.prompts[1]


def test_an_error_of_the_host_s_own_hooks_gives_back(service: Any, store: IntentService) -> None:
    intent = arm(store)
    hooks: Hooks[None] = Hooks()

    @hooks.on.after_run
    async def check(_ctx: RunContext[None], *, result: Any) -> Any:
        raise PermissionError("not today")

    agent = Agent(scripted(Seen(), Say()))
    with pytest.raises(PermissionError):
        asyncio.run(agent.run(LATER, capabilities=[StandingIntents(service, turn(LATER, "m2"), timeout=60), hooks]))
    assert store.get(intent).fire_count == 0


def test_a_result_by_tool_is_a_reply(service: Any, store: IntentService) -> None:
    intent = arm(store)

    def respond(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert REMINDER in (info.instructions or "")
        return ModelResponse([ToolCallPart(info.output_tools[0].name, {"response": 3})])

    agent = Agent(FunctionModel(respond), output_type=ToolOutput(int))
    assert (
        asyncio.run(agent.run(LATER, capabilities=[StandingIntents(service, turn(LATER, "m2"), timeout=60)])).output
        == 3
    )
    assert store.get(intent).fire_count == 1


def test_a_run_that_is_left_half_way_gives_back(service: Any, store: IntentService) -> None:
    intent = arm(store)
    agent = Agent(scripted(Seen(), Call({"action": "list"}), Say()))

    async def body() -> None:
        async with agent.iter(LATER, capabilities=[StandingIntents(service, turn(LATER, "m2"), timeout=60)]) as run:
            async for _ in run:
                if store.get(intent).fire_count:
                    break

    asyncio.run(body())
    assert store.get(intent).fire_count == 0
    assert store.history(intent)[-1].detail == "The run was cancelled."


@pytest.mark.parametrize("read", [0, 1])
def test_a_stream_that_is_left_early_gives_back(service: Any, store: IntentService, read: int) -> None:
    intent = arm(store)
    agent = Agent(scripted(Seen(), Say("one two three four")))

    async def body() -> None:
        async with agent.run_stream(
            LATER, capabilities=[StandingIntents(service, turn(LATER, "m2"), timeout=60)]
        ) as result:
            words = result.stream_text(delta=True)
            for _ in range(read):
                await anext(words)

    asyncio.run(body())
    assert store.get(intent).fire_count == 0
    assert store.history(intent)[-1].detail == "The run was cancelled."
