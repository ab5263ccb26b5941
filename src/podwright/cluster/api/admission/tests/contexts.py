"""The surroundings of plugins in tests."""

from __future__ import annotations

from podwright.apimachinery.patching import ObjectType
from podwright.cluster.api.admission import AdmissionContext, AdmittedResource
from podwright.cluster.api.authorization import AlwaysAllow
from podwright.cluster.store import ObjectStore


def a_context(store: ObjectStore | None = None) -> AdmissionContext:
    """Return a context over a store, whose quotas are never charged."""
    return AdmissionContext(
        store=store or ObjectStore(),
        update_status=lambda _quota, _now: None,
        authorizer=AlwaysAllow(),
        resources=(),
        type_of=_no_types,
        completed=lambda _resource, document: document,
    )


def _no_types(resource: AdmittedResource) -> ObjectType:
    raise AssertionError(f"no type of {resource.name}")
