"""Variations of recorded requests: other values, fields, types, names, verbs, headers, patches.

A variation has one or two changes, which its description names, so that a difference is found in
the change. Draws come from a seeded generator: the same seed gives the same variations.
"""

from __future__ import annotations

import copy
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

from tests.conformance.recordings import Exchange

from podwright.apimachinery.schema import Schema, built_in
from podwright.apimachinery.schema.types import Field, TypeRef

Request = dict[str, Any]
Path = tuple[str | int, ...]

PATCH_TYPES: Final = (
    "application/strategic-merge-patch+json",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
)
_STRINGS: Final = (
    "", "a", "A_b", "-a", "a.b", "a/b", "x.io/b", "x" * 64, "x" * 254, "0", "10", "100%", "50%",
    "1Gi", "-1", "1.5", "100m", "2021-01-01T00:00:00Z", "10.1.2.3", "fe80::1", "default", "n1",
    "ä", "a b", " ", "true", "None", "http",
)  # fmt: skip
_NUMBERS: Final = (0, 1, -1, 2, 3, 100, 101, 65535, 65536, 2**31 - 1, 2**31, 2**63, 1.5, 1e20)
_OTHER_TYPES: Final[tuple[Any, ...]] = ("text", 7, True, None, [], {}, ["a"], {"a": "b"}, 1.5)
_VALUES_OF_TYPES: Final[dict[str, tuple[Any, ...]]] = {
    "bool": (True, False),
    "int32": _NUMBERS[:9],
    "int64": _NUMBERS[:9],
    "double": (0, 1.5, -1),
    "quantity": ("1", "100m", "1Gi", "-1", "0", 2),
    "time": ("2021-01-01T00:00:00Z", "2020-02-03T04:05:06.123456Z"),
    "micro-time": ("2021-01-01T00:00:00Z", "2020-02-03T04:05:06.123456Z"),
    "int-or-string": (0, 1, "50%", "http", "150%", -1),
    "bytes": ("YQ==", ""),
    "object": ({"a": 1},),
}
_DEPTH_MAX = 4
_REPLACED = 0.4
"""Which part of the requests of a recording `replacement` changes."""
_CHANGES: Final = {
    "drop": 14, "value": 18, "similar": 18, "type": 7, "null": 5, "add": 28, "unknown": 4,
    "repeat": 5, "mark": 3, "case": 2,
}  # fmt: skip
"""The changes of bodies, and how often each is drawn."""

_QUERIES: Final = (
    "dryRun=All", "dryRun=Foo", "dryRun=", "fieldValidation=Strict", "fieldValidation=Warn",
    "fieldValidation=Ignore", "fieldValidation=Foo", "fieldManager=m9", "fieldManager=" + "m" * 129,
    "fieldManager=a%0Ab", "force=true", "force=false", "force=maybe", "limit=1", "limit=-1",
    "limit=x", "continue=bogus", "resourceVersion=0", "resourceVersion=1", "resourceVersion=x",
    "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", "resourceVersionMatch=Foo",
    "labelSelector=a", "labelSelector=a%3Db%2Cc", "labelSelector=a%20in%20(b%2Cc)",
    "labelSelector=a%3D%3D%3Db", "labelSelector=!a", "labelSelector=a%3Eb", "labelSelector=-a",
    "fieldSelector=metadata.name%3Da", "fieldSelector=foo%3Dbar", "fieldSelector=metadata.name",
    "fieldSelector=status.phase!%3DRunning", "fieldSelector=metadata.namespace%3Ddefault",
    "fieldSelector=spec.nodeName%3Dn1", "fieldSelector=type%3DNormal", "gracePeriodSeconds=0",
    "gracePeriodSeconds=-1", "gracePeriodSeconds=x", "propagationPolicy=Orphan",
    "propagationPolicy=Foo", "propagationPolicy=Foreground", "orphanDependents=true",
    "includeObject=None", "includeObject=Object", "includeObject=Foo", "pretty=true",
    "sendInitialEvents=true", "timeoutSeconds=1", "allowWatchBookmarks=true", "foo=bar",
    "timeoutSeconds=x", "timeout=1s", "timeout=x",
    "ignoreStoreReadErrorWithClusterBreakingPotential=true",
)  # fmt: skip
_ACCEPTS: Final = (
    "application/json", "application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
    "application/json;as=Table;v=v2;g=meta.k8s.io",
    "*/*", "application/*", "text/plain", "text/plain, application/json", "application/json;q=0.5",
    "application/json;as=Foo;v=v1;g=meta.k8s.io,application/json",
)  # fmt: skip
_CONTENT_TYPES: Final = (
    "application/json", "application/yaml", "text/plain", "application/json; charset=utf-8",
    "application/x-www-form-urlencoded", "application/apply-patch+json", *PATCH_TYPES,
)  # fmt: skip
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_NAMES: Final = ("nosuch", "Bad_Name", "x" * 254, "a.b", "n1", "p1", "kubernetes")
_SUBRESOURCES: Final = (
    "status", "scale", "binding", "eviction", "finalize", "log", "ephemeralcontainers", "resize",
    "token", "nosuch", "approval", "exec",
)  # fmt: skip
_NAMESPACES: Final = ("nosuch", "kube-system", "Bad_Name", "")
_MARKS: Final = ("$patch", "$retainKeys", "$deleteFromPrimitiveList/finalizers",
                 "$setElementOrder/containers")  # fmt: skip


