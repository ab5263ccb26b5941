"""The format of a decision log: frames, header, blocks of events, checkpoints. Bytes only.

A log is a sequence of *frames*. The head of a frame has a fixed size. It contains the kind of the
frame, the length and checksum of the payload, and the range of its events and times, so a search
reads heads only. The payload is msgpack, compressed with zlib, in one or two parts. The first part
is the index, which is enough to search a log or to skip the frame.

The first frame is the `Header`, which has everything needed to build the same machine. Blocks of
events follow, with checkpoints between them. If a plugin has state that a checkpoint cannot hold,
the checkpoint has objects only, and no machine is restored from it. A block has a column for each
part of an event: times, kinds, object numbers, call numbers, actions. An object is written once,
with a number, when an event first refers to it after a checkpoint; `log_objects` encodes it.

An object is written as its typed fields and its document. The two may differ, because a driver may
have changed either, and a replay has to receive exactly the recorded values.
"""

from __future__ import annotations

import operator
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from podwright._version import __version__
from podwright.apimachinery.objects import (
    UNDECODABLE,
    ObjectMeta,
    PodSpec,
    PodStatus,
    PodwrightError,
)
from podwright.scheduler.machine import Action, Event

FORMAT: Final = 6
"""Increased by every change that older readers cannot read."""

MAGIC: Final = b"podwright log\r\n\x1a"
"""The first bytes of every segment; a transfer in text mode damages the last ones."""

HEADER, EVENTS, CHECKPOINT, OBJECTS = 1, 2, 3, 4
_KINDS = {
    HEADER: "header",
    EVENTS: "events",
    CHECKPOINT: "checkpoint",
    OBJECTS: "checkpoint of the objects",
}

VERSION: Final = 0xFF
"""Instead of the code of a class: a new version of a numbered pod."""

UNCHANGED, NONE = -1, -2
"""Instead of the index of a part: the part of the older version, or no part."""

WRITTEN, DOCUMENT, VERSION_ONLY, BOTH_VERSIONS = range(4)
"""How the metadata of a pod is written: as a whole, beside the metadata of the document; as the
metadata of the document and the pod's names; as a new resourceVersion, in the typed fields only, or
in the document as well."""

SPEC_ONLY, BOTH = 1, 2
"""Where the node of a pod belongs: in its spec, or in the document as well. `NONE` if the pod has
no node, or the node of the older version."""

_SEGMENT_HEAD = struct.Struct("<16sHxxI")
_FRAME_HEAD = struct.Struct("<BxxxIIQIqqI")
SEGMENT_HEAD_BYTES: Final = _SEGMENT_HEAD.size
FRAME_HEAD_BYTES: Final = _FRAME_HEAD.size

_T = TypeVar("_T")


class LogError(PodwrightError):
    """A decision log that cannot be read, or does not match the machine that replays it."""


class FrameHead(msgspec.Struct, frozen=True, gc=False):
    """The head of a frame.

    Parameters
    ----------
    kind : int
        HEADER, EVENTS, CHECKPOINT or OBJECTS.
    length : int
        Bytes of the payload.
    checksum : int
        CRC-32 of the payload.
    first : int
        The number of the first event; for checkpoints, the number of the event after it.
    count : int
        The number of events.
    first_ns, last_ns : int
        The times of the first and the last event.
    """

    kind: int
    length: int
    checksum: int
    first: int
    count: int
    first_ns: int
    last_ns: int

    def encode(self) -> bytes:
        """Return the bytes of the head, which end with their own checksum."""
        plain = _FRAME_HEAD.pack(*msgspec.structs.astuple(self), 0)
        return plain[:-4] + zlib.crc32(plain[:-4]).to_bytes(4, "little")


def segment_head(number: int) -> bytes:
    """Return the first bytes of a segment."""
    return _SEGMENT_HEAD.pack(MAGIC, FORMAT, number)


