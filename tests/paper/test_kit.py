"""The researcher's kit: seeds, formats for articles, and algorithms of one's own."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

import hourglass as hg
from hourglass.errors import OptionError
from hourglass.paper import EXHIBITS, Settings, load_all
from hourglass.paper.data import UNIT
from hourglass.paper.style import house_style
from hourglass.paper.tex import in_tex, pgf_style, texified
from tests.tools import command

ROOT = Path(__file__).parents[2]
TEX = any(map(shutil.which, ("pdflatex", "xelatex", "lualatex")))

#: Two thirds of epsilon for the sum and one third for the count; no moments, so no closed form.
UNEVEN = """
from hourglass.core.totals import NoisyTotals
from hourglass.mechanisms.base import addable, draws
from hourglass.noise import DiscreteLaplace


class Uneven:
    name = "uneven split"

    def __init__(self, epsilon, grid):
        self.epsilon, self.grid = epsilon, grid

    def noise(self, totals, *, bits, size=None):
        n, G = draws(totals, size), self.grid.cells
        x = DiscreteLaplace(2 * self.epsilon / (3 * G)).sample(n, bits=bits)
        k = DiscreteLaplace(self.epsilon / 3).sample(n, bits=bits)
        x, k = addable((x, k), totals, G)
        cells = totals.cells + x
        return NoisyTotals(cells, G * (totals.count + k) - cells, G)


class Short(Uneven):
    name = "short"

    def noise(self, totals, *, bits, size=None):
        return super().noise(totals, bits=bits)


class Taken(Uneven):
    name = "laplace"


class Broken(Uneven):
    name = "broken"

    def noise(self, totals, *, bits, size=None):
        raise ZeroDivisionError("toy")


not_a_class = 3
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "uneven_toy.py"
    path.write_text(UNEVEN)
    return path


# --- seeds ----------------------------------------------------------------------------------

#: Computed, swept over one data set, swept over many, and shared with another exhibit.
SEEDED = ("density", "e1", "e5", "e6")
SMALL = ("--runs", "40", "--records", "100")


@pytest.mark.slow
def test_a_seed_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    """Alone or with others, in this process or in one that hashes otherwise."""
    one, two = tmp_path / "one", tmp_path / "two"
    told = command("paper", *SEEDED, *SMALL, "--seed", 7, "--out", one)
    assert told.code == 0, told.err
    code = "from hourglass.cli import main; main()"
    words = ["paper", "e6", "e1", *SMALL, "--seed", "7", "--out", str(two)]
    environment = os.environ | {"PYTHONHASHSEED": "12345"}
    subprocess.run([sys.executable, "-c", code, *words], check=True, env=environment)
    for name in ("e6", "e1"):
        for kind in ("csv", "png"):
            first, second = (folder / f"{name}.{kind}" for folder in (one, two))
            assert first.read_bytes() == second.read_bytes(), first.name
    # E6 shows the very numbers of E5.
    e5 = {(r["series"], r["records"]): r for r in rows(one / "e5.csv")}
    value = "mse_times_half_epsilon_squared"
    for row in rows(one / "e6.csv"):
        top, below = row["series"].split(" / ")
        ratio = float(e5[top, row["records"]][value]) / float(e5[below, row["records"]][value])
        assert float(row["ratio_of_mse"]) == pytest.approx(ratio, rel=1e-8)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_another_seed_gives_other_numbers_and_exhibits_share_no_stream() -> None:
    words = [
        Settings(seed=seed).stream(name).bits.words(4).tolist()
        for seed in (1, 2)
        for name in ("e1", "e2")
    ]
    assert len({word for drawn in words for word in drawn}) == 16
    again = Settings(seed=1).stream("e1").bits
    assert not again.private
    assert again.words(4).tolist() == words[0]
    assert {e.name: e.stream for e in EXHIBITS.values() if e.stream != e.name} == {
        "e6": "e5",
        "e8": "e7",
    }


@pytest.mark.slow
def test_what_a_seed_made_says_that_it_is_not_private(tmp_path: Path) -> None:
    seeded, secure = tmp_path / "seeded", tmp_path / "secure"
    words = ("paper", "balls", "--format", "svg", *SMALL)
    told = command(*words, "--seed", 7, "--out", seeded)
    label = "seed 7: reproducible, not private"
    assert label in told.out
    assert {row["bits"] for row in rows(seeded / "balls.csv")} == {label}
    assert label in (seeded / "balls.svg").read_text(encoding="utf-8")
    assert label in (seeded / "index.html").read_text(encoding="utf-8")
    told = command(*words, "--out", secure)
    assert {row["bits"] for row in rows(secure / "balls.csv")} == {"secure"}
    files = (secure / "balls.svg", secure / "index.html")
    shown = told.out + "".join(path.read_text(encoding="utf-8") for path in files)
    assert "private" not in shown.replace("differentially private", "")


