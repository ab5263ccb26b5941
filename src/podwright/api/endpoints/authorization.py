"""Authorization: the hook for authorizers, which are consulted in order.

An authorizer allows a request, denies it, or has no opinion. A request that none allows is
forbidden.

Upstream: staging/src/k8s.io/apiserver/pkg/authorization/union/union.go;
pkg/endpoints/filters/authorization.go; pkg/endpoints/handlers/responsewriters/errors.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from podwright.api.endpoints.authentication import MASTERS
from podwright.api.endpoints.paths import RequestInfo
from podwright.api.endpoints.request import User
from podwright.api.endpoints.status_errors import ApiError, forbidden


class Authorizer(Protocol):
    """Decides about requests."""

    def authorize(self, info: RequestInfo, user: User) -> tuple[bool | None, str]:
        """Return whether a request is allowed, None for no opinion, and the reason."""


class SuperuserAuthorizer:
    """Allows everything to the group `system:masters`."""

    def authorize(self, info: RequestInfo, user: User) -> tuple[bool | None, str]:
        """Allow members of the group."""
        del info
        return (True, "") if MASTERS in user.groups else (None, "")


class PathAuthorizer:
    """Allows paths to everybody, such as the health checks.

    Parameters
    ----------
    paths : iterable of str
        A path that ends in `*` allows all paths that begin with it.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        listed = list(paths)
        self._paths = frozenset(path for path in listed if not path.endswith("*"))
        self._prefixes = tuple(path[:-1] for path in listed if path.endswith("*"))

    def authorize(self, info: RequestInfo, user: User) -> tuple[bool | None, str]:
        """Allow the paths."""
        del user
        if info.is_resource:
            return None, ""
        is_allowed = info.path in self._paths or (
            bool(self._prefixes) and info.path.startswith(self._prefixes)
        )
        return (True, "") if is_allowed else (None, "")


class AlwaysAllow:
    """Allows everything, for a server without authorization."""

    def authorize(self, info: RequestInfo, user: User) -> tuple[bool | None, str]:
        """Allow the request."""
        del info, user
        return True, ""


HEALTH_PATHS: Final = ("/healthz", "/livez", "/readyz")
"""Upstream's `--authorization-always-allow-paths`."""

PUBLIC_PATHS: Final = ("/healthz", "/livez", "/readyz", "/version", "/version/")
"""The paths of upstream's ClusterRole `system:public-info-viewer`."""


def decide(authorizers: Sequence[Authorizer], info: RequestInfo, user: User) -> tuple[bool, str]:
    """Return the decision of the first authorizer that has an opinion, and the reasons."""
    reasons: list[str] = []
    for authorizer in authorizers:
        is_allowed, reason = authorizer.authorize(info, user)
        if reason:
            reasons.append(reason)
        if is_allowed is not None:
            return is_allowed, reason if is_allowed else "\n".join(reasons)
    return False, "\n".join(reasons)


def rejection(info: RequestInfo, user: User, reason: str) -> ApiError:
    """Return the error of a request that is not allowed."""
    if not info.is_resource:
        text = f'User "{user.name}" cannot {info.verb} path "{info.path}"'
    else:
        where = (
            f' in the namespace "{info.namespace}"' if info.namespace else " at the cluster scope"
        )
        text = (
            f'User "{user.name}" cannot {info.verb} resource "{info.resource_path}" in API group'
            f' "{info.group}"{where}'
        )
    if reason:
        text = f"{text}: {reason}"
    return forbidden(info.group, info.resource, info.name, text)
