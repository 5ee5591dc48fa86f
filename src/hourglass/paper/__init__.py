"""The paper, reproduced: every experiment and figure, and our extensions.

Kulesza, Suresh, Wang, "Mean estimation in the add-remove model of differential privacy" (ICML
2024). An exhibit computes a table of points with standard errors, using the noise of releases,
draws it, and judges the claims based on it. ``experiments`` has E1 to E8, built from ``sweeps``,
``charts`` and ``claims``; every other exhibit has a module of its own (E9, several columns, is
``columns``, compared with ``rivals``). ``own`` loads the user's own algorithms. ``run`` writes the
files, ``index`` the page.
"""

from typing import Final

from . import (
    balls,
    centre,
    columns,
    density,
    estimators,
    grids,
    intervals,
    levels,
    parabola,
    space,
)
from .exhibit import FULL_RUNS, Claim, Exhibit, Point, Settings, Table
from .experiments import EXPERIMENTS
from .own import Own, load_all
from .run import QUICK_RUNS, Shown, chosen, run

__all__ = [
    "EXHIBITS",
    "FULL_RUNS",
    "QUICK_RUNS",
    "Claim",
    "Exhibit",
    "Own",
    "Point",
    "Settings",
    "Shown",
    "Table",
    "chosen",
    "load_all",
    "run",
]

#: Every exhibit by its name, in the order of the page.
EXHIBITS: Final[dict[str, Exhibit]] = {
    exhibit.name: exhibit
    for exhibit in (
        balls.EXHIBIT,
        *EXPERIMENTS[:2],
        space.EXHIBIT,
        density.EXHIBIT,
        *EXPERIMENTS[2:],
        parabola.EXHIBIT,
        grids.EXHIBIT,
        estimators.EXHIBIT,
        intervals.EXHIBIT,
        centre.EXHIBIT,
        levels.EXHIBIT,
        columns.EXHIBIT,
    )
}
