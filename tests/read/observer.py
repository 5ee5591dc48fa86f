"""Everything observable about a question except its noise, and how far neighbours may differ."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hourglass as hg
from hourglass.core.limits import Unit
from hourglass.read.database import SqlSource
from tests.tools import command

LOWER, UPPER = 0, 100
#: The least epsilon a record that is asked with.
EPSILON = 50
#: Sums closer than this are equal, and sums of squares closer than ``UPPER`` times this: clean
#: cells are whole numbers. At an epsilon of 50 a record (of 60 for several columns and for the
#: spread) the noise on a sum stays below half of this, and that on a count is zero, except with a
#: probability below 1e-12 for each group of an answer (``test_the_tolerance_on_sums`` computes it
#: exactly). The long form looks at fewer than 1e6 groups: the chance of any false alarm is below
#: 1e-6.
NOISE = 1e-3


@dataclass
class Question:
    """What is asked, and how many records and groups one unit can touch."""

    name: str
    options: dict[str, Any]
    each: int = 1
    person: bool = False
    bounds_only: bool = False
    #: Several columns that are answered together.
    columns: tuple[str, ...] = ()
    #: Rows or persons are counted, and no column is read.
    counts: bool = False

    @property
    def spans(self) -> tuple[int, ...]:
        """The most that a record can move each of the sums by."""
        if self.counts:
            return ()
        if self.options.get("spread"):
            return UPPER, UPPER**2
        if self.options.get("outside"):
            return UPPER, 1, 1
        return (UPPER,) * (len(self.columns) or 1)


@dataclass
class Seen:
    """Everything that the adversary sees."""

    error: str = ""
    code: int = 0
    shape: str = ""
    output: str = ""
    logged: list[str] = field(default_factory=list)
    charged: tuple[Any, ...] = ()
    left: list[str] = field(default_factory=list)
    threshold: int = 0
    #: The count of each group, and its sums.
    groups: Mapping[Any, tuple[float, ...]] = field(default_factory=dict)

    def besides(self) -> tuple[Any, ...]:
        shown = self.error, self.code, self.output, self.logged
        return *shown, self.charged, self.left, self.threshold


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(f"{record.name} {record.levelname} {record.getMessage()}")


@contextmanager
def _streams(seen: Seen, folder: Path) -> Iterator[None]:
    """Capture both standard streams, including what engines write outside Python."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile(dir=folder) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
            os.close(kept[0])
            os.close(kept[1])
            file.seek(0)
            seen.output = file.read().decode(errors="replace")


#: A way to ask: fills in what is seen of the answer.
Ask = Callable[[Seen, Any, Question, hg.Budget, str | None], None]


def observe(
    data: Any, question: Question, budget: hg.Budget, folder: Path, engine: str | None, ask: Ask
) -> Seen:
    """Ask, and record everything observable. ``folder`` is for temporary files."""
    seen, records = Seen(), _Records()
    before, entries, files = budget.balance(), len(budget.history()), set(folder.rglob("*"))
    logging.getLogger().addHandler(records)
    try:
        with _streams(seen, folder.parent), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            # Spark 4.0 leaves its sockets to the garbage collector; they have random numbers.
            warnings.filterwarnings("ignore", "unclosed <socket", ResourceWarning)
            ask(seen, data, question, budget, engine)
    finally:
        logging.getLogger().removeHandler(records)
    seen.logged = records.kept + [f"{w.category.__name__}: {w.message}" for w in warned]
    after = budget.balance()
    seen.charged = (
        after.spent.epsilon - before.spent.epsilon,
        after.spent.delta - before.spent.delta,
        len(budget.history()) - entries,
    )
    seen.left = sorted(_file(path) for path in folder.rglob("*") if path not in files)
    return seen


def _file(path: Path) -> str:
    """What a new file or folder shows, except for its random name."""
    return f"{path.suffix} {path.stat().st_size if path.is_file() else 'folder'}"


def in_python(
    seen: Seen, data: Any, question: Question, budget: hg.Budget, engine: str | None
) -> None:
    """Ask by ``hg.mean`` or ``hg.find_bounds``."""
    more = dict(question.options, budget=budget)
    if engine:
        more["engine"] = engine
    try:
        if question.bounds_only:
            found = hg.find_bounds(data, "x", **more)
            seen.shape = type(found).__name__
        elif question.counts:
            _note_counts(seen, hg.count(data, **more))
        else:
            asked = list(question.columns) or "x"
            _note(seen, hg.mean(data, asked, bounds=(LOWER, UPPER), **more))
    except Exception as error:
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        seen.error = f"{type(error).__name__}: {error} (from {cause!r})"


def _note(seen: Seen, answer: hg.Release | hg.Releases | hg.Columns) -> None:
    """What an answer says."""
    if isinstance(answer, hg.Columns):
        parts = [answer.column(name) for name in answer.names]
        each = [
            {(): part} if isinstance(part, hg.Release) else dict(part.items()) for part in parts
        ]
        seen.groups = {
            key: (one.count, *(part[key].sum for part in each)) for key, one in each[0].items()
        }
    elif isinstance(answer, hg.Release):
        seen.groups = {(): _figures(answer)}
    else:
        seen.groups = {key: _figures(one) for key, one in answer.items()}
    if not isinstance(answer, hg.Release):
        seen.threshold = answer.threshold or 0
    grids = [part.grid for part in parts] if isinstance(answer, hg.Columns) else answer.grid
    seen.shape = str((type(answer).__name__, grids, answer.to_arrow().schema))


