"""Objects with one change each, drawn by seed, to be validated by the real kube-apiserver.

The objects are those of `tests/real_parts/requests` and those that recordings have. A change puts a
value from either side of a limit into a field, removes a field, or adds one of the schema.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any, Final, NamedTuple

from tests.conformance.recordings import read_recording
from tests.conformance.replay import RECORDINGS
from tests.real_parts.requests.mistakes import (
    BY_NAME,
    REMOVED,
    Change,
    Changes,
    Document,
    Path,
    at,
    paths_of,
)
from tests.real_parts.requests.subjects import OWN_KIND, documents

from podwright.apimachinery.schema import built_in

DRAWS: Final = 150
"""How many changes are drawn for each object, besides those of its own fields."""

LIMITS: Final = (-1, 0, 1, 2, 5, 10, 63, 64, 65535, 65536, 2147483647)
_LENGTHS: Final = (63, 64, 253, 254)
_BASES_OF_KIND: Final = 6


class Case(NamedTuple):
    """A document, as the number of its base and the changes of that base."""

    base: int
    changes: list[Change]


def bases() -> list[Document]:
    """Return valid documents, of each kind those that have most different fields."""
    found: dict[tuple[str, str], list[Document]] = {}
    known: set[str] = set()
    for text in map(json.dumps, [*documents(), *_recorded()]):
        document = json.loads(text.replace("{ns}", "v"))
        kind = built_in().find(document["apiVersion"], document["kind"])
        if document["apiVersion"] == OWN_KIND or kind is None or not kind.is_stored:
            continue
        document.get("metadata", {}).pop("namespace", None)
        fields = {f"{document['kind']}{_shape(path)}" for path in paths_of(document)}
        same = found.setdefault((document["apiVersion"], document["kind"]), [])
        if len(same) < _BASES_OF_KIND and not fields <= known:
            known |= fields
            same.append(document)
    return [document for same in found.values() for document in same]


def _recorded() -> list[Document]:
    exchanges = [
        exchange
        for path in sorted(RECORDINGS.glob("*.jsonl.gz"))
        for exchange in read_recording(path)
        if exchange.request["method"] == "POST" and exchange.response["status"] == 201
    ]
    bodies = [exchange.request["body"] for exchange in exchanges]
    whole = [
        body for body in bodies if isinstance(body, dict) and {"apiVersion", "kind"} <= {*body}
    ]
    return sorted(whole, key=lambda body: -len(paths_of(body)))


def _shape(path: Path) -> str:
    return "".join("[]" if isinstance(name, int) else f".{name}" for name in path)


def shape(case: Case) -> str:
    """Return the places of the changes without indexes."""
    return " ".join(_shape(path) for path, _ in case.changes)


def cases(documents: list[Document]) -> Iterator[Case]:
    """Yield the base documents, then each with the changes."""
    draws = Changes()
    for number, document in enumerate(documents):
        yield Case(number, [])
        for path in paths_of(document):
            if path[0] in ("apiVersion", "kind"):
                continue
            for value in _values(path, at(document, path)):
                yield Case(number, [(path, copy.deepcopy(value))])
        random = Random(f"{number} {document['kind']}")
        for _ in range(DRAWS):
            yield Case(number, draws.draw(document, random))


def _values(path: Path, value: Any) -> list[Any]:
    known = BY_NAME.get(str(path[-1]))
    if known is not None:
        return [*known, REMOVED]
    if isinstance(value, bool):
        return [not value, REMOVED]
    if isinstance(value, int):
        return [*LIMITS, value + 1, REMOVED]
    if isinstance(value, str):
        return ["", "A b", f"{value}-", *("a" * length for length in _LENGTHS), REMOVED]
    if isinstance(value, list) and value:
        return [[], [*value, value[0]], [value[0]] * 17, [value[0]] * 65, REMOVED]
    return [{}, REMOVED]
