"""hourglass mean, bounds and plan, as a person types them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

import duckdb
import matplotlib
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer.main

import hourglass as hg
from hourglass.cli import app
from hourglass.cli.examples import EXAMPLES
from hourglass.cli.output import as_options, check_targets
from hourglass.errors import OptionError

from .running import ASK, run, spawn


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "visits.parquet"
    table = {"x": [float(i % 10) for i in range(900)], "g": ["n", "s", "e"] * 300}
    pq.write_table(pa.table({**table, "u": [i // 2 for i in range(900)]}), path)
    return path


@pytest.mark.slow
def test_a_table_a_chart_and_every_format(visits: Path, tmp_path: Path) -> None:
    groups = ["--by", "g", "--keys", "n,s,west"]
    told = run("mean", visits, "x", *ASK, *groups, "--plot", tmp_path / "chart.png")
    assert told.returncode == 0, told.stderr
    assert told.stderr == ""
    assert "95 % from" in told.stdout
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    answer = json.loads(run("mean", visits, "x", *ASK, *groups, "--format", "json").stdout)
    assert [group["g"] for group in answer["groups"]] == ["n", "s", "west"]
    rows = list(csv.DictReader(io.StringIO(run("mean", visits, "x", *ASK, *groups,
                                               "--format", "csv").stdout)))  # fmt: skip
    assert float(rows[0]["mean_low"]) <= float(rows[0]["mean"]) <= float(rows[0]["mean_high"])
    yaml = run("mean", visits, "x", *ASK, *groups, "--format", "yaml").stdout
    assert 'by: ["g"]' in yaml
    assert '  - g: "n"' in yaml
    out = tmp_path / "answer.parquet"
    assert (
        run("mean", visits, "x", *ASK, *groups, "--format", "parquet", "--output", out).stdout == ""
    )
    columns = [name for name, *_ in duckdb.connect().execute(f"DESCRIBE FROM '{out}'").fetchall()]
    assert columns[:4] == ["g", "mean", "sum", "count"]


def test_one_answer_in_every_format(visits: Path) -> None:
    assert json.loads(run("mean", visits, "x", *ASK, "--format", "json").stdout)["unit"] == "row"
    assert run("mean", visits, "x", *ASK, "--format", "csv").stdout.startswith("mean,sum,count")
    assert "noisy_totals:\n  cells: " in run("mean", visits, "x", *ASK, "--format", "yaml").stdout
    once = run("mean", visits, "x", *ASK, "--person", "u", "--rows", "2")
    assert "one person (up to 2 rows of each u count)" in " ".join(once.stdout.split())


@pytest.mark.slow
def test_bounds_go_from_one_command_to_the_next(visits: Path, tmp_path: Path) -> None:
    found, claim = tmp_path / "found.json", tmp_path / "claim.yaml"
    asked = run("bounds", visits, "x", "--epsilon", "0.3", "--format", "json", "--output", found)
    assert asked.returncode == 0, asked.stderr
    told = run("mean", visits, "x", "--epsilon", "1", "--bounds-from", found, "--statement", claim)
    assert told.returncode == 0, told.stderr
    assert "found privately, for an epsilon of 0.3" in claim.read_text()
    neither = run("mean", visits, "x", "--epsilon", "1")
    both = run("mean", visits, "x", *ASK, "--bounds-from", found)
    assert (neither.returncode, both.returncode) == (2, 2)
    assert "either --bounds LOWER UPPER or --bounds-from FILE" in neither.stderr
    assert neither.stderr == both.stderr
    other = run("mean", visits, "x", "--epsilon", "1", "--bounds-from", claim)
    assert other.returncode == 2
    assert "cannot be read (JSONDecodeError); give a file that" in other.stderr


def test_nothing_that_is_read_is_written_over(visits: Path, tmp_path: Path) -> None:
    copy, linked = tmp_path / "t.parquet", tmp_path / "l.parquet"
    copy.write_bytes(visits.read_bytes())
    linked.symlink_to(copy)
    keys = tmp_path / "keys.txt"
    keys.write_text("n")
    asked: list[tuple[Path, list[str | Path]]] = [
        (copy, ["--output", copy]),
        (copy, ["--statement", linked]),
        (tmp_path / "t*.parquet", ["--output", copy]),
        (copy, ["--by", "g", "--keys-from", keys, "--output", keys]),
        (copy, ["--output", tmp_path / "new", "--statement", tmp_path / "new"]),
    ]
    for source, more in asked:
        told = run("mean", source, "x", *ASK, *more)
        assert told.returncode == 2
        assert "is read by this command" in told.stderr or "name the same file" in told.stderr
    told = run("bounds", copy, "x", "--epsilon", "1", "--output", linked)
    assert told.returncode == 2
    assert "is read by this command" in told.stderr
    assert copy.read_bytes() == visits.read_bytes()
    assert keys.read_text() == "n"
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_a_picture_of_names_with_dollars(tmp_path: Path) -> None:
    names = ["$10-$20", "$\\foo$", "_^{"] * 300
    pq.write_table(pa.table({"$x^": [1.0] * 900, "g": names}), tmp_path / "t.parquet")
    groups = ["--by", "g", "--delta", "1e-6", "--plot", str(tmp_path / "t.png")]
    told = run("mean", tmp_path / "t.parquet", "$x^", *ASK, *groups)
    assert told.returncode == 0, told.stderr
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_title_of_a_picture_is_that_of_the_answer(visits: Path, tmp_path: Path) -> None:
    groups = ["--by", "g", "--by", "u", "--delta", "1e-6", "--plot", str(tmp_path / "t.svg")]
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        told = run("mean", visits, "x", *ASK, *groups)
    assert told.returncode == 0, told.stderr
    assert "Private mean of x by g and u" in (tmp_path / "t.svg").read_text()


@pytest.mark.slow
def test_a_terminal_that_lacks_characters(visits: Path) -> None:
    told = run("mean", visits, "x", *ASK, encoding="ascii")
    assert told.returncode == 0, told.stderr
    assert "-----  " in told.stdout
    groups = ["--by", "g", "--keys", "n,none", "--outside", "1/10"]
    told = run("mean", visits, "x", *ASK, *groups, encoding="ascii")
    assert "<= " in told.stdout
    assert "?" not in told.stdout
    groups = ["--by", "g", "--keys", "zürich", "--format", "json"]
    told = run("mean", visits, "x", *ASK, *groups, encoding="ascii")
    assert json.loads(told.stdout)["groups"][0]["g"] == "zürich"
    asked: list[Any] = ["mean", visits, "x", *ASK, "--by", "g", "--keys", "zürich"]
    whole = spawn(*asked, PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert whole.returncode == 0, whole.stderr
    assert b"-----  " in whole.stdout


@pytest.mark.slow
def test_keys_that_were_meant_as_a_file(visits: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text("n")
    told = run("mean", visits, "x", *ASK, "--by", "g", "--keys", keys)
    assert told.returncode == 2
    assert "is a file; give it as --keys-from" in told.stderr
    told = run("mean", visits, "x", *ASK, "--by", "g", "--keys", "n,")
    assert told.returncode == 2
    assert "contains an empty name" in told.stderr
    many = ",".join(f"{'group' * 100} {i}" for i in range(20))  # too long for a file name
    assert run("mean", visits, "x", *ASK, "--by", "g", "--keys", many).returncode == 0


def test_explain_prints_sql_and_reads_nothing(visits: Path) -> None:
    told = run("mean", visits, "x", *ASK, "--explain")
    assert told.returncode == 0
    assert told.stdout.startswith("-- the column is read, and NumPy aggregates it")
    assert told.stdout.endswith(')\nSELECT "x" FROM source\n')
    told = run("mean", visits, "x", *ASK, "--by", "g", "--delta", "1e-6", "--explain")
    assert told.stdout.startswith("WITH source AS")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["y", *ASK], "no such column"),
        (["x", "--bounds", "9", "0", "--epsilon", "1"], "lower bound is above"),
        (["x", "--bounds", "a", "9", "--epsilon", "1"], "is not a number"),
        (["x", "--bounds", "0", "9", "--epsilon", "-1"], "epsilon"),
        (["x", *ASK, "--by", "g"], "--keys"),
        (["x", *ASK, "--format", "xml"], "--format 'xml'"),
        (["x", *ASK, "--format", "parquet"], "--output"),
        (["x", *ASK, "--output", "/no/such/folder/a.csv"], "cannot be written"),
        (
            ["x", *ASK, "--by", "g", "--by", "G", "--format", "parquet", "--output", "a"],
            "than case",
        ),
        (["x", *ASK, "--by", "g", "--keys", "n", "--plot", "/no/such/a.png"], "cannot be written"),
        (["x", *ASK, "--by", "g", "--keys", "n", "--plot", "a.gif"], "must end in one of"),
        (["x", *ASK, "--table", "t"], "applies to databases"),
        (["x", *ASK, "--rows", "2"], "--person"),
        (["x", *ASK, "--master", "local"], "--engine spark"),
        (["x", *ASK, "--by", "g", "--keys", "n", "--keys-from", "k.txt"], "not both"),
    ],
)
def test_a_bad_request_is_exit_code_2(visits: Path, words: list[str], told: str) -> None:
    found = run("mean", visits, *words)
    assert found.returncode == 2
    assert found.stdout == ""
    assert told in found.stderr


@pytest.mark.parametrize("more", [[], ["--table", "t"], ["--multiline"]])
@pytest.mark.parametrize("url", ["mysql://u:secret@x/y", "https://host/a.csv", "s3://bucket/a.csv"])
def test_a_url_that_cannot_be_read(url: str, more: list[str]) -> None:
    found = run("mean", url, "x", *ASK, *more)
    assert (found.returncode, found.stdout) == (2, "")
    assert "is a URL that cannot be read: databases have URLs that begin with" in found.stderr
    assert "postgresql://, duckdb:/// or sqlite:///, for --table" in found.stderr
    assert "secret" not in found.stderr


def test_a_source_that_fails_is_exit_code_4() -> None:
    found = run("mean", "postgresql://127.0.0.1:1/db", "x", *ASK, "--table", "t")
    assert found.returncode == 4
    assert "cannot be reached" in found.stderr


def test_a_checked_output_is_left_as_it_was(visits: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert run("mean", visits, "nope", *ASK, "--output", out).returncode == 2
    assert not out.exists()
    out.write_text("kept")
    assert run("mean", visits, "nope", *ASK, "--output", out).returncode == 2
    assert out.read_text() == "kept"


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.json", b"{"),
        ("a.CSV", b"mean,sum"),
        ("a.parquet", b"PAR1"),
        ("a.pq", b"PAR1"),
        ("a.yml", b"mean: "),
        ("a.yaml", b"mean: "),
        ("a.txt", b" "),
        ("a", b" "),
    ],
)
def test_the_ending_of_a_file_is_its_format(
    visits: Path, tmp_path: Path, name: str, start: bytes
) -> None:
    found = run("mean", visits, "x", *ASK, "--output", tmp_path / name)
    assert (found.returncode, found.stdout) == (0, ""), found.stderr
    content = (tmp_path / name).read_bytes()
    assert content.startswith(start), content[:20]


def test_the_format_of_found_bounds_is_that_of_their_file(visits: Path, tmp_path: Path) -> None:
    words: list[str | Path] = [
        "bounds",
        visits,
        "x",
        "--epsilon",
        "1",
        "--scale",
        "0,9",
        "--output",
    ]
    assert run(*words, tmp_path / "b.json").returncode == 0
    assert len(json.loads((tmp_path / "b.json").read_text())["bounds"]) == 2
    refused = run(*words, tmp_path / "b.csv")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "ends in .csv, but this command writes table or json" in refused.stderr


def test_a_format_that_contradicts_the_file_is_refused_first(visits: Path, tmp_path: Path) -> None:
    ledger, out = tmp_path / "budget.db", tmp_path / "a.json"
    hg.create_budget(ledger, "b", epsilon=1)
    words: list[str | Path] = [
        "mean",
        visits,
        "x",
        *ASK,
        "--budget",
        "b",
        "--ledger",
        ledger,
        "--output",
        out,
    ]
    refused = run(*words, "--format", "csv")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"--format 'csv' contradicts --output '{out}', which ends in .json" in refused.stderr
    assert not hg.Budget(ledger, "b").history()
    assert not out.exists()
    assert run(*words, "--format", "json").returncode == 0


@pytest.mark.slow
def test_bounds(visits: Path) -> None:
    told = run("bounds", visits, "x", "--epsilon", "2")
    assert told.returncode == 0, told.stderr
    assert told.stderr == ""
    assert "found at a cost of epsilon 2." in told.stdout
    own = ["--scale", "-4,0,2.5,9,40", "--format", "json"]
    answer = json.loads(run("bounds", visits, "x", "--epsilon", "2", *own).stdout)
    assert set(answer["bounds"]) <= {-4, 0, 2.5, 9, 40}
    assert answer["private"] is True
    person = json.loads(
        run("bounds", visits, "x", "--epsilon", "2", "--person", "u", "--rows", "2", *own).stdout
    )
    assert person["unit"] == "person (u: up to 2 rows)"
    explained = run("bounds", visits, "x", "--epsilon", "2", "--explain")
    assert explained.stdout.startswith("-- the column is read, and NumPy aggregates it")


def test_a_scale_from_a_file_and_an_answer_to_a_file(visits: Path, tmp_path: Path) -> None:
    (tmp_path / "scale.txt").write_text("0\n\n2.5\n9\n")
    out = tmp_path / "bounds.json"
    words: list[str | Path] = [
        "--scale-from",
        tmp_path / "scale.txt",
        "--format",
        "json",
        "--output",
        out,
    ]
    told = run("bounds", visits, "x", "--epsilon", "2", *words)
    assert (told.returncode, told.stdout) == (0, "")
    assert set(json.loads(out.read_text())["bounds"]) <= {0, 2.5, 9}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["y", "--epsilon", "1"], 2, "no such column"),
        (["x", "--epsilon", "0"], 2, "epsilon"),
        (["x", "--epsilon", "1", "--share", "2"], 2, "share"),
        (["x", "--epsilon", "1", "--scale", "1,a"], 2, "is not a number"),
        (["x", "--epsilon", "1", "--scale", "2,1"], 2, "increasing order"),
        (["x", "--epsilon", "1", "--scale", "1,2", "--scale-from", "a.txt"], 2, "not both"),
        (["x", "--epsilon", "1", "--scale-from", "/no/such.txt"], 2, "cannot be read"),
        (["x", "--epsilon", "1", "--format", "csv"], 2, "--format 'csv'"),
        (["x", "--epsilon", "1", "--output", "/no/such/folder/a"], 2, "cannot be written"),
        (["x", "--epsilon", "1", "--rows", "2"], 2, "--person"),
        (["x", "--epsilon", "1", "--table", "t"], 2, "applies to databases"),
        (["x", "--epsilon", "1", "--master", "local"], 2, "--engine spark"),
        (["x"], 2, "epsilon"),
    ],
)
def test_bad_requests_for_bounds(visits: Path, words: list[str], code: int, told: str) -> None:
    found = run("bounds", visits, *words)
    assert found.returncode == code
    assert found.stdout == ""
    assert told in found.stderr


def test_bounds_of_a_source_that_fails() -> None:
    words = ["postgresql://127.0.0.1:1/db", "x", "--epsilon", "1", "--table", "t"]
    assert run("bounds", *words).returncode == 4


def test_plan() -> None:
    told = run("plan", "--bounds", "0", "120", "--records", "10000", "--epsilon", "1")
    assert told.returncode == 0
    assert told.stdout.splitlines()[2].startswith("hourglass")
    found = run("plan", "--bounds", "0", "120", "--records", "10000", "--error", "0.5")
    assert "epsilon 0.0" in found.stdout
    assert run("plan", "--bounds", "0", "120").returncode == 2
    both = run("plan", "--bounds", "0", "9", "--records", "9", "--epsilon", "1", "--error", "0.5")
    assert (both.returncode, both.stdout) == (2, "")
    assert "--error with either --epsilon or --records" in both.stderr
    assert run("plan", "--bounds", "0", "1.5", "--records", "5", "--epsilon", "1",
               "--whole").returncode == 2  # fmt: skip


@pytest.mark.parametrize("more", [[], ["--columns", "3"], ["--columns", "3", "--outside", "1/10"]])
def test_a_plan_says_what_its_error_is(more: list[str]) -> None:
    words = ["plan", "--bounds", "0", "100", "--records", "10000", "--epsilon", "1", *more]
    told = " ".join(run(*words).stdout.split())
    assert "root mean squared error that the noise causes, for the mean that is hardest" in told
    told = " ".join(run(*words, "--at-mean", "50").stdout.split())
    assert "noise causes, for a mean of 50, in the units" in told
    told = run("plan", "--bounds", "0", "9", "--records", "999", "--error", "0.5").stdout
    assert "the mean that is hardest to estimate" in " ".join(told.split())


def test_a_plan_for_columns_and_values_outside() -> None:
    words = ["plan", "--bounds", "0", "100", "--records", "10000", "--epsilon", "1"]
    row = run(*words, "--columns", "3", "--outside", "1/10").stdout.splitlines()[2]
    error = hg.accuracy.expected_error(10_000, (0, 100), 1, columns=3, outside="1/10")
    assert row.split()[:2] == ["together", f"{error:.4f}"]
    assert "--spread works only" in run(*words, "--columns", "3", "--spread").stderr
    refused = run(*words, "--confidence", "0.5")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "add --population" in refused.stderr


def test_every_option_is_documented() -> None:
    """Each option has a help text, and is on the tutorial's or the command line's page."""
    import typer.main

    from hourglass.cli import app

    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    command = typer.main.get_command(app)
    for name in ("mean", "sum", "count", "bounds", "plan"):
        section = page.partition(f"## hourglass {name}\n")[2].partition("\n## ")[0]
        for option in command.commands[name].params:  # type: ignore[attr-defined]
            assert getattr(option, "help", None), f"{name}: {option.name} has no help"
            shown = option.opts[0] if option.opts[0].startswith("-") else option.name.upper()
            assert f"`{shown}" in section, f"{name}: {shown} is not in docs/command-line.md"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--bounds-of", "x", "9", "0", "--bounds-of", "u", "0", "9"], "--bounds-of 'x' 9 0:"),
        (["--bounds", "9", "0", "--bounds-of", "u", "0", "9"], "--bounds 9 0:"),
        (["--bounds", "9", "0"], "--bounds 9 0:"),
    ],
)
def test_reversed_bounds_are_told_by_their_option(
    words: list[str], told: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"x": [1.0], "u": [2.0]}), tmp_path / "t.parquet")
    found = run("mean", tmp_path / "t.parquet", "x", "u", "--epsilon", "1", *words)
    assert found.returncode == 2
    assert f"hourglass: {told} the lower bound is above the upper one" in found.stderr


def test_errors_name_command_line_options() -> None:
    for message, told in (
        ("name the column with by=", "name the column with --by"),
        ("by= takes one of keys= (x), delta=.", "--by takes one of --keys (x), --delta."),
        ("bounds=(5, -3.5): lower", "--bounds 5 -3.5: lower"),
        ("column 'a b': bounds=(5, -3.5): lower", "--bounds-of 'a b' 5 -3.5: lower"),
        ("epsilon='-1' is outside", "--epsilon '-1' is outside"),
        ("column='by': no such column", "COLUMN 'by': no such column"),
        ("--output='x' cannot be written", "--output='x' cannot be written"),
        ("column='by=3' is not there", "COLUMN 'by=3' is not there"),
        ("column='a by=3' is not there", "COLUMN 'a by=3' is not there"),
        ("an integer column's own grid=3, by=", "an integer column's own --grid 3, --by"),
        ("data='x' and table='y' of unit='z'", "SOURCE 'x' and --table 'y' of --person 'z'"),
        ("keys='k.txt': there is no such file", "--keys-from 'k.txt': there is no such file"),
        ("keys[1] is text, but", "--keys: name 2 is text, but"),
        ("one of epsilon= and records=, mean=7.0", "one of --epsilon and --records, --at-mean 7.0"),
        ("where, character 3: no", "--where, character 3: no"),
        ("scale is empty; spread=True", "--scale is empty; --spread"),
        ("with trusted=True (--trusted) you", "with --trusted you"),
        ("once, as in scale=[0, 10, 100]", "once, as in --scale 0,10,100"),
        ("scale=hg.public(...)", "--scale hg.public(...)"),
        ("anchor='foo' is not", "--anchor 'foo' is not"),
        ("ledger='b.db' is a file", "--ledger 'b.db' is a file"),
        ("ledger: the location is", "--ledger: the location is"),
        ("ledger 'b.db' does not exist", "ledger 'b.db' does not exist"),
        ("samples=-5 is too few", "--samples -5 is too few"),
        ("bounds: these were found for", "--bounds-from: these were found for"),
        (
            "multiline: data='x' is; without hg.multiline (--multiline)",
            "--multiline: SOURCE 'x' is; without --multiline",
        ),
        ("cast it with hg.sql (--table), as in", "cast it with --table, as in"),
        ("as hg.expression(\"a = 'b'\"); or", "as --expression \"a = 'b'\"; or"),
        ("standby=3, --grid=4", "standby=3, --grid=4"),
    ):
        assert as_options(message) == told


@pytest.mark.slow
def test_the_module_is_the_command() -> None:
    run = [sys.executable, "-m", "hourglass", "--version"]
    told = subprocess.run(run, capture_output=True, text=True, check=True)
    assert told.stdout == f"hourglass {hg.__version__}\n"


# --- help, and errors for programs ---------------------------------------------------------------


@cache
def commands() -> dict[str, Any]:
    root: Any = typer.main.get_command(app)
    inner: Any = root.commands["budget"]
    return {**root.commands, **{f"budget {name}": each for name, each in inner.commands.items()}}


@pytest.mark.parametrize("name", ["", "budget", *sorted({*commands()} - {"audit", "paper"})])
def test_without_any_argument(name: str) -> None:
    """The help, or what is missing. (An audit and the paper need no argument.)"""
    told = run(*name.split())
    assert told.returncode in (0, 2), told.stderr
    assert "Usage: " in told.stdout + told.stderr


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ("n,s", ["n", "s"]),
        (" n , s ", ["n", "s"]),
        ('n,"R&D, Lab"', ["n", "R&D, Lab"]),
        ('5" pipe,"say ""n"""', ['5" pipe', 'say "n"']),
    ],
)
def test_names_with_commas(visits: Path, keys: str, names: list[str]) -> None:
    told = run("mean", visits, "x", *ASK, "--by", "g", "--keys", keys, "--format", "json")
    assert [group["g"] for group in json.loads(told.stdout)["groups"]] == names


