"""Descriptions of cards become the ResourceSlices of nodes, and mistakes in them are reported."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import InputError, ResourceSlice
from podwright.scheduler.assembly import Scheduler
from podwright.simulation.files import LoadedObjects, load_bytes

_NODES = """\
apiVersion: v1
kind: Node
metadata: {name: a, labels: {gpu: "yes"}}
status: {allocatable: {cpu: "8", pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: b}
status: {allocatable: {cpu: "8", pods: "110"}}
---
"""

_SPEC: dict[str, Any] = {"driver": "gpu.example.com", "nodeSelector": {"gpu": "yes"}, "count": 8}


def _loaded(cards: dict[str, Any], more: str = "") -> LoadedObjects:
    document = {
        "apiVersion": "podwright.dev/v1",
        "kind": "DeviceCards",
        "metadata": {"name": "cards"},
        "spec": cards,
    }
    text = _NODES + msgspec.json.encode(document).decode() + more
    return load_bytes([("cards.yaml", text.encode())])


def _slices(cards: dict[str, Any], more: str = "") -> list[ResourceSlice]:
    return list(_loaded(cards, more).of(ResourceSlice))


def test_the_cards_of_matching_nodes_are_published() -> None:
    attributes = {"model": {"string": "h100"}}
    capacity = {"memory": {"value": "80Gi"}}
    links = {"attribute": "nvlink", "size": 4}
    spec = _SPEC | {"attributes": attributes, "capacity": capacity, "links": links}
    (found,) = _slices(spec)
    assert found.raw["spec"]["nodeName"] == "a"
    assert found.raw["spec"]["pool"] == {"name": "a", "generation": 1, "resourceSliceCount": 1}
    devices = found.raw["spec"]["devices"]
    assert [device["name"] for device in devices] == [f"gpu-{index}" for index in range(8)]
    assert devices[5] == {
        "name": "gpu-5",
        "attributes": {
            "index": {"int": 5},
            "model": {"string": "h100"},
            "nvlink": {"int": 1},
        },
        "capacity": capacity,
    }


def test_without_a_selector_all_nodes_have_the_cards() -> None:
    found = _slices({"driver": "gpu.example.com", "count": 1})
    assert [each.spec.node_name for each in found] == ["a", "b"]


def test_partitions_consume_the_parts_of_their_card() -> None:
    partitions = [
        {"name": "half", "parts": 4, "count": 2, "capacity": {"memory": {"value": "40Gi"}}},
        {"name": "small", "parts": 1, "count": 7},
    ]
    counters, *others = _slices(_SPEC | {"parts": 8, "partitions": partitions})
    sets = counters.raw["spec"]["sharedCounters"]
    assert sets[1] == {"name": "gpu-1", "counters": {"parts": {"value": "8"}}}
    assert len(sets) == 8
    devices = [device for each in others for device in each.raw["spec"]["devices"]]
    assert [len(each.spec.devices) for each in others] == [64, 16]
    half = next(device for device in devices if device["name"] == "gpu-1-half-0")
    assert half == {
        "name": "gpu-1-half-0",
        "attributes": {
            "index": {"int": 1},
            "card": {"string": "gpu-1"},
            "partition": {"string": "half"},
        },
        "capacity": {"memory": {"value": "40Gi"}},
        "consumesCounters": [{"counterSet": "gpu-1", "counters": {"parts": {"value": "4"}}}],
    }
    assert {each.spec.pool.resource_slice_count for each in (counters, *others)} == {3}


def test_partitions_of_one_card_are_allocated_until_its_parts_are_used_up() -> None:
    partitions = [{"name": "half", "parts": 1, "count": 2}]
    spec = _SPEC | {"count": 1, "parts": 2, "partitions": partitions}
    claims = """
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: half}
spec:
  selectors:
  - cel: {expression: '"partition" in device.attributes["gpu.example.com"]'}
"""
    for index in range(3):
        claims += f"""
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: c{index}}}
spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: half}}}}]}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: p{index}}}
spec:
  containers: [{{name: main, image: app}}]
  resourceClaims: [{{name: r, resourceClaimName: c{index}}}]
"""
    scheduler = Scheduler()
    scheduler.add(*_loaded(spec, claims).objects)
    placed = [scheduler.schedule(f"default/p{index}").node for index in range(3)]
    assert placed == ["a", "a", ""]


def test_nodes_with_slices_of_the_driver_keep_them() -> None:
    own = """
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: own}
spec:
  driver: gpu.example.com
  nodeName: a
  pool: {name: a, generation: 7, resourceSliceCount: 1}
  devices: [{name: real}]
