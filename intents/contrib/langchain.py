"""LangChain and LangGraph: middleware with the tool for owners and the hidden block in the system message.

::

    intents = StandingIntents(service)
    agent = create_agent(model, middleware=[intents])
    turn = Turn(text=message, identity=identity, id=message_id)
    with intents.answering(turn) as config:
        result = agent.invoke({"messages": [("user", message)]}, config)

Install with ``pip install "standing-intents[langchain]"``.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, cast

from intents.contrib._delivery import TIMEOUT, Delivery, adelivering, delivering
from intents.tool import IntentTool

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.tools import BaseTool
    from langchain_core.messages import SystemMessage, ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import StructuredTool
    from langgraph.config import get_config
except ImportError as error:
    raise ImportError('intents.contrib.langchain needs LangChain: pip install "standing-intents[langchain]"') from error

if TYPE_CHECKING:
    from types import TracebackType

    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.runtime import Runtime
    from langgraph.types import Command

    from intents.aio import AsyncIntentService
    from intents.schemas import Turn
    from intents.service import IntentService

__all__ = ["Answering", "StandingIntents"]

#: Where a run's config carries its delivery. Names with two underscores stay out of checkpoints and traces.
_KEY = "__standing_intents"


class StandingIntents(AgentMiddleware[AgentState[Any], Any, Any]):
    """Standing intents for agents made by LangChain's `create_agent`.

    Put it first among the middleware, and run the agent inside `answering`, with the config that it gives. The turn is
    matched once, the hidden block is appended to the system message of every model call of the run, and nothing of it
    enters the state or its checkpoints. The `intent` tool is offered only while an owner's turn runs.

    Args:
        service: the agent's intents.
        timeout: seconds that matching may take; a turn that is matched too late spends nothing.
    """

    def __init__(self, service: IntentService | AsyncIntentService, *, timeout: float = TIMEOUT) -> None:
        super().__init__()
        self.tools = []
        self._service = service
        self._timeout = timeout

    def answering(self, turn: Turn, config: RunnableConfig | None = None) -> Answering:
        """Match a turn, and settle what fired by what becomes of the runs inside.

        Use it with ``with``, or with ``async with`` for `ainvoke` and `astream`. What fired is confirmed when the
        agent has ended with a reply, and given back when an exception or a cancellation leaves the block. An agent
        that stops at an interrupt keeps it, for `Limits.hold_for`; resume it inside `answering` with the same turn.

        Args:
            turn: the user's message with its id and its authenticated sender.
            config: your own config, to be extended.

        Returns:
            A context manager; it gives the config that the agent must be run with.
        """
        return Answering(Delivery(self._service, turn, timeout=self._timeout), config)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Add the block and, for an owner, the tool."""
        return handler(self._prepared(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Add the block and, for an owner, the tool."""
        return await handler(self._prepared(request))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Run a call of the tool for the turn's owner."""
        return handler(self._bound(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Run a call of the tool for the turn's owner."""
        return await handler(self._bound(request))

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Note that the agent has replied."""
        delivery = self._delivery(get_config())
        if delivery is not None:
            delivery.outcome = "replied"

    def _delivery(self, config: RunnableConfig) -> Delivery | None:
        delivery = config.get("configurable", {}).get(_KEY)
        ours = isinstance(delivery, Delivery) and delivery.service is self._service
        return cast("Delivery", delivery) if ours else None

    def _prepared(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        delivery = self._delivery(get_config())
        if delivery is None:
            return request
        delivery.outcome = "paused"  # until the agent ends
        if delivery.block is not None:
            request = request.override(system_message=_with_block(request.system_message, delivery.block))
        tool = delivery.tool()
        if tool is not None:
            request = request.override(tools=[*request.tools, _as_langchain(tool)])
        return request

    def _bound(self, request: ToolCallRequest) -> ToolCallRequest:
        if request.tool_call["name"] != IntentTool.name or request.tool is not None:
            return request
        delivery = self._delivery(request.runtime.config)
        tool = None if delivery is None else delivery.tool()
        return request if tool is None else request.override(tool=_as_langchain(tool))


class Answering(AbstractContextManager[RunnableConfig], AbstractAsyncContextManager[RunnableConfig]):
    """What `StandingIntents.answering` returns."""

    def __init__(self, delivery: Delivery, config: RunnableConfig | None) -> None:
        # Until a model call sees the config, no reply is on its way.
        delivery.outcome = "abandoned"
        self._delivery = delivery
        self._config = config
        self._opened: Any = None

    def __enter__(self) -> RunnableConfig:
        """Match the turn."""
        self._opened = delivering(self._delivery)
        self._opened.__enter__()
        return self._extended()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Confirm or give back."""
        self._opened.__exit__(kind, error, trace)

    async def __aenter__(self) -> RunnableConfig:
        """Match the turn."""
        self._opened = adelivering(self._delivery)
        await self._opened.__aenter__()
        return self._extended()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Confirm or give back."""
        await self._opened.__aexit__(kind, error, trace)

    def _extended(self) -> RunnableConfig:
        config = self._config or RunnableConfig()
        return {**config, "configurable": {**config.get("configurable", {}), _KEY: self._delivery}}


def _with_block(message: SystemMessage | None, block: str) -> SystemMessage:
    if message is None:
        return SystemMessage(block)
    if isinstance(message.content, str):
        content: Any = f"{message.content}\n\n{block}" if message.content else block
    else:
        content = [*message.content, {"type": "text", "text": f"\n\n{block}"}]
    return message.model_copy(update={"content": content})


def _as_langchain(tool: IntentTool) -> BaseTool:
    def call(**arguments: Any) -> str:
        return json.dumps(tool.call(arguments), ensure_ascii=False)

    async def acall(**arguments: Any) -> str:
        return json.dumps(await tool.acall(arguments), ensure_ascii=False)

    return StructuredTool(
        name=tool.name, description=tool.description, args_schema=tool.json_schema, func=call, coroutine=acall
    )
