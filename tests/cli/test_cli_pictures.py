"""`intents diagram --counts` and `intents stats --plot`."""

from __future__ import annotations

import shutil
import sys
from datetime import date, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import sessionmaker

from intents import Admin, IntentCreate, IntentService, OwnerPolicy, Status, Turn, upgrade
from intents import diagram as diagrams
from intents.cli.plot import plot
from intents.schemas import Activity
from tests.cli.conftest import OWNER, Run


@pytest.fixture
def counted() -> str:
    """A database with four intents: two that fired, one of them cancelled since, one armed and one pending."""
    engine = create_engine("sqlite:///counted.db")
    upgrade(engine)
    service = IntentService(sessionmaker(engine), owners=OwnerPolicy(["slack:U1"]))
    for word in ("alpha", "beta", "gamma"):
        service.create(IntentCreate(description=f"Costs ${word}$ <b>", trigger_keywords=[word]), by=OWNER)
    service.create(IntentCreate(description="Later", trigger_keywords=["delta"], armed=False), by=OWNER)
    fired = service.match(Turn(text="alpha beta", identity=OWNER, id="m1"))
    service.cancel(fired[1].intent.id, by=Admin(name="test"))
    engine.dispose()
    return "counted.db"


def test_states_and_arrows_carry_their_numbers(run: Run, counted: str) -> None:
    drawn = run("diagram", "--counts", "-d", counted).out
    for line in (
        'state "pending: 1" as PENDING',
        'state "armed: 1" as ARMED',
        'state "fired: 1" as FIRED',
        'state "cancelled: 1" as CANCELLED',
        'state "done: 0" as DONE',
        "PENDING --> ARMED: arm ×3 [!has_expired]",
        "ARMED --> FIRED: fire ×2 [has_budget & has_cooled_down & !has_expired & !is_held]",
        "FIRED --> CANCELLED: cancel ×1",
        "ARMED --> CANCELLED: cancel ×0",
        "| release ×0 [is_held]",
    ):
        assert line in drawn


def test_without_the_numbers_it_is_the_same_diagram(run: Run, counted: str) -> None:
    plain = run("diagram").out
    for name in ("pending: 1", "armed: 1", "fired: 1", "cancelled: 1", "done: 0", "expired: 0"):
        plain = plain.replace(f'"{name.split(":")[0]}"', f'"{name}"')
    for event, count in (("arm", 3), ("fire", 2), ("rearm", 0), ("release", 0), ("complete", 0), ("expire", 0)):
        plain = plain.replace(f" {event} [", f" {event} ×{count} [")
    plain = plain.replace(": cancel", ": cancel ×0").replace(
        "FIRED --> CANCELLED: cancel ×0", "FIRED --> CANCELLED: cancel ×1"
    )
    assert run("diagram", "--counts", "-d", counted).out == plain


def test_dot_and_svg_carry_them_too(run: Run, counted: str) -> None:
    pytest.importorskip("graphviz")
    assert "fired: 1" in run("diagram", "--counts", "-d", counted, "-f", "dot").out
    if shutil.which("dot") is None:
        pytest.skip("NOT TESTED: the program dot is not installed")
    assert run("diagram", "--counts", "-d", counted, "-f", "svg", "-o", "counted.svg").code == 0
    assert "fire ×2" in Path("counted.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [["-f", "markdown"], ["--update", "doc.md"]])
def test_documents_show_rules_and_no_numbers(run: Run, counted: str, arguments: list[str]) -> None:
    result = run("diagram", "--counts", "-d", counted, *arguments)
    assert result.code == 2
    assert "--counts" in result.error


def test_drawing_numbers_leaves_the_machine_alone(run: Run, counted: str) -> None:
    before = diagrams.markdown()
    run("diagram", "--counts", "-d", counted)
    assert diagrams.markdown() == before


def test_fires_are_drawn_as_a_picture(run: Run, counted: str) -> None:
    result = run("stats", "-d", counted, "--plot", "fires.svg", "--days", "3")
    assert "fires: 2" in result.out
    picture = Path("fires.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    # Matplotlib draws letters as shapes and keeps the text in comments.
    for text in ("Fires a day", "Intents by status", "What fired most in 3 days"):
        assert text in picture


@pytest.mark.parametrize("name", ["fires.png", "fires.pdf", "FIRES.PNG"])
def test_other_formats_by_the_ending_of_the_name(run: Run, counted: str, name: str) -> None:
    assert run("stats", "-d", counted, "--plot", name).code == 0
    assert Path(name).read_bytes()[:4] in (b"\x89PNG", b"%PDF")


def test_an_agent_without_intents_has_a_picture_too(run: Run, counted: str) -> None:
    assert run("stats", "-d", counted, "-a", "nobody", "--plot", "fires.png").code == 0


def test_an_unknown_ending_is_named(run: Run, counted: str) -> None:
    result = run("stats", "-d", counted, "--plot", "fires.xyz")
    assert result.code == 1
    assert ".svg" in result.error
    assert not Path("fires.xyz").exists()


def test_without_matplotlib_the_remedy_is_named(run: Run, counted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("stats", "-d", counted, "--plot", "fires.svg")
    assert "standing-intents[plot]" in result.error


def test_the_same_day_of_two_years_is_two_bars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    bars: list[float] = []

    def look(figure: Figure, *_: object, **__: object) -> None:
        bars.extend(round(bar.get_x(), 3) for bar in figure.axes[0].patches)

    monkeypatch.setattr(Figure, "savefig", look)
    days = [date(2025, 6, 1) + timedelta(days=number) for number in range(400)]
    activity = Activity(by_status=dict.fromkeys(Status, 0), by_day=dict.fromkeys(days, 1), by_intent=(), moves=())
    plot(activity, tmp_path / "fires.png", agent="main")
    assert len(set(bars)) == 400
