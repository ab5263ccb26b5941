"""Stateful sets, by their Events and pods."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from podwright.cluster.controllers.apps.controller_revisions import number_of
from podwright.cluster.controllers.apps.stateful_pods import parent_and_ordinal
from podwright.cluster.controllers.apps.stateful_set import StatefulSetController
from podwright.cluster.controllers.tests.controller_cluster import SECOND, Cluster

SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: c, image: "db:1"}]
      volumes: [{name: tmp, emptyDir: {}}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""

PARALLEL = SET.replace(
    "  serviceName: db\n", "  serviceName: db\n  podManagementPolicy: Parallel\n"
)


CONFLICT = (
    "db: ConflictingController: PersistentVolumeClaim data-db-0 has a conflicting OwnerReference"
    " that acts as a manging controller, the retention policy is ignored for this claim"
)


def reference(kind: str, name: str) -> dict[str, Any]:
    version = "v1" if kind == "Pod" else "apps/v1"
    return {
        "apiVersion": version, "kind": kind, "name": name, "uid": "earlier", "controller": True,
    }  # fmt: skip


def cluster(**options: Any) -> Cluster:
    return Cluster([StatefulSetController], **options)


def image(version: int | str) -> dict[str, Any]:
    return {
        "spec": {"template": {"spec": {"containers": [{"name": "c", "image": f"db:{version}"}]}}}
    }


def rolling(**settings: Any) -> dict[str, Any]:
    return {"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": settings}}}


def shape(world: Cluster) -> str:
    """Return the pods as `0:1 1:1! 2:2-`: ordinal, version, `!` not ready, `-` terminating."""
    parts = []
    for pod in sorted(world.pods(), key=lambda pod: parent_and_ordinal(pod.name)[1]):
        mark = "-" if pod.is_terminating else "" if pod.status.phase == "Running" else "!"
        version = pod.spec.containers[0].image.partition(":")[2]
        parts.append(f"{parent_and_ordinal(pod.name)[1]}:{version}{mark}")
    return " ".join(parts)


def shapes(world: Cluster, seconds: int) -> list[str]:
    """Return the distinct shapes within a time, in order."""
    found = [shape(world)]
    for _ in range(seconds * 2):
        world.run(0.5)
        if found[-1] != shape(world):
            found.append(shape(world))
    return found


def test_pods_are_created_in_order():
    world = cluster()
    world.apply(SET)
    assert shapes(world, 5) == [
        "0:1!",
        "0:1 1:1!",
        "0:1 1:1 2:1!",
        "0:1 1:1 2:1",
    ]
    assert world.new_events() == [
        f"db: SuccessfulCreate: {text}"
        for ordinal in range(3)
        for text in (
            f"Create Claim data-db-{ordinal} Pod db-{ordinal} in StatefulSet db success",
            f"Create Pod db-{ordinal} in StatefulSet db successful",
        )
    ]


@pytest.mark.parametrize("of_template", [{}, {"subdomain": "other", "hostname": "h"}])
@pytest.mark.parametrize(
    ("service", "subdomain"), [("  serviceName: db\n", {"subdomain": "db"}), ("", {})]
)
def test_the_subdomain_of_a_pod_is_the_service_of_its_set(service, subdomain, of_template):
    """Upstream: stateful_set_utils.go, initIdentity"""
    world = cluster()
    own = "".join(f"      {name}: {value}\n" for name, value in of_template.items())
    containers = '      containers: [{name: c, image: "db:1"}]\n'
    world.apply(SET.replace("  serviceName: db\n", service).replace(containers, own + containers))
    spec = world.get("pod", "db-0").raw["spec"]
    assert spec["hostname"] == "db-0"
    assert {name: spec[name] for name in ("subdomain",) if name in spec} == subdomain


def test_a_pod_has_its_name_its_labels_and_its_claims():
    world = cluster()
    world.apply(SET)
    pod = world.get("pod", "db-0")
    revision = world.all("revision")[0]
    assert pod.metadata.labels == {
        "app": "db",
        "statefulset.kubernetes.io/pod-name": "db-0",
        "apps.kubernetes.io/pod-index": "0",
        "controller-revision-hash": revision.name,
    }
    assert pod.metadata.generate_name == "db-"
    spec = pod.raw["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("db-0", "db")
    assert spec["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    claim = world.get("pvc", "data-db-0")
    assert claim.metadata.labels == {"app": "db"}
    assert claim.metadata.owner_references == ()
    assert claim.raw["status"] == {"phase": "Pending"}
    assert claim.raw["spec"]["resources"] == {"requests": {"storage": "1Gi"}}


def test_the_status_of_a_set():
    world = cluster()
    world.apply(SET)
    world.run(5)
    (revision,) = world.all("revision")
    assert world.status("statefulset", "db") == {
        "observedGeneration": 1,
        "replicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "currentReplicas": 3,
        "updatedReplicas": 3,
        "currentRevision": revision.name,
        "updateRevision": revision.name,
        "collisionCount": 0,
    }


def test_a_parallel_set_creates_and_deletes_all_pods_at_once():
    world = cluster()
    world.apply(PARALLEL)
    assert shapes(world, 2) == ["0:1! 1:1! 2:1!", "0:1 1:1 2:1"]
    world.scale("statefulset", "db", 0)
    assert shapes(world, 2) == ["0:1- 1:1- 2:1-", ""]


def test_scaling_down_deletes_the_highest_ordinal_first_and_waits():
    world = cluster()
    world.apply(SET)
    world.run(5)
    world.scale("statefulset", "db", 1)
    assert shapes(world, 5) == ["0:1 1:1 2:1-", "0:1 1:1-", "0:1"]
    assert world.names("pvc") == ["data-db-0", "data-db-1", "data-db-2"]


def test_an_update_proceeds_from_the_highest_ordinal():
    world = cluster()
    world.apply(SET)
    world.run(5)
    world.patch("statefulset", "db", image(2))
    steps = shapes(world, 8)
    assert steps == [
        "0:1 1:1 2:1-",
        "0:1 1:1 2:2!",
        "0:1 1:1- 2:2",
        "0:1 1:2! 2:2",
        "0:1- 1:2 2:2",
        "0:2! 1:2 2:2",
        "0:2 1:2 2:2",
    ]
    status = world.status("statefulset", "db")
    assert status["currentRevision"] == status["updateRevision"]
    assert sorted(map(number_of, world.all("revision"))) == [1, 2]


def test_during_an_update_the_status_counts_both_revisions():
    world = cluster()
    world.apply(SET)
    world.run(5)
    world.patch("statefulset", "db", image(2))
    status = world.status("statefulset", "db")
    assert (status["currentReplicas"], status.get("updatedReplicas")) == (2, None)
    world.run(2.5)
    status = world.status("statefulset", "db")
    assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 1)
    assert status["currentRevision"] != status["updateRevision"]


def test_ordinals_below_the_partition_keep_their_revision_when_recreated():
    world = cluster()
    world.apply(SET)
    world.run(5)
    world.patch("statefulset", "db", rolling(partition=2))
    world.patch("statefulset", "db", image(2))
    world.run(10)
    assert shape(world) == "0:1 1:1 2:2"
    world.delete("pod", "db-0", grace=0)
    world.run(5)
    assert shape(world) == "0:1 1:1 2:2"
    world.patch("statefulset", "db", rolling(partition=0))
    world.run(10)
    assert shape(world) == "0:2 1:2 2:2"


def test_max_unavailable_allows_several_pods_at_once():
    world = cluster()
    world.apply(SET)
    world.run(5)
    world.patch("statefulset", "db", rolling(maxUnavailable=2))
    world.patch("statefulset", "db", image(2))
    assert shape(world) == "0:1 1:1- 2:1-"
    world.run(10)
    assert shape(world) == "0:2 1:2 2:2"


def test_a_name_is_free_for_some_time_if_kubelets_are_others():
    delayed = partial(StatefulSetController, recreation_delay_ns=SECOND // 2)
    world = Cluster([delayed])
    world.apply(SET)
    world.run(5)
    world.delete("pod", "db-1", grace=0)
    world.patch("statefulset", "db", {"metadata": {"labels": {"changed": "meanwhile"}}})
    world.run(0.4)
    assert shape(world) == "0:1 2:1"
    world.run(0.2)
    assert shape(world) == "0:1 1:1! 2:1"


def test_on_delete_replaces_only_deleted_pods():
    world = cluster()
    world.apply(SET)
    world.run(5)
    world.patch("statefulset", "db", {"spec": {"updateStrategy": {"type": "OnDelete"}}})
    world.patch("statefulset", "db", image(2))
    world.run(5)
    assert shape(world) == "0:1 1:1 2:1"
    world.delete("pod", "db-1")
    world.run(5)
    assert shape(world) == "0:1 1:2 2:1"


def test_an_earlier_template_reuses_its_revision():
    world = cluster()
    world.apply(SET)
    for version in (2, 1):
        world.run(10)
        world.patch("statefulset", "db", image(version))
    world.run(10)
    assert sorted(number_of(each) for each in world.all("revision")) == [2, 3]
    assert shape(world) == "0:1 1:1 2:1"


def test_revisions_beyond_the_history_limit_are_deleted():
    world = cluster()
    world.apply(SET.replace("replicas: 3", "replicas: 1\n  revisionHistoryLimit: 1"))
    for version in range(2, 6):
        world.run(10)
        world.patch("statefulset", "db", image(version))
    world.run(10)
    assert sorted(number_of(each) for each in world.all("revision")) == [4, 5]


def test_a_failed_pod_is_recreated_with_its_name():
    world = cluster()
    world.apply(SET)
    world.run(5)
    world.fail("db-1")
    assert (
        "db: SuccessfulDelete: Delete Pod db-1 in StatefulSet db successful" in world.new_events()
    )
    world.run(5)
    assert shape(world) == "0:1 1:1 2:1"


def test_ordinals_may_start_above_0():
    world = cluster()
    world.apply(SET.replace("replicas: 3", "replicas: 2\n  ordinals: {start: 5}"))
    world.run(5)
    assert world.names() == ["db-5", "db-6"]
    world.patch("statefulset", "db", {"spec": {"ordinals": {"start": 6}}})
    world.run(8)
    assert world.names() == ["db-6", "db-7"]


def test_an_ordered_set_waits_until_a_pod_has_been_ready_for_long_enough():
    world = cluster()
    world.apply(SET.replace("replicas: 3", "replicas: 2\n  minReadySeconds: 10"))
    world.run(9)
    assert world.names() == ["db-0"]
    world.run(3)
    assert world.names() == ["db-0", "db-1"]


@pytest.mark.parametrize(
    ("when_deleted", "when_scaled", "kept", "scaled_away"),
    [
        pytest.param("Retain", "Retain", [], [], id="claims without an owner"),
        pytest.param(
            "Delete",
            "Retain",
            ["StatefulSet"],
            ["StatefulSet"],
            id="claims are deleted with the set",
        ),
        pytest.param("Retain", "Delete", [], ["Pod"], id="surplus claims are deleted with the pod"),
        pytest.param("Delete", "Delete", ["StatefulSet"], ["Pod"], id="with one or the other"),
    ],
)
def test_the_owners_of_claims(when_deleted, when_scaled, kept, scaled_away):
    world = cluster()
    world.apply(SET)
    policy = {"whenDeleted": when_deleted, "whenScaled": when_scaled}
    world.patch("statefulset", "db", {"spec": {"persistentVolumeClaimRetentionPolicy": policy}})
    world.run(5)
    world.scale("statefulset", "db", 2)

    def owners(name: str) -> list[str]:
        return [owner.kind for owner in world.get("pvc", name).metadata.owner_references]

    assert owners("data-db-0") == kept
    assert owners("data-db-2") == scaled_away


def test_a_stale_claim_of_an_earlier_pod_blocks_the_new_pod():
    world = cluster()
    world.apply(SET)
    policy = {"whenDeleted": "Retain", "whenScaled": "Delete"}
    world.patch("statefulset", "db", {"spec": {"persistentVolumeClaimRetentionPolicy": policy}})
    world.run(5)
    world.scale("statefulset", "db", 2)
    world.run(2)
    world.scale("statefulset", "db", 3)
    world.run(2)
    assert world.names() == ["db-0", "db-1"]
    world.patch("pvc", "data-db-2", {"metadata": {"finalizers": None}})
    world.delete("pvc", "data-db-2")
    world.run(2)
    assert world.names() == ["db-0", "db-1", "db-2"]


@pytest.mark.parametrize(
    ("fields", "policy", "names", "event"),
    [
        pytest.param(
            {"finalizers": ["x"]}, {}, [],
            "db: FailedCreate: Create Pod db-0 in StatefulSet db failed error: pvc data-db-0 is"
            " being deleted", id="is being deleted",
        ),
        pytest.param(
            {"ownerReferences": [reference("Pod", "db-0")]}, {}, ["db-0"], "",
            id="of an earlier pod, to be kept",
        ),
        pytest.param(
            {"ownerReferences": [reference("Pod", "db-0")]}, {"whenScaled": "Delete"}, [], "",
            id="of an earlier pod",
        ),
        pytest.param(
            {"ownerReferences": [reference("Pod", "other")]}, {"whenScaled": "Delete"}, ["db-0"],
            CONFLICT, id="of another pod",
        ),
        pytest.param(
            {"ownerReferences": [reference("Pod", "other")]}, {}, ["db-0"], "",
            id="of another pod, without a policy",
        ),
        pytest.param(
            {"ownerReferences": [reference("StatefulSet", "db")]}, {"whenDeleted": "Delete"},
            ["db-0"], CONFLICT, id="of an earlier set",
        ),
    ],
)  # fmt: skip
def test_a_claim_that_is_there_before_its_pod(fields, policy, names, event):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": "data-db-0", "namespace": "default", "uid": "cu", **fields}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
    world = cluster(ready_after=None)
    world.create(claim | {"spec": spec})
    if "finalizers" in fields:
        world.delete("pvc", "data-db-0")
    retention = f"  persistentVolumeClaimRetentionPolicy: {json.dumps(policy)}\n"
    world.apply(SET.replace("  selector:", f"{retention}  selector:", 1))
    assert world.names() == names
    found = {each for each in world.new_events() if "Failed" in each or "Conflict" in each}
    assert found == ({event} if event else set())


def test_a_removed_claim_is_recreated_while_its_pod_is_pending():
    world = cluster(ready_after=None)
    world.apply(SET)
    world.patch("pvc", "data-db-0", {"metadata": {"finalizers": None}})
    world.delete("pvc", "data-db-0")
    assert world.names("pvc") == ["data-db-0"]


def test_a_pod_of_the_right_name_and_labels_is_adopted():
    world = cluster()
    world.apply(SET)
    world.run(5)
    world.patch("pod", "db-1", {"metadata": {"ownerReferences": []}})
    assert world.get("pod", "db-1").metadata.owner_references[0].name == "db"
    world.patch("pod", "db-1", {"metadata": {"labels": {"apps.kubernetes.io/pod-index": None}}})
    assert world.get("pod", "db-1").metadata.labels["apps.kubernetes.io/pod-index"] == "1"
    assert (
        world.new_events()[-1]
        == "db: SuccessfulUpdate: Update Pod db-1 in StatefulSet db successful"
    )


def test_a_released_pod_occupies_its_name_until_it_is_removed():
    world = cluster()
    world.apply(SET)
    world.run(10)
    world.patch("pod", "db-0", {"metadata": {"labels": {"app": "other"}}})
    world.run(5)
    assert not world.get("pod", "db-0").metadata.owner_references
    assert world.status("statefulset", "db")["replicas"] == 2
    world.delete("pod", "db-0")
    world.run(10)
    assert world.get("pod", "db-0").metadata.labels["app"] == "db"
    assert world.status("statefulset", "db")["replicas"] == 3


def test_an_unavailable_pod_of_an_old_revision_is_replaced_and_a_new_one_waited_for():
    world = cluster(ready_after=None)
    world.apply(PARALLEL)
    world.patch("statefulset", "db", image(2))
    world.run(3)
    assert shape(world) == "0:1! 1:1! 2:2!"
    world.ready("db-2")
    world.run(3)
    assert shape(world) == "0:1! 1:2! 2:2"


def test_unavailable_pods_of_all_revisions_count_where_their_number_is_limited():
    world = cluster(ready_after=None)
    world.apply(PARALLEL)
    world.patch("statefulset", "db", rolling(maxUnavailable=1))
    world.patch("statefulset", "db", image(2))
    world.ready("db-2")
    world.run(3)
    assert shape(world) == "0:1! 1:1! 2:1"


def test_a_set_that_does_not_select_its_own_pods_creates_none():
    world = cluster()
    world.apply(SET.replace("matchLabels: {app: db}", "matchLabels: {app: other}"))
    assert world.names() == []


def test_an_update_continues_after_a_restore():
    world, other = cluster(), cluster()
    other.before_each = other.restart
    for each in (world, other):
        each.apply(SET)
        each.run(4)
        each.patch("statefulset", "db", image(2))
        each.run(10)
    assert other.actions == world.actions


def scaled_to_one(*unready: str) -> Cluster:
    """Return a cluster with an ordered set of five pods that shrinks to one."""
    world = cluster(removed_after=None)
    world.apply(SET.replace("replicas: 3", "replicas: 5"))
    world.run(10)
    for name in unready:
        world.unready(name)
    world.scale("statefulset", "db", 1)
    return world


def terminating(world: Cluster) -> list[str]:
    return [pod.name for pod in world.pods() if pod.is_terminating]


def test_several_condemned_pods_are_deleted_one_after_the_other():
    world = scaled_to_one()
    for ordinal in (4, 3, 2, 1):
        assert terminating(world) == [f"db-{ordinal}"]
        world.run(30)
        assert terminating(world) == [f"db-{ordinal}"]  # until it is removed
        world.end(f"db-{ordinal}")
        world.settle()
    assert world.names() == ["db-0"]


def test_an_unavailable_condemned_pod_blocks_the_others_unless_it_is_the_first():
    world = scaled_to_one("db-1", "db-3")
    world.end("db-4")
    world.settle()
    assert terminating(world) == []  # db-3 is not the first unavailable pod, db-1 is
    world.ready("db-3")
    assert terminating(world) == ["db-3"]
    for ordinal in (3, 2):
        world.end(f"db-{ordinal}")
        world.settle()
    assert terminating(world) == ["db-1"]


def test_an_unavailable_replica_is_before_all_condemned_pods():
    world = scaled_to_one("db-0")
    assert terminating(world) == []
    world.ready("db-0")
    assert terminating(world) == ["db-4"]


def test_pods_without_an_ordinal_are_released():
    world = cluster()
    world.apply(SET)
    world.run(5)
    (owner,) = world.get("pod", "db-0").raw["metadata"]["ownerReferences"]
    world.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "db-x", "labels": {"app": "db"}, "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "c", "image": "db:1"}]},
        }
    )
    world.run(5)
    assert world.get("pod", "db-x").metadata.owner_references == ()
    assert world.status("statefulset", "db")["replicas"] == 3
