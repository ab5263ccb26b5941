"""Claims of volumes and of devices in the cluster of a workload."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import InputError, encode
from podwright.apimachinery.schema import decode
from podwright.simulation.scheduler_perf.execution import Execution, _bound_claim
from podwright.simulation.scheduler_perf.operations import AllocResourceClaims
from podwright.simulation.scheduler_perf.templates import ObjectTemplate
from podwright.simulation.scheduler_perf.test_cases import load_test_cases
from podwright.simulation.scheduler_perf.tests.test_perf_parts import MEASURED, made
from podwright.simulation.scheduler_perf.tests.test_scheduler_perf import FILES, case, read_from
from podwright.simulation.world import Create

CLAIM = ("", "PersistentVolumeClaim")


def stored(found: Execution, kind: tuple[str, str]) -> list[Any]:
    return [encode(obj) for obj in found._world.store.list(kind).objects]


def test_the_claim_of_a_volume_that_names_it_is_bound_once():
    found = made({"opcode": "createNodes", "count": 1}, MEASURED)
    found.run()
    document = ObjectTemplate(FILES["pvc.yaml"].encode(), "pvc.yaml").document()
    volume = ObjectTemplate(FILES["pv.yaml"].encode(), "pv.yaml").document()
    namespace = "namespace-1"
    for name in ("free", "taken"):
        claim = document | {"metadata": {"name": name, "namespace": namespace}}
        if name == "taken":
            claim["spec"] = claim["spec"] | {"volumeName": "other"}
        found._world.do(Create(decode(claim)))
    for name in ("free", "taken", "none"):
        reference = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
        csi = {"driver": "ebs.csi.aws.com", "volumeHandle": name}
        spec = volume["spec"] | {"claimRef": reference, "csi": csi}
        found._world.do(Create(decode(volume | {"metadata": {"name": f"v-{name}"}, "spec": spec})))
    while not found.cluster.catch_up(found.cluster.now_ns() + 1_000_000_000):
        pass
    claims = {
        one["metadata"]["name"]: (
            one["spec"].get("volumeName"), one["metadata"].get("annotations", {})
        )
        for one in stored(found, CLAIM)
    }  # fmt: skip
    assert claims == {
        "free": ("v-free", {"pv.kubernetes.io/bind-completed": "yes"}), "taken": ("other", {}),
    }  # fmt: skip


def test_devices_are_allocated_from_a_drawn_node_on():
    found = made(
        {"opcode": "createNodes", "count": 4},
        {"opcode": "createResourceDriver", "driverName": "gpu.example.com", "nodes": "node-0-*",
         "maxClaimsPerNode": 2},
        {"opcode": "createAny", "templatePath": "class.yaml"},
        {"opcode": "createResourceClaims", "count": 8, "namespace": "ns",
         "templatePath": "claim.yaml"},
        {"opcode": "allocResourceClaims", "namespace": "other"},
        MEASURED,
    )  # fmt: skip
    found.run()
    kind = ("resource.k8s.io", "ResourceClaim")
    assert not any("allocation" in one.get("status", {}) for one in stored(found, kind))
    found._allocate_claims(AllocResourceClaims(namespace="ns"))
    results = [one["status"]["allocation"]["devices"]["results"] for one in stored(found, kind)]
    places = [(one["pool"][-1], one["device"][-1]) for (one,) in results]
    # Each device is used once, and not in the order of the nodes.
    assert sorted(places) == [(node, device) for node in "0123" for device in "01"]
    assert "".join(node for node, _ in places) == "32203011"


def test_a_file_has_test_cases_whose_templates_are_some():
    for text in ("[]", "{}", "text"):
        with pytest.raises(InputError) as raised:
            load_test_cases("c", read_from({"c": text}))
        assert str(raised.value) == "c: must be a list of test cases"
    any_ = {"opcode": "createAny", "templatePath": "wrong.yaml"}
    files = FILES | {"c": case(any_, MEASURED), "wrong.yaml": "a: {{ if }"}
    with pytest.raises(InputError) as raised:
        load_test_cases("c", read_from(files))
    assert str(raised.value).startswith("c: [0].workloadTemplate[0].templatePath: wrong.yaml: ")


def test_a_claim_and_its_volume_are_bound_to_each_other():
    claims = ObjectTemplate(FILES["pvc.yaml"].encode(), "pvc.yaml")
    volumes = ObjectTemplate(FILES["pv.yaml"].encode(), "pv.yaml")
    claim, volume = map(encode, _bound_claim(claims, volumes, "ns", 4))
    assert (claim["metadata"]["name"], claim["metadata"]["namespace"]) == ("pvc-4", "ns")
    assert (claim["spec"]["volumeName"], claim["status"]["phase"]) == ("ns-vol-4", "Bound")
    assert (volume["metadata"]["name"], volume["status"]["phase"]) == ("ns-vol-4", "Bound")
    assert volume["spec"]["csi"] == {"driver": "ebs.csi.aws.com", "volumeHandle": "ns-vol-4"}
    assert volume["spec"]["claimRef"] == {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "ns", "name": "pvc-4",
    }  # fmt: skip
    sources = {
        "awsElasticBlockStore: {}": {"volumeID": "vol-4"},
        "hostPath: {path: /a}": {"path": "/a", "type": ""},
    }
    for source, expected in sources.items():
        text = FILES["pv.yaml"].replace("csi: {driver: ebs.csi.aws.com}", source)
        volumes = ObjectTemplate(text.encode(), "pv.yaml")
        _, volume = map(encode, _bound_claim(claims, volumes, "ns", 4))
        spec, kind = volume["spec"], source.partition(":")[0]
        assert {"csi", "awsElasticBlockStore", "hostPath"} & spec.keys() == {kind}
        assert spec[kind] == expected
