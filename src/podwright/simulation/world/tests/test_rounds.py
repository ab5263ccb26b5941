"""What happens at one time happens in rounds: all hear of what a round has changed after it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import (
    Duration,
    KubernetesObject,
    Pod,
    timestamp_text_nano,
    with_fields,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import CreateObject
from podwright.cluster.kubelets.stages.stage_reader import read_stages
from podwright.scheduler.config import ExtenderCall, ExtenderReply, read_configuration
from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.scheduler.framework.decision import Decision
from podwright.scheduler.machine import FlushBackoff, FlushUnschedulable
from podwright.simulation.world import world_scheduler, world_steps
from podwright.simulation.world.inputs.conditions import Condition, OperationSequence, Step
from podwright.simulation.world.inputs.operations import Stop
from podwright.simulation.world.observers import KubernetesEvent
from podwright.simulation.world.scheduler_requests import bind_for_extender
from podwright.simulation.world.timing.model import CycleTiming, Timing
from podwright.simulation.world.world import World
from podwright.simulation.world.world_scheduler import ROUND_MAX
from podwright.simulation.world.world_steps import WorldError
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000


class Witness:
    """Records the changes of pods in the order in which it receives them."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        if not isinstance(new, Pod):
            return
        if isinstance(old, Pod) and new.spec.node_name and not old.spec.node_name:
            self.seen.append(("bound", new.name))
        elif isinstance(old, Pod) and new.status.phase != old.status.phase:
            self.seen.append((new.status.phase, new.name))

    def decided(self, decisions: Sequence[Decision], now_ns: int) -> None:
        self.seen.extend(("decided", each.pod.name) for each in decisions)

    @property
    def rounds(self) -> list[tuple[str, int]]:
        """What happened, and to how many pods in a row."""
        return [(what, len([*them])) for what, them in groupby(self.seen, key=lambda one: one[0])]


def full_of(count: int, *observers: Any) -> World:
    """Make a world in which so many pods wait."""
    world = World(observers=observers)
    world.add(*(make_node(f"n{number}", cpu="64", pods=200) for number in range(3)))
    world.add(*(make_pod(f"p{number}", cpu="100m") for number in range(count)))
    return world


def test_the_scheduler_goes_on_while_its_pods_are_bound_and_start():
    witness = Witness()
    full_of(ROUND_MAX + 2, witness).run()
    assert witness.rounds == [
        ("decided", ROUND_MAX),
        ("bound", ROUND_MAX),
        ("Running", ROUND_MAX),
        ("decided", 2),
        ("bound", 2),
        ("Running", 2),
    ]


def test_the_scheduler_hears_of_all_changes_and_then_of_the_answers_to_its_calls():
    world = full_of(3)
    before = len(world.log)
    world.run()
    event_types = [type(entry.event).__name__ for entry in world.log.entries()][before:]
    assert (
        event_types == ["CycleDue"] * 3 + ["ObjectPut"] * 3 + ["CallDone"] * 3 + ["ObjectPut"] * 3
    )


def test_a_step_is_followed_to_its_end():
    witness = Witness()
    world = full_of(3, witness)
    assert world.step()
    assert witness.rounds == [("decided", 3), ("bound", 3), ("Running", 3)]
    world.run()
    assert len(witness.seen) == 9


