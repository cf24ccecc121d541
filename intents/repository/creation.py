"""Creating an intent: an owner's draft, judged, compiled, anchored and written once."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from intents import keys, lifecycle
from intents.context import Block
from intents.errors import InvalidIntent, InvalidTrigger
from intents.index.base import encode_terms
from intents.models import StandingIntent
from intents.policy import actor_name
from intents.repository import journal
from intents.repository.reading import as_read
from intents.schemas import MAX_LIFETIME, Identity, IntentCreate, IntentRead, Turn
from intents.triggers import advise, anchor_candidates, canonical_keywords, choose_anchors, compile_trigger

if TYPE_CHECKING:
    from intents.repository.work import Work
    from intents.schemas import Limits
    from intents.triggers import CompiledTrigger


#: Advice with an intent that was there already.
TWIN = "An identical live intent was there already and is returned; its budget, cooldown, expiry and status stand."


@dataclass(frozen=True, slots=True)
class _Target:
    """Whose turns match, and where."""

    channel_key: str | None
    conversation_id: str | None
    sender_key: str | None
    sender_id: str | None


def create(work: Work, draft: IntentCreate, *, by: Identity, turn_id: str | None, session_id: str | None) -> IntentRead:
    """Create an intent, or return the identical live one; see `IntentService.create`."""
    owner = work.settings.owners.require_owner(by, "create")
    source = _source(by, turn_id, session_id)
    _check_limits(draft, work.settings.limits)
    language = work.settings.analyzer.require(draft.language)
    compiled = compile_trigger(
        draft.trigger_keywords,
        exclude=draft.exclude_keywords,
        language=language,
        within=draft.within,
        analyzer=work.settings.analyzer,
    )
    target = _target(draft, by, owner)
    now = work.settings.now()
    _check_line(work, draft, now)
    expires_at = _expiry(draft, now, work.settings.limits)
    fingerprint = _fingerprint(work, draft, by, target, language)
    advice = advise(compiled)

    with work.writing():
        existing = _live_twin(work, fingerprint, now)
        if existing is not None:
            return as_read(existing, now, advice=(*advice, TWIN))
        row = StandingIntent(
            id=str(uuid.uuid4()),
            agent_id=work.agent_id,
            description=draft.description,
            trigger_keywords=list(draft.trigger_keywords),
            exclude_keywords=list(draft.exclude_keywords),
            language=language,
            within=draft.within,
            clauses=compiled.to_json(),
            anchors=anchors_of(work, compiled),
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
            creator_sender=owner,
            creator_conversation=by.conversation_id,
            source_session_id=source.session_id,
            source_turn_key=keys.turn_key(work.agent_id, by, source.id),
            fingerprint=fingerprint,
            expires_at=expires_at,
            max_fires=draft.max_fires or work.settings.limits.max_fires,
            cooldown_seconds=(
                work.settings.limits.cooldown if draft.cooldown is None else draft.cooldown
            ).total_seconds(),
            created_at=now,
            updated_at=now,
        )
        moves = [journal.CREATED]
        if draft.armed:
            moves.append(lifecycle.advance("arm", row, now=now))
        try:
            with work.savepoint_for_race():
                work.session.add(row)
                work.session.flush()
        except IntegrityError:
            # A rival's insert was committed between the look and ours; only dialects without a database lock allow it.
            twin = _live_twin(work, fingerprint, now)
            if twin is None:
                raise
            return as_read(twin, now, advice=(*advice, TWIN))
        work.index.add(work.connection, row)
        for moved in moves:
            journal.record(work.session, row, moved, now=now, actor=actor_name(by), turn_id=source.id)
        return as_read(row, now, advice=advice)


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


def _live_twin(work: Work, fingerprint: str, now: datetime) -> StandingIntent | None:
    row = work.session.scalars(
        select(StandingIntent)
        .where(
            StandingIntent.agent_id == work.agent_id,
            StandingIntent.fingerprint == fingerprint,
            lifecycle.is_live_sql(StandingIntent),
        )
        .with_for_update(),
        execution_options={"populate_existing": True},
    ).one_or_none()
    if row is not None and lifecycle.permits("expire", row, now):
        # Expiry is lazy, but the unique index counts stored statuses: make room before the twin is written.
        journal.move(work.session, row, "expire", now=now, actor=journal.BY_SWEEP)
        work.session.flush()
        work.index.remove(work.connection, [row.key])
        return None
    return row


def anchors_of(work: Work, compiled: CompiledTrigger) -> str:
    """Choose the anchors of a trigger where the agent has fewest, and write them for the index."""
    usage = work.index.usage(work.connection, agent_id=work.agent_id, terms=anchor_candidates(compiled))
    return " ".join(encode_terms(work.agent_id, choose_anchors(compiled, usage)))
