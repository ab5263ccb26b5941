"""The users of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

ANONYMOUS_NAME: Final = "system:anonymous"
AUTHENTICATED: Final = "system:authenticated"
MASTERS: Final = "system:masters"
NODES: Final = "system:nodes"
NODE_PREFIX: Final = "system:node:"
SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
SCHEDULER_USER: Final = "system:kube-scheduler"
UNAUTHENTICATED: Final = "system:unauthenticated"
_ACCOUNT_PREFIX: Final = "system:serviceaccount:"


class User(msgspec.Struct, frozen=True):
    """An authenticated user.

    Attributes
    ----------
    name, uid : str
    groups : tuple of str
    extra : mapping of str to tuple of str
        Further facts from the authenticator.
    """

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


ANONYMOUS: Final = User(ANONYMOUS_NAME, groups=(UNAUTHENTICATED,))
"""The user of a request without credentials."""


def service_account_name(namespace: str, name: str) -> str:
    """Return the name of the user that a service account is."""
    return f"{_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, str]:
    """Return the groups of the service accounts of a namespace."""
    return SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}"


def service_account_of(user_name: str) -> tuple[str, str] | None:
    """Return the namespace and the name of the service account that a user is; None for others.

    Upstream: staging/src/k8s.io/apiserver/pkg/authentication/serviceaccount/util.go,
    SplitUsername
    """
    if not user_name.startswith(_ACCOUNT_PREFIX):
        return None
    parts = user_name[len(_ACCOUNT_PREFIX) :].split(":")
    return (parts[0], parts[1]) if len(parts) == 2 else None


def node_of(user: User) -> str | None:
    """Return the name of the node that a user is, "" if it is not known; None for others.

    Upstream: pkg/auth/nodeidentifier/default.go
    """
    if not user.name.startswith(NODE_PREFIX) or NODES not in user.groups:
        return None
    return user.name[len(NODE_PREFIX) :]
