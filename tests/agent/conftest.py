"""An owner's tool on a SQLite file, and a clock that tests move."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.orm import sessionmaker

from intents import Analyzer, Identity, IntentService, Limits, OwnerPolicy
from intents.tool import IntentTool

OWNER = Identity(provider="slack", sender_id="U1", conversation_id="C1")
OTHER = Identity(provider="slack", sender_id="U2", conversation_id="C1")

#: The least that a create needs.
RC: dict[str, Any] = {
    "action": "create",
    "description": "Confirm the rollback owner",
    "trigger_keywords": ["release candidate"],
}


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 7, 27, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(sqlite_engine: Engine, clock: Clock) -> IntentService:
    # These tests are about the tool; waiting for the disk would only make them slow.
    event.listen(sqlite_engine, "connect", lambda raw, _: raw.execute("PRAGMA synchronous = OFF").close())
    return IntentService(
        sessionmaker(sqlite_engine),
        owners=OwnerPolicy(["slack:U1"]),
        analyzer=Analyzer(("en", "de", "fr", "zh")),
        limits=Limits(lock_wait=timedelta(milliseconds=50)),
        clock=clock,
    )


@pytest.fixture
def tool(service: IntentService) -> IntentTool:
    tool = IntentTool.for_identity(service, OWNER, turn_id="m-1", session_id="s-1")
    assert tool is not None
    return tool


@pytest.fixture
def create(tool: IntentTool) -> Callable[..., dict[str, Any]]:
    """Create the usual intent with other arguments, and return the intent of the answer."""

    def run(**arguments: Any) -> dict[str, Any]:
        answer = tool.call(RC | arguments)
        assert answer["ok"], answer
        intent: dict[str, Any] = answer["intent"]
        return intent

    return run


@pytest.fixture
def refused(tool: IntentTool, service: IntentService) -> Callable[..., tuple[str, str]]:
    """Send arguments that must be refused, and return the code and the message; nothing may have been stored."""

    def run(arguments: Any) -> tuple[str, str]:
        before = service.list()
        answer = tool.call(arguments)
        assert set(answer) == {"ok", "error"}, answer
        assert answer["ok"] is False
        assert set(answer["error"]) == {"code", "message"}
        assert service.list() == before
        message = answer["error"]["message"]
        assert "\n" not in message
        assert len(message) < 320
        return answer["error"]["code"], message

    return run
