"""Nobody grants more than they have: the check of writes of roles and bindings.

A user may write a role whose rules the user's own rules cover, or with the verb `escalate`; and a
binding of such a role, or with the verb `bind` for the role.

Upstream: pkg/registry/rbac/escalation_check.go; pkg/registry/rbac/validation/rule.go,
ConfirmNoEscalation; pkg/registry/rbac/*/policybased/storage.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document, aggregated, go_quoted
from podwright.cluster.api.authorization.access import Access
from podwright.cluster.api.authorization.authorizers import AuthorizerChain
from podwright.cluster.api.authorization.policy_rules import descriptions, quoted_list, uncovered
from podwright.cluster.api.authorization.role_resolver import GROUP, MissingRole, RoleResolver
from podwright.cluster.api.users import MASTERS, User

_FULL_AUTHORITY: Final[list[Document]] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]
_ROLES: Final = frozenset({"roles", "clusterroles"})
_CHANGED_BY_COLLECTOR: Final = ("ownerReferences", "finalizers", "selfLink", "managedFields")


class RoleWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A write of a role or a binding.

    Attributes
    ----------
    user : User
    resource : str
        roles, clusterroles, rolebindings or clusterrolebindings.
    namespace : str
    request_name : str
        The name in the path; "" for a creation.
    new : dict
    old : dict or None
    """

    user: User
    resource: str
    namespace: str
    request_name: str
    new: Document
    old: Document | None


class EscalationCheck:
    """Checks writes of roles and bindings.

    Parameters
    ----------
    authorizers : AuthorizerChain
    resolver : RoleResolver
    """

    def __init__(self, authorizers: AuthorizerChain, resolver: RoleResolver) -> None:
        self._authorizers = authorizers
        self._resolver = resolver

    def problem_of(self, write: RoleWrite) -> str | MissingRole | None:
        """Return why a write is forbidden, or the missing role of a binding; None if allowed."""
        if MASTERS in write.user.groups:
            return None
        if write.resource in _ROLES:
            return self._problem_of_role(write)
        return self._problem_of_binding(write)

    def _problem_of_role(self, write: RoleWrite) -> str | None:
        if self._may("escalate", write, write.resource, write.request_name):
            return None
        if _is_only_collected(write):
            return None
        if problem := self._escalation(write, write.new.get("rules") or ()):
            return problem
        is_aggregated = _has_aggregation(write.new) or _has_aggregation(write.old)
        if is_aggregated and self._escalation(write, _FULL_AUTHORITY):
            return "must have cluster-admin privileges to use the aggregationRule"
        return None

    def _problem_of_binding(self, write: RoleWrite) -> str | MissingRole | None:
        if _is_only_collected(write):
            return None
        reference = write.new.get("roleRef") or {}
        kind, name = reference.get("kind") or "", reference.get("name") or ""
        resource = f"{kind.lower()}s" if kind in ("Role", "ClusterRole") else ""
        group = reference.get("apiGroup") or ""
        if resource and self._may("bind", write, resource, name, group=group):
            return None
        rules = self._resolver.rules_of(reference, write.namespace)
        if isinstance(rules, MissingRole):
            return rules
        return self._escalation(write, rules)

    def _may(
        self, verb: str, write: RoleWrite, resource: str, name: str, *, group: str = GROUP
    ) -> bool:
        access = Access(
            user=write.user,
            verb=verb,
            group=group,
            version="*",
            resource=resource,
            namespace=write.namespace,
            name=name,
        )
        return self._authorizers.allows(access)

    def _escalation(self, write: RoleWrite, rules: Sequence[Document]) -> str | None:
        user = write.user
        found = self._resolver.grants_of(user, write.namespace)
        missing = uncovered(found.rules, rules)
        if not missing:
            return None
        listed = "\n".join(descriptions(missing))
        text = (
            f"user {go_quoted(user.name)} (groups={quoted_list(user.groups)}) is attempting to"
            f" grant RBAC permissions not currently held:\n{listed}"
        )
        if found.missing:
            # Upstream's storage names the resource of the request, not the one that is absent.
            names = (
                f"{write.resource}.{GROUP} {go_quoted(each.name)} not found"
                for each in found.missing
            )
            text += f"; resolution errors: [{aggregated(names)}]"
        return text


def _has_aggregation(role: Document | None) -> bool:
    rule = (role or {}).get("aggregationRule") or {}
    return bool(rule.get("clusterRoleSelectors"))


def _is_only_collected(write: RoleWrite) -> bool:
    """Whether a write changes only what the garbage collector changes."""
    if write.old is None:
        return False
    return _without_collected(write.new) == _without_collected(write.old)


def _without_collected(document: Document) -> Document:
    metadata = {
        name: value
        for name, value in (document.get("metadata") or {}).items()
        if name not in _CHANGED_BY_COLLECTOR
    }
    return document | {"metadata": metadata}
