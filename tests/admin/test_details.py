"""One intent: its picture, trigger, firings and history, whatever people wrote into it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from intents import Identity, Status, Turn
from intents.contrib.admin.picture import PLACES, lifecycle, outgoing
from intents.diagram import GUARDS
from intents.lifecycle import TRANSITIONS
from tests.admin.conftest import Pages, World

SVG = "{http://www.w3.org/2000/svg}"


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.tags: list[str] = []

    def handle_data(self, data: str) -> None:
        self.seen.append(data)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)


def parsed(markup: str) -> tuple[str, list[str]]:
    """The visible text in one line, and the tags."""
    parser = _Text()
    parser.feed(markup)
    return " ".join(" ".join(parser.seen).split()), parser.tags


def section(markup: str, heading: str) -> str:
    """The text of one section of the page."""
    (found,) = re.findall(rf"<h2[^>]*>{heading}</h2>(.*?)</section>", markup, re.DOTALL)
    return parsed(found)[0]


@pytest.mark.parametrize("status", Status)
def test_the_picture_shows_the_table_and_marks_the_state(status: Status) -> None:
    picture = ElementTree.fromstring(str(lifecycle(status)))
    assert picture.get("role") == "img"
    title, desc = picture.find(f"{SVG}title"), picture.find(f"{SVG}desc")
    assert title is not None
    assert desc is not None
    assert picture.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert f"now {status.value}" in (title.text or "")
    groups = picture.findall(f"{SVG}g")
    states = {group.findtext(f"{SVG}text"): group for group in groups if "state" in (group.get("class") or "")}
    assert set(states) == {each.value for each in Status}
    assert [name for name, group in states.items() if "now" in (group.get("class") or "")] == [status.value]
    assert "is now" in [text.text for text in states[status.value].iter(f"{SVG}text")]
    moves = [group for group in groups if "move" in (group.get("class") or "")]
    drawn = sorted(text.text or "" for group in moves for text in group.iter(f"{SVG}text"))
    assert drawn == sorted(each.event for each in TRANSITIONS for _ in each.sources)
    for each in TRANSITIONS:
        for source in each.sources:
            assert re.search(rf"{each.event}[\w ]* from {source.value} to {each.target.value}", desc.text or "")
    opened = [text.text for group in moves if "open" in str(group.get("class")) for text in group.iter(f"{SVG}text")]
    assert sorted(opened) == sorted(event for event, _, _ in outgoing(status))


def test_every_state_has_a_place_and_every_condition_a_meaning() -> None:
    assert set(PLACES) == set(Status)
    assert {name.removeprefix("not ") for each in Status for _, _, names in outgoing(each) for name in names} <= set(
        GUARDS
    )


@pytest.mark.parametrize("name", ["armed", "fired", "rearmed", "done", "expired", "pending", "cancelled", "elsewhere"])
def test_the_page_marks_the_status_by_the_clock(pages: Pages, world: World, name: str) -> None:
    markup = pages.get(f"/intents/details/{world.ids[name]}").text
    status = world.service("ops-bot" if name == "elsewhere" else "main").get(world.ids[name]).status
    assert f"Lifecycle of the intent, which is now {status.value}" in markup
    assert f'<p class="summary"><span class="status {status.value}">' in markup
    assert ("Cancel this intent" in markup) is (status in ("pending", "armed", "fired"))
    if name in ("rearmed", "expired"):
        assert "by the clock; the next turn or sweep writes that down" in section(markup, "History")


def test_the_trigger_as_it_was_compiled(pages: Pages, world: World) -> None:
    text = section(pages.get(f"/intents/details/{world.ids['armed']}").text, "Trigger")
    assert "release candidate release releas, release" in text
    assert '"go live" go go then live live , or as one word goliv, golive' in text
    assert "Stays silent on a message that completes one of postponed postponed postpon, postponed" in text
    assert "Language en" in text
    assert "Words within 7 positions" in text
    anchors = text.partition("Indexed under ")[2].partition(" Analyzer")[0].split()
    assert {"live", "go"} & set(anchors)
    assert {"candid", "releas"} & set(anchors)
    assert not [each for each in anchors if re.fullmatch(r"[0-9a-f]{12,}", each)], "encoded terms are for the index"


def test_firings_and_history(pages: Pages, world: World) -> None:
    service = world.service()
    held = Turn(text="go live", identity=Identity(provider="slack", conversation_id="C1"), id="m-<9>")
    service.match(held, hold=True)
    service.release(held, reason="<i>the reply failed</i>")
    markup = pages.get(f"/intents/details/{world.ids['armed']}").text
    firings = section(markup, "Firings")
    assert '"go live" released 2026-07-27 09:10:00Z m-<9>' in firings
    history = section(markup, "History")
    for line in (
        "create : pending by slack/default:U-MIRA",
        "arm : pending → to armed by slack/default:U-MIRA",
        'fire : armed → to fired by turn m-<9> "go live"',
        "release : fired → to armed",
        "<i>the reply failed</i>",
    ):
        assert line in history
    assert "It has not fired yet." in pages.get(f"/intents/details/{world.ids['pending']}").text


HOSTILE = (
    "<script>alert(1)</script>",
    "</bdi></a></main><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "{{ 7 * 7 }} {% raw %}",
    "שלום עולם",
    "ab" * 200,
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_and_does_nothing(pages: Pages, world: World, text: str) -> None:
    plain = pages.get(f"/intents/details/{world.ids['pending']}").text
    intent_id = world.create(
        text,
        f"word {text[:60]}",
        by=Identity(provider="slack", sender_id=text, conversation_id=text),
        channel_scope="conversation",
        armed=False,
    )
    for path in (f"/intents/details/{intent_id}", "/intents/list", f"/intents/cancel/{intent_id}"):
        markup = pages.get(path).text
        shown, tags = parsed(markup)
        assert text in shown
        assert not {"script", "img", "iframe", "object"} & set(tags)
        assert markup.count("</main>") == plain.count("</main>") == 1
    said = pages.submit("/explain", agent=text, provider=text, sender=text, conversation=text, account=text, text=text)
    assert not {"script", "img"} & set(parsed(said.text)[1])
    assert "<bdi>" in pages.get("/intents/list").text


def test_invisible_characters_of_ids_are_not_shown(pages: Pages, world: World) -> None:
    intent_id = world.create("Plain.", "word", by=Identity(provider="slack", sender_id="U\u202eEVIL\u200b"))
    markup = pages.get(f"/intents/details/{intent_id}").text
    assert "slack/default:UEVIL" in parsed(markup)[0]


@pytest.mark.parametrize(
    "intent_id", ["nonsense", "00000000-0000-0000-0000-000000000000", "a%00b", "a/b", "..%2f..", "1"]
)
def test_an_intent_that_is_not_there(pages: Pages, intent_id: str) -> None:
    for page in ("details", "cancel"):
        answer = pages.get(f"/intents/{page}/{intent_id}")
        assert answer.status_code == 404
        assert "Traceback" not in answer.text
