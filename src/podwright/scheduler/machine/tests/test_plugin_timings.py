from __future__ import annotations

import time
from collections import Counter

import pytest

from podwright.scheduler.framework import ObservedMethod, Plugin, Profile, Status, observe_plugins
from podwright.scheduler.machine import Metrics, PluginTimer, PluginTimings, render_text
from podwright.scheduler.machine.cycles.plugin_calls import path_through
from podwright.scheduler.machine.metrics.metric_snapshot import Levels
from podwright.scheduler.machine.plugin_state import PluginStates
from podwright.scheduler.machine.tests.driving import Driver, pending
from podwright.scheduler.queueing import QueueMetrics
from podwright.testing import make_node, make_pod

WEB, DB = make_pod("web"), make_pod("db")


class Observer:
    """Measures nothing."""

    def __init__(self):
        self.calls = []
        self.read_ns = time.perf_counter_ns

    def returned(self, method, arguments, duration_ns, answer):
        pass

    def raised(self, method, arguments, duration_ns, error):
        pass


def method(plugin, point):
    return ObservedMethod(print, Observer(), plugin=plugin, point=point, profile="s")


FILTER, SCORE = method("Slow", "Filter"), method("Slow", "Score")
PRE_SCORE, RESERVE = method("Slow", "PreScore"), method("Slow", "Reserve")
REJECTED = Status.unschedulable("full")


def test_calls_are_counted_per_plugin_and_point():
    timings = PluginTimings()
    timings.add(SCORE, WEB, Status.OK, 5)
    timings.add(FILTER, DB, REJECTED, 300)
    timings.add(FILTER, WEB, Status.OK, 100)
    timings.add(FILTER, WEB, Status.OK, 300)
    timings.add(FILTER, WEB, Status.OK, 20)
    first, second = timings.rows()
    assert (first.point, first.call_count, first.total_ns) == ("Filter", 4, 720)
    assert list(first.statuses.items()) == [("Success", 3), ("Unschedulable", 1)]
    assert (first.longest_ns, first.longest_pod) == (300, "default/db")
    assert (second.point, second.call_count) == ("Score", 1)


@pytest.mark.parametrize(
    ("calls", "status", "total_ns"),
    [
        pytest.param([(FILTER, REJECTED, 3)], "Success", 3, id="Filter succeeds upstream"),
        pytest.param([(FILTER, Status.error("x"), 3)], "Error", 3, id="but for an error"),
        pytest.param([(FILTER, Status.OK, 3), (FILTER, Status.OK, 4)], "Success", 7, id="a run"),
        pytest.param(
            [(FILTER, Status.OK, 3), (method("Quick", "Filter"), Status.OK, 4)],
            "Success",
            7,
            id="of two plugins",
        ),
        pytest.param([(PRE_SCORE, REJECTED, 3)], "Error", 3, id="PreScore cannot reject"),
        pytest.param([(PRE_SCORE, Status.SKIPPED, 3)], "Success", 3, id="it can skip"),
        pytest.param([(RESERVE, REJECTED, 3)], "Unschedulable", 3, id="Reserve can reject"),
    ],
)
def test_the_calls_of_one_pod_are_one_run_of_a_point(calls, status, total_ns):
    timings = PluginTimings()
    for called, result, duration_ns in calls:
        timings.add(called, WEB, result, duration_ns)
    timings.add(FILTER, WEB, Status.OK, 1_000, is_nested=True)
    timings.add(FILTER, DB, Status.OK, 50)
    expected = Counter({(calls[0][0].point, status, "s"): total_ns})
    expected["Filter", "Success", "s"] += 50
    assert {labels: each.total for labels, each in timings.points().items()} == expected
    assert sum(sum(each.counts) for each in timings.points().values()) == 2


OTHER_PROFILE = ObservedMethod(print, Observer(), plugin="Slow", point="Filter", profile="t")


@pytest.mark.parametrize(
    ("called", "pod", "runs"),
    [
        pytest.param(FILTER, WEB, {("Filter", "Success", "s"): [7]}, id="the same method"),
        pytest.param(
            method("Quick", "Filter"), WEB, {("Filter", "Success", "s"): [7]}, id="another plugin"
        ),
        pytest.param(FILTER, DB, {("Filter", "Success", "s"): [3, 4]}, id="another pod"),
        pytest.param(
            method("Quick", "Filter"), DB, {("Filter", "Success", "s"): [3, 4]}, id="another both"
        ),
        pytest.param(
            SCORE,
            WEB,
            {("Filter", "Success", "s"): [3], ("Score", "Success", "s"): [4]},
            id="another point",
        ),
        pytest.param(
            OTHER_PROFILE,
            WEB,
            {("Filter", "Success", "s"): [3], ("Filter", "Success", "t"): [4]},
            id="another profile",
        ),
    ],
)
def test_a_run_ends_with_another_pod_point_or_profile(called, pod, runs):
    timings = PluginTimings()
    timings.add(FILTER, WEB, Status.OK, 3)
    timings.add(called, pod, Status.OK, 4)
    points = timings.points()
    assert points.keys() == runs.keys()
    for labels, durations in runs.items():
        assert points[labels].total == sum(durations)
        assert sum(points[labels].counts) == len(durations)


