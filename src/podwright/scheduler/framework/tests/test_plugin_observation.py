from __future__ import annotations

import itertools

import pytest

from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import (
    Code,
    ObservedMethod,
    Plugin,
    PluginRunner,
    Profile,
    Status,
    node_of,
    observe_plugins,
    pod_of,
    status_of,
)
from podwright.testing import make_node, make_pod


class Observer:
    """Keeps all calls; its clock advances by 10 ns per reading."""

    def __init__(self):
        self.calls = []
        self.read_ns = itertools.count(0, 10).__next__
        self.seen = []

    def returned(self, method, arguments, duration_ns, answer):
        self._add(method, arguments, duration_ns, status_of(method, answer).code)

    def raised(self, method, arguments, duration_ns, error):
        self._add(method, arguments, duration_ns, type(error).__name__)

    def _add(self, method, arguments, duration_ns, outcome):
        pod, node = pod_of(arguments).key, node_of(arguments)
        self.seen.append((method.plugin, method.point, pod, node, outcome, duration_ns))


class OnlyN1(Plugin):
    name = "OnlyN1"

    def filter(self, cycle, node):
        return Status() if node.name == "n1" else Status.unschedulable("not n1")


class Fails(Plugin):
    name = "Fails"

    def filter(self, cycle, node):
        return 1 // 0


class OnColumns(Plugin):
    name = "OnColumns"

    def filter_columns(self, cycle, nodes, out):
        pass

    def score_columns(self, cycle, nodes, out):
        out.values[out.rows] = 1


def decided(profile, *nodes):
    cluster = Cluster()
    for name in nodes:
        cluster.put(make_node(name))
    runner = PluginRunner(profile, cluster)
    return runner.decide(make_pod("web"), cycle_number=1)


def test_each_call_is_reported_with_pod_node_status_and_duration():
    observer, profile = Observer(), Profile(scheduler_name="s", filter=(OnlyN1(),))
    observe_plugins(profile, observer)
    assert decided(profile, "n1", "n2").node == "n1"
    assert observer.seen == [
        ("OnlyN1", "Filter", "default/web", "n1", Code.SUCCESS, 10),
        ("OnlyN1", "Filter", "default/web", "n2", Code.UNSCHEDULABLE, 10),
    ]
    assert observer.calls == []


def test_an_exception_is_reported_and_raised_again():
    observer, profile = Observer(), Profile(scheduler_name="s", filter=(Fails(),))
    observe_plugins(profile, observer)
    assert "ZeroDivisionError" in decided(profile, "n1").error.message
    assert observer.seen == [("Fails", "Filter", "default/web", "n1", "ZeroDivisionError", 10)]
    assert observer.calls == []


class Forgets(Plugin):
    name = "Forgets"

    def filter(self, cycle, node):
        pass

    def score(self, cycle, node):
        return "high"


@pytest.mark.parametrize("point", ["filter", "score"])
def test_an_invalid_value_is_an_error(point):
    observer, plugin = Observer(), Forgets()
    filters = (plugin,) if point == "filter" else ()
    profile = Profile(scheduler_name="s", filter=filters, score=((plugin, 1),))
    observe_plugins(profile, observer)
    assert "returned" in decided(profile, "n1", "n2").error.message
    assert observer.seen[0][4] == Code.ERROR


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param((Status.wait(), "5s"), Code.WAIT, id="a status with a timeout"),
        pytest.param((Status(), 0), Code.SUCCESS, id="no timeout"),
        pytest.param((Status.unschedulable("no"), "1s"), Code.UNSCHEDULABLE, id="a rejection"),
        pytest.param((Status.wait(), 5), Code.ERROR, id="a timeout without a unit"),
        pytest.param((Status.wait(), "soon"), Code.ERROR, id="a timeout that is not a duration"),
        pytest.param((Status.wait(), "5s", 1), Code.ERROR, id="more than a pair"),
        pytest.param((), Code.ERROR, id="less than a pair"),
    ],
)
def test_a_permit_is_reported_as_the_scheduler_reads_it(answer, code):
    method = ObservedMethod(print, Observer(), plugin="Gate", point="Permit", profile="s")
    assert status_of(method, answer).code == code


def test_a_plugin_on_columns_is_called_for_all_nodes_at_once():
    observer = Observer()
    plugin = OnColumns()
    profile = Profile(scheduler_name="s", filter=(plugin,), score=((plugin, 1),))
    observe_plugins(profile, observer)
    decided(profile, "n1", "n2")
    assert [seen[1:5] for seen in observer.seen] == [
        ("Filter", "default/web", "", Code.SUCCESS),
        ("Score", "default/web", "", Code.SUCCESS),
    ]


def test_the_end_of_an_observation_restores_the_plugins():
    observer, plugin = Observer(), OnlyN1()
    before = dict(vars(plugin))
    end = observe_plugins(Profile(scheduler_name="s", filter=(plugin,)), observer)
    assert vars(plugin) != before
    end()
    assert vars(plugin) == before


def test_other_objects_of_the_class_are_not_observed():
    observer = Observer()
    observe_plugins(Profile(scheduler_name="s", filter=(OnlyN1(),)), observer)
    decided(Profile(scheduler_name="s", filter=(OnlyN1(),)), "n1")
    assert observer.seen == []


class Asks(Plugin):
    name = "Asks"

    def post_filter(self, cycle, failed):
        assert (yield "first") == "reply"
        return 7


def test_the_wait_between_the_steps_of_a_plugin_is_not_measured():
    observer, plugin = Observer(), Asks()
    observe_plugins(Profile(scheduler_name="s", post_filter=(plugin,)), observer)
    steps = plugin.post_filter(make_pod("web"), None)
    assert next(steps) == "first"
    for _ in range(100):
        observer.read_ns()
    with pytest.raises(StopIteration) as ended:
        steps.send("reply")
    assert ended.value.value == 7
    ((_, _, _, _, outcome, duration_ns),) = observer.seen
    assert (outcome, duration_ns) == (Code.ERROR, 30)  # 7 is not a PostFilterResult
