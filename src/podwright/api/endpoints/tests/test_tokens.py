"""Tokens of service accounts: good until they expire or what they name is gone."""

from __future__ import annotations

from podwright.api.endpoints.tests.conftest import pod

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
    assert review(server, text)["error"] == (
        "[invalid bearer token, service account token has expired]"
    )


def test_a_changed_token_is_not_good(server):
    head, _, signature = token(server).rpartition(".")
    forged = f"{head}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"
    assert "authenticated" not in review(server, forged)


def test_tokens_of_others_are_not_known(server):
    assert review(server, "a.b.c") == {"user": {}}
    assert review(server, "nonsense") == {"user": {}}


def test_static_tokens_are_reviewed_too(server):
    assert review(server, "alice-token")["user"]["username"] == "alice"


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
