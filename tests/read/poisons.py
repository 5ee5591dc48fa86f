"""Rows that are easily misread: lines of text files, lines of JSON, and cells of columns."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa

#: Groups that no poison names.
CLEAN = ["k0", "k1", "k2"]
#: Groups that poisons share with other rows.
SHARED = ["a", "b", "ALICE"]
NAMES = [
    "a", "A", "a ", " a", "b", "alice", "ALICE", "Alice ", "ａ", "a\u0301", "\u00e1", "ß", "SS",
    "İ",
    "", " ", "a\u200b", "\ufeffa", "a\u0000", "k", "NULL", "null", "NA", "None", "nan", "${x}",
    "$1",
    "*", "?", "[a]", "{a,b}", "%", "_", "'", '"', "a'; DROP TABLE t; --", "a\\", "\\N", "\\",
    "a\ta",
    "#a", "--", "/*", "e" * 100_000, "😀", "\u2028", "\u0085", "\x1a", "\x1c", "g", "x",
]  # fmt: skip
NUMBERS = [
    "1", "7", "100", "-1", "+3", " 4", "4 ", "0x10", "1_000", "1,5", "1.5", "1e400", "-1e400",
    "1e-400",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
    "1" * 400, "0." + "0" * 400 + "1", "9" * 100_000, "nan", "NaN", "NAN", "-nan", "+nan",
    "nan(1)",
    "inf", "-inf", "+inf", "Infinity", "-Infinity", "INF", "iNf", "infinity", "1.#INF", "1e", "e1",
    ".", ".5", "5.", "-", "+", "--1", "1-", "1e5000000000", "1e-99999999999999999999", "1d", "1f",
    "1L", "true", "NULL", "", " ", "\u0661", "１", "1\u00a0", "\u22121", "2024-01-01", "1/2", "1:2",
    "0b1", "0o7", "00012", "1e+2", "1E2", "1 2", "${x}", "\x001", "1\x00", "x",
]  # fmt: skip
DATES = ["0000-00-00", "9999-12-31", "10000-01-01", "-4713-01-01", "2023-02-30", "infinity", "now"]

#: Whole lines of CSV. ``,`` stands for the separator.
LINES: list[bytes] = [
    b'"', b'""', b'"""', b'1,"a,q', b'"1,a,q', b'1,a,"q', b'1,a,q"', b'1,"a"b,q', b'1,"a""b,q',
    b"'", b"1,'a,q",
    b'1,"a\nb",q', b'"1\n",a,q', b'1,a,"q\n', b'1,a,"\n\n\n",q', b"", b" ", b",", b",,", b",,,",
    b",,,,,,,,", b"1", b"1,a",
    b"1,a,q,", b"1,a,q,r", b"1,a,q,r,s,t", b"," * 5_000, b"1," * 3_000,
    b"1,a" + b"," * 2_000 + b"q", b"\x00", b"1,\x00,q",
    b"\x00" * 100, b"1,a,q\r", b"1,a\r,q", b"\r", b"\r\r", b"1,a,q\r2,b,r", b"1,a,q\r\r", b"\x0b",
    b"\x0c", b"1,\xff\xfe,q",
    b"\xff", b"\xc3", b"1,a,\xc3", b"1,a\xe2\x82,q", b"1,\xed\xa0\x80,q", b"1,\xf4\x90\x80\x80,q",
    b"1,\xc0\x80,q",
    b"\xef\xbb\xbf1,a,q", b"\xef\xbb\xbfx,g,p", b"\xff\xfe1,a,q", b"x,g,p", b"X,G,P",
    b'"x","g","p"', b"g,x,p", b"#1,a,q",
    b"# comment", b"//", b"1;a;q", b"1\ta\tq", b"1|a|q", b"\\", b"1,a\\,q", b'1,\\"a,q',
    b'1,"a\\",q', b"1,a,q\\", b"\x1a",
    b"1,\x1a,q", b"\x04", b'1,"' + b"z" * 100_000 + b'",q', b"z" * 100_000, b'"' * 999,
    b'"' * 1_000, b'","' * 333,
    b"1,a,q\x1e", b"1,a\xc2\x85b,q", b"1,\xe2\x80\xa8,q", b"PAR1", b"\x1f\x8b\x08\x00",
    b"PK\x03\x04", b"[]", b'{"x":1}',
    b"1,${x},q", b"1,*,q", b"1,a,q;DROP TABLE t", b"\\.", b"\\N,\\N,\\N", b"sep=;", b'=1+1,"=a",q',
    b'1 ,"a" ,"q" ',
    b' "1", "a", "q"', b'1,a,q"\n"', b'1,"a"\r,q', b'"\r', b'1,"\r\n",q', b"1,a,q\n\n",
    b"NULL,NULL,NULL",
]  # fmt: skip

