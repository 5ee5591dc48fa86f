"""The grey-box audit: record a run on D, replay its noise on D', and compare.

With the noise fixed, the release is a function of the data. Between neighbours the noisy totals may
change by (q, 1), q a whole number of cells in 0..G, and everything else must be unchanged or follow
from them; this is all that the proof requires of the rest of the code. With several columns they
change by (q_1, ..., q_d, 1): the shared count changes once, in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from ..noise.bits import Bits
from ..release.release import Release
from .finding import Finding
from .replay import RecordingBits, ReplayError

__all__ = ["Path", "Problem", "compare", "greybox_finding", "neighbours"]

#: Runs a path on plain values with the given bits, and returns the release as plain values.
Run = Callable[[Sequence[Any], Bits], Mapping[str, Any]]
Problem = str

#: What may differ between neighbours; all of it must follow from the noisy totals.
DERIVED: Final = frozenset({
    "mean", "sum", "count", "std", "variance", "few", "intervals", "expected_error", "noisy_totals",
    "outside", "below", "above",
})  # fmt: skip


#: On a coarse grid two draws agree now and then, but not this many in a row.
TRIES: Final = 64


@dataclass(frozen=True)
class Path:
    """A path from values to a release; ``records`` is how many records a neighbour may add.

    An answer by group has a mapping from names to releases under "groups"; there only ``touched``,
    the group of the neighbour's row, may differ. ``counted``, if given, returns how many records
    the neighbour's last row is: none if a value asked for is missing; ``sided`` returns what it
    adds to the numbers of values below and above the bounds.
    """

    name: str
    run: Run
    records: int = 1
    rebuild: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    touched: str | None = None
    counted: Callable[[Any], int] | None = None
    sided: Callable[[Any], tuple[int, int]] | None = None


def neighbours(lower: float, upper: float) -> Iterator[tuple[str, list[float], list[float]]]:
    """Pairs that differ by one critical record: at, near and beyond the bounds."""
    middle = lower + (upper - lower) / 2
    bases = {
        "no records": [],
        "one record": [middle],
        "equal records and missing ones": [middle, math.nan, middle, math.nan, math.nan],
        "many records": [lower + (upper - lower) * (i % 97) / 96 for i in range(200)],
    }
    added = {
        "the lower bound": lower,
        "the upper bound": upper,
        "the middle": middle,
        "just below the upper bound": math.nextafter(upper, lower),
        "just above the upper bound": math.nextafter(upper, math.inf),
        "far above": 1e300,
        "far below": -1e300,
        "infinity": math.inf,
        "minus infinity": -math.inf,
        "a missing value": math.nan,
    }
    for base, values in bases.items():
        for name, value in added.items():
            yield f"{base}, and {name}", values, [*values, value]


def greybox_finding(
    path: Path, pairs: Sequence[tuple[str, list[Any], list[Any]]], *, thorough: bool = True
) -> Finding:
    """The grey-box audit of all pairs: the first problem, or that there is none.

    ``thorough`` also checks, once, that the noise comes only from the bits.
    """
    recording: _Recording | None = None
    for pair, data, neighbour in pairs:
        if recording is None or recording.data is not data:
            recording = _Recording(path, data)
            recording.check(thorough=thorough and pair == pairs[0][0])
        found = recording.problems or recording.replayed_on(neighbour)
        if found:
            words = f"{pair}: {found[0]}"
            return Finding("grey box", path.name, False, words, {"pair": pair, "problems": found})
    words = f"{len(pairs)} pairs of neighbours, only the totals differ, by at most one record"
    return Finding("grey box", path.name, True, words, {"pairs": len(pairs)})


class _Recording:
    """A run of a path on D, with the random words that it used."""

    def __init__(self, path: Path, data: Sequence[Any]) -> None:
        self.path, self.data = path, data
        self.bits = RecordingBits()
        self.answer: Mapping[str, Any] = {}
        self.problems: list[Problem] = []

    def check(self, *, thorough: bool) -> None:
        """Run it; if ``thorough``, check that the noise comes only from the bits."""
        try:
            self.answer = self.path.run(self.data, self.bits)
            if not self.bits.portions:
                self.problems = ["no noise was drawn from the source of bits"]
            elif thorough:
                self.problems = self._of_the_noise()
        except Exception as error:
            self.problems = [f"a run ended in {type(error).__name__}"]

    def _of_the_noise(self) -> list[Problem]:
        path, data = self.path, self.data
        if path.run(data, self.bits.replayed()) != self.answer:
            return ["the same bits gave another answer: there is noise from elsewhere"]
        if all(path.run(data, RecordingBits()) == self.answer for _ in range(TRIES)):
            return ["other bits gave the same answer: the noise is not drawn from them"]
        return []

    def replayed_on(self, neighbour: Sequence[Any]) -> list[Problem]:
        """The problems that a run on the neighbour shows."""
        replayed = self.bits.replayed()
        try:
            after = self.path.run(neighbour, replayed)
        except ReplayError:
            return ["the number of random words depends on the data"]
        except Exception as error:
            return [f"a run ended in {type(error).__name__}"]
        if not replayed.finished:
            return ["fewer random words were drawn for the neighbour"]
        return compare(self.path, self.answer, after) or self._miscounted(neighbour, after)

    def _miscounted(self, neighbour: Sequence[Any], after: Mapping[str, Any]) -> list[Problem]:
        if self.path.sided is not None:
            sides = self.path.sided(neighbour[-1])
            found = tuple(_side_moves(self.answer["noisy_totals"], after["noisy_totals"]))
            if found != sides:
                return [f"the numbers outside moved by {found} for a row that adds {sides}"]
        if self.path.counted is None:
            return []
        expected, moved = self.path.counted(neighbour[-1]), _size(after) - _size(self.answer)
        if moved == expected:
            return []
        return [f"the count moved by {moved} for a row that is {expected} records"]


def compare(path: Path, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Problem]:
    """The differences between two releases with the same noise that are not allowed."""
    if "groups" in before:
        return _compare_groups(path, before["groups"], after["groups"])
    if "columns" in before:
        return _compare_columns(path, before, after)
    rebuild = path.rebuild or _rebuilt
    problems = [
        f"{name} differs"
        for name in before.keys() | after.keys()
        if name not in DERIVED and before.get(name) != after.get(name)
    ]
    for answer in (before, after):
        problems += [
            f"{name} does not follow from the noisy totals"
            for name, value in rebuild(answer).items()
            if not _same(value, answer[name])
        ]
    return problems + _moved(path, before, after)


def _compare_groups(
    path: Path, before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[Problem]:
    if list(before) != list(after):
        return ["other groups are shown"]
    problems = [
        f"group {name} differs, and the row is not of it"
        for name in before
        if name != path.touched and before[name] != after[name]
    ]
    if path.touched is not None and path.touched in before:
        problems += compare(path, before[path.touched], after[path.touched])
    return problems


def _compare_columns(
    path: Path, before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[Problem]:
    """Compare each column as a release, and check that they share one count."""
    if list(before["columns"]) != list(after["columns"]):
        return ["other columns are shown"]
    problems = [
        f"{name} differs"
        for name in before.keys() | after.keys()
        if name not in {*DERIVED, "columns"} and before.get(name) != after.get(name)
    ]
    for name, column in before["columns"].items():
        found = compare(path, column, after["columns"][name])
        problems += [f"column {name}: {problem}" for problem in found]
    for answer in (before, after):
        counts = [column["count"] for column in answer["columns"].values()]
        sizes = {_size(column) for column in answer["columns"].values()}
        if len(sizes) > 1 or any(count != answer["count"] for count in counts):
            problems.append("the columns do not share one count")
    return problems


def _size(answer: Mapping[str, Any]) -> Fraction:
    """The exact noisy number of records, which is an integer for the hourglass."""
    if "columns" in answer:
        return _size(next(iter(answer["columns"].values())))
    totals = answer["noisy_totals"]
    if "count" in totals:
        return Fraction(totals["count"])
    return Fraction(totals["cells"] + totals["rest"], totals["parts"] * answer["grid"])


def _rebuilt(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    return Release.from_dict(dict(answer)).to_dict()


def _same(one: Any, two: Any) -> bool:
    return bool(one == two) or (one != one and two != two)


def _moved(path: Path, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Problem]:
    """The totals moved by (q, 1) for each record, q in 0..G; or not at all."""
    totals, others = before["noisy_totals"], after["noisy_totals"]
    if not all(isinstance(x, int) for t in (totals, others) for x in t.values()):
        return ["the noisy totals are not whole numbers"]
    if "count" in totals:
        moved = others["count"] - totals["count"]
        right = 0 <= moved <= path.records
        return [] if right else [f"the count moved by {moved}, and may by {path.records} at most"]
    parts, G = totals["parts"], before["grid"]
    cells, rest = others["cells"] - totals["cells"], others["rest"] - totals["rest"]
    records, remainder = divmod(cells + rest, parts * G)
    if remainder or cells % parts:
        return ["the noisy totals moved by a part of a cell"]
    q = cells // parts
    if not 0 <= records <= path.records:
        return [f"the count moved by {records}, and may move by {path.records} at most"]
    if not 0 <= q <= records * G:
        return [f"the sum moved by {q} cells for {records} records of 0..{G} cells"]
    if "squares" in totals and path.records == 1:
        squares, fold = others["squares"] - totals["squares"], parts // (2 * G)
        if squares != fold * q * q:
            return [f"the sum of squares moved by {squares}, and not by {fold} times {q} squared"]
    sides = _side_moves(totals, others)
    if any(side < 0 for side in sides) or sum(sides) > records:
        return [f"the numbers outside moved by {sides} for {records} records"]
    return []


def _side_moves(totals: Mapping[str, Any], others: Mapping[str, Any]) -> list[int]:
    """The changes of the numbers of values outside the bounds, if there are any."""
    return [others[name] - totals[name] for name in ("below", "above") if name in totals]
