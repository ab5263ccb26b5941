"""What the controllers of endpoint slices share: names, labels and the grouping by ports.

Upstream: staging/src/k8s.io/endpointslice/{utils,util/endpointset}.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document, KubernetesObject, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.kinds import ENDPOINT_SLICE
from podwright.cluster.controllers.lister import Lister

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
    reference = {
        "apiVersion": "v1",
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata: Document = {
        "generateName": prefix if len(prefix) <= _NAME_MAX else owner.name,
        "namespace": owner.metadata.namespace,
        "labels": labels,
        "ownerReferences": [reference],
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
