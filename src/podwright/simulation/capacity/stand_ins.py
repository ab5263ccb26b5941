"""Stand-ins for the controllers of pods that a cluster is given without.

A dump of nodes and pods has no ReplicaSets, and a decision log no Deployments. Garbage collection
would delete their dependents, nothing would create evicted pods again, and budgets that count in
percent could not be computed. So each missing controller of pods gets an object of its kind, with
as many replicas as it has pods; other references to missing owners are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import (
    Document,
    Object,
    Pod,
    decode,
    encode,
)
from podwright.simulation.world import with_present_owners

_ManyPods: TypeAlias = Sequence[Pod]
_Key: TypeAlias = tuple[str, str, str, str]

_CLAIM: Final = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
}
"""What claims of a StatefulSet request that the cluster is given without."""

_OF_ONE_POD: Final = frozenset(
    {
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "controller-revision-hash",
        "pod-template-generation",
        "statefulset.kubernetes.io/pod-name",
    }
)
"""Labels that controllers add to pods, and templates do not have."""

_ENDLESS: Final = 2**31 - 1


def with_stand_ins(objects: Iterable[Object]) -> list[Object]:
    """Return objects whose owners all exist: with stand-ins for missing controllers of pods."""
    given = list(objects)
    uids = {obj.uid for obj in given if obj.uid}
    pods: dict[_Key, list[Pod]] = {}
    for obj in given:
        owner = obj.metadata.controller
        if not isinstance(obj, Pod) or obj.is_terminal or owner is None or owner.uid in uids:
            continue
        if owner.kind in _SPECS:
            key = (owner.api_version, owner.kind, owner.name, obj.namespace)
            pods.setdefault(key, []).append(obj)
    stand_ins = [_stand_in(key, several) for key, several in pods.items()]
    return list(with_present_owners([*stand_ins, *given]))


def _stand_in(key: _Key, pods: _ManyPods) -> Object:
    api_version, kind, name, namespace = key
    owner = pods[0].metadata.controller
    assert owner is not None
    common = set.intersection(*(set(pod.metadata.labels.items()) for pod in pods))
    labels = {key: value for key, value in sorted(common) if key not in _OF_ONE_POD}
    spec = {
        key: value
        for key, value in encode(pods[0])["spec"].items()
        if key not in ("nodeName", "hostname")
    }
    template = {"metadata": {"labels": labels}, "spec": spec}
    own = {"replicas": len(pods), "selector": {"matchLabels": labels}, "template": template}
    return decode(
        {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": owner.uid,
                "resourceVersion": "1",
            },
            "spec": _SPECS[kind](own, pods),
        },
        source=f"{kind} {namespace}/{name}",
    )


def _as_it_is(spec: Document, _: _ManyPods) -> Document:
    return spec


def _replication_controller(spec: Document, _: _ManyPods) -> Document:
    return spec | {"selector": spec["selector"]["matchLabels"]}


def _job(spec: Document, _: _ManyPods) -> Document:
    count = spec["replicas"]
    kept = {"selector": spec["selector"], "template": spec["template"]}
    counts = {"parallelism": count, "completions": count, "backoffLimit": _ENDLESS}
    return {**kept, **counts, "manualSelector": True}


def _daemon_set(spec: Document, pods: _ManyPods) -> Document:
    """Return a set for the nodes that have its pods, which it does not replace."""
    nodes = sorted({pod.spec.node_name for pod in pods if pod.spec.node_name})
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in nodes]
    terms = [{"matchFields": [field]} for field in fields]
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    template = spec["template"]
    pod_spec = template["spec"]
    pod_spec["affinity"] = {**(pod_spec.get("affinity") or {}), "nodeAffinity": affinity}
    kept = {"selector": spec["selector"], "template": template}
    return kept | {"updateStrategy": {"type": "OnDelete"}}


def _stateful_set(spec: Document, pods: _ManyPods) -> Document:
    """Return a set with the ordinals of its pods, and a template of each of their claims."""
    ordinals = [int(tail) for pod in pods if (tail := pod.name.rpartition("-")[2]).isdecimal()]
    start = min(ordinals, default=0)
    pod_spec = spec["template"]["spec"]
    claims: list[str] = []
    volumes: list[Mapping[str, Any]] = []
    for volume in pod_spec.get("volumes") or ():
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim == f"{volume['name']}-{pods[0].name}":
            claims.append(volume["name"])
        else:
            volumes.append(volume)
    return spec | {
        "replicas": max(ordinals, default=len(pods) - 1) - start + 1,
        "ordinals": {"start": start},
        "template": spec["template"] | {"spec": pod_spec | {"volumes": volumes}},
        "volumeClaimTemplates": [{"metadata": {"name": name}, "spec": _CLAIM} for name in claims],
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"},
    }


_SPECS: Final[Mapping[str, Callable[[Document, _ManyPods], Document]]] = {
    "ReplicaSet": _as_it_is,
    "ReplicationController": _replication_controller,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": _job,
}
"""The spec of a stand-in of each kind, made of that of a ReplicaSet."""
