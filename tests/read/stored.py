"""A writer of Parquet files by hand: any cell that is stored, and statistics as old writers have.

Libraries check what they write, so their files cannot show how engines read what others wrote.
Columns are optional and stored plain in one page of each row group.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: The codes of physical types.
PHYSICAL = {
    "BOOLEAN": 0, "INT32": 1, "INT64": 2, "INT96": 3, "FLOAT": 4, "DOUBLE": 5, "BYTE_ARRAY": 6,
    "FIXED_LEN_BYTE_ARRAY": 7,
}  # fmt: skip
#: A struct of Thrift: its fields, as number, type and value.
Struct = list[tuple[int, str, Any]]
EMPTY: Struct = []
TEXT: Struct = [(1, "struct", EMPTY)]
DATE: Struct = [(6, "struct", EMPTY)]


def decimal(precision: int, scale: int) -> Struct:
    return [(5, "struct", [(1, "i32", scale), (2, "i32", precision)])]


def integer(bits: int, *, signed: bool) -> Struct:
    return [(10, "struct", [(1, "byte", bits), (2, "bool", signed)])]


def timestamp(unit: str, *, utc: bool) -> Struct:
    place = {"ms": 1, "us": 2, "ns": 3}[unit]
    return [(8, "struct", [(1, "bool", utc), (2, "struct", [(place, "struct", EMPTY)])])]


@dataclass(frozen=True)
class Stored:
    """A column: its physical and its logical type, and what statistics a row group has.

    Cells are integers, floats or booleans, otherwise bytes as they are stored. ``order`` is the
    key by which a writer finds the least and the greatest; ``old`` if it declares no order, and
    writes them where signed numbers belong.
    """

    physical: str
    logical: Struct = field(default_factory=list)
    length: int = 0
    size: tuple[int, int] | None = None  # of a decimal
    order: Callable[[Any], Any] | None = None
    old: bool = False


def write(
    path: Path, columns: dict[str, tuple[Stored, Sequence[Any]]], rows: int | None = None
) -> None:
    """Write columns of equal length, with so many rows in a group."""
    total = len(next(iter(columns.values()))[1])
    step = rows or max(total, 1)
    out, groups = b"PAR1", []
    for start in range(0, max(total, 1), step):
        chunks: list[Struct] = []
        for name, (kind, cells) in columns.items():
            page = _page(kind, cells[start : start + step])
            chunks.append(_chunk(name, kind, cells[start : start + step], len(out), len(page)))
            out += page
        count = min(step, total - start)
        groups.append([(1, "structs", chunks), (2, "i64", len(out)), (3, "i64", count)])
    schema: list[Struct] = [[(4, "text", "schema"), (5, "i32", len(columns))]]
    schema += [_element(name, kind) for name, (kind, _) in columns.items()]
    footer: Struct = [(1, "i32", 1), (2, "structs", schema), (3, "i64", total)]
    footer += [(4, "structs", groups), (6, "text", "parquet-mr version 1.8.1 (build 4aba4da)")]
    if not any(kind.old for kind, _ in columns.values()):
        footer += [(7, "structs", [[(1, "struct", EMPTY)] for _ in columns])]
    data = _struct(footer)
    path.write_bytes(out + data + struct.pack("<i", len(data)) + b"PAR1")


def _element(name: str, kind: Stored) -> Struct:
    found: Struct = [(1, "i32", PHYSICAL[kind.physical])]
    found += [(2, "i32", kind.length)] if kind.length else []
    found += [(3, "i32", 1), (4, "text", name)]
    converted = {1: 0, 5: 5, 6: 6}.get(kind.logical[0][0]) if kind.logical else None
    if kind.logical and kind.logical[0][0] == 10:
        (_, _, bits), (_, _, signed) = kind.logical[0][2]
        converted = (15 if signed else 11) + (8, 16, 32, 64).index(bits)
    found += [(6, "i32", converted)] if converted is not None else []
    found += [(7, "i32", kind.size[1]), (8, "i32", kind.size[0])] if kind.size else []
    logical = kind.logical and not kind.old  # which old writers did not know
    return found + ([(10, "struct", kind.logical)] if logical else [])


def _chunk(name: str, kind: Stored, cells: Sequence[Any], start: int, size: int) -> Struct:
    about: Struct = [(1, "i32", PHYSICAL[kind.physical]), (2, "i32s", [0, 3]), (3, "texts", [name])]
    about += [(4, "i32", 0), (5, "i64", len(cells)), (6, "i64", size), (7, "i64", size)]
    about += [(9, "i64", start)]
    there = [cell for cell in cells if cell is not None]
    if kind.order and there:
        least, most = (_cell(kind, f(there, key=kind.order)) for f in (min, max))
        ends = [(1, "binary", most), (2, "binary", least)]
        nulls = [(3, "i64", len(cells) - len(there))]
        new = [(5, "binary", most), (6, "binary", least)]
        about += [(12, "struct", ends + nulls if kind.old else nulls + new)]
    return [(2, "i64", start), (3, "struct", about)]


def _page(kind: Stored, cells: Sequence[Any]) -> bytes:
    there = [cell for cell in cells if cell is not None]
    if kind.physical == "BOOLEAN":
        plain = _bits([int(cell) for cell in there])
    else:
        raw = [_cell(kind, cell) for cell in there]
        if kind.physical == "BYTE_ARRAY":
            raw = [struct.pack("<i", len(cell)) + cell for cell in raw]
        plain = b"".join(raw)
    groups = -(-len(cells) // 8)
    levels = _number(groups << 1 | 1) + _bits([int(c is not None) for c in cells])
    data = struct.pack("<i", len(levels)) + levels + plain
    about: Struct = [(1, "i32", len(cells)), (2, "i32", 0), (3, "i32", 3), (4, "i32", 3)]
    header: Struct = [(1, "i32", 0), (2, "i32", len(data)), (3, "i32", len(data))]
    return _struct([*header, (5, "struct", about)]) + data


def _cell(kind: Stored, cell: Any) -> bytes:
    if isinstance(cell, bytes):
        return cell
    if isinstance(cell, float):
        return struct.pack("<f" if kind.physical == "FLOAT" else "<d", cell)
    size = {"INT32": 4, "INT64": 8}[kind.physical]
    return int(cell % 2 ** (8 * size)).to_bytes(size, "little")


def _bits(flags: Sequence[int]) -> bytes:
    whole = sum(flag << place for place, flag in enumerate(flags))
    return whole.to_bytes(-(-len(flags) // 8), "little")


# --- Thrift's compact protocol --------------------------------------------------------------------

_CODES = {"bool": 1, "byte": 3, "i32": 5, "i64": 6, "binary": 8, "text": 8, "struct": 12}


def _number(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def _struct(fields: Struct) -> bytes:
    out, last = b"", 0
    for place, kind, value in fields:
        code = 2 if kind == "bool" and not value else _CODES.get(kind, 9)
        out += bytes([(place - last) << 4 | code])
        out += b"" if kind == "bool" else _value(kind, value)
        last = place
    return out + b"\0"


def _value(kind: str, value: Any) -> bytes:
    if kind == "struct":
        return _struct(value)
    if kind == "byte":
        return bytes([value])
    if kind in ("i32", "i64"):
        return _number(value << 1)  # none is negative
    if kind in ("text", "binary"):
        raw: bytes = value.encode() if kind == "text" else value
        return _number(len(raw)) + raw
    one = kind.removesuffix("s")
    size = bytes([len(value) << 4 | _CODES[one]])
    if len(value) > 14:
        size = bytes([0xF0 | _CODES[one]]) + _number(len(value))
    return size + b"".join(_value(one, each) for each in value)
