import gc

import pytest

from podwright.scheduler.columns.nodes import FIXED_RESOURCES
from podwright.scheduler.columns.placement import NOT_STARTED
from podwright.scheduler.preemption.tests.situations import budget, cluster_of, node, pod

START = "2026-01-01T00:00:00Z"


def ranked_after(cluster):
    ranked = cluster.ranked_pods
    ranked.bring_up_to_date(cluster.live_slots())
    return ranked


def with_gpu(name, **fields):
    requests = {"cpu": "1", "x.com/gpu": "2"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    return pod(name, on="n", containers=[container], **fields)


def test_a_pod_without_an_extended_resource_requests_none_in_a_reused_row():
    gpu_pod = with_gpu("a")
    cluster = cluster_of(node("n"), gpu_pod)
    assert ranked_after(cluster).requests[0].tolist()[len(FIXED_RESOURCES) :] == [2]
    cluster.delete_pod(gpu_pod.key, gpu_pod)
    plain = pod("b", on="n")
    cluster.put_pod(plain.key, plain)
    assert ranked_after(cluster).requests[0].tolist()[len(FIXED_RESOURCES) :] == [0]


def test_the_latest_start_ignores_pods_that_have_not_started():
    cluster = cluster_of(node("n"), pod("a", on="n"))
    assert ranked_after(cluster).latest_start_ns == 0
    started = pod("b", on="n", started=START)
    cluster.put_pod(started.key, started)
    assert ranked_after(cluster).latest_start_ns == 1_767_225_600_000_000_000


def test_pods_are_in_no_budget_after_the_last_one_is_deleted():
    only = budget("b", 1, {"a": "1"})
    cluster = cluster_of(node("n"), pod("p", on="n", labels={"a": "1"}), only)
    assert ranked_after(cluster).budget_sets[0] == 1
    cluster.delete(only)
    assert ranked_after(cluster).budget_sets[0] == 0


def rows_of(cluster, slot):
    """Return name, priority, milli-CPU and budgets of the pods of a slot, most important first."""
    ranked = cluster.ranked_pods
    first, count = int(ranked.first[slot]), int(ranked.counts[slot])
    places = range(first, first + count)
    sets = [ranked.set_first[n : n + 2] for n in ranked.budget_sets[first : first + count].tolist()]
    budgets = [ranked.set_members[slice(*ends)].tolist() for ends in sets]
    names = [one.metadata.name for one in ranked.pods[slot]]
    return [
        (name, int(ranked.priorities[place]), int(ranked.requests[place, 0]), of_pod)
        for name, place, of_pod in zip(names, places, budgets, strict=True)
    ]


def test_the_rows_of_pods_most_important_first():
    cluster = cluster_of(
        node("a"),
        node("b"),
        pod("late", on="a", started="2026-01-02T00:00:00Z"),
        pod("early", on="a", started=START),
        pod("high", "250m", on="a", priority=7, labels={"x": "1"}),
        pod("waiting", on="a"),
        pod("low", on="b", priority=-1, labels={"x": "1", "y": "1"}),
        budget("of-x", 1, {"x": "1"}),
        budget("of-y", 1, {"y": "1"}),
    )
    ranked = ranked_after(cluster)
    assert rows_of(cluster, 0) == [
        ("high", 7, 250, [0]),
        ("early", 0, 1000, []),
        ("late", 0, 1000, []),
        ("waiting", 0, 1000, []),
    ]
    assert rows_of(cluster, 1) == [("low", -1, 1000, [0, 1])]
    assert ranked.starts[int(ranked.first[0]) + 3] == NOT_STARTED
    # 0 stands for a slot without a result.
    assert sorted(ranked.written.tolist()) == [1, 2]


def test_slots_grow_and_unused_ranges_are_dropped():
    names = [f"n{i}" for i in range(20)]
    cluster = cluster_of(*map(node, names))
    for slot, name in enumerate(names):
        for i in range(40):
            cluster.put(pod(f"p{i:02}-{name}", f"{i + 1}m", on=name, priority=slot))
            ranked_after(cluster)
            assert len(rows_of(cluster, slot)) == i + 1
    for slot, name in enumerate(names):
        assert rows_of(cluster, slot) == [(f"p{i:02}-{name}", slot, i + 1, []) for i in range(40)]
    # The ranges that each node had while it got its pods would need more than 3,000 places.
    assert len(cluster.ranked_pods.priorities) < 3_000
    grown = cluster_of(node("n"), *[pod(f"p{i:04}", on="n", priority=-i) for i in range(1_025)])
    ranked_after(grown)
    assert [row[1] for row in rows_of(grown, 0)] == [-i for i in range(1_025)]


@pytest.mark.parametrize(
    ("change", "writes"),
    [
        pytest.param(lambda _: None, 0, id="nothing"),
        pytest.param(lambda c: c.put(pod("q", on="a")), 1, id="a pod"),
        pytest.param(lambda c: c.put(node("a", "9")), 0, id="a node"),
        pytest.param(lambda c: c.put(node("c")), 1, id="a new node"),
        pytest.param(lambda c: c.put(budget("b", 1, {})), 2, id="a budget"),
        pytest.param(lambda c: c.nodes.pods_journal.forget(), 2, id="all pods"),
        pytest.param(lambda c: c.nodes.add_resources(["x"]), 0, id="a resource"),
    ],
)
def test_only_slots_whose_pods_have_changed_are_written(change, writes):
    cluster = cluster_of(node("a"), node("b"), pod("p", on="a"))
    before = set(ranked_after(cluster).written.tolist())
    change(cluster)
    ranked = ranked_after(cluster)
    assert len(set(ranked.written.tolist()) - before) == writes
    assert ranked.requests.shape[1] == len(cluster.nodes.resources)
    assert [one[0] for one in rows_of(cluster, 0)][:1] == ["p"]


def test_nodes_with_new_slots_are_all_written():
    cluster = cluster_of(node("gone"), node("a"), pod("p", on="a"))
    ranked_after(cluster)
    cluster.delete(node("gone"))
    cluster._renumber()
    assert len(ranked_after(cluster).written) == 1
    assert rows_of(cluster, 0) == [("p", 0, 1000, [])]


class Borrower:
    settled = 0

    def settle(self):
        self.settled += 1


def test_readers_are_notified_once_before_pods_are_written():
    cluster = cluster_of(node("a"), pod("p", on="a"))
    first, second, gone = Borrower(), Borrower(), Borrower()
    for borrower in (first, gone, second):
        cluster.ranked_pods.lend(borrower)
    del borrower, gone
    gc.collect()
    ranked_after(cluster)
    ranked_after(cluster)
    assert (first.settled, second.settled) == (1, 1)
    cluster.ranked_pods.lend(first)
    cluster.nodes.pods_journal.forget()
    cluster.ranked_pods.record_changes()
    assert (first.settled, second.settled) == (2, 1)


@pytest.mark.parametrize("count", [1, 1_019, 1_020, 1_021, 3_000])
def test_what_is_written_stays_when_the_pool_grows(count):
    cluster = cluster_of(
        node("n"),
        node("m"),
        with_gpu("gpu", labels={"a": "1"}, priority=3),
        pod("started", "250m", on="n", started=START, labels={"b": "1"}),
        budget("of-a", 1, {"a": "1"}),
        budget("of-b", 1, {"b": "1"}),
    )
    ranked = ranked_after(cluster)

    def written():
        first = int(ranked.first[0])
        rows = range(first, first + int(ranked.counts[0]))
        return [
            (
                int(ranked.priorities[row]),
                int(ranked.starts[row]),
                ranked.requests[row].tolist(),
                int(ranked.budget_sets[row]),
            )
            for row in rows
        ]

    before = written()
    width = len(cluster.nodes.resources)
    assert before == [
        (3, NOT_STARTED, [1000, 0, 0, 1, 2], 1),
        (0, 1_767_225_600_000_000_000, [250, 0, 0, 1, 0], 2),
    ]
    for number in range(count):
        cluster.place(pod(f"p{number}", priority=-number), 1)
    assert ranked_after(cluster) is ranked
    assert written() == before
    assert [row[1] for row in rows_of(cluster, 1)] == [-number for number in range(count)]
    arrays = ranked.priorities, ranked.starts, ranked.budget_sets
    assert {len(array) for array in arrays} == {len(ranked.requests)}
    assert ranked.requests.shape[1] == width == 5


def test_the_latest_start_is_forgotten_with_the_slots():
    cluster = cluster_of(node("n"), pod("a", on="n", started=START))
    ranked = ranked_after(cluster)
    assert ranked.latest_start_ns > 0
    cluster.delete(pod("a", on="n"))
    assert ranked_after(cluster).latest_start_ns > 0, "no pod ever started later"
    ranked.reach = 7
    cluster.nodes.pods_journal.forget()
    assert (ranked_after(cluster).latest_start_ns, ranked.reach) == (0, 0)
    assert ranked.pods == [()]
    assert ranked.counts.tolist() == [0]
