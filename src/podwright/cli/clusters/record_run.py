"""`podwright record`: follows a cluster and writes its changes."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from io import UnsupportedOperation
from pathlib import Path
from typing import Final

import typer

from podwright._private_files import exposures
from podwright.cli.clusters.options import RecordOptions, ReplayOptions
from podwright.cli.clusters.remote_work import (
    FailureLines,
    until_interrupted,
    warn_of_version,
)
from podwright.cli.console import print_message, print_warnings, write_at_once
from podwright.online.client import SteadyTime
from podwright.online.client.cluster import ClusterAddress, ReadConnection
from podwright.online.sync import (
    BoundPods,
    ClusterRecord,
    Mirror,
    RecordedChange,
    Scope,
    Source,
    SyncPolicies,
    Target,
    recorded_changes,
    recorded_kinds,
)


def run_record(options: RecordOptions) -> None:
    """Record until the duration is over, or the process is interrupted.

    The duration starts when the record has all objects: until then it is not a record of the
    cluster. It starts with the first request that fails, too, because a kind may never be listed.

    Raises
    ------
    InputError
        An unknown kind.
    UnwritableClusterRecord
    ConnectionSettingsError, UnreachableCluster, RejectedRequest
    """
    selection, seconds, address = options.selection, options.seconds(), options.connection.address()
    scope = Scope(
        kinds=recorded_kinds(selection.kind_names()),
        namespaces=selection.namespaces,
        selector=selection.selector,
    )

    async def run() -> ClusterRecord:
        async with ReadConnection(address) as connection:
            await warn_of_version(connection)
            print_warnings(exposures(options.out))
            record = ClusterRecord(
                options.out,
                resumes=options.resume,
                is_redacted=options.redact,
                largest_bytes=options.rotate or 0,
                kept_files=options.keep or 0,
            )
            # Changes are read in the order of their times, also after the machine's clock was set.
            clock = SteadyTime(record.last_ns)
            with closing(record):
                begun, report = asyncio.Event(), FailureLines()

                def failed(resource: str, error: Exception) -> None:
                    begun.set()
                    report(resource, error)

                source = Source(connection, scope, on_failure=failed)
                work = _record(source, record, clock, options, begun)
                await until_interrupted(work, seconds, since=begun)
                record.append(source.rest(), clock())
            if not source.is_synced:
                text = f"{options.out} is incomplete: it ended before all objects were listed"
                print_warnings([text])
            return record

    record = asyncio.run(run())
    files = ", ".join(map(str, record.files))
    print_message(f"recorded {record.lines} changes in {files}")


async def _record(
    source: Source,
    record: ClusterRecord,
    clock: SteadyTime,
    options: RecordOptions,
    begun: asyncio.Event,
) -> None:
    async for changes in source.changes():
        now_ns = clock()
        if changes:
            record.append(changes, now_ns)
        elif source.is_synced:
            record.synced(source.followed, options.selection.namespaces, now_ns)
            begun.set()
            print_warnings(source.warnings)
            print_message(f"recording to {options.out}; {record.lines} changes so far")
    raise AssertionError("a source has no end")


# `podwright replay`: applies a record to a destination.


def run_replay(options: ReplayOptions, address: ClusterAddress) -> None:
    """Apply all changes, or stop at the first failure with --strict.

    Raises
    ------
    InputError
        The file is not a record.
    Exit
        With status 1 if --strict stops.
    ConnectionSettingsError, UnreachableCluster, RejectedRequest
    """
    speed = None if options.immediate or options.step else options.speed
    replay = Replay(speed, steps=options.step, is_strict=options.strict)

    async def run() -> None:
        async with Target(address, options.to) as target:
            await target.check()  # says what is wrong with the address
            await until_interrupted(replay.run(options.file, target))
            replay.summarize(target)

    asyncio.run(run())
    if replay.has_stopped:
        raise typer.Exit(1)


class Replay:
    """The changes that were applied.

    Parameters
    ----------
    speed : float, optional
        How many seconds of the record a second is; None without waits.
    steps : bool
        Whether each change waits for a line on stdin.
    is_strict : bool
        Whether a failure stops it.
    """

    def __init__(self, speed: float | None, *, steps: bool, is_strict: bool = False) -> None:
        self.has_stopped = False
        self._speed, self._steps, self._is_strict = speed, steps, is_strict
        self._unknown = 0
        self._left_out: Counter[str] = Counter()
        self._applied = 0
        self._entered = EnteredLines()

    async def run(self, path: Path, target: Target) -> None:
        """Apply the changes of a file; with steps, as many as lines are entered."""
        mirror = Mirror(SyncPolicies(bound=BoundPods.kss))
        first_ns: int | None = None
        begun = time.monotonic()
        for recorded in recorded_changes(path):
            if not recorded.is_replayed:
                self._left_out[recorded.kind] += 1
                continue
            first_ns = recorded.time_ns if first_ns is None else first_ns
            if not await self._is_due(recorded, begun, first_ns):
                print_message(f"line {recorded.line}: the input has ended; the rest is not applied")
                return
            if recorded.change is None:
                self._unknown += 1
                print_message(f"line {recorded.line}: {recorded.text}: the object is not known")
                if self._stops():
                    return
                continue
            errors = target.errors.total()
            for operation in mirror.take(recorded.change):
                await target.execute(operation)
            self._applied += 1
            if target.errors.total() > errors:
                print_message(f"line {recorded.line}: {recorded.text}: {target.last_error}")
                if self._stops():
                    return

    def summarize(self, target: Target) -> None:
        """Print what was done."""
        done = target.done
        print_message(
            f"applied {self._applied} changes: created {done['created']}, updated "
            f"{done['updated']}, deleted {done['deleted']}; {self._unknown} of unknown objects, "
            f"{target.errors.total()} were rejected"
        )
        if self._left_out:
            kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self._left_out.items()))
            print_message(f"changes of other kinds are not applied: {kinds}")

    def _stops(self) -> bool:
        self.has_stopped = self._is_strict
        return self.has_stopped

    async def _is_due(self, recorded: RecordedChange, begun: float, first_ns: int) -> bool:
        """Wait for the time of a change, or for a line; return False if there is none."""
        if self._steps:
            write_at_once(recorded.text)
            return await self._entered.next()
        if self._speed is not None:
            due = begun + (recorded.time_ns - first_ns) / 1e9 / self._speed
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        return True


# Lines that are entered on stdin while an event loop runs.

_CHUNK: Final = 4096


class EnteredLines:
    """Waits for lines on stdin, which is read from the first wait on.

    The thread that reads does not keep the process from ending.
    """

    def __init__(self) -> None:
        self._entered: asyncio.Queue[bool] = asyncio.Queue()
        self._thread: threading.Thread | None = None

    async def next(self) -> bool:
        """Wait for a line; return False when the input has ended."""
        if self._thread is None:
            loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._read, args=(loop,), daemon=True)
            self._thread.start()
        return await self._entered.get()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop has ended
            for count in _line_counts():
                for _ in range(count):
                    loop.call_soon_threadsafe(self._entered.put_nowait, True)
            loop.call_soon_threadsafe(self._entered.put_nowait, False)


def _line_counts() -> Iterator[int]:
    """Yield how many lines each read of stdin has."""
    try:
        number = sys.stdin.fileno()
    except UnsupportedOperation:  # no file: all of it is there
        yield len(sys.stdin.readlines())
        return
    # Not sys.stdin.readline: a thread that waits in it holds a lock when the interpreter ends.
    while data := os.read(number, _CHUNK):
        yield data.count(b"\n")
