"""The status that the server itself writes: of quotas that a write charges, and of budgets.

kube-apiserver writes them by its loopback client.
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api.field_management import SERVER_USER, ComponentOwners
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
        if self.owners is None:
            self._storage.update(decode(document), scope="status")
            return
        kind = built_in().find(document["apiVersion"], document["kind"])
        new = decode(document if kind is None else kind.go_form(document))
        owners_of = self.owners.of_update("status", SERVER_USER, now_ns)
        self._storage.update(new, scope="status", owners_of=owners_of)
