"""The same commands on PostgreSQL."""

from __future__ import annotations

from sqlalchemy import create_engine, make_url
from sqlalchemy.orm import sessionmaker

from intents import IntentCreate, IntentService, OwnerPolicy, Turn
from tests.cli.conftest import OWNER, Run


def test_a_walk_through_the_commands(run: Run, postgresql_url: str) -> None:
    # As a host writes it: without a driver, or with its asynchronous one.
    plain = make_url(postgresql_url).set(drivername="postgresql").render_as_string(hide_password=False)
    asynchronous = make_url(postgresql_url).set(drivername="postgresql+asyncpg").render_as_string(hide_password=False)
    assert "intents upgrade" in run("list", "-d", plain).error
    assert run("upgrade", "-d", plain).code == 0
    engine = create_engine(make_url(postgresql_url).set(drivername="postgresql+psycopg"))
    service = IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]))
    draft = IntentCreate(description="Confirm the rollback owner", trigger_keywords=["release candidate"])
    intent = service.create(draft, by=OWNER)
    service.match(Turn(text="the release candidate", identity=OWNER, id="m-1"))
    engine.dispose()

    assert [each["id"] for each in run("list", "-d", asynchronous, "--json").json] == [intent.id]
    counted = run("stats", "-d", plain, "--json").json
    assert (counted["by_status"]["fired"], counted["firings"], counted["turns"]) == (1, 1, 1)
    (explained,) = run(
        "explain", "release candidate", "--provider", "slack", "--sender", "U1", "-d", plain, "--json"
    ).json
    assert explained["rule"] == "cooldown"
    assert run("cancel", intent.id, "-d", plain, "--json").json["status"] == "cancelled"
    assert run("doctor", "-d", plain).out == "All is well.\n"
