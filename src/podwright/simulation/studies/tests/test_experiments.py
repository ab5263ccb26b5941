"""The parts of an experiment, with numbers that are worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from podwright.scheduler.framework import Status, TieRule
from podwright.simulation.studies import POLICIES, FgdTrace, fgd_configuration
from podwright.simulation.studies.fgd import FgdRun, Measure, _clone, _Experiment, _inflation, _tune
from podwright.simulation.studies.go_random import GoRandom
from podwright.simulation.studies.tests.test_fgd import gpu_node, gpu_pod


class Drawn(GoRandom):
    """A generator of given numbers of 31 bits."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = list(numbers)

    def int63(self) -> int:
        return self._numbers.pop(0) << 32


@pytest.mark.parametrize(
    ("limit", "numbers", "found", "left"),
    [
        (5, (2**31 - 1, 2**31 - 3, 2**31 - 4), 4, 0),
        (5, (2**31 - 4, 7), 4, 1),
        (2**30 + 1, (2**30 + 1, 2**30, 3), 2**30, 1),
        (2**30 + 1, (2**30 + 2, 2**31 - 1, 8), 8, 0),
        (2**30, (2**31 - 1, 1), 2**30 - 1, 1),
        (3, (2**31 - 1, 2**31 - 2, 2**31 - 3), 2, 0),
        (1, (2**31 - 1,), 0, 0),
    ],
)
def test_numbers_beyond_the_last_whole_multiple_of_the_limit_are_drawn_again(
    limit, numbers, found, left
):
    random = Drawn(*numbers)
    assert random.below(limit) == found
    assert len(random._numbers) == left


def trace_of(*pods: Any, devices: int = 2) -> FgdTrace:
    return FgdTrace.of([*pods, gpu_node("n2", devices), gpu_node("n1", devices)])


def test_the_state_after_each_pod_is_measured():
    """Two nodes of two devices; pods of half a device and of two whole ones are typical."""
    half, whole = gpu_pod("half", milli=500), gpu_pod("whole", milli=1000, devices=2)
    trace = trace_of(half, whole)
    experiment = _Experiment(trace, "05-BestFit", 0, TieRule.FIRST, [0, 1])
    # Nothing is unusable: each of the two kinds fits everywhere.
    assert experiment.measure() == Measure(0.0, 0.0, 0.0)
    assert experiment.place(half)
    # On its node 1,500 are left, which the pod of two devices, one of two, cannot use.
    found = experiment.measure()
    assert found.allocated_pct == 12.5
    assert found.fragment_pct == pytest.approx(100 * 750 / 4000)
    assert found.fragment_ratio_pct == pytest.approx(100 * 750 / 3500)
    assert experiment.place(whole)
    assert not experiment.place(gpu_pod("second", milli=1000, devices=2))
    found = experiment.measure()
    assert found.allocated_pct == 62.5
    assert found.fragment_pct == pytest.approx(100 * 750 / 4000)
    assert found.fragment_ratio_pct == pytest.approx(100 * 750 / 1500)


def test_nothing_is_a_fragment_if_nothing_is_free():
    pods = [gpu_pod(name, milli=1000, devices=2) for name in ("a", "b")]
    experiment = _Experiment(trace_of(*pods), "05-BestFit", 0, TieRule.FIRST, [0, 1])
    run = experiment.schedule_all([*pods, gpu_pod("c", milli=1000)])
    assert experiment.measure() == Measure(100.0, 0.0, 0.0)
    assert run.failed == 1
    assert run.arrived_pct.tolist() == [50, 100, 125]
    assert run.allocated_pct.tolist() == [50, 100, 100]
    assert (run.policy, run.seed, run.inflated) == ("05-BestFit", 0, None)


def series(arrived: list[int], **columns: list[float]) -> FgdRun:
    values: dict[str, Any] = {name: np.array(each, np.float64) for name, each in columns.items()}
    return FgdRun("x", 0, np.array(arrived), failed=0, **values)


def test_the_means_of_a_percentage_are_those_with_it_or_next_to_it():
    run = series(
        [10, 10, 11, 14], allocated_pct=[1, 3, 5, 7], fragment_pct=[2, 4, 6, 8],
        fragment_ratio_pct=[0, 10, 20, 30],
    )  # fmt: skip
    assert run.at(10) == Measure(2, 3, 5)
    assert run.at(11) == Measure(5, 6, 20)
    assert run.at(9) == Measure(2, 3, 5)
    assert run.at(12) == Measure(5, 6, 20)
    assert run.at(13) == run.at(15) == Measure(7, 8, 30)
    assert run.at(8) is None
    assert run.at(16) is None


