"""The actions that the machine returns. A driver carries them out.

Actions with a `call` number are calls to the API server; the driver answers them by `CallDone`
with that number. The change that such a call makes is also delivered as a separate event,
before or after the answer.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

import msgspec

from podwright.apimachinery.objects import (
    Condition,
    Document,
    NamespacedName,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceClaim,
    with_fields,
)
from podwright.scheduler.config import ExtenderCall
from podwright.scheduler.framework import ResourceClaimOperation


class Bind(msgspec.Struct, frozen=True, tag=True, tag_field="kind", array_like=True, gc=False):
    """Bind a pod to a node."""

    call: int
    pod: NamespacedName
    uid: str
    node: str


class PatchPodStatus(
    msgspec.Struct, frozen=True, tag=True, tag_field="kind", array_like=True, gc=False
):
    """Set a condition of a pod, its nominated node, or both; only what changed is given.

    Parameters
    ----------
    condition : Condition, optional
        Replaces the one of the same type; None leaves the conditions alone.
    nominated_node : str, optional
        "" removes `status.nominatedNodeName`; None leaves it alone.
    condition_types : tuple of str
        All types that the pod's conditions then have, in their order.
    """

    call: int
    pod: NamespacedName
    uid: str
    condition: Condition | None = None
    nominated_node: str | None = None
    condition_types: tuple[str, ...] = ()


class PatchPodGroupStatus(
    msgspec.Struct, frozen=True, tag=True, tag_field="kind", array_like=True, gc=False
):
    """Set a condition of a PodGroup (scheduling.k8s.io); nothing waits for the answer.

    Parameters
    ----------
    pod_group : str
        `namespace/name`.
    condition : Condition
        Replaces the one of the same type.
    """

    call: int
    pod_group: NamespacedName
    condition: Condition


class DeletePod(msgspec.Struct, frozen=True, tag=True, tag_field="kind", array_like=True, gc=False):
    """Delete a pod that was preempted."""

    call: int
    pod: NamespacedName
    uid: str


class UpdateVolume(
    msgspec.Struct, frozen=True, tag=True, tag_field="kind", array_like=True, gc=False
):
    """Replace a PersistentVolume, unless it has changed since it was read."""

    call: int
    volume: PersistentVolume


class UpdateClaim(
    msgspec.Struct, frozen=True, tag=True, tag_field="kind", array_like=True, gc=False
):
    """Replace a PersistentVolumeClaim, unless it has changed since it was read."""

    call: int
    claim: PersistentVolumeClaim


class WriteResourceClaim(
    msgspec.Struct, frozen=True, tag=True, tag_field="kind", array_like=True, gc=False
):
    """Write a ResourceClaim, or read it again after a conflict.

    Parameters
    ----------
    operation : str
        `get`, `create`, `update` (of the metadata), `updateStatus`, `release` (of one pod from
        `status.reservedFor`), or `delete` (after its finalizer is removed). `update` and
        `updateStatus` fail with a conflict if the claim has changed since it was read.
    pod_uid : str
        Of the pod to release.
    """

    call: int
    operation: ResourceClaimOperation
    claim: ResourceClaim
    pod_uid: str = ""


class PatchExtendedClaim(
    msgspec.Struct, frozen=True, tag=True, tag_field="kind", array_like=True, gc=False
):
    """Set `status.extendedResourceClaimStatus` of a pod.

    Parameters
    ----------
    mappings : tuple of (str, str, str)
        Container, resource and request of the claim.
    """

    call: int
    pod: NamespacedName
    uid: str
    claim_name: str
    mappings: tuple[tuple[str, str, str], ...]

    @property
    def status(self) -> Document:
        """What is set in the status of the pod."""
        mappings = [
            {"containerName": container, "resourceName": resource, "requestName": request}
            for container, resource, request in self.mappings
        ]
        claim = {"requestMappings": mappings, "resourceClaimName": self.claim_name}
        return {"extendedResourceClaimStatus": claim}


class PatchPodMetadata(
    msgspec.Struct, frozen=True, tag=True, tag_field="kind", array_like=True, gc=False
):
    """Add annotations and labels to a pod, or replace their values."""

    call: int
    pod: NamespacedName
    uid: str
    annotations: dict[str, str]
    labels: dict[str, str]

    def applied_to(self, pod: Pod) -> Pod:
        """Return a pod with the annotations and labels."""
        annotations = {**pod.metadata.annotations, **self.annotations}
        labels = {**pod.metadata.labels, **self.labels}
        return with_fields(pod, "metadata", annotations=annotations, labels=labels)


class CallExtender(
    msgspec.Struct, frozen=True, tag=True, tag_field="kind", array_like=True, gc=False
):
    """Call an extender; the answer is `ExtenderReplied` with the same number."""

    call: int
    request: ExtenderCall


class EmitEvent(msgspec.Struct, frozen=True, tag=True, tag_field="kind", array_like=True, gc=False):
    """Record a Kubernetes Event.

    Parameters
    ----------
    controller : str
        The schedulerName of the profile that reports.
    related : str
        `namespace/name` of the other pod that is involved; "" if there is none.
    resource_version : str
        Of the pod as the scheduler knew it.
    """

    pod: NamespacedName
    uid: str
    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str
    controller: str
    related: NamespacedName = ""
    resource_version: str = ""


class WakeAt(msgspec.Struct, frozen=True, tag=True, tag_field="kind", array_like=True, gc=False):
    """Send `TimerFired` at this time; earlier requests remain valid."""

    due_ns: int


ApiCall: TypeAlias = (
    Bind
    | PatchPodStatus
    | PatchPodGroupStatus
    | DeletePod
    | UpdateVolume
    | UpdateClaim
    | WriteResourceClaim
    | PatchExtendedClaim
    | PatchPodMetadata
)
"""A call of the API server; the answer is `CallDone` with the same number."""

API_CALLS: Final = get_args(ApiCall)
"""The classes of `ApiCall`."""

Action: TypeAlias = ApiCall | CallExtender | EmitEvent | WakeAt
