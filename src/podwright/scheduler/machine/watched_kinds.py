"""Which changes are delivered to the scheduler: those of watched kinds that affect it."""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import KubernetesObject

UNWATCHED_KINDS: Final = frozenset(
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

SELECTOR_KINDS: Final = frozenset(
    {
        ("", "ReplicationController"), ("", "Service"),
        ("apps", "ReplicaSet"), ("apps", "StatefulSet"),
    }
)  # fmt: skip
"""Kinds of which the scheduler reads the selector only, so changes of their status are skipped."""


def changes_selector(old: KubernetesObject | None, new: KubernetesObject | None) -> bool:
    """Whether an object of these kinds may have another selector, or was created or deleted."""
    if old is None or new is None:
        return True
    return old.metadata.labels != new.metadata.labels or getattr(old, "spec", None) != getattr(
        new, "spec", None
    )
