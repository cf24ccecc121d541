"""Identities and turns as keys: canonical JSON arrays, and digests of them where a fixed width is wanted.

Keys are never joined by a separator, because ids contain colons, slashes and everything else. Pure.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from intents.schemas import Identity, Turn

#: Hex digits of a digest that two different keys must not share.
_DIGEST_BYTES = 32


def canonical(parts: Sequence[object]) -> str:
    """Write parts as one canonical JSON array; equal parts give equal text and no others do."""
    return json.dumps(list(parts), ensure_ascii=True, separators=(",", ":"))


def digest(parts: Sequence[object]) -> str:
    """Return 64 hex digits that stand for the parts."""
    return hashlib.blake2b(canonical(parts).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def channel_key(identity: Identity) -> str:
    """Key of the provider and account."""
    return canonical([identity.provider, identity.account_id])


def conversation_key(identity: Identity, conversation_id: str) -> str:
    """Key of one conversation at the provider and account."""
    return canonical([identity.provider, identity.account_id, conversation_id])


def sender_key(identity: Identity, sender_id: str) -> str:
    """Key of one sender at the provider and account."""
    return canonical([identity.provider, identity.account_id, sender_id])


def turn_key(agent_id: str, identity: Identity, turn_id: str | None) -> str | None:
    """Digest of a turn id within provider, account and conversation; None without an id.

    Some channels number messages per chat, so the id alone would not do. Where there is no conversation, as in a web
    chat, each sender is one: another visitor's message of the same number must not be taken for a repetition.
    """
    if turn_id is None:
        return None
    alone = identity.sender_id if identity.conversation_id is None else None
    return digest([agent_id, identity.provider, identity.account_id, identity.conversation_id, alone, turn_id])


def scope_term(agent_id: str, channel: str | None, sender: str | None) -> str:
    """The one term under which an intent's scope is indexed.

    Args:
        agent_id: the agent.
        channel: a channel or conversation key; None for anywhere.
        sender: a sender key; None for anyone.
    """
    return digest([agent_id, channel, sender])


def scopes_of(agent_id: str, turn: Turn) -> dict[str, tuple[str | None, str | None]]:
    """All scopes that a turn lies in, at most six, as ``{term: (channel key, sender key)}``."""
    identity = turn.identity
    channels: list[str | None] = [None, channel_key(identity)]
    if identity.conversation_id is not None:
        channels.append(conversation_key(identity, identity.conversation_id))
    senders: list[str | None] = [None]
    if identity.sender_id is not None:
        senders.append(sender_key(identity, identity.sender_id))
    return {scope_term(agent_id, channel, sender): (channel, sender) for channel in channels for sender in senders}
