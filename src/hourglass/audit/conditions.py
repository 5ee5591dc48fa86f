"""The grey-box audit of filters and expressions: a row affects only its own value.

Both divide by zero, overflow, underflow and cancel infinities for some of the rows by which
neighbours differ. An engine that failed there would reveal a row by an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path as Folder
from typing import Any, Final

from ..read.sql.expression.given import expression
from .finding import Finding
from .greybox import Path, greybox_finding, neighbours
from .paths import mean_path, present, tables

__all__ = [
    "EXPRESSION", "FILTER", "audit_conditions", "condition_paths", "counted_by_filter",
    "counted_by_value",
]  # fmt: skip

FILTER: Final = "1 / (x - 5) < 3 AND x * 1e300 * 1e-300 * 1e-300 >= 0"
EXPRESSION: Final = "x * 1e300 - x * 1e300 + x"


def counted_by_filter(x: float) -> int:
    """Whether a row passes the filter: from 0 on, unless 1 / (x - 5) is 3 or more."""
    return int(x >= 0.0 and not 0.0 <= x - 5.0 <= 1 / 3)


def counted_by_value(x: float) -> int:
    """Whether the expression has a value: unless the products are infinite."""
    return int(present(x) and abs(x) * 1e300 < math.inf)


def condition_paths(epsilon: Fraction, folder: Folder) -> list[Path]:
    """Each kind of table that can be made here, under the filter and with the expression."""
    ask: dict[str, Any] = {"bounds": (0.0, 10.0), "epsilon": epsilon}
    computed, filtered = expression(EXPRESSION), ask | {"where": FILTER}
    return [
        path
        for name, convert in tables(folder).items()
        for path in (
            mean_path(f"{name} under a filter", convert, "x", filtered, counted_by_filter),
            mean_path(f"{name}, an expression", convert, computed, ask, counted_by_value),
        )
    ]


def audit_conditions(epsilon: Fraction, folder: Folder) -> Iterator[Finding]:
    """Every such path, over neighbours with many rows."""
    pairs = [pair for pair in neighbours(0.0, 10.0) if pair[0].startswith("many")]
    for path in condition_paths(epsilon, folder):
        yield greybox_finding(path, pairs, thorough=False)
