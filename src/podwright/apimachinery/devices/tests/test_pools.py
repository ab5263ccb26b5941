"""Which pools a node can reach, and when one is complete and valid."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.devices import AllocationError, SliceDevice
from podwright.apimachinery.devices.slices import DeviceSlice, Selection
from podwright.apimachinery.devices.tests.made import (
    consuming,
    counters,
    device_class,
    index_of,
    of_model,
    published,
    taint_rule,
)
from podwright.apimachinery.objects import Object, ResourceSlice
from podwright.apimachinery.schema import decode

_IN_Z = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "z", "operator": "Exists"}]}]}


def _seen(
    *objects: Object, node: str = "n", labels: dict[str, str] | None = None, gate: bool = True
) -> dict[str, str]:
    """Return of each pool its devices, or what is wrong with it."""
    pools = index_of(*objects).pools_of(node, labels or {}, with_partitions=gate)
    return {
        pool.id.pool: "incomplete"
        if pool.is_incomplete
        else pool.invalid_reason or " ".join(each.device.name for each in pool.devices)
        for pool in pools
    }


@pytest.mark.parametrize(
    ("where", "node", "labels", "is_seen"),
    [
        ({"nodeName": "n"}, "n", {}, True),
        ({"nodeName": "n"}, "m", {}, False),
        ({"allNodes": True}, "m", {}, True),
        ({"nodeSelector": _IN_Z}, "m", {"z": ""}, True),
        ({"nodeSelector": _IN_Z}, "m", {}, False),
        ({"perDeviceNodeSelection": True}, "n", {}, True),
        ({"perDeviceNodeSelection": True}, "m", {}, False),
    ],
)
def test_a_node_sees_the_slices_for_it(
    where: dict[str, Any],
    node: str,
    labels: dict[str, str],
    is_seen: bool,
) -> None:
    device = {"name": "a"} | ({"nodeName": "n"} if "perDeviceNodeSelection" in where else {})
    found = _seen(published(device, {"name": "b"}, **where), node=node, labels=labels)
    assert found == ({"p": "a b"} if is_seen else {})


@pytest.mark.parametrize("spec", [{}, {"spec": {}}, {"spec": {"devices": []}}])
def test_a_slice_that_says_nothing_is_seen_by_no_node(spec: dict[str, Any]) -> None:
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
    assert _seen(decode({**head, "metadata": {"name": "s"}, **spec})) == {}
    assert DeviceSlice(ResourceSlice()).devices == ()


def test_a_node_sees_what_arrived_after_slices_for_others() -> None:
    away = published("a", name="x", pool="q", nodeSelector=_IN_Z)
    assert _seen(away, published("b", allNodes=True)) == {"p": "b"}


def test_only_the_newest_generation_counts() -> None:
    old, new = published("a", name="x"), published("b", name="y", generation=2)
    assert _seen(old, new) == _seen(new, old) == {"p": "b"}
    away = published("b", name="y", generation=2, nodeName="m", slices=2)
    assert _seen(old, away) == {"p": "a"}, "complete by the slices that matter to the node"
    part = published("a", name="x", slices=2)
    assert _seen(part, away) == {}, "incomplete, and replaced elsewhere"


def test_a_pool_without_all_its_slices_is_incomplete() -> None:
    part = published("a", name="x", slices=2)
    assert _seen(part) == {"p": "incomplete"}
    rest = published("b", name="y", slices=2, nodeName="m")
    assert _seen(part, rest) == {"p": "a"}, "slices of other nodes count"
    assert _seen(part, published("b", name="y", slices=2, pool="q", nodeName="m")) == {
        "p": "incomplete"
    }
    older = published("b", name="y", slices=2, generation=0, nodeName="m")
    assert _seen(part, older) == {"p": "incomplete"}
    third = published("c", name="z", slices=2, nodeName="m")
    assert _seen(part, rest, third) == {"p": "incomplete"}, "as are more than there should be"


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        pytest.param([published("a", "b", "a")], "duplicate device name a", id="names"),
        pytest.param(
            [published("a", name="x", slices=2), published("a", name="y", slices=2)],
            "duplicate device name a",
            id="names of two slices",
        ),
        pytest.param(
            [
                counters(1, "x", slices=3),
                counters(1, "y", slices=3),
                published("a", slices=3),
            ],
            "duplicate counter set name card",
            id="counter sets",
        ),
        pytest.param(
            [published(consuming("a", 1))], "counter set card not found", id="a missing set"
        ),
        pytest.param(
            [
                counters(1, sharedCounters=[{"name": "card", "counters": {"o": {"value": "1"}}}]),
                published(consuming("a", 1), slices=2),
            ],
            "counter slots not found in counter set card",
            id="a missing counter",
        ),
        pytest.param(
            [
                published("a", slices=2),
                published(consuming("b", 1), name="t", slices=2, nodeName="m"),
            ],
            "counter set card not found",
            id="a missing set of a device elsewhere",
        ),
    ],
)
def test_a_pool_that_contradicts_itself_is_invalid(objects: list[Object], reason: str) -> None:
    assert _seen(*objects) == {"p": reason}
    (pool,) = index_of(*objects).pools_of("n", {})
    assert (pool.is_usable, pool.devices, pool.other_devices) == (False, (), ())


def test_devices_of_other_nodes_are_kept_for_their_counters() -> None:
    here = published(consuming("a", 1), name="x", slices=4)
    away = [published(consuming(name, 1), name=name, slices=4, nodeName="m") for name in ("c", "b")]
    (pool,) = index_of(counters(9, slices=4), here, *away).pools_of("n", {})
    assert [each.device.name for each in pool.devices] == ["a"]
    assert [each.device.name for each in pool.other_devices] == ["b", "c"]
    assert pool.counters == {"card": {"slots": 9 * 10**9}}
    assert pool.is_usable


@pytest.mark.parametrize(
    ("where", "own_count", "shared_count", "found"),
    [
        pytest.param({}, 1, 2, "incomplete", id="that of the node says one"),
        pytest.param({}, 2, 1, "a", id="that of the node says two"),
        pytest.param({"allNodes": True}, 1, 2, "a", id="both are shared: the first by name"),
    ],
)
def test_slices_of_the_node_say_how_many_there_are_before_those_that_nodes_share(
    where: dict[str, Any], own_count: int, shared_count: int, found: str
) -> None:
    """The slice with counters is shared, although it names a node.

    Upstream: allocator_incubating.go, NewAllocator, Allocate; pools_incubating.go, GatherPools
    """
    own = published(consuming("a", 1), name="x", slices=own_count, **where)
    assert _seen(own, counters(1, slices=shared_count)) == {"p": found}


def test_every_node_sees_a_pool_with_counters_that_is_incomplete() -> None:
    part = [counters(1, slices=3), published(consuming("a", 1), nodeName="m", slices=3)]
    assert _seen(*part) == {"p": "incomplete"}
    assert _seen(*part, gate=False) == {}
    whole = [counters(1), published(consuming("a", 1), nodeName="m", slices=2)]
    assert _seen(*whole) == {}
    replaced = counters(1, "old", generation=0, slices=5)
    new = counters(1), published(consuming("a", 1), nodeName="m", slices=2)
    assert _seen(replaced, *new) == {}, "the newest counters are whole"
    outdated = counters(1, "old", generation=0)
    assert _seen(outdated, *part) == {"p": "incomplete"}, "the newest counters are not"
    newer = published("b", name="new", nodeName="m", generation=2, slices=3)
    assert _seen(*part, newer) == {}, "a newer generation without counters replaces them"
    wrong = [counters(1), published("a", "a", nodeName="m", slices=2)]
    assert _seen(*wrong) == {}, "the names of its devices are those of relevant slices"


def test_without_the_gate_slices_with_partitions_are_left_out() -> None:
    plain = published("a", pool="plain", name="x")
    per_device = published({"name": "b", "allNodes": True}, pool="q", perDeviceNodeSelection=True)
    assert _seen(plain, per_device) == {"plain": "a", "q": "b"}
    assert _seen(plain, per_device, gate=False) == {"plain": "a"}
    shared = published("a", pool="plain", name="x", allNodes=True)
    assert _seen(per_device, shared, gate=False) == {"plain": "a"}
    pool = [counters(1), published(consuming("c", 1), slices=2)]
    assert _seen(*pool) == {"p": "c"}
    assert _seen(*pool, gate=False) == {"p": "counter set card not found"}


def test_pools_are_gathered_once_until_something_changes() -> None:
    index = index_of(published("a"), published("c", name="far", pool="q", nodeName="m"))
    pools = index.pools_of("n", {"z": ""})
    assert index.pools_of("n", {"z": ""}) is pools
    index.put(published("d", name="far", pool="q", nodeName="m"))
    assert index.pools_of("n", {"z": ""}) is pools, "what changed is of another node"
    assert index.pools_of("n", {"z": "1"}) is not pools
    found = index.pools_of("n", {"z": ""}, with_partitions=False)
    assert index.pools_of("n", {"z": ""}) is not found


# ---------------------------------------------------------------- taint rules


def _taints(*objects: Object, **options: bool) -> dict[str, list[str]]:
    (pool,) = index_of(*objects, reads_taint_rules=True, **options).pools_of("n", {})
    return {each.device.name: [taint.key for taint in each.device.taints] for each in pool.devices}


def test_rules_taint_devices_after_their_own_taints_in_order_of_name() -> None:
    own = {"name": "a", "taints": [{"key": "own", "effect": "NoSchedule"}]}
    rules = [
        taint_rule("z", "last"),
        taint_rule("one", "of-a", device="a"),
        taint_rule("other", "never", pool="other"),
    ]
    assert _taints(*rules, published(own, "b")) == {"a": ["own", "of-a", "last"], "b": ["last"]}
    assert _taints(published(own, "b"), *rules) == {"a": ["own", "of-a", "last"], "b": ["last"]}
    index = index_of(published(own, "b"), *rules, reads_taint_rules=True)
    device: SliceDevice = index.pools_of("n", {})[0].devices[0]
    assert device.rules == ("one", "z")


def test_rules_are_read_with_their_gate_only() -> None:
    index = index_of(published("a"), taint_rule("z", "k"))
    assert index.taint_rules == {}
    assert index.pools_of("n", {})[0].devices[0].device.taints == ()


def test_the_version_of_taints_grows_when_a_device_changes() -> None:
    index = index_of(published("a"), reads_taint_rules=True)
    index.put(taint_rule("x", "k", device="b"))
    assert index.taints_version == 0
    index.put(taint_rule("x", "k", device="a"))
    assert index.taints_version == 1
    index.put(taint_rule("x", "k", device="a"))
    assert index.taints_version == 1
    index.delete(taint_rule("y", "k"))
    assert index.taints_version == 1
    index.delete(taint_rule("x", "k"))
    assert index.taints_version == 2
    assert index.pools_of("n", {})[0].devices[0].device.taints == ()
    assert index.taint_rules == {}


# ---------------------------------------------------------------- selection


def test_an_expression_is_evaluated_once_for_equal_devices() -> None:
    several = of_model("a", "x"), of_model("b", "x"), of_model("c", "y")
    devices = DeviceSlice(published(*several)).devices
    selection = Selection()
    both = device_class("gpu", "true", "device.attributes['gpu.example.com'].model == 'x'")
    found = [selection.matches(both.spec.selectors, each, "class gpu") for each in devices]
    assert found == [True, True, False]
    assert selection.evaluation_count == 4
    assert selection.matches(both.spec.selectors, devices[0], "class gpu")
    assert selection.evaluation_count == 4
    other = DeviceSlice(published(of_model("a", "x"), driver="other.example.com")).devices[0]
    with pytest.raises(AllocationError, match=r"^class gpu: selector #1: CEL runtime error"):
        selection.matches(both.spec.selectors, other, "class gpu")
    with pytest.raises(AllocationError, match=r"^claim default/c: selector #1: CEL runtime error"):
        selection.matches(both.spec.selectors, other, "claim default/c")


def test_a_selector_without_expression_is_an_empty_one() -> None:
    (device,) = DeviceSlice(published("a")).devices
    empty = device_class("gpu", selectors=[{}]).spec.selectors
    with pytest.raises(AllocationError, match=r"^class gpu: selector #0: CEL compile error"):
        Selection().matches(empty, device, "class gpu")


def test_what_selectors_read_is_all_that_makes_devices_equal() -> None:
    def content(**fields: Any) -> bytes:
        name = fields.pop("name", "a")
        driver = fields.pop("driver", "gpu.example.com")
        return DeviceSlice(published({"name": name} | fields, driver=driver)).devices[0].content

    plain = content()
    assert plain == content(name="b") == content(taints=[{"key": "k", "effect": "None"}])
    differing = {
        plain,
        content(driver="b"),
        content(allowMultipleAllocations=True),
        content(attributes={"a": {"int": 1}}),
        content(capacity={"a": {"value": "1"}}),
    }
    assert len(differing) == 5
