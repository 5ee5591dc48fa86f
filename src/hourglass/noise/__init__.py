"""Exact laws on the integers: no floats, no rounding, one source of random bits.

Read in this order: ``bits`` (the only source of randomness, and draws by inversion), ``bernoulli``
and ``uniform`` (exact draws from words), ``ladder`` (the geometric staircase on which everything is
built), then the laws: ``laplace``, ``hourglass`` (with the law of a level and the staircase) and
``staircase2d``. The privacy proof is in ``hourglass.proof.md``.

The laws for several columns and for a column with its spread generalise the hourglass: ``box``
and ``triangle``. They also use ``regions`` (the law of the count), ``pieces`` (the triangle's
sampler) and ``least`` (the optimal centre). Their proof is ``body.proof.md``, whose part on privacy
is checked by Coq: ``make proof``.
"""

from .bits import Bits, SecureBits, SeededBits
from .box import HourglassBox
from .hourglass import Hourglass, Staircase
from .laplace import DiscreteLaplace
from .staircase2d import Staircase2D
from .triangle import HourglassTriangle

__all__ = [
    "Bits",
    "DiscreteLaplace",
    "Hourglass",
    "HourglassBox",
    "HourglassTriangle",
    "SecureBits",
    "SeededBits",
    "Staircase",
    "Staircase2D",
]
