"""The staircase and the hourglass: the optimal noise for a sum, and for a sum and a count.

Kulesza, Suresh, Wang, "Mean estimation in the add-remove model of differential privacy"
(ICML 2024), on an integer lattice. Marks such as [H1] refer to ``hourglass.proof.md``, marks such
as [B3] to ``body.proof.md``.

An hourglass is drawn by its level, and so are the bodies that generalise it. A level has the law
P(n) = p(n) b^n / Z on n = 0, 1, 2, ..., b = exp(-rate), p a polynomial: a :class:`Radial`. It has
two exact samplers, chosen by the law and the width of a word, never by a draw:

* ``table``: one word per sample, looked up among the first digits of the cumulative
  probabilities, for laws whose table is short;
* ``mixture``: by Newton's series P is a mixture over k = 0..deg p of the laws of k plus k+1
  independent geometrics, with weights D^k p(0) beta^k.  [B3]
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import (
    DEFAULT_BITS,
    PRECISIONS,
    Enclosure,
    Exact,
    differences,
    exact_epsilon,
    exp_minus,
    floor_scaled,
    geometric_sum,
    in_beta,
    outward,
    power,
    value_at,
    whole_number,
)  # fmt: skip
from ..core.limits import check_centre, check_grid
from .bits import (
    ONE_WORD,
    SECURE,
    Bits,
    Filled,
    Words,
    blocks,
    invert,
    invert_one,
    sample_scaled,
    sample_scaled_one,
)  # fmt: skip
from .ladder import WINDOWS, Ladder
from .uniform import sample_below

__all__ = ["Hourglass", "Radial", "Staircase", "set_terms", "stair"]

#: Longest table of cumulative probabilities of a level.
TABLE_LIMIT: Final = 8192


# --- the law of a level ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Radial:
    """P(n) = p(n) b^n / Z; ``coefficients`` are the differences D^k p(0), k = 0..deg p.

    Contract: ``sample(size, bits)`` is distributed as ``size`` independent draws.
    """

    rate: Fraction
    coefficients: tuple[int, ...]

    @classmethod
    def of(cls, rate: Fraction, values: list[int]) -> Radial:
        """The law with p(0), p(1), ... as given, at least one more than the degree of p."""
        found = differences(values)
        while len(found) > 1 and found[-1] == 0:
            found = found[:-1]
        return cls(rate, found)

    def total(self, bits: int = DEFAULT_BITS) -> Enclosure:
        """Z, the sum of all weights."""
        return geometric_sum(self.coefficients, self.rate, bits)

    def total_from(self, start: int, bits: int = DEFAULT_BITS) -> Enclosure:
        """The sum of the weights of start, start + 1, ..."""
        values = [value_at(self.coefficients, start + n) for n in range(len(self.coefficients))]
        rest = geometric_sum(differences(values), self.rate, bits)
        return power(self.rate, start, bits) * rest

    def pmf(self, n: int, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(n), enclosed."""
        if n < 0:
            return Enclosure.of(0)
        return value_at(self.coefficients, n) * power(self.rate, n, bits) / self.total(bits)

    def tail(self, n: int, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(at least n), enclosed."""
        if n <= 0:
            return Enclosure.of(1)
        return self.total_from(n, bits) / self.total(bits)

    # --- sampling ---------------------------------------------------------------------

    def sample(self, size: int, bits: Bits) -> npt.NDArray[Any]:
        """``size`` independent draws: int64, or Python integers where those could overflow."""
        if self.is_short(bits.width):
            return self.sample_by_table(size, bits)
        return self.sample_by_mixture(size, bits)

    def is_short(self, width: int) -> bool:
        """Whether the table for words of this width has at most TABLE_LIMIT entries."""
        return self._plan(width).table is not None

    def reach(self, width: int) -> int:
        """An upper bound on draws; a larger one has probability below 2^-400 and raises."""
        return self._plan(width).reach

    def _plan(self, width: int) -> _Plan:
        if width not in self._plans:  # cached here as well, because hashing a law takes longer
            self._plans[width] = _plan(self, width)
        return self._plans[width]

    @cached_property
    def _plans(self) -> dict[int, _Plan]:
        return {}

    def sample_by_table(self, size: int, bits: Bits) -> npt.NDArray[np.int64]:
        """Invert the CDF with one word; read more where the word does not decide."""
        return self.at(bits.words(size), bits)

    def at(self, words: Words, bits: Bits) -> npt.NDArray[np.int64]:
        """The draws for these words, by table."""
        plan = self._plan(bits.width)
        return invert(plan.thresholds, words, bits, self.threshold, plan.reach)

    def sample_one(self, bits: Bits) -> np.int64:
        """One draw by table: for the next word, the same as in an array."""
        plan = self._plan(bits.width)
        return invert_one(plan.thresholds, bits, self.threshold, plan.reach)

    def threshold(self, n: int, digits: int) -> int:
        """floor(2^digits F(n)), F the probability of at most n."""
        if value_at(self.coefficients, n) == 0:
            return 0  # p never falls, so all before it are zero as well
        known = self._thresholds
        if (n, digits) not in known:
            enclosures = (1 - self.tail(n + 1, digits + more) for more in PRECISIONS)
            known[n, digits] = floor_scaled(enclosures, digits)
        return known[n, digits]

    @cached_property
    def _thresholds(self) -> dict[tuple[int, int], int]:
        return {}

    def sample_by_mixture(self, size: int, bits: Bits) -> npt.NDArray[Any]:
        """k by one word, then k plus k+1 geometrics; the number drawn does not depend on k."""
        order = self.order_at(bits.words(size), bits)
        return self.add_geometrics(order, len(self.coefficients), bits)

    def add_geometrics(
        self, order: npt.NDArray[np.int64], most: int, bits: Bits
    ) -> npt.NDArray[Any]:
        """order + the sum of order + 1 independent geometrics, out of ``most`` drawn for each."""
        total: npt.NDArray[Any] = order
        for place in range(most):
            drawn = self.geometric.sample(order.size, bits)
            total = total + np.where(place <= order, drawn, 0)
        return total

    @cached_property
    def geometric(self) -> Ladder:
        """P(n) = (1-b) b^n."""
        return Ladder(self.rate, 1, 1)

    def order_at(self, words: Words, bits: Bits) -> npt.NDArray[np.int64]:
        """The k of the mixture that each word picks: weights D^k p(0) beta^k."""
        table = _order_table(self, bits.width)
        return invert(table, words, bits, self.order_threshold, len(self.coefficients))

    def order_threshold(self, k: int, digits: int) -> int:
        """floor(2^digits P(order at most k))."""
        if k >= len(self.coefficients) - 1:
            return 1 << digits
        enclosures = (self._order_cumulated(k, digits + more) for more in PRECISIONS)
        return floor_scaled(enclosures, digits)

    def _order_cumulated(self, k: int, precision: int) -> Enclosure:
        """P(order at most k)."""
        return geometric_sum(self.coefficients[: k + 1], self.rate, precision) / self.total(
            precision
        )


@dataclass(frozen=True)
class _Plan:
    """How to draw with words of one width: by table, or without one if it is too long."""

    table: Words | None
    reach: int

    @property
    def thresholds(self) -> Words:
        """The table of a law that has one."""
        if self.table is None:
            raise ValueError("this law's table would be too long; use the mixture")
        return self.table


@lru_cache(maxsize=256)
def _plan(law: Radial, width: int) -> _Plan:
    if law.tail(TABLE_LIMIT).high < Fraction(1, 1 << width):
        precision = 2 * width + 128
        while (found := _cumulated(law, width, precision)) is None:
            precision *= 2
        return _Plan(_frozen(found), WINDOWS * (len(found) + 8))
    terms = len(law.coefficients)
    return _Plan(None, terms * (1 + (WINDOWS << law.geometric.digits_needed(width))))


@lru_cache(maxsize=64)
def _order_table(law: Radial, width: int) -> Words:
    return _frozen([law.order_threshold(k, width) for k in range(len(law.coefficients) - 1)])


def _frozen(thresholds: list[int]) -> Words:
    table = np.array(thresholds, dtype=np.uint64)
    table.flags.writeable = False
    return table


def _cumulated(law: Radial, width: int, precision: int) -> list[int] | None:
    """floor(2^width F(n)) for n = 0, 1, ... up to the first that is 2^width - 1.

    Uses integer enclosures of b^n by repeated products; None if they do not determine a floor.
    """
    b, total = exp_minus(law.rate, precision), law.total(precision)
    b_low, b_high = outward(b, precision)
    total_low, total_high = outward(total, precision)
    row = list(law.coefficients)  # the differences of p at n
    power_low = power_high = 1 << precision
    low = high = 0
    table: list[int] = []
    while not table or table[-1] != (1 << width) - 1:
        low, high = low + row[0] * power_low, high + row[0] * power_high
        floor = (low << width) // total_high
        if floor != (high << width) // total_low:
            return None
        table.append(floor)
        for k in range(len(row) - 1):
            row[k] += row[k + 1]
        power_low = power_low * b_low >> precision
        power_high = -(-power_high * b_high >> precision)
    return table


# --- the staircase --------------------------------------------------------------------------------


def set_terms(
    law: Any,
    epsilon: Exact,
    grid: int,
    centre: int | None,
    best: Callable[[Fraction, int], int],
) -> None:
    """Set epsilon, grid and centre of a law that is being constructed, all checked."""
    object.__setattr__(law, "epsilon", exact_epsilon(epsilon))
    object.__setattr__(law, "grid", check_grid(grid))
    chosen = best(law.epsilon, law.grid) if centre is None else centre
    object.__setattr__(law, "centre", check_centre(chosen, law.grid))


def stair(x: int, grid: int, centre: int) -> int:
    """The signed stair of x: j(x) = sign(x) max(0, ceil((|x| - c) / G)).  [H1]"""
    steps = max(0, -((centre - abs(x)) // grid))
    return steps if x > 0 else -steps


@dataclass(frozen=True, init=False)
class Staircase:
    """P(x) = b^|j(x)| / Z on the integers, b = exp(-epsilon), Z = (2c+1) + 2Gb/(1-b).

    The centre stair |x| <= c has 2c+1 cells and every other stair G. Contract:
    ``sample(size)`` is distributed as ``size`` independent draws. Added to an integer of
    sensitivity G it is epsilon-DP, and with the centre of :func:`optimal_centre` it has the
    least variance of this family; the continuous form is optimal among all noise distributions
    (Geng, Viswanath 2014, Theorem 7 and eq. 50).
    """

    epsilon: Fraction
    grid: int
    centre: int

    def __init__(self, epsilon: Exact, grid: int, centre: int | None = None) -> None:
        set_terms(self, epsilon, grid, centre, optimal_centre)

    @property
    def c(self) -> int:
        """The half-width of the centre stair, in cells."""
        return self.centre

    def sample(self, size: int | None = None, *, bits: Bits = SECURE) -> Any:
        """``size`` independent draws as an array, or one integer."""
        if size is None:
            return int(self.sample(1, bits=bits)[0])
        filled = Filled(size)
        for n in blocks(size):
            filled.add(self.draw(n, bits)[:1])
        return filled.arrays[0]

    def draw(
        self, size: int, bits: Bits
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """X, its signed stair j(X), and a fair coin independent of both.

        Both uniform cells are drawn whatever the stair, and then one is selected, so the number of
        words does not depend on the draw. The sign and the coin are two more digits of the cell's
        uniform.
        """
        stairs = self.stairs.sample(size, bits)
        inner = sample_below(2 * self.c + 1, size, bits) - self.c
        outer = sample_below(4 * self.grid, size, bits)
        magnitude = self.c + 1 + (stairs - 1) * self.grid + (outer >> 2)
        sign = 1 - (outer & 2)
        x = np.where(stairs == 0, inner, sign * magnitude)
        return x, sign * stairs, (outer & 1).astype(np.bool_)

    @cached_property
    def stairs(self) -> Ladder:
        """The law of |j(X)|."""
        return Ladder(self.epsilon, 2 * self.c + 1, 2 * self.grid)

    def pmf(self, x: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(x), enclosed."""
        steps = abs(stair(whole_number("x", x), self.grid, self.c))
        return exp_minus(steps * self.epsilon, bits) / self.normaliser(bits)

    def normaliser(self, bits: int = DEFAULT_BITS) -> Enclosure:
        """Z = (2c+1) + 2G beta, beta = b/(1-b)."""
        if bits not in self._normalisers:
            found = in_beta((2 * self.c + 1, 2 * self.grid), self.epsilon, bits)
            self._normalisers[bits] = found
        return self._normalisers[bits]

    @cached_property
    def _normalisers(self) -> dict[int, Enclosure]:
        return {}

    @property
    def mean(self) -> int:
        """Zero, by symmetry."""
        return 0

    @cached_property
    def variance(self) -> Enclosure:
        """Var X = 2 G^2 b/(1-b)^2 + E r^2, r the offset of X in its stair.  [H5]"""
        middle, sides, stairs = 2 * self.c + 1, 2 * self.grid, 2 * self.grid**2
        inner, outer = self.offset_squares
        # b/(1-b)^2 = beta + beta^2; both terms over Z = middle + sides beta.
        above = (inner, outer + stairs * middle, stairs * (middle + sides), stairs * sides)
        bits = 2 * DEFAULT_BITS
        return in_beta(above, self.epsilon, bits) / self.normaliser(bits)

    @cached_property
    def offset_squares(self) -> tuple[int, int]:
        """Z E r^2 as a polynomial in beta: the squares of all offsets, with their weights."""
        return _offset_squares(self.c, self.grid)


def _offset_squares(centre: int, grid: int) -> tuple[int, int]:
    """Z E r^2 = inner + outer beta: the squares of the offsets x - G j(x), with their weights.

    In the centre r runs over -c..c; in stair j > 0 over c-G+1..c, in -j the mirror image.
    """
    inner = centre * (centre + 1) * (2 * centre + 1) // 3
    return inner, 2 * (_squares(centre) - _squares(centre - grid))


def _squares(m: int) -> int:
    """1^2 + ... + m^2, continued to negative m so that differences are sums of squares."""
    return m * (m + 1) * (2 * m + 1) // 6


@lru_cache(maxsize=1024)
def optimal_centre(epsilon: Fraction, grid: int) -> int:
    """The centre half-width c in 0..G-1 of least Var X, found exactly.  [H6]

    With N(c) = Z E r^2, Var X falls from c to c+1 iff (N(c+1) - N(c)) Z(c) < 2 N(c). The
    difference of the two sides has increments Z(c+1) times the second difference of N,
    all positive: it changes sign once, and bisection finds where. Its sign is decided in
    exact arithmetic, with as many digits of b as that takes.
    """
    return bisect_left(range(grid - 1), True, key=partial(_rises, epsilon, grid))


def _rises(epsilon: Fraction, grid: int, c: int) -> bool:
    """Whether Var X does not fall from c to c+1."""
    inner, outer = _offset_squares(c, grid)
    next_inner, next_outer = _offset_squares(c + 1, grid)
    rise, outer_rise = next_inner - inner, next_outer - outer
    middle, sides = 2 * c + 1, 2 * grid
    # (N(c+1) - N(c)) Z(c) - 2 N(c), as a polynomial in beta
    slope = (
        rise * middle - 2 * inner,
        rise * sides + outer_rise * middle - 2 * outer,
        outer_rise * sides,
    )
    signs = (in_beta(slope, epsilon, bits).sign for bits in PRECISIONS)
    return next(sign for sign in signs if sign is not None) >= 0


# --- the hourglass --------------------------------------------------------------------------------


@dataclass(frozen=True, init=False)
class Hourglass:
    """(X, K) on the integers: P(x, k) = (1-b)/(1+b) b^(|j| + |k-j|) / Z, j = j(x).

    X is a discrete staircase on the grid and K = j(X) + T, T two-sided geometric; drawn as the
    same law in regions: "a records added, m removed". Contract: ``sample(size)`` is distributed
    as ``size`` independent pairs of that law. Added to the totals (S, N) of records q in 0..G it
    is epsilon-DP in the add-remove model: a neighbour moves (S, N) by (q, 1), which moves the
    level |j| + |k-j| by exactly one.  [H2] [H3]
    (The paper's equation 7, Theorem 2 and Lemma 4.)

    ``centre`` is the half-width c of the centre stair. If it is left out, it is the one with the
    least variance for this epsilon and grid.
    """

    epsilon: Fraction
    grid: int
    centre: int

    def __init__(self, epsilon: Exact, grid: int, centre: int | None = None) -> None:
        set_terms(self, epsilon, grid, centre, optimal_centre)

    def sample(self, size: int | None = None, *, bits: Bits = SECURE) -> tuple[Any, Any]:
        """``size`` independent pairs as two int64 arrays (X in cells, K), or two integers."""
        if size is not None:
            filled = Filled(size)
            for n in blocks(size):
                filled.add(self._draw(n, bits))
            x, k = filled.arrays
            return x, k
        if self._levels.is_short(bits.width):
            x, k = self._placed(self._levels.sample_one(bits), sample_scaled_one, bits)
        else:
            (x,), (k,) = self._draw(1, bits)
        return int(x), int(k)

    def _draw(self, size: int, bits: Bits) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """By regions, two words or three a pair; by parts if L's table would be too long."""
        if self._levels.is_short(bits.width):
            return self._placed(self._levels.sample(size, bits), sample_scaled, bits)
        x, j, coin = self.marginal_x.draw(size, bits)
        t = self._magnitude.sample(size, bits)
        return x, j + np.where(coin, -t, t)  # the signed stair, not its height  [H2]

    def _placed(self, level: Any, below: Callable[..., Any], bits: Bits) -> tuple[Any, Any]:
        """m uniform on 0..L and X uniform in the region R(L-m, m); K = L - 2m.  [H9]

        L and both results are integers, or arrays of them, and ``below`` draws such. Where one word
        is enough for m and X together, they come from one.
        """
        reach = self._levels.reach(bits.width)
        side, widest = self._side(level), self._side(reach)
        if (reach + 1) * widest <= ONE_WORD:
            both = below((level + 1) * side, bits, largest=(reach + 1) * widest)
            m = both // side
            place = both - m * side
        else:
            m = below(level + 1, bits, largest=reach + 1)
            place = below(side, bits, largest=widest)
        return place - self.grid * m - self.centre, level - 2 * m

    def _side(self, level: Any) -> Any:
        """2c + 1 + GL: how many cells a region R(a, m) with a + m = L has.  [H9]"""
        return self.grid * level + (2 * self.centre + 1)

    @cached_property
    def _levels(self) -> Radial:
        """The law of L: (L+1) b^L (2c + 1 + GL), a polynomial of degree 2 times a geometric."""
        return Radial.of(self.epsilon, [(L + 1) * self._side(L) for L in range(4)])

    @cached_property
    def marginal_x(self) -> Staircase:
        """The law of X alone.  [H4]"""
        return Staircase(self.epsilon, self.grid, self.centre)

    @cached_property
    def _magnitude(self) -> Ladder:
        """The law of |T|, T = K - j(X)."""
        return Ladder(self.epsilon, 1, 2)

    @property
    def c(self) -> int:
        """The half-width of the centre stair, in cells."""
        return self.centre

    def level(self, x: int, k: int) -> int:
        """|j| + |k - j|: how many steps of exp(-epsilon) below the top.  [H2]"""
        j, k = stair(whole_number("x", x), self.grid, self.c), whole_number("k", k)
        return abs(j) + abs(k - j)

    def levels(self, x: npt.NDArray[Any], k: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The same for arrays that broadcast."""
        j = np.sign(x) * np.maximum(0, -((self.c - np.abs(x)) // self.grid))
        found: npt.NDArray[Any] = np.abs(j) + np.abs(k - j)
        return found

    def pmf(self, x: int, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(X = x, K = k), enclosed."""
        return exp_minus(self.level(x, k) * self.epsilon, bits) * self._top(bits)

    def _top(self, bits: int) -> Enclosure:
        """P(X = 0, K = 0) = (1-b)/(1+b) / Z, where (1-b)/(1+b) = 1/(1 + 2 beta)."""
        if bits not in self._tops:
            ends = in_beta((1, 2), self.epsilon, bits)
            self._tops[bits] = 1 / (ends * self.marginal_x.normaliser(bits))
        return self._tops[bits]

    @cached_property
    def _tops(self) -> dict[int, Enclosure]:
        return {}

    def count_pmf(self, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(K = k) = (1-b)/(1+b) b^|k| ((2c+1) + G(|k| + 2b^2/(1-b^2))) / Z.  [H7]"""
        b = exp_minus(self.epsilon, bits)
        cells = 2 * self.c + 1 + self.grid * (abs(k) + 2 * b**2 / (1 - b**2))
        return exp_minus(abs(k) * self.epsilon, bits) * cells * self._top(bits)

    def count_tail(self, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(K >= k), k >= 1: the sum of :meth:`count_pmf` over k, k+1, ...  [H7]"""
        if k < 1:
            return 1 - self.count_tail(1 - k, bits=bits)
        b = exp_minus(self.epsilon, bits)
        cells = 2 * self.c + 1 + self.grid * (k + b / (1 - b) + 2 * b**2 / (1 - b**2))
        power = exp_minus(k * self.epsilon, bits)
        return power * cells / (1 + b) / self.marginal_x.normaliser(bits)

    @property
    def mean(self) -> tuple[int, int]:
        """Both zero, by symmetry."""
        return 0, 0

    @cached_property
    def variance(self) -> tuple[Enclosure, Enclosure]:
        """(Var X, Var K), X in cells: Var K = (2 Var X + 2 C) / G^2.  [H5]"""
        var_x = self.marginal_x.variance
        return var_x, (2 * var_x + 2 * self.covariance) / self.grid**2

    @cached_property
    def covariance(self) -> Enclosure:
        """C = Cov(X, GK - X) in cells squared; zero at the continuous optimum.  [H5] [H6]

        -C = G^2 (2c+1-G) b/(1-b)^2 / Z + E r^2, r the offset of X in its stair.
        """
        inner, outer = self.marginal_x.offset_squares
        lean = self.grid**2 * (2 * self.c + 1 - self.grid)  # b/(1-b)^2 = beta + beta^2
        bits = 2 * DEFAULT_BITS
        above = in_beta((-inner, -outer - lean, -lean), self.epsilon, bits)
        return above / self.marginal_x.normaliser(bits)
