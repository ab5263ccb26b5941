"""The calls that plugins request, as actions of the machine, and how often a pod was attempted."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from podwright.apimachinery.objects import (
    PersistentVolume,
    Pod,
    ResourceClaim,
    decode_as,
    with_nominated_node_name as with_nomination,
)
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import (
    Answer,
    ApiCall,
    Cycle,
    ExtendedClaimPatch,
    Pending,
    Plugin,
    PodMetadataPatch,
    PostFilterResult,
    Progress,
    ResourceClaimWrite,
    Status,
    VolumeUpdate,
)
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import (
    CallDone,
    PatchExtendedClaim,
    PatchPodMetadata,
    PatchPodStatus,
    PodActivated,
    TimerFired,
    UpdateVolume,
    WriteResourceClaim,
)
from podwright.scheduler.machine.cycles.plugin_calls import call_or_resume
from podwright.scheduler.machine.tests.driving import Driver, pending
from podwright.testing import make_node, make_pod

VOLUME = decode_as({"metadata": {"name": "v"}}, PersistentVolume)
CLAIM = decode_as({"metadata": {"name": "c", "namespace": "default"}}, ResourceClaim)
POD = {"pod": "default/p", "uid": "default/p"}


class Calling(Plugin):
    """Makes a call at PreBind, or requests one at Reserve, for which nothing waits."""

    name = "Calling"
    call: ClassVar[ApiCall] = VolumeUpdate(VOLUME)
    waits: ClassVar[bool] = True
    answers: ClassVar[list[tuple[Answer, ...]]] = []

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        if not self.waits and self.handle is not None:
            self.handle.request(self.call, cycle.pod)
        return Status.OK

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        return Pending(calls=(self.call,)) if self.waits else Status.OK

    def continue_pre_bind(self, cycle: Cycle, node_name: str, progress: Progress) -> Status:
        self.answers.append(progress.answers)
        error = progress.answers[0].error
        return Status.OK if error is None else Status.error(error.message)


def calling(call: ApiCall, *, waits: bool = True) -> tuple[Driver, list[Any]]:
    Calling.call, Calling.waits, Calling.answers = call, waits, []
    driver = Driver(Calling)
    driver.put(make_node("n1"), pending("p"))
    driver.cycle()
    kinds = (UpdateVolume, WriteResourceClaim, PatchExtendedClaim, PatchPodMetadata)
    return driver, [action for action in driver.actions if isinstance(action, kinds)]


CALLS = [
    pytest.param(VolumeUpdate(VOLUME), UpdateVolume, {"volume": VOLUME}, id="volume"),
    pytest.param(
        ResourceClaimWrite("release", CLAIM, "u"),
        WriteResourceClaim,
        {"operation": "release", "claim": CLAIM, "pod_uid": "u"},
        id="resource claim",
    ),
    pytest.param(
        ExtendedClaimPatch("c", (("main", "a.com/gpu", "r"),)),
        PatchExtendedClaim,
        POD | {"claim_name": "c", "mappings": (("main", "a.com/gpu", "r"),)},
        id="claim for extended resources",
    ),
    pytest.param(
        PodMetadataPatch(annotations={"a": "1"}, labels={"l": "2"}),
        PatchPodMetadata,
        POD | {"annotations": {"a": "1"}, "labels": {"l": "2"}},
        id="metadata",
    ),
]


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize(("call", "kind", "fields"), CALLS)
def test_a_call_is_an_action(
    call: ApiCall, kind: type[Any], fields: dict[str, Any], waits: bool
) -> None:
    driver, (action,) = calling(call, waits=waits)
    assert type(action) is kind
    assert {name: getattr(action, name) for name in fields} == fields
    assert bool(driver.node_of("default/p")) is not waits
    driver.deliver(CallDone(action.call, obj=VOLUME))
    assert driver.node_of("default/p") == "n1"
    assert Calling.answers == ([(Answer(obj=VOLUME),)] if waits else [])


@pytest.mark.parametrize(
    ("nominated", "nominations"),
    [
        pytest.param("", ["n1"], id="a pod without a nomination"),
        pytest.param("n2", ["n1"], id="nominated to another node"),
        pytest.param("n1", [], id="nominated to the node"),
    ],
)
def test_the_node_is_announced_before_a_binding_that_takes_time(nominated, nominations):
    Calling.call, Calling.waits, Calling.answers = VolumeUpdate(VOLUME), True, []
    driver = Driver(Calling)
    driver.put(make_node("n1"), with_nomination(pending("p"), nominated))
    driver.cycle()
    patches = driver.all_of(PatchPodStatus)
    assert [patch.nominated_node for patch in patches] == nominations
    (update,) = driver.all_of(UpdateVolume)
    assert driver.node_of("default/p") == ""
    driver.deliver(CallDone(update.call))
    assert driver.node_of("default/p") == "n1"


@pytest.mark.parametrize("waits", [True, False])
def test_a_call_that_fails(waits: bool) -> None:
    driver, (action,) = calling(PodMetadataPatch(labels={"l": "2"}), waits=waits)
    assert isinstance(action, PatchPodMetadata)
    driver.deliver(CallDone(action.call, CallError("no")))
    if waits:
        assert driver.place_of("default/p") == "error_backoff"
    assert any("no" in note for note in driver.notes)


def test_what_the_patches_of_a_pod_set() -> None:
    _, (patch,) = calling(ExtendedClaimPatch("c", (("main", "a.com/gpu", "r"),)))
    assert isinstance(patch, PatchExtendedClaim)
    mapping = {"containerName": "main", "resourceName": "a.com/gpu", "requestName": "r"}
    assert patch.status == {
        "extendedResourceClaimStatus": {"requestMappings": [mapping], "resourceClaimName": "c"}
    }
    _, (added,) = calling(PodMetadataPatch(annotations={"a": "1"}, labels={"l": "2"}))
    assert isinstance(added, PatchPodMetadata)
    pod: Pod = added.applied_to(pending("p", labels={"l": "1", "m": "3"}))
    assert dict(pod.metadata.labels) == {"l": "2", "m": "3"}
    assert pod.metadata.annotations["a"] == "1"


def test_how_often_a_pod_was_attempted() -> None:
    driver, _ = calling(VolumeUpdate(VOLUME))
    placed = driver.machine.pod("default/p")
    assert placed is not None
    assert driver.machine.attempts_of(placed) == 1, "it is being bound"
    big = pending("big", cpu="900")
    driver.put(big)
    assert driver.machine.attempts_of(big) == 0
    driver.cycle()
    assert driver.machine.attempts_of(big) == 1
    driver.deliver(PodActivated("default/big"))
    assert driver.place_of("default/big") == "active"
    driver.deliver(PodActivated("default/unknown"))
    driver.cycle()
    assert driver.machine.attempts_of(big) == 2
    assert driver.machine.attempts_of(pending("unknown")) == 0
    assert driver.machine.last_decisions == (driver.machine.last_decision,)


class AfterFilter(Plugin):
    """Requests calls where no node fits."""

    name = "AfterFilter"
    result: ClassVar[PostFilterResult]

    def post_filter(self, cycle: Cycle, failed: object) -> PostFilterResult:
        return self.result


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(Status.unschedulable("no"), id="rejected"),
        pytest.param(Status.OK, id="a success without a node"),
        # kube-scheduler logs it; the pod is unschedulable all the same.
        pytest.param(Status.error("broken"), id="an error"),
    ],
)
def test_calls_of_a_post_filter_are_made_and_nothing_waits_for_them(status: Status) -> None:
    calls = VolumeUpdate(VOLUME), ResourceClaimWrite("release", CLAIM, "u")
    AfterFilter.result = PostFilterResult(status=status, calls=calls)
    driver = Driver(AfterFilter)
    driver.put(make_node("n1", cpu="1"), pending("p", cpu="2"))
    driver.cycle()
    (volume,), (claim,) = driver.all_of(UpdateVolume), driver.all_of(WriteResourceClaim)
    assert (volume.volume, claim.claim, claim.operation) == (VOLUME, CLAIM, "release")
    assert driver.place_of("default/p") == "unschedulable"
    for call in (volume.call, claim.call):
        driver.deliver(CallDone(call, CallError("no")))
    assert driver.place_of("default/p") == "unschedulable"


class Announced(Plugin):
    """Records PostBind."""

    name = "Announced"
    nodes: ClassVar[list[tuple[str, str]]] = []

    def post_bind(self, cycle: Cycle, node_name: str) -> None:
        self.nodes.append((cycle.pod.metadata.name, node_name))


def test_post_bind_follows_a_binding_that_succeeded() -> None:
    # Upstream: pkg/scheduler/schedule_one.go, bindingCycle
    Announced.nodes = []
    driver = Driver(Announced)
    driver.put(make_node("n1"), pending("a"))
    driver.errors["Bind"] = CallError("no")
    driver.cycle()
    assert Announced.nodes == []
    driver.put(pending("b"))
    driver.cycle()
    assert Announced.nodes == [("b", "n1")]


class Prepares(Plugin):
    """Says before PreBind whether it has work there, and records PreBind."""

    name = "Prepares"
    has_work: ClassVar[bool] = True
    ran: ClassVar[list[str]] = []

    def pre_bind_pre_flight(self, cycle: Cycle, node_name: str) -> Status:
        return Status.OK if self.has_work else Status.skip()

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status:
        self.ran.append(node_name)
        return Status.OK


@pytest.mark.parametrize("has_work", [True, False])
def test_a_pod_is_nominated_while_plugins_have_work_before_its_binding(
    monkeypatch: pytest.MonkeyPatch, has_work: bool
) -> None:
    # Upstream: pkg/scheduler/schedule_one.go, bindingCycle
    monkeypatch.setattr(Prepares, "has_work", has_work)
    Prepares.ran = []
    driver = Driver(Prepares)
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    assert [patch.nominated_node for patch in driver.all_of(PatchPodStatus)] == ["n1"] * has_work
    assert Prepares.ran == ["n1"] * has_work
    assert driver.node_of("default/a") == "n1"


class Delays(Plugin):
    """Waits at PreBind."""

    name = "Delays"
    delay_ns: ClassVar[int] = 0

    def pre_bind(self, cycle: Cycle, node_name: str) -> Pending:
        return Pending(delay_ns=self.delay_ns)

    def continue_pre_bind(self, cycle: Cycle, node_name: str, progress: Progress) -> Status:
        return Status.OK


@pytest.mark.parametrize(("delay_ns", "is_valid"), [(0, True), (1, True), (-1, False)])
def test_a_plugin_may_wait_for_no_time_and_not_for_less(
    monkeypatch: pytest.MonkeyPatch, delay_ns: int, is_valid: bool
) -> None:
    monkeypatch.setattr(Delays, "delay_ns", delay_ns)
    driver = Driver(Delays)
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    driver.now_ns += 1
    driver.deliver(TimerFired())
    assert driver.node_of("default/a") == ("n1" if is_valid else "")


@pytest.mark.parametrize(
    ("delay_ns", "is_valid"), [(2**63 - 1, True), (2**63, False), (2**62, True)]
)
def test_a_plugin_may_wait_for_as_long_as_64_bits_can_say(delay_ns: int, is_valid: bool) -> None:
    plugin, waits = Delays(), Pending(delay_ns=delay_ns)
    plugin.delay_ns = delay_ns  # type: ignore[misc]  # of this one only
    answer = call_or_resume(plugin, "pre_bind", Cycle(make_pod("a"), Cluster()), "n1", None)
    assert (answer == waits) is is_valid
    assert isinstance(answer, Status) is not is_valid
