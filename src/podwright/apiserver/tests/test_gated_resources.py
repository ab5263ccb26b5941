"""The resources that feature gates enable."""

from __future__ import annotations

import pytest

import podwright as pw
from podwright.api.endpoints import GATED_RESOURCES, HttpRequest, User
from podwright.apiserver import new_cluster
from podwright.config import GATES
from podwright.machine import SchedulerOptions
from podwright.schema import built_in


def test_each_gate_is_off_by_default_and_said_to_enable_resources() -> None:
    assert {name for name, gate in GATES.items() if "resources" in gate.effects} == set(
        GATED_RESOURCES
    )
    assert not any(GATES[name].default for name in GATED_RESOURCES)


def test_each_resource_is_one_of_a_known_kind() -> None:
    known = {f"{kind.api_version}/{kind.row.resource}" for kind in built_in()}
    assert {name for names in GATED_RESOURCES.values() for name in names} <= known


@pytest.mark.parametrize(
    ("gates", "status"), [("", 404), ("GenericWorkload=true", 200)], ids=["off", "on"]
)
@pytest.mark.parametrize("plural", ["podgroups", "workloads"])
def test_groups_of_pods_are_served_with_their_gate(plural: str, gates: str, status: int) -> None:
    cluster = new_cluster(SchedulerOptions(gates=pw.parse_gates(gates)), now_ns=0)
    reply = cluster.server.handle(
        HttpRequest("GET", f"/apis/scheduling.k8s.io/v1alpha2/{plural}", "", {}, b""),
        User("admin", groups=("system:masters",)),
        0,
    )
    assert reply.status == status


def test_a_version_of_several_gated_resources_is_discovered_once() -> None:
    gates = pw.parse_gates("GenericWorkload=true")
    cluster = new_cluster(SchedulerOptions(gates=gates), now_ns=0)
    versions = cluster.server.resources.group_versions
    assert versions.count("scheduling.k8s.io/v1alpha2") == 1
