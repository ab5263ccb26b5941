"""Who may act as whom."""

from __future__ import annotations

import pytest

from podwright.cluster.api.authorization import (
    Access,
    Impersonation,
    NotImpersonated,
)
from podwright.cluster.api.authorization.tests.conftest import ALICE
from podwright.cluster.api.users import User

AUTHENTICATION = ["authentication.k8s.io"]


def list_pods(user=ALICE):
    return Access(user=user, verb="list", resource="pods", namespace="default")


def refusal(policy, requested, access=None):
    with pytest.raises(NotImpersonated) as caught:
        Impersonation(policy.authorizers).user_for(requested, access or list_pods())
    found = caught.value.access
    return found.verb, found.resource, found.name


def test_without_rights_the_refusal_is_that_of_the_first_mode(policy):
    assert refusal(policy, User("bob")) == ("impersonate-on:user-info:list", "pods", "")
    assert refusal(policy, User("system:serviceaccount:a:b"))[0] == (
        "impersonate-on:serviceaccount:list"
    )
    assert refusal(policy, User("system:node:n1"))[0] == "impersonate-on:arbitrary-node:list"
    # A group may not be named for a service account in the newer modes.
    requested = User("system:serviceaccount:a:b", groups=("x",))
    assert refusal(policy, requested) == ("impersonate", "serviceaccounts", "b")
    # Nor may it have a uid, and neither may a node.
    requested = User("system:serviceaccount:a:b", uid="7")
    assert refusal(policy, requested) == ("impersonate", "serviceaccounts", "b")
    assert refusal(policy, User("system:node:n1", uid="7"))[0] == "impersonate"


def test_the_original_mode(policy):
    policy.role("i", {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"]})
    policy.bind("i", "ClusterRole/i", "User/alice")
    impersonation = Impersonation(policy.authorizers)
    found = impersonation.user_for(User("bob"), list_pods())
    assert found == User("bob", groups=("system:authenticated",))
    # After a success the errors are those of the mode that succeeded.
    with pytest.raises(NotImpersonated) as caught:
        impersonation.user_for(User("bob", groups=("g",)), list_pods())
    assert (caught.value.access.verb, caught.value.access.resource) == ("impersonate", "groups")


def test_a_constrained_mode_needs_both_rights(policy):
    policy.role("on", {"verbs": ["impersonate-on:user-info:list"], "apiGroups": [""],
                       "resources": ["pods"]})  # fmt: skip
    policy.bind("on", "ClusterRole/on", "User/alice")
    assert refusal(policy, User("bob")) == ("impersonate:user-info", "users", "bob")
    policy.role("who", {"verbs": ["impersonate:user-info"], "apiGroups": AUTHENTICATION,
                        "resources": ["users"], "resourceNames": ["bob"]})  # fmt: skip
    policy.bind("who", "ClusterRole/who", "User/alice")
    assert Impersonation(policy.authorizers).user_for(User("bob"), list_pods()).name == "bob"
    assert refusal(policy, User("carol"))[2] == "carol"
    policy.role("groups", {"verbs": ["impersonate:user-info"], "apiGroups": AUTHENTICATION,
                           "resources": ["groups"]})  # fmt: skip
    policy.bind("groups", "ClusterRole/groups", "User/alice")
    user_for = Impersonation(policy.authorizers).user_for
    assert "dev" in user_for(User("bob", groups=("dev",)), list_pods()).groups
    for group in "system:masters", "":
        found = refusal(policy, User("bob", groups=("dev", group)))
        assert found == ("impersonate:user-info", "groups", group)


def test_groups_that_users_have_by_their_name(policy):
    anything = ["*"]
    policy.role("all", {"verbs": anything, "apiGroups": anything, "resources": anything})
    policy.bind("all", "ClusterRole/all", "User/alice")
    impersonation = Impersonation(policy.authorizers)

    def groups(name, *own):
        return impersonation.user_for(User(name, groups=own), list_pods()).groups

    assert groups("system:anonymous") == ("system:unauthenticated",)
    assert groups("system:serviceaccount:a:b") == (
        "system:serviceaccounts",
        "system:serviceaccounts:a",
        "system:authenticated",
    )
    assert groups("system:node:n1") == ("system:nodes", "system:authenticated")
    assert groups("bob", "system:unauthenticated") == ("system:unauthenticated",)


def test_a_service_account_acts_as_its_own_node(policy):
    agent = User(
        "system:serviceaccount:kube-system:agent",
        extra={"authentication.kubernetes.io/node-name": ("n1",)},
    )
    policy.role("on", {"verbs": ["impersonate-on:associated-node:list"], "apiGroups": [""],
                       "resources": ["pods"]})  # fmt: skip
    policy.role("as", {"verbs": ["impersonate:associated-node"], "apiGroups": AUTHENTICATION,
                       "resources": ["nodes"]})  # fmt: skip
    for name in ("on", "as"):
        policy.bind(name, f"ClusterRole/{name}", "ServiceAccount/agent/kube-system")
    found = Impersonation(policy.authorizers).user_for(User("system:node:n1"), list_pods(agent))
    assert found.groups == ("system:nodes", "system:authenticated")
    assert refusal(policy, User("system:node:n2"), list_pods(agent))[0] == (
        "impersonate-on:arbitrary-node:list"
    )


@pytest.mark.parametrize(
    ("requested", "resource", "name"),
    [
        (User("bob", uid="7"), "uids", "7"),
        (User("bob", groups=("g",)), "groups", "g"),
        (User("bob", extra={"example.com/scopes": ("view",)}), "userextras", "view"),
    ],
    ids=["uid", "group", "extra"],
)
@pytest.mark.parametrize("verb", ["impersonate", "impersonate:user-info"])
def test_each_part_of_a_user_needs_its_own_right(policy, requested, resource, name, verb):
    def allow(rights: str, *resources: str, names: tuple[str, ...] = ()) -> None:
        limits = {"resourceNames": list(names)} if names else {}
        policy.role(rights, {"verbs": [verb], "apiGroups": ["", *AUTHENTICATION],
                             "resources": list(resources), **limits})  # fmt: skip
        policy.bind(rights, f"ClusterRole/{rights}", "User/alice")

    policy.role("on", {"verbs": ["impersonate-on:user-info:list"], "apiGroups": [""],
                       "resources": ["pods"]})  # fmt: skip
    if verb != "impersonate":
        policy.bind("on", "ClusterRole/on", "User/alice")
    allow("users", "users")
    user_for = Impersonation(policy.authorizers).user_for
    assert user_for(User("bob"), list_pods()).name == "bob"
    # What was remembered of the user without the part does not give the part.
    with pytest.raises(NotImpersonated) as caught:
        user_for(requested, list_pods())
    found = caught.value.access
    assert (found.verb, found.resource, found.name) == (verb, resource, name)
    shown = f"{resource}/example.com/scopes" if resource == "userextras" else resource
    allow("others", shown, names=("other",))
    with pytest.raises(NotImpersonated):
        user_for(requested, list_pods())
    allow("this", shown, names=(name,))
    user = user_for(requested, list_pods())
    assert (user.uid, user.extra) == (requested.uid, requested.extra)
    assert set(requested.groups) <= set(user.groups)


def test_what_one_user_may_impersonate_another_of_the_same_name_may_not(policy):
    policy.role("i", {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"]})
    policy.bind("i", "ClusterRole/i", "Group/dev")
    user_for = Impersonation(policy.authorizers).user_for
    assert user_for(User("bob"), list_pods()).name == "bob"
    with pytest.raises(NotImpersonated):
        user_for(User("bob"), list_pods(User("alice")))
