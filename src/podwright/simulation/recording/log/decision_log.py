"""The decision log: events in, actions out, in order, with checkpoints.

The log is the source of truth for a run. The events suffice to replay it; the actions verify the
replay, and can be read without one. Checkpoints limit the number of events to replay; without them
a replay only takes longer.

Recording is cheap because it only keeps references to each event and its actions. A log in a
folder encodes a block of columns every 1,024 events; a log in memory encodes them when it is read.

This module writes a log; `log_reading` reads it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from podwright._garbage import gc_paused
from podwright._version import __version__
from podwright.apimachinery.objects import KubernetesObject, require_type
from podwright.scheduler.machine import Action, Event, Machine, ObjectDeleted
from podwright.simulation.recording.log.log_events import EventRows
from podwright.simulation.recording.log.log_files import Folder, Frame, Medium, Memory, frames_until
from podwright.simulation.recording.log.log_format import (
    CHECKPOINT,
    EVENTS,
    HEADER,
    OBJECTS,
    FrameHead,
    Header,
    LogError,
    Pace,
    Setup,
    decode_payload,
    deltas,
    encode_frame,
)
from podwright.simulation.recording.log.log_objects import ObjectWriter, ReferenceNumbers
from podwright.simulation.recording.log.log_reading import CHECKPOINTS, LogReading
from podwright.simulation.recording.log.memory_checkpoints import (
    Chain,
    CheckpointIndex,
    CheckpointObjects,
    MemoryCheckpoint,
    Missing,
    encode_memory_checkpoint,
    kept_state,
    next_link,
)

BLOCK_EVENTS: Final = 1_024
"""Smaller blocks cost more per event; larger ones cost the same, and a crash loses more events."""

CHECKPOINT_EVENTS: Final = 100_000
EVENTS_PER_OBJECT: Final = 10
"""A checkpoint refers to every object, so the interval grows with their number. The interval of the
first one is fixed when it is due, the others when the previous one is written."""
_EVENTS_BETWEEN_TRIES: Final = 64


def require_log(log: object) -> None:
    """Raise an ArgumentError if an argument is not a decision log."""
    require_type(log, DecisionLog, "log", "the result of podwright.DecisionLog.open")


class DecisionLog(LogReading):
    """Events and actions of one run; `create` or `open` one.

    Only one process may write a log. A driver passes every event of the machine to `append` in
    order, or uses a `Recorder`.

    Attributes
    ----------
    rows : EventRows
        Events that are not written yet.
    block_events : int
        The number of events in a block.
    waits_for_flush : bool
        Whether events are encoded only when they are read: a log in memory.

    Examples
    --------
    >>> from podwright.scheduler.machine import CycleDue
    >>> log = DecisionLog.create()
    >>> log.append(1_000_000_000, CycleDue(), [])
    0
    >>> [entry.event for entry in log.entries()]
    [CycleDue()]
    """

    def __init__(
        self,
        medium: Medium,
        frames: list[Frame],
        *,
        is_writable: bool,
        pace: Pace,
        waits_for_flush: bool = False,
    ) -> None:
        super().__init__(medium, frames)
        self._is_writable = is_writable
        self.waits_for_flush = waits_for_flush
        self._checkpoint_events = sys.maxsize if waits_for_flush else pace.checkpoint_events
        self._object_events = pace.object_events
        self._compression = pace.compression
        self._unwritten: tuple[FrameHead, bytes] | None = None
        self._chain: Chain | None = None
        # The checkpoints written by this object that need no other: all of a log in memory.
        self._whole: set[int] = set()
        self.rows = EventRows()
        self.block_events = min(pace.block_events, self._checkpoint_events)
        self._checkpoint_due = self._checkpoint_events

    @classmethod
    def create(
        cls,
        path: str | Path | None = None,
        setup: Setup | None = None,
        *,
        fingerprints: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None,
        block_events: int = BLOCK_EVENTS,
        checkpoint_events: int | None = None,
        compression: int = 1,
    ) -> Self:
        """Create a log.

        Parameters
        ----------
        path : str or Path, optional
            A folder without a log, made if missing; None keeps the log in memory, where
            events wait for `flush`.
        setup : Setup, optional
            How the machine is made; the default is that of an empty configuration.
        fingerprints : mapping, optional
            Per profile, the names of the plugins per extension point.
        block_events : int
            How many events are written at once. A process that dies takes as many with it.
        checkpoint_events : int, optional
            The number of events between checkpoints. Left out it is 100,000 in a folder, more
            where there are many objects; in memory there are none then, and nothing is written
            before `flush`.
        compression : int
            0 (none) to 9 (smallest), as zlib has it.

        Raises
        ------
        LogError
            If there is a log already, or the folder cannot be written.
        """
        medium: Medium
        if path is None:
            medium = Memory()
        else:
            medium = Folder(Path(path))
            medium.create()
        pace = Pace(
            block_events=block_events,
            checkpoint_events=checkpoint_events or CHECKPOINT_EVENTS,
            compression=compression,
            object_events=0 if checkpoint_events else EVENTS_PER_OBJECT,
        )
        waits_for_flush = path is None and checkpoint_events is None
        log = cls(medium, [], is_writable=True, pace=pace, waits_for_flush=waits_for_flush)
        plain = {name: dict(points) for name, points in (fingerprints or {}).items()}
        header = Header(
            podwright=__version__, setup=setup or Setup(), pace=pace, fingerprints=plain
        )
        try:
            log._write(HEADER, header, first=0)
        except LogError:
            log.abandon()
            raise
        return log

    @classmethod
    def open(cls, path: str | Path, *, append: bool = False, until: int | None = None) -> Self:
        """Open a log that exists.

        Parameters
        ----------
        path : path
            The folder of the log.
        append : bool
            Whether events will be appended, with the block sizes of the log. The partial frame
            of a writer that died is truncated; a log that is only read is never changed.
        until : int, optional
            The number of events to keep, where a block or a checkpoint ends. Later events are
            not read, and a writer truncates them. Appending the same events then makes the same
            files as if the log had never been closed.

        Raises
        ------
        LogError
            If this is not a log, it is damaged, its format is newer, another process writes it,
            or no block ends at `until`; it is left as it is.
        """
        medium = Folder(Path(path))
        try:
            frames = frames_until(medium.open(append=append), until, source=medium.source)
            payload = medium.read(frames[0])
            header = decode_payload(payload, frames[0].head, Header, source=medium.source)
            log = cls(medium, frames, is_writable=append, pace=header.pace)
            if append:
                log._restore_writer()
                medium.append_after(frames[-1])
        except LogError:
            medium.close()
            raise
        return log

    def omit_owners(self) -> None:
        """Leave out the `managedFields` of objects, which no scheduler reads, from now on.

        For drivers whose components change them with every write.
        """
        self.rows.objects.omit_owners()

    def _restore_writer(self) -> None:
        """Restore the state of a writer at the end of the log."""
        start = self._start(None, CHECKPOINTS)
        objects = start.objects
        self.rows.objects = writer = ObjectWriter(start.object_count, objects)
        deleted: list[KubernetesObject] = []

        def add_written() -> None:
            writer.add_written(objects)
            for each in deleted:
                writer.forget(each)

        for entry in self.entries_from(start):
            if isinstance(entry.event, ObjectDeleted):
                deleted.append(entry.event.obj)
            # The unbroken writer counted the objects at this event (`_is_put_off`), so the
            # next checkpoint is due where it would have been.
            if start.chain is None and entry.index + 1 == self._checkpoint_events:
                add_written()
                self._checkpoint_due = self._next_checkpoint(0, len(writer))
        add_written()
        self._chain = start.chain
        if start.chain is not None:
            self._checkpoint_due = self._next_checkpoint(start.index, start.known_count)
        # A checkpoint that the machine refused is tried again every so many events; the next
        # try is where the unbroken writer would make it.
        missed = self._flushed - self._checkpoint_due
        if missed > 0:
            self._checkpoint_due += -(-missed // _EVENTS_BETWEEN_TRIES) * _EVENTS_BETWEEN_TRIES

    def _next_checkpoint(self, index: int, object_count: int) -> int:
        """Return when the checkpoint after one with this number of objects is due."""
        return index + max(self._checkpoint_events, self._object_events * object_count)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._flushed + len(self.rows)

    # ------------------------------------------------------------ writing

    def append(
        self,
        now_ns: int,
        event: Event,
        actions: Sequence[Action],
        *,
        pod: str = "",
        pods: Sequence[str] = (),
    ) -> int:
        """Add an event and its actions.

        It is written with the next block; `flush` writes at once.

        Parameters
        ----------
        now_ns : int
            The time of the event in nanoseconds since 1970.
        event : Event
            What the machine handled.
        actions : sequence of Action
            What it returned.
        pod : str
            The pod whose cycle ended, as `namespace/name`; "" if none.
        pods : sequence of str
            Instead of `pod`, if it was a group.

        Returns
        -------
        int
            The number of the event.
        """
        self.rows.add(now_ns, event, actions)
        for each in (pod,) if pod else pods:
            self.rows.end_cycle(each)
        index = len(self) - 1
        if not self.waits_for_flush and len(self.rows) >= self.block_events:
            self.flush()
        return index

    def flush(self, *, sync: bool = False) -> None:
        """Write the appended events; in a folder they then survive this process.

        Parameters
        ----------
        sync : bool
            Wait until it would outlive a power failure too.

        Raises
        ------
        LogError
            If it cannot be written, for example because the disk is full. Nothing is lost: the
            next flush tries again.
        """
        self._write_out()
        while len(self.rows):
            times, index, block = self.rows.take(self.block_events)
            # Before the write: if it fails, `_unwritten` keeps the frame, and the rows are taken.
            self._flushed += len(times)
            self._write(EVENTS, index, block, first=self._flushed - len(times), times=times)
        if sync:
            self._medium.sync()

    def save(self, path: str | Path) -> None:
        """Write a copy of the log, such as one in memory, into a folder.

        Parameters
        ----------
        path : str or Path
            A folder without a log, made if missing.

        Raises
        ------
        LogError
            If there is a log already, or the folder cannot be written.
        """
        self._flush_to_read()
        folder = Folder(Path(path))
        folder.create()
        try:
            for frame in self._frames:
                folder.append(frame.head, self._medium.read(frame))
            folder.sync()
        finally:
            folder.close()

    def copy(self) -> DecisionLog:
        """Return a copy in memory that is continued independently."""
        return self.snapshot()()

    def snapshot(self) -> Callable[[], DecisionLog]:
        """Return a function, which can be pickled, that makes a copy as of now."""
        return partial(DecisionLog._in_memory, self._contents(), self._first)

    def __reduce__(self) -> tuple[Callable[..., DecisionLog], tuple[object, ...]]:
        """Pickle the content of a log in memory, and the path of one in a folder, to be read."""
        self._flush_to_read()
        if isinstance(self._medium, Memory):
            return DecisionLog._in_memory, (self._contents(), self._first)
        return DecisionLog.open, (self._medium.source,)

    def _contents(self) -> list[tuple[FrameHead, bytes]]:
        self._flush_to_read()
        return [(frame.head, self._medium.read(frame)) for frame in self._frames]

    @classmethod
    def _in_memory(cls, contents: Sequence[tuple[FrameHead, bytes]], first: int) -> DecisionLog:
        memory = Memory()
        frames = [memory.append(head, payload) for head, payload in contents]
        head, payload = contents[0]
        pace = decode_payload(payload, head, Header, source=memory.source).pace
        log = DecisionLog(memory, frames, is_writable=True, pace=pace, waits_for_flush=True)
        log._first = first
        # References by address do not survive: the writer gets the objects that are in the frames.
        log._restore_writer()
        return log

    def catch_up(self, machine: Machine) -> int:
        """Write what is due; return the number of events that may then wait.

        A checkpoint is of `machine` as it is after the last event.
        """
        self._write_out()
        if len(self.rows) >= self.block_events:
            self.flush()
        if self.is_checkpoint_due and not self._is_put_off():
            self.checkpoint(machine)
        return max(1, min(self.block_events, self._checkpoint_due - self._flushed))

    def _is_put_off(self) -> bool:
        """Count the objects when the first checkpoint is due; return whether to postpone it."""
        if self._chain is not None or self._checkpoint_due != self._checkpoint_events:
            return False
        # Objects get their numbers, by which they are counted, when a block is encoded.
        self.flush()
        self._checkpoint_due = self._next_checkpoint(0, len(self.rows.objects))
        return not self.is_checkpoint_due

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether a checkpoint is due."""
        return len(self) >= self._checkpoint_due

    def drop_before_checkpoint(self, kept_count: int = 0, kept_bytes: int = sys.maxsize) -> int:
        """Drop the oldest events of a log in memory, up to a checkpoint that needs no other.

        Parameters
        ----------
        kept_count, kept_bytes : int
            At least so many of the last events are kept, or those of so many bytes.

        Returns
        -------
        int
            The number of the first event that is kept.
        """
        assert isinstance(self._medium, Memory), "only logs in memory drop events"
        place = size_bytes = 0
        for index, frame in reversed(tuple(enumerate(self._frames))):
            head = frame.head
            if head.kind == EVENTS:
                size_bytes += len(self._medium.read(frame))
            elif (
                head.kind == CHECKPOINT
                and head.first in self._whole
                and (len(self) - head.first >= kept_count or size_bytes >= kept_bytes)
            ):
                place = index
                break
        if place > 1:
            for frame in self._frames[1:place]:
                self._medium.drop(frame)
            del self._frames[1:place]
            self._first = self._frames[1].head.first
            self._memory_checkpoints.drop_before(self._first)
        return self._first

    @property
    def size_bytes(self) -> int:
        """The size of a log in memory, without the events that are not encoded yet."""
        assert isinstance(self._medium, Memory), "only logs in memory have a size"
        return self._medium.size_bytes

    def memory_checkpoint(self, machine: Machine) -> bytes | None:
        """Return the machine after the last event in bytes, for `keep_memory_checkpoint`.

        A log is read from there as from a checkpoint, but it is not a part of the log, and its
        encoding changes nothing: a copy of the process can do it after a `flush` of the writer.

        Parameters
        ----------
        machine : Machine

        Returns
        -------
        bytes or None
            None if the machine has pending work, or a plugin has state, that cannot be saved.
        """
        if not machine.can_snapshot or machine.unrestorable:
            return None
        self.flush()
        with gc_paused():
            made = encode_memory_checkpoint(
                machine, self.rows.objects, index=self._flushed, compression=self._compression
            )
        return made.encode()

    def keep_memory_checkpoint(self, checkpoint: bytes) -> None:
        """Keep `checkpoint`, encoded and in memory, which is dropped with the events before it."""
        assert isinstance(self._medium, Memory), "only logs in memory keep them"
        decoded = MemoryCheckpoint.decode(checkpoint)
        if decoded.index < self._first:  # they were dropped while it was made
            return
        assert decoded.index in (frame.end for frame in reversed(self._frames)), (
            f"no block ends before event {decoded.index}"
        )
        self._memory_checkpoints.add(decoded)

    def keep_state(self, machine: Machine) -> None:
        """Keep `machine` as it is after the last event, with its objects; 1 us for each of them.

        The machine must be one of which a snapshot can be taken now, and restored.
        """
        self.flush()
        with gc_paused():
            state = kept_state(machine, self.rows.objects, index=self._flushed)
        self._memory_checkpoints.states.append(state)

    @property
    def last_start(self) -> int:
        """The number of the last event before which there is an encoded checkpoint."""
        return max((0, *self.checkpoints, *self.memory_checkpoints))

    @property
    def last_state(self) -> int:
        """The number of the last event before which there is a checkpoint of any kind."""
        return max((self.last_start, *self.states))

    def checkpoint(self, machine: Machine, *, is_whole: bool = False) -> bool:
        """Write a checkpoint of the machine after the last event.

        If a plugin has state that cannot be written down, only the objects are.

        Parameters
        ----------
        machine : Machine
        is_whole : bool
            Whether the checkpoint must not need an earlier one, so that these can be dropped.

        Returns
        -------
        bool
            False if the machine has pending work that cannot be saved; try again later.
        """
        if not machine.can_snapshot:
            self._checkpoint_due = len(self) + _EVENTS_BETWEEN_TRIES
            return False
        # The events first: their encoding assigns the numbers that the snapshot refers to.
        self.flush()
        writer = self.rows.objects
        references = ReferenceNumbers(writer)
        with gc_paused():
            # In this order: `snapshot` may number objects, `take` writes those, `keep_only` forgets
            # all that the checkpoint does not list.
            snapshot = machine.snapshot(references)
            index = CheckpointIndex(objects=writer.take(), numbers=deltas(list(references.objects)))
            previous = None if is_whole else self._chain
            chain, new = next_link(previous, references.objects, writer.count)
            block = CheckpointObjects(chain=chain, objects=writer.written(new))
            writer.keep_only(references.objects)
        self._chain = chain
        if not chain.before:
            self._whole.add(self._flushed)
        self._checkpoint_due = self._next_checkpoint(self._flushed, len(references.objects))
        names = machine.unrestorable
        kind, machine_part = (OBJECTS, Missing(names)) if names else (CHECKPOINT, snapshot)
        self._write(kind, index, block, machine_part, first=self._flushed)
        return True

    def close(self) -> None:
        """Write the appended events and release the files; idempotent."""
        self.flush()
        self._medium.close()

    def abandon(self) -> None:
        """Release the files without writing the remaining events; idempotent."""
        self._medium.close()

    def _write(self, kind: int, *values: object, first: int, times: Sequence[int] = ()) -> None:
        assert self._is_writable, f"{self._medium.source} was opened to be read"
        self._unwritten = encode_frame(
            kind, values, first=first, times=times, level=self._compression
        )
        self._write_out()

    def _write_out(self) -> None:
        """Write the frame of an earlier write that failed, if there is one."""
        if self._unwritten is not None:
            self._frames.append(self._medium.append(*self._unwritten))
            self._unwritten = None

    def objects(self) -> dict[int, KubernetesObject]:
        """Return the objects that have a number, by number.

        Resumed recordings pass these objects to the machine: another object, even an equal one,
        would be written again.
        """
        return self.rows.objects.known()

    def _flush_to_read(self) -> None:
        if len(self.rows) or self._unwritten is not None:
            self.flush()

    def __repr__(self) -> str:
        return f"<DecisionLog: {len(self)} events>"
