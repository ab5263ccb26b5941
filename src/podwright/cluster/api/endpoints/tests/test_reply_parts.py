"""Parts of replies with given content: bytes, headers, orders of fields, texts of errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import decode
from podwright.cluster.api import rejections
from podwright.cluster.api.endpoints.decoding.body_kinds import internal_package
from podwright.cluster.api.endpoints.replies.negotiation import MediaType
from podwright.cluster.api.endpoints.replies.responses import (
    encoded,
    error_reply,
    internal_type,
    list_document,
    partial,
    reply,
    warning_headers,
)
from podwright.cluster.api.endpoints.replies.tables import (
    column,
    has_own_columns,
    in_table_order,
    row_conditions,
    table,
)
from podwright.cluster.api.endpoints.request import HttpRequest
from podwright.cluster.api.endpoints.served.plain_paths import (
    CHECKS,
    READINESS_CHECKS,
    plain_path,
)
from podwright.cluster.api.endpoints.served.server_writes import put_objects, server_objects
from podwright.cluster.api.endpoints.shared_lines import (
    INITIAL_MAX_BYTES,
    InitialParts,
    SharedLines,
    encoded_line,
    event_line,
)
from podwright.cluster.api.endpoints.tests.test_discovery import custom
from podwright.cluster.api.rejections import PlainError, Rejection
from podwright.cluster.api.versions.resources import built_in_resources
from podwright.cluster.store import ObjectStore

JSON, YAML = MediaType(), MediaType(format="yaml")
NOW_NS = 1_767_225_600 * 1_000_000_000


# ------------------------------------------------------------------------------- encoding


def test_a_document_as_json_and_as_yaml() -> None:
    document = {"b": [1, {"c": None}], "a": "x", "e": {}}
    assert encoded(document, JSON) == b'{"b":[1,{"c":null}],"a":"x","e":{}}\n'
    pretty = MediaType(is_pretty=True)
    assert encoded({"b": [1]}, pretty) == b'{\n  "b": [\n    1\n  ]\n}'
    assert encoded(document, YAML) == b"a: x\nb:\n- 1\n- c: null\ne: {}\n"
    texts = {
        "a": "y", "b": "N", "c": "true", "d": "1", "e": "", "f": "null", "g": "x: y",
        "h": "a\nb\n", "i": "ö", "j": "2026-01-01", "k": "x" * 200, "l": "plain text",
    }  # fmt: skip
    assert encoded(texts, YAML).decode() == (
        'a: "y"\nb: "N"\nc: "true"\nd: "1"\ne: ""\nf: "null"\ng: \'x: y\'\nh: |\n  a\n  b\ni: ö\n'
        f'j: "2026-01-01"\nk: {"x" * 200}\nl: plain text\n'
    )
    shared = {"x": 1}
    assert encoded({"a": shared, "b": shared}, YAML) == b"a:\n  x: 1\nb:\n  x: 1\n"


def test_a_reply_and_its_headers() -> None:
    found = reply({"a": 1}, YAML, 201, ["w", "", "w", 'say "x" \\'])
    assert found.status == 201
    assert found.headers == (
        ("cache-control", "no-cache, private"),
        ("content-type", "application/yaml"),
        ("warning", '299 - "w"'),
        ("warning", '299 - "say \\"x\\" \\\\"'),
    )
    assert found.body == b"a: 1\n"


@pytest.mark.parametrize(
    ("lengths", "written"),
    [
        ([4096], [4096]),
        ([2048, 2048], [2048, 2048]),
        ([4097], [256]),
        ([2048, 2049], [256, 256]),
        ([300, 10, 4000], [256, 10, 256]),
        ([256] * 20, [256] * 16),
        ([1] + [256] * 20, [1] + [256] * 16),
    ],
)
def test_long_warnings_are_cut(lengths: list[int], written: list[int]) -> None:
    texts = [chr(65 + index) * length for index, length in enumerate(lengths)]
    headers = warning_headers(texts)
    assert [name for name, _ in headers] == ["warning"] * len(written)
    assert [len(value) - len('299 - ""') for _, value in headers] == written


def test_characters_of_warnings_that_cannot_be_printed() -> None:
    assert warning_headers(["a\nb\tc"]) == [("warning", '299 - "a b c"')]
    assert warning_headers([]) == []


def test_errors_as_replies() -> None:
    plain = error_reply(PlainError(404, "404 page not found\n"), YAML)
    assert (plain.status, plain.body) == (404, b"404 page not found\n")
    assert plain.headers == (
        ("cache-control", "no-cache, private"),
        ("content-type", "text/plain; charset=utf-8"),
        ("x-content-type-options", "nosniff"),
    )
    table = MediaType(transformation="Table", version="v1")
    found = error_reply(rejections.not_found("apps", "deployments", "d"), table, ["w"])
    assert found.status == 404
    assert dict(found.headers) == {
        "cache-control": "no-cache, private", "content-type": "application/json",
        "warning": '299 - "w"',
    }  # fmt: skip
    assert json.loads(found.body)["message"] == 'deployments.apps "d" not found'
    late = error_reply(rejections.too_many_requests("x", cause={}, retry_seconds=7), JSON)
    assert late.headers[-1] == ("retry-after", "7")
    assert ("retry-after", "0") not in error_reply(rejections.bad_request("x"), JSON).headers


def test_errors_about_methods_and_media_types() -> None:
    for error, code, reason, message, details in (
        (
            rejections.not_found("apps", "deployments", "d"), 404, "NotFound",
            'deployments.apps "d" not found',
            {"name": "d", "group": "apps", "kind": "deployments"},
        ),
        (
            rejections.method_not_allowed(), 405, "MethodNotAllowed",
            "the server does not allow this method on the requested resource", {},
        ),
    ):  # fmt: skip
        status = error.status
        assert (status["code"], status["reason"], status["message"]) == (code, reason, message)
        assert (status.get("details") or {}) == details


# ---------------------------------------------------------------------- metadata, lists


TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


@pytest.mark.parametrize(
    ("document", "metadata"),
    [
        ({"kind": "Pod", "metadata": {"name": "a"}, "spec": {}}, {"name": "a"}),
        ({"kind": "Pod", "metadata": None}, {}),
        (
            {"kind": "DaemonSet", "metadata": {"annotations": {TEMPLATE_GENERATION: "1"},
                                               "name": "a"}},
            {"name": "a"},
        ),
        (
            {"kind": "DaemonSet", "metadata": {"annotations": {TEMPLATE_GENERATION: "1", "b": "2"},
                                               "name": "a"}},
            {"annotations": {"b": "2"}, "name": "a"},
        ),
        (
            {"kind": "DaemonSet", "metadata": {"annotations": {"b": "2"}}},
            {"annotations": {"b": "2"}},
        ),
        ({"kind": "DaemonSet", "metadata": {"annotations": None}}, {"annotations": None}),
        (
            {"kind": "Pod", "metadata": {"annotations": {TEMPLATE_GENERATION: "1"}}},
            {"annotations": {TEMPLATE_GENERATION: "1"}},
        ),
    ],
)  # fmt: skip
def test_the_metadata_of_an_object(document: Document, metadata: Document) -> None:
    assert partial(document, "v1beta1") == {
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1beta1", "metadata": metadata,
    }  # fmt: skip


def test_lists_and_the_names_of_types() -> None:
    pods = built_in_resources()["v1", "Pod"]
    boats = custom("sea.example.com", "v1", "Boat")
    item = {"kind": "K", "apiVersion": "v", "metadata": {"name": "a"}, "spec": {}}
    assert list_document(pods, [item], {"resourceVersion": "3"}) == {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "3"},
        "items": [{"metadata": {"name": "a"}, "spec": {}}],
    }
    boats.kind.api_version = "sea.example.com/v1"  # type: ignore[misc]
    assert list_document(boats, [item], {"resourceVersion": "3"}) == {
        "kind": "BoatList",
        "apiVersion": "sea.example.com/v1",
        "metadata": {"continue": "", "resourceVersion": "3"},
        "items": [item],
    }
    events = built_in_resources()["events.k8s.io/v1", "Event"]
    deployments = built_in_resources()["apps/v1", "Deployment"]
    roles = built_in_resources()["rbac.authorization.k8s.io/v1", "Role"]
    assert [internal_type(each) for each in (pods, events, deployments, roles, boats)] == [
        "*core.Pod", "*core.Event", "*apps.Deployment", "*rbac.Role", "*unstructured.Unstructured",
    ]  # fmt: skip
    assert internal_type(pods, is_list=True) == "*core.PodList"
    assert internal_type(boats, is_list=True) == "*unstructured.UnstructuredList"
    assert [internal_package(each) for each in ("", "events.k8s.io", "apps", "batch.x.y")] == [
        "core", "core", "apps", "batch",
    ]  # fmt: skip


# ---------------------------------------------------------------------------------- tables


def test_kinds_without_columns_have_a_name_and_a_time() -> None:
    boats = custom("sea.example.com", "v1", "Boat", columns=())
    items: list[Document] = [
        {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}},
        {"metadata": None},
        {},
    ]
    found = table(boats, items, NOW_NS)
    assert found.columns == [
        {
            "name": "Name", "type": "string", "format": "name", "priority": 0,
            "description": "Name must be unique within a namespace.",
        },
        {
            "name": "Created At", "type": "date", "format": "", "priority": 0,
            "description": "The time at which the server created the object.",
        },
    ]  # fmt: skip
    assert found.rows == [["a", "2026-01-01T00:00:00Z"], [None, None], [None, None]]
    assert has_own_columns(boats)
    assert column("A") == {
        "name": "A", "type": "string", "format": "", "description": "", "priority": 0,
    }  # fmt: skip
    resources = built_in_resources()
    for kind, is_own in (
        (("v1", "Pod"), True), (("v1", "ConfigMap"), True), (("v1", "LimitRange"), False),
    ):  # fmt: skip
        assert has_own_columns(resources[kind]) is is_own


def test_the_columns_and_the_cells_of_a_kind() -> None:
    resource = built_in_resources()["v1", "ConfigMap"]
    items = [
        {"metadata": {"name": "a", "creationTimestamp": "2025-12-31T23:00:00Z"},
         "data": {"x": "1", "y": "2"}},
        {"metadata": {"name": "b"}},
    ]  # fmt: skip
    found = table(resource, items, NOW_NS)
    assert [(each["name"], each["type"], each["format"]) for each in found.columns] == [
        ("Name", "string", "name"), ("Data", "string", ""), ("Age", "string", ""),
    ]  # fmt: skip
    assert [each["priority"] for each in found.columns] == [0, 0, 0]
    assert all(each["description"] for each in found.columns)
    assert [row[:2] for row in found.rows] == [["a", 2], ["b", 0]]
    assert found.rows[0][2] == "60m"


def test_flow_schemas_are_in_the_order_of_their_precedence() -> None:
    schemas = built_in_resources()["flowcontrol.apiserver.k8s.io/v1", "FlowSchema"]
    pods = built_in_resources()["v1", "Pod"]
    items = [
        {"metadata": {"name": name}, "spec": spec}
        for name, spec in (
            ("b", {"matchingPrecedence": 5}), ("c", {"matchingPrecedence": 1}),
            ("a", {"matchingPrecedence": 5}), ("d", {}),
        )
    ]  # fmt: skip
    assert [each["metadata"]["name"] for each in in_table_order(schemas, items)] == [
        "d", "c", "a", "b",
    ]  # fmt: skip
    assert in_table_order(pods, items) is items
    assert in_table_order(custom("x.example.com", "v1", "FlowSchema"), items) is items


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"phase": "Succeeded"}, "The pod has completed successfully."),
        ({"phase": "Failed"}, "The pod failed."),
        ({"phase": "Running"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_completed_pods_have_a_condition_in_their_row(status: Any, message: str | None) -> None:
    resources = built_in_resources()
    found = row_conditions(resources["v1", "Pod"], {"status": status})
    assert found == (
        []
        if message is None
        else [
            {
                "type": "Completed", "status": "True", "reason": status["phase"],
                "message": message,
            }
        ]
    )  # fmt: skip
    assert row_conditions(resources["batch/v1", "Job"], {"status": status}) == []
    assert row_conditions(custom("x.example.com", "v1", "Pod"), {"status": status}) == []


# ---------------------------------------------------------------------------- kept lines


def test_initial_parts_grow_with_the_size_of_events() -> None:
    parts = InitialParts(part_bytes=1000)
    assert (parts.count, parts.find("a")) == (1, None)
    parts.keep("a", b"x" * 10, "b", 1)
    assert (parts.count, parts.find("a")) == (8, (b"x" * 10, "b"))
    parts.keep("b", b"x" * 80, "c", 8)
    assert parts.count == 64
    parts.keep("c", b"x" * 640, "d", 64)
    assert parts.count == 100
    parts.keep("d", b"", "e", 0)
    assert parts.count == 100
    parts.keep("e", b"", "f", 5)
    assert parts.count == 200
    parts.keep("f", b"x" * 5000, "g", 1)
    assert parts.count == 1


def test_lines_are_kept_up_to_their_limit() -> None:
    parts = InitialParts()
    text = b"x" * (INITIAL_MAX_BYTES // 4)
    for place in range(5):
        parts.keep(place, text, place + 1, 1)
    assert [parts.find(place) is not None for place in range(5)] == [
        False, False, True, True, True,
    ]  # fmt: skip
    lines = SharedLines()
    assert lines.find("s", 1, 5) is None
    lines.keep("s", 1, 5, b"abc", 4)
    assert lines.find("s", 1, 5) == (b"abc", 4)
    assert [lines.find(*each) for each in (("t", 1, 5), ("s", 2, 5), ("s", 1, 6))] == [None] * 3
    first = lines.initial("s", 3)
    assert lines.initial("s", 3) is first
    assert lines.initial("s", 4) is not first
    assert lines.initial("t", 3) is not first
    assert event_line("ADDED", b"{}") == b'{"type":"ADDED","object":{}}\n'
    assert encoded_line("ERROR", {"a": 1}) == b'{"type":"ERROR","object":{"a":1}}\n'


def test_what_was_kept_last_stays_however_long_it_is() -> None:
    text = b"x" * (INITIAL_MAX_BYTES + 1)
    parts, lines = InitialParts(), SharedLines()
    for place in range(2):
        parts.keep(place, text, place + 1, 1)
        lines.keep("s", place, place + 1, text, place + 1)
    assert [parts.find(place) is not None for place in range(2)] == [False, True]
    assert [lines.find("s", place, place + 1) is not None for place in range(2)] == [False, True]


# --------------------------------------------------------------------------- other paths


def get(path: str, query: str = "", method: str = "GET") -> Any:
    return plain_path(HttpRequest(method, path, query, headers={}))


def test_health_checks() -> None:
    for root, checks in (
        ("/healthz", CHECKS), ("/livez", CHECKS), ("/readyz", READINESS_CHECKS),
    ):  # fmt: skip
        assert (get(root).status, get(root).body) == (200, b"ok")
        assert dict(get(root).headers) == {
            "cache-control": "no-cache, private", "content-type": "text/plain; charset=utf-8",
            "x-content-type-options": "nosniff",
        }  # fmt: skip
        lines = get(root, "verbose").body.decode().splitlines()
        assert lines == [*(f"[+]{name} ok" for name in checks), f"{root[1:]} check passed"]
        excluded = get(root, "verbose&exclude=etcd&exclude=zz&exclude=aa").body.decode()
        assert excluded.splitlines() == [
            *(f"[+]{name} {'excluded: ok' if name == 'etcd' else 'ok'}" for name in checks),
            'warn: some health checks cannot be excluded: no matches for "aa", "zz"',
            f"{root[1:]} check passed",
        ]
        assert get(f"{root}/etcd").body == b"ok"
        assert get(f"{root}/nosuch") is None
    assert get("/readyz/shutdown").body == b"ok"
    assert get("/healthz/shutdown") is None


def test_the_version_of_the_server() -> None:
    for path in ("/version", "/version/"):
        found = get(path)
        assert (found.status, dict(found.headers)["content-type"]) == (200, "application/json")
        assert json.loads(found.body)["gitVersion"] == "v1.36.0"
        assert found.body.startswith(b'{\n  "major": "1"')
        with pytest.raises(Rejection):
            get(path, method="POST")
    assert get("/versions") is None


def test_the_objects_of_a_server_are_written_only_when_they_differ() -> None:
    store = ObjectStore()
    first = server_objects("10.0.0.1", 6443, components=["scheduler"])
    assert [(each["kind"], each["metadata"]["name"]) for each in first] == [
        ("Endpoints", "kubernetes"), ("EndpointSlice", "kubernetes"),
        ("ComponentStatus", "etcd-0"), ("ComponentStatus", "scheduler"),
    ]  # fmt: skip
    assert first[0]["subsets"] == [
        {
            "addresses": [{"ip": "10.0.0.1"}],
            "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}],
        }
    ]
    assert first[1]["addressType"] == "IPv4"
    assert server_objects("fd00::1", 1)[1]["addressType"] == "IPv6"
    store.put(decode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}))
    put_objects(store, first, NOW_NS)
    version = store.resource_version
    endpoints = store.require(("", "Endpoints"), "default/kubernetes")
    put_objects(store, first, NOW_NS + 10**9)
    assert store.resource_version == version
    put_objects(store, server_objects("10.0.0.2", 6443), NOW_NS + 10**9)
    assert store.resource_version == version + 2
    moved = store.require(("", "Endpoints"), "default/kubernetes")
    assert moved.raw["subsets"][0]["addresses"] == [{"ip": "10.0.0.2"}]
    assert moved.uid == endpoints.uid
    assert moved.metadata.creation_timestamp == endpoints.metadata.creation_timestamp
