"""What feature gates change in the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from podwright.apimachinery.objects import Duration, Object, with_fields, with_node_name
from podwright.apimachinery.schema import decode
from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.scheduler.framework.binding import CallError, Pending
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    CycleDue,
    DeletePod,
    FlushBackoff,
    PatchPodStatus,
    PodAllowed,
    PodRejected,
    TimerFired,
)
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, pending
from podwright.testing import make_node

IN_THE_CYCLE = "SchedulerAsyncPreemption=false"
UNANNOUNCED = "NominatedNodeNameForExpectation=false"


class Gate(Plugin):
    """Hold labeled pods at Permit."""

    name = "Gate"

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        held = cycle.pod.metadata.labels.get("hold") == "permit"
        return (Status.wait("held"), "1m") if held else Status.OK


class Disk(Plugin):
    """Delay the binding of labeled pods by three seconds."""

    name = "Disk"
    called: ClassVar[list[str]] = []

    def pre_bind_pre_flight(self, cycle: Cycle, node_name: str) -> Status:
        self.called.append("pre_bind_pre_flight")
        return Status.SKIPPED

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        self.called.append("pre_bind")
        held = cycle.pod.metadata.labels.get("hold") == "pre_bind"
        return Pending(delay_ns=3 * SECOND_NS) if held else Status.OK


# -------------------------------------------------------------------- preemption in the cycle


def full(victims: int = 1, **fields: Any) -> Driver:
    """Make a full node, and an important pod that fits nowhere; calls are not answered."""
    driver = Driver(Gate, gates=IN_THE_CYCLE, **fields)
    driver.put(make_node("n1", cpu=str(victims)))
    for number in range(victims):
        driver.put(with_node_name(pending(f"v{number}", cpu="1", priority=0), "n1"))
    driver.put(pending("big", cpu=str(victims), priority=10))
    return driver


def test_victims_are_deleted_in_the_cycle_and_the_preemptor_is_not_held_back() -> None:
    driver = full()
    driver.cycle()
    patch, delete, own = (a for a in driver.actions if isinstance(a, PatchPodStatus | DeletePod))
    assert isinstance(patch, PatchPodStatus)
    assert patch.condition is not None
    assert (patch.pod, patch.condition.type) == ("default/v0", "DisruptionTarget")
    assert isinstance(delete, DeletePod)
    assert delete.pod == "default/v0"
    assert isinstance(own, PatchPodStatus)
    assert (own.pod, own.nominated_node) == ("default/big", "n1")
    assert driver.machine.preempting() == ()
    # The deletion was seen after the pod was parked: it backs off and is tried again.
    assert driver.place_of("default/big") == "backoff"
    driver.now_ns += 2 * SECOND_NS
    driver.deliver(FlushBackoff())
    driver.cycle()
    assert driver.node_of("default/big") == "n1"


def test_all_victims_go_together_and_the_cycle_waits_for_them() -> None:
    driver = full(3)
    driver.holds = {"PatchPodStatus", "DeletePod"}
    driver.cycle()
    patches, driver.held = driver.held, []
    assert [type(a).__name__ for a in patches] == ["PatchPodStatus"] * 3
    assert not driver.machine.has_next
    assert not driver.machine.can_snapshot
    assert driver.notes == []
    # What happens meanwhile is taken in afterwards.
    driver.put(pending("later", cpu="1", priority=5))
    driver.deliver(CycleDue())
    for patch in patches:
        assert isinstance(patch, PatchPodStatus)
        driver.deliver(CallDone(patch.call))
    deletions, driver.held = driver.held, []
    assert [type(a).__name__ for a in deletions] == ["DeletePod"] * 3
    for number, delete in enumerate(deletions):
        assert isinstance(delete, DeletePod)
        assert driver.machine.last_decision is None, number
        driver.deliver(CallDone(delete.call))
    assert [note.split(":")[0] for note in driver.notes[:4]] == ["Preempted"] * 3 + [
        "FailedScheduling"
    ]
    assert driver.place_of("default/big") == "unschedulable"
    # The cycle that was due meanwhile has run as well.
    assert driver.place_of("default/later") == "unschedulable"


def test_no_more_victims_are_removed_at_once_than_the_parallelism_allows() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 2,
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"multiPoint": {"enabled": [{"name": "Gate"}]}},
            }
        ],
    }
    driver = full(3, config=config)
    driver.holds = {"PatchPodStatus", "DeletePod"}
    driver.cycle()
    assert len(driver.held) == 2


@pytest.mark.parametrize(
    ("error", "note", "nominated"),
    [
        pytest.param(
            CallError("no leader"), "preemption: no leader", "", id="one that cannot be deleted"
        ),
        pytest.param(CallError("gone", "NotFound"), "", "n1", id="one that is gone already"),
    ],
)
def test_the_pod_hears_of_a_victim(error: CallError, note: str, nominated: str) -> None:
    driver = full()
    driver.errors["DeletePod"] = error
    driver.cycle()
    message = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate"
    if note:
        message = f"0/1 nodes are available: 1 Insufficient cpu. {note}"
        assert driver.notes == [f"FailedScheduling: {message}"]
    big = driver.machine.pod("default/big")
    assert big is not None
    assert big.status.nominated_node_name == nominated
    # Only the asynchronous kind activates it.
    assert driver.place_of("default/big") == "unschedulable"


def test_a_victim_at_permit_goes_back_to_the_queue_without_a_call() -> None:
    driver = Driver(Gate, gates=IN_THE_CYCLE)
    driver.put(make_node("n1", cpu="1"), pending("v", cpu="1", labels={"hold": "permit"}))
    driver.cycle()
    driver.put(pending("big", cpu="1", priority=10))
    driver.cycle()
    assert not driver.all_of(DeletePod)
    assert driver.notes[0].endswith("on node n1 (in kube-scheduler memory).")
    # The victim's end came after the preemptor was back in the queue.
    assert driver.place_of("default/big") == "backoff"
    driver.now_ns += 2 * SECOND_NS
    driver.deliver(FlushBackoff())
    driver.cycle()
    assert driver.node_of("default/big") == "n1"


def test_nominations_of_less_important_pods_are_taken_back_after_the_victims() -> None:
    driver = full()
    driver.holds = {"DeletePod"}
    # A pod of middling priority was promised the node before.
    driver.cycle()
    (delete,) = driver.held
    assert isinstance(delete, DeletePod)
    driver.held.clear()
    driver.deliver(CallDone(delete.call))
    driver.put(pending("bigger", cpu="1", priority=20))
    driver.cycle()
    (again,) = driver.held
    before = len(driver.all_of(PatchPodStatus))
    assert isinstance(again, DeletePod)
    driver.deliver(CallDone(again.call))
    cleared, *_ = driver.all_of(PatchPodStatus)[before:]
    assert (cleared.pod, cleared.nominated_node) == ("default/big", "")


def test_the_same_events_give_the_same_actions_with_the_gate_off() -> None:
    logs = []
    for _ in range(2):
        driver = full(3)
        driver.cycle()
        logs.append(driver.actions)
    assert logs[0] == logs[1]


# -------------------------------------------------------------------- no word beforehand


def node_patches(driver: Driver) -> list[str | None]:
    return [patch.nominated_node for patch in driver.all_of(PatchPodStatus)]


@pytest.mark.parametrize(
    ("gates", "hold", "patches"),
    [
        pytest.param("", "permit", ["n1"], id="on: a waiting pod is nominated to its node"),
        pytest.param(UNANNOUNCED, "permit", [], id="off: not at Permit"),
        pytest.param(UNANNOUNCED, "pre_bind", [], id="off: not in PreBind"),
    ],
)
def test_nothing_is_told_before_pre_bind(gates: str, hold: str, patches: list[str]) -> None:
    Disk.called.clear()
    driver = Driver(Gate, Disk, gates=gates)
    driver.put(make_node("n1"), pending("a", cpu="1", labels={"hold": hold}))
    driver.cycle()
    assert not driver.all_of(Bind)
    driver.now_ns += 3 * SECOND_NS
    driver.deliver(TimerFired())
    driver.deliver(PodAllowed("default/a", "Gate"))
    assert driver.node_of("default/a") == "n1"
    assert node_patches(driver) == patches
    # Without pre-flight, PreBind cannot be skipped.
    assert Disk.called == (["pre_bind_pre_flight"] if not gates else ["pre_bind"])


@pytest.mark.parametrize(
    ("event", "node", "place"),
    [
        pytest.param(PodAllowed("default/a", "Gate"), "n1", "", id="allowed"),
        pytest.param(PodRejected("default/a", "Gate", "no"), "", "backoff", id="rejected"),
        pytest.param(PodAllowed("default/b", "Gate"), "", "", id="another pod is allowed"),
        pytest.param(PodRejected("default/b", "Gate", "no"), "", "", id="another is rejected"),
        pytest.param(PodAllowed("uid of a", "Gate"), "", "", id="a uid is not a name"),
    ],
)
def test_a_waiting_pod_is_decided_on_by_its_name(
    event: PodAllowed | PodRejected, node: str, place: str
) -> None:
    driver = Driver(Gate)
    waiting = pending("a", cpu="1", labels={"hold": "permit"})
    driver.put(make_node("n1"), with_fields(waiting, "metadata", uid="uid of a"))
    driver.cycle()
    assert driver.machine.waiting() == {"default/a": ("Gate",)}
    driver.deliver(event)
    assert (driver.node_of("default/a"), driver.place_of("default/a")) == (node, place)
    assert bool(driver.machine.waiting()) is not bool(node or place)


def test_a_refusal_at_permit_leaves_no_nomination_to_take_back() -> None:
    driver = Driver(Gate, gates=UNANNOUNCED)
    driver.put(make_node("n1"), pending("a", cpu="1", labels={"hold": "permit"}))
    driver.cycle()
    driver.deliver(PodRejected("default/a", "Gate", "not today"))
    assert node_patches(driver) == [None]
    assert driver.place_of("default/a") == "backoff"


def test_a_pod_in_pre_bind_can_be_preempted_though_nobody_was_asked() -> None:
    driver = Driver(Disk, gates=UNANNOUNCED)
    driver.put(make_node("n1", cpu="1"), pending("v", cpu="1", labels={"hold": "pre_bind"}))
    driver.cycle()
    driver.put(pending("big", cpu="1", priority=10))
    driver.cycle()
    assert not driver.all_of(DeletePod)
    assert driver.notes[1].startswith("Preempted: ")
    assert driver.notes[2].endswith("preempted by DefaultPreemption")
    assert driver.place_of("default/v") == "error_backoff"


def test_a_pod_that_is_past_pre_bind_is_deleted() -> None:
    """Upstream: pkg/scheduler/framework/runtime/framework.go, podInPreBind.CancelPod."""
    driver = Driver(Disk, gates=UNANNOUNCED)
    driver.holds = {"Bind", "DeletePod"}
    driver.put(make_node("n1", cpu="1"), pending("v", cpu="1"))
    driver.cycle()
    driver.put(pending("big", cpu="1", priority=10))
    driver.cycle()
    assert [delete.pod for delete in driver.all_of(DeletePod)] == ["default/v"]
    assert driver.machine.assumed() == {"default/v": "n1"}


def test_extension_points_are_counted_as_they_were_asked() -> None:
    driver = Driver(gates=UNANNOUNCED)
    driver.put(make_node("n1"), pending("a", cpu="1"))
    driver.cycle()
    points = {
        series.labels[0]
        for family in driver.machine.metrics_snapshot().families
        if family.name == "scheduler_framework_extension_point_duration_seconds"
        for series in family.series
    }
    assert "PreBindPreFlight" not in points
    assert {"PreBind", "Bind", "PostBind"} <= points


# -------------------------------------------------------------------- not the scheduler's


def test_clearing_the_nomination_after_binding_is_not_for_the_machine() -> None:
    """ClearingNominatedNodeNameAfterBinding is a gate of the API server."""
    logs = []
    for gates in ("", "ClearingNominatedNodeNameAfterBinding=false"):
        driver = Driver(Gate, gates=gates)
        driver.put(make_node("n1"), pending("a", cpu="1", labels={"hold": "permit"}))
        driver.cycle()
        driver.deliver(PodAllowed("default/a", "Gate"))
        logs.append(driver.actions)
    assert logs[0] == logs[1]


# -------------------------------------------------------------------- resources of device classes


@pytest.mark.parametrize(
    ("gates", "place"),
    [
        pytest.param("", "backoff", id="on: a DeviceClass may provide the extended resource"),
        pytest.param(
            "DRAExtendedResource=false", "unschedulable", id="off: the class affects no pod"
        ),
    ],
)
def test_a_device_class_concerns_pods_that_ask_for_extended_resources(
    gates: str, place: str
) -> None:
    driver = Driver(gates=gates)
    driver.put(make_node("n1"))
    resources = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
    driver.put(pending("web", spec={"containers": [{"name": "c", "resources": resources}]}))
    driver.cycle()
    assert driver.place_of("default/web") == "unschedulable"
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}}
    driver.put(decode(head | {"spec": {"extendedResourceName": "example.com/gpu"}}))
    assert driver.place_of("default/web") == place


def of_devices(kind: str, name: str, spec: dict[str, Any]) -> Object:
    version = "v1alpha3" if kind == "DeviceTaintRule" else "v1"
    metadata = {"name": name, "uid": name}
    if kind == "ResourceClaim":
        metadata["namespace"] = "default"
    head = {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": metadata}
    return decode(head | {"spec": spec})


def taint_rule(device: str) -> Object:
    taint = {"key": "broken", "effect": "NoSchedule"}
    return of_devices(
        "DeviceTaintRule", "rule", {"deviceSelector": {"device": device}, "taint": taint}
    )


@pytest.mark.parametrize(
    ("change", "place"),
    [
        pytest.param(lambda driver: driver.remove(taint_rule("a")), "backoff", id="it is deleted"),
        pytest.param(lambda driver: driver.put(taint_rule("b")), "backoff", id="of another device"),
        pytest.param(lambda driver: driver.put(taint_rule("a")), "unschedulable", id="it stays"),
    ],
)
def test_a_rule_that_taints_no_longer_counts_as_a_change_of_the_devices(
    change: Callable[[Driver], None], place: str
) -> None:
    """Upstream: dynamic-resource-allocation/resourceslice/tracker/tracker.go, syncSlice."""
    driver = Driver(gates="DRADeviceTaintRules=true")
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    published = {"driver": "d.example.com", "nodeName": "n1", "pool": pool}
    driver.put(
        make_node("n1"),
        of_devices("DeviceClass", "gpu", {}),
        of_devices("ResourceSlice", "n1", published | {"devices": [{"name": "a"}]}),
        of_devices(
            "ResourceClaim", "c", {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        ),
        taint_rule("a"),
        pending("web", spec={"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}),
    )
    driver.cycle()
    assert driver.place_of("default/web") == "unschedulable"
    change(driver)
    assert driver.place_of("default/web") == place


NO_POD_LEVEL = "PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false"


@pytest.mark.parametrize(
    ("gates", "node"),
    [
        pytest.param("", "", id="on: the requests of the pod as a whole count"),
        pytest.param(NO_POD_LEVEL, "n1", id="off: those of its containers do"),
    ],
)
def test_requests_of_a_pod_as_a_whole_are_read_with_their_gate(gates: str, node: str) -> None:
    driver = Driver(gates=gates)
    driver.put(make_node("n1", cpu="2"))
    driver.put(pending("web", cpu="1", spec={"resources": {"requests": {"cpu": "3"}}}))
    driver.cycle()
    assert driver.node_of("default/web") == node
