"""What every prefilter must keep, held against the scan: it may over-select, it never under-selects."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session, sessionmaker

from intents import Analyzer, Identity, IntentCreate, IntentService, Limits, OwnerPolicy, Turn
from intents.index import ScanIndex
from intents.repository.matching import look
from intents.repository.work import Work

NOW = datetime(2026, 7, 27, 12, tzinfo=UTC)
OWNER = Identity(provider="slack", sender_id="U1", conversation_id="C1")
PEOPLE = ("U1", "U2", None)
ROOMS = ("C1", "C2", None)
#: Few words in many scripts, so that random turns often complete random entries.
WORDS = (
    *("launch", "launches", "launching", "checklist", "roll-back", "rollback", "release", "candidate", "the", "of"),
    *("café", "Straße", "déployer", "INC-4821", "and", "C++", ".NET", "v2.0.1", "don't", "ops@example.com", "🚀"),
    *("発布", "ΟΔΟΣ", "выпуск", "план", "إطلاق", "שחרור", "上海", "发布检查清单", "税", "リリース候補"),
    *("릴리즈", "배포를", "ประชุม", "P0故障", "iPhone充电器"),
)
LANGUAGES = ("en", "fr", "de", "ru", "und")


def entry(chance: random.Random) -> str:
    words = chance.choices(WORDS, k=chance.choice([1, 1, 2, 2, 3]))
    text = " ".join(words)
    return f'"{text}"' if chance.random() < 0.15 else text


def said(chance: random.Random) -> str:
    words = chance.choices(WORDS, k=chance.randint(1, 14))
    return chance.choice([" ", " ", ", ", " - "]).join(words)


def fill(service: IntentService, chance: random.Random, count: int) -> None:
    made = 0
    while made < count:
        draft = IntentCreate(
            description=f"Reminder {made}",
            trigger_keywords=[entry(chance) for _ in range(chance.choice([1, 1, 2, 4]))],
            exclude_keywords=[entry(chance)] if chance.random() < 0.1 else [],
            channel_scope=chance.choice(["anywhere", "channel", "conversation"]),
            sender_scope=chance.choice(["sender", "anyone"]),
            language=chance.choice(LANGUAGES),
            within=chance.choice([None, None, None, 4]),
        )
        service.create(draft, by=OWNER)
        made += 1


def sightings(service: IntentService, engine: Engine, turns: Sequence[Turn]) -> tuple[list[Any], list[Any]]:
    """Return the keys that each turn completes, through the index and through the scan."""
    with Session(engine) as session:
        indexed = Work.of(session, service.settings, owns_transaction=True)
        scanned = replace(indexed, index=ScanIndex())
        return [look(indexed, turn).keys for turn in turns], [look(scanned, turn).keys for turn in turns]


def make_service(engine: Engine) -> IntentService:
    return IntentService(
        sessionmaker(engine),
        owners=OwnerPolicy(["slack:U1"]),
        analyzer=Analyzer(["en", "fr", "de", "ru"]),
        limits=Limits(candidates=10_000),
        clock=lambda: NOW,
    )


def turns(chance: random.Random, count: int) -> list[Turn]:
    return [
        Turn(
            text=said(chance),
            identity=Identity(provider="slack", sender_id=chance.choice(PEOPLE), conversation_id=chance.choice(ROOMS)),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("engine", "seed"), [("sqlite-file", 1), ("sqlite-new", 2), ("postgresql", 3)], indirect=["engine"]
)
def test_the_index_and_the_scan_give_identical_sets(engine: Engine, seed: int) -> None:
    chance = random.Random(seed)
    service = make_service(engine)
    fill(service, chance, 700)
    through_index, through_scan = sightings(service, engine, turns(chance, 170))
    assert through_index == through_scan
    assert sum(map(len, through_index)) > 500, "the words are common enough that the comparison says something"


def test_rows_that_cannot_fire_are_no_candidates_and_do_not_count(engine: Engine) -> None:
    service = make_service(engine)
    for number in range(4):
        service.create(
            IntentCreate(
                description=f"Reminder {number}",
                trigger_keywords=["launch"],
                armed=number != 0,
                expires_at=NOW + (timedelta(microseconds=1) if number == 1 else timedelta(days=1)),
            ),
            by=OWNER,
        )
    later = IntentService(
        sessionmaker(engine),
        owners=OwnerPolicy(["slack:U1"]),
        limits=Limits(candidates=2),
        clock=lambda: NOW + timedelta(seconds=1),
    )
    matches = later.match(Turn(text="launch", identity=OWNER))
    assert [match.intent.description for match in matches] == ["Reminder 2", "Reminder 3"]
    assert not matches.truncated
