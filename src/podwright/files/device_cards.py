"""Simulated device drivers: from a description of cards to the ResourceSlices of nodes.

A document of kind DeviceCards, which stands among the manifests, describes the cards that one
driver finds in each of some nodes. It is replaced by the ResourceSlices that such a driver
publishes: one pool for each node, named like the node. Cards can be divided into partitions, which
consume shared counters, and be linked in groups, which an attribute numbers. Nodes for which the
input has slices of the driver keep them, and nodes of a mirrored cluster have the devices of their
cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from podwright.files.object_reader import Sourced
from podwright.objects import (
    Document,
    FieldError,
    Node,
    Object,
    ResourceSlice,
    Unknown,
    encode,
    nearest,
    parse_duration,
)
from podwright.schema import built_in, decode

API_VERSION: Final = "podwright.dev/v1"
KIND: Final = "DeviceCards"

BINDING_DELAY: Final = "podwright.dev/binding-delay"
BINDING_FAILURE: Final = "podwright.dev/binding-failure"
"""The annotations that the simulated driver reads; see docs/explanation/controllers.md."""

MIRRORED: Final = "podwright.dev/source-uid"
"""The annotation of objects that are copied from another cluster."""

_SLICE_VERSION: Final = "resource.k8s.io/v1"
_COUNTER: Final = "parts"
_MOST_DEVICES: Final = 128
_MOST_COUNTING_DEVICES: Final = 64
_MOST_COUNTER_SETS: Final = 8
"""The limits of one slice. Upstream: staging/src/k8s.io/api/resource/v1/types.go"""

_AT: Final = re.compile(r"^(?P<message>.*?) - at `\$\.?(?P<path>.*)`$", re.DOTALL)
_UNKNOWN: Final = re.compile(r"^Object contains unknown field `(?P<name>.*)`$")


class Links(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Groups of linked cards.

    Parameters
    ----------
    attribute : str
        The attribute of each card that has the number of its group, from 0.
    size : int
        How many cards a group has.
    """

    attribute: str
    size: int


