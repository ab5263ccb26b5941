"""What Reserve and PreBind of DynamicResources write, in the form of the vectors."""

from __future__ import annotations

from typing import Any

import msgspec

from podwright.apimachinery.objects import ResourceClaim, encode, with_fields
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import (
    Answer,
    ApiCall,
    Cycle,
    ExtendedClaimPatch,
    Pending,
    Plugin,
    Progress,
    ResourceClaimWrite,
)
from podwright.testing.parity.preemption import NOW_NS

_Document = dict[str, Any]
_GENERATED = "00001"


class Writes:
    """An API server that accepts everything, and remembers it.

    Attributes
    ----------
    found : list of dict
        The writes, as the vectors have them.
    claims : dict of str to ResourceClaim
        The claims as they were written, by `namespace/name`.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.found: list[_Document] = []
        self.claims: dict[str, ResourceClaim] = {}

    def answer(self, call: ApiCall, pod_key: str) -> Answer:
        """Execute a call."""
        match call:
            case ResourceClaimWrite("create", claim):
                written = {
                    key: value
                    for key, value in encode(claim).items()
                    if key in ("metadata", "spec")
                }
                self._note("create", namespace=claim.metadata.namespace, object=written)
                name = f"{claim.metadata.generate_name}{_GENERATED}"
                return self._keep(with_fields(claim, "metadata", name=name, uid=name))
            case ResourceClaimWrite("update", claim):
                self._note("update", name=claim.key, finalizers=list(claim.metadata.finalizers))
                return self._keep(claim)
            case ResourceClaimWrite("updateStatus", claim):
                status = normalized(encode(claim)["status"])
                self._note("update", name=claim.key, subresource="status", status=status)
                return self._keep(claim)
            case ExtendedClaimPatch(claim_name, mappings):
                status = {
                    "requestMappings": [mapping_document(mapping) for mapping in mappings],
                    "resourceClaimName": claim_name,
                }
                patch = {"status": {"extendedResourceClaimStatus": status}}
                self.found.append(
                    {"verb": "patch", "resource": "pods", "name": pod_key}
                    | {"subresource": "status", "patch": patch}
                )
                return Answer()
            case _:
                raise AssertionError(f"PreBind makes no {call}")

    def _note(self, verb: str, **fields: Any) -> None:
        self.found.append({"verb": verb, "resource": "resourceclaims"} | fields)

    def _keep(self, claim: ResourceClaim) -> Answer:
        self.claims[claim.key] = claim
        # The informer sees what was written before the plugin continues.
        self._cluster.put(claim)
        return Answer(obj=claim)


def mapping_document(mapping: tuple[str, ...]) -> _Document:
    """Return the mapping of a container's extended resource as the API has it."""
    container, resource, request = mapping
    return {"containerName": container, "resourceName": resource, "requestName": request}


def bind_on(plugin: Plugin, cycle: Cycle, node_name: str) -> tuple[Writes, bool, str]:
    """Run Reserve and PreBind.

    Returns
    -------
    writes, waits, error
        Whether PreBind then waits for binding conditions, and why it fails; "" if it does not.
    """
    writes = Writes(cycle.cluster)
    status = plugin.reserve(cycle, node_name)
    if not status.is_success:
        return writes, False, status.message
    answer = plugin.pre_bind(cycle, node_name)
    while isinstance(answer, Pending):
        if not answer.calls:
            return writes, True, ""
        answers = tuple(writes.answer(call, cycle.pod.key) for call in answer.calls)
        progress = Progress(now_ns=NOW_NS, answers=answers)
        answer = plugin.continue_pre_bind(cycle, node_name, progress)
    return writes, False, "" if answer.is_success else answer.message


def normalized(document: Any) -> Any:
    """Return a document with `*` for share ids, and without times of allocation."""
    if isinstance(document, msgspec.Struct):
        document = msgspec.json.decode(msgspec.json.encode(document))
    if isinstance(document, dict):
        return {
            key: "*" if key == "shareID" else normalized(value)
            for key, value in document.items()
            if key != "allocationTimestamp"
        }
    if isinstance(document, list):
        return [normalized(value) for value in document]
    return document
