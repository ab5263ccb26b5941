"""The machine: events in, actions out.

Theory of operation
-------------------
`handle(event, now_ns)` is the only entry point. It reads no clock, opens nothing and starts
nothing; the same events at the same times give the same actions, byte for byte.

A pod that one of the profiles is meant for is in exactly one place:

    ObjectPut ─► queue ──CycleDue──► cycle ──► assumed ──binding cycle──► bound
                   ▲                   │          │
                   └───────────────────┴──────────┘  failures

Three kinds of work run concurrently, and each waits for its own answers: the scheduling cycle
(`cycle`: one at a time), binding cycles (`binding_cycles`: one per assumed pod) and asynchronous
preemptions (`evictions`: one per preemptor). An event is first handled by the part that it
concerns. Work that becomes possible elsewhere by that, such as the binding of a waiting pod that
was allowed, is done at the end of the same event, in the order in which it became possible; so no
part is called in the middle of its own work.

The driver makes the calls, sends their answers and the changes of objects, sends `CycleDue`
while `has_next` is true, and keeps the clock: `TimerFired` at the time of a `WakeAt`,
`FlushBackoff` every second and `FlushUnschedulable` every 30 seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar, overload

from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    Object,
    ObjectDeleted,
    ObjectPut,
    Pod,
    without_pod_level_resources,
)
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import ApiCall, Decision, Members, Profile, Runner
from podwright.scheduler.machine.actions import Action, Bind, WakeAt
from podwright.scheduler.machine.cycles.binding import Binding
from podwright.scheduler.machine.cycles.binding_cycles import BindingCycles, request_call
from podwright.scheduler.machine.cycles.cycle import SchedulingCycles
from podwright.scheduler.machine.cycles.evictions import GROUP_HELD, HELD, is_held
from podwright.scheduler.machine.cycles.failure import Failure
from podwright.scheduler.machine.events import (
    CallDone,
    CycleDue,
    Event,
    ExtenderReplied,
    FlushBackoff,
    FlushUnschedulable,
    PodActivated,
    PodAllowed,
    PodRejected,
    TimerFired,
    object_key,
)
from podwright.scheduler.machine.metrics.machine_metrics import Metrics
from podwright.scheduler.machine.metrics.metric_snapshot import Levels, MetricsSnapshot
from podwright.scheduler.machine.options import DEFAULT_OPTIONS, SchedulerOptions
from podwright.scheduler.machine.plugin_state import PluginStates
from podwright.scheduler.machine.reporting import emit, emit_failed, emit_failed_call
from podwright.scheduler.machine.rules import QueueCallbacks, RuleSet, V136RuleSet
from podwright.scheduler.machine.snapshot import (
    MachineSnapshot,
    ObjectNumbering,
    capture,
    is_capturable,
    restore,
)
from podwright.scheduler.machine.state import State
from podwright.scheduler.queueing import PodQueue, SchedulingQueue, Touch


class Machine:
    """A scheduler without I/O.

    Parameters
    ----------
    profiles : mapping of str to Profile
        By schedulerName; pods of other schedulers are ignored.
    options : SchedulerOptions
        As `podwright.scheduler.assembly` fills them in from a configuration. Of the gates,
        SchedulerAsyncPreemption, NominatedNodeNameForExpectation and PodLevelResources matter
        here.
    rules : RuleSet, optional
        The rule set; that of kube-scheduler 1.36 with these options if left out.

    Attributes
    ----------
    cluster : Cluster
        Nodes and the pods on them; to read.
    queue : PodQueue
        Pending pods; to read.
    gates : Gates
        The feature gates.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        options: SchedulerOptions = DEFAULT_OPTIONS,
        *,
        rules: RuleSet | None = None,
    ) -> None:
        rules = V136RuleSet(options) if rules is None else rules
        self.gates = gates = options.gates
        parts = rules.build(profiles, QueueCallbacks(self._pod_of, self._run_pre_enqueue))
        self.cluster: Cluster = parts.cluster
        self.queue: PodQueue = parts.queue
        self._reads_pod_level_resources = "PodLevelResources" in gates
        self._rules = rules
        self._state = state = State(parts.cluster, parts.queue, parts.profiles)
        self._bindings = BindingCycles(
            state,
            announces_nodes="NominatedNodeNameForExpectation" in gates,
            assumed_pod_expiry_ns=options.assumed_pod_expiry_ns,
            bind_failed=rules.bind_failed,
        )
        self._evictions = rules.evictions(state, self._bindings)
        self._cycles = SchedulingCycles(
            state,
            self._bindings,
            self._evictions,
            keeps_nominations=rules.keeps_nominations,
            gates=gates,
        )
        self._handlers = rules.event_handlers(state, self._bindings)
        handle = MachineHandle(state, self._bindings)
        for profile in profiles.values():
            for plugin in profile.all_plugins():
                plugin.handle = handle
        self._plugin_states = PluginStates()
        self._announced_ns: int | None = None
        self._held: deque[Event] = deque()

    # ------------------------------------------------------------ the entry point

    def __repr__(self) -> str:
        cluster = self.cluster
        return (
            f"<Machine: {len(cluster.live_slots())} nodes, {len(cluster.pods)} pods on nodes,"
            f" {len(self.queue)} in the queue>"
        )

    def handle(self, event: Event, now_ns: int) -> list[Action]:
        """Handle an event, and return the actions to execute, in order.

        Parameters
        ----------
        event : Event
        now_ns : int
            The present, in nanoseconds since 1970; never less than before.
        """
        state = self._state
        state.now_ns = now_ns
        actions: list[Action] = []
        state.actions = actions
        if self._cycles.suspended is None:
            self._dispatch(event)
        else:
            self._held.append(event)
            self._resume_cycle()
        if state.ready:
            self._continue_bindings()
        if state.timers.heap:
            self._request_wake_up()
        return actions

    def repeat(self, event: Event, now_ns: int, actions: Iterable[Action]) -> list[Action]:
        """Handle an event whose actions are known, as of a record; see `handle`.

        A pod that they bind gets its node without a decision: `last_decision` has no counts and no
        total, and the metrics may count another path through the extension points.

        Parameters
        ----------
        event : Event
        now_ns : int
            As for `handle`.
        actions : iterable of Action
            Those that the event is known to have.
        """
        self._cycles.known_nodes = {
            action.pod: action.node for action in actions if isinstance(action, Bind)
        }
        try:
            return self.handle(event, now_ns)
        finally:
            self._cycles.known_nodes = {}

    def _dispatch(self, event: Event) -> None:
        # The most frequent types come first, since matching patterns takes three times as long.
        if type(event) is ObjectPut:
            obj = event.obj
            self._handlers.put(obj if self._reads_pod_level_resources else _as_read(obj))
            return
        if type(event) is CycleDue:
            self._cycles.run()
            return
        if type(event) is CallDone:
            self._call_done(event)
            return
        state = self._state
        match event:
            case ObjectDeleted(obj):
                self._handlers.delete(obj)
            case ExtenderReplied(call, reply):
                caller = state.calls.pop(call, None)
                if isinstance(caller, Binding):
                    self._bindings.extender_replied(caller, reply)
            case TimerFired():
                self._timers_fired()
            case FlushBackoff():
                state.queue.flush_backoff(state.now_ns)
            case FlushUnschedulable():
                state.queue.flush_unschedulable(state.now_ns)
            case PodAllowed() | PodRejected() | PodActivated():
                self._dispatch_to_pod(event)
            case _:
                raise AssertionError(f"no handler for {event}")

    def _dispatch_to_pod(self, event: PodAllowed | PodRejected | PodActivated) -> None:
        match event:
            case PodAllowed(pod, plugin):
                self._bindings.allow(self._uid_of(pod), plugin)
            case PodRejected(pod, plugin, message):
                self._bindings.reject(self._uid_of(pod), plugin, message)
            case PodActivated(pod):
                state = self._state
                found = state.pods.get(pod)
                if found is not None:
                    state.queue.activate((found,), state.now_ns)

    def _resume_cycle(self) -> None:
        """Resume the suspended cycle if its reply came last, then handle the held events."""
        cycles, held = self._cycles, self._held
        last = held[-1]
        if not cycles.waits_for(last):
            return
        # The reply overtakes the held events: the cycle ends on the cluster that it started with.
        held.pop()
        cycles.resume(last)
        while held and cycles.suspended is None:
            self._continue_bindings()
            self._dispatch(held.popleft())

    def _continue_bindings(self) -> None:
        """Continue the binding cycles that this event has unblocked."""
        ready = self._state.ready
        while ready:
            self._bindings.resume(ready.popleft())

    def _request_wake_up(self) -> None:
        due_ns = self._state.timers.next_due_ns()
        # Many events see the same first timer, whose WakeAt is requested once.
        if due_ns is not None and due_ns != self._announced_ns:
            self._announced_ns = due_ns
            self._state.actions.append(WakeAt(due_ns))

    def _call_done(self, done: CallDone) -> None:
        # A binding cycle that ended has removed its calls, and late answers are ignored.
        caller = self._state.calls.pop(done.call, None)
        if isinstance(caller, Binding):
            self._bindings.call_done(caller, done)
        elif caller is not None:
            self._evictions.call_done(caller, done)
        else:
            pod = self._state.requested.pop(done.call, None)
            if pod is not None and done.error is not None:
                emit_failed_call(self._state, pod, done.error.message)

    def _timers_fired(self) -> None:
        state = self._state
        while (timer := state.timers.pop_due(state.now_ns)) is not None:
            self._bindings.timer_fired(timer)

    def _uid_of(self, name: NamespacedName) -> str:
        pod = self._state.pods.get(name)
        return "" if pod is None else pod.metadata.uid

    # ------------------------------------------------------------ callbacks of the queue

    def _pod_of(self, name: NamespacedName) -> Pod | None:
        return self._state.pods.get(name)

    def _run_pre_enqueue(self, pod: Pod) -> tuple[str, tuple[str, ...]] | None:
        """Run PreEnqueue; a pod whose victims are still being deleted is gated, too."""
        state = self._state
        held = state.profiles[pod.spec.scheduler_name].run_pre_enqueue(pod, state.now_ns)
        if held is not None:
            point, plugin, status = held
            if not status.is_rejection:
                note = f'running {point} plugin "{plugin}": {status.failure}'
                emit_failed(state, pod, note)
            return plugin, status.reasons
        if state.evictions:
            eviction = is_held(state, self._cycles.groups.preemptor_of(pod))
            if eviction is not None:
                return eviction.plugin, (HELD if eviction.type == "pod" else GROUP_HELD,)
        return None

    # ------------------------------------------------------------ counting

    @property
    def metrics(self) -> Metrics:
        """The metrics; a driver reports to them what only it knows, such as real durations."""
        return self._state.metrics

    def metrics_snapshot(self) -> MetricsSnapshot:
        """Return all metrics as they are now; `render_text` writes them down."""
        state = self._state
        levels = Levels(
            nodes=state.cluster.nodes.n_alive,
            pods=len(state.cluster.pods),
            assumed_pods=len(state.assumed),
            binding=len(state.bindings),
            permit_waiting=len(state.waiting),
            preempting=len(state.evictions),
        )
        return state.metrics.snapshot(state.queue.metrics(), levels)

    # ------------------------------------------------------------ looking

    def watch_failures(
        self,
        observer: Callable[[Pod, Failure, int], None],
        ignored: Callable[[str], None] | None = None,
    ) -> None:
        """Call `observer` for every failed attempt: with the pod, the failure, and the time.

        They are called while the event is handled and must not change anything.

        Parameters
        ----------
        observer : callable
        ignored : callable, optional
            Called with the text of an error of a plugin that has no effect: at Unreserve and
            PostBind, and of `pod_ended`.
        """
        self._state.on_failure = observer
        self._state.on_ignored = ignored

    @property
    def has_next(self) -> bool:
        """Whether `CycleDue` would schedule a pod now."""
        return self._cycles.suspended is None and self.queue.has_next

    @property
    def is_suspended(self) -> bool:
        """Whether the scheduling cycle waits for a reply, so that other events are held."""
        return self._cycles.suspended is not None

    def defers(self, event: Event) -> bool:
        """Report whether `event` would be held until the suspended cycle is resumed."""
        return self._cycles.suspended is not None and not self._cycles.waits_for(event)

    @property
    def has_timers(self) -> bool:
        """Whether a pod waits for a timer: at Permit, or while it is bound."""
        return any(map(self._bindings.awaits, self._state.timers.heap))

    @property
    def next_flush_ns(self) -> int | None:
        """The first time at which a flush would move a pod; None: never."""
        return self.queue.next_due_ns()

    @property
    def last_decision(self) -> Decision | None:
        """The decision of the last scheduling cycle."""
        return self._cycles.last_decision

    @property
    def last_decisions(self) -> tuple[Decision, ...]:
        """The decisions of the last scheduling cycle, one per pod if it was that of a group."""
        return self._cycles.last_decisions

    @property
    def last_evaluations(self) -> tuple[Decision, ...]:
        """All decisions of the last cycle, also those on placements of a group that do not count.

        Each has its place in the order in which they were made.
        """
        return self._cycles.last_evaluations

    @property
    def profiles(self) -> dict[str, Profile]:
        """The profiles, by schedulerName."""
        return {name: running.profile for name, running in self._state.profiles.items()}

    def pod(self, name: NamespacedName) -> Pod | None:
        """Return the last version of the pod `name` (`namespace/name`) that the machine received.

        None if there is none.
        """
        return self._state.pods.get(name)

    def attempts_of(self, pod: Pod) -> int:
        """Return how often `pod` was attempted, if it waits, is attempted or is being bound.

        0 for other pods.
        """
        queue, uid = self.queue, pod.metadata.uid
        binding = self._state.bindings_by_uid.get(uid)
        if binding is not None:
            return binding.queued.attempts
        waiting = queue.get(pod.key)
        if waiting is not None and waiting.uid == uid:
            return waiting.attempts
        attempts = [queued.attempts for queued in queue.in_flight() if queued.uid == uid]
        return attempts[-1] if attempts else 0

    def objects(self) -> tuple[Object, ...]:
        """Return the last version of every object that the machine received, pods last."""
        return (*self._state.objects.values(), *self._state.pods.values())

    def objects_but_pods(self) -> Collection[Object]:
        """Return the last version of every object that is not a pod."""
        return self._state.objects.values()

    def pods(self) -> Mapping[NamespacedName, Pod]:
        """Return the last version of every pod, in order of arrival."""
        return MappingProxyType(self._state.pods)

    def runner(self, scheduler_name: str) -> Runner | None:
        """Return the runner of the profile `scheduler_name`, to explain with, or None."""
        profile = self._state.profiles.get(scheduler_name)
        return None if profile is None else profile.runner

    def search_positions(self) -> dict[str, object]:
        """Return where the next search of each profile starts; see `Runner.search_position`."""
        profiles = self._state.profiles
        return {name: profile.runner.search_position() for name, profile in profiles.items()}

    def assumed(self) -> dict[NamespacedName, str]:
        """Return the nodes of the assumed pods, by pod: those without confirmation."""
        bindings = self._state.assumed.values()
        return {binding.queued.key: binding.node for binding in bindings}

    def expired(self) -> tuple[NamespacedName, ...]:
        """Return the pods that were assumed for too long and not seen since, in order of arrival.

        Their bindings succeeded, and they count on no node.
        """
        uids = self._state.expired
        return tuple(key for key, pod in self._state.pods.items() if pod.metadata.uid in uids)

    def waiting(self) -> dict[NamespacedName, tuple[str, ...]]:
        """Return the pods that wait at Permit, with the plugins that have not allowed them."""
        return {pod.key: tuple(pod.pending) for pod in self._state.waiting.values()}

    def preempting(self) -> tuple[str, ...]:
        """Return the pods, and the uids of the pod groups, whose victims are still being removed.

        They are in the order in which their preemptions started.
        """
        preemptors = [eviction.preemptor for eviction in self._state.evictions.values()]
        return tuple(
            each.key if isinstance(each, Pod) else each.metadata.uid for each in preemptors
        )

    def story(self, name: NamespacedName) -> list[Touch]:
        """Return the latest queue operations on the pod `name` (`namespace/name`), oldest first."""
        return self.queue.story(name)

    # ------------------------------------------------------------ writing down

    @property
    def can_snapshot(self) -> bool:
        """Whether a snapshot can hold all unfinished work; see `snapshot`."""
        is_idle = self._cycles.suspended is None
        return is_idle and self._rules.can_snapshot and is_capturable(self._state)

    def watch_state(self, plugins: Collection[str]) -> None:
        """Record the current state of the plugins named in `plugins`, for `unrestorable`.

        The machine has to be new: this is the state that the plugins of a restored one have.
        """
        self._plugin_states = PluginStates(
            plugin
            for profile in self.profiles.values()
            for plugin in profile.all_plugins()
            if plugin.name in plugins
        )

    @property
    def unrestorable(self) -> tuple[str, ...]:
        """The names of the plugins with state that a restored machine would not have.

        Of the plugins that `watch_state` was called with.
        """
        return self._plugin_states.changed()

    def snapshot(self, objects: ObjectNumbering) -> MachineSnapshot:
        """Return the state of the machine as plain values; see `can_snapshot`.

        The state of plugins is not in it; see `unrestorable`.

        Parameters
        ----------
        objects : ObjectNumbering
            Gives numbers to the objects; they are to be kept with the snapshot.
        """
        assert self.can_snapshot, "the machine has unfinished work that a snapshot cannot hold"
        return capture(self._state, objects, self._announced_ns)

    def restore(self, snapshot: MachineSnapshot, objects: Mapping[int, KubernetesObject]) -> None:
        """Restore the state of `snapshot` into this machine, which must be new.

        Parameters
        ----------
        objects : mapping of int to object
            The objects by their numbers in the snapshot.
        """
        assert not self._state.objects, "only a new machine can be restored"
        restore(self._state, snapshot, objects)
        self._announced_ns = snapshot.announced_ns

    def validate(self) -> None:
        """Assert everything that must hold between two events; slow, for tests.

        Raises
        ------
        AssertionError
            With the pod and its story.
        """
        validate(self._state, being_tried=self._cycles.being_tried())


