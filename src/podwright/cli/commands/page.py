"""`podwright page`: the options."""

from __future__ import annotations

from pathlib import Path

from podwright.cli.clusters.cluster_options import ServedOptions
from podwright.cli.options import Options, command_app, option

app = command_app()


class PageCommandOptions(Options):
    """The options of `podwright page`."""

    cluster: ServedOptions = ServedOptions.group()
    compare: Path | None = option(
        "The kubeconfig of another cluster, with which the page compares this one. The page only "
        "reads it.",
        "FILE",
        default=None,
    )
    port: int | None = option(
        "The port of the page on 127.0.0.1. Defaults to 8181, or any free one if that is in use. "
        "0: any free port.",
        "PORT",
        default=None,
        min=0,
        max=65535,
    )
    open: bool = option("Open the page in a browser.", default=False)


@app.command(examples=["podwright page --open", "podwright page --server http://127.0.0.1:8180"])
def page(options: PageCommandOptions) -> None:
    """Serve the web page of a running cluster, until it is interrupted.

    The page is served on 127.0.0.1. Whoever opens it acts as the user of the kubeconfig.
    """
    from podwright.cli.serving.page_run import run_page

    run_page(options)
