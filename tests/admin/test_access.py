"""Who gets in, what a browser may be made to do, and that nothing of SQLAdmin can write."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from sqladmin import Admin as SqlAdmin
from sqladmin.authentication import AuthenticationBackend
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from intents import IntentEvent, StandingIntent
from intents.contrib.admin import create_admin
from intents.errors import AuthenticationMissing, IntentsError
from tests.admin.conftest import Pages, Password, World

PATHS = ("/", "/intents/list", "/intents/details/{id}", "/intents/cancel/{id}", "/explain")
#: What SQLAdmin writes with, or reads out in bulk.
WRITING = [
    ("GET", "/intents/create"),
    ("POST", "/intents/create"),
    ("GET", "/intents/edit/{id}"),
    ("POST", "/intents/edit/{id}"),
    ("GET", "/intents/edit/1"),
    ("POST", "/intents/edit/1"),
    ("DELETE", "/intents/delete?pks={id}"),
    ("DELETE", "/intents/delete?pks=1"),
    ("GET", "/intents/export/csv"),
    ("POST", "/intents/import"),
    ("GET", "/intents/ajax/lookup?name=id&term=x"),
    ("DELETE", "/intents/details/{id}"),
    ("PUT", "/intents/details/{id}"),
    ("POST", "/intents/details/{id}"),
    ("POST", "/intents/list"),
]


def snapshot(world: World) -> tuple[Any, ...]:
    with Session(world.engine) as session:
        rows = session.execute(
            select(StandingIntent.id, StandingIntent.status, StandingIntent.description, StandingIntent.version)
        )
        return (sorted(map(tuple, rows)), session.scalar(select(func.count()).select_from(IntentEvent)))


def test_it_is_not_built_without_a_backend(world: World) -> None:
    with pytest.raises(AuthenticationMissing, match="authentication_backend= a subclass") as caught:
        create_admin(world.service(), authentication_backend=None)  # type: ignore[arg-type]
    assert isinstance(caught.value, IntentsError)
    assert "AuthenticationBackend" in caught.value.remedy


def test_it_is_not_built_on_something_else_than_a_service(world: World) -> None:
    with pytest.raises(TypeError, match="IntentService"):
        create_admin(world.engine, authentication_backend=Password("secret"))  # type: ignore[arg-type]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_stranger_sees_nothing(stranger: Pages, world: World, method: str, path: str) -> None:
    path = path.format(id=world.ids["armed"])
    answer = stranger.client.request(method, stranger.root + path, follow_redirects=False)
    if method == "POST" and path in ("/", "/intents/list", f"/intents/details/{world.ids['armed']}"):
        assert answer.status_code == 405
    else:
        assert (answer.status_code, answer.headers["location"]) == (302, "http://host.example/intents/login")
    assert "rollback" not in answer.text


def test_a_wrong_password_is_refused(stranger: Pages) -> None:
    answer = stranger.post("/login", data={"username": "alice", "password": "guess"})
    assert answer.status_code == 400
    assert 'role="alert">Invalid credentials.' in answer.text
    assert stranger.get("/intents/list", follow_redirects=False).status_code == 302


def test_signing_out_ends_it(pages: Pages) -> None:
    assert pages.get("/intents/list", follow_redirects=False).status_code == 200
    pages.get("/logout")
    assert pages.get("/intents/list", follow_redirects=False).status_code == 302


@pytest.mark.parametrize(("method", "path"), WRITING)
def test_nothing_of_sqladmin_writes_or_exports(pages: Pages, world: World, method: str, path: str) -> None:
    before = snapshot(world)
    values = {"status": "cancelled", "description": "changed"} if method == "POST" else None
    answer = pages.client.request(method, pages.root + path.format(id=world.ids["armed"]), data=values)
    assert answer.status_code in (403, 404, 405)
    assert snapshot(world) == before


def test_the_flags_of_sqladmin_are_off_too() -> None:
    from intents.contrib.admin.views import IntentPages

    flags = ("can_create", "can_edit", "can_delete", "can_export", "can_import")
    assert {flag: getattr(IntentPages, flag) for flag in flags} == dict.fromkeys(flags, False)
    assert not [name for name in dir(IntentPages) if hasattr(getattr(IntentPages, name), "_action")]


@pytest.mark.parametrize("path", [*PATHS, "/login", "/statics/admin.css", "/no/such/page"])
def test_every_answer_has_the_security_headers(pages: Pages, world: World, path: str) -> None:
    headers = pages.get(path.format(id=world.ids["armed"])).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert path.startswith("/statics") or headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", [*PATHS, "/login"])
def test_pages_load_nothing_from_elsewhere_and_have_no_script(pages: Pages, world: World, path: str) -> None:
    text = pages.get(path.format(id=world.ids["armed"])).text
    assert "<script" not in text
    assert "style=" not in text
    assert re.findall(r"""(?:src|href|action)=["'](?!/)[^"'#?]""", text) == []
    assert "//" not in text.replace("http://www.w3.org/2000/svg", "").replace("xmlns=", "")


def test_the_style_sheet_loads_nothing(pages: Pages) -> None:
    style = pages.get("/statics/admin.css")
    assert style.status_code == 200
    assert "url(" not in style.text
    assert "@import" not in style.text


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "http://host.example.evil.example"},
        {"origin": "null"},
    ],
)
@pytest.mark.parametrize("path", ["/login", "/explain", "/intents/cancel/{id}"])
def test_another_site_cannot_post(pages: Pages, world: World, path: str, headers: dict[str, str]) -> None:
    path = path.format(id=world.ids["armed"])
    fields = {"provider": "slack", **(pages.form(path) if path != "/login" else {})}
    before = snapshot(world)
    assert pages.post(path, data=fields, headers=headers).status_code == 403
    assert snapshot(world) == before


