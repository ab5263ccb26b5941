"""Replica sets and replication controllers maintain their number of pods."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from podwright.apimachinery.objects import Pod
from podwright.cluster.controllers.apps.replica_set import (
    ReplicaSetController,
    ReplicationControllerController,
)
from podwright.cluster.controllers.tests.controller_cluster import (
    NOW,
    SECOND,
    Cluster,
    counting,
    counts,
)
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import at, document

SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"

REPLICA_SET = """
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, tier: front}, annotations: {note: hi}}
    spec: {containers: [{name: c, image: "web:1"}]}
"""

CONTROLLER = """
apiVersion: v1
kind: ReplicationController
metadata: {name: web}
spec:
  replicas: 2
  selector: {app: web}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "web:1"}]}
"""

ORPHAN = """
apiVersion: v1
kind: Pod
metadata: {name: stray, labels: {app: web}}
spec: {containers: [{name: c, image: "web:1"}]}
"""


def cluster(**options):
    return Cluster([ReplicaSetController, ReplicationControllerController], **options)


def owner_names(pod: Pod) -> list[str]:
    return [owner.name for owner in pod.metadata.owner_references]


def test_a_new_set_gets_its_pods_and_events():
    world = cluster()
    world.apply(REPLICA_SET)
    pods = world.pods()
    assert len(pods) == 3
    assert all(re.fullmatch(f"web-{SUFFIX}", pod.name) for pod in pods)
    assert sorted(world.new_events()) == [
        f"web: SuccessfulCreate: Created pod: {pod.name}" for pod in pods
    ]
    owner = world.get("replicaset", "web")
    assert pods[0].raw["metadata"] == {
        "name": pods[0].name,
        "generateName": "web-",
        "namespace": "default",
        "labels": {"app": "web", "tier": "front"},
        "annotations": {"note": "hi"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "web",
                "uid": owner.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "uid": pods[0].uid,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "resourceVersion": pods[0].metadata.resource_version,
        "generation": 1,
    }
    assert world.status("replicaset", "web") == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }
    world.run(2)
    assert world.status("replicaset", "web") == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }


def test_a_replication_controller_behaves_like_a_replica_set():
    world = cluster()
    world.apply(CONTROLLER)
    world.run(2)
    assert world.status("rc", "web") == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "observedGeneration": 1,
    }
    pod = world.pods()[0]
    owner = pod.metadata.controller
    assert owner is not None
    assert (owner.api_version, owner.kind) == ("v1", "ReplicationController")


@pytest.mark.parametrize(
    ("selector", "is_adopted"),
    [
        pytest.param("  selector: {app: web}\n", True, id="the selector, not all labels"),
        pytest.param("  selector: {app: web, tier: front}\n", False, id="both labels"),
        pytest.param("", False, id="the labels of the template, without a selector"),
    ],
)
def test_a_replication_controller_adopts_what_its_selector_matches(selector, is_adopted):
    world = cluster()
    world.apply(ORPHAN)
    labeled = CONTROLLER.replace("labels: {app: web}", "labels: {app: web, tier: front}")
    world.apply(labeled.replace("  selector: {app: web}\n", selector))
    assert ("stray" in {pod.name for pod in world.pods() if owner_names(pod)}) is is_adopted
    assert sum(owner_names(pod) == ["web"] for pod in world.pods()) == 2


def test_pods_share_the_document_of_their_spec():
    world = cluster()
    world.apply(REPLICA_SET)
    made = [a.obj for a in world.actions if type(a).__name__ == "CreateObject"]
    assert len({id(pod.raw["spec"]) for pod in made}) == 1


def test_failed_and_removed_pods_are_replaced():
    world = cluster()
    world.apply(REPLICA_SET)
    world.run(2)
    failed, deleted, _ = world.names()
    world.fail(failed)
    world.delete("pod", deleted)
    assert len(world.names()) == 5
    assert world.status("replicaset", "web")["terminatingReplicas"] == 1
    world.run(2)
    assert failed in world.names()
    assert deleted not in world.names()
    assert world.status("replicaset", "web")["readyReplicas"] == 3
    assert "terminatingReplicas" in world.status("replicaset", "web")


def test_a_matching_orphan_is_adopted_and_a_surplus_pod_is_deleted():
    world = cluster()
    world.apply(REPLICA_SET)
    world.run(2)
    world.apply(ORPHAN)
    stray = world.get("pod", "stray")
    assert isinstance(stray, Pod)
    assert owner_names(stray) == ["web"]
    # It is not ready yet, so it is deleted first.
    assert stray.is_terminating
    assert world.new_events()[-1] == "web: SuccessfulDelete: Deleted pod: stray"
    world.run(2)
    assert len(world.names()) == 3


def test_existing_orphans_are_adopted_before_pods_are_created():
    world = cluster()
    world.apply(ORPHAN)
    world.apply(REPLICA_SET)
    assert len(world.names()) == 3
    assert "stray" in world.names()


def test_a_pod_whose_labels_change_is_released_and_replaced():
    world = cluster()
    world.apply(REPLICA_SET)
    name = world.names()[0]
    world.patch("pod", name, {"metadata": {"labels": {"app": "debug"}}})
    pod = world.get("pod", name)
    assert isinstance(pod, Pod)
    assert owner_names(pod) == []
    assert len(world.names()) == 4
    world.patch("pod", name, {"metadata": {"labels": {"app": "web"}}})
    world.run(2)
    assert len(world.names()) == 3


def test_a_missing_label_makes_a_pod_not_fully_labeled():
    world = cluster()
    world.apply(REPLICA_SET)
    world.patch("pod", world.names()[0], {"metadata": {"labels": {"tier": None}}})
    status = world.status("replicaset", "web")
    assert (status["replicas"], status["fullyLabeledReplicas"]) == (3, 2)


def test_pods_are_available_when_they_have_been_ready_for_long_enough():
    world = cluster()
    world.apply(REPLICA_SET.replace("replicas: 3", "replicas: 3\n  minReadySeconds: 10"))
    world.run(5)
    assert "availableReplicas" not in world.status("replicaset", "web")
    world.unready(world.names()[0])
    world.run(6)
    assert world.status("replicaset", "web")["availableReplicas"] == 2
    world.ready(world.names()[0])
    world.run(10)
    assert world.status("replicaset", "web")["availableReplicas"] == 3
    world.patch("replicaset", "web", {"spec": {"minReadySeconds": 100}})
    assert "availableReplicas" not in world.status("replicaset", "web")


def test_a_terminating_set_creates_no_pods():
    world = cluster()
    world.apply(REPLICA_SET)
    world.patch("replicaset", "web", {"metadata": {"finalizers": ["example.com/keep"]}})
    world.delete("replicaset", "web")
    world.delete("pod", world.names()[0], grace=0)
    world.run(5)
    assert len(world.names()) == 2
    assert world.status("replicaset", "web")["replicas"] == 2


@pytest.mark.parametrize(
    ("replicas", "per_look"),
    [(499, [499]), (500, [500]), (501, [500, 1]), (1_100, [500, 500, 100])],
)
@pytest.mark.parametrize("text", [REPLICA_SET, CONTROLLER], ids=["set", "controller"])
def test_a_sync_creates_or_deletes_at_most_500_pods(text, replicas, per_look):
    syncs: list[Counter[str]] = []

    makers = [
        counting(maker, syncs) for maker in (ReplicaSetController, ReplicationControllerController)
    ]
    world = Cluster(makers, ready_after=None)
    world.apply(re.sub("replicas: .", f"replicas: {replicas}", text))
    assert counts(syncs, "created") == per_look
    assert len(world.names()) == replicas
    world.scale("replicaset" if text is REPLICA_SET else "rc", "web", 0)
    world.run(2)
    assert counts(syncs, "deleted") == per_look
    assert world.names() == []


def test_a_set_that_does_not_select_its_own_pods_creates_none():
    world = cluster()
    world.apply(REPLICA_SET.replace("matchLabels: {app: web}", "matchLabels: {app: other}"))
    assert world.names() == []


def test_an_empty_selector_adopts_nothing():
    world = cluster()
    world.apply(REPLICA_SET.replace("matchLabels: {app: web}", ""))
    world.apply(ORPHAN)
    stray = world.get("pod", "stray")
    assert isinstance(stray, Pod)
    assert owner_names(stray) == []


# ---------------------------------------------------------------------- order of deletion


def changed_pods(
    world: Cluster, number: int, change: dict[str, Any], *, status: bool = False
) -> str:
    name = world.names()[number]
    world.patch("pod", name, change, status=status)
    return name


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize(
    "give_up",
    [
        pytest.param(
            lambda w, n: changed_pods(w, n, {"spec": {"nodeName": None}}), id="unassigned"
        ),
        pytest.param(
            lambda w, n: changed_pods(w, n, {"status": {"phase": "Pending"}}, status=True),
            id="pending before running",
        ),
        pytest.param(lambda w, n: (w.unready(w.names()[n]), w.names()[n])[1], id="not ready"),
        pytest.param(
            lambda w, n: changed_pods(
                w,
                n,
                {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}}},
            ),
            id="cheap",
        ),
        pytest.param(
            lambda w, n: changed_pods(
                w,
                n,
                {"status": {"containerStatuses": [{"name": "c", "restartCount": 4}]}},
                status=True,
            ),
            id="restarted",
        ),
    ],
)
def test_the_order_of_deletion(give_up, number):
    world = cluster(removed_after=None)
    world.apply(REPLICA_SET)
    world.run(2)
    world.binds = False
    name = give_up(world, number)
    world.scale("replicaset", "web", 2)
    kept = [pod.name for pod in world.pods() if not pod.is_terminating]
    assert len(kept) == 2
    assert name not in kept


@pytest.mark.parametrize(("unknown_number", "pending_number"), [(0, 1), (1, 0)])
def test_a_pending_pod_is_deleted_before_one_of_an_unknown_phase(unknown_number, pending_number):
    world = cluster(removed_after=None)
    world.apply(REPLICA_SET)
    world.run(2)
    world.binds = False
    unknown = changed_pods(world, unknown_number, {"status": {"phase": "Unknown"}}, status=True)
    pending = changed_pods(world, pending_number, {"status": {"phase": "Pending"}}, status=True)
    world.scale("replicaset", "web", 2)
    assert [pod.name for pod in world.pods() if pod.is_terminating] == [pending]
    world.scale("replicaset", "web", 1)
    assert {pod.name for pod in world.pods() if pod.is_terminating} == {pending, unknown}


def test_of_equally_old_pods_the_one_with_the_least_uid_is_deleted_first():
    world = cluster(removed_after=None)
    world.apply(REPLICA_SET)
    world.run(2)
    least = min(world.pods(), key=lambda pod: pod.uid)
    world.scale("replicaset", "web", 2)
    assert [pod.name for pod in world.pods() if pod.is_terminating] == [least.name]


def test_of_similar_pods_a_much_younger_one_is_deleted_first():
    world = cluster(removed_after=None)
    world.apply(REPLICA_SET)
    world.run(1_000)
    world.scale("replicaset", "web", 4)
    world.run(2)
    (young,) = [p.name for p in world.pods() if "T00:16" in (p.metadata.creation_timestamp or "")]
    world.scale("replicaset", "web", 3)
    assert [pod.name for pod in world.pods() if pod.is_terminating] == [young]


def test_pods_on_nodes_with_the_most_related_pods_are_deleted_first():
    world = cluster(nodes=1, removed_after=None)
    owner = (
        "  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: d, uid: u1,"
        " controller: true}]\n"
    )
    world.apply(REPLICA_SET.replace("metadata: {name: web}\n", f"metadata:\n  name: web\n{owner}"))
    world.run(2)
    world.add_node("a0")
    for _ in range(10):
        if [p.spec.node_name for p in world.pods()].count("a0"):
            break
        world.delete("pod", world.names()[0], grace=0)
        world.run(2)
    assert sorted(p.spec.node_name for p in world.pods()) == ["a0", "n0", "n0"]
    world.scale("replicaset", "web", 2)
    (going,) = [p for p in world.pods() if p.is_terminating]
    assert going.spec.node_name == "n0"


def test_a_creation_continues_after_a_restore():
    world, other = cluster(), cluster()
    other.before_each = other.restart
    for each in (world, other):
        each.apply(REPLICA_SET.replace("replicas: 3", "replicas: 3\n  minReadySeconds: 5"))
        each.run(3)
        each.delete("pod", each.names()[0])
        each.run(20)
    assert other.actions == world.actions
    assert world.now_ns == NOW + 23 * SECOND


@pytest.mark.parametrize("replicas", [0, 2])
def test_nothing_is_kept_of_a_set_that_is_gone_with_its_pods(replicas):
    world = Cluster([ReplicaSetController])
    world.apply(REPLICA_SET)
    world.scale("replicaset", "web", replicas)
    world.run(5)
    world.delete("replicaset", "web")
    for pod in world.pods():
        world.delete("pod", pod.name, grace=0)
    world.settle()
    (controller,) = world.controllers._controllers.values()
    assert isinstance(controller, ReplicaSetController)
    assert controller._counts == {}


def test_an_orphan_that_has_ended_or_terminates_is_not_adopted():
    """Upstream: pkg/controller/replicaset/replica_set.go, syncReplicaSet"""
    labels, containers = {"app": "x"}, [{"name": "c", "image": "i"}]
    spec = {
        "replicas": 3,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    }
    bench = SingleSync(
        ReplicaSetController,
        document("ReplicaSet", "set", api="apps/v1", namespace="shop", spec=spec,
                 metadata={"uid": "u"}),
    )  # fmt: skip
    going = {"deletionTimestamp": at(0), "finalizers": ["x"]}
    for name, phase in (("active", "Running"), ("failed", "Failed"), ("going", "Running")):
        metadata = going if name == "going" else {}
        bench.put(
            document("Pod", name, namespace="shop", metadata={"labels": labels, **metadata},
                     spec={"containers": containers}, status={"phase": phase})
        )  # fmt: skip
    adopted = [each for each in bench.sync("shop/set") if "ownerReferences=" in each]
    assert [each.split()[2] for each in adopted] == ["shop/active"]
