"""hourglass mean --population: in every format, from stored answers, refused before the charge."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import hourglass as hg

from .running import ASK, run, spawn

BY = ["--by", "site", "--keys", "a,b"]
TWO = ["--bounds-of", "x", "0", "9", "--bounds-of", "y", "0", "1", "--epsilon", "1"]


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.parquet"
    rows = {"site": ["a", "b"] * 400, "x": [1.0, 5.0, 3.0, 8.0] * 200, "y": [0, 1, 1, 0] * 200,
            "id": range(800)}  # fmt: skip
    pd.DataFrame(rows).to_parquet(path)
    return path


def told(*words: str | Path) -> str:
    found = run("mean", *words, "--population")
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.slow
def test_the_real_command(visits: Path) -> None:
    found = spawn("mean", visits, "x", *ASK, "--population")
    assert found.returncode == 0, found.stderr
    lines = found.stdout.decode().splitlines()
    assert lines[2].startswith("mean of these records ")
    assert lines[3].startswith("mean of the population ")
    narrow, wide = ([float(cell) for cell in line.split()[-2:]] for line in lines[2:4])
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_without_the_option_there_is_none(visits: Path) -> None:
    for form in ("table", "json", "csv", "yaml"):
        assert "population" not in run("mean", visits, "x", *ASK, "--format", form).stdout


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_in_json_and_yaml(visits: Path, form: str) -> None:
    read: Any = json.loads if form == "json" else yaml.safe_load
    answer = read(told(visits, "x", *ASK, "--format", form, "--confidence", "0.9"))
    release = hg.Release.from_dict(answer)
    expected = release.interval(0.9, of="population")
    found = answer["intervals"]["population"]
    assert (found["low"], found["high"]) == (expected.low, expected.high)
    assert (found["confidence"], found["kind"]) == (0.9, "valid")
    assert answer["intervals"]["mean"]["low"] == release.interval(0.9).low


@pytest.mark.slow
def test_in_csv_of_groups_and_columns(visits: Path) -> None:
    text = told(visits, "x", "y", *TWO, *BY, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["site"], row["column"]) for row in rows] == [
        ("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"),
    ]  # fmt: skip
    for row in rows:
        low, high = float(row["population_low"]), float(row["population_high"])
        assert low < float(row["mean_low"]) < float(row["mean_high"]) < high
        assert row["population_kind"] == ("valid" if row["column"] == "x" else "exact")
        assert row["confidence"] == "0.95"


def test_in_parquet(visits: Path, tmp_path: Path) -> None:
    told(visits, "x", *ASK, *BY, "--output", tmp_path / "answer.parquet")
    found = pd.read_parquet(tmp_path / "answer.parquet")
    assert (found["population_low"] < found["mean_low"]).all()
    assert found["population_kind"].tolist() == ["valid", "valid"]


def test_in_the_table_of_groups_and_the_chart(visits: Path, tmp_path: Path) -> None:
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        text = told(visits, "x", *ASK, *BY, "--plot", tmp_path / "chart.svg")
    assert text.count("\n  population ") == 2
    assert "Thin line: for the population." in (tmp_path / "chart.svg").read_text()


@pytest.mark.slow
def test_figures_of_groups_have_it_too(visits: Path) -> None:
    words = [*BY, "--total", "--difference", "b", "a", "--ratio", "b", "a"]
    text = told(visits, "x", *ASK, *words)
    assert "mean of the population" in text.partition("total of 2 groups")[2]
    assert text.partition("mean of b minus mean of a")[2].count("\n  population ") == 2
    answer = json.loads(told(visits, "x", *ASK, *words, "--format", "json"))
    narrow, wide = answer["difference"]["interval"], answer["difference"]["population"]
    assert wide["low"] < narrow["low"] < narrow["high"] < wide["high"]
    assert "population" in answer["total"]["intervals"]
    assert "population" in answer["ratio"]


def test_many_groups_have_it_if_asked(visits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default the intervals of very many groups are left out; not those asked for."""
    monkeypatch.setattr("hourglass.cli.output.WITH_INTERVALS", 1)
    assert "mean_low" not in run("mean", visits, "x", *ASK, *BY, "--format", "csv").stdout
    assert "population_low" in told(visits, "x", *ASK, *BY, "--format", "csv")


def test_of_a_stored_answer_at_no_charge(visits: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    run("budget", "init", "team", "--ledger", ledger, "--epsilon", "1")
    charged = ["--budget", "team", "--ledger", str(ledger), "--request", "may", "--format", "json"]
    first = json.loads(run("mean", visits, "x", *ASK, *charged).stdout)
    again = run("mean", visits, "x", *ASK, *charged, "--population")
    assert "stored answer of request 'may' in 'team'; nothing was charged" in again.stderr
    second = json.loads(again.stdout)
    assert second["noisy_totals"] == first["noisy_totals"]
    assert second["intervals"].pop("population")["low"] < second["intervals"]["mean"]["low"]
    assert second["intervals"] == first["intervals"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--person", "id", "--rows", "3"], ["--rows 3", "leave out --rows"]),
        (["--person", "id", "--groups", "2", *BY, "--total"], ["--groups 2", "--total"]),
        (["--person", "id", "--groups", "2", *BY, "--ratio", "a", "b"], ["--groups 2", "--ratio"]),
    ],
)
def test_dependent_records_are_refused_before_the_charge(
    visits: Path, tmp_path: Path, words: list[str], names: list[str]
) -> None:
    ledger = tmp_path / "ledger.db"
    run("budget", "init", "team", "--ledger", ledger, "--epsilon", "1")
    words = [*words, "--budget", "team", "--ledger", str(ledger)]
    found = run("mean", visits, "x", *ASK, *words, "--population")
    assert (found.returncode, found.stdout) == (2, "")
    assert all(name in found.stderr for name in [*names, "--population", "independent draws"])
    assert hg.Budget(ledger, "team").balance().spent.epsilon == 0
    assert run("mean", visits, "x", *ASK, *words).returncode == 0


@pytest.mark.parametrize("words", [["--rows", "1"], ["--groups", "2", *BY], []])
def test_persons_who_count_once_are_a_sample(visits: Path, words: list[str]) -> None:
    assert "of the population" in told(visits, "x", *ASK, "--person", "id", *words)


@pytest.mark.parametrize("words", [["sum", "x", *ASK], ["count", "--epsilon", "1"]])
def test_sums_and_counts_have_no_such_option(visits: Path, words: list[str]) -> None:
    found = run(words[0], visits, *words[1:], "--population")
    assert found.returncode == 2
    assert "--population" in found.stderr


@pytest.mark.slow
def test_a_plan_says_what_its_margin_rests_on() -> None:
    ask = ["plan", "--bounds", "0", "1", "--epsilon", "1", "--error", "0.05", "--population"]
    assert "(hourglass; from the bounds alone)" in run(*ask).stdout
    assert "(hourglass; for yes/no values)" in run(*ask, "--whole").stdout
