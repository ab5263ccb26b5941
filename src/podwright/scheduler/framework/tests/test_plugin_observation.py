from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import (
    Code,
    Cycle,
    NodeView,
    ObservedMethod,
    Pending,
    Plugin,
    PluginRunner,
    PostFilterResult,
    PreFilterResult,
    Profile,
    Progress,
    Status,
    add_custom_result,
    node_of,
    observe_plugins,
    pod_of,
    status_of,
    trace_plugins,
)
from podwright.scheduler.framework.observing.plugin_observation import OBSERVED_POINTS, PluginCall
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
        pytest.param((Status(), "soon"), Code.ERROR, id="one of a pod that does not wait, too"),
        pytest.param((Status(), 5), Code.ERROR, id="likewise, without a unit"),
        pytest.param(None, Code.ERROR, id="nothing"),
        pytest.param(Pending(), Code.ERROR, id="work that goes on"),
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


def test_an_observation_within_another_one_ends_for_itself():
    outer, inner, plugin = Observer(), Observer(), OnlyN1()
    profile = Profile(scheduler_name="s", filter=(plugin,))
    before = dict(vars(plugin))
    end_outer = observe_plugins(profile, outer)
    observed = dict(vars(plugin))
    end_inner = observe_plugins(profile, inner)
    decided(profile, "n1")
    assert (len(outer.seen), len(inner.seen)) == (1, 1)
    end_inner()
    end_inner()
    assert vars(plugin) == observed
    decided(profile, "n1")
    assert (len(outer.seen), len(inner.seen)) == (2, 1)
    end_outer()
    assert vars(plugin) == before


def test_the_end_of_an_observation_that_is_repeated_ends_no_other():
    first, second, plugin = Observer(), Observer(), OnlyN1()
    profile = Profile(scheduler_name="s", filter=(plugin,))
    end_first = observe_plugins(profile, first)
    end_first()
    end_second = observe_plugins(profile, second)
    end_first()
    decided(profile, "n1")
    assert (len(first.seen), len(second.seen)) == (0, 1)
    end_second()
    decided(profile, "n1")
    assert len(second.seen) == 1


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


class Stops(Plugin):
    name = "Stops"

    def post_filter(self, cycle, failed):
        yield "first"
        raise ValueError("no")


def test_an_exception_in_the_steps_of_a_plugin_is_reported_with_the_time_of_all_steps():
    observer, plugin = Observer(), Stops()
    observe_plugins(Profile(scheduler_name="s", post_filter=(plugin,)), observer)
    steps = plugin.post_filter(make_pod("web"), None)
    assert next(steps) == "first"
    assert observer.calls == []
    with pytest.raises(ValueError, match="no"):
        steps.send("reply")
    ((name, _, pod, _, outcome, duration_ns),) = observer.seen
    assert (name, pod, outcome, duration_ns) == ("Stops", "default/web", "ValueError", 30)
    assert observer.calls == []


