"""The reference model: what standing intents do, as plain Python over plain lists. No database, no index, no lock.

It is written from the specification, to be held against the library. Text is reduced to words between spaces, so
scenarios use words that no stemmer touches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

LIVE = ("pending", "armed", "fired")
FIRES_PER_TURN = 3
BLOCK_CHARS = 1200
HOLD_FOR = timedelta(minutes=10)


class Refused(Exception):
    """The call is refused; the name is that of the library's exception."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Who(NamedTuple):
    """An identity at one provider and account."""

    conversation: str | None
    sender: str | None


class Line(NamedTuple):
    """One line of the audit log."""

    event: str
    source: str | None
    target: str
    at: datetime
    turn_id: str | None
    detail: str | None


@dataclass(eq=False)
class Turn:
    """A turn that fired something."""

    turn_id: str | None
    held_until: datetime | None = None
    released: bool = False
    context: str = ""
    firings: list[Firing] = field(default_factory=list)

    def firings_that_stand(self) -> list[Firing]:
        return [firing for firing in self.firings if not firing.given_back]


@dataclass(eq=False)
class Firing:
    """One intent fired on one turn."""

    intent: Intent
    keyword: str
    at: datetime
    previous: datetime | None
    given_back: bool = False


@dataclass(eq=False)
class Intent:
    """One standing intent."""

    agent: str
    creator: Who
    description: str
    keywords: tuple[str, ...]
    exclude: tuple[str, ...]
    channel: str  # "conversation", "channel" or "anywhere"; there is only one channel
    conversation: str | None  # None: any conversation
    sender: str | None  # None: anyone
    created_at: datetime
    expires_at: datetime
    max_fires: int
    cooldown: timedelta
    created_on: tuple[Any, ...] | None
    id: str = ""
    status: str = "pending"
    fire_count: int = 0
    last_fired_at: datetime | None = None
    rearm_at: datetime | None = None
    held_by: Turn | None = None
    log: list[Line] = field(default_factory=list)

    def wish(self) -> tuple[Any, ...]:
        """What makes two intents identical."""
        return (
            self.agent, self.creator.sender, self.description, frozenset(self.keywords), frozenset(self.exclude),
            self.channel, self.conversation, self.sender,
        )  # fmt: skip

    def listens_to(self, who: Who) -> bool:
        return self.conversation in (None, who.conversation) and self.sender in (None, who.sender)

    def completed_by(self, text: str) -> str | None:
        """The first entry whose words all occur, unless an exclusion's words do too."""
        words = set(text.split())
        if any(words.issuperset(entry.split()) for entry in self.exclude):
            return None
        return next((entry for entry in self.keywords if words.issuperset(entry.split())), None)

    def has_expired(self, now: datetime) -> bool:
        return self.status in LIVE and self.expires_at <= now

    def hold_has_lapsed(self, now: datetime) -> bool:
        return self.held_by is not None and self.rearm_at is not None and self.rearm_at <= now

    def could_fire(self, now: datetime) -> bool:
        if self.status not in ("armed", "fired") or self.has_expired(now):
            return False
        if self.held_by is not None:
            return self.hold_has_lapsed(now)
        return self.fire_count < self.max_fires and (self.rearm_at is None or self.rearm_at <= now)

    def status_at(self, now: datetime) -> str:
        """The status that a reader is shown, whatever was written down yet."""
        if self.has_expired(now):
            return "expired"
        return "armed" if self.status == "fired" and self.could_fire(now) else self.status

    def move(
        self, event: str, target: str, now: datetime, turn_id: str | None = None, detail: str | None = None
    ) -> None:
        self.log.append(Line(event, self.status if event != "create" else None, target, now, turn_id, detail))
        self.status = target
        if target not in LIVE:
            self.held_by = self.rearm_at = None


@dataclass
class Answer:
    """What a turn is told."""

    fired: list[tuple[Intent, str]] = field(default_factory=list)
    context: str | None = None
    duplicate: bool = False
    skipped: str | None = None


