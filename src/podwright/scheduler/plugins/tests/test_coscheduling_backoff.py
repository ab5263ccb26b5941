"""The back-off of a rejected group, held against a handle of the test."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from podwright.apimachinery.objects import (
    POD_GROUP_LABEL,
    CoschedulingPodGroup,
    Pod,
    PodGroup,
    decode_as,
    with_fields,
    with_nominated_node_name,
)
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import CoschedulingArgs
from podwright.scheduler.framework import ActionType, Cycle, Hint
from podwright.scheduler.framework.plugin import Members
from podwright.scheduler.framework.status import Code, Status
from podwright.scheduler.plugins.coscheduling import Coscheduling
from podwright.testing import make_node, make_pod

SECOND_NS = 1_000_000_000
BACKOFF_S = 60
END_NS = BACKOFF_S * SECOND_NS
FAILED: Any = None
"""What preemption would read of the cycle; the plugin does not."""


class GroupHandle:
    """A fake handle of the machine; the test sets its results."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.binds = True
        self.groups: dict[str, CoschedulingPodGroup | PodGroup] = {}
        self.members_of: dict[object, Members] = {}
        self.waiting_uids: list[str] = []
        self.allowed: list[str] = []
        self.rejected: list[tuple[str, str]] = []
        self.activated: list[str] = []

    def find(self, kind: Any, name: str) -> Any:
        return self.groups.get(name)

    def members(self, plugin: str, group: object) -> Members:
        return self.members_of.setdefault(group, Members())

    def waiting(self) -> tuple[str, ...]:
        return tuple(self.waiting_uids)

    def allow(self, uid: str, plugin: str) -> None:
        self.allowed.append(uid)

    def reject(self, uid: str, plugin: str, message: str) -> None:
        self.rejected.append((uid, message))

    def device_class_of(self, resource: str) -> str:
        raise AssertionError(f"{resource} is not of the plugin's concern")

    def request(self, call: Any, pod: Pod | None = None) -> None:
        raise AssertionError(f"the plugin makes no calls: {call}")

    def record_event(self, pod: Pod, reason: str, note: str) -> None:
        raise AssertionError(f"the plugin records no Events: {pod.key} {reason} {note}")

    def count(self, metric: str, labels: tuple[str, ...]) -> None:
        raise AssertionError(f"the plugin counts nothing: {metric} {labels}")

    def observe(self, metric: str, labels: tuple[str, ...], duration_ns: int) -> None:
        raise AssertionError(f"the plugin measures nothing: {metric} {labels} {duration_ns}")

    def activate(self, pods: Any) -> None:
        self.activated += [pod.metadata.name for pod in pods]


def member(name: str, of: str = "g", **fields: Any) -> Pod:
    return make_pod(name, labels={POD_GROUP_LABEL: of}, **fields)


class Situation:
    """The plugin, a handle, and groups with members."""

    def __init__(self, **args: int) -> None:
        args = {"pod_group_backoff_seconds": BACKOFF_S} | args
        self.plugin = Coscheduling(CoschedulingArgs(**args))
        self.handle = self.plugin.handle = GroupHandle()
        self.cluster = Cluster()

    def group(self, name: str, least: int, *pods: Pod, scheduled: int = 0, **spec: Any) -> None:
        document = {
            "metadata": {"namespace": "default", "name": name},
            "spec": {"minMember": least, **spec},
        }
        key = f"default/{name}"
        self.handle.groups[key] = decode_as(document, CoschedulingPodGroup)
        members = self.handle.members_of[key] = Members()
        members.pods = {pod.metadata.uid: pod for pod in pods}
        members.scheduled = {pod.metadata.uid for pod in pods[:scheduled]}

    def fail(self, pod: Pod, *, at_ns: int) -> Any:
        """Let PostFilter see that a member fits on no node."""
        self.handle.now_ns = at_ns
        return self.plugin.post_filter(Cycle(pod, self.cluster), FAILED)

    def pre_filter(self, pod: Pod) -> Status:
        status = self.plugin.pre_filter(Cycle(pod, self.cluster))
        assert isinstance(status, Status)
        return status

    def tries(self, pod: Pod, *, at_ns: int) -> bool:
        """Return whether PreFilter accepts a member."""
        self.handle.now_ns = at_ns
        status = self.pre_filter(pod)
        if status.is_success or "failed recently" not in status.message:
            return True
        assert status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        assert status.message == f"podGroup {self.plugin.group_of(pod)} failed recently"
        return False


