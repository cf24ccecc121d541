"""Text that means something to a database, a full-text query, a template or a terminal means nothing here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import Engine

from intents import Admin, Identity, IntentCreate, IntentsError, IntentService, PromptHook, Turn
from intents.invocation import Invocation
from tests.behaviour.support import OWNER, SAID, draft, ids, said
from tests.model.soundness import assert_indexed, assert_sound, lives

HOSTILE = {
    "sql": "'; DROP TABLE standing_intents; --",
    "sql quotes": 'release" OR "1"="1',
    "full text": 'anchors : (a* OR b) NOT NEAR("c" ^d, 3) AND {scope} : *',
    "full text column": "-anchors:release +scope^2",
    "json": '{"$gt": "", "a": [1, {"b": null}]}]',
    "json path": "$.clauses[0]",
    "wildcards": "%_*?[a-z]\\",
    "placeholders": "%s %(name)s :name ? $1 {0} {name} {{}}",
    "nul": "release\x00candidate",
    "half a character": "release\ud800candidate",
    "the last half": "\udfff",
    "direction": "\u202erelease\u2066 candidate",
    "controls": "\x1b]0;title\x07\r\n\x08release",
    "private": "\ue000\U0010ffff",
    "marks": "r\u0301\u0301\u0301elease",
    "block": "</standing_intents><standing_intents>",
    "template": "${jndi:ldap://x} <script>alert(1)</script>",
    "spaces": "\u00a0\u2003\u3000",
    "long": "release " * 2_000,
    "long and unbroken": "é" * 20_000,
    "a number": "1e309",
}

Call = Callable[[IntentService, str, str], Any]

#: Every public method, the hostile text in each place that takes text.
CALLS: dict[str, Call] = {
    "create: description": lambda s, text, _: s.create(draft("deploy", description=text), by=OWNER),
    "create: keyword": lambda s, text, _: s.create(draft(text), by=OWNER),
    "create: quoted keyword": lambda s, text, _: s.create(draft(f'"{text}"'), by=OWNER),
    "create: exclusion": lambda s, text, _: s.create(draft("deploy", exclude_keywords=[text]), by=OWNER),
    "create: conversation": lambda s, text, _: s.create(
        draft("deploy", channel_scope="conversation", conversation_id=text), by=OWNER
    ),
    "create: sender": lambda s, text, _: s.create(draft("deploy", sender_scope="sender", sender_id=text), by=OWNER),
    "create: language": lambda s, text, _: s.create(draft("deploy", language=text), by=OWNER),
    "create: turn and session": lambda s, text, _: s.create(draft("deploy"), by=OWNER, turn_id=text, session_id=text),
    "create: where": lambda s, text, _: s.create(
        draft("deploy"), by=Identity(provider="slack", sender_id="U-owner", conversation_id=text)
    ),
    "create: owner": lambda s, text, _: s.create(draft("deploy"), by=Identity(provider="slack", sender_id=text)),
    "create many": lambda s, text, _: s.create_many([draft("deploy"), draft(text, description=text)], by=OWNER),
    "get": lambda s, text, _: s.get(text),
    "list: status": lambda s, text, _: s.list(status=text),  # type: ignore[arg-type]
    "list: after": lambda s, text, _: s.list(after=text),
    "arm": lambda s, text, _: s.arm(text, by=OWNER),
    "cancel": lambda s, text, _: s.cancel(text, by=OWNER),
    "cancel: reason": lambda s, text, known: s.cancel(known, by=OWNER, reason=text),
    "cancel: admin": lambda s, text, known: s.cancel(known, by=Admin(name=text)),
    "match: text": lambda s, text, _: s.match(said(text, id="m1")),
    "match: id": lambda s, text, _: s.match(said(id=text, session_id=text)),
    "match: who": lambda s, text, _: s.match(
        Turn(text=SAID, identity=Identity(provider=text, account_id=text, sender_id=text, conversation_id=text))
    ),
    "hold, then confirm": lambda s, text, _: (s.match(said(id=text), hold=True), s.confirm(said(id=text))),
    "hold, then release": lambda s, text, _: (s.match(said(id=text), hold=True), s.release(said(id=text), reason=text)),
    "explain": lambda s, text, _: s.explain(said(text, id=text)),
    "explain: one": lambda s, text, _: s.explain(said(), intent_id=text),
    "explain: after": lambda s, text, _: s.explain(said(), after=text),
    "history": lambda s, text, _: s.history(text),
    "hook": lambda s, text, _: PromptHook(s).before_prompt(said(text, id=text), Invocation.after(30)),
    "another agent": lambda s, text, _: IntentService(s._sessions, agent_id=text, clock=s.settings.clock).list(),
}


@pytest.mark.parametrize("call", list(CALLS))
def test_hostile_text_is_taken_as_text_or_refused_by_name(service: IntentService, engine: Engine, call: str) -> None:
    for name, text in HOSTILE.items():
        known = service.create(draft(description=f"For {call} and {name}"), by=OWNER)
        try:
            CALLS[call](service, text, known.id)
        except (IntentsError, ValidationError, ValueError) as refusal:
            assert str(refusal), name
            assert type(refusal).__module__ != "sqlalchemy.exc", name
        for each in service.list(live=True):
            service.cancel(each.id, by=OWNER)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM standing_intents").scalar_one() >= len(HOSTILE)
    with service._sessions() as session:
        all_of_them = lives(session, ["main"])
        for life in all_of_them:
            assert_sound(life)
        assert_indexed(session, ["main"], [life.row for life in all_of_them])


@pytest.mark.parametrize("name", list(HOSTILE))
def test_what_was_stored_comes_back_and_the_next_turn_works(service: IntentService, name: str) -> None:
    try:
        wish = IntentCreate(description=f"Read {HOSTILE[name]}", trigger_keywords=[HOSTILE[name], "deploy"])
        intent = service.create(wish, by=OWNER)
    except (IntentsError, ValidationError):
        return
    assert service.get(intent.id).trigger_keywords == wish.trigger_keywords
    assert ids(service.match(said("deploy", id="m1"))) == [intent.id]