#: Whole lines of JSON.
OBJECTS: list[bytes] = [
    b"", b" ", b"[]", b"[1]", b"[[[]]]", b'[{"x":1,"g":"a","p":"q"}]', b"{}", b"1", b"1e400",
    b"null", b"true", b'"x"', b"NaN",
    b"{", b"}", b"[", b"]", b'{"x"', b'{"x":', b'{"x":1', b'{"x":1,', b'{"x":1}}',
    b'{"x":1}{"x":2}', b'{"x":1} {"x":2}',
    b'{"x":1},', b',{"x":1}', b'{"x":1,"x":2,"g":"a","p":"q"}', b'{"g":"a","g":"b","x":1,"p":"q"}',
    b'{"X":1,"G":"a","P":"q"}',
    b'{"x":1,"X":2,"g":"a","G":"b","p":"q"}', b'{"X":5,"x":1,"g":"a","p":"q"}',
    b'{"x":[1],"g":"a","p":"q"}',
    b'{"x":{"x":1},"g":"a","p":"q"}', b'{"x":1,"g":["a"],"p":"q"}', b'{"x":1,"g":{"a":1},"p":"q"}',
    b'{"x":1,"g":1,"p":2}',
    b'{"x":1,"g":true,"p":null}', b'{"x":true,"g":"a","p":"q"}', b'{"x":NaN,"g":"a","p":"q"}',
    b'{"x":nan,"g":"a","p":"q"}',
    b'{"x":Infinity,"g":"a","p":"q"}', b'{"x":-Infinity,"g":"a"}', b'{"x":inf,"g":"a"}',
    b'{"x":1e400,"g":"a","p":"q"}',
    b'{"x":-1e400,"g":"a","p":"q"}', b'{"x":1e-400,"g":"a","p":"q"}',
    b'{"x":9223372036854775808,"g":"a","p":"q"}',
    b'{"x":18446744073709551616,"g":"a"}', b'{"x":' + b"9" * 5_000 + b',"g":"a"}',
    b'{"x":01,"g":"a"}', b'{"x":+1,"g":"a"}',
    b'{"x":.5,"g":"a"}', b'{"x":1.,"g":"a"}', b'{"x":0x1,"g":"a"}', b"{x:1,g:'a'}",
    b"{'x':1,'g':'a'}", b'{"x":1,"g":"a",}',
    b'{"x":1,"g":"\\ud800","p":"q"}', b'{"x":1,"g":"a\\u0000","p":"q"}',
    b'{"x":"\\ud83d","g":"a"}',
    b'{"x":1,"g":"\\ud83d\\ude00"}',
    b'{"x":1,"g":"\xff","p":"q"}', b'{"x":1,"g":"\xed\xa0\x80"}', b'{"x":1,"g":"a\x00b"}', b"\x00",
    b"\xff", b'{"\xff":1,"x":1,"g":"a"}',
    b'\xef\xbb\xbf{"x":1,"g":"a"}', b'{"x":1,"g":"\\x"}', b'{"x":1,"g":"\\u12"}',
    b'{"x":1,"g":"a\tb"}', b'{"x":1,"g":"a}',
    b'{"x":1,"g":"a\r"}', b'{"x":1,"g":"a"}\r', b'{"x":1,\r"g":"a"}', b'{"x":1,\n"g":"a"}',
    b'{"x":1,"g":"a\nb"}', b"[\n", b"[\n{\n",
    b'{"x":1,"g":"a"} // no', b'/* */ {"x":1,"g":"a"}', b'{"x":1,"g":"' + b"z" * 100_000 + b'"}',
    b'{"' + b"k" * 100_000 + b'":1,"x":1}',
    b"[" * 2_000, b'{"x":' * 2_000, b"[" * 900 + b"]" * 900, b'{"x":' * 900 + b"1" + b"}" * 900,
    b'{"x":1,"g":"a","":1}',
    b'{"":1}', b'{"\\u0078":1,"g":"a","p":"q"}', b'{"x ":1,"g":"a"}', b'{"x":1,"g":"","p":""}',
    b'{"x":" 7 ","g":"a","p":"q"}',
    b"{" + b",".join(b'"c%d":1' % i for i in range(2_000)) + b',"x":1,"g":"a"}', b"\x1a", b"PAR1",
    b"---", b"x,g,p",
    b'{"x":null,"g":null,"p":null}', b'\t{"x":1,"g":"a","p":"q"}\t', b'\x0b{"x":1,"g":"a"}',
    b'\xc2\xa0{"x":1,"g":"a"}',
    b'{"x":"NaN","g":"a"}', b'{"x":"1e400","g":"a"}', b'{"x":-0,"g":"a"}',
    b'{"x":1E2,"g":"a","p":"q"}', b'{"$ref":"x"}',
    b'{"x":2,"g":"a","p":"q"', b'"', b'{"x":"', b'\\', b'{"x":1,"g":"a","p":"q"}#',
]  # fmt: skip

