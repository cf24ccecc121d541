"""Creating an intent: an owner's draft, judged, compiled, anchored and written once."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from sqlalchemy import bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from intents import keys, lifecycle
from intents.context import Block
from intents.errors import ConcurrentUpdate, InvalidIntent, InvalidTrigger
from intents.index.base import ROWS_PER_QUERY, batched, encode_terms
from intents.models import TWINS_INDEX, StandingIntent
from intents.policy import actor_name
from intents.repository import journal
from intents.repository.reading import as_read
from intents.repository.work import BATCH
from intents.schemas import MAX_LIFETIME, Identity, IntentCreate, IntentRead, Turn
from intents.triggers import advise, anchor_candidates, canonical_keywords, choose_anchors, compile_trigger

if TYPE_CHECKING:
    from intents.lifecycle import Moved
    from intents.repository.work import Work
    from intents.schemas import Limits
    from intents.triggers import CompiledTrigger


_COLUMNS = tuple(column.key for column in StandingIntent.__mapper__.column_attrs if column.key != "key")
_INSERT = insert(StandingIntent)
_KEYS = select(StandingIntent.key, StandingIntent.id).where(StandingIntent.id.in_(bindparam("ids", expanding=True)))
_TWINS = (
    select(StandingIntent.key)
    .where(
        StandingIntent.agent_id == bindparam("agent_id"),
        StandingIntent.fingerprint.in_(bindparam("fingerprints", expanding=True)),
        lifecycle.is_live_sql(StandingIntent),
    )
    .order_by(StandingIntent.key)
    .with_for_update()
)

#: Advice with an intent that was there already.
TWIN = "An identical live intent was there already and is returned; its budget, cooldown, expiry and status stand."


@dataclass(frozen=True, slots=True)
class _Target:
    """Whose turns match, and where."""

    channel_key: str | None
    conversation_id: str | None
    sender_key: str | None
    sender_id: str | None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A draft that was judged and compiled; only the database has not been asked yet."""

    row: StandingIntent
    compiled: CompiledTrigger
    moves: Sequence[Moved]


def create(work: Work, draft: IntentCreate, *, by: Identity, turn_id: str | None, session_id: str | None) -> IntentRead:
    """Create an intent, or return the identical live one; see `IntentService.create`."""
    author = _Author.of(work, by, turn_id, session_id)
    now = work.settings.now()
    return _store(work, [_prepare(work, draft, author, now)], author, now)[0]


def create_many(
    work: Work, drafts: Sequence[IntentCreate], *, by: Identity, turn_id: str | None, session_id: str | None
) -> list[IntentRead]:
    """Create all intents or none; see `IntentService.create_many`."""
    if len(drafts) > BATCH:
        raise InvalidIntent("drafts", f"one call takes up to {BATCH:,}; divide them among several.")
    author = _Author.of(work, by, turn_id, session_id)
    now = work.settings.now()
    prepared = []
    for number, draft in enumerate(drafts):
        try:
            prepared.append(_prepare(work, draft, author, now))
        except InvalidIntent as error:
            raise error.within(f"drafts[{number}]") from error
    return _store(work, prepared, author, now) if prepared else []


@dataclass(frozen=True, slots=True)
class _Author:
    """Who creates, on which turn and in which session."""

    identity: Identity
    owner: str
    turn_id: str | None
    turn_key: str | None
    session_id: str | None

    @classmethod
    def of(cls, work: Work, by: Identity, turn_id: str | None, session_id: str | None) -> _Author:
        owner = work.settings.owners.require_owner(by, "create")
        source = _source(by, turn_id, session_id)
        return cls(by, owner, source.id, keys.turn_key(work.agent_id, by, source.id), source.session_id)


