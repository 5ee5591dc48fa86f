"""SQL for the bucket of a number x: how many public thresholds lie at or below it.

Every engine compares with the same constants, so all of them find the same bucket. A balanced tree
of CASEs works on all of them. For the default scale, a thousand candidates, it is 150 KB of SQL,
which Spark takes tens of seconds to compile: there, and on PostgreSQL, the thresholds are looked up
in an array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...core.limits import Scale, doubles_around
from .cells import double, whole

__all__ = ["Thresholds", "halving", "of_doubles", "of_integers", "tree", "width_bucket"]


@dataclass(frozen=True)
class Thresholds:
    """In increasing order: what the numbers of a column are compared with.

    ``passed`` further thresholds lie at or below every number of the column's type.
    """

    values: tuple[int | float, ...]
    passed: int = 0
    type: str = "DOUBLE"

    @property
    def constants(self) -> list[str]:
        """Each as SQL."""
        wide = None if self.type in ("DOUBLE", "BIGINT") else self.type
        return [double(v) if isinstance(v, float) else whole(v, wide) for v in self.values]


def of_doubles(scale: Scale) -> Thresholds:
    """A number is in a bucket past c if x >= c, and in the next one if x > c."""
    return Thresholds(
        tuple(
            end
            for down, up in map(doubles_around, scale.candidates)
            for end in (up, math.nextafter(down, math.inf))
        )
    )


def of_integers(scale: Scale, reach: tuple[int, int], wide: str | None) -> Thresholds:
    """The same for integers of a type that holds those from ``reach[0]`` to ``reach[1]``."""
    least, most = reach
    ends = [end for c in scale.candidates for end in (math.ceil(c), math.floor(c) + 1)]
    within = tuple(end for end in ends if least < end <= most)
    return Thresholds(within, sum(end <= least for end in ends), wide or "BIGINT")


def tree(thresholds: Thresholds) -> str:
    """The bucket as one expression: a balanced tree of CASEs."""
    return _tree(thresholds.constants, thresholds.passed)


def _tree(constants: Sequence[str], passed: int) -> str:
    if not constants:
        return str(passed)
    middle = (len(constants) - 1) // 2
    low = _tree(constants[:middle], passed)
    high = _tree(constants[middle + 1 :], passed + middle + 1)
    return f"CASE WHEN x < {constants[middle]} THEN {low} ELSE {high} END"


def width_bucket(thresholds: Thresholds) -> str:
    """The bucket by PostgreSQL's own search in a sorted array."""
    listed = ",".join(str(v) for v in thresholds.values)
    found = f"WIDTH_BUCKET(x, CAST('{{{listed}}}' AS {thresholds.type}[]))"
    return f"{found} + {thresholds.passed}"


def halving(thresholds: Thresholds, source: str) -> list[tuple[str, str]]:
    """Steps that bisect an array of the thresholds; the last one has the bucket t of each x.

    t counts the thresholds that are known to lie at or below x. Each step halves the number that
    may follow. It is the same for every x, so no index leaves the array.
    """
    array = f"[{', '.join(thresholds.constants)}]"
    steps = [("halved0", f"SELECT x, {array} AS c, CAST(0 AS INTEGER) AS t FROM {source}")]
    for half in _halves(len(thresholds.values)):
        past = f"CASE WHEN x < ELEMENT_AT(c, t + {half}) THEN 0 ELSE {half} END"
        last = steps[-1][0]
        steps.append((f"halved{len(steps)}", f"SELECT x, c, t + {past} AS t FROM {last}"))
    name, passed = steps[-1][0], thresholds.passed
    return [*steps, ("bucketed", f"SELECT t + {passed} AS t FROM {name}")]


def _halves(size: int) -> Iterator[int]:
    while size:
        half = (size + 1) // 2
        yield half
        size -= half
