"""Agents in databases of their own: the session factory picks the database, and nothing is seen across."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session, sessionmaker

from intents import IntentNotFound, IntentService, StandingIntent, UnsupportedDialect, metadata
from tests.behaviour.support import ON_POSTGRESQL, OWNER, count_of, draft, ids, said


def test_two_agents_in_two_databases(
    engine: Engine, make_service: Callable[..., IntentService], tmp_path: Path
) -> None:
    elsewhere = create_engine(f"sqlite:///{tmp_path / 'second.db'}")
    metadata.create_all(elsewhere)
    homes = {"first": engine, "second": elsewhere}
    first, second = (
        make_service(agent_id=agent, sessions=lambda agent=agent: Session(homes[agent])) for agent in homes
    )
    one, other = first.create(draft(), by=OWNER), second.create(draft(), by=OWNER)
    assert [count_of(home, StandingIntent) for home in homes.values()] == [1, 1]
    assert (ids(first.list()), ids(second.list())) == ([one.id], [other.id])
    with pytest.raises(IntentNotFound):
        first.get(other.id)
    assert ids(first.match(said(id="m1"))) == [one.id]
    assert ids(second.match(said(id="m1"))) == [other.id], "a turn's id is known to one database only"
    assert second.get(other.id).fire_count == 1
    elsewhere.dispose()


def test_agents_in_one_database_see_nothing_of_each_other(make_service: Callable[..., IntentService]) -> None:
    first, second = make_service(agent_id="first"), make_service(agent_id="second")
    one = first.create(draft(), by=OWNER)
    assert second.list() == []
    assert not second.match(said(id="m1"))
    assert second.statistics().total == 0
    for call in (second.get, second.history, lambda intent_id: second.cancel(intent_id, by=OWNER)):
        with pytest.raises(IntentNotFound):
            call(one.id)
    assert ids(first.match(said(id="m1"))) == [one.id]


@ON_POSTGRESQL
def test_a_connection_that_commits_by_itself_is_refused_by_name(
    engine: Engine, make_service: Callable[..., IntentService]
) -> None:
    service = make_service(sessions=sessionmaker(engine.execution_options(isolation_level="AUTOCOMMIT")))
    with pytest.raises(UnsupportedDialect, match="AUTOCOMMIT"):
        service.create(draft(), by=OWNER)
    assert count_of(engine, StandingIntent) == 0
    assert service.list() == [], "reading needs no transaction"
