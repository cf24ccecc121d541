"""The state rules of an intent: one table, three uses.

`TRANSITIONS` is data. From it come the `transitions` machine that moves single rows (`advance`), the SQL that moves
thousands in one statement (`permits_sql`, `bulk_values`), the status that a reader is shown (`effective_status`) and
the diagrams.
Guards are named as strings; each name is a hybrid method of the model, so that the machine asks the row and the SQL
asks the class with the very same definition.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from sqlalchemy import and_, case, literal, literal_column
from transitions import Machine, MachineError

from intents.errors import TransitionNotAllowed

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement


class Status(enum.StrEnum):
    """Where an intent stands in its life."""

    PENDING = "pending"
    ARMED = "armed"
    FIRED = "fired"
    DONE = "done"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


#: Statuses that something can still leave; every other one is terminal.
LIVE: Final = (Status.PENDING, Status.ARMED, Status.FIRED)
TERMINAL: Final = (Status.DONE, Status.CANCELLED, Status.EXPIRED)


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the lifecycle table.

    Attributes:
        event: name of the event.
        sources: statuses it may leave.
        target: status it reaches.
        requires: guards that must hold, names of hybrid methods of the model taking ``now``.
        forbids: guards that must not hold.
    """

    event: str
    sources: tuple[Status, ...]
    target: Status
    requires: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()


TRANSITIONS: Final[tuple[Transition, ...]] = (
    Transition("arm", (Status.PENDING,), Status.ARMED, forbids=("has_expired",)),
    Transition(
        "fire",
        (Status.ARMED,),
        Status.FIRED,
        requires=("has_budget", "has_cooled_down"),
        forbids=("has_expired", "is_held"),
    ),
    Transition("complete", (Status.FIRED,), Status.DONE, forbids=("has_budget", "is_held")),
    Transition(
        "rearm",
        (Status.FIRED,),
        Status.ARMED,
        requires=("has_cooled_down", "has_budget"),
        forbids=("has_expired", "is_held"),
    ),
    Transition("release", (Status.FIRED,), Status.ARMED, requires=("is_held",)),
    Transition("cancel", LIVE, Status.CANCELLED),
    Transition("expire", LIVE, Status.EXPIRED, requires=("has_expired",)),
)

_BY_EVENT: Final = {transition.event: transition for transition in TRANSITIONS}


def allowed_moves() -> tuple[tuple[Status, Status], ...]:
    """Return every (from, to) pair of the table, once each, in table order."""
    return tuple(dict.fromkeys((source, t.target) for t in TRANSITIONS for source in t.sources))


class Row(Protocol):
    """What the lifecycle reads and writes on an intent row; the guards are found by name."""

    id: Any
    status: Any
    fire_count: Any
    cooldown_seconds: Any
    last_fired_at: Any
    rearm_at: Any
    held_turn_key: Any
    updated_at: Any


def build_machine(machine_class: type[Machine] = Machine, **options: Any) -> Machine:
    """Build a machine from the table.

    Args:
        machine_class: `transitions.Machine` or a subclass, such as its diagram-drawing one.
        options: further arguments of that class.

    Returns:
        A machine without model and without automatic ``to_<state>`` events, which would be back doors.
    """
    machine = machine_class(
        **{
            "model": None,
            "states": Status,
            "initial": None,
            "auto_transitions": False,
            "model_attribute": "status",
            **options,
        }
    )
    for transition in TRANSITIONS:
        machine.add_transition(
            transition.event,
            list(transition.sources),
            transition.target,
            conditions=list(transition.requires),
            unless=list(transition.forbids),
        )
    return machine


_MACHINE: Final = build_machine()


def failed_guard(event: str, row: Any, now: datetime) -> str | None:
    """Name the first guard of `event` that refuses `row` at `now`; None when all agree."""
    transition = _BY_EVENT[event]
    for name in transition.requires:
        if not getattr(row, name)(now):
            return name
    for name in transition.forbids:
        if getattr(row, name)(now):
            return name
    return None


def permits(event: str, row: Any, now: datetime) -> bool:
    """Tell whether the table allows `event` on this row at `now`."""
    return row.status in _BY_EVENT[event].sources and failed_guard(event, row, now) is None


def _status_in(model: Any, statuses: tuple[Status, ...]) -> ColumnElement[bool]:
    # Written as literals: a partial index is used only when the query repeats its condition, and a parameter does not.
    # As columns, so that the statement's text is complete when it is compiled and need not be finished at every call.
    values: list[Any] = [literal_column(f"'{status.value}'") for status in statuses]
    return cast("ColumnElement[bool]", model.status == values[0] if len(values) == 1 else model.status.in_(values))


def is_live_sql(model: Any) -> ColumnElement[bool]:
    """Select the rows whose stored status something can still leave."""
    return _status_in(model, LIVE)


