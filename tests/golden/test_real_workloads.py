"""The workload controllers write the same forms as real 1.36 controllers.

The input is what users wrote in the dump of a real cluster: deployments, stateful sets, daemon sets
and replication controllers without their status, and nodes. The objects that our controllers create
are compared with the real ones. Unit tests of the rules are beside the
controllers.
"""

import re
from collections import Counter

import pytest
from tests.golden import real_cluster
from tests.golden.left_out import HASH, SUFFIX, assert_same, distinct, plain

from podwright.cluster.api.requests import RecordEvent
from podwright.cluster.controllers.registry import WORKLOAD_CONTROLLERS
from podwright.cluster.controllers.tests.controller_cluster import Cluster

pytestmark = pytest.mark.golden

OWNERS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicationController")
SHORT = {
    "Deployment": "deployment",
    "StatefulSet": "statefulset",
    "DaemonSet": "daemonset",
    "ReplicationController": "rc",
    "ReplicaSet": "replicaset",
    "Pod": "pod",
    "PersistentVolumeClaim": "pvc",
}
SERVERS = {"creationTimestamp", "generation", "resourceVersion", "uid", "finalizers"}


def asked_for(document):
    """Return a document as a user wrote it."""
    written = {k: v for k, v in document["metadata"].items() if k not in SERVERS}
    annotations = {
        name: text
        for name, text in written.pop("annotations", {}).items()
        if not name.startswith(("deployment.kubernetes.io/", "deprecated.daemonset"))
    }
    if annotations:
        written["annotations"] = annotations
    return {k: v for k, v in document.items() if k != "status"} | {"metadata": written}


def without_gates(owner):
    """Return an owner without scheduling gates in its template."""
    spec = owner["spec"]
    template = spec["template"]
    pod_spec = {k: v for k, v in template["spec"].items() if k != "schedulingGates"}
    return owner | {"spec": spec | {"template": template | {"spec": pod_spec}}}


WAITING = 1
"""Owners of the record with pending pods."""

LEFT_OUT = {
    "Deployment": ("observed generation", "template hash"),
    "StatefulSet": ("observed generation",),
    "DaemonSet": ("observed generation",),
    "ReplicationController": ("observed generation",),
}


@pytest.fixture(scope="module")
def real():
    items = real_cluster.dump("end")
    kinds = (*SHORT, "Node", "PriorityClass")
    return {kind: [one for one in items if one["kind"] == kind] for kind in kinds}


@pytest.fixture(scope="module")
def ours(real):
    world = Cluster(WORKLOAD_CONTROLLERS, nodes=0, ready_after=1)
    for one in real["PriorityClass"]:
        world.create(one)
    for node in real["Node"]:
        world.create(asked_for(node))
    for kind in OWNERS:
        for owner in real[kind]:
            world.create(without_gates(asked_for(owner)))
    world.run(60)
    return world


@pytest.fixture(scope="module")
def made(ours):
    """Return all objects by kind, as documents."""
    return {kind: [one.raw for one in ours.all(short)] for kind, short in SHORT.items()}


def root(document):
    """Return kind, namespace and name of the top-level owner of a pod or replica set."""
    (owner,) = document["metadata"]["ownerReferences"]
    kind, name = owner["kind"], owner["name"]
    if kind == "ReplicaSet":
        kind, name = "Deployment", name.rpartition("-")[0]
    return kind, document["metadata"]["namespace"], name


def pods_of(documents):
    """Return the active pods that workload controllers created."""
    return [
        pod
        for pod in documents["Pod"]
        if pod["metadata"].get("ownerReferences")
        and root(pod)[0] in OWNERS
        and pod["status"].get("phase") not in {"Succeeded", "Failed"}
        and "deletionTimestamp" not in pod["metadata"]
    ]


def owners_with_waiting_pods(real):
    """Return the owners with pods that were pending in the real cluster; here all pods fit."""
    return {
        root(pod)
        for pod in pods_of(real)
        if not any(
            one["type"] == "Ready" and one["status"] == "True"
            for one in pod["status"].get("conditions", [])
        )
    }


def form(pod):
    """Return the identity and the references of a pod, without individual values."""
    metadata, spec = pod["metadata"], pod["spec"]
    (owner,) = metadata["ownerReferences"]
    return {
        "metadata": dict.fromkeys(metadata),
        "labels": dict.fromkeys(metadata.get("labels", {})),
        "annotations": sorted(metadata.get("annotations", {})),
        "owner": owner,
        "generateName": metadata["generateName"],
        "spec": dict.fromkeys(field for field in spec if field != "volumes"),
        "volumes": [one["name"] for one in spec.get("volumes", [])],
        "tolerations": spec.get("tolerations", []),
        "priority": spec["priority"],
    }


