"""The status that the server itself writes: of quotas that a write charges, and of budgets.

Upstream: the loopback client of kube-apiserver
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import decode
from podwright.cluster.api.component_owners import SERVER_USER, ComponentOwners
from podwright.cluster.api.resource_storage import ResourceStorage


class StatusWrites:
    """Writes the status of objects as the server.

    Parameters
    ----------
    storage : ResourceStorage
    owners : ComponentOwners, optional
        Keeps `managedFields`; None for a cluster without them.
    """

    def __init__(self, storage: ResourceStorage, owners: ComponentOwners | None = None) -> None:
        self._storage = storage
        self.owners = owners

    def update(self, document: Document, now_ns: int) -> None:
        """Store an object of a stored version with a new status."""
        owners_of = self.owners and self.owners.of_update("status", SERVER_USER, now_ns)
        self._storage.update(decode(document), scope="status", owners_of=owners_of)