@pytest.mark.parametrize("keys", ['n,"s', '"n"s', "n\ns", "n,,s", ""])
def test_lists_of_names_that_are_none(visits: Path, keys: str) -> None:
    told = run("mean", visits, "x", *ASK, "--by", "g", "--keys", keys)
    assert told.returncode == 2
    assert "use --keys-from" in told.stderr


@pytest.mark.parametrize("name", commands())
def test_help_is_for_people(name: str) -> None:
    told = run(*name.split(), "--help").stdout
    assert "<bool>" not in told
    assert all(len(line) <= 200 for line in told.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in commands() if commands()[n].name in EXAMPLES])
def test_examples_in_the_help_are_commands(name: str) -> None:
    """Each parses as the command that it is an example of, and fits a terminal."""
    examples = EXAMPLES[commands()[name].name]
    assert len(examples) == 2
    for example in examples:
        assert all(len(line) < 80 for line in f"   {example}".split("\n")), example
        assert f"   {example}\n" in run(*name.split(), "--help").stdout
        words = shlex.split(example.replace("\\\n", " "))
        words = words[words.index("hourglass") + 1 :]
        assert words[: len(name.split())] == name.split()
        with patch.dict(os.environ, {"HOURGLASS_LEDGER": "ledger.db"}):
            commands()[name].make_context(name, words[len(name.split()) :])


