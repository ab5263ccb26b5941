"""What a destination that refuses a write is left with."""

from __future__ import annotations

import asyncio
import importlib
import json
import pkgutil
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online import sync
from podwright.online.client import BoundPods, SyncPolicies
from podwright.online.client.cluster import ClusterAddress, RejectedRequest, UnreachableCluster
from podwright.online.sync.operations import (
    AllocateClaim,
    AllocateExtended,
    BindPod,
    Create,
    Delete,
    Operation,
    Settle,
)
from podwright.online.sync.source_kinds import SourceKind
from podwright.online.sync.target import ReplacedTarget, SavedState, Target, seen_pods
from podwright.online.sync.tests.source_changes import KINDS

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
GROUPS = ("scheduling.k8s.io/v1alpha2", "scheduling.x-k8s.io/v1alpha1")


class Destination:
    """The objects of a destination by path, and the requests that change them."""

    def __init__(self, refused: dict[str, int], **objects: dict[str, Any]) -> None:
        self.refused = refused
        self.objects = {f"/{path}": obj for path, obj in objects.items()}
        self.requests: list[str] = []
        self.paths: list[str] = []
        self.bodies: list[Any] = []
        self.media: list[str] = []
        self.gets_until_gone: dict[str, int] = {}
        self.access = ClusterAddress(server="http://127.0.0.1:1")

    async def get(self, path: str) -> bytes:
        if path in self.gets_until_gone:
            self.gets_until_gone[path] -= 1
            if not self.gets_until_gone[path]:
                self.objects.pop(path)
        if path not in self.objects:
            raise RejectedRequest("absent", status=404)
        return json.dumps(self.objects[path]).encode()

    async def write(
        self, verb: str, path: str, body: bytes, content_type: str = "application/json"
    ) -> bytes:
        self.requests.append(f"{verb} {path.rpartition('/')[2]}")
        self.paths.append(path)
        self.bodies.append(json.loads(body or b"null"))
        self.media.append(content_type)
        status = self.refused.pop(verb, 0)
        if status:
            raise RejectedRequest("refused", status=status)
        if verb == "DELETE":
            if path not in self.objects:
                raise RejectedRequest("absent", status=404)
            self.objects.pop(path)
        return body


def target_of(refused: dict[str, int], **objects: Any) -> tuple[Target, Any]:
    """Return a target whose destination refuses the first request with a verb."""
    target = Target(ClusterAddress(server="http://127.0.0.1:1"), "d")
    destination: Any = Destination(refused)
    destination.objects.update(objects)
    target._connection = destination
    return target, destination


def executed(operation: Operation, refused: dict[str, int], **objects: Any) -> tuple[Target, Any]:
    """Execute an operation on a destination that refuses the first request with a verb."""
    target, destination = target_of(refused, **objects)
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
    assert target.done["created"] == is_settled


def test_a_namespace_that_every_cluster_has_is_settled():
    aim = {"metadata": {"name": "default", "labels": {"a": "b"}, "annotations": {SOURCE_UID: "u1"}}}
    own = {"metadata": {"name": "default", "uid": "own"}}
    operation = Create(KINDS["namespaces"], "default", aim)
    target, destination = executed(operation, {"POST": 409}, **{"/api/v1/namespaces/default": own})
    assert destination.requests == ["POST namespaces", "PUT default"]
    assert destination.bodies[1]["metadata"]["labels"] == {"a": "b"}
    assert (target.rejected, dict(target.done)) == ({}, {"created": 0, "updated": 1})


@pytest.mark.parametrize(
    ("here", "at_source", "is_bound"),
    [
        pytest.param("", "n1", True, id="its binding was rejected, and a change superseded it"),
        pytest.param("n2", "n1", False, id="it was placed here"),
        pytest.param("", "", False, id="it waits at the source"),
    ],
)
def test_a_copy_that_should_have_a_node_and_waits_is_bound(here, at_source, is_bound):
    copy, source = pod(here), pod(at_source)
    for each in (copy, source):
        each["metadata"]["annotations"] = {SOURCE_UID: "u1"}
    policies = SyncPolicies(bound=BoundPods.source)
    operation = Create(KINDS["pods"], "default/p", source, policies, at_source)
    target, destination = executed(operation, {"POST": 409}, **{POD: copy})
    assert destination.requests == ["POST pods"] + ["POST binding"] * is_bound
    assert (target.done["bound"], target.rejected) == (is_bound, {})
    assert not is_bound or destination.bodies[-1]["target"]["name"] == "n1"


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
    assert dict(target.done) == {"updated": 1}


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


