"""How far a question walks through the code: files, functions, closures, calls back up.

    python -m benchmarks.walk

Each question is asked in a process of its own, and every call of a function of hourglass is
recorded. What is counted:

* files: source files with at least one function that was called;
* functions: functions that were called;
* closures: functions among them that are written inside another one, lambdas included;
* turns back: calls from a file into one that is already waiting further up the stack, with
  another file in between. A value that goes one way makes none.

What runs as a module is imported is not counted: it would run for any question that comes first.
Neither is the evaluation of annotations, which is a function of its own from Python 3.14 on.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import hourglass as hg

SOURCE = str(Path(hg.__file__).parent)
#: Code that is no function of its own.
PARTS = {"<module>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "__annotate__"}


class Walk:
    """What a profiler sees of the package while a question is answered."""

    def __init__(self) -> None:
        self.functions: set[CodeType] = set()
        self.turns: set[tuple[str, str]] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(SOURCE):
            return
        if code.co_name in PARTS:
            return
        callers = []
        above = frame.f_back
        while above is not None:
            if above.f_code.co_filename.startswith(SOURCE):
                if above.f_code.co_name == "<module>":
                    return
                callers.append(above.f_code.co_filename)
            above = above.f_back
        self.functions.add(code)
        if callers and code.co_filename != callers[0] and code.co_filename in callers:
            self.turns.add((callers[0], code.co_qualname))

    @property
    def files(self) -> set[str]:
        return {code.co_filename[len(SOURCE) + 1 :] for code in self.functions}

    @property
    def closures(self) -> set[str]:
        return {
            f"{code.co_filename[len(SOURCE) + 1 :]}: {code.co_qualname}"
            for code in self.functions
            if "<locals>" in code.co_qualname
        }


def walked(work: Callable[[], Any]) -> Walk:
    walk = Walk()
    sys.setprofile(walk)
    try:
        work()
    finally:
        sys.setprofile(None)
    return walk


def questions(folder: Path) -> dict[str, Callable[[], Any]]:
    import duckdb

    table = folder / "t.parquet"
    text = "SELECT random() AS x, CAST(range % 3 AS VARCHAR) AS g FROM range(1000)"
    duckdb.connect().sql(text).write_parquet(str(table))
    ledger = str(folder / "ledger.db")
    budget = hg.create_budget(ledger, "b", epsilon=1000)

    def command() -> None:
        from hourglass.cli import app

        words = f"mean {table} x --bounds 0 1 --epsilon 1 --by g --keys 0,1,2 --budget b --ledger"
        with redirect_stdout(io.StringIO()):
            app([*words.split(), ledger], standalone_mode=False)

    ask: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "by": "g", "keys": ["0", "1", "2"]}
    return {
        "hg.mean(parquet, by, keys, budget)": lambda: hg.mean(table, "x", budget=budget, **ask),
        "hg.find_bounds(parquet, budget)": lambda: hg.find_bounds(
            table, "x", epsilon=1, budget=budget
        ),
        "hg.mean(list)": lambda: hg.mean([1.0, 2.0], bounds=(0, 10), epsilon=1),
        "hourglass mean (command line)": command,
    }


def main() -> None:
    if len(sys.argv) == 1:
        print(f"{'question':<38}{'files':>7}{'functions':>11}{'closures':>10}{'turns back':>12}")
        for number in range(4):
            subprocess.run([sys.executable, __file__, str(number)], check=True)
        return
    with TemporaryDirectory() as folder:
        name, work = list(questions(Path(folder)).items())[int(sys.argv[1])]
        walk = walked(work)
    figures = f"{len(walk.files):>7}{len(walk.functions):>11}"
    print(f"{name:<38}{figures}{len(walk.closures):>10}{len(walk.turns):>12}")
    if "-v" in sys.argv:
        print(*sorted(walk.files), sep="\n")
        print(*(f"closure {text}" for text in sorted(walk.closures)), sep="\n")
        print(*(f"back {a[len(SOURCE) + 1 :]} -> {b}" for a, b in sorted(walk.turns)), sep="\n")


if __name__ == "__main__":
    main()
