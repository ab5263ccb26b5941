"""The format of a decision log: frames, header, blocks of events, checkpoints. Bytes only.

A log is a sequence of *frames*. Each has a head of fixed size, which says what follows, of
which events and times, and with which checksums; so a log can be searched by reading heads
alone. The payload is msgpack, compressed with zlib; what is looked for in a whole log, or is all
that is needed to pass by, comes first and is compressed by itself.

The first frame is the `Header`: all that is needed to make the same machine again. Then come
blocks of events and, between them, checkpoints. A checkpoint of the objects alone is written where
a plugin has state that a checkpoint cannot hold: no machine is made of it. Inside a block there is
a column for each part of an event: times, kinds, numbers of objects, numbers of calls, actions. An
object is written once, under a number, the first time that it is mentioned after a checkpoint; how,
is `log_objects`' business.

An object is written as its typed fields and its document. It need not be the document that
its fields were read from (a driver may have changed either), and a run that is repeated has
to see exactly what the first one saw.
"""

from __future__ import annotations

import operator
import struct
import zlib
from collections.abc import Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from podwright._version import __version__
from podwright.machine import Action, Event
from podwright.objects import ObjectMeta, PodSpec, PodStatus, PodwrightError

FORMAT: Final = 6
"""Grows with every change that an older reader would not understand."""

MAGIC: Final = b"podwright log\r\n\x1a"
"""Begins every segment; its last bytes do not survive a transfer as text."""

HEADER, EVENTS, CHECKPOINT, OBJECTS = 1, 2, 3, 4
_KINDS = {
    HEADER: "header",
    EVENTS: "events",
    CHECKPOINT: "checkpoint",
    OBJECTS: "checkpoint of the objects",
}

VERSION: Final = 0xFF
"""In place of a class of objects: a pod of which there was an older version."""

AS_BEFORE, NONE = -1, -2
"""In place of the place of a part: the older version's, or none at all."""

WRITTEN, DOCUMENT, VERSION_ONLY, BOTH_VERSIONS = range(4)
"""Where the metadata of a pod is: written whole, and that of the document apart from it; what the
document says, with the pod's names; the older version's with another resourceVersion, with the
same document, or with that changed as well."""

SPEC_ONLY, BOTH = 1, 2
"""Where the node of a pod has to be put: into its spec, or into the document as well. `NONE` if
there is none, or if it is in the older version."""

_SEGMENT_HEAD = struct.Struct("<16sHxxI")
_FRAME_HEAD = struct.Struct("<BxxxIIQIqqI")
SEGMENT_HEAD_BYTES: Final = _SEGMENT_HEAD.size
FRAME_HEAD_BYTES: Final = _FRAME_HEAD.size

_T = TypeVar("_T")


class LogError(PodwrightError):
    """A decision log that cannot be read, or does not fit what it is to be run with."""


class FrameHead(msgspec.Struct, frozen=True, gc=False):
    """What a frame holds.

    Parameters
    ----------
    kind : int
        HEADER, EVENTS, CHECKPOINT or OBJECTS.
    length : int
        Bytes of the payload.
    checksum : int
        CRC-32 of the payload.
    first : int
        The number of the first event; of a checkpoint of either kind, of the event that comes
        after it.
    count : int
        How many events.
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
        """Return the bytes of the head, with a checksum of its own."""
        plain = _FRAME_HEAD.pack(*msgspec.structs.astuple(self), 0)
        return plain[:-4] + zlib.crc32(plain[:-4]).to_bytes(4, "little")


def segment_head(number: int) -> bytes:
    """Return what a segment begins with."""
    return _SEGMENT_HEAD.pack(MAGIC, FORMAT, number)


def check_segment_head(data: bytes, number: int, *, source: str) -> None:
    """Refuse what is no segment, or one that is too new.

    Raises
    ------
    LogError
        With what to do about it.
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
        Of the events.
    level : int
        Of compression, 0 to 9.
    """
    payload = b"".join(zlib.compress(ENCODER.encode(value), level) for value in values)
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


def decode_payload(
    payload: bytes, head: FrameHead, cls: type[_T], *, part: int = 0, source: str
) -> _T:
    """Read a part of a payload as one of the structs of this module.

    Raises
    ------
    LogError
        If it is damaged.
    """
    if len(payload) == head.length and zlib.crc32(payload) == head.checksum:
        try:
            for _ in range(part):
                before = zlib.decompressobj()
                before.decompress(payload)
                payload = before.unused_data
            return decoder_of(cls).decode(zlib.decompressobj().decompress(payload))
        except (zlib.error, msgspec.MsgspecError) as error:
            raise LogError(
                f"{source}: the block of event {head.first} cannot be read: {error};"
                " it was left as it is"
            ) from error
    raise LogError(f"{source}: the block of event {head.first} is damaged; it was left as it is")


# -------------------------------------------------------------------- what frames hold


class OwnPlugin(msgspec.Struct, frozen=True, array_like=True):
    """A plugin that is not in-tree: its name, and the class that it was."""

    name: str
    cls: str


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """How the machine of a run is made.

    Parameters
    ----------
    configuration : dict
        The KubeSchedulerConfiguration as a document, as the user wrote it; {} is the default.
    gates : dict of str to bool
        Feature gates that differ from their defaults.
    seed : int
        Of all draws.
    tie_rule : str
        A `TieRule`'s value.
    start_ns : int
        When the machine began to run.
    plugins : tuple of OwnPlugin
        The user's own.
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
    """When a log is written; who goes on with a log keeps to it.

    Parameters
    ----------
    block_events : int
        How many events a block has.
    checkpoint_events : int
        The least number of events between checkpoints.
    object_events : int
        How many events there are between checkpoints for each object at least.
    compression : int
        0 (none) to 9 (smallest), as zlib has it.
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
        The version that wrote it.
    pace : Pace
    fingerprints : dict
        Per profile, the names of the plugins per extension point.
    """

    podwright: str
    setup: Setup
    pace: Pace
    fingerprints: dict[str, dict[str, tuple[str, ...]]] = {}