class Model:
    """All agents' intents and the turns that fired them."""

    def __init__(self, now: datetime, owners: set[str]) -> None:
        self.now = now
        self.owners = owners
        self.intents: list[Intent] = []
        self.turns: dict[tuple[Any, ...], Turn] = {}

    def create(self, draft: Intent, *, armed: bool) -> Intent:
        if draft.creator.sender not in self.owners:
            raise Refused("NotAuthorized")
        if draft.expires_at <= self.now:
            raise Refused("InvalidIntent")
        for twin in self.intents:
            if twin.wish() == draft.wish() and twin.status in LIVE:
                if not twin.has_expired(self.now):
                    return twin
                twin.move("expire", "expired", self.now)
        turn_id = draft.created_on[-1] if draft.created_on else None
        draft.move("create", "pending", self.now, turn_id)
        if armed:
            draft.move("arm", "armed", self.now, turn_id)
        self.intents.append(draft)
        return draft

    def arm(self, intent: Intent, by: Who) -> None:
        if by.sender not in self.owners:
            raise Refused("NotAuthorized")
        if intent.status_at(self.now) not in ("pending", "armed"):
            raise Refused("TransitionNotAllowed")
        if intent.status == "pending":
            intent.move("arm", "armed", self.now)

    def cancel(self, intent: Intent, by: Who, reason: str | None) -> None:
        if by.sender not in self.owners:
            raise Refused("NotAuthorized")
        if intent.status_at(self.now) in ("done", "expired"):
            raise Refused("TransitionNotAllowed")
        if intent.status != "cancelled":
            intent.move("cancel", "cancelled", self.now, detail=reason)

    def match(
        self, agent: str, who: Who, text: str, *, turn_id: str | None, kind: str = "user", hold: bool = False
    ) -> Answer:
        if kind != "user":
            return Answer(skipped="kind")
        if hold and turn_id is None:
            raise Refused("InvalidIntent")
        key = turn_key(agent, who, turn_id)
        turn = self.turns.get(key) if key else None
        if turn and not turn.released and (turn.held_until is None or turn.held_until > self.now):
            standing = turn.firings_that_stand()
            return Answer([(firing.intent, firing.keyword) for firing in standing], turn.context, duplicate=True)
        chosen: list[tuple[Intent, str]] = []
        lines: list[str] = []
        for intent in self.intents:  # oldest first
            keyword = intent.completed_by(text)
            if intent.agent != agent or keyword is None or not intent.listens_to(who):
                continue
            if not intent.could_fire(self.now) or (key and key == intent.created_on):
                continue
            line = f"Standing intent (created {intent.created_at.date()}): {intent.description}"
            if len(chosen) < FIRES_PER_TURN and len(block([*lines, line])) <= BLOCK_CHARS:
                chosen.append((intent, keyword))
                lines.append(line)
        if not chosen:
            return Answer()
        if turn is None:
            turn = Turn(turn_id)
            self.turns[key or (object(),)] = turn
        elif turn.held_until is not None:
            self._give_back(turn, "the hold lapsed")
        turn.released, turn.context = False, block(lines)
        turn.held_until = self.now + HOLD_FOR if hold else None
        for intent, keyword in chosen:
            self._fire(intent, turn, keyword)
        return Answer(chosen, turn.context)

    def _fire(self, intent: Intent, turn: Turn, keyword: str) -> None:
        if intent.held_by is not None:
            self._give_back(intent.held_by, "the hold lapsed")
        if intent.status == "fired":
            intent.move("rearm", "armed", self.now, turn.turn_id)
        turn.firings.append(Firing(intent, keyword, self.now, intent.last_fired_at))
        intent.move("fire", "fired", self.now, turn.turn_id, keyword)
        intent.fire_count += 1
        intent.last_fired_at = self.now
        intent.rearm_at = turn.held_until or self.now + intent.cooldown
        intent.held_by = turn if turn.held_until else None
        if intent.held_by is None and intent.fire_count == intent.max_fires:
            intent.move("complete", "done", self.now, turn.turn_id)

    def confirm(self, agent: str, who: Who, turn_id: str | None) -> int:
        turn = self._named(agent, who, turn_id)
        if turn is None or turn.held_until is None or turn.held_until <= self.now:
            return 0
        turn.held_until = None
        for firing in turn.firings_that_stand():
            intent = firing.intent
            if intent.held_by is not turn:
                continue
            if intent.has_expired(self.now):
                intent.move("expire", "expired", self.now)
                continue
            intent.held_by = None
            intent.rearm_at = firing.at + intent.cooldown
            if intent.fire_count == intent.max_fires:
                intent.move("complete", "done", self.now, turn.turn_id)
        return len(turn.firings_that_stand())

    def release(self, agent: str, who: Who, turn_id: str | None, reason: str | None) -> int:
        turn = self._named(agent, who, turn_id)
        if turn is None or turn.held_until is None:
            return 0
        count = len(turn.firings_that_stand())
        self._give_back(turn, reason)
        return count

    def is_held(self, agent: str, who: Who, turn_id: str | None) -> bool:
        turn = self.turns.get(turn_key(agent, who, turn_id) or ())
        return turn is not None and turn.held_until is not None

    def _named(self, agent: str, who: Who, turn_id: str | None) -> Turn | None:
        key = turn_key(agent, who, turn_id)
        if key is None:
            raise Refused("InvalidIntent")
        return self.turns.get(key)

    def _give_back(self, turn: Turn, reason: str | None) -> int:
        moved = 0
        for firing in turn.firings_that_stand():
            intent = firing.intent
            firing.given_back = True
            if intent.held_by is not turn:
                continue
            if intent.has_expired(self.now):
                intent.move("expire", "expired", self.now)
                continue
            intent.move("release", "armed", self.now, turn.turn_id, reason)
            intent.fire_count -= 1
            intent.last_fired_at = firing.previous
            intent.rearm_at = firing.previous + intent.cooldown if firing.previous else None
            intent.held_by = None
            moved += 1
        turn.released, turn.held_until = True, None
        return moved

    def sweep(self, agent: str) -> tuple[int, int, int]:
        """Write down what time has decided: how many expired, were rearmed, were released."""
        mine = [intent for intent in self.intents if intent.agent == agent]
        expired = [intent for intent in mine if intent.has_expired(self.now)]
        for intent in expired:
            intent.move("expire", "expired", self.now)
        lapsed = [intent.held_by for intent in mine if intent.held_by and intent.hold_has_lapsed(self.now)]
        released = sum(self._give_back(turn, "the hold lapsed") for turn in dict.fromkeys(lapsed))
        cooled = [intent for intent in mine if intent.status == "fired" and intent.could_fire(self.now)]
        for intent in cooled:
            intent.move("rearm", "armed", self.now)
        return len(expired), len(cooled), released

    def list(self, agent: str, status: str | None = None, *, live: bool = False) -> list[Intent]:
        return [
            intent
            for intent in self.intents
            if intent.agent == agent
            and status in (None, intent.status_at(self.now))
            and (not live or intent.status_at(self.now) in LIVE)
        ]


def turn_key(agent: str, who: Who, turn_id: str | None) -> tuple[Any, ...] | None:
    """Turn ids count within an agent's conversation; without one, each sender is a conversation."""
    place = who.conversation or ("alone with", who.sender)
    return None if turn_id is None else (agent, place, turn_id)


def block(lines: list[str]) -> str:
    return "\n".join(["<standing_intents>", *lines, "</standing_intents>"])
