"""Placements of pod groups, and victims for a group as a whole, where the vectors do not look."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from podwright.apimachinery.objects import (
    Pod,
    PodDisruptionBudget,
    PodGroup,
    decode_as,
    with_fields,
)
from podwright.scheduler.framework import CallError, Placement, Plugin, Status
from podwright.scheduler.machine import DeletePod, PatchPodGroupStatus, PatchPodStatus
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver
from podwright.scheduler.machine.tests.test_snapshot import Numbered
from podwright.testing import make_node, make_pod

GANGS = "GenericWorkload=true,GangScheduling=true"
TOPOLOGY = f"{GANGS},TopologyAwareWorkloadScheduling=true"
PREEMPTION = f"{GANGS},WorkloadAwarePreemption=true"
HEAD = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


def group(name: str = "g", *, least: int = 2, key: str = "rack", **spec: Any) -> PodGroup:
    constraints = {"schedulingConstraints": {"topology": [{"key": key}]}} if key else {}
    document = {
        "metadata": {"namespace": "default", "name": name, "uid": f"uid-{name}"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}} | constraints | spec,
    }
    return decode_as(document, PodGroup)


def member(name: str, of: str = "g", **fields: Any) -> Pod:
    spec = {"schedulingGroup": {"podGroupName": of}} | fields.pop("spec", {})
    return make_pod(name, scheduler="default-scheduler", spec=spec, **fields)


def rack(name: str, *cpus: str):
    return [make_node(f"{name}{n}", cpu=c, labels={"rack": name}) for n, c in enumerate(cpus)]


def message(driver: Driver) -> str:
    """Return the message of the last condition of the group."""
    return driver.all_of(PatchPodGroupStatus)[-1].condition.message


# ------------------------------------------------------------------------------- placements


class Placing(Plugin):
    """Answers as a test says."""

    name = "Placing"
    answer: ClassVar[Any] = None
    scores: ClassVar[Any] = None

    def generate_placements(self, cluster, group):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def score_placement(self, cluster, group, placement):
        if isinstance(self.scores, Exception):
            raise self.scores
        return self.scores[placement.name]


def placing(answer: Any, scores: Any = None) -> Driver:
    Placing.answer, Placing.scores = answer, scores
    disabled = {"disabled": [{"name": "TopologyPlacementGenerator"}]}
    only = {"enabled": [{"name": "Placing"}], "disabled": [{"name": "*"}]}
    plugins = {"multiPoint": disabled, "placementGenerate": only, "placementScore": only}
    config = {**HEAD, "profiles": [{"plugins": plugins}]}
    driver = Driver(Placing, config=config, gates=TOPOLOGY)
    driver.put(*rack("a", "2", "2"), *rack("b", "2", "2"), group())
    driver.put(member("p", cpu="1"), member("q", cpu="1"))
    return driver


def slots(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int32)


@pytest.mark.parametrize(
    ("scores", "nodes"),
    [
        pytest.param({"x": 3, "y": 4}, {"b0", "b1"}, id="the best"),
        pytest.param({"x": 4, "y": 4}, {"a0", "a1"}, id="the first of equals by name"),
    ],
)
def test_plugins_of_users_generate_and_score_placements(scores, nodes):
    driver = placing([Placement("y", slots(2, 3)), Placement("x", slots(0, 1))], scores)
    driver.cycle()
    assert {driver.node_of("default/p"), driver.node_of("default/q")} == nodes
    assert [each.pod.key for each in driver.machine.last_decisions] == ["default/p", "default/q"]
    assert len(driver.machine.last_evaluations) == 4


@pytest.mark.parametrize(
    ("answer", "scores", "reason", "text"),
    [
        (ValueError("boom"), None, "SchedulerError", "boom"),
        (7, None, "SchedulerError", "returned 7, not placements"),
        (["x"], None, "SchedulerError", "returned something of type list, not placements"),
        ([Placement("x", 7)], None, "SchedulerError", "slots that no node has"),  # type: ignore[arg-type]
        ([Placement("x", [[1], []])], None, "SchedulerError", "slots that no"),  # type: ignore[arg-type]
        ([Placement("x", slots(0, 9))], None, "SchedulerError", "slots that no node has"),
        ([Placement("x", ["n1"])], None, "SchedulerError", "slots that no"),  # type: ignore[arg-type]
        ([], None, "Unschedulable", "no feasible placements found"),
        (Status.unschedulable("not now"), None, "Unschedulable", "not now"),
        (
            [Placement("x", slots(0)), Placement("y", slots(1))], ValueError("boom"),
            "SchedulerError",
            'running PlacementScore plugins: plugin "Placing" failed with: ',
        ),
        (
            [Placement("x", slots(0)), Placement("y", slots(1))], {"x": None, "y": 0},
            "SchedulerError",
            'plugin "Placing" failed with: returned something of type list, not a number for each',
        ),
        (
            [Placement("x", slots(0)), Placement("y", slots(1))], {"x": 101, "y": 0},
            "SchedulerError",
            'plugin "Placing" returns an invalid score 101, it should in the range of [0, 100]',
        ),
    ],
)  # fmt: skip
def test_what_ends_the_cycle_of_a_group(answer, scores, reason, text):
    driver = placing(answer, scores)
    driver.cycle()
    assert text in message(driver)
    for name in ("default/p", "default/q"):
        found, words = driver.condition(name)
        assert found == reason
        assert text in words


def test_the_group_is_placed_in_one_domain_or_not_at_all():
    driver = Driver(gates=TOPOLOGY)
    driver.put(*rack("a", "1", "1"), *rack("b", "1"), *rack("c", "1"), group(least=3))
    driver.put(*(member(name, cpu="1") for name in "pqr"))
    driver.cycle()
    assert message(driver) == (
        "0/3 placements are available, first placement status: pod group is unschedulable"
    )
    driver.put(make_node("c1", cpu="2", labels={"rack": "c"}))
    driver.now_ns += 60 * SECOND_NS
    driver.cycle()
    assert {driver.node_of(f"default/{name}") for name in "pqr"} == {"c0", "c1"}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([{"rack": "b"}, {"rack": "b"}], "b1"),
        ([{"rack": "a"}, {"rack": "b"}], "more than 1 domain found for pod group: a, b"),
        ([{}, {"rack": "b"}], "no topology domain found for pod default/x"),
    ],
)
def test_members_with_a_node_decide_the_domain(labels, expected):
    driver = Driver(gates=TOPOLOGY)
    driver.put(*rack("a", "4", "4"), make_node("b1", cpu="4", labels={"rack": "b"}))
    driver.put(*(make_node(f"old{n}", cpu="1", labels=each) for n, each in enumerate(labels)))
    driver.put(group(least=1), member("x", node="old0", cpu="1"), member("y", node="old1", cpu="1"))
    driver.put(member("p", cpu="1"))
    driver.cycle()
    if expected == "b1":
        assert driver.node_of("default/p") == "b1"
    else:
        expected = f"cannot determine domain for already scheduled pods: {expected}"
        assert driver.condition("default/p") == ("SchedulerError", expected)


def test_a_nominated_node_outside_of_a_placement_is_not_tried():
    driver = Driver(gates=TOPOLOGY)
    driver.put(*rack("a", "1"), *rack("b", "2"), group())
    for name in "pq":
        driver.put(with_fields(member(name, cpu="1"), "status", nominated_node_name="a0"))
    driver.cycle()
    assert {driver.node_of("default/p"), driver.node_of("default/q")} == {"b0"}


# ------------------------------------------------------------------- victims for a group


def test_pods_of_lower_priority_make_room_for_the_whole_group():
    driver = Driver(gates=PREEMPTION)
    driver.holds = {"DeletePod"}
    driver.put(make_node("n1", cpu="2"), make_node("n2", cpu="2"))
    driver.put(*(make_pod(f"low{n}", node=f"n{n}", cpu="2", priority=5) for n in (1, 2)))
    driver.put(make_pod("high", node="n1", cpu="0", priority=10))
    driver.put(group(key="", priority=10), member("p", cpu="2"), member("q", cpu="2"))
    driver.cycle()
    assert {each.pod for each in driver.all_of(DeletePod)} == {"default/low1"}
    assert driver.machine.preempting() == ("uid-g",)
    assert "Preempted" not in " ".join(driver.notes)
    conditions = [each.condition for each in driver.all_of(PatchPodStatus) if each.condition]
    texts = [each.message for each in conditions if each.type == "DisruptionTarget"]
    assert texts == ["default-scheduler: preempting to accommodate a higher priority podgroup"]
    # The last victim is deleted when the others are gone.
    driver.answer(driver.held.pop(0))
    assert {each.pod for each in driver.all_of(DeletePod)} == {"default/low1", "default/low2"}
    driver.answer(driver.held.pop(0))
    assert driver.machine.preempting() == ()
    assert "Preempted: Preempted by podgroup uid-g on node cluster" in driver.notes
    driver.now_ns += 60 * SECOND_NS
    driver.cycle()
    assert {driver.node_of("default/p"), driver.node_of("default/q")} == {"n1", "n2"}


@pytest.mark.parametrize(
    ("spec", "changes", "reason"),
    [
        ({"priority": 5}, {}, "No preemption victims found for incoming preemptor"),
        ({}, {}, "No preemption victims found for incoming preemptor"),
        (
            {"priority": 10}, {"spec": {"preemptionPolicy": "Never"}},
            "not eligible due to preemptionPolicy=Never.",
        ),
        ({"priority": 10}, {"cpu": "4"}, "pod group is unschedulable"),
        (
            {"priority": 10, "schedulingConstraints": {"topology": [{"key": "rack"}]}}, {},
            "workload aware preemption is not supported for pod groups with scheduling"
            " constraints",
        ),
    ],
)  # fmt: skip
def test_why_no_pod_is_evicted(spec, changes, reason):
    driver = Driver(gates=PREEMPTION)
    driver.put(make_node("n1", cpu="2"), make_pod("low", node="n1", cpu="2", priority=5))
    fields = {"cpu": "2", "priority": 100} | changes
    driver.put(group(key="", least=1, **spec), member("p", **fields))
    driver.cycle()
    assert message(driver) == f"pod group is unschedulable, {reason}"
    assert not driver.all_of(DeletePod)
    why = "preemption: not eligible due to workload aware preemption enabled"
    assert why in driver.condition("default/p")[1]


def test_without_the_plugin_nothing_is_evicted():
    disabled = {"disabled": [{"name": "DefaultPreemption"}]}
    config = {**HEAD, "profiles": [{"plugins": {"multiPoint": disabled}}]}
    driver = Driver(config=config, gates=PREEMPTION)
    driver.put(make_node("n1", cpu="2"), make_pod("low", node="n1", cpu="2"))
    driver.put(group(key="", least=1, priority=10), member("p", cpu="2"))
    driver.cycle()
    text = "default preemption plugin is not registered, workload aware preemption is disabled"
    assert message(driver) == f"pod group is unschedulable, {text}"


def test_a_group_that_preempts_survives_a_checkpoint():
    driver = Driver(gates=PREEMPTION)
    driver.holds = {"DeletePod"}
    driver.put(make_node("n1", cpu="2"), make_pod("low", node="n1", cpu="2"))
    driver.put(group(key="", least=1, priority=10), member("p", cpu="2"))
    driver.cycle()
    numbering = Numbered()
    snapshot = driver.machine.snapshot(numbering)
    again = Driver(gates=PREEMPTION)
    again.now_ns = driver.now_ns
    again.machine.restore(snapshot, dict(enumerate(numbering.objects)))
    assert again.machine.preempting() == ("uid-g",)
    (deletion,) = driver.held
    for each in (driver, again):
        assert each.place_of("default/p") == "gated"
        each.errors = {"DeletePod": CallError("no")}
        each.answer(deletion)
        # Its members are tried again, since no event tells that the eviction failed.
        assert each.place_of("default/p") == "active"


@pytest.mark.parametrize(
    ("victims", "allowed", "gone"),
    [
        pytest.param({"a": {}, "b": {"priority": 1}}, 9, {"a"}, id="the least important"),
        pytest.param({"a": {"labels": {"app": "x"}}, "b": {"priority": 1}}, 0, {"b"}, id="budget"),
        pytest.param({"a": {"labels": {"app": "x"}}, "b": {"priority": 1}}, 1, {"a"}, id="allowed"),
        pytest.param({"a": {"of": "v"}, "b": {}}, 9, {"b"}, id="groups are more important"),
        pytest.param({"a": {"of": "w"}, "b": {"of": "w"}}, 9, {"a", "b"}, id="together"),
        pytest.param({"a": {"of": "v"}, "b": {"of": "v"}}, 9, {"b"}, id="one by one"),
    ],
)
def test_which_pods_are_reprieved(victims, allowed, gone):
    """Upstream: podgrouppreemption.go, moreImportantVictim, selectVictimsOnDomain"""
    driver = Driver(gates=PREEMPTION)
    driver.put(make_node("n1", cpu="2"))
    driver.put(group("v", key=""), group("w", key="", disruptionMode="PodGroup"))
    budget = {
        "metadata": {"namespace": "default", "name": "b"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}},
        "status": {"disruptionsAllowed": allowed},
    }
    driver.put(decode_as(budget, PodDisruptionBudget))
    for n, (name, given) in enumerate(victims.items()):
        made: dict[str, Any] = {"node": "n1", "cpu": "1"} | given
        of = made.pop("of", "")
        pod = member(name, of, **made) if of else make_pod(name, **made)
        driver.put(with_fields(pod, "status", start_time=f"2026-01-01T00:00:0{n}Z"))
    driver.put(group(key="", least=1, priority=10), member("p", cpu="1"))
    driver.cycle()
    assert {each.pod.partition("/")[2] for each in driver.all_of(DeletePod)} == gone
    assert message(driver) == "pod group is unschedulable"
