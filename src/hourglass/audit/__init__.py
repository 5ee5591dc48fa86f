"""The audit: tries to break the privacy promise in three ways, and shows that these work.

    exact       every likelihood ratio of a law, in exact arithmetic; samplers by enumeration
    empirical   a lower confidence bound on the epsilon of anything that releases numbers
    greybox     the same noise on neighbouring data: only the totals may differ
    mutants     known mistakes, and which of these checks catches each

``hourglass audit`` runs them; :func:`lower_bound` takes any callable.
"""

from .bench import Bench, Mutant, MutantRow
from .empirical import LowerBound, empirical_finding, lower_bound, one_by_one
from .exact import exact_audit, exact_finding
from .finding import Finding
from .greybox import Path, greybox_finding, neighbours
from .mutants import run_mutants
from .replay import RecordingBits, ReplayedBits, ReplayError
from .suite import audit_empirical, audit_exact, audit_greybox

__all__ = [
    "Bench",
    "Finding",
    "LowerBound",
    "Mutant",
    "MutantRow",
    "Path",
    "RecordingBits",
    "ReplayError",
    "ReplayedBits",
    "audit_empirical",
    "audit_exact",
    "audit_greybox",
    "empirical_finding",
    "exact_audit",
    "exact_finding",
    "greybox_finding",
    "lower_bound",
    "neighbours",
    "one_by_one",
    "run_mutants",
]
