"""One virtual environment a peer; a peer that does not install says why, and that is all."""

from __future__ import annotations

import importlib
import json
import os
import selectors
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
#: What every environment holds before anything is installed.
_BARE: Final = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "__pycache__")
_LOCKS: Final = {name: threading.Lock() for name in ("install",)}


def adapter(name: str) -> ModuleType:
    return importlib.import_module(f".adapters.{name}", __package__)


@dataclass(frozen=True)
class Environment:
    """Where a peer lives; ``failed`` is pip's message if it does not."""

    name: str
    python: Path
    version: str = ""
    megabytes: float = 0.0
    failed: str = ""


def installed(name: str, cache: Path, seconds: float) -> Environment:
    """The environment of a peer, made if it is not there yet."""
    module = adapter(name)
    folder = cache / getattr(module, "ENVIRONMENT", name)
    python = folder / "bin" / "python"
    specs = [spec.format(root=ROOT) for spec in module.INSTALL]
    stamp = folder / "installed.json"
    own = str(ROOT) in specs
    try:
        with _LOCKS.setdefault(folder.name, threading.Lock()):
            if not (stamp.exists() and json.loads(stamp.read_text()) == specs):
                _run([sys.executable, "-m", "venv", "--clear", str(folder)], seconds)
                _run([str(python), "-m", "pip", "install", "--quiet", *specs], seconds)
                stamp.write_text(json.dumps(specs))
            elif own and name == "ours":  # the code may have changed since
                again = ["--quiet", "--no-deps", "--force-reinstall", *specs]
                _run([str(python), "-m", "pip", "install", *again], seconds)
            asked = (
                f"from importlib.metadata import version as v; print(v({module.DISTRIBUTION!r}))"
            )
            version = _run([str(python), "-c", asked], seconds).strip()
    except (subprocess.SubprocessError, OSError) as error:
        return Environment(name, python, failed=_message(error))
    return Environment(name, python, version, _megabytes(folder))


def _run(command: list[str], seconds: float) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=True)
    return done.stdout


def _message(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not installed within {error.timeout:.0f} s"
    said = getattr(error, "stderr", None) or str(error)
    wrong = [line for line in said.splitlines() if line.upper().startswith("ERROR")]
    return (wrong or said.strip().splitlines() or ["no message"])[-1]


def _megabytes(folder: Path) -> float:
    (packages,) = folder.glob("lib/python*/site-packages")
    size = 0
    for entry in packages.iterdir():
        if entry.name.split("-")[0] in _BARE:
            continue
        files = [entry] if entry.is_file() else [p for p in entry.rglob("*") if p.is_file()]
        size += sum(path.stat().st_size for path in files)
    return size / 1e6


class PeerError(Exception):
    """A peer could not answer; the message is its own."""


class Process:
    """A worker in a peer's environment; one that is too slow is ended and started anew."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._start()

    def _start(self) -> None:
        hidden = {"PYTHONPATH", "VIRTUAL_ENV"}
        variables = {key: value for key, value in os.environ.items() if key not in hidden}
        self._process = subprocess.Popen(
            [str(self.environment.python), "-m", f"{__package__}.worker", self.environment.name],
            cwd=ROOT,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, question: str, seconds: float = 600.0, **details: Any) -> Any:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"ask": question, **details}) + "\n")
            process.stdin.flush()
        except OSError as error:
            self.restart()
            raise PeerError("the process ended") from error
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            if not ready.select(seconds):
                self.restart()
                raise PeerError(f"over {seconds:.0f} s")
        line = process.stdout.readline()
        if not line:
            self.restart()
            raise PeerError("the process ended")
        answer = json.loads(line)
        if "failed" in answer:
            raise PeerError(answer["failed"].splitlines()[0])
        return answer["found"]

    def restart(self) -> None:
        self.close()
        self._start()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