class Pool:
    """Values and fields that recordings have, by name, and the fields of the schema.

    Parameters
    ----------
    exchanges : iterable of Exchange
    schema : Schema
    """

    def __init__(self, exchanges: Iterable[Exchange], schema: Schema) -> None:
        values: dict[str, dict[str, Any]] = defaultdict(dict)
        for exchange in exchanges:
            for path, value in _parts(exchange.request["body"]):
                name = next((each for each in reversed(path) if isinstance(each, str)), "")
                if not _has_placeholder(value):
                    values[name].setdefault(json.dumps(value), value)
        self._values = {name: list(each.values()) for name, each in values.items()}
        self._schema = schema

    def value(self, name: str, draw: random.Random) -> Any:
        """Return a value that a field with a name has somewhere; None if there is none."""
        found = self._values.get(name)
        return copy.deepcopy(draw.choice(found)) if found else None

    def field(self, body: Any, path: Path, draw: random.Random) -> tuple[str, Any] | None:
        """Return the name and a value of a field that an object could have at a path."""
        fields = self._fields(body, path)
        if not fields:
            return None
        field = fields[draw.choice(sorted(fields))]
        if draw.random() < 0.5 and (value := self.value(field.name, draw)) is not None:
            return field.name, value
        return field.name, self._made(field.type, field.enum, draw, depth=0)

    def _fields(self, body: Any, path: Path) -> dict[str, Field]:
        kind = self._schema.find(str(body.get("apiVersion")), str(body.get("kind")))
        if kind is None:
            return {}
        ref = TypeRef("", kind.struct.name)
        for name in path:
            if isinstance(name, int) or ref.container == "map":
                if ref.element is None:
                    return {}
                ref = ref.element
            elif ref.is_struct and name in (fields := self._schema.type(ref.name).fields):
                ref = fields[name].type
            else:
                return {}
        return dict(self._schema.type(ref.name).fields) if ref.is_struct else {}

    def _made(self, ref: TypeRef, enum: tuple[str, ...], draw: random.Random, depth: int) -> Any:
        if enum and draw.random() < 0.8:
            return draw.choice(enum)
        if ref.element is not None:
            count = draw.choice((0, 1, 1, 2))
            made = [self._made(ref.element, (), draw, depth + 1) for _ in range(count)]
            return made if ref.container == "list" else dict(zip("ab", made, strict=False))
        if ref.is_struct:
            return self._made_struct(ref, draw, depth)
        return draw.choice(_VALUES_OF_TYPES.get(ref.name, _STRINGS))

    def _made_struct(self, ref: TypeRef, draw: random.Random, depth: int) -> dict[str, Any]:
        fields = self._schema.type(ref.name).fields
        made: dict[str, Any] = {}
        if depth >= _DEPTH_MAX:
            return made
        for name in sorted(fields):
            if not fields[name].is_required and draw.random() > 2 / (len(fields) + 1):
                continue
            if name in self._values and draw.random() < 0.4:
                made[name] = self.value(name, draw)
            else:
                made[name] = self._made(fields[name].type, fields[name].enum, draw, depth + 1)
        return made


