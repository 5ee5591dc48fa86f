"""Fonts for the names on a chart, which may be written in any script."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

__all__ = ["families_for"]

#: Matplotlib's font of last resort has a box for every character there is.
_BOXES: Final = "last resort"


def families_for(texts: Iterable[str]) -> tuple[list[str], bool]:
    """The families to draw the texts with, and whether they have every character of them.

    They are the configured ones, followed by installed fonts that have what those lack.
    """
    import matplotlib

    seen = frozenset(c for text in texts for c in text if not c.isascii() and _is_drawn(c))
    configured = tuple(matplotlib.rcParams["font.family"])
    more, complete = _added(configured, seen) if seen else ((), True)
    return [*configured, *more], complete


def _is_drawn(character: str) -> bool:
    """Whether a character has a shape of its own: not a mark, a space or a sign of control."""
    return unicodedata.category(character)[0] not in "CMZ"


@lru_cache(maxsize=64)
def _added(configured: tuple[str, ...], seen: frozenset[str]) -> tuple[tuple[str, ...], bool]:
    """Installed families that have the characters that the configured one lacks."""
    from matplotlib import font_manager

    default = font_manager.findfont(font_manager.FontProperties(family=configured))
    missing = seen - _characters(default)
    added: list[str] = []
    for font in sorted(font_manager.fontManager.ttflist, key=_rank):
        if not missing:
            break
        if _BOXES in font.name.lower() or font.style != "normal" or font.name in added:
            continue
        if found := missing & _characters(font.fname):
            added.append(font.name)
            missing -= found
    return tuple(added), not missing


def _rank(font: Any) -> tuple[bool, bool, str]:
    """Fonts without serifs first, like the default one, and those of regular weight."""
    return "sans" not in font.name.lower(), font.weight not in (400, "normal"), font.name


def _characters(path: str) -> set[str]:
    """The characters that the font in this file can draw; none if it cannot be read."""
    from matplotlib.ft2font import FT2Font

    try:
        return {chr(code) for code in FT2Font(path).get_charmap()}
    except (OSError, RuntimeError):
        return set()
