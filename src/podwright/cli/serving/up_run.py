"""`podwright up`: runs a cluster."""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from podwright._private_files import PRIVATE, exposures, make_private_folder, replacing
from podwright.apimachinery.objects import FieldError, InputError, PodwrightError
from podwright.cli.clusters.cluster_inputs import ImportedSource
from podwright.cli.clusters.options import (
    SelectionOptions,
    address_of_source,
)
from podwright.cli.clusters.remote_work import warn_of_version
from podwright.cli.clusters.shadow_run import RECORD, print_agreement, warn_of_others
from podwright.cli.console import print_message, print_warnings, write_at_once
from podwright.cli.decisions.warm_up_run import kernels_in_background
from podwright.cli.file_reading import ErrorCollector
from podwright.cli.inputs import (
    Inputs,
    extender_caller,
    load_plugins,
    read_config_file,
    read_inputs,
    scheduler_options,
)
from podwright.cli.options import Setup
from podwright.cli.rule_options import with_rules
from podwright.cli.serving.page_run import open_page, page_of
from podwright.cli.serving.up_inputs import (
    add_inputs,
    check_parts,
    declared_images,
    event_files,
    inputs_of,
    stages_of,
    undefined_kinds,
)
from podwright.cli.serving.up_options import FileOptions, InputOptions, UpOptions
from podwright.cli.serving.up_simulator import (
    Endpoint,
    certificate_folder,
    endpoint_of,
    simulator_sites,
)
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
    PluginReload,
    ResultAnnotations,
    RunCollection,
    RunningScheduler,
    ScenarioController,
    ShadowFeed,
    TurnLoop,
    UnwritableRecord,
    bound_socket,
    check_kubeconfig,
    kubeconfig,
    new_cluster,
    read_condition,
    serve,
    write_kubeconfig,
)
from podwright.online.client import ClusterAccess, SyncPolicies
from podwright.scheduler.assembly import with_installed
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling import read_node_groups
from podwright.simulation.shadow import LiveShadow

if TYPE_CHECKING:
    from podwright.online.client.cluster import ClusterAddress

_BARE_TOKEN = "admin-token"
_COMMANDS = (
    "get nodes",
    "create deployment web --image=nginx --replicas=3",
    "get pods -o wide",
)
_BARE = (
    "get namespaces",
    "create configmap greeting --from-literal=hello=world",
    "get configmaps",
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


def run_up(options: UpOptions) -> None:
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
    given, files, parts = options.inputs, options.files, options.parts
    scheduling, setup = options.scheduling, options.scheduling.first_setup()
    # Before the files are read, so that no change is missed.
    reload = _plugin_reload(setup) if scheduling.reload else None
    check_kubeconfig(files.kubeconfig)
    print_warnings(_exposures(options))
    inputs = read_inputs(given.names(), setup, is_served=True, imported=_imported(given))
    others = more_schedulers(scheduling.configs[1:], inputs, setup)
    events = event_files(tuple(map(str, given.events)))
    with ExitStack() as stack:
        listening = stack.enter_context(bound_socket(options.serving.address, options.serving.port))
        endpoint = endpoint_of(options.serving, files.db, options.kss.cors_origin)
        address = endpoint.url(listening.getsockname()[1])
        token = _BARE_TOKEN if parts.bare else secrets.token_urlsafe(24)
        store = stack.enter_context(closing(_store(files.db, setup)))
        shadow = None if files.shadow is None else shadow_feed(inputs)
        path = files.record if files.shadow is None else record_in(files.shadow)
        record = None if path is None else stack.enter_context(closing(_record(path, files)))
        beside = _beside(options, shadow, {"authorization": f"Bearer {token}"})
        clock = ClusterClock(speed=parts.speed)
        clock.pause()  # until the cluster is served
        start_ns = clock.now_ns()
        timed = inputs_of(
            inputs,
            events,
            setup,
            nodes=given.nodes,
            has_storage_class=(
                given.default_storage_class and parts.has_controllers and not given.sync
            ),
            has_drivers=parts.has_controllers and parts.has_lifecycle,
            store=store,
            start_ns=start_ns,
        )
        check_parts(timed, has_controllers=parts.has_controllers, has_lifecycle=parts.has_lifecycle)
        if parts.bare:
            bare_store(start_ns, store=store)
        scheduler = scheduler_options(inputs, setup)
        sites, simulator = simulator_sites(
            options.kss,
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
                has_scheduler=parts.has_scheduler,
                has_controllers=parts.has_controllers,
                has_lifecycle=parts.has_lifecycle,
                images=declared_images(given.images),
                autoscaling=(
                    None if given.node_groups is None else read_node_groups(given.node_groups)
                ),
                address=options.serving.address,
                port=listening.getsockname()[1],
                sign=endpoint.sign,
                certificates=endpoint.tls.authority.decode() if endpoint.tls else "",
                is_bare=parts.bare,
                log_events=scheduling.log_events,
                observes_plugins=bool(scheduler.plugins),
                keeps_timelines=options.keeps_timelines,
                stages=stages_of(inputs, timed, has_lifecycle=parts.has_lifecycle),
            ),
            server_options=_server_options(options, token),
            call_extender=extender_caller(inputs.configuration, inputs.source),
            store=store,
        )
        _add_breakpoints(cluster, scheduling.conditions())
        stack.enter_context(kernels_in_background())
        add_inputs(cluster, timed, start_ns)
        print_warnings(undefined_kinds(inputs.loaded, store))
        filling = background_of(
            given, given.policies(is_shadow=shadow is not None), files.kubeconfig, speed=parts.speed
        )
        # Last, so that a start that fails leaves the kubeconfig of the last cluster as it was.
        write_kubeconfig(files.kubeconfig, kubeconfig(address, token, endpoint.tls))
        page = stack.enter_context(page_of(options.ui, _access(address, token, endpoint)))

        def started() -> None:
            _announce(options, address, simulator, page)
            if options.ui.is_opened:
                open_page(page)

        def turns() -> TurnLoop:
            clock.resume()
            if parts.speed == 1.0:
                # Clients compute ages with their own clocks, and a start can take long.
                clock.set_to_real_time()
            return TurnLoop(cluster, clock, [*([] if record is None else [record]), *beside])

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
                    allowed_hosts=options.kss.allow_extender,
                ),
                latency=ApiLatency(options.serving.latency_rules()),
                shadow=shadow,
                reload=reload,
                runs=None if files.runs is None else RunCollection(files.runs),
                background=[*(one.keep_up for one in beside), *filling],
            ),
            sites=sites,
        )
    if shadow is not None and files.shadow is not None:
        write_agreement(files.shadow, shadow)
    print_message("stopped" if files.db is None else f"stopped; {files.db} has all objects")


