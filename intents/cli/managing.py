"""Commands that change a database: upgrade, cancel, sweep, doctor."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from intents import doctor as doctoring
from intents.cli import options, output
from intents.cli.database import admin, engine_for, give_way, has_tables, service_for, shown, whole_id
from intents.cli.errors import REFUSED
from intents.migrate import upgrade as upgrade_schema
from intents.schemas import SweepResult


def upgrade(*, database: options.Database = None, as_json: options.Json = False) -> None:
    """Make the tables, or bring them to this version. A missing SQLite file is made."""
    with engine_for(database, create=True) as engine:
        new = not has_tables(engine)
        upgrade_schema(engine)
        name = shown(engine.url)
    if as_json:
        output.print_json({"database": name, "up_to_date": True})
    else:
        output.make_console().print(Text(f"Made the tables in {name}." if new else f"{name} is up to date."))


def cancel(
    *,
    intent_id: options.IntentId,
    reason: Annotated[str | None, typer.Option(help="Why, for the audit log.")] = None,
    database: options.Database = None,
    agent: options.Agent = "main",
    as_json: options.Json = False,
) -> None:
    """Cancel an intent for good."""
    with service_for(database, agent) as service:
        intent = service.cancel(whole_id(service, intent_id), by=admin(), reason=reason)
    if as_json:
        output.print_json(intent)
    else:
        output.make_console().print(output.intent_detail(intent))


def sweep(
    *,
    limit: Annotated[int, typer.Option(min=1, help="Most rows in one transaction.")] = 1000,
    once: Annotated[bool, typer.Option("--once", help="Stop after one transaction.")] = False,
    database: options.Database = None,
    agent: options.Agent = "main",
    as_json: options.Json = False,
) -> None:
    """Write down what time has decided: expiries, ended cooldowns, forgotten deliveries."""
    expired = rearmed = released = 0
    with service_for(database, agent) as service:
        while True:
            result = service.sweep(limit=limit)
            expired += result.expired
            rearmed += result.rearmed
            released += result.released
            if once or not result.more:
                break
            give_way()
    total = SweepResult(expired=expired, rearmed=rearmed, released=released, more=result.more)
    if as_json:
        output.print_json(total)
        return
    more = " More is due." if total.more else ""
    output.make_console().print(f"{expired} expired, {rearmed} rearmed, {released} released.{more}")


def doctor(
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    database: options.Database = None,
    as_json: options.Json = False,
) -> None:
    """Look the schema, the search index and the rows over; exit code 1 while something is wrong."""
    with engine_for(database) as engine:
        done = doctoring.repair(engine) if repair else []
        findings = doctoring.examine(engine)
    if as_json:
        output.print_json(
            {
                "repaired": done,
                "findings": [
                    {
                        "kind": finding.kind,
                        "name": finding.name,
                        "message": finding.message,
                        "repairable": finding.repairable,
                    }
                    for finding in findings
                ],
            }
        )
    else:
        console = output.make_console()
        for line in done:
            console.print(output.clean(line, "green"))
        for finding in findings:
            console.print(output.clean(finding.message, "yellow"))
        if not findings:
            console.print("All is well.")
        elif doctoring.lacks_every_table(findings):
            console.print("`intents upgrade` makes the tables.", style="dim")
        elif not repair and any(finding.repairable for finding in findings):
            console.print("`intents doctor --repair` mends what can be mended.", style="dim")
    if findings:
        raise typer.Exit(REFUSED)