class Variations:
    """Draws variations of requests.

    Parameters
    ----------
    pool : Pool
    seed : str
    """

    def __init__(self, pool: Pool, seed: str) -> None:
        self._pool = pool
        self._seed = seed

    def of(self, exchange: Exchange, count: int) -> Iterator[tuple[str, Request]]:
        """Yield variations of a request, each with the description of its changes."""
        seen = {json.dumps(exchange.request, sort_keys=True)}
        for number in range(count):
            draw = random.Random(f"{self._seed}/{exchange.group}/{exchange.id}/{number}")
            request = copy.deepcopy(exchange.request)
            request["query"] = request["query"] or ""
            changes = [self._change(request, draw)]
            if draw.random() < 0.25:
                changes.append(self._change(request, draw))
            changed = json.dumps(request, sort_keys=True)
            if changed in seen:
                continue
            seen.add(changed)
            yield "; ".join(filter(None, changes)), without_effect(request)

    def replacement(self, exchange: Exchange) -> tuple[str, Request]:
        """Return a variation of some requests, which is no dry run, and others as they are."""
        draw = random.Random(f"{self._seed}/{exchange.group}/{exchange.id}")
        request = copy.deepcopy(exchange.request)
        request["query"] = request["query"] or ""
        if draw.random() > _REPLACED:
            return exchange.note, request
        return self._change(request, draw), _with_limited_watch(request)

    def _change(self, request: Request, draw: random.Random) -> str:
        has_body = (
            isinstance(request["body"], dict | list) and "protobuf_b64" not in request["body"]
        )
        roll = draw.random()
        if has_body and roll < 0.78:
            return self._change_body(request, draw)
        if roll < 0.86:
            query = draw.choice(_QUERIES)
            kept = [each for each in request["query"].split("&") if each]
            request["query"] = "&".join(
                [each for each in kept if each.split("=")[0] != query.split("=")[0]] + [query]
            )
            return f"query {query}"
        if roll < 0.91:
            return _change_headers(request, draw)
        if roll < 0.94:
            request["method"] = draw.choice(_METHODS)
            return f"method {request['method']}"
        return _change_path(request, draw)

    def _change_body(self, request: Request, draw: random.Random) -> str:
        body = request["body"]
        parts = [part for part in _parts(body) if part[0]]
        if not parts:
            added = self._pool.field(request_object(request), (), draw)
            if added and isinstance(body, dict):
                body[added[0]] = added[1]
                return f"add {added[0]}"
            return ""
        path, value = draw.choice(parts)
        (change,) = draw.choices(list(_CHANGES), list(_CHANGES.values()))
        if change == "add":
            return self._add(request, draw)
        if change == "similar":
            name = next((each for each in reversed(path) if isinstance(each, str)), "")
            found = self._pool.value(name, draw)
            _at(body, path[:-1])[path[-1]] = _other(value, draw) if found is None else found
            return f"{'.'.join(map(str, path))}={json.dumps(found)[:60]}"
        is_patch = "patch" in request["headers"].get("content-type", "")
        return _changed_part(body, path, change, draw, is_patch=is_patch) or self._add(
            request, draw
        )

    def _add(self, request: Request, draw: random.Random) -> str:
        body = request["body"]
        shown = request_object(request)
        if not isinstance(body, dict):
            return ""
        structs = [()] + [path for path, value in _parts(body) if isinstance(value, dict)]
        for _ in range(5):
            path = draw.choice(structs)
            added = self._pool.field(shown, path, draw)
            if added is not None:
                _at(body, path)[added[0]] = added[1]
                where = ".".join(map(str, (*path, added[0])))
                return f"add {where}={json.dumps(added[1])[:60]}"
        return ""


@cache
def _kinds_of_resources() -> dict[str, dict[str, Any]]:
    """Return versions and kinds by `version/resource`."""
    return {
        f"{kind.api_version}/{kind.row.resource}": {
            "apiVersion": kind.api_version, "kind": kind.row.kind,
        }
        for kind in built_in()
    }  # fmt: skip


def request_object(request: Request) -> dict[str, Any]:
    """Return the version and kind of a request's body, also if the body, a patch, lacks them."""
    body = request["body"]
    if isinstance(body, dict) and "kind" in body and "apiVersion" in body:
        return body
    parts = request["path"].strip("/").split("/")
    version, rest = (
        (parts[1], parts[2:]) if parts[0] == "api" else ("/".join(parts[1:3]), parts[3:])
    )
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    return _kinds_of_resources().get(f"{version}/{rest[0] if rest else ''}", {})


