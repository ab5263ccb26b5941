"""From the bytes of a file to the documents in it, with their places.

Supported are YAML and JSON (optionally compressed with gzip), one or several documents, `List` and
`PodList` as kubectl prints them, the snapshot of kube-scheduler-simulator, and the tables of the
openb trace. The format is detected from the content, not from the name.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import Any, Final, NamedTuple, TypeAlias

from podwright.apimachinery.objects import (
    OPENB_HEADERS,
    Document,
    FieldError,
    TableError,
    YamlDocument,
    YamlError,
    decoding_message,
    invalid,
    is_openb,
    quoted,
    read_openb,
    read_yaml,
    utf8,
    yaml_line_of,
)
from podwright.apimachinery.schema import built_in
from podwright.simulation.files.document_cache import DocumentCache, unpacked
from podwright.simulation.files.json_documents import (
    Duplicate,
    duplicate_keys,
    is_from_server,
    json_error,
    json_values,
    line_at,
    read_json_list,
)
from podwright.simulation.files.kwok_recording import with_times

Watch: TypeAlias = Callable[[str, float], None]
"""Receives the name of a file and the share of it that is read."""

CONFIGURATION_GROUP = "kubescheduler.config.k8s.io"

_SCHEDULER_CONFIG = "schedulerConfig"
_WATCHED_DOCUMENTS: Final = 100
_MOST_LINES: Final = 5_000
"""The lines of a document that are read to find that of a field."""
_ITEM_PATH: Final = re.compile(r"items\[([0-9]+)\]\.?")
_JSON_START: Final = re.compile(rb"\s*[{\[]")
_JSON_OBJECT: Final = re.compile(rb'\s*(?:\[\s*)?\{\s*"')
_TABLE: Final = re.compile(r"NAME(SPACE)? ")
_ZIP: Final = b"PK\x03\x04"
_TAR: Final = b"ustar"
_TAR_AT: Final = 257
_LONGEST_JSON: Final = 1_000_000
"""The length of a JSON text in which lines of fields are found."""
_CONFIGURATION_HEAD = {"apiVersion": CONFIGURATION_GROUP}
"""Marks a configuration that was exported without a version."""


def _error(source: str, message: str, *, path: str = "") -> FieldError:
    return FieldError(source=source, path=path, message=message)


# --------------------------------------------------------------------- bytes to documents


class Lines:
    """The text of a file, read and split when the line of a field is first needed."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text

    @cached_property
    def _lines(self) -> list[str]:
        return self._text().split("\n")

    def line_of(self, path: str, first: int) -> int:
        """Return the line of a field of the document that starts on a line; 0 if unknown."""
        part = self._lines[first - 1 : first - 1 + _MOST_LINES]
        found = yaml_line_of("\n".join(part), path)
        return first + found - 1 if found else 0


class ListLines(Lines):
    """The text of a JSON list, of which an item is read when the line of a field is needed."""

    def __init__(self, data: bytes, spans: list[tuple[int, int]]) -> None:
        super().__init__(data.decode)
        self._data = data
        self._spans = spans

    def line_of(self, path: str, first: int) -> int:
        """Return the line of a field of an item; 0 if unknown."""
        item = _ITEM_PATH.match(path)
        if item is None:
            return 0
        start, end = self._spans[int(item[1])]
        line = line_at(self._data, start)
        found = yaml_line_of(self._data[start:end].decode(), path[item.end() :]) if line else 0
        return line + found - 1 if found else 0