def check_segment_head(data: bytes, number: int, *, source: str) -> None:
    """Check that a file is a segment of a supported format.

    Raises
    ------
    LogError
        If it is not; the text says what to do.
    """
    magic, version, found = _SEGMENT_HEAD.unpack(data)
    if magic.rstrip(b"\0") != MAGIC:
        raise LogError(f"{source} is not a decision log; it was left as it is")
    if version > FORMAT:
        raise LogError(
            f"{source} is written in format {version}; podwright {__version__} reads formats up"
            f" to {FORMAT}. Use a newer podwright; the file was left as it is"
        )
    if version < FORMAT:
        raise LogError(
            f"{source} is written in format {version}, which was never released; record the run"
            f" again with podwright {__version__}. The file was left as it is"
        )
    if found != number:
        raise LogError(f"{source} is segment {found} of its log, not {number}; a file is missing")


def decode_frame_head(data: bytes, *, source: str, offset: int) -> FrameHead:
    """Read the head of a frame.

    Raises
    ------
    LogError
        If it is damaged.
    """
    *fields, checksum = _FRAME_HEAD.unpack(data)
    if checksum != zlib.crc32(data[:-4]) or fields[0] not in _KINDS:
        raise LogError(f"{source} is damaged at byte {offset}; it was left as it is")
    return FrameHead(*fields)


def encode_frame(
    kind: int, values: Sequence[object], *, first: int, times: Sequence[int], level: int
) -> tuple[FrameHead, bytes]:
    """Return a frame: its head, and the payload.

    Parameters
    ----------
    values : sequence of struct
        The parts of the payload.
    times : sequence of int
        The times of the events.
    level : int
        The compression level, 0 to 9.
    """
    # Each part is a separate stream, so that the index is read without the rest.
    compressed = _compressed_in_parts if kind in (CHECKPOINT, OBJECTS) else _compressed
    payload = b"".join(compressed(value, level) for value in values)
    head = FrameHead(
        kind=kind,
        length=len(payload),
        checksum=zlib.crc32(payload),
        first=first,
        count=len(times),
        first_ns=times[0] if times else 0,
        last_ns=times[-1] if times else 0,
    )
    return head, payload


def _compressed(value: object, level: int) -> bytes:
    return zlib.compress(ENCODER.encode(value), level)


def _compressed_in_parts(value: object, level: int) -> bytes:
    """Return the same as `_compressed`; other threads are not held up."""
    compressor = zlib.compressobj(level)
    parts = [compressor.compress(part) for part in encoded_parts(value)]
    return b"".join((*parts, compressor.flush()))


def decode_payload(
    payload: bytes, head: FrameHead, cls: type[_T], *, part: int = 0, source: str
) -> _T:
    """Read a part of a payload as one of the structs of this module.

    Raises
    ------
    LogError
        If it is damaged.
    """
    read = decode_payload_naming(b"", payload, head, cls, part=part, source=source)
    assert read is not None, "the empty text is in every payload"
    return read


def decode_payload_naming(
    text: bytes, payload: bytes, head: FrameHead, cls: type[_T], *, part: int = 0, source: str
) -> _T | None:
    """Read a part of a payload that contains a text; None if it does not, which is not decoded.

    Raises
    ------
    LogError
        If it is damaged.
    """
    if len(payload) == head.length and zlib.crc32(payload) == head.checksum:
        try:
            for _ in range(part):
                # A zlib stream marks its own end, so the parts need no lengths.
                before = zlib.decompressobj()
                before.decompress(payload)
                payload = before.unused_data
            encoded = zlib.decompressobj().decompress(payload)
            return decoder_of(cls).decode(encoded) if text in encoded else None
        except (zlib.error, *UNDECODABLE) as error:
            raise LogError(
                f"{source}: the block of event {head.first} cannot be read: {error};"
                " it was left as it is"
            ) from error
    raise LogError(f"{source}: the block of event {head.first} is damaged; it was left as it is")


# -------------------------------------------------------------------- payloads


