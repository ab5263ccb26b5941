"""Which results are outdated by which changes."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Object
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster, Reads

FLAGS = [flag for flag in Reads if flag is not Reads.CLUSTER]


def made(kind: str, group: str = "v1", spec: dict[str, Any] | None = None, **more: Any) -> Object:
    metadata = {"name": "o", "namespace": "default", "uid": "o"} | more.pop("metadata", {})
    head = {"apiVersion": group, "kind": kind, "metadata": metadata}
    return decode(head | {"spec": spec or {}} | more)


def pod(**spec: Any) -> Object:
    return made("Pod", spec={"containers": [{"name": "c"}], "nodeName": "n"} | spec)


def node(name: str = "n", *images: str, **labels: str) -> Object:
    found = [{"names": [image], "sizeBytes": 1} for image in ("a:1", *images)]
    metadata = {"name": name, "labels": {"zone": "z"} | labels}
    return made("Node", metadata=metadata, status={"images": found})


TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
AVOIDING = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}
DEVICES = "resource.k8s.io/v1"
SLICE = {
    "driver": "d.example.com",
    "nodeName": "n",
    "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
    "devices": [{"name": "a"}],
}


@pytest.mark.parametrize(
    ("obj", "outdated"),
    [
        pytest.param(node(a="b"), {Reads.NODE}, id="labels"),
        pytest.param(node("n", "b:1"), {Reads.NODE, Reads.IMAGES}, id="images"),
        pytest.param(node("m"), {Reads.NODE, Reads.IMAGES}, id="number of nodes"),
        pytest.param(pod(), {Reads.PODS}, id="pod on a node"),
        pytest.param(pod(affinity=AVOIDING), {Reads.PODS, Reads.TERMS}, id="pod with a term"),
        pytest.param(
            made("PersistentVolumeClaim", metadata={"name": "c"}), {Reads.STORAGE}, id="claim"
        ),
        pytest.param(
            made("Service", spec={"selector": {"app": "a"}}), {Reads.WORKLOADS}, id="Service"
        ),
        pytest.param(
            made("Namespace", metadata={"name": "m", "labels": {"a": "b"}}),
            {Reads.NAMESPACES},
            id="namespace",
        ),
        pytest.param(
            made("DeviceClass", DEVICES),
            # It backs the resource that is called after it, at least.
            {Reads.DEVICES, Reads.DEVICE_CLASSES},
            id="device class",
        ),
        pytest.param(made("ResourceSlice", DEVICES, SLICE), {Reads.DEVICES}, id="devices"),
        pytest.param(made("ConfigMap"), set(), id="what scheduling does not read"),
    ],
)
def test_a_result_is_outdated_by_changes_of_what_it_reads(
    obj: Object, outdated: set[Reads]
) -> None:
    cluster = Cluster()
    cluster.put(node())
    before = {flag: cluster.version_of(flag) for flag in FLAGS}
    together = cluster.version_of(sum(FLAGS))
    cluster.put(obj)
    assert {flag for flag in FLAGS if cluster.version_of(flag) != before[flag]} == outdated
    assert (cluster.version_of(sum(FLAGS)) != together) is bool(outdated)


def test_what_a_result_reads_are_separate_bits() -> None:
    assert [int(flag) for flag in Reads] == [1 << bit for bit in range(len(Reads))]
