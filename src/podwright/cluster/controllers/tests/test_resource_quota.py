"""The status of a quota follows what its namespace uses."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api import QuotaEvaluators
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.controllers.core.resource_quota import ResourceQuotaController
from podwright.cluster.controllers.kinds import RESOURCE_QUOTA
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import Cluster, a_pod, document
from podwright.cluster.store import POD, with_metadata

HARD = {"pods": "9", "requests.cpu": "9", "count/configmaps": "9"}
REQUESTS = {"resources": {"requests": {"cpu": "500m"}}}


def cluster_with(*objects: Any) -> Cluster:
    cluster = Cluster((), schedules=False)
    maker = lambda lister: ResourceQuotaController(lister, QuotaEvaluators(cluster.store))  # noqa: E731
    cluster.makers = (maker,)
    cluster.controllers = type(cluster.controllers)(cluster.makers)
    cluster.add(*objects)
    return cluster


def a_quota(name: str = "q", **hard: str) -> Any:
    return document("ResourceQuota", name, namespace="default", spec={"hard": hard or HARD})


def worker(name: str, **options: Any) -> Any:
    return a_pod(name, containers=[{"name": "main", "image": "app"} | REQUESTS], **options)


def used(cluster: Cluster, name: str = "q") -> Any:
    return cluster.status(RESOURCE_QUOTA, f"default/{name}").get("used")


def test_a_new_quota_counts_what_there_is_in_its_namespace():
    others = [worker("x", namespace="other"), document("ConfigMap", "c", namespace="default")]
    cluster = cluster_with(worker("a"), worker("b"), *others, a_quota())
    assert used(cluster) == {"pods": "2", "requests.cpu": "1", "count/configmaps": "1"}
    assert cluster.status(RESOURCE_QUOTA, "default/q")["hard"] == HARD


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda c: c.delete(POD, "default/b", grace_seconds=0), id="removed"),
        pytest.param(
            lambda c: c.edit(POD, "default/b", "status", phase="Succeeded"), id="terminated"
        ),
    ],
)
def test_what_a_pod_used_is_free_when_it_ends(end):
    cluster = cluster_with(a_quota(), a_quota("other", **{"count/configmaps": "3"}))
    cluster.add(worker("a"), worker("b"))
    cluster.edit(RESOURCE_QUOTA, "default/q", "spec", hard={"pods": "9", "requests.cpu": "8"})
    assert used(cluster) == {"pods": "2", "requests.cpu": "1"}
    written = len(cluster.writes)
    end(cluster)
    assert used(cluster) == {"pods": "1", "requests.cpu": "500m"}
    assert len(cluster.writes) == written + 1, "the other quota counts no pods"


def test_a_quota_that_counts_quotas_counts_those_that_come_and_go():
    cluster = cluster_with(a_quota("q", resourcequotas="5"))
    assert used(cluster) == {"resourcequotas": "1"}
    cluster.add(a_quota("other"))
    assert used(cluster) == {"resourcequotas": "2"}
    cluster.delete(RESOURCE_QUOTA, "default/other")
    assert used(cluster) == {"resourcequotas": "1"}
    cluster.delete(RESOURCE_QUOTA, "default/q")
    cluster.add(worker("a"))
    cluster.delete(POD, "default/a", grace_seconds=0)
    assert not cluster.all(RESOURCE_QUOTA)


def test_a_quota_of_many_objects_is_counted_once_a_second():
    cluster = cluster_with(a_quota(pods="999"), *[worker(f"p{number}") for number in range(200)])
    for number in (0, 1):
        cluster.delete(POD, f"default/p{number}", grace_seconds=0)
    before = int(used(cluster)["pods"])
    cluster.run(0.999)
    assert int(used(cluster)["pods"]) == before
    cluster.run(1)
    assert used(cluster)["pods"] == "198"


def resized(request: str, actual: str) -> Any:
    """Return a pod that requests an amount and, as its status says, has another one."""
    resources = {"requests": {"cpu": request}}
    status = {"phase": "Running", "containerStatuses": [
        {"name": "main", "resources": {"requests": {"cpu": actual}}}]}  # fmt: skip
    spec = {"containers": [{"name": "main", "image": "app", "resources": resources}]}
    return document("Pod", "a", namespace="default", spec=spec, status=status)


def test_a_pod_that_shrinks_frees_what_it_used_when_its_containers_have_shrunk():
    cluster = cluster_with(resized("1", "2"), a_quota())
    assert used(cluster)["requests.cpu"] == "2"
    cluster.edit(POD, "default/a", "status", **resized("1", "1").raw["status"])
    assert used(cluster)["requests.cpu"] == "1"


def test_a_change_of_a_status_without_resources_counts_nothing():
    cluster = cluster_with(resized("1", "1"), a_quota())
    cluster.edit(RESOURCE_QUOTA, "default/q", "status", used={"pods": "5"})
    cluster.edit(POD, "default/a", "status", message="other")
    assert used(cluster) == {"pods": "5"}


def a_bench(*objects: Any) -> SingleSync:
    def make(lister: Any) -> ResourceQuotaController:
        return ResourceQuotaController(lister, QuotaEvaluators(WritableStore()))

    return SingleSync(make, *objects)


def with_status(status: Any, **hard: str) -> Any:
    return document(
        "ResourceQuota", "q", namespace="default", spec={"hard": hard or HARD}, status=status
    )


def test_which_changes_concern_a_quota():
    """Upstream: resource_quota_monitor.go; pkg/quota/v1/install/update_filter.go"""
    pod, service = worker("a"), document("Service", "s", namespace="default", spec={})
    bench = a_bench()
    assert bench.put(pod) == []
    assert bench.put(a_quota()) == ["default/q"]
    assert bench.put(a_quota("services", services="3")) == ["default/services", "default/q"]
    assert bench.put(worker("b")) == [], "admission has counted it"
    assert bench.put(with_metadata(pod, generation=2)) == []
    assert bench.remove(pod) == ["default/q"]
    bench.put(worker("c", namespace="other"))
    assert bench.remove(worker("c", namespace="other")) == []
    assert bench.put(service) == []
    node_port = document("Service", "s", namespace="default", spec={"type": "NodePort"})
    assert bench.put(node_port) == ["default/services"]
    config = document("ConfigMap", "c", namespace="default")
    bench.put(config)
    changed = document("ConfigMap", "c", namespace="default", data={"a": "b"})
    assert bench.put(changed) == []
    assert bench.remove(config) == ["default/q"]
    assert bench.put(with_status({"hard": HARD})) == []
    assert bench.put(with_status({"hard": {"pods": "1"}})) == ["default/q"]
    metadata = {"name": "q", "namespace": "default"}
    custom = {"apiVersion": "example.com/v1", "kind": "ResourceQuota", "metadata": metadata}
    assert bench.put(decode(custom)) == [], "a custom resource of the same name"
    assert bench.put(a_quota(pods="1")) == ["default/q"]
    assert bench.remove(a_quota()) == ["default/services"]
    assert bench.remove(a_quota("services")) == []
    assert bench.remove(worker("b")) == []


@pytest.mark.parametrize(
    ("status", "is_written"),
    [
        pytest.param({"hard": {"pods": "9"}, "used": {"pods": "1"}}, False, id="complete"),
        pytest.param(
            {"hard": {"pods": "9"}, "used": {"pods": "1000m"}}, False, id="in thousandths"
        ),
        pytest.param({"hard": {"pods": "8"}, "used": {"pods": "1"}}, True, id="another limit"),
        pytest.param({"hard": {"pods": "9"}, "used": {"pods": "2"}}, True, id="another usage"),
        pytest.param({"hard": {"pods": "9"}, "used": {"pods": "1", "x": "1"}}, True, id="too much"),
        pytest.param({"hard": {"pods": "9"}}, True, id="no usage"),
        pytest.param({}, True, id="none"),
    ],
)
def test_a_status_is_written_if_it_is_another_one(status, is_written):
    """Upstream: resource_quota_controller.go, syncResourceQuota"""
    bench = a_bench(worker("a"), with_status(status, pods="9"))
    assert bool(bench.sync("default/q")) == is_written


def test_a_quota_for_which_nothing_counts_is_written_once():
    hard = {"count/events": "9"}
    assert len(a_bench(with_status({"hard": hard}, **hard)).sync("default/q")) == 1
    assert a_bench(with_status({"hard": hard, "used": {}}, **hard)).sync("default/q") == []


@pytest.mark.parametrize(("count", "second"), [(199, []), (200, ["sync default/q at 1"])])
def test_a_quota_of_more_than_200_names_and_objects_waits_a_second(count, second):
    done = {"hard": {"pods": "999"}, "used": {"pods": str(count)}}
    pods = [worker(f"p{number}") for number in range(count)]
    bench = a_bench(*pods, with_status(done, pods="999"))
    assert bench.sync("default/q") == []
    assert bench.sync("default/q", 0.5) == second
    assert bench.sync("default/q", 1) == []
    bench.put(with_status(done, pods="998"))
    assert len(bench.sync("default/q", 1.5)) == 1, "another limit does not wait"


def test_events_are_not_counted():
    event = document("Event", "e", namespace="default")
    cluster = cluster_with(
        event, a_quota(**{"count/events": "9", "count/events.events.k8s.io": "9"})
    )
    assert not used(cluster)
    assert cluster.status(RESOURCE_QUOTA, "default/q")["hard"]