def _note_counts(seen: Seen, answer: hg.Count | hg.Counts) -> None:
    if isinstance(answer, hg.Count):
        seen.groups = {(): (answer.count,)}
    else:
        seen.groups = {key: (one.count,) for key, one in answer.items()}
        seen.threshold = answer.threshold or 0
    seen.shape = str((type(answer).__name__, answer.to_arrow().schema))


def _figures(one: hg.Release) -> tuple[float, ...]:
    """The count, the sum and, with the spread, the sum of squares; or what lies outside."""
    noisy = one.noisy_totals
    if noisy.below is not None:
        return one.count, one.sum, noisy.below, noisy.above
    if noisy.squares is None:
        return one.count, one.sum
    return one.count, one.sum, 2 * noisy.squares / (noisy.parts * noisy.grid) * UPPER**2


# --- the command ----------------------------------------------------------------------------


def through_command(ledger: str) -> Ask:
    """Ask by ``hourglass mean`` or ``hourglass bounds``, which charge the budget in ``ledger``."""

    def ask(
        seen: Seen, data: Any, question: Question, budget: hg.Budget, engine: str | None
    ) -> None:
        asked = words(data, question, engine)
        told = command(*asked, "--budget", budget.name, "--ledger", ledger, "--format", "json")
        seen.code = told.code
        print(_unnumbered(told.err), file=sys.stderr)
        if told.code:
            seen.error = _unnumbered(told.err)
            return
        found = json.loads(told.out)
        seen.shape = str(sorted(found))
        if question.counts:
            counted: Any = hg.Counts if question.options.get("by") else hg.Count
            _note_counts(seen, counted.from_dict(found))
        elif not question.bounds_only:
            kind: Any = hg.Releases if question.options.get("by") else hg.Release
            _note(seen, (hg.Columns if len(question.columns) > 1 else kind).from_dict(found))

    return ask


def words(data: Any, question: Question, engine: str | None) -> list[str]:
    """A question as the words of a command."""
    found = ["bounds"] if question.bounds_only else ["count"] if question.counts else ["mean"]
    columns = () if question.counts else question.columns or ("x",)
    if isinstance(data, SqlSource):
        found += [data.url, *columns, "--table", data.relation.replace('"', "")]
    else:
        found += [str(data), *columns]
    if not question.bounds_only and not question.counts:
        found += ["--bounds", str(LOWER), str(UPPER)]
    if engine:
        found += ["--engine", engine]
    for name, value in question.options.items():
        if isinstance(value, Unit):
            found += ["--person", str(value.person)]
            found += [] if value.rows is None else ["--rows", str(value.rows)]
            found += ["--groups", str(value.groups)] if value.groups > 1 else []
        elif isinstance(value, list):
            found += [f"--{name}", ",".join(map(str, value))]
        elif isinstance(value, dict):
            found += [word for pair in value.items() for word in (f"--{name}-of", *map(str, pair))]
        elif value is True:
            found.append(f"--{name}")
        else:
            found += [f"--{name}", str(value)]
    return found


def _unnumbered(text: str) -> str:
    """A message without the number of its charge."""
    return re.sub(r"charge-\d+", "charge-N", text)


# --- what may differ ------------------------------------------------------------------------


def complaints(
    base: Seen, other: Seen, question: Question, *, added: int, gone: int, clean: list[str]
) -> list[str]:
    """Differences between neighbours beyond the ``added`` records and the ``gone`` ones.

    ``clean`` names the groups that must be equal, since none of their records changed.
    """
    found = [f"failed: {one.error[:300]}" for one in (base, other) if one.error]
    if base.besides() != other.besides():
        found.append(f"seen besides: {base.besides()} and {other.besides()}"[:600])
    if not found and base.shape != other.shape:
        found.append(f"shape: {base.shape} and {other.shape}")
    if found or question.bounds_only:
        return found
    return _moved(base, other, question, added, gone, clean)


def _moved(
    base: Seen, other: Seen, question: Question, added: int, gone: int, clean: list[str]
) -> list[str]:
    found = []
    units = added + gone
    limit = question.each * units * (2 if question.person else 1)
    tolerances = [NOISE * span / UPPER for span in question.spans]
    count, touched = 0.0, 0
    for key in [*base.groups, *(key for key in other.groups if key not in base.groups)]:
        hidden = max(base.threshold - 1, 0), *(0.0 for _ in tolerances)
        (n, *s), (m, *t) = base.groups.get(key, hidden), other.groups.get(key, hidden)
        both = key in base.groups and key in other.groups
        moves = [abs(one - two) for one, two in zip(s, t, strict=True)]
        still = all(move < far for move, far in zip(moves, tolerances, strict=True))
        if n == m and (still or not both):
            continue
        touched, count = touched + 1, count + abs(n - m)
        name = key[0] if isinstance(key, tuple) and key else key
        if name in clean:
            found.append(f"group {name!r} was not touched: {n}, {s} and {m}, {t}")
        most = [limit * span + far for span, far in zip(question.spans, tolerances, strict=True)]
        if both and any(move > far for move, far in zip(moves, most, strict=True)):
            found.append(f"sums of {name!r}: {s} and {t}"[:300])
        if not question.person and not -gone <= m - n <= added:
            found.append(f"count of {str(name)[:50]!r}: {n} and {m}")
    if count > limit or touched > limit:
        found.append(f"{touched} groups and {count} counts moved, at most {limit} may")
    kept = [key for key in base.groups if key in other.groups]
    if kept != [key for key in other.groups if key in base.groups]:
        found.append("the order of the groups changed")
    return found
