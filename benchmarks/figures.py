"""Figures with their goals: a line each on the screen, and the page that keeps them."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["PAGE", "Figure", "machine", "printed", "replace_section", "table"]

PAGE: Final = Path(__file__).parents[1] / "docs" / "performance.md"


@dataclass(frozen=True)
class Figure:
    """What was measured, how much it was, and the goal: a most, or with ``least`` a least."""

    what: str
    value: float
    unit: str
    goal: float | None = None
    least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.least else self.value <= self.goal

    @property
    def said(self) -> str:
        """The figure in words."""
        return f"{_short(self.value)} {self.unit}"

    @property
    def aim(self) -> str:
        """The goal in words."""
        if self.goal is None:
            return ""
        return f"at {'least' if self.least else 'most'} {_short(self.goal)}"

    @property
    def verdict(self) -> str:
        """One word."""
        return {None: "", True: "met", False: "missed"}[self.met]


def _short(value: float) -> str:
    if value >= 1e5:
        return f"{value:.1e}".replace("e+0", "e").replace("e+", "e")
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def printed(figures: Iterable[Figure]) -> Iterator[Figure]:
    """The same figures, each printed as soon as it is there."""
    for figure in figures:
        print(f"{figure.what:<58}{figure.said:>22}  {figure.aim:<16}{figure.verdict}", flush=True)
        yield figure


def table(figures: Iterable[Figure]) -> str:
    """The figures as a table of Markdown."""
    rows = [f"| {f.what} | {f.said} | {f.aim} | {f.verdict} |" for f in figures]
    return "\n".join(["| what | figure | goal | verdict |", "|---|---|---|---|", *rows])


def machine() -> str:
    """Where and when."""
    return (
        f"{datetime.date.today()}, {platform.system()} {platform.machine()}, {os.cpu_count()} "
        f"cores{_processor()}, Python {platform.python_version()}"
    )


def _processor() -> str:
    """The model of the processor, where the system tells."""
    told = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    found = re.search(r"^model name\s*: (.*)$", told, re.MULTILINE)
    return f" ({found[1].strip()})" if found else ""


def replace_section(heading: str, body: str, page: Path = PAGE) -> None:
    """Write one section of the page; the others stay as they are."""
    text, new = page.read_text(), f"## {heading}\n\n{body.strip()}\n"
    found = re.search(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        page.write_text(f"{text.rstrip()}\n\n{new}")
    else:
        after = text[found.end() :]
        page.write_text(text[: found.start()] + new + (f"\n{after}" if after else ""))
