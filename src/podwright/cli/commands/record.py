"""`podwright record`: the options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podwright.cli.clusters.cluster_options import (
    ConnectionOptions,
    SelectionOptions,
    names_in,
)
from podwright.cli.options import command_app, examples, given_on, reject_idle, size_in_bytes

app = command_app()


@app.command(epilog=examples("podwright record --out changes.jsonl --duration 5s"))
def record(  # noqa: PLR0913 - the options of the command
    ctx: typer.Context,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="A new file.",
            show_default=False,
        ),
    ],
    *,
    connection: ConnectionOptions,
    duration: Annotated[
        str,
        typer.Option(
            "--duration",
            metavar="DURATION",
            help="How long to record after all objects were recorded, such as 10m. Until the "
            "process is interrupted without it.",
            show_default=False,
        ),
    ] = "",
    selection: SelectionOptions,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue an existing file: append what has changed since its end."
        ),
    ] = False,
    rotate: Annotated[
        int | None,
        typer.Option(
            "--rotate",
            metavar="SIZE",
            parser=size_in_bytes,
            help="Begin another file, FILE-2 and so on, when one is as large, such as 100Mi. Each "
            "is a record by itself.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            metavar="NUMBER",
            min=1,
            help="With --rotate: the most files to keep; the oldest is deleted.",
            show_default=False,
        ),
    ] = None,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact/--no-redact",
            help="Leave out managed fields, the last applied configuration, and commands, "
            "arguments and environment variables of containers.",
        ),
    ] = True,
) -> None:
    """Record the changes of a real cluster in a file.

    The command only sends requests that read. The file begins with all objects; simulate
    --events, up --events, shadow and convert read it, and podwright replay applies it to a
    cluster. Secrets and config maps are never recorded.
    """
    given = given_on(ctx)
    if "keep" in given and rotate is None:
        reject_idle("--keep", "without --rotate", "there is one file")
    if resume and rotate is not None:
        reject_idle("--resume", "with --rotate", "a new file begins with all objects")
    from podwright.apimachinery.objects import read_duration

    seconds = read_duration(duration, "--duration") / 1e9 if duration else None
    address = connection.address()
    from podwright.cli.clusters.record_run import RecordOptions, run_record

    options = RecordOptions(
        path=out,
        duration_seconds=seconds,
        namespaces=tuple(selection.namespaces or ()),
        selector=selection.selector,
        kinds=names_in(selection.kinds),
        resumes=resume,
        is_redacted=redact,
        largest_bytes=rotate or 0,
        kept_files=keep or 0,
    )
    run_record(address, options)
