"""Who owns an agent's intents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from intents.errors import NotAuthorized
from intents.schemas import Admin, Identity


@dataclass(frozen=True, slots=True)
class OwnerPolicy:
    """The owner list: identities that may create, list and cancel.

    Entries read ``provider[/account]:sender``, split at the first colon; without an account they mean the account
    ``default``, because the same sender id may be another person in another workspace. ``*`` as the whole sender admits
    everyone of that provider and account; anywhere else it is refused, as it would only look like a pattern. Providers
    compare trimmed and case-folded, all else exactly. An empty list admits nobody.

    Raises:
        ValueError: an entry is not of that form.
    """

    allow_from: tuple[str, ...] = ()
    _allowed: frozenset[tuple[str, str, str]] = field(init=False, repr=False, compare=False)

    def __init__(self, allow_from: Iterable[str] = ()) -> None:
        if isinstance(allow_from, str):
            raise ValueError("allow_from takes a sequence of entries such as ('slack:U123',), not one string.")
        entries = tuple(allow_from)
        object.__setattr__(self, "allow_from", entries)
        object.__setattr__(self, "_allowed", frozenset(_parse(entry) for entry in entries))

    def allows(self, identity: Identity) -> bool:
        """Whether the identity is on the list; one without a sender never is."""
        _check_type(identity)
        if identity.sender_id is None:
            return False
        place = (identity.provider, identity.account_id)
        return (*place, identity.sender_id) in self._allowed or (*place, "*") in self._allowed

    def require_owner(self, identity: Identity, action: str) -> str:
        """Return the owner's sender id, or raise `NotAuthorized`."""
        _check_type(identity)
        if identity.sender_id is None:
            raise NotAuthorized(action, "the turn has no known sender; only an identified owner may.")
        if not self.allows(identity):
            raise NotAuthorized(action, "this sender is not on the owner list (OwnerPolicy.allow_from).")
        return identity.sender_id

    def require_manager(self, by: Identity | Admin, action: str) -> str:
        """Return the audit log's name of an owner or admin, or raise `NotAuthorized`."""
        if isinstance(by, Admin):
            return f"admin:{by.name}"
        self.require_owner(by, action)
        return actor_name(by)


def _check_type(identity: object) -> None:
    if not isinstance(identity, Identity):
        raise TypeError("An Identity is needed, such as Identity(provider='slack', sender_id='U123').")


def actor_name(identity: Identity) -> str:
    """Name an identity in the audit log, in the form of an owner list entry."""
    return f"{identity.provider}/{identity.account_id}:{identity.sender_id}"


def _parse(entry: object) -> tuple[str, str, str]:
    if not isinstance(entry, str):
        raise ValueError(
            f"An owner entry is text of the form provider[/account]:sender, such as 'slack:U123', not a "
            f"{type(entry).__name__}."
        )
    place, colon, sender = entry.partition(":")
    provider, slash, account = place.partition("/")
    provider = provider.strip().casefold()
    if not colon or not provider or not sender.strip() or (slash and not account.strip()):
        raise ValueError(
            f"Owner entry {entry!r} is not of the form provider[/account]:sender, such as 'slack:U123' or 'telegram:*'."
        )
    if "*" in place or ("*" in sender and sender != "*"):
        raise ValueError(
            f"Owner entry {entry!r} is no pattern: in provider[/account]:sender, * is the whole sender or nothing, "
            "such as 'telegram:*'. List each place and person."
        )
    if account != account.strip() or sender != sender.strip():
        raise ValueError(
            f"Owner entry {entry!r} has spaces around the account or sender, which compare exactly; write it as "
            "provider[/account]:sender, such as 'slack:U123'."
        )
    return provider, account or "default", sender
