"""Authorizers one after the other, and those of the modes."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.authorization import Access, Decision
from podwright.cluster.api.authorization.access import Rules
from podwright.cluster.api.authorization.authorizers import (
    AlwaysAllow,
    AlwaysDeny,
    AuthorizerChain,
    SuperuserAuthorizer,
    authorizer_chain,
)
from podwright.cluster.api.authorization.role_resolver import RoleResolver
from podwright.cluster.api.users import User
from podwright.cluster.store import ObjectStore

ACCESS = Access(user=User("ada"), verb="get", version="v1", resource="pods")


class Fixed:
    """Has one decision, and one rule and error of its name."""

    def __init__(self, is_allowed: bool | None, reason: str = "", *, is_incomplete: bool = False):
        self._decision = Decision(is_allowed, reason)
        self._rules = Rules([{"verbs": [reason]}], is_incomplete, (reason,) if reason else ())

    def authorize(self, _access: Access) -> Decision:
        return self._decision

    def rules_for(self, _user: User, _namespace: str) -> Rules:
        return self._rules


@pytest.mark.parametrize(
    ("authorizers", "decision"),
    [
        ([], Decision(None, "")),
        ([Fixed(None)], Decision(None, "")),
        ([Fixed(None, "a"), Fixed(None), Fixed(None, "b")], Decision(None, "a\nb")),
        ([Fixed(None, "a"), Fixed(True, "b"), Fixed(False, "c")], Decision(True, "b")),
        ([Fixed(None, "a"), Fixed(False, "b"), Fixed(True, "c")], Decision(False, "b")),
    ],
)
def test_the_first_decision_holds(authorizers: list[Any], decision: Decision) -> None:
    chain = AuthorizerChain(authorizers)
    assert chain.authorize(ACCESS) == decision
    assert chain.allows(ACCESS) is (decision.is_allowed is True)


def test_the_rules_of_all_are_listed() -> None:
    chain = AuthorizerChain([Fixed(None, "a"), Fixed(None), Fixed(None, "b", is_incomplete=True)])
    found = chain.rules_for(User("ada"), "default")
    assert found.rules == [{"verbs": ["a"]}, {"verbs": [""]}, {"verbs": ["b"]}]
    assert (found.is_incomplete, found.errors) == (True, ("a", "b"))
    assert not AuthorizerChain([Fixed(None)]).rules_for(User("ada"), "x").is_incomplete


@pytest.mark.parametrize(
    ("modes", "user", "is_allowed", "reason"),
    [
        (["AlwaysAllow"], User("ada"), True, ""),
        (["AlwaysDeny"], User("ada"), None, "Everything is forbidden."),
        (["AlwaysDeny"], User("ada", groups=("system:masters",)), True, ""),
        (["AlwaysDeny", "AlwaysAllow"], User("ada"), True, ""),
        (["RBAC"], User("ada"), None, ""),
        (["Node"], User("ada"), None, ""),
        (
            ["Node"], User("system:node:", groups=("system:nodes",)), None,
            'unknown node for user "system:node:"',
        ),
        (
            ["Node", "AlwaysDeny"], User("system:node:", groups=("system:nodes",)), None,
            'unknown node for user "system:node:"\nEverything is forbidden.',
        ),
    ],
)  # fmt: skip
def test_the_authorizers_of_modes(
    modes: Any, user: User, is_allowed: bool | None, reason: str
) -> None:
    store = ObjectStore()
    chain = authorizer_chain(modes, store, RoleResolver(store), frozenset())
    access = Access(user=user, verb="get", version="v1", resource="pods", namespace="default")
    assert chain.authorize(access) == Decision(is_allowed, reason)


@pytest.mark.parametrize(
    ("modes", "message"),
    [
        ([], "no authorization mode"),
        (["RBAC", "Webhook", "x"], "unknown authorization mode 'Webhook'"),
    ],
)
def test_modes_that_do_not_exist(modes: Any, message: str) -> None:
    store = ObjectStore()
    with pytest.raises(ValueError, match="modes are") as error:
        authorizer_chain(modes, store, RoleResolver(store), frozenset())
    known = "AlwaysAllow, AlwaysDeny, Node, RBAC"
    assert str(error.value) == f"{message}; the modes are {known}"


def test_the_rules_of_authorizers_without_roles() -> None:
    user = User("ada")
    everything = [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]
    assert AlwaysAllow().rules_for(user, "default").rules == everything
    for each in (AlwaysDeny(), SuperuserAuthorizer()):
        found = each.rules_for(user, "default")
        assert (found.rules, found.is_incomplete, found.errors) == ([], False, ())
