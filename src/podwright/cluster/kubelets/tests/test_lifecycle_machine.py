"""What the machine of the lifecycle keeps: kinds, the order of objects, addresses, invariants."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import KubernetesObject, ObjectPut
from podwright.apimachinery.schema import decode
from podwright.cluster import kubelets
from podwright.cluster.api import DeleteObject, UpdateObject
from podwright.cluster.kubelets import (
    Lifecycle,
    RecordEvent,
    ScheduleStage,
    StageDue,
    StageError,
    read_stages,
)
from podwright.cluster.kubelets.addresses import Addresses, AddressesState
from podwright.cluster.kubelets.stages.stage_objects import STAGE
from podwright.cluster.kubelets.tests.lifecycle_driver import (
    NOW,
    LifecycleDriver,
    a_node,
    a_pod,
    at,
)
from podwright.cluster.kubelets.tests.test_lifecycle import WAIT, stages_of
from podwright.cluster.store import ObjectStore

POD, NODE, CUSTOM = ("", "Pod"), ("", "Node"), ("", "Custom")
OTHERS = stages_of(WAIT, kind="Custom")
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}


@pytest.mark.parametrize(
    ("stages", "has_kubelet", "has_stage_objects", "kinds"),
    [
        pytest.param((), False, False, [], id="no stages, no kinds"),
        pytest.param(OTHERS, False, False, [CUSTOM], id="those that have stages"),
        pytest.param(OTHERS, True, False, [CUSTOM, NODE, POD], id="a kubelet has pods and nodes"),
        pytest.param((), False, True, [STAGE], id="Stages, if they take part"),
    ],
)
def test_the_kinds_of_a_machine(stages, has_kubelet, has_stage_objects, kinds):
    def objects_of(_: object) -> tuple[KubernetesObject, ...]:
        return ()

    life = Lifecycle(
        stages,
        reader=ObjectStore() if has_kubelet else None,
        objects_of=objects_of if has_stage_objects else None,
    )
    assert life.kinds == kinds


def keys(life: Lifecycle) -> list[str]:
    return [each.key.rpartition("/")[2] for each in life.state().objects]


def test_objects_are_kept_in_the_order_of_their_arrival_and_keep_their_place_when_replaced():
    life = Lifecycle()
    for obj in (a_pod("b"), a_node(), a_pod("a"), a_pod("c"), a_pod("b"), a_pod("a", uid="new")):
        life.handle(ObjectPut(obj), NOW)
    assert keys(life) == ["b", "n1", "a", "c"]
    again = Lifecycle()
    objects = [a_pod("b"), a_node(), a_pod("a", uid="new"), a_pod("c")]
    again.restore(life.state(), objects)
    for obj in (a_pod("z"), a_pod("d")):
        again.handle(ObjectPut(obj), NOW)
    assert keys(again) == ["b", "n1", "a", "c", "z", "d"]


@pytest.mark.parametrize(
    ("addresses", "host"),
    [
        pytest.param([{"type": "InternalIP", "address": "1.2.3.4"}], "1.2.3.4", id="its own"),
        pytest.param(
            [{"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "1.2.3.4"},
             {"type": "InternalIP", "address": "fd00::1"}],
            "1.2.3.4", id="the first internal one",
        ),
        pytest.param([{"type": "ExternalIP", "address": "9.9.9.9"}], "10.0.0.1", id="an assigned"),
        pytest.param(None, "10.0.0.1", id="an assigned one, of a node without addresses"),
    ],
)  # fmt: skip
def test_a_pod_has_the_address_of_its_node(addresses, host):
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_node(status={"addresses": addresses}))
    driver.put(a_pod())
    driver.run(1)
    assert driver.status()["hostIP"] == host


ADDRESSED = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: addressed}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .status.podIP, operator: DoesNotExist}]}
  next: {statusTemplate: "podIP: {{ PodIP }}"}
"""