@pytest.mark.parametrize(
    "bounds",
    ["--bounds -60 300", "--bounds=-60,300", "--bounds -60,300", "--bounds=-60 300"],
)
def test_bounds_may_be_written_as_one(tmp_path: Path, bounds: str) -> None:
    (tmp_path / "t.csv").write_text("x\n-60\n300\n" * 50)
    found = run(
        "mean", tmp_path / "t.csv", "x", *bounds.split(), "--epsilon", "60", "--format", "json"
    )
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["bounds"] == [-60, 300]


@pytest.mark.parametrize(
    "bounds", [["--bounds", "-60"], ["--bounds=1"], ["--bounds"], ["--bounds", "1,2,3"]]
)
def test_bounds_that_are_not_two(bounds: list[str]) -> None:
    found = run("mean", "t.csv", "x", *bounds, "--epsilon", "1")
    assert (found.returncode, found.stderr) == (
        2,
        "hourglass: --bounds takes two numbers, as in --bounds -60 300\n",
    )


def test_a_plan_without_bounds_says_what_to_give() -> None:
    found = run("plan", "--records", "10", "--epsilon", "1")
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("hourglass: --bounds is missing; give the public range of the")


@pytest.mark.parametrize(
    ("words", "kind", "code"),
    [
        (["mean", "nowhere.csv", "x", "--bounds", "0", "1", "--epsilon", "1"], "DataError", 2),
        (["mean", "t.csv", "x", "--bounds", "1", "0", "--epsilon", "zero"], "EpsilonError", 2),
        (["mean", "t.csv"], "EpsilonError", 2),
        (["mean"], "MissingParameter", 2),
        (["mean", "t.csv", "x", "--nonsense"], "NoSuchOption", 2),
        (["bounds", "nowhere.csv", "x", "--epsilon", "1"], "DataError", 2),
    ],
)
def test_errors_are_json_where_answers_are(words: list[str], kind: str, code: int) -> None:
    found = run(*words, "--format", "json")
    assert (found.returncode, found.stdout) == (code, "")
    told = json.loads(found.stderr)["error"]
    assert (told["kind"], told["exit_code"], told["notes"]) == (kind, code, [])
    assert told["message"]


