"""Columns of device allocation: what is searched again after a change, and what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podwright.apimachinery.devices import PoolId
from podwright.apimachinery.objects import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    Object,
    ResourceClaim,
    decode_as,
    with_fields,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import (
    FAILS,
    FITS,
    INVALID_POOLS,
    NO_DEVICES,
    Cluster,
    FitColumn,
    SearchSettings,
)
from podwright.testing import make_node

DRIVER = "gpu.example.com"


def obj(kind: str, name: str, **spec: Any) -> Object:
    api_version = "resource.k8s.io/v1"
    return decode(
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    )


def a_slice(node: str, name: str, count: int = 1, **spec: Any) -> Object:
    pool = {"name": node, "generation": 1, "resourceSliceCount": count}
    return obj("ResourceSlice", name, driver=DRIVER, nodeName=node, pool=pool, **spec)


def claim(name: str = "c", mode: str = "ExactCount") -> ResourceClaim:
    exactly = {"deviceClassName": "gpu", "allocationMode": mode}
    if mode == "ExactCount":
        exactly |= {"count": 1}  # type: ignore[dict-item]
    document = {
        "metadata": {"name": name, "uid": name},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }
    return decode_as(document, ResourceClaim)


def test_devices_are_accessible_from_the_nodes_that_a_slice_selects() -> None:
    by_label = {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r"]}]}
    selector = {"nodeSelectorTerms": [by_label]}
    pool = {"name": "shared", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "gpu-0"}]
    shared = obj(
        "ResourceSlice", "s", driver=DRIVER, nodeSelector=selector, pool=pool, devices=devices
    )
    cluster = cluster_of(shared)
    assert codes(cluster, claim()) == [NO_DEVICES] * 3
    cluster.put(make_node("b", labels={"rack": "r"}))
    assert codes(cluster, claim()) == [NO_DEVICES, FITS, NO_DEVICES]
    cluster.delete(make_node("a"))
    cluster.put(make_node("b"))
    cluster.put(make_node("c", labels={"rack": "r"}))
    assert codes(cluster, claim())[1:] == [NO_DEVICES, FITS]


def cluster_of(*objects: Object, device_taint_rules: bool = False) -> Cluster:
    cluster = Cluster(device_taint_rules=device_taint_rules)
    for each in (*map(make_node, ("a", "b", "c")), obj("DeviceClass", "gpu"), *objects):
        cluster.put(each)
    return cluster


def codes(cluster: Cluster, of: ResourceClaim) -> list[int]:
    column = cluster.device_fits.column((of,), SearchSettings(), cluster.live_slots())
    assert column.codes.dtype == np.int8
    return [int(code) for code in column.codes]


def test_each_claim_and_each_settings_have_a_column_of_their_own() -> None:
    cluster = cluster_of(
        a_slice("a", "a", devices=[{"name": "gpu-0"}, {"name": "gpu-1"}]),
        a_slice("b", "b", devices=[{"name": "gpu-0"}]),
    )
    one = claim()
    two = decode_as(
        {
            "metadata": {"name": "two", "uid": "two"},
            "spec": {
                "devices": {
                    "requests": [
                        {"name": "r", "exactly": {"deviceClassName": "gpu",
                         "allocationMode": "ExactCount", "count": 2}}
                    ]
                }
            },
        },
        ResourceClaim,
    )  # fmt: skip
    settings, others = SearchSettings(), SearchSettings(most_steps=1)
    expected = {
        ("c", settings): [FITS, FITS, NO_DEVICES],
        ("two", settings): [FITS, NO_DEVICES, NO_DEVICES],
        ("c", others): [FAILS] * 3,
    }
    for _ in range(2):
        for each in ((one,), (two,), (one,)):
            of_each = cluster.device_fits.column(each, settings, cluster.live_slots())
            assert of_each.codes.tolist() == expected[each[0].metadata.name, settings]
        column = cluster.device_fits.column((one,), others, cluster.live_slots())
        assert column.codes.tolist() == expected["c", others]


UNTOUCHED = -7


@pytest.mark.parametrize(
    ("change", "evaluated"),
    [
        pytest.param(lambda _: None, "", id="nothing"),
        pytest.param(lambda c: c.put(make_node("b", labels={"k": "v"})), "b", id="a node"),
        pytest.param(lambda c: c.put(make_node("d")), "d", id="a new node"),
        pytest.param(lambda c: c.delete(make_node("b")), "", id="a node that is gone"),
        pytest.param(
            lambda c: c.devices.set_pending("x", allocated("b", "gpu-0")), "b", id="an allocation"
        ),
        pytest.param(
            lambda c: c.put(a_slice("c", "c", devices=[{"name": "gpu-1"}])), "c", id="a slice"
        ),
        pytest.param(
            lambda c: c.put(a_slice("d", "d", devices=[{"name": "gpu-1"}])),
            "",
            id="a slice of a node that does not exist",
        ),
        pytest.param(
            lambda c: (c.put(make_node("a", labels={"k": "v"})), c.put(a_slice("c", "c"))),
            "ac",
            id="a node and the devices of another one",
        ),
        pytest.param(lambda c: c.put(obj("DeviceClass", "more")), "abc", id="the classes"),
        pytest.param(lambda c: c.nodes.node_journal.forget(), "abc", id="all nodes"),
    ],
)
def test_only_the_nodes_that_a_change_concerns_are_evaluated_again(change, evaluated) -> None:
    cluster = cluster_of(*(a_slice(node, node, devices=[{"name": "gpu-0"}]) for node in "abc"))
    fits, settings, slots = cluster.device_fits, SearchSettings(), cluster.live_slots()
    first = fits.column((claim(),), settings, slots)
    first.codes[:] = first.scores[:] = UNTOUCHED
    change(cluster)
    column = fits.column((claim(),), settings, cluster.live_slots())
    assert column is first
    names = cluster.nodes.names
    for values in (column.codes, column.scores):
        assert len(values) == len(names)
        assert "".join(n for n, value in zip(names, values, strict=True) if value != UNTOUCHED) == (
            evaluated
        )
    before = column.codes.tolist()
    assert fits.column((claim(),), settings, cluster.live_slots()) is first
    assert column.codes.tolist() == before


def test_nodes_with_new_slots_are_all_evaluated_again() -> None:
    cluster = cluster_of(a_slice("c", "c", devices=[{"name": "gpu-0"}]))
    assert codes(cluster, claim()) == [NO_DEVICES, NO_DEVICES, FITS]
    cluster.delete(make_node("a"))
    cluster._renumber()
    assert codes(cluster, claim()) == [NO_DEVICES, FITS]


def subrequests(*counts: int) -> ResourceClaim:
    """Return a claim with alternatives, the best one first."""
    exact = {"deviceClassName": "gpu", "allocationMode": "ExactCount"}
    first = [{"name": f"n{count}", "count": count} | exact for count in counts]
    spec = {"devices": {"requests": [{"name": "r", "firstAvailable": first}]}}
    return decode_as({"metadata": {"name": "c", "uid": "c"}, "spec": spec}, ResourceClaim)


def test_a_column_has_the_scores_of_alternatives_and_none_where_nothing_fits() -> None:
    cluster = cluster_of(
        a_slice("a", "a", devices=[{"name": "gpu-0"}]),
        a_slice("b", "b", devices=[{"name": "gpu-0"}, {"name": "gpu-1"}]),
    )
    fits, slots = cluster.device_fits, cluster.live_slots()
    column = fits.column((subrequests(2, 1),), SearchSettings(), slots)
    assert column.codes.tolist() == [FITS, FITS, NO_DEVICES]
    assert column.scores.dtype == np.int64
    assert column.scores[1] == column.scores[0] + 1 > 1
    assert column.scores[2] == 0
    failing = SearchSettings(most_steps=1)
    column = fits.column((subrequests(2, 1),), failing, slots)
    assert (column.codes.tolist(), column.scores.tolist()) == ([FAILS] * 3, [0] * 3)
    cluster.put(a_slice("c", "c", 2, devices=[{"name": "gpu-0"}]))
    cluster.put(a_slice("c", "d", 2, devices=[{"name": "gpu-0"}]))
    column = fits.column((subrequests(2, 1),), SearchSettings(), slots)
    assert (column.codes[2], column.scores[2]) == (INVALID_POOLS, 0)


def test_the_columns_that_were_used_last_are_kept() -> None:
    cluster = cluster_of(a_slice("a", "a", devices=[{"name": "gpu-0"}]))
    slots = cluster.live_slots()

    def column(most_steps: int) -> FitColumn:
        settings = SearchSettings(most_steps=most_steps)
        return cluster.device_fits.column((claim(),), settings, slots)

    first = [column(number) for number in range(64)]
    assert [column(number) for number in range(1, 64)] == first[1:]
    assert column(0) is first[0], "64 are kept"
    new = column(64)
    assert column(0) is first[0]
    assert column(1) is not first[1], "it was used longest ago"
    assert column(64) is new
    assert [number for number in range(3, 64) if column(number) is not first[number]] == []
    assert column(2) is not first[2]


def allocated(node: str, device: str) -> AllocationResult:
    result = DeviceRequestAllocationResult(request="r", driver=DRIVER, pool=node, device=device)
    return AllocationResult(devices=DeviceAllocationResult(results=(result,)))


def test_after_an_allocation_only_the_node_of_the_pool_is_searched() -> None:
    slices = [a_slice(node, node, devices=[{"name": "gpu-0"}]) for node in ("a", "b", "c")]
    cluster = cluster_of(*slices)
    assert codes(cluster, claim()) == [FITS, FITS, FITS]
    cluster.devices.set_pending("other", allocated("b", "gpu-0"))
    before = cluster.device_fits.search_count
    assert codes(cluster, claim("next")) == [FITS, NO_DEVICES, FITS]
    assert cluster.device_fits.search_count == before + 1
    cluster.devices.remove_pending("other")
    assert codes(cluster, claim()) == [FITS, FITS, FITS]


@pytest.mark.parametrize(
    ("frees_first", "removes_pending", "fits"),
    [
        pytest.param(False, False, False, id="written and pending"),
        pytest.param(False, True, False, id="written and no longer pending"),
        pytest.param(True, False, False, id="freed while pending"),
        pytest.param(True, True, True, id="freed, and no longer pending"),
    ],
)
def test_a_pending_allocation_that_is_written_counts_once(
    *, frees_first: bool, removes_pending: bool, fits: bool
) -> None:
    cluster = cluster_of(a_slice("a", "a", devices=[{"name": "gpu-0"}]))
    written = claim("mine")
    cluster.put(written)
    cluster.devices.set_pending("mine", allocated("a", "gpu-0"))
    with_allocation = with_fields(written, "status", allocation=allocated("a", "gpu-0"))
    cluster.put(with_allocation)
    if frees_first:
        cluster.put(with_fields(with_allocation, "status", allocation=None))
    if removes_pending:
        assert cluster.devices.remove_pending("mine")
    assert (codes(cluster, claim("next"))[0] == FITS) is fits
    cluster.delete(cluster.devices.claims["default/mine"])
    cluster.devices.remove_pending("mine")
    assert codes(cluster, claim("next"))[0] == FITS
    assert not cluster.devices.allocated.dedicated


def test_counters_of_a_complete_pool_do_not_matter_to_other_nodes() -> None:
    counters = [{"name": "card", "counters": {"slots": {"value": "1"}}}]
    taken = [{"counterSet": "card", "counters": {"slots": {"value": "1"}}}]
    parts = [{"name": name, "consumesCounters": taken} for name in ("one", "two")]
    cluster = cluster_of(
        a_slice("a", "a-counters", 2, sharedCounters=counters),
        a_slice("a", "a-devices", 2, devices=parts),
        a_slice("b", "b-devices", devices=[{"name": "gpu-0"}]),
    )
    assert codes(cluster, claim(mode="All")) == [NO_DEVICES, FITS, NO_DEVICES]
    seen = [[pool.id for pool in cluster.devices.pools_of(node, {})] for node in ("a", "b", "c")]
    assert seen == [[PoolId(DRIVER, "a")], [PoolId(DRIVER, "b")], []]


def test_an_incomplete_pool_with_counters_is_seen_from_every_node() -> None:
    counters = [{"name": "card", "counters": {"slots": {"value": "1"}}}]
    cluster = cluster_of(
        a_slice("b", "b-devices", devices=[{"name": "gpu-0"}]),
        a_slice("a", "a-counters", 2, sharedCounters=counters),
    )
    assert codes(cluster, claim(mode="All")) == [FAILS, FAILS, FAILS]
    assert codes(cluster, claim()) == [NO_DEVICES, FITS, NO_DEVICES]
    cluster.put(a_slice("a", "a-devices", 2, devices=[{"name": "gpu-0"}]))
    assert codes(cluster, claim(mode="All")) == [FITS, FITS, NO_DEVICES]


def test_a_selector_is_evaluated_once_for_equal_devices() -> None:
    devices = [
        {"name": f"gpu-{index}", "attributes": {"model": {"string": "h100"}}} for index in range(8)
    ]
    cluster = cluster_of(*(a_slice(node, node, devices=devices) for node in ("a", "b", "c")))
    expression = f'device.attributes["{DRIVER}"].model == "a100"'
    cluster.put(obj("DeviceClass", "gpu", selectors=[{"cel": {"expression": expression}}]))
    assert codes(cluster, claim()) == [NO_DEVICES] * 3
    assert cluster.devices.selection.evaluation_count == 1


def _taint_rule(name: str, effect: str, **selector: str) -> Object:
    spec = {"deviceSelector": selector, "taint": {"key": name, "effect": effect}}
    head = {"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule"}
    return decode(head | {"metadata": {"name": name}, "spec": spec})


def test_rules_taint_the_devices_that_they_select() -> None:
    slices = [a_slice(node, node, devices=[{"name": "gpu-0"}]) for node in ("a", "b", "c")]
    rules = [_taint_rule("one", "NoSchedule", pool="b"), _taint_rule("no", "None", pool="c")]
    assert codes(cluster_of(*slices, *rules), claim()) == [FITS, FITS, FITS]
    cluster = cluster_of(*slices[:2], *rules, slices[2], device_taint_rules=True)
    assert codes(cluster, claim()) == [FITS, NO_DEVICES, FITS]
    version, searches = cluster.devices.taints_version, cluster.device_fits.search_count
    cluster.put(_taint_rule("one", "NoSchedule", pool="c"))
    assert codes(cluster, claim()) == [FITS, FITS, NO_DEVICES]
    assert cluster.devices.taints_version == version + 1
    assert cluster.device_fits.search_count <= searches + 2
    cluster.put(_taint_rule("other", "NoSchedule", pool="elsewhere"))
    assert cluster.devices.taints_version == version + 1
    cluster.delete(_taint_rule("one", "NoSchedule", pool="c"))
    assert codes(cluster, claim()) == [FITS, FITS, FITS]
    assert [each.name for each in cluster.devices.slice_objects()] == ["a", "b", "c"]


def test_a_rule_without_selector_taints_every_device() -> None:
    rule = decode(
        {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "all"},
            "spec": {"taint": {"key": "k", "effect": "NoExecute"}},
        }
    )
    slices = [a_slice(node, node, devices=[{"name": "gpu-0"}]) for node in ("a", "b")]
    assert codes(cluster_of(*slices, rule, device_taint_rules=True), claim())[:2] == [
        NO_DEVICES,
        NO_DEVICES,
    ]


def test_the_result_of_a_node_is_one_of_four() -> None:
    assert len({FITS, NO_DEVICES, INVALID_POOLS, FAILS}) == 4
    assert FITS == 0, "a kernel reads the others as rejections"


def test_devices_are_searched_again_when_their_class_selects_others() -> None:
    devices = [{"name": "gpu-0", "attributes": {"model": {"string": "h100"}}}]
    cluster = cluster_of(a_slice("a", "a", devices=devices))
    expression = f'device.attributes["{DRIVER}"].model == "%s"'
    for model, code in (("h100", FITS), ("a100", NO_DEVICES), ("h100", FITS)):
        selectors = [{"cel": {"expression": expression % model}}]
        cluster.put(obj("DeviceClass", "gpu", selectors=selectors))
        assert codes(cluster, claim()) == [code, NO_DEVICES, NO_DEVICES]
