"""Simulated device drivers: from a description of cards to the ResourceSlices of nodes.

A document of kind DeviceCards describes the cards that one driver finds in each of some nodes. The
driver publishes them in ResourceSlices: one pool for each node, named like the node. Cards can be
divided into partitions, which consume shared counters, and be linked in groups, which an attribute
numbers. Nodes with other slices of the driver keep them, and nodes of a mirrored cluster have the
devices of their cluster.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    UNKNOWN_FIELD,
    Document,
    KubernetesObject,
    ResourceSlice,
    Unknown,
    api_group,
    decoding_problem,
    encode,
    nearest,
    parse_duration,
    unsupported,
)
from podwright.apimachinery.schema import built_in, decode

API_VERSION: Final = "podwright.dev/v1"
CARDS_KIND: Final = "DeviceCards"

BINDING_DELAY: Final = "podwright.dev/binding-delay"
BINDING_FAILURE: Final = "podwright.dev/binding-failure"
PREPARE_DELAY: Final = "podwright.dev/prepare-delay"
"""The annotations of slices that the simulated driver reads; see docs/explanation/controllers.md.
"""

CARDS: Final = "podwright.dev/device-cards"
CARDS_HASH: Final = "podwright.dev/device-cards-hash"
"""The annotations of slices that were made of DeviceCards: the name, and a hash of the spec."""

_SLICE_VERSION: Final = "resource.k8s.io/v1"
_COUNTER: Final = "parts"
_MOST_DEVICES: Final = 128
_MOST_COUNTING_DEVICES: Final = 64
_MOST_COUNTER_SETS: Final = 8
"""The limits of one slice. Upstream: staging/src/k8s.io/api/resource/v1/types.go"""


class Links(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
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


class Binding(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
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


class Prepare(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """How the driver prepares claims on the node.

    Parameters
    ----------
    delay : str
        How long it takes, such as ``5s``.
    """

    delay: str


class Partition(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
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
    prepare : Prepare, optional
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
    prepare: Prepare | None = None
    parts: int = 0
    partitions: tuple[Partition, ...] = ()


class _Cards(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    api_version: str
    kind: str
    metadata: dict[str, Any]
    spec: CardSpec
    status: dict[str, Any] = {}


def read_cards(document: Document) -> tuple[CardSpec | None, list[tuple[str, str]]]:
    """Read a DeviceCards document.

    Returns
    -------
    CardSpec or None
        None if there are problems.
    list of (str, str)
        The field and the text of each problem.
    """
    try:
        cards = msgspec.convert(document, _Cards)
    except msgspec.ValidationError as error:
        return None, [_field_and_message(error)]
    if cards.api_version != API_VERSION:
        return None, [("apiVersion", unsupported(cards.api_version, [API_VERSION]))]
    spec = cards.spec
    problems = [(f"spec.{path}", message) for path, message in _problems(spec)]
    return (None if problems else spec), problems


def is_cards(obj: KubernetesObject) -> bool:
    """Return whether an object describes cards, in any version: `read_cards` refuses others."""
    return (
        isinstance(obj, Unknown)
        and obj.kind == CARDS_KIND
        and api_group(obj.api_version) == api_group(API_VERSION)
    )


def hash_of(spec: CardSpec) -> str:
    """Return a hash by which a changed description is recognized."""
    return f"{zlib.crc32(msgspec.json.encode(spec, order='sorted')):08x}"


def slice_name(node: str, driver: str, index: int) -> str:
    """Return the name of a slice that the simulated driver of a node publishes."""
    return f"{node}-{driver}-{index}"


def copied_slices(slices: Iterable[ResourceSlice], like: str, node: str) -> Iterator[ResourceSlice]:
    """Yield the slices of a new node that has the devices of another node.

    Parameters
    ----------
    slices : iterable of ResourceSlice
        Those of the cluster.
    like : str
        The name of the other node.
    node : str
        The name of the new node, which also names the pools and the slices.
    """
    return (_copied(each, node) for each in slices if each.spec.node_name == like)


def _copied(of: ResourceSlice, node: str) -> ResourceSlice:
    document = encode(of)
    pool = document["spec"]["pool"]
    named = pool["name"].replace(of.spec.node_name, node)
    if named == pool["name"]:
        named = f"{named}-{node}"
    spec = document["spec"] | {"nodeName": node, "pool": pool | {"name": named}}
    made = decode(document | {"metadata": {"name": f"{of.name}-{node}"}, "spec": spec})
    assert isinstance(made, ResourceSlice), made.kind
    return made


def slices_of_cards(
    name: str, spec: CardSpec, node: str, generation: int = 1
) -> tuple[list[ResourceSlice], list[tuple[str, str]]]:
    """Return the slices of the cards of a node.

    Parameters
    ----------
    name : str
        Of the DeviceCards.
    generation : int
        Of the pool.

    Returns
    -------
    list of ResourceSlice
        Empty if one is not valid.
    list of (str, str)
        The field and the text of each problem.
    """
    kind = built_in().find(_SLICE_VERSION, "ResourceSlice")
    assert kind is not None, "ResourceSlice is built in"
    slices: list[ResourceSlice] = []
    for document in _slices(name, spec, node, generation):
        made, problems = kind.checked(document)
        if problems:
            return [], [
                ("spec", f"makes an invalid ResourceSlice: {path}: {message}")
                for path, message, _ in problems
            ]
        found = decode(made)
        assert isinstance(found, ResourceSlice), found.kind
        slices.append(found)
    return slices, []


def _field_and_message(error: msgspec.ValidationError) -> tuple[str, str]:
    path, message = decoding_problem(error)
    if message == UNKNOWN_FIELD:
        outer, _, name = path.rpartition(".")
        names = {
            "spec": CardSpec,
            "spec.links": Links,
            "spec.binding": Binding,
            "spec.prepare": Prepare,
        }.get(outer, Partition if outer.startswith("spec.partitions") else _Cards)
        near = nearest(name, names.__struct_encode_fields__)
        message += f'; did you mean "{near}"?' if near else ""
    return path, message


def _problems(spec: CardSpec) -> Iterator[tuple[str, str]]:
    if spec.count < 1:
        yield "count", f"{spec.count}: must be at least 1"
    if spec.links is not None and spec.links.size < 1:
        yield "links.size", f"{spec.links.size}: must be at least 1"
    if spec.binding is not None:
        yield from _problems_of_binding(spec, spec.binding)
    if spec.prepare is not None:
        yield from _problems_of_duration("prepare.delay", spec.prepare.delay)
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
    yield from _problems_of_duration("binding.delay", binding.delay)


def _problems_of_duration(path: str, text: str) -> Iterator[tuple[str, str]]:
    try:
        is_negative = parse_duration(text) < 0
    except ValueError as error:
        yield path, f"{error}: must be a duration such as 5s"
    else:
        if is_negative:
            yield path, f"{text}: must not be negative"


def _slices(name: str, spec: CardSpec, node: str, generation: int) -> list[Document]:
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
    pool = {"name": node, "generation": generation, "resourceSliceCount": len(parts)}
    annotations = {CARDS: name, CARDS_HASH: hash_of(spec)}
    if spec.binding is not None:
        delay, failure = spec.binding.delay, spec.binding.failure
        annotations |= {BINDING_FAILURE: failure} if delay is None else {BINDING_DELAY: delay}
    if spec.prepare is not None:
        annotations[PREPARE_DELAY] = spec.prepare.delay
    return [
        {
            "apiVersion": _SLICE_VERSION,
            "kind": "ResourceSlice",
            "metadata": {
                "name": slice_name(node, spec.driver, index),
                "annotations": annotations,
            },
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
