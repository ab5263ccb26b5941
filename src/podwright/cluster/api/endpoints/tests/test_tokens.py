"""Tokens of service accounts: good until they expire or what they name is gone."""

from __future__ import annotations

import pytest

from podwright.cluster.api.endpoints.tests.conftest import pod

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


def token(server, **spec):
    server.reply("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    status, found = server.reply("POST", f"{ACCOUNTS}/robot/token", {"spec": spec})
    assert status == 201, found
    return found["status"]["token"]


def review(server, text, **spec):
    return server.reply("POST", REVIEWS, {"spec": {"token": text, **spec}})[1]["status"]


def test_a_token_names_its_account(server):
    status = review(server, token(server))
    assert status["authenticated"]
    assert status["user"]["username"] == "system:serviceaccount:default:robot"
    assert "system:serviceaccounts:default" in status["user"]["groups"]


def test_a_token_authenticates_requests(server):
    headers = {"authorization": f"Bearer {token(server)}"}
    user = server.api.authenticator.authenticate(headers, server.now_ns)
    assert user.name == "system:serviceaccount:default:robot"


def test_a_token_expires(server):
    text = token(server, expirationSeconds=600)
    server.now_ns += 601 * 1_000_000_000
    assert review(server, text)["authenticated"], "clocks may differ by a minute"
    server.now_ns += 60 * 1_000_000_000
    assert review(server, text)["error"] == (
        "[invalid bearer token, service account token has expired]"
    )


def test_a_changed_token_is_not_good(server):
    head, _, signature = token(server).rpartition(".")
    forged = f"{head}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"
    assert "authenticated" not in review(server, forged)


def test_tokens_of_others_are_not_known(server):
    assert review(server, "a.b.c") == {"user": {}, "error": "invalid bearer token"}
    assert "authenticated" not in review(server, "nonsense")


@pytest.mark.parametrize(
    ("text", "name", "groups"),
    [
        ("admin-token", "admin", ["system:masters", "system:authenticated"]),
        ("alice-token", "alice", ["dev", "system:authenticated"]),
        ("sched-token", "system:kube-scheduler", ["system:authenticated"]),
    ],
)
def test_static_tokens_are_reviewed_too(server, text, name, groups):
    found = review(server, text)["user"]
    assert (found["username"], found["groups"]) == (name, groups)


def test_a_bound_token_goes_with_its_pod(server):
    path = "/api/v1/namespaces/default/pods"
    server.reply("POST", path, pod("p", serviceAccountName="robot"))
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    text = token(server, boundObjectRef=reference)
    extra = review(server, text)["user"]["extra"]
    assert extra["authentication.kubernetes.io/pod-name"] == ["p"]
    server.reply("DELETE", f"{path}/p")
    assert review(server, text)["error"] == (
        "[invalid bearer token, service account token has been invalidated]"
    )


def test_audiences_limit_a_token(server):
    text = token(server, audiences=["one", "two"])
    assert "error" in review(server, text)
    assert review(server, text, audiences=["two", "three"])["audiences"] == ["two"]


def test_a_token_of_a_pod_names_its_node_and_ends_with_the_pod(server):
    server.reply("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})
    server.reply("POST", "/api/v1/namespaces/default/pods",
                 pod("p", serviceAccountName="robot", nodeName="n1"))  # fmt: skip
    text = token(server, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    extra = review(server, text)["user"]["extra"]
    assert extra["authentication.kubernetes.io/pod-name"] == ["p"]
    assert extra["authentication.kubernetes.io/node-name"] == ["n1"]
    assert "authentication.kubernetes.io/node-uid" in extra
    # The node of a pod is a fact only.
    server.reply("DELETE", "/api/v1/nodes/n1")
    assert review(server, text)["authenticated"]
    server.reply("DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0")
    assert review(server, text)["error"] == (
        "[invalid bearer token, service account token has been invalidated]"
    )


def test_a_token_of_a_node_ends_with_the_node(server):
    server.reply("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})
    text = token(server, boundObjectRef={"kind": "Node", "apiVersion": "v1", "name": "n1"})
    assert review(server, text)["authenticated"]
    server.reply("DELETE", "/api/v1/nodes/n1")
    assert "authenticated" not in review(server, text)


def test_the_token_of_a_volume_is_good_longer_than_it_says(server):
    server.reply("POST", "/api/v1/namespaces/default/pods", pod("p", serviceAccountName="robot"))
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    text = token(server, boundObjectRef=reference, expirationSeconds=3607)
    server.now_ns += 30 * 24 * 3600 * 1_000_000_000
    assert review(server, text)["authenticated"]


def test_a_request_may_name_the_uid_of_the_account(server):
    _, account = server.reply("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    path, uid = f"{ACCOUNTS}/robot/token", account["metadata"]["uid"]
    status, found = server.reply("POST", path, {"metadata": {"uid": uid}, "spec": {}})
    assert (status, found["metadata"]["uid"]) == (201, uid)
    entry = found["metadata"]["managedFields"][0]
    assert entry["subresource"] == "token"
    status, found = server.reply("POST", path, {"metadata": {"uid": "x"}, "spec": {}})
    assert (status, found["reason"]) == (409, "Conflict")


def test_static_tokens_are_good_for_the_api_only(server):
    assert review(server, "admin-token")["user"]["username"] == "admin"
    assert review(server, "admin-token", audiences=["other"]) == {
        "user": {},
        "error": "invalid bearer token",
    }


def test_a_blank_token_is_that_of_nobody(server):
    assert review(server, " ")["user"]["username"] == "system:anonymous"