@pytest.mark.parametrize(
    ("point", "name", "answer", "status"),
    [
        pytest.param("Reserve", "reserve", Status.skip(), Status.skip(), id="a status"),
        pytest.param("Score", "score", 7, Status.OK, id="a score"),
        pytest.param("Score", "score", np.int64(7), Status.OK, id="a score of NumPy"),
        pytest.param(
            "Score",
            "score",
            7.5,
            Status.error("returned 7.5, not an integer of 64 bits"),
            id="half a score",
        ),
        *[
            pytest.param(
                "Score",
                "score",
                answer,
                Status.error(f"returned {text}, not an integer of 64 bits"),
                id=text,
            )
            for answer, text in (
                (None, "None"),
                ([1], "something of type list"),
                (np.zeros(1), "an array of float64"),
                ("7", "'7'"),
            )
        ],
        pytest.param("Score", "score_columns", None, Status.OK, id="scores on columns"),
        pytest.param("Unreserve", "unreserve", None, Status.OK, id="a method without a result"),
        pytest.param("Filter", "filter_columns", None, Status.OK, id="a filter on columns"),
        pytest.param(
            "Filter",
            "filter",
            None,
            Status.error("returned None, not a Status"),
            id="a filter of single nodes that returns nothing",
        ),
        pytest.param("PreFilter", "pre_filter", PreFilterResult(), Status.OK, id="named nodes"),
        pytest.param("PreBind", "pre_bind", Pending(), Status.OK, id="work that goes on"),
        pytest.param("Bind", "bind", Pending(), Status.OK, id="also at Bind"),
        pytest.param(
            "Reserve",
            "reserve",
            Pending(),
            Status.error("returned something of type Pending, not a Status"),
            id="but not at Reserve",
        ),
        pytest.param(
            "PreScore",
            "pre_score",
            PreFilterResult(),
            Status.error("returned something of type PreFilterResult, not a Status"),
            id="named nodes at another point",
        ),
        pytest.param(
            "PostFilter",
            "post_filter",
            PostFilterResult(status=Status.unschedulable("no")),
            Status.unschedulable("no"),
            id="the result of PostFilter",
        ),
        pytest.param("Permit", "permit", (Status.wait(), "5s"), Status.wait(), id="a timeout"),
        *[
            pytest.param("Permit", "permit", (Status.wait(), timeout), Status.error(text), id=text)
            for timeout, text in (
                (
                    "soon",
                    'the timeout of Wait: Invalid value: "soon": must be a duration such as 1h30m',
                ),
                (
                    5,
                    "the timeout of Wait: 5 has no unit: must be a duration such as 1h30m, or a "
                    "timedelta",
                ),
            )
        ],
        pytest.param(
            "Reserve",
            "reserve",
            (Status.wait(), "5s"),
            Status.error("returned something of type tuple, not a Status"),
            id="a timeout elsewhere",
        ),
    ],
)
def test_the_status_of_what_a_method_returns(point, name, answer, status):
    method = ObservedMethod(print, Observer(), plugin="P", point=point, profile="s", name=name)
    assert status_of(method, answer) == status


def test_a_call_is_about_its_pod_and_its_node():
    cluster, pod = Cluster(), make_pod("web")
    cluster.put(make_node("n1"))
    cycle = Cycle(pod, cluster)
    assert pod_of((pod,)) is pod_of((cycle, "n1")) is pod
    assert node_of((cycle, NodeView(cluster, 0))) == node_of((cycle, "n1")) == "n1"
    assert node_of((cycle,)) == node_of((cycle, cluster.nodes)) == ""


class Binds(Plugin):
    """Answers by the name of the node, and says so in a custom result."""

    name = "Binds"

    def reserve(self, cycle, node_name):
        add_custom_result(cycle, "reserved", node_name)
        return Status()

    def permit(self, cycle, node_name):
        return (Status.wait(), "5s") if node_name == "slow" else Status()

    def pre_bind(self, cycle, node_name):
        if node_name == "broken":
            raise ValueError("no disk")
        return Pending(delay_ns=1) if node_name == "slow" else None

    def continue_pre_bind(self, cycle, node_name, progress):
        add_custom_result(cycle, "reserved", "again")
        return Status.error("late")


def test_the_calls_from_reserve_to_bind_are_passed_on_with_what_they_added():
    calls: list[PluginCall] = []
    plugin = Binds()
    trace_plugins(Profile(scheduler_name="s", reserve=(plugin,)), calls.append)
    cycle = Cycle(make_pod("web"), Cluster())
    progress = Progress(now_ns=1)
    assert plugin.reserve(cycle, "slow") == Status()
    assert plugin.permit(cycle, "n1") == Status()
    assert plugin.permit(cycle, "slow") == (Status.wait(), "5s")
    assert plugin.pre_bind(cycle, "slow") == Pending(delay_ns=1)
    assert plugin.continue_pre_bind(cycle, "slow", progress) == Status.error("late")
    with pytest.raises(ValueError, match="no disk"):
        plugin.pre_bind(cycle, "broken")
    assert plugin.pre_bind(cycle, "n1") is None
    assert plugin.continue_bind(cycle, "n1", progress) == Status.OK
    assert not plugin.implements("bind")
    with pytest.raises(NotImplementedError):
        plugin.bind(cycle, "n1")
    uid = make_pod("web").metadata.uid
    assert {(call.uid, call.plugin) for call in calls} == {(uid, "Binds")}
    assert [(call.point, call.status, call.timeout_ns, call.custom_results) for call in calls] == [
        ("reserve", Status(), 0, {"reserved": "slow"}),
        ("permit", Status(), 0, {}),
        ("permit", Status.wait(), 5_000_000_000, {}),
        ("pre_bind", None, 0, {}),
        ("pre_bind", Status.error("late"), 0, {"reserved": "again"}),
        ("pre_bind", Status.error("ValueError: no disk (pod default/web, node broken)"), 0, {}),
        ("pre_bind", Status.error("returned None, not a Status"), 0, {}),
        ("bind", Status.OK, 0, {}),
    ]


