"""The study of GPU fragmentation, against an independent replay of the published rules.

The trace of `examples/gpu-trace` is generated. `fgd/series.json` has, for each policy, seed and
tuning ratio, the mean allocation at each whole percentage of arrived load, as the replay computes
it, which agrees with the published series to their two decimals.
"""

import json
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import podwright as pw
from podwright._plots import picture
from podwright.apimachinery.objects import ArgumentError, InputError
from podwright.scheduler.config import read_configuration
from podwright.simulation.files import load
from podwright.simulation.studies import (
    POLICIES,
    FgdRun,
    FgdTrace,
    fgd_configuration,
    published_means,
    read_published,
    run_fgd,
    summarize_fgd,
)

EXAMPLE = Path(__file__).parents[5] / "examples/gpu-trace"
SERIES = json.loads((Path(__file__).parent / "fgd/series.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def trace() -> FgdTrace:
    return FgdTrace.of(load([EXAMPLE]).objects)


def scheduler_with(policy: str, trace: FgdTrace) -> pw.Scheduler:
    plugin = POLICIES[policy]
    configuration = read_configuration(fgd_configuration(plugin, trace.typical), source="test")
    return pw.Scheduler(configuration, plugins=[plugin], tie_rule=pw.TieRule.FIRST)


def gpu_pod(name: str, *, milli: int, devices: int = 1, index: str = "", **fields: Any) -> pw.Pod:
    annotations = {
        "alibabacloud.com/gpu-milli": str(milli),
        "alibabacloud.com/gpu-count": str(devices),
    }
    if index:
        annotations["alibabacloud.com/gpu-index"] = index
    return pw.testing.make_pod(name, cpu="1", annotations=annotations, **fields)


def gpu_node(name: str, devices: int) -> pw.Node:
    resources = {"alibabacloud.com/gpu-count": str(devices)}
    return pw.testing.make_node(name, cpu="32", resources=resources)


@pytest.mark.parametrize(
    "expected", SERIES, ids=lambda each: f"{each['policy']}-{each['seed']}-{each['tuningRatio']}"
)
def test_a_run_has_the_series_of_the_replay(trace: FgdTrace, expected: dict[str, Any]) -> None:
    run = run_fgd(trace, expected["policy"], expected["seed"], tuning_ratio=expected["tuningRatio"])
    found = {}
    for percent, _ in expected["allocated"]:
        measure = run.at(percent)
        assert measure is not None
        found[percent] = measure.allocated_pct
    assert found == pytest.approx(dict(expected["allocated"]), abs=1e-6)


def test_random_runs_differ_by_seed_and_repeat(trace: FgdTrace) -> None:
    first, again, other = (run_fgd(trace, "01-Random", seed) for seed in (42, 42, 43))
    assert np.array_equal(first.allocated_pct, again.allocated_pct)
    assert not np.array_equal(first.allocated_pct, other.allocated_pct)


@pytest.mark.parametrize(("ratio", "allocated_pct"), [(4.0, 100), (1.5, 37.5)])
def test_each_pod_of_an_inflation_has_devices_of_its_own(
    ratio: float, allocated_pct: float
) -> None:
    trace = FgdTrace.of([gpu_node("n1", 8), *(gpu_pod(f"p{i}", milli=1000) for i in range(2))])
    run = run_fgd(trace, "05-BestFit", 42, tuning_ratio=0, inflation_ratio=ratio)
    assert run.inflated is not None
    assert run.inflated.allocated_pct == allocated_pct


def test_inflation_adds_pods_while_requests_fit(trace: FgdTrace) -> None:
    run = run_fgd(trace, "05-BestFit", 42, tuning_ratio=0.5, inflation_ratio=3.0)
    assert run.inflated is not None
    assert run.allocated_pct[-1] < run.inflated.allocated_pct <= 100


def test_drawn_ties_are_those_of_the_seed(trace: FgdTrace) -> None:
    runs = [run_fgd(trace, "06-FGD", 42, tie_rule=rule) for rule in pw.TieRule]
    ends = {run.allocated_pct[-1] for run in runs}
    assert len(ends) > 1


@pytest.mark.parametrize(
    ("policy", "settings", "message"),
    [
        ("FGD", {}, "policy: 'FGD' is not one of 01-Random"),
        ("06-FGD", {"tuning_ratio": -1.0}, "tuning_ratio: -1.0 is not a number of at least 0"),
        ("06-FGD", {"tuning_ratio": inf}, "tuning_ratio: inf is not a number of at least 0"),
        ("06-FGD", {"inflation_ratio": 1.0}, "inflation_ratio: 1.0 is not a number above 1"),
        ("06-FGD", {"inflation_ratio": inf}, "inflation_ratio: inf is not a number above 1"),
    ],
)
def test_wrong_arguments_are_named(
    trace: FgdTrace, policy: str, settings: dict[str, float], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        run_fgd(trace, policy, 1, **settings)  # type: ignore[arg-type]  # only numbers


def test_a_trace_needs_gpus_and_pods_that_request_them(trace: FgdTrace) -> None:
    with pytest.raises(ArgumentError, match="nodes: none of 0 has"):
        FgdTrace.of(trace.pods)
    with pytest.raises(ArgumentError, match="pods: none of 0 has"):
        FgdTrace.of(trace.nodes)


# ---------------------------------------------------------------- devices


def test_devices_are_named_in_an_explanation(trace: FgdTrace) -> None:
    scheduler = scheduler_with("05-BestFit", trace)
    scheduler.add(gpu_node("n1", 4), gpu_pod("whole", milli=1000, devices=2))
    scheduler.schedule("default/whole")
    explanation = scheduler.explain(gpu_pod("share", milli=300))
    assert explanation.custom_results == {"alibabacloud.com/gpu-index": "2"}


def test_named_devices_of_placed_pods_are_taken(trace: FgdTrace) -> None:
    scheduler = scheduler_with("05-BestFit", trace)
    placed = gpu_pod("placed", milli=600, index="1", node="n1")
    scheduler.add(gpu_node("n1", 2), placed)
    found = scheduler.explain(gpu_pod("share", milli=300)).custom_results
    assert found == {"alibabacloud.com/gpu-index": "1"}
    found = scheduler.explain(gpu_pod("large", milli=500)).custom_results
    assert found == {"alibabacloud.com/gpu-index": "0"}
    scheduler.remove(placed)
    found = scheduler.explain(gpu_pod("share", milli=300)).custom_results
    assert found == {"alibabacloud.com/gpu-index": "0"}


def test_shares_of_several_devices_do_not_add_up(trace: FgdTrace) -> None:
    scheduler = scheduler_with("05-BestFit", trace)
    scheduler.add(gpu_node("n1", 2))
    for name in ("a", "b"):
        assert scheduler.schedule(gpu_pod(name, milli=600)).node == "n1"
    decision = scheduler.schedule(gpu_pod("c", milli=600))
    assert not decision.node
    assert "Insufficient alibabacloud.com/gpu-milli on its devices" in decision.message


def test_a_world_writes_the_devices_to_the_pod() -> None:
    plugin = POLICIES["04-GpuPacking"]
    configuration = read_configuration(fgd_configuration(plugin, ()), source="test")
    world = pw.World(configuration, plugins=[plugin])
    world.add(gpu_node("n1", 2), gpu_pod("a", milli=1000), gpu_pod("b", milli=400))
    world.run_until("5s")
    found = {pod.name: pod.metadata.annotations["alibabacloud.com/gpu-index"] for pod in world.pods}
    assert found == {"a": "0", "b": "1"}


@pytest.mark.parametrize(
    ("policy", "pod", "unused", "used"),
    [
        # Both devices free: 33 less two. Another device is opened, or the shared one is used.
        ("04-GpuPacking", {"milli": 300}, 31, 100 - 4),
        ("04-GpuPacking", {"milli": 1000}, 31, 50 - 1),
        ("04-GpuPacking", {"milli": 1000, "devices": 2}, 31, 50 - 2),
        # A quarter of what is used of eight devices; and 75 with pods of this kind only, 25 without
        # any, 0 with pods of other kinds only.
        ("03-GpuClustering", {"milli": 300}, 18 + 25, 17 + 75),
        ("03-GpuClustering", {"milli": 1000}, 18 + 25, 17),
        ("03-GpuClustering", {"milli": 1000, "devices": 2}, 18 + 25, 17),
    ],
)
def test_a_node_with_a_shared_device_and_an_unused_one_have_the_published_scores(
    trace: FgdTrace, policy: str, pod: dict[str, Any], unused: int, used: int
) -> None:
    scheduler = scheduler_with(policy, trace)
    placed = gpu_pod("placed", milli=600, index="0", node="used")
    scheduler.add(gpu_node("unused", 2), gpu_node("used", 3), placed)
    (given,) = scheduler.explain(gpu_pod("new", **pod)).scores
    assert given.raw == {"unused": unused, "used": used}


def test_nodes_with_pods_of_several_kinds_are_half_as_good(trace: FgdTrace) -> None:
    scheduler = scheduler_with("03-GpuClustering", trace)
    share = gpu_pod("share", milli=400, index="0", node="mixed")
    whole = gpu_pod("whole", milli=1000, index="1", node="mixed")
    scheduler.add(gpu_node("mixed", 3), gpu_node("other", 3), share, whole)
    (given,) = scheduler.explain(gpu_pod("new", milli=300)).scores
    assert given.raw["mixed"] == 25 * (8_000 - 1_600) // 8_000 + 50


@pytest.mark.parametrize("seed", range(4))
def test_a_random_device_has_enough_left(trace: FgdTrace, seed: int) -> None:
    plugin = POLICIES["01-Random"]
    configuration = read_configuration(fgd_configuration(plugin, trace.typical), source="test")
    scheduler = pw.Scheduler(configuration, plugins=[plugin], seed=seed)
    scheduler.add(gpu_node("n1", 3))
    left = [1000, 1000, 1000]
    for number, milli in enumerate((600, 600, 600, 400, 300, 200)):
        pod = gpu_pod(f"p{number}", milli=milli)
        explained = scheduler.explain(pod)
        device = int(explained.custom_results["alibabacloud.com/gpu-index"])
        assert scheduler.schedule(pod).node == "n1"
        left[device] -= milli
        assert left[device] >= 0


def test_a_list_of_pods_is_extended_until_it_requests_a_multiple_of_all_gpus() -> None:
    trace = FgdTrace.of([gpu_node("n1", 8), *(gpu_pod(f"p{i}", milli=500) for i in range(4))])
    run = run_fgd(trace, "05-BestFit", 42, tuning_ratio=1.0)
    # Sixteen halves fit; the last clone is not above the limit.
    assert run.allocated_pct[-1] == 100
    assert len(run.allocated_pct) == 16


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_keep_the_contract_of_plugins(trace: FgdTrace, policy: str) -> None:
    scheduler = scheduler_with(policy, trace)
    (profile,) = scheduler.profiles.values()
    (made,) = (each for each in profile.all_plugins() if each.name == POLICIES[policy].name)
    nodes = [gpu_node(f"gpu-{number}", 2) for number in range(3)]
    pods = [gpu_pod(f"gpu-pod-{number}", milli=300 * number + 100) for number in range(4)]
    assert not pw.testing.check_plugin(made, nodes=nodes, pods=pods).findings


# ---------------------------------------------------------------- the table


def run_with(seed: int, allocated: Sequence[float], policy: str = "06-FGD") -> FgdRun:
    percents = np.array([100, 100, 129], dtype=np.int64)
    column = np.array(allocated, dtype=np.float64)
    return FgdRun(policy, seed, percents, column, column / 10, column, failed=2)


def test_means_stand_beside_the_published_ones() -> None:
    runs = [
        ("openb_pod_list_default", run_with(1, [94, 96, 96])),
        ("openb_pod_list_default", run_with(2, [95, 97, 97])),
        ("other", run_with(1, [50, 50, 50])),
    ]
    known, other = summarize_fgd(runs).results
    found = msgspec.structs.astuple(known.means[100].allocated_pct)
    assert found == pytest.approx((95.5, 0.5**0.5, 12.706 * 0.5))
    assert known.means[130].allocated_pct.mean == 96.5  # the entries at 129 percent
    assert known.means[100].difference == pytest.approx(95.5 - 95.23)
    assert other.means[100].published_pct is None
    assert other.means[100].difference is None
    # One run says nothing about others.
    assert other.means[100].allocated_pct.margin == inf
    encoded = msgspec.json.encode(other.means[100].allocated_pct)
    assert encoded == b'{"mean":50.0,"deviation":null,"margin":null}'
    assert summarize_fgd(runs).greatest_difference == pytest.approx(96.5 - 95.39)
    assert summarize_fgd(runs[2:]).greatest_difference is None


def test_the_published_means_are_complete() -> None:
    known = published_means()
    assert len(known) == 17 * len(POLICIES)
    assert all(set(mean) == {100, 130} for mean in known.values())


def test_other_published_means_are_read() -> None:
    text = "workload,policy,alloc_mean_100,alloc_mean_130,alloc_sd_100\nw,06-FGD,95.5,96,0.2\n"
    assert read_published(text, "p.csv") == {("w", "06-FGD"): {100: 95.5, 130: 96.0}}
    with pytest.raises(InputError, match=r"p\.csv: the columns policy, alloc_mean_100"):
        read_published("workload\n", "p.csv")
    with pytest.raises(InputError, match="line 2"):
        read_published("workload,policy,alloc_mean_100,alloc_mean_130\nw,p,x,1\n", "p.csv")


def test_a_figure_is_the_same_for_the_same_results(trace: FgdTrace) -> None:
    runs = [("pods", run_fgd(trace, "05-BestFit", seed)) for seed in (1, 2)]
    table = summarize_fgd(runs)
    first, again = picture(table.plot()), picture(table.plot("pods"))
    assert first == again
    assert b"05-BestFit" in first or b"<svg" in first
    assert picture(table.plot(), "png").startswith(b"\x89PNG")
