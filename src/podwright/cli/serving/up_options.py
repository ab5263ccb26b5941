"""`podwright up`: its options, in groups."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from podwright.cli.clusters.options import SelectionOptions
from podwright.cli.options import (
    DECISIONS,
    Options,
    Setup,
    argument,
    option,
    reject_idle,
    size_in_bytes,
)

if TYPE_CHECKING:
    from podwright.online.apiserver import BreakCondition, LatencyRule
    from podwright.online.client import SyncPolicies

DEFAULT_PORT = 8180


class InputOptions(Options):
    """What the cluster contains at the start, and what is applied while it runs."""

    heading = "Input"

    files: tuple[str, ...] = argument(
        "Manifests, dumps or snapshots of the initial objects; folders of them; - for stdin.",
        "FILE",
        default=(),
    )
    snapshot: Path | None = option(
        "A snapshot of the initial objects, of kube-scheduler-simulator or podwright.",
        "FILE",
        default=None,
    )
    events: tuple[Path, ...] = option(
        "Events to apply while the cluster runs, as for simulate: a record of changes, or lines "
        'such as {"at": "10m", "drain": "node-1"}. Repeatable.',
        "FILE",
        "-e",
        default=(),
    )
    node_groups: Path | None = option(
        "Node groups of an autoscaler, as for simulate.", "FILE", default=None
    )
    images: tuple[Path, ...] = option(
        "What containers of an image do in simulated kubelets: how long they run, their exit "
        "codes, and pull errors. Repeatable; the first entry that matches applies.",
        "FILE",
        default=(),
        exists=True,
        dir_okay=False,
    )
    imported: str = option(
        "Read the initial objects of another cluster, as podwright import: cluster:, that of the "
        "current context; cluster:CONTEXT; an address that needs no credentials; or a kubeconfig.",
        "CLUSTER",
        "--import",
        default="",
    )
    sync: str = option(
        "Follow another cluster, named as for --import: its changes are mirrored, and new pods are "
        "scheduled here, as with podwright sync.",
        "CLUSTER",
        default="",
    )
    sync_policy: tuple[str, ...] = option(
        "With --sync: an option of podwright sync, such as bound=none, pod-status, follow-labels "
        "or exclude-running. Repeatable.",
        "POLICY",
        default=(),
    )
    replay: Path | None = option(
        "Apply a record of changes while the cluster runs, as podwright replay; --speed is its "
        "pace.",
        "FILE",
        default=None,
        exists=True,
        dir_okay=False,
    )
    immediate: bool = option(
        "With --replay: apply one change after another, without waiting.", default=False
    )
    step: bool = option(
        "With --replay: print each change, and apply it when a line is entered.", default=False
    )
    demo: bool = option("Create an example cluster with a pending pod.", default=False)
    nodes: int = option("Create this many identical nodes.", "NUMBER", default=0, min=0)
    default_storage_class: bool = option(
        "Create the default StorageClass `standard`, unless the files have classes.",
        None,
        "--default-storage-class/--no-default-storage-class",
        default=True,
    )
    selection: SelectionOptions = SelectionOptions.group()

    def names(self) -> tuple[str, ...]:
        """Return the names of what is read at the start, as `read_inputs` takes them."""
        from podwright.cli.serving.up_inputs import DEMO

        return (
            *self.files,
            *(() if self.snapshot is None else (str(self.snapshot),)),
            *((DEMO,) if self.demo else ()),
        )

    def policies(self, *, is_shadow: bool) -> SyncPolicies:
        """Return how another cluster is followed.

        Parameters
        ----------
        is_shadow : bool
            Whether the decisions of its scheduler are compared.

        Raises
        ------
        BadParameter
            If a policy is unknown.
        """
        from podwright.cli.clusters.sync import read_policies

        # What is compared is the source's choice, in the source's state.
        implied = ("bound=source", "pod-status") if is_shadow and self.sync else ()
        return read_policies((*implied, *self.sync_policy))

    def check(self) -> None:
        """Reject options without effect, or that contradict each other: there is one source.

        Raises
        ------
        BadParameter
        """
        self.policies(is_shadow=False)
        for is_given, name in ((self.immediate, "--immediate"), (self.step, "--step")):
            if is_given and self.replay is None:
                reject_idle(name, "without --replay", "no record is applied")
        if self.immediate and self.step:
            raise typer.BadParameter("cannot be combined with --step.", param_hint="'--immediate'")
        if self.step and "-" in self.files:
            raise typer.BadParameter(
                "cannot be combined with a file from stdin.", param_hint="'--step'"
            )
        if self.sync_policy and not self.sync:
            reject_idle("--sync-policy", "without --sync", "no cluster is followed")
        if self.sync and self.imported:
            reject_idle("--import", "with --sync", "the objects are read anyway")
        if self.sync and self.replay is not None:
            raise typer.BadParameter("cannot be combined with --sync.", param_hint="'--replay'")
        if (first := self.selection.first_given()) and not self.sync and not self.imported:
            reject_idle(first, "without --import or --sync", "no other cluster is read")
        for cluster, name in ((self.imported, "--import"), (self.sync, "--sync")):
            is_named = cluster.startswith("cluster:") or "://" in cluster
            if cluster and not is_named and not Path(cluster).is_file():
                raise typer.BadParameter(
                    f'"{cluster}" must be cluster:, cluster:CONTEXT, an address such as '
                    "http://127.0.0.1:8001 or a kubeconfig.",
                    param_hint=f"'{name}'",
                )


def _ip_address(text: str) -> str:
    """Read an IP address; `localhost` is the one of IPv4."""
    try:
        return str(ipaddress.ip_address("127.0.0.1" if text == "localhost" else text))
    except ValueError:
        raise typer.BadParameter(f'"{text}" is not an IP address, such as 127.0.0.1.') from None


class ServingOptions(Options):
    """Where the cluster is served, with or without TLS."""

    heading = "Serving"

    port: int = option("0: any free port.", "PORT", default=DEFAULT_PORT, min=0, max=65535)
    address: str = option(
        "The IP address to serve. Non-loopback addresses require --tls.",
        "IP",
        default="127.0.0.1",
        parser=_ip_address,
    )
    tls: bool = option(
        "Serve over TLS, with certificates that are created once and reused. Needs podwright[tls].",
        default=False,
    )
    tls_san: tuple[str, ...] = option(
        "An additional name or address in the certificate. Repeatable.", "NAME", default=()
    )
    tls_cert: Path | None = option(
        "The server's own certificate and its chain, in PEM; with --tls-key.", "FILE", default=None
    )
    tls_key: Path | None = option("The key of --tls-cert, in PEM.", "FILE", default=None)
    api_latency: tuple[str, ...] = option(
        "Delay the requests of clients, for example 50ms, list=1s or create:pods=200ms. "
        "Repeatable; the last one that matches a request applies.",
        "[VERB[:RESOURCE]=]DURATION",
        default=(),
    )

    @property
    def has_tls(self) -> bool:
        """Whether the cluster is served over TLS."""
        return self.tls or self.tls_cert is not None or self.tls_key is not None

    def latency_rules(self) -> list[LatencyRule]:
        """Read the rules of --api-latency.

        Raises
        ------
        BadParameter
        """
        from podwright.online.apiserver import read_latency_rule

        try:
            return list(map(read_latency_rule, self.api_latency))
        except ValueError as error:
            raise typer.BadParameter(f"{error}.", param_hint="'--api-latency'") from None

    def check(self, *, is_bare: bool) -> None:
        """Reject an address that others reach without protection, and options without effect.

        Raises
        ------
        BadParameter
        """
        self.latency_rules()
        if ("tls_cert" in self.given) != ("tls_key" in self.given):
            raise typer.BadParameter(
                "must be given together.", param_hint="'--tls-cert', '--tls-key'"
            )
        if "tls_san" in self.given and "tls_cert" in self.given:
            reject_idle("--tls-san", "with --tls-cert", "that certificate has its names")
        if "tls_san" in self.given and not self.has_tls:
            reject_idle("--tls-san", "without --tls", "there is no certificate")
        if ipaddress.ip_address(self.address).is_loopback:
            return
        if not self.has_tls:
            raise typer.BadParameter(
                f"other machines reach {self.address}, so it is served over TLS only: add --tls.",
                param_hint="'--address'",
            )
        if is_bare:
            raise typer.BadParameter(
                "the tokens of --bare are known, so it is served on loopback only, not on"
                f" {self.address}.",
                param_hint="'--address'",
            )


class FileOptions(Options):
    """What is written, and what is kept."""

    heading = "Files"

    kubeconfig: Path = option(
        "Where to write the kubeconfig. Defaults to podwright.kubeconfig in the current folder.",
        "FILE",
        default=Path("podwright.kubeconfig"),
        show_default=False,
    )
    db: Path | None = option(
        "Store the objects in this file, and continue from it. By default they are only in memory.",
        "FILE",
        default=None,
    )
    record: Path | None = option(
        "Write all changes to this new file, as a record for podwright shadow.",
        "FILE",
        default=None,
    )
    record_rotate: int | None = option(
        "Start a new record, FILE-2 and so on, when the current one reaches SIZE, such as 100Mi. "
        "Each is a complete record.",
        "SIZE",
        default=None,
        parser=size_in_bytes,
    )
    record_keep: int | None = option(
        "With --record-rotate: the number of files to keep; older ones are deleted.",
        "NUMBER",
        default=None,
        min=1,
    )
    runs: Path | None = option(
        "List, download and delete the runs in this folder over HTTP, at /podwright/v1/runs.",
        "FOLDER",
        default=None,
        exists=True,
        file_okay=False,
    )
    shadow: Path | None = option(
        "Compare the decisions of another scheduler with podwright's; with --no-scheduler. The "
        "record and the agreement are written to this folder.",
        "FOLDER",
        default=None,
    )

    def check(self, *, has_scheduler: bool) -> None:
        """Reject a shadow of podwright's own decisions, a second record, and no rotation.

        Raises
        ------
        BadParameter
        """
        if self.shadow is not None and self.record is not None:
            reject_idle("--record", "with --shadow", "the folder gets a record")
        if self.shadow is not None and has_scheduler:
            raise typer.BadParameter(
                "requires --no-scheduler: another scheduler makes the decisions.",
                param_hint="'--shadow'",
            )
        if self.record_rotate is not None and self.record is None:
            reject_idle("--record-rotate", "without --record", "nothing is recorded")
        if self.record_keep is not None and self.record_rotate is None:
            reject_idle("--record-keep", "without --record-rotate", "there is one file")


class SchedulingOptions(Options):
    """How podwright schedules, and what is kept of that."""

    heading = "Decisions"

    annotate_results: bool | None = option(
        "Store the results of each scheduling attempt, and their history, as annotations of the "
        "pods, as kube-scheduler-simulator does. The default with its API (--kss-port).",
        None,
        "--annotate-results/--no-annotate-results",
        default=None,
    )
    log_events: int | None = option(
        "Keep at least this many of the scheduler's last events, to explain decisions; memory "
        "holds up to twice as many. Defaults to 500000, or 10 MiB of them if that is less.",
        "NUMBER",
        default=None,
        min=1_000,
    )
    timeline: bool = option(
        "Collect the timeline while the cluster runs, so that it needs no replay. Costs up to a "
        "tenth of the scheduler's time.",
        None,
        "--timeline/--no-timeline",
        default=True,
    )
    configs: tuple[Path, ...] = option(
        "A KubeSchedulerConfiguration. Defaults to the one among the files, if any. Repeatable: "
        "each further file adds a scheduler for pods of other schedulerNames.",
        "FILE",
        "--config",
        "-c",
        default=(),
    )
    setup: Setup = Setup.group("plugins", *DECISIONS, seeds_names=True)
    reload: bool = option("Reload the files of --plugin when they change.", default=False)
    breakpoints: tuple[str, ...] = option(
        "Stop after each scheduling cycle that matches, for example pod=default/web, "
        "label=app=web, plugin=NAME or on=error; as for podwright debug break. Repeatable.",
        "CONDITION",
        "--break",
        default=(),
    )

    def first_setup(self) -> Setup:
        """Return what decides, with the first configuration."""
        return replace(self.setup, config=next(iter(self.configs), None))

    def conditions(self) -> list[BreakCondition]:
        """Read the conditions of --break.

        Raises
        ------
        BadParameter
        """
        from podwright.online.apiserver import read_condition

        try:
            return list(map(read_condition, self.breakpoints))
        except ValueError as error:
            raise typer.BadParameter(f"{error}.", param_hint="'--break'") from None

    def check(self, *, has_scheduler: bool, is_bare: bool) -> None:
        """Reject options of decisions where no decisions are made, and the reload of no plugins.

        Raises
        ------
        BadParameter
        """
        self.conditions()
        if not has_scheduler:
            where = f"with --{'bare' if is_bare else 'no-scheduler'}"
            if self.log_events is not None:
                reject_idle("--log-events", where, "no decision is recorded")
            if "timeline" in self.given:
                reject_idle("--timeline", where, "no decision is recorded")
            if self.breakpoints:
                reject_idle("--break", where, "there are no scheduling cycles")
            if self.annotate_results:
                reject_idle("--annotate-results", where, "there are no results")
            if len(self.configs) > 1:
                reject_idle("--config", f"more than once {where}", "podwright schedules no pods")
        if self.reload and not self.setup.plugins:
            reject_idle("--reload", "without --plugin", "there is no file that may change")
        if self.reload and not has_scheduler:
            reject_idle("--reload", "without a scheduler", "no plugin is called")


class PartOptions(Options):
    """Which parts of a cluster podwright simulates."""

    heading = "Simulation"

    speed: float = option("Seconds of cluster time per real second.", "FACTOR", default=1.0)
    has_scheduler: bool = option(
        "Whether podwright schedules the pods.", None, "--scheduler/--no-scheduler", default=True
    )
    has_controllers: bool = option(
        "Whether podwright's controllers run.", None, "--controllers/--no-controllers", default=True
    )
    has_lifecycle: bool = option(
        "Whether podwright simulates kubelets.", None, "--lifecycle/--no-lifecycle", default=True
    )
    bare: bool = option(
        "Only the API server: no scheduler, controllers or kubelets, and the tokens of the "
        "recorded API exchanges.",
        default=False,
    )


class KssOptions(Options):
    """The API of kube-scheduler-simulator, and who may use it."""

    heading = "kube-scheduler-simulator"

    kss_port: int | None = option(
        "Serve the HTTP API of kube-scheduler-simulator on this port of --address, with the same "
        "credentials as the Kubernetes API. 0: any free port.",
        "PORT",
        default=None,
        min=0,
        max=65535,
    )
    kss_config: Path | None = option(
        "Read a SimulatorConfiguration of kube-scheduler-simulator, and its environment variables. "
        "Options of the command line override it.",
        "FILE",
        default=None,
    )
    cors_origin: tuple[str, ...] = option(
        "Let pages of this origin use the APIs, for example http://localhost:3000. Repeatable.",
        "ORIGIN",
        default=(),
    )
    allow_extender: tuple[str, ...] = option(
        "Let a configuration that is sent over HTTP name extenders on this host, with a port or "
        "without. Repeatable.",
        "HOST",
        default=(),
    )

    def check(self) -> None:
        """Reject what is not an origin or a host.

        Raises
        ------
        BadParameter
        """
        for text in self.cors_origin:
            if not is_origin(text):
                message = f'"{text}" is not an origin, such as http://localhost:3000.'
                raise typer.BadParameter(message, param_hint="'--cors-origin'")
        if "" in self.allow_extender:
            raise typer.BadParameter("must not be empty.", param_hint="'--allow-extender'")


def is_origin(text: str) -> bool:
    """Whether a text is an origin as browsers send it: a scheme and a host, with a port or not."""
    return (
        re.fullmatch(r"https?://[a-z0-9.-]+(:[0-9]+)?|https?://\[[0-9a-f:]+\](:[0-9]+)?", text)
        is not None
    )


class UiOptions(Options):
    """The web page."""

    heading = "Page"

    has_page: bool = option(
        "Whether to serve the web page on 127.0.0.1 as well.", None, "--ui/--no-ui", default=True
    )
    ui_port: int | None = option(
        "The port of the page. Defaults to 8181, or any free one if that is in use.",
        "PORT",
        default=None,
        min=0,
        max=65535,
    )
    is_opened: bool = option("Open the page in a browser.", None, "--open", default=False)

    @property
    def is_demanded(self) -> bool:
        """Whether an option names the page, so that its absence is an error."""
        return not self.given.isdisjoint(_OF_THE_PAGE)

    def check(self, *, is_bare: bool) -> None:
        """Reject options without effect.

        Raises
        ------
        BadParameter
        """
        if is_bare or not self.has_page:
            for name, written in _OF_THE_PAGE.items():
                if name in self.given and (self.has_page or name != "has_page"):
                    where = f"with --{'bare' if is_bare else 'no-ui'}"
                    reject_idle(written, where, "the page is not served")


_OF_THE_PAGE = {"has_page": "--ui", "ui_port": "--ui-port", "is_opened": "--open"}


class UpOptions(Options):
    """The options of `podwright up`."""

    inputs: InputOptions = InputOptions.group()
    serving: ServingOptions = ServingOptions.group()
    files: FileOptions = FileOptions.group()
    scheduling: SchedulingOptions = SchedulingOptions.group()
    parts: PartOptions = PartOptions.group()
    kss: KssOptions = KssOptions.group()
    ui: UiOptions = UiOptions.group()

    @property
    def keeps_timelines(self) -> bool:
        """Whether the timeline of the scheduler is collected while the cluster runs."""
        return self.parts.has_scheduler and self.scheduling.timeline
