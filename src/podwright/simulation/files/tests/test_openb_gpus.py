"""The GPUs of the openb trace become a resource of nodes and pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.traces import openb

import podwright as pw
from podwright.apimachinery.objects import encode, with_fields
from podwright.apimachinery.schema import decode
from podwright.simulation.files import Sourced
from podwright.simulation.files.openb_gpus import (
    OpenbGpus,
    _is_gpu_pod,
    _with_one_resource,
    with_openb_gpus,
)
from podwright.testing import make_node, make_pod

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
t4,32000,262144,2,T4
v100,8000,1024,8,V100
plain,1000,1,0,
"""
HEAD = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
COUNT, MILLI = "alibabacloud.com/gpu-count", "alibabacloud.com/gpu-milli"


def tables(folder: Path, *pods: str) -> list[str]:
    (folder / "nodes.csv").write_text(NODES, encoding="utf-8")
    (folder / "pods.csv").write_text(HEAD + "\n".join(pods) + "\n", encoding="utf-8")
    return [str(folder / "nodes.csv"), str(folder / "pods.csv")]


def test_only_pods_have_the_annotations_of_gpus():
    annotations = {COUNT: "1", MILLI: "460"}
    assert _is_gpu_pod(make_pod("p", annotations=annotations))
    assert not _is_gpu_pod(make_pod("p", annotations={MILLI: "460"}))
    node = with_fields(make_node("n"), "metadata", annotations=annotations)
    assert not _is_gpu_pod(node)


@pytest.mark.parametrize(
    ("row", "gpus", "request_"),
    [
        pytest.param("1,460,", "milli", {MILLI: "460"}, id="a share"),
        pytest.param("1,460,", "count", {COUNT: "1"}, id="a share takes a whole GPU"),
        pytest.param("4,1000,", "milli", {MILLI: "4000"}, id="several GPUs"),
        pytest.param("4,1000,", "count", {COUNT: "4"}, id="several whole GPUs"),
        pytest.param("1,1800,", "milli", {MILLI: "1000"}, id="at most all of a GPU"),
        pytest.param("1,0,", "count", {}, id="no share of a GPU"),
        pytest.param("0,0,", "milli", {}, id="no GPU"),
    ],
)
def test_the_annotations_become_a_request(
    tmp_path: Path, row: str, gpus: OpenbGpus, request_: dict[str, str]
):
    files = tables(tmp_path, f"p,500,64,{row}", "other,1,1,1,1000,")
    pods = pw.load(files, openb_gpus=gpus).of(pw.Pod)
    resources = pods[0].spec.containers[0].resources
    assert resources.requests == {"cpu": "500m", "memory": "64Mi"} | request_
    assert resources.limits == resources.requests
    assert pods[0].raw["spec"]["containers"][0]["resources"]["requests"] == resources.requests


@pytest.mark.parametrize(
    ("gpus", "kept", "amount"), [("milli", MILLI, "2000"), ("count", COUNT, "2")]
)
def test_nodes_keep_the_resource_that_pods_request(
    tmp_path: Path, gpus: OpenbGpus, kept: str, amount: str
):
    files = tables(tmp_path, "p,500,64,1,460,")
    t4, _, plain = pw.load(files, openb_gpus=gpus).of(pw.Node)
    assert {k: v for k, v in t4.status.allocatable.items() if "gpu" in k} == {kept: amount}
    assert t4.status.capacity == t4.status.allocatable
    assert set(plain.status.allocatable) == {"cpu", "memory", "pods"}


def test_without_the_option_gpus_are_annotations(tmp_path: Path):
    files = tables(tmp_path, "p,500,64,1,460,")
    loaded = pw.load(files)
    assert loaded.of(pw.Node)[0].status.allocatable.keys() >= {COUNT, MILLI}
    assert set(loaded.of(pw.Pod)[0].spec.containers[0].resources.requests) == {"cpu", "memory"}


