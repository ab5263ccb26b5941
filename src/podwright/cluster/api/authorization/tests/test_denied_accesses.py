"""The error of an access that is not allowed, in upstream's words."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.authorization import Access, denied
from podwright.cluster.api.authorization.access import Decision, allows
from podwright.cluster.api.users import User

ADA = User("ada")
DEPLOYMENTS = {"group": "apps", "resource": "deployments"}
IN_GROUP = 'User "ada" cannot get resource "deployments" in API group "apps"'


@pytest.mark.parametrize(
    ("fields", "reason", "message"),
    [
        (DEPLOYMENTS, "", f"deployments.apps is forbidden: {IN_GROUP} at the cluster scope"),
        (DEPLOYMENTS, "why",
         f"deployments.apps is forbidden: {IN_GROUP} at the cluster scope: why"),
        (DEPLOYMENTS | {"namespace": "a", "name": "b"}, "",
         f'deployments.apps "b" is forbidden: {IN_GROUP} in the namespace "a"'),
        ({"resource": "pods", "subresource": "log"}, "", 'pods is forbidden: User "ada" cannot get'
         ' resource "pods/log" in API group "" at the cluster scope'),
        ({"is_resource": False, "path": "/metrics"}, "",
         'forbidden: User "ada" cannot get path "/metrics"'),
        ({"is_resource": False, "path": "/a<b>&c"}, "<why>",
         'forbidden: User "ada" cannot get path "/a&lt;b&gt;&amp;c": <why>'),
        ({"user": User("a<b"), "resource": "pods"}, "", 'pods is forbidden: User "a&lt;b" cannot'
         ' get resource "pods" in API group "" at the cluster scope'),
    ],
)  # fmt: skip
def test_an_access_that_is_not_allowed_is_named(fields, reason, message):
    access = Access(**{"user": ADA, "verb": "get"} | fields)
    found = denied(access, reason)
    assert (found.code, found.reason, found.message) == (403, "Forbidden", message)
    names = {"group": access.group, "kind": access.resource, "name": access.name}
    assert found.details == {key: value for key, value in names.items() if value}


@pytest.mark.parametrize(("is_allowed", "expected"), [(True, True), (False, False), (None, False)])
def test_no_opinion_allows_nothing(is_allowed, expected):
    class Decided:
        def authorize(self, _access: Access) -> Decision:
            return Decision(is_allowed)

    decided: Any = Decided()
    assert allows(decided, Access(user=ADA, verb="get")) is expected
