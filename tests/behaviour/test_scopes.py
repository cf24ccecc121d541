"""Whose turns match, where, and who may act: scopes, owners, admins, agents."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import Engine

from intents import (
    Admin,
    Identity,
    IntentNotFound,
    IntentService,
    InvalidIntent,
    NotAuthorized,
    OwnerPolicy,
    Status,
    Turn,
)
from tests.behaviour.support import ALICE, IN_MEMORY, NOBODY, OWNER, REMINDER, SAID, draft, ids, said, written

ELSEWHERE = OWNER.model_copy(update={"conversation_id": "C-kitchen"})
NOWHERE = OWNER.model_copy(update={"conversation_id": None})
OTHER_ACCOUNT = OWNER.model_copy(update={"account_id": "work"})
OTHER_PROVIDER = OWNER.model_copy(update={"provider": "telegram"})


@pytest.mark.parametrize(
    ("scope", "hears"),
    [
        ({"channel_scope": "conversation"}, {"owner here"}),
        ({"channel_scope": "conversation", "conversation_id": "C-kitchen"}, {"owner elsewhere"}),
        ({"channel_scope": "channel"}, {"owner here", "owner elsewhere", "owner nowhere"}),
        ({"channel_scope": "anywhere"}, {"owner here", "owner elsewhere", "owner nowhere"}),
        ({"channel_scope": "conversation", "sender_scope": "anyone"}, {"owner here", "alice", "nobody"}),
        (
            {"channel_scope": "channel", "sender_scope": "anyone"},
            {"owner here", "owner elsewhere", "owner nowhere", "alice", "nobody"},
        ),
        (
            {"channel_scope": "anywhere", "sender_scope": "anyone"},
            {"owner here", "owner elsewhere", "owner nowhere", "alice", "nobody", "other account", "other provider"},
        ),
        ({"sender_id": "U-alice"}, {"alice"}),
        ({"channel_scope": "anywhere", "sender_id": "U-alice"}, {"alice"}),
        ({"channel_scope": "conversation", "conversation_id": "C-kitchen", "sender_id": "U-alice"}, set()),
    ],
)
def test_a_scope_hears_its_own_turns_and_no_others(service: IntentService, scope: Any, hears: set[str]) -> None:
    service.create(draft(**scope, max_fires=100, cooldown=timedelta(0)), by=OWNER)
    who = {
        "owner here": OWNER,
        "owner elsewhere": ELSEWHERE,
        "owner nowhere": NOWHERE,
        "alice": ALICE,
        "nobody": NOBODY,
        "other account": OTHER_ACCOUNT,
        "other provider": OTHER_PROVIDER,
    }
    assert {name for name, identity in who.items() if service.match(said(by=identity))} == hears


def test_ids_of_the_same_letters_are_not_joined_into_the_same_scope(service: IntentService) -> None:
    """Ids contain colons, slashes and quotes; no two different identities make one key."""
    service.create(draft(channel_scope="conversation", conversation_id='C:1","U', sender_id="9"), by=OWNER)
    for conversation, sender in (("C:1", 'U","9'), ("C", '1","U:9'), ('C:1","U","9', None), ('C:1","u', "9")):
        assert not service.match(said(by=Identity(provider="slack", conversation_id=conversation, sender_id=sender)))
    assert service.match(said(by=Identity(provider="slack", conversation_id='C:1","U', sender_id="9")))


def test_identities_compare_exactly_but_for_the_provider(service: IntentService) -> None:
    service.create(draft(channel_scope="conversation", conversation_id="Café"), by=OWNER)
    here = OWNER.model_copy(update={"conversation_id": "Café"})
    for other in ("café", "Cafe", "Cafe\u0301", "Café ", " Café"):
        assert not service.match(said(by=here.model_copy(update={"conversation_id": other})))
    assert service.match(said(by=Identity(provider=" SLACK ", sender_id="U-owner", conversation_id="Café")))


def test_an_unknown_sender_matches_nothing_that_is_meant_for_somebody(make_service: Callable[..., Any]) -> None:
    service = make_service(owners=OwnerPolicy(("slack:user-a", "slack:user-b")))
    for user in ("user-a", "user-b"):
        service.create(draft(), by=Identity(provider="slack", sender_id=user))
    assert not service.match(said(by=Identity(provider="slack", sender_id=None)))
    assert not service.match(said(by=Identity(provider="slack", sender_id="unknown")))


def test_a_reminder_about_alice_hears_alice_and_obeys_the_owner(service: IntentService, engine: Engine) -> None:
    intent = service.create(
        draft("launch", sender_scope="sender", sender_id="U-alice", cooldown=timedelta(0)), by=OWNER
    )
    assert not service.match(said("the launch", by=OWNER))
    assert ids(service.match(said("the launch", by=ALICE))) == [intent.id]
    before = written(engine)
    for act in (service.cancel, service.arm):
        with pytest.raises(NotAuthorized):
            act(intent.id, by=ALICE)
    assert written(engine) == before
    assert service.cancel(intent.id, by=OWNER).status is Status.CANCELLED
    assert not service.match(said("the launch", by=ALICE))


def test_a_private_wish_shows_its_reminder_elsewhere_and_nothing_more(service: IntentService) -> None:
    private = OWNER.model_copy(update={"conversation_id": "D-private"})
    service.create(draft(channel_scope="anywhere"), by=private, turn_id="m1", session_id="s1")
    matches = service.match(said(by=ELSEWHERE))
    assert matches.context is not None
    lines = matches.context.splitlines()
    assert lines == [
        "<standing_intents>",
        f"Standing intent (created 2026-07-27): {REMINDER}",
        "</standing_intents>",
    ]


# Owners and admins


def test_owners_share_one_memory(make_service: Callable[..., Any]) -> None:
    service = make_service(owners=OwnerPolicy(("slack:U-owner", "slack:U-alice")))
    mine = service.create(draft(), by=OWNER)
    theirs = service.create(draft("rollback"), by=ALICE)
    assert ids(service.list()) == [mine.id, theirs.id]
    assert service.cancel(mine.id, by=ALICE, reason="agreed").status is Status.CANCELLED
    last = service.history(mine.id)[-1]
    assert (last.event, last.actor, last.detail) == ("cancel", "slack/default:U-alice", "agreed")


def test_an_admin_inspects_and_cancels_but_never_creates_or_arms(service: IntentService) -> None:
    admin = Admin(name="root@host")
    intent = service.create(draft(), by=OWNER)
    assert service.cancel(intent.id, by=admin, reason=" by\nrequest ").status is Status.CANCELLED
    last = service.history(intent.id)[-1]
    assert (last.actor, last.detail) == ("admin:root@host", "by request")
    with pytest.raises((NotAuthorized, AttributeError, TypeError)):
        service.create(draft("another"), by=admin)  # type: ignore[arg-type]
    assert len(service.list()) == 1


def test_a_stranger_is_told_so_before_anything_is_looked_up(service: IntentService) -> None:
    for act in (service.arm, service.cancel):
        with pytest.raises(NotAuthorized):
            act("no such id", by=ALICE)


@pytest.mark.parametrize(
    ("entry", "allowed", "refused"),
    [
        ("slack:U123", Identity(provider="Slack", sender_id="U123"), Identity(provider="slack", sender_id="u123")),
        ("  SLACK :U123", Identity(provider="slack", sender_id="U123"), Identity(provider="slack", sender_id="U12")),
        (
            "slack/work:U7",
            Identity(provider="slack", account_id="work", sender_id="U7"),
            Identity(provider="slack", sender_id="U7"),
        ),
        (
            "telegram:*",
            Identity(provider="telegram", sender_id="anybody"),
            Identity(provider="telegram", account_id="other", sender_id="anybody"),
        ),
        (
            "matrix:@ada:example.org",
            Identity(provider="matrix", sender_id="@ada:example.org"),
            Identity(provider="matrix", sender_id="@ada"),
        ),
        (
            "teams/a/b:U1",
            Identity(provider="teams", account_id="a/b", sender_id="U1"),
            Identity(provider="teams", account_id="a", sender_id="U1"),
        ),
    ],
)
def test_the_owner_list_admits_whom_it_names(entry: str, allowed: Identity, refused: Identity) -> None:
    policy = OwnerPolicy((entry,))
    assert policy.allows(allowed)
    assert not policy.allows(refused)
    assert not policy.allows(allowed.model_copy(update={"sender_id": None}))


@pytest.mark.parametrize(
    "entry",
    [
        *("*", "", ":", "slack", "slack:", "slack: ", ":U1", "*:U1", "*:*", "/work:U1", "slack/:U1", "U1@slack"),
        *("slack/*:U1", "slack/*:*", "slack/ * :U1", "slack/wo*:U1", "sl*:U1", "slack/team/*:U1"),
        *("slack: *", "slack:* ", "slack:**", "slack:U*", "slack:*@example.org", "slack:\t*"),
        *("slack: U1", "slack:U1 ", "slack/ work:U1", "slack/work :U1", "slack/ :U1"),
    ],
)
def test_an_owner_entry_of_another_form_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="provider"):
        OwnerPolicy(("slack:U1", entry))


@pytest.mark.parametrize("entry", [123, None, b"slack:U1", ("slack", "U1"), OWNER])
def test_an_owner_entry_that_is_no_text_is_refused(entry: Any) -> None:
    with pytest.raises(ValueError, match=r"provider\[/account\]:sender") as refusal:
        OwnerPolicy(("slack:U1", entry))
    assert "U-owner" not in str(refusal.value)


def test_an_owner_list_is_a_list() -> None:
    with pytest.raises(ValueError, match="sequence"):
        OwnerPolicy("slack:U123")
    assert OwnerPolicy(["slack:U1"]) == OwnerPolicy(("slack:U1",))
    assert not OwnerPolicy().allows(OWNER)


# Agents


def test_agents_in_one_database_do_not_see_each_other(make_service: Callable[..., Any]) -> None:
    first, second = make_service(agent_id="first"), make_service(agent_id="second")
    mine = first.create(draft(channel_scope="anywhere", sender_scope="anyone"), by=OWNER)
    theirs = second.create(draft(channel_scope="anywhere", sender_scope="anyone"), by=OWNER)
    assert mine.id != theirs.id, "the same wish, but not of the same agent"
    assert ids(first.list()) == [mine.id]
    for act in (
        lambda: first.get(theirs.id),
        lambda: first.arm(theirs.id, by=OWNER),
        lambda: first.cancel(theirs.id, by=OWNER),
        lambda: first.cancel(theirs.id, by=Admin(name="root")),
        lambda: first.history(theirs.id),
        lambda: first.list(after=theirs.id),
        lambda: first.explain(said(), intent_id=theirs.id),
    ):
        with pytest.raises(IntentNotFound):
            act()
    assert ids(first.match(said(id="m1"))) == [mine.id]
    answer = second.match(said(id="m1"))
    assert ids(answer) == [theirs.id]
    assert not answer.duplicate, "the same turn reaches both agents"
    assert ids(match for match in first.match(said(id="m1"))) == [mine.id]


@IN_MEMORY
@pytest.mark.parametrize("agent_id", ["", " ", "a\nb", "a\x00", "x" * 513, "\ud800"])
def test_an_agent_has_a_sound_id(make_service: Callable[..., Any], agent_id: str) -> None:
    with pytest.raises(ValueError, match="agent_id"):
        make_service(agent_id=agent_id)


# Listing


def test_a_listing_is_paged_oldest_first(service: IntentService) -> None:
    created = [service.create(draft(description=f"Reminder {n}"), by=OWNER).id for n in range(5)]
    service.cancel(created[1], by=OWNER)
    assert ids(service.list(limit=2)) == created[:2]
    assert ids(service.list(limit=2, after=created[1])) == created[2:4]
    assert ids(service.list(after=created[4])) == []
    assert ids(service.list(live=True)) == [created[0], *created[2:]]
    assert ids(service.list(live=True, after=created[0], limit=1)) == [created[2]]
    assert ids(service.list(status=Status.CANCELLED)) == [created[1]]
    assert ids(service.list(status="cancelled")) == [created[1]]
    assert service.list(status=Status.DONE) == []
    for limit in (0, -1, 1001):
        with pytest.raises(ValueError, match="limit"):
            service.list(limit=limit)


@pytest.mark.parametrize("status", ["bogus", "ARMED", "", 5, ["armed"]])
def test_a_status_that_does_not_exist_is_refused_with_those_that_do(service: IntentService, status: Any) -> None:
    with pytest.raises(InvalidIntent, match="pending, armed, fired, done, cancelled or expired") as refusal:
        service.list(status=status)
    assert refusal.value.field == "status"


# Identities and turns


def test_an_identity_is_tidied_and_frozen() -> None:
    identity = Identity(provider="  SlAcK ", sender_id=" ", account_id="", conversation_id="  ")
    assert identity == Identity(provider="slack")
    assert (identity.sender_id, identity.account_id, identity.conversation_id) == (None, "default", None)
    with pytest.raises(ValidationError):
        identity.sender_id = "U1"  # type: ignore[misc]


@pytest.mark.parametrize(
    "values",
    [
        {"provider": ""},
        {"provider": "  "},
        {"provider": None},
        {"provider": "x" * 513},
        {"sender_id": "a\x00b"},
        {"sender_id": "a\nb"},
        {"sender_id": "\ud800"},
        {"sender_id": "x" * 513},
        {"sender_id": 7},
        {"account_id": "a\tb"},
        {"account_id": "x" * 513},
        {"conversation_id": "a\x1bb"},
        {"conversation_id": "a\u2028b"},
        {"conversation_id": "x" * 513},
        {"owner": True},
    ],
)
def test_an_identity_that_cannot_be_is_refused(values: Any) -> None:
    with pytest.raises(ValidationError) as refusal:
        Identity(**{"provider": "slack", **values})
    assert "\x00" not in str(refusal.value)


@pytest.mark.parametrize(
    "values",
    [
        {"text": None},
        {"identity": None},
        {"id": "a\x00b"},
        {"id": "x" * 513},
        {"session_id": "a\nb"},
        {"kind": "assistant"},
        {"at": "2026-07-27T12:00:00"},  # naive
        {"now": "2026-07-27T12:00:00Z"},
    ],
)
def test_a_turn_that_cannot_be_is_refused(values: Any) -> None:
    with pytest.raises(ValidationError):
        Turn(**{"text": SAID, "identity": OWNER, **values})


def test_a_blank_turn_id_is_none() -> None:
    assert said(id="").id is None
    assert said(id="  ").id is None


def test_the_longest_ids_are_kept_whole(make_service: Callable[..., Any]) -> None:
    long = "x" * 512
    by = Identity(provider=long, sender_id=long, account_id=long, conversation_id=long)
    service = make_service(owners=OwnerPolicy((f"{long}/{long}:{long}",)), agent_id=long)
    intent = service.create(draft(channel_scope="conversation"), by=by, turn_id="y" * 512, session_id=long)
    (match,) = service.match(said(by=by, id=long, session_id=long))
    assert match.intent.creator == by
    assert service.match(said(by=by, id=long)).duplicate
    assert service.history(intent.id)[-1].turn_id == long
