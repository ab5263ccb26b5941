"""What a destination that refuses a write is left with."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online.client.cluster import ClusterAddress, RejectedRequest
from podwright.online.sync.operations import BindPod, Create, Operation
from podwright.online.sync.target import Target
from podwright.online.sync.tests.source_changes import KINDS

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"


class Destination:
    """The objects of a destination by path, and the requests that change them."""

    def __init__(self, refused: dict[str, int], **objects: dict[str, Any]) -> None:
        self.refused = refused
        self.objects = {f"/{path}": obj for path, obj in objects.items()}
        self.requests: list[str] = []
        self.bodies: list[Any] = []

    async def get(self, path: str) -> bytes:
        if path not in self.objects:
            raise RejectedRequest("absent", status=404)
        return json.dumps(self.objects[path]).encode()

    async def write(self, verb: str, path: str, body: bytes, **_: Any) -> bytes:
        self.requests.append(f"{verb} {path.rpartition('/')[2]}")
        self.bodies.append(json.loads(body or b"null"))
        status = self.refused.pop(verb, 0)
        if status:
            raise RejectedRequest("refused", status=status)
        if verb == "DELETE":
            self.objects.pop(path)
        return body


def executed(operation: Operation, refused: dict[str, int], **objects: Any) -> tuple[Target, Any]:
    """Execute an operation on a destination that refuses the first request with a verb."""
    target = Target(ClusterAddress(server="http://127.0.0.1:1"), "d")
    destination: Any = Destination(refused)
    destination.objects.update(objects)
    target._connection = destination
    asyncio.run(target.execute(operation))
    return target, destination


def runtime_class(uid: str | None, handler: str = "h") -> dict[str, Any]:
    annotations = {} if uid is None else {SOURCE_UID: uid}
    return {"metadata": {"name": "a", "uid": "own", "annotations": annotations}, "handler": handler}


@pytest.mark.parametrize(
    ("present", "is_settled"),
    [
        pytest.param("u1", True, id="a copy, of which the reply was lost"),
        pytest.param("u0", False, id="a copy of another object"),
        pytest.param(None, False, id="an object of the destination"),
    ],
)
def test_an_object_that_is_there_is_settled_if_it_is_the_copy(present, is_settled):
    operation = Create(KINDS["runtimeclasses"], "a", runtime_class("u1", "new"))
    objects = {f"{CLASSES}/a": runtime_class(present)}
    target, destination = executed(operation, {"POST": 409}, **objects)
    assert (("PUT a" in destination.requests), not target.rejected) == (is_settled, is_settled)
    assert "DELETE a" not in destination.requests


@pytest.mark.parametrize(("node", "is_done"), [("n1", True), ("n2", False), ("", False)])
def test_a_binding_that_is_refused_is_done_if_the_pod_has_its_node(node, is_done):
    pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"nodeName": node}}
    operation = BindPod(KINDS["pods"], "default/p", "n1")
    objects = {"/api/v1/namespaces/default/pods/p": pod}
    target, _ = executed(operation, {"POST": 409}, **objects)
    assert (target.done["bound"], len(target.rejected)) == ((1, 0) if is_done else (0, 1))


@pytest.mark.parametrize(
    ("resource", "path", "is_replaced"),
    [("runtimeclasses", CLASSES, True), ("nodes", "/api/v1/nodes", False)],
)
def test_an_object_on_which_others_depend_is_not_replaced(resource, path, is_replaced):
    obj = runtime_class("u1", "new")
    operation = Create(KINDS[resource], "a", obj).settling()
    target, destination = executed(operation, {"PUT": 422}, **{f"{path}/a": runtime_class("u1")})
    assert ("DELETE a" in destination.requests) is is_replaced
    assert bool(target.rejected) is not is_replaced


def test_an_object_that_has_changed_meanwhile_is_read_again():
    operation = Create(KINDS["runtimeclasses"], "a", runtime_class("u1", "new")).settling(
        runtime_class("u1")
    )
    objects = {f"{CLASSES}/a": runtime_class("u1")}
    target, destination = executed(operation, {"PUT": 409}, **objects)
    assert destination.requests == ["PUT a", "PUT a"]
    assert not target.rejected


@pytest.mark.parametrize("is_there", [True, False])
def test_a_volume_is_bound_to_the_claim_of_the_destination(is_there):
    reference = {"namespace": "a", "name": "c", "uid": "at the source", "resourceVersion": "7"}
    volume: dict[str, Any] = {"metadata": {"name": "v"}, "spec": {"claimRef": reference}}
    claim = {"metadata": {"name": "c", "namespace": "a", "uid": "here"}}
    path = "/api/v1/namespaces/a/persistentvolumeclaims/c"
    operation = Create(KINDS["persistentvolumes"], "v", volume)
    _, destination = executed(operation, {}, **({path: claim} if is_there else {}))
    (body,) = destination.bodies
    expected = {"namespace": "a", "name": "c"} | ({"uid": "here"} if is_there else {})
    assert body["spec"]["claimRef"] == expected
    assert volume["spec"]["claimRef"] == reference


@pytest.mark.parametrize(("status", "is_tried_again"), [(409, True), (403, False)])
def test_an_object_that_was_deleted_before_is_made_when_its_name_is_free(status, is_tried_again):
    operation = Create(KINDS["runtimeclasses"], "a", runtime_class("u1"))
    target, destination = executed(operation, {"POST": status})
    assert destination.requests == ["POST runtimeclasses"] * (1 + is_tried_again)
    assert target.done["created"] == is_tried_again
    assert bool(target.rejected) is not is_tried_again
