"""`podwright page`: the options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.clusters.cluster_options import Context
from podwright.cli.options import command_app, examples

app = command_app()


@app.command(
    epilog=examples("podwright page --open", "podwright page --server http://127.0.0.1:8180")
)
def page(
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            "--kubeconfig",
            metavar="FILE",
            help="The kubeconfig of the cluster. Defaults to $KUBECONFIG, then to "
            "podwright.kubeconfig in the current folder.",
            show_default=False,
        ),
    ] = None,
    context: Context = "",
    server: Annotated[
        str,
        typer.Option(
            "--server",
            metavar="URL",
            help="The address of the cluster, such as http://127.0.0.1:8180, without a kubeconfig.",
            show_default=False,
        ),
    ] = "",
    compare: Annotated[
        Path | None,
        typer.Option(
            "--compare",
            metavar="FILE",
            help="The kubeconfig of another cluster, with which the page compares this one. The "
            "page only reads it.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            metavar="PORT",
            min=0,
            max=65535,
            help="The port of the page on 127.0.0.1. Defaults to 8181, or any free one if that is "
            "in use. 0: any free port.",
            show_default=False,
        ),
    ] = None,
    is_opened: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve the web page of a running cluster, until it is interrupted.

    The page is served on 127.0.0.1. Whoever opens it acts as the user of the kubeconfig.
    """
    from podwright.cli.serving.page_run import run_page

    run_page(kubeconfig, server, context=context, compared=compare, port=port, is_opened=is_opened)
