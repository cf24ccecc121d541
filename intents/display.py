"""How times, lengths, budgets, scopes and people are written for an operator, on every surface alike. Pure.

What these return may hold text of other people: clean it with `sanitize.clean_line` before it is shown.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from intents.schemas import IntentRead


def moment(at: datetime | None) -> str:
    """Write a moment in UTC, to the second."""
    return "-" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


def length(duration: timedelta) -> str:
    """Write a length of time in its largest whole units: ``14d``, ``1d 12h``, ``90s``."""
    rest = int(duration.total_seconds())
    parts = []
    for unit, seconds in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, seconds)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"


def fires(intent: IntentRead) -> str:
    """Write how many fires are spent of how many."""
    return f"{intent.fire_count}/{intent.max_fires}"


def span(within: int | None) -> str:
    """Write how close together the words of an entry must stand."""
    return "anywhere in the message" if within is None else f"{within} positions"


def creator(intent: IntentRead) -> str:
    """Write who created an intent, as an owner list names them."""
    return f"{intent.creator.provider}/{intent.creator.account_id}:{intent.creator.sender_id}"


def listening(intent: IntentRead) -> str:
    """Write where and to whom an intent listens."""
    place = f"{intent.creator.provider}/{intent.creator.account_id}"
    where = {
        "anywhere": "anywhere",
        "channel": f"in {place}",
        "conversation": f"in {place}, conversation {intent.conversation_id}",
    }[intent.channel_scope]
    who = "anyone" if intent.sender_scope == "anyone" else f"sender {intent.sender_id}"
    return f"{where}, {who}"