PodShape: TypeAlias = tuple[int, int, int, int, int, int, int, int]
"""Where the metadata and the node are written; then the places of spec, status and outline, and
of the document's metadata, spec and status."""


class Pods(msgspec.Struct, kw_only=True, array_like=True):
    """Pods, or versions of pods.

    Parameters
    ----------
    shapes : list of PodShape
        Which parts go together.
    shape_of : list of int
        Per pod its shape.
    metadata : list of ObjectMeta
        Of pods whose documents say something else.
    names, uids, versions, nodes, addresses : list of str
        Per pod that has them apart from all else. An address is there for each that the status of
        a document has as text.
    specs, statuses : list
        Parts of pods; one that several pods share is there once. Specs have no node.
    outlines : list of dict
        Documents without the sections that are parts.
    raw_metadata, raw_specs, raw_statuses : list of dict
        Sections of documents. In place of what is written apart, they have "".
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
        The first number, then how much greater each is than the one before.
    kind_names : list of str
        What `kinds` stands for.
    kinds : bytes
        Per object its class, or `VERSION`.
    older : list of int
        Per such version, how much greater the number of the older one is than the one before.
    pods : Pods
        Those that are pods.
    others : list of object
        What is not a pod, whole.
    """

    numbers: list[int]
    kind_names: list[str]
    kinds: bytes
    older: list[int]
    pods: Pods
    others: list[msgspec.Raw]


class EventIndex(msgspec.Struct, kw_only=True, array_like=True):
    """What a log is searched for: the first part of a run of events.

    Parameters
    ----------
    times : list of int
        The first time, then how much later each event is than the one before.
    cycle_places, cycle_pods : list
        The places of the events in which a node was looked for, and for which pod; a place is
        there once for every pod.
    """

    times: list[int]
    cycle_places: list[int]
    cycle_pods: list[str]


class EventBlock(msgspec.Struct, kw_only=True, array_like=True):
    """A run of events with their actions, in columns: the second part.

    Parameters
    ----------
    objects : Objects
        Those that the log did not know.
    kind_names : list of str
        What `kinds` stands for.
    kinds : bytes
        Per event its kind.
    numbers : list of int
        Per event about an object, how much greater its number is than the one before.
    calls : list of int
        The same for the calls of `CallDone`.
    rest : dict of int to dict
        By place in the block, the fields of events that have others.
    action_counts : list of int
        Per event, how many of the actions are its own.
    actions : list of Action
        Of all events.
    """

    objects: Objects
    kind_names: list[str]
    kinds: bytes
    numbers: list[int]
    calls: list[int]
    rest: dict[int, dict[str, Any]]
    action_counts: list[int]
    actions: list[msgspec.Raw]


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One event of a log.

    Parameters
    ----------
    index : int
        Events are counted from 0.
    now_ns : int
    event : Event
    actions : bytes
        What the machine answered, as it was written; `decode_actions` reads it.
    pods : tuple of str
        For whom a node was looked for, as `namespace/name`; several if it was a group.
    """

    index: int
    now_ns: int
    event: Event
    actions: bytes
    pods: tuple[str, ...]

    @property
    def pod(self) -> str:
        """The first of `pods`; "" if there is none."""
        return self.pods[0] if self.pods else ""


ENCODER = msgspec.msgpack.Encoder()
_DECODERS: dict[type, msgspec.msgpack.Decoder[Any]] = {}
_ACTIONS: msgspec.msgpack.Decoder[list[Action]] = msgspec.msgpack.Decoder(list[Action])


def decoder_of(cls: type[_T]) -> msgspec.msgpack.Decoder[_T]:
    """Return the decoder of a class, always the same one."""
    found = _DECODERS.get(cls)
    if found is None:
        found = _DECODERS[cls] = msgspec.msgpack.Decoder(cls)
    return found


def encode_actions(actions: Sequence[Action]) -> bytes:
    """Return the actions of one event as a log has them."""
    return ENCODER.encode(actions)


NO_ACTIONS: Final = encode_actions(())


def decode_actions(data: bytes) -> list[Action]:
    """Read the actions of one event."""
    return _ACTIONS.decode(data)


def steps(numbers: list[int]) -> list[int]:
    """Return the first number and the differences between neighbours, which are small."""
    return [*numbers[:1], *map(operator.sub, numbers[1:], numbers)]
