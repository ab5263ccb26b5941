"""A namespace goes with all that is in it."""

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


def test_a_namespace_is_completed_as_the_api_server_would():
    namespace = cluster_with().raw(NAMESPACE, "shop")
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "shop"}
    assert namespace["spec"] == {"finalizers": ["kubernetes"]}
    assert namespace["status"] == {"phase": "Active"}


def test_a_namespace_goes_with_all_that_is_in_it_and_nothing_else():
    template = {"spec": {"containers": [{"name": "c"}], "restartPolicy": "Never"}}
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


def test_a_namespace_waits_for_what_somebody_holds_and_says_so():
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


def test_what_comes_to_a_namespace_that_goes_is_deleted_too():
    held = document("ConfigMap", "m", namespace="shop", metadata={"finalizers": ["x/hold"]})
    cluster = cluster_with(held)
    cluster.delete(NAMESPACE, "shop")
    cluster.add(a_pod("late", namespace="shop"))
    assert cluster.pods() == []
