"""Pydantic inputs and results: frozen values that outlive any session.

Building one raises pydantic's `ValidationError` for what can be judged without clock, owner, language or database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Annotated, Literal, Self, overload

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from intents.fields import (
    ID_CHARS,
    AccountId,
    Description,
    Duration,
    Line,
    OptionalId,
    Person,
    Provider,
    SenderId,
    TurnText,
)
from intents.lifecycle import Status

MAX_FIRES = 1000
MAX_COOLDOWN = timedelta(days=366)
MAX_LIFETIME = timedelta(days=3653)
#: Longest description and keyword that `Limits` may allow.
MAX_TEXT = 10_000

ChannelScope = Literal["conversation", "channel", "anywhere"]
SenderScope = Literal["sender", "anyone"]
TurnKind = Literal["user", "heartbeat", "cron", "system"]


class _Frozen(BaseModel):
    # The text of another person must not come back in a message or a log.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Identity(_Frozen):
    """An authenticated identity, as the host's channel adapter knows it; never taken from a message or a tool call.

    Attributes:
        provider: the channel's kind (``slack``); compared trimmed and case-folded.
        sender_id: who speaks; None (also for blank and for placeholders such as ``unknown``) when not known.
        account_id: the workspace or bot account at the provider.
        conversation_id: the room, thread or chat; None when there is none.
    """

    provider: Provider
    sender_id: SenderId = None
    account_id: AccountId = "default"
    conversation_id: OptionalId = None


class Admin(_Frozen):
    """An authenticated operator: may inspect and cancel, never create.

    Attributes:
        name: what the audit log calls the operator.
    """

    name: Annotated[Line, Field(min_length=1, max_length=ID_CHARS)]


class Turn(_Frozen):
    """One inbound message.

    Attributes:
        text: the message.
        identity: who sent it where.
        id: the channel's message id; with it a repeated turn spends nothing. Ids count within provider, account and
            conversation.
        session_id: the host's session, recorded only.
        kind: ``user`` turns match; the others never do.
        at: when it was sent, recorded only; eligibility follows the injected clock.
    """

    text: TurnText
    identity: Identity
    id: OptionalId = None
    session_id: OptionalId = None
    kind: TurnKind = "user"
    at: AwareDatetime | None = None


class IntentCreate(_Frozen):
    """A draft of an intent.

    Attributes:
        description: what to remind of; kept as one clean line.
        trigger_keywords: one completed keyword is enough; it is complete when all its words occur in the turn.
        exclude_keywords: a completed keyword of these keeps the intent silent.
        channel_scope: ``conversation`` (one room), ``channel`` (provider and account) or ``anywhere``.
        conversation_id: the room, for ``conversation``; the creator's own when None.
        sender_scope: ``sender`` (one person's turns) or ``anyone``.
        sender_id: whose turns, for ``sender``; the creator's own when None. Never who owns.
        expires_at: aware; `Limits.expires_after` from now when None.
        max_fires: fire budget, 1 to 1000; `Limits.max_fires` when None.
        cooldown: least time between fires, 0 to 366 days, also written (``"24h"``, ``"2 weeks"``, ``"P1D"``);
            `Limits.cooldown` when None.
        language: ISO 639-1 code of the keywords, ``und`` for exact words; the analyzer's first when None.
        within: a keyword's words must lie within this many word positions.
        armed: False keeps the intent pending until `arm`.
    """

    description: Annotated[Description, Field(max_length=MAX_TEXT)]
    trigger_keywords: Annotated[list[Line], Field(min_length=1)]
    exclude_keywords: list[Line] = Field(default_factory=list)
    channel_scope: ChannelScope = "channel"
    conversation_id: OptionalId = None
    sender_scope: SenderScope = "sender"
    sender_id: Person = None
    expires_at: AwareDatetime | None = None
    max_fires: Annotated[int, Field(ge=1, le=MAX_FIRES)] | None = None
    cooldown: Annotated[Duration, Field(ge=timedelta(0), le=MAX_COOLDOWN)] | None = None
    language: str | None = None
    within: Annotated[int, Field(ge=1, le=10_000)] | None = None
    armed: bool = True

    @model_validator(mode="after")
    def _targets_fit_scopes(self) -> Self:
        if self.conversation_id is not None and self.channel_scope != "conversation":
            raise ValueError('conversation_id needs channel_scope="conversation"')
        if self.sender_id is not None and self.sender_scope != "sender":
            raise ValueError('sender_id needs sender_scope="sender"')
        return self


class IntentRead(_Frozen):
    """An intent as it stands at the clock; `status` is the effective one.

    Attributes:
        rearm_at: from when it may fire again (while a firing is held: until when it is held); None when nothing waits.
        advice: sentences on keywords that will fire rarely or too often; given at creation, empty elsewhere.
    """

    id: str
    agent_id: str
    description: str
    trigger_keywords: list[str]
    exclude_keywords: list[str]
    language: str
    within: int | None
    channel_scope: ChannelScope
    sender_scope: SenderScope
    conversation_id: str | None
    sender_id: str | None
    creator: Identity
    status: Status
    fire_count: int
    max_fires: int
    cooldown: timedelta
    expires_at: AwareDatetime
    last_fired_at: AwareDatetime | None
    rearm_at: AwareDatetime | None
    created_at: AwareDatetime
    advice: tuple[str, ...] = ()


class IntentEventRead(_Frozen):
    """One line of an intent's audit log, oldest first.

    Attributes:
        event: ``create`` or an event of the lifecycle table.
        from_status: None for ``create``.
        actor: who moved it: an owner as ``provider/account:sender``, an admin as ``admin:name``, ``turn`` or ``sweep``.
        detail: the completed keyword of a fire, the reason of a cancel or release.
    """

    event: str
    from_status: Status | None
    to_status: Status
    at: AwareDatetime
    turn_id: str | None
    actor: str
    detail: str | None


class Match(_Frozen):
    """One intent that fired on the turn, with the keyword that the turn completed."""

    intent: IntentRead
    keyword: str


class Matches(_Frozen, Sequence[Match]):
    """What fired on a turn: a sequence of `Match`, oldest intent first.

    Attributes:
        context: the hidden block for the prompt; None when nothing fired.
        truncated: True when more than `Limits.candidates` intents that could fire now, in the turn's scopes, are
            anchored at its words; the youngest of them are not looked at.
        duplicate: True when the turn id was seen before and this is its first answer again.
        skipped: None, or why nothing was decided: ``kind``, ``deadline``, ``cancelled``, ``busy``, ``no_invocation``,
            ``no_conversation``.
        candidates: how many intents the index proposed; None for a repeated id and for a skipped turn.
        completed: how many of them the turn's words complete, before time, budget and room are asked; None likewise.
    """

    matches: tuple[Match, ...] = ()
    context: str | None = None
    truncated: bool = False
    duplicate: bool = False
    skipped: str | None = None
    candidates: int | None = None
    completed: int | None = None

    def __len__(self) -> int:
        return len(self.matches)

    def __iter__(self) -> Iterator[Match]:  # type: ignore[override]
        return iter(self.matches)

    @overload
    def __getitem__(self, index: int) -> Match: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Match]: ...
    def __getitem__(self, index: int | slice) -> Match | Sequence[Match]:
        return self.matches[index]


Rule = Literal[
    "turn_kind",
    "duplicate",
    "pending",
    "cancelled",
    "scope",
    "expired",
    "cooldown",
    "budget",
    "held",
    "keywords",
    "excluded",
    "within",
    "creating_turn",
    "truncated",
    "per_turn_limit",
    "block_full",
]


class Explanation(_Frozen):
    """Why an intent would fire on a turn, or the first rule that stops it.

    Attributes:
        fires: whether `match` would fire it now.
        rule: the first rule that stops it; None when it fires.
        keyword: the completed keyword; None when none is.
        detail: one sentence for a person.
    """

    intent: IntentRead
    fires: bool
    rule: Rule | None
    keyword: str | None
    detail: str


class SweepResult(_Frozen):
    """How many rows a sweep moved, by kind; `more` when the limit stopped it."""

    expired: int = 0
    rearmed: int = 0
    released: int = 0
    more: bool = False


class ReindexResult(_Frozen):
    """What a batch of `IntentService.reindex` did.

    Attributes:
        renewed: rows compiled and indexed afresh.
        kept: rows that this analyzer refuses (its languages lack theirs); they are matched by what is stored.
        after: where the next batch begins; None when there was nothing to do.
        more: whether another batch is needed.
    """

    renewed: int = 0
    kept: int = 0
    after: int | None = None
    more: bool = False


class PruneResult(_Frozen):
    """How many intents a batch of `IntentService.prune` removed; `more` when the limit stopped it."""

    intents: int = 0
    more: bool = False


class Statistics(_Frozen):
    """What `IntentService.statistics` counts; statuses are the effective ones at the clock.

    Attributes:
        by_status: how many intents have each status, zeros included.
        firings: how many firings were delivered or are held.
        released: how many were given back.
        turns: how many turns fired something, delivered or held.
        last_fired_at: when an intent fired last; None when none has.
        next_expiry: when the next live intent expires; None when none is live.
    """

    by_status: dict[Status, int]
    firings: int
    released: int
    turns: int
    last_fired_at: AwareDatetime | None
    next_expiry: AwareDatetime | None

    @property
    def total(self) -> int:
        """How many intents there are in all."""
        return sum(self.by_status.values())


class IntentFires(_Frozen):
    """How often one intent fired.

    Attributes:
        id: the intent.
        description: what it reminds of.
        fires: its firings in the time asked for, those given back left out.
    """

    id: str
    description: str
    fires: int


class Moves(_Frozen):
    """How often intents took one arrow of the lifecycle.

    Attributes:
        event: the event, ``create`` included.
        from_status: where the arrow begins; None for ``create``.
        to_status: where it ends.
        count: lines of the log that say so.
    """

    event: str
    from_status: Status | None
    to_status: Status
    count: int


class Activity(_Frozen):
    """What `IntentService.activity` counts.

    Attributes:
        by_status: how many intents have each effective status now, zeros included.
        by_day: firings of each day in UTC, oldest first, zeros included, those given back left out.
        by_intent: the intents that fired most in that time, most first.
        moves: how often each arrow was taken, ever.
    """

    by_status: dict[Status, int]
    by_day: dict[date, int]
    by_intent: tuple[IntentFires, ...]
    moves: tuple[Moves, ...]


class Limits(_Frozen):
    """Bounds and defaults of a service.

    Attributes:
        candidates: how many candidates of the prefilter a turn looks at.
        fires_per_turn: how many intents fire on one turn.
        context_chars: longest hidden block, tags included, in characters.
        description_chars: longest description, in characters.
        keywords: most keywords of an intent, trigger and exclude each.
        keyword_chars: longest keyword, in characters.
        max_fires: default fire budget.
        cooldown: default cooldown.
        expires_after: default lifetime.
        hold_for: how long a held delivery may wait for `confirm`.
        lock_wait: longest wait for the write lock.
    """

    candidates: Annotated[int, Field(ge=1, le=10_000)] = 256
    fires_per_turn: Annotated[int, Field(ge=1, le=100)] = 3
    context_chars: Annotated[int, Field(ge=100, le=100_000)] = 1200
    description_chars: Annotated[int, Field(ge=1, le=MAX_TEXT)] = 500
    keywords: Annotated[int, Field(ge=1, le=256)] = 24
    keyword_chars: Annotated[int, Field(ge=1, le=MAX_TEXT)] = 120
    max_fires: Annotated[int, Field(ge=1, le=MAX_FIRES)] = 3
    cooldown: Annotated[Duration, Field(ge=timedelta(0), le=MAX_COOLDOWN)] = timedelta(hours=24)
    expires_after: Annotated[Duration, Field(gt=timedelta(0), le=MAX_LIFETIME)] = timedelta(days=90)
    hold_for: Annotated[Duration, Field(gt=timedelta(0), le=timedelta(days=1))] = timedelta(minutes=10)
    lock_wait: Annotated[Duration, Field(ge=timedelta(0), le=timedelta(minutes=5))] = timedelta(seconds=2)
