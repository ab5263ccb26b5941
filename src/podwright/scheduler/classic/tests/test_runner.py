"""Decisions, explanations and preemption of the v1.16 rules in the framework's words."""

from __future__ import annotations

from typing import Any, cast

import pytest

from podwright.apimachinery.objects import decode, with_fields, with_nominated_node_name
from podwright.scheduler.classic import (
    Algorithm,
    ClassicRunner,
    algorithm_from_policy,
    algorithm_of_provider,
    read_policy,
)
from podwright.scheduler.classic.cluster import MirroredCluster
from podwright.scheduler.classic.runner import ClassicCriterion, ClassicPreemption
from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.framework import Code, Profile, run_steps
from podwright.testing import make_node, make_pod


def runner_of(
    *objects: Any, policy: dict[str, Any] | None = None, algorithm: Algorithm | None = None,
    **options: Any,
) -> ClassicRunner:  # fmt: skip
    cluster = MirroredCluster()
    for obj in objects:
        cluster.put(obj)
        if obj.kind == "Pod":
            cluster.place(obj, cluster.nodes.slot_of[obj.spec.node_name])
    algorithm = algorithm or (
        algorithm_of_provider() if policy is None else algorithm_from_policy(read_policy(policy))
    )
    # The profile names the scheduler and its plugins at other points, which no decision reads.
    return ClassicRunner(cast(Profile, None), cluster, algorithm, **options)


def nodes(*names: str, **fields: Any) -> list[Any]:
    return [make_node(name, **fields) for name in names]


SMALL = make_pod("p", cpu="1")
LOST = decode({
    "apiVersion": "v1", "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c", "namespace": "default",
                 "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
    "spec": {"volumeName": "lost"},
})  # fmt: skip
OF_LOST = make_pod(
    "p", cpu="1", priority=5,
    spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
)  # fmt: skip
PORTS = [{"containerPort": 1, "hostPort": 1}]
HOST_PORT = {"containers": [{"name": "c", "image": "i", "ports": PORTS}]}


def test_a_decision_has_the_counts_of_its_search() -> None:
    runner = runner_of(*nodes("a", "b", cpu="2"), make_node("c", cpu="500m"))
    decision = runner.decide(SMALL, cycle_number=1)
    assert decision.node in ("a", "b")
    assert decision.slot == runner.cluster.nodes.slot_of[decision.node]
    assert (decision.feasible_count, decision.evaluated_count, decision.tie_count) == (2, 3, 2)
    totals = runner.explain(SMALL, cycle_number=1, now_ns=0).totals
    assert decision.total == totals[decision.node] == max(totals.values())
    assert (decision.error, decision.diagnosis) == (None, None)
    # One node is taken without scores.
    alone = runner_of(make_node("a")).decide(SMALL, cycle_number=1)
    assert (alone.node, alone.total, alone.tie_count) == ("a", None, 1)


def test_a_runner_without_options_has_those_of_upstream() -> None:
    runner = runner_of(*nodes("a"))
    assert runner.seed == 0
    assert runner.scheduler.percentage_of_nodes_to_score == 0
    assert not runner.scheduler.non_preempting_priority


def test_the_draw_depends_on_the_seed_and_the_cycle() -> None:
    def chosen(seed: int) -> list[str]:
        runner = runner_of(*nodes(*"abcdef"), seed=seed)
        return [runner.decide(SMALL, cycle_number=number).node for number in range(20)]

    assert chosen(1) == chosen(1)
    assert chosen(1) != chosen(2)
    assert len({*chosen(1)}) > 2


@pytest.mark.parametrize(
    ("objects", "pod", "rejections"),
    [
        pytest.param([], SMALL, [], id="no nodes"),
        pytest.param(
            nodes("a", "b", cpu="500m"), SMALL,
            [("GeneralPredicates", Code.UNSCHEDULABLE, ("Insufficient cpu",), 2)],
            id="too small",
        ),
        pytest.param(
            [*nodes("a", unschedulable=True), *nodes("b", taints=["k:NoSchedule"])], SMALL,
            [
                ("CheckNodeUnschedulable", Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
                 ("node(s) were unschedulable",), 1),
                ("PodToleratesNodeTaints", Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
                 ("node(s) had taints that the pod didn't tolerate",), 1),
            ],
            id="what evictions do not resolve",
        ),
        pytest.param(
            [*nodes("a"), make_pod("q", node="a", spec=HOST_PORT)],
            make_pod("p", spec=HOST_PORT),
            [("GeneralPredicates", Code.UNSCHEDULABLE,
              ("node(s) didn't have free ports for the requested pod ports",), 1)],
            id="a port in use",
        ),
        pytest.param(
            nodes("a"), make_pod("p", node="b"),
            [("GeneralPredicates", Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
              ("node(s) didn't match the requested hostname",), 1)],
            id="another node is named",
        ),
        pytest.param(
            nodes("a", cpu="500m"), make_pod("p", cpu="1", node_selector={"x": "y"}),
            [("GeneralPredicates", Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
              ("Insufficient cpu", "node(s) didn't match node selector"), 1)],
            id="two reasons, of which one is final",
        ),
    ],
)  # fmt: skip
def test_why_no_node_fits(objects: list[Any], pod: Any, rejections: list[Any]) -> None:
    decision = runner_of(*objects).decide(pod, cycle_number=1)
    diagnosis = decision.diagnosis
    assert diagnosis is not None
    found = [
        (each.status.plugin, each.status.code, each.status.reasons, each.count)
        for each in diagnosis.rejections
    ]
    assert found == rejections
    node_count = sum(obj.kind == "Node" for obj in objects)
    assert diagnosis.node_count == node_count
    assert diagnosis.rejected_by == {plugin for plugin, *_ in rejections}
    assert decision.evaluated_count == node_count


