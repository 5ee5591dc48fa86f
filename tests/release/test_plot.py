"""Charts: one line per group, readable with few and with many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hourglass as hg
from hourglass.release.plot import Panel, plot_means


@pytest.mark.slow
@pytest.mark.parametrize(
    ("groups", "panels", "ending"),
    [(0, 1, "svg"), (1, 2, "pdf"), (3, 7, "png"), (60, 1, "svg"), (500, 1, "svg")],
)
def test_any_number_of_groups(tmp_path: Path, groups: int, panels: int, ending: str) -> None:
    means = np.linspace(10, 90, groups)
    path = tmp_path / f"chart.{ending}"
    panel = Panel("x", means, means - 3, means + 3, (0.0, 100.0))
    plot_means(
        path, labels=[f"group 😀 {i}" for i in range(groups)], panels=[panel] * panels,
        title="Mean", notes=["epsilon 1"],
    )  # fmt: skip
    assert path.stat().st_size > 1000


@pytest.mark.slow
def test_every_group_is_on_the_chart(tmp_path: Path) -> None:
    names = [f"ward-{i:02d}" for i in range(61)]
    table = {"x": [5.0] * 61, "g": names}
    import pyarrow as pa

    found = hg.mean(pa.table(table), "x", bounds=(0, 9), epsilon=1, by="g", keys=names)
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        found.plot(tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text()
    assert all(name in text for name in names)
    assert "95 % interval" in text
    assert "more group" not in text
