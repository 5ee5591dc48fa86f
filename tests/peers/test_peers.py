"""The comparison's own machinery, with ours as the only library."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.peers import measure, report
from benchmarks.peers.adapters import NAMES
from benchmarks.peers.environments import Environment, PeerError, Process, adapter

import hourglass as hg

OURS = Environment("ours", Path(sys.executable), "0.1.0", 1.0)


@pytest.fixture
def process() -> Iterator[Process]:
    started = Process(OURS)
    yield started
    started.close()


def test_every_adapter_says_what_it_is_without_its_library() -> None:
    for name in NAMES:
        module = adapter(name)
        for word in ("TITLE", "DISTRIBUTION", "MODULE", "CALL", "RETURNS", "NOTE"):
            assert isinstance(getattr(module, word), str)
        assert module.INSTALL
        assert module.ADJACENCY in ("add-remove", "swap", "none")
        for call in ("column", "release", "repeat"):
            assert callable(getattr(module, call))


def test_the_error_is_that_of_the_mechanism(process: Process) -> None:
    """3,000 runs: a standard error of about 3 %; 20 % off would be six of them."""
    found = process.ask(
        "accuracy", kind="real", rows=1000, mean=0.5, bounds=(0, 1), epsilon=1.0,
        runs=3000, limit=60.0,
    )  # fmt: skip
    assert found["runs"] == 3000
    ratio = found["mse"] * 1000**2 / hg.accuracy.sigma2(1)
    assert ratio == pytest.approx(0.5, rel=0.2)
    assert found["error"] / found["mse"] < 0.06


def test_an_error_is_told_and_the_worker_lives_on(process: Process) -> None:
    with pytest.raises(PeerError, match="KeyError"):
        process.ask("time", rows=17)
    process.ask("hold", rows=17)
    assert process.ask("time", rows=17) > 0


def test_who_is_too_slow_is_given_up(process: Process) -> None:
    with pytest.raises(PeerError, match=r"over 0 s"):
        process.ask("load", seconds=0.001)
    assert process.ask("load") > 0


def test_the_page_is_made_of_the_results() -> None:
    accuracy = measure.accuracy(OURS, runs=20, seconds=0.05, minutes=1.0)
    results = {
        "date": "2026-01-01",
        "machine": "a machine",
        "asked": {"runs": 20, "seconds": 0.05, "minutes": 1.0, "turns": 1},
        "patience": 60.0,
        "peers": {
            "ours": {"version": "0.1.0", "megabytes": 1.0, "failed": ""},
            "opendp": {"version": "", "megabytes": 0.0, "failed": "ERROR: no such release"},
        },
        "accuracy": {"ours": accuracy},
        "speed": {"ours": {"one release, n = 1,000": 0.001}},
        "behaviour": {"ours": measure.behaviour(OURS, 60.0)},
    }
    page = report.page(results)
    assert "did not install: ERROR: no such release" in page
    assert "BoundsError: bounds are missing" in page
    for cell in measure.CELLS:
        assert cell.title[1:] in page