def test_the_address_of_a_pod_that_is_gone_is_forgotten():
    driver = LifecycleDriver(Lifecycle(read_stages(ADDRESSED, source="f")))
    driver.put(a_pod())
    driver.run(1)
    assert driver.status()["podIP"] == "10.64.0.1"
    assert list(driver.life.state().addresses.pods.values()) == ["10.64.0.1"]
    driver.delete(driver.objects["default/web"])
    assert driver.life.state().addresses.pods == {}


def test_after_a_built_in_stage_only_the_update_schedules_the_next_one():
    life = Lifecycle()
    (scheduled,) = life.handle(ObjectPut(a_pod(ownerReferences=[OWNER])), NOW)
    assert isinstance(scheduled, ScheduleStage)
    (update,) = life.handle(scheduled.event, scheduled.due_ns)
    assert isinstance(update, UpdateObject)
    (following,) = life.handle(ObjectPut(decode(update.obj.raw)), scheduled.due_ns)
    assert isinstance(following, ScheduleStage)
    assert following.stage == "pod-complete"


def test_a_pod_has_its_claims_prepared_only_where_claims_can_be_read():
    claims = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "absent"}]}
    for reader, phase in ((None, "Running"), (ObjectStore(), None)):
        driver = LifecycleDriver(Lifecycle(claim_reader=reader))
        driver.put(a_node())
        driver.put(a_pod(spec=claims))
        driver.run(1)
        status: dict[str, Any] = driver.objects["default/web"].raw.get("status") or {}
        assert status.get("phase") == phase
        assert bool(driver.notes) is (reader is not None)
        assert driver.status("n1")["conditions"], "nodes have none"


def waiting() -> Lifecycle:
    """Return a machine: a pod without a stage, one that is removed, and two that wait."""
    life = Lifecycle(stages_of(WAIT, "selector: {}, next: {delete: true}"))
    life.handle(ObjectPut(a_pod("unbound", spec={"nodeName": None})), NOW)
    (plan,) = life.handle(ObjectPut(a_pod("gone", status={"phase": "Running"})), NOW)
    assert isinstance(plan, ScheduleStage)
    life.handle(plan.event, NOW)
    for each in "ab":
        life.handle(ObjectPut(a_pod(each, deletionTimestamp=at(30))), NOW)
    life.validate()
    return life


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"number": 1}, "two scheduled stages have the same number", id="number"),
        pytest.param({"number": 99}, "a number that was not assigned yet", id="unassigned number"),
        pytest.param({"number": 3}, "a number that was not assigned yet", id="the next number"),
        pytest.param({"obj": a_pod("b", status={"phase": "Running"}), "stage": 0},
                     "default/b: s0 does not apply", id="stage"),
        pytest.param({"obj": a_pod("other")}, "Pod.* default/b holds .*default/other", id="object"),
    ],
)  # fmt: skip
def test_a_broken_invariant_is_noticed(change, message):
    life = waiting()
    entry = life._kinds[POD].objects["default/b"]
    if "obj" in change:
        entry.obj = change["obj"]
    fields = {field: value for field, value in change.items() if field != "obj"}
    assert entry.scheduled is not None
    entry.scheduled = msgspec.structs.replace(entry.scheduled, **fields)
    with pytest.raises(AssertionError, match=message):
        life.validate()


def test_a_broken_invariant_of_what_a_kubelet_runs_is_noticed():
    life = Lifecycle(reader=ObjectStore())
    for obj in (a_node(), a_pod("a"), a_pod("b")):
        life.handle(ObjectPut(obj), NOW)
    life.validate()
    first, second = life._kinds[POD].objects.values()
    second.scheduled = first.scheduled
    with pytest.raises(AssertionError, match="two scheduled stages have the same number"):
        life.validate()


