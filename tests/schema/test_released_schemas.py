"""Whatever release made a database: after `upgrade` its intents still fire, and nothing of their past is lost.

The databases are SQL in ``tests/fixtures``, written by ``python -m tools.released_databases`` while their revision was
the newest.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.orm import sessionmaker

from intents import Analyzer, Identity, IntentService, OwnerPolicy, Status, TransitionNotAllowed, Turn, doctor
from intents.blueprint import MODEL_TABLES, schema_problems
from intents.migrate import check_schema, upgrade
from intents.testing import FrozenClock
from tests.schema.support import MIGRATIONS, run_script

FIXTURES = Path(__file__).parent.parent / "fixtures"
DATABASES = sorted(FIXTURES.glob("intents_*.sql"))
SCRIPTS = ScriptDirectory(str(MIGRATIONS))
#: When the newest of the stored databases was left.
LEFT = datetime(2026, 7, 27, 12, tzinfo=UTC)
MIRA = Identity(provider="slack", sender_id="U-MIRA", conversation_id="C-RELEASE")
BEN = MIRA.model_copy(update={"sender_id": "U-BEN"})

STATUS = {
    "armed": Status.ARMED,
    "armed in French": Status.ARMED,
    "armed with a phrase": Status.ARMED,
    "armed for its owner": Status.ARMED,
    "pending": Status.PENDING,
    "given back": Status.ARMED,
    "armed again": Status.ARMED,
    "fired": Status.FIRED,
    "done": Status.DONE,
    "held": Status.FIRED,
    "cancelled": Status.CANCELLED,
    "expired": Status.EXPIRED,
}
EVENTS = {
    "armed": "create arm",
    "armed in French": "create arm",
    "armed with a phrase": "create arm",
    "armed for its owner": "create arm",
    "pending": "create",
    "given back": "create arm fire release",
    "armed again": "create arm fire rearm",
    "fired": "create arm fire",
    "done": "create arm fire complete",
    "held": "create arm fire",
    "cancelled": "create arm cancel",
    "expired": "create arm expire",
}


@pytest.fixture(params=DATABASES, ids=lambda path: path.stem)
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A database as the release of its revision left it."""
    path: Path = request.param
    on_postgresql = path.stem.endswith("postgresql")
    url = request.getfixturevalue("postgresql_url") if on_postgresql else f"sqlite:///{tmp_path / 'released.db'}"
    engine = create_engine(url)
    run_script(engine, path.read_text(encoding="utf-8"))
    yield engine
    engine.dispose()


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(LEFT + timedelta(minutes=1))


def service_on(engine: Engine, clock: FrozenClock, agent_id: str = "main") -> IntentService:
    return IntentService(
        sessionmaker(engine),
        agent_id=agent_id,
        owners=OwnerPolicy(["slack:U-MIRA"]),
        analyzer=Analyzer(["en", "fr"]),
        clock=clock,
    )


@pytest.fixture
def service(released: Engine, clock: FrozenClock) -> IntentService:
    upgrade(released)
    return service_on(released, clock)


def say(service: IntentService, words: str, identity: Identity = BEN) -> list[str]:
    """Say words in a message of their own; give the descriptions of what fired."""
    turn = Turn(text=words, identity=identity, id=f"new-{words}-{identity.sender_id}")
    return [match.intent.description for match in service.match(turn)]


