"""Which intents fire on a turn: the oldest three that fit, each at most once, and never silently fewer."""

from __future__ import annotations

import logging
import sqlite3
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, update

from intents import (
    IntentFiring,
    IntentService,
    IntentTurn,
    InvalidIntent,
    Limits,
    Match,
    Matches,
    StandingIntent,
    Status,
)
from intents.index.base import encode_terms
from tests.behaviour.support import (
    ALICE,
    DAY,
    HOUR,
    IN_MEMORY,
    ON_FILE,
    ON_POSTGRESQL,
    OWNER,
    REMINDER,
    SHARED,
    START,
    Clock,
    answer_of,
    between_look_and_lock,
    count_of,
    draft,
    ids,
    load,
    said,
    statements,
    stored,
    writes_or_locks,
    written,
)


def test_a_fire_is_answered_with_the_intent_the_entry_and_the_block(service: IntentService, engine: Engine) -> None:
    intent = service.create(draft("rollback", "release candidate", sender_scope="anyone"), by=OWNER)
    matches = service.match(said(by=ALICE, id="m1", session_id="s1", at=START - HOUR))
    assert isinstance(matches, Matches)
    assert isinstance(matches[0], Match)
    assert len(matches) == 1
    assert matches[0].keyword == "release candidate"
    assert matches[0].intent == service.get(intent.id)
    assert (matches[0].intent.status, matches[0].intent.fire_count) == (Status.FIRED, 1)
    assert (matches[0].intent.last_fired_at, matches[0].intent.rearm_at) == (START, START + DAY)
    assert matches.context == (
        f"<standing_intents>\nStanding intent (created 2026-07-27): {REMINDER}\n</standing_intents>"
    )
    assert (matches.truncated, matches.duplicate, matches.skipped) == (False, False, None)
    assert (count_of(engine, IntentTurn), count_of(engine, IntentFiring)) == (1, 1)


def test_a_miss_is_an_empty_answer(service: IntentService) -> None:
    service.create(draft(), by=OWNER)
    for text in ("the release is up", "candidate", "", "   ", "\x00", "hello"):
        matches = service.match(said(text))
        assert list(matches) == []
        assert answer_of(matches) == Matches()
        assert not matches


def test_nothing_closes_an_intent_but_its_budget(service: IntentService) -> None:
    """After a fire the next turn may say that it is done; only a cancellation by id ends the intent."""
    intent = service.create(draft(), by=OWNER)
    (match,) = service.match(said())
    assert not service.match(said("done, it is confirmed"))
    assert ids(service.list(live=True)) == [intent.id]
    assert service.cancel(match.intent.id, by=OWNER, reason="confirmed").status is Status.CANCELLED


def test_a_spent_budget_is_done(service: IntentService, clock: Clock) -> None:
    intent = service.create(draft(max_fires=2, cooldown=HOUR), by=OWNER)
    assert service.match(said())[0].intent.status is Status.FIRED
    clock.advance(HOUR)
    last = service.match(said())[0].intent
    assert (last.status, last.fire_count, last.rearm_at) == (Status.DONE, 2, None)
    clock.advance(HOUR)
    assert not service.match(said())
    assert [event.event for event in service.history(intent.id)] == [
        "create", "arm", "fire", "rearm", "fire", "complete",
    ]  # fmt: skip


# The bounds of a turn


def test_of_twelve_three_fire_oldest_first_and_the_others_wait_unspent(service: IntentService) -> None:
    created = [service.create(draft(description=f"Reminder {n}", max_fires=1), by=OWNER).id for n in range(12)]
    fired = []
    for turn in range(4):
        waiting = created[3 * turn :]
        assert all(service.get(each).fire_count == 0 for each in waiting)
        matches = service.match(said())
        assert ids(matches) == waiting[:3]
        fired += ids(matches)
    assert fired == created
    assert not service.match(said())


def test_what_does_not_fit_in_the_block_is_left_unspent(service: IntentService) -> None:
    long = [service.create(draft(description=f"{n} " + "x" * 480), by=OWNER) for n in range(3)]
    short = service.create(draft(description="short"), by=OWNER)
    matches = service.match(said())
    assert ids(matches) == [long[0].id, long[1].id, short.id]
    assert matches.context is not None
    assert len(matches.context) <= 1200
    assert service.get(long[2].id).fire_count == 0
    assert ids(service.match(said())) == [long[2].id]


