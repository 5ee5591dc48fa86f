"""A chart of an empirical audit: the two histograms, and the event that distinguishes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import OptionError, needs_extra
from .empirical import LowerBound

__all__ = ["plot_bound"]


def plot_bound(bound: LowerBound, epsilon: float, path: Path, title: str) -> None:
    """Draw to ``path``: the first number's histogram on both sides, and all cells against it.

    On the right each cell is a point, its share on D against its share on D': for an epsilon-DP
    release the points stay between the two lines, except by chance.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise OptionError(needs_extra("plot", "matplotlib", "plot")) from None
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    _histograms(left, bound)
    _cells(right, bound, epsilon)
    figure.suptitle(f"{title}: epsilon is at least {bound.epsilon:.3f}")
    figure.savefig(path, dpi=150)


def _histograms(axes: Any, bound: LowerBound) -> None:
    shape = bound.binning.shape
    edges = bound.binning.edges[0].astype(float)
    inside = bound.event.inside.reshape(shape[0], -1)
    last = edges[-1] + (edges[-1] - edges[0]) / max(1, len(edges) - 1)
    ends = np.append(edges, last)
    for counts, name, colour in zip(bound.counts, ("D", "D'"), ("C0", "C1"), strict=True):
        table = counts.reshape(shape[0], -1)
        shares = table.sum(axis=1)[1:] / bound.runs / np.maximum(np.diff(ends), 1e-300)
        axes.stairs(shares, ends, color=colour, label=f"released on {name}")
        part = (table * inside).sum(axis=1)[1:] / bound.runs / np.maximum(np.diff(ends), 1e-300)
        axes.stairs(part, ends, color=colour, fill=True, alpha=0.3, label=f"event on {name}")
    axes.set_xlabel("first number of the release")
    axes.set_ylabel("density")
    axes.legend(fontsize=8)


def _cells(axes: Any, bound: LowerBound, epsilon: float) -> None:
    first, second = (np.maximum(counts, 0.5) / bound.runs for counts in bound.counts)
    seen = (bound.counts[0] + bound.counts[1]) > 0
    for chosen, name, colour in ((False, "cells", "0.6"), (True, "cells of the event", "C3")):
        which = seen & (bound.event.inside == chosen)
        axes.loglog(first[which], second[which], ".", color=colour, markersize=4, label=name)
    span = np.array([0.5 / bound.runs, 1.0])
    for sign in (1, -1):
        axes.loglog(span, span * np.exp(sign * epsilon), "k--", linewidth=0.8)
    axes.set_xlabel("share on D")
    axes.set_ylabel("share on D'")
    axes.legend(fontsize=8)
