"""A cluster: a world and an API server over one store.

Nothing here reads a clock: the driver passes the time of each request and of each slice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    InputError,
    NamespacedName,
    Pod,
    PodwrightError,
)
from podwright.cluster.api.endpoints import (
    GATED_RESOURCES,
    HISTORY,
    METRICS_READER,
    METRICS_VERSIONS,
    ApiServer,
    HttpReply,
    HttpRequest,
    KindSchemas,
    LegacyTokens,
    LongRequest,
    ServerOptions,
    Watch,
    add_missing_objects,
    put_objects,
    server_objects,
)
from podwright.cluster.controllers import (
    NO_CERTIFICATE_AUTHORITY,
    RejectedWrite,
    SignRequest,
    served_controllers,
)
from podwright.cluster.kubelets import ImageBehavior, Stage
from podwright.cluster.store import ObjectStore, UnusableStore
from podwright.online.apiserver.breakpoints import BreakCondition, Breakpoint, Breakpoints
from podwright.online.apiserver.event_objects import EventObjects
from podwright.online.apiserver.free_memory import release_free_memory
from podwright.online.apiserver.scheduling.plugin_monitor import PluginMonitor
from podwright.online.apiserver.scheduling.served_scheduler import (
    CHECKPOINT_BY_DRIVER,
    ServedScheduler,
    repeated_names,
)
from podwright.online.apiserver.wire.defects import answered
from podwright.scheduler.config import GATES, ExtenderCall
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling import Autoscaling, ClusterAutoscaler
from podwright.simulation.world import InputReview, Observer, Operation, World

_LOGGER: Final = logging.getLogger(__name__)


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
    images : tuple of ImageBehavior
        What is declared of the images that simulated kubelets run.
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
        Whether pods have no service accounts; see `podwright.cluster.api.endpoints.served.bare`.
    log_events : int, optional
        How many events of each scheduler, at least, can be looked back at. A decision log has up
        to twice as many. Left out, it has `LOG_EVENTS` or `LOG_BYTES`, and a quarter more.
    observes_plugins : bool
        Whether the calls of plugins are observed from the start; see `PluginMonitor`.
    autoscaling : Autoscaling, optional
        The node groups of an autoscaler that takes part.
    keeps_timelines : bool
        Whether the timelines of the schedulers are collected while they run, so that they need no
        replay.
    """

    has_scheduler: bool = True
    has_controllers: bool = True
    has_lifecycle: bool = True
    images: tuple[ImageBehavior, ...] = ()
    stages: tuple[Stage, ...] | None = None
    certificates: str = ""
    sign: SignRequest | None = None
    address: str = "127.0.0.1"
    port: int = 8180
    is_bare: bool = False
    log_events: int | None = None
    observes_plugins: bool = False
    autoscaling: Autoscaling | None = None
    keeps_timelines: bool = False


