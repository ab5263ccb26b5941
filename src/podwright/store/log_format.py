"""The format of a decision log: frames, header, blocks of events, checkpoints. Bytes only.

A log is a sequence of *frames*. Each has a head of fixed size, which says what follows, of
which events and times, and with which checksums; so a log can be searched by reading heads
alone. The payload is msgpack, compressed with zlib.

The first frame is the `Header`: all that is needed to make the same machine again. Then come
blocks of events and, between them, checkpoints. Inside a block there is a column for each
part of an event: times, kinds, numbers of objects or of calls, actions. An object is written
once, under a number, the first time that it is mentioned after a checkpoint.

An object is written as its typed fields and its document. It need not be the document that
its fields were read from (a driver may have changed either), and a run that is repeated has
to see exactly what the first one saw.
"""

from __future__ import annotations

import operator
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar, cast, get_args

import msgspec

from podwright._version import __version__
from podwright.machine import Action, CallDone, Event, ObjectDeleted, ObjectPut
from podwright.machine.snapshot import MachineSnapshot
from podwright.objects import KubernetesObject
from podwright.objects.errors import PodwrightError
from podwright.objects.kinds import TYPES, Unknown

FORMAT: Final = 1
"""Grows with every change that an older reader would not understand."""

MAGIC: Final = b"podwright log\r\n\x1a"
"""Begins every segment; its last bytes do not survive a transfer as text."""

HEADER, EVENTS, CHECKPOINT = 1, 2, 3
_KINDS = {HEADER: "header", EVENTS: "events", CHECKPOINT: "checkpoint"}

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
        HEADER, EVENTS or CHECKPOINT.
    length : int
        Bytes of the payload.
    checksum : int
        CRC-32 of the payload.
    first : int
        The number of the first event; of a checkpoint, of the event that comes after it.
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
    kind: int, value: object, *, first: int, times: Sequence[int], level: int
) -> tuple[FrameHead, bytes]:
    """Return a frame: its head, and the payload.

    Parameters
    ----------
    value : Header, EventBlock or CheckpointBlock
    times : sequence of int
        Of the events.
    level : int
        Of compression, 0 to 9.
    """
    payload = zlib.compress(_ENCODER.encode(value), level)
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


def decode_payload(payload: bytes, head: FrameHead, cls: type[_T], *, source: str) -> _T:
    """Read a payload as one of the structs of this module, or as part of one.

    Raises
    ------
    LogError
        If it is damaged.
    """
    if len(payload) == head.length and zlib.crc32(payload) == head.checksum:
        try:
            return _decoder(cls).decode(zlib.decompress(payload))
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


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first frame of a log.

    Parameters
    ----------
    podwright : str
        The version that wrote it.
    fingerprints : dict
        Per profile, the names of the plugins per extension point.
    """

    podwright: str
    setup: Setup
    fingerprints: dict[str, dict[str, tuple[str, ...]]] = {}


class Objects(msgspec.Struct, kw_only=True):
    """Objects with their numbers.

    Parameters
    ----------
    kinds : list of str
        Per object the name of its class.
    numbers, ends : list of int
        Per object its number, and where it ends in `data`.
    data : bytes
        The objects in msgpack, one behind the other.
    """

    kinds: list[str]
    numbers: list[int]
    ends: list[int]
    data: bytes


class EventBlock(msgspec.Struct, kw_only=True):
    """A run of events with their actions, in columns.

    Parameters
    ----------
    times : list of int
        The first time, then how much later each event is than the one before.
    kind_names : list of str
        What `kinds` stands for.
    kinds : bytes
        Per event its kind.
    numbers : list of int
        Of each event that is about an object, its number; of each answer, the number of the
        call; of others 0.
    rest : dict of int to dict
        By place in the block, the fields of events that have others.
    cycles : dict of int to str
        By place in the block, the pod for which a node was looked for.
    action_ends : list of int
        Per event, where its actions end in `actions`; one without any takes no room.
    actions : bytes
        What `encode_actions` gives, one behind the other.
    """

    objects: Objects
    times: list[int]
    kind_names: list[str]
    kinds: bytes
    numbers: list[int]
    rest: dict[int, dict[str, Any]]
    cycles: dict[int, str]
    action_ends: list[int]
    actions: bytes


class CycleColumns(msgspec.Struct, kw_only=True):
    """The part of an `EventBlock` that says which pods were tried."""

    cycles: dict[int, str]


class CheckpointBlock(msgspec.Struct, kw_only=True):
    """A machine between two events."""

    objects: Objects
    machine: MachineSnapshot


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
    pod : str
        For whom a node was looked for, as `namespace/name`; "" if nobody.
    """

    index: int
    now_ns: int
    event: Event
    actions: bytes
    pod: str


