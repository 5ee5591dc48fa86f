"""Tables of sentences are wrapped between words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourglass.release.rendering import sentence_table

WORDS = st.text("abcdefghij ", max_size=60).map(lambda text: " ".join(text.split()))


def test_sentences_are_wrapped_to_the_left() -> None:
    table = sentence_table(
        ["figure", "claim"], [["e1", "as good as it can be"], ["e2", ""]], width=22
    )
    assert table.splitlines() == [
        "figure  claim",
        "──────  ──────────────",
        "e1      as good as it",
        "        can be",
        "e2",
    ]


@pytest.mark.slow
@pytest.mark.property
@given(st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=4), st.integers(40, 100))
def test_no_line_is_too_long_and_no_word_is_lost(
    rows: list[tuple[str, str, str]], width: int
) -> None:
    # 40 is three columns of 12 and the gaps: narrower, the columns keep their least width.
    table = sentence_table(["a", "b", "c"], rows, width=width)
    assert max(map(len, table.splitlines())) <= width
    letters = sorted("abc" + "".join("".join(row) for row in rows).replace(" ", ""))
    assert sorted(c for c in table if c not in " ─\n") == letters