def is_terminal_sql(model: Any) -> ColumnElement[bool]:
    """Select the rows that nothing leaves any more."""
    return _status_in(model, TERMINAL)


def permits_sql(event: str, model: Any, now: datetime) -> ColumnElement[bool]:
    """Express `permits` for the rows of a model: the same guards, called on the class."""
    transition = _BY_EVENT[event]
    return and_(
        _status_in(model, transition.sources),
        *(getattr(model, name)(now) for name in transition.requires),
        *(~getattr(model, name)(now) for name in transition.forbids),
    )


def could_fire_sql(model: Any, now: datetime) -> ColumnElement[bool]:
    """Select the rows that a turn at `now` could fire, stored status or not.

    A cooled-down ``fired`` row is rearmed and a lapsed hold released in the transaction that fires them, so both count.
    """
    return (
        permits_sql("fire", model, now)
        | permits_sql("rearm", model, now)
        | and_(_status_in(model, (Status.FIRED,)), model.hold_has_lapsed(now), ~model.has_expired(now))
    )


#: What the reader of a row is shown before anybody has moved it: first rule that applies.
_LAZY: Final = (("expire", None), ("release", "hold_has_lapsed"), ("rearm", None))


def effective_status(row: Any, now: datetime) -> Status:
    """Tell the status that the row has at `now`, whatever a sweep has or has not written yet."""
    for event, condition in _LAZY:
        if permits(event, row, now) and (condition is None or getattr(row, condition)(now)):
            return _BY_EVENT[event].target
    return Status(row.status)


def effective_status_sql(model: Any, now: datetime) -> ColumnElement[Status]:
    """Express `effective_status` for the rows of a model."""
    branches = []
    for event, condition in _LAZY:
        applies = permits_sql(event, model, now)
        if condition is not None:
            applies = and_(applies, getattr(model, condition)(now))
        branches.append((applies, literal(_BY_EVENT[event].target, model.status.type)))
    return case(*branches, else_=model.status)


#: Columns that an event writes beside the status, for a row and in bulk alike. A retired row waits for nothing.
_RETIRE: Final[dict[str, None]] = {"held_turn_key": None, "rearm_at": None}
_CONSTANT_EFFECTS: Final[dict[str, dict[str, None]]] = {
    "complete": _RETIRE,
    "cancel": _RETIRE,
    "expire": _RETIRE,
}

_TOUCHED: Final = ("status", "fire_count", "last_fired_at", "rearm_at", "held_turn_key", "updated_at")


@dataclass(frozen=True, slots=True)
class Moved:
    """A move that took place: the facts that the audit log keeps. Only a creation has no source."""

    event: str
    source: Status | None
    target: Status


def advance(event: str, row: Row, *, now: datetime, changes: dict[str, Any] | None = None) -> Moved:
    """Move one row by one event of the table and write what the event writes.

    Args:
        event: name of the event.
        row: the intent row; its guards decide.
        now: the clock's aware time, for guards and for ``updated_at``.
        changes: further columns that belong to this move (a fire's counters, a release's restored times).

    Returns:
        What moved, for the audit log.

    Raises:
        TransitionNotAllowed: the table has no such arrow from the row's status, or a guard refuses. The row is as
            before.
    """
    before = {name: getattr(row, name) for name in _TOUCHED}
    source = Status(row.status)
    try:
        moved = _MACHINE.events[event].trigger(row, now=now)
    except MachineError as error:
        raise TransitionNotAllowed(row.id, event, source.value) from error
    except BaseException:
        _restore(row, before)
        raise
    if not moved:
        raise TransitionNotAllowed(row.id, event, source.value, failed_guard(event, row, now))
    try:
        for name, value in {**_CONSTANT_EFFECTS.get(event, {}), **(changes or {}), "updated_at": now}.items():
            setattr(row, name, value)
    except BaseException:
        _restore(row, before)
        raise
    return Moved(event, source, Status(row.status))


def _restore(row: Row, before: dict[str, Any]) -> None:
    for name, value in before.items():
        setattr(row, name, value)


def bulk_values(event: str, model: Any, *, now: datetime) -> dict[str, Any]:
    """Give the values that move many rows by one event in one ``UPDATE``; `permits_sql` is its condition.

    Args:
        event: an event whose effects are the same for every row (``expire``, ``rearm``).
        model: the mapped class.
        now: the clock's aware time.

    Returns:
        Values by column; they count ``version`` up and set ``updated_at``, as a single move does.
    """
    return {
        "status": _BY_EVENT[event].target,
        **_CONSTANT_EFFECTS.get(event, {}),
        "updated_at": now,
        "version": model.version + 1,
    }


def target_of(event: str) -> Status:
    """Return the status that an event of the table reaches."""
    return _BY_EVENT[event].target


def sql_list(statuses: Iterable[Status]) -> str:
    """Write statuses as the inside of a SQL ``IN``; they are constants of ours, never input."""
    return ", ".join(f"'{status.value}'" for status in statuses)
