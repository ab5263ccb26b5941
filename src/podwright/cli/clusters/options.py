"""The options of commands about real clusters, and their records.

Each class has the options of one command; `commands` has the commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from podwright.cli.clusters.cluster_options import (
    ConnectionOptions,
    FollowOptions,
    SelectionOptions,
)
from podwright.cli.options import (
    Format,
    Judged,
    Options,
    Setup,
    argument,
    option,
    output_option,
    size_in_bytes,
)


class ShadowOptions(Judged):
    """The options of `podwright shadow`."""

    record: Path = argument(
        "A record of the changes of a real cluster, one JSON object per line, optionally gzipped; "
        "or a folder that contains record.jsonl.",
        "RECORD",
    )
    scheduler_log: Path | None = option(
        "The log of the real scheduler: one JSON object per line, or the output of kube-scheduler "
        "-v=3. Defaults to scheduler.jsonl next to the record, if it exists.",
        "FILE",
        default=None,
    )
    no_scheduler_log: bool = option("Use the record only.", default=False)
    setup: Setup = Setup.group("config", "plugins", "feature_gates")
    delay: float = option(
        "Without a scheduler log: maximum delay between a change and the scheduler's observation "
        "of it.",
        "SECONDS",
        default=0.25,
        min=0,
    )
    allow: float = option(
        "Maximum share of bindings, and of preemptions, that may be unexplained.",
        "PERCENT",
        default=1.0,
        min=0,
        max=100,
    )
    output: Format = output_option("the keys of pods whose decisions differ")


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
        "Start a new file, FILE-2 and so on, when the current one reaches SIZE, such as 100Mi. "
        "Each is a record by itself.",
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


class ImportClusterOptions(Options):
    """The options of `podwright import`."""

    connection: ConnectionOptions = ConnectionOptions.group()
    selection: SelectionOptions = SelectionOptions.group()
    exclude_running: bool = option("Leave out pods that have a node.", default=False)
    out: Path | None = option("Write to this file instead of stdout.", "FILE", default=None)
    output: Literal["json", "yaml", "name", "kss"] = option(
        "Output format. json, yaml: a List that other commands read; name: the objects, such as "
        "pod/default/web; kss: a snapshot that kube-scheduler-simulator imports.",
        None,
        "-o",
        default="json",
    )


class ReplayOptions(Options):
    """The options of `podwright replay`."""

    file: Path = argument(
        "A record of changes, of podwright record or kube-scheduler-simulator.", "FILE"
    )
    to: str = option(
        "The destination: the address of a cluster of podwright up, or its kubeconfig.", "CLUSTER"
    )
    speed: float = option(
        "How many seconds of the record a second is.", "FACTOR", default=1.0, min=0.001
    )
    immediate: bool = option("Apply one change after the other, without waiting.", default=False)
    step: bool = option("Print each change, and apply it when a line is entered.", default=False)
    strict: bool = option(
        "Stop at a change of an unknown object, and at a rejected change.", default=False
    )


class SchedulerCommandOptions(Options):
    """The options of `podwright scheduler`."""

    connection: ConnectionOptions = ConnectionOptions.group()
    config: Path | None = option(
        "A KubeSchedulerConfiguration. Its profiles say which pods are scheduled, by their "
        "schedulerName.",
        "FILE",
        "-c",
        default=None,
    )
    dry_run: bool = option(
        "Print the decisions, and write nothing: rights to read are enough.", default=False
    )
    out: Path | None = option(
        "Keep the decision log in this new folder: podwright explain --run explains its decisions.",
        "FOLDER",
        default=None,
    )
    rotate: int | None = option(
        "With --out: start another run in the folder, 000001, 000002 and so on, when the log of "
        "one is as large, such as 100Mi, and at each start.",
        "SIZE",
        default=None,
        parser=size_in_bytes,
    )
    keep: int | None = option(
        "With --rotate: the most runs to keep; the oldest is deleted.",
        "NUMBER",
        default=None,
        min=1,
    )
    leader_elect: bool | None = option(
        "Whether to schedule only while holding a Lease. Defaults to leaderElection in the "
        "configuration.",
        None,
        "--leader-elect/--no-leader-elect",
        default=None,
    )
    metrics_address: str = option(
        "With --metrics-port: the IP address to serve.", "IP", default="127.0.0.1"
    )
    metrics_port: int | None = option(
        "Serve /metrics, /healthz, /livez and /readyz over HTTP on this port. 0: any free port.",
        "PORT",
        default=None,
        min=0,
        max=65535,
    )
    setup: Setup = Setup.group("plugins", "seed", "tie_rule", "feature_gates")
