"""The paths that are not resources: version, health, and the issuer of tokens.

The health is at `/healthz`, `/livez`, `/readyz`, and each check by its name.

The checks have upstream's names and order. Each is about a part that is complete before the server
answers its first request, or that is not needed here, as priority and fairness: so a check never
fails.

The tokens of service accounts are signed with a secret key of the server, so the set of public keys
is empty: other servers check them by a TokenReview.

Upstream: staging/src/k8s.io/apiserver/pkg/server/routes;
staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go, handleRootHealth;
pkg/routes/openidmetadata.go; pkg/serviceaccount/openidmetadata.go
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.access.service_account_tokens import ALGORITHM, ISSUER
from podwright.cluster.api.endpoints.replies.responses import CACHE_CONTROL
from podwright.cluster.api.endpoints.request import HttpReply, HttpRequest
from podwright.cluster.api.rejections import method_not_allowed

HEALTH: Final = ("/healthz", "/livez", "/readyz")
"""The paths; those of single checks are below them."""

CHECKS: Final = (
    "ping",
    "log",
    "loopback-serving-certificate",
    "etcd",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-wait-for-first-sync",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
)
"""The checks of `/healthz` and `/livez`, by upstream's names."""

_ALIVE: Final = ("ping", "log", "loopback-serving-certificate", "etcd")
READINESS_CHECKS: Final = (
    *("ping", "log", "etcd", "etcd-readiness", "informer-sync"), *CHECKS[len(_ALIVE) :], "shutdown",
)  # fmt: skip
"""The checks of `/readyz`."""
_TEXT: Final = (
    CACHE_CONTROL,
    ("content-type", "text/plain; charset=utf-8"),
    ("x-content-type-options", "nosniff"),
)


def _health(request: HttpRequest) -> HttpReply | None:
    """Return the reply to a path of health checks; None if there is no such check."""
    root = next(each for each in HEALTH if request.path.startswith(each))
    checks = READINESS_CHECKS if root == "/readyz" else CHECKS
    below = request.path.removeprefix(root)
    if below:
        return HttpReply(200, _TEXT, b"ok") if below.removeprefix("/") in checks else None
    if "verbose" not in request.parameters:
        return HttpReply(200, _TEXT, b"ok")
    excluded = request.parameters.get("exclude", ())
    lines = [f"[+]{name} {'excluded: ok' if name in excluded else 'ok'}" for name in checks]
    unknown = sorted(set(excluded).difference(checks))
    if unknown:
        names = ", ".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    lines.append(f"{root[1:]} check passed")
    return HttpReply(200, _TEXT, "".join(f"{line}\n" for line in lines).encode())


VERSION: Final[Document] = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.0",
    "gitCommit": "0000000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "go1.26",
    "compiler": "gc",
    "platform": "linux/amd64",
}
"""The version of the API that the server implements, with upstream's form of the facts about a
build, which clients parse; the server has no build of its own."""

_JSON: Final = (CACHE_CONTROL, ("content-type", "application/json"))


def plain_path(request: HttpRequest) -> HttpReply | None:
    """Return the reply to a path that is not a resource; None if it is not one of these.

    Raises
    ------
    Rejection
        The path does not have the method.
    """
    path = request.path
    if path.startswith(HEALTH):
        return _health(request)
    if path in ("/version", "/version/"):
        if request.method != "GET":
            raise method_not_allowed()
        return HttpReply(200, _JSON, msgspec.json.format(msgspec.json.encode(VERSION)))
    return issuer_discovery(request)


# ------------------------------------------------------------------------------- issuer discovery

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
