"""The objects that a server keeps beside those of users: their names say what is taken or served.

An IPAddress exists for each address of a Service, and an APIService for each version that the
server or a CustomResourceDefinition serves.

Upstream: pkg/registry/core/service/ipallocator/ipallocator.go, createIPAddress;
pkg/controlplane/apiserver/aggregator.go, makeAPIService; cmd/kube-apiserver/app/aggregator.go;
pkg/controlplane/controller/crdregistration/crdregistration_controller.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Final

from podwright.apimachinery.objects import Document, NamespacedName, timestamp_text
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.endpoints.served.server_writes import create_missing
from podwright.cluster.api.followed import Followed
from podwright.cluster.api.pipeline import executed
from podwright.cluster.api.stages.kinds.custom_resources import DEFINITION
from podwright.cluster.api.stages.kinds.service_allocation import SERVICE_NETWORK
from podwright.cluster.api.stages.write import Parts, Write
from podwright.cluster.store import GroupKind, ObjectStore

_SERVICE: Final[GroupKind] = ("", "Service")
_ADDRESS: Final[GroupKind] = ("networking.k8s.io", "IPAddress")
_API_SERVICE: Final[GroupKind] = ("apiregistration.k8s.io", "APIService")
_MANAGED_BY: Final = "ipaddress.kubernetes.io/managed-by"
_ALLOCATOR: Final = "ipallocator.k8s.io"
_AUTOMANAGED: Final = "kube-aggregator.kubernetes.io/automanaged"

_PRIORITIES: Final = {
    "v1": (18_000, 1),
    "apps/v1": (17_800, 15),
    "events.k8s.io/v1": (17_750, 15),
    "authentication.k8s.io/v1": (17_700, 15),
    "authorization.k8s.io/v1": (17_600, 15),
    "autoscaling/v1": (17_500, 15),
    "autoscaling/v2": (17_500, 30),
    "batch/v1": (17_400, 15),
    "certificates.k8s.io/v1": (17_300, 15),
    "networking.k8s.io/v1": (17_200, 15),
    "policy/v1": (17_100, 15),
    "rbac.authorization.k8s.io/v1": (17_000, 15),
    "storage.k8s.io/v1": (16_800, 15),
    "admissionregistration.k8s.io/v1": (16_700, 15),
    "apiextensions.k8s.io/v1": (16_700, 15),
    "scheduling.k8s.io/v1": (16_600, 15),
    "scheduling.k8s.io/v1alpha2": (16_600, 2),
    "coordination.k8s.io/v1": (16_500, 15),
    "coordination.k8s.io/v1beta1": (16_500, 13),
    "node.k8s.io/v1": (16_300, 15),
    "discovery.k8s.io/v1": (16_200, 15),
    "resource.k8s.io/v1": (16_200, 21),
    "resource.k8s.io/v1beta2": (16_200, 15),
    "resource.k8s.io/v1alpha3": (16_200, 1),
    "flowcontrol.apiserver.k8s.io/v1": (16_100, 21),
    "internal.apiserver.k8s.io/v1alpha1": (16_000, 9),
    "metrics.k8s.io/v1beta1": (100, 100),
}
"""By group version, the priorities of its group and of the version in the group."""
_OF_DEFINITIONS: Final = (1_000, 100)


def api_services(group_versions: Iterable[str], now_ns: int) -> Iterator[Document]:
    """Yield the APIServices of what a server serves.

    Parameters
    ----------
    group_versions : iterable of str
        Such as ``apps/v1``, or a single resource of one, ``scheduling.k8s.io/v1alpha2/podgroups``.
    """
    served = dict.fromkeys("/".join(each.split("/")[:2]) for each in group_versions)
    for group_version in served:
        if group_version in _PRIORITIES:
            priorities = _PRIORITIES[group_version]
            group, _, version = group_version.rpartition("/")
            yield _api_service(group, version, priorities, "onstart", now_ns)


def _api_service(
    group: str, version: str, priorities: tuple[int, int], automanaged: str, now_ns: int
) -> Document:
    spec = {
        "version": version,
        "groupPriorityMinimum": priorities[0],
        "versionPriority": priorities[1],
    }
    available = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": timestamp_text(now_ns),
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{version}.{group}", "labels": {_AUTOMANAGED: automanaged}},
        "spec": spec | ({"group": group} if group else {}),
        "status": {"conditions": [available]},
    }


def address_object(address: str, namespace: str, name: str) -> Document:
    """Return the IPAddress of a Service's address."""
    family = f"IPv{ip_address(address).version}"
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {
            "name": address,
            "labels": {"ipaddress.kubernetes.io/ip-family": family, _MANAGED_BY: _ALLOCATOR},
        },
        "spec": {"parentRef": {"resource": "services", "namespace": namespace, "name": name}},
    }


