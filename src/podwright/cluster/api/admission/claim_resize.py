"""Which claims may request more storage than before.

Upstream: plugin/pkg/admission/storage/persistentvolume/resize/admission.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.amounts import ZERO, amounts_of
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.current_objects import CurrentObjects
from podwright.cluster.api.admission.default_classes import class_of_claim
from podwright.cluster.api.admission.plugin import CLAIMS, Plugin, Resources, rejected
from podwright.cluster.store import ObjectStore


class PersistentVolumeClaimResize(Plugin):
    """Rejects the expansion of claims whose storage class does not allow it.

    Parameters
    ----------
    store : ObjectStore
    """

    name = "PersistentVolumeClaimResize"
    resources: Resources = CLAIMS

    def __init__(self, store: ObjectStore) -> None:
        self._classes = CurrentObjects(store, ("storage.k8s.io", "StorageClass"))

    def validate(self, attributes: Attributes) -> None:
        """Reject the expansion of a claim that cannot be expanded."""
        if attributes.operation != "UPDATE" or not attributes.is_for("", "persistentvolumeclaims"):
            return
        new, old = attributes.object or {}, attributes.old or {}
        if _storage(new) <= _storage(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise rejected(attributes, "Only bound persistent volume claims can be expanded")
        if not self._allows_expansion(new, old):
            raise rejected(
                attributes,
                "only dynamically provisioned pvc can be resized and the storageclass that"
                " provisions the pvc must support resize",
            )

    def _allows_expansion(self, new: Document, old: Document) -> bool:
        name = class_of_claim(new)
        if not name or class_of_claim(old) != name:
            return False
        return bool((self._classes.by_key().get(name) or {}).get("allowVolumeExpansion"))


def _storage(claim: Document) -> int:
    resources = (claim.get("spec") or {}).get("resources") or {}
    return amounts_of(resources.get("requests")).get("storage", ZERO).nano
