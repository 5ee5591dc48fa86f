"""Answers of tens of thousands of groups, in several blocks: every group has its own totals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.core.keys import LONGEST, Keys
from hourglass.core.totals import Groups
from hourglass.estimate.point import EXACT
from hourglass.noise.bits import BLOCK
from hourglass.read.sql.query import MOST_LISTED

pytestmark = pytest.mark.enumeration

GROUPS = 2 * BLOCK + 7
#: The keys of group i: close together, far apart, text, and values of two columns.
KINDS: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "near": lambda i: (i - 5,),
    "far": lambda i: (i * 10**12 - 2**62,),
    "text": lambda i: (f"group {i}",),
    "two columns": lambda i: (f"group {i % 200}", i // 200),
}
#: Rows by the number of their group: none in every third, two in every seventh.
ROWS = np.random.default_rng(3).permutation(
    [i for i in range(GROUPS) if i % 3] + [i for i in range(GROUPS) if i % 3 and not i % 7]
)


def table(kind: str) -> Any:
    keys = zip(*(KINDS[kind](i) for i in ROWS.tolist()), strict=True)
    columns = {f"k{place}": list(column) for place, column in enumerate(keys)}
    return pa.table(columns | {"x": ROWS % 11})


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_public_key_gets_its_totals_and_its_noise(kind: str) -> None:
    """Asked of two groups in three, in another order, and of some that have no rows."""
    chosen = [i for i in np.random.default_rng(4).permutation(GROUPS + 50).tolist() if i % 5]
    by = [f"k{place}" for place in range(len(KINDS[kind](0)))]
    keys = [KINDS[kind](i) for i in chosen]
    found = hg.mean(
        table(kind),
        "x",
        bounds=(0, 10.5),
        epsilon=1,
        by=by,
        keys=keys if len(by) > 1 else [key for (key,) in keys],
        bits=hg.SeededBits(5),
    )
    assert len(chosen) > BLOCK
    assert found.groups == tuple(keys)
    rows = np.bincount(ROWS, minlength=GROUPS + 50)[chosen]
    grid = found._algorithm.grid
    cells = np.array([grid.cell(float(i % 11)) for i in range(11)])[np.array(chosen) % 11]
    blocks = [min(BLOCK, len(rows) - start) for start in range(0, len(rows), BLOCK)]
    mechanism: Any = found._algorithm
    drawn, bits = [], hg.SeededBits(5)
    for size in blocks:
        drawn.append(mechanism.law.sample(size, bits=bits))
    x, k = (np.concatenate(part) for part in zip(*drawn, strict=True))
    assert found.noisy_totals.cells.tolist() == (rows * cells + x).tolist()
    assert found.noisy_totals.sizes.tolist() == (rows + k).tolist()
    assert len(chosen) > EXACT  # computed in doubles, in blocks; one alone from exact integers
    for place in (0, EXACT, BLOCK - 1, BLOCK, len(chosen) - 1):
        alone = found._release(place).mean
        assert found.means[place] == pytest.approx(alone, rel=1e-12, abs=1e-12)
    assert found[keys[7] if len(by) > 1 else keys[7][0]].noisy_totals == found.noisy_totals.take(7)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_secret_keys_are_published_in_order_each_with_its_totals(kind: str) -> None:
    question = mean_question(
        table(kind), "x", bounds=(0, 10), epsilon=40, delta=0.5,
        by=[f"k{place}" for place in range(len(KINDS[kind](0)))],
    )  # fmt: skip
    secret = question.read()
    totals = dict(
        zip(secret.keys, zip(*secret.totals.sums, secret.count, strict=True), strict=True)
    )
    number = {KINDS[kind](i): i for i in range(GROUPS)}
    rows = np.bincount(ROWS, minlength=GROUPS)
    assert {number[key] for key in totals} == set(np.flatnonzero(rows).tolist())
    for key, (cells, count) in totals.items():
        i = number[key]
        assert (cells, count) == (rows[i] * (i % 11 if i % 11 < 10 else 10), rows[i])
    keys, noisy = question.noise(secret, hg.SeededBits(6))  # at this epsilon all zero
    assert question.threshold == 2
    assert list(keys) == sorted(key for key, (_, count) in totals.items() if count > 1)
    assert list(zip(noisy.cells, noisy.sizes, strict=True)) == [
        (noisy.parts * totals[key][0], totals[key][1]) for key in keys
    ]
    assert len(secret.keys) > BLOCK


def test_columns_counts_and_what_lies_outside_in_blocks() -> None:
    """At this epsilon nearly all noise is zero; 30 groups would have to have some by chance."""
    data = table("near")
    ask: dict[str, Any] = {"by": "k0", "keys": range(-5, GROUPS - 5), "epsilon": 50}
    rows, x = np.bincount(ROWS, minlength=GROUPS), np.arange(GROUPS) % 11
    counts = hg.count(data, **ask)
    assert np.mean(counts.counts == rows) > 0.999
    both = hg.mean(data, ["x", "k0"], bounds={"x": (0, 10), "k0": (-5, GROUPS)}, **ask)
    assert np.mean(both.column("x").counts == rows) > 0.999
    assert np.mean(np.abs(both.column("x").sums - rows * x) < 1) > 0.999
    assert (
        np.mean(np.abs(both.column("k0").sums - rows * (np.arange(GROUPS) - 5)) < GROUPS / 5) > 0.99
    )
    sides = hg.mean(data, "x", bounds=(3, 5), outside="1/2", **ask).columns()
    assert np.mean(sides["below"] == rows * (x < 3)) > 0.999
    assert np.mean(sides["above"] == rows * (x > 5)) > 0.999


@pytest.mark.slow
@pytest.mark.parametrize("null", [False, True])
def test_long_lists_of_keys_are_not_in_the_query(null: bool) -> None:
    """DuckDB would take longer to read them; what is not public is left out all the same.

    Names that are too long are left out before they are grouped: they might not fit the result.
    """
    groups, rows = MOST_LISTED + 50, 5 * (MOST_LISTED + 50)
    names = [None if i % 7 == 0 else f"g{i % groups}" for i in range(rows)]
    known = [*names[:1], "x" * LONGEST, None, None, *names[4:]]  # longer ones count as NULL
    names[1:4] = ["x" * LONGEST, "x" * (LONGEST + 1), "ü" * LONGEST]
    table = pa.table({"g": names, "x": [1] * rows, "p": range(rows)})
    for size, unit in product((MOST_LISTED, MOST_LISTED + 1), (None, hg.per_person("p"))):
        keys = [f"g{i}" for i in range(size - null)] + [None] * null
        question = mean_question(table, "x", bounds=(0, 1), epsilon=1, by="g", keys=keys, unit=unit)
        assert question.keys is not None
        listed = size <= MOST_LISTED or unit is not None
        assert (" IN (" in (question.sql or "")) == listed
        secret = question.read()
        assert (len(secret.keys) == len(keys)) == listed
        assert all(len((key or "").encode()) <= LONGEST for (key,) in secret.keys)
        assert question.keys.padded(secret).count.tolist() == [known.count(key) for key in keys]


def test_a_secret_name_without_records_is_never_published() -> None:
    """All its values are missing, or it fills up a list: no noise may publish it."""
    data = pa.table({"g": ["a", "b"], "x": [1.0, 2.0]})
    question = mean_question(data, "x", bounds=(0, 10), epsilon=1, by="g", delta=0.5)
    always = replace(question, threshold=-(10**6))
    none = np.zeros(2, dtype=np.int64)
    secret = Groups.of(Keys.of([("a",), ("b",)], 1), np.array([0, 1]), none, none)
    keys, noisy = always.noise(secret, hg.SeededBits(1))
    assert list(keys) == [("b",)]
    assert len(noisy.sizes) == 1
