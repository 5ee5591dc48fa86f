"""The parts that the exhibits stand on: data, tables, the one door for randomness."""

from __future__ import annotations

import ast
import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hourglass.paper
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals, Totals
from hourglass.errors import OptionError
from hourglass.mechanisms.base import make
from hourglass.noise import SeededBits
from hourglass.paper import EXHIBITS, Point, Settings, Table, chosen
from hourglass.paper.data import UNIT, data_set, data_sets, grid_data_set
from hourglass.paper.exhibit import all_above
from hourglass.paper.measure import measure
from hourglass.paper.style import LOOKS, _apart
from hourglass.paper.sweeps import means

from .conftest import read_table

FOLDER = Path(hourglass.paper.__file__).parent


def test_no_module_has_a_second_source_of_randomness() -> None:
    forbidden = {"random", "default_rng", "secrets", "urandom", "Generator"}
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = {getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "name", "")}
            assert not names & forbidden, path.name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["e1", "e5", "grids", "centre", "estimators"])
def test_the_bits_decide_everything(name: str) -> None:
    def points(seed: int) -> tuple[Point, ...]:
        settings = Settings(100, 200, SeededBits(seed))
        return EXHIBITS[name].table(settings, lambda: None).points

    # repr, as a closed form that does not exist is NaN, which equals nothing.
    assert repr(points(1)) == repr(points(1))
    assert repr(points(1)) != repr(points(2))


class Offset:
    """An algorithm without noise that is off by a known amount, one way and the other."""

    name = "offset"
    adjacency = "add-remove"
    grid = UNIT

    def noise(self, totals: Totals, *, bits: object, size: int) -> NoisyTotals:
        shift = UNIT.cells * np.where(np.arange(size) % 2 == 0, 3, -1)
        cells = totals.cells + shift
        return NoisyTotals(cells, UNIT.cells * totals.count - cells, UNIT.cells)


def test_measure_is_the_mean_of_squares_and_its_standard_error() -> None:
    settings = Settings(1000, bits=SeededBits(3))
    data = data_set(0.5, 100, settings.bits)
    error = measure(Offset(), data, settings)  # type: ignore[arg-type]
    assert error.mse == pytest.approx((0.03**2 + 0.01**2) / 2, rel=1e-6)
    half = (0.03**2 - 0.01**2) / 2
    assert error.se == pytest.approx(half / math.sqrt(999), rel=1e-6)


@pytest.mark.parametrize("mean", [0.0, 0.01, 0.25, 0.5, 0.9, 1.0])
def test_a_data_set_has_the_mean_asked_for(mean: float) -> None:
    # The mean of uniform values: 6 standard errors, a false alarm of 2e-9.
    records = 10_000
    data = data_set(mean, records, SeededBits(4))
    reach = min(mean, 1 - mean)
    assert abs(data.mean - mean) <= 6 * reach / math.sqrt(3 * records)
    assert data.totals.count == records
    assert data.totals.cells / (UNIT.cells * records) == pytest.approx(data.mean, abs=2**-33)
    if reach:
        assert data.mean != mean  # it is a draw, not the expectation


def test_many_data_sets_are_one_a_run() -> None:
    data = data_sets(0.25, 8, 1000, SeededBits(5))
    assert data.totals.cells.shape == data.totals.count.shape == data.mean.shape == (1000,)
    assert len(set(data.mean)) == 1000
    shares = data.totals.cells.astype(float) / (8 * UNIT.cells)
    np.testing.assert_allclose(shares, data.mean, atol=2**-33)


def test_grid_data_live_on_the_grid() -> None:
    grid = Grid(Bounds(1, 5), 4, own=True)
    data = grid_data_set(0.3, 10_000, SeededBits(6), grid)
    # A sum of values with variance below 1/4 of a range squared: 6 standard errors.
    assert abs(data.mean - 0.3) <= 6 * 0.5 / 100
    assert data.totals.cells == round(data.mean * 4 * 10_000)


def test_every_mean_of_a_sweep_is_met_once() -> None:
    # At 100, 200, 400 and 800 records some means near the ends are also 0.01 or 0.05.
    for records in (*range(100, 1000), 10_000):
        found = means(records)
        assert all(b - a > 1e-12 for a, b in itertools.pairwise(found)), records
        assert (found[0], found[-1]) == (0, 1)


def test_a_table_survives_its_file(tmp_path: Path) -> None:
    table = Table(
        "epsilon",
        "mse",
        (Point("a", 0.1, 2.5, 0.25, 2.4, 7, "left"), Point("b", 1.0, 3.0)),
    )
    table.write(tmp_path / "t.csv")
    back = read_table(tmp_path / "t.csv")
    assert (back.x, back.y) == ("epsilon", "mse")
    assert back.points[0] == table.points[0]
    assert repr(back.points[1]) == repr(table.points[1])
    assert (tmp_path / "t.csv").read_text().splitlines()[0] == (
        "panel,series,epsilon,mse,standard_error,closed_form,runs,bits"
    )


def test_ratios_carry_their_error() -> None:
    ratio = Point("a", 1, 6.0, 0.6, 6.6, 10).over(Point("b", 1, 3.0, 0.4, 3.3, 20))
    assert (ratio.series, ratio.y, ratio.closed_form, ratio.runs) == ("a / b", 2.0, 2.0, 10)
    assert ratio.se == pytest.approx(2 * math.hypot(0.1, 0.4 / 3))


def test_all_above_has_three_answers() -> None:
    high, close, low = (Point("", 0, y, 0.1) for y in (2.0, 1.3, 0.1))
    assert all_above([high], 1) is True
    assert all_above([high, close], 1) is None
    assert all_above([high, close, low], 1) is False


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.01, 0.2))
def test_labels_keep_their_distance_and_order(places: list[float], gap: float) -> None:
    moved = _apart(sorted(places), gap)
    assert len(moved) == len(places)
    assert all(b - a >= gap - 1e-9 for a, b in itertools.pairwise(moved))


def test_looks_differ_in_colour_and_in_grey() -> None:
    assert len({look.label for look in LOOKS.values()}) == len(LOOKS)
    assert len({(look.dash, look.mark) for look in LOOKS.values()}) == len(LOOKS)
    colours = [look.colour for name, look in LOOKS.items() if name != "lower bound"]
    assert len(set(colours)) == len(colours)


def test_exhibits_are_chosen_by_name() -> None:
    assert [e.name for e in chosen(["E3", "e1"], EXHIBITS)] == ["e1", "e3"]
    assert chosen([], EXHIBITS) == list(EXHIBITS.values())
    with pytest.raises(OptionError, match="e10"):
        chosen(["e10"], EXHIBITS)


@pytest.mark.parametrize("settings", [{"runs": 3}, {"records": 5}])
def test_settings_too_small_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(OptionError, match=next(iter(settings))):
        Settings(**settings)  # type: ignore[arg-type]


def test_the_balls_are_those_of_the_laws_sampled() -> None:
    # Every corner lies exactly one epsilon below the top of the law.
    for name in ("independent", "shifted"):
        algorithm = make(name, Fraction(1), UNIT)
        for p in EXHIBITS["balls"].table(Settings(), lambda: None).series(name):
            parts, offset = algorithm.parts, algorithm.offset  # type: ignore[attr-defined]
            t = parts * UNIT.cells * Fraction(p.x) + offset * Fraction(p.y)
            loss = abs(t) * algorithm.sum_law.rate  # type: ignore[attr-defined]
            loss += abs(Fraction(p.y)) * algorithm.count_law.rate  # type: ignore[attr-defined]
            assert loss == 1
