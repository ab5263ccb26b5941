"""`podwright convert`: the options."""

from __future__ import annotations

from typing import Literal

from podwright.cli.options import Options, Setup, argument, command_app, option, reject_idle

app = command_app()


class ConvertOptions(Options):
    """The options of `podwright convert`."""

    files: tuple[str, ...] = argument(
        "Manifests, dumps, snapshots, openb tables, one record of changes or a run folder; - for "
        "stdin.",
        "FILE",
    )
    at: str = option(
        "Time in a record or run: since its start, such as 1h30m, or absolute, such as "
        "2026-01-01T01:30:00Z. Defaults to its end.",
        "TIME",
        default="",
    )
    start: str = option(
        "With -o record: the time at which objects are added, and second 0 of openb tables.",
        "TIME",
        default="1970-01-01T00:00:00Z",
    )
    setup: Setup = Setup.group("validate", "openb_gpus")
    output: Literal["yaml", "json", "name", "kss", "record"] = option(
        "Output format. yaml, json: a List for kubectl; name: the objects, such as "
        "pod/default/web; kss: a snapshot that kube-scheduler-simulator imports; record: one line "
        "per change.",
        None,
        "-o",
        default="yaml",
    )


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
