"""`kubectl podwright`: commands of `podwright` on the cluster of kubectl's current context.

kubectl starts `kubectl-podwright` for `kubectl podwright`. The plugin reads the cluster and runs
the command of the same name on its objects; it writes nothing to the cluster.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from podwright.cli.clusters.cluster_options import CLUSTER_PREFIX, Context, Kubeconfig
from podwright.cli.options import command_app, examples
from podwright.cli.reporting_group import ReportingGroup

app = command_app()

_PASSED_ON: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}

Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="The namespace of POD. Defaults to that of the context.",
        show_default=False,
    ),
]


@app.callback(cls=ReportingGroup)
def _plugin() -> None:
    """Explain the decisions of the scheduler in the cluster of the current context."""


@app.command(
    context_settings=_PASSED_ON,
    epilog=examples(
        "kubectl podwright explain web-0",
        "kubectl podwright explain deployment/web",
        "kubectl podwright explain web-0 -o wide",
    ),
)
def explain(
    ctx: typer.Context,
    pod: Annotated[str, typer.Argument(metavar="POD", help="As for podwright explain.")],
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Namespace = "",
) -> None:
    """Explain why a pod is on its node, or why it is pending.

    The cluster is read, and the scheduling cycle of the pod is run on its objects. Other options
    are those of podwright explain, such as -o wide and --config.
    """
    _use(kubeconfig)
    from podwright.cli.workloads import namespace_in

    cluster = f"{CLUSTER_PREFIX}{context}"
    namespace = namespace or namespace_in(pod, cluster)
    chosen = ["--namespace", namespace] if namespace else []
    _run(["explain", pod, cluster, *chosen, *ctx.args])


@app.command(
    context_settings=_PASSED_ON, epilog=examples("kubectl podwright diff -c scheduler.yaml")
)
def diff(
    ctx: typer.Context,
    config: Annotated[
        Path,
        typer.Option("--config", "-c", metavar="FILE", help="A KubeSchedulerConfiguration."),
    ],
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Compare where pods are placed by default and with another configuration.

    Other options are those of podwright diff, such as --reschedule.
    """
    _use(kubeconfig)
    _run(["diff", f"{CLUSTER_PREFIX}{context}", "--to-config", str(config), *ctx.args])


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
