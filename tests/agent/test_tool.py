"""What the tool `intent` does for an owner's agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.orm import sessionmaker

from intents import Identity, IntentService, Limits, OwnerPolicy, SchemaMismatch, Turn
from intents.tool import PAGE, IntentTool
from tests.agent.conftest import OTHER, OWNER, RC, Clock

Create = Callable[..., dict[str, Any]]
Refused = Callable[..., tuple[str, str]]


def said(words: str, turn_id: str, who: Identity = OWNER) -> Turn:
    return Turn(text=words, identity=who, id=turn_id)


# Who is offered the tool


@pytest.mark.parametrize(
    "identity",
    [
        OTHER,
        Identity(provider="slack"),
        Identity(provider="slack", sender_id="unknown"),
        Identity(provider="slack", sender_id="U1", account_id="another-workspace"),
        Identity(provider="telegram", sender_id="U1"),
        Identity(provider="slack", sender_id="u1"),
    ],
)
def test_nobody_but_an_owner_is_offered_the_tool(service: IntentService, identity: Identity) -> None:
    assert IntentTool.for_identity(service, identity) is None


def test_the_creator_is_who_speaks(tool: IntentTool, service: IntentService, create: Create) -> None:
    intent = service.get(create()["id"])
    assert intent.creator == OWNER
    assert intent.sender_id == "U1"


@pytest.mark.parametrize(
    "name", ["owner", "creator", "agent_id", "agentId", "user", "provider", "account_id", "by", "fire_count", "armed"]
)
def test_an_argument_can_name_neither_owner_nor_agent(refused: Refused, name: str) -> None:
    code, message = refused(RC | {name: "U2"})
    assert code == "unknown_argument"
    assert name in message


def test_an_unknown_argument_is_refused_also_when_it_is_null(refused: Refused) -> None:
    assert refused(RC | {"owner": None})[0] == "unknown_argument"


def test_a_misspelt_argument_is_told_its_name(refused: Refused) -> None:
    assert "trigger_keywords" in refused({"action": "create", "description": "x", "keywords": ["RC"]})[1]


# Create


def test_a_created_intent_fires_later_and_not_on_the_turn_that_created_it(
    service: IntentService, create: Create
) -> None:
    intent = create()
    assert not service.match(said("when the release candidate is up, remind me", "m-1"))
    (match,) = service.match(said("the release candidate is up", "m-2"))
    assert match.intent.id == intent["id"]


def test_the_answer_shows_the_intent_and_advice_on_its_keywords(tool: IntentTool) -> None:
    answer = tool.call(RC | {"trigger_keywords": ["release candidate", "the release candidate build"]})
    assert answer["action"] == "create"
    assert answer["intent"]["status"] == "armed"
    assert answer["intent"]["fire_count"] == 0
    assert answer["intent"]["max_fires"] == 3
    assert answer["intent"]["expires_at"] == "2026-10-25T09:00:00Z"
    assert any("adds nothing" in line for line in answer["advice"])
    assert "creator" not in answer["intent"]
    assert "agent_id" not in answer["intent"]


def test_the_same_intent_created_three_times_is_one_intent(create: Create, service: IntentService) -> None:
    assert len({create(expires_at="in 3 days")["id"] for _ in range(3)}) == 1
    assert len(service.list()) == 1


def test_a_named_conversation_says_what_scope_is_meant(create: Create) -> None:
    intent = create(conversation_id="C9")
    assert (intent["channel_scope"], intent["conversation_id"]) == ("conversation", "C9")


def test_another_person_may_be_whose_messages_trigger_it(create: Create, service: IntentService) -> None:
    create(sender_id="U2")
    assert not service.match(said("the release candidate", "m-2"))
    assert service.match(said("the release candidate", "m-3", OTHER))


def test_arguments_of_other_actions_are_ignored(create: Create) -> None:
    assert create(intent_id="", status="done", after="x", reason=None)["status"] == "armed"


# List and cancel


def test_a_fired_intent_is_found_by_its_id_and_nothing_closes_by_itself(
    tool: IntentTool, service: IntentService, create: Create
) -> None:
    created = create()
    (match,) = service.match(said("the release candidate is up", "m-2"))
    assert match.intent.id == created["id"]
    assert not service.match(said("done, it is confirmed", "m-3"))
    (listed,) = tool.call({"action": "list"})["intents"]
    assert (listed["id"], listed["status"], listed["fire_count"]) == (created["id"], "fired", 1)
    assert listed["last_fired_at"] == "2026-07-27T09:00:00Z"
    assert tool.call({"action": "cancel", "intent_id": listed["id"]})["intent"]["status"] == "cancelled"


def test_list_shows_live_intents_and_others_when_asked(
    tool: IntentTool, service: IntentService, create: Create, clock: Clock
) -> None:
    done = create(max_fires=1)["id"]
    service.match(said("the release candidate is up", "m-2"))
    cancelled = create(description="cancelled")["id"]
    tool.call({"action": "cancel", "intent_id": cancelled, "reason": "asked for"})
    expired = create(description="expired", expires_at="in 1 hour")["id"]
    clock.advance(hours=1)
    live = create(description="live")["id"]

    def ids(status: str | None) -> list[str]:
        return [intent["id"] for intent in tool.call({"action": "list", "status": status})["intents"]]

    assert ids(None) == ids("live") == ids("armed") == [live]
    assert ids("done") == [done]
    assert ids("cancelled") == [cancelled]
    assert ids("expired") == [expired]
    assert ids("all") == [done, cancelled, expired, live]
    assert service.history(cancelled)[-1].detail == "asked for"


def test_a_long_list_comes_in_pages(tool: IntentTool, create: Create) -> None:
    ids = [create(description=f"reminder {number}")["id"] for number in range(PAGE + 3)]
    first = tool.call({"action": "list"})
    assert [intent["id"] for intent in first["intents"]] == ids[:PAGE]
    assert first["next_after"] == ids[PAGE - 1]
    second = tool.call({"action": "list", "after": first["next_after"]})
    assert [intent["id"] for intent in second["intents"]] == ids[PAGE:]
    assert second["next_after"] is None


def test_exactly_one_page_has_no_next(tool: IntentTool, create: Create) -> None:
    for number in range(PAGE):
        create(description=f"reminder {number}")
    assert tool.call({"action": "list"})["next_after"] is None


@pytest.mark.parametrize("intent_id", ["nope", "7d7bd2b6-0000-4000-8000-000000000000", 5, "%", "' OR 1=1 --"])
def test_an_unknown_id_is_not_found(refused: Refused, intent_id: object) -> None:
    code, message = refused({"action": "cancel", "intent_id": intent_id})
    assert code in ("not_found", "invalid_arguments")
    assert "list" in message or "text" in message


@pytest.mark.parametrize("intent_id", ["\ud800", "a\x00b", "a\nb"])
def test_an_id_that_no_database_can_hold_is_not_found(refused: Refused, intent_id: str) -> None:
    assert refused({"action": "cancel", "intent_id": intent_id})[0] == "not_found"
    assert refused({"action": "list", "after": intent_id})[0] == "not_found"


def test_an_intent_of_another_agent_is_not_found(
    refused: Refused, sqlite_engine: Engine, clock: Clock, create: Create
) -> None:
    elsewhere = IntentService(
        sessionmaker(sqlite_engine), agent_id="other", owners=OwnerPolicy(["slack:U1"]), clock=clock
    )
    tool = IntentTool.for_identity(elsewhere, OWNER)
    assert tool is not None
    intent_id = tool.call(RC)["intent"]["id"]
    assert refused({"action": "cancel", "intent_id": intent_id})[0] == "not_found"


def test_a_finished_intent_stays_finished(
    tool: IntentTool, service: IntentService, refused: Refused, create: Create
) -> None:
    intent_id = create(max_fires=1)["id"]
    service.match(said("the release candidate is up", "m-2"))
    code, message = refused({"action": "cancel", "intent_id": intent_id})
    assert code == "finished"
    assert "done" in message


def test_cancelling_twice_is_cancelling(tool: IntentTool, create: Create) -> None:
    call = {"action": "cancel", "intent_id": create()["id"]}
    assert tool.call(call) == tool.call(call)


# What the host sees


def test_another_writer_is_told_as_busy(tool: IntentTool, sqlite_engine: Engine) -> None:
    with sqlite_engine.connect() as rival:
        rival.execute(text("BEGIN IMMEDIATE"))
        answer = tool.call(RC)
        rival.rollback()
    assert answer["error"]["code"] == "busy"
    assert tool.call(RC)["ok"]


def test_missing_tables_are_the_hosts_mistake_and_raise(tmp_path: Any) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'empty.db'}")
    tool = IntentTool.for_identity(IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1"])), OWNER)
    assert tool is not None
    with pytest.raises(SchemaMismatch):
        tool.call(RC)
    engine.dispose()


def test_answers_are_json(tool: IntentTool, create: Create) -> None:
    create(expires_at="2026-12-31", cooldown="90m", within=5, exclude_keywords=["draft"])
    answer = tool.call({"action": "list"})
    assert json.loads(json.dumps(answer)) == answer
    assert answer["intents"][0]["cooldown"] == "PT1H30M"


def test_an_intent_that_the_tool_showed_can_be_sent_back(tool: IntentTool, create: Create) -> None:
    shown = create(cooldown="36h", expires_at="2026-12-31T10:00:00+02:00")
    again = create(
        description="another",
        **{
            name: shown[name]
            for name in ("trigger_keywords", "channel_scope", "sender_scope", "cooldown", "expires_at")
        },
    )
    assert again["cooldown"] == shown["cooldown"]
    assert again["expires_at"] == shown["expires_at"]


# What the model is told


def test_the_name(tool: IntentTool) -> None:
    assert tool.name == "intent"


@pytest.mark.parametrize(
    "rule",
    [
        "injects the stored reminder into your prompt",
        "Do not deliver, repeat or act on a reminder before it is injected",
        "Cancel only when the user asks",
        "use scheduled tasks",
        "all its words occur in one message",
        "several phrasings as separate entries",
        "channel_scope",
        "sender_scope",
        "3 times, 24 hours apart, and stops listening after 90 days",
    ],
)
def test_the_description_tells_the_rules(tool: IntentTool, rule: str) -> None:
    assert rule in " ".join(tool.description.split())


def test_the_description_tells_this_services_defaults(sqlite_engine: Engine) -> None:
    limits = Limits(max_fires=1, cooldown=timedelta(minutes=90), expires_after=timedelta(days=7))
    service = IntentService(sessionmaker(sqlite_engine), owners=OwnerPolicy(["slack:U1"]), limits=limits)
    tool = IntentTool.for_identity(service, OWNER)
    assert tool is not None
    assert "at most once, 90 minutes apart, and stops listening after 7 days" in tool.description
