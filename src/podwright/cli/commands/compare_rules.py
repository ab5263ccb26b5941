"""`podwright compare-rules`: the options."""

from __future__ import annotations

from typing import Annotated

import typer

from podwright.cli.options import (
    Config,
    ExitZero,
    Files,
    Format,
    Gates,
    Hpa,
    HpaReplicas,
    OpenbGpus,
    Plugins,
    PolicyFile,
    Provider,
    Seed,
    Setup,
    Validate,
    ValidationName,
    Workers,
    command_app,
    examples,
    output_option,
)

app = command_app()


@app.command(
    epilog=examples(
        "podwright compare-rules examples/quickstart --exit-zero",
        "podwright compare-rules examples/quickstart --same-cluster -o wide --exit-zero",
        "podwright compare-rules examples/quickstart "
        "--algorithm-provider ClusterAutoscalerProvider -o json --exit-zero",
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
    validate: Validate = ValidationName.strict,
    openb_gpus: OpenbGpus = None,
    hpa: Hpa = HpaReplicas.min,
    same_cluster: Annotated[
        bool,
        typer.Option(
            "--same-cluster",
            help="Place every pod on the node that the v1.36 rules choose, on both sides, so that "
            "both rule sets evaluate each pod against the same cluster.",
        ),
    ] = False,
    output: Annotated[Format, output_option("the keys of pods that differ")] = Format.table,
    exit_zero: ExitZero = False,
) -> None:
    """Schedule the same pods by the rules of Kubernetes v1.36 and v1.16.

    Each rule set schedules the pending pods of its own copy of the cluster in queue order. For
    each pod with different results, the output shows why each rule set does not choose the
    other's node: the filter or predicate that rejects it, or the score differences, the largest
    first. After the first difference the two copies of the cluster differ; later pods that
    differ are marked with a star. With --same-cluster the copies stay equal.

    The table lists the pods that differ, -o wide all pods. Exit status 1 if any differs.
    """
    from podwright.cli.decisions.compare_rules_run import run_compare_rules

    setup = Setup(
        config=config,
        plugins=tuple(plugin or ()),
        seed=seed,
        feature_gates=feature_gates,
        validate=validate,
        openb_gpus=openb_gpus,
        algorithm_provider=algorithm_provider,
        policy=policy,
        workers=workers,
        hpa=hpa,
    )
    is_same = run_compare_rules(files, setup, is_together=same_cluster, output=output.value)
    if not is_same and not exit_zero:
        raise typer.Exit(1)
