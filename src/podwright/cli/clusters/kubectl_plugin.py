"""`kubectl podwright`: commands of `podwright` on the cluster of kubectl's current context.

kubectl starts `kubectl-podwright` for `kubectl podwright`. The plugin reads the cluster and runs
the command of the same name on its objects; it writes nothing to the cluster.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import typer

from podwright.cli.clusters.options import CLUSTER_PREFIX, ConnectionOptions
from podwright.cli.options import Options, argument, command_app, option
from podwright.cli.reporting_group import ReportingGroup

app = command_app()

_PASSED_ON: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}


class DiffOptions(Options):
    """The options of `kubectl podwright diff`."""

    config: Path = option("A KubeSchedulerConfiguration.", "FILE", "-c")
    cluster: ConnectionOptions = ConnectionOptions.group("kubeconfig", "context")


class ExplainOptions(Options):
    """The options of `kubectl podwright explain`."""

    pod: str = argument("As for podwright explain.", "POD")
    namespace: str = option(
        "The namespace of POD. Defaults to that of the context.", "NAME", "-n", default=""
    )
    cluster: ConnectionOptions = ConnectionOptions.group("kubeconfig", "context")


@app.callback(cls=ReportingGroup)
def _plugin() -> None:
    """Explain the decisions of the scheduler in the cluster of the current context."""


@app.command(
    context_settings=_PASSED_ON,
    examples=[
        "kubectl podwright explain web-0",
        "kubectl podwright explain deployment/web",
        "kubectl podwright explain web-0 -o wide",
    ],
)
def explain(options: ExplainOptions) -> None:
    """Explain why a pod is on its node, or why it is pending.

    The cluster is read, and the scheduling cycle of the pod is run on its objects. Other options
    are those of podwright explain, such as -o wide and --config.
    """
    _use(options.cluster.kubeconfig)
    from podwright.cli.workloads import namespace_in

    cluster = f"{CLUSTER_PREFIX}{options.cluster.context}"
    namespace = options.namespace or namespace_in(options.pod, cluster)
    chosen = ["--namespace", namespace] if namespace else []
    _run(["explain", options.pod, cluster, *chosen, *options.others])


@app.command(context_settings=_PASSED_ON, examples=["kubectl podwright diff -c scheduler.yaml"])
def diff(options: DiffOptions) -> None:
    """Compare where pods are placed by default and with another configuration.

    Other options are those of podwright diff, such as --reschedule.
    """
    _use(options.cluster.kubeconfig)
    cluster = f"{CLUSTER_PREFIX}{options.cluster.context}"
    _run(["diff", cluster, "--to-config", str(options.config), *options.others])


def _use(kubeconfig: Path | None) -> None:
    if kubeconfig is not None:
        os.environ["KUBECONFIG"] = str(kubeconfig)


def _run(arguments: Sequence[str]) -> None:
    from podwright.cli import app as commands

    status = commands(args=list(arguments), prog_name="podwright", standalone_mode=False)
    if status:
        raise typer.Exit(status)


def main() -> NoReturn:
    """Run the plugin and exit the process with its exit status."""
    from podwright._progress import set_display
    from podwright.cli.process_exit import run_and_exit

    set_display(None)
    run_and_exit(lambda: app(args=sys.argv[1:], prog_name="kubectl podwright"))