def test_the_block_may_be_exactly_as_long_as_allowed(make_service: Any) -> None:
    line = len("Standing intent (created 2026-07-27): ")
    tags = len("<standing_intents>\n</standing_intents>")
    whole = tags + 2 * (1 + line + 50)
    for limit, fires in ((whole, 2), (whole - 1, 1)):
        service = make_service(agent_id=f"at most {limit}", limits=Limits(context_chars=limit))
        created = [service.create(draft(description=letter * 50), by=OWNER).id for letter in "ab"]
        matches = service.match(said())
        assert ids(matches) == created[:fires]
        assert len(matches.context or "") <= limit
        assert [service.get(each).fire_count for each in created] == [1, fires - 1]


def test_a_line_that_no_block_could_hold_is_refused(make_service: Any) -> None:
    service = make_service(limits=Limits(context_chars=150))
    with pytest.raises(InvalidIntent) as refusal:
        service.create(draft(description="x" * 120), by=OWNER)
    assert refusal.value.field == "description"


def test_how_many_fire_comes_from_the_limits(make_service: Any) -> None:
    service = make_service(limits=Limits(fires_per_turn=1))
    created = [service.create(draft(description=f"Reminder {n}"), by=OWNER).id for n in range(2)]
    assert ids(service.match(said())) == created[:1]
    assert ids(service.match(said())) == created[1:]


# The turn that made the intent, and turns that nobody wrote


def test_an_intent_never_fires_on_the_turn_that_created_it(service: IntentService) -> None:
    wish = "when someone mentions the release candidate, remind me to confirm the rollback owner"
    assert not service.match(said(wish, id="m1"))
    intent = service.create(draft(), by=OWNER, turn_id="m1", session_id="s1")
    assert not service.match(said(wish, id="m1"))
    assert service.get(intent.id).fire_count == 0
    assert ids(service.match(said(wish, id="m2"))) == [intent.id]
    assert [event.turn_id for event in service.history(intent.id)] == ["m1", "m1", "m2"]


def test_the_creating_turn_is_told_by_conversation_too(service: IntentService) -> None:
    """Some channels number the messages of each chat from one."""
    intent = service.create(draft(), by=OWNER, turn_id="1")
    elsewhere = OWNER.model_copy(update={"conversation_id": "C-kitchen"})
    assert ids(service.match(said(by=elsewhere, id="1"))) == [intent.id]


@pytest.mark.parametrize("kind", ["system", "heartbeat", "cron"])
def test_what_nobody_wrote_never_fires(service: IntentService, engine: Engine, kind: Any) -> None:
    service.create(draft(), by=OWNER)
    before = written(engine)
    matches = service.match(said(kind=kind, id="m1"))
    assert (list(matches), matches.skipped) == ([], "kind")
    assert written(engine) == before


# Exclusions, distances


def test_a_completed_exclusion_keeps_the_intent_silent(service: IntentService) -> None:
    intent = service.create(draft(exclude_keywords=["dry run"]), by=OWNER)
    assert not service.match(said("the release candidate is a dry run"))
    assert not service.match(said("run the release candidate, dry"))
    assert ids(service.match(said("the release candidate run"))) == [intent.id]


def test_an_entry_may_have_to_lie_within_a_distance(service: IntentService) -> None:
    intent = service.create(draft(within=3), by=OWNER)
    assert not service.match(said("the release of the other candidate"))
    assert ids(service.match(said("the candidate for release"))) == [intent.id]


# A turn that is pure syntax


@pytest.mark.parametrize(
    "text",
    [
        "POL-358", "don't", "v2.0.1", 'a"b', "NEAR(", "AND", "OR NOT", "*", "^", "rel:cand", "-x", "", "   ",
        "\x00\x00", "scope : a", "anchors:x", "{a b}: c", '"', "'", "a' OR '1'='1", ")", "((", "+", "\\", "%", "_",
        "a*",
    ],
)  # fmt: skip
def test_no_text_is_syntax(service: IntentService, text: str) -> None:
    intent = service.create(draft(max_fires=100, cooldown=timedelta(0)), by=OWNER)
    assert not service.match(said(text))
    assert ids(service.match(said(f"{text} release candidate"))) == [intent.id]


# Turns without end


