"""The rights that each impersonation needs, in order, and the user that it gives."""

from __future__ import annotations

from typing import Any, cast

import pytest

from podwright.cluster.api.authorization import (
    Access,
    AuthorizerChain,
    Decision,
    Impersonation,
    NotImpersonated,
)
from podwright.cluster.api.users import User

NODE = "system:node:n1"
ROBOT = "system:serviceaccount:apps:robot"
NODE_NAME = "authentication.kubernetes.io/node-name"


class Rights:
    """Allows accesses that start with given words, and keeps what was requested."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = allowed
        self.requested: list[str] = []

    def authorize(self, access: Access) -> Decision:
        group = f".{access.group}" if access.group else ""
        part = f"/{access.subresource}" if access.subresource else ""
        where = f"{access.namespace}/" if access.namespace else ""
        text = f"{access.verb} {access.resource}{group}{part} {where}{access.name}"
        self.requested.append(text)
        is_allowed = any(text.startswith(each) for each in self._allowed)
        return Decision(is_allowed=is_allowed or None, reason="why")

    def allows(self, access: Access) -> bool:
        return self.authorize(access).is_allowed is True


def impersonation(rights: Rights) -> Impersonation:
    return Impersonation(cast(AuthorizerChain, rights))


def access(requestor: User | None = None) -> Access:
    return Access(user=requestor or User("ada"), verb="list", resource="pods", namespace="default")


AUTHENTICATION = "authentication.k8s.io"
EVERYBODY = ("system:authenticated",)
ACCOUNTS = ("system:serviceaccounts", "system:serviceaccounts:apps", "system:authenticated")


@pytest.mark.parametrize(
    ("requested", "requestor", "needed", "groups"),
    [
        pytest.param(
            User("bob"), None,
            ["impersonate-on:user-info:list pods default/",
             f"impersonate:user-info users.{AUTHENTICATION} bob"],
            EVERYBODY, id="a user",
        ),
        pytest.param(
            User("bob", uid="7", groups=("g", "h"), extra={"a.b/c": ("1", "2")}), None,
            ["impersonate-on:user-info:list pods default/",
             f"impersonate:user-info users.{AUTHENTICATION} bob",
             f"impersonate:user-info uids.{AUTHENTICATION} 7",
             f"impersonate:user-info groups.{AUTHENTICATION} g",
             f"impersonate:user-info groups.{AUTHENTICATION} h",
             f"impersonate:user-info userextras.{AUTHENTICATION}/a.b/c 1",
             f"impersonate:user-info userextras.{AUTHENTICATION}/a.b/c 2"],
            ("g", "h", "system:authenticated"), id="a user with everything",
        ),
        pytest.param(
            User(NODE), None,
            ["impersonate-on:arbitrary-node:list pods default/",
             f"impersonate:arbitrary-node nodes.{AUTHENTICATION} n1"],
            ("system:nodes", "system:authenticated"), id="a node",
        ),
        pytest.param(
            User(NODE), User(ROBOT, extra={NODE_NAME: ("n1",)}),
            ["impersonate-on:associated-node:list pods default/",
             f"impersonate:associated-node nodes.{AUTHENTICATION} *"],
            ("system:nodes", "system:authenticated"), id="the node of an account's pod",
        ),
        pytest.param(
            User(NODE), User(ROBOT, extra={NODE_NAME: ("n2",)}),
            ["impersonate-on:arbitrary-node:list pods default/",
             f"impersonate:arbitrary-node nodes.{AUTHENTICATION} n1"],
            ("system:nodes", "system:authenticated"), id="another node",
        ),
        pytest.param(
            User(NODE), User("ada", extra={NODE_NAME: ("n1",)}),
            ["impersonate-on:arbitrary-node:list pods default/",
             f"impersonate:arbitrary-node nodes.{AUTHENTICATION} n1"],
            ("system:nodes", "system:authenticated"), id="not by an account",
        ),
        pytest.param(
            User(ROBOT), None,
            ["impersonate-on:serviceaccount:list pods default/",
             f"impersonate:serviceaccount serviceaccounts.{AUTHENTICATION} apps/robot"],
            ACCOUNTS, id="an account",
        ),
        pytest.param(
            User(NODE, groups=("g",)), None,
            ["impersonate users " + NODE, "impersonate groups g"],
            ("g", "system:authenticated"), id="a node with groups is a user of the original mode",
        ),
        pytest.param(
            User(ROBOT, groups=("g",)), None,
            ["impersonate serviceaccounts apps/robot", "impersonate groups g"],
            ("g", "system:authenticated"), id="an account with groups",
        ),
        pytest.param(
            User(ROBOT, uid="7"), None,
            ["impersonate serviceaccounts apps/robot", f"impersonate uids.{AUTHENTICATION} 7"],
            ACCOUNTS, id="an account with a uid",
        ),
        pytest.param(
            User("system:anonymous"), None,
            ["impersonate-on:user-info:list pods default/",
             f"impersonate:user-info users.{AUTHENTICATION} system:anonymous"],
            ("system:unauthenticated",), id="no user",
        ),
        pytest.param(
            User("bob", groups=("system:unauthenticated",)), None,
            ["impersonate-on:user-info:list pods default/",
             f"impersonate:user-info users.{AUTHENTICATION} bob",
             f"impersonate:user-info groups.{AUTHENTICATION} system:unauthenticated"],
            ("system:unauthenticated",), id="an unauthenticated user",
        ),
        pytest.param(
            User("bob", groups=EVERYBODY), None,
            ["impersonate-on:user-info:list pods default/",
             f"impersonate:user-info users.{AUTHENTICATION} bob",
             f"impersonate:user-info groups.{AUTHENTICATION} system:authenticated"],
            EVERYBODY, id="the group is there already",
        ),
        pytest.param(
            User("system:node:N_1"), None,
            ["impersonate-on:user-info:list pods default/",
             f"impersonate:user-info users.{AUTHENTICATION} system:node:N_1"],
            EVERYBODY, id="no name of a node",
        ),
        pytest.param(
            User("system:node:" + "a" * 254), None,
            ["impersonate-on:user-info:list pods default/",
             f"impersonate:user-info users.{AUTHENTICATION} system:node:" + "a" * 254],
            EVERYBODY, id="too long for a node",
        ),
    ],
)  # fmt: skip
def test_the_rights_that_an_impersonation_needs(
    requested: User, requestor: User | None, needed: list[str], groups: tuple[str, ...]
) -> None:
    rights = Rights("")
    found = impersonation(rights).user_for(requested, access(requestor))
    assert rights.requested == needed
    assert (found.name, found.uid, dict(found.extra)) == (
        requested.name, requested.uid, dict(requested.extra),
    )  # fmt: skip
    assert tuple(found.groups) == groups
    # Each of them is needed: without it, the original mode is tried.
    for missing in needed:
        others = [each for each in needed if each != missing]
        lacking = Rights(*others)
        with pytest.raises(NotImpersonated):
            impersonation(lacking).user_for(requested, access(requestor))


@pytest.mark.parametrize(
    ("requested", "reason"),
    [
        (User("bob", groups=("",)), "impersonating the empty string group is not allowed"),
        (
            User("bob", groups=("g", "system:masters")),
            "impersonating the system:masters group is not allowed",
        ),
        (
            User("bob", extra={"": ("1",)}),
            "impersonating the empty string key in extra is not allowed",
        ),
        (
            User("bob", extra={"a.b/c": ("1", "")}),
            "impersonating the empty string value in extra is not allowed",
        ),
        *(
            (
                User("bob", extra={key: ("1",)}),
                "impersonating an invalid key in extra is not allowed: extra.key: Invalid value:"
                f' "{key}": must be a domain-prefixed path (such as "acme.io/foo")',
            )
            for key in ("a", "a/", "A/b", "/b")
        ),
    ],
)
def test_what_the_newer_modes_refuse_and_the_original_one_allows(
    requested: User, reason: str
) -> None:
    newer = Rights("impersonate-on", "impersonate:")
    with pytest.raises(NotImpersonated) as error:
        impersonation(newer).user_for(requested, access())
    assert error.value.reason == reason
    every = Rights("")
    found = impersonation(every).user_for(requested, access())
    assert tuple(found.groups)[-1] == "system:authenticated"
    assert "impersonate users bob" in every.requested


def test_many_groups_and_values_need_one_right() -> None:
    for count in (3, 4, 20):
        groups = tuple(f"g{number}" for number in range(count))
        rights = Rights("")
        impersonation(rights).user_for(User("bob", groups=groups), access())
        of_groups = [each for each in rights.requested if " groups." in each]
        extra: Any = {"a.b/c": tuple(map(str, range(count)))}
        more = Rights("")
        impersonation(more).user_for(User("bob", extra=extra), access())
        of_values = [each for each in more.requested if " userextras." in each]
        if count >= 4:
            assert of_groups == [f"impersonate:user-info groups.{AUTHENTICATION} *"]
            assert of_values == [f"impersonate:user-info userextras.{AUTHENTICATION}/* *"]
            # Without it, each one is needed.
            each = Rights("impersonate-on", "impersonate:user-info users",
                          f"impersonate:user-info groups.{AUTHENTICATION} g")  # fmt: skip
            impersonation(each).user_for(User("bob", groups=groups), access())
            assert len([one for one in each.requested if " groups." in one]) == count + 1
        else:
            assert len(of_groups) == len(of_values) == count


def test_the_mode_that_has_succeeded_is_tried_first() -> None:
    rights = Rights("impersonate users", "impersonate groups")
    found = impersonation(rights)
    found.user_for(User("bob"), access())
    first = list(rights.requested)
    assert first == ["impersonate-on:user-info:list pods default/", "impersonate users bob"]
    found.user_for(User("eve"), access())
    assert rights.requested[2:] == ["impersonate users eve"]
    # Another user starts from the beginning.
    found.user_for(User("bob"), access(User("carl")))
    assert rights.requested[3:] == first
    with pytest.raises(NotImpersonated) as error:
        found.user_for(User("bob", uid="7"), access())
    assert error.value.access.resource == "uids"
    assert error.value.access.verb == "impersonate"
    # If it is refused now, the others are tried, and it is not tried again.
    before = len(rights.requested)
    with pytest.raises(NotImpersonated):
        found.user_for(User("bob", uid="7"), access())
    tried = rights.requested[before:]
    assert tried[:2] == ["impersonate users bob", f"impersonate uids.{AUTHENTICATION} 7"]
    assert len(set(tried)) == len(tried) > 2


def test_the_modes_of_so_many_users_are_remembered() -> None:
    found = impersonation(Rights("impersonate users"))
    found._last_mode.update({f"u{number}": 0 for number in range(9_999)})
    found.user_for(User("bob"), access(User("ada")))
    assert len(found._last_mode) == 10_000
    found.user_for(User("bob"), access(User("ada")))
    assert len(found._last_mode) == 10_000
    found.user_for(User("bob"), access(User("carl")))
    assert list(found._last_mode) == ["carl"]
