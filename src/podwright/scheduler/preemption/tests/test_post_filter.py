"""The order of PostFilter plugins, and the combination of their results."""

import msgspec
import pytest

from podwright.scheduler.framework import Plugin, PostFilterResult, Status
from podwright.scheduler.framework.post_filter import FilteredCycle
from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.framework.status import Code
from podwright.scheduler.preemption.tests.situations import NOW_NS, cluster_of, node, pod, profile


def plugin(name, answer):
    def post_filter(_self, _cycle, _failed):
        if isinstance(answer, Exception):
            raise answer
        return answer

    return type(name, (Plugin,), {"name": name, "post_filter": post_filter})()


def rejects(name, reason, nominated=None):
    status = Status.unschedulable(reason)
    return plugin(name, PostFilterResult(status=status, nominated_node=nominated))


def decide_with(*plugins):
    runner = PluginRunner(
        msgspec.structs.replace(profile(), post_filter=plugins), cluster_of(node("n"))
    )
    decision = runner.decide(pod("big", "99"), cycle_number=1)
    return runner.post_filter(decision, cycle_number=1, now_ns=NOW_NS)


def test_rejections_are_joined_and_the_last_nomination_counts():
    decision = decide_with(rejects("A", "one", "x"), rejects("B", "two", ""), rejects("C", "three"))
    assert decision.post_filter.message == "one, two, three"
    assert decision.post_filter.nominated_node == ""
    assert decision.post_filter.status.plugin == "A"
    assert decision.message == "0/1 nodes are available: 1 Insufficient cpu. one, two, three"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param(PostFilterResult(status=Status.OK, nominated_node="n"), 0, id="success"),
        pytest.param(
            PostFilterResult(status=Status.unresolvable("never")),
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            id="unresolvable",
        ),
        pytest.param(PostFilterResult(status=Status.error("broken")), Code.ERROR, id="an error"),
        pytest.param(ValueError("raised"), Code.ERROR, id="an exception"),
    ],
)
def test_some_results_end_post_filter(answer, code):
    decision = decide_with(rejects("A", "one"), plugin("B", answer), rejects("C", "three"))
    assert decision.post_filter.status.code == code
    assert decision.post_filter.status.plugin == "B"
    assert "one" not in decision.message
    assert "three" not in decision.message


@pytest.mark.parametrize(
    ("status", "nominated"),
    [
        pytest.param(Status.OK, "n", id="success"),
        pytest.param(Status.unschedulable("no"), "n", id="a rejection"),
        pytest.param(Status.unresolvable("never"), "n", id="an unresolvable one"),
        pytest.param(Status.error("broken"), None, id="not an error"),
    ],
)
def test_the_nomination_of_a_plugin_counts_unless_it_fails(status, nominated):
    # Upstream: pkg/scheduler/framework/runtime/framework.go, RunPostFilterPlugins
    decision = decide_with(plugin("A", PostFilterResult(status=status, nominated_node="n")))
    assert decision.post_filter.nominated_node == nominated


def test_an_exception_names_the_plugin_and_the_pod():
    decision = decide_with(plugin("Bad", ValueError("raised")))
    assert decision.post_filter.message == (
        'running PostFilter plugin "Bad": ValueError: raised (pod default/big)'
    )


def test_without_plugins_nothing_is_added():
    assert decide_with().post_filter is None


def failed_cycle(incoming, *objects):
    runner = PluginRunner(profile(), cluster_of(*objects))
    return FilteredCycle(incoming, profile(), runner.ranking_of(incoming))


def test_the_status_of_a_node_that_does_not_exist():
    assert failed_cycle(pod("big", "99"), node("n")).status_of("gone").code == (
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    )


def test_a_rejection_of_the_whole_pod_is_the_status_of_every_node():
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}
    failed = failed_cycle(pod("p", volumes=[claim]), node("n"))
    assert failed.outcome.rejection is not None
    assert failed.status_of("n") == failed.status_of("gone") == failed.outcome.rejection


def test_a_failed_cycle_without_a_machine_is_at_the_start_of_time_with_seed_0():
    failed = failed_cycle(pod("big", "99"), node("n"))
    assert (failed.now_ns, failed.seed, failed.cycle_number) == (0, 0, 0)


class FailsWithoutPods(Plugin):
    """Rejects a node with pods, and fails for one without."""

    name = "FailsWithoutPods"

    def filter(self, _cycle, node):
        return Status.unschedulable("full") if node.pods else Status.error("no pods")


def test_an_error_of_a_filter_in_the_dry_run_names_the_filter():
    cluster = cluster_of(node("n"))
    cluster.put(pod("small", "1", on="n"))
    filters = (*profile().filter, FailsWithoutPods())
    runner = PluginRunner(msgspec.structs.replace(profile(), filter=filters), cluster)
    decision = runner.decide(pod("big", "1", priority=5), cycle_number=1)
    found = runner.post_filter(decision, cycle_number=1, now_ns=NOW_NS).post_filter
    assert found is not None
    assert found.message == 'preemption: running "FailsWithoutPods" filter plugin: no pods'
