"""Authorization: who may do what, by roles and bindings.

An authorizer allows an access, or has no opinion. The server consults its authorizers in order,
and refuses what none allows. This package also decides who may grant rights and act as others. It
knows no HTTP; the roles and bindings come from the store.

Start with `access.py`, then `role_resolver.py` and `rbac_authorizer.py`.

Words used here: a *grant* is what one binding gives a user. The *resolver* finds the grants.
"""

from podwright.cluster.api.authorization.access import Access, Authorizer, Decision, Rules, allows
from podwright.cluster.api.authorization.authorizers import (
    AlwaysAllow,
    AlwaysDeny,
    AuthorizerChain,
    PathAuthorizer,
    SuperuserAuthorizer,
)
from podwright.cluster.api.authorization.bootstrap_policy import bootstrap_policy
from podwright.cluster.api.authorization.escalation import EscalationCheck, RoleWrite
from podwright.cluster.api.authorization.impersonation import (
    Impersonation,
    NotImpersonated,
)
from podwright.cluster.api.authorization.modes import Mode, authorizer_chain
from podwright.cluster.api.authorization.rbac_authorizer import RbacAuthorizer
from podwright.cluster.api.authorization.role_resolver import GROUP, MissingRole, RoleResolver
from podwright.cluster.api.authorization.texts import aggregated, quoted

__all__ = [
    "GROUP",
    "Access",
    "AlwaysAllow",
    "AlwaysDeny",
    "Authorizer",
    "AuthorizerChain",
    "Decision",
    "EscalationCheck",
    "Impersonation",
    "MissingRole",
    "Mode",
    "NotImpersonated",
    "PathAuthorizer",
    "RbacAuthorizer",
    "RoleResolver",
    "RoleWrite",
    "Rules",
    "SuperuserAuthorizer",
    "aggregated",
    "allows",
    "authorizer_chain",
    "bootstrap_policy",
    "quoted",
]
