"""How small an error can be read off hourglass noise at all, where n * epsilon is small."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hourglass import Hourglass

Floats = npt.NDArray[np.float64]

#: Stairs and sizes beyond exp(-FAR) are left out; what is left out would raise the bound.
FAR = 40.0


def least_mse(epsilon: float, rows: int, mean: float) -> float:
    """What no reading of the noisy totals can go below at this mean and at its mirror image both.

    Values in (0, 1). Told n, and told that the mean is m or 1 - m, each as likely, the best guess
    still has a mean squared error of

        (1 - 2m)^2 / 2 * integral of p q / (p + q)

    with p and q the densities of the totals in the two cases; so an estimate that is told neither
    is at least as far off in one of the two.
    """
    law = Hourglass(f"{epsilon:g}", 2**32)
    edge = (law.c + 0.5) / law.grid
    shift = (1.0 - 2.0 * mean) * rows
    reach = math.ceil((FAR / epsilon + shift) / 2)
    edges = np.concatenate([-edge - np.arange(reach)[::-1], edge + np.arange(reach)])
    ends = np.unique(np.concatenate([edges, edges + shift]))
    middles, widths = (ends[1:] + ends[:-1]) / 2, np.diff(ends)
    first, second = _stair(middles, edge), _stair(middles - shift, edge)
    top = float(law.pmf(0, 0)) * law.grid  # a density, in records
    total = 0.0
    for k in range(-reach, reach + 1):
        p, q = (epsilon * (np.abs(j) + np.abs(k - j)) for j in (first, second))  # -log of each
        less, ratio = np.exp(-np.maximum(p, q)), np.exp(-np.abs(p - q))
        total += top * float((widths * less / (1.0 + ratio)).sum())
    return (1.0 - 2.0 * mean) ** 2 / 2.0 * total


def _stair(x: Floats, edge: float) -> Floats:
    """The number of the stair that x lies in: 0 between -edge and edge, then one a record."""
    stair: Floats = np.sign(x) * np.ceil(np.maximum(np.abs(x) - edge, 0.0))
    return stair
