"""What the server itself writes while it handles the requests of others.

Upstream: the loopback client of kube-apiserver, whose field manager is its own name
"""

from __future__ import annotations

from typing import Final

from podwright.api.endpoints.field_management import FieldManagement
from podwright.api.endpoints.resources import Resources
from podwright.api.resource_storage import ResourceStorage
from podwright.objects import Document, api_group, timestamp_text
from podwright.patching import object_type, with_managed_fields
from podwright.schema import Kind, decode

MANAGER: Final = "kube-apiserver"
_COMPUTED: Final = "ComponentStatus"
"""The kind whose objects upstream does not store, so that their fields have no owners."""
_UNSENT: Final = {"Namespace": ("finalizers",), "Service": ("clusterIPs", "ipFamilies")}
"""The fields of specs that the server does not send, but sets while it creates the object."""


def with_server_as_owner(
    kind: Kind, current: Document | None, document: Document, now_ns: int
) -> Document:
    """Return an object that the server writes with the owners of its fields.

    Parameters
    ----------
    kind : Kind
    current : dict or None
        The stored object, None for a new one.
    document : dict
        The new object, in Go's form.
    now_ns : int
    """
    if kind.row.kind == _COMPUTED:
        return document
    unsent = _UNSENT.get(kind.row.kind, ())
    sent = document
    if unsent:
        spec = {name: value for name, value in document["spec"].items() if name not in unsent}
        sent = document | {"spec": spec}
    tracked = with_managed_fields(
        object_type(kind), current, sent, MANAGER, now=timestamp_text(now_ns)
    )
    return document | {"metadata": tracked["metadata"]}


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
