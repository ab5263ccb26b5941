"""What the server itself writes: while it handles the requests of others, and at each start.

As with the loopback client of kube-apiserver, the field manager is the server's name. The endpoints
and components by which a cluster shows its server say how it runs now, so they are written again
at each start.

Upstream: pkg/controlplane/reconcilers/endpointsadapter.go;
pkg/registry/core/componentstatus/rest.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Final, TypeAlias

from podwright.apimachinery.objects import Document, KubernetesObject, encode, timestamp_text
from podwright.apimachinery.patching import object_type, with_managed_fields
from podwright.apimachinery.schema import Kind, built_in, decode
from podwright.cluster.api.pipeline import bare_parts, executed
from podwright.cluster.api.stages.write import Parts, Write
from podwright.cluster.store import ObjectStore, kind_of

MANAGER: Final = "kube-apiserver"
Reconciled: TypeAlias = Callable[[Document, Document], Document]
_COMPUTED: Final = "ComponentStatus"
"""The kind whose objects upstream does not store, so that their fields have no owners."""
_UNSENT: Final = {"Namespace": ("finalizers",), "Service": ("clusterIPs", "ipFamilies")}
"""The fields of specs that the server does not send, but sets while it creates the object."""


def create_missing(
    parts: Parts,
    documents: Iterable[Document],
    now_ns: int,
    *,
    manager: str = MANAGER,
    status_manager: str = "",
    reconciled: Reconciled | None = None,
) -> None:
    """Create objects as the server, unless they exist.

    Parameters
    ----------
    parts : Parts
        Of the profile `BARE`.
    documents : iterable of dict
    now_ns : int
    manager : str
        Who owns the fields.
    status_manager : str, optional
        Who has applied the conditions of the status.
    reconciled : callable, optional
        Returns what an existing object becomes: itself, a new version of it, or the new object in
        its place.
    """
    for document in documents:
        kind = built_in().find(document["apiVersion"], document["kind"])
        assert kind is not None, f"no kind {document['kind']}"
        whole = kind.go_form(document)
        obj = decode(whole)
        current = parts.storage.store.get(kind_of(obj), obj.key)
        if current is not None:
            before = encode(current)
            after = reconciled(before, whole) if reconciled else before
            if after is not whole:
                if after is not before:
                    replace(parts, kind, current, kind.go_form(after), now_ns)
                continue
            if parts.storage.delete(current, now_ns).outcome != "deleted":
                continue  # it has finalizers
        whole = with_server_as_owner(kind, None, whole, now_ns, manager=manager)
        if status_manager:
            metadata = whole["metadata"]
            entries = [_applied_conditions(whole, status_manager), *metadata["managedFields"]]
            whole = whole | {"metadata": metadata | {"managedFields": entries}}
        write = Write(now_ns=now_ns, body=decode(whole))
        executed(parts, "create", write)


def replace(
    parts: Parts, kind: Kind, current: KubernetesObject, whole: Document, now_ns: int
) -> None:
    """Replace an object as the server by a new version of it, in Go's form."""
    whole = with_server_as_owner(kind, encode(current), whole, now_ns)
    executed(parts, "update", Write(now_ns=now_ns, body=decode(whole), current=current))


def _applied_conditions(document: Document, manager: str) -> Document:
    """Return the entry of who has applied the conditions of a status, without empty fields."""
    conditions = document["status"]["conditions"]
    owned: Document = {
        f'k:{{"type":"{each["type"]}"}}': {".": {}}
        | {f"f:{name}": {} for name in sorted(each) if each[name]}
        for each in conditions
    }
    return {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": document["apiVersion"],
        "time": conditions[0]["lastTransitionTime"],
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:conditions": owned}},
        "subresource": "status",
    }


def with_server_as_owner(
    kind: Kind,
    current: Document | None,
    document: Document,
    now_ns: int,
    *,
    manager: str = MANAGER,
) -> Document:
    """Return an object that the server writes with the owners of its fields.

    Parameters
    ----------
    kind : Kind
    current : dict or None
        The stored object, None for a new one.
    document : dict
        The new object, in Go's form.
    now_ns : int
    manager : str
        Who owns the fields.
    """
    if kind.row.kind == _COMPUTED:
        return document
    unsent = _UNSENT.get(kind.row.kind, ())
    sent = document
    if unsent:
        spec = {name: value for name, value in document["spec"].items() if name not in unsent}
        sent = document | {"spec": spec}
    tracked = with_managed_fields(
        object_type(kind), current, sent, manager, now=timestamp_text(now_ns)
    )
    return document | {"metadata": tracked["metadata"]}


# ------------------------------------------------------------------------- objects about the server

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
