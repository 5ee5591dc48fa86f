"""What an audit says: findings, one for each check and subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Finding"]


@dataclass(frozen=True)
class Finding:
    """What one check found out about one subject.

    ``holds`` says whether the promise is kept, ``detail`` what was found in words, ``figures``
    the numbers in a form that JSON can take.
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
