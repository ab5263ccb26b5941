"""`podwright autoscale`: asks, and prints the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from podwright.cli.console import print_data, print_heading, print_message, print_table, write
from podwright.cli.planning.options import AutoscaleOptions
from podwright.cli.planning.plan_inputs import planned_cluster
from podwright.simulation.autoscaling import (
    AutoscalingExplanation,
    NodeRemoval,
    explain_autoscaling,
    explain_scale_down,
    read_node_groups,
)

_ORDINARY: Final = ("NotAutoscaled", "NotUnderutilized", "NotUnneededOtherReason")
"""What keeps most nodes of a cluster."""


def run_autoscale(options: AutoscaleOptions) -> bool:
    """Explain which groups would help, and print it; return whether all pods are helped."""
    autoscaling = read_node_groups(options.groups)
    of = planned_cluster(options.files, options.cluster, options.setup)
    with of.asking("scheduling", {"pods": "--pod"}):
        found = explain_autoscaling(
            of.objects, autoscaling, options.pod, of.options, expands_workloads=False
        )
        removals = []
        if not options.pod:
            removals = explain_scale_down(
                of.objects, autoscaling, of.options, now_ns=of.now_ns, expands_workloads=False
            )
    names = dict.fromkeys(name for each in found for name in each.chosen)
    document = {"pods": found} if options.pod else {"pods": found, "nodes": removals}
    if not print_data(options.output, lambda: msgspec.to_builtins(document), names):
        print_groups(found)
        _print_removals(removals, shows_all=options.output == "wide")
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


def _print_removals(removals: Sequence[NodeRemoval], *, shows_all: bool) -> None:
    """Print which nodes would be removed, and what keeps the others."""
    rows, hidden = [], 0
    for each in removals:
        if each.reason in _ORDINARY and not shows_all:
            hidden += 1
            continue
        count = f"{len(each.moves)} pod{'s' * (len(each.moves) != 1)} would move"
        why = each.message or (count if each.moves else "no pods to move")
        is_kept = "no" if each.reason else "yes"
        rows.append((each.node, each.group or "<none>", is_kept, each.reason or "<none>", why))
    if rows:
        print_heading("Nodes, and whether the autoscaler would remove them:")
        print_table(("NODE", "GROUP", "REMOVED", "REASON", "WHY"), rows)
    if hidden:
        what = "node is" if hidden == 1 else "nodes are"
        print_message(
            f"{hidden} more {what} in use, of no group, or not looked at; -o wide shows all."
        )
