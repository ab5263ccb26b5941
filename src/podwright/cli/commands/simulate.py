"""`podwright simulate`: the options."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from podwright.cli.options import (
    DECISIONS,
    RULES,
    Format,
    Judged,
    Setup,
    command_app,
    files_argument,
    option,
    reject_idle,
)

app = command_app()


def _folder(text: str) -> Path:
    """Read a folder name; `Path("")` would be the current folder."""
    if not text:
        raise typer.BadParameter("a folder name must not be empty.")
    return Path(text)


_ALLOWED_WITH_RESUME = {"resume", "output", "exit_zero"}


class SimulateOptions(Judged):
    """The options of `podwright simulate`; the manifest stores those of the run, for `--resume`."""

    files: tuple[str, ...] = files_argument(
        "Manifests, dumps, snapshots, openb tables or KWOK Stages", default=()
    )
    events: tuple[str, ...] = option(
        "Events to apply: a record of changes, or lines such as "
        '{"at": "10m", "drain": "node-1"}. Repeatable.',
        "FILE",
        "-e",
        default=(),
    )
    out: Path | None = option(
        "Write the run to this folder, which must be new or empty.",
        "FOLDER",
        default=None,
        parser=_folder,
    )
    resume: Path | None = option(
        "Resume the interrupted run in this folder.", "RUN", default=None, parser=_folder
    )
    until: str = option(
        "When to stop, such as 24h or 2026-01-02T00:00:00Z. By default the run ends when only "
        "retries of unschedulable pods remain.",
        "TIME",
        default="",
    )
    start: str = option(
        "Start of the simulated time. Defaults to the start of the record, the creation of the "
        "youngest object in a dump, or 2026-01-01T00:00:00Z.",
        "TIME",
        default="",
    )
    setup: Setup = Setup.group(
        "config", "plugins", *RULES, *DECISIONS, "openb_gpus", seeds_names=True
    )
    ending: Literal["at-deletion-time", "after-run-time"] = option(
        "When pods of the openb trace end: at their deletion time in the trace, or after running "
        "for as long as in the trace.",
        default="at-deletion-time",
    )
    job_duration: str = option(
        "How long the pods of Jobs run that have no duration, such as 10m. By default they "
        "complete as soon as they run.",
        "DURATION",
        default="",
    )
    sample: str = option(
        "Minimum time between two samples of the utilization.", "DURATION", default="1m"
    )
    checkpoint_events: int | None = option(
        "Number of scheduler events between checkpoints (resume points). Defaults to 25,000, or "
        "more in a large cluster.",
        "NUMBER",
        default=None,
        min=1,
    )
    no_tables: bool = option("Do not write tables. Removes the need for pyarrow.", default=False)
    timeline: bool = option(
        "Write every change of nodes, pods and queue to the run folder, for playback.",
        default=False,
    )
    timings: bool = option("Print how long the calls of each plugin took.", default=False)
    output: Format = option(
        "Output format of the summary. name: the keys of pods without a node at the end.",
        None,
        "-o",
        default="table",
    )


@app.command(
    examples=[
        "podwright simulate examples/quickstart --exit-zero",
        "podwright simulate examples/simulate --events examples/simulate/day.jsonl --until 24h",
    ]
)
def simulate(options: SimulateOptions) -> bool:
    """Simulate a cluster over time.

    The simulation runs nodes, pods, controllers and the scheduler on a virtual clock. With
    --out, all scheduling decisions and summary tables are written to a folder, which the
    commands explain, run show and run step read.

    Exit status 1 if pods remain unscheduled; 130 after Ctrl-C, and the run in the folder can
    be resumed. Pods of other schedulers and pods with scheduling gates are reported but do
    not affect the exit status.
    """
    if options.timings and options.output == "name":
        reject_idle("--timings", "with --output name", "only the names of pods are printed")
    if options.resume is None and options.out is None:
        for name, why in _OF_THE_FOLDER.items():
            if name in options.given:
                reject_idle(f"--{name.replace('_', '-')}", "without --out", why)
    from podwright.cli.recorded.simulate_run import resume_simulate, run_simulate

    if options.resume is not None:
        for name in sorted(options.given - _ALLOWED_WITH_RESUME):
            known = {"files": "FILE", "plugins": "--plugin"}
            hint = known.get(name, f"--{name.replace('_', '-')}")
            raise typer.BadParameter("cannot be combined with --resume.", param_hint=f"'{hint}'")
        return resume_simulate(options.resume, output=options.output)
    if not options.files and not options.events:
        raise typer.BadParameter("specify FILE, --events or --resume.", param_hint="FILE")
    return run_simulate(options, options.out)


_OF_THE_FOLDER = {
    "no_tables": "tables are written to the run folder",
    "timeline": "the timeline is written to the run folder",
    "checkpoint_events": "checkpoints are written to the run folder",
}
"""Why options have no effect without a run folder."""
