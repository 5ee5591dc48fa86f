"""The user's own algorithms in the experiments: loaded by ``MODULE:NAME``, checked, measured.

NAME is a class, or any callable, that takes epsilon (a Fraction) and a Grid. What it makes needs
one method::

    noise(totals, *, bits, size=None) -> NoisyTotals

With ``moments`` (:class:`hourglass.mechanisms.base.Moments`) the closed form is computed as
well. The experiments measure errors; they do not check privacy.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..core.limits import Grid
from ..core.totals import NoisyTotals, Totals
from ..errors import OptionError
from ..estimate.point import leading_of
from ..mechanisms.base import ALGORITHMS
from ..noise.bits import SeededBits
from .data import UNIT

__all__ = ["MOST", "Own", "load", "load_all"]

#: More than this cannot be distinguished in a figure.
MOST: Final = 3


@dataclass(frozen=True)
class Own:
    """An algorithm that is measured in addition to those of the paper."""

    name: str
    make: Callable[[Fraction, Grid], Any]

    def lead(self, mechanism: Any, mean: float) -> float:
        """The leading n^2 MSE at a mean, if the mechanism has moments; else NaN."""
        return float(leading_of(mechanism, mean)) if hasattr(mechanism, "moments") else math.nan


def load_all(texts: Iterable[str]) -> tuple[Own, ...]:
    """The algorithms with these MODULE:NAME, which must have distinct names."""
    found = tuple(load(text) for text in texts)
    names = [own.name for own in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise OptionError(
            f"algorithm: {', '.join(sorted(twice))} is given twice; each needs a different name"
        )
    if len(found) > MOST:
        raise OptionError(f"algorithm: {len(found)} are given; a picture has room for {MOST}")
    return found


def load(text: str) -> Own:
    """Import the algorithm, and try it on totals of every form that the experiments use."""
    place, colon, name = text.rpartition(":")
    if not colon or not place or not name.isidentifier():
        raise OptionError(
            f"algorithm={text!r} is not of the form MODULE:NAME; give a module that can be "
            "imported, or the path of a .py file, and the name of a class in it"
        )
    kind = getattr(_module(text, place), name, None)
    if not callable(kind):
        raise OptionError(f"algorithm={text!r}: {place} has no class {name}")
    called = getattr(kind, "name", name)
    if not isinstance(called, str) or not called.isprintable() or not called or " / " in called:
        raise OptionError(f"algorithm={text!r}: its name must be a line of text without ' / '")
    if called in ALGORITHMS or called == "lower bound":
        raise OptionError(
            f"algorithm={text!r} is called {called!r}, which the experiments already use; "
            "give the class another name"
        )
    own = Own(called, kind)
    _try_out(text, own)
    return own


def _module(text: str, place: str) -> Any:
    try:
        if place.endswith(".py"):
            return _from_file(Path(place))
        with _current_folder():
            return importlib.import_module(place)
    except Exception as error:
        raise OptionError(
            f"algorithm={text!r}: {place} cannot be imported ({type(error).__name__}: {error})"
        ) from error


def _from_file(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their own module up.
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        if before is not None:
            sys.modules[spec.name] = before
    return module


@contextmanager
def _current_folder() -> Iterator[None]:
    """Make modules of the current folder importable, as ``python -m`` does."""
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")


def _try_out(text: str, own: Own) -> None:
    """Try one data set many times, and many data sets at once, with seeded bits."""
    many = np.array([3, 4, 5], dtype=object)
    try:
        mechanism = own.make(Fraction(1), UNIT)
        shapes = [
            _shape(mechanism.noise(Totals(3, 10), bits=SeededBits(1), size=3)),
            _shape(mechanism.noise(Totals(many, many), bits=SeededBits(1), size=3)),
        ]
        own.lead(mechanism, 0.25)
    except Exception as error:
        raise OptionError(
            f"algorithm={text!r} cannot be run ({type(error).__name__}: {error}); it takes "
            "(epsilon, grid) and has noise(totals, *, bits, size) that returns NoisyTotals"
        ) from error
    if shapes != [(3,), (3,)]:
        raise OptionError(
            f"algorithm={text!r}: noise() with size=3, or for three data sets, must return "
            "NoisyTotals of three answers"
        )


def _shape(noisy: NoisyTotals) -> tuple[int, ...]:
    return np.shape(noisy.cells) if np.shape(noisy.cells) == np.shape(noisy.rest) else ()
