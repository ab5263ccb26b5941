"""The commands about decisions."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Literal

import typer

from podwright.cli.decisions.options import (
    CompareRulesOptions,
    DiffOptions,
    ExplainOptions,
    ParityOptions,
    ScheduleOptions,
)
from podwright.cli.options import (
    DECISIONS,
    RULES,
    Options,
    Setup,
    argument,
    command,
    command_group,
    option,
    reject_idle,
)


@command(
    examples=[
        "podwright schedule examples/quickstart --exit-zero",
        "podwright schedule examples/quickstart --pod web-0 -o wide",
        "podwright schedule examples/simulate",
        "podwright schedule examples/quickstart -o pods --exit-zero",
        "podwright schedule examples/quickstart --rules classic --exit-zero",
        "podwright schedule examples/quickstart --exit-zero \\\n"
        "      --config examples/plugins/keep_zone.yaml --plugin examples/plugins/keep_zone.py",
    ]
)
def schedule(options: ScheduleOptions) -> bool:
    """Schedule the pending pods of a cluster read from files.

    The command schedules pending pods in queue order (priority, then age) and prints the
    result of each. It is a dry run: no cluster and no file is changed. Deployments, ReplicaSets,
    StatefulSets, DaemonSets and Jobs are expanded into the pods that their controllers would
    create, with the replicas of HorizontalPodAutoscalers (--hpa) and within ResourceQuotas.

    Exit status 1 if a pod does not fit or exceeds a quota, 2 if there are no pods to schedule. Pods
    of other schedulers and pods with scheduling gates are reported but do not affect the status.
    """
    from podwright.cli.decisions.schedule_run import run_schedule

    if options.explain and options.output not in ("table", "wide"):
        where = f"with --output {options.output}"
        reject_idle("--explain", where, "reasons are printed below tables only")
    if options.pods and options.only_namespace:
        reject_idle("--only-namespace", "with --pod", "only those pods are scheduled")
    return run_schedule(options)


@command(
    examples=[
        "podwright explain web-0 examples/quickstart",
        "podwright explain batch/train-3 examples/quickstart || true",
        "podwright explain web-0 examples/quickstart --node gpu-a1 --node general-a3",
        "podwright explain database-0 examples/quickstart -o wide",
        "podwright explain web-0 examples/quickstart --rules classic",
        "podwright explain deployment/web examples/simulate",
        "podwright explain batch examples/autoscaling/large.yaml "
        "--node-groups examples/autoscaling/groups.yaml || true",
        "podwright explain pod/checkout-0 -n shop examples/quickstart -o json",
        "podwright explain batch --run RUN --attempt 1 || true",
        "podwright explain web --run RUN --save-case RUN/test_web.py",
        "podwright explain web --run RUN -o kss",
    ]
)
def explain(options: ExplainOptions) -> bool:
    """Explain why a pod is scheduled to a node, or why it is unschedulable.

    For a pending pod, the pods ahead of it in the scheduling queue are scheduled first. A pod
    that is already on a node is re-evaluated as if it were not yet placed. Of a workload, the
    first pod that does not fit is explained, or the first pod if all fit. With --run, the command
    explains one scheduling attempt of a recorded run and shows its outcome.

    The output lists the rejection reasons, grouped by possible fix and with node names, and
    then the result and score of every plugin for each node. A filter that skipped the pod is
    shown as skipped, not as passed.

    Exit status 1 if the pod does not fit on any node.
    """
    _check_explain(options)
    if options.run is None:
        from podwright.cli.decisions.explain_run import run_explain

        return run_explain(options)
    from podwright.cli.decisions.explain_recorded import run_explain_kss, run_explain_recorded

    if options.output == "kss":
        return run_explain_kss(options, options.run)
    return run_explain_recorded(options, options.run)


_ONLY_WITH_RUN = {"attempt", "at", "save_case"}
_SETUP = {each.name for each in fields(Setup)} - {"plugins", "given"}
_ONLY_WITH_FILES = {"alone", "node_groups"} | _SETUP


def _check_explain(options: ExplainOptions) -> None:
    """Check that files and a run are not combined, with the options that apply to each.

    Raises
    ------
    BadParameter
        If both are given, or an option applies to the other one only.
    """
    if options.files and options.run is not None:
        raise typer.BadParameter("FILE cannot be combined with --run.", param_hint="FILE")
    given, output = options.given, options.output
    _check_nodes(given, output)
    if options.node_groups and output not in ("table", "wide"):
        reject_idle("--node-groups", f"with --output {output}", "podwright autoscale prints them")
    if options.run is None and output == "kss":
        raise typer.BadParameter(
            "kss requires --run: the format includes what happened after the decision.",
            param_hint="'--output'",
        )
    for name in sorted(given):
        hint = f"'--{name.replace('_', '-')}'"
        if options.run is not None and name in _ONLY_WITH_FILES:
            raise typer.BadParameter(
                "cannot be combined with --run. To evaluate a change to a recorded decision, use"
                " pw.what_if.",
                param_hint=hint,
            )
        if options.run is None and name in _ONLY_WITH_RUN:
            raise typer.BadParameter("requires --run.", param_hint=hint)
    if "attempt" in given and "at" in given:
        raise typer.BadParameter("cannot be combined with --attempt.", param_hint="'--at'")
    if options.attempt == 0:
        raise typer.BadParameter("attempts are numbered from 1.", param_hint="'--attempt'")


def _check_nodes(given: frozenset[str], output: str) -> None:
    """Reject node options for formats that include all nodes."""
    name = next((name for name in ("nodes", "node") if name in given), "")
    if name and output in ("json", "yaml"):
        reject_idle(f"--{name}", f"with --output {output}", "it includes all nodes")
    if output == "kss" and "save_case" in given:
        reject_idle("--save-case", "with --output kss", "it prints annotations only")
    if name and output == "kss":
        raise typer.BadParameter("kss always includes all nodes.", param_hint="'--node'")
    if name and output == "name":
        name = "node" if "node" in given else "nodes"
        reject_idle(f"--{name}", "with --output name", "it is the chosen node alone")
    if "nodes" in given and output == "wide":
        reject_idle("--nodes", "with --output wide", "it includes all nodes")


_CHANGING = ("to_config", "to_plugin", "to_seed", "to_feature_gates", "from_files", "to_files")
"""The options that make the two sides different."""
_OF_SCENARIOS = {
    **{name: f"--{name.replace('_', '-')}" for name in _CHANGING},
    **{
        name: f"--{name.replace('_', '-')}"
        for name in ("config", *DECISIONS, "openb_gpus", "hpa", "reschedule", "reasons")
    },
    "from_files": "--from",
    "to_files": "--to",
}
"""The options that have no effect on recorded runs."""


@command(
    examples=[
        "podwright diff examples/quickstart --to-config examples/diff/packed.yaml --exit-zero",
        "podwright diff examples/quickstart --to-seed 1 --reschedule -o wide --exit-zero",
        "podwright diff RUN RUN",
    ]
)
def diff(options: DiffOptions) -> bool:
    """Compare where the pods of two configurations or two runs are placed.

    Each side schedules the pending pods of the same files independently. An option with --to-
    replaces that option on the second side; --from and --to add files to one side. For each pod
    that is placed differently, the output shows why each side did not choose the node of the
    other: the filter that rejects it, or the score differences. It also shows emptied nodes, the
    utilization, and its spread over the nodes. With several configurations, the output shows where
    each places the pods that differ, and the figures of each.

    Exit status 1 if anything differs.
    """
    from podwright.cli.decisions.diff_run import run_diff, runs_among

    files, given = options.files, options.given
    runs = runs_among(files)
    if runs:
        for name in sorted(given & _OF_SCENARIOS.keys()):
            raise typer.BadParameter(
                "has no effect with the folders of two runs.", param_hint=f"'{_OF_SCENARIOS[name]}'"
            )
        from podwright.cli.decisions.diff_recorded import run_diff_of_runs

        return run_diff_of_runs(*runs, options)
    if given.isdisjoint(_CHANGING):
        raise typer.BadParameter(
            "the two sides are equal: give --to-config, --to-plugin, --to-seed,"
            " --to-feature-gates, or --from and --to, or the folders of two runs.",
            param_hint="'FILE'",
        )
    sides = (*files, *options.from_files), (*files, *options.to_files)
    if not all(sides):
        raise typer.BadParameter("are required on both sides.", param_hint="'FILE'")
    if sides[0] != sides[1] and "-" in sides[0] and "-" in sides[1]:
        raise typer.BadParameter("'-' can be given once.", param_hint="'FILE'")
    return run_diff(sides, options)


@command(
    examples=[
        "podwright compare-rules examples/quickstart --exit-zero",
        "podwright compare-rules examples/quickstart --same-cluster -o wide --exit-zero",
        "podwright compare-rules examples/quickstart "
        "--algorithm-provider ClusterAutoscalerProvider -o json --exit-zero",
    ]
)
def compare_rules(options: CompareRulesOptions) -> bool:
    """Schedule the same pods by the rules of Kubernetes v1.36 and v1.16.

    Each rule set schedules the pending pods of its own copy of the cluster in queue order. For
    each pod with different results, the output shows why each rule set does not choose the
    other's node: the filter or predicate that rejects it, or the score differences, the largest
    first. After the first difference the two copies of the cluster differ; later pods that
    differ are marked with a star. With --same-cluster the copies stay equal.

    The table lists the pods that differ, -o wide all pods. Exit status 1 if any differs.
    """
    from podwright.cli.decisions.compare_rules_run import run_compare_rules

    return run_compare_rules(options)


@command(
    examples=[
        "podwright parity tests/golden/vectors/taints.jsonl.gz",
        "podwright parity tests/golden/vectors/quantities.jsonl.gz -o wide",
    ]
)
def parity(options: ParityOptions) -> bool:
    """Compare podwright with golden decisions of kube-scheduler.

    Prints the number of cases and of agreements per family and per field, the first
    differences, and the skipped cases with their reasons. Exit status 1 on any difference, or
    if nothing was compared.
    """
    from podwright.cli.decisions.parity_run import run_parity

    return run_parity(options)


class ShowOptions(Options):
    """The options of `podwright config show`."""

    file: Path | None = argument(
        "A KubeSchedulerConfiguration. Defaults to the default configuration.", "FILE", default=None
    )
    config: Path | None = option("The same as the argument.", "FILE", "-c", default=None)
    setup: Setup = Setup.group("plugins", *RULES, "feature_gates")
    output: Literal["yaml", "json", "table", "wide", "name"] = option(
        "Output format. table: the plugins of each extension point, or predicates and priorities; "
        "wide: with arguments; name: their names.",
        None,
        "-o",
        default="yaml",
    )


class CheckOptions(Options):
    """The options of `podwright config check`."""

    file: tuple[Path, ...] = argument("Configuration files; - for stdin.", "FILE")
    setup: Setup = Setup.group("plugins", *RULES, "feature_gates")


config = command_group("Show or check a scheduler configuration.")


@config.command(
    examples=[
        "podwright config show",
        "podwright config show examples/plugins/keep_zone.yaml "
        "--plugin examples/plugins/keep_zone.py -o table",
    ]
)
def show(options: ShowOptions) -> None:
    """Print the effective configuration, with every default filled in."""
    from podwright.cli.decisions.config_run import show_configuration

    if options.file is not None and options.config is not None:
        reject_idle("--config", f"with FILE {options.file}", "the two are the same")
    setup = replace(options.setup, config=options.file or options.config, given=frozenset())
    show_configuration(setup, output=options.output)


@config.command(
    examples=[
        "podwright config check examples/plugins/keep_zone.yaml "
        "--plugin examples/plugins/keep_zone.py"
    ]
)
def check(options: CheckOptions) -> bool:
    """Validate configurations as kube-scheduler does, and print all errors.

    The command also validates Policy files of the v1.16 rules.

    Plugins that are not in-tree are accepted if --plugin provides them. Exit status 1 if a
    configuration is invalid, 2 if a file cannot be read.
    """
    from podwright.cli.decisions.config_run import check_configurations

    return check_configurations(options.file, options.setup)


@command(examples=["podwright warm-up"])
def warm_up() -> None:
    """Compile all kernels ahead of time and cache them on disk.

    Kernels are otherwise compiled at first use. The command schedules pods on a small generated
    cluster that every plugin evaluates. Kernels that are already cached are only loaded.
    """
    from podwright.cli.decisions.warm_up_run import run_warm_up

    run_warm_up()
