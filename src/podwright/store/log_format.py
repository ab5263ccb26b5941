"""The format of a decision log: frames, header, blocks of events, checkpoints. Bytes only.

A log is a sequence of *frames*. Each has a head of fixed size, which says what follows, of
which events and times, and with which checksums; so a log can be searched by reading heads
alone. The payload is msgpack, compressed with zlib.

The first frame is the `Header`: all that is needed to make the same machine again. Then come
blocks of events and, between them, checkpoints. Inside a block there is a column for each
part of an event: times, kinds, numbers of objects or of calls, actions. An object is written
once, under a number, the first time that it is mentioned after a checkpoint; pods are taken
apart first, because those of one template share their spec.

An object is written as its typed fields and its document. It need not be the document that
its fields were read from (a driver may have changed either), and a run that is repeated has
to see exactly what the first one saw.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar, cast, get_args

import msgspec

from podwright._version import __version__
from podwright.machine import Action, Event, ObjectDeleted, ObjectPut
from podwright.machine.snapshot import MachineSnapshot
from podwright.objects import KubernetesObject, ObjectMeta, Pod
from podwright.objects.errors import PodwrightError
from podwright.objects.kinds import TYPES, Unknown
from podwright.objects.pod import PodSpec, PodStatus

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
    """

    configuration: dict[str, Any] = {}
    gates: dict[str, bool] = {}
    seed: int = 0
    tie_rule: str = "drawn"
    start_ns: int = 0
    plugins: tuple[OwnPlugin, ...] = ()


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
    """Objects in columns, by number.

    Parameters
    ----------
    pods : list of int
        The numbers of the pods.
    metadata : list of ObjectMeta
        One per pod.
    spec_of, status_of, raw_of : list of int
        Per pod its place in `specs`, `statuses` and `raws`.
    others : dict
        Per kind, the numbers and the objects.
    """

    pods: list[int] = []
    metadata: list[ObjectMeta] = []
    spec_of: list[int] = []
    status_of: list[int] = []
    raw_of: list[int] = []
    specs: list[PodSpec] = []
    statuses: list[PodStatus] = []
    raws: list[dict[str, Any]] = []
    others: dict[str, tuple[list[int], msgspec.Raw]] = {}


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
        Of each event that is about an object, its number.
    calls : list of int
        Of each answer, the number of the call.
    rest : dict of int to dict
        By place in the block, the fields of events that have others.
    cycles : dict of int to str
        By place in the block, the pod for which a node was looked for.
    actions : list of bytes
        Per event its actions, as `encode_actions` gives them.
    """

    objects: Objects
    times: list[int]
    kind_names: list[str]
    kinds: bytes
    numbers: list[int]
    calls: list[int]
    rest: dict[int, dict[str, Any]]
    cycles: dict[int, str]
    actions: list[bytes]


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


def encode_objects(numbers: Iterable[int], objects: Iterable[KubernetesObject]) -> Objects:
    """Put objects into columns; parts that are the same object are written once."""
    columns = Objects()
    others: dict[str, tuple[list[int], list[KubernetesObject]]] = {}
    pods: list[Pod] = []
    for number, obj in zip(numbers, objects, strict=True):
        if type(obj) is Pod:
            columns.pods.append(number)
            pods.append(obj)
        else:
            numbered, listed = others.setdefault(type(obj).__name__, ([], []))
            numbered.append(number)
            listed.append(obj)
    columns.metadata = [pod.metadata for pod in pods]
    columns.specs, columns.spec_of = _once([pod.spec for pod in pods])
    columns.statuses, columns.status_of = _once([pod.status for pod in pods])
    columns.raws, columns.raw_of = _once([pod.raw for pod in pods])
    columns.others = {
        name: (numbered, msgspec.Raw(_ENCODER.encode(listed)))
        for name, (numbered, listed) in others.items()
    }
    return columns


def _once(parts: list[_T]) -> tuple[list[_T], list[int]]:
    """Return the parts without repetitions of the same one, and where each of them is."""
    distinct = {id(part): part for part in parts}
    if len(distinct) == len(parts):
        return parts, list(range(len(parts)))
    place_of = dict(zip(distinct, range(len(distinct)), strict=True))
    return list(distinct.values()), [place_of[id(part)] for part in parts]


def decode_objects(columns: Objects) -> Iterator[tuple[int, KubernetesObject]]:
    """Give the objects of columns with their numbers."""
    for number, metadata, spec, status, raw in zip(
        columns.pods,
        columns.metadata,
        columns.spec_of,
        columns.status_of,
        columns.raw_of,
        strict=True,
    ):
        yield (
            number,
            Pod(
                metadata=metadata,
                spec=columns.specs[spec],
                status=columns.statuses[status],
                raw=columns.raws[raw],
            ),
        )
    for name, (numbers, data) in columns.others.items():
        cls = _CLASS_OF[name]
        yield from zip(numbers, _decoder(list[cls]).decode(data), strict=True)  # type: ignore[valid-type]


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
_OBJECT_CODES = frozenset(_CODES[cls] for cls, shape in _SHAPES.items() if shape == _OBJECT)
_CALL_CODES = frozenset(_CODES[cls] for cls, shape in _SHAPES.items() if shape == _CALL)
_OTHER_CODES = frozenset(_CODES[cls] for cls, shape in _SHAPES.items() if shape == _OTHER)
_WITH_REST = {
    _CODES[cls]: tuple(f.name for f in msgspec.structs.fields(cls)[shape == _CALL :])
    for cls, shape in _SHAPES.items()
    if shape in (_CALL, _OTHER)
}
"""By code, the fields that have no column of their own."""


class Numbered:
    """The numbers of the objects that a log has mentioned since its last checkpoint.

    The same object has the same number as long as it is known; what is known is kept, so that
    no other object gets its address.
    """

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self._numbers: dict[int, int] = {}
        self._kept: dict[int, KubernetesObject] = {}
        self._new: list[KubernetesObject] = []

    def of(self, obj: KubernetesObject) -> int:
        """Return the number of an object, a new one if it is not known."""
        return self.of_all([obj])[0]

    def of_all(self, objects: Sequence[KubernetesObject]) -> list[int]:
        """Return the numbers of objects."""
        addresses = list(map(id, objects))
        numbers = self._numbers
        new = {
            address: obj
            for address, obj in zip(addresses, objects, strict=True)
            if address not in numbers
        }
        if new:
            begin = self.count
            self.count = begin + len(new)
            numbers.update(zip(new, range(begin, self.count), strict=True))
            self._kept.update(new)
            self._new.extend(new.values())
        return list(map(numbers.__getitem__, addresses))

    def take_new(self) -> tuple[range, list[KubernetesObject]]:
        """Return the objects that got numbers since this was called last."""
        new, self._new = self._new, []
        return range(self.count - len(new), self.count), new

    def keep_only(self, numbers: Container[int]) -> None:
        """Forget all objects but some."""
        self._numbers = {
            address: number for address, number in self._numbers.items() if number in numbers
        }
        self._kept = {address: self._kept[address] for address in self._numbers}


def encode_events(
    times: Sequence[int],
    events: Sequence[Event],
    actions: Sequence[bytes],
    cycles: Mapping[int, str],
    numbered: Numbered,
) -> EventBlock:
    """Put events and their actions into columns.

    Parameters
    ----------
    cycles : mapping of int to str
        By place, the pod for which a node was looked for.
    numbered : Numbered
        Gives numbers to the objects; the new ones are written with the events.
    """
    kinds = bytes(map(_CODES.__getitem__, map(type, events)))
    listed: Sequence[Any] = events
    about = [event.obj for event, code in zip(listed, kinds, strict=True) if code in _OBJECT_CODES]
    calls = [event.call for event, code in zip(listed, kinds, strict=True) if code in _CALL_CODES]
    rest: dict[int, dict[str, Any]] = {}
    if calls or not _OTHER_CODES.isdisjoint(kinds):
        for place, (event, code) in enumerate(zip(listed, kinds, strict=True)):
            if code in _WITH_REST:
                fields = {
                    name: _written(value, numbered)
                    for name in _WITH_REST[code]
                    if (value := getattr(event, name)) is not None
                }
                if fields:
                    rest[place] = fields
    numbers = numbered.of_all(about)
    deltas = [later - earlier for earlier, later in itertools.pairwise(times)]
    return EventBlock(
        objects=encode_objects(*numbered.take_new()),
        times=[*times[:1], *deltas],
        kind_names=list(_NAMES),
        kinds=kinds,
        numbers=numbers,
        calls=calls,
        rest=rest,
        cycles=dict(cycles),
        actions=list(actions),
    )


def _written(value: object, numbered: Numbered) -> object:
    return {"$object": numbered.of(value)} if isinstance(value, KubernetesObject) else value


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
    numbers, calls = iter(block.numbers), iter(block.calls)
    now_ns = 0
    for place, (kind, delta, actions) in enumerate(
        zip(block.kinds, block.times, block.actions, strict=True)
    ):
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
            event = cls(objects[next(numbers)])
        else:
            fields = _read_fields(cls, block.rest.get(place, {}), objects)
            if shape == _CALL:
                fields["call"] = next(calls)
            event = cls(**fields)
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
