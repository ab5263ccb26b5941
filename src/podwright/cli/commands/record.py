"""`podwright record`: the options."""

from __future__ import annotations

from pathlib import Path

from podwright.cli.clusters.cluster_options import FollowOptions
from podwright.cli.options import command_app, option, reject_idle, size_in_bytes

app = command_app()


class RecordOptions(FollowOptions):
    """The options of `podwright record`."""

    out: Path = option("A new file.", "FILE")
    duration: str = option(
        "How long to record after all objects were recorded, such as 10m. Until the process is "
        "interrupted without it.",
        "DURATION",
        default="",
    )
    resume: bool = option(
        "Continue an existing file: append what has changed since its end.", default=False
    )
    rotate: int | None = option(
        "Begin another file, FILE-2 and so on, when one is as large, such as 100Mi. Each is a "
        "record by itself.",
        "SIZE",
        default=None,
        parser=size_in_bytes,
    )
    keep: int | None = option(
        "With --rotate: the most files to keep; the oldest is deleted.",
        "NUMBER",
        default=None,
        min=1,
    )
    redact: bool = option(
        "Leave out managed fields, the last applied configuration, and commands, arguments and "
        "environment variables of containers.",
        None,
        "--redact/--no-redact",
        default=True,
    )


@app.command(examples=["podwright record --out changes.jsonl --duration 5s"])
def record(options: RecordOptions) -> None:
    """Record the changes of a real cluster in a file.

    The command only sends requests that read. The file begins with all objects; simulate
    --events, up --events, shadow and convert read it, and podwright replay applies it to a
    cluster. Secrets and config maps are never recorded.
    """
    if options.keep is not None and options.rotate is None:
        reject_idle("--keep", "without --rotate", "there is one file")
    if options.resume and options.rotate is not None:
        reject_idle("--resume", "with --rotate", "a new file begins with all objects")
    options.connection.address()  # before the imports, which need the extra `live`
    from podwright.cli.clusters.record_run import run_record

    run_record(options)
