"""Values of a row that satisfies every constraint."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

NOW = datetime(2026, 7, 27, 12, tzinfo=UTC)


def intent_values(**changes: Any) -> dict[str, Any]:
    """The columns of an armed intent with two anchors, changed as asked."""
    values: dict[str, Any] = {
        "id": str(uuid.uuid4()),
        "agent_id": "main",
        "description": "Confirm the rollback owner",
        "trigger_keywords": ["release candidate"],
        "exclude_keywords": [],
        "language": "en",
        "clauses": {},
        "anchors": "a0000000000636f aaffffffff72",
        "scope": "5" * 64,
        "analyzer_version": "1.3.1/en",
        "channel_scope": "anywhere",
        "sender_scope": "anyone",
        "creator_provider": "slack",
        "creator_account": "default",
        "creator_sender": "U1",
        "fingerprint": uuid.uuid4().hex * 2,
        "status": "armed",
        "expires_at": NOW.replace(year=2027),
        "max_fires": 3,
        "fire_count": 0,
        "cooldown_seconds": 86400.0,
        "created_at": NOW,
        "updated_at": NOW,
        "version": 1,
    }
    if changes.get("status") in ("fired", "done"):
        values |= {"fire_count": 1, "last_fired_at": NOW}
        values |= {"rearm_at": NOW} if changes["status"] == "fired" else {"max_fires": 1}
    return values | changes
