"""Both ways of living in a host's repository, as real host projects driven by Alembic's command line."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from alembic.config import CommandLine, Config
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import sessionmaker

import intents
from intents import doctor
from intents.migrate import check_schema, downgrade, upgrade
from intents.models import metadata
from intents.policy import OwnerPolicy
from intents.testing import OWNER, make_draft, make_turn
from tests.schema.snapshot import snapshot

HERE = Path(__file__).parent
HOSTS_OWN = {"orders", "orders_data"}


@dataclass
class Host:
    """A copy of a host project, on a database of its own."""

    directory: Path
    url: str
    engine: Engine

    def alembic(self, *arguments: str, fails: bool = False) -> str:
        """Run Alembic's command line in the project; give what it printed."""
        printed = io.StringIO()
        environment = {"SHOP_DATABASE_URL": self.url}
        with (
            contextlib.chdir(self.directory),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            mock.patch.dict(os.environ, environment),
            mock.patch.object(sys, "path", list(sys.path)),
        ):
            sys.modules.pop("shop", None)
            importlib.invalidate_caches()
            try:
                line = CommandLine("alembic")
                options = line.parser.parse_args(list(arguments))
                line.run_cmd(Config("alembic.ini", stdout=printed, output_buffer=printed, cmd_opts=options), options)
                failed = False
            except (SystemExit, SQLAlchemyError, TypeError) as error:
                printed.write(str(error))
                failed = True
        assert failed == fails, printed.getvalue()
        return printed.getvalue()

    def alembic_process(self, *arguments: str) -> str:
        """The same in a process of its own, as a person would."""
        done = subprocess.run(
            [sys.executable, "-m", "alembic", *arguments],
            cwd=self.directory,
            env={**os.environ, "SHOP_DATABASE_URL": self.url},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def versions(self) -> set[str]:
        return {path.name for path in (self.directory / "migrations" / "versions").glob("*.py")}

    def tables(self) -> set[str]:
        with self.engine.connect() as connection:
            return set(self.engine.dialect.get_table_names(connection))

    def our_schema(self) -> dict[object, object]:
        """The schema without the host's own tables."""
        return {key: value for key, value in snapshot(self.engine).items() if "order" not in str(key)}

    def fires(self) -> bool:
        """Create an intent and say its words."""
        service = intents.IntentService(sessionmaker(self.engine), owners=OwnerPolicy(allow_from=("test:owner",)))
        service.create(make_draft("release candidate", cooldown="P0D", max_fires=1000), by=OWNER)
        return bool(service.match(make_turn("the release candidate is up")))


MakeHost = Callable[[str], Host]


@pytest.fixture(params=["sqlite", "postgresql"])
def make_host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeHost]:
    """Copy a host project and give it an empty database."""
    url = (
        request.getfixturevalue("postgresql_url")
        if request.param == "postgresql"
        else f"sqlite:///{tmp_path / 'shop.db'}"
    )
    engine = create_engine(url)

    def make(project: str) -> Host:
        directory = tmp_path / project
        shutil.copytree(HERE / project, directory, ignore=shutil.ignore_patterns("__pycache__"))
        return Host(directory, url, engine)

    yield make
    engine.dispose()


@pytest.fixture
def as_created(make_host: MakeHost, request: pytest.FixtureRequest, tmp_path: Path) -> dict[object, object]:
    """Our schema as ``metadata.create_all()`` makes it, on the host's kind of database."""
    name = "postgresql_engine" if "postgresql" in request.node.name else "sqlite_engine"
    return dict(snapshot(request.getfixturevalue(name)))


def installed_versions() -> set[str]:
    package = importlib.import_module("intents.migrations")
    return {path.name for path in (Path(package.__path__[0]) / "versions").glob("*.py")}


# ---- a history of our own ------------------------------------------------------------------------


def test_own_history_from_the_hosts_migration(make_host: MakeHost, as_created: dict[object, object]) -> None:
    host = make_host("own_history")
    host.alembic_process("upgrade", "head")
    assert host.tables() >= HOSTS_OWN
    check_schema(host.engine)
    assert host.our_schema() == as_created
    assert host.fires()
    assert re.findall(r"(\w+) \(head\)", host.alembic("heads")) == ["a002"]
    assert re.findall(r"(\w+) \(head\)", host.alembic("current")) == ["a002"]
    with host.engine.connect() as connection:
        assert connection.scalars(text("SELECT version_num FROM intents_alembic_version")).all() == ["intents_0001"]


