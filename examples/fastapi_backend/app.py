"""A chat backend whose assistant remembers to act: FastAPI, SQLAlchemy's asyncio, standing intents.

Once, and after each update: ``alembic upgrade heads``. Then: ``uvicorn app:app``.
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from database import Message, Reply, engine, sessions
from intents import (
    AsyncIntentService,
    AsyncPromptHook,
    ConcurrentUpdate,
    Identity,
    IntentTool,
    Invocation,
    Limits,
    Matches,
    OwnerPolicy,
    SweepResult,
    Turn,
    check_schema,
)
from model import ModelUnavailable, complete

SYSTEM_PROMPT = "You are the assistant of the team. Work reminders in <standing_intents> into your reply."
#: Seconds that a message may wait for its reminders; after them it is answered without, and they stay unspent.
DEADLINE = float(os.environ.get("DEADLINE", "2"))

service = AsyncIntentService(
    sessions, owners=OwnerPolicy(["webchat:mira"]), limits=Limits(lock_wait=timedelta(seconds=DEADLINE))
)
hook = AsyncPromptHook(service)


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Refuse to start on a database that was not migrated; never create anything here."""
    async with engine.connect() as connection:
        await connection.run_sync(check_schema)
    yield
    await engine.dispose()


app = FastAPI(title="Chat with standing intents", lifespan=lifespan)


@app.exception_handler(ConcurrentUpdate)
async def busy(_request: Request, error: ConcurrentUpdate) -> JSONResponse:
    """Tell the client to try again when another request held the database for too long."""
    return JSONResponse({"detail": str(error)}, status_code=503, headers={"Retry-After": "1"})


def current_user(x_user: Annotated[str, Header()]) -> str:
    """Who is asking. Put your own authentication here: an identity is never taken from a message."""
    return x_user


User = Annotated[str, Depends(current_user)]


class ChatMessage(BaseModel):
    """What the client sends; the same id again is the same message."""

    id: str = Field(min_length=1, max_length=200)
    conversation: str = Field(min_length=1, max_length=200)
    text: str


@app.post("/chat")
async def chat(message: ChatMessage, user: User) -> dict[str, str]:
    """Answer a message."""
    key = await store_once(message, user)
    if (reply := await stored_reply(key)) is not None:
        return {"reply": reply}
    identity = Identity(provider="webchat", sender_id=user, conversation_id=message.conversation)
    turn = Turn(text=message.text, identity=identity, id=message.id)
    # What fires is held until the reply is stored: a model that fails must not cost a reminder.
    matches = await hook.matches(turn, Invocation.after(DEADLINE), hold=True)
    try:
        reply = await answer(message.text, matches.context, IntentTool.for_identity(service, identity, turn_id=turn.id))
    except ModelUnavailable as error:
        await service.release(turn, reason="the model did not answer")
        raise HTTPException(502, "The model did not answer; send the message again.") from error
    return {"reply": await deliver(key, reply, turn, matches)}


async def store_once(message: ChatMessage, user: str) -> int:
    """Store a message unless it is there, and return its key."""
    row = Message(conversation=message.conversation, client_id=message.id, sender=user, text=message.text)
    with suppress(IntegrityError):  # sent again
        async with sessions.begin() as session:
            session.add(row)
        return row.key
    async with sessions() as session:
        known = (
            await session.scalars(select(Message).filter_by(conversation=row.conversation, client_id=row.client_id))
        ).one()
    if (known.sender, known.text) != (user, message.text):
        raise HTTPException(409, "This id belongs to another message.")
    return known.key


async def stored_reply(key: int) -> str | None:
    """Return the reply that a message has already."""
    async with sessions() as session:
        return await session.scalar(select(Reply.text).where(Reply.message_key == key))


async def deliver(key: int, reply: str, turn: Turn, matches: Matches) -> str:
    """Store the reply and settle what fired, in one transaction of the backend's; return the reply that counts."""
    with suppress(IntegrityError):
        async with sessions.begin() as session:
            session.add(Reply(message_key=key, text=reply))
            await session.flush()
            if matches:
                await session.run_sync(lambda sync_session: service.using(sync_session).confirm(turn))
        return reply
    # The message was sent twice at once, and the other request stored its reply first. What it confirmed stays so.
    await service.release(turn, reason="another reply was stored first")
    return await stored_reply(key) or reply


async def answer(text: str, hidden_block: str | None, tool: IntentTool | None) -> str:
    """Prompt the model, with the hidden block if something fired, and carry out the calls of the tool."""
    messages = [{"role": "system", "content": SYSTEM_PROMPT}]
    if hidden_block is not None:
        messages.append({"role": "system", "content": hidden_block})
    messages.append({"role": "user", "content": text})
    while True:
        step = await complete(messages, [specification(tool)] if tool else [])
        if tool is None or step.tool_arguments is None:
            return step.text
        result = await tool.acall(step.tool_arguments)
        messages.append({"role": "tool", "content": json.dumps(result)})


def specification(tool: IntentTool) -> dict[str, Any]:
    """Describe the tool as model providers want it."""
    return {"name": tool.name, "description": tool.description, "parameters": tool.json_schema}


def offered_tool(user: User, conversation: str | None = None) -> IntentTool:
    """The tool, for an owner; for anyone else there is no such thing."""
    identity = Identity(provider="webchat", sender_id=user, conversation_id=conversation)
    tool = IntentTool.for_identity(service, identity)
    if tool is None:
        raise HTTPException(404, "You have no such tool.")
    return tool


Tool = Annotated[IntentTool, Depends(offered_tool)]


@app.get("/tools/intent")
async def describe_tool(tool: Tool) -> dict[str, Any]:
    """Describe the tool to an agent loop that runs elsewhere, such as in the client."""
    return specification(tool)


@app.post("/tools/intent")
async def call_tool(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Carry out a call of the model's in such a loop."""
    return await tool.acall(arguments)


@app.post("/heartbeat")
async def heartbeat() -> SweepResult:
    """Write down what time has decided. For your scheduler; nothing breaks when it is late."""
    return await service.sweep()
