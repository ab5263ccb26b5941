"""Records of the changes of a cluster's objects: files with one change per line.

A line is `{"time": RFC 3339, "event": "Add" | "Update" | "Delete", "resource": object}`, as
kube-scheduler-simulator's recorder or any other watcher of a cluster writes it. The file may be
compressed with gzip. A recording of kwokctl is read as if it had such lines; see `kwok_recording`.

The order of the lines is the order of the changes. A recorder that watches each kind separately
may receive changes of two kinds slightly out of order, so `time` may step back between two lines:
`RecordLine.time_ns` is then that of the earlier line, and `seen_ns` is the time in the file. A
step back of more than `MAX_STEP_BACK_NS` is an error: the record is damaged or was merged
incorrectly.

A recorder that is stopped while it writes leaves a last line without a line feed. Such a line is
skipped, whether complete or not, as upstream's replayer does, and `Record` reports it.

Records are read completely or not at all: all errors are collected and raised together.

Upstream: kube-scheduler-simulator simulator/recorder/recorder.go, simulator/replayer/replayer.go;
kube-scheduler-simulator simulator/recorder/recorder.go.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, TypeAlias, cast, get_args

import msgspec

from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    KubernetesObject,
    NamespacedName,
    Object,
    api_group,
    decoding_message,
    encode,
    invalid,
    quoted,
    required,
    timestamp_ns,
    timestamp_text_nano,
    unsupported,
    utf8,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.store import Change, GroupKind
from podwright.simulation.files.document_cache import MAGIC, too_large, unpacked, unpacked_max
from podwright.simulation.files.documents import Place, Watch
from podwright.simulation.files.kwok_recording import is_recording, record_lines
from podwright.simulation.files.object_reader import ObjectReader

ChangeType: TypeAlias = Literal["Add", "Update", "Delete"]

_BEFORE_ALL_NS = -(2**63)
"""Precedes the time of every line; a record may start before 1970."""

MAX_STEP_BACK_NS = 1_000_000_000
"""The most that a line's time may precede that of an earlier line."""


class RecordLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One change.

    Attributes
    ----------
    line : int
        Its number in the file, from 1.
    time_ns : int
        When the change was observed, in nanoseconds since 1970; never less than in earlier lines.
    seen_ns : int
        The time in the file.
    event : str
        Add, Update or Delete. An Add of an existing object is an update.
    object : Object
        The object after the change; for Delete its last state. A Delete may contain only the name:
        then this is the object of the last line that had the whole object.
    old : Object or None
        The object before the change; None if there was none.
    """

    line: int
    time_ns: int
    seen_ns: int
    event: ChangeType
    object: Object
    old: Object | None = None


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """All changes of a record.

    Attributes
    ----------
    source : str
        The file's name.
    lines : tuple of RecordLine
        In the order of the file, which is the order of the changes.
    steps_back : int
        How many lines have a time before that of an earlier line.
    largest_step_back_ns : int
        The largest such difference.
    unterminated_line : int
        The number of the last line if it had no line feed and was skipped; else 0.
    warnings : tuple of str
        The unknown fields, a sentence for each kind.
    """

    source: str
    lines: tuple[RecordLine, ...] = ()
    steps_back: int = 0
    largest_step_back_ns: int = 0
    unterminated_line: int = 0
    warnings: tuple[str, ...] = ()


class _Written(msgspec.Struct, frozen=True, kw_only=True):
    time: str
    event: ChangeType
    resource: dict[str, Any]


_NAMES = frozenset({"name", "namespace", "uid", "resourceVersion"})
_WATCHED_LINES = 1_000
_DECODER = msgspec.json.Decoder(_Written)
_ObjectKey: TypeAlias = tuple[GroupKind, NamespacedName]


def load_record(path: str | Path, *, watch: Watch | None = None) -> Record:
    """Read a record from a file, compressed or not.

    Parameters
    ----------
    watch : callable, optional
        Receives the name of the file and the share of it that is read.

    Raises
    ------
    InputError
        With all errors in the file.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError([_error(str(path), f"cannot be read: {error.strerror}")]) from None
    return read_record(data, source=str(path), watch=watch)


