"""`podwright drain-plan`: plans, and prints the plan."""

from __future__ import annotations

import msgspec
import typer

from podwright.apimachinery.documents import first_names
from podwright.cli.console import print_data, print_heading, print_paragraph, print_table
from podwright.cli.planning.options import DrainPlanOptions
from podwright.cli.planning.plan_inputs import (
    planned_cluster,
    print_plan_table,
    write_report,
)
from podwright.simulation.capacity import (
    DrainPlan,
    drain_plan,
    drain_plan_html,
    drain_tables,
)


def run_drain_plan(options: DrainPlanOptions) -> bool:
    """Plan drains and print the plan; return whether all nodes can be drained."""
    files = options.files
    names: tuple[str, ...] = ()
    if not options.selector:
        if not options.files:
            raise typer.BadParameter("name nodes, or give -l SELECTOR.", param_hint="NODE")
        names, files = tuple(filter(None, files[0].split(","))), files[1:]
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
    if options.report is not None:
        write_report(options.report, drain_plan_html(plan))
    drained = (name for step in plan.steps for name in step.nodes)
    if not print_data(options.output, lambda: msgspec.to_builtins(plan), drained):
        _print(plan, is_wide=options.output == "wide")
    return plan.is_complete


def _print(plan: DrainPlan, *, is_wide: bool) -> None:
    tables = drain_tables(plan)
    steps = tables["steps"]
    if steps.rows:
        print_table(steps.heads, steps.rows)
    else:
        print_paragraph("No node can be drained.")
    if is_wide:
        print_plan_table(tables["moves"])
    for number, step in enumerate(plan.steps, 1):
        alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for unfit in step.unfit:
            alike.setdefault((unfit.message, unfit.remedies), []).append(unfit.pod)
        for (message, remedies), (pod, *others) in alike.items():
            what = f"{pod} and {len(others)} more find" if others else f"{pod} finds"
            print_heading(f"Step {number}: {what} no node:")
            print_paragraph(message, indent=2)
            for remedy in remedies:
                print_paragraph(f"it fits after this: {remedy}", indent=2)
    some = ", ".join if is_wide else first_names
    gone = [pod for step in plan.steps for pod in step.gone]
    if gone:
        print_heading(f"Pods that no controller recreates: {some(gone)}")
    data = [pod for step in plan.steps for pod in step.local_data]
    if data:
        print_heading(f"Pods that lose the data of an emptyDir: {some(data)}")
    for node in plan.blocked:
        print_heading(f"Node {node.node} cannot be drained: {some(node.pods)}")
        print_paragraph(node.message, indent=2)
        print_paragraph(node.remedy, indent=2)
