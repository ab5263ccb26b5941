"""The slices that simulated drivers publish for described cards."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.devices import (
    BINDING_DELAY,
    BINDING_FAILURE,
    CARDS,
    CARDS_HASH,
    PREPARE_DELAY,
    CardSpec,
    copied_slices,
    hash_of,
    is_cards,
    read_cards,
    slice_name,
    slices_of_cards,
)
from podwright.apimachinery.devices.tests.made import (
    DRIVER,
    claim,
    devices_of,
    exactly,
    index_of,
    published,
    search,
)
from podwright.apimachinery.objects import encode
from podwright.apimachinery.schema import decode

_HALF = {"name": "half", "parts": 2, "count": 2}


def _document(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "podwright.dev/v1",
        "kind": "DeviceCards",
        "metadata": {"name": "cards"},
        "spec": {"driver": DRIVER, "count": 2} | spec,
    }


def _read(**spec: Any) -> CardSpec:
    found, problems = read_cards(_document(**spec))
    assert problems == []
    assert found is not None
    return found


def _specs(**spec: Any) -> list[dict[str, Any]]:
    """Return the specs of the slices of node `n`."""
    slices, problems = slices_of_cards("cards", _read(**spec), "n", generation=3)
    assert problems == []
    return [encode(each)["spec"] for each in slices]


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("spec", "field", "text"),
    [
        ({"count": 0}, "spec.count", "0: must be at least 1"),
        ({"count": "2"}, "spec.count", "must be an integer"),
        ({"links": {"attribute": "group", "size": 0}}, "spec.links.size", "0: must be at least 1"),
        ({"prepare": {"delay": "x"}}, "spec.prepare.delay", "must be a duration such as 5s"),
        ({"prepare": {"delay": "-1s"}}, "spec.prepare.delay", "-1s: must not be negative"),
        ({"binding": {"delay": "1s"}}, "spec.binding", "has no effect without bindingConditions"),
        (
            {"binding": {"failure": "x"}, "bindingConditions": ["R"]},
            "spec.binding.failure",
            "has no effect without bindingFailureConditions",
        ),
        (
            {"binding": {}, "bindingConditions": ["R"]},
            "spec.binding",
            "needs a delay or a failure",
        ),
        (
            {
                "binding": {"delay": "1s", "failure": "x"},
                "bindingConditions": ["R"],
                "bindingFailureConditions": ["F"],
            },
            "spec.binding.delay",
            "has no effect with a failure, which comes at once",
        ),
        (
            {"binding": {"delay": "-1ms"}, "bindingConditions": ["R"]},
            "spec.binding.delay",
            "-1ms: must not be negative",
        ),
        (
            {"partitions": [_HALF | {"parts": 1}]},
            "spec.parts",
            "is required with partitions: into how many parts a card can be divided",
        ),
        (
            {"parts": 4},
            "spec.partitions",
            "is required with parts: what a card can be divided into",
        ),
        (
            {"parts": 4, "partitions": [_HALF, _HALF | {"name": "x", "parts": 5}]},
            "spec.partitions[1].parts",
            "5: must be between 1 and the parts of a card",
        ),
        (
            {"parts": 1, "partitions": [_HALF]},
            "spec.partitions[0].parts",
            "2: must be between 1 and the parts of a card",
        ),
        (
            {"parts": 4, "partitions": [_HALF | {"parts": 0}]},
            "spec.partitions[0].parts",
            "0: must be between 1 and the parts of a card",
        ),
        (
            {"parts": 4, "partitions": [_HALF | {"count": 0}]},
            "spec.partitions[0].count",
            "0: must be at least 1",
        ),
        (
            {"parts": 4, "partitions": [_HALF, _HALF]},
            "spec.partitions[1].name",
            "half: two partitions have this name",
        ),
        ({"cuont": 1}, "spec.cuont", 'unknown field; did you mean "count"?'),
        (
            {"links": {"attribute": "a", "size": 1, "sise": 2}},
            "spec.links.sise",
            'unknown field; did you mean "size"?',
        ),
        (
            {"binding": {"dellay": "1s"}},
            "spec.binding.dellay",
            'unknown field; did you mean "delay"?',
        ),
        (
            {"prepare": {"delay": "1s", "dely": "1s"}},
            "spec.prepare.dely",
            'unknown field; did you mean "delay"?',
        ),
        (
            {"parts": 4, "partitions": [_HALF | {"cout": 1}]},
            "spec.partitions[0].cout",
            'unknown field; did you mean "count"?',
        ),
        ({"zzzzzzzzz": 1}, "spec.zzzzzzzzz", "unknown field"),
    ],
)
def test_each_problem_names_its_field(spec: dict[str, Any], field: str, text: str) -> None:
    found, problems = read_cards(_document(**spec))
    assert found is None
    (problem,) = problems
    assert problem[0] == field
    assert problem[1].endswith(text)


def test_all_problems_are_found() -> None:
    _, problems = read_cards(_document(count=0, parts=1, links={"attribute": "a", "size": 0}))
    assert [field for field, _ in problems] == ["spec.count", "spec.links.size", "spec.partitions"]


def test_fields_outside_the_spec_are_checked_too() -> None:
    assert read_cards(_document() | {"stauts": {}})[1] == [
        ("stauts", 'unknown field; did you mean "status"?')
    ]
    assert read_cards(_document() | {"apiVersion": "podwright.dev/v2"})[1] == [
        (
            "apiVersion",
            'Unsupported value: "podwright.dev/v2": supported values: "podwright.dev/v1";'
            ' did you mean "podwright.dev/v1"?',
        )
    ]


@pytest.mark.parametrize(
    "spec",
    [
        {"count": 1},
        {"links": {"attribute": "group", "size": 1}},
        {"prepare": {"delay": "0s"}},
        {"binding": {"delay": "0s"}, "bindingConditions": ["R"]},
        {
            "binding": {"failure": "x"},
            "bindingConditions": ["R"],
            "bindingFailureConditions": ["F"],
        },
        {"parts": 1, "partitions": [_HALF | {"parts": 1, "count": 1}]},
        {"parts": 4, "partitions": [_HALF | {"parts": 4}]},
    ],
)
def test_what_is_just_allowed_has_no_problem(spec: dict[str, Any]) -> None:
    assert _read(**spec).driver == DRIVER


def test_cards_are_known_in_any_version() -> None:
    assert is_cards(decode(_document()))
    assert is_cards(decode(_document() | {"apiVersion": "podwright.dev/v9"}))
    assert not is_cards(decode(_document() | {"apiVersion": "other.dev/v1"}))
    assert not is_cards(decode(_document() | {"kind": "Others"}))
    assert not is_cards(published("a"))


def test_the_hash_is_that_of_the_description() -> None:
    assert hash_of(_read()) == hash_of(_read(name="gpu"))
    assert hash_of(_read()) != hash_of(_read(count=3))
    reordered = _read(attributes={"a": {"int": 1}, "b": {"int": 2}})
    assert hash_of(reordered) == hash_of(_read(attributes={"b": {"int": 2}, "a": {"int": 1}}))
    assert len(hash_of(_read())) == 8


# ---------------------------------------------------------------- slices


def test_whole_cards_are_the_devices_of_one_slice() -> None:
    (spec,) = _specs(
        name="card",
        attributes={"model": {"string": "x"}},
        capacity={"memory": {"value": "4Gi"}},
        links={"attribute": "group", "size": 2},
        count=3,
    )
    assert (spec["driver"], spec["nodeName"]) == (DRIVER, "n")
    assert spec["pool"] == {"name": "n", "generation": 3, "resourceSliceCount": 1}
    assert [each["name"] for each in spec["devices"]] == ["card-0", "card-1", "card-2"]
    assert [each["attributes"] for each in spec["devices"]] == [
        {"index": {"int": place}, "model": {"string": "x"}, "group": {"int": place // 2}}
        for place in range(3)
    ]
    assert all(each["capacity"] == {"memory": {"value": "4Gi"}} for each in spec["devices"])
    assert all("consumesCounters" not in each for each in spec["devices"])


def test_what_is_said_of_every_card_is_in_every_device() -> None:
    of_all = {
        "bindingConditions": ["R"],
        "bindingFailureConditions": ["F"],
        "allowMultipleAllocations": True,
    }
    for more in ({}, {"parts": 4, "partitions": [_HALF]}):
        devices = [each for spec in _specs(**of_all, **more) for each in spec.get("devices", ())]
        assert len(devices) == (6 if more else 2)
        for device in devices:
            assert {name: device[name] for name in of_all} == of_all
    tainted = _specs(taints=[{"key": "k", "effect": "NoSchedule"}])[0]["devices"]
    assert [each["taints"][0]["key"] for each in tainted] == ["k", "k"]
    assert not of_all.keys() & _specs()[0]["devices"][0].keys()


def test_slices_have_the_names_and_annotations_of_their_cards() -> None:
    read = _read(
        count=129,
        prepare={"delay": "2s"},
        binding={"delay": "3s"},
        bindingConditions=["R"],
        bindingFailureConditions=["F"],
    )
    slices, _ = slices_of_cards("cards", read, "n")
    assert [each.metadata.name for each in slices] == [slice_name("n", DRIVER, 0), f"n-{DRIVER}-1"]
    assert slices[0].spec.pool.generation == 1
    for each in slices:
        assert each.metadata.annotations == {
            CARDS: "cards",
            CARDS_HASH: hash_of(read),
            PREPARE_DELAY: "2s",
            BINDING_DELAY: "3s",
        }
    failing = _read(
        binding={"failure": "no"}, bindingConditions=["R"], bindingFailureConditions=["F"]
    )
    (made,), _ = slices_of_cards("cards", failing, "n")
    assert made.metadata.annotations == {
        CARDS: "cards",
        CARDS_HASH: hash_of(failing),
        BINDING_FAILURE: "no",
    }


@pytest.mark.parametrize(
    ("spec", "sizes"),
    [
        ({"count": 128}, [128]),
        ({"count": 129}, [128, 1]),
        ({"count": 65, "taints": [{"key": "k", "effect": "NoSchedule"}]}, [64, 1]),
        ({"count": 9, "parts": 4, "partitions": [_HALF]}, [-8, -1, 27]),
        ({"count": 22, "parts": 4, "partitions": [_HALF]}, [-8, -8, -6, 64, 2]),
    ],
)
def test_slices_keep_the_limits_of_upstream(spec: dict[str, Any], sizes: list[int]) -> None:
    made = _specs(**spec)
    found = [len(each.get("devices", ())) or -len(each["sharedCounters"]) for each in made]
    assert found == sizes, "those with counters are first, here as negative numbers"
    assert {each["pool"]["resourceSliceCount"] for each in made} == {len(sizes)}


def test_a_card_and_its_partitions_share_its_parts() -> None:
    quarter = {
        "name": "quarter",
        "parts": 1,
        "count": 4,
        "attributes": {"model": {"string": "q"}},
        "capacity": {"memory": {"value": "1Gi"}},
    }
    of_counters, of_devices = _specs(
        count=1,
        parts=4,
        partitions=[_HALF, quarter],
        attributes={"model": {"string": "x"}},
        capacity={"memory": {"value": "4Gi"}},
    )
    assert of_counters["sharedCounters"] == [
        {"name": "gpu-0", "counters": {"parts": {"value": "4"}}}
    ]
    devices = {each["name"]: each for each in of_devices["devices"]}
    taken = {
        name: each["consumesCounters"][0]["counters"]["parts"]["value"]
        for name, each in devices.items()
    }
    halves = {f"gpu-0-half-{number}": "2" for number in range(2)}
    quarters = {f"gpu-0-quarter-{number}": "1" for number in range(4)}
    assert taken == {"gpu-0": "4"} | halves | quarters
    assert {each["consumesCounters"][0]["counterSet"] for each in devices.values()} == {"gpu-0"}
    assert devices["gpu-0"]["attributes"] == {"index": {"int": 0}, "model": {"string": "x"}}
    assert devices["gpu-0-half-1"]["attributes"] == {
        "index": {"int": 0},
        "model": {"string": "x"},
        "card": {"string": "gpu-0"},
        "partition": {"string": "half"},
    }
    assert devices["gpu-0-quarter-0"]["attributes"]["model"] == {"string": "q"}
    assert devices["gpu-0"]["capacity"] == {"memory": {"value": "4Gi"}}
    assert not devices["gpu-0-half-0"]["capacity"]
    assert devices["gpu-0-quarter-3"]["capacity"] == {"memory": {"value": "1Gi"}}


def test_the_slices_can_be_allocated() -> None:
    slices, _ = slices_of_cards("cards", _read(count=2, parts=4, partitions=[_HALF]), "n")
    index = index_of(*slices)
    found = search(index, claim("c", exactly("r", 1)), claim("d", exactly("r", 2))).run()
    assert devices_of(found) == "gpu-0 gpu-1-half-0 gpu-1-half-1"
    assert search(index, claim("c", exactly("r", 5))).run() is None


def test_cards_that_make_a_wrong_slice_are_rejected() -> None:
    slices, problems = slices_of_cards("cards", _read(name="Not A Name"), "n")
    assert slices == []
    field, text = problems[0]
    assert field == "spec"
    assert text.startswith(
        'makes an invalid ResourceSlice: spec.devices[0].name: Invalid value: "Not A Name-0"'
    )


OTHERS: dict[str, Any] = {"nodeName": "o", "allNodes": True}
"""Where the devices of other slices are."""


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        pytest.param("n", "m", id="named as the node"),
        pytest.param("n.gpu", "m.gpu", id="named after the node"),
        pytest.param("gpus", "gpus-m", id="of another name"),
    ],
)
def test_a_slice_is_copied_for_a_new_node_with_a_pool_of_its_own(pool: str, expected: str) -> None:
    """Upstream: simulator/dynamicresources/utils/sanitize.go, SanitizedNodeResourceSlices"""
    of = published("a", "b", pool=pool, generation=3)
    others = [published(name="t", pool="t", **{key: value}) for key, value in OTHERS.items()]
    (copied,) = copied_slices([*others, of], "n", "m")
    document = encode(copied)
    assert document["metadata"] == {"name": "s-m"}
    spec = encode(of)["spec"]
    assert document["spec"] == spec | {"nodeName": "m", "pool": spec["pool"] | {"name": expected}}