def test_the_own_site_can_post(pages: Pages) -> None:
    fields = {"agent": "main", "provider": "slack", **pages.form("/explain")}
    for headers in ({"sec-fetch-site": "same-origin"}, {"origin": "http://host.example"}, {}):
        assert pages.post("/explain", data=fields, headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/explain", "/intents/cancel/{id}"])
def test_a_form_without_the_token_of_the_session_is_refused(
    pages: Pages, world: World, make_pages: Callable[..., Pages], path: str
) -> None:
    path = path.format(id=world.ids["armed"])
    theirs = make_pages(world.service()).sign_in("mallory").form(path)
    mine = pages.form(path)
    (name,) = mine
    assert theirs.keys() == mine.keys()
    assert theirs != mine
    for fields in ({}, {name: ""}, {name: "é"}, theirs):
        answer = pages.post(path, data={"provider": "slack", **fields})
        assert answer.status_code == 403
        assert "load the page again" in answer.text
    assert world.service().get(world.ids["armed"]).status == "armed"


def test_only_forms_are_read(pages: Pages) -> None:
    token = pages.form("/explain")
    assert pages.post("/explain", json=token).status_code == 415
    assert pages.post("/explain", data={**token, "text": "x" * 5_000_000}).status_code == 413
    assert pages.post("/explain", data={**token, **{f"f{number}": "" for number in range(50)}}).status_code == 413


def test_a_backend_without_a_session_is_told_so(world: World) -> None:
    class Open(AuthenticationBackend):
        def __init__(self) -> None:
            self.middlewares = []

        async def authenticate(self, request: Any) -> bool:
            return True

        async def get_user_id(self, request: Any) -> str:
            return "alice"

    client = TestClient(create_admin(world.service(), authentication_backend=Open()))
    assert client.get("/intents/list").status_code == 200
    answer = client.get("/explain")
    assert answer.status_code == 403
    assert "keeps no session" in answer.text


def test_it_lives_beside_another_sqladmin_and_another_of_its_kind(world: World) -> None:
    host = Starlette()
    SqlAdmin(host, world.engine, base_url="/admin", authentication_backend=Password("theirs"))
    for path, agent in (("/one", "main"), ("/two", "ops-bot")):
        backend = Password("ours", session_cookie=agent)
        host.mount(path, create_admin(world.service(agent), authentication_backend=backend, title=f"At {path}"))
    outer = Starlette(routes=[Mount("/below", host)])
    client = TestClient(outer, base_url="http://host.example")
    for path, agent in (("/one", "main"), ("/two", "ops-bot")):
        pages = Pages(client, f"/below{path}").sign_in()
        text = pages.get("/explain").text
        assert f"At {path}" in text
        assert f'href="/below{path}/intents/list"' in text
        assert f'<option value="{agent}" selected>' in text
        assert pages.get("/").url.path == f"/below{path}/intents/list"
        assert pages.get("/statics/admin.css").status_code == 200


def test_importing_the_library_and_its_command_line_leaves_the_admin_alone() -> None:
    code = (
        "import sys, intents, intents.contrib, intents.cli.app\n"
        "print(sorted({'sqladmin', 'starlette', 'uvicorn', 'jinja2', 'itsdangerous'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