def test_a_call_holds_no_pod_and_adds_nothing_unless_it_says_otherwise():
    call = PluginCall(uid="u", point="permit", plugin="Gate", status=Status.OK)
    assert (call.timeout_ns, call.custom_results) == (0, {})


EXTENSION_POINTS = {
    "pre_enqueue", "pre_filter", "filter", "post_filter", "pre_score", "reserve", "permit",
    "pre_bind", "bind", "post_bind",
}  # fmt: skip
POINTS = {
    "pre_enqueue": "PreEnqueue",
    "pre_filter": "PreFilter",
    "add_pod": "PreFilterExtensionAddPod",
    "remove_pod": "PreFilterExtensionRemovePod",
    "filter": "Filter",
    "filter_columns": "Filter",
    "post_filter": "PostFilter",
    "pre_score": "PreScore",
    "score": "Score",
    "score_columns": "Score",
    "normalize_score": "ScoreExtensionNormalize",
    "reserve": "Reserve",
    "unreserve": "Unreserve",
    "permit": "Permit",
    "pre_bind_pre_flight": "PreBindPreFlight",
    "pre_bind": "PreBind",
    "continue_pre_bind": "PreBind",
    "bind": "Bind",
    "continue_bind": "Bind",
    "post_bind": "PostBind",
}
"""By method, as in upstream's pkg/scheduler/metrics/metrics.go."""


@pytest.mark.parametrize(("method", "point"), POINTS.items())
def test_a_method_is_observed_under_the_name_that_metrics_have(method, point):
    plugin: Any = type("Mine", (Plugin,), {"name": "Mine", method: lambda *_: Status()})()
    observer = Observer()
    fields: dict[str, Any] = {
        field: (plugin,) for field in Profile.__struct_fields__ if field in EXTENSION_POINTS
    }
    observe_plugins(Profile(**fields | {"scheduler_name": "s", "score": ((plugin, 1),)}), observer)
    getattr(plugin, method)(make_pod("web"))
    (seen,) = observer.seen
    assert seen[:5] == ("Mine", point, "default/web", "", Code.SUCCESS)
    assert set(OBSERVED_POINTS) == set(POINTS.values())


class AlsoBinds(Plugin):
    name = "AlsoBinds"

    def pre_bind(self, cycle, node_name):
        return Status.OK

    def bind(self, cycle, node_name):
        return Status.OK


@pytest.mark.parametrize(
    ("plugin", "points", "methods"),
    [
        pytest.param(OnlyN1, ("filter",), {"filter"}, id="a filter of single nodes"),
        pytest.param(
            OnColumns, ("filter", "score"), {"filter_columns", "score_columns"}, id="on columns"
        ),
        pytest.param(
            AlsoBinds,
            ("pre_bind", "bind"),
            {"pre_bind", "continue_pre_bind", "bind", "continue_bind"},
            id="what continues later, too",
        ),
    ],
)
def test_the_methods_that_a_plugin_has_are_observed(plugin, points, methods):
    made = plugin()
    fields: dict[str, Any] = {
        point: ((made, 1),) if point == "score" else (made,) for point in points
    }
    observe_plugins(Profile(scheduler_name="s", **fields), Observer())
    assert vars(made).keys() == methods
