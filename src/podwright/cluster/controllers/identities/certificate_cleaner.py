"""Deletes certificate requests: an hour after their end, a day after one that did not come.

Upstream looks every hour; here a request is deleted when its time is over. Certificates that expire
earlier are not read.

Upstream: pkg/controller/certificates/cleaner/cleaner.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, timestamp_ns
from podwright.cluster.api import section
from podwright.cluster.controllers.actions import deletion_by
from podwright.cluster.controllers.identities.certificate_requests import (
    CertificateRequestController,
)
from podwright.cluster.controllers.interface import ControllerAction, SyncAt, SyncDue
from podwright.cluster.controllers.kinds import CSR
from podwright.cluster.controllers.lister import Lister

_DECIDED_NS: Final = 3_600_000_000_000
_PENDING_NS: Final = 24 * _DECIDED_NS
_DECISIONS: Final = ("Denied", "Failed")


class CertificateCleanerController(CertificateRequestController):
    """Deletes old requests."""

    name = "certificatesigningrequest-cleaner-controller"

    def __init__(self, lister: Lister) -> None:
        self._lister = lister

    def sync(self, key: NamespacedName, now_ns: int) -> list[ControllerAction]:
        """Delete a request that is over, or wait for that."""
        request = self._lister.get(CSR, key)
        if request is None:
            return []
        due_ns = _due_ns(request)
        if due_ns is None:
            return []
        if due_ns > now_ns:
            return [SyncAt(due_ns, SyncDue(self.name, key))]
        return [deletion_by(self.name, request)]


def _due_ns(request: KubernetesObject) -> int | None:
    """Return when a request is over; None if its conditions do not say."""
    status = section(request, "status")
    conditions = status.get("conditions") or ()
    if not conditions:
        created_ns = timestamp_ns(request.metadata.creation_timestamp)
        return None if created_ns is None else created_ns + _PENDING_NS
    kept_ns = dict.fromkeys(_DECISIONS, _DECIDED_NS)
    kept_ns["Approved"] = _DECIDED_NS if status.get("certificate") else _PENDING_NS
    times = [
        time_ns + kept_ns[each["type"]]
        for each in conditions
        if each["type"] in kept_ns
        and (time_ns := timestamp_ns(each.get("lastUpdateTime"))) is not None
    ]
    return min(times, default=None)
