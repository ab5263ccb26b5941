"""The answers to many requests, each in a line of a text that is kept beside the tests.

The requests are those that `tests/real_parts/requests` compares with kube-apiserver: draws about
topics, and the usual requests about an object of each kind. A line has the status of an answer,
what an error says, and a digest of the body. `PODWRIGHT_UPDATE_STORIES=1` writes the text again,
test by test; the difference is reviewed, and compared with kube-apiserver if answers differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.real_parts.requests.compare import OwnServer, request_of
from tests.real_parts.requests.steps import Step
from tests.real_parts.requests.subjects import Subject, documents
from tests.real_parts.requests.topics import topic_steps, topics
from tests.recorded_texts import RecordedText

SEEDS = 3
HEADERS = {"accept": "application/json", "authorization": "Bearer admin-token"}
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
TYPES = {
    "merge": "application/merge-patch+json", "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json", "apply": "application/apply-patch+yaml",
    "yaml": "application/yaml", "": "application/json",
}  # fmt: skip


def line_of(step: Step, answer: Any) -> str:
    body = answer.body
    text = json.dumps([sorted(answer.headers.items()), body], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    is_error = isinstance(body, dict) and body.get("status") == "Failure"
    message = f" {str(body['message'])[:90]!r}" if is_error else ""
    kind = step.headers.get("content-type", "").partition("/")[2].partition("+")[0]
    query = f"?{step.query}" if step.query else ""
    return f"{step.method} {step.path}{query} {kind} -> {answer.status} {digest}{message}"


def answered(steps: Iterable[Step], gates: Iterable[str] = ()) -> Iterator[str]:
    """Send requests to a new server, and yield a line about each answer."""
    server = OwnServer(list(gates))
    answers: dict[str, Any] = {}
    for step in steps:
        request = request_of(step, "space", answers)
        if request is not None:
            answers[step.id] = server.send(request)
            yield line_of(step, answers[step.id])


def steps_about(document: dict[str, Any]) -> Iterator[Step]:
    """Yield the usual requests about an object."""
    subject = Subject(document)
    numbers = iter(range(99))

    def step(method: str, path: str, body: Any = None, kind: str = "", **more: Any) -> Step:
        headers = HEADERS | ({} if body is None else {"content-type": TYPES[kind]})
        headers |= more.pop("headers", {})
        return Step(f"e{next(numbers)}", method, path, headers=headers, body=body, **more)

    version = {"apiVersion": document["apiVersion"], "kind": document["kind"]}
    named = version | {"metadata": {"name": subject.name}}
    labels = {"metadata": {"labels": {"a": "1"}, "annotations": {"b": None}}}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}"}}
    yield step("POST", "/api/v1/namespaces", space)
    yield step("POST", subject.collection, document, query="dryRun=All&fieldValidation=Strict")
    yield step("POST", subject.collection, document | {"x": 1}, query="fieldValidation=Strict")
    yield step("POST", subject.collection, document | {"spec": 7})
    yield step("POST", subject.collection, version)
    yield step("POST", subject.collection, document, query="fieldManager=one")
    yield step("POST", subject.collection, document)
    yield step("GET", subject.path)
    yield step("GET", subject.path, headers=TABLE)
    yield step("GET", subject.collection, query="limit=1")
    yield step("GET", subject.everywhere, headers=TABLE, query="labelSelector=a%3D1")
    yield step("GET", f"{subject.collection}/none")
    yield step("PATCH", subject.path, labels, "merge")
    yield step("PATCH", subject.path, labels, "strategic", query="fieldManager=two")
    yield step("PATCH", subject.path, {"spec": {"x": None, "y": 1}}, "merge")
    yield step("PATCH", subject.path, {"metadata": {"finalizers": ["x/y"]}}, "merge")
    test = [{"op": "test", "path": "/kind", "value": document["kind"]},
            {"op": "add", "path": "/metadata/labels/c", "value": "2"}]  # fmt: skip
    yield step("PATCH", subject.path, test, "json")
    yield step("PATCH", subject.path, document, "apply", query="fieldManager=three")
    yield step("PATCH", subject.path, named, "apply", query="fieldManager=three&force=true")
    yield step("PUT", subject.path, document)
    yield step("PUT", subject.path, document | {"metadata": {"name": "other"}})
    for part in sorted(subject.subresources):
        yield step("GET", f"{subject.path}/{part}")
        yield step("PUT", f"{subject.path}/{part}", named | {"status": {}, "spec": {}})
        yield step("PUT", f"{subject.path}/{part}", version | {"spec": {"replicas": 1}})
        yield step("PATCH", f"{subject.path}/{part}", {"metadata": None, "status": None}, "merge")
        yield step("PATCH", f"{subject.path}/{part}", {"status": {"x": 1}}, "merge")
    yield step("DELETE", subject.path, query="gracePeriodSeconds=0&dryRun=All")
    yield step("DELETE", subject.path, {"preconditions": {"uid": "x"}})
    yield step("DELETE", subject.path, query="propagationPolicy=Foreground")
    yield step("PATCH", subject.path, {"metadata": {"finalizers": None}}, "merge")
    yield step("DELETE", subject.collection, query="labelSelector=a%3D1")
    yield step("GET", subject.collection)


def title_of(document: dict[str, Any]) -> str:
    name = document["metadata"].get("name", "generated")
    return f"{document['apiVersion']} {document['kind']} {name}"


TEXT = RecordedText(
    Path(__file__).with_name("recorded_answers.txt"),
    [
        *(f"{topic} {seed}" for topic in topics() for seed in range(SEEDS)),
        *map(title_of, documents()),
    ],
)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("topic", sorted(topics()))
def test_answers_about_a_topic(topic: str, seed: int) -> None:
    TEXT.check(f"{topic} {seed}", answered(topic_steps(seed, topic), topics()[topic].gates))


@pytest.mark.parametrize("number", range(len(documents())))
def test_answers_about_an_object(number: int) -> None:
    document = documents()[number]
    TEXT.check(title_of(document), answered(steps_about(document)))