class Cluster:
    """A world that is served, and the schedulers beside its own one.

    Parameters
    ----------
    schedulers : sequence of ServedScheduler
        The first one is that of the world whose store is served.
    server : ApiServer
        Over the same store.
    events : EventObjects
        An observer of all worlds.
    breakpoints : Breakpoints
        Another observer of all worlds.
    autoscaling : Autoscaling, optional
        The node groups of an autoscaler that takes part.

    Attributes
    ----------
    is_resting : bool
        Whether the worlds do nothing, for example while a checkpoint is written.
    breakpoints : Breakpoints
        While the cluster has stopped at one, the worlds do not continue.
    """

    def __init__(
        self,
        schedulers: Sequence[ServedScheduler],
        server: ApiServer,
        events: EventObjects,
        breakpoints: Breakpoints,
        autoscaling: Autoscaling | None = None,
    ) -> None:
        self.schedulers = tuple(schedulers)
        self.autoscaling = autoscaling
        self.server = server
        self.events = events
        self.store: ObjectStore = self.world.store
        self.breakpoints = breakpoints
        breakpoints.attempt_of = self._attempt_of
        self.is_resting = False
        self._turn = 0
        self._is_in_round = False

    @property
    def world(self) -> World:
        """The world with the controllers, the kubelets and the first scheduler."""
        return self.schedulers[0].world

    def scheduler_of(self, scheduler_name: str) -> ServedScheduler | None:
        """Return the scheduler of the pods with a schedulerName; None if there is none."""
        return next((each for each in self.schedulers if scheduler_name in each.names), None)

    @property
    def scheduler(self) -> SchedulerOptions:
        """The options of the first scheduler."""
        return self.schedulers[0].options

    @property
    def monitor(self) -> PluginMonitor:
        """The monitor of the plugins of the first scheduler."""
        return self.schedulers[0].monitor

    @property
    def scheduler_names(self) -> tuple[str, ...]:
        """The schedulerNames of the pods that are scheduled."""
        return tuple(name for each in self.schedulers for name in each.names)

    def handle(self, request: HttpRequest, now_ns: int) -> HttpReply | Watch | LongRequest:
        """Authenticate and execute a request; one that takes long is only started.

        Parameters
        ----------
        request : HttpRequest
        now_ns : int
            The time of the request, in nanoseconds since 1970.
        """
        return answered(self.server.begin, request, now_ns)

    def do(self, operation: Operation) -> None:
        """Execute an operation of a user now.

        Raises
        ------
        PodwrightError
            The operation is rejected.
        """
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
                self.world.operate(operation)
            except UnusableStore:
                raise
            except PodwrightError as error:
                rejected(operation, error)

        self.world.add_inputs(inputs, operate=operate)

    @property
    def late_steps(self) -> int | None:
        """How many steps the first world has done for all kinds of work; None if it is not late.

        See `podwright.simulation.world.world_steps`.
        """
        backlog = self.world.backlog
        is_going = backlog.is_late and not self.is_resting and self.breakpoints.hit is None
        return backlog.steps if is_going else None

    def begin_turn(self, now_ns: int) -> None:
        """Let the time of idle worlds pass, so that a turn's requests are not in its past."""
        if not self.is_resting:
            for each in self.schedulers:
                each.world.pass_idle_time(now_ns)

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
        is_done = self._catch_up_worlds(now_ns, self.breakpoints.until_hit(is_over))
        if self.events.has_pending:
            self.events.write(self.server, self.store, is_over)
            return False  # the Events are changes, which the components receive
        return is_done

    def add_breakpoint(self, condition: BreakCondition) -> Breakpoint:
        """Add a breakpoint; one on the calls of plugins starts to observe them.

        Raises
        ------
        ValueError
            There are too many breakpoints.
        """
        added = self.breakpoints.add(condition)
        if condition.is_about_calls:
            for each in self.schedulers:
                each.monitor.start()
        return added

    def plugin_names(self) -> set[str]:
        """Return the names of the plugins that a profile of a scheduler enables."""
        return {
            plugin.name
            for each in self.schedulers
            for profile in each.world.machine.profiles.values()
            for plugin in profile.all_plugins()
        }

    def _attempt_of(self, pod: Pod) -> int:
        scheduler = self.scheduler_of(pod.spec.scheduler_name)
        return 0 if scheduler is None else scheduler.monitor.attempt_of(pod)

    def _catch_up_worlds(self, now_ns: int, is_over: Callable[[], bool]) -> bool:
        if len(self.schedulers) == 1:
            return self.world.catch_up(now_ns, is_over)
        count = len(self.schedulers)
        is_done = True
        for _ in range(count):
            world = self.schedulers[self._turn % count].world
            is_done &= world.catch_up(now_ns, self._end_of_round(world, is_over))
            self._is_in_round = not world.is_between_steps
            if self._is_in_round:
                # Its bindings are not written yet: no other scheduler may use the same room.
                return False
            # The next slice starts with another world, so that none waits until the first is done.
            self._turn += 1
            if is_over():
                return False
        # Each world has to receive what those after it have written.
        return is_done and all(each.world.is_between_steps for each in self.schedulers)

    def _end_of_round(self, world: World, is_over: Callable[[], bool]) -> Callable[[], bool]:
        """Return a function that also ends a slice at the end of a round that started before it."""
        if not self._is_in_round:
            return is_over
        return lambda: world.is_between_steps or is_over()

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether the driver should write a checkpoint: rest, `write_checkpoint`, and continue."""
        return any(each.is_checkpoint_due for each in self.schedulers)

    def write_checkpoint(self) -> None:
        """Write the checkpoints of schedulers that are due.

        It takes long, and may be called in a thread while the cluster rests (`is_resting`): the
        schedulers do nothing then, and the API is served.
        """
        for each in self.schedulers:
            if each.is_checkpoint_due:
                each.write_checkpoint()
        release_free_memory()

    def change_scheduler(
        self,
        scheduler: SchedulerOptions,
        call_extender: CallExtender | None = None,
        *,
        served: ServedScheduler | None = None,
    ) -> None:
        """Continue with another configuration of a scheduler; see `with_scheduler`.

        Parameters
        ----------
        scheduler : SchedulerOptions
        call_extender : callable, optional
            Makes the calls to the extenders of the configuration.
        served : ServedScheduler, optional
            The scheduler; the first one if left out.

        Raises
        ------
        InputError
            The configuration is not valid, or has a schedulerName that another scheduler of the
            cluster has; the current one stays.
        """
        served = served or self.schedulers[0]
        others = [each.options for each in self.schedulers if each is not served]
        repeated = repeated_names(scheduler, others)
        if repeated:
            raise InputError(repeated)
        served.change(scheduler, call_extender)

    @property
    def has_scheduler(self) -> bool:
        """Whether podwright schedules the pods."""
        return self.world.components.options.has_scheduler

    @property
    def next_due_ns(self) -> int | None:
        """When there is something to do next without a request; None for never."""
        due = [self.server.next_due_ns]
        if not self.is_resting and self.breakpoints.hit is None:
            due += [each.world.next_due_ns for each in self.schedulers]
        return min((each for each in due if each is not None), default=None)


def new_cluster(
    scheduler: SchedulerOptions,
    *more: tuple[SchedulerOptions, CallExtender | None],
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
        Of the first scheduler.
    *more : tuple of SchedulerOptions and callable
        Of each further scheduler, with what makes the calls to its extenders. It schedules the
        pods that have its schedulerNames.
    now_ns : int
        The current time, in nanoseconds since 1970.
    options : ClusterOptions, optional
    server_options : ServerOptions, optional
        Of the API server.
    observers : iterable of Observer
        Of the world.
    call_extender : callable, optional
        Makes the calls to the extenders of the configuration. The turn loop calls it in threads.
    store : ObjectStore, optional
        The objects of the cluster; an empty store in memory if left out.

    Raises
    ------
    InputError
        Two schedulers have the same schedulerName.
    """
    everyone = [scheduler, *(each for each, _ in more)]
    repeated = [
        error
        for index, each in enumerate(everyone)
        for error in repeated_names(each, everyone[:index])
    ]
    if repeated:
        raise InputError(repeated)
    options = options or ClusterOptions()
    events, breakpoints = EventObjects(), Breakpoints()
    if store is None:
        store = ObjectStore(seed=scheduler.seed, **HISTORY)
    store.order_keys()
    server_options = server_options or ServerOptions()
    gated = [each for gate, each in GATED_RESOURCES.items() if gate in scheduler.gates]
    if options.has_lifecycle:
        gated.append(METRICS_VERSIONS)  # of pods that run, and declare what they use
    server_options = msgspec.structs.replace(
        server_options,
        group_versions=(*server_options.group_versions, *chain.from_iterable(gated)),
        disabled_gates=frozenset(gate for gate in GATES if gate not in scheduler.gates),
        sends_lists_in_parts=True,
    )
    add_missing_objects(
        store,
        now_ns,
        [METRICS_READER] if options.has_lifecycle else (),
        group_versions=server_options.group_versions,
        disabled_gates=server_options.disabled_gates,
    )
    if not options.is_bare:
        parts = {
            "controller-manager": options.has_controllers,
            "scheduler": options.has_scheduler,
        }
        components = [name for name, runs in parts.items() if runs]
        shown = server_objects(options.address, options.port, components=components)
        put_objects(store, shown, now_ns)
    api_server = ApiServer(store, server_options)
    extender_calls: list[tuple[int, ExtenderCall]] = []
    controllers = (
        served_controllers(
            options.certificates or NO_CERTIFICATE_AUTHORITY,
            LegacyTokens(store).issue,
            KindSchemas(api_server.resources),
            api_server.allows_approval,
            options.sign,
            has_kubelets=options.has_lifecycle,
        )
        if options.has_controllers
        else ()
    )
    if options.autoscaling is not None:
        autoscaler = partial(
            ClusterAutoscaler, autoscaling=options.autoscaling, scheduler=scheduler
        )
        controllers = (*controllers, autoscaler)
    world = World(
        msgspec.structs.replace(scheduler, start_ns=now_ns),
        controllers=controllers,
        stages=options.stages if options.has_lifecycle else (),
        observers=(events, breakpoints, *observers),
        begin_extender_call=lambda number, call: extender_calls.append((number, call)),
        checkpoint_events=CHECKPOINT_BY_DRIVER,
        store=store,
        review=InputReview(),  # of a report, which a server does not write
        has_scheduler=options.has_scheduler,
        is_served=not options.is_bare,
        has_kubelet=options.has_lifecycle,
        images=options.images,
        report_failure=_log_controller_failure,
    )
    world.api.keep_owners(api_server.component_owners)
    world.api.allocate_by(api_server.allocators)
    first = ServedScheduler(
        world,
        scheduler,
        breakpoints,
        call_extender=call_extender,
        extender_calls=extender_calls,
        log_events=options.log_events,
        keeps_timeline=options.keeps_timelines,
    )
    others = []
    for further, caller in more:
        other = _beside(world, further, caller, (events, breakpoints), options)
        other.world.api.keep_owners(api_server.component_owners)
        other.world.api.allocate_by(api_server.allocators)
        others.append(other)
    if options.observes_plugins:
        for each in (first, *others):
            each.monitor.start()
    return Cluster((first, *others), api_server, events, breakpoints, options.autoscaling)


