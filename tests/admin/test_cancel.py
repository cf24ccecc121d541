"""Cancelling: asked for first, posted with the session's token, and written down under a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from intents.contrib.admin import create_admin
from tests.admin.conftest import MIRA, Pages, Password, World


@pytest.mark.parametrize("engine", ["sqlite-file", "postgresql"], indirect=True)
def test_a_confirmed_cancellation_is_written_down(engine: Engine, make_pages: Callable[..., Pages]) -> None:
    world = World(engine)
    intent_id = world.create("Confirm the rollback owner.", "release candidate")
    pages = make_pages(world.service("another")).sign_in("alice")
    asked = pages.get(f"/intents/cancel/{intent_id}")
    assert "Cancel this intent?" in asked.text
    assert "<bdi>alice</bdi> cancelled it" in asked.text
    answer = pages.submit(f"/intents/cancel/{intent_id}", reason=" no\nlonger \u202eneeded")
    assert answer.url.path == f"/intents/intents/details/{intent_id}"
    told = '<p class="note good" role="status">The intent is cancelled.</p>'
    assert told in answer.text
    last = world.service().history(intent_id)[-1]
    assert (last.event, last.to_status, last.actor) == ("cancel", "cancelled", "admin:alice")
    assert last.detail == "no longer needed"
    assert told not in pages.get(f"/intents/details/{intent_id}").text


def test_a_reason_may_be_left_out(pages: Pages, world: World) -> None:
    pages.submit(f"/intents/cancel/{world.ids['fired']}", reason="")
    assert world.service().history(world.ids["fired"])[-1].detail is None


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH"])
def test_nothing_but_a_post_cancels(pages: Pages, world: World, method: str) -> None:
    path = f"/intents/cancel/{world.ids['armed']}"
    fields = {**pages.form(path), "reason": "x"}
    answer = pages.client.request(method, pages.root + path, params=fields)
    assert answer.status_code == (200 if method in ("GET", "HEAD") else 405)
    assert world.service().get(world.ids["armed"]).status == "armed"


@pytest.mark.parametrize("name", ["done", "expired"])
def test_what_has_ended_is_not_cancelled(pages: Pages, world: World, name: str) -> None:
    path = f"/intents/cancel/{world.ids[name]}"
    assert "nothing to cancel" in pages.get(path).text
    before = world.service().history(world.ids[name])
    answer = pages.post(path, data=pages.form("/explain"))
    assert answer.status_code == 409
    assert "A finished intent never comes back" in answer.text
    assert world.service().history(world.ids[name]) == before


def test_cancelling_twice_does_it_once(pages: Pages, world: World) -> None:
    path = f"/intents/cancel/{world.ids['armed']}"
    form = pages.form(path)
    for _ in range(2):
        assert pages.post(path, data=form).status_code == 200
    assert [event.event for event in world.service().history(world.ids["armed"])].count("cancel") == 1


def test_who_is_not_named_cannot_cancel(world: World, make_pages: Callable[..., Pages]) -> None:
    pages = make_pages(world.service()).sign_in("\u200b")
    path = f"/intents/cancel/{world.ids['armed']}"
    for answer in (pages.get(path), pages.post(path, data=pages.form("/explain"))):
        assert answer.status_code == 403
        assert "does not say who is signed in" in answer.text
    assert world.service().get(world.ids["armed"]).status == "armed"


def test_a_backend_may_name_people_otherwise(world: World, make_pages: Callable[..., Pages]) -> None:
    from starlette.testclient import TestClient

    class Named(Password):
        async def get_user_id(self, request: Any) -> str:
            return f"{request.session['user_id']} (ops)"

    with TestClient(create_admin(world.service(), authentication_backend=Named("secret"))) as client:
        Pages(client, "").sign_in("bob").submit(f"/intents/cancel/{world.ids['armed']}")
    assert world.service().history(world.ids["armed"])[-1].actor == "admin:bob (ops)"


def test_a_database_that_stays_locked_is_said(pages: Pages, world: World) -> None:
    path = f"/intents/cancel/{world.ids['armed']}"
    form = pages.form(path)
    with world.engine.connect() as rival:
        rival.exec_driver_sql("BEGIN IMMEDIATE")
        answer = pages.post(path, data=form)
        rival.rollback()
    assert answer.status_code == 503
    assert "Try the call again." in answer.text
    assert world.service().get(world.ids["armed"]).status == "armed"
    assert world.service().get(world.ids["armed"]).creator == MIRA
