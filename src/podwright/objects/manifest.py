"""Manifests: from the bytes of a file to objects.

Supported are YAML and JSON (optionally compressed with gzip), one or several documents, `List` and
`PodList` as kubectl prints them, the snapshot of kube-scheduler-simulator, and the tables of the
openb trace. The format is detected from the content, not from the name. A
KubeSchedulerConfiguration among the documents is returned as it is.

Files are loaded completely or not at all: the errors of all documents are raised together.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec

from podwright.objects.built_in_kinds import no_match
from podwright.objects.decode import Document, decode
from podwright.objects.errors import FieldError, InputError, invalid, quoted, required
from podwright.objects.kinds import TYPES, Object, Unknown, api_group
from podwright.objects.openb import TableError, is_openb, read_openb
from podwright.objects.yaml_events import YamlError, read_yaml

CONFIGURATION_GROUP = "kubescheduler.config.k8s.io"

SNAPSHOT_KEYS = {
    "namespaces": "Namespace",
    "priorityClasses": "PriorityClass",
    "storageClasses": "StorageClass",
    "pvcs": "PersistentVolumeClaim",
    "nodes": "Node",
    "pods": "Pod",
    "pvs": "PersistentVolume",
}
"""The lists of a snapshot and their kinds, in the order of import."""

_SCHEDULER_CONFIG = "schedulerConfig"
_API_VERSION = {cls.kind: cls.api_version for cls in TYPES}


class Sourced(msgspec.Struct, frozen=True, gc=False):
    """An object with its source."""

    source: str
    object: Object


class SourcedDocument(msgspec.Struct, frozen=True, gc=False):
    """A document with its source."""

    source: str
    document: Document


class Manifest(msgspec.Struct, frozen=True):
    """The content of one file, in order."""

    objects: tuple[Sourced, ...] = ()
    configurations: tuple[SourcedDocument, ...] = ()


def read_manifest(data: bytes, *, source: str) -> Manifest:
    """Read the objects and configurations of a file.

    Parameters
    ----------
    data : bytes
        The content, compressed or not.
    source : str
        The file's name, for errors.

    Raises
    ------
    InputError
        With the errors of all documents.
    """
    errors: list[FieldError] = []
    objects: list[Sourced] = []
    configurations: list[SourcedDocument] = []
    for place, document in _documents(data, source, errors):
        for entry_place, entry in _flattened(document, place, errors):
            if _is_configuration(entry):
                configurations.append(SourcedDocument(entry_place, entry))
                continue
            try:
                decoded = decode(entry, source=entry_place)
            except InputError as error:
                errors.extend(error.errors)
                continue
            if isinstance(decoded, Unknown) and (
                message := no_match(decoded.api_version, decoded.kind)
            ):
                errors.append(_error(entry_place, message, path="kind"))
                continue
            if not decoded.name and not decoded.metadata.generate_name:
                message = required("name or generateName")
                errors.append(_error(entry_place, message, path="metadata.name"))
            objects.append(Sourced(entry_place, decoded))
    if errors:
        raise InputError(errors)
    return Manifest(tuple(objects), tuple(configurations))


def _error(source: str, message: str, *, path: str = "") -> FieldError:
    return FieldError(source=source, path=path, message=message)


# --------------------------------------------------------------------- bytes to documents


class _Place(msgspec.Struct, frozen=True):
    """The location of a document: its file and its position in it."""

    name: str
    item_lines: tuple[int, ...] = ()
    file: str = ""
    index: int = 0

    def item(self, index: int, key: str = "items") -> str:
        if key == "items" and index < len(self.item_lines):
            line = self.item_lines[index]
            return f"{self.file}: document {self.index} (line {line}): items[{index}]"
        return f"{self.name}: {key}[{index}]"


def _documents(
    data: bytes, source: str, errors: list[FieldError]
) -> Iterator[tuple[_Place, Document]]:
    text = _text(data, source, errors)
    if text is None:
        return
    if is_openb(text):
        for line, row in read_openb(text):
            name = f"{source}: line {line}"
            if isinstance(row, TableError):
                errors.append(_error(name, invalid(row.value, str(row)), path=row.column))
            else:
                yield _Place(name), row
        return
    values = None
    if text.lstrip()[:1] in {"{", "["}:
        try:
            values = _json_values(text)
        except RecursionError:
            errors.append(_error(source, "nested too deeply"))
            return
    if values is not None:
        for index, value in enumerate(values, start=1):
            place = _Place(source if len(values) == 1 else f"{source}: document {index}")
            yield from _checked(value, place, errors)
        return
    try:
        for index, document in enumerate(read_yaml(text), start=1):
            name = f"{source}: document {index} (line {document.line})"
            place = _Place(name, document.item_lines, source, index)
            yield from _checked(document.value, place, errors)
    except YamlError as error:
        errors.append(_error(f"{source}: line {error.line}", str(error)))
    except RecursionError:
        errors.append(_error(source, "nested too deeply"))


def _text(data: bytes, source: str, errors: list[FieldError]) -> str | None:
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            errors.append(_error(source, f"cannot be unpacked: {error}"))
            return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        errors.append(_error(source, f"not UTF-8 text: {error.reason} at byte {error.start}"))
        return None


def _json_values(text: str) -> list[Any] | None:
    """Return the JSON values in the text; None if the text is not entirely JSON."""
    try:
        return [msgspec.json.decode(text)]
    except msgspec.DecodeError:
        pass
    values = []
    decoder = json.JSONDecoder()
    position, end = 0, len(text)
    while position < end:
        if text[position].isspace():
            position += 1
            continue
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError:
            return None
        values.append(value)
    return values


def _checked(
    value: Any, place: _Place, errors: list[FieldError]
) -> Iterator[tuple[_Place, Document]]:
    if isinstance(value, dict):
        yield place, value
    elif value is not None:
        message = f"an object is expected, with apiVersion and kind, not {quoted(value)}"
        errors.append(_error(place.name, message))


# ------------------------------------------------------------------- documents to objects


def _is_configuration(document: Document) -> bool:
    api_version = document.get("apiVersion")
    return isinstance(api_version, str) and api_group(api_version) == CONFIGURATION_GROUP


def _is_snapshot(document: Document) -> bool:
    known = {*SNAPSHOT_KEYS, _SCHEDULER_CONFIG}
    return "kind" not in document and bool(document) and known.issuperset(document)


def _flattened(
    document: Document, place: _Place, errors: list[FieldError]
) -> Iterator[tuple[str, Document]]:
    """Yield the items of a list or a snapshot, or the object itself."""
    kind = document.get("kind")
    if _is_snapshot(document):
        for key, item_kind in SNAPSHOT_KEYS.items():
            head = {"apiVersion": _API_VERSION[item_kind], "kind": item_kind}
            yield from _items(document, key, head, place, errors)
        config = document.get(_SCHEDULER_CONFIG)
        if isinstance(config, dict):
            yield f"{place.name}: {_SCHEDULER_CONFIG}", config
        elif config is not None:
            message = invalid(config, "a KubeSchedulerConfiguration or null is expected")
            errors.append(_error(place.name, message, path=_SCHEDULER_CONFIG))
    elif isinstance(kind, str) and (
        kind == "List" or (kind.endswith("List") and "items" in document)
    ):
        item_kind = kind.removesuffix("List")
        head = {"apiVersion": document.get("apiVersion", ""), "kind": item_kind}
        if not item_kind:
            head = {}
        yield from _items(document, "items", head, place, errors)
    else:
        yield place.name, document


def _items(
    document: Document,
    key: str,
    head: dict[str, Any],
    place: _Place,
    errors: list[FieldError],
) -> Iterator[tuple[str, Document]]:
    entries = document.get(key)
    if entries is None:
        return
    if not isinstance(entries, list):
        errors.append(_error(place.name, invalid(entries, "a list is expected"), path=key))
        return
    for index, entry in enumerate(entries):
        item = place.item(index, key)
        if isinstance(entry, dict):
            # The items of typed lists, such as PodList, have no kind and apiVersion.
            yield item, entry if "kind" in entry and "apiVersion" in entry else head | entry
        else:
            errors.append(_error(item, invalid(entry, "an object is expected")))
