"""A cluster without the controllers of its pods is planned as the one with them."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import pytest

import podwright as pw
from podwright.apimachinery.objects import Object, decode
from podwright.simulation.capacity.drains import planned_world
from podwright.simulation.capacity.stand_ins import with_stand_ins
from podwright.simulation.capacity.tests.test_drains import budget, nodes
from podwright.simulation.world import START_NS

OPTIONS = pw.SchedulerOptions(start_ns=START_NS)


def owner(kind: str, name: str, group: str = "apps/v1", **spec: Any) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m"}}}
    pod_spec: dict[str, Any] = {"containers": [container]}
    if kind == "Job":
        pod_spec["restartPolicy"] = "OnFailure"
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec}
    own = {"template": template} | spec
    if kind not in ("Job", "ReplicationController"):
        own["selector"] = {"matchLabels": {"app": name}}
    return decode(
        {
            "apiVersion": group,
            "kind": kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": own,
        }
    )


OWNERS = (
    owner("Deployment", "web", replicas=4),
    owner("ReplicaSet", "bare", replicas=2),
    owner("ReplicationController", "old", "v1", replicas=2, selector={"app": "old"}),
    owner("StatefulSet", "data", replicas=3, serviceName="data"),
    owner("DaemonSet", "agent"),
    owner("Job", "batch", "batch/v1", parallelism=2, completions=2),
)
KEPT = {
    "of nodes and pods": ("Node", "Pod", "PodDisruptionBudget"),
    "without Deployments": ("Node", "Pod", "PodDisruptionBudget", "ReplicaSet"),
}


def stored(objects: list[Object], *kinds: str) -> list[Object]:
    """Return the objects of a settled cluster, as a dump has them."""
    store = planned_world(objects, OPTIONS).store
    found = [obj for kind in store.kinds() for obj in store.list(kind).objects]
    return cast(list[Object], [obj for obj in found if not kinds or obj.kind in kinds])


def workload_names(pods: list[str]) -> Counter[str]:
    return Counter(pod.removeprefix("default/").partition("-")[0] for pod in pods)


@pytest.mark.parametrize("dump", KEPT)
def test_a_drain_evicts_and_replaces_the_same_pods_without_their_controllers(dump):
    budgets = [budget("web", {"app": "web"}, maxUnavailable="50%")]
    given = [*nodes(4, "8"), *OWNERS, *budgets]
    whole = pw.drain_plan(stored(given), ["n0", "n1"], OPTIONS)
    plan = pw.drain_plan(stored(given, *KEPT[dump]), ["n0", "n1"], OPTIONS)
    assert plan.is_complete, plan
    assert [step.nodes for step in plan.steps] == [step.nodes for step in whole.steps]
    for step, expected in zip(plan.steps, whole.steps, strict=True):
        moved = [move.pod for move in step.moves]
        assert sorted(moved) == sorted(move.pod for move in expected.moves)
        assert "agent" not in workload_names(moved)
        assert all(move.to for move in step.moves)
        assert not step.gone


def test_a_template_has_no_requirements_that_keys_of_labels_stand_for():
    """A pod whose selector requires the label of such a key already would be invalid."""
    selector = {"matchLabels": {"app": "web"}}
    zone, host = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
    apart = {"labelSelector": selector, "topologyKey": host, "matchLabelKeys": ["rev"]}
    web = owner("Deployment", "web", replicas=2)
    template = web.raw["spec"]["template"]
    template["metadata"]["labels"]["rev"] = "7"
    template["spec"] |= {
        "affinity": {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 2,
                "topologyKey": zone,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": selector,
                "matchLabelKeys": ["pod-template-hash"],
            }
        ],
    }
    dump = stored([*nodes(4, "8"), decode(web.raw)], "Node", "Pod")
    spec = next(obj for obj in dump if obj.kind == "Pod").raw["spec"]
    assert "matchExpressions" in spec["topologySpreadConstraints"][0]["labelSelector"]
    used = sorted({obj.raw["spec"]["nodeName"] for obj in dump if obj.kind == "Pod"})
    plan = pw.drain_plan(dump, used[:1], OPTIONS)
    assert plan.is_complete, plan
    assert all(move.to for step in plan.steps for move in step.moves)


def test_pods_without_their_controllers_stay_as_they_are():
    dump = stored([*nodes(3, "8"), *OWNERS], "Node", "Pod")
    before = {(obj.key, obj.uid) for obj in dump if obj.kind == "Pod"}
    after = {(pod.key, pod.uid) for pod in planned_world(dump, OPTIONS).pods}
    assert after == before


def test_claims_of_a_stateful_set_are_those_of_its_pods():
    size = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"metadata": {"name": "disk"}, "spec": size}]
    parallel: dict[str, Any] = {
        "podManagementPolicy": "Parallel",
        "volumeClaimTemplates": claims,
    }
    data = owner("StatefulSet", "data", **parallel | {"replicas": 2, "serviceName": "data"})
    pods = stored([*nodes(2, "8"), data], "Pod")
    found = next(obj for obj in with_stand_ins(pods) if obj.kind == "StatefulSet")
    spec = found.raw["spec"]
    assert (spec["replicas"], spec["ordinals"]) == (2, {"start": 0})
    assert [each["metadata"]["name"] for each in spec["volumeClaimTemplates"]] == ["disk"]
    assert not spec["template"]["spec"]["volumes"]


def test_the_ordinals_of_a_stateful_set_are_those_of_names_that_have_one():
    data = owner("StatefulSet", "data", replicas=3, serviceName="data")
    names = {"default/data-0": "data-4", "default/data-1": "data-2", "default/data-2": "data-x"}
    pods = [
        decode({**pod.raw, "metadata": {**pod.raw["metadata"], "name": names[pod.key]}})
        for pod in stored([*nodes(2, "8"), data], "Pod")
    ]
    found = next(obj for obj in with_stand_ins(pods) if obj.kind == "StatefulSet")
    assert (found.raw["spec"]["replicas"], found.raw["spec"]["ordinals"]) == (3, {"start": 2})


def test_a_pod_of_a_custom_controller_has_a_replica_set_of_its_own():
    reference = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "name": "r",
        "uid": "r",
        "controller": True,
    }
    pod = pw.testing.make_pod("head", cpu="1", node="n0").raw
    pod["metadata"] |= {"uid": "u", "ownerReferences": [reference]}
    made, kept = with_stand_ins([decode(pod)])
    (owner,) = kept.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid) == (made.kind, made.name, made.uid)
    assert (owner.name, made.raw["spec"]["replicas"]) == ("head", 1)
    # A mirror pod is of its node, which keeps it.
    pod["metadata"] |= {"ownerReferences": [reference | {"apiVersion": "v1", "kind": "Node"}]}
    (mirror,) = with_stand_ins([decode(pod)])
    assert mirror.kind == "Pod"