# --- titles and formats ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", EXHIBITS)
def test_every_picture_names_epsilon_and_mean_and_can_be_set_by_tex(name: str) -> None:
    """From the files of the documentation: no exhibit is run."""
    from matplotlib.text import Text

    from .conftest import read_table

    exhibit = EXHIBITS[name]
    assert re.search(r"ε|epsilon", exhibit.title)
    assert "mean" in exhibit.title
    with house_style():
        drawn = exhibit.draw(read_table(ROOT / "docs" / "paper" / f"{name}.csv"))
        titles = [drawn.get_suptitle(), *(ax.get_title(loc="left") for ax in drawn.axes)]
        assert any("ε" in title for title in titles)
        assert any("mean" in title for title in titles)
        for text in texified(drawn).findobj(Text):
            label = text.get_text()
            plain = re.sub(r"\\[a-z]+|\\[%_&#{}]", "", label).replace("\u2212", "-")
            if "$" not in label:  # matplotlib's own powers of ten
                assert plain.isascii(), label
                assert not set(plain) & set("#%&~\\"), label
                assert not set(re.sub(r"\{[^{}]*\}", "", plain)) & set("^_|"), label


def test_signs_become_tex() -> None:
    assert in_tex("ε² ≤ 5 % of |D|") == (
        r"\ensuremath{\varepsilon}\ensuremath{^2} \ensuremath{\leq} 5 \% of "
        r"\ensuremath{|}D\ensuremath{|}"
    )
    assert in_tex("uneven_split") == r"uneven\_split"


@pytest.mark.slow
def test_a_picture_as_pdf_has_no_date(tmp_path: Path) -> None:
    told = command("paper", "balls", "--format", "pdf", *SMALL, "--out", tmp_path)
    assert told.code == 0, told.err
    written = (tmp_path / "balls.pdf").read_bytes()
    assert written.startswith(b"%PDF")
    assert b"CreationDate" not in written
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert '<a href="balls.pdf">' in page


