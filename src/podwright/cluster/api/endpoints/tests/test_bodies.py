"""Bodies: limits, formats, unknown and duplicate fields, wrong types."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from podwright.cluster.api.endpoints.decoding.bodies import BODY_MAX_BYTES
from podwright.cluster.api.endpoints.decoding.json_bodies import (
    NESTING_MAX,
    JsonError,
    nesting_depth,
    read_json,
)
from podwright.cluster.api.endpoints.tests.conftest import config_map

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


def test_large_bodies_are_rejected(server):
    body = b'{"data":{"k":"' + b"x" * BODY_MAX_BYTES + b'"}}'
    status, found = server.reply("POST", CONFIG_MAPS, body)
    assert (status, found["reason"]) == (413, "RequestEntityTooLarge")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"data":' + b"[" * 100_000, id="open lists"),
        pytest.param(b'{"a":' * (NESTING_MAX + 1) + b"1" + b"}" * (NESTING_MAX + 1), id="objects"),
        pytest.param(
            b"[[]," * NESTING_MAX + b"[]" + b"]" * NESTING_MAX, id="lists beside empty ones"
        ),
    ],
)
def test_deep_nesting_is_rejected(server, body):
    status, found = server.reply("POST", CONFIG_MAPS, body)
    assert (status, found["reason"]) == (400, "BadRequest")
    assert "exceeded max depth" in found["message"]


def test_lists_beside_each_other_are_no_nesting():
    assert nesting_depth(b"[[1], [[2], [3, [4]]], {}]") == 4


def test_brackets_inside_text_are_no_nesting(server):
    document = config_map("a", k="[" * (2 * NESTING_MAX))
    status, _ = server.reply("POST", CONFIG_MAPS, document)
    assert status == 201


def test_lines_of_yaml_that_differ_in_length_are_no_nesting(server):
    lines = [f"  k{number}: v{'x' * number}" for number in range(300)]
    body = "\n".join(["kind: ConfigMap", "metadata: {name: a}", "data:", *lines]).encode()
    headers = {"content-type": "application/yaml"}
    status, found = server.reply("POST", CONFIG_MAPS, body, headers=headers)
    assert (status, len(found.get("data", ()))) == (201, 300)


def test_yaml_aliases_are_limited(server):
    lines = ["i: &i [x, x, x, x, x, x, x, x, x, x]"]
    for inner, name in pairwise("ihgfedcba"):
        lines.append(f"{name}: &{name} [{', '.join([f'*{inner}'] * 10)}]")
    body = "\n".join(lines).encode()
    status, found = server.reply(
        "POST", CONFIG_MAPS, body, headers={"content-type": "application/yaml"}
    )
    assert status == 400
    assert "document contains excessive aliasing" in found["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "unexpected end of JSON input", id="nothing"),
        pytest.param(b'{"a":', "unexpected end of JSON input", id="cut off"),
        pytest.param(b"nonsense", "invalid character 'o' in literal null", id="a word"),
        pytest.param(b"{x}", "looking for beginning of object key string", id="no quotes"),
        pytest.param(b'{"a":1} 2', "after top-level value", id="more"),
        pytest.param(b"\xff", "invalid|malformed", id="no UTF-8"),
    ],
)
def test_texts_that_are_not_json(body, message):
    with pytest.raises(JsonError, match=message):
        read_json(body)


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        pytest.param(b'{"a":1,"b":{"a":2}}', [], id="none"),
        pytest.param(b'{"a":1,"a":2}', ["a"], id="at the top"),
        pytest.param(b'{"x":[{"b":1,"b":2}]}', ["x[0].b"], id="in a list"),
        pytest.param(b'{"a" :1,"a" :2}', ["a"], id="with spaces before the colon"),
        pytest.param(b'{"a":"\\":","b":1}', [], id="a colon inside text"),
        pytest.param(b'{"a" :1,"b":"\\":","a":2}', ["a"], id="both at once"),
    ],
)
def test_duplicate_fields_are_found(body, paths):
    assert read_json(body).duplicates == [f'duplicate field "{path}"' for path in paths]


def test_strict_errors_are_in_the_order_of_the_text(server):
    start = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},'
    for rest, errors in (
        (b'"one":1,"data":{},"data":{"a":"b"},"two":2}', ("one", "data", "two")),
        (
            b'"data":{},"data":{},"one":1,"immutable":true,"immutable":true}',
            ("data", "one", "immutable"),
        ),
    ):
        status, found = server.reply("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", start + rest)
        kinds = {"one": "unknown", "two": "unknown"}
        expected = ", ".join(f'{kinds.get(each, "duplicate")} field "{each}"' for each in errors)
        assert (status, found["message"].partition("strict decoding error: ")[2]) == (400, expected)


def test_a_body_without_a_kind_is_of_the_kind_of_its_path(server):
    body = b'{"metadata":{"name":"a"},"one":1}'
    status, found = server.reply("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", body)
    assert (status, found["message"]) == (
        400,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error:'
        ' unknown field "one"',
    )


YAML = b"""
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  one: "1"
  one: "2"
  two: "1"
  two: "2"
