"""Pydantic AI: a capability with the tool for owners and the hidden block, settled by the end of the run.

::

    agent = Agent(model)
    turn = Turn(text=message, identity=identity, id=message_id)
    result = await agent.run(message, capabilities=[StandingIntents(service, turn)])

or once for all runs, with the turn among the dependencies::

    agent = Agent(model, deps_type=Deps, capabilities=[StandingIntents(service, lambda ctx: ctx.deps.turn)])
    result = await agent.run(message, deps=Deps(turn=turn))

Install with ``pip install "standing-intents[pydantic-ai]"``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from intents.contrib._delivery import TIMEOUT, Delivery, adelivering

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import InstructionPart
    from pydantic_ai.tools import AgentDepsT, DeferredToolRequests, RunContext, Tool
    from pydantic_ai.toolsets import FunctionToolset

    if not hasattr(AbstractCapability, "prepare_model_request"):
        # An older release would never ask for the block, and the reminder would be spent unseen.
        raise ImportError("This release of Pydantic AI is too old.")
except ImportError as error:
    raise ImportError(
        'intents.contrib.pydantic_ai needs Pydantic AI 2.64: pip install "standing-intents[pydantic-ai]"'
    ) from error

from intents.schemas import Turn

if TYPE_CHECKING:
    from pydantic_ai.capabilities.abstract import WrapRunHandler
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.toolsets import AgentToolset

    from intents.aio import AsyncIntentService
    from intents.service import IntentService

__all__ = ["StandingIntents"]


@dataclass
class StandingIntents(AbstractCapability[AgentDepsT]):
    """Standing intents for a Pydantic AI agent, for one run or for all of its runs.

    A run matches its turn once, adds the hidden block to the instructions of each of its model requests, and confirms
    when it has a result. A run that fails or is cancelled gives back what it fired. One that ends with
    `DeferredToolRequests` keeps it, for `Limits.hold_for`; resume it with the same turn. The `intent` tool exists only
    in runs whose turn an owner sent.

    Args:
        service: the agent's intents.
        turn: the user's message with its id and its authenticated sender, or how to find it in the run's context; a
            run without one has neither tool nor block.
        timeout: seconds that matching may take; a turn that is matched too late spends nothing.

    Raises:
        InvalidIntent: in the run, when the turn has no id.
    """

    service: IntentService | AsyncIntentService
    turn: Turn | Callable[[RunContext[AgentDepsT]], Turn | None]
    _: KW_ONLY
    timeout: float = TIMEOUT
    id: str | None = "standing_intents"
    _delivery: Delivery | None = field(default=None, init=False, repr=False)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: a service cannot be written into a spec."""
        return None

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractCapability[AgentDepsT]:
        """Return the capability of one run, which knows its turn."""
        turn = self.turn if isinstance(self.turn, Turn) else self.turn(ctx)
        run = replace(self)
        run._delivery = None if turn is None else Delivery(self.service, turn, timeout=self.timeout)
        return run

    def get_toolset(self) -> AgentToolset[AgentDepsT] | None:
        """Return the tool, for an owner's run only."""
        tool = None if self._delivery is None else self._delivery.tool()
        if tool is None:
            return None

        async def call(**arguments: Any) -> dict[str, Any]:
            return await tool.acall(arguments)

        offered = Tool.from_schema(call, tool.name, tool.description, tool.json_schema)
        return FunctionToolset([offered], id=self.id)

    async def wrap_run(self, ctx: RunContext[AgentDepsT], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Match before the run, settle after it."""
        delivery = self._delivery
        if delivery is None:
            return await handler()
        async with adelivering(delivery):
            result = await handler()
            if isinstance(result.output, DeferredToolRequests):
                delivery.outcome = "paused"
            return result

    async def prepare_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Add the hidden block to the instructions of this request, outside the message history."""
        block = None if self._delivery is None else self._delivery.block
        if block is not None:
            parameters = request_context.model_request_parameters
            parts = [*(parameters.instruction_parts or ()), InstructionPart(block, dynamic=True)]
            request_context.model_request_parameters = replace(parameters, instruction_parts=parts)
        return request_context
