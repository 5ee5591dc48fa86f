"""The types of a pandas frame, which do not depend on its rows, and the rows as those types.

An object is represented by its ``str``. None, NaN, NA, NaT, text with a lone surrogate, and objects
whose ``str`` fails are missing; DuckDB would fail on some of these.

Categories that are numbers or booleans make a column of that type. DuckDB would infer the type from
the cells, where a missing one turns whole numbers into floats and booleans into objects. All other
categories are text.

If one column of a frame is Arrow data, DuckDB has PyArrow convert all of them, and PyArrow would
take the type of text from the cells; so text declares its type.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .arrow_cells import is_unsound, sound_array

__all__ = ["clean", "declared"]


def declared(frame: Any) -> Any:
    """An empty frame whose columns have the same types, whatever the categories are."""
    pandas = sys.modules["pandas"]
    empty = frame.iloc[:0].copy()
    for name in _names(frame, _is_categories):
        plain = _plain(frame[name].dtype.categories.dtype)
        empty[name] = pandas.array([], dtype=plain) if plain else _enum(["any"], [], pandas)
    return _typed(empty, _names(frame, _is_objects), pandas)


def clean(frame: Any) -> Any:
    """The frame with objects replaced by texts; this reads the rows."""
    pandas = sys.modules["pandas"]
    found = frame.copy(deep=False)
    for name in _names(frame, _is_objects):
        cells = frame[name].array
        texts = (c if type(c) is str and c.isascii() else _text(c) for c in cells)
        found[name] = np.fromiter(texts, object, len(frame))
    for name in _names(frame, _is_unsound):
        cells = sound_array(frame[name].array.__arrow_array__())
        found[name] = pandas.arrays.ArrowExtensionArray(cells)
    for name in _names(frame, lambda dtype: dtype == np.bool_):
        # A byte other than 0 and 1 would be a group of its own, and true as well as false.
        found[name] = frame[name].to_numpy().view(np.uint8) != 0
    for name in _names(frame, _is_categories):
        column = frame[name].array
        plain = _plain(column.categories.dtype)
        found[name] = column.astype(plain) if plain else _categories(column, pandas)
    return _typed(found, _names(frame, _is_objects), pandas)


def _typed(frame: Any, texts: list[Any], pandas: Any) -> Any:
    """The frame, with a type for its columns of text if any column is Arrow data."""
    if any(isinstance(dtype, pandas.ArrowDtype) for dtype in frame.dtypes):
        for name in texts:
            frame[name] = frame[name].astype("string[pyarrow]")
    return frame


def _names(frame: Any, test: Any) -> list[Any]:
    return [name for name, dtype in frame.dtypes.items() if test(dtype)]


def _is_objects(dtype: Any) -> bool:
    """Whether a column holds objects, or strings stored as Python objects."""
    if isinstance(dtype, np.dtype):
        return dtype.kind == "O"
    return getattr(dtype, "storage", None) == "python"


def _is_unsound(dtype: Any) -> bool:
    """Whether a column is Arrow data of a type that DuckDB could misread."""
    kind = getattr(dtype, "pyarrow_dtype", None)
    return kind is not None and is_unsound(kind)


def _is_categories(dtype: Any) -> bool:
    return getattr(dtype, "categories", None) is not None


def _plain(dtype: Any) -> str | None:
    """The nullable type for categories that are numbers or booleans."""
    kind = dtype.kind if dtype.kind in "biuf" else ""
    if not isinstance(dtype, np.dtype) or not kind:
        return str(dtype) if kind else None
    if kind == "f":
        return str(dtype)
    return "boolean" if kind == "b" else str(dtype).replace("u", "U").replace("int", "Int")


def _categories(column: Any, pandas: Any) -> Any:
    """The column with its categories as distinct texts; a cell without a text is missing."""
    texts = [_text(category) for category in column.categories]
    places = {text: i for i, text in enumerate(dict.fromkeys(t for t in texts if t is not None))}
    found = (-1 if text is None else places[text] for text in texts)
    moved = np.array([*found, -1], dtype=np.int64)
    return _enum(list(places) or ["any"], moved[column.codes], pandas)


def _enum(names: list[str], codes: Any, pandas: Any) -> Any:
    kept = pandas.Index(names, dtype=object)
    return pandas.Categorical.from_codes(codes, categories=kept)


def _text(cell: Any) -> str | None:
    if cell is None or cell is np.ma.masked:
        return None
    try:
        if type(cell).__name__ in ("NAType", "NaTType"):
            return None
        if isinstance(cell, float | np.floating) and cell != cell:
            return None
        text = str(cell)
        text.encode()
    except Exception:  # a user-defined object may raise anything, whatever is asked of it
        return None
    return text
