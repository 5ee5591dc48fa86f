"""--total, --difference, --ratio: printed below the table, in the JSON, refused before a charge."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import hourglass as hg

from .running import ASK, run


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.parquet"
    table = pd.DataFrame({"site": ["a", "b", "c"] * 400, "x": [1.0, 5.0, 8.0] * 400,
                          "y": [2.0] * 1200})  # fmt: skip
    table.to_parquet(path)
    return path


@pytest.mark.slow
def test_printed_below_the_table(visits: Path) -> None:
    found = run("mean", visits, "x", *ASK, "--by", "site", "--keys", "a,b,c", "--total",
                "--difference", "b", "a", "--confidence", "0.9")  # fmt: skip
    assert found.returncode == 0, found.stderr
    table, _, below = found.stdout.partition("total of 3 groups")
    assert table.startswith("site")
    assert below
    assert "mean of b minus mean of a" in below
    assert below.count("90 % from") == 2


def test_in_the_json(visits: Path) -> None:
    found = run("mean", visits, "x", *ASK, "--by", "site", "--keys", "a,b,c", "--total",
                "--difference", "b", "a", "--format", "json")  # fmt: skip
    answer = json.loads(found.stdout)
    assert abs(answer["total"]["count"] - 1200) < 60
    assert abs(answer["difference"]["difference"] - 4) < 1
    low, high = (answer["difference"]["interval"][end] for end in ("low", "high"))
    assert low < answer["difference"]["difference"] < high


def test_groups_with_too_few_records_are_named(visits: Path) -> None:
    """``--fewest`` applied to the rows of the table only."""
    words = ["--by", "site", "--keys", "a,b,none", "--total", "--difference", "b", "none"]
    for more, total in (([], False), (["--fewest", "2000"], True)):
        found = run("mean", visits, "x", *ASK[:-1], "20", *words, *more).stdout
        assert ("The total has too few records." in found) == total
        told = "b and none have too few records." if total else "none has too few records."
        assert told in found
        asked = [*ASK[:-1], "20", *words, *more, "--format", "json"]
        answer = json.loads(run("mean", visits, "x", *asked).stdout)
        assert (answer["total"]["few"], answer["difference"]["few"]) == (total, True)


def test_a_ratio(visits: Path) -> None:
    words = ["--by", "site", "--keys", "a,b,c", "--ratio", "c", "a"]
    assert "mean of c / mean of a" in run("mean", visits, "x", *ASK, *words).stdout
    sure = [*ASK[:-1], "20"]  # at epsilon 1 the ratio is off by 1 in about one run of 600
    answer = json.loads(run("mean", visits, "x", *sure, *words, "--format", "json").stdout)
    assert abs(answer["ratio"]["ratio"] - 8) < 1
    same = run("mean", visits, "x", *ASK, *words[:4], "--ratio", "a", "a")
    assert (same.returncode, same.stdout) == (2, "")
    assert "--ratio a a names the same group twice" in same.stderr


def test_groups_of_booleans(visits: Path) -> None:
    """The table has True; --keys and --difference may have either."""
    pd.DataFrame({"b": [True, True, False], "x": [1.0, 2.0, 3.0]}).to_parquet(visits)
    for keys in ("true,false", "True,False"):
        for pair in (["true", "false"], ["True", "False"]):
            words = ["--by", "b", "--keys", keys, "--difference", *pair]
            found = run("count", visits, "--epsilon", "1", *words)
            assert "count of True minus count of False" in found.stdout, found.stderr


def test_groups_of_booleans_and_names(visits: Path) -> None:
    """Caught: true found only where it is the whole name."""
    rows = {"b": [True, True, False], "g": ["u", "v, w", "u"], "x": [1.0, 2.0, 3.0]}
    pd.DataFrame(rows).to_parquet(visits)
    keys = visits.with_suffix(".csv")
    keys.write_text("g,b\nu,true\nu,false\n")
    for pair in (["u,true", "u,false"], ["u, True", "u, False"], ["u,True", "u,FALSE"]):
        words = ["--by", "g", "--by", "b", "--keys-from", str(keys), "--difference", *pair]
        found = run("count", visits, "--epsilon", "1", *words)
        assert "count of u, True minus count of u, False" in found.stdout, found.stderr


def test_of_counts(visits: Path) -> None:
    words = ["--epsilon", "1", "--by", "site", "--keys", "a,b,c", "--total"]
    words += ["--difference", "b", "a"]
    printed = run("count", visits, *words).stdout
    assert "total of 3 groups" in printed
    assert "count of b minus count of a" in printed
    answer = json.loads(run("count", visits, *words, "--format", "json").stdout)
    assert abs(answer["total"]["count"] - 1200) < 60
    assert abs(answer["difference"]["difference"]) < 60
    assert run("count", visits, "--epsilon", "1", "--total").returncode == 2


@pytest.mark.slow
def test_of_several_columns_each(visits: Path) -> None:
    words = ["--by", "site", "--keys", "a,b,c", "--total", "--difference", "b", "a"]
    found = run("mean", visits, "x", "y", *ASK, *words, "--format", "json")
    answer = json.loads(found.stdout)
    assert list(answer["total"]) == ["x", "y"]
    assert list(answer["difference"]) == ["x", "y"]


def test_a_column_is_named_on_a_line_of_its_own(visits: Path) -> None:
    """In front of the table's head, the name would move the head out of line."""
    words = ["--by", "site", "--keys", "a,b", "--total"]
    lines = run("mean", visits, "x", "y", *ASK, *words).stdout.splitlines()
    for name in ("x", "y"):
        head, rule = lines[lines.index(f"{name}:") + 1 :][:2]
        assert head.startswith("total of 2 groups  ")
        assert rule.split("  ")[0] == "─" * len("total of 2 groups")
        assert len(head) == len(rule)


