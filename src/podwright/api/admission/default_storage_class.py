"""The default storage class of claims that name none.

Upstream: plugin/pkg/admission/storage/storageclass/setdefault/admission.go;
pkg/volume/util/storageclass.go, GetDefaultClass
"""

from __future__ import annotations

from typing import Final

from podwright.api.admission.attributes import Attributes
from podwright.api.admission.current_objects import CurrentObjects
from podwright.api.admission.plugin import Plugin, set_spec, spec_of
from podwright.objects import Document
from podwright.store import ObjectStore

_ANNOTATIONS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


class DefaultStorageClass(Plugin):
    """Sets the storage class of new claims.

    Parameters
    ----------
    store : ObjectStore
    """

    name = "DefaultStorageClass"

    def __init__(self, store: ObjectStore) -> None:
        self._classes = CurrentObjects(store, ("storage.k8s.io", "StorageClass"))

    def admit(self, attributes: Attributes) -> None:
        """Set the newest default class; among those of one second, the first by name."""
        is_new_claim = attributes.is_for("", "persistentvolumeclaims")
        if attributes.operation != "CREATE" or not is_new_claim:
            return
        metadata = (attributes.object or {}).get("metadata") or {}
        has_beta_class = _BETA_CLASS in (metadata.get("annotations") or {})
        if spec_of(attributes).get("storageClassName") is not None or has_beta_class:
            return
        defaults = sorted(filter(_is_default, self._classes.by_key().values()), key=_name)
        if defaults:
            newest = max(defaults, key=lambda each: each["metadata"].get("creationTimestamp", ""))
            set_spec(attributes, storageClassName=_name(newest))


def _is_default(storage_class: Document) -> bool:
    annotations = storage_class["metadata"].get("annotations") or {}
    return any(annotations.get(name) == "true" for name in _ANNOTATIONS)


def _name(storage_class: Document) -> str:
    return str(storage_class["metadata"]["name"])
