"""Defaults and validation give what kube-apiserver gave.

Every object that a recorded client created is completed and validated. An accepted object has no
errors, and its spec is the stored one apart from what admission and allocators added. A rejected
one has the recorded errors, text for text.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podwright.apimachinery.schema import Kind, built_in, reason_of

Document = dict[str, Any]

RECORDINGS = Path(__file__).parent / "api"
UID = "33333333-3333-3333-3333-333333333333"
PATH = re.compile(r"/(?:api/(v1)|apis/([^/]+/[^/]+))(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?")
FROM_ADMISSION = {
    "Pod": {"tolerations", "priority", "priorityClassName", "preemptionPolicy"},
    "Node": {"taints"},
    "Namespace": {"finalizers"},
    "Job": {"selector", "template"},
    "PersistentVolumeClaim": {"storageClassName"},
    "Service": {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "ports"},
}
NOT_VALIDATED = {
    # Allocators of addresses and ports, and LimitRanges, reject these.
    "networking-a e11", "networking-a e12", "networking-a e16", "networking-a e17", "quota-a e7",
    # The selector is completed with the uid before it is validated.
    "workloads-a e34",
    # The names of a custom resource definition are not compared here.
    "crdschema-a e37",
}  # fmt: skip


class Creation:
    """One recorded POST of an object of a known kind."""

    def __init__(self, key: str, kind: Kind, namespace: str, exchange: Document) -> None:
        self.key = key
        self.kind = kind
        self.response = exchange["response"]
        body = exchange["request"]["body"]
        metadata = dict(body.get("metadata") or {})
        if namespace:
            metadata.setdefault("namespace", namespace)
        written = {"apiVersion": kind.api_version, "kind": kind.row.kind} | body
        self.written: Document = written | {"metadata": metadata}

    @property
    def is_accepted(self) -> bool:
        return bool(self.response["status"] == 201)

    def completed(self) -> Document:
        return self.kind.with_defaults(self.kind.with_canonical_quantities(self.written))

    def problems(self) -> list[tuple[str, str, Any]]:
        """Return the errors, each once."""
        document = self.completed()
        found = [
            *self.kind.metadata_problems(document),
            *self.kind.validation_problems(document),
        ]
        once: dict[tuple[str, str], Any] = {}
        for path, message, value in found:
            once.setdefault((path, message), value)
        return [(path, message, value) for (path, message), value in once.items()]


def creations() -> Iterator[Creation]:
    resources = {
        (kind.api_version, kind.row.resource): kind for kind in built_in() if kind.row.resource
    }
    for file in sorted(RECORDINGS.glob("*.jsonl.gz")):
        with gzip.open(file, "rt") as lines:
            for line in lines:
                exchange = json.loads(line.replace("<uid>", UID))
                request, response = exchange["request"], exchange["response"]
                match = PATH.fullmatch(request["path"])
                kind = match and resources.get((match[1] or match[2], match[4]))
                if match is None or kind is None or request["method"] != "POST" or match[5]:
                    continue
                body = request["body"]
                if not isinstance(body, dict) or "protobuf_b64" in body or "${" in line:
                    continue
                if response["status"] not in (201, 422) or exchange["group"] == "fieldvalidation-a":
                    continue
                key = f"{exchange['group']} {exchange['id']}"
                if key not in NOT_VALIDATED:
                    yield Creation(key, kind, match[3] or "", exchange)


CREATIONS = list(creations())


def test_there_are_recordings() -> None:
    assert len([each for each in CREATIONS if each.is_accepted]) > 150
    assert len([each for each in CREATIONS if not each.is_accepted]) > 90


@pytest.mark.parametrize("creation", CREATIONS, ids=lambda each: each.key)
def test_the_errors_are_those_of_the_server(creation: Creation) -> None:
    problems = creation.problems()
    if creation.is_accepted:
        assert problems == []
        return
    details = creation.response["body"]["details"]
    expected = [(each.get("field", ""), each["message"]) for each in details["causes"]]
    once = list(dict.fromkeys((path, text.partition("\n")[0]) for path, text in expected))
    assert [(path, message) for path, message, _ in problems] == once
    reasons = {each["message"]: each["reason"] for each in details["causes"]}
    for _, message, _ in problems:
        assert reason_of(message) == reasons[message]


def without_empty(value: Any) -> Any:
    """Return a document without the zero values that Go writes or leaves out."""
    if isinstance(value, dict):
        return {
            name: without_empty(each)
            for name, each in value.items()
            if name != "resourceVersion"
            # Times that the server sets are not known.
            and each not in (None, "", "<time>")
            and without_empty(each) not in ({}, [])
        }
    return [without_empty(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "creation",
    [each for each in CREATIONS if each.is_accepted and isinstance(each.response["body"], dict)],
    ids=lambda each: each.key,
)
def test_the_defaults_are_those_of_the_server(creation: Creation) -> None:
    kind, body, completed = creation.kind, creation.response["body"], creation.completed()
    spec = body.get("spec") or {}
    if spec.get("clusterIP") == "None" or creation.key.startswith("quota-a"):
        return  # a LimitRange or an allocator completes these
    if not kind.is_stored or body["kind"] != kind.row.kind:
        return  # the answer has other fields
    added = FROM_ADMISSION.get(kind.row.kind, set())
    body, completed = ({n: part for n, part in each.items() if part} for each in (body, completed))
    for part in (completed.keys() | body.keys()) - {"metadata", "status"}:
        expected, actual = (each.get(part) for each in (body, completed))
        if part == "spec":
            expected, actual = (
                {name: value for name, value in (each or {}).items() if name not in added}
                for each in (expected, actual)
            )
        assert without_empty(actual) == without_empty(expected), part


@pytest.mark.parametrize("creation", CREATIONS, ids=lambda each: each.key)
def test_defaults_are_set_once_and_change_nothing_that_is_given(creation: Creation) -> None:
    before = json.dumps(creation.written)
    completed = creation.completed()
    assert json.dumps(creation.written) == before
    assert creation.kind.with_defaults(completed) is completed
