"""Sections of a page of Markdown, each with a heading of the second level."""

from __future__ import annotations

import re

__all__ = ["replaced"]


def replaced(page: str, section: str) -> str:
    """The page with this section in place of the one that has the same heading."""
    heading = section.partition("\n")[0]
    found = re.search(rf"^{re.escape(heading)}\n.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"the page has no section {heading!r}")
    rest = page[found.end() :]
    return page[: found.start()] + section + ("\n\n" + rest if rest else "\n")
