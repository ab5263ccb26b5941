"""`podwright drain-plan`: the options."""

from __future__ import annotations

from podwright.cli.options import command_app
from podwright.cli.planning.options import DrainPlanOptions

app = command_app()


@app.command(
    "drain-plan",
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