def test_own_history_leaves_the_hosts_autogenerate_empty_and_unhidden(make_host: MakeHost) -> None:
    host = make_host("own_history")
    host.alembic("upgrade", "head")
    for _ in range(2):
        assert "No new upgrade operations detected" in host.alembic("check")
    before = host.versions()
    host.alembic("revision", "--autogenerate", "-m", "nothing")
    (written,) = host.versions() - before
    code = (host.directory / "migrations" / "versions" / written).read_text()
    assert "op." not in code
    # What the host changes is seen, in the table with the misleading name too.
    shop = host.directory / "shop.py"
    shop.write_text(shop.read_text().replace('Column("order_id"', 'Column("weight", Integer), Column("order_id"'))
    host.alembic("upgrade", "head")
    assert "add_column" in host.alembic("check", fails=True)
    assert "standing_intent" not in host.alembic("check", fails=True)


@pytest.mark.parametrize("ours_first", [True, False])
def test_own_history_beside_the_hosts(make_host: MakeHost, ours_first: bool) -> None:
    host = make_host("own_history")
    host.alembic("upgrade", "a001")
    if ours_first:
        upgrade(host.engine)
        host.alembic("upgrade", "head")
    else:
        host.alembic("upgrade", "head")
        upgrade(host.engine)
    assert "a002 (head)" in host.alembic("current")
    check_schema(host.engine)
    downgrade(host.engine, "base")
    assert host.our_schema() == {}
    assert host.tables() >= HOSTS_OWN
    assert "a002 (head)" in host.alembic("current")
    upgrade(host.engine)
    assert host.fires()


READERS = {
    "upgrade": "intents.upgrade(op.get_bind())",
    "upgrade to an id": "intents.upgrade(op.get_bind(), 'intents_0001')",
    "upgrade by the context": "intents.upgrade(op.get_context().bind)",
    "downgrade": "intents.migrate.downgrade(op.get_bind(), 'base')",
    "check": "intents.check_schema(op.get_bind())",
    "examine": "intents.doctor.examine(op.get_bind())",
    "repair": "intents.doctor.repair(op.get_bind())",
}


@pytest.mark.parametrize("call", READERS.values(), ids=READERS)
def test_own_history_has_no_offline_mode_and_says_so(make_host: MakeHost, call: str) -> None:
    host = make_host("own_history")
    revision = host.directory / "migrations" / "versions" / "a002_reminders.py"
    code = revision.read_text()
    assert "intents.upgrade(op.get_bind())" in code
    revision.write_text(
        code.replace("import intents", "import intents.doctor, intents.migrate", 1).replace(READERS["upgrade"], call)
    )
    said = host.alembic("upgrade", "head", "--sql", fails=True)
    assert re.search(r"--sql mode.*version_locations.*`alembic upgrade heads --sql`", said)
    assert host.tables() == set()


def test_own_history_may_leave_the_call_out_offline(make_host: MakeHost) -> None:
    host = make_host("own_history")
    revision = host.directory / "migrations" / "versions" / "a002_reminders.py"
    guarded = "if not op.get_context().as_sql:\n        intents.upgrade(op.get_bind())"
    revision.write_text(revision.read_text().replace(READERS["upgrade"], guarded))
    script = host.alembic("upgrade", "head", "--sql")
    assert "orders_data" in script
    assert "standing_intents" not in script
    host.alembic("upgrade", "head")
    check_schema(host.engine)


def test_a_failing_migration_of_the_host_takes_ours_with_it(make_host: MakeHost) -> None:
    host = make_host("own_history")
    revision = host.directory / "migrations" / "versions" / "a002_reminders.py"
    revision.write_text(revision.read_text().replace('        "orders_data",', '        "orders",'))
    host.alembic("upgrade", "a001")
    host.alembic("upgrade", "head", fails=True)
    assert host.our_schema() == {}
    assert "a001" in host.alembic("current")


ASYNC_ENV = """
import asyncio
import os

from alembic import context
from shop import metadata
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

import intents


def run(connection):
    context.configure(connection=connection, target_metadata=metadata, include_name=intents.include_name)
    with context.begin_transaction():
        context.run_migrations()


async def main():
    engine = create_async_engine(os.environ["SHOP_DATABASE_URL"], poolclass=NullPool)
    async with engine.connect() as connection:
        await connection.run_sync(run)


asyncio.run(main())
"""


@pytest.mark.parametrize("driver", ["aiosqlite", "psycopg", "asyncpg"])
def test_own_history_in_an_asynchronous_environment(
    driver: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'shop.db'}" if driver == "aiosqlite" else request.getfixturevalue("postgresql_url")
    directory = tmp_path / "shop"
    shutil.copytree(HERE / "own_history", directory, ignore=shutil.ignore_patterns("__pycache__"))
    (directory / "migrations" / "env.py").write_text(ASYNC_ENV)
    engine = create_engine(url)
    host = Host(directory, f"{engine.dialect.name}+{driver}://{url.partition('://')[2]}", engine)
    host.alembic("upgrade", "head")
    check_schema(engine)
    assert host.fires()
    assert "No new upgrade operations detected" in host.alembic("check")
    assert "a002 (head)" in host.alembic("current")
    engine.dispose()


