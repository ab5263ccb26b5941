"""Which changes are delivered to the scheduler: those of watched kinds that affect it."""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import KubernetesObject

NOT_READ: Final = frozenset(
    {
        ("", "ConfigMap"), ("", "Event"), ("", "Secret"), ("", "ServiceAccount"),
        ("apps", "ControllerRevision"), ("apps", "DaemonSet"), ("apps", "Deployment"),
        ("batch", "CronJob"), ("batch", "Job"), ("coordination.k8s.io", "Lease"),
        ("events.k8s.io", "Event"),
    }
)  # fmt: skip
"""Kinds that the scheduler does not watch.

The leases of 5,000 nodes are renewed 500 times a second. A decision log would keep each version
until its next checkpoint.
"""

SELECTING: Final = frozenset(
    {
        ("", "ReplicationController"), ("", "Service"),
        ("apps", "ReplicaSet"), ("apps", "StatefulSet"),
    }
)  # fmt: skip
"""Kinds of which the scheduler reads the selector only: their status is no news to it."""


def is_news(old: KubernetesObject | None, new: KubernetesObject | None) -> bool:
    """Whether a controller's object has another selector, or is new, or gone."""
    if old is None or new is None:
        return True
    return old.metadata.labels != new.metadata.labels or getattr(old, "spec", None) != getattr(
        new, "spec", None
    )