class OwnPlugin(msgspec.Struct, frozen=True, array_like=True):
    """An out-of-tree plugin: its name and its class."""

    name: str
    cls: str


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a recorded machine.

    Parameters
    ----------
    configuration : dict
        The KubeSchedulerConfiguration as a document, as the user wrote it; {} is the default.
    gates : dict of str to bool
        Feature gates that differ from their defaults.
    seed : int
        The seed of all draws.
    tie_rule : str
        The value of a `TieRule`.
    start_ns : int
        The initial time of the machine.
    plugins : tuple of OwnPlugin
        The out-of-tree plugins.
    batching, draws_preemption_offset, assumed_pod_expiry_ns
        As for `build_machine`.
    """

    configuration: dict[str, Any] = {}
    gates: dict[str, bool] = {}
    seed: int = 0
    tie_rule: str = "drawn"
    start_ns: int = 0
    plugins: tuple[OwnPlugin, ...] = ()
    batching: bool = False
    draws_preemption_offset: bool = True
    assumed_pod_expiry_ns: int = 0


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of blocks and the distances between checkpoints; a resumed log keeps them.

    Parameters
    ----------
    block_events : int
        The number of events in a block.
    checkpoint_events : int
        The minimum number of events between checkpoints.
    object_events : int
        The minimum number of events between checkpoints for each numbered object.
    compression : int
        The level of zlib, 0 (none) to 9 (smallest).
    """

    block_events: int
    checkpoint_events: int
    compression: int
    object_events: int = 0


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame of a log.

    Parameters
    ----------
    podwright : str
        The version that wrote the log.
    pace : Pace
    fingerprints : dict
        The names of the plugins, by profile and extension point.
    """

    podwright: str
    setup: Setup
    pace: Pace
    fingerprints: dict[str, dict[str, tuple[str, ...]]] = {}


PodShape: TypeAlias = tuple[int, int, int, int, int, int, int, int]
"""How metadata and node are written; then the indexes of spec, status and outline, and of the
document's metadata, spec and status."""


class Pods(msgspec.Struct, kw_only=True, array_like=True):
    """Pods, or versions of pods.

    Parameters
    ----------
    shapes : list of PodShape
        The combinations of parts.
    shape_of : list of int
        For each pod, the index of its shape.
    metadata : list of ObjectMeta
        For each pod with `WRITTEN` metadata.
    names, uids, versions, nodes, addresses : list of str
        For each pod whose shape requires them. Addresses are the `hostIP` and `podIP` of a
        document's status, if they are strings.
    specs, statuses : list
        Parts of pods; a part that several pods share is written once. Specs have no node.
    outlines : list of dict
        Documents without the sections that are parts.
    raw_metadata, raw_specs, raw_statuses : list of dict
        Sections of documents, with "" for values that are written separately.
    """

    shapes: list[PodShape]
    shape_of: list[int]
    metadata: list[ObjectMeta]
    names: list[str]
    uids: list[str]
    versions: list[str]
    nodes: list[str]
    addresses: list[str]
    specs: list[PodSpec]
    statuses: list[PodStatus]
    outlines: list[dict[str, Any]]
    raw_metadata: list[dict[str, Any]]
    raw_specs: list[dict[str, Any]]
    raw_statuses: list[dict[str, Any]]


class Objects(msgspec.Struct, kw_only=True, array_like=True):
    """Objects with their numbers.

    Parameters
    ----------
    numbers : list of int
        The first number, then differences (see `deltas`).
    kind_names : list of str
        The names of the codes in `kinds`.
    kinds : bytes
        For each object, the code of its class, or `VERSION`.
    older : list of int
        For each `VERSION`, the number of the older version; as differences.
    pods : Pods
    others : list of object
        The objects that are not pods.
    """

    numbers: list[int]
    kind_names: list[str]
    kinds: bytes
    older: list[int]
    pods: Pods
    others: list[msgspec.Raw]


class EventIndex(msgspec.Struct, kw_only=True, array_like=True):
    """The first part of a block of events, for searches.

    Parameters
    ----------
    times : list of int
        The first time, then differences.
    cycle_places, cycle_pods : list
        For each scheduling cycle that ended, the position of the event in the block, and the pod.
        The cycle of a pod group has an entry for each pod.
    """

    times: list[int]
    cycle_places: list[int]
    cycle_pods: list[str]


class EventBlock(msgspec.Struct, kw_only=True, array_like=True):
    """The second part of a block: events with their actions, in columns.

    Parameters
    ----------
    objects : Objects
        The objects that the block numbers.
    kind_names : list of str
        The names of the codes in `kinds`.
    kinds : bytes
        For each event, the code of its class.
    numbers : list of int
        For each event about an object, the number of the object; as differences.
    calls : list of int
        For each `CallDone`, the number of the call; as differences.
    rest : dict of int to dict
        The other fields of events, by position in the block.
    action_counts : list of int
        For each event, the number of its actions.
    actions : list of Action
        The actions of all events.
    """

    objects: Objects
    kind_names: list[str]
    kinds: bytes
    numbers: list[int]
    calls: list[int]
    rest: dict[int, dict[str, Any]]
    action_counts: list[int]
    actions: list[msgspec.Raw]


