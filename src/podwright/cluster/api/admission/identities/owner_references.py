"""Who may set owner references: users that may delete the object, or finalize the owner.

Upstream: plugin/pkg/admission/gc/gc_admission.go
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import Plugin, rejected
from podwright.cluster.api.authorization import Access, allows

_NO_DELETION: Final = "cannot set an ownerRef on a resource you can't delete"
_NO_FINALIZERS: Final = (
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set"
    " finalizers on"
)


class OwnerReferencesPermissionEnforcement(Plugin):
    """Checks the right to set owner references."""

    name = "OwnerReferencesPermissionEnforcement"

    def validate(self, attributes: Attributes) -> None:
        """Reject changed owner references without the right to them."""
        if attributes.operation not in ("CREATE", "UPDATE"):
            return
        if attributes.is_for("", "pods", "status"):
            return
        owners, before = _owners(attributes.object), _owners(attributes.old)
        if owners == before:
            return
        resource = attributes.resource
        if attributes.operation == "UPDATE":
            access = Access(
                user=attributes.user,
                verb="delete",
                group=resource.group,
                version=resource.version,
                resource=resource.plural,
                subresource=attributes.subresource,
                namespace=attributes.namespace,
                name=attributes.name,
            )
            self._require(attributes, access, _NO_DELETION)
        blocking = _newly_blocking(owners, before)
        if not blocking or allows(self._authorizer, _finalizing(attributes, "*", "*", "*", "*")):
            return
        for owner in blocking:
            self._check_owner(attributes, owner)

    def decides_by_template(self, attributes: Attributes) -> bool:
        """Return whether there is no owner, to which the user may lose the right."""
        return not _owners(attributes.object)

    def _check_owner(self, attributes: Attributes, owner: Document) -> None:
        api_version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
        group, _, version = api_version.rpartition("/")
        key = (group, version, kind)
        found = [
            each for each in self._context.resources if (each.group, each.version, each.name) == key
        ]
        if not found:
            raise rejected(
                attributes,
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for"
                f" APIVersion {api_version} Kind {kind}: no matches for kind"
                f' "{kind}" in version "{api_version}"',
            )
        for resource in found:
            name = owner.get("name") or ""
            access = _finalizing(attributes, group, resource.version, resource.plural, name)
            if resource.namespaced:
                access = msgspec.structs.replace(access, namespace=attributes.namespace)
            self._require(attributes, access, _NO_FINALIZERS)

    def _require(self, attributes: Attributes, access: Access, text: str) -> None:
        decision = self._authorizer.authorize(access)
        if decision.is_allowed is not True:
            raise rejected(attributes, f"{text}: {decision.reason}, <nil>")


def _finalizing(
    attributes: Attributes, group: str, version: str, resource: str, name: str
) -> Access:
    return Access(
        user=attributes.user,
        verb="update",
        group=group,
        version=version,
        resource=resource,
        subresource="finalizers",
        name=name,
    )


def _owners(document: Document | None) -> list[Document]:
    owners: list[Document] = ((document or {}).get("metadata") or {}).get("ownerReferences") or []
    return owners


def _newly_blocking(owners: list[Document], before: list[Document]) -> list[Document]:
    """Return the owners whose deletion is blocked, and was not before."""
    blocked = {each.get("uid") for each in before if each.get("blockOwnerDeletion")}
    return [
        each for each in owners if each.get("blockOwnerDeletion") and each.get("uid") not in blocked
    ]
