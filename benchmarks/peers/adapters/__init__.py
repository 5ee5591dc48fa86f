"""One file a peer, with the call that its documentation recommends for a mean.

A module has no import of its peer at the top: the runner reads what to install from it, the
worker calls it inside the peer's own environment. It holds

    TITLE, INSTALL, DISTRIBUTION, MODULE   what it is called, what pip is asked for
    CALL, RETURNS                          the call, and what comes back from it
    NOTE                                   what a reader has to know to compare
    ADJACENCY                              "add-remove", or "swap" if n is public
    REPEATS                                how runs for the accuracy differ from the call, if so
    SAMPLER                                what draws its noise, for the samples a second
    column(values) / table(keys, values)   the data in the form that the peer likes, untimed
    release(column, bounds, epsilon)       one mean: the whole call
    repeat(column, bounds, epsilon, runs)  the mean many times over, each with fresh noise; the
                                           number is a wish: it does as many as suit it at once
    FIRST                                  how many are wished for at first, if not a hundred
    sampler(size)                          a call that draws so much noise
    groups(table, keys, bounds, epsilon)   a mean for each public key, as a dict

Several columns at one epsilon, the same bounds for each:

    MEANS, SUMS            the call for the means, and the one for a count and sums; "" for none
    several(columns)       the data, given as a list of values for each column
    repeat_means(data, bounds, epsilon, runs)
                           the call for several means many times over: a row of means a run. It is
                           absent where a peer has a call for a single mean alone; that one is then
                           asked for each column, at epsilon over their number
    repeat_sums(data, bounds, epsilon, runs)
                           one noisy count and a noisy sum of each column, of the values less the
                           middle of their bounds, at equal parts of epsilon; ratios by hand

A row may hold the first columns alone, where the others would be answered just like them.

``groups`` is absent where a peer has none. ``bounds`` is None where it is to be left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

#: Every adapter, ours first; "plain" is the aggregate without privacy.
NAMES: Final = (
    "ours",
    "plain",
    "opendp",
    "pydp",
    "pipelinedp",
    "smartnoise",
    "tumult",
    "diffprivlib",
)


def middle(bounds: Sequence[float]) -> float:
    """The middle of the range."""
    return (bounds[0] + bounds[1]) / 2


def ratios(sums: Iterable[Any], count: Any, bounds: Sequence[float]) -> list[float]:
    """The means by hand, clipped to the bounds, from noisy sums of centred values and a count."""
    lower, upper = bounds
    records = max(float(count), 1.0)
    return [min(max(middle(bounds) + float(each) / records, lower), upper) for each in sums]
