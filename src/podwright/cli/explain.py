"""`podwright explain`: why this node, why not each other, why none."""

from __future__ import annotations

from typing import Annotated

import typer

from podwright.cli.options import (
    Config,
    Files,
    Format,
    Gates,
    Namespace,
    Offset,
    OffsetName,
    Output,
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
)

app = command_app()


@app.command(
    epilog=examples(
        "podwright explain web-0 examples/quickstart",
        "podwright explain batch/train-3 examples/quickstart || true",
        "podwright explain web-0 examples/quickstart --node gpu-a1 --node general-a3",
        "podwright explain database-0 examples/quickstart -o wide",
        "podwright explain web-0 examples/quickstart --rules classic",
        "podwright explain pod/checkout-0 -n shop examples/quickstart -o json",
    )
)
def explain(  # noqa: PLR0913, PLR0917 - the options of the command
    pod: Annotated[str, typer.Argument(metavar="POD", help="name, namespace/name or pod/name.")],
    files: Files,
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
    output: Output = Format.table,
) -> None:
    """Say why a pod goes where it goes, or why it goes nowhere.

    For a pending pod, the pods that come before it in the queue are placed first. For a pod
    that is on a node, the scheduler is asked again as if its place were free.

    Reasons come first, grouped by what would fix them and with the names of the nodes; then
    every plugin's answer and score, node by node. A filter that had nothing to check for
    this pod is not one that passed.

    Exit status 1 if the pod fits nowhere.
    """
    from podwright.cli.explaining import run_explain

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
    )
    fits = run_explain(
        pod,
        files,
        setup,
        namespace=namespace,
        is_alone=alone,
        nodes=node or [],
        shown=None if output is Format.wide else nodes,
        output=output.value,
    )
    if not fits:
        raise typer.Exit(1)