def test_pods_share_gpus_until_they_are_full(tmp_path: Path):
    files = tables(tmp_path, *(f"p{i},100,64,1,400,T4" for i in range(5)))
    shares = pw.simulate(files, openb_gpus="milli")
    assert sorted(shares.node_of.values()) == ["t4", "t4", "t4", "t4"]
    assert shares.summary.utilization[MILLI].peak == pytest.approx(1600 / 10_000)
    assert COUNT not in shares.summary.utilization
    whole = pw.simulate(files, openb_gpus="count")
    assert sorted(whole.node_of.values()) == ["t4", "t4"]
    (message,) = set(whole.pending.values())
    assert f"1 Insufficient {COUNT}" in message
    assert len(pw.simulate(files).node_of) == 5


def test_a_share_is_of_one_gpu(tmp_path: Path):
    run = pw.simulate(
        tables(tmp_path, *(f"p{i},9,9,1,600,T4" for i in range(3))), openb_gpus="milli"
    )
    assert len(run.node_of) == 2, "400 and 400 are free, of different GPUs"
    (message,) = run.pending.values()
    assert "1 cannot allocate all claims" in message
    # Nothing fits 400 of a GPU: of the V100s the pods accept none, which is not part of the shape.
    use = run.summary.utilization[MILLI]
    assert use.fragmentation == pytest.approx(800 / 8800)


def test_shares_of_one_pod_are_on_different_gpus(tmp_path: Path):
    scheduler = pw.Scheduler()
    scheduler.add(*pw.load(tables(tmp_path, "p,9,9,2,500,T4"), openb_gpus="milli").objects)
    assert [bool(each.node) for each in scheduler.schedule_all()] == [True]
    assert sorted(used_milli(scheduler).values()) == [500, 500]


def used_milli(scheduler: pw.Scheduler) -> dict[object, int]:
    consumed = scheduler.cluster.devices.allocated.consumed
    return {device: amounts["gpu_milli"] // 10**9 for device, amounts in consumed.items()}


@pytest.mark.parametrize(
    ("node_rows", "pod_rows"),
    [
        pytest.param(12, 150, id="a part of the trace"),
        pytest.param(None, None, id="the whole trace", marks=pytest.mark.slow),
    ],
)
def test_no_gpu_of_the_trace_is_assigned_more_than_once(
    tmp_path: Path, node_rows: int | None, pod_rows: int | None
):
    files = openb.unpacked(tmp_path)
    for path, rows in zip(files, (node_rows, pod_rows), strict=True):
        lines = path.read_text(encoding="utf-8").splitlines()
        with_gpus = [line for line in lines if rows is None or ",0," not in line]
        path.write_text("\n".join(with_gpus[:rows]), encoding="utf-8")
    scheduler = pw.Scheduler()
    scheduler.add(*pw.load([str(path) for path in files], openb_gpus="milli").objects)
    assigned = 0
    for each in scheduler.schedule_all():
        annotations = each.pod.metadata.annotations
        if each.node and COUNT in annotations:
            assigned += int(annotations[COUNT]) * int(annotations[MILLI])
    used = used_milli(scheduler)
    assert max(used.values()) == 1000
    assert sum(used.values()) == assigned


def test_a_pod_accepts_only_nodes_with_its_models(tmp_path: Path):
    files = tables(tmp_path, "a,100,64,1,1000,V100|P100", "b,100,64,1,1000,P100")
    run = pw.simulate(files, openb_gpus="count")
    assert run.node_of == {"default/a": "v100"}
    assert "node(s) didn't match Pod's node affinity/selector" in run.pending["default/b"]


def test_models_are_required_of_each_term_of_an_affinity():
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term, {}]}
        }
    }
    annotations = {COUNT: "1", MILLI: "500", "alibabacloud.com/gpu-card-model": "T4"}
    pod = with_fields(
        make_pod("p", spec={"affinity": affinity}), "metadata", annotations=annotations
    )
    once = with_openb_gpus([Sourced("f", pod)], "milli")
    changed, *rest = with_openb_gpus(once, "milli")
    assert [each.object.kind for each in rest] == ["DeviceClass", "ResourceClaim"], "each once"
    required = changed.object.raw["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    model = {"key": "alibabacloud.com/gpu-card-model", "operator": "In", "values": ["T4"]}
    assert required["nodeSelectorTerms"] == [
        {"matchExpressions": [*term["matchExpressions"], model]},
        {},  # matches no node
    ]


def test_an_annotation_that_is_no_number_is_an_error():
    pod = with_fields(make_pod("p"), "metadata", annotations={COUNT: "two", MILLI: "-1"})
    with pytest.raises(pw.InputError) as raised:
        pw.simulate(pod, openb_gpus="milli")
    assert str(raised.value).splitlines() == [
        f"objects[0] (Pod default/p): metadata.annotations[{COUNT}]: Invalid value:"
        ' "two": must be a whole number',
        f"objects[0] (Pod default/p): metadata.annotations[{MILLI}]: Invalid value:"
        ' "-1": must be a whole number',
    ]


def test_the_option_without_pods_of_the_trace_is_an_error(tmp_path: Path):
    with pytest.raises(pw.InputError) as raised:
        pw.load(tables(tmp_path, "p,500,64,0,0,"), openb_gpus="milli")
    assert str(raised.value) == (
        "openb_gpus: has no effect without pods of the openb trace that request GPUs"
    )


def test_a_node_without_a_capacity_keeps_one_of_its_two_resources():
    allocatable = {COUNT: "2", MILLI: "2000", "cpu": "4"}
    node: Any = decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
                   "status": {"allocatable": allocatable}})  # fmt: skip
    assert encode(_with_one_resource(node, MILLI))["status"] == {
        "allocatable": {MILLI: "2000", "cpu": "4"}
    }


