"""Columns of Python objects in pandas: text, whatever the objects are.

An object stands for the text that ``str`` makes of it. What makes no text is missing: None, NaN,
NA, NaT, half of a surrogate pair, an object whose ``str`` fails. DuckDB would end the query there.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = ["clean", "declared", "holds_objects"]


def holds_objects(frame: Any) -> bool:
    """Whether a column holds Python objects, or categories that do."""
    return any(_is_objects(dtype) or _is_categories(dtype) for dtype in frame.dtypes)


def declared(frame: Any) -> Any:
    """A frame without rows whose columns have the same types, whatever the categories are."""
    pandas = sys.modules["pandas"]
    empty = frame.iloc[:0].copy()
    for name in _names(frame, _is_categories):
        empty[name] = pandas.Categorical([], categories=["any"])
    return empty


def clean(frame: Any) -> Any:
    """The frame with texts in the place of objects: here the rows are looked at."""
    pandas = sys.modules["pandas"]
    found = frame.copy(deep=False)
    for name in _names(frame, _is_objects):
        cells = frame[name].array
        texts = (c if type(c) is str and c.isascii() else _text(c) for c in cells)
        found[name] = np.fromiter(texts, object, len(frame))
    for name in _names(frame, _is_categories):
        found[name] = _categories(frame[name].array, pandas)
    return found


def _names(frame: Any, test: Any) -> list[Any]:
    return [name for name, dtype in frame.dtypes.items() if test(dtype)]


def _is_objects(dtype: Any) -> bool:
    """Objects, or pandas' text as Python keeps it."""
    if isinstance(dtype, np.dtype):
        return dtype.kind == "O"
    return getattr(dtype, "storage", None) == "python"


def _is_categories(dtype: Any) -> bool:
    categories = getattr(dtype, "categories", None)
    return categories is not None and _is_objects(categories.dtype)


def _categories(column: Any, pandas: Any) -> Any:
    """The same column with its categories as texts, each once; a cell without a text is missing."""
    texts = [_text(category) for category in column.categories]
    places = {text: i for i, text in enumerate(dict.fromkeys(t for t in texts if t is not None))}
    found = (-1 if text is None else places[text] for text in texts)
    moved = np.array([*found, -1], dtype=np.int64)
    kept = pandas.Index(list(places), dtype=object)
    return pandas.Categorical.from_codes(moved[column.codes], categories=kept)


def _text(cell: Any) -> str | None:
    if cell is None or cell is np.ma.masked or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, float | np.floating) and cell != cell:
        return None
    try:
        text = str(cell)
        text.encode()
    except Exception:  # whatever an object does when it is asked for its text
        return None
    return text
