"""The options of commands about decisions.

Each class has the options of one command of `commands`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from podwright.cli.options import (
    DECISIONS,
    RULES,
    Format,
    Judged,
    Setup,
    argument,
    at_option,
    files_argument,
    namespace_option,
    option,
    output_option,
)


class ScheduleOptions(Judged):
    """The options of `podwright schedule`."""

    files: tuple[str, ...] = files_argument()
    pods: tuple[str, ...] = option(
        "Schedule this pod only, or the pods of a workload (kind/name), against the cluster as "
        "given. Repeatable.",
        "POD",
        "--pod",
        default=(),
    )
    namespace: str = namespace_option(
        "Print the pods of this namespace only. Pods of other namespaces are scheduled, too: they "
        "take room."
    )
    only_namespace: str = option(
        "Schedule only the pending pods of this namespace.",
        "NAMESPACE",
        default="",
    )
    setup: Setup = Setup.group(
        "config", "plugins", "hpa", *RULES, "workers", *DECISIONS, "openb_gpus"
    )
    output: Literal["table", "wide", "json", "yaml", "name", "pods"] = option(
        "Output format. name: the keys of scheduled pods; pods: the Pod objects with nodeName set.",
        None,
        "-o",
        default="table",
    )
    explain: bool = option("Below the table, print why pods do not fit.", default=False)


class ExplainOptions(Judged):
    """The options of `podwright explain`."""

    pod: str = argument(
        "name, namespace/name or pod/name of a pod; kind/name of a workload, such as "
        "deployment/web.",
        "POD",
    )
    files: tuple[str, ...] = argument(
        "Manifests, dumps, snapshots or openb tables; folders of them; - for stdin; cluster: or "
        "cluster:CONTEXT for a real cluster.  [default: cluster:, that of the current context]",
        "FILE",
        default=(),
    )
    run: Path | None = option(
        "Explain a past decision of the recorded run in this folder. Replaces FILE.",
        "RUN",
        default=None,
    )
    attempt: int | None = option(
        "With --run: the scheduling attempt to explain; 1 is the first, -1 the last.  "
        "[default: -1]",
        "NUMBER",
        default=None,
    )
    at: str = at_option()
    save_case: Path | None = option(
        "With --run: also write the attempt to this new file, as a test for pytest that runs it "
        "again offline and checks its outcome.",
        "FILE",
        default=None,
    )
    namespace: str = namespace_option()
    alone: bool = option(
        "Evaluate a pending pod against the cluster as given, without first scheduling the pods "
        "ahead of it in the queue.",
        default=False,
    )
    node_groups: str = option(
        "If the pod does not fit: which node groups of this file would help, and why the others "
        "would not, as podwright autoscale does.",
        "FILE",
        default="",
    )
    nodes: int = option(
        "Number of nodes to show side by side; -o wide shows all.", "NUMBER", default=5, min=1
    )
    node: tuple[str, ...] = option(
        "Show this node beside the chosen one. Repeatable.", "NODE", default=()
    )
    setup: Setup = Setup.group(
        "config", "plugins", "hpa", *RULES, "workers", *DECISIONS, "openb_gpus"
    )
    output: Literal["table", "wide", "json", "yaml", "name", "kss"] = option(
        "Output format. name: the node; kss (with --run): the annotations that "
        "kube-scheduler-simulator writes.",
        None,
        "-o",
        default="table",
    )

    @property
    def shown(self) -> int | None:
        """The number of nodes to show side by side; None for all."""
        return None if self.output == "wide" else self.nodes


class DiffOptions(Judged):
    """The options of `podwright diff`."""

    files: tuple[str, ...] = argument(
        "Manifests, dumps or snapshots of both sides; folders of them; - for stdin. Or the "
        "folders of two runs.",
        "FILE",
        default=(),
    )
    from_files: tuple[str, ...] = option(
        "Objects of the first side only. Repeatable.", "FILE", "--from", default=()
    )
    to_files: tuple[str, ...] = option(
        "Objects of the second side only. Repeatable.", "FILE", "--to", default=()
    )
    to_config: tuple[Path, ...] = option(
        "The configuration of the second side. Repeatable: all are compared with the first side, "
        "in one table.",
        "FILE",
        default=(),
    )
    to_plugin: tuple[Path, ...] = option(
        "The plugins of the second side. Repeatable.", "FILE", default=()
    )
    to_seed: int | None = option("The seed of the second side.", "NUMBER", default=None)
    to_feature_gates: str | None = option(
        "The feature gates of the second side.", "GATES", default=None
    )
    setup: Setup = Setup.group("config", "plugins", *DECISIONS, "openb_gpus", "hpa")
    reschedule: bool = option(
        "Also reschedule the pods that are on nodes, except pods of DaemonSets, mirror pods and "
        "terminating pods.",
        default=False,
    )
    reasons: int = option(
        "Find the reasons for at most this many of the pods that differ.",
        "NUMBER",
        default=500,
        min=0,
    )
    output: Format = output_option("the keys of pods that differ")

    def setups(self) -> tuple[Setup, list[Setup]]:
        """Return that of the first side, and those of the second one, one per configuration."""
        before = self.setup
        after = replace(
            before,
            plugins=self.to_plugin or before.plugins,
            seed=before.seed if self.to_seed is None else self.to_seed,
            feature_gates=(
                before.feature_gates if self.to_feature_gates is None else self.to_feature_gates
            ),
        )
        return before, [replace(after, config=each) for each in self.to_config or (before.config,)]


class CompareRulesOptions(Judged):
    """The options of `podwright compare-rules`."""

    files: tuple[str, ...] = files_argument()
    setup: Setup = Setup.group(
        "config", "plugins", "algorithm_provider", "policy", "workers", "seed", "feature_gates",
        "validate", "openb_gpus", "hpa",
    )  # fmt: skip
    same_cluster: bool = option(
        "Place every pod on the node that the v1.36 rules choose, on both sides, so that both "
        "rule sets evaluate each pod against the same cluster.",
        default=False,
    )
    output: Format = output_option("the keys of pods that differ")


class ParityOptions(Judged):
    """The options of `podwright parity`."""

    files: tuple[str, ...] = argument(
        "Golden vectors: JSON lines, optionally gzipped; folders of them; - for stdin.", "FILE"
    )
    differences: int = option("Number of differences to print.", "NUMBER", default=10, min=0)
    output: Format = output_option("the ids of cases that differ")
