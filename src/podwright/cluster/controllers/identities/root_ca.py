"""The certificates of the API server's authority, as a ConfigMap in each active namespace.

Upstream: pkg/controller/certificates/rootcacertpublisher/publisher.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document, NamespacedName, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.api import patched
from podwright.cluster.controllers.core.namespaces_of import is_active, namespace_to_sync
from podwright.cluster.controllers.interface import Actions, Controller, Keys, Version
from podwright.cluster.controllers.kinds import CONFIG_MAP, NAMESPACE
from podwright.cluster.controllers.lister import Lister

NO_CERTIFICATE_AUTHORITY: Final = (
    "# This cluster is served without TLS: it has no certificate authority.\n"
)
"""The published text of a server without TLS; a PEM file may have such lines."""

NAME: Final = "kube-root-ca.crt"
_ANNOTATION: Final = "kubernetes.io/description"
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal"
    " endpoints such as the internal service IP or kubernetes.default.svc. No other usage is"
    " guaranteed across distributions of Kubernetes clusters."
)


class RootCAPublisher(Controller):
    """Keeps the ConfigMap of each active namespace; its keys are namespaces.

    Parameters
    ----------
    lister : Lister
    certificates : str
        The certificates in PEM.
    """

    name = "root-ca-certificate-publisher-controller"
    kinds = (NAMESPACE, CONFIG_MAP)

    def __init__(self, lister: Lister, certificates: str = NO_CERTIFICATE_AUTHORITY) -> None:
        super().__init__(lister)
        self._data = {"ca.crt": certificates}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a namespace that was added or changed, or whose ConfigMap changed."""
        return namespace_to_sync(old, new, NAME)

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Create the ConfigMap of a namespace, or restore its data."""
        if not is_active(self._lister.get(NAMESPACE, key)):
            return []
        present = self._lister.get(CONFIG_MAP, f"{key}/{NAME}")
        if present is None:
            metadata = {
                "name": NAME,
                "namespace": key,
                "annotations": {_ANNOTATION: _DESCRIPTION},
            }
            return [self.create(decode(self._document(metadata)))]
        document = encode(present)
        if document.get("data") == self._data and present.metadata.annotations.get(_ANNOTATION):
            return []
        annotations = {**present.metadata.annotations, _ANNOTATION: _DESCRIPTION}
        new = patched(present, metadata={"annotations": annotations})
        return [self.update(decode({**encode(new), "data": self._data}))]

    def _document(self, metadata: Document) -> Document:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": self._data}
