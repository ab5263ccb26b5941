"""The heartbeats of nodes: a Lease that is renewed every ten seconds, and times in conditions.

Kubelets renew at different times, because they have been started at different times. Nodes that
are created together would renew together, so each has an offset that depends on its name.

Upstream: staging/src/k8s.io/component-helpers/apimachinery/lease/controller.go;
pkg/kubelet/kubelet_node_status.go
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

import msgspec

from podwright.apimachinery.objects import Document, Node, timestamp_text, timestamp_text_micro
from podwright.apimachinery.schema import decode
from podwright.cluster.api import CreateObject, PatchObject
from podwright.cluster.kubelets.kubelet.references import ObjectReader
from podwright.cluster.store import GroupKind

NAMESPACE: Final = "kube-node-lease"
DURATION_SECONDS: Final = 40
RENEW_SECONDS: Final = 10
RENEW_NS: Final = RENEW_SECONDS * 1_000_000_000
STATUS_NS: Final = 300_000_000_000
"""How often the times in the conditions are updated."""

_LEASE: Final[GroupKind] = ("coordination.k8s.io", "Lease")
_USER: Final = "kubelet"


class LeaseRenewal(msgspec.Struct, frozen=True):
    """The writes of a heartbeat, and the time of the next one."""

    requests: list[CreateObject | PatchObject]
    due_ns: int


class NodeLeases:
    """Renews the leases of nodes.

    Parameters
    ----------
    reader : ObjectReader
        Reads the leases.
    """

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader

    def renew(self, node: Node, now_ns: int) -> LeaseRenewal:
        """Return the heartbeat of a node."""
        renew_time = timestamp_text_micro(now_ns)
        key = f"{NAMESPACE}/{node.name}"
        requests: list[CreateObject | PatchObject] = []
        if self._reader.get(_LEASE, key) is not None:
            patch: Document = {"spec": {"renewTime": renew_time}}
            requests.append(PatchObject(_LEASE, key, patch, _USER))
        elif self._reader.get(("", "Namespace"), NAMESPACE) is not None:
            requests.append(CreateObject(decode(_lease(node, renew_time)), _USER))
        heartbeat = _conditions(node, now_ns)
        if heartbeat is not None:
            patch = {"status": {"conditions": heartbeat}}
            requests.append(PatchObject(("", "Node"), node.key, patch, _USER, "status"))
        return LeaseRenewal(requests, _next_renewal_ns(node.name, now_ns))


def _next_renewal_ns(name: str, now_ns: int) -> int:
    """Return the next time at which the kubelet of a node renews its lease."""
    # Whole seconds: each instant is a step of a world that is late, however many renew at it.
    offset_ns = crc32(name.encode()) % RENEW_SECONDS * 1_000_000_000
    return now_ns + RENEW_NS - (now_ns - offset_ns) % RENEW_NS


def _conditions(node: Node, now_ns: int) -> list[Document] | None:
    """Return the conditions with new times, if the current times are old; None otherwise."""
    conditions = (node.raw.get("status") or {}).get("conditions") or []
    now = timestamp_text(now_ns)
    oldest = timestamp_text(now_ns - STATUS_NS)
    own = [each for each in conditions if each.get("lastHeartbeatTime")]
    if not own or all(each["lastHeartbeatTime"] > oldest for each in own):
        return None
    return [
        each | {"lastHeartbeatTime": now} if each.get("lastHeartbeatTime") else each
        for each in conditions
    ]


def _lease(node: Node, renew_time: str) -> Document:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": node.name,
            "namespace": NAMESPACE,
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
            ],
        },
        "spec": {
            "holderIdentity": node.name,
            "leaseDurationSeconds": DURATION_SECONDS,
            "renewTime": renew_time,
        },
    }
