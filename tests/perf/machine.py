"""The speed of the whole machine: queue, cycles, bindings, preemption, Events and watch events.

The driver does the minimum that a simulation does: it executes the machine's actions, builds the
bound pod, and sends the resulting events to the machine. Every case counts the time of all events
of a pod: its addition, its cycle, the update with its binding, and the result of the call. The
figures are in processor time, because nothing here waits. The machine's clock is virtual: 50 us per
cycle, with the flush of backoff every second.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections import deque
from collections.abc import Callable, Sequence

import msgspec
from tests.perf import templates
from tests.perf.case import OPERATIONS_PER_SECOND, PODS_PER_SECOND, TIMES, Case

from podwright.apimachinery.objects import (
    Node,
    Object,
    Pod,
    with_condition,
    with_node_name,
    with_nominated_node_name as with_nomination,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import Registry, build_machine
from podwright.scheduler.machine import (
    Action,
    Bind,
    CallDone,
    CycleDue,
    DeletePod,
    Event,
    FlushBackoff,
    Machine,
    ObjectDeleted,
    ObjectPut,
    PatchPodStatus,
)
from podwright.scheduler.queueing import SchedulingQueue
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.record import Recorder
from podwright.testing.parity.sequence import effective_configuration

_STEP_NS = 50_000
_SECOND_NS = 1_000_000_000
_CYCLE_DUE = CycleDue()


def basic() -> float:
    """SchedulingBasic: 5,000 nodes, 5,000 + 20,000 of pod-default, one after the other."""
    driver = Driver(templates.nodes(5_000))
    driver.schedule(pods_of(5_000, "initial"))
    return driver.rate(pods_of(20_000, "measured"))


def churn(log: DecisionLog | None = None) -> float:
    """SchedulingWithMixedChurn: a node, a large pod and a service change every 100 pods."""
    driver = Driver(templates.nodes(5_000), log)
    driver.schedule(pods_of(5_000, "initial"))
    churned: list[Object] = []

    def disturb(turn: int) -> None:
        for obj in churned:
            driver.remove(obj)
        large = templates.pods(
            templates.pod_document(cpu="9000m", memory="500Mi", priority=1), 1, f"large-{turn}"
        )
        node = templates.node_document(100_000 + turn)
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"service-{turn}", "namespace": "default"},
            "spec": {"selector": {"app": "foo"}},
        }
        churned[:] = [decode(node), *large, decode(service)]
        for obj in churned:
            driver.put(obj)

    return driver.rate(pods_of(10_000, "measured"), disturb, every=100)


def unschedulable(log: DecisionLog | None = None) -> float:
    """Unschedulable: for every 20 pods one more of high priority that stays unschedulable."""
    driver = Driver(templates.nodes(5_000), log)
    driver.schedule(pods_of(5_000, "initial"))

    def disturb(turn: int) -> None:
        document = templates.pod_document(cpu="9000m", memory="500Mi", priority=10)
        (large,) = templates.pods(document, 1, f"large-{turn}")
        driver.put(large)

    return driver.rate(pods_of(10_000, "measured"), disturb, every=20)


def preemption(log: DecisionLog | None = None) -> float:
    """PreemptionBasic: 5,000 nodes full of 20,000 low pods, 5,000 high ones; decisions/s.

    Each high pod has two decisions: one that preempts three low pods, and one that places it.
    All effects are included: status patches, deletions, and moved pods.
    """
    driver = Driver(templates.nodes(5_000), log)
    driver.schedule(_without_documents(templates.low_priority(), 20_000, "low"))
    high = _without_documents(templates.high_priority(), 5_000, "high")
    gc.collect()
    driver.flush()
    driver.cycle_count = 0
    start_s = time.process_time()
    for pod in high:
        driver.put(pod)
        while driver.machine.has_next:
            driver.cycle()
    driver.flush()
    elapsed_s = time.process_time() - start_s
    assert all(_is_bound(driver.machine, pod) for pod in high), "every pod finds room"
    assert driver.deleted_count == 15_000, driver.deleted_count
    assert driver.cycle_count == 10_000, driver.cycle_count
    return driver.cycle_count / elapsed_s


def queue() -> float:
    """The cost of a pop with 100,000 pending pods, as a multiple of the cost with 1,000."""
    queues = [_queue_of(1_000), _queue_of(100_000)]
    now_ns = 2 * 10**18
    seconds: list[list[float]] = [[], []]
    gc.collect()
    for turn in range(100):
        for queue, taken in zip(queues, seconds, strict=True):
            pods = pods_of(400, f"turn-{turn}")
            start_s = time.process_time()
            for _ in pods:
                popped = queue.pop(now_ns)
                assert popped is not None
                queue.done(popped, now_ns)
            taken.append(time.process_time() - start_s)
            for pod in pods:
                now_ns += 1
                queue.add(pod, now_ns)
    few, many = [statistics.median(taken) for taken in seconds]
    return many / few


def _queue_of(count: int) -> SchedulingQueue:
    queue = SchedulingQueue()
    for number, pod in enumerate(pods_of(count, "pending")):
        queue.add(pod, 10**18 + number)
    return queue


def _without_documents(template: templates.Document, count: int, prefix: str) -> list[Pod]:
    """Return pods without JSON documents: updating their status is not work of the machine."""
    return [msgspec.structs.replace(pod, raw={}) for pod in templates.pods(template, count, prefix)]


def pods_of(count: int, prefix: str) -> list[Pod]:
    """Return pods of pod-default."""
    return templates.pods(templates.pod_document(), count, prefix)


class Driver:
    """The minimal driver, with or without a decision log."""

    def __init__(self, nodes: Sequence[Node], log: DecisionLog | None = None) -> None:
        registry = Registry()
        configuration = effective_configuration(None, registry)
        self.machine: Machine = build_machine(configuration, registry)
        self.now_ns = 1_700_000_000 * _SECOND_NS
        self.deleted_count = 0
        self.cycle_count = 0
        self._flush_ns = self.now_ns + _SECOND_NS
        self._version = 0
        self._waiting: deque[Action] = deque()
        self._log = log
        self.handle: Callable[[Event, int], Sequence[Action]] = self.machine.handle
        if log is not None:
            self.handle = Recorder(self.machine, log).handle
        for node in nodes:
            self.put(node)

    def schedule(self, pods: Sequence[Pod]) -> None:
        """Schedule pods one after the other."""
        for pod in pods:
            self.put(pod)
            self.cycle()

    def rate(self, pods: Sequence[Pod], disturb: object = None, *, every: int = 1) -> float:
        """Return pods per second; `disturb` is called every so many pods."""
        gc.collect()
        self.flush()
        start_s = time.process_time()
        for turn, pod in enumerate(pods):
            if callable(disturb) and turn % every == 0:
                disturb(turn)
            self.put(pod)
            while self.machine.has_next:
                self.cycle()
        self.flush()
        elapsed_s = time.process_time() - start_s
        unbound = [pod.key for pod in pods if not _is_bound(self.machine, pod)]
        assert not unbound, unbound[:3]
        return len(pods) / elapsed_s

    def flush(self) -> None:
        """Flush the log."""
        if self._log is not None:
            self._log.flush()

    def cycle(self) -> None:
        """Run one cycle and process its actions."""
        self.now_ns += _STEP_NS
        if self.now_ns >= self._flush_ns:
            self._flush_ns += _SECOND_NS
            self.send(FlushBackoff())
        self.cycle_count += 1
        self.send(_CYCLE_DUE)

    def send(self, event: FlushBackoff | CycleDue) -> None:
        """Send an event to the machine and execute its actions."""
        waiting = self._waiting
        waiting.extend(self.handle(event, self.now_ns))
        while waiting:
            action = waiting.popleft()
            if isinstance(action, Bind):
                pod = self.machine.pod(action.pod)
                assert pod is not None, action
                self._write(_bound(pod, action.node))
                waiting.extend(self.handle(CallDone(action.call), self.now_ns))
            elif isinstance(action, PatchPodStatus):
                self._patch(action)
            elif isinstance(action, DeletePod):
                pod = self.machine.pod(action.pod)
                assert pod is not None, action
                self.deleted_count += 1
                self.remove(pod)
                waiting.extend(self.handle(CallDone(action.call), self.now_ns))
            else:
                self.follow(action, waiting)

    def follow(self, action: Action, waiting: deque[Action]) -> None:
        """Execute another action; there is nothing to do for Events and timers."""

    def _patch(self, action: PatchPodStatus) -> None:
        pod = self.machine.pod(action.pod)
        if pod is not None:
            if action.condition is not None:
                pod = with_condition(pod, action.condition)
            if action.nominated_node is not None:
                pod = with_nomination(pod, action.nominated_node)
            self._write(pod)
        self._waiting.extend(self.handle(CallDone(action.call), self.now_ns))

    def put(self, obj: Object) -> None:
        """Send an added or updated object to the machine."""
        self._waiting.extend(self.handle(ObjectPut(obj), self.now_ns))

    def _write(self, pod: Pod) -> None:
        """Send a new version of a pod to the machine."""
        self._version += 1
        metadata = msgspec.structs.replace(pod.metadata, resource_version=str(self._version))
        self.put(msgspec.structs.replace(pod, metadata=metadata))

    def remove(self, obj: Object) -> None:
        """Send a deleted object to the machine."""
        self._waiting.extend(self.handle(ObjectDeleted(obj), self.now_ns))


def _bound(pod: Pod, node: str) -> Pod:
    bound = with_node_name(pod, node)
    return with_nomination(bound, "") if pod.status.nominated_node_name else bound


def _is_bound(machine: Machine, pod: Pod) -> bool:
    seen = machine.pod(pod.key)
    return seen is not None and bool(seen.spec.node_name)


CASES = (
    Case(name="machine_basic_5000", unit=PODS_PER_SECOND, measure=basic, target=20_000),
    Case(name="machine_churn_5000", unit=PODS_PER_SECOND, measure=churn, target=10_000),
    Case(
        name="machine_unschedulable_5000",
        unit=PODS_PER_SECOND,
        measure=unschedulable,
        target=10_000,
    ),
    Case(
        name="machine_preemption_5000",
        unit=OPERATIONS_PER_SECOND,
        measure=preemption,
        target=5_000,
    ),
    Case(name="machine_queue_100000", unit=TIMES, measure=queue, target=1),
)
