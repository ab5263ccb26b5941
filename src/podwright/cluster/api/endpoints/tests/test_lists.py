"""Parameters of lists and watches, as kube-apiserver 1.36 reads them."""

from __future__ import annotations

import pytest

from podwright.cluster.api.endpoints import HttpReply
from podwright.cluster.api.endpoints.tests.conftest import Server, config_map, pod

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PARTIAL = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
DAEMON_SETS = "/apis/apps/v1/namespaces/default/daemonsets"


@pytest.fixture
def filled(server: Server) -> Server:
    for name in ("a", "b", "c"):
        server.reply("POST", CONFIG_MAPS, config_map(name))
    return server


@pytest.mark.parametrize(
    ("path", "has_more"),
    [
        pytest.param(f"{CONFIG_MAPS}?limit=1", True, id="of all"),
        pytest.param(f"{CONFIG_MAPS}?limit=1&fieldSelector=metadata.name%3Db", False, id="one key"),
        pytest.param(f"{CONFIG_MAPS}?limit=1&fieldSelector=metadata.name!%3Dc", True, id="not one"),
        pytest.param(
            "/api/v1/configmaps?limit=1&fieldSelector=metadata.name%3Da", True, id="all namespaces"
        ),
    ],
)
def test_a_list_of_one_key_has_no_pages(filled: Server, path: str, has_more: bool) -> None:
    status, found = filled.reply("GET", path)
    assert (status, len(found["items"])) == (200, 1)
    assert ("continue" in found["metadata"]) == has_more


@pytest.mark.parametrize("name", ["limit", "timeoutSeconds"])
def test_an_empty_number_is_no_number(filled: Server, name: str) -> None:
    status, found = filled.reply("GET", f"{CONFIG_MAPS}?{name}=")
    assert (status, found["message"]) == (400, 'strconv.ParseInt: parsing "": invalid syntax')


def test_a_field_selector_without_field_and_value_selects_everything(filled: Server) -> None:
    status, found = filled.reply("GET", f"{CONFIG_MAPS}?fieldSelector=%3D")
    names = [each["metadata"]["name"] for each in found["items"]]
    assert (status, names) == (200, ["a", "b", "c"])


def test_a_token_of_another_version_is_rejected(filled: Server) -> None:
    status, found = filled.reply("GET", f"{CONFIG_MAPS}?limit=1&continue=eyJ2IjoieCJ9")
    text = "continue key is not valid: server does not recognize this encoded version x"
    assert (status, found["message"]) == (400, f"invalid continue token: {text}")


def test_initial_events_of_another_match_are_rejected_for_both_reasons(filled: Server) -> None:
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact"
    status, found = filled.reply("GET", f"{CONFIG_MAPS}?{query}")
    assert status == 422
    assert [each["message"] for each in found["details"]["causes"]] == [
        "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        'Unsupported value: "Exact": supported values: "NotOlderThan"',
    ]


def test_a_deletion_of_a_page_names_the_next_one(filled: Server) -> None:
    status, found = filled.reply("DELETE", f"{CONFIG_MAPS}?limit=1")
    assert (status, found["metadata"]["remainingItemCount"]) == (200, 2)
    assert [each["metadata"]["name"] for each in found["items"]] == ["a"]
    following = f"{CONFIG_MAPS}?limit=1&continue={found['metadata']['continue']}"
    assert [each["metadata"]["name"] for each in filled.reply("DELETE", following)[1]["items"]] == [
        "b"
    ]


def test_a_page_of_a_discarded_version_is_gone(filled: Server) -> None:
    """Upstream: staging/src/k8s.io/apiserver/pkg/storage/etcd3/errors.go"""
    _, first = filled.reply("GET", f"{CONFIG_MAPS}?limit=1")
    filled.reply("POST", CONFIG_MAPS, config_map("aa"))
    filled.store.compact(filled.store.resource_version)
    following = f"{CONFIG_MAPS}?limit=1&continue={first['metadata']['continue']}"
    status, found = filled.reply("GET", following)
    assert (status, found["reason"]) == (410, "Expired")
    assert found["message"].startswith("The provided continue parameter is too old")
    # The token of the answer continues in the version of now.
    rest = f"{CONFIG_MAPS}?continue={found['metadata']['continue']}"
    names = [each["metadata"]["name"] for each in filled.reply("GET", rest)[1]["items"]]
    assert names == ["aa", "b", "c"]
    exact = f"{CONFIG_MAPS}?resourceVersion=2&resourceVersionMatch=Exact"
    status, found = filled.reply("GET", exact)
    assert (status, found["reason"]) == (410, "Expired")


def test_the_metadata_of_a_daemon_set_has_no_template_generation(server: Server) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("p")["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {"metadata": {"name": "d", "annotations": {"x": "y"}}, "spec": spec}
    name = "deprecated.daemonset.template.generation"
    _, made = server.reply("POST", DAEMON_SETS, body)
    assert made["metadata"]["annotations"] == {name: "1", "x": "y"}
    _, found = server.reply("GET", f"{DAEMON_SETS}/d", headers=PARTIAL)
    assert found["metadata"]["annotations"] == {"x": "y"}
    server.patch(f"{DAEMON_SETS}/d", {"metadata": {"annotations": {"x": None}}})
    _, found = server.reply("GET", f"{DAEMON_SETS}/d", headers=PARTIAL)
    assert "annotations" not in found["metadata"]


def test_the_answer_to_a_head_request_has_no_body_even_if_it_is_an_error(server: Server) -> None:
    for path in (f"{CONFIG_MAPS}/nosuch", "/apis/apiextensions.k8s.io/v1/nosuch"):
        found = server.send("HEAD", path)
        assert isinstance(found, HttpReply)
        assert (found.status >= 400, found.body) == (True, b"")
