"""`podwright drain-plan`: plans, and prints the plan."""

from __future__ import annotations

from pathlib import Path

import msgspec
import typer

from podwright.cli.clusters.options import CLUSTER_PREFIX
from podwright.cli.planning.options import DrainPlanOptions
from podwright.cli.planning.plan_inputs import planned_cluster, show_plan
from podwright.simulation.capacity import drain_plan, drain_report


def run_drain_plan(options: DrainPlanOptions) -> bool:
    """Plan drains and print the plan; return whether all nodes can be drained."""
    files = options.files
    names: tuple[str, ...] = ()
    if not options.selector:
        if not options.files:
            raise typer.BadParameter("name nodes, or give -l SELECTOR.", param_hint="NODE")
        names, files = tuple(filter(None, files[0].split(","))), files[1:]
        if not files and names and Path(names[0]).exists():
            message = f"{names[0]} is a file or folder: name nodes before it, or give -l SELECTOR."
            raise typer.BadParameter(message, param_hint="NODE")
        if files and not (files[0].startswith(("-", CLUSTER_PREFIX)) or Path(files[0]).exists()):
            together = ",".join([*names, files[0]])
            message = f'no file or folder "{files[0]}"; if it is a node, write {together}'
            raise typer.BadParameter(message, param_hint="FILE")
    of = planned_cluster(files, options.cluster, options.setup, expands_workloads=False)
    with of.asking("simulating", {"nodes": "NODE", "selector": "--selector"}):
        plan = drain_plan(
            of.objects,
            names,
            of.options,
            selector=options.selector,
            surge=options.surge,
            most_nodes=options.most_nodes,
            call_extender=of.call_extender,
        )
    drained = (name for step in plan.steps for name in step.nodes)
    report = drain_report(plan, None if options.output == "wide" else 3)
    show_plan(report, options, lambda: msgspec.to_builtins(plan), drained)
    return plan.is_complete
