"""The paper, reproduced: every experiment and every picture, and what we found beyond it.

Kulesza, Suresh, Wang, "Mean estimation in the add-remove model of differential privacy"
(ICML 2024). One module an exhibit; each makes a table of points with standard errors from
the product's own noise, draws it, and judges the claims that rest on it. ``sweeps`` and
``charts`` hold what several share, ``run`` makes the files, ``index`` the page.
"""

from typing import Final

from . import (
    balls,
    centre,
    density,
    e1,
    e2,
    e3,
    e4,
    e5,
    e6,
    e7,
    e8,
    estimators,
    grids,
    intervals,
    parabola,
    space,
)
from .exhibit import Claim, Exhibit, Point, Settings, Table
from .run import QUICK_RUNS, Shown, chosen, run

__all__ = [
    "EXHIBITS",
    "QUICK_RUNS",
    "Claim",
    "Exhibit",
    "Point",
    "Settings",
    "Shown",
    "Table",
    "chosen",
    "run",
]

#: Every exhibit by its name, in the order of the page.
EXHIBITS: Final[dict[str, Exhibit]] = {
    module.EXHIBIT.name: module.EXHIBIT
    for module in (
        balls,
        e1,
        e2,
        space,
        density,
        e3,
        e4,
        e5,
        e6,
        e7,
        e8,
        parabola,
        grids,
        estimators,
        intervals,
        centre,
    )
}
