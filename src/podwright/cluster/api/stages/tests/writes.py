"""Writes of documents and the parts of a served cluster, for tests of single stages."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission import AdmissionChain, Attributes
from podwright.cluster.api.authorization import AlwaysAllow, AuthorizerChain, EscalationCheck
from podwright.cluster.api.authorization.role_resolver import RoleResolver
from podwright.cluster.api.field_management import FieldManagement
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.api.stages.write import Profile, SentWrite, ServedParts, StatusWrites
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import Resource, Resources, built_in_resources
from podwright.cluster.store import ObjectStore

NOW_NS, NOW = 1_767_225_600 * 1_000_000_000, "2026-01-01T00:00:00Z"


def resource(name: str) -> Resource:
    """Return a resource by its version and kind, such as `apps/v1 Deployment`."""
    version, kind = name.split(" ")
    return built_in_resources()[version, kind]


def parts(store: ObjectStore | None = None, **options: Any) -> ServedParts:
    """Return the parts of a cluster without plugins, in which everybody may do everything."""
    store = store or ObjectStore(seed=7)
    storage = ResourceStorage(store)
    authorizers = AuthorizerChain([AlwaysAllow()])
    values: dict[str, Any] = {
        "profile": Profile(name="test"),
        "storage": storage,
        "server_status": StatusWrites(storage),
        "admission": AdmissionChain([]),
        "store": store,
        "field_management": FieldManagement(Resources()),
        "authorizers": authorizers,
        "escalation": EscalationCheck(authorizers, RoleResolver(store)),
        "disabled_fields": {},
    }
    return ServedParts(**values | options)


def sent_write(
    name: str | Resource,
    new: Document,
    *,
    old: Document | None = None,
    user: User | None = None,
    namespace: str = "default",
    subresource: str = "",
    current: Any = None,
    **options: Any,
) -> SentWrite:
    """Return a write of a document; one without a stored object is a creation."""
    attributes = Attributes(
        operation="CREATE" if old is None else "UPDATE",
        resource=resource(name) if isinstance(name, str) else name,
        subresource=subresource,
        namespace=namespace,
        name="" if old is None else old["metadata"]["name"],
        object=None,
        old=old,
        user=user or User("ada"),
        options={},
        is_dry_run=bool(options.get("is_dry_run")),
        now_ns=NOW_NS,
    )
    values: dict[str, Any] = {
        "now_ns": NOW_NS,
        "body": None,
        "attributes": attributes,
        "new": new,
        "sent": new,
        "text": b"",
        "manager": "test",
        "name": attributes.name,
        "current": current,
        "warnings": [],
        "is_post": old is None,
    }
    return SentWrite(**values | options)
