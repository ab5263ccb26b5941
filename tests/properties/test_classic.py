"""Laws of the v1.16 rules over generated histories and clusters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import Pod, with_fields
from podwright.cli.worker_threads import ThreadedPieces
from podwright.scheduler.classic import (
    ClassicCluster,
    ClassicQueue,
    ClassicScheduler,
    algorithm_of_provider,
    preempt,
)
from podwright.scheduler.queueing import QueueName
from podwright.testing import make_node, make_pod

pytestmark = pytest.mark.property

NAMES = [f"p{i}" for i in range(6)]
PLACES = (QueueName.ACTIVE, QueueName.BACKOFF, QueueName.UNSCHEDULABLE)

steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "pop", "park", "done", "update", "delete", "move", "assigned", "backoff",
             "leftover", "activate"]
        ),
        st.sampled_from(NAMES),
        st.integers(0, 40_000),
    ),
    max_size=80,
)  # fmt: skip


class Model:
    """The queue, and a model of its pods: added, and neither done nor deleted."""

    def __init__(self) -> None:
        self.queue = ClassicQueue()
        self.alive: set[str] = set()

    def add(self, pod: Pod, now_ns: int) -> None:
        self.queue.add(pod, now_ns)
        self.alive.add(pod.key)

    def update(self, pod: Pod, now_ns: int) -> None:
        newer = with_fields(pod, "metadata", labels={"at": str(now_ns)})
        self.queue.update(None, newer, now_ns)
        self.alive.add(pod.key)

    def delete(self, pod: Pod, now_ns: int) -> None:
        self.queue.delete(pod, now_ns)
        if pod.key not in {queued.key for queued in self.queue.in_flight()}:
            self.alive.discard(pod.key)

    def pop(self, pod: Pod, now_ns: int) -> None:
        self.queue.pop(now_ns)

    def park(self, pod: Pod, now_ns: int) -> None:
        for queued in self.queue.in_flight()[:1]:
            self.queue.park(queued, now_ns)

    def done(self, pod: Pod, now_ns: int) -> None:
        for queued in self.queue.in_flight()[:1]:
            self.queue.done(queued, now_ns)
            if self.queue.get(queued.key) is None:
                self.alive.discard(queued.key)

    def move(self, pod: Pod, now_ns: int) -> None:
        self.queue.move_all_to_active_queue(now_ns)

    def assigned(self, pod: Pod, now_ns: int) -> None:
        self.queue.assigned_pod_added(pod, now_ns)

    def backoff(self, pod: Pod, now_ns: int) -> None:
        self.queue.flush_backoff(now_ns)

    def leftover(self, pod: Pod, now_ns: int) -> None:
        self.queue.flush_unschedulable(now_ns)

    def activate(self, pod: Pod, now_ns: int) -> None:
        self.queue.activate([pod], now_ns)


@given(steps)
def test_no_pod_is_lost_and_none_is_in_two_places(history):
    model, now_ns = Model(), 0
    for op, name, milliseconds in history:
        now_ns += milliseconds * 1_000_000
        getattr(model, op)(make_pod(name, priority=int(name[1:]) % 3), now_ns)
        model.queue.validate()
        waiting = {queued.key for place in PLACES for queued in model.queue.pods_in(place)}
        assert waiting | {queued.key for queued in model.queue.in_flight()} == model.alive


@given(steps)
def test_pop_gives_the_greatest_priority_and_of_equals_the_earliest(history):
    queue, now_ns = ClassicQueue(), 0
    for _, name, milliseconds in history:
        now_ns += milliseconds * 1_000_000
        queue.add(make_pod(name, priority=milliseconds % 3), now_ns)
    popped = list(iter(lambda: queue.pop(now_ns), None))
    order = [(-queued.priority, queued.timestamp_ns, queued.entered_index) for queued in popped]
    assert order == sorted(order)


@given(steps)
def test_waiting_long_enough_always_brings_a_pod_back(history):
    queue, now_ns = ClassicQueue(), 0
    for op, name, milliseconds in history:
        now_ns += milliseconds * 1_000_000
        queue.add(make_pod(name), now_ns)
        while (queued := queue.pop(now_ns)) is not None:
            if op == "move":
                queue.move_all_to_active_queue(now_ns)
            queue.park(queued, now_ns)
    count = len(queue)
    while (due_ns := queue.next_due_ns()) is not None:
        now_ns = max(now_ns, due_ns)
        moved = queue.flush_backoff(now_ns) + queue.flush_unschedulable(now_ns)
        assert moved, "a flush was due and moved nothing"
    assert len(queue.pods_in(QueueName.ACTIVE)) == count


@st.composite
def clusters(draw: st.DrawFn) -> ClassicCluster:
    cluster = ClassicCluster()
    for index in range(draw(st.integers(1, 8))):
        zone = draw(st.sampled_from(["a", "b"]))
        cluster.put(
            make_node(
                f"n{index}",
                cpu=draw(st.integers(1, 4)),
                labels={"failure-domain.beta.kubernetes.io/zone": zone},
                taints=draw(st.sampled_from([(), ("spot:PreferNoSchedule",), ("own:NoSchedule",)])),
            )
        )
    count = len(cluster.node_infos)
    for index in range(draw(st.integers(0, 12))):
        cluster.put(
            make_pod(
                f"e{index}",
                cpu=draw(st.sampled_from([None, "500m", "1"])),
                priority=draw(st.integers(0, 3)),
                labels={"app": draw(st.sampled_from("xy"))},
                node=f"n{draw(st.integers(0, count - 1))}",
                spec=draw(st.sampled_from([{}, _apart("x")])),
            )
        )
    return cluster


def _apart(app: str) -> dict[str, object]:
    term = {
        "labelSelector": {"matchLabels": {"app": app}},
        "topologyKey": "kubernetes.io/hostname",
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAntiAffinity": required}}


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadedPieces]:
    with ThreadedPieces(4) as pool:
        yield pool


@effort(60)
@given(cluster=clusters(), cpu=st.integers(1, 4))
def test_threads_and_a_loop_give_the_same_tables_and_victims(threads, cluster, cpu):
    pod = make_pod("new", cpu=cpu, labels={"app": "x"}, priority=3)
    loop = ClassicScheduler(algorithm_of_provider(), cluster)
    pool = ClassicScheduler(algorithm_of_provider(), cluster, parallelize_until=threads, workers=4)
    one, other = loop.decide(pod), pool.decide(pod)
    assert (one.failed, one.message) == (other.failed, other.message)
    nodes = cluster.nodes()
    assert loop.score(pod, nodes).rows == pool.score(pod, nodes).rows
    if one.message:
        assert preempt(loop, pod, one.failed) == preempt(pool, pod, other.failed)


@effort(60)
@given(cluster=clusters(), cpu=st.integers(1, 4))
def test_the_pod_fits_only_after_its_victims_are_removed(cluster, cpu):
    pod = make_pod("new", cpu=cpu, labels={"app": "x"}, priority=3)
    scheduler = ClassicScheduler(algorithm_of_provider(), cluster)
    decision = scheduler.decide(pod)
    found = preempt(scheduler, pod, decision.failed) if decision.message else None
    if found is None or not found.node:
        return
    assert found.victims, "a node without victims would have been feasible"
    assert all(victim.priority < 3 for victim in found.victims)
    for victim in found.victims:
        cluster.remove(victim)
    assert found.node in scheduler.decide(pod).feasible
