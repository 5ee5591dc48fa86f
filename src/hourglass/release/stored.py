"""Answers as JSON values, and back; the names of their columns.

This form is printed by ``--format json`` and stored in a ledger. In the rows of an answer by group,
a key has the name of its ``by`` column, whatever that name is; a figure whose name is taken gets
another (:func:`figure_names`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..core.grid import Bounds, Grid
from ..core.keys import KeyColumn, Keys
from ..core.totals import NoisyTotals
from ..errors import OptionError
from ..mechanisms.base import remade

if TYPE_CHECKING:
    from .answer import Answer

__all__ = [
    "check_stored", "figure_names", "keys_from", "named_keys", "stored_rows", "stored_terms",
    "terms_from",
]  # fmt: skip

_KINDS: Final = {bool: "boolean", int: "integer", date: "date"}


def check_stored(answer: Any, wanted: str) -> None:
    """Raise an error unless this is a stored answer, of the class of that name."""
    kind = _stored_class(answer)
    if kind is None:
        raise OptionError(
            f"answer, of type {type(answer).__name__}, is not a stored answer; give the dict that "
            "to_dict() returned, or the parsed JSON of --format json"
        )
    if kind != wanted:
        raise OptionError(f"answer: read this one with hg.{kind}.from_dict")


def _stored_class(answer: Any) -> str | None:
    if not isinstance(answer, Mapping):
        return None
    if "scans" in answer:
        return "FoundBounds"
    if "columns" in answer:
        return "Columns"
    noisy = answer.get("noisy_totals")
    if not isinstance(noisy, Mapping):
        return None
    return ("Count" if "count" in noisy else "Release") + ("s" if "by" in answer else "")


def stored_terms(answer: Answer) -> dict[str, Any]:
    """What every answer has: what was asked and promised, and the noisy totals."""
    noisy, bounds = answer.noisy_totals, answer.bounds
    return {
        "epsilon": str(answer.epsilon),
        "delta": str(answer.delta),
        "noise_epsilon": str(answer._algorithm.epsilon),
        "bounds": [bounds.lower, bounds.upper],
        "bounds_origin": bounds.origin,
        **({} if bounds.leaves is None else {"bounds_leave": list(bounds.leaves)}),
        "grid": answer.grid,
        "own_grid": answer._algorithm.grid.own,
        "algorithm": answer.algorithm,
        "estimator": answer.estimator,
        "adjacency": answer.adjacency,
        "unit": answer.unit,
        "column": answer.column,
        **({} if answer.where is None else {"where": answer.where}),
        **({} if answer.missing is None else {"missing": answer.missing}),
        **({} if answer.asked == "mean" else {"asked": answer.asked}),
        **({"as_real": True} if answer.as_real else {}),
        "private": answer.private,
        "noisy_totals": {
            "cells": _integers(noisy.cells),
            "rest": _integers(noisy.rest),
            "parts": noisy.parts,
            **({} if noisy.squares is None else {"squares": _integers(noisy.squares)}),
            **({} if noisy.below is None else {"below": _integers(noisy.below)}),
            **({} if noisy.above is None else {"above": _integers(noisy.above)}),
        },
        **_outside(answer),
        **answer._algorithm.stored(),
    }


def terms_from(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that restore an answer, except its keys."""
    left = stored.get("bounds_leave")
    leaves = (left[0], left[1]) if left else None
    bounds = Bounds(*stored["bounds"], origin=stored["bounds_origin"], leaves=leaves)
    grid = Grid(bounds, stored["grid"], stored["own_grid"])
    noisy = stored["noisy_totals"]
    return {
        "noisy_totals": NoisyTotals(
            _totals(noisy["cells"]),
            _totals(noisy["rest"]),
            grid.cells,
            noisy["parts"],
            *(_totals(noisy.get(part)) for part in ("squares", "below", "above")),
        ),
        "outside_epsilon": Fraction(rate) if (rate := stored.get("outside_epsilon")) else None,
        "epsilon": Fraction(stored["epsilon"]),
        "delta": Fraction(stored["delta"]),
        "estimator": stored["estimator"],
        "unit": stored["unit"],
        "column": stored.get("column"),
        "where": stored.get("where"),
        "missing": stored.get("missing"),
        "asked": stored.get("asked", "mean"),
        "as_real": stored.get("as_real", False),
        "private": stored["private"],
        # The parts of a cell are those of the stored noise, even if others would be chosen now.
        "_algorithm": remade(grid, stored),
    }