POD = "/api/v1/namespaces/default/pods/p"
STATE = "/api/v1/namespaces/kube-system/configmaps"
CLAIM = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c"


def pod(node: str = "", cpu: str = "1", **fields: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
    spec = {"containers": containers, **({"nodeName": node} if node else {})}
    metadata = {"name": "p", "namespace": "default", "uid": "own", "annotations": {}}
    return {"metadata": metadata, "spec": spec, **fields}


def test_the_state_of_a_sync_is_read_back_from_its_destination():
    target, destination = target_of({"PUT": 404})
    target._identity = "d1"
    asyncio.run(target.save(SavedState("s1", "2030-01-01T00:00:05Z", ("u1", "u2"))))
    # The first save creates it.
    assert destination.paths == [f"{STATE}/podwright-sync", STATE]
    saved = destination.bodies[-1]
    assert saved == {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "podwright-sync", "namespace": "kube-system"},
        "data": {
            "source": "s1", "destination": "d1",
            "syncedUntil": "2030-01-01T00:00:05Z", "syncedLast": "u1 u2",
        },
    }  # fmt: skip
    destination.objects[f"{STATE}/podwright-sync"] = saved
    found = asyncio.run(target.state())
    assert (found.source, found.synced_until) == ("s1", "2030-01-01T00:00:05Z")
    assert list(found.synced_last) == ["u1", "u2"]
    seen = seen_pods(found, "s1")
    assert seen is not None
    assert (seen.until, list(seen.recent)) == ("2030-01-01T00:00:05Z", ["u1", "u2"])
    assert seen_pods(found, "another source") is None
    # What was saved in a cluster that this one has replaced says nothing about this one.
    target._identity = "d2"
    assert asyncio.run(target.state()) == SavedState()


def test_a_state_that_cannot_be_saved_is_an_error():
    target, destination = target_of({"PUT": 403})
    with pytest.raises(RejectedRequest):
        asyncio.run(target.save(SavedState("s1")))
    assert destination.paths == [f"{STATE}/podwright-sync"]
    assert asyncio.run(target.state()) == SavedState()


@pytest.mark.parametrize(
    ("resource", "key", "path", "body"),
    [
        ("pods", "default/p", POD, {"gracePeriodSeconds": 0}),
        ("runtimeclasses", "a", f"{CLASSES}/a", None),
    ],
)
def test_an_object_is_deleted_once_and_pods_at_once(resource, key, path, body):
    operation = Delete(KINDS[resource], key)
    target, destination = executed(operation, {}, **{path: pod()})
    asyncio.run(target.execute(operation))
    assert destination.paths == [path, path]
    assert destination.bodies == [body, body]
    assert (target.done["deleted"], target.done["absent"]) == (1, 1)
    assert not target.rejected


def test_a_new_node_gets_back_what_admission_has_changed():
    node = {"metadata": {"name": "n"}, "spec": {}, "status": {"capacity": {"cpu": "4"}}}
    target, destination = target_of({})
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}

    async def write(verb: str, path: str, body: bytes, **options: Any) -> bytes:
        reply = await Destination.write(destination, verb, path, body, **options)
        return json.dumps(json.loads(reply) | {"spec": {"taints": [taint]}, "status": {}}).encode()

    destination.write = write
    asyncio.run(target.execute(Create(KINDS["nodes"], "n", node)))
    assert destination.requests == ["POST nodes", "PUT n", "PUT status"]
    assert destination.bodies[1]["spec"] == {}
    assert destination.bodies[2]["status"] == node["status"]
    assert dict(target.done) == {"created": 1, "updated": 1, "statuses": 1}


