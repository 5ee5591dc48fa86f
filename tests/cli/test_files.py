"""Files that several commands write and read at once."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hourglass.cli.files import write_file
from hourglass.cli.output import check_targets
from hourglass.errors import OptionError


def at_each_line(work: Callable[[], object], other: Callable[[], None]) -> Iterator[None]:
    """Do ``work`` again and again, and ``other`` within it, one line later each time."""
    line = passed = 0
    reached = True

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal passed, reached
        passed += event == "line"
        if event == "line" and passed == line:
            reached = True
            sys.settrace(None)
            other()
        return trace

    while reached:
        line, passed, reached = line + 1, 0, False
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            work()
        finally:
            sys.settrace(before)
        yield
    assert line > 10


def test_a_check_does_not_remove_the_answer_of_another_command(tmp_path: Path) -> None:
    path, written = tmp_path / "answer.json", []

    def other() -> None:
        path.write_bytes(b"answer")
        written.append(path)

    for _ in at_each_line(lambda: check_targets({"output": path}, []), other):
        assert os.listdir(tmp_path) == [each.name for each in written]
        if written:
            assert written.pop().read_bytes() == b"answer"
            path.unlink()


def test_two_commands_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_bytes(b"before")
    found = set()

    def other() -> None:
        found.add(path.read_bytes())
        write_file(path, b"short")

    for _ in at_each_line(lambda: write_file(path, b"a longer one"), other):
        found.add(path.read_bytes())
    assert found <= {b"before", b"short", b"a longer one"}
    assert os.listdir(tmp_path) == [path.name]


def test_permissions_links_and_devices_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "answer.json", tmp_path / "link.json"
    link.symlink_to(path)
    check_targets({"output": link}, [])
    assert link.is_symlink()
    assert not path.exists()
    write_file(link, b"by the link")
    assert link.is_symlink()
    assert path.read_bytes() == b"by the link"
    path.chmod(0o640)
    write_file(path, b"again")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    os.link(path, tmp_path / "second")
    write_file(path, b"both")
    assert (tmp_path / "second").read_bytes() == b"both"
    write_file(Path(os.devnull), b"nothing")
    assert not Path(os.devnull).is_file()


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_file(tmp_path / "answer.json", b"answer")
    assert (tmp_path / "answer.json").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_what_cannot_be_written_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "answer", tmp_path / ("x" * 300), tmp_path):
        with pytest.raises(OptionError, match="cannot be written"):
            check_targets({"output": path}, [])
    check_targets({"output": tmp_path / ("x" * 255)}, [])
    assert os.listdir(tmp_path) == []
