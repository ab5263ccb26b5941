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

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use
from podwright.scheduler.preemption.choose import (
    Choice as Choice,
    Criterion as Criterion,
    choose as choose,
)
from podwright.scheduler.preemption.preempt import (
    Preemption as Preemption,
    preempt as preempt,
    preempt_steps as preempt_steps,
)
from podwright.scheduler.preemption.sums import Limits as Limits, dry_run as dry_run

if TYPE_CHECKING:
    from podwright.scheduler.preemption.extenders import (
        preempt_with_extenders as preempt_with_extenders,
    )
    from podwright.scheduler.preemption.groups import preempt_for_group as preempt_for_group
    from podwright.scheduler.preemption.victims import (
        Candidate as Candidate,
        DryRun as DryRun,
        select_victims as select_victims,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
