"""How fast the whole machine is: queue, cycles, bindings, preemption, Events and watch events.

The driver does what a simulation does at least: it takes the machine's actions, makes the
bound pod, and tells the machine of it. Every case counts the time of all events of a pod: that
it appeared, its cycle, that it was seen bound, and the answer to the binding.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Sequence

import msgspec
from tests.perf import templates
from tests.perf.case import OPERATIONS_PER_SECOND, PODS_PER_SECOND, Case

from podwright.assembly import Registry, build_machine
from podwright.machine import (
    Action,
    Bind,
    CallDone,
    CycleDue,
    DeletePod,
    FlushBackoff,
    Machine,
    ObjectDeleted,
    ObjectPut,
    PatchPodStatus,
)
from podwright.objects import Node, Object, Pod, decode, with_condition, with_node_name
from podwright.objects import with_nominated_node_name as with_nomination
from podwright.parity.setup import effective_configuration

_STEP_NS = 20_000
_SECOND_NS = 1_000_000_000
_CYCLE_DUE = CycleDue()


def basic() -> float:
    """SchedulingBasic: 5,000 nodes, 5,000 + 20,000 of pod-default, one after the other."""
    driver = Driver(templates.nodes(5_000))
    driver.schedule(pods_of(5_000, "initial"))
    return driver.rate(pods_of(20_000, "measured"))


def churn() -> float:
    """SchedulingWithMixedChurn: a node, a large pod and a service come and go every 100 pods."""
    driver = Driver(templates.nodes(5_000))
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


def unschedulable() -> float:
    """Unschedulable: for every 20 pods one more that fits nowhere and stays."""
    driver = Driver(templates.nodes(5_000))
    driver.schedule(pods_of(5_000, "initial"))

    def disturb(turn: int) -> None:
        (large,) = templates.pods(templates.pod_document(cpu="9"), 1, f"large-{turn}")
        driver.put(large)

    return driver.rate(pods_of(10_000, "measured"), disturb, every=20)


def preemption() -> float:
    """PreemptionAsync: 5,000 nodes full of 20,000 low pods, 5,000 high pods; preemptions/s."""
    driver = Driver(templates.nodes(5_000))
    low = templates.pod_document(cpu="900m", memory="500Mi")
    driver.schedule(templates.pods(low, 20_000, "low"))
    high = templates.pods(templates.pod_document(cpu="3000m", priority=10), 5_000, "high")
    gc.collect()
    start_s = time.perf_counter()
    for pod in high:
        driver.put(pod)
        while driver.machine.has_next:
            driver.cycle()
    driver.now_ns += 20 * _SECOND_NS
    driver.tell(FlushBackoff())
    while driver.machine.has_next:
        driver.cycle()
    elapsed_s = time.perf_counter() - start_s
    assert driver.deleted_count >= 5_000, driver.deleted_count
    return len(high) / elapsed_s


def pods_of(count: int, prefix: str) -> list[Pod]:
    """Make pods of pod-default."""
    return templates.pods(templates.pod_document(), count, prefix)


class Driver:
    """The least that a driver can do."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        registry = Registry()
        configuration = effective_configuration(None, registry)
        self.machine: Machine = build_machine(configuration, registry)
        self.now_ns = 1_700_000_000 * _SECOND_NS
        self.deleted_count = 0
        self._version = 0
        self._waiting: deque[Action] = deque()
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
        start_s = time.perf_counter()
        for turn, pod in enumerate(pods):
            if callable(disturb) and turn % every == 0:
                disturb(turn)
            self.put(pod)
            while self.machine.has_next:
                self.cycle()
        elapsed_s = time.perf_counter() - start_s
        unbound = [pod.key for pod in pods if not _is_bound(self.machine, pod)]
        assert not unbound, unbound[:3]
        return len(pods) / elapsed_s

    def cycle(self) -> None:
        """Run one cycle and all that follows from it."""
        self.now_ns += _STEP_NS
        self.tell(_CYCLE_DUE)

    def tell(self, event: FlushBackoff | CycleDue) -> None:
        """Give the machine an event and do what it wants."""
        waiting = self._waiting
        waiting.extend(self.machine.handle(event, self.now_ns))
        while waiting:
            action = waiting.popleft()
            if isinstance(action, Bind):
                pod = self.machine.pod(action.pod)
                assert pod is not None, action
                self.put(_bound(pod, action.node))
                waiting.extend(self.machine.handle(CallDone(action.call), self.now_ns))
            elif isinstance(action, PatchPodStatus):
                self._patch(action)
            elif isinstance(action, DeletePod):
                pod = self.machine.pod(action.pod)
                assert pod is not None, action
                self.deleted_count += 1
                self.remove(pod)
                waiting.extend(self.machine.handle(CallDone(action.call), self.now_ns))

    def _patch(self, action: PatchPodStatus) -> None:
        pod = self.machine.pod(action.pod)
        if pod is not None:
            if action.condition is not None:
                pod = with_condition(pod, action.condition)
            if action.nominated_node is not None:
                pod = with_nomination(pod, action.nominated_node)
            self.put(pod)
        self._waiting.extend(self.machine.handle(CallDone(action.call), self.now_ns))

    def put(self, obj: Object) -> None:
        """Let the machine see a new version of an object."""
        self._version += 1
        metadata = msgspec.structs.replace(obj.metadata, resource_version=str(self._version))
        seen = ObjectPut(msgspec.structs.replace(obj, metadata=metadata))
        self._waiting.extend(self.machine.handle(seen, self.now_ns))

    def remove(self, obj: Object) -> None:
        """Let the machine see that an object is gone."""
        self._waiting.extend(self.machine.handle(ObjectDeleted(obj), self.now_ns))


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
)
