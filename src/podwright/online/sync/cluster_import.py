"""Reads the objects of a cluster once.

Upstream: kube-scheduler-simulator simulator/oneshotimporter/importer.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.online.client.cluster import Query, ReadConnection, Reflector, RejectedRequest
from podwright.online.sync.object_copy import settled, stored_copy
from podwright.online.sync.source import Scope
from podwright.online.sync.source_kinds import (
    DEFINITIONS,
    SourceKind,
    definition_of,
    imported_kinds,
    left_out_texts,
    older_versions,
)

Progress = Callable[[str, int, int], None]
"""Called with a resource, how many objects were read, and how many follow."""

_ABSENT: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN})


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of a cluster.

    Attributes
    ----------
    kinds : sequence of str
        Resources; none for all that decisions depend on.
    namespaces : sequence of str
        Of objects in namespaces; none for all.
    selector : str
        A label selector for all kinds, as kube-scheduler-simulator has it.
    excludes_running : bool
        Whether to leave out pods that have a node.
    has_workloads : bool
        Whether Services and the owners of pods are read if `kinds` is empty, and pods keep their
        references to their owners.
    """

    kinds: Sequence[str] = ()
    namespaces: Sequence[str] = ()
    selector: str = ""
    excludes_running: bool = False
    has_workloads: bool = False


class ImportedCluster(msgspec.Struct, frozen=True):
    """The objects of a cluster.

    Attributes
    ----------
    objects : list of tuple
        Each with its kind, in the order in which they can be created.
    warnings : list of str
        Which kinds were left out, and why, and which namespaces do not exist.
    """

    objects: list[tuple[SourceKind, Document]]
    warnings: list[str]


async def read_cluster(
    connection: ReadConnection, options: ImportOptions, progress: Progress | None = None
) -> ImportedCluster:
    """Read the objects of all kinds, one kind after the other.

    Raises
    ------
    InputError
        An unknown kind.
    RejectedRequest, UnreachableCluster
    """
    found = ImportedCluster([], [])
    left_out: list[tuple[str, RejectedRequest]] = []
    scope = Scope(kinds=(), namespaces=options.namespaces, selector=options.selector)
    kinds = list(imported_kinds(options.kinds, has_workloads=options.has_workloads))
    for kind in kinds:
        begun = len(found.objects)
        try:
            await _read_served(connection, kind, scope, options, found.objects, progress)
            if kind.definition and any(of is kind for of, _ in found.objects):
                kinds.append(definition_of(kind))
        except RejectedRequest as error:
            if kind.is_required or error.status not in _ABSENT:
                raise
            del found.objects[begun:]  # of namespaces that can be read
            # Few servers have groups of pods; without them nothing is missing.
            if not kind.is_group or error.status != HTTPStatus.NOT_FOUND:
                left_out.append((kind.resource, error))
    found.warnings.extend(left_out_texts(left_out, "read"))
    # A selector also leaves out namespaces.
    if not options.selector and any(kind.resource == "namespaces" for kind in kinds):
        present = {
            obj["metadata"]["name"] for kind, obj in found.objects if kind.resource == "namespaces"
        }
        absent = [name for name in options.namespaces if name not in present]
        found.warnings.extend(f'there is no namespace "{name}"' for name in absent)
    # Definitions were read last, and are created first.
    objects = sorted(settled(found.objects), key=lambda each: each[0].resource != DEFINITIONS)
    return ImportedCluster(objects, found.warnings)


async def _read_served(
    connection: ReadConnection,
    kind: SourceKind,
    scope: Scope,
    options: ImportOptions,
    objects: list[tuple[SourceKind, Document]],
    progress: Progress | None,
) -> None:
    """Read a kind in its version, or in the newest one that an older server has."""
    *newer, oldest = (kind, *older_versions(kind))
    for version in newer:
        try:
            for collection in scope.collections(version):
                await _read_kind(connection, version, collection, options, objects, progress)
        except RejectedRequest as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        else:
            return
    for collection in scope.collections(oldest):
        await _read_kind(connection, oldest, collection, options, objects, progress)


async def _read_kind(
    connection: ReadConnection,
    kind: SourceKind,
    collection: tuple[str, Query],
    options: ImportOptions,
    objects: list[tuple[SourceKind, Document]],
    progress: Progress | None,
) -> None:
    begun = len(objects)

    def on_page(remaining: int) -> None:
        if progress is not None:
            progress(kind.resource, reflector.state.listed, remaining)

    path, query = collection
    reflector = Reflector(connection, path, query, streams=False, on_page=on_page)
    async for batch in reflector.batches():
        for change in batch.changes:
            obj = msgspec.json.decode(change.body)
            if not _is_left_out(kind, obj, options):
                copy = stored_copy(kind, obj, keeps_owners=options.has_workloads)
                objects.append((kind, copy))
        break
    if progress is not None:
        progress(kind.resource, len(objects) - begun, 0)


def _is_left_out(kind: SourceKind, obj: Document, options: ImportOptions) -> bool:
    if kind.resource == "namespaces" and options.namespaces:
        return obj["metadata"]["name"] not in options.namespaces
    return (
        options.excludes_running
        and kind.resource == "pods"
        and bool((obj.get("spec") or {}).get("nodeName"))
    )
