"""A program in a fork ends, prints and is told as in an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests import apart

PROGRAMS = {
    "prints": "import sys; print('out', flush=True); print('err', file=sys.stderr)",
    "exit code": "import sys; sys.exit(3)",
    "error": "raise ValueError(1)",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "ctrl-c": "raise KeyboardInterrupt",
    "input": "print(input())",
    "at the end": "import atexit; atexit.register(print, 'late')",
    "a thread": "import threading; threading.Thread(target=print, args=['late']).start()",
    "its own": "import os, sys; print(sys.argv, os.environ['MINE'], os.getcwd(), __name__)",
    "buffered": "import os; print('first'); os.write(1, b'second ')",
    "freed": "class Late:\n    def __del__(self): print('late')\none = Late()",
    "words": "raise SystemExit('words')",
    "large": "raise SystemExit(259)",
    "full": "import sys, os; f = os.open('/dev/full', 1); os.dup2(f, 1); print('lost')",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_an_interpreter_of_its_own(name: str, tmp_path: Path) -> None:
    if name == "full" and not Path("/dev/full").is_char_device():
        pytest.skip("needs /dev/full")
    words = [sys.executable, "-c", PROGRAMS[name], "a word"]
    environment = {**os.environ, "MINE": "one"}
    environment.pop("PYTHONUNBUFFERED", None)
    told = []
    for run in (subprocess.run, apart.run, partial(apart.run, whole=True)):
        done = run(
            words, input="given\n", capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        ignored = "Exception ignored" in done.stderr
        told.append((done.returncode, done.stdout, ignored, done.stderr.splitlines()[-1:]))
    assert told[0] == told[1] == told[2]


def test_a_stream_that_is_closed() -> None:
    program = "import sys; sys.exit(5 if sys.stdout is None else 6)"
    assert apart.run([sys.executable, "-c", program], stdout=apart.CLOSED).returncode == 5


def test_what_an_interpreter_heeds_as_it_starts_is_refused() -> None:
    with pytest.raises(AssertionError, match="would not heed"):
        apart.run([sys.executable, "-c", ""], env={**os.environ, "PYTHONHASHSEED": "7"})
