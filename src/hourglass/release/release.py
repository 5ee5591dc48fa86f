"""The answer: frozen, safe to publish, and clear about what it promises."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import Any

from ..core.grid import Bounds, Grid
from ..core.totals import NoisyTotals
from ..estimate import point as estimate
from ..estimate.accuracy import error_at
from ..estimate.interval import Interval, interval
from ..estimate.posterior import posterior_shares
from ..mechanisms.base import Algorithm, remade
from .rendering import decimal, decimals_for, html_table, number, text_table
from .statement import Statement, stated

__all__ = ["Release", "promise"]


@dataclass(frozen=True)
class Release:
    """A private mean, with the sum and the count that come with it at no further cost.

    ``mean`` lies within the bounds; ``sum`` is unbiased; ``count`` is a whole number, zero or
    more. ``epsilon`` and ``delta`` are what the request costs in all. ``expected_error`` is
    the root mean squared error of the mean that the noise leads one to expect, read off the
    noisy answer itself. ``private`` is False if the random bits were not secret,
    ``adjacency`` "swap" if the number of records is not protected.
    """

    mean: float
    sum: float
    count: int
    epsilon: Fraction
    bounds: Bounds
    grid: int
    algorithm: str
    estimator: str
    expected_error: float
    adjacency: str
    unit: str
    private: bool
    delta: Fraction
    noisy_totals: NoisyTotals = field(repr=False)
    _algorithm: Algorithm = field(repr=False, compare=False)

    @classmethod
    def of(
        cls,
        algorithm: Algorithm,
        noisy: NoisyTotals,
        *,
        estimator: str,
        private: bool,
        unit: str = "row",
        epsilon: Fraction | None = None,
        delta: Fraction = Fraction(0),
    ) -> Release:
        """The release that noisy totals lead to: everything here is post-processing.

        ``epsilon`` is what is charged, where a unit of several records has the noise drawn
        at a part of it.
        """
        grid = algorithm.grid
        if estimator in estimate.BAYESIAN:
            law = algorithm.law  # type: ignore[attr-defined]
            share = Fraction(float(posterior_shares(noisy, law, estimator)[0]))
            mean = float(Fraction(grid.bounds.lower) + grid.bounds.width * share)
        else:
            mean = estimate.mean(noisy, grid, estimator)
        return cls(
            mean=mean,
            sum=estimate.sum_(noisy, grid),
            count=estimate.count(noisy),
            epsilon=algorithm.epsilon if epsilon is None else epsilon,
            delta=delta,
            bounds=grid.bounds,
            grid=grid.cells,
            algorithm=algorithm.name,
            estimator=estimator,
            expected_error=error_at(algorithm, float(noisy.size), mean),
            adjacency=algorithm.adjacency,
            unit=unit,
            private=private,
            noisy_totals=noisy,
            _algorithm=algorithm,
        )

    def interval(self, confidence: float = 0.95, *, of: str = "mean") -> Interval:
        """An interval that holds the data's mean (``of="sum"``, ``of="count"``: the others').

        Exact for every number of records: over the noise, at least ``confidence`` of such
        intervals hold the value of the data, clamped to the bounds.
        """
        point = {"mean": self.mean, "sum": self.sum, "count": self.count}.get(of, 0.0)
        return interval(self._algorithm, self.noisy_totals, confidence, of, point)

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """Everything as plain values that JSON can hold."""
        return {
            "mean": self.mean,
            "sum": self.sum,
            "count": self.count,
            "intervals": {
                of: {"confidence": confidence, "low": found.low, "high": found.high}
                for of in ("mean", "sum", "count")
                for found in [self.interval(confidence, of=of)]
            },
            "expected_error": self.expected_error,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "noise_epsilon": str(self._algorithm.epsilon),
            "bounds": [self.bounds.lower, self.bounds.upper],
            "bounds_origin": self.bounds.origin,
            "grid": self.grid,
            "own_grid": self._algorithm.grid.own,
            "algorithm": self.algorithm,
            "estimator": self.estimator,
            "adjacency": self.adjacency,
            "unit": self.unit,
            "private": self.private,
            "noisy_totals": {
                "cells": self.noisy_totals.cells,
                "rest": self.noisy_totals.rest,
                "parts": self.noisy_totals.parts,
            },
        }

    @classmethod
    def from_dict(cls, answer: dict[str, Any]) -> Release:
        """The release that :meth:`to_dict` wrote down: the same noise, the same answer."""
        bounds = Bounds(*answer["bounds"], origin=answer["bounds_origin"])
        grid = Grid(bounds, answer["grid"], answer["own_grid"])
        noisy = NoisyTotals(grid=grid.cells, **answer["noisy_totals"])
        noise_epsilon = Fraction(answer["noise_epsilon"])
        algorithm = remade(answer["algorithm"], noise_epsilon, grid, noisy.parts)
        return cls.of(
            algorithm,
            noisy,
            estimator=answer["estimator"],
            private=answer["private"],
            unit=answer["unit"],
            epsilon=Fraction(answer["epsilon"]),
            delta=Fraction(answer["delta"]),
        )

    def statement(self, *, budget: Any = None, **details: str) -> Statement:
        """The privacy claim in plain words (``print`` it) and for the registry (``.yaml``).

        ``budget`` adds what all releases charged to it have cost. ``name``, ``curator`` and
        ``purpose`` fill in what only the publisher knows.
        """
        return stated(self, self._algorithm.epsilon, budget, **details)

    def text(self, confidence: float = 0.95) -> str:
        """A table for people: each answer with its interval, and what is promised."""
        head, rows = self._table(confidence)
        return "\n".join([text_table(head, rows), "", *self._notes()])

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        head, rows = self._table()
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        return html_table(head, rows, f"private mean, epsilon = {decimal(self.epsilon)}") + notes

    def _table(self, confidence: float = 0.95) -> tuple[list[str], list[list[str]]]:
        decimals = decimals_for(self.expected_error)
        sum_decimals = decimals_for(self.interval(of="sum").high - self.sum)
        rows = []
        for of, value, places in (
            ("mean", self.mean, decimals),
            ("sum", self.sum, sum_decimals),
            ("count", self.count, 0),
        ):
            low, high = self.interval(confidence, of=of)
            rows.append([of, number(value, places), number(low, places), number(high, places)])
        return ["", "private", f"{100 * confidence:g} % from", "to"], rows

    def _notes(self) -> list[str]:
        return promise(self)


def promise(answer: Any) -> list[str]:
    """What a release (or releases) promises, in lines for people."""
    lower, upper = answer.bounds
    delta = f", delta {float(answer.delta):.3g}" if answer.delta else ""
    notes = [
        f"epsilon {decimal(answer.epsilon)}{delta}, {answer.algorithm}, "
        f"bounds {lower} to {upper}, grid {answer.grid}, "
        f"one {answer.unit} {_ADJACENCY[answer.adjacency]}"
    ]
    if answer.adjacency == "swap":
        notes.append("The number of records is PUBLIC here: the count is exact, unprotected.")
    if not answer.private:
        notes.append("NOT PRIVATE: the noise came from a seeded source of bits.")
    return notes


_ADJACENCY = {"add-remove": "added or removed", "swap": "replaced"}
