"""The users of client certificates.

The subject of a certificate is the user: its common name, and its organizations as groups.

Upstream: staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go
"""

from __future__ import annotations

import hashlib
from typing import Any, Final, Protocol

from podwright.cluster.api.endpoints import User

CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"
_UID: Final = "1.3.6.1.4.1.57683.2"
"""The attribute of a subject that is the UID of the user."""


class Connection(Protocol):
    """The part of `ssl.SSLObject` that is used."""

    def getpeercert(self, binary_form: bool = False) -> Any:  # noqa: FBT001, FBT002 - as in ssl
        """Return the verified certificate of the client, decoded or as bytes."""


def certified_user(connection: Connection) -> User | None:
    """Return the user of the client certificate of a connection; None without one."""
    encoded = connection.getpeercert(binary_form=True)
    if not encoded:
        return None
    subject: Any = (connection.getpeercert() or {}).get("subject", ())
    names: dict[str, list[str]] = {}
    for part in subject:
        for name, value in part:
            names.setdefault(str(name), []).append(str(value))
    name = names.get("commonName", [""])[-1]
    if not name:
        return None
    fingerprint = hashlib.sha256(encoded).hexdigest()
    uids = names.get(_UID, [])
    return User(
        name,
        uid=uids[0] if len(uids) == 1 else "",
        groups=tuple(names.get("organizationName", ())),
        extra={CREDENTIAL_ID: (f"X509SHA256={fingerprint}",)},
    )