class OutcomeBlock(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """An `EventBlock` for readers of actions and answers to calls, who need no objects."""

    objects: msgspec.Raw
    kind_names: list[str]
    kinds: bytes
    numbers: msgspec.Raw
    calls: list[int]
    rest: dict[int, msgspec.Raw]
    action_counts: list[int]
    actions: list[msgspec.Raw]


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What one event of a log says about a pod.

    Parameters
    ----------
    index : int
        The number of the event, from 0.
    now_ns : int
    call : int or None
        The number of the call that was executed without an error, if the event says so.
    actions : list of Action
        Those of its actions that name the pod.
    """

    index: int
    now_ns: int
    call: int | None
    actions: list[Action]


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One event of a log.

    Parameters
    ----------
    index : int
        The number of the event, from 0.
    now_ns : int
    event : Event
    actions : bytes
        The recorded actions of the machine; `decode_actions` reads them.
    pods : tuple of str
        The pods whose scheduling cycle ended, as `namespace/name`; several for a pod group.
    """

    index: int
    now_ns: int
    event: Event
    actions: bytes
    pods: tuple[str, ...]

    @property
    def pod(self) -> str:
        """The first of `pods`, or ""."""
        return self.pods[0] if self.pods else ""


ENCODER = msgspec.msgpack.Encoder()
_DECODERS: dict[type, msgspec.msgpack.Decoder[Any]] = {}
_ACTIONS: msgspec.msgpack.Decoder[list[Action]] = msgspec.msgpack.Decoder(list[Action])


def decoder_of(cls: type[_T]) -> msgspec.msgpack.Decoder[_T]:
    """Return the cached decoder of a class."""
    found = _DECODERS.get(cls)
    if found is None:
        found = _DECODERS[cls] = msgspec.msgpack.Decoder(cls)
    return found


def encode_actions(actions: Sequence[Action]) -> bytes:
    """Encode the actions of one event as in a log."""
    return ENCODER.encode(actions)


NO_ACTIONS: Final = encode_actions(())


def decode_actions(data: bytes) -> list[Action]:
    """Read the actions of one event."""
    return _ACTIONS.decode(data)


def deltas(numbers: list[int]) -> list[int]:
    """Return the first number, then the difference of each from the one before."""
    return [*numbers[:1], *map(operator.sub, numbers[1:], numbers)]


# Encoding of very large values part by part, with the same result as encoding them at once.
#
# An encoder holds the interpreter lock until it is done: 300 ms for the objects of a checkpoint
# with 50,000 pods, while a server in the same process replies to no one. Between two parts other
# threads continue.

_ENCODER: Final = msgspec.msgpack.Encoder()
_PART_ITEMS: Final = 256


def encoded_parts(value: object) -> Iterator[bytes]:
    """Yield parts that together are the MessagePack of a value.

    Structs that are written as arrays are divided into their fields, and long lists and tuples into
    slices; everything else is one part.
    """
    if isinstance(value, msgspec.Struct) and _is_plain_array(value.__struct_config__):
        yield _array_head(len(value.__struct_fields__))
        for name in value.__struct_fields__:
            yield from encoded_parts(getattr(value, name))
    elif isinstance(value, list | tuple) and len(value) > _PART_ITEMS:
        yield _array_head(len(value))
        for first in range(0, len(value), _PART_ITEMS):
            yield _encoded_items(value[first : first + _PART_ITEMS])
    else:
        yield _ENCODER.encode(value)


def _is_plain_array(config: msgspec.structs.StructConfig) -> bool:
    return config.array_like and config.tag is None and not config.omit_defaults


def _encoded_items(items: Sequence[object]) -> bytes:
    return _ENCODER.encode(items)[len(_array_head(len(items))) :]


def _array_head(length: int) -> bytes:
    """Return what MessagePack has in front of the items of an array."""
    if length < 1 << 4:
        return bytes([0x90 | length])
    if length < 1 << 16:
        return struct.pack(">BH", 0xDC, length)
    return struct.pack(">BI", 0xDD, length)
