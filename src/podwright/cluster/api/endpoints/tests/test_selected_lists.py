"""Lists by versions, tokens and fields: what is returned, and the words of each refusal."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.cluster.api.endpoints import ApiServer, Watch, bare_options
from podwright.cluster.api.endpoints.tests.conftest import Server, config_map, pod
from podwright.cluster.api.versions.resources import built_in_resources

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def filled(server: Server) -> Server:
    for name in "abc":
        assert server.reply("POST", MAPS, config_map(name))[0] == 201
    return server


def names(found: Any) -> list[str]:
    return [each["metadata"]["name"] for each in found["items"]]


def newest(server: Server) -> int:
    return int(server.reply("GET", MAPS)[1]["metadata"]["resourceVersion"])


@pytest.mark.parametrize(
    ("query", "behind", "found"),
    [
        pytest.param("", 0, "abc", id="now"),
        pytest.param("resourceVersion=0", 0, "abc", id="any version"),
        pytest.param("resourceVersion=0&limit=1", 0, "abc", id="any version has no limit"),
        pytest.param("resourceVersion={}", 1, "abc", id="not older than one"),
        pytest.param("resourceVersion={}&limit=9", 1, "ab", id="with a limit, exactly that one"),
        pytest.param(
            "resourceVersion={}&resourceVersionMatch=Exact", 1, "ab", id="exactly one before"
        ),
        pytest.param(
            "resourceVersion={}&resourceVersionMatch=Exact", 2, "a", id="exactly two before"
        ),
        pytest.param(
            "resourceVersion={}&resourceVersionMatch=NotOlderThan&limit=9", 1, "abc",
            id="not older than, with a limit",
        ),
        pytest.param("fieldSelector=metadata.name=b", 0, "b", id="one object"),
        pytest.param("fieldSelector=metadata.name!=b", 0, "ac", id="all others"),
        pytest.param("fieldSelector=metadata.name=b,metadata.namespace=x", 0, "", id="elsewhere"),
        pytest.param("labelSelector=a", 0, "", id="by a label"),
        pytest.param("labelSelector=!a", 0, "abc", id="without a label"),
    ],
)  # fmt: skip
def test_a_list_is_of_the_version_that_is_asked_for(filled, query, behind, found):
    version = newest(filled) - behind
    status, listed = filled.reply("GET", f"{MAPS}?{query.format(version)}")
    assert (status, "".join(names(listed))) == (200, found)


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("resourceVersion=99999", 504, "Too large resource version: 99999, current: "),
        ("resourceVersion=x", 400, 'Invalid value: "x"'),
        ("resourceVersion=-1", 400, 'Invalid value: "-1"'),
        ("continue=x", 400, "continue key is not valid"),
        ("fieldSelector=spec.x=1", 400, '"spec.x" is not a known field selector: only'),
        (
            "fieldSelector=metadata",
            400,
            "invalid selector: 'metadata'; can't understand 'metadata'",
        ),
        ("labelSelector=a in", 400, "unable to parse requirement"),
        ("limit=x", 400, "strconv.ParseInt: parsing"),
        ("resourceVersionMatch=Exact", 422, "resourceVersionMatch is forbidden"),
        ("resourceVersion=1&resourceVersionMatch=Other", 422, "supported values"),
    ],
)
def test_a_list_that_cannot_be_made_says_why(filled, query, status, text):
    found_status, found = filled.reply("GET", f"{MAPS}?{query.replace(' ', '%20')}")
    assert found_status == status, found
    assert text in found["message"]
    assert found["kind"] == "Status"


def test_a_list_in_pages_is_that_of_its_first_page(filled):
    status, first = filled.reply("GET", f"{MAPS}?limit=2")
    assert (status, names(first), first["metadata"]["remainingItemCount"]) == (200, ["a", "b"], 1)
    token = first["metadata"]["continue"]
    filled.reply("POST", MAPS, config_map("bb"))
    filled.reply("DELETE", f"{MAPS}/c")
    _, last = filled.reply("GET", f"{MAPS}?limit=2&continue={token}")
    assert names(last) == ["c"]
    assert "continue" not in last["metadata"]
    assert last["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    status, refused = filled.reply("GET", f"{MAPS}?continue={token}&resourceVersion=1")
    assert (status, refused["message"]) == (
        400, "specifying resource version is not allowed when using continue",
    )  # fmt: skip
    assert filled.reply("GET", f"{MAPS}?continue={token}&resourceVersion=0")[0] == 200
    assert names(filled.reply("GET", MAPS)[1]) == ["a", "b", "bb"]


@pytest.mark.parametrize(
    ("eviction", "status", "text"),
    [
        ({"apiVersion": "policy/v1", "kind": "Eviction"}, 201, ""),
        ({"apiVersion": "policy/v1beta1", "kind": "Eviction"}, 201, ""),
        ({}, 201, ""),
        ({"apiVersion": "policy/v2", "kind": "Eviction"}, 400, "no kind"),
        ({"apiVersion": "policy/v1", "kind": "Pod"}, 400, ""),
        ({"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": 5}, 400, "unmarshal"),
    ],
)
def test_the_versions_of_an_eviction(server, eviction, status, text):
    """Upstream serves the subresource for both versions of its body."""
    assert server.reply("POST", PODS, pod("p"))[0] == 201
    body = eviction | {"metadata": {"name": "p", "namespace": "default"}}
    found_status, found = server.reply("POST", f"{PODS}/p/eviction", body)
    assert found_status == status, found
    assert text in found.get("message", "")
    left = server.reply("GET", f"{PODS}/p")[0]
    assert left == (404 if status == 201 else 200)


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param(each, id=f"{each.kind.api_version} {each.plural}")
        for each in built_in_resources().values()
        if each.kind.row.selectable
    ],
)
def test_objects_are_selected_by_each_field_that_their_kind_offers(server, resource):
    version = resource.kind.api_version
    options = msgspec.structs.replace(bare_options(), group_versions=("v1", version))
    server.api = ApiServer(server.store, options)
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    for name in resource.kind.row.selectable:
        for value in ("x", "x&watch=true&timeoutSeconds=1"):
            found = server.send("GET", f"{root}/{resource.plural}?fieldSelector={name}%3D{value}")
            assert isinstance(found, Watch) or found.status == 200, found.body
