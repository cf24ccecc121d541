"""Whether one intent fires on one turn, and the first rule that stops it: one definition for `match` and `explain`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from intents import keys
from intents.display import moment
from intents.errors import InvalidIntent
from intents.lifecycle import Status
from intents.triggers import AnalysedTurn, CompiledTrigger, Decision, analyse_turn, compile_trigger, decide, describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from intents.context import Block
    from intents.models import StandingIntent
    from intents.schemas import Rule, Turn
    from intents.settings import Settings


class TurnReading:
    """A turn, read once: its key, its scopes and its analysed text.

    Args:
        turn: the turn.
        settings: the agent and the analyzer.
    """

    def __init__(self, turn: Turn, settings: Settings) -> None:
        self.turn = turn
        self.settings = settings
        self.key = keys.turn_key(settings.agent_id, turn.identity, turn.id)
        self.scopes = keys.scopes_of(settings.agent_id, turn)

    @cached_property
    def text(self) -> AnalysedTurn:
        """The analysed text; not touched by turns that no rule lets match."""
        return analyse_turn(self.turn.text, self.settings.analyzer)

    def trigger_of(self, row: Any) -> CompiledTrigger:
        """The compiled trigger of a row or candidate; one that another analyzer compiled is compiled afresh."""
        if row.analyzer_version != self.settings.analyzer_version(row.language):
            try:
                return compile_trigger(
                    row.trigger_keywords,
                    exclude=row.exclude_keywords,
                    language=row.language,
                    within=row.within,
                    analyzer=self.settings.analyzer,
                )
            except InvalidIntent:
                # This analyzer refuses what an older one took; the stored clauses are still its meaning.
                pass
        return CompiledTrigger.from_json(row.clauses)

    def decide(self, row: Any) -> Decision:
        """Decide the trigger of a row or candidate on this turn."""
        return decide(self.trigger_of(row), self.text)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one intent does on one turn.

    Attributes:
        rule: the first rule that stops it; None when it fires.
        keyword: the completed entry; None when none is.
        detail: one sentence for a person.
    """

    rule: Rule | None
    keyword: str | None
    detail: str


def judge(row: StandingIntent, reading: TurnReading, now: datetime) -> Verdict:
    """Apply every rule that concerns this intent alone, in the order in which they are reported."""
    if row.status == Status.PENDING and not row.has_expired(now):
        return Verdict("pending", None, "It is not armed yet.")
    if reading.scopes.get(row.scope) != (row.channel_key, row.sender_key):
        return Verdict("scope", None, _out_of_scope(row, reading))
    stopped = _cannot_fire(row, now)
    if stopped is not None:
        return stopped
    report = describe(reading.trigger_of(row), reading.text)
    if report.rule is not None:
        return Verdict(report.rule, report.keyword, report.detail)
    if reading.key is not None and reading.key == row.source_turn_key:
        return Verdict("creating_turn", report.keyword, "This turn created the intent; it fires on later ones.")
    return Verdict(None, report.keyword, report.detail)


def _out_of_scope(row: StandingIntent, reading: TurnReading) -> str:
    places, persons = ({key for key, _ in reading.scopes.values()}, {key for _, key in reading.scopes.values()})
    elsewhere, another = row.channel_key not in places, row.sender_key not in persons
    if another and reading.turn.identity.sender_id is None:
        if not elsewhere:
            return "The turn has no known sender, and this intent listens to one person."
        another = False
    if elsewhere and another:
        where = "from another place and from another person"
    elif another:
        where = "from another person"
    elif elsewhere:
        where = "from another place"
    else:
        where = "from another place or person"  # a row whose index term is not that of its scope
    return f"The turn comes {where} than this intent listens to."


def _cannot_fire(row: StandingIntent, now: datetime) -> Verdict | None:
    if row.status == Status.CANCELLED:
        return Verdict("cancelled", None, "It was cancelled.")
    if row.status == Status.EXPIRED or (row.is_live and row.has_expired(now)):
        return Verdict("expired", None, f"It expired at {moment(row.expires_at)}.")
    if row.hold_has_lapsed(now):
        return None
    if row.is_held(now):
        return Verdict("held", None, "Its last firing still awaits the delivery of a reply.")
    if not row.has_cooled_down(now):
        assert row.rearm_at is not None  # noqa: S101 - what has not cooled down has a time at which it does
        return Verdict("cooldown", None, f"It is cooling down until {moment(row.rearm_at)}.")
    if not row.has_budget(now):
        return Verdict("budget", None, f"All its {row.max_fires} fires are spent.")
    return None


def outcomes(
    rows: Iterable[StandingIntent], reading: TurnReading, now: datetime, block: Block
) -> Iterator[tuple[StandingIntent, Verdict]]:
    """Judge rows, oldest first, with the rules that concern the turn as a whole: how many fire, what the block holds.

    The block collects the lines of the rows whose verdict has no rule.
    """
    fired = 0
    for row in rows:
        verdict = judge(row, reading, now)
        if verdict.rule is None:
            if fired == reading.settings.limits.fires_per_turn:
                verdict = Verdict("per_turn_limit", verdict.keyword, f"{fired} older intents fire on this turn.")
            elif not block.add(reading.settings.wording.render(row.description, row.created_at)):
                verdict = Verdict("block_full", verdict.keyword, "Its line does not fit in the block any more.")
            else:
                fired += 1
        yield row, verdict
