"""The API over real connections: what is asked is charged once, stored, and the same ever after."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hourglass as hg
from hourglass.ask.question import MeanQuestion
from hourglass.errors import OptionError
from hourglass.ledger import Budget
from hourglass.noise.bits import SeededBits
from hourglass.serve.api import ROUTES
from hourglass.serve.charts import axis_of
from hourglass.serve.openapi import document
from hourglass.serve.server import run
from hourglass.serve.shown import picture, table_of

from .support import CANARY, Place, asking, serving, spent

pytestmark = pytest.mark.slow


def test_what_may_be_asked(running: Place) -> None:
    with running.client("ana") as ana, running.client("ben") as ben:
        (clinic,) = ana.get("/datasets").json()["datasets"]
        names = [each["name"] for each in ben.get("/datasets").json()["datasets"]]
    assert names == ["clinic", "secret"]
    assert clinic["epsilons"] == ["0.01", "0.1", "0.5", "1"]
    assert clinic["groups"] == [
        {
            "by": ["ward"],
            "title": "ward",
            "keys": [["east"], ["west"], ["nowhere"]],
            "delta": "0",
        },
        {"by": ["town"], "title": "Town", "keys": None, "delta": "1e-9"},
    ]
    assert {"columns": ["minutes", "cost"], "by": "ward", "filter": "", "spread": False} in clinic[
        "questions"
    ]
    assert [each["measured_in"] for each in clinic["columns"]] == ["minutes", ""]
    assert clinic["unit"] == "row"
    assert all("unit" not in each for each in clinic["columns"])
    assert str(running.folder) not in json.dumps(clinic)


def test_the_pages_tell_what_a_column_is_measured_in(running: Place) -> None:
    asked = "what=minutes&epsilon=0.1&key=measured"
    with running.client("ana") as ana:
        page, confirm = (ana.get(f"/ask/clinic{to}?{asked}").text for to in ("", "/confirm"))
    assert "Between 0 and 60 minutes." in page
    assert '<span class="measured-in">minutes</span>' in page
    told = re.sub("<span[^>]*>|</span>", "", confirm)
    assert re.search("<dt>Expected</dt><dd>± [0-9.]+ minutes, for 300 records</dd>", told)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("what=cost", "for 300 records"),
        ("what=cost&by=ward", "for a group of 100 records"),
        ("what=cost&filter=long", "for 300 records; the filter may leave fewer"),
    ],
)
def test_the_pages_tell_which_records_the_expected_error_is_for(
    running: Place, asked: str, words: str
) -> None:
    """Caught: "for each of 3 groups", of which a small one has a much larger error."""
    with running.client("ana") as ana:
        for to in ("", "/confirm"):
            page = ana.get(f"/ask/clinic{to}?{asked}&epsilon=0.1&key=which").text
            assert words in " ".join(page.split())
            assert " ," not in page


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("by", "nowhere", "by: this grouping is not offered"),
        ("filter", "nothing", "filter: this filter is not offered"),
        ("epsilon", "77", "epsilon: "),
        ("what", "no such column", "columns: "),
        ("records", "many", "records: "),
        ("spread", "1", "spread: this dataset offers no standard deviation"),
    ],
)
def test_a_question_that_is_not_offered_leads_back_to_its_form(
    running: Place, name: str, text: str, words: str
) -> None:
    """Caught: an error page without the form, and a form that forgets what was chosen."""
    chosen = {"what": "cost", "epsilon": "0.1"} | {name: text}
    with running.client("ana") as ana:
        reply = ana.get("/ask/clinic/confirm", params=chosen | {"key": "back"})
        form = ana.get(reply.headers["Location"])
    assert reply.status_code == 303
    assert form.status_code == 200
    assert form.url.path == "/ask/clinic"
    assert dict(form.url.params) == chosen
    assert words in form.text


def test_shares_are_in_per_cent_everywhere(tmp_path: Path) -> None:
    """Caught: a chart from 0 to 0.6 beside a table in per cent, and ± 0.0011 of a share."""
    place = Place(tmp_path, f"{tmp_path}/budget.db")
    yes = "[datasets.clinic.columns.late]\nbounds = [0, 1]\n[datasets.clinic.columns.cost]\n"
    text = place.text().replace("[datasets.clinic.columns.cost]\n", yes, 1)
    place.path.write_text(text)
    data, other = tmp_path / "visits.parquet", tmp_path / "other.parquet"
    table = f"SELECT *, CAST(minutes > 30 AS INTEGER) AS late FROM '{data}'"
    duckdb.connect().sql(table).write_parquet(str(other))
    os.replace(other, data)
    with serving(place), place.client("ana") as ana:
        asked = "what=late&by=ward&epsilon=1&key=late"
        pages = [ana.get(f"/ask/clinic{to}?{asked}").text for to in ("", "/confirm")]
        assert ana.post("/releases", json=asking("late", columns=["late"], by="ward")).is_success
        answer = ana.get("/answers/ana/late").text
    for page in pages:
        told = " ".join(re.sub("<[^>]*>", "", page).split())
        assert re.search(r"± [0-9.]+ percentage points", told)
    for page in (pages[0], answer):
        ticks = re.findall('<text class="tick"[^>]*>([^<]*)', page)
        assert len(ticks) > 1
        assert all(re.fullmatch(r"-?[0-9.]+ %", tick) for tick in ticks)


def test_several_rows_of_a_person_have_no_interval_of_the_population() -> None:
    """They are no independent draws. Caught: an error in place of the answer."""
    data = pd.DataFrame({"id": [1, 1, 2, 3] * 50, "g": ["a", "b"] * 100, "x": range(200)})
    for rows, there in ((2, False), (1, True), (None, True)):
        unit = hg.per_person("id", rows=rows)
        answer = hg.mean(data, "x", bounds=(0, 200), epsilon=5, unit=unit, by="g", keys=["a", "b"])
        table, (chart,) = table_of(answer), picture(answer)
        assert ("95 % for the population" in table.head) == table.population == there
        assert chart.population == there
        assert all(len(row) == len(table.head) for row in table.rows)


@given(middle=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e6), left=st.floats(0, 300))
def test_an_axis_has_a_scale(middle: float, width: float, left: float) -> None:
    """Caught: one tick alone, 3.00, below intervals that end at 2.97 and 3.03."""
    axis = axis_of([middle - width, middle + width], left)
    places, texts = zip(*axis.ticks, strict=True)
    assert len(set(texts)) == len(set(places)) == len(texts) >= 2
    assert all(b - a > 40 for a, b in pairwise(places))


@pytest.mark.parametrize("spread", [False, True])
def test_groups_without_records_have_no_mean(spread: bool) -> None:
    """The page is as the printed table. Caught: a mean of 7.0 and a mark in the chart of nobody."""
    data = pd.DataFrame({"g": ["all"] * 200 + ["one", ""], "x": [3.0] * 202})
    asked: dict[str, Any] = {"bounds": (0, 7), "epsilon": 1, "by": "g", "spread": spread}
    seen = set()
    for seed in range(30):
        answer = hg.mean(data, "x", keys=["all", "one", "none", ""], bits=SeededBits(seed), **asked)
        table, (chart,) = table_of(answer), picture(answer)
        lines = [re.split("  +", line.strip()) for line in answer.text().split("\n")[2:6]]
        assert [list(row[:2]) for row in table.rows] == [line[:2] for line in lines]
        marked = [row[-1].endswith("*") for row in table.rows]
        assert marked == [line[-1] == "too few records" for line in lines]
        assert table.few == any(marked)
        known = [row[1] != "–" for row in table.rows]
        assert known == [mark.mean is not None for mark in chart.marks]
        assert [row[4] != "–" for row in table.rows] == known or not spread
        if spread:  # noise can make it zero, so it is not shown without its interval
            told = [float(word) for word in re.findall("[0-9.]+", table.rows[0][4])]
            ends = answer["all"].interval(of="std")
            assert told == pytest.approx([answer["all"].std, ends.low, ends.high], abs=0.1)
        shown = [mark for mark in chart.marks if mark.mean is not None]
        assert chart.unknown == (len(shown) < 4)
        assert chart.axis.high < max(mark.wide_high for mark in shown) + 1  # others do not widen it
        seen |= set(zip(known, marked, strict=True))
    assert {(True, False), (False, True)} <= seen


@pytest.mark.parametrize(
    "changes",
    [{}, {"by": "ward"}, {"columns": ["minutes", "cost"]}, {"columns": ["cost"], "epsilon": 0.5}],
)
def test_an_answer_is_charged_once_and_stays_the_same(
    running: Place, changes: dict[str, object]
) -> None:
    before = spent(running)
    key = f"once-{len(str(changes))}"
    with running.client("ana") as ana:
        replies = [ana.post("/releases", json=asking(key, **changes)) for _ in range(5)]
        stored = ana.get(f"/releases/{key}").json()
    assert {each.status_code for each in replies} == {200}
    assert len({each.text for each in replies}) == 1
    assert stored["answer"] == replies[0].json()["answer"]
    assert (stored["person"], stored["dataset"]) == ("ana", "clinic")
    assert spent(running) - before == Fraction(str(changes.get("epsilon", "0.1")))


def test_the_figures_are_those_of_the_data(running: Place) -> None:
    """At epsilon 1 the 99.9999 % interval holds the mean, which the file has: 300 rows."""
    with running.client("ana") as ana:
        answer = ana.post("/releases", json=asking("figures", epsilon="1")).json()["answer"]
    release = hg.Release.from_dict(answer)
    mean = sum((i * 7) % 61 for i in range(300)) / 300
    low, high = release.interval(0.999999)
    assert low <= min(mean, 60) <= high
    assert release.private


def test_a_filter_of_the_menu_counts_its_rows_alone(running: Place) -> None:
    gateway = hg.connect(running.url, running.tokens["ana"])
    long = [minutes for i in range(300) if (minutes := (i * 7) % 61) > 30]
    found = gateway.mean("clinic", "minutes", filter="long", epsilon=1, request="long")
    assert found.where is not None
    assert "minutes" in found.where
    assert len(long) in found.interval(0.999999, of="count")
    assert sum(long) / len(long) in found.interval(0.999999)
    by_ward = gateway.mean("clinic", "cost", by="ward", filter="long", epsilon=1)
    assert abs(by_ward.counts.sum() - len(long) * 2 / 3) < 60  # a third is in no ward
    assert gateway.plan("clinic", "minutes", filter="long", epsilon=1)["filter"] == "long"
    with pytest.raises(hg.GatewayError, match="not offered"):
        gateway.mean("clinic", "minutes", filter="minutes > 10", epsilon=1)
    with running.client("ana") as ana:
        page = ana.get("/answers/ana/long").text
    assert "filter=&#39;long&#39;" in page


def test_the_same_moment_from_many_sides(running: Place) -> None:
    """Twenty requests at once under one key: one charge, one answer."""
    before = spent(running)

    def ask(_: int) -> str:
        with running.client("ben") as ben:
            return ben.post("/releases", json=asking("at-once")).text

    with ThreadPoolExecutor(20) as pool:
        replies = set(pool.map(ask, range(20)))
    assert len(replies) == 1
    assert spent(running) - before == Fraction(1, 10)


REFUSED: list[tuple[dict[str, object], str, list[object]]] = [
    (
        {"columns": ["age"]},
        "columns: not offered, or not together; choose one of minutes, cost, or together, in this "
        "order: minutes with cost.",
        [["minutes"], ["cost"], ["minutes", "cost"]],
    ),
    ({"columns": ["cost", "minutes"]}, "minutes with cost", [["minutes"], ["cost"]]),
    (
        {"by": "sex"},
        "by: this grouping is not offered; choose one of ward, town, or leave by out.",
        ["ward", "town"],
    ),
    (
        {"filter": "minutes > 10"},
        "filter: this filter is not offered; choose one of long, or leave filter out.",
        ["long"],
    ),
    ({"spread": True}, "spread: this dataset offers no standard deviation; leave spread out.", []),
    (
        {"epsilon": 0.3},
        "epsilon: this price is not one of those offered; choose one of 0.01, 0.1, 0.5, 1.",
        ["0.01", "0.1", "0.5", "1"],
    ),
    (
        {"dataset": "secret"},
        "dataset: there is no such dataset, or it is not open to you; open to you: clinic.",
        ["clinic"],
    ),
]


@pytest.mark.parametrize(("changes", "words", "offered"), REFUSED)
def test_a_refusal_names_the_argument_and_what_is_offered(
    running: Place, changes: dict[str, object], words: str, offered: list[object]
) -> None:
    """The same words for a question and its plan, and of what is open to the caller alone."""
    before = spent(running)
    body = asking("refused", **changes)
    address: Any = {name: value for name, value in body.items() if name != "request"}
    with running.client("ana") as ana:
        asked = ana.post("/releases", json=body)
        planned = ana.get("/plan", params=address)
    error = asked.json()["error"]
    assert planned.json()["error"] == error
    assert words in error["message"]
    assert error["argument"] == next(iter(changes))
    assert error["offered"][: len(offered)] == offered
    assert spent(running) == before
    gateway = hg.connect(running.url, running.tokens["ana"])
    question = {"column": body["columns"], "dataset": body["dataset"], "epsilon": body["epsilon"]}
    if "by" in changes:
        with pytest.raises(hg.GatewayError, match="choose one of ward, town"):
            gateway.mean(**question, by="sex")


def test_a_standard_deviation_that_is_offered_for_another_column(tmp_path: object) -> None:
    place = Place(tmp_path, f"{tmp_path}/budget.db", plain=True)  # type: ignore[arg-type]
    text = place.text().replace('measured_in = "minutes"', 'measured_in = "minutes"\nspread = true')
    place.path.write_text(text)
    with serving(place), place.client("ana") as ana:
        alone = asking("x", columns=["cost"], spread=True)
        error = ana.post("/releases", json=alone).json()["error"]
        page = ana.get("/ask/clinic?what=cost&spread=1&epsilon=0.1").text
    assert error["message"].startswith("spread: the standard deviation is offered for minutes,")
    assert "the standard deviation is offered for minutes" in page
    assert '<input type="radio" name="what" value="cost" checked>' in page  # the rest is kept
    assert '<input type="radio" name="epsilon" value="0.1" checked>' in page


@pytest.mark.parametrize("name", ["column", "columns"])
def test_a_plan_and_a_question_take_the_same_names(running: Place, name: str) -> None:
    question = {"dataset": "clinic", "by": "ward", "spread": False, "epsilon": 0.1}
    with running.client("ana") as ana:
        for columns in ("minutes", ["minutes", "cost"]):
            fields: Any = {**question, name: columns}
            plan = ana.get("/plan", params=fields)
            key = f"same-{name}-{len(columns)}"
            answer = ana.post("/releases", json={**fields, "request": key})
            assert (plan.status_code, answer.status_code) == (200, 200), (plan.text, answer.text)
            listed = [columns] if isinstance(columns, str) else columns
            assert [each["column"] for each in plan.json()["columns"]] == listed


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("filtr=long", "GET /plan takes dataset, columns, by, filter, spread, epsilon, records"),
        ("columns=cost", "columns: column means the same; give one of them."),
        ("spread=yes", "spread: takes true or false."),
        ("epsilon=1", "epsilon: given more than once; give it once."),
        ("records=0", "records: takes a whole number from 1 to 1,000,000,000,000."),
        ("mean=61", "mean: takes a number between the bounds, 0 and 60."),
        ("mean=nan", "mean: takes a number between the bounds, 0 and 60."),
    ],
)
def test_a_plan_of_another_question_than_was_meant_is_refused(
    running: Place, address: str, words: str
) -> None:
    with running.client("ana") as ana:
        good = "/plan?dataset=clinic&column=minutes&epsilon=0.1"
        assert ana.get(good).status_code == 200
        reply = ana.get(f"{good}&{address}")
    assert reply.status_code == 422
    assert words in reply.json()["error"]["message"]


def test_a_field_that_is_given_twice_is_refused(running: Place) -> None:
    """Another program, such as one that checks what is asked, might read the other of the two."""
    before = spent(running)
    twice = json.dumps(asking("twice", epsilon="0.1"))[:-1] + ', "epsilon": "1"}'
    with running.client("ana") as ana:
        headers = {"Content-Type": "application/json"}
        reply = ana.post("/releases", content=twice, headers=headers)
        lacking = ana.post("/releases", json={"dataset": "clinic", "columns": ["cost"]})
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, "bad_fields")
    assert "more than once" in reply.json()["error"]["message"]
    assert lacking.json()["error"]["message"] == "epsilon: missing; every question has one."
    assert spent(running) == before


def test_what_is_left_is_told_of_the_smaller_part(tmp_path: object) -> None:
    """Of a budget of 1 with an allowance of 0.6, of which 0.5 is spent, 0.1 is left."""
    place = Place(tmp_path, f"{tmp_path}/budget.db", epsilon=1, allowance="0.6", plain=True)  # type: ignore[arg-type]
    with serving(place), place.client("ana") as ana:
        assert ana.post("/releases", json=asking("half", epsilon="0.5")).status_code == 200
        error = ana.post("/releases", json=asking("more", epsilon="1")).json()["error"]
    assert (error["requested"], error["remaining"]) == ("1", "0.1")


def test_a_key_leads_to_one_answer_whatever_the_budget(running: Place) -> None:
    """Charged twice, the second answer could not be fetched, and the page would show the first."""
    other = asking("both", dataset="secret", columns=["cost"])
    with running.client("ben") as ben:
        first = ben.post("/releases", json=asking("both")).json()
        refused = ben.post("/releases", json=other)
        assert ben.post("/releases", json=asking("both")).json() == first
        assert ben.get("/releases/both").json()["answer"] == first["answer"]
        assert ben.post("/releases", json=other | {"request": "other"}).status_code == 200
        assert ben.get("/releases/other").json()["dataset"] == "secret"
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "key_reused")
    assert spent(running, "other") == Fraction(1, 10)


def test_a_plan_touches_nothing(running: Place) -> None:
    place = {"dataset": "clinic", "column": "minutes", "epsilon": "0.5", "records": "1000"}
    before = spent(running)
    with running.client("ana") as ana:
        plan, again = (ana.get("/plan", params=place).json() for _ in range(2))
        closer = ana.get("/plan", params=place | {"epsilon": "1"}).json()
    assert plan == again
    assert spent(running) == before
    (column,) = plan["columns"]
    assert len(column["simulated"]) == 20
    assert closer["columns"][0]["plus_minus"] < column["plus_minus"]
    assert plan["affordable"] is True
    inside = [abs(each - 30) <= column["plus_minus"] for each in column["simulated"]]
    assert sum(inside) >= 15


def test_budgets_are_told_exactly(running: Place) -> None:
    with running.client("zoe") as zoe:
        before = zoe.get("/budget").json()["budgets"][0]
        refused = zoe.post("/releases", json=asking("no-money"))
        assert zoe.get("/budget").json()["budgets"][0] == before
    assert refused.status_code == 402
    assert refused.json()["error"]["requested"] == "0.1"
    assert refused.json()["error"]["remaining"] == "0"
    assert before["remaining"] == before["allowance"] == "0"


def test_readers_read_and_do_not_ask(running: Place) -> None:
    with running.client("ana") as ana, running.client("rita") as rita, running.client("ben") as ben:
        key = "for-rita"
        text = ana.post("/releases", json=asking(key)).json()["answer"]
        assert rita.get(f"/releases/ana/{key}").json()["answer"] == text
        assert rita.post("/releases", json=asking("mine")).json()["error"]["code"] == "not_allowed"
        assert ben.get(f"/releases/ana/{key}").status_code == 404
        assert rita.get("/metrics").status_code == 403
        assert "Only analysts ask questions." in rita.get("/history").text


def test_a_reader_reads_nothing_of_what_is_closed_to_them(tmp_path: object) -> None:
    """Two datasets share a budget, and one of them is for Ben alone."""
    place = Place(tmp_path, f"{tmp_path}/budget.db", plain=True)  # type: ignore[arg-type]
    place.path.write_text(place.text().replace('budget = "other"', 'budget = "main"'))
    with serving(place), place.client("rita") as rita, place.client("ben") as ben:
        assert ben.post("/releases", json=asking("open")).status_code == 200
        closed = asking("closed", dataset="secret", columns=["cost"])
        assert ben.post("/releases", json=closed).status_code == 200
        assert rita.get("/releases/ben/open").status_code == 200
        assert rita.get("/releases/ben/closed").status_code == 404
        page = rita.get("/history?who=all").text
        assert "clinic: mean of minutes" in page
        assert "secret" not in page
        assert "secret: mean of cost" in ben.get("/history").text


def test_pages_count_persons_and_call_people_by_their_names(tmp_path: object) -> None:
    place = Place(tmp_path, f"{tmp_path}/budget.db", plain=True)  # type: ignore[arg-type]
    text = place.text().replace("[people.olga]\n", '[people.olga]\nname = "Olga O."\n')
    place.path.write_text(text)
    with serving(place), place.client("olga") as olga:
        assert " records" in olga.get("/ask/clinic").text
        assert olga.post("/releases", json=asking("first")).status_code == 200
        for page in ("/owner", "/history?who=all"):
            assert "Olga O. (olga)" in olga.get(page).text
        with place.client("rita") as rita:
            assert "by Olga O. (olga)." in rita.get("/answers/olga/first").text
    unit = '[datasets.clinic.unit]\nperson = "cost"\n[people.olga]'
    place.path.write_text(text.replace("[people.olga]", unit))
    with serving(place), place.client("olga") as olga:
        page = olga.get("/ask/clinic").text
        assert re.search("interval for [0-9,]+ persons", page)
        assert not re.search("[0-9] records", page)


def test_a_link_for_nobody_is_refused_before_anything_is_served(
    tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path, f"{tmp_path}/budget.db", plain=True)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"--link 'olgo' is not in .*; did you mean 'olga'?"):
        run(place.path, link_for="olgo")
    assert capsys.readouterr().out == ""


def test_an_answer_of_many_groups_is_shown_in_part_and_handed_out_whole(tmp_path: object) -> None:
    place = Place(tmp_path, f"{tmp_path}/budget.db")  # type: ignore[arg-type]
    many = [f"ward {i}" for i in range(500)]
    place.path.write_text(place.text().replace('["east", "west", "nowhere"]', json.dumps(many)))
    with serving(place), place.client("ana") as ana:
        assert ana.post("/releases", json=asking("many", by="ward")).status_code == 200
        page, table = ana.get("/answers/ana/many").text, ana.get("/answers/ana/many/csv").text
    assert page.count('<th scope="row">') == 200
    assert "300 more rows are in the CSV" in page
    assert '<svg class="whiskers"' not in page
    assert len(table.splitlines()) == 501


def test_the_csv_has_what_the_page_shows_and_the_terms(running: Place) -> None:
    with running.client("ana") as ana:
        assert ana.post("/releases", json=asking("csv", by="ward")).status_code == 200
        head, *rows = csv.reader(io.StringIO(ana.get("/answers/ana/csv/csv").text))
    assert len(rows) == 3
    first = dict(zip(head, rows[0], strict=True))
    low, high = (float(first[f"population_{end}"]) for end in ("low", "high"))
    assert low <= float(first["mean_low"]) <= float(first["mean_high"]) <= high
    terms = {name: first[name] for name in ("confidence", "column", "unit", "epsilon", "upper")}
    assert terms == {
        "confidence": "0.95", "column": "minutes", "unit": "row", "epsilon": "1/10", "upper": "60",
    }  # fmt: skip


def test_the_documents(running: Place) -> None:
    with running.client() as stranger, running.client("olga") as olga:
        described = stranger.get("/openapi.json").json()
        assert stranger.get("/healthz").json()["status"] == "ok"
        metrics = olga.get("/metrics").text
    assert described == document("Test")
    assert set(described["paths"]) == {path for path, *_ in ROUTES} - {"/openapi.json"}
    for path, method, *_ in ROUTES:
        assert path == "/openapi.json" or method.lower() in described["paths"][path]
    assert 'hourglass_requests_total{route="/healthz",status="200"}' in metrics
    assert "clinic" not in metrics


def test_the_client_asks_like_hourglass_itself(running: Place) -> None:
    gateway = hg.connect(running.url, running.tokens["ben"])
    assert repr(gateway) == f"Gateway({running.url!r})"
    one = gateway.mean("clinic", "minutes", epsilon=0.5, request="client-1")
    assert one == gateway.mean("clinic", "minutes", epsilon="1/2", request="client-1")
    assert one == gateway.release("client-1")
    wards = gateway.mean("clinic", "minutes", by="ward", epsilon=0.5)
    assert set(wards) == {"east", "west", "nowhere"}
    both = gateway.mean("clinic", ["minutes", "cost"], by=["ward"], epsilon=1)
    assert both["east"]["cost"].bounds.upper == 100
    assert gateway.plan("clinic", "cost", epsilon=1)["questions_left"] > 0
    assert [each["budget"] for each in gateway.budget()] == ["main", "other"]
    assert len(gateway.datasets()) == 2
    with pytest.raises(hg.GatewayError, match="not one of those offered") as refused:
        gateway.mean("clinic", "minutes", epsilon=0.3)
    assert refused.value.code == "bad_epsilon"
    with pytest.raises(hg.GatewayError) as refused:
        hg.connect("http://127.0.0.1:9", "t").datasets()
    assert refused.value.code == "unreachable"
    with pytest.raises(hg.OptionError, match="https"):
        hg.connect("http://gateway.example", "t")


def test_no_cell_is_written_anywhere(running: Place) -> None:
    with running.client("ana") as ana:
        pages = [ana.get(path).text for path in ("/datasets", "/plan", "/budget", "/history")]
    entries = json.dumps([row.body for row, _ in Budget(running.ledger, "main").rows()])
    assert "clinic" in running.journal
    for text in (*pages, running.journal, entries):
        assert CANARY not in text
        assert "noisy_totals" not in text


def test_everything_that_people_do_is_in_the_journal(running: Place) -> None:
    with running.client("ana") as ana:
        ana.post("/releases", json=asking("in-the-journal"))
        ana.post("/releases", json=asking("in-the-journal", epsilon="1"))
    lines = [json.loads(line) for line in running.journal.splitlines()]
    mine = [each for each in lines if each.get("key") == "in-the-journal"]
    assert [each["what"] for each in mine] == ["ask", "answered", "ask", "refused"]
    assert mine[-1]["code"] == "key_reused"
    assert set(mine[0]) == {
        "at", "what", "person", "key", "dataset", "columns", "by", "filter", "spread", "epsilon",
        "delta",
    }  # fmt: skip


def test_nothing_is_asked_that_cannot_be_written_down(tmp_path: object, running: Place) -> None:
    """A journal whose disk is full: refused before the charge."""
    service = running.service()
    service.journal.close()
    import os

    full = os.open("/dev/full", os.O_WRONLY)
    service.journal._file = full
    before = spent(running)
    person = service.state.catalogue.people["ana"]
    asked = service.state.asked(person, "clinic", ["minutes"], "", "", False, "0.1")
    from hourglass.serve.failures import Failure

    with pytest.raises(Failure, match="unavailable"):
        service.ask(service.state, person, asked, "unwritten")
    assert spent(running) == before
    os.close(full)


def test_the_whole_way_on_postgres(postgres: object, tmp_path: object) -> None:
    place = Place(tmp_path, postgres.location, epsilon=1, allowance="0.5", plain=True)  # type: ignore[arg-type, attr-defined]
    with serving(place), place.client("ana") as ana, place.client("ben") as ben:
        for number in range(5):
            assert ana.post("/releases", json=asking(f"k{number}")).status_code == 200
        assert ana.post("/releases", json=asking("k5")).status_code == 402
        assert ana.post("/releases", json=asking("k0")).status_code == 200
        assert ben.post("/releases", json=asking("k0", epsilon="0.5")).status_code == 200
        assert ben.post("/releases", json=asking("k1", epsilon="1/100")).status_code == 402
    assert spent(place) == 1


def test_a_question_that_failed_is_told_as_such_ever_after(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error after the noise was drawn: charged once, never answered, and never noised again."""
    place = Place(tmp_path, f"{tmp_path}/budget.db", plain=True)  # type: ignore[arg-type]

    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with serving(place), place.client("ana") as ana:
        with monkeypatch.context() as patch:
            patch.setattr(MeanQuestion, "answer", fails)
            patch.setattr(MeanQuestion, "rehearse", lambda self: None)
            first = ana.post("/releases", json=asking("fails"))
        again = ana.post("/releases", json=asking("fails"))
        read = ana.get("/releases/fails")
        page = ana.get("/answers/ana/fails")
        spelled = "what=minutes&epsilon=0.1&key=fails"
        confirm = ana.get(f"/ask/clinic/confirm?{spelled}")
        history = ana.get("/history")
        other = ana.post("/releases", json=asking("another"))
    assert first.json()["error"]["code"] == "internal"
    for reply in (again, read):
        assert (reply.status_code, reply.json()["error"]["code"]) == (410, "failed_before")
    assert page.status_code == confirm.status_code == 410
    assert "Ask under another key" in page.text
    assert history.status_code == 200
    assert other.status_code == 200
    assert spent(place) == Fraction(2, 10)
