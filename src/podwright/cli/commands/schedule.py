"""`podwright schedule`: the options."""

from __future__ import annotations

from podwright.cli.decisions.options import ScheduleOptions
from podwright.cli.options import (
    command_app,
    reject_idle,
)

app = command_app()


@app.command(
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
