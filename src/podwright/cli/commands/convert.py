"""`podwright convert`: the options."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from podwright.cli.options import (
    OpenbGpus,
    Setup,
    Validate,
    ValidationName,
    command_app,
    examples,
    given_on,
    reject_idle,
)

app = command_app()


class ConvertedFormat(StrEnum):
    """The output formats."""

    yaml = "yaml"
    json = "json"
    name = "name"
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
            help="Manifests, dumps, snapshots, openb tables, one record of changes or a run "
            "folder; - for stdin.",
            show_default=False,
        ),
    ],
    at: Annotated[
        str,
        typer.Option(
            "--at",
            metavar="TIME",
            help="Time in a record or run: since its start, such as 1h30m, or absolute, such as "
            "2026-01-01T01:30:00Z. Defaults to its end.",
            show_default=False,
        ),
    ] = "",
    start: Annotated[
        str,
        typer.Option(
            "--start",
            metavar="TIME",
            help="With -o record: the time at which objects are added, and second 0 of openb "
            "tables.",
        ),
    ] = "1970-01-01T00:00:00Z",
    validate: Validate = ValidationName.strict,
    openb_gpus: OpenbGpus = None,
    output: Annotated[
        ConvertedFormat,
        typer.Option(
            "--output",
            "-o",
            help="Output format. yaml, json: a List for kubectl; name: the objects, such as "
            "pod/default/web; kss: a snapshot that "
            "kube-scheduler-simulator imports; record: one line per change.",
        ),
    ] = ConvertedFormat.yaml,
) -> None:
    """Convert a cluster to manifests, a snapshot or a record of changes.

    The command reads the files that other commands read, and records of changes. A record is
    converted to the cluster at its end, or at the time --at. A cluster is converted to a record
    that adds all objects at --start; pods of openb tables are added and deleted at their times.

    Objects that the output format does not support are omitted and reported on stderr.
    """
    has_start = "start" in given_on(ctx)
    if has_start and output is not ConvertedFormat.record:
        reject_idle("--start", f"with --output {output.value}", "only records have times")
    from podwright.cli.recorded.convert_run import run_convert

    run_convert(
        files,
        at=at,
        start=start,
        has_start=has_start,
        setup=Setup(validate=validate, openb_gpus=openb_gpus),
        output=output.value,
    )
