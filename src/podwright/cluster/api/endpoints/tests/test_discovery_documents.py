"""The documents of discovery as a whole, and their order."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podwright.cluster.api.endpoints.discovery import Discovery, groups_of, version_order
from podwright.cluster.api.endpoints.discovery.documents import (
    aggregated,
    api_group,
    api_group_list,
    api_resource_list,
    api_versions,
    resources_of,
)
from podwright.cluster.api.endpoints.request import HttpRequest
from podwright.cluster.api.endpoints.tests.test_discovery import AGGREGATED, custom, get
from podwright.cluster.api.rejections import PlainError, Rejection
from podwright.cluster.api.versions.resources import Resources, built_in_resources

CHANGE = ["get", "patch", "update"]
SEA = "sea.example.com"


def test_the_versions_of_the_core_group() -> None:
    assert api_versions("10.0.0.1:6443") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": "10.0.0.1:6443"}
        ],
    }
    resources = Resources(["v1"])
    for headers, address in (({"host": "a.example.com"}, "a.example.com"), ({}, "localhost")):
        found = json.loads(get(resources, "/api", **headers).body)
        assert found == api_versions(address)


def test_groups_with_their_versions() -> None:
    apps = {
        "name": "apps",
        "versions": [
            {"groupVersion": "apps/v1", "version": "v1"},
            {"groupVersion": "apps/v1beta1", "version": "v1beta1"},
        ],
        "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
    }
    batch = {
        "name": "batch",
        "versions": [{"groupVersion": "batch/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "batch/v1", "version": "v1"},
    }
    assert api_group_list({"": ["v1"], "apps": ["v1", "v1beta1"], "batch": ["v1"]}) == {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [apps, batch],
    }
    assert api_group("apps", ["v1", "v1beta1"]) == {"kind": "APIGroup", "apiVersion": "v1"} | apps


VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def test_the_resources_of_a_version_and_their_parts() -> None:
    found = api_resource_list(Resources(["v1", "apps/v1"]), "apps", "v1")
    listed = found.pop("resources")
    assert found == {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "apps/v1"}
    assert [each["name"] for each in listed] == [
        "controllerrevisions", "daemonsets", "daemonsets/status", "deployments",
        "deployments/scale", "deployments/status", "replicasets", "replicasets/scale",
        "replicasets/status", "statefulsets", "statefulsets/scale", "statefulsets/status",
    ]  # fmt: skip
    assert listed[3:6] == [
        {
            "name": "deployments",
            "singularName": "deployment",
            "namespaced": True,
            "kind": "Deployment",
            "verbs": VERBS,
            "shortNames": ["deploy"],
            "categories": ["all"],
            "storageVersionHash": "8aSe+NMegvE=",
        },
        {
            "name": "deployments/scale",
            "singularName": "",
            "namespaced": True,
            "group": "autoscaling",
            "version": "v1",
            "kind": "Scale",
            "verbs": CHANGE,
        },
        {
            "name": "deployments/status",
            "singularName": "",
            "namespaced": True,
            "kind": "Deployment",
            "verbs": CHANGE,
        },
    ]


def test_the_resources_of_the_core_group_and_the_verbs_of_their_parts() -> None:
    found = api_resource_list(Resources(["v1"]), "", "v1")
    assert list(found) == ["kind", "groupVersion", "resources"]
    assert (found["kind"], found["groupVersion"]) == ("APIResourceList", "v1")
    parts = {each["name"]: each for each in found["resources"]}
    proxy = ["create", "delete", "get", "patch", "update"]
    assert {name: each["verbs"] for name, each in parts.items() if "/" in name} == {
        "namespaces/finalize": ["update"],
        "namespaces/status": CHANGE,
        "nodes/proxy": proxy,
        "nodes/status": CHANGE,
        "persistentvolumeclaims/status": CHANGE,
        "persistentvolumes/status": CHANGE,
        "pods/attach": ["create", "get"],
        "pods/binding": ["create"],
        "pods/ephemeralcontainers": CHANGE,
        "pods/eviction": ["create"],
        "pods/exec": ["create", "get"],
        "pods/log": ["get"],
        "pods/portforward": ["create", "get"],
        "pods/proxy": proxy,
        "pods/resize": CHANGE,
        "pods/status": CHANGE,
        "replicationcontrollers/scale": CHANGE,
        "replicationcontrollers/status": CHANGE,
        "resourcequotas/status": CHANGE,
        "serviceaccounts/token": ["create"],
        "services/proxy": proxy,
        "services/status": CHANGE,
    }
    # What can be created but not read has no stored version.
    assert [name for name, each in parts.items() if "storageVersionHash" not in each] == sorted(
        ["bindings", "componentstatuses", *(name for name in parts if "/" in name)]
    )
    assert parts["nodes"]["namespaced"] is False
    assert parts["pods/eviction"] == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
        "verbs": ["create"],
    }


def test_the_parts_of_a_certificate_request() -> None:
    found = api_resource_list(Resources(), "certificates.k8s.io", "v1")
    assert [(each["name"], each["verbs"]) for each in found["resources"]] == [
        ("certificatesigningrequests", VERBS),
        ("certificatesigningrequests/approval", CHANGE),
        ("certificatesigningrequests/status", CHANGE),
    ]


def test_a_terminating_definition_has_fewer_verbs() -> None:
    boats = custom(SEA, "v1", "Boat", categories=("all", "sea"))
    resources = Resources([])
    resources.add(boats)
    full = [
        "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
    ]  # fmt: skip
    entry: dict[str, Any] = {
        "name": "boats",
        "singularName": "boat",
        "namespaced": True,
        "kind": "Boat",
        "verbs": full,
        "categories": ["all", "sea"],
        "storageVersionHash": "x",
    }
    found = api_resource_list(resources, SEA, "v1")
    entry["storageVersionHash"] = found["resources"][0]["storageVersionHash"]
    assert len(entry["storageVersionHash"]) == 12
    assert found == {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{SEA}/v1",
        "resources": [entry],
    }
    resources.add(msgspec.structs.replace(boats, is_terminating=True))
    (entry,) = api_resource_list(resources, SEA, "v1")["resources"]
    assert entry["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]


def test_custom_resources_stay_in_the_order_of_their_names() -> None:
    """The parts of a custom resource follow it; those of built-in ones are sorted with all."""
    resources = Resources([])
    for kind in ("Boat", "Boatstatus", "Anchor"):
        resources.add(custom(SEA, "v1", kind, subresources={"status": ""}))
    resources.add(custom(SEA, "v2", "Boat"))
    resources.add(custom("other.example.com", "v1", "Boat"))
    assert [each["name"] for each in api_resource_list(resources, SEA, "v1")["resources"]] == [
        "anchors", "anchors/status", "boats", "boats/status", "boatstatuss", "boatstatuss/status",
    ]  # fmt: skip
    assert [each.plural for each in resources_of(resources, SEA, "v2")] == ["boats"]
    assert resources_of(resources, SEA, "v3") == []


def test_the_aggregated_documents() -> None:
    resources = Resources(["v1", "batch/v1"])
    for each in built_in_resources().values():
        if not each.group and each.name != "ConfigMap":
            resources.remove("", "v1", each.plural)
    resources.add(custom(SEA, "v1", "Boat", subresources={"status": ""}, categories=("sea",)))
    resources.remove("batch", "v1", "cronjobs")
    groups = groups_of(resources, is_aggregated=True)
    core = {"group": "", "version": "", "kind": "ConfigMap"}
    assert aggregated(resources, groups, is_core=True) == {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {},
                "versions": [
                    {
                        "version": "v1",
                        "resources": [
                            {
                                "resource": "configmaps",
                                "responseKind": core,
                                "scope": "Namespaced",
                                "singularResource": "configmap",
                                "verbs": VERBS,
                                "shortNames": ["cm"],
                            }
                        ],
                        "freshness": "Current",
                    }
                ],
            }
        ],
    }
    found = aggregated(resources, groups, is_core=False)
    assert [each["metadata"] for each in found["items"]] == [{"name": "batch"}, {"name": SEA}]
    job = {"group": "", "version": "", "kind": "Job"}
    assert found["items"][0]["versions"][0]["resources"] == [
        {
            "resource": "jobs",
            "responseKind": job,
            "scope": "Namespaced",
            "singularResource": "job",
            "verbs": VERBS,
            "categories": ["all"],
            "subresources": [{"subresource": "status", "responseKind": job, "verbs": CHANGE}],
        }
    ]
    boat = {"group": SEA, "version": "v1", "kind": "Boat"}
    assert found["items"][1]["versions"][0]["resources"][0]["subresources"] == [
        {"subresource": "status", "responseKind": boat, "verbs": CHANGE}
    ]
    scales = aggregated(Resources(["apps/v1"]), {"apps": ["v1"]}, is_core=False)
    (deployment,) = (
        each
        for each in scales["items"][0]["versions"][0]["resources"]
        if each["resource"] == "deployments"
    )
    assert deployment["subresources"][0]["responseKind"] == {
        "group": "autoscaling", "version": "v1", "kind": "Scale",
    }  # fmt: skip
    nodes = aggregated(Resources(["v1"]), {"": ["v1"]}, is_core=True)
    (pods,) = (
        each for each in nodes["items"][0]["versions"][0]["resources"] if each["resource"] == "pods"
    )
    kinds = {each["subresource"]: each["responseKind"] for each in pods["subresources"]}
    assert kinds["binding"] == {"group": "", "version": "", "kind": "Binding"}
    assert kinds["eviction"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert kinds["status"] == {"group": "", "version": "", "kind": "Pod"}
    scopes = {
        each["resource"]: each["scope"] for each in nodes["items"][0]["versions"][0]["resources"]
    }
    assert (scopes["nodes"], scopes["pods"]) == ("Cluster", "Namespaced")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("v2", "v1"),
        ("v10", "v9"),
        ("v1", "v2beta1"),
        ("v1", "v9alpha1"),
        ("v1beta1", "v2alpha1"),
        ("v1beta2", "v1beta1"),
        ("v2beta1", "v1beta9"),
        ("v1alpha2", "v1alpha1"),
        ("v1alpha1", "a"),
        ("a", "b"),
        ("a", "v1gamma1"),
        ("v", "v1.0"),
    ],
)
def test_the_order_of_two_versions(first: str, second: str) -> None:
    assert version_order(first) < version_order(second)
    assert not version_order(second) < version_order(first)
    assert not version_order(first) < version_order(first)


def test_versions_of_a_definition_come_after_those_of_the_set_up() -> None:
    resources = Resources(["apps/v1", "v1"])
    resources.add(custom("apps", "v2", "Boat"))
    resources.add(custom("apps", "v0", "Boat"))
    resources.add(custom(SEA, "v1beta1", "Boat"))
    resources.add(custom(SEA, "v2", "Boat"))
    resources.add(custom(SEA, "v1", "Boat"))
    resources.add(custom("a.example.com", "v3", "Boat"))
    groups = groups_of(resources)
    assert groups == {
        "apps": ["v1", "v0", "v2"],
        "": ["v1"],
        SEA: ["v2", "v1", "v1beta1"],
        "a.example.com": ["v3"],
    }
    # By the first API service: v1.sea.example.com is before v3.a.example.com.
    assert list(groups) == ["apps", "", SEA, "a.example.com"]
    assert list(groups_of(resources, is_aggregated=True)) == ["apps", "", "a.example.com", SEA]


@pytest.mark.parametrize(
    ("path", "is_found"),
    [
        ("/", True),
        ("/api", True),
        ("/api/", True),
        ("/api/v1", True),
        ("/api/v1/", True),
        ("/apis", True),
        ("/apis/", True),
        ("/apis/apps", True),
        ("/apis/apps/v1", True),
        ("/apis/apps/v1/", True),
        ("/apis/apps/v2", False),
        ("/apis/apps/v1/deployments", False),
        ("/api/v2", False),
        ("/apis/nosuch", False),
        ("/apis/nosuch/v1", False),
        ("/api//v1", False),
        ("/version", False),
    ],
)
def test_the_paths_of_discovery(path: str, *, is_found: bool) -> None:
    found = Discovery(Resources())(HttpRequest("GET", path, headers={}))
    assert (found is not None) is is_found


@pytest.mark.parametrize("path", [f"/apis/{SEA}/v2", "/apis//v1", "/apis//x/y"])
def test_paths_without_an_owner(path: str) -> None:
    resources = Resources()
    resources.add(custom(SEA, "v1", "Boat"))
    with pytest.raises(PlainError) as error:
        Discovery(resources)(HttpRequest("GET", path, headers={}))
    assert (error.value.code, error.value.text) == (404, "404 page not found\n")


def test_the_index_of_a_small_server() -> None:
    resources = Resources(["v1", "apps/v1"])
    resources.add(custom(SEA, "v1", "Boat"))
    found = json.loads(get(resources, "/").body)["paths"]
    assert [each for each in found if not each.startswith(("/healthz", "/livez", "/readyz"))] == [
        "/api", "/api/v1", "/apis", "/apis/", "/apis/apps", "/apis/apps/v1", f"/apis/{SEA}",
        f"/apis/{SEA}/v1", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version",
    ]  # fmt: skip


def test_methods_of_routes_and_of_handlers() -> None:
    resources = Resources()
    resources.add(custom(SEA, "v1", "Boat"))
    discovery = Discovery(resources)
    for path, is_allowed in (
        ("/api", False), ("/api/v1", False), ("/apis/apps/v1", False),
        ("/apis/apiregistration.k8s.io", False), ("/apis", True), ("/apis/apps", True),
        (f"/apis/{SEA}/v1", True), (f"/apis/{SEA}", True), ("/", True),
    ):  # fmt: skip
        request = HttpRequest("PUT", path, headers={})
        if is_allowed:
            assert discovery(request) is not None, path
        else:
            with pytest.raises(Rejection) as error:
                discovery(request)
            assert error.value.status["code"] == 405, path


def test_the_aggregated_reply_is_public_and_varies() -> None:
    resources = Resources(["v1"])
    reply = get(resources, "/api", AGGREGATED)
    assert dict(reply.headers) == {
        "cache-control": "public",
        "etag": reply.header("etag"),
        "vary": "Accept",
        "content-type": AGGREGATED,
    }
    assert reply.status == 200
    assert len(reply.header("etag") or "") == 130
    assert (reply.header("etag") or "").upper() == reply.header("etag")
    other = get(resources, "/apis", AGGREGATED)
    assert other.body != reply.body
    known = get(resources, "/api", AGGREGATED, **{"if-none-match": reply.header("etag") or ""})
    assert dict(known.headers) == {
        "cache-control": "public", "etag": reply.header("etag"), "vary": "Accept",
    }  # fmt: skip


def test_documents_are_kept_by_their_media_type() -> None:
    resources = Resources(["v1", "apps/v1"])
    discovery = Discovery(resources)
    texts: dict[str, Any] = {}
    for accept in ("application/json", "application/yaml", "application/json", "application/yaml"):
        for path in ("/apis", "/apis/apps", "/apis/apps/v1", "/api/v1"):
            found = discovery(HttpRequest("GET", path, headers={"accept": accept}))
            assert found is not None
            assert found.header("content-type") == accept
            assert texts.setdefault(f"{path} {accept}", found.body) == found.body
    assert len(set(texts.values())) == 8
    before = texts["/apis application/json"]
    resources.add(custom(SEA, "v1", "Boat"))
    found = discovery(HttpRequest("GET", "/apis", headers={"accept": "application/json"}))
    assert found is not None
    assert SEA in found.body.decode()
    assert found.body != before
