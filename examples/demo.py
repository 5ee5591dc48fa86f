"""What ``make demo`` shows: private means of a real file, by group, in a table and a chart."""

from __future__ import annotations

from pathlib import Path

import hourglass as hg

HERE = Path(__file__).parent
VISITS = HERE / "visits.parquet"
CHART = HERE / "visits-by-health.png"
EPSILON = "1"


def main() -> None:
    print(
        "20,190 person-years of a health insurance experiment (public domain; see "
        "examples/README.md).\nHow often do people see a physician, by how they rate their own "
        f"health? One answer, epsilon = {EPSILON}:\n"
    )
    answers = hg.mean(
        VISITS,
        "visits",
        bounds=(0, 40),
        epsilon=EPSILON,
        by="health",
        keys=["excellent", "good", "fair", "poor"],
    )
    print(answers)

    poor = answers["poor"]
    errors = hg.accuracy.compare(poor.count, (0, 40), EPSILON, mean=poor.mean, grid=40)
    print("\nThe expected error of each algorithm of the paper on the smallest group:\n")
    print("algorithm      error  squared, hourglass = 1")
    for name, error in errors.items():
        note = "  (the number of records is public)" if name == "swap" else ""
        print(f"{name:<11}  {error:>7.3f}  {(error / errors['hourglass']) ** 2:>22.2f}{note}")

    answers.plot(CHART, title="Visits to a physician by self-rated health")
    print(f"\nA chart of the answers: {CHART.relative_to(Path.cwd())}")
    print(f"\nThe statement that goes with them:\n{answers.statement().words}")


if __name__ == "__main__":
    main()
