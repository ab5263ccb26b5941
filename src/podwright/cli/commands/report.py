"""`podwright report`: the options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.options import Plugins, command_app, examples

app = command_app()

PODS_EXPLAINED = 50


@app.command(epilog=examples("podwright report RUN --out report.html"))
def report(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="A folder written by podwright simulate, or a decision log."
        ),
    ],
    file: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")],
    pods: Annotated[
        int,
        typer.Option(
            "--pods",
            metavar="NUMBER",
            min=0,
            help="Explain the last attempts of at most this many pods, the pending ones first.",
        ),
    ] = PODS_EXPLAINED,
    plugin: Plugins = None,
) -> None:
    """Write a run as one HTML file that shows it in a browser, without a server.

    The file has the views of the web page: nodes, pending pods, the time bar, and explanations of
    pods. It has at most 64 MiB; a larger one is not written.
    """
    from podwright.cli.recorded.report_run import run_report

    run_report(run, output=file, pod_count=pods, plugins=plugin or [])
