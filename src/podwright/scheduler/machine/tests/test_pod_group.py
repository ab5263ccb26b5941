"""The scheduling cycle of a pod group, where the vectors do not look."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pytest

from podwright.apimachinery.objects import (
    Duration,
    PersistentVolume,
    Pod,
    PodGroup,
    decode_as,
    with_fields,
)
from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.framework import Cycle, Plugin, PostFilterResult, Status, VolumeUpdate
from podwright.scheduler.machine import (
    Bind,
    CallExtender,
    DeletePod,
    ExtenderReplied,
    FlushBackoff,
    PatchPodGroupStatus,
    UpdateVolume,
)
from podwright.scheduler.machine.cycles.pod_group import _HELD, GROUP_UNSCHEDULABLE
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver
from podwright.testing import make_node, make_pod

VOLUME = decode_as({"metadata": {"name": "v"}}, PersistentVolume)
GATES = "GenericWorkload=true,GangScheduling=true"
HEAD = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


def gang(name: str, least: int, **status: Any) -> PodGroup:
    document = {
        "metadata": {"namespace": "default", "name": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}},
        "status": status,
    }
    return decode_as(document, PodGroup)


def member(name: str, group: str = "g", **fields: Any) -> Pod:
    spec = {"schedulingGroup": {"podGroupName": group}}
    return make_pod(
        name, scheduler=fields.pop("scheduler", "default-scheduler"), spec=spec, **fields
    )


def driver_of(config: dict[str, Any] | None = None) -> Driver:
    return Driver(config=config, gates=GATES)


def test_without_the_gates_members_are_pods_like_any_other():
    driver = Driver()
    driver.put(make_node("n1", cpu="2"), gang("g", 2), member("a", cpu="2"))
    driver.cycle()
    assert driver.node_of("default/a") == "n1"
    assert not driver.all_of(PatchPodGroupStatus)


def test_members_with_different_schedulers_are_an_error_for_all():
    # Upstream: pkg/scheduler/schedule_one_podgroup.go, frameworkForPodGroup
    profiles = [{"schedulerName": "default-scheduler"}, {"schedulerName": "other"}]
    driver = driver_of({**HEAD, "profiles": profiles})
    driver.put(make_node("n1"), gang("g", 2), member("a"), member("b", scheduler="other"))
    driver.cycle()
    for name in ("default/a", "default/b"):
        reason, message = driver.condition(name)
        assert reason == "SchedulerError"
        assert message == (
            "all pods in a single pod group should have the same .spec.schedulerName set, "
            'got: "other" and "default-scheduler"'
        )
        assert driver.place_of(name) == "error_backoff"


def test_a_member_that_is_being_deleted_is_left_out_and_the_others_go_on():
    driver = driver_of()
    going = with_fields(member("b"), "metadata", deletion_timestamp="2026-01-01T00:00:00Z")
    driver.put(make_node("n1"), gang("g", 2), member("a"), member("c"), going)
    driver.cycle()
    assert driver.node_of("default/a") == driver.node_of("default/c") == "n1"
    assert sorted(bind.pod for bind in driver.all_of(Bind)) == ["default/a", "default/c"]
    assert "FailedScheduling: skip schedule deleting pod: default/b" in driver.notes


def test_a_group_that_was_scheduled_is_never_called_unschedulable_again():
    driver = driver_of()
    scheduled = {"type": "PodGroupScheduled", "status": "True", "reason": "Scheduled"}
    driver.put(make_node("n1", cpu="1"), gang("g", 1, conditions=[scheduled]))
    driver.put(member("a", cpu="2"))
    driver.cycle()
    assert driver.condition("default/a")[0] == "Unschedulable"
    assert not driver.all_of(PatchPodGroupStatus)


def test_a_reverted_evaluation_leaves_no_state():
    driver = driver_of()
    driver.put(make_node("n1", cpu="2"), gang("g", 2), member("a", cpu="2"), member("b", cpu="2"))
    driver.cycle()
    assert not driver.machine.assumed()
    assert not driver.machine.waiting()
    assert not driver.machine.cluster.pods
    assert driver.machine.cluster.nodes.requested.sum() == 0


def test_a_deleted_group_is_an_error_and_its_pods_are_held_back_afterwards():
    driver = driver_of()
    group = gang("g", 2)
    driver.put(make_node("n1"), group, member("a"), member("b"))
    driver.remove(group)
    driver.cycle()
    assert driver.condition("default/a")[1].startswith('running Permit plugin "GangScheduling"')
    driver.now_ns += 3 * SECOND_NS
    driver.deliver(FlushBackoff())
    assert driver.place_of("default/a") == "gated"


def test_members_are_decided_with_extenders_one_after_the_other():
    extender = {"urlPrefix": "http://e.example", "filterVerb": "filter", "weight": 1}
    driver = driver_of({**HEAD, "extenders": [extender]})
    driver.put(make_node("n1", cpu="2"), make_node("n2", cpu="2"), gang("g", 2))
    driver.put(member("a", cpu="2"), member("b", cpu="2"))
    driver.cycle()
    for count in (1, 2):
        call = driver.all_of(CallExtender)[-1]
        assert len(driver.all_of(CallExtender)) == count
        nodes = msgspec.json.decode(call.request.body)["Nodes"]["items"]
        # What the first was given does not count as free for the second.
        assert len(nodes) == 3 - count
        body = msgspec.json.encode({"Nodes": {"items": nodes}})
        driver.deliver(ExtenderReplied(call.call, ExtenderReply(status=200, body=body)))
    assert {bind.pod for bind in driver.all_of(Bind)} == {"default/a", "default/b"}


def test_groups_are_known_again_after_a_snapshot():
    class Numbering(list[Any]):
        def of(self, obj: Any) -> int:
            if obj not in self:
                self.append(obj)
            return self.index(obj)

        def of_all(self, objects: Any) -> list[int]:
            return list(map(self.of, objects))

    first, second = driver_of(), driver_of()
    first.put(make_node("n1"), gang("g", 2), member("a"))
    numbering = Numbering()
    second.machine.restore(first.machine.snapshot(numbering), dict(enumerate(numbering)))
    second.put(member("b"))
    second.cycle()
    assert {bind.pod for bind in second.all_of(Bind)} == {"default/a", "default/b"}


class _Held(Plugin):
    """Asks to wait, with the name of the plugin as its reason."""

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        return Status.wait(f"{self.name} waits"), "1s"


class HeldFirst(_Held):
    name = "HeldFirst"


class HeldLast(_Held):
    name = "HeldLast"


class Accepting(Plugin):
    name = "Accepting"

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        return Status.OK


def enabled_at_permit(*names: str, is_first: bool = False) -> dict[str, Any]:
    plugins: dict[str, Any] = {"permit": {"enabled": [{"name": name} for name in names]}}
    if is_first:
        # An override of a plugin of multiPoint comes first; the others of the point come last.
        plugins["permit"]["enabled"].append({"name": "GangScheduling"})
        plugins["permit"]["disabled"] = [{"name": "*"}]
    return {**HEAD, "profiles": [{"plugins": plugins}]}


@pytest.mark.parametrize(
    ("plugins", "is_first", "reason"),
    [
        pytest.param((HeldFirst,), False, "HeldFirst waits", id="after the group"),
        pytest.param((HeldFirst, HeldLast), False, "HeldLast waits", id="two after the group"),
        pytest.param((HeldLast, HeldFirst), False, "HeldFirst waits", id="in the other order"),
        pytest.param((HeldLast, Accepting), False, "HeldLast waits", id="one that accepts"),
        pytest.param(
            (HeldFirst,),
            True,
            "waiting for minCount pods from a gang to be scheduled",
            id="before the group",
        ),
    ],
)
def test_the_last_plugin_that_asks_to_wait_gives_the_reason(plugins, is_first, reason):
    config = enabled_at_permit(*[plugin.name for plugin in plugins], is_first=is_first)
    driver = Driver(*plugins, config=config, gates=GATES)
    driver.put(make_node("n1", cpu="1"), gang("g", 2), member("a", cpu="1"), member("b", cpu="1"))
    driver.cycle()
    assert driver.condition("default/a")[1] == (
        f"pod group is unschedulable, {reason}, "
        "one or more plugins asked to wait and no plugin rejected pod"
    )


class FailsOnce(Plugin):
    """PreBind, whose first pre-flight fails."""

    name = "FailsOnce"

    def __init__(self) -> None:
        self.failed = False

    def pre_bind_pre_flight(self, cycle: Cycle, node_name: str) -> Status:
        if cycle.pod.metadata.name != "a" or self.failed:
            return Status.SKIPPED
        self.failed = True
        return Status.error("not yet")

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status:
        return Status.OK


def test_members_that_wait_for_the_last_one_are_released_in_order_of_their_names():
    driver = Driver(FailsOnce, gates=GATES)
    driver.put(make_node("n1"), gang("g", 4))
    driver.put(*[member(name) for name in ("c", "b", "d", "a")])
    driver.cycle()
    held = [name for name, plugins in driver.machine.waiting().items() if plugins]
    assert held == ["default/c", "default/a", "default/b", "default/d"]
    assert not driver.all_of(Bind)
    driver.now_ns += 3 * SECOND_NS
    driver.deliver(FlushBackoff())
    driver.cycle()
    bound = [bind.pod for bind in driver.all_of(Bind) if bind.pod != "default/a"]
    assert bound == ["default/b", "default/c", "default/d"]
    assert driver.node_of("default/a") == "n1"


def test_a_group_that_needs_preemption_evicts_and_waits():
    driver = driver_of()
    driver.put(make_node("n1", cpu="2"), make_pod("low", cpu="2", node="n1"))
    driver.put(gang("g", 1), member("a", cpu="2", priority=10))
    driver.cycle()
    assert [action.pod for action in driver.all_of(DeletePod)] == ["default/low"]
    assert driver.node_of("default/a") == ""


EARLIER = "2020-01-01T00:00:00Z"
UNPLACED = {
    "type": "PodGroupScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "pod group is unschedulable",
    "lastTransitionTime": EARLIER,
    "observedGeneration": 2,
}
PLACED = {**UNPLACED, "status": "True", "reason": "Scheduled", "message": ""}
NOW = "2023-11-14T22:13:20Z"


@pytest.mark.parametrize(
    ("present", "cpu", "written"),
    [
        pytest.param([], "2", ("False", NOW), id="the first"),
        pytest.param([UNPLACED], "2", None, id="the same again is not written"),
        pytest.param([{**UNPLACED, "message": "?"}], "2", ("False", EARLIER), id="another message"),
        pytest.param([{**UNPLACED, "reason": "?"}], "2", ("False", EARLIER), id="another reason"),
        pytest.param(
            [{**UNPLACED, "observedGeneration": 1}], "2", ("False", EARLIER), id="a newer group"
        ),
        pytest.param([UNPLACED], "1", ("True", NOW), id="another status is a transition"),
        pytest.param(
            [{**UNPLACED, "type": "Other", "status": "True"}, UNPLACED], "2", None, id="others"
        ),
        pytest.param([PLACED], "1", None, id="placed again"),
        pytest.param([{**PLACED, "message": "?"}], "1", ("True", EARLIER), id="with a message"),
        pytest.param([{**PLACED, "reason": "?"}], "1", ("True", EARLIER), id="for a reason"),
        pytest.param(
            [{**PLACED, "observedGeneration": 1}],
            "1",
            ("True", EARLIER),
            id="a newer one",
        ),
        pytest.param([PLACED], "2", None, id="what was placed once stays so"),
    ],
)
def test_the_condition_of_a_group_is_written_when_it_differs(present, cpu, written):
    # Upstream: updatePodGroupCondition, and SetStatusCondition of apimachinery
    driver = driver_of()
    driver.now_ns = 1_700_000_000 * SECOND_NS
    group = with_fields(gang("g", 1, conditions=present), "metadata", generation=2)
    driver.put(make_node("n1", cpu="1"), group, member("a", cpu=cpu))
    driver.cycle()
    conditions = [patch.condition for patch in driver.all_of(PatchPodGroupStatus)]
    assert [(each.status, each.last_transition_time) for each in conditions] == (
        [] if written is None else [written]
    )
    for each in conditions:
        expected = ("Scheduled", "") if each.status == "True" else UNPLACED_BECAUSE
        assert (each.reason, each.message, each.observed_generation) == (*expected, 2)


UNPLACED_BECAUSE = (UNPLACED["reason"], UNPLACED["message"])


class Refusing(Plugin):
    """Refuses members by name at an extension point, and counts how often each is released."""

    name = "Refusing"
    point: ClassVar[str] = ""
    refusal: ClassVar[Status] = Status.unschedulable("not b")
    released: ClassVar[list[str]] = []

    def _answer(self, point: str, cycle: Cycle) -> Status:
        is_refused = self.point == point and cycle.pod.metadata.name == "b"
        return self.refusal if is_refused else Status.OK

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        return self._answer("Reserve", cycle)

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        self.released.append(cycle.pod.metadata.name)

    def permit(self, cycle: Cycle, node_name: str) -> Status:
        return self._answer("Permit", cycle)


@pytest.mark.parametrize("point", ["Reserve", "Permit"])
def test_a_refused_member_is_released_once_and_the_others_from_the_last_on(point, monkeypatch):
    # Upstream: pkg/scheduler/schedule_one_podgroup.go, podGroupSchedulingDefaultAlgorithm
    monkeypatch.setattr(Refusing, "point", point)
    Refusing.released.clear()
    driver = Driver(Refusing, gates=GATES)
    driver.put(make_node("n1"), gang("g", 3), *[member(name) for name in "abc"])
    driver.cycle()
    assert Refusing.released == ["b", "c", "a"]
    assert not driver.all_of(Bind)
    assert driver.machine.cluster.nodes.requested.sum() == 0
    assert driver.condition("default/b")[0] == "Unschedulable"
    assert "not b" in driver.condition("default/b")[1]


@pytest.mark.parametrize("point", ["Reserve", "Permit"])
@pytest.mark.parametrize("nominated_node_name", ["n1", ""])
def test_the_nomination_of_a_refused_member_counts_again(
    point: str, nominated_node_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Upstream: pkg/scheduler/schedule_one.go, unreserveAndForget
    monkeypatch.setattr(Refusing, "point", point)
    driver = Driver(Refusing, gates=GATES)
    driver.put(make_node("n1", pods=1), gang("g", 1))
    refused = with_fields(member("b"), "status", nominated_node_name=nominated_node_name)
    driver.put(refused, member("c"))
    driver.cycle()
    assert "not b" in driver.condition("default/b")[1]
    assert driver.node_of("default/c") == ("" if nominated_node_name else "n1")


@pytest.mark.parametrize("point", ["Reserve", "Permit"])
@pytest.mark.parametrize("least", [1, 2])
def test_a_refused_member_that_needs_preemption_is_refused(point, least, monkeypatch):
    monkeypatch.setattr(Refusing, "point", point)
    driver = Driver(Refusing, gates=GATES)
    driver.put(make_node("n1", cpu="2"), make_node("n2", cpu="1"), gang("g", least))
    driver.put(make_pod("low", cpu="2", node="n1"))
    driver.put(member("a", cpu="1", priority=10), member("b", cpu="2", priority=10))
    driver.holds = {"DeletePod"}
    driver.cycle()
    reason, message = driver.condition("default/b")
    assert (reason, "not b" in message) == ("Unschedulable", True)
    pod = driver.machine.pod("default/b")
    assert pod is not None
    assert pod.status.nominated_node_name == ""
    # The others do not wait for it.
    assert driver.node_of("default/a") == ("n2" if least == 1 else "")
    (patch,) = driver.all_of(PatchPodGroupStatus)
    expected = ("True", "") if least == 1 else ("False", GROUP_UNSCHEDULABLE)
    assert (patch.condition.status, patch.condition.message) == expected


@pytest.mark.parametrize("point", ["Reserve", "Permit"])
def test_the_point_at_which_a_member_fails_is_named(point, monkeypatch):
    # Upstream: pkg/scheduler/framework/runtime/framework.go, RunReservePluginsReserve
    monkeypatch.setattr(Refusing, "point", point)
    monkeypatch.setattr(Refusing, "refusal", Status.error("broken"))
    driver = Driver(Refusing, gates=GATES)
    driver.put(make_node("n1"), gang("g", 1), member("a"), member("b"), member("c"))
    driver.cycle()
    own = f'running {point} plugin "Refusing": broken'
    assert driver.condition("default/b") == ("SchedulerError", own)
    # Also that of a member which was not evaluated any more.
    others = f"failed to schedule other pod from a pod group: {own}"
    for name in ("default/a", "default/c"):
        assert driver.condition(name) == ("SchedulerError", others)
    (patch,) = driver.all_of(PatchPodGroupStatus)
    assert (patch.condition.reason, patch.condition.message) == ("SchedulerError", others)
    assert driver.machine.cluster.nodes.requested.sum() == 0


class Recording(Plugin):
    """Records the members in the order of their evaluation."""

    name = "Recording"
    seen: ClassVar[list[str]] = []

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        self.seen.append(cycle.pod.metadata.name)
        return Status.OK

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        pass


@pytest.mark.parametrize(
    ("tried", "new", "order"),
    [
        pytest.param({}, {"b": 1, "a": 1, "c": 1}, "bac", id="equals: the popped one, then names"),
        pytest.param({}, {"a": 1, "b": 3, "c": 2}, "bca", id="the highest priority first"),
        pytest.param({"z": 1}, {"a": 1, "b": 1}, "zab", id="the first that was tried first"),
        pytest.param({"z": 1}, {"a": 2, "b": 1}, "azb", id="the priority counts before that"),
    ],
)
def test_members_are_evaluated_by_priority_and_then_by_their_first_attempt(tried, new, order):
    # Upstream: pkg/scheduler/schedule_one_podgroup.go, podGroupInfoForPod
    Recording.seen.clear()
    driver = Driver(Recording, gates=GATES)
    driver.put(gang("g", 1))
    for name, priority in tried.items():
        driver.put(member(name, priority=priority))
    driver.cycle()
    driver.now_ns += SECOND_NS
    driver.put(*[member(name, priority=priority) for name, priority in new.items()])
    driver.put(make_node("n1"))
    driver.cycle()
    assert "".join(Recording.seen) == order * 2, "evaluated, then assumed in the same order"


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_group_waits_if_one_of_its_members_needs_preemption(names):
    driver = driver_of()
    driver.put(make_node("n1", cpu="2"), make_node("n2", cpu="1"))
    driver.put(make_pod("low", cpu="2", node="n1"), gang("g", 2))
    large = {name: "2" if name == names[0] else "1" for name in names}
    driver.put(*[member(name, cpu=cpu, priority=10) for name, cpu in sorted(large.items())])
    driver.holds = {"DeletePod"}
    driver.cycle()
    assert [action.pod for action in driver.all_of(DeletePod)] == ["default/low"]
    assert not driver.all_of(Bind)
    assert not driver.node_of("default/a") + driver.node_of("default/b")
    (patch,) = driver.all_of(PatchPodGroupStatus)
    assert patch.condition.status == "False"
    assert "waiting for preemption" in patch.condition.message


@pytest.mark.parametrize(
    ("priority", "pods", "is_placed"),
    [(0, 2, False), (0, 3, True), (1, 2, True)],
    ids=["no place is left", "one is left", "of higher priority"],
)
def test_the_nomination_of_another_member_counts_as_a_pod_without_fields(
    priority: int, pods: int, is_placed: bool
) -> None:
    driver = driver_of()
    driver.put(make_node("n1", cpu="2", pods=pods), make_pod("placed", node="n1"), gang("g", 1))
    huge = with_fields(member("a", cpu="9"), "status", nominated_node_name="n1")
    driver.put(huge, member("b", cpu="2", priority=priority))
    driver.cycle()
    assert driver.node_of("default/b") == ("n1" if is_placed else "")
    if not is_placed:
        assert driver.condition("default/b")[1].startswith(
            "0/1 nodes are available: 1 Too many pods."
        )


class Nowhere(Plugin):
    """Nominates a node that does not exist."""

    name = "Nowhere"

    def post_filter(self, cycle: Cycle, failed: object) -> PostFilterResult:
        return PostFilterResult(status=Status.OK, nominated_node="nowhere")


def test_a_member_that_is_nominated_to_a_missing_node_takes_no_room():
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {
            "postFilter": {"disabled": [{"name": "*"}], "enabled": [{"name": "Nowhere"}]},
        },
    }
    driver = Driver(Nowhere, config={**HEAD, "profiles": [profile]}, gates=GATES)
    driver.put(make_node("n1", cpu="1"), make_node("n2", cpu="1"), gang("g", 1))
    driver.put(member("huge", cpu="9"), member("b", cpu="1"), member("c", cpu="1"))
    driver.cycle()
    chosen = {each.pod.name: each.node for each in driver.machine.last_decisions}
    assert sorted(chosen.values()) == ["", "n1", "n2"]
    assert chosen["huge"] == ""


HELD = "waiting for minCount pods from a gang to be scheduled, " + _HELD


@pytest.mark.parametrize(
    ("least", "large", "small", "nominations"),
    [
        pytest.param(
            2,
            "0/2 nodes are available: 2 Insufficient cpu.",
            f"{GROUP_UNSCHEDULABLE}, pod group is waiting for preemption to complete",
            {"a": "n1", "b": "n2", "c": ""},
            id="it waits",
        ),
        pytest.param(
            3,
            f"{GROUP_UNSCHEDULABLE}, {HELD}",
            f"{GROUP_UNSCHEDULABLE}, {HELD}",
            {"a": "", "b": "", "c": ""},
            id="too few fit",
        ),
    ],
)
def test_members_have_their_own_reason_or_that_of_the_group(least, large, small, nominations):
    # Upstream: pkg/scheduler/schedule_one_podgroup.go, submitPodGroupAlgorithmResult
    driver = driver_of()
    driver.put(make_node("n1", cpu="2"), make_node("n2", cpu="1"), gang("g", least))
    driver.put(make_pod("low", cpu="2", node="n1"))
    for name, cpu in (("a", "2"), ("b", "1"), ("c", "4")):
        driver.put(member(name, cpu=cpu, priority=10))
    driver.holds = {"DeletePod"}
    driver.cycle()
    assert driver.condition("default/a") == ("Unschedulable", large)
    assert driver.condition("default/b") == ("Unschedulable", small)
    assert "Preemption is not helpful for scheduling" in driver.condition("default/c")[1]
    for name, node in nominations.items():
        pod = driver.machine.pod(f"default/{name}")
        assert pod is not None
        assert pod.status.nominated_node_name == node


@pytest.mark.parametrize(
    ("cpu", "result"),
    [("1", "scheduled"), ("2", "unschedulable"), ("0", "error")],
)
def test_the_attempts_of_groups_are_counted_by_their_result(cpu, result, monkeypatch):
    monkeypatch.setattr(Failing, "fails", cpu == "0")
    driver = Driver(Failing, gates=GATES)
    driver.put(make_node("n1", cpu="1"), gang("g", 1), member("a", cpu=cpu))
    driver.cycle()
    counted = driver.machine.metrics_snapshot()
    name, labels = (
        "scheduler_podgroup_schedule_attempts_total",
        ("error", "scheduled", "unschedulable"),
    )
    found = {one: counted.count(name, one, "default-scheduler") for one in labels}
    assert found == {one: int(one == result) for one in labels}


def test_a_member_that_is_not_queued_is_left_out():
    driver = driver_of()
    driver.put(make_node("n1"), gang("g", 2), member("a"), member("b"))
    driver.put(member("theirs", scheduler="another-scheduler"))
    driver.cycle()
    assert driver.node_of("default/a") == driver.node_of("default/b") == "n1"
    assert driver.node_of("default/theirs") == ""


class Failing(Plugin):
    """Fails at Reserve, and requests a call where no node fits."""

    name = "Failing"
    fails: ClassVar[bool] = False

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        return Status.error("broken") if self.fails else Status.OK

    def post_filter(self, cycle: Cycle, failed: object) -> PostFilterResult:
        return PostFilterResult(status=Status.unschedulable("no"), calls=(VolumeUpdate(VOLUME),))


def test_calls_of_a_post_filter_of_a_member_are_made():
    driver = Driver(Failing, gates=GATES)
    driver.put(make_node("n1", cpu="1"), gang("g", 1), member("a", cpu="2"))
    driver.cycle()
    assert [update.volume for update in driver.all_of(UpdateVolume)] == [VOLUME]


def test_an_error_of_one_member_places_none() -> None:
    # Upstream: pkg/scheduler/schedule_one_podgroup.go, podGroupSchedulingDefaultAlgorithm
    driver = Driver(FailsFor, gates=GATES)
    driver.put(make_node("n1"), gang("g", 1), member("a"), member("b"))
    driver.cycle()
    assert not driver.all_of(Bind)
    (patch,) = driver.all_of(PatchPodGroupStatus)
    assert (patch.condition.status, patch.condition.reason) == ("False", "SchedulerError")
    assert patch.condition.observed_generation is None


class FailsFor(Plugin):
    """Fails at Reserve of one member."""

    name = "FailsFor"

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        return Status.error("broken") if cycle.pod.metadata.name == "b" else Status.OK


@pytest.mark.parametrize("count", [1, 2, 5])
def test_members_are_drawn_for_as_pods_without_a_group(count: int) -> None:
    names = [f"m{number}" for number in range(count)]
    nodes = [make_node(f"n{number}") for number in range(12)]
    of_group, single = driver_of(), Driver()
    of_group.put(*nodes, gang("g", count), *[member(name) for name in names])
    of_group.cycle()
    single.put(*nodes, *[make_pod(name, scheduler="default-scheduler") for name in names])
    for _ in names:
        single.cycle()
    chosen = [
        [driver.node_of(f"default/{name}") for name in names] for driver in (of_group, single)
    ]
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize(("is_deleted", "place"), [(False, "active"), (True, "gated")])
def test_a_member_that_is_deleted_does_not_count_for_its_group(
    is_deleted: bool, place: str
) -> None:
    driver = driver_of()
    driver.put(gang("g", 3), member("a"), member("b"))
    assert driver.place_of("default/a") == "gated"
    if is_deleted:
        driver.remove(member("b"))
    driver.put(member("c"))
    assert driver.place_of("default/c") == place
