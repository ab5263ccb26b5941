"""Reading of a decision log: its events, its checkpoints, its times and its cycles."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, islice
from typing import Final, TypeVar

from podwright.apimachinery.objects import KubernetesObject, Time, read_time
from podwright.scheduler.machine import MachineSnapshot
from podwright.simulation.recording.log.log_events import decode_events, decode_outcomes
from podwright.simulation.recording.log.log_files import Frame, Medium
from podwright.simulation.recording.log.log_format import (
    CHECKPOINT,
    EVENTS,
    OBJECTS,
    Entry,
    EventBlock,
    EventIndex,
    Header,
    Outcome,
    OutcomeBlock,
    Setup,
    decode_payload,
    decode_payload_naming,
    decoder_of,
)
from podwright.simulation.recording.log.log_objects import decode_objects
from podwright.simulation.recording.log.memory_checkpoints import (
    Chain,
    CheckpointIndex,
    CheckpointObjects,
    KeptState,
    MemoryCheckpoint,
    MemoryCheckpointObjects,
    MemoryCheckpoints,
    Missing,
    Start,
)

_T = TypeVar("_T")

CHECKPOINTS: Final = (CHECKPOINT, OBJECTS)
"""The kinds of frames that hold the objects of a checkpoint, with or without the machine."""


class LogReading:
    """The frames of a log, to read; `DecisionLog` writes them.

    Parameters
    ----------
    medium : Medium
        Has the contents of the frames.
    frames : list of Frame
        In order; the writer appends to them.
    """

    def __init__(self, medium: Medium, frames: list[Frame]) -> None:
        self._medium = medium
        self._frames = frames
        self._first = 0
        self._memory_checkpoints = MemoryCheckpoints()
        self._flushed = frames[-1].end if frames else 0

    def __len__(self) -> int:
        return self._flushed

    def _flush_to_read(self) -> None:
        """Write the events that wait, so that the frames have all of them."""

    @property
    def first(self) -> int:
        """The number of the first event that the log has; others before it were dropped."""
        return self._first

    @property
    def first_ns(self) -> int:
        """The time of the first event that the log has; of the start, without events."""
        heads = (frame.head for frame in self._frames)
        return next((head.first_ns for head in heads if head.kind == EVENTS), self.start_ns)

    @property
    def header(self) -> Header:
        """The setup of the machine, and the version that recorded it."""
        return self._read(self._frames[0], Header)

    @property
    def setup(self) -> Setup:
        """The setup of the machine."""
        return self.header.setup

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """The numbers of the events before which there is a checkpoint."""
        return tuple(f.head.first for f in self._frames if f.head.kind == CHECKPOINT)

    @property
    def memory_checkpoints(self) -> tuple[int, ...]:
        """The numbers of the events of the in-memory checkpoints that are kept."""
        return tuple(checkpoint.index for checkpoint in self._memory_checkpoints)

    @property
    def states(self) -> tuple[int, ...]:
        """The numbers of the events before which the state is kept with its objects."""
        return tuple(state.index for state in self._memory_checkpoints.states)

    @property
    def unrestorable(self) -> tuple[str, ...]:
        """The names of the plugins whose state is missing in checkpoints."""
        frames = (frame for frame in self._frames if frame.head.kind == OBJECTS)
        parts = (self._read(frame, Missing, part=2) for frame in frames)
        return tuple(sorted({name for part in parts for name in part.plugins}))

    @property
    def ends(self) -> tuple[int, ...]:
        """The resume points: the numbers of events at which a block ends."""
        return tuple(dict.fromkeys(frame.end for frame in self._frames))

    def entries(self, first: int = 0, end: int | None = None) -> Iterator[Entry]:
        """Yield the events from number `first` to before number `end`; None for all that follow."""
        for entry in self.entries_from(self._start(first, CHECKPOINTS)):
            if end is not None and entry.index >= end:
                return
            if entry.index >= first:
                yield entry

    def start(self, index: int | None = None) -> Start:
        """Return the last checkpoint before an event.

        Parameters
        ----------
        index : int, optional
            The number of the event; None is the end.
        """
        return self._start(index, (CHECKPOINT,))

    def _start(self, index: int | None, kinds: tuple[int, ...]) -> Start:
        self._flush_to_read()
        place = self._checkpoint_place(index, kinds)
        checkpoint = self._memory_checkpoints.before(index)
        # A checkpoint at the same event numbers objects that later events have.
        if checkpoint is not None and self._frames[place].head.first < checkpoint.index:
            return self._start_at(checkpoint)
        return self._start_after(place)

    def _checkpoint_place(self, index: int | None, kinds: tuple[int, ...]) -> int:
        """Return the place of the last checkpoint before an event; 0 is the header."""
        for place in range(len(self._frames) - 1, 0, -1):
            head = self._frames[place].head
            is_before = index is None or head.first <= index
            # Nothing is known of the events that were dropped.
            is_first = self._first > 0 and place == 1
            if head.kind in kinds and (is_before or is_first):
                return place
        return 0

    def _start_after(self, place: int) -> Start:
        """Return the checkpoint at a place as a start, or that of the log."""
        if not place:
            return Start(0, None, {}, 1)
        frame = self._frames[place]
        is_whole = frame.head.kind == CHECKPOINT
        snapshot = self._read(frame, MachineSnapshot, part=2) if is_whole else None
        objects, chain = self._known_at(place)
        return Start(
            frame.head.first,
            snapshot,
            objects,
            place + 1,
            known_count=len(objects),
            object_count=chain.object_count,
            chain=chain,
        )

    def _start_at(self, checkpoint: MemoryCheckpoint | KeptState) -> Start:
        """Return an in-memory checkpoint as a start."""

        def read_others() -> dict[int, KubernetesObject]:
            start = self._start_after(self._checkpoint_place(checkpoint.index, CHECKPOINTS))
            for _ in islice(self.entries_from(start), checkpoint.index - start.index):
                pass
            return start.objects

        objects: Iterable[tuple[int, KubernetesObject]]
        if isinstance(checkpoint, KeptState):
            snapshot = decoder_of(MachineSnapshot).decode(checkpoint.snapshot)
            objects, count = checkpoint.objects.items(), checkpoint.object_count
        else:
            head, payload = checkpoint.head, checkpoint.payload
            source = self._medium.source
            block = decode_payload(payload, head, CheckpointObjects, part=1, source=source)
            snapshot = decode_payload(payload, head, MachineSnapshot, part=2, source=source)
            objects, count = decode_objects(block.objects, {}), block.chain.object_count
        known = MemoryCheckpointObjects(objects, read_others)
        frame = bisect_right(self._frames, checkpoint.index, key=_end_of)
        return Start(checkpoint.index, snapshot, known, frame, object_count=count)

    def _known_at(self, place: int) -> tuple[dict[int, KubernetesObject], Chain]:
        """Return the objects that a checkpoint refers to."""
        index = self._read(self._frames[place], CheckpointIndex)
        block = self._read(self._frames[place], CheckpointObjects, part=1)
        chain, left = block.chain, block.chain.before
        found = dict(decode_objects(block.objects, {}))
        while left:
            place -= 1
            if self._frames[place].head.kind in CHECKPOINTS:
                block = self._read(self._frames[place], CheckpointObjects, part=1)
                found.update(decode_objects(block.objects, {}))
                left -= 1
        return {number: found[number] for number in accumulate(index.numbers)}, chain

    def entries_from(self, start: Start) -> Iterator[Entry]:
        """Yield the events after `start`, a checkpoint that `start` returned, in order."""
        self._flush_to_read()
        objects = start.objects
        objects.update(start.given)
        for frame in self._frames[start.frame_index :]:
            yield from self._entries_of(frame, objects, start.given)

    def follow(self) -> Iterator[Entry | None]:
        """Yield all events, and None at the end.

        After None, the next item is the first of the events that were appended meanwhile, or None
        again; the iterator never ends.
        """
        place, objects = 1, dict[int, KubernetesObject]()
        while True:
            self._flush_to_read()
            for frame in self._frames[place:]:
                yield from self._entries_of(frame, objects, {})
                place += 1
            yield None

    def _entries_of(
        self,
        frame: Frame,
        objects: dict[int, KubernetesObject],
        given: Mapping[int, KubernetesObject],
    ) -> Iterator[Entry]:
        """Yield the events of a frame, and update the objects that later ones refer to."""
        if frame.head.kind == EVENTS:
            index = self._read(frame, EventIndex)
            block = self._read(frame, EventBlock, part=1)
            yield from decode_events(
                index, block, frame.head.first, objects, source=self._medium.source
            )
        else:
            passed = self._read(frame, CheckpointIndex)
            for number, obj in decode_objects(passed.objects, objects):
                # An object that the caller gave for a number stays.
                objects.setdefault(number, obj)
            # Later events do not refer to objects that the checkpoint does not list.
            known = {number: objects[number] for number in accumulate(passed.numbers)}
            objects.clear()
            objects.update(given)
            objects.update(known)

    def cycles_of(self, pod: str) -> list[int]:
        """Return the numbers of the events in which scheduling cycles of `pod` ended.

        It is a `namespace/name`.
        """
        return [index for index, name in self.cycles(pod) if name == pod]

    def cycles(self, naming: str = "") -> Iterator[tuple[int, str]]:
        """Yield the number of each event in which a scheduling cycle ended, with the pod.

        Only those of the blocks in which the name of a pod contains `naming`.
        """
        self._flush_to_read()
        text, source = naming.encode(), self._medium.source
        for frame in self._frames:
            if frame.head.kind == EVENTS:
                payload = self._medium.read(frame)
                columns = decode_payload_naming(
                    text, payload, frame.head, EventIndex, source=source
                )
                if columns is None:
                    continue
                for place, pod in zip(columns.cycle_places, columns.cycle_pods, strict=True):
                    yield frame.head.first + place, pod

    @property
    def start_ns(self) -> int:
        """The start of the run: that of the setup, or else the time of its first event kept."""
        return self.setup.start_ns or (self.time_of(self.first) if self.first < len(self) else 0)

    def read_time(self, at: Time, what: str = "at") -> int:
        """Return the time `at` in nanoseconds since 1970; a duration is since the start of the log.

        `what` is the name of the argument in errors.

        Raises
        ------
        InputError
            If it is not a time.
        """
        return read_time(at, what, start_ns=self.start_ns)

    def read_optional_time(self, at: Time | None) -> int | None:
        """Return the time `at` as `read_time` does; None for None."""
        return None if at is None else self.read_time(at)

    def index_at(self, at: Time) -> int:
        """Return the number of the first event after the time `at`, which `read_time` reads."""
        return self.index_at_ns(self.read_time(at))

    def index_at_ns(self, at_ns: int) -> int:
        """Return the number of the first event after `at_ns`, nanoseconds since 1970."""
        self._flush_to_read()
        index = 0
        for frame in self._frames:
            head = frame.head
            if head.kind != EVENTS or head.first_ns > at_ns:
                continue
            index = head.first + head.count
            if head.last_ns > at_ns:
                times = accumulate(self._read(frame, EventIndex).times)
                index = head.first + sum(now_ns <= at_ns for now_ns in times)
        return index

    def time_of(self, index: int) -> int:
        """Return the time of the event of number `index`, in nanoseconds since 1970."""
        self._flush_to_read()
        for frame in self._frames:
            if frame.head.kind == EVENTS and frame.head.first <= index < frame.end:
                return sum(self._read(frame, EventIndex).times[: index - frame.head.first + 1])
        raise IndexError(f"there is no event {index}; there are {len(self)}")

    def _read(self, frame: Frame, cls: type[_T], *, part: int = 0) -> _T:
        payload = self._medium.read(frame)
        return decode_payload(payload, frame.head, cls, part=part, source=self._medium.source)


def outcomes_of(log: LogReading, pod: str, first: int) -> Iterator[Outcome]:
    """Yield what the blocks of a log from that of one event on say about a pod."""
    log._flush_to_read()  # noqa: SLF001 - its own
    for frame in log._frames:  # noqa: SLF001 - its own
        if frame.head.kind == EVENTS and frame.end > first:
            index = log._read(frame, EventIndex)  # noqa: SLF001 - its own
            block = log._read(frame, OutcomeBlock, part=1)  # noqa: SLF001 - its own
            yield from decode_outcomes(index, block, frame.head.first, pod)


def _end_of(frame: Frame) -> int:
    return frame.end