class Listener:
    """Receives Events only."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        self.reasons.append(event.reason)


def test_who_looks_on_is_told_what_there_is_a_method_for():
    listener, witness = Listener(), Witness()
    full_of(1, listener, witness).run()
    assert listener.reasons == ["Scheduled"]
    assert witness.seen == [("decided", "p0"), ("bound", "p0"), ("Running", "p0")]


def urgent(name: str) -> KubernetesObject:
    pod = make_pod(name, cpu="3")
    return with_fields(pod, "spec", priority_class_name="system-cluster-critical")


def test_pods_that_are_scheduled_in_one_round_do_not_make_each_others_victims_go_twice():
    world = World()
    world.add(*(make_node(f"n{number}", cpu="4") for number in range(4)))
    world.add(*(make_pod(f"p{number}", cpu="3") for number in range(4)))
    world.run()
    world.add(urgent("first"), urgent("second"))
    world.run()
    running = {pod.name: pod.spec.node_name for pod in world.pods}
    assert len(running) == 4
    assert running["first"] != running["second"]
    assert all(running.values())


def test_a_cycle_that_waits_for_an_extender_ends_before_the_next_one_begins():
    only_n2 = ExtenderReply(status=200, body=b'{"NodeNames": ["n2"]}')
    extender = {"urlPrefix": "http://x", "filterVerb": "filter", "nodeCacheCapable": True}
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [extender | {"managedResources": [{"name": "x.io/a"}]}],
    }
    configuration = read_configuration(document, source="config")
    witness = Witness()
    world = World(configuration, call_extender=lambda _: only_n2, observers=[witness])
    world.add(make_node("n1", cpu="64"), make_node("n2", cpu="1", resources={"x.io/a": 9}))
    for number in range(6):
        asks = {"x.io/a": 1} if number % 2 else {}
        world.add(make_pod(f"p{number}", cpu="100m", resources=asks))
    world.run()
    assert [world.node_of[f"default/p{number}"] for number in (1, 3, 5)] == ["n2"] * 3
    assert witness.rounds == [("decided", 2), ("bound", 2), ("Running", 2)] * 3


@pytest.mark.parametrize(
    ("cycle", "bound_ms"),
    [
        pytest.param("0s", [0, 0, 0], id="cycles that take no time"),
        pytest.param("5ms", [5, 10, 15], id="at the ends of the cycles"),
    ],
)
def test_the_world_binds_for_an_extender(cycle, bound_ms):
    """It would bind in another cluster, perhaps that from which the objects are."""
    kept = ExtenderReply(status=200, body=b'{"NodeNames": ["n1"]}')
    extender = {"urlPrefix": "http://x", "bindVerb": "bind", "nodeCacheCapable": True}
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [extender | {"filterVerb": "filter"}],
    }
    asked: list[str] = []
    times_ms: list[float] = []

    def answer(call: ExtenderCall) -> ExtenderReply:
        asked.append(call.verb)
        return kept

    class Bindings:
        def changed(self, old: Any, new: Any, now_ns: int) -> None:
            if isinstance(new, Pod) and new.spec.node_name and not (old and old.spec.node_name):
                times_ms.append((now_ns - world.start_ns) / 1_000_000)

    world = World(
        read_configuration(document, source="config"),
        call_extender=answer,
        timing=Timing(cycle=CycleTiming(constant=cycle)),
        observers=[Bindings()],
    )
    world.add(make_node("n1", cpu="64"), *(make_pod(f"p{number}") for number in range(3)))
    run = world.run()
    assert run.node_of == {f"default/p{number}": "n1" for number in range(3)}
    assert times_ms == bound_ms
    assert asked == ["filter"] * 3


@pytest.mark.parametrize(
    ("uid", "error"),
    [
        pytest.param("", "", id="any pod of the name"),
        pytest.param("another", "UID in precondition: another", id="another pod of the name"),
    ],
)
def test_an_extender_would_say_why_a_pod_is_not_bound(uid, error):
    world = World(has_scheduler=False)
    world.add(make_node("n1"), make_pod("web"))
    asked = {"PodName": "web", "PodNamespace": "default", "PodUID": uid, "Node": "n1"}
    call = ExtenderCall(
        extender=0, verb="bind", url="", body=msgspec.json.encode(asked), timeout_ns=0
    )
    reply = bind_for_extender(world.api, call, world.now_ns)
    assert reply.status == 200
    assert error in msgspec.json.decode(reply.body).get("Error", "")
    assert world.node_of == ({} if error else {"default/web": "n1"})


def test_what_somebody_writes_to_the_store_is_followed_first():
    world = World()
    world.add(make_node("n1"), make_pod("web"))
    world.run()
    world.api.handle(CreateObject(make_pod("more"), "test"), "test", world.now_ns).raise_for_error()
    world.run()
    assert world.node_of == {"default/web": "n1", "default/more": "n1"}


DELETED_AT_ONCE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-vanishes}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - jq: {key: .spec.nodeName, operator: Exists}
  next: {delete: true}
"""