def read_record(data: bytes, *, source: str, watch: Watch | None = None) -> Record:
    """Read a record.

    Parameters
    ----------
    data : bytes
        The content of the file, compressed or not.
    source : str
        The file's name, for errors.
    watch : callable, optional
        As for `load_record`.

    Raises
    ------
    InputError
        With all errors, each with its line and path: lines that are not JSON or lack a field,
        invalid objects, changes of objects that do not exist, times that step back by more than
        `MAX_STEP_BACK_NS`.
    """
    reading = RecordReader(source)
    lines: list[RecordLine] = []
    unterminated = 0
    data = _unpacked(data, source)
    read_bytes = 0
    for number, line, is_terminated in numbered_lines(data, source=source):
        read_bytes += len(line) + 1
        if watch is not None and number % _WATCHED_LINES == 1:
            watch(source, min(read_bytes / len(data), 1.0))
        if not is_terminated:
            unterminated = number
        elif line.strip() and (change := reading.take(number, line)) is not None:
            lines.append(change)
    if reading.errors:
        raise InputError(reading.errors)
    if not lines:
        message = "no changes in this file; a record has one JSON object per line: " + (
            '{"time": ..., "event": "Add", "resource": {...}}'
        )
        raise InputError([_error(source, message)])
    return Record(
        source=source,
        lines=tuple(lines),
        steps_back=reading.steps_back,
        largest_step_back_ns=reading.largest_step_back_ns,
        unterminated_line=unterminated,
        warnings=reading.warnings(),
    )


def numbered_lines(data: bytes, *, source: str) -> Iterator[tuple[int, bytes, bool]]:
    """Yield the lines of a file of JSON lines: number, content, whether a line feed ends it.

    Raises
    ------
    InputError
        The file is compressed and cannot be decompressed.
    """
    # Line by line: a caller may read only the first line of a large file.
    try:
        text = utf8(_unpacked(data, source))
    except UnicodeDecodeError as error:
        raise InputError([_error(source, decoding_message(error))]) from None
    if is_recording(text):
        yield from record_lines(text, source)
        return
    lines = io.BytesIO(text)
    for number, line in enumerate(lines, start=1):
        if line.endswith(b"\n"):
            yield number, line[:-1], True
        elif line.strip():
            yield number, line, False