#: Cells of columns, by the name and the type of the column.
CELLS: dict[str, list[tuple[pa.DataType, list[Any]]]] = {
    "x": [
        (
            pa.float64(),
            [None, float("nan"), float("inf"), -float("inf"), 1.7e308, 5e-324, -0.0, 7.5],
        ),
        (pa.float32(), [None, float("nan"), float("inf"), 3e38, 1e-45, 7.5]),
        (pa.int64(), [None, 2**63 - 1, -(2**63), 7]),
        (pa.uint64(), [None, 2**64 - 1, 2**63, 7]),
        (pa.int8(), [None, 127, -128]),
        (pa.string(), [None, *NUMBERS, *NAMES]),
    ],
    "g": [
        (pa.string(), [None, *NAMES]),
        (pa.date32(), [None, 0, -719_163, 2_932_897, 2**31 - 1, -(2**31), -719_162, 2_932_896]),
        (pa.int64(), [None, 0, 2**63 - 1, -(2**63)]),
        (pa.bool_(), [None, True, False]),
    ],
    "p": [
        (pa.string(), [None, *NAMES]),
        (pa.int64(), [None, 0, 2**63 - 1, -(2**63)]),
    ],
}


def csv_line(rng: random.Random, separator: bytes, kind: str = "") -> bytes:
    """A whole line that is not a row, or a row with one bad cell, plain or in quotes."""
    if kind == "line" or (not kind and rng.random() < 0.6):
        return rng.choice(LINES).replace(b",", separator)
    cells = ["1", "a", "q"]
    place = rng.randrange(3)
    cells[place] = rng.choice([NUMBERS, NAMES, NAMES][place] + DATES)
    style = rng.randrange(3)
    if style == 1:
        cells[place] = f'"{cells[place]}"'
    elif style == 2:
        cells = ['"' + cell.replace('"', '""') + '"' for cell in cells]
    return separator.join(cell.encode() for cell in cells)


def json_line(rng: random.Random, _: bytes = b"") -> bytes:
    if rng.random() < 0.6:
        return rng.choice(OBJECTS)
    row: dict[str, Any] = {"x": 1, "g": "a", "p": "q"}
    name = rng.choice("xgp")
    row[name] = rng.choice((NUMBERS if name == "x" else NAMES) + DATES)
    return json.dumps(row, ensure_ascii=rng.random() < 0.5).encode()


