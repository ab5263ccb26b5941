"""The default ingress class of ingresses that name none.

Upstream: plugin/pkg/admission/network/defaultingressclass/admission.go
"""

from __future__ import annotations

from typing import Final

from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.current_objects import CurrentObjects
from podwright.cluster.api.admission.default_storage_class import newest_default
from podwright.cluster.api.admission.plugin import Plugin, Resources, set_spec, spec_of
from podwright.cluster.store import ObjectStore

_IS_DEFAULT: Final = ("ingressclass.kubernetes.io/is-default-class",)
_CLASS: Final = "kubernetes.io/ingress.class"


class DefaultIngressClass(Plugin):
    """Sets the class of new ingresses.

    Parameters
    ----------
    store : ObjectStore
    """

    name = "DefaultIngressClass"
    resources: Resources = frozenset({("networking.k8s.io", "ingresses")})

    def __init__(self, store: ObjectStore) -> None:
        self._classes = CurrentObjects(store, ("networking.k8s.io", "IngressClass"))

    def admit(self, attributes: Attributes) -> None:
        """Set the newest default class."""
        is_ingress = attributes.is_for("networking.k8s.io", "ingresses")
        if attributes.operation != "CREATE" or not is_ingress:
            return
        metadata = (attributes.object or {}).get("metadata") or {}
        has_annotation = _CLASS in (metadata.get("annotations") or {})
        if spec_of(attributes).get("ingressClassName") is not None or has_annotation:
            return
        if name := newest_default(self._classes.by_key().values(), _IS_DEFAULT):
            set_spec(attributes, ingressClassName=name)
