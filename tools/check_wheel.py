"""Build the sdist and the wheel, and use the wheel as a stranger would: in a fresh environment, without the sources.

    python tools/check_wheel.py

Needs `build` and `mypy` in the environment that runs it, and the network or a local index for the dependencies.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: What a host gets without any extra: these, what they need, and nothing else.
CORE = {"alembic", "pydantic", "regex", "snowballstemmer", "sqlalchemy", "transitions"}
#: What must not come along with the core. (SQLAlchemy 2.0 brings greenlet by itself on most machines.)
OPTIONAL = {"typer", "rich", "psycopg", "pystemmer", "graphviz", "pytest", "mypy", "fastapi", "flask"}
OPTIONAL |= {"sqladmin", "starlette", "uvicorn"}
ADMIN = ROOT / "intents" / "contrib" / "admin"
#: Data that the wheel must carry beside the modules.
DATA = {"intents/py.typed", "intents/migrations/script.py.mako"} | {
    path.relative_to(ROOT).as_posix()
    for place in ("statics", "templates")
    for path in (ADMIN / place).rglob("*")
    if path.is_file()
}

_LIST_DISTRIBUTIONS = """
import importlib.metadata as metadata
for each in metadata.distributions():
    size = sum(file.locate().stat().st_size for file in each.files or () if file.locate().is_file())
    print(each.metadata["Name"].lower(), each.version, size)
