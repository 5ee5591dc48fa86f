"""The owner's file: what is right is read, what is wrong is told with its line."""

from __future__ import annotations

import re
import shutil
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hourglass.cli import main
from hourglass.errors import OptionError
from hourglass.ledger import Amount, create_budget
from hourglass.serve.checking import check
from hourglass.serve.lines import lines_of
from hourglass.serve.reading import CatalogueError, read_catalogue, read_text
from hourglass.serve.service import load
from hourglass.serve.tokens import HASH, hashed, matching, token
from tests.serve.support import Place

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT = (EXAMPLES / "catalogue.toml").read_text()
LINES = TEXT.split("\n")


def problems(text: str) -> list[tuple[int | None, str]]:
    try:
        read_text(text, EXAMPLES / "catalogue.toml")
    except CatalogueError as error:
        return [(each.line, f"{each.where}: {each.what}") for each in error.problems]
    return []


def test_the_example_says_what_it_seems_to() -> None:
    found = read_catalogue(EXAMPLES / "catalogue.toml")
    visits = found.datasets["visits"]
    assert visits.columns["visits"].bounds == (0, 40)
    assert visits.groupings["health"].keys == ("excellent", "good", "fair", "poor")
    assert visits.epsilons[0] == Fraction(1, 50)
    budget = found.budgets["visits-2026"]
    assert budget.allowance_of("analyst") == Amount(Fraction(2))
    assert budget.allowance_of("owner") == Amount(Fraction(3))
    assert found.settings.refresh == 86400


KEYS = [n for n, line in enumerate(LINES) if re.match(r"[a-z_]+ = ", line)]


@pytest.mark.parametrize("number", KEYS, ids=lambda n: f"{n + 1}-{LINES[n].split(' =')[0]}")
@pytest.mark.parametrize("value", ["{ odd = 1 }", "-1", '"\\u0000"', "[[], {}]", "1979-05-27"])
def test_a_wrong_value_is_told_with_its_line(number: int, value: str) -> None:
    """Whatever stands in the place of a value: good, or a problem in that very line."""
    name = LINES[number].split(" =")[0]
    changed = [*LINES[:number], f"{name} = {value}", *LINES[number + 1 :]]
    found = problems("\n".join(changed))
    assert not found or number + 1 in [line for line, _ in found], found
    if value == "{ odd = 1 }":
        assert found


@pytest.mark.parametrize("number", KEYS, ids=lambda n: f"{n + 1}-{LINES[n].split(' =')[0]}")
def test_a_misspelt_name_is_told_with_its_line(number: int) -> None:
    name = LINES[number].split(" =")[0]
    if name == "owner":
        return  # a person's name, which is not known either: see below
    changed = [*LINES[:number], LINES[number].replace(name, f"{name}x", 1), *LINES[number + 1 :]]
    told = [words for line, words in problems("\n".join(changed)) if line == number + 1]
    assert any("is not known here" in words and name in words for words in told), told


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("owner = 3  ", "petra = 3  ", "petra: is not in [people]"),
        ('budget = "visits-2026"', 'budget = "visits"', "there is no [budgets] table"),
        ("bounds = [0, 40]", "bounds = [40, 0]", "bounds = [40, 0]: the lower bound is above the"),
        ("bounds = [0, 40]", "bounds = [40]", "takes a pair of numbers, such as bounds = [0, 100]"),
        ("bounds = [0, 40]", 'bounds = ["0", "40"]', "give numbers, as in bounds = [0, 100]"),
        ('roles = ["analyst"]', 'roles = ["analist"]', "did you mean 'analyst'?"),
        ('"127.0.0.1:8420"', '"0.0.0.0:8420"', "can be reached from other machines"),
        ('"127.0.0.1:8420"', '"localhost"', "takes an address and a port"),
        (
            'together = [["visits", "coinsurance"]]',
            'together = [["a", "b"]]',
            "'a' is not a column",
        ),
        ("typical = 3", "typical = 300", "outside the bounds"),
        ('"coinsurance = 0"', '"coinsurance >"', "where"),
        ('"coinsurance = 0"', '"coinsurance IN (SELECT 1)"', "where"),
        ('refresh = "1d"', 'refresh = "daily"', "takes a span"),
        ("epsilon = 5 ", "epsilon = 0 ", "outside (0, 10000]"),
        ('"visits.ledger"', '"postgresql://${NO_SUCH_THING}@db"', "NO_SUCH_THING is not set"),
        ('roles = ["owner", "analyst"]', 'roles = ["analyst"]', "nobody is an owner"),
        ("[datasets.visits.columns.visits]", "[datasets.visits.columns.visits", "not TOML"),
    ],
)
def test_what_is_wrong_is_told(old: str, new: str, words: str) -> None:
    assert old in TEXT
    line = TEXT[: TEXT.index(old)].count("\n") + 1
    found = problems(TEXT.replace(old, new, 1))
    assert any(words in told for _, told in found), found
    if words != "nobody is an owner":
        assert line in [number for number, _ in found]