class Place:
    """The location of a document, for errors.

    Parameters
    ----------
    source : str
        The file.
    lines : Lines, optional
        Its lines.
    line : int
        The line on which the document starts, from 1; 0 if it is not known.
    index : int
        The position of the document in a file of several, from 1; 0 in other files.
    item : str
        The position in a list of the document: `items[3]`.
    prefix : str
        The path of the item for `lines`, if only the line of the whole document is known.
    """

    __slots__ = ("_line", "_lines", "_prefix", "index", "item", "source")

    def __init__(
        self,
        source: str,
        lines: Lines | None = None,
        line: int = 0,
        *,
        index: int = 0,
        item: str = "",
        prefix: str = "",
    ) -> None:
        self.source = source
        self.index = index
        self.item = item
        self._lines = lines
        self._line = line
        self._prefix = prefix

    def __str__(self) -> str:
        return self._name(self._line if self.index and not self._prefix else 0)

    def _name(self, line: int) -> str:
        parts = [self.source]
        if self.index:
            parts.append(f"document {self.index}" + (f" (line {line})" if line else ""))
        elif line:
            parts.append(f"line {line}")
        if self.item:
            parts.append(self.item)
        return ": ".join(parts)

    def of(self, path: str) -> str:
        """Return the name with the line of a field instead of that of the document."""
        if self._lines is None or not self._line or not path:
            return str(self)
        whole = f"{self._prefix}.{path}" if self._prefix else path
        line = self._lines.line_of(whole, self._line)
        return self._name(line) if line else str(self)

    def at_item(self, key: str, index: int, line: int) -> Place:
        """Return the place of an item; `line` is 0 if only the document's line is known."""
        name = f"{key}[{index}]"
        return Place(
            self.source,
            self._lines,
            line or self._line,
            index=self.index,
            item=f"{self.item}: {name}" if self.item else name,
            prefix="" if line else f"{self._prefix}.{name}" if self._prefix else name,
        )


class Found(NamedTuple):
    """A document of a file.

    Attributes
    ----------
    place : Place
    document : dict
    is_stored : bool
        Whether the document was in an API server: an item of a snapshot. Documents of a trace are
        generated, and count as such.
    """

    place: Place
    document: Document
    is_stored: bool = False


def read_documents(
    data: bytes,
    source: str,
    errors: list[FieldError],
    duplicates: list[FieldError],
    *,
    watch: Watch | None = None,
    cache: DocumentCache | None = None,
) -> Iterator[Found]:
    """Yield the documents of a file; lists and snapshots are taken apart.

    Parameters
    ----------
    data : bytes
        The content, compressed or not.
    source : str
        The file's name, for errors.
    errors : list of FieldError, written
        Receives what is not a document.
    duplicates : list of FieldError, written
        Receives the keys that a mapping has twice; the last value applies.
    watch : callable, optional
        Receives how much of the file is read.
    cache : DocumentCache, optional
        Keeps the documents of a YAML file; the source is its path.
    """
    if watch is not None:
        watch(source, 0.0)
    entry = None if cache is None or data[:1] in {b"{", b"["} else cache.entry(source, data)
    kept = None if entry is None else entry.read()
    if kept is not None:
        # The text is not needed but for the lines of errors.
        kept_lines = Lines(lambda: _text(_unpacked(data, source, []) or b"", source, []) or "")
        yield from _yaml_documents(kept_lines, source, kept, errors, duplicates)
        return
    unpacked = _unpacked(data, source, errors)
    if unpacked is None:
        return
    # Text that only starts like JSON, such as YAML in flow style, is read as YAML.
    if _JSON_START.match(unpacked):
        found = _json_documents(unpacked, source, errors, duplicates, watch)
        if found is not None:
            yield from found
            return
    text = _text(unpacked, source, errors)
    if text is None:
        return
    if is_openb(text) or source.removesuffix(".gz").endswith(".csv"):
        yield from _table_documents(text, source, errors)
        return
    parsed = read_yaml(
        text, allow_duplicates=True, watch=None if watch is None else partial(watch, source)
    )
    documents = parsed if entry is None else entry.recorded(parsed)
    try:
        yield from _yaml_documents(Lines(lambda: text), source, documents, errors, duplicates)
    except YamlError as error:
        line, message = error.line, str(error)
        if _JSON_OBJECT.match(unpacked):
            line, message = json_error(unpacked) or (line, message)
        errors.append(_error(f"{source}: line {line}", message))


