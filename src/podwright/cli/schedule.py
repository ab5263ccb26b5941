"""`podwright schedule`: files in, decisions out."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from podwright.cli.options import (
    Config,
    Files,
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


class ScheduleFormat(StrEnum):
    """How decisions are printed."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    name = "name"
    pods = "pods"


@app.command(
    epilog=examples(
        "podwright schedule examples/quickstart --exit-zero",
        "podwright schedule examples/quickstart --pod web-0 -o wide",
        "podwright schedule examples/quickstart -o pods --exit-zero",
        "podwright schedule examples/quickstart --rules classic --exit-zero",
        "podwright schedule examples/quickstart --exit-zero \\\n"
        "      --config examples/plugins/keep_zone.yaml --plugin examples/plugins/keep_zone.py",
    )
)
def schedule(  # noqa: PLR0913, PLR0917 - the options of the command
    ctx: typer.Context,
    files: Files,
    config: Config = None,
    plugin: Plugins = None,
    pod: Annotated[
        list[str] | None,
        typer.Option(
            "--pod",
            metavar="POD",
            help="Decide for this pod only, in the cluster as it is: would it fit, and where? "
            "Repeatable.",
        ),
    ] = None,
    namespace: Namespace = "",
    rules: Rules = None,
    algorithm_provider: Provider = "",
    policy: PolicyFile = None,
    workers: Workers = 1,
    seed: Seed = 0,
    tie_rule: Ties = TieRuleName.drawn,
    preemption_offset: Offset = OffsetName.drawn,
    feature_gates: Gates = "",
    output: Annotated[
        ScheduleFormat,
        typer.Option(
            "--output",
            "-o",
            help="How to print it; name: the pods that were placed; "
            "pods: the Pod objects with nodeName set.",
        ),
    ] = ScheduleFormat.table,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say below the table why pods do not fit.")
    ] = False,
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit 0 although pods do not fit.")
    ] = False,
) -> None:
    """Decide where pending pods go.

    Reads a cluster from files, goes through its pending pods in the order of the queue
    (priority, then age), places those that fit, and prints what came of each. Nothing is
    changed anywhere: this is the scheduler's dry run.

    Exit status 1 if a pod does not fit. Pods that another scheduler decides for, and pods
    that wait for a scheduling gate, are told but do not count.
    """
    from podwright.cli.schedule_run import run_schedule

    if explain and output not in (ScheduleFormat.table, ScheduleFormat.wide):
        refuse_idle("--explain", f"with --output {output.value}", "only tables have a text below")
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
    all_fit = run_schedule(
        files,
        setup,
        wanted=pod or [],
        namespace=namespace,
        output=output.value,
        with_reasons=explain,
    )
    if not all_fit and not exit_zero:
        raise typer.Exit(1)
