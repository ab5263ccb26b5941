"""Encoding of pods into columns inside the blocks of a decision log, and decoding.

Most of a log is pods, and most pods repeat earlier content. So a pod is a row of parts: the spec,
the status and the sections of its document, each without the values that belong to one pod only
(names, versions, node, addresses). The *outline* of a document is what remains without its
sections. A part that several pods of a block share is written once, so a template is written once
per block. A newer version of a pod has only the changed parts: a version that was bound, the node
and the resourceVersion.

A row depends on the values of the pod only, not on the identity of its parts, so the same run makes
the same bytes. Identity only saves comparisons: a part that is the same Python object as in the
older version, or in the pod added before, is not encoded again. Copies are compared by Python's
equality: if a document has 1.0 where the older version has 1, or its keys in another order, it is
read back as in the older version.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, Final, TypeAlias, cast

import msgspec

from podwright.apimachinery.objects import ObjectMeta, Pod, PodSpec, PodStatus
from podwright.simulation.recording.log.log_format import (
    BOTH,
    BOTH_VERSIONS,
    DOCUMENT,
    ENCODER,
    NONE,
    SPEC_ONLY,
    UNCHANGED,
    VERSION_ONLY,
    WRITTEN,
    Pods,
    PodShape,
)

_Section: TypeAlias = dict[str, Any] | None
"""`metadata`, `spec` or `status` of a document, or None."""

_NO_POD: Final = Pod()
_SECTIONS: Final = frozenset({"metadata", "spec", "status"})
_UNNAMED: Final = {"name": "", "uid": "", "resourceVersion": ""}
_ADDRESSES: Final = ("hostIP", "podIP")
_SAME: Final = (UNCHANGED, UNCHANGED, UNCHANGED, UNCHANGED, UNCHANGED, UNCHANGED)
_BOUND: Final[PodShape] = (VERSION_ONLY, BOTH, *_SAME)
_BOUND_BUT_IN_DOCUMENT: Final[PodShape] = (VERSION_ONLY, SPEC_ONLY, *_SAME)
_KEPT_PARTS: Final = 4_096
_FORGOTTEN_MAX: Final = 2_048
"""How many parts are forgotten at once: all of them together hold a server for 20 ms."""
OWNERS: Final = "managedFields"
"""The field of the metadata that `DecisionLog.omit_owners` leaves out."""
_replace = msgspec.structs.replace


_Part: TypeAlias = Callable[[object], bytes]
"""Encodes a part; equal parts are one object."""


class SpecCell(msgspec.Struct, gc=False):
    """The spec of a pod, and the section of its document.

    Most older versions have the spec of the new one, so parts are encoded when they are compared.

    Parameters
    ----------
    source : int
        Where the node is: `SPEC_ONLY`, `BOTH`, or `NONE` without a node.
    parts : (bytes, bytes or None), optional
        The encoded spec and section; without the node where `source` includes it.
    """

    spec: PodSpec
    section: _Section
    source: int
    parts: tuple[bytes, bytes | None] | None = None

    def encoded(self, part_of: _Part) -> tuple[bytes, bytes | None]:
        """Return the parts."""
        if self.parts is None:
            spec, section = self.spec, self.section
            if self.source != NONE:
                spec = _replace(spec, node_name="")
            if self.source == BOTH:
                assert section is not None, "without a document, no node is in it"
                section = _without_node(section)
            self.parts = part_of(spec), None if section is None else part_of(section)
        return self.parts


class StatusCell(msgspec.Struct, gc=False):
    """The status of a pod, and the section of its document, encoded without addresses.

    They are encoded when they are compared, as those of `SpecCell`.
    """

    status: PodStatus
    section: _Section
    addresses: tuple[str, ...]
    parts: tuple[bytes, bytes | None] | None = None

    def encoded(self, part_of: _Part) -> tuple[bytes, bytes | None]:
        """Return the parts."""
        if self.parts is None:
            section = self.section
            if section is not None and self.addresses:
                without = {n: "" for n in _ADDRESSES if isinstance(section.get(n), str)}
                section = section | without
            self.parts = part_of(self.status), None if section is None else part_of(section)
        return self.parts


class PodRow(msgspec.Struct, frozen=True, gc=False):
    """A pod in parts.

    Parameters
    ----------
    outline : bytes
        The encoded document without its sections.
    source : int
        `DOCUMENT`: the metadata equals that of the document, and its part has no names.
        `WRITTEN`: the metadata is written as a whole.
    metadata_part : bytes, optional
        The encoded section of the document.
    """

    pod: Pod
    outline: bytes
    source: int
    metadata_part: bytes | None
    spec: SpecCell
    status: StatusCell

    def release_parts(self) -> None:
        """Forget the parts of the spec and the status, which are encoded again if they change."""
        self.spec.parts = self.status.parts = None


class PodRows:
    """Makes rows of pods.

    Attributes
    ----------
    omits_owners : bool
        Whether `managedFields` are left out.
    """

    def __init__(self) -> None:
        self.omits_owners = False
        # Equal parts are one object, so that each is stored and hashed once.
        self._parts: dict[bytes, bytes] = {}
        self._unnamed: dict[bytes, ObjectMeta | None] = {}
        # By the address of the section, which the cell keeps alive. Pods of one template share the
        # changes of one time, such as the condition PodScheduled.
        self._shared: dict[int, StatusCell] = {}
        spec, status = self._spec(_NO_POD.spec, None), self._status(_NO_POD.status, None)
        self._last = PodRow(_NO_POD, self.part(_NO_POD.raw), WRITTEN, None, spec, status)

    def of(self, pod: Pod) -> PodRow:
        """Return the row of a pod; cheaper if the pod before is of the same template."""
        raw, last = pod.raw, self._last
        is_raw_same = raw is last.pod.raw
        metadata = _section(raw, "metadata")
        if is_raw_same and last.source == WRITTEN and not _has_names(metadata, pod.metadata):
            source, metadata_part = WRITTEN, last.metadata_part
        else:
            source, metadata_part = self._metadata(pod.metadata, metadata)
        spec, status = last.spec, last.status
        if pod.spec is not spec.spec or raw.get("spec") is not spec.section:
            spec = self._spec(pod.spec, _section(raw, "spec"))
        if pod.status is not status.status or raw.get("status") is not status.section:
            status = self._status(pod.status, _section(raw, "status"))
        outline = last.outline if is_raw_same else self.part(_outline(raw))
        row = self._last = PodRow(pod, outline, source, metadata_part, spec, status)
        return row

    def of_version(self, pod: Pod, old: PodRow) -> PodRow:
        """Return the row of a pod, given the row of its older version."""
        raw, before = pod.raw, old.pod.raw
        metadata, spec, status = raw.get("metadata"), raw.get("spec"), raw.get("status")
        outline, source, metadata_part = old.outline, old.source, old.metadata_part
        if raw is not before and not _is_outline_same(raw, before, metadata, spec, status):
            outline = self.part(_outline(raw))
        is_section_same = metadata is before.get("metadata")
        if (pod.metadata is not old.pod.metadata or not is_section_same) and not (
            source == DOCUMENT and _differs_only_in_version(pod, old.pod)
        ):
            source, metadata_part = self._metadata(pod.metadata, _dict(metadata))
        spec_cell, status_cell = old.spec, old.status
        if pod.spec is not spec_cell.spec or spec is not spec_cell.section:
            spec_cell = self._changed_spec(pod.spec, _dict(spec), spec_cell)
        if pod.status is not status_cell.status or status is not status_cell.section:
            status_cell = self._status(pod.status, _dict(status))
        return PodRow(pod, outline, source, metadata_part, spec_cell, status_cell)

    def forget_parts(self) -> None:
        """Forget shared statuses, and the oldest known parts if there are too many."""
        self._shared.clear()
        excess = len(self._parts) - _KEPT_PARTS
        if excess > 0:
            for part in list(islice(self._parts, min(excess, _FORGOTTEN_MAX))):
                del self._parts[part]
                self._unnamed.pop(part, None)

    def part(self, part: object) -> bytes:
        """Encode a part; equal parts are one object."""
        encoded = ENCODER.encode(part)
        return self._parts.setdefault(encoded, encoded)

    def _optional(self, section: _Section) -> bytes | None:
        return None if section is None else self.part(section)

    def _metadata(self, metadata: ObjectMeta, section: _Section) -> tuple[int, bytes | None]:
        if section is not None and _has_names(section, metadata):
            unnamed = {**section, **_UNNAMED}
            if self.omits_owners:
                unnamed.pop(OWNERS, None)
            part = self.part(unnamed)
            if part not in self._unnamed:
                self._unnamed[part] = _metadata_of(unnamed)
            # Only if reading the section gives the same typed metadata: a driver may change either.
            if self._unnamed[part] == _replace(metadata, name="", uid="", resource_version=""):
                return DOCUMENT, part
        if self.omits_owners and section is not None and OWNERS in section:
            section = {key: one for key, one in section.items() if key != OWNERS}
        return WRITTEN, self._optional(section)

    def _spec(self, spec: PodSpec, section: _Section) -> SpecCell:
        node = spec.node_name
        if not node:
            return SpecCell(spec, section, NONE)
        is_in_both = section is not None and section.get("nodeName") == node
        return SpecCell(spec, section, BOTH if is_in_both else SPEC_ONLY)

    def _changed_spec(self, spec: PodSpec, section: _Section, old: SpecCell) -> SpecCell:
        node = spec.node_name
        if node and spec == _replace(old.spec, node_name=node):
            # The pod was bound; nothing else changed.
            before = old.section
            if section is None and before is None:
                return SpecCell(spec, None, SPEC_ONLY, old.encoded(self.part))
            if section is not None and before is not None:
                # Otherwise the older part contains a node name that the binding replaced.
                has_no_other = old.source == BOTH or "nodeName" not in before
                if has_no_other and section == {**before, "nodeName": node}:
                    return SpecCell(spec, section, BOTH, old.encoded(self.part))
        return self._spec(spec, section)

    def _status(self, status: PodStatus, section: _Section) -> StatusCell:
        shared = self._shared.get(id(section))
        if shared is not None and shared.status is status:
            return shared
        if section is None:
            return StatusCell(status, None, ())
        host, pod = section.get("hostIP"), section.get("podIP")
        if isinstance(host, str):
            return StatusCell(status, section, (host, pod) if isinstance(pod, str) else (host,))
        if isinstance(pod, str):
            return StatusCell(status, section, (pod,))
        cell = self._shared[id(section)] = StatusCell(status, section, ())
        return cell


class PodColumns:
    """The columns of some pods.

    Parameters
    ----------
    part_of : callable
        Encodes a part of a row.
    """

    def __init__(self, part_of: _Part) -> None:
        self._part_of = part_of
        self._metadata: list[ObjectMeta] = []
        self._names: list[str] = []
        self._uids: list[str] = []
        self._versions: list[str] = []
        self._nodes: list[str] = []
        self._addresses: list[str] = []
        self._last: PodRow | None = None
        self._last_shape = 0
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
        spec, status, last = row.spec, row.status, self._last
        if (
            last is None
            or spec is not last.spec
            or status is not last.status
            or row.outline is not last.outline
            or row.metadata_part is not last.metadata_part
            or row.source != last.source
        ):
            spec_part, raw_spec = spec.encoded(self._part_of)
            status_part, raw_status = status.encoded(self._part_of)
            shape = (
                row.source,
                spec.source,
                _place(self._specs, spec_part),
                _place(self._statuses, status_part),
                _place(self._outlines, row.outline),
                _place(self._raw_metadata, row.metadata_part),
                _place(self._raw_specs, raw_spec),
                _place(self._raw_statuses, raw_status),
            )
            self._last_shape = self._shapes.setdefault(shape, len(self._shapes))
        self._last = row
        self._shape_of.append(self._last_shape)
        self._write_metadata(row)
        if spec.source != NONE:
            self._nodes.append(spec.spec.node_name)
        self._addresses.extend(status.addresses)

    def add_repeated(self, pod: Pod) -> bool:
        """Add a pod if it differs from the last one only in its metadata; return whether it did."""
        last = self._last
        if (
            last is None
            or pod.raw is not last.pod.raw
            or pod.spec is not last.pod.spec
            or pod.status is not last.pod.status
            or last.source != WRITTEN
            or last.spec.source != NONE
            or last.status.addresses
            or _has_names(_section(pod.raw, "metadata"), pod.metadata)
        ):
            return False
        self._shape_of.append(self._last_shape)
        self._metadata.append(pod.metadata)
        return True

    def add_bound(self, pod: Pod, old: Pod) -> bool:
        """Add a version of a pod if only its node changed; return whether it did.

        A shortcut without rows; the result is the same as with `add_version`.
        """
        node = pod.spec.node_name
        if (
            pod.status is not old.status
            or not node
            or old.spec.node_name
            or pod.spec != _replace(old.spec, node_name=node)
            or not _has_only_new_version(pod, old)
        ):
            return False
        shape = _BOUND_BUT_IN_DOCUMENT
        if pod.raw or old.raw:
            section = _section(old.raw, "spec")
            if section is None or "nodeName" in section:
                return False
            if pod.raw != {**old.raw, "spec": {**section, "nodeName": node}}:
                return False
            shape = _BOUND
        self._versions.append(pod.metadata.resource_version)
        self._nodes.append(node)
        self._shape_of.append(self._shapes.setdefault(shape, len(self._shapes)))
        return True

    def add_version(self, row: PodRow, old: PodRow) -> None:
        """Add a new version of a pod."""
        node = NONE
        outline = raw_metadata = spec_at = raw_spec = status_at = raw_status = UNCHANGED
        spec, status = row.spec, row.status
        if row.outline != old.outline or not _have_same_sections(row, old):
            outline = _place(self._outlines, row.outline)
        source = _version_source(row, old)
        if source in (VERSION_ONLY, BOTH_VERSIONS):
            self._versions.append(row.pod.metadata.resource_version)
        else:
            raw_metadata = _place(self._raw_metadata, row.metadata_part)
            self._write_metadata(row)
        was = old.spec
        if spec is not was:
            parts = spec.encoded(self._part_of)
            is_same = parts == was.encoded(self._part_of)
            # A reader can add a node to the older spec, or replace it in place, but not remove it.
            if not is_same or was.source not in (NONE, spec.source):
                spec_at = _place(self._specs, parts[0])
                raw_spec = _place(self._raw_specs, parts[1])
                node = spec.source
            elif spec.spec.node_name != was.spec.node_name:
                node = spec.source
            if node != NONE:
                self._nodes.append(spec.spec.node_name)
        if status is not old.status:
            is_typed_same = status.status == old.status.status
            is_section_same = status.section == old.status.section
            if not (is_typed_same and is_section_same):
                typed_part, part = status.encoded(self._part_of)
                if not is_typed_same:
                    status_at = _place(self._statuses, typed_part)
                if not is_section_same:
                    raw_status = _place(self._raw_statuses, part)
                    self._addresses.extend(status.addresses)
        shape = (source, node, spec_at, status_at, outline, raw_metadata, raw_spec, raw_status)
        self._shape_of.append(self._shapes.setdefault(shape, len(self._shapes)))

    def _write_metadata(self, row: PodRow) -> None:
        metadata = row.pod.metadata
        if row.source == WRITTEN:
            self._metadata.append(metadata)
        else:
            self._names.append(metadata.name)
            self._uids.append(metadata.uid)
            self._versions.append(metadata.resource_version)

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
    """Tell whether documents have the same sections; a null section belongs to the outline."""
    return (
        (row.status.section is None) == (old.status.section is None)
        and (row.spec.section is None) == (old.spec.section is None)
        and (row.metadata_part is None) == (old.metadata_part is None)
    )


def _version_source(row: PodRow, old: PodRow) -> int:
    """Return how the metadata of a version is written; as a whole if other fields differ."""
    source, metadata, before = row.source, row.pod.metadata, old.pod.metadata
    if source == old.source and row.metadata_part == old.metadata_part:
        if source == DOCUMENT:
            if metadata.name == before.name and metadata.uid == before.uid:
                is_same = metadata.resource_version == before.resource_version
                return VERSION_ONLY if is_same else BOTH_VERSIONS
        elif metadata is before or metadata == _replace(
            before, resource_version=metadata.resource_version
        ):
            return VERSION_ONLY
    return source


def _has_only_new_version(pod: Pod, old: Pod) -> bool:
    """Tell whether the metadata differs in the resourceVersion of the typed fields only.

    The documents of both have the same section.
    """
    metadata = pod.metadata
    if metadata is old.metadata:
        return True
    section = _section(old.raw, "metadata")
    return (
        metadata == _replace(old.metadata, resource_version=metadata.resource_version)
        and not _has_names(section, metadata)
        and not _has_names(section, old.metadata)
    )


def _differs_only_in_version(pod: Pod, old: Pod) -> bool:
    """Tell whether the metadata differs in the resourceVersion only, in the document as well."""
    version = pod.metadata.resource_version
    return bool(
        pod.raw.get("metadata") == {**old.raw["metadata"], "resourceVersion": version}
        and pod.metadata == _replace(old.metadata, resource_version=version)
    )


def _section(document: dict[str, Any], name: str) -> _Section:
    return _dict(document.get(name))


def _dict(value: Any) -> _Section:
    return value if isinstance(value, dict) else None


def _is_outline_same(
    raw: dict[str, Any], old: dict[str, Any], metadata: Any, spec: Any, status: Any
) -> bool:
    """Tell whether a document equals an older one, apart from these sections."""
    if len(raw) != len(old) or not isinstance(metadata, dict) or not isinstance(spec, dict):
        return False
    if isinstance(status, dict):
        return raw == {**old, "metadata": metadata, "spec": spec, "status": status}
    return raw == {**old, "metadata": metadata, "spec": spec}


def _outline(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with None for its sections, which keeps the order of the names."""
    return {
        name: None if name in _SECTIONS and isinstance(value, dict) else value
        for name, value in document.items()
    }


