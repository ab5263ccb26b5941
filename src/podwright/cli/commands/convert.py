"""`podwright convert`: the options."""

from __future__ import annotations

from podwright.cli.options import command_app, reject_idle
from podwright.cli.recorded.options import ConvertOptions

app = command_app()


@app.command(
    examples=[
        "podwright convert examples/quickstart -o kss",
        "podwright convert examples/quickstart -o record --start 2026-03-02T10:11:12Z",
    ]
)
def convert(options: ConvertOptions) -> None:
    """Convert a cluster to manifests, a snapshot or a record of changes.

    The command reads the files that other commands read, and records of changes. A record is
    converted to the cluster at its end, or at the time --at. A cluster is converted to a record
    that adds all objects at --start; pods of openb tables are added and deleted at their times.

    Objects that the output format does not support are omitted and reported on stderr.
    """
    if "start" in options.given and options.output != "record":
        reject_idle("--start", f"with --output {options.output}", "only records have times")
    from podwright.cli.recorded.convert_run import run_convert

    run_convert(options)
