"""Traces of SimKube, and which format the file of a trace has.

A SimKube trace (version 2, MessagePack) has events with the objects that were applied and deleted,
and how long the pods of each owner ran.

Upstream: github.com/acrlabs/simkube, lib/rust/store
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, pairwise
from pathlib import Path
from statistics import median_low
from typing import Any, Final, Literal, TypeAlias

import msgspec

from podwright._private_files import replacing
from podwright.apimachinery.objects import UNDECODABLE, Document, InputError, without_label_keys
from podwright.simulation.files.document_cache import unpacked

TraceFormat: TypeAlias = Literal["lines", "simkube", "objects"]

_VERSION: Final = 2
_START_BYTES: Final = 4096
_SMALL_MAP: Final = range(0x80, 0x90)
"""The first byte of a MessagePack map of up to 15 fields."""

_OF_SERVER: Final = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
    "ownerReferences",
)  # fmt: skip


class Lifecycle(msgspec.Struct, frozen=True, kw_only=True):
    """When a pod ran, in seconds since 1970; without an end, it still runs."""

    start_ts: int | None = None
    end_ts: int | None = None


class SimkubeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of one second."""

    ts: int
    applied_objs: tuple[Document, ...] = ()
    deleted_objs: tuple[Document, ...] = ()


class _Versioned(msgspec.Struct, frozen=True, kw_only=True):
    version: int = 0


class SimkubeTrace(_Versioned, frozen=True, kw_only=True):
    """A trace; the key of `pod_lifecycles` is the kind and the name of an owner."""

    events: tuple[SimkubeEvent, ...] = ()
    pod_lifecycles: dict[tuple[str, str], dict[int, tuple[Lifecycle, ...]]] = {}

    def run_seconds(self, document: Mapping[str, Any]) -> int | None:
        """Return the median run time of the pods of an object; None if some did not end."""
        metadata = document.get("metadata") or {}
        key = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        gvk = f"{document.get('apiVersion')}.{document.get('kind')}"
        of_owner = self.pod_lifecycles.get((gvk, key), {})
        ran: list[int] = []
        for each in chain.from_iterable(of_owner.values()):
            if each.start_ts is None or each.end_ts is None:
                return None
            ran.append(each.end_ts - each.start_ts)
        return median_low(ran) if ran else None


def trace_format(path: str) -> TraceFormat:
    """Return the format of a trace that needs no columns: event lines, SimKube, or objects.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            start = file.read(_START_BYTES)
    except OSError as error:
        raise InputError.of(path, f"cannot be read: {error.strerror}") from None
    if start[:1] and start[0] in _SMALL_MAP and b"version" in start:
        return "simkube"
    if Path(path).name.removesuffix(".gz").endswith(".jsonl"):
        return "lines"
    try:
        first = msgspec.json.decode(start.lstrip().partition(b"\n")[0])
    except UNDECODABLE:
        return "objects"
    return "lines" if isinstance(first, dict) and "at" in first else "objects"


def read_simkube(path: str) -> SimkubeTrace:
    """Read a SimKube trace.

    Raises
    ------
    InputError
        If it cannot be read, is of another version, or its events are not in order.
    """
    try:
        data = unpacked(Path(path).read_bytes())
        version = msgspec.msgpack.decode(data, type=_Versioned).version
        if version != _VERSION:
            detail = f"must be {_VERSION}, not {version or 'none'}"
            hint = "export the trace with a current SimKube"
            raise InputError.of(path, f"{detail}; {hint}", "version")
        trace = msgspec.msgpack.decode(data, type=SimkubeTrace)
    except OSError as error:
        raise InputError.of(path, f"cannot be read: {error.strerror or error}") from None
    except UNDECODABLE as error:
        raise InputError.of(path, f"not a SimKube trace: {error}") from None
    for index, (one, other) in enumerate(pairwise(trace.events), 1):
        if other.ts < one.ts:
            message = f"{one.ts - other.ts}s before the previous event"
            raise InputError.of(path, message, f"events[{index}].ts")
    return trace


def without_server_fields(document: Document) -> Document:
    """Return an object as its user wrote it, without a node."""
    kept = {name: value for name, value in document.items() if name != "status"}
    metadata = document.get("metadata") or {}
    kept["metadata"] = {name: value for name, value in metadata.items() if name not in _OF_SERVER}
    if document.get("kind") == "Pod":
        spec = without_label_keys(document.get("spec") or {}, metadata.get("labels") or {})
        kept["spec"] = {name: value for name, value in spec.items() if name != "nodeName"}
    return kept


def write_trace(path: str, parts: Iterable[bytes]) -> None:
    """Write a file, which replaces another when it is complete.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    try:
        with replacing(Path(path)) as file:
            file.writelines(parts)
    except OSError as error:
        raise InputError.of(path, f"cannot be written: {error.strerror or error}") from error
