"""What the server itself writes while it handles the requests of others.

Upstream: the loopback client of kube-apiserver, whose field manager is its own name
"""

from __future__ import annotations

from typing import Final

from podwright.api.endpoints.field_management import FieldManagement
from podwright.api.endpoints.resources import Resources
from podwright.api.resource_storage import ResourceStorage
from podwright.objects import Document, api_group
from podwright.schema import decode

MANAGER: Final = "kube-apiserver"


class ServerStatusWrites:
    """Writes the status of objects as the server.

    Parameters
    ----------
    resources : Resources
    storage : ResourceStorage
    fields : FieldManagement
    """

    def __init__(
        self, resources: Resources, storage: ResourceStorage, fields: FieldManagement
    ) -> None:
        self._resources = resources
        self._storage = storage
        self._fields = fields

    def update(self, document: Document, now_ns: int) -> None:
        """Store an object of a stored version with a new status."""
        kind = (api_group(document["apiVersion"]), document["kind"])
        resource = self._resources.of_storage(kind)
        metadata = document["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        key = f"{namespace}/{name}" if namespace else name
        current = self._storage.store.require(kind, key)
        new = current.raw | {"status": document["status"]}
        if resource is not None:
            new = self._fields.updated(
                resource, current.raw, new, manager=MANAGER, subresource="status", now_ns=now_ns
            )
            new = resource.storage_kind.go_form(new)
        self._storage.replace(current, decode(new))
