"""`podwright autoscale`: asks, and prints the answer."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podwright.cli.console import print_data, print_table, write
from podwright.cli.planning.options import AutoscaleOptions
from podwright.cli.planning.plan_inputs import planned_cluster
from podwright.simulation.autoscaling import (
    AutoscalingExplanation,
    explain_autoscaling,
    read_node_groups,
)


def run_autoscale(options: AutoscaleOptions) -> bool:
    """Explain which groups would help, and print it; return whether all pods are helped."""
    autoscaling = read_node_groups(options.groups)
    of = planned_cluster(options.files, options.cluster, options.setup)
    with of.asking("scheduling", {"pods": "--pod"}):
        found = explain_autoscaling(
            of.objects, autoscaling, options.pod, of.options, expands_workloads=False
        )
    names = dict.fromkeys(name for each in found for name in each.chosen)
    if not print_data(options.output, lambda: {"pods": msgspec.to_builtins(found)}, names):
        print_groups(found)
    return all(each.is_helped for each in found)


def print_groups(found: Sequence[AutoscalingExplanation]) -> None:
    """Print for each of the pods `found` which groups would help, and why the others would not."""
    if not found:
        write("No pod is pending.")
        return
    rows = []
    for each in found:
        if each.node:
            rows.append((each.pod, "<none>", "", "", f"fits on {each.node}"))
            continue
        for group in each.groups:
            is_drawn = len(each.chosen) > 1
            chosen = "drawn among the best" if is_drawn else "chosen by the expander"
            why = chosen if group.group in each.chosen else ", ".join(group.reasons)
            size = f"{group.size}/{group.max_size}"
            rows.append((each.pod, group.group, size, "yes" if group.helps else "no", why))
    print_table(("POD", "GROUP", "SIZE", "HELPS", "WHY"), rows)
