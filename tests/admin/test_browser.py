"""A real browser: the keyboard alone, what assistive technology is told, contrast, and that no page is too wide."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
import uvicorn
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from intents import Admin
from intents.contrib.admin import loopback
from tests.admin.conftest import World

SIZES: Final = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1440, 900)}
_QUIET: Final = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: Pairs of text and ground with a contrast below 4.5, as WCAG 2.1 computes it.
_TOO_PALE: Final = """() => {
  const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const f = (v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
  const light = ([r, g, b]) => {
    return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    const input = ["INPUT", "TEXTAREA", "SELECT"].includes(e.tagName);
    if (!(own || input) || !e.checkVisibility() || e.closest("svg")) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) found.push(`${e.tagName} ${e.className} ${ratio.toFixed(2)} ${e.textContent.trim().slice(0, 30)}`);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A headless Chromium of this machine; for one module, as Playwright keeps an event loop running meanwhile."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("NOT TESTED in a browser: there is no Chromium (apt-get install chromium)")
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*_QUIET, *root])
        yield browser
        browser.close()


@pytest.fixture
def page(world: World, chromium: Browser) -> Iterator[Page]:
    """The list of intents, in a browser that was signed in by the printed address."""
    # The pages of the command line follow the machine's clock.
    world.now = datetime.now(UTC)
    world.ids["live"] = world.create(
        "Confirm who rolls back <script>document.title = 'owned'</script> " + "ab" * 200,
        "release candidate",
        '"go live"',
        exclude_keywords=["postponed"],
    )
    world.create("Ask for the slides.", "slides")
    backend = loopback.OneTimeToken(Admin(name="ops"))
    with loopback.listen(0) as listener:
        config = uvicorn.Config(loopback.create_local_admin(world.service(), backend), log_level="error")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        context = chromium.new_context(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}")
        page = context.new_page()
        troubles: list[str] = []
        page.on("console", lambda message: is_expected(message) or troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(page_root) else troubles.append(request.url))
        page_root = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        try:
            page.goto(f"/?token={backend.token}")
            page.wait_for_url("**/intents/list")
            yield page
            assert troubles == [], "the policy refuses something that the page wants, or it asks elsewhere"
        finally:
            context.close()
            server.should_exit = True
            thread.join(10)


def is_expected(message: ConsoleMessage) -> bool:
    """Chromium reports the page that is looked for in vain."""
    return message.location["url"].endswith("/details/none")


def places(world: World) -> dict[str, str]:
    live = world.ids["live"]
    return {
        "list": "/intents/list",
        "details": f"/intents/details/{live}",
        "cancel": f"/intents/cancel/{live}",
        "explain": "/explain",
        "missing": "/intents/details/none",
    }


def focused(page: Page) -> Any:
    """The role, name and outline of what has the focus."""
    return page.evaluate(
        "() => { const e = document.activeElement, s = getComputedStyle(e);"
        " return [e.tagName, e.id || e.textContent.trim(), s.outlineStyle, parseFloat(s.outlineWidth)]; }"
    )


def tab_to(page: Page, name: str, *, most: int = 60) -> None:
    """Press Tab until an element of this id or text has the focus, which must be seen."""
    for _ in range(most):
        page.keyboard.press("Tab")
        _tag, found, outline, width = focused(page)
        assert (outline, width >= 2) != ("none", True), f"the focus is not seen on {found}"
        assert outline == "solid", f"the focus is not seen on {found}"
        if found == name:
            return
    raise AssertionError(f"{name} is not reached by the keyboard")


def test_an_intent_is_cancelled_by_the_keyboard_alone(page: Page, world: World) -> None:
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to the content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    tab_to(page, "search")
    page.keyboard.type("rolls back")
    page.keyboard.press("Enter")
    page.wait_for_url("**search=rolls+back**")
    link = page.get_by_role("row").get_by_role("link")
    tab_to(page, str(link.text_content()))
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/details/{world.ids['live']}")
    tab_to(page, "Cancel this intent…")
    page.keyboard.press("Enter")
    page.wait_for_url("**/cancel/**")
    assert world.service().get(world.ids["live"]).status == "armed", "the question alone cancels nothing"
    tab_to(page, "reason")
    page.keyboard.type("no longer needed")
    tab_to(page, "Cancel the intent")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("The intent is cancelled.")
    last = world.service().history(world.ids["live"])[-1]
    assert (last.event, last.actor, last.detail) == ("cancel", "admin:ops", "no longer needed")
    expect(page.get_by_role("link", name="Cancel this intent…")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("status")).to_have_count(0)


def test_a_person_who_thinks_again_keeps_the_intent(page: Page, world: World) -> None:
    page.goto(places(world)["cancel"])
    page.get_by_role("textbox", name="Reason, for the audit log").fill("oops")
    page.get_by_role("link", name="Keep it").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Confirm who rolls back")
    assert world.service().get(world.ids["live"]).status == "armed"


