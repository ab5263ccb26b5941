"""The scores of the policies, worked out by hand, and the devices that pods get."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import podwright as pw
from podwright.scheduler.config import read_configuration
from podwright.scheduler.framework import Pending, Status
from podwright.simulation.studies import POLICIES, FgdTrace, fgd_configuration
from podwright.simulation.studies.gpu_devices import GpuRequest
from podwright.simulation.studies.gpu_policies import (
    Candidates,
    FragmentationGradientArgs,
    FragmentationGradientDescent,
    GpuPolicy,
    RandomGpu,
    _is_first,
    _without,
)
from podwright.simulation.studies.tests.test_fgd import gpu_node, gpu_pod

SHARE, WHOLE, TWO, NOTHING = (
    GpuRequest(500, 1, ()), GpuRequest(1000, 1, ()), GpuRequest(1000, 2, ()), GpuRequest(0, 0, ()),
)  # fmt: skip


def scores_of(
    policy: str,
    request: GpuRequest,
    left: list[list[int]],
    *,
    milli_cpu: int = 32_000,
    tags: tuple[int, ...] = (),
) -> list[int]:
    nothing: Any = None
    rows = np.arange(len(left), dtype=np.int32)
    made = POLICIES[policy]()
    made.devices.tags = np.array(tags or [0] * len(left), dtype=np.int64)
    free = np.array([64_000, 128_000, 32_000][: len(left)], dtype=np.int64)
    given = Candidates(rows, free, np.array(left), request, milli_cpu, nothing)
    found: list[int] = made.scores(given).tolist()
    return found


@pytest.mark.parametrize(
    ("request_", "milli_cpu", "expected"),
    [
        # Half of the CPU by a quarter, and all GPUs by a 16th: 0.1875, and 100 * (1 - half of it).
        pytest.param(SHARE, 32_000, [90, 86, 96], id="a share"),
        pytest.param(TWO, 0, [87, 96, 99], id="two devices"),
        pytest.param(NOTHING, 64_000, [87, 75, 93], id="no devices"),
        pytest.param(NOTHING, 64_001, [87, 74, 93], id="just more than half of the largest node"),
    ],
)
def test_the_dot_product_is_that_of_what_is_free_and_what_is_requested(
    request_, milli_cpu, expected
):
    left = [[1000] * 8, [1000, 1000, *[-1] * 6], [400, 0, *[-1] * 6]]
    assert scores_of("02-DotProd", request_, left, milli_cpu=milli_cpu) == expected


@pytest.mark.parametrize(
    ("request_", "milli_cpu", "expected"),
    [
        # A quarter of the CPU and 15 of 16 parts of the GPUs stay free: 100 * (1 - 1.1875 / 2).
        pytest.param(SHARE, 32_000, [40, 53, 100], id="a share"),
        pytest.param(TWO, 0, [37, 50, 97], id="two devices"),
        pytest.param(NOTHING, 32_000, [37, 50, 97], id="no devices"),
        pytest.param(NOTHING, 31_999, [37, 49, 97], id="one more milli-CPU stays free"),
    ],
)
def test_the_best_fit_leaves_the_least(request_, milli_cpu, expected):
    left = [[1000] * 8, [1000, 1000, *[-1] * 6], [400, 0, *[-1] * 6]]
    assert scores_of("05-BestFit", request_, left, milli_cpu=milli_cpu) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param([40, 53, 97], [0, 22, 100], id="the greatest has 100 and the least 0"),
        pytest.param([40, 40, 40], [0, 0, 0], id="equal scores are 0"),
        pytest.param([-5, 0, 1], [0, 83, 100], id="below 0"),
    ],
)
def test_scores_of_the_best_fit_are_scaled(raw, expected):
    nothing: Any = None
    out: Any = SimpleNamespace(rows=np.array([0, 2, 3]), values=np.array([raw[0], 7, *raw[1:]]))
    POLICIES["05-BestFit"]().normalize_score(nothing, out)
    assert out.values.tolist() == [expected[0], 7, *expected[1:]]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        # 25 without pods, 75 with pods of this kind only, 50 with others, too; and 25 * used / 8.
        pytest.param(SHARE, [25, 18 + 75, 20 + 50], id="a share"),
        pytest.param(TWO, [25, 18, 20 + 50], id="two devices"),
        pytest.param(WHOLE, [25, 18, 20], id="a kind that no node has"),
        pytest.param(NOTHING, [0, 0, 0], id="no devices"),
    ],
)
def test_nodes_with_pods_of_the_same_kind_are_better(request_, expected):
    left = [[1000] * 8, [1000, 1000, 200, *[-1] * 5], [500, 900, *[-1] * 6]]
    tags = (0, 1, 1 | 4)
    assert scores_of("03-GpuClustering", request_, left, tags=tags) == expected


@pytest.mark.parametrize(
    ("request_", "left", "expected"),
    [
        # An unused node: 33 less its devices, which are at least as many as it has.
        pytest.param(SHARE, [1000, 1000], 31, id="an unused node"),
        pytest.param(SHARE, [1000] * 20, 20, id="many unused devices"),
        # A used node: 50 less the devices that are used then.
        pytest.param(WHOLE, [1000, 300], 49, id="an unused device"),
        pytest.param(TWO, [1000, 1000, 300], 48, id="two unused devices"),
        pytest.param(GpuRequest(1000, 18, ()), [1000] * 18 + [300], 33, id="many unused devices"),
        # Shared devices: 100 less a tenth of what is left of them in percent.
        pytest.param(SHARE, [1000, 700, 600], 94, id="the one with the least left"),
        pytest.param(SHARE, [500, 1000], 95, id="exactly so much"),
        pytest.param(SHARE, [499, 1000], 49, id="too little"),
        pytest.param(SHARE, [991], 91, id="99 percent"),
        pytest.param(SHARE, [901], 91, id="90 percent"),
        pytest.param(SHARE, [899], 92, id="89 percent"),
        pytest.param(GpuRequest(500, 2, ()), [991, 509], 86, id="99 and 50 percent"),
        pytest.param(GpuRequest(500, 2, ()), [600, 700, 1000], 87, id="two shared devices"),
        pytest.param(GpuRequest(900, 6, ()), [999] * 6, 50, id="many shared devices"),
        pytest.param(NOTHING, [1000, 300], 0, id="no devices"),
    ],
)
def test_packing_takes_what_is_shared_then_what_is_used_then_what_is_free(request_, left, expected):
    assert scores_of("04-GpuPacking", request_, [left]) == [expected]


@pytest.mark.parametrize(
    ("request_", "left", "expected"),
    [
        (TWO, [1000, 400, 1000, 1000], [0, 400, 0, 1000]),
        (GpuRequest(300, 2, ()), [1000, 400, 300, 200, 300], [1000, 400, 0, 200, 0]),
        (GpuRequest(300, 2, ()), [1000, 400, -1, 200, -1], [700, 100, -1, 200, -1]),
        (NOTHING, [1000, 0, -1], [1000, 0, -1]),
    ],
)
def test_the_devices_with_the_least_left_are_taken(request_, left, expected):
    assert _without(np.array([left]), request_).tolist() == [expected]


def test_the_first_of_equal_devices_stands_for_all():
    left = np.array([[1000, 400, 1000, 400], [1, 2, 3, 4]])
    assert _is_first(left).tolist() == [[True, True, False, False], [True] * 4]


# ---------------------------------------------------------------- fragments


def scheduler_of(*objects: Any, policy: str = "06-FGD", **options: Any) -> pw.Scheduler:
    """Return a scheduler for which half a device and two devices, with 1 CPU, are typical."""
    pods = gpu_pod("half", milli=500), gpu_pod("two", milli=1000, devices=2)
    typical = FgdTrace.of([*pods, gpu_node("n", 2)]).typical
    document = fgd_configuration(POLICIES[policy], typical)
    configuration = read_configuration(document, source="test")
    made = pw.Scheduler(
        configuration, plugins=[POLICIES[policy]], tie_rule=pw.TieRule.FIRST, **options
    )
    made.add(*objects)
    return made


def node_with(name: str, cpu: str, devices: int = 2, **fields: Any) -> pw.Node:
    resources = {"alibabacloud.com/gpu-count": str(devices)}
    return pw.testing.make_node(name, cpu=cpu, resources=resources, **fields)


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        # On `fresh` 1,700 are left, which the pod of two devices, one of two, cannot use: 850 more,
        # and 100 / (1 + e ** 0.85). On `small` no CPU is left for either. On `used` 750 are
        # fragments: a pod of 300 on its other device leaves 600.
        pytest.param({"milli": 300}, {"fresh": 29, "small": 15, "used": 53}, id="a share"),
        pytest.param({"milli": 1000}, {"fresh": 37, "small": 26, "used": 62}, id="a whole device"),
        pytest.param({"milli": 1000, "devices": 2}, {"fresh": 50, "small": 50}, id="two devices"),
        pytest.param(None, {"fresh": 50, "small": 11, "used": 50}, id="only CPU"),
    ],
)
def test_a_node_is_better_the_less_its_fragments_grow(pod, expected):
    placed = gpu_pod("placed", milli=500, index="0", node="used")
    scheduler = scheduler_of(
        node_with("fresh", "32"), node_with("small", "1"), node_with("used", "32"), placed
    )
    new = pw.testing.make_pod("new", cpu="1") if pod is None else gpu_pod("new", **pod)
    (found,) = scheduler.explain(new).scores
    assert {name: score for name, score in found.raw.items() if name in expected} == expected


def test_a_pod_that_requests_nothing_can_be_anywhere():
    scheduler = scheduler_of(node_with("a", "32"), node_with("b", "1"))
    (found,) = scheduler.explain(pw.testing.make_pod("new")).scores
    assert found.raw == {"a": 100, "b": 100}


@pytest.mark.parametrize(("policy", "device"), [("06-FGD", "1"), ("05-BestFit", "0")])
def test_a_share_gets_the_device_whose_fragments_grow_least(policy, device):
    """300 of the 500 that are left of one device leave 200 that no typical pod can use."""
    placed = gpu_pod("placed", milli=500, index="0", node="used")
    scheduler = scheduler_of(node_with("used", "32"), placed, policy=policy)
    found = scheduler.explain(gpu_pod("new", milli=300)).custom_results
    assert found == {"alibabacloud.com/gpu-index": device}


def test_a_policy_scores_by_a_rule_of_its_own():
    nothing: Any = None
    with pytest.raises(NotImplementedError):
        GpuPolicy().scores(nothing)


def test_fragments_need_a_workload():
    with pytest.raises(ValueError, match=r"^typicalPods: required; `podwright study fgd --print"):
        FragmentationGradientDescent(FragmentationGradientArgs())


# ---------------------------------------------------------------- placing


@pytest.mark.parametrize(
    ("pod", "model", "message"),
    [
        pytest.param({}, "T4", "node(s) without a GPU of an accepted model", id="another model"),
        pytest.param(
            {"milli": 1000, "devices": 3},
            "V100",
            "Insufficient alibabacloud.com/gpu-milli on its devices",
            id="too few devices",
        ),
        pytest.param({"milli": 1000, "devices": 2}, "V100", "", id="all devices"),
        pytest.param({}, "P100", "", id="the second model"),
    ],
)
def test_a_node_needs_devices_of_an_accepted_model(pod, model, message):
    annotations = {
        "alibabacloud.com/gpu-milli": str(pod.get("milli", 300)),
        "alibabacloud.com/gpu-count": str(pod.get("devices", 1)),
        "alibabacloud.com/gpu-card-model": "V100|P100",
    }
    labels = {"alibabacloud.com/gpu-card-model": model}
    scheduler = scheduler_of(
        node_with("n", "32", labels=labels), pw.testing.make_node("plain"), policy="04-GpuPacking"
    )
    found = scheduler.explain(pw.testing.make_pod("new", annotations=annotations))
    rejected = {name: status.reasons for name, status in found.rejected.items()}
    assert rejected.pop("plain") == ("node(s) without a GPU of an accepted model",)
    assert rejected == ({"n": (message,)} if message else {})


def test_a_node_without_devices_has_none_of_any_model():
    scheduler = scheduler_of(node_with("n", "32", devices=1), pw.testing.make_node("plain"))
    found = scheduler.explain(gpu_pod("new", milli=300)).rejected
    assert {name: status.reasons for name, status in found.items()} == {
        "plain": ("node(s) without a GPU of an accepted model",)
    }
    assert not scheduler.explain(pw.testing.make_pod("new")).rejected


def test_devices_are_held_from_reserve_until_they_are_written_or_given_back():
    scheduler = scheduler_of(node_with("n", "32"), policy="05-BestFit")
    (profile,) = scheduler.profiles.values()
    (policy,) = (each for each in profile.all_plugins() if isinstance(each, GpuPolicy))
    pod = gpu_pod("a", milli=600)
    written: dict[Any, Any] = {}
    results: list[Any] = []
    cycle: Any = SimpleNamespace(
        pod=pod,
        cluster=scheduler.cluster,
        write=written.__setitem__,
        find=written.get,
        custom_results=results,
    )
    assert policy.pre_bind(cycle, "n") == Status.OK, "nothing is to be written"
    plain: Any = SimpleNamespace(pod=pw.testing.make_pod("plain"))
    assert policy.reserve(plain, "n") == Status.OK
    assert not policy.remembers()

    policy.devices.assign(pod, [1])
    assert policy.remembers()
    policy.unreserve(cycle, "n")
    assert not policy.remembers()
    policy.devices.assign(pod, [1])
    policy.pod_ended(pod)
    assert not policy.remembers()

    large: Any = SimpleNamespace(pod=gpu_pod("b", milli=1000, devices=3), cluster=scheduler.cluster)
    assert policy.reserve(large, "n") == Status.unschedulable(
        "Insufficient alibabacloud.com/gpu-milli on its devices"
    )
    assert not policy.remembers()


def test_several_devices_are_named_in_their_order_and_not_by_what_is_left():
    placed = gpu_pod("placed", milli=400, index="1", node="n")
    scheduler = scheduler_of(node_with("n", "32"), placed, policy="05-BestFit")
    found = scheduler.explain(gpu_pod("new", milli=500, devices=2)).custom_results
    assert found == {"alibabacloud.com/gpu-index": "0-1"}


def test_the_devices_are_written_before_the_pod_is_bound():
    scheduler = scheduler_of(node_with("n", "32"), policy="05-BestFit")
    placed = scheduler.schedule(gpu_pod("a", milli=1000, devices=2))
    assert placed.node == "n"
    (profile,) = scheduler.profiles.values()
    (policy,) = (each for each in profile.all_plugins() if isinstance(each, GpuPolicy))
    found: Any = policy.pre_bind(SimpleNamespace(find=lambda _: "0-1"), "n")  # type: ignore[arg-type]
    assert isinstance(found, Pending)
    (call,) = found.calls
    assert call.annotations == {"alibabacloud.com/gpu-index": "0-1"}  # type: ignore[union-attr]


@pytest.mark.parametrize("policy", POLICIES)
def test_pods_share_results_by_what_they_request(policy):
    plugin = POLICIES[policy]
    made: Any = object.__new__(plugin)
    one, same, other, cpu = (
        gpu_pod("a", milli=500), gpu_pod("b", milli=500), gpu_pod("c", milli=501),
        pw.testing.make_pod("d", cpu="1"),
    )  # fmt: skip
    keys = [made.pod_key(pod) for pod in (one, same, other, cpu)]
    assert len(set(keys)) == (4 if policy == "01-Random" else 3)
    assert made.key_is_of_template(one) is False


# ---------------------------------------------------------------- a random node


@pytest.mark.parametrize(
    ("rows", "feasible", "among"),
    [
        pytest.param([0, 2, 3], None, {0, 2, 3}, id="all rows"),
        pytest.param([0, 1, 2, 3], [False, True, False, True], {1, 3}, id="feasible ones"),
        pytest.param([0, 1, 2, 3], [False] * 4, set(), id="none"),
    ],
)
def test_one_feasible_node_is_drawn_for_a_pod(rows, feasible, among):
    chosen = set()
    for number in range(20):
        values = np.full(4, 7, dtype=np.int64)
        out: Any = SimpleNamespace(
            rows=np.array(rows),
            values=values,
            feasible=None if feasible is None else np.array(feasible),
            clear=lambda values=values: values.fill(0),
        )
        cycle: Any = SimpleNamespace(pod=gpu_pod(f"p{number}", milli=500))
        nodes: Any = None
        RandomGpu(3).score_columns(cycle, nodes, out)
        assert set(values.tolist()) <= {0, 100}
        found = np.flatnonzero(values).tolist()
        assert len(found) == bool(among)
        chosen.update(found)
    assert chosen == among


def test_draws_depend_on_the_pod_the_seed_and_what_is_drawn():
    pods = [gpu_pod(name, milli=500) for name in "ab"]
    draws = {RandomGpu(seed)._draw(pod, at) for seed in (0, 1) for pod in pods for at in (0, 1)}
    assert len(draws) == 8
    assert RandomGpu()._draw(pods[0], 0) == RandomGpu(0)._draw(pods[0], 0)


def test_a_random_device_is_one_with_enough_left():
    left = np.array([1000, 300, 299, -1, 500])
    nothing: Any = None
    found = {
        RandomGpu(seed).device_of_share(
            SimpleNamespace(pod=gpu_pod("p", milli=300)),  # type: ignore[arg-type]
            nothing,
            left,
            GpuRequest(300, 1, ()),
        )
        for seed in range(30)
    }
    assert found == {0, 1, 4}
