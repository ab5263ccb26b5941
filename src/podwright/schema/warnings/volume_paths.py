"""Warnings about files of one volume that would hide each other.

Upstream: pkg/api/pod/warnings.go, warningsForOverlappingVirtualPaths
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from podwright.objects import Document
from podwright.schema.validation.field_errors import printed


class _File(msgspec.Struct, frozen=True):
    path: str
    source: str = ""

    def __str__(self) -> str:
        return f"{printed(self.path)} ({self.source})" if self.source else printed(self.path)


def path_warnings(volumes: Iterable[Document]) -> list[str]:
    """Return the warnings about the paths of volumes that overlap."""
    found: list[str] = []
    for volume in volumes:
        name = printed(volume.get("name") or "")
        for what, files in _single_sources(volume):
            found += [
                f"volume {name} ({what}): overlapping paths: {file} with {other}"
                for file, other in _overlaps(files)
            ]
        if (projected := volume.get("projected")) is None:
            continue
        before: list[_File] = []
        for source in projected.get("sources") or ():
            if not source:
                found.append(f"volume {name} (Projected) has no sources provided")
            for file in _projected(source):
                found += [
                    f"volume {name} (Projected): overlapping paths: {file} with {other}"
                    for other in _overlapping(file, before)
                ]
                before.append(file)
    return found


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
    before: list[_File] = []
    for file in files:
        for other in _overlapping(file, before):
            yield file, other
        before.append(file)


def _overlapping(file: _File, others: Iterable[_File]) -> list[_File]:
    """Return the files that have the path of a file, or are above or below it."""
    if not file.path:
        return []
    return [
        other
        for other in others
        if other.path
        and (
            f"{file.path}/".startswith(f"{other.path}/")
            or f"{other.path}/".startswith(f"{file.path}/")
        )
    ]
