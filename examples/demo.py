"""What ``make demo`` shows: private means of a real file, by group, in a table and a chart."""

from __future__ import annotations

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import hourglass as hg

HERE = Path(__file__).parent
VISITS = HERE / "visits.parquet"
CHART = HERE / "visits-by-health.png"
EPSILON = "1"


def main() -> None:
    console = Console(highlight=False)
    console.print(
        "[bold]20,190 person-years of a health insurance experiment[/bold] (public domain; see "
        "examples/README.md)\nHow often do people see a physician, by how they rate their own "
        f"health? One answer, epsilon = {EPSILON}.\n"
    )
    answers = hg.mean(
        VISITS,
        "visits",
        bounds=(0, 40),
        epsilon=EPSILON,
        by="health",
        keys=["excellent", "good", "fair", "poor"],
    )
    title = "Private means, sums and counts, with exact 95 % intervals"
    table = Table("health", title=title, box=SIMPLE_HEAD)
    for head in ("mean visits", "interval", "sum of visits", "people"):
        table.add_column(head, justify="right", no_wrap=True)
    for health, release in answers.items():
        low, high = release.interval()
        table.add_row(
            health,
            f"{release.mean:.2f}",
            f"{low:.2f} – {high:.2f}",
            f"{release.sum:,.0f} ± {release.interval(of='sum').high - release.sum:,.0f}",
            f"{release.count:,} ± {release.interval(of='count').high - release.count:,}",
        )
    console.print(table)

    poor = answers["poor"]
    errors = hg.accuracy.compare(poor.count, (0, 40), EPSILON, mean=poor.mean, grid=40)
    title = "What each algorithm of the paper risks on the smallest group"
    rivals = Table("algorithm", title=title, box=SIMPLE_HEAD)
    rivals.add_column("expected error", justify="right")
    rivals.add_column("squared, hourglass = 1", justify="right")
    for name, error in errors.items():
        note = " (public size)" if name == "swap" else ""
        ratio = (error / errors["hourglass"]) ** 2
        rivals.add_row(f"{name}{note}", f"{error:.3f}", f"{ratio:.2f}")
    console.print(rivals)

    answers.plot(CHART, title="Visits to a physician by self-rated health")
    console.print(f"A chart of it: {CHART.relative_to(Path.cwd())}")
    console.print("\nThe claim that goes with it:\n", answers.statement().words, sep="")


if __name__ == "__main__":
    main()
