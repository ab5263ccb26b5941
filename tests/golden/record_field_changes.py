"""Records the errors of objects with one changed field: `field_changes.jsonl.gz`.

    python -m tests.real_parts --port 21010 &
    python -m tests.golden.record_field_changes https://127.0.0.1:21010

The objects are those of the first line of the file. All requests are dry runs.
"""

from __future__ import annotations

import copy
import gzip
import http.client
import json
import re
import ssl
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from podwright.apimachinery.schema import built_in

Document = dict[str, Any]

FILE = Path(__file__).with_name("field_changes.jsonl.gz")
_LONG = f"{'x' * 64}.{'y' * 260}"
_TEXTS = ("", "Bad_Value!", _LONG, "a//b", "-1", "other")
_KEYS = ("", "Bad Key", "a/b/c")
_WITH_KEYS = {
    "matchLabels", "nodeSelector", "labels", "annotations", "data", "parameters", "hard",
    "requests", "limits", "max", "min",
}  # fmt: skip
_KEPT = (("apiVersion",), ("kind",), ("metadata",), ("metadata", "namespace"))
_ACCEPTED, _INVALID = 201, 422


def changed(base: Document, case: Document) -> Document:
    """Return a copy of an object with the change of a case."""
    document = copy.deepcopy(base)
    *places, last = case["path"]
    parent: Any = document
    for place in places:
        parent = parent[place]
    if "value" in case:
        parent[last] = case["value"]
    else:
        del parent[last]
    return document


def _parts(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path, value
    items: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield from _parts(inner, (*path, key))


def _changes(base: Document) -> Iterator[Document]:
    for path, value in _parts(base):
        if path in _KEPT:
            continue
        yield {"path": list(path)}
        for other in _others(value, path[-1]):
            yield {"path": list(path), "value": other}


def _others(value: Any, name: str | int) -> Iterator[Any]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (-1, 0, 100_000_000)
        case str():
            yield from (text for text in _TEXTS if text != value)
        case list():
            yield []
            yield [*value, value[-1]]
        case dict():
            yield {}
            if name in _WITH_KEYS:
                one = next(iter(value.values()))
                yield from (value | {key: one} for key in _KEYS)
        case _:
            return


class _Selection:
    """Keeps one case for each set of errors, and one accepted change for each field."""

    def __init__(self) -> None:
        self._seen: set[tuple[Any, ...]] = set()

    def takes(self, kind: str, case: Document) -> bool:
        place = tuple("*" if isinstance(part, int) else part for part in case["path"])
        key: tuple[Any, ...] = (kind, place, type(case.get("value")), "value" in case)
        if case["errors"]:
            texts = ((re.sub(r"\d+", "0", at), _plain(text)) for at, text in case["errors"])
            key = (kind, *texts)
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new


def _plain(message: str) -> str:
    return re.sub(r'"[^"]*"', '""', message)[:120]


def record(address: str) -> None:
    """Write the file anew, with the answers of a server."""
    first, *_ = gzip.decompress(FILE.read_bytes()).decode().splitlines()
    bases: list[Document] = json.loads(first)["bases"]
    resources = {(kind.api_version, kind.row.kind): kind.row.resource for kind in built_in()}
    server = http.client.HTTPSConnection(
        urlsplit(address).netloc,
        context=ssl._create_unverified_context(),  # a server of tests
    )
    headers = {"Authorization": "Bearer admin-token", "Content-Type": "application/json"}
    selection, lines = _Selection(), [first]
    for number, base in enumerate(bases):
        version = base["apiVersion"]
        prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
        inside = "/namespaces/default" if "namespace" in base["metadata"] else ""
        path = f"{prefix}{inside}/{resources[version, base['kind']]}?dryRun=All"
        for change in _changes(base):
            try:
                server.request("POST", path, json.dumps(changed(base, change)), headers)
                reply = server.getresponse()
                status, answer = reply.status, json.loads(reply.read())
            except http.client.RemoteDisconnected:
                server.close()  # the handler panicked
                continue
            if status not in (_ACCEPTED, _INVALID):
                continue
            causes = answer["details"]["causes"] if status == _INVALID else ()
            texts = [(one.get("field", ""), one["message"].partition("\n")[0]) for one in causes]
            errors = [list(text) for text in dict.fromkeys(texts)]
            case = {"base": number} | change | {"errors": errors}
            if selection.takes(base["kind"], case):
                lines.append(json.dumps(case, separators=(",", ":")))
    FILE.write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), 9, mtime=0))


if __name__ == "__main__":
    record(sys.argv[1])
