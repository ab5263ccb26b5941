"""Authorization by roles and bindings.

Upstream: plugin/pkg/auth/authorizer/rbac/rbac.go
"""

from __future__ import annotations

from podwright.cluster.api.authorization.access import NO_OPINION, Access, Decision, Rules
from podwright.cluster.api.authorization.policy_rules import rule_allows
from podwright.cluster.api.authorization.role_resolver import RoleResolver
from podwright.cluster.api.authorization.texts import aggregated
from podwright.cluster.api.users import User


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