def _as_read(obj: Object) -> Object:
    """Return an object as it is read without the feature gate PodLevelResources."""
    return without_pod_level_resources(obj) if isinstance(obj, Pod) else obj


# The invariants that hold between two events.
#
# Each pod with the schedulerName of a profile is in exactly one place; every awaited answer
# belongs to a call that was made; and no pod counts on a node twice.


def validate(state: State, *, being_tried: frozenset[str] = frozenset()) -> None:
    """Assert every invariant.

    Parameters
    ----------
    being_tried : frozenset of str
        The uids of the pods whose cycle is suspended.

    Raises
    ------
    AssertionError
        With the pod and its story, if one is lost or is in two places.
    """
    state.queue.validate()
    assert not state.ready, f"{len(state.ready)} binding cycles were left behind"
    _no_pod_is_lost(state, being_tried)
    _bindings_agree(state)


def _no_pod_is_lost(state: State, being_tried: frozenset[str]) -> None:
    in_flight = {queued.uid for queued in state.queue.in_flight()}
    for key, pod in state.pods.items():
        if pod.spec.scheduler_name not in state.profiles:
            continue
        uid = pod.metadata.uid
        queued = state.queue.get(key)
        is_queued = queued is not None and queued.uid == uid
        is_under_way = uid in state.bindings_by_uid or uid in state.assumed or uid in being_tried
        if pod.spec.node_name:
            assert not is_queued, f"{key} has a node and is queued: {state.queue.story(key)}"
            continue
        if is_queued and uid in state.assumed and not isinstance(state.queue, SchedulingQueue):
            # Under the v1.16 rules an update queues an assumed pod again; its cycle is skipped.
            continue
        places = is_queued + is_under_way + (uid in state.expired)
        if uid in in_flight:
            assert is_under_way, f"{key} was popped and forgotten: {state.queue.story(key)}"
        if pod.metadata.deletion_timestamp is None:
            assert places == 1, f"{key} is in {places} places: {state.queue.story(key)}"
        else:
            assert places <= 1, f"{key} is in {places} places: {state.queue.story(key)}"


