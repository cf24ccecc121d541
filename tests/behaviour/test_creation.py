"""Creating an intent: who may, what is refused and why, and that a refusal leaves nothing behind."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import Engine, text
from sqlalchemy.orm import sessionmaker

from intents import (
    Analyzer,
    ConcurrentUpdate,
    Identity,
    IntentCreate,
    IntentEvent,
    IntentNotFound,
    IntentService,
    IntentTurn,
    InvalidIntent,
    InvalidTrigger,
    Limits,
    NotAuthorized,
    OwnerPolicy,
    SchemaMismatch,
    StandingIntent,
    Status,
    metadata,
)
from tests.behaviour.support import (
    ALICE,
    DAY,
    HOUR,
    IN_MEMORY,
    MOMENT,
    NOBODY,
    ON_FILE,
    ON_SQLITE,
    OWNER,
    REMINDER,
    START,
    Clock,
    count_of,
    draft,
    ids,
    said,
    written,
)


def test_an_intent_is_stored_as_it_was_asked_for(service: IntentService) -> None:
    intent = service.create(
        draft(
            "release candidate", '"roll back" plan',
            description="  Confirm\nthe rollback   owner. ",
            exclude_keywords=["dry run"],
            channel_scope="conversation",
            sender_scope="sender",
            sender_id="U-alice",
            expires_at=START + 3 * DAY,
            max_fires=2,
            cooldown=timedelta(minutes=90),
            within=12,
        ),
        by=OWNER,
    )  # fmt: skip
    assert service.get(intent.id) == intent.model_copy(update={"advice": ()})
    assert intent.description == "Confirm the rollback owner."
    assert intent.trigger_keywords == ["release candidate", '"roll back" plan']
    assert intent.exclude_keywords == ["dry run"]
    assert (intent.channel_scope, intent.conversation_id) == ("conversation", "C-lobby")
    assert (intent.sender_scope, intent.sender_id) == ("sender", "U-alice")
    assert (intent.expires_at, intent.max_fires, intent.cooldown) == (START + 3 * DAY, 2, timedelta(minutes=90))
    assert (intent.language, intent.within, intent.agent_id, intent.creator) == ("en", 12, "main", OWNER)
    assert (intent.status, intent.fire_count, intent.created_at) == (Status.ARMED, 0, START)
    assert (intent.last_fired_at, intent.rearm_at) == (None, None)


def test_what_a_draft_leaves_out_comes_from_the_limits(make_service: Any) -> None:
    plain = make_service().create(draft(), by=OWNER)
    assert (plain.max_fires, plain.cooldown, plain.expires_at) == (3, DAY, START + 90 * DAY)
    own = make_service(
        agent_id="other", limits=Limits(max_fires=7, cooldown=HOUR, expires_after=DAY), analyzer=Analyzer(("fr", "en"))
    ).create(draft(), by=OWNER)
    assert (own.max_fires, own.cooldown, own.expires_at, own.language) == (7, HOUR, START + DAY, "fr")


def test_an_unarmed_intent_is_pending_until_it_is_armed(service: IntentService) -> None:
    intent = service.create(draft(armed=False), by=OWNER)
    assert intent.status is Status.PENDING
    assert not service.match(said())
    assert service.arm(intent.id, by=OWNER).status is Status.ARMED
    assert ids(service.match(said())) == [intent.id]


# Who may create


@IN_MEMORY
@pytest.mark.parametrize("sender", [None, "", " ", "unknown", "Unknown", "none", "null", "anonymous"])
def test_without_a_known_sender_nothing_is_created_and_nothing_fires(
    make_service: Any, engine: Engine, sender: str | None
) -> None:
    service = make_service(owners=OwnerPolicy(("slack:*",)))
    by = Identity(provider="slack", sender_id=sender, conversation_id="C-lobby")
    assert by.sender_id is None
    for options in ({}, {"channel_scope": "anywhere", "sender_scope": "anyone"}, {"sender_id": "U-alice"}):
        with pytest.raises(NotAuthorized) as refusal:
            service.create(draft(**options), by=by)
        assert refusal.value.action == "create"
    assert count_of(engine, StandingIntent) == 0
    for who in (OWNER, ALICE, NOBODY, by):
        assert not service.match(said(by=who))


def test_only_an_owner_creates(service: IntentService, engine: Engine) -> None:
    for stranger in (
        ALICE,
        OWNER.model_copy(update={"account_id": "work"}),
        OWNER.model_copy(update={"provider": "telegram"}),
        OWNER.model_copy(update={"sender_id": "u-owner"}),
    ):
        with pytest.raises(NotAuthorized):
            service.create(draft(channel_scope="anywhere", sender_scope="anyone"), by=stranger)
    assert count_of(engine, StandingIntent) == 0


def test_by_default_nobody_is_an_owner(make_service: Any) -> None:
    with pytest.raises(NotAuthorized):
        make_service(owners=OwnerPolicy()).create(draft(), by=OWNER)


# Drafts that cannot be right are refused when they are built


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("description", ""),
        ("description", " \n\t "),
        ("description", "\u200b\u202e\x00"),
        ("description", "\u3164\u115f\u1160\uffa0"),
        ("description", "\u2800 \u2800"),
        ("description", "\ufe0f"),
        ("description", "\u00ad\u034f\u17b4\u180b\u2065\U000e0100"),
        ("description", "\U0001d159"),
        ("description", None),
        ("trigger_keywords", []),
        ("trigger_keywords", "release candidate"),
        ("expires_at", datetime(2026, 8, 1, 12)),
        ("expires_at", "soon"),
        ("max_fires", 0),
        ("max_fires", -1),
        ("max_fires", 1001),
        ("cooldown", timedelta(seconds=-1)),
        ("cooldown", timedelta(days=366, seconds=1)),
        ("within", 0),
        ("channel_scope", "everywhere"),
        ("sender_scope", "anybody"),
        ("conversation_id", "C-lobby"),  # without the scope that uses it
        ("conversation_id", "C\x00lobby"),
        ("sender_id", "U\nalice"),
        ("sender_id", "u" * 513),
        ("owner", "U-alice"),
        ("creator", "U-alice"),
        ("agent_id", "other"),
    ],
)
def test_a_draft_that_cannot_be_right_is_refused_when_it_is_built(field: str, value: Any) -> None:
    values = {"description": REMINDER, "trigger_keywords": ["release candidate"], field: value}
    with pytest.raises(ValidationError) as refusal:
        IntentCreate(**values)
    assert field in str(refusal.value)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("24h", DAY),
        ("1h 30min", 1.5 * HOUR),
        ("2 weeks", 14 * DAY),
        ("P1DT12H", 1.5 * DAY),
        ("0", timedelta(0)),
        ("01:30:00", 1.5 * HOUR),
        (3600, HOUR),
        (HOUR, HOUR),
        (None, None),
    ],
)
def test_a_cooldown_may_be_written_as_the_tool_takes_it(written: Any, meant: timedelta | None) -> None:
    assert draft(cooldown=written).cooldown == meant


def test_limits_take_times_as_they_are_written_too() -> None:
    limits = Limits.model_validate(
        {"cooldown": "12h", "expires_after": "90 days", "hold_for": "PT5M", "lock_wait": "1s"}
    )
    assert limits == Limits(
        cooldown=HOUR * 12, expires_after=DAY * 90, hold_for=timedelta(minutes=5), lock_wait=timedelta(seconds=1)
    )
    with pytest.raises(ValidationError, match="less than or equal to"):
        Limits.model_validate({"lock_wait": "1h"})


@pytest.mark.parametrize("written", ["soon", "24", "1 fortnight", "", "9am"])
def test_a_cooldown_that_is_no_length_of_time_is_refused_with_the_forms_that_are(written: str) -> None:
    with pytest.raises(ValidationError, match=r'cooldown\n.*such as "24h", "2 weeks" or "P1D"'):
        draft(cooldown=written)


@pytest.mark.parametrize("written", ["-P1D", "367 days", "9999999999 years"])
def test_a_written_cooldown_has_the_same_bounds(written: str) -> None:
    with pytest.raises(ValidationError, match=r"cooldown\n.*(than or equal|too long)"):
        draft(cooldown=written)


def test_a_sender_id_needs_the_scope_that_uses_it() -> None:
    with pytest.raises(ValidationError, match="sender_scope"):
        draft(sender_scope="anyone", sender_id="U-alice")


# Rules that need the clock, the limits or the language


@IN_MEMORY
@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (draft(description="x" * 501), "description"),
        (draft(*[f"word{n}" for n in range(25)]), "trigger_keywords"),
        (draft(exclude_keywords=[f"word{n}" for n in range(25)]), "exclude_keywords"),
        (draft("x" * 121), "trigger_keywords"),
        (draft(exclude_keywords=["x" * 121]), "exclude_keywords"),
        (draft(expires_at=START), "expires_at"),
        (draft(expires_at=START - MOMENT), "expires_at"),
        (draft(expires_at=START + timedelta(days=3654)), "expires_at"),
        (draft(language="tlh"), "language"),
        (draft(language="fr"), "language"),  # a language, but not one that this analyzer was given
        (draft(language=""), "language"),
        (draft("???"), "trigger_keywords"),
        (draft("   "), "trigger_keywords"),
        (draft("..."), "trigger_keywords"),
        (draft(""), "trigger_keywords"),
        (draft("release candidate", "!?"), "trigger_keywords"),
        (draft(exclude_keywords=["--"]), "exclude_keywords"),
    ],
)
def test_a_draft_that_breaks_a_rule_is_refused_by_name_and_nothing_is_written(
    service: IntentService, engine: Engine, bad: IntentCreate, field: str
) -> None:
    service.create(draft("something else"), by=OWNER)
    before = written(engine)
    with pytest.raises(InvalidIntent) as refusal:
        service.create(bad, by=OWNER)
    assert refusal.value.field == field
    assert len(refusal.value.reason) > 20, "says what to do"
    assert isinstance(refusal.value, ValueError)
    assert written(engine) == before


@IN_MEMORY
@pytest.mark.parametrize("entry", ["x" * 121, "???", "   "])
def test_a_bad_keyword_is_named_in_the_error(service: IntentService, entry: str) -> None:
    with pytest.raises(InvalidTrigger) as refusal:
        service.create(draft("release candidate", entry), by=OWNER)
    assert refusal.value.keyword == entry.strip()


def test_what_is_just_within_the_bounds_is_taken(service: IntentService) -> None:
    service.create(draft("x" * 120, *[f"word{n}" for n in range(23)], description="d" * 500), by=OWNER)
    service.create(draft(expires_at=START + MOMENT), by=OWNER)
    service.create(draft(expires_at=START + timedelta(days=3650), max_fires=1000, cooldown=366 * DAY), by=OWNER)
    service.create(draft("one word", max_fires=1, cooldown=timedelta(0)), by=OWNER)


def test_bounds_come_from_the_limits(make_service: Any) -> None:
    service = make_service(limits=Limits(description_chars=10, keywords=1, keyword_chars=5))
    service.create(draft("abcde", description="x" * 10), by=OWNER)
    for bad in (draft("abcde", description="x" * 11), draft("abcdef"), draft("a", "b")):
        with pytest.raises(InvalidIntent):
            service.create(bad, by=OWNER)


def test_the_scope_of_a_conversation_needs_a_conversation(service: IntentService, engine: Engine) -> None:
    nowhere = OWNER.model_copy(update={"conversation_id": None})
    with pytest.raises(InvalidIntent) as refusal:
        service.create(draft(channel_scope="conversation"), by=nowhere)
    assert refusal.value.field == "conversation_id"
    assert count_of(engine, StandingIntent) == 0
    named = service.create(draft(channel_scope="conversation", conversation_id="C-war-room"), by=nowhere)
    assert named.conversation_id == "C-war-room"


def test_an_emoji_is_a_keyword(service: IntentService) -> None:
    intent = service.create(draft("🚀"), by=OWNER)
    assert ids(service.match(said("🚀 it is"))) == [intent.id]
    assert not service.match(said("hello"))


def test_advice_comes_with_the_creation_and_only_there(service: IntentService) -> None:
    intent = service.create(draft("the"), by=OWNER)
    assert intent.advice
    assert service.get(intent.id).advice == ()


# Characters that no database stores


@pytest.mark.parametrize("entry", ["release\x00candidate", "release\ud800candidate"])
def test_a_keyword_with_characters_that_no_database_stores_still_fires(service: IntentService, entry: str) -> None:
    intent = service.create(draft(entry), by=OWNER)
    (match,) = service.match(said(id="m1"))
    assert match.intent.id == intent.id
    assert service.match(said(id="m1")).duplicate
    assert [event.event for event in service.history(intent.id)] == ["create", "arm", "fire"]


# Ids that name nothing


@pytest.mark.parametrize(
    "unknown", ["", "nope", "00000000-0000-0000-0000-000000000000", "x" * 5000, "a\x00b", "\ud800"]
)
def test_an_unknown_id_is_named_so(service: IntentService, unknown: str) -> None:
    service.create(draft(), by=OWNER)
    for act in (
        lambda: service.get(unknown),
        lambda: service.arm(unknown, by=OWNER),
        lambda: service.cancel(unknown, by=OWNER),
        lambda: service.history(unknown),
        lambda: service.list(after=unknown),
        lambda: service.explain(said(), intent_id=unknown),
        lambda: service.explain(said(), after=unknown),
    ):
        with pytest.raises(IntentNotFound) as refusal:
            act()
        assert refusal.value.intent_id == unknown


# The same wish twice


def test_the_same_wish_three_times_is_one_row(service: IntentService, engine: Engine) -> None:
    wishes = [
        draft("release candidate", "RC is out"),
        draft("RC is out", "release candidate"),
        draft("Release  CANDIDATE", "rc is OUT", max_fires=9, cooldown=HOUR),
    ]
    assert len({service.create(wish, by=OWNER).id for wish in wishes}) == 1
    assert count_of(engine, StandingIntent) == 1
    assert count_of(engine, IntentEvent) == 2


@IN_MEMORY
@pytest.mark.parametrize(
    "other",
    [
        draft(description="Something else"),
        draft("release notes"),
        draft("release candidate", "another"),
        draft(exclude_keywords=["dry run"]),
        draft(within=5),
        draft(language="und"),
        draft(channel_scope="anywhere"),
        draft(channel_scope="conversation"),
        draft(sender_scope="anyone"),
        draft(sender_id="U-alice"),
    ],
)
def test_another_wish_is_another_row(service: IntentService, other: IntentCreate) -> None:
    assert service.create(draft(), by=OWNER).id != service.create(other, by=OWNER).id


def test_the_same_wish_of_another_owner_is_another_row(make_service: Any) -> None:
    service = make_service(owners=OwnerPolicy(("slack:U-owner", "slack:U-alice")))
    anyone = draft(sender_scope="anyone")
    assert service.create(anyone, by=OWNER).id != service.create(anyone, by=ALICE).id


def test_a_wish_may_come_again_when_the_first_is_over(service: IntentService, clock: Clock) -> None:
    first = service.create(draft(max_fires=1, expires_at=START + DAY), by=OWNER)
    service.cancel(first.id, by=OWNER)
    second = service.create(draft(max_fires=1, expires_at=START + DAY), by=OWNER)
    assert ids(service.match(said())) == [second.id]
    third = service.create(draft(max_fires=1, expires_at=START + DAY), by=OWNER)
    clock.advance(DAY)  # the third expires without anybody having swept
    fourth = service.create(draft(max_fires=1), by=OWNER)
    assert len({first.id, second.id, third.id, fourth.id}) == 4
    assert [intent.status for intent in service.list()] == [
        Status.CANCELLED, Status.DONE, Status.EXPIRED, Status.ARMED,
    ]  # fmt: skip
    assert [event.event for event in service.history(third.id)] == ["create", "arm", "expire"]


# Arming and cancelling what cannot be


def test_arming_an_armed_intent_and_cancelling_a_cancelled_one_does_nothing(
    service: IntentService, engine: Engine
) -> None:
    intent = service.create(draft(), by=OWNER)
    before = written(engine)
    assert service.arm(intent.id, by=OWNER).status is Status.ARMED
    assert written(engine) == before
    service.cancel(intent.id, by=OWNER, reason="first")
    before = written(engine)
    assert service.cancel(intent.id, by=OWNER, reason="second").status is Status.CANCELLED
    assert written(engine) == before


# A database that is not ready


def test_a_missing_schema_is_named_with_its_remedy(empty_engine: Engine, clock: Clock) -> None:
    service = IntentService(sessionmaker(empty_engine), owners=OwnerPolicy(("slack:U-owner",)), clock=clock)
    for act in (
        lambda: service.create(draft(), by=OWNER),
        lambda: service.match(said(id="m1")),
        lambda: service.match(said()),
        service.list,
        lambda: service.get("x"),
        lambda: service.cancel("x", by=OWNER),
        service.sweep,
        lambda: service.explain(said()),
    ):
        with pytest.raises(SchemaMismatch) as refusal:
            act()
        assert "upgrade" in refusal.value.remedy


def test_an_older_schema_is_named_with_its_remedy(empty_engine: Engine, clock: Clock) -> None:
    metadata.create_all(empty_engine)
    service = IntentService(sessionmaker(empty_engine), owners=OwnerPolicy(("slack:U-owner",)), clock=clock)
    service.create(draft(), by=OWNER)
    with empty_engine.begin() as connection:
        connection.execute(text("ALTER TABLE standing_intent_turns DROP COLUMN session_id"))
    with pytest.raises(SchemaMismatch) as refusal:
        service.match(said(id="m1"))
    assert "upgrade" in refusal.value.remedy


@ON_SQLITE
def test_without_the_index_trigger_creation_is_refused_and_nothing_is_written(
    service: IntentService, engine: Engine
) -> None:
    with engine.begin() as connection:
        connection.execute(text("DROP TRIGGER standing_intents_index_insert"))
    before = written(engine)
    with pytest.raises(SchemaMismatch, match="doctor --repair"):
        service.create(draft(), by=OWNER)
    assert written(engine) == before


@ON_FILE
def test_a_locked_database_is_named_and_nothing_is_written(make_service: Any, engine: Engine) -> None:
    service = make_service(limits=Limits(lock_wait=timedelta(milliseconds=50)))
    with engine.connect() as rival:
        rival.exec_driver_sql("BEGIN IMMEDIATE")
        with pytest.raises(ConcurrentUpdate) as lost:
            service.create(draft(), by=OWNER)
        assert not lost.value.transaction_lost, "the service's own transaction is gone; the call may be repeated"
    assert count_of(engine, StandingIntent) == count_of(engine, IntentTurn) == 0
    service.create(draft(), by=OWNER)
