"""From data to exact secret totals: files, frames, databases, ``sql``, ``engines``."""

from . import engines  # noqa: F401 - whose modules register themselves
