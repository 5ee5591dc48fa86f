"""The posterior mean under hourglass noise: a better estimate for small groups.

Prior: 1/n on the size n >= 1 (as log (n+1/2)/(n-1/2), which sums in closed form). For the position
of the mean in the range, alpha in [0, 1], there are two priors:

    jeffreys    Beta(1/2, 1/2), the Jeffreys prior: for means that may lie close to a bound
    posterior   an equal mixture of that and Beta(15/2, 15/2): for means well inside the bounds

(docs/decisions/posterior.md has the figures.)

Given a size, the noise's density is constant on each stair, and a symmetric Beta(p, p) with
p = m + 1/2 has closed forms for the mass F(a) below a and its first moment M(a). With
phi = 2 asin sqrt a:

    F(a) = I_m(phi) / I_m(pi),   I_0 = phi,   I_m = ((2m-1) I_{m-1} - sin^(2m-1) cos) / 2m
    M(a) = F(a)/2 - (a (1-a))^p / (2p B(p, p))

so the estimate is a sum over sizes and stairs, on any grid. Post-processing: it uses the
noisy totals and public constants only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from ..core.totals import NoisyTotals
from ..noise import Hourglass

__all__ = ["posterior_shares"]

#: Sizes and stairs whose weight is below exp(-SPAN) of the largest are omitted.
SPAN: Final = 18.0
#: Stairs and sizes are merged up to this much loss, epsilon times their number.
MERGE: Final = 0.05
#: The most stairs of all answers that are processed at once, so that they fit a processor's cache.
AT_ONCE: Final = 1 << 15
#: The second half of the mixed prior is Beta(MIDDLE + 1/2, MIDDLE + 1/2).
MIDDLE: Final = 7

Floats = npt.NDArray[np.float64]
#: F and M of a prior at some alphas.
Prior = Callable[[Floats], tuple[Floats, Floats]]


def posterior_shares(noisy: NoisyTotals, law: Hourglass, estimator: str = "posterior") -> Floats:
    """The posterior mean of alpha for each of the noisy totals, under the estimator's prior."""
    prior = {"posterior": _mixed, "jeffreys": _arcsine}[estimator]
    grid = law.grid
    cells = np.atleast_1d(np.asarray(noisy.cells, dtype=np.float64)) / grid
    sizes = np.atleast_1d(np.asarray(noisy.weight, dtype=np.float64)) / grid
    epsilon, edge = float(law.epsilon), (law.c + 0.5) / grid
    batch = max(1, int(AT_ONCE * max(epsilon, MERGE) / SPAN / 2))
    batches = [
        _batch(cells[start : start + batch], sizes[start : start + batch], epsilon, edge, prior)
        for start in range(0, len(cells), batch)
    ]
    return np.concatenate([*batches, np.zeros(0)])


def _batch(cells: Floats, sizes: Floats, epsilon: float, edge: float, prior: Prior) -> Floats:
    """Sum over sizes, one at a time, of the sums over stairs, scaled by the largest weight."""
    merge = max(1, int(MERGE / epsilon))
    reach = merge * math.ceil(SPAN / epsilon / merge)
    # The most likely size: N', or more if S' or the rest requires it.
    centre = np.rint(np.maximum.reduce([sizes, cells, sizes - cells, np.ones_like(sizes)]))
    mass, moment, top = np.zeros_like(cells), np.zeros_like(cells), np.full_like(cells, -1e300)
    for offset in range(-reach, reach + 1, merge):
        # This size represents centre+offset .. centre+offset+merge-1, except those below 1.
        first, last = np.maximum(centre + offset, 1.0), centre + offset + merge - 1.0
        at = np.flatnonzero(last >= 1.0)  # the answers that this is a size for
        if not len(at):
            continue
        first, last = first[at], last[at]
        weight = np.log((last + 0.5) / (first - 0.5))
        size = 0.5 * (first + last)
        log_top, part_mass, part_moment = _given_size(
            cells[at], sizes[at], size, epsilon, edge, merge, reach, prior
        )
        new = np.maximum(top[at], log_top)
        kept, scale = np.exp(top[at] - new), np.exp(log_top - new) * weight
        mass[at] = mass[at] * kept + part_mass * scale
        moment[at] = moment[at] * kept + part_moment * scale
        top[at] = new
    share = np.divide(moment, mass, out=np.full_like(mass, 0.5), where=mass > 0.0)
    return np.clip(share, 0.0, 1.0)


def _given_size(
    cells: Floats,
    sizes: Floats,
    size: Floats,
    epsilon: float,
    edge: float,
    merge: int,
    reach: int,
    prior: Prior,
) -> tuple[Floats, Floats, Floats]:
    """(log of the top weight, mass / top, moment / top) if there are ``size`` records.

    The noise on the cells is x = S' - alpha n in records, between S' - n and S'; the sum runs
    ``reach`` stairs both ways from the stair of that range closest to the centre.
    """
    nearest = np.rint(np.clip(0.0, cells - size, cells))
    j = nearest[:, None] + np.arange(-reach, reach + merge + 1, merge)[None, :]
    alpha = np.clip((cells[:, None] - _lower_edge(j, edge)) / size[:, None], 0.0, 1.0)
    mass, moment = prior(alpha)
    middle = j[:, :-1] + 0.5 * (merge - 1)
    level = np.abs(middle) + np.abs((sizes - size)[:, None] - middle)
    best = level.min(axis=1)
    weight = np.exp(-epsilon * (level - best[:, None]))
    # alpha falls as the stair rises.
    part_mass = -(np.diff(mass, axis=1) * weight).sum(axis=1)
    part_moment = -(np.diff(moment, axis=1) * weight).sum(axis=1)
    return -epsilon * best, part_mass, part_moment


def _lower_edge(j: Floats, edge: float) -> Floats:
    """Where stair j begins, in records: the centre spans -edge..edge, every other stair 1."""
    return np.where(j > 0, j - 1.0 + edge, j - edge)


def _arcsine(alpha: Floats) -> tuple[Floats, Floats]:
    """F and M of Beta(1/2, 1/2)."""
    mass = 2.0 / math.pi * np.arcsin(np.sqrt(alpha))
    return mass, 0.5 * mass - np.sqrt(alpha * (1.0 - alpha)) / math.pi


def _mixed(alpha: Floats) -> tuple[Floats, Floats]:
    """F and M of the mean of the two symmetric betas."""
    mass, moment = _arcsine(alpha)
    square = 4.0 * alpha * (1.0 - alpha)
    sine, cosine = np.sqrt(square), 1.0 - 2.0 * alpha
    terms, whole = _TERMS
    total, power = np.full_like(alpha, terms[-1]), sine * square
    for term in terms[-2::-1]:
        total *= square
        total += term
        power *= square
    middle = mass - sine * cosine * total
    # (a (1-a))^p / (2p B(p, p)) = sin^(2p) phi / (4p I_m(pi)), as B(p, p) = I_m(pi) / 2^(2p-1).
    lean = power / (2.0 * (2 * MIDDLE + 1) * whole)
    return 0.5 * (mass + middle), 0.5 * (moment + 0.5 * middle - lean)


def _terms() -> tuple[list[float], float]:
    """F(a) = phi/pi - sin cos (t_1 + t_2 sin^2 + ...), the recursion solved; and I_m(pi)."""
    terms = list[float]()
    whole = math.pi
    for m in range(1, MIDDLE + 1):
        shrunk = (2 * m - 1) / (2 * m)
        terms = [*(term * shrunk for term in terms), 1 / (2 * m)]
        whole *= shrunk
    return [term / whole for term in terms], whole


_TERMS: Final = _terms()
