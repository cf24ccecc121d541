"""A database with one intent of each kind, and the command line on it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import sessionmaker
from typer.testing import CliRunner

from intents import Identity, IntentCreate, IntentService, OwnerPolicy, Turn
from intents.cli.app import app
from intents.migrate import upgrade

OWNER = Identity(provider="slack", sender_id="U1", conversation_id="C1")


class Result:
    """What a command did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        assert self.out.isascii()
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The one line that an error is."""
        assert self.out == ""
        assert self.err.count("\n") == 1
        assert self.err.startswith("error: ")
        assert "Traceback" not in self.err
        return self.err.removeprefix("error: ").rstrip("\n")


Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("INTENTS_DATABASE_URL", "COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run() -> Run:
    """Run a command; ``text`` is what is typed."""

    def call(*arguments: str, text: str | None = None, **environment: str) -> Result:
        result = CliRunner().invoke(app, list(arguments), input=text, env=environment, prog_name="intents")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Result(result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture(scope="session")
def filled_template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A file with intents of the agents ``main`` and ``other``, and the ids by name."""
    path = tmp_path_factory.mktemp("cli") / "intents.db"
    engine = create_engine(f"sqlite:///{path}")
    upgrade(engine)
    service = IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]))
    other = IntentService(sessionmaker(engine), agent_id="other", owners=OwnerPolicy(["slack:U1"]))

    def create(where: IntentService, description: str, keyword: str, **fields: Any) -> str:
        draft = IntentCreate(description=description, trigger_keywords=[keyword], sender_scope="anyone", **fields)
        return where.create(draft, by=OWNER, turn_id="m-1").id

    ids = {
        "armed": create(service, "Confirm the rollback owner", "release candidate"),
        "fired": create(service, "Ask for the press kit", "launch"),
        "done": create(service, "Say hello", "hello there", max_fires=1),
        "pending": create(service, "Not yet", "not yet", armed=False),
        "odd": create(service, "[bold]odd[/bold] \x1b[31m", "od\x1b[31md"),
        "elsewhere": create(other, "Of another agent", "release candidate"),
    }
    # The clock of the command line is the machine's: what shall be expired by then is created in the past.
    past = IntentService(
        sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]), clock=lambda: datetime.now(UTC) - timedelta(days=2)
    )
    ids["expired"] = create(past, "Too late", "too late", expires_at=datetime.now(UTC) - timedelta(days=1))
    service.match(Turn(text="the launch, and hello there", identity=OWNER, id="m-2"))
    engine.dispose()
    return path, ids


@pytest.fixture
def ids(filled_template: tuple[Path, dict[str, str]]) -> dict[str, str]:
    return filled_template[1]


@pytest.fixture
def database(filled_template: tuple[Path, dict[str, str]], tmp_path: Path) -> str:
    return str(shutil.copyfile(filled_template[0], tmp_path / "filled.db"))
