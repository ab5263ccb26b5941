"""Golden vectors: what kube-scheduler itself decided, held against what podwright decides.

Takes cases that somebody else has read, and says field by field where they agree. Start
with `report`; `decision` holds single decisions.
"""

from podwright.parity.report import FamilyReport, Mismatch, check_case, check_cases

__all__ = ["FamilyReport", "Mismatch", "check_case", "check_cases"]

from podwright.parity.comparison import Case
from podwright.parity.report import problem_of

__all__ = [
    "Case",
    "problem_of",
]
