"""State that a snapshot must hold and few tests reach."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping

import msgspec
import pytest

from podwright.apimachinery.objects import (
    KubernetesObject,
    Pod,
    ResourceClaim,
    decode_as,
    with_fields,
    with_node_name,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.tests.storage_objects import claim, volume
from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.scheduler.framework.status import Code
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    DeletePod,
    PodAllowed,
    SchedulerOptions,
    TimerFired,
)
from podwright.scheduler.machine.cycles.eviction import Eviction, EvictionStage
from podwright.scheduler.machine.cycles.waiting import WaitingPod
from podwright.scheduler.machine.snapshot import (
    EvictionSnapshot,
    _assume,
    _eviction,
    _eviction_from,
    _Numbering,
    _Numbers,
    _waiting,
    _waiting_from,
)
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, enabling, pending
from podwright.scheduler.machine.tests.test_evictions import answer_next, deleted, preempting
from podwright.scheduler.queueing import QueuedPod
from podwright.testing import make_node, make_pod

CLAIMED = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
AWAY = {
    "requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
    ]
}


class Numbered:
    """Numbers objects by identity, in the order of their first use."""

    def __init__(self) -> None:
        self.objects: list[KubernetesObject] = []

    def of(self, obj: KubernetesObject) -> int:
        for number, known in enumerate(self.objects):
            if known is obj:
                return number
        self.objects.append(obj)
        return len(self.objects) - 1

    def of_all(self, objects: Iterable[KubernetesObject]) -> list[int]:
        return [self.of(obj) for obj in objects]


def restored(driver: Driver) -> Driver:
    numbering = Numbered()
    snapshot = driver.machine.snapshot(numbering)
    again = Driver(assumed_pod_expiry_ns=30 * SECOND_NS)
    again.now_ns = driver.now_ns
    again.machine.restore(snapshot, dict(enumerate(numbering.objects)))
    return again


def test_nodes_and_resources_have_the_same_order_after_a_restore():
    driver = Driver()
    driver.put(make_node("gone", resources={"a.com/first": 1}))
    driver.put(*[make_node(f"n{i}", zone="ab"[i % 2], resources={"b.com/x": 1}) for i in range(4)])
    driver.remove(make_node("gone"))
    # It leaves its zone and is the last one of the other.
    driver.put(make_node("n0", zone="b", resources={"b.com/x": 1}))
    again = restored(driver)
    for one in (driver, again):
        nodes = one.machine.cluster.nodes
        assert nodes.names_by_zone() == [["n2"], ["n1", "n3", "n0"]]
        assert list(nodes.resources)[-2:] == ["a.com/first", "b.com/x"]


def test_a_bound_pod_that_is_not_seen_expires_after_a_restore():
    driver = Driver(assumed_pod_expiry_ns=30 * SECOND_NS)
    driver.holds = {"Bind"}
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    (bind,) = driver.held
    assert isinstance(bind, Bind)
    driver.deliver(CallDone(bind.call))
    again = restored(driver)
    for one in (driver, again):
        assert one.machine.assumed() == {"default/a": "n1"}
        one.now_ns += 30 * SECOND_NS
        one.deliver(TimerFired())
        assert one.machine.expired() == ("default/a",)


def test_pods_of_a_node_that_arrives_after_a_restore_take_its_room():
    driver = Driver()
    driver.put(make_node("n1", cpu="1"), with_node_name(make_pod("early", cpu="3"), "late"))
    again = restored(driver)
    again.put(make_node("late", cpu="4"), make_pod("p", cpu="2"))
    again.cycle()
    assert again.node_of("default/p") == ""
    reason, message = again.condition("default/p")
    assert reason == "Unschedulable"
    assert message.startswith("0/2 nodes are available: 2 Insufficient cpu.")


PLAIN = make_pod("plain", cpu="1", node="n1")


@pytest.mark.parametrize(
    ("other", "is_like"),
    [
        pytest.param(make_pod("other", cpu="1", node="n2"), True, id="the same template"),
        pytest.param(make_pod("other", cpu="2", node="n1"), False, id="another request"),
        pytest.param(
            make_pod("other", cpu="1", node="n1", labels={"a": "b"}), False, id="other labels"
        ),
        pytest.param(
            make_pod("other", cpu="1", node="n1", namespace="b"), False, id="another namespace"
        ),
        pytest.param(make_pod("other", cpu="1", node="n1", host_port=80), False, id="a port"),
        pytest.param(
            make_pod("other", cpu="1", node="n1", spec={"volumes": [CLAIMED]}), False, id="a volume"
        ),
        pytest.param(
            make_pod("other", cpu="1", node="n1", spec={"affinity": {"podAntiAffinity": AWAY}}),
            False,
            id="a term",
        ),
    ],
)
@pytest.mark.parametrize("is_earlier", [False, True], ids=["", "a log of an earlier version"])
def test_pods_that_count_alike_have_the_same_keys_after_a_restore(other, is_like, is_earlier):
    driver = Driver()
    driver.put(make_node("n1"), make_node("n2"), PLAIN, other, make_pod("last", cpu="1", node="n2"))
    numbering = Numbered()
    snapshot = driver.machine.snapshot(numbering)
    assert snapshot.placed_like == (0, int(not is_like), 0)
    if is_earlier:
        snapshot = msgspec.structs.replace(snapshot, placed_like=())
    again = Driver()
    again.machine.restore(snapshot, dict(enumerate(numbering.objects)))
    assert counted_like(again) == counted_like(driver)
    nodes, restored_nodes = driver.machine.cluster.nodes, again.machine.cluster.nodes
    assert restored_nodes.requested.tolist() == nodes.requested.tolist()


def counted_like(driver: Driver) -> dict[str, tuple[object, ...]]:
    """Return, for each placed pod, where it is and what counts of it."""
    cluster = driver.machine.cluster
    found: dict[str, tuple[object, ...]] = {}
    for name, placed in cluster.pods.items():
        keys = placed.keys
        found[name] = (
            placed.slot,
            keys.amounts,
            keys.non_zero,
            keys.ports,
            keys.has_volumes,
            keys.class_id == cluster.selectors.class_of(*of_pod(placed.pod)),
            [cluster.selectors.term(number) for number in keys.term_ids],
        )
    return found


def of_pod(pod: Pod) -> tuple[str, Mapping[str, str]]:
    return pod.metadata.namespace, pod.metadata.labels


def test_what_is_assumed_of_claims_and_volumes_is_assumed_after_a_restore():
    driver = Driver()
    driver.put(make_node("n1"), claim("c"), volume("v"))
    requested = {"metadata": {"namespace": "default", "name": "r", "resourceVersion": "1"}}
    driver.put(decode_as(requested, ResourceClaim))
    requested["metadata"]["resourceVersion"] = "9"
    cluster = driver.machine.cluster
    cluster.storage.assume_claim(claim("c", bound_to="v"))
    cluster.storage.assume_volume(volume("v", claim="c"))
    cluster.devices.assume(decode_as(requested, ResourceClaim))
    found = restored(driver).machine.cluster
    assert found.storage.assumptions() == cluster.storage.assumptions()
    assert [list(map(len, found.storage.assumptions())), len(found.devices.assumptions())] == [
        [1, 1], 1,
    ]  # fmt: skip
    assert found.devices.assumptions() == cluster.devices.assumptions()


def test_the_calls_of_an_eviction_name_its_preemptor_and_those_of_a_binding_its_number():
    driver = Driver()
    driver.holds = {"Bind"}
    driver.put(make_node("n1"), pending("a"), pending("b"))
    driver.cycle()
    driver.cycle()
    calls = [bind.call for bind in driver.held if isinstance(bind, Bind)]
    found = driver.machine.snapshot(Numbered()).calls
    assert found == ((calls[0], 1, ""), (calls[1], 2, ""))
    evicting = preempting(2)
    (call,) = [action.call for action in evicting.held if isinstance(action, DeletePod)]
    preemptor = evicting.machine.pod("default/big")
    assert preemptor is not None
    assert evicting.machine.snapshot(Numbered()).calls == ((call, 0, preemptor.metadata.uid),)


def test_other_objects_than_nodes_and_pods_count_after_a_restore():
    documents = [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "team", "labels": {"a": "b"}},
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "fast"},
            "provisioner": "p",
        },
    ]
    driver = Driver()
    driver.put(make_node("n1"), *map(decode, documents))
    again = restored(driver)
    for one in (driver, again):
        cluster = one.machine.cluster
        assert dict(cluster.namespaces["team"]) == {"a": "b"}
        assert list(cluster.storage.classes) == ["fast"]
        assert [obj.metadata.name for obj in one.machine.objects()] == ["n1", "team", "fast"]


def test_a_queued_pod_has_one_number():
    first, second = (QueuedPod(pending("a"), 1, 0) for _ in range(2))
    numbering = _Numbering(Numbered())
    assert [numbering.of_queued(each) for each in (first, second, first, second)] == [0, 1, 0, 1]
    assert len(numbering.queued) == 2
    assert numbering.queued[0] is first
    assert numbering.queued[1] is second


def test_the_default_seed_is_0():
    assert SchedulerOptions().seed == 0


@pytest.mark.parametrize("stage", EvictionStage)
@pytest.mark.parametrize(
    "state",
    [
        {},
        {"next_victim": 1, "started_ns": 7},
        {"has_failed": True, "is_stopped": False},
        {"has_failed": False, "is_stopped": True},
    ],
)
def test_an_eviction_is_the_same_after_a_restore(stage, state):
    pods = [make_pod(name, node="n1") for name in ("first", "second")]
    eviction = Eviction(make_pod("p"), "n1", "DefaultPreemption", tuple(pods))
    eviction.stage = stage
    eviction.to_clear = [pods[1]]
    eviction.busy = {3: (pods[0], True), 4: (pods[1], False)}
    for name, value in state.items():
        setattr(eviction, name, value)
    numbering = Numbered()
    entry = _eviction(eviction, _Numbering(numbering))
    entry = msgspec.msgpack.decode(msgspec.msgpack.encode(entry), type=EvictionSnapshot)
    again = _eviction_from(entry, _Numbers(dict(enumerate(numbering.objects)), ()))
    # The error is reported before a snapshot, and an eviction that is over is not kept.
    attributes = {name for name, value in vars(Eviction).items() if inspect.isdatadescriptor(value)}
    assert {"stage", "busy"} <= attributes
    for name in attributes - {"error", "is_over"}:
        assert getattr(again, name) == getattr(eviction, name), name


def test_a_binding_cycle_is_the_same_after_a_restore():
    driver = Driver()
    driver.holds = {"Bind"}
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    (binding,) = driver.machine._state.bindings.values()
    changes = {
        "pod": with_fields(binding.pod, "metadata", labels={"a": "b"}),
        "plugin_index": 1,
        "skipped": frozenset({"VolumeBinding", "Other"}),
        "is_cancellable": True,
        "cancelled": "preempted by another",
        "timer": 3,
        "started_ns": 4,
        "waits_since_ns": 5,
    }
    for name, value in changes.items():
        setattr(binding, name, value)
    (found,) = restored(driver).machine._state.bindings.values()
    for name in (*changes, "number", "uid", "node", "stage", "call_numbers"):
        assert getattr(found, name) == getattr(binding, name), name


def test_an_eviction_that_is_restored_goes_on():
    driver = preempting(2)
    again = restored(driver)
    nominated = [{**one.machine.cluster.nominated["n1"]}.keys() for one in (driver, again)]
    assert nominated == [{"default/big"}, {"default/big"}]
    again.holds, again.held = {"DeletePod"}, list(driver.held)
    for one in (driver, again):
        assert one.machine.preempting() == ("default/big",)
        answer_next(one)
    assert deleted(driver)[1:] == deleted(again) == ["v01"]
    for one in (driver, again):
        answer_next(one)
        assert one.machine.preempting() == ()
        assert one.place_of("default/big") == "backoff"


class Gate(Plugin):
    """Holds every pod at Permit."""

    name = "Gate"

    def permit(self, cycle: Cycle, node_name: str) -> Status:
        """Wait for someone who allows the pod."""
        return Status.wait("held")


def test_a_pod_that_waits_at_permit_goes_on_after_a_restore():
    # Other plugins have state for a pod until it is bound, which no snapshot holds.
    names = ("PrioritySort", "Gate", "DefaultBinder")
    enabled = [{"name": name} for name in names]
    config = enabling([])
    config["profiles"][0]["plugins"]["multiPoint"] = {
        "enabled": enabled,
        "disabled": [{"name": "*"}],
    }
    driver = Driver(Gate, config=config)
    driver.put(make_node("n1"), pending("p"))
    driver.cycle()
    numbering = Numbered()
    snapshot = driver.machine.snapshot(numbering)
    again = Driver(Gate, config=config)
    again.machine.restore(snapshot, dict(enumerate(numbering.objects)))
    assert again.machine.waiting() == driver.machine.waiting() == {"default/p": ("Gate",)}
    again.deliver(PodAllowed("default/p", "Gate"))
    assert again.machine.waiting() == {}
    assert again.node_of("default/p") == "n1"


def test_a_machine_with_the_state_of_plugins_for_a_waiting_pod_has_no_snapshot():
    driver = Driver(Gate)
    driver.put(make_node("n1"), pending("p"))
    found = [driver.machine.can_snapshot]
    driver.cycle()
    found.append(driver.machine.can_snapshot)
    driver.deliver(PodAllowed("default/p", "Gate"))
    found.append(driver.machine.can_snapshot)
    assert found == [True, False, True]


@pytest.mark.parametrize(
    "verdict",
    [None, Status.OK, Status(Code.UNSCHEDULABLE, ("no", "never"), "Gate")],
    ids=["undecided", "allowed", "rejected"],
)
def test_a_wait_at_permit_is_the_same_after_a_restore(verdict: Status | None):
    waiting = WaitingPod(7, "default/p", "uid-p", {"Gate": 5, "Other": 9})
    waiting.verdict = verdict
    again = _waiting_from(_waiting(waiting))
    assert (again.number, again.key, again.uid) == (7, "default/p", "uid-p")
    assert again.pending == {"Gate": 5, "Other": 9}
    assert again.verdict == verdict


def test_claims_and_volumes_are_assumed_again():
    cluster = Cluster()
    objects = [claim("c"), volume("v")]
    changed = [claim("c", bound_to="v"), volume("v", claim="c")]
    for obj in objects:
        cluster.put(obj)
    for obj in changed:
        _assume(cluster, obj)
    assert cluster.storage.assumptions() == ((changed[0],), (changed[1],))
    first, second = (
        decode_as(
            {"metadata": {"namespace": "default", "name": "r", "resourceVersion": version}},
            ResourceClaim,
        )
        for version in "12"
    )
    cluster.put(first)
    _assume(cluster, second)
    assert cluster.devices.assumptions() == (second,)
    with pytest.raises(AssertionError, match="a Node is never assumed"):
        _assume(cluster, make_node("n1"))
