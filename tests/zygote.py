"""A clean interpreter that has imported hourglass and forks a process for each program it is given.

See :mod:`tests.apart`, which starts it. It has one thread, no database and no connection, and no
program runs in it, so each child begins as an interpreter of its own would after these imports.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import Any

#: What most programs import, and what takes them most of a second of their own.
IMPORTED = [
    "hourglass", "hourglass.cli", "hourglass.cli.mean", "hourglass.cli.serve", "hourglass.ask.run",
    "duckdb", "numpy", "pyarrow", "pyarrow.parquet", "rich.console", "rich.table", "rich.progress",
    "sqlglot", "sqlglot.optimizer", "sqlite3", "typer", "typer.rich_utils", "psycopg",
    "typer._adapters",
    "hourglass.serve.server", "uvicorn.protocols.http.h11_impl", "uvicorn.lifespan.on",
    "uvicorn.loops.asyncio",
]  # fmt: skip


def jobs(channel: socket.socket) -> dict[str, Any]:
    """Fork a child for each job, and report its id and how it ended; returns in each child."""
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # a byte to the pipe is all that it does
    reports: dict[int, int] = {}
    given = channel.fileno()
    while True:
        ready, _, _ = select.select([given, ended], [], [])
        if ended in ready:
            os.read(ended, 1 << 10)
            with suppress(ChildProcessError):
                while (found := os.waitpid(-1, os.WNOHANG))[0]:
                    tell(reports[found[0]], found[1])
                    os.close(reports.pop(found[0]))
        if given not in ready:
            continue
        message, passed, _, _ = socket.recv_fds(channel, 1 << 20, 4)
        if not message:  # whoever started it has ended
            raise SystemExit
        while not message.endswith(b"\n"):
            message += channel.recv(1 << 20)
        report, *streams = passed
        child = os.fork()
        if child == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            channel.close()
            for descriptor in (ended, wake, report, *reports.values()):
                os.close(descriptor)
            return placed(json.loads(message), *streams)
        tell(report, child)
        reports[child] = report
        for descriptor in streams:
            os.close(descriptor)


def tell(report: int, number: int) -> None:
    """Write a number for whoever gave the job, unless nobody reads it any more."""
    with suppress(OSError):
        os.write(report, b"%d\n" % number)


def placed(job: dict[str, Any], *streams: int) -> dict[str, Any]:
    """Take the streams, the folder and the environment of the job."""
    given = iter(streams)
    for descriptor in range(3):
        if descriptor in job["closed"]:
            os.close(descriptor)
        else:
            os.dup2(next(given), descriptor)
    for descriptor in streams:
        os.close(descriptor)
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["environment"])
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        stream = None if descriptor in job["closed"] else opened(descriptor, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    return job


def opened(descriptor: int, before: Any) -> Any:
    """A standard stream as the interpreter opens it when it starts."""
    mode = "w" if descriptor else "r"
    raw = open(descriptor, f"{mode}b", closefd=False)  # noqa: SIM115
    found: Any = io.TextIOWrapper(
        raw,
        encoding=before.encoding,
        errors=before.errors,
        newline="\n",
        line_buffering=descriptor == 2 or raw.isatty(),
    )
    found.mode = mode
    return found


def program(job: dict[str, Any]) -> dict[str, Any]:
    """Run ``-c code``, ``-m module`` or a script, as the interpreter runs it: as ``__main__``."""
    first, *words = job["words"]
    if first == "-c":
        code, *words = words
        sys.argv, sys.path[0] = ["-c", *words], ""
        space: dict[str, Any] = sys.modules["__main__"].__dict__
        kept = {name: space[name] for name in ("__name__", "__builtins__", "__spec__")}
        space.clear()
        space.update(kept)
        exec(compile(code, "<string>", "exec"), space)
    elif first == "-m":
        sys.argv, sys.path[0] = words, os.getcwd()
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = [first, *words], os.path.dirname(first)
        runpy.run_path(first, run_name="__main__")
    return job


def outcome(job: dict[str, Any]) -> int:
    """The exit code of the program; an error is shown as the interpreter shows it."""
    try:
        program(job)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        return -signal.SIGINT
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def end(code: int) -> None:
    """End as the interpreter does, except that it need not free what was imported.

    To free it takes a third of a second, most of it to copy the memory that is shared until then.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit.unregister(gc.unfreeze)
    atexit._run_exitfuncs()
    lost = not flushed()
    sys.modules["__main__"].__dict__.clear()
    gc.collect()
    if lost or not flushed():
        code = 120
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code)


def flushed() -> bool:
    """Write what is left in the standard streams; whether that was possible."""
    possible = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except Exception as error:
            possible = False
            with suppress(Exception):
                print(
                    f"Exception ignored in: {stream!r}\n{type(error).__name__}: {error}",
                    file=sys.stderr,
                )
    return possible


def forked() -> None:
    """Run one program to its end, in a child of this process."""
    job = jobs(socket.socket(fileno=int(sys.argv[1])))
    if job["whole"]:
        program(job)
    else:
        end(outcome(job))


def serve() -> None:
    """Import, and fork a process for each job."""
    for module in IMPORTED:
        with suppress(ImportError):
            importlib.import_module(module)
    if os.path.isdir("/proc/self/task") and len(os.listdir("/proc/self/task")) > 1:
        raise SystemExit("an import has started a thread, which no child would have")
    gc.freeze()  # a collection in a child would copy all of it
    atexit.register(gc.unfreeze)  # nanobind reports what is not collected at the end
    forked()


if __name__ == "__main__":
    importlib.import_module("zygote").serve()  # a program has the names of this module for its own
