"""Requests of forms, and the reasons of their rejections."""

import asyncio

import httpx
import pytest

from podwright.online.client import ClusterAccess
from podwright.online.ui.server_requests import (
    Cause,
    RejectedRequest,
    ServerRequests,
    causes_of,
    may_send,
)
from podwright.online.ui.tests.shown import Server
from podwright.online.ui.upstream import Upstream


def asked(act, replies=()):
    """Return the result of a request, and the server that has received it."""
    server = Server(replies)
    return asyncio.run(act(ServerRequests(server.upstream))), server


def rejected(act, replies=()):
    with pytest.raises(RejectedRequest) as error:
        asked(act, replies)
    return error.value


@pytest.mark.parametrize(
    ("method", "body", "sent", "media_type"),
    [
        pytest.param("GET", None, None, None, id="what only reads has no body"),
        pytest.param("POST", None, {}, "application/json", id="no body is an empty object"),
        pytest.param("DELETE", None, {}, "application/json", id="of a deletion too"),
        pytest.param("PUT", {"a": 1}, {"a": 1}, "application/json", id="a body is JSON"),
    ],
)
def test_bodies_are_json(method, body, sent, media_type):
    found, server = asked(
        lambda requests: requests.send(method, "/api", body), {f"{method} /api": (200, {"x": 1})}
    )
    assert found == {"x": 1}
    assert server.received == [(method, "/api", sent)]
    headers = server.requests[0].headers
    assert headers["accept"] == "application/json"
    assert headers.get("content-type") == media_type


@pytest.mark.parametrize(
    ("method", "is_dry_run", "query", "media_type"),
    [
        ("POST", False, "fieldValidation=Strict", "application/json"),
        ("POST", True, "fieldValidation=Strict&dryRun=All", "application/json"),
        ("PATCH", False, "fieldValidation=Strict", "application/merge-patch+json"),
        ("PATCH", True, "fieldValidation=Strict&dryRun=All", "application/merge-patch+json"),
    ],
)
def test_a_write_is_strict_and_a_patch_is_merged(method, is_dry_run, query, media_type):
    _, server = asked(
        lambda requests: requests.write(method, "/api/v1/pods", {}, is_dry_run=is_dry_run),
        {f"{method} /api/v1/pods?{query}": (200, {})},
    )
    assert server.requests[0].headers["content-type"] == media_type


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        pytest.param(httpx.Response(204), None, id="no content"),
        pytest.param(httpx.Response(399, text="<html>"), None, id="no JSON"),
        pytest.param(httpx.Response(200, json=[1]), [1], id="a list"),
    ],
)
def test_a_reply_without_json_is_no_error(reply, result):
    assert asyncio.run(requests_to(lambda _: reply).send("GET", "/api")) == result


def requests_to(reply):
    access = ClusterAccess(server="http://127.0.0.1:8180")
    return ServerRequests(Upstream(access, transport=httpx.MockTransport(reply)))


@pytest.mark.parametrize("status", [400, 503])
def test_a_rejection_has_the_status_and_the_text_of_the_server(status):
    error = rejected(
        lambda requests: requests.send("GET", "/api"), {"GET /api": (status, {"message": "busy"})}
    )
    assert (error.status, str(error)) == (status, "busy")


def test_an_error_page_of_a_proxy_is_its_status():
    requests = requests_to(lambda _: httpx.Response(502, text="<html>"))
    with pytest.raises(RejectedRequest, match=r"^The server answered with status 502\.$"):
        asyncio.run(requests.send("GET", "/api"))


def test_a_server_that_does_not_answer_is_a_rejection_without_a_status():
    def refuse(_):
        raise httpx.ConnectError("refused")

    with pytest.raises(RejectedRequest, match=r"8180 does not answer: refused") as error:
        asyncio.run(requests_to(refuse).send("GET", "/api"))
    assert error.value.status == 0


RESOURCES = {
    "resources": [
        {"kind": "Job", "name": "jobs/status", "namespaced": True},
        {"kind": "Job", "name": "jobs", "namespaced": True},
        {"kind": "Node", "name": "nodes", "namespaced": False},
    ]
}


@pytest.mark.parametrize(
    ("document", "path"),
    [
        pytest.param(
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "team"}},
            "/apis/batch/v1/namespaces/team/jobs",
            id="of a group, with its namespace",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Job"},
            "/api/v1/namespaces/default/jobs",
            id="of the core, in the default namespace",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Job", "metadata": []},
            "/api/v1/namespaces/default/jobs",
            id="metadata that is not a mapping",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"namespace": "team"}},
            "/api/v1/nodes",
            id="a kind without namespaces",
        ),
    ],
)
def test_an_object_is_created_in_the_collection_of_its_kind(document, path):
    replies = {f"GET /{root}": (200, RESOURCES) for root in ("api/v1", "apis/batch/v1")}
    assert asked(lambda requests: requests.collection_of(document), replies)[0] == path


