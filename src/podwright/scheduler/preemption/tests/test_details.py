"""Small rules of preemption: where the search starts, and what a plugin that fails leaves."""

from __future__ import annotations

import msgspec
import pytest

from podwright.scheduler.framework import Code, Plugin, Status
from podwright.scheduler.preemption.preempt import eligibility
from podwright.scheduler.preemption.sums import Limits, at, dry_run
from podwright.scheduler.preemption.tests.situations import (
    cluster_of,
    failed_cycle,
    node,
    pod,
    profile,
)


def full_cluster(node_count: int):
    nodes = [node(f"n{i}") for i in range(node_count)]
    pods = [pod(f"p{i}", "2", on=f"n{i}") for i in range(node_count)]
    return cluster_of(*nodes, *pods)


@pytest.mark.parametrize("use_sums", [False, True])
def test_without_a_drawn_offset_the_search_starts_at_the_first_node(use_sums):
    settings = msgspec.structs.replace(profile(), draws_preemption_offset=False)
    failed = failed_cycle(pod("high", "2", priority=1), full_cluster(8))
    failed.profile = settings
    found = dry_run(failed, Limits(percentage=0, least=2), use_sums=use_sums)
    assert found.offset == 0
    assert [candidate.node for candidate in found.candidates] == ["n0", "n1"]


@pytest.mark.parametrize("use_sums", [False, True])
def test_the_drawn_offset_is_a_node_and_the_search_wraps_around(use_sums):
    offsets = set()
    for cycle_number in range(40):
        failed = failed_cycle(pod("high", "2", priority=1), full_cluster(8))
        failed.cycle_number = cycle_number
        found = dry_run(failed, Limits(percentage=0, least=3), use_sums=use_sums)
        offsets.add(found.offset)
        expected = [f"n{(found.offset + i) % 8}" for i in range(3)]
        assert [candidate.node for candidate in found.candidates] == expected
    assert offsets == set(range(8))


def test_the_offset_of_a_seed_and_a_cycle_stays_the_same():
    # Another draw would give recorded runs other victims.
    drawn = []
    for seed, number in [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]:
        failed = failed_cycle(pod("high", "2", priority=1), full_cluster(64))
        failed.seed, failed.cycle_number = seed, number
        drawn.append(dry_run(failed).offset)
    assert drawn == [45, 5, 17, 0, 40, 58]


def test_a_pod_without_a_nomination_does_not_wait_for_any_node():
    going = pod("going", "0", priority=0, on="n1", terminating=True)
    cluster = cluster_of(node("n0"), node("n1"), pod("a", "2", on="n0"), going)
    cluster.put(pod("b", "2", on="n1"))
    assert eligibility(failed_cycle(pod("high", "2", priority=1), cluster)) is Status.OK


def test_a_nomination_to_a_missing_node_does_not_wait():
    going = pod("going", "0", priority=0, on="n1", terminating=True)
    cluster = cluster_of(node("n0"), node("n1"), pod("a", "2", on="n0"), going)
    cluster.put(pod("b", "2", on="n1"))
    failed = failed_cycle(pod("high", "2", priority=1, nominated="gone"), cluster)
    assert eligibility(failed) is Status.OK


@pytest.mark.parametrize(
    "indices",
    [[], [2], [0, 1, 2], [3, 4, 0], [0, 2], [1, 2, 4]],
)
def test_values_at_indices(indices):
    values = "abcde"
    assert at(values, indices) == tuple(values[i] for i in indices)


def test_a_candidate_can_be_read_from_the_end():
    failed = failed_cycle(pod("high", "2", priority=1), full_cluster(3))
    candidates = dry_run(failed, Limits(percentage=100, least=3)).candidates
    assert len(candidates) == 3
    assert candidates[-1] == candidates[2]
    assert candidates[-2:] == [candidates[1], candidates[2]]
    assert candidates[-3] == candidates[0]
    for outside in (3, -4):
        with pytest.raises(IndexError):
            candidates[outside]
    assert [len(one.victims) for one in candidates] == [1, 1, 1]


class Counting(Plugin):
    """Counts pods over many nodes."""

    name = "Counting"

    def pre_filter(self, cycle):
        return Status.OK

    def filter(self, cycle, node):
        return Status.OK


class FailsToAdd(Counting):
    """Fails where a pod is put back during a dry run."""

    def add_pod(self, cycle, placed):
        raise RuntimeError("no pods")


class FailsToRemove(Counting):
    """Fails where a pod is removed during a dry run."""

    def remove_pod(self, cycle, placed):
        raise RuntimeError("no pods")


@pytest.mark.parametrize(
    ("plugin", "point"), [(FailsToAdd, "AddPod"), (FailsToRemove, "RemovePod")]
)
def test_a_plugin_that_raises_when_a_pod_is_added_or_removed_ends_the_cycle(plugin, point):
    import podwright as pw

    scheduler = pw.Scheduler(plugins=[plugin])
    scheduler.add(pw.testing.make_node("n1", cpu="2"))
    for name in ("low", "spared"):
        scheduler.add(pw.testing.make_pod(name, cpu="1", node="n1"))
    decision = scheduler.schedule(pw.testing.make_pod("high", cpu="1", priority=5))
    assert not decision.node
    assert decision.post_filter is not None
    assert decision.post_filter.status.code is Code.ERROR
    assert "Counting" in decision.post_filter.status.message
    assert point in decision.post_filter.status.message
