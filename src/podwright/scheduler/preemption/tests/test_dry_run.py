"""Cached results of dry runs are reused, except where a slot has changed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from podwright._arrays import I32Array
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster, TriedSlots
from podwright.scheduler.framework import Cycle, NodeView, Plugin, Reads, Status
from podwright.scheduler.kernels.preemption import Room
from podwright.scheduler.preemption.sums import (
    Limits,
    SummedCandidates,
    SummedNodes,
    dry_run,
)
from podwright.scheduler.preemption.tests.situations import (
    NOW_NS,
    budget,
    cluster_of,
    failed_cycle,
    node,
    pod,
    profile,
)
from podwright.scheduler.preemption.victims import (
    NO_VICTIMS,
    Candidate,
    DryRun,
    expected_a_victim,
    select_victims,
)

COVERED = {"app": "a"}
HIGH = pod("high", "1500m", priority=10)


def full_cluster() -> Cluster:
    """Return two nodes, each full of two pods; the lower one is covered by a budget."""
    return cluster_of(
        node("n1"),
        node("n2"),
        pod("a1", on="n1", priority=1, labels=COVERED),
        pod("b1", on="n1", priority=2),
        pod("a2", on="n2", priority=1, labels=COVERED),
        pod("b2", on="n2", priority=2),
        budget("b", 0, COVERED),
    )


def found(cluster: Cluster, preemptor: Pod) -> tuple[DryRun, DryRun]:
    """Return the results of the sums and of the filters."""
    failed = failed_cycle(preemptor, cluster)
    plain = dry_run(failed, use_sums=False)
    assert not isinstance(plain.candidates, SummedCandidates)
    return dry_run(failed), plain


def reasons(run: DryRun) -> object:
    return list(run.candidates), run.rejections


def measured(run: DryRun) -> list[list[int]]:
    assert isinstance(run.candidates, SummedCandidates)
    rows: list[list[int]] = run.candidates.measures.tolist()
    return rows


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: c.put(node("n1", "1")), id="a node shrinks"),
        pytest.param(lambda c: c.put(node("n1", "3")), id="a node grows"),
        pytest.param(lambda c: c.put(node("n1", unschedulable=True)), id="a node is cordoned"),
        pytest.param(lambda c: c.delete(node("n2")), id="a node is deleted"),
        pytest.param(
            lambda c: (c.put(node("n3")), c.put(pod("x", "2", on="n3"))), id="a full node is added"
        ),
        pytest.param(lambda c: c.put(pod("c", on="n2", priority=5)), id="a pod is added"),
        pytest.param(
            lambda c: (c.remove("default/b1"), c.put(pod("c", on="n1", priority=11))),
            id="a pod takes another one's place",
        ),
        pytest.param(
            lambda c: c.put(pod("b1", on="n1", priority=2, started="2026-01-01T00:00:00Z")),
            id="a pod starts",
        ),
        pytest.param(lambda c: c.put(budget("b", 1, COVERED)), id="a budget has more left"),
        pytest.param(lambda c: c.delete(budget("b", 0, COVERED)), id="a budget is deleted"),
        pytest.param(lambda c: c.put(budget("b", 0, {"app": "b"})), id="it covers others"),
        pytest.param(
            lambda c: c.put(pod("w", "1", priority=10, nominated="n1")), id="a pod is nominated"
        ),
        pytest.param(
            lambda c: c.put(pod("w", "1", priority=10, nominated="n2")), id="to the other node"
        ),
        pytest.param(
            lambda c: (c.remove("default/b1"), c.put(pod("w", "2", priority=11, nominated="n1"))),
            id="a pod is nominated where another one has gone",
        ),
    ],
)
def test_a_dry_run_uses_the_changes_since_the_last_one(change: Callable[[Cluster], object]):
    cluster = full_cluster()
    before, plain_before = found(cluster, HIGH)
    assert reasons(before) == reasons(plain_before)
    change(cluster)
    after, plain = found(cluster, HIGH)
    assert reasons(after) == reasons(plain)
    again, _ = found(cluster, HIGH)
    assert reasons(again) == reasons(after)
    assert (reasons(before), measured(before)) != (reasons(after), measured(after)), "it mattered"


@pytest.mark.parametrize("is_bound", [False, True])
@pytest.mark.parametrize("name", ["n1", "n2"])
def test_the_effect_of_a_nominated_pod_ends_with_its_nomination(name: str, is_bound: bool):
    cluster = full_cluster()
    waiting = pod("w", "1", priority=10, nominated=name)
    first, _ = found(cluster, HIGH)
    expected = reasons(first), measured(first)
    cluster.put(waiting)
    assert len(found(cluster, HIGH)[0].candidates) < len(first.candidates)
    cluster.clear_nomination(waiting)
    if is_bound:
        for gone in cluster.pods_on[cluster.nodes.slot_of[name]].copy():
            cluster.remove(gone)
        cluster.put(pod("w", "1", priority=5, on=name))
    after, plain = found(cluster, HIGH)
    assert reasons(after) == reasons(plain)
    assert ((reasons(after), measured(after)) == expected) is not is_bound


def test_more_victims_make_room_for_a_nominated_pod_only_while_it_is_nominated():
    cluster, preemptor = full_cluster(), pod("one", "1", priority=10)
    waiting = pod("w", "1", priority=10, nominated="n1")
    counts = []
    for change in (lambda _: None, cluster.put, cluster.clear_nomination):
        change(waiting)
        run, plain = found(cluster, preemptor)
        assert reasons(run) == reasons(plain)
        counts.append({each.node: len(each.victims) for each in run.candidates})
    assert counts == [{"n1": 1, "n2": 1}, {"n1": 2, "n2": 1}, {"n1": 1, "n2": 1}]


@pytest.mark.parametrize(
    "preemptor",
    [
        pytest.param(pod("other", "1500m", priority=2), id="of lower priority"),
        pytest.param(pod("other", "500m", priority=10), id="that requests less"),
    ],
)
def test_results_of_one_preemptor_are_not_used_for_another(preemptor: Pod):
    cluster = full_cluster()
    first, _ = found(cluster, HIGH)
    other, plain = found(cluster, preemptor)
    assert reasons(other) == reasons(plain)
    assert reasons(other) != reasons(first)
    assert reasons(found(cluster, HIGH)[0]) == reasons(first)


def test_more_kinds_of_preemptors_than_are_cached_find_correct_results():
    cluster = full_cluster()
    for _ in range(2):
        for priority in range(2, 9):
            one, plain = found(cluster, pod("one", "1500m", priority=priority))
            assert reasons(one) == reasons(plain)


@pytest.mark.parametrize("use_sums", [True, False])
@pytest.mark.parametrize("required", [1, 2, 3])
@pytest.mark.parametrize("harmless", [(), (3,), (2, 3), (0, 1, 2, 3, 4, 5)])
def test_a_search_ends_with_enough_candidates_of_which_one_is_harmless(
    harmless: tuple[int, ...], required: int, use_sums: bool
):
    cluster = cluster_of(
        *[node(f"n{i}") for i in range(6)],
        *[pod(f"p{i}", "2", on=f"n{i}", labels={} if i in harmless else COVERED) for i in range(6)],
        budget("b", 0, COVERED),
    )
    offsets = set()
    for number in range(12):
        run = dry_run(failed_cycle(HIGH, cluster, number), Limits(0, required), use_sums=use_sums)
        order = [(run.offset + i) % 6 for i in range(6)]
        firsts = [order.index(i) + 1 for i in harmless]
        assert run.visited_count == max(required, min(firsts, default=6))
        names = [candidate.node for candidate in run.candidates]
        assert names == [f"n{i}" for i in order[: run.visited_count]]
        offsets.add(run.offset)
    assert len(offsets) > 3


def test_without_a_pod_of_lower_priority_no_node_is_tried():
    cluster = full_cluster()
    failed = failed_cycle(pod("one", "1500m", priority=1), cluster)
    assert not cluster.has_pods_below(1)
    run = dry_run(failed)
    # The same as from trying each node: one more pod, on no node that could help, turns that on.
    cluster.put(node("other", unschedulable=True))
    cluster.put(pod("low", on="other", priority=0))
    failed = failed_cycle(pod("one", "1500m", priority=1), cluster)
    assert cluster.has_pods_below(1)
    for tried in (dry_run(failed), dry_run(failed, use_sums=False)):
        assert reasons(tried) == reasons(run)
        assert tried.visited_count == run.visited_count
        assert (tried.helpable_count, tried.offset) == (run.helpable_count, run.offset)
    assert [(each.status, each.count) for each in run.rejections] == [(NO_VICTIMS, 2)]


def test_the_lowest_priority_follows_the_placed_pods():
    cluster = full_cluster()
    assert (cluster.has_pods_below(2), cluster.has_pods_below(1)) == (True, False)
    cluster.remove("default/a1")
    assert cluster.has_pods_below(2)
    cluster.remove("default/a2")
    assert (cluster.has_pods_below(3), cluster.has_pods_below(2)) == (True, False)
    cluster.put(pod("b1", on="n2", priority=0))
    assert cluster.has_pods_below(1)


@pytest.mark.parametrize("use_sums", [True, False])
def test_nodes_that_have_room_without_a_victim_are_errors(use_sums: bool):
    cluster = cluster_of(
        *[obj for name in ("n1", "n2", "n3") for obj in (node(name), pod(f"low-{name}", on=name))],
        *[pod(f"top-{name}", on=name, priority=20) for name in ("n1", "n2", "n3")],
    )
    failed = failed_cycle(pod("one", "1", priority=10), cluster)
    # The room comes between the filters and the dry run.
    for name in ("n1", "n2"):
        cluster.delete(pod(f"top-{name}", on=name))
    run = dry_run(failed, use_sums=use_sums)
    assert [candidate.node for candidate in run.candidates] == ["n3"]
    assert set(run.errors) == {
        f'expected at least one victim pod on node "{name}"' for name in ("n1", "n2")
    }
    assert {rejection.status: rejection.count for rejection in run.rejections} == {
        expected_a_victim(name): 1 for name in ("n1", "n2")
    }


def test_nodes_with_one_reason_are_counted_together():
    cluster = cluster_of(
        node("n1"), pod("low", "2", on="n1"),
        node("n2"), pod("low-2", on="n2"), pod("top-2", on="n2", priority=20),
        node("n3"), pod("low-3", on="n3"), pod("top-3", on="n3", priority=20),
        node("n4"), pod("top", "2", on="n4", priority=20),
    )  # fmt: skip
    for run in found(cluster, pod("one", "2", priority=10)):
        assert [candidate.node for candidate in run.candidates] == ["n1"]
        counts = {one.status.reasons: one.count for one in run.rejections}
        assert counts == {("Insufficient cpu",): 2, NO_VICTIMS.reasons: 1}
        assert run.errors == ()
        assert {type(one.count) for one in run.rejections} == {int}, "the log can encode them"


@pytest.mark.parametrize("started", ["2099-01-01T00:00:00Z", "2999-01-01T00:00:00Z"])
def test_while_a_pod_starts_in_the_future_the_filters_are_called(started: str):
    cluster = full_cluster()
    cluster.put(pod("a1", on="n1", priority=1, labels=COVERED, started=started))
    # The first search writes the pods; the second one knows of them before it starts.
    for _ in range(2):
        run, plain = found(cluster, HIGH)
        assert not isinstance(run.candidates, SummedCandidates)
        assert len(run.candidates) == 2
        assert reasons(run) == reasons(plain)


def test_a_pod_that_starts_now_is_not_in_the_future():
    cluster = full_cluster()
    assert NOW_NS == 1_900_000_000 * 10**9
    cluster.put(pod("a1", on="n1", priority=1, labels=COVERED, started="2030-03-17T17:46:40Z"))
    for _ in range(2):
        run, plain = found(cluster, HIGH)
        assert isinstance(run.candidates, SummedCandidates)
        assert reasons(run) == reasons(plain)


@pytest.mark.parametrize("use_sums", [True, False])
def test_if_no_candidate_is_required_the_first_harmless_one_ends_the_search(use_sums: bool):
    # A hundredth of six nodes. Upstream: pkg/scheduler/framework/preemption/preemption.go,
    # DryRunPreemption: a search ends after a candidate, not before one.
    cluster = cluster_of(
        *[node(f"n{i}") for i in range(6)], *[pod(f"p{i}", "2", on=f"n{i}") for i in range(6)]
    )
    run = dry_run(failed_cycle(HIGH, cluster), Limits(percentage=1, least=0), use_sums=use_sums)
    assert (len(run.candidates), run.visited_count) == (1, 1)


def test_a_pod_of_priority_zero_preempts_pods_of_negative_priority():
    cluster = cluster_of(node("n1"), pod("low", "2", on="n1", priority=-1))
    for run in found(cluster, pod("one", priority=0)):
        assert [candidate.node for candidate in run.candidates] == ["n1"]


@pytest.mark.parametrize(
    ("hopeless_count", "efforts"),
    [
        pytest.param(0, [1, 1], id="none"),
        pytest.param(5, [1, 1], id="as many as are required: twice as many are tried at first"),
        pytest.param(11, [2, 1], id="more: the next search tries at once what this one visited"),
        pytest.param(12, [2, 1], id="and some more, in case it visits some more"),
    ],
)
def test_the_effort_of_searches_that_visit_hopeless_nodes(
    monkeypatch: pytest.MonkeyPatch, hopeless_count: int, efforts: list[int]
):
    tries: list[int] = []
    write = SummedNodes._try

    def counted(nodes: SummedNodes, slots: I32Array, room: Room, tried: TriedSlots) -> bool:
        tries.append(len(slots))
        return write(nodes, slots, room, tried)

    monkeypatch.setattr(SummedNodes, "_try", counted)
    cluster = cluster_of(*[node(f"n{i:02}", "2") for i in range(40)])
    settings = msgspec.structs.replace(profile(), draws_preemption_offset=False)
    found = []
    for more in (0, hopeless_count // 4):
        for i in range(40):
            priority = 20 if i < hopeless_count + more else 0
            cluster.put(pod(f"p{i}", "1500m", on=f"n{i:02}", priority=priority))
        failed = failed_cycle(HIGH, cluster)
        failed.profile = settings
        tries.clear()
        run = dry_run(failed, Limits(percentage=0, least=5))
        assert (len(run.candidates), run.visited_count) == (5, hopeless_count + more + 5)
        found.append(len(tries))
    assert found == efforts


def test_a_pod_that_started_very_long_ago_is_the_most_important_one():
    cluster = cluster_of(
        node("n1"),
        pod("a", on="n1", started="0001-01-01T00:00:00Z"),
        pod("b", on="n1", started="1970-01-01T00:00:00Z"),
    )
    for run in found(cluster, pod("one", "1", priority=10)):
        (candidate,) = run.candidates
        assert [each.metadata.name for each in candidate.victims] == ["b"]


@pytest.mark.parametrize(
    ("last", "victims"), [((), ["b"]), (["default/a"], ["a"]), (["default/a", "default/b"], ["b"])]
)
def test_of_equally_important_pods_those_named_last_are_evicted_first(
    last: list[str], victims: list[str]
):
    cluster = cluster_of(node("n1"), pod("a", on="n1"), pod("b", on="n1"))
    failed = failed_cycle(pod("one", "1", priority=10), cluster)
    candidate = select_victims(failed, 0, last=frozenset(last))
    assert isinstance(candidate, Candidate)
    assert [each.metadata.name for each in candidate.victims] == victims


class Picky(Plugin):
    """Rejects a node by its name, which eviction does not change."""

    name = "Picky"
    filter_reads = Reads.NODE

    def filter(self, _cycle: Cycle, node: NodeView) -> Status:
        """Pass all nodes but one."""
        return Status.unschedulable("never here") if node.name == "n2" else Status()


def test_a_filter_that_does_not_read_pods_rejects_after_the_eviction_too():
    cluster = full_cluster()
    cluster.put(node("n3"))
    cluster.put(pod("a3", "2", on="n3", priority=1))
    failed = failed_cycle(HIGH, cluster, plugins=[Picky])
    runs = dry_run(failed), dry_run(failed, use_sums=False)
    for run in runs:
        assert sorted(candidate.node for candidate in run.candidates) == ["n1", "n3"]
        (rejection,) = run.rejections
        assert (rejection.status.reasons, rejection.status.plugin) == (("never here",), "Picky")
        assert rejection.count == 1
    assert isinstance(runs[0].candidates, SummedCandidates)
