"""What cutting a cell gains on the own grids of whole numbers: python -m benchmarks.parts

The worst-case error over sigma2, the least possible for real values: with whole cells, and with
the parts that are chosen (their number in brackets).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from hourglass.accuracy import sigma2
from hourglass.algorithms import HourglassMean
from hourglass.grid import Bounds, Grid
from hourglass.noise import Hourglass

CELLS: Final = (1, 2, 4, 6, 9, 10, 20, 100, 256)
EPSILONS: Final = ("1/2", "1", "2", "3", "4", "5", "6", "8")


def row(cells: int) -> list[str]:
    found = []
    for epsilon in map(Fraction, EPSILONS):
        best = sigma2(epsilon)
        whole = float(Hourglass(epsilon, cells).variance[0]) / cells**2 / best
        chosen = HourglassMean(epsilon, Grid(Bounds(0, cells), cells, own=True))
        cut = float(chosen.moments.cells) / best
        found.append(f"{whole:.3f}" + (f", {cut:.3f} ({chosen.parts})" if chosen.parts > 1 else ""))
    return found


def main() -> None:
    print("| cells | " + " | ".join(f"epsilon {epsilon}" for epsilon in EPSILONS) + " |")
    print("|---" * (len(EPSILONS) + 1) + "|")
    for cells in CELLS:
        print(f"| {cells} | " + " | ".join(row(cells)) + " |")


if __name__ == "__main__":
    main()
