"""The requests of remedies that are made by hand: each field, the order, and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from podwright.apimachinery.objects import KubernetesObject, Pod, Toleration, with_fields
from podwright.apimachinery.schema import decode
from podwright.cluster.store import kind_of
from podwright.scheduler.advice import Remedy, ReplicaCount
from podwright.simulation.recording import RemedyRequests, remedy_changes
from podwright.simulation.recording.explanations.replicas import _has_own_objects
from podwright.testing import make_node, make_pod

SERVER = {
    "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z",
    "generation": 3, "managedFields": [],
}  # fmt: skip


def claim(name: str, phase: str = "Pending", **metadata: Any) -> KubernetesObject:
    """Return an object with what the server writes into each."""
    return decode({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop", **SERVER, **metadata},
        "spec": {"storageClassName": "slow"},
        "status": {"phase": phase},
    })  # fmt: skip


def priority_class(value: int, **metadata: Any) -> KubernetesObject:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": value}
    return decode({**head, "metadata": {"name": "high", **metadata}})


def tolerate(pod: Pod) -> Pod:
    return with_fields(pod, "spec", tolerations=(Toleration(key="gpu", operator="Exists"),))


def requests_of(
    *present: KubernetesObject,
    pod: Pod,
    edit: Callable[[Pod], Pod] | None = None,
    **fields: Any,
) -> RemedyRequests:
    by_key = {(kind_of(obj), obj.key): obj for obj in present}
    changed = pod if edit is None else edit(pod)
    edits = () if edit is None else (edit,)
    remedy = Remedy(
        text="", edits=(), node="n", node_count=1, pod=changed, pod_edits=edits, **fields
    )
    return remedy_changes(remedy, lambda *each: by_key.get(each))


WEB = make_pod("web", namespace="shop")
VICTIM = make_pod("victim", namespace="shop")


def test_a_pod_that_is_gone_has_no_requests():
    assert requests_of(pod=WEB, put=(claim("new"),)) == (None, "pod shop/web does not exist")


def test_objects_are_created_or_changed_then_deleted_and_the_pod_is_last():
    found = requests_of(
        WEB, VICTIM, claim("old"), priority_class(5),
        pod=WEB,
        edit=tolerate,
        put=(claim("new"), claim("old", labels={"a": "b"}), priority_class(6)),
        delete=("shop/victim", "shop/gone"),
        drop=(claim("dropped"),),
    )  # fmt: skip
    assert found.note == ""
    assert found.changes is not None
    made = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "new", "namespace": "shop"}, "spec": {"storageClassName": "slow"},
    }  # fmt: skip
    assert [
        (one.action, one.api_version, one.kind, one.namespace, one.name, one.body, one.effect)
        for one in found.changes
    ] == [
        ("create", "v1", "PersistentVolumeClaim", "shop", "new", made, ""),
        ("patch", "v1", "PersistentVolumeClaim", "shop", "old",
         {"metadata": {"labels": {"a": "b"}}}, ""),
        ("replace", "scheduling.k8s.io/v1", "PriorityClass", "", "high",
         {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
          "metadata": {"name": "high"}, "value": 6},
         "deletes PriorityClass high, and creates it with the change"),
        ("delete", "v1", "Pod", "shop", "victim", None, ""),
        ("delete", "v1", "PersistentVolumeClaim", "shop", "dropped", None, ""),
        ("patch", "v1", "Pod", "shop", "web",
         {"spec": {"tolerations": [{"key": "gpu", "operator": "Exists"}]}}, ""),
    ]  # fmt: skip
    assert [each.command for each in found.changes[1:]] == [
        "kubectl patch persistentvolumeclaim old -n shop "
        """-p '{"metadata":{"labels":{"a":"b"}}}'""",
        "kubectl get priorityclass high -o json | kubectl patch --local -f - "
        """-p '{"value":6}' -o json | kubectl replace --force -f -""",
        "kubectl delete pod victim -n shop",
        "kubectl delete persistentvolumeclaim dropped -n shop",
        "kubectl patch pod web -n shop "
        """-p '{"spec":{"tolerations":[{"key":"gpu","operator":"Exists"}]}}'""",
    ]


def test_what_is_already_so_is_not_requested():
    """What the server writes, and the status, do not differ."""
    other = claim("old", "Bound", uid="v", resourceVersion="8", generation=4)
    found = requests_of(WEB, claim("old"), pod=WEB, put=(other,))
    assert found == ([], "")


def test_a_node_has_no_command_and_is_created_with_its_resources():
    found = requests_of(WEB, pod=WEB, put=(make_node("n", cpu="4"),))
    assert found.changes is not None
    (change,) = found.changes
    assert (change.action, change.kind, change.name, change.command) == ("create", "Node", "n", "")
    assert change.body is not None
    assert change.body["status"]["allocatable"]["cpu"] == "4"


def reference(kind: str, name: str) -> list[dict[str, Any]]:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    owner = {"apiVersion": version, "kind": kind, "name": name, "uid": "o", "controller": True}
    return [owner]


def owned(name: str, kind: str, owner: str) -> Pod:
    document = {**make_pod(name, namespace="shop").raw}
    metadata = {"name": name, "namespace": "shop", "ownerReferences": reference(kind, owner)}
    made = decode({**document, "metadata": metadata})
    assert isinstance(made, Pod)
    return made


def workload(kind: str, labels: dict[str, str], **spec: Any) -> KubernetesObject:
    selector = {} if kind == "Job" else {"selector": {"matchLabels": {"app": "w"}}}
    containers = [{"name": "a", "image": "x"}]
    return decode({
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "w", "namespace": "shop"},
        "spec": {
            **selector,
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            **spec,
        },
    })  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "field", "command"),
    [
        ("ReplicaSet", "replicas", "kubectl scale replicaset w -n shop --replicas=0"),
        ("Job", "parallelism", """kubectl patch job w -n shop -p '{"spec":{"parallelism":0}}'"""),
    ],
)
def test_a_workload_that_shrinks_removes_its_pods_itself(kind, field, command):
    victim = owned("victim", kind, "w")
    shrunk = workload(kind, {"app": "w"}, **{field: 2})
    found = requests_of(
        WEB, victim, shrunk,
        pod=WEB, delete=("shop/victim",), scales=(ReplicaCount(kind, "shop/w", 0),),
    )  # fmt: skip
    assert found.changes is not None, found.note
    (change,) = found.changes
    assert (change.action, change.kind, change.name) == ("patch", kind, "w")
    assert (change.body, change.command) == ({"spec": {field: 0}}, command)


@pytest.mark.parametrize(
    "present",
    [
        pytest.param((), id="neither is there"),
        pytest.param((owned("victim", "ReplicaSet", "w"),), id="the workload is not"),
        pytest.param((workload("ReplicaSet", {"app": "w"}),), id="the pod is not"),
        pytest.param(
            (owned("victim", "ReplicaSet", "v"), workload("ReplicaSet", {"app": "w"})),
            id="the pod is of another one",
        ),
    ],
)
def test_a_workload_that_is_not_known_is_not_scaled(present):
    found = requests_of(
        WEB, *present,
        pod=WEB, delete=("shop/victim",), scales=(ReplicaCount("ReplicaSet", "shop/w", 0),),
    )  # fmt: skip
    assert found == (None, "change the replicas of ReplicaSet shop/w, which is not known here")


def test_an_edit_that_the_template_cannot_have_is_not_requested():
    def edit(pod: Pod) -> Pod:
        """Change what admission added to the pod."""
        if not pod.spec.node_selector:
            raise LookupError("zone")
        return with_fields(pod, "spec", node_selector={})

    pod = with_fields(owned("p", "ReplicaSet", "w"), "spec", node_selector={"zone": "a"})
    found = requests_of(pod, workload("ReplicaSet", {"app": "w"}), pod=pod, edit=edit)
    assert found == (None, "the pod template of ReplicaSet shop/w does not have what would change")


def test_objects_of_custom_kinds_are_patched_without_merge_keys():
    head = {"apiVersion": "example.com/v1", "kind": "Widget"}
    before, after = (
        decode({**head, "metadata": {"name": "w", "namespace": "shop"}, "spec": {"sizes": sizes}})
        for sizes in ([1], [1, 2])
    )
    found = requests_of(WEB, before, pod=WEB, put=(after,))
    assert found.changes is not None
    (change,) = found.changes
    assert (change.action, change.body) == ("patch", {"spec": {"sizes": [1, 2]}})
    assert change.command == (
        """kubectl patch widget w -n shop --type=merge -p '{"spec":{"sizes":[1,2]}}'"""
    )


def test_a_replica_with_objects_of_its_own_is_not_tried():
    """A claim or an ephemeral volume was made for one pod, and the others have none."""
    claims = [{"name": "gpu", "resourceClaimName": "gpu"}]
    ephemeral = [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    plain = [{"name": "tmp", "emptyDir": {}}]
    for spec, expected in (
        ({"resourceClaims": claims}, True), ({"volumes": [*plain, *ephemeral]}, True),
        ({"volumes": plain}, False), ({}, False),
    ):  # fmt: skip
        assert _has_own_objects(make_pod("p", spec=spec)) is expected


def test_what_is_made_by_hand_has_its_note_and_no_requests():
    found = requests_of(WEB, pod=WEB, edit=tolerate, by_hand="node n reports: Ready is False")
    assert found == RemedyRequests(None, "node n reports: Ready is False")
