"""Figures as Markdown tables, as pictures and as a page of the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

PLOTS_EXTRA = "Pictures need matplotlib: pip install 'standing-intents[bench]'."


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that should hold, and whether it did in this run.

    Attributes:
        text: the goal.
        met: whether it was met; None when this run cannot say.
        detail: the figure, and the reason when it was not met.
    """

    text: str
    met: bool | None
    detail: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over a logarithmic axis.

    Attributes:
        name: of the file, without an ending.
        title: above the picture.
        x: label of the horizontal axis.
        y: label of the vertical axis.
        lines: points by the name of the line.
    """

    name: str
    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    logarithmic: tuple[bool, bool] = (True, True)


@dataclass(frozen=True, slots=True)
class Table:
    """One table; a folded one is shown on demand."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """What is said about one subject."""

    title: str
    text: str
    tables: Sequence[Table] = field(default_factory=tuple)
    charts: Sequence[Chart] = field(default_factory=tuple)
    goals: Sequence[Goal] = field(default_factory=tuple)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write rows as a Markdown table; the first column is text, the others are figures."""
    lines = ["| " + " | ".join(header) + " |", "| --- |" + " ---: |" * (len(header) - 1)]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def cell(value: object) -> str:
    """Write one value: figures with two or no decimals, nothing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return str(value)


def goals_table(goals: Iterable[Goal]) -> str:
    """Write goals with whether they were met."""
    words = {True: "met", False: "**not met**", None: "not measured"}
    return table(["goal", "", "figures"], [[goal.text, words[goal.met], goal.detail] for goal in goals])


def on_terminal(section: Section) -> str:
    """Write a section for the terminal."""
    parts = [f"## {section.title}", section.text]
    parts += [f"### {each.title}\n\n{table(each.header, each.rows)}" for each in section.tables]
    if section.goals:
        parts.append("### Goals\n\n" + goals_table(section.goals))
    return "\n\n".join(parts)


def machine_lines(machine: Mapping[str, Any]) -> str:
    """Say on what was measured."""
    stemmer = "PyStemmer" if machine["pystemmer"] else "the pure-Python stemmer"
    busy = ""
    if machine["clock"] == "processor":
        busy = "Single calls are timed by the processor's time, because others worked on the machine too. "
    return (
        f"{machine['date']}, {machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']}; Python {machine['python']}, SQLite {' and '.join(machine['sqlite'])}, "
        f"SQLAlchemy {machine['sqlalchemy']}, {stemmer}. "
        f"{busy}Load of the machine when it began: {machine['load_at_start']}."
    )


PREAMBLE = """\
# Performance

What a call costs, beside what the same work costs without the library. The page is written by the benchmarks of the
repository, which need the extra `[bench]`:

```text
pip install -e ".[bench]"
{command}
```

Each figure has its baseline from the same run: the calls are timed in turns, so that a busy machine slows all of them
alike. Read the ratios; the times are those of one machine. p50 is the median, p95 what 95 of 100 calls stay below.

{machine}

All figures: [figures.json](figures.json).
"""


#: What the profiles say of the goals that are usually missed.
REASONS: Final = """
### Why goals are missed

- **Beside bare `sqlite3`.** Analysing the text, a session and the layers of SQLAlchemy cost about the same at every
  size, which is much beside a query of a few hundred microseconds. The ratio falls with longer turns.
- **Growth.** FTS5 looks each word up in every segment of its index. A small database has one segment; a million intents
  that were imported in batches have three, two of them small. Imports, sweeps and reindexing begin to merge everything
  when the smaller ones reach a quarter of the largest, so it stays at a few. The more scopes there are, the larger the
  index is (f).
- **`ANALYZE` on a SQLite with STAT4** (here 3.51.1) makes FTS5 plan every look-up anew, which costs two to three times
  as much: do not run a whole one. `intents doctor --repair` removes what it left.