"""


def test_duplicate_keys_of_yaml_are_found_by_line(server):
    lines = ['line 8: key "one" already set in map', 'line 10: key "two" already set in map']
    yaml = {"content-type": "application/yaml"}
    found = server.send("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", YAML, headers=yaml)
    error = "yaml: unmarshal errors:\n" + "\n".join(f"  {line}" for line in lines)
    assert found.status == 400
    assert json.loads(found.body)["message"].endswith(f": strict decoding error: {error}")
    apply = {"content-type": "application/apply-patch+yaml"}
    path = f"{CONFIG_MAPS}/a?fieldManager=m&fieldValidation"
    found = server.send("PATCH", f"{path}=Strict", YAML, headers=apply)
    message = f"error strict decoding YAML: error converting YAML to JSON: {error}"
    assert (found.status, json.loads(found.body)["message"]) == (400, message)
    found = server.send("PATCH", f"{path}=Warn", YAML, headers=apply)
    assert found.status == 201
    escaped = [line.replace('"', '\\"') for line in lines]
    assert [value for name, value in found.headers if name == "warning"] == [
        f'299 - "{line}"' for line in escaped
    ]


def test_unknown_fields_are_errors_warnings_or_ignored(server):
    document = config_map("a") | {"bogus": 1, "other": 2}
    found = server.send("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", document)
    assert (found.status, b'unknown field \\"bogus\\", unknown field' in found.body) == (400, True)
    found = server.send("POST", CONFIG_MAPS, document)
    warnings = [value for name, value in found.headers if name == "warning"]
    assert warnings == [
        '299 - "unknown field \\"bogus\\""',
        '299 - "unknown field \\"other\\""',
    ]
    document["metadata"]["name"] = "b"
    found = server.send("POST", f"{CONFIG_MAPS}?fieldValidation=Ignore", document)
    assert (found.status, found.header("warning")) == (201, None)


def test_a_known_spec_does_not_hide_unknown_fields(server):
    def a_pod(name, **more):
        spec = {"containers": [{"name": "c", "image": "x", **more}]}
        return {"metadata": {"name": name}, "spec": spec}

    assert server.reply("POST", PODS, a_pod("a"))[0] == 201
    assert server.reply("POST", PODS, a_pod("b", bogus=1))[0] == 201
    for name in ("c", "d"):
        found = server.send("POST", PODS, a_pod(name, bogus=1))
        assert (found.status, found.header("warning") is not None) == (201, True)
        status, _ = server.reply("POST", f"{PODS}?fieldValidation=Strict", a_pod(name, bogus=1))
        assert status == 400


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"replicas": "x"}, "of type int32", id="text for a number"),
        pytest.param({"replicas": 1.5}, "number 1.5", id="a fraction"),
        pytest.param({"template": []}, "of type v1.PodTemplateSpec", id="a list for an object"),
        pytest.param({"selector": {"matchLabels": {"a": 1}}}, "json: cannot", id="label"),
    ],
)
def test_wrong_types_are_errors(server, spec, message):
    document = {"metadata": {"name": "d"}, "spec": spec}
    status, found = server.reply("POST", "/apis/apps/v1/namespaces/default/deployments", document)
    assert status == 400
    assert found["message"].startswith(
        'Deployment in version "v1" cannot be handled as a Deployment'
    )
    assert message in found["message"]
