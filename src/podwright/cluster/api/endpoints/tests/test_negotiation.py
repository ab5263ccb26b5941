"""Accept headers: the representation of a reply, or the reason why there is none."""

from __future__ import annotations

import json

import pytest

from podwright.cluster.api.endpoints.replies.negotiation import (
    MediaType,
    body_media_type,
    error_media,
    indented,
    negotiate,
)
from podwright.cluster.api.endpoints.request import HttpRequest
from podwright.cluster.api.endpoints.tests.conftest import config_map
from podwright.cluster.api.rejections import Rejection

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param("", MediaType(), id="no header"),
        pytest.param("*/*", MediaType(), id="anything"),
        pytest.param("application/yaml", MediaType("yaml"), id="YAML"),
        pytest.param("text/*,application/yaml", MediaType("yaml"), id="no text of any kind"),
        pytest.param(
            "application/vnd.kubernetes.protobuf, */*", MediaType(), id="protobuf becomes JSON"
        ),
        pytest.param(f"{TABLE},application/json", MediaType("json", "Table"), id="a table"),
        pytest.param(
            "application/json;as=Other;v=v1;g=meta.k8s.io,application/json",
            MediaType(),
            id="an unknown transformation is skipped",
        ),
        pytest.param(
            "application/json;q=0.1,application/yaml;q=0.9", MediaType("yaml"), id="quality decides"
        ),
        pytest.param("application/xml;q=0.9,*/*;q=0.1", MediaType(), id="the wildcard is last"),
        pytest.param(
            "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io",
            MediaType("json", "PartialObjectMetadata", "v1beta1"),
            id="an older version of a transformation",
        ),
        pytest.param(
            f"{TABLE.replace('json', 'vnd.kubernetes.protobuf')},application/yaml",
            MediaType("yaml"),
            id="no table in protobuf",
        ),
    ],
)
def test_accepted_representations(accept, expected):
    assert negotiate(accept) == expected


@pytest.mark.parametrize(
    ("query", "agent", "accept", "is_pretty"),
    [
        ("", "kubectl/v1.36.0", "", False),
        ("pretty=true", "kubectl/v1.36.0", "", True),
        ("limit=1&pretty=T", "", "", True),
        ("pretty=1&pretty=0", "", "", True),
        ("pretty=false", "curl/8.5.0", "", False),
        ("pretty=yes", "curl/8.5.0", "", False),
        ("pretty=false", "", "application/json;pretty=1", True),
        ("pretty=", "curl/8.5.0", "", True),
        ("labelSelector=pretty", "Wget/1.21", "", True),
        ("labelSelector=pretty", "kubectl/v1.36.0", "", False),
        ("Pretty=true", "kubectl/v1.36.0", "", False),
        ("", "Mozilla/5.0 (X11; Linux x86_64)", "", True),
        ("", "Mozilla/4.0", "", False),
        ("", "libcurl/8.5.0", "", False),
    ],
)
def test_who_gets_indented_json(query, agent, accept, is_pretty):
    request = HttpRequest("GET", "/api/v1/nodes", query, {"user-agent": agent, "accept": accept})
    assert indented(negotiate(accept), request).is_pretty is is_pretty
    assert error_media(request).is_pretty is is_pretty


@pytest.mark.parametrize(
    ("path", "is_always"),
    [
        ("/", True), ("/version", True), ("/api", False), ("/api/v1", False), ("/apis", False),
        ("/apis/apps", False), ("/apis/apps/v1", False), ("/api/v1/namespaces", False),
        ("/api/v1/namespaces/default", False), ("/api/v1/namespaces/none", False),
        ("/api/v1/nones", False),
    ],
)  # fmt: skip
def test_every_reply_is_indented_for_people(server, path, is_always):
    compact, pretty = (
        server.send("GET", path, headers={"user-agent": agent})
        for agent in ("kubectl/v1.36.0", "curl/8.5.0")
    )
    document = json.loads(compact.body)
    assert json.loads(pretty.body) == document
    assert pretty.body.decode() == json.dumps(document, indent=2, ensure_ascii=False)
    assert (compact.body == pretty.body) is is_always
    assert is_always or compact.body.endswith(b"}\n")


@pytest.mark.parametrize(
    ("accept", "start"),
    [
        pytest.param("text/html", "406: Not Acceptable", id="another type"),
        pytest.param("text/*", "406: Not Acceptable", id="any text"),
        pytest.param("application/*", "406: Not Acceptable", id="half a wildcard"),
        pytest.param(
            "application/json;as=Other;v=v1;g=meta.k8s.io",
            "only the following media types are accepted: application/json, application/yaml",
            id="an unknown transformation",
        ),
    ],
)
def test_other_representations_are_rejected(accept, start):
    with pytest.raises(Rejection) as found:
        negotiate(accept)
    assert found.value.code == 406
    assert str(found.value).startswith(start)


@pytest.mark.parametrize(("method", "has_streams"), [("GET", True), ("POST", False)])
def test_only_reads_of_a_collection_can_be_streams(server, method, has_streams):
    path = "/api/v1/namespaces/default/configmaps"
    _, status = server.reply(method, path, {}, headers={"accept": "text/html"})
    assert status["message"].endswith(";stream=watch") == has_streams


def test_media_types_of_bodies():
    assert body_media_type("") == "application/json"
    assert body_media_type("Application/YAML; charset=utf-8") == "application/yaml"


def test_tables_have_rows_with_metadata_objects_or_nothing(server):
    server.reply("POST", "/api/v1/namespaces/default/configmaps", config_map("a", k="v"))
    path = "/api/v1/namespaces/default/configmaps"
    for include, kind in (("", "PartialObjectMetadata"), ("Object", "ConfigMap"), ("None", None)):
        _, table = server.reply("GET", f"{path}?includeObject={include}", headers={"accept": TABLE})
        (row,) = table["rows"]
        assert row["cells"][:2] == ["a", 1]
        assert (row["object"] or {}).get("kind") == kind


def test_yaml_quotes_what_is_not_a_string_in_yaml(server):
    document = config_map("a", yes="true", n="1", day="2026-01-01", text="two\nlines", plain="x y")
    server.reply("POST", "/api/v1/namespaces/default/configmaps", document)
    path = "/api/v1/namespaces/default/configmaps/a"
    _, text = server.reply("GET", path, headers={"accept": "application/yaml"})
    assert 'day: "2026-01-01"' in text
    assert "plain: x y" in text
    status, again = server.reply(
        "PUT", path, text.encode(), headers={"content-type": "application/yaml"}
    )
    assert (status, again["data"]) == (200, document["data"])


def test_pretty_json_is_indented(server):
    found = server.send("GET", "/api/v1/nodes", headers={"accept": "application/json;pretty=1"})
    assert b'\n  "items"' in found.body
    assert json.loads(found.body)["items"] == []


def test_the_status_of_a_deletion_is_no_table(server):
    path = "/api/v1/namespaces/default/configmaps"
    server.reply("POST", path, {"metadata": {"name": "a"}})
    status, found = server.reply("DELETE", f"{path}/a", headers={"accept": TABLE})
    assert (status, found["kind"], found["status"]) == (200, "Status", "Success")
