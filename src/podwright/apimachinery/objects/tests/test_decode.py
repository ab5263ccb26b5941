import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from podwright.apimachinery.objects import (
    Condition,
    Container,
    InvalidObject,
    Node,
    ObjectMeta,
    Pod,
    PodSpec,
    Specs,
    Unknown,
    decode,
    decode_node,
    decode_pod,
    encode,
    with_condition,
    with_fields,
    with_node_name,
    with_nominated_node_name,
)
from podwright.apimachinery.objects.kinds import TYPE_OF

VECTORS = Path(__file__).parents[5] / "tests" / "golden" / "vectors"

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "managedFields": [{"manager": "kubectl"}]},
    "spec": {
        "containers": [{"name": "main", "securityContext": {"runAsUser": 1}}],
        "dnsPolicy": "x",
    },
    "status": {
        "conditions": [
            {"type": "Ready", "status": "False", "lastProbeTime": None, "unknown": 1},
            {"type": "PodScheduled", "status": "False", "lastTransitionTime": "t1"},
        ]
    },
}


def pod_with(**spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def claim_of(**config):
    document = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
    devices = {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}], "config": [config]}
    return document | {"metadata": {"name": "c"}, "spec": {"devices": devices}}


def node_with(spec=None, status=None):
    head = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    return head | {"spec": spec or {}, "status": status or {}}


@pytest.mark.parametrize(
    ("document", "errors"),
    [
        pytest.param(
            node_with(spec={"taints": [{"key": "k", "effect": "NoSchedul"}]}),
            [
                'spec.taints[0].effect: Unsupported value: "NoSchedul": supported values: '
                '"NoExecute", "NoSchedule", "PreferNoSchedule"; did you mean "NoSchedule"?'
            ],
            id="an enumeration suggests the nearest",
        ),
        pytest.param(
            node_with(status={"allocatable": {"cpu": "4x", "memory": "1Gi"}}),
            [
                'status.allocatable[cpu]: Invalid value: "4x": quantities are numbers with an '
                "optional suffix, such as 500m, 2, 1.5Gi or 1e3"
            ],
            id="a quantity, by its resource",
        ),
        pytest.param(
            pod_with(priority=2**31),
            [
                "spec.priority: Invalid value: 2147483648: "
                "must be a number from -2147483648 to 2147483647"
            ],
            id="a number that is too large",
        ),
        pytest.param(
            pod_with(priority=2**31 - 1, nodeName=1),
            ["spec.nodeName: Invalid value: 1: must be a string; put it in quotes"],
            id="the largest number beside an error",
        ),
        pytest.param(
            pod_with(
                priority=-(2**31),
                volumes=[
                    {
                        "name": "v",
                        "ephemeral": {
                            "volumeClaimTemplate": {
                                "spec": {"resources": {"requests": {"storage": "x"}}}
                            }
                        },
                    }
                ],
            ),
            [
                "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: "
                'Invalid value: "x": quantities are numbers with an '
                "optional suffix, such as 500m, 2, 1.5Gi or 1e3"
            ],
            id="the size of an ephemeral volume",
        ),
        pytest.param(
            node_with(spec={"unschedulable": True, "taints": {}}),
            ["spec.taints: Invalid value: {}: must be a list"],
            id="a list beside a boolean",
        ),
        pytest.param(
            node_with(spec={"taints": [{1: "k", "effect": "NoSchedule"}]}),
            ["spec.taints[0].key: Required value"],
            id="a key that is a number",
        ),
        pytest.param(
            claim_of(opaque={"driver": 1, "parameters": {"a": [1]}}),
            [
                "spec.devices.config[0].opaque.driver: Invalid value: 1: "
                "must be a string; put it in quotes"
            ],
            id="an error beside parameters of any type",
        ),
        pytest.param(
            pod_with(priority="high", containers=[{"name": "c", "ports": [{"hostPort": "80"}]}]),
            [
                'spec.containers[0].ports[0].hostPort: Invalid value: "80": must be an integer',
                'spec.priority: Invalid value: "high": must be an integer',
            ],
            id="all errors at once",
        ),
        pytest.param(
            node_with(spec={"taints": [{"ky": "k", "effect": "NoSchedule"}]}),
            ['spec.taints[0].key: Required value: "ky" is not a field; was it meant?'],
            id="a misspelt required field",
        ),
        pytest.param(
            pod_with(nodeSelector={"ssd": True}),
            ["spec.nodeSelector[ssd]: Invalid value: true: must be a string; put it in quotes"],
            id="YAML's booleans",
        ),
        pytest.param(
            pod_with(containers={}),
            ["spec.containers: Invalid value: {}: must be a list"],
            id="a list",
        ),
        pytest.param(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "b"},
                "spec": {"minAvailable": [], "maxUnavailable": True},
            },
            [
                "spec.minAvailable: Invalid value: []: must be an integer or a string",
                "spec.maxUnavailable: Invalid value: true: must be an integer or a string",
            ],
            id="a number or a percentage",
        ),
        pytest.param(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "b"},
                "spec": {"minAvailable": "50%", "maxUnavailable": []},
            },
            ["spec.maxUnavailable: Invalid value: []: must be an integer or a string"],
            id="an error beside a percentage",
        ),
        pytest.param(
            {"kind": "Pod", "metadata": {}}, ["apiVersion: Required value"], id="no apiVersion"
        ),
    ],
)
def test_decode_reports_all_errors(document, errors):
    with pytest.raises(InvalidObject) as refused:
        decode(document, source="f.yaml")
    assert str(refused.value).splitlines() == [f"f.yaml: {error}" for error in errors]
    assert [f"{error.path}: {error.message}" for error in refused.value.errors] == errors