def test_parts_of_general_predicates_are_named_as_the_policy_does() -> None:
    policy = {"predicates": [{"name": "PodFitsResources"}]}
    decision = runner_of(make_node("a", cpu="500m"), policy=policy).decide(SMALL, cycle_number=1)
    assert decision.diagnosis is not None
    assert decision.diagnosis.rejected_by == {"PodFitsResources"}


def test_of_all_predicates_that_reject_a_node_the_first_one_is_named() -> None:
    small = make_node("a", cpu="500m", taints=["k:NoSchedule"])
    policy = {
        "alwaysCheckAllPredicates": True,
        "predicates": [{"name": "PodToleratesNodeTaints"}, {"name": "PodFitsResources"}],
    }
    diagnosis = runner_of(small, policy=policy).decide(SMALL, cycle_number=1).diagnosis
    assert diagnosis is not None
    (rejection,) = diagnosis.rejections
    assert rejection.status.plugin == "PodFitsResources"
    assert rejection.status.reasons == (
        "Insufficient cpu",
        "node(s) had taints that the pod didn't tolerate",
    )


def test_an_error_ends_the_cycle_as_unschedulable() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    pod = make_pod("p", spec={"volumes": volumes})
    decision = runner_of(make_node("a")).decide(pod, cycle_number=1)
    assert decision.error is not None
    assert (decision.error.code, decision.error.message) == (
        Code.UNSCHEDULABLE, 'persistentvolumeclaim "c" not found',
    )  # fmt: skip
    assert decision.diagnosis is None


def test_weights_can_be_replaced() -> None:
    runner = runner_of(
        *nodes("a"), percentage_of_nodes_to_score=7, non_preempting_priority=True, workers=3, seed=5
    )
    other = runner.with_weights({"ImageLocalityPriority": 9, "Unknown": 1})
    assert other.weights == {**runner.weights, "ImageLocalityPriority": 9}
    assert runner.weights["NodePreferAvoidPodsPriority"] == 10_000
    assert (other.cluster, other.seed, other.profile) == (runner.cluster, 5, runner.profile)
    own, same = runner.scheduler, other.scheduler
    assert (same.percentage_of_nodes_to_score, same.workers) == (7, 3)
    assert same.non_preempting_priority
    assert same.parallelize_until is own.parallelize_until
    assert runner.skipped == (frozenset(), frozenset())
    assert runner.own_cycle(SMALL).pod is SMALL


def test_the_next_search_continues_unless_its_position_is_restored() -> None:
    runner = runner_of(*nodes(*(f"n{number:03}" for number in range(250))))
    position = runner.search_position()

    def examined() -> list[str]:
        runner.decide(SMALL, cycle_number=1)
        return runner.found.feasible

    first, second = examined(), examined()
    assert not {*first} & {*second}
    runner.restore_search_position(position)
    assert examined() == first


# ------------------------------------------------------------------------------- explaining


