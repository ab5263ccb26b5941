"""Endpoint slices: the pods of each service with a selector, at most a hundred in a slice.

The endpoints of each address family and set of ports have their own slices. A slice keeps the
endpoints that it has, so that a change of one pod changes one slice.

Upstream: pkg/controller/endpointslice/endpointslice_controller.go;
staging/src/k8s.io/endpointslice/reconciler.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any, Final

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Pod,
    aggregated,
    encode,
    is_ready,
)
from podwright.cluster.api import RecordEvent, section
from podwright.cluster.controllers.interface import (
    Actions,
    Controller,
    Keys,
    ReportedWrite,
    Version,
)
from podwright.cluster.controllers.kinds import ENDPOINT_SLICE, NODE, SERVICE
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.network.endpoint_parts import (
    HEADLESS,
    MANAGED_BY,
    POD_CHANGES,
    SERVICE_NAME,
    TRIGGER_TIME,
    PortsKey,
    ServicePods,
    addresses_of,
    endpoint_key,
    hostname_of,
    is_endpoint,
    is_headless,
    made,
    new_slice,
    port_number,
    ports_key,
    renewed,
    selector_of,
    service_of,
    slices_of,
    trigger_time,
)
from podwright.cluster.store import POD

MANAGER: Final = "endpointslice-controller.k8s.io"
ENDPOINTS_MAX: Final = 100

_ZONE: Final = "topology.kubernetes.io/zone"
_RESERVED: Final = frozenset({SERVICE_NAME, MANAGED_BY, HEADLESS})
_CLOSE: Final = frozenset({"PreferClose", "PreferSameZone", "PreferSameNode"})
_VERSIONS: Final = {"IPv4": 4, "IPv6": 6}


class EndpointSliceController(Controller):
    """Writes the endpoint slices of services."""

    name = "endpoint-slice-controller"
    kinds = (SERVICE, ENDPOINT_SLICE, POD, NODE)
    pod_changes = POD_CHANGES
    reports_creations = True
    _pods: Saved[ServicePods]
    _incomplete: Saved[dict[NamespacedName, list[str]]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._pods = ServicePods(lister)
        self.pending_work = self._pods.selectors
        # Of services with pods on nodes that do not exist: the errors.
        self._incomplete = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return the services of a change."""
        obj = self.latest_of(old, new)
        if isinstance(obj, Pod):
            return self._pods.observe_pod(old, new)
        if obj.kind == "Service":
            self._pods.observe_service(new, obj.key)
            return (obj.key,)
        if obj.kind == "Node":
            return sorted(self._incomplete) if old is None else ()
        # A slice that another manager or service takes leaves a gap.
        found = {
            service_of(each): None
            for each in (old, new)
            if each is not None and each.metadata.labels.get(MANAGED_BY) == MANAGER
        }
        return filter(None, found)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Create, change and delete slices of a service."""
        self._incomplete.pop(key, None)
        service = self._lister.get(SERVICE, key)
        if service is None or selector_of(service) is None:
            return []
        if later := self._pods.delay(key, self.name, now_ns):
            return [*later]
        pods = self._pods.of(key)
        trigger_ns = self._pods.trigger_ns(service, pods)
        annotations = {} if trigger_ns is None else {TRIGGER_TIME: trigger_time(trigger_ns)}
        by_family: dict[str, list[KubernetesObject]] = {}
        for each in slices_of(self._lister, key, MANAGER):
            by_family.setdefault(str(encode(each).get("addressType")), []).append(each)
        actions: Actions = []
        for family in section(service, "spec").get("ipFamilies") or ("IPv4",):
            present = by_family.pop(family, [])
            actions += self._reconciled(service, pods, present, family, annotations)
        for slices in by_family.values():
            actions += [self.delete(each) for each in slices]
        if skipped := self._incomplete.get(key):
            actions.append(self._failure(service, aggregated(skipped)))
        return actions

    def _failure(self, service: KubernetesObject, error: str) -> RecordEvent:
        note = f"Error updating Endpoint Slices for Service {service.key}: {error}"
        return self.warning(service, "FailedToUpdateEndpointSlices", note)

    def _reconciled(
        self,
        service: KubernetesObject,
        pods: Iterable[Pod],
        present: list[KubernetesObject],
        family: str,
        annotations: dict[str, str],
    ) -> Actions:
        """Return the writes for the slices of one address family.

        Upstream: reconcileByAddressType, finalize
        """
        labels = _labels(service)
        desired = self._desired(service, pods, family)
        own: list[KubernetesObject] = []
        foreign: list[KubernetesObject] = []
        for each in present:
            is_own = any(owner.uid == service.uid for owner in each.metadata.owner_references)
            (own if is_own else foreign).append(each)
        by_ports: dict[PortsKey, list[KubernetesObject]] = {}
        for each in own:
            by_ports.setdefault(ports_key(encode(each).get("ports") or ()), []).append(each)

        def empty(ports: list[Document]) -> Document:
            return new_slice(
                service,
                ports=ports,
                address_type=family,
                labels=labels,
                annotations=annotations,
            )

        created: list[Document] = []
        changed: list[tuple[KubernetesObject, Document]] = []
        deleted: list[KubernetesObject] = []
        for key, (ports, endpoints) in desired.items():
            filled = _Filled(by_ports.pop(key, []), endpoints, labels, lambda p=ports: empty(p))
            created += filled.created
            changed += filled.changed
            deleted += filled.deleted
        unused = [each for slices in by_ports.values() for each in slices]
        deleted += unused
        if len(own) == len(deleted) and not created:
            # A service without endpoints has one empty slice; garbage collection removes that of
            # an earlier service of its name.
            if len(present) != 1 or not _is_placeholder(present[0], labels):
                created.append(empty([]))
            else:
                deleted, foreign = [], []
        while created and deleted:
            changed.append((deleted.pop(0), created.pop()))
        actions: Actions = []
        if service.metadata.deletion_timestamp is None:
            error = f"failed to create EndpointSlice for Service {service.key}: "
            failed = self._failure(service, error)
            actions += [ReportedWrite(self.create(made(each)), None, failed) for each in created]
        actions += [self.update(renewed(old, new)) for old, new in changed]
        actions += [self.delete(each) for each in (*deleted, *foreign)]
        return actions

    def _desired(
        self, service: KubernetesObject, pods: Iterable[Pod], family: str
    ) -> dict[PortsKey, tuple[list[Document], dict[tuple[Any, ...], Document]]]:
        """Return the ports and the endpoints of each set of ports."""
        spec = section(service, "spec")
        publishes_all = bool(spec.get("publishNotReadyAddresses"))
        distribution = str(spec.get("trafficDistribution") or "")
        found: dict[PortsKey, tuple[list[Document], dict[tuple[Any, ...], Document]]] = {}
        for pod in pods:
            if not is_endpoint(pod, with_terminating=True):
                continue
            ports = _ports(service, pod)
            endpoints = found.setdefault(ports_key(ports), (ports, {}))[1]
            name = pod.spec.node_name
            node = self._lister.get(NODE, name)
            if node is None and not publishes_all:
                text = f"skipping Pod {pod.name} for Service {service.key}: Node {name} Not Found"
                errors = self._incomplete.setdefault(service.key, [])
                if text not in errors:
                    errors.append(text)
                continue
            endpoint = _endpoint(service, pod, node, family)
            if endpoint["addresses"]:
                _add_hints(endpoint, distribution)
                endpoints[endpoint_key(endpoint)] = endpoint
        return found


class _Filled:
    """The slices of one set of ports, with the desired endpoints.

    Upstream: reconcileByPortMapping
    """

    def __init__(
        self,
        slices: Sequence[KubernetesObject],
        desired: dict[tuple[Any, ...], Document],
        labels: dict[str, str],
        empty: Any,
    ) -> None:
        self.created: list[Document] = []
        self.changed: list[tuple[KubernetesObject, Document]] = []
        self.deleted: list[KubernetesObject] = []
        left = dict(desired)
        unchanged: list[KubernetesObject] = []
        for each in slices:
            present: Sequence[Document] = encode(each).get("endpoints") or ()
            kept = [left.pop(key) for old in present if (key := endpoint_key(old)) in left]
            has_labels = _unreserved(each.metadata.labels) == _unreserved(labels)
            if kept == list(present) and has_labels:
                unchanged.append(each)
            elif kept or not present:
                self.changed.append((each, _refilled(each, empty(), kept, labels)))
            else:
                self.deleted.append(each)
        # The fullest changed slices are filled first.
        for _, document in sorted(self.changed, key=lambda pair: -len(pair[1]["endpoints"])):
            _fill(document, left)
        while left:
            best = _best_of(unchanged, len(left)) if len(left) < ENDPOINTS_MAX else None
            if best is not None:
                unchanged.remove(best)
                endpoints = list(encode(best).get("endpoints") or ())
                document = _refilled(best, empty(), endpoints, best.metadata.labels)
                self.changed.append((best, document))
            else:
                document = empty()
                self.created.append(document)
            _fill(document, left)


def _refilled(
    present: KubernetesObject, new: Document, endpoints: list[Document], labels: Mapping[str, str]
) -> Document:
    """Return a slice with other endpoints; it keeps the annotations that others have written."""
    document = encode(present)
    kept = {
        name: text for name, text in present.metadata.annotations.items() if name != TRIGGER_TIME
    }
    annotations = kept | (new["metadata"].get("annotations") or {})
    metadata = document["metadata"] | {"labels": labels, "annotations": annotations}
    return document | {"endpoints": endpoints, "metadata": metadata}


def _fill(document: Document, left: dict[tuple[Any, ...], Document]) -> None:
    endpoints: list[Document] = document["endpoints"]
    while left and len(endpoints) < ENDPOINTS_MAX:
        endpoints.append(left.pop(next(iter(left))))


def _best_of(slices: Iterable[KubernetesObject], count: int) -> KubernetesObject | None:
    """Return the slice that a number of endpoints fills best; None if it fits in none."""
    rooms = [
        (room, each)
        for each in slices
        if (room := ENDPOINTS_MAX - count - len(encode(each).get("endpoints") or ())) >= 0
    ]
    return min(rooms, key=lambda pair: pair[0])[1] if rooms else None


def _is_placeholder(obj: KubernetesObject, labels: dict[str, str]) -> bool:
    document = encode(obj)
    is_empty = not document.get("endpoints") and not document.get("ports")
    return is_empty and obj.metadata.labels == labels


def _unreserved(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that slices share with their service; the others are not compared.

    Upstream: setEndpointSliceLabels
    """
    return {key: value for key, value in labels.items() if key not in _RESERVED}


