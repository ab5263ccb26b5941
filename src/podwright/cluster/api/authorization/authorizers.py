"""The authorizers of a server but that of nodes, and the order in which it consults them.

The order is that of the modes of a server, as `--authorization-mode` of kube-apiserver names them.

Upstream: staging/src/k8s.io/apiserver/pkg/authorization/authorizerfactory/builtin.go;
staging/src/k8s.io/apiserver/pkg/authorization/union/union.go;
staging/src/k8s.io/apiserver/pkg/authorization/path/path.go;
pkg/kubeapiserver/authorizer/reload.go, newForConfig; pkg/kubeapiserver/authorizer/modes;
plugin/pkg/auth/authorizer/rbac/rbac.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

from podwright.apimachinery.objects import aggregated
from podwright.cluster.api.authorization.access import (
    ALLOWED,
    NO_OPINION,
    Access,
    Authorizer,
    Decision,
    Rules,
)
from podwright.cluster.api.authorization.node_authorizer import NodeAuthorizer
from podwright.cluster.api.authorization.policy_rules import rule_allows
from podwright.cluster.api.authorization.role_resolver import RoleResolver
from podwright.cluster.api.users import MASTERS, User
from podwright.cluster.store import ObjectStore


class SuperuserAuthorizer:
    """Allows everything to the group `system:masters`."""

    def authorize(self, access: Access) -> Decision:
        """Allow members of the group."""
        return ALLOWED if MASTERS in access.user.groups else NO_OPINION

    def rules_for(self, _user: User, _namespace: str) -> Rules:
        """Return no rules: upstream does not list what superusers may do."""
        return Rules([])


class AlwaysAllow:
    """Allows everything, for a server without authorization."""

    def authorize(self, _access: Access) -> Decision:
        """Allow the access."""
        return ALLOWED

    def rules_for(self, _user: User, _namespace: str) -> Rules:
        """Return the rules that allow everything."""
        anything = ["*"]
        return Rules(
            [
                {"verbs": anything, "apiGroups": anything, "resources": anything},
                {"verbs": anything, "nonResourceURLs": anything},
            ]
        )


class AlwaysDeny:
    """Allows nothing but what authorizers before it allow."""

    def authorize(self, _access: Access) -> Decision:
        """Have no opinion, with a reason."""
        return Decision(None, "Everything is forbidden.")

    def rules_for(self, _user: User, _namespace: str) -> Rules:
        """Return no rules."""
        return Rules([])


class AuthorizerChain:
    """Consults authorizers in order; an access about which none has an opinion is not allowed.

    Parameters
    ----------
    authorizers : sequence of Authorizer
    """

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self.authorizers = tuple(authorizers)

    def authorize(self, access: Access) -> Decision:
        """Return the first decision, or no opinion with all reasons."""
        reasons: list[str] = []
        for authorizer in self.authorizers:
            decision = authorizer.authorize(access)
            if decision.is_allowed is not None:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        return Decision(None, "\n".join(reasons)) if reasons else NO_OPINION

    def allows(self, access: Access) -> bool:
        """Whether an access is allowed."""
        return self.authorize(access).is_allowed is True

    def rules_for(self, user: User, namespace: str) -> Rules:
        """Return the rules of all authorizers."""
        found = [each.rules_for(user, namespace) for each in self.authorizers]
        return Rules(
            [rule for each in found for rule in each.rules],
            any(each.is_incomplete for each in found),
            tuple(error for each in found for error in each.errors),
        )


# ------------------------------------------------------------------------------------------ modes

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
        return Rules(found.rules, errors=tuple(role.text for role in found.missing))


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
        A mode is unknown, or the list is empty.
    """
    unknown = [mode for mode in modes if mode not in _MODES]
    if unknown or not modes:
        listed = ", ".join(sorted(_MODES))
        what = f"unknown authorization mode {unknown[0]!r}" if unknown else "no authorization mode"
        raise ValueError(f"{what}; the modes are {listed}")
    made = (_MODES[mode](store, resolver, disabled_gates) for mode in modes)
    return AuthorizerChain((SuperuserAuthorizer(), *made))
