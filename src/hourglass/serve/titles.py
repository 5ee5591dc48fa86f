"""What pages call columns, groups and questions: by their titles in the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ledger import Charge
from ..release.rendering import label, listed
from .accounts import description_of
from .catalogue import Dataset
from .holdings import Choice, Holding

__all__ = ["Titles"]


@dataclass(frozen=True)
class Titles:
    """The titles of a dataset; without one, names are shown as printed tables show them."""

    dataset: Dataset | None = None

    def column(self, name: str | None) -> str:
        """The title of a column that is averaged."""
        found = self.dataset.columns.get(str(name)) if self.dataset else None
        return found.title if found else label([str(name)])

    def heads(self, by: Sequence[str]) -> tuple[str, ...]:
        """The heads of the columns with the names of groups; a title is for all of them."""
        known = self.dataset.groupings if self.dataset else {}
        if len(by) == 1 and by[0] in known:
            return (known[by[0]].title,)
        return tuple(label([name]) for name in by)

    def question(self, charge: Charge, holding: Holding | None) -> str:
        """The question that a charge was for; as the ledger has it, if it is offered no more."""
        asked = charge.description
        if self.dataset is None or holding is None:
            return asked.partition(": ")[2] or asked
        found = [
            choice
            for choice, subject in holding.subjects.items()
            if description_of(self.dataset.name, subject) == asked
        ]
        if len(found) != 1:  # two long ones may be cut off alike
            return asked.partition(": ")[2] or asked
        return self._words(self.dataset, found[0])

    def _words(self, dataset: Dataset, choice: Choice) -> str:
        by = f" by {dataset.groupings[choice.grouping].title}" if choice.grouping else ""
        only = f", only {dataset.filters[choice.filter].title}" if choice.filter else ""
        return f"mean of {listed([self.column(name) for name in choice.columns])}{by}{only}"
