"""Pages call columns, groups and questions by their titles in the catalogue."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from hourglass.serve.titles import Titles

from .support import Place, asking, serving

pytestmark = pytest.mark.slow


def test_pages_call_things_by_their_titles(tmp_path: Path) -> None:
    """The form did, the answer and the history did not. Files and the API have the names."""
    place = Place(tmp_path, f"{tmp_path}/budget.db")
    text = place.text()
    for table, title in (
        ("datasets.clinic", "The clinic"),
        ("datasets.clinic.columns.minutes", "Time with <the> doctor"),
        ("datasets.clinic.columns.cost", "Bill"),
        ("datasets.clinic.groups.ward", "Part of the clinic"),
    ):
        text = text.replace(f"[{table}]\n", f'[{table}]\ntitle = "{title}"\n')
    place.path.write_text(text)
    asked = asking("named", columns=["minutes", "cost"], by="ward", filter="long")
    words = "ean of Time with &lt;the&gt; doctor and Bill by Part of the clinic, only Long visits"
    with serving(place), place.client("ana") as ana:
        assert ana.post("/releases", json=asked).is_success
        page, csv = (ana.get(f"/answers/ana/named{to}").text for to in ("", "/csv"))
        history = ana.get("/history").text
        assert ana.get("/releases/named").json()["question"].startswith("clinic: mean of minutes")
    assert f"<h1>M{words}</h1>" in page
    assert f"The clinic: m{words}" in history
    heads = re.findall('<th scope="col"[^>]*>([^<]*)', page)
    assert heads[:2] == ["Part of the clinic", "column"]
    assert re.findall('<span class="group">([^<]*)', page)[:4] == [
        "east", "Time with &lt;the&gt; doctor", "east", "Bill",
    ]  # fmt: skip
    captions = re.findall("<figcaption>([^<]*)", page)
    assert captions == ["Time with &lt;the&gt; doctor", "Bill"]
    assert csv.startswith("ward,column,mean")
    assert "east,minutes," in csv


def test_without_a_title_there_is_the_name(running: Place) -> None:
    """So there is if the question or the dataset is no longer in the catalogue."""
    with running.client("ana") as ana:
        assert ana.post("/releases", json=asking("unnamed", by="town", spread=False)).is_success
        page, history = ana.get("/answers/ana/unnamed").text, ana.get("/history").text
    assert "<h1>Mean of minutes by Town</h1>" in page
    assert "clinic: mean of minutes by Town" in history
    state = running.service().state
    dataset, holding = state.catalogue.datasets["clinic"], state.holdings["clinic"]
    found = next(each for _, each in state.history(state.catalogue.people["ana"])
                 if each.request == "ana/unnamed")  # fmt: skip
    gone = replace(found, description="clinic: mean of age by town")
    for titles, charge in ((Titles(), found), (Titles(dataset), gone)):
        assert titles.question(charge, holding).endswith("by town")
    assert Titles(dataset).column("age") == "age"
    assert Titles(dataset).heads(["ward", "town"]) == ("ward", "town")