- **Long turns.** Every different word, and every pair of neighbours that could be one compound, is a term to analyse
  and to look up; what a turn costs at least is small beside 2,000 words of it.
- **Creating.** Compiling a keyword, pydantic and the guards of the lifecycle take most of the time of an intent;
  bare `INSERT` statements into these indexes stay below 10,000 a second here too.
- **Sweeping.** The bare statements are hardly faster: each row that expires is rewritten, leaves five indexes and
  the full-text table, and passes the triggers that guard it.

### What did not pay

Measured with the system's SQLite unless said, and left out:

- *Pages of FTS5 of another size* (`pgsz` 256 to 4,050): 0.14 to 0.15 ms for the query of 30 words, whatever the size.
- *All terms of a long turn in one query*, as one list or in balanced parentheses: 9 to 12 ms for 2,000 words, where
  queries of 250 or 1,000 terms take 7.5 to 8.
- *Merging after every single intent*: an insert takes 0.5 to 0.6 ms instead of 0.26, and beside 100,000 intents so many
  begun merges left 114 segments.
- *Dropping the terms that no live anchor has before they reach SQL*, with a set of anchors in memory: in a merged index
  the whole query of 30 words takes 0.17 to 0.2 ms beside a million intents, and that is the most it could save. It
  would need a table of generations that each insert writes to.
- *Lateral joins on PostgreSQL*, to make it look rows up one by one: no faster on analysed tables of 20,000 intents, and
  1.4 s instead of 39 ms for 120 candidates on tables that were never analysed.
"""


def write_page(folder: Path, sections: Sequence[Section], everything: Mapping[str, Any]) -> None:
    """Write the page, its pictures and the figures into a folder of the documentation."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    parts = [PREAMBLE.format(command=everything["command"], machine=machine_lines(everything["machine"])).rstrip()]
    goals = [goal for section in sections for goal in section.goals]
    if goals:
        parts.append("## Goals\n\n" + goals_table(goals))
        parts.append(REASONS.strip())
    for section in sections:
        parts.append(f"## {section.title}\n\n{section.text}")
        parts += [f"![{chart.title}]({chart.name}.svg)" for chart in section.charts]
        parts += [_on_page(each) for each in section.tables]
    (folder / "index.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    (folder / "figures.json").write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    draw([chart for section in sections for chart in section.charts], folder)


def _on_page(each: Table) -> str:
    rows = table(each.header, each.rows)
    if not each.folded:
        return f"**{each.title}**\n\n{rows}"
    indented = "\n".join(f"    {line}" if line else "" for line in rows.splitlines())
    return f'??? note "{each.title}"\n\n{indented}'


def draw(charts: Iterable[Chart], folder: Path) -> list[Path]:
    """Draw charts as SVG files.

    Raises:
        SystemExit: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SystemExit(PLOTS_EXTRA) from error
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    # The same figures give the same file: no date, no random ids. Letters stay letters and take the page's font.
    with mpl.rc_context({"svg.hashsalt": "intents", "svg.fonttype": "none", "font.size": 10}):
        for chart in charts:
            figure = Figure(figsize=(7.2, 3.8), layout="constrained")
            axes = figure.subplots()
            for name, points in chart.lines.items():
                axes.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=3, label=name)
            if chart.logarithmic[0]:
                axes.set_xscale("log")
            if chart.logarithmic[1]:
                axes.set_yscale("log")
            axes.set(title=chart.title, xlabel=chart.x, ylabel=chart.y)
            axes.grid(alpha=0.3)
            axes.legend(frameon=False, fontsize=8)
            path = folder / f"{chart.name}.svg"
            figure.savefig(path, metadata={"Date": None, "Creator": "benchmarks"})
            # matplotlib ends lines of paths with spaces.
            path.write_text(
                "\n".join(line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()) + "\n",
                encoding="utf-8",
            )
            drawn.append(path)
    return drawn
