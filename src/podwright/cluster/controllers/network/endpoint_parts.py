"""What the controllers of endpoints share: the pods of services, and parts of slices and subsets.

Upstream: staging/src/k8s.io/endpointslice/util/{controller_utils,trigger_time_tracker}.go;
staging/src/k8s.io/endpointslice/{utils,util/endpointset}.go; pkg/api/v1/endpoints/util.go,
RepackSubsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Any, Final, TypeAlias

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Pod,
    condition_of,
    encode,
    is_ready,
    timestamp_ns,
    timestamp_text_nano,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import section
from podwright.cluster.controllers.adoption import controller_reference_document
from podwright.cluster.controllers.interface import PodChange, SyncAt, SyncDue, Version
from podwright.cluster.controllers.kinds import ENDPOINT_SLICE, SERVICE
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import POD

POD_CHANGES: Final = (
    PodChange.METADATA | PodChange.SPEC | PodChange.STATUS | PodChange.ADDED | PodChange.DELETED
)
"""The changes of pods that can change endpoints."""

TRIGGER_TIME: Final = "endpoints.kubernetes.io/last-change-trigger-time"
HEADLESS: Final = "service.kubernetes.io/headless"

_LARGE: Final = 100
"""From this number of pods on, a service is synced once in a second only."""

_PERIOD_NS: Final = 1_000_000_000


class ServicePods(Checkpointed):
    """The pods of all services with a selector.

    Parameters
    ----------
    lister : Lister

    Attributes
    ----------
    selectors : dict
        Of services, by key, of each namespace that has such services.
    """

    _synced_ns: Saved[dict[NamespacedName, int]]
    _triggers_ns: Saved[dict[NamespacedName, dict[str, int]]]

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        self.selectors: dict[str, dict[NamespacedName, Document]] = {}
        self._pods: dict[NamespacedName, dict[NamespacedName, None]] = {}
        # The times of the last sync and of the changes that it knew, by service.
        self._synced_ns = {}
        self._triggers_ns = {}

    def observe_service(self, new: KubernetesObject | None, key: NamespacedName) -> None:
        """Follow the selector of a service."""
        selector = None if new is None else selector_of(new)
        namespace = key.partition("/")[0]
        known = self.selectors.get(namespace, {})
        if selector is None:
            known.pop(key, None)
            self._pods.pop(key, None)
            if not known:
                self.selectors.pop(namespace, None)
            if new is None:
                self._synced_ns.pop(key, None)
                self._triggers_ns.pop(key, None)
            return
        if known.get(key) == selector:
            return
        self.selectors.setdefault(namespace, {})[key] = selector
        self._pods[key] = {
            pod.key: None
            for pod in self._lister.in_namespace(POD, namespace).values()
            if _selects(selector, pod)
        }

    def observe_pod(self, old: Version, new: Version) -> list[str]:
        """Return the services whose endpoints a change of a pod can change."""
        pod = new if new is not None else old
        assert isinstance(pod, Pod), "a pod"
        selectors = self.selectors.get(pod.metadata.namespace)
        if not selectors:
            return []
        same = (
            isinstance(old, Pod)
            and isinstance(new, Pod)
            and old.metadata.labels == new.metadata.labels
        )
        if same and _facts(old) == _facts(new):
            return []
        changed: list[NamespacedName] = []
        for key, selector in selectors.items():
            pods = self._pods[key]
            was_selected = pod.key in pods
            if new is not None and (was_selected if same else _selects(selector, new)):
                pods[pod.key] = None
                changed.append(key)
            elif was_selected:
                del pods[pod.key]
                changed.append(key)
        return changed

    def of(self, service: NamespacedName) -> list[Pod]:
        """Return the pods of a service, in the order of their names."""
        found = (self._lister.get(POD, key) for key in sorted(self._pods.get(service, ())))
        return [pod for pod in found if isinstance(pod, Pod)]

    def delay(self, service: NamespacedName, controller: str, now_ns: int) -> list[SyncAt]:
        """Return when a large service is synced, unless that is now; else record that it is now."""
        last_ns = self._synced_ns.get(service)
        is_large = len(self._pods.get(service, ())) > _LARGE
        if is_large and last_ns is not None and now_ns < last_ns + _PERIOD_NS:
            return [SyncAt(last_ns + _PERIOD_NS, SyncDue(controller, service))]
        self._synced_ns[service] = now_ns
        return []

    def trigger_ns(self, service: KubernetesObject, pods: Iterable[Pod]) -> int | None:
        """Return the time of the first change since the last call; None if there was none."""
        known = self._triggers_ns.get(service.key)
        created_ns = timestamp_ns(service.metadata.creation_timestamp) or 0
        times = {"": created_ns}
        for pod in pods:
            ready = condition_of(pod, "Ready")
            since_ns = None if ready is None else timestamp_ns(ready.last_transition_time)
            if since_ns is not None:
                times[pod.name] = since_ns
        self._triggers_ns[service.key] = times
        if known is None:
            return created_ns
        return min(
            (time_ns for name, time_ns in times.items() if time_ns > known.get(name, 0)),
            default=None,
        )

    def _derive(self) -> None:
        for key in self._lister.all(SERVICE):
            self.observe_service(self._lister.get(SERVICE, key), key)


def trigger_time(time_ns: int) -> str:
    """Return a time as Go writes it: without zeros at the end of the fraction."""
    text = timestamp_text_nano(time_ns)
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    fraction = fraction.rstrip("0")
    return f"{seconds}.{fraction}Z" if fraction else f"{seconds}Z"


def selector_of(service: KubernetesObject) -> Document | None:
    """Return the selector of a service; None if its endpoints are not those of pods."""
    spec = section(service, "spec")
    selector: Document | None = spec.get("selector")
    return None if spec.get("type") == "ExternalName" else selector or None


def is_endpoint(pod: Pod, *, with_terminating: bool) -> bool:
    """Whether a pod has an address that a service can use.

    Upstream: ShouldPodBeInEndpoints
    """
    if pod.is_terminal or not addresses_of(pod):
        return False
    return with_terminating or not pod.is_terminating


def addresses_of(pod: Pod) -> list[str]:
    """Return the addresses of a pod."""
    status = section(pod, "status")
    found = [each["ip"] for each in status.get("podIPs") or () if each.get("ip")]
    return found or ([status["podIP"]] if status.get("podIP") else [])


def hostname_of(pod: Pod, service: KubernetesObject) -> str:
    """Return the host name of a pod in the domain of a service; "" if it has none there.

    Upstream: ShouldSetHostname
    """
    spec = section(pod, "spec")
    is_in_domain = spec.get("subdomain") == service.name
    return str(spec.get("hostname") or "") if is_in_domain else ""


def port_number(pod: Pod, port: Document) -> int | None:
    """Return the number of a service's target port on a pod; None if the pod does not have it.

    Upstream: staging/src/k8s.io/endpointslice/utils.go, FindPort
    """
    target = port.get("targetPort", port.get("port"))
    if isinstance(target, int):
        return target
    spec = section(pod, "spec")
    sidecars = [
        each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"
    ]
    for container in [*(spec.get("containers") or ()), *sidecars]:
        for each in container.get("ports") or ():
            same_protocol = each.get("protocol", "TCP") == port.get("protocol", "TCP")
            if each.get("name") == target and same_protocol:
                return int(each["containerPort"])
    return None


def is_headless(service: KubernetesObject) -> bool:
    """Whether a service has no cluster IP."""
    return section(service, "spec").get("clusterIP") in (None, "", "None")


def _selects(selector: Document, pod: KubernetesObject) -> bool:
    labels = pod.metadata.labels
    return all(labels.get(name) == value for name, value in selector.items())


def _facts(pod: KubernetesObject | None) -> tuple[Any, ...]:
    """Return what endpoints depend on, besides labels."""
    assert isinstance(pod, Pod), "a pod"
    ready = condition_of(pod, "Ready")
    return (
        pod.uid,
        pod.spec.node_name,
        pod.is_terminal,
        pod.is_terminating,
        is_ready(pod),
        None if ready is None else ready.last_transition_time,
        addresses_of(pod),
    )


# What the controllers of endpoint slices share: names, labels and the grouping by ports.

SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"

_NAME_MAX: Final = 253

PortsKey: TypeAlias = tuple[tuple[Any, ...], ...]


def ports_key(ports: Iterable[Document]) -> PortsKey:
    """Return what identifies a set of ports."""
    return tuple(
        sorted(
            (
                str(each.get("name") or ""),
                int(each.get("port") or 0),
                str(each.get("protocol") or "TCP"),
                str(each.get("appProtocol") or ""),
            )
            for each in ports
        )
    )


def endpoint_key(endpoint: Document) -> tuple[Any, ...]:
    """Return what identifies an endpoint: its addresses, host name and pod.

    Upstream: EndpointHash
    """
    target = endpoint.get("targetRef") or {}
    return (
        tuple(sorted(endpoint.get("addresses") or ())),
        endpoint.get("hostname", ""),
        target.get("namespace", ""),
        target.get("name", ""),
    )


def slices_of(lister: Lister, service: str, controller: str) -> list[KubernetesObject]:
    """Return the slices of a service that a controller manages and that are not being deleted."""
    namespace, _, name = service.partition("/")
    found = lister.in_namespace(ENDPOINT_SLICE, namespace)
    return [
        each
        for _, each in sorted(found.items())
        if each.metadata.labels.get(SERVICE_NAME) == name
        and each.metadata.labels.get(MANAGED_BY) == controller
        and each.metadata.deletion_timestamp is None
    ]


def service_of(endpoint_slice: KubernetesObject) -> str:
    """Return the key of the service of a slice; "" if it has none."""
    name = endpoint_slice.metadata.labels.get(SERVICE_NAME)
    return f"{endpoint_slice.metadata.namespace}/{name}" if name else ""


def new_slice(
    owner: KubernetesObject,
    *,
    ports: list[Document],
    address_type: str,
    labels: dict[str, str],
    annotations: dict[str, str],
) -> Document:
    """Return the document of a slice without endpoints."""
    prefix = f"{owner.name}-"
    metadata: Document = {
        "generateName": prefix if len(prefix) <= _NAME_MAX else owner.name,
        "namespace": owner.metadata.namespace,
        "labels": labels,
        "ownerReferences": [controller_reference_document(owner)],
    }
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata,
        "addressType": address_type,
        "endpoints": [],
        "ports": ports,
    }


def made(new: Document) -> KubernetesObject:
    """Return a new slice as an object; lists without items are null, as protobuf has them."""
    lists = {name: new[name] or None for name in ("endpoints", "ports")}
    return decode({**new, **lists})


def renewed(present: KubernetesObject, new: Document) -> KubernetesObject:
    """Return an existing slice with the content of a new one."""
    document = encode(present)
    metadata = dict(document["metadata"])
    metadata["labels"] = new["metadata"]["labels"]
    metadata["ownerReferences"] = new["metadata"]["ownerReferences"]
    metadata["annotations"] = new["metadata"].get("annotations") or {}
    if not metadata["annotations"]:
        del metadata["annotations"]
    return made({**new, "metadata": metadata})


# The canonical form of the subsets of endpoints.
#
# Each address is in one subset only, with all its ports, and is ready only if it is for all of
# them. Upstream orders subsets, ports and addresses by hashes; here their values order them.

PortKey: TypeAlias = tuple[tuple[str, Any], ...]
AddressKey: TypeAlias = tuple[str, str]


def repacked(subsets: Iterable[Document]) -> list[Document]:
    """Return subsets in canonical form."""
    known: dict[AddressKey, Document] = {}
    ready: dict[PortKey, dict[AddressKey, bool]] = {}
    for subset in subsets:
        ports: Sequence[Document] = subset.get("ports") or ({},)
        for port in ports:
            states = ready.setdefault(tuple(sorted(port.items())), {})
            for field, is_for_port in (("addresses", True), ("notReadyAddresses", False)):
                for address in subset.get(field) or ():
                    key = (address["ip"], (address.get("targetRef") or {}).get("uid", ""))
                    known.setdefault(key, address)
                    # Not ready for one port is not ready.
                    states[key] = is_for_port and states.get(key, True)
    ports_of: dict[tuple[tuple[AddressKey, bool], ...], list[PortKey]] = {}
    for port_key, states in sorted(ready.items(), key=lambda item: repr(item[0])):
        ports_of.setdefault(tuple(sorted(states.items())), []).append(port_key)
    packed: list[Document] = []
    for addresses, port_keys in ports_of.items():
        subset = {}
        for field, is_for_all in (("addresses", True), ("notReadyAddresses", False)):
            keys = sorted((key for key, state in addresses if state is is_for_all), key=_by_ip)
            if keys:
                subset[field] = [known[key] for key in keys]
        if with_ports := [dict(each) for each in port_keys if each]:
            subset["ports"] = with_ports
        packed.append(subset)
    return packed


def _by_ip(key: AddressKey) -> tuple[int, int, str]:
    address = ip_address(key[0])
    return (address.version, int(address), key[1])
