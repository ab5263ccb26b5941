"""A `Scheduler` decides for a gang as a whole, as the cycle of a pod group does."""

from __future__ import annotations

from typing import ClassVar

import pytest

import podwright as pw
from podwright.apimachinery.objects import Pod, PodGroup, decode_as, with_fields
from podwright.scheduler.advice import Change
from podwright.scheduler.assembly.trials import SchedulerTrial
from podwright.scheduler.config import parse_gates
from podwright.testing import make_node, make_pod

GATES = parse_gates("GenericWorkload=true,GangScheduling=true")
HELD = (
    "0/1 nodes are available: 1 pod group is unschedulable, "
    "waiting for minCount pods from a gang to be scheduled."
)
FULL = "0/1 nodes are available: 1 Insufficient cpu."


def gang(name: str, least: int) -> PodGroup:
    policy = {"gang": {"minCount": least}}
    metadata = {"name": name, "namespace": "default"}
    return decode_as({"metadata": metadata, "spec": {"schedulingPolicy": policy}}, PodGroup)


def member(name: str, group: str, cpu: str = "1", priority: int = 0) -> Pod:
    pod = make_pod(name, cpu=cpu, priority=priority)
    reference = decode_as({"spec": {"schedulingGroup": {"podGroupName": group}}}, Pod)
    return with_fields(pod, "spec", scheduling_group=reference.spec.scheduling_group)


class Keeps(pw.Plugin):
    """Counts what it reserves."""

    name = "Keeps"
    kept: ClassVar[set[str]] = set()

    def reserve(self, cycle, node_name):
        self.kept.add(cycle.pod.key)
        return pw.Status()

    def unreserve(self, cycle, node_name):
        self.kept.discard(cycle.pod.key)


def scheduler(*objects, gates=GATES, plugins=()):
    found = pw.Scheduler(gates=gates, plugins=list(plugins))
    found.add(*objects)
    return found


def nodes_of(decisions):
    return {decision.pod.metadata.name: decision.node for decision in decisions}


def test_a_gang_that_fits_is_placed():
    found = scheduler(make_node("n1", cpu="4"), gang("g", 2), member("a", "g"), member("b", "g"))
    assert nodes_of(found.schedule_all()) == {"a": "n1", "b": "n1"}
    assert not found.pending


def test_of_a_gang_that_does_not_fit_nothing_is_placed():
    Keeps.kept.clear()
    found = scheduler(
        make_node("n1", cpu="2"), gang("g", 3), make_pod("first", cpu="1"),
        *(member(name, "g") for name in "abc"), make_pod("last", cpu="1"), plugins=[Keeps],
    )  # fmt: skip
    decisions = list(found.schedule_all())
    assert nodes_of(decisions) == {"first": "n1", "a": "", "b": "", "c": "", "last": "n1"}
    messages = [decision.message for decision in decisions]
    assert messages[1] == HELD
    assert messages[2].startswith(FULL)
    assert list(found.pending) == ["default/a", "default/b", "default/c"]
    assert Keeps.kept == {"default/first", "default/last"}


def test_members_that_do_not_fit_stay_pending_where_enough_fit():
    found = scheduler(make_node("n1", cpu="2"), gang("g", 2), *(member(n, "g") for n in "abc"))
    assert nodes_of(found.schedule_all()) == {"a": "n1", "b": "n1", "c": ""}
    assert list(found.pending) == ["default/c"]
    # The others have their nodes: the gang is complete for it.
    found.add(make_node("n2", cpu="2"))
    assert nodes_of(found.schedule_all()) == {"c": "n2"}


def test_a_gang_is_decided_when_its_first_member_is():
    found = scheduler(
        make_node("n1", cpu="2"), gang("g", 2), member("a", "g", priority=5),
        make_pod("other", cpu="1", priority=3), member("b", "g"),
    )  # fmt: skip
    assert nodes_of(found.schedule_all()) == {"a": "n1", "b": "n1", "other": ""}


def test_without_the_gate_each_member_is_decided_alone():
    objects = make_node("n1", cpu="1"), gang("g", 2), member("a", "g"), member("b", "g")
    found = scheduler(*objects, gates=parse_gates(""))
    assert nodes_of(found.schedule_all()) == {"a": "n1", "b": ""}


@pytest.mark.parametrize(("name", "message"), [("a", HELD), ("b", FULL)])
def test_a_member_is_explained_with_its_gang(name, message):
    found = scheduler(make_node("n1", cpu="1"), gang("g", 2), member("a", "g"), member("b", "g"))
    for _ in found.schedule_before(f"default/{name}"):
        pass
    before = list(found.pending)
    for _ in range(2):
        explanation = found.explain(f"default/{name}")
        assert explanation.decision.message.startswith(message)
        assert list(found.pending) == before
    found.add(make_node("n2", cpu="1"))
    assert found.explain(f"default/{name}").decision.node


def test_pods_ahead_are_those_of_whole_gangs():
    found = scheduler(
        make_node("n1", cpu="1"), gang("g", 2), member("a", "g"), make_pod("pod", cpu="1"),
        member("b", "g"),
    )  # fmt: skip
    assert nodes_of(found.schedule_before("default/pod")) == {"a": "", "b": ""}
    assert found.schedule("default/pod").node == "n1"


def test_a_gang_ahead_is_decided_once():
    found = scheduler(
        make_node("n1", cpu="1"), gang("g", 2), member("a", "g"), member("b", "g"),
        make_pod("pod", cpu="1"),
    )  # fmt: skip
    ahead = [decision.pod.metadata.name for decision in found.schedule_before("default/pod")]
    assert ahead == ["a", "b"]


def test_a_change_helps_only_if_it_helps_the_gang():
    found = scheduler(make_node("n1", cpu="1"), gang("g", 3), *(member(n, "g") for n in "abc"))
    trial = SchedulerTrial(found, found.pending["default/a"], None)

    one, two = (tuple(make_node(f"n{i}", cpu="1") for i in range(2, 2 + n)) for n in (1, 2))
    pod = found.pending["default/a"]
    assert trial.run(Change(pod, put=one)) is None
    assert trial.run(Change(pod, put=two)) is not None
    assert len(found.pending) == 3


def test_a_trial_of_a_gang_has_the_node_of_the_pod_where_others_are_decided_before_it():
    nodes = [make_node(name, cpu="1", labels={"on": name}) for name in ("n1", "n2")]
    pods = [
        with_fields(member(each, "g", priority=priority), "spec", node_selector={"on": on})
        for each, on, priority in (("a", "n1", 0), ("b", "n2", 5))
    ]
    found = scheduler(*nodes, gang("g", 2), *pods)
    low = found.pending["default/a"]
    outcome = SchedulerTrial(found, low, None).run(Change(low))
    assert outcome is not None
    assert outcome.node == "n1"
