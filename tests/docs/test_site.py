"""The site: every page is in its navigation, every link and anchor leads somewhere, it builds.

Everything but the last test is checked on the Markdown itself, without the generator.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

import hourglass as hg

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"

_spec = importlib.util.spec_from_file_location("site_build", SITE / "build.py")
assert _spec is not None
assert _spec.loader is not None
build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build)

PLACES: dict[Path, Path] = build.pages()
PAGES = [page for page in PLACES if page.suffix == ".md"]
#: The README is the first page of the repository; the site has one of its own.
WRITTEN = sorted([ROOT / "README.md", *PAGES])


def prose(text: str) -> str:
    """Without code: fenced, indented after a blank line, or in backticks."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(?<=\n\n)(?:(?:    .*)?\n)+", "\n", text)
    return re.sub(r"`[^`\n]*`", "", text)


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST write it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@lru_cache
def anchors(page: Path) -> frozenset[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    found: list[str] = []
    for heading in re.findall(r"^#{1,4} (.+)$", text, re.MULTILINE):
        anchor = slug(heading)
        numbered = re.compile(rf"{re.escape(anchor)}(-\d+)?")
        again = len([each for each in found if numbered.fullmatch(each)])
        found.append(f"{anchor}-{again}" if again else anchor)
    return frozenset(found)


def dead_links(page: Path, text: str) -> list[str]:
    """Links of a page to files that are not on the site, or to headings that are not there."""
    folder = ROOT / "docs" if page.parent == SITE else page.parent
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (folder / file).resolve() if file else page
        if not target.exists() and folder == ROOT / "docs":
            target = SITE / file
        there = target.is_file() and build.place(target) is not None
        if not there or (anchor and anchor not in anchors(target)):
            dead.append(link)
    return dead


def test_all_that_is_written_is_on_the_site() -> None:
    folders = [ROOT.glob("*.md"), (ROOT / "docs").rglob("*.md"), (ROOT / "src").rglob("*.proof.md")]
    assert sorted(page for pages in folders for page in pages) == WRITTEN


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    assert dead_links(page, page.read_text(encoding="utf-8")) == []


def test_a_dead_link_is_detected() -> None:
    page = ROOT / "docs" / "paper-map.md"
    good = "[a](paper.md#errata) [b](paper/e1.png) [c](decisions/README.md) `[d](x.md)`"
    bad = "[e](gone.md) [f](paper.md#gone) [g](#gone) [h](../Makefile) [i](../src/hourglass)"
    assert dead_links(page, good) == []
    assert len(dead_links(page, bad)) == 5
    assert slug("E1, E2: `strong` *privacy* [x](y.md)") == "e1-e2-strong-privacy-x"


def test_every_page_is_in_the_navigation_once() -> None:
    text = (SITE / "index.md").read_text(encoding="utf-8")
    trees = re.findall(
        r"^```\{toctree\}\n:caption: ([^\n]+)\n:hidden:\n\n(.*?)^```", text, re.M | re.S
    )
    entries = [line for _, lines in trees for line in lines.split("\n") if line]
    listed = [re.sub(r".*<(.+)>", r"\1", entry) + ".md" for entry in entries]
    pages = {PLACES[page].as_posix() for page in PAGES} - {"index.md"}
    # A page that is missing here belongs into docs/site/index.md.
    assert sorted(listed) == sorted(pages)
    captions = ["Tutorial", "How to", "Reference", "Explanation", "Decisions"]
    assert [caption for caption, _ in trees] == captions


def test_every_public_name_is_in_the_reference() -> None:
    text = (SITE / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^\.\. auto(?:function|class|exception|module):: (\S+)$", text, re.M)
    assert sorted(name.removeprefix("hourglass.") for name in named) == sorted(hg.__all__)


def test_docstrings_with_parameters_have_nothing_but_sections_after_them() -> None:
    """A paragraph after the parameters would be read as one more of them."""
    checked = 0
    for name in hg.__all__:
        text = inspect.getdoc(getattr(hg, name)) or ""
        if "\nParameters\n----------\n" in text:
            lines = text.partition("\nParameters\n----------\n")[2].split("\n")
            starts = [i for i in range(1, len(lines) - 1) if lines[i] and not lines[i - 1]]
            wrong = [lines[i] for i in starts if lines[i][0] != " " and "---" not in lines[i + 1]]
            assert not wrong, name
            checked += 1
    assert checked >= 3


class Loaded(HTMLParser):
    """What a page makes a browser load."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []
        self.shown: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("script", "img", "iframe"):
            self.places.append(values.get("src") or "")
        if tag == "link" and values.get("rel") not in ("next", "prev", "index", "search"):
            self.places.append(values.get("href") or "")
        if tag == "img":
            self.shown.append(values.get("src") or "")


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    of_docs = ROOT / "build" / "docs" / "bin" / "python"  # which `make docs` has installed
    here = all(map(importlib.util.find_spec, ("sphinx", "myst_parser", "furo")))
    if not here and not of_docs.exists():
        pytest.skip("Sphinx is not installed; `make docs` installs it in an environment of its own")
    python = sys.executable if here else str(of_docs)
    script = [python, str(SITE / "build.py"), str(tmp_path)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    html = sorted((tmp_path / "html").rglob("*.html"))
    assert len(html) >= len(PAGES)
    pictures = 0
    for page in html:
        found = Loaded()
        found.feed(page.read_text(encoding="utf-8"))
        assert not [place for place in found.places if re.match(r"(https?:)?//", place)], page.name
        for picture in found.shown:
            pictures += 1
            assert (page.parent / picture).is_file(), picture
    assert pictures > 25
    for style in (tmp_path / "html" / "_static").rglob("*.css"):
        assert not re.search(r"url\(['\"]?https?:|@import", style.read_text(encoding="utf-8"))
    reference = (tmp_path / "html" / "api.html").read_text(encoding="utf-8")
    for name in hg.__all__:
        assert f'id="hourglass.{name}"' in reference or f'id="module-hourglass.{name}"' in reference
