"""What is made of seeded bits says so in every form; what is made of secure ones never does."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.cli.output import rendered
from hourglass.noise.bits import SECURE

TABLE = pa.table({"x": [1.0, 2.0] * 500, "y": [3.0, 4.0] * 500, "g": ["a", "b"] * 500})
BY: dict[str, Any] = {"by": "g", "keys": ["a", "b"], "bounds": (0, 9), "epsilon": 9}


def answers(bits: Any) -> dict[str, Any]:
    return {
        "mean": hg.mean(TABLE, "x", bounds=(0, 9), epsilon=9, bits=bits),
        "groups": hg.mean(TABLE, "x", bits=bits, **BY),
        "columns": hg.mean(TABLE, ["x", "y"], bounds=(0, 9), epsilon=9, bits=bits),
        "sum": hg.sum(TABLE, "x", bounds=(0, 9), epsilon=9, bits=bits),
        "count": hg.count(TABLE, epsilon=9, bits=bits),
        "counts": hg.count(TABLE, by="g", keys=["a", "b"], epsilon=9, bits=bits),
    }


def forms(bits: Any) -> dict[str, bool]:
    """Whether each form says that it is not private."""
    found = {}
    for name, answer in answers(bits).items():
        for kind in ("table", "json", "yaml", "csv"):
            text = rendered(answer, kind, None).decode()
            said = {"table": "NOT PRIVATE", "json": '"private": false', "yaml": "private: false"}
            head, *rows = text.splitlines()
            marked = ",private," in f"{head}," and all("False" in row for row in rows)
            found[f"{name} {kind}"] = marked if kind == "csv" else said[kind] in text
        found[f"{name} HTML"] = "NOT PRIVATE" in answer._repr_html_()
        found[f"{name} statement"] = "NOT PRIVATE" in str(answer.statement()).upper()
    by = hg.mean(TABLE, "x", bits=bits, **BY)
    for kind, part in {
        "total": by.total(),
        "difference": by.difference("a", "b"),
        "ratio": by.ratio("a", "b"),
    }.items():
        found[f"{kind} text"] = "NOT PRIVATE" in part.text()
        found[f"{kind} dict"] = part.to_dict().get("private") is False
    bounds = hg.find_bounds(TABLE, "x", epsilon=9, bits=bits)
    found["bounds"] = "NOT PRIVATE" in str(bounds)
    found["bounds read back"] = not hg.FoundBounds.from_dict(bounds.to_dict()).private
    later = hg.mean(TABLE, "x", bounds=bounds, epsilon=9)
    found["a mean within them"] = "with seeded bits" in str(later)
    found["its statement"] = "NOT PRIVATELY" in str(later.statement())
    return found


@pytest.mark.parametrize("seeded", [True, False], ids=["seeded", "secure"])
def test_every_form_says_so(seeded: bool) -> None:
    told = forms(hg.SeededBits(1) if seeded else SECURE)
    assert {form for form, said in told.items() if said is not seeded} == set()