class Binding(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """How the driver sets the binding conditions of allocated devices.

    Parameters
    ----------
    delay : str, optional
        How long after the allocation, such as ``5s``.
    failure : str
        The message with which it sets the first binding failure condition instead, at once.
    """

    delay: str | None = None
    failure: str = ""


class Partition(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Partitions of one size.

    Parameters
    ----------
    name : str
    parts : int
        How many parts of the card each takes.
    count : int
        How many of them a card can be divided into, if it has no others.
    attributes, capacity : dict
        As in a ResourceSlice.
    """

    name: str
    parts: int
    count: int
    attributes: dict[str, Any] = {}
    capacity: dict[str, Any] = {}


class CardSpec(
    msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True
):
    """The cards of each node.

    Parameters
    ----------
    driver : str
    node_selector : dict of str to str
        The labels of the nodes that have the cards; empty: all nodes.
    count : int
        How many cards a node has.
    name : str
        The cards are named ``name-0``, ``name-1`` and so on.
    attributes, capacity, taints, binding_conditions, binding_failure_conditions, \
    allow_multiple_allocations
        Of every card, as in a ResourceSlice.
    links : Links, optional
    binding : Binding, optional
        Without it, others set the binding conditions.
    parts : int
        Into how many parts a card can be divided; 0: cards are allocated whole.
    partitions : tuple of Partition
    """

    driver: str
    count: int
    node_selector: dict[str, str] = {}
    name: str = "gpu"
    attributes: dict[str, Any] = {}
    capacity: dict[str, Any] = {}
    taints: list[dict[str, Any]] = []
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    allow_multiple_allocations: bool = False
    links: Links | None = None
    binding: Binding | None = None
    parts: int = 0
    partitions: tuple[Partition, ...] = ()


class _Cards(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    api_version: str
    kind: str
    metadata: dict[str, Any]
    spec: CardSpec


def with_device_slices(
    sourced: Sequence[Sourced], errors: list[FieldError], warnings: list[str]
) -> list[Sourced]:
    """Replace descriptions of cards by ResourceSlices.

    Parameters
    ----------
    errors : list of FieldError
        Gets what is wrong with the descriptions.
    warnings : list of str
        Gets a text for each description that no node matches.
    """
    if not any(map(_is_cards, sourced)):
        return list(sourced)
    nodes = [entry.object for entry in sourced if isinstance(entry.object, Node)]
    published = {
        (entry.object.spec.driver, entry.object.spec.node_name)
        for entry in sourced
        if isinstance(entry.object, ResourceSlice)
    }
    described: dict[tuple[str, str], str] = {}
    found: list[Sourced] = []
    for entry in sourced:
        if not _is_cards(entry):
            found.append(entry)
            continue
        spec = _spec_of(entry, errors)
        if spec is None:
            continue
        chosen = [
            node for node in nodes if spec.node_selector.items() <= node.metadata.labels.items()
        ]
        mirrored = [node.name for node in chosen if MIRRORED in node.metadata.annotations]
        if mirrored:
            which = f"node {mirrored[0]} is left alone: it has"
            if len(mirrored) > 1:
                which = f"{len(mirrored)} nodes such as {mirrored[0]} are left alone: they have"
            warnings.append(
                f"{entry.source}: {KIND} {entry.object.name}: {which} the devices of the cluster"
                " that is mirrored"
            )
            chosen = [node for node in chosen if MIRRORED not in node.metadata.annotations]
        elif not chosen:
            labels = ", ".join(f"{key}={value}" for key, value in spec.node_selector.items())
            which = f"no node has the labels {labels}" if labels else "there are no nodes"
            warnings.append(f"{entry.source}: {KIND} {entry.object.name} has no effect: {which}")
        for node in chosen:
            place = spec.driver, node.name
            first = described.setdefault(place, entry.object.name)
            if first != entry.object.name:
                message = (
                    f"node {node.name} has cards of driver {spec.driver} by {KIND} {first} already"
                )
                errors.append(FieldError(source=entry.source, path="spec.driver", message=message))
                break
            if place in published:
                continue
            objects = _checked(entry, _slices(spec, node.name), errors)
            if not objects:
                # The slices of the other nodes have the same problems.
                break
            found += [Sourced(entry.source, obj) for obj in objects]
    return found


def _is_cards(entry: Sourced) -> bool:
    obj = entry.object
    return isinstance(obj, Unknown) and (obj.api_version, obj.kind) == (API_VERSION, KIND)


# ------------------------------------------------------------------------------- reading


def _spec_of(entry: Sourced, errors: list[FieldError]) -> CardSpec | None:
    try:
        spec = msgspec.convert(encode(entry.object), _Cards).spec
    except msgspec.ValidationError as error:
        errors.append(_as_field_error(entry.source, str(error)))
        return None
    problems = list(_problems(spec))
    errors += [
        FieldError(source=entry.source, path=f"spec.{path}", message=message)
        for path, message in problems
    ]
    return None if problems else spec


def _as_field_error(source: str, text: str) -> FieldError:
    at = _AT.match(text)
    message, path = (at["message"], at["path"]) if at else (text, "")
    unknown = _UNKNOWN.match(message)
    if unknown:
        names = {
            "spec": CardSpec,
            "spec.links": Links,
            "spec.binding": Binding,
        }.get(path, Partition if path.startswith("spec.partitions") else _Cards)
        near = nearest(unknown["name"], names.__struct_encode_fields__)
        path = f"{path}.{unknown['name']}".lstrip(".")
        message = "unknown field" + (f'; did you mean "{near}"?' if near else "")
    return FieldError(source=source, path=path, message=message)


def _problems(spec: CardSpec) -> Iterator[tuple[str, str]]:
    if spec.count < 1:
        yield "count", f"{spec.count}: must be at least 1"
    if spec.links is not None and spec.links.size < 1:
        yield "links.size", f"{spec.links.size}: must be at least 1"
    if spec.binding is not None:
        yield from _problems_of_binding(spec, spec.binding)
    if spec.partitions and spec.parts < 1:
        yield "parts", "is required with partitions: into how many parts a card can be divided"
    if spec.parts and not spec.partitions:
        yield "partitions", "is required with parts: what a card can be divided into"
    names: set[str] = set()
    for index, each in enumerate(spec.partitions):
        path = f"partitions[{index}]"
        if not 1 <= each.parts <= max(spec.parts, 1):
            yield f"{path}.parts", f"{each.parts}: must be between 1 and the parts of a card"
        if each.count < 1:
            yield f"{path}.count", f"{each.count}: must be at least 1"
        if each.name in names:
            yield f"{path}.name", f"{each.name}: two partitions have this name"
        names.add(each.name)


# -------------------------------------------------------------------------------- making


def _problems_of_binding(spec: CardSpec, binding: Binding) -> Iterator[tuple[str, str]]:
    if not spec.binding_conditions:
        yield "binding", "has no effect without bindingConditions"
    if binding.failure and not spec.binding_failure_conditions:
        yield "binding.failure", "has no effect without bindingFailureConditions"
    if binding.delay is None:
        if not binding.failure:
            yield "binding", "needs a delay or a failure"
        return
    if binding.failure:
        yield "binding.delay", "has no effect with a failure, which comes at once"
    try:
        is_negative = parse_duration(binding.delay) < 0
    except ValueError as error:
        yield "binding.delay", f"{error}: must be a duration such as 5s"
    else:
        if is_negative:
            yield "binding.delay", f"{binding.delay}: must not be negative"


def _checked(
    entry: Sourced, documents: Iterable[Document], errors: list[FieldError]
) -> list[Object]:
    """Return valid slices; none if one has an error."""
    kind = built_in().find(_SLICE_VERSION, "ResourceSlice")
    assert kind is not None, "ResourceSlice is built in"
    objects: list[Object] = []
    for document in documents:
        made, problems = kind.checked(document)
        if problems:
            errors += [
                FieldError(
                    source=entry.source,
                    path="spec",
                    message=f"makes an invalid ResourceSlice: {path}: {message}",
                )
                for path, message, _ in problems
            ]
            return []
        objects.append(decode(made))
    return objects


def _slices(spec: CardSpec, node: str) -> list[Document]:
    """Return the slices of one node: those with counters first."""
    cards = [f"{spec.name}-{index}" for index in range(spec.count)]
    devices = [device for index, card in enumerate(cards) for device in _devices(spec, index, card)]
    counters = [
        {"name": card, "counters": {_COUNTER: {"value": str(spec.parts)}}}
        for card in cards
        if spec.partitions
    ]
    most = _MOST_COUNTING_DEVICES if spec.partitions or spec.taints else _MOST_DEVICES
    parts = [{"sharedCounters": several} for several in _in_parts(counters, _MOST_COUNTER_SETS)] + [
        {"devices": several} for several in _in_parts(devices, most)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": len(parts)}
    annotations: Document = {}
    if spec.binding is not None:
        delay, failure = spec.binding.delay, spec.binding.failure
        text = {BINDING_FAILURE: failure} if delay is None else {BINDING_DELAY: delay}
        annotations = {"annotations": text}
    return [
        {
            "apiVersion": _SLICE_VERSION,
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-{spec.driver}-{index}"} | annotations,
            "spec": {"driver": spec.driver, "nodeName": node, "pool": pool} | part,
        }
        for index, part in enumerate(parts)
    ]


def _in_parts(several: list[Document], size: int) -> Iterator[list[Document]]:
    for start in range(0, len(several), size):
        yield several[start : start + size]


def _devices(spec: CardSpec, index: int, card: str) -> Iterator[Document]:
    """Yield a card and its partitions."""
    attributes: dict[str, Any] = {"index": {"int": index}} | spec.attributes
    if spec.links is not None:
        attributes[spec.links.attribute] = {"int": index // spec.links.size}
    of_all: Document = {
        "taints": spec.taints,
        "bindingConditions": spec.binding_conditions,
        "bindingFailureConditions": spec.binding_failure_conditions,
        "allowMultipleAllocations": spec.allow_multiple_allocations,
    }
    of_all = {name: value for name, value in of_all.items() if value}
    whole: Document = {"name": card, "attributes": attributes, "capacity": spec.capacity} | of_all
    if not spec.partitions:
        yield whole
        return
    yield whole | _consuming(card, spec.parts)
    for each in spec.partitions:
        own = attributes | {"card": {"string": card}, "partition": {"string": each.name}}
        for number in range(each.count):
            yield {
                "name": f"{card}-{each.name}-{number}",
                "attributes": own | each.attributes,
                "capacity": each.capacity,
                **of_all,
                **_consuming(card, each.parts),
            }


def _consuming(card: str, parts: int) -> Document:
    taken = {"counterSet": card, "counters": {_COUNTER: {"value": str(parts)}}}
    return {"consumesCounters": [taken]}