def test_a_run_ends_when_the_points_are_read_and_the_next_begins_without_its_failure():
    timings = PluginTimings()
    assert timings.points() == {}
    timings.add(RESERVE, WEB, Status.error("x"), 3)
    assert [(*labels, each.total) for labels, each in timings.points().items()] == [
        ("Reserve", "Error", "s", 3)
    ]
    timings.add(RESERVE, WEB, Status.OK, 4)
    assert {labels: each.total for labels, each in timings.points().items()} == {
        ("Reserve", "Error", "s"): 3,
        ("Reserve", "Success", "s"): 4,
    }


def test_the_calls_of_several_methods_and_profiles_are_kept_apart_and_together():
    timings = PluginTimings()
    timings.add(FILTER, WEB, Status.OK, 100)
    timings.add(method("Slow", "Filter"), WEB, Status.OK, 200)
    other = ObservedMethod(print, Observer(), plugin="Slow", point="Filter", profile="t")
    for _ in range(5_000):
        timings.add(other, DB, Status.OK, 1)
    assert [
        (row.profile, row.call_count, row.total_ns, row.longest_ns) for row in timings.rows()
    ] == [
        ("s", 2, 300, 200),
        ("t", 5_000, 5_000, 1),
    ]
    assert timings.executions()["Slow", "Filter", "Success"].total == 5_300


def test_the_metrics_have_the_durations():
    metrics = Metrics({"s": Profile(scheduler_name="s")})
    timings = metrics.plugin_timings = PluginTimings()
    path = path_through(("PreFilter", "Success"), ("Filter", "Success"))
    for _ in range(3):
        metrics.decided("s", path)
    timings.add(FILTER, WEB, Status.OK, 2_000_000)
    text = render_text(metrics.snapshot(QueueMetrics(), Levels()))
    labels = '{extension_point="Filter",plugin="Slow",status="Success"}'
    assert f"scheduler_plugin_execution_duration_seconds_sum{labels} 0.002\n" in text
    point = "scheduler_framework_extension_point_duration_seconds"
    sums = [line for line in text.splitlines() if line.startswith(f"{point}_sum")]
    assert any('"Filter"' in line and line.endswith(" 0.002") for line in sums), sums
    counts = [line for line in text.splitlines() if line.startswith(f"{point}_count")]
    # Two of three runs took all results from caches.
    assert all(line.endswith(" 3") for line in counts), counts


class Counts(Plugin):
    name = "Counts"

    def __init__(self):
        self.seen = 0

    def filter(self, cycle, node):
        return Status()


def test_an_observation_is_no_state_of_the_plugin():
    plugin = Counts()
    states = PluginStates([plugin])
    observe_plugins(Profile(scheduler_name="s", filter=(plugin,)), Observer())
    assert states.changed() == ()
    plugin.seen = 1
    assert states.changed() == ("Counts",)


class Moody(Plugin):
    """Accept a pod, refuse it, or fail, as the pod's name says."""

    name = "Moody"

    def filter(self, cycle, node):
        if cycle.pod.metadata.name == "broken":
            raise ValueError("out of order")
        return Status.OK if cycle.pod.metadata.name == "good" else REJECTED


@pytest.mark.parametrize(
    ("name", "statuses"),
    [
        pytest.param("good", {"Success": 1}, id="accepted"),
        pytest.param("bad", {"Unschedulable": 1}, id="refused"),
        pytest.param("broken", {"Error": 1}, id="an exception is an error"),
    ],
)
def test_a_timer_adds_every_call_of_a_machine_with_its_status(name, statuses):
    readings = iter(range(0, 10_000, 10))
    driver = Driver(Moody)
    timer = PluginTimer(driver.machine, lambda: next(readings))
    driver.put(make_node("n1"), pending(name))
    driver.cycle()
    (row,) = [row for row in timer.timings.rows() if row.plugin == "Moody"]
    assert (row.point, row.statuses, row.longest_pod) == ("Filter", statuses, f"default/{name}")
    assert row.total_ns == row.longest_ns == 10