def _has_names(section: _Section, metadata: ObjectMeta) -> bool:
    """Tell whether a document has the names of a pod; the document of a template does not."""
    return (
        section is not None
        and section.get("name") == metadata.name
        and section.get("uid") == metadata.uid
        and section.get("resourceVersion") == metadata.resource_version
    )


def _metadata_of(section: dict[str, Any]) -> ObjectMeta | None:
    """Return the metadata of a document without the names; None if it cannot be read."""
    try:
        metadata = msgspec.convert(section, ObjectMeta)
    except msgspec.ValidationError:
        return None
    return _replace(metadata, name="", uid="", resource_version="")


def _without_node(section: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of a document without its node; setting the node restores the spec."""
    section = dict(section)
    if next(reversed(section)) == "nodeName":
        # Binding adds the node at the end: this is the spec before the binding.
        del section["nodeName"]
    else:
        section["nodeName"] = ""
    return section


# -------------------------------------------------------------------- reading


class PodReader:
    """Reads the pods of columns, one after the other."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods
        self._shape_of = iter(pods.shape_of)
        self._written = iter(pods.metadata)
        self._names, self._uids = iter(pods.names), iter(pods.uids)
        self._versions, self._nodes = iter(pods.versions), iter(pods.nodes)
        self._addresses = iter(pods.addresses)
        self._unnamed: dict[int, ObjectMeta] = {}
        # Pods of one shape without values of their own share the document.
        self._shared: dict[int, dict[str, Any]] = {}

    def first(self) -> Pod:
        """Return the next pod, which is not a version of another."""
        return self.version_of(_NO_POD)

    def version_of(self, old: Pod) -> Pod:
        """Return the next pod, which is a version of an older one."""
        pods, before = self._pods, old.raw
        shape = next(self._shape_of)
        (
            source, node_source, spec_at, status_at,
            outline, raw_metadata_at, raw_spec_at, raw_status_at,
        ) = pods.shapes[shape]  # fmt: skip
        metadata, raw_metadata = self._metadata(source, raw_metadata_at, old)
        spec = old.spec if spec_at == UNCHANGED else pods.specs[spec_at]
        raw_spec = _part(pods.raw_specs, raw_spec_at, before, "spec")
        if node_source != NONE:
            node = next(self._nodes)
            spec = _replace(spec, node_name=node)
            if node_source == BOTH:
                raw_spec = {**cast("dict[str, Any]", raw_spec), "nodeName": node}
        status = old.status if status_at == UNCHANGED else pods.statuses[status_at]
        raw_status = _part(pods.raw_statuses, raw_status_at, before, "status")
        is_shared = source == WRITTEN and node_source == NONE and old is _NO_POD
        # The status of the older version has its addresses already.
        if raw_status and raw_status_at >= 0:
            for name in _ADDRESSES:
                if isinstance(raw_status.get(name), str):
                    raw_status = {**raw_status, name: next(self._addresses)}
                    is_shared = False
        raw = self._shared.get(shape)
        if raw is None:
            rest = before if outline == UNCHANGED else pods.outlines[outline]
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
    """Return the document of an outline and its sections."""
    document = dict(outline)
    if metadata is not None:
        document["metadata"] = metadata
    if spec is not None:
        document["spec"] = spec
    if status is not None:
        document["status"] = status
    return document


def _part(parts: list[dict[str, Any]], place: int, before: dict[str, Any], name: str) -> _Section:
    if place >= 0:
        return parts[place]
    return _section(before, name) if place == UNCHANGED else None