@pytest.mark.slow
@pytest.mark.parametrize("words", ["mean {} x --bounds 0 9", "mean {} x u --bounds 0 9", "sum {} x --bounds 0 9", "count {}"])  # fmt: skip # noqa: E501
@pytest.mark.parametrize("groups", ["", "--by g --keys n,s"])
def test_what_is_kept_tells_where_it_is_from(
    visits: Path, tmp_path: Path, words: str, groups: str
) -> None:
    ask = [*words.format(visits).split(), "--epsilon", "1", *groups.split()]
    origin = {
        "source": str(visits),
        "hourglass": hg.__version__,
        "written": "2023-11-14T22:13:20+00:00",
    }
    answer = json.loads(run(*ask, "--format", "json").stdout)
    assert answer["origin"] == origin
    rows = list(csv.DictReader(io.StringIO(run(*ask, "--format", "csv").stdout)))
    run(*ask, "--format", "parquet", "--output", tmp_path / "t.parquet")
    kept = pq.read_table(tmp_path / "t.parquet").to_pylist()
    told = {**origin, "unit": "row", "epsilon": "1", "delta": "0"}
    if "x" in words.split():
        told |= {"column": "x", "lower": "0", "upper": "9"}
    for row in (rows[0], kept[0]):
        assert {name: str(row[name]) for name in told} == told


