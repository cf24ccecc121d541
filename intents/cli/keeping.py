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
from intents.cli.database import engine_for, give_way, service_for, shown, url_of
from intents.cli.errors import USAGE, CommandError
from intents.times import parse_duration

_BATCH = 500


def backup(
    *,
    target: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A file to write, or a directory of snapshots.")],
    keep: Annotated[int | None, typer.Option(min=1, help="Write a dated snapshot into DIR and keep this many.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
    database: options.Database = None,
    as_json: options.Json = False,
) -> None:
    """Copy a SQLite database while matching goes on, and verify the copy."""
    if keep is None and target.is_dir():
        raise CommandError(f"{target} is a directory; name a file, or say with --keep how many snapshots stay.", USAGE)
    _refuse_same_file(target, database)
    if keep is None and target.exists() and not force:
        raise CommandError(f"{target} exists; name another file, or replace it with --force.", USAGE)
    if keep is None and not target.absolute().parent.is_dir():
        raise CommandError(f"{target.parent} is no directory; make it first.", USAGE)
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
    if source.is_dir():
        raise CommandError(f"{source} is a directory; name one of the backups in it.", USAGE)
    _refuse_same_file(source, database)
    replaced = shown(url_of(database))
    if not yes and not _confirmed(f"Replace the whole database {replaced} by {source}?"):
        raise CommandError(f"{replaced} stays as it is. --yes does not ask.")
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
            give_way()
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
            give_way()
    _said(as_json, {"removed": removed, "before": moment.isoformat()}, f"{removed} removed.")


def _confirmed(question: str) -> bool:
    try:
        return typer.confirm(question)
    except typer.Abort:  # the end of the input
        print()
        return False


def _refuse_same_file(file: Path, database: str | None) -> None:
    url = url_of(database)
    own = url.database if url.get_backend_name() == "sqlite" else None
    if own and file.exists() and Path(own).exists() and file.samefile(own):
        raise CommandError(f"{file} is the database itself; name another file.", USAGE)


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
