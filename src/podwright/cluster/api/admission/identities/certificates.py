"""Who approves and signs certificate requests, and which groups a request may name.

Upstream: plugin/pkg/admission/certificates/{approval,ctbattest,signing,subjectrestriction};
pkg/certauthorization/certauthorization.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.identities.certificate_requests import (
    UnreadableRequest,
    certificate_subject,
)
from podwright.cluster.api.admission.plugin import Plugin, Resources, rejected, spec_of
from podwright.cluster.api.authorization import Access, Authorizer, allows
from podwright.cluster.api.users import MASTERS, User

_GROUP: Final = "certificates.k8s.io"
_REQUESTS: Final = "certificatesigningrequests"
_RESOURCES: Final = frozenset({(_GROUP, _REQUESTS)})
_CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client"


def may_use_signer(authorizer: Authorizer, user: User, verb: str, signer_name: str) -> bool:
    """Whether a user has a verb for a signer, or for all signers of its domain."""
    domain = signer_name.partition("/")[0]
    return any(
        allows(
            authorizer,
            Access(
                user=user,
                verb=verb,
                group=_GROUP,
                version="*",
                resource="signers",
                name=name,
            ),
        )
        for name in (signer_name, f"{domain}/*")
    )


def _signer_of(document: Document | None) -> str:
    return str(((document or {}).get("spec") or {}).get("signerName") or "")


class CertificateApproval(Plugin):
    """Checks the right to approve requests of a signer."""

    name = "CertificateApproval"
    resources: Resources = _RESOURCES

    def validate(self, attributes: Attributes) -> None:
        """Reject an approval without the right to it."""
        if not attributes.is_for(_GROUP, _REQUESTS, "approval"):
            return
        signer = _signer_of(attributes.old)
        if not may_use_signer(self._authorizer, attributes.user, "approve", signer):
            text = f'user not permitted to approve requests with signerName "{signer}"'
            raise rejected(attributes, text)


class CertificateSigning(Plugin):
    """Checks the right to sign requests of a signer."""

    name = "CertificateSigning"
    resources: Resources = _RESOURCES

    def validate(self, attributes: Attributes) -> None:
        """Reject a changed certificate or condition without the right to it."""
        if not attributes.is_for(_GROUP, _REQUESTS, "status"):
            return
        new, old = (
            (each or {}).get("status") or {} for each in (attributes.object, attributes.old)
        )
        if all((new.get(name) or None) == (old.get(name) or None) for name in _SIGNED):
            return
        signer = _signer_of(attributes.old)
        if not may_use_signer(self._authorizer, attributes.user, "sign", signer):
            text = f'user not permitted to sign requests with signerName "{signer}"'
            raise rejected(attributes, text)


_SIGNED: Final = ("certificate", "conditions")


class ClusterTrustBundleAttest(Plugin):
    """Checks the right to publish the bundle of a signer."""

    name = "ClusterTrustBundleAttest"
    resources: Resources = frozenset({(_GROUP, "clustertrustbundles")})

    def validate(self, attributes: Attributes) -> None:
        """Reject the bundle of a signer without the right to it."""
        if attributes.operation not in ("CREATE", "UPDATE"):
            return
        signer = _signer_of(attributes.object)
        if not signer or _without_owners(attributes.object) == _without_owners(attributes.old):
            return
        if not may_use_signer(self._authorizer, attributes.user, "attest", signer):
            text = f'user not permitted to attest for signerName "{signer}"'
            raise rejected(attributes, text)


def _without_owners(document: Document | None) -> Document | None:
    """Return a document without what garbage collection changes."""
    if document is None:
        return None
    metadata = document.get("metadata") or {}
    return document | {
        "metadata": {name: value for name, value in metadata.items() if name not in _OF_OWNERS}
    }


_OF_OWNERS: Final = ("finalizers", "managedFields", "ownerReferences")


class CertificateSubjectRestriction(Plugin):
    """Rejects requests for client certificates of the group `system:masters`."""

    name = "CertificateSubjectRestriction"
    resources: Resources = _RESOURCES

    def validate(self, attributes: Attributes) -> None:
        """Check the subject of a request."""
        if attributes.operation not in ("CREATE", "UPDATE"):
            return
        if not attributes.is_for(_GROUP, _REQUESTS):
            return
        if _signer_of(attributes.object) != _CLIENT_SIGNER:
            return
        try:
            subject = certificate_subject(spec_of(attributes).get("request") or "")
        except UnreadableRequest as error:
            raise rejected(attributes, f"failed to parse CSR: {error}") from None
        if MASTERS in subject.organizations:
            text = f"use of {_CLIENT_SIGNER} signer with {MASTERS} group is not allowed"
            raise rejected(attributes, text)