_ENCODER = msgspec.msgpack.Encoder()
_encode_into = _ENCODER.encode_into
_DECODERS: dict[type, msgspec.msgpack.Decoder[Any]] = {}
_CLASS_OF: Mapping[str, type[KubernetesObject]] = {
    cls.__name__: cls for cls in (*TYPES, cast("type[KubernetesObject]", Unknown))
}
_EVENT_OF: Mapping[str, type[Event]] = {cls.__name__: cls for cls in get_args(Event)}
_ACTIONS: msgspec.msgpack.Decoder[list[Action]] = msgspec.msgpack.Decoder(list[Action])
_OBJECT, _CALL, _PLAIN, _OTHER = range(4)


def _decoder(cls: type[_T]) -> msgspec.msgpack.Decoder[_T]:
    found = _DECODERS.get(cls)
    if found is None:
        found = _DECODERS[cls] = msgspec.msgpack.Decoder(cls)
    return found


def encode_actions(actions: Sequence[Action]) -> bytes:
    """Return the actions of one event as a log has them."""
    return _ENCODER.encode(actions)


NO_ACTIONS: Final = encode_actions(())


def decode_actions(data: bytes) -> list[Action]:
    """Read the actions of one event."""
    return _ACTIONS.decode(data)


# -------------------------------------------------------------------- objects


def encode_objects(objects: Mapping[int, KubernetesObject]) -> Objects:
    """Put objects into columns."""
    data, ends = bytearray(), []
    for obj in objects.values():
        _encode_into(obj, data, -1)
        ends.append(len(data))
    return Objects(
        kinds=[type(obj).__name__ for obj in objects.values()],
        numbers=list(objects),
        ends=ends,
        data=bytes(data),
    )


def decode_objects(objects: Objects) -> Iterator[tuple[int, KubernetesObject]]:
    """Give the objects of columns with their numbers."""
    data, begin = memoryview(objects.data), 0
    for kind, number, end in zip(objects.kinds, objects.numbers, objects.ends, strict=True):
        yield number, _decoder(_CLASS_OF[kind]).decode(data[begin:end])
        begin = end


# -------------------------------------------------------------------- events


def _shape(cls: type[Event]) -> int:
    """Tell which columns an event of this kind goes into."""
    if cls in (ObjectPut, ObjectDeleted):
        return _OBJECT
    fields = msgspec.structs.fields(cls)
    if not fields:
        return _PLAIN
    is_call = fields[0].name == "call" and all(not field.required for field in fields[1:])
    return _CALL if is_call else _OTHER


_NAMES = tuple(_EVENT_OF)
_CODES = {cls: code for code, cls in enumerate(_EVENT_OF.values())}
_SHAPES = {cls: _shape(cls) for cls in _CODES}
_REST_OF = {
    cls: tuple(f.name for f in msgspec.structs.fields(cls)[shape == _CALL :])
    for cls, shape in _SHAPES.items()
    if shape in (_CALL, _OTHER)
}
"""The fields that have no column of their own."""
_CODE_AND_SHAPE = {cls: (_CODES[cls], shape) for cls, shape in _SHAPES.items()}


