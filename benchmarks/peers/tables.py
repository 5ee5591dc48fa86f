"""Tables in Markdown, and figures as they stand in them."""

from __future__ import annotations


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def three(value: float) -> str:
    """A figure with about three digits."""
    if value >= 1e5:
        return f"{value:.1e}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
