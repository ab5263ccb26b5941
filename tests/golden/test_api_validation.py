"""Defaults and validation give what kube-apiserver gave.

Every object that a recorded client created is completed and validated. An accepted object has no
errors, and its spec is the stored one apart from what admission and allocators added. A rejected
one has the recorded errors, text for text.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from podwright.apimachinery.schema import Kind, built_in, reason_of

Document = dict[str, Any]

RECORDINGS = Path(__file__).parent / "api"
UID = "33333333-3333-3333-3333-333333333333"
PATH = re.compile(r"/(?:api/(v1)|apis/([^/]+/[^/]+))(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?")
LABELS = ("template", "metadata", "labels")
ADDED: dict[str, dict[tuple[str, ...], str]] = {
    "Pod": {
        ("tolerations",): "DefaultTolerationSeconds",
        ("priority",): "Priority",
        ("preemptionPolicy",): "Priority",
        ("priorityClassName",): "Priority, by the global default",
    },
    "Node": {("taints",): "TaintNodesByCondition"},
    "Namespace": {("finalizers",): "the strategy"},
    "Job": {
        ("selector",): "the strategy, which knows the uid",
        (*LABELS, "controller-uid"): "the strategy",
        (*LABELS, "job-name"): "the strategy",
        (*LABELS, "batch.kubernetes.io/controller-uid"): "the strategy",
        (*LABELS, "batch.kubernetes.io/job-name"): "the strategy",
    },
    "PersistentVolumeClaim": {("storageClassName",): "DefaultStorageClass"},
    "Service": {
        ("clusterIP",): "the allocator of addresses",
        ("clusterIPs",): "the allocator of addresses",
        ("ipFamilies",): "the allocator of addresses",
        ("ipFamilyPolicy",): "the allocator of addresses",
        ("ports", "nodePort"): "the allocator of ports",
    },
}
"""The fields of a spec that are not compared, with what completes them: each hides a difference."""

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


def without_field(value: Any, path: tuple[str, ...]) -> Any:
    """Return a value without one field, in each item of a list."""
    if isinstance(value, list):
        return [without_field(each, path) for each in value]
    if not isinstance(value, dict):
        return value
    name, *rest = path
    if not rest:
        return {key: each for key, each in value.items() if key != name}
    return {
        key: without_field(each, tuple(rest)) if key == name else each
        for key, each in value.items()
    }


def parts(
    creation: Creation, left_out: Iterable[tuple[str, ...]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the completed and the stored parts of an object."""
    both = []
    for document in (creation.completed(), creation.response["body"]):
        found = {n: each for n, each in document.items() if n not in ("metadata", "status")}
        for path in left_out:
            found = without_field(found, ("spec", *path))
        both.append(without_empty(found))
    return both[0], both[1]


def is_completed_alone(creation: Creation) -> bool:
    """Whether the answer is the object, and no LimitRange completes it."""
    body = creation.response["body"]
    return bool(
        creation.is_accepted
        and isinstance(body, dict)
        and not creation.key.startswith("quota-a")
        and creation.kind.is_stored
        and body["kind"] == creation.kind.row.kind
    )


COMPLETED = list(filter(is_completed_alone, CREATIONS))


@pytest.mark.parametrize("creation", COMPLETED, ids=lambda each: each.key)
def test_the_defaults_are_those_of_the_server(creation: Creation) -> None:
    completed, stored = parts(creation, ADDED.get(creation.kind.row.kind, ()))
    assert completed == stored


@pytest.mark.parametrize("kind", ADDED)
def test_each_field_that_is_not_compared_hides_a_difference(kind: str) -> None:
    paths = ADDED[kind]
    for path in paths:
        others = [each for each in paths if each != path]
        both = (parts(each, others) for each in COMPLETED if each.kind.row.kind == kind)
        assert any(completed != stored for completed, stored in both), path


@pytest.mark.parametrize("creation", CREATIONS, ids=lambda each: each.key)
def test_defaults_are_set_once_and_change_nothing_that_is_given(creation: Creation) -> None:
    before = json.dumps(creation.written)
    completed = creation.completed()
    assert json.dumps(creation.written) == before
    assert creation.kind.with_defaults(completed) is completed
