"""Pods to columns and back, inside the blocks of a decision log.

Most of what a log has to say is pods, and most of what it has to say about them was said
before. So a pod is a row of parts: spec, status and the sections of its document, each without
what belongs to one pod alone: names, versions, node, addresses. What several pods of a block have
in common is written once; so a template is there once per block. Of a newer version of a pod only
the parts are written that are not as they were: of one that was bound, the node and the version.

A row follows from the pod alone, whoever makes it; so the same run makes the same bytes however
its objects came to be. What a pod shares with its older version, or with the pod that was made
before it, is found by looking at identity, and is then not looked at again: this is what makes
rows cheap. What was only copied is compared as Python does: a document that says 1.0 where the
older one said 1, or has its keys in another order, comes back as the older one said it.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

import msgspec

from podwright.objects import ObjectMeta, Pod
from podwright.objects.pod import PodSpec, PodStatus
from podwright.store.log_format import (
    AS_BEFORE,
    BOTH,
    BOTH_VERSIONS,
    DOCUMENT,
    ENCODER,
    NONE,
    SPEC_ONLY,
    VERSION_ONLY,
    WRITTEN,
    Pods,
    PodShape,
)

_Section: TypeAlias = dict[str, Any] | None
"""`metadata`, `spec` or `status` of a document; None if there is none."""

_NO_POD: Final = Pod()
_SECTIONS: Final = frozenset({"metadata", "spec", "status"})
_UNNAMED: Final = {"name": "", "uid": "", "resourceVersion": ""}
_ADDRESSES: Final = ("hostIP", "podIP")
_KEPT_PARTS: Final = 16_384
_replace = msgspec.structs.replace


class MetadataCell(msgspec.Struct, frozen=True, gc=False):
    """The metadata of a pod.

    Parameters
    ----------
    source : int
        `DOCUMENT`: they are what the document says, and its section has no names. `WRITTEN`:
        they are there whole, and so is the section.
    section : bytes, optional
        That of the document.
    """

    source: int
    section: bytes | None
    metadata: ObjectMeta | None = None
    name: str = ""
    uid: str = ""
    version: str = ""


class SpecCell(msgspec.Struct, frozen=True, gc=False):
    """The spec of a pod without its node.

    Parameters
    ----------
    source : int
        Where the node is: `SPEC_ONLY`, `BOTH`, or `NONE` if there is none.
    section : bytes, optional
        That of the document; without the node if it is in both.
    """

    source: int
    spec: bytes
    section: bytes | None
    node: str


class StatusCell(msgspec.Struct, frozen=True, gc=False):
    """The status of a pod; addresses are apart from the section of its document."""

    status: bytes
    section: bytes | None
    addresses: tuple[str, ...]


class PodRow(msgspec.Struct, frozen=True, gc=False):
    """A pod in parts; the outline is its document without its sections."""

    outline: bytes
    metadata: MetadataCell
    spec: SpecCell
    status: StatusCell


class PodRows:
    """Makes rows of pods."""

    def __init__(self) -> None:
        # Equal parts are one object, so that each is kept and hashed once.
        self._parts: dict[bytes, bytes] = {}
        self._unnamed: dict[bytes, ObjectMeta | None] = {}
        self._last = Pod()
        self._last_row = PodRow(
            outline=self._part({}),
            metadata=self._metadata(self._last.metadata, None),
            spec=self._spec(self._last.spec, None),
            status=self._status(self._last.status, None),
        )

    def of(self, pod: Pod) -> PodRow:
        """Return the row of a pod; pods of one template cost less when they come together."""
        like, row = self._last, self._last_row
        metadata, spec, status = _sections(pod.raw)
        _, like_spec, like_status = _sections(like.raw)
        row = PodRow(
            row.outline if pod.raw is like.raw else self._part(_outline(pod.raw)),
            self._metadata(pod.metadata, metadata),
            row.spec if pod.spec is like.spec and spec is like_spec else self._spec(pod.spec, spec),
            row.status
            if pod.status is like.status and status is like_status
            else self._status(pod.status, status),
        )
        self._last, self._last_row = pod, row
        return row

    def of_version(self, pod: Pod, old: Pod, row: PodRow) -> PodRow:
        """Return the row of a pod, given that of the older version that it was made from."""
        raw, old_raw = pod.raw, old.raw
        metadata, spec, status = _sections(raw)
        old_metadata, old_spec, old_status = _sections(old_raw)
        outline, metadata_cell, spec_cell, status_cell = (
            row.outline, row.metadata, row.spec, row.status,
        )  # fmt: skip
        if raw is not old_raw and not (
            len(raw) == len(old_raw)
            and metadata is not None
            and spec is not None
            and status is not None
            and raw == {**old_raw, "metadata": metadata, "spec": spec, "status": status}
        ):
            outline = self._part(_outline(raw))
        if pod.metadata is not old.metadata or metadata is not old_metadata:
            metadata_cell = self._changed_metadata(pod, metadata, old, old_metadata, metadata_cell)
        if pod.spec is not old.spec or spec is not old_spec:
            spec_cell = self._changed_spec(pod.spec, spec, old.spec, old_spec, spec_cell)
        if pod.status is not old.status or status is not old_status:
            status_cell = self._status(pod.status, status)
        return PodRow(outline, metadata_cell, spec_cell, status_cell)

    def forget_parts(self) -> None:
        """Forget which parts there were, if they have become many."""
        if len(self._parts) > _KEPT_PARTS:
            self._parts.clear()
            self._unnamed.clear()

    def _part(self, part: object) -> bytes:
        encoded = ENCODER.encode(part)
        return self._parts.setdefault(encoded, encoded)

    def _optional(self, section: _Section) -> bytes | None:
        return None if section is None else self._part(section)

    def _metadata(self, metadata: ObjectMeta, section: _Section) -> MetadataCell:
        if section is None or not _has_names(section, metadata):
            return MetadataCell(WRITTEN, self._optional(section), metadata)
        part = self._part({**section, **_UNNAMED})
        if part not in self._unnamed:
            self._unnamed[part] = _metadata_of(section)
        name, uid, version = metadata.name, metadata.uid, metadata.resource_version
        if self._unnamed[part] == _replace(metadata, name="", uid="", resource_version=""):
            return MetadataCell(DOCUMENT, part, None, name, uid, version)
        return MetadataCell(WRITTEN, self._part(section), metadata)

    def _changed_metadata(
        self, pod: Pod, section: _Section, old: Pod, before: _Section, cell: MetadataCell
    ) -> MetadataCell:
        metadata = pod.metadata
        version = metadata.resource_version
        if (
            cell.source == DOCUMENT
            and before is not None
            and section == {**before, "resourceVersion": version}
            and metadata == _replace(old.metadata, resource_version=version)
        ):
            return MetadataCell(DOCUMENT, cell.section, None, cell.name, cell.uid, version)
        return self._metadata(metadata, section)

    def _spec(self, spec: PodSpec, section: _Section) -> SpecCell:
        node = spec.node_name
        if not node:
            return SpecCell(NONE, self._part(spec), self._optional(section), "")
        part = self._part(_replace(spec, node_name=""))
        if section is not None and section.get("nodeName") == node:
            return SpecCell(BOTH, part, self._part(_without_node(section)), node)
        return SpecCell(SPEC_ONLY, part, self._optional(section), node)

    def _changed_spec(
        self, spec: PodSpec, section: _Section, old: PodSpec, before: _Section, cell: SpecCell
    ) -> SpecCell:
        node = spec.node_name
        if node and spec == _replace(old, node_name=node):
            # It was only bound.
            if section is None and before is None:
                return SpecCell(SPEC_ONLY, cell.spec, None, node)
            if section is not None and before is not None:
                has_no_other = cell.source == BOTH or "nodeName" not in before
                if has_no_other and section == {**before, "nodeName": node}:
                    return SpecCell(BOTH, cell.spec, cell.section, node)
        return self._spec(spec, section)

    def _status(self, status: PodStatus, section: _Section) -> StatusCell:
        part = self._part(status)
        if section is None:
            return StatusCell(part, None, ())
        addresses = {
            name: section[name] for name in _ADDRESSES if isinstance(section.get(name), str)
        }
        if addresses:
            section = {**section, **dict.fromkeys(addresses, "")}
        return StatusCell(part, self._part(section), tuple(addresses.values()))


class PodColumns:
    """The columns of some pods."""

    def __init__(self) -> None:
        self._metadata: list[ObjectMeta] = []
        self._names: list[str] = []
        self._uids: list[str] = []
        self._versions: list[str] = []
        self._nodes: list[str] = []
        self._addresses: list[str] = []
        self._shapes: dict[PodShape, int] = {}
        self._shape_of: list[int] = []
        self._specs: dict[bytes, int] = {}
        self._statuses: dict[bytes, int] = {}
        self._outlines: dict[bytes, int] = {}
        self._raw_metadata: dict[bytes, int] = {}
        self._raw_specs: dict[bytes, int] = {}
        self._raw_statuses: dict[bytes, int] = {}

    def add(self, row: PodRow) -> None:
        """Add a pod."""
        self._add_shape(
            row.metadata.source,
            row.spec.source,
            _place(self._specs, row.spec.spec),
            _place(self._statuses, row.status.status),
            _place(self._outlines, row.outline),
            self._add_metadata(row.metadata),
            self._add_spec(row.spec),
            self._add_status(row.status),
        )

    def add_version(self, row: PodRow, old: PodRow) -> None:
        """Add a version of a pod of which there was an older one."""
        outline = raw_metadata = spec = raw_spec = status = raw_status = AS_BEFORE
        if row.outline != old.outline or not _have_same_sections(row, old):
            outline = _place(self._outlines, row.outline)
        source = _version_source(row.metadata, old.metadata)
        if source in (WRITTEN, DOCUMENT):
            raw_metadata = self._add_metadata(row.metadata)
        else:
            self._versions.append(_version_of(row.metadata))
        node = NONE
        now, was = row.spec, old.spec
        if now is not was and now != was:
            node = now.source
            is_bound = now.spec == was.spec and now.section == was.section
            if is_bound and node != NONE and was.source in (NONE, node):
                self._nodes.append(now.node)
            else:
                spec, raw_spec = _place(self._specs, now.spec), self._add_spec(now)
        if row.status is not old.status:
            if row.status.status != old.status.status:
                status = _place(self._statuses, row.status.status)
            if (
                row.status.section != old.status.section
                or row.status.addresses != old.status.addresses
            ):
                raw_status = self._add_status(row.status)
        self._add_shape(source, node, spec, status, outline, raw_metadata, raw_spec, raw_status)

    def _add_shape(self, *shape: int) -> None:
        shapes = self._shapes
        self._shape_of.append(shapes.setdefault(cast("PodShape", shape), len(shapes)))

    def _add_metadata(self, cell: MetadataCell) -> int:
        if cell.metadata is not None:
            self._metadata.append(cell.metadata)
        else:
            self._names.append(cell.name)
            self._uids.append(cell.uid)
            self._versions.append(cell.version)
        return _place(self._raw_metadata, cell.section)

    def _add_spec(self, cell: SpecCell) -> int:
        if cell.source != NONE:
            self._nodes.append(cell.node)
        return _place(self._raw_specs, cell.section)

    def _add_status(self, cell: StatusCell) -> int:
        self._addresses.extend(cell.addresses)
        return _place(self._raw_statuses, cell.section)

    def written(self) -> Pods:
        """Return the columns."""
        return Pods(
            shapes=list(self._shapes),
            shape_of=self._shape_of,
            metadata=self._metadata,
            names=self._names,
            uids=self._uids,
            versions=self._versions,
            nodes=self._nodes,
            addresses=self._addresses,
            specs=_encoded(self._specs),
            statuses=_encoded(self._statuses),
            outlines=_encoded(self._outlines),
            raw_metadata=_encoded(self._raw_metadata),
            raw_specs=_encoded(self._raw_specs),
            raw_statuses=_encoded(self._raw_statuses),
        )


def _place(places: dict[bytes, int], part: bytes | None) -> int:
    return NONE if part is None else places.setdefault(part, len(places))


def _encoded(parts: dict[bytes, int]) -> Any:
    return list(map(msgspec.Raw, parts))


def _have_same_sections(row: PodRow, old: PodRow) -> bool:
    """Tell whether documents have the same sections; null is none, but is in the outline."""
    return (
        (row.status.section is None) == (old.status.section is None)
        and (row.spec.section is None) == (old.spec.section is None)
        and (row.metadata.section is None) == (old.metadata.section is None)
    )


def _version_source(cell: MetadataCell, old: MetadataCell) -> int:
    """Tell how the metadata of a version are written: whole, if more than the version differs."""
    if cell.section == old.section and cell.source == old.source:
        if cell.metadata is None or old.metadata is None:
            if cell.name == old.name and cell.uid == old.uid:
                return BOTH_VERSIONS
        elif cell.metadata is old.metadata or cell.metadata == _replace(
            old.metadata, resource_version=cell.metadata.resource_version
        ):
            return VERSION_ONLY
    return cell.source


def _version_of(cell: MetadataCell) -> str:
    return cell.version if cell.metadata is None else cell.metadata.resource_version


def _sections(document: dict[str, Any]) -> tuple[_Section, _Section, _Section]:
    get = document.get
    metadata, spec, status = get("metadata"), get("spec"), get("status")
    return (
        metadata if isinstance(metadata, dict) else None,
        spec if isinstance(spec, dict) else None,
        status if isinstance(status, dict) else None,
    )


def _outline(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without its sections, which leave their names in place."""
    return {
        name: None if name in _SECTIONS and isinstance(value, dict) else value
        for name, value in document.items()
    }