def test_an_object_is_preserved_completely():
    pod = decode(POD)
    assert isinstance(pod, Pod)
    assert pod.key == "shop/web"
    assert encode(pod) == POD
    assert encode(pod) is POD
    assert encode(decode_pod(POD)) is POD


@pytest.mark.parametrize("read", [decode, decode_pod, decode_node])
def test_a_document_is_an_object(read):
    with pytest.raises(InvalidObject) as refused:
        read([1], source="f.yaml")
    assert str(refused.value) == "f.yaml: must be an object, not [1]"


def test_pods_of_one_spec_share_its_struct():
    specs = Specs()

    def pod(name, **others):
        spec = specs.of({"containers": [{"name": "c"}], "priority": 5})
        metadata = {"name": name, "namespace": "shop"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec} | others

    first, second = decode_pod(pod("a")), decode_pod(pod("b"))
    running = pod("c", status={"phase": "Running"})
    third = decode_pod(running)
    assert first.spec is second.spec is third.spec
    assert (second.name, second.spec.priority) == ("b", 5)
    assert third == decode_pod(json.dumps(running))
    assert encode(third) is running
    with pytest.raises(InvalidObject, match=r"status.allocatedResources\[cpu\]: Invalid value"):
        decode(pod("d", status={"allocatedResources": {"cpu": "x"}}))


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(pod_with(volumes=[{"name": "v", "ephemeral": {}}]), id="no template"),
        pytest.param(claim_of(opaque=None), id="no capacity"),
        pytest.param(
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r"}, "spec": {}},
            id="no template of pods",
        ),
    ],
)
def test_parts_without_quantities(document):
    assert decode(document).kind == document["kind"]


def test_the_quantities_of_each_device_are_read():
    first = {"name": "a", "capacity": {"memory": {"value": "1Gi"}, "cores": {"value": "8",
             "requestPolicy": {"default": "y"}}}}  # fmt: skip
    document = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
                "metadata": {"name": "s"}, "spec": {"driver": "d", "devices": [first]}}  # fmt: skip
    with pytest.raises(InvalidObject, match=r"cores\]\.requestPolicy\.default: Invalid value"):
        decode(document)


def test_a_null_is_an_absent_field():
    pod = decode_pod({"metadata": {"name": "p", "labels": None}, "spec": {"containers": None}})
    assert (pod.metadata.labels, pod.spec.containers) == ({}, ())


def test_a_namespaced_object_without_namespace_is_in_default():
    pod = decode_pod({"metadata": {"name": "p"}})
    assert pod.key == "default/p"
    assert encode(pod)["metadata"]["namespace"] == "default"
    assert decode_node({"metadata": {"name": "n"}}).key == "n"


def test_objects_of_these_kinds_have_no_namespace():
    documents = [
        {"apiVersion": cls.api_version, "kind": kind, "metadata": {"name": "x"}}
        for (_, kind), cls in TYPE_OF.items()
    ]
    assert [each["kind"] for each in documents if decode(each).key == "x"] == [
        "Node", "Namespace", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver",
        "VolumeAttachment", "PriorityClass", "DeviceClass", "ResourceSlice", "DeviceTaintRule",
    ]  # fmt: skip


def test_kinds_of_other_groups_are_unknown():
    document = {
        "apiVersion": "serving.knative.dev/v1",
        "kind": "Service",
        "metadata": {"name": "s"},
    }
    service = decode(document)
    assert isinstance(service, Unknown)
    assert (service.kind, service.api_version) == ("Service", "serving.knative.dev/v1")
    assert encode(service) == document


def test_a_different_kind_is_rejected():
    with pytest.raises(InvalidObject, match='kind: Unsupported value: "Node"'):
        decode_pod({"kind": "Node"})


def test_text_that_is_not_json_is_rejected():
    with pytest.raises(InvalidObject, match="body: not JSON"):
        decode_pod(b"{", source="body")


def test_with_node_name_changes_the_struct_and_the_document_and_shares_the_rest():
    pod = decode_pod(POD)
    bound = with_node_name(pod, "n1")
    assert bound.spec.node_name == encode(bound)["spec"]["nodeName"] == "n1"
    assert encode(bound)["status"] is POD["status"]
    assert bound.spec.containers is pod.spec.containers
    assert "nodeName" not in POD["spec"]
    assert with_node_name(bound, "") == pod