@pytest.mark.parametrize(
    ("document", "field", "message"),
    [
        (["v1"], "kind", "apiVersion and kind are required."),
        ("apiVersion kind", "kind", "apiVersion and kind are required."),
        ({"kind": "Job"}, "kind", "apiVersion and kind are required."),
        ({"apiVersion": "v1"}, "kind", "apiVersion and kind are required."),
        ({"apiVersion": "v1", "kind": ""}, "kind", "apiVersion and kind are required."),
        ({"apiVersion": "", "kind": "Job"}, "kind", "apiVersion and kind are required."),
        ({"apiVersion": 1, "kind": "Job"}, "kind", "apiVersion and kind are required."),
        ({"apiVersion": "v1", "kind": 1}, "kind", "apiVersion and kind are required."),
        ({"apiVersion": "v2", "kind": "Job"}, "apiVersion", 'The server has no apiVersion "v2".'),
        ({"apiVersion": "v1", "kind": "Jo"}, "kind", 'The server has no kind "Jo" in v1.'),
    ],
)
def test_what_is_no_object_of_the_server_has_no_collection(document, field, message):
    replies = {"GET /api/v1": (200, RESOURCES)}
    error = rejected(lambda requests: requests.collection_of(document), replies)
    assert error.causes == (Cause(message, field),)


@pytest.mark.parametrize("status", [401, 403, 503])
def test_a_server_that_does_not_tell_its_kinds_says_why(status):
    replies = {"GET /api/v1": (status, {"message": "not for you"})}
    error = rejected(
        lambda requests: requests.collection_of({"apiVersion": "v1", "kind": "Pod"}), replies
    )
    assert (error.causes, error.status) == ((Cause("not for you"),), status)


@pytest.mark.parametrize(
    ("found", "causes"),
    [
        pytest.param(None, [("The server answered with status 418.", "")], id="no JSON"),
        pytest.param([], [("The server answered with status 418.", "")], id="a list"),
        pytest.param(
            {"error": "x", "message": ""},
            [("The server answered with status 418.", "")],
            id="no text",
        ),
        pytest.param({"message": "m"}, [("m", "")], id="a Status without causes"),
        pytest.param({"detail": "d", "title": "t"}, [("d", "")], id="a problem document"),
        pytest.param({"title": "t"}, [("t", "")], id="a problem document of a title"),
        pytest.param({"detail": "d", "field": "a.b"}, [("d", "a.b")], id="a problem of a field"),
        pytest.param({"detail": 5, "field": 7}, [("5", "7")], id="what is not a text becomes one"),
        pytest.param(
            {"errors": [{"field": 1, "detail": 2}]}, [("1: 2", "1")], id="also of several problems"
        ),
        pytest.param(
            {"details": {"causes": [{"field": 1, "message": 2}]}},
            [("1: 2", "1")],
            id="and of causes",
        ),
        pytest.param(
            {"errors": [{"field": "a", "detail": "d"}, {"detail": "e", "field": None}]},
            [("a: d", "a"), ("e", "")],
            id="several problems",
        ),
        pytest.param(
            {"message": "m", "details": {"causes": [{"field": "a", "message": "n"}, {}]}},
            [("a: n", "a"), ("", "")],
            id="the causes of a Status",
        ),
        pytest.param(
            {"message": "m", "details": {"causes": [{"field": "<nil>", "message": "n"}]}},
            [("<nil>: n", "")],
            id="a cause without a field, as upstream prints it",
        ),
        pytest.param({"message": "m", "details": None}, [("m", "")], id="no details"),
        pytest.param({"message": "m", "details": {"name": "x"}}, [("m", "")], id="other details"),
        pytest.param(
            {
                "message": 'Pod in version "v1" cannot be handled as a Pod: strict decoding error: '
                'unknown field "spec.foo", duplicate field "spec.bar"'
            },
            [('unknown field "spec.foo"', "spec.foo"), ('duplicate field "spec.bar"', "spec.bar")],
            id="fields that strict decoding names",
        ),
    ],
)
def test_the_reasons_of_an_error_have_their_fields(found, causes):
    assert causes_of(found, 418) == tuple(Cause(*each) for each in causes)


def test_the_text_of_a_rejection_has_all_reasons():
    assert str(RejectedRequest((Cause("a"), Cause("b", "spec")))) == "a; b"


@pytest.mark.parametrize(
    ("reply", "is_allowed"),
    [
        pytest.param((201, {"status": {"allowed": True}}), True, id="allowed"),
        pytest.param((201, {"status": {"allowed": False}}), False, id="denied"),
        pytest.param((201, {"status": {}}), False, id="no decision"),
        pytest.param((403, {"message": "no"}), False, id="the question is refused"),
    ],
)
def test_what_the_user_may_do_is_asked_by_a_review(reply, is_allowed):
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    found, server = asked(
        lambda requests: may_send(requests, "PUT", "/podwright/v1/configuration"),
        {f"POST {path}": reply},
    )
    assert found is is_allowed
    assert server.received[0][2] == {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"nonResourceAttributes": {"verb": "put", "path": "/podwright/v1/configuration"}},
    }
