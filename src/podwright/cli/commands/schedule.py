"""`podwright schedule`: the options."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from podwright.cli.options import (
    Config,
    ExitZero,
    FileDecisionOptions,
    Files,
    Hpa,
    HpaReplicas,
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


class ScheduleFormat(StrEnum):
    """The output formats of decisions."""

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
        "podwright schedule examples/simulate",
        "podwright schedule examples/quickstart -o pods --exit-zero",
        "podwright schedule examples/quickstart --rules classic --exit-zero",
        "podwright schedule examples/quickstart --exit-zero \\\n"
        "      --config examples/plugins/keep_zone.yaml --plugin examples/plugins/keep_zone.py",
    )
)
def schedule(  # noqa: PLR0913 - the options of the command
    ctx: typer.Context,
    files: Files,
    *,
    config: Config = None,
    plugin: Plugins = None,
    pod: Annotated[
        list[str] | None,
        typer.Option(
            "--pod",
            metavar="POD",
            help="Schedule this pod only, or the pods of a workload (kind/name), against the "
            "cluster as given. Repeatable.",
        ),
    ] = None,
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAMESPACE",
            help="Print the pods of this namespace only. Those of others are scheduled as well: "
            "they take room.",
            show_default=False,
        ),
    ] = "",
    only_namespace: Annotated[
        str,
        typer.Option(
            "--only-namespace",
            metavar="NAMESPACE",
            help="Schedule the pending pods of this namespace as if others had none.",
            show_default=False,
        ),
    ] = "",
    hpa: Hpa = HpaReplicas.min,
    rules: RuleOptions,
    workers: Workers = 1,
    decisions: FileDecisionOptions,
    output: Annotated[
        ScheduleFormat,
        typer.Option(
            "--output",
            "-o",
            help="Output format. name: the keys of scheduled pods; "
            "pods: the Pod objects with nodeName set.",
        ),
    ] = ScheduleFormat.table,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print why pods do not fit below the table.")
    ] = False,
    exit_zero: ExitZero = False,
) -> None:
    """Schedule the pending pods of a cluster read from files.

    The command schedules pending pods in queue order (priority, then age) and prints the
    result of each. It is a dry run: no cluster and no file is changed. Deployments, ReplicaSets,
    StatefulSets, DaemonSets and Jobs are expanded into the pods that their controllers would
    create, with the replicas of HorizontalPodAutoscalers (--hpa) and within ResourceQuotas.

    Exit status 1 if a pod does not fit or exceeds a quota, 2 if there are no pods to schedule. Pods
    of other schedulers and pods with scheduling gates are reported but do not affect the status.
    """
    from podwright.cli.decisions.schedule_run import run_schedule

    if explain and output not in (ScheduleFormat.table, ScheduleFormat.wide):
        reject_idle(
            "--explain", f"with --output {output.value}", "reasons are printed below tables only"
        )
    if pod and only_namespace:
        reject_idle("--only-namespace", "with --pod", "only those pods are scheduled")
    setup = Setup(
        config=config,
        plugins=tuple(plugin or ()),
        **decisions.values(),
        **rules.values(),
        workers=workers,
        hpa=hpa,
        given=given_on(ctx),
    )
    all_fit = run_schedule(
        files,
        setup,
        requested=pod or [],
        namespace=namespace or only_namespace,
        scheduled_namespace=only_namespace,
        output=output.value,
        with_reasons=explain,
    )
    if not all_fit and not exit_zero:
        raise typer.Exit(1)
