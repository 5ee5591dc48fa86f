"""The findings of an audit, one for each check and subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Finding", "grid_text"]


@dataclass(frozen=True)
class Finding:
    """The result of one check on one subject.

    ``holds`` tells whether the promise holds, ``detail`` describes the result, and ``figures`` are
    the numbers as JSON values.
    """

    check: str
    subject: str
    holds: bool
    detail: str
    figures: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "check": self.check,
            "subject": self.subject,
            "holds": self.holds,
            "detail": self.detail,
            **self.figures,
        }


def grid_text(cells: int) -> str:
    """A number of cells; a large power of two as such."""
    exponent = cells.bit_length() - 1
    return f"2^{exponent}" if exponent >= 16 and cells == 1 << exponent else str(cells)
