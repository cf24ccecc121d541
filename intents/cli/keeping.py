"""Commands that keep a database in good order: backup, restore, reindex, prune."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from intents import backup as copying
from intents.cli import options, output
from intents.cli.database import engine_for, service_for
from intents.cli.errors import USAGE, CommandError
from intents.times import parse_duration

_BATCH = 500


def backup(
    *,
    target: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A file to write, or a directory of snapshots.")],
    keep: Annotated[int | None, typer.Option(min=1, help="Write a dated snapshot into DIR and keep this many.")] = None,
    database: options.Database = None,
    as_json: options.Json = False,
) -> None:
    """Copy a SQLite database while matching goes on, and verify the copy."""
    if keep is None and target.is_dir():
        raise CommandError(f"{target} is a directory; name a file, or say with --keep how many snapshots stay.", USAGE)
    with engine_for(database) as engine, _bar("pages") as bar:
        if keep is None:
            path = copying.backup(engine, target, progress=bar.told)
        else:
            path = copying.snapshot(engine, target, keep=keep, progress=bar.told)
    _said(as_json, {"backup": str(path)}, f"Copied and verified: {path}")


def restore(
    *,
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    database: options.Database = None,
    as_json: options.Json = False,
) -> None:
    """Put a backup in place of the whole database file; what was there is kept beside it."""
    if not yes:
        typer.confirm(f"Replace the whole database by {source}?", abort=True)
    with engine_for(database, create=True) as engine, _bar("pages") as bar:
        kept = copying.restore(engine, source, progress=bar.told)
    old = f" The old database is {kept}." if kept else ""
    _said(as_json, {"restored": str(source), "kept": kept and str(kept)}, f"Restored from {source}.{old}")


def reindex(*, database: options.Database = None, agent: options.Agent = "main", as_json: options.Json = False) -> None:
    """Compile intents of another analyzer version afresh, in batches; matching goes on meanwhile."""
    renewed = kept = 0
    with service_for(database, agent, every_language=True) as service, _bar("intents") as bar:
        after: int | None = None
        while True:
            result = service.reindex(after=after, limit=_BATCH)
            renewed, kept, after = renewed + result.renewed, kept + result.kept, result.after
            bar.moved(result.renewed + result.kept, more=result.more)
            if not result.more:
                break
    left = f" {kept} cannot be compiled by this version and stay as they are." if kept else ""
    _said(as_json, {"renewed": renewed, "kept": kept}, f"{renewed} renewed.{left}")


def prune(
    *,
    before: Annotated[
        str, typer.Option(metavar="AGE|DATE", help="Older than this: 90d, 12h, or a date such as 2026-01-31 (UTC).")
    ],
    database: options.Database = None,
    agent: options.Agent = "main",
    as_json: options.Json = False,
) -> None:
    """Remove ended intents with their firings and log, in batches."""
    moment = _moment(before)
    removed = 0
    with service_for(database, agent) as service, _bar("intents") as bar:
        while True:
            result = service.prune(before=moment, limit=_BATCH)
            removed += result.intents
            bar.moved(result.intents, more=result.more)
            if not result.more:
                break
    _said(as_json, {"removed": removed, "before": moment.isoformat()}, f"{removed} removed.")


def _moment(text: str) -> datetime:
    age = _age(text)
    if age is not None:
        return datetime.now(UTC) - age
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandError("--before takes an age such as 90d or a date such as 2026-01-31.", USAGE) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _age(text: str) -> timedelta | None:
    try:
        return parse_duration(text)
    except ValueError:
        return None


def _said(as_json: bool, facts: dict[str, object], sentence: str) -> None:
    if as_json:
        output.print_json(facts)
    else:
        output.make_console().print(sentence, markup=False, highlight=False, soft_wrap=True)


class _Bar:
    """A progress bar on stderr, shown on terminals only."""

    def __init__(self, progress: Progress, unit: str) -> None:
        self._progress = progress
        self._task = progress.add_task(unit, total=None)

    def told(self, remaining: int, total: int) -> None:
        self._progress.update(self._task, completed=total - remaining, total=total)

    def moved(self, count: int, *, more: bool) -> None:
        self._progress.advance(self._task, count)
        if not more:
            self._progress.update(self._task, total=self._progress.tasks[self._task].completed)


@contextmanager
def _bar(unit: str) -> Iterator[_Bar]:
    console = output.make_console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        yield _Bar(progress, unit)
