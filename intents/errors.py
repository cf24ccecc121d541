"""Every exception that this library raises by its own decision.

The tree::

    IntentsError
    ├── IntentNotFound        no such intent for this agent
    ├── InvalidIntent         a draft breaks a rule (also a ValueError)
    │   └── InvalidTrigger    one of its trigger or exclude keywords does
    ├── NotAuthorized         the caller may not do this
    ├── TransitionNotAllowed  the lifecycle table has no such move now
    ├── ConcurrentUpdate      another transaction won the race
    ├── InvocationExpired     the caller's deadline passed or it was cancelled
    ├── SchemaMismatch        the tables are missing, older, newer or damaged
    ├── UnsupportedDialect    the database cannot carry the library
    ├── GraphvizMissing       a picture needs Graphviz
    └── AuthenticationMissing the admin page has nothing to ask who somebody is

Each carries its facts as attributes and says in its message what to do next. No message repeats text that another
person wrote.
"""

from __future__ import annotations

from typing import Literal


class IntentsError(Exception):
    """Root of every error of this library."""


class IntentNotFound(IntentsError):
    """The agent has no intent of this id; other agents' intents count as absent.

    Attributes:
        intent_id: the id that was asked for.
    """

    def __init__(self, intent_id: str) -> None:
        self.intent_id = intent_id
        super().__init__(f"No intent {intent_id!r} exists for this agent; list the intents to see their ids.")


class InvalidIntent(IntentsError, ValueError):
    """A draft breaks a rule that needs the clock, the owner, the language or the limits to be judged.

    Attributes:
        field: name of the offending field of `IntentCreate` (or of the argument).
        reason: what is wrong and what to do, one sentence.
    """

    def __init__(self, field: str, reason: str) -> None:
        self.field = field
        self.reason = reason
        super().__init__(f"{field}: {reason}")

    def within(self, place: str) -> InvalidIntent:
        """The same complaint about one value of several: its field is ``place.field``."""
        return InvalidIntent(f"{place}.{self.field}", self.reason)


class InvalidTrigger(InvalidIntent):
    """A trigger or exclude keyword cannot be compiled.

    Attributes:
        keyword: the entry as its author gave it.
    """

    def __init__(self, keyword: str, reason: str, *, field: str = "trigger_keywords") -> None:
        self.keyword = keyword
        super().__init__(field, reason)

    def within(self, place: str) -> InvalidTrigger:
        """The same complaint about one value of several: its field is ``place.field``."""
        return InvalidTrigger(self.keyword, self.reason, field=f"{place}.{self.field}")


class NotAuthorized(IntentsError):
    """The caller is not allowed to do this.

    Attributes:
        action: what was refused (``create``, ``cancel``, …).
        reason: why, and who may.
    """

    def __init__(self, action: str, reason: str) -> None:
        self.action = action
        self.reason = reason
        super().__init__(f"Not allowed to {action}: {reason}")


class TransitionNotAllowed(IntentsError):
    """The lifecycle table does not allow this event on this intent now.

    Attributes:
        intent_id: the intent.
        event: name of the refused event.
        status: value of the status that the intent has.
        failed_guard: name of the guard that said no; None when the table has no such arrow from that status.
    """

    def __init__(self, intent_id: str, event: str, status: str, failed_guard: str | None = None) -> None:
        self.intent_id = intent_id
        self.event = event
        self.status = status
        self.failed_guard = failed_guard
        why = f"the guard {failed_guard!r} refuses it" if failed_guard else "that status allows no such move"
        super().__init__(
            f"Cannot {event} intent {intent_id}: it is {status} and {why}. "
            "A finished intent never comes back; create a new one instead."
        )


class ConcurrentUpdate(IntentsError):
    """Another transaction held the lock too long or changed the rows first.

    Attributes:
        transaction_lost: True when the caller's transaction cannot go on: roll it back and retry all of it.
            False when only this call failed and may simply be tried again.
    """

    def __init__(self, reason: str, *, transaction_lost: bool) -> None:
        self.reason = reason
        self.transaction_lost = transaction_lost
        remedy = "Roll the transaction back and retry it." if transaction_lost else "Try the call again."
        super().__init__(f"{reason} {remedy}")


class InvocationExpired(IntentsError):
    """The invocation's deadline has passed, or it was cancelled; its turn must spend nothing.

    Attributes:
        cause: ``"deadline"`` or ``"cancelled"``.
    """

    def __init__(self, cause: str) -> None:
        self.cause = cause
        super().__init__(
            "The invocation was cancelled; nothing was spent."
            if cause == "cancelled"
            else "The invocation's deadline has passed; nothing was spent. Send the turn again with more time."
        )


class SchemaMismatch(IntentsError):
    """The database's tables are not those that this version of the library works with.

    Attributes:
        problem: what is missing, older, newer or damaged.
        remedy: the command or call that mends it.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem} {remedy}")


class UnsupportedDialect(IntentsError):
    """The database, or this build of it, cannot carry the library.

    Attributes:
        dialect: SQLAlchemy's name of the dialect.
        reason: what it lacks and what to use.
    """

    def __init__(self, dialect: str, reason: str) -> None:
        self.dialect = dialect
        self.reason = reason
        super().__init__(f"{dialect}: {reason}")


class GraphvizMissing(IntentsError):
    """The Python package or the programs of Graphviz are not installed.

    Attributes:
        missing: what is missing.
    """

    def __init__(self, missing: Literal["package", "programs"]) -> None:
        self.missing = missing
        super().__init__(
            'DOT and pictures need the Python package graphviz: pip install "standing-intents[graphviz]". '
            "The Mermaid format needs nothing."
            if missing == "package"
            else "Pictures need the program `dot`, which was not found: install the system package graphviz "
            "(apt install graphviz, brew install graphviz). The formats mermaid and dot do without."
        )


class AuthenticationMissing(IntentsError):
    """The admin page was to be built, or asked to act, without knowing who is there.

    Attributes:
        remedy: what to give it.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(f"{problem} {remedy}")