def default_network(now_ns: int) -> Document:
    """Return the ServiceCIDR of the addresses that Services get.

    Upstream: pkg/controlplane/controller/defaultservicecidr/default_servicecidr_controller.go
    """
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": timestamp_text(now_ns),
    }
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": [str(SERVICE_NETWORK)]},
        "status": {"conditions": [ready]},
    }


class KeptObjects:
    """Creates and deletes the objects that follow from Services and CustomResourceDefinitions.

    Parameters
    ----------
    store : ObjectStore
    parts : Parts
        Writes them.
    """

    def __init__(self, store: ObjectStore, parts: Parts) -> None:
        self._store = store
        self._parts = parts
        self._services = Followed(store, _SERVICE)
        self._definitions = Followed(store, DEFINITION)
        self._addresses: dict[NamespacedName, tuple[str, ...]] = {}

    def catch_up(self, now_ns: int) -> None:
        """Bring the objects up to date with the store."""
        if self._services.is_behind:
            services = dict(self._services.changes())
            # First, since another Service may have an address by now.
            for key, service in services.items():
                self._release_addresses(key, _addresses(service), now_ns)
            for key, service in services.items():
                namespace, _, name = key.partition("/")
                made = (address_object(each, namespace, name) for each in _addresses(service))
                create_missing(self._parts, made, now_ns)
        if self._definitions.is_behind:
            # The name of a definition ends with its group.
            groups = {key.partition(".")[2] for key, _ in self._definitions.changes()}
            for group in sorted(groups):
                self._keep_api_services(group, now_ns)

    def _release_addresses(self, key: NamespacedName, kept: tuple[str, ...], now_ns: int) -> None:
        """Delete the IPAddresses that a Service had, apart from those that it has now."""
        before = self._addresses.pop(key, ())
        if kept:
            self._addresses[key] = kept
        for address in before:
            found = self._store.get(_ADDRESS, address)
            if address in kept or found is None:
                continue
            if found.metadata.labels.get(_MANAGED_BY) == _ALLOCATOR:
                self._delete(_ADDRESS, address, now_ns)

    def _keep_api_services(self, group: str, now_ns: int) -> None:
        specs = [each.raw["spec"] for each in self._store.list(DEFINITION).objects]
        served = {
            version["name"]
            for spec in specs
            if spec["group"] == group
            for version in spec["versions"]
            if version.get("served")
        }
        for obj in self._store.list(_API_SERVICE).objects:
            spec = obj.raw.get("spec") or {}
            is_own = obj.metadata.labels.get(_AUTOMANAGED) == "true"
            if is_own and spec.get("group") == group and spec.get("version") not in served:
                self._delete(_API_SERVICE, obj.key, now_ns)
        made = (
            _api_service(group, each, _OF_DEFINITIONS, "true", now_ns) for each in sorted(served)
        )
        create_missing(self._parts, made, now_ns)

    def _delete(self, kind: GroupKind, key: NamespacedName, now_ns: int) -> None:
        write = Write(kind=kind, key=key, now_ns=now_ns, body=DeleteOptions())
        executed(self._parts, "delete", write)


def _addresses(service: Document | None) -> tuple[str, ...]:
    spec: Document = {} if service is None else service.get("spec") or {}
    return tuple(each for each in spec.get("clusterIPs") or () if _is_address(each))


def _is_address(text: str) -> bool:
    """Whether a text is an address: neither `None` nor what a redacted dump has in its place."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
