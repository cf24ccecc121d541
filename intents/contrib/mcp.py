"""A Model Context Protocol server: list, explain and cancel for admins, the `intent` tool for owners.

::

    server = create_server(service, admin=admin_of, token_verifier=verifier, auth=auth_settings)
    server.run("streamable-http")

Install with ``pip install "standing-intents[mcp]"``.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import pydantic_core
from pydantic import ConfigDict, Field, ValidationError

from intents.errors import IntentsError
from intents.lifecycle import Status
from intents.schemas import Admin, Identity, Turn
from intents.tool import PAGE, IntentTool

try:
    from mcp.server import MCPServer, ServerRequestContext
    from mcp.server.auth.middleware.auth_context import get_access_token
    from mcp.server.auth.provider import AccessToken
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool
    from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
    from mcp_types import CallToolResult, TextContent, ToolAnnotations
except ImportError as error:
    raise ImportError('intents.contrib.mcp needs the MCP SDK: pip install "standing-intents[mcp]"') from error

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult

    from intents.aio import AsyncIntentService
    from intents.service import IntentService

__all__ = ["create_server"]

AdminRule = Admin | Callable[[AccessToken], Admin | None]
IdentityRule = Identity | Callable[[AccessToken, ServerRequestContext[Any, Any]], Identity | None]

_READING: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ENDING: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
_REFUSED: Final = "This caller may not use this tool."


def create_server(
    service: IntentService | AsyncIntentService,
    *,
    admin: AdminRule,
    identity: IdentityRule | None = None,
    name: str = "standing-intents",
    **options: Any,
) -> MCPServer[Any]:
    """Make an MCP server for one agent's intents.

    Each caller is offered only the tools that it may use: an admin ``list_intents``, ``explain_intents`` and
    ``cancel_intent``; an owner the tool ``intent``, which creates too. An admin cannot create.

    Over HTTP a caller is whom its bearer token names, so give `token_verifier` and `auth` among the options, and
    functions that map a verified token. A constant `Admin` or `Identity` counts only where no HTTP request is behind
    the call: over stdio, where whoever started the process is the caller.

    Args:
        service: the agent's intents.
        admin: who inspects and cancels: a function of the verified token that returns None for others, or a constant.
        identity: the channel and sender for whom a caller creates: a function of the verified token and the request,
            or a constant. Without it, and where it returns no owner, nothing can be created.
        name: what the server calls itself.
        options: further arguments of `MCPServer`, such as `token_verifier`, `auth`, `tools` or `middleware`.

    Returns:
        The server; add tools of your own and run it as you like.
    """
    callers = _Callers(service, admin, identity)
    tools = [*_admin_tools(service, callers), _owner_tool(service, callers)]
    return MCPServer(
        name,
        tools=[*options.pop("tools", ()), *tools],
        middleware=[*options.pop("middleware", ()), callers.hide_tools],
        **options,
    )


class _Callers:
    """Who is behind a request."""

    def __init__(
        self, service: IntentService | AsyncIntentService, admin: AdminRule, identity: IdentityRule | None
    ) -> None:
        self._service = service
        self._admin = admin
        self._identity = identity

    def admin(self, request: ServerRequestContext[Any, Any]) -> Admin | None:
        """The admin; None when the caller is none."""
        if isinstance(self._admin, Admin):
            return self._admin if request.request is None else None
        token = get_access_token()
        return None if token is None else self._admin(token)

    def require_admin(self, context: Context[Any, Any]) -> Admin:
        """The admin.

        Raises:
            ToolError: the caller is none.
        """
        admin = self.admin(context.request_context)
        if admin is None:
            raise ToolError(_REFUSED)
        return admin

    def owner_tool(self, request: ServerRequestContext[Any, Any]) -> IntentTool | None:
        """The tool for the owner for whom the caller speaks; None when there is none."""
        identity = self._identity
        if callable(identity):
            token = get_access_token()
            identity = None if token is None else identity(token, request)
        elif request.request is not None:
            identity = None
        return None if identity is None else IntentTool.for_identity(self._service, identity)

    async def hide_tools(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Leave out of a list of tools what the caller may not use."""
        result = await call_next(ctx)
        if ctx.method == "tools/list" and isinstance(result, dict):
            hidden = set() if self.admin(ctx) else set(_ADMIN_TOOLS)
            if self.owner_tool(ctx) is None:
                hidden.add(IntentTool.name)
            result = {**result, "tools": [tool for tool in result["tools"] if tool["name"] not in hidden]}
        return result


