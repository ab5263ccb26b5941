"""No new objects in absent or terminating namespaces, and no deletion of the system's.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go
"""

from __future__ import annotations

from typing import Final

from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import Plugin, name_of, rejected
from podwright.cluster.api.rejections import Rejection, forbidden, not_found
from podwright.cluster.store import NAMESPACE

IMMORTAL: Final = frozenset({"default", "kube-public", "kube-system"})
"""The namespaces that cannot be deleted."""

_REVIEWS: Final = frozenset({("authorization.k8s.io", "localsubjectaccessreviews")})


class NamespaceLifecycle(Plugin):
    """Checks the namespace of writes."""

    name = "NamespaceLifecycle"
    decides_alike = True
    template_kinds = frozenset({NAMESPACE})

    def admit(self, attributes: Attributes) -> None:
        """Reject a write in a namespace that is absent, terminating or needed."""
        resource, namespace = attributes.resource, attributes.namespace
        if (resource.group, resource.plural) == ("", "namespaces"):
            if attributes.operation == "DELETE" and attributes.name in IMMORTAL:
                raise rejected(attributes, "this namespace may not be deleted")
            return
        if not namespace or attributes.operation == "DELETE":
            return
        if (resource.group, resource.plural) in _REVIEWS:
            return
        found = self._store.get(NAMESPACE, namespace)
        if found is None:
            raise not_found("", "namespaces", namespace)
        if attributes.operation != "CREATE":
            return
        phase = (found.raw.get("status") or {}).get("phase")
        if phase != "Terminating":
            return
        raise terminating(resource.group, resource.plural, name_of(attributes), namespace)


def terminating(group: str, resource: str, name: str, namespace: str) -> Rejection:
    """Return the rejection of a new object in a terminating namespace."""
    return forbidden(
        group,
        resource,
        name or "Unknown",
        f"unable to create new content in namespace {namespace} because it is being terminated",
        [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ],
    )
