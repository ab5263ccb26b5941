"""The search for devices: which it takes, in which order, and what keeps it from them."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.devices import AllocationError, Features
from podwright.apimachinery.devices.allocator import SearchTimeoutError, consumed, fits_capacity
from podwright.apimachinery.devices.slices import Capacity, DeviceSlice
from podwright.apimachinery.devices.tests.made import (
    DRIVER,
    allocated,
    cel,
    chosen,
    claim,
    consuming,
    counters,
    device_class,
    devices_of,
    exactly,
    first_available,
    has_model,
    index_of,
    of_model,
    published,
    result,
    search,
)
from podwright.apimachinery.objects import Object, ResourceClaim, format_quantity, parse_quantity

_ALL: dict[str, Any] = {"allocationMode": "All"}
_ADMIN: dict[str, Any] = {"adminAccess": True}
_TAINT: dict[str, Any] = {"key": "k", "value": "v", "effect": "NoSchedule"}
_MODEL = f"{DRIVER}/model"


def _found(objects: list[Object], *claims: ResourceClaim, **options: Any) -> str | None:
    return devices_of(search(index_of(*objects), *claims, **options).run())


def _memory(value: str = "4Gi", **policy: Any) -> dict[str, Any]:
    of: dict[str, Any] = {"value": value}
    if policy:
        of["requestPolicy"] = policy
    return {"capacity": {"memory": of}}


def _requested(amount: str, name: str = "memory") -> dict[str, Any]:
    return {"capacity": {"requests": {name: amount}}}


# ---------------------------------------------------------------- order


def test_devices_are_tried_by_pool_then_slice_then_place() -> None:
    objects = [
        published("f", name="z", pool="b"),
        published("d", "e", name="y", pool="a", slices=2),
        published("c", name="x", pool="a", slices=2),
        published("b", name="w", pool="z", driver="a.example.com"),
    ]
    assert _found([*objects], claim("c", exactly(count=5))) == "b c d e f"


def test_pools_with_binding_conditions_are_tried_last() -> None:
    waiting = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}
    objects = [
        published("a", {"name": "b"} | waiting, name="one", pool="a"),
        published("c", name="two", pool="b"),
    ]
    assert _found([*objects], claim("c", exactly(count=3))) == "c a b"
    found = _found([*objects], claim("c", exactly(count=3)), binding_conditions=False)
    assert found is None, "the gate is off: such a device is not allocated"
    assert _found([*objects], claim("c", exactly(count=2)), binding_conditions=False) == "c a"


def test_each_request_starts_from_the_first_device() -> None:
    objects = [published(of_model("a", "old"), of_model("b", "new"), of_model("c", "old"))]
    asked = claim("c", exactly("one", selectors=has_model("new")), exactly("two", 2))
    assert chosen(search(index_of(*objects), asked).run()) == [
        [("one", "b"), ("two", "a"), ("two", "c")]
    ]


def test_an_earlier_choice_is_undone_if_the_rest_cannot_be_satisfied() -> None:
    objects = [published(of_model("a", "new"), of_model("b", "old"))]
    one = claim("one", exactly())
    two = claim("two", exactly(selectors=has_model("new")))
    assert _found([*objects], one, two) == "b a"


def test_every_set_of_devices_is_tried_once() -> None:
    # The steps: of the claim's request, of six sets of two out of four, of the end of each set.
    tried: list[str] = []
    devices = [of_model(name, "old") for name in "abcd"]
    asked = claim("c", exactly("r", 2), exactly("never", selectors=has_model("new")))
    searching = search(
        index_of(published(*devices)),
        asked,
        on_refusal=lambda choice, device, _: tried.append(f"{choice.request}{device.id.device}"),
    )
    assert searching.run() is None
    assert tried.count("nevera") == 6, "there are six sets of two"
    assert tried.count("rd") == 0, "d is the last of each set"
    assert searching.step_count == 1 + 1 + 4 + 6 + 6 + 6


def test_a_search_ends_after_the_steps_that_it_has() -> None:
    index = index_of(published("a", "b"))
    asked = claim("c", exactly(count=2))
    needed = search(index, asked)
    assert needed.run() is not None
    assert search(index, asked, most_steps=needed.step_count).run() is not None
    with pytest.raises(SearchTimeoutError, match=r"^node n: timed out trying to allocate devices$"):
        search(index, asked, most_steps=needed.step_count - 1).run()


# ---------------------------------------------------------------- devices in use


def test_a_device_in_use_is_for_admins_only() -> None:
    objects: list[Object] = [published("a", "b"), allocated("other", "a")]
    assert _found([*objects], claim("c", exactly())) == "b"
    assert _found([*objects], claim("c", exactly(**_ADMIN))) == "a"


@pytest.mark.parametrize(
    ("claims", "found"),
    [
        pytest.param(
            [claim("c", exactly("x", **_ADMIN), exactly("y", **_ADMIN))], "a b", id="one claim"
        ),
        pytest.param(
            [claim("c", exactly("x", **_ADMIN)), claim("d", exactly("y", **_ADMIN))],
            "a a",
            id="two claims",
        ),
        pytest.param(
            [claim("c", exactly("x", **_ADMIN)), claim("d", exactly("y"))],
            "a b",
            id="an ordinary one after an admin's",
        ),
        pytest.param(
            [claim("c", exactly("x")), claim("d", exactly("y", **_ADMIN))],
            "a a",
            id="an admin's after an ordinary one",
        ),
    ],
)
def test_an_admin_takes_no_device_twice_in_one_claim(
    claims: list[ResourceClaim], found: str
) -> None:
    assert _found([published("a", "b")], *claims) == found


def test_a_choice_that_is_undone_is_free_again() -> None:
    objects = [published(of_model("a", "old"), of_model("b", "new"))]
    alternatives = first_available(
        "r", exactly("two", 2), exactly("one", selectors=has_model("new"))
    )
    found = search(index_of(*objects), claim("c", alternatives, exactly("last"))).run()
    assert chosen(found) == [[("r/one", "b"), ("last", "a")]]


def test_devices_without_the_gate_of_shares_are_not_shared() -> None:
    share = {"name": "a", "allowMultipleAllocations": True}
    used = allocated("other", result("a", shareID="x"))
    assert _found([published(share), used], claim("c", exactly())) == "a"
    assert (
        _found([published(share), used], claim("c", exactly()), consumable_capacity=False) is None
    )
    twice = claim("c", exactly("x"), exactly("y"))
    assert _found([published(share)], twice) == "a a"
    assert _found([published(share)], twice, consumable_capacity=False) is None


# ---------------------------------------------------------------- selectors


def test_selectors_of_class_and_request_must_all_select() -> None:
    devices = [
        of_model("a", "new", capacity={"memory": {"value": "1Gi"}}),
        of_model("b", "old", capacity={"memory": {"value": "4Gi"}}),
        of_model("c", "new", capacity={"memory": {"value": "4Gi"}}),
    ]
    large = f'device.capacity["{DRIVER}"].memory.isGreaterThan(quantity("2Gi"))'
    index = index_of(published(*devices), device_class("gpu", large))
    assert devices_of(search(index, claim("c", exactly(selectors=has_model("new")))).run()) == "c"
    assert devices_of(search(index, claim("c", exactly())).run()) == "b"
    both = cel("device.attributes['gpu.example.com'].model == 'new'", "false")
    assert search(index, claim("c", exactly(selectors=both))).run() is None


@pytest.mark.parametrize(
    ("of_class", "of_claim", "text"),
    [
        ("true", "1", "claim default/c: selector #1: CEL compile error: must evaluate to bool"),
        ("device.attributes['x'].y", "true", "class gpu: selector #0: CEL runtime error: "),
    ],
)
def test_a_selector_that_fails_ends_the_attempt(of_class: str, of_claim: str, text: str) -> None:
    index = index_of(published("a"), device_class("gpu", of_class))
    with pytest.raises(AllocationError, match=f"^{text}"):
        search(index, claim("c", exactly(selectors=cel("true", of_claim)))).run()


def test_a_device_that_is_not_looked_at_does_not_fail_its_selector() -> None:
    needs_model = exactly(selectors=has_model("new"))
    objects = [published(of_model("a", "new"), "b")]
    assert _found([*objects], claim("c", needs_model)) == "a"
    with pytest.raises(AllocationError, match="no such key"):
        _found([*objects, allocated("other", "a")], claim("c", needs_model))


def test_a_device_of_other_nodes_is_left_out() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}
    devices: list[dict[str, Any]] = [
        {"name": "a", "nodeName": "m"},
        {"name": "b", "nodeName": "n"},
        {"name": "c", "allNodes": True},
        {"name": "d", "nodeSelector": {"nodeSelectorTerms": [term]}},
    ]
    objects = [published(*devices, perDeviceNodeSelection=True)]
    every = claim("c", exactly(**_ALL))
    assert _found([*objects], every) == "b c"
    assert _found([*objects], every, node="m") == "a c"
    assert _found([*objects], every, node="o", labels={"zone": "z"}) == "c d"


# ---------------------------------------------------------------- all devices


def test_all_takes_each_device_that_is_selected() -> None:
    objects = [published(of_model("a", "new"), of_model("b", "old"), of_model("c", "new"))]
    every = claim("c", exactly(selectors=has_model("new"), **_ALL))
    assert _found([*objects], every) == "a c"
    assert _found([*objects, allocated("other", "c")], every) is None, "one of them is in use"
    assert _found([*objects, allocated("other", "b")], every) == "a c"
    assert _found([published(of_model("b", "old"))], every) is None, "none is selected"
    tainted = published(of_model("a", "new", taints=[_TAINT]), of_model("c", "new"))
    assert _found([tainted], every) is None


def test_all_devices_that_a_constraint_refuses_are_an_error() -> None:
    objects = [published(of_model("a", "new"), of_model("b", "old"))]
    every = claim("c", exactly(**_ALL), constraints=[{"matchAttribute": _MODEL}])
    text = (
        f"^claim default/c, request r: cannot add device {DRIVER}/p/b because a claim constraint"
        " would not be satisfied$"
    )
    with pytest.raises(AllocationError, match=text):
        _found([*objects], every)


def test_all_devices_are_those_with_enough_capacity() -> None:
    """Upstream: requestData.allDevices, which lists selectable devices that fit."""

    def sharing(gibibytes: int) -> dict[str, Any]:
        capacity = {"memory": {"value": f"{gibibytes}Gi"}}
        return {"capacity": capacity, "allowMultipleAllocations": True}

    every = exactly(**_ALL, capacity={"requests": {"memory": "2Gi"}})
    devices = [of_model("a", "new", **sharing(4)), of_model("b", "old", **sharing(1))]
    same = [{"matchAttribute": _MODEL}]
    assert _found([published(*devices)], claim("c", every, constraints=same)) == "a"
    assert _found([published(devices[1])], claim("c", every)) is None
    with pytest.raises(AllocationError, match="a claim constraint would not be satisfied"):
        _found([published(*devices)], claim("c", exactly(**_ALL), constraints=same))


@pytest.mark.parametrize(
    ("objects", "state"),
    [
        ([published("a", slices=2)], "being updated"),
        ([published("a", "a")], "invalid"),
    ],
)
def test_all_needs_pools_that_are_complete_and_valid(objects: list[Object], state: str) -> None:
    usable = published("b", name="t", pool="q")
    with pytest.raises(AllocationError, match=f"resource pool {DRIVER}/p is currently {state}$"):
        _found([*objects, usable], claim("c", exactly(**_ALL)))
    assert _found([*objects, usable], claim("c", exactly())) == "b"
    assert _found([*objects, usable], claim("c", exactly(count=2))) is None


# ---------------------------------------------------------------- alternatives


def test_the_first_alternative_that_leads_to_a_solution_is_taken() -> None:
    objects = [published(of_model("a", "old"), of_model("b", "new"))]
    asked = claim(
        "c",
        first_available(
            "r",
            exactly("none", selectors=has_model("newest")),
            exactly("both", 2),
            exactly("old", selectors=has_model("old")),
        ),
        first_available("s", exactly("one")),
        exactly("plain"),
    )
    found = search(index_of(*objects), asked).run()
    assert found is None, "two alternatives and a request need three devices"
    asked = claim("c", *_requests_of(asked)[:2])
    found = search(index_of(*objects), asked).run()
    assert chosen(found) == [[("r/old", "a"), ("s/one", "b")]]
    assert found is not None
    assert found.alternatives == ((2, 0),)
    assert found.score == 6 + 8


def _requests_of(of: ResourceClaim) -> list[dict[str, Any]]:
    requests: list[dict[str, Any]] = of.raw["spec"]["devices"]["requests"]
    return requests


def test_requests_without_alternatives_have_no_score() -> None:
    found = search(index_of(published("a")), claim("c", exactly())).run()
    assert found is not None
    assert (found.alternatives, found.score) == (((0,),), 0)


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(("count", "is_found"), [(32, True), (33, False)])
def test_a_claim_has_at_most_32_devices(count: int, is_found: bool) -> None:
    objects: list[Object] = [published(*(f"d{number:02}" for number in range(40)))]
    half = exactly("one", 16), exactly("two", count - 16)
    if is_found:
        assert _found(objects, claim("c", *half)) is not None
        return
    text = "^claim default/c: number of requested devices 33 exceeds the claim limit of 32$"
    with pytest.raises(AllocationError, match=text):
        _found(objects, claim("c", *half))


def test_of_alternatives_the_least_count_is_checked_before_the_search() -> None:
    objects: list[Object] = [published(*(f"d{number:02}" for number in range(40)))]
    either = first_available("r", exactly("many", 20), exactly("few", 12))
    found = search(index_of(*objects), claim("c", exactly("x", 20), either)).run()
    assert found is not None, "the first alternative is passed over: 40 devices are too many"
    assert found.alternatives == ((0, 1),)
    assert len(found.chosen[0]) == 32
    with pytest.raises(AllocationError, match="number of requested devices 33 exceeds"):
        _found(objects, claim("c", exactly("x", 21), either))


def test_too_many_devices_pass_to_the_alternatives_before() -> None:
    objects: list[Object] = [published(*(f"d{number:02}" for number in range(40)))]
    first = first_available("a", exactly("many", 30), exactly("few", 2))
    second = first_available("b", exactly("most", 12), exactly("more", 10))
    tried: list[str] = []
    found = search(
        index_of(*objects),
        claim("c", first, second),
        on_refusal=lambda choice, *_: tried.append(choice.full_name),
    ).run()
    assert found is not None
    assert found.alternatives == ((1, 0),)
    assert tried.count("a/many") == 0, "other devices of the first alternative are not tried"


def test_too_many_devices_of_a_later_claim_undo_the_choices_before() -> None:
    devices = [of_model(f"d{number:02}", "new") for number in range(40)]
    over = first_available("b", exactly("x", 20), exactly("y", 20))
    earlier = claim("a", first_available("r", exactly("one"), exactly("two")))
    later = claim("c", exactly("z", 12), over)
    assert _found([published(*devices)], earlier, later) is not None
    more = claim("c", first_available("z", exactly("p", 20), exactly("q", 12)), over)
    found = search(index_of(published(*devices)), earlier, more).run()
    assert found is not None
    assert found.alternatives == ((0,), (1, 0))


# ---------------------------------------------------------------- wrong claims


@pytest.mark.parametrize(
    ("asked", "features", "text"),
    [
        pytest.param(
            claim("c", first_available("r", exactly("x"))),
            {"prioritized_list": False},
            "request r: has subrequests, but the DRAPrioritizedList feature is disabled",
            id="alternatives",
        ),
        pytest.param(
            claim("c", exactly(**_requested("1Gi"))),
            {"consumable_capacity": False},
            "request r: has capacity requests, but the DRAConsumableCapacity feature is disabled",
            id="capacity",
        ),
        pytest.param(
            claim("c", first_available("r", exactly("x", **_requested("1Gi")))),
            {"consumable_capacity": False},
            "subrequest x: has capacity requests, but the DRAConsumableCapacity feature is"
            " disabled",
            id="capacity of an alternative",
        ),
        pytest.param(
            claim("c", exactly(adminAccess=False)),
            {"admin_access": False},
            "request r: admin access is requested, but the feature is disabled",
            id="admin access, if only as a field",
        ),
        pytest.param(
            claim("c", exactly(deviceClassName="x")),
            {},
            "request r: could not retrieve device class x: deviceclass.resource.k8s.io"
            ' "x" not found',
            id="no such class",
        ),
        pytest.param(
            claim("c", exactly(deviceClassName="")),
            {},
            r"request r: missing device class name \(unsupported request type\?\)",
            id="no class",
        ),
        pytest.param(
            claim("c", exactly(allocationMode="Some")),
            {},
            "request r: unsupported count mode Some",
            id="mode",
        ),
        pytest.param(
            claim("c", exactly(selectors=[*cel("true"), {}])),
            {},
            r"request r, selector #1: CEL expression empty \(unsupported selector type\?\)",
            id="selector",
        ),
        pytest.param(
            claim("c", exactly(), constraints=[{"matchAttribute": _MODEL}, {}]),
            {},
            r"constraint #1: empty constraint \(unsupported constraint type\?\)",
            id="constraint",
        ),
    ],
)
def test_wrong_claims_end_the_attempt(
    asked: ResourceClaim, features: dict[str, bool], text: str
) -> None:
    with pytest.raises(AllocationError, match=f"^claim default/c, {text}$"):
        _found([published("a")], asked, **features)


def test_features_are_those_of_the_gates() -> None:
    everything = {
        "DRAAdminAccess": "admin_access",
        "DRAPrioritizedList": "prioritized_list",
        "DRAPartitionableDevices": "partitionable_devices",
        "DRADeviceTaints": "device_taints",
        "DRAConsumableCapacity": "consumable_capacity",
    }
    off = dict.fromkeys(Features.__struct_fields__, False)
    assert Features.of(()) == Features(**off)
    for gate, name in everything.items():
        assert Features.of((gate,)) == Features(**off | {name: True})
    waits = "DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"
    assert Features.of(waits) == Features(**off | {"binding_conditions": True})
    assert Features.of(waits[:1]) == Features.of(waits[1:]) == Features(**off)


# ---------------------------------------------------------------- taints


@pytest.mark.parametrize(
    ("effect", "tolerations", "is_taken"),
    [
        ("NoSchedule", [], False),
        ("NoExecute", [], False),
        ("None", [], True),
        ("NoSchedule", [{"key": "k", "operator": "Exists"}], True),
        ("NoSchedule", [{"operator": "Exists"}], True),
        ("NoSchedule", [{"key": "l", "operator": "Exists"}], False),
        ("NoSchedule", [{"key": "k", "operator": "Equal", "value": "v"}], True),
        ("NoSchedule", [{"key": "k", "value": "v"}], True),
        ("NoSchedule", [{"key": "k", "operator": "Equal", "value": "w"}], False),
        ("NoSchedule", [{"key": "k", "operator": "Exists", "effect": "NoExecute"}], False),
        ("NoExecute", [{"key": "k", "operator": "Exists", "effect": "NoExecute"}], True),
        ("NoSchedule", [{"key": "k", "operator": "Other", "value": "v"}], False),
        (
            "NoSchedule",
            [{"key": "l", "operator": "Exists"}, {"key": "k", "operator": "Exists"}],
            True,
        ),
    ],
)
def test_a_taint_keeps_requests_away_that_do_not_tolerate_it(
    effect: str,
    tolerations: list[dict[str, str]],
    is_taken: bool,
) -> None:
    tainted = {"name": "a", "taints": [_TAINT | {"effect": effect}]}
    asked = claim("c", exactly(tolerations=tolerations))
    assert _found([published(tainted, "b")], asked) == ("a" if is_taken else "b")
    alternative = claim("c", first_available("r", exactly("x", tolerations=tolerations)))
    assert _found([published(tainted, "b")], alternative) == ("a" if is_taken else "b")


def test_each_taint_needs_a_toleration_and_admins_need_one_too() -> None:
    tainted = {"name": "a", "taints": [_TAINT, _TAINT | {"key": "l"}]}
    one = [{"key": "k", "operator": "Exists"}]
    assert _found([published(tainted)], claim("c", exactly(tolerations=one))) is None
    assert _found([published(tainted)], claim("c", exactly(**_ADMIN))) is None
    found = _found([published(tainted)], claim("c", exactly()), device_taints=False)
    assert found == "a"


# ---------------------------------------------------------------- constraints


@pytest.mark.parametrize(
    ("constraint", "found"),
    [
        pytest.param({"matchAttribute": _MODEL}, "b d", id="one value"),
        pytest.param({"distinctAttribute": _MODEL}, "a b", id="different values"),
        pytest.param({"matchAttribute": _MODEL, "requests": ["r"]}, "b d", id="of the request"),
        pytest.param({"matchAttribute": _MODEL, "requests": ["q"]}, "a b", id="of another one"),
        pytest.param({"matchAttribute": f"{DRIVER}/other"}, None, id="an attribute of no device"),
        pytest.param({"matchAttribute": "x.example.com/model"}, None, id="of another domain"),
    ],
)
def test_constraints_refuse_devices(constraint: dict[str, Any], found: str | None) -> None:
    models = {"a": "x", "b": "y", "c": "z", "d": "y"}
    devices = [of_model(name, model) for name, model in models.items()]
    asked = claim("c", exactly(count=2), constraints=[constraint])
    assert _found([published(*devices)], asked) == found


def test_a_constraint_of_a_request_covers_its_alternatives() -> None:
    devices = [of_model("a", "x"), of_model("b", "y"), of_model("c", "y")]
    either = first_available("r", exactly("two", 2))
    for requests in (["r"], ["r/two"], ["r/two", "other"]):
        constraint = {"matchAttribute": _MODEL, "requests": requests}
        asked = claim("c", either, constraints=[constraint])
        assert _found([published(*devices)], asked) == "b c", requests
    for requests in (["r/other"], ["two"]):
        constraint = {"matchAttribute": _MODEL, "requests": requests}
        asked = claim("c", either, constraints=[constraint])
        assert _found([published(*devices)], asked) == "a b", requests


def test_a_refusal_undoes_the_constraints_before() -> None:
    def device(name: str, model: str, numa: int) -> dict[str, Any]:
        return {"name": name, "attributes": {"model": {"string": model}, "numa": {"int": numa}}}

    devices = [device("a", "x", 0), device("b", "y", 0), device("c", "y", 1)]
    asked = claim(
        "c",
        exactly(count=2),
        constraints=[{"distinctAttribute": _MODEL}, {"matchAttribute": f"{DRIVER}/numa"}],
    )
    assert _found([published(*devices)], asked) == "a b"
    found: list[tuple[str, str]] = []
    asked = claim(
        "c",
        exactly(count=2),
        constraints=[{"matchAttribute": f"{DRIVER}/numa"}, {"matchAttribute": _MODEL}],
    )
    search(
        index_of(published(*devices)),
        asked,
        on_refusal=lambda _, device, reason: found.append((device.id.device, reason)),
    ).run()
    # After a: b by its model, c by its number; after b: c by its number; c has no second.
    assert found == [("b", "constraint 1"), ("c", "constraint 0"), ("c", "constraint 0")]


def test_a_first_device_that_is_refused_leaves_no_value_behind() -> None:
    numa = {"numa": {"int": 0}}
    model = {"numa": {"int": 1}, "model": {"string": "x"}}
    devices = [{"name": "a", "attributes": numa}] + [
        {"name": name, "attributes": model} for name in "bc"
    ]
    constraints = [
        {"matchAttribute": f"{DRIVER}/{name}", "requests": ["r"]} for name in ("numa", "model")
    ]
    asked = claim("c", exactly(count=2), constraints=constraints)
    assert _found([published(*devices)], asked) == "b c"


# ---------------------------------------------------------------- counters


def test_partitions_share_the_counters_of_their_card() -> None:
    pool = [counters(4), published(*(consuming(f"p{n}", 2) for n in range(3)), slices=2)]
    assert _found([*pool], claim("c", exactly(count=2))) == "p0 p1"
    assert _found([*pool], claim("c", exactly(count=3))) is None
    assert _found([*pool, allocated("other", "p1")], claim("c", exactly())) == "p0"
    assert _found([*pool, allocated("other", "p1")], claim("c", exactly(count=2))) is None
    admin = allocated("other", result("p1", adminAccess=True))
    assert _found([*pool, admin], claim("c", exactly(count=2))) == "p0 p1"
    found = _found([*pool], claim("c", exactly()), partitionable_devices=False)
    assert found is None, "the gate is off"


def test_counters_of_a_choice_that_is_undone_are_free_again() -> None:
    pool = [
        counters(4),
        published(consuming("a", 3), consuming("b", 2), consuming("c", 2), slices=2),
    ]
    assert _found([*pool], claim("c", exactly(count=2))) == "b c"
    alternatives = first_available("r", exactly("three", 3), exactly("two", 2))
    assert _found([*pool], claim("c", alternatives)) == "b c"


def test_counters_are_those_of_the_pool_across_claims_and_nodes() -> None:
    away = published(consuming("far", 3), name="away", slices=3, nodeName="m")
    here = published(consuming("near", 2), slices=3)
    pool = [counters(4, slices=3), here, away]
    assert _found([*pool], claim("c", exactly())) == "near"
    assert _found([*pool, allocated("other", "far")], claim("c", exactly())) is None
    two = [counters(3), published(consuming("a", 2), consuming("b", 2), slices=2)]
    assert _found([*two], claim("c", exactly()), claim("d", exactly())) is None


def test_a_shared_device_takes_its_counters_once() -> None:
    shared = consuming("a", 3, allowMultipleAllocations=True)
    pool = [counters(4), published(shared, consuming("b", 3), slices=2)]
    twice = claim("c", exactly("x"), exactly("y"))
    assert _found([*pool], twice) == "a a"
    full = shared | {"capacity": {"memory": {"value": "4Gi"}}}
    pool = [counters(4), published(full, consuming("b", 3), slices=2)]
    share = _requested("1Gi")
    assert _found([*pool], claim("c", exactly("x", **share), exactly("y", **share))) == "a a"
    used = allocated("other", result("a", shareID="s", consumedCapacity={"memory": "1Gi"}))
    assert _found([*pool, used], claim("c", exactly(**share))) == "a"
    assert _found([*pool, used], claim("c", exactly(count=2))) is None, "b: the counters are taken"


def test_counters_of_a_share_that_is_undone_stay_taken() -> None:
    # As upstream. A share without capacity stays known too, so its device takes no more counters.
    shared = consuming("a", 3, allowMultipleAllocations=True)
    either = first_available("r", exactly("two", 2), exactly("one"))
    assert _found([counters(4), published(shared, slices=2)], claim("c", either)) == "a"
    full = shared | _memory()
    assert _found([counters(4), published(full, slices=2)], claim("c", either)) is None
    assert _found([counters(6), published(full, slices=2)], claim("c", either)) == "a"


# ---------------------------------------------------------------- capacity


@pytest.mark.parametrize(
    ("requested", "policy", "found"),
    [
        pytest.param(None, {}, "8", id="the whole value"),
        pytest.param(None, {"default": "2"}, "2", id="the default"),
        pytest.param("3", {}, "3", id="as requested"),
        pytest.param("3", {"default": "2"}, "3", id="as requested, not the default"),
        pytest.param("1", {"validRange": {"min": "2"}}, "2", id="at least the least"),
        pytest.param("2", {"validRange": {"min": "2"}}, "2", id="exactly the least"),
        pytest.param("5", {"validRange": {"min": "2"}}, "5", id="more than the least"),
        pytest.param("5", {"validRange": {"min": "2", "step": "2"}}, "6", id="up to a step"),
        pytest.param("6", {"validRange": {"min": "2", "step": "2"}}, "6", id="a step"),
        pytest.param("7", {"validRange": {"min": "1", "step": "3"}}, "7", id="a step from 1"),
        pytest.param("3", {"validValues": ["2", "4", "8"]}, "4", id="the next value"),
        pytest.param("4", {"validValues": ["2", "4", "8"]}, "4", id="a value"),
        pytest.param("9", {"validValues": ["2", "4"]}, "9", id="above all values"),
    ],
)
def test_a_request_consumes_what_the_policy_makes_of_it(
    requested: str | None, policy: dict[str, Any], found: str
) -> None:
    amount = consumed(None if requested is None else parse_quantity(requested), _capacity(policy))
    assert format_quantity(amount) == found


def _capacity(policy: dict[str, Any], value: str = "8") -> Capacity:
    (device,) = DeviceSlice(published({"name": "d"} | _memory(value, **policy))).devices
    return device.capacities["memory"]


@pytest.mark.parametrize(
    ("requested", "policy", "fits"),
    [
        pytest.param("8", {}, True, id="all of it"),
        pytest.param("8001m", {}, False, id="a little more"),
        pytest.param("4", {"validRange": {"min": "1", "max": "4"}}, True, id="the most"),
        pytest.param("5", {"validRange": {"min": "1", "max": "4"}}, False, id="above the most"),
        pytest.param("5", {"validRange": {"max": "4"}}, False, id="above, without a least"),
        pytest.param("3", {"validRange": {"min": "2", "step": "2"}}, True, id="up to a step"),
        pytest.param("8", {"validRange": {"min": "3", "step": "2"}}, False, id="step above value"),
        pytest.param("3", {"validValues": ["2", "4"]}, True, id="up to a value"),
        pytest.param("5", {"validValues": ["2", "4"]}, False, id="above all values"),
        pytest.param(None, {"default": "3", "validValues": ["2", "4"]}, True, id="the default"),
        pytest.param(None, {"validValues": ["2", "4"]}, False, id="no default: the value"),
        pytest.param("3", {"default": "2"}, True, id="another amount than a default alone"),
        pytest.param("9", {"default": "2"}, False, id="more than there is"),
        pytest.param("5", {"default": "5", "validValues": ["2", "4"]}, True, id="as the default"),
        pytest.param(
            "5000m", {"default": "5", "validValues": ["2", "4"]}, False, id="in another notation"
        ),
    ],
)
def test_a_request_that_the_policy_forbids_does_not_fit(
    requested: str | None,
    policy: dict[str, Any],
    fits: bool,
) -> None:
    requests = {} if requested is None else {"memory": parse_quantity(requested)}
    assert fits_capacity(requests, {"memory": _capacity(policy)}) is fits


def test_what_others_consume_counts_to_the_last_unit() -> None:
    capacities = {"memory": _capacity({}), "cores": _capacity({"default": "0"})}
    requests = {"memory": parse_quantity("3")}
    unit = 10**9
    assert fits_capacity(requests, capacities, {"memory": 2 * unit}, {"memory": 3 * unit})
    assert not fits_capacity(requests, capacities, {"memory": 2 * unit + 1}, {"memory": 3 * unit})
    assert not fits_capacity(requests, capacities, {"memory": 2 * unit}, {"memory": 3 * unit + 1})
    assert fits_capacity(requests, capacities, {"cores": 8 * unit})
    assert not fits_capacity(requests, capacities, {"cores": 8 * unit + 1})


def test_a_capacity_that_a_device_does_not_have_is_refused() -> None:
    four = {"memory": _capacity({})}
    assert not fits_capacity({"other": parse_quantity("1")}, four)
    assert not fits_capacity({"memory": parse_quantity("1")}, {})
    assert fits_capacity({}, {})


def test_shares_of_a_device_consume_its_capacity() -> None:
    shared = {"name": "a", "allowMultipleAllocations": True} | _memory()
    objects: list[Object] = [published(shared, {"name": "b"} | _memory("1Gi"))]
    half, most = _requested("2Gi"), _requested("3Gi")
    found = search(index_of(*objects), claim("c", exactly("x", **half), exactly("y", **half))).run()
    assert devices_of(found) == "a a"
    assert found is not None
    amounts = [each.consumed for each in found.chosen[0]]
    assert amounts == [{"memory": parse_quantity("2Gi")}] * 2
    assert _found(objects, claim("c", exactly("x", **half)), claim("d", exactly(**most))) is None
    used = allocated("other", result("a", shareID="s", consumedCapacity={"memory": "2Gi"}))
    assert _found([*objects, used], claim("c", exactly(**half))) == "a"
    assert _found([*objects, used], claim("c", exactly(**most))) is None
    # A choice that is undone gives its share back.
    either = first_available("r", exactly("x", 2, **_requested("1Gi")), exactly("y", **half))
    assert _found([published(shared)], claim("c", either, exactly("last", **half))) == "a a"


def test_a_device_that_is_not_shared_consumes_nothing_that_is_written() -> None:
    found = search(index_of(published({"name": "a"} | _memory())), claim("c", exactly())).run()
    assert found is not None
    assert found.chosen[0][0].consumed is None


def test_without_the_gate_capacities_do_not_matter() -> None:
    devices = [{"name": "a"} | _memory("4", validValues=["1"])]
    assert _found([published(*devices)], claim("c", exactly())) is None
    assert _found([published(*devices)], claim("c", exactly()), consumable_capacity=False) == "a"


# ---------------------------------------------------------------- refusals


def test_each_refusal_has_its_reason() -> None:
    devices = [
        of_model("used", "new"),
        of_model("old", "old"),
        of_model("small", "new", **_memory("1Gi")),
        of_model("tainted", "new", **_memory(), taints=[_TAINT]),
        of_model("large", "new", **_memory()) | consuming("large", 9),
    ]
    found: list[tuple[str, str]] = []
    asked = claim("c", exactly(selectors=has_model("new"), **_requested("2Gi")))
    index = index_of(counters(4), published(*devices, slices=2), allocated("other", "used"))
    search(
        index, asked, on_refusal=lambda _, device, reason: found.append((device.id.device, reason))
    ).run()
    assert found == [
        ("used", "in use"),
        ("old", "not selected"),
        ("small", "not enough capacity"),
        ("tainted", "tainted"),
        ("large", "not enough counters"),
    ]
    found.clear()
    every = claim("c", exactly(selectors=has_model("new"), **_requested("2Gi"), **_ALL))
    search(
        index, every, on_refusal=lambda _, device, reason: found.append((device.id.device, reason))
    ).run()
    assert found[:3] == [
        ("used", "not enough capacity"),
        ("old", "not selected"),
        ("small", "not enough capacity"),
    ]
