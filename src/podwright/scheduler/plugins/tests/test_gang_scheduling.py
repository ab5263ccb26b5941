"""Gangs: at least `minCount` pods of a PodGroup are scheduled, or none.

Upstream: pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go, PreEnqueue, Permit
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from podwright.apimachinery.objects import (
    POD_GROUP_LABEL,
    Pod,
    PodGroup,
    PodSchedulingGroup,
    decode_as,
    with_fields,
)
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import CoschedulingArgs
from podwright.scheduler.framework import Cycle, Status
from podwright.scheduler.framework.plugin import Members
from podwright.scheduler.machine.tests.driving import Driver
from podwright.scheduler.plugins.coscheduling import Coscheduling
from podwright.scheduler.plugins.gang_scheduling import GangScheduling
from podwright.scheduler.plugins.tests.test_coscheduling_backoff import GroupHandle
from podwright.testing import make_node, make_pod

BASIC: dict[str, Any] = {"basic": {}}
GANG_OF_TWO: dict[str, Any] = {"gang": {"minCount": 2}}


def pod_group(policy: dict[str, Any]) -> PodGroup:
    head = {"metadata": {"name": "g", "namespace": "default"}}
    return decode_as(head | {"spec": {"schedulingPolicy": policy}}, PodGroup)


def member(name: str) -> Pod:
    group = PodSchedulingGroup(pod_group_name="g")
    return with_fields(make_pod(name), "spec", scheduling_group=group)


def plugin_with(
    policy: dict[str, Any] | None, names: str = "", scheduled: str = "", waiting: str = ""
) -> tuple[GangScheduling, GroupHandle]:
    """Return the plugin with a group whose members have names of one letter."""
    plugin = GangScheduling()
    plugin.handle = handle = GroupHandle()
    if policy is not None:
        handle.groups["default/g"] = pod_group(policy)
    members = handle.members_of["default/g"] = Members()
    members.pods = {f"default/{name}": member(name) for name in names}
    members.scheduled = {f"default/{name}" for name in scheduled}
    handle.waiting_uids = [f"default/{name}" for name in waiting]
    return plugin, handle


@pytest.mark.parametrize(
    ("group", "name"),
    [
        pytest.param(None, None, id="no group"),
        pytest.param(PodSchedulingGroup(), None, id="one without a name"),
        pytest.param(PodSchedulingGroup(pod_group_name="g"), "default/g", id="a group"),
    ],
)
def test_the_group_of_a_pod(group: PodSchedulingGroup | None, name: str | None) -> None:
    pod = with_fields(make_pod("p"), "spec", scheduling_group=group)
    plugin = GangScheduling()
    assert plugin.group_of(pod) == name
    assert plugin.pod_key(pod) == (name or ())


NOT_THERE = 'waiting for pods\'s pod group "g" to appear in scheduling queue'
TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"


@pytest.mark.parametrize(
    ("policy", "names", "message"),
    [
        pytest.param(None, "ab", NOT_THERE, id="the group does not exist"),
        pytest.param(BASIC, "a", "", id="a group that is not a gang"),
        pytest.param(GANG_OF_TWO, "a", TOO_FEW, id="one pod of two"),
        pytest.param(GANG_OF_TWO, "ab", "", id="two of two"),
        pytest.param(GANG_OF_TWO, "abc", "", id="three of two"),
    ],
)
def test_a_pod_is_queued_if_its_gang_can_be_complete(
    policy: dict[str, Any] | None, names: str, message: str
) -> None:
    plugin, _ = plugin_with(policy, names)
    expected = Status.unresolvable(message) if message else Status.OK
    assert plugin.pre_enqueue(member("a")) == expected


WAIT = Status.wait("waiting for minCount pods from a gang to be scheduled"), timedelta(minutes=5)
MISSING = 'failed to get podGroup default/g: podgroup.scheduling.k8s.io "g" not found'


@pytest.mark.parametrize(
    ("policy", "scheduled", "waiting", "result", "allowed", "activated"),
    [
        pytest.param(None, "", "", Status.error(MISSING), "", "", id="the group was deleted"),
        pytest.param(BASIC, "a", "b", Status.OK, "", "", id="a group that is not a gang"),
        pytest.param(GANG_OF_TWO, "a", "", WAIT, "", "bc", id="one of two: the others are tried"),
        pytest.param(GANG_OF_TWO, "ab", "bx", Status.OK, "b", "", id="two: who waited is bound"),
        pytest.param(GANG_OF_TWO, "cab", "cb", Status.OK, "bc", "", id="in the order of names"),
    ],
)
def test_a_pod_is_bound_once_enough_of_its_gang_have_a_node(
    policy: dict[str, Any] | None,
    scheduled: str,
    waiting: str,
    result: Any,
    allowed: str,
    activated: str,
) -> None:
    plugin, handle = plugin_with(policy, "abc", scheduled, waiting)
    assert plugin.permit(Cycle(member("a"), Cluster()), "n") == result
    assert handle.allowed == [f"default/{name}" for name in allowed]
    assert handle.activated == list(activated)


MEMBER_OF_BOTH = with_fields(member("a"), "metadata", labels={POD_GROUP_LABEL: "g"})


@pytest.mark.parametrize(
    ("pod", "handle"),
    [
        pytest.param(make_pod("p"), GroupHandle(), id="it has no group"),
        pytest.param(MEMBER_OF_BOTH, None, id="without a machine, its group is unknown"),
    ],
)
def test_who_is_not_held(pod: Pod, handle: GroupHandle | None) -> None:
    gangs, labeled = GangScheduling(), Coscheduling(CoschedulingArgs())
    gangs.handle = labeled.handle = handle
    assert gangs.pre_enqueue(pod) == Status.OK
    cycle = Cycle(pod, Cluster())
    assert gangs.permit(cycle, "n") == labeled.permit(cycle, "n") == Status.OK
    assert labeled.pre_filter(cycle) == Status.SKIPPED
    labeled.unreserve(cycle, "n")
    assert not labeled.remembers()


@pytest.mark.parametrize(("count", "is_held"), [(1, True), (2, False), (3, False)])
def test_a_pod_is_held_until_its_gang_can_be_complete(count: int, is_held: bool) -> None:
    driver = Driver(gates="GenericWorkload=true,GangScheduling=true")
    driver.put(make_node("n1"), pod_group(GANG_OF_TWO))
    for name in "abc"[:count]:
        driver.put(with_fields(member(name), "spec", scheduler_name="default-scheduler"))
    assert (driver.place_of("default/a") == "gated") is is_held
    driver.cycle()
    assert bool(driver.node_of("default/a")) is not is_held