@pytest.mark.parametrize(
    ("resources", "left"),
    [
        ((COUNT, MILLI, "cpu"), {MILLI, "cpu"}),
        ((COUNT, MILLI), {MILLI}),
        ((COUNT, "cpu"), {COUNT, "cpu"}),
        ((MILLI, "cpu"), {MILLI, "cpu"}),
    ],
)
def test_of_both_resources_of_a_node_one_is_left(resources: tuple[str, ...], left: set[str]):
    status = {"allocatable": dict.fromkeys(resources, "2")}
    metadata = {"name": "n"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}
    (_, found), *_ = documents(decode(node))
    assert found["status"]["allocatable"].keys() == left


def test_an_unknown_value_is_an_error(tmp_path: Path):
    with pytest.raises(pw.InputError) as raised:
        pw.load(tables(tmp_path, "p,500,64,1,1000,"), openb_gpus="whole")  # type: ignore[arg-type]
    assert 'openb_gpus: Unsupported value: "whole": supported values: ' in str(raised.value)


# ---------------------------------------------------------------- objects, one by one

MODEL = "alibabacloud.com/gpu-card-model"
DEVICE_CLASS: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.alibabacloud.com"},
    "spec": {
        "selectors": [{"cel": {"expression": 'device.driver == "alibabacloud.com"'}}],
    },
}


def gpu_pod(name: str = "p", *, count: str = "2", milli: str = "500", **fields: Any) -> pw.Pod:
    pod = make_pod(name, **fields)
    return with_fields(pod, "metadata", annotations={COUNT: count, MILLI: milli})


def documents(*objects: pw.Object, gpus: OpenbGpus = "milli") -> list[tuple[str, dict[str, Any]]]:
    """Return the source and the document of each object."""
    given = [Sourced(f"file {index}", obj) for index, obj in enumerate(objects)]
    return [(each.source, each.object.raw) for each in with_openb_gpus(given, gpus)]


