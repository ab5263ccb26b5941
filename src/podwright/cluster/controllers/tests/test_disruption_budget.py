"""The status of budgets equals the result of a full recount."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import (
    is_ready,
    label_selector,
)
from podwright.apimachinery.objects.meta import LabelSelector
from podwright.cluster.controllers.kinds import PDB
from podwright.cluster.controllers.policies.disruption_budget import DisruptionController
from podwright.cluster.controllers.tests.staged_cluster import Cluster, a_pod, at, document
from podwright.cluster.store import POD

WEB = {"matchLabels": {"app": "web"}}


def a_budget(name: str = "b", selector: Any = WEB, **spec: Any) -> Any:
    return document(
        "PodDisruptionBudget",
        name,
        api="policy/v1",
        namespace="default",
        spec={"selector": selector, **spec},
    )


def a_set(name: str, replicas: int, kind: str = "ReplicaSet", **metadata: Any) -> Any:
    return document(
        kind,
        name,
        api="apps/v1",
        namespace="default",
        metadata=metadata,
        spec={"replicas": replicas, "selector": WEB},
    )


def owner(obj: Any) -> list[dict[str, Any]]:
    reference = {"apiVersion": obj.api_version, "kind": obj.kind, "name": obj.name, "uid": obj.uid}
    return [reference | {"controller": True}]


def cluster_with(replicas: int, *budgets: Any, pods: int | None = None) -> Cluster:
    """Return a cluster with a deployment, its replica set and its pods."""
    cluster = Cluster((DisruptionController,))
    cluster.add(document("Node", "n1"), a_set("web", replicas, "Deployment"))
    deployment = cluster.get(("apps", "Deployment"), "default/web")
    cluster.add(a_set("web-1", replicas, ownerReferences=owner(deployment)))
    replica_set = cluster.get(("apps", "ReplicaSet"), "default/web-1")
    labels = {"app": "web"}
    for number in range(replicas if pods is None else pods):
        cluster.add(a_pod(f"web-{number}", labels=labels, owners=owner(replica_set)))
    cluster.add(*budgets)
    return cluster


def numbers(cluster: Cluster, name: str = "b") -> tuple[int, ...]:
    status = cluster.status(PDB, f"default/{name}")
    return tuple(
        status[field]
        for field in ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 4}, (5, 4, 5, 1)),
        ({"minAvailable": 7}, (5, 7, 5, 0)),
        ({"minAvailable": "50%"}, (5, 3, 5, 2)),
        ({"maxUnavailable": 1}, (5, 4, 5, 1)),
        ({"maxUnavailable": 9}, (5, 0, 5, 5)),
        ({"maxUnavailable": "30%"}, (5, 3, 5, 2)),
        ({"maxUnavailable": "0%"}, (5, 5, 5, 0)),
    ],
)
def test_counts_and_percentages(spec, expected):
    cluster = cluster_with(5, a_budget(**spec))
    assert numbers(cluster) == expected
    (condition,) = cluster.status(PDB, "default/b")["conditions"]
    assert condition == {
        "type": "DisruptionAllowed",
        "status": "True" if expected[-1] else "False",
        "reason": "SufficientPods" if expected[-1] else "InsufficientPods",
        "message": "",
        "lastTransitionTime": at(0),
        "observedGeneration": 1,
    }


def test_missing_pods_of_a_scale_are_expected():
    assert numbers(cluster_with(4, a_budget(maxUnavailable=1), pods=3)) == (4, 3, 3, 0)


def test_the_status_of_a_budget_follows_its_pods():
    cluster = cluster_with(3, a_budget(maxUnavailable=1))
    cluster.edit(POD, "default/web-0", "status", conditions=[{"type": "Ready", "status": "False"}])
    assert numbers(cluster) == (3, 2, 2, 0)
    cluster.delete(POD, "default/web-1")
    assert numbers(cluster) == (3, 2, 1, 0)
    cluster.edit(POD, "default/web-2", "metadata", labels={"app": "other"})
    assert numbers(cluster) == (3, 2, 0, 0)


def test_a_budget_without_pods_records_an_event():
    cluster = cluster_with(0, a_budget(minAvailable=1))
    assert numbers(cluster) == (0, 1, 0, 0)
    assert cluster.event_notes("NoPods") == ["No matching pods found"]


def test_a_changed_selector_changes_the_counted_pods():
    cluster = cluster_with(3, a_budget(minAvailable=1))
    cluster.edit(PDB, "default/b", "spec", selector={"matchLabels": {"app": "none"}})
    assert numbers(cluster) == (0, 1, 0, 0)
    assert cluster.status(PDB, "default/b")["observedGeneration"] == 2


def test_owners_without_a_scale_allow_no_disruption():
    cluster = Cluster((DisruptionController,))
    job = document("Job", "j", api="batch/v1", namespace="default")
    cluster.add(job)
    owners = owner(cluster.get(("batch", "Job"), "default/j"))
    cluster.add(a_pod("j-1", labels={"app": "web"}, owners=owners), a_budget(maxUnavailable=1))
    status = cluster.status(PDB, "default/b")
    assert status["disruptionsAllowed"] == 0
    assert status["conditions"][0]["reason"] == "SyncFailed"
    assert cluster.event_notes("CalculateExpectedPodCountFailed") == [
        "Failed to calculate the number of expected pods: jobs.batch does not implement the scale"
        " subresource"
    ]


def test_pods_that_no_longer_exist_leave_the_list_of_disrupted_pods():
    cluster = cluster_with(3, a_budget(maxUnavailable=1))
    cluster.edit(PDB, "default/b", "status", disruptedPods={"web-0": at(0), "gone": at(0)})
    assert cluster.status(PDB, "default/b")["disruptedPods"] == {"web-0": at(0)}


def test_an_evicted_pod_counts_as_unhealthy_for_at_most_two_minutes():
    cluster = cluster_with(3, a_budget(maxUnavailable=1))
    cluster.edit(
        PDB,
        "default/b",
        "status",
        disruptionsAllowed=0,
        disruptedPods={"web-0": at(0)},
    )
    assert numbers(cluster) == (3, 2, 2, 0)
    cluster.replace_controllers()
    cluster.run(119)
    assert numbers(cluster) == (3, 2, 2, 0)
    cluster.run(121)
    assert numbers(cluster) == (3, 2, 3, 1)
    assert cluster.event_notes("NotDeleted") == [
        "Pod was expected by PDB default/default to be deleted but it wasn't"
    ]
    assert "disruptedPods" not in cluster.status(PDB, "default/b")


def test_unmanaged_pods_count_for_numbers_but_not_for_percentages():
    cluster = Cluster((DisruptionController,))
    pods = [a_pod(f"p{number}", labels={"app": "web"}) for number in range(2)]
    cluster.add(document("Node", "n1"), *pods)
    cluster.add(a_budget("number", minAvailable=1), a_budget("share", minAvailable="50%"))
    assert numbers(cluster, "number") == (2, 1, 2, 1)
    assert numbers(cluster, "share") == (0, 0, 2, 0)
    assert len(cluster.event_notes("UnmanagedPods")) == 1


LABELS = [{"app": "web"}, {"app": "db"}, {"app": "web", "tier": "a"}]


@effort(50)
@given(data=st.data())
def test_budgets_equal_a_full_recount_after_any_history(data):
    cluster = Cluster((DisruptionController,))
    cluster.add(document("Node", "n1"))
    cluster.invariants.append(lambda _: None)
    made = 0
    for _ in range(data.draw(st.integers(1, 15))):
        pods, budgets = cluster.pods(), cluster.all(PDB)
        what = data.draw(
            st.sampled_from(["pod", "pod", "budget", "label", "ready", "delete", "drop", "restore"])
        )
        if what == "pod":
            made += 1
            cluster.add(a_pod(f"p{made}", labels=data.draw(st.sampled_from(LABELS))))
        elif what == "budget" and len(budgets) < 3:
            made += 1
            selector = {"matchLabels": data.draw(st.sampled_from([*LABELS, {}]))}
            cluster.add(a_budget(f"b{made}", selector, minAvailable=data.draw(st.integers(0, 3))))
        elif what == "label" and pods:
            pod = data.draw(st.sampled_from(pods))
            cluster.edit(POD, pod.key, "metadata", labels=data.draw(st.sampled_from(LABELS)))
        elif what == "ready" and pods:
            pod = data.draw(st.sampled_from(pods))
            ready = {"type": "Ready", "status": data.draw(st.sampled_from(["True", "False"]))}
            cluster.edit(POD, pod.key, "status", conditions=[ready])
        elif what == "delete" and pods:
            cluster.delete(POD, data.draw(st.sampled_from(pods)).key)
        elif what == "drop" and budgets:
            cluster.delete(PDB, data.draw(st.sampled_from(budgets)).key)
        elif what == "restore":
            cluster.replace_controllers()
        check(cluster)


def check(cluster: Cluster) -> None:
    """Count all pods again."""
    for budget in cluster.all(PDB):
        written = budget.raw["spec"]["selector"]["matchLabels"]
        selector = label_selector(LabelSelector(match_labels=written))
        pods = [pod for pod in cluster.pods() if selector.matches(pod.metadata.labels)]
        healthy = sum(1 for pod in pods if is_ready(pod) and not pod.is_terminating)
        desired = budget.raw["spec"]["minAvailable"]
        allowed = max(healthy - desired, 0) if pods else 0
        assert numbers(cluster, budget.name) == (len(pods), desired, healthy, allowed)


def test_the_scale_is_that_of_the_deployment_above_the_replica_set():
    cluster = cluster_with(2, a_budget(minAvailable="50%"))
    cluster.edit(("apps", "Deployment"), "default/web", "spec", replicas=6)
    cluster.edit(PDB, "default/b", "spec", minAvailable="100%")
    assert numbers(cluster) == (6, 6, 2, 0)


def test_a_budget_without_limits_expects_no_pods():
    cluster = cluster_with(3, a_budget())
    assert numbers(cluster) == (0, 0, 3, 0)


def test_a_new_budget_under_an_old_name_covers_its_own_pods():
    cluster = cluster_with(3, a_budget(minAvailable=1))
    assert numbers(cluster) == (3, 1, 3, 2)
    cluster.store.drop(PDB, "default/b")
    cluster.add(a_pod("other-0", labels={"app": "other"}))
    cluster.add(a_budget(selector={"matchLabels": {"app": "other"}}, minAvailable=1))
    assert numbers(cluster) == (1, 1, 1, 0)
    cluster.delete(PDB, "default/b")
    cluster.delete(POD, "default/web-0")
    assert not cluster.has(PDB, "default/b")


def test_an_owner_of_the_same_name_with_another_uid_has_no_say_in_the_scale():
    cluster = cluster_with(3, a_budget(maxUnavailable=1))
    cluster.delete(("apps", "ReplicaSet"), "default/web-1")
    cluster.add(a_set("web-1", 9))
    cluster.edit(POD, "default/web-0", "status", conditions=[{"type": "Ready", "status": "False"}])
    status = cluster.status(PDB, "default/b")
    assert status["disruptionsAllowed"] == 0
    assert [each["reason"] for each in status["conditions"]] == ["SyncFailed"]
    assert cluster.event_notes("CalculateExpectedPodCountFailed") == [
        'Failed to calculate the number of expected pods: found no controllers for pod "web-0"'
    ]


def test_evicted_pods_are_expected_to_go_until_their_own_time():
    cluster = cluster_with(4, a_budget(minAvailable=1))
    disrupted = {"web-0": at(0), "web-1": at(60)}
    cluster.edit(PDB, "default/b", "status", disruptedPods=disrupted)
    assert numbers(cluster) == (4, 1, 2, 1)
    cluster.run(119)
    assert list(cluster.status(PDB, "default/b")["disruptedPods"]) == ["web-0", "web-1"]
    cluster.run(120)
    assert list(cluster.status(PDB, "default/b")["disruptedPods"]) == ["web-1"]
    assert numbers(cluster) == (4, 1, 3, 2)
    cluster.run(180)
    assert "disruptedPods" not in cluster.status(PDB, "default/b")
    assert numbers(cluster) == (4, 1, 4, 3)
    assert len(cluster.event_notes("NotDeleted")) == 2