def test_every_owner_has_its_replicas_and_as_many_pods_as_recorded(real, made):
    found = Counter(map(root, pods_of(made)))
    assert found == Counter(map(root, pods_of(real)))
    for kind in ("Deployment", "StatefulSet", "ReplicationController"):
        for one in real[kind]:
            key = (kind, one["metadata"]["namespace"], one["metadata"]["name"])
            assert found[key] == one["spec"]["replicas"]
    assert len(found) == sum(len(real[kind]) for kind in OWNERS)


def test_pods_have_names_of_the_same_form(real, made):
    for pod in [*pods_of(real), *pods_of(made)]:
        kind, _, name = root(pod)
        rule = {
            "Deployment": f"{name}-{HASH}-{SUFFIX}",
            "StatefulSet": rf"{name}-\d+",
        }.get(kind, f"{name}-{SUFFIX}")
        assert re.fullmatch(rule, pod["metadata"]["name"])


def test_pods_have_the_same_labels_owners_tolerations_and_fields(real, made):
    # Here all pods fit; some of the recorded ones are pending, and have no node.
    theirs, found = (
        [[root(pod), form(pod)] for pod in pods_of(documents) if pod["spec"].get("nodeName")]
        for documents in (real, made)
    )
    assert_same(
        found, theirs, "uid", "template hash", "zone labels", "service account",
        of_set=True,
    )  # fmt: skip


def test_daemon_pods_are_on_the_same_nodes(real, made):
    def places(documents):
        pods = [pod for pod in pods_of(documents) if root(pod)[0] == "DaemonSet"]
        return sorted((root(pod)[2], pod["spec"]["nodeName"]) for pod in pods)

    assert places(made) == places(real)
    assert places(real)


def test_stateful_pods_have_the_same_names_revisions_and_claims(real, made):
    def pods(documents):
        found = [
            (
                pod["metadata"]["name"],
                pod["metadata"]["labels"],
                pod["spec"]["hostname"],
                pod["spec"]["subdomain"],
                [one.get("persistentVolumeClaim") for one in pod["spec"]["volumes"]][:1],
            )
            for pod in pods_of(documents)
            if root(pod)[0] == "StatefulSet"
        ]
        return sorted(found, key=lambda pod: pod[0])

    assert_same(pods(made), pods(real), "zone labels")


def test_claims_have_the_same_labels_owners_and_fields(real, made):
    def claims(documents):
        return {
            one["metadata"]["name"]: (
                one["metadata"].get("labels"),
                [owner["kind"] for owner in one["metadata"].get("ownerReferences", [])],
                one["spec"],
            )
            for one in documents["PersistentVolumeClaim"]
        }

    theirs, found = claims(real), claims(made)
    assert found
    assert_same(found, {name: theirs[name] for name in found}, "bound volume")


def test_replica_sets_have_the_same_fields(real, made):
    def newest(documents):
        return {
            root(one): {
                "metadata": sorted(one["metadata"]),
                "labels": sorted(one["metadata"]["labels"]),
                "annotations": one["metadata"]["annotations"],
                "spec": sorted(one["spec"]),
                "selector": sorted(one["spec"]["selector"]["matchLabels"]),
                "status": one["status"],
            }
            for one in documents["ReplicaSet"]
            if one["spec"]["replicas"]
        }

    theirs, found = newest(real), newest(made)
    assert found.keys() == theirs.keys()
    waiting = owners_with_waiting_pods(real)
    for key in waiting & found.keys():
        # Here all pods fit, so that the status of each of these is another one.
        assert found[key].pop("status") != theirs[key].pop("status")
    assert len(waiting) == WAITING
    assert_same(
        [found[key] for key in sorted(found)], [theirs[key] for key in sorted(found)],
        "revisions", "observed generation",
    )  # fmt: skip


@pytest.mark.parametrize("kind", OWNERS)
def test_status_has_the_same_fields(kind, real, made):
    def statuses(documents):
        result = {}
        for one in documents[kind]:
            status = dict(one["status"])
            status["conditions"] = sorted(
                (each["type"], each["status"], each["reason"], each["message"], sorted(each))
                for each in status.get("conditions", [])
            )
            result[kind, one["metadata"]["namespace"], one["metadata"]["name"]] = status
        return result

    theirs, found = statuses(real), statuses(made)
    assert found.keys() == theirs.keys()
    waiting = owners_with_waiting_pods(real)
    compared = sorted(found.keys() - waiting)
    assert all(found[key] != theirs[key] for key in found.keys() & waiting)
    assert_same(
        [found[key] for key in compared], [theirs[key] for key in compared], *LEFT_OUT[kind]
    )


def test_events_read_as_the_real_ones(ours):
    theirs = [
        [
            one["source"].get("component"), one["involvedObject"]["kind"], one["type"],
            one["reason"], one["message"],
        ]
        for one in real_cluster.events()
    ]  # fmt: skip
    found = [
        [a.source, a.object_kind, a.type, a.reason, a.note]
        for a in ours.actions
        if isinstance(a, RecordEvent)
    ]
    names = ("scaled", "template hash", "suffix", "names")
    assert_same(found, theirs, *names, is_part=True)
    assert len(distinct(plain(found, names))) == 13
