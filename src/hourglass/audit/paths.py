"""The ways through the house that the audit walks: from plain values to a release."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms import Algorithm
from ..noise.bits import SECURE, Bits
from ..pipeline import mean
from ..release import Release
from ..totals import Totals
from .empirical import Array, Sampler
from .greybox import Path

__all__ = ["memory_paths", "path_of_totals", "sampler_of"]


def sampler_of(algorithm: Algorithm, *, bits: Bits = SECURE) -> Sampler:
    """Many releases at once of totals (S, N): the noisy S and G N that all else follows from."""

    def sampler(data: Any, size: int) -> list[Array]:
        noisy = algorithm.noise(Totals(*data), bits=bits, size=size)
        return [noisy.cells, noisy.weight]

    return sampler


def path_of_totals(
    name: str, algorithm: Algorithm, totals: Callable[[Sequence[Any]], Totals]
) -> Path:
    """A path that aggregates in its own way and noises as the product does: for mutants."""

    def run(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        noisy = algorithm.noise(totals(values), bits=bits)
        return Release.of(algorithm, noisy, estimator="projected", private=False).to_dict()

    return Path(name, run)


def memory_paths(
    epsilon: Fraction, bounds: tuple[float, float], grid: int | None, algorithm: str = "hourglass"
) -> list[Path]:
    """Each kind of column in memory whose library is installed."""

    def path(name: str, convert: Callable[[Sequence[Any]], Any]) -> Path:
        def run(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
            found: Release = mean(
                convert(values),
                bounds=bounds,
                epsilon=epsilon,
                grid=grid,
                algorithm=algorithm,
                bits=bits,
            )
            return found.to_dict()

        return Path(f"{name} ({algorithm})", run)

    kinds: dict[str, Callable[[Sequence[Any]], Any]] = {
        "list": list,
        "iterator": iter,
        "NumPy array": lambda values: np.array(values, dtype=np.float64),
        "NumPy masked array": _masked,
    }
    for library, name, convert in (
        ("pandas", "pandas Series", _pandas),
        ("polars", "Polars Series", _polars),
        ("pyarrow", "Arrow array", _arrow),
    ):
        if importlib.util.find_spec(library):
            kinds[name] = convert
    return [path(name, convert) for name, convert in kinds.items()]


def _masked(values: Sequence[Any]) -> Any:
    array = np.array(values, dtype=np.float64)
    return np.ma.masked_array(array, mask=np.isnan(array))


def _pandas(values: Sequence[Any]) -> Any:
    import pandas

    return pandas.Series(list(values), dtype="float64")


def _polars(values: Sequence[Any]) -> Any:
    import polars

    return polars.Series(list(values), dtype=polars.Float64)


def _arrow(values: Sequence[Any]) -> Any:
    import pyarrow

    return pyarrow.array(list(values), type=pyarrow.float64())