def test_the_unit_of_a_column_is_refused_with_the_remedy() -> None:
    """A unit is whose presence is hidden; what a column is measured in has a name of its own."""
    visits = read_text(TEXT, EXAMPLES / "catalogue.toml").datasets["visits"]
    assert visits.columns["visits"].measured_in == "visits a year"
    old = TEXT.replace('measured_in = "visits a year"', 'unit = "visits a year"')
    ((line, told),) = problems(old)
    assert line == old[: old.index('unit = "visits a year"')].count("\n") + 1
    assert "whose presence is hidden" in told
    assert "write measured_in" in told


def test_all_problems_are_told_at_once() -> None:
    broken = TEXT.replace("[0, 40]", "[40, 0]").replace('"1d"', '"daily"')
    lines = [line for line, _ in problems(broken)]
    assert len(lines) == 2
    assert lines == sorted(lines, key=lambda line: line or 0)


def test_lines_of_values_that_go_on() -> None:
    text = '[a]\nb = """\nc = 1\n[d]\n"""\n"e f".g = [\n  1,\n  2]\n[[h]]\ni = 1 # x = 2\n'
    assert lines_of(text) == {
        ("a",): 1, ("a", "b"): 2, ("a", "e f"): 6, ("a", "e f", "g"): 6, ("h",): 9, ("h", "i"): 10,
    }  # fmt: skip


def test_the_environment_fills_in_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER_PASSWORD", "s3cret")
    text = TEXT.replace('"visits.ledger"', '"postgresql://gateway:${LEDGER_PASSWORD}@db/ledger"')
    found = read_text(text, EXAMPLES / "catalogue.toml")
    assert found.budgets["visits-2026"].ledger == "postgresql://gateway:s3cret@db/ledger"
    assert "s3cret" not in repr(found)


def test_tokens_are_known_by_their_hash(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "token"])
    printed = capsys.readouterr().out
    secret, line = re.findall(r"^    (.+)$", printed, re.MULTILINE)
    assert line == f'token = "{hashed(secret)}"'
    assert HASH.fullmatch(hashed(secret))
    assert len({token() for _ in range(100)}) == 100
    pairs = [("ana", hashed("a")), ("ben", hashed("b"))]
    assert (matching("a", pairs), matching("b", pairs), matching("c", pairs)) == (
        "ana",
        "ben",
        None,
    )


def test_a_new_catalogue_needs_data_and_a_budget_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*command: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as stopped:
            main(["serve", *command])
        streams = capsys.readouterr()
        return int(stopped.value.code or 0), streams.out + streams.err

    assert run("new")[0] == 0
    path = tmp_path / "catalogue.toml"
    text = path.read_text()
    assert run("new") == (2, "hourglass: 'catalogue.toml' already exists; name another file\n")
    assert run("new", "none/here.toml")[0] == 2
    assert path.read_text() == text

    def problems_now() -> list[tuple[str, ...]]:
        return re.findall(r"^catalogue\.toml:(\d+): ([a-z.-]+): ", run("check", path.name)[1], re.M)

    def line(words: str) -> str:
        return str(text[: text.index(words)].count("\n") + 1)

    budget = (line("[budgets"), "budgets.our-budget")
    assert problems_now() == [budget, (line("source ="), "datasets.our-data.source")]
    (tmp_path / "data.parquet").write_bytes((EXAMPLES / "visits.parquet").read_bytes())
    columns = (line("[datasets.our-data.columns"), "datasets.our-data.columns.amount")
    groups = (line("[datasets.our-data.groups"), "datasets.our-data.groups.region")
    assert problems_now() == [budget, columns, groups]
    create_budget(str(tmp_path / "budget.ledger"), "our-budget", epsilon=5)
    good = text.replace("columns.amount", "columns.visits").replace(
        "groups.region", "groups.health"
    )
    path.write_text(good)
    assert run("check", path.name)[0] == 0