def added(*objects: pw.Object, gpus: OpenbGpus = "milli") -> list[tuple[str, str, str]]:
    """Return the source, the kind and the name of what is added."""
    found = documents(*objects, gpus=gpus)[len(objects) :]
    return [(source, each["kind"], each["metadata"]["name"]) for source, each in found]


def test_a_node_publishes_its_gpus_and_a_pod_claims_shares_of_them():
    node = make_node("n", resources={COUNT: "2", MILLI: "2500"})
    found = documents(make_node("plain"), node, gpu_pod())[3:]
    gpu = {"allowMultipleAllocations": True, "capacity": {"gpu_milli": {"value": "1000"}}}
    node_slice = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "n-alibabacloud.com"},
        "spec": {
            "driver": "alibabacloud.com",
            "nodeName": "n",
            "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": f"gpu-{index}", "attributes": {"index": {"int": index}}} | gpu
                for index in range(2)
            ],
        },
    }
    exactly = {
        "deviceClassName": "gpu.alibabacloud.com",
        "allocationMode": "ExactCount",
        "count": 2,
        "capacity": {"requests": {"gpu_milli": "500"}},
    }
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "p-gpus", "namespace": "default"},
        "spec": {
            "devices": {
                "requests": [{"name": "gpus", "exactly": exactly}],
                "constraints": [{"distinctAttribute": "alibabacloud.com/index"}],
            }
        },
    }
    assert found == [("file 1", DEVICE_CLASS), ("file 1", node_slice), ("file 2", claim)]


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param((make_node("n", resources={COUNT: "2"}),), [], id="a node of whole GPUs"),
        pytest.param((gpu_pod(node="n"),), [], id="a pod that has a node"),
        pytest.param((gpu_pod(count="0"),), [], id="a pod of no GPUs"),
        pytest.param(
            (gpu_pod("a"), gpu_pod("b")),
            [
                ("file 0", "DeviceClass", "gpu.alibabacloud.com"),
                ("file 0", "ResourceClaim", "a-gpus"),
                ("file 1", "ResourceClaim", "b-gpus"),
            ],
            id="one class for all pods",
        ),
    ],
)
def test_what_is_added(objects, expected):
    assert added(*objects) == expected
    assert added(*objects, gpus="count") == [], "whole GPUs are no devices"


def test_objects_that_are_there_are_not_added_again():
    node = make_node("n", resources={COUNT: "1", MILLI: "1000"})
    objects = (node, gpu_pod())
    again = [
        each.object for each in with_openb_gpus([Sourced("f", obj) for obj in objects], "milli")
    ]
    kinds = [(obj.kind, obj.name) for obj in again[2:]]
    assert kinds == [
        ("DeviceClass", "gpu.alibabacloud.com"),
        ("ResourceSlice", "n-alibabacloud.com"),
        ("ResourceClaim", "p-gpus"),
    ]
    assert added(*again) == []
    for index, kind in enumerate(kinds, 2):
        without = again[:index] + again[index + 1 :]
        assert [each[1:] for each in added(*without)] == [kind]


def test_a_claim_of_one_share_may_have_any_gpu():
    claim = documents(gpu_pod(count="1", milli="1500"))[-1][1]
    devices = claim["spec"]["devices"]
    assert list(devices) == ["requests"]
    exactly = devices["requests"][0]["exactly"]
    assert (exactly["count"], exactly["capacity"]) == (1, {"requests": {"gpu_milli": "1000"}})


CONTAINERS = [
    {
        "name": "a",
        "image": "i",
        "resources": {
            "requests": {"cpu": "1", COUNT: "9"},
            "limits": {"memory": "1Gi", MILLI: "9"},
            "claims": [{"name": "gpus"}, {"name": "other"}],
        },
    },
    {"name": "b", "image": "i"},
]
CLAIMS = [
    {"name": "gpus", "resourceClaimName": "old"},
    {"name": "other", "resourceClaimName": "other"},
]


