"""`podwright import`: reads a cluster and writes its objects."""

from __future__ import annotations

import asyncio
import sys
from time import monotonic

import msgspec
from rich.status import Status

from podwright._private_files import PRIVATE, exposures
from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in
from podwright.cli.clusters.options import ImportClusterOptions
from podwright.cli.clusters.remote_work import warn_of_version
from podwright.cli.console import (
    print_document,
    print_message,
    print_warnings,
    stderr,
    write,
    write_file,
)
from podwright.online.client.cluster import ClusterAddress, ReadConnection
from podwright.online.sync import ImportedCluster, ImportOptions, read_cluster
from podwright.simulation.files import (
    DEFAULT_CONFIGURATION,
    encode_snapshot,
    is_in_every_cluster,
)

_QUIET_SECONDS = 1.0


def imported_cluster(address: ClusterAddress, options: ImportOptions) -> ImportedCluster:
    """Read a cluster once; shows the progress on a terminal, and what was read.

    Raises
    ------
    ConnectionSettingsError, UnreachableCluster, RejectedRequest, InputError
    """
    progress = _Progress()

    async def read() -> ImportedCluster:
        async with ReadConnection(address) as connection:
            await warn_of_version(connection)
            return await read_cluster(connection, options, progress.show)

    try:
        found = asyncio.run(read())
    finally:
        progress.stop()
    print_warnings(found.warnings)
    counts: dict[str, int] = {}
    for kind, _ in found.objects:
        counts[kind.resource] = counts.get(kind.resource, 0) + 1
    listed = ", ".join(f"{count} {resource}" for resource, count in counts.items())
    print_message(f"read {listed or 'no objects'}")
    return found


def list_of(found: ImportedCluster) -> bytes:
    """Return the objects as a List in JSON."""
    items = [obj for _, obj in found.objects]
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items}) + b"\n"


def run_import(options: ImportClusterOptions) -> None:
    """Read a cluster, and write its objects in one format.

    Raises
    ------
    InputError
        An unknown kind, or the file cannot be written.
    """
    out, output, selection = options.out, options.output, options.selection
    found = imported_cluster(
        options.connection.address(),
        ImportOptions(
            kinds=selection.kind_names(),
            namespaces=selection.namespaces,
            selector=selection.selector,
            excludes_running=options.exclude_running,
            has_workloads=options.workloads,
        ),
    )
    if out is None:
        _write(found, output)
        return
    data = {"json": list_of, "kss": _snapshot, "name": _names, "yaml": _yaml}[output](found)
    print_warnings(exposures(out))
    write_file(out, data, PRIVATE)
    print_message(f"wrote {out}")


def _write(found: ImportedCluster, output: str) -> None:
    if output in {"json", "yaml"}:
        items = [obj for _, obj in found.objects]
        print_document({"apiVersion": "v1", "kind": "List", "items": items}, output)
    elif text := {"kss": _snapshot, "name": _names}[output](found).decode():
        write(text)


def _names(found: ImportedCluster) -> bytes:
    return "".join(f"{kind.kind.lower()}/{_key(obj)}\n" for kind, obj in found.objects).encode()


def _key(obj: Document) -> str:
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def _yaml(found: ImportedCluster) -> bytes:
    from podwright.apimachinery.objects import write_yaml

    items = [obj for _, obj in found.objects]
    document = {"apiVersion": "v1", "kind": "List", "items": items}
    plain = msgspec.to_builtins(document)
    return write_yaml(plain).encode()


def _snapshot(found: ImportedCluster) -> bytes:
    keys = {kind.row.resource: key for key, kind in built_in().snapshot_keys.items()}
    lists: dict[str, list[Document | msgspec.Raw]] = {key: [] for key in keys.values()}
    left_out: dict[str, int] = {}
    for kind, obj in found.objects:
        key = keys.get(kind.resource)
        if key is None:
            left_out[kind.resource] = left_out.get(kind.resource, 0) + 1
        elif not is_in_every_cluster(kind.kind, obj["metadata"]["name"]):
            lists[key].append({k: v for k, v in obj.items() if k not in ("apiVersion", "kind")})
    if left_out:
        counts = ", ".join(f"{count} {name}" for name, count in left_out.items())
        print_message(f"omitted kinds that a snapshot does not support: {counts}")
    return encode_snapshot(lists, DEFAULT_CONFIGURATION)


class _Progress:
    """A line on the terminal, after a second."""

    def __init__(self) -> None:
        self._begun_s = monotonic()
        self._status: Status | None = None

    def show(self, resource: str, done: int, remaining: int) -> None:
        console = stderr()
        if not console.is_terminal or monotonic() - self._begun_s < _QUIET_SECONDS:
            return
        text = f"reading {resource}: {done}"
        if remaining:
            text += f" of about {done + remaining}"
        if self._status is None:
            self._status = console.status(text)
            self._status.start()
        self._status.update(text)

    def stop(self) -> None:
        if self._status is not None:
            self._status.stop()
        sys.stderr.flush()
