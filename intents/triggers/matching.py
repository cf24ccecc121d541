"""Whether a message completes a trigger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from intents.triggers.model import Clause, CompiledTrigger, Entry, Part
from intents.triggers.turns import AnalysedTurn, Spans, View

_SLICE: Final = 1_000


class Decision(NamedTuple):
    """What a message does to a trigger.

    Attributes:
        entry: the first completed keyword, as given; None when none is.
        excluded_by: the first completed exclude keyword, as given; None when none is, or none was looked for because no
            keyword is complete.
    """

    entry: str | None
    excluded_by: str | None = None

    @property
    def fires(self) -> bool:
        """Whether a keyword is complete and no exclusion is."""
        return self.entry is not None and self.excluded_by is None


def decide(trigger: CompiledTrigger, turn: AnalysedTurn) -> Decision:
    """Tell whether a message completes a trigger, and by which keyword.

    Args:
        trigger: the compiled trigger of an intent.
        turn: the analysed message.
    """
    view = turn.view(trigger.language)
    entry = first_completed(trigger.entries, view, trigger.within)
    if entry is None:
        return Decision(None)
    return Decision(entry, first_completed(trigger.exclusions, view, trigger.within))


def first_completed(entries: Iterable[Entry], view: View, within: int | None) -> str | None:
    """Return the keyword of the first entry that a message completes."""
    return next((entry.keyword for entry in entries if completes(entry, view, within)), None)


def completes(entry: Entry, view: View, within: int | None) -> bool:
    """Tell whether all clauses of an entry hold, and, if asked, lie close together."""
    return all(holds(clause, view) for clause in entry.clauses) and (
        within is None or _lie_within(entry.clauses, view, within)
    )


def holds(clause: Clause, view: View) -> bool:
    """Tell whether a clause holds anywhere in a message."""
    parts = clause.parts
    if len(parts) == 1:
        return _occurs(parts[0], view)
    # Cheap first: each part must be there, alone or joined.
    for index, part in enumerate(parts):
        if not _occurs(part, view) and not any(
            join.first <= index <= join.last and not view.terms.isdisjoint(join.terms) for join in clause.joins
        ):
            return False
    return next(clause_spans(clause, view), None) is not None


def _occurs(part: Part, view: View) -> bool:
    return not view.terms.isdisjoint(part.terms) if part.terms else view.has_run(part.text)


def clause_spans(clause: Clause, view: View) -> Iterator[tuple[int, int]]:
    """Yield where a clause holds, as (first position, position after the last).

    Args:
        clause: the clause.
        view: the message in the trigger's language.
    """
    # steps[i]: how part i can stand there, alone or as the beginning of a joined word
    steps: list[list[tuple[int, Spans]]] = [[] for _ in clause.parts]
    for index, part in enumerate(clause.parts):
        found = [view.spans(term) for term in part.terms] if part.terms else [view.run_spans(part.text)]
        steps[index] += [(index + 1, spans) for spans in found if spans]
    for join in clause.joins:
        steps[join.first] += [(join.last + 1, spans) for term in join.terms if (spans := view.spans(term))]
    starts = list({start for _, spans in steps[0] for start in spans})
    # In slices, so that whoever asks only for one place does not wait for all of a long message.
    for at in range(0, len(starts), _SLICE):
        # reached[i]: first position and next position of all ways to place the parts before i
        reached: list[set[tuple[int, int]]] = [{(start, start) for start in starts[at : at + _SLICE]}]
        reached += [set() for _ in steps]
        for index, ways in enumerate(steps):
            for following, spans in ways:
                reached[following] |= {
                    (start, end) for start, position in reached[index] if position in spans for end in spans[position]
                }
        yield from reached[-1]


def _lie_within(clauses: tuple[Clause, ...], view: View, within: int) -> bool:
    """Tell whether the clauses hold together in some stretch of `within` positions.

    Going backwards over all places, keep for each clause the nearest end at or after the present start.
    """
    places = sorted(
        ((start, end, index) for index, clause in enumerate(clauses) for start, end in clause_spans(clause, view)),
        reverse=True,
    )
    nearest: dict[int, int] = {}
    for start, end, index in places:
        nearest[index] = min(end, nearest.get(index, end))
        if len(nearest) == len(clauses) and max(nearest.values()) - start <= within:
            return True
    return False
