"""Stand-ins for the controllers of pods where the given cluster lacks them.

A dump of nodes and pods has no ReplicaSets, and a decision log no Deployments. Garbage collection
would delete their dependents, nothing would create evicted pods again, and budgets that count in
percent could not be computed. So each missing controller of pods gets an object of its kind, with
as many replicas as it has pods; other references to missing owners are removed. A pod of a custom
controller, such as a RayCluster, gets a ReplicaSet of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from podwright.apimachinery.objects import (
    Document,
    Object,
    OwnerReference,
    Pod,
    api_group,
    decode,
    require_objects,
    with_fields,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.controllers import missing_replica_sets, pod_template
from podwright.simulation.world import with_present_owners

_ManyPods: TypeAlias = Sequence[Pod]
_Key: TypeAlias = tuple[str, str, str, str]

_CLAIM: Final = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
}
"""What claims of a StatefulSet request that the cluster is given without."""

_ENDLESS: Final = 2**31 - 1
_ON_DELETE: Final = {"updateStrategy": {"type": "OnDelete"}}
_KINDS: Final = ("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job")


def with_stand_ins(objects: Iterable[Object]) -> list[Object]:
    """Return objects whose owners all exist: with stand-ins for missing controllers of pods."""
    given = list(objects)
    require_objects(given)
    given = [_with_known_controller(obj) for obj in given]
    given += missing_replica_sets(given)
    uids = {obj.uid for obj in given if obj.uid}
    pods: dict[_Key, list[Pod]] = {}
    for obj in given:
        owner = obj.metadata.controller
        if not isinstance(obj, Pod) or obj.is_terminal or owner is None or owner.uid in uids:
            continue
        if owner.kind in _KINDS and owner.name:
            key = (owner.api_version, owner.kind, owner.name, obj.namespace)
            pods.setdefault(key, []).append(obj)
    stand_ins = [_stand_in(key, several) for key, several in pods.items()]
    return list(with_present_owners([*stand_ins, *given]))


def _with_known_controller(obj: Object) -> Object:
    """Return a pod of a custom controller as one of a ReplicaSet of its own.

    Other objects are returned as they are. No controller of the simulation creates such a pod
    again. The pods of a custom controller may differ, as those of brokers do.
    """
    owner = obj.metadata.controller
    if not isinstance(obj, Pod) or owner is None or owner.kind in _KINDS:
        return obj
    if built_in().of(api_group(owner.api_version), owner.kind) is not None:
        return obj
    own = OwnerReference(
        api_version="apps/v1",
        kind="ReplicaSet",
        name=obj.name,
        uid=f"of-{obj.key}",
        controller=True,
    )
    return with_fields(obj, "metadata", owner_references=(own,))


def _stand_in(key: _Key, pods: _ManyPods) -> Object:
    api_version, kind, name, namespace = key
    owner = pods[0].metadata.controller
    assert owner is not None
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
            "spec": _spec(kind, pods),
        },
        source=f"{kind} {namespace}/{name}",
    )


def _spec(kind: str, pods: _ManyPods) -> Document:
    """Return the spec of a controller of `pods`, whose template is like the first one."""
    template = pod_template(pods)
    labels, pod = template["metadata"]["labels"], template["spec"]
    spec = {"selector": {"matchLabels": labels}, "template": template}
    count = len(pods)
    match kind:
        case "Job":
            counts = {"parallelism": count, "completions": count, "backoffLimit": _ENDLESS}
            return {**spec, **counts, "manualSelector": True}
        case "DaemonSet":  # for the nodes that have its pods
            nodes = sorted({pod.spec.node_name for pod in pods if pod.spec.node_name})
            fields = [{"key": "metadata.name", "operator": "In", "values": [n]} for n in nodes]
            terms = {"nodeSelectorTerms": [{"matchFields": [field]} for field in fields]}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
            pod["affinity"] = {**(pod.get("affinity") or {}), "nodeAffinity": required}
            return spec | _ON_DELETE
        case "StatefulSet":
            return spec | _ON_DELETE | _ordinals_and_claims(pod, pods)
        case "ReplicationController":
            return spec | {"selector": labels, "replicas": count}
        case _:
            return spec | {"replicas": count}


def _ordinals_and_claims(pod: Document, pods: _ManyPods) -> Document:
    """Return the ordinals of pods, and templates of their claims, which `pod` loses."""
    ordinals = [int(tail) for each in pods if (tail := each.name.rpartition("-")[2]).isdecimal()]
    start = min(ordinals, default=0)
    own = {
        volume["name"]: volume
        for volume in pod.get("volumes") or ()
        if (volume.get("persistentVolumeClaim") or {}).get("claimName")
        == f"{volume['name']}-{pods[0].name}"
    }
    pod["volumes"] = [each for each in pod.get("volumes") or () if each["name"] not in own]
    return {
        "replicas": max(ordinals, default=len(pods) - 1) - start + 1,
        "ordinals": {"start": start},
        "volumeClaimTemplates": [{"metadata": {"name": name}, "spec": _CLAIM} for name in own],
        "podManagementPolicy": "Parallel",
    }