@IN_MEMORY
@pytest.mark.parametrize(
    "text",
    [
        "lorem ipsum " * 90_000,
        " ".join(f"word{n}" for n in range(20_000)),
        "x" * 100_000,
        "🚀" * 10_000,
        "e" + "\u0301" * 500_000,
        "\u0301" * 1_000_000,
        "\ud800" * 100_000,
    ],
    ids=["megabyte", "words", "one-word", "emoji", "marks-on-a-letter", "marks", "surrogates"],
)
def test_a_huge_turn_is_answered_and_its_end_still_fires(service: IntentService, text: str) -> None:
    intent = service.create(draft(), by=OWNER)
    assert ids(service.match(said(f"{text} release candidate"))) == [intent.id]


@ON_POSTGRESQL
def test_twenty_thousand_words_are_one_question_to_the_server(service: IntentService) -> None:
    intent = service.create(draft(), by=OWNER)
    text = " ".join(f"word{n}" for n in range(20_000))
    assert ids(service.match(said(f"{text} release candidate"))) == [intent.id]


# Wherever the row stands, it is found


def test_a_complete_trigger_is_found_among_ten_thousand_that_share_its_first_word(
    service: IntentService, engine: Engine
) -> None:
    first, second = (service.create(draft(f"deployment own{n}"), by=OWNER) for n in range(2))
    (expected,) = (stored(engine, second.id).anchors,)
    load(engine, service, first, [f"deployment own{n}" for n in range(2, 9_999)])
    newest = service.create(draft("deployment own9999"), by=OWNER)
    assert expected == " ".join(encode_terms("main", ["own1", "deploymentown1"])), "indexed by the rarer word"
    matches = service.match(said("the deployment of own9999 begins"))
    assert ids(matches) == [newest.id]
    assert not matches.truncated


def test_rows_that_cannot_fire_now_do_not_crowd_out_one_that_can(service: IntentService, engine: Engine) -> None:
    pattern = service.create(draft(), by=OWNER)
    load(
        engine, service, pattern, ["release candidate"] * 300,
        status=Status.FIRED, fire_count=1, last_fired_at=START - HOUR, rearm_at=START + HOUR,
    )  # fmt: skip
    load(engine, service, pattern, ["release candidate"] * 300, status=Status.ARMED, expires_at=START)
    load(engine, service, pattern, ["release candidate"] * 300, status=Status.PENDING)
    service.cancel(pattern.id, by=OWNER)
    youngest = service.create(draft(description="The youngest"), by=OWNER)
    matches = service.match(said())
    assert ids(matches) == [youngest.id]
    assert not matches.truncated


