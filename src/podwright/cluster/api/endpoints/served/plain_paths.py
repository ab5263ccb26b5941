"""The paths that are not resources: version and health.

Upstream: staging/src/k8s.io/apiserver/pkg/server/{routes,healthz}
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.replies.responses import CACHE_CONTROL
from podwright.cluster.api.endpoints.request import HttpReply, HttpRequest
from podwright.cluster.api.endpoints.served.health_checks import HEALTH, health
from podwright.cluster.api.rejections import method_not_allowed

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
        return health(request)
    if path in ("/version", "/version/"):
        if request.method != "GET":
            raise method_not_allowed()
        return HttpReply(200, _JSON, msgspec.json.format(msgspec.json.encode(VERSION)))
    return None
