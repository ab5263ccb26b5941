"""The state of a machine as plain values, for checkpoints.

Theory of operation
-------------------
Between two events the state of a machine is its objects, its queue, and its unfinished work.
`capture` returns all of it, with numbers in place of objects; `restore` fills a new machine, which
then handles every event as the old one would have. Derived state (columns, interned keys,
counters, cached results) is not captured: it is computed again, from objects in the same order.

Some state cannot be captured. A cycle or a binding that waits for an extender is a generator; a
binding that calls plugins may have any value in its cycle. In that case `capture` returns None,
and the caller tries again later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Protocol

import msgspec

from podwright.apimachinery.objects import (
    KubernetesObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    ResourceClaim,
)
from podwright.scheduler.columns import Cluster, PodKeys
from podwright.scheduler.framework import Code, Cycle, Status
from podwright.scheduler.machine.cycles.batching import BatchSnapshot
from podwright.scheduler.machine.cycles.binding import Binding, BindingStage
from podwright.scheduler.machine.cycles.eviction import Eviction, EvictionStage
from podwright.scheduler.machine.cycles.waiting import WaitingPod
from podwright.scheduler.machine.events import object_key
from podwright.scheduler.machine.metrics.metric_snapshot import Counts
from podwright.scheduler.machine.profiles import RunningProfile
from podwright.scheduler.machine.state import State, Timer
from podwright.scheduler.queueing import (
    PodQueue,
    QueuedPod,
    QueuedPodSnapshot,
    QueueName,
    QueueSnapshot,
    SchedulingQueue,
    queued_from,
    queued_snapshot,
)


class OnNode(msgspec.Struct, frozen=True, array_like=True):
    """A pod, and the name of the node that it is on, waits for, or is nominated to."""

    pod: int
    node: str


class BindingSnapshot(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A `Binding`.

    Parameters
    ----------
    is_under_way : bool
        False: it is over, and only the API server's confirmation is missing.
    has_uid : bool
        Whether it is the one that is found by the pod's uid.
    skipped_by_prefilter : tuple of str
        The plugins that PreFilter skipped; the others are called.
    """

    number: int
    queued: int
    pod: int
    node: str
    profile: str
    skipped_by_prefilter: tuple[str, ...]
    stage: str
    plugin_index: int
    skipped: tuple[str, ...]
    is_cancellable: bool
    cancelled: str
    call_numbers: tuple[int, ...]
    timer: int
    is_under_way: bool
    has_uid: bool
    started_ns: int
    waits_since_ns: int