def _prepare(work: Work, draft: IntentCreate, author: _Author, now: datetime) -> _Prepared:
    limits, analyzer, by = work.settings.limits, work.settings.analyzer, author.identity
    _check_limits(draft, limits)
    language = analyzer.require(draft.language)
    compiled = compile_trigger(
        draft.trigger_keywords,
        exclude=draft.exclude_keywords,
        language=language,
        within=draft.within,
        analyzer=analyzer,
    )
    target = _target(draft, by, author.owner)
    _check_line(work, draft, now)
    row = _transient(
        id=str(uuid.uuid4()),
        agent_id=work.agent_id,
        description=draft.description,
        trigger_keywords=list(draft.trigger_keywords),
        exclude_keywords=list(draft.exclude_keywords),
        language=language,
        within=draft.within,
        clauses=compiled.to_json(),
        scope=keys.scope_term(work.agent_id, target.channel_key, target.sender_key),
        analyzer_version=work.settings.analyzer_version(language),
        channel_scope=draft.channel_scope,
        channel_key=target.channel_key,
        conversation_id=target.conversation_id,
        sender_scope=draft.sender_scope,
        sender_key=target.sender_key,
        sender_id=target.sender_id,
        creator_provider=by.provider,
        creator_account=by.account_id,
        creator_sender=author.owner,
        creator_conversation=by.conversation_id,
        source_session_id=author.session_id,
        source_turn_key=author.turn_key,
        fingerprint=_fingerprint(work, draft, by, target, language),
        expires_at=_expiry(draft, now, limits),
        max_fires=draft.max_fires or limits.max_fires,
        cooldown_seconds=(limits.cooldown if draft.cooldown is None else draft.cooldown).total_seconds(),
        created_at=now,
        updated_at=now,
        status=lifecycle.Status.PENDING,
        fire_count=0,
        version=1,
    )
    moves = [journal.CREATED]
    if draft.armed:
        moves.append(lifecycle.advance("arm", row, now=now))
    return _Prepared(row, compiled, moves)


def _transient(**values: Any) -> StandingIntent:
    """Make a row that no session will see, and that needs no history of its attributes: a third of the cost."""
    row = StandingIntent()
    vars(row).update(values)
    return row


def _store(work: Work, prepared: Sequence[_Prepared], author: _Author, now: datetime) -> list[IntentRead]:
    with work.writing():
        try:
            stored = _write_missing(work, prepared, now)
        except IntegrityError:
            # A rival's insert was committed between the look and ours; only dialects without a database lock allow it.
            stored = _second_look(work, prepared, now)
        actor = actor_name(author.identity)
        results = []
        for each in prepared:
            row, advice = stored[each.row.fingerprint], advise(each.compiled, work.settings.analyzer)
            if row is each.row:
                for moved in each.moves:
                    journal.record(work, row, moved, now=now, actor=actor, turn_id=author.turn_id)
            else:
                advice = (*advice, TWIN)
            results.append(as_read(row, now, advice=advice))
        return results


def _second_look(work: Work, prepared: Sequence[_Prepared], now: datetime) -> dict[str, StandingIntent]:
    try:
        return _write_missing(work, prepared, now)
    except IntegrityError as error:
        if TWINS_INDEX not in str(error.orig):
            raise
        # Another rival, or a snapshot that does not move on.
        raise ConcurrentUpdate(
            "Another transaction creates identical intents at the same time.", transaction_lost=True
        ) from error


def _write_missing(work: Work, prepared: Sequence[_Prepared], now: datetime) -> dict[str, StandingIntent]:
    """Write the rows that have no live twin, in the table or before them; return what is stored by fingerprint."""
    stored = _live_twins(work, [each.row.fingerprint for each in prepared], now)
    missing: dict[str, _Prepared] = {}
    for each in prepared:
        if each.row.fingerprint not in stored:
            missing.setdefault(each.row.fingerprint, each)
    fresh = list(missing.values())
    if fresh:
        choose_anchors_of(work, [(each.row, each.compiled) for each in fresh])
        with work.savepoint_for_race():
            _insert(work, [each.row for each in fresh])
    return {**stored, **{each.row.fingerprint: each.row for each in fresh}}


def _insert(work: Work, rows: Sequence[StandingIntent]) -> None:
    """Write new rows together and learn their keys.

    They are no objects of the session: a unit of work for each costs more than all the rest.
    """
    values = [{name: row.__dict__.get(name) for name in _COLUMNS} for row in rows]
    if len(rows) == 1:
        rows[0].key = work.connection.execute(_INSERT, values[0]).inserted_primary_key.key  # type: ignore[union-attr]
    else:
        work.connection.execute(_INSERT, values)
        by_id = {row.id: row for row in rows}
        for ids in batched(by_id, ROWS_PER_QUERY):
            for key, intent_id in work.connection.execute(_KEYS, {"ids": ids}):
                by_id[intent_id].key = key
    work.index.add(work.connection, rows)
    if len(rows) > 1:
        work.index.tidy(work.connection, moved=len(rows))


def _source(by: Identity, turn_id: str | None, session_id: str | None) -> Turn:
    try:
        return Turn(text="", identity=by, id=turn_id, session_id=session_id)
    except ValidationError as error:
        complaint = error.errors(include_url=False, include_input=False)[0]
        field = {"id": "turn_id"}.get(str(complaint["loc"][0]), str(complaint["loc"][0]))
        raise InvalidIntent(field, complaint["msg"].removeprefix("Value error, ") + ".") from error


