"""A namespace is removed after its content."""

from __future__ import annotations

from podwright.controllers.garbage_collector import GarbageCollector
from podwright.controllers.job import JobController
from podwright.controllers.kinds import NAMESPACE
from podwright.controllers.namespace import NamespaceController
from podwright.controllers.tests.staged_cluster import Cluster, a_pod, at, document

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
    cluster.add(a_pod("late", namespace="shop"))
    assert cluster.pods() == []
