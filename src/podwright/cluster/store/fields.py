"""The fields that field selectors support, per kind, and which of them are indexed.

Upstream: pkg/registry/core/pod/strategy.go and pkg/registry/*/*/strategy.go, GetAttrs,
ToSelectableFields; pkg/apis/*/v1/conversion.go (the conversions of field labels)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import FieldSelector, KubernetesObject, SelectorError, Unknown
from podwright.apimachinery.schema import built_in
from podwright.cluster.store.kinds import POD, GroupKind

Getter: TypeAlias = Callable[[KubernetesObject], str]
"""Reads a field as text for comparison; an absent field is empty, or Go's zero value."""

FieldTest: TypeAlias = tuple[Getter, frozenset[str] | None, frozenset[str]]
"""The getter of a field, the values that it may have (None for any), and those that it may not."""


def _raw(path: str, absent: str = "") -> Getter:
    steps = path.split(".")

    def get(obj: KubernetesObject) -> str:
        value: Any = obj.raw
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, str):
            return value
        if value is None:
            return absent
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)

    return get


def _first_pod_ip(obj: KubernetesObject) -> str:
    addresses = (obj.raw.get("status") or {}).get("podIPs") or ()
    return str(addresses[0].get("ip", "")) if addresses else ""


def _event_source(obj: KubernetesObject) -> str:
    """Return the reporting component of an Event; of later ones, the reporting controller."""
    source = obj.raw.get("source") or {}
    return str(source.get("component") or obj.raw.get("reportingComponent") or "")


def _empty(_obj: KubernetesObject) -> str:
    return ""


_METADATA: dict[str, Getter] = {
    "metadata.name": lambda obj: obj.metadata.name,
    "metadata.namespace": lambda obj: obj.metadata.namespace,
}

_COMPUTED: Final[dict[tuple[GroupKind, str], Getter]] = {
    (POD, "spec.nodeName"): attrgetter("spec.node_name"),
    (POD, "status.phase"): attrgetter("status.phase"),
    (POD, "status.nominatedNodeName"): attrgetter("status.nominated_node_name"),
    (POD, "status.podIP"): _first_pod_ip,
    # Accepted and never set: upstream fills in `status.podIP` only.
    (POD, "status.podIPs"): _empty,
    (("", "Event"), "source"): _event_source,
    (("events.k8s.io", "Event"), "source"): _raw("deprecatedSource.component"),
    (("batch", "Job"), "status.successful"): _raw("status.succeeded", "0"),
}
"""The fields whose name is not their path, or that a struct has."""


@cache
def fields_of(kind: GroupKind) -> dict[str, Getter]:
    """Return the selectable fields of a kind besides `metadata.name` and `metadata.namespace`."""
    known = built_in().of(*kind)
    selectable = {} if known is None else known.row.selectable
    return {
        name: _COMPUTED.get((kind, name)) or _raw(name, absent)
        for name, absent in selectable.items()
    }


def indexed_fields(kind: GroupKind) -> tuple[str, ...]:
    """Return the indexed fields of a kind."""
    known = built_in().of(*kind)
    return () if known is None else known.row.indexed


def indexed_values(kind: GroupKind, text: bytes) -> tuple[str, ...]:
    """Return the values of the indexed fields of an object that is given as JSON."""
    decoder, readers = _indexed(kind)
    if not readers:
        return ()
    found = decoder.decode(text)
    return tuple([read(found) for read in readers])


@cache
def _indexed(kind: GroupKind) -> tuple[msgspec.json.Decoder[Any], tuple[Callable[[Any], str], ...]]:
    """Return a decoder of the indexed fields of a kind, and what reads each of them from it.

    Decoding all of an object takes five times as long.
    """
    names = indexed_fields(kind)
    getters = fields_of(kind)
    if any((kind, name) in _COMPUTED for name in names):
        return msgspec.json.Decoder(), tuple(_of_document(getters[name]) for name in names)
    shape: dict[str, Any] = {}
    for name in names:
        inner = shape
        *path, last = name.split(".")
        for step in path:
            inner = inner.setdefault(step, {})
        inner[last] = None
    readers = tuple(_of_struct(name.split("."), getters[name]) for name in names)
    return msgspec.json.Decoder(_struct_of(shape)), readers


def _of_document(getter: Getter) -> Callable[[Any], str]:
    return lambda document: getter(Unknown(raw=document))


def _of_struct(steps: Sequence[str], getter: Getter) -> Callable[[Any], str]:
    """Return what reads a field that most objects have as text; others are read as documents."""

    def read(found: Any) -> str:
        value = found
        for step in steps:
            value = getattr(value, step, None)
        return value if type(value) is str else getter(Unknown(raw=msgspec.to_builtins(found)))

    return read


def _struct_of(shape: dict[str, Any]) -> type[msgspec.Struct]:
    """Return a struct with some fields of a document; fields that are absent stay so."""
    absent = msgspec.UnsetType
    fields = [
        (name, Any if inner is None else _struct_of(inner) | None | absent, msgspec.UNSET)
        for name, inner in shape.items()
    ]
    return msgspec.defstruct("Indexed", fields, gc=False)


def field_tests(kind: GroupKind, selector: FieldSelector) -> tuple[FieldTest, ...]:
    """Compile a field selector for a kind; each field has one test, however many conditions.

    Raises
    ------
    SelectorError
        The kind does not support a field; the message is upstream's.
    """
    if not selector.requirements:
        return ()
    own = fields_of(kind)
    known = _METADATA | own
    is_custom = built_in().of(*kind) is None
    required: dict[str, set[str]] = {}
    excluded: dict[str, set[str]] = {}
    getters: dict[str, Getter] = {}
    for requirement in selector.requirements:
        name = requirement.field
        getter = known.get(name)
        if getter is None and is_custom:
            # Definitions say by which fields custom resources are selected; the API checks it.
            getter = _raw(name)
        if getter is None:
            raise SelectorError(
                f"field label not supported: {name}"
                if own
                else f'"{name}" is not a known field selector: '
                'only "metadata.name", "metadata.namespace"'
            )
        getters.setdefault(name, getter)
        chosen = excluded if requirement.is_negated else required
        chosen.setdefault(name, set()).add(requirement.value)
    return tuple(
        (getter, _the_only(required.get(name)), frozenset(excluded.get(name, ())))
        for name, getter in getters.items()
    )


def _the_only(values: set[str] | None) -> frozenset[str] | None:
    """Return the values that a field may have which must have each of several."""
    if values is None:
        return None
    return frozenset(values if len(values) == 1 else ())
