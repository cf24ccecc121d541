"""How often the right intent fires: ``python -m benchmarks recall [PATH]``.

Runs the library on SQLite over a labelled set (``intents.jsonl``, ``turns.jsonl``): each intent alone in its database,
then all in one database together. Beside it stand exact-words matching (every word of an entry occurs in the turn as it
is), ``always`` and ``never``. Recall where a turn should fire, false alarms where it should not, with Wilson's 95 %
intervals. The implicit stratum, paraphrases without a key word, is shown apart and is part of no sum.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import create_engine
from sqlalchemy.orm import sessionmaker

from benchmarks.measuring import Steps
from benchmarks.report import Section, Table
from benchmarks.workloads import Shelf
from intents import Analyzer, Identity, IntentCreate, IntentService, Limits, OwnerPolicy, Turn, metadata

NAME: Final = "recall"
DATA = Path(__file__).parent / "data" / "recall"
OWNER = Identity(provider="slack", sender_id="owner", conversation_id="room")
FIRE = ("explicit", "inflected", "overloaded", "noisy")
APART = ("implicit",)
SILENT = ("shared_word", "near_miss", "unrelated", "substring")


@dataclass(frozen=True, slots=True)
class Item:
    """One labelled turn."""

    id: str
    intent: str
    lang: str
    text: str
    gold: bool
    stratum: str


def load(path: Path) -> tuple[dict[str, dict[str, Any]], list[Item]]:
    """Read a labelled set: intents by id, turns in order."""
    intents = {each["id"]: each for each in _lines(path / "intents.jsonl")}
    items = [
        Item(
            each["id"],
            each["intent"],
            intents[each["intent"]]["lang"],
            each["text"],
            each["gold"] == "fire",
            each["stratum"],
        )
        for each in _lines(path / "turns.jsonl")
    ]
    return intents, items


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Library:
    """The library on a SQLite file, with bounds so wide that nothing but the words decides."""

    def __init__(self, folder: Path, intents: Iterable[dict[str, Any]]) -> None:
        intents = list(intents)
        self._engine = create_engine(f"sqlite:///{folder}/{intents[0]['id']}-{len(intents)}.db")
        metadata.create_all(self._engine)
        languages = dict.fromkeys(each["tool_call"].get("language", "en") for each in intents)
        self._service = IntentService(
            sessionmaker(self._engine),
            owners=OwnerPolicy(["slack:owner"]),
            analyzer=Analyzer(list(languages)),
            limits=Limits(cooldown=timedelta(0), fires_per_turn=100, context_chars=100_000, max_fires=1000),
        )
        self._ids = {}
        for each in intents:
            draft = IntentCreate(**each["tool_call"], channel_scope="anywhere", sender_scope="anyone")
            self._ids[self._service.create(draft, by=OWNER).id] = each["id"]

    def fired(self, text: str) -> set[str]:
        """Return the ids (of the set) that fire on a text."""
        matches = self._service.match(Turn(text=text, identity=OWNER))
        return {self._ids[match.intent.id] for match in matches}

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()


def exact_words(intent: dict[str, Any], text: str) -> bool:
    """Whether some entry's words all occur in the text as they are, case aside."""
    words = set(re.findall(r"\w+", text.casefold()))
    entries = intent["tool_call"]["trigger_keywords"]
    return any(set(re.findall(r"\w+", entry.casefold())) <= words for entry in entries)


def run(
    intents: Mapping[str, dict[str, Any]], items: Iterable[Item], folder: Path, steps: Steps
) -> dict[str, dict[str, bool]]:
    """Decide every turn with every matcher; return ``{matcher: {turn id: fired}}``."""
    by_intent: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_intent[item.intent].append(item)
    alone: dict[str, bool] = {}
    for intent_id, turns in steps.over(by_intent.items(), "intents alone", len(by_intent)):
        library = Library(folder, [intents[intent_id]])
        alone.update({item.id: intent_id in library.fired(item.text) for item in turns})
        library.close()
    library = Library(folder, [intents[intent_id] for intent_id in by_intent])
    together = {
        item.id: item.intent in library.fired(item.text)
        for item in steps.over(items, "all together", sum(map(len, by_intent.values())))
    }
    library.close()
    return {
        "alone": alone,
        "together": together,
        "exact words": {item.id: exact_words(intents[item.intent], item.text) for item in items},
        "always": {item.id: True for item in items},
        "never": {item.id: False for item in items},
    }


