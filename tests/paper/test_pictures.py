"""Each picture drawn, and looked at by machine: labelled, inside its frame, not overlapping."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from typer.testing import CliRunner

from hourglass.cli import app, main
from hourglass.noise import SeededBits
from hourglass.paper import EXHIBITS, Settings, run
from hourglass.paper.run import labelled
from hourglass.paper.style import house_style

from .conftest import Tables

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("paper")]


def shown_texts(drawn: Figure) -> list[Text]:
    """Every text that is drawn: tick labels beyond the end of an axis are not."""
    hidden = set()
    for ax in drawn.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high:
                    hidden |= {id(tick.label1), id(tick.label2)}
    texts = drawn.findobj(Text)
    return [t for t in texts if t.get_visible() and t.get_text().strip() and id(t) not in hidden]


@pytest.mark.parametrize("name", EXHIBITS)
def test_a_picture_is_labelled_and_nothing_is_cut_off(tables: Tables, name: str) -> None:
    with house_style():
        drawn = labelled(EXHIBITS[name].draw(tables(name)), Settings(seed=2024).label)
        drawn.draw_without_rendering()
        named = [ax for ax in drawn.axes if ax.get_ylabel()]
        for ax in drawn.axes:
            assert ax.get_xlabel()
            shared = ax.get_shared_y_axes()
            assert ax in named or any(shared.joined(ax, other) for other in named)
        frame, boxes = drawn.bbox, []
        for text in shown_texts(drawn):
            label, box = text.get_text(), text.get_window_extent()
            assert float(text.get_fontsize()) >= 8, label
            assert frame.x0 - 1 <= box.x0 < box.x1 <= frame.x1 + 1, label
            assert frame.y0 - 1 <= box.y0 < box.y1 <= frame.y1 + 1, label
            if text.get_rotation() == 0:
                boxes.append((label, box))
        for (one, a), (two, b) in itertools.combinations(boxes, 2):
            across = min(a.x1, b.x1) - max(a.x0, b.x0)
            down = min(a.y1, b.y1) - max(a.y0, b.y0)
            assert across < 2 or down < 2, f"{one!r} lies on {two!r}"


def test_the_command_writes_every_file(tmp_path: Path) -> None:
    arguments = ["paper", "e7", "e8", "density", "--runs", "200", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "density.csv", "density.png", "e7.csv", "e7.png", "e8.csv", "e8.png", "index.html",
    ]  # fmt: skip
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    for name in ("e7", "e8", "density"):
        assert f'src="{name}.png"' in page
        assert f'href="{name}.csv"' in page
    assert "holds?" in page
    assert "200 runs" in page
    assert (tmp_path / "e7.png").read_bytes().startswith(b"\x89PNG")
    # E8 is made of the very numbers of E7.
    rows = [line.split(",") for line in (tmp_path / "e7.csv").read_text().splitlines()[1:]]
    top, below = (float(row[3]) for row in rows[:2])
    first = (tmp_path / "e8.csv").read_text().splitlines()[1].split(",")
    assert float(first[3]) == pytest.approx(top / below, rel=1e-8)


def test_the_command_draws_svg(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["paper", "balls", "--format", "svg", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "<svg" in (tmp_path / "balls.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["e10"], "e10"),
        (["e7", "--format", "jpg"], "jpg"),
        (["e7", "--runs", "1"], "runs"),
        (["e7", "--records", "1"], "records"),
    ],
)
def test_a_bad_request_is_refused_with_a_message(
    arguments: list[str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["hourglass", "paper", *arguments, "--out", str(out)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert named in capsys.readouterr().err
    assert not out.exists()


def test_records_and_runs_reach_the_experiment(tmp_path: Path) -> None:
    ticks: list[tuple[str, int]] = []
    settings = Settings(100, 200, SeededBits(1))
    (shown,) = run([EXHIBITS["e2"]], settings, tmp_path, tick=lambda *done: ticks.append(done))
    rows = [line.split(",") for line in shown.csv.read_text().splitlines()[1:]]
    measured = [row for row in rows if row[1] != "lower bound"]
    assert {row[6] for row in measured} == {"100"}
    assert min(float(row[2]) for row in rows if float(row[2]) > 0) == 0.25 / 200
    assert ticks == [*[("points", 1)] * len(measured), ("figures", 1)]


def test_an_error_of_nothing_can_be_drawn(tmp_path: Path) -> None:
    """With few runs the noise on a coarse grid is often none at all: no height on a log scale."""
    (shown,) = run([EXHIBITS["grids"]], Settings(40, 100, SeededBits(3)), tmp_path)
    rows = [line.split(",") for line in shown.csv.read_text().splitlines()[1:]]
    assert "0" in {row[3] for row in rows}
    assert shown.picture.stat().st_size > 5000


def test_matplotlib_is_not_loaded_before_it_is_needed() -> None:
    code = "import sys, hourglass.paper, hourglass.cli; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_matplotlib_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"hourglass-dp\[plot\]"), house_style():
        pass