def stored(engine: Engine) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table that a release has made."""
    tables = [table.name for table in MODEL_TABLES if inspect(engine).has_table(table.name)]
    with engine.connect() as connection:
        return {
            table: [dict(row) for row in connection.execute(text(f"SELECT * FROM {table} ORDER BY key")).mappings()]
            for table in tables
        }


def test_there_is_a_database_of_every_revision() -> None:
    wanted = {f"{each.revision}.{dialect}" for each in SCRIPTS.walk_revisions() for dialect in ("sqlite", "postgresql")}
    assert {path.stem for path in DATABASES} == wanted, "run `python -m tools.released_databases`"


def test_the_newest_database_is_not_stale(released: Engine, request: pytest.FixtureRequest) -> None:
    with released.connect() as connection:
        if connection.scalars(text("SELECT version_num FROM intents_alembic_version")).all() == SCRIPTS.get_heads():
            assert schema_problems(connection) == [], "run `python -m tools.released_databases`"


def test_an_upgrade_keeps_every_row(released: Engine) -> None:
    before = stored(released)
    assert {table: len(found) for table, found in before.items()} == {
        "standing_intents": 13,
        "standing_intent_turns": 5,
        "standing_intent_firings": 5,
        "standing_intent_events": 35,
    }
    upgrade(released)
    after = stored(released)
    for table, found in before.items():
        kept = [{name: row[name] for name in old} for old, row in zip(found, after[table], strict=True)]
        assert kept == found


def test_an_upgraded_database_is_whole(released: Engine) -> None:
    upgrade(released)
    check_schema(released)
    assert doctor.examine(released) == []
    upgrade(released)
    with released.connect() as connection:
        recorded = connection.scalars(text("SELECT version_num FROM intents_alembic_version")).all()
    assert recorded == SCRIPTS.get_heads()


def test_statuses_and_histories_are_as_they_were(service: IntentService) -> None:
    intents = {intent.description: intent for intent in service.list()}
    assert {name: intent.status for name, intent in intents.items()} == STATUS
    histories = {name: service.history(intent.id) for name, intent in intents.items()}
    assert {name: " ".join(line.event for line in lines) for name, lines in histories.items()} == EVENTS
    assert histories["given back"][-1].detail == "the reply was suppressed"
    assert histories["cancelled"][-1].actor == "slack/default:U-MIRA"
    assert histories["expired"][-1].at == LEFT


def test_every_armed_intent_still_fires(service: IntentService, released: Engine, clock: FrozenClock) -> None:
    assert say(service, "The release candidate is up.") == ["armed"]
    assert say(service, "On a déployé hier.") == ["armed in French"]
    assert say(service, "Pour le launch, le press kit est là.") == ["armed with a phrase"]
    assert say(service, "What became of INC-4821, the invoice?") == []
    assert say(service, "What became of INC-4821, the invoice?", MIRA) == ["armed for its owner"]
    assert say(service, "Who owns the rollback?") == ["given back"]
    assert say(service, "After the standup!") == ["armed again"]
    assert say(service_on(released, clock, "another"), "The release candidate is up.") == ["armed of another agent"]


def test_what_was_under_way_goes_on(service: IntentService, clock: FrozenClock) -> None:
    by_name = {intent.description: intent.id for intent in service.list()}
    assert say(service, "Which audit?") == []  # cooling down
    assert say(service, "The budget is approved.") == []
    service.arm(by_name["pending"], by=MIRA)
    assert say(service, "The budget is approved!") == ["pending"]
    # The delivery that was open is settled by the id that its turn had, and spends the last fire.
    assert service.confirm(Turn(text="", identity=BEN, id="m-5")) == 1
    assert service.get(by_name["held"]).status is Status.DONE
    clock.advance(days=1)
    assert say(service, "Which audit, then?") == ["fired"]
    for ended in ("done", "cancelled", "expired"):
        with pytest.raises(TransitionNotAllowed):
            service.arm(by_name[ended], by=MIRA)
    assert say(service, "The offsite, the lunch, the webinar and the contract.") == []


def test_a_delivery_that_nobody_settled_is_given_back(service: IntentService, clock: FrozenClock) -> None:
    clock.advance(hours=1)
    assert say(service, "Where is the contract?") == ["held"]


def test_a_turn_that_was_answered_is_answered_the_same(service: IntentService) -> None:
    again = service.match(Turn(text="How did the audit go?", identity=BEN, id="m-3"))
    assert again.duplicate
    assert [match.intent.description for match in again] == ["fired"]
    assert again.context == "<standing_intents>\nStanding intent (created 2026-07-27): fired\n</standing_intents>"


def test_a_new_intent_gets_a_key_of_its_own(service: IntentService, released: Engine) -> None:
    from intents.testing import make_draft

    service.create(make_draft("brand new"), by=MIRA)
    with released.connect() as connection:
        assert connection.scalar(text("SELECT max(key) FROM standing_intents")) == 14
