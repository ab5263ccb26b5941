"""`podwright convert`: the same objects in another form."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from podwright.cli.options import command_app, examples, given_on, refuse_idle

app = command_app()


class ConvertedFormat(StrEnum):
    """What comes out."""

    yaml = "yaml"
    json = "json"
    kss = "kss"
    record = "record"


@app.command(
    epilog=examples(
        "podwright convert examples/quickstart -o kss",
        "podwright convert examples/quickstart -o record --start 2026-03-02T10:11:12Z",
    )
)
def convert(
    ctx: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Manifests, dumps, snapshots, openb tables, one record of changes or the "
            "folder of a run; - for stdin.",
            show_default=False,
        ),
    ],
    at: Annotated[
        str,
        typer.Option(
            "--at",
            metavar="TIME",
            help="Of a record or a run: as the cluster was then, 1h30m after its beginning or "
            "2026-01-01T01:30:00Z. The default is its end.",
            show_default=False,
        ),
    ] = "",
    start: Annotated[
        str,
        typer.Option(
            "--start",
            metavar="TIME",
            help="For -o record: when what is in the files is there, and second 0 of openb tables.",
        ),
    ] = "1970-01-01T00:00:00Z",
    output: Annotated[
        ConvertedFormat,
        typer.Option(
            "--output",
            "-o",
            help="yaml and json: a List for kubectl; kss: a snapshot that kube-scheduler-simulator "
            "imports; record: one line per change.",
        ),
    ] = ConvertedFormat.yaml,
) -> None:
    """Write a cluster in another form.

    Reads what the other commands read, and records of changes. A record becomes the cluster
    as it was at its end, or --at a time; a cluster becomes a record in which everything is
    added at the --start. The pods of openb tables are then added and deleted at their times.

    What a form cannot hold is named on stderr and left out.
    """
    has_start = "start" in given_on(ctx)
    if has_start and output is not ConvertedFormat.record:
        refuse_idle("--start", f"with --output {output.value}", "only a record has times")
    from podwright.cli.convert_run import run_convert

    run_convert(files, at=at, start=start, has_start=has_start, output=output.value)
