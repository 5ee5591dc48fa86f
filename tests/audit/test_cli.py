"""``hourglass audit`` from the outside: verdict, JSON, exit codes, picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hourglass import HourglassError
from hourglass.audit.searches import TOUCHED
from hourglass.cli import app


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["audit", *arguments])


@pytest.mark.slow
@pytest.mark.xdist_group("audit all")
def test_all_as_json(audited: dict[str, Any]) -> None:
    """All kinds of checks."""
    answer = audited
    assert answer["verdict"] == "holds"
    assert {finding["check"] for finding in answer["findings"]} == {
        "exact",
        "sampler",
        "empirical",
        "grey box",
        "ledger",
    }
    assert all(row["as_it_should_be"] for row in answer["mutants"])
    subjects = [f["subject"] for f in answer["findings"] if f["check"] == "grey box"]
    assert {"hourglass mean (command line)", "bounds of a list", "bounds of a CSV file"} <= {
        *subjects
    }
    assert sum(subject.startswith("CSV file by group") for subject in subjects) == len(TOUCHED)
    for check, least in (("exact", 4), ("sampler", 1), ("empirical", 3), ("grey box", 10)):
        about = [f for f in answer["findings"] if f["check"] == check and "column" in f["subject"]]
        assert len(about) >= least, check


@pytest.mark.slow
def test_exact_as_a_table() -> None:
    result = run("exact", "--epsilon", "1/2", "--grid", "5", "--algorithm", "all")
    assert result.exit_code == 0, result.output
    assert "exact: swap, epsilon 1/2, grid 5" in result.stdout
    assert result.stdout.endswith("The promise holds.\n")


BROKEN = """
def release(values):
    return sum(values)

number = 3
"""


@pytest.mark.slow
def test_a_user_defined_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise the promise is broken: exit code 1, and the chart is still drawn."""
    (tmp_path / "own_release.py").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    options = ("--samples", "2000", "--plot", "audit.png")
    result = run("empirical", "--release", "own_release:release", *options)
    assert result.exit_code == 1, result.output
    assert "BROKEN" in result.stdout
    assert (tmp_path / "audit.png").read_bytes().startswith(b"\x89PNG")
    answer = run("empirical", "--release", "own_release:release", "--delta", "1", *options[:2])
    assert answer.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["everything"], "'everything' is not one of exact"),
        (["exact", "--format", "xml"], "format='xml'"),
        (["exact", "--algorithm", "gauss"], "algorithm='gauss'"),
        (["exact", "--release", "a:b"], "--release works only"),
        (["exact", "--plot", "a.png"], "--plot works only"),
        (["exact", "--epsilon", "nan"], "epsilon='nan'"),
        (["exact", "--grid", "0"], "grid=0"),
        (["empirical", "--release", "no_such_module:f"], "no such function can be imported"),
        (["empirical", "--release", "json"], "no such function can be imported"),
        (["empirical", "--release", "json:decoder"], "is not a function"),
        (["empirical", "--release", "os:getcwd"], "'os:getcwd' failed with TypeError; call it by"),
        (["empirical", "--release", "builtins:str"], "returned a str; it takes a list of numbers"),
        (["empirical", "--release", "math:fsum", "--data", "1,x"], "'1,x' is not a list"),
        (["empirical", "--samples", "3"], "samples=3"),
        (["mutants", "--samples", "3"], "samples=3"),
        (["exact", "--samples", "-5"], "--samples applies to sampling, and the exact audit does"),
        (["greybox", "--samples", "1000"], "hourglass audit empirical"),
    ],
)
def test_bad_requests(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, HourglassError)
    assert result.exception.exit_code == 2
    assert message in str(result.exception)


@pytest.mark.slow
def test_every_row_of_the_empirical_audit_has_a_label_of_its_own() -> None:
    """The same label stood for a record at the lower and at the upper bound."""
    told = run("empirical", "--samples", "400")
    assert told.exit_code == 0, told.output
    rows = [line for line in told.output.splitlines() if line.startswith("empirical: ")]
    assert len(rows) == len(set(rows)) >= 2
    assert "a record at the upper bound" in told.output
    assert "epsilon is at least -" not in told.output
    assert " runs on one dataset, in " in told.output
