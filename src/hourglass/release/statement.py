"""The privacy claim of a release, in plain English and with the registry's fields.

The fields are those of the public registry of differential privacy deployments; what only the
publisher knows (name, curator, purpose) is left to fill in. docs/statement.md maps each field
to the question of NIST SP 800-226 that it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from ..core.exact import decimal
from ..errors import OptionError
from ..mechanisms.base import Mechanism
from ..mechanisms.outside import OutsideCounts
from .rendering import (
    NOT_PRIVATE,
    Range,
    clamped,
    counts_persons,
    html_paragraphs,
    label,
    limited,
    listed,
    named,
    replaced,
    yaml_text,
)

__all__ = ["Range", "Statement", "stated"]

_CITATION: Final = (
    'Kulesza, Suresh, Wang: "Mean estimation in the add-remove model of differential privacy", '
    "ICML 2024"
)
_OF_COUNTS: Final = (
    'Ghosh, Roughgarden, Sundararajan: "Universally utility-maximizing privacy mechanisms", '
    "STOC 2009"
)
FILL_IN: Final = "(fill in)"


@dataclass(frozen=True)
class Statement:
    """What is promised, to whom, how, and what is not promised."""

    epsilon: Fraction
    delta: Fraction
    unit: str
    adjacency: str
    ranges: tuple[Range, ...]
    mechanism: str
    noise_epsilon: Fraction
    private: bool
    by: tuple[str, ...] = ()
    threshold: int | None = None
    where: str | None = None
    outside: Fraction | None = None
    budget: str | None = None
    total: tuple[Fraction, Fraction] | str | None = None
    spread: bool = False
    together: int = 1
    name: str = FILL_IN
    curator: str = FILL_IN
    purpose: str = FILL_IN

    @property
    def words(self) -> str:
        """The claim in plain English, one sentence per line."""
        return "\n".join(self._sentences())

    def to_dict(self) -> dict[str, Any]:
        """The claim with the registry's fields."""
        return {
            "deployment": {
                "basic": {
                    "name": self.name,
                    "data_curators": [{"data_curator_name": self.curator}],
                    "intended_use": self.purpose,
                    "data_product_type": "Summary statistics",
                },
                "dp_variant": {
                    "variant_name": self._variant,
                    "data_domain": self._domain,
                    "unprotected_quantities": self._unprotected,
                },
                "privacy_loss": {
                    "privacy_unit": self._unit,
                    "privacy_unit_details": self._adjacent,
                    "privacy_parameters": self._parameters(self.epsilon, self.delta),
                    "privacy_parameters_details": self._parameter_details,
                },
                "deployment_model": {
                    "model_name": "Central",
                    "release_type": "One release",
                    "access_type": "Non-interactive",
                },
                "implementation": {
                    "preprocessing_and_hyperparameter_tuning": self._preprocessing,
                    "mechanisms": self._mechanism,
                    "composition": self._composition,
                    "post_processing": f"{'means, sums, ' if self.ranges else ''}the count and "
                    "intervals are computed from the noisy totals, without further use of the data",
                    "justification": FILL_IN,
                },
            }
        }

    @property
    def yaml(self) -> str:
        """The registry's fields as YAML, with the plain-English text above them as comments."""
        comments = "\n".join(f"# {line}" for line in self._sentences())
        return f"{comments}\n{yaml_text(self.to_dict())}\n"

    def __str__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        return html_paragraphs(self._sentences())

    # --- parts of the claim -----------------------------------------------------------------------

    @property
    def _variant(self) -> str:
        return "Approximate DP" if self.delta else "Pure DP"

    @property
    def _domain(self) -> str:
        size = "public size" if self.adjacency == "swap" else "any size"
        ends = self._each(lambda r: f"[{r.bounds.lower}, {r.bounds.upper}]")
        return f"tables of {size}" + (f"; values are clamped to {ends}" if self.ranges else "")

    def _each(self, words: Callable[[Range], str]) -> str:
        """A text about the columns: once if all are equal, otherwise by name."""
        said = [words(each) for each in self.ranges]
        if len(set(said)) < 2:
            return "".join(said[:1])
        pairs = zip(self.ranges, said, strict=True)
        return ", ".join(f"{text} ({each.column})" for each, text in pairs)

    @property
    def _unprotected(self) -> str:
        size = "the number of records, which is published exactly; "
        public = [*(["the bounds", "the grid"] if self.ranges else []), "the request"]
        if self._public_keys:
            public.append(f"the names of the groups ({', '.join(self.by)})")
        plainly = "all of which are" if len(public) > 1 else "which is"
        return f"{size if self.adjacency == 'swap' else ''}{listed(public)}, {plainly} public"

    @property
    def _public_keys(self) -> bool:
        return bool(self.by) and self.threshold is None

    @property
    def _adjacent(self) -> str:
        if self.adjacency == "swap":
            return "adjacent tables differ in the value of one record that is counted in both"
        return f"adjacent tables differ by one {self._unit}, added or removed{self._rows}"

    @property
    def _unit(self) -> str:
        return limited(self.unit, by_group=bool(self.by))

    @property
    def _rows(self) -> str:
        return "" if self.unit == "row" else " with all of their rows"

    @property
    def _parameter_details(self) -> str:
        parts = [f"epsilon is exactly {self.epsilon}"]
        if self.delta:
            parts.append(f"delta is exactly {self.delta}")
        several = self.noise_epsilon + (self.outside or 0) != self.epsilon
        if self.outside is not None:
            each = "per record" if several else "of it"
            told = f"{decimal(self.outside)} {each} is spent on counting the values outside"
            parts.append(f"{told} the bounds")
        if several:
            noise = "the noise" if self.outside is None else "the other noise"
            parts.append(
                f"{noise} is drawn at epsilon {decimal(self.noise_epsilon)} per record, since one "
                "unit may contribute several records"
            )
        return "; ".join(parts)

    @property
    def _preprocessing(self) -> str:
        kept = "" if self.where is None else f"rows kept where {label([self.where])}; "
        kept += "".join(f"{each[0].lower()}{each[1:-1]}; " for each in replaced(self.ranges))
        if not self.ranges:
            return f"{kept}privacy unit: {self._unit}"
        origins = self._each(lambda r: r.bounds.origin)
        cells = self._each(lambda r: str(r.cells))
        return (
            f"{kept}values clamped to public bounds ({origins}) and rounded to a grid of "
            f"{cells} steps; privacy unit: {self._unit}"
        )

    @property
    def _mechanism(self) -> str:
        told = f"; a group is published if its noisy count is at least {self.threshold}"
        keys = "" if self.threshold is None else told
        return (
            f"{self.mechanism}, on integers, sampled exactly from the operating "
            f"system's generator, in time independent of the outcome{keys}; "
            f"{_CITATION if self.ranges else _OF_COUNTS}"
        )

    @property
    def _composition(self) -> str:
        if self.total is None:
            how = "alone" if self.budget is None else f"was charged to budget {self.budget}"
            return f"this release {how}; releases on the same data add up (basic composition)"
        if isinstance(self.total, str):
            return f"all releases charged to budget {self.budget}, now and later: {self.total}"
        epsilon, delta = self.total
        spent = f"epsilon {decimal(epsilon)}" + (f", delta {decimal(delta)}" if delta else "")
        return (
            f"the sum of all releases charged to budget {self.budget}: {spent} spent so far; a sum "
            "(basic composition) holds however the releases were chosen"
        )

    def _parameters(self, epsilon: Fraction, delta: Fraction) -> dict[str, float]:
        found = {"epsilon": float(epsilon)}
        return found | ({"delta": float(delta)} if delta else {})

    def _about(self) -> list[str]:
        by = f", for each group of {listed([named(name) for name in self.by])}" if self.by else ""
        if not self.ranges:
            counted = "persons" if counts_persons(self.unit) else "rows"
            return [f"The number of {counted} was released{by}."]
        if len(self.ranges) == 1:
            (column,) = (each.column for each in self.ranges)
            of = "a column" if column is None else named(column)
            spread = "the standard deviation, " if self.spread else ""
            return [f"The mean, {spread}the sum and the count of {of} were released{by}."]
        names = ", ".join(named(str(each.column)) for each in self.ranges)
        return [
            f"The means and sums of {len(self.ranges)} columns ({names}) were released together"
            f"{by}, with the one count that they share, for one epsilon."
        ]

    def _hidden(self) -> str:
        if self.adjacency == "swap":
            told = "It hides the value of any one record, but not whether it was counted: the "
            return told + "number of records is published exactly."
        return f"It hides the presence of any one {self._unit}{self._rows}."

    def _published(self) -> list[str]:
        told = "A group was published only if its noisy count was at least"
        rest = "the names of all other groups stay hidden."
        return [] if self.threshold is None else [f"{told} {self.threshold:,}; {rest}"]

    def _filtered(self) -> list[str]:
        if self.where is None:
            return []
        return [f"Only rows where {label([self.where])} were counted; the condition is public."]

    def _counting(self) -> list[str]:
        if self.outside is None:
            return []
        part = self.outside / (self.outside + self.noise_epsilon)
        others = f" of {self.together} columns" if self.together > len(self.ranges) else ""
        return [
            f"A share of {decimal(part)} of epsilon was spent on counting the values below and "
            f"above the bounds{others}, by the {OutsideCounts.words}."
        ]

    def _clamping(self) -> list[str]:
        if not self.ranges:
            return []
        origins = {each.bounds.origin for each in self.ranges}
        ends = self._each(lambda r: clamped(r.bounds))
        if len(origins) == 1:
            return [f"Values were clamped to {ends}; the bounds were {origins.pop()}."]
        return [
            f"Values were clamped to {ends}.",
            f"The bounds were {self._each(lambda r: r.bounds.origin)}.",
        ]

    def _sentences(self) -> list[str]:
        loss = f"epsilon = {decimal(self.epsilon)}"
        if self.delta:
            loss += f", delta = {decimal(self.delta)}"
        bounds = "bounds chosen by looking at the data, " if self.ranges else ""
        others = "other releases on the same data"
        if self.budget is not None:
            others = f"releases not charged to budget {self.budget}"
        lines = [
            *self._about(),
            f"This release is differentially private ({self._variant}) with {loss}.",
            self._hidden(),
            *self._published(),
            *self._filtered(),
            *replaced(self.ranges),
            *self._clamping(),
            f"The noise is the {self.mechanism}.",
            *self._counting(),
            f"Not protected: {self._unprotected}. Nothing else is released unprotected.",
            f"Composition: {self._composition}.",
            f"Not covered: who can read the raw data, how long the database takes, {bounds}and "
            f"{others}.",
        ]
        if not self.private:
            lines.insert(0, NOT_PRIVATE)
        return lines


