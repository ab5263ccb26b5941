"""`podwright autoscale`: asks, and prints the answer."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podwright.apimachinery.objects import InputError
from podwright.cli.clusters.options import CLUSTER_PREFIX
from podwright.cli.console import (
    announce_compilation,
    print_data,
    print_table,
    waiting,
    write,
)
from podwright.cli.planning.options import AutoscaleOptions
from podwright.cli.planning.plan_inputs import planned_cluster, with_options
from podwright.simulation.autoscaling import (
    AutoscalingExplanation,
    explain_autoscaling,
    read_node_groups,
)


def run_autoscale(options: AutoscaleOptions) -> bool:
    """Explain which groups would help, and print it; return whether all pods are helped."""
    files = options.files
    if options.cluster.server:
        files = (*files, f"{CLUSTER_PREFIX}{options.cluster.server}")
    autoscaling = read_node_groups(options.groups)
    objects, scheduler_options, _ = planned_cluster(files, options.cluster, options.setup)
    announce_compilation()
    try:
        with waiting("scheduling"):
            found = explain_autoscaling(
                objects, autoscaling, options.pod, scheduler_options, expands_workloads=False
            )
    except InputError as error:
        source = ", ".join(files) or CLUSTER_PREFIX
        raise InputError(with_options(error.errors, {"pods": "--pod"}, source)) from error
    names = dict.fromkeys(name for each in found for name in each.chosen)
    if not print_data(options.output, lambda: {"pods": msgspec.to_builtins(found)}, names):
        _print(found)
    return all(each.is_helped for each in found)


def _print(found: Sequence[AutoscalingExplanation]) -> None:
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
