"""Preemption in one pass over columns has the same result as calls of the filters."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import Pod, decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import DEFAULT_GATES, KubeSchedulerConfiguration, effective
from podwright.scheduler.framework.nominated import NominatedCheck
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.preemption import choose
from podwright.scheduler.preemption.sums import Limits, SummedNodes, dry_run

pytestmark = pytest.mark.property

NOW_NS = 1_800_000_000_000_000_000
PRIORITIES = [None, 1, 7, -5, 0, 7, 1_000, -(2**31)]
PREEMPTOR = "default/preemptor"


def _profile() -> Profile:
    registry = Registry()
    configuration = effective(
        KubeSchedulerConfiguration(), DEFAULT_GATES, implements=registry.points_of
    )
    return build_profiles(configuration, registry)["default-scheduler"]


PROFILE = _profile()


@st.composite
def nodes(draw: st.DrawFn, name: str) -> dict[str, Any]:
    taints = draw(st.sampled_from([[], [], [], [{"key": "a", "effect": "NoSchedule"}]]))
    allocatable = {
        "cpu": draw(st.sampled_from(["2", "2", "3", "1"])),
        "memory": draw(st.sampled_from(["4Gi", "8Gi"])),
        "pods": draw(st.sampled_from(["110", "110", "110", "4", "0"])),
    }
    if draw(st.booleans()):
        allocatable["example.com/gpu"] = draw(st.sampled_from(["1", "4"]))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"disk": draw(st.sampled_from(["ssd", "hdd"]))}},
        "spec": {
            "taints": taints,
            "unschedulable": draw(st.sampled_from([False, False, False, True])),
        },
        "status": {"allocatable": allocatable},
    }


@st.composite
def pods(draw: st.DrawFn, name: str, node: str = "") -> dict[str, Any]:
    requests = {
        "cpu": draw(st.sampled_from(["900m", "1", "500m", "0", "2"])),
        "memory": draw(st.sampled_from(["1Gi", "0", "3Gi"])),
    }
    if draw(st.sampled_from([True, False, False])):
        requests["example.com/gpu"] = "1"
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": draw(st.sampled_from(["default", "other"])),
        "uid": f"uid-{name}",
        "labels": draw(st.sampled_from([{}, {"app": "a"}, {"app": "b"}, {"app": "a", "t": "x"}])),
    }
    status: dict[str, Any] = {}
    if node:
        second = draw(st.integers(0, 3))
        status["startTime"] = draw(
            st.sampled_from([None, f"2026-01-01T00:00:0{second}Z", f"2026-01-01T00:00:0{second}Z"])
        )
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "nodeName": node,
            "priority": draw(st.sampled_from(PRIORITIES)),
            "schedulerName": "default-scheduler",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
        },
        "status": {key: value for key, value in status.items() if value is not None},
    }


@st.composite
def budgets(draw: st.DrawFn, name: str) -> dict[str, Any]:
    selector = draw(
        st.sampled_from([None, {}, {"matchLabels": {"app": "a"}}, {"matchLabels": {"t": "x"}}])
    )
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": draw(st.sampled_from(["default", "other"]))},
        "spec": {"selector": selector},
        "status": {
            "disruptionsAllowed": draw(st.integers(-1, 2)),
            "disruptedPods": draw(st.sampled_from([{}, {}, {"p0-0": "2026-01-01T00:00:00Z"}])),
        },
    }


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[dict[str, Any]], Pod]:
    documents: list[dict[str, Any]] = []
    count = draw(st.integers(3, 6))
    for i in range(count):
        documents.append(draw(nodes(f"n{i}")))
        documents += [draw(pods(f"p{i}-{j}", f"n{i}")) for j in range(draw(st.integers(2, 5)))]
    documents += [draw(budgets(f"b{i}")) for i in range(draw(st.integers(0, 3)))]
    for i in range(draw(st.integers(0, 3))):
        nominated = draw(pods(f"w{i}"))
        nominated["status"]["nominatedNodeName"] = f"n{draw(st.integers(0, count))}"
        documents.append(nominated)
    preemptor = draw(pods("preemptor"))
    preemptor["metadata"]["namespace"] = "default"
    preemptor["spec"]["priority"] = draw(st.sampled_from([1_000, 7, 2_000, 1_000, None]))
    resources = preemptor["spec"]["containers"][0]["resources"]
    resources["requests"]["cpu"] = draw(st.sampled_from(["1", "1500m", "2", "500m"]))
    if draw(st.sampled_from([False, False, True])):
        preemptor["spec"]["nodeSelector"] = {"disk": "ssd"}
    if draw(st.booleans()):
        preemptor["status"]["nominatedNodeName"] = "n0"
    return documents, decode_pod(preemptor)


def _check_nominated(runner: PluginRunner, pod: Pod) -> None:
    """The sums with nominated pods find the same nodes as a dry run."""
    ranking = runner.ranking_of(pod)
    summed = NominatedCheck(runner.profile, ranking, pod, runner.cluster)
    summed.apply(np.zeros(runner.cluster.nodes.n_slots, dtype=np.int64))
    simulated = NominatedCheck(runner.profile, ranking, pod, runner.cluster)
    simulated._run_filters()
    # A node that an earlier filter rejects is left to that filter.
    for slot, status in simulated.rejected.items():
        assert summed.rejected.get(slot, ranking.first_rejection(slot)) == status
    assert summed.rejected.keys() <= simulated.rejected.keys()


def _check(runner: PluginRunner, pod: Pod, limits: Limits, number: int) -> None:
    decision = runner.decide(pod, cycle_number=number)
    if decision.diagnosis is None or runner._failed is None:
        return
    failed = runner._failed
    _check_nominated(runner, pod)
    failed.cycle_number, failed.now_ns = number, NOW_NS
    assert SummedNodes.of(failed) is not None
    fast = dry_run(failed, limits)
    plain = dry_run(failed, limits, use_sums=False)
    assert list(fast.candidates) == list(plain.candidates)
    assert sorted(fast.rejections, key=repr) == sorted(plain.rejections, key=repr)
    assert sorted(fast.errors) == sorted(plain.errors)
    assert fast.visited_count == plain.visited_count
    if len(fast.candidates):
        assert choose(fast.candidates, now_ns=NOW_NS) == choose(
            list(plain.candidates), now_ns=NOW_NS
        )


@effort(100)
@given(
    situations(),
    st.integers(0, 20),
    st.integers(0, 4),
    st.integers(0, 3),
    st.lists(st.sampled_from(["evict", "bind", "budget", "node", "leave", "nominate"]), max_size=6),
    st.data(),
)
def test_columns_and_filters_find_the_same(situation, percentage, least, number, changes, data):
    documents, pod = situation
    cluster = Cluster()
    for document in documents:
        cluster.put(decode(document))
    cluster.put(pod)
    runner = PluginRunner(PROFILE, cluster, seed=3)
    limits = Limits(percentage, least)
    _check(runner, pod, limits, number)
    for i, change in enumerate(changes):
        # The columns of ranked pods and the cached dry runs follow the changes between two
        # attempts.
        match change:
            case "evict" if cluster.pods:
                cluster.remove(data.draw(st.sampled_from(sorted(cluster.pods))))
            case "bind":
                name = data.draw(st.sampled_from(cluster.nodes.names))
                cluster.put(decode(data.draw(pods(f"new{i}", name))))
            case "budget":
                cluster.put(decode(data.draw(budgets(f"b{i}"))))
            case "node":
                cluster.put(decode(data.draw(nodes(f"n{data.draw(st.integers(0, 6))}"))))
            case "leave":
                cluster.delete(cluster.nodes.objects[cluster.live_slots()[0]])
                if not cluster.nodes.n_alive:
                    return
            case "nominate":
                nominated = data.draw(pods(f"w{i}"))
                nominated["status"]["nominatedNodeName"] = data.draw(
                    st.sampled_from(cluster.nodes.names)
                )
                cluster.put(decode(nominated))
            case _:
                pass
        priorities = st.sampled_from([pod.spec.priority, 7, pod.spec.priority])
        other = msgspec.structs.replace(
            pod, spec=msgspec.structs.replace(pod.spec, priority=data.draw(priorities))
        )
        _check(runner, other, limits, number + i)
