"""`podwright page`: the options."""

from __future__ import annotations

from podwright.cli.options import command_app
from podwright.cli.serving.options import PageCommandOptions

app = command_app()


@app.command(examples=["podwright page --open", "podwright page --server http://127.0.0.1:8180"])
def page(options: PageCommandOptions) -> None:
    """Serve the web page of a running cluster, until it is interrupted.

    The page is served on 127.0.0.1. Whoever opens it acts as the user of the kubeconfig.
    """
    from podwright.cli.serving.page_run import run_page

    run_page(options)
