"""The comparison's own machinery, with ours as the only library."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.peers import measure, quick, report
from benchmarks.peers import wide as wide_report
from benchmarks.peers.__main__ import merged
from benchmarks.peers.adapters import NAMES
from benchmarks.peers.environments import Environment, PeerError, Process, adapter
from benchmarks.peers.limits import least_mse
from benchmarks.peers.sections import replaced
from benchmarks.peers.worker import Squares

import hourglass as hg

pytestmark = pytest.mark.slow

OURS = Environment("ours", Path(sys.executable), "0.1.0", 1.0)


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    """The errors of ours, measured once: in all cells, and roughly."""
    return results(measure.accuracy(OURS, 0.5, minutes=0.5, say=print, least=0.0))


@pytest.fixture
def process() -> Iterator[Process]:
    started = Process(OURS)
    yield started
    started.close()


def test_every_adapter_says_what_it_is_without_its_library() -> None:
    for name in NAMES:
        module = adapter(name)
        words = ("TITLE", "DISTRIBUTION", "MODULE", "CALL", "RETURNS", "NOTE", "SAMPLER")
        for word in (*words, "MEANS", "SUMS"):
            assert isinstance(getattr(module, word), str)
        assert not module.SUMS or callable(module.repeat_sums)
        assert module.INSTALL
        assert module.ADJACENCY in ("add-remove", "swap", "none")
        for call in ("column", "release", "repeat", "sampler"):
            assert callable(getattr(module, call))


def test_the_error_is_that_of_the_mechanism(process: Process) -> None:
    """A standard error of at most 3 %; 20 % off would be six of them."""
    found = process.ask(
        "accuracy", kind="real", rows=1000, mean=0.5, bounds=(0, 1), epsilon=1.0,
        target=0.03, least=0.0, limit=60.0,
    )  # fmt: skip
    ratio = found["mse"] * 1000**2 / hg.accuracy.sigma2(1)
    assert ratio == pytest.approx(0.5, rel=0.2)
    assert found["error"] / found["mse"] <= 0.03


@pytest.mark.parametrize(
    ("values", "bounds", "epsilon"),
    [([0.1, 0.7, 0.2] * 4, (0.0, 1.0), 1.0), ([0, 0, 0, 1] * 5, (0, 1), 0.5)],
)
def test_many_of_ours_at_once_are_as_one_by_one(
    values: list[float], bounds: tuple[float, float], epsilon: float
) -> None:
    """A Kolmogorov-Smirnov distance that chance exceeds once in a million times.

    The answers that are computed at once are cheap, so there are many of them. Caught: noise of
    another epsilon, or on other totals, on either way.
    """
    ours = adapter("ours")
    column, runs, times = ours.column(values), 3000, 30
    single = np.sort([ours.release(column, bounds, epsilon) for _ in range(runs)])

    def distance(epsilon: float) -> float:
        each = [ours.repeat(column, bounds, epsilon, runs) for _ in range(times)]
        many = np.sort(np.concatenate(each))
        assert len(many) == times * runs
        places = np.concatenate([single, many])
        shares = [np.searchsorted(s, places, side="right") / len(s) for s in (single, many)]
        return float(np.max(np.abs(shares[0] - shares[1])))

    most = math.sqrt(math.log(2e6) / 2 * (1 + 1 / times) / runs)
    assert distance(epsilon) < most < distance(2 * epsilon)


def test_lists_and_arrays_of_answers_are_added_up_alike() -> None:
    answers = [0.5, 0.7, 0.1, 0.4]
    of_list, of_array = Squares(0.5), Squares(0.5)
    for part in (answers[:3], answers[3:]):
        of_list.add([*part, math.nan, None, math.inf])
        of_array.add(np.array(part))
    assert of_list.invalid == 6
    assert of_list.runs == of_array.runs == 4
    squares = [0.0, 0.04, 0.16, 0.01]
    told = of_list.told()
    assert told["mse"] == pytest.approx(np.mean(squares))
    assert told["error"] == pytest.approx(np.std(squares, ddof=1) / 2)
    assert told["median"] == pytest.approx(0.025)
    assert told["largest"] == pytest.approx(0.16 / 0.21)
    for key, value in of_array.told().items():
        assert value == pytest.approx(told[key]) or key == "invalid"


def test_an_error_is_told_and_the_worker_lives_on(process: Process) -> None:
    with pytest.raises(PeerError, match="KeyError"):
        process.ask("time", rows=17)
    process.ask("hold", rows=17)
    assert process.ask("time", rows=17) > 0


def test_who_is_too_slow_is_given_up(process: Process) -> None:
    with pytest.raises(PeerError, match=r"over 0 s"):
        process.ask("load", seconds=0.001)
    assert process.ask("load") > 0


def test_samples_are_counted(process: Process) -> None:
    assert process.ask("sampling") > 1000


def results(accuracy: list[dict[str, Any]]) -> dict[str, Any]:
    """Those of a run of ours, and of a peer whose errors are twice as large."""
    double = [row | {"mse": 2 * row["mse"], "error": 2 * row["error"]} for row in accuracy]
    times = {"one release, n = 1,000": 0.002, measure.SAMPLES: 1e6, "import": 0.1}
    made = {
        "machine": "a machine", "load": 0.0, "target": 0.03, "minutes": 1.0, "turns": 1,
        "wide_minutes": 1.0, "patience": 60.0, "jobs": 1, "took": {"accuracy": 1.0},
    }  # fmt: skip
    return {
        "runs": {"2026-01-01 12:00": made, "2026-01-02 12:00": made},
        "when": {
            "accuracy": dict.fromkeys(("ours", "pydp"), "2026-01-01 12:00"),
            "speed": dict.fromkeys(("ours", "plain"), "2026-01-01 12:00"),
            "behaviour": {"ours": "2026-01-01 12:00"},
            "columns": dict.fromkeys(("ours", "pydp"), "2026-01-01 12:00"),
        },
        "peers": {
            "ours": {"version": "0.1.0", "megabytes": 1.0, "failed": ""},
            "plain": {"version": "2.0", "megabytes": 1.0, "failed": ""},
            "pydp": {"version": "1.0", "megabytes": 1.0, "failed": ""},
            "opendp": {"version": "", "megabytes": 0.0, "failed": "ERROR: no such release"},
        },
        "accuracy": {"ours": accuracy, "pydp": double},
        "speed": {"ours": times, "plain": times | {"one release, n = 1,000": 0.0005}},
        "behaviour": {"ours": measure.behaviour(OURS, 60.0)},
        "columns": wide(),
    }


def wide() -> dict[str, Any]:
    """Ours, and a peer with three times our error by its means and twice by its sums."""
    cells = [(cell.title, e) for cell in measure.WIDE for e in measure.WIDE_EPSILONS]
    ours: list[dict[str, Any]] = [
        {"cell": title, "epsilon": e, "way": "means", "mse": 1e-6 / e**2, "error": 1e-8 / e**2}
        for title, e in cells
    ]
    sums = [row | {"way": "sums", "mse": 2 * row["mse"]} for row in ours]
    return {"ours": ours, "pydp": [row | {"mse": 3 * row["mse"]} for row in ours] + sums}


@pytest.mark.parametrize(("columns", "epsilon"), [(3, 1.0), (10, 4.0)])
def test_the_error_of_several_columns_is_that_of_the_law(
    process: Process, columns: int, epsilon: float
) -> None:
    """A standard error of at most 2 %; 12 % off would be six of them."""
    found = process.ask(
        "columns", count=columns, rows=10_000, mean=0.1, bounds=(0.0, 1.0), epsilon=epsilon,
        way="means", target=0.02, least=0.0, limit=60.0,
    )  # fmt: skip
    expected = hg.accuracy.expected_error(10_000, (0.0, 1.0), epsilon, mean=0.1, columns=columns)
    assert found["mse"] == pytest.approx(expected**2, rel=0.12)
    assert found["error"] / found["mse"] <= 0.02


def test_rows_of_answers_count_by_their_mean_squared_error() -> None:
    squares = Squares(0.0)
    squares.add_rows([[0.5, 0.7], [math.nan, 0.7], [0.1]], [0.4, 0.4])
    assert (squares.runs, squares.invalid) == (2, 1)
    assert squares.told()["mse"] == pytest.approx((0.05 + 0.09) / 2)


def test_a_run_that_does_not_get_there_keeps_the_last_answer() -> None:
    places = [{"cell": "a", "epsilon": e, "way": "means"} for e in (0.1, 1.0, 4.0)]
    last = [place | {"mse": 1.0} for place in places[:2]] + [places[2] | {"failed": "over 9 s"}]
    rows = [places[0] | {"mse": 2.0}] + [place | {"failed": "not reached"} for place in places[1:]]
    found = merged(last, rows, "today")
    assert [row.get("mse") for row in found] == [2.0, 1.0, None]
    assert [row.get("run") for row in found] == ["today", None, None]


def test_a_section_replaces_itself_alone() -> None:
    found = results([])
    columns, speed = wide_report.section(found), quick.section(found)
    assert "(3x)" in columns
    assert "- 10 columns, one count and the sums, by hand: from 2 to 2 times" in columns
    assert "| one release, n = 1,000 |" in speed
    page = f"# A page\n\n{wide_report.HEADING}\n\nx\n\n{quick.HEADING}\n\ny\n"
    once = replaced(page, columns)
    assert once == f"# A page\n\n{columns}\n\n{quick.HEADING}\n\ny\n"
    twice = f"# A page\n\n{columns}\n\n{speed}\n"
    assert replaced(once, speed) == twice
    assert replaced(twice, speed) == replaced(twice, columns) == twice
    with pytest.raises(ValueError, match="no section '## Other'"):
        replaced(page, "## Other\n\nz")


@pytest.mark.xdist_group("peers")
def test_the_page_is_made_of_the_results(measured: dict[str, Any]) -> None:
    found = copy.deepcopy(measured)
    page = report.page(found)
    assert "did not install: ERROR: no such release" in page
    assert "BoundsError: bounds are missing" in page
    assert "All figures are of one run: 2026-01-01 12:00" in page
    assert "| one release, n = 1,000 | 4x | 1x |" in page  # over the plain aggregate
    assert "54 comparisons" in page
    assert "Where the factor is below" not in page
    for cell in measure.CELLS:
        assert cell.title[1:] in page
    found["when"]["accuracy"]["pydp"] = "2026-01-02 12:00"
    assert "put together from several runs" in report.page(found)


@pytest.mark.xdist_group("peers")
def test_who_comes_close_is_named_with_the_reason(measured: dict[str, Any]) -> None:
    found = copy.deepcopy(measured)
    for row in found["accuracy"]["pydp"]:
        row["mse"] *= 0.8
    page = report.page(found)
    assert "1.60 ± " in page
    assert "n * epsilon is small |" in page
    # Ours with the estimate for a small n * epsilon, where it is small and nowhere else.
    drowned = [row for row in found["accuracy"]["ours"] if "small" in row]
    assert len(drowned) == 12
    for row in drowned:
        row["small"] |= {"mse": row["mse"] / 2, "error": 0.0}
    (line, *_) = [line for line in report.page(found).splitlines() if "is small |" in line]
    assert "| 1.60 ± " in line
    assert "| 3.20 ± " in line


def test_what_no_estimate_can_go_below() -> None:
    """The best guess itself, played: five standard errors (false alarms: 6e-7)."""
    epsilon, rows, mean, runs = 0.1, 20, 0.1, 100_000
    law = hg.Hourglass("0.1", 2**32)
    x, k = (np.asarray(part, dtype=np.float64) for part in law.sample(runs))
    edge, shift = (law.c + 0.5) / law.grid, (1 - 2 * mean) * rows

    def likelihood(noise: Any) -> Any:
        j = np.sign(noise) * np.ceil(np.maximum(np.abs(noise) - edge, 0.0))
        return np.exp(-epsilon * (np.abs(j) + np.abs(k - j)))

    here, there = likelihood(x / law.grid), likelihood(x / law.grid - shift)
    squares = ((1 - 2 * mean) * there / (here + there)) ** 2
    mirrored = likelihood(x / law.grid + shift)
    squares = (squares + ((1 - 2 * mean) * mirrored / (here + mirrored)) ** 2) / 2
    floor = least_mse(epsilon, rows, mean)
    assert abs(squares.mean() - floor) < 5 * squares.std() / math.sqrt(runs)
    # Without a record to tell them apart the middle is the best guess, with many no error is left.
    assert least_mse(1e-2, 1, 0.0) == pytest.approx(0.25, rel=1e-3)
    assert least_mse(1.0, 1000, 0.1) < 1e-50


def test_the_report_says_what_is_out_of_reach() -> None:
    title, wide = "a group of 20, reals in (0, 1), mean 0.1", "reals in (0, 1), mean 0.1, n = 100"
    found = {"pydp": {(t, 0.1): report.Point(0.29, 0.002, 0.3, 0.0, 9000) for t in (title, wide)}}
    said = report._unreachable("pydp", title, 0.1, found)
    assert said is not None
    assert "0.1" in said
    assert "1.90 times less" in said
    assert report._unreachable("pydp", wide, 0.1, found) is None
