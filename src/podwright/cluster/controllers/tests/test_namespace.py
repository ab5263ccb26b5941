"""A namespace is removed after its content."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api import DeleteObject
from podwright.cluster.controllers.batch.job import JobController
from podwright.cluster.controllers.core.garbage_collector import GarbageCollector
from podwright.cluster.controllers.core.namespace import (
    NamespaceController,
    _resource,
    with_namespace_defaults,
)
from podwright.cluster.controllers.tests.staged_cluster import Cluster, a_pod, at, document
from podwright.cluster.store import EVENT, NAMESPACE

POD = ("", "Pod")


def cluster_with(*objects: object) -> Cluster:
    cluster = Cluster((JobController, GarbageCollector, NamespaceController))
    cluster.add(document("Node", "n1"), document("Namespace", "shop"), *objects)  # type: ignore[arg-type]
    return cluster


def test_a_namespace_gets_the_defaults_of_the_api_server():
    namespace = cluster_with().raw(NAMESPACE, "shop")
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "shop"}
    assert namespace["spec"] == {"finalizers": ["kubernetes"]}
    assert namespace["status"] == {"phase": "Active"}


def test_a_namespace_is_removed_with_its_content_only():
    template = {"spec": {"containers": [{"name": "c", "image": "app"}], "restartPolicy": "Never"}}
    job = document("Job", "j", api="batch/v1", namespace="shop", spec={"template": template})
    cluster = cluster_with(
        a_pod("a", namespace="shop"),
        a_pod("b", namespace="other"),
        job,
        document("ConfigMap", "m", namespace="shop"),
    )
    assert len(cluster.pods()) == 3
    cluster.delete(NAMESPACE, "shop")
    cluster.run(5)
    assert not cluster.has(NAMESPACE, "shop")
    assert [pod.key for pod in cluster.pods()] == ["other/b"]
    assert cluster.all(("batch", "Job")) == [] == cluster.all(("", "ConfigMap"))
    assert "shop" not in str(cluster.controllers.state())


def test_the_events_of_a_namespace_go_with_it_and_controllers_hold_only_their_names():
    events = [
        document("Event", f"e{number}", namespace=namespace, reason="Pulled", message="m" * 99)
        for number in range(3)
        for namespace in ("shop", "other")
    ]
    cluster = cluster_with(*events)
    lister = cluster.controllers.lister
    assert lister.count_in_namespace(EVENT, "shop") == 3
    held = lister.get(EVENT, "shop/e1")
    assert held is not None
    assert (held.key, held.raw) == ("shop/e1", {})
    cluster.delete(NAMESPACE, "shop")
    cluster.run(5)
    assert not cluster.has(NAMESPACE, "shop")
    assert [event.key for event in cluster.all(EVENT)] == [f"other/e{n}" for n in range(3)]
    assert list(lister.all(EVENT)) == [f"other/e{n}" for n in range(3)]


def test_the_pods_of_a_namespace_go_first():
    # No stage ends the pods.
    cluster = Cluster((NamespaceController,), stages=())
    cluster.add(
        document("Node", "n1"),
        document("Namespace", "shop"),
        a_pod("a", namespace="shop"),
        document("ConfigMap", "m", namespace="shop"),
    )
    cluster.delete(NAMESPACE, "shop")
    cluster.run(40)
    assert cluster.has(("", "ConfigMap"), "shop/m")
    assert cluster.get(POD, "shop/a").metadata.deletion_timestamp
    remaining = [each["message"] for each in cluster.status(NAMESPACE, "shop")["conditions"]]
    assert "All content successfully removed" in remaining  # as upstream, before the pods are gone
    cluster.delete(POD, "shop/a", grace_seconds=0)
    assert not cluster.has(NAMESPACE, "shop")


def test_a_namespace_waits_for_finalizers_and_reports_them():
    held = document(
        "ConfigMap", "m", namespace="shop", metadata={"finalizers": ["example.com/hold"]}
    )
    cluster = cluster_with(held)
    cluster.run(5)
    cluster.delete(NAMESPACE, "shop")
    status = cluster.status(NAMESPACE, "shop")
    assert status["phase"] == "Terminating"
    said = {each["type"]: (each["status"], each["message"]) for each in status["conditions"]}
    assert said["NamespaceContentRemaining"] == (
        "True",
        "Some resources are remaining: configmaps. has 1 resource instances",
    )
    assert said["NamespaceFinalizersRemaining"] == (
        "True",
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource"
        " instances",
    )
    assert status["conditions"][0]["lastTransitionTime"] == at(5)
    cluster.replace_controllers()
    cluster.edit(("", "ConfigMap"), "shop/m", "metadata", finalizers=None)
    assert not cluster.has(NAMESPACE, "shop")


def test_objects_added_to_a_terminating_namespace_are_deleted():
    held = document("ConfigMap", "m", namespace="shop", metadata={"finalizers": ["x/hold"]})
    cluster = cluster_with(held)
    cluster.delete(NAMESPACE, "shop")
    cluster.store.create(a_pod("late", namespace="shop"), cluster.heap.now_ns)
    cluster.settle()
    assert cluster.pods() == []


def test_much_content_is_deleted_in_several_syncs():
    maps = [document("ConfigMap", f"m-{i:03}", namespace="shop") for i in range(250)]
    cluster = cluster_with(*maps)
    cluster.run(5)
    counts = []
    sync = cluster.controllers.handle

    def counted(event: Any, now_ns: int) -> Any:
        actions = sync(event, now_ns)
        counts.append(sum(isinstance(each, DeleteObject) for each in actions))
        return actions

    cluster.controllers.handle = counted  # type: ignore[method-assign]
    cluster.delete(NAMESPACE, "shop")
    cluster.run(15)
    assert not cluster.has(NAMESPACE, "shop")
    assert [count for count in counts if count] == [100, 100, 50]


def test_content_that_is_removed_late_is_not_counted_at_each_change():
    held = {"finalizers": ["example.com/hold"]}
    maps = [document("ConfigMap", f"m-{i:03}", namespace="shop", metadata=held) for i in range(150)]
    cluster = cluster_with(*maps)
    cluster.run(5)
    cluster.delete(NAMESPACE, "shop")
    cluster.run(6)
    reported = cluster.status(NAMESPACE, "shop")
    for number in range(20):
        key = f"shop/m-{number:03}"
        metadata = cluster.raw(("", "ConfigMap"), key)["metadata"]
        cluster.edit(("", "ConfigMap"), key, "metadata", **{**metadata, "finalizers": None})
    assert cluster.status(NAMESPACE, "shop") == reported
    cluster.run(12)
    message = str(cluster.status(NAMESPACE, "shop")["conditions"])
    assert "configmaps. has 130 resource instances" in message


@pytest.mark.parametrize(
    ("group", "kind", "resource"),
    [
        ("", "Pod", "pods."),
        ("", "Endpoints", "endpoints."),
        ("batch", "Job", "jobs.batch"),
        ("networking.k8s.io", "Ingress", "ingresses.networking.k8s.io"),
        ("networking.k8s.io", "NetworkPolicy", "networkpolicies.networking.k8s.io"),
        ("storage.k8s.io", "CSIStorageCapacity", "csistoragecapacities.storage.k8s.io"),
        ("example.com", "Box", "boxes.example.com"),
        ("example.com", "Switch", "switches.example.com"),
        ("gateway.networking.k8s.io", "Gateway", "gateways.gateway.networking.k8s.io"),
    ],
)
def test_what_remains_is_named_by_its_resource(group, kind, resource):
    assert _resource(group, kind) == resource


def test_the_conditions_of_a_terminating_namespace_are_those_of_upstream():
    held = [
        document("Secret", "s", namespace="shop", metadata={"finalizers": ["b/x", "a/x"]}),
        document("ConfigMap", "m", namespace="shop", metadata={"finalizers": ["b/x"]}),
        document("ConfigMap", "n", namespace="shop", metadata={"finalizers": ["b/x"]}),
    ]
    cluster = cluster_with(*held)
    cluster.delete(NAMESPACE, "shop")
    conditions = cluster.status(NAMESPACE, "shop")["conditions"]
    fields = ("type", "status", "reason", "message")
    assert [tuple(each[field] for field in fields) for each in conditions] == [
        (
            "NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure", "False", "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining", "True", "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 2 resource instances, secrets. has 1"
            " resource instances",
        ),
        (
            "NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: a/x in 1 resource instances,"
            " b/x in 3 resource instances",
        ),
    ]  # fmt: skip
    for kind, name in (("Secret", "s"), ("ConfigMap", "m"), ("ConfigMap", "n")):
        cluster.edit(("", kind), f"shop/{name}", "metadata", finalizers=None)
    assert not cluster.has(NAMESPACE, "shop")


def test_a_namespace_keeps_the_finalizers_of_others_and_waits_for_them():
    cluster = cluster_with()
    cluster.edit(NAMESPACE, "shop", "spec", finalizers=["example.com/mine", "kubernetes"])
    cluster.delete(NAMESPACE, "shop")
    assert cluster.raw(NAMESPACE, "shop")["spec"]["finalizers"] == ["example.com/mine"]
    said = {
        each["type"]: each["reason"] for each in cluster.status(NAMESPACE, "shop")["conditions"]
    }
    assert said["NamespaceContentRemaining"] == "ContentRemoved"
    assert said["NamespaceFinalizersRemaining"] == "ContentHasNoFinalizers"


@pytest.mark.parametrize(
    "lost",
    [
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"labels": {"kubernetes.io/metadata.name": "other", "a": "b"}}},
        {"spec": {"finalizers": []}},
        {"status": {"phase": ""}},
    ],
    ids=["no label", "another label", "no finalizer", "no phase"],
)
def test_a_namespace_that_lost_a_default_gets_it_again(lost):
    complete = {
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "shop", "labels": {"kubernetes.io/metadata.name": "shop", "a": "b"}},
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
    }  # fmt: skip
    assert with_namespace_defaults(same := decode(complete)) is same
    lost = {"metadata": {"name": "shop", **lost["metadata"]}} if "metadata" in lost else lost
    assert with_namespace_defaults(decode(complete | lost)).raw == complete
