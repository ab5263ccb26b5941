"""A cluster: a world and an API server over one store.

Nothing here reads a clock: the driver passes the time of each request and of each slice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from podwright.api import QuotaEvaluators
from podwright.api.endpoints import (
    HISTORY,
    ApiServer,
    HttpReply,
    HttpRequest,
    KindSchemas,
    LegacyTokens,
    LongRequest,
    ServerOptions,
    User,
    Watch,
    add_missing_objects,
    put_objects,
    server_objects,
)
from podwright.apiserver.breakpoints import BreakCondition, Breakpoint, Breakpoints
from podwright.apiserver.defects import answered
from podwright.apiserver.event_objects import EventObjects
from podwright.apiserver.plugin_monitor import PluginMonitor
from podwright.config import ExtenderCall
from podwright.controllers import (
    NO_CERTIFICATE_AUTHORITY,
    RejectedWrite,
    SignRequest,
    served_controllers,
)
from podwright.framework import CallExtender, Plugin
from podwright.machine import Failure, SchedulerOptions
from podwright.objects import (
    KubernetesObject,
    Namespace,
    NamespacedName,
    ObjectMeta,
    Pod,
    PodwrightError,
    encode,
)
from podwright.recording import DecisionLog
from podwright.simulation import Apply, Observer, Operation, World, with_scheduler
from podwright.stages import Stage
from podwright.store import NAMESPACE, ObjectStore, UnusableStore, kind_of

LOGS_MAX: Final = 10
"""How many schedulers back, counting the present one, decisions can be explained."""

_BY_DRIVER: Final = 1 << 40
"""The number of events after which the log itself writes a checkpoint: never."""

_LOGGER: Final = logging.getLogger(__name__)


LOG_BLOCK_EVENTS: Final = 128
"""The number of events in a block of the decision log: encoding 1,024 takes 40 ms of a turn."""

LOG_EVENTS: Final = 500_000
"""How many events of the scheduler can be looked back at, unless an option says otherwise."""


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What takes part in a cluster.

    Attributes
    ----------
    has_scheduler : bool
        Whether podwright schedules pods.
    has_controllers : bool
        Whether the controllers of podwright run.
    has_lifecycle : bool
        Whether stages simulate the kubelets.
    stages : tuple of Stage, optional
        The stages of nodes and pods, which take precedence over simulated kubelets; the built-in
        ones if left out.
    certificates : str
        The certificates of the authority that signed the server's one, in PEM, which are published
        in each namespace; a comment that says that there are none if left out.
    sign : callable, optional
        Makes certificates for certificate requests; without it, requests are not signed.
    address, port : str, int
        Where the server is reached, for the endpoints of the Service `kubernetes`.
    is_bare : bool
        Whether pods have no service accounts; see `podwright.api.endpoints.bare`.
    log_events : int
        How many events of the scheduler, at least, can be looked back at. The decision log has up
        to twice as many.
    observes_plugins : bool
        Whether the calls of plugins are observed from the start; see `PluginMonitor`.
    """

    has_scheduler: bool = True
    has_controllers: bool = True
    has_lifecycle: bool = True
    stages: tuple[Stage, ...] | None = None
    certificates: str = ""
    sign: SignRequest | None = None
    address: str = "127.0.0.1"
    port: int = 8180
    is_bare: bool = False
    log_events: int = LOG_EVENTS
    observes_plugins: bool = False


SERVICE: Final = ("", "Service")
BAD_REQUEST: Final = 400

_ADMINISTRATOR: Final = User("podwright", groups=("system:masters", "system:authenticated"))
_SET_BY_SERVER: Final = frozenset({"uid", "resourceVersion", "managedFields", "creationTimestamp"})


class RejectedService(PodwrightError):  # noqa: N818 - named for what it is
    """A Service that the API server rejects, for example because its address is taken."""


