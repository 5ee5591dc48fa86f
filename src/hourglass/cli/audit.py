"""``hourglass audit``: try to break the privacy promise."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
import typer

from ..core.exact import exact_epsilon
from ..core.limits import DEFAULT_GRID, check_grid
from ..errors import OptionError
from ..mechanisms.base import ALGORITHMS
from ..release.rendering import text_table
from .delivery import Tick, progress
from .output import table_width

if TYPE_CHECKING:
    from ..audit import Finding, LowerBound, MutantRow
    from ..audit import Path as AuditPath

__all__ = ["audit"]

KINDS: Final = ("exact", "empirical", "greybox", "mutants", "all")
CHECKS: Final = ("exact", "sampler", "empirical", "grey box", "ledger")
#: The approximate number of checks, for the progress bar.
MUTANTS: Final = 44
#: The number of releases per side by default, and the least.
SAMPLES: Final = 1_000_000
FEWEST: Final = 100
#: The algorithm that answers several columns together.
COLUMNS: Final = "hourglass"
SMALL_GRIDS: Final = (1, 2, 3, 7, 16)


def audit(
    what: Annotated[str, typer.Argument(help="exact, empirical, greybox, mutants or all.")] = "all",
    epsilon: Annotated[str, typer.Option(help="The claimed epsilon.")] = "1",
    grid: Annotated[
        int | None,
        typer.Option(help="The number of steps of the grid; by default 2^32 and some small grids."),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            help="How often the empirical audit, and that of the mutants, releases each of two "
            "neighbouring datasets; by default a million, for the mutants at most 400,000. Half of "
            "these runs choose an event, the other half count it. Slow questions are run less "
            "often."
        ),
    ] = None,
    algorithm: Annotated[
        str, typer.Option(help=f"all, or one of {', '.join(ALGORITHMS)}.")
    ] = "hourglass",
    release: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="Audit this function of a list of numbers instead of hourglass (empirical audit "
            "only).",
        ),
    ] = None,
    data: Annotated[str, typer.Option(help="With --release: the dataset.")] = "0,0,0,0",
    neighbour: Annotated[
        str, typer.Option(help="With --release: the dataset with one record added or removed.")
    ] = "0,0,0,0,1",
    delta: Annotated[float, typer.Option(help="With --release: the delta that is claimed.")] = 0.0,
    format_: Annotated[str, typer.Option("--format", help="table or json.")] = "table",
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw a chart of the empirical audit to this .png, .svg or .pdf file."),
    ] = None,
) -> None:
    """Try to break the privacy promise; exit code 0 if it holds, 1 if it is broken.

    exact enumerates likelihood ratios and samplers, empirical bounds epsilon from below by
    sampling, greybox replays the same noise on neighbouring data, and mutants shows that
    these checks catch known mistakes.
    """
    if what not in KINDS:
        raise OptionError(f"{what!r} is not one of {', '.join(KINDS)}")
    if format_ not in ("table", "json"):
        raise OptionError(f"format={format_!r} is not one of table, json")
    if algorithm != "all" and algorithm not in ALGORITHMS:
        raise OptionError(f"algorithm={algorithm!r} is not one of all, {', '.join(ALGORITHMS)}")
    if release is not None and what != "empirical":
        raise OptionError(
            "--release works only with the empirical audit; use hourglass audit empirical"
        )
    if plot is not None and what not in ("empirical", "all"):
        raise OptionError(
            "--plot works only with the empirical audit; use hourglass audit empirical"
        )
    if samples is not None and what in ("exact", "greybox"):
        raise OptionError(
            f"--samples applies to sampling, and the {what} audit does none; leave it out, or use "
            "hourglass audit empirical"
        )
    size = SAMPLES if samples is None else samples
    if size < FEWEST:
        raise OptionError(f"samples={size} is too few to learn from; give {FEWEST} or more")
    exact = exact_epsilon(epsilon)
    grids = [check_grid(grid)] if grid is not None else [*SMALL_GRIDS, DEFAULT_GRID]
    names = list(ALGORITHMS) if algorithm == "all" else [algorithm]
    kinds = KINDS[:-1] if what == "all" else (what,)

    findings: list[Finding] = []
    rows: list[MutantRow] = []
    bounds: list[LowerBound] = []
    steps = {
        "exact": len(grids) * (len(names) + 2) + 20,
        "empirical": size * (2 if release else 4 * len(names) + 3),
        "mutants": MUTANTS,
    }
    with progress(steps) as tick:
        if "exact" in kinds:
            findings += _ticked(_exact(exact, grids, names), "exact", tick)
        if "empirical" in kinds:
            target = (
                _own(names, grids[-1]) if release is None else _foreign(release, data, neighbour)
            )
            findings += target(exact, size, delta, tick, bounds)
        if "greybox" in kinds:
            findings += _ticked(_greybox(exact, grid, names), "grey box", tick)
        if "mutants" in kinds:
            from ..audit import Bench, run_mutants

            rows = list(
                _ticked(run_mutants(Bench(exact, samples=min(size, 400_000))), "mutants", tick)
            )
    if plot is not None:
        from ..audit.plot import plot_bound

        worst = max(bounds, key=lambda bound: bound.epsilon)
        plot_bound(worst, float(exact), plot, release or algorithm)
    holds = all(f.holds for f in findings) and all(row.right for row in rows)
    _write(findings, rows, holds, format_)
    raise typer.Exit(0 if holds else 1)


def _exact(epsilon: Fraction, grids: list[int], names: list[str]) -> Iterator[Finding]:
    from ..audit.boxes import audit_boxes
    from ..audit.counts import audit_counts
    from ..audit.spreads import audit_spreads
    from ..audit.suite import audit_exact, audit_keys, audit_samplers

    yield from audit_exact(epsilon, grids, names)
    if COLUMNS in names:
        yield from audit_boxes(epsilon, grids)
        yield from audit_spreads(epsilon, grids)
        yield from audit_counts(epsilon)
    yield from audit_samplers()
    yield from audit_keys(epsilon)


def _greybox(epsilon: Fraction, grid: int | None, names: list[str]) -> Iterator[Finding]:
    from ..audit.columns import greybox_columns
    from ..audit.conditions import audit_conditions
    from ..audit.counts import greybox_counts
    from ..audit.paths import memory_paths, table_paths
    from ..audit.searches import audit_bounds, audit_groups
    from ..audit.spreads import greybox_spread
    from ..audit.suite import audit_around, audit_greybox

    with TemporaryDirectory() as folder:
        for name in names:
            if ALGORITHMS[name].adjacency == "add-remove":
                given = epsilon, (0.0, 10.0), grid
                yield from audit_greybox(memory_paths(*given, name))
                yield from audit_greybox(table_paths(*given, Path(folder), name))
        yield from audit_conditions(epsilon, Path(folder))
        yield from audit_greybox([_command_path(epsilon, (0.0, 10.0), grid, Path(folder))])
        if COLUMNS in names:
            yield from greybox_columns(epsilon, grid, Path(folder))
            yield greybox_spread(epsilon)
            yield from greybox_counts(epsilon, Path(folder))
        yield from audit_groups(epsilon, Path(folder))
        yield from audit_bounds(epsilon, Path(folder))
    yield from audit_around(epsilon)


def _command_path(
    epsilon: Fraction, bounds: tuple[float, float], grid: int | None, folder: Path
) -> AuditPath:
    """The command ``hourglass mean`` on a file, with the audit's source of bits."""
    from ..audit import Path as AuditPath
    from ..audit.paths import present
    from . import main

    ask = ["--bounds", str(bounds[0]), str(bounds[1]), "--epsilon", str(epsilon)]
    if grid is not None:
        ask += ["--grid", str(grid)]

    def run(values: Any, bits: Any) -> Any:
        file, printed = folder / "command.csv", io.StringIO()
        file.write_text("x\n" + "".join(f"{value}\n" for value in values))
        # On standard error is a hint that the column is text.
        with redirect_stdout(printed), redirect_stderr(io.StringIO()), suppress(SystemExit):
            main(["mean", str(file), "x", *ask, "--format", "json"], bits=bits)
        answer = json.loads(printed.getvalue())
        del answer["origin"]  # drop the time of writing, which differs between runs
        return answer

    return AuditPath("hourglass mean (command line)", run, counted=present)


