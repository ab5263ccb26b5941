"""`podwright compare-rules`: the same pods by the rules of 1.36 and of 1.16."""

from __future__ import annotations

from typing import Annotated

import typer

from podwright.cli.options import (
    Config,
    Files,
    Format,
    Gates,
    Output,
    Plugins,
    PolicyFile,
    Provider,
    Seed,
    Setup,
    Workers,
    command_app,
    examples,
)

app = command_app()


@app.command(
    epilog=examples(
        "podwright compare-rules examples/quickstart",
        "podwright compare-rules examples/quickstart --same-cluster -o wide",
        "podwright compare-rules examples/quickstart "
        "--algorithm-provider ClusterAutoscalerProvider -o json",
    )
)
def compare_rules(  # noqa: PLR0913, PLR0917 - the options of the command
    files: Files,
    config: Config = None,
    plugin: Plugins = None,
    algorithm_provider: Provider = "",
    policy: PolicyFile = None,
    workers: Workers = 1,
    seed: Seed = 0,
    feature_gates: Gates = "",
    same_cluster: Annotated[
        bool,
        typer.Option(
            "--same-cluster",
            help="Count every pod where the modern rules put it, on both sides, so that each is "
            "decided on the same cluster twice.",
        ),
    ] = False,
    output: Output = Format.table,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="Exit 1 if a pod is treated differently.")
    ] = False,
) -> None:
    """Place the same pods by the rules of Kubernetes 1.36 and of 1.16.

    Each rule set gets a copy of the cluster and goes through its pending pods in the order of
    the queue. Where the two differ, each says what it has against the other's node: the
    predicate or filter that rejects it, or the scores that put it behind, the weightiest
    first. Pods that stay where their rules put them make later pods differ too; those are
    marked with a star. With --same-cluster there are none.

    The table lists pods that differ, -o wide all of them.
    """
    from podwright.cli.compare_rules_run import run_compare_rules

    setup = Setup(
        config=config,
        plugins=tuple(plugin or ()),
        seed=seed,
        feature_gates=feature_gates,
        algorithm_provider=algorithm_provider,
        policy=policy,
        workers=workers,
    )
    is_same = run_compare_rules(files, setup, is_together=same_cluster, output=output.value)
    if exit_code and not is_same:
        raise typer.Exit(1)