class Cluster:
    """A world that is served.

    Parameters
    ----------
    world : World
        Whose store is served.
    server : ApiServer
        Over the same store.
    events : EventObjects
        An observer of the world.
    scheduler : SchedulerOptions
        Of the scheduler of the world.
    call_extender : callable, optional
        Makes the calls of `extender_calls`.
    extender_calls : list of (int, ExtenderCall), optional
        The list to which the world adds calls to extenders.
    breakpoints : Breakpoints, optional
        An observer of the world; without it, there are no breakpoints.

    Attributes
    ----------
    extender_calls : list of (int, ExtenderCall)
        Calls to extenders that the driver has to begin, outside the turn loop. It removes them,
        and passes the replies to `World.extender_replied`.
    logs : list of DecisionLog
        The decision logs of the schedulers so far; the last one is that of the present one.
    breakpoints : Breakpoints
        While the cluster has stopped at one, the world does not go on.
    monitor : PluginMonitor
        Of the plugins of the present scheduler.
    """

    def __init__(
        self,
        world: World,
        server: ApiServer,
        events: EventObjects,
        *,
        scheduler: SchedulerOptions,
        call_extender: CallExtender | None = None,
        extender_calls: list[tuple[int, ExtenderCall]] | None = None,
        log_events: int = LOG_EVENTS,
        breakpoints: Breakpoints | None = None,
    ) -> None:
        self.world = world
        self.server = server
        self.events = events
        self.scheduler = scheduler
        self.call_extender = call_extender
        self.extender_calls = [] if extender_calls is None else extender_calls
        self.store: ObjectStore = world.store
        world.log.block_events = LOG_BLOCK_EVENTS
        self.logs = [world.log]
        self._log_plugins = [scheduler.plugins]
        self.breakpoints = Breakpoints() if breakpoints is None else breakpoints
        self.monitor = PluginMonitor(world, self.breakpoints)
        self.is_resting = False
        self._log_events = log_events
        self._last_checkpoint = 0

    def handle(self, request: HttpRequest, now_ns: int) -> HttpReply | Watch | LongRequest:
        """Authenticate and execute a request; one that takes long is only begun.

        Parameters
        ----------
        request : HttpRequest
        now_ns : int
            The time of the request, in nanoseconds since 1970.
        """
        return answered(self.server.begin, request, now_ns)

    def do(self, operation: Operation) -> None:
        """Execute an operation of a user now.

        Services are applied by the API server, which allocates their addresses and ports.

        Raises
        ------
        PodwrightError
            The operation is rejected.
        """
        if isinstance(operation, Apply) and kind_of(operation.obj) == SERVICE:
            self._apply_service(operation.obj)
        else:
            self.world.do(operation)

    def add_inputs(
        self,
        inputs: Iterable[tuple[int, Operation]],
        rejected: Callable[[Operation, PodwrightError], None],
    ) -> None:
        """Add operations of users with their times, in order of time.

        Parameters
        ----------
        inputs : iterable of (int, Operation)
        rejected : callable
            Receives the operations that the API rejects.
        """

        def operate(operation: Operation) -> None:
            try:
                if isinstance(operation, Apply) and kind_of(operation.obj) == SERVICE:
                    self._apply_service(operation.obj)
                else:
                    self.world.operate(operation)
            except UnusableStore:
                raise
            except PodwrightError as error:
                rejected(operation, error)

        self.world.add_inputs(inputs, operate=operate)

    def _apply_service(self, service: KubernetesObject) -> None:
        namespace = service.namespace
        if self.store.get(NAMESPACE, namespace) is None:
            self.world.operate(Apply(Namespace(metadata=ObjectMeta(name=namespace))))
        document = encode(service)
        document["metadata"] = {
            key: value for key, value in document["metadata"].items() if key not in _SET_BY_SERVER
        }
        request = HttpRequest(
            "PATCH",
            f"/api/v1/namespaces/{namespace}/services/{service.name}",
            "fieldManager=podwright&force=true",
            {"content-type": "application/apply-patch+yaml"},
            msgspec.json.encode(document),
        )
        reply = self.server.handle(request, _ADMINISTRATOR, self.world.now_ns)
        assert isinstance(reply, HttpReply), "the reply to a patch is no watch"
        if reply.status >= BAD_REQUEST:
            raise RejectedService(str(msgspec.json.decode(reply.body)["message"]))

    def catch_up(self, now_ns: int, is_over: Callable[[], bool]) -> bool:
        """Let the world process what is due, as long as the caller allows; see `World.catch_up`.

        Returns
        -------
        bool
            Whether nothing that is due is left.
        """
        self.server.advance(now_ns)
        if self.is_resting:
            return True
        if self.events.has_pending:  # of the last slice
            self.events.write(self.server, self.store, is_over)
            if is_over():
                return False
        if self.breakpoints.hit is not None:
            return True
        is_done = self.world.catch_up(now_ns, self.breakpoints.until_hit(is_over))
        if self.events.has_pending:
            self.events.write(self.server, self.store, is_over)
            return False  # the Events are changes, which the components receive
        return is_done

    def plugins_of(self, log: DecisionLog) -> tuple[type[Plugin], ...]:
        """Return the user's plugin classes that one of `logs` was recorded with."""
        found = next(index for index, each in enumerate(self.logs) if each is log)
        return self._log_plugins[found]

    def add_breakpoint(self, condition: BreakCondition) -> Breakpoint:
        """Add a breakpoint; one on the calls of plugins begins to observe them.

        Raises
        ------
        ValueError
            There are too many breakpoints.
        """
        added = self.breakpoints.add(condition)
        if condition.is_about_calls:
            self.monitor.start()
        return added

    def plugin_names(self) -> set[str]:
        """Return the names of the plugins that a profile of the scheduler enables."""
        profiles = self.world.machine.profiles.values()
        return {plugin.name for profile in profiles for plugin in profile.all_plugins()}

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether the driver should write a checkpoint: rest, `write_checkpoint`, and go on."""
        log, machine = self.world.log, self.world.machine
        if len(log) < self._last_checkpoint:  # of the scheduler before
            self._last_checkpoint = 0
        return (
            len(log) - self._last_checkpoint >= self._log_events
            and machine.can_snapshot
            # The state of these plugins cannot be restored from a checkpoint.
            and not machine.unrestorable
        )

    def write_checkpoint(self) -> None:
        """Write a checkpoint of the scheduler, and drop what is too old before an earlier one.

        It takes long, and may be called in a thread while the cluster rests (`is_resting`): the
        scheduler does nothing then, and the API is served.
        """
        log = self.world.log
        if log.checkpoint(self.world.machine, is_whole=True):
            self._last_checkpoint = len(log)
            log.drop_before_checkpoint(self._log_events)

    def change_scheduler(
        self, scheduler: SchedulerOptions, call_extender: CallExtender | None = None
    ) -> None:
        """Continue with another configuration of the scheduler; see `with_scheduler`.

        Parameters
        ----------
        scheduler : SchedulerOptions
        call_extender : callable, optional
            Makes the calls to the extenders of the configuration.

        Raises
        ------
        InputError
            The configuration is not valid; the present one stays.
        """
        self.world = with_scheduler(self.world, scheduler, checkpoint_events=_BY_DRIVER)
        self.world.machine.watch_failures(_log_failure)
        self.monitor.follow(self.world)
        self.world.log.block_events = LOG_BLOCK_EVENTS
        self.logs.append(self.world.log)
        self._log_plugins.append(scheduler.plugins)
        del self.logs[:-LOGS_MAX], self._log_plugins[:-LOGS_MAX]
        self.extender_calls.clear()
        self.scheduler = scheduler
        self.call_extender = call_extender

    @property
    def has_scheduler(self) -> bool:
        """Whether podwright schedules the pods."""
        return self.world.components.options.has_scheduler

    @property
    def next_due_ns(self) -> int | None:
        """When there is something to do next without a request; None for never."""
        is_held = self.is_resting or self.breakpoints.hit is not None
        world_ns = None if is_held else self.world.next_due_ns
        due = (world_ns, self.server.next_due_ns)
        return min((each for each in due if each is not None), default=None)


def new_cluster(
    scheduler: SchedulerOptions,
    *,
    now_ns: int,
    options: ClusterOptions | None = None,
    server_options: ServerOptions | None = None,
    observers: Iterable[Observer] = (),
    call_extender: CallExtender | None = None,
    store: ObjectStore | None = None,
) -> Cluster:
    """Return a cluster in a store, with the objects that an API server creates at its start.

    Parameters
    ----------
    scheduler : SchedulerOptions
    now_ns : int
        The present time, in nanoseconds since 1970.
    options : ClusterOptions, optional
    server_options : ServerOptions, optional
        Of the API server.
    observers : iterable of Observer
        Of the world.
    call_extender : callable, optional
        Makes the calls to the extenders of the configuration. The turn loop calls it in threads.
    store : ObjectStore, optional
        The objects of the cluster; an empty store in memory if left out.
    """
    options = options or ClusterOptions()
    events, breakpoints = EventObjects(), Breakpoints()
    if store is None:
        store = ObjectStore(seed=scheduler.seed, **HISTORY)
    store.order_keys()
    server_options = msgspec.structs.replace(
        server_options or ServerOptions(), sends_lists_in_parts=True
    )
    add_missing_objects(store, now_ns)
    if not options.is_bare:
        parts = {
            "controller-manager": options.has_controllers,
            "scheduler": options.has_scheduler,
        }
        components = [name for name, runs in parts.items() if runs]
        shown = server_objects(options.address, options.port, now_ns, components=components)
        put_objects(store, shown, now_ns)
    api_server = ApiServer(store, server_options)
    extender_calls: list[tuple[int, ExtenderCall]] = []
    controllers = (
        served_controllers(
            options.certificates or NO_CERTIFICATE_AUTHORITY,
            LegacyTokens(store).issue,
            QuotaEvaluators(store),
            KindSchemas(api_server.resources),
            options.sign,
        )
        if options.has_controllers
        else ()
    )
    world = World(
        msgspec.structs.replace(scheduler, start_ns=now_ns),
        controllers=controllers,
        stages=options.stages if options.has_lifecycle else (),
        observers=(events, breakpoints, *observers),
        begin_extender_call=lambda number, call: extender_calls.append((number, call)),
        checkpoint_events=_BY_DRIVER,
        store=store,
        has_scheduler=options.has_scheduler,
        is_served=not options.is_bare,
        has_kubelet=options.has_lifecycle,
        report_failure=_log_controller_failure,
    )
    world.machine.watch_failures(_log_failure)
    cluster = Cluster(
        world,
        api_server,
        events,
        scheduler=scheduler,
        call_extender=call_extender,
        extender_calls=extender_calls,
        log_events=options.log_events,
        breakpoints=breakpoints,
    )
    if options.observes_plugins:
        cluster.monitor.start()
    return cluster


def _log_controller_failure(controller: str, key: NamespacedName, error: Exception) -> None:
    """Log what a controller could not do; it is tried again later."""
    is_defect = not isinstance(error, RejectedWrite)
    _LOGGER.log(
        logging.ERROR if is_defect else logging.WARNING,
        "%s could not sync %s, and tries again later: %s",
        controller,
        key,
        error,
        exc_info=error if is_defect else None,
    )


def _log_failure(pod: Pod, failure: Failure, now_ns: int) -> None:
    """Log an attempt that failed by an error, such as that of a plugin; rejections are not errors.

    Upstream: pkg/scheduler/schedule_one.go, handleSchedulingFailure
    """
    del now_ns
    if not failure.is_rejected:
        _LOGGER.error(
            "scheduling pod %s failed, and is tried again later: %s", pod.key, failure.message
        )
