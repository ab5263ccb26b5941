"""Exports and recordings of kwokctl, as manifests with times and as lines of a record.

`kwokctl snapshot export` writes the objects of a cluster, one document each, and with `--record` a
document for each change after them: a new object, a strategic merge patch, or a deletion. Each
time in them is written as an offset from the start of the export, `$(time-offset-nanosecond -5)`.

Upstream: sigs.k8s.io/kwok pkg/kwokctl/recording/time.go, pkg/kwokctl/snapshot/{save,load}.go
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    UNDECODABLE,
    Document,
    FieldError,
    InputError,
    YamlError,
    api_group,
    read_yaml,
    timestamp_text_nano,
)
from podwright.apimachinery.schema import built_in

START_NS: Final = 946_684_800_000_000_000
"""The second in which an export starts, since it does not say when it was made: 2000-01-01."""

CHANGE_GROUP: Final = "action.kwok.x-k8s.io"

_SECOND_NS: Final = 1_000_000_000
_OFFSET_START: Final = b"$(time-offset-nanosecond "
_OFFSET: Final = re.compile(rb"\$\(time-offset-nanosecond (-?\d{1,19})\)")
_WHOLE_SECOND: Final = re.compile(rb'creationTimestamp["\']?: *["\']?' + _OFFSET.pattern)
_EVENTS: Final = {"create": "Add", "patch": "Update", "delete": "Delete"}

_Key: TypeAlias = tuple[str, str, str, str]
"""Group, resource, namespace and name."""


class _Resource(msgspec.Struct, frozen=True, kw_only=True):
    resource: str
    group: str = ""


class _Target(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    namespace: str = ""


class _Head(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str
    kind: str
    metadata: _Target


class _Change(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    resource: _Resource
    target: _Target
    duration_nanosecond: int
    method: str
    template: Document | None = None


def with_times(data: bytes) -> bytes:
    """Return the text of an export with times instead of offsets; other texts as they are.

    Objects were created in whole seconds, so the export starts where theirs are whole, too.
    """
    if _OFFSET_START not in data:
        return data
    created = _WHOLE_SECOND.search(data)
    start_ns = START_NS - (int(created[1]) % _SECOND_NS if created else 0)

    def time(found: re.Match[bytes]) -> bytes:
        text = timestamp_text_nano(start_ns + int(found[1]))
        return text.replace(".000000000Z", "Z").encode()

    return _OFFSET.sub(time, data)


def is_recording(data: bytes) -> bool:
    """Whether a text is a recording: the objects of an export, and changes after them."""
    return data[:1] != b"{" and f"{CHANGE_GROUP}/".encode() in data


def record_lines(data: bytes, source: str) -> Iterator[tuple[int, bytes, bool]]:
    """Yield the lines of a record for the documents of a recording, as `numbered_lines` does.

    The number of a line is that of the first line of its document.

    Raises
    ------
    InputError
        At a document that is not YAML, or a change that does not apply.
    """
    from podwright.apimachinery.patching import PatchError  # an export needs none

    there: dict[_Key, Document] = {}
    try:
        for document in read_yaml(with_times(data).decode(), allow_duplicates=True):
            value = document.value
            if value is None:
                continue
            try:
                line = _line(value, there)
            except (*UNDECODABLE, PatchError, ValueError) as error:
                message = f"not a document of a recording of kwokctl: {error}"
                place = f"{source}: line {document.line}"
                raise InputError([FieldError(source=place, message=message)]) from error
            yield document.line, line, True
    except (YamlError, UnicodeDecodeError, RecursionError) as error:
        place = f"{source}: line {error.line}" if isinstance(error, YamlError) else source
        raise InputError([FieldError(source=place, message=str(error))]) from None


def _line(value: Any, there: dict[_Key, Document]) -> bytes:
    """Return the line of a document, and note the object after it."""
    if not is_change(value):
        head = msgspec.convert(value, _Head)
        resource = _resource_of(api_group(head.api_version), head.kind)
        there[_key(resource, head.metadata)] = value
        return _written("Add", value, 0)
    change = msgspec.convert(value, _Change)
    key = _key((change.resource.group, change.resource.resource), change.target)
    event = _EVENTS.get(change.method)
    if event is None:
        raise ValueError(f"method: {change.method} is not one of {', '.join(_EVENTS)}")
    if change.method == "create":
        changed = there[key] = change.template or {}
    elif key not in there:
        raise ValueError(f"target: {change.method} of {key[1]} {key[3]}, which does not exist")
    elif change.method == "delete":
        changed = there.pop(key)
    else:
        changed = there[key] = _patched(there[key], change.template)
    return _written(event, changed, change.duration_nanosecond)


def is_change(value: Any) -> bool:
    """Whether a document is a change of a recording, not an object."""
    return isinstance(value, dict) and api_group(str(value.get("apiVersion"))) == CHANGE_GROUP


def _key(resource: tuple[str, str], target: _Target) -> _Key:
    return (*resource, target.namespace, target.name)


def _resource_of(group: str, kind: str) -> tuple[str, str]:
    """Return group and resource of a kind; of a custom one as the API names most of them.

    Upstream: staging/src/k8s.io/apimachinery/pkg/api/meta/restmapper.go, UnsafeGuessKindToResource
    """
    known = built_in().of(group, kind)
    if known is not None:
        return group, known.row.resource
    name = kind.lower()
    if name.endswith("s"):
        return group, f"{name}es"
    return group, f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _patched(document: Document, patch: Document | None) -> Document:
    from podwright.apimachinery.patching import merge_patched, strategic_merged

    known = built_in().find(str(document.get("apiVersion")), str(document.get("kind")))
    if known is None:
        return merge_patched(document, patch or {})
    return strategic_merged(known, document, patch)


def _written(event: str, document: Document, since_ns: int) -> bytes:
    time = timestamp_text_nano(START_NS + since_ns)
    return msgspec.json.encode({"time": time, "event": event, "resource": document})
