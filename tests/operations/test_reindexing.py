"""Rows of another analyzer: matched all the same, and renewed in batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, select, update
from sqlalchemy.orm import Session

from intents import Analyzer, IntentService, InvalidIntent
from intents.models import StandingIntent
from tests.operations.conftest import remind, say


def make_old(engine: Engine, *, version: str) -> None:
    """Pretend that an analyzer with other stems wrote all rows: nothing in the index is a term of today."""
    with Session(engine) as session:
        for row in session.scalars(select(StandingIntent)):
            row.anchors = "a0000000000" + "ff"
            row.analyzer_version = version
        session.commit()


def test_rows_of_another_version_are_never_missed(engine: Engine, service: IntentService) -> None:
    for version in ("0/0.0/en", "99/9.9/en", "1/3.1/ee"):
        intent = remind(service, f"topic {version}")
        make_old(engine, version=version)
        assert [m.intent.id for m in service.match(say(f"topic {version}"))] == [intent.id]


def test_reindexing_renews_all_in_bounded_batches(engine: Engine, service: IntentService) -> None:
    ids = [remind(service, f"topic{number}zz", max_fires=9).id for number in range(5)]
    make_old(engine, version="0/0.0/en")
    first = service.reindex(limit=2)
    assert (first.renewed, first.more) == (2, True)
    second = service.reindex(after=first.after, limit=10)
    assert (second.renewed, second.more) == (3, False)
    assert service.reindex().renewed == 0
    with Session(engine) as session:
        assert set(session.scalars(select(StandingIntent.analyzer_version))) == {f"{Analyzer().version}/en"}
    for number, intent_id in enumerate(ids):
        assert [m.intent.id for m in service.match(say(f"topic{number}zz"))] == [intent_id]


@pytest.mark.parametrize("after", [2**63, 2**70, -(2**70), "1", 1.5, True])
def test_a_place_that_no_batch_can_begin_at_is_refused(service: IntentService, after: Any) -> None:
    with pytest.raises(InvalidIntent, match=r"ReindexResult\.after") as refusal:
        service.reindex(after=after)
    assert refusal.value.field == "after"


def test_a_batch_after_the_last_row_is_empty(engine: Engine, service: IntentService) -> None:
    remind(service, "topic")
    make_old(engine, version="0/0.0/en")
    for after in (10**9, 2**63 - 1):
        result = service.reindex(after=after)
        assert (result.renewed, result.kept, result.after, result.more) == (0, 0, after, False)
    assert service.reindex(after=-1).renewed == 1


def test_rows_in_a_language_that_is_no_longer_configured_still_fire_and_are_kept(
    engine: Engine, service_on: Callable[..., IntentService]
) -> None:
    bilingual = service_on(engine, analyzer=Analyzer(["en", "fr"]))
    intent = remind(bilingual, "déployer", language="fr")
    english = service_on(engine)
    result = english.reindex()
    assert (result.renewed, result.kept, result.more) == (0, 1, False)
    assert [m.intent.id for m in english.match(say("on a déployé hier"))] == [intent.id]


def test_changing_only_other_columns_leaves_the_version(engine: Engine, service: IntentService) -> None:
    remind(service)
    with Session(engine) as session:
        session.execute(update(StandingIntent).values(max_fires=7))
        session.commit()
    assert service.reindex().renewed == 0
