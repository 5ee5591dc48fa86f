"""What an audit says: findings, one a check and subject, and the verdict over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Finding", "Verdict"]


@dataclass(frozen=True)
class Finding:
    """What one check found out about one subject.

    ``holds`` is the verdict, ``detail`` says it in words, ``figures`` holds its numbers in a
    form that JSON can take.
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


@dataclass(frozen=True)
class Verdict:
    """All findings of an audit; it holds if each of them does."""

    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing was broken."""
        return all(finding.holds for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "verdict": "holds" if self.holds else "broken",
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __add__(self, other: Verdict) -> Verdict:
        return Verdict(self.findings + other.findings)
