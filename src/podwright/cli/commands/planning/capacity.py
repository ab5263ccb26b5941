"""`podwright capacity`: the options."""

from __future__ import annotations

from podwright.cli.options import command_app, reject_idle
from podwright.cli.planning.options import CapacityOptions

app = command_app()


@app.command(
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
