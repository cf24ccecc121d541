"""`intents admin`: this machine only, a token that works once, and one line when it cannot start."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from intents import Admin
from intents.cli.app import app as command_line
from intents.contrib.admin import loopback
from tests.admin.conftest import Pages, World


@pytest.fixture
def backend() -> loopback.OneTimeToken:
    return loopback.OneTimeToken(Admin(name="ops"))


@pytest.fixture
def client(world: World, backend: loopback.OneTimeToken) -> TestClient:
    return TestClient(loopback.create_local_admin(world.service(), backend), base_url="http://127.0.0.1:8765")


def test_the_token_opens_once(client: TestClient, backend: loopback.OneTimeToken) -> None:
    token = backend.token
    assert token is not None
    assert len(token) >= 40
    for wrong in ("", "?token=", "?token=guess", "?token=é", f"?token={token[:-1]}"):
        answer = client.get(f"/{wrong}", follow_redirects=False)
        assert answer.headers["location"].endswith("/login")
    client.head(f"/?token={token}")
    assert backend.token == token, "a program that only probes the address does not use it up"
    opened = client.get(f"/?token={token}")
    assert opened.status_code == 200
    assert backend.token is None
    cookie = opened.headers["set-cookie"].lower()
    assert cookie.startswith("intents_admin=")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert token not in opened.text
    assert client.get("/intents/list", follow_redirects=False).status_code == 200
    client.cookies.clear()
    assert client.get(f"/?token={token}", follow_redirects=False).status_code == 302


def test_the_token_opens_no_page_but_leads_to_them(client: TestClient, backend: loopback.OneTimeToken) -> None:
    opened = client.get(f"/intents/list?token={backend.token}")
    assert "You are signed in." in opened.text
    assert "rollback" not in opened.text


def test_a_session_that_was_left_is_no_use(client: TestClient, backend: loopback.OneTimeToken) -> None:
    client.get(f"/?token={backend.token}")
    copied = client.cookies["intents_admin"]
    client.get("/logout")
    client.cookies.set("intents_admin", copied)
    assert client.get("/intents/list", follow_redirects=False).status_code == 302


def test_a_stranger_cannot_sign_the_other_out(client: TestClient, backend: loopback.OneTimeToken, world: World) -> None:
    client.get(f"/?token={backend.token}")
    TestClient(client.app, base_url="http://127.0.0.1").get("/logout")
    assert client.get("/intents/list", follow_redirects=False).status_code == 200


def test_there_is_no_password(client: TestClient) -> None:
    page = client.get("/login").text
    assert "intents admin" in page
    assert "<form" not in page
    assert client.post("/login", data={"username": "ops", "password": ""}).status_code == 400


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example", ""]
)
def test_another_name_is_refused_even_with_the_token(
    client: TestClient, backend: loopback.OneTimeToken, host: str
) -> None:
    answer = client.get(f"/?token={backend.token}", headers={"host": host})
    assert answer.status_code == 400
    assert "set-cookie" not in answer.headers
    assert backend.token is not None


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1"])
def test_its_own_names_are_served(client: TestClient, host: str) -> None:
    assert client.get("/login", headers={"host": host}).status_code == 200


def test_who_started_it_is_written_down(client: TestClient, backend: loopback.OneTimeToken, world: World) -> None:
    client.get(f"/?token={backend.token}")
    Pages(client, "").submit(f"/intents/cancel/{world.ids['armed']}", reason="moot")
    assert world.service().history(world.ids["armed"])[-1].actor == "admin:ops"


def test_it_listens_on_the_loopback_interface_only() -> None:
    with loopback.listen(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


@pytest.fixture
def running(world: World) -> Iterator[subprocess.Popen[str]]:
    code = "from intents.cli import main; main()"
    database = str(world.engine.url.database)
    process = subprocess.Popen(
        [sys.executable, "-c", code, "admin", "--database", database, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_the_command_serves_until_it_is_interrupted(running: subprocess.Popen[str]) -> None:
    assert running.stdout is not None
    url = running.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}", url)
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with opener.open(url, timeout=30) as answer:
        assert b"You are signed in." in answer.read()
    with opener.open(url.partition("?")[0], timeout=30) as answer:
        assert b"Confirm the rollback owner." in answer.read()
    request = urllib.request.Request(url, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="400") as refused:
        opener.open(request, timeout=30)
    refused.value.close()
    running.send_signal(signal.SIGINT)
    assert "Ctrl+C" in running.stdout.readline()
    _, err = running.communicate(timeout=30)
    assert running.returncode == 0
    assert err == "", "no address is logged"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command_line, ["admin", *arguments], prog_name="intents")
    assert result.stdout == ""
    return result.exit_code, result.stderr


def test_a_port_that_is_taken_is_one_line(world: World) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        code, error = run("-d", str(world.engine.url.database), "--port", port)
    assert code == 1
    assert error.startswith(f"error: Port {port}: ")
    assert "--port 0" in error


def test_a_missing_database_is_one_line(tmp_path: Path) -> None:
    code, error = run("-d", str(tmp_path / "nowhere.db"))
    assert code == 1
    assert "intents upgrade" in error
    assert not (tmp_path / "nowhere.db").exists()


@pytest.mark.parametrize("missing", ["sqladmin", "itsdangerous", "uvicorn", "greenlet"])
def test_without_the_extra_it_says_what_to_install(world: World, missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None\nfrom intents.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "admin", "-d", str(world.engine.url.database)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: The admin page needs the extra admin: pip install")
    assert "standing-intents[admin]" in done.stderr
    assert missing in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_help_tells_of_it() -> None:
    result = CliRunner().invoke(command_line, ["admin", "--help"], prog_name="intents", env={"COLUMNS": "120"})
    assert result.exit_code == 0
    for words in ("--port", "--database", "works once"):
        assert words in result.stdout
