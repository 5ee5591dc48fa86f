"""The public calls, their checks, and ``run``, which answers every question."""