def _admin_tools(service: IntentService | AsyncIntentService, callers: _Callers) -> list[Tool]:
    async def list_intents(
        *,
        context: Context[Any, Any],
        status: Annotated[Status | None, Field(description="Only those in this state.")] = None,
        live: Annotated[bool, Field(description="Only those that something can still happen to.")] = False,
        after: Annotated[str | None, Field(description="The last id of the page before.")] = None,
        limit: Annotated[int, Field(ge=1, le=1000, description="How many at most.")] = PAGE,
    ) -> CallToolResult:
        callers.require_admin(context)
        intents = await _call(service.list, status=status, live=live, after=after, limit=limit)
        return _answer({"intents": intents, "next_after": intents[-1].id if len(intents) == limit else None})

    async def explain_intents(
        *,
        context: Context[Any, Any],
        text: Annotated[str, Field(description="The message.")],
        provider: Annotated[str, Field(description="The channel's kind, such as slack.")],
        sender_id: Annotated[str | None, Field(description="Who would have sent it.")] = None,
        account_id: Annotated[str, Field(description="The workspace or bot account.")] = "default",
        conversation_id: Annotated[str | None, Field(description="In which room or chat.")] = None,
        intent_id: Annotated[str | None, Field(description="Explain only this one, whatever its state.")] = None,
        after: Annotated[str | None, Field(description="The last id of the page before.")] = None,
        limit: Annotated[int, Field(ge=1, le=1000, description="How many at most.")] = PAGE,
    ) -> CallToolResult:
        callers.require_admin(context)
        with _Complaints():
            turn = Turn(
                text=text,
                identity=Identity(
                    provider=provider, sender_id=sender_id, account_id=account_id, conversation_id=conversation_id
                ),
            )
        explanations = await _call(service.explain, turn, intent_id=intent_id, after=after, limit=limit)
        more = intent_id is None and len(explanations) == limit
        return _answer(
            {
                "explanations": [
                    {"intent_id": one.intent.id, "description": one.intent.description, "status": one.intent.status}
                    | one.model_dump(exclude={"intent"})
                    for one in explanations
                ],
                "next_after": explanations[-1].intent.id if more else None,
            }
        )

    async def cancel_intent(
        *,
        context: Context[Any, Any],
        intent_id: Annotated[str, Field(description="The id, as list_intents shows it.")],
        reason: Annotated[str | None, Field(description="Why, for the audit log.")] = None,
    ) -> CallToolResult:
        admin = callers.require_admin(context)
        return _answer({"intent": await _call(service.cancel, intent_id, by=admin, reason=reason)})

    return [
        Tool.from_function(function, description=_ADMIN_TOOLS[function.__name__], annotations=annotations)
        for function, annotations in ((list_intents, _READING), (explain_intents, _READING), (cancel_intent, _ENDING))
    ]


_ADMIN_TOOLS: Final = {
    "list_intents": "List the agent's standing intents, oldest first: reminders that fire when a message completes one "
    "of their trigger keywords.",
    "explain_intents": "Tell for each live standing intent whether a message would fire it, or the first rule that "
    "stops it. A dry run: nothing is written and no reminder is spent.",
    "cancel_intent": "Cancel a standing intent for good. Only when a person asks for it.",
}


def _owner_tool(service: IntentService | AsyncIntentService, callers: _Callers) -> Tool:
    # Nobody's tool: only its description and its schema are used, which are the same for all.
    pattern = IntentTool(service, Identity(provider="nobody"), turn_id=None, session_id=None)

    async def call(context: Context[Any, Any], arguments: dict[str, Any]) -> CallToolResult:
        tool = callers.owner_tool(context.request_context)
        if tool is None:
            raise ToolError(_REFUSED)
        answer = await tool.acall(arguments)
        return _answer(answer, is_error=not answer["ok"])

    return Tool(
        fn=call,
        name=pattern.name,
        description=pattern.description,
        parameters=pattern.json_schema,
        fn_metadata=FuncMetadata(arg_model=_AsGiven),
        is_async=True,
        context_kwarg="context",
        annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False),
    )


class _AsGiven(ArgModelBase):
    """Arguments as the model sent them; the tool mends and judges them."""

    model_config = ConfigDict(extra="allow")

    def model_dump_one_level(self) -> dict[str, Any]:
        return {"arguments": dict(self.model_extra or {})}


class _Complaints:
    """Turn what the library refuses into an answer that the model can read."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            raise ToolError(f"{first['loc'][-1]}: {first['msg'].removeprefix('Value error, ')}.") from None
        if isinstance(error, IntentsError):
            raise ToolError(str(error)) from error


async def _call(method: Callable[..., Any], *args: Any, **named: Any) -> Any:
    with _Complaints():
        if inspect.iscoroutinefunction(method):
            return await method(*args, **named)
        return await asyncio.to_thread(method, *args, **named)


def _answer(answer: dict[str, Any], *, is_error: bool = False) -> CallToolResult:
    plain = cast("dict[str, Any]", pydantic_core.to_jsonable_python(answer))
    text = pydantic_core.to_json(plain).decode()
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=plain, is_error=is_error)
