"""Requests about users as a whole: what TokenRequest, TokenReview and SelfSubjectReview answer."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.endpoints.access.authentication_reviews import user_document
from podwright.cluster.api.endpoints.access.service_account_tokens import ISSUER
from podwright.cluster.api.endpoints.tests.conftest import Server, pod
from podwright.cluster.api.users import User

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PODS = "/api/v1/namespaces/default/pods"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
PATH = f"{ACCOUNTS}/robot/token"
DAY_NS = 24 * 3_600 * 1_000_000_000
POD = {"kind": "Pod", "apiVersion": "v1", "name": "p"}


@pytest.fixture
def robots(server: Server) -> Server:
    """A server with a service account, a pod, a secret and a node."""
    assert server.reply("POST", ACCOUNTS, {"metadata": {"name": "robot"}})[0] == 201
    assert server.reply("POST", PODS, pod("p", serviceAccountName="robot"))[0] == 201
    assert server.reply("POST", PODS, pod("other"))[0] == 201
    assert server.reply("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})[0] == 201
    secrets = "/api/v1/namespaces/default/secrets"
    assert server.reply("POST", secrets, {"metadata": {"name": "s"}})[0] == 201
    return server


def test_a_token_request_as_it_is_answered(robots: Server) -> None:
    _, account = robots.reply("GET", f"{ACCOUNTS}/robot")
    status, found = robots.reply("POST", PATH, {"spec": {"expirationSeconds": 600}})
    token = found["status"].pop("token")
    assert token.count(".") == 2
    assert (status, found) == (
        201,
        {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": "robot",
                "namespace": "default",
                "uid": account["metadata"]["uid"],
                "creationTimestamp": "2026-03-02T10:00:07Z",
                "managedFields": found["metadata"]["managedFields"],
            },
            "spec": {"audiences": [ISSUER], "expirationSeconds": 600, "boundObjectRef": None},
            "status": {"expirationTimestamp": "2026-03-02T10:10:07Z"},
        },
    )
    sent = {"selfLink": "x", "creationTimestamp": "2020-01-01T00:00:00Z"}
    _, kept = robots.reply(
        "POST", f"{PATH}", {"metadata": sent, "spec": {"audiences": [ISSUER] * 2}}
    )
    assert kept["metadata"]["selfLink"] == "x"
    assert kept["metadata"]["creationTimestamp"] == "2026-03-02T10:00:08Z"
    _, found = robots.reply("POST", PATH, {"spec": {"audiences": ["a", "b"]}})
    assert found["spec"] == {
        "audiences": ["a", "b"], "expirationSeconds": 3600, "boundObjectRef": None,
    }  # fmt: skip
    assert found["status"]["expirationTimestamp"] == "2026-03-02T11:00:09Z"


def test_a_token_request_may_have_no_spec_and_must_not_be_too_short(robots: Server) -> None:
    status, found = robots.reply("POST", PATH, {})
    assert (status, found["spec"]["expirationSeconds"]) == (201, 3600)
    status, found = robots.reply("POST", PATH, {"spec": {"expirationSeconds": 599}})
    assert (status, found["message"]) == (
        422,
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value:'
        " 599: may not specify a duration less than 10 minutes",
    )


@pytest.mark.parametrize(
    ("metadata", "reference", "code", "message"),
    [
        ({"name": "robot"}, None, 201, ""),
        (
            {"name": "x"}, None, 422,
            'TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value:'
            ' "x": must match the service account name if specified',
        ),
        ({}, POD, 201, ""),
        ({}, {"kind": "Secret", "apiVersion": "v1", "name": "s"}, 201, ""),
        ({}, {"kind": "Node", "apiVersion": "v1", "name": "n"}, 201, ""),
        (
            {}, {"kind": "ConfigMap", "apiVersion": "v1", "name": "p"}, 400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
        (
            {}, {"kind": "Pod", "apiVersion": "apps/v1", "name": "p"}, 400,
            "cannot bind token to object of type apps/v1, Kind=Pod",
        ),
        ({}, {"kind": "Pod", "name": "p"}, 201, ""),
        ({}, {}, 400, "cannot bind token to object of type /, Kind="),
        ({}, {"kind": "Pod", "apiVersion": "v1"}, 400, "Name parameter required."),
        (
            {}, {"kind": "Pod", "apiVersion": "v1", "name": "x"}, 404, 'pods "x" not found',
        ),
        (
            {}, {"kind": "Secret", "apiVersion": "v1", "name": "x"}, 404, 'secrets "x" not found',
        ),
        (
            {}, {"kind": "Node", "apiVersion": "v1", "name": "x"}, 404, 'nodes "x" not found',
        ),
        (
            {}, POD | {"name": "other"}, 400,
            'cannot bind token for serviceaccount "robot" to pod running with different'
            " serviceaccount name.",
        ),
        (
            {}, POD | {"uid": "u"}, 409,
            'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (u)'
            " does not match the UID in record. The object might have been deleted and then"
            " recreated",
        ),
    ],
)  # fmt: skip
def test_what_a_token_can_be_bound_to(
    robots: Server, metadata: dict[str, Any], reference: Any, code: int, message: str
) -> None:
    spec = {} if reference is None else {"boundObjectRef": reference}
    status, found = robots.reply("POST", PATH, {"metadata": metadata, "spec": spec})
    assert (status, found.get("message", "")) == (code, message)


def test_the_uids_of_a_request_are_checked(robots: Server) -> None:
    _, account = robots.reply("GET", f"{ACCOUNTS}/robot")
    _, bound = robots.reply("GET", f"{PODS}/p")
    own, of_pod = account["metadata"]["uid"], bound["metadata"]["uid"]
    status, found = robots.reply("POST", PATH, {"metadata": {"uid": "u"}, "spec": {}})
    assert (status, found["message"]) == (
        409,
        'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in'
        f" the token request (u) does not match the UID of the service account ({own})",
    )
    spec = {"boundObjectRef": POD | {"uid": of_pod}}
    assert robots.reply("POST", PATH, {"metadata": {"uid": own}, "spec": spec})[0] == 201


@pytest.mark.parametrize(
    ("spec", "is_extended"),
    [
        ({"boundObjectRef": POD, "expirationSeconds": 3607}, True),
        ({"boundObjectRef": POD, "expirationSeconds": 3607, "audiences": [ISSUER]}, True),
        ({"boundObjectRef": POD, "expirationSeconds": 3607, "audiences": ["a", ISSUER]}, False),
        ({"boundObjectRef": POD, "expirationSeconds": 3606}, False),
        ({"boundObjectRef": POD, "expirationSeconds": 3608}, False),
        ({"expirationSeconds": 3607}, False),
        (
            {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s"},
             "expirationSeconds": 3607},
            False,
        ),
    ],
)  # fmt: skip
def test_which_tokens_are_good_for_a_year(
    robots: Server, spec: dict[str, Any], *, is_extended: bool
) -> None:
    _, found = robots.reply("POST", PATH, {"spec": spec})
    token = found["status"]["token"]
    # The time that it says is that of the request.
    assert found["status"]["expirationTimestamp"][:13] == "2026-03-02T11"

    def is_good() -> bool:
        review = {"spec": {"token": token, "audiences": [ISSUER]}}
        return "error" not in robots.reply("POST", REVIEWS, review)[1]["status"]

    assert is_good()
    robots.now_ns += DAY_NS
    assert is_good() is is_extended
    robots.now_ns += 363 * DAY_NS
    assert is_good() is is_extended
    robots.now_ns += 2 * DAY_NS
    assert not is_good()


def test_a_review_of_nothing_is_bad(server: Server) -> None:
    for spec in ({}, {"token": ""}, None):
        status, found = server.reply("POST", REVIEWS, {"spec": spec})
        assert (status, found["message"]) == (
            400, "token is required for TokenReview in authentication",
        )  # fmt: skip


def test_a_review_as_it_is_answered(server: Server) -> None:
    for sent, audiences in ((None, [ISSUER]), (["a", ISSUER], [ISSUER]), (["a"], None)):
        spec: dict[str, Any] = {"token": "alice-token"} | ({"audiences": sent} if sent else {})
        status, found = server.reply("POST", REVIEWS, {"spec": spec})
        found["metadata"].pop("managedFields", None)
        user = {"username": "alice", "uid": "alice-uid", "groups": ["dev", "system:authenticated"]}
        if audiences:
            assert found["status"] == {
                "authenticated": True, "user": user, "audiences": audiences,
            }  # fmt: skip
        else:
            assert found["status"] == {"user": {}, "error": "invalid bearer token"}
        assert status == 201
        assert found["spec"] == spec
    # What follows a space does not count.
    status, found = server.reply("POST", REVIEWS, {"spec": {"token": " alice-token  x"}})
    assert found["status"]["user"]["username"] == "alice"


def test_the_user_of_a_request(server: Server) -> None:
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    groups, extra = ("a", "system:authenticated"), {"x": ("1", "2")}
    user = User("ada", groups=groups, uid="7", extra=extra)
    status, found = server.reply("POST", path, {}, user=user)
    assert (status, found["kind"], found["apiVersion"]) == (
        201, "SelfSubjectReview", "authentication.k8s.io/v1",
    )  # fmt: skip
    assert found["metadata"]["creationTimestamp"].startswith("2026-03-02T10:00:0")
    assert found["status"] == {"userInfo": user_document(user)}


def test_a_user_as_a_document() -> None:
    assert user_document(User("a")) == {"username": "a", "uid": "", "groups": []}
    assert user_document(User("a", groups=("g",), uid="u", extra={"x": ("1", "2")})) == {
        "username": "a", "uid": "u", "groups": ["g"], "extra": {"x": ["1", "2"]},
    }  # fmt: skip
