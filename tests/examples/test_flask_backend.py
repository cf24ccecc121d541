"""`examples/flask_backend`, as its README says."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.examples.support import Answer, Backend, Project

SERVE = ("-m", "flask", "--app", "app", "run", "--port", "0")


@pytest.fixture(scope="module", params=["sqlite", "postgresql+psycopg"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The example, migrated, twice."""
    with Project.copied("flask_backend", tmp_path_factory.mktemp("example"), request) as project:
        project.succeed("migrate.py")
        project.succeed("migrate.py")
        yield project


@pytest.fixture(scope="module")
def backend(project: Project) -> Iterator[Backend]:
    with project.serving(*SERVE) as backend:
        yield backend


def say(backend: Backend, message_id: str, text: str, user: str = "ben") -> Answer:
    return backend.call("POST", "/rooms/team/messages", {"id": message_id, "text": text}, user)


def remind(backend: Backend, description: str, keyword: str) -> None:
    created = backend.tool(
        "mira", action="create", description=description, trigger_keywords=[keyword], sender_scope="anyone"
    )
    assert created.body["ok"], created.body


def test_the_prompt_gets_the_reminder(backend: Backend) -> None:
    remind(backend, "Confirm the owner", "release candidate")
    assert say(backend, "a-1", "The candidate was great!").reply == "The candidate was great!"
    opening, line, closing, said = say(backend, "a-2", "Release candidates are up").reply.splitlines()
    assert (opening, closing) == ("<standing_intents>", "</standing_intents>")
    assert line.endswith("): Confirm the owner")
    assert said == "Release candidates are up"
    assert backend.fires("Confirm the owner") == 1


def test_a_message_that_is_sent_again_gets_its_reply_and_spends_nothing(backend: Backend) -> None:
    remind(backend, "Show the findings", "audit")
    first = say(backend, "b-1", "How is the audit going?").reply
    with ThreadPoolExecutor(4) as pool:
        replies = {each.reply for each in pool.map(lambda _: say(backend, "b-1", "How is the audit?"), range(4))}
    assert replies == {first}
    assert backend.fires("Show the findings") == 1
    assert say(backend, "b-1", "How is the audit going?", user="eve").status == 409


def test_a_message_that_is_sent_several_times_at_once(backend: Backend) -> None:
    remind(backend, "Praise the team", "milestone")
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: say(backend, "h-1", "The milestone is reached!"), range(4)))
    assert {each.status for each in answers} <= {200, 503}, [each.body for each in answers]
    # On a machine that is too busy the reply may be the one of a request that did not wait; then nothing is spent.
    reply = say(backend, "h-1", "The milestone is reached!").reply
    assert backend.fires("Praise the team") == reply.count("Praise the team")


def test_messages_that_come_at_once_fire_one_intent_once(backend: Backend) -> None:
    remind(backend, "Book the rooms", "offsite")
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: say(backend, f"g-{number}", "Where is the offsite?"), range(8)))
    assert {each.status for each in answers} <= {200, 503}, [each.body for each in answers]
    assert sum("Book the rooms" in str(each.body) for each in answers) == 1
    assert backend.fires("Book the rooms") == 1


def test_a_model_that_fails_costs_no_reminder(backend: Backend) -> None:
    remind(backend, "Call the provider", "billing")
    assert say(backend, "c-1", "Billing? (model outage)").status == 502
    assert backend.fires("Call the provider") == 0


def test_who_is_no_owner_is_not_offered_the_tool(backend: Backend) -> None:
    assert backend.call("GET", "/tools/intent", user="mira").body["name"] == "intent"
    assert backend.call("GET", "/tools/intent", user="ben").status == 404
    assert backend.tool("ben", action="list").status == 404
    assert backend.call("GET", "/tools/intent").status == 401  # nobody at all


def test_a_heartbeat_tidies_up(backend: Backend) -> None:
    assert backend.call("POST", "/heartbeat").body == {"expired": 0, "rearmed": 0, "released": 0, "more": False}


def test_without_its_migration_it_refuses_to_start(project: Project) -> None:
    empty = Project(project.directory, "sqlite:///empty.db")
    done = empty.run(*SERVE)
    assert done.returncode != 0
    assert "intents upgrade" in done.stderr