def test_a_column_of_the_same_name_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,source\n1,a\n2,b\n")
    ask = ["mean", str(tmp_path / "t.csv"), "x", *ASK, "--by", "source", "--keys", "a,b"]
    (row, _) = csv.DictReader(io.StringIO(run(*ask, "--format", "csv").stdout))
    assert (row["source"], row["private_source"]) == ("a", str(tmp_path / "t.csv"))


@pytest.mark.parametrize("epoch", ["", "now", "²", "9" * 30, "-1"])
def test_a_clock_that_is_none_is_not_used(
    visits: Path, monkeypatch: pytest.MonkeyPatch, epoch: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    told = run("mean", visits, "x", *ASK, "--format", "json")
    assert json.loads(told.stdout)["origin"]["written"] > "2024"


def test_an_interruption_is_json_where_answers_are(
    visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(hg, "mean", interrupted)
    told = run("mean", visits, "x", *ASK, "--format", "json")
    assert (told.returncode, told.stdout) == (130, "")
    assert json.loads(told.stderr.splitlines()[-1])["error"]["message"] == "interrupted"


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", ["t.db", "t 1.db", "t%201.db", "a#b?.db"])
def test_no_database_is_written_over(scheme: str, name: str, tmp_path: Path) -> None:
    """However its file is named in the URL."""
    path = tmp_path / name
    path.write_bytes(b"rows")
    with pytest.raises(OptionError, match="is read by this command"):
        check_targets({"output": path}, [f"{scheme}:///{quote(str(path))}"])
    check_targets({"output": tmp_path / "other"}, [f"{scheme}:///{quote(str(path))}"])
    assert path.read_bytes() == b"rows"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["x", *ASK, "--by", "g", "u", "--keys", "n"], "write --by g --by u; else name it next"),
        (["x", *ASK, "--by=g", "u", "--keys", "n"], "write --by g --by u; else name it next"),
        (
            ["x", *ASK, "--by", "g", "--keys", "n", "m o"],
            "as well, write --keys 'n,m o'; else",
        ),
        ([*ASK, "x"], "'x' is taken as a column to average; name it next to the source"),
        (["x", *ASK, "--where", "g", "=", "n"], "--where is followed by several words, of which"),
        (["x", *ASK, "--table", "select", "*"], "put the text in quotation marks, as in --table"),
        (["x", *ASK, "--where", "g", "u"], "'u' is taken as a column to average; name it next to"),
        (["x,u", *ASK], "these are 2 columns; separate them by spaces: x u"),
        (["x,u", "g", *ASK], "'x,u': the table has no such column; these are 2 columns; separate"),
        (["x", *ASK, "--by", "g, u", "--delta", "1e-6"], "2 columns; repeat --by: --by g --by u"),
        (["x", *ASK, "--output", "-"], "--output '-' is not standard output, but a file's name"),
        (["x", "--bounds", "0", "9"], "--epsilon is missing; give the privacy parameter"),
        (["x", *ASK, "--missing", "none"], "--missing 'none' is neither drop nor a number"),
        (["x", "--bounds", "a", "9", "--epsilon", "1"], "--bounds: 'a' is not a number"),
        (
            ["x", "--bounds", "2,000", "9,000", "--epsilon", "1"],
            "'2,000' is not a number; write 2000",
        ),
        (
            ["x", "--bounds", "0", "9,000.5", "--epsilon", "1"],
            "'9,000.5' is not a number; write 9000.5",
        ),
        (
            ["x", "--bounds", "0,5", "9,5", "--epsilon", "1"],
            "'0,5' is not a number; write it like 1",
        ),
        (["x", "--bounds", "0", "9%", "--epsilon", "1"], "'9%' is not a number; write it like 1"),
        (["x", "--bounds", "0,500", "9", "--epsilon", "1"], "'0,500' is not a number; write it"),
        (["x", *ASK, "--rows", "two"], "--rows: 'two' is not a whole number; write it like 1000"),
        (["x", *ASK, "--grid", "1,000"], "--grid: '1,000' is not a whole number; write 1000"),
        (["x", *ASK, "--confidence", "95%"], "--confidence: '95%' is not a number; write it like"),
        (["x", *ASK, "--fewest=2.5"], "--fewest: '2.5' is not a whole number"),
        (["x", "--bounds", "0", "9", "--epsilon", "one"], "such as 1, 0.1 or '1/10'"),
        (["x", *ASK, "--person", "uu"], "--person 'uu': the table has no such column"),
        (["x", *ASK, "--engine", "polars"], "is not one of duckdb, datafusion, spark"),
        (["x", *ASK, "--by", "g", "--keys-from", "no.txt"], "--keys-from 'no.txt': there is no"),
        (["x", *ASK, "--by", "u", "--keys", "1,abc"], "--keys: name 2 is text, but column 'u'"),
        (["x", *ASK, "--by", "g", "--by", "u", "--keys", "n"], "a table with the columns g and u"),
        (["x > 4", *ASK], "For a computed column, give --expression 'x > 4'"),
        (["x", *ASK, "--by", "gg", "--keys", "n"], "--by 'gg': the table has no such column; did"),
        (
            ["x", *ASK, "--by", "g", "--by", "uu", "--delta", "1e-6"],
            "--by 'uu': the table has no such column; did you mean 'u'?",
        ),
        (["x", *ASK, "--by", "g", "--by", "g", "--delta", "1e-6"], "--by 'g' is given twice; name"),
        (["x", "X", *ASK], "COLUMN 'X': the table has no such column; did you mean 'x'?"),
        (["x", "zzzz", *ASK], "such column; the columns are x, g, u"),
        (["x", "zzzz", *ASK, "--expression", "u > 1", "--explain"], "COLUMN 'zzzz': the table"),
        (["x", *ASK, "--where", "zzzz > 1"], "there is no column 'zzzz'; the columns are x, g, u"),
        (["g", *ASK], "one value, ask for an expression such as --expression \"g = 'yes'\""),
    ],
)
def test_what_is_wrong_in_the_words_of_the_command(
    visits: Path, words: list[str], told: str
) -> None:
    found = run("mean", visits, *words)
    assert (found.returncode, found.stdout) == (2, "")
    assert told in found.stderr