class Chosen(GoRandom):
    """A generator whose numbers below a limit are given."""

    def __init__(self, *numbers: int) -> None:
        self._given = list(numbers)
        self.limits: list[int] = []

    def below(self, limit: int) -> int:
        self.limits.append(limit)
        return self._given.pop(0)


@pytest.mark.parametrize(
    ("ratio", "drawn", "names", "limits"),
    [
        pytest.param(0, (), ["a", "b"], [], id="as the list is"),
        pytest.param(0.5, (), ["a", "b"], [], id="exactly so much"),
        pytest.param(0.3, (0,), ["b"], [2], id="one is too many"),
        pytest.param(0.2, (1, 0), [], [2, 1], id="both are too many"),
        pytest.param(1, (1, 0), ["a", "b", "b-tuned-0", "a-tuned-1"], [2, 2], id="two more"),
        pytest.param(
            0.6, (0,), ["a", "b"], [2], id="another one of half the devices would be too many"
        ),
    ],
)
def test_a_list_is_cut_or_extended_until_it_requests_a_multiple(ratio, drawn, names, limits):
    """Four devices, and two pods that request one each."""
    pods = [gpu_pod(name, milli=1000) for name in "ab"]
    arriving, random = list(pods), Chosen(*drawn)
    _tune(arriving, trace_of(*pods), ratio, random)
    assert [pod.name for pod in arriving] == names
    assert random.limits == limits


def test_an_inflation_ends_before_the_nodes_have_too_little():
    pods = [gpu_pod("a", milli=1000), gpu_pod("b", milli=1000)]
    trace = trace_of(*pods)
    found = list(_inflation(pods, trace, 1.6, Chosen(1, 0, 0, 0)))
    assert [pod.name for pod in found] == ["b-clone-0", "a-clone-1"]
    found = list(_inflation(pods, trace, 1.5, Chosen(1)))
    assert [pod.name for pod in found] == ["b-clone-0"]
    found = list(_inflation([*pods, *pods], trace, 2, Chosen(1)))
    assert found == [], "all four devices are requested"


def test_a_clone_has_a_name_and_a_uid_of_its_own():
    pod = gpu_pod("a", milli=1000)
    clone = _clone(pod, "b")
    assert (clone.name, clone.metadata.uid) == ("b", f"{pod.uid}/b")
    assert clone.metadata.annotations == pod.metadata.annotations


def test_a_trace_has_its_objects_by_name_and_the_sums_of_its_nodes():
    trace = trace_of(gpu_pod("b", milli=500), gpu_pod("a", milli=1000, devices=2), devices=3)
    assert [node.name for node in trace.nodes] == ["n1", "n2"]
    assert [pod.name for pod in trace.pods] == ["a", "b"]
    assert trace.total_milli == 6000
    cpu = [int(node.status.allocatable["cpu"]) for node in trace.nodes]
    assert trace.total_milli_cpu == 1000 * sum(cpu)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_is_the_only_one_that_scores(policy):
    cls = POLICIES[policy]
    typical = trace_of(gpu_pod("a", milli=500)).typical
    found = fgd_configuration(cls, typical, 7)
    arguments = {
        "01-Random": {"seed": 7},
        "06-FGD": {"typicalPods": [
            {"milliCpu": 1000, "gpuMilli": 500, "gpuCount": 1, "models": "", "frequency": 1.0}]},
    }.get(policy)  # fmt: skip
    assert found == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 100,
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {
                    "multiPoint": {"enabled": [{"name": cls.name}]},
                    "score": {"disabled": [{"name": "*"}], "enabled": [{"name": cls.name}]},
                    "postFilter": {"disabled": [{"name": "*"}]},
                },
            }
            | ({"pluginConfig": [{"name": cls.name, "args": arguments}]} if arguments else {})
        ],
    }


def test_the_seed_of_a_random_policy_is_0_by_default():
    assert fgd_configuration(POLICIES["01-Random"], ()) == fgd_configuration(
        POLICIES["01-Random"], (), 0
    )


def test_a_pod_is_bound_once_its_devices_are_written():
    plugin = POLICIES["05-BestFit"]()
    nothing: Any = None

    def after(error: Any) -> Status:
        progress: Any = SimpleNamespace(answers=(SimpleNamespace(error=error),))
        found = plugin.continue_pre_bind(nothing, "n1", progress)
        assert isinstance(found, Status)
        return found

    assert after(None) == Status.OK
    assert after(SimpleNamespace(message="conflict")) == Status.error("conflict")
