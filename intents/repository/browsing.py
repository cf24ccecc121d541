"""What an operator looks through: the intents of every agent in a database, filtered and paged, and one in full.

Unlike the rest of the repository it is not bound to one agent, as an operator is not. It reads only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Select, func, select

from intents import locks
from intents.errors import IntentNotFound
from intents.index.base import decode_terms
from intents.lifecycle import Status, effective_status_sql
from intents.models import IntentFiring, IntentTurn, StandingIntent
from intents.repository import matching
from intents.repository.reading import as_read, log_of
from intents.repository.work import Work, check_intent_id
from intents.sanitize import encodable
from intents.schemas import IntentEventRead, IntentRead, Turn
from intents.triggers.model import CompiledTrigger

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from intents.settings import Settings

#: Most rows that a page counts; beyond them it says "more than", so that a page's cost has a bound.
COUNT_BOUND: Final = 20_000
#: Most choices of a filter.
CHOICES: Final = 200


@dataclass(frozen=True, slots=True)
class Filters:
    """Which intents to show; None and "" mean any.

    Attributes:
        status: the effective status.
        agent_id: the agent, exactly.
        provider: the channel's kind, exactly.
        account_id: the account at the provider, exactly.
        owner: the creator's sender id, exactly.
        text: a part of the description, in any case.
    """

    status: Status | None = None
    agent_id: str | None = None
    provider: str | None = None
    account_id: str | None = None
    owner: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page of intents, newest first.

    Attributes:
        intents: the rows.
        number: the page, from 1; the last one when a later page was asked for.
        size: how many rows a page holds.
        total: how many there are, at most `COUNT_BOUND`.
        more: whether there are more than that.
    """

    intents: tuple[IntentRead, ...]
    number: int
    size: int
    total: int
    more: bool


@dataclass(frozen=True, slots=True)
class Choices:
    """What there is to filter by, sorted, at most `CHOICES` each.

    Attributes:
        agents: the agents that have intents.
        channels: the providers and accounts of their creators.
    """

    agents: tuple[str, ...]
    channels: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FiringRead:
    """One time that an intent fired.

    Attributes:
        at: when.
        keyword: the entry that the turn completed.
        turn_id: the turn's id at its channel; None when it had none.
        delivery: ``delivered``, ``held`` or ``released``.
        released_at: when it was given back; None when it was not.
    """

    at: datetime
    keyword: str
    turn_id: str | None
    delivery: str
    released_at: datetime | None


@dataclass(frozen=True, slots=True)
class Dossier:
    """Everything about one intent.

    Attributes:
        intent: the intent, with its effective status.
        trigger: what its keywords were compiled to.
        anchors: the terms under which it is indexed.
        analyzer_version: which analyzer compiled it.
        firings: oldest first.
        history: the audit log, oldest first.
    """

    intent: IntentRead
    trigger: CompiledTrigger
    anchors: tuple[str, ...]
    analyzer_version: str
    firings: tuple[FiringRead, ...]
    history: tuple[IntentEventRead, ...]


def browse(session: Session, settings: Settings, filters: Filters, *, page: int, size: int) -> Page:
    """Return one page of the intents that pass the filters, newest first, by effective status.

    Args:
        session: the caller's session.
        settings: the clock counts; the agent does not.
        filters: which.
        page: from 1; a later page than the last gives the last.
        size: rows of a page.
    """
    now = settings.now()
    wanted = _wanted(filters, now)
    with locks.named_errors():
        counted = wanted.with_only_columns(StandingIntent.key).limit(COUNT_BOUND + 1).subquery()
        found = session.scalar(select(func.count()).select_from(counted)) or 0
        total = min(found, COUNT_BOUND)
        number = min(max(page, 1), max(1, -(-total // size)))
        rows = session.scalars(wanted.order_by(StandingIntent.key.desc()).limit(size).offset((number - 1) * size))
        intents = tuple(as_read(row, now) for row in rows)
    return Page(intents, number, size, total, more=found > COUNT_BOUND)


def choices(session: Session) -> Choices:
    """Return what the filters can choose from."""
    agents = select(StandingIntent.agent_id).distinct().order_by(StandingIntent.agent_id).limit(CHOICES)
    channel = (StandingIntent.creator_provider, StandingIntent.creator_account)
    channels = select(*channel).distinct().order_by(*channel).limit(CHOICES)
    with locks.named_errors():
        return Choices(
            tuple(session.scalars(agents)),
            tuple((provider, account) for provider, account in session.execute(channels)),
        )


def examine(session: Session, settings: Settings, intent_id: str) -> Dossier:
    """Return everything about one intent of any agent.

    Raises:
        IntentNotFound: there is none of this id.
    """
    check_intent_id(intent_id)
    with locks.named_errors():
        row = session.scalars(select(StandingIntent).where(StandingIntent.id == intent_id)).one_or_none()
        if row is None:
            raise IntentNotFound(intent_id)
        work = Work.of(session, replace(settings, agent_id=row.agent_id), owns_transaction=False)
        return Dossier(
            intent=as_read(row, settings.now()),
            trigger=CompiledTrigger.from_json(row.clauses),
            anchors=decode_terms(row.anchors),
            analyzer_version=row.analyzer_version,
            firings=_firings(session, row.key),
            history=tuple(log_of(work, intent_id)),
        )


def completed(session: Session, settings: Settings, turn: Turn, *, limit: int) -> tuple[str, ...]:
    """Return the ids of the agent's intents whose trigger a turn completes, oldest first; found by the index.

    Args:
        session: the caller's session.
        settings: whose intents, and how text is read.
        turn: the turn.
        limit: most ids.
    """
    work = Work.of(session, settings, owns_transaction=False)
    keys = list(matching.look(work, turn).keys)[:limit]
    ids = select(StandingIntent.id).where(StandingIntent.key.in_(keys)).order_by(StandingIntent.key)
    with locks.named_errors():
        return tuple(session.scalars(ids))


def _wanted(filters: Filters, now: datetime) -> Select[Any]:
    statement = select(StandingIntent)
    for column, value in (
        (StandingIntent.agent_id, filters.agent_id),
        (StandingIntent.creator_provider, filters.provider),
        (StandingIntent.creator_account, filters.account_id),
        (StandingIntent.creator_sender, filters.owner),
    ):
        if value:
            statement = statement.where(column == encodable(value))
    if filters.text:
        statement = statement.where(StandingIntent.description.icontains(encodable(filters.text), autoescape=True))
    if filters.status is not None:
        statement = statement.where(effective_status_sql(StandingIntent, now) == filters.status)
    return statement


def _firings(session: Session, intent_key: int) -> tuple[FiringRead, ...]:
    rows = session.execute(
        select(IntentFiring, IntentTurn.turn_id, IntentTurn.delivery)
        .join(IntentTurn, IntentTurn.key == IntentFiring.turn_key)
        .where(IntentFiring.intent_key == intent_key)
        .order_by(IntentFiring.key)
    )
    return tuple(
        FiringRead(
            at=firing.fired_at,
            keyword=firing.entry,
            turn_id=turn_id,
            delivery=delivery if firing.released_at is None else "released",
            released_at=firing.released_at,
        )
        for firing, turn_id, delivery in rows
    )
