"""Programs in processes of their own, without the second that each spends on imports.

:func:`run` and :class:`Process` are used as ``subprocess.run`` and ``subprocess.Popen`` are, with
``sys.executable`` as the first word. The process is real, with its own streams, folder, environment
and exit code, but it is forked from an interpreter that has imported hourglass already, see
:mod:`tests.zygote`. What tests imports, options of the interpreter, or how it starts or ends, calls
``subprocess``.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from subprocess import CalledProcessError, CompletedProcess, TimeoutExpired
from types import TracebackType
from typing import IO, Any, Final

__all__ = ["CLOSED", "Process", "at_start", "run"]

#: A stream that is closed when the program starts.
CLOSED: Final = -100
_ZYGOTE: Final = Path(__file__).with_name("zygote.py")
_UNBUFFERED: Final = "PYTHONUNBUFFERED"
#: What the interpreter reads as it starts, so that a fork would not heed it.
_AT_START: Final = ("PYTHON", "LC_", "LANG")
#: Libraries that would start threads as they are imported: a child of the zygote has none of them.
_ONE_THREAD: Final = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


def _inherited() -> dict[str, str]:
    """The environment, with streams that are buffered, as is the default."""
    return {name: text for name, text in os.environ.items() if name != _UNBUFFERED}


def at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a fork would not heed."""
    return {name: text for name, text in environment.items() if name.startswith(_AT_START)}


@cache
def _zygote(process: int) -> socket.socket:
    """The channel to the zygote of this process, which ends with it."""
    ours, theirs = socket.socketpair()
    environment = {**_inherited(), **_ONE_THREAD}
    subprocess.Popen(
        [sys.executable, str(_ZYGOTE), str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=environment,
        cwd="/",
    ).returncode = 0  # it is not waited for
    theirs.close()
    atexit.register(ours.close)
    return ours


class Process:
    """A running program, with the part of ``subprocess.Popen`` that tests use."""

    def __init__(
        self,
        words: Sequence[str | Path],
        *,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        text: bool = False,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        whole: bool = False,
    ) -> None:
        self.args = [str(word) for word in words]
        assert self.args[0] == sys.executable
        environment = _inherited() if env is None else {**env}
        if environment.get(_UNBUFFERED) == os.environ.get(_UNBUFFERED):
            environment.pop(_UNBUFFERED, None)
        assert at_start(environment) == at_start(_inherited()), "a fork would not heed them"
        self.returncode: int | None = None
        self._text = text
        streams: list[Any] = [None] * 3
        given: list[int] = []
        passed: list[int] = []
        closed = []
        for number, wanted in enumerate((stdin, stdout, stderr)):
            if wanted == CLOSED:
                closed.append(number)
            elif wanted == subprocess.PIPE:
                reading, writing = os.pipe()
                ours, theirs = (reading, writing) if number else (writing, reading)
                mode = ("r" if number else "w") + ("" if text else "b")
                streams[number] = os.fdopen(ours, mode, 1 if text and not number else -1)
                given.append(theirs)
                passed.append(theirs)
            elif wanted == subprocess.DEVNULL:
                given.append(os.open(os.devnull, os.O_RDWR))
                passed.append(given[-1])
            elif wanted == subprocess.STDOUT:
                passed.append(passed[-1])
            else:
                passed.append(number if wanted is None else wanted)
        self.stdin: Any = streams[0]
        self.stdout: Any = streams[1]
        self.stderr: Any = streams[2]
        job = {
            "words": self.args[1:],
            "closed": closed,
            "folder": os.path.abspath(cwd or "."),
            "environment": environment,
            "whole": whole,
        }
        self._report, report = os.pipe()
        channel = _zygote(os.getpid())
        sent = json.dumps(job).encode() + b"\n"
        channel.sendall(sent[socket.send_fds(channel, [sent], [report, *passed]) :])
        for descriptor in (report, *given):
            os.close(descriptor)
        self._told = os.fdopen(self._report, "rb")
        self.pid = int(self._told.readline())

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit code."""
        code = self._ended(timeout)
        if code is None:
            raise TimeoutExpired(self.args, timeout or 0)
        return code

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._told, selectors.EVENT_READ)
                if selector.select(timeout):
                    self.returncode = os.waitstatus_to_exitcode(int(self._told.readline()))
                    self._told.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: str | bytes | None = None, timeout: float | None = None) -> Any:
        """Write to its input, read its outputs to their ends, and wait for it."""
        until = None if timeout is None else time.monotonic() + timeout
        if self.stdin is not None:
            with suppress(BrokenPipeError):  # it has ended, or does not read
                try:
                    if input:
                        self.stdin.write(input)
                finally:
                    self.stdin.close()
        found: dict[Any, list[bytes]] = {s: [] for s in (self.stdout, self.stderr) if s is not None}
        with selectors.DefaultSelector() as selector:
            for stream in found:
                if not stream.closed:
                    selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                left = None if until is None else until - time.monotonic()
                ready = selector.select(left)
                if not ready:
                    raise TimeoutExpired(self.args, timeout or 0)
                for key, _ in ready:
                    part = os.read(key.fd, 1 << 16)
                    found[key.fileobj].append(part)
                    if not part:
                        selector.unregister(key.fileobj)
        self.wait(None if until is None else max(0, until - time.monotonic()))
        return tuple(self._whole(stream, found) for stream in (self.stdout, self.stderr))

    def _whole(self, stream: IO[Any] | None, found: dict[Any, list[bytes]]) -> str | bytes | None:
        if stream is None:
            return None
        stream.close()
        whole = b"".join(found[stream])
        return whole.decode().replace("\r\n", "\n") if self._text else whole

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


def run(
    words: Sequence[str | Path],
    *,
    capture_output: bool = False,
    input: str | bytes | None = None,
    check: bool = False,
    timeout: float | None = None,
    **more: Any,
) -> CompletedProcess[Any]:
    """Run a program to its end."""
    if capture_output:
        more |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        more["stdin"] = subprocess.PIPE
    process = Process(words, **more)
    try:
        out, err = process.communicate(input, timeout)
    except BaseException:
        process.kill()
        raise
    assert process.returncode is not None
    if check and process.returncode:
        raise CalledProcessError(process.returncode, process.args, out, err)
    return CompletedProcess(process.args, process.returncode, out, err)
