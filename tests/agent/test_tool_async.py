"""The tool in an asyncio host."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from sqlalchemy import Engine, text

from intents import IntentService
from intents.settings import Settings
from intents.tool import IntentTool
from tests.agent.conftest import OWNER, RC


class AwaitedService:
    """The methods of a service, awaited, on the loop's own thread."""

    def __init__(self, service: IntentService) -> None:
        self._service = service
        self.settings: Settings = service.settings
        self.threads: set[int] = set()

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        self.threads.add(threading.get_ident())
        return getattr(self._service, name)(*args, **kwargs)

    async def create(self, *args: Any, **kwargs: Any) -> Any:
        return self._call("create", *args, **kwargs)

    async def list(self, *args: Any, **kwargs: Any) -> Any:
        return self._call("list", *args, **kwargs)

    async def cancel(self, *args: Any, **kwargs: Any) -> Any:
        return self._call("cancel", *args, **kwargs)


async def conversation(tool: IntentTool) -> None:
    created = await tool.acall(RC)
    assert created["ok"]
    assert (await tool.acall({"action": "list"}))["intents"] == [created["intent"]]
    cancelled = await tool.acall({"action": "cancel", "intent_id": created["intent"]["id"]})
    assert cancelled["intent"]["status"] == "cancelled"
    assert (await tool.acall({"action": "cancel"}))["error"]["code"] == "missing_argument"
    assert (await tool.acall({"action": "cancel", "intent_id": "nope"}))["error"]["code"] == "not_found"


def test_a_synchronous_service_works_in_a_thread(tool: IntentTool) -> None:
    asyncio.run(conversation(tool))


def test_an_asynchronous_service_is_awaited(service: IntentService) -> None:
    awaited: Any = AwaitedService(service)
    tool = IntentTool.for_identity(awaited, OWNER)
    assert tool is not None
    asyncio.run(conversation(tool))
    assert awaited.threads == {threading.get_ident()}


def test_call_on_an_asynchronous_service_says_what_to_use(service: IntentService) -> None:
    awaited: Any = AwaitedService(service)
    tool = IntentTool.for_identity(awaited, OWNER)
    assert tool is not None
    with pytest.raises(TypeError, match="acall"):
        tool.call({"action": "list"})


def test_the_event_loop_stays_alive_while_the_tool_waits_for_a_lock(tool: IntentTool, sqlite_engine: Engine) -> None:
    async def run() -> tuple[dict[str, Any], int]:
        ticks = 0
        call = asyncio.create_task(tool.acall(RC))
        while not call.done():
            await asyncio.sleep(0.005)
            ticks += 1
        return await call, ticks

    with sqlite_engine.connect() as rival:
        rival.execute(text("BEGIN IMMEDIATE"))
        answer, ticks = asyncio.run(run())
        rival.rollback()
    assert answer["error"]["code"] == "busy"
    assert ticks >= 3
