"""The model, faked: put the call of your provider here and keep the shape.

The fake asks for the tool when it is told to remind somebody, and otherwise repeats what was put into its prompt.
"""

import re
from dataclasses import dataclass
from typing import Any

#: The fake's understanding of language.
_REQUEST = re.compile(r"when (?:someone|anyone) mentions (?:the )?(?P<trigger>.+), remind me to (?P<what>.+?)\.?", re.I)


class ModelUnavailable(Exception):
    """The provider did not answer."""


@dataclass(frozen=True)
class Answer:
    """Either the reply, or the arguments of one call of the tool ``intent``."""

    text: str = ""
    tool_arguments: dict[str, Any] | None = None


async def complete(messages: list[dict[str, str]], tools: list[dict[str, Any]]) -> Answer:
    """Answer a conversation; the roles are ``system``, ``user`` and ``tool``."""
    last = messages[-1]
    if last["role"] == "tool":
        return Answer(f"The tool says: {last['content']}")
    if "model outage" in last["content"]:
        raise ModelUnavailable
    request = _REQUEST.fullmatch(last["content"])
    if request and tools:
        return Answer(
            tool_arguments={
                "action": "create",
                "description": request["what"],
                "trigger_keywords": [request["trigger"]],
                "sender_scope": "anyone",
            }
        )
    if request:
        return Answer("I cannot set reminders for you.")
    hidden = [message["content"] for message in messages if message["role"] == "system"][1:]
    return Answer("\n".join(["You said: " + last["content"], *hidden]))