@pytest.mark.parametrize(
    ("here", "node", "status", "node_is_there", "is_replaced"),
    [
        pytest.param("", "", 422, True, True, id="a pod without a node, by the same rule"),
        pytest.param("", "", 403, True, False, id="a pod without a node that may not be changed"),
        pytest.param("n1", "", 403, False, True, id="it waits at the source, its node is gone"),
        pytest.param("n1", "", 403, True, False, id="its node is there"),
        pytest.param("n1", "n1", 403, False, False, id="it has its node at the source"),
        pytest.param("n1", "", 422, False, False, id="a value that is not valid"),
    ],
)
def test_which_pods_are_replaced(here, node, status, node_is_there, is_replaced):
    policies = SyncPolicies(follows_resources=True)
    desired = pod(node, cpu="2")
    desired["metadata"] = {"name": "p", "namespace": "default", "annotations": {}}
    operation = Create(KINDS["pods"], "default/p", desired, policies, node).settling()
    objects = {POD: pod(here)} | ({"/api/v1/nodes/n1": {}} if node_is_there else {})
    target, destination = executed(operation, {"PATCH": status}, **objects)
    assert destination.requests[0] == "PATCH resize"
    assert destination.media[0] == "application/strategic-merge-patch+json"
    assert bool(target.rejected) is not is_replaced
    if is_replaced:
        assert destination.requests[1:] == ["DELETE p", "POST pods"]
        # Another pod of its name stays, and this one does not wait for its containers.
        assert destination.bodies[1] == {"preconditions": {"uid": "own"}, "gracePeriodSeconds": 0}
        assert "nodeName" not in destination.bodies[2]["spec"], "it is scheduled here"
        assert destination.bodies[2]["spec"]["containers"] == desired["spec"]["containers"]
        assert (target.done["deleted"], target.done["created"]) == (1, 1)


def test_another_object_is_replaced_as_a_whole():
    operation = Create(KINDS["runtimeclasses"], "a", runtime_class("u1", "new")).settling()
    _, destination = executed(operation, {"PUT": 422}, **{f"{CLASSES}/a": runtime_class("u1")})
    assert destination.requests == ["PUT a", "DELETE a", "POST runtimeclasses"]
    assert destination.bodies[1] == {"preconditions": {"uid": "own"}}
    assert destination.bodies[2]["handler"] == "new"


@pytest.mark.parametrize("resource", ["pods", "runtimeclasses"])
def test_what_the_destination_has_deleted_is_made_again_but_for_pods(resource):
    kind, key = KINDS[resource], {"pods": "default/p"}.get(resource, "a")
    obj = pod() if resource == "pods" else runtime_class("u1")
    target, destination = executed(Create(kind, key, obj).settling(), {})
    expected = [] if resource == "pods" else ["POST runtimeclasses"]
    assert destination.requests == expected
    assert (target.done["absent"], target.done["created"]) == ((0, 1) if expected else (1, 0))


def test_an_object_that_always_changes_is_rejected_after_five_attempts():
    target, destination = target_of({}, **{f"{CLASSES}/a": runtime_class("u1")})

    async def write(verb: str, path: str, _: bytes, **__: Any) -> bytes:
        destination.requests.append(f"{verb} {path}")
        raise RejectedRequest("changed", status=409, reason="Conflict")

    destination.write = write
    operation = Create(KINDS["runtimeclasses"], "a", runtime_class("u1", "new")).settling()
    asyncio.run(target.execute(operation))
    assert len(destination.requests) == 5
    assert target.errors == {("RuntimeClass", "Conflict"): 1}
    # The same rejection of a later attempt is not another error.
    target.last_error = ""
    asyncio.run(target.retry())
    assert target.errors == {("RuntimeClass", "Conflict"): 1}
    assert target.last_error == ""
    assert len(target.rejected["runtimeclasses", "a"]) == 1
    # A change of the object is another attempt, and its rejection counts.
    assert target.supersede("runtimeclasses", "a")
    assert not target.supersede("runtimeclasses", "a")
    asyncio.run(target.execute(operation))
    assert target.errors == {("RuntimeClass", "Conflict"): 2}
    assert "changed" in target.last_error


