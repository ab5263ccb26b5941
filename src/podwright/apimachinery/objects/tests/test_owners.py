"""The workloads of pods: the Deployment behind a ReplicaSet, other controllers, and none."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import Pod, decode_as, workload_of


@pytest.mark.parametrize(
    ("kind", "name", "template_hash", "expected"),
    [
        pytest.param("ReplicaSet", "web-5b9d", "5b9d", ("Deployment", "shop/web"), id="hash"),
        pytest.param("ReplicaSet", "web-5b9d", "", ("ReplicaSet", "shop/web-5b9d"), id="no hash"),
        pytest.param(
            "ReplicaSet", "web", "5b9d", ("ReplicaSet", "shop/web"), id="the hash of another set"
        ),
        pytest.param("Job", "web-5b9d", "5b9d", ("Job", "shop/web-5b9d"), id="a job"),
    ],
)
def test_the_workload_of_a_pod(
    kind: str, name: str, template_hash: str, expected: tuple[str, str]
) -> None:
    owner = {"apiVersion": "v1", "kind": kind, "name": name, "uid": "u", "controller": True}
    metadata = {
        "name": "pod", "namespace": "shop", "ownerReferences": [owner],
        "labels": {"pod-template-hash": template_hash},
    }  # fmt: skip
    pod = decode_as({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}, Pod)
    assert workload_of(pod) == expected


def test_a_pod_without_a_controller_has_no_workload() -> None:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}
    metadata = {"name": "pod", "namespace": "shop", "ownerReferences": [owner]}
    assert (
        workload_of(decode_as({"apiVersion": "v1", "kind": "Pod", "metadata": metadata}, Pod))
        is None
    )
