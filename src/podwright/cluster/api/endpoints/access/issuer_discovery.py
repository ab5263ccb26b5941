"""What relying parties read about the issuer of service account tokens.

The tokens are signed with a secret key of the server, so the set of public keys is empty: other
servers check them by a TokenReview.

Upstream: pkg/routes/openidmetadata.go; pkg/serviceaccount/openidmetadata.go
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.cluster.api.endpoints.access.service_account_tokens import ISSUER
from podwright.cluster.api.endpoints.access.signed_claims import ALGORITHM
from podwright.cluster.api.endpoints.request import HttpReply, HttpRequest
from podwright.cluster.api.rejections import method_not_allowed

_CONFIGURATION: Final = "/.well-known/openid-configuration"
_KEYS: Final = "/openid/v1/jwks"
_CACHE_CONTROL: Final = ("cache-control", "public, max-age=3600")


def issuer_discovery(request: HttpRequest) -> HttpReply | None:
    """Return the reply to a path of the issuer; None if it is another path.

    Raises
    ------
    Rejection
        The path does not have the method.
    """
    path = request.path.removesuffix("/")
    if path not in (_CONFIGURATION, _KEYS):
        return None
    if request.method != "GET":
        raise method_not_allowed()
    if path == _KEYS:
        return _reply({"keys": []}, "application/jwk-set+json")
    host = request.header("host")
    return _reply(
        {
            "issuer": ISSUER,
            "jwks_uri": f"{f'https://{host}' if host else ISSUER}{_KEYS}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [ALGORITHM],
        },
        "application/json",
    )


def _reply(document: dict[str, object], content_type: str) -> HttpReply:
    headers = (_CACHE_CONTROL, ("content-type", content_type))
    return HttpReply(200, headers, msgspec.json.encode(document))
