"""The surroundings of plugins in tests."""

from __future__ import annotations

from podwright.cluster.api.admission import AdmissionContext
from podwright.cluster.api.authorization import AlwaysAllow
from podwright.cluster.store import ObjectStore


def a_context(store: ObjectStore | None = None) -> AdmissionContext:
    """Return a context over a store, whose quotas are never charged."""
    return AdmissionContext(
        store=store or ObjectStore(),
        update_status=lambda _quota, _now: None,
        authorizer=AlwaysAllow(),
        resources=(),
    )
