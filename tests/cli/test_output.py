"""Where answers are written, and with what: origins, targets, types of Parquet, groups by name."""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from hourglass.cli.combined import _by_label, _compared, check_groups
from hourglass.cli.files import write_file
from hourglass.cli.output import _parquet, check_targets, origin_of
from hourglass.cli.parts import Figures, Pair, each_bounds
from hourglass.errors import OptionError


@pytest.mark.parametrize(
    "source",
    [
        "postgresql://ana:passw0rd@db/x",
        "postgresql://db/x?user=ana&password=passw0rd",
        "mysql://ana:passw0rd@db/x",
    ],
)
def test_no_password_is_stored_with_an_answer(source: str) -> None:
    told = origin_of(source, "visits")["source"]
    assert "passw0rd" not in told
    assert told.endswith(" visits")


@pytest.mark.slow
@pytest.mark.enumeration
def test_whole_numbers_of_any_size_are_written() -> None:
    """A noisy sum may be negative or past 64 bits, and after the charge nothing may fail."""
    edges = [0, 1, 5, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**38 - 1, 10**38, 2**200]
    values = [sign * edge for edge, sign in product(edges, (1, -1))]
    pairs = {f"{i} {j}": [a, b] for (i, a), (j, b) in product(enumerate(values), repeat=2)}
    found = pq.read_table(io.BytesIO(_parquet(pairs))).to_pydict()
    assert {name: [int(part) for part in both] for name, both in found.items()} == pairs
    (one,) = pq.read_table(io.BytesIO(_parquet({"n": [None, -(2**63)]}))).schema.types
    assert str(one) == "int64"


def test_two_names_of_one_file_are_one_file(tmp_path: Path) -> None:
    """By a link, or by a detour; otherwise one answer would be written over the other."""
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "x")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for one, other in (("x", "link"), ("x", "a/../x"), ("a/y", "b/y")):
        targets: dict[str, Path | None] = {"output": tmp_path / one, "statement": tmp_path / other}
        with pytest.raises(OptionError, match="name the same file"):
            check_targets(targets, [])
    check_targets({"output": tmp_path / "x", "statement": tmp_path / "y"}, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "link"]


@pytest.mark.parametrize("before", [None, b"before"])
def test_a_file_that_cannot_be_finished_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None
) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "no room")

    path = tmp_path / "answer.json"
    if before is not None:
        path.write_bytes(before)
    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(OSError, match="no room"):
        write_file(path, b"after")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == (
        {} if before is None else {path.name: before}
    )


def test_bounds_from_a_file_are_for_all_columns() -> None:
    """With others beside them, some would be ignored without a word."""
    file, ends = Path("bounds.json"), ("0", "1")
    for bounds, each in ((ends, []), (None, [["x", "0", "1"]]), (ends, [["x", "0", "1"]])):
        with pytest.raises(OptionError, match="either --bounds LOWER UPPER or --bounds-from"):
            each_bounds(["x", "y"], bounds, each, file)


# --- groups by name ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "keys"),
    [
        ("AA, 1", "AA,1", [("AA", 1), ("UA", 1)]),
        ("true", "True", [(True,), (False,)]),
        ("TRUE, 1", "true,1", [(True, 1), (False, 1)]),
    ],
)
def test_one_group_under_two_names_is_one_group(a: str, b: str, keys: list[Any]) -> None:
    """Refused before the charge where the groups are public; else a sentence in its place."""
    figures = Figures(pairs=(Pair("difference", a, b),))
    with pytest.raises(OptionError, match="the same group twice"):
        check_groups(figures, keys, "--keys")
    part: Any = SimpleNamespace(groups=keys, difference=None)
    part = type("Part", (list,), vars(part))(keys)
    told = _compared(part, figures.pairs[0])
    assert told == f"{a} and {b} are the same group, so there is no difference."


def test_names_that_differ_in_spaces_alone_are_refused_before_groups_are_known() -> None:
    figures = Figures(pairs=(Pair("ratio", "AA, 1", "AA,1"),))
    groups: Any = SimpleNamespace(by=["g", "h"])
    wanted: Any = SimpleNamespace(form="table")
    with pytest.raises(OptionError, match="the same group twice"):
        figures.check(groups, wanted)


def test_a_label_of_the_table_goes_first() -> None:
    """ "a, b" is the group a and b, whatever else could be written so with a comma."""
    for keys in ([("a", " b"), ("a", "b")], [("a", "b"), ("a", " b")]):
        assert keys[_by_label(keys)["a, b"]] == ("a", "b")
        assert keys[_by_label(keys)["a,b"]] == ("a", "b")
