"""What the server itself writes while it handles the requests of others.

As with the loopback client of kube-apiserver, the field manager is the server's name
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from podwright.apimachinery.objects import Document, KubernetesObject, encode, timestamp_text
from podwright.apimachinery.patching import object_type, with_managed_fields
from podwright.apimachinery.schema import Kind, built_in, decode
from podwright.cluster.api.pipeline import executed
from podwright.cluster.api.stages.write import Parts, Write
from podwright.cluster.store import kind_of

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