def test_more_candidates_than_the_limit_are_announced(
    service: IntentService, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    pattern = service.create(draft(max_fires=1), by=OWNER)
    rest = load(engine, service, pattern, ["release candidate"] * 255)
    fresh = {"status": Status.ARMED, "fire_count": 0, "last_fired_at": None}
    with caplog.at_level(logging.WARNING, "intents"):
        matches = service.match(said())
        assert len(matches) == 3
        assert not matches.truncated, "256 are looked at"
        assert not caplog.records
        load(engine, service, pattern, ["release candidate"] * 4, **fresh)
        matches = service.match(said())
    assert matches.truncated
    assert ids(matches) == rest[2:5], "the oldest three that are left"
    assert "256" in caplog.text


def test_a_miss_may_be_truncated_too_and_says_so(
    make_service: Any, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    service = make_service(limits=Limits(candidates=5))
    pattern = service.create(draft(), by=OWNER)
    load(engine, service, pattern, [f"zebra own{n}" for n in range(6)], anchored_at=0)
    with caplog.at_level(logging.WARNING, "intents"):
        matches = service.match(said("a zebra"))
    assert (list(matches), matches.truncated) == ([], True)
    assert len(caplog.records) == 1


# A miss costs reads only


def test_a_miss_writes_nothing_and_asks_for_no_lock(service: IntentService, engine: Engine) -> None:
    service.create(draft(), by=OWNER)
    before = written(engine)
    with statements(engine) as seen:
        assert not service.match(said("the release is up", id="m1"))
    assert seen
    assert [statement for statement, _ in seen if writes_or_locks(statement)] == []
    assert written(engine) == before


def test_an_answer_tells_what_was_met_on_the_way(service: IntentService) -> None:
    service.create(draft("release candidate"), by=OWNER)
    service.create(draft("release notes candidate"), by=OWNER)
    met = [
        (matches.candidates, matches.completed, len(matches))
        for matches in (
            service.match(said("hello")),
            service.match(said("any candidate")),
            service.match(said("the release candidate", id="m1")),
            service.match(said("the release candidate", id="m1")),
            service.match(said("the release candidate", kind="cron")),
        )
    ]
    assert met == [(0, 0, 0), (1, 0, 0), (2, 1, 1), (None, None, 1), (None, None, 0)]


@SHARED
def test_a_miss_is_answered_while_another_connection_holds_the_write_lock(
    service: IntentService, engine: Engine
) -> None:
    service.create(draft(), by=OWNER)
    with engine.connect() as rival:
        if engine.dialect.name == "sqlite":
            rival.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            rival.exec_driver_sql("LOCK TABLE standing_intents IN SHARE ROW EXCLUSIVE MODE")
        rival.execute(update(StandingIntent).values(updated_at=StandingIntent.updated_at))
        matches = service.match(said("the release is up", id="m1"))
        assert answer_of(matches) == Matches()
        assert service.match(said()).skipped == "busy", "a hit would have had to wait"


# The world moves between the look and the lock


@SHARED
def test_one_cancelled_between_look_and_lock_stays_cancelled_and_the_others_fire(
    service: IntentService, engine: Engine
) -> None:
    first, second, third = (service.create(draft(description=f"Reminder {n}"), by=OWNER) for n in range(3))
    with between_look_and_lock(engine, lambda: service.cancel(second.id, by=OWNER)):
        matches = service.match(said())
    assert ids(matches) == [first.id, third.id]
    assert service.get(second.id).status is Status.CANCELLED
    assert service.get(second.id).fire_count == 0


@SHARED
def test_what_was_fired_or_expired_between_look_and_lock_does_not_fire_again(
    service: IntentService, engine: Engine, clock: Clock
) -> None:
    intent = service.create(draft(expires_at=START + DAY), by=OWNER)
    with between_look_and_lock(engine, lambda: service.match(said(id="m2"))):
        assert answer_of(service.match(said(id="m1"))) == Matches()
    assert service.get(intent.id).fire_count == 1
    clock.advance(DAY - timedelta(seconds=1))
    other = service.create(draft(description="Another", expires_at=START + DAY), by=OWNER)
    with between_look_and_lock(engine, lambda: clock.advance(timedelta(seconds=1))):
        assert answer_of(service.match(said(id="m3"))) == Matches()
    assert service.get(other.id).status is Status.EXPIRED


# What the index is told


@ON_FILE
def test_a_fire_does_not_write_the_index(service: IntentService, engine: Engine) -> None:
    pattern = service.create(draft("never said", max_fires=5), by=OWNER)
    load(engine, service, pattern, [f"deployment own{n}" for n in range(2_000)])
    intent = service.create(draft(max_fires=5), by=OWNER)
    before = index_pages(engine)
    assert ids(service.match(said())) == [intent.id]
    with engine.begin() as connection:
        connection.execute(
            update(StandingIntent).where(StandingIntent.id == pattern.id).values(last_fired_at=START, fire_count=1)
        )
    assert index_pages(engine) == before
    service.cancel(intent.id, by=OWNER)
    assert index_pages(engine) != before, "the look would see a write"


def index_pages(engine: Engine) -> list[Any]:
    """All that FTS5 has written, to the byte."""
    with engine.connect() as connection:
        return [
            [tuple(row) for row in connection.exec_driver_sql(f"SELECT * FROM standing_intents_fts_{part}")]
            for part in ("data", "idx", "content")
        ]


def test_the_answer_is_plain_values_that_outlive_the_session(service: IntentService) -> None:
    service.create(draft(), by=OWNER)
    matches = service.match(said())
    assert Matches.model_validate_json(matches.model_dump_json()) == matches
    with pytest.raises(ValueError, match="frozen"):
        matches.context = "something else"  # type: ignore[misc]


def test_turns_are_matched_with_the_text_only(service: IntentService) -> None:
    """Neither names nor ids of the turn are searched for words."""
    service.create(draft("secret"), by=OWNER)
    assert not service.match(said("hello", id="secret", session_id="secret"))


assert sqlite3.sqlite_version_info >= (3, 37), "the running Python's SQLite is one that the library supports"
