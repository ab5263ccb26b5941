"""`podwright explain`: why this node, why not each other, why none."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import (
    At,
    Config,
    Gates,
    Namespace,
    Offset,
    OffsetName,
    Plugins,
    PolicyFile,
    Provider,
    Rules,
    Seed,
    Setup,
    TieRuleName,
    Ties,
    Workers,
    command_app,
    examples,
    given_on,
    refuse_idle,
)

app = command_app()


class ExplainFormat(StrEnum):
    """How an explanation is printed."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    kss = "kss"


@app.command(
    epilog=examples(
        "podwright explain web-0 examples/quickstart",
        "podwright explain batch/train-3 examples/quickstart || true",
        "podwright explain web-0 examples/quickstart --node gpu-a1 --node general-a3",
        "podwright explain database-0 examples/quickstart -o wide",
        "podwright explain web-0 examples/quickstart --rules classic",
        "podwright explain pod/checkout-0 -n shop examples/quickstart -o json",
        "podwright explain batch --run RUN --attempt 1 || true",
        "podwright explain web --run RUN -o kss",
    )
)
def explain(  # noqa: PLR0913, PLR0917 - the options of the command
    ctx: typer.Context,
    pod: Annotated[str, typer.Argument(metavar="POD", help="name, namespace/name or pod/name.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Manifests, dumps, snapshots or openb tables; folders of them; - for stdin.",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="Instead of files: the folder of a recorded run, of which a past decision is "
            "explained.",
        ),
    ] = None,
    attempt: Annotated[
        int | None,
        typer.Option(
            "--attempt",
            metavar="NUMBER",
            help="With --run: which of the pod's attempts; 1 is the first, -1 the last.  "
            "[default: -1]",
            show_default=False,
        ),
    ] = None,
    at: At = "",
    config: Config = None,
    plugin: Plugins = None,
    namespace: Namespace = "",
    alone: Annotated[
        bool,
        typer.Option(
            "--alone",
            help="Ask about a pending pod in the cluster as it is, without placing first what "
            "comes before it in the queue.",
        ),
    ] = False,
    nodes: Annotated[
        int,
        typer.Option(
            "--nodes",
            metavar="NUMBER",
            min=1,
            help="How many nodes to show side by side; -o wide shows all.",
        ),
    ] = 5,
    node: Annotated[
        list[str] | None,
        typer.Option(
            "--node", metavar="NODE", help="Show this node and the chosen one. Repeatable."
        ),
    ] = None,
    rules: Rules = None,
    algorithm_provider: Provider = "",
    policy: PolicyFile = None,
    workers: Workers = 1,
    seed: Seed = 0,
    tie_rule: Ties = TieRuleName.drawn,
    preemption_offset: Offset = OffsetName.drawn,
    feature_gates: Gates = "",
    output: Annotated[
        ExplainFormat,
        typer.Option(
            "--output",
            "-o",
            help="How to print it; kss: with --run, the annotations with which "
            "kube-scheduler-simulator says it.",
        ),
    ] = ExplainFormat.table,
) -> None:
    """Say why a pod goes where it goes, or why it goes nowhere.

    For a pending pod, the pods that come before it in the queue are placed first. For a pod
    that is on a node, the scheduler is asked again as if its place were free. With --run,
    one attempt of a recorded run is explained as it was, and told what came of it.

    Reasons come first, grouped by what would fix them and with the names of the nodes; then
    every plugin's answer and score, node by node. A filter that had nothing to check for
    this pod is not one that passed.

    Exit status 1 if the pod fits nowhere.
    """
    _check_where(ctx, has_files=bool(files), has_run=run is not None)
    shown = None if output is ExplainFormat.wide else nodes
    if run is not None:
        if output is ExplainFormat.kss:
            from podwright.cli.kss_output import run_annotate

            fitted = run_annotate(
                pod, run, attempt=attempt, at=at, namespace=namespace, plugins=plugin or []
            )
            raise typer.Exit(0 if fitted else 1)
        from podwright.cli.explain_recorded import run_explain_past

        fitted = run_explain_past(
            pod,
            run,
            attempt=attempt,
            at=at,
            namespace=namespace,
            plugins=plugin or [],
            nodes=node or [],
            shown=shown,
            output=output.value,
        )
        raise typer.Exit(0 if fitted else 1)
    from podwright.cli.explain_run import run_explain

    setup = Setup(
        config=config,
        plugins=tuple(plugin or ()),
        seed=seed,
        tie_rule=tie_rule,
        preemption_offset=preemption_offset,
        feature_gates=feature_gates,
        rules=rules,
        algorithm_provider=algorithm_provider,
        policy=policy,
        workers=workers,
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
    if not fits:
        raise typer.Exit(1)


def _check_nodes(given: frozenset[str], output: ExplainFormat) -> None:
    """Refuse to choose nodes where all of them are printed."""
    for name in ("nodes", "node"):
        if name in given and output in (ExplainFormat.json, ExplainFormat.yaml):
            refuse_idle(f"--{name}", f"with --output {output.value}", "a document has all nodes")
    if output is ExplainFormat.kss and {"node", "nodes"} & given:
        raise typer.BadParameter("kss has all nodes.", param_hint="'--node'")
    if "nodes" in given and output is ExplainFormat.wide:
        refuse_idle("--nodes", "with --output wide", "it shows all nodes")


_ONLY_WITH_RUN = ("attempt", "at")
_ONLY_WITH_FILES = (
    "config", "alone", "rules", "algorithm_provider", "policy", "workers", "seed", "tie_rule",
    "preemption_offset", "feature_gates",
)  # fmt: skip


def _check_where(ctx: typer.Context, *, has_files: bool, has_run: bool) -> None:
    """Refuse files together with a run, neither, and options that belong to the other one.

    Raises
    ------
    BadParameter
        With what to do about it.
    """
    if has_files and has_run:
        raise typer.BadParameter(
            "the objects are those of the run; give either files or --run.", param_hint="FILE"
        )
    if not has_files and not has_run:
        raise typer.BadParameter(
            "give files with the cluster, or --run with a recorded run.", param_hint="FILE"
        )
    given = given_on(ctx)
    _check_nodes(given, ctx.params["output"])
    if not has_run and ctx.params["output"] is ExplainFormat.kss:
        raise typer.BadParameter(
            "kss has what came after the decision, which a recorded run knows: add --run.",
            param_hint="'--output'",
        )
    for name in (name for name in ctx.params if name in given):
        option = f"'--{name.replace('_', '-')}'"
        if has_run and name in _ONLY_WITH_FILES:
            raise typer.BadParameter(
                "a recorded run is explained as it was decided. What something else would have"
                " done, pw.what_if tells.",
                param_hint=option,
            )
        if not has_run and name in _ONLY_WITH_RUN:
            raise typer.BadParameter(
                "only a recorded run has a past: add --run.", param_hint=option
            )
    if {"attempt", "at"} <= given:
        raise typer.BadParameter("give either --attempt or --at.", param_hint="'--at'")
    if ctx.params["attempt"] == 0:
        raise typer.BadParameter("attempts are counted from 1.", param_hint="'--attempt'")
