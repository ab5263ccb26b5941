"""Results of PreBind and Bind plugins that are not finished: API calls and delays.

PreBind and Bind may need the API server, or wait for another component. The machine never
blocks, so such a plugin returns `Pending`: API calls to make now, a delay after which to
continue, or both. When every call has returned, or the delay has passed, the machine calls
`continue_pre_bind` (or `continue_bind`) with a `Progress`; that returns a Status, or `Pending`
again. The plugin keeps its state between the calls in the cycle, under a `StateKey`.

    def pre_bind(self, cycle, node_name):
        return Pending(calls=(ClaimUpdate(claim),))

    def continue_pre_bind(self, cycle, node_name, progress):
        for answer in progress.answers:
            if answer.error is not None:
                return Status.error(answer.error.message)
        return Status.OK if self.is_bound(...) else Pending(delay_ns=1_000_000_000)

The binding of a pod that is preempted meanwhile is not continued; it fails with that reason.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    Object,
    PersistentVolume,
    PersistentVolumeClaim,
    ResourceClaim,
)

ResourceClaimOperation: TypeAlias = Literal[
    "get", "create", "update", "updateStatus", "release", "delete"
]


class CallError(msgspec.Struct, frozen=True, gc=False):
    """Why a call to the API server failed.

    Parameters
    ----------
    message : str
        The message of the API server.
    reason : str
        The reason of the Status (`NotFound`, `Conflict`, `Forbidden`); "" for any other error.
    """

    message: str
    reason: str = ""

    @property
    def is_not_found(self) -> bool:
        """Whether the object does not exist."""
        return self.reason == "NotFound"


class PodBinding(msgspec.Struct, frozen=True, tag=True):
    """Bind the pod to the node that it was reserved on."""


class VolumeUpdate(msgspec.Struct, frozen=True, tag=True):
    """Replace a PersistentVolume."""

    volume: PersistentVolume


class ClaimUpdate(msgspec.Struct, frozen=True, tag=True):
    """Replace a PersistentVolumeClaim."""

    claim: PersistentVolumeClaim


class ResourceClaimWrite(msgspec.Struct, frozen=True, tag=True):
    """Write a ResourceClaim, or read it again after a conflict.

    Parameters
    ----------
    operation : str
        `get`; `create`; `update`, of the metadata; `updateStatus`; `release`, which removes a pod
        from `status.reservedFor`, whatever else changed; `delete`, which removes the finalizer
        `resource.kubernetes.io/delete-protection` first.
    claim : ResourceClaim
    pod_uid : str
        Of the pod to release.
    """

    operation: ResourceClaimOperation
    claim: ResourceClaim
    pod_uid: str = ""


class ExtendedClaimPatch(msgspec.Struct, frozen=True, tag=True):
    """Set `status.extendedResourceClaimStatus` of the pod.

    Parameters
    ----------
    claim_name : str
    mappings : tuple of (str, str, str)
        Container, resource and request of the claim.
    """

    claim_name: str
    mappings: tuple[tuple[str, str, str], ...]


class PodMetadataPatch(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Add annotations and labels to the pod, or replace their values.

    Parameters
    ----------
    annotations, labels : dict of str to str
        Keys that the pod has, and that are not here, stay.
    """

    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}


ApiCall: TypeAlias = (
    PodBinding
    | VolumeUpdate
    | ClaimUpdate
    | ResourceClaimWrite
    | ExtendedClaimPatch
    | PodMetadataPatch
)


class Answer(msgspec.Struct, frozen=True):
    """The result of one API call.

    Parameters
    ----------
    error : CallError, optional
        None if the call succeeded.
    obj : object, optional
        The object as returned by the API server.
    """

    error: CallError | None = None
    obj: Object | None = None


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """The plugin has not finished.

    Parameters
    ----------
    calls : tuple of ApiCall
        To be made now, in parallel.
    delay_ns : int, optional
        Continue after this delay; None: when the calls have returned.
    """

    calls: tuple[ApiCall, ...] = ()
    delay_ns: int | None = None


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The results of the calls of a `Pending`, for the plugin to continue.

    Parameters
    ----------
    now_ns : int
        The current time, in nanoseconds since 1970.
    answers : tuple of Answer
        One per call, in the same order; empty if the delay passed first.
    """

    now_ns: int
    answers: tuple[Answer, ...] = ()


BIND_BY_API: Final = Pending(calls=(PodBinding(),))
"""The result of a Bind plugin that leaves the binding request to the driver of the machine."""
