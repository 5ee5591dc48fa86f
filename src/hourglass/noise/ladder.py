"""The law on which the others are built: a ladder whose weights fall off by exp(-rate).

Rung 0 has weight ``first``, rung i >= 1 has weight ``other * b^i`` with b = exp(-rate).
The magnitude of a two-sided geometric is Ladder(rate, 1, 2), the stair |j| of the staircase
Ladder(epsilon, 2c+1, 2G), a plain geometric Ladder(rate, 1, 1).

Two exact samplers, chosen by the rate, never by a draw:

* ``table``: one word per sample, looked up among the first digits of the cumulative
  probabilities. For tables that are short, that is for rates that are not tiny.
* ``digits``: the binary digits of a geometric are independent coins; one word per digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.exact import DEFAULT_BITS, PRECISIONS, Enclosure, exp_minus, floor_scaled, outward
from .bernoulli import Bernoulli
from .bits import Bits, Words, invert

__all__ = ["Ladder"]

#: Longest table of cumulative probabilities; with 64-bit words it allows rates from 0.045 on.
TABLE_LIMIT: Final = 1024
#: Results are int64 if even this many windows in a row fit; a draw that needs more has probability
#: below 2^-512 and raises an error instead of overflowing.
WINDOWS: Final = 8
#: log 2 to three digits, rounded up: a tail of exp(-width * log 2) is below 2^-width.
LOG2_UP: Final = Fraction(694, 1000)


@dataclass(frozen=True)
class Ladder:
    """Weights ``first, other b, other b^2, ...`` on rungs 0, 1, 2, ...; b = exp(-rate).

    Contract: ``sample(size, bits)`` is distributed as ``size`` independent rungs with
    P(0) = first / Z and P(i) = other b^i / Z, Z = first + other b/(1-b).
    """

    rate: Fraction
    first: int
    other: int

    def pmf(self, rung: int, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(rung), enclosed."""
        if rung < 0:
            return Enclosure.of(0)
        b = exp_minus(self.rate, bits)
        weight = (
            Enclosure.of(self.first)
            if rung == 0
            else self.other * exp_minus(rung * self.rate, bits)
        )
        return weight * (1 - b) / self._total(b)

    def tail(self, rung: int, bits: int = DEFAULT_BITS) -> Enclosure:
        """P(at least ``rung``), enclosed."""
        if rung <= 0:
            return Enclosure.of(1)
        b = exp_minus(self.rate, bits)
        return self.other * exp_minus(rung * self.rate, bits) / self._total(b)

    def _total(self, b: Enclosure) -> Enclosure:
        """(1-b) Z."""
        return self.first * (1 - b) + self.other * b

    def sample(self, size: int, bits: Bits) -> npt.NDArray[Any]:
        """``size`` independent rungs: int64, or Python integers where those could overflow."""
        if self.table_length(bits.width) <= TABLE_LIMIT:
            return self.sample_by_table(size, bits)
        return self.sample_by_digits(size, bits)

    # --- one word per sample ------------------------------------------------------------

    def table_length(self, width: int) -> int:
        """How many rungs until the tail is below 2^-width."""
        return int(width * LOG2_UP / self.rate) + 1 + self.other.bit_length()

    def sample_by_table(self, size: int, bits: Bits) -> npt.NDArray[np.int64]:
        """Invert the CDF: the rung is the number of F(i) that are at most U."""
        return invert(_table(self, bits.width), bits.words(size), bits, self.threshold)

    def threshold(self, rung: int, digits: int) -> int:
        """floor(2^digits F(rung)), F the probability of this rung or a lower one."""
        return floor_scaled((1 - self.tail(rung + 1, digits + more) for more in PRECISIONS), digits)

    # --- one word per digit -------------------------------------------------------------

    def digits_needed(self, width: int) -> int:
        """The least m with b^(2^m) below 2^-width."""
        return (int(width * LOG2_UP / self.rate) + 1).bit_length()

    def sample_by_digits(self, size: int, bits: Bits) -> npt.NDArray[Any]:
        """Rung 0 by a coin; otherwise 1 + a geometric made of independent binary digits."""
        past = ~self._zero.sample(size, bits)
        return np.where(past, self._sample_geometric(size, bits) + 1, 0)

    def _sample_geometric(self, size: int, bits: Bits) -> npt.NDArray[Any]:
        """P(n) = (1-b) b^n: digit i is 1 with probability B/(1+B), B = b^(2^i).

        The digits 0..m-1 have the law of n modulo 2^m; with probability b^(2^m), 2^m is added, and
        then, by memorylessness, the same is repeated.
        """
        m = self.digits_needed(bits.width)
        *digits, past = _digit_coins(self.rate, m)
        limbs = np.zeros((-(-m // 32), size), dtype=np.int64)
        for place, coin in enumerate(digits):
            limbs[place // 32] += coin.sample(size, bits).astype(np.int64) << place % 32
        wide = WINDOWS << m >= 1 << 62
        values = np.zeros(size, dtype=object if wide else np.int64)
        for place, limb in enumerate(limbs.astype(values.dtype)):
            values += limb << 32 * place
        index = np.arange(size)
        for _ in range(WINDOWS):
            index = index[past.sample(index.size, bits)]
            if not index.size:
                return values
            values[index] += 1 << m
        raise ArithmeticError(f"a geometric draw exceeded {WINDOWS} windows of 2^{m}")

    @cached_property
    def _zero(self) -> Bernoulli:
        return Bernoulli(partial(self.pmf, 0))


@lru_cache(maxsize=64)
def _table(ladder: Ladder, width: int) -> Words:
    table = np.array(list(_thresholds(ladder, width)), dtype=np.uint64)
    table.flags.writeable = False
    return table


def _thresholds(ladder: Ladder, width: int) -> Iterator[int]:
    """floor(2^width F(i)) for i = 0, 1, ...: integer enclosures of b^i by repeated products."""
    precision = width + 64
    while True:
        one = 1 << precision
        b = exp_minus(ladder.rate, precision + 16)
        b_low, b_high = outward(b, precision)
        power_low, power_high = outward(ladder.other / ladder._total(b), precision)
        table = []
        for _ in range(ladder.table_length(width)):
            power_low = power_low * b_low >> precision
            power_high = -(-power_high * b_high >> precision)
            low = (one - power_high) >> (precision - width)
            if low != (one - power_low) >> (precision - width):
                break
            table.append(low)
        else:
            return iter(table)
        precision *= 2


@lru_cache(maxsize=64)
def _digit_coins(rate: Fraction, m: int) -> list[Bernoulli]:
    """Digits 0..m-1 and, last, the coin for adding another 2^m."""
    digits = [Bernoulli(partial(_digit, rate * (1 << i))) for i in range(m)]
    return [*digits, Bernoulli(partial(exp_minus, rate * (1 << m)))]


def _digit(power: Fraction, precision: int) -> Enclosure:
    """B / (1+B), B = exp(-power)."""
    B = exp_minus(power, precision)
    return B / (1 + B)