def clean_cell(name: str, kind: pa.DataType, index: int) -> Any:
    """An ordinary cell."""
    if name == "g":
        names = [*SHARED, *CLEAN]
        if pa.types.is_string(kind):
            return names[index % 6]
        return bool(index % 2) if pa.types.is_boolean(kind) else index % 6 + 1
    if pa.types.is_string(kind):
        return str(index) if name == "x" else f"p{index}"
    return float(index) if pa.types.is_floating(kind) else index


def poisoned(rng: random.Random, kinds: dict[str, pa.DataType]) -> dict[str, Any]:
    """A row with one to three bad cells."""
    row = {name: clean_cell(name, kind, 0) for name, kind in kinds.items()}
    for name in rng.sample(sorted(kinds), rng.choice([1, 1, 3])):
        row[name] = rng.choice(next(bad for kind, bad in CELLS[name] if kind == kinds[name]))
    return row


def column(values: list[Any], kind: pa.DataType) -> pa.Array:
    """An Arrow array; dates and times are given as their numbers, whatever Python can hold."""
    if pa.types.is_date32(kind):
        return pa.array([None if v is None else int(v) for v in values], pa.int32()).view(kind)
    return pa.array(values, kind)


#: Objects that a column of pandas may hold where others hold text.
PYTHON: list[Any] = [
    None, float("nan"), float("inf"), 7, 7.5, 2**63, 2**70, 10**400, True, b"a", b"\xff",
    "\ud800", "a\udcff", "a\x00",
    [], [1], {}, {"a": 1}, (), (1, 2), set(), object, 1j, "a", "A", "a ", "", "e" * 100_000,
    "7", "nan", "1e400",
]  # fmt: skip

SQLITE_CELLS = [
    *(f"'{name}'" for name in [*NAMES, *NUMBERS] if "'" not in name and "\x00" not in name),
    "NULL", "x'ff'", "x''", "CAST(x'ff' AS TEXT)", "CAST(x'eda080' AS TEXT)",
    "CAST(x'610062' AS TEXT)", "9e999", "-9e999",
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e308", "5e-324",
    "0.5", "TRUE", "zeroblob(1000)",
    "CAST(x'c3' AS TEXT)", "char(0)", "char(0xfeff)", "char(0xd800)", "'it''s'",
]  # fmt: skip


def quoted(texts: list[str]) -> list[str]:
    return ["NULL", *("'" + text.replace("'", "''") + "'" for text in texts if "\x00" not in text)]


#: Types of PostgreSQL and DuckDB, with difficult cells.
SQL_X = {
    "double precision": ["NULL", "'nan'", "'-nan'", "'inf'", "'-inf'", "1e308", "5e-324", "'-0'"],
    "numeric": ["NULL", "'nan'", "1e400", "-1e400", "1e-400", "'inf'", "'-inf'"],
    "bigint": ["NULL", "9223372036854775807", "-9223372036854775808"],
    "text": quoted(NUMBERS),
    "hugeint": ["NULL", "170141183460469231731687303715884105727",
    "(-170141183460469231731687303715884105728)"],
    "decimal(38, 10)": ["NULL", "9999999999999999999999999999", "0.0000000001"],
    "numeric(12, 3)": ["NULL", "'nan'", "999999999.999", "-999999999.999", "0.001"],
    "real": ["NULL", "'nan'", "'inf'", "'-inf'", "3e38", "1e-45", "'-0'"],
    "smallint": ["NULL", "32767", "-32768"],
}  # fmt: skip
SQL_G = {
    "text": quoted(NAMES),
    "date": ["NULL", "'infinity'", "'-infinity'", "'4000-01-01'", "'294276-01-01'",
    "'0001-01-01'"],
    "boolean": ["NULL", "'true'", "'false'"],
    "bigint": ["NULL", "0", "9223372036854775807", "-9223372036854775808"],
    "character(4)": ["NULL", "''", "'    '", "'a'", "'a '", "' a'", "'A'", "'k0 '", "'\u00e9'"],
}  # fmt: skip
