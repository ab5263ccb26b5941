"""The surroundings of plugins in tests."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import decode
from podwright.cluster.api.admission import AdmissionContext, Attributes
from podwright.cluster.api.admission.plugin import Plugin
from podwright.cluster.api.authorization import AlwaysAllow
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import built_in_resources
from podwright.cluster.store import ObjectStore


def a_context(store: ObjectStore | None = None, **facts: Any) -> AdmissionContext:
    """Return a context over a store, whose quotas are never charged."""
    values: dict[str, Any] = {
        "store": store or ObjectStore(),
        "update_status": lambda _quota, _now: None,
        "authorizer": AlwaysAllow(),
        "resources": (),
    }
    return AdmissionContext(**values | facts)


def a_write(
    kind: str,
    new: Document | None,
    old: Any = None,
    *,
    operation: Any = None,
    subresource: str = "",
    namespace: str = "default",
    name: str = "",
    **facts: Any,
) -> Attributes:
    """Return a write of a built-in kind, such as `v1 Pod`: an update if there is an old object."""
    version, _, kind = kind.partition(" ")
    values: dict[str, Any] = {
        "operation": operation or ("CREATE" if old is None else "UPDATE"),
        "resource": built_in_resources()[version, kind],
        "subresource": subresource,
        "namespace": namespace,
        "name": name,
        "object": new,
        "old": old,
        "user": User("ada"),
        "options": {},
        "is_dry_run": False,
        "now_ns": 0,
        "warnings": [],
        "audit_annotations": {},
    }
    return Attributes(**values | facts)


def outcome(plugin: Plugin, attributes: Attributes) -> Document | str | None:
    """Return the object as a plugin leaves it, or the message of its rejection."""
    try:
        plugin.admit(attributes)
        plugin.validate(attributes)
    except Rejection as error:
        return str(error.status["message"])
    return attributes.object


def a_store(*documents: Document) -> ObjectStore:
    """Return a store with objects."""
    store = ObjectStore()
    for each in documents:
        store.put(decode(each))
    return store


def named(kind: str, name: str, namespace: str = "", **parts: Any) -> Document:
    """Return an object of a kind, such as `v1 Pod`."""
    version, _, kind = kind.partition(" ")
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata |= parts.pop("metadata", {})
    return {"apiVersion": version, "kind": kind, "metadata": metadata} | parts
