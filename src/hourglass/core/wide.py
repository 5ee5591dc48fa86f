"""Arrays of exact integers beyond 64 bits, for the totals of many groups.

A sum of cells of 2^32 exceeds 63 bits from 2^31 records on, and the number of records is secret. So
the representation of totals must not depend on them: each is stored as high * 2^32 + low in two
64-bit integers, however small it is. Overflow is excluded in advance: every array carries a bound
that follows from its type and the public factors it was multiplied by, and if that exceeds 2^95 the
result is an array of Python integers instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt

__all__ = ["LIMIT", "NOISE", "ROWS", "Wide"]

#: All values are below this, so that their high halves fit into 64 bits.
LIMIT: Final = 2**95
#: No table has more rows than this.
ROWS: Final = 2**47
#: The largest 64-bit draw of noise (beyond it, samplers return Python integers).
NOISE: Final = 2**62

_DIGITS: Final = 32
_LOW: Final = (1 << _DIGITS) - 1
#: Noisy values are handed out in 64 bits if all are below this: what is added to them or doubled
#: later cannot wrap.
_NARROW: Final = 2**60

Integers = npt.NDArray[np.int64]


class Wide:
    """An array of secret integers from ``-most`` to ``most``.

    It supports addition of 64-bit arrays and integers, and multiplication by integers. No operation
    depends on a value to decide what to do.
    """

    __slots__ = ("_high", "_low", "most")
    __array_ufunc__ = None  # an array on the left of an operator leaves the operation to us

    def __init__(self, high: Integers, low: Integers, most: int) -> None:
        """From both halves, ``low`` from 0 to 2^32 - 1."""
        assert most < LIMIT
        self._high, self._low, self.most = high, low, most

    @classmethod
    def of(cls, values: Integers, most: int = NOISE) -> Wide:
        """From 64-bit integers."""
        return cls(values >> _DIGITS, values & _LOW, most)

    @classmethod
    def _carried(cls, high: Integers, low: Integers, most: int) -> Wide:
        """From both halves, if ``low`` must still be carried into ``high``."""
        return cls(high + (low >> _DIGITS), low & _LOW, most)

    @classmethod
    def of_halves(cls, hi: Integers, lo: Integers, digits: int) -> Wide:
        """hi * 2^digits + lo: a sum as engines return it; ``digits`` is at most 31."""
        high = hi >> (_DIGITS - digits)
        low = (hi & (_LOW >> digits)) << digits
        most = (1 << 63 + digits) + (1 << 63)
        return cls._carried(high + (lo >> _DIGITS), low + (lo & _LOW), most)

    # --- arithmetic -------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        """Another of them, an array, or an integer."""
        other = _operand(other)
        if not isinstance(other, Wide) or self.most + other.most >= LIMIT:
            return self.exact() + (other.exact() if isinstance(other, Wide) else other)
        high, low = self._high + other._high, self._low + other._low
        return Wide._carried(high, low, self.most + other.most)

    __radd__ = __add__

    def __neg__(self) -> Wide:
        """The values with their signs changed."""
        return Wide._carried(-self._high, -self._low, self.most)

    def __sub__(self, other: Any) -> Any:
        """Less another of them, an array, or an integer."""
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        """An array or an integer, less these."""
        return -self + other

    def __mul__(self, factor: int) -> Any:
        """Times a public integer."""
        if self.most * abs(factor) >= LIMIT or abs(factor) >= NOISE:
            return self.exact() * factor
        if factor < 0:
            return -self * -factor
        # The products of the low halves need all 64 bits; any overflow in the high half cancels by
        # the end, since the result fits.
        product = self._low.view(np.uint64) * np.uint64(factor & _LOW)
        high = self._high * factor + self._low * (factor >> _DIGITS)
        high += (product >> np.uint64(_DIGITS)).view(np.int64)
        return Wide(high, (product & np.uint64(_LOW)).view(np.int64), self.most * factor)

    __rmul__ = __mul__

    def halved(self) -> Wide:
        """Divided by two, rounded down."""
        low = (self._low + ((self._high & 1) << _DIGITS)) >> 1
        return Wide(self._high >> 1, low, self.most)

    # --- as other arrays --------------------------------------------------------------------

    def exact(self) -> npt.NDArray[np.object_]:
        """As an array of Python integers."""
        high: Any = self._high.astype(object)
        found: npt.NDArray[np.object_] = (high << _DIGITS) + self._low
        return found

    def narrow(self) -> npt.NDArray[Any]:
        """As 64-bit integers if all of them fit, otherwise as Python integers.

        Which of the two it is reveals something about the values, so use it only for noisy ones.
        """
        high, end = self._high, _NARROW >> _DIGITS
        if high.max(initial=0) < end and high.min(initial=0) >= -end:
            return (high << _DIGITS) + self._low
        return self.exact()

    def tolist(self) -> list[int]:
        """As a list of Python integers."""
        found: list[int] = self.exact().tolist()
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """As an array of Python integers."""
        return self.exact() if dtype is None else self.exact().astype(dtype)

    def __len__(self) -> int:
        return len(self._high)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    @overload
    def __getitem__(self, rows: int) -> int: ...
    @overload
    def __getitem__(self, rows: Any) -> Any: ...
    def __getitem__(self, rows: Any) -> Any:
        """One value as a Python integer, or some of them."""
        high, low = self._high[rows], self._low[rows]
        if isinstance(high, np.ndarray):
            return Wide(high, low, self.most)
        return (int(high) << _DIGITS) + int(low)

    def __repr__(self) -> str:
        return "Wide(secret)"

    def __reduce__(self) -> Any:
        raise TypeError("totals are secret and cannot be pickled or copied")


def _operand(other: Any) -> Any:
    """The operand as a wide array, unless Python integers are needed anyway."""
    if isinstance(other, int):
        if abs(other) >= LIMIT:
            return other
        return Wide(np.array([other >> _DIGITS]), np.array([other & _LOW]), abs(other))
    if isinstance(other, np.ndarray) and other.dtype == np.int64:
        return Wide.of(other)
    return other