def test_with_nominated_node_name_clears_it_with_the_empty_name():
    pod = decode_pod(POD)
    nominated = with_nominated_node_name(pod, "n1")
    assert nominated.status.nominated_node_name == "n1"
    assert encode(nominated)["status"]["nominatedNodeName"] == "n1"
    assert with_nominated_node_name(nominated, "") == pod


def test_with_condition_replaces_the_condition_of_its_type_and_preserves_the_others():
    pod = with_condition(
        decode_pod(POD),
        Condition(type="PodScheduled", status="False", reason="x", last_transition_time="t2"),
    )
    written = encode(pod)["status"]["conditions"]
    assert written[0] == POD["status"]["conditions"][0]
    assert written[1] == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "x",
        "lastTransitionTime": "t1",
    }
    pod = with_condition(pod, Condition(type="PodScheduled", status="True"))
    assert [c.status for c in pod.status.conditions] == ["False", "True"]


def test_with_fields_agrees_with_decoding_the_changed_document():
    pod = with_fields(decode_pod(POD), "status", phase="Running", start_time="t")
    assert decode(encode(pod)) == pod
    assert with_fields(pod, "status", phase="", start_time=None) == decode_pod(POD)


def test_an_object_built_from_structs_is_encoded_from_the_fields_that_are_set():
    pod = Pod(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=PodSpec(containers=(Container(name="main"),)),
    )
    assert encode(with_node_name(pod, "n1")) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"containers": [{"name": "main"}], "nodeName": "n1"},
    }
    assert encode(Node(metadata=ObjectMeta(name="n")))["kind"] == "Node"


def documents_in(value):
    if isinstance(value, dict):
        if "kind" in value and "apiVersion" in value:
            yield value
        else:
            for entry in value.values():
                yield from documents_in(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from documents_in(entry)


@pytest.mark.golden
@pytest.mark.slow
def test_every_object_of_the_golden_vectors_is_preserved():
    n_documents = 0
    for path in sorted(VECTORS.glob("*.jsonl.gz")):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            for document in documents_in(json.loads(line)):
                assert encode(decode(document, source=path.name)) == document
                n_documents += 1
    assert n_documents > 100_000


@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [
        ({}, False),
        ({"capacity": "1Gi", "maximumVolumeSize": "1Gi"}, False),
        ({"capacity": "x"}, True),
        ({"maximumVolumeSize": "x"}, True),
        ({"capacity": "1", "maximumVolumeSize": "x"}, True),
    ],
)
def test_the_sizes_of_a_storage_capacity_are_quantities(sizes: dict[str, str], wrong: bool) -> None:
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity"}
    document = kind | {"metadata": {"name": "x"}, "storageClassName": "s"} | sizes
    if not wrong:
        assert decode(document).kind == "CSIStorageCapacity"
        return
    with pytest.raises(InvalidObject, match="quantities are numbers"):
        decode(document)


@pytest.mark.parametrize(
    ("changes", "written"),
    [
        pytest.param({"node_name": "n"}, {"nodeName": "n"}, id="a text"),
        pytest.param({"node_name": ""}, {}, id="an empty one is left out"),
        pytest.param(
            {"node_name": "n", "scheduler_name": "s"},
            {"nodeName": "n", "schedulerName": "s"},
            id="two texts",
        ),
        pytest.param(
            {"node_name": "", "scheduler_name": "s"}, {"schedulerName": "s"}, id="one of them empty"
        ),
        pytest.param({"priority": 7}, {"priority": 7, "nodeName": "old"}, id="a number"),
        pytest.param({"priority": None, "node_name": "n"}, {"nodeName": "n"}, id="no number"),
        pytest.param(
            {"node_selector": {"a": "b"}}, {"nodeSelector": {"a": "b"}, "nodeName": "old"},
            id="a mapping",
        ),
    ],
)  # fmt: skip
def test_changed_fields_are_written_as_documents_have_them(changes, written):
    before = decode_pod({"metadata": {"name": "p"}, "spec": {"nodeName": "old", "containers": []}})
    after = with_fields(before, "spec", **changes)
    names = {"nodeName", "schedulerName", "priority", "nodeSelector"}
    assert {key: value for key, value in after.raw["spec"].items() if key in names} == written
    assert decode_pod(after.raw) == after
    assert before.raw["spec"]["nodeName"] == "old"


@pytest.mark.parametrize(
    ("api_version", "kind", "is_known"),
    [
        ("resource.k8s.io/v1", "ResourceClaim", True),
        ("resource.k8s.io/v1beta2", "ResourceClaim", True),
        ("resource.k8s.io/v1beta1", "ResourceClaim", False),
        ("resource.k8s.io/v1alpha3", "ResourceClaim", False),
        ("resource.k8s.io/v1beta1", "ResourceSlice", False),
        ("resource.k8s.io/v1beta1", "DeviceClass", True),
        ("resource.k8s.io/v1alpha3", "DeviceTaintRule", True),
        ("policy/v1beta1", "PodDisruptionBudget", True),
    ],
)
def test_a_version_with_other_fields_is_not_read_as_the_stored_one(api_version, kind, is_known):
    obj = decode({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}})
    assert isinstance(obj, Unknown) is not is_known
