"""The command, in this process or in one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unittest.mock import patch

from hourglass.cli import main

__all__ = ["ASK", "run", "spawn"]

ASK = ["--bounds", "0", "9", "--epsilon", "1"]


def run(*words: str | Path) -> CompletedProcess[str]:
    """The command in this process, its streams as real as those of a pipe."""
    told = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    typed = ["hourglass", *map(str, words)]
    code: Any = 0
    with (
        patch.object(sys, "argv", typed),
        patch.dict(os.environ, {"COLUMNS": "200", "NO_COLOR": "1"}),
        redirect_stdout(told[0]),
        redirect_stderr(told[1]),
    ):
        try:
            main()
        except SystemExit as error:
            code = error.code or 0
    printed = []
    for stream in told:
        stream.flush()
        printed.append(stream.buffer.getvalue().decode())
    return CompletedProcess(typed, code, *printed)


def spawn(
    *words: str | Path, shell: str = "", stdout: int = subprocess.PIPE, **environment: str
) -> CompletedProcess[bytes]:
    """The command in a process of its own; ``shell`` is appended to the command line.

    Its streams are buffered, as is the default.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    line = f'"$0" -c "from hourglass.cli import main; main()" "$@" {shell}'
    return subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, *map(str, words)],
        stdout=stdout, stderr=subprocess.PIPE, check=False, timeout=120,
        env={**inherited, **environment},
    )  # fmt: skip
