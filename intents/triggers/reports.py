"""Why a message fires a trigger or not, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intents.triggers.matching import completes, first_completed, holds
from intents.triggers.model import CompiledTrigger, Entry
from intents.triggers.turns import AnalysedTurn, View


@dataclass(frozen=True, slots=True)
class EntryReport:
    """How far a message completes one keyword.

    Attributes:
        keyword: the keyword as given.
        seen: its words that the message has.
        missing: its words that the message lacks.
        too_far: all words are there, but not within the positions allowed.
    """

    keyword: str
    seen: tuple[str, ...]
    missing: tuple[str, ...]
    too_far: bool

    @property
    def completed(self) -> bool:
        """Whether the message completes the keyword."""
        return not self.missing and not self.too_far


@dataclass(frozen=True, slots=True)
class TriggerReport:
    """Why a message fires a trigger or not.

    Attributes:
        rule: the rule that keeps it silent: no keyword is complete (``keywords``), one is but its words are too far
            apart (``within``), one is but so is an exclusion (``excluded``); None when it fires.
        keyword: the completed keyword, else None.
        excluded_by: the completed exclude keyword, else None.
        entries: how far each keyword is complete.
        detail: the same in one line.
    """

    rule: Literal["keywords", "within", "excluded"] | None
    keyword: str | None
    excluded_by: str | None
    entries: tuple[EntryReport, ...]
    detail: str

    @property
    def fires(self) -> bool:
        """Whether the message fires the trigger."""
        return self.rule is None


def describe(trigger: CompiledTrigger, turn: AnalysedTurn) -> TriggerReport:
    """Explain what `decide` decides.

    Args:
        trigger: the compiled trigger of an intent.
        turn: the analysed message.
    """
    view = turn.view(trigger.language)
    entries = tuple(_report(entry, view, trigger.within) for entry in trigger.entries)
    completed = next((entry.keyword for entry in entries if entry.completed), None)
    if completed is not None:
        excluded_by = first_completed(trigger.exclusions, view, trigger.within)
        if excluded_by is None:
            return TriggerReport(None, completed, None, entries, f"{completed!r} is complete.")
        detail = f"{completed!r} is complete, but so is the exclusion {excluded_by!r}."
        return TriggerReport("excluded", completed, excluded_by, entries, detail)
    apart = next((entry for entry in entries if entry.too_far), None)
    if apart is not None:
        detail = f"{apart.keyword!r} is there, but not within {trigger.within} positions."
        return TriggerReport("within", None, None, entries, detail)
    nearest = min(entries, key=lambda entry: (len(entry.missing), -len(entry.seen)))
    if not nearest.seen and len(nearest.missing) == 1:
        others = " and every other keyword" if len(entries) > 1 else ""
        return TriggerReport("keywords", None, None, entries, f"The message lacks {nearest.missing[0]!r}{others}.")
    seen = f"has {_listed(nearest.seen)} and " if nearest.seen else ""
    detail = f"Nearest is {nearest.keyword!r}: the message {seen}lacks {_listed(nearest.missing)}."
    return TriggerReport("keywords", None, None, entries, detail)


def _report(entry: Entry, view: View, within: int | None) -> EntryReport:
    held = [holds(clause, view) for clause in entry.clauses]
    seen = tuple(clause.text for clause, holding in zip(entry.clauses, held, strict=True) if holding)
    missing = tuple(clause.text for clause, holding in zip(entry.clauses, held, strict=True) if not holding)
    return EntryReport(entry.keyword, seen, missing, not missing and not completes(entry, view, within))


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(map(repr, words))