@pytest.mark.slow
def test_groups_of_several_columns(visits: Path, tmp_path: Path) -> None:
    """A group is its values with commas between them; a wrong one is refused before the charge."""
    ledger, keys = tmp_path / "budget.db", tmp_path / "keys.csv"
    hg.create_budget(ledger, "b", epsilon=10)
    keys.write_text("site,n\na,1\nb,01\n")
    table = pd.read_parquet(visits).assign(n=1)
    table.to_parquet(visits)
    words: list[str | Path] = [
        "mean",
        visits,
        "x",
        *ASK,
        "--by",
        "site",
        "--by",
        "n",
        "--keys-from",
        keys,
    ]
    words += ["--budget", "b", "--ledger", ledger, "--difference"]
    for pair in (["b,1", "a,1"], ["b, 1", "a, 1"]):
        found = run(*words, *pair)
        assert "mean of b, 1 minus mean of a, 1" in " ".join(found.stdout.split()), found.stderr
    charges = len(hg.Budget(ledger, "b").history())
    absent = run(*words, "a,1", "z,1", "--request", "again")
    assert (absent.returncode, absent.stdout) == (2, "")
    assert "'z,1' is not among the groups of --keys-from; did you mean" in absent.stderr
    same = run(*words, "a,1", "a, 1")
    assert (same.returncode, same.stdout) == (2, "")
    assert "names the same group twice" in same.stderr
    assert len(hg.Budget(ledger, "b").history()) == charges == 2


@pytest.mark.slow
def test_every_comparison_is_answered(visits: Path) -> None:
    """Given twice, an option kept only its last value."""
    words = ["--by", "site", "--keys", "a,b,c", "--difference", "b", "a", "--difference", "c", "a"]
    words += ["--difference=c", "b", "--ratio", "b", "a"]
    printed = run("mean", visits, "x", *ASK, *words).stdout
    for told in ("b minus mean of a", "c minus mean of a", "c minus mean of b", "b / mean of a"):
        assert f"mean of {told}" in printed
    answer = json.loads(run("mean", visits, "x", *ASK, *words, "--format", "json").stdout)
    pairs = [each["groups"] for each in answer["difference"]]
    assert pairs == [["b", "a"], ["c", "a"], ["c", "b"]]
    assert answer["ratio"]["groups"] == ["b", "a"]
    several = run("mean", visits, "x", "y", *ASK, *words, "--format", "json")
    assert [len(each) for each in json.loads(several.stdout)["difference"].values()] == [3, 3]


