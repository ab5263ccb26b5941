"""Warnings about files of one volume that would hide each other.

Upstream: pkg/api/pod/warnings.go, warningsForOverlappingVirtualPaths
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import printed
from podwright.apimachinery.schema.warnings import WARNINGS_MAX

_SOURCES: Final = frozenset({"configMap", "secret", "downwardAPI", "projected"})


class _File(msgspec.Struct, frozen=True):
    path: str
    source: str = ""

    def __str__(self) -> str:
        return f"{printed(self.path)} ({self.source})" if self.source else printed(self.path)


def path_warnings(volumes: Iterable[Document]) -> list[str]:
    """Return the warnings about the paths of volumes that overlap; at most `WARNINGS_MAX`."""
    return list(islice(_path_warnings(volumes), WARNINGS_MAX))


def _path_warnings(volumes: Iterable[Document]) -> Iterator[str]:
    for volume in volumes:
        if _SOURCES.isdisjoint(volume):
            continue
        name = printed(volume.get("name") or "")
        for what, files in _single_sources(volume):
            for file, other in _overlaps(files):
                yield f"volume {name} ({what}): overlapping paths: {file} with {other}"
        if (projected := volume.get("projected")) is None:
            continue
        before = _Files()
        for source in projected.get("sources") or ():
            if not source:
                yield f"volume {name} (Projected) has no sources provided"
            for file in _projected(source):
                for other in before.overlapping(file):
                    yield f"volume {name} (Projected): overlapping paths: {file} with {other}"
                before.add(file)


def _single_sources(volume: Document) -> Iterator[tuple[str, list[_File]]]:
    """Yield what a volume is made from, and its files."""
    if (source := volume.get("configMap")) is not None:
        yield f"ConfigMap {printed(source.get('name') or '')}", _items(source)
    if (source := volume.get("secret")) is not None:
        yield f"Secret {printed(source.get('secretName') or '')}", _items(source)
    if (source := volume.get("downwardAPI")) is not None:
        yield "DownwardAPI", _items(source)


def _items(source: Document, name: str = "") -> list[_File]:
    return [_file(each.get("path"), name) for each in source.get("items") or ()]


def _file(path: str | None, source: str) -> _File:
    return _File((path or "").rstrip("/"), source)


def _projected(source: Document) -> list[_File]:
    """Return the files of one source of a projected volume."""
    for field, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        found = source.get(field)
        if found is not None and found.get("items") is not None:
            return _items(found, f"{kind} {printed(found.get('name') or '')}")
    if (found := source.get("downwardAPI")) is not None and found.get("items") is not None:
        return _items(found, "DownwardAPI")
    if (found := source.get("serviceAccountToken")) is not None:
        return [_file(found.get("path"), "ServiceAccountToken")]
    if (found := source.get("clusterTrustBundle")) is not None:
        name = found.get("name") or found.get("signerName") or ""
        return [_file(found.get("path"), f"ClusterTrustBundle {printed(name)}")]
    found = source.get("podCertificate") or {}
    parts = (
        ("certificateChainPath", "chain"),
        ("keyPath", "key"),
        ("credentialBundlePath", "credential bundle"),
    )
    return [
        _file(found[field], f"PodCertificate {part}") for field, part in parts if found.get(field)
    ]


def _overlaps(files: Iterable[_File]) -> Iterator[tuple[_File, _File]]:
    """Yield each file with every earlier one that overlaps it."""
    before = _Files()
    for file in files:
        for other in before.overlapping(file):
            yield file, other
        before.add(file)


class _Folder(msgspec.Struct, frozen=True):
    """A path: the files that have it, and those below it, each with its place in the order."""

    files: list[tuple[int, _File]] = []
    below: list[tuple[int, _File]] = []
    parts: dict[str, _Folder] = {}


class _Files:
    """Files by the parts of their paths, in the order in which they were added."""

    def __init__(self) -> None:
        self._root = _Folder()
        self._count = 0

    def add(self, file: _File) -> None:
        """Add a file; one without a path overlaps none."""
        if not file.path:
            return
        entry = (self._count, file)
        self._count += 1
        folder = self._root
        for part in file.path.split("/"):
            folder.below.append(entry)
            folder = folder.parts.setdefault(part, _Folder())
        folder.files.append(entry)

    def overlapping(self, file: _File) -> list[_File]:
        """Return the files that have the path of a file, or are above or below it."""
        if not file.path:
            return []
        folder: _Folder | None = self._root
        found: list[list[tuple[int, _File]]] = []
        for part in file.path.split("/"):
            folder = folder.parts.get(part) if folder is not None else None
            if folder is None:
                break
            found.append(folder.files[:WARNINGS_MAX])
        if folder is not None:
            found.append(folder.below[:WARNINGS_MAX])
        # The numbers are distinct: files are never compared.
        return [other for _, other in sorted(chain(*found))[:WARNINGS_MAX]]
