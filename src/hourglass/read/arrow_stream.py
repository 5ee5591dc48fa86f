"""Columns of text as an Arrow stream, through Arrow's C interface, which DuckDB scans in place.

The interface consists of three C structures and a few callbacks, which are defined here with
ctypes. So text files can be read without PyArrow, which is not part of the base install.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from .lines import Views

__all__ = ["TextStream", "declared"]


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_to_schema, _to_array, _to_stream = map(ctypes.POINTER, (_Schema, _Array, _Stream))
_ReleaseSchema = ctypes.CFUNCTYPE(None, _to_schema)
_ReleaseArray = ctypes.CFUNCTYPE(None, _to_array)
_ReleaseStream = ctypes.CFUNCTYPE(None, _to_stream)
_GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, _to_stream, _to_schema)
_GetNext = ctypes.CFUNCTYPE(ctypes.c_int, _to_stream, _to_array)
_GetError = ctypes.CFUNCTYPE(ctypes.c_void_p, _to_stream)
_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(_to_schema)),
    ("dictionary", _to_schema),
    ("release", _ReleaseSchema),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(_to_array)),
    ("dictionary", _to_array),
    ("release", _ReleaseArray),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", _GetSchema),
    ("get_next", _GetNext),
    ("get_last_error", _GetError),
    ("release", _ReleaseStream),
    ("private_data", ctypes.c_void_p),
]

#: Objects that the consumer still refers to, by the number in ``private_data``.
_held: Final[dict[int, Any]] = {}
#: The streams in capsules, by their addresses.
_streams: Final[dict[int, _Stream]] = {}
_numbers: Final = itertools.count(1)
_STREAM: Final = b"arrow_array_stream"
_NULLABLE: Final = 2


class TextStream:
    """Columns of text named c0, c1 and so on, in batches; each scan calls ``read`` again.

    ``failure`` is the exception that ended a scan, if there was one.
    """

    def __init__(self, columns: int, read: Callable[[], Iterator[Views]]) -> None:
        self.columns, self.read = columns, read
        self.failure: BaseException | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note in ``failure`` what ends a callback as it is called, before it can catch anything.

        Python handles Ctrl-C as a function is called. ctypes then only prints the
        KeyboardInterrupt, and what the callback returns is undefined: the consumer could take it
        for the end of the data.
        """
        global _hook_before
        _watched.append(self)
        if sys.unraisablehook is not _note:
            _hook_before, sys.unraisablehook = sys.unraisablehook, _note
        try:
            yield
        finally:
            _watched.remove(self)
            if not _watched and sys.unraisablehook is _note:
                sys.unraisablehook = _hook_before

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A capsule with the stream; no file is opened before the first batch is requested."""
        held = _hold(_Scan(self))
        stream = _Stream(_get_schema, _get_next, _get_error, _release_stream, held)
        _streams[ctypes.addressof(stream)] = stream
        return _capsule(stream, _STREAM, ctypes.cast(_capsule_ended, ctypes.c_void_p))


class _Scan:
    """One scan of a stream, held until its consumer releases it."""

    def __init__(self, source: TextStream) -> None:
        self.source = source
        self.batches: Iterator[Views] | None = None


def _capsule(structure: Any, name: bytes, ended: Any = None) -> Any:
    """Wrap a structure in a capsule; the structure must live as long as the capsule."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(structure), name, ended)


def _hold(*things: Any) -> int:
    number = next(_numbers)
    _held[number] = things
    return number


# --- callbacks: created once, so that none can be freed while it runs ----------------------------


def _schema_asked(stream: Any, out: Any) -> int:
    (scan,) = _held[stream.contents.private_data]
    children = [
        _Schema(b"vu", b"c%d" % i, None, _NULLABLE, 0, None, None, _release_schema, _hold())
        for i in range(scan.source.columns)
    ]
    pointers = _pointers(_Schema, children)
    held = _hold(children, pointers)
    out[0] = _Schema(b"+s", b"", None, 0, len(children), pointers, None, _release_schema, held)
    return 0


def _next_asked(stream: Any, out: Any) -> int:
    (scan,) = _held[stream.contents.private_data]
    try:
        if scan.batches is None:
            scan.batches = scan.source.read()
        batch = next(scan.batches, None)
        out[0] = _Array() if batch is None else _array(batch)
    except (
        BaseException
    ) as error:  # C code cannot propagate exceptions; it is raised after the scan
        scan.source.failure = _cause(error)
        return errno.EIO
    return 0


def _stream_released(stream: Any) -> None:
    (scan,) = _held.pop(stream.contents.private_data, (None,))
    if scan is not None and scan.batches is not None:
        scan.batches.close()
    stream.contents.release = _ReleaseStream()


