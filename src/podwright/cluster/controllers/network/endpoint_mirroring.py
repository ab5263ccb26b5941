"""Mirrored slices: those of endpoints that users write for services without a selector.

Upstream: pkg/controller/endpointslicemirroring/{endpointslicemirroring_controller,reconciler}.go
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final, TypeAlias

from podwright.apimachinery.objects import Document, KubernetesObject, NamespacedName, encode
from podwright.cluster.api import section
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import ENDPOINT_SLICE, ENDPOINTS, SERVICE
from podwright.cluster.controllers.network.endpoint_parts import (
    MANAGED_BY,
    SERVICE_NAME,
    TRIGGER_TIME,
    PortsKey,
    made,
    new_slice,
    ports_key,
    renewed,
    repacked,
    service_of,
    slices_of,
)

MANAGER: Final = "endpointslicemirroring-controller.k8s.io"
ENDPOINTS_MAX: Final = 1_000

_SKIPPED: Final = "endpointslice.kubernetes.io/skip-mirror"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

_Group: TypeAlias = tuple[list[Document], list[Document]]


class EndpointSliceMirroringController(Controller):
    """Writes the slices of endpoints that users manage."""

    name = "endpoint-slice-mirroring-controller"
    kinds = (ENDPOINTS, SERVICE, ENDPOINT_SLICE)

    def observe(self, old: Version, new: Version) -> Keys:
        """Return the key that endpoints, their service and their slices share."""
        obj = self.latest_of(old, new)
        if obj.kind != "EndpointSlice":
            return (obj.key,)
        is_mirror = obj.metadata.labels.get(MANAGED_BY) == MANAGER
        return (service_of(obj),) if is_mirror else ()

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Create, change and delete the slices of endpoints."""
        present = slices_of(self._lister, key, MANAGER)
        endpoints = self._lister.get(ENDPOINTS, key)
        if endpoints is None or not self._is_mirrored(endpoints):
            return [self.delete(each) for each in present]
        by_group: dict[tuple[str, PortsKey], list[KubernetesObject]] = {}
        for each in present:
            document = encode(each)
            group = (str(document.get("addressType")), ports_key(document.get("ports") or ()))
            by_group.setdefault(group, []).append(each)
        created: list[Document] = []
        changed: list[tuple[KubernetesObject, Document]] = []
        deleted: list[KubernetesObject] = []
        groups, events = self._groups(endpoints)
        for group, (ports, found) in groups.items():
            new = new_slice(
                endpoints,
                ports=ports,
                address_type=group[0],
                labels={**endpoints.metadata.labels, SERVICE_NAME: endpoints.name}
                | {MANAGED_BY: MANAGER},
                annotations={
                    name: value
                    for name, value in endpoints.metadata.annotations.items()
                    if name not in (TRIGGER_TIME, _APPLIED)
                },
            )
            new["endpoints"] = found
            known = by_group.pop(group, [])
            deleted += known[1:]
            if not known:
                created.append(new)
            elif not _is_same(known[0], new):
                changed.append((known[0], new))
        deleted += [each for slices in by_group.values() for each in slices]
        left: list[KubernetesObject] = []
        for each in deleted:
            if created and encode(each).get("addressType") == created[-1]["addressType"]:
                changed.append((each, created.pop()))
            else:
                left.append(each)
        actions: Actions = [*events]
        if endpoints.metadata.deletion_timestamp is None:
            actions += [self.create(made(each)) for each in created]
        actions += [self.update(renewed(old, new)) for old, new in changed]
        actions += [self.delete(each) for each in left]
        return actions

    def _is_mirrored(self, endpoints: KubernetesObject) -> bool:
        service = self._lister.get(SERVICE, endpoints.key)
        return (
            service is not None
            and not section(service, "spec").get("selector")
            and endpoints.metadata.labels.get(_SKIPPED) != "true"
            and _LEADER not in endpoints.metadata.annotations
        )

    def _groups(
        self, endpoints: KubernetesObject
    ) -> tuple[dict[tuple[str, PortsKey], _Group], Actions]:
        """Return the ports and endpoints of each slice, and the Events about those left out."""
        groups: dict[tuple[str, PortsKey], _Group] = {}
        skipped_count = 0
        for subset in repacked(encode(endpoints).get("subsets") or ()):
            ports = [
                {"name": each.get("name") or ""}
                | {name: each[name] for name in ("port", "protocol", "appProtocol") if name in each}
                for each in subset.get("ports") or ()
            ]
            count = 0
            for field, is_ready in (("addresses", True), ("notReadyAddresses", False)):
                for address in subset.get(field) or ():
                    if count == ENDPOINTS_MAX:
                        skipped_count += 1
                        continue
                    count += 1
                    ip = ip_address(address["ip"])
                    group = (f"IPv{ip.version}", ports_key(ports))
                    endpoint = _endpoint(address, str(ip), is_ready=is_ready)
                    groups.setdefault(group, (ports, []))[1].append(endpoint)
        if not skipped_count:
            return groups, []
        note = (
            f"A max of {ENDPOINTS_MAX} addresses can be mirrored to EndpointSlices per Endpoints"
            f" subset. {skipped_count} addresses were skipped"
        )
        reason = "TooManyAddressesToMirror"
        return groups, [self.warning(endpoints, reason, note)]


def _endpoint(address: Document, ip: str, *, is_ready: bool) -> Document:
    endpoint: Document = {"addresses": [ip], "conditions": {"ready": is_ready}}
    for name in ("targetRef", "nodeName", "hostname"):
        if address.get(name):
            endpoint[name] = address[name]
    return endpoint


def _is_same(obj: KubernetesObject, new: Document) -> bool:
    """Whether a slice has what a new one would have; the order of the endpoints is any.

    Upstream: reconciler.go, totalChanges and needRebuildExistingSlices
    """
    (owner,) = new["metadata"]["ownerReferences"]
    return (
        _sorted(encode(obj).get("endpoints") or ()) == _sorted(new["endpoints"])
        and obj.metadata.labels == new["metadata"]["labels"]
        and obj.metadata.annotations == (new["metadata"].get("annotations") or {})
        and all(
            (each.kind, each.name) != ("Endpoints", owner["name"]) or each.uid == owner["uid"]
            for each in obj.metadata.owner_references
        )
    )


def _sorted(endpoints: Iterable[Document]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in endpoints)
