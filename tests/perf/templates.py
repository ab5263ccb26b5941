"""Nodes and pods of upstream's scheduler_perf.

Upstream: test/integration/scheduler_perf/templates/*.yaml; */performance-config.yaml beside it has
their numbers and labels. There is one difference: every node has the label
`kubernetes.io/hostname`, as a kubelet sets it, so that terms over hosts have an effect.

Pods of one template share their spec, and are built before the measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from podwright.apimachinery.objects import Node, ObjectMeta, Pod, decode_node, decode_pod

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

Document = dict[str, Any]


def node_document(index: int, zones: Sequence[str] = ()) -> Document:
    """Return node-default.yaml; zones are assigned in turn (labelNodePrepareStrategy)."""
    name = f"scheduler-perf-{index}"
    labels = {HOSTNAME: name}
    if zones:
        labels[ZONE] = zones[index % len(zones)]
    resources = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def nodes(count: int, zones: Sequence[str] = ()) -> list[Node]:
    """Return nodes of node-default.yaml."""
    return [decode_node(node_document(index, zones)) for index in range(count)]


def pod_document(
    *,
    labels: dict[str, str] | None = None,
    cpu: str = "100m",
    memory: str = "500Mi",
    namespace: str = "default",
    **spec: Any,
) -> Document:
    """Return pod-default.yaml with labels and further fields of the spec."""
    amounts = {"cpu": cpu, "memory": memory}
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.10.1",
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "resources": {"requests": amounts, "limits": amounts},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "template", "namespace": namespace, "labels": labels or {}},
        "spec": {"schedulerName": "default-scheduler", "containers": [container], **spec},
    }


def pods(template: Document, count: int, prefix: str = "pod") -> list[Pod]:
    """Return pods of one template; they share their spec, status and labels."""
    like = decode_pod(template)
    replace = msgspec.structs.replace
    shared = like.metadata
    return [
        replace(
            like,
            metadata=ObjectMeta(
                name=f"{prefix}-{index}",
                namespace=shared.namespace,
                uid=f"{prefix}-{index}",
                labels=shared.labels,
            ),
        )
        for index in range(count)
    ]


def _selecting(color: str) -> Document:
    return {"matchLabels": {"color": color}}


def spreading(when_unsatisfiable: str) -> Document:
    """Return pod-with-topology-spreading.yaml, or its preferred form."""
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": when_unsatisfiable,
        "labelSelector": _selecting("blue"),
    }
    return pod_document(labels={"color": "blue"}, topologySpreadConstraints=[constraint])


def _term(color: str, topology_key: str) -> Document:
    return {
        "labelSelector": _selecting(color),
        "topologyKey": topology_key,
        "namespaces": ["sched-1", "sched-0"],
    }


def pod_affinity(namespace: str) -> Document:
    """Return pod-with-pod-affinity.yaml: required, in one zone."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [_term("blue", ZONE)]}
    return pod_document(
        labels={"color": "blue"}, namespace=namespace, affinity={"podAffinity": required}
    )


def preferred_pod_affinity(namespace: str) -> Document:
    """Return pod-with-preferred-pod-affinity.yaml: preferred, over hosts."""
    weighted = {"weight": 1, "podAffinityTerm": _term("red", HOSTNAME)}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    return pod_document(
        labels={"color": "red"}, namespace=namespace, affinity={"podAffinity": preferred}
    )


def pod_anti_affinity(namespace: str) -> Document:
    """Return pod-with-pod-anti-affinity.yaml: required, over hosts."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [_term("green", HOSTNAME)]}
    return pod_document(
        labels={"color": "green"}, namespace=namespace, affinity={"podAntiAffinity": required}
    )


def node_affinity() -> Document:
    """Return pod-with-node-affinity.yaml: required, one of two zones."""
    expression = {"key": ZONE, "operator": "In", "values": ["zone1", "zone2"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return pod_document(affinity={"nodeAffinity": required})


def low_priority() -> Document:
    """Return pod-low-priority.yaml: four of them fill a node."""
    return pod_document(cpu="900m", memory="500Mi")


def high_priority() -> Document:
    """Return pod-high-priority.yaml: it preempts three pods of low priority."""
    return pod_document(cpu="3000m", memory="500Mi", priority=10)


def lifelike_node_json(index: int) -> bytes:
    """Return a node as the API server of a cloud cluster sends it, as JSON text.

    It has about as many labels, annotations, conditions and images as such nodes.
    """
    document = node_document(index)
    name = document["metadata"]["name"]
    zone = f"region-1{'abc'[index % 3]}"
    kind = f"m6.{['large', 'xlarge', '2xlarge', '4xlarge'][index % 4]}"
    address = f"10.{index >> 16}.{index >> 8 & 255}.{index & 255}"
    document["metadata"] |= {
        "uid": f"00000000-0000-4000-8000-{index:012x}",
        "resourceVersion": str(1_000_000 + index),
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {
            HOSTNAME: name,
            ZONE: zone,
            "topology.kubernetes.io/region": "region-1",
            "beta.kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": kind,
            "example.com/pool": f"pool-{index % 40}",
            "example.com/rack": f"rack-{index // 40}",
        },
        "annotations": {
            "node.alpha.kubernetes.io/ttl": "0",
            "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            "csi.volume.kubernetes.io/nodeid": f'{{"csi.example.com":"i-{index:017x}"}}',
        },
    }
    document["spec"] = {
        "podCIDR": f"{address}/32",
        "providerID": f"example:///{zone}/i-{index:017x}",
    }
    document["status"] |= {
        "conditions": [
            {
                "type": condition,
                "status": "True" if condition == "Ready" else "False",
                "reason": f"KubeletHas{condition}",
                "message": f"kubelet reports {condition}",
                "lastHeartbeatTime": "2026-01-01T00:10:00Z",
                "lastTransitionTime": "2026-01-01T00:00:10Z",
            }
            for condition in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
        ],
        "addresses": [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": name},
        ],
        "nodeInfo": {
            "machineID": f"{index:032x}",
            "systemUUID": f"{index:032x}",
            "kernelVersion": "6.8.0",
            "osImage": "Linux",
            "containerRuntimeVersion": "containerd://2.0.0",
            "kubeletVersion": "v1.36.0",
            "architecture": "amd64",
            "operatingSystem": "linux",
        },
        "images": [
            {"names": [f"registry.example.com/team/app-{number}:v1"], "sizeBytes": 50_000_000}
            for number in range(index % 8, index % 8 + 10)
        ],
    }
    return msgspec.json.encode(document)
