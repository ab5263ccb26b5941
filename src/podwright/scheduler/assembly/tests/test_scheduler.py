"""The scheduler as a Python object."""

import pytest

import podwright as pw
from podwright.apimachinery.objects import decode_node
from podwright.testing import make_node, make_pod


@pytest.fixture
def scheduler():
    scheduler = pw.Scheduler()
    scheduler.add(make_node("small", cpu="2"), make_node("large", cpu="8"))
    return scheduler


def test_a_pod_is_placed_where_it_fits(scheduler):
    decision = scheduler.schedule(make_pod("web", cpu="4"))
    assert decision.node == "large"
    assert "default/web" in scheduler.cluster.pods


def test_what_fits_nowhere_stays_pending_with_upstreams_message(scheduler):
    scheduler.add(make_pod("batch", cpu="16"))
    (decision,) = scheduler.schedule_all()
    assert decision.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert list(scheduler.pending) == ["default/batch"]


def test_profiles_share_the_position_from_which_nodes_are_searched():
    # Upstream: pkg/scheduler/schedule_one.go, findNodesThatFitPod: Scheduler.nextStartNodeIndex
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 1,
        "profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "other"}],
    }
    scheduler = pw.Scheduler(pw.read_configuration(config, source="test"))
    scheduler.add(*[make_node(f"n{index}") for index in range(130)])
    scheduler.schedule(make_pod("a", scheduler="other"))
    assert scheduler.visiting() == {"default-scheduler": 100, "other": 100}


def test_the_queue_goes_by_priority_then_age(scheduler):
    scheduler.add(make_pod("a"), make_pod("b", priority=10), make_pod("c", priority=10))
    assert [pod.name for pod in scheduler.in_queue_order()] == ["b", "c", "a"]


def test_what_comes_before_a_pod_is_decided_and_the_pod_itself_is_not(scheduler):
    scheduler.add(make_pod("a"), make_pod("b", priority=10), make_pod("c"))
    assert [decision.pod.name for decision in scheduler.schedule_before("default/c")] == ["b", "a"]
    assert list(scheduler.pending) == ["default/c"]


def test_explaining_changes_nothing_and_says_the_same_as_scheduling(scheduler):
    pod = make_pod("web", cpu="1")
    scheduler.add(pod)
    explanation = scheduler.explain(pod)
    assert list(scheduler.pending) == ["default/web"]
    assert explanation.decision.node == scheduler.schedule(pod).node


def test_a_placed_pod_is_asked_again_with_its_place_free_and_then_is_back(scheduler):
    scheduler.add(make_pod("web", cpu="8", node="large"))
    assert scheduler.explain_again("default/web").feasible == ("large",)
    assert scheduler.cluster.pods["default/web"].slot == 1
    assert int(scheduler.cluster.nodes.requested[1, 0]) == 8000


def test_a_gated_pod_is_explained_by_what_holds_it_back(scheduler):
    pod = make_pod("web", gates=["wait"])
    scheduler.add(pod)
    explanation = scheduler.explain(pod)
    assert explanation.decision.message == "waiting for scheduling gates: [wait]"
    assert explanation.filters == ()


def test_an_unknown_name_is_refused(scheduler):
    for ask in (scheduler.schedule, scheduler.explain, scheduler.explain_again):
        with pytest.raises(pw.UnknownPod, match="default/missing"):
            ask("default/missing")


def test_the_nearest_node_is_rejected_by_the_fewest_plugins(scheduler):
    scheduler.add(
        make_node("tainted", cpu="8", taints=["gpu=yes:NoSchedule"]),
        make_node("tainted-small", cpu="1", taints=["gpu=yes:NoSchedule"]),
        make_pod("there", cpu="6", node="large"),
    )
    explanation = scheduler.explain(make_pod("web", cpu="4"))
    near = scheduler.nearest_nodes(explanation)
    assert [entry.node for entry in near] == ["tainted", "small", "large", "tainted-small"]
    assert near[0].lacks == ("toleration for taint gpu=yes:NoSchedule",)
    assert near[2].lacks == ("cpu: requests 4, 2 free of 8",)
    assert near[3].plugins == ("TaintToleration", "NodeResourcesFit")
    assert [entry.node for entry in scheduler.nearest_nodes(explanation, limit=1)] == ["tainted"]


def test_the_nodes_that_reject_a_pod_are_grouped_by_reason(scheduler):
    groups = scheduler.rejection_groups(scheduler.explain(make_pod("web", cpu="9")))
    found = [(each.reason, each.nodes) for each in groups]
    assert found == [("Insufficient cpu", ("small", "large"))]


class Below(pw.Plugin):
    """Gives every node a negative score."""

    name = "Below"
    filter_reads = pw.Reads.NOTHING
    score_reads = pw.Reads.NOTHING
    normalization = pw.Normalization.DEFAULT_REVERSED

    def pod_key(self, pod):
        """Every pod gets the same."""
        return 0

    def score(self, cycle, node):
        """Less than nothing."""
        return -1


def test_reversed_negative_scores_are_as_good_as_none(scheduler):
    scheduler = pw.Scheduler(plugins=[Below])
    scheduler.add(make_node("a"), make_node("b"))
    scheduler.add(make_pod("web"))
    with_it = scheduler.explain("default/web")
    assert {s.plugin: s.normalized for s in with_it.scores}["Below"] == {"a": 100, "b": 100}
    assert scheduler.schedule("default/web").total == with_it.totals["a"]


FIRST_CANDIDATE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: DefaultPreemption
    args: {minCandidateNodesAbsolute: 1, minCandidateNodesPercentage: 0}
"""


@pytest.mark.parametrize(
    ("draws", "nominated"),
    [
        pytest.param(True, {"n0", "n1", "n2", "n3"}, id="drawn: any of the equal ones"),
        pytest.param(False, {"n0"}, id="not drawn: the first"),
    ],
)
def test_the_search_for_candidates_begins_where_it_is_told_to(draws, nominated):
    configuration = pw.read_configuration(FIRST_CANDIDATE, source="c.yaml")
    found = set()
    for seed in range(30):
        scheduler = pw.Scheduler(configuration, seed=seed, draws_preemption_offset=draws)
        for i in range(4):
            scheduler.add(make_node(f"n{i}", cpu="1"), make_pod(f"p{i}", cpu="1", node=f"n{i}"))
        decision = scheduler.schedule(make_pod("urgent", cpu="1", priority=10))
        assert decision.post_filter is not None
        assert scheduler.pending["default/urgent"].status.nominated_node_name
        found.add(decision.post_filter.nominated_node)
    assert found == nominated


def test_a_node_without_allocatable_resources_has_its_capacity():
    scheduler = pw.Scheduler()
    node = {"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "4", "pods": "110"}}}
    scheduler.add(decode_node(node))
    assert scheduler.schedule(make_pod("web", cpu="3")).node == "n1"
    assert not scheduler.schedule(make_pod("batch", cpu="3")).node
