"""Scales, and counts that stay secret."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hourglass.core.limits import Counts, Scale

pytestmark = pytest.mark.property


def test_the_default_scales_are_symmetric_and_public() -> None:
    for integers in (False, True):
        scale = Scale.of(None, integers=integers)
        assert scale.candidates[scale.pivot] == 0
        assert [-c for c in reversed(scale.candidates)] == list(scale.candidates)
        assert scale.candidates[-1] == 2**64
    positive = [c for c in Scale.of(None).candidates if c > 0]
    ratios = {round(b / a, 9) for a, b in pairwise(positive)}
    assert ratios == {round(2**0.25, 9)}


def test_counts_are_secret() -> None:
    import pickle

    counts = Counts((1,), (12345,))
    assert "12345" not in repr(counts)
    with pytest.raises(TypeError):
        pickle.dumps(counts)
