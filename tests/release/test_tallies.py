"""Totals and differences of counts by group: their intervals against the exact law of the noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import hourglass as hg
from hourglass.core.totals import NoisyCounts
from hourglass.mechanisms.base import make
from hourglass.release.counts import Counts


def counts(noisy: list[int], epsilon: str = "1", **terms: Any) -> Counts:
    """An answer with these noisy counts."""
    exact = Fraction(epsilon)
    given: dict[str, Any] = {"unit": "one row", "private": True} | terms
    return Counts(
        noisy_totals=NoisyCounts(np.array(noisy, dtype=object)),
        epsilon=exact,
        delta=Fraction(0),
        by=("g",),
        groups=[(str(i),) for i in range(len(noisy))],
        _algorithm=make("laplace", exact, None, "count"),
        **given,
    )


def law(epsilon: float, copies: int) -> tuple[npt.NDArray[np.float64], int]:
    """The law of a sum of discrete Laplace noises by plain convolution, and where zero is."""
    far = int(40 / epsilon)
    one = np.exp(-epsilon * np.abs(np.arange(-far, far + 1)))
    one /= one.sum()
    found = one
    for _ in range(copies - 1):
        found = np.convolve(found, one)
    return found, copies * far


@pytest.mark.parametrize("copies", [2, 3, 30])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_a_total_is_covered_and_hardly_more(epsilon: str, copies: int, confidence: float) -> None:
    """Caught: the law of another number of groups, one side instead of two, an end left out."""
    mass, zero = law(float(Fraction(epsilon)), copies)
    noisy = [10**6] * copies
    low, high = counts(noisy, epsilon).total().interval(confidence)
    assert low + high == 2 * sum(noisy)
    reach = int(high) - sum(noisy)
    covered = mass[zero - reach : zero + reach + 1].sum()
    assert covered >= confidence
    less = reach - max(1, reach // 25)
    assert less < 0 or mass[zero - less : zero + less + 1].sum() < confidence


@pytest.mark.parametrize("epsilon", ["1/4", "2"])
def test_a_difference_is_covered_and_hardly_more(epsilon: str) -> None:
    mass, zero = law(float(Fraction(epsilon)), 2)  # the noise is symmetric
    found = counts([5000, 3000], epsilon).difference("0", "1")
    assert found.difference == 2000
    low, high = found.interval(0.9)
    reach = int(high) - 2000
    assert low == 2000 - reach
    assert mass[zero - reach : zero + reach + 1].sum() >= 0.9
    assert mass[zero - reach + 1 : zero + reach].sum() < 0.9


def test_one_group_has_its_exact_interval() -> None:
    answer = counts([17, -4, 40])
    for key in answer:
        assert answer.total([key]).interval(0.9) == answer[key].interval(0.9)
        assert answer.total([key]).count == answer[key].count


def test_noise_below_zero() -> None:
    """A total adds up the noisy counts; a difference is that of the counts that are printed."""
    answer = counts([9, -4, -6])
    assert answer.total().count == 0
    assert answer.total().interval().low == 0
    assert answer.difference("0", "1").difference == 9
    assert 9 in answer.difference("0", "1").interval(0.01)
    assert answer.total(["0", "1"]).count == 5


def test_printed_and_stored() -> None:
    answer = counts([1200, 300, 5], private=False)
    total, difference = answer.total(), answer.difference("0", "1")
    assert "total of 3 groups" in str(total)
    assert "1,505" in str(total)
    assert "count of 0 minus count of 1" in str(difference)
    assert "NOT PRIVATE" in str(total)
    assert total.to_dict()["private"] is False
    assert total.to_dict()["groups"] == ["0", "1", "2"]
    assert difference.to_dict(0.9)["difference"] == 900
    assert difference.to_dict(0.9)["interval"]["confidence"] == 0.9
    assert repr(total) == "CountTotal(count=1505, keys=('0', '1', '2'), private=False)"
    assert "clamped" not in str(total)
    assert Counts.from_dict(answer.to_dict()).total().interval() == total.interval()


def test_persons_are_called_persons() -> None:
    table = pd.DataFrame({"g": ["a", "a", "b"], "id": [1, 2, 3]})
    answer = hg.count(table, by="g", keys=["a", "b"], unit=hg.per_person("id"), epsilon=1)
    assert "persons of a minus persons of b" in str(answer.difference("a", "b"))
    assert "persons" in str(answer.total())


def test_what_cannot_be_combined() -> None:
    answer = counts([1, 2])
    with pytest.raises(hg.OptionError, match="at least one"):
        answer.total([])
    with pytest.raises(hg.OptionError, match="named twice"):
        answer.total(["0", "0"])
    with pytest.raises(hg.OptionError, match="not a group"):
        answer.total(["z"])
    with pytest.raises(hg.OptionError, match="same group"):
        answer.difference("0", "0")
    with pytest.raises(hg.OptionError, match="confidence"):
        answer.total().interval(2)
