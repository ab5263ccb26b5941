"""`podwright explain`: the options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import (
    At,
    Config,
    ExitZero,
    FileDecisionOptions,
    Hpa,
    HpaReplicas,
    Namespace,
    Plugins,
    RuleOptions,
    Setup,
    Workers,
    command_app,
    examples,
    given_on,
    reject_idle,
)

app = command_app()


class ExplainFormat(StrEnum):
    """How an explanation is printed."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    name = "name"
    kss = "kss"


@app.command(
    epilog=examples(
        "podwright explain web-0 examples/quickstart",
        "podwright explain batch/train-3 examples/quickstart || true",
        "podwright explain web-0 examples/quickstart --node gpu-a1 --node general-a3",
        "podwright explain database-0 examples/quickstart -o wide",
        "podwright explain web-0 examples/quickstart --rules classic",
        "podwright explain deployment/web examples/simulate",
        "podwright explain pod/checkout-0 -n shop examples/quickstart -o json",
        "podwright explain batch --run RUN --attempt 1 || true",
        "podwright explain web --run RUN --save-case RUN/test_web.py",
        "podwright explain web --run RUN -o kss",
    )
)
def explain(  # noqa: PLR0913 - the options of the command
    ctx: typer.Context,
    pod: Annotated[
        str,
        typer.Argument(
            metavar="POD",
            help="name, namespace/name or pod/name of a pod; kind/name of a workload, such as "
            "deployment/web.",
        ),
    ],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Manifests, dumps, snapshots or openb tables; folders of them; - for stdin; "
            "cluster: or cluster:CONTEXT for a real cluster.  [default: cluster:, that of the "
            "current context]",
            show_default=False,
        ),
    ] = None,
    *,
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="Explain a past decision of the recorded run in this folder. Replaces FILE.",
        ),
    ] = None,
    attempt: Annotated[
        int | None,
        typer.Option(
            "--attempt",
            metavar="NUMBER",
            help="With --run: the scheduling attempt to explain; 1 is the first, -1 the last.  "
            "[default: -1]",
            show_default=False,
        ),
    ] = None,
    at: At = "",
    save_case: Annotated[
        Path | None,
        typer.Option(
            "--save-case",
            metavar="FILE",
            help="With --run: also write the attempt to this new file, as a test for pytest that "
            "runs it again offline and checks its outcome.",
            show_default=False,
        ),
    ] = None,
    config: Config = None,
    plugin: Plugins = None,
    namespace: Namespace = "",
    alone: Annotated[
        bool,
        typer.Option(
            "--alone",
            help="Evaluate a pending pod against the cluster as given, without first scheduling "
            "the pods ahead of it in the queue.",
        ),
    ] = False,
    nodes: Annotated[
        int,
        typer.Option(
            "--nodes",
            metavar="NUMBER",
            min=1,
            help="Number of nodes to show side by side; -o wide shows all.",
        ),
    ] = 5,
    node: Annotated[
        list[str] | None,
        typer.Option(
            "--node", metavar="NODE", help="Show this node beside the chosen one. Repeatable."
        ),
    ] = None,
    hpa: Hpa = HpaReplicas.min,
    rules: RuleOptions,
    workers: Workers = 1,
    decisions: FileDecisionOptions,
    output: Annotated[
        ExplainFormat,
        typer.Option(
            "--output",
            "-o",
            help="Output format. name: the node; kss (with --run): the annotations that "
            "kube-scheduler-simulator writes.",
        ),
    ] = ExplainFormat.table,
    exit_zero: ExitZero = False,
) -> None:
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
    _check_where(ctx, has_files=bool(files), has_run=run is not None)
    shown = None if output is ExplainFormat.wide else nodes
    if run is not None:
        if output is ExplainFormat.kss:
            from podwright.cli.decisions.kss_output import run_explain_kss

            fitted = run_explain_kss(
                pod, run, attempt=attempt, at=at, namespace=namespace, plugins=plugin or []
            )
            raise typer.Exit(0 if fitted or exit_zero else 1)
        from podwright.cli.decisions.explain_recorded import run_explain_recorded

        fitted = run_explain_recorded(
            pod,
            run,
            attempt=attempt,
            at=at,
            namespace=namespace,
            plugins=plugin or [],
            nodes=node or [],
            shown=shown,
            output=output.value,
            case=save_case,
        )
        raise typer.Exit(0 if fitted or exit_zero else 1)
    from podwright.cli.decisions.explain_run import run_explain

    setup = Setup(
        config=config,
        plugins=tuple(plugin or ()),
        **decisions.values(),
        **rules.values(),
        workers=workers,
        hpa=hpa,
        given=given_on(ctx),
    )
    fits = run_explain(
        pod,
        files or [],
        setup,
        namespace=namespace,
        is_alone=alone,
        nodes=node or [],
        shown=shown,
        output=output.value,
    )
    if not fits and not exit_zero:
        raise typer.Exit(1)


def _check_nodes(given: frozenset[str], output: ExplainFormat) -> None:
    """Reject node options for formats that include all nodes."""
    for name in ("nodes", "node"):
        if name in given and output in (ExplainFormat.json, ExplainFormat.yaml):
            reject_idle(f"--{name}", f"with --output {output.value}", "it includes all nodes")
    if output is ExplainFormat.kss and "save_case" in given:
        reject_idle("--save-case", "with --output kss", "it prints annotations only")
    if output is ExplainFormat.kss and {"node", "nodes"} & given:
        raise typer.BadParameter("kss always includes all nodes.", param_hint="'--node'")
    if output is ExplainFormat.name and {"node", "nodes"} & given:
        name = "node" if "node" in given else "nodes"
        reject_idle(f"--{name}", "with --output name", "it is the chosen node alone")
    if "nodes" in given and output is ExplainFormat.wide:
        reject_idle("--nodes", "with --output wide", "it includes all nodes")


_ONLY_WITH_RUN = ("attempt", "at", "save_case")
_ONLY_WITH_FILES = (
    "config", "alone", "rules", "algorithm_provider", "policy", "workers", "seed", "tie_rule",
    "preemption_offset", "feature_gates", "hpa", "validate", "openb_gpus",
)  # fmt: skip


def _check_where(ctx: typer.Context, *, has_files: bool, has_run: bool) -> None:
    """Check that files and a run are not combined, with the options that apply to each.

    Raises
    ------
    BadParameter
        If both are given, or an option applies to the other one only.
    """
    if has_files and has_run:
        raise typer.BadParameter("FILE cannot be combined with --run.", param_hint="FILE")
    given = given_on(ctx)
    _check_nodes(given, ctx.params["output"])
    if not has_run and ctx.params["output"] is ExplainFormat.kss:
        raise typer.BadParameter(
            "kss requires --run: the format includes what happened after the decision.",
            param_hint="'--output'",
        )
    for name in (name for name in ctx.params if name in given):
        option = f"'--{name.replace('_', '-')}'"
        if has_run and name in _ONLY_WITH_FILES:
            raise typer.BadParameter(
                "cannot be combined with --run. To evaluate a change to a recorded decision, use"
                " pw.what_if.",
                param_hint=option,
            )
        if not has_run and name in _ONLY_WITH_RUN:
            raise typer.BadParameter("requires --run.", param_hint=option)
    if {"attempt", "at"} <= given:
        raise typer.BadParameter("cannot be combined with --attempt.", param_hint="'--at'")
    if ctx.params["attempt"] == 0:
        raise typer.BadParameter("attempts are numbered from 1.", param_hint="'--attempt'")
