"""The options of commands about runs and files.

Each class has the options of one command of `commands`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from podwright.cli.options import (
    DECISIONS,
    RULES,
    Format,
    Judged,
    Options,
    RecordedOptions,
    Setup,
    argument,
    at_option,
    files_argument,
    option,
    output_option,
)


def _folder(text: str) -> Path:
    """Read a folder name; `Path("")` would be the current folder."""
    if not text:
        raise typer.BadParameter("a folder name must not be empty.")
    return Path(text)


class SimulateOptions(Judged):
    """The options of `podwright simulate`; the manifest stores those of the run, for `--resume`."""

    files: tuple[str, ...] = files_argument(
        "Manifests, dumps, snapshots, openb tables or KWOK Stages; or one scenario", default=()
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
        "How long pods of Jobs run if they declare no duration, such as 10m. By default they "
        "complete as soon as they run.",
        "DURATION",
        default="",
    )
    node_groups: Path | None = option(
        "Node groups of an autoscaler, which adds and removes nodes as cluster-autoscaler does.",
        "FILE",
        default=None,
    )
    timing: Path | None = option(
        "A timing model: scheduling cycles, writes and starts of pods take virtual time. By "
        "default they take none.",
        "FILE",
        default=None,
    )
    timing_from: Path | None = option(
        "Fit the cycles and writes of the timing model to the log of a scheduler; --timing has "
        "what a log does not say.",
        "SCHEDULER_LOG",
        default=None,
    )
    print_timing: bool = option(
        "Print the timing model as YAML, and simulate nothing.", default=False
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


class CheckOptions(Judged):
    """The options of `podwright check`."""

    files: tuple[str, ...] = argument(
        "Scenarios; with --create, the files of a cluster.", "SCENARIO", default=()
    )
    junit: Path | None = option(
        "Write the results as JUnit XML.", "FILE", default=None, is_written=True
    )
    summary: Path | None = option(
        "Append the results as Markdown, as for a pull request.",
        "FILE",
        default=None,
        is_written=True,
    )
    report: Path | None = option(
        "Write a report as an HTML file: findings, then figures.",
        "FILE",
        default=None,
        is_written=True,
    )
    seed: int | None = option("Overrides the seeds of the scenarios.", "NUMBER", default=None)
    charts: tuple[str, ...] = option(
        "Apply a Helm chart to the cluster of each scenario, and print what it changes. Needs "
        "helm. Repeatable.",
        "CHART",
        "--chart",
        default=(),
    )
    values: tuple[str, ...] = option(
        "A values file for the charts. Repeatable.", "FILE", "--values", default=()
    )
    settings: tuple[str, ...] = option(
        "A value of the charts. Repeatable.", "KEY=VALUE", "--set", default=()
    )
    release: str = option(
        "The release of the charts; by default the name of each chart.", "NAME", default=""
    )
    namespace: str = option(
        "The namespace of the release, for objects that name none.", "NAMESPACE", default=""
    )
    kustomize: tuple[str, ...] = option(
        "Apply a kustomization in the same way. Needs kubectl. Repeatable.",
        "FOLDER",
        "--kustomize",
        default=(),
    )
    create: Path | None = option(
        "Write a new scenario: of the cluster in the files, or of one past decision.",
        "FILE",
        default=None,
    )
    from_run: Path | None = option(
        "The run of the decision, with --create.", "RUN", default=None, parser=_folder
    )
    decision: str = option("The pod of the decision.", "POD", default="")
    attempt: int = option("The attempt of the pod; the last one by default.", "NUMBER", default=-1)
    plugins: tuple[Path, ...] = option(
        "With --from-run: a file of the run's plugins. Repeatable.", "FILE", "--plugin", default=()
    )
    output: Format = option(
        "Output format. name: the expectations that failed.", None, "-o", default="table"
    )


class ReportOptions(RecordedOptions):
    """The options of `podwright report`."""

    out: Path = option("The HTML file to write.", "FILE", is_written=True)
    pods: int = option(
        "Explain the last attempts of at most this many pods, the pending ones first.",
        "NUMBER",
        default=50,
        min=0,
    )


class RunStepOptions(RecordedOptions):
    """The options of `podwright run step`."""

    at: str = at_option()


class RunShowOptions(RunStepOptions):
    """The options of `podwright run show`."""

    output: Format = output_option("the nodes and pods, such as node/n1 and pod/default/web")


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
