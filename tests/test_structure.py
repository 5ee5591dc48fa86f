"""Properties of the code itself: no floats in noise/, one source of randomness, one proof."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from operator import le
from pathlib import Path

import pytest

import hourglass as hg

SOURCE = Path(hg.__file__).parent
ROOT = Path(__file__).parents[1]
ENGINE_EXTRAS = ("datafusion", "plot", "postgres", "spark")
NOISE = sorted((SOURCE / "noise").glob("*.py"))
#: What in core/exact.py takes or returns a float: numbers as users write and read them.
OF_FLOATS = {
    "__float__", "__repr__", "decimal", "exact_number", "ratio_to_double", "to_double",
}  # fmt: skip

#: Anything that would bring in floats, or randomness from another source.
FORBIDDEN_NAMES = {"float", "float64", "float32", "double", "math", "random", "secrets", "cmath"}
FORBIDDEN_ATTRIBUTES = {"random", "rand", "default_rng", "exp", "log", "sqrt", "float64"}


def offences(tree: ast.AST) -> Iterator[str]:
    """What a module may not contain, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
            yield f"line {node.lineno}: the constant {node.value}"
        elif isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES:
            yield f"line {node.lineno}: the name {node.id}"
        elif isinstance(node, ast.Attribute) and node.attr in FORBIDDEN_ATTRIBUTES:
            yield f"line {node.lineno}: the attribute {node.attr}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in FORBIDDEN_NAMES:
                    yield f"line {node.lineno}: import {alias.name}"
        elif isinstance(node, ast.ImportFrom) and (node.module or "") in FORBIDDEN_NAMES:
            yield f"line {node.lineno}: from {node.module}"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield f"line {node.lineno}: a division"


@pytest.mark.parametrize("path", NOISE, ids=lambda path: path.name)
def test_the_core_is_free_of_floats(path: Path) -> None:
    tree = ast.parse(path.read_text())
    # Enclosures and Fractions divide exactly; every other quotient would be a float.
    found = [line for line in offences(tree) if not line.endswith("a division")]
    assert not found


def test_exact_numbers_are_free_of_floats() -> None:
    """The laws are computed with core/exact.py: only named functions of it know floats."""
    tree = ast.parse((SOURCE / "core" / "exact.py").read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    with_floats = {
        node.name
        for node in functions
        if any(not line.endswith("a division") for line in offences(node))
    }
    assert with_floats == OF_FLOATS


@pytest.mark.parametrize(
    "text",
    ["x = 0.5", "import math", "from random import random", "y = float(3)", "np.random.rand()"],
)
def test_the_check_would_see_a_float(text: str) -> None:
    assert list(offences(ast.parse(text)))


def test_divisions_in_the_core_are_of_enclosures() -> None:
    """NumPy's true division makes floats, so arrays may be divided only by //."""
    for path in NOISE:
        if path.name in ("bits.py", "uniform.py"):
            tree = ast.parse(path.read_text())
            assert not [line for line in offences(tree) if line.endswith("a division")]


def test_one_door_for_randomness() -> None:
    """os.urandom is called once in the whole package, and no other source of randomness is used."""
    doors = []
    for path in SOURCE.rglob("*.py"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"urandom\(|getrandbits|default_rng|np\.random|import secrets", line):
                doors.append(f"{path.relative_to(SOURCE)}:{number}")
    assert len(doors) == 1, doors
    assert doors[0].startswith("noise/bits.py")


def test_no_tests_share_a_seeded_stream() -> None:
    """The noise of a test would depend on the tests that ran before it, and so on the worker."""
    shared = re.compile(r"^[^\s#].*SeededBits\(", re.MULTILINE)
    assert not [path for path in (ROOT / "tests").rglob("*.py") if shared.search(path.read_text())]


@pytest.mark.parametrize(("name", "letter"), [("hourglass.proof.md", "H"), ("body.proof.md", "B")])
def test_proof_and_code_carry_the_same_marks(name: str, letter: str) -> None:
    proof = (SOURCE / "noise" / name).read_text()
    proved = re.findall(rf"^## \[({letter}\d+)\]", proof, re.MULTILINE)
    assert proved == [f"{letter}{i}" for i in range(1, len(proved) + 1)]
    used = {
        mark
        for path in SOURCE.rglob("*.py")
        for mark in re.findall(rf"\[({letter}\d+)\]", path.read_text())
    }
    assert used == set(proved)


def test_modules_stay_short() -> None:
    long = {
        str(path.relative_to(SOURCE)): lines
        for path in SOURCE.rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 600
    }
    assert not long


#: Each question of the walk, and the most files, closures and turns back of it.
WALKS = [(0, (22, 0, 0)), (1, (24, 0, 0)), (2, (18, 1, 2)), (3, (36, 1, 1))]


@pytest.mark.slow
@pytest.mark.parametrize(("question", "most"), WALKS)
def test_a_question_goes_straight_through_few_modules(
    question: int, most: tuple[int, int, int]
) -> None:
    """Modules that are always read together stand together, and none calls back up the stack."""
    code = [sys.executable, str(ROOT / "benchmarks" / "walk.py"), str(question)]
    run = subprocess.run(code, capture_output=True, text=True, check=True)
    files, _, closures, turns = map(int, run.stdout.split()[-4:])
    assert all(map(le, (files, closures, turns), most)), run.stdout


def test_public_names_are_there_and_documented() -> None:
    for name in hg.__all__:
        assert getattr(hg, name).__doc__, name
    assert sorted(hg.__all__) == list(hg.__all__)


@pytest.mark.slow
def test_import_is_light() -> None:
    """Nothing heavy is imported before it is needed."""
    code = "import sys, hourglass; print(' '.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stdout.split()}
    heavy = {"pandas", "polars", "pyarrow", "scipy", "matplotlib", "duckdb", "sqlglot", "pyspark"}
    assert not loaded & (heavy | {"psycopg", "typer", "rich", "sqlite3"})


@pytest.mark.slow
def test_the_lowest_versions_are_the_ones_tested() -> None:
    """`make test-lowest` takes tests/lowest.txt: each floor of pyproject.toml is in it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(d for e in ENGINE_EXTRAS for d in extras[e])]
    found = re.findall(r"^([a-z]+)(?:\[.*\])?>=([0-9.]+)", "\n".join(wanted), re.MULTILINE)
    floors = dict(found)
    lines = (ROOT / "tests" / "lowest.txt").read_text().split()
    pins = dict(line.split("==") for line in lines)
    assert set(floors) == {re.split(r"\W", each)[0] for each in wanted}
    for name, floor in floors.items():
        assert f"{pins[name]}.".startswith(f"{floor}."), name