def _bindings_agree(state: State) -> None:
    for number, binding in state.bindings.items():
        assert number == binding.number, (number, binding.number)
    for uid, binding in state.assumed.items():
        assert uid == binding.uid, (uid, binding.uid)
        name = binding.queued.key
        placed = state.cluster.pods.get(name)
        if placed is None or placed.pod.metadata.uid != uid:
            # Its node is gone; it is counted again if the node comes back.
            assert binding.node not in state.cluster.nodes.slot_of or placed is not None, (
                f"{name} is assumed but counts nowhere"
            )
            continue
        node = state.cluster.nodes.names[placed.slot]
        assert node == binding.node, f"{name} is assumed on {binding.node}, not {node}"
    for call, caller in state.calls.items():
        waits = caller.call_numbers if hasattr(caller, "call_numbers") else caller.busy
        assert call in waits, f"nothing waits for call {call}"
        is_over = isinstance(caller, Binding) and caller.number not in state.bindings
        assert not is_over, f"call {call} is of a binding cycle that has ended"


# The machine as its plugins see it.

Kind = TypeVar("Kind", bound=KubernetesObject)


class MachineHandle:
    """What plugins can read and do in one machine; see `framework.handle`."""

    def __init__(self, state: State, bindings: BindingCycles) -> None:
        self._state = state
        self._bindings = bindings

    @property
    def binds(self) -> bool:
        """Always true: binding cycles follow."""
        return True

    @property
    def now_ns(self) -> int:
        """The time of the event that is being handled."""
        return self._state.now_ns

    @overload
    def find(self, kind: type[Kind], name: NamespacedName) -> Kind | None: ...
    @overload
    def find(self, kind: str, name: NamespacedName) -> KubernetesObject | None: ...
    def find(self, kind: type[Kind] | str, name: NamespacedName) -> KubernetesObject | None:
        """Return an object by `namespace/name`; None if there is none."""
        found = self._state.objects.get(object_key(kind, name))
        return found if isinstance(kind, str) or isinstance(found, kind) else None

    def members(self, plugin: str, group: Hashable) -> Members:
        """Return the pods for which a plugin's `group_of` returns `group`."""
        return self._state.groups.members(plugin, group)

    def waiting(self) -> tuple[str, ...]:
        """Return the uids of the pods that wait at Permit, in order of arrival."""
        return tuple(self._state.waiting)

    def allow(self, uid: str, plugin: str) -> None:
        """Allow a waiting pod on behalf of a plugin."""
        self._bindings.allow(uid, plugin)

    def reject(self, uid: str, plugin: str, message: str) -> None:
        """Reject a waiting pod on behalf of a plugin."""
        self._bindings.reject(uid, plugin, message)

    def device_class_of(self, resource: str) -> str:
        """Return the device class that backs an extended resource; "" if there is none."""
        return self._state.cluster.device_classes.class_of(resource)

    def request(self, call: ApiCall, pod: Pod | None = None) -> None:
        """Make a call to the API server for which nothing waits."""
        if pod is None:
            request_call(self._state, call)
        else:
            number = request_call(self._state, call, pod.key, pod.uid)
            self._state.requested[number] = pod

    def record_event(self, pod: Pod, reason: str, note: str) -> None:
        """Record a normal Event about a pod, with the action `Scheduling`."""
        emit(
            self._state,
            pod,
            "Normal",
            reason,
            "Scheduling",
            note,
            controller=pod.spec.scheduler_name,
        )

    def activate(self, pods: Iterable[Pod]) -> None:
        """Move pods to the active queue, whatever rejected them."""
        self._state.queue.activate(pods, self._state.now_ns)

    def count(self, metric: str, labels: tuple[str, ...]) -> None:
        """Add 1 to a counter."""
        self._state.metrics.count(metric, labels)

    def observe(self, metric: str, labels: tuple[str, ...], duration_ns: int) -> None:
        """Add a duration to a histogram."""
        self._state.metrics.observe(metric, labels, duration_ns)
