"""All benchmarks, one after the other, at sizes for some minutes: python -m benchmarks [name ...]

Each of them alone, python -m benchmarks.engines, takes options for longer runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from . import core, engines, files, ledger, private_bounds

#: What runs, and with which arguments.
ALL: dict[str, tuple[Callable[[Sequence[str] | None], None], list[str]]] = {
    "core": (core.main, ["--rows", "20000000"]),
    "engines": (engines.main, ["--rows", "10000000", "--turns", "3"]),
    "files": (files.main, ["--turns", "5"]),
    "private_bounds": (private_bounds.main, ["--sets", "8", "--runs", "25", "--small"]),
    "ledger": (ledger.main, []),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(ALL))
    names = parser.parse_args().names or list(ALL)
    if unknown := [name for name in names if name not in ALL]:
        parser.error(f"{unknown[0]} is not one of {', '.join(ALL)}")
    for name in names:
        work, arguments = ALL[name]
        print(f"\n== {name} {' '.join(arguments)}".rstrip(), flush=True)
        work(arguments)


if __name__ == "__main__":
    main()
