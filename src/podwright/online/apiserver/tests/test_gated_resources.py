"""The resources that feature gates enable."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints import (
    GATED_RESOURCES,
    HttpReply,
    HttpRequest,
    User,
    bare_options,
    served_plugins,
)
from podwright.online.apiserver import new_cluster
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, pod, request
from podwright.scheduler.config import GATES
from podwright.scheduler.machine import SchedulerOptions


def test_each_gate_is_off_by_default_and_said_to_enable_resources() -> None:
    assert {name for name, gate in GATES.items() if "resources" in gate.effects} == set(
        GATED_RESOURCES
    )
    off = bare_options().disabled_gates
    assert set(GATED_RESOURCES) <= off
    assert not any(GATES[name].default for name in off)


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


def test_the_roles_of_a_cluster_have_the_rules_of_its_gates() -> None:
    gates = pw.parse_gates("GenericWorkload=true,ComponentStatusz=false")
    cluster = new_cluster(SchedulerOptions(gates=gates), now_ns=0)
    roles = ("rbac.authorization.k8s.io", "ClusterRole")

    def rules(name: str) -> str:
        found = cluster.store.get(roles, name)
        assert found is not None
        return json.dumps(found.raw["rules"])

    assert "podgroups/status" in rules("system:aggregate-to-view")
    assert "statusz" not in rules("system:monitoring")
    assert "flagz" in rules("system:monitoring")


def test_a_version_of_several_gated_resources_is_discovered_once() -> None:
    gates = pw.parse_gates("GenericWorkload=true")
    cluster = new_cluster(SchedulerOptions(gates=gates), now_ns=0)
    versions = cluster.server.resources.group_versions
    assert versions.count("scheduling.k8s.io/v1alpha2") == 1


def test_groups_have_workloads_that_exist_and_are_removed_after_their_pods() -> None:
    cluster = new_cluster(
        SchedulerOptions(gates=pw.parse_gates("GenericWorkload=true")),
        now_ns=START_NS,
        server_options=msgspec.structs.replace(SERVER, admission=served_plugins),
    )

    def send(method: str, path: str, body: Any = None) -> tuple[int, Any]:
        reply = cluster.handle(request(method, path, body), cluster.world.now_ns)
        assert isinstance(reply, HttpReply)
        cluster.catch_up(cluster.world.now_ns, lambda: False)
        return reply.status, json.loads(reply.body)

    api = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default"
    policy = {"gang": {"minCount": 1}}
    reference = {"workload": {"workloadName": "w", "podGroupTemplateName": "other"}}
    group: dict[str, Any] = {
        "metadata": {"name": "g"},
        "spec": {"schedulingPolicy": policy, "podGroupTemplateRef": reference},
    }
    # Its gate is off: what is sent is dropped, and the default is stored.
    group["spec"]["disruptionMode"] = "PodGroup"
    templates = [{"name": "t", "schedulingPolicy": policy}]
    workload = {"metadata": {"name": "w"}, "spec": {"podGroupTemplates": templates}}
    refused = 'podgroups.scheduling.k8s.io "g" is forbidden: PodGroup rejected: '
    status, reply = send("POST", f"{api}/podgroups", group)
    assert (status, reply["message"]) == (403, f'{refused}Workload "w" not found')
    assert send("POST", f"{api}/workloads", workload)[0] == 201
    status, reply = send("POST", f"{api}/podgroups", group)
    missing = 'PodGroupTemplate "other" not found in Workload "w"'
    assert (status, reply["message"]) == (403, f"{refused}{missing}")
    reference["workload"]["podGroupTemplateName"] = "t"
    status, reply = send("POST", f"{api}/podgroups", group)
    assert status == 201, reply
    assert reply["spec"]["disruptionMode"] == "Pod"
    assert reply["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]

    pods = "/api/v1/namespaces/default/pods"
    member = pod("p") | {"apiVersion": "v1", "kind": "Pod"}
    member["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    assert send("POST", pods, member)[0] == 201
    assert send("DELETE", f"{api}/podgroups/g")[0] == 200
    assert "deletionTimestamp" in send("GET", f"{api}/podgroups/g")[1]["metadata"]
    assert send("DELETE", f"{pods}/p", {"gracePeriodSeconds": 0})[0] == 200
    assert send("GET", f"{api}/podgroups/g")[0] == 404