"""
    assert [each.name for each in _slices(_SPEC, own)] == ["own"]


def test_cards_that_no_node_has_are_reported() -> None:
    loaded = _loaded(_SPEC | {"nodeSelector": {"gpu": "no"}})
    assert loaded.of(ResourceSlice) == ()
    assert loaded.warnings == (
        "cards.yaml: document 3 (line 11): DeviceCards cards has no effect so far: no node has the"
        " labels gpu=no",
    )


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        pytest.param(
            {"conut": 8},
            'spec.conut: unknown field; did you mean "count"?',
            id="a misspelled field",
        ),
        pytest.param({"count": "8"}, "spec.count: must be an integer", id="a wrong type"),
        pytest.param({"count": 0}, "spec.count: 0: must be at least 1", id="no cards"),
        pytest.param(
            {"parts": 4},
            "spec.partitions: is required with parts: what a card can be divided into",
            id="parts without partitions",
        ),
        pytest.param(
            {"partitions": [{"name": "half", "parts": 1, "count": 2}]},
            "spec.parts: is required with partitions: into how many parts a card can be divided",
            id="partitions without parts",
        ),
        pytest.param(
            {"parts": 4, "partitions": [{"name": "whole", "parts": 5, "count": 1}]},
            "spec.partitions[0].parts: 5: must be between 1 and the parts of a card",
            id="a partition larger than its card",
        ),
        pytest.param(
            {"parts": 4, "partitions": [{"name": "half", "part": 2, "count": 2}]},
            'spec.partitions[0].part: unknown field; did you mean "parts"?',
            id="a misspelled field of a partition",
        ),
        pytest.param(
            {"links": {"attribute": "nvlink", "size": 0}},
            "spec.links.size: 0: must be at least 1",
            id="empty groups",
        ),
    ],
)
def test_mistakes_are_reported_with_their_field(changes: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError) as caught:
        _loaded(_SPEC | changes)
    (found,) = caught.value.errors
    assert f"{found.path}: {found.message}" == error


def test_another_version_is_an_error() -> None:
    text = """\
apiVersion: podwright.dev/v1alpha1
kind: DeviceCards
metadata: {name: cards}
spec: {driver: gpu.example.com, count: 1}
"""
    with pytest.raises(InputError, match=r"podwright\.dev/v1") as caught:
        load_bytes([("cards.yaml", text.encode())])
    assert [each.path for each in caught.value.errors] == ["apiVersion"]


def test_an_invalid_slice_is_reported_once() -> None:
    with pytest.raises(InputError) as caught:
        _loaded({"driver": "gpu.example.com", "count": 1, "name": "Large_GPU"})
    (found,) = caught.value.errors
    assert found.path == "spec"
    assert found.message.startswith("makes an invalid ResourceSlice: spec.devices[0].name: ")


def test_two_descriptions_for_one_driver_and_node_are_an_error() -> None:
    second = """
