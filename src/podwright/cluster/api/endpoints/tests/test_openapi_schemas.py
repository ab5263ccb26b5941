"""The schemas of OpenAPI documents have the facts of upstream's, from which the table is made."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints.openapi import OpenApi
from podwright.cluster.api.endpoints.request import HttpRequest
from podwright.cluster.api.versions.resources import METRICS_VERSIONS, Resources

UPSTREAM = Path(__file__).parents[6] / "tools/schema/upstream.json.gz"
# Upstream's documents are those of kube-apiserver alone.
ALL_VERSIONS = tuple(
    dict.fromkeys(
        kind.api_version for kind in built_in() if kind.api_version not in METRICS_VERSIONS
    )
)


def document(api_version: str) -> Any:
    """Return a document of a server with all versions."""
    start = "apis" if "/" in api_version else "api"
    request = HttpRequest("GET", f"/openapi/v3/{start}/{api_version}")
    reply = OpenApi(Resources(ALL_VERSIONS))(request, 0)
    assert reply is not None
    return json.loads(reply.body)


def facts_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema as the generator of the table keeps it: without descriptions and `allOf`."""
    made = {
        key: value
        for key, value in schema.items()
        if key not in ("description", "allOf", "properties", "items", "additionalProperties",
                       "$ref", "oneOf")
    }  # fmt: skip
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            made[key] = facts_of(schema[key])
    if "properties" in schema:
        made["properties"] = {name: facts_of(each) for name, each in schema["properties"].items()}
    for each in (schema, *schema.get("allOf", ())):
        if "$ref" in each:
            made["ref"] = each["$ref"].rpartition("/")[2]
    return made


@pytest.fixture(scope="module")
def upstream() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(UPSTREAM.read_bytes()))["schemas"]
    return found


@pytest.mark.parametrize("api_version", ALL_VERSIONS)
def test_schemas_have_the_facts_of_upstream(api_version, upstream):
    schemas = document(api_version)["components"]["schemas"]
    assert len(schemas) > 10
    for name, schema in schemas.items():
        expected, found = upstream[name], facts_of(schema)
        if name.endswith((".DeleteOptions", ".WatchEvent")):
            expected.pop("x-kubernetes-group-version-kind", None)
            found.pop("x-kubernetes-group-version-kind")
        assert found == expected, name