def without_effect(request: Request) -> Request:
    """Make a request a dry run, if it could write, and bound the time of a watch."""
    names = [each.split("=")[0] for each in request["query"].split("&") if each]
    added = []
    if request["method"] not in ("GET", "HEAD", "OPTIONS") and "dryRun" not in names:
        added.append("dryRun=All")
    request["query"] = "&".join([*filter(None, request["query"].split("&")), *added])
    return _with_limited_watch(request)


def _with_limited_watch(request: Request) -> Request:
    names = [each.split("=")[0] for each in request["query"].split("&") if each]
    if "watch" in names and "timeoutSeconds" not in names:
        request["query"] += "&timeoutSeconds=1"
    return request


def _other(value: Any, draw: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return draw.choice(_NUMBERS)
    if isinstance(value, str):
        return draw.choice((*_STRINGS, value + "x", value.upper(), value[:-1]))
    if isinstance(value, list):
        return draw.choice(([], value[:-1], value[1:], [*value, *copy.deepcopy(value)]))
    if isinstance(value, dict):
        return draw.choice(({}, dict(list(value.items())[:-1]), {**value, "": ""}))
    return draw.choice(_OTHER_TYPES)


def _changed_part(
    body: Any, path: Path, change: str, draw: random.Random, *, is_patch: bool
) -> str:
    """Change a part of a body in place; return what was done, "" if nothing could be."""
    holder, last, value = _at(body, path[:-1]), path[-1], _at(body, path)
    where = ".".join(map(str, path))
    target = value if isinstance(value, dict) else holder
    match change:
        case "drop":
            del holder[last]
        case "value":
            holder[last] = _other(value, draw)
            where = f"{where}={json.dumps(holder[last])[:60]}"
        case "type":
            holder[last] = copy.deepcopy(draw.choice(_OTHER_TYPES))
            where = f"{where}={json.dumps(holder[last])}"
        case "null":
            holder[last] = None
        case "unknown" if isinstance(target, dict):
            target["unknownField"] = 1
        case "repeat" if isinstance(holder, list):
            holder.append(copy.deepcopy(value))
        case "repeat" if isinstance(value, list) and value:
            value.reverse()
            where = f"{where} (reversed)"
        case "mark" if is_patch and isinstance(target, dict):
            mark = draw.choice(_MARKS)
            target[mark] = draw.choice(("delete", "replace", "merge", ["a"], [], "foo"))
            where = f"{mark}={target[mark]} in {where}"
        case "case" if isinstance(last, str) and isinstance(holder, dict):
            holder[last.upper()] = holder.pop(last)
        case _:
            return ""
    return f"{change} {where}"


def _change_headers(request: Request, draw: random.Random) -> str:
    headers = request["headers"]
    (header,) = draw.choices(("accept", "content-type", "authorization"), (5, 4, 3))
    if header != "authorization":
        headers[header] = draw.choice(_ACCEPTS if header == "accept" else _CONTENT_TYPES)
        return f"{header} {headers[header]}"
    user = draw.choice(("alice-token", "bad-token", "sched-token", ""))
    if user:
        headers["authorization"] = f"Bearer {user}"
    else:
        headers.pop("authorization", None)
    return f"token {user!r}"


def _change_path(request: Request, draw: random.Random) -> str:
    parts = request["path"].split("/")
    match draw.choice(("name", "subresource", "namespace", "short", "long")):
        case "name":
            parts[-1] = draw.choice(_NAMES)
        case "subresource":
            parts.append(draw.choice(_SUBRESOURCES))
        case "namespace" if "namespaces" in parts[:-1]:
            parts[parts.index("namespaces") + 1] = draw.choice(_NAMESPACES)
        case "short" if len(parts) > 3:
            parts.pop()
        case _:
            parts.append(draw.choice(("", "x", "a/b")))
    request["path"] = "/".join(parts)
    return f"path {request['path'][:80]}"


def _parts(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _parts(part, (*path, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _parts(part, (*path, index))


def _at(value: Any, path: Path) -> Any:
    for name in path:
        value = value[name]
    return value


def _has_placeholder(value: Any) -> bool:
    return "${e" in json.dumps(value)
