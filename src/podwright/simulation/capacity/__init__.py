"""Capacity: what fits into a cluster, found by scheduling it there.

`counting.py` counts how many more pods fit, where, and what stops the next one; `losses.py` has
what happens when nodes, zones or pools are lost; `buying.py` finds the cheapest nodes for a load,
among the types of `node_types.py`.
`filling.py` schedules in a fork of a scheduler, and `templates.py` makes pods of pods and
workloads. `drains.py` plans drains in a world, and `scaling.py` what an autoscaler does there.
`review.py` writes the report of cluster-capacity, `plan_report.py` those that commands print and
browsers show.

The room does not decide what fits: each answer is a decision of the scheduler.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.simulation.capacity.buying import (
        buy_nodes as buy_nodes,
        purchase_document as purchase_document,
        purchase_in as purchase_in,
    )
    from podwright.simulation.capacity.counting import (
        LOSSES as LOSSES,
        CapacityQuestion as CapacityQuestion,
        CapacityScope as CapacityScope,
        LossOf as LossOf,
        capacity as capacity,
        capacity_in as capacity_in,
    )
    from podwright.simulation.capacity.drains import (
        DrainPlan as DrainPlan,
        Move as Move,
        drain_plan as drain_plan,
        settle_world as settle_world,
    )
    from podwright.simulation.capacity.filling import (
        Advance as Advance,
        unwatched as unwatched,
    )
    from podwright.simulation.capacity.node_types import (
        pool_types as pool_types,
        read_node_types as read_node_types,
    )
    from podwright.simulation.capacity.plan_report import (
        PlanReport as PlanReport,
        capacity_report as capacity_report,
        drain_report as drain_report,
        purchase_report as purchase_report,
    )
    from podwright.simulation.capacity.review import (
        capacity_review as capacity_review,
        review_text as review_text,
    )
    from podwright.simulation.capacity.scaling import (
        ScalingPlan as ScalingPlan,
        planned_scaling as planned_scaling,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
