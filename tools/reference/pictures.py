"""Pictures for readers without a Mermaid renderer: the same tables, drawn as SVG without any program besides Python."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Final

from sqlalchemy import Table

from intents import ddl
from intents.lifecycle import TERMINAL, TRANSITIONS, Status, Transition
from intents.models import intent_anchors, intents_fts
from tools.reference import schema

_STYLE: Final = """\
text { font-family: ui-sans-serif, system-ui, sans-serif; font-size: 13px; fill: #1f2430; }
.small { font-size: 11px; fill: #5a6170; }
.mono { font-family: ui-monospace, monospace; font-size: 11.5px; }
.type { font-family: ui-monospace, monospace; font-size: 10.5px; fill: #7a8190; }
.title { font-weight: 600; }
.box { fill: #ffffff; stroke: #8a93a6; }
.head { fill: #e8ebf7; stroke: #8a93a6; }
.state { fill: #e8ebf7; stroke: #3f51b5; }
.terminal { fill: #eceff1; stroke: #78859a; stroke-dasharray: none; }
.ring { fill: none; stroke: #78859a; }
.line { fill: none; stroke: #5c6bc0; stroke-width: 1.3; }
.derived { stroke-dasharray: 5 4; stroke: #8a93a6; }
.tip { fill: #5c6bc0; }
.halo { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; }"""
_TIP: Final = (
    '<marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse">'
    '<path class="tip" d="M0,0 L10,5 L0,10 z"/></marker>'
)


def _svg(width: float, height: float, title: str, parts: list[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(title)}">\n<title>{escape(title)}</title>\n'
        f"<style>\n{_STYLE}\n</style>\n<defs>{_TIP}</defs>\n"
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _box(kind: str, x: float, y: float, width: float, height: float, *, corner: float) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{corner:g}"/>'


# ---- the lifecycle ---------------------------------------------------------------------------------------------------

_WIDTH: Final = 104
_HEIGHT: Final = 40
#: Where each state stands. A state without a place here stops the generator.
_PLACES: Final = {
    Status.PENDING: (90, 120),
    Status.ARMED: (330, 120),
    Status.FIRED: (640, 120),
    Status.DONE: (900, 120),
    Status.CANCELLED: (330, 420),
    Status.EXPIRED: (640, 420),
}
#: How far an arrow bends from the straight line, in pixels to its left.
_BENDS: Final = {
    (Status.ARMED, Status.FIRED): 46,
    (Status.FIRED, Status.ARMED): 46,
    # Below what is written at the arrow from fired to armed.
    (Status.ARMED, Status.EXPIRED): -30,
    (Status.FIRED, Status.CANCELLED): 30,
}


def lifecycle() -> str:
    """Draw the states and the moves between them, guards on the arrows."""
    arrows: dict[tuple[Status, Status], list[Transition]] = {}
    for transition in TRANSITIONS:
        for source in transition.sources:
            arrows.setdefault((source, transition.target), []).append(transition)
    parts = [_start()]
    parts += [_arrow(source, target) for source, target in arrows]
    parts += [_state(status) for status in Status]
    parts += _labels(arrows)
    return _svg(1000, 500, "Life of a standing intent", parts)


def _start() -> str:
    x, y = _PLACES[Status.PENDING]
    return (
        f'<circle cx="{x}" cy="{y - 76}" r="6" fill="#1f2430"/>'
        f'<path class="line" marker-end="url(#tip)" d="M{x},{y - 70} V{y - _HEIGHT / 2:g}"/>'
    )


def _state(status: Status) -> str:
    x, y = _PLACES[status]
    left, top = x - _WIDTH / 2, y - _HEIGHT / 2
    drawn = _box("terminal" if status in TERMINAL else "state", left, top, _WIDTH, _HEIGHT, corner=20)
    if status in TERMINAL:
        drawn += _box("ring", left + 3, top + 3, _WIDTH - 6, _HEIGHT - 6, corner=17)
    return drawn + _text(x, y + 4.5, status.value, "title", "middle")


def _edge(status: Status, towards: tuple[float, float]) -> tuple[float, float]:
    """Where the line from a state's middle towards a point leaves the state."""
    x, y = _PLACES[status]
    dx, dy = towards[0] - x, towards[1] - y
    scale = min(
        _WIDTH / 2 / abs(dx) if dx else math.inf,
        _HEIGHT / 2 / abs(dy) if dy else math.inf,
    )
    return x + dx * scale, y + dy * scale


def _middle(source: Status, target: Status) -> tuple[float, float]:
    """The control point of an arrow."""
    (ax, ay), (bx, by) = _PLACES[source], _PLACES[target]
    bend = _BENDS.get((source, target), 0)
    distance = math.hypot(bx - ax, by - ay)
    return (ax + bx) / 2 + bend * (by - ay) / distance, (ay + by) / 2 - bend * (bx - ax) / distance


def _arrow(source: Status, target: Status) -> str:
    mx, my = _middle(source, target)
    (ax, ay), (bx, by) = _edge(source, (mx, my)), _edge(target, (mx, my))
    return f'<path class="line" marker-end="url(#tip)" d="M{ax:.1f},{ay:.1f} Q{mx:.1f},{my:.1f} {bx:.1f},{by:.1f}"/>'


def _labels(arrows: dict[tuple[Status, Status], list[Transition]]) -> list[str]:
    """Events that come from one state are written at their arrow; those from several, once, below their target."""
    parts, written = [], set()
    for (source, target), transitions in arrows.items():
        lines = [line for transition in transitions for line in _lines(transition)]
        if len(transitions[0].sources) > 1:
            if target not in written:
                x, y = _PLACES[target]
                parts += _stack(x, y + _HEIGHT / 2 + 18, lines)
                written.add(target)
            continue
        mx, my = _middle(source, target)
        straight = (_PLACES[source][1] + _PLACES[target][1]) / 2
        y = (my + straight) / 2
        height = 15 * len(lines)
        parts += _stack(mx, y + 22 if my > straight else y - height + 6, lines)
    return parts


def _lines(transition: Transition) -> list[tuple[str, str]]:
    guards = [*transition.requires, *(f"not {name}" for name in transition.forbids)]
    return [(transition.event, "title halo"), *((guard, "small halo") for guard in guards)]


def _stack(x: float, y: float, lines: list[tuple[str, str]]) -> list[str]:
    return [_text(x, y + 15 * number, text, kind, "middle") for number, (text, kind) in enumerate(lines)]


# ---- the tables ------------------------------------------------------------------------------------------------------

_ROW: Final = 18
_HEAD: Final = 28


@dataclass(frozen=True)
class _Box:
    table: Table
    x: float
    y: float
    width: float = 270
    derived: bool = False

    @property
    def height(self) -> float:
        return _HEAD + _ROW * len(self.table.columns) + 6

    def row(self, column: str) -> float:
        """The height at which a column stands."""
        return self.y + _HEAD + _ROW * (list(self.table.columns.keys()).index(column) + 0.5) + 2

    def draw(self) -> str:
        kind = "box derived" if self.derived else "box"
        parts = [
            _box(kind, self.x, self.y, self.width, self.height, corner=6),
            _box("head", self.x, self.y, self.width, _HEAD, corner=6),
            _text(self.x + self.width / 2, self.y + 18.5, self.table.name, "title", "middle"),
        ]
        for column in self.table.columns:
            y = self.row(column.name) + 4
            mark = "●" if column.primary_key else "→" if column.foreign_keys else ""
            parts.append(_text(self.x + 8, y, mark, "small"))
            parts.append(_text(self.x + 24, y, column.name, "mono"))
            parts.append(_text(self.x + self.width - 8, y, schema.plain_type(column), "type", "end"))
        return "".join(parts)


def entities() -> str:
    """Draw the tables and what refers to what; tables of the search index are dashed."""
    tables = {each.name: each for each in schema.ordered_tables()}
    middle = _Box(tables.pop(ddl.INTENTS), 400, 30)
    boxes = {middle.table.name: middle}
    y = middle.y
    for name in (ddl.TURNS, ddl.FIRINGS, ddl.EVENTS):
        boxes[name] = _Box(tables.pop(name), 40, y)
        y += boxes[name].height + 32
    if tables:
        raise KeyError(f"the picture has no place for {', '.join(tables)}")
    y = middle.y
    for index in (intents_fts, intent_anchors):
        boxes[index.name] = _Box(index, 770, y, 250, derived=True)
        y += boxes[index.name].height + 60
    lines = [
        _link(boxes[table], column, boxes[referred], number)
        for number, (table, column, referred) in enumerate(schema.references())
    ]
    for index, column in ((intents_fts, "rowid"), (intent_anchors, "intent_key")):
        box = boxes[index.name]
        bend = (middle.x + middle.width + box.x) / 2
        lines.append(
            f'<path class="line derived" d="M{box.x:g},{box.row(column):g} H{bend:g} V{middle.row("key"):g} '
            f'H{middle.x + middle.width:g}"/>'
        )
    notes = [
        _text(770, boxes[ddl.FTS].y + boxes[ddl.FTS].height + 18, "SQLite only: an FTS5 table", "small"),
        _text(770, boxes[ddl.ANCHORS].y + boxes[ddl.ANCHORS].height + 18, "PostgreSQL only", "small"),
        _text(770, middle.y + middle.height - 6, "● primary key   → foreign key", "small"),
    ]
    height = max(box.y + box.height for box in boxes.values()) + 24
    return _svg(1040, height, "Tables of standing intents", [*lines, *(box.draw() for box in boxes.values()), *notes])


def _link(box: _Box, column: str, target: _Box, number: int) -> str:
    """A line from a foreign key to the key that it refers to: many at its beginning, one at its end."""
    start, end = box.row(column), target.row("key")
    if box.x == target.x:
        bend = box.x - 12 - 6 * (number % 3)
        return _path(box.x, start, bend, end, target.x)
    bend = 336 + 14 * (number % 4)
    if box.x < target.x:
        return _path(box.x + box.width, start, bend, end, target.x)
    return _path(box.x, start, bend, end, target.x + target.width)


def _path(x: float, y: float, bend: float, end: float, target: float) -> str:
    side = -1 if bend < x else 1
    return (
        f'<path class="line" marker-end="url(#tip)" d="M{x:g},{y:g} H{bend:g} V{end:g} H{target:g}"/>'
        + _text(x + 5 * side, y - 4, "n", "small", "start" if side > 0 else "end")
        + _text(target + 9 * (-1 if bend < target else 1), end - 5, "1", "small", "middle")
    )
