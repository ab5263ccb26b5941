"""Endpoints: the addresses of the pods of each service with a selector.

Upstream: pkg/controller/endpoint/endpoints_controller.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from math import ceil
from typing import Final

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Pod,
    encode,
    is_ready,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import section
from podwright.cluster.controllers.interface import (
    Actions,
    Controller,
    Keys,
    ReportedWrite,
    Version,
)
from podwright.cluster.controllers.kinds import ENDPOINTS, SERVICE
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.network.endpoint_parts import (
    HEADLESS,
    POD_CHANGES,
    TRIGGER_TIME,
    ServicePods,
    addresses_of,
    hostname_of,
    is_endpoint,
    is_headless,
    port_number,
    repacked,
    selector_of,
    trigger_time,
)
from podwright.cluster.store import POD

MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
ADDRESSES_MAX: Final = 1_000

_OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"


class EndpointsController(Controller):
    """Writes the endpoints of services."""

    name = "endpoint-controller"
    kinds = (SERVICE, ENDPOINTS, POD)
    pod_changes = POD_CHANGES
    _pods: Saved[ServicePods]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._pods = ServicePods(lister)
        self.pending_work = self._pods.selectors

    def observe(self, old: Version, new: Version) -> Keys:
        """Return the services of a change."""
        obj = self.latest_of(old, new)
        if isinstance(obj, Pod):
            return self._pods.observe_pod(old, new)
        if obj.kind == "Service":
            self._pods.observe_service(new, obj.key)
            return (obj.key,)
        # Users write endpoints without a service, and change those of services without a selector.
        return () if self._lister.get(SERVICE, obj.key) is None else (obj.key,)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Write the endpoints of a service, or delete those that are left."""
        service = self._lister.get(SERVICE, key)
        present = self._lister.get(ENDPOINTS, key)
        if service is None:
            if present is None or _LEADER in present.metadata.annotations:
                return []
            return [self.delete(present)]
        if selector_of(service) is None:
            return []
        if later := self._pods.delay(key, self.name, now_ns):
            return [*later]
        pods = self._pods.of(key)
        subsets = repacked(_subsets(service, pods))
        trigger_ns = self._pods.trigger_ns(service, pods)
        subsets, is_truncated = _truncated(subsets)
        labels = {**service.metadata.labels, MANAGED_BY: self.name}
        labels.pop(HEADLESS, None)
        if is_headless(service):
            labels[HEADLESS] = ""
        document: Document = {} if present is None else encode(present)
        if present is not None:
            has_mark = present.metadata.annotations.get(_OVER_CAPACITY) == "truncated"
            same = repacked(document.get("subsets") or ()) == subsets
            has_labels = _comparable(present.metadata.labels) == _comparable(labels)
            if same and has_labels and has_mark == is_truncated:
                return []
        annotations = {} if present is None else dict(present.metadata.annotations)
        annotations.pop(TRIGGER_TIME, None)
        annotations.pop(_OVER_CAPACITY, None)
        if trigger_ns is not None:
            annotations[TRIGGER_TIME] = trigger_time(trigger_ns)
        if is_truncated:
            annotations[_OVER_CAPACITY] = "truncated"
        metadata = dict(document.get("metadata") or {})
        metadata |= {"name": service.name, "namespace": service.metadata.namespace}
        metadata |= {"labels": labels, "annotations": annotations}
        metadata = {name: value for name, value in metadata.items() if value or name == "labels"}
        written = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata}
        if subsets:
            written["subsets"] = subsets
        new = decode(written)
        if present is not None:
            return [self.update(new)]
        note = f"Failed to create endpoint for service {key}: "
        failed = self.warning(new, "FailedToCreateEndpoint", note)
        return [ReportedWrite(self.create(new), None, failed)]


def _comparable(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that are compared.

    Upstream: labelsCorrectForEndpoints
    """
    return {name: value for name, value in labels.items() if name != HEADLESS}


def _subsets(service: KubernetesObject, pods: Iterable[Pod]) -> Iterable[Document]:
    """Yield a subset for each pod and port."""
    spec = section(service, "spec")
    publishes_all = bool(spec.get("publishNotReadyAddresses"))
    version = 6 if (spec.get("ipFamilies") or ["IPv4"])[0] == "IPv6" else 4
    ports: Sequence[Document] = spec.get("ports") or ()
    for pod in pods:
        if not is_endpoint(pod, with_terminating=publishes_all):
            continue
        ips = [ip for ip in addresses_of(pod) if ip_address(ip).version == version]
        if not ips:
            continue
        address: Document = {"ip": str(ip_address(ips[0]))}
        if hostname := hostname_of(pod, service):
            address["hostname"] = hostname
        address["nodeName"] = pod.spec.node_name
        address["targetRef"] = {
            "kind": "Pod",
            "namespace": pod.metadata.namespace,
            "name": pod.name,
            "uid": pod.uid,
        }
        field = "addresses" if publishes_all or is_ready(pod) else "notReadyAddresses"
        if not ports and is_headless(service):
            yield {field: [address]}
        for port in ports:
            number = port_number(pod, port)
            if number is not None:
                yield {field: [address], "ports": [_port(port, number)]}


def _port(port: Document, number: int) -> Document:
    written: Document = {"port": number, "protocol": port.get("protocol", "TCP")}
    for name in ("name", "appProtocol"):
        if port.get(name):
            written[name] = port[name]
    return written


def _truncated(subsets: list[Document]) -> tuple[list[Document], bool]:
    """Return subsets with at most `ADDRESSES_MAX` addresses, ready ones first.

    Upstream: truncateEndpoints
    """
    fields = ("addresses", "notReadyAddresses")
    ready, unready = (sum(len(each.get(field) or ()) for each in subsets) for field in fields)
    if ready + unready <= ADDRESSES_MAX:
        return subsets, False
    truncates_ready = ready > ADDRESSES_MAX
    field, total, most = fields[1], unready, ADDRESSES_MAX - ready
    if truncates_ready:
        field, total, most = fields[0], ready, ADDRESSES_MAX
    left = most
    kept = []
    for subset in subsets:
        new = {name: each for name, each in subset.items() if name not in (field, fields[1])}
        found = list(subset.get(field) or ())
        # In proportion to the addresses of the subset, rounded up, so that the last ones get fewer.
        found = found[: min(ceil(len(found) / total * most), left)]
        left -= len(found)
        if found:
            new[field] = found
        if any(name in new for name in fields):
            kept.append(new)
    return kept, True