def _exposures(options: UpOptions) -> Iterable[str]:
    files = options.files
    certificates = certificate_folder(files.db) if options.serving.has_tls else None
    return exposures(files.db, files.record, files.runs, files.shadow, certificates)


def _annotates_results(options: UpOptions) -> bool:
    chosen = options.scheduling.annotate_results
    is_default = options.parts.has_scheduler and options.kss.kss_port is not None
    return is_default if chosen is None else chosen


def _imported(given: InputOptions) -> ImportedSource | None:
    return ImportedSource(given.imported, given.selection) if given.imported else None


def _beside(
    options: UpOptions, shadow: ShadowFeed | None, headers: Mapping[str, str]
) -> list[ShadowFeed | ResultAnnotations | ScenarioController]:
    """Return what follows the cluster and works beside its turns."""
    found: list[ShadowFeed | ResultAnnotations | ScenarioController] = []
    if shadow is not None:
        found.append(shadow)
    if _annotates_results(options):
        found.append(ResultAnnotations(headers))
    if options.parts.has_controllers and not options.parts.bare:
        found.append(ScenarioController(headers))
    return found


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


def _record(path: Path, files: FileOptions) -> ChangeRecord:
    largest, kept = files.record_rotate or 0, files.record_keep or 0
    return ChangeRecord(path, largest_bytes=largest, kept_files=kept)


def _store(db: Path | None, setup: Setup) -> ObjectStore:
    if db is None:
        return ObjectStore(seed=setup.seed, **HISTORY)
    seed = setup.seed if "seed" in setup.given else None
    return open_store(db, seed=seed, **HISTORY)


def _server_options(options: UpOptions, token: str) -> ServerOptions:
    if options.parts.bare:
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
    path = shlex.quote(str(options.files.kubeconfig.absolute()))
    is_bare = options.parts.bare
    commands = _BARE if is_bare else _DEMO if options.inputs.demo else _COMMANDS
    lines = "".join(f"  kubectl {command}\n" for command in commands)
    hint = f"Try in another terminal:\n  export KUBECONFIG={path}\n{lines}"
    if is_bare and not options.serving.has_tls:
        hint = (
            "kubectl needs --tls here, since it sends no token over plain HTTP; other clients find"
            f" the token in {path}\n"
        )
    write_at_once(f"Serving the Kubernetes API at {address}\n{beside}Ctrl-C stops it.\n\n{hint}")


# `podwright up --shadow`: compares the decisions of another scheduler with podwright's.

AGREEMENT: Final = "agreement.json"
"""The file of a shadow's folder that has the result, as `podwright shadow -o json` prints it."""


def record_in(folder: Path) -> Path:
    """Return the path of the record in a folder, which is created.

    Raises
    ------
    UnwritableRecord
        If the folder cannot be created, or has a record.
    """
    try:
        make_private_folder(folder)
    except OSError as error:
        raise UnwritableRecord(f"{folder}: cannot be created: {error.strerror or error}") from error
    path = folder / RECORD
    if path.exists():
        raise UnwritableRecord(f"{folder}: already has a record; name another folder with --shadow")
    return path


