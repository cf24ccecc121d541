"""Fires as a picture: by day, by status, by intent. Needs Matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from intents.cli.errors import CommandError
from intents.sanitize import clean_line

if TYPE_CHECKING:
    from intents.schemas import Activity

FORMATS: Final = (".svg", ".png", ".pdf")
#: Characters of a description on an axis.
_LABEL: Final = 40
_BAR: Final = "#3b6ea5"


def plot(activity: Activity, to: Path, *, agent: str) -> None:
    """Write a picture of an agent's fires.

    Args:
        activity: what was counted.
        to: the file; its name's ending chooses the format.
        agent: named in the title.

    Raises:
        CommandError: Matplotlib is not installed, or the ending is none of `FORMATS`.
        OSError: the file cannot be written.
    """
    if to.suffix.lower() not in FORMATS:
        raise CommandError(f"{to}: the name of a picture ends in {', '.join(FORMATS)}.")
    try:
        # Not pyplot: it would look for a screen and keep figures for ever.
        from matplotlib import dates as untyped  # noqa: PLC0415 - an extra
        from matplotlib.figure import Figure  # noqa: PLC0415
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415
    except ImportError:
        raise CommandError('A picture needs Matplotlib: pip install "standing-intents[plot]".') from None

    dates: Any = untyped
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    figure.suptitle(f"Standing intents of {_line(agent)}")
    panels = figure.subplot_mosaic([["days", "days"], ["statuses", "intents"]])

    days = panels["days"]
    days.bar([dates.date2num(day) for day in activity.by_day], list(activity.by_day.values()), color=_BAR)
    days.set_title("Fires a day (UTC)")
    days.set_ylim(0, max(4, *activity.by_day.values()) * 1.1)
    days.yaxis.set_major_locator(MaxNLocator(integer=True))
    locator = dates.AutoDateLocator()
    days.xaxis.set_major_locator(locator)
    days.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))

    statuses = panels["statuses"]
    bars = statuses.barh([status.value for status in activity.by_status], list(activity.by_status.values()), color=_BAR)
    statuses.bar_label(bars, padding=3)
    statuses.invert_yaxis()
    statuses.set_title("Intents by status")
    statuses.xaxis.set_visible(False)

    intents = panels["intents"]
    intents.set_title(f"What fired most in {len(activity.by_day)} days")
    intents.xaxis.set_visible(False)
    if activity.by_intent:
        places = range(len(activity.by_intent))
        fires = intents.barh(places, [each.fires for each in activity.by_intent], color=_BAR)
        intents.bar_label(fires, padding=3)
        intents.set_yticks(places, [_line(each.description) for each in activity.by_intent])
        intents.invert_yaxis()
    else:
        intents.yaxis.set_visible(False)
        intents.text(0.5, 0.5, "nothing fired", ha="center", va="center", transform=intents.transAxes)
    for panel in panels.values():
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(to, dpi=120)


def _line(text: str) -> str:
    # A dollar sign would begin a formula.
    line = clean_line(text)
    return (line if len(line) <= _LABEL else f"{line[: _LABEL - 1]}…").replace("$", r"\$")
