"""Writes of several managers to objects, drawn by seed, for a record of who owns which field.

Each object has a sequence of applies and patches by managers with small sets of values, so that
they agree, conflict, take over and give up. Kinds are some built-in ones and a custom one whose
lists and maps have all types, and other types in its second version.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from tests.real_parts.applies.configurations import GROUP, KINDS, STATUSES, Document, named
from tests.real_parts.requests.compare import HEADERS

from podwright.apimachinery.patching.apply import LAST_APPLIED
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.endpoints import HttpRequest

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STEPS: Final = 14
TYPES: Final = {"apply": "application/apply-patch+yaml", "merge": "application/merge-patch+json"}
MANAGERS: Final = ("one", "two", "three", "kubectl")
SCALED: Final = ("Deployment", "StatefulSet", "Thing")


class Step(msgspec.Struct, omit_defaults=True):
    """A write.

    Attributes
    ----------
    way : str
        `apply`, `merge` (a merge patch) or `create`.
    version : str
        `apiVersion` of the request.
    manager, name : str
    body : dict
    force : bool
    subresource : str
    """

    way: str
    version: str
    manager: str
    name: str
    body: Document
    force: bool = False
    subresource: str = ""


class Drawn(msgspec.Struct):
    """An object with its writes."""

    kind: str
    steps: list[Step]


def draw(seed: int) -> Drawn:
    """Return the writes to an object; the first creates it."""
    random = Random(f"applies {seed}")
    kind = random.choice([*["Thing"] * 6, *KINDS])
    versions, make = KINDS[kind]
    main = random.choice(versions)
    name = f"x{seed}"
    way, manager = random.choice(["apply", "apply", "create"]), random.choice(MANAGERS)
    body = named(random, kind, main, name) | make(random, main, True)
    if way == "create" and random.random() < 0.4:
        manager = "kubectl-client-side-apply"
        last = body if random.random() < 0.8 else body | make(random, main, True)
        annotations = body["metadata"].get("annotations", {}) | {LAST_APPLIED: json.dumps(last)}
        body = body | {"metadata": body["metadata"] | {"annotations": annotations}}
    steps = [Step(way, main, manager, name, body)]
    has_many_managers = random.random() < 0.1
    for number in range(1, STEPS):
        version = main if random.random() < 0.8 else random.choice(versions)
        step = _step(random, kind, version, name)
        if has_many_managers and number < STEPS - 1:
            step.way, step.force, step.manager = "merge", False, f"m{number}"
        steps.append(step)
    return Drawn(kind, steps)


def _step(random: Random, kind: str, version: str, name: str) -> Step:
    manager, is_forced = random.choice(MANAGERS), random.random() < 0.5
    way = "apply" if random.random() < 0.72 else "merge"
    if random.random() < 0.025:
        sent = {"metadata": {"managedFields": random.choice(ENTRIES)}}
        return Step("merge", version, manager, name, sent)
    subresource = random.choice(["", "", "", "", "status", "scale"])
    body: Document = named(random, kind, version, name)
    if subresource == "scale" and kind in SCALED:
        body |= {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}}
        body |= {"spec": {"replicas": random.choice([1, 2, 3])}}
    elif subresource == "status" and kind in STATUSES:
        body |= {"status": STATUSES[kind](random)}
    else:
        subresource = ""
        body |= KINDS[kind][1](random, version, random.random() < 0.3)
        spec = body.get("spec")
        if way == "merge" and spec and random.random() < 0.4:
            spec[random.choice([*spec])] = None
        elif way == "apply" and random.random() < 0.12:
            body = random.choice(MISTAKES)(random, body)
    return Step(way, version, manager, name, body, is_forced and way == "apply", subresource)


def request(kind: str, step: Step) -> HttpRequest:
    """Return the request of a write."""
    query = urlencode({"fieldManager": step.manager} | ({"force": "true"} if step.force else {}))
    if step.way == "create":
        made = request_of(kind, step.version, "", "POST", query)
        return msgspec.structs.replace(made, body=msgspec.json.encode(step.body))
    made = request_of(kind, step.version, step.name, "PATCH", query, step.subresource)
    return msgspec.structs.replace(
        made,
        headers=HEADERS | {"content-type": TYPES[step.way]},
        body=msgspec.json.encode(step.body),
    )


def request_of(
    kind: str, version: str, name: str, method: str, query: str = "", subresource: str = ""
) -> HttpRequest:
    """Return a request without a body."""
    known = built_in().find(version, kind)
    plural = "things" if known is None else known.row.resource
    place = "" if known is not None and not known.row.namespaced else "/namespaces/default"
    parts = "/".join(filter(None, (plural, name, subresource)))
    prefix = "/api" if version == "v1" else "/apis"
    return HttpRequest(method, f"{prefix}/{version}{place}/{parts}", query, HEADERS, b"")


ENTRIES: Final[tuple[Any, ...]] = (
    [], [{}], None,
    [{"manager": "given", "operation": "Apply", "apiVersion": f"{GROUP}/v1",
      "fieldsType": "FieldsV1", "time": "2024-01-01T00:00:00Z",
      "fieldsV1": {"f:spec": {"f:size": {}, "f:options": {"f:a": {}}}}}],
    [{"manager": "given", "operation": "Replace"}],
)  # fmt: skip
"""Entries in requests."""


# ------------------------------------------------------------------------------ mistakes


def _with_unknown_field(random: Random, body: Document) -> Document:
    random.choice([body, body.get("spec", body), body["metadata"]])["unknown"] = "x"
    return body


def _with_wrong_type(random: Random, body: Document) -> Document:
    parts = [each for each in body.get("spec", {}).items() if each[0] != "free"]
    if parts:
        name, value = random.choice(parts)
        body["spec"] = body["spec"] | {name: [1] if isinstance(value, dict) else {"a": 1}}
    return body


def _with_entries(_: Random, body: Document) -> Document:
    body["metadata"]["managedFields"] = []
    return body


def _of_another_kind(random: Random, body: Document) -> Document:
    return body | random.choice([{"kind": "Other"}, {"apiVersion": "other/v1"}])


def _with_duplicates(random: Random, body: Document) -> Document:
    lists = [each for each in _lists(body) if each]
    if lists:
        chosen = random.choice(lists)
        chosen.append(msgspec.json.decode(msgspec.json.encode(chosen[0])))
    return body


def _without_keys(random: Random, body: Document) -> Document:
    items = [each for found in _lists(body) for each in found if isinstance(each, dict)]
    if items:
        item = random.choice(items)
        del item[random.choice([*item])]
    return body


def _lists(value: Any) -> list[list[Any]]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = [each for part in parts for each in _lists(part)]
    return [value, *found] if isinstance(value, list) else found


MISTAKES: Final[tuple[Callable[[Random, Document], Document], ...]] = (
    _with_unknown_field, _with_wrong_type, _with_entries, _of_another_kind, _with_duplicates,
    _with_duplicates, _without_keys,
)  # fmt: skip
