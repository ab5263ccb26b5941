"""The report of cluster-capacity: ClusterCapacityReview, and its text.

Upstream: kubernetes-sigs/cluster-capacity, pkg/framework/report.go. What it does not have is added:
zones, pools, sets, evicted pods, headroom and losses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from podwright.apimachinery.objects import (
    Pod,
    decode,
    format_quantity,
    parse_quantity_text,
    pending_requests,
)
from podwright.simulation.capacity.counting import Capacity, TemplateCapacity
from podwright.simulation.capacity.filling import CapacityStop
from podwright.simulation.capacity.templates import pod_document

_PRIMARY = ("cpu", "memory", "ephemeral-storage")


def capacity_review(answer: Capacity, *, max_limit: int = 0, now: str = "") -> dict[str, Any]:
    """Return an answer as a ClusterCapacityReview.

    Parameters
    ----------
    answer : Capacity
        What `capacity` returned.
    max_limit : int
        The most pods that were asked for; 0 for no limit.
    now : str
        The time of the review, RFC 3339.
    """
    stop = answer.stop
    status: dict[str, Any] = {
        "creationTimestamp": now or None,
        "replicas": answer.count,
        "failReason": None if stop is None else _reason(stop),
        "pods": [
            _result(each, stop if index == answer.stopped_template else None)
            for index, each in enumerate(answer.templates)
        ],
        "sets": answer.sets,
        "nodes": answer.node_count,
        "pending": {
            "scheduled": answer.pending_scheduled,
            "unscheduled": answer.pending_unscheduled,
        },
    }
    more: dict[str, Any] = {
        "evicted": list(answer.evicted),
        "preemption": stop is not None
        and stop.nominated_node
        and {"node": stop.nominated_node, "victims": list(stop.victims)},
        "headroom": [
            {
                "kind": each.kind,
                "workload": each.key,
                "running": each.running,
                "replicas": each.count,
                "failReason": _reason(each.stop),
            }
            for each in answer.headroom
        ],
        "losses": [
            msgspec.structs.asdict(each)
            | {"pending": [{"pod": p.pod, "failMessage": p.stop.message} for p in each.pending]}
            for each in answer.losses
        ],
    }
    status |= {name: value for name, value in more.items() if value}
    spec = {
        "templates": [pod_document(each.pod) for each in answer.templates],
        "replicas": max_limit,
        "podRequirements": [_requirements(each) for each in answer.templates],
    }
    return {"kind": "ClusterCapacityReview", "spec": spec, "status": status}


def _reason(stop: CapacityStop) -> dict[str, str]:
    return {"failType": stop.type, "failMessage": stop.message}


def _result(found: TemplateCapacity, stop: CapacityStop | None) -> dict[str, Any]:
    return {
        "podName": found.pod.name,
        "replicasOnNodes": [
            {"nodeName": name, "replicas": count} for name, count in found.nodes.items()
        ],
        "failSummary": None
        if stop is None
        else [{"reason": each.reason, "count": each.nodes} for each in stop.reasons],
        "replicas": found.count,
        "replicasInSet": found.weight,
        "replicasInZones": found.zones,
        "replicasInPools": found.pools,
    }


def _requirements(found: TemplateCapacity) -> dict[str, Any]:
    pod = decode(pod_document(found.pod))
    assert isinstance(pod, Pod), pod.kind
    requests = pending_requests(pod)
    primary = {"cpu": "0", "memory": "0"} | {
        name: _text(name, amount) for name, amount in requests.items() if name in _PRIMARY
    }
    scalars = {name: amount for name, amount in requests.items() if name not in _PRIMARY}
    return {
        "podName": found.pod.name,
        "resources": {"primaryResources": primary, "scalarResources": scalars or None},
        "nodeSelectors": pod.spec.node_selector or None,
    }


def _text(name: str, amount: int) -> str:
    text = f"{amount}m" if name == "cpu" else str(amount)
    if name != "cpu" and amount % 1024 == 0:
        text = f"{amount // 1024}Ki"
    return format_quantity(parse_quantity_text(text))


def review_text(review: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that cluster-capacity prints of `review` with `--verbose`."""
    status = review["status"]
    for each in review["spec"]["podRequirements"]:
        resources = each["resources"]
        yield f"{each['podName']} pod requirements:"
        yield f"\t- CPU: {resources['primaryResources']['cpu']}"
        yield f"\t- Memory: {resources['primaryResources']['memory']}"
        if resources["scalarResources"]:
            scalars = " ".join(f"{k}:{v}" for k, v in sorted(resources["scalarResources"].items()))
            yield f"\t- ScalarResources: map[{scalars}]"
        if each["nodeSelectors"]:
            pairs = sorted(each["nodeSelectors"].items())
            yield "\t- NodeSelector: " + ",".join(f"{k}={v}" for k, v in pairs)
        yield ""
    for pod in status["pods"]:
        yield f"The cluster can schedule {pod['replicas']} instance(s) of the pod {pod['podName']}."
    reason = status["failReason"]
    if reason is not None:
        yield ""
        yield f"Termination reason: {reason['failType']}: {reason['failMessage']}"
    if status["replicas"]:
        for pod in status["pods"]:
            if pod["failSummary"]:
                counts = (f"{one['reason']} ({one['count']}), " for one in pod["failSummary"])
                yield f"fit failure summary on nodes: {''.join(counts)}"
        yield ""
        yield "Pod distribution among nodes:"
        for pod in status["pods"]:
            yield pod["podName"]
            for one in pod["replicasOnNodes"]:
                yield f"\t- {one['nodeName']}: {one['replicas']} instance(s)"
