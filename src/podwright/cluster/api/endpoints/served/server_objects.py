"""The objects by which a cluster shows its own server: endpoints and components.

They say how the server runs now, so they are written again at each start.

Upstream: pkg/controlplane/reconcilers/endpointsadapter.go;
pkg/registry/core/componentstatus/rest.go
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

from podwright.apimachinery.objects import Document, KubernetesObject, encode
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api.endpoints.served.server_writes import create_missing, replace
from podwright.cluster.api.pipeline import bare_parts
from podwright.cluster.store import ObjectStore, kind_of

NAME: Final = "kubernetes"
"""The name of the Service of the API, and of its endpoints."""

_HTTPS: Final = "https"
_SET_BY_STORE: Final = (
    "creationTimestamp", "generation", "managedFields", "resourceVersion", "uid",
)  # fmt: skip


def server_objects(
    address: str, port: int, *, components: Iterable[str] = ()
) -> tuple[Document, ...]:
    """Return the objects of a server.

    Parameters
    ----------
    address : str
        The IP address at which the server is reached.
    port : int
    components : iterable of str
        The names of the other components that run.
    """
    metadata = {"name": NAME, "namespace": "default"}
    family = f"IPv{ip_address(address).version}"
    return (
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": metadata | {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
            "subsets": [
                {
                    "addresses": [{"ip": address}],
                    "ports": [{"name": _HTTPS, "port": port, "protocol": "TCP"}],
                }
            ],
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": metadata | {"labels": {"kubernetes.io/service-name": NAME}},
            "addressType": family,
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
            "ports": [{"name": _HTTPS, "port": port, "protocol": "TCP"}],
        },
        *(_component(name) for name in ("etcd-0", *components)),
    )


def _component(name: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "ComponentStatus",
        "metadata": {"name": name},
        "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}],
    }


def put_objects(store: ObjectStore, documents: Iterable[Document], now_ns: int) -> None:
    """Create objects, or replace those of the same names that differ."""
    store.advance(now_ns)
    parts = bare_parts(store)
    with store.batch():
        for document in documents:
            kind = built_in().find(document["apiVersion"], document["kind"])
            assert kind is not None, f"no kind {document['kind']}"
            whole = kind.go_form(document)
            obj = decode(whole)
            current = store.get(kind_of(obj), obj.key)
            if current is None:
                create_missing(parts, (document,), now_ns)
            elif _content(current) != _content(obj):
                metadata = encode(current)["metadata"]
                kept = {key: metadata[key] for key in _SET_BY_STORE if key in metadata}
                whole = whole | {"metadata": whole["metadata"] | kept}
                replace(parts, kind, current, whole, now_ns)


def _content(obj: KubernetesObject) -> Document:
    """Return an object without what the store sets."""
    document = encode(obj)
    metadata = document["metadata"]
    return document | {
        "metadata": {key: metadata[key] for key in metadata if key not in _SET_BY_STORE}
    }