def test_comparisons_share_a_table_and_a_note(visits: Path) -> None:
    pairs = ["--difference", "b", "a", "--difference", "c", "a", "--ratio", "c", "b"]
    found = run("mean", visits, "x", *ASK, "--by", "site", "--keys", "a,b,c", "--total", *pairs)
    below = found.stdout[found.stdout.index("total of 3 groups") :]
    assert below.count("estimate") == 2  # one table for the total, one for all the others
    assert below.count("Intervals are for these records") == 1
    lines = below.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("mean of b minus"))
    assert lines[first + 1].startswith("mean of c minus mean of a")
    assert lines[first + 2].startswith("mean of c / mean of b")


def test_of_sums(visits: Path) -> None:
    words = ["--by", "site", "--keys", "a,b,c", "--difference", "b", "a"]
    printed = run("sum", visits, "x", *ASK, *words).stdout
    assert "sum of b minus sum of a" in printed
    answer = json.loads(run("sum", visits, "x", *ASK, *words, "--format", "json").stdout)
    assert abs(answer["difference"]["difference"] - 1600) < 400


def test_a_group_that_is_not_published_is_not_an_error(visits: Path) -> None:
    """With secret names the group may be missing from the answer, which is not an error."""
    words = ["--by", "site", "--delta", "1e-6", "--difference", "a", "nobody"]
    found = run("mean", visits, "x", *ASK, *words, "--total")
    assert found.returncode == 0, found.stderr
    assert "not in the answer" in found.stdout
    stored = json.loads(run("mean", visits, "x", *ASK, *words, "--format", "json").stdout)
    assert stored["difference"] is None
    nobody = visits.with_name("nobody.parquet")
    pd.DataFrame({"site": ["a"], "x": [1.0]}).to_parquet(nobody)
    empty = run("mean", nobody, "x", *ASK, "--by", "site", "--delta", "1e-9", "--total")
    assert empty.returncode == 0, empty.stderr
    assert "there is no total" in empty.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--total"], "--by"),
        (["--difference", "a", "b"], "--by"),
        (
            ["--by", "site", "--keys", "a,b", "--total", "--format", "csv"],
            "which --format asks for",
        ),
        (
            ["--by", "site", "--keys", "a,b", "--total", "--output", "x.csv"],
            "--output 'x.csv' asks",
        ),
        (
            ["--by", "site", "--keys", "a,b", "--ratio", "a", "b", "--output", "x.parquet"],
            "--ratio",
        ),
        (["--by", "site", "--keys", "a,b", *["--ratio", "a", "b"] * 2], "is given twice"),
        (["--by", "site", "--keys", "a,b", "--ratio", "a"], "--ratio takes 2 values"),
        (["--by", "site", "--keys", "a,b", "--ratio", "a", "--total"], "--ratio takes 2 values"),
        (["--by", "site", "--keys", "a,b", "--difference", "a", "a"], "names the same group twice"),
        (["--by", "site", "--keys", "a,b", "--difference", "a", "z"], "'z' is not among"),
        (["--by", "site", "--keys", "ah,bee", "--difference", "ah", "be"], "did you mean 'bee'?"),
        (["--by", "site", "--by", "y", "--delta", "1e-6", "--ratio", "a", "b"], "--by names 2"),
        (
            ["--by", "site", "--keys-from", "none.csv", "--total"],
            "--keys-from 'none.csv': there is",
        ),
    ],
)
def test_what_cannot_be_combined_is_refused_first(
    visits: Path, words: list[str], told: str
) -> None:
    found = run("mean", visits, "x", *ASK, *words)
    assert found.returncode == 2
    assert found.stdout == ""
    assert told in found.stderr


@pytest.mark.slow
def test_plan_for_a_population() -> None:
    words = ["plan", "--bounds", "0", "1", "--whole", "--population"]
    found = run(*words, "--epsilon", "1", "--error", "0.03")
    assert found.returncode == 0, found.stderr
    told = " ".join(found.stdout.split())
    assert "95 % interval of the population's mean reaches 0.03" in told
    assert run(*words, "--epsilon", "1", "--records", "10").returncode == 2
