"""Encoding: from objects to documents, and changed copies of objects.

A changed copy shares all unchanged parts with the original, in the struct and in `raw`: binding a
pod copies two small dictionaries, not the pod. `msgspec.structs.replace` alone would leave `raw` as
it was, so a call that replaces a part of an object names `raw` too (tests/test_object_copies.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec

from podwright.apimachinery.objects.meta import Condition, KubernetesObject
from podwright.apimachinery.objects.pods.pod import Pod

T = TypeVar("T", bound=KubernetesObject)


def encode(obj: KubernetesObject) -> dict[str, Any]:
    """Return the whole document of an object.

    For a decoded object this is `raw`, which must not be changed. For an object built from structs
    it is encoded from the fields that are set.
    """
    if obj.raw:
        return obj.raw
    document: dict[str, Any] = {"apiVersion": obj.api_version, "kind": obj.kind}
    document.update(_plain(obj))
    return document


def with_fields(obj: T, section: str, /, **changes: Any) -> T:
    """Return a copy with changed fields of `metadata`, `spec` or `status`.

    Parameters
    ----------
    obj : KubernetesObject
        The object, which is not modified.
    section : str
        `metadata`, `spec` or `status`.
    **changes
        The fields by their Python names. A value that equals the field's default removes the
        field from the document. Structs are encoded with their typed fields only; use
        `with_condition` to change conditions, which keeps untyped fields.

    Examples
    --------
    >>> from podwright.apimachinery.objects import ObjectMeta, Pod, with_fields
    >>> pod = with_fields(Pod(metadata=ObjectMeta(name="web")), "status", phase="Running")
    >>> pod.status.phase
    'Running'
    """
    part = msgspec.structs.replace(getattr(obj, section), **changes)
    if not obj.raw:
        return msgspec.structs.replace(obj, raw={}, **{section: part})
    raw_part = dict(obj.raw.get(section) or {})
    kind: type[msgspec.Struct] = type(part)
    names = _names_in_documents(kind)
    written = _written(kind, names, changes)
    for name in changes:
        key = names[name]
        if key in written:
            raw_part[key] = written[key]
        else:
            raw_part.pop(key, None)
    return msgspec.structs.replace(obj, raw=obj.raw | {section: raw_part}, **{section: part})


def _written(
    kind: type[msgspec.Struct], names: Mapping[str, str], changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return changed fields as documents have them, without those that have their defaults."""
    # The path through JSON takes several times as long for names and lists of finalizers.
    if all(type(value) is str and value for value in changes.values()):
        return {names[name]: value for name, value in changes.items()}
    if len(changes) == 1:
        ((name, value),) = changes.items()
        if type(value) is tuple and set(map(type, value)) == {str}:
            return {names[name]: list(value)}
    return _plain(kind(**changes))


@cache
def _names_in_documents(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Return the names of fields in documents, by their Python names."""
    # `_written` takes each text that is not empty for one that differs from the default.
    assert not any(isinstance(value, str) and value for value in kind.__struct_defaults__)
    return dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))


def with_node_name(pod: Pod, name: str) -> Pod:
    """Return the pod with `spec.nodeName` set; an empty name removes it."""
    spec = msgspec.structs.replace(pod.spec, node_name=name)
    raw = _raw_with(pod, "spec", "nodeName", name)
    return msgspec.structs.replace(pod, spec=spec, raw=raw)


def with_nominated_node_name(pod: Pod, name: str) -> Pod:
    """Return the pod with `status.nominatedNodeName` set; an empty name removes it."""
    status = msgspec.structs.replace(pod.status, nominated_node_name=name)
    raw = _raw_with(pod, "status", "nominatedNodeName", name)
    return msgspec.structs.replace(pod, status=status, raw=raw)


def with_condition(pod: Pod, condition: Condition) -> Pod:
    """Return the pod with a condition set; replaces the condition of the same type.

    Notes
    -----
    If the status is unchanged, the transition time of the old condition is kept.
    Upstream: pkg/api/v1/pod/util.go, UpdatePodCondition
    """
    conditions = list(pod.status.conditions)
    index = next(
        (i for i, present in enumerate(conditions) if present.type == condition.type),
        len(conditions),
    )
    if index < len(conditions) and conditions[index].status == condition.status:
        condition = msgspec.structs.replace(
            condition, last_transition_time=conditions[index].last_transition_time
        )
    conditions[index : index + 1] = [condition]
    status = msgspec.structs.replace(pod.status, conditions=tuple(conditions))
    raw = pod.raw
    if raw:
        raw_status = raw.get("status") or {}
        written = list(raw_status.get("conditions") or ())
        written[index : index + 1] = [_plain(condition)]
        raw = raw | {"status": raw_status | {"conditions": written}}
    return msgspec.structs.replace(pod, status=status, raw=raw)


def _plain(struct: msgspec.Struct) -> dict[str, Any]:
    # Through JSON, because `to_builtins` keeps tuples where documents have lists.
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(struct))
    return plain


def _raw_with(obj: KubernetesObject, section: str, key: str, value: str) -> dict[str, Any]:
    raw = obj.raw
    if not raw:
        return raw
    part = dict(raw.get(section) or {})
    if value:
        part[key] = value
    else:
        part.pop(key, None)
    return raw | {section: part}
