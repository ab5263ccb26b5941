"""The default classes of claims and of ingresses that name none, and which claims may grow.

Upstream: plugin/pkg/admission/storage/storageclass/setdefault/admission.go;
pkg/volume/util/storageclass.go, GetDefaultClass;
plugin/pkg/admission/network/defaultingressclass/admission.go;
plugin/pkg/admission/storage/persistentvolume/resize/admission.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.amounts import ZERO, amounts_of
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import (
    CLAIMS,
    AdmissionContext,
    Plugin,
    Resources,
    metadata_of,
    rejected,
    set_spec,
    spec_of,
)
from podwright.cluster.api.followed import CurrentObjects

_IS_DEFAULT: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_IS_DEFAULT_INGRESS: Final = ("ingressclass.kubernetes.io/is-default-class",)
_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"


class DefaultStorageClass(Plugin):
    """Sets the storage class of new claims."""

    name = "DefaultStorageClass"
    resources: Resources = CLAIMS

    def __init__(self, context: AdmissionContext) -> None:
        super().__init__(context)
        self._classes = CurrentObjects(context.store, ("storage.k8s.io", "StorageClass"))

    def admit(self, attributes: Attributes) -> None:
        """Set the newest default class; among those of one second, the first by name."""
        is_new_claim = attributes.is_for("", "persistentvolumeclaims")
        if attributes.operation != "CREATE" or not is_new_claim or attributes.is_restored:
            return  # Upstream has no restored objects: a claim without a class keeps none.
        metadata = metadata_of(attributes)
        has_beta_class = _BETA_CLASS in (metadata.get("annotations") or {})
        if spec_of(attributes).get("storageClassName") is not None or has_beta_class:
            return
        if name := _newest_default(self._classes.by_key().values(), _IS_DEFAULT):
            set_spec(attributes, storageClassName=name)


class DefaultIngressClass(Plugin):
    """Sets the class of new ingresses."""

    name = "DefaultIngressClass"
    resources: Resources = frozenset({("networking.k8s.io", "ingresses")})

    def __init__(self, context: AdmissionContext) -> None:
        super().__init__(context)
        self._classes = CurrentObjects(context.store, ("networking.k8s.io", "IngressClass"))

    def admit(self, attributes: Attributes) -> None:
        """Set the newest default class."""
        is_ingress = attributes.is_for("networking.k8s.io", "ingresses")
        if attributes.operation != "CREATE" or not is_ingress:
            return
        metadata = metadata_of(attributes)
        has_annotation = _INGRESS_CLASS in (metadata.get("annotations") or {})
        if spec_of(attributes).get("ingressClassName") is not None or has_annotation:
            return
        if name := _newest_default(self._classes.by_key().values(), _IS_DEFAULT_INGRESS):
            set_spec(attributes, ingressClassName=name)


def _newest_default(classes: Iterable[Document], annotations: Sequence[str]) -> str:
    """Return the name of the newest class with one of some annotations; "" if there is none."""
    defaults = [
        each["metadata"]
        for each in classes
        if any(
            (each["metadata"].get("annotations") or {}).get(name) == "true" for name in annotations
        )
    ]
    by_name = sorted(defaults, key=lambda metadata: str(metadata["name"]))
    newest = max(by_name, key=lambda metadata: metadata.get("creationTimestamp", ""), default=None)
    return "" if newest is None else str(newest["name"])


def class_of_claim(claim: Document) -> str:
    """Return the storage class of a claim; "" if it has none.

    Upstream: pkg/apis/core/helper/helpers.go, GetPersistentVolumeClaimClass
    """
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    if _BETA_CLASS in annotations:
        return str(annotations[_BETA_CLASS])
    return (claim.get("spec") or {}).get("storageClassName") or ""


# ------------------------------------------------------------------------------ expansion of claims


class PersistentVolumeClaimResize(Plugin):
    """Rejects the expansion of claims whose storage class does not allow it."""

    name = "PersistentVolumeClaimResize"
    resources: Resources = CLAIMS

    def __init__(self, context: AdmissionContext) -> None:
        super().__init__(context)
        self._classes = CurrentObjects(context.store, ("storage.k8s.io", "StorageClass"))

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
