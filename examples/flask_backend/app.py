"""A synchronous chat backend: Flask, SQLAlchemy, standing intents inside the backend's own transactions.

Once, and after each update: ``python migrate.py``. Then: ``flask --app app run``.
"""

import os
from datetime import timedelta
from typing import Any

from flask import Flask, abort, request
from flask.typing import ResponseReturnValue
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from database import Message, engine, sessions
from intents import (
    ConcurrentUpdate,
    Identity,
    IntentService,
    IntentTool,
    Invocation,
    Limits,
    OwnerPolicy,
    Turn,
    check_schema,
)

#: Seconds that a message may wait for its reminders; after them it is answered without, and they stay unspent.
DEADLINE = float(os.environ.get("DEADLINE", "2"))

service = IntentService(
    sessions, owners=OwnerPolicy(["webchat:mira"]), limits=Limits(lock_wait=timedelta(seconds=DEADLINE))
)


def complete(prompt: list[str]) -> str:
    """The model, faked: put the call of your provider here. It repeats its prompt."""
    if "model outage" in prompt[-1]:
        raise ConnectionError
    return "\n".join(prompt)


def create_app() -> Flask:
    """Build the application; on a database that was not migrated it refuses to start."""
    check_schema(engine)
    app = Flask(__name__)
    app.post("/rooms/<room>/messages")(chat)
    app.get("/tools/intent")(describe_tool)
    app.post("/tools/intent")(call_tool)
    app.post("/heartbeat")(heartbeat)
    for race_lost in (ConcurrentUpdate, IntegrityError):
        app.register_error_handler(race_lost, busy)
    return app


def current_identity(room: str | None = None) -> Identity:
    """Who is asking. Put your own authentication here: an identity is never taken from a message."""
    user = request.headers.get("X-User") or abort(401)
    return Identity(provider="webchat", sender_id=user, conversation_id=room)


def chat(room: str) -> ResponseReturnValue:
    """Answer a message."""
    identity = current_identity(room)
    sent = request.get_json()
    turn = Turn(text=sent["text"], identity=identity, id=sent["id"])

    # The message and what it fires are one transaction. What fires is held until the reply is stored.
    with sessions.begin() as session:
        message = session.scalar(select(Message).filter_by(room=room, client_id=turn.id))
        if message is None:
            message = Message(room=room, client_id=turn.id, sender=identity.sender_id, text=turn.text)
            session.add(message)
        elif message.sender != identity.sender_id:
            abort(409, "This id belongs to another message.")
        if message.reply is not None:  # sent again
            return {"reply": message.reply}
        matches = service.using(session).match(turn, invocation=Invocation.after(DEADLINE), hold=True)

    try:
        reply = complete([*([matches.context] if matches.context else []), turn.text])
    except ConnectionError:
        service.release(turn, reason="the model did not answer")
        return {"error": "The model did not answer; send the message again."}, 502

    # The reply and the confirmation are one transaction, too.
    with sessions.begin() as session:
        session.add(message)
        if message.reply is None:
            message.reply = reply
            if matches:
                service.using(session).confirm(turn)
        else:  # sent twice at once; what the other request confirmed stays so
            service.using(session).release(turn, reason="another reply was stored first")
        return {"reply": message.reply}


def offered_tool() -> IntentTool:
    """The tool, for an owner; for anyone else there is no such thing."""
    return IntentTool.for_identity(service, current_identity(request.args.get("room"))) or abort(404)


def describe_tool() -> dict[str, Any]:
    """Describe the tool to the loop that prompts the model."""
    tool = offered_tool()
    return {"name": tool.name, "description": tool.description, "parameters": tool.json_schema}


def call_tool() -> dict[str, Any]:
    """Carry out a call of the model's."""
    return offered_tool().call(request.get_json())


def heartbeat() -> dict[str, Any]:
    """Write down what time has decided. For your scheduler; nothing breaks when it is late."""
    return service.sweep().model_dump()


def busy(_error: Exception) -> ResponseReturnValue:
    """Tell the client to try again: another request held the database too long, or stored the same message."""
    return {"error": "Another request was first; send this one again."}, 503, {"Retry-After": "1"}
