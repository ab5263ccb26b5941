"""Authorization: who may do what, by roles and bindings.

An authorizer allows an access, or has no opinion. The server consults its authorizers in order,
and refuses what none allows. This package also decides who may grant rights and act as others. It
knows no HTTP; the roles and bindings come from the store.

Start with `access.py`, then `role_resolver.py` and `authorizers.py`.

Words used here: a *grant* is what one binding gives a user. The *resolver* finds the grants.
"""

from podwright.cluster.api.authorization.access import (
    Access as Access,
    Authorizer as Authorizer,
    Decision as Decision,
    Rules as Rules,
    allows as allows,
    denied as denied,
)
from podwright.cluster.api.authorization.authorizers import (
    AlwaysAllow as AlwaysAllow,
    AuthorizerChain as AuthorizerChain,
    Mode as Mode,
    authorizer_chain as authorizer_chain,
)
from podwright.cluster.api.authorization.bootstrap_policy import (
    bootstrap_policy as bootstrap_policy,
    reconciled as reconciled,
)
from podwright.cluster.api.authorization.escalation import (
    EscalationCheck as EscalationCheck,
    RoleWrite as RoleWrite,
)
from podwright.cluster.api.authorization.impersonation import (
    Impersonation as Impersonation,
    NotImpersonated as NotImpersonated,
)
from podwright.cluster.api.authorization.policy_rules import quoted_list as quoted_list
from podwright.cluster.api.authorization.role_resolver import (
    GROUP as GROUP,
    MissingRole as MissingRole,
    RoleResolver as RoleResolver,
)