class WaitingSnapshot(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A `WaitingPod`."""

    number: int
    key: str
    uid: str
    pending: dict[str, int]
    verdict: tuple[int, tuple[str, ...], str] | None


class EvictionSnapshot(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """An `Eviction`."""

    preemptor: int
    node: str
    plugin: str
    victims: tuple[int, ...]
    stage: str
    to_clear: tuple[int, ...]
    next_victim: int
    busy: tuple[tuple[int, int, bool], ...]
    has_failed: bool
    is_stopped: bool
    started_ns: int
    members: tuple[int, ...] = ()


class MachineSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a machine; objects are referred to by number.

    Parameters
    ----------
    resources : tuple of str
        In the order of their columns.
    nodes : tuple of str
        The names of the nodes, in the order of their slots.
    zones : tuple of tuple of str
        The names of the nodes of each zone, in the order in which they are visited.
    objects, pods : tuple of int
        The last received versions, in order of arrival.
    placed, placed_on : tuple of int
        Pods that count on a node, in order, and the place of that node in `nodes`.
    placed_like : tuple of int
        For each of them, a number that it shares with those that count alike.
    pods_on_missing_nodes, nominated : tuple of OnNode
        Pods that would count on a node if it existed, or wait for room there, in order.
    claims, volumes : tuple of int
        What is assumed of them.
    calls : tuple of (int, int, str)
        Per call the binding that waits for its answer (else 0), or the uid of a preemptor.
    next_starts : dict of str to int
        Per profile, where the next search starts.
    batches : dict of str to BatchSnapshot
        Per profile that takes part in batching, what it remembers.
    expired : tuple of str
        The uids of the pods that were assumed for too long.
    counted : Counts
        What the machine has counted; the queue has its own in `queue`.
    """

    now_ns: int
    announced_ns: int | None
    counts: tuple[int, int, int]
    timer_count: int
    timers: tuple[Timer, ...]
    resources: tuple[str, ...]
    nodes: tuple[str, ...]
    zones: tuple[tuple[str, ...], ...]
    objects: tuple[int, ...]
    pods: tuple[int, ...]
    placed: tuple[int, ...]
    placed_on: tuple[int, ...]
    pods_on_missing_nodes: tuple[OnNode, ...]
    nominated: tuple[OnNode, ...]
    claims: tuple[int, ...]
    volumes: tuple[int, ...]
    queued: tuple[QueuedPodSnapshot, ...]
    queue: QueueSnapshot
    bindings: tuple[BindingSnapshot, ...]
    assumed: tuple[tuple[str, int], ...]
    waiting: tuple[WaitingSnapshot, ...]
    evictions: tuple[EvictionSnapshot, ...]
    calls: tuple[tuple[int, int, str], ...]
    next_starts: dict[str, int]
    batches: dict[str, BatchSnapshot] = {}
    expired: tuple[str, ...] = ()
    counted: Counts
    placed_like: tuple[int, ...] = ()


class ObjectNumbering(Protocol):
    """Gives numbers to objects; the same object keeps its number."""

    def of(self, obj: KubernetesObject) -> int:
        """Return the number of an object."""

    def of_all(self, objects: Iterable[KubernetesObject]) -> list[int]:
        """Return the numbers of many."""


class _Numbering:
    """The numbers of objects, from outside, and of queued pods, from here."""

    def __init__(self, objects: ObjectNumbering) -> None:
        self.of, self.of_all = objects.of, objects.of_all
        self._queued: dict[int, int] = {}
        self.queued: list[QueuedPod] = []

    def of_queued(self, queued: QueuedPod) -> int:
        number = self._queued.get(id(queued))
        if number is None:
            number = self._queued[id(queued)] = len(self.queued)
            self.queued.append(queued)
        return number


class _Numbers:
    """What the numbers of a snapshot stand for."""

    def __init__(
        self, objects: Mapping[int, KubernetesObject], queued: tuple[QueuedPodSnapshot, ...]
    ) -> None:
        self._objects = objects
        self._queued = [queued_from(entry, self.pod(entry.pod)) for entry in queued]

    def object(self, number: int) -> KubernetesObject:
        return self._objects[number]

    def pod(self, number: int) -> Pod:
        obj = self._objects[number]
        assert isinstance(obj, Pod), f"object {number} is a {obj.kind}, not a Pod"
        return obj

    def queued(self, number: int) -> QueuedPod:
        return self._queued[number]


# -------------------------------------------------------------------- writing down


def is_capturable(state: State) -> bool:
    """Report whether the state can be captured."""
    if any(
        plugin.remembers()
        for running in state.profiles.values()
        for plugin in running.profile.all_plugins()
    ):
        return False
    if any(
        isinstance(caller, Eviction)
        and state.evictions.get(caller.preemptor.metadata.uid) is not caller
        for caller in state.calls.values()
    ):
        # It gates no pod, so only its calls refer to it.
        return False
    return not (state.ready or state.requested) and all(
        not binding.cycle.state and not binding.answers and binding.steps is None
        for binding in state.bindings.values()
    )


def capture(state: State, objects: ObjectNumbering, announced_ns: int | None) -> MachineSnapshot:
    """Return the state of the machine; call `is_capturable` first.

    Parameters
    ----------
    objects : ObjectNumbering
        Gives numbers to the objects; they are to be kept with the snapshot.
    announced_ns : int, optional
        The time of the machine's last `WakeAt`.
    """
    assert is_capturable(state), "the machine has unfinished work that a snapshot cannot hold"
    numbering = _Numbering(objects)
    cluster, of, of_all = state.cluster, numbering.of, numbering.of_all
    slots = cluster.live_slots().tolist()
    place_of = dict(zip(slots, range(len(slots)), strict=True))
    placed = cluster.pods.values()
    timer_count, timers = state.timers.snapshot()
    claims, volumes = cluster.storage.assumptions()
    bindings = {binding.number: binding for binding in state.assumed.values()} | state.bindings
    queue = _scheduling_queue(state.queue).snapshot(numbering)
    written = tuple(_binding(state, bindings[number], numbering) for number in sorted(bindings))
    return MachineSnapshot(
        now_ns=state.now_ns,
        announced_ns=announced_ns,
        counts=(state.call_count, state.binding_count, state.waiting_count),
        timer_count=timer_count,
        timers=timers,
        resources=tuple(cluster.nodes.resources),
        nodes=tuple(map(cluster.nodes.names.__getitem__, slots)),
        zones=tuple(tuple(zone) for zone in cluster.nodes.names_by_zone()),
        objects=tuple(of_all(state.objects.values())),
        pods=tuple(of_all(state.pods.values())),
        placed=tuple(of_all([on_node.pod for on_node in placed])),
        placed_on=tuple([place_of[on_node.slot] for on_node in placed]),
        placed_like=_likenesses([on_node.keys for on_node in placed]),
        pods_on_missing_nodes=tuple(
            OnNode(of(pod), node)
            for node, pods in cluster.pods_on_missing_nodes().items()
            for pod in pods
        ),
        nominated=tuple(
            OnNode(of(pod), node)
            for node, pods in cluster.nominated.items()
            for pod in pods.values()
        ),
        claims=tuple(map(of, (*claims, *cluster.devices.assumptions()))),
        volumes=tuple(map(of, volumes)),
        # Last, because the entries above assign the numbers.
        queued=tuple(queued_snapshot(queued, numbering) for queued in numbering.queued),
        queue=queue,
        bindings=written,
        assumed=tuple((uid, binding.number) for uid, binding in state.assumed.items()),
        waiting=tuple(map(_waiting, state.waiting.values())),
        evictions=tuple(_eviction(eviction, numbering) for eviction in state.evictions.values()),
        calls=tuple(
            (call, caller.number, "")
            if isinstance(caller, Binding)
            else (call, 0, caller.preemptor.metadata.uid)
            for call, caller in state.calls.items()
        ),
        next_starts={name: _next_start(running) for name, running in state.profiles.items()},
        batches={
            name: running.batch.snapshot()
            for name, running in state.profiles.items()
            if running.batch is not None
        },
        expired=tuple(sorted(state.expired)),
        counted=state.metrics.capture(),
    )


def _likenesses(keys: Sequence[PodKeys]) -> tuple[int, ...]:
    """Return a number for the keys of each pod, by their content: restored keys are others."""
    numbers: dict[tuple[object, ...], int] = {}
    number_of = {
        id(each): numbers.setdefault(
            (
                each.amounts,
                each.non_zero,
                each.ports,
                each.has_volumes,
                each.class_id,
                each.term_ids,
            ),
            len(numbers),
        )
        for each in dict.fromkeys(keys)
    }
    return tuple([number_of[id(each)] for each in keys])


def _scheduling_queue(queue: PodQueue) -> SchedulingQueue:
    assert isinstance(queue, SchedulingQueue), f"{type(queue).__name__} cannot be written down"
    return queue


def _binding(state: State, binding: Binding, numbering: _Numbering) -> BindingSnapshot:
    profile = state.profiles[binding.pod.spec.scheduler_name]
    return BindingSnapshot(
        number=binding.number,
        queued=numbering.of_queued(binding.queued),
        pod=numbering.of(binding.pod),
        node=binding.node,
        profile=profile.name,
        skipped_by_prefilter=tuple(sorted(profile.skipped_in(binding.plugins))),
        stage=binding.stage.value,
        plugin_index=binding.plugin_index,
        skipped=tuple(sorted(binding.skipped)),
        is_cancellable=binding.is_cancellable,
        cancelled=binding.cancelled,
        call_numbers=tuple(binding.call_numbers),
        timer=binding.timer,
        is_under_way=binding.number in state.bindings,
        has_uid=state.bindings_by_uid.get(binding.uid) is binding,
        started_ns=binding.started_ns,
        waits_since_ns=binding.waits_since_ns,
    )


def _waiting(waiting: WaitingPod) -> WaitingSnapshot:
    verdict = waiting.verdict
    return WaitingSnapshot(
        number=waiting.number,
        key=waiting.key,
        uid=waiting.uid,
        pending=dict(waiting.pending),
        verdict=None
        if verdict is None
        else (int(verdict.code), tuple(verdict.reasons), verdict.plugin),
    )


def _eviction(eviction: Eviction, numbering: _Numbering) -> EvictionSnapshot:
    of = numbering.of
    return EvictionSnapshot(
        preemptor=of(eviction.preemptor),
        node=eviction.node,
        plugin=eviction.plugin,
        victims=tuple(map(of, eviction.victims)),
        stage=eviction.stage.value,
        to_clear=tuple(map(of, eviction.to_clear)),
        next_victim=eviction.next_victim,
        busy=tuple(
            (call, of(pod), is_deletion) for call, (pod, is_deletion) in eviction.busy.items()
        ),
        has_failed=eviction.has_failed,
        is_stopped=eviction.is_stopped,
        started_ns=eviction.started_ns,
        members=tuple(map(of, eviction.members)),
    )


# -------------------------------------------------------------------- setting up


def restore(
    state: State, snapshot: MachineSnapshot, objects: Mapping[int, KubernetesObject]
) -> None:
    """Fill the state of a new machine.

    Parameters
    ----------
    objects : mapping of int to object
        What the numbers stand for.
    """
    numbers = _Numbers(objects, snapshot.queued)
    _restore_cluster(state, snapshot, numbers)
    state.now_ns = snapshot.now_ns
    state.call_count, state.binding_count, state.waiting_count = snapshot.counts
    state.timers.restore(snapshot.timer_count, snapshot.timers)
    for number in snapshot.pods:
        pod = numbers.pod(number)
        state.pods[pod.key] = pod
    places = {number: QueueName(entry.place) for number, entry in enumerate(snapshot.queued)}
    _scheduling_queue(state.queue).restore(snapshot.queue, numbers, places)
    bindings = {entry.number: _binding_from(state, entry, numbers) for entry in snapshot.bindings}
    for entry in snapshot.bindings:
        binding = bindings[entry.number]
        if entry.is_under_way:
            state.bindings[entry.number] = binding
        if entry.has_uid:
            state.bindings_by_uid[binding.uid] = binding
    state.assumed.update((uid, bindings[number]) for uid, number in snapshot.assumed)
    state.expired.update(snapshot.expired)
    if state.groups.is_used:
        state.groups.rebuild(state.pods.values(), state.assumed)
    for waiting in snapshot.waiting:
        state.waiting[waiting.uid] = _waiting_from(waiting)
    for entry_of in snapshot.evictions:
        eviction = _eviction_from(entry_of, numbers)
        state.evictions[eviction.preemptor.metadata.uid] = eviction
    for call, number, uid in snapshot.calls:
        # `is_capturable` guarantees that the eviction of this uid is the one that made the call.
        state.calls[call] = state.evictions[uid] if uid else bindings[number]
    state.metrics.restore(snapshot.counted)
    for name, batch in snapshot.batches.items():
        own = state.profiles[name].batch
        if own is not None:
            own.restore(batch)
    for name, next_start in snapshot.next_starts.items():
        state.profiles[name].runner.restore_search_position(next_start)


def _restore_cluster(state: State, snapshot: MachineSnapshot, numbers: _Numbers) -> None:
    cluster = state.cluster
    for number in snapshot.objects:
        obj = numbers.object(number)
        state.objects[object_key(obj, obj.key)] = obj  # type: ignore[assignment]  # any kind is one
    for resource in snapshot.resources:
        cluster.nodes.resource_index(resource)
    for name in snapshot.nodes:
        cluster.put(state.objects["Node", name])
    # A node that changed its zone was appended there, which adding by slot does not repeat.
    cluster.nodes.reorder(snapshot.zones)
    for other in state.objects.values():
        if not isinstance(other, Node):
            cluster.put(other)
    slots = list(map(cluster.nodes.slot_of.__getitem__, snapshot.nodes))
    keys: dict[int, PodKeys] = {}
    # Logs of earlier versions do not say which pods count alike.
    likenesses = snapshot.placed_like or count()
    placed: list[tuple[Pod, int, PodKeys]] = []
    for number, place, like in zip(snapshot.placed, snapshot.placed_on, likenesses, strict=False):
        pod = numbers.pod(number)
        known = keys.get(like)
        if known is None:
            known = keys[like] = cluster.keys_of(pod)
        placed.append((pod, slots[place], known))
    cluster.place_all(placed)
    waiting_for: dict[str, list[Pod]] = {}
    for entry in snapshot.pods_on_missing_nodes:
        waiting_for.setdefault(entry.node, []).append(numbers.pod(entry.pod))
    for node, pods in waiting_for.items():
        cluster.restore_pods_on_missing_nodes(node, pods)
    for number in (*snapshot.claims, *snapshot.volumes):
        _assume(cluster, numbers.object(number))
    for entry in snapshot.nominated:
        cluster.nominate(numbers.pod(entry.pod), entry.node)


def _assume(cluster: Cluster, obj: KubernetesObject) -> None:
    match obj:
        case PersistentVolumeClaim():
            cluster.storage.assume_claim(obj)
        case PersistentVolume():
            cluster.storage.assume_volume(obj)
        case ResourceClaim():
            cluster.devices.assume(obj)
        case _:
            raise AssertionError(f"a {obj.kind} is never assumed")


def _binding_from(state: State, entry: BindingSnapshot, numbers: _Numbers) -> Binding:
    pod = numbers.pod(entry.pod)
    plugins = state.profiles[entry.profile].bind_plugins(frozenset(entry.skipped_by_prefilter))
    queued = numbers.queued(entry.queued)
    binding = Binding(entry.number, queued, entry.node, Cycle(pod, state.cluster), plugins)
    binding.pod = pod
    binding.stage = BindingStage(entry.stage)
    binding.plugin_index = entry.plugin_index
    binding.skipped = frozenset(entry.skipped)
    binding.is_cancellable = entry.is_cancellable
    binding.cancelled = entry.cancelled
    binding.call_numbers = list(entry.call_numbers)
    binding.timer = entry.timer
    binding.started_ns = entry.started_ns
    binding.waits_since_ns = entry.waits_since_ns
    return binding


def _waiting_from(entry: WaitingSnapshot) -> WaitingPod:
    waiting = WaitingPod(entry.number, entry.key, entry.uid, dict(entry.pending))
    if entry.verdict is not None:
        code, reasons, plugin = entry.verdict
        waiting.verdict = Status(Code(code), reasons, plugin)
    return waiting


def _eviction_from(entry: EvictionSnapshot, numbers: _Numbers) -> Eviction:
    preemptor = numbers.object(entry.preemptor)
    assert isinstance(preemptor, Pod | PodGroup), f"a {preemptor.kind} preempts"
    victims, members = (tuple(map(numbers.pod, each)) for each in (entry.victims, entry.members))
    eviction = Eviction(preemptor, entry.node, entry.plugin, victims, members=members)
    eviction.stage = EvictionStage(entry.stage)
    eviction.to_clear = list(map(numbers.pod, entry.to_clear))
    eviction.next_victim = entry.next_victim
    eviction.busy = {call: (numbers.pod(pod), is_deletion) for call, pod, is_deletion in entry.busy}
    eviction.has_failed = entry.has_failed
    eviction.is_stopped = entry.is_stopped
    eviction.started_ns = entry.started_ns
    return eviction


def _next_start(running: RunningProfile) -> int:
    position = running.runner.search_position()
    assert isinstance(position, int), f"rules that cannot be captured: {position}"
    return position
