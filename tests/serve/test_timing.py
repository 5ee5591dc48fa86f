"""How long an answer takes tells nothing of the data.

Two stages. The step from the kept totals to the noisy ones ends on a beat: measured here. What
comes after is computed from the noisy totals alone, so its time says no more than the answer does;
the last test measures the whole way at an epsilon so small that answers from either dataset are
all but equally likely.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata

from hourglass.ask.run import run
from hourglass.estimate.interval import interval
from hourglass.noise.bits import SECURE
from hourglass.serve import pacing, previews
from hourglass.serve.catalogue import Column, Dataset, Grouping
from hourglass.serve.holdings import Choice, Holding, register
from hourglass.serve.pacing import AWAKE, Paced

from .support import Place, write_data

pytestmark = [pytest.mark.attack, pytest.mark.statistical, pytest.mark.slow]

#: Samples and the correlation that may not be passed: independent times pass it with a
#: probability of 3e-7 at most. Without the beat, secret names have one of 0.78; if the rows were
#: read anew, it would be nearly 1.
LEAN = (200, 0.365)
MORE = (800, 0.184)
LONG = (30_000, 0.03)
KEYS = tuple(f"ward {i}" for i in range(40))


def holding(folder: Path, rows: int, wards: str) -> Holding:
    path = folder / f"{rows}-{len(wards)}.parquet"
    write_data(path, rows, wards)
    columns = {name: Column(name, (0, 100)) for name in ("minutes", "cost")}
    return register(
        Dataset(
            name="d",
            source=str(path),
            budget="b",
            columns=columns,
            groupings={
                "ward": Grouping(("ward",), KEYS),
                "ward,town": Grouping(("ward", "town"), delta=Fraction(1, 10**6), most=100),
            },
            epsilons=(Fraction(1, 10**6), Fraction(1)),
        )
    )


def correlation(
    works: Sequence[Callable[[], Any]],
    samples: int,
    before: Callable[[int], None] = lambda which: None,
) -> float:
    """Spearman's, between which of two works is done and how long it takes, in random order."""
    which = np.random.default_rng(4711).integers(0, 2, samples)
    for work in [*works] * 20:
        work()
    took = np.empty(samples)
    for i, each in enumerate(which.tolist()):
        work = works[each]
        before(each)
        started = time.perf_counter_ns()
        found = work()
        took[i] = time.perf_counter_ns() - started
        del found  # noisy, and so no secret: how long it takes to let go of it is not measured
    return float(np.corrcoef(which, rankdata(took))[0, 1])


def paced(found: Holding, by: str, slot: float = 0.0005) -> Callable[[], Any]:
    """The step that touches secrets, on a beat that is quicker than the real one."""
    question = Paced(found.question(Choice(("minutes",), by), Fraction(1)), found.noised(by), slot)
    return lambda: question.noise(question.read(), SECURE)


def swapped(holdings: Sequence[Holding], choice: Choice) -> Callable[[int], None]:
    """Puts the totals of either dataset in the place of the first one's.

    The question that is measured is then the same object with the same code around it. Two equal
    objects alone differ by 100 ns, for where they lie in memory, and 30,000 samples show it.
    """
    questions = [each.question(choice, Fraction(1)) for each in holdings]
    assert questions[0].query == questions[1].query
    totals = [each.read() for each in questions]

    def put(which: int) -> None:
        holdings[0].kept._totals[questions[0].query] = totals[which]

    return put


def answered(question: Any) -> Any:
    return run(question).to_dict()


