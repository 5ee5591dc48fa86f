"""The page in a real browser: by mouse and by keyboard, with and without a script."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.conftest import quick_folder

from .support import Place, asking, serving, spent

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

#: Gives a signed-in page, in a context with such options.
PageOf = Callable[..., Any]
CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium; install it with: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        yield found
        found.close()


#: For tests that ask for no groups and by no filter.
PLAIN = pytest.mark.parametrize("place", [True], indirect=True, ids=["plain"])


@pytest.fixture
def place(browser: Any, request: pytest.FixtureRequest) -> Iterator[Place]:
    folder = quick_folder()
    plain = getattr(request, "param", False)
    found = Place(folder, str(folder / "budget.db"), epsilon=1, allowance=1, plain=plain)
    with serving(found) as (service, door):
        found.link = lambda name: door.link(service.state.catalogue.people[name])  # type: ignore[attr-defined]
        yield found
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def shared() -> dict[tuple[str, ...], Any]:
    """The browser's contexts that tests use one after the other, by their options: it takes most
    of a second to make one."""
    return {}


@pytest.fixture
def page_of(browser: Any, place: Place, shared: dict[tuple[str, ...], Any]) -> Iterator[PageOf]:
    """Signs somebody in, in a context where nobody is."""
    used = []

    def page(person: str = "ana", *, alone: bool = False, **options: bool) -> Any:
        if alone:
            return signed_in(browser.new_context(**options), place, person)
        key = tuple(sorted(options))
        if key not in shared:
            shared[key] = browser.new_context(**options)
        used.append(shared[key])
        return signed_in(shared[key], place, person)

    yield page
    for context in used:
        for each in context.pages:
            each.close()
        context.clear_cookies()


def signed_in(context: Any, place: Place, person: str) -> Any:
    """A page that keeps every message of the browser's console."""
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(f"{place.url}/login?code={place.link(person)}")  # type: ignore[attr-defined]
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(f"{place.url}/")
    return page


#: The rules of axe about colours.
COLOURS = ["color-contrast", "link-in-text-block"]


def axe(page: Any, *schemes: str) -> list[str]:
    """What axe finds wrong with a page: all of it in the first colour scheme, and what is about
    colours in the others, since nothing else differs between them. It is injected past the page's
    own policy. Without motion: colours on their way from one to the other would be measured."""
    from axe_playwright_python.sync_playwright import Axe

    found = []
    page.evaluate(Axe().axe_script)
    for scheme in schemes:
        which = {} if scheme == schemes[0] else {"runOnly": COLOURS}
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        options = {"resultTypes": ["violations"], **which}
        told = page.evaluate("options => axe.run(options).then(r => r.violations)", options)
        found += [f"{scheme}: {each['id']}: {[n['html'] for n in each['nodes']]}" for each in told]
    return found


def test_from_the_link_to_the_answer(page_of: PageOf, place: Place) -> None:
    """Every screen on the way, each without a violation that axe knows of."""
    page = page_of("olga", bypass_csp=True)
    both = ("light", "dark")
    violations = {"datasets": axe(page, *both)}
    page.get_by_role("link", name="Ask a question").first.click()
    margin = page.locator(".margin").inner_text()
    page.get_by_label("For each").select_option("ward")
    page.wait_for_function(
        "before => document.querySelector('.margin').innerText !== before", arg=margin
    )
    violations["question"] = axe(page, *both)
    page.get_by_role("button", name="Review the question").click()
    violations["confirm"] = axe(page, *both)
    assert "0.5" in page.get_by_role("button", name="Spend").inner_text()
    page.get_by_role("button", name="Spend").click()
    page.wait_for_url("**/answers/olga/*")
    assert page.get_by_role("row").count() == 4
    assert "95 % for these records" in page.locator("thead").inner_text()
    assert "95 % for the population" in page.locator("thead").inner_text()
    means = page.locator("tbody td:nth-child(2)").all_inner_texts()
    assert page.locator("svg.whiskers .exact").count() == len(means) == 3
    assert page.locator("svg.whiskers .mean").count() == 3 - means.count("–")
    size = page.viewport_size
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.set_viewport_size(size)
    assert "hg.connect" in page.locator("pre").inner_text()
    violations["answer"] = axe(page, *both)
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0].startswith("ward,mean,sum,count,mean_low,mean_high")
    assert len(lines) == 4
    page.get_by_role("link", name="History").click()
    violations["history"] = axe(page, *both)
    page.get_by_role("link", name="Owner").click()
    page.get_by_role("button", name="Verify every entry").click()
    assert "Verified" in page.get_by_role("status").first.inner_text()
    violations["owner"] = axe(page, *both)
    page.get_by_role("button", name="Sign out").click()
    violations["login"] = axe(page, *both)
    assert not any(violations.values()), violations
    assert not page.complaints, page.complaints
    assert spent(place) == Fraction(1, 2)