def test_a_message_is_explained(page: Page, world: World) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Explain").click()
    page.get_by_role("textbox", name="Message").fill("We go live on Monday")
    page.get_by_role("textbox", name="Provider").fill("slack")
    page.get_by_role("textbox", name="Sender").fill("U9")
    page.get_by_role("combobox", name="Agent").select_option("main")
    page.get_by_role("button", name="Explain").press("Enter")
    expect(page.get_by_role("heading", level=2)).to_contain_text("1 of ")
    fires = page.get_by_role("list", name="Intents that would fire").get_by_role("listitem")
    expect(fires).to_have_count(1)
    expect(fires).to_contain_text("Confirm who rolls back")
    expect(page.get_by_role("list", name="Intents that stay silent")).to_contain_text("silent: keywords")
    assert "live" not in page.url
    assert world.service().get(world.ids["live"]).fire_count == 0


def test_the_filters_work(page: Page) -> None:
    page.get_by_role("combobox", name="Status").select_option("cancelled")
    page.get_by_role("combobox", name="Channel").select_option(label="telegram/work")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("rowheader")).to_have_count(1)
    expect(page.get_by_role("row", name="Send the old invoice.")).to_contain_text("cancelled")
    expect(page.get_by_role("combobox", name="Status")).to_have_value("cancelled")
    page.get_by_role("link", name="Clear").click()
    expect(page.get_by_role("rowheader")).to_have_count(10)


@pytest.mark.parametrize("size", SIZES)
def test_assistive_technology_is_told_everything(page: Page, world: World, size: str) -> None:
    page.set_viewport_size(dict(zip(("width", "height"), SIZES[size], strict=True)))  # type: ignore[arg-type]
    for place, path in places(world).items():
        page.goto(path)
        assert page.evaluate("document.documentElement.lang") == "en"
        expect(page.get_by_role("banner")).to_have_count(1)
        expect(page.get_by_role("main")).to_have_count(1)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((e) => +e.tagName[1])")
        assert all(after - before <= 1 for before, after in pairwise(levels)), (place, levels)
        for control in page.locator("input:not([type=hidden]), select, textarea").all():
            assert control.evaluate("(e) => e.labels.length") == 1, (place, control.get_attribute("id"))
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
        assert len(ids) == len(set(ids)), place
        dangling = page.evaluate(
            "[...document.querySelectorAll('[aria-labelledby],[aria-describedby]')].flatMap((e) =>"
            " (e.getAttribute('aria-labelledby') || e.getAttribute('aria-describedby')).split(' '))"
            ".filter((id) => !document.getElementById(id))"
        )
        assert dangling == [], place
    page.goto(places(world)["list"])
    expect(page.get_by_role("search", name="Filter intents")).to_have_count(1)
    # Cards on a small screen are still a table to a screen reader.
    expect(page.get_by_role("columnheader")).to_have_count(6)
    expect(page.get_by_role("row", name="Say hello.").get_by_role("cell").first).to_have_text("done")
    page.goto(places(world)["details"])
    expect(page.get_by_role("img", name="Lifecycle of the intent, which is now armed")).to_be_visible()
    for name in ("Facts", "Lifecycle", "Trigger", "Firings", "History"):
        expect(page.get_by_role("region", name=name)).to_be_visible()
    expect(page.get_by_role("region", name="History").get_by_role("listitem").last).to_contain_text("arm")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(page: Page, world: World, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    for place, path in places(world).items():
        page.goto(path)
        assert page.evaluate(_TOO_PALE) == [], place
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(246, 247, 249)" if scheme == "light" else "rgb(20, 23, 29)"
    )


@pytest.mark.parametrize("size", SIZES)
def test_no_page_is_wider_than_the_screen(page: Page, world: World, size: str, tmp_path: Path) -> None:
    width, height = SIZES[size]
    page.set_viewport_size({"width": width, "height": height})
    for place, path in places(world).items():
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place
        assert page.title() != "owned"
        for button in page.locator("button:visible, .button:visible, nav a:visible").all():
            box = button.bounding_box()
            assert box is not None
            assert box["height"] >= 24, "too small for a finger"
            assert box["width"] >= 24, "too small for a finger"
    page.goto(places(world)["details"])
    picture = page.get_by_role("img", name="Lifecycle")
    smallest = picture.evaluate(
        "(svg) => Math.min(...[...svg.querySelectorAll('text')].map((t) =>"
        " parseFloat(getComputedStyle(t).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))"
    )
    assert smallest >= 8
    overlaps = picture.evaluate(
        "(svg) => { const boxes = [...svg.querySelectorAll('text')]"
        ".map((t) => [t.textContent, t.getBoundingClientRect()]);"
        " return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => p.left < q.right && q.left < p.right"
        " && p.top + 4 < q.bottom && q.top + 4 < p.bottom).map(([b]) => `${a} ${b}`)); }"
    )
    assert overlaps == []
