"""`podwright autoscale`: asks, and prints the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import InputError, Object
from podwright.cli.console import print_data, print_heading, print_message, print_table, write
from podwright.cli.options import reject_idle
from podwright.cli.planning.options import POOLS, AutoscaleOptions
from podwright.cli.planning.plan_inputs import check_pools, planned_cluster
from podwright.simulation.autoscaling import (
    Autoscaling,
    AutoscalingExplanation,
    NodeRemoval,
    explain_autoscaling,
    explain_scale_down,
    pool_groups,
    read_node_groups,
)
from podwright.simulation.capacity import pool_types

_ORDINARY: Final = ("NotAutoscaled", "NotUnderutilized", "NotUnneededOtherReason")
"""What keeps most nodes of a cluster."""


def run_autoscale(options: AutoscaleOptions) -> bool:
    """Explain which groups would help, and print it; return whether all pods are helped."""
    given = None if options.groups == POOLS else _given_groups(options.groups)
    if options.pool_label and given is not None:
        reject_idle("--pool-label", "with a file of groups", "options.poolLabel names the label")
    of = planned_cluster(options.files, options.cluster, options.setup)
    autoscaling = given or _pool_groups(of.objects, options.pool_label)
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


def _given_groups(name: str) -> Autoscaling:
    try:
        return read_node_groups(name)
    except InputError as error:
        if "kind" not in {each.path for each in error.errors}:
            raise
        message = "is a manifest, not node groups; pools in its place forms them from the cluster"
        raise InputError.of(name, message) from error


def _pool_groups(objects: Sequence[Object], label: str) -> Autoscaling:
    """Return a group for each pool of a cluster, and print what is not known of them."""
    check_pools(objects, label, "GROUPS")
    found = pool_groups(objects, label)
    count = len(found.groups)
    print_message(
        f"{count} group{'s' * (count != 1)} from the pools of the cluster; how many nodes they may"
        " have is not known: at least none, and any number"
    )
    if len(pool_types(objects, label)) > count:
        print_message(
            "of a pool with several instance types or zones, a new node is like its first node"
        )
    return found


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
            size = f"{group.size}" + ("" if group.max_size is None else f"/{group.max_size}")
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