def named_keys(answer: Any) -> dict[str, list[Any]]:
    """The columns of ``by`` with the keys of the groups, as plain values."""
    return dict(zip(answer.by, answer.groups.lists(), strict=True))


def figure_names(by: Sequence[str], figures: Sequence[str]) -> dict[str, str]:
    """The name of each figure's column: its own, unless ``by`` has a column of that name.

    Then "private_" is prepended, repeatedly if needed. Names that differ only in case count as
    equal, as they do for many readers of tables.
    """
    taken = {name.casefold() for name in by}
    names = {}
    for figure in figures:
        name = figure
        while name.casefold() in taken:
            name = f"private_{name}"
        names[figure] = name
    return names


def stored_rows(
    answer: Any, columns: Mapping[str, Any], confidence: float | None
) -> dict[str, Any]:
    """The keys and figures of an answer by group, one row per group, from its columns."""
    plain = {name: _plain(column) for name, column in columns.items()}
    return {
        "by": list(answer.by),
        "by_kinds": [_kind(columns[name]) for name in answer.by],
        "groups": [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)],
        "confidence": confidence,
        "threshold": answer.threshold,
    }


def keys_from(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that name the groups of an answer by group; none for a single release."""
    if "by" not in stored:
        return {}
    by, rows = tuple(stored["by"]), stored["groups"]
    kinds = stored.get("by_kinds")
    if kinds is None:  # written by version 0.1, which stored dates as text
        _check_overwritten(by, stored)
        kinds = ["text"] * len(by)
    columns = [
        KeyColumn.of([_value(row[name], kind) for row in rows])
        for name, kind in zip(by, kinds, strict=True)
    ]
    return {
        "by": by,
        "groups": Keys(columns),
        "threshold": stored["threshold"],
    }


def _check_overwritten(by: Sequence[str], stored: Mapping[str, Any]) -> None:
    """Raise an error if version 0.1 overwrote the keys with figures."""
    figures = ["mean", "sum", "count", "expected_error"]
    if stored["confidence"] is not None:
        figures += ["mean_low", "mean_high"]
    lost = [name for name in by if name in figures]
    if lost:
        raise OptionError(
            f"this answer was stored by hourglass 0.1 with by={lost[0]!r}, whose group names that "
            f"version overwrote with the answer's own column {lost[0]!r}: the names are lost. The "
            'figures are intact, in the order of the keys, under "groups" of the stored JSON; to '
            "have them with names, ask again under another request key, at a charge"
        )


def _kind(column: Sequence[Any]) -> str:
    found = next((type(value) for value in column if value is not None), str)
    return _KINDS.get(found, "text")


def _value(value: Any, kind: str) -> Any:
    return date.fromisoformat(value) if kind == "date" and value is not None else value


def _plain(column: Any) -> list[Any]:
    values = column.tolist() if isinstance(column, np.ndarray) else column
    return [value.isoformat() if isinstance(value, date) else value for value in values]


def _outside(answer: Answer) -> dict[str, Any]:
    rate = answer.outside_epsilon
    return {} if rate is None else {"outside_epsilon": str(rate)}


def _integers(totals: Any) -> Any:
    return [int(total) for total in totals] if isinstance(totals, np.ndarray) else int(totals)


def _totals(stored: Any) -> Any:
    return np.array(stored, dtype=object) if isinstance(stored, list) else stored