def _has_names(section: dict[str, Any], metadata: ObjectMeta) -> bool:
    """Tell whether a document has the names of a pod; most that do not are a template's."""
    return (
        section.get("name") == metadata.name
        and section.get("uid") == metadata.uid
        and section.get("resourceVersion") == metadata.resource_version
    )


def _metadata_of(section: dict[str, Any]) -> ObjectMeta | None:
    """Return what a document says but for the names, None if it cannot be read."""
    try:
        metadata = msgspec.convert(section, ObjectMeta)
    except msgspec.ValidationError:
        return None
    return _replace(metadata, name="", uid="", resource_version="")


def _without_node(section: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of a document without its node, where setting it gives the same again."""
    section = dict(section)
    if next(reversed(section)) == "nodeName":
        # So it is the spec that the pod had before it was bound.
        del section["nodeName"]
    else:
        section["nodeName"] = ""
    return section


# -------------------------------------------------------------------- reading


class PodReader:
    """Gives the pods of columns, one after the other."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods
        self._shape_of = iter(pods.shape_of)
        self._written = iter(pods.metadata)
        self._names, self._uids = iter(pods.names), iter(pods.uids)
        self._versions, self._nodes = iter(pods.versions), iter(pods.nodes)
        self._addresses = iter(pods.addresses)
        self._unnamed: dict[int, ObjectMeta] = {}
        # Pods that say less than their document share it.
        self._shared: dict[int, dict[str, Any]] = {}

    def first(self) -> Pod:
        """Return the next pod, of which there is no older version."""
        return self.version_of(_NO_POD)

    def version_of(self, old: Pod) -> Pod:
        """Return the next pod, which is a version of another one."""
        pods, before = self._pods, old.raw
        shape = next(self._shape_of)
        (
            source, node_source, spec_at, status_at,
            outline, raw_metadata_at, raw_spec_at, raw_status_at,
        ) = pods.shapes[shape]  # fmt: skip
        metadata, raw_metadata = self._metadata(source, raw_metadata_at, old)
        spec = old.spec if spec_at == AS_BEFORE else pods.specs[spec_at]
        raw_spec = _part(pods.raw_specs, raw_spec_at, before, "spec")
        if node_source != NONE:
            node = next(self._nodes)
            spec = _replace(spec, node_name=node)
            if node_source == BOTH:
                raw_spec = {**cast("dict[str, Any]", raw_spec), "nodeName": node}
        status = old.status if status_at == AS_BEFORE else pods.statuses[status_at]
        raw_status = _part(pods.raw_statuses, raw_status_at, before, "status")
        is_shared = source == WRITTEN and node_source == NONE and old is _NO_POD
        if raw_status and raw_status_at >= 0:
            for name in _ADDRESSES:
                if isinstance(raw_status.get(name), str):
                    raw_status = {**raw_status, name: next(self._addresses)}
                    is_shared = False
        raw = self._shared.get(shape)
        if raw is None:
            rest = before if outline == AS_BEFORE else pods.outlines[outline]
            raw = _document(rest, raw_metadata, raw_spec, raw_status)
            if is_shared:
                self._shared[shape] = raw
        return Pod(metadata=metadata, spec=spec, status=status, raw=raw)

    def _metadata(self, source: int, place: int, old: Pod) -> tuple[ObjectMeta, _Section]:
        section = _part(self._pods.raw_metadata, place, old.raw, "metadata")
        if source == WRITTEN:
            return next(self._written), section
        version = next(self._versions)
        if source == VERSION_ONLY:
            return _replace(old.metadata, resource_version=version), section
        assert section is not None, "there is no document"
        if source == BOTH_VERSIONS:
            metadata = _replace(old.metadata, resource_version=version)
            return metadata, {**section, "resourceVersion": version}
        unnamed = self._unnamed.get(place)
        if unnamed is None:
            unnamed = self._unnamed[place] = msgspec.convert(section, ObjectMeta)
        name, uid = next(self._names), next(self._uids)
        metadata = _replace(unnamed, name=name, uid=uid, resource_version=version)
        return metadata, {**section, "name": name, "uid": uid, "resourceVersion": version}


def _document(
    outline: dict[str, Any], metadata: _Section, spec: _Section, status: _Section
) -> dict[str, Any]:
    """Put the sections of a document where they were."""
    document = dict(outline)
    if metadata is not None:
        document["metadata"] = metadata
    if spec is not None:
        document["spec"] = spec
    if status is not None:
        document["status"] = status
    return document


def _section(document: dict[str, Any], name: str) -> _Section:
    section = document.get(name)
    return section if isinstance(section, dict) else None


def _part(parts: list[dict[str, Any]], place: int, before: dict[str, Any], name: str) -> _Section:
    if place >= 0:
        return parts[place]
    return _section(before, name) if place == AS_BEFORE else None