def shadow_feed(inputs: Inputs) -> ShadowFeed:
    """Return the comparison with the scheduler of the command line's configuration.

    Raises
    ------
    InputError
        If the configuration depends on something that is not in the record.
    """
    shadow = LiveShadow(
        configuration=inputs.configuration,
        gates=inputs.gates,
        plugins=inputs.plugins,
        source=inputs.source,
    )
    return ShadowFeed(shadow)


def write_agreement(folder: Path, feed: ShadowFeed) -> None:
    """Print the agreement, and write it into the folder.

    Raises
    ------
    UnwritableRecord
        If the file cannot be written.
    """
    report = feed.finish()
    warn_of_others(folder, feed.other_bindings)
    print_agreement(report)
    path = folder / AGREEMENT
    try:
        with replacing(path, PRIVATE) as file:
            file.write(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    except OSError as error:
        raise UnwritableRecord(f"{path}: cannot be written: {error.strerror or error}") from error
    print_message(f"{path} has the agreement; podwright shadow {folder} compares it again")


# The schedulers of further `--config` files, beside the first one.

MoreScheduler: TypeAlias = tuple[SchedulerOptions, CallExtender | None]
"""The options of a scheduler, and what makes the calls to its extenders."""


def more_schedulers(paths: Sequence[Path], first: Inputs, setup: Setup) -> list[MoreScheduler]:
    """Return the schedulers of further configurations.

    Parameters
    ----------
    paths : sequence of Path
        The configurations.
    first : Inputs
        The inputs of the first scheduler, whose plugins the others can use.
    setup : Setup

    Raises
    ------
    InputError
        With the errors of all configurations.
    """
    found: list[MoreScheduler] = []
    collected = ErrorCollector()
    for path in paths:
        with collected:
            configuration = with_rules(read_config_file(path), setup)
            configuration, installed = with_installed(configuration, first.plugins)
            inputs = first._replace(
                configuration=configuration,
                plugins=[*first.plugins, *(one.cls for one in installed)],
                source=str(path),
            )
            caller = extender_caller(configuration, inputs.source)
            found.append((scheduler_options(inputs, setup), caller))
    collected.raise_all()
    return found


# `podwright up`: what fills the cluster from another one, or from a record, while it is served.

Background: TypeAlias = Callable[[Any], Coroutine[Any, Any, None]]
"""What runs beside a turn loop."""


def background_of(
    inputs: InputOptions, policies: SyncPolicies, kubeconfig: Path, *, speed: float
) -> Sequence[Background]:
    """Return what fills the cluster; checks first that the source can be read.

    Parameters
    ----------
    inputs : InputOptions
    policies : SyncPolicies
    kubeconfig : Path
        Of the cluster that is served.
    speed : float
        How many seconds of a record a second is.

    Raises
    ------
    MissingLiveError
    InputError
        The record cannot be read.
    ConnectionSettingsError, UnreachableCluster, RejectedRequest
    """
    if not inputs.sync and inputs.replay is None:
        return ()
    from podwright.cli.clusters.options import check_installed

    check_installed()
    from podwright.online.client.cluster import ClusterAddress

    own = ClusterAddress(kubeconfig=str(kubeconfig), environment=dict(os.environ))
    if inputs.replay is not None:
        at = None if inputs.immediate or inputs.step else speed
        work = partial(_replay, inputs.replay, own, at, steps=inputs.step)
        return (_reported(work, "--replay"),)
    source = address_of_source(inputs.sync)
    asyncio.run(_check(source))
    return (_reported(partial(_follow, source, own, inputs.selection, policies), "--sync"),)


def _reported(work: Callable[[], Coroutine[Any, Any, None]], option: str) -> Background:
    async def run(_: object) -> None:
        try:
            await work()
        except PodwrightError as error:
            print_message(f"{option}: {error}; the cluster is served, and not filled any longer")

    return run


async def _check(source: ClusterAddress) -> None:
    from podwright.online.client.cluster import ReadConnection, cluster_identity

    async with ReadConnection(source) as connection:
        await warn_of_version(connection)
        await cluster_identity(connection)


async def _follow(
    source: ClusterAddress,
    own: ClusterAddress,
    selection: SelectionOptions,
    policies: SyncPolicies,
) -> None:
    from podwright.cli.clusters.sync_run import new_sync, scope_of
    from podwright.online.client.cluster import ReadConnection
    from podwright.online.sync import Target

    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(ReadConnection(source))
        target = await stack.enter_async_context(Target(own, "here", on_rejected=print_message))
        scope = await scope_of(connection, selection)
        sync = new_sync(connection, scope, policies)
        await sync.open([target])
        await sync.run()


async def _replay(path: Path, own: ClusterAddress, speed: float | None, *, steps: bool) -> None:
    from podwright.cli.clusters.record_run import Replay
    from podwright.online.sync import Target

    replay = Replay(speed, steps=steps)
    async with Target(own, "here") as target:
        await replay.run(path, target)
        replay.summarize(target)
