"""The list: filters, search, pages, effective status, from nothing to ten thousand rows."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import Engine, event, insert, select
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker
from starlette.testclient import TestClient

from intents import AsyncIntentService, StandingIntent
from intents.contrib.admin import create_admin
from intents.repository import browsing
from tests.admin.conftest import Pages, Password, World

BOTH = pytest.mark.parametrize("engine", ["sqlite-file", "postgresql"], indirect=True)


def copy_rows(engine: Engine, intent_id: str, count: int, *, agent_id: str | None = None) -> None:
    """Multiply a row: ids, descriptions and fingerprints of their own, all else alike.

    Args:
        engine: the database.
        intent_id: the row.
        count: how many copies.
        agent_id: a pattern for an agent of its own for each copy; None for the row's.
    """
    table = StandingIntent.__table__
    with Session(engine) as session:
        row: dict[str, Any] = dict(session.execute(select(table).where(table.c.id == intent_id)).one()._mapping)
        del row["key"]
        rows = [
            {**row, "id": str(uuid.uuid4()), "description": f"Copy number {n}.", "fingerprint": f"{n:064}"}
            for n in range(count)
        ]
        if agent_id is not None:
            rows = [{**each, "agent_id": agent_id.format(n)} for n, each in enumerate(rows)]
        session.execute(insert(table), rows)
        session.commit()


@contextmanager
def effort(engine: Engine) -> Iterator[Counter[str]]:
    """Count the statements of a page and the rows that it makes objects of."""
    spent: Counter[str] = Counter()

    def executed(*_: Any) -> None:
        spent["statements"] += 1

    def loaded(*_: Any) -> None:
        spent["rows"] += 1

    event.listen(engine, "before_cursor_execute", executed)
    event.listen(StandingIntent, "load", loaded)
    try:
        yield spent
    finally:
        event.remove(engine, "before_cursor_execute", executed)
        event.remove(StandingIntent, "load", loaded)


@BOTH
def test_no_intents(engine: Engine, make_pages: Callable[..., Pages]) -> None:
    pages = make_pages(World(engine).service()).sign_in()
    answer = pages.get("/intents/list")
    assert answer.status_code == 200
    assert "There are no intents yet." in answer.text
    assert "<table" not in answer.text
    assert pages.get("/intents/list?search=x").text.count("No intent passes these filters.") == 1


@BOTH
def test_one_intent(engine: Engine, make_pages: Callable[..., Pages]) -> None:
    world = World(engine)
    world.create("The only one.", "word")
    pages = make_pages(world.service()).sign_in()
    text = " ".join(pages.get("/intents/list").text.split())
    assert pages.descriptions() == ["The only one."]
    assert "1–1 of 1, newest first" in text
    assert 'aria-label="Pages of the list"' not in text


@BOTH
def test_ten_thousand_intents(engine: Engine, make_pages: Callable[..., Pages]) -> None:
    world = World(engine)
    copy_rows(engine, world.create("The oldest.", "word"), 9_999)
    pages = make_pages(world.service()).sign_in()
    assert pages.descriptions()[:2] == ["Copy number 9998.", "Copy number 9997."]
    assert len(pages.descriptions()) == 25
    assert pages.descriptions("?page=400")[-1] == "The oldest."
    assert "of 10,000, newest first" in " ".join(pages.get("/intents/list").text.split())
    assert pages.descriptions("?search=number+4321.") == ["Copy number 4321."]
    for query in ("", "?page=200", "?status=armed&page=400", "?search=number", "?status=done"):
        with effort(engine) as spent:
            assert pages.get(f"/intents/list{query}").status_code == 200
        assert 0 < spent["statements"] <= 4
        assert spent["rows"] == (0 if "done" in query else 25)


def test_a_page_counts_up_to_a_bound(sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browsing, "COUNT_BOUND", 60)
    world = World(sqlite_engine)
    copy_rows(sqlite_engine, world.create("The oldest.", "word"), 99)
    with Session(sqlite_engine) as session:
        page = browsing.browse(session, world.service().settings, browsing.Filters(), page=9, size=25)
    assert (page.total, page.more, page.number, len(page.intents)) == (60, True, 3, 25)
    assert page.intents[0].description == "Copy number 48."


def test_the_status_is_the_one_by_the_clock(pages: Pages, world: World) -> None:
    expected = {
        "armed": ["Of another agent.", "Mention the notes.", "Confirm the rollback owner."],
        "fired": ["Ask for the press kit."],
        "done": ["Say hello."],
        "expired": ["Mention the open findings."],
        "pending": ["Wait for legal."],
        "cancelled": ["Send the old invoice."],
    }
    assert {status: pages.descriptions(f"?status={status}") for status in expected} == expected
    for status, descriptions in expected.items():
        text = pages.get(f"/intents/list?status={status}").text
        assert text.count(f'<span class="status {status}">{status}</span>') == len(descriptions)
    # As the command line and the service say.
    for name, status in (("rearmed", "armed"), ("expired", "expired")):
        assert world.service().get(world.ids[name]).status == status


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("agent=ops-bot", {"Of another agent."}),
        ("channel=" + quote('["telegram","work"]'), {"Say hello.", "Send the old invoice."}),
        ("owner=998877", {"Say hello.", "Send the old invoice."}),
        ("owner=99887", set()),
        ("search=ROLLBACK", {"Confirm the rollback owner."}),
        ("search=%25", set()),
        ("search=_", set()),
        ("owner=998877&status=done", {"Say hello."}),
        ("agent=ops-bot&search=rollback", set()),
        ("agent=&owner=&search=&status=&channel=&page=1&search=press", {"Ask for the press kit."}),
        ("search=%00%ed%a0%80", set()),
    ],
)
def test_filters(pages: Pages, query: str, expected: set[str]) -> None:
    assert set(pages.descriptions(f"?{query}")) == expected


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_filters_on_postgresql(engine: Engine, make_pages: Callable[..., Pages]) -> None:
    world = World(engine)
    world.fill()
    pages = make_pages(world.service()).sign_in()
    query = "status=expired&agent=main&search=FINDINGS&owner=U-MIRA&channel=" + quote('["slack","default"]')
    assert pages.descriptions(f"?{query}") == ["Mention the open findings."]
    # A NUL, which PostgreSQL can store in no text, and half a surrogate pair.
    for odd in ("search=a%00b", "owner=a%00b", "agent=%ed%a0%80", "search=%25", "channel=" + quote('["a\\u0000","b"]')):
        assert pages.descriptions(f"?{odd}") == []
    assert "Confirm the rollback owner." in pages.get(f"/intents/details/{world.ids['armed']}").text
    said = pages.submit("/explain", agent="main", provider="slack", text="go live")
    assert "1 of 5 would fire" in said.text


def test_the_filters_offer_what_there_is_and_keep_what_was_asked(pages: Pages) -> None:
    text = pages.get("/intents/list?agent=ops-bot&status=armed&search=%22%3Eme&owner=%3Cb%3E").text
    assert '<option value="main">main</option><option value="ops-bot" selected>ops-bot</option>' in text
    assert '<option value="armed" selected>' in text
    assert ">telegram/work</option>" in text
    assert 'value="&#34;&gt;me"' in text
    assert 'value="&lt;b&gt;"' in text


NONSENSE = {
    "status": "status=asleep",
    "channel": "channel=x",
    "channel of one part": "channel=[1]",
    "channel of a number": "channel=5",
    "channel nested without end": f"channel={'[' * 1200}",
    "page": "page=x",
    "search longer than a pattern may be": f"search={'a' * 501}",
}


@pytest.mark.parametrize("query", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_refused(pages: Pages, query: str) -> None:
    assert pages.get(f"/intents/list?{query}").status_code == 400


def test_a_page_beyond_the_last_leads_to_it(pages: Pages) -> None:
    assert pages.get("/intents/list?page=99&agent=main").url.params["page"] == "1"
    assert pages.get("/intents/list?page=-3").url.params["page"] == "1"


def test_the_links_between_pages_keep_the_filters(pages: Pages, world: World) -> None:
    copy_rows(world.engine, world.ids["armed"], 60)
    text = pages.get("/intents/list?search=copy+number&page=2").text
    assert 'rel="prev" href="?search=copy+number&amp;page=1"' in text
    assert 'rel="next" href="?search=copy+number&amp;page=3"' in text
    assert 'href="?search=copy+number&amp;page=2" aria-current="page" aria-label="Page 2"' in text


def test_an_asynchronous_service_serves_too(world: World) -> None:
    engine = create_async_engine(f"sqlite+aiosqlite:///{world.engine.url.database}")
    service = AsyncIntentService(async_sessionmaker(engine), clock=lambda: world.now)
    with TestClient(create_admin(service, authentication_backend=Password("secret"))) as client:
        pages = Pages(client, "").sign_in()
        assert len(pages.descriptions()) == 8
        assert "Confirm the rollback owner." in pages.get(f"/intents/details/{world.ids['armed']}").text
        said = pages.submit("/explain", agent="main", provider="slack", text="The launch goes live")
        assert "would fire" in said.text
        answer = pages.submit(f"/intents/cancel/{world.ids['armed']}", reason="moot")
        assert "The intent is cancelled." in answer.text
        assert client.portal is not None
        client.portal.call(engine.dispose)
    assert world.service().get(world.ids["armed"]).status == "cancelled"


def test_a_service_that_is_measured_serves_too(world: World, make_pages: Callable[..., Pages]) -> None:
    from intents.contrib.otel import instrument

    pages = make_pages(instrument(world.service())).sign_in()
    assert len(pages.descriptions()) == 8
    pages.submit(f"/intents/cancel/{world.ids['elsewhere']}", reason="moot")
    assert world.service("ops-bot").get(world.ids["elsewhere"]).status == "cancelled"


def test_a_missing_schema_is_said(sqlite_empty_engine: Engine, make_pages: Callable[..., Pages]) -> None:
    pages = make_pages(World(sqlite_empty_engine).service()).sign_in()
    answer = pages.get("/intents/list")
    assert answer.status_code == 503
    assert "intents upgrade" in answer.text


def test_more_agents_than_a_choice_holds_can_be_typed(world: World, make_pages: Callable[..., Pages]) -> None:
    copy_rows(world.engine, world.ids["armed"], browsing.CHOICES, agent_id="agent-{:03}")
    pages = make_pages(world.service()).sign_in()
    text = pages.get("/intents/list?agent=agent-123").text
    assert '<input id="agent" name="agent" value="agent-123">' in text
    assert pages.descriptions("?agent=agent-123") == ["Copy number 123."]


def test_sessions_of_a_host_are_left_as_they_were(world: World, make_pages: Callable[..., Pages]) -> None:
    sessions = sessionmaker(world.engine, autoflush=True)
    service = world.service()
    service._sessions = sessions
    make_pages(service).sign_in().descriptions()
    assert sessions.kw["autoflush"] is True
