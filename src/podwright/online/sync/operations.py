"""What a mirror does at a destination, as data."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import Document
from podwright.online.client import SyncPolicies
from podwright.online.sync.settlement import Settlement, settled
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
        """Compare the present object of the destination with what it should be."""
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
