"""Limits of requests: each has a Status that says what it is, and nothing is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.cluster.api.endpoints.tests.conftest import config_map, pod

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SETS = "/apis/apps/v1/namespaces/default/daemonsets"
START = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":'
LARGE = START + b'{"a":"' + b"x" * (3 * 1024 * 1024) + b'"}}'
DEEP = START + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}"
DEEP_LIST = START + b"[" * 100_000 + b"]" * 100_000 + b"}"
ALIASES = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (letter, letter, b",".join([b"*%c" % (letter - 1)] * 9))
    for letter in range(ord("b"), ord("k"))
)
INDENTED = b"a:\n" + b"".join(b" " * depth + b"a:\n" for depth in range(1, 2_000))
JSON, YAML = "application/json", "application/yaml"
MERGE, STRATEGIC, APPLY, PATCH = (
    f"application/{kind}"
    for kind in (
        "merge-patch+json",
        "strategic-merge-patch+json",
        "apply-patch+yaml",
        "json-patch+json",
    )
)
SCALE = "/apis/apps/v1/namespaces/default/deployments/a/scale"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def definition(pattern: str) -> dict[str, Any]:
    properties = {"a": {"type": "string", "pattern": pattern}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "foos", "kind": "Foo"}
    spec = {"group": "x.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.x.io"},
        "spec": spec,
    }


def annotated(size: int) -> dict[str, Any]:
    document = config_map("q")
    document["metadata"]["annotations"] = {"a": "x" * size}
    return document


CASES = [
    *(
        pytest.param(method, path, LARGE, kind, 413, "limit is 3145728", id=f"large {name}")
        for name, method, path, kind in [
            ("create", "POST", MAPS, JSON),
            ("YAML", "POST", MAPS, YAML),
            ("protobuf", "POST", MAPS, "application/vnd.kubernetes.protobuf"),
            ("update", "PUT", f"{MAPS}/a", JSON),
            ("merge patch", "PATCH", f"{MAPS}/a", MERGE),
            ("strategic merge patch", "PATCH", f"{MAPS}/a", STRATEGIC),
            ("JSON patch", "PATCH", f"{MAPS}/a", PATCH),
            ("apply", "PATCH", f"{MAPS}/a?fieldManager=m", APPLY),
            ("delete", "DELETE", f"{MAPS}/a", JSON),
            ("deletion of a collection", "DELETE", MAPS, JSON),
            ("binding", "POST", f"{PODS}/a/binding", JSON),
            ("eviction", "POST", f"{PODS}/a/eviction", JSON),
            ("scale", "PUT", SCALE, JSON),
            ("review", "POST", REVIEWS, JSON),
        ]
    ),
    *(
        pytest.param(method, path, body, kind, 400, "exceeded max depth", id=f"deep {name}")
        for name, method, path, kind, body in [
            ("JSON", "POST", MAPS, JSON, DEEP),
            ("lists", "POST", MAPS, JSON, DEEP_LIST),
            ("YAML", "POST", MAPS, YAML, INDENTED),
            ("YAML in JSON's form", "POST", MAPS, YAML, DEEP_LIST),
            ("merge patch", "PATCH", f"{MAPS}/a", MERGE, DEEP),
            ("strategic merge patch", "PATCH", f"{MAPS}/a", STRATEGIC, DEEP),
            ("JSON patch", "PATCH", f"{MAPS}/a", PATCH, DEEP_LIST),
            ("apply", "PATCH", f"{MAPS}/a?fieldManager=m", APPLY, DEEP_LIST),
        ]
    ),
    pytest.param("POST", MAPS, ALIASES, YAML, 400, "excessive aliasing", id="aliases"),
    pytest.param("PATCH", f"{MAPS}/a?fieldManager=m", ALIASES, APPLY, 400, "excessive aliasing",
                 id="aliases of an apply"),
    pytest.param("PATCH", f"{MAPS}/a", [{"op": "test", "path": "/kind", "value": "ConfigMap"}]
                 * 10_001, PATCH, 413, "maximum operations in a JSON patch is 10000, got 10001",
                 id="operations of a JSON patch"),
    pytest.param("GET", f"{MAPS}?labelSelector={'a,' * 200_000}a", None, "", 400,
                 "selector is too long", id="a label selector"),
    pytest.param("GET", f"{MAPS}?fieldSelector={'metadata.name=a,' * 20_000}", None, "", 400,
                 "selector is too long", id="a field selector"),
    pytest.param("GET", f"{MAPS}?watch=1&labelSelector={'a,' * 200_000}a", None, "", 400,
                 "selector is too long", id="the selector of a watch"),
    pytest.param("GET", f"{MAPS}?labelSelector=a%3D{'x' * 64}", None, "", 400,
                 "must be no more than 63", id="the value in a selector"),
    pytest.param("GET", f"{MAPS}?limit={'9' * 30}", None, "", 400, "value out of range",
                 id="a limit"),
    pytest.param("GET", f"{MAPS}?resourceVersion={'9' * 5_000}", None, "", 400,
                 "value out of range", id="the version of a list"),
    pytest.param("GET", f"{MAPS}/a?resourceVersion={'9' * 5_000}", None, "", 500,
                 "value out of range", id="the version of a get"),
    pytest.param("GET", f"{MAPS}?watch=1&resourceVersion={'9' * 5_000}", None, "", 500,
                 "value out of range", id="the version of a watch"),
    pytest.param("GET", f"{MAPS}?limit=1&continue={'e' * 100_000}", None, "", 400,
                 "continue key is not valid", id="a continue token"),
    pytest.param("GET", f"{MAPS}?timeoutSeconds={'9' * 30}", None, "", 400, "value out of range",
                 id="a timeout"),
    pytest.param("DELETE", f"{MAPS}/a?gracePeriodSeconds={'9' * 30}", None, "", 400,
                 "value out of range", id="a grace period"),
    pytest.param("GET", f"{MAPS}/{'x' * 100_000}", None, "", 404, "not found",
                 id="a name in the path"),
    pytest.param("POST", MAPS, config_map("x" * 254), JSON, 422,
                 "must be no more than 253 characters", id="a name"),
    pytest.param("POST", f"{MAPS}?fieldManager={'m' * 129}", config_map("b"), JSON, 422,
                 "may not be more than 128 bytes", id="a field manager"),
    pytest.param("POST", MAPS, annotated(256 * 1024 + 1), JSON, 422,
                 "may not be more than 262144 bytes", id="annotations"),
    pytest.param("POST", MAPS, config_map("b", a="x" * (1024 * 1024 + 1)), JSON, 422,
                 "may not be more than 1048576 bytes", id="the data of a ConfigMap"),
    pytest.param("POST", PODS, pod("b") | {"spec": {"priority": 10**400}}, JSON, 400, "",
                 id="the digits of a number"),
    pytest.param("POST", DEFINITIONS, definition("(((a{1000}){1000}){1000})"), JSON, 422,
                 "pattern", id="a regular expression"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "kind", "code", "text"), CASES)
def test_a_request_beyond_a_limit_gets_a_status(server, method, path, body, kind, code, text):
    server.reply("POST", MAPS, config_map("a"))
    version = server.store.resource_version
    status, found = server.reply(method, path, body, headers={"content-type": kind})
    assert status == code, found
    assert found["kind"] == "Status"
    assert text in found["message"]
    assert server.store.resource_version == version


def test_a_limit_beyond_all_objects_is_none(server):
    status, found = server.reply("GET", f"/api/v1/namespaces?limit={2**63 - 1}")
    assert (status, "continue" in found["metadata"]) == (200, False)
    assert len(found["items"]) == 4


def test_a_regular_expression_takes_linear_time(server):
    server.reply("POST", DEFINITIONS, definition("^(a+)+$"))
    body = {"apiVersion": "x.io/v1", "kind": "Foo", "metadata": {"name": "f"}}
    path = "/apis/x.io/v1/namespaces/default/foos"
    status, found = server.reply("POST", path, body | {"a": "a" * 50_000 + "b"})
    assert status == 422
    assert "should match" in found["message"]


def test_digits_of_a_template_generation_are_bounded(server):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    document = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}}
    server.reply("POST", SETS, json.loads(json.dumps(document | {"spec": spec})))
    key = "deprecated.daemonset.template.generation"
    for digits in ("9" * 5_000, "²"):
        status, _ = server.patch(f"{SETS}/d", {"metadata": {"annotations": {key: digits}}})
        assert status == 422