Target = Callable[[Fraction, int, float, Tick, "list[LowerBound]"], "list[Finding]"]


def _own(names: list[str], grid: int) -> Target:
    def run(
        epsilon: Fraction, samples: int, delta: float, tick: Tick, bounds: list[LowerBound]
    ) -> list[Finding]:
        from ..audit.columns import empirical_columns
        from ..audit.spreads import empirical_spread
        from ..audit.suite import audit_empirical

        given: dict[str, Any] = {
            "samples": samples,
            "progress": lambda rows: tick("empirical", rows),
        }
        found: list[tuple[Finding, LowerBound]] = []
        for name in names:
            if ALGORITHMS[name].adjacency == "add-remove":
                found += audit_empirical(epsilon, grid, algorithm=name, **given)
        if COLUMNS in names:
            found += empirical_columns(epsilon, grid, **given)
            found += empirical_spread(epsilon, **given)
        bounds += (bound for _, bound in found)
        return [finding for finding, _ in found]

    return run


def _foreign(release: str, data: str, neighbour: str) -> Target:
    function = _told_apart(release, _loaded(release))
    sides = [_numbers(text) for text in (data, neighbour)]

    def run(
        epsilon: Fraction, samples: int, delta: float, tick: Tick, bounds: list[LowerBound]
    ) -> list[Finding]:
        from ..audit import empirical_finding, lower_bound, one_by_one

        bound = lower_bound(
            one_by_one(function),
            *sides,
            samples=samples,
            delta=delta,
            progress=lambda rows: tick("empirical", rows),
        )
        bounds.append(bound)
        return [empirical_finding(release, epsilon, bound)]

    return run


