"""Groups with secret names: shown above a threshold, paid for with delta, and nothing else told."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest

import hourglass as hg
from hourglass.core.totals import Groups
from hourglass.errors import OptionError
from hourglass.ledger import Amount, Budget
from hourglass.mechanisms.threshold import threshold
from hourglass.noise.bits import SeededBits
from hourglass.serve.catalogue import Column, Dataset, Grouping
from hourglass.serve.holdings import Choice, Holding, register
from hourglass.serve.reading import CatalogueError, read_text

from .support import CANARY, Place, asking, serving

pytestmark = [pytest.mark.attack, pytest.mark.slow]

DELTA = Fraction(1, 10**9)
COSTLY = Fraction(1, 4)


def spent_delta(place: Place) -> Fraction:
    return Budget(place.ledger, "main").balance().spent.delta


# --- which groups are shown -----------------------------------------------------------------


def holding(folder: Path, sizes: dict[str, int], most: int = 50, **options: Any) -> Holding:
    """A dataset whose groups have these sizes; the names are secret."""
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    rows = " UNION ALL ".join(
        f"SELECT '{name}' AS name, i % 11 AS x, (i % 7)::INT AS y FROM range({size}) t(i)"
        for name, size in sizes.items()
    )
    duckdb.sql(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")
    return register(
        Dataset(
            name="d",
            source=str(path),
            budget="b",
            columns={"x": Column("x", (0, 10), spread=True), "y": Column("y", (0, 7))},
            groupings={"name": Grouping(("name",), delta=COSTLY, most=most)},
            together=(("x", "y"),),
            epsilons=(Fraction(1),),
            **options,
        )
    )


def fair(question: Any, kept: Groups) -> bool:
    """Whether exactly those groups are shown that have records and reach the threshold."""
    least = threshold(question.mechanism, question.delta, 1, 1)
    for seed in range(300):
        names, noisy = question.noise(kept, SeededBits(seed))
        drawn = question.mechanism.noise(kept.totals, bits=SeededBits(seed))
        expected = {
            key
            for key, count, size in zip(kept.keys, kept.count, drawn.sizes, strict=True)
            if count > 0 and size >= least
        }
        if set(names) != expected or list(names) != sorted(names) or len(noisy.sizes) != len(names):
            return False
    return True


@pytest.mark.parametrize("columns", [("x",), ("x", "y"), ("x", "spread")], ids="-".join)
def test_a_group_is_shown_from_the_threshold_on(tmp_path: Path, columns: tuple[str, ...]) -> None:
    """Sizes around a threshold below 5; one that is off by one is noticed."""
    found = holding(tmp_path, {"c": 1, "a": 2, "b": 3, "d": 4, "e": 40})
    spread = "spread" in columns
    choice = Choice(tuple(c for c in columns if c != "spread"), "name", spread=spread)
    question = found.question(choice, Fraction(1))
    kept = question.read()
    assert question.threshold == threshold(question.mechanism, COSTLY, 1, 1) < 5
    assert fair(question, kept)
    for wrong in (-1, 1):
        assert not fair(replace(question, threshold=question.threshold + wrong), kept)
    # Noise alone reaches the threshold here and there: what has no records is left out anyway.
    sizes = question.mechanism.noise(kept.totals, bits=SeededBits(0)).sizes
    assert any(size >= question.threshold for size in sizes[5:])


def test_what_is_kept_has_the_same_size_whatever_the_groups(tmp_path: Path) -> None:
    few, many = ({f"g{i}": 3 for i in range(number)} for number in (1, 50))
    shapes = set()
    for sizes in (few, many):
        kept = holding(tmp_path, sizes).question(Choice(("x",), "name"), Fraction(1)).read()
        arrays = [kept.count, *(half for part in kept.halves for half in (part.hi, part.lo))]
        arrays += [column.values for column in kept.keys.columns]
        shapes.add(tuple((len(array), array.dtype) for array in arrays))
    assert len(shapes) == 1
    with pytest.raises(OptionError, match="most=49") as refused:
        holding(tmp_path, many, most=49)
    assert "g4" not in str(refused.value)


def test_persons_raise_the_threshold_as_in_the_library(tmp_path: Path) -> None:
    """Two records of a person in a group, in up to three groups."""
    unit = hg.per_person("y", rows=2, groups=3)
    path = tmp_path / "t.parquet"
    duckdb.sql(f"COPY (SELECT 'a' AS name, 1 AS x, 2 AS y) TO '{path}' (FORMAT parquet)")
    grouping = {"name": Grouping(("name",), delta=DELTA)}
    columns = {"x": Column("x", (0, 10))}
    dataset = Dataset("d", str(path), "b", columns, grouping, unit=unit)
    question = register(dataset).question(Choice(("x",), "name"), Fraction(1))
    assert question.threshold == threshold(question.mechanism, DELTA, 2, 3)
    assert question.threshold > threshold(question.mechanism, DELTA, 1, 1)


def test_a_town_of_one_is_never_named(running: Place) -> None:
    """False alarm: 30 answers, each with a probability of at most 1e-9."""
    gateway = hg.connect(running.url, running.tokens["ana"])
    for number in range(30):
        found = gateway.mean("clinic", "minutes", by="town", epsilon=1, request=f"town-{number}")
        assert set(found) == {"north", "south"}
        assert found.delta == DELTA
    with running.client("ana") as ana:
        pages = [
            ana.get(path).text
            for path in ("/answers/ana/town-0", "/answers/ana/town-0/csv", "/releases/town-0")
        ]
    assert not any(CANARY in text for text in (*pages, running.journal))
    assert "north" not in running.journal
    assert "epsilon 1 and delta 1e-9" in pages[0].lower()


# --- what it costs --------------------------------------------------------------------------


def test_delta_is_charged_and_told(running: Place) -> None:
    before = spent_delta(running)
    body = asking("priced", by="town")
    with running.client("ben") as ben:
        plan = ben.get(
            "/plan", params={"dataset": "clinic", "column": "minutes", "by": "town", "epsilon": 1}
        ).json()
        assert spent_delta(running) == before
        stood = ben.get("/budget").json()["budgets"][0]
        texts = {ben.post("/releases", json=body).text for _ in range(3)}
        after = ben.get("/budget").json()["budgets"][0]
        stored = ben.get("/releases/priced").json()
        ward = ben.post("/releases", json=asking("ward-priced", by="ward"))
    assert len(texts) == 1
    assert ward.status_code == 200
    assert spent_delta(running) - before == DELTA
    assert Fraction(stood["remaining_delta"]) - Fraction(after["remaining_delta"]) == DELTA
    assert (stored["epsilon"], stored["delta"]) == ("0.1", "1e-9")
    assert (plan["delta"], plan["groups"]) == ("1e-9", 2)
    assert plan["shown_with_probability"] > 0.999
    assert 20 < plan["threshold"] < 30  # log(1e9) = 20.7
    assert plan["columns"][0]["assumed_records"] == 150


def test_a_plan_says_when_groups_will_be_missing(running: Place) -> None:
    place = {"dataset": "clinic", "column": "minutes", "by": "town", "epsilon": "1"}
    with running.client("ana") as ana:
        chances = [
            ana.get("/plan", params=place | {"records": records}).json()["shown_with_probability"]
            for records in (2, 44, 1000)
        ]
    assert chances == sorted(chances)
    assert chances[0] < 1e-8
    assert 0.05 < chances[1] < 0.95
    assert chances[2] > 0.999999


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_nobody_spends_more_delta_than_there_is(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    """A budget of five such answers; two people may have two each, the third as many as fit."""
    postgres = kind == "postgres"
    ledger = request.getfixturevalue("postgres").location if postgres else f"{tmp_path}/budget.db"
    place = Place(tmp_path, ledger, delta="5e-9")
    text = place.text().replace(
        "zoe = 0", 'zoe = 0\nana = {delta = "2e-9"}\nben = {epsilon = 3, delta = "2e-9"}'
    )
    place.path.write_text(text)

    def ask(number: int) -> httpx.Response:
        with place.client(("ana", "ben", "olga")[number % 3]) as one:
            return one.post("/releases", json=asking(f"k{number}", by="town"))

    with serving(place), ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(ask, range(18)))
        with place.client("ana") as ana:
            poor = ana.get("/ask/clinic/confirm", params=spelled(key="poor"))
            ana.headers.pop("Authorization")
            ana.post("/login", data={"token": place.tokens["ana"]})
            form = re.findall('name="form_key" value="([0-9a-f]+)"', ana.get("/").text)[0]
            told = ana.post("/ask/clinic", data=spelled(key="poor", form_key=form))
            ana.headers["Authorization"] = f"Bearer {place.tokens['ana']}"
            still = ana.post("/releases", json=asking("still", by="ward"))
    assert sorted(reply.status_code for reply in replies) == [200] * 5 + [402] * 13
    for reply in replies:
        if reply.status_code == 402:
            error = reply.json()["error"]
            assert error["requested_delta"] == "1e-9"
            assert Fraction(error["remaining_delta"]) < DELTA
    assert spent_delta(place) == 5 * DELTA
    assert "does not cover" in poor.text
    assert "Change the question" in poor.text
    assert told.status_code == 402
    assert "You asked for delta 1e-9, and 0 is left." in told.text
    assert still.status_code == 200  # public names cost no delta
    with pytest.raises(hg.GatewayError, match=r"Asked for delta 1e-9, left 0\."):
        gateway_of(replies)


def gateway_of(replies: list[httpx.Response]) -> None:
    from hourglass.serve.client import _failure

    last = next(r for r in replies if r.status_code == 402)
    told = last.json()
    told["error"]["remaining_delta"] = "0"
    raise _failure(402, httpx.Response(402, json=told).content)


# --- the page -------------------------------------------------------------------------------


def spelled(**more: str) -> dict[str, str]:
    return {"what": "minutes", "by": "town", "epsilon": "0.1"} | more


def test_every_screen_tells_what_will_be_shown(running: Place) -> None:
    with running.client("olga") as olga:
        screens = {
            path: olga.get(path, params=spelled(key="screen") if "ask" in path else {}).text
            for path in ("/", "/ask/clinic", "/ask/clinic/preview", "/ask/clinic/confirm")
        }
        assert olga.post("/releases", json=asking("small", by="town", epsilon="1/100")).is_success
        answer, table = (olga.get(f"/answers/olga/small{end}").text for end in ("", "/csv"))
        screens |= {path: olga.get(path).text for path in ("/history", "/owner")}
    assert "delta left to you" in " ".join(screens["/"].split())
    assert "Town (secret names, delta 1e-9)" in screens["/ask/clinic"]
    for path in ("/ask/clinic", "/ask/clinic/preview"):
        assert "Which groups you will see" in screens[path]
    assert "groups whose noisy count reaches" in screens["/ask/clinic/confirm"]
    assert "epsilon 0.1 and delta 1e-9" in screens["/ask/clinic/confirm"]
    assert "No group is large enough" in answer  # none passes the 2,000 that 1/100 takes
    assert len(table.splitlines()) == 1
    assert "delta 1e-9" in screens["/history"]
    assert "delta" in screens["/owner"]
    assert not any(CANARY in text for text in (*screens.values(), answer, table))


# --- the catalogue --------------------------------------------------------------------------

GROUPS = 'delta = "1e-9"\nabout = 2\nmost = 20\n'


@pytest.mark.parametrize(
    ("new", "words", "offset"),
    [
        ("delta = 0", "between 0 and 1", 0),
        ("delta = 1.5", "between 0 and 1", 0),
        ('delta = "many"', "takes a number", 0),
        ("delta = 0.001", "cannot pay for one such question", 0),
        ('delta = 1e-9\nkeys = ["a"]', "takes one of keys", -2),
        ("about = 5", "takes one of keys", -2),
        ("delta = 1e-9\nabout = 30\nmost = 20", "is above most", 1),
        ("delta = 1e-9\nmost = 0", "whole number of 1 or more", 1),
        ("delta = 1e-9\nmost = 1000000", "is above 100000", 1),
        ('delta = 1e-9\nby = ["ward"]', "the same columns as 'ward'", -2),
        ("delta = 1e-9\nmosts = 3", "did you mean 'most'?", 1),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    running: Place, new: str, words: str, offset: int
) -> None:
    text = running.text()
    assert GROUPS in text
    line = text[: text.index(GROUPS)].count("\n") + 1
    with pytest.raises(CatalogueError) as found:
        read_text(text.replace(GROUPS, new + "\n"), running.path)
    told = [(each.line, each.what) for each in found.value.problems]
    assert any(number == line + offset and words in what for number, what in told), told


@pytest.mark.parametrize(
    ("allowance", "expected"),
    [
        ("3", ("3", "1e-6")),
        ('{delta = "1e-7"}', ("1000", "1e-7")),
        ('{epsilon = 2, delta = "1e-7"}', ("2", "1e-7")),
        ('{epsilon = "1/3", delta = 0.5}', ("1/3", "1e-6")),  # never more than there is
    ],
)
def test_allowances_have_two_parts(
    running: Place, allowance: str, expected: tuple[str, str]
) -> None:
    found = read_text(running.text().replace("zoe = 0", f"zoe = {allowance}"), running.path)
    assert found.budgets["main"].allowance_of("zoe") == Amount(*map(Fraction, expected))


def test_a_reload_with_too_many_names_keeps_what_was_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from hourglass.serve.server import _Reloading

    place = Place(tmp_path, f"{tmp_path}/budget.db")
    service = place.service()
    before = service.state
    place.path.write_text(place.text().replace("most = 20", "most = 2"))  # there are three
    reloading: Callable[[str], bool] = _Reloading(service, place.path)._reload
    assert reloading("SIGHUP") is False
    assert service.state is before
    assert CANARY not in caplog.text
    place.path.write_text(place.text().replace("most = 20", "most = 3"))
    assert reloading("SIGHUP") is True
    service.journal.close()
