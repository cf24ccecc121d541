"""OpenAI Agents SDK: the tool for owners, the hidden block in the instructions, settled by the end of the run.

::

    intents = StandingIntents(service)
    agent = Agent(name="Assistant", instructions="Be brief.", tools=[intents.tool])
    turn = Turn(text=message, identity=identity, id=message_id)
    result = await intents.run(agent, message, turn=turn)

Install with ``pip install "standing-intents[openai-agents]"``.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from intents.contrib._delivery import TIMEOUT, Delivery, adelivering, delivering
from intents.schemas import Identity
from intents.tool import IntentTool

try:
    from agents import FunctionTool, RunConfig, Runner
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise ImportError(
        'intents.contrib.openai_agents needs the OpenAI Agents SDK: pip install "standing-intents[openai-agents]"'
    ) from error

if TYPE_CHECKING:
    from agents import Agent, AgentBase, RunContextWrapper, RunResult, RunResultStreaming
    from agents.items import TResponseInputItem
    from agents.run_state import RunState
    from agents.tool_context import ToolContext

    from intents.aio import AsyncIntentService
    from intents.schemas import Turn
    from intents.service import IntentService

    Input = str | list[TResponseInputItem] | RunState[Any]

__all__ = ["StandingIntents"]

#: The turn that the current run answers. The SDK starts its tasks inside, agents used as tools included.
_current: ContextVar[Delivery | None] = ContextVar("standing_intents_delivery", default=None)


class StandingIntents:
    """Standing intents for agents of the OpenAI Agents SDK.

    Run agents through `run`, `run_sync` or `run_streamed`, which take what `Runner`'s methods take. They match the
    turn once, append the hidden block to the instructions of every model call of the run (after handoffs too), and
    confirm when the run has produced its reply. A run that fails or is cancelled gives back what it fired. A run that
    stops for an approval keeps it, for `Limits.hold_for`; resume it with the same turn.

    An agent used as a tool inherits the run config and with it the block; ``as_tool(run_config=RunConfig())`` keeps it
    out.

    Args:
        service: the agent's intents.
        timeout: seconds that matching may take; a turn that is matched too late spends nothing.

    Attributes:
        tool: put it among the `tools` of an agent. It is offered only while an owner's turn runs.
    """

    def __init__(self, service: IntentService | AsyncIntentService, *, timeout: float = TIMEOUT) -> None:
        self._service = service
        self._timeout = timeout
        # Nobody's tool: only its description and its schema are used, which are the same for all.
        pattern = IntentTool(service, Identity(provider="nobody"), turn_id=None, session_id=None)
        self.tool = FunctionTool(
            name=pattern.name,
            description=pattern.description,
            params_json_schema=pattern.json_schema,
            on_invoke_tool=self._call_tool,
            is_enabled=self._is_offered,
        )

    async def run(self, agent: Agent[Any], message: Input, /, *, turn: Turn, **options: Any) -> RunResult:
        """Answer a turn; see `Runner.run`.

        Args:
            agent: the agent to start with.
            message: the input, as for `Runner.run`.
            turn: the user's message with its id and its authenticated sender.
            options: further arguments of `Runner.run`, such as `context`, `session` or `run_config`.

        Returns:
            The run's result.

        Raises:
            InvalidIntent: the turn has no id.
        """
        delivery = self._delivery(turn)
        async with adelivering(delivery):
            with _during(delivery, options):
                result = await Runner.run(agent, message, **options)
            _note_pause(delivery, result)
        return result

    def run_sync(self, agent: Agent[Any], message: Input, /, *, turn: Turn, **options: Any) -> RunResult:
        """Answer a turn without an event loop of yours; see `run` and `Runner.run_sync`.

        Raises:
            TypeError: the service is an `AsyncIntentService`.
        """
        delivery = self._delivery(turn)
        with delivering(delivery):
            with _during(delivery, options):
                result = Runner.run_sync(agent, message, **options)
            _note_pause(delivery, result)
        return result

    @asynccontextmanager
    async def run_streamed(
        self, agent: Agent[Any], message: Input, /, *, turn: Turn, **options: Any
    ) -> AsyncIterator[RunResultStreaming]:
        """Answer a turn as a stream; see `run` and `Runner.run_streamed`.

        ::

            async with intents.run_streamed(agent, message, turn=turn) as result:
                async for event in result.stream_events(): ...

        Leaving the block before the stream has ended cancels the run and gives back what it fired.
        """
        delivery = self._delivery(turn)
        async with adelivering(delivery):
            with _during(delivery, options):
                result = Runner.run_streamed(agent, message, **options)
            try:
                yield result
            finally:
                if not result.is_complete:
                    result.cancel()
            if result.run_loop_exception is not None:
                # Some failures come before the first event, and the stream of events does not raise them.
                raise result.run_loop_exception
            _note_pause(delivery, result)
            if delivery.outcome == "replied" and result.final_output is None:
                delivery.outcome = "abandoned"

    def _delivery(self, turn: Turn) -> Delivery:
        return Delivery(self._service, turn, timeout=self._timeout)

    def _tool_now(self) -> IntentTool | None:
        delivery = _current.get()
        return None if delivery is None or delivery.service is not self._service else delivery.tool()

    def _is_offered(self, _context: RunContextWrapper[Any], _agent: AgentBase[Any]) -> bool:
        return self._tool_now() is not None

    async def _call_tool(self, _context: ToolContext[Any], arguments: str) -> str:
        tool = self._tool_now()
        if tool is None:
            return "Only an owner's turn may use this tool."
        return json.dumps(await tool.acall(arguments), ensure_ascii=False)


@contextmanager
def _during(delivery: Delivery, options: dict[str, Any]) -> Iterator[None]:
    """Make the turn known to the tool, and its block to the run config among the options."""
    if delivery.block is not None:
        options["run_config"] = _with_block(options.get("run_config"), delivery.block)
    token = _current.set(delivery)
    try:
        yield
    finally:
        _current.reset(token)


def _with_block(config: RunConfig | dict[str, Any] | None, block: str) -> RunConfig:
    given = RunConfig(**config) if isinstance(config, dict) else config or RunConfig()
    inner = given.call_model_input_filter

    async def add_block(data: CallModelData[Any]) -> ModelInputData:
        model_data = data.model_data
        if inner is not None:
            filtered = inner(data)
            model_data = await filtered if inspect.isawaitable(filtered) else filtered
        instructions = "\n\n".join(part for part in (model_data.instructions, block) if part)
        return dataclasses.replace(model_data, instructions=instructions)

    return dataclasses.replace(given, call_model_input_filter=add_block)


def _note_pause(delivery: Delivery, result: RunResult | RunResultStreaming) -> None:
    if result.interruptions:
        delivery.outcome = "paused"
