"""Numbers from the buffers of Arrow arrays are those of PyArrow's own conversion."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourglass.core.keys import numbers_of

WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()]
KINDS = [*WHOLE, pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_()]


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    """Slices of arrays, and arrays of several chunks, with and without NULL."""
    kind = draw(st.sampled_from(KINDS))
    numbers = st.booleans() if kind == pa.bool_() else st.integers(0, 100)

    def piece() -> Any:
        values: list[Any] = draw(st.lists(numbers | st.none() if draw(st.booleans()) else numbers))
        if kind == pa.float16():
            values = [None if v is None else np.float16(v) for v in values]
        start = draw(st.integers(0, len(values)))
        return pa.array(values, kind).slice(start, draw(st.integers(0, len(values))))

    if draw(st.booleans()):
        return piece()
    return pa.chunked_array([piece() for _ in range(draw(st.integers(0, 3)))], kind)


@pytest.mark.slow
@pytest.mark.property
@given(arrays())
def test_numbers_and_nulls(array: Any) -> None:
    numbers, absent = numbers_of(array)
    expected = array.to_pylist()
    assert numbers.dtype == array.type.to_pandas_dtype()
    assert numbers.tolist() == [value or 0 for value in expected]
    assert (absent is None) == (None not in expected)
    if absent is not None:
        assert absent.tolist() == [value is None for value in expected]


@pytest.mark.slow
def test_a_question_about_a_file_imports_no_pandas(tmp_path: Path) -> None:
    """Which takes longer than the answer. Whichever question does, it is seen at the end."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0, None], "g": ["a", "b", None]}), path)
    program = (
        "import sys, hourglass as hg\n"
        f"ask = {{'data': {str(path)!r}, 'bounds': (0, 3), 'epsilon': 1}}\n"
        "for more in ({}, {'by': 'g', 'keys': ['a', 'b']}, {'by': 'g', 'delta': 1e-6}):\n"
        "    hg.mean(column='x', **ask, **more)\n"
        "    hg.mean(column=['x'], **ask)\n"
        "    print(*{'pandas', 'pyarrow.compute'} & {*sys.modules})\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (told.returncode, told.stdout.strip()) == (0, ""), told.stderr
