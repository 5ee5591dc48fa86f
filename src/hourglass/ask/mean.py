"""The flow: read, bound, quantise, aggregate, noise, estimate, report.

Everything that can be wrong with the question is found by :func:`hourglass.ask.request.checked`,
before a row is looked at. :func:`charged` has a budget charged, then :func:`answer` looks at
the data, once, and adds the noise; the answer is stored before it is handed out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np

from ..core.keys import sort_key
from ..core.totals import Groups, NoisyTotals, Totals
from ..core.unit import Unit
from ..noise.bits import SECURE, Bits
from ..release.release import Release
from ..release.releases import Releases
from . import run as charge
from .request import Request, checked

if TYPE_CHECKING:
    from ..ledger import Budget

__all__ = ["Request", "answer", "charged", "checked", "mean", "restored"]


class _Options(TypedDict, total=False):
    """The arguments of :func:`mean` that do not decide what comes back."""

    bounds: Any
    epsilon: Any
    keys: Any
    delta: Any
    unit: Unit | None
    algorithm: str
    estimator: str
    grid: int | None
    missing: Any
    parse: str | None
    engine: str | None
    budget: Budget | None
    request: str | None
    bits: Bits


@overload
def mean(
    data: Any,
    column: str | None = None,
    *,
    by: None = None,
    explain: Literal[False] = False,
    **options: Unpack[_Options],
) -> Release: ...
@overload
def mean(
    data: Any,
    column: str | None = None,
    *,
    by: Any,
    explain: Literal[False] = False,
    **options: Unpack[_Options],
) -> Releases: ...
@overload
def mean(
    data: Any,
    column: str | None = None,
    *,
    by: Any = None,
    explain: Literal[True],
    **options: Unpack[_Options],
) -> str: ...
def mean(
    data: Any,
    column: str | None = None,
    *,
    bounds: Any = None,
    epsilon: Any = None,
    by: Any = None,
    keys: Any = None,
    delta: Any = None,
    unit: Unit | None = None,
    algorithm: str = "hourglass",
    estimator: str = "projected",
    grid: int | None = None,
    missing: Any = "drop",
    parse: str | None = None,
    engine: str | None = None,
    budget: Budget | None = None,
    request: str | None = None,
    explain: bool = False,
    bits: Bits = SECURE,
) -> Release | Releases | str:
    """The differentially private mean, with its sum and count; by group if asked.

    ``data`` is a column of numbers (list, NumPy array, Series, Arrow array, iterator), or a
    table with the name of its ``column``: a pandas, Polars or PyArrow frame, a DuckDB
    relation, a Spark DataFrame, a path or glob (Parquet, CSV, TSV, JSON lines, Arrow), or
    ``hg.sql(url, table)``. The totals are computed where the table lives.

    ``bounds`` (the public range, values are clamped to it) and ``epsilon`` (the privacy
    parameter, smaller is more private) have no default. ``by`` names one or more columns to
    group by: with ``keys``, the public names of the groups, each of them is answered; with
    ``delta`` the names are secret, and a group is answered if its noisy count is large
    enough. ``unit`` is whose presence is hidden: ``hg.per_row()``, ``hg.per_person("id")``.

    ``algorithm`` is "hourglass", the optimal one, or for comparison "staircase", "laplace",
    "shifted", "independent", "swap"; ``estimator`` is "projected", "ratio" or, for small
    groups, "jeffreys" (means may lie next to a bound) or "posterior" (well inside). ``grid``
    is the number of cells that the range is cut into; left out, a column of integers with
    integer bounds keeps its own and all else gets 2^32.
    ``missing`` is "drop", or the value that a missing one counts as. ``parse`` declares how
    a column of text is read, "real" or "integer"; text that is no such number is missing.
    ``engine`` names another engine than DuckDB for files.

    ``budget`` (:class:`Budget`) is charged before the data is looked at, and refuses what it
    has no room for. ``request`` names the question there: asked again under the same name it
    returns the stored answer, at no charge. ``explain=True`` returns the SQL that would run,
    and runs nothing. ``bits`` is for tests: a release made of seeded bits says
    ``private=False``.

    Returns a :class:`Release`, or :class:`Releases` with ``by``.
    """
    asked = checked(
        data,
        column,
        bounds=bounds,
        epsilon=epsilon,
        by=by,
        keys=keys,
        delta=delta,
        unit=unit,
        algorithm=algorithm,
        estimator=estimator,
        grid=grid,
        missing=missing,
        parse=parse,
        engine=engine,
    )
    if explain:
        return asked.sql or "-- numbers in memory: no SQL, NumPy adds them up\n"
    return charged(asked, budget, request, bits=bits)


def charged(
    asked: Request, budget: Budget | None, request: str | None, *, bits: Bits = SECURE
) -> Release | Releases:
    """The answer, once the budget has been charged; a stored one if it was asked before."""
    return charge.charged(
        budget,
        request,
        lambda: answer(asked, bits=bits),
        restored,
        epsilon=asked.epsilon,
        delta=asked.delta,
        question=asked.question,
        subject=asked.subject,
    )


def restored(written: dict[str, Any]) -> Release | Releases:
    """The answer that was stored."""
    return (Releases if "by" in written else Release).from_dict(written)


def answer(request: Request, *, bits: Bits = SECURE) -> Release | Releases:
    """Look at the data, add the noise, and say what came of it."""
    found = request.read()
    mechanism = request.mechanism
    if not request.by:
        totals = found.totals if isinstance(found, Groups) else found
        if isinstance(totals.count, np.ndarray):
            totals = Totals(int(totals.cells[0]), int(totals.count[0]))
        return Release.of(
            mechanism,
            mechanism.noise(totals, bits=bits),
            estimator=request.estimator,
            private=bits.private,
            unit=str(request.unit),
            epsilon=request.epsilon,
            delta=request.delta,
        )
    assert isinstance(found, Groups)
    if request.keys:
        keys = request.keys.keys
        noisy = mechanism.noise(request.keys.pick(found), bits=bits)
    else:
        keys, noisy = _published(request, found, bits)
    return Releases(
        by=request.by,
        groups=keys,
        noisy_totals=noisy,
        epsilon=request.epsilon,
        delta=request.delta,
        threshold=request.threshold,
        estimator=request.estimator,
        unit=str(request.unit),
        private=bits.private,
        _algorithm=mechanism,
    )


def _published(
    request: Request, found: Groups, bits: Bits
) -> tuple[tuple[tuple[Any, ...], ...], NoisyTotals]:
    """The groups whose noisy count reaches the threshold, in the order of their keys."""
    assert request.threshold is not None
    # An empty group (all its values missing) is no group: it never shows.
    rows = np.flatnonzero(np.asarray(found.count > 0, dtype=bool))
    noisy = request.mechanism.noise(found.take(rows), bits=bits)
    least = request.threshold * noisy.grid * noisy.parts
    kept = np.flatnonzero(np.asarray(noisy.weight >= least, dtype=bool)).tolist()
    keys = {i: found.key(rows[i]) for i in kept}
    order = sorted(kept, key=lambda i: sort_key(keys[i]))
    shown = NoisyTotals(noisy.cells[order], noisy.rest[order], noisy.grid, noisy.parts)
    return tuple(keys[i] for i in order), shown
