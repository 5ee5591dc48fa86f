"""Figures as PGF, which LaTeX typesets in the fonts of the including document."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import OptionError
from .style import figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["in_tex", "pgf_style", "save_pgf", "texified"]

#: Any of these can measure the labels.
_SYSTEMS: Final = ("pdflatex", "xelatex", "lualatex")

_MATHS: Final = {
    "ε": r"\varepsilon", "γ": r"\gamma", "σ": r"\sigma", "Δ": r"\Delta", "∞": r"\infty",
    "≤": r"\leq", "≥": r"\geq", "±": r"\pm", "×": r"\times", "−": "-", "|": "|",
    "²": "^2", "³": "^3", "₁": "_1", "₂": "_2",
}  # fmt: skip
_PLAIN: Final = {
    "–": "--", "\\": r"\textbackslash{}", "%": r"\%", "_": r"\_", "&": r"\&", "#": r"\#",
    "$": r"\textdollar{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "{": r"\{", "}": r"\}",
}  # fmt: skip
_TABLE: Final = str.maketrans(
    {sign: rf"\ensuremath{{{maths}}}" for sign, maths in _MATHS.items()} | _PLAIN
)


def in_tex(text: str) -> str:
    """The label as LaTeX; what matplotlib has written as TeX is unchanged."""
    return text if "$" in text else text.translate(_TABLE)


def texified(drawn: Figure) -> Figure:
    """The figure with every label as LaTeX, except tick labels, which are plain numbers."""
    from matplotlib.text import Text

    ticks = {
        id(label)
        for ax in drawn.axes
        for axis in (ax.xaxis, ax.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
    }
    for text in drawn.findobj(Text):
        if isinstance(text, Text) and id(text) not in ticks:
            text.set_text(in_tex(text.get_text()))
    return drawn


def save_pgf(drawn: Figure, path: Path) -> None:
    """Write the figure, with a definition of the command that matplotlib uses for powers of ten."""
    written = io.BytesIO()
    texified(drawn).savefig(written, format="pgf")
    path.write_bytes(b"\\providecommand{\\mathdefault}[1]{#1}%\n" + written.getvalue())


@contextmanager
def pgf_style() -> Iterator[None]:
    """A context for drawing and saving PGF; an unsuitable LaTeX is refused at once."""
    import matplotlib

    found = [system for system in _SYSTEMS if shutil.which(system)]
    if not found:
        raise OptionError(
            f"format='pgf' measures its labels with LaTeX, and none of {', '.join(_SYSTEMS)} is "
            "installed; install TeX Live with the package pgf, or take format='pdf'"
        )
    options: Any = {"pgf.texsystem": found[0], "pgf.rcfonts": False}
    with matplotlib.rc_context(options):
        _try_out(found[0])
        yield


def _try_out(system: str) -> None:
    drawn, ax = figure(1, 1)
    ax.set_title(in_tex("ε² ≤ 1 %"))
    try:
        drawn.savefig(io.BytesIO(), format="pgf")
    except Exception as error:
        raise OptionError(
            f"format='pgf': {system} cannot set a label ({type(error).__name__}); install the "
            "LaTeX package pgf, or take format='pdf'"
        ) from error