def _labels(service: KubernetesObject) -> dict[str, str]:
    """Return the labels of the slices: those of the service, and the reserved ones."""
    labels = _unreserved(service.metadata.labels)
    if is_headless(service):
        labels[HEADLESS] = ""
    return labels | {SERVICE_NAME: service.name, MANAGED_BY: MANAGER}


def _ports(service: KubernetesObject, pod: Pod) -> list[Document]:
    ports: list[Document] = []
    for port in section(service, "spec").get("ports") or ():
        number = port_number(pod, port)
        if number is None:
            continue
        written = {
            "name": port.get("name") or "",
            "port": number,
            "protocol": port.get("protocol") or "TCP",
        }
        if port.get("appProtocol"):
            written["appProtocol"] = port["appProtocol"]
        ports.append(written)
    return ports


def _endpoint(
    service: KubernetesObject, pod: Pod, node: KubernetesObject | None, family: str
) -> Document:
    """Upstream: podToEndpoint."""
    serving, terminating = is_ready(pod), pod.is_terminating
    publishes_all = bool(section(service, "spec").get("publishNotReadyAddresses"))
    version = _VERSIONS.get(family)
    addresses = [ip_address(ip) for ip in addresses_of(pod)]
    endpoint: Document = {
        "addresses": [str(each) for each in addresses if each.version == version],
        "conditions": {
            "ready": publishes_all or (serving and not terminating),
            "serving": serving,
            "terminating": terminating,
        },
        "targetRef": {
            "kind": "Pod",
            "namespace": pod.metadata.namespace,
            "name": pod.name,
            "uid": pod.uid,
        },
    }
    if hostname := hostname_of(pod, service):
        endpoint["hostname"] = hostname
    if pod.spec.node_name:
        endpoint["nodeName"] = pod.spec.node_name
    if node is not None and (zone := node.metadata.labels.get(_ZONE)):
        endpoint["zone"] = zone
    return endpoint


def _add_hints(endpoint: Document, distribution: str) -> None:
    """Add where traffic to a ready endpoint should come from.

    Upstream: staging/src/k8s.io/endpointslice/trafficdist/trafficdist.go
    """
    if distribution not in _CLOSE or not endpoint["conditions"]["ready"]:
        return
    hints: Document = {}
    if endpoint.get("zone"):
        hints["forZones"] = [{"name": endpoint["zone"]}]
    if distribution == "PreferSameNode" and endpoint.get("nodeName"):
        hints["forNodes"] = [{"name": endpoint["nodeName"]}]
    if hints:
        endpoint["hints"] = hints
