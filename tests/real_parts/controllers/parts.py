"""The objects of drawn clusters: times, owners, pods in any state, and revisions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from podwright.cluster.controllers.apps.controller_revisions import revision_hash, template_patch

Document = dict[str, Any]

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
LABELS: Final = {"app": "web"}
NODES: Final = ("n0", "n1", "n2", "n3")


def time(age: int) -> str:
    """Return the time some seconds ago."""
    return (NOW - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ")


def an_object(kind: str, name: str, api: str = "v1", **parts: Any) -> Document:
    metadata = {"name": name, "uid": f"uid-{name}", "creationTimestamp": time(5000)}
    metadata |= {} if kind == "Node" else {"namespace": "default"}
    metadata |= parts.pop("metadata", {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **parts}


def owner_references(kind: str, api: str, name: str = "web") -> list[Document]:
    return [
        {"apiVersion": api, "kind": kind, "name": name, "uid": f"uid-{name}",
         "controller": True, "blockOwnerDeletion": True}
    ]  # fmt: skip


def a_template(image: str, **spec: Any) -> Document:
    container = {"name": "main", "image": image}
    return {"metadata": {"labels": dict(LABELS)}, "spec": {"containers": [container]} | spec}


def ready_conditions(random: Random, chance: float) -> list[Document]:
    is_ready = random.random() < chance
    age = random.choice([1, 5, 300, 900])
    return [
        {"type": "Ready", "status": "True" if is_ready else "False",
         "lastTransitionTime": time(age)}
    ]  # fmt: skip


def a_pod(random: Random, name: str, **given: Any) -> Document:
    """Return a pod in any state; `metadata`, `spec` and `status` have precedence."""
    # Of pods that were created at once, upstream takes any.
    age = random.choice([2, 40, 900, 2000]) + int("".join(filter(str.isdigit, name)))
    metadata: Document = {"labels": dict(LABELS), "creationTimestamp": time(age)}
    spec: Document = {"containers": [{"name": "main", "image": "app:2"}]}
    phase = random.choice(["Running"] * 6 + ["Pending", "Pending", "Failed", "Succeeded"])
    status: Document = {"phase": phase}
    if phase != "Pending" or random.random() < 0.5:
        spec["nodeName"] = random.choice(NODES)
        status["startTime"] = time(age)
    if phase == "Running":
        status["conditions"] = ready_conditions(random, 0.75)
    if random.random() < 0.12:
        metadata |= {"deletionTimestamp": time(-20), "deletionGracePeriodSeconds": 30}
        spec.setdefault("nodeName", "n0")
    metadata |= given.get("metadata", {})
    return an_object(
        "Pod", name, metadata=metadata, spec=spec | given.get("spec", {}),
        status=status | given.get("status", {}),
    )  # fmt: skip


def going(random: Random, chance: float = 0.04) -> Document:
    if random.random() >= chance:
        return {}
    # Without a finalizer the object would be gone.
    return {"deletionTimestamp": time(3), "finalizers": ["example.com/wait"]}


def maybe(random: Random, chance: float, **fields: Any) -> Document:
    return fields if random.random() < chance else {}


def a_revision(kind: str, number: int, template: Document, name: str = "") -> Document:
    data = template_patch(template)
    label = revision_hash(data, None)
    return an_object(
        "ControllerRevision", name or f"web-{label}", "apps/v1",
        metadata={
            "labels": LABELS | {"controller.kubernetes.io/hash": label}
            | ({"controller-revision-hash": label} if kind == "DaemonSet" else {}),
            "ownerReferences": owner_references(kind, "apps/v1"),
        },
        data=data,
        revision=number,
    )  # fmt: skip


def complete_template(image: str) -> Document:
    """Return a template with its defaults, as an API server stores it."""
    container = {
        "name": "main",
        "image": image,
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    return a_template(image) | {
        "spec": {
            "containers": [container],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "schedulerName": "default-scheduler",
        }
    }
