"""The authorization modes of a server, as `--authorization-mode` of kube-apiserver names them.

Upstream: pkg/kubeapiserver/authorizer/reload.go, newForConfig; pkg/kubeapiserver/authorizer/modes
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from podwright.cluster.api.authorization.access import Authorizer
from podwright.cluster.api.authorization.authorizers import (
    AlwaysAllow,
    AlwaysDeny,
    AuthorizerChain,
    SuperuserAuthorizer,
)
from podwright.cluster.api.authorization.node_authorizer import NodeAuthorizer
from podwright.cluster.api.authorization.rbac_authorizer import RbacAuthorizer
from podwright.cluster.api.authorization.role_resolver import RoleResolver
from podwright.cluster.store import ObjectStore

Mode: TypeAlias = Literal["AlwaysAllow", "AlwaysDeny", "Node", "RBAC"]

_MODES: Final[dict[Mode, Callable[[ObjectStore, RoleResolver, frozenset[str]], Authorizer]]] = {
    "AlwaysAllow": lambda *_: AlwaysAllow(),
    "AlwaysDeny": lambda *_: AlwaysDeny(),
    "Node": lambda store, _, disabled_gates: NodeAuthorizer(store, disabled_gates),
    "RBAC": lambda _, resolver, __: RbacAuthorizer(resolver),
}


def authorizer_chain(
    modes: Sequence[Mode],
    store: ObjectStore,
    resolver: RoleResolver,
    disabled_gates: frozenset[str],
) -> AuthorizerChain:
    """Return the authorizers of a server: the one of superusers, and then those of the modes.

    Raises
    ------
    ValueError
        There is no such mode, or none.
    """
    unknown = [mode for mode in modes if mode not in _MODES]
    if unknown or not modes:
        listed = ", ".join(sorted(_MODES))
        what = f"unknown authorization mode {unknown[0]!r}" if unknown else "no authorization mode"
        raise ValueError(f"{what}; the modes are {listed}")
    made = (_MODES[mode](store, resolver, disabled_gates) for mode in modes)
    return AuthorizerChain((SuperuserAuthorizer(), *made))
