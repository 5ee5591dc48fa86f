"""Numbers of Arrow arrays as NumPy arrays, read from their buffers.

PyArrow's own conversion imports pandas wherever that is installed, which takes longer than a
question about a small file.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

__all__ = ["numbers_of"]

_TYPES: Final = {"halffloat": np.float16, "float": np.float32, "double": np.float64} | {
    f"{sign}int{width}": np.dtype(f"{sign}int{width}")
    for sign in ("", "u")
    for width in (8, 16, 32, 64)
}


def numbers_of(values: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """The numbers or booleans of an array, 0 in place of NULL, and where NULL is.

    Takes an Array or a ChunkedArray; None instead of a mask if there is no NULL.
    """
    pieces = [values] if not hasattr(values, "chunks") else values.chunks
    found = [_numbers(piece) for piece in pieces]
    numbers = found[0] if len(found) == 1 else np.concatenate([_empty(values.type), *found])
    if not values.null_count:
        return numbers, None
    masks = [_absent(piece) for piece in pieces]
    absent = masks[0] if len(masks) == 1 else np.concatenate(masks)
    return np.where(absent, numbers.dtype.type(0), numbers), absent


def _empty(kind: Any) -> npt.NDArray[Any]:
    return np.empty(0, dtype=np.bool_ if str(kind) == "bool" else _TYPES[str(kind)])


def _numbers(piece: Any) -> npt.NDArray[Any]:
    """What the buffer holds, which is arbitrary at NULL."""
    if not len(piece):
        return _empty(piece.type)
    _, buffer = piece.buffers()
    if str(piece.type) == "bool":
        return _bits(buffer, piece.offset, len(piece))
    dtype = np.dtype(_TYPES[str(piece.type)])
    return np.frombuffer(buffer, dtype, len(piece), piece.offset * dtype.itemsize)


def _absent(piece: Any) -> npt.NDArray[np.bool_]:
    valid = piece.buffers()[0]
    if valid is None or not len(piece):
        return np.zeros(len(piece), dtype=np.bool_)
    return ~_bits(valid, piece.offset, len(piece))


def _bits(buffer: Any, start: int, size: int) -> npt.NDArray[np.bool_]:
    """A range of a bitmap."""
    first, skipped = divmod(start, 8)
    packed = np.frombuffer(buffer, np.uint8, -(-(skipped + size) // 8), first)
    bits = np.unpackbits(packed, count=skipped + size, bitorder="little")
    return bits[skipped:].view(np.bool_)
