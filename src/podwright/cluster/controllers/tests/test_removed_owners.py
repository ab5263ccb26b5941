"""What is kept of an owner that is removed, and of the claims of pods."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api import with_generated_selector
from podwright.cluster.controllers.apps.daemon_pods import base_daemon_pod, daemon_pod
from podwright.cluster.controllers.apps.daemon_set import DaemonSetController
from podwright.cluster.controllers.apps.replica_set import (
    ReplicaSetController,
    ReplicationControllerController,
)
from podwright.cluster.controllers.batch.job import JobController
from podwright.cluster.controllers.interface import CreationEvents
from podwright.cluster.controllers.storage.pvc_users import (
    PvcUsers,
    claims_of,
    mounted_claims_of,
)
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import at, document
from podwright.testing import make_node

LABELS = {"app": "web"}
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Always"},
}


def an_owner(kind: str, api: str, uid: str) -> Any:
    selector: Any = LABELS if api == "v1" else {"matchLabels": LABELS}
    template = TEMPLATE
    more: dict[str, Any] = {"replicas": 1}
    status = {"startTime": at(-60)} if kind == "Job" else {}
    if kind == "Job":
        template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
        more = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "manualSelector": True}
    if kind == "DaemonSet":
        more = {"updateStrategy": {"type": "OnDelete"}}
    made = document(
        kind, "web", api=api, namespace="shop", metadata={"uid": uid, "generation": 1},
        spec={"selector": selector, "template": template, **more}, status=status,
    )  # fmt: skip
    return with_generated_selector(made) if kind == "Job" else made


def a_pod_of(owner: Any, name: str) -> Any:
    reference = {
        "apiVersion": owner.raw["apiVersion"], "kind": owner.kind, "name": owner.name,
        "uid": owner.uid, "controller": True,
    }  # fmt: skip
    metadata = {"uid": name, "labels": LABELS, "ownerReferences": [reference]}
    return document(
        "Pod", name, namespace="shop", metadata=metadata,
        spec={"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("make", "kind", "api"),
    [
        (ReplicaSetController, "ReplicaSet", "apps/v1"),
        (ReplicationControllerController, "ReplicationController", "v1"),
        (DaemonSetController, "DaemonSet", "apps/v1"),
        (JobController, "Job", "batch/v1"),
    ],
)
@pytest.mark.parametrize("is_removed", [False, True], ids=["stays", "removed"])
def test_a_pod_is_not_reported_as_created_for_a_removed_owner_of_the_name(
    make: Any, kind: str, api: str, is_removed: bool
) -> None:
    owner = an_owner(kind, api, "first")
    bench = SingleSync(make, *([make_node("n1")] if kind == "DaemonSet" else []), owner)
    assert any(each.startswith("create {") for each in bench.sync("shop/web"))
    if is_removed:
        bench.remove(owner)
        if kind == "Job":
            assert bench.sync("shop/web") == []
        owner = an_owner(kind, api, "second")
        bench.put(owner)
    bench.put(a_pod_of(owner, "x"))
    found = [each for each in bench.sync("shop/web", 1) if "SuccessfulCreate" in each]
    assert [each.rpartition(": ")[2] for each in found] == ([] if is_removed else ["x"])


def test_so_many_new_pods_are_reported_as_were_expected() -> None:
    events, owner, other = CreationEvents(), an_owner("Job", "batch/v1", "u"), document("Job", "b")
    pods = [a_pod_of(owner, name) for name in "abcd"]
    events.observe(owner.key, pods[0])
    assert events.events(owner, "s") == []
    events.expect(owner.key, 2)
    for pod in pods[:3]:
        events.observe(owner.key, pod)
    events.observe(other.key, pods[3])
    found: list[Any] = events.events(owner, "s")
    assert [(each.note, each.reason) for each in found] == [
        ("Created pod: a", "SuccessfulCreate"), ("Created pod: b", "SuccessfulCreate"),
    ]  # fmt: skip
    assert (events.events(owner, "s"), events.events(other, "s")) == ([], [])
    # A sync in between expects no more, and neither does an owner that was removed.
    for is_over in (lambda: events.events(owner, "s"), lambda: events.forget(owner.key)):
        events.expect(owner.key, 2)
        events.observe(owner.key, pods[0])
        is_over()
        events.observe(owner.key, pods[1])
        assert events.events(owner, "s") == []
    events.forget("shop/none")


def test_the_pod_of_a_node_keeps_the_affinity_of_its_template_but_for_the_required_nodes() -> None:
    """Upstream: daemonset_util.go, ReplaceDaemonSetPodNodeNameNodeAffinity"""
    wanted = {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
    terms = [{"matchExpressions": [{"key": "b", "operator": "Exists"}]}]
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": LABELS}, "topologyKey": "zone"}]}  # fmt: skip
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [wanted]}
    name = [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]
    on_node = {required: {"nodeSelectorTerms": [{"matchFields": name}]}}
    for affinity, expected in (
        (None, {"nodeAffinity": on_node}),
        ({}, {"nodeAffinity": on_node}),
        ({"podAntiAffinity": apart}, {"podAntiAffinity": apart, "nodeAffinity": on_node}),
        (
            {"nodeAffinity": {required: {"nodeSelectorTerms": terms}, **preferred}},
            {"nodeAffinity": {**on_node, **preferred}},
        ),
    ):
        template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "affinity": affinity}}
        base = base_daemon_pod(an_owner("DaemonSet", "apps/v1", "u"), template, "hash", "1")
        made = daemon_pod(base, "n1")
        assert made.raw["spec"]["affinity"] == expected
        read: Any = decode(made.raw)
        assert read.spec.affinity == made.spec.affinity


def claim(name: str, of: str) -> dict[str, Any]:
    return {"name": name, "persistentVolumeClaim": {"claimName": of}}


VOLUMES = [
    claim("a", "data"),
    {"name": "b", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
    {"name": "c", "emptyDir": {}},
    claim("d", "logs"),
]


def a_pod(volumes: Any = VOLUMES, name: str = "p", **spec: Any) -> Any:
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes, **spec}
    return document("Pod", name, namespace="shop", metadata={"uid": name}, spec=spec)


def with_mounts(uses: str, *names: str) -> list[dict[str, Any]]:
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in names]
    return [{"name": "c", "image": "i", uses: mounts or None}]


@pytest.mark.parametrize(
    ("spec", "mounted"),
    [
        ({}, []),
        ({"containers": with_mounts("volumeMounts", "d", "a")}, ["data", "logs"]),
        ({"containers": with_mounts("volumeDevices", "a")}, ["data"]),
        ({"containers": with_mounts("volumeMounts")}, []),
        ({"containers": with_mounts("volumeMounts", "c")}, []),
        ({"initContainers": with_mounts("volumeMounts", "b")}, ["p-b"]),
        ({"initContainers": None, "ephemeralContainers": None}, []),
        ({"ephemeralContainers": with_mounts("volumeDevices", "d")}, ["logs"]),
        ({"containers": with_mounts("volumeMounts", "a"),
          "initContainers": with_mounts("volumeMounts", "b", "a"),
          "ephemeralContainers": with_mounts("volumeMounts", "d")}, ["data", "p-b", "logs"]),
    ],
)  # fmt: skip
def test_the_mounted_claims_are_those_that_a_container_uses(
    spec: dict[str, Any], mounted: list[str]
) -> None:
    """Upstream: pkg/volume/util/util.go, GetPodVolumeNames"""
    pod = a_pod(**spec)
    assert list(mounted_claims_of(pod)) == [f"shop/{name}" for name in mounted]
    assert list(claims_of(pod)) == ["shop/data", "shop/p-b", "shop/logs"]


def test_the_users_of_a_claim_are_the_pods_that_are_there() -> None:
    bench = SingleSync(ReplicaSetController)
    users = PvcUsers(bench.lister)
    pods = {name: a_pod([claim("v", "data")], name) for name in "cab"}
    pods["d"] = a_pod([claim("v", "logs")], "d")
    for pod in pods.values():
        bench.put(pod)
        users.observe(None, pod)
    users.observe(pods["a"], pods["a"])
    assert [pod.name for pod in users.of("shop/data")] == ["a", "b", "c"]
    assert [pod.name for pod in users.of("shop/logs")] == ["d"]
    assert list(users.of("other/data")) == []
    users.observe(pods["b"], None)
    assert [pod.name for pod in users.of("shop/data")] == ["a", "c"]
    bench.remove(pods["c"])
    assert [pod.name for pod in users.of("shop/data")] == ["a"], "one that is not there any more"
    for name in "acd":
        users.observe(pods[name], None)
    users.observe(pods["a"], None)
    assert users.pods == {}
    users.observe(None, make_node("n"))
    users.observe(make_node("n"), None)
    assert users.pods == {}
