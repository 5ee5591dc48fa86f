"""Ctrl-C while the command is still being imported: exit code 130, and nothing is printed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: The console script, interrupted when the package named by the first argument is imported.
PROGRAM = """
import os, signal, sys, time
package = sys.argv.pop(1)
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == package:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
sys.meta_path.insert(0, Interrupting())
from hourglass_command import main
main()
"""


def interrupted(
    package: str, *words: str, ignored: bool = False
) -> subprocess.CompletedProcess[str]:
    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    return subprocess.run(
        [sys.executable, "-c", PROGRAM, package, *words],
        capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        preexec_fn=ignore if ignored else None,
    )  # fmt: skip


@pytest.mark.parametrize("package", ["hourglass", "numpy", "hourglass.cli", "typer"])
def test_an_interrupt_while_importing_is_quiet(package: str) -> None:
    found = interrupted(package, "--version")
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "")


def test_an_ignored_interrupt_stays_ignored() -> None:
    """As for a command in the background of a shell."""
    found = interrupted("hourglass", "--version", ignored=True)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("hourglass ")


def test_the_console_script_is_this_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["scripts"]["hourglass"] == "hourglass_command:main"
    assert project["tool"]["setuptools"]["py-modules"] == ["hourglass_command"]
