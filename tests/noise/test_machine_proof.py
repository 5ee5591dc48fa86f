"""The proof that a machine checks: the same marks as on paper, no axioms of our own.

`make proof` installs Coq where it can; without Coq the check itself is skipped.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import hourglass as hg

pytestmark = pytest.mark.enumeration

ROOT = Path(__file__).parents[2]
MACHINE = ROOT / "proof" / "Bodies.v"
WRITTEN = Path(hg.__file__).parent / "noise" / "body.proof.md"
#: What the real numbers of Coq's standard library rest on.
OF_THE_REALS = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
#: What must be proved, and whether it is about whole numbers alone.
THEOREMS = {
    "one_step": True,
    "region_iff_level": True,
    "mixture": False,
    "same_normaliser": False,
    "differentially_private": False,
    "box_one_step": True,
    "box_level_formula": True,
    "box_normaliser": False,
    "box_private": False,
    "one_column": True,
    "record_in_triangle": True,
    "hexagon_positive_part": True,
    "triangle_one_step": True,
    "triangle_level_formula": True,
    "triangle_normaliser": False,
    "triangle_private": False,
}


def sections(proof: str) -> dict[str, str]:
    parts = re.split(r"^## \[(B\d+)\]", proof, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_marks_agree() -> None:
    """The sections that say "checked by Coq" are those that the file has, and no others."""
    said = {mark for mark, text in sections(WRITTEN.read_text()).items() if "hecked by Coq" in text}
    assert (
        set(re.findall(r"\[(B\d+)\]", MACHINE.read_text()))
        == said
        == {"B1", "B2", "B3", "B4", "B7"}
    )


def test_nothing_is_assumed_in_passing() -> None:
    text = re.sub(r"\(\*.*?\*\)", "", MACHINE.read_text(), flags=re.DOTALL)
    assert not re.findall(r"\b(Axiom|Parameter|Conjecture|Admitted|admit|give_up)\b", text)
    # Variables and hypotheses belong to sections, which turn them into premises.
    depth = 0
    for line in text.splitlines():
        depth += bool(re.match(r"Section\b", line)) - bool(re.match(r"End\b", line))
        assert depth > 0 or not re.match(r"(Variable|Hypothes[ie]s|Context)", line), line


def test_every_theorem_s_assumptions_are_printed() -> None:
    text = MACHINE.read_text()
    assert set(re.findall(r"^Print Assumptions (\w+)\.", text, re.MULTILINE)) == set(THEOREMS)
    for name in THEOREMS:
        assert re.search(rf"^Theorem {name}\b", text, re.MULTILINE), name


@pytest.mark.slow
def test_coq_accepts_it(tmp_path: Path) -> None:
    if shutil.which("coqc") is None:
        pytest.skip("coqc is not installed; `make proof` installs it from Debian's packages")
    shutil.copy(MACHINE, tmp_path)
    run = subprocess.run(
        ["coqc", "-q", "Bodies.v"], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stderr
    # One answer for each Print Assumptions, in the file's order.
    order = re.findall(r"^Print Assumptions (\w+)\.", MACHINE.read_text(), re.MULTILINE)
    answers = re.findall(
        r"^(?:Closed under the global context|Axioms:\n(?:[^\n]*\n?)*?(?=^Axioms:|^Closed|\Z))",
        run.stdout,
        re.MULTILINE,
    )
    assert len(answers) == len(order)
    for name, answer in zip(order, answers, strict=True):
        axioms = set(re.findall(r"^([\w.]+)(?=\s*:|\s*$)", answer, re.MULTILINE)) - {"Axioms"}
        if answer.startswith("Closed"):
            axioms = set()
        assert axioms <= OF_THE_REALS, name
        assert not axioms or not THEOREMS[name], name


@pytest.mark.slow
def test_coq_rejects_a_false_level(tmp_path: Path) -> None:
    """The check can fail: with 2 J in place of the stairs up the level's formula is wrong."""
    if shutil.which("coqc") is None:
        pytest.skip("coqc is not installed; `make proof` installs it from Debian's packages")
    text = MACHINE.read_text()
    wrong = text.replace("(2 * up d g c u - k)", "(3 * up d g c u - k)")
    assert wrong != text
    (tmp_path / "Bodies.v").write_text(wrong)
    run = subprocess.run(
        ["coqc", "-q", "Bodies.v"], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert run.returncode != 0
