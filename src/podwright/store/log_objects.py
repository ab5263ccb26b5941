"""Objects to columns and back, inside the blocks of a decision log.

Most of what a log has to say is pods, and most of what it has to say about them was said
before. A pod is written in parts: spec, status and the sections of its document, each without
what belongs to one pod alone: names, versions, node, addresses. What several pods of a block have
in common is written once; so a template is there once per block. Of a newer version of a pod only
the parts that are not as they were are written: of one that was bound, the node and the version.

What is the same is found by looking at identity first, because that is cheap, and at content
then, so that the same run makes the same bytes however its objects came to be. The same is what
Python finds equal: a document that says 1.0 where the older one said 1, or has its keys in
another order, comes back as the older one said it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, TypeAlias, cast

import msgspec

from podwright.objects import KubernetesObject, ObjectMeta, Pod, with_node_name
from podwright.objects.kinds import TYPES, Unknown
from podwright.store.log_format import (
    AS_BEFORE,
    BOTH,
    BOTH_VERSIONS,
    DOCUMENT,
    ENCODER,
    NONE,
    SPEC_ONLY,
    VERSION,
    VERSION_ONLY,
    WRITTEN,
    Objects,
    PodShape,
    decoder_of,
    steps,
)

_Section: TypeAlias = dict[str, Any] | None
"""`metadata`, `spec` or `status` of a document; None if there is none."""

_CLASS_OF: Mapping[str, type[KubernetesObject]] = {
    cls.__name__: cls for cls in (*TYPES, cast("type[KubernetesObject]", Unknown))
}
_NAMES: Final = list(_CLASS_OF)
_CODES: Final = {cls: code for code, cls in enumerate(_CLASS_OF.values())}
_POD: Final = _CODES[Pod]
_NO_POD: Final = Pod()
_SECTIONS: Final = frozenset({"metadata", "spec", "status"})
_NO_DOCUMENT: Final[dict[str, Any]] = {}
_UNNAMED: Final = {"name": "", "uid": "", "resourceVersion": ""}
_ADDRESSES: Final = ("hostIP", "podIP")
_SAME: Final = (AS_BEFORE, AS_BEFORE, AS_BEFORE, AS_BEFORE, AS_BEFORE, AS_BEFORE)
_BOUND: Final[PodShape] = (VERSION_ONLY, BOTH, *_SAME)
_BOUND_BUT_IN_DOCUMENT: Final[PodShape] = (VERSION_ONLY, SPEC_ONLY, *_SAME)
_replace = msgspec.structs.replace


class _Parts:
    """Parts of pods, each once."""

    def __init__(self) -> None:
        self._place_of_id: dict[int, int] = {}
        self._place_of: dict[bytes, int] = {}
        # No other part may get their addresses.
        self._kept: list[object] = []

    def place_of(self, part: object) -> int:
        """Return the place of a part."""
        place = self._place_of_id.get(id(part))
        if place is None:
            place = self._place_of_id[id(part)] = self.place_of_new(part)
            self._kept.append(part)
        return place

    def place_of_new(self, part: object) -> int:
        """Return the place of a part that was only just made, or belongs to one pod alone."""
        return self._place_of.setdefault(ENCODER.encode(part), len(self._place_of))

    def written(self) -> list[Any]:
        """Return the parts, encoded."""
        return list(map(msgspec.Raw, self._place_of))


class _Columns:
    """The columns of some objects."""

    def __init__(self) -> None:
        self.kinds = bytearray()
        self._older: list[int] = []
        self._metadata: list[ObjectMeta] = []
        self._names: list[str] = []
        self._uids: list[str] = []
        self._versions: list[str] = []
        self._nodes: list[str] = []
        self._addresses: list[str] = []
        self._shape_of: list[int] = []
        self._others: list[Any] = []
        self._specs, self._statuses, self._outlines = _Parts(), _Parts(), _Parts()
        self._raw_metadata, self._raw_specs, self._raw_statuses = _Parts(), _Parts(), _Parts()
        self._shapes: dict[PodShape, int] = {}
        self._unnamed: dict[int, ObjectMeta | None] = {}
        self._like, self._shape = _NO_POD, -1

    def add(self, obj: KubernetesObject) -> None:
        """Add an object."""
        if type(obj) is not Pod:
            self.kinds.append(_CODES[type(obj)])
            self._others.append(obj)
            return
        self.kinds.append(_POD)
        like = self._like
        if obj.spec is like.spec and obj.raw is like.raw and obj.status is like.status:
            raw_metadata = _section(obj.raw, "metadata")
            if raw_metadata is None or not _has_names(raw_metadata, obj.metadata):
                self._metadata.append(obj.metadata)
                self._shape_of.append(self._shape)
                if obj.spec.node_name:
                    self._nodes.append(obj.spec.node_name)
                return
        self._add_parts(obj, None)

    def add_version(self, pod: Pod, old: Pod, number: int) -> None:
        """Add a pod of which an older version has a number."""
        self.kinds.append(VERSION)
        self._older.append(number)
        if not _is_bound(pod, old):
            self._add_parts(pod, old)
            return
        # What happens to every pod has a way of its own, only because that is quicker.
        self._versions.append(pod.metadata.resource_version)
        self._nodes.append(pod.spec.node_name)
        shape = _BOUND if pod.raw else _BOUND_BUT_IN_DOCUMENT
        self._shape_of.append(self._shapes.setdefault(shape, len(self._shapes)))

    def _add_parts(self, pod: Pod, old: Pod | None) -> None:
        raw, old_raw = pod.raw, _NO_DOCUMENT if old is None else old.raw
        address_count = len(self._addresses)
        outlines = self._outlines
        outline = outlines.place_of_new(_outline(raw) if raw else raw)
        source, raw_metadata = self._add_metadata(pod, old)
        node, spec, raw_spec = self._add_spec(pod, old)
        status = raw_status = AS_BEFORE
        if old is None or not _is_same(pod.status, old.status):
            status = self._statuses.place_of(pod.status)
        section = _section(raw, "status")
        if old is None or not _is_same(section, _section(old_raw, "status")):
            raw_status = self._add_status(section)
        shape = self._shapes.setdefault(
            (
                source, node, spec, status,
                outline, raw_metadata, raw_spec, raw_status,
            ),
            len(self._shapes),
        )  # fmt: skip
        self._shape_of.append(shape)
        if old is None and source == WRITTEN and len(self._addresses) == address_count:
            self._like, self._shape = pod, shape

    def _add_metadata(self, pod: Pod, old: Pod | None) -> tuple[int, int]:
        """Put metadata into the columns; returns where, and the place of the document's."""
        metadata, section = pod.metadata, _section(pod.raw, "metadata")
        if old is not None:
            version = metadata.resource_version
            if _is_same(metadata, _replace(old.metadata, resource_version=version)):
                source = None
                before = _section(old.raw, "metadata")
                if _is_same(section, before):
                    source = VERSION_ONLY
                elif section and before and section == {**before, "resourceVersion": version}:
                    source = BOTH_VERSIONS
                if source is not None:
                    self._versions.append(version)
                    return source, AS_BEFORE
        if section is not None and _has_names(section, metadata):
            place = self._raw_metadata.place_of_new({**section, **_UNNAMED})
            if place not in self._unnamed:
                self._unnamed[place] = _metadata_of(section)
            if self._unnamed[place] == _without_names(metadata):
                self._names.append(metadata.name)
                self._uids.append(metadata.uid)
                self._versions.append(metadata.resource_version)
                return DOCUMENT, place
        self._metadata.append(metadata)
        return WRITTEN, _place(self._raw_metadata, section)

    def _add_status(self, section: _Section) -> int:
        """Put the status of a document into the columns; returns its place."""
        if section is None:
            return NONE
        addresses = {
            name: section[name] for name in _ADDRESSES if isinstance(section.get(name), str)
        }
        if not addresses:
            return self._raw_statuses.place_of(section)
        self._addresses.extend(addresses.values())
        return self._raw_statuses.place_of_new({**section, **dict.fromkeys(addresses, "")})

    def _add_spec(self, pod: Pod, old: Pod | None) -> tuple[int, int, int]:
        """Put a spec into the columns; returns whose node is written, and the spec's places."""
        spec, section, node = pod.spec, _section(pod.raw, "spec"), pod.spec.node_name
        if old is not None:
            before = _section(old.raw, "spec")
            if _is_same(spec, old.spec) and _is_same(section, before):
                return NONE, AS_BEFORE, AS_BEFORE
            if node and spec == _replace(old.spec, node_name=node):
                source = None
                if _is_same(section, before):
                    source = SPEC_ONLY
                elif section and before and section == {**before, "nodeName": node}:
                    source = BOTH
                if source is not None:
                    self._nodes.append(node)
                    return source, AS_BEFORE, AS_BEFORE
        if not node:
            return NONE, self._specs.place_of(spec), _place(self._raw_specs, section)
        self._nodes.append(node)
        place = self._specs.place_of_new(_replace(spec, node_name=""))
        if section is None or section.get("nodeName") != node:
            return SPEC_ONLY, place, _place(self._raw_specs, section)
        return BOTH, place, self._raw_specs.place_of_new(_without_node(section))

    def written(self, numbers: list[int]) -> Objects:
        """Return the columns, given the numbers of the objects."""
        return Objects(
            numbers=numbers,
            kind_names=_NAMES,
            kinds=bytes(self.kinds),
            older=steps(self._older),
            shapes=list(self._shapes),
            shape_of=self._shape_of,
            metadata=self._metadata,
            names=self._names,
            uids=self._uids,
            versions=self._versions,
            nodes=self._nodes,
            addresses=self._addresses,
            specs=self._specs.written(),
            statuses=self._statuses.written(),
            outlines=self._outlines.written(),
            raw_metadata=self._raw_metadata.written(),
            raw_specs=self._raw_specs.written(),
            raw_statuses=self._raw_statuses.written(),
            others=self._others,
        )