---
apiVersion: podwright.dev/v1
kind: DeviceCards
metadata: {name: others}
spec: {driver: gpu.example.com, count: 1}
"""
    with pytest.raises(InputError) as caught:
        _loaded(_SPEC, second)
    (found,) = caught.value.errors
    assert found.path == "spec.driver"
    assert found.message == (
        "node a has cards of driver gpu.example.com by DeviceCards cards already"
    )


def test_nodes_of_a_mirrored_cluster_are_left_alone() -> None:
    annotated = _NODES.replace(
        'labels: {gpu: "yes"}', 'labels: {gpu: "yes"}, annotations: {podwright.dev/source-uid: u}'
    )
    cards = {"driver": "gpu.example.com", "count": 1}
    document = {
        "apiVersion": "podwright.dev/v1",
        "kind": "DeviceCards",
        "metadata": {"name": "cards"},
        "spec": cards,
    }
    text = annotated + msgspec.json.encode(document).decode()
    loaded = load_bytes([("cards.yaml", text.encode())])
    assert [each.spec.node_name for each in loaded.of(ResourceSlice)] == ["b"]
    assert loaded.warnings == (
        "cards.yaml: document 3 (line 11): DeviceCards cards: node a is left alone: it has the"
        " devices of the cluster that is mirrored",
    )


_ATTACHED = {"bindingConditions": ["Attached"], "bindingFailureConditions": ["AttachFailed"]}


@pytest.mark.parametrize(
    ("fields", "annotations"),
    [
        ({"binding": {"delay": "5s"}}, {"podwright.dev/binding-delay": "5s"}),
        ({"binding": {"failure": "no cable"}}, {"podwright.dev/binding-failure": "no cable"}),
        ({"prepare": {"delay": "7s"}}, {"podwright.dev/prepare-delay": "7s"}),
    ],
)
def test_slices_say_what_their_driver_does(
    fields: dict[str, Any], annotations: dict[str, str]
) -> None:
    (found,) = _slices(_SPEC | _ATTACHED | fields)
    of_cards = {name for name in found.metadata.annotations if "/device-cards" in name}
    assert len(of_cards) == 2
    kept = {k: text for k, text in found.metadata.annotations.items() if k not in of_cards}
    assert kept == annotations


@pytest.mark.parametrize(
    ("binding", "more", "message"),
    [
        ({"delay": "5s"}, {}, "spec.binding: has no effect without bindingConditions"),
        ({}, _ATTACHED, "spec.binding: needs a delay or a failure"),
        ({"delay": "-1s"}, _ATTACHED, "spec.binding.delay: -1s: must not be negative"),
        (
            {"delay": "5 s"},
            _ATTACHED,
            'spec.binding.delay: time: unknown unit " s" in duration "5 s":'
            " must be a duration such as 5s",
        ),
        (
            {"delay": "5s", "failure": "no cable"},
            _ATTACHED,
            "spec.binding.delay: has no effect with a failure, which comes at once",
        ),
        (
            {"failure": "no cable"},
            {"bindingConditions": ["Attached"]},
            "spec.binding.failure: has no effect without bindingFailureConditions",
        ),
        ({"delai": "5s"}, _ATTACHED, 'spec.binding.delai: unknown field; did you mean "delay"?'),
    ],
)
def test_mistakes_of_bindings(binding: dict[str, str], more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        _loaded(_SPEC | more | {"binding": binding})


def _cards(name: str, **fields: Any) -> str:
    document = {
        "apiVersion": "podwright.dev/v1",
        "kind": "DeviceCards",
        "metadata": {"name": name},
        "spec": {"driver": "gpu.example.com", "count": 1} | fields,
    }
    return "\n---\n" + msgspec.json.encode(document).decode()


def test_the_slices_of_cards_stand_behind_them_in_the_order_of_nodes() -> None:
    loaded = _loaded(_SPEC | {"nodeSelector": {}}, _cards("others", driver="nic.example.com"))
    kinds = [(each.kind, getattr(each, "name", "")) for each in loaded.objects]
    names = [name if kind != "ResourceSlice" else kind for kind, name in kinds]
    assert names == [
        "a", "b", "cards", "ResourceSlice", "ResourceSlice", "others", "ResourceSlice",
        "ResourceSlice",
    ]  # fmt: skip
    found = [(each.spec.driver, each.spec.node_name) for each in loaded.of(ResourceSlice)]
    assert found == [
        (f"{driver}.example.com", node) for driver in ("gpu", "nic") for node in ("a", "b")
    ]
    sources = [entry.source for entry in loaded.sourced if isinstance(entry.object, ResourceSlice)]
    assert sources == [*["cards.yaml: document 3 (line 11)"] * 2, *[sources[2]] * 2]


def test_the_second_description_of_a_driver_is_an_error_once_and_the_first_one_stays() -> None:
    more = _cards("second") + _cards("third", nodeSelector={"gpu": "yes"})
    with pytest.raises(InputError) as caught:
        _loaded(_SPEC | {"nodeSelector": {}}, more)
    assert [each.message for each in caught.value.errors] == [
        "node a has cards of driver gpu.example.com by DeviceCards cards already"
    ] * 2


def test_descriptions_without_any_node_are_reported() -> None:
    loaded = load_bytes(
        [("c.yaml", (_cards("c") + _cards("d", nodeSelector={"a": "b", "c": "d"})).encode())]
    )
    assert [each.partition("DeviceCards ")[2] for each in loaded.warnings] == [
        "c has no effect so far: there are no nodes",
        "d has no effect so far: no node has the labels a=b, c=d",
    ]


def test_several_nodes_of_a_mirrored_cluster_are_counted() -> None:
    annotated = _NODES.replace("{name: ", "{annotations: {podwright.dev/source-uid: u}, name: ")
    loaded = load_bytes([("c.yaml", (annotated + _cards("c").removeprefix("\n---\n")).encode())])
    assert loaded.of(ResourceSlice) == ()
    assert [each.partition("DeviceCards ")[2] for each in loaded.warnings] == [
        "c: 2 nodes such as a are left alone: they have the devices of the cluster that is mirrored"
    ]
