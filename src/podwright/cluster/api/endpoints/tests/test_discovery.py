"""Discovery: the order of groups, changes of the resources, ETags, representations."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints import HttpReply
from podwright.cluster.api.endpoints.discovery import Discovery, groups_of, version_order
from podwright.cluster.api.endpoints.discovery.documents import storage_version_hash
from podwright.cluster.api.endpoints.request import HttpRequest
from podwright.cluster.api.versions.resources import Resource, Resources, built_in_resource

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def custom(group: str, version: str, kind: str, **facts: Any) -> Resource:
    """Return a custom resource, with the facts of a built-in kind."""
    known = built_in().find("v1", "ConfigMap")
    assert known is not None
    row = msgspec.structs.replace(
        known.row, group=group, version=version, kind=kind, resource=f"{kind.lower()}s",
        singular=kind.lower(), short_names=(), **facts,
    )  # fmt: skip

    class Custom:
        def __init__(self) -> None:
            self.row = row

    made: Any = Custom()
    return Resource(kind=made, storage=(group, kind), storage_kind=made, is_custom=True)


def get(resources: Resources, path: str, accept: str = "", **headers: str) -> HttpReply:
    found = Discovery(resources)(HttpRequest("GET", path, headers={"accept": accept, **headers}))
    assert found is not None
    return found


def test_groups_without_resources_are_not_listed():
    resources = Resources(["v1", "apps/v1"])
    found = json.loads(get(resources, "/apis").body)
    assert [each["name"] for each in found["groups"]] == ["apps"]


def test_custom_groups_come_last():
    resources = Resources(["v1", "apps/v1", "batch/v1"])
    resources.add(custom("b.example.com", "v1", "Boat"))
    resources.add(custom("a.example.com", "v2beta1", "Car"))
    assert list(groups_of(resources)) == ["", "apps", "batch", "b.example.com", "a.example.com"]
    aggregated = groups_of(resources, is_aggregated=True)
    assert list(aggregated)[3:] == ["a.example.com", "b.example.com"]


def test_versions_of_custom_groups_are_in_order():
    names = ["v1", "v2alpha1", "other", "v10", "v2", "v3beta1", "another"]
    expected = ["v10", "v2", "v1", "v3beta1", "v2alpha1", "another", "other"]
    assert sorted(names, key=version_order) == expected


def test_discovery_follows_the_resources():
    resources = Resources(["v1"])
    discovery = Discovery(resources)
    request = HttpRequest("GET", "/apis", headers={"accept": AGGREGATED})

    def names() -> tuple[list[str], str | None]:
        found = discovery(request)
        assert found is not None
        items = json.loads(found.body)["items"]
        return [each["metadata"]["name"] for each in items], found.header("etag")

    before = names()
    resources.add(custom("sea.example.com", "v1", "Boat"))
    added = names()
    resources.remove("sea.example.com", "v1", "boats")
    assert before[0] == names()[0] == []
    assert added[0] == ["sea.example.com"]
    assert before[1] == names()[1] != added[1]


def test_the_index_names_the_paths_of_groups(server):
    _, found = server.reply("GET", "/")
    assert {"/api/v1", "/apis/apps", "/apis/apps/v1", "/healthz"} <= set(found["paths"])
    assert found["paths"] == sorted(found["paths"])


def test_an_etag_answers_with_nothing_but_itself():
    resources = Resources()
    first = get(resources, "/apis", AGGREGATED)
    etag = first.header("etag") or ""
    again = get(resources, "/apis", AGGREGATED, **{"if-none-match": etag})
    assert (again.status, again.body, again.header("etag")) == (304, b"", etag)
    other = get(resources, "/apis", AGGREGATED, **{"if-none-match": etag.strip('"')})
    assert other.status == 200


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        pytest.param(AGGREGATED, AGGREGATED, id="aggregated"),
        pytest.param(f"{AGGREGATED.replace('=v2', '=v2beta1')},{AGGREGATED}", AGGREGATED,
                     id="the beta version is removed"),
        pytest.param(f"application/json,{AGGREGATED}", "application/json", id="plain first"),
        pytest.param(f"{AGGREGATED};q=0.5,application/json", "application/json", id="plain better"),
        pytest.param("application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                     "application/json", id="there are no Tables"),
        pytest.param("", "application/json", id="anything"),
        pytest.param("application/yaml", "application/yaml", id="YAML"),
    ],
)  # fmt: skip
def test_representations(accept, content_type):
    assert get(Resources(), "/apis", accept).header("content-type") == content_type


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/apis", 200),
        ("POST", "/api", 405),
        ("POST", "/apis/apps", 200),
        ("POST", "/apis/apiregistration.k8s.io", 405),
        ("DELETE", "/apis/apps/v1", 405),
        ("GET", "/apis/apps/v9", 404),
        ("GET", "/apis//v1", 404),
        ("GET", "/apis/nosuch", 404),
        ("GET", "/apis//x", 404),
        ("HEAD", "/apis", 200),
        ("HEAD", "/", 200),
    ],
)
def test_methods(server, method, path, status):
    reply = server.send(method, path)
    assert reply.status == status
    assert method != "HEAD" or reply.body == b""


def test_custom_resources_are_listed_with_their_subresources():
    resources = Resources()
    parts = {"status": "", "scale": "autoscaling/v1/Scale"}
    resources.add(custom("sea.example.com", "v1", "Boat", subresources=parts))
    listed = json.loads(get(resources, "/apis/sea.example.com/v1").body)["resources"]
    assert [each["name"] for each in listed] == ["boats", "boats/status", "boats/scale"]
    assert listed[0]["verbs"] == ["delete", "deletecollection", "get", "list", "patch", "create",
                                  "update", "watch"]  # fmt: skip
    (group,) = [
        each
        for each in json.loads(get(resources, "/apis", AGGREGATED).body)["items"]
        if each["metadata"]["name"] == "sea.example.com"
    ]
    (entry,) = group["versions"][0]["resources"]
    own = {"group": "sea.example.com", "version": "v1", "kind": "Boat"}
    assert entry["responseKind"] == own
    scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert [each["responseKind"] for each in entry["subresources"]] == [own, scale]


def test_the_hash_of_the_stored_version():
    pods = built_in().find("v1", "Pod")
    scalers = built_in().find("autoscaling/v1", "HorizontalPodAutoscaler")
    assert pods is not None
    assert scalers is not None
    assert storage_version_hash(built_in_resource(pods)) == "xPOwRZ+Yhw8="
    definition = built_in().find("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert definition is not None
    assert storage_version_hash(built_in_resource(definition)) == "jfWCUB31mvA="
    newer = built_in().find("autoscaling/v2", "HorizontalPodAutoscaler")
    assert newer is not None
    assert storage_version_hash(built_in_resource(scalers)) == storage_version_hash(
        built_in_resource(newer)
    )
