"""What a host calls before it prompts the model."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from intents import Identity, IntentService, Invocation, OwnerPolicy, PromptHook, Status
from tests.behaviour.support import (
    ALICE,
    DAY,
    IN_MEMORY,
    OWNER,
    START,
    Clock,
    draft,
    said,
    stored,
    written,
)

pytestmark = IN_MEMORY

#: Much time: what is not decided here is not decided for want of it.
TIME = 60


@pytest.fixture
def hook(service: IntentService) -> PromptHook:
    return PromptHook(service)


def test_a_user_turn_gets_the_hidden_block(service: IntentService, hook: PromptHook) -> None:
    intent = service.create(draft(), by=OWNER)
    block = hook.before_prompt(said(id="m1"), Invocation.after(TIME))
    assert block is not None
    assert intent.description in block
    assert hook.before_prompt(said(id="m1"), Invocation.after(TIME)) == block, "a repeated turn gets it again"
    assert hook.before_prompt(said("hello", id="m2"), Invocation.after(TIME)) is None


def test_an_invocation_needs_no_deadline(service: IntentService, hook: PromptHook) -> None:
    service.create(draft(), by=OWNER)
    assert hook.before_prompt(said(), Invocation()) is not None


@pytest.mark.parametrize("kind", ["heartbeat", "cron"])
def test_heartbeats_sweep_and_never_match(
    service: IntentService, hook: PromptHook, engine: Engine, clock: Clock, kind: Any
) -> None:
    due = service.create(draft("due", expires_at=START + DAY), by=OWNER)
    service.create(draft(), by=OWNER)
    clock.advance(DAY)
    for invocation in (Invocation.after(TIME), None):
        matches = hook.matches(said(kind=kind), invocation)
        assert (list(matches), matches.context, matches.skipped) == ([], None, "kind")
    assert stored(engine, due.id).status is Status.EXPIRED
    assert {intent.fire_count for intent in service.list()} == {0}


def test_other_kinds_do_nothing(service: IntentService, hook: PromptHook, engine: Engine, clock: Clock) -> None:
    service.create(draft(expires_at=START + DAY), by=OWNER)
    clock.advance(DAY)
    before = written(engine)
    matches = hook.matches(said(kind="system"), Invocation.after(TIME))
    assert (list(matches), matches.skipped) == ([], "kind")
    assert written(engine) == before


def test_a_user_turn_needs_a_conversation(service: IntentService, hook: PromptHook, engine: Engine) -> None:
    service.create(draft(), by=OWNER)
    before = written(engine)
    matches = hook.matches(said(by=OWNER.model_copy(update={"conversation_id": None})), Invocation.after(TIME))
    assert (list(matches), matches.skipped) == ([], "no_conversation")
    assert written(engine) == before


def test_a_web_chat_is_its_own_conversation(make_service: Callable[..., IntentService]) -> None:
    service = make_service(owners=OwnerPolicy(("webchat:ada",)))
    ada = Identity(provider="WebChat", sender_id="ada")
    service.create(draft(), by=ada)
    assert PromptHook(service).before_prompt(said(by=ada), Invocation.after(TIME)) is not None


def test_without_an_invocation_one_clear_line_is_logged_and_nothing_is_spent(
    service: IntentService, hook: PromptHook, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    service.create(draft(), by=OWNER)
    before = written(engine)
    with caplog.at_level(logging.WARNING, "intents"):
        matches = hook.matches(said(id="m1"), None)
    assert (list(matches), matches.context, matches.skipped) == ([], None, "no_invocation")
    (record,) = caplog.records
    assert "Invocation" in record.getMessage()
    assert written(engine) == before
    assert hook.before_prompt(said(id="m1"), Invocation.after(TIME)) is not None


def test_an_invocation_that_is_over_spends_nothing(service: IntentService, hook: PromptHook, engine: Engine) -> None:
    service.create(draft(), by=OWNER)
    before = written(engine)
    invocation = Invocation.after(TIME)
    invocation.cancel()
    assert hook.before_prompt(said(id="m1"), invocation) is None
    assert hook.matches(said(id="m1"), Invocation.after(-1)).skipped == "deadline"
    assert written(engine) == before


def test_a_hook_may_hold_what_it_fires(service: IntentService, hook: PromptHook) -> None:
    intent = service.create(draft(max_fires=1), by=OWNER)
    assert hook.before_prompt(said(id="m1"), Invocation.after(TIME), hold=True) is not None
    assert service.get(intent.id).status is Status.FIRED
    assert service.confirm(said(id="m1")) == 1
    assert service.get(intent.id).status is Status.DONE


def test_a_stranger_gets_nothing_that_is_meant_for_the_owner(service: IntentService, hook: PromptHook) -> None:
    service.create(draft(), by=OWNER)
    assert hook.before_prompt(said(by=ALICE), Invocation.after(TIME)) is None
