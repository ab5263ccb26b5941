"""`podwright report`: the options."""

from __future__ import annotations

from pathlib import Path

from podwright.cli.options import RecordedOptions, command_app, option

app = command_app()


class ReportOptions(RecordedOptions):
    """The options of `podwright report`."""

    out: Path = option("The HTML file to write.", "FILE")
    pods: int = option(
        "Explain the last attempts of at most this many pods, the pending ones first.",
        "NUMBER",
        default=50,
        min=0,
    )


@app.command(examples=["podwright report RUN --out report.html"])
def report(options: ReportOptions) -> None:
    """Write a run as one HTML file that shows it in a browser, without a server.

    The file has the views of the web page: nodes, pending pods, the time bar, and explanations of
    pods. It has at most 64 MiB; a larger one is not written.
    """
    from podwright.cli.recorded.report_run import run_report

    run_report(options)