"""


class CheckFailed(Exception):
    """The built package is not what it should be."""


def main() -> None:
    """Run every check; the first that fails ends it with status 1."""
    with tempfile.TemporaryDirectory(prefix="check-wheel-") as temporary:
        home = Path(temporary)
        try:
            sdist, wheel = build(home)
            check_contents(sdist, wheel)
            environment = Environment.fresh(home)
            check_core(environment, wheel)
            check_histories(environment)
            check_types(environment)
            check_command_line(environment, wheel)
        except CheckFailed as failure:
            raise SystemExit(f"FAILED: {failure}") from None
    report("the wheel is good")


def report(line: str) -> None:
    """Say what was found."""
    print(f"-- {line}", flush=True)


def run(command: Sequence[str | Path], *, cwd: Path, fails: bool = False, **variables: str) -> str:
    """Run a command away from the sources and return what it printed.

    Raises:
        CheckFailed: it ended otherwise than expected.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "INTENTS_"))}
    done = subprocess.run(  # noqa: S603 - our own commands
        command, cwd=cwd, env={**inherited, **variables}, capture_output=True, encoding="utf-8", check=False
    )
    printed = done.stdout + done.stderr
    if (done.returncode != 0) != fails:
        raise CheckFailed(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{printed}")
    return printed


def build(home: Path) -> tuple[Path, Path]:
    """Build from a clean copy: the sdist and the wheel made of it; it must equal the wheel made of the tree."""
    sources = copy_sources(home / "sources")
    run([sys.executable, "-m", "build", "--outdir", home / "dist", sources], cwd=home)
    run([sys.executable, "-m", "build", "--wheel", "--outdir", home / "tree", sources], cwd=home)
    (sdist,) = (home / "dist").glob("*.tar.gz")
    (wheel,) = (home / "dist").glob("*.whl")
    (from_tree,) = (home / "tree").glob("*.whl")
    differing = set(digests(wheel).items()) ^ set(digests(from_tree).items())
    if differing:
        raise CheckFailed(f"the sdist builds another wheel: {sorted({name for name, _ in differing})}")
    shutil.rmtree(sources)
    report(f"{sdist.name} ({sdist.stat().st_size:,} bytes) builds the same {wheel.name} as the tree")
    return sdist, wheel


def copy_sources(target: Path) -> Path:
    """Copy what git knows or would add; nothing that a build left behind may get into the next one."""
    listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
    return target


def digests(wheel: Path) -> dict[str, str]:
    """Return a digest of each file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def check_contents(sdist: Path, wheel: Path) -> None:
    """The wheel carries every module of the tree and the data, and nothing else."""
    expected = {f"intents/{path.relative_to(ROOT / 'intents').as_posix()}" for path in (ROOT / "intents").rglob("*.py")}
    expected |= {
        f"intents/migrations/{path.relative_to(ROOT / 'migrations').as_posix()}"
        for path in (ROOT / "migrations").rglob("*.py")
    }
    found = {name for name in digests(wheel) if ".dist-info/" not in name}
    if found != expected | DATA:
        raise CheckFailed(f"missing: {sorted((expected | DATA) - found)}; too much: {sorted(found - expected - DATA)}")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("LICENSE", "README.md", "CHANGELOG.md", "migrations/script.py.mako", "intents/py.typed"):
        if name not in names:
            raise CheckFailed(f"the sdist lacks {name}")
    if any(name.startswith("tests") for name in names):
        raise CheckFailed("the sdist carries a part of the tests")
    report(
        f"{wheel.name} ({wheel.stat().st_size:,} bytes) has {len(found)} files: the modules, {', '.join(sorted(DATA))}"
    )


@dataclass(frozen=True)
class Environment:
    """A fresh virtual environment, and a directory to work in."""

    programs: Path
    work: Path

    @classmethod
    def fresh(cls, home: Path) -> Environment:
        """Make one that knows of nothing outside it."""
        venv.create(home / "venv", with_pip=True)
        (home / "work").mkdir()
        for name in ("own_history", "shared_history"):
            shutil.copytree(
                ROOT / "tests" / "hosts" / name, home / "work" / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        for name in ("consumer.py", "fire.py"):
            shutil.copyfile(ROOT / "tests" / "packaging" / name, home / "work" / name)
        return cls(home / "venv" / ("Scripts" if os.name == "nt" else "bin"), home / "work")

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.programs / "python"

    def install(self, requirement: str) -> None:
        """Install with pip."""
        run([self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement], cwd=self.work)

    def fire(self, database: Path) -> None:
        """Reach the first fire on a database that has the schema."""
        printed = run([self.python, "-W", "error", "fire.py", f"sqlite:///{database}"], cwd=self.work)
        if "): Confirm the owner." not in printed:
            raise CheckFailed(f"nothing fired: {printed}")


def check_core(environment: Environment, wheel: Path) -> None:
    """Without extras it brings its core dependencies only, and the command says which extra it needs."""
    environment.install(str(wheel))
    listed = run([environment.python, "-c", _LIST_DISTRIBUTIONS], cwd=environment.work)
    sizes = {name: (version, int(size)) for name, version, size in map(str.split, listed.splitlines())}
    if not sizes.keys() >= CORE or sizes.keys() & OPTIONAL:
        raise CheckFailed(f"installed without extras: {sorted(sizes)}")
    for name, (version, size) in sorted(sizes.items(), key=lambda item: -item[1][1]):
        report(f"   {size / 1e6:7.2f} MB  {name} {version}{'  (core)' if name in CORE else ''}")
    hint = run([environment.programs / "intents", "demo"], cwd=environment.work, fails=True)
    if "standing-intents[cli]" not in hint:
        raise CheckFailed(f"the command names no extra: {hint}")
    database = environment.work / "plain.db"
    code = f"import intents, sqlalchemy; intents.upgrade(sqlalchemy.create_engine('sqlite:///{database}'))"
    run([environment.python, "-c", code], cwd=environment.work)
    environment.fire(database)
    report("without extras: upgraded, no alembic.ini anywhere, and fired")


def check_histories(environment: Environment) -> None:
    """Both hosts come up with Alembic's command line and fire."""
    for project, target in (("own_history", "head"), ("shared_history", "heads")):
        database = environment.work / f"{project}.db"
        variables = {"SHOP_DATABASE_URL": f"sqlite:///{database}"}
        for arguments in (["upgrade", target], ["check"]):
            run([environment.programs / "alembic", *arguments], cwd=environment.work / project, **variables)
        environment.fire(database)
        report(f"{project}: upgraded to {target}, nothing to autogenerate, and fired")


def check_types(environment: Environment) -> None:
    """A strict type checker understands a consumer, by the types that the wheel carries."""
    settings = environment.work / "mypy.ini"
    settings.write_text("[mypy]\nstrict = true\n")
    command = [sys.executable, "-m", "mypy", "--config-file", settings, "--python-executable", environment.python]
    run([*command, "--cache-dir", environment.work / "cache", "consumer.py"], cwd=environment.work)
    report("mypy --strict understands the consumer")


def check_command_line(environment: Environment, wheel: Path) -> None:
    """With the extra the command works on a database of its own making."""
    environment.install(f"{wheel}[cli]")
    demo = run([environment.programs / "intents", "demo"], cwd=environment.work)
    if "Standing intent (created 2026-07-27): Confirm the rollback owner." not in demo:
        raise CheckFailed(f"the demo shows no reminder: {demo}")
    database = environment.work / "command.db"
    for arguments in (["upgrade"], ["upgrade"], ["doctor"]):
        run([environment.programs / "intents", *arguments, "--database", str(database)], cwd=environment.work)
    environment.fire(database)
    report("with the extra cli: demo, upgrade, doctor")


if __name__ == "__main__":
    main()