def _beside(
    world: World,
    scheduler: SchedulerOptions,
    call_extender: CallExtender | None,
    observers: tuple[EventObjects, Breakpoints],
    options: ClusterOptions,
) -> ServedScheduler:
    """Return a scheduler in a world that has nothing else, over the store of another world."""
    calls: list[tuple[int, ExtenderCall]] = []
    beside = World(
        msgspec.structs.replace(scheduler, start_ns=world.now_ns),
        controllers=(),
        stages=(),
        observers=observers,
        begin_extender_call=lambda number, call: calls.append((number, call)),
        checkpoint_events=CHECKPOINT_BY_DRIVER,
        store=world.store,
        review=InputReview(),
        is_served=world.components.options.is_served,
        report_failure=_log_controller_failure,
    )
    return ServedScheduler(
        beside,
        scheduler,
        observers[1],
        call_extender=call_extender,
        extender_calls=calls,
        log_events=options.log_events,
        keeps_timeline=options.keeps_timelines,
    )


def _log_controller_failure(controller: str, key: NamespacedName, error: Exception) -> None:
    """Log what a controller could not do and tries again later, or a warning of it."""
    if isinstance(error, UserWarning):
        _LOGGER.warning("%s", error)
        return
    is_defect = not isinstance(error, RejectedWrite | PodwrightError)
    _LOGGER.log(
        logging.ERROR if is_defect else logging.WARNING,
        "%s could not sync %s, and tries again later: %s",
        controller,
        key,
        error,
        exc_info=error if is_defect else None,
    )
