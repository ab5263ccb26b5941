"""`podwright report`: the options."""

from __future__ import annotations

from podwright.cli.options import command_app
from podwright.cli.recorded.options import ReportOptions

app = command_app()


@app.command(examples=["podwright report RUN --out report.html"])
def report(options: ReportOptions) -> None:
    """Write a run as one HTML file that shows it in a browser, without a server.

    The file has the views of the web page: nodes, pending pods, the time bar, and explanations of
    pods. It has at most 64 MiB; a larger one is not written.
    """
    from podwright.cli.recorded.report_run import run_report

    run_report(options)