def stated(
    answer: Any, ranges: Iterable[Range], mechanism: Mechanism, budget: Any = None, **details: str
) -> Statement:
    """The statement of an answer whose columns have these ranges."""
    unknown = set(details) - {"name", "curator", "purpose"}
    if unknown:
        raise OptionError(f"{unknown.pop()!r} is not one of name, curator, purpose")
    given, rate = tuple(ranges), getattr(answer, "outside_epsilon", None)
    together = max(len(given), getattr(mechanism, "columns", 1))
    if not (budget is None or hasattr(budget, "balance")):
        raise OptionError(
            "budget= takes the hg.Budget that the answer was charged to, not a "
            f"{type(budget).__name__}"
        )
    account = budget.balance() if budget is not None else None
    return Statement(
        epsilon=answer.epsilon,
        delta=answer.delta,
        unit=answer.unit,
        adjacency=answer.adjacency,
        ranges=given,
        mechanism=mechanism.words,
        noise_epsilon=mechanism.epsilon,
        private=answer.private,
        by=answer.by,
        threshold=answer.threshold,
        where=answer.where,
        outside=rate * together if rate is not None else None,
        budget=budget.name if budget is not None else answer.charged_to,
        total=account and (account.terms.rule.promise or account.spent.pair),
        spread=getattr(mechanism, "statistic", "") == "spread",
        together=together,
        **details,
    )
