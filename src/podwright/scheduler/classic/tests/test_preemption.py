"""Eligibility, candidates, victims, and each criterion of the choice."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import decode_as, with_fields, with_nominated_node_name
from podwright.apimachinery.objects.workload import PodDisruptionBudget
from podwright.scheduler.classic import (
    ClassicCluster,
    ClassicScheduler,
    Extender,
    ExtenderError,
    ExtenderSettings,
    Failure,
    Victims,
    algorithm_of_provider,
    preempt,
)
from podwright.scheduler.classic.extender import ManagedResource
from podwright.scheduler.classic.preemption import choose, potential_nodes
from podwright.testing import make_node, make_pod


def scheduler_of(*objects, **settings):
    cluster = ClassicCluster()
    for obj in objects:
        cluster.put(obj)
    return ClassicScheduler(algorithm_of_provider(), cluster, **settings)


def started(pod, second):
    return with_fields(pod, "status", start_time=f"2026-01-01T00:00:{second:02}Z")


def preempted(scheduler, pod):
    return preempt(scheduler, pod, scheduler.decide(pod).failed)


def names(pods):
    return [pod.name for pod in pods]


def budget(app, allowed, selector=None):
    chosen = {"matchLabels": {"app": app}} if selector is None else selector
    return decode_as(
        {
            "metadata": {"name": app, "namespace": "default"},
            "spec": {"selector": chosen},
            "status": {"disruptionsAllowed": allowed, "disruptedPods": {"v": None}},
        },
        PodDisruptionBudget,
    )


BIG = make_pod("big", cpu="3", priority=100)


def test_the_least_important_that_suffice_are_victims():
    scheduler = scheduler_of(
        make_node("n1", cpu="4"),
        make_pod("low", cpu="2", priority=1, node="n1"),
        make_pod("middle", cpu="1", priority=2, node="n1"),
        make_pod("equal", cpu="1", priority=100, node="n1"),
    )
    found = preempted(scheduler, BIG)
    assert (found.result, found.node) == ("nominated", "n1")
    assert names(found.victims) == ["middle", "low"], "the more important first"


def test_all_pods_that_the_pod_avoids_are_victims():
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "host"}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    scheduler = scheduler_of(
        make_node("n1", cpu="4", labels={"host": "n1"}),
        make_pod("first", labels={"app": "x"}, priority=2, node="n1"),
        make_pod("second", labels={"app": "x"}, priority=1, node="n1"),
        make_pod("other", node="n1"),
    )
    pod = make_pod("alone", priority=9, spec={"affinity": anti})
    assert names(preempted(scheduler, pod).victims) == ["first", "second"]


def test_of_equals_the_later_started_is_a_victim():
    scheduler = scheduler_of(
        make_node("n1", cpu="4"),
        started(make_pod("new", cpu="1", node="n1"), 30),
        started(make_pod("old", cpu="1", node="n1"), 10),
        make_pod("not-started", cpu="1", node="n1"),
    )
    assert names(preempted(scheduler, BIG).victims) == ["new", "not-started"]


def test_pods_with_a_budget_are_given_back_first():
    scheduler = scheduler_of(
        make_node("n1", cpu="4"),
        make_pod("kept", cpu="1", priority=1, node="n1", labels={"app": "db"}),
        make_pod("victim", cpu="3", priority=2, node="n1"),
        budget("db", 0),
    )
    found = preempted(scheduler, BIG)
    assert names(found.victims) == ["victim"]
    assert found.candidates["n1"].violations_count == 0


def test_a_pod_with_a_budget_that_must_go_is_one_victim():
    scheduler = scheduler_of(
        make_node("n1", cpu="4"),
        make_pod("kept", cpu="1", node="n1"),
        make_pod("victim", cpu="3", node="n1", labels={"app": "db"}),
        budget("db", 0),
    )
    found = preempted(scheduler, BIG)
    assert names(found.victims) == ["victim"]
    assert found.candidates["n1"].violations_count == 1


def test_what_a_budget_allows_is_not_used_up():
    pods = [make_pod(f"v{i}", cpu="2", node="n1", labels={"app": "db"}) for i in range(2)]
    scheduler = scheduler_of(make_node("n1", cpu="4"), *pods, budget("db", 1))
    found = preempted(scheduler, make_pod("huge", cpu="4", priority=9))
    assert found.candidates["n1"].violations_count == 0
    assert len(found.victims) == 2


def test_a_budget_counts_for_the_pods_that_it_selects():
    pods = [
        make_pod("own", cpu="4", node="n1", labels={"app": "db"}),
        make_pod("other", cpu="4", node="n2", labels={"app": "web"}),
        make_pod("foreign", cpu="4", node="n3", labels={"app": "db"}, namespace="other"),
        make_pod("bare", cpu="4", node="n4"),
    ]
    nodes = [make_node(f"n{number}", cpu="4") for number in range(1, 5)]
    found = preempted(scheduler_of(*nodes, *pods, budget("db", 0)), BIG)
    assert {name: each.violations_count for name, each in found.candidates.items()} == {
        "n1": 1, "n2": 0, "n3": 0, "n4": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("selector", "count"),
    [
        pytest.param({"matchLabels": {"app": "db"}}, 1, id="it selects the victim"),
        pytest.param({}, 0, id="an empty selector selects no pod"),
        pytest.param(
            {"matchExpressions": [{"key": "app", "operator": "In"}]}, 0,
            id="a selector that is not valid is skipped",
        ),
    ],
)  # fmt: skip
def test_selectors_of_budgets(selector, count):
    victim = make_pod("v", cpu="4", node="n1", labels={"app": "db"})
    found = preempted(scheduler_of(make_node("n1", cpu="4"), victim, budget("a", 0, selector)), BIG)
    assert found.candidates["n1"].violations_count == count


def test_a_budget_with_an_invalid_selector_selects_nothing():
    expression = {"key": "app", "operator": "In", "values": []}
    invalid = {"matchExpressions": [expression]}
    scheduler = scheduler_of(
        make_node("n1", cpu="4"),
        make_pod("v", cpu="2", node="n1", labels={"app": "db"}),
        budget("first", 0, invalid),
        budget("db", 0),
    )
    assert preempted(scheduler, BIG).candidates["n1"].violations_count == 1


def test_a_pod_whose_node_has_lower_pods_that_stay_may_preempt():
    scheduler = scheduler_of(
        make_node("n1", cpu="4"), make_pod("low", cpu="4", node="n1"), make_node("n2", cpu="1")
    )
    assert preempted(scheduler, with_nominated_node_name(BIG, "n1")).node == "n1"


def test_a_pod_whose_node_is_being_cleared_waits():
    victim = with_fields(
        make_pod("v", cpu="2", node="n1"), "metadata", deletion_timestamp="2026-01-01T00:00:00Z"
    )
    scheduler = scheduler_of(make_node("n1", cpu="2"), victim)
    assert preempted(scheduler, BIG).result != "not eligible"
    assert preempted(scheduler, with_nominated_node_name(BIG, "n1")).result == "not eligible"
    one_of_two = scheduler_of(make_node("n1", cpu="2"), make_pod("w", node="n1"), victim)
    assert preempted(one_of_two, with_nominated_node_name(BIG, "n1")).result == "not eligible"


@pytest.mark.parametrize(("gate", "result"), [(True, "not eligible"), (False, "nominated")])
def test_never_counts_only_with_the_feature_gate(gate, result):
    scheduler = scheduler_of(
        make_node("n1", cpu="4"),
        make_pod("v", cpu="4", node="n1"),
        non_preempting_priority=gate,
    )
    pod = make_pod("big", cpu="3", priority=9, spec={"preemptionPolicy": "Never"})
    assert preempted(scheduler, pod).result == result


@pytest.mark.parametrize(
    ("predicate", "helps"),
    [
        ("PodFitsResources", True),
        ("PodAntiAffinityRulesNotMatch", True),
        ("MatchInterPodAffinity", True),
        ("", True),
        ("PodAffinityRulesNotMatch", False),
        ("MatchNodeSelector", False),
        ("HostName", False),
        ("PodToleratesNodeTaints", False),
        ("NodeUnschedulable", False),
        ("NoVolumeZoneConflict", False),
    ],
)
def test_nodes_are_left_out_by_the_reason_of_their_rejection(predicate, helps):
    nodes = scheduler_of(make_node("n1")).cluster.nodes()
    assert bool(potential_nodes(nodes, {"n1": (Failure(predicate, "why"),)})) is helps


def test_without_a_node_to_help_the_pod_loses_its_nomination():
    scheduler = scheduler_of(make_node("n1", taints=["x:NoSchedule"]))
    found = preempted(scheduler, BIG)
    assert (found.result, names(found.clear)) == ("no potential node", ["big"])


def test_a_potential_node_need_not_be_a_candidate():
    scheduler = scheduler_of(make_node("n1", cpu="1"))
    found = preempted(scheduler, BIG)
    assert (found.result, found.potential, found.clear) == ("no candidate", ["n1"], [])


def test_lower_nominated_pods_of_the_node_are_cleared():
    nominated = [
        with_nominated_node_name(make_pod(name, priority=priority), "n1")
        for name, priority in (("lower", 1), ("equal", 100), ("higher", 200))
    ]
    scheduler = scheduler_of(
        make_node("n1", cpu="4"), make_pod("v", cpu="4", node="n1"), *nominated
    )
    assert names(preempted(scheduler, BIG).clear) == ["lower"]


def test_room_for_a_nominated_pod_of_equal_priority_is_respected():
    promised = with_nominated_node_name(make_pod("promised", cpu="3", priority=100), "n1")
    scheduler = scheduler_of(make_node("n1", cpu="4"), make_pod("v", cpu="4", node="n1"), promised)
    assert preempted(scheduler, BIG).result == "no candidate"


# ------------------------------------------------------------------------------ criteria


def victims(*priorities, violations=0, seconds=()):
    pods = [make_pod(f"v{i}", priority=priority) for i, priority in enumerate(priorities)]
    pods = [started(p, s) for p, s in zip(pods, seconds or (0,) * len(pods), strict=True)]
    return Victims(tuple(pods), violations)


@pytest.mark.parametrize(
    ("candidates", "chosen", "criterion"),
    [
        pytest.param({"a": victims(1)}, ["a"], None, id="one candidate needs no criterion"),
        pytest.param({"a": victims(1), "b": victims()}, ["b"], 0, id="no victims"),
        pytest.param(
            {"a": victims(1, violations=1), "b": victims(9, 9)}, ["b"], 1, id="fewest violations"
        ),
        pytest.param({"a": victims(5), "b": victims(4, 4, 4)}, ["b"], 2, id="lowest first victim"),
        pytest.param(
            {"a": victims(3, 9, violations=1), "b": victims(4, violations=1)},
            ["a"],
            2,
            id="the first victim counts, even if a later one is more important",
        ),
        pytest.param(
            {"a": victims(5, 4), "b": victims(5, 3)}, ["b"], 3, id="smallest sum of priorities"
        ),
        pytest.param(
            {"a": victims(-(2**31), -(2**31)), "b": victims(-(2**31))},
            ["b"],
            4,
            id="fewest victims of priority 0",
        ),
        pytest.param(
            {"a": victims(5, 1, seconds=(10, 59)), "b": victims(5, 1, seconds=(20, 0))},
            ["b"],
            5,
            id="latest start among the highest",
        ),
        pytest.param(
            {"a": victims(5), "b": victims(5), "c": victims(6)}, ["a", "b"], 6, id="a tie remains"
        ),
    ],
)
def test_choice(candidates, chosen, criterion):
    choice = choose(candidates)
    assert (list(choice.node_names), choice.criterion) == (chosen, criterion)


# ----------------------------------------------------------------------------- extenders


def two_nodes(extender):
    return scheduler_of(
        make_node("n1", cpu="4"),
        make_node("n2", cpu="4"),
        make_pod("v1", cpu="4", priority=1, node="n1"),
        make_pod("v2", cpu="4", priority=2, node="n2"),
        extenders=[extender],
    )


def test_an_extender_may_drop_candidates():
    settings = ExtenderSettings(preempt_verb="preempt")
    extender = Extender(settings, preempt=lambda _, found: {"n2": found["n2"]})
    assert preempted(two_nodes(extender), BIG).node == "n2"


@pytest.mark.parametrize("ignorable", [True, False])
def test_a_failed_extender_is_skipped_if_it_is_ignorable(ignorable):
    def fail(_pod, _found):
        raise ExtenderError("sick")

    settings = ExtenderSettings(preempt_verb="preempt", ignorable=ignorable)
    scheduler = two_nodes(Extender(settings, preempt=fail))
    if ignorable:
        assert preempted(scheduler, BIG).node == "n1"
    else:
        with pytest.raises(ExtenderError, match="sick"):
            preempted(scheduler, BIG)


def test_extenders_are_called_for_candidates_that_concern_them():
    calls = []

    def extender(name, answer, **settings):
        def preempt_verb(pod, found):
            calls.append((name, pod.name, sorted(found)))
            return {node: found[node] for node in answer}

        given = {"preempt_verb": "preempt", **settings}
        return Extender(ExtenderSettings(**given), preempt=preempt_verb)

    extenders = [
        extender("no verb", [], preempt_verb=""),
        extender(
            "of other resources", [], managed_resources=(ManagedResource(name="example.com/gpu"),)
        ),
        extender("first", ["n1"]),
        extender("second", []),
        extender("third", ["n1"]),
    ]
    scheduler = scheduler_of(
        make_node("n1", cpu="4"),
        make_node("n2", cpu="4"),
        *(make_pod(f"v{number}", cpu="4", node=f"n{number}") for number in (1, 2)),
        extenders=extenders,
    )
    found = preempted(scheduler, BIG)
    assert calls == [("first", "big", ["n1", "n2"]), ("second", "big", ["n1"])]
    assert (found.result, found.candidates) == ("no candidate", {})
