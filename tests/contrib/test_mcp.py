"""The MCP server, with the SDK's own client: in the process, and over HTTP with bearer tokens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer, ServerRequestContext
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp_types import CallToolResult, TextContent

from intents import Admin, Identity, IntentService, Status
from intents.contrib.mcp import create_server
from tests.contrib.conversation import CREATE, LATER, OTHER, OWNER, REMINDER, arm, turn

URL = "http://localhost:8000"
ADMIN_TOOLS = ["list_intents", "explain_intents", "cancel_intent"]


def talk(server: MCPServer[Any], body: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Client(server) as client:
            await body(client)

    asyncio.run(run())


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


def text(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


async def good(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text(result)
    assert result.structured_content is not None
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text(result)


def test_a_local_admin_inspects_and_cancels_and_cannot_create(service: Any, store: IntentService) -> None:
    first, second = arm(store), store.create(draft("lunch"), by=OWNER).id

    async def body(client: Client) -> None:
        assert await names(client) == ADMIN_TOOLS
        page = await good(client, "list_intents", limit=1)
        assert [intent["id"] for intent in page["intents"]] == [first]
        assert page["intents"][0]["creator"]["sender_id"] == "U1"
        page = await good(client, "list_intents", limit=5, after=page["next_after"])
        assert [intent["id"] for intent in page["intents"]] == [second]
        assert page["next_after"] is None

        said = {"text": LATER, "provider": "slack", "sender_id": "U1", "conversation_id": "C1"}
        told = (await good(client, "explain_intents", **said))["explanations"]
        assert [(one["intent_id"], one["fires"], one["rule"]) for one in told] == [
            (first, True, None),
            (second, False, "keywords"),
        ]
        told = (await good(client, "explain_intents", **said | {"sender_id": "U2"}, intent_id=first))["explanations"]
        assert [(one["description"], one["rule"]) for one in told] == [(REMINDER, "scope")]

        cancelled = await good(client, "cancel_intent", intent_id=first, reason="no longer needed")
        assert cancelled["intent"]["status"] == "cancelled"
        assert [one["id"] for one in (await good(client, "list_intents", status="armed"))["intents"]] == [second]
        assert (
            await refused(client, "intent", **CREATE)
            == "Error executing tool intent: This caller may not use this tool."
        )

    talk(create_server(service, admin=Admin(name="ops")), body)
    assert store.get(first).fire_count == 0
    entry = store.history(first)[-1]
    assert (entry.event, entry.actor, entry.detail) == ("cancel", "admin:ops", "no longer needed")
    assert [intent.id for intent in store.list()] == [first, second]


def test_what_is_refused_is_told(service: Any, store: IntentService) -> None:
    async def body(client: Client) -> None:
        assert "No intent 'nope' exists" in await refused(client, "cancel_intent", intent_id="nope")
        assert "provider" in await refused(client, "explain_intents", text="x", provider="")
        assert "sender_id" in await refused(client, "explain_intents", text="x", provider="slack", sender_id="a\nb")
        assert "limit" in await refused(client, "list_intents", limit=0)
        assert "No intent" in await refused(client, "list_intents", after="nope")

    talk(create_server(service, admin=Admin(name="ops")), body)


def test_a_crash_tells_the_caller_nothing(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: Any, **_named: Any) -> None:
        raise OSError("secret")

    monkeypatch.setattr(service, "list", broken)

    async def body(client: Client) -> None:
        assert "secret" not in await refused(client, "list_intents")

    talk(create_server(service, admin=Admin(name="ops")), body)


def test_a_local_owner_creates_and_the_reminder_fires(service: Any, store: IntentService) -> None:
    async def body(client: Client) -> None:
        assert await names(client) == [*ADMIN_TOOLS, "intent"]
        [schema] = [tool.input_schema for tool in (await client.list_tools()).tools if tool.name == "intent"]
        assert schema["additionalProperties"] is False
        created = await good(client, "intent", **CREATE)
        assert created["intent"]["description"] == REMINDER
        camel = {"action": "create", "description": "Ask.", "triggerKeywords": "launch"}
        assert (await good(client, "intent", **camel))["ok"]
        assert "missing_argument" in await refused(client, "intent", action="cancel")
        assert "unknown_argument" in await refused(client, "intent", **CREATE, owner="U2")

    talk(create_server(service, admin=Admin(name="ops"), identity=OWNER), body)
    assert [intent.creator for intent in store.list()] == [OWNER, OWNER]
    assert REMINDER in (store.match(turn(LATER, "m2")).context or "")


@pytest.mark.parametrize("identity", [None, OTHER, Identity(provider="slack", conversation_id="C1")])
def test_without_an_owner_s_identity_nothing_can_be_created(
    service: Any, store: IntentService, identity: Identity | None
) -> None:
    async def body(client: Client) -> None:
        assert await names(client) == ADMIN_TOOLS
        await refused(client, "intent", **CREATE)

    talk(create_server(service, admin=Admin(name="ops"), identity=identity), body)
    assert store.list() == []


def test_tools_and_middleware_of_the_host_s_own_stay(service: Any) -> None:
    asked: list[str] = []

    async def note(ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        asked.append(ctx.method)
        return await call_next(ctx)

    server = create_server(service, admin=Admin(name="ops"), name="assistant", middleware=[note], instructions="Hi.")

    @server.tool()
    def ping() -> str:
        """Answer."""
        return "pong"

    async def body(client: Client) -> None:
        assert await names(client) == [*ADMIN_TOOLS, "ping"]
        assert text(await client.call_tool("ping", {})) == "pong"

    talk(server, body)
    assert "tools/call" in asked
    assert (server.name, server.instructions) == ("assistant", "Hi.")


class Verifier:
    """Tokens of the test, as an authorization server would have issued them."""

    async def verify_token(self, token: str) -> AccessToken | None:
        known = {
            "admin-token": AccessToken(token=token, client_id="c", scopes=["intents:admin"], subject="ops"),
            "bot-token": AccessToken(token=token, client_id="bot", scopes=["intents:speak"], subject="bot"),
            "guest-token": AccessToken(token=token, client_id="g", scopes=[], subject="guest"),
        }
        return known.get(token)


def admin_of(token: AccessToken) -> Admin | None:
    return Admin(name=token.subject or "") if "intents:admin" in token.scopes else None


def identity_of(token: AccessToken, request: ServerRequestContext[Any, Any]) -> Identity | None:
    if "intents:speak" not in token.scopes:
        return None
    sender = request.request.headers.get("x-slack-user")
    return Identity(provider="slack", sender_id=sender, conversation_id="C1")


@asynccontextmanager
async def over_http(server: MCPServer[Any], **headers: str) -> AsyncIterator[Client]:
    async with (
        serving(server, **headers) as http,
        Client(streamable_http_client(f"{URL}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def serving(server: MCPServer[Any], **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
    app = server.streamable_http_app()
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), headers=headers, base_url=URL) as http,
    ):
        yield http


def protected(service: Any, **options: Any) -> MCPServer[Any]:
    auth = AuthSettings(
        issuer_url="https://auth.example.com",  # type: ignore[arg-type]
        resource_server_url=f"{URL}/mcp",  # type: ignore[arg-type]
        validate_token_resource=False,
    )
    options = {"admin": admin_of, "identity": identity_of} | options
    return create_server(service, token_verifier=Verifier(), auth=auth, **options)


def test_over_http_the_token_says_who_the_caller_is(service: Any, store: IntentService) -> None:
    intent = arm(store)

    async def body() -> None:
        async with over_http(protected(service), authorization="Bearer admin-token") as client:
            assert await names(client) == ADMIN_TOOLS
            assert [one["id"] for one in (await good(client, "list_intents"))["intents"]] == [intent]
            await refused(client, "intent", **CREATE)
            await good(client, "cancel_intent", intent_id=intent)
        bot = {"authorization": "Bearer bot-token"}
        async with over_http(protected(service), **bot, **{"x-slack-user": "U1"}) as client:
            assert await names(client) == ["intent"]
            assert (await good(client, "intent", **CREATE))["ok"]
            for tool, arguments in (
                ("list_intents", {}),
                ("explain_intents", {"text": "x", "provider": "slack"}),
                ("cancel_intent", {"intent_id": intent}),
            ):
                assert "may not use" in await refused(client, tool, **arguments)
        for headers in (bot | {"x-slack-user": "U2"}, bot, {"authorization": "Bearer guest-token"}):
            async with over_http(protected(service), **headers) as client:
                assert await names(client) == []
                await refused(client, "intent", **CREATE)
                await refused(client, "list_intents")

    asyncio.run(body())
    assert store.history(intent)[-1].actor == "admin:ops"
    assert [one.creator.sender_id for one in store.list(status=Status.ARMED)] == ["U1"]


def test_over_http_a_constant_names_nobody(service: Any, store: IntentService) -> None:
    arm(store)

    async def body() -> None:
        server = protected(service, admin=Admin(name="ops"), identity=OWNER)
        async with over_http(server, authorization="Bearer admin-token") as client:
            assert await names(client) == []
            await refused(client, "list_intents")
            await refused(client, "intent", **CREATE)

    asyncio.run(body())
    assert len(store.list()) == 1


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer forged"}])
def test_over_http_without_a_known_token_nothing_is_answered(service: Any, headers: dict[str, str]) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}

    async def body() -> None:
        async with serving(protected(service), accept="application/json, text/event-stream", **headers) as http:
            assert (await http.post("/mcp", json=call)).status_code == 401

    asyncio.run(body())


def draft(*keywords: str) -> Any:
    from intents.testing import make_draft

    return make_draft(*keywords)
