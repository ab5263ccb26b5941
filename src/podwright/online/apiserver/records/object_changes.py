"""Changes of the objects of a cluster for a comparison; what is sent is read as a manifest is.

Only kinds that the scheduler reads can be changed. A pod that is changed is scheduled again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from podwright.apimachinery.objects import (
    TYPE_OF,
    Document,
    FieldError,
    InputError,
    NamespacedName,
    Node,
    Object,
    Pod,
    api_group,
    encode,
    nearest,
    required,
    with_fields,
    with_node_name,
    with_nominated_node_name,
)
from podwright.apimachinery.patching import PatchError, merge_patched, strategic_merged
from podwright.apimachinery.schema import built_in
from podwright.simulation.files import ObjectReader, Place
from podwright.simulation.recording import is_movable_pod

_SET_BY_SERVER: Final = ("uid", "resourceVersion", "generation", "managedFields", "selfLink")


class ObjectName(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    """An object of the cluster.

    Attributes
    ----------
    kind : str
    name : str
        `namespace/name`, or the name if the kind has no namespaces.
    api_version : str, optional
        Needed if there are several kinds of this name.
    """

    kind: str
    name: str
    api_version: str | None = None


class ObjectPatch(ObjectName, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change of an object of the cluster.

    Attributes
    ----------
    kind, name, api_version
        As for `ObjectName`.
    patch : dict
        A strategic merge patch; a merge patch for a kind that Kubernetes does not have.
    """

    patch: dict[str, Any]


