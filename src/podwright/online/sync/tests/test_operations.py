"""The requests of operations."""

from __future__ import annotations

import msgspec
import pytest

from podwright.online.sync.operations import (
    BindPod,
    Create,
    Delete,
    Settle,
    is_separate,
    settling_writes,
    write_of,
)
from podwright.online.sync.settlement import Difference, Settlement
from podwright.online.sync.source_kinds import source_kinds

KINDS = {kind.resource: kind for kind in source_kinds(has_workloads=True)}
PODS, SETS = KINDS["pods"], KINDS["replicasets"]
NODES, VOLUMES = KINDS["nodes"], KINDS["persistentvolumes"]
POD, NODE = {"metadata": {"namespace": "a", "name": "p"}}, {"metadata": {"name": "n"}}
BINDING = {
    "metadata": {"name": "p"}, "target": {"apiVersion": "v1", "kind": "Node", "name": "n"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "method", "path", "body", "separate"),
    [
        pytest.param(
            Create(PODS, "a/p", POD), "POST", "/api/v1/namespaces/a/pods", POD, False, id="a pod"
        ),
        pytest.param(
            Create(SETS, "a/p", POD), "POST", "/apis/apps/v1/namespaces/a/replicasets", POD, False,
            id="an object of a group",
        ),
        # Admission taints a new node, and the taint is taken back.
        pytest.param(
            Create(NODES, "n", NODE), "POST", "/api/v1/nodes", NODE, True, id="without a namespace"
        ),
        # It refers to a claim, of which the destination has another one.
        pytest.param(
            Create(VOLUMES, "n", NODE), "POST", "/api/v1/persistentvolumes", NODE, True,
            id="a volume",
        ),
        pytest.param(
            BindPod(PODS, "a/p", "n"), "POST", "/api/v1/namespaces/a/pods/p/binding", BINDING,
            False, id="a binding",
        ),
        # A pod without a kubelet would wait for its end.
        pytest.param(
            Delete(PODS, "a/p"), "DELETE", "/api/v1/namespaces/a/pods/p",
            {"gracePeriodSeconds": 0}, False, id="a pod ends now",
        ),
        pytest.param(
            Delete(NODES, "n"), "DELETE", "/api/v1/nodes/n", None, False, id="another object"
        ),
    ],
)  # fmt: skip
def test_an_operation_by_itself_is_one_request(operation, method, path, body, separate) -> None:
    write = write_of(operation)
    assert (write.method, write.path) == (method, path)
    assert msgspec.json.decode(write.body) == body
    assert is_separate(operation) is separate


@pytest.mark.parametrize(
    ("changed", "writes"),
    [
        pytest.param([], [], id="it is as it should be"),
        pytest.param(["spec.replicas"], [("", "1")], id="the object"),
        pytest.param(["status.replicas"], [("/status", None)], id="its status"),
        # The status is that of the source whole, of whichever version the object is by then.
        pytest.param(
            ["metadata.labels", "status.replicas"], [("", "1"), ("/status", None)], id="both"
        ),
    ],
)
def test_an_object_is_settled_by_requests_for_what_differs(changed, writes) -> None:
    aim = {"metadata": {"namespace": "a", "name": "p", "resourceVersion": "1"}}
    settle = Settle(SETS, "a/p", aim)
    assert is_separate(settle)
    differences = [Difference(path, 1, 2) for path in changed]
    found = settling_writes(settle, Settlement(aim, differences), aim)
    path = "/apis/apps/v1/namespaces/a/replicasets/p"
    assert [(each.method, each.path) for each in found] == [
        ("PUT", path + subresource) for subresource, _ in writes
    ]
    sent = [msgspec.json.decode(each.body)["metadata"].get("resourceVersion") for each in found]
    assert sent == [version for _, version in writes]