def _no_longer_in_capsule(capsule: int) -> None:
    """Release a stream that nobody took, such as one that was only asked for its schema."""
    stream = _streams.pop(_place_of(capsule, _STREAM))
    if stream.release:
        stream.release(ctypes.pointer(stream))


def _schema_released(schema: Any) -> None:
    _released(schema.contents, _ReleaseSchema)


def _array_released(array: Any) -> None:
    _released(array.contents, _ReleaseArray)


def _released(structure: Any, kind: Any) -> None:
    for i in range(structure.n_children):
        child = structure.children[i]
        if child.contents.release:
            child.contents.release(child)
    _held.pop(structure.private_data, None)
    structure.release = kind()


def _cause(error: BaseException | None) -> BaseException:
    """Ctrl-C inside of ctypes is the cause of a SystemError."""
    while isinstance(error, SystemError) and error.__cause__ is not None:
        error = error.__cause__
    return KeyboardInterrupt() if error is None or isinstance(error, KeyboardInterrupt) else error


_CALLBACKS: Final = (
    _schema_asked, _next_asked, _stream_released, _schema_released, _array_released,
)  # fmt: skip
#: The streams that are being scanned, and the hook that was replaced meanwhile.
_watched: Final[list[TextStream]] = []
_hook_before: Any = sys.unraisablehook


def _note(unraisable: Any) -> None:
    if not _of_callback(unraisable):
        _hook_before(unraisable)
        return
    for stream in _watched:
        stream.failure = stream.failure or _cause(unraisable.exc_value)


def _of_callback(unraisable: Any) -> bool:
    """Whether it ended one of our callbacks, which Python 3.13 names in the message alone."""
    if unraisable.object is None:
        return any(repr(each) in (unraisable.err_msg or "") for each in _CALLBACKS)
    return unraisable.object in _CALLBACKS


_get_schema: Final = _GetSchema(_schema_asked)
_get_next: Final = _GetNext(_next_asked)
_get_error: Final = _GetError(lambda _: None)
_release_stream: Final = _ReleaseStream(_stream_released)
_capsule_ended: Final = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_no_longer_in_capsule)
_place_of: Final = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_release_schema: Final = _ReleaseSchema(_schema_released)
_release_array: Final = _ReleaseArray(_array_released)


# --- batches --------------------------------------------------------------------------------


def _pointers(kind: Any, children: list[Any]) -> Any:
    pointer: Any = ctypes.POINTER(kind)
    return (pointer * len(children))(*map(ctypes.pointer, children))


def _array(batch: Views) -> _Array:
    """A batch as a structure with a child for each column."""
    children = [_column(batch, i) for i in range(len(batch.columns))]
    pointers, none = _pointers(_Array, children), (ctypes.c_void_p * 1)(None)
    held = _hold(children, pointers, none)
    return _Array(
        batch.rows, 0, 0, 1, len(children), none, pointers, None, _release_array, held
    )  # fmt: skip


def _column(batch: Views, i: int) -> _Array:
    """A column of string views: validity, views, the buffers that they point into, their sizes."""
    present, views = batch.present(i), batch.columns[i]
    sizes = (ctypes.c_int64 * len(batch.buffers))(*map(len, batch.buffers))
    places = [ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value for text in batch.buffers]
    buffers = (ctypes.c_void_p * (len(places) + 3))(
        present.ctypes.data, views.ctypes.data, *places, ctypes.addressof(sizes)
    )
    held = _hold(present, views, batch.buffers, sizes, buffers)
    return _Array(batch.rows, -1, 0, len(buffers), 0, buffers, None, None, _release_array, held)


# --- streams of other libraries -------------------------------------------------------------------


def declared(data: Any) -> tuple[Any, Any]:
    """The declared type of an Arrow stream, as a PyArrow field, and what to read it from later.

    If the object can return its schema by itself, the stream is not opened. Otherwise it is opened
    and asked for its schema, and no batch is read from it.
    """
    import pyarrow

    if hasattr(data, "__arrow_c_schema__"):
        return pyarrow.field(data), data
    opened = data.__arrow_c_stream__()
    place = ctypes.pythonapi.PyCapsule_GetPointer
    place.restype, place.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = ctypes.cast(place(opened, _STREAM), _to_stream)
    schema = _Schema()
    if stream.contents.get_schema(stream, ctypes.pointer(schema)):
        raise ValueError("the stream has no schema")
    return pyarrow.field(_Declared(schema)), _Opened(opened)


class _Declared:
    """A declared type."""

    def __init__(self, schema: _Schema) -> None:
        self._schema = schema

    def __arrow_c_schema__(self) -> Any:
        return _capsule(self._schema, b"arrow_schema")


class _Opened:
    """A stream that was opened but not read."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._stream
