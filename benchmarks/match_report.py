"""What the figures of matching say: tables, pictures, and which goals were met."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from benchmarks.report import Chart, Goal, Section, Table
from benchmarks.workloads import BESIDE_RETIRED, MAIN, OTHERS

TITLES: Final = {workload.name: workload.title for workload in (*MAIN, *OTHERS, *BESIDE_RETIRED)}
HITS: Final = tuple(workload.name for workload in MAIN if workload.fires)
MOST_STATEMENTS: Final = 8
LONGER: Final = 12

TEXT: Final = """\
A turn is analysed, looked up and decided; a turn that fires is also written and committed. Workloads:

{workloads}

Turns have the length given, in words whose frequencies follow Zipf's law. In the databases of (a) to (e) all intents
but five share their first two words (`deployment review topic17ou`). *Bare* is the prefilter's query of the very same
turns on a plain `sqlite3` connection, with the text analysed and the statement written beforehand; *Core* is that
query through SQLAlchemy Core. *Dictionary* is the least that Python needs: the same text analysis, then a dictionary of
intents by their rarest word, in memory, with no cooldown, budget, log or second process. `perq` and `mokaccino` are
percolators from PyPI, given the analysed terms and no scopes{percolators}. *Scan* is the library without an index, up
to {scan:,} intents.
"""


Worst = list[tuple[float, str]]
"""Ratios with where they were; see `Figures.ratios`."""


class Figures:
    """Timings by what was timed."""

    def __init__(self, results: Iterable[Mapping[str, Any]]) -> None:
        self._all = {
            (r["sqlite"], r["analysed"], r["words"], r["workload"], r["intents"], r["call"]): r for r in results
        }
        self.variants = list(dict.fromkeys(key[:2] for key in self._all))

    def get(self, variant: tuple[str, bool], words: int, workload: str, intents: int, call: str) -> Any:
        """Return one timing, or None when it was not measured."""
        return self._all.get((*variant, words, workload, intents, call))

    def p50(self, variant: tuple[str, bool], words: int, workload: str, intents: int, call: str = "service") -> Any:
        """Return a median in microseconds, or None."""
        found = self.get(variant, words, workload, intents, call)
        return None if found is None else found["p50"]

    def ratios(
        self, over: Callable[[tuple[str, bool], int], Iterator[tuple[Any, Any, str]]], words: Iterable[int]
    ) -> Worst:
        """Return the largest ratios of pairs of medians over all lengths, with where they were.

        First that of all variants, then that of the variants which were never analysed; none where nothing was found.
        """
        found = [
            (above / below, ", ".join(filter(None, (where, f"{length:,} words", name_of(variant)))), variant[1])
            for variant in self.variants
            for length in words
            for above, below, where in over(variant, length)
            if above is not None and below is not None
        ]
        as_made = [each for each in found if not each[2]]
        return [max(some)[:2] for some in (found, as_made) if some]


def name_of(variant: tuple[str, bool]) -> str:
    """Name a variant."""
    return f"SQLite {variant[0]}{', analysed' if variant[1] else ''}"


def section(figures: Mapping[str, Any]) -> Section:
    """Write the section on matching."""
    found = Figures(figures["results"])
    missing = [name for name, version in figures["percolators"].items() if version is None]
    there = [f"{name} {version}" for name, version in figures["percolators"].items() if version is not None]
    up_to = figures["percolators_up_to"]
    says = f" ({', '.join(there) or 'neither is installed'}), up to {up_to:,} intents" + "".join(
        f"; {name} did not install here" for name in missing
    )
    text = TEXT.format(
        workloads="\n".join(f"- ({name}) {title}" for name, title in TITLES.items() if "-hit" not in name),
        percolators=says,
        scan=figures["scan_up_to"],
    ).rstrip()
    tables: list[Table] = []
    for variant in found.variants:
        folded = variant != found.variants[0]
        tables.append(_misses(found, figures, variant, folded=folded))
        tables.append(_hits(found, figures, variant, folded=folded))
        tables.append(_others(found, figures, variant, folded=folded))
        if variant == found.variants[0]:
            tables.append(_shares(found, figures, variant))
            tables.append(_matchers(found, figures, variant))
    return Section(
        "Matching a turn", text, [t for t in tables if t.rows], list(_charts(found, figures)), goals(found, figures)
    )


def _ratio(above: Any, below: Any) -> float | None:
    return None if above is None or below is None else above / below


def _misses(found: Figures, figures: Mapping[str, Any], variant: tuple[str, bool], *, folded: bool) -> Table:
    rows = []
    for name in ("a", "b"):
        for words in figures["words"]:
            for size in figures["sizes"]:
                service = found.get(variant, words, name, size, "service")
                bare = found.get(variant, words, name, size, "bare sqlite3")
                if service is None or bare is None:
                    continue
                every = found.p50(variant, words, name, size, "bare sqlite3, all statements")
                core = found.p50(variant, words, name, size, "SQLAlchemy Core")
                smallest = found.p50(variant, words, name, figures["sizes"][0])
                rows.append(
                    [
                        f"({name})",
                        words,
                        size,
                        service["p50"],
                        service["p95"],
                        bare["p50"],
                        bare["p95"],
                        _ratio(service["p50"], bare["p50"]),
                        _ratio(service["p50"], every),
                        _ratio(service["p50"], core),
                        _ratio(service["p50"], smallest),
                        service["statements"],
                    ]
                )
    header = [
        "nothing fires",
        "words",
        "intents",
        "p50 µs",
        "p95 µs",
        "bare p50",
        "bare p95",
        "× bare",
        "× bare, all statements",
        "× Core",
        "× smallest",
        "statements",
    ]
    return Table(f"{name_of(variant)}: a turn that fires nothing", header, rows, folded)


def _hits(found: Figures, figures: Mapping[str, Any], variant: tuple[str, bool], *, folded: bool) -> Table:
    rows = []
    for name in HITS:
        for words in figures["words"]:
            for size in figures["sizes"]:
                service = found.get(variant, words, name, size, "service")
                commit = found.get(variant, words, "commit", size, "bare sqlite3")
                if service is None or commit is None:
                    continue
                rows.append(
                    [
                        f"({name})",
                        words,
                        size,
                        service["p50"],
                        service["p95"],
                        commit["p50"],
                        commit["p95"],
                        _ratio(service["p50"], found.p50(variant, words, "a", size)),
                        _ratio(service["p50"], found.p50(variant, words, name, figures["sizes"][0])),
                        service["statements"],
                    ]
                )
    header = [
        "one fires",
        "words",
        "intents",
        "p50 µs",
        "p95 µs",
        "bare writes and commit p50",
        "p95",
        "× (a)",
        "× smallest",
        "statements",
    ]
    return Table(f"{name_of(variant)}: a turn that fires one intent, commit included", header, rows, folded)


def _others(found: Figures, figures: Mapping[str, Any], variant: tuple[str, bool], *, folded: bool) -> Table:
    rows = []
    words = figures["words"][0]
    for workload in (*OTHERS, *BESIDE_RETIRED):
        sizes = (0, figures["retired"]) if workload.kind == "retired" else figures["sizes"]
        for size in sizes:
            service = found.get(variant, words, workload.name, size, "service")
            if service is None:
                continue
            bare = found.p50(variant, words, workload.name, size, "bare sqlite3")
            rows.append(
                [
                    f"({workload.name}) {workload.title}",
                    f"{size:,} retired" if workload.kind == "retired" else size,
                    service["p50"],
                    service["p95"],
                    bare,
                    _ratio(service["p50"], bare),
                    _ratio(service["p50"], found.p50(variant, words, workload.name, sizes[0])),
                ]
            )
    header = ["workload", "intents", "p50 µs", "p95 µs", "bare p50", "× bare", "× smallest"]
    return Table(f"{name_of(variant)}: other databases, turns of {words:,} words", header, rows, folded)


def _shares(found: Figures, figures: Mapping[str, Any], variant: tuple[str, bool]) -> Table:
    """Divide the time of a turn that fires nothing; differences of medians, so only about right."""
    rows = []
    for words in figures["words"]:
        for size in (figures["sizes"][0], figures["sizes"][-1]):
            service, analysis = (found.p50(variant, words, name, size) for name in ("a", "analysis"))
            bare, core = (found.p50(variant, words, "a", size, name) for name in ("bare sqlite3", "SQLAlchemy Core"))
            if None not in (service, analysis, bare, core):
                rows.append(["(a)", words, size, service, analysis, bare, core - bare, service - core - analysis])
    header = [
        "",
        "words",
        "intents",
        "p50 µs",
        "text analysis",
        "SQLite: prefilter",
        "SQLAlchemy: prefilter",
        "the rest",
    ]
    return Table(f"{name_of(variant)}: where the time goes", header, rows)


def _matchers(found: Figures, figures: Mapping[str, Any], variant: tuple[str, bool]) -> Table:
    names = ["dictionary", *figures["percolators"], "scan"]
    rows = []
    for workload in ("a", "b", "c-newest", "d"):
        for words in figures["words"]:
            for size in figures["sizes"]:
                service = found.p50(variant, words, workload, size)
                if service is None:
                    continue
                cells: list[object] = []
                for name in names:
                    if figures["percolators"].get(name, True) is not None:
                        cells.append(found.p50(variant, words, workload, size, name))
                    else:
                        cells.append("not installed")
                beside = _ratio(service, found.p50(variant, words, workload, size, "dictionary"))
                rows.append([f"({workload})", words, size, service, *cells, beside])
    header = ["workload", "words", "intents", "service p50 µs", *(f"{name} p50" for name in names), "× dictionary"]
    return Table(f"{name_of(variant)}: other ways to find the same intents", header, rows, folded=True)


def _charts(found: Figures, figures: Mapping[str, Any]) -> Iterator[Chart]:
    variant = found.variants[0]
    sizes = figures["sizes"]
    words = figures["words"][0]

    def line(workload: str, call: str, length: int = words) -> list[tuple[float, float]]:
        points = [(size, found.p50(variant, length, workload, size, call)) for size in sizes]
        return [(size, micro / 1000) for size, micro in points if micro is not None]

    several = {
        "service": line("a", "service"),
        "bare sqlite3": line("a", "bare sqlite3"),
        "SQLAlchemy Core": line("a", "SQLAlchemy Core"),
        **{name: line("a", name) for name in ("dictionary", *figures["percolators"], "scan")},
    }
    yield Chart(
        "match-nothing",
        f"A turn of {words} words that fires nothing",
        "intents",
        "p50, milliseconds",
        {name: points for name, points in several.items() if points},
    )
    yield Chart(
        "match-workloads",
        f"Turns of {words} words through the service",
        "intents",
        "p50, milliseconds",
        {
            f"({name}) {TITLES[name]}": line(name, "service")
            for name in ("a", "b", "c-newest", "d", "e", "f", "g")
            if line(name, "service")
        },
    )
    if len(figures["words"]) > 1:
        yield Chart(
            "match-words",
            "A turn that fires nothing, by its length",
            "words",
            "p50, milliseconds",
            {
                f"{size:,} intents": [
                    (length, found.p50(variant, length, "a", size) / 1000) for length in figures["words"]
                ]
                for size in sizes
            },
        )


def _goal(text: str, worst: Worst, most: float) -> Goal:
    if not worst:
        return Goal(text, None, "–")
    (ratio, where), (as_made, there) = worst[0], worst[-1]
    detail = f"at worst {ratio:.2f} × ({where})"
    if there != where:
        detail += f"; never analysed {as_made:.2f} × ({there})"
    return Goal(text, ratio <= most, detail)


def goals(found: Figures, figures: Mapping[str, Any]) -> list[Goal]:
    """Hold the figures against the goals."""
    sizes, words = figures["sizes"], figures["words"]
    few, many = sizes[0], sizes[-1]
    pairs = found.ratios
    p50 = found.p50

    def beside(upper: str, lower: str) -> Any:
        return lambda v, w: ((p50(v, w, upper, s), p50(v, w, lower, s), f"({upper}), {s:,} intents") for s in sizes)

    def grown(name: str) -> Any:
        return lambda v, w: iter([(p50(v, w, name, many), p50(v, w, name, few), "")])

    def longer(v: tuple[str, bool], _words: int) -> Any:
        return ((p50(v, longest, "a", s), p50(v, words[0], "a", s), f"{s:,} intents") for s in sizes)

    longest = words[-1]
    made = [
        _goal(
            "a turn that fires nothing (a) costs at most 3 × bare sqlite3, at every size",
            pairs(
                lambda v, w: ((p50(v, w, "a", s), p50(v, w, "a", s, "bare sqlite3"), f"{s:,} intents") for s in sizes),
                words,
            ),
            3,
        )
    ]
    for name in ("a", "e", "f", "g"):
        worst = pairs(grown(name), words if name == "a" else words[:1])
        made.append(_goal(f"({name}) {TITLES[name]}: {many:,} intents cost at most 1.5 × {few:,}", worst, 1.5))
    retired = figures["retired"]
    made.append(
        _goal(
            f"(h) {retired:,} retired rows beside 1,000 live ones cost at most 1.5 × none",
            pairs(lambda v, w: iter([(p50(v, w, "h", retired), p50(v, w, "h", 0), "")]), words[:1]),
            1.5,
        )
    )
    made.append(
        _goal(
            f"a turn that fires one intent, commit included: {many:,} intents cost at most 2 × {few:,}",
            pairs(lambda v, w: ((p50(v, w, name, many), p50(v, w, name, few), f"({name})") for name in HITS), words),
            2,
        )
    )
    counts = {
        length: max(
            r["statements"]
            for r in figures["results"]
            if r["words"] == length and r["workload"] in HITS and "statements" in r
        )
        for length in words
    }
    made.append(
        Goal(
            f"a turn of {words[0]} words that fires one intent takes at most {MOST_STATEMENTS} statements",
            counts[words[0]] <= MOST_STATEMENTS,
            ", ".join(f"{count} with {length:,} words" for length, count in counts.items())
            + " (BEGIN, COMMIT and PRAGMA not counted)",
        )
    )
    made.append(_goal("(b) costs at most 3 × (a), at every size", pairs(beside("b", "a"), words), 3))
    for name in ("c-newest", "c-oldest"):
        made.append(_goal(f"({name}) costs at most 3 × (a), at every size", pairs(beside(name, "a"), words), 3))
    made.append(Goal("the complete entry is always found", True, "every turn is looked at; a loss ends the run"))
    if len(words) > 1:
        text = f"(a) a turn of {longest:,} words costs at most {LONGER} × one of {words[0]}"
        made.append(_goal(text, pairs(longer, words[:1]), LONGER))
    return made
