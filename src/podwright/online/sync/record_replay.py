"""Applies a record of changes to a destination, at its own pace or as fast as possible.

Upstream: kube-scheduler-simulator simulator/replayer/replayer.go
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from podwright.apimachinery.objects import UNDECODABLE, FieldError, InputError, timestamp_ns
from podwright.online.client.cluster import ChangedObject, Meta
from podwright.online.sync.change_merge import SourceChange
from podwright.online.sync.source_kinds import SourceKind, source_kinds
from podwright.simulation.files import file_lines


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


class _Resource(msgspec.Struct, frozen=True, rename="camel"):
    kind: str
    api_version: str = ""
    metadata: Meta = Meta()


class _Line(msgspec.Struct, frozen=True):
    time: str
    event: Literal["Add", "Update", "Delete"]
    resource: msgspec.Raw


_LINES = msgspec.json.Decoder(_Line)
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
    followed = source_kinds(has_workloads=True)
    kinds = {(kind.api_version, kind.kind): kind for kind in followed}
    known: dict[tuple[str, str], str] = {}
    for number, text, is_terminated in file_lines(path):
        if not is_terminated or not text.strip():
            continue
        try:
            line = _LINES.decode(text)
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
    kind: SourceKind, line: _Line, meta: Meta, known: dict[tuple[str, str], str]
) -> SourceChange | None:
    place = (kind.resource, meta.key)
    if line.event == "Add":
        known[place] = meta.uid
    elif place not in known:
        return None
    elif line.event == "Delete":
        meta = msgspec.structs.replace(meta, uid=known.pop(place))
    return SourceChange(kind, ChangedObject(line.event, meta, bytes(line.resource)), 0)


def _error(path: Path, number: int, message: str) -> InputError:
    return InputError([FieldError(source=str(path), path=f"line {number}", message=message)])