def _check_limits(draft: IntentCreate, limits: Limits) -> None:
    if len(draft.description) > limits.description_chars:
        raise InvalidIntent(
            "description",
            f"is {len(draft.description)} characters long and may have {limits.description_chars}; shorten it.",
        )
    for field, entries in (
        ("trigger_keywords", draft.trigger_keywords),
        ("exclude_keywords", draft.exclude_keywords),
    ):
        if len(entries) > limits.keywords:
            raise InvalidIntent(
                field, f"has {len(entries)} entries and may have {limits.keywords}; keep the most telling."
            )
        for entry in entries:
            if len(entry) > limits.keyword_chars:
                raise InvalidTrigger(
                    entry,
                    f"an entry has {len(entry)} characters and may have {limits.keyword_chars}; keep its key words.",
                    field=field,
                )


def _check_line(work: Work, draft: IntentCreate, now: datetime) -> None:
    if not Block(work.settings.limits.context_chars).add(work.settings.wording.render(draft.description, now)):
        raise InvalidIntent(
            "description",
            f"does not fit in a block of {work.settings.limits.context_chars} characters, so it would never fire; "
            "shorten it.",
        )


def _expiry(draft: IntentCreate, now: datetime, limits: Limits) -> datetime:
    if draft.expires_at is None:
        return now + limits.expires_after
    if draft.expires_at <= now:
        raise InvalidIntent("expires_at", f"lies in the past; it is {now.isoformat()} now. Give a later moment.")
    if draft.expires_at - now > MAX_LIFETIME:
        raise InvalidIntent("expires_at", "lies more than ten years ahead; give a nearer moment.")
    return draft.expires_at


def _target(draft: IntentCreate, by: Identity, owner: str) -> _Target:
    conversation_id = channel = None
    if draft.channel_scope == "conversation":
        conversation_id = draft.conversation_id or by.conversation_id
        if conversation_id is None:
            raise InvalidIntent(
                "conversation_id",
                'the scope "conversation" needs one, and the creator is in none; name it or use "channel".',
            )
        channel = keys.conversation_key(by, conversation_id)
    elif draft.channel_scope == "channel":
        channel = keys.channel_key(by)
    sender_id = sender = None
    if draft.sender_scope == "sender":
        sender_id = draft.sender_id or owner
        sender = keys.sender_key(by, sender_id)
    return _Target(channel, conversation_id, sender, sender_id)


def _fingerprint(work: Work, draft: IntentCreate, by: Identity, target: _Target, language: str) -> str:
    analyzer = work.settings.analyzer
    return keys.digest(
        [
            work.agent_id,
            [draft.channel_scope, target.channel_key],
            [draft.sender_scope, target.sender_key],
            [by.provider, by.account_id, by.sender_id],
            draft.description,
            canonical_keywords(draft.trigger_keywords, analyzer),
            canonical_keywords(draft.exclude_keywords, analyzer),
            language,
            draft.within,
        ]
    )


def _live_twins(work: Work, fingerprints: Sequence[str], now: datetime) -> dict[str, StandingIntent]:
    """Return the live intents with these fingerprints, expired ones written down as such and left out."""
    twins: dict[str, StandingIntent] = {}
    for some in batched(fingerprints, ROWS_PER_QUERY):
        # Most have none, and to ask for objects costs several times as much as to ask for keys.
        found = work.connection.scalars(_TWINS, {"agent_id": work.agent_id, "fingerprints": some}).all()
        twins.update({row.fingerprint: row for row in work.locked_intents(found).values()})
    expired = [row for row in twins.values() if lifecycle.permits("expire", row, now)]
    if expired:
        # Expiry is lazy, but the unique index counts stored statuses: make room before the new row is written.
        for row in expired:
            journal.move(work, row, "expire", now=now, actor=journal.BY_SWEEP)
            del twins[row.fingerprint]
        work.flush()
        work.index.remove(work.connection, [row.key for row in expired])
    return twins


def choose_anchors_of(work: Work, triggers: Sequence[tuple[StandingIntent, CompiledTrigger]]) -> None:
    """Give rows their anchors: for each entry where the agent has fewest, the rows before it counted."""
    candidates = [anchor_candidates(compiled) for _, compiled in triggers]
    usage = work.index.usage(work.connection, agent_id=work.agent_id, terms=frozenset().union(*candidates))
    counts = Counter(usage)
    for row, compiled in triggers:
        anchors = choose_anchors(compiled, counts)
        counts.update(anchors)
        row.anchors = " ".join(encode_terms(work.agent_id, anchors))
