"""`podwright record`: follows a cluster and writes its changes."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from podwright._private_files import exposures
from podwright.cli.clusters.cluster_options import run_remote, until_interrupted, warn_of_version
from podwright.cli.console import print_message, print_warnings
from podwright.online.client.cluster import ClusterAddress, ReadConnection
from podwright.online.sync import ClusterRecord, Scope, Source, source_kinds


@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    """The options of the command."""

    path: Path
    duration_seconds: float | None
    namespaces: tuple[str, ...]
    selector: str
    kinds: tuple[str, ...]
    resumes: bool
    is_redacted: bool
    largest_bytes: int
    kept_files: int


def run_record(address: ClusterAddress, options: RecordOptions) -> None:
    """Record until the duration is over, or the process is interrupted.

    The duration begins when the record has all objects: until then it is no record of the cluster.
    It begins with the first request that fails, too, because a kind may never be listed.

    Raises
    ------
    InputError
        An unknown kind.
    UnwritableClusterRecord
    ConnectionSettingsError, UnreachableCluster, RejectedRequest
    """
    scope = Scope(
        kinds=source_kinds(options.kinds, has_workloads=True),
        namespaces=options.namespaces,
        selector=options.selector,
    )

    async def run() -> ClusterRecord:
        async with ReadConnection(address) as connection:
            await warn_of_version(connection)
            print_warnings(exposures(options.path))
            record = ClusterRecord(
                options.path,
                resumes=options.resumes,
                is_redacted=options.is_redacted,
                largest_bytes=options.largest_bytes,
                kept_files=options.kept_files,
            )
            with closing(record):
                begun = asyncio.Event()

                def failed(resource: str, error: Exception) -> None:
                    begun.set()
                    print_message(f"{resource}: {error}; the next attempt follows")

                source = Source(connection, scope, on_failure=failed)
                work = _record(source, record, options.path, begun)
                await until_interrupted(work, options.duration_seconds, since=begun)
                record.append(source.rest(), time.time_ns())
            if not source.is_synced:
                text = f"{options.path} is incomplete: it ended before all objects were listed"
                print_warnings([text])
            return record

    record = run_remote(run)
    files = ", ".join(map(str, record.files))
    print_message(f"recorded {record.lines} changes in {files}")


async def _record(source: Source, record: ClusterRecord, path: Path, begun: asyncio.Event) -> None:
    async for changes in source.changes():
        now_ns = time.time_ns()
        if changes:
            record.append(changes, now_ns)
        elif source.is_synced:
            record.synced(now_ns)
            begun.set()
            print_warnings(source.warnings)
            print_message(f"recording to {path}; {record.lines} changes so far")
    raise AssertionError("a source has no end")