@PLAIN
def test_the_policy_holds_in_the_browser(page_of: PageOf, place: Place) -> None:
    """Nothing of ours is blocked, and no foreign script would run."""
    page = page_of()
    page.goto(f"{place.url}/ask/clinic")
    page.get_by_label("0.1", exact=True).check()
    page.wait_for_timeout(500)
    assert not page.complaints, page.complaints
    blocked = page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); return window.ran === undefined }"
    )
    assert blocked


class Evil(BaseHTTPRequestHandler):
    """Another site, on another port: it frames the page, reads, and sends forms."""

    target = ""

    def do_GET(self) -> None:
        frame = f'<iframe id="frame" src="{self.target}/ask/clinic"></iframe>'
        fields = {"what": "minutes", "epsilon": "0.1", "key": "stolen", "form_key": "0" * 64}
        inputs = "".join(f'<input name="{name}" value="{v}">' for name, v in fields.items())
        form = f'<form method="post" action="{self.target}/ask/clinic">{inputs}</form>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f"<!doctype html>{frame}{form}".encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@PLAIN
def test_another_site_neither_frames_nor_reads_nor_spends(page_of: PageOf, place: Place) -> None:
    """Its port is another, so that the browser sends the cookie, and only the service refuses."""
    page = page_of()
    Evil.target = place.url
    with ThreadingHTTPServer(("127.0.0.1", 0), Evil) as evil:
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{evil.server_address[1]}/")
        read = "url => fetch(url, {credentials: 'include'}).then(r => r.text(), () => 'refused')"
        assert page.evaluate(read, f"{place.url}/budget") == "refused"
        assert any("frame-ancestors" in told for told in page.complaints), page.complaints
        with page.expect_navigation():
            page.evaluate("document.forms[0].submit()")
        told = page.locator("[role=alert]").inner_text()
        evil.shutdown()
    assert "This came from another site" in told
    assert spent(place) == 0


def test_it_works_without_javascript(page_of: PageOf, place: Place) -> None:
    page = page_of(java_script_enabled=False)
    page.goto(f"{place.url}/ask/clinic")
    page.get_by_label("0.1", exact=True).check()
    page.get_by_label("Only").select_option(label="Long visits")
    page.get_by_role("button", name="Update the preview").click()
    assert "epsilon=0.1" in page.url
    assert "0.9 of 1 epsilon left" in page.locator(".after").inner_text()
    page.get_by_role("button", name="Review the question").click()
    assert "only Long visits" in page.locator(".lead").inner_text()
    page.get_by_role("button", name="Spend 0.1").click()
    page.wait_for_url("**/answers/ana/*")
    assert "only Long visits" in page.locator("h1").inner_text()
    assert spent(place) == Fraction(1, 10)


@PLAIN
def test_the_preview_says_why_there_is_none(page_of: PageOf, place: Place) -> None:
    page = page_of()
    page.goto(f"{place.url}/ask/clinic")
    page.get_by_text("What the preview assumes").click()
    page.get_by_label("Mean, about").fill("61")
    page.get_by_text("mean: takes a number between the bounds, 0 and 60.").wait_for()
    page.get_by_label("Mean, about").fill("40")
    page.get_by_text("if the true mean were 40").wait_for()


@PLAIN
def test_keyboard_only(page_of: PageOf, place: Place) -> None:
    """From the datasets to the answer with Tab, arrows and Enter."""
    page = page_of()
    keys = page.keyboard

    def tab_to(selector: str) -> None:
        for _ in range(60):
            keys.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(selector)

    keys.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    tab_to("a.button")
    keys.press("Enter")
    page.wait_for_url("**/ask/clinic")
    tab_to("input[name=what]")
    keys.press("ArrowDown")
    tab_to("input[name=epsilon]")
    keys.press("ArrowLeft")
    assert page.evaluate("document.activeElement.value") == "0.1"
    tab_to("button:not(.quiet)")
    keys.press("Enter")
    page.wait_for_url("**/confirm?*key=*")
    tab_to("button:not(.quiet)")
    keys.press("Enter")
    page.wait_for_url("**/answers/ana/*")
    assert "cost" in page.locator("h1").inner_text()
    assert spent(place) == Fraction(1, 10)


@PLAIN
def test_double_click_and_back_button_cost_nothing_more(page_of: PageOf, place: Place) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    page = page_of()
    page.goto(f"{place.url}/ask/clinic/confirm?what=minutes&epsilon=0.1")
    confirm = page.url
    page.get_by_role("button", name="Spend").dblclick()
    # The second click may abort the first one's navigation, which wait_for_url takes for a failure.
    playwright.expect(page).to_have_url(re.compile("/answers/ana/"))
    page.wait_for_load_state()
    answer, table = page.url, page.locator("table").inner_text()
    page.go_back()
    assert page.url == confirm
    page.get_by_role("link", name="See the answer").click()
    page.wait_for_url(answer)
    assert page.locator("table").inner_text() == table
    page.reload()
    assert page.locator("table").inner_text() == table
    assert spent(place) == Fraction(1, 10)