def _told_apart(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function, whose own errors are told from ours."""
    takes = "it takes a list of numbers, and returns a number or a tuple of numbers"

    def called(values: Any) -> Any:
        try:
            found = function(values)
        except Exception as error:
            raise OptionError(
                f"--release {name!r} failed with {type(error).__name__}; call it by itself to see "
                f"why: {takes}"
            ) from None
        for part in found if isinstance(found, tuple | list) else (found,):
            if not isinstance(part, int | float | np.number):
                raise OptionError(f"--release {name!r} returned a {type(part).__name__}; {takes}")
        return found

    return called


def _loaded(name: str) -> Callable[[Any], Any]:
    module, _, function = name.partition(":")
    sys.path.insert(0, "")
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError):
        raise OptionError(
            f"--release {name!r}: no such function can be imported; give MODULE:FUNCTION, with the "
            "module in this folder or installed"
        ) from None
    finally:
        sys.path.remove("")
    if not callable(found):
        raise OptionError(f"--release {name!r} is not a function; give MODULE:FUNCTION")
    result: Callable[[Any], Any] = found
    return result


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise OptionError(f"{text!r} is not a list of numbers; give them as 0,0.5,1") from None


def _ticked(found: Iterator[Any], name: str, tick: Tick) -> Iterator[Any]:
    for item in found:
        tick(name, 1)
        yield item


def _write(findings: list[Finding], rows: list[MutantRow], holds: bool, format_: str) -> None:
    if format_ == "json":
        answer: dict[str, Any] = {
            "verdict": "holds" if holds else "broken",
            "findings": [finding.to_dict() for finding in findings],
        }
        if rows:
            answer["mutants"] = [_row_dict(row) for row in rows]
        print(json.dumps(answer, indent=2))
        return
    if findings:
        table = [[f"{f.check}: {f.subject}", "holds" if f.holds else "BROKEN"] for f in findings]
        print(text_table(["check", "verdict"], table, width=table_width()))
        print()
        for finding in findings:
            print(f"{finding.subject}: {finding.detail}")
        print()
    if rows:
        head = ["mutant", *CHECKS, "as it should be"]
        print(text_table(head, [_row_cells(row) for row in rows], width=table_width()))
        print()
    print("The promise holds." if holds else "BROKEN: the promise does not hold.")


def _row_cells(row: MutantRow) -> list[str]:
    cells = []
    for check in CHECKS:
        finding = row.findings.get(check)
        cells.append("" if finding is None else "passed" if finding.holds else "caught")
    return [row.name, *cells, "yes" if row.right else "NO"]


def _row_dict(row: MutantRow) -> dict[str, Any]:
    return {
        "mutant": row.name,
        "caught": row.caught,
        "as_it_should_be": row.right,
        "findings": [finding.to_dict() for finding in row.findings.values()],
    }
