"""What cutting a cell gains on the own grids of whole numbers: python -m benchmarks.parts

The worst-case error over sigma2, the least possible for real values: with whole cells, and with
the parts that are chosen (their number in brackets).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from typing import Final

from hourglass.core.limits import Bounds, Grid
from hourglass.estimate.accuracy import sigma2
from hourglass.mechanisms.base import COARSE, HourglassMean
from hourglass.noise import Hourglass

CELLS: Final = (1, 2, 4, 6, 9, 10, 20, 100, 256)
EPSILONS: Final = ("1/2", "1", "2", "3", "7/2", "4", "5", "6", "8")


def row(cells: int) -> list[str]:
    found = []
    for epsilon in map(Fraction, EPSILONS):
        best = sigma2(epsilon)
        whole = float(Hourglass(epsilon, cells).variance[0]) / cells**2 / best
        chosen = own(epsilon, cells)
        cut = float(chosen.moments.cells) / best
        found.append(f"{whole:.3f}" + (f", {cut:.3f} ({chosen.parts})" if chosen.parts > 1 else ""))
    return found


def main() -> None:
    print("| cells | " + " | ".join(f"epsilon {epsilon}" for epsilon in EPSILONS) + " |")
    print("|---" * (len(EPSILONS) + 1) + "|")
    for cells in CELLS:
        print(f"| {cells} | " + " | ".join(row(cells)) + " |")
    quarters = [Fraction(i, 4) for i in range(1, 33)]
    print(f"1 to 64 cells, up to epsilon 8: at most {worst(range(1, 65), quarters):.4f}")
    large = range(COARSE + 1, 4 * COARSE, 37)
    print(
        f"some grids of more than {COARSE}: at most {worst(large, quarters):.4f} up to epsilon 8,"
    )
    print(f"and {worst(large, map(Fraction, range(9, 17))):.3f} from 9 to 16")


def worst(grids: Iterable[int], epsilons: Iterable[Fraction]) -> float:
    """The largest error over sigma2, as it is drawn."""
    return max(
        float(own(epsilon, cells).moments.cells) / sigma2(epsilon)
        for cells, epsilon in product(grids, epsilons)
    )


def own(epsilon: Fraction, cells: int) -> HourglassMean:
    return HourglassMean(epsilon, Grid(Bounds(0, cells), cells, own=True))


if __name__ == "__main__":
    main()
