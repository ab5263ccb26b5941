"""Authorizers that need no objects, and the order in which a server consults its authorizers.

Upstream: staging/src/k8s.io/apiserver/pkg/authorization/authorizerfactory/builtin.go;
staging/src/k8s.io/apiserver/pkg/authorization/union/union.go;
staging/src/k8s.io/apiserver/pkg/authorization/path/path.go
"""

from __future__ import annotations

from collections.abc import Sequence

from podwright.cluster.api.authorization.access import (
    ALLOWED,
    NO_OPINION,
    Access,
    Authorizer,
    Decision,
    Rules,
)
from podwright.cluster.api.users import MASTERS, User


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
