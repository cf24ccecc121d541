"""An example as what it is: a project of its own, started as a process and spoken to over HTTP."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import postgresql

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Seconds that a step may take on a busy machine; each is waited for no longer than it needs.
PATIENCE = 90.0


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    body: Any

    @property
    def reply(self) -> str:
        assert self.status == 200, self.body
        return str(self.body["reply"])


@dataclass(frozen=True)
class Backend:
    """A running example."""

    address: str

    def call(self, method: str, path: str, body: Any = None, user: str | None = None) -> Answer:
        request = urllib.request.Request(self.address + path, method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        if user is not None:
            request.add_header("X-User", user)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return Answer(response.status, json.load(response))
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode()
                return Answer(error.code, json.loads(text) if text.startswith("{") else text)

    def tool(self, user: str, **arguments: Any) -> Answer:
        """Call the tool as the model of an agent loop would."""
        return self.call("POST", "/tools/intent", arguments, user)

    def fires(self, description: str, user: str = "mira") -> int:
        """How often the intent of this description has fired."""
        listed = self.tool(user, action="list", status="all")
        (intent,) = [each for each in listed.body["intents"] if each["description"] == description]
        return int(intent["fire_count"])


@dataclass(frozen=True)
class Project:
    """A copy of an example, with a database of its own."""

    directory: Path
    url: str

    @classmethod
    @contextmanager
    def copied(cls, name: str, directory: Path, request: pytest.FixtureRequest) -> Iterator[Project]:
        """Copy an example; ``request.param`` is the driver of its database."""
        place = shutil.copytree(EXAMPLES / name, directory / name, ignore=shutil.ignore_patterns("__pycache__", "*.db"))
        if request.param.startswith("sqlite"):
            yield cls(place, f"{request.param}:///{directory / 'backend.db'}")
            return
        with postgresql.database(request.getfixturevalue("postgresql_server")) as url:
            yield cls(place, url.set(drivername=request.param).render_as_string(hide_password=False))

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "DATABASE_URL": self.url, "PYTHONUNBUFFERED": "1", "DEADLINE": str(PATIENCE)}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the project, until it ends."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def succeed(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def serving(self, *arguments: str) -> Iterator[Backend]:
        """Run Python in the project as a server that prints its address, and stop it afterwards."""
        log = self.directory / "server.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=self.directory,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            yield Backend(_address(process, log))
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text()):
            return found[0]
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    raise AssertionError("The server did not start in time:\n" + log.read_text())
