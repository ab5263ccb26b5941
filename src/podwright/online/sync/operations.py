"""What a mirror does at a destination, as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document
from podwright.online.client import SyncPolicies, Write
from podwright.online.sync.settlement import Settlement, pod_patches, settled
from podwright.online.sync.source_kinds import SourceKind


class Create(msgspec.Struct, frozen=True):
    """Create an object.

    Attributes
    ----------
    kind : SourceKind
    key : str
    obj : Document
        The copy of that of the source, without uid and version.
    policies : SyncPolicies
    node : str
        Of a pod at the source.
    """

    kind: SourceKind
    key: str
    obj: Document
    policies: SyncPolicies = SyncPolicies()
    node: str = ""

    def settling(self, present: Document | None = None) -> Settle:
        """Return the operation for an object that is there already."""
        return Settle(self.kind, self.key, self.obj, self.policies, self.node, present)


class Settle(msgspec.Struct, frozen=True):
    """Bring an object to the state of the source, but for the policies.

    Attributes
    ----------
    kind : SourceKind
    key : str
    obj : Document
        As of `Create`.
    policies : SyncPolicies
    node : str
        Of a pod at the source.
    present : Document, optional
        The object of the destination; None if it was not read yet.
    """

    kind: SourceKind
    key: str
    obj: Document
    policies: SyncPolicies = SyncPolicies()
    node: str = ""
    present: Document | None = None

    def settled(self, present: Document) -> Settlement:
        """Compare the current object of the destination with what it should be."""
        return settled(self.kind, self.obj, present, self.policies, node=self.node)


class BindPod(msgspec.Struct, frozen=True):
    """Bind a pod to the node that it has at the source."""

    kind: SourceKind
    key: str
    node: str


class AllocateExtended(msgspec.Struct, frozen=True):
    """Create the claim for the extended resources of a pod, with the devices of the source.

    Nothing is done for a pod that has such a claim, or another node.

    Attributes
    ----------
    kind : SourceKind
        Of claims.
    key : str
        Of the claim.
    obj : Document
        The claim.
    pod, node : str
        The name of the pod, and its node.
    status : Document
        The `status.extendedResourceClaimStatus` of the pod.
    """

    kind: SourceKind
    key: str
    obj: Document
    pod: str
    node: str
    status: Document


class AllocateClaim(msgspec.Struct, frozen=True):
    """Allocate the devices of the source to a claim of a pod that is there.

    Nothing is done for a pod on another node, and for a claim that has devices.

    Attributes
    ----------
    kind : SourceKind
        Of claims.
    key : str
        Of the claim at the source.
    obj : Document
        That claim.
    pod, node : str
        The name of the pod, and its node at the source.
    entry : str
        The name in `spec.resourceClaims` of the pod; what it names may differ from the source.
    """

    kind: SourceKind
    key: str
    obj: Document
    pod: str
    node: str
    entry: str


class Delete(msgspec.Struct, frozen=True):
    """Delete an object that the source has deleted."""

    kind: SourceKind
    key: str


Operation: TypeAlias = Create | Settle | BindPod | AllocateExtended | AllocateClaim | Delete


# The requests of operations, which a destination of podwright takes several at once.

NOW: Final = {"gracePeriodSeconds": 0}
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"


def is_separate(operation: Operation) -> bool:
    """Whether an operation needs what the destination has, or replies, before its next request."""
    if isinstance(operation, Create):
        # A volume refers to a claim; and admission taints new nodes, which is taken back.
        return operation.kind.resource in ("nodes", "persistentvolumes")
    return not isinstance(operation, BindPod | Delete)


def write_of(operation: Operation) -> Write:
    """Return the request of an operation that needs no other one."""
    path = path_of(operation.kind, operation.key)
    match operation:
        case Create(kind, _, obj):
            collection = kind.path(obj["metadata"].get("namespace", ""))
            return Write("POST", collection, body=_raw(obj))
        case BindPod(_, key, node):
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            binding = {"metadata": {"name": key.rpartition("/")[2]}, "target": target}
            return Write("POST", f"{path}/binding", body=_raw(binding))
        case Delete(kind):
            return Write("DELETE", path, body=_raw(NOW if kind.resource == "pods" else None))
        case Settle() | AllocateExtended() | AllocateClaim():
            raise AssertionError("what it writes depends on what the destination has")


def settling_writes(
    operation: Settle, settlement: Settlement, present: Document
) -> Sequence[Write]:
    """Return the requests that settle an object; none if it is as it should be."""
    if not settlement.differences:
        return ()
    path = path_of(operation.kind, operation.key)
    if operation.kind.resource == "pods":
        return [
            Write(
                "PATCH", f"{path}/{subresource}" if subresource else path,
                STRATEGIC if subresource == "resize" else MERGE, _raw(patch),
            )
            for subresource, patch in pod_patches(settlement, present)
        ]  # fmt: skip
    of_status = [each.path.startswith("status") for each in settlement.differences]
    aim = settlement.obj
    writes = [] if all(of_status) else [Write("PUT", path, body=_raw(aim))]
    if any(of_status):
        # The first request has changed the version; and a status is that of the source whole.
        metadata = {k: v for k, v in aim["metadata"].items() if k != "resourceVersion"}
        writes.append(Write("PUT", f"{path}/status", body=_raw({**aim, "metadata": metadata})))
    return writes


def _raw(document: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(document))


def path_of(kind: SourceKind, key: str) -> str:
    """Return the path of an object."""
    namespace, _, name = key.rpartition("/")
    return kind.path(namespace, name)
