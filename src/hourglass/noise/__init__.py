"""Exact laws on the integers: no float, no rounding, one source of random bits.

Read in this order: ``bits`` (the one door for randomness), ``bernoulli`` and ``uniform``
(exact decisions from words), ``ladder`` (the geometric staircase that everything is made
of), then the laws themselves: ``laplace``, ``staircase``, ``hourglass``, ``staircase2d``.
The privacy proof stands beside the code in ``hourglass.proof.md``.

Several columns, and a column with its spread, have laws that generalise the hourglass:
``box`` and ``triangle``. They are made of ``series`` and ``radial`` (a polynomial times a
geometric, summed and sampled), ``scaled`` (uniform integers below many bounds), ``regions``
(the law of the count), ``pieces`` (the triangle's sampler) and ``least`` (the best centre).
Their proof is ``body.proof.md``, and its part on privacy is checked by machine: ``make proof``.
"""

from .bits import Bits, SecureBits, SeededBits
from .box import HourglassBox
from .hourglass import Hourglass
from .laplace import DiscreteLaplace
from .staircase import Staircase
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
