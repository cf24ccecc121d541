"""Nothing is stored that nobody asked to store, and no error carries somebody else's words."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import Engine, inspect

from intents import Identity, IntentCreate, IntentsError, IntentService, OwnerPolicy, Turn
from tests.behaviour.support import ALICE, NOBODY, OWNER, SAID, START, Clock, draft, said

#: Words of a turn that no intent knows, as text and as the index would have encoded them.
MARKER = "zanzibar"
TRACES = (MARKER, MARKER.upper(), MARKER.encode().hex())


def everything(engine: Engine) -> str:
    """All that the database holds, tables of the full-text index included, as one text."""
    dump = []
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            names = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars().all()
        else:
            names = inspect(connection).get_table_names()
        assert len(names) >= 5
        for name in names:
            for row in connection.exec_driver_sql(f'SELECT * FROM "{name}"'):
                dump += [f"{value!r} {value.hex()}" if isinstance(value, bytes) else repr(value) for value in row]
    if engine.url.database and engine.dialect.name == "sqlite":
        engine.dispose()
        dump += [path.read_bytes().decode("latin-1") for path in Path(engine.url.database).parent.glob("*.db*")]
    return "\n".join(dump)


def test_the_text_of_a_turn_is_stored_nowhere(service: IntentService, engine: Engine) -> None:
    wish = f"when the release candidate or {MARKER} comes up, remind me"
    assert not service.match(said(wish, id="m0"))
    service.create(
        draft(sender_scope="anyone", max_fires=5, cooldown=timedelta(0)), by=OWNER, turn_id="m0", session_id="s0"
    )
    assert service.match(said(f"{SAID} in {MARKER}", id="m1"))
    assert service.match(said(f"{SAID} in {MARKER.upper()}", by=ALICE, id="m2"), hold=True)
    assert service.release(said(f"{SAID} in {MARKER}", by=ALICE, id="m2"), reason="suppressed")
    assert service.match(said(f"{SAID} in {MARKER}", id="m1")).duplicate
    assert not service.match(said(f"only {MARKER}", id="m3"))
    service.explain(said(f"{SAID} in {MARKER}", id="m4"))
    dump = everything(engine)
    assert "release candidate" in dump, "the dump would show it"
    assert [trace for trace in TRACES if trace in dump] == []


def test_only_turns_that_fired_are_remembered_and_only_by_their_id(service: IntentService, engine: Engine) -> None:
    service.create(draft(), by=OWNER)
    secret = Identity(provider="slack", sender_id=f"U-{MARKER}", conversation_id=f"C-{MARKER}")
    assert not service.match(said("hello", by=secret, id=f"m-{MARKER}", session_id=f"s-{MARKER}"))
    assert MARKER not in everything(engine)


# Errors


def test_no_error_carries_another_persons_words(
    make_service: Callable[..., IntentService], engine: Engine, clock: Clock
) -> None:
    service = make_service(owners=OwnerPolicy(("slack:U-owner",)))
    foreign = make_service(agent_id="other")
    wish = draft(
        f"{MARKER} rocket",
        description=f"Tell nobody about {MARKER}",
        exclude_keywords=[f"{MARKER} drill"],
        max_fires=1,
        cooldown=timedelta(0),
    )
    done = service.create(wish, by=OWNER)
    service.match(said(f"{MARKER} rocket", id="m1"))
    cancelled = service.create(wish, by=OWNER)
    service.cancel(cancelled.id, by=OWNER, reason=MARKER)
    expired = service.create(wish.model_copy(update={"expires_at": START.replace(day=28)}), by=OWNER)
    theirs = foreign.create(wish, by=OWNER)
    clock.now = START.replace(day=29)
    attempts: list[Callable[[], Any]] = [
        *(lambda each=each: service.arm(each.id, by=OWNER) for each in (done, cancelled, expired)),
        *(lambda each=each: service.cancel(each.id, by=OWNER) for each in (done, expired, theirs)),
        *(lambda each=each: service.cancel(each.id, by=ALICE) for each in (done, cancelled, expired, theirs)),
        lambda: service.create(wish, by=NOBODY),
        lambda: service.create(wish.model_copy(update={"expires_at": START}), by=OWNER),
        lambda: service.create(wish.model_copy(update={"language": "tlh"}), by=OWNER),
        lambda: service.create(wish.model_copy(update={"description": MARKER * 100}), by=OWNER),
        lambda: service.match(said(MARKER), hold=True),
        lambda: service.confirm(said(MARKER)),
    ]
    for attempt in attempts:
        with pytest.raises(IntentsError) as refusal:
            attempt()
        told = "".join(traceback.format_exception_only(refusal.value))
        assert MARKER not in told
        assert len(told) < 500


@pytest.mark.parametrize(
    "build",
    [
        lambda: Turn(text=MARKER, identity=OWNER, id=f"{MARKER}\x00"),
        lambda: Turn(text=MARKER, identity=OWNER, kind=MARKER),
        lambda: Identity(provider="slack", sender_id=f"{MARKER}\n"),
        lambda: Identity(provider="slack", sender_id=MARKER * 100),
        lambda: IntentCreate(description=MARKER, trigger_keywords=MARKER),
        lambda: IntentCreate(description=MARKER * 10_000, trigger_keywords=[MARKER]),
        lambda: IntentCreate(description=MARKER, trigger_keywords=[MARKER], max_fires=0, expires_at=MARKER),
    ],
)
def test_no_validation_error_repeats_its_input(build: Callable[[], Any]) -> None:
    with pytest.raises(ValidationError) as refusal:
        build()
    assert MARKER not in str(refusal.value)
    assert MARKER not in repr(refusal.value)


def test_logs_say_what_happened_without_words(service: IntentService, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(0):
        service.create(draft(f"{MARKER} rocket", description=MARKER), by=OWNER)
        service.match(said(f"{MARKER} rocket", id="m1"))
        service.match(said(MARKER, kind="system"))
    assert MARKER not in "".join(record.getMessage() for record in caplog.records if record.name.startswith("intents"))