def test_a_time_without_an_end_is_given_up(monkeypatch):
    monkeypatch.setattr(world_steps, "AT_ONCE_MAX", 1_000)
    world = World(stages=read_stages(DELETED_AT_ONCE, source="stages.yaml"))
    labels = {"app": "web"}
    spec: dict[str, Any] = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": "app"}]},
        },
    }
    metadata = {"name": "web", "namespace": "default"}
    world.add(
        make_node("n1"),
        decode({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}),
    )
    with pytest.raises(WorldError, match="without advancing time"):
        world.run()


GANGS_WAIT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
    multiPoint: {enabled: [{name: Coscheduling}]}
"""


def gang_that_waits(cycles):
    """Return a world with a node for two of the twelve members of a gang."""
    world = World(read_configuration(GANGS_WAIT, source="config"), observers=[cycles])
    metadata = {"namespace": "default", "name": "ring"}
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    labels = {"scheduling.x-k8s.io/pod-group": "ring"}
    members = [make_pod(f"ring-{i:02}", cpu="1", labels=labels) for i in range(12)]
    world.add(
        make_node("n1", cpu="2"), decode(group | {"metadata": metadata, "spec": {"minMember": 12}})
    )
    world.add(*members)
    return world


def test_a_run_ends_though_the_members_of_a_gang_wake_each_other():
    world = gang_that_waits(Witness())
    world.run()
    assert not world.node_of

    world.add(make_node("n2", cpu="16"))
    world.run()
    assert len(world.node_of) == 12


@pytest.mark.parametrize(
    ("late_s", "ended_s"),
    [
        pytest.param(0, 0, id="a gang that has room at once"),
        pytest.param(20, 20, id="the timers of the members that waited are outdated"),
    ],
)
def test_a_run_ends_when_a_gang_is_bound(late_s, ended_s):
    """The timers of waits at Permit, which are over, do not hold it."""
    world = gang_that_waits(Witness())
    world.add(make_node("n2", cpu="16"), at=timestamp_text_nano(world.now_ns + late_s * SECOND))
    world.add_sequence(OperationSequence(iter([Step(place="end", wait=Condition(settled=True))])))
    run = world.run()
    assert len(run.node_of) == 12
    assert world.now_ns - world.start_ns == ended_s * SECOND
    assert not world.sequences[0].failure


@pytest.mark.parametrize(
    ("pods", "cycles"),
    [
        pytest.param(2, 100, id="a hundred in total"),
        pytest.param(12, 120, id="ten for each pod"),
    ],
)
def test_a_run_without_nodes_ends(pods, cycles):
    witness = Witness()
    world = World(observers=[witness])
    world.add(*(make_pod(f"p{number:02}") for number in range(pods)))
    world.run()
    assert len(witness.seen) == cycles
    flushed = {type(entry.event) for entry in world.log.entries()}
    assert FlushBackoff in flushed
    assert FlushUnschedulable not in flushed

    world.add(make_node("n1"))
    world.run()
    assert len(world.node_of) == pods


@pytest.mark.parametrize("at", [None, "1h"], ids=["now", "later"])
def test_what_users_do_gives_pods_new_tries(at):
    witness = Witness()
    world = World(observers=[witness])
    world.add(make_pod("a"))
    world.run()
    witness.seen.clear()
    world.add(make_pod("b"), at=at)
    world.run()
    assert witness.seen.count(("decided", "b")) >= 10


def test_time_goes_on_though_the_members_of_a_gang_wake_each_other(monkeypatch):
    monkeypatch.setattr(world_steps, "AT_ONCE_MAX", 10_000)
    cycles = Witness()
    world = gang_that_waits(cycles)
    world.run_until_ns(world.start_ns + 60 * SECOND)
    assert world.now_ns == world.start_ns + 60 * SECOND
    assert not world.node_of
    assert len(cycles.seen) > 12 * 5

    world.add(make_node("n2", cpu="16"))
    world.run_until_ns(world.start_ns + 120 * SECOND)
    assert len(world.node_of) == 12


@pytest.mark.parametrize(
    "start_ns",
    [
        pytest.param(1_800_000_000_000_000_000, id="a whole second"),
        pytest.param(1_800_000_000_516_000_000, id="between two seconds"),
    ],
)
def test_an_unschedulable_pod_does_not_hold_a_world(start_ns):
    world = World(start=timestamp_text_nano(start_ns))
    world.add(make_node("n1", cpu="1"), make_pod("large", cpu="2"))
    end_ns = world.start_ns + 900 * SECOND
    # The queue retries the pod after five minutes, at its flush.
    assert any(not world.step_until_ns(end_ns) for _ in range(2_000))
    queued = world.machine.queue.get("default/large")
    assert queued is not None
    assert queued.attempts == 3
    # Other flushes would move nothing.
    flushes = [entry for entry in world.log.entries() if type(entry.event) is FlushUnschedulable]
    assert len(flushes) == 2


def test_a_run_ends_at_an_operation_that_ends_it():
    world = World()
    world.add(make_node("n1"))
    world.do(Stop(), at="10s")
    world.add(make_pod("late"), at="20s")
    world.run("1h")
    assert world.now_ns == world.start_ns + 10 * SECOND
    assert not world.pods


class Gate(Plugin):
    """Lets every pod wait at Permit."""

    name = "Gate"

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        return Status.wait("a minute"), "1m"


def test_a_run_does_not_end_before_a_wait_at_permit():
    listener = Listener()
    world = World(plugins=[Gate], observers=[listener], controllers=())
    world.add(make_node("n1"), make_pod("web"))
    waits = Step(place="end", wait=Condition(settled=True), operation=Stop())
    world.add_sequence(OperationSequence(iter([waits])))
    world.run_until_ns(world.start_ns + 59 * SECOND)
    assert not world.is_stopped
    assert listener.reasons == []
    world.run_until_ns(world.start_ns + 60 * SECOND)
    assert listener.reasons == ["FailedScheduling"]


GANGS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Coscheduling}], disabled: [{name: PrioritySort}]}}
"""


class DrawnSize:
    """The size of a round, as a driver with a real clock ends it at any cycle."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def __gt__(self, count: int) -> bool:
        return self._draw.random() < 0.6


@pytest.mark.parametrize("seed", range(3))
def test_a_gang_is_scheduled_when_room_is_freed_wherever_rounds_ended_before(monkeypatch, seed):
    # A member whose rejection followed the retry of another one rejected that one too. All were
    # then rejected by Coscheduling, which no freed room concerns.
    monkeypatch.setattr(world_scheduler, "ROUND_MAX", DrawnSize(seed))
    world = World(read_configuration(GANGS, source="test"))
    large = make_pod("large", cpu="7")
    world.add(*(make_node(f"n{number}", cpu="8") for number in range(3)), large)
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    world.add(decode({**group, "metadata": {"name": "g"}, "spec": {"minMember": 3}}))
    first, *others = (
        make_pod(f"w{number}", cpu="6", labels={"scheduling.x-k8s.io/pod-group": "g"})
        for number in range(3)
    )
    world.add(first)
    world.run_until("1s")
    world.add(*others)
    world.run_until("5s")
    world.remove(large)
    assert {"default/w0", "default/w1", "default/w2"} <= set(world.run("40s").node_of)
