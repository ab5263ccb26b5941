"""Parity: comparison of podwright's decisions with golden vectors of kube-scheduler.

A *vector* (or *case*) is one JSON document with inputs and, in `expect`, the results of the real
kube-scheduler; a *family* is a set of cases of one kind. The room runs each case and compares it
field by field. It does not read files: callers pass decoded cases. Start with `report`, then
`decision`; modules named `classic_*` run the cases of v1.16, `trace*` those of the whole
scheduler with an API server.
"""

from podwright.testing.parity.comparison import Case as Case
from podwright.testing.parity.report import (
    FamilyReport as FamilyReport,
    Mismatch as Mismatch,
    check_case as check_case,
    check_cases as check_cases,
    problem_of as problem_of,
)
