"""The service in front of budgets with slots and with a filter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hourglass.errors import OptionError
from hourglass.ledger import Budget, create_budget
from hourglass.serve.checking import check
from hourglass.serve.reading import CatalogueError, read_catalogue
from hourglass.serve.service import load

from .support import Place, asking, serving

OFFERS = """
[budgets.few]
ledger = "{ledger}"
slots = [3, "1/10"]
delta = 1e-9

[budgets.filter]
ledger = "{ledger}"
epsilon = 1
delta = 1e-9
filter = "renyi"
allowance = 0.25

[datasets.few]
source = "{data}"
budget = "few"
epsilons = [0.05, 0.1]
[datasets.few.columns.minutes]
bounds = [0, 60]

[datasets.filtered]
source = "{data}"
budget = "filter"
epsilons = [0.1, 1]
[datasets.filtered.columns.minutes]
bounds = [0, 60]

"""


def placed(folder: Path, *, create: bool = True) -> Place:
    ledger = str(folder / "budget.db")
    extra = OFFERS.format(ledger=ledger, data=folder / "visits.parquet")
    place = Place(folder, ledger, extra=extra)
    if create:
        create_budget(ledger, "few", slots=(3, "1/10"), delta="1e-9")
        create_budget(ledger, "filter", epsilon=1, delta="1e-9", filter="renyi")
    return place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = placed(tmp_path)
    with serving(found):
        yield found


@pytest.mark.slow
def test_slots_are_shown_taken_and_refused(place: Place) -> None:
    asked = "what=minutes&epsilon=0.05&key=k"
    with place.client("ana") as ana, place.client("ben") as ben:
        assert "3 of 3 slots of epsilon 0.1 are left" in ana.get("/").text
        page, confirm = (ana.get(f"/ask/few{to}?{asked}").text for to in ("", "/confirm"))
        assert "about 2 more such questions" in page
        assert "2 more such questions" in confirm
        for key, person in (("k1", ana), ("k2", ben), ("k2", ben)):
            reply = person.post("/releases", json=asking(key, dataset="few", epsilon="0.05"))
            assert reply.is_success, reply.text
        (standing,) = (s for s in ana.get("/budget").json()["budgets"] if s["budget"] == "few")
        assert standing["rule"] == "slots"
        assert standing["slots"] == {"count": 3, "epsilon": "1/10", "used": 2, "left": 1}
        assert standing["allowance"] is None
        assert standing["remaining"] == "0.1"
        assert standing["left"] == "1 of 3 slots of epsilon 0.1 is left"
        assert ben.post("/releases", json=asking("k3", dataset="few")).is_success
        refused = ana.post("/releases", json=asking("k4", dataset="few"))
        assert refused.status_code == 402
        error = refused.json()["error"]
        assert (error["requested"], error["remaining"]) == ("0.1", "0")
        assert (
            "not enough: 0 of 3 slots of epsilon 0.1 are left"
            in ana.get(f"/ask/few/confirm?{asked}x").text
        )
        assert (
            "Nothing is left: 0 of 3 slots of epsilon 0.1 are left."
            in ana.get(f"/ask/few?{asked}x").text
        )
    with place.client("olga") as olga:
        owner = olga.get("/owner").text
    assert "3 of 3 slots of epsilon 0.1 used, 0 left; all 3 together are (0.3, 1e-9)-DP" in owner
    assert "as the budget" in owner
    assert Budget(place.ledger, "few").verify().sound


@pytest.mark.slow
def test_a_filter_is_shown_and_an_allowance_within_it_is_kept(place: Place) -> None:
    with place.client("ana") as ana, place.client("ben") as ben:
        assert "there is room for 5 more releases of epsilon 0.1" in ana.get("/").text
        planned = ana.get("/plan", params={"dataset": "filtered", "columns": "minutes",
                                           "epsilon": "0.1"}).json()  # fmt: skip
        assert planned["questions_left"] == 2  # of the allowance
        for number in range(2):
            reply = ana.post("/releases", json=asking(f"k{number}", dataset="filtered"))
            assert reply.is_success, reply.text
        refused = ana.post("/releases", json=asking("k2", dataset="filtered")).json()["error"]
        assert (refused["code"], refused["remaining"]) == ("budget_exceeded", "0.05")
        assert ben.post("/releases", json=asking("k0", dataset="filtered")).is_success
        refused = ben.post("/releases", json=asking("k1", dataset="filtered", epsilon=1))
        assert refused.status_code == 402
        (standing,) = (s for s in ben.get("/budget").json()["budgets"] if s["budget"] == "filter")
        assert standing["filter"]["releases_of_0.1_left"] == 2
        assert standing["allowance"] == "0.25"
    with place.client("olga") as olga:
        assert "of the Renyi filter for epsilon 1 and delta 1e-9 used" in olga.get("/owner").text


@pytest.mark.slow
def test_the_catalogue_and_the_ledger_must_have_one_rule(tmp_path: Path) -> None:
    """A filter with the same epsilon and delta is not the plain budget that a catalogue names."""
    place = placed(tmp_path)
    text = place.path.read_text()
    assert "The catalogue is good." in check(place.path)
    for before, after in (
        ('filter = "renyi"\n', ""),
        ('slots = [3, "1/10"]', 'slots = [4, "1/10"]'),
        ('slots = [3, "1/10"]', "epsilon = 0.3"),
    ):
        assert before in text
        place.path.write_text(text.replace(before, after))
        with pytest.raises(CatalogueError, match="which never changes"):
            check(place.path)
        with pytest.raises(OptionError, match="which never changes"):
            load(read_catalogue(place.path))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("epsilons = [0.05, 0.1]", "", "no larger question can be asked"),
        ('slots = [3, "1/10"]', "slots = 3", "not a pair"),
        ('slots = [3, "1/10"]', 'slots = [3, "1/10"]\nepsilon = 1', "leave out epsilon="),
        ('filter = "renyi"', 'filter = "gauss"', "not a filter"),
        ('budget = "main"', 'budget = "filter"', "no question with a delta"),
    ],
)
def test_a_catalogue_that_cannot_work_is_refused(
    tmp_path: Path, before: str, after: str, words: str
) -> None:
    place = placed(tmp_path)
    text = place.path.read_text()
    assert before in text
    place.path.write_text(text.replace(before, after))
    with pytest.raises(CatalogueError, match=words):
        read_catalogue(place.path)


@pytest.mark.slow
def test_a_missing_budget_is_named_with_its_command(tmp_path: Path) -> None:
    place = placed(tmp_path, create=False)
    with pytest.raises(CatalogueError) as refused:
        check(place.path)
    assert "budget init few --slots 3x1/10 --delta 1e-9 --ledger" in str(refused.value)
    assert "budget init filter --epsilon 1 --delta 1e-9 --filter renyi" in str(refused.value)