@pytest.mark.parametrize(
    ("stages_until_rest", "is_loop"),
    [pytest.param(100, False, id="a hundred"), pytest.param(101, True, id="one more")],
)
def test_at_most_a_hundred_stages_are_played_at_one_time(stages_until_rest, is_loop):
    counted = (
        "selector: {matchExpressions: [{key: .status.phase, operator: In, values: [%s]},"
        " {key: .status.reason, operator: NotIn, values: ['%s']}]}, next: {statusTemplate:"
        """ '{phase: %s, reason: "{{ add1 .status.reason }}"}'}"""
    )
    parts = [
        counted % (phase, stages_until_rest, following)
        for phase, following in (("Pending", "Running"), ("Running", "Pending"))
    ]
    driver = LifecycleDriver(Lifecycle(stages_of(*parts)))
    driver.put(a_pod(status={"phase": "Pending", "reason": "0"}))
    if is_loop:
        story = "more than 100 stages at one time, the last ones s0, s1, s0, s1, s0; a stage"
        with pytest.raises(StageError, match=story):
            driver.run()
    else:
        driver.run()
        assert len(driver.story) == 100


@pytest.mark.parametrize(
    ("count", "node", "pod"),
    [
        (0, "10.0.0.1", "10.64.0.1"),
        (254, "10.0.0.255", "10.64.0.255"),
        (255, "10.0.1.0", "10.64.1.0"),
        (65_535, "10.1.0.0", "10.65.0.0"),
        pytest.param((1 << 22) - 2, "10.63.255.255", "10.127.255.255", id="the last ones"),
        pytest.param(1 << 22, "10.0.0.1", "10.64.0.1", id="after four million the first again"),
    ],
)
def test_nodes_and_pods_have_addresses_in_networks_of_their_own(count, node, pod):
    addresses = Addresses(AddressesState({}, {}, count, count))
    assert (addresses.of_node("n"), addresses.of_pod("u")) == (node, pod)


@pytest.mark.parametrize(
    ("kept", "following"),
    [
        ("10.64.0.4", "10.64.0.6"),
        ("10.64.0.5", "10.64.0.6"),
        ("10.64.0.6", "10.64.0.7"),
        ("10.127.255.255", "10.64.0.0"),
        pytest.param("10.128.0.0", "10.64.0.6", id="beyond the network of pods"),
        pytest.param("10.63.255.255", "10.64.0.6", id="a node"),
    ],
)
def test_no_pod_gets_an_address_up_to_one_that_is_kept(kept, following):
    addresses = Addresses(AddressesState({}, {}, 0, 5))
    addresses.keep_pod(kept)
    assert addresses.of_pod("u") == following


def test_a_released_address_is_not_reused():
    addresses = Addresses()
    assert (addresses.of_node("n"), addresses.of_pod("u")) == ("10.0.0.1", "10.64.0.1")
    addresses.release_node("n")
    addresses.release_pod("u")
    addresses.release_pod("another")
    assert (addresses.of_node("n"), addresses.of_pod("u")) == ("10.0.0.2", "10.64.0.2")


CHANGED_IN_PLACE = {
    "ContainerRecord", "ObjectState", "PodRecord", "ProbeRecord", "Redirection", "RunRecord",
    "_Counts", "_File",
}  # fmt: skip
"""The records of what runs, and of what is counted or parsed."""


def test_stages_and_what_is_read_of_objects_cannot_be_changed():
    found = set()
    for each in pkgutil.walk_packages(kubelets.__path__, f"{kubelets.__name__}."):
        values = [] if ".tests" in each.name else vars(importlib.import_module(each.name)).values()
        structs = (v for v in values if isinstance(v, type) and issubclass(v, msgspec.Struct))
        own = [v for v in structs if v.__module__ == each.name]
        found |= {v.__name__ for v in own if not v.__struct_config__.frozen}
    assert found == CHANGED_IN_PLACE


@pytest.mark.parametrize(
    "action",
    [
        ScheduleStage(NOW, StageDue("", "Pod", "default/web", 1), "a"),
        DeleteObject("", "Pod", "default/web", "u", "kwok:a", 0),
        RecordEvent("", "Pod", "default/web", "u", "Normal", "Reason", "note"),
    ],
)
def test_an_action_is_written_with_its_kind(action):
    written = msgspec.json.encode(action)
    assert msgspec.json.decode(written)["kind"] == type(action).__name__
    kinds = ScheduleStage | DeleteObject | RecordEvent
    assert msgspec.json.decode(written, type=kinds) == action
