"""The calls of plugins to the API server, as actions."""

from __future__ import annotations

from podwright.apimachinery.objects import NamespacedName
from podwright.scheduler.framework import (
    ApiCall,
    ClaimUpdate,
    ExtendedClaimPatch,
    PodBinding,
    PodMetadataPatch,
    ResourceClaimWrite,
    VolumeUpdate,
)
from podwright.scheduler.machine.actions import (
    Bind,
    PatchExtendedClaim,
    PatchPodMetadata,
    UpdateClaim,
    UpdateVolume,
    WriteResourceClaim,
)
from podwright.scheduler.machine.state import State


def request_call(
    state: State, call: ApiCall, pod: NamespacedName = "", uid: str = "", node: str = ""
) -> int:
    """Request a call, and return its number.

    Parameters
    ----------
    pod, uid, node : str
        The pod of the plugin and the node chosen for it, if there are any.
    """
    number = state.next_call()
    match call:
        case PodBinding():
            state.actions.append(Bind(number, pod, uid, node))
        case VolumeUpdate(volume):
            state.actions.append(UpdateVolume(number, volume))
        case ClaimUpdate(claim):
            state.actions.append(UpdateClaim(number, claim))
        case ResourceClaimWrite(operation, resource_claim, pod_uid):
            state.actions.append(WriteResourceClaim(number, operation, resource_claim, pod_uid))
        case ExtendedClaimPatch(claim_name, mappings):
            state.actions.append(PatchExtendedClaim(number, pod, uid, claim_name, mappings))
        case PodMetadataPatch(annotations=annotations, labels=labels):
            state.actions.append(PatchPodMetadata(number, pod, uid, annotations, labels))
    return number
