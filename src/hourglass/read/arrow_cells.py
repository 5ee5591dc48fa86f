"""Arrow cells that their own type does not allow.

Arrow checks no cell. DuckDB trusts it: a decimal with more digits than its type has is not stored,
so that whatever the memory held before is read in its place, such as the cell of an earlier row;
and an index outside its dictionary is followed wherever it leads. So such cells are replaced before
DuckDB sees them: the decimal by the largest of its type, the index by a missing value.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

__all__ = ["MOST_DIGITS", "is_unsound", "plain_array", "sound", "sound_array"]

#: DuckDB stores decimals of more digits than this in 128 bits, as Arrow does: every cell fits.
MOST_DIGITS: Final = 18


def is_unsound(kind: Any) -> bool:
    """Whether DuckDB could misread a cell of this Arrow type."""
    types = sys.modules["pyarrow"].types
    decimal = types.is_decimal(kind) and kind.precision <= MOST_DIGITS
    return bool(decimal or types.is_dictionary(kind))


def sound(data: Any) -> Any:
    """A table, or a reader of batches, whose cells all fit their types; this reads the rows."""
    pyarrow = sys.modules["pyarrow"]
    if isinstance(data, pyarrow.RecordBatchReader):
        batches = (_batch(batch, pyarrow) for batch in data)
        return pyarrow.RecordBatchReader.from_batches(data.schema, batches)
    return pyarrow.table([sound_array(column) for column in data.columns], schema=data.schema)


def _batch(batch: Any, pyarrow: Any) -> Any:
    columns = [sound_array(column) for column in batch.columns]
    return pyarrow.record_batch(columns, schema=batch.schema)


def sound_array(array: Any) -> Any:
    """An Arrow array, or one in chunks, whose cells all fit its type."""
    if not is_unsound(array.type) or not len(array):  # an empty one may have no memory
        return array
    pyarrow = sys.modules["pyarrow"]
    if isinstance(array, pyarrow.ChunkedArray):
        return pyarrow.chunked_array([sound_array(part) for part in array.chunks], array.type)
    if pyarrow.types.is_dictionary(array.type):
        return _known(array, pyarrow)
    return _clamped(array, pyarrow)


def plain_array(piece: Any, kind: str) -> Any:
    """An Arrow array without dictionary encoding, as doubles if the column holds reals.

    Decimals are cast through text, which rounds once; PyArrow's own cast can be a bit off.
    """
    pyarrow, whole = sys.modules["pyarrow"], sound_array(piece)
    if pyarrow.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    if pyarrow.types.is_decimal(whole.type):
        whole = whole.cast(pyarrow.large_string())
    return whole.cast(pyarrow.float64()) if kind == "real" else whole


def _known(array: Any, pyarrow: Any) -> Any:
    """Indices outside the dictionary become missing."""
    import pyarrow.compute as compute

    values = sound_array(array.dictionary)
    indices = array.indices.cast(pyarrow.int64(), safe=False)  # those past 2^63 become negative
    inside = compute.and_(
        compute.greater_equal(indices, 0), compute.less(indices, len(values))
    )  # missing for an index that is missing, and so is the result
    found = compute.if_else(inside, indices, pyarrow.scalar(None, indices.type))
    own = found.cast(array.type.index_type, safe=False)
    return pyarrow.DictionaryArray.from_arrays(own, values, ordered=array.type.ordered)


def _clamped(array: Any, pyarrow: Any) -> Any:
    """Decimals with too many digits become the largest, or the least, of their type."""
    kind, (validity, data) = array.type, array.buffers()
    most, end = 10**kind.precision - 1, array.offset + len(array)
    each = max(1, kind.byte_width // 8)  # 128 bits are two words
    words = np.frombuffer(data, dtype=f"i{min(kind.byte_width, 8)}", count=end * each)
    words = words.reshape(end, each)
    low, high = words[:, 0], words[:, -1]
    outside = (low > most) | (low < -most)
    if kind.byte_width > 8:
        outside |= high != low >> 63
    if not outside.any():
        return array
    words = words.copy()
    below = high < 0
    words[outside, 0] = np.where(below[outside], -most, most)
    if kind.byte_width > 8:
        words[outside, 1] = np.where(below[outside], -1, 0)
    buffers = [validity, pyarrow.py_buffer(words)]
    return pyarrow.Array.from_buffers(kind, len(array), buffers, offset=array.offset)
