"""What the README says can be done as it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_ten_lines_embed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    statements = [line for line in code.splitlines() if line.strip() and not line.startswith("from ")]
    assert len(statements) <= 10
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)  # it is our own
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "<standing_intents>"
    assert re.fullmatch(r"Standing intent \(created \d{4}-\d\d-\d\d\): Confirm the rollback owner\.", lines[1])
    assert lines[2:] == ["</standing_intents>"]
    names["engine"].dispose()  # type: ignore[attr-defined]


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target


def test_its_two_commands_are_there() -> None:
    commands = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    assert commands == ['pip install ".[cli]" && intents demo', 'pip install -e ".[test]" && pytest -n auto']