def test_an_explanation_has_every_predicate_and_the_whole_table() -> None:
    runner = runner_of(
        make_node("a", cpu="4"), make_node("b", cpu="4", taints=["x:PreferNoSchedule"]),
        make_node("c", cpu="500m", unschedulable=True),
    )  # fmt: skip
    before = runner.search_position()
    found = runner.explain(SMALL, cycle_number=1, now_ns=0)
    assert runner.search_position() == before
    assert (found.node_names, found.examined, found.not_examined) == (
        ("a", "b", "c"), ("a", "b", "c"), (),
    )  # fmt: skip
    assert (found.feasible, found.winners, found.tied, found.not_examined_reason) == (
        ("a", "b"), ("a",), ("a",), None,
    )  # fmt: skip
    # Each predicate is evaluated by itself, also beyond the first failure.
    assert {each.plugin: {*each.rejected} for each in found.filters if each.rejected} == {
        "CheckNodeUnschedulable": {"c"}, "GeneralPredicates": {"c"},
    }  # fmt: skip
    assert {name: status.reasons for name, status in found.rejected.items()} == {
        "c": ("node(s) were unschedulable",)
    }
    assert "CheckVolumeBinding" in found.skipped_filters
    assert "GeneralPredicates" not in found.skipped_filters
    scratch = make_pod("p", spec={"volumes": [{"name": "v", "emptyDir": {}}]})
    of_scratch = runner.explain(scratch, cycle_number=1, now_ns=0)
    assert of_scratch.skipped_filters == found.skipped_filters
    assert "NoDiskConflict" in of_scratch.skipped_filters
    taints = next(each for each in found.scores if each.plugin == "TaintTolerationPriority")
    assert (taints.weight, taints.raw, taints.normalized) == (
        1, {"a": 0, "b": 1}, {"a": 10, "b": 0},
    )  # fmt: skip
    least = next(each for each in found.scores if each.plugin == "LeastRequestedPriority")
    assert least.raw == least.normalized
    assert found.totals == {
        name: sum(each.weight * each.normalized[name] for each in found.scores) for name in "ab"
    }
    assert (found.error, found.extenders, found.pre_filter.is_success) == (None, (), True)


def test_nodes_that_were_not_examined_are_named() -> None:
    runner = runner_of(*nodes(*(f"n{number:03}" for number in range(120))))
    found = runner.explain(SMALL, cycle_number=1, now_ns=0)
    assert (len(found.examined), len(found.not_examined)) == (100, 20)
    assert found.not_examined_reason == "enoughFeasibleNodes"


def test_a_predicate_that_fails_beyond_the_first_rejection_is_explained() -> None:
    zone = {"failure-domain.beta.kubernetes.io/zone": "a"}
    runner = runner_of(make_node("n1", cpu="500m", labels=zone), LOST)
    found = runner.explain(OF_LOST, cycle_number=1, now_ns=0)
    assert found.error is None
    rejected = {each.plugin: each.rejected["n1"] for each in found.filters if each.rejected}
    assert {name: (status.code, status.reasons) for name, status in rejected.items()} == {
        "GeneralPredicates": (Code.UNSCHEDULABLE, ("Insufficient cpu",)),
        "CheckVolumeBinding": (Code.ERROR, ('could not find v1.PersistentVolume "lost"',)),
        "NoVolumeZoneConflict": (Code.ERROR, ('persistentvolume "lost" not found',)),
    }
    assert {status.plugin for status in rejected.values()} == {*rejected}


def test_an_error_is_explained_without_predicates() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    pod = make_pod("p", spec={"volumes": volumes})
    found = runner_of(make_node("a")).explain(pod, cycle_number=1, now_ns=0)
    assert found.error is not None
    assert (found.filters, found.scores, found.totals, found.not_examined_reason) == (
        (), (), {}, None,
    )  # fmt: skip
    assert runner_of().explain(SMALL, cycle_number=1, now_ns=0).filters == ()


# ------------------------------------------------------------------------------- preemption


def test_an_explanation_has_preemption_unless_it_is_left_out() -> None:
    runner = runner_of(*nodes("a", cpu="2"), make_pod("low", node="a", cpu="2"))
    for is_asked in (True, False):
        found = runner.explain(HIGH, cycle_number=1, now_ns=0, post_filter=is_asked)
        assert (found.decision.post_filter is not None) is is_asked


def post_filter(pod: Any, *objects: Any) -> Any:
    runner = runner_of(*objects)
    decision = runner.decide(pod, cycle_number=1)
    return runner.post_filter(decision, cycle_number=1, now_ns=0).post_filter


HIGH = make_pod("high", cpu="2", priority=9)
TRIED = "tried {} nodes where preemption may help: {} candidates"


