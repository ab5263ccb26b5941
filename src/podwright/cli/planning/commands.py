"""The commands that plan changes of a cluster."""

from __future__ import annotations

from podwright.cli.options import command, reject_idle
from podwright.cli.planning.options import (
    AutoscaleOptions,
    CapacityOptions,
    DrainPlanOptions,
    SchedulerPerfOptions,
)


@command(
    examples=[
        "podwright autoscale examples/autoscaling/groups.yaml examples/autoscaling/shop.yaml",
        "podwright autoscale examples/autoscaling/groups.yaml examples/quickstart --exit-zero",
        "podwright autoscale examples/autoscaling/groups.yaml examples/autoscaling/idle.yaml",
    ]
)
def autoscale(options: AutoscaleOptions) -> bool:
    """Show which groups would help pending pods, and which nodes would be removed.

    The filters of the scheduler decide whether each pending pod of the cluster fits on a new node
    of each group, and whether the pods of a node fit on others. What keeps a node has the reasons
    of cluster-autoscaler. Nothing is changed.

    Exit status 1 if no group helps a pod that fits nowhere.
    """
    from podwright.cli.planning.autoscale_run import run_autoscale

    return run_autoscale(options)


@command(
    examples=[
        "podwright capacity examples/capacity/web.yaml examples/quickstart",
        "podwright capacity --podspec examples/capacity/web.yaml examples/quickstart --verbose",
        "podwright capacity examples/capacity/web.yaml examples/quickstart --preemption -o json",
        "podwright capacity --headroom examples/capacity/cluster.yaml",
        "podwright capacity --loss node --loss zone examples/capacity/cluster.yaml --exit-zero",
        "podwright capacity --buy examples/capacity/types.yaml --podspec "
        "examples/capacity/more.yaml examples/capacity/cluster.yaml",
    ]
)
def capacity(options: CapacityOptions) -> bool:
    """Count how many more pods fit into a cluster, where, and what stops the next one.

    The scheduler finds it: the pods of the file are scheduled one after the other until one does
    not fit. Pending pods of the cluster are scheduled before. The flags and the report
    (ClusterCapacityReview) of cluster-capacity are accepted and written.

    Exit status 1 if no pod fits, if no more pods of a workload fit (--headroom), if pods are
    pending after a loss (--loss), or if no nodes that can be bought place all pods (--buy).
    """
    from podwright.cli.planning.capacity_run import run_capacity

    if options.verbose and options.output not in ("table", "wide"):
        reject_idle("--verbose", f"with --output {options.output}", "all is included")
    return run_capacity(options)


@command(
    examples=[
        "podwright drain-plan a1,a2 examples/capacity/cluster.yaml",
        "podwright drain-plan -l pool=general examples/capacity/cluster.yaml --surge 1 -o wide",
    ],
)
def drain_plan(options: DrainPlanOptions) -> bool:
    """Plan the drains of nodes: an order, what moves where, what blocks on which budget.

    The plan is what happens in a simulation of the cluster: nodes are cordoned and drained in
    steps, each with as many nodes as the disruption budgets allow. With --surge, new nodes are
    added before each step and the drained ones are deleted, as for an upgrade. Nothing is changed.

    Exit status 1 if a node cannot be drained, or a pod finds no node.
    """
    from podwright.cli.planning.drain_plan_run import run_drain_plan

    return run_drain_plan(options)


@command(
    examples=[
        "podwright scheduler-perf examples/scheduler-perf/performance-config.yaml",
        "podwright scheduler-perf examples/scheduler-perf/performance-config.yaml --label-filter "
        "short --test-case Gates",
    ],
)
def scheduler_perf(options: SchedulerPerfOptions) -> bool:
    """Run benchmark files of scheduler_perf, and compare the results with their thresholds.

    The files are upstream's unchanged performance-config.yaml with their templates; a folder stands
    for all such files in it. Each workload runs in a separate cluster and is measured in processor
    time of this process. Nodes and pods are written through the API without HTTP, so the cost of
    HTTP is not included.

    Exit status 1 if a value misses its threshold, or a workload cannot be executed to its end.
    """
    from podwright.cli.planning.scheduler_perf_run import run_scheduler_perf

    return run_scheduler_perf(options)
