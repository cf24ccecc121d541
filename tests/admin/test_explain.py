"""The explain box: what would fire and why not, and nothing written, logged or put into an address."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy import text

from intents.contrib.admin import desk
from tests.admin.conftest import Pages, World
from tests.admin.test_details import parsed, section
from tests.admin.test_list import copy_rows

SAID = {"agent": "main", "account": "default", "provider": "slack", "sender": "U9", "conversation": "C9"}


def rows(world: World) -> list[Any]:
    tables = ("standing_intents", "standing_intent_turns", "standing_intent_firings", "standing_intent_events")
    with world.engine.connect() as connection:
        return [connection.execute(text(f"SELECT * FROM {table} ORDER BY 1")).all() for table in tables]


def test_what_would_fire_and_why_not(pages: Pages, world: World) -> None:
    before = rows(world)
    answer = pages.submit("/explain", **SAID, text="We go live, the candidate and the launch")
    assert answer.status_code == 200
    verdicts = section(answer.text, r"1 of \d+ would fire")
    assert "Confirm the rollback owner. fires '\"go live\"' is complete." in verdicts
    assert "Ask for the press kit. silent: cooldown" in verdicts
    assert "Wait for legal. silent: pending" in verdicts
    assert "Of another agent." not in verdicts
    assert verdicts.index("silent: cooldown") < verdicts.index("silent: keywords")
    assert rows(world) == before
    told = {each.intent.description: each for each in world.service().explain(_turn("go live, the launch"))}
    assert told["Confirm the rollback owner."].fires


def _turn(message: str) -> Any:
    from intents import Identity, Turn

    return Turn(text=message, identity=Identity(provider="slack", sender_id="U9", conversation_id="C9"))


def test_the_identity_counts(pages: Pages) -> None:
    fields = {**SAID, "provider": "telegram", "text": "We go live"}
    assert "silent: scope" in section(pages.submit("/explain", **fields).text, r"0 of \d+ would fire")
    fields = {**SAID, "agent": "ops-bot", "text": "release candidate"}
    assert "Of another agent. fires" in section(pages.submit("/explain", **fields).text, "1 of 1 would fire")


def test_one_intent_whatever_its_status(pages: Pages, world: World) -> None:
    theirs = {**SAID, "provider": "telegram", "account": "work"}
    answer = pages.submit("/explain", **theirs, intent=world.ids["cancelled"], text="invoice")
    assert "silent: cancelled" in section(answer.text, "0 of 1 would fire")
    assert pages.submit("/explain", **SAID, intent="nonsense", text="x").status_code == 404


def test_an_empty_form_comes_from_the_intent(pages: Pages, world: World) -> None:
    markup = pages.get(f"/intents/details/{world.ids['done']}").text
    (link,) = re.findall(r'href="/intents(/explain\?[^"]+)"', markup)
    form = pages.get(link.replace("&amp;", "&")).text
    for name, value in (("provider", "telegram"), ("account", "work"), ("intent", world.ids["done"])):
        assert f'name="{name}" value="{value}"' in form


def test_a_message_is_never_taken_from_an_address(pages: Pages) -> None:
    answer = pages.get("/explain?text=go+live&provider=slack&agent=main")
    assert " would fire" not in answer.text
    assert "go live" not in answer.text


def test_the_form_keeps_what_was_typed(pages: Pages) -> None:
    markup = pages.submit("/explain", **SAID, text="</textarea><b>go live").text
    assert "&lt;/textarea&gt;&lt;b&gt;go live</textarea>" in markup
    assert 'name="sender" value="U9"' in markup


@pytest.mark.parametrize(
    ("field", "value"),
    [("provider", ""), ("provider", " "), ("sender", "a\x00b"), ("account", "x" * 600), ("agent", "")],
)
def test_what_is_wrong_is_said_at_its_field(pages: Pages, field: str, value: str) -> None:
    answer = pages.submit("/explain", **{**SAID, field: value}, text="go live")
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    shown = parsed(answer.text)[0]
    assert f"{field.capitalize()}: " in shown
    assert "would fire" not in shown
    if field != "agent":
        assert re.search(rf'<input id="{field}"[^>]* aria-describedby="{field}-hint" aria-invalid="true">', answer.text)


def test_many_intents_are_all_looked_at_and_the_nearest_shown(pages: Pages, world: World) -> None:
    copy_rows(world.engine, world.ids["elsewhere"], 1_200)
    fields = {**SAID, "agent": "ops-bot", "text": "a candidate"}
    verdicts = section(pages.submit("/explain", **fields).text, r"0 of 1,201 would fire")
    assert verdicts.count("silent: keywords") == desk.SHOWN_SILENT
    assert "And 1,151 more that are further away." in verdicts


def test_there_is_a_bound_and_it_is_said(pages: Pages, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "EXPLAINED", 4)
    monkeypatch.setattr(desk, "_BATCH", 2)
    answer = pages.submit("/explain", **SAID, text="nothing of interest")
    assert "was asked of 4, the oldest." in section(answer.text, "0 would fire")
    monkeypatch.setattr(desk, "EXPLAINED", 2)
    newest = world.create("The newest of all.", "interest")
    answer = pages.submit("/explain", **SAID, text="nothing of interest")
    assert "The newest of all. fires" in section(answer.text, "1 would fire")
    assert newest in answer.text


def test_long_messages_and_odd_ones(pages: Pages) -> None:
    for message in ("go live " * 20_000, "\ud800 go live".encode("utf-8", "surrogatepass").decode("utf-8", "replace")):
        assert pages.submit("/explain", **SAID, text=message).status_code == 200