@pytest.mark.slow
def test_check_names_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(EXAMPLES / "visits.parquet", tmp_path)
    path = tmp_path / "catalogue.toml"
    path.write_text(
        TEXT.replace("columns.coinsurance]", "columns.coinsurence]").replace(
            '[["visits", "coinsurance"]]', "[]"
        )
    )

    def run() -> tuple[int, str]:
        with pytest.raises(SystemExit) as stopped:
            main(["serve", "check", str(path)])
        streams = capsys.readouterr()
        return int(stopped.value.code or 0), streams.out + streams.err

    code, said = run()
    assert code == 2
    assert "coinsurence" in said
    assert "hourglass budget init visits-2026 --epsilon 5" in said
    path.write_text(TEXT)
    create_budget(str(tmp_path / "visits.ledger"), "visits-2026", epsilon=4)
    code, said = run()
    assert code == 2
    assert "made with epsilon 4" in said
    path.write_text(TEXT.replace("epsilon = 5", "epsilon = 4"))
    assert run() == (
        0,
        "visits: 30 questions, budget visits-2026\n"
        "people: owner (analyst, owner, no token yet), analyst (analyst, no token yet)\n"
        "The catalogue is good.\n",
    )


def test_check_speaks_of_entries_of_the_catalogue(tmp_path: Path) -> None:
    """Not of arguments of Python calls, which an owner never makes."""
    data = pa.table({"x": [1.0], "word": ["a"], "id": ["p"]})
    pq.write_table(data, tmp_path / "t.parquet")
    (tmp_path / "t.duckdb").write_bytes(bytes(8) + b"DUCK" + bytes(4096))
    create_budget(str(tmp_path / "b.db"), "b", epsilon=1)
    text = """
[budgets.b]
ledger = "b.db"
epsilon = 1
[datasets.d]
source = "t.parquet"
budget = "b"
[datasets.d.unit]
person = "id"
[datasets.d.columns.x]
bounds = [0, 1]
[datasets.d.groups.word]
keys = ["a"]
[people.o]
roles = ["owner", "analyst"]
"""
    for old, new, where, told in [
        ("columns.x]", "columns.y]", "columns.y", "'y': the table has no such column; "),
        ("columns.x]", "columns.word]", "columns.word",
         'declare that with parse = "real" or parse = "integer"'),
        ("groups.word]", "groups.wort]", "groups.wort",
         "the table has no such column; did you mean 'word'?"),
        ('person = "id"', 'person = "ID"', "unit.person",
         "'ID': the table has no such column; did you mean 'id'?"),
        ("t.parquet", "t.duckdb", "source",
         f'is a database; write source = "duckdb:///{tmp_path / "t.duckdb"}" and table = "...", '
         "the name of a table in it"),
    ]:  # fmt: skip
        (tmp_path / "c.toml").write_text(text.replace(old, new))
        with pytest.raises(CatalogueError) as caught:
            check(tmp_path / "c.toml")
        (found,) = caught.value.problems
        assert found.where == f"datasets.d.{where}"
        assert told in found.what
        assert "hg." not in found.what


def test_a_catalogue_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        read_catalogue(tmp_path / "none.toml")


TLS = '[serve.tls]\ncertificate = "c"\nkey = "k"\n'
PROXY = '[serve.proxy]\naddresses = ["10.0.0.1"]\n'


@pytest.mark.slow
def test_a_reload_keeps_what_the_service_was_started_with(tmp_path: Path) -> None:
    """Its socket stays, and browsers would drop a cookie for https that came by http."""
    for name in "ck":
        (tmp_path / name).touch()
    place = Place(tmp_path, str(tmp_path / "budget.db"))
    service, text = place.service(), place.text()
    before = service.state.catalogue.settings
    other = text.replace('title = "Test"', 'title = "Other"\njournal = "other"', 1)
    place.path.write_text(f"{other.replace('127.0.0.1', '0.0.0.0')}\n{TLS}")
    fresh = read_catalogue(place.path)
    assert (fresh.settings.host, fresh.settings.secure) == ("0.0.0.0", True)
    after = load(fresh, service.state).catalogue.settings
    assert (after.host, after.port, after.tls) == (before.host, before.port, None)
    assert (after.journal, after.title) == (before.journal, "Other")
    assert not after.secure


@pytest.mark.slow
def test_a_reload_exposes_nothing(tmp_path: Path) -> None:
    """Without its proxy, a service that listens everywhere would go on without encryption."""
    place = Place(tmp_path, str(tmp_path / "budget.db"))
    text = place.text()
    place.path.write_text(f"{text.replace('127.0.0.1', '0.0.0.0')}\n{PROXY}")
    service = place.service()
    place.path.write_text(text)
    with pytest.raises(OptionError, match="nothing would be encrypted; keep"):
        load(read_catalogue(place.path), service.state)
