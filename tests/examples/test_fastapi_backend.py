"""`examples/fastapi_backend`, as its README says."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.examples.support import Answer, Backend, Project

SERVE = ("-m", "uvicorn", "app:app", "--port", "0")


@pytest.fixture(scope="module", params=["sqlite+aiosqlite", "postgresql+asyncpg"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The example, migrated."""
    with Project.copied("fastapi_backend", tmp_path_factory.mktemp("example"), request) as project:
        project.succeed("-m", "alembic", "upgrade", "heads")
        yield project


@pytest.fixture(scope="module")
def backend(project: Project) -> Iterator[Backend]:
    with project.serving(*SERVE) as backend:
        yield backend


def chat(backend: Backend, message_id: str, text: str, user: str = "ben", **fields: Any) -> Answer:
    return backend.call("POST", "/chat", {"id": message_id, "conversation": "team", "text": text, **fields}, user)


def test_the_owner_asks_and_somebody_else_says_the_words(backend: Backend) -> None:
    asked = chat(backend, "a-1", "When someone mentions the release candidate, remind me to confirm the owner.", "mira")
    assert '"ok": true' in asked.reply
    assert chat(backend, "a-2", "The candidate for the design role was great!").reply == (
        "You said: The candidate for the design role was great!"
    )
    said, opening, line, closing = chat(backend, "a-3", "Release candidates are up").reply.splitlines()
    assert said == "You said: Release candidates are up"
    assert (opening, closing) == ("<standing_intents>", "</standing_intents>")
    assert line.endswith("): confirm the owner")
    assert backend.fires("confirm the owner") == 1


def test_a_message_that_is_sent_again_gets_its_reply_and_spends_nothing(backend: Backend) -> None:
    chat(backend, "b-1", "When anyone mentions the audit, remind me to show the findings.", "mira")
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: chat(backend, "b-2", "How is the audit going?"), range(4)))
    reply = chat(backend, "b-2", "How is the audit going?").reply
    # 503 asks a client to try again, when the others held the database for too long.
    assert {each.reply for each in answers if each.status != 503} <= {reply}
    # On a machine that is too busy the reply may be the one of a request that did not wait; then nothing is spent.
    assert backend.fires("show the findings") == reply.count("show the findings")
    assert chat(backend, "b-2", "How is the audit going?", user="eve").status == 409
    assert chat(backend, "b-2", "How is the audit going?", conversation="other").reply.count("\n") == 0


def test_a_model_that_fails_costs_no_reminder(backend: Backend) -> None:
    chat(backend, "c-1", "When anyone mentions billing, remind me to call the provider.", "mira")
    failed = chat(backend, "c-2", "Billing? (model outage)")
    assert failed.status == 502
    assert backend.fires("call the provider") == 0
    assert chat(backend, "c-2", "Billing? (model outage)").status == 502
    assert backend.fires("call the provider") == 0


def test_who_is_no_owner_is_not_offered_the_tool(backend: Backend) -> None:
    refused = chat(backend, "d-1", "When someone mentions lunch, remind me to pay.", "ben")
    assert refused.reply == "I cannot set reminders for you."
    assert backend.call("GET", "/tools/intent", user="ben").status == 404
    assert backend.tool("ben", action="list").status == 404
    assert backend.call("GET", "/tools/intent").status == 422  # nobody at all


def test_an_agent_loop_elsewhere_creates_lists_and_cancels(backend: Backend) -> None:
    described = backend.call("GET", "/tools/intent", user="mira").body
    assert described["name"] == "intent"
    assert described["parameters"]["additionalProperties"] is False
    created = backend.tool("mira", action="create", description="Ask for the press kit", trigger_keywords="launch").body
    intent_id = created["intent"]["id"]
    listed = backend.tool("mira", action="list").body
    assert intent_id in {each["id"] for each in listed["intents"]}
    assert backend.tool("mira", action="cancel", intent_id=intent_id).body["ok"]
    assert chat(backend, "e-1", "The launch is near", "mira").reply == "You said: The launch is near"
    assert backend.tool("mira", action="cancel", intent_id="nobody's").body["error"]["code"] == "not_found"


def test_a_heartbeat_tidies_up(backend: Backend) -> None:
    assert backend.call("POST", "/heartbeat").body == {"expired": 0, "rearmed": 0, "released": 0, "more": False}


def test_the_backends_history_and_its_models_agree(project: Project) -> None:
    assert "No new upgrade operations detected" in project.succeed("-m", "alembic", "check")


def test_its_next_revision_is_its_own(project: Project) -> None:
    project.succeed("-m", "alembic", "revision", "-m", "next", "--head", "backend@head")
    try:
        assert "backend_0001 -> " in project.succeed("-m", "alembic", "history")
    finally:
        for path in (project.directory / "migrations" / "versions").glob("*_next.py"):
            path.unlink()


def test_without_a_migration_it_refuses_to_start(project: Project) -> None:
    empty = Project(project.directory, "sqlite+aiosqlite:///empty.db")
    done = empty.run(*SERVE)
    assert done.returncode != 0
    assert "alembic upgrade heads" in done.stderr


def test_what_it_remembers_outlives_the_process(project: Project, backend: Backend) -> None:
    chat(backend, "f-1", "When anyone mentions the offsite, remind me to book rooms.", "mira")
    with project.serving(*SERVE) as another:
        assert "book rooms" in chat(another, "f-2", "Where is the offsite?").reply
    assert backend.fires("book rooms") == 1