CASES = {
    "empty and large": ((0, "a"), (300_000, "a"), ""),
    "groups absent and present": ((300, "a"), (300, ",".join(KEYS)), "ward"),
    "groups of an empty and a large table": ((0, "a"), (300_000, ",".join(KEYS)), "ward"),
    "secret names, none and many": ((0, "a"), (300, ",".join(KEYS)), "ward,town"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("samples", "most"), [LEAN, pytest.param(*LONG, marks=pytest.mark.long)], ids=["lean", "long"]
)
def test_noise_is_there_on_the_beat_whatever_the_data(
    tmp_path: Path, case: str, samples: int, most: float
) -> None:
    one, other, by = CASES[case]
    holdings = [holding(tmp_path, *each) for each in (one, other)]
    work, put = paced(holdings[0], by), swapped(holdings, Choice(("minutes",), by))
    assert abs(correlation([work, work], samples, put)) < most


class Slower:
    """A question whose secret step takes a quarter of a millisecond longer."""

    def __init__(self, question: Any) -> None:
        self.question = question

    def __getattr__(self, name: str) -> Any:
        return getattr(self.question, name)

    def read(self) -> Any:
        end = time.perf_counter_ns() + 250_000
        while time.perf_counter_ns() < end:
            pass
        return self.question.read()


def test_the_beat_hides_what_would_be_seen_without_it(tmp_path: Path) -> None:
    question = holding(tmp_path, 300, "a").question(Choice(("minutes",)), Fraction(1))
    plain = [question, Slower(question)]
    bare = [partial(lambda each: each.noise(each.read(), SECURE), each) for each in plain]
    on_beat = [Paced(each, 1, 0.006) for each in plain]
    beaten = [partial(lambda each: each.noise(each.read(), SECURE), each) for each in on_beat]
    samples, most = LEAN
    assert abs(correlation(bare, samples)) > 0.5
    assert abs(correlation(beaten, samples)) < most


def _ten_times(work: Callable[[], object]) -> None:
    for _ in range(10):
        work()


def test_the_measurement_would_see_groups_that_are_looked_up(tmp_path: Path) -> None:
    """The totals as an engine hands them out: their number is the number of groups.

    Ten times, so that a busy machine does not hide the difference, which is a tenth of the time.
    """
    works = []
    for wards in ("a", ",".join(KEYS)):
        found = holding(tmp_path, 300, wards)
        question = found.question(Choice(("minutes",), "ward"), Fraction(1))
        groups, keys = question.read(), question.keys
        assert keys is not None
        works.append(partial(_ten_times, partial(keys.padded, groups.take(groups.count > 0))))
    assert abs(correlation(works, MORE[0])) > MORE[1]


@pytest.mark.long
@pytest.mark.parametrize("case", ["empty and large", "groups absent and present"])
def test_the_whole_way_takes_as_long_whatever_the_data(tmp_path: Path, case: str) -> None:
    (_, one), (_, other), by = CASES[case]
    choice = Choice(("minutes",), by)
    holdings = [holding(tmp_path, rows, wards) for rows, wards in ((0, one), (300, other))]
    work = partial(answered, holdings[0].question(choice, Fraction(1, 10**6)))
    samples, most = LONG
    assert abs(correlation([work, work], samples, swapped(holdings, choice))) < most


@pytest.mark.enumeration
@pytest.mark.parametrize("by", ["", "town"])
def test_a_preview_takes_as_long_whoever_asked_for_it_before(running: Place, by: str) -> None:
    """Nothing that was computed for one person is used for another, or is kept for everybody."""
    state = running.service().state
    ana, ben = (state.catalogue.people[name] for name in ("ana", "ben"))

    def computed(person: Any) -> tuple[int, ...]:
        caches = (previews._simulated, previews._chance, interval)
        before = [each.cache_info() for each in caches]
        asked = state.asked(person, "clinic", ["minutes", "cost"], by, "", False, "0.1")
        found.append(previews.worth(state, person, asked, 4711).previews)
        pairs = zip(caches, before, strict=True)
        return tuple(each.cache_info().misses - old.misses for each, old in pairs)

    found: list[Any] = []
    assert [computed(each) for each in (ben, ana, ana)] == [(1, 1, 0), (1, 1, 0), (0, 0, 0)]
    assert found[0] == found[1] == found[2]


class Stopped:
    """A clock on which a thread is stopped once, at a moment, for a while."""

    def __init__(self, at: float, lasting: float) -> None:
        self.now, self.at, self.lasting = 0.0, at, lasting

    def monotonic(self) -> float:
        self.sleep(1e-6)
        return self.now

    def sleep(self, seconds: float) -> None:
        end = self.now + seconds
        if end > self.at:  # who sleeps meanwhile sleeps on, if need be until the stop is over
            working = end - self.at if seconds < AWAKE else 0.0
            end, self.at = max(end, self.at + self.lasting + working), np.inf
        self.now = end


class Working:
    """A question whose secret step takes so long, on that clock."""

    epsilon = delta = Fraction(1)
    sql, text, subject = None, "", ""

    def __init__(self, clock: Stopped, seconds: float) -> None:
        self.clock, self.seconds = clock, seconds

    def read(self) -> None:
        return None

    def noise(self, secret: None, bits: Any) -> None:
        for _ in range(10):
            self.clock.sleep(self.seconds / 10)


@pytest.mark.enumeration
def test_who_is_stopped_anywhere_ends_on_a_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped at any moment for any time, a short step and a long one end on the same beat."""
    slot = 0.005
    for at in np.arange(0, 0.0052, 0.0001):
        for lasting in (0.0, 3e-5, 0.0003, 0.004, 0.0049, 0.012):
            ends = []
            for step in (1e-4, 4e-4):
                clock = Stopped(at, lasting)
                monkeypatch.setattr(pacing, "time", clock)
                question = Paced(Working(clock, step), 0, slot)
                began = question.read()
                question.noise(began, SECURE)
                ends.append(clock.now - began)
                assert ends[-1] % slot < 2 * pacing.LATE, (at, lasting, step)
            beats = [round(end / slot) for end in ends]
            assert beats[0] == beats[1], (at, lasting)
