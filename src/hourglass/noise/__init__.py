"""Exact laws on the integers: no float, no rounding, one source of random bits.

Read in this order: ``bits`` (the one door for randomness), ``bernoulli`` and ``uniform``
(exact decisions from words), ``ladder`` (the geometric staircase that everything is made
of), then the laws themselves: ``laplace``, ``staircase``, ``hourglass``, ``staircase2d``.
The privacy proof stands beside the code in ``hourglass.proof.md``.
"""

from .bits import Bits, SecureBits, SeededBits
from .hourglass import Hourglass
from .laplace import DiscreteLaplace
from .staircase import Staircase
from .staircase2d import Staircase2D

__all__ = [
    "Bits",
    "DiscreteLaplace",
    "Hourglass",
    "SecureBits",
    "SeededBits",
    "Staircase",
    "Staircase2D",
]
