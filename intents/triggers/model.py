"""The compiled form of trigger keywords, and its JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Part(NamedTuple):
    """One word, emoji or run of a clause.

    Attributes:
        text: the folded text.
        terms: index terms, any of which stands for a word or an emoji; empty for a run, which is sought by its text.
        stop: whether it is a function word of the intent's language.
    """

    text: str
    terms: tuple[str, ...]
    stop: bool = False


class Join(NamedTuple):
    """Neighbouring parts of a clause written as one word: ``rollback`` for ``roll-back``.

    Attributes:
        first: index of the first part that it covers.
        last: index of the last one.
        terms: index terms, any of which stands for the joined word.
    """

    first: int
    last: int
    terms: tuple[str, ...]


class Clause(NamedTuple):
    """One condition of an entry: its parts stand side by side and in order.

    Attributes:
        parts: at least one.
        joins: other ways of writing some of them; only where there are several parts.
    """

    parts: tuple[Part, ...]
    joins: tuple[Join, ...] = ()

    @property
    def text(self) -> str:
        """The clause in one line, folded."""
        return " ".join(part.text for part in self.parts)


class Entry(NamedTuple):
    """One keyword: all of its clauses must hold.

    Attributes:
        keyword: as its author gave it.
        clauses: at least one.
    """

    keyword: str
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class CompiledTrigger:
    """The trigger of one intent, ready to be held against messages.

    Attributes:
        language: code of the language in which its words are compared.
        within: how many positions of a message an entry's terms may span; None: anywhere.
        entries: any one of them is enough.
        exclusions: any one of them forbids.
    """

    language: str
    within: int | None
    entries: tuple[Entry, ...]
    exclusions: tuple[Entry, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the trigger as JSON-safe data, from which `from_json` makes an equal one."""
        return {
            "language": self.language,
            "within": self.within,
            "entries": [_entry_to_json(entry) for entry in self.entries],
            "exclusions": [_entry_to_json(entry) for entry in self.exclusions],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CompiledTrigger:
        """Rebuild a trigger from what `to_json` returned.

        Args:
            data: the decoded JSON object.
        """
        return cls(
            data["language"],
            data["within"],
            tuple([_entry_from_json(entry) for entry in data["entries"]]),
            tuple([_entry_from_json(entry) for entry in data["exclusions"]]),
        )


# Lists instead of objects: this is read for hundreds of candidates a turn. A clause is [parts, joins]; a run, which has
# no terms, is its text alone.
def _entry_to_json(entry: Entry) -> list[Any]:
    return [
        entry.keyword,
        [
            [
                [[part.text, list(part.terms), part.stop] if part.terms else part.text for part in clause.parts],
                [[join.first, join.last, list(join.terms)] for join in clause.joins],
            ]
            for clause in entry.clauses
        ],
    ]


def _entry_from_json(data: list[Any]) -> Entry:
    keyword, clauses = data
    return Entry(
        keyword,
        tuple(
            [
                Clause(
                    tuple([Part(p, ()) if isinstance(p, str) else Part(p[0], tuple(p[1]), p[2]) for p in parts]),
                    tuple([Join(first, last, tuple(terms)) for first, last, terms in joins]) if joins else (),
                )
                for parts, joins in clauses
            ]
        ),
    )
