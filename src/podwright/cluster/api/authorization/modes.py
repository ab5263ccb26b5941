"""The authorization modes of a server, as `--authorization-mode` of kube-apiserver names them.

Upstream: pkg/kubeapiserver/authorizer/reload.go, newForConfig; pkg/kubeapiserver/authorizer/modes;
plugin/pkg/auth/authorizer/rbac/rbac.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from podwright.apimachinery.objects import aggregated
from podwright.cluster.api.authorization.access import (
    NO_OPINION,
    Access,
    Authorizer,
    Decision,
    Rules,
)
from podwright.cluster.api.authorization.authorizers import (
    AlwaysAllow,
    AlwaysDeny,
    AuthorizerChain,
    SuperuserAuthorizer,
)
from podwright.cluster.api.authorization.node_authorizer import NodeAuthorizer
from podwright.cluster.api.authorization.policy_rules import rule_allows
from podwright.cluster.api.authorization.role_resolver import RoleResolver
from podwright.cluster.api.users import User
from podwright.cluster.store import ObjectStore

Mode: TypeAlias = Literal["AlwaysAllow", "AlwaysDeny", "Node", "RBAC"]


class RbacAuthorizer:
    """Allows what a rule of a bound role allows.

    Parameters
    ----------
    resolver : RoleResolver
    """

    def __init__(self, resolver: RoleResolver) -> None:
        self._resolver = resolver

    def authorize(self, access: Access) -> Decision:
        """Allow the access if a rule does; the reason names the binding."""
        found = self._resolver.grants_of(access.user, access.namespace)
        for grant in found.grants:
            for rule in grant.rules:
                if rule_allows(rule, access):
                    return Decision(is_allowed=True, reason=f"RBAC: allowed by {grant.source}")
        if not found.missing:
            return NO_OPINION
        return Decision(None, f"RBAC: {aggregated(role.text for role in found.missing)}")

    def rules_for(self, user: User, namespace: str) -> Rules:
        """Return the rules of the user's roles."""
        found = self._resolver.grants_of(user, namespace)
        error = aggregated(role.text for role in found.missing)
        return Rules(found.rules, errors=(error,) if error else ())


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
