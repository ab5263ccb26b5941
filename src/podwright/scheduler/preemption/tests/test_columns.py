"""What preemption reads of the cluster follows what happens there."""

import pytest

from podwright.apimachinery.objects import with_node_name
from podwright.scheduler.columns.placement import NOT_STARTED, importance
from podwright.scheduler.preemption.tests.situations import budget, cluster_of, node, pod

LATE, EARLY = "2026-01-01T00:00:09Z", "2026-01-01T00:00:01Z"


def names(pods):
    return [p.metadata.name for p in pods]


def test_importance_is_priority_then_age_then_name():
    pods = [
        pod("b", priority=1, started=EARLY),
        pod("new", priority=1),
        pod("top", priority=2),
        pod("a", priority=1, started=EARLY),
        pod("late", priority=1, started=LATE),
    ]
    assert names(sorted(pods, key=importance)) == ["top", "a", "b", "late", "new"]


@pytest.mark.parametrize(
    ("budgets", "numbers"),
    [
        pytest.param([budget("b", 1, {"app": "a"})], (0,), id="the labels match"),
        pytest.param([budget("b", 1, {"app": "b"})], (), id="they do not"),
        pytest.param([budget("b", 1, {})], (), id="an empty selector covers no pod"),
        pytest.param([budget("b", 1, None)], (), id="and neither does none"),
        pytest.param(
            [budget("b", 1, {"app": "a"}), budget("c", 1, {"app": "a"})], (0, 1), id="both"
        ),
        pytest.param(
            [budget("b", 1, {"app": "a"}, disruptedPods={"x": None})],
            (),
            id="it is disrupted already",
        ),
    ],
)
def test_which_budgets_are_charged(budgets, numbers):
    cluster = cluster_of(*budgets)
    assert cluster.budgets.of(pod("x", labels={"app": "a"})) == numbers


def test_every_budget_is_charged_also_after_a_violation():
    cluster = cluster_of(
        node("n1"),
        *[pod(name, on="n1", priority=p, labels={"app": "a"}) for name, p in (("x", 2), ("y", 1))],
        budget("none", 0, {"app": "a"}),
        budget("one", 1, {"app": "a"}),
    )
    placed = sorted(cluster.pods.values(), key=lambda p: importance(p.pod))
    violating, others = cluster.budgets.split(placed)
    assert names(p.pod for p in violating) == ["x", "y"]
    assert not others
    cluster.delete(budget("none", 0, {}))
    violating, others = cluster.budgets.split(placed)
    assert names(p.pod for p in violating) == ["y"]
    assert names(p.pod for p in others) == ["x"]


def test_a_budget_is_taken_over_when_its_count_changes():
    cluster = cluster_of(budget("b", 1, {"app": "a"}))
    version = cluster.budgets.version
    cluster.put(budget("b", 5, {"app": "a"}))
    assert cluster.budgets.allowed == [5]
    assert cluster.budgets.version == version


def test_ranked_pods_follow_arrivals_departures_and_new_nodes():
    cluster = cluster_of(node("n1"), pod("low", on="n1"), pod("high", on="n1", priority=5))
    ranked = cluster.ranked_pods

    def on(slot):
        ranked.bring_up_to_date(cluster.live_slots())
        first, n = ranked.first[slot], ranked.counts[slot]
        assert ranked.priorities[first : first + n].tolist() == [
            p.spec.priority for p in ranked.pods[slot]
        ]
        return names(ranked.pods[slot])

    assert on(0) == ["high", "low"]
    cluster.remove("default/high")
    cluster.put(node("n2"))
    for i in range(9):
        cluster.put(pod(f"p{i}", on="n2", priority=i, started=EARLY))
    cluster.put(budget("b", 0, {"app": "a"}))
    cluster.put(pod("covered", on="n1", labels={"app": "a"}))
    assert on(1) == [f"p{i}" for i in reversed(range(9))]
    assert on(0) == ["covered", "low"]
    first = ranked.first[0]
    assert (ranked.budget_sets[first : first + 2] > 0).tolist() == [True, False]
    assert ranked.starts[first] == NOT_STARTED


def test_nominations_are_kept_as_columns():
    cluster = cluster_of(
        node("n1"),
        pod("a", "1", priority=1, nominated="n1"),
        pod("b", "2", priority=2, nominated="later"),
    )
    nominations = cluster.nominations
    slots, priorities, requests = nominations.columns()
    assert slots.tolist() == [0, -1]
    assert priorities.tolist() == [1, 2]
    assert requests[:, 0].tolist() == [1_000, 2_000]
    cluster.put(node("later"))
    assert nominations.columns()[0].tolist() == [0, 1]
    cluster.put(with_node_name(pod("a", "1", priority=1), "n1"))
    assert nominations.columns()[1].tolist() == [2]
    assert set(cluster.nominated) == {"later"}
    cluster.delete(pod("b"))
    assert not cluster.nominated


def test_a_dry_run_restores_host_ports():
    port = {"name": "c", "image": "i", "ports": [{"hostPort": 80, "containerPort": 80}]}
    cluster = cluster_of(
        node("n1"), *[pod(name, on="n1", containers=[port]) for name in ("a", "b")]
    )
    ports = cluster.pods["default/a"].keys.ports
    with cluster.dry_run(0) as dry_run:
        dry_run.remove(cluster.pods["default/a"])
        assert not cluster.ports.conflicts(0, ports)
        assert not cluster.ports.conflicting_slots(ports)
    assert cluster.ports.conflicts(0, ports)
    cluster.remove("default/a")
    assert cluster.ports.conflicting_slots(ports) == [0]
    cluster.remove("default/b")
    assert not cluster.ports.slots()