class Rows:
    """Events on their way into a block, and the objects that the log knows.

    What an event mentions is written down at once, while it is at hand, behind what is there
    already; only numbers are kept beside it, four per event. Nothing of this is anything that
    the garbage collector would have to look at: lists of actions that live on cost more than
    writing them.

    An object keeps its number as long as it is known. What is known is kept alive, so that no
    other object gets its address.

    Parameters
    ----------
    object_count : int
        How many numbers were given before.
    """

    def __init__(self, object_count: int = 0) -> None:
        self._object_count = object_count
        self._numbers: dict[int, int] = {}
        self._kept: list[KubernetesObject] = []
        self._begin()

    def _begin(self) -> None:
        self._rows: list[int] = []
        self._actions = bytearray()
        self._objects = bytearray()
        self._object_ends: list[int] = []
        self._rest: dict[int, dict[str, Any]] = {}
        self._cycles: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._rows) >> 2

    def add(self, now_ns: int, event: Event, actions: Sequence[Action], pod: str) -> int:
        """Add an event; returns how many there are now."""
        rows = self._rows
        code, shape = _CODE_AND_SHAPE[type(event)]
        if shape == _OBJECT:
            obj = event.obj  # type: ignore[union-attr]
            number = self._numbers.get(id(obj))
            if number is None:
                number = self.of(obj)  # type: ignore[arg-type]
        elif shape == _PLAIN:
            number = 0
            if pod:
                self._cycles[len(rows) >> 2] = pod
        elif type(event) is CallDone and event.error is None and event.obj is None:
            number = event.call
        else:
            number = self._add_fields(event, shape)
            if pod:
                self._cycles[len(rows) >> 2] = pod
        written = self._actions
        if actions:
            _encode_into(actions, written, -1)
        rows += (now_ns, code, number, len(written))
        return len(rows) >> 2

    def _add_fields(self, event: Any, shape: int) -> int:
        fields = {
            name: {"$object": self.of(value)} if isinstance(value, KubernetesObject) else value
            for name in _REST_OF[type(event)]
            if (value := getattr(event, name)) is not None
        }
        if fields:
            self._rest[len(self._rows) >> 2] = fields
        return event.call if shape == _CALL else 0

    def of(self, obj: KubernetesObject) -> int:
        """Return the number of an object; one that is not known is written down."""
        number = self._numbers.get(id(obj))
        if number is None:
            number = self._numbers[id(obj)] = self._object_count
            self._object_count = number + 1
            self._kept.append(obj)
            _encode_into(obj, self._objects, -1)
            self._object_ends.append(len(self._objects))
        return number

    def take(self) -> tuple[list[int], EventBlock]:
        """Return the times of the events, and the block; there are no events then."""
        rows = self._rows
        times = rows[0::4]
        ends = self._object_ends
        new = self._kept[len(self._kept) - len(ends) :]
        block = EventBlock(
            objects=Objects(
                kinds=[type(obj).__name__ for obj in new],
                numbers=list(range(self._object_count - len(new), self._object_count)),
                ends=ends,
                data=bytes(self._objects),
            ),
            times=[*times[:1], *map(operator.sub, times[1:], times)],
            kind_names=list(_NAMES),
            kinds=bytes(rows[1::4]),
            numbers=rows[2::4],
            rest=self._rest,
            cycles=self._cycles,
            action_ends=rows[3::4],
            actions=bytes(self._actions),
        )
        self._begin()
        return times, block

    def keep_only(self, objects: Mapping[int, KubernetesObject]) -> None:
        """Know these objects by their numbers and no others; they are written elsewhere."""
        assert not self._rows, "take the events first"
        self._numbers = {id(obj): number for number, obj in objects.items()}
        self._kept = list(objects.values())
        self._begin()


def decode_events(
    block: EventBlock, first: int, objects: dict[int, KubernetesObject], *, source: str
) -> Iterator[Entry]:
    """Give the events of a block.

    Parameters
    ----------
    objects : dict of int to object, written
        What the numbers stand for; the objects of the block are added.
    """
    for number, obj in decode_objects(block.objects):
        objects.setdefault(number, obj)
    unknown = [name for name in block.kind_names if name not in _EVENT_OF]
    classes: list[Any] = [_EVENT_OF.get(name) for name in block.kind_names]
    now_ns = 0
    begin = 0
    columns = zip(block.kinds, block.times, block.numbers, block.action_ends, strict=True)
    for place, (kind, delta, number, end) in enumerate(columns):
        now_ns += delta
        cls = classes[kind]
        if cls is None:
            raise LogError(
                f"{source} has events that podwright {__version__} does not know: {unknown}"
            )
        shape = _SHAPES[cls]
        if shape == _PLAIN:
            event = cls()
        elif shape == _OBJECT:
            event = cls(objects[number])
        else:
            fields = _read_fields(cls, block.rest.get(place, {}), objects)
            if shape == _CALL:
                fields["call"] = number
            event = cls(**fields)
        actions = block.actions[begin:end] or NO_ACTIONS
        begin = end
        yield Entry(first + place, now_ns, event, actions, block.cycles.get(place, ""))


def _read_fields(
    cls: type[Event], written: Mapping[str, Any], objects: Mapping[int, KubernetesObject]
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(cls):
        if field.name not in written:
            continue
        value = written[field.name]
        if isinstance(value, dict) and "$object" in value:
            fields[field.name] = objects[value["$object"]]
        elif value is not None:
            fields[field.name] = msgspec.convert(value, _without_objects(cls, field))
    return fields


def _without_objects(cls: type[Event], field: msgspec.structs.FieldInfo) -> Any:
    # A field that may hold any object cannot be converted; it was read by its number.
    assert "Object" not in str(field.type), f"{cls.__name__}.{field.name} is an object"
    return field.type