@pytest.mark.parametrize(
    ("gpus", "node", "amount", "claims", "used"),
    [
        pytest.param(
            "milli",
            "",
            {MILLI: "1000"},
            [CLAIMS[1], {"name": "gpus", "resourceClaimName": "p-gpus"}],
            [{"name": "other"}, {"name": "gpus"}],
            id="its own claim in place of an earlier one",
        ),
        pytest.param(
            "milli",
            "n",
            {MILLI: "1000"},
            CLAIMS,
            [{"name": "gpus"}, {"name": "other"}],
            id="no claim of a pod with a node",
        ),
        pytest.param(
            "count",
            "",
            {COUNT: "2"},
            CLAIMS,
            [{"name": "gpus"}, {"name": "other"}],
            id="whole GPUs",
        ),
    ],
)
def test_the_first_container_requests_the_gpus_in_place_of_others(
    gpus: OpenbGpus,
    node: str,
    amount: dict[str, str],
    claims: list[dict[str, str]],
    used: list[dict[str, str]],
):
    pod = gpu_pod(spec={"containers": CONTAINERS, "resourceClaims": CLAIMS}, node=node)
    changed = documents(pod, gpus=gpus)[0][1]["spec"]
    first, second = changed["containers"]
    assert first["resources"] == {
        "requests": {"cpu": "1"} | amount,
        "limits": {"memory": "1Gi"} | amount,
        "claims": used,
    }
    assert second["name"] == "b"
    assert "claims" not in second.get("resources", {})
    assert changed["resourceClaims"] == claims
    assert "affinity" not in changed


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    "affinity",
    [
        pytest.param({}, id="none"),
        pytest.param({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}, id="no term"),
        pytest.param(
            {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}}},
            id="a term of fields",
        ),
        pytest.param(
            {"podAntiAffinity": {PREFERRED: []}, "nodeAffinity": {PREFERRED: []}}, id="others stay"
        ),
    ],
)  # fmt: skip
def test_a_node_of_an_accepted_model_is_required_besides_what_was_required(affinity):
    pod = make_pod("p", spec={"affinity": affinity} if affinity else {})
    annotations = {COUNT: "1", MILLI: "500", MODEL: "T4|V100"}
    changed = documents(with_fields(pod, "metadata", annotations=annotations))[0][1]
    found = changed["spec"]["affinity"]
    model = {"key": MODEL, "operator": "In", "values": ["T4", "V100"]}
    given = found["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert [each["matchExpressions"] for each in given] == [[model]]
    before = affinity.get("nodeAffinity", {}).get(REQUIRED, {}).get("nodeSelectorTerms") or [{}]
    assert [each.get("matchFields") for each in given] == [
        each.get("matchFields") for each in before
    ]
    assert found.keys() == affinity.keys() | {"nodeAffinity"}
    assert found["nodeAffinity"].keys() == affinity.get("nodeAffinity", {}).keys() | {REQUIRED}


@pytest.mark.parametrize(("gpus", "left"), [("milli", MILLI), ("count", COUNT)])
def test_a_node_keeps_all_other_amounts(gpus: OpenbGpus, left: str):
    node = make_node("n", cpu=4, resources={COUNT: "2", MILLI: "2000", "example.com/x": "3"})
    status = documents(node, gpus=gpus)[0][1]["status"]
    others = {key: value for key, value in node.raw["status"]["allocatable"].items()
              if key not in (COUNT, MILLI)}  # fmt: skip
    amount = {MILLI: "2000", COUNT: "2"}[left]
    assert status["allocatable"] == others | {left: amount}
    one = make_node("n", resources={MILLI: "2000"})
    assert documents(one, gpus="count")[0][1] == one.raw, "a node of one of both stays as it is"


def test_a_container_without_resources_gets_the_request():
    container = {"name": "c", "image": "i"}
    changed = documents(gpu_pod(spec={"containers": [container]}), gpus="count")[0][1]["spec"]
    amount = {COUNT: "2"}
    assert changed["containers"] == [
        container | {"resources": {"requests": amount, "limits": amount}}
    ]
