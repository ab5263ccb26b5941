"""Sequences of requests on a namespace of their own, drawn from a seed.

Half of the documents are valid; the others have a typical mistake, so that later requests of the
sequence find objects. `{ns}` in a request is the namespace.
"""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any, Final
from urllib.parse import quote, urlencode

from tests.real_parts.requests.directives import with_directive
from tests.real_parts.requests.mistakes import (
    REMOVED,
    Changes,
    Document,
    at,
    changed,
    described,
)
from tests.real_parts.requests.parameters import (
    ACCEPTS,
    FIELD_SELECTORS,
    LABEL_SELECTORS,
    LIST_OPTIONS,
    POD_STATUSES,
    WATCH_OPTIONS,
)
from tests.real_parts.requests.steps import Step
from tests.real_parts.requests.subjects import Subject, documents

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
_PODS_SHARE: Final = 0.3
_VALID_SHARE: Final = 0.45
_STEPS: Final = (6, 14)
_MANAGERS: Final = ("one", "two", "three")


@cache
def _changes() -> Changes:
    return Changes()


class Sequence:
    """The requests of one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random = Random(f"requests {seed}")
        self.steps: list[Step] = []
        self._add(
            "POST",
            "/api/v1/namespaces",
            body={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}"}},
        )
        known = documents()
        pods = [each for each in known if each["kind"] == "Pod"]
        subjects = []
        for _ in range(random.choice((1, 1, 2, 3))):
            chosen = random.choice(pods if random.random() < _PODS_SHARE else known)
            subjects.append(Subject(chosen))
        for _ in range(random.randint(*_STEPS)):
            self._step(random.choice(subjects))

    def _add(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        note: str = "",
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        base: list[str] | None = None,
        changes: Any = (),
    ) -> str:
        headers = {"accept": accept, "authorization": "Bearer admin-token"}
        if body is not None or base:
            headers["content-type"] = content_type
        name = f"e{len(self.steps)}"
        listed = [(list(path), value) for path, value in changes]
        self.steps.append(
            Step(
                name,
                method,
                path,
                urlencode(query or {}, quote_via=quote),
                note,
                headers,
                body,
                list(base or ()),
                listed,
            )
        )
        return name

    def _step(self, subject: Subject) -> None:
        random = self._random
        if not subject.answers:
            return self._create(subject) if random.random() < 0.8 else self._apply(subject)
        kinds = {
            self._create: 12,
            self._apply: 22,
            self._update: 16,
            self._json_patch: 6,
            self._merge_patch: 8,
            self._strategic: 12,
            self._get: 5,
            self._list: 9,
            self._watch: 1,
            self._delete: 7,
            self._subresource: 12 if subject.subresources else 0,
            self._delete_collection: 1.5,
        }
        (kind,) = random.choices(list(kinds), list(kinds.values()))
        kind(subject)
        return None

    def _write_options(self, *, is_apply: bool = False) -> dict[str, str]:
        random, query = self._random, {}
        if random.random() < 0.12:
            query["dryRun"] = random.choice(("All", "All", "None"))
        if random.random() < 0.3:
            query["fieldValidation"] = random.choice(("Strict", "Strict", "Warn", "Ignore", "x"))
        if is_apply or random.random() < 0.3:
            query["fieldManager"] = random.choice(_MANAGERS)
        if is_apply and random.random() < 0.3:
            query["force"] = random.choice(("true", "true", "false"))
        return query

    def _drawn_changes(self, document: Document) -> list[tuple[Any, Any]]:
        if self._random.random() < _VALID_SHARE:
            return []
        return _changes().draw(document, self._random)

    def _create(self, subject: Subject) -> None:
        changes = self._drawn_changes(subject.document)
        body = changed(subject.document, changes)
        text = self._repeated(body)
        step = self._add(
            "POST",
            subject.collection,
            query=self._write_options(),
            note=described(changes) or ("a repeated field" if text else "valid"),
            body=text or body,
        )
        subject.answers.append(step)

    def _repeated(self, body: Document) -> str:
        """Return a body as text in which a field occurs twice; rarely."""
        if self._random.random() > 0.03:
            return ""
        text = json.dumps(body)
        name = self._random.choice(['"metadata":', '"name":', '"spec":', '"containers":'])
        return text.replace(
            name, f"{name} {{}}, {name}" if name != '"name":' else f'{name} "x", {name}', 1
        )

    def _apply(self, subject: Subject) -> None:
        random = self._random
        document = subject.document
        if subject.name == "gen-":
            return
        # A configuration often has a part of the fields only.
        body: Document = {
            "apiVersion": document["apiVersion"],
            "kind": document["kind"],
            "metadata": {"name": subject.name},
        }
        share = random.choice((1.0, 1.0, 0.6, 0.3))
        body |= {
            name: self._part(value, share)
            for name, value in document.items()
            if name not in ("apiVersion", "kind", "metadata", "status")
        }
        if random.random() < 0.5:
            labels = document["metadata"].get("labels", {})
            body["metadata"]["labels"] = {**labels, "by": random.choice(_MANAGERS)}
        changes = self._drawn_changes(body)
        if random.random() < 0.06:
            changes.append((("metadata", "managedFields"), []))
        step = self._add(
            "PATCH",
            subject.path,
            query=self._write_options(is_apply=True),
            note=f"apply {share} {described(changes)}",
            body=changed(body, changes),
            content_type=APPLY,
        )
        subject.answers.append(step)

    def _part(self, value: Any, share: float) -> Any:
        """Return a part of the fields of an object; keys of list items stay."""
        if isinstance(value, dict):
            kept = (
                "name",
                "containerPort",
                "protocol",
                "mountPath",
                "port",
                "key",
                "topologyKey",
                "whenUnsatisfiable",
                "type",
                "effect",
                "operator",
                "selector",
                "template",
                "containers",
                "metadata",
                "labels",
                "k",
                "uid",
                "ip",
            )
            return {
                name: self._part(part, share)
                for name, part in value.items()
                if name in kept or self._random.random() < share
            }
        if isinstance(value, list):
            return [self._part(each, share) for each in value]
        return value

    def _update(self, subject: Subject) -> None:
        changes = self._drawn_changes(subject.document)
        random = self._random
        roll = random.random()
        query = self._write_options()
        if roll < 0.75:
            base = subject.answers[: -1 if random.random() < 0.15 else None]
            if roll < 0.4:
                changes.append((("metadata", "resourceVersion"), REMOVED))
            self._note_answer(
                subject,
                self._add(
                    "PUT",
                    subject.path,
                    query=query,
                    base=base,
                    changes=changes,
                    note=f"{base[-1:]}: {described(changes)}",
                ),
            )
            return
        body = changed(subject.document, changes)
        self._note_answer(
            subject,
            self._add(
                "PUT", subject.path, query=query, body=body, note=described(changes) or "valid"
            ),
        )

    def _note_answer(self, subject: Subject, step: str) -> None:
        subject.answers.append(step)

    def _json_patch(self, subject: Subject) -> None:
        random = self._random
        document = subject.document
        changes = _changes().draw(document, random)
        operations: list[Any] = []
        for path, value in changes:
            pointer = "".join(
                "/" + str(each).replace("~", "~0").replace("/", "~1") for each in path
            )
            if value == REMOVED:
                operations.append({"op": "remove", "path": pointer})
            else:
                name = random.choice(("add", "replace", "replace", "test"))
                operations.append({"op": name, "path": pointer, "value": value})
        if random.random() < 0.15:
            operations.append(
                random.choice(
                    (
                        {"op": "move", "from": "/metadata/labels", "path": "/metadata/annotations"},
                        {"op": "copy", "from": "/spec", "path": "/spec2"},
                        {"op": "foo", "path": "/a"},
                        {"op": "add", "path": "a", "value": 1},
                        {"op": "remove", "path": "/metadata/nothing"},
                        {"op": "test", "path": "/metadata/name", "value": "other"},
                        {"path": "/a"},
                        7,
                    )
                )
            )
        self._patched(subject, operations, JSON_PATCH, json.dumps(operations)[:200])

    def _merge_patch(self, subject: Subject) -> None:
        changes = _changes().draw(subject.document, self._random)
        body = self._nested(subject.document, changes)
        self._patched(subject, body, MERGE_PATCH, json.dumps(body)[:200])

    def _nested(self, document: Document, changes: list[tuple[Any, Any]]) -> Any:
        """Return a merge patch; a list is given whole."""
        after = changed(document, changes)
        body: Document = {}
        for path, value in changes:
            # Down to the first list of the document.
            depth = next(
                (
                    index
                    for index in range(1, len(path))
                    if not isinstance(at_or_none(after, path[:index]), dict | None)
                ),
                len(path),
            )
            holder: Any = body
            for name in path[: depth - 1]:
                holder = holder.setdefault(name, {}) if isinstance(holder, dict) else None
            if isinstance(holder, dict):
                whole = None if value == REMOVED else value
                holder[path[depth - 1]] = (
                    whole if depth == len(path) else at_or_none(after, path[:depth])
                )
        return body

    def _strategic(self, subject: Subject) -> None:
        random = self._random
        changes = _changes().draw(subject.document, random)
        body = self._nested(subject.document, changes)
        if random.random() < 0.5:
            body = with_directive(body, subject.document, random)
        self._patched(subject, body, STRATEGIC, json.dumps(body)[:300])

    def _patched(self, subject: Subject, body: Any, content_type: str, note: str) -> None:
        self._note_answer(
            subject,
            self._add(
                "PATCH",
                subject.path,
                query=self._write_options(),
                body=body,
                content_type=content_type,
                note=note,
            ),
        )

    def _get(self, subject: Subject) -> None:
        accept = self._random.choice((*ACCEPTS, "application/json"))
        path = self._random.choice((subject.path, subject.path, f"{subject.collection}/nosuch"))
        self._add("GET", path, accept=accept)

    def _list(self, subject: Subject) -> None:
        random, query = self._random, {}
        if random.random() < 0.4:
            query["labelSelector"] = random.choice(LABEL_SELECTORS)
        if random.random() < 0.4:
            query["fieldSelector"] = random.choice(FIELD_SELECTORS)
        if random.random() < 0.5:
            query |= random.choice(LIST_OPTIONS)
        accept = "application/json"
        if random.random() < 0.4:
            accept = random.choice(ACCEPTS)
        if not subject.namespaced:
            # Other objects are not those of this sequence.
            query["labelSelector"] = ",".join(
                filter(None, ("seed={ns}", query.get("labelSelector")))
            )
        self._add("GET", subject.collection, query=query, accept=accept, note="list")

    def _watch(self, subject: Subject) -> None:
        query = {"watch": "true", "timeoutSeconds": "1", **self._random.choice(WATCH_OPTIONS)}
        if self._random.random() < 0.4:
            query["labelSelector"] = self._random.choice(LABEL_SELECTORS)
        if not subject.namespaced:
            query["labelSelector"] = "seed={ns}"
        self._add("GET", subject.collection, query=query, note="watch")

    def _delete(self, subject: Subject) -> None:
        random = self._random
        query: dict[str, str] = {}
        if random.random() < 0.15:
            query["dryRun"] = "All"
        if random.random() < 0.2:
            query["gracePeriodSeconds"] = random.choice(("0", "1", "-1", "x"))
        if random.random() < 0.2:
            query["propagationPolicy"] = random.choice(("Orphan", "Foreground", "Background", "x"))
        body = None
        if random.random() < 0.4:
            body = {"kind": "DeleteOptions", "apiVersion": "v1"} | random.choice(
                (
                    {},
                    {"gracePeriodSeconds": 0},
                    {"preconditions": {"uid": "x"}},
                    {"preconditions": {"resourceVersion": "1"}},
                    {"propagationPolicy": "Foreground"},
                    {"propagationPolicy": "Orphan"},
                    {"orphanDependents": True},
                    {"gracePeriodSeconds": -5},
                    {"orphanDependents": True, "propagationPolicy": "Orphan"},
                    {"dryRun": ["All"]},
                    {"dryRun": ["Foo"]},
                    {"unknownField": 1},
                    {"gracePeriodSeconds": "x"},
                    {"gracePeriodSeconds": 5},
                )
            )
        self._note_answer(
            subject,
            self._add(
                "DELETE", subject.path, query=query, body=body, note=f"delete {json.dumps(body)}"
            ),
        )

    def _delete_collection(self, subject: Subject) -> None:
        query = {}
        if self._random.random() < 0.5 or not subject.namespaced:
            query["labelSelector"] = "seed={ns}" if not subject.namespaced else "app=web"
        self._add("DELETE", subject.collection, query=query, note="deletecollection")

    def _subresource(self, subject: Subject) -> None:
        random = self._random
        usable = sorted(
            subject.subresources
            & {"status", "scale", "binding", "eviction", "ephemeralcontainers", "resize"}
        )
        if not usable:
            return
        name = random.choice(usable)
        path = f"{subject.path}/{name}"
        query = self._write_options()
        match name:
            case "status":
                self._status(subject, path, query)
            case "scale":
                self._scale(subject, path, query)
            case "binding":
                body: Document = {
                    "apiVersion": "v1",
                    "kind": "Binding",
                    "metadata": {"name": subject.name},
                    "target": {"kind": "Node", "name": "n1"},
                }
                changes = self._drawn_changes(body)
                self._add(
                    "POST", path, query=query, body=changed(body, changes), note=described(changes)
                )
            case "eviction":
                body = {
                    "apiVersion": "policy/v1",
                    "kind": "Eviction",
                    "metadata": {"name": subject.name},
                    "deleteOptions": random.choice(
                        (
                            {},
                            {"gracePeriodSeconds": 0},
                            {"dryRun": ["All"]},
                            {"preconditions": {"uid": "x"}},
                        )
                    ),
                }
                changes = self._drawn_changes(body)
                self._add(
                    "POST", path, query=query, body=changed(body, changes), note=described(changes)
                )
            case "ephemeralcontainers":
                container = {"name": "debug", "image": "busybox", "targetContainerName": "main"}
                container = changed(
                    container,
                    self._drawn_changes(
                        container
                        | random.choice(
                            ({}, {"ports": []}, {"resources": {"limits": {"cpu": "1"}}})
                        )
                    ),
                )
                self._add(
                    "PATCH",
                    path,
                    query=query,
                    body={"spec": {"ephemeralContainers": [container]}},
                    content_type=random.choice((STRATEGIC, MERGE_PATCH)),
                    note=json.dumps(container),
                )
            case _:
                resources = random.choice(
                    (
                        {"requests": {"cpu": "200m"}},
                        {"limits": {"cpu": "2"}},
                        {"limits": {"memory": "1Mi"}},
                        {"requests": {"cpu": "5"}},
                        {"requests": {"foo": "1"}},
                        {"limits": None},
                        {"requests": {"cpu": None, "memory": None}},
                    )
                )
                spec: Document = {"containers": [{"name": "main", "resources": resources}]}
                if random.random() < 0.2:
                    spec = random.choice(
                        (
                            {"containers": [{"name": "main", "image": "other"}]},
                            {"nodeName": "x"},
                            {"containers": [{"name": "new", "resources": resources}]},
                            {"initContainers": [{"name": "init", "resources": resources}]},
                            {"initContainers": [{"name": "side", "resources": resources}]},
                            {"resources": resources},
                        )
                    )
                self._add(
                    "PATCH",
                    path,
                    query=query,
                    body={"spec": spec},
                    content_type=STRATEGIC,
                    note=json.dumps(spec),
                )

    def _status(self, subject: Subject, path: str, query: dict[str, str]) -> None:
        random = self._random
        document = {
            "apiVersion": subject.document["apiVersion"],
            "kind": subject.document["kind"],
            "metadata": {"name": subject.name},
            "status": {},
        }
        if subject.resource == "pods":
            document["status"] = random.choice(POD_STATUSES)
        elif subject.document.get("status"):
            document["status"] = subject.document["status"]
        for _ in range(random.choice((1, 1, 2, 3))):
            added = _changes().pool.field(document, ("status",), random)
            if added is not None and random.random() < 0.6:
                document["status"] = {**document["status"], added[0]: added[1]}
        if random.random() < 0.15:
            document["metadata"]["labels"] = {"by": "status"}
        if random.random() < 0.1:
            document["spec"] = {}
        note = json.dumps(document["status"])[:300]
        match random.randrange(4):
            case 0:
                changes = [(("status",), document["status"])]
                base = subject.answers
                self._add("PUT", path, query=query, base=base, changes=changes, note=note)
            case 1:
                self._add(
                    "PATCH",
                    path,
                    query={"fieldManager": random.choice(_MANAGERS)} | query,
                    body=document,
                    content_type=APPLY,
                    note=note,
                )
            case _:
                self._add(
                    "PATCH",
                    path,
                    query=query,
                    body={"status": document["status"]},
                    content_type=random.choice((STRATEGIC, MERGE_PATCH)),
                    note=note,
                )

    def _scale(self, subject: Subject, path: str, query: dict[str, str]) -> None:
        random = self._random
        replicas = random.choice((0, 5, -1, "3", None, 2147483648, 1.5))
        body: Document = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": subject.name},
            "spec": {"replicas": replicas},
        }
        match random.randrange(5):
            case 0:
                self._add("GET", path)
            case 1:
                self._add("PUT", path, query=query, body=body, note=f"scale {replicas}")
            case 2:
                query = {"fieldManager": random.choice(_MANAGERS)} | query
                self._add(
                    "PATCH",
                    path,
                    query=query,
                    body=body,
                    content_type=APPLY,
                    note=f"scale {replicas}",
                )
            case _:
                self._add(
                    "PATCH",
                    path,
                    query=query,
                    body={"spec": {"replicas": replicas}},
                    content_type=random.choice((MERGE_PATCH, JSON_PATCH, STRATEGIC)),
                    note=f"scale {replicas}",
                )


def at_or_none(value: Any, path: tuple[Any, ...]) -> Any:
    """Return the part of a value at a path, or None if it is absent."""
    try:
        return at(value, path)
    except (KeyError, IndexError, TypeError):
        return None
