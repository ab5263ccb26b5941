"""Who sends a request, what it accesses, and the words of a request that is not allowed."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.authorization import Access, denied
from podwright.cluster.api.endpoints.access.authentication import (
    Authenticator,
    bearer_token,
    static_tokens,
    token_warnings,
    with_authenticated,
)
from podwright.cluster.api.endpoints.access.authorization import (
    access_of,
    impersonated_user,
)
from podwright.cluster.api.endpoints.paths import request_info
from podwright.cluster.api.endpoints.request import HttpRequest
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.users import User

ALL = "system:authenticated"
ADA, EVE = User("ada", groups=("a",)), User("eve")


@pytest.mark.parametrize(
    ("header", "token", "is_warned"),
    [
        (None, None, False),
        ("", None, False),
        ("Bearer x", "x", False),
        ("bearer x", "x", False),
        ("BEARER x ", "x", False),
        (" Bearer x", "x", False),
        ("Bearer", None, False),
        ("Bearer ", None, False),
        ("Bearer  x", None, True),
        ("Basic  x", None, False),
        ("x", None, False),
        ("Bearer x y", "x", False),
    ],
)
def test_the_bearer_token_of_a_request(
    header: str | None, token: str | None, *, is_warned: bool
) -> None:
    headers = {} if header is None else {"authorization": header}
    assert bearer_token(headers) == token
    text = "the provided Authorization header contains extra space before the bearer token, and is"
    assert token_warnings(headers) == ([f"{text} ignored"] if is_warned else [])


def test_the_user_of_a_request() -> None:
    first, second = static_tokens({"a": ADA}), static_tokens({"a": EVE, "e": EVE})
    authenticator = Authenticator(first)

    def user(token: str = "", **options: Any) -> User | int:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        try:
            return authenticator.authenticate(headers, 0, **options)
        except Rejection as error:
            return error.code

    ada, eve = User("ada", groups=("a", ALL)), User("eve", groups=(ALL,))
    assert (user("a"), user("e")) == (ada, 401)
    authenticator.add(second)
    assert (user("a"), user("e"), user("x")) == (ada, eve, 401)
    # A certificate comes before a token, also before one that is not valid.
    assert (user("a", certified=EVE), user("x", certified=EVE)) == (eve, eve)
    assert user() == User("system:anonymous", groups=("system:unauthenticated",))
    assert authenticator.user_of("e", 0) == eve
    assert authenticator.user_of("x", 0) is None
    authenticator = Authenticator(first, allows_anonymous=False)
    assert (user(), user("a"), user(certified=EVE)) == (401, ada, eve)
    authenticator = Authenticator(anonymous=EVE)
    assert user() == EVE


def test_tokens_that_expire_are_looked_up_at_their_time() -> None:
    authenticator = Authenticator(lambda _token, now_ns: ADA if now_ns < 5 else None)
    headers = {"authorization": "Bearer x"}
    assert authenticator.authenticate(headers, 4).name == "ada"
    with pytest.raises(Rejection):
        authenticator.authenticate(headers, 5)


def test_the_group_of_all_users_is_added_once() -> None:
    user = with_authenticated(ADA)
    assert user.groups == ("a", ALL)
    assert with_authenticated(user) is user


# ------------------------------------------------------------------------------------ accesses

PODS = "/api/v1/namespaces/n/pods"


@pytest.mark.parametrize(
    ("method", "path", "query", "name", "has_fields"),
    [
        ("GET", PODS, "", "", False),
        ("GET", f"{PODS}/p", "", "p", False),
        ("GET", PODS, "fieldSelector=metadata.name%3Dp", "p", True),
        ("GET", PODS, "fieldSelector=metadata.name%3Dp&watch=true", "p", True),
        ("GET", PODS, "fieldSelector=spec.nodeName%3Dx,metadata.name%3Dp", "p", True),
        ("GET", PODS, "fieldSelector=metadata.name!%3Dp", "", True),
        ("GET", PODS, "fieldSelector=metadata.name%3D..", "", True),
        ("GET", PODS, "fieldSelector=metadata.name%3Da%2Fb", "", True),
        ("GET", PODS, "fieldSelector=metadata.name%3Da%25b", "", True),
        ("GET", PODS, "fieldSelector=spec.nodeName%3Dx", "", True),
        ("GET", PODS, "fieldSelector=a", "", False),
        ("GET", f"{PODS}/p", "fieldSelector=metadata.name%3Dq", "p", False),
        ("DELETE", PODS, "fieldSelector=metadata.name%3Dp", "", True),
        # Options that cannot be read are all dropped.
        ("GET", PODS, "fieldSelector=metadata.name%3Dp&labelSelector=a%3Db", "p", True),
        ("GET", PODS, "fieldSelector=metadata.name%3Dp&labelSelector=a+in+(", "", True),
        ("GET", PODS, "fieldSelector=metadata.name%3Dp&limit=x", "", True),
        ("GET", PODS, "fieldSelector=metadata.name%3Dp&timeoutSeconds=x", "", True),
        ("GET", PODS, "fieldSelector=metadata.name%3Dp&limit=1&timeoutSeconds=1", "p", True),
    ],
)
def test_a_list_of_one_name_is_an_access_to_that_name(
    method: str, path: str, query: str, name: str, has_fields: bool
) -> None:
    request = HttpRequest(method, path, query)
    info = request_info(request)
    found = access_of(info, ADA, request)
    assert (found.user, found.verb, found.group, found.version, found.resource) == (
        ADA, info.verb, "", "v1", "pods",
    )  # fmt: skip
    assert (found.namespace, found.subresource, found.path) == ("n", "", path)
    assert (found.name, not found.fields.is_empty, found.is_resource) == (name, has_fields, True)


def test_the_access_to_a_path_and_to_a_subresource() -> None:
    request = HttpRequest("GET", "/healthz", "fieldSelector=metadata.name%3Dp")
    assert access_of(request_info(request), ADA, request) == Access(
        user=ADA, verb="get", is_resource=False, path="/healthz"
    )
    request = HttpRequest("PATCH", "/apis/apps/v1/namespaces/n/deployments/d/scale")
    assert access_of(request_info(request), ADA, request) == Access(
        user=ADA, verb="patch", group="apps", version="v1", resource="deployments",
        subresource="scale", namespace="n", name="d", path=request.path,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("access", "reason", "message"),
    [
        (
            Access(user=ADA, verb="get", is_resource=False, path="/x"), "",
            'forbidden: User "ada" cannot get path "/x"',
        ),
        (
            Access(user=ADA, verb="list", version="v1", resource="nodes"), "",
            'nodes is forbidden: User "ada" cannot list resource "nodes" in API group "" at the'
            " cluster scope",
        ),
        (
            Access(user=User("<&>"), verb="get", group="apps", version="v1", resource="deployments",
                   subresource="scale", namespace="n", name="d"), "no & rights",
            'deployments.apps "d" is forbidden: User "&lt;&amp;&gt;" cannot get resource'
            ' "deployments/scale" in API group "apps" in the namespace "n": no & rights',
        ),
    ],
)  # fmt: skip
def test_the_words_of_an_access_that_is_not_allowed(
    access: Access, reason: str, message: str
) -> None:
    error = denied(access, reason)
    assert (error.code, error.reason, str(error)) == (403, "Forbidden", message)


# ------------------------------------------------------------------------------- impersonation


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        ({}, None),
        ({"accept": "a"}, None),
        ({"impersonate-user": ""}, None),
        ({"impersonate-other": "x"}, None),
        ({"impersonate-user": "a"}, User("a")),
        ({"impersonate-user": "a\nb", "impersonate-uid": "1\n2"}, User("a", "1")),
        ({"impersonate-user": "a", "impersonate-group": "g"}, User("a", groups=("g",))),
        ({"impersonate-user": "a", "impersonate-group": "g\nh"}, User("a", groups=("g", "h"))),
        ({"impersonate-user": "a", "impersonate-group": ""}, User("a", groups=("",))),
        (
            {"impersonate-user": "a", "impersonate-extra-x": "1\n2", "impersonate-extra-y": "3"},
            User("a", extra={"x": ("1", "2"), "y": ("3",)}),
        ),
        (
            {"impersonate-user": "a", "impersonate-extra-a.io%2fb+c": "1"},
            User("a", extra={"a.io/b+c": ("1",)}),
        ),
        ({"impersonate-user": "a", "impersonate-extra-%zz": "1"}, User("a", extra={"%zz": ("1",)})),
    ],
)
def test_the_user_that_headers_name(headers: dict[str, str], user: User | None) -> None:
    assert impersonated_user(headers) == user


@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        ({"impersonate-uid": "1"}, 'UID:"1", Groups:[]string(nil), Extra:map[string][]string(nil)'),
        (
            {"impersonate-group": "g\nh"},
            'UID:"", Groups:[]string{"g", "h"}, Extra:map[string][]string(nil)',
        ),
        (
            {"impersonate-extra-y": "2", "impersonate-extra-x": "1", "impersonate-user": ""},
            'UID:"", Groups:[]string(nil), Extra:map[string][]string{"x":[]string{"1"},'
            ' "y":[]string{"2"}}',
        ),
    ],
)
def test_facts_of_a_user_without_a_name_are_refused(headers: dict[str, str], shown: str) -> None:
    with pytest.raises(Rejection) as error:
        impersonated_user(headers)
    assert (error.value.code, str(error.value)) == (
        400,
        f'requested &user.DefaultInfo{{Name:"", {shown}}} without impersonating a user name',
    )