A, B, C = member("a"), member("b"), member("c")


def rejected(**args: int) -> Situation:
    """Return a group of two of which a member failed at once."""
    situation = Situation(**args)
    situation.group("g", 2, A, B)
    assert situation.tries(A, at_ns=0)
    situation.fail(A, at_ns=0)
    return situation


@pytest.mark.parametrize("pod", [A, B])
def test_no_member_is_tried_until_the_back_off_is_over(pod: Pod):
    situation = rejected()
    for at_ns in (0, 1, END_NS - 1, END_NS):
        assert not situation.tries(pod, at_ns=at_ns)
        assert situation.plugin.remembers()
    assert situation.tries(pod, at_ns=END_NS + 1)
    assert not situation.plugin.remembers()


@pytest.mark.parametrize("at_ns", [0, 1, END_NS // 2, END_NS - 1, END_NS])
def test_a_failure_while_it_runs_does_not_make_it_longer(at_ns: int):
    situation = rejected()
    for pod in (B, A, B):
        situation.fail(pod, at_ns=at_ns)
    assert not situation.tries(A, at_ns=END_NS)
    assert situation.tries(A, at_ns=END_NS + 1)


@pytest.mark.parametrize("later_ns", [1, 2, SECOND_NS, 5 * END_NS])
def test_a_failure_after_it_begins_another_one(later_ns: int):
    situation = rejected()
    begin_ns = 0
    for _ in range(3):
        begin_ns += END_NS + later_ns
        assert situation.tries(A, at_ns=begin_ns)
        situation.fail(A, at_ns=begin_ns)
        assert not situation.tries(A, at_ns=begin_ns + END_NS)
    assert situation.tries(A, at_ns=begin_ns + END_NS + 1)


def test_no_back_off_is_the_default():
    assert CoschedulingArgs().pod_group_backoff_seconds == 0
    situation = rejected(pod_group_backoff_seconds=0)
    assert situation.tries(A, at_ns=0)
    assert not situation.plugin.remembers()


def test_a_back_off_is_of_one_group():
    situation = rejected()
    other = member("x", "other")
    situation.group("other", 1, other)
    assert situation.tries(other, at_ns=1)
    situation.fail(other, at_ns=SECOND_NS)
    assert situation.tries(A, at_ns=END_NS + 1)
    assert not situation.tries(other, at_ns=END_NS + 1)
    assert not situation.tries(other, at_ns=END_NS + SECOND_NS)
    assert situation.tries(other, at_ns=END_NS + SECOND_NS + 1)


@pytest.mark.parametrize(
    ("least", "backs_off"),
    [
        pytest.param(1, True, id="more than enough"),
        pytest.param(2, True, id="just enough"),
        pytest.param(3, False, id="one is missing"),
    ],
)
def test_a_group_of_which_members_are_missing_is_not_backed_off(least: int, backs_off: bool):
    situation = Situation()
    situation.group("g", least, A, B)
    situation.fail(A, at_ns=0)
    situation.group("g", 2, A, B)
    assert situation.tries(A, at_ns=1) is not backs_off


@pytest.mark.parametrize(
    ("scheduled", "percentage", "is_rejected"),
    [
        pytest.param(3, 0, False, id="all have a node"),
        pytest.param(2, 0, True, id="one has none"),
        pytest.param(2, 33, True, id="a third is more than 33 %"),
        pytest.param(2, 34, False, id="a third is less than 34 %"),
        pytest.param(0, 99, True, id="none has one"),
        pytest.param(0, 100, False, id="all may be missing"),
    ],
)
def test_a_group_that_is_nearly_placed_is_neither_rejected_nor_backed_off(
    scheduled: int, percentage: int, is_rejected: bool
):
    situation = Situation(pod_group_reject_percentage=percentage)
    situation.group("g", 3, A, B, C, scheduled=scheduled)
    stranger = member("x", "other")
    situation.handle.waiting_uids = [A.metadata.uid, stranger.metadata.uid]
    result = situation.fail(C, at_ns=0)
    assert result.status.code == Code.UNSCHEDULABLE
    assert bool(result.status.message) is is_rejected
    message = "optimistic rejection in PostFilter"
    assert situation.handle.rejected == ([(A.metadata.uid, message)] if is_rejected else [])
    assert situation.tries(C, at_ns=1) is not is_rejected


def test_a_backoff_precedes_all_other_reasons():
    situation = rejected()
    situation.group("g", 3, A, B)
    assert not situation.tries(A, at_ns=END_NS)
    situation.handle.now_ns = END_NS + 1
    status = situation.pre_filter(A)
    assert status.message == (
        "pre-filter pod a cannot find enough sibling pods, current pods number: 2,"
        " minMember of group: 3"
    )


# -------------------------------------------------------------------- Permit


@pytest.mark.parametrize(
    ("scheduled", "waiting", "seconds", "allowed", "activated"),
    [
        pytest.param("a", "", 60, "", "bc", id="the first of three: the others are tried"),
        pytest.param("ab", "b", 60, "", "", id="the second: they have been tried"),
        pytest.param("ab", "", 60, "", "", id="or one of them is bound"),
        pytest.param("abc", "bxc", None, "bc", "", id="the last: those that wait are bound"),
    ],
)
def test_a_member_is_bound_once_enough_members_have_a_node(
    scheduled: str, waiting: str, seconds: int | None, allowed: str, activated: str
) -> None:
    """Upstream: scheduler-plugins pkg/coscheduling/core/core.go, Permit, ActivateSiblings."""
    situation = Situation()
    situation.group("g", 3, A, B, C, scheduled=len(scheduled))
    situation.handle.waiting_uids = [f"default/{name}" for name in waiting]
    result = situation.plugin.permit(Cycle(A, situation.cluster), "n")
    assert result == (Status.OK if seconds is None else (Status.wait(), timedelta(seconds=seconds)))
    assert situation.handle.allowed == [f"default/{name}" for name in allowed]
    assert situation.handle.activated == list(activated)


@pytest.mark.parametrize(
    ("of_group", "seconds"),
    [
        pytest.param({}, 7, id="the time of the arguments"),
        pytest.param({"scheduleTimeoutSeconds": 3}, 3, id="the group's own"),
    ],
)
def test_how_long_a_member_waits(of_group: dict[str, int], seconds: int) -> None:
    """Upstream: scheduler-plugins pkg/util/podgroup.go, GetWaitTimeDuration."""
    situation = Situation(permit_waiting_time_seconds=7)
    situation.group("g", 2, A, B, scheduled=1, **of_group)
    result = situation.plugin.permit(Cycle(A, situation.cluster), "n")
    assert result == (Status.wait(), timedelta(seconds=seconds))


def test_a_member_without_a_node_makes_the_others_give_theirs_back() -> None:
    """Upstream: scheduler-plugins pkg/coscheduling/coscheduling.go, Unreserve."""
    situation = Situation()
    situation.group("g", 2, A, B, scheduled=2)
    situation.handle.waiting_uids = ["default/b", "default/x"]
    situation.handle.now_ns = SECOND_NS
    assert situation.plugin.queue_sort_key(A, 5) == (0, 5, "default/a")
    situation.plugin.unreserve(Cycle(A, situation.cluster), "n")
    assert situation.handle.rejected == [("default/b", "rejection in Unreserve")]
    assert situation.plugin.queue_sort_key(A, 5) == (0, SECOND_NS, "default/a")
    situation.plugin.permit(Cycle(A, situation.cluster), "n")
    assert situation.plugin.queue_sort_key(A, 5) == (0, 5, "default/a"), "they are placed"


def test_a_plugin_remembers_a_group_whose_member_failed_until_the_group_is_placed() -> None:
    situation = Situation()
    situation.group("g", 2, A, B, scheduled=2)
    assert not situation.plugin.remembers()
    situation.plugin.unreserve(Cycle(A, situation.cluster), "n")
    situation.handle.now_ns = 100 * END_NS
    assert situation.plugin.remembers()
    situation.plugin.permit(Cycle(A, situation.cluster), "n")
    assert not situation.plugin.remembers()


@pytest.mark.parametrize(
    ("created", "since_ns"),
    [
        pytest.param(None, 5, id="as old as the pod in the queue"),
        pytest.param("1970-01-01T00:00:02Z", 2 * SECOND_NS, id="the creation of the group"),
        pytest.param("1970-01-01T01:00:00.5+01:00", SECOND_NS // 2, id="of another time zone"),
    ],
)
def test_members_are_ordered_by_the_creation_of_their_group(
    created: str | None, since_ns: int
) -> None:
    """Upstream: scheduler-plugins pkg/coscheduling/core/core.go, GetCreationTimestamp."""
    situation = Situation()
    situation.group("g", 2, A, B)
    found = situation.handle.groups["default/g"]
    situation.handle.groups["default/g"] = with_fields(
        found, "metadata", creation_timestamp=created
    )
    assert situation.plugin.queue_sort_key(A, 5) == (0, since_ns, "default/a")


# -------------------------------------------------------------------- hints

OTHERS = make_pod("a", namespace="other", labels={POD_GROUP_LABEL: "g"})


@pytest.mark.parametrize(
    ("waiting", "deleted", "expected"),
    [
        pytest.param(A, make_pod("x", node="n"), Hint.QUEUE, id="it made room"),
        pytest.param(A, with_nominated_node_name(make_pod("x"), "n"), Hint.QUEUE, id="nominated"),
        pytest.param(A, make_pod("x"), Hint.SKIP, id="it used no room"),
        pytest.param(A, member("b", node="n"), Hint.SKIP, id="it was rejected with the group"),
        pytest.param(A, member("b", "h", node="n"), Hint.QUEUE, id="it is of another group"),
        pytest.param(
            OTHERS, member("b", node="n"), Hint.QUEUE, id="of one with this name elsewhere"
        ),
        pytest.param(
            make_pod("w"), make_pod("x", node="n"), Hint.QUEUE, id="neither is of a group"
        ),
    ],
)
def test_which_deleted_pods_help(waiting: Pod, deleted: Pod, expected: Hint) -> None:
    (hint,) = [
        event.hint
        for event in Situation().plugin.events_to_register()
        if event.actions == ActionType.DELETE
    ]
    assert hint is not None
    assert hint(waiting, deleted, None) is expected


# -------------------------------------------------------------------- room for the group


def test_a_group_that_fits_is_not_checked_again_for_a_while():
    situation = Situation(permit_waiting_time_seconds=5)
    situation.cluster.put(make_node("n1", cpu="2"))
    situation.group("g", 2, A, B, minResources={"cpu": "2"})
    assert situation.tries(A, at_ns=0)
    situation.cluster.put(make_node("n1", cpu="1"))
    for at_ns in (1, 5 * SECOND_NS):
        situation.handle.now_ns = at_ns
        assert situation.pre_filter(A).is_success
        assert situation.plugin.remembers()
    situation.handle.now_ns = 5 * SECOND_NS + 1
    assert not situation.plugin.remembers()
    status = situation.pre_filter(A)
    assert status.message == "resource gap: cpu: 1000m"


@pytest.mark.parametrize("at", ["PostFilter", "Unreserve"])
def test_a_member_that_fails_causes_a_new_check_of_the_group(at: str):
    situation = Situation(pod_group_backoff_seconds=0)
    situation.cluster.put(make_node("n1", cpu="2"))
    situation.group("g", 2, A, B, minResources={"cpu": "2"})
    assert situation.tries(A, at_ns=0)
    situation.cluster.put(make_node("n1", cpu="1"))
    if at == "PostFilter":
        situation.fail(A, at_ns=1)
    else:
        situation.plugin.unreserve(Cycle(A, situation.cluster), "n1")
    status = situation.pre_filter(A)
    assert status.message == "resource gap: cpu: 1000m"


@pytest.mark.parametrize(("pod", "is_alone"), [(make_pod("p"), True), (A, False)])
def test_members_of_a_group_have_keys_of_their_own(pod: Pod, is_alone: bool):
    plugin = Coscheduling(CoschedulingArgs())
    assert plugin.key_is_of_template(pod) is is_alone
    assert (plugin.pod_key(pod) == ()) is is_alone
    assert (plugin.pod_key(pod) == plugin.pod_key(make_pod("q"))) is is_alone