def _unpacked(data: bytes, source: str) -> bytes:
    try:
        return unpacked(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError([_error(source, f"cannot be unpacked: {error}")]) from None


def _unpacked_lines(plain: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a compressed file, which may not become too large."""
    left = limit = unpacked_max(os.fstat(plain.fileno()).st_size)
    with gzip.GzipFile(fileobj=plain) as file:
        while line := file.readline(left + 1):
            left -= len(line)
            if left < 0:
                raise too_large(limit)
            yield line


def file_lines(path: str | Path) -> Iterator[tuple[int, bytes, bool]]:
    """Yield the lines of a file as `numbered_lines` does, without loading the whole file.

    Raises
    ------
    InputError
        The file cannot be read or decompressed.
    """
    source = str(path)
    try:
        with Path(path).open("rb") as plain:
            is_packed = plain.read(2) == MAGIC
            plain.seek(0)
            lines = _unpacked_lines(plain) if is_packed else plain
            for number, line in enumerate(lines, start=1):
                text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if text.strip() or text.endswith(b"\n"):
                    yield number, text.removesuffix(b"\n"), text.endswith(b"\n")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError([_error(source, f"cannot be unpacked: {error}")]) from None
    except OSError as error:
        raise InputError([_error(source, f"cannot be read: {error.strerror or error}")]) from None


def change_lines(path: str | Path) -> Iterator[tuple[int, bytes, bool]]:
    """Return the lines of a file of changes: as `file_lines`, or of a recording of kwokctl.

    Raises
    ------
    InputError
        As `file_lines` and `numbered_lines`.
    """
    for _, line, _ in file_lines(path):
        if line.strip():
            if line.lstrip().startswith(b"{"):
                break
            return numbered_lines(Path(path).read_bytes(), source=str(path))
    return file_lines(path)


def _error(source: str, message: str, *, path: str = "", value: Any = None) -> FieldError:
    return FieldError(source=source, path=path, message=message, value=value)


class RecordReader:
    """Reads a record line by line; keeps only the current objects.

    Parameters
    ----------
    source : str
        The file's name, for errors.
    reader : ObjectReader, optional
        Reads the objects, and has the errors and warnings.

    Attributes
    ----------
    errors : list of FieldError
        The errors in the lines so far.
    steps_back, largest_step_back_ns : int
        As in `Record`.
    """

    def __init__(self, source: str, reader: ObjectReader | None = None) -> None:
        self._reader = reader or ObjectReader()
        self.errors = self._reader.errors
        self.steps_back = 0
        self.largest_step_back_ns = 0
        self._source = source
        self._time_ns = _BEFORE_ALL_NS
        self._last: dict[_ObjectKey, Object] = {}
        self._is_first = True
        self._gone: set[_ObjectKey] = set()
        """Objects whose last change was invalid; later changes of them are not reported."""

    def warnings(self) -> tuple[str, ...]:
        """Return what is unknown in the lines so far."""
        return self._reader.warnings()

    def take(self, number: int, line: bytes) -> RecordLine | None:
        """Return the change in a line; None if it has errors that leave nothing of it.

        Raises
        ------
        InputError
            If the first line is not the start of a JSON object: the file is not a record.
        """
        place = f"{self._source}: line {number}"
        if self._is_first and not line.lstrip().startswith(b"{"):
            raise InputError([_error(place, "not a record, which has one JSON object per line")])
        self._is_first = False
        written = self._written(line, place)
        if written is None:
            return None
        seen_ns = self._seen_ns(written.time, place)
        key = self._key(written.resource, place)
        if key is None:
            return None
        obj = self._object(written, key, place)
        if obj is None:
            return None
        old = self._last.get(key)
        if written.event == "Delete":
            self._last.pop(key, None)
        else:
            self._last[key] = obj
        # If only the time is wrong, the object still exists for the lines that follow.
        if seen_ns is None:
            return None
        return RecordLine(
            line=number,
            time_ns=self._time_ns,
            seen_ns=seen_ns,
            event=written.event,
            object=obj,
            old=old,
        )

    def _written(self, line: bytes, place: str) -> _Written | None:
        try:
            try:
                return _DECODER.decode(line)
            except msgspec.ValidationError:
                # msgspec reports the first problem only; all of them are collected.
                self.errors += _problems(msgspec.json.decode(line), place)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self.errors.append(_error(place, f"not JSON: {error}"))
        except RecursionError:
            self.errors.append(_error(place, "nested too deeply"))
        return None

    def _seen_ns(self, text: str, place: str) -> int | None:
        seen_ns = timestamp_ns(text)
        if seen_ns is None:
            detail = "must be a time, such as 2026-03-02T10:11:12.5Z"
            self.errors.append(_error(place, invalid(text, detail), path="time", value=text))
            return None
        step_ns = self._time_ns - seen_ns
        if step_ns > MAX_STEP_BACK_NS:
            message = invalid(
                text,
                f"{step_ns / 1e9:.3f} s before an earlier line; changes must be in the order in "
                f"which they happened (up to {MAX_STEP_BACK_NS / 1e9:g} s is tolerated)",
            )
            self.errors.append(_error(place, message, path="time", value=text))
            return None
        if step_ns > 0:
            self.steps_back += 1
            self.largest_step_back_ns = max(self.largest_step_back_ns, step_ns)
        else:
            self._time_ns = seen_ns
        return seen_ns

    def _key(self, document: dict[str, Any], place: str) -> _ObjectKey | None:
        """Return the key of the object in a document; None if it is invalid."""
        api_version, kind, metadata = map(document.get, ("apiVersion", "kind", "metadata"))
        metadata = metadata if isinstance(metadata, dict) else {}
        name, namespace = metadata.get("name"), metadata.get("namespace") or ""
        fields = {"apiVersion": api_version, "kind": kind, "metadata.name": name}
        wrong = [
            _error(place, required(), path=f"resource.{path}", value=value)
            for path, value in fields.items()
            if not isinstance(value, str) or not value
        ]
        if not isinstance(namespace, str):
            message = invalid(namespace, "must be a string")
            wrong.append(_error(place, message, path="resource.metadata.namespace"))
        self.errors += wrong
        if wrong:
            return None
        group_kind = (api_group(cast(str, api_version)), cast(str, kind))
        if not namespace and built_in().is_namespaced(*group_kind):
            namespace = "default"
        return group_kind, f"{namespace}/{name}" if namespace else cast(str, name)

    def _object(self, written: _Written, key: _ObjectKey, place: str) -> Object | None:
        """Return the object of a line; None if it has errors, which are collected."""
        old = self._last.get(key)
        if old is None and written.event != "Add":
            if key not in self._gone:
                message = (
                    f"{written.event} of {key[0][1]} {key[1]}, which does not exist: "
                    "no earlier line adds it"
                )
                self.errors.append(_error(place, message, path="resource.metadata.name"))
                self._gone.add(key)
            return None
        # A recorder may write only the name of a deleted object; the last version stands for it.
        if written.event == "Delete" and old is not None and _is_a_name_only(written.resource):
            return old
        obj = self._reader.read(written.resource, Place(place), is_stored=True, path="resource")
        if obj is None:
            if old is None:
                self._gone.add(key)
            return None
        self._gone.discard(key)
        return obj


def _is_a_name_only(document: dict[str, Any]) -> bool:
    written = {"apiVersion", "kind", "metadata"}.issuperset(document)
    return written and _NAMES.issuperset(document["metadata"])


def _problems(value: Any, place: str) -> list[FieldError]:
    """Return the errors in a line that is valid JSON but not a valid change."""
    if not isinstance(value, dict):
        return [_error(place, f"must be an object, not {quoted(value)}")]
    events = get_args(ChangeType)
    expected: dict[str, tuple[type, str]] = {
        "time": (str, "must be a string"),
        "event": (str, "must be a string"),
        "resource": (dict, "must be an object"),
    }
    found = []
    for name, (cls, detail) in expected.items():
        given = value.get(name)
        if given is None:
            found.append(_error(place, required(), path=name))
        elif not isinstance(given, cls):
            found.append(_error(place, invalid(given, detail), path=name, value=given))
        elif name == "event" and given not in events:
            found.append(_error(place, unsupported(given, events), path=name, value=given))
    return found


# The lines of a record, written as `record.py` reads them.

_LEFT_OUT: Final[frozenset[GroupKind]] = frozenset(
    {
        ("", "Event"),
        ("events.k8s.io", "Event"),
        ("coordination.k8s.io", "Lease"),
        ("", "Secret"),
        ("", "ConfigMap"),
    }
)


def is_recorded(kind: GroupKind) -> bool:
    """Whether a record contains the objects of a kind.

    Events and leases change all the time and no decision depends on them. Secrets and config maps
    may have confidential data, which must not be in a file that is passed on.
    """
    return kind not in _LEFT_OUT


def added_line(obj: KubernetesObject, now_ns: int) -> bytes:
    """Return the line of an object that exists when the record starts."""
    return _line("Add", obj, now_ns)


def change_line(change: Change, now_ns: int) -> bytes:
    """Return the line of a change.

    Parameters
    ----------
    change : Change
    now_ns : int
        When it was made, in nanoseconds since 1970.
    """
    if change.new is None:
        return _line("Delete", change.object, now_ns)
    return _line("Add" if change.old is None else "Update", change.new, now_ns)


def _line(event: ChangeType, obj: KubernetesObject, now_ns: int) -> bytes:
    document = encode(obj)
    metadata = document.get("metadata") or {}
    if "managedFields" in metadata:
        kept = {key: value for key, value in metadata.items() if key != "managedFields"}
        document = {**document, "metadata": kept}
    written = {"time": timestamp_text_nano(now_ns), "event": event, "resource": document}
    return msgspec.json.encode(written) + b"\n"
