"""Preemption: which pods to evict so that a pod of higher priority fits.

The room has eligibility, the dry run, the victims, the criteria of the choice, and the calls to
extenders with a preempt verb. It evicts no pod: it returns the chosen candidate with its
victims, and `machine` returns the actions. Start with `preempt`.

Words of this room: the *preemptor* is the pod that fits on no node; a *candidate* is a node
with the *victims* to evict there; a victim is *reprieved* if the pod fits without evicting it; a
*nominated* pod waits for its victims; *measures* are the values that the criteria compare. Two
versions of the dry run give the same result: `victims` calls the filters, `sums` uses one kernel
for filters that depend only on sums of requests.
"""

from podwright.scheduler.preemption.candidates import Candidate, Candidates, DryRun
from podwright.scheduler.preemption.choose import Choice, Criterion, choose
from podwright.scheduler.preemption.dry_run import Limits, dry_run
from podwright.scheduler.preemption.eligibility import eligibility
from podwright.scheduler.preemption.extenders import preempt_with_extenders
from podwright.scheduler.preemption.preempt import (
    CallPreemptExtenders,
    Preemption,
    PreemptionSteps,
    conclude,
    preempt,
    preempt_steps,
)
from podwright.scheduler.preemption.victims import select_victims

__all__ = [
    "CallPreemptExtenders",
    "Candidate",
    "Candidates",
    "Choice",
    "Criterion",
    "DryRun",
    "Limits",
    "Preemption",
    "PreemptionSteps",
    "choose",
    "conclude",
    "dry_run",
    "eligibility",
    "preempt",
    "preempt_steps",
    "preempt_with_extenders",
    "select_victims",
]