@pytest.mark.parametrize(
    "words", ["--bounds 0 9 --epsilon 1 {} x u", "{} --bounds 0 9 --epsilon 1 -- x u"]
)
def test_columns_next_to_the_source_or_after_two_dashes(visits: Path, words: str) -> None:
    assert run("mean", *words.format(visits).split()).returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sum", "x", "u", *ASK], "'u': sum takes one column; hourglass mean with several"),
        (["bounds", "x", "u", "--epsilon", "1"], "'u': bounds takes one column at a time"),
        (["count", "x", "--epsilon", "1"], "'x': count takes no column, since every row counts"),
        (["count", "--epsilon", "1", "--by", "g", "u"], "as well, write --by g --by u"),
    ],
)
def test_a_column_too_many(visits: Path, words: list[str], told: str) -> None:
    name, *rest = words
    found = run(name, visits, *rest)
    assert (found.returncode, found.stdout) == (2, "")
    assert told in found.stderr


@pytest.mark.parametrize("name", ["mean", "sum", "count", "bounds"])
def test_files_that_the_shell_made_of_a_glob(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in place of a column is told from a column, and the glob is written out."""
    monkeypatch.chdir(tmp_path)
    for month in ("01", "02", "12"):
        (tmp_path / f"visits-{month}.csv").write_text("x\n1\n")
    files = ["visits-01.csv", "visits-02.csv", "visits-12.csv"]
    found = run(name, *files, *([] if name == "count" else ["x"]), "--epsilon", "1")
    assert (found.returncode, found.stdout) == (2, "")
    assert "'visits-02.csv' is a second file" in found.stderr
    assert found.stderr.endswith("replacing it: 'visits-*.csv'\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "visits.csv").write_text("x\n1\n")
    found = run(name, "visits-01.csv", "more/visits.csv", "--epsilon", "1")
    assert "'more/visits.csv' is a second file" in found.stderr
    (tmp_path / "x").write_text("not a table")  # a file that has the name of a column
    ask = ["--epsilon", "1"] if name == "bounds" else ASK
    if name != "count":
        assert run(name, "visits-01.csv", "x", *ask, "--explain").returncode == 0


def test_keys_from_a_table_without_the_column(visits: Path, tmp_path: Path) -> None:
    """Neither what the table's columns are nor how a text file is separated is the matter."""
    (tmp_path / "keys.csv").write_text("canary-4711\nn\n")
    found = run("mean", visits, "x", *ASK, "--by", "g", "--keys-from", tmp_path / "keys.csv")
    assert found.returncode == 2
    assert "keys.csv' has no column 'g', which --by names; name its columns as" in found.stderr
    assert "4711" not in found.stderr


def test_a_scale_from_a_file_of_data_is_not_shown(visits: Path, tmp_path: Path) -> None:
    (tmp_path / "scale.txt").write_text("1\n2\ncanary-4711\n")
    found = run("bounds", visits, "x", "--epsilon", "1", "--scale-from", tmp_path / "scale.txt")
    assert found.returncode == 2
    assert "word 3 is not a number" in found.stderr
    assert "4711" not in found.stderr


@pytest.mark.parametrize(
    ("more", "first"),
    [([], "hourglass"), (["--columns", "2"], "together"), (["--spread"], "mean alone")],
)
def test_a_plan_shows_three_digits_and_ratios(more: list[str], first: str) -> None:
    told = run("plan", "--bounds", "0", "100", "--records", "10000", "--epsilon", "1", *more)
    head, _, row, *_ = told.stdout.splitlines()
    assert head.endswith("expected error  relative error")
    assert row.startswith(first)
    assert len(row.split()[-2].lstrip("0.")) == 3
    assert row.endswith(" 1.00")


@pytest.mark.parametrize("name", ["budget init", "audit", "paper", "plan"])
def test_panels_are_for_questions_about_data(name: str) -> None:
    told = run(*name.split(), "--help").stdout
    assert not any(f"─ {panel} ─" in told for panel in ("Question", "Groups", "Budget", "Output"))
    asked = run("mean", "--help").stdout
    assert all(f"─ {panel} ─" in asked for panel in ("Question", "Groups", "Budget", "Output"))


def test_the_help_names_what_an_option_takes() -> None:
    assert "[[" not in run("budget", "show", "--help").stdout
    told = run("mean", "--help").stdout
    assert "<list[str]>" not in told
    assert "SOURCE} [COLUMN]..." in told
    assert re.search(r"--epsilon +NUMBER", told)
    assert "unless --bounds-of covers every column or --bounds-from is given" in told
    for name in ("grant", "revoke"):
        assert "SQLite" not in run("budget", name, "--help").stdout
    assert "hourglass serve new" in run("serve", "new", "--help").stdout.partition("Examples")[2]


def test_a_sum_of_persons_needs_rows(visits: Path) -> None:
    found = run("sum", visits, "x", *ASK, "--person", "u")
    assert found.returncode == 2
    assert "--person 'u' needs --rows" in found.stderr


# --- endings of files, and options given twice ------------------------------------------------


def test_the_ending_of_a_statement_is_its_format(visits: Path, tmp_path: Path) -> None:
    found = {}
    for ending in ("", ".yaml", ".yml", ".json", ".txt"):
        claim = tmp_path / f"claim{ending}"
        told = run("mean", visits, "x", *ASK, "--statement", claim)
        assert told.returncode == 0, told.stderr
        found[ending] = claim.read_text()
    assert found[""] == found[".yaml"] == found[".yml"]
    sentences = found[".txt"].splitlines()
    assert found[".yaml"].startswith(f"# {sentences[0]}\n")
    plain = json.loads(found[".json"])
    assert plain["statement"] == sentences
    assert plain["deployment"]["deployment_model"]["model_name"] == "Central"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--output", "x.foo"],
            "x.foo' ends in .foo, which is not a known format; use the extension",
        ),
        (["--output", "x.xlsx"], ".json, .csv, .parquet, .pq, .yaml, .yml or .txt (a table)"),
        (["--statement", "x.foo"], ".yaml, .yml, .json or .txt (only the sentences)"),
        (["--statement", "x.csv"], "--statement 'x.csv' ends in .csv"),
        (["--plot", "x.foo"], "--plot"),
    ],
)
def test_an_ending_that_stands_for_no_format_is_refused(
    visits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found = run("mean", visits, "x", *ASK, *words)
    assert (found.returncode, found.stdout) == (2, "")
    assert told in found.stderr
    assert not list(tmp_path.glob("x.*"))


def test_a_table_may_go_to_any_text_file(visits: Path, tmp_path: Path) -> None:
    for name, more in (("a", []), ("a.txt", []), ("a.foo", ["--format", "table"])):
        assert run("mean", visits, "x", *ASK, *more, "--output", tmp_path / name).returncode == 0
        assert "Mean of x" in (tmp_path / name).read_text()
    told = run("bounds", visits, "x", "--epsilon", "1", "--output", tmp_path / "b.foo")
    assert told.returncode == 2
    assert "use the extension .json or .txt (a table)" in told.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--where", "x > 1", "--where", "x < 3"], "--where is given twice; join the conditions"),
        (["--epsilon", "2"], "--epsilon is given twice; give it once"),
        (["--bounds", "0", "3"], "--bounds is given twice"),
        (["--by", "g", "--keys", "a", "--keys=b"], "--keys is given twice; give all names in one"),
        (["--missing", "drop", "--missing", "0"], "--missing is given twice"),
    ],
)
def test_an_option_with_one_value_is_given_once(visits: Path, words: list[str], told: str) -> None:
    """The last one used to win: of two filters, the first was silently dropped."""
    found = run("mean", visits, "x", *ASK, *words)
    assert (found.returncode, found.stdout) == (2, "")
    assert told in found.stderr


