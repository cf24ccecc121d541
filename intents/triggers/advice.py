"""Advice to the author of a trigger. It never blocks."""

from __future__ import annotations

from collections.abc import Iterator

from intents.clock_words import names_only_a_time
from intents.text import Analyzer, fold, tokenise
from intents.text.languages import STEMMERS
from intents.text.tokens import clusters
from intents.triggers.joining import drop_affixes
from intents.triggers.model import Clause, CompiledTrigger, Entry


def advise(trigger: CompiledTrigger, analyzer: Analyzer) -> tuple[str, ...]:
    """Return short sentences on what a trigger's author may not have meant; empty when there is nothing to say.

    Args:
        trigger: the compiled trigger.
        analyzer: the one that compiled it.
    """
    return tuple(
        dict.fromkeys(
            [
                *_clock(trigger, analyzer),
                *_common(trigger),
                *_left_out(trigger),
                *_covered(trigger),
                *_shut_out(trigger),
                *_too_long(trigger),
                *_exact(trigger),
            ]
        )
    )


def _clock(trigger: CompiledTrigger, analyzer: Analyzer) -> Iterator[str]:
    for entry in trigger.entries:
        if names_only_a_time(entry.keyword, trigger.language, analyzer):
            yield (
                f"{entry.keyword!r} only names a time: it waits for a message that says so, not for that time, which "
                "is your scheduler's; add a word."
            )


def _common(trigger: CompiledTrigger) -> Iterator[str]:
    for entry in trigger.entries:
        parts = [part for clause in entry.clauses for part in clause.parts]
        if all(part.stop for part in parts):
            yield f"{entry.keyword!r} is made of very common words only; add one that tells its messages from others."
        elif len(parts) == 1 and not parts[0].terms and len(clusters(parts[0].text)) == 1:
            yield f"{entry.keyword!r} is a single character and is found inside many words; add another."


def _left_out(trigger: CompiledTrigger) -> Iterator[str]:
    for entry in trigger.entries:
        parts = [part.text for clause in entry.clauses for part in clause.parts]
        written = drop_affixes(tokenise(fold(entry.keyword)), trigger.language)
        if len(parts) == 1 and len(written) > 1:
            yield f"Of {entry.keyword!r} only {parts[0]!r} is looked for; in double quotes all of it would be."


def _covered(trigger: CompiledTrigger) -> Iterator[str]:
    for index, entry in enumerate(trigger.entries):
        for other_index, other in enumerate(trigger.entries):
            if other is entry or not _implies(entry, other):
                continue
            if other_index < index or not _implies(other, entry):
                yield f"{entry.keyword!r} adds nothing: every message that completes it completes {other.keyword!r}."
                break


def _shut_out(trigger: CompiledTrigger) -> Iterator[str]:
    for entry in trigger.entries:
        for exclusion in trigger.exclusions:
            if _implies(entry, exclusion):
                yield f"{entry.keyword!r} stays silent: a message that completes it completes {exclusion.keyword!r}."


def _too_long(trigger: CompiledTrigger) -> Iterator[str]:
    for entry in trigger.entries:
        positions = sum(
            1 if part.terms else len(clusters(part.text)) for clause in entry.clauses for part in clause.parts
        )
        if trigger.within is not None and positions > trigger.within:
            yield f"{entry.keyword!r} takes {positions} positions, but within allows {trigger.within}."


def _exact(trigger: CompiledTrigger) -> Iterator[str]:
    words = [
        clause.text
        for entry in trigger.entries
        for clause in entry.clauses
        if len(clause.parts) == 1 and clause.parts[0].terms and clause.text.isalpha()
    ]
    if trigger.language not in STEMMERS and words:
        yield (
            f"Other forms of {words[0]!r} do not match: in language {trigger.language!r} words are compared as written."
        )


def _implies(entry: Entry, other: Entry) -> bool:
    """Tell whether every message that completes an entry completes the other, but for words written as one."""
    return all(any(_clause_implies(clause, wanted) for clause in entry.clauses) for wanted in other.clauses)


def _clause_implies(clause: Clause, wanted: Clause) -> bool:
    if len(wanted.parts) > 1:
        return clause == wanted
    (part,) = wanted.parts
    # A word's first term is its stem.
    return any(
        own.terms[0] == part.terms[0] if part.terms else part.text in own.text
        for own in clause.parts
        if bool(own.terms) == bool(part.terms)
    )