# ---- our revisions in the host's history ---------------------------------------------------------


def test_shared_history_upgrades_both(make_host: MakeHost, as_created: dict[object, object]) -> None:
    host = make_host("shared_history")
    host.alembic_process("upgrade", "heads")
    assert host.tables() >= HOSTS_OWN
    assert "intents_alembic_version" not in host.tables()
    check_schema(host.engine)
    assert host.our_schema() == as_created  # whatever the host's naming convention says
    assert host.fires()
    assert set(re.findall(r"(\w+) .*\(head\)", host.alembic("heads"))) == {"a002", "intents_0001"}
    assert set(re.findall(r"(\w+) \(head\)", host.alembic("current"))) == {"a002", "intents_0001"}
    assert "No new upgrade operations detected" in host.alembic("check")
    upgrade(host.engine)  # leaves it to the host's history, and records nothing of its own
    assert "intents_alembic_version" not in host.tables()


def test_shared_history_goes_down_by_branch(make_host: MakeHost) -> None:
    host = make_host("shared_history")
    host.alembic("upgrade", "heads")
    host.alembic("downgrade", "intents@base")
    assert host.our_schema() == {}
    assert host.tables() >= HOSTS_OWN
    host.alembic("upgrade", "intents@head")
    check_schema(host.engine)
    assert doctor.examine(host.engine) == []


def test_shared_history_joins_a_host_that_is_under_way(make_host: MakeHost) -> None:
    host = make_host("shared_history")
    host.alembic("upgrade", "shop@head")
    with pytest.raises(intents.SchemaMismatch, match="missing"):
        check_schema(host.engine)
    host.alembic("upgrade", "heads")
    check_schema(host.engine)


def test_shared_history_and_the_hosts_next_revision(make_host: MakeHost) -> None:
    host = make_host("shared_history")
    host.alembic("upgrade", "heads")
    ours, theirs = installed_versions(), host.versions()
    assert "Multiple heads" in host.alembic("revision", "-m", "next", fails=True)
    host.alembic("revision", "-m", "next", "--head", "shop@head")
    assert installed_versions() == ours
    (written,) = host.versions() - theirs
    assert "down_revision = 'a002'" in (host.directory / "migrations" / "versions" / written).read_text()
    host.alembic("upgrade", "heads")
    assert "No new upgrade operations detected" in host.alembic("check")


def test_shared_history_of_a_host_without_a_revision_of_its_own(make_host: MakeHost) -> None:
    host = make_host("shared_history")
    for path in (host.directory / "migrations" / "versions").glob("*.py"):
        path.unlink()
    ours = installed_versions()
    host.alembic(
        *("revision", "-m", "first", "--head", "base", "--branch-label", "shop"),
        *("--version-path", str(host.directory / "migrations" / "versions")),
    )
    assert installed_versions() == ours
    assert len(host.versions()) == 1
    host.alembic("upgrade", "heads")
    check_schema(host.engine)


def test_the_separator_of_the_system_splits_the_package_from_its_folder(make_host: MakeHost) -> None:
    host = make_host("shared_history")
    ini = host.directory / "alembic.ini"
    ini.write_text(
        ini.read_text()
        .replace("separator = ;", "separator = os")
        .replace("versions;intents", f"versions{os.pathsep}intents")
    )
    host.alembic("upgrade", "heads")
    if os.pathsep == ":":
        # Nothing fails: our revisions are simply not found. The start of the application says so.
        assert "intents_0001" not in host.alembic("heads")
        with pytest.raises(intents.SchemaMismatch, match="alembic upgrade heads"):
            check_schema(host.engine)


def test_shared_history_offline(make_host: MakeHost, as_created: dict[object, object]) -> None:
    host = make_host("shared_history")
    script = host.alembic_process("upgrade", "heads", "--sql")
    with host.engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        if host.engine.dialect.name == "sqlite":
            raw.executescript(script)
        else:
            raw.autocommit = True
            raw.execute(script)
    assert host.our_schema() == as_created
    check_schema(host.engine)


# ---- what hosts do in their tests ----------------------------------------------------------------


def test_a_host_that_makes_its_schema_with_create_all(make_host: MakeHost) -> None:
    host = make_host("own_history")
    metadata.create_all(host.engine)
    check_schema(host.engine)
    assert host.fires()
    host.alembic("upgrade", "head")  # its migration calls intents.upgrade, which takes the schema over
    check_schema(host.engine)
    assert host.fires()