def wilson(hits: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's score interval of a rate."""
    if total == 0:
        return 0.0, 1.0
    rate, spread = hits / total, z * z / total
    centre = (rate + spread / 2) / (1 + spread)
    half = z * math.sqrt(rate * (1 - rate) / total + spread / (4 * total)) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


def options(parser: argparse.ArgumentParser) -> None:
    """Add what can be set."""
    parser.add_argument("path", nargs="?", type=Path, default=DATA, help="folder of the labelled set")
    parser.add_argument("--wrong", action="store_true", help="list the turns that were decided wrongly")


def measure(chosen: argparse.Namespace, shelf: Shelf, steps: Steps) -> dict[str, Any]:
    """Count what fires and what does not, by stratum and language."""
    intents, items = load(chosen.path)
    if chosen.quick:
        some = list(dict.fromkeys(item.intent for item in items))[::12]
        items = [item for item in items if item.intent in some]
    with tempfile.TemporaryDirectory() as folder:
        answers = run(intents, items, Path(folder), steps)
    wrong = [
        item
        for item in items
        if answers["together"][item.id] != item.gold and item.stratum not in APART and item.stratum in FIRE + SILENT
    ]
    if chosen.wrong:
        for item in wrong:
            print(f"{item.id} {item.lang} {item.stratum}: {item.text}")
    return {
        "results": list(_counts(items, answers)),
        "matchers": list(answers),
        "turns": len(items),
        "wrong": [item.id for item in wrong],
    }


def _counts(items: list[Item], answers: Mapping[str, Mapping[str, bool]]) -> Iterator[dict[str, Any]]:
    def counted(title: str, group: str, belongs: Callable[[Item], bool]) -> dict[str, Any]:
        chosen = [item for item in items if belongs(item)]
        fired = {name: sum(given[item.id] for item in chosen) for name, given in answers.items()}
        return {"title": title, "group": group, "turns": len(chosen), "fired": fired}

    for title, strata in (("Should fire", FIRE), ("Paraphrases, apart", APART), ("Should be silent", SILENT)):
        for stratum in strata:
            yield counted(title, stratum, lambda item, stratum=stratum: item.stratum == stratum)  # type: ignore[misc]
        if strata is FIRE:
            yield counted(title, "explicit + inflected + overloaded", lambda item: item.stratum in FIRE[:3])
        if len(strata) > 1:
            yield counted(title, "all of these", lambda item, strata=strata: item.stratum in strata)  # type: ignore[misc]
    for title, strata in (("Recall by language", FIRE), ("False alarms by language", SILENT)):
        for lang in sorted({item.lang for item in items}):
            yield counted(
                title,
                lang,
                lambda item, lang=lang, strata=strata: item.lang == lang and item.stratum in strata,  # type: ignore[misc]
            )


def section(figures: Mapping[str, Any]) -> Section:
    """Write the section on recall."""
    tables = []
    for title in dict.fromkeys(r["title"] for r in figures["results"]):
        rows = [
            [r["group"], r["turns"], *(_cell(r["fired"][name], r["turns"]) for name in figures["matchers"])]
            for r in figures["results"]
            if r["title"] == title
        ]
        tables.append(Table(title, ["", "turns", *figures["matchers"]], rows, folded=title.endswith("language")))
    text = (
        f"How often the right intent fires, over {figures['turns']:,} labelled turns: each intent *alone* in its "
        "database, then all *together*. *Exact words* asks that every word of an entry occurs as it is. Beside each "
        "count its share, and Wilson's 95 % interval. Paraphrases share no key word with their intent, and are part of "
        "no sum."
    )
    return Section("Recall and false alarms", text, tables)


def _cell(hits: int, total: int) -> str:
    low, high = wilson(hits, total)
    return f"{hits} = {hits / total:.3f} ({low:.2f}–{high:.2f})" if total else "–"


if __name__ == "__main__":
    from benchmarks.__main__ import main

    main([NAME, *sys.argv[1:]])