@PLAIN
def test_a_budget_that_does_not_cover_it(page_of: PageOf, place: Place) -> None:
    page = page_of("zoe")
    page.goto(f"{place.url}/ask/clinic?what=minutes&epsilon=0.1")
    told = page.locator(".after .alert").inner_text()
    assert told.startswith("You have 0 left, less than any price offered here.")
    assert page.locator(".after .alert a").get_attribute("href") == "/history"
    page.get_by_role("button", name="Review the question").click()
    assert page.get_by_role("button", name="Spend").count() == 0
    assert "Nothing was charged" in page.locator(".card").inner_text()
    assert page.locator(".card .button").inner_text() == "See your earlier answers"
    with place.client("ana") as ana:
        assert ana.post("/releases", json=asking("most", epsilon=0.5)).is_success
        asked = "what=minutes&epsilon=1&key=k"
        told = ana.get(f"/ask/clinic?{asked}").text
        assert "You have 0.5 left, and this costs 1. Choose a smaller epsilon." in told
        assert "Choose a smaller epsilon" in ana.get(f"/ask/clinic/confirm?{asked}").text
    assert spent(place) == Fraction(1, 2)


@PLAIN
def test_two_race_for_the_last_epsilon(page_of: PageOf, place: Place) -> None:
    """Both see that 1 is left and both confirm: one is answered, the other is told why not."""
    pages = [page_of("ana"), page_of("ben", alone=True)]
    for page in pages:
        page.goto(f"{place.url}/ask/clinic/confirm?what=minutes&epsilon=1")
        assert "epsilon 0 and delta" in page.locator(".facts").inner_text()
    for page in pages:  # both are sent before either reply is waited for
        page.get_by_role("button", name="Spend").click(no_wait_after=True)
    for page in pages:
        page.wait_for_load_state()
        page.wait_for_selector("h1:not(:text('Ask this question'))")
    told = sorted(page.locator("h1").inner_text() for page in pages)
    assert told == ["Mean of minutes", "The budget does not cover it"]
    assert spent(place) == 1


def test_narrow_screens_do_not_scroll_sideways(page_of: PageOf, place: Place) -> None:
    page = page_of("olga")
    page.set_viewport_size({"width": 400, "height": 800})
    for path in ("/", "/ask/clinic", "/history", "/owner", "/login"):
        page.goto(f"{place.url}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, path
        for place_of_a_name in ("h1", "h2 a", ".lead", ".choice strong", ".choice small", "dd"):
            page.evaluate(
                "where => document.querySelectorAll(where)"
                ".forEach(each => { each.textContent = 'a_long_name'.repeat(9) })",
                place_of_a_name,
            )
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= 400, (path, place_of_a_name)


def test_groups_with_secret_names(page_of: PageOf, place: Place) -> None:
    """What will be shown is told before it is paid for, in the preview that follows the choice."""
    page = page_of(bypass_csp=True)
    page.emulate_media(color_scheme="dark")
    page.goto(f"{place.url}/ask/clinic")
    assert page.get_by_text("Which groups you will see").count() == 0
    page.get_by_label("For each").select_option("town")
    page.get_by_text("Which groups you will see").wait_for()
    violations = {"question": axe(page, "dark")}
    assert "over 99.9 %" in page.locator("#preview").inner_text()
    page.get_by_role("button", name="Review the question").click()
    assert "epsilon 0.5 and delta 1e-9" in page.locator(".facts").inner_text()
    violations["confirm"] = axe(page, "dark")
    page.get_by_role("button", name="Spend").click()
    page.wait_for_url("**/answers/ana/*")
    assert page.locator("tbody th").all_inner_texts() == ["north", "south"]
    assert "a group is shown if its noisy count is at least" in page.locator("main").inner_text()
    page.locator("tbody th span").first.evaluate("cell => { cell.textContent = 'x'.repeat(300) }")
    hidden = page.locator(".scroll").evaluate("each => each.scrollWidth - each.clientWidth")
    assert hidden <= 0  # a long name does not push the figures out of sight
    page.goto(f"{place.url}/ask/clinic/confirm?what=minutes&by=town&epsilon=0.01")
    page.get_by_role("button", name="Spend").click()
    page.wait_for_url("**/answers/ana/*")
    assert "No group is large enough" in page.locator("main").inner_text()
    violations["answer"] = axe(page, "dark")
    assert not any(violations.values()), violations
