"""A small real table to try things on; penguins.md says where it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__all__ = ["PENGUINS"]

#: 344 penguins of three species: body_mass_g, flipper_length_mm and more. CC0.
PENGUINS: Final = Path(__file__).with_name("penguins.csv")