def test_values_after_an_equals_sign(visits: Path) -> None:
    words = ["--bounds-of=x", "0", "9", "--bounds-of", "u", "0", "450", "--missing-of=u", "0"]
    found = run("mean", visits, "x", "u", "--epsilon", "1", *words, "--format", "json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["columns"]["x"]["bounds"] == [0, 9]


@pytest.mark.parametrize(
    ("cell", "ending", "words", "told"),
    [
        ('"1,234"', "csv", ["mean"], True),
        ("1,234", "tsv", ["sum"], True),
        ("1234", "csv", ["mean"], False),
        ('"1,234"', "csv", ["count"], False),
    ],
)
def test_text_without_numbers_is_explained(
    tmp_path: Path, cell: str, ending: str, words: list[str], told: bool
) -> None:
    """The noisy answer decides, so the hint reveals nothing more."""
    path = tmp_path / f"t.{ending}"
    path.write_text("x\n" + f"{cell}\n" * 300)
    ask = ["--epsilon", "30"]  # at which no count is one off, up to a chance of 1e-12
    found = run(*words, path, *(ask if words == ["count"] else ["x", "--bounds", "0", "9", *ask]))
    assert found.returncode == 0
    assert ("The column is text." in found.stderr) == told


@pytest.mark.parametrize(
    ("words", "having"),
    [
        (["count", "x.csv", "--epsilon", "1", "--bounds", "0", "1"], "mean, sum and plan"),
        (["count", "x.csv", "--epsilon", "1", "--population"], "mean and plan"),
        (["sum", "x.csv", "x", *ASK, "--population"], "mean and plan"),
        (["sum", "x.csv", "x", *ASK, "--ratio", "a", "b"], "mean"),
        (["plan", "--bounds", "0", "1", "--by", "x"], "mean, sum and count"),
    ],
)
def test_an_option_of_another_command_is_refused_with_its_name(
    words: list[str], having: str
) -> None:
    found = run(*words)
    assert (found.returncode, found.stdout) == (2, "")
    option = next(word for word in reversed(words) if word.startswith("--"))
    told = f"hourglass: {option} is an option of hourglass {having}, not of {words[0]}; leave it"
    assert found.stderr.startswith(told), found.stderr


def test_an_option_that_no_command_has() -> None:
    found = run("count", "x.csv", "--epsilon", "1", "--nonsense")
    assert found.returncode == 2
    assert "No such option: --nonsense" in found.stderr
    missing = run("count", "x.csv", "--epsilon")  # an option of its own, and of others
    assert missing.returncode == 2
    assert "--epsilon" in missing.stderr
    assert "is an option of" not in missing.stderr


def test_a_new_budget_is_told_in_words(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    made = run("budget", "init", "team", "--ledger", ledger, "--epsilon", "3", "--delta", "1e-6")
    assert "epsilon 3 and delta 1e-6 in all." in made.stdout
    found = run("budget", "history", "team", "--ledger", ledger)
    assert found.stdout == "Budget team has no charges yet.\n"
    as_json = run("budget", "history", "team", "--ledger", ledger, "--format", "json")
    assert json.loads(as_json.stdout) == []


@pytest.mark.slow
@pytest.mark.parametrize("population", [[], ["--population"]])
@pytest.mark.parametrize("columns", [["x"], ["x", "y"]])
def test_a_table_has_every_group(tmp_path: Path, columns: list[str], population: list[str]) -> None:
    """What is not printed is lost, unless a budget stores it. Caught: the first 60 only."""
    path, count = tmp_path / "t.parquet", 70
    rows = {"g": range(count), "x": [1.0] * count, "y": [2.0] * count}
    pq.write_table(pa.table(rows), path)
    keys = ",".join(map(str, range(count)))
    by = ["--by", "g", "--keys", keys, "--bounds", "0", "9", "--epsilon", "1"]
    found = run("mean", path, *columns, *by, *population)
    assert found.returncode == 0, found.stderr
    names = [line.split()[0] for line in found.stdout.splitlines()[2:] if line.strip()]
    assert [name for name in names if name.isdecimal()] == list(map(str, range(count)))
    assert "more group" not in found.stdout


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ('{"x": 1}\n' * 300, "x", False),
        ('{"x": 1}\n' * 300, "xx", True),
        ('[{"x": 1}, {"x": 2}]\n', "x", True),
        ('{\n  "x": 1\n}\n' * 300, "x", True),
    ],
)
def test_json_that_seems_to_have_no_numbers(
    tmp_path: Path, text: str, column: str, told: bool
) -> None:
    """The noisy answer decides whether that is said; it says nothing else about the file."""
    path = tmp_path / "t.json"
    path.write_text(text)
    found = run("mean", path, column, "--bounds", "0", "9", "--epsilon", "60")
    assert found.returncode == 0, found.stderr
    assert ("In JSON lines, each line is one object" in found.stderr) == told


def test_the_hint_is_about_what_was_asked(tmp_path: Path) -> None:
    """The rule of the chosen --parse; and names in another case."""
    path = tmp_path / "t.csv"
    path.write_text("g,x\n" + "True,1234.5\n" * 300)
    ask = ["x", "--bounds", "0", "9", "--epsilon", "30"]
    found = run("mean", path, *ask, "--parse", "integer")
    assert "a whole number written like 1234 or -6; others, such as 1234.5" in found.stderr
    found = run("mean", path, "g", *ask[1:])
    assert "the share of rows with one value, use --expression" in found.stderr
    for keys, told in (("true,false", True), ("True,False", False)):
        found = run("mean", path, *ask, "--by", "g", "--keys", keys)
        assert ("Names of groups are compared exactly" in found.stderr) == told
