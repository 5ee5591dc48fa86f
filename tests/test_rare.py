"""The search for tests that fail by chance finds one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.rare import DIGITS, MOST, Rare

ROOT = Path(__file__).parents[1]
#: In one run of six, the rare word decides how large the noise is, and makes it large.
INNER = """
import pytest
import hourglass as hg

@pytest.mark.parametrize("run", range(120))
@pytest.mark.parametrize("epsilon", [18, 60])
def test_a_count(epsilon, run):
    for _ in range(30):
        assert hg.mean([1.0] * 5, bounds=(0.0, 3.0), epsilon=epsilon).count == 5
"""


@pytest.mark.slow
def test_one_word_of_a_test_is_rare() -> None:
    """Catches: digits of another place, a second rare word, none at all."""
    plain = 0x5555_5555_5555_5555
    rare = Rare(lambda size: np.full(size, plain, dtype=np.uint64))
    assert set(rare.words(MOST).tolist()) == {plain}
    seen = set()
    for _ in range(200):
        rare.begin()
        words = [int(word) for _ in range(2000) for word in rare.words(3)]
        (found,) = (word for word in words if word != plain)
        seen.add(found >> 64 - DIGITS)
        assert (found ^ plain) % 2 ** (64 - DIGITS) == 0
    assert seen == {0, 2**DIGITS - 1}


@pytest.mark.slow
def test_a_test_that_fails_by_chance_is_found(tmp_path: Path) -> None:
    """The one whose epsilon is too small for what it asserts; by chance it is missed at 1e-6."""
    (tmp_path / "test_inner.py").write_text(INNER)
    words = ["-q", "-p", "no:cacheprovider", "-p", "tests.conftest", "--rare", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    failed = [line for line in run.stdout.splitlines() if line.startswith("FAILED")]
    assert failed
    assert all("[18-" in line for line in failed), run.stdout
