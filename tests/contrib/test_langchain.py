"""LangChain's agents, with a fake chat model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ModelRetryMiddleware
from langchain.tools import tool
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from intents import AsyncIntentService, IntentService, Turn
from intents.contrib.langchain import StandingIntents
from tests.contrib.conversation import (
    LATER,
    OTHER,
    REMINDER,
    AsyncConversation,
    Call,
    Conversation,
    Hang,
    ModelDown,
    Say,
    Seen,
    Step,
    arm,
    turn,
)


class ScriptedModel(BaseChatModel):
    """Takes the steps of a script, and notes what it is given."""

    seen: Any
    steps: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_options: Any) -> Runnable[Any, Any]:
        return self.bind(offered=[each.name for each in tools])

    def _look(self, messages: list[BaseMessage], options: dict[str, Any]) -> Step:
        self.seen.note("\n".join(message.text for message in messages), options.get("offered", []))
        step: Step = next(self.steps)
        return step

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        step = self._look(messages, options)
        if isinstance(step, ModelDown):
            raise step
        if isinstance(step, Say):
            message = AIMessage(step.text)
        else:
            assert isinstance(step, Call)
            call = {"name": "intent", "args": step.arguments, "id": "c"}
            message = AIMessage("", tool_calls=[call | step.arguments.get("__call__", {})])
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        step = next(self.steps)
        if isinstance(step, Hang):
            self.seen.note("", [])
            step.reached.set()
            await asyncio.Event().wait()
        self.steps = iter([step, *self.steps])
        return self._generate(messages, **options)


def scripted(seen: Seen, *steps: Step) -> ScriptedModel:
    return ScriptedModel(seen=seen, steps=iter(steps))


def middleware(service: Any, timeout: float | None = None) -> StandingIntents:
    return StandingIntents(service, timeout=60) if timeout is None else StandingIntents(service, timeout=timeout)


def says(text: str) -> dict[str, Any]:
    return {"messages": [("user", text)]}


class TestAinvoke(AsyncConversation):
    async def ask(
        self, service: Any, turn: Turn, *steps: Step, seen: Seen | None = None, timeout: float | None = None
    ) -> Seen:
        seen = seen or Seen()
        intents = middleware(service, timeout)
        agent = create_agent(scripted(seen, *steps), system_prompt="Be brief.", middleware=[intents])
        async with intents.answering(turn) as config:
            result = await agent.ainvoke(says(turn.text), config)
        assert result["messages"][-1].text == steps[-1].text  # type: ignore[union-attr]
        return seen


class TestAstream(AsyncConversation):
    async def ask(
        self, service: Any, turn: Turn, *steps: Step, seen: Seen | None = None, timeout: float | None = None
    ) -> Seen:
        seen = seen or Seen()
        intents = middleware(service, timeout)
        agent = create_agent(scripted(seen, *steps), middleware=[intents])
        async with intents.answering(turn) as config:
            async for update in agent.astream(says(turn.text), config, stream_mode=["updates", "values"]):
                assert "standing_intents>" not in str(update)
        return seen


class TestInvoke(Conversation):
    """Synchronous runs, each in a thread of its own."""

    @pytest.fixture(params=["sync"])
    def service(self, store: IntentService) -> IntentService:
        return store

    async def ask(
        self, service: Any, turn: Turn, *steps: Step, seen: Seen | None = None, timeout: float | None = None
    ) -> Seen:
        seen = seen or Seen()
        intents = middleware(service, timeout)
        agent = create_agent(scripted(seen, *steps), middleware=[intents])

        def run() -> None:
            with intents.answering(turn) as config:
                agent.invoke(says(turn.text), config)

        await asyncio.to_thread(run)
        return seen


def test_a_synchronous_run_needs_a_synchronous_service(async_service: AsyncIntentService) -> None:
    with (
        pytest.raises(TypeError, match="IntentService"),
        StandingIntents(async_service, timeout=60).answering(turn(LATER, "m2")),
    ):
        pass


def test_an_interrupted_synchronous_run_gives_back(store: IntentService) -> None:
    intent = arm(store)
    intents = StandingIntents(store, timeout=60)

    class Impatient(ScriptedModel):
        def _generate(self, *_args: Any, **_options: Any) -> ChatResult:
            assert store.get(intent).fire_count == 1
            raise KeyboardInterrupt

    agent = create_agent(Impatient(seen=Seen(), steps=iter(())), middleware=[intents])

    def run() -> None:
        with intents.answering(turn(LATER, "m2")) as config:
            agent.invoke(says(LATER), config)

    with pytest.raises(KeyboardInterrupt):
        run()
    assert store.get(intent).fire_count == 0
    assert store.history(intent)[-1].detail == "The run was cancelled."


def test_without_the_config_there_is_neither_tool_nor_block_and_nothing_is_spent(store: IntentService) -> None:
    intent = arm(store)
    seen = Seen()
    intents = StandingIntents(store, timeout=60)
    agent = create_agent(scripted(seen, Say()), middleware=[intents])
    with intents.answering(turn(LATER, "m2")):
        agent.invoke(says(LATER))
    assert seen.tools == [[]]
    assert REMINDER not in seen.prompts[0]
    assert store.get(intent).fire_count == 0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, "{block}"),
        ("Be brief.", "Be brief.\n\n{block}"),
        (SystemMessage([{"type": "text", "text": "Be brief."}]), "Be brief.\n\n{block}"),
    ],
)
def test_the_block_follows_the_system_message(store: IntentService, given: Any, expected: str) -> None:
    arm(store)
    seen = Seen()
    intents = StandingIntents(store, timeout=60)
    agent = create_agent(scripted(seen, Say()), middleware=[intents], system_prompt=given)
    with intents.answering(turn(LATER, "m2")) as config:
        agent.invoke(says(LATER), config)
    block = f"<standing_intents>\nStanding intent (created 2026-01-01): {REMINDER}\n</standing_intents>"
    assert seen.prompts == [expected.format(block=block) + f"\n{LATER}"]


def test_tools_and_config_of_the_host_s_own_stay(store: IntentService) -> None:
    seen = Seen()

    @tool
    def deploy(where: str) -> str:
        """Deploy."""
        return f"deployed to {where}"

    intents = StandingIntents(store, timeout=60)
    steps = [Call({"__call__": {"name": "deploy", "args": {"where": "moon"}}}), Call({"action": "list"}), Say()]
    agent = create_agent(scripted(seen, *steps), tools=[deploy], middleware=[intents], checkpointer=InMemorySaver())
    mine: Any = {"configurable": {"thread_id": "t"}, "tags": ["x"]}
    with intents.answering(turn("hello", "m1"), mine) as config:
        assert config["tags"] == ["x"]
        messages = agent.invoke(says("hello"), config)["messages"]
    assert mine == {"configurable": {"thread_id": "t"}, "tags": ["x"]}
    answers = [message for message in messages if isinstance(message, ToolMessage)]
    assert answers[0].text == "deployed to moon"
    assert json.loads(answers[1].text) == {
        "ok": True,
        "action": "list",
        "status": "live",
        "intents": [],
        "next_after": None,
    }
    assert seen.tools == [["deploy", "intent"]] * 3
    assert [message.text for message in agent.get_state(mine).values["messages"]] == [m.text for m in messages]


def test_nothing_of_it_enters_the_checkpoints(store: IntentService) -> None:
    arm(store)
    intents = StandingIntents(store, timeout=60)
    saver = InMemorySaver()
    agent = create_agent(scripted(Seen(), Say()), middleware=[intents], checkpointer=saver)
    with intents.answering(turn(LATER, "m2"), {"configurable": {"thread_id": "t"}}) as config:
        agent.invoke(says(LATER), config)
    kept = str([list(saver.list(None)), saver.blobs, saver.writes])
    assert LATER in kept
    assert "standing_intents" not in kept
    assert REMINDER not in kept


def test_an_agent_that_waits_for_an_approval_keeps_what_it_fired(service: Any, store: IntentService) -> None:
    intent = arm(store)
    seen = Seen()
    intents = StandingIntents(service, timeout=60)

    @tool
    def deploy() -> str:
        """Deploy."""
        return "deployed"

    agent = create_agent(
        scripted(seen, Call({"__call__": {"name": "deploy", "args": {}}}), Say("Done.")),
        tools=[deploy],
        middleware=[intents, HumanInTheLoopMiddleware(interrupt_on={"deploy": True})],
        checkpointer=InMemorySaver(),
    )
    said = turn(LATER, "m2")
    mine: Any = {"configurable": {"thread_id": "t"}}

    async def body() -> None:
        async with intents.answering(said, mine) as config:
            assert "__interrupt__" in await agent.ainvoke(says(LATER), config)
        assert store.explain(turn(LATER, "m9"), intent_id=intent)[0].rule == "held"
        async with intents.answering(said, mine) as config:
            resumed = await agent.ainvoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
        assert resumed["messages"][-1].text == "Done."

    asyncio.run(body())
    assert [REMINDER in prompt for prompt in seen.prompts] == [True, True]
    assert store.get(intent).fire_count == 1
    assert store.explain(turn(LATER, "m9"), intent_id=intent)[0].rule == "cooldown"


def test_a_model_call_that_is_retried_is_one_delivery(store: IntentService) -> None:
    intent = arm(store)
    seen = Seen()
    intents = StandingIntents(store, timeout=60)
    agent = create_agent(
        scripted(seen, ModelDown(), Say()),
        middleware=[intents, ModelRetryMiddleware(max_retries=1, initial_delay=0.0, jitter=False)],
    )
    with intents.answering(turn(LATER, "m2")) as config:
        agent.invoke(says(LATER), config)
    assert [REMINDER in prompt for prompt in seen.prompts] == [True, True]
    assert store.get(intent).fire_count == 1
    assert store.release(turn(LATER, "m2")) == 0


def test_an_agent_used_as_a_tool_by_another_answers_the_same_turn(store: IntentService) -> None:
    intent = arm(store)
    seen, inner_seen = Seen(), Seen()
    intents = StandingIntents(store, timeout=60)
    inner = create_agent(scripted(inner_seen, Say("inner")), middleware=[intents])

    @tool
    def delegate() -> str:
        """Ask the other agent."""
        reply: str = inner.invoke(says("help"))["messages"][-1].text
        return reply

    steps = [Call({"__call__": {"name": "delegate", "args": {}}}), Say()]
    agent = create_agent(scripted(seen, *steps), tools=[delegate], middleware=[intents])
    with intents.answering(turn(LATER, "m2")) as config:
        agent.invoke(says(LATER), config)
    assert inner_seen.tools == [["intent"]]
    assert REMINDER in inner_seen.prompts[0]
    assert store.get(intent).fire_count == 1


def test_a_generator_that_is_continued_in_other_threads_stays_the_same_run(store: IntentService) -> None:
    """Web frameworks iterate a synchronous stream in a pool of threads, each step in a context of its own."""
    intent = arm(store)
    seen = Seen()
    intents = StandingIntents(store, timeout=60)
    agent = create_agent(scripted(seen, Call({"action": "list"}), Say()), middleware=[intents])

    def stream() -> Iterator[Any]:
        with intents.answering(turn(LATER, "m2")) as config:
            yield from agent.stream(says(LATER), config)

    async def body() -> None:
        steps = stream()
        step: Callable[[], Any] = lambda: next(steps, None)  # noqa: E731
        while await asyncio.to_thread(step) is not None:
            pass

    asyncio.run(body())
    assert [REMINDER in prompt for prompt in seen.prompts] == [True, True]
    assert seen.tools == [["intent"]] * 2
    assert store.release(turn(LATER, "m2")) == 0
    assert store.get(intent).fire_count == 1


def test_two_turns_of_one_agent_do_not_mix(service: Any, store: IntentService) -> None:
    arm(store)
    seen = Seen()
    intents = StandingIntents(service, timeout=60)
    agent = create_agent(scripted(seen, Say(), Say()), middleware=[intents])

    async def ask(said: Turn) -> None:
        async with intents.answering(said) as config:
            await agent.ainvoke(says(said.text), config)

    async def body() -> None:
        await asyncio.gather(ask(turn(LATER, "m2")), ask(turn(LATER, "m3", OTHER)))

    asyncio.run(body())
    assert sorted((REMINDER in prompt, tools) for prompt, tools in zip(seen.prompts, seen.tools, strict=True)) == [
        (False, []),
        (True, ["intent"]),
    ]
