"""The workload controllers write the same forms as real 1.36 controllers.

The input is what users wrote in the dump of a real cluster: deployments, stateful sets, daemon sets
and replication controllers without their status, and nodes. The objects that our controllers create
are compared with the real ones. Unit tests of the rules are beside the
controllers.
"""

import re
from collections import Counter, defaultdict

import pytest
from tests.golden import real_cluster

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
REVISIONS = {"deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history"}
HASH = "[bcdf456789]{1,10}"
SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"
NOT_OURS = {
    "topology.kubernetes.io/region": "copied onto a pod when it is bound",
    "topology.kubernetes.io/zone": "copied onto a pod when it is bound",
}
SERVICE_ACCOUNTS = {"serviceAccount", "serviceAccountName"}


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
    prefix = metadata["generateName"]
    return {
        "metadata": sorted(set(metadata) - {"finalizers"}),
        "labels": sorted(set(metadata.get("labels", {})) - set(NOT_OURS)),
        "annotations": sorted(metadata.get("annotations", {})),
        "owner": {k: v for k, v in owner.items() if k not in {"name", "uid"}},
        "generateName": re.sub(f"-{HASH}-$", "-HASH-", prefix)
        if owner["kind"] == "ReplicaSet"
        else prefix,
        "spec": sorted(set(spec) - SERVICE_ACCOUNTS - {"volumes"}),
        "volumes": [
            one["name"]
            for one in spec.get("volumes", [])
            if not one["name"].startswith("kube-api-access-")
        ],
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
    theirs = defaultdict(list)
    for pod in pods_of(real):
        theirs[root(pod)].append(form(pod))
    for pod in pods_of(made):
        assert form(pod) in theirs[root(pod)], root(pod)


def test_daemon_pods_are_on_the_same_nodes(real, made):
    def places(documents):
        pods = [pod for pod in pods_of(documents) if root(pod)[0] == "DaemonSet"]
        return sorted((root(pod)[2], pod["spec"]["nodeName"]) for pod in pods)

    assert places(made) == places(real)
    assert places(real)


def test_stateful_pods_have_the_same_names_revisions_and_claims(real, made):
    def pods(documents):
        return sorted(
            (
                pod["metadata"]["name"],
                [
                    pair
                    for pair in sorted(pod["metadata"]["labels"].items())
                    if pair[0] not in NOT_OURS
                ],
                pod["spec"]["hostname"],
                pod["spec"]["subdomain"],
                [one.get("persistentVolumeClaim") for one in pod["spec"]["volumes"]][:1],
            )
            for pod in pods_of(documents)
            if root(pod)[0] == "StatefulSet"
        )

    assert pods(made) == pods(real)


def test_claims_have_the_same_labels_owners_and_fields(real, made):
    def claims(documents):
        return {
            one["metadata"]["name"]: (
                one["metadata"].get("labels"),
                [owner["kind"] for owner in one["metadata"].get("ownerReferences", [])],
                {k: v for k, v in one["spec"].items() if k != "volumeName"},
            )
            for one in documents["PersistentVolumeClaim"]
        }

    theirs, found = claims(real), claims(made)
    assert found
    assert found == {name: theirs[name] for name in found}


def test_replica_sets_have_the_same_fields(real, made):
    def newest(documents):
        return {
            root(one): {
                "metadata": sorted(one["metadata"]),
                "labels": sorted(one["metadata"]["labels"]),
                "annotations": {
                    k: v for k, v in one["metadata"]["annotations"].items() if k not in REVISIONS
                },
                "spec": sorted(one["spec"]),
                "selector": sorted(one["spec"]["selector"]["matchLabels"]),
                "status": {k: v for k, v in one["status"].items() if k != "observedGeneration"},
            }
            for one in documents["ReplicaSet"]
            if one["spec"]["replicas"]
        }

    theirs, found = newest(real), newest(made)
    assert found.keys() == theirs.keys()
    waiting = owners_with_waiting_pods(real)
    for key, one in found.items():
        if key in waiting:
            del one["status"], theirs[key]["status"]
        assert one == theirs[key], key
    assert len(waiting) < 5


@pytest.mark.parametrize("kind", OWNERS)
def test_status_has_the_same_fields(kind, real, made):
    def statuses(documents):
        result = {}
        for one in documents[kind]:
            status = dict(one["status"])
            status.pop("observedGeneration")
            status["conditions"] = sorted(
                (
                    each["type"],
                    each["status"],
                    each["reason"],
                    re.sub(f'-{HASH}"', '-HASH"', each["message"]),
                    sorted(each),
                )
                for each in status.get("conditions", [])
            )
            result[kind, one["metadata"]["namespace"], one["metadata"]["name"]] = status
        return result

    theirs, found = statuses(real), statuses(made)
    assert found.keys() == theirs.keys()
    for key in found.keys() - owners_with_waiting_pods(real):
        assert found[key] == theirs[key], key


def test_events_read_as_the_real_ones(ours):
    def shown(source, kind, severity, reason, text):
        text = text.removeprefix("(combined from similar events): ")
        text = re.sub(r"\bfrom \d+ to \d+$", "from N to N", text)
        text = re.sub(rf"-{HASH}-{SUFFIX}\b", "-HASH-x", text)
        text = re.sub(rf"-{HASH}\b", "-HASH", text)
        text = re.sub(rf"\b(?:[a-z]+-)+(?:HASH(?:-x)?|\d+|{SUFFIX})\b", "NAME", text)
        return source, kind, severity, reason, re.sub(r"StatefulSet \w+", "StatefulSet S", text)

    theirs = {
        shown(
            one["source"].get("component"),
            one["involvedObject"]["kind"],
            one["type"],
            one["reason"],
            one["message"],
        )
        for one in real_cluster.events()
    }
    found = {
        shown(a.source, a.object_kind, a.type, a.reason, a.note)
        for a in ours.actions
        if isinstance(a, RecordEvent)
    }
    assert found <= theirs
    assert len(found) == 6
