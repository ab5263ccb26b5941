"""`podwright up`: runs a cluster."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from podwright._private_files import exposures
from podwright.apimachinery.objects import FieldError, InputError
from podwright.cli.clusters.more_schedulers import more_schedulers
from podwright.cli.console import print_message, print_warnings, write_at_once
from podwright.cli.inputs import extender_caller, load_plugins, read_inputs, scheduler_options
from podwright.cli.kernel_loading import load_kernels
from podwright.cli.options import Setup
from podwright.cli.serving.custom_objects import undefined_kinds
from podwright.cli.serving.up_address import Endpoint, certificate_folder, endpoint_of
from podwright.cli.serving.up_inputs import (
    add_inputs,
    check_parts,
    declared_images,
    event_files,
    inputs_of,
    stages_of,
)
from podwright.cli.serving.up_page import PageOptions, open_page, page_of
from podwright.cli.serving.up_serving_options import ServingOptions
from podwright.cli.serving.up_shadow import record_in, shadow_feed, write_agreement
from podwright.cli.serving.up_simulator import SimulatorOptions, simulator_sites
from podwright.cli.serving.up_sync import Filling, background_of
from podwright.cluster.api.endpoints import (
    HISTORY,
    ServerOptions,
    User,
    bare_options,
    bare_store,
    served_plugins,
    static_tokens,
)
from podwright.cluster.store import ObjectStore, open_store
from podwright.online.apiserver import (
    ApiLatency,
    BreakCondition,
    ChangeRecord,
    Cluster,
    ClusterClock,
    ClusterOptions,
    ControlledParts,
    LatencyRule,
    PluginReload,
    ResultAnnotations,
    RunCollection,
    RunningScheduler,
    TurnLoop,
    bound_socket,
    check_kubeconfig,
    kubeconfig,
    new_cluster,
    read_condition,
    serve,
    write_kubeconfig,
)
from podwright.online.client import ClusterAccess

_BARE_TOKEN = "admin-token"
_COMMANDS = (
    "get nodes",
    "create deployment web --image=nginx --replicas=3",
    "get pods -o wide",
)
_DEMO = (
    "get pods -o wide",
    "describe pod training                # why it is pending",
    "taint nodes node-large dedicated-    # now a node fits",
    "get pod training -o wide",
    "scale deployment web --replicas=12",
    "drain node-b --ignore-daemonsets",
)
"""What to try in the cluster of `--demo`."""


@dataclass(frozen=True, kw_only=True)
class UpOptions:
    """The options of the command, besides those of the scheduler."""

    files: tuple[str, ...]
    images: tuple[Path, ...]
    filling: Filling
    events: tuple[str, ...]
    more_configs: tuple[Path, ...]
    is_demo: bool
    nodes: int
    has_storage_class: bool
    serving: ServingOptions
    kubeconfig: Path
    db: Path | None
    record: Path | None
    record_bytes: int
    record_files: int
    runs: Path | None
    shadow: Path | None
    annotates_results: bool
    speed: float
    log_events: int | None
    keeps_timelines: bool
    has_scheduler: bool
    has_controllers: bool
    has_lifecycle: bool
    is_bare: bool
    page: PageOptions
    simulator: SimulatorOptions
    latency: tuple[LatencyRule, ...]
    breakpoints: tuple[BreakCondition, ...]
    has_reload: bool


def run_up(options: UpOptions, setup: Setup) -> None:
    """Run a cluster until the process is interrupted.

    Raises
    ------
    InputError
        If the inputs are not valid.
    ServingError
        If the port cannot be served, or the certificates cannot be used.
    CertificateError
        If the certificates cannot be read or written.
    KubeconfigError
        If the kubeconfig cannot be written.
    UnusableStore
        If the database cannot be read or written.
    UnwritableRecord
        If the record exists already, or cannot be written.
    MissingLiveError, ConnectionSettingsError, UnreachableCluster, RejectedRequest
        If the cluster to follow cannot be read.
    """
    # Before the files are read, so that no change is missed.
    reload = _plugin_reload(setup) if options.has_reload else None
    check_kubeconfig(options.kubeconfig)
    print_warnings(_exposures(options))
    inputs = read_inputs(
        options.files, setup, is_served=True, imported=options.filling.imported_source()
    )
    others = more_schedulers(options.more_configs, inputs, setup)
    events = event_files(options.events)
    with ExitStack() as stack:
        listening = stack.enter_context(bound_socket(options.serving.address, options.serving.port))
        endpoint = endpoint_of(options.serving, options.db, options.simulator.origins)
        address = endpoint.url(listening.getsockname()[1])
        token = _BARE_TOKEN if options.is_bare else secrets.token_urlsafe(24)
        store = stack.enter_context(closing(_store(options, setup)))
        shadow = None if options.shadow is None else shadow_feed(inputs)
        path = options.record if options.shadow is None else record_in(options.shadow)
        record = None if path is None else stack.enter_context(closing(_record(path, options)))
        credentials = {"authorization": f"Bearer {token}"}
        results = ResultAnnotations(credentials) if options.annotates_results else None
        followers = [one for one in (record, shadow, results) if one is not None]
        clock = ClusterClock(speed=options.speed)
        clock.pause()  # until the cluster is served
        start_ns = clock.now_ns()
        timed = inputs_of(
            inputs,
            events,
            setup,
            nodes=options.nodes,
            has_storage_class=(
                options.has_storage_class and options.has_controllers and not options.filling.source
            ),
            has_drivers=options.has_controllers and options.has_lifecycle,
            store=store,
            start_ns=start_ns,
        )
        check_parts(
            timed, has_controllers=options.has_controllers, has_lifecycle=options.has_lifecycle
        )
        if options.is_bare:
            bare_store(start_ns, store=store)
        scheduler = scheduler_options(inputs, setup)
        sites, simulator = simulator_sites(
            options.simulator,
            stack,
            address=options.serving.address,
            endpoint=endpoint,
            token=token,
        )
        cluster = new_cluster(
            scheduler,
            *others,
            now_ns=start_ns,
            options=ClusterOptions(
                has_scheduler=options.has_scheduler,
                has_controllers=options.has_controllers,
                has_lifecycle=options.has_lifecycle,
                images=declared_images(options.images),
                address=options.serving.address,
                port=listening.getsockname()[1],
                sign=endpoint.sign,
                certificates=endpoint.tls.authority.decode() if endpoint.tls else "",
                is_bare=options.is_bare,
                log_events=options.log_events,
                observes_plugins=bool(scheduler.plugins),
                keeps_timelines=options.keeps_timelines,
                stages=stages_of(inputs, timed, has_lifecycle=options.has_lifecycle),
            ),
            server_options=_server_options(options, token),
            call_extender=extender_caller(inputs.configuration, inputs.source),
            store=store,
        )
        _add_breakpoints(cluster, options.breakpoints)
        if options.has_scheduler:
            load_kernels()
        add_inputs(cluster, timed, start_ns)
        print_warnings(undefined_kinds(inputs.loaded, store))
        filling = background_of(options.filling, options.kubeconfig, speed=options.speed)
        # Last, so that a start that fails leaves the kubeconfig of the last cluster as it was.
        write_kubeconfig(options.kubeconfig, kubeconfig(address, token, endpoint.tls))
        page = stack.enter_context(page_of(options.page, _access(address, token, endpoint)))

        def started() -> None:
            _announce(options, address, simulator, page)
            if options.page.is_opened:
                open_page(page)

        def turns() -> TurnLoop:
            clock.resume()
            if options.speed == 1.0:
                # Clients compute ages with their own clocks, and a start can take long.
                clock.set_to_real_time()
            return TurnLoop(cluster, clock, followers)

        serve(
            turns,
            listening,
            started=started,
            tls=endpoint.context,
            hosts=endpoint.hosts,
            parts=ControlledParts(
                scheduler=partial(
                    RunningScheduler,
                    new_caller=extender_caller,
                    allowed_hosts=options.simulator.allowed_hosts,
                ),
                latency=ApiLatency(options.latency),
                shadow=shadow,
                reload=reload,
                runs=None if options.runs is None else RunCollection(options.runs),
                background=[
                    *(one.keep_up for one in (shadow, results) if one is not None),
                    *filling,
                ],
            ),
            sites=sites,
        )
    if shadow is not None and options.shadow is not None:
        write_agreement(options.shadow, shadow)
    print_message("stopped" if options.db is None else f"stopped; {options.db} has all objects")


def _exposures(options: UpOptions) -> Iterable[str]:
    certificates = certificate_folder(options.db) if options.serving.has_tls else None
    return exposures(options.db, options.record, options.runs, options.shadow, certificates)


def _plugin_reload(setup: Setup) -> PluginReload:
    files = setup.plugins
    return PluginReload(files, partial(load_plugins, files), print_message)


def _add_breakpoints(cluster: Cluster, conditions: Iterable[BreakCondition]) -> None:
    for condition in conditions:
        try:
            cluster.add_breakpoint(read_condition(condition.text, cluster.plugin_names()))
        except ValueError as error:
            raise InputError(
                [FieldError(source="options", path="--break", message=str(error))]
            ) from error


def _record(path: Path, options: UpOptions) -> ChangeRecord:
    return ChangeRecord(path, largest_bytes=options.record_bytes, kept_files=options.record_files)


def _store(options: UpOptions, setup: Setup) -> ObjectStore:
    if options.db is None:
        return ObjectStore(seed=setup.seed, **HISTORY)
    seed = setup.seed if "seed" in setup.given else None
    return open_store(options.db, seed=seed, **HISTORY)


def _server_options(options: UpOptions, token: str) -> ServerOptions:
    if options.is_bare:
        return bare_options()
    admin = User("admin", "admin-uid", ("system:masters", "system:authenticated"))
    tokens = (static_tokens({token: admin}),)
    if options.serving.has_tls:
        return ServerOptions(tokens=tokens, admission=served_plugins)
    # Clients that are built on client-go send no credentials over plain HTTP.
    return ServerOptions(tokens=tokens, anonymous=admin, admission=served_plugins)


def _access(address: str, token: str, endpoint: Endpoint) -> ClusterAccess:
    if endpoint.tls is None:
        return ClusterAccess(server=address, token=token)
    return ClusterAccess(
        server=address,
        token=token,
        authority=endpoint.tls.authority,
        server_name=endpoint.tls.server_name,
    )


def _announce(options: UpOptions, address: str, simulator: str, page: str) -> None:
    beside = f"Serving kube-scheduler-simulator's API at {simulator}\n" if simulator else ""
    beside += f"The web page is at {page}\n" if page else ""
    path = shlex.quote(str(options.kubeconfig.absolute()))
    commands = _DEMO if options.is_demo else _COMMANDS
    lines = "".join(f"  kubectl {command}\n" for command in commands)
    write_at_once(
        f"Serving the Kubernetes API at {address}\n{beside}Ctrl-C stops it.\n\n"
        f"Try in another terminal:\n  export KUBECONFIG={path}\n{lines}"
    )
