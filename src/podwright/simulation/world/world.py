"""A cluster in virtual time: objects, nodes and pods, controllers, the scheduler.

Theory of operation
-------------------
All objects are in one store. Every change of the store is delivered to all components, which
return actions. The world works in rounds (`world_rounds`). In a round it executes all pending
actions in the order in which they were returned. Then it delivers the resulting changes to each
component in turn: stages, the scheduler, which also receives the results of
its API calls, controllers, observers. The actions that they return are executed in the next round.
Rounds repeat until no actions and no changes are left, so the consequences of an event are
complete before the next event is processed.

A step (`world_steps`) selects what to process next:

1. events that are due now: operations of users, stages, delayed syncs, timers;
2. scheduling cycles, if the queue has pods to schedule;
3. the next item of the controllers' workqueues;
4. otherwise virtual time advances to the next due event.

Up to `ROUND_MAX` events of one type start a round together: due stages, or scheduling cycles. So
the scheduler continues while its pods are bound and its victims deleted, as upstream's does: it
relies on its assumed pods and receives the changes later. Operations of users are processed one
at a time, and so are syncs of controllers: no controller acts on stale state.

The order of events depends only on the state of the world. A world can be saved between any two
steps, and a world that is restored continues in the same way.

Scheduling cycles and writes take no virtual time, unless a timing model says how much
(`timing/model.py`): what it delays are events of the heap. A run without an end time is over when
only retries of unschedulable pods remain, or when so many scheduling cycles in a row were
unproductive that no progress can be expected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Unpack, get_args

import msgspec

from podwright._html import facts, section
from podwright._progress import metered
from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    Node,
    Pod,
    Time,
    check_time_ns,
    read_time,
    require_objects,
    require_type,
    shortest_time_text,
    timestamp_text,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import BOOTSTRAP_OBJECTS
from podwright.cluster.controllers import Controller, Lister, ReportFailure
from podwright.cluster.kubelets import ImageBehavior, Stage
from podwright.cluster.store import ObjectStore, kind_of
from podwright.scheduler.config import (
    ExtenderCall,
    ExtenderReply,
    KubeSchedulerConfiguration,
    format_duration,
)
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import (
    ExtenderReplied,
    Machine,
    MachineKeywords,
    PodActivated,
    SchedulerOptions,
    names_machine_keywords,
)
from podwright.scheduler.queueing import Touch
from podwright.simulation import world as room
from podwright.simulation.files import FieldValidation
from podwright.simulation.recording import DecisionLog, record
from podwright.simulation.world.clock import START_NS, Turn
from podwright.simulation.world.inputs.input_review import (
    InputReview,
    WorldReview,
    check_added,
    gated_kinds,
)
from podwright.simulation.world.inputs.operations import Apply, Delete, Operation, Put
from podwright.simulation.world.observers import Observer, checked_observers
from podwright.simulation.world.runs.report import Report, ReportObservers
from podwright.simulation.world.runs.run import Run
from podwright.simulation.world.timing.model import Timing
from podwright.simulation.world.world_components import (
    WorldComponents,
    WorldOptions,
    build_components,
)
from podwright.simulation.world.world_steps import WorldSteps


class World(WorldSteps):
    """A virtual cluster with its scheduler.

    Parameters
    ----------
    configuration : KubeSchedulerConfiguration or SchedulerOptions, optional
        As `read_configuration` returns it; the default profile if left out.
    plugins, gates, tie_rule, draws_preemption_offset, batching, assumed_pod_expiry
        As for `record`.
    seed : int
        Of all random draws: ties, delays, names.
    start : Time
        The initial virtual time; without it 2026-01-01T00:00:00Z.
    stages : iterable of Stage, optional
        The stages of nodes and pods; the built-in ones if left out.
    controllers : iterable of callable, optional
        Each makes a controller for a view of the cluster; all built-in ones if left out.
    call_extender : callable, optional
        Makes the calls to the extenders of the configuration; required if it has extenders.
        They are never called to bind: the world binds in their place.
    begin_extender_call : callable, optional
        Instead of `call_extender`, for drivers that must not wait: receives the number of a call
        and the call. The driver passes the reply to `extender_replied`. No report is made then.
    observers : iterable of Observer
        Receive changes, decisions or Kubernetes Events.
    log : str, optional
        The folder of the decision log; in memory without it.
    checkpoint_events : int, optional
        As for `record`.
    review : InputReview, optional
        The review of the inputs, for the report; without it, the added objects are reviewed.
    store : ObjectStore, optional
        The store of the world, which may have objects; an empty one if left out.
    has_scheduler : bool
        Whether the scheduler takes part; without it, another one schedules the pods.
    is_served : bool
        Whether an API server has the same store; see `Api`.
    has_kubelet : bool
        Whether kubelets run the pods in every detail; without them, stages do. The kubelets of a
        world that is served renew the leases of their nodes.
    images : iterable of ImageBehavior
        What is declared of the images that the kubelets run.
    report_failure : callable, optional
        As for `ControllerLoop`.
    timing : Timing, optional
        What takes virtual time; without it, scheduling and writes take none.
    read_ns : callable, optional
        Returns the reading of a clock that measures the scheduler, for its metrics only.
    components : WorldComponents, optional
        The components of a restored world; all other arguments are ignored then.

    Attributes
    ----------
    components : WorldComponents
        What the world consists of; to read.
    store : ObjectStore
        The objects; to read.
    machine : Machine
        The scheduler; to read.
    log : DecisionLog
        The events that the scheduler handled, and its actions.
    report_observers : ReportObservers
        What the report is made of.
    backlog : Backlog
        The work that a real clock has left behind.

    Examples
    --------
    >>> import podwright as pw
    >>> world = pw.World(seed=7)
    >>> world.add(pw.testing.make_node("n1", cpu="2"), pw.testing.make_pod("web", cpu="1"))
    >>> run = world.run()
    >>> run.node_of["default/web"]
    'n1'
    """

    @names_machine_keywords(shortest_time_text(START_NS))
    def __init__(  # noqa: PLR0913 - the options of a world
        self,
        configuration: KubeSchedulerConfiguration | SchedulerOptions | None = None,
        *,
        stages: Iterable[Stage] | None = None,
        controllers: Iterable[Callable[[Lister], Controller]] | None = None,
        call_extender: CallExtender | None = None,
        begin_extender_call: Callable[[int, ExtenderCall], None] | None = None,
        observers: Iterable[Observer] = (),
        log: str | None = None,
        checkpoint_events: int | None = None,
        review: InputReview | None = None,
        store: ObjectStore | None = None,
        has_scheduler: bool = True,
        is_served: bool = False,
        has_kubelet: bool = False,
        images: Iterable[ImageBehavior] = (),
        report_failure: ReportFailure | None = None,
        timing: Timing | None = None,
        read_ns: Callable[[], int] | None = None,
        components: WorldComponents | None = None,
        **keywords: Unpack[MachineKeywords],
    ) -> None:
        is_new = components is None
        if components is None:
            if not isinstance(configuration, SchedulerOptions):
                keywords.setdefault("start", shortest_time_text(START_NS))
            scheduler = SchedulerOptions.of(configuration, **keywords)
            check_time_ns(scheduler.start_ns, "start", scheduler.start_ns)
            recorder = record(
                None if log is None else str(log), scheduler, checkpoint_events=checkpoint_events
            )
            options = WorldOptions(
                stages=None if stages is None else tuple(stages),
                controllers=controllers,
                call_extender=call_extender,
                begin_extender_call=begin_extender_call,
                observers=checked_observers(observers),
                plugins=scheduler.plugins,
                review=review,
                has_scheduler=has_scheduler,
                is_served=is_served,
                has_kubelet=has_kubelet,
                images=tuple(images),
                report_failure=report_failure,
                timing=timing,
                read_ns=read_ns,
            )
            components = build_components(
                recorder, options, seed=scheduler.seed, start_ns=scheduler.start_ns, store=store
            )
        given = components.options.review
        self.report_observers = ReportObservers(self, {} if given is None else given.missing_owners)
        # Drivers that do not wait for extenders run for very long, and make no report.
        waits = components.options.begin_extender_call is None
        reporting = self.report_observers.observers if waits else ()
        super().__init__(components, (*components.options.observers, *reporting))
        self.store: ObjectStore = components.store
        self.machine: Machine = components.recorder.machine
        self.seed = components.seed
        self.start_ns = components.start_ns
        self.log: DecisionLog = components.recorder.log
        self.api = components.api
        self._review = WorldReview(components.options.stages, given, is_new=is_new)
        if is_new:
            for document in BOOTSTRAP_OBJECTS:
                obj = decode(document)
                if self.store.get(kind_of(obj), obj.key) is None:
                    self.add(obj)

    @property
    def now_ns(self) -> int:
        """The virtual time, in nanoseconds since 1970."""
        return self._heap.now_ns

    @property
    def pods(self) -> Sequence[Pod]:
        """All pods, in the order of namespaces and names."""
        return [obj for obj in self.store.list(Pod).objects if isinstance(obj, Pod)]

    @property
    def nodes(self) -> Sequence[Node]:
        """All nodes, in the order of names."""
        return [obj for obj in self.store.list(Node).objects if isinstance(obj, Node)]

    @property
    def draining_nodes(self) -> Collection[str]:
        """The nodes whose drains are in progress."""
        return self.components.controllers.draining_nodes

    @property
    def node_of(self) -> dict[NamespacedName, str]:
        """The node name of each pod that has one."""
        return {pod.key: pod.spec.node_name for pod in self.pods if pod.spec.node_name}

    def story(self, pod: NamespacedName) -> list[Touch]:
        """Return the recent events of `pod` (`namespace/name`) in the queue, oldest first."""
        return self.machine.story(pod)

    def __repr__(self) -> str:
        now = timestamp_text(self.now_ns)
        return f"<World at {now}: {self.store.count(Node)} nodes, {self.store.count(Pod)} pods>"

    def _repr_html_(self) -> str:
        counts = {"Nodes": self.store.count(Node), "Pods": self.store.count(Pod)}
        return section(f"World at {timestamp_text(self.now_ns)}", facts(counts))

    # -------------------------------------------------------------------- operations of users

    def add(
        self,
        *objects: KubernetesObject,
        at: Time | None = None,
        validate: FieldValidation = "strict",
    ) -> None:
        """Create objects, or replace those of the same names.

        Parameters
        ----------
        objects : KubernetesObject
            What to create or replace.
        at : Time, optional
            The virtual time of the operation; now without it.
        validate : str
            What is done about unknown fields of new objects: `strict` raises, `warn` issues a
            warning, `ignore` accepts them. Invalid values are always errors.

        Raises
        ------
        Rejection
            An object that the API server rejects, such as a pod whose priority class does not
            exist. With `at` it is raised when that time has come.
        InvalidObject
            An invalid object; none of the objects is written then.
        InputError
            If the time is not valid, or before the current time.
        """
        check_added(objects, validate)
        self._do([Apply(obj) for obj in objects], at)

    def remove(self, *objects: KubernetesObject, at: Time | None = None) -> None:
        """Delete objects, or start their graceful deletion; missing objects are ignored.

        Parameters
        ----------
        objects : KubernetesObject
            What to delete, found by kind and name.
        at : Time, optional
            The virtual time of the operation; now without it.
        """
        require_objects(objects)
        self._do([Delete(kind_of(obj), obj.key) for obj in objects], at)

    def do(self, operation: Operation, *, at: Time | None = None) -> None:
        """Execute an operation; one on a missing object is ignored.

        Parameters
        ----------
        operation : Operation
            What to do, such as `Scale` or `Drain`.
        at : Time, optional
            The virtual time of the operation; now without it.

        Raises
        ------
        ArgumentError
            If it is not an operation.
        InputError
            If the time is not valid, or before the current time.
        """
        require_type(operation, get_args(Operation), "operation", "an operation")
        kind = getattr(operation, "object_kind", ())
        require_type(kind, tuple, "operation.object_kind", 'a group and a kind, ("", "Pod")')
        self._do([operation], at)

    def _do(self, operations: Sequence[Operation], at: Time | None) -> None:
        at_ns = None
        if at is not None:
            at_ns = read_time(at, "at", start_ns=self.start_ns, first_ns=self.now_ns)
        for operation in operations:
            if isinstance(operation, Apply | Put):
                self._review.add(operation.obj)
            if at_ns is None:
                self._scheduler.unproductive_cycles = 0
                self.operate(operation)
                self._rounds.process()
            else:
                self._heap.push(at_ns, Turn.INPUT, operation)

    def extender_replied(self, call: int, reply: ExtenderReply) -> None:
        """Receive `reply` to the call number `call`, which was passed to `begin_extender_call`."""
        self._heap.push(self.now_ns, Turn.EXTENDER, ExtenderReplied(call, reply))

    def activate(self, pod: NamespacedName) -> None:
        """Move `pod`, a `namespace/name` that waits, to the active queue, as `PodActivated`."""
        self._heap.push(self.now_ns, Turn.EXTENDER, PodActivated(pod))

    # ------------------------------------------------------------------------------ copies

    def fork(self, *, observers: Iterable[Observer] = ()) -> World:
        """Return a world like this one, which continues independently.

        Its decision log is in memory and starts with the events so far. Its random draws are those
        that this world would make. Plugins with state get it by a replay of the events.

        Parameters
        ----------
        observers : iterable of Observer
            Receive what happens in the fork; those of this world do not.

        Raises
        ------
        CannotCopy
            If the scheduler waits for an extender, or a server drives the world.
        """
        return room.WorldCopy(self).world(tuple(observers))

    def __reduce__(self) -> tuple[Callable[..., World], tuple[object]]:
        """Pickle a world like a fork, without its observers."""
        return room.WorldCopy.world, (room.WorldCopy(self),)

    def review_so_far(self) -> WorldReview:
        """Return a copy of the review of the added objects."""
        return self._review.copy()

    def restore_review(self, review: WorldReview) -> None:
        """Continue `review`, that of a world that was copied."""
        self._review = review

    # ------------------------------------------------------------------------------ the run

    def run(self, until: Time | None = None, *, progress: bool | None = None) -> Run:
        """Process events until none is left, or until a time, and return the results.

        Parameters
        ----------
        until : Time, optional
            The end: a duration since the start of the world, or a time.
        progress : bool, optional
            Whether to show the progress; by default in terminals and notebooks, if it takes long.

        Raises
        ------
        InputError
            If the time is not valid, or before the current time.
        WorldError
            If the events of one virtual time are endless.
        StageError
            If a stage cannot be applied.
        """
        self.run_until(until, progress=progress)
        return Run(
            self.log,
            machine=self.machine,
            pods=self.pods,
            start_ns=self.start_ns,
            end_ns=self.now_ns,
            plugins=self.components.options.plugins,
            report=self.report(),
        )

    def report(self) -> Report:
        """Return the report so far, without pods never tried; see `begin_extender_call`."""
        self._review.begin(self.store)
        timing = self.components.options.timing
        report = self.report_observers.report(self._review.review(), self.now_ns, timing)
        ignored = (*report.ignored_kinds, *gated_kinds(self.store, self.machine.gates))
        return msgspec.structs.replace(report, ignored_kinds=ignored)

    def run_until(self, until: Time | None = None, *, progress: bool | None = None) -> None:
        """Process events as `run` does, without results.

        Parameters
        ----------
        until : Time, optional
            The end: a duration since the start, or a time. Without it, until no event is left.
        progress : bool, optional
            Whether to show the progress; by default in terminals and notebooks, if it takes long.
        """
        self.run_until_ns(self._read_until(until), progress=progress)

    def run_until_ns(self, until_ns: int | None, *, progress: bool | None = None) -> None:
        """Process events until `until_ns`, nanoseconds since 1970; None: until none is left.

        `progress` is that of `run_until`.
        """
        begin_ns = self.now_ns
        total_ns = None if until_ns is None else until_ns - begin_ns
        with metered("simulating", total_ns, is_shown=progress) as meter:
            while self.step_until_ns(until_ns):
                meter.advance(
                    self.now_ns - begin_ns, lambda: format_duration(self.now_ns - self.start_ns)
                )
        if until_ns is not None and until_ns > self.now_ns and not self.is_stopped:
            self._advance_to(until_ns)

    def steps(self, until: Time | None = None) -> Iterator[int]:
        """Process events up to `until` as `run` does; yields the virtual time after every step."""
        until_ns = self._read_until(until)
        while self.step_until_ns(until_ns):
            yield self.now_ns

    def pass_idle_time(self, now_ns: int) -> None:
        """Advance to `now_ns` if nothing is due until then; what follows happens at that time."""
        due_ns = self.next_due_ns
        if now_ns > self.now_ns and (due_ns is None or due_ns > now_ns):
            self._advance_to(now_ns)

    def _read_until(self, until: Time | None) -> int | None:
        if until is None:
            return None
        return read_time(until, "until", start_ns=self.start_ns, first_ns=self.now_ns)

    def step(self, until: Time | None = None) -> bool:
        """Process the next events in a round, and all their consequences.

        Parameters
        ----------
        until : Time, optional
            Later events are left: a duration since the start, or a time.

        Returns
        -------
        bool
            False if no event is left, or none until that time.
        """
        return self.step_until_ns(self._read_until(until))

    def _before_advance(self) -> None:
        self._review.begin(self.store)
        self.report_observers.disruptions.passed(self.now_ns)
