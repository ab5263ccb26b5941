"""Paths: which verb of which resource a request is about."""

from __future__ import annotations

import pytest

from podwright.cluster.api.endpoints.paths import request_info
from podwright.cluster.api.endpoints.request import HttpRequest, parse_query, unescape


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        pytest.param("GET", "/api/v1/pods", ("list", "", "pods", "", "", ""), id="all namespaces"),
        pytest.param(
            "GET",
            "/api/v1/namespaces/a/pods/p",
            ("get", "", "pods", "a", "p", ""),
            id="an object in a namespace",
        ),
        pytest.param(
            "POST",
            "/api/v1/namespaces/a/pods/p/binding",
            ("create", "", "pods", "a", "p", "binding"),
            id="a subresource",
        ),
        pytest.param(
            "PUT",
            "/api/v1/namespaces/a/finalize",
            ("update", "", "namespaces", "a", "a", "finalize"),
            id="a subresource of a namespace",
        ),
        pytest.param(
            "GET",
            "/api/v1/namespaces/a",
            ("get", "", "namespaces", "a", "a", ""),
            id="a namespace is in itself",
        ),
        pytest.param(
            "DELETE",
            "/apis/apps/v1/namespaces/a/deployments",
            ("deletecollection", "apps", "deployments", "a", "", ""),
            id="a collection of a group",
        ),
        pytest.param(
            "GET",
            "/api/v1/watch/namespaces/a/pods",
            ("watch", "", "pods", "a", "", ""),
            id="the deprecated prefix",
        ),
        pytest.param(
            "GET",
            "/api/v1/nodes/n/",
            ("get", "", "nodes", "", "n", ""),
            id="a slash at the end",
        ),
    ],
)
def test_resource_paths(method, path, expected):
    info = request_info(HttpRequest(method, path))
    assert info.is_resource
    found = (info.verb, info.group, info.resource, info.namespace, info.name, info.subresource)
    assert found == expected


@pytest.mark.parametrize(
    ("query", "verb"),
    [
        pytest.param("watch=true", "watch", id="true"),
        pytest.param("watch=1", "watch", id="one"),
        pytest.param("watch=maybe", "watch", id="any other value"),
        pytest.param("watch", "watch", id="no value"),
        pytest.param("watch=False", "list", id="false"),
        pytest.param("watch=0", "list", id="zero"),
        pytest.param("", "list", id="absent"),
    ],
)
def test_watches_of_collections(query, verb):
    assert request_info(HttpRequest("GET", "/api/v1/pods", query)).verb == verb


def test_a_watch_of_a_named_object_is_a_get():
    assert request_info(HttpRequest("GET", "/api/v1/nodes/n", "watch=true")).verb == "get"


@pytest.mark.parametrize(
    "path", ["/healthz", "/api", "/apis/apps", "/apis/apps/v1", "//api/v1/pods"]
)
def test_other_paths_are_no_resources(path):
    info = request_info(HttpRequest("GET", path))
    assert not info.is_resource
    assert (info.verb, info.path) == ("get", path)


def test_queries_drop_what_go_drops():
    assert parse_query("a=1&b=%zz&c=x;y&=e&a=2") == {"a": ["1", "2"], "": ["e"]}
    assert parse_query("%zz=1&%2=&a%3D=2&b=%") == {"a=": ["2"]}


@pytest.mark.parametrize(
    ("text", "plain"), [("a+b%20c", "a b c"), ("%e2%82%ac", "€"), ("%2", None), ("%%41", None)]
)
def test_escapes(text, plain):
    assert unescape(text) == plain
