"""Whatever is wrong with a command line is told before the charge: the budget stays as it was."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg

from .running import ASK, run

BY = ["--by", "g", "--keys", "n,s,e"]
FROM = ["--by", "g", "--keys-from", "keys.txt"]
#: Words after ``hourglass mean t.parquet x --budget b --ledger b.db``.
MEANS = [
    # the price
    ["--bounds", "0", "9"],
    ["--bounds", "0", "9", "--epsilon", "0"],
    ["--bounds", "0", "9", "--epsilon", "one"],
    ["--bounds", "0", "9", "--epsilon", "nan"],
    ["--bounds", "0", "9", "--epsilon", "-1"],
    [*ASK, "--epsilon", "2"],
    # the bounds and the values
    ["--epsilon", "1"],
    ["--epsilon", "1", "--bounds", "9", "0"],
    ["--epsilon", "1", "--bounds", "0"],
    ["--epsilon", "1", "--bounds", "0", "nine"],
    ["--epsilon", "1", "--bounds", "0", "inf"],
    ["--epsilon", "1", "--bounds-from", "none.json"],
    ["--epsilon", "1", "--bounds-from", "keys.txt"],
    ["--epsilon", "1", "--bounds-of", "x", "0", "9"],
    [*ASK, "--missing", "zero"],
    [*ASK, "--missing", "11"],
    [*ASK, "--grid", "0"],
    [*ASK, "--grid", "few"],
    [*ASK, "--parse", "number"],
    [*ASK, "--outside", "2"],
    [*ASK, "--where", "x >"],
    [*ASK, "--where", "y > 1"],
    [*ASK, "--where", "x > 1", "--where", "x < 5"],
    [*ASK, "--expression", "sum(x)"],
    [*ASK, "--algorithm", "houglass"],
    [*ASK, "--estimator", "mean"],
    [*ASK, "--spread", "--algorithm", "swap"],
    # the source
    [*ASK, "--engine", "duck"],
    [*ASK, "--table", "t"],
    [*ASK, "--trusted"],
    [*ASK, "--multiline"],
    [*ASK, "--master", "local"],
    # groups and persons
    [*ASK, "--by", "g"],
    [*ASK, "--by", "h", "--keys", "n"],
    [*ASK, "--keys", "n"],
    [*ASK, "--delta", "1e-6"],
    [*ASK, *BY, "--delta", "1e-6"],
    [*ASK, "--by", "g", "--delta", "2"],
    [*ASK, "--by", "g", "--keys", "n,,e"],
    [*ASK, "--by", "x", "--keys", "1"],
    [*ASK, "--by", "g", "--keys-from", "none.txt"],
    [*ASK, "--by", "g", "--keys-from", "none.csv"],
    [*ASK, "--by", "g", "--keys-from", "other.csv"],
    [*ASK, *BY, "--keys-from", "keys.txt"],
    [*ASK, "--rows", "2"],
    [*ASK, "--groups", "2"],
    [*ASK, "--person", "nobody"],
    [*ASK, "--person", "u", "--rows", "0"],
    [*ASK, *BY, "--person", "u", "--groups", "0"],
    # figures of groups
    [*ASK, "--total"],
    [*ASK, *BY, "--total", "--output", "a.csv"],
    [*ASK, *BY, "--total", "--format", "parquet", "--output", "a.parquet"],
    [*ASK, *BY, "--difference", "n"],
    [*ASK, *BY, "--difference", "n", "n"],
    [*ASK, *BY, "--difference", "n", "w"],
    [*ASK, *FROM, "--difference", "n", "w"],
    [*ASK, *FROM, "--difference", "n", "s", "--difference", "n", "w"],
    [*ASK, *FROM, "--ratio", "N", "s"],
    ["--bounds-of", "x", "0", "9", "--epsilon", "1", *FROM, "--ratio", "n", "s"],
    # what is written
    [*ASK, "--format", "jsn"],
    [*ASK, "--format", "parquet"],
    [*ASK, "--format", "csv", "--output", "a.json"],
    [*ASK, "--output", "a.foo"],
    [*ASK, "--output", "none/a.json"],
    [*ASK, "--output", "t.parquet"],
    [*ASK, "--output", "b.db"],
    [*ASK, "--plot", "a.foo"],
    [*ASK, "--plot", "none/a.png"],
    [*ASK, "--statement", "a.foo"],
    [*ASK, "--statement", "a.json", "--output", "a.json"],
    [*ASK, "--confidence", "95"],
    [*ASK, "--confidence", "high"],
    [*ASK, "--fewest", "0"],
    # names of options, and the rest
    [*ASK, "--bound", "0", "9"],
    [*ASK, "--by", "g", "--key", "n"],
    [*ASK, "--request", ""],
    [*ASK, "--request", "x" * 10_000],
    [*ASK, "y"],
]
OTHERS = [
    ["mean", "none.parquet", "x", *ASK],
    ["mean", "t.parquet", "y", *ASK],
    ["mean", "t.parquet", "g", *ASK],
    ["mean", "t.parquet", "x", "x", *ASK],
    ["mean", "t.parquet", *ASK],
    ["mean", "cut.parquet", "x", *ASK],
    ["mean", "[tc]*.parquet", "x", *ASK],
    ["mean", "t.parquet", "x", "v", "--epsilon", "1", "--bounds-of", "x", "0", "9"],
    ["mean", "t.parquet", "x", "v", *ASK, "--bounds-of", "w", "0", "9"],
    ["mean", "t.parquet", "x", "v", *ASK, "--missing-of", "v", "none"],
    ["mean", "t.parquet", "x", "v", *ASK, "--spread"],
    ["sum", "t.parquet", "x", *ASK, "--person", "u"],
    ["sum", "t.parquet", "x", "v", *ASK],
    ["sum", "t.parquet", "x", *ASK, *FROM, "--difference", "n", "w"],
    ["sum", "t.parquet", "x", *ASK, *BY, "--ratio", "n", "s"],
    ["count", "t.parquet", "x", "--epsilon", "1"],
    ["count", "t.parquet", "--epsilon", "1", "--bounds", "0", "9"],
    ["count", "t.parquet", "--epsilon", "1", *FROM, "--difference", "n", "w"],
    ["count", "t.parquet", "--epsilon", "1", *FROM, "--total", "--output", "a.csv"],
    ["bounds", "t.parquet", "x", "--epsilon", "1", "--format", "csv"],
    ["bounds", "t.parquet", "x", "--epsilon", "1", "--output", "a.foo"],
    ["bounds", "t.parquet", "x", "--epsilon", "1", "--output", "a.yaml"],
    ["bounds", "t.parquet", "x", "--epsilon", "1", "--scale", "3,2,1"],
    ["bounds", "t.parquet", "x", "--epsilon", "1", "--scale", "1,two"],
    ["bounds", "t.parquet", "x", "--epsilon", "1", "--scale-from", "none.txt"],
    ["bounds", "t.parquet", "x", "--epsilon", "1", "--share", "2"],
    ["bounds", "t.parquet", "x", "--epsilon", "1", "--rows", "2"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("charge")
    numbers = [float(i % 10) for i in range(60)]
    columns = {"x": numbers, "v": numbers, "g": ["n", "s", "e"] * 20, "u": [*range(30)] * 2}
    pq.write_table(pa.table(columns), place / "t.parquet")
    (place / "cut.parquet").write_bytes((place / "t.parquet").read_bytes()[:-20])
    (place / "keys.txt").write_text("n\ns\ne\n")
    (place / "other.csv").write_text("h\nn\n")
    hg.create_budget(str(place / "b.db"), "b", epsilon=10, delta="1e-3")
    return place


def asked(words: list[str]) -> list[str]:
    return [*words, "--budget", "b", "--ledger", "b.db"]


def untouched(folder: Path) -> bool:
    budget = hg.Budget(str(folder / "b.db"), "b")
    left = budget.balance().remaining
    return (left.epsilon, left.delta) == (Fraction(10), Fraction(1, 1000)) and not budget.history()


@pytest.mark.parametrize(
    "words",
    [*(["mean", "t.parquet", "x", *words] for words in MEANS), *OTHERS],
    ids=lambda words: " ".join(words)[:80],
)
def test_what_is_wrong_is_told_before_the_charge(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(folder)
    before = {path.name for path in folder.iterdir()}
    found = run(*asked(words))
    assert found.returncode in (2, 3, 4), found.stdout
    assert found.stdout == ""
    assert found.stderr.strip()
    assert "unexpected error" not in found.stderr
    assert "Traceback" not in found.stderr
    assert untouched(folder)
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("budget", "ledger"), [("c", "b.db"), ("b", "none.db"), ("b", "keys.txt"), ("", "b.db")]
)
def test_a_wrong_budget_charges_no_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch, budget: str, ledger: str
) -> None:
    monkeypatch.chdir(folder)
    found = run("mean", "t.parquet", "x", *ASK, "--budget", budget, "--ledger", ledger)
    assert (found.returncode, found.stdout) == (3, "") or found.returncode == 2
    assert untouched(folder)


@pytest.mark.slow
def test_what_is_right_is_charged(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same words without a mistake; else the tests above would show nothing."""
    monkeypatch.chdir(folder)
    hg.create_budget(str(tmp_path / "c.db"), "b", epsilon=10)
    words = ["mean", "t.parquet", "x", *ASK, *FROM, "--difference", "n", "s", "--format", "json"]
    found = run(*words, "--budget", "b", "--ledger", tmp_path / "c.db")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["difference"]["groups"] == ["n", "s"]
    assert hg.Budget(str(tmp_path / "c.db"), "b").balance().remaining.epsilon == 9
