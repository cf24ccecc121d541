"""A host with the admin page mounted behind a password, and intents to look at."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from sqladmin.authentication import AuthenticationBackend
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import sessionmaker
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount
from starlette.testclient import TestClient

from intents import Identity, IntentCreate, IntentService, OwnerPolicy, Turn
from intents.contrib.admin import create_admin

START = datetime(2026, 7, 27, 9, tzinfo=UTC)
MIRA = Identity(provider="slack", sender_id="U-MIRA", conversation_id="C-RELEASE")
BEN = Identity(provider="telegram", sender_id="998877", account_id="work")


class Password(AuthenticationBackend):
    """What a host's backend looks like."""

    async def login(self, request: Request) -> bool:
        form = await request.form()
        if form.get("password") != "correct horse":
            return False
        request.session["user_id"] = form["username"]
        return True

    async def logout(self, request: Request) -> bool:
        request.session.clear()
        return False

    async def authenticate(self, request: Request) -> bool:
        return "user_id" in request.session


@dataclass
class World:
    """A database of two agents and a clock that is moved by hand."""

    engine: Engine
    now: datetime = START
    ids: dict[str, str] = field(default_factory=dict)

    def service(self, agent_id: str = "main") -> IntentService:
        return IntentService(
            sessionmaker(self.engine),
            agent_id=agent_id,
            owners=OwnerPolicy(["slack:*", "telegram/work:*"]),
            clock=lambda: self.now,
        )

    def create(
        self, description: str, *keywords: str, by: Identity = MIRA, agent_id: str = "main", **fields: Any
    ) -> str:
        draft = IntentCreate(
            description=description, trigger_keywords=list(keywords), **{"sender_scope": "anyone", **fields}
        )
        return self.service(agent_id).create(draft, by=by).id

    def say(self, text: str, turn_id: str, *, by: Identity = MIRA) -> None:
        self.service().match(Turn(text=text, identity=by, id=turn_id))

    def fill(self) -> None:
        """One intent of every status by the clock, two agents, two channels."""
        self.ids = {
            "armed": self.create(
                "Confirm the rollback owner.",
                "release candidate",
                '"go live"',
                exclude_keywords=["postponed"],
                within=7,
            ),
            "fired": self.create("Ask for the press kit.", "launch"),
            "rearmed": self.create("Mention the notes.", "notes", cooldown=timedelta(minutes=1)),
            "done": self.create("Say hello.", "hello", by=BEN, max_fires=1),
            "expired": self.create("Mention the open findings.", "audit", expires_at=START + timedelta(minutes=5)),
            "pending": self.create("Wait for legal.", "legal", armed=False),
            "cancelled": self.create("Send the old invoice.", "invoice", by=BEN),
            "elsewhere": self.create("Of another agent.", "release candidate", agent_id="ops-bot"),
        }
        self.service().cancel(self.ids["cancelled"], by=BEN, reason="paid already")
        self.now += timedelta(minutes=2)
        self.say("The launch has notes", "m-1")
        self.say("hello", "m-2", by=BEN)
        self.now += timedelta(minutes=8)


class Pages:
    """A browser without pictures.

    Args:
        client: whose cookies it keeps.
        root: where the admin page is mounted.
    """

    def __init__(self, client: TestClient, root: str = "/intents") -> None:
        self.client = client
        self.root = root

    def sign_in(self, name: str = "alice") -> Pages:
        answer = self.client.post(f"{self.root}/login", data={"username": name, "password": "correct horse"})
        assert "Sign out" in answer.text or answer.status_code == 503, answer.text
        return self

    def get(self, path: str, **options: Any) -> Any:
        return self.client.get(self.root + path, **options)

    def post(self, path: str, **options: Any) -> Any:
        return self.client.post(self.root + path, **options)

    def form(self, path: str) -> dict[str, str]:
        """The hidden fields of the form on a page, as a browser would send them back."""
        hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', self.get(path).text)
        assert hidden, f"no form at {path}"
        return dict(hidden)

    def submit(self, path: str, **fields: str) -> Any:
        """Fill the form of a page in and send it."""
        return self.post(path, data={**self.form(path), **fields})

    def descriptions(self, query: str = "") -> list[str]:
        """What the list shows."""
        answer = self.get(f"/intents/list{query}")
        assert answer.status_code == 200, answer.text
        return [unescape(each) for each in re.findall(r'/details/[\w-]+"><bdi>(.*?)</bdi></a>', answer.text)]


@pytest.fixture(scope="session")
def world_template(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path
) -> tuple[Path, dict[str, str], datetime]:
    """A file with the intents of `World.fill`, to be copied."""
    path = shutil.copyfile(sqlite_template, tmp_path_factory.mktemp("admin") / "world.db")
    engine = create_engine(f"sqlite:///{path}")
    world = World(engine)
    world.fill()
    engine.dispose()
    return path, world.ids, world.now


@pytest.fixture
def world(world_template: tuple[Path, dict[str, str], datetime], tmp_path: Path) -> Iterator[World]:
    path, ids, now = world_template
    engine = create_engine(f"sqlite:///{shutil.copyfile(path, tmp_path / 'world.db')}")
    yield World(engine, now, dict(ids))
    engine.dispose()


@pytest.fixture
def make_pages() -> Iterator[Callable[..., Pages]]:
    """Mount the page of a service and return a browser for it that is not signed in."""
    opened = []

    def make(service: Any) -> Pages:
        app = Starlette(routes=[Mount("/intents", create_admin(service, authentication_backend=Password("secret")))])
        client = TestClient(app, base_url="http://host.example")
        client.__enter__()
        opened.append(client)
        return Pages(client)

    yield make
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def stranger(world: World, make_pages: Callable[..., Pages]) -> Pages:
    return make_pages(world.service())


@pytest.fixture
def pages(stranger: Pages) -> Pages:
    return stranger.sign_in()
