"""The options of the commands that plan changes of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from podwright.cli.options import (
    DECISIONS,
    RULES,
    Format,
    Judged,
    Options,
    Setup,
    argument,
    at_option,
    option,
    output_option,
)


def cluster_argument(before: str = "") -> Any:
    """Declare the files of a cluster; `before` says which files come first."""
    text = (
        "manifests, dumps or snapshots; folders of them; - for stdin; cluster: or cluster:CONTEXT "
        "for a real cluster.  [default: cluster:, that of the current context]"
    )
    the = f"{before}; then the cluster" if before else "The cluster"
    return argument(f"{the}: {text}", "FILE", default=())


class PlannedCluster(Options):
    """Which cluster a plan is for."""

    run: Path | None = option(
        "The cluster of the recorded run in this folder. Replaces FILE.", "RUN", default=None
    )
    at: str = at_option()
    server: str = option(
        "Read the cluster at this address, without credentials, such as that of kubectl proxy.",
        "URL",
        default="",
    )


def report_option() -> Any:
    """Declare the option `--report`."""
    text = "Also write a report to this file: HTML that a browser opens without a server."
    return option(text, "FILE", default=None, is_written=True)


class DrainPlanOptions(Judged):
    """The options of `podwright drain-plan`."""

    files: tuple[str, ...] = cluster_argument(
        "First the nodes to drain, separated by commas, unless -l is given"
    )
    cluster: PlannedCluster = PlannedCluster.group()
    selector: str = option("The labels of the nodes to drain.", "SELECTOR", "-l", default="")
    surge: int = option(
        "Upgrade the nodes: add a new node for each of this many nodes at a time, then drain them.",
        "NUMBER",
        default=0,
        min=0,
    )
    most_nodes: int = option(
        "The maximum number of nodes per step. 0: as many as budgets allow.",
        "NUMBER",
        default=0,
        min=0,
    )
    setup: Setup = Setup.group("config", "plugins", "hpa", *DECISIONS)
    report: Path | None = report_option()
    output: Format = output_option("the nodes in their order")


POOLS: Final = "pools"
"""In place of a file: the existing pools of the cluster."""


class AutoscaleOptions(Judged):
    """The options of `podwright autoscale`."""

    groups: str = argument(
        "The file of node groups, as for simulate --node-groups; or pools for a group of each pool "
        "of the cluster, without known limits.",
        "GROUPS",
    )
    files: tuple[str, ...] = cluster_argument()
    cluster: PlannedCluster = PlannedCluster.group()
    pool_label: str = option(
        "With pools: the label of nodes that names their pool. Known labels by default.",
        "KEY",
        default="",
    )
    pod: tuple[str, ...] = option(
        "Only this pending pod, as namespace/name. Repeatable.", "POD", default=()
    )
    setup: Setup = Setup.group("config", "plugins", "hpa", *RULES, *DECISIONS)
    output: Format = output_option("the groups that would be chosen")


class CapacityOptions(Judged):
    """The options of `podwright capacity`."""

    files: tuple[str, ...] = cluster_argument(
        "First a file with the pods or workloads to count, unless --podspec, --headroom, "
        "--loss or --buy is given"
    )
    cluster: PlannedCluster = PlannedCluster.group()
    podspec: str = option(
        "A file with the pods or workloads to count, in turn.", "FILE", default=""
    )
    ratio: str = option(
        "How many pods of each are in a set, in the order of the file, such as 3,1. By default the "
        "replicas of workloads, and one of each pod.",
        "NUMBERS",
        default="",
    )
    max_limit: int = option("Stop after this many pods. 0: no limit.", "NUMBER", default=0, min=0)
    preemption: bool = option("Evict pods of lower priority to make room.", default=False)
    exclude_nodes: tuple[str, ...] = option(
        "Leave out a node and its pods. Repeatable, or separated by commas.", "NODE", default=()
    )
    headroom: bool = option(
        "Count how many more pods of each existing workload fit, each one alone: at most "
        "--max-limit or 1000.",
        default=False,
    )
    loss: tuple[str, ...] = option(
        "Lose each node, zone or pool, and show which pods are pending then. Repeatable.",
        "node|zone|pool",
        default=(),
    )
    buy: str = option(
        "Find the cheapest nodes for the pending pods, and for those of --podspec: a file of types "
        "with prices, or pools for the existing pools, each node at price 1.",
        "TYPES",
        default="",
    )
    pool_label: str = option(
        "The label of nodes that names their pool. Known labels by default.", "KEY", default=""
    )
    default_config: Path | None = option(
        "The same as --config, as cluster-capacity names it.", "FILE", default=None
    )
    verbose: bool = option("Print the text of cluster-capacity --verbose.", default=False)
    setup: Setup = Setup.group("config", "plugins", "hpa", *RULES, *DECISIONS)
    report: Path | None = report_option()
    output: Format = output_option("the nodes that get pods")


class SchedulerPerfOptions(Options):
    """The options of `podwright scheduler-perf`."""

    files: tuple[str, ...] = argument(
        "Files of test cases, such as performance-config.yaml, or folders with such files at any "
        "depth.",
        "FILE",
    )
    test_case: str = option("Only this test case.", "NAME", default="")
    workload: str = option("Only the workloads of this name.", "NAME", default="")
    label_filter: str = option(
        "Only workloads with these labels, separated by commas; with - before a label, without it. "
        "Upstream's benchmarks use performance, its tests integration-test,-performance.",
        "LABELS",
        default="",
    )
    topic: str | None = option(
        "Selects among the thresholds of a workload. By default the folders of the file below "
        "scheduler_perf.",
        "NAME",
        default=None,
    )
    data_items_dir: Path | None = option(
        "Write the results of each topic to this folder, in the form of scheduler_perf.",
        "FOLDER",
        default=None,
        file_okay=False,
    )
    summary: Path | None = option(
        "Append the table as Markdown.", "FILE", default=None, is_written=True
    )
    output: Format = output_option("the workloads that passed")
