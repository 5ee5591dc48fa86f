"""The command, in this process or in one of its own."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unittest.mock import patch

from hourglass.cli import main
from tests import apart

__all__ = ["ASK", "run", "spawn"]

ASK = ["--bounds", "0", "9", "--epsilon", "1"]


def run(*words: str | Path, encoding: str = "utf-8") -> CompletedProcess[str]:
    """The command in this process, its streams as real as those of a pipe."""
    told = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
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
    """The command in a process of its own; ``shell`` redirects streams, as in a command line.

    Its streams are buffered, as is the default.
    """
    line = [sys.executable, "-c", "from hourglass.cli import main; main()", *words]
    streams = {"1": stdout, "2": subprocess.PIPE}
    redirected = re.findall(r"([12]?)> ?(\S+)", shell)
    for number, target in redirected:
        opened = apart.CLOSED if target == "&-" else os.open(target, os.O_WRONLY)
        streams[number or "1"] = opened
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    options: dict[str, Any] = {
        "stdout": streams["1"],
        "stderr": streams["2"],
        "timeout": 120,
        "env": {**inherited, **environment},
    }
    heeded = apart.at_start(environment)
    found: CompletedProcess[bytes] = (subprocess if heeded else apart).run(line, **options)
    for number, target in redirected:
        if target != "&-":
            os.close(streams[number or "1"])
    # As a shell's pipe would be read: nothing, if it leads elsewhere.
    return CompletedProcess(found.args, found.returncode, found.stdout or b"", found.stderr or b"")