class NodeTaint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A taint of a node.

    Attributes
    ----------
    node : str
    key : str
    effect : str, optional
        All taints with the key if left out.
    """

    node: str
    key: str
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None


class ChangedObjects(NamedTuple):
    """The objects of both sides of a comparison.

    Attributes
    ----------
    before, after : list of object
        Changed pods have no node on both sides, unless the change gives them one.
    """

    before: list[Object]
    after: list[Object]


def changed_objects(
    objects: Iterable[Object],
    *,
    put: Sequence[Document] = (),
    patches: Sequence[ObjectPatch] = (),
    removed: Sequence[ObjectName] = (),
    without_taints: Sequence[NodeTaint] = (),
    rescheduled: NamespacedName = "",
) -> ChangedObjects:
    """Return the objects of a cluster before and after changes.

    The changes are made in the order of the parameters.

    Parameters
    ----------
    objects : iterable of object
        Of the cluster.
    put : sequence of dict
        Manifests of new objects, or of objects that replace those of the same names.
    patches : sequence of ObjectPatch
    removed : sequence of ObjectName
        Pods on a removed node are scheduled again, except those of daemon sets and mirror pods,
        which are removed with it.
    without_taints : sequence of NodeTaint
    rescheduled : str
        `namespace/name` of a pod that is scheduled again without being changed; "" for none.

    Raises
    ------
    InputError
        With all errors; the paths start with `objects`, `patches`, `removed`, `withoutTaints` and
        `pod`.
    """
    changes = _Changes(objects)
    for number, manifest in enumerate(put):
        changes.put(manifest, f"objects[{number}]")
    for number, patch in enumerate(patches):
        changes.patch(patch, f"patches[{number}]")
    for number, name in enumerate(removed):
        changes.remove(name, f"removed[{number}]")
    for number, taint in enumerate(without_taints):
        changes.remove_taint(taint, f"withoutTaints[{number}]")
    if rescheduled:
        changes.reschedule(rescheduled)
    return changes.sides()


class _Changes:
    """The objects of a cluster while they are changed."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._before: dict[tuple[str, str, str], Object] = {_id_of(obj): obj for obj in objects}
        self._after = dict(self._before)
        self._changed_pods: set[tuple[str, str, str]] = set()
        self._removed_nodes: set[str] = set()
        self._reader = ObjectReader("strict")
        self._errors: list[FieldError] = self._reader.errors

    def sides(self) -> ChangedObjects:
        """Return the objects of both sides.

        Raises
        ------
        InputError
        """
        if self._errors:
            raise InputError(self._errors)
        before = [
            _without_node(obj) if key in self._changed_pods else obj
            for key, obj in self._before.items()
        ]
        return ChangedObjects(before, list(self._left_nodes()))

    def put(self, manifest: Document, path: str) -> None:
        """Create or replace an object."""
        metadata = manifest.get("metadata")
        known = built_in().find(manifest.get("apiVersion", ""), manifest.get("kind", ""))
        if isinstance(metadata, dict) and known is not None and known.row.namespaced:
            manifest = manifest | {"metadata": {"namespace": "default"} | metadata}
        self._read(manifest, path)

    def patch(self, given: ObjectPatch, path: str) -> None:
        """Change an object."""
        present = self._find(given, path)
        if present is None:
            return
        document = encode(present)
        kind = built_in().find(present.api_version, present.kind)
        try:
            if kind is None:
                changed = merge_patched(document, given.patch)
            else:
                changed = strategic_merged(kind, document, given.patch)
        except PatchError as error:
            self._add_error(f"{path}.patch", str(error))
            return
        found = self._read(changed, f"{path}.patch")
        if found is not None and _id_of(found) != _id_of(present):
            self._add_error(f"{path}.patch.metadata", "the name of an object cannot be changed")

    def remove(self, given: ObjectName, path: str) -> None:
        """Remove an object."""
        present = self._find(given, path)
        if present is not None:
            del self._after[_id_of(present)]
            if isinstance(present, Node):
                self._removed_nodes.add(present.name)

    def remove_taint(self, taint: NodeTaint, path: str) -> None:
        """Remove the taints of a node that have a key, and an effect if one is given."""
        node = self._find(ObjectName(kind="Node", name=taint.node), path, field="node")
        if not isinstance(node, Node):
            return
        left = tuple(
            each
            for each in node.spec.taints
            if each.key != taint.key or taint.effect not in (None, each.effect)
        )
        if len(left) == len(node.spec.taints):
            shown = taint.key if taint.effect is None else f"{taint.key}:{taint.effect}"
            has = ", ".join(f"{each.key}:{each.effect}" for each in node.spec.taints) or "no taints"
            self._add_error(f"{path}.key", f"node {taint.node} has no taint {shown}; it has {has}")
            return
        self._after[_id_of(node)] = with_fields(node, "spec", taints=left)

    def reschedule(self, pod: NamespacedName) -> None:
        """Schedule a pod again."""
        key = ("", "Pod", pod)
        if key not in self._after:
            near = nearest(pod, [name for _, kind, name in self._after if kind == "Pod"])
            hint = f"; did you mean {near}?" if near else ""
            self._add_error("pod", f"there is no pod {pod}{hint}")
            return
        if key not in self._changed_pods:
            self._changed_pods.add(key)
            self._after[key] = _without_node(self._after[key])

    def _read(self, document: Document, path: str) -> Object | None:
        """Read a changed document as a manifest, and put the object."""
        metadata = document.get("metadata")
        if isinstance(metadata, dict):
            own = {name: value for name, value in metadata.items() if name not in _SET_BY_SERVER}
            document = document | {"metadata": own}
        if other := _unread_kind(document):
            self._add_error(f"{path}.kind", f"the scheduler does not read objects of {other}")
            return None
        before = len(self._errors)
        found = self._reader.read(document, Place("the request"), path=path)
        if found is None or len(self._errors) > before:
            return None
        if not found.name:
            self._add_error(f"{path}.metadata.name", required("generateName makes no name here"))
            return None
        key = _id_of(found)
        present = self._after.get(key)
        if present is not None:
            kept = present.metadata
            found = with_fields(
                found, "metadata", uid=kept.uid, resource_version=kept.resource_version
            )
        if isinstance(found, Pod):
            self._changed_pods.add(key)
            if isinstance(present, Pod) and found.spec.node_name == present.spec.node_name:
                found = _without_node(found)
        self._after[key] = found
        return found

    def _find(self, given: ObjectName, path: str, field: str = "name") -> Object | None:
        groups = [
            group
            for group, kind in TYPE_OF
            if kind == given.kind
            and (given.api_version is None or group == api_group(given.api_version))
        ]
        if not groups:
            near = nearest(given.kind, [kind for _, kind in TYPE_OF])
            hint = f"; did you mean {near}?" if near else ""
            message = f'the scheduler does not read objects of kind "{given.kind}"{hint}'
            self._add_error(f"{path}.kind", message)
            return None
        for group in groups:
            found = self._after.get((group, given.kind, given.name))
            if found is not None:
                return found
        names = [name for group, kind, name in self._after if kind == given.kind]
        near = nearest(given.name, names)
        hint = f"; did you mean {near}?" if near else ""
        self._add_error(f"{path}.{field}", f"there is no {given.kind} {given.name}{hint}")
        return None

    def _left_nodes(self) -> Iterable[Object]:
        """Return the objects after the changes; the pods of removed nodes have left them."""
        for obj in self._after.values():
            if isinstance(obj, Pod) and obj.spec.node_name in self._removed_nodes:
                if is_movable_pod(obj):
                    yield _without_node(obj)
            else:
                yield obj

    def _add_error(self, path: str, message: str) -> None:
        self._errors.append(FieldError(source="the request", path=path, message=message))


def _unread_kind(document: Document) -> str:
    """Return the kind of a document that the scheduler does not read; "" for others."""
    api_version, kind = document.get("apiVersion"), document.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not (api_version and kind):
        return ""
    return "" if (api_group(api_version), kind) in TYPE_OF else f"{api_version} {kind}"


def _id_of(obj: Object) -> tuple[str, str, str]:
    return api_group(obj.api_version), obj.kind, obj.key


def _without_node(obj: Object) -> Object:
    if not isinstance(obj, Pod):
        return obj
    return with_nominated_node_name(with_node_name(obj, ""), "")
