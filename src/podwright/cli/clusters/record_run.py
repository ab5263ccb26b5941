"""`podwright record`: follows a cluster and writes its changes."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from pathlib import Path

from podwright._private_files import exposures
from podwright.cli.clusters.cluster_options import run_remote, until_interrupted, warn_of_version
from podwright.cli.clusters.options import RecordOptions
from podwright.cli.console import print_message, print_warnings
from podwright.online.client.cluster import ReadConnection
from podwright.online.sync import ClusterRecord, Scope, Source, source_kinds


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
        kinds=source_kinds(selection.kind_names(), has_workloads=True),
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
            with closing(record):
                begun = asyncio.Event()

                def failed(resource: str, error: Exception) -> None:
                    begun.set()
                    print_message(f"{resource}: {error}; the next attempt follows")

                source = Source(connection, scope, on_failure=failed)
                work = _record(source, record, options.out, begun)
                await until_interrupted(work, seconds, since=begun)
                record.append(source.rest(), time.time_ns())
            if not source.is_synced:
                text = f"{options.out} is incomplete: it ended before all objects were listed"
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
