"""The options of commands about real clusters, and their records.

Each class has the options of one command of `commands`.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

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

if TYPE_CHECKING:
    from podwright.online.client import ClusterAccess
    from podwright.online.client.cluster import ClusterAddress


# The options of commands that read a real cluster, and what they do with its errors.

CLUSTER_PREFIX = "cluster:"
"""Starts the name of a cluster among files."""


class ConnectionOptions(Options):
    """How a cluster is reached."""

    heading = "Connection"

    kubeconfig: Path | None = option(
        "The kubeconfig of the cluster. Defaults to $KUBECONFIG, then to ~/.kube/config, then to "
        "the service account of the pod.",
        "FILE",
        default=None,
    )
    context: str = option(
        "The context in the kubeconfig. Defaults to its current context.", "NAME", default=""
    )
    server: str = option(
        "The address of the cluster, instead of the one in the kubeconfig. Without a "
        "kubeconfig, no credentials are sent, as for kubectl proxy.",
        "URL",
        default="",
    )

    def address(self) -> ClusterAddress:
        """Return the cluster that the options name.

        Raises
        ------
        MissingLiveError
        """
        return address_of(self.kubeconfig, self.context, self.server)


class ServedOptions(Options):
    """How a cluster of `podwright up` is reached."""

    kubeconfig: Path | None = option(
        "The kubeconfig of the cluster. Defaults to $KUBECONFIG, then to podwright.kubeconfig in "
        "the current folder.",
        "FILE",
        default=None,
    )
    context: str = option(
        "The context in the kubeconfig. Defaults to its current context.", "NAME", default=""
    )
    server: str = option(
        "The address of the cluster, such as http://127.0.0.1:8180, without a kubeconfig.",
        "URL",
        default="",
    )

    def access(self) -> ClusterAccess:
        """Return how the cluster is reached.

        Raises
        ------
        ConnectionSettingsError
            The kubeconfig cannot be used.
        """
        from msgspec.structs import replace

        from podwright.online.client import ClusterAccess, read_access

        server, kubeconfig = self.server, self.kubeconfig
        if server and kubeconfig is None and not self.context:
            return ClusterAccess(server=server)
        named = os.environ.get("KUBECONFIG", "") if kubeconfig is None else str(kubeconfig)
        access = read_access(named or "podwright.kubeconfig", self.context)
        return replace(access, server=server) if server else access


class SelectionOptions(Options):
    """Which objects of a cluster are read."""

    heading = "Selection"

    namespaces: tuple[str, ...] = option(
        "Read only objects in this namespace, and those outside namespaces. Repeatable.",
        "NAMESPACE",
        "--namespace",
        "-n",
        default=(),
    )
    selector: str = option(
        "Read only objects with these labels, of every kind, such as app=web.",
        "SELECTOR",
        "-l",
        default="",
    )
    kinds: str = option(
        "Read only these kinds, such as nodes,pods. Defaults to all that decisions depend on.",
        "LIST",
        default="",
    )

    def kind_names(self) -> tuple[str, ...]:
        """Return the names of the kinds."""
        return tuple(filter(None, self.kinds.split(",")))

    def first_given(self) -> str:
        """Return the first of the options that was given; "" for none."""
        values = {"--namespace": self.namespaces, "--selector": self.selector}
        return next((name for name, v in (*values.items(), ("--kinds", self.kinds)) if v), "")


class FollowOptions(Options):
    """How long a cluster is followed, and which objects of it."""

    connection: ConnectionOptions = ConnectionOptions.group()
    selection: SelectionOptions = SelectionOptions.group()
    duration: str = option(
        "How long to follow, such as 10m. By default, until the process is interrupted.",
        "DURATION",
        default="",
    )

    def seconds(self) -> float | None:
        """Return the duration; None if it has no end.

        Raises
        ------
        InputError
        """
        from podwright.apimachinery.objects import read_duration

        return read_duration(self.duration, "--duration") / 1e9 if self.duration else None


def address_of(kubeconfig: Path | None, context: str, server: str) -> ClusterAddress:
    """Return the cluster that the options name.

    Raises
    ------
    MissingLiveError
    """
    check_installed()
    from podwright.online.client.cluster import ClusterAddress

    # An address alone gets no credentials of a kubeconfig that is only in the environment.
    is_alone = bool(server) and kubeconfig is None and not context
    return ClusterAddress(
        kubeconfig=str(kubeconfig or ""),
        context=context,
        server=server,
        environment={} if is_alone else dict(os.environ),
    )


def address_of_target(text: str) -> ClusterAddress:
    """Return the destination that is named by its address or its kubeconfig.

    Raises
    ------
    MissingLiveError
    """
    if "://" in text:
        return address_of(None, "", text)
    return address_of(Path(text), "", "")


def address_of_source(text: str) -> ClusterAddress:
    """Return the source that is named by `cluster:CONTEXT`, its address or its kubeconfig.

    `cluster:` is that of the current context, and may precede an address.

    Raises
    ------
    MissingLiveError
    """
    rest = text.removeprefix(CLUSTER_PREFIX)
    if text.startswith(CLUSTER_PREFIX) and "://" not in rest:
        return address_of(None, rest, "")
    return address_of_target(rest)


def check_installed() -> None:
    """Reject the use of a cluster without the libraries for it.

    Raises
    ------
    MissingLiveError
    """
    from podwright.cli.file_reading import MissingLiveError

    if find_spec("kubernetes_asyncio") is None or find_spec("aiohttp") is None:
        raise MissingLiveError(
            "a real cluster needs kubernetes_asyncio and aiohttp, which are not installed; install"
            " them with: pip install 'podwright[live]'"
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
        "How long to record after all objects were recorded, such as 10m. By default, until the "
        "process is interrupted.",
        "DURATION",
        default="",
    )
    resume: bool = option(
        "Continue an existing file: append what has changed since its end.", default=False
    )
    rotate: int | None = option(
        "Start a new file, FILE-2 and so on, when the current one reaches SIZE, such as 100Mi. "
        "Each is a complete record.",
        "SIZE",
        default=None,
        parser=size_in_bytes,
    )
    keep: int | None = option(
        "With --rotate: the number of files to keep; older ones are deleted.",
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
    workloads: bool = option(
        "Read Services and the owners of pods too, such as Deployments, and keep the references to "
        "them. Plans need them: capacity --loss and --headroom, drain-plan.",
        default=False,
    )
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
        "A record of changes, of podwright record, kube-scheduler-simulator or kwokctl.", "FILE"
    )
    to: str = option(
        "The destination: the address of a cluster of podwright up, or its kubeconfig.", "CLUSTER"
    )
    speed: float = option(
        "Seconds of the record per real second.", "FACTOR", default=1.0, min=0.001
    )
    immediate: bool = option("Apply one change after another, without waiting.", default=False)
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
        "With --out: start a new run in the folder, 000001, 000002 and so on, when the log of the "
        "current one reaches SIZE, such as 100Mi, and at each start.",
        "SIZE",
        default=None,
        parser=size_in_bytes,
    )
    keep: int | None = option(
        "With --rotate: the number of runs to keep; older ones are deleted.",
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