@pytest.mark.slow
@pytest.mark.skipif(not TEX, reason="LaTeX is not installed")
def test_pictures_as_pgf_can_be_included_in_an_article(tmp_path: Path) -> None:
    words = ("paper", "balls", "density", "e5", "--format", "pgf", *SMALL, "--seed", "1")
    told = command(*words, "--out", tmp_path)
    assert told.code == 0, told.err
    article = tmp_path / "article.tex"
    article.write_text(
        "\\documentclass{article}\\usepackage{pgf}\\begin{document}"
        "\\input{balls.pgf}\\input{density.pgf}\\input{e5.pgf}\\end{document}"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", article.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "article.pdf").stat().st_size > 5000


def test_pgf_without_latex_is_refused_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    told = command("paper", "balls", "--format", "pgf", "--out", tmp_path / "out")
    assert told.code == 2
    assert "LaTeX" in told.err
    assert "--format 'pdf'" in told.err
    assert not (tmp_path / "out").exists()
    # A LaTeX that ends at once is refused, too.
    latex = tmp_path / "lualatex"
    latex.write_text("#!/bin/sh\nexit 1\n")
    latex.chmod(0o700)
    with pytest.raises(OptionError, match="package pgf"), house_style(), pgf_style():
        pass


# --- algorithms of one's own ----------------------------------------------------------------


@pytest.mark.slow
def test_an_algorithm_of_a_file_is_measured_beside_ours(module: Path, tmp_path: Path) -> None:
    """Its error is that of its law: six standard errors, a false alarm of 1e-7 at 17 points."""
    out = tmp_path / "out"
    words = ("paper", "e1", "e5", "e6", "--runs", 2000, "--seed", 3)
    told = command(*words, "--algorithm", f"{module}:Uneven", "--out", out)
    assert told.code == 0, told.err
    assert re.search(r"^e1: uneven split / lower bound: [12]\.\d+ to 2\.", told.out, re.MULTILINE)
    assert "uneven split / lower bound" in (out / "index.html").read_text(encoding="utf-8")
    for row in rows(out / "e1.csv"):
        if row["series"] == "uneven split":
            assert row["closed_form"] == ""
            # Laplace noise of scales 3/(2 eps) and 3/eps at mean 0.01, times eps^2/2.
            lead = 9 / 4 + 9 * 0.01**2
            assert abs(float(row["normalised_mse"]) - lead) <= 6 * float(row["standard_error"])
            assert 6 * float(row["standard_error"]) < 1.2  # half of it, or twice, is rejected
    sizes = [r["records"] for r in rows(out / "e6.csv") if r["series"] == "uneven split / laplace"]
    assert sizes == ["1", "2", "4", "8", "16", "32", "64"]


def test_a_module_of_the_current_folder_is_found(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(module.parent)
    monkeypatch.delitem(sys.modules, module.stem, raising=False)
    (own,) = load_all([f"{module.stem}:Uneven"])
    del sys.modules[module.stem]
    assert own.name == "uneven split"
    assert "" not in sys.path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Uneven", "not of the form MODULE:NAME"),
        ("no.such.module:Uneven", "no.such.module cannot be imported"),
        ("{}:Missing", "has no class Missing"),
        ("{}:not_a_class", "has no class not_a_class"),
        ("{}:Taken", "give the class another name"),
        ("{}:Broken", "ZeroDivisionError: toy"),
        ("{}:Short", "of three answers"),
        ("{0}x.py:Uneven", "FileNotFoundError"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_it_is_run(
    text: str, words: str, module: Path
) -> None:
    with pytest.raises(OptionError, match=re.escape(words)):
        load_all([text.format(module)])


def test_a_name_is_given_once_and_a_picture_has_room_for_three(
    module: Path, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match="given twice"):
        load_all([f"{module}:Uneven"] * 2)
    names = "abcd"
    module.write_text(UNEVEN + "".join(f"class {n}(Uneven): name = '{n}'\n" for n in names))
    assert [own.name for own in load_all([f"{module}:{n}" for n in names[:3]])] == list("abc")
    with pytest.raises(OptionError, match="room for 3"):
        load_all([f"{module}:{n}" for n in names])


def test_an_algorithm_with_moments_has_its_closed_form() -> None:
    (own,) = load_all(["tests.mechanisms.test_seam:UnevenMean"])
    made = own.make(Fraction(1, 10), UNIT)
    assert own.lead(made, 0.5) == pytest.approx(100 * (9 / 2 + 18 / 4), rel=1e-3)


# --- citing ---------------------------------------------------------------------------------


def test_the_citation_file_is_what_readers_of_it_expect() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == hg.__version__
    assert (cited["type"], cited["license"]) == ("software", "Apache-2.0")
    assert all(cited[field] for field in ("message", "title", "abstract", "authors", "keywords"))
    (paper,) = cited["references"]
    assert paper["type"] == "conference-paper"
    assert [author["family-names"] for author in paper["authors"]] == ["Kulesza", "Suresh", "Wang"]
    assert paper["title"] in (ROOT / "docs" / "paper.md").read_text().replace("\n", " ")
    assert (paper["year"], paper["identifiers"][0]["value"]) == (2024, "arXiv:2312.06658")
    known = {"cff-version", "message", "title", "abstract", "type", "authors", "version",
             "license", "keywords", "references"}  # fmt: skip
    assert set(cited) == known


@pytest.mark.slow
def test_the_page_keeps_what_earlier_runs_left_in_the_folder(tmp_path: Path) -> None:
    """The page forgot it; files of another kind with such a name are left out."""
    (tmp_path / "e2.csv").write_text("a,b\n1,2\n")
    (tmp_path / "e2.png").write_bytes(b"")
    for words in (["balls", "--seed", "3"], ["density"]):
        told = command("paper", *words, *SMALL, "--out", tmp_path)
        assert told.code == 0, told.err
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.index('<figure id="balls">') < page.index('<figure id="density">')
    assert page.count("From an earlier run, seed 3: reproducible, not private.") == 1
    assert 'id="e2"' not in page
    command("paper", "balls", *SMALL, "--out", tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("<figure") == 2
    assert "not private" not in page


@pytest.mark.slow
def test_every_measured_claim_has_its_standard_error(tmp_path: Path) -> None:
    told = command("paper", "e1", "e2", "e3", "e5", "e7", *SMALL, "--out", tmp_path)
    assert told.code == 0, told.err
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    rows = re.findall("<tr><td>.*?</tr>", page, re.DOTALL)
    assert len(rows) > 8
    for row in rows:
        assert "s.e. " in row or "standard errors" in row, row
