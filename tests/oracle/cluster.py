"""The scheduler's snapshot of the cluster: nodes with their pods, and other objects.

Upstream: pkg/scheduler/framework/types.go (NodeInfo), pkg/scheduler/backend/cache/snapshot.go,
pkg/scheduler/backend/queue/nominator.go.
"""

from __future__ import annotations

from typing import Any

from tests.oracle import pod_resources, quantity
from tests.oracle.host_ports import HostPort, host_ports

Document = dict[str, Any]


class Node:
    """A node and its pods; a dry run changes the pods of a copy.

    `host_ports` is a set upstream as well: two pods with the same port count once, and removing one
    of them frees the port.
    """

    def __init__(self, document: Document, cluster: Cluster) -> None:
        self.document = document
        self.cluster = cluster
        self.name: str = document["metadata"]["name"]
        self.labels: dict[str, str] = document["metadata"].get("labels") or {}
        self.pods: list[Document] = []
        self.host_ports: set[HostPort] = set()

    def place(self, pod: Document) -> None:
        """Add a pod to the node (NodeInfo.AddPod)."""
        self.pods.append(pod)
        self.host_ports |= set(host_ports(pod))

    def displace(self, pod: Document) -> None:
        """Remove a pod from the node (NodeInfo.RemovePod)."""
        self.pods = [other for other in self.pods if other is not pod]
        self.host_ports -= set(host_ports(pod))

    def copy(self) -> Node:
        """Return an independent copy of the node."""
        twin = Node(self.document, self.cluster)
        twin.pods = list(self.pods)
        twin.host_ports = set(self.host_ports)
        return twin

    @property
    def taints(self) -> list[Document]:
        """Return spec.taints."""
        found: list[Document] = (self.document.get("spec") or {}).get("taints") or []
        return found

    def allocatable(self, resource: str) -> int:
        """Return allocatable in millicores or whole units; absent is 0."""
        text = ((self.document.get("status") or {}).get("allocatable") or {}).get(resource)
        if text is None:
            return 0
        return quantity.milli(text) if resource == "cpu" else quantity.value(text)

    def requested(self, resource: str) -> int:
        """Sum the resources that the pods occupy."""
        return sum(self.cluster.assigned(pod).get(resource, 0) for pod in self.pods)

    def non_zero_requested(self, resource: str) -> int:
        """Sum cpu and memory of the pods for scoring, with defaults for missing requests."""
        return sum(self.cluster.non_zero(pod)[resource] for pod in self.pods)


def key_of(document: Document) -> str:
    """Return `namespace/name`, or the name of an object without a namespace."""
    metadata = document["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def priority_of(pod: Document) -> int:
    """Return the pod's priority; absent is 0."""
    return int(pod["spec"].get("priority") or 0)


def namespace_of(pod: Document) -> str:
    """Return the pod's namespace."""
    return str(pod["metadata"].get("namespace") or "default")


def labels_of(document: Document) -> dict[str, str]:
    """Return metadata.labels, never None."""
    found: dict[str, str] = document["metadata"].get("labels") or {}
    return found


def is_finished(pod: Document) -> bool:
    """Whether the pod is terminal, and therefore ignored by the scheduler."""
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


class Cluster:
    """All objects of a case."""

    def __init__(self, objects: list[Document]) -> None:
        self._by_kind: dict[str, dict[str, Document]] = {}
        for one in objects:
            self._by_kind.setdefault(one["kind"], {})[key_of(one)] = one
        self.nodes = {n["metadata"]["name"]: Node(n, self) for n in self.all_of("Node")}
        self.nominated: dict[str, list[Document]] = {}
        self._assigned: dict[int, dict[str, int]] = {}
        self._non_zero: dict[int, dict[str, int]] = {}
        for pod in self.all_of("Pod"):
            if is_finished(pod):
                continue
            place = pod["spec"].get("nodeName")
            nomination = (pod.get("status") or {}).get("nominatedNodeName")
            if place:
                # The snapshot contains no pod of a node that does not exist.
                if place in self.nodes:
                    self.nodes[place].place(pod)
            elif nomination:
                self.nominated.setdefault(nomination, []).append(pod)

    def in_visiting_order(self) -> list[Node]:
        """Return the nodes in the order of the snapshot: one of each zone in turn.

        Upstream: pkg/scheduler/backend/cache/node_tree.go,

            staging/src/k8s.io/component-helpers/node/topology/helpers.go
        """
        zones: dict[tuple[str, str], list[Node]] = {}
        for node in self.nodes.values():
            region, zone = (
                node.labels.get(
                    f"failure-domain.beta.kubernetes.io/{level}",
                    node.labels.get(f"topology.kubernetes.io/{level}", ""),
                )
                for level in ("region", "zone")
            )
            zones.setdefault((region, zone), []).append(node)
        longest = max(map(len, zones.values()), default=0)
        return [nodes[i] for i in range(longest) for nodes in zones.values() if i < len(nodes)]

    def all_of(self, kind: str) -> list[Document]:
        """Return the objects of a kind, in the order of the case."""
        return list(self._by_kind.get(kind, {}).values())

    def get(self, kind: str, name: str, namespace: str = "") -> Document | None:
        """Return an object by name, or None."""
        return self._by_kind.get(kind, {}).get(f"{namespace}/{name}" if namespace else name)

    def namespace_labels(self, name: str) -> dict[str, str]:
        """Return the labels of a namespace; an absent namespace has none."""
        found = self.get("Namespace", name)
        return labels_of(found) if found else {}

    # Requests are cached by identity: the documents of a case outlive its cluster.
    def assigned(self, pod: Document) -> dict[str, int]:
        """Return the resources that the pod occupies on its node."""
        if id(pod) not in self._assigned:
            self._assigned[id(pod)] = pod_resources.assigned_requests(pod)
        return self._assigned[id(pod)]

    def non_zero(self, pod: Document) -> dict[str, int]:
        """Return the resources that the pod occupies for scoring."""
        if id(pod) not in self._non_zero:
            self._non_zero[id(pod)] = pod_resources.non_zero_requests(pod)
        return self._non_zero[id(pod)]