def _is_bound(new: Pod, old: Pod) -> bool:
    """Tell whether a pod is the older one but for its node and its version."""
    node, status = new.spec.node_name, new.status
    if not node or not (status is old.status or status == old.status):
        return False
    metadata = _replace(old.metadata, resource_version=new.metadata.resource_version)
    if metadata != new.metadata or (old.raw and _section(old.raw, "spec") is None):
        return False
    bound = with_node_name(old, node)
    return bound.spec == new.spec and bound.raw == new.raw


def _section(document: dict[str, Any], name: str) -> _Section:
    section = document.get(name)
    return section if isinstance(section, dict) else None


def _outline(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without its sections, which leave their names in place."""
    return {
        name: None if name in _SECTIONS and isinstance(value, dict) else value
        for name, value in document.items()
    }


def _place(parts: _Parts, section: _Section) -> int:
    return NONE if section is None else parts.place_of(section)


def _is_same(new: object, old: object) -> bool:
    return new is old or new == old


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
        return _without_names(msgspec.convert(section, ObjectMeta))
    except msgspec.ValidationError:
        return None


def _without_names(metadata: ObjectMeta) -> ObjectMeta:
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


class ObjectWriter:
    """Gives numbers to objects, and puts those that are new into columns.

    An object keeps its number as long as it is known: a pod until there is a newer version of it,
    everything else until a checkpoint. What is known is kept alive, so that no other object gets
    its address; what is mentioned again after that is written again.

    Parameters
    ----------
    count : int
        How many numbers were given before.
    known : mapping of int to object
        What was written before under its number.

    Attributes
    ----------
    count : int
        How many numbers were given so far.
    numbers : dict of int to int
        The numbers of what is known, by address.
    """

    def __init__(self, count: int = 0, known: Mapping[int, KubernetesObject] | None = None) -> None:
        self.count = count
        self.numbers: dict[int, int] = {}
        self._columns = _Columns()
        self._others: dict[int, KubernetesObject] = {}
        self._latest: dict[str, Pod] = {}
        self.keep_only(known or {})

    def of(self, obj: KubernetesObject) -> int:
        """Return the number of an object."""
        number = self.numbers.get(id(obj))
        return self.add(obj) if number is None else number

    def add(self, obj: KubernetesObject) -> int:
        """Put an object that is not known into the columns, and return its number."""
        number = self.count
        self.count = number + 1
        columns = self._columns
        if type(obj) is not Pod:
            self._others[number] = obj
            columns.add(obj)
        else:
            uid = obj.metadata.uid
            old = self._latest.get(uid)
            self._latest[uid] = obj
            if old is None:
                columns.add(obj)
            else:
                columns.add_version(obj, old, self.numbers.pop(id(old)))
        self.numbers[id(obj)] = number
        return number

    def take(self) -> Objects:
        """Return the columns, and begin new ones."""
        columns, self._columns = self._columns, _Columns()
        count = len(columns.kinds)
        return columns.written([self.count - count, *[1] * (count - 1)] if count else [])

    def known(self) -> dict[int, KubernetesObject]:
        """Return the objects that have a number, by number."""
        return self._others | {self.numbers[id(pod)]: pod for pod in self._latest.values()}

    def keep_only(self, objects: Mapping[int, KubernetesObject]) -> None:
        """Know these objects by their numbers and no others; they are written elsewhere."""
        self._columns = _Columns()
        self.numbers.clear()
        self.numbers.update({id(obj): number for number, obj in objects.items()})
        self._others = dict(objects)
        self._latest.clear()
        newest: dict[str, int] = {}
        for number in sorted(objects):
            obj = objects[number]
            if isinstance(obj, Pod):
                self._latest[obj.metadata.uid] = obj
                newest[obj.metadata.uid] = number
        for number in newest.values():
            del self._others[number]

    def go_on(self, objects: Mapping[int, KubernetesObject]) -> None:
        """Know objects that were written since, as if they had just been."""
        for number in sorted(objects):
            if number >= self.count:
                self.count = number
                self.add(objects[number])
        self._columns = _Columns()


def encode_objects(objects: Mapping[int, KubernetesObject]) -> Objects:
    """Put objects into columns, by number, none of them as a version of another one."""
    columns = _Columns()
    for obj in objects.values():
        columns.add(obj)
    return columns.written(steps(list(objects)))


def decode_objects(
    objects: Objects, known: Mapping[int, KubernetesObject]
) -> Iterator[tuple[int, KubernetesObject]]:
    """Give the objects of columns with their numbers.

    Parameters
    ----------
    known : mapping of int to object
        All objects so far; whoever asks adds each one that is given.
    """
    classes = [_CLASS_OF[name] for name in objects.kind_names]
    older, others = accumulate(objects.older), iter(objects.others)
    pods = _PodReader(objects)
    for code, number in zip(objects.kinds, accumulate(objects.numbers), strict=True):
        if code == VERSION:
            of = next(older)
            old = known[of]
            assert isinstance(old, Pod), f"object {of} is a {old.kind}, not a Pod"
            yield number, pods.next(old)
        elif classes[code] is Pod:
            yield number, pods.next(_NO_POD)
        else:
            yield number, decoder_of(classes[code]).decode(next(others))


class _PodReader:
    """Gives the pods of columns, one after the other."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._shape_of = iter(objects.shape_of)
        self._written = iter(objects.metadata)
        self._names, self._uids = iter(objects.names), iter(objects.uids)
        self._versions, self._nodes = iter(objects.versions), iter(objects.nodes)
        self._addresses = iter(objects.addresses)
        self._unnamed: dict[int, ObjectMeta] = {}
        # Pods that say less than their document share it.
        self._shared: dict[int, dict[str, Any]] = {}

    def next(self, old: Pod) -> Pod:
        """Return the next pod, told of the one that it is a version of."""
        objects, before = self._objects, old.raw
        shape = next(self._shape_of)
        (
            source, node_source, spec_at, status_at,
            outline, raw_metadata_at, raw_spec_at, raw_status_at,
        ) = objects.shapes[shape]  # fmt: skip
        metadata, raw_metadata = self._metadata(source, raw_metadata_at, old)
        spec = old.spec if spec_at == AS_BEFORE else objects.specs[spec_at]
        raw_spec = _part(objects.raw_specs, raw_spec_at, before, "spec")
        if node_source != NONE:
            node = next(self._nodes)
            spec = _replace(spec, node_name=node)
            if node_source == BOTH:
                raw_spec = {**cast("dict[str, Any]", raw_spec), "nodeName": node}
        status = old.status if status_at == AS_BEFORE else objects.statuses[status_at]
        raw_status = _part(objects.raw_statuses, raw_status_at, before, "status")
        is_shared = source == WRITTEN and node_source == NONE and old is _NO_POD
        if raw_status and raw_status_at >= 0:
            for name in _ADDRESSES:
                if isinstance(raw_status.get(name), str):
                    raw_status = {**raw_status, name: next(self._addresses)}
                    is_shared = False
        raw = self._shared.get(shape)
        if raw is None:
            rest = before if outline == AS_BEFORE else objects.outlines[outline]
            raw = _document(rest, raw_metadata, raw_spec, raw_status)
            if is_shared:
                self._shared[shape] = raw
        return Pod(metadata=metadata, spec=spec, status=status, raw=raw)

    def _metadata(self, source: int, place: int, old: Pod) -> tuple[ObjectMeta, _Section]:
        section = _part(self._objects.raw_metadata, place, old.raw, "metadata")
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


def _part(parts: list[dict[str, Any]], place: int, before: dict[str, Any], name: str) -> _Section:
    if place >= 0:
        return parts[place]
    return _section(before, name) if place == AS_BEFORE else None
