"""A `Scheduler` places the members of a gang in one placement, as the machine does."""

from __future__ import annotations

import pytest

import podwright as pw
from podwright.apimachinery.objects import PodGroup, decode_as
from podwright.scheduler.assembly.tests.test_gangs_together import member, nodes_of, scheduler
from podwright.scheduler.config import parse_gates
from podwright.testing import make_node, make_pod

GATES = parse_gates("GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true")
LIMITED = "preemption: not eligible due to placement-based pod group scheduling limitation"


def gang(least: int = 2, key: str = "rack") -> PodGroup:
    constraints = {"schedulingConstraints": {"topology": [{"key": key}]}} if key else {}
    spec = {"schedulingPolicy": {"gang": {"minCount": least}}} | constraints
    return decode_as({"metadata": {"name": "g", "namespace": "default"}, "spec": spec}, PodGroup)


def racks(**cpus: tuple[str, ...]):
    return [
        make_node(f"{rack}{n}", cpu=cpu, labels={"rack": rack})
        for rack, sizes in cpus.items()
        for n, cpu in enumerate(sizes)
    ]


def in_racks(least: int = 2, key: str = "rack", names: str = "pq", **cpus: tuple[str, ...]):
    pods = [member(name, "g") for name in names]
    return scheduler(*racks(**cpus), gang(least, key), *pods, gates=GATES)


def test_all_members_land_in_the_fullest_rack():
    found = in_racks(a=("8", "8"), b=("1", "1"), c=("1",))
    assert nodes_of(found.schedule_all()).keys() == {"p", "q"}
    assert {each.slot for each in found.cluster.pods.values()} == {2, 3}
    assert not found.pending


def test_more_members_are_better_than_a_full_rack():
    found = in_racks(names="pqr", a=("1", "1"), b=("4",))
    assert set(nodes_of(found.schedule_all()).values()) == {"b0"}


def test_where_no_rack_has_room_for_all_nothing_is_placed():
    found = in_racks(least=3, names="pqr", a=("2",), b=("2",))
    decisions = list(found.schedule_all())
    assert nodes_of(decisions) == {"p": "", "q": "", "r": ""}
    (message,) = {each.message for each in decisions if "Insufficient cpu" in each.message}
    assert message.startswith("0/1 nodes are available: 1 Insufficient cpu. ")
    assert message.endswith(LIMITED)
    assert not found.cluster.pods
    assert list(found.pending) == ["default/p", "default/q", "default/r"]


def test_without_a_constraint_every_node_counts():
    found = in_racks(key="", a=("1",), b=("1",))
    assert set(nodes_of(found.schedule_all()).values()) == {"a0", "b0"}


class Everywhere(pw.Plugin):
    """Has one placement."""

    name = "Everywhere"

    def generate_placements(self, cluster, group):
        return [pw.Placement("all", cluster.nodes.visiting_order())]


def test_placements_of_a_users_plugin_replace_those_of_the_topology():
    found = scheduler(
        *racks(a=("1",), b=("1",)), gang(), *(member(name, "g") for name in "pq"),
        gates=GATES, plugins=[Everywhere],
    )  # fmt: skip
    assert set(nodes_of(found.schedule_all()).values()) == {"a0", "b0"}


def test_without_nodes_of_the_label_there_is_no_placement():
    found = in_racks(key="zone", a=("4",))
    decisions = list(found.schedule_all())
    text = "0/1 nodes are available: no feasible placements found."
    assert [each.message.split(" preemption")[0] for each in decisions] == [text, text]


def test_an_explanation_is_about_the_placement_of_the_group():
    found = in_racks(names="pqr", a=("8", "8"), b=("2", "1"))
    assert [each.pod.metadata.name for each in found.schedule_before("default/r")] == ["p", "q"]
    explanation = found.explain("default/r")
    assert explanation.decision.node in {"b0", "b1"}
    assert explanation.not_examined == ("a0", "a1")
    assert explanation.not_examined_reason == "otherPlacement"
    assert list(found.pending) == ["default/r"]


@pytest.mark.parametrize("name", ["p", "q"])
def test_an_explanation_changes_nothing(name):
    found = in_racks(a=("8", "8"), b=("1", "1"))
    node = found.explain(f"default/{name}").decision.node
    assert node in {"b0", "b1"}
    assert not found.cluster.pods
    assert list(found.pending) == ["default/p", "default/q"]
    found.add(make_pod("alone", cpu="2"))
    assert found.schedule("default/alone").node in {"a0", "a1"}
