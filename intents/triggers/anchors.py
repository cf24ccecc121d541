"""Anchors: the terms under which a trigger is indexed.

The index may over-select, never under-select: whatever way a message completes an entry, it has one of its anchors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from intents.triggers.model import CompiledTrigger, Entry
from intents.triggers.runs import run_terms


class _Option(NamedTuple):
    """One set of terms that every completing message shares a member with."""

    terms: frozenset[str]
    stop: bool
    text: str


def anchor_candidates(trigger: CompiledTrigger) -> frozenset[str]:
    """Return the terms whose usage `choose_anchors` asks for: those of entries that leave it a choice."""
    choices = [list(_options(entry)) for entry in trigger.entries]
    return frozenset(term for options in choices if len(options) > 1 for option in options for term in option.terms)


def choose_anchors(trigger: CompiledTrigger, usage: Mapping[str, int]) -> frozenset[str]:
    """Return terms such that every message that completes an entry has at least one of them.

    For each entry it is one of its words, in all its forms and joined to its neighbours, or two neighbouring characters
    of a run: never a function word when there is another, then the one with the fewest rows, then the longest, then the
    first in code point order.

    Args:
        trigger: the compiled trigger.
        usage: how many live rows are already anchored at a term; a missing one counts as none.
    """
    anchors: set[str] = set()
    for entry in trigger.entries:
        best = min(
            _options(entry),
            key=lambda option: (
                option.stop,
                sum(usage.get(term, 0) for term in option.terms),
                -len(option.text),
                option.text,
            ),
        )
        anchors |= best.terms
    return frozenset(anchors)


def _options(entry: Entry) -> Iterator[_Option]:
    for clause in entry.clauses:
        for index, part in enumerate(clause.parts):
            if part.terms:
                terms = set(part.terms)
                for join in clause.joins:
                    if join.first <= index <= join.last:
                        terms.update(join.terms)
                yield _Option(frozenset(terms), part.stop, part.text)
            else:
                for term in run_terms(part.text):
                    yield _Option(frozenset((term,)), False, term)