@pytest.mark.parametrize(
    ("objects", "nominated", "message", "lines"),
    [
        pytest.param(
            [*nodes("a", cpu="2"), make_pod("v", cpu="1", node="a")], "a", "",
            [TRIED.format(1, 1), "a: evicts default/v", "takes a: the only candidate"],
            id="one candidate",
        ),
        pytest.param(
            [*nodes("a", "b", cpu="2"), make_pod("v", cpu="1", priority=2, node="a"),
             make_pod("w", cpu="1", priority=1, node="b")], "b", "",
            [TRIED.format(2, 2), "a: evicts default/v", "b: evicts default/w",
             "takes b: lowest priority of the first victim"],
            id="two candidates",
        ),
        pytest.param(
            [*nodes("a", "b", cpu="2"), make_pod("v", cpu="1", node="a"),
             make_pod("w", cpu="1", node="b")], "a", "",
            [TRIED.format(2, 2), "a: evicts default/v", "b: evicts default/w",
             "takes a: first by name of several equal ones"],
            id="equal candidates",
        ),
        pytest.param(
            nodes("a", cpu="1"), None, "no candidate", [TRIED.format(1, 0)], id="no candidate"
        ),
        pytest.param(
            nodes("a", unschedulable=True), "", "no potential node", [TRIED.format(0, 0)],
            id="no node that evictions could help",
        ),
    ],
)  # fmt: skip
def test_the_result_of_preemption(
    objects: list[Any], nominated: str | None, message: str, lines: list[str]
) -> None:
    result = post_filter(HIGH, *objects)
    assert (result.nominated_node, result.status.plugin) == (nominated, "Preemption")
    assert (result.status.is_success, result.status.message) == (bool(nominated), message)
    assert isinstance(result.details, ClassicPreemption)
    assert list(result.details.describe()) == lines
    dry_run = result.details.dry_run
    assert dry_run.helpable_count == dry_run.visited_count


def test_lower_nominations_of_the_node_are_cleared_and_not_that_of_the_pod() -> None:
    lower = with_nominated_node_name(make_pod("lower"), "a")
    runner = runner_of(*nodes("a", cpu="2"), make_pod("v", cpu="1", node="a"))
    runner.cluster.nominate(lower, "a")
    decision = runner.decide(HIGH, cycle_number=1)
    result: Any = runner.post_filter(decision, cycle_number=1, now_ns=0).post_filter
    assert [pod.name for pod in result.details.cleared_nominations] == ["lower"]
    hopeless = post_filter(HIGH, *nodes("a", unschedulable=True))
    assert hopeless.details.cleared_nominations == ()


def test_nothing_is_evicted_for_a_pod_that_fits_or_without_nodes() -> None:
    assert post_filter(HIGH, *nodes("a")) is None
    assert post_filter(HIGH) is None


def test_an_extender_that_fails_is_the_error_of_preemption_and_the_pod_waits() -> None:
    extender = {"urlPrefix": "http://e", "preemptVerb": "preempt", "weight": 1}
    runner = runner_of(
        *nodes("a", cpu="2"), make_pod("v", cpu="1", node="a"), policy={"extenders": [extender]}
    )
    decision = runner.decide(HIGH, cycle_number=1)
    found = run_steps(
        runner.post_filter_steps(decision, cycle_number=1, now_ns=0),
        lambda _: ExtenderReply(status=500),
    )
    result = found.post_filter
    assert result is not None
    assert (result.status.code, result.status.plugin, result.nominated_node) == (
        Code.ERROR, "Preemption", None,
    )  # fmt: skip
    assert "http://e/preempt" in result.status.message
    assert runner.repeat(HIGH, "a") is None


def test_equal_candidates_are_in_the_order_of_their_names() -> None:
    victims = [make_pod(f"on-{node}", cpu="1", node=node) for node in "ba"]
    result = post_filter(HIGH, *nodes("b", "a", cpu="2"), *victims)
    assert result.details.choice.acceptable == ("a", "b")


def test_nodes_that_an_extender_drops_have_no_reasons() -> None:
    extender = {"urlPrefix": "http://e", "filterVerb": "f", "nodeCacheCapable": True}
    runner = runner_of(*nodes("a"), policy={"extenders": [extender]})
    reply = ExtenderReply(status=200, body=b'{"NodeNames": []}')
    decision = run_steps(runner.steps(SMALL, cycle_number=1), lambda _call: reply)
    assert decision.message == "0/1 nodes are available: ."


def test_each_criterion_has_its_words() -> None:
    assert [each.description for each in ClassicCriterion] == [
        "it needs no victims",
        "fewest violations of disruption budgets",
        "lowest priority of the first victim",
        "smallest sum of the victims' priorities",
        "fewest victims",
        "its most important victims started last",
        "first by name of several equal ones",
    ]


def test_pods_without_a_uid_are_told_apart_by_their_names() -> None:
    nominated = with_fields(make_pod("q", cpu="1", priority=5), "metadata", uid="")
    pod = with_fields(SMALL, "metadata", uid="")
    runner = runner_of(make_node("a", cpu="1"))
    runner.cluster.nominate(nominated, "a")
    assert runner.decide(pod, cycle_number=1).node == ""
    runner.cluster.clear_nomination(nominated)
    assert runner.decide(pod, cycle_number=1).node == "a"
    runner.cluster.nominate(pod, "a")
    assert runner.decide(pod, cycle_number=1).node == "a", "it does not stand in its own way"
