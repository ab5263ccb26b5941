"""The replicas of workloads that a HorizontalPodAutoscaler scales, without load.

Upstream: pkg/controller/podautoscaler/horizontal.go, `reconcileAutoscaler`. A workload with 0
replicas is not scaled; one with fewer than `minReplicas` or more than `maxReplicas` gets these
numbers, whatever its metrics are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from podwright.apimachinery.objects import Object, api_group, encode
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.controllers.workload_fields import number, spec_of
from podwright.cluster.store import GroupKind, kind_of

HpaBound: TypeAlias = Literal["min", "max"]

_AUTOSCALER: GroupKind = ("autoscaling", "HorizontalPodAutoscaler")


def autoscaled(objects: Iterable[Object], bound: HpaBound) -> tuple[list[Object], list[str]]:
    """Return the objects with the replicas that autoscalers set, and a sentence for each change.

    Parameters
    ----------
    bound : str
        `min`: without load, each workload has its replicas, but not fewer than `minReplicas` and
        not more than `maxReplicas`. `max`: under full load, it has `maxReplicas`.
    """
    several = list(objects)
    scalers = [obj for obj in several if kind_of(obj) == _AUTOSCALER]
    if not scalers:
        return several, []
    places = {(kind_of(obj), obj.key): place for place, obj in enumerate(several)}
    notes: list[str] = []
    for scaler in scalers:
        spec = spec_of(scaler)
        target: dict[str, Any] = spec.get("scaleTargetRef") or {}
        kind = (api_group(str(target.get("apiVersion") or "")), str(target.get("kind")))
        key = f"{scaler.namespace}/{target.get('name')}"
        place = places.get((kind, key))
        if place is None or kind not in built_in().scaled:
            notes.append(f"HorizontalPodAutoscaler {scaler.key} has no effect: no {kind[1]} {key}")
            continue
        document = encode(several[place])
        old = number((document.get("spec") or {}).get("replicas"), 1)
        least, most = number(spec.get("minReplicas"), 1), number(spec.get("maxReplicas"), 1)
        new = most if bound == "max" else min(max(old, least), most)
        if old and new != old:
            several[place] = decode({**document, "spec": {**document["spec"], "replicas": new}})
            name = "maxReplicas" if new == most else "minReplicas"
            notes.append(
                f"{kind[1]} {key} has {new} replicas, {name} of HorizontalPodAutoscaler"
                f" {scaler.name}, instead of {old}"
            )
    return several, notes
