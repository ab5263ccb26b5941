"""In-memory checkpoints of a log: further states of the machine from which it is read.

An in-memory checkpoint has what a checkpoint has, but is not part of the log: any number of them
may be missing. A process that has a copy of the machine and of its log makes one, so the writer of
the log only keeps it. Its numbers of objects are those of the log, so that later events refer to
them; objects that only the machine has get numbers that the log never assigns. It has the objects
of the machine; an event that refers to an older one, which is rare, makes the reader read the
events before.

The last few states are kept with the objects themselves: nothing is encoded, so the writer makes
them itself, and reading starts sooner. They keep alive what was replaced since, so they are few.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from podwright.apimachinery.objects import KubernetesObject
from podwright.scheduler.machine import Machine, MachineSnapshot
from podwright.simulation.recording.log.log_format import (
    CHECKPOINT,
    ENCODER,
    FRAME_HEAD_BYTES,
    FrameHead,
    Objects,
    decode_frame_head,
    deltas,
    encode_frame,
)
from podwright.simulation.recording.log.log_objects import (
    ObjectWriter,
    ReferenceNumbers,
    encode_objects,
)

MEMORY_CHECKPOINTS_MAX: Final = 16
"""How many are kept: one of 50,000 pods has 4 MB."""

STATES_MAX: Final = 2
"""How many are kept with their objects: a decision is explained from the state before it, which is
the last but one if the last was made since."""

_OUTSIDE: Final = 1 << 40
"""The first number of an object that the log does not have."""


class MemoryCheckpoint(msgspec.Struct, frozen=True):
    """The state of a machine before an event, encoded as the frame of a full checkpoint."""

    head: FrameHead
    payload: bytes

    @property
    def index(self) -> int:
        """The number of the event."""
        return self.head.first

    def encode(self) -> bytes:
        """Return the in-memory checkpoint as bytes."""
        return self.head.encode() + self.payload

    @classmethod
    def decode(cls, data: bytes) -> MemoryCheckpoint:
        """Return the in-memory checkpoint of its bytes."""
        head = decode_frame_head(data[:FRAME_HEAD_BYTES], source="a checkpoint", offset=0)
        return cls(head, data[FRAME_HEAD_BYTES:])


class KeptState(msgspec.Struct, frozen=True):
    """The state of a machine before an event, with the objects themselves.

    Parameters
    ----------
    index : int
        The number of the event.
    snapshot : bytes
        The encoded `MachineSnapshot`.
    objects : dict of int to object
        Those of the machine, by number.
    object_count : int
        The number of numbers that the log had assigned.
    """

    index: int
    snapshot: bytes
    objects: dict[int, KubernetesObject]
    object_count: int


def kept_state(machine: Machine, writer: ObjectWriter, *, index: int) -> KeptState:
    """Return the present state of a machine; see `encode_memory_checkpoint`."""
    numbers = _Numbers(writer)
    snapshot = ENCODER.encode(machine.snapshot(numbers))
    return KeptState(index, snapshot, numbers.objects, writer.count)


class MemoryCheckpoints:
    """The in-memory checkpoints of one log, in order.

    Attributes
    ----------
    states : deque of KeptState
        The last of those with their objects.
    """

    def __init__(self) -> None:
        self._kept: list[MemoryCheckpoint] = []
        self.states: deque[KeptState] = deque(maxlen=STATES_MAX)

    def __iter__(self) -> Iterator[MemoryCheckpoint]:
        return iter(self._kept)

    def add(self, checkpoint: MemoryCheckpoint) -> None:
        """Keep a checkpoint; of too many, the one that leaves the smallest gap is dropped."""
        kept = self._kept
        insort(kept, checkpoint, key=_index_of)
        if len(kept) > MEMORY_CHECKPOINTS_MAX:
            indexes = [0, *map(_index_of, kept)]
            # The last one stays: most questions are about what has just happened.
            gaps = [indexes[at + 2] - indexes[at] for at in range(len(kept) - 1)]
            del kept[gaps.index(min(gaps))]

    def before(self, index: int | None) -> MemoryCheckpoint | KeptState | None:
        """Return the last in-memory checkpoint before an event; None is the end."""
        # Of two at the same event, the first: it is not encoded.
        both: tuple[MemoryCheckpoint | KeptState, ...] = (*self.states, *self._kept)
        known = (each for each in both if index is None or each.index <= index)
        return max(known, key=_index_of, default=None)

    def drop_before(self, index: int) -> None:
        """Drop those before an event."""
        self._kept = [each for each in self._kept if each.index >= index]
        kept = [each for each in self.states if each.index >= index]
        self.states.clear()
        self.states.extend(kept)


def encode_memory_checkpoint(
    machine: Machine, writer: ObjectWriter, *, index: int, compression: int
) -> MemoryCheckpoint:
    """Return the in-memory checkpoint of a machine; nothing changes.

    Parameters
    ----------
    writer : ObjectWriter
        Has numbered the objects of all events so far.
    index : int
        The number of the next event.
    compression : int
        0 (none) to 9 (smallest), as zlib has it.
    """
    numbers = _Numbers(writer)
    snapshot = machine.snapshot(numbers)
    objects = dict(sorted(numbers.objects.items()))
    parts = (
        CheckpointIndex(objects=encode_objects({}), numbers=deltas(list(objects))),
        CheckpointObjects(
            chain=Chain(0, len(objects), writer.count), objects=writer.written(objects)
        ),
        snapshot,
    )
    head, payload = encode_frame(CHECKPOINT, parts, first=index, times=(), level=compression)
    return MemoryCheckpoint(head, payload)


class MemoryCheckpointObjects(dict[int, KubernetesObject]):
    """The objects of an in-memory checkpoint; all others are read when one of them is referred to.

    Parameters
    ----------
    objects : iterable of (int, object)
        With their numbers.
    read_others : callable
        Returns the objects of all events before the checkpoint.
    """

    def __init__(
        self,
        objects: Iterable[tuple[int, KubernetesObject]],
        read_others: Callable[[], Mapping[int, KubernetesObject]],
    ) -> None:
        super().__init__(objects)
        self._read_others: Callable[[], Mapping[int, KubernetesObject]] | None = read_others

    def __missing__(self, number: int) -> KubernetesObject:
        if self._read_others is None:
            raise KeyError(number)
        others, self._read_others = self._read_others(), None
        for other, obj in others.items():
            self.setdefault(other, obj)
        return self[number]


class _Numbers(ReferenceNumbers):
    """The numbers of objects in a log, and others for those that it does not have."""

    def __init__(self, writer: ObjectWriter) -> None:
        super().__init__(writer)
        self._known = dict(writer.numbers)  # by address; `objects` keeps the others alive
        self._next = _OUTSIDE

    def _new(self, obj: KubernetesObject) -> int:
        number = self._known[id(obj)] = self._next
        self._next += 1
        return number


def _index_of(checkpoint: MemoryCheckpoint | KeptState) -> int:
    return checkpoint.index


# Checkpoints of a decision log, which are full or incremental.
#
# A checkpoint refers to all objects that the machine knows. Most of them were known at the
# previous checkpoint, so an incremental one stores only the others. Reading a checkpoint also
# reads those before it, back to a full one; their number is limited, and so is the number of
# stored objects: to about twice the number of known ones.
#
# If a plugin has state that cannot be stored, a checkpoint has the objects only. No machine is
# restored from it; replay starts at an earlier one.

_BEFORE: Final = 15
"""The maximum number of incremental checkpoints between two full ones."""

_WRITTEN_PER_OBJECT: Final = 2
"""The maximum number of stored objects in a checkpoint and those it needs, per known object."""


class CheckpointIndex(msgspec.Struct, kw_only=True, array_like=True):
    """The first part of a checkpoint, for readers that skip it.

    Parameters
    ----------
    objects : Objects
        The objects that the checkpoint numbers.
    numbers : list of int
        The numbers of all objects that stay known; as differences.
    """

    objects: Objects
    numbers: list[int]


class Chain(msgspec.Struct, frozen=True, array_like=True):
    """A checkpoint and the earlier ones that it needs.

    Parameters
    ----------
    before : int
        The number of earlier checkpoints that it needs; 0 for a full one.
    written_count : int
        The number of their objects, including objects that are no longer referred to.
    object_count : int
        The number of assigned numbers; objects with later numbers are in none of them.
    """

    before: int
    written_count: int
    object_count: int


class CheckpointObjects(msgspec.Struct, kw_only=True, array_like=True):
    """The objects of a checkpoint: its second part; the third is a `MachineSnapshot` or `Missing`.

    Parameters
    ----------
    objects : Objects
        The objects that it refers to and that are in none of the checkpoints that it needs.
    """

    chain: Chain
    objects: Objects


class Missing(msgspec.Struct, frozen=True, array_like=True):
    """Why a checkpoint has objects only: its third part in that case.

    Parameters
    ----------
    plugins : tuple of str
        The names of the plugins with state that a new instance would not have.
    """

    plugins: tuple[str, ...]


class Start(msgspec.Struct, frozen=True):
    """A position at which reading starts.

    Parameters
    ----------
    index : int
        The number of the first event.
    snapshot : MachineSnapshot, optional
        The machine before that event; None for a new machine, or a checkpoint of objects only.
    objects : dict of int to object
        The numbered objects; grows while events are read.
    frame_index : int
        The frame to read next.
    known_count, object_count : int
        The number of objects of the chain, and of numbers assigned so far.
    chain : Chain, optional
        The checkpoints with these objects; None at the start of the log.
    given : mapping of int to object
        Objects that replace those read for their numbers.
    """

    index: int
    snapshot: MachineSnapshot | None
    objects: dict[int, KubernetesObject]
    frame_index: int
    known_count: int = 0
    object_count: int = 0
    chain: Chain | None = None
    given: Mapping[int, KubernetesObject] = {}


def next_link(
    chain: Chain | None, known: Mapping[int, KubernetesObject], object_count: int
) -> tuple[Chain, Mapping[int, KubernetesObject]]:
    """Return the chain of the next checkpoint, and the objects that it has to store.

    Parameters
    ----------
    chain : Chain, optional
        The previous checkpoint, if there is one.
    known : mapping of int to object
        The objects that the checkpoint refers to.
    object_count : int
        The number of assigned numbers.
    """
    if chain is not None and chain.before < _BEFORE:
        # Numbers only grow, so the chain has stored no object from this number on.
        new = {number: obj for number, obj in known.items() if number >= chain.object_count}
        written_count = chain.written_count + len(new)
        if written_count <= _WRITTEN_PER_OBJECT * len(known):
            return Chain(chain.before + 1, written_count, object_count), new
    return Chain(0, len(known), object_count), known
