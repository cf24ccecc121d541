"""The lifecycle as an inline picture with one state marked, drawn from the transition table. Needs nothing installed.

States have a place by hand; arrows and their labels follow from the table, so that a new row of it is drawn too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from intents.lifecycle import TERMINAL, TRANSITIONS, Status

WIDTH: Final = 480
HEIGHT: Final = 476
_BOX: Final = (112, 46)
_CENTRE: Final = (240.0, 230.0)
#: How far apart two opposite arrows run, halved, and a label from its arrow.
_APART: Final = 14
_AWAY: Final = 10
_LINE_HEIGHT: Final = 18
#: Where on an arrow its label stands; those of two opposite arrows keep clear of the slanted ones.
_MIDDLE: Final = 0.5
_NEAR_FIRST: Final = 0.3

PLACES: Final = {
    Status.PENDING: (240.0, 30.0),
    Status.ARMED: (240.0, 156.0),
    Status.FIRED: (240.0, 312.0),
    Status.DONE: (240.0, 444.0),
    Status.EXPIRED: (62.0, 156.0),
    Status.CANCELLED: (418.0, 156.0),
}


class _Arrow(NamedTuple):
    source: Status
    target: Status
    events: tuple[str, ...]


def lifecycle(current: Status) -> Markup:
    """Draw the lifecycle as an ``svg`` element with a title and a description for those who cannot see it.

    Args:
        current: the state to mark: by a frame, a filling and the words "is now".

    Returns:
        Safe markup. Colours and lines come from the page's style sheet.
    """
    arrows = _arrows()
    parts = [
        f'<svg class="lifecycle" role="img" aria-labelledby="lifecycle-title lifecycle-desc" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" xmlns="http://www.w3.org/2000/svg">',
        f'<title id="lifecycle-title">Lifecycle of the intent, which is now {current.value}</title>',
        f'<desc id="lifecycle-desc">{escape(_described(arrows, current))}</desc>',
        '<defs><marker id="lifecycle-head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        'markerUnits="userSpaceOnUse" orient="auto"><path class="head" d="M0 0L10 5L0 10z"/></marker></defs>',
    ]
    opposite = {(arrow.target, arrow.source) for arrow in arrows}
    for arrow in arrows:
        parts += _drawn(arrow, shifted=(arrow.source, arrow.target) in opposite, open_now=arrow.source is current)
    for status in PLACES:
        parts += _box(status, now=status is current)
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704 - made of numbers and of the table's own names


def outgoing(current: Status) -> list[tuple[str, Status, tuple[str, ...]]]:
    """Return what can still happen: event, status that it reaches, and its conditions in the table's words."""
    return [
        (each.event, each.target, (*each.requires, *(f"not {name}" for name in each.forbids)))
        for each in TRANSITIONS
        if current in each.sources
    ]


def _arrows() -> list[_Arrow]:
    events: dict[tuple[Status, Status], list[str]] = {}
    for transition in TRANSITIONS:
        for source in transition.sources:
            events.setdefault((source, transition.target), []).append(transition.event)
    return [_Arrow(source, target, tuple(names)) for (source, target), names in events.items()]


def _described(arrows: list[_Arrow], current: Status) -> str:
    moves = "; ".join(
        f"{' or '.join(arrow.events)} from {arrow.source.value} to {arrow.target.value}" for arrow in arrows
    )
    final = ", ".join(status.value for status in TERMINAL)
    return f"The intent is {current.value}. Moves: {moves}. Final states: {final}."


def _box(status: Status, *, now: bool) -> Iterator[str]:
    (x, y), (width, height) = PLACES[status], _BOX
    left, top = x - width / 2, y - height / 2
    yield f'<g class="state{" now" if now else ""}">'
    yield f'<rect x="{left:g}" y="{top:g}" width="{width}" height="{height}" rx="10"/>'
    if status in TERMINAL:
        yield (
            f'<rect class="inner" x="{left + 4:g}" y="{top + 4:g}" width="{width - 8}" height="{height - 8}" rx="7"/>'
        )
    yield f'<text x="{x:g}" y="{y + (-1 if now else 5.5):g}" text-anchor="middle">{status.value}</text>'
    if now:
        yield f'<text class="badge" x="{x:g}" y="{y + 14:g}" text-anchor="middle">is now</text>'
    yield "</g>"


def _drawn(arrow: _Arrow, *, shifted: bool, open_now: bool) -> Iterator[str]:
    (ax, ay), (bx, by) = PLACES[arrow.source], PLACES[arrow.target]
    length = math.hypot(bx - ax, by - ay)
    ux, uy = (bx - ax) / length, (by - ay) / length
    nx, ny = -uy, ux
    outward = nx * ((ax + bx) / 2 - _CENTRE[0]) + ny * ((ay + by) / 2 - _CENTRE[1])
    if not shifted and outward < 0:
        nx, ny = -nx, -ny
    shift = _APART if shifted else 0
    start, end = _edge(ux, uy), length - _edge(ux, uy) - 2
    x1, y1 = ax + ux * start + nx * shift, ay + uy * start + ny * shift
    x2, y2 = ax + ux * end + nx * shift, ay + uy * end + ny * shift
    anchor = "middle" if abs(nx) < 0.3 else "start" if nx > 0 else "end"
    lines = len(arrow.events)
    along = _along(arrow, shifted=shifted)
    x = x1 + (x2 - x1) * along + nx * _AWAY
    y = y1 + (y2 - y1) * along + ny * _AWAY - (lines - 1) * _LINE_HEIGHT / 2 + (0 if anchor == "middle" else 5)
    yield f'<g class="move{" open" if open_now else ""}">'
    yield f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" marker-end="url(#lifecycle-head)"/>'
    for number, event in enumerate(arrow.events):
        yield f'<text x="{x:.1f}" y="{y + number * _LINE_HEIGHT:.1f}" text-anchor="{anchor}">{event}</text>'
    yield "</g>"


def _along(arrow: _Arrow, *, shifted: bool) -> float:
    if not shifted:
        return _MIDDLE
    order = list(PLACES)
    return _NEAR_FIRST if order.index(arrow.source) < order.index(arrow.target) else 1 - _NEAR_FIRST


def _edge(ux: float, uy: float) -> float:
    """How far the edge of a box lies from its centre in a direction."""
    across = _BOX[0] / 2 / abs(ux) if ux else math.inf
    down = _BOX[1] / 2 / abs(uy) if uy else math.inf
    return min(across, down)
