"""Nodes and pods of mixed kinds, whose requests exceed what the nodes have."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any, Final

PODS_PER_NODE: Final = 10
_ZONE: Final = "topology.kubernetes.io/zone"
_HOST: Final = "kubernetes.io/hostname"


def nodes_manifest(count: int) -> str:
    """Return nodes in three zones, each tenth with a taint, and a local volume on each third."""
    return _manifest([*map(_node, range(count)), *map(_volume, range(0, count, 3))])


def pods_manifest(node_count: int, *, seed: int = 3) -> str:
    """Return priority classes, a storage class, claims, and ten pods for each node."""
    drawn = random.Random(seed)
    documents: list[dict[str, Any]] = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "local"},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    ]
    for name, value in (("low", 10), ("high", 1_000)):
        documents.append(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
        )
    claim_count = node_count // 4
    for number in range(PODS_PER_NODE * node_count):
        claim = f"claim-{number}" if number < claim_count else None
        if claim is not None:
            documents.append(_claim(claim))
        documents.append(_pod(number, drawn, claim))
    return _manifest(documents)


def urgent_pods_manifest(node_count: int) -> str:
    """Return pods that only fit on full nodes of `nodes_manifest` after a preemption."""
    return _manifest([_urgent_pod(number) for number in range(node_count // 5)])


def _manifest(documents: list[dict[str, Any]]) -> str:
    return "\n---\n".join(map(json.dumps, documents))


def _node(number: int) -> dict[str, Any]:
    resources = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    name = f"node-{number}"
    taints = [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {_ZONE: "abc"[number % 3], _HOST: name}},
        "spec": {"taints": taints} if number % 10 == 0 else {},
        "status": {"capacity": resources, "allocatable": resources},
    }


def _volume(number: int) -> dict[str, Any]:
    here = {"key": _HOST, "operator": "In", "values": [f"node-{number}"]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"volume-{number}"},
        "spec": {
            "storageClassName": "local",
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        },
    }


def _claim(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "storageClassName": "local",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def _pod(number: int, drawn: random.Random, claim: str | None) -> dict[str, Any]:
    app = {"app": f"app-{drawn.randrange(12)}"}
    cpu, memory = drawn.choice([100, 250, 500, 900]), drawn.choice([64, 128, 512])
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    container = {"name": "main", "image": "nginx", "resources": {"requests": requests}}
    spec: dict[str, Any] = {"containers": [container], **_constraint(number % 6, app, drawn)}
    if claim is not None:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "namespace": "default", "labels": app},
        "spec": spec,
    }


def _urgent_pod(number: int) -> dict[str, Any]:
    container = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": "2500m"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"urgent-{number}", "namespace": "default"},
        "spec": {"containers": [container], "priorityClassName": "high"},
    }


def _constraint(which: int, app: Mapping[str, str], drawn: random.Random) -> dict[str, Any]:
    """Return what the spec of a pod has besides requests; nothing for the first kind."""
    selector = {"matchLabels": app}
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    if which == 1:
        action = drawn.choice(["DoNotSchedule", "ScheduleAnyway"])
        spread = {"maxSkew": 2, "topologyKey": _ZONE, "whenUnsatisfiable": action}
        return {"topologySpreadConstraints": [{**spread, "labelSelector": selector}]}
    if which == 2:
        term = {"topologyKey": _HOST, "labelSelector": selector}
        weighted = [{"weight": 50, "podAffinityTerm": term}]
        return {"affinity": {"podAntiAffinity": {preferred: weighted}}}
    if which == 3:
        zone = {"key": _ZONE, "operator": "In", "values": [drawn.choice("abc")]}
        weighted_zone = [{"weight": 30, "preference": {"matchExpressions": [zone]}}]
        return {"affinity": {"nodeAffinity": {preferred: weighted_zone}}}
    if which == 4:
        return {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}
    if which == 5:
        return {"priorityClassName": drawn.choice(["low", "high"])}
    return {}