def test_the_first_rejection_of_a_kind_for_a_reason_is_reported():
    lines: list[str] = []
    target, destination = target_of({})
    target._on_rejected = lines.append
    groups = {
        name: SourceKind(name, "PodGroup", "podgroups", is_namespaced=True, is_required=False)
        for name in GROUPS
    }

    async def write(_: str, path: str, __: bytes, **___: Any) -> bytes:
        raise RejectedRequest("no", status=404 if "podgroups" in path else 403)

    destination.write = write
    in_tree, coscheduling = groups.values()
    obj = {"metadata": {"name": "a", "namespace": "team"}}
    for kind, name in ((in_tree, "a"), (in_tree, "b"), (KINDS["pods"], "a"), (KINDS["pods"], "b")):
        asyncio.run(target.execute(Create(kind, f"team/{name}", obj)))
    assert lines == [
        "d: podgroups team/a: no; a destination with groups is started with "
        "--feature-gates GenericWorkload=true,GangScheduling=true",
        "d: pods team/a: no",
    ]
    assert target.errors == {("PodGroup", "404"): 2, ("Pod", "403"): 2}
    # A definition makes the other groups, whichever gates are on.
    asyncio.run(target.execute(Create(coscheduling, "team/c", obj)))
    assert target.last_error == "no"


def test_an_error_without_a_reason_is_counted_by_its_status():
    target, _ = executed(BindPod(KINDS["pods"], "default/p", "n1"), {"POST": 418})
    assert target.errors == {("Pod", "418"): 1}


