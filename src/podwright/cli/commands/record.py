"""`podwright record`: the options."""

from __future__ import annotations

from podwright.cli.clusters.options import RecordOptions
from podwright.cli.options import command_app, reject_idle

app = command_app()


@app.command(examples=["podwright record --out changes.jsonl --duration 5s"])
def record(options: RecordOptions) -> None:
    """Record the changes of a real cluster in a file.

    The command only sends requests that read. The file starts with all objects; simulate
    --events, up --events, shadow and convert read it, and podwright replay applies it to a
    cluster. Secrets and config maps are never recorded.
    """
    if options.keep is not None and options.rotate is None:
        reject_idle("--keep", "without --rotate", "there is one file")
    if options.resume and options.rotate is not None:
        reject_idle("--resume", "with --rotate", "a new file starts with all objects")
    options.connection.address()  # before the imports, which need the extra `live`
    from podwright.cli.clusters.record_run import run_record

    run_record(options)
