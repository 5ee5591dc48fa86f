"""Known mistakes, and which check catches each, to show that the audit can fail.

Every mutant is the library with one mistake, in the form that the checks need. The same checks pass
on the unmodified library, which is the first row of the table; the mutants with several columns
follow an unmodified one of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ..ask.question import MeanQuestion
from ..ask.run import run
from ..core.limits import per_row
from ..core.totals import Totals
from ..ledger import Budget
from ..mechanisms.base import hourglass_lattice
from ..mechanisms.threshold import threshold
from ..noise import Hourglass, SeededBits
from ..noise.bits import SECURE, Bits
from ..noise.hourglass import stair
from ..noise.ladder import Ladder
from .around import keys_finding, ledger_finding, persons_finding
from .bench import REAL, Bench, Mutant, MutantRow
from .column_mutants import column_mutants
from .counts import count_mutants
from .empirical import Array, Sampler
from .exact import exact_finding
from .files import MISTAKEN, mistaken_finding
from .finding import Finding
from .greybox import Path
from .lines import MISREAD, misread_finding
from .names import Row, names_finding, relation
from .paths import Convert, memory_paths, sampler_of
from .scripts import sampler_finding
from .spreads import spread_mutants

__all__ = ["mutants", "run_mutants"]


def run_mutants(bench: Bench) -> Iterator[MutantRow]:
    """Run every applicable check on every mutant, the unmodified library first."""
    for mutant in mutants(bench):
        findings = [check() for check in mutant.checks]
        yield MutantRow(mutant.name, {finding.check: finding for finding in findings})


def mutants(bench: Bench) -> list[Mutant]:
    """The unmodified library, then every mutant."""
    return [
        _real(bench),
        *_wrong_law(bench),
        *_wrong_moves(bench),
        *_wrong_sampler(bench),
        *_wrong_flow(bench),
        *_wrong_around(bench),
        *column_mutants(bench),
        *spread_mutants(bench),
        *count_mutants(bench),
    ]


def _real(bench: Bench) -> Mutant:
    law, G = bench.law, bench.grid
    return Mutant(
        REAL,
        (
            lambda: exact_finding(hourglass_lattice(law)),
            lambda: _geometric(lambda bits: int(Ladder(Fraction(1), 1, 2).sample(1, bits)[0])),
            bench.moved(REAL, (0, 1), (G, 1)),
            bench.walked(memory_paths(bench.epsilon, (0.0, 1.0), G)[2]),
            lambda: ledger_finding(REAL, run),
        ),
    )


# --- the law itself -----------------------------------------------------------------------


def _wrong_law(bench: Bench) -> list[Mutant]:
    law, G = bench.law, bench.grid

    def unsigned(x: int, k: int) -> int:
        j = abs(stair(x, G, law.c))
        return j + abs(k - j)

    def flat(x: int, k: int) -> int:
        return abs(stair(x, G, law.c)) + abs(k)

    doubled = Hourglass(2 * bench.epsilon, G)
    pairs = [((0, 0), (q, 1)) for q in (0, G)]
    return [
        Mutant(
            "unsigned stair in the count",
            (
                lambda: exact_finding(hourglass_lattice(law, level=unsigned)),
                bench.sampled("unsigned", _from_parts(law, np.abs), *pairs),
            ),
        ),
        Mutant(
            "count noise without the stair",
            (
                lambda: exact_finding(hourglass_lattice(law, level=flat)),
                bench.sampled("flat", _from_parts(law, np.zeros_like), *pairs),
            ),
        ),
        Mutant(
            "noise at twice epsilon",
            (
                lambda: exact_finding(hourglass_lattice(doubled), claimed=bench.epsilon),
                bench.sampled("doubled", _from_parts(doubled, np.positive), *pairs),
            ),
        ),
    ]


def _from_parts(law: Hourglass, stairs: Callable[[Array], Array]) -> Sampler:
    """(S + X, G (N + f(j) + T)): the hourglass for f(j) = j."""
    magnitude = Ladder(law.epsilon, 1, 2)

    def sampler(data: Any, size: int) -> list[Array]:
        x, j, coin = law.marginal_x.draw(size, SECURE)
        t = magnitude.sample(size, SECURE)
        k = stairs(j) + np.where(coin, -t, t)
        return [data[0] + x, law.grid * (data[1] + k)]

    return sampler


# --- what a record adds -------------------------------------------------------------------


def _wrong_moves(bench: Bench) -> list[Mutant]:
    law, G = bench.law, bench.grid

    def unclamped(values: Sequence[Any]) -> Totals:
        cells = np.rint(_finite(values) * G)
        return Totals(int(cells.sum()), len(cells))

    def rounded_up(values: Sequence[Any]) -> Totals:
        cells = np.floor(np.clip(_finite(values), 0.0, 1.0) * G) + 1
        return Totals(int(cells.sum()), len(cells))

    def filtered(values: Sequence[Any]) -> Totals:
        clipped = np.clip(_finite(values), 0.0, 1.0)
        cells = np.rint(clipped * G)
        return Totals(int(cells.sum()), int((clipped < 1.0).sum()))

    def twice(values: Sequence[Any]) -> Totals:
        cells = np.rint(np.clip(_finite(values), 0.0, 1.0) * G)
        return Totals(int(cells.sum()), len(cells) + int((cells == G).sum()))

    def trial(name: str, moves: list[tuple[int, int]], totals: Any) -> Mutant:
        return Mutant(
            name,
            (
                lambda: exact_finding(hourglass_lattice(law, moves=moves)),
                bench.moved(name, moves[0], moves[-1]),
                bench.aggregated(name, totals),
            ),
        )

    return [
        trial("q = G+1: not clamped", [(q, 1) for q in range(G + 2)], unclamped),
        trial("clamped, then rounded past G", [(q + 1, 1) for q in range(G + 1)], rounded_up),
        trial("summed but not counted", [(q, 0) for q in range(G + 1)], filtered),
        trial("counted twice", [(q, 2) for q in range(G + 1)], twice),
    ]


def _finite(values: Sequence[Any]) -> Array:
    array = np.array(values, dtype=np.float64)
    return np.clip(array[~np.isnan(array)], -1e6, 1e6)


# --- the sampler --------------------------------------------------------------------------


def _wrong_sampler(bench: Bench) -> list[Mutant]:
    law, G = bench.law, bench.grid
    scale = 1 / float(bench.epsilon)

    def cut(bits: Bits) -> int:
        return min(int(Ladder(Fraction(1), 1, 2).sample(1, bits)[0]), 3)

    def textbook(data: Any, size: int) -> list[Array]:
        uniform = (SECURE.words(size) >> np.uint64(11)) * 2.0**-53 - 0.5
        noise = -scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform + 2.0**-54))
        return [data + noise]

    def repeated(data: Any, size: int) -> list[Array]:
        x, k = law.sample(bits=SeededBits(1))
        return [np.full(size, data[0] + x), np.full(size, G * (data[1] + k))]

    def seeded(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        return memory_paths(bench.epsilon, (0.0, 1.0), G)[2].run(values, SeededBits(1))

    def in_floats(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        answer = dict(memory_paths(bench.epsilon, (0.0, 1.0), G)[2].run(values, bits))
        totals = answer["noisy_totals"]
        noise = float(bits.words(1)[0]) * 2.0**-64
        return answer | {"noisy_totals": totals | {"cells": totals["cells"] + noise}}

    return [
        Mutant("geometric cut off at three", (lambda: _geometric(cut),)),
        Mutant(
            "noise in floating point",
            (
                bench.sampled("textbook Laplace", textbook, (0.0, 1.0)),
                bench.walked(Path("floats", in_floats, rebuild=lambda _: {})),
            ),
        ),
        Mutant(
            "the same seed for every release",
            (
                bench.sampled("seeded", repeated, ((0, 0), (G, 1))),
                bench.walked(Path("seeded", seeded)),
            ),
        ),
    ]


def _geometric(draw: Callable[[Bits], int]) -> Finding:
    """Every script of 7 words of 2 bits, against the law of |T| at rate 1."""
    law = Ladder(Fraction(1), 1, 2)
    return sampler_finding("two-sided geometric", draw, law.pmf, range(12))


# --- the code around the noise --------------------------------------------------------------------


def _wrong_flow(bench: Bench) -> list[Mutant]:
    real = memory_paths(bench.epsilon, (0.0, 1.0), bench.grid)[2]
    noised = sampler_of(bench.algorithm)

    def bare_when_empty(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        answer = dict(real.run(values, bits))
        if len(values) == 0:
            answer |= {"noisy_totals": {"cells": 0, "rest": 0, "parts": 1}}
        return answer

    def empty_is_zero(data: Any, size: int) -> Sequence[Array]:
        columns = noised(data, size)
        return [np.zeros_like(column) for column in columns] if data[1] == 0 else columns

    def exact_sum(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        return {**real.run(values, bits), "sum": float(np.nansum(np.clip(values, 0, 1)))}

    def poisoned(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        if any(value != value for value in values):
            raise ValueError("cannot convert NaN")
        return real.run(values, bits)

    return [
        Mutant(
            "no noise where there are no records",
            (
                bench.sampled("bare", empty_is_zero, ((0, 0), (0, 1))),
                bench.walked(Path("bare", bare_when_empty)),
            ),
        ),
        Mutant("the sum released without noise", (bench.walked(Path("bare sum", exact_sum)),)),
        Mutant("an error on a bad row", (bench.walked(Path("oracle", poisoned)),)),
    ]


# --- keys, persons, budgets ---------------------------------------------------------------


def _wrong_around(bench: Bench) -> list[Mutant]:
    law, delta = bench.law, Fraction(1, 10**6)

    def charged_after(asked: MeanQuestion, budget: Budget, key: str | None) -> Any:
        found = run(asked)
        budget.reserve(asked.epsilon, question=asked.text, request=key).settle(found.to_dict())
        return found

    def noised_again(asked: MeanQuestion, budget: Budget, key: str | None) -> Any:
        found = run(asked, budget, key)
        return run(asked) if key else found

    return [
        Mutant(
            "threshold of secret keys one too low",
            (lambda: keys_finding(law, delta, threshold(law, delta) - 1),),
        ),
        Mutant("a person's rows not bounded", (lambda: persons_finding(bench.epsilon, per_row()),)),
        *_wrong_names(bench),
        *(Mutant(name, (partial(misread_finding, name, bench.epsilon),)) for name in MISREAD),
        *(Mutant(name, (partial(mistaken_finding, name, bench.epsilon),)) for name in MISTAKEN),
        Mutant("charged after the release", (lambda: ledger_finding("late", charged_after),)),
        Mutant("new noise for an old request", (lambda: ledger_finding("again", noised_again),)),
    ]


def _wrong_names(bench: Bench) -> list[Mutant]:
    """Tables read in the engines' own way."""

    def table(rows: Sequence[Row], name: Callable[[bytes], str | None]) -> Any:
        return relation("g VARCHAR, x DOUBLE", [(name(raw), value) for raw, value in rows])

    def folded(rows: Sequence[Row]) -> Any:
        first: dict[str, str] = {}  # a collation keeps the first of equal names
        texts = (raw.decode(errors="replace") for raw, _ in rows)
        for text in reversed(list(texts)):
            first[text.lower()] = text
        return table(rows, lambda raw: first[raw.decode(errors="replace").lower()])

    def strict(rows: Sequence[Row]) -> Any:
        return table(rows, lambda raw: raw.decode())

    def limited(rows: Sequence[Row]) -> Any:
        return table(rows, lambda raw: raw.decode(errors="replace")).order("x DESC").limit(20)

    def caught(name: str, convert: Convert) -> Mutant:
        return Mutant(name, (lambda: names_finding(name, convert, bench.epsilon),))

    return [
        caught("names compared by a collation", folded),
        caught("an error on a name that is not UTF-8", strict),
        caught("a SELECT with LIMIT", limited),
    ]