@pytest.mark.parametrize(
    ("gets", "is_created"),
    [pytest.param(3, True, id="it goes soon"), pytest.param(99, False, id="a finalizer holds it")],
)
def test_a_name_is_waited_for_shortly(gets, is_created, monkeypatch):
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    going = runtime_class("u0")
    going["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    target, destination = target_of({"POST": 409}, **{f"{CLASSES}/a": going})
    destination.gets_until_gone[f"{CLASSES}/a"] = gets
    asyncio.run(target.execute(Create(KINDS["runtimeclasses"], "a", runtime_class("u1"))))
    assert (target.done["created"], bool(target.rejected)) == (is_created, not is_created)
    # Twice as long each time: 1.3 s in all.
    assert waits == [0.02 * 2**n for n in range(gets - 1 if is_created else 6)]


def test_a_rejection_that_is_passing_is_not_counted(monkeypatch):
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    for status in (429, 500, 502, 503, 504):
        target, destination = executed(BindPod(KINDS["pods"], "default/p", "n1"), {"POST": status})
        assert destination.requests == ["POST binding", "POST binding"]
        assert (target.done["bound"], target.errors, target.rejected) == (1, {}, {})
    assert len(waits) == 5
    assert all(0.1 < each < 5 for each in waits)
    target, destination = target_of({})
    write, lost = destination.write, [UnreachableCluster("the connection was cut")]

    async def unanswered(*arguments: Any, **options: Any) -> bytes:
        if lost:
            raise lost.pop()
        found: bytes = await write(*arguments, **options)
        return found

    destination.write = unanswered
    asyncio.run(target.execute(BindPod(KINDS["pods"], "default/p", "n1")))
    assert (target.done["bound"], target.last_error) == (1, "the connection was cut")


def test_a_node_that_keeps_its_status_is_no_claim():
    path = "/api/v1/nodes/n"
    obj = {"metadata": {"name": "n", "annotations": {SOURCE_UID: "u"}}, "spec": {}}
    here = {**obj, "status": {"capacity": {"cpu": "4"}}}
    aim = {**obj, "status": {"capacity": {"cpu": "8"}}}
    operation = Settle(KINDS["nodes"], "n", aim, SyncPolicies(freezes_node_status=True))
    target, destination = executed(operation, {}, **{path: here})
    assert (destination.requests, target.done["claims"]) == ([], 0)


@pytest.mark.parametrize(
    ("status", "takes_several"), [(403, False), (404, False), (405, False), (409, True)]
)
def test_a_server_that_has_no_endpoint_for_several_writes_is_known(status, takes_several):
    target, destination = target_of({"POST": status})
    operations = [Create(KINDS["runtimeclasses"], n, runtime_class("u1")) for n in ("a", "b")]
    asyncio.run(target.execute_in_order(operations))
    assert destination.requests == ["POST writes", "POST runtimeclasses", "POST runtimeclasses"]
    assert target.done["created"] == 2
    assert target.takes_several is takes_several
    assert target.executes_together(operations) is takes_several


def test_only_what_needs_no_replies_is_executed_together():
    target, _ = target_of({})
    create = Create(KINDS["runtimeclasses"], "a", runtime_class("u1"))
    binding = BindPod(KINDS["pods"], "default/p", "n1")
    together: list[Operation] = [create, binding, Delete(KINDS["pods"], "default/p")]
    assert target.executes_together(together)
    apart: list[Operation] = [
        create.settling(),
        Create(KINDS["nodes"], "a", {"metadata": {"name": "a"}}),
        Create(KINDS["persistentvolumes"], "a", {"metadata": {"name": "a"}}),
    ]
    for each in apart:
        assert not target.executes_together([create, each])


def allocation(device: str) -> dict[str, Any]:
    return {"devices": {"results": [{"device": device}]}}


def device_claim(device: str = "", **metadata: Any) -> dict[str, Any]:
    status = {"allocation": allocation(device)} if device else {}
    return {"metadata": {"name": "c", "namespace": "default", **metadata}, "status": status}


@pytest.mark.parametrize(
    ("here", "writes", "done"),
    [
        pytest.param("", ["PUT c", "PUT status"], {"updated": 1, "statuses": 1}, id="none yet"),
        pytest.param("gpu-0", [], {"claims": 0}, id="the same devices"),
        pytest.param("gpu-1", [], {"claims": 1}, id="others"),
    ],
)
def test_a_claim_that_has_devices_keeps_them(here, writes, done):
    entry = {"name": "gpu", "resourceClaimName": "c"}
    user = pod("n1")
    user["spec"]["resourceClaims"] = [entry]
    claim = device_claim(here, resourceVersion="7", finalizers=["example.com/f"])
    operation = AllocateClaim(
        KINDS["resourceclaims"], "default/c", device_claim("gpu-0"), "p", "n1", "gpu"
    )
    target, destination = executed(operation, {}, **{POD: user, CLAIM: claim})
    assert destination.requests == writes
    assert dict(target.done) == done
    if writes:
        body = destination.bodies[0]
        assert body == destination.bodies[1]
        assert body["status"]["allocation"] == allocation("gpu-0")
        assert "resourceVersion" not in body["metadata"]
        protection = "resource.kubernetes.io/delete-protection"
        assert body["metadata"]["finalizers"] == ["example.com/f", protection]


@pytest.mark.parametrize(
    ("user", "done"),
    [
        pytest.param(None, {"absent": 1}, id="the pod is gone"),
        pytest.param(pod("n2"), {}, id="it has another node"),
    ],
)
def test_devices_are_those_of_the_node_of_their_pod(user, done):
    if user:
        user["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "c"}]
    operation = AllocateClaim(
        KINDS["resourceclaims"], "default/c", device_claim("gpu-0"), "p", "n1", "gpu"
    )
    objects = {CLAIM: device_claim()} | ({POD: user} if user else {})
    target, destination = executed(operation, {}, **objects)
    assert (destination.requests, dict(target.done)) == ([], done)
    # Nothing waits any longer.
    assert target._waiting == {}
    asyncio.run(target.pod_changed("default/p", is_gone=False))
    assert dict(target.done) == done


def test_a_pod_that_goes_while_its_devices_are_allocated_leaves_nothing_that_waits():
    user = pod("n1")
    user["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "c"}]
    target, destination = target_of({}, **{POD: user, CLAIM: device_claim()})
    write = destination.write

    async def going(*arguments: Any, **options: Any) -> bytes:
        await target.pod_changed("default/p", is_gone=True)
        found: bytes = await write(*arguments, **options)
        return found

    destination.write = going
    claim = device_claim("gpu-0")
    operation = AllocateClaim(KINDS["resourceclaims"], "default/c", claim, "p", "n1", "gpu")
    asyncio.run(target.execute(operation))
    assert destination.requests == ["PUT c", "PUT status"]
    assert target._waiting == {}


def test_a_claim_that_is_not_made_yet_waits_while_another_of_its_pod_gets_its_devices():
    user = pod("n1", status={"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "c"}]})
    user["spec"]["resourceClaims"] = [
        {"name": name, "resourceClaimTemplateName": "t"} for name in "ab"
    ]
    target, destination = target_of({}, **{POD: user, CLAIM: device_claim()})
    kind, claim = KINDS["resourceclaims"], device_claim("gpu-0")
    for entry in "ba":
        asyncio.run(target.execute(AllocateClaim(kind, "default/c", claim, "p", "n1", entry)))
    assert destination.requests == ["PUT c", "PUT status"]
    user["status"]["resourceClaimStatuses"].append({"name": "b", "resourceClaimName": "d"})
    destination.objects[f"{CLAIM[:-1]}d"] = device_claim()
    asyncio.run(target.pod_changed("default/p", is_gone=False))
    assert destination.requests[2:] == ["PUT d", "PUT status"]
    assert target._waiting == {}


EXTENDED = {"resourceClaimName": "c", "requestMappings": []}


@pytest.mark.parametrize(
    ("user", "is_there", "writes"),
    [
        pytest.param(pod("n1"), False, ["POST resourceclaims", "PUT status", "PATCH status"],
                     id="the claim follows the pod"),
        pytest.param(pod("n1"), True, ["PUT status", "PATCH status"], id="the claim is there"),
        pytest.param(pod("n2"), False, [], id="another node"),
        pytest.param(pod("n1", status={"extendedResourceClaimStatus": EXTENDED}), True, [],
                     id="the pod has its claim"),
        pytest.param(None, False, [], id="the pod is gone"),
    ],
)  # fmt: skip
def test_the_claim_of_extended_resources_is_made_once(user, is_there, writes):
    operation = AllocateExtended(
        KINDS["resourceclaims"], "default/c", device_claim("gpu-0"), "p", "n1", EXTENDED
    )
    objects = ({POD: user} if user else {}) | ({CLAIM: device_claim()} if is_there else {})
    target, destination = executed(operation, {}, **objects)
    assert destination.requests == writes
    assert target.done["absent"] == (user is None)
    if writes:
        made = len(writes) - 2
        assert (target.done["created"], target.done["statuses"]) == (made, 2)
        claim, status = destination.bodies[-2:]
        assert destination.paths[-2:] == [f"{CLAIM}/status", f"{POD}/status"]
        assert claim["status"]["allocation"] == allocation("gpu-0")
        assert claim["metadata"]["ownerReferences"][0]["uid"] == "own"
        assert status == {"status": {"extendedResourceClaimStatus": EXTENDED}}
        assert destination.media[-1] == "application/merge-patch+json"


def test_what_stays_different_is_counted_by_what_it_is():
    labels = {"labels": {"a": "b"}}
    changed = pod("n1")
    changed["metadata"] = {"name": "p", "namespace": "default", "annotations": {}, **labels}
    table = [
        # Changes of a pod that both sides have placed are ignored; its node alone is not a change.
        (Create(KINDS["pods"], "default/p", changed, SyncPolicies(), "n1"), pod("n1"), "ignored"),
        (Create(KINDS["pods"], "default/p", pod("n1"), SyncPolicies(), "n1"), pod("n2"), ""),
        (Create(KINDS["resourceclaims"], "default/c", device_claim("gpu-0", annotations={})),
         device_claim("gpu-1"), "claims"),
        (Create(KINDS["resourceclaims"], "default/c", device_claim("gpu-0", annotations={})),
         device_claim("gpu-0"), ""),
    ]  # fmt: skip
    for operation, present, counted in table:
        path = POD if operation.kind.resource == "pods" else CLAIM
        target, destination = executed(operation.settling(), {}, **{path: present})
        assert {k: n for k, n in target.done.items() if n} == ({counted: 1} if counted else {})
        assert destination.requests == []


@pytest.mark.parametrize(
    ("status", "takes_reports", "has_error"),
    [
        pytest.param(404, False, False, id="a server that is not podwright's"),
        pytest.param(403, False, True, id="it forbids them"),
        pytest.param(503, True, True, id="it cannot take one now"),
    ],
)
def test_a_destination_that_takes_no_reports_gets_no_more(status, takes_reports, has_error):
    target, destination = target_of({"PUT": status})
    report: Any = {}
    for _ in range(2):
        assert asyncio.run(target.report(report)) is takes_reports
    assert len(destination.requests) == (2 if takes_reports else 1)
    assert bool(target.last_error) is has_error


def test_a_destination_that_does_not_answer_gets_the_next_report():
    target, destination = target_of({})

    async def cut(*_: Any, **__: Any) -> bytes:
        raise UnreachableCluster("cut")

    write, destination.write = destination.write, cut
    report: Any = {"check": False}
    assert asyncio.run(target.report(report))
    destination.write = write
    assert asyncio.run(target.report(report))
    assert destination.requests == ["PUT sync"]


def test_a_volume_without_a_claim_is_created_as_it_is_and_settled_with_that_of_the_destination():
    kind, path = KINDS["persistentvolumes"], "/api/v1/persistentvolumes"
    volume: dict[str, Any] = {"metadata": {"name": "v", "annotations": {}}, "spec": {"a": "b"}}
    for each in (volume, {"metadata": {"name": "v"}}, {"metadata": {"name": "v"}, "spec": None}):
        _, destination = executed(Create(kind, "v", each), {})
        assert destination.bodies == [each]
    claim = {"metadata": {"name": "c", "namespace": "a", "uid": "here"}}
    reference = {"namespace": "a", "name": "c", "uid": "at the source"}
    aim = {**volume, "spec": {"a": "c", "claimRef": reference}}
    own = {**volume, "spec": {"a": "b", "claimRef": reference | {"uid": "here"}}}
    claims = "/api/v1/namespaces/a/persistentvolumeclaims"
    _, destination = executed(
        Create(kind, "v", aim).settling(), {}, **{f"{path}/v": own, f"{claims}/c": claim}
    )
    (body,) = destination.bodies
    assert body["spec"] == {"a": "c", "claimRef": reference | {"uid": "here"}}
    # Only a volume's reference is to a claim of this cluster.
    drivers = {"metadata": volume["metadata"], "spec": {"claimRef": reference}}
    operation = Create(KINDS["csidrivers"], "v", drivers).settling()
    place = "/apis/storage.k8s.io/v1/csidrivers/v"
    _, destination = executed(operation, {}, **{place: volume, f"{claims}/c": claim})
    (body,) = destination.bodies
    assert body["spec"]["claimRef"] == reference


def test_an_object_that_may_not_be_read_is_not_taken_for_absent():
    target, destination = target_of({})

    async def get(_: str) -> bytes:
        raise RejectedRequest("no", status=403, reason="Forbidden")

    destination.get = get
    asyncio.run(
        target.execute(Create(KINDS["runtimeclasses"], "a", runtime_class("u1")).settling())
    )
    assert target.errors == {("RuntimeClass", "Forbidden"): 1}
    assert destination.requests == []


@pytest.mark.parametrize("is_due", [True, False])
def test_a_comparison_is_requested_by_the_reply_to_a_report(is_due):
    target, _ = target_of({})
    report: Any = {"check": is_due}
    assert asyncio.run(target.report(report))
    assert target.check_due.is_set() is is_due


def test_what_the_parts_of_a_sync_give_each_other_cannot_be_changed():
    modules = [
        importlib.import_module(f"{sync.__name__}.{each.name}")
        for each in pkgutil.iter_modules(sync.__path__)
        if not each.ispkg
    ]
    values = {
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, msgspec.Struct)
        if each.__module__ == module.__name__
    }
    assert len(values) > 20
    assert [each for each in values if not each.__struct_config__.frozen] == []


def test_five_thousand_requests_start_at_once_and_in_each_second():
    target = Target(ClusterAddress(server="http://127.0.0.1:1"), "d")
    waits = [target._connection._limit.reserve(0) for _ in range(5_002)]
    assert waits == [0] * 5_000 + [200_000, 400_000]


VERSION = {"gitVersion": "v1.36.0"}
SYSTEM = "/api/v1/namespaces/kube-system"


def system(uid: str) -> dict[str, Any]:
    return {"metadata": {"uid": uid, "creationTimestamp": "2030-01-01T00:00:00Z"}}


def test_a_destination_is_the_cluster_that_it_was_when_it_was_checked():
    target, destination = target_of({})
    asyncio.run(target.check_same())  # nothing to compare with, so nothing is read
    destination.objects |= {"/version": VERSION, SYSTEM: system("one")}
    asyncio.run(target.check())
    asyncio.run(target.check_same())
    destination.objects[SYSTEM] = system("two")
    with pytest.raises(ReplacedTarget, match=r"^d is another cluster than before$"):
        asyncio.run(target.check_same())
    asyncio.run(target.check())
    asyncio.run(target.check_same())


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ({SYSTEM: system("one")}, "it has no /version"),
        ({"/version": {"version": 1}, SYSTEM: system("one")}, "it has no /version"),
        ({"/version": VERSION, SYSTEM: {"metadata": {}}}, "kube-system has no uid"),
    ],
)
def test_a_destination_that_is_no_api_server_is_refused(objects, text):
    target, _ = target_of({}, **objects)

    with pytest.raises(UnreachableCluster, match=text):
        asyncio.run(target.check())
