"""Patches, server-side apply and managed fields give what kube-apiserver gave.

Each recorded write is repeated as a pure transition: from the object as the server last returned
it and the body of the request to the object that it returned then, `managedFields` included.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import yaml

from podwright.apimachinery.patching import (
    ApplyConflictError,
    ObjectType,
    PatchError,
    applied,
    json_patched,
    merge_patched,
    object_entries,
    object_type,
    scale_entries,
    strategic_merged,
    with_entries,
    with_managed_fields,
    with_unchanged_times,
)
from podwright.apimachinery.schema import Kind, built_in

Document = dict[str, Any]

RECORDINGS = Path(__file__).parent / "api"
TRACKED = ("apply", "applyseq")
"""The groups whose recordings have `managedFields`."""
GROUPS = (*TRACKED, "smp", "mergepatch")
NOW = "<time>"
REPLICAS = {"apps/v1": ("spec", "replicas")}
FROM_ADMISSION = ("tolerations", "priority", "preemptionPolicy")
NOT_BY_PATCHING = {
    "apply-a e11": "the options of the request",
    "apply-a e13": "the name in the path", "applyseq-a e34": "the name in the path",
    "smp-a e30": "the name in the path",
    "mergepatch-a e23": "the namespace in the path",
    "apply-a e15": "the resourceVersion", "applyseq-a e35": "the resourceVersion",
    "smp-a e29": "the resourceVersion", "mergepatch-a e19": "the resourceVersion",
    "apply-a e16": "the uid", "applyseq-a e36": "the uid", "smp-a e31": "the uid",
    "mergepatch-a e5": "the types of the result", "mergepatch-a e18": "the types of the result",
    "mergepatch-a e22": "the types of the result", "smp-a e25": "the types of the result",
    "mergepatch-a e14": "validation of the result",
    "applyseq-a e24": "validation of the result",
    "mergepatch-a e7": "the syntax of the body", "smp-a e27": "the syntax of the body",
}  # fmt: skip
"""Refusals that the API server gives before or after it applies a patch."""


class Exchange:
    """One recorded write of an object.

    Attributes
    ----------
    stored : dict or None
        The object before it, as the server last returned it.
    """

    def __init__(self, exchange: Document, stored: Document | None) -> None:
        self.key = f"{exchange['group']} {exchange['id']}"
        self.request = exchange["request"]
        self.response = exchange["response"]
        self.stored = stored

    @property
    def subresource(self) -> str:
        last = self.request["path"].rpartition("/")[2]
        return last if last in ("status", "scale") else ""

    @property
    def media_type(self) -> str:
        return str(self.request["headers"].get("content-type") or "")

    @property
    def options(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(self.request["query"]).items()}

    @property
    def kind(self) -> Kind:
        resource = self.request["path"].split("/namespaces/default/")[1].split("/")[0]
        kind = built_in().resource(resource)
        assert kind is not None, resource
        return kind

    @property
    def body(self) -> Any:
        body = self.request["body"]
        if not isinstance(body, str):
            return body
        if "yaml" not in self.media_type:
            return json.loads(body)
        # In YAML 1.1, which the server reads, an unquoted y is true.
        return json.loads(json.dumps(yaml.safe_load(body)).replace('"y"', '"true"'))

    def result(self) -> Document:
        """Return the object after the write."""
        kind, stored = self.kind, self.stored
        of = object_type(kind)
        if "apply" in self.media_type:
            return self._applied(of)
        if self.request["method"] == "POST":
            return self._tracked(of, kind.with_defaults(self.body))
        assert stored is not None, self.key
        if self.request["method"] == "PUT":
            return self._tracked(of, kind.with_defaults(self.body))
        if self.subresource == "scale":
            return self._scaled(of)
        match self.media_type:
            case "application/json-patch+json":
                new = json_patched(stored, self.body)
            case "application/merge-patch+json":
                new = merge_patched(stored, self.body)
            case _:
                new = strategic_merged(kind, stored, self.body)
        return self._tracked(of, kind.with_defaults(new))

    def _applied(self, of: ObjectType) -> Document:
        new = applied(
            of,
            self.stored,
            self.body,
            self.options.get("fieldManager", ""),
            force=self.options.get("force") == "true",
            now=NOW,
            subresource=self.subresource,
        )
        completed = self.kind.with_defaults(new)
        return completed if self.stored is None else with_unchanged_times(self.stored, completed)

    def _tracked(self, of: ObjectType, new: Document) -> Document:
        manager = self.options.get("fieldManager", "")
        if self.subresource == "status" and self.stored is not None:
            new = {**self.stored, "status": new.get("status")}
        return with_managed_fields(
            of, self.stored, new, manager, now=NOW, subresource=self.subresource
        )

    def _scaled(self, of: ObjectType) -> Document:
        stored = self.stored
        assert stored is not None, self.key
        entries = stored["metadata"].get("managedFields")
        scale: Document = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "web", "managedFields": scale_entries(entries, REPLICAS)},
            "spec": {"replicas": stored["spec"]["replicas"]},
        }
        found = built_in().find("autoscaling/v1", "Scale")
        assert found is not None
        written = with_managed_fields(
            object_type(found),
            with_entries(scale, scale["metadata"]["managedFields"]),
            merge_patched(scale, self.body),
            self.options.get("fieldManager", ""),
            now=NOW,
            subresource="scale",
        )
        after = object_entries(
            entries, written["metadata"].get("managedFields"), of.api_version, REPLICAS
        )
        replicas = written["spec"]["replicas"]
        return with_entries({**stored, "spec": {**stored["spec"], "replicas": replicas}}, after)


def exchanges() -> Iterator[Any]:
    """Yield the recorded writes, each with the object before it."""
    for path in sorted(RECORDINGS.glob("*.jsonl.gz")):
        if path.name.partition("-")[0] not in GROUPS:
            continue
        stored: dict[str, Document] = {}
        with gzip.open(path, "rt") as lines:
            for line in lines:
                exchange = json.loads(line)
                method, place = exchange["request"]["method"], exchange["request"]["path"]
                collection = place.split("/namespaces/default/")[1]
                names = collection.split("/")
                if method != "GET" and names[-1] != "binding":
                    one = Exchange(exchange, stored.get("/".join(names[:2])))
                    yield pytest.param(one, id=one.key)
                keep(stored, exchange, names)


def keep(stored: dict[str, Document], exchange: Document, names: list[str]) -> None:
    """Note the object of a response."""
    body = exchange["response"]["body"]
    is_stored = (
        exchange["response"]["status"] < 300 and "dryRun" not in exchange["request"]["query"]
    )
    if not is_stored or body["kind"] == "Status":
        return
    if body["kind"] == "Scale":
        # The response has the replicas; who set them comes with the next object.
        one = Exchange(exchange, stored["/".join(names[:2])])
        stored["/".join(names[:2])] = one.result()
        return
    stored[f"{names[0]}/{body['metadata']['name']}"] = body


ALL = list(exchanges())


def entries(document: Document) -> list[str]:
    """Return the entries of an object, without the order that depends on the time."""
    found = document["metadata"].get("managedFields") or []
    return sorted(json.dumps(entry, sort_keys=True) for entry in found)


def content(document: Document, *, is_created: bool) -> Document:
    """Return what an object says, without what the server adds, nulls and empty metadata."""
    metadata = document["metadata"]
    found = {name: metadata.get(name) or None for name in ("labels", "annotations", "finalizers")}
    for name in ("spec", "data"):
        value = document.get(name) or {}
        ignored = FROM_ADMISSION if is_created else ()
        found[name] = {key: one for key, one in value.items() if key not in ignored}
    if document.get("kind") == "Deployment" and not is_created:
        found["status"] = without_nulls(document.get("status") or {})
    return found


def without_nulls(value: Any) -> Any:
    """Return a value without its null fields."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [without_nulls(one) for one in value]
    return value


def test_the_recordings_are_there() -> None:
    assert len(ALL) >= 110


@pytest.mark.parametrize("exchange", ALL)
def test_a_recorded_write_gives_the_recorded_object(exchange: Exchange) -> None:
    response = exchange.response
    if exchange.key in NOT_BY_PATCHING:
        assert response["status"] >= 400, "this exchange is not an exception"
        return
    if response["status"] >= 400:
        with pytest.raises(PatchError) as caught:
            exchange.result()
        # A client's mistake for which upstream answers 500 is a bad request here.
        assert caught.value.code == response["status"]
        assert caught.value.message == response["body"]["message"]
        details = response["body"].get("details")
        if isinstance(caught.value, ApplyConflictError):
            assert {"causes": caught.value.causes} == details
        else:
            assert caught.value.has_details == (details is not None)
        return
    result, expected = exchange.result(), response["body"]
    if expected["kind"] == "Scale":
        assert result["spec"]["replicas"] == expected["spec"]["replicas"]
        return
    is_created = exchange.stored is None
    assert content(result, is_created=is_created) == content(expected, is_created=is_created)
    if exchange.key.partition("-")[0] in TRACKED:
        assert entries(result) == entries(expected)
