"""Autoscalers and quotas bound the pods of an expansion; kinds without effect are named."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, decode, with_node_name
from podwright.cluster.controllers import Expansion, expand

POD_SPEC = {
    "containers": [{"name": "main", "image": "web:1", "resources": {"requests": {"cpu": "500m"}}}]
}


def workload(kind: str = "Deployment", **spec: Any) -> Any:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}
    selector = {"matchLabels": {"app": "web"}}
    return decode({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": selector, "template": template} | spec,
    })  # fmt: skip


def autoscaler(target: str = "web", kind: str = "Deployment", **spec: Any) -> Any:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": target}
    return decode({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "scaler", "namespace": "shop"},
        "spec": {"scaleTargetRef": reference} | spec,
    })  # fmt: skip


def quota(name: str = "team", **spec: Any) -> Any:
    return decode({
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": spec,
    })  # fmt: skip


def given_pod(name: str, **metadata: Any) -> Any:
    document = {"metadata": {"name": name, "namespace": "shop"} | metadata, "spec": POD_SPEC}
    return decode({"apiVersion": "v1", "kind": "Pod"} | document)


def count(expansion: Expansion) -> int:
    return sum(isinstance(obj, Pod) for obj in expansion.objects)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
@pytest.mark.parametrize(
    ("replicas", "bounds", "least", "most"),
    [
        pytest.param(None, {"minReplicas": 3, "maxReplicas": 5}, 3, 5, id="the default of 1"),
        pytest.param(4, {"minReplicas": 3, "maxReplicas": 5}, 4, 5, id="between the bounds"),
        pytest.param(9, {"minReplicas": 3, "maxReplicas": 5}, 5, 5, id="too many"),
        pytest.param(2, {"maxReplicas": 5}, 2, 5, id="no minimum"),
        pytest.param(0, {"minReplicas": 3, "maxReplicas": 5}, 0, 0, id="0 is not scaled"),
    ],
)
def test_an_autoscaler_bounds_the_replicas_of_its_target(
    kind: str, replicas: int | None, bounds: Any, least: int, most: int
) -> None:
    spec = {} if replicas is None else {"replicas": replicas}
    objects = [workload(kind, **spec), autoscaler(kind=kind, **bounds)]
    assert count(expand(objects)) == least
    assert count(expand(objects, hpa="max")) == most


def test_a_change_and_a_missing_target_are_noted() -> None:
    objects = [workload(), autoscaler(minReplicas=3, maxReplicas=5)]
    assert expand(objects).notes == [
        "Deployment shop/web has 3 replicas, minReplicas of HorizontalPodAutoscaler scaler, instead"
        " of 1"
    ]
    assert expand([workload(), autoscaler("api", maxReplicas=5)]).notes == [
        "HorizontalPodAutoscaler shop/scaler has no effect: no Deployment shop/api"
    ]


def test_pods_above_a_quota_are_not_created() -> None:
    expansion = expand([
        workload(replicas=5),
        quota(hard={"requests.cpu": "1500m", "pods": "10", "configmaps": "1"}),
        quota("batch", hard={"pods": "0"}, scopes=["BestEffort"]),
    ])  # fmt: skip
    assert count(expansion) == 3
    (found,) = expansion.workloads
    assert (found.new_count, len(found.pods), len(expansion.rejected)) == (3, 3, 2)
    assert expansion.notes == [
        "Deployment shop/web: 2 of 5 new pods not created: exceeded quota: team, requested:"
        " requests.cpu=500m, used: requests.cpu=1500m, limited: requests.cpu=1500m"
    ]


def test_pods_that_exist_count_and_stay() -> None:
    running = given_pod("old", uid="1", resourceVersion="7")
    new, late = given_pod("a"), given_pod("b")
    objects = [running, new, late, quota(hard={"pods": "2"})]
    expansion = expand(objects)
    kept = [obj.name for obj in expansion.with_objects(objects) if isinstance(obj, Pod)]
    assert kept == ["old", "a"]
    assert list(expansion.rejected) == ["shop/b"]
    assert expansion.notes[0].startswith("Pod shop/b: not created: exceeded quota: team, requested")


def test_a_placed_pod_exists_whoever_has_written_it() -> None:
    placed = with_node_name(given_pod("placed"), "n")
    assert expand([placed, quota(hard={"pods": "0"})]).rejected == {}


def test_given_pods_of_a_workload_are_rejected_as_given() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}
    given = given_pod("a", ownerReferences=[owner | {"uid": "u"}])
    expansion = expand([workload("ReplicaSet", replicas=2), given, quota(hard={"pods": "0"})])
    (found,) = expansion.workloads
    assert (found.new_count, found.pods) == (0, ())
    text = "not created: exceeded quota: team, requested: pods=1, used: pods=0, limited: pods=0"
    assert expansion.notes == [
        f"ReplicaSet shop/web: 1 of 1 new pods {text}", f"Pod shop/a: {text}"
    ]  # fmt: skip


def test_an_object_with_the_name_of_a_rejected_pod_is_created() -> None:
    (made, *_) = expand([workload()]).objects
    expansion = expand([workload(), given_pod(made.name), quota(hard={"pods": "0"})])
    assert made.key in expansion.rejected
    assert [(obj.kind, obj.key) for obj in expansion.objects] == [("ReplicaSet", made.key)]


def test_notes_about_claims_come_behind_those_about_autoscalers() -> None:
    pods = [
        decode(given_pod(name).raw | {"spec": POD_SPEC | {"resourceClaims": [
            {"name": "gpu", "resourceClaimTemplateName": f"of-{name}"}]}})
        for name in "ab"
    ]  # fmt: skip
    first, *others = expand([*pods, autoscaler("api", maxReplicas=5)]).notes
    assert first.startswith("HorizontalPodAutoscaler shop/scaler has no effect")
    assert ["of-a" in others[0], "of-b" in others[1], len(others)] == [True, True, 2]


def test_kinds_that_need_an_api_server_are_named() -> None:
    ranges = [
        decode({
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"limits": []},
        })
        for name in ("a", "b")
    ]  # fmt: skip
    assert expand(ranges).notes == [
        "2 of kind LimitRange have no effect: no default requests and limits are set, and no pod is"
        " rejected"
    ]
    assert expand(ranges[:1]).notes == [
        "1 LimitRange has no effect: no default requests and limits are set, and no pod is rejected"
    ]
