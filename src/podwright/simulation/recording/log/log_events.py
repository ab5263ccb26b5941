"""Encoding of events into blocks of columns, and decoding.

`EventRows` collects recorded events and encodes blocks of them; `decode_events` reads a block.
`log_format` defines frames and blocks, `log_objects` encodes objects.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, cast, get_args

import msgspec
from msgspec.structs import replace

from podwright._version import __version__
from podwright.apimachinery.objects import KubernetesObject, Pod
from podwright.scheduler.machine import (
    Action,
    CallDone,
    Event,
    ObjectDeleted,
    ObjectPut,
    UpdateClaim,
    UpdateVolume,
    WriteResourceClaim,
)
from podwright.simulation.recording.log.log_format import (
    ENCODER,
    NO_ACTIONS,
    Entry,
    EventBlock,
    EventIndex,
    LogError,
    Outcome,
    OutcomeBlock,
    decode_actions,
    deltas,
)
from podwright.simulation.recording.log.log_objects import ObjectWriter, decode_objects

_EVENT_OF: Mapping[str, type[Event]] = {cls.__name__: cls for cls in get_args(Event)}
_OBJECT, _CALL, _PLAIN, _OTHER = range(4)


def _shape(cls: type[Event]) -> int:
    """Return the columns of an event type."""
    if cls in (ObjectPut, ObjectDeleted):
        return _OBJECT
    if cls is CallDone:
        return _CALL
    return _OTHER if msgspec.structs.fields(cls) else _PLAIN


_NAMES = tuple(_EVENT_OF)
_CODES = {cls: code for code, cls in enumerate(_EVENT_OF.values())}
_SHAPES = {cls: _shape(cls) for cls in _CODES}
_REST_OF = {
    # The first field of a call, its number, has a column.
    cls: tuple(f.name for f in msgspec.structs.fields(cls)[shape == _CALL :])
    for cls, shape in _SHAPES.items()
    if shape in (_CALL, _OTHER)
}
"""The fields without a column."""
_WITH_OBJECTS: Final = frozenset({UpdateVolume, UpdateClaim, WriteResourceClaim})
"""The actions that have whole objects."""


class EventRows:
    """Events that are not in a block yet, and the numbered objects of the log.

    Adding an event only stores it; `take` encodes. Events and the objects in them do not change.
    `entries` is one flat list with three items for each event, because the garbage collector would
    traverse a list or tuple for each event.

    Attributes
    ----------
    entries : list
        For each event: the event, its time, and its number of actions.
    actions : list of Action
        The actions of all events.
    cycle_ends, cycle_pods : list
        For each scheduling cycle that ended: the length of `entries` after the event, and the pod
        or its name.
    objects : ObjectWriter
        The numbered objects of the log.
    """

    def __init__(self) -> None:
        self.objects = ObjectWriter()
        self._taken = (0, 0, 0)
        self.entries: list[Any] = []
        self.actions: list[Action] = []
        self.cycle_ends: list[int] = []
        self.cycle_pods: list[Pod | str] = []
        # `add` runs for every event of a recorded machine, so its look-ups are done once.
        self._extend_entries = self.entries.extend
        self._extend_actions = self.actions.extend

    def __len__(self) -> int:
        return (len(self.entries) - self._taken[0]) // 3

    def add(self, now_ns: int, event: Event, actions: Sequence[Action]) -> None:
        """Add an event and its actions."""
        self._extend_entries((event, now_ns, len(actions)))
        if actions:
            self._extend_actions(actions)

    def end_cycle(self, pod: Pod | str) -> None:
        """Record that the last event ended a cycle of a pod."""
        self.cycle_ends.append(len(self.entries))
        self.cycle_pods.append(pod)

    def take(self, limit: int) -> tuple[list[int], EventIndex, EventBlock]:
        """Encode the first events as a block, and return their times, the index and the block."""
        begin, action_begin, cycle_begin = self._taken
        entries = self.entries[begin : begin + 3 * limit]
        events: list[Any] = entries[0::3]
        times: list[int] = entries[1::3]
        counts: list[int] = entries[2::3]
        known, add, forget = self.objects.numbers, self.objects.add, self.objects.forget
        kinds = bytes(map(_CODES.__getitem__, map(type, events)))
        numbers, calls = [], []
        rest: dict[int, dict[str, Any]] = {}
        for place, event in enumerate(events):
            cls = type(event)
            if cls is ObjectPut or cls is ObjectDeleted:
                obj = event.obj
                number = known.get(id(obj))
                numbers.append(add(obj) if number is None else number)
                if cls is ObjectDeleted:
                    forget(obj)
            elif cls is CallDone:
                calls.append(event.call)
                if event.error is not None or event.obj is not None:
                    rest[place] = self._rest(event)
            elif cls in _REST_OF:
                rest[place] = self._rest(event)
        end, action_end = begin + len(entries), action_begin + sum(counts)
        cycle_end = bisect_right(self.cycle_ends, end)
        cycle_ends = self.cycle_ends[cycle_begin:cycle_end]
        cycle_pods = self.cycle_pods[cycle_begin:cycle_end]
        index = EventIndex(
            times=deltas(times),
            cycle_places=[(length - begin) // 3 - 1 for length in cycle_ends],
            cycle_pods=[pod if isinstance(pod, str) else pod.key for pod in cycle_pods],
        )
        block = EventBlock(
            objects=self.objects.take(),
            kind_names=list(_NAMES),
            kinds=kinds,
            numbers=deltas(numbers),
            calls=deltas(calls),
            rest=rest,
            action_counts=counts,
            # Encoded as structs; a reader keeps them encoded, and decodes those that it needs.
            actions=cast(
                "list[msgspec.Raw]", self._as_written(self.actions[action_begin:action_end])
            ),
        )
        # A position, because deleting from the front would move the rest of the lists.
        self._taken = (end, action_end, cycle_end)
        if end == len(self.entries):
            self._clear()
        return times, index, block

    def _as_written(self, actions: list[Action]) -> list[Action]:
        """Return actions whose objects are written as those of events, which they repeat."""
        as_written = self.objects.as_written
        if not self.objects.omits_owners or _WITH_OBJECTS.isdisjoint(map(type, actions)):
            return actions
        found = list(actions)
        for place, action in enumerate(actions):
            match action:
                case UpdateVolume(volume=volume):
                    found[place] = replace(action, volume=as_written(volume))
                case UpdateClaim(claim=claim) | WriteResourceClaim(claim=claim):
                    found[place] = replace(action, claim=as_written(claim))
                case _:
                    pass
        return found

    def _clear(self) -> None:
        # Callers keep references to the lists, so the lists themselves are cleared.
        self._taken = (0, 0, 0)
        self.entries.clear()
        self.actions.clear()
        self.cycle_ends.clear()
        self.cycle_pods.clear()

    def _rest(self, event: Any) -> dict[str, Any]:
        return {
            name: {"$object": self.objects.of(value)}
            if isinstance(value, KubernetesObject)
            else value
            for name in _REST_OF[type(event)]
            if (value := getattr(event, name)) is not None
        }


def decode_events(
    index: EventIndex,
    block: EventBlock,
    first: int,
    objects: dict[int, KubernetesObject],
    *,
    source: str,
) -> Iterator[Entry]:
    """Yield the events of a block.

    Parameters
    ----------
    objects : dict of int to object, written
        The numbered objects; the objects of the block are added.
    """
    for number, obj in decode_objects(block.objects, objects):
        objects.setdefault(number, obj)
    unknown = [name for name in block.kind_names if name not in _EVENT_OF]
    classes: list[Any] = [_EVENT_OF.get(name) for name in block.kind_names]
    pods: dict[int, tuple[str, ...]] = {}
    for place, pod in zip(index.cycle_places, index.cycle_pods, strict=True):
        pods[place] = (*pods.get(place, ()), pod)
    numbers, calls = accumulate(block.numbers), accumulate(block.calls)
    begin = 0
    columns = zip(block.kinds, accumulate(index.times), block.action_counts, strict=True)
    for place, (kind, now_ns, taken) in enumerate(columns):
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
        elif shape == _CALL and place not in block.rest:
            event = cls(next(calls))
        else:
            fields = _read_fields(cls, block.rest.get(place, {}), objects)
            if shape == _CALL:
                fields["call"] = next(calls)
            event = cls(**fields)
        # The same bytes as `encode_actions` made: a verification compares bytes.
        actions = ENCODER.encode(block.actions[begin : begin + taken]) if taken else NO_ACTIONS
        begin += taken
        yield Entry(first + place, now_ns, event, actions, pods.get(place, ()))


def decode_outcomes(
    index: EventIndex, block: OutcomeBlock, first: int, pod: str
) -> Iterator[Outcome]:
    """Yield what the events of a block say about a pod: its cycles, its actions, and all calls."""
    # Actions name the pod in plain text, so only those that concern it are decoded.
    name, cycle_places = pod.encode(), set[int]()
    for place, each in zip(index.cycle_places, index.cycle_pods, strict=True):
        if each == pod:
            cycle_places.add(place)
    answer = block.kind_names.index(CallDone.__name__)
    calls, begin = accumulate(block.calls), 0
    columns = zip(block.kinds, accumulate(index.times), block.action_counts, strict=True)
    for place, (kind, now_ns, taken) in enumerate(columns):
        call = next(calls) if kind == answer else None
        if place in block.rest:  # an error, or an object: a binding returns none
            call = None
        named = [each for each in block.actions[begin : begin + taken] if name in bytes(each)]
        begin += taken
        if named or call is not None or place in cycle_places:
            actions = decode_actions(ENCODER.encode(named)) if named else []
            yield Outcome(first + place, now_ns, call, actions)


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
    # A field of any object type cannot be converted; `_read_fields` reads it by number.
    assert "Object" not in str(field.type), f"{cls.__name__}.{field.name} is an object"
    return field.type
