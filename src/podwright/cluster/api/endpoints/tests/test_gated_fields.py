"""Fields whose feature gate is off are dropped from writes, unless the stored object has them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.cluster.api.endpoints.served.bare import bare_options, bare_store
from podwright.cluster.api.endpoints.server import ApiServer
from podwright.cluster.api.endpoints.tests.conftest import START_NS, Server, pod
from podwright.cluster.api.gated_fields import disabled_fields, without_disabled

PODS = "/api/v1/namespaces/default/pods"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
NODES = "/api/v1/nodes"
GROUP = {"podGroupName": "g"}


def server_without(*gates: str) -> Server:
    """Return a server with some feature gates off."""
    server = Server()
    options = msgspec.structs.replace(bare_options(), disabled_gates=frozenset(gates))
    server.store = bare_store(START_NS)
    server.api = ApiServer(server.store, options)
    return server


def resource_slice(*devices: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "n",
            "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
            "devices": list(devices),
        },
    }


TAINT = {"key": "broken", "effect": "NoSchedule"}


def test_a_field_of_a_pod_is_dropped_each_time_its_template_is_created() -> None:
    server = server_without("GenericWorkload")
    for number in range(4):
        status, made = server.reply("POST", PODS, pod(f"p{number}", schedulingGroup=GROUP))
        assert status == 201, made
        assert "schedulingGroup" not in made["spec"]
        assert "schedulingGroup" not in server.reply("GET", f"{PODS}/p{number}")[1]["spec"]


def test_a_projected_source_is_dropped_from_its_element_before_the_validation() -> None:
    server = server_without("PodCertificateRequest")
    source = {
        "downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]},
        "podCertificate": {"signerName": "not valid", "keyType": "no"},
    }
    volume = {"name": "v", "projected": {"sources": [source]}}
    status, made = server.reply("POST", PODS, pod("p", volumes=[volume]))
    assert status == 201, made
    (stored,) = made["spec"]["volumes"]
    assert stored["projected"]["sources"][0].keys() == {"downwardAPI"}


def comparing(operator: str, value: str = "1", **more: Any) -> dict[str, Any]:
    return {"key": "k", "operator": operator, "value": value} | more


def test_without_the_gate_a_toleration_cannot_compare() -> None:
    server = server_without("TaintTolerationComparisonOperators")
    tolerations = [comparing("Gt", "a", effect="X"), comparing("Lt"), {"operator": "Y", "key": "k"}]
    _, error = server.reply("POST", PODS, pod("p", tolerations=tolerations))
    assert [(each["field"], each["message"][:23]) for each in error["details"]["causes"]] == [
        ("spec.tolerations[0].operator", 'Unsupported value: "Gt"'),
        ("spec.tolerations[0].effect", 'Unsupported value: "X":'),
        ("spec.tolerations[1].operator", 'Unsupported value: "Lt"'),
        ("spec.tolerations[2].operator", 'Unsupported value: "Y":'),
    ]


def test_with_the_gate_or_where_it_compares_already_a_toleration_can() -> None:
    server = server_without()
    status, made = server.reply("POST", PODS, pod("p", tolerations=[comparing("Gt")]))
    assert status == 201, made
    options = msgspec.structs.replace(
        bare_options(), disabled_gates=frozenset({"TaintTolerationComparisonOperators"})
    )
    server.api = ApiServer(server.store, options)
    status, made = server.patch(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}})
    assert status == 200, made


def test_with_the_gate_a_field_is_kept() -> None:
    status, made = server_without().reply("POST", PODS, pod("p", schedulingGroup=GROUP))
    assert status == 201, made
    assert made["spec"]["schedulingGroup"] == GROUP


def test_a_field_of_a_list_is_dropped_from_creates_updates_and_patches() -> None:
    server = server_without("DRADeviceTaints")
    status, made = server.reply("POST", SLICES, resource_slice({"name": "d", "taints": [TAINT]}))
    assert status == 201, made
    assert made["spec"]["devices"] == [{"name": "d"}]
    made["spec"]["devices"][0]["taints"] = [TAINT]
    status, changed = server.reply("PUT", f"{SLICES}/s", made)
    assert (status, changed["spec"]["devices"]) == (200, [{"name": "d"}])
    patch = {"spec": {"devices": [{"name": "e", "taints": [TAINT]}]}}
    status, changed = server.patch(f"{SLICES}/s", patch)
    assert (status, changed["spec"]["devices"]) == (200, [{"name": "e"}])


def test_the_template_of_a_workload_loses_the_field_as_well() -> None:
    server = server_without("GenericWorkload")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("", schedulingGroup=GROUP)["spec"]}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    status, made = server.reply("POST", "/apis/apps/v1/namespaces/default/deployments", body)
    assert status == 201, made
    assert "schedulingGroup" not in made["spec"]["template"]["spec"]


def test_a_field_of_a_status_is_dropped() -> None:
    server = server_without("NodeDeclaredFeatures")
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    assert server.reply("POST", NODES, node)[0] == 201
    status, made = server.patch(f"{NODES}/n/status", {"status": {"declaredFeatures": ["A"]}})
    assert status == 200, made
    assert "declaredFeatures" not in made["status"]


@pytest.mark.parametrize(
    ("old", "kept"),
    [
        pytest.param(None, [{"name": "d"}], id="a create"),
        pytest.param({"name": "d"}, [{"name": "d"}], id="an object without the fields"),
        pytest.param(
            {"name": "d", "bindsToNode": True},
            [{"name": "d", "bindingConditions": ["A"]}],
            id="an object with another field of the gates",
        ),
    ],
)
def test_fields_in_use_are_kept(old: dict[str, Any] | None, kept: list[dict[str, Any]]) -> None:
    fields = disabled_fields(frozenset({"DRAResourceClaimDeviceStatus"}))
    groups = fields["resource.k8s.io", "ResourceSlice"]
    new = resource_slice({"name": "d", "bindingConditions": ["A"]})
    stored = None if old is None else resource_slice(old)
    assert without_disabled(groups, new, stored)["spec"]["devices"] == kept
    assert new["spec"]["devices"][0]["bindingConditions"] == ["A"]


def test_an_object_without_such_fields_is_not_copied() -> None:
    groups = disabled_fields(frozenset({"DRADeviceTaints", "DRAConsumableCapacity"}))
    document = resource_slice({"name": "d", "capacity": {"memory": {"value": "1Gi"}}})
    assert without_disabled(groups["resource.k8s.io", "ResourceSlice"], document, None) is document


def test_with_all_gates_nothing_is_dropped() -> None:
    assert disabled_fields(frozenset()) == {}


@pytest.mark.parametrize(("gates", "status"), [((), 201), (("SELinuxMount",), 422)])
def test_the_labels_of_mounts_are_chosen_with_their_gate_only(gates, status) -> None:
    server = server_without(*gates)
    options = {"seLinuxChangePolicy": "MountOption"}
    found, made = server.reply("POST", PODS, pod("p", securityContext=options))
    assert found == status, made
