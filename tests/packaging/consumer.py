"""A host's code, for a strict type checker: every call of the public face, and mistakes that it must find.

Not run; ``tools/check_wheel.py`` type-checks it against the installed wheel. A mistake that is no longer found makes
its ``type: ignore`` an error, so this file also fails when the wheel has lost its types.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker

import intents
from intents import (
    Admin,
    Analyzer,
    AsyncIntentService,
    AsyncPromptHook,
    ConcurrentUpdate,
    Explanation,
    Identity,
    IntentCreate,
    IntentEventRead,
    IntentNotFound,
    IntentRead,
    IntentRepository,
    IntentsError,
    IntentService,
    IntentTool,
    Invocation,
    Limits,
    Match,
    Matches,
    OwnerPolicy,
    PromptHook,
    StandingIntent,
    Status,
    SweepResult,
    TransitionNotAllowed,
    Turn,
)

engine = create_engine("sqlite:///host.db")
intents.upgrade(engine)
with engine.begin() as connection:
    intents.upgrade(connection, "head")
intents.check_schema(engine)

service = IntentService(
    sessionmaker(engine),
    agent_id="main",
    owners=OwnerPolicy(("slack:U123", "telegram:*")),
    analyzer=Analyzer(languages=("en", "de")),
    limits=Limits(max_fires=5, lock_wait=timedelta(seconds=1)),
    clock=lambda: datetime.now(UTC),
)
mira = Identity(provider="slack", sender_id="U123", conversation_id="C9")
draft = IntentCreate(
    description="Confirm the rollback owner.",
    trigger_keywords=["release candidate"],
    channel_scope="anywhere",
    cooldown=timedelta(hours=1),
)
turn = Turn(text="The release candidate is up!", identity=mira, id="1", kind="user", at=datetime.now(UTC))

intent = service.create(draft, by=mira, turn_id="0")
assert_type(intent, IntentRead)
assert_type(intent.status, Status)
assert_type(intent.cooldown, timedelta)
assert_type(intent.last_fired_at, datetime | None)
assert_type(service.list(status=Status.ARMED, live=True, after=intent.id, limit=10), list[IntentRead])
assert_type(service.cancel(intent.id, by=Admin(name="ops"), reason="moot"), IntentRead)
matches = service.match(turn, invocation=Invocation.after(2.0), hold=True)
assert_type(matches, Matches)
assert_type(matches.context, str | None)
assert_type(matches[0], Match)
assert_type([match.keyword for match in matches], list[str])
assert_type(service.confirm(turn), int)
assert_type(service.release(turn, reason="suppressed"), int)
assert_type(service.sweep(), SweepResult)
assert_type(service.explain(turn, intent_id=intent.id), list[Explanation])
assert_type(service.history(intent.id), list[IntentEventRead])
assert_type(PromptHook(service).before_prompt(turn, Invocation.after(2.0)), str | None)


def in_my_transaction(session: Session) -> str | None:
    repository = service.using(session)
    assert_type(repository, IntentRepository)
    assert_type(IntentRepository(session, owners=OwnerPolicy(["slack:U123"])).get("…"), IntentRead)
    try:
        return repository.match(turn).context
    except ConcurrentUpdate as error:
        assert_type(error.transaction_lost, bool)
        raise


def offered(identity: Identity) -> dict[str, Any] | None:
    tool = IntentTool.for_identity(service, identity, turn_id="1")
    assert_type(tool, IntentTool | None)
    return None if tool is None else tool.call({"action": "list"})


async_sessions: async_sessionmaker[AsyncSession] = async_sessionmaker(create_async_engine("sqlite+aiosqlite://"))


async def asynchronously() -> None:
    asynchronous = AsyncIntentService(async_sessions, owners=OwnerPolicy(["slack:U123"]))
    assert_type(await asynchronous.match(turn), Matches)
    assert_type(await AsyncPromptHook(asynchronous).before_prompt(turn, None), str | None)
    tool = IntentTool.for_identity(asynchronous, mira)
    if tool is not None:
        assert_type(await tool.acall('{"action": "list"}'), dict[str, Any])
    async with async_sessions.begin() as session:
        await session.run_sync(lambda sync_session: asynchronous.using(sync_session).confirm(turn))


def told(error: IntentsError) -> str:
    match error:
        case IntentNotFound(intent_id=intent_id):
            return str(intent_id)
        case TransitionNotAllowed(failed_guard=guard):
            return str(guard)
    return str(error)


assert_type(StandingIntent().status, Status)

# Mistakes.
service.create(draft)  # type: ignore[call-arg]
service.create(draft, by=Admin(name="ops"))  # type: ignore[arg-type]
service.match("The release candidate is up!")  # type: ignore[arg-type]
IntentCreate(description="x", trigger_keywords=["y"], channel_scope="everywhere")  # type: ignore[arg-type]
IntentService(engine)  # type: ignore[arg-type]
AsyncIntentService(sessionmaker(engine))  # type: ignore[arg-type]
IntentService(async_sessions)  # type: ignore[arg-type]
intents.no_such_name  # type: ignore[attr-defined]  # noqa: B018