def _table_documents(text: str, source: str, errors: list[FieldError]) -> Iterator[Found]:
    if not is_openb(text):
        message = f"not a table of openb, which starts with {OPENB_HEADERS}"
        hint = "`podwright trace` reads other tables with --columns"
        errors.append(_error(f"{source}: line 1", f"{message}; {hint}"))
        return
    for line, row in read_openb(text):
        place = Place(f"{source}: line {line}")
        if isinstance(row, TableError):
            errors.append(_error(str(place), invalid(row.value, str(row)), path=row.column))
        else:
            yield Found(place, row, is_stored=True)


def _json_documents(
    data: bytes,
    source: str,
    errors: list[FieldError],
    duplicates: list[FieldError],
    watch: Watch | None,
) -> Iterator[Found] | None:
    """Return the documents of a JSON text; None if it is not entirely JSON."""
    listed = read_json_list(data)
    if listed is not None:
        duplicates += _duplicate_errors(listed.duplicates, source)
        place = Place(source, ListLines(data, listed.spans), 1)
        found = _flattened(listed.document, place, (), errors)
        return _watched(found, [listed.document], source, watch)
    try:
        values = json_values(data)
    except RecursionError:
        errors.append(_error(source, "nested too deeply"))
        return iter(())
    if values is None:
        return None
    if not all(map(_is_of_server, values)):
        duplicates += _duplicate_errors(duplicate_keys(data, *values), source)
    # The lines of a long file are not worth reading it again as YAML.
    is_short = len(values) == 1 and b"\n" in data.strip() and len(data) < _LONGEST_JSON
    lines = Lines(data.decode) if is_short else None
    several = (
        found
        for index, value in enumerate(values, start=1)
        for found in _of_value(
            value,
            Place(source, lines, int(is_short), index=index if len(values) > 1 else 0),
            (),
            errors,
        )
    )
    return _watched(several, values, source, watch)


def _watched(
    documents: Iterator[Found], values: list[Any], source: str, watch: Watch | None
) -> Iterator[Found]:
    """Report the share of the documents that are read; parsing counts as half of the work."""
    if watch is None:
        return documents
    return _reported(documents, sum(map(_length, values)), partial(watch, source))


def _reported(
    documents: Iterator[Found], count: int, watch: Callable[[float], None]
) -> Iterator[Found]:
    for index, found in enumerate(documents):
        if index % _WATCHED_DOCUMENTS == 0:
            watch(0.5 + 0.5 * min(index / count, 1.0))
        yield found


def _length(value: Any) -> int:
    """Return the number of documents in a value, lists in lists not counted."""
    if isinstance(value, dict):
        lists = [entry for entry in value.values() if isinstance(entry, list)]
        return max(sum(map(len, lists)), 1)
    return len(value) if isinstance(value, list) else 1


def _yaml_documents(
    lines: Lines,
    source: str,
    documents: Iterable[YamlDocument],
    errors: list[FieldError],
    duplicates: list[FieldError],
) -> Iterator[Found]:
    try:
        for index, document in enumerate(documents, start=1):
            duplicates += _duplicate_errors(document.duplicates, source)
            place = Place(source, lines, document.line, index=index)
            yield from _of_value(document.value, place, document.item_lines, errors)
    except RecursionError:
        errors.append(_error(source, "nested too deeply"))


def _of_value(
    value: Any, place: Place, item_lines: tuple[int, ...], errors: list[FieldError]
) -> Iterator[Found]:
    if isinstance(value, dict):
        yield from _flattened(value, place, item_lines, errors)
    elif isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        for index, entry in enumerate(value):
            yield from _flattened(entry, place.at_item("", index, 0), (), errors)
    elif value is not None:
        message = f"must be an object, with apiVersion and kind, not {quoted(value)}"
        if _TABLE.match(str(value)):
            message = f"{message}; kubectl prints objects with -o yaml"
        errors.append(_error(str(place), message))


