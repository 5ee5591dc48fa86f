"""Write the files beside this one; run it with the code of version 0.1.0 alone.

    PYTHONPATH=<a checkout of 0.1.0>/src python tests/release/old/make.py

Each case holds what ``to_dict`` stored and what that version printed. The files are never written
again: every later version must read them and print the same.
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

import hourglass as hg

HERE = Path(__file__).parent
ROWS = 1200
DATES = [date(2024, 2, 29), date(1970, 1, 1), None]
FRAME = pa.table(
    {
        "x": [float(i % 10) + 0.25 for i in range(ROWS)],
        "i": [i % 7 for i in range(ROWS)],
        "g": [("n", "s", None, 'é, "q"\n')[i % 4] for i in range(ROWS)],
        "d": [DATES[i % 3] for i in range(ROWS)],
        "b": [i % 2 == 0 for i in range(ROWS)],
        "k": [2**60 + i % 3 for i in range(ROWS)],
        "p": [i // 3 for i in range(ROWS)],
        "mean": [("n", "s")[i % 2] for i in range(ROWS)],
        "count": [i % 2 for i in range(ROWS)],
    }
)
LOW = FRAME.rename_columns(["mean_low" if name == "g" else name for name in FRAME.column_names])
ALGORITHMS = ("hourglass", "staircase", "laplace", "shifted", "independent", "swap")


def asked(column: str, **options: Any) -> Any:
    settings: dict[str, Any] = {"bounds": (-1, 12.5), "epsilon": "0.7"}
    return hg.mean(FRAME, column, bits=hg.SeededBits(len(str(options))), **(settings | options))


def said(release: hg.Release) -> dict[str, Any]:
    return {
        "mean": release.mean,
        "sum": release.sum,
        "count": release.count,
        "expected_error": release.expected_error,
        "intervals": {
            of: [[sure, *release.interval(sure, of=of)] for sure in (0.5, 0.95)]
            for of in ("mean", "sum", "count")
        },
        "bounds": list(release.bounds),
        "origin": release.bounds.origin,
        "epsilon": str(release.epsilon),
        "delta": str(release.delta),
        "grid": release.grid,
        "algorithm": release.algorithm,
        "estimator": release.estimator,
        "adjacency": release.adjacency,
        "unit": release.unit,
        "private": release.private,
    }


def one(release: hg.Release) -> dict[str, Any]:
    return {"stored": release.to_dict(), "said": said(release)}


def many(releases: hg.Releases, confidence: float | None = None) -> dict[str, Any]:
    stored = releases.to_dict(confidence)
    return {
        "stored": stored,
        "by": list(releases.by),
        "threshold": releases.threshold,
        "groups": hg.Releases.from_dict(json.loads(json.dumps(stored))).groups,
        "said": [said(release) for release in releases.values()],
    }


def cases() -> dict[str, dict[str, Any]]:
    person = hg.per_person("p", rows=2)
    found = hg.find_bounds(FRAME, "x", epsilon="0.3", bits=hg.SeededBits(3))
    keys = [("n", True), (None, False), ('é, "q"\n', True), ("absent", False)]
    return {
        "one": {
            **{f"{name}, integers": one(asked("i", algorithm=name, bounds=(0, 7)))
               for name in ALGORITHMS},
            **{f"{name}, reals": one(asked("x", algorithm=name)) for name in ALGORITHMS},
            **{f"{name}, {column}": one(asked(column, estimator=name, bounds=(0, 12)))
               for name in ("ratio", "posterior", "jeffreys") for column in "xi"},
            "ratio, laplace": one(asked("x", estimator="ratio", algorithm="laplace")),
            "wide bounds": one(asked("x", bounds=(-1.5e308, 1.7e308))),
            "bounds past 2^53": one(asked("k", bounds=(2**60, 2**60 + 9))),
            "grid": one(asked("x", grid=100)),
            "epsilon of thirds": one(asked("x", epsilon="1/3")),
            "person, once": one(asked("x", unit=hg.per_person("p"))),
            "person, two rows": one(asked("i", unit=person, bounds=(0, 7))),
            "found bounds": one(asked("x", bounds=found)),
            "few records": one(hg.mean([1.0], bounds=(0, 9), epsilon="0.01",
                                       bits=hg.SeededBits(5))),
        },
        "many": {
            **{f"{name}, public text": many(asked("x", by="g", keys=["s", "n", "none"],
                                                  algorithm=name))
               for name in ALGORITHMS if name != "swap"},
            **{f"{name}, public numbers": many(asked("i", by="k", keys=[2**60, 2**60 + 2],
                                                     estimator=name, bounds=(0, 7)))
               for name in ("projected", "ratio", "posterior", "jeffreys")},
            "secret text": many(asked("x", by="g", delta="1e-6")),
            "secret dates and truths": many(asked("x", by=["d", "b"], delta="1e-6"), 0.9),
            "secret, none shown": many(asked("x", by="g", delta="1e-300", epsilon="0.01")),
            "public, two columns": many(asked("x", by=["g", "b"], keys=keys), 0.95),
            "public dates, with NULL": many(asked("x", by="d", keys=DATES)),
            "persons": many(asked("i", by="b", keys=[True, False], bounds=(0, 7),
                                  unit=hg.per_person("p", rows=2, groups=2))),
            "secret, persons": many(asked("x", by="k", delta="1e-6", unit=person)),
            "mean_low, not written over": many(
                hg.mean(LOW, "x", bounds=(0, 10), epsilon=1,
                        by="mean_low", keys=["n", "s"], bits=hg.SeededBits(1))),
        },
        "overwritten": {
            "mean": many(asked("x", by="mean", keys=["n", "s"])),
            "count": many(asked("x", by=["g", "count"], delta="1e-6")),
            "mean_low": many(
                hg.mean(LOW, "x", bounds=(0, 10), epsilon=1,
                        by="mean_low", keys=["n", "s"], bits=hg.SeededBits(1)), 0.9),
        },
        "bounds": {
            "rows": {"stored": found.to_dict(), "said": str(found)},
            "persons": {"stored": (other := hg.find_bounds(
                FRAME, "i", epsilon=2, unit=person, scale=[0, 2, 4, 8], bits=hg.SeededBits(4)
            )).to_dict(), "said": str(other)},
        },
    }  # fmt: skip


if __name__ == "__main__":
    assert hg.__version__ == "0.1.0"
    for name, written in cases().items():
        text = json.dumps(written, indent=1, ensure_ascii=True)
        (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")
