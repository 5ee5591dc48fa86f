"""diffprivlib's mean and nanmean at epsilon 1 on [0, 1]; a neighbour changes one record."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import diffprivlib
import numpy as np

__all__ = ["mean", "nanmean"]


def _release(function: Callable[..., Any], values: list[float]) -> float:
    accountant = diffprivlib.BudgetAccountant()  # its own: the default one remembers every call
    return float(function(np.array(values), epsilon=1.0, bounds=(0, 1), accountant=accountant))


mean = partial(_release, diffprivlib.tools.mean)
nanmean = partial(_release, diffprivlib.tools.nanmean)
