"""Charts: one line per group, readable with few and with many."""

from __future__ import annotations

import html
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import rc_context

import hourglass as hg
from hourglass.release import fonts, plot
from hourglass.release.plot import Panel, _legend, _reach, _ticks, _two_lines, plot_means
from hourglass.release.presented import UNKNOWN


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
    found = hg.mean(pa.table(table), "x", bounds=(0, 9), epsilon=1, by="g", keys=names)
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        found.plot(tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text()
    assert all(name in text for name in names)
    assert "95 % interval" in text
    assert "more group" not in text


@pytest.mark.parametrize("by", [None, "Ward"])
def test_names_keep_their_spelling_and_secret_ones_are_told(tmp_path: Path, by: str | None) -> None:
    table = pa.table({"DaysOff": [5.0] * 99, "Pay": [5.0] * 99, "Ward": ["a"] * 99})
    more: dict[str, Any] = {"by": by, "delta": 1e-6} if by else {}
    told = "Group names are secret: a group is shown only if its noisy count is"
    answers = [
        hg.mean(table, "DaysOff", bounds=(0, 9), epsilon=1, **more),
        hg.mean(table, ["DaysOff", "Pay"], bounds=(0, 9), epsilon=1, **more),
        *([hg.count(table, epsilon=1, **more)] if by else []),
    ]
    import matplotlib

    for number, answer in enumerate(answers):
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            answer.plot(tmp_path / f"{number}.svg")
        text = (tmp_path / f"{number}.svg").read_text()
        assert (told in text) == (by is not None)
        assert "daysoff" not in text
        assert "ward" not in text


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The charts that are written, as figures."""
    figures: list[Any] = []

    def keep(figure: Any, *words: Any, **options: Any) -> None:
        figures.append(figure)
        save(figure, *words, **options)

    save = plot._save
    monkeypatch.setattr(plot, "_save", keep)
    return figures


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_names_in_scripts_that_no_font_has(
    tmp_path: Path, drawn: list[Any], monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """An SVG leaves such a name to the fonts of its viewer; the others say what a box is."""
    from matplotlib import font_manager

    own = [font for font in font_manager.fontManager.ttflist if font.name == "DejaVu Sans"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", own)
    fonts._added.cache_clear()
    table = pa.table({"x": [5.0] * 99, "g": ["外科"] * 99})
    answer = hg.mean(table, "x", bounds=(0, 9), epsilon=1, by="g", keys=["外科", "Ⓐ", "Häuser"])
    answer.plot(tmp_path / f"chart.{ending}")
    fonts._added.cache_clear()
    told = [each.get_text() for each in drawn[0].texts]
    assert ("A box stands for a character that no font on this computer has." in told) == (
        ending != "svg"
    )
    if ending == "svg":
        assert "外科" in (tmp_path / "chart.svg").read_text()


def test_names_are_drawn_with_any_installed_font(tmp_path: Path, drawn: list[Any]) -> None:
    """Matplotlib brings a font that has the letter Ⓐ, which the one it draws with has not."""
    fonts._added.cache_clear()
    table = pa.table({"x": [5.0] * 99, "g": ["a"] * 99})
    answer = hg.mean(table, "x", bounds=(0, 9), epsilon=1, by="g", keys=["a", "Ⓐ"])
    answer.plot(tmp_path / "chart.svg")
    assert "Ⓐ" not in re.sub("<!--.*?-->", "", (tmp_path / "chart.svg").read_text())  # a path
    label = drawn[0].axes[0].get_yticklabels()[1]
    assert label.get_text() == "Ⓐ"
    assert len(label.get_fontfamily()) == 2
    assert fonts.families_for(["plain"]) == (["sans-serif"], True)
    assert fonts.families_for(["e\u0301 \ufe0f\u200d"])[1], "marks have no shape of their own"


def test_long_names_of_wide_letters_stay_on_the_chart(tmp_path: Path, drawn: list[Any]) -> None:
    names = ["外科" * 12, "外科" * 40 + "end", "x" * 99 + "end"]
    table = pa.table({"x": [5.0] * 99, "g": ["a"] * 99})
    answer = hg.mean(table, "x", bounds=(0, 9), epsilon=1, by="g", keys=names)
    answer.plot(tmp_path / "chart.png")
    renderer = drawn[0].canvas.get_renderer()
    for label in drawn[0].axes[0].get_yticklabels():
        with warnings.catch_warnings(action="ignore"):  # glyphs that no font has
            assert label.get_window_extent(renderer).x0 >= 0
        assert len(label.get_text().split("\n")) == 2
        if "end" not in label.get_text():
            assert label.get_text().replace("\n", "") == names[0]


def test_labels_of_a_chart_keep_what_distinguishes_them() -> None:
    long = "Public administration, defence and compulsory social security"
    assert _two_lines(long).replace("\n", " ") == long
    years = {_two_lines(f"{long} of all regions, {year}") for year in (2024, 2025)}
    assert len(years) == 2
    for label in (*years, _two_lines("x" * 99), _two_lines("short")):
        assert len(label.split("\n")) <= 2
        assert max(map(len, label.split("\n"))) <= 32


@pytest.mark.parametrize(
    ("ends", "share", "room", "labels"),
    [
        ((26_000, 26_700), False, 2.4, ["26,000", "26,200", "26,400", "26,600"]),
        ((0.0271, 0.0306), True, 5.0, ["2.75 %", "2.80 %", "2.85 %"]),
        ((-1.0, 1.0), False, 5.0, ["-1.00", "-0.75", "-0.50"]),
        ((4.6e-10, 5.3e-10), False, 2.4, ["4.8e-10", "5.0e-10", "5.2e-10"]),
        ((-1e-12, 1e-12), False, 2.0, ["-1e-12", "0", "1e-12"]),
    ],
)
def test_ticks_of_an_axis(
    ends: tuple[float, float], share: bool, room: float, labels: list[str]
) -> None:
    places, told = _ticks(*ends, share, room)
    assert told[: len(labels)] == labels
    assert ends[0] <= min(places) < max(places) <= ends[1]


@pytest.mark.property
@settings(deadline=None)
@given(st.floats(), st.floats(), st.booleans(), st.floats(0.5, 12.0))
def test_ticks_never_fail(low: float, high: float, share: bool, room: float) -> None:
    """Charts are drawn after the charge."""
    places, told = _ticks(low, high, share, room)
    assert len(places) == len(told) < 10


@pytest.mark.property
@given(st.integers(-90, 90), st.floats(-1, 1), st.floats(0.1, 1.0), st.floats(4.0, 12.0))
def test_ticks_have_room_at_every_scale(power: int, low: float, width: float, room: float) -> None:
    """Caught: labels of many digits on top of each other, all the same, or none at all."""
    ends = low * 10.0**power, (low + width) * 10.0**power
    places, told = _ticks(*ends, False, room)
    assert len(set(told)) == len(places) > 0
    gaps = np.diff(places) / (ends[1] - ends[0]) * room
    assert np.all(gaps > 0.08 * max(map(len, told)))


@pytest.mark.slow
def test_a_long_title_and_no_group(tmp_path: Path) -> None:
    """Caught: a title that leaves the picture, and an empty axis without a word."""
    table = pa.table({"g": ["a"], "x": [1.0]})
    text = "CASE WHEN x > 0.123456 THEN x ELSE " + " + ".join(["2 * x"] * 20) + " END"
    ask: dict[str, Any] = {"bounds": (0, 9), "epsilon": 1, "by": "g", "delta": "1e-300"}
    path = tmp_path / "p.svg"
    with rc_context({"svg.fonttype": "none"}):
        hg.mean(table, hg.expression(text), **ask).plot(path)
    drawn = path.read_text()
    assert "No group's noisy count reached the threshold." in html.unescape(drawn)
    title = re.findall("<text[^>]*font-size: 12px[^>]*>([^<]*)", drawn)
    assert len(title) > 1
    assert max(len(html.unescape(line)) for line in title) <= 62


def test_a_sum_without_noise_has_an_axis(tmp_path: Path) -> None:
    low, high = _reach([120.0], [120.0], (120.0, 120.0))
    assert low < 120 < high
    hg.sum([1] * 120, bounds=(0, 1), epsilon=60).plot(tmp_path / "p.svg")


@pytest.mark.slow
def test_a_chart_of_shares_is_in_per_cent(tmp_path: Path) -> None:
    import matplotlib

    data = pa.table({"yes": [True, False] * 300, "g": ["a", "b", "b"] * 200})
    keys = ["a", "b", "none"]
    ask: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "bits": hg.SeededBits(1)}
    found = hg.mean(data, "yes", by="g", keys=keys, **ask)
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        found.plot(tmp_path / "p.svg")
    text = (tmp_path / "p.svg").read_text()
    assert re.search(r">[0-9.]+ %<", text)
    assert "share, with its 95 % interval" in text
    assert "Grey bar without a marker: too few records for a mean." in text
    data = data.append_column("x", pa.array([1.5] * 600))
    two = hg.mean(data, ["x", "yes"], by="g", keys=keys, **ask)
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        two.plot(tmp_path / "two.svg")
    text = (tmp_path / "two.svg").read_text()
    assert [text.count(f"{word}, with its") for word in ("mean", "share")] == [1, 1]


@pytest.mark.parametrize(
    ("few", "lows", "unknown", "told"),
    [
        ([False, False], [4.0, 4.0], [False, False], []),
        ([False, True], [4.0, 4.0], [False, False], ["Grey bar, open marker: too few records."]),
        (
            [False, True],
            [4.0, 0.0],
            [False, True],
            [
                "Grey bar without a marker: too few records for a mean. Grey bars may extend "
                "beyond the axis."
            ],
        ),
    ],
)
def test_a_legend_says_only_what_is_drawn(
    few: list[bool], lows: list[float], unknown: list[bool], told: list[str]
) -> None:
    means, every = np.array([5.0, 5.0]), np.array(few)
    panel = Panel("x", means, np.array(lows), means + 1, (0.0, 9.0), every, unknown=unknown)
    assert _legend([panel]) == told
    assert np.isnan(panel.dots).tolist() == unknown


def test_a_chart_has_markers_where_the_table_has_means() -> None:
    data = pa.table({"x": [1.0, 2.0] * 200, "g": ["a", "b"] * 200})
    bits = hg.SeededBits(2)
    found = hg.mean(data, "x", by="g", keys=["a", "b", "c"], bounds=(0, 3), epsilon=1, bits=bits)
    marked = ~np.isnan(Panel.of(found, 0.95).dots)
    assert marked.tolist() == [row[1] != UNKNOWN for row in found._table(0.95, 1)[1]]
    assert marked.tolist() == [True, True, False]
