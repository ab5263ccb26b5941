"""The health of the server: `/healthz`, `/livez`, `/readyz`, and each check by its name.

The checks have upstream's names. Each is about a part that is complete before the server answers
its first request, and that a server which answers has: so a check never fails here.

Upstream: staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go, handleRootHealth
"""

from __future__ import annotations

from typing import Final

from podwright.api.endpoints.request import HttpReply, HttpRequest
from podwright.api.endpoints.responses import CACHE_CONTROL

HEALTH: Final = ("/healthz", "/livez", "/readyz")
"""The paths; those of single checks are below them."""

CHECKS: Final = (
    "ping",
    "log",
    "etcd",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/storage-readiness",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
)
"""The checks of all three paths, by upstream's names."""

_OWN_CHECKS: Final = {"/readyz": ("informer-sync", "shutdown")}
_TEXT: Final = (
    CACHE_CONTROL,
    ("content-type", "text/plain; charset=utf-8"),
    ("x-content-type-options", "nosniff"),
)


def health(request: HttpRequest) -> HttpReply | None:
    """Return the reply to a path of health checks; None if there is no such check."""
    root = next(each for each in HEALTH if request.path.startswith(each))
    checks = CHECKS + _OWN_CHECKS.get(root, ())
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
