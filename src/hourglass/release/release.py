"""One answer: a private mean with its sum and count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final

from ..core.exact import to_double
from ..core.totals import NoisyTotals
from ..estimate.interval import Interval, interval
from ..estimate.point import error_at
from ..estimate.population import population, population_kind, studentised
from ..mechanisms.base import MeanMechanism
from .answer import Answer, stored_terms
from .hidden import check_sampled
from .outside import Outside, outside_notes
from .presented import TOO_FEW, UNKNOWN
from .rendering import counted, decimals_for, number

__all__ = ["Release"]

#: What has an interval, in the order of the printed table; the last two only with the spread.
_PRINTED: Final = ("mean", "sum", "count", "std", "variance")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release(Answer):
    """A private mean, with the sum and the count that come with it at no further cost.

    ``mean`` lies within the bounds; ``sum`` is unbiased; ``count`` is a whole number, zero or more.
    ``epsilon`` and ``delta`` are the total price. ``expected_error`` is the root mean squared error
    of the mean caused by the noise, estimated from the noisy answer. ``private`` is False if the
    random bits were not secret, ``adjacency`` is "swap" if the number of records is not protected.
    """

    _by_group: ClassVar[bool] = False
    _shown: ClassVar[tuple[str, ...]] = (
        "mean", "sum", "count", "epsilon", "bounds", "grid", "algorithm", "estimator",
        "expected_error", "adjacency", "unit", "private", "delta",
    )  # fmt: skip

    @classmethod
    def of(
        cls,
        algorithm: MeanMechanism,
        noisy: NoisyTotals,
        *,
        estimator: str,
        private: bool,
        unit: str = "row",
        epsilon: Fraction | None = None,
        delta: Fraction = Fraction(0),
        column: str | None = None,
        where: str | None = None,
        missing: int | float | None = None,
        asked: str = "mean",
        outside_epsilon: Fraction | None = None,
        as_real: bool = False,
    ) -> Release:
        """The release computed from noisy totals.

        ``epsilon`` is what is charged, which is more than the epsilon of the noise if a unit has
        several records.
        """
        return cls(
            noisy_totals=noisy,
            epsilon=algorithm.epsilon if epsilon is None else epsilon,
            delta=delta,
            estimator=estimator,
            unit=unit,
            private=private,
            column=column,
            where=where,
            missing=missing,
            asked=asked,
            outside_epsilon=outside_epsilon,
            as_real=as_real,
            _algorithm=algorithm,
        )

    @property
    def mean(self) -> float:
        """The mean of the values, clamped to the bounds."""
        return float(self._mean)

    @property
    def sum(self) -> float:
        """The sum of the values, clamped to the bounds."""
        return float(self._sum)

    @property
    def count(self) -> int:
        """The number of records."""
        return int(self._count)

    @property
    def variance(self) -> float:
        """The mean squared distance of the values from their mean; needs ``spread=True``."""
        return float(self._variance)

    @property
    def std(self) -> float:
        """The standard deviation of the values; needs ``spread=True``."""
        return float(self._std)

    @property
    def outside(self) -> Outside:
        """How many values lie outside the bounds; needs ``outside=``, such as "1/10"."""
        return Outside.of(self)

    @property
    def expected_error(self) -> float:
        """The expected root mean squared error of the mean, or of the sum if that was asked for.

        It is the error caused by the noise.
        """
        return float(self._error)

    def interval(
        self, confidence: float = 0.95, *, of: str | None = None, simultaneous: bool = False
    ) -> Interval:
        """An interval for the data's mean (or, with ``of=``, its "sum" or "count").

        The default is what was asked for: the mean, or for ``hg.sum`` the sum.

        It is exact for every number of records: over the noise, at least a share ``confidence`` of
        such intervals contains the true value of the data, clamped to the bounds. With the spread,
        ``of`` may be "std" or "variance"; those intervals are approximate, exact to leading order
        in one over the number of records. If several columns were asked for together,
        ``simultaneous`` intervals of all columns hold jointly with that confidence.

        ``of="population"`` is for the mean of the population that the records are a random sample
        of, clamped to the bounds: it covers noise and sampling error. It is exact for yes/no
        columns unless there are many records; valid, but wider than necessary, otherwise; narrow
        and approximate with the spread. ``kind`` of the interval says which.
        """
        together, of = self._algorithm.columns if simultaneous else 1, of or self.asked
        if of == "population":
            return self._population(confidence, together)
        point = getattr(self, of) if of in self._with_interval else 0.0
        return interval(self._algorithm, self.noisy_totals, confidence, of, point, together)

    def _population(self, confidence: float, together: int) -> Interval:
        check_sampled(self.unit)
        if not self._spread:
            return population(self._algorithm, self.noisy_totals, confidence, self.mean, together)
        found = studentised(
            self.mean,
            self.variance,
            float(self.noisy_totals.size),
            noise=self._mean_error,
            confidence=confidence,
            bounds=(float(self.bounds.lower), float(self.bounds.upper)),
        )
        # It is approximate, and never narrower than the exact interval of the records.
        low, high = self.interval(confidence, of="mean")
        return replace(found, low=min(low, found.low), high=max(high, found.high))

    def _population_kind(self, confidence: float) -> str:
        """What the confidence of an interval for the population's mean rests on."""
        if self._spread:
            return "approximate"
        return population_kind(self._algorithm, self.noisy_totals, confidence)

    @property
    def _with_interval(self) -> tuple[str, ...]:
        return _PRINTED if self._spread else _PRINTED[:3]

    def _ends(self, confidence: float, together: int = 1) -> tuple[float, float]:
        low, high = self.interval(confidence, of=self.asked, simultaneous=together > 1)
        return low, high

    def to_dict(  # type: ignore[override]  # the intervals of one row are always there
        self, confidence: float = 0.95, *, fewest: int = 1, population: bool = False
    ) -> dict[str, Any]:
        """The whole answer as JSON values; :meth:`from_dict` restores it.

        ``population`` adds the interval for the mean of the population.
        """
        wanted = (*self._with_interval, *(["population"] if population else []))
        intervals = {of: self.interval(confidence, of=of) for of in wanted}
        return {
            **self._figures(),
            **(
                {}
                if self.outside_epsilon is None
                else {"outside": self.outside.to_dict(confidence)}
            ),
            "few": bool(self.few(fewest)),
            "intervals": {
                of: {
                    "confidence": confidence,
                    "low": found.low,
                    "high": found.high,
                    "kind": found.kind,
                }
                for of, found in intervals.items()
            },
            **stored_terms(self),
        }

    def _printed(self, confidence: float, of: str, few: bool = False) -> list[str]:
        """A figure as text, with the two ends of its interval."""
        ends = (self._number(end, of) for end in self.interval(confidence, of=of))
        return [self._figure(confidence, of, few), *ends]

    def _figure(self, confidence: float, of: str, few: bool) -> str:
        """A figure as text; of ``few`` records, a mean of none or of anything is not printed."""
        if few and of in ("mean", "std", "population"):
            low, high = self.interval(confidence, of="mean" if of == "std" else of)
            found = {"count": self.count, "mean_low": low, "mean_high": high}
            if self._tells_nothing(found):
                return UNKNOWN
        return self._number(self.mean if of == "population" else getattr(self, of), of)

    def _number(self, value: float, of: str) -> str:
        """With as many decimals as are meaningful; the mean of a yes/no column in per cent."""
        if of == "count" or (of == "sum" and self._algorithm.grid.own):
            return number(value, 0)
        if of == "sum":
            # Digits below a thousandth of a record are not meaningful.
            least = to_double(self.bounds.width) / 1000
            low, high = self.interval(of="sum")
            return number(value, decimals_for(max((high - low) / 2, least)))
        error = self._mean_error
        if of == "population":
            low, high = self.interval(of="population")
            error = (high - low) / 4
        if of in ("mean", "population") and self._yes_or_no:
            return f"{number(100 * value, decimals_for(100 * error))} %"
        return number(value, decimals_for(error))

    def _expected_outside(self) -> list[str]:
        """What the search aimed at; its records may be others: of all groups, or unfiltered."""
        if self.bounds.leaves is None:
            return []
        if self.bounds.leaves == (None, None):
            return [f"{self._found}; the number of values outside is unknown."]
        below, above = self.bounds.leaves
        first = "an unknown number" if below is None else f"about {counted(below, 'record')}"
        second = "an unknown number" if above is None else f"about {above:,}"
        return [f"{self._found}, to leave {first} below and {second} above in the data searched."]

    def _outside_notes(self, confidence: float) -> list[str]:
        return outside_notes(self, confidence)

    @property
    def _mean_error(self) -> float:
        return error_at(self._algorithm, to_double(self.noisy_totals.size), self.mean)

    def _table(
        self, confidence: float, fewest: int, every: bool = False
    ) -> tuple[list[str], list[list[str]]]:
        head = ["", "estimate", f"{100 * confidence:g} % from", "to"]
        first = ("mean", "sum") if self.asked == "mean" else ("sum", "mean")
        shown = (*first, "count", *(["std"] if self._spread else []))
        names = {"count": self._counted, "mean": "share" if self._yes_or_no else "mean"}
        few = bool(self.few(fewest))
        rows = [[names.get(of, of), *self._printed(confidence, of, few)] for of in shown]
        if few:
            head, rows = [*head, "note"], [[*row, ""] for row in rows]
            rows[0][-1] = TOO_FEW
        return head, rows

    def _chart_notes(self, confidence: float) -> list[str]:
        return [*self._promise(), *self._outside_notes(confidence)]

    def _release(self, place: int) -> Release:
        """The release of the only row."""
        return self

    @property
    def _identity(self) -> tuple[Any, ...]:
        return (
            self.noisy_totals, self.epsilon, self.delta, self.estimator, self.unit, self.private,
            self.algorithm, self._algorithm.epsilon, self.bounds, self.grid, self.asked,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)