def _unpacked(data: bytes, source: str, errors: list[FieldError]) -> bytes | None:
    try:
        content = unpacked(data)
        if content[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR or content.startswith(_ZIP):
            errors.append(_error(source, "an archive: unpack it, and name its folder"))
            return None
        return with_times(utf8(content))
    except (OSError, EOFError, zlib.error) as error:
        errors.append(_error(source, f"cannot be unpacked: {error}"))
        return None
    except UnicodeDecodeError as error:
        errors.append(_error(source, decoding_message(error)))
        return None


def _text(data: bytes, source: str, errors: list[FieldError]) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        errors.append(_error(source, decoding_message(error)))
        return None


def _duplicate_errors(duplicates: Iterable[Duplicate], source: str) -> Iterator[FieldError]:
    for line, key in duplicates:
        place = f"{source}: line {line}" if line else source
        yield _error(place, f'duplicate key "{key}"')


def _is_of_server(value: Any) -> bool:
    """Whether an API server wrote a value: it has no key twice."""
    if not isinstance(value, dict):
        return False
    items = value.get("items")
    if isinstance(items, list):
        return bool(items) and all(map(_is_of_server, items))
    return is_from_server(value)


# ------------------------------------------------------------------ lists and snapshots


def is_configuration(document: Document) -> bool:
    """Whether a document is a KubeSchedulerConfiguration."""
    api_version = document.get("apiVersion")
    return isinstance(api_version, str) and api_version.partition("/")[0] == CONFIGURATION_GROUP


def _is_snapshot(document: Document) -> bool:
    known = {*built_in().snapshot_keys, _SCHEDULER_CONFIG}
    return "kind" not in document and bool(document) and known.issuperset(document)


def _flattened(
    document: Document, place: Place, item_lines: tuple[int, ...], errors: list[FieldError]
) -> Iterator[Found]:
    """Yield the items of a list or a snapshot, or the object itself."""
    kind = document.get("kind")
    if _is_snapshot(document):
        for key, listed in built_in().snapshot_keys.items():
            head = {"apiVersion": listed.api_version, "kind": listed.row.kind}
            for found in _items(document, key, head, place, errors):
                yield found._replace(is_stored=True)
        config = document.get(_SCHEDULER_CONFIG)
        if isinstance(config, dict):
            config_place = Place(f"{place}: {_SCHEDULER_CONFIG}")
            yield Found(config_place, _CONFIGURATION_HEAD | config, is_stored=True)
        elif config is not None:
            message = invalid(config, "must be a KubeSchedulerConfiguration or null")
            errors.append(_error(str(place), message, path=_SCHEDULER_CONFIG))
    elif isinstance(kind, str) and (
        kind == "List" or (kind.endswith("List") and "items" in document)
    ):
        item_kind = kind.removesuffix("List")
        head = {"apiVersion": document.get("apiVersion", ""), "kind": item_kind}
        if not item_kind:
            head = {}
        yield from _items(document, "items", head, place, errors, item_lines)
    else:
        yield Found(place, document)


def _items(
    document: Document,
    key: str,
    head: dict[str, Any],
    place: Place,
    errors: list[FieldError],
    item_lines: tuple[int, ...] = (),
) -> Iterator[Found]:
    entries = document.get(key)
    if entries is None:
        return
    if not isinstance(entries, list):
        errors.append(_error(place.of(key), invalid(entries, "must be a list"), path=key))
        return
    for index, entry in enumerate(entries):
        item = place.at_item(key, index, item_lines[index] if index < len(item_lines) else 0)
        if not isinstance(entry, dict):
            errors.append(_error(str(item), invalid(entry, "must be an object")))
            continue
        # The items of typed lists, such as PodList, have no kind and apiVersion.
        whole = entry if "kind" in entry and "apiVersion" in entry else head | entry
        if whole.get("kind") == "List":
            yield from _flattened(whole, item, (), errors)
        else:
            yield Found(item, whole)
