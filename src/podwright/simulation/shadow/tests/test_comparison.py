"""One decision compared: which nodes and victims are possible, and what a finding says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import KubeSchedulerConfiguration, read_configuration
from podwright.scheduler.framework import (
    Cycle,
    FailedCycle,
    Plugin,
    PostFilterResult,
    Status,
    TieRule,
)
from podwright.scheduler.preemption import Limits
from podwright.simulation.shadow.comparison import DecisionComparer, Finding, ScoreDifference
from podwright.simulation.shadow.recorded_cluster import CopiedImageCounts
from podwright.simulation.shadow.tests.test_shadow import Cluster, node, pod
from podwright.testing import make_node, make_pod


def configured(*profile: dict[str, Any]) -> KubeSchedulerConfiguration:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    document = head | {
        "profiles": [{"schedulerName": "default-scheduler"} | one for one in profile]
    }
    return read_configuration(document, source="config.yaml")


def comparer(
    *objects: Any,
    percentage: int | None = None,
    configuration: KubeSchedulerConfiguration | None = None,
    plugins: tuple[type[Plugin], ...] = (),
) -> DecisionComparer:
    """Compare with the default profile, or a configured one."""
    scheduler = Scheduler(configuration, plugins=plugins, tie_rule=TieRule.HEAP)
    for obj in objects:
        scheduler.cluster.put(obj)
    (profile,) = scheduler.profiles.values()
    if percentage is not None:
        profile = msgspec.structs.replace(profile, percentage_of_nodes_to_score=percentage)
    images = CopiedImageCounts(scheduler.cluster)
    images.copy(scheduler.cluster.nodes.slot_of)
    return DecisionComparer(profile, scheduler.cluster, images)


SEARCH = {"evaluated_count": 0, "start": 0}
NODES = (make_node("n1", cpu=4), make_node("n2", cpu=8), make_node("n3", cpu=1))


@pytest.mark.parametrize(
    ("cpu", "node", "expected"),
    [
        pytest.param(2, "n2", (), id="the best"),
        pytest.param(2, "n1", None, id="a worse one"),
        pytest.param(2, "n3", None, id="one without room"),
        pytest.param(2, "unknown", None, id="unknown"),
        pytest.param(6, "n2", (), id="the only one"),
        pytest.param(6, "n1", None, id="not the only one"),
        pytest.param(9, "n2", None, id="none has room"),
    ],
)
def test_a_binding_is_possible_to_the_best_node(cpu, node, expected):
    assert comparer(*NODES).explain_binding(make_pod("p", cpu=cpu), node, **SEARCH) == expected


def test_any_of_the_best_nodes_is_possible():
    found = comparer(*(make_node(name) for name in ("n1", "n2", "n3")))
    pod = make_pod("p", cpu=1)
    assert [found.explain_binding(pod, name, **SEARCH) for name in ("n1", "n2", "n3")] == [()] * 3


@pytest.mark.parametrize(
    ("evaluated_count", "start", "expected"),
    [
        # The node is the fourth of five. Starts with which a search reaches it, the nearest first.
        (0, 4, [4, 3, 0, 2, 1]),
        (0, 0, [0, 1, 4, 3, 2]),
        (1, 0, [3]),
        (2, 0, [3, 2]),
        (2, 1, [2, 3]),
        (9, 3, [3, 2, 4, 1, 0]),
    ],
)
def test_a_search_reaches_a_node_from_the_starts_before_it(evaluated_count, start, expected):
    found = comparer(*(make_node(f"n{number}") for number in range(5)))
    slot = int(found._cluster.nodes.visiting_order()[3])
    starts = found._starts(slot, evaluated_count, start)
    assert starts[:1] == expected[:1]
    assert sorted(starts) == sorted(expected)
    away = [min((begin - start) % 5, (start - begin) % 5) for begin in starts]
    assert away == sorted(away)


NEVER = "0/3 nodes are available: 3 Insufficient cpu."
UNHELPFUL = (
    "no new claims to deallocate, 0/3 nodes are available: 3 Preemption is not helpful for "
    "scheduling."
)


def bound(node: str) -> Finding:
    return Finding(what="binding", line=1, pod="default/p", node=node, outcome="unexplained")


def test_a_worse_node_has_its_scores():
    found = comparer(*NODES).with_scores(bound("n1"), make_pod("p", cpu=2, memory="1Gi"))
    assert (found.best, found.rejection) == ("n2", "")
    # Of 4 and 8 cores, 2 are requested; memory is the same. Half a node is left, or three quarters.
    by_plugin = {score.plugin: (score.chosen, score.best) for score in found.scores}
    memory = 100 * 15 // 16
    assert by_plugin["NodeResourcesFit"] == ((50 + memory) // 2, (75 + memory) // 2)
    assert all(score.chosen != score.best for score in found.scores)
    assert isinstance(found.scores[0], ScoreDifference)


@pytest.mark.parametrize(
    ("cpu", "node", "best", "rejection"),
    [
        (2, "unknown", "n2", "there is no such node"),
        (2, "n3", "n2", "Insufficient cpu"),
        (9, "n1", "", f"{NEVER} {UNHELPFUL}"),
        (9, "unknown", "", "there is no such node"),
    ],
)
def test_an_impossible_node_has_its_rejection(cpu, node, best, rejection):
    found = comparer(*NODES).with_scores(bound(node), make_pod("p", cpu=cpu))
    assert (found.best, found.rejection, found.scores) == (best, rejection, ())


# -------------------------------------------------------------------------- preemptions


def urgent(cpu: int = 4) -> Pod:
    pod = make_pod("urgent", cpu=cpu)
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, priority=1000))


def placed(name: str, node: str, cpu: int, priority: int = 0) -> Pod:
    pod = make_pod(name, cpu=cpu, node=node)
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, priority=priority))


FULL = (
    make_node("n1", cpu=4),
    make_node("n2", cpu=4),
    make_node("n3", cpu=1),
    placed("low", "n1", 4),
    placed("high", "n2", 4, 500),
)


@pytest.mark.parametrize(
    ("node", "victims", "expected"),
    [
        pytest.param("n1", ["default/low"], (), id="the least important victim"),
        pytest.param("n2", ["default/high"], None, id="a more important one"),
        pytest.param("n1", ["default/high"], None, id="the victim of another node"),
        pytest.param("n1", [], None, id="no victim"),
        pytest.param("n1", ["default/low", "default/x"], None, id="too many"),
        pytest.param("n3", ["default/low"], None, id="too small"),
        pytest.param("unknown", ["default/low"], None, id="unknown"),
    ],
)
def test_a_preemption_is_possible_with_the_least_important_victims(node, victims, expected):
    assert comparer(*FULL).explain_preemption(urgent(), node, victims, 0) == expected


def test_no_preemption_is_possible_where_the_pod_fits_or_never_fits():
    found = comparer(*FULL)
    assert found.explain_preemption(urgent(1), "n3", [], 0) is None
    assert found.explain_preemption(urgent(9), "n1", ["default/low"], 0) is None


def test_pods_that_are_already_terminating_are_no_victims_of_the_log():
    leaving = placed("leaving", "n1", 2)
    metadata = msgspec.structs.replace(leaving.metadata, deletion_timestamp="2026-03-02T10:00:00Z")
    leaving = msgspec.structs.replace(leaving, metadata=metadata)
    found = comparer(make_node("n1", cpu=4), leaving, placed("low", "n1", 2))
    low, gone = "default/low", "default/leaving"
    for victims, expected in (([low], ()), ([low, gone], None), ([gone], None)):
        assert found.explain_preemption(urgent(), "n1", victims, 0) == expected


class Otherwise(Plugin):
    """Nominates a node in its own way."""

    name = "Otherwise"
    limits = Limits(percentage=10, least=100)

    def post_filter(self, cycle: Cycle, failed: FailedCycle) -> PostFilterResult:
        """Nominate n1."""
        return PostFilterResult(status=Status(), nominated_node="n1", details="in its own way")


def test_what_another_plugin_does_after_a_failure_is_no_preemption():
    enabled = {"disabled": [{"name": "*"}], "enabled": [{"name": "Otherwise"}]}
    configuration = configured({"plugins": {"postFilter": enabled}})
    found = comparer(*FULL, configuration=configuration, plugins=(Otherwise,))
    assert found.explain_preemption(urgent(), "n1", ["default/low"], 0) is None
    made = found.with_our_preemption(preempted("n1"), urgent(), 0)
    assert (made.best, made.our_victims) == ("", msgspec.UNSET)
    assert made.rejection.startswith("0/3 nodes are available")


def preempted(node: str) -> Finding:
    return Finding(
        what="preemption", line=1, pod="default/urgent", node=node, outcome="unexplained"
    )


@pytest.mark.parametrize(
    ("node", "rejection", "victims"),
    [
        ("n1", "", ("default/low",)),
        ("n2", "", ("default/high",)),
        ("n3", "preemption would not help on that node", ()),
    ],
)
def test_a_preemption_has_ours_beside_it(node, rejection, victims):
    found = comparer(*FULL).with_our_preemption(preempted(node), urgent(), 0)
    assert (found.best, found.rejection, found.our_victims) == ("n1", rejection, victims)


def test_a_preemption_that_is_not_needed_or_does_not_help_says_so():
    fits = comparer(*FULL).with_our_preemption(preempted("n1"), urgent(1), 0)
    assert (fits.best, fits.rejection) == ("", "the pod fits on n3")
    never = comparer(*FULL).with_our_preemption(preempted("n1"), urgent(9), 0)
    assert never.best == ""
    assert never.rejection.startswith(NEVER)


def test_the_first_of_equal_nodes_is_ours():
    names = [f"n{number}" for number in range(7)]
    equals = [each for name in names for each in (make_node(name, cpu=4), placed(name, name, 4))]
    for name in ("urgent", "other", "third"):
        pod = msgspec.structs.replace(urgent(), metadata=make_pod(name).metadata)
        found = comparer(*equals).with_our_preemption(preempted("n3"), pod, 0)
        assert (found.best, found.our_victims) == ("n0", ("default/n3",))


def few_candidates(least: int) -> KubeSchedulerConfiguration:
    args = {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": least}
    return configured({"pluginConfig": [{"name": "DefaultPreemption", "args": args}]})


@pytest.mark.parametrize(
    ("least", "node", "expected"),
    [
        # The victims have the priorities 1 to 4, so n1 is the best of all and n4 the worst.
        (4, "n1", ()),
        (4, "n2", None),
        (3, "n1", ()),
        (3, "n2", ("sampling",)),
        (3, "n3", None),
        (2, "n3", ("sampling",)),
        (2, "n4", None),
        (1, "n4", ("sampling",)),
    ],
)
def test_a_node_is_the_best_of_so_many_candidates(least, node, expected):
    objects = [
        each
        for number in (1, 2, 3, 4)
        for each in (
            make_node(f"n{number}", cpu=4),
            placed(f"v{number}", f"n{number}", 4, priority=number),
        )
    ]
    found = comparer(*objects, configuration=few_candidates(least))
    victims = [f"default/v{node[1]}"]
    assert found.explain_preemption(urgent(), node, victims, 0) == expected


def test_candidates_that_equal_a_better_one_are_left_out_together():
    # Without n1 and n2, which are equal, one candidate is left: fewer than two.
    objects = [
        each
        for name, priority in (("n1", 1), ("n2", 1), ("n3", 2))
        for each in (make_node(name, cpu=4), placed(f"v-{name}", name, 4, priority=priority))
    ]
    for least, expected in ((2, None), (1, ("sampling",))):
        found = comparer(*objects, configuration=few_candidates(least))
        assert found.explain_preemption(urgent(), "n3", ["default/v-n3"], 0) == expected


def test_the_weight_of_image_locality_is_that_of_the_profile():
    weights = [
        configured(
            {"plugins": {"multiPoint": {"enabled": [{"name": "ImageLocality", "weight": 7}]}}}
        ),
        configured({"plugins": {"score": {"disabled": [{"name": "ImageLocality"}]}}}),
        None,
    ]
    assert [comparer(*NODES, configuration=one)._image_weight for one in weights] == [7, 0, 1]
    without = comparer(*NODES, configuration=weights[1])
    assert without.explain_binding(make_pod("p", cpu=2), "n1", **SEARCH) is None


def test_nodes_without_a_score_are_equally_good():
    images = {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality"}]}}
    found = comparer(*NODES, configuration=configured({"plugins": images}))
    pod = make_pod("p", cpu=2)
    assert [found.explain_binding(pod, name, **SEARCH) for name in ("n1", "n2", "n3")] == [
        (), (), None,
    ]  # fmt: skip


def test_searches_are_made_only_for_nodes_that_a_sample_may_find():
    nodes = [make_node(f"n{number:03}", cpu=4) for number in range(102)]
    found = comparer(*nodes, make_node("large", cpu=64), make_node("small", cpu=1))
    pod = make_pod("p", cpu=2)
    assert found.explain_binding(pod, "small", **SEARCH) is None
    assert found.searches_left == 5_000
    # The best one is the next to the last of 104, and a search evaluates 100.
    assert found.explain_binding(pod, "n000", **SEARCH) == ("sampling",)
    assert found.searches_left == 4_999
    exact = comparer(*nodes[:99], make_node("large", cpu=64))
    assert exact.explain_binding(pod, "n000", **SEARCH) is None
    assert exact.searches_left == 5_000, "a search evaluates all hundred"
    found.searches_left = 0
    assert found.explain_binding(pod, "n000", **SEARCH) is None


def test_a_search_may_end_early_and_have_older_image_counts_at_once():
    def with_image(name: str, cpu: int) -> Any:
        return decode(node(name, str(cpu), {"app:1": 10 << 30}, memory=f"{cpu * 4}Gi"))

    # The search ends after 100 of 104 nodes: one that leaves out the best has both others.
    names = [f"n{number:03}" for number in range(104)]
    nodes: dict[str, Any] = {name: make_node(name, cpu=4) for name in names}
    nodes["n103"], nodes["n050"] = with_image("n103", 64), with_image("n050", 6)
    found = comparer(*nodes.values())
    found._cluster.put(with_image("n051", 4))
    found._images.copy(["n051", "n103"])
    web = decode(pod("web"))
    assert isinstance(web, Pod)
    assert found.explain_binding(web, "n050", **SEARCH) == ("sampling",)
    assert found.explain_binding(web, "n051", **SEARCH) == ("sampling", "image counts")
    assert found.explain_binding(web, "n052", **SEARCH) is None


def test_a_search_without_nodes_leaves_the_start(monkeypatch):
    monkeypatch.setattr("podwright.simulation.shadow.record_shadow.MOST_SEARCHES", 1)
    cluster = Cluster()
    cluster.add_pending(100, pod("fails"))
    cluster.log_line(101, "attempt", "fails")
    cluster.log_line(102, "unschedulable", "fails", err="no nodes available to schedule pods")
    sizes = {10: 32, 100: 64}
    for number in range(120):
        cpu = sizes.get(number, 4)
        cluster.add(1000, node(f"n{number:03}", str(cpu), memory=f"{cpu * 4}Gi"))
    cluster.add_pending(3000, pod("web"))
    cluster.bind(3001, pod("web"), "n010", evaluated=100)
    (found,) = cluster.findings()
    assert (found.outcome, found.reasons) == ("explained", ("sampling",))
