"""What nodes with the same devices share."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.devices import Solutions
from podwright.apimachinery.devices.index import DeviceIndex
from podwright.apimachinery.devices.solutions import NodeState, in_use, shape_of
from podwright.apimachinery.devices.tests.made import (
    allocated,
    allocation,
    chosen,
    claim,
    consuming,
    counters,
    exactly,
    index_of,
    of_model,
    published,
    result,
    search,
)
from podwright.apimachinery.objects import Object


def _state(index: DeviceIndex, node: str = "n") -> NodeState:
    return index.state_of(node, {})[1]


def _pool_of(node: str, *devices: dict[str, Any], **spec: Any) -> Object:
    return published(*devices, name=f"s-{node}", pool=node, nodeName=node, **spec)


def test_nodes_with_the_same_devices_share_a_state() -> None:
    index = index_of(_pool_of("n", of_model("a", "x")), _pool_of("m", of_model("b", "x")))
    assert _state(index, "n") == _state(index, "m")
    index.set_pending("u", allocation(result("b", pool="m")))
    assert _state(index, "n").shape == _state(index, "m").shape
    assert _state(index, "n").in_use == ()
    assert _state(index, "m").in_use == (0,)
    index.remove_pending("u")
    assert _state(index, "n") == _state(index, "m")


def test_a_device_of_all_nodes_is_in_use_on_each() -> None:
    index = index_of(published("a", "b", allNodes=True))
    for uid, found in (("u", (1,)), ("v", (0, 1))):
        index.set_pending(uid, allocation("b" if uid == "u" else "a"))
        assert _state(index, "n").in_use == _state(index, "m").in_use == found
    index.remove_pending("u")
    assert _state(index, "n").in_use == _state(index, "m").in_use == (0,)


def test_an_allocation_of_devices_for_all_nodes_and_for_one_concerns_both() -> None:
    index = index_of(
        published("a", name="all", pool="all", allNodes=True), _pool_of("m", of_model("b", "x"))
    )
    assert _state(index, "m").in_use == ()
    index.set_pending("u", allocation(result("a", pool="all"), result("b", pool="m")))
    assert _state(index, "m").in_use == (0, 1)
    assert _state(index, "n").in_use == (0,)
    index.remove_pending("u")
    assert _state(index, "m").in_use == _state(index, "n").in_use == ()


@pytest.mark.parametrize(
    "other",
    [
        pytest.param([_pool_of("m", of_model("a", "y"))], id="attributes"),
        pytest.param([_pool_of("m", of_model("a", "x"), of_model("b", "x"))], id="count"),
        pytest.param(
            [_pool_of("m", of_model("a", "x", taints=[{"key": "k", "effect": "NoSchedule"}]))],
            id="taints",
        ),
        pytest.param(
            [
                _pool_of(
                    "m",
                    of_model("a", "x", bindingConditions=["R"], bindingFailureConditions=["F"]),
                )
            ],
            id="binding conditions",
        ),
        pytest.param([_pool_of("m", of_model("a", "x"), driver="b.example.com")], id="driver"),
        pytest.param(
            [_pool_of("m", of_model("a", "x", allowMultipleAllocations=True))], id="shared"
        ),
        pytest.param([_pool_of("m", of_model("a", "x"), slices=2)], id="incomplete"),
        pytest.param([_pool_of("m", of_model("a", "x"), of_model("a", "x"))], id="invalid"),
        pytest.param(
            [
                counters(4, pool="m", nodeName="m"),
                _pool_of("m", of_model("a", "x"), slices=2),
            ],
            id="counters",
        ),
    ],
)
def test_what_a_search_reads_tells_nodes_apart(other: list[Object]) -> None:
    index = index_of(_pool_of("n", of_model("a", "x")), *other)
    assert _state(index, "n").shape != _state(index, "m").shape


def test_counters_tell_nodes_apart() -> None:
    def shapes(amount: int, taken: int, away: int = 1) -> int:
        index.put(counters(amount, "card", pool="m", nodeName="m", slices=3))
        index.put(_pool_of("m", consuming("a", taken), slices=3))
        index.put(published(consuming("b", away), name="away", pool="m", nodeName="o", slices=3))
        return _state(index, "m").shape

    index = index_of()
    first = shapes(4, 1)
    assert len({first, shapes(5, 1), shapes(4, 2), shapes(4, 1, 2)}) == 4
    assert shapes(4, 1) == first


def test_pools_of_one_name_are_told_from_pools_of_two() -> None:
    def shape(name: str) -> Any:
        several = [
            published("a", name="x", pool="p"),
            published("a", name="y", pool=name, driver="z.example.com"),
        ]
        return shape_of("n", {}, index_of(*several).pools_of("n", {}))

    assert shape("p") != shape("q")
    assert shape("q") == shape("r")


def test_incomplete_and_invalid_pools_differ() -> None:
    incomplete = index_of(published("a", slices=2)).pools_of("n", {})
    invalid = index_of(published("a", "a")).pools_of("n", {})
    assert shape_of("n", {}, incomplete) != shape_of("n", {}, invalid)


def test_a_device_of_other_nodes_is_another_shape() -> None:
    devices = [{"name": "a", "nodeName": "n"}, {"name": "b", "nodeName": "m"}]
    index = index_of(published(*devices, perDeviceNodeSelection=True))
    assert _state(index, "n").shape != _state(index, "m").shape


def test_devices_in_use_are_known_by_position_over_all_pools() -> None:
    index = index_of(
        published("a", "b", name="x", pool="p"),
        published("c", name="y", pool="q", slices=2),
        published("f", name="z", pool="q", slices=2, nodeName="m"),
        published("d", "e", name="w", pool="r"),
        allocated("one", "b", result("f", pool="q"), result("d", pool="r")),
    )
    pools = index.pools_of("n", {})
    assert in_use(pools, index.allocated) == (1, 3, 4), "f, of another node, has its place"
    share = result("e", pool="r", shareID="s", consumedCapacity={"m": "2", "k": "1"})
    index.put(allocated("two", share, result("a", shareID="t"), result("b", shareID="u")))
    unit = 10**9
    assert in_use(pools, index.allocated) == (
        (0, False, None),
        (1, True, None),
        3,
        4,
        (5, False, (("k", unit), ("m", 2 * unit))),
    )


def test_a_node_with_very_many_devices_in_use_has_a_short_state() -> None:
    names = [f"d{number}" for number in range(259)]
    index = index_of(published(*names))
    for number, name in enumerate(names[:256]):
        index.set_pending(f"u{number}", allocation(name))
    assert len(_state(index).in_use) == 256
    found = []
    for name in names[256:]:
        index.set_pending("last", allocation(name))
        found.append(_state(index))
        assert index.remove_pending("last")
    assert [len(state.in_use) for state in found] == [1, 1, 1]
    assert len(set(found)) == 3, "another device is another state"
    index.set_pending("last", allocation(names[256]))
    assert _state(index) == found[0]


def test_a_solution_serves_the_devices_of_each_node() -> None:
    index = index_of(
        published(*(f"n{number}" for number in range(3)), name="x", pool="n"),
        published("n3", name="z", pool="o"),
        published(*(f"m{number}" for number in range(3)), name="y", pool="m", nodeName="m"),
        published("m3", name="w", pool="n2", nodeName="m"),
    )
    asked = claim("c", exactly(count=2)), claim("d", exactly(count=2))
    found = search(index, *asked).run()
    here, there = index.state_of("n", {}), index.state_of("m", {})
    assert here[1] == there[1]
    solutions = Solutions()
    assert here[1] not in solutions
    solutions.add(here[1], here[0], found)
    assert here[1] in solutions
    assert solutions.score_of(here[1]) == 0
    assert solutions.of(here[1], here[0]) == found
    assert chosen(solutions.of(here[1], there[0])) == [
        [("r", "m0"), ("r", "m1")],
        [("r", "m2"), ("r", "m3")],
    ]
    solutions.clear()
    assert here[1] not in solutions


def test_an_incomplete_pool_takes_no_position() -> None:
    index = index_of(
        published("a", name="x", pool="a", slices=2), published("b", name="y", pool="b")
    )
    pools, state = index.state_of("n", {})
    solutions = Solutions()
    solutions.add(state, pools, search(index, claim("c", exactly())).run())
    assert chosen(solutions.of(state, pools)) == [[("r", "b")]]


def test_that_there_is_no_solution_is_known_too() -> None:
    index = index_of()
    pools, state = index.state_of("n", {})
    solutions = Solutions()
    solutions.add(state, pools, None)
    assert state in solutions
    assert solutions.score_of(state) is None
    assert solutions.of(state, pools) is None
