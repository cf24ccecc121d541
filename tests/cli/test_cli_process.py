"""The command as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])


def intents(*arguments: str, prelude: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    code = f"{prelude}\nfrom intents.cli import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": ROOT, **environment},
    )


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_it_says_what_to_install(missing: str) -> None:
    done = intents("demo", prelude=f"import sys; sys.modules[{missing!r}] = None")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == 'error: The command line needs Typer and Rich: pip install "standing-intents[cli]"\n'


def test_a_diagram_without_graphviz_is_mermaid(tmp_path: Path) -> None:
    done = intents("diagram", prelude="import sys; sys.modules['graphviz'] = None", PATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "stateDiagram-v2" in done.stdout


def test_an_error_is_one_line_and_a_code(tmp_path: Path) -> None:
    done = intents("list", "--database", str(tmp_path / "x.db"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: There is no database ")
    assert done.stderr.count("\n") == 1


def test_what_an_old_terminal_cannot_show_does_not_stop_it() -> None:
    done = intents("demo", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "#1 fires 1/2" in done.stdout


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "from intents.cli import main; main()", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    process.wait(timeout=60)
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
