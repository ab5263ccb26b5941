"""Options and representations as they are read: whole values of many queries and headers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.endpoints.options import (
    WriteOptions,
    check_timeout,
    delete_options,
    integer,
    list_options,
    manager_problems,
    parsed_version,
    write_options,
)
from podwright.cluster.api.endpoints.paths import RequestInfo
from podwright.cluster.api.endpoints.read import is_whole_list
from podwright.cluster.api.endpoints.replies.negotiation import (
    MEDIA_TYPES,
    MediaType,
    accepts,
    aggregated_discovery_type,
    body_media_type,
    check_stream,
    negotiate,
)
from podwright.cluster.api.endpoints.request import HttpRequest, manager_of
from podwright.cluster.api.rejections import Rejection


def request(query: str = "") -> HttpRequest:
    return HttpRequest("GET", "/x", query, headers={})


def message(call: Any, *args: Any, **options: Any) -> str | None:
    try:
        call(*args, **options)
    except Rejection as error:
        return str(error.status["message"])
    return None


DEFAULTS: dict[str, Any] = {
    "limit": 0, "continue_token": "", "resource_version": "", "version_match": "",
    "sends_initial_events": None, "allows_bookmarks": False, "timeout_seconds": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("query", "is_watch", "changes"),
    [
        ("", False, {}),
        ("limit=5&continue=a", False, {"limit": 5, "continue_token": "a"}),
        ("limit=-5", False, {"limit": 0}),
        ("limit=%2B7", False, {"limit": 7}),
        ("timeoutSeconds=0", False, {"timeout_seconds": 0}),
        ("timeoutSeconds=-1", True, {"timeout_seconds": -1}),
        (
            "resourceVersion=5&resourceVersionMatch=Exact",
            False,
            {"resource_version": "5", "version_match": "Exact"},
        ),
        (
            "resourceVersion=0&resourceVersionMatch=NotOlderThan",
            False,
            {"resource_version": "0", "version_match": "NotOlderThan"},
        ),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            True,
            {"sends_initial_events": True, "version_match": "NotOlderThan"},
        ),
        (
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
            True,
            {"sends_initial_events": False, "version_match": "NotOlderThan"},
        ),
        (
            "sendInitialEvents=0&resourceVersionMatch=NotOlderThan",
            True,
            {"sends_initial_events": False, "version_match": "NotOlderThan"},
        ),
        (
            "sendInitialEvents&resourceVersionMatch=NotOlderThan",
            True,
            {"sends_initial_events": True, "version_match": "NotOlderThan"},
        ),
        ("allowWatchBookmarks=true", True, {"allows_bookmarks": True}),
        ("allowWatchBookmarks=false", True, {"allows_bookmarks": False}),
    ],
)
def test_the_options_of_lists_and_watches(
    query: str, changes: dict[str, Any], *, is_watch: bool
) -> None:
    found = msgspec.structs.asdict(list_options(request(query), is_watch=is_watch))
    assert not found.pop("labels").requirements
    assert found.pop("fields").requirements == ()
    assert found == DEFAULTS | changes


def test_selectors_and_numbers_of_a_query() -> None:
    found = list_options(request("labelSelector=a%3D1,b&fieldSelector=c%3D2"), is_watch=False)
    assert str(found.labels) == "a=1,b"
    assert [(each.field, each.value) for each in found.fields.requirements] == [("c", "2")]
    for text, kind in (
        ("x", "invalid syntax"), ("", "invalid syntax"), ("1.5", "invalid syntax"),
        ("9223372036854775808", "value out of range"), ("+-", "invalid syntax"),
        ("-9223372036854775809", "value out of range"), ("++5", "invalid syntax"),
        ("٣", "invalid syntax"),
    ):  # fmt: skip
        found_text = message(integer, request(f"limit={text.replace('+', '%2B')}"), "limit")
        assert found_text == f'strconv.ParseInt: parsing "{text}": {kind}'
    assert integer(request("limit=9223372036854775807"), "limit") == 2**63 - 1
    assert integer(request(), "limit") is None
    for text, number in (("", 0), ("0", 0), ("007", 7), ("18446744073709551615", 2**64 - 1)):
        assert parsed_version(text) == number
    for text, kind in (
        ("18446744073709551616", "value out of range"), ("9" * 101, "value out of range"),
        ("x", "invalid syntax"), ("-1", "invalid syntax"), ("٣", "invalid syntax"),
    ):  # fmt: skip
        assert message(parsed_version, text) == (
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {kind}'
        )


@pytest.mark.parametrize(
    ("query", "is_whole"),
    [
        ("", True),
        ("limit=0", True),
        ("limit=5", False),
        ("limit=5&resourceVersion=0", True),
        ("limit=5&resourceVersion=7", False),
        ("resourceVersion=7", True),
        ("resourceVersion=0&resourceVersionMatch=NotOlderThan", True),
        ("resourceVersion=7&resourceVersionMatch=NotOlderThan", True),
        ("resourceVersion=7&resourceVersionMatch=Exact", False),
        ("continue=abc", False),
    ],
)
def test_a_list_without_pages_shows_the_current_state(query, is_whole):
    assert is_whole_list(list_options(request(query), is_watch=False)) is is_whole


@pytest.mark.parametrize(
    ("query", "options", "shown"),
    [
        ("", WriteOptions(), {}),
        ("dryRun=All", WriteOptions(is_dry_run=True), {"dryRun": ["All"]}),
        ("dryRun=All&dryRun=All", WriteOptions(is_dry_run=True), {"dryRun": ["All", "All"]}),
        ("fieldManager=m&fieldManager=n", WriteOptions(field_manager="m"), {"fieldManager": "m"}),
        (
            "fieldValidation=Strict", WriteOptions(field_validation="Strict"),
            {"fieldValidation": "Strict"},
        ),
        (
            "fieldValidation=Ignore", WriteOptions(field_validation="Ignore"),
            {"fieldValidation": "Ignore"},
        ),
        (
            "fieldValidation=Strict&fieldValidation=Ignore",
            WriteOptions(field_validation="Strict"), {"fieldValidation": "Strict"},
        ),
        ("fieldValidation=", WriteOptions(field_validation="Warn"), {}),
        (
            "force=true&fieldManager=m", WriteOptions(force=True, field_manager="m"),
            {"fieldManager": "m"},
        ),
        (
            "force=false&fieldManager=m", WriteOptions(force=False, field_manager="m"),
            {"fieldManager": "m"},
        ),
    ],
)  # fmt: skip
def test_the_options_of_writes(query: str, options: WriteOptions, shown: Any) -> None:
    expected = msgspec.structs.replace(options, document=shown)
    assert write_options(request(query), "CreateOptions") == expected
    applied = f"{query}&fieldManager=z" if "fieldManager" not in query else query
    found = write_options(request(applied), "PatchOptions", is_apply=True)
    manager = options.field_manager or "z"
    shown = shown | {"fieldManager": manager}
    assert found == msgspec.structs.replace(options, field_manager=manager, document=shown)


@pytest.mark.parametrize(
    ("agent", "manager"),
    [
        ("kubectl/v1.36.0 (linux/amd64)", "kubectl"), ("curl", "curl"), ("", "unknown"),
        ("/v1", "unknown"), ("\t/v1", "unknown"), ("a b\tc\x07/1", "a bc"),
        ("x" * 128, "x" * 128), ("x" * 129, "x" * 128), ("\t" + "x" * 128, "x" * 128),
        ("ö" * 65, "ö" * 64), ("x" + "ö" * 64, "x" + "ö" * 63),
    ],
)  # fmt: skip
def test_the_manager_of_a_request_without_one_is_the_start_of_its_agent(
    agent: str, manager: str
) -> None:
    """Upstream: apiserver/pkg/endpoints/handlers/create.go, prefixFromUserAgent"""
    made = HttpRequest("POST", "/", headers={"user-agent": agent})
    assert manager_of(made, "") == manager
    assert manager_of(made, "given") == "given"


def test_what_is_wrong_with_a_manager() -> None:
    assert manager_problems("x" * 128) == []
    assert manager_problems("ö" * 64) == []
    long = "ö" * 64 + "x"
    assert manager_problems(long) == [
        ("fieldManager", "Too long: may not be more than 128 bytes", long)
    ]
    assert [text for _, text, _ in manager_problems("ö\x07\n")] == [
        'Invalid value: "ö\\a\\n": invalid character U+0007 (at position 2)',
        'Invalid value: "ö\\a\\n": invalid character U+000A (at position 3)',
    ]


@pytest.mark.parametrize(
    ("body", "query", "options"),
    [
        (None, "", {}),
        ({}, "gracePeriodSeconds=5", {}),
        (None, "gracePeriodSeconds=0", {"grace_seconds": 0}),
        (None, "propagationPolicy=Orphan", {"propagation": "Orphan"}),
        (None, "orphanDependents=true", {"orphans": True}),
        (None, "orphanDependents=false", {"orphans": False}),
        (None, "dryRun=All", {"is_dry_run": True}),
        (None, "uid=u", {"uid": "u"}),
        (None, "resourceVersion=7", {"resource_version": "7"}),
        (
            {"gracePeriodSeconds": 5, "propagationPolicy": "Background", "dryRun": ["All"],
             "preconditions": {"uid": "u", "resourceVersion": "7"}}, "",
            {"grace_seconds": 5, "propagation": "Background", "is_dry_run": True, "uid": "u",
             "resource_version": "7"},
        ),
        ({"preconditions": None, "dryRun": None, "orphanDependents": None}, "", {}),
        ({"dryRun": []}, "", {"is_dry_run": False}),
    ],
)  # fmt: skip
def test_the_options_of_deletions(body: Any, query: str, options: dict[str, Any]) -> None:
    found = delete_options(body, request(query))
    assert msgspec.structs.replace(found, document={}) == DeleteOptions(**options)
    assert body is None or found.document == body


def test_which_timeouts_are_read() -> None:
    def info(verb: str, subresource: str = "") -> RequestInfo:
        return RequestInfo(is_resource=True, verb=verb, path="/x", subresource=subresource)

    wrong = 'invalid timeout specified in the request URL - time: invalid duration "x"'
    for query, verb, subresource, found in (
        ("", "get", "", None), ("timeout=5s", "get", "", None), ("timeout=x", "get", "", wrong),
        ("timeout=x", "list", "status", wrong), ("timeout=x", "watch", "", None),
        ("timeout=x", "get", "log", None), ("timeout=x", "create", "exec", None),
        ("timeout=x", "create", "attach", None), ("timeout=x", "create", "portforward", None),
        ("timeout=x", "get", "proxy", None), ("timeout=", "get", "", None),
    ):  # fmt: skip
        assert message(check_timeout, request(query), info(verb, subresource)) == found


# ------------------------------------------------------------------------ representations

META = "g=meta.k8s.io;v=v1"
PROTO, JSON, YAML = "application/vnd.kubernetes.protobuf", "application/json", "application/yaml"
ONLY = f"only the following media types are accepted: {', '.join(MEDIA_TYPES)}"
LISTS: Any = "PartialObjectMetadataList"


@pytest.mark.parametrize(
    ("accept", "options", "found"),
    [
        (f"{JSON};pretty=1", {}, MediaType(is_pretty=True)),
        (f"{JSON};pretty=0", {}, MediaType()),
        (f"{YAML};q=0.5, {JSON};q=0.4", {}, MediaType("yaml")),
        (f"{YAML};q=x, {JSON};q=0.4", {}, MediaType("yaml")),
        (f"{JSON}, {YAML};q=x", {}, MediaType()),
        (f"*/*, {YAML}", {}, MediaType("yaml")),
        (f"*/*;q=0.9, {YAML};q=0.8", {}, MediaType()),
        (f"application/*, {YAML}", {}, MediaType("yaml")),
        ("application/*", {"is_route": False}, MediaType()),
        ("*", {"is_route": False}, MediaType()),
        ("nothing", {"is_route": False}, ONLY),
        (f"{JSON};stream=watch", {}, MediaType()),
        (f"{JSON};stream=x, {YAML}", {}, MediaType("yaml")),
        (f"{PROTO}", {}, MediaType()),
        (f"{PROTO},{YAML}", {"has_protobuf": False}, MediaType("yaml")),
        (f"{PROTO};as={LISTS};{META}", {}, MediaType("protobuf", LISTS)),
        (f"{PROTO};as={LISTS};{META}", {"has_protobuf": False}, MediaType("protobuf", LISTS)),
        (
            f"{PROTO};as=PartialObjectMetadata;{META}",
            {},
            MediaType("json", "PartialObjectMetadata"),
        ),
        (f"{PROTO};as=Table;{META},{YAML}", {}, MediaType("yaml")),
        (f"{YAML};as=Table;{META}", {}, MediaType("yaml", "Table")),
        (f"{JSON};as=Table;{META},{YAML}", {"has_tables": False}, MediaType("yaml")),
        (f"{JSON};as=Table;{META},{YAML}", {"has_transformations": False}, MediaType("yaml")),
        (
            f"{JSON};as=PartialObjectMetadata;{META}",
            {"has_tables": False},
            MediaType("json", "PartialObjectMetadata"),
        ),
        (f"{JSON};as=Table;g=meta.k8s.io;v=v1beta1", {}, MediaType("json", "Table", "v1beta1")),
        (f"{JSON};as=Table;g=meta.k8s.io;v=v2", {}, ONLY),
        (f"{JSON};as=Table;g=other;v=v1", {}, ONLY),
        (f"{JSON};as=Table;v=v1", {}, ONLY),
        (f"{JSON};g=meta.k8s.io;v=v1", {}, ONLY),
        (f"{JSON};as=Other;{META}", {}, ONLY),
        ("*/*;as=Table;g=meta.k8s.io;v=v1", {}, MediaType("json", "Table")),
    ],
)
def test_the_representation_of_a_reply(accept: str, options: Any, found: Any) -> None:
    if isinstance(found, str):
        assert message(negotiate, accept, **options) == found
    else:
        assert negotiate(accept, **options) == found


AGGREGATED = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def test_other_readings_of_accept_headers() -> None:
    for accept, media_type, is_accepted in (
        ("", JSON, True), ("*/*", JSON, True), ("application/*", JSON, True), (JSON, JSON, True),
        (YAML, JSON, False), ("*/json", JSON, True), (f"{YAML},{JSON};q=0.1", JSON, True),
        ("text/*", JSON, False),
    ):  # fmt: skip
        assert accepts(accept, media_type) is is_accepted, accept
    for accept, found in (
        (f"{JSON};{AGGREGATED}", MediaType()),
        (f"{YAML};{AGGREGATED}", MediaType("yaml")),
        (f"{JSON};{AGGREGATED};pretty=1", MediaType(is_pretty=True)),
        (f"{JSON};{AGGREGATED.replace('v2', 'v2beta1')}", None),
        (f"{JSON},{JSON};{AGGREGATED};q=0.9", None),
        (f"text/html,{JSON};{AGGREGATED}", MediaType()),
        (f"{JSON};as=Table;{META},{JSON};{AGGREGATED}", MediaType()),
        ("", None),
        ("text/html", None),
    ):
        assert aggregated_discovery_type(accept) == found, accept
    streams = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
    for form, text in (
        ("json", None), ("protobuf", None),
        ("yaml", f"only the following media types are accepted: {streams}"),
    ):  # fmt: skip
        media: Any = MediaType(form)  # type: ignore[arg-type]
        assert message(check_stream, media) == text
        assert media.content_type == f"application/{'vnd.kubernetes.' * (form == 'protobuf')}{form}"
    for content_type, found_type in (
        ("", JSON), ("Application/JSON; charset=x", JSON), (f" {YAML} ;a", YAML), ("x", "x"),
    ):  # fmt: skip
        assert body_media_type(content_type) == found_type
