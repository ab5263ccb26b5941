"""Writes the changes of a cluster to a file, as `podwright.simulation.files.read_record` reads it.

A line is `{"time": RFC 3339, "event": "Add" | "Update" | "Delete", "resource": object}`; a Delete
has the name only. A file that is complete by itself starts with an Add of each object.

Upstream: kube-scheduler-simulator simulator/recorder/recorder.go; kube-scheduler-simulator
simulator/replayer/replayer.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

import msgspec

from podwright._private_files import open_private
from podwright.apimachinery.objects import (
    UNDECODABLE,
    Document,
    FieldError,
    InputError,
    PodwrightError,
    timestamp_ns,
    timestamp_text_nano,
)
from podwright.online.client.cluster import ChangedObject, Meta
from podwright.online.sync.source import SourceChange
from podwright.online.sync.source_kinds import SourceKind, recorded_kinds
from podwright.simulation.files import change_lines, file_lines

# Applies a record of changes to a destination, at its own pace or as fast as possible.


class RecordedChange(msgspec.Struct, frozen=True):
    """A line of a record.

    Attributes
    ----------
    line : int
        Its number in the file, from 1.
    time_ns : int
        Since 1970.
    kind : str
        Of the object.
    change : SourceChange or None
        None for an object that the record has not added before, and for a kind that is not
        replayed.
    is_replayed : bool
        Whether the kind is replayed: what decisions depend on is.
    text : str
        The change in messages, such as `Update Pod default/web`.
    """

    line: int
    time_ns: int
    kind: str
    change: SourceChange | None
    is_replayed: bool
    text: str


class _Resource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    kind: str
    api_version: str = ""
    metadata: Meta = Meta()


class _LineRecordReplay(msgspec.Struct, frozen=True, kw_only=True):
    time: str
    event: Literal["Add", "Update", "Delete"]
    resource: msgspec.Raw


_LINES_RECORD_REPLAY = msgspec.json.Decoder(_LineRecordReplay)
_RESOURCES = msgspec.json.Decoder(_Resource)


def recorded_changes(path: Path) -> Iterator[RecordedChange]:
    """Yield the changes of a file, compressed or not.

    A last line without a line feed is skipped, as upstream's replayer does.

    Raises
    ------
    InputError
        The file cannot be read, or a line is not a change.
    """
    # The mirror takes Services and owners of pods for the selectors that they imply.
    kinds = {(kind.api_version, kind.kind): kind for kind in recorded_kinds()}
    known: dict[tuple[str, str], str] = {}
    for number, text, is_terminated in change_lines(path):
        if not is_terminated or not text.strip():
            continue
        try:
            line = _LINES_RECORD_REPLAY.decode(text)
            resource = _RESOURCES.decode(line.resource)
        except UNDECODABLE as error:
            message = f"this is not a change of an object: {error}"
            raise _error(path, number, message) from error
        time_ns = timestamp_ns(line.time)
        if time_ns is None or not resource.metadata.name:
            raise _error(path, number, "a change needs a time and the name of its object")
        kind = kinds.get((resource.api_version, resource.kind))
        name = f"{line.event} {resource.kind} {resource.metadata.key}"
        change = None if kind is None else _change(kind, line, resource.metadata, known)
        is_replayed = kind is not None
        yield RecordedChange(number, time_ns, resource.kind, change, is_replayed, name)


def _change(
    kind: SourceKind, line: _LineRecordReplay, meta: Meta, known: dict[tuple[str, str], str]
) -> SourceChange | None:
    place = (kind.name, meta.key)
    if line.event == "Add":
        known[place] = meta.uid
    elif place not in known:
        return None
    elif line.event == "Delete":
        meta = msgspec.structs.replace(meta, uid=known.pop(place))
    return SourceChange(kind, ChangedObject(line.event, meta, bytes(line.resource)), 0)


def _error(path: Path, number: int, message: str) -> InputError:
    return InputError([FieldError(source=str(path), path=f"line {number}", message=message)])


class UnwritableClusterRecord(PodwrightError):  # noqa: N818 - named for what it is
    """A record that cannot be written or resumed; the text says why."""


class _Recorded(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: Meta = Meta()


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    time: str = ""
    event: str
    resource: _Recorded


_LINES: Final = msgspec.json.Decoder(_Line)
_Key = tuple[str, str, str]
_IDENTITY: Final[_Key] = ("v1", "Namespace", "kube-system")
"""Its uid is that of a cluster."""


class ClusterRecord:
    """A record that is written.

    Parameters
    ----------
    path : Path
        A new file; with `resumes` an existing one.
    resumes : bool
        Whether to append to the file: the objects that changed meanwhile, and what follows.
    is_redacted : bool
    largest_bytes : int
        Start another file when one is as large; 0 for one file. Each file is a record by itself.
    kept_files : int
        The most files; the oldest is deleted.

    Attributes
    ----------
    lines : int
        How many lines were written.
    files : list of Path
        The files, the oldest first.
    last_ns : int
        The time of the last line of a file that is resumed; 0 for a new one.

    Raises
    ------
    UnwritableClusterRecord
    """

    def __init__(
        self,
        path: Path,
        *,
        resumes: bool = False,
        is_redacted: bool = True,
        largest_bytes: int = 0,
        kept_files: int = 0,
    ) -> None:
        self.lines = 0
        self.files = [path]
        self.last_ns = 0
        self._path = path
        self._is_redacted = is_redacted
        self._largest_bytes = largest_bytes
        self._kept_files = kept_files
        self._number = 1
        self._bytes = 0
        # The last state of each object that a file has; bodies only if another file may follow.
        self._present: dict[_Key, tuple[Meta, bytes]] = {}
        self._listed: set[_Key] | None = set() if resumes else None
        if resumes:
            self._present = self._resumed(path)
        elif path.exists():
            raise UnwritableClusterRecord(
                f"{path}: exists already; continue it with --resume, or name another file"
            )
        self._file = self._open(path, appends=resumes)
        if resumes:
            self._bytes = path.stat().st_size

    def append(self, changes: Sequence[SourceChange], now_ns: int) -> None:
        """Write changes.

        Parameters
        ----------
        changes : sequence of SourceChange
        now_ns : int
            The time of the lines, in nanoseconds since 1970.

        Raises
        ------
        UnwritableClusterRecord
            For example because the disk is full, or a resumed record is of another cluster.
        """
        lines = [line for each in changes for line in self._lines_of(each, now_ns)]
        self._write(lines)
        if self._largest_bytes and self._bytes >= self._largest_bytes:
            self._rotate(now_ns)

    def synced(
        self, kinds: Collection[SourceKind], namespaces: Collection[str], now_ns: int
    ) -> None:
        """Write the deletions that a resumed record has missed.

        Parameters
        ----------
        kinds : collection of SourceKind
            Those that were listed: nothing is known of others.
        namespaces : collection of str
            Those whose objects were listed; none for all.
        now_ns : int
            As for `append`.
        """
        if self._listed is None:
            return
        read = {(kind.api_version, kind.kind): kind for kind in kinds}
        gone = []
        for key, (meta, _) in self._present.items():
            kind = read.get(key[:2])
            if kind is None or key in self._listed:
                continue
            if not namespaces or not kind.is_namespaced or meta.namespace in namespaces:
                gone.append(key)
        self._listed = None
        self._write([self._deleted(key, now_ns) for key in gone])

    def close(self) -> None:
        """Close the file; what could not be written is reported by the write that failed."""
        with suppress(OSError):
            self._file.close()

    def _lines_of(self, each: SourceChange, now_ns: int) -> Iterable[bytes]:
        kind, change = each.kind, each.change
        key = (kind.api_version, kind.kind, change.meta.key)
        if change.event == "Delete":
            if key in self._present:
                yield self._deleted(key, now_ns)
            return
        event = change.event
        if self._listed is not None and change.is_initial:
            self._listed.add(key)
        known = self._present.get(key)
        if known is not None:
            if known[0].uid != change.meta.uid:
                if self._listed is not None and key == _IDENTITY:
                    raise UnwritableClusterRecord(
                        f"{self._path}: is a record of another cluster, whose namespace "
                        "kube-system has another uid; record into a new file, or name the cluster "
                        "of the record with --context or --kubeconfig"
                    )
                yield self._deleted(key, now_ns)
                event = "Add"
            elif known[0].resource_version == change.meta.resource_version:
                return
            else:
                event = "Update"
        body = msgspec.json.encode(self._written(kind, msgspec.json.decode(change.body)))
        kept = msgspec.structs.replace(change.meta, annotations=None)
        self._present[key] = (kept, body if self._largest_bytes else b"")
        yield _line(event, body, now_ns)

    def _written(self, kind: SourceKind, obj: Document) -> Document:
        obj = {**obj, "apiVersion": kind.api_version, "kind": kind.kind}
        if self._is_redacted:
            obj = redacted(obj)
        first: Document = {"apiVersion": obj.pop("apiVersion"), "kind": obj.pop("kind")}
        return {**first, **obj}

    def _deleted(self, key: _Key, now_ns: int) -> bytes:
        api_version, kind, _ = key
        meta, _ = self._present.pop(key)
        resource: dict[str, Any] = {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": meta.name, "namespace": meta.namespace},
        }
        return _line("Delete", msgspec.json.encode(resource), now_ns)

    def _write(self, lines: Iterable[bytes]) -> None:
        several = list(lines)
        if not several:
            return
        data = b"".join(several)
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise self._unwritable(self._path, error) from error
        self._bytes += len(data)
        self.lines += len(several)

    def _rotate(self, now_ns: int) -> None:
        """Start another file with all present objects."""
        self._file.close()
        self._number += 1
        path = self._path.with_name(f"{self._path.stem}-{self._number}{self._path.suffix}")
        self._file = self._open(path)
        self._bytes = 0
        self.files.append(path)
        self._write([_line("Add", body, now_ns) for _, body in self._present.values()])
        if self._kept_files and len(self.files) > self._kept_files:
            self.files.pop(0).unlink(missing_ok=True)

    def _open(self, path: Path, *, appends: bool = False) -> BinaryIO:
        try:
            return open_private(path, "ab" if appends else "xb")
        except OSError as error:
            raise self._unwritable(path, error) from error

    def _resumed(self, path: Path) -> dict[_Key, tuple[Meta, bytes]]:
        """Return the objects at the end of a file; removes a last line that is incomplete."""
        if self._largest_bytes:
            raise UnwritableClusterRecord("--resume has no effect with --rotate: start a new file")
        present: dict[_Key, tuple[Meta, bytes]] = {}
        length, time = 0, ""
        if path.suffix == ".gz":
            raise UnwritableClusterRecord(
                f"{path}: a compressed record cannot be resumed; unpack it"
            )
        for number, text, is_terminated in file_lines(path):
            if not is_terminated:
                break
            length += len(text) + 1
            if not text.strip():
                continue
            try:
                line = _LINES.decode(text)
            except UNDECODABLE as error:
                raise UnwritableClusterRecord(
                    f"{path}: line {number}: this is not a record that can be resumed: {error}"
                ) from error
            time = line.time
            key = (line.resource.api_version, line.resource.kind, line.resource.metadata.key)
            if line.event == "Delete":
                present.pop(key, None)
            else:
                meta = msgspec.structs.replace(line.resource.metadata, annotations=None)
                present[key] = (meta, b"")
        try:
            with path.open("r+b") as file:
                file.truncate(length)
        except OSError as error:
            raise self._unwritable(path, error) from error
        self.last_ns = timestamp_ns(time) or 0
        return present

    def _unwritable(self, path: Path, error: OSError) -> UnwritableClusterRecord:
        return UnwritableClusterRecord(f"{path}: cannot be written: {error.strerror or error}")


def _line(event: str, resource: bytes, now_ns: int) -> bytes:
    head = f'{{"time":"{timestamp_text_nano(now_ns)}","event":"{event}","resource":'
    return head.encode() + resource + b"}\n"


# What a record leaves out of an object: what is confidential, and what no decision depends on.

REDACTED: Final = "redacted"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


def redacted(obj: Document) -> Document:
    """Return an object without its confidential fields.

    These are managed fields, the last applied configuration and, of containers, the values of
    environment variables, commands and arguments, also those of probes and hooks with their HTTP
    headers.
    """
    metadata = {k: v for k, v in obj["metadata"].items() if k != "managedFields"}
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = {k: v for k, v in annotations.items() if k != _LAST_APPLIED}
    found = {**obj, "metadata": metadata}
    if "spec" in obj and isinstance(obj["spec"], dict):
        found["spec"] = _spec(obj["spec"])
    return found


def _spec(spec: Document) -> Document:
    found = dict(spec)
    for field in _CONTAINERS:
        if found.get(field):
            found[field] = [_container(each) for each in found[field]]
    template = found.get("template")
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        # The templates of workloads have the same containers, and a copy of the annotation.
        metadata = {"metadata": template.get("metadata") or {}}
        found["template"] = {**redacted({**template, **metadata})}
    return found


def _container(container: Document) -> Document:
    found = dict(container)
    if found.get("env"):
        found["env"] = [_variable(each) for each in found["env"]]
    for field in ("command", "args"):
        if found.get(field):
            found[field] = [REDACTED]
    for field in _PROBES:
        if found.get(field):
            found[field] = _action(found[field])
    if found.get("lifecycle"):
        hooks = found["lifecycle"].items()
        found["lifecycle"] = {k: _action(v) if isinstance(v, dict) else v for k, v in hooks}
    return found


def _action(action: Document) -> Document:
    """Return a probe or a hook without its command and headers."""
    found = dict(action)
    if found.get("exec"):
        found["exec"] = {"command": [REDACTED]}
    if (found.get("httpGet") or {}).get("httpHeaders"):
        headers = [{**each, "value": REDACTED} for each in found["httpGet"]["httpHeaders"]]
        found["httpGet"] = {**found["httpGet"], "httpHeaders": headers}
    return found


def _variable(variable: Any) -> Document:
    kept: Document = {"name": variable["name"]}
    return {**kept, "value": REDACTED} if "value" in variable else dict(variable)
