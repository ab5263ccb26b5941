"""What the machine counts while it schedules, binds, waits and preempts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import with_node_name
from podwright.scheduler.assembly.machine import build_machine
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.framework import Code, Plugin, PostFilterResult, Status
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    CycleDue,
    DeletePod,
    MetricsSnapshot,
    ObjectDeleted,
    ObjectPut,
    PatchPodStatus,
    PodAllowed,
    PodRejected,
    render_text,
)
from podwright.scheduler.machine.tests.driving import Driver as GatedDriver
from podwright.testing import make_node, make_pod
from podwright.testing.parity.sequence import effective_configuration

MS = 1_000_000
SECOND_NS = 1_000 * MS
NAME = "default-scheduler"
ATTEMPTS = "scheduler_schedule_attempts_total"
ATTEMPT = "scheduler_scheduling_attempt_duration_seconds"
ALGORITHM = "scheduler_scheduling_algorithm_duration_seconds"
POINT = "scheduler_framework_extension_point_duration_seconds"
HANDLING = "scheduler_event_handling_duration_seconds"
PERMIT = "scheduler_permit_wait_duration_seconds"


class Hold(Plugin):
    """Holds every pod at Permit."""

    name = "Hold"

    def permit(self, cycle, node_name):
        return Status.wait(), "10s"


class Driver:
    """Makes the machine's calls; each takes a millisecond."""

    def __init__(self, *plugins, post_filter=None):
        registry = Registry(list(plugins))
        config = None
        if plugins:
            enabled = [{"name": plugin.name} for plugin in plugins]
            points = {"multiPoint": {"enabled": enabled}}
            if post_filter is not None:
                own = [{"name": name} for name in post_filter]
                points = {"postFilter": {"enabled": own, "disabled": [{"name": "*"}]}}
            profile = {"schedulerName": NAME, "plugins": points}
            config = {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [profile],
            }
        self.machine = build_machine(effective_configuration(config, registry), registry)
        self.now_ns = SECOND_NS
        self.bind_error = None
        self.objects = {}

    def put(self, obj):
        self.objects[obj.key] = obj
        self.do(ObjectPut(obj))

    def do(self, event):
        for action in self.machine.handle(event, self.now_ns):
            match action:
                case Bind(call, name, _, node):
                    self.now_ns += MS
                    if self.bind_error is None:
                        self.put(with_node_name(self.objects[name], node))
                    self.do(CallDone(call, self.bind_error))
                case DeletePod(call, name, _):
                    self.now_ns += MS
                    self.do(ObjectDeleted(self.objects.pop(name)))
                    self.do(CallDone(call))
                case PatchPodStatus(call):
                    self.do(CallDone(call))
                case _:
                    pass

    def cycle(self):
        self.do(CycleDue())
        self.machine.validate()

    def seen(self) -> MetricsSnapshot:
        return self.machine.metrics_snapshot()


def pod(name, **settings):
    return make_pod(name, scheduler=NAME, **settings)


@pytest.fixture
def driver():
    return Driver()


def test_a_bound_pod(driver):
    driver.put(make_node("n1"))
    driver.put(make_node("n2"))
    driver.put(pod("web", cpu="1"))
    driver.now_ns += 2 * SECOND_NS
    driver.cycle()
    seen = driver.seen()
    assert seen.count(ATTEMPTS, "scheduled", NAME) == 1
    assert seen.distribution(ATTEMPT, "scheduled", NAME).total == MS
    waited = seen.distribution("scheduler_pod_scheduling_sli_duration_seconds", "1")
    assert waited.total == 2 * SECOND_NS + MS
    assert seen.count(ALGORITHM) == 1
    for point, status in (
        ("Filter", "Success"), ("Score", "Success"), ("Permit", "Success"),
        ("PreBindPreFlight", "Skip"), ("Bind", "Success"), ("PostBind", "Success"),
    ):  # fmt: skip
        assert seen.count(POINT, point, status, NAME) == 1, point
    fit = "NodeResourcesFit"
    assert seen.count("scheduler_plugin_evaluation_total", fit, "Filter", NAME) == 1
    assert seen.count("scheduler_queue_incoming_pods_total", "active", "UnschedulablePodAdd") == 1
    assert seen.count(HANDLING, "NodeAdd") == 2
    assert seen.count(HANDLING, "UnschedulablePodAdd") == 1
    assert seen.count(HANDLING, "AssignedPodAdd") == 1
    sizes = [seen.count("scheduler_cache_size", kind) for kind in ("nodes", "pods", "assumed_pods")]
    assert sizes == [2, 1, 0]
    assert seen.count("scheduler_goroutines", "binding") == 0


def test_a_pod_that_fits_nowhere(driver):
    driver.put(make_node("n1", cpu="1"))
    driver.put(pod("big", cpu="2"))
    driver.cycle()
    driver.machine.metrics.report_spent(3 * MS)
    seen = driver.seen()
    assert seen.count(ATTEMPTS, "unschedulable", NAME) == 1
    assert seen.distribution(ATTEMPT, "unschedulable", NAME).total == 3 * MS
    assert seen.distribution(ALGORITHM).total == 3 * MS
    assert seen.count(POINT, "PostFilter", "Unschedulable", NAME) == 1
    assert seen.count("scheduler_preemption_attempts_total") == 1
    assert seen.count("scheduler_preemption_victims") == 0
    assert seen.count("scheduler_pending_pods", "unschedulable") == 1
    assert seen.count("scheduler_unschedulable_pods", "NodeResourcesFit", NAME) == 1


class Detailed(Plugin):
    """Tries something else than preemption, and says what."""

    name = "Detailed"
    code = Code.UNSCHEDULABLE

    def post_filter(self, cycle, failed):
        return PostFilterResult(status=Status(self.code, ("x",)), details="something else")


@pytest.mark.parametrize(
    ("names", "code", "attempts"),
    [
        pytest.param(["DefaultPreemption"], Code.UNSCHEDULABLE, 1, id="preemption alone"),
        pytest.param(["DefaultPreemption", "Detailed"], Code.UNSCHEDULABLE, 1, id="both"),
        pytest.param(["Detailed", "DefaultPreemption"], Code.UNSCHEDULABLE, 1, id="it is last"),
        pytest.param(["DefaultPreemption", "Detailed"], Code.ERROR, 1, id="the last one fails"),
        pytest.param(["Detailed", "DefaultPreemption"], Code.ERROR, 0, id="the first one fails"),
        pytest.param(
            ["Detailed", "DefaultPreemption"],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            0,
            id="the first one knows that nothing helps",
        ),
        pytest.param(["Detailed"], Code.UNSCHEDULABLE, 0, id="another one alone"),
        pytest.param(["Detailed"], Code.ERROR, 0, id="another one alone, which fails"),
    ],
)
def test_the_runs_of_preemption_are_counted(monkeypatch, names, code, attempts):
    # Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go, PostFilter
    monkeypatch.setattr(Detailed, "code", code)
    driver = Driver(Detailed, post_filter=names)
    driver.put(make_node("n1", cpu="1"))
    driver.put(pod("big", cpu="2"))
    driver.cycle()
    seen = driver.seen()
    assert seen.count("scheduler_preemption_attempts_total") == attempts
    assert seen.distribution("scheduler_preemption_victims").total == 0


def test_a_bind_that_fails(driver):
    driver.put(make_node("n1"))
    driver.put(pod("web"))
    driver.bind_error = CallError("no")
    driver.cycle()
    seen = driver.seen()
    assert seen.count(ATTEMPTS, "error", NAME) == 1
    assert seen.count(ATTEMPTS, "scheduled", NAME) == 0
    assert seen.distribution(ATTEMPT, "error", NAME).total == MS
    assert seen.count(POINT, "Bind", "Error", NAME) == 1
    assert seen.count(POINT, "Unreserve", "Success", NAME) == 1
    assert seen.count("scheduler_pending_pods", "backoff") == 1


def test_a_pod_that_is_held_at_permit():
    driver = Driver(Hold)
    driver.put(make_node("n1"))
    driver.put(pod("web"))
    driver.cycle()
    seen = driver.seen()
    assert seen.count("podwright_permit_waiting_pods") == 1
    assert seen.count("scheduler_goroutines", "binding") == 1
    assert seen.count("scheduler_cache_size", "assumed_pods") == 1
    driver.now_ns += 4 * SECOND_NS
    driver.do(PodAllowed("default/web", "Hold"))
    seen = driver.seen()
    assert seen.distribution(PERMIT, "Success").total == 4 * SECOND_NS
    assert seen.distribution(ATTEMPT, "scheduled", NAME).total == 4 * SECOND_NS + MS
    assert seen.count(POINT, "Permit", "Wait", NAME) == 1
    assert seen.count(POINT, "Permit", "Success", NAME) == 0


class HoldSome(Hold):
    """Holds the pods whose name says so."""

    name = "HoldSome"

    def permit(self, cycle, node_name):
        return super().permit(cycle, node_name) if "held" in cycle.pod.key else (Status(), "0s")


@pytest.mark.parametrize(
    ("fates", "expected"),
    [
        pytest.param(
            ["bound"] * 2,
            {("Permit", "Success"): 2, ("Bind", "Success"): 2, ("PostBind", "Success"): 2},
            id="bound",
        ),
        pytest.param(
            ["failed"],
            {("Permit", "Success"): 1, ("Bind", "Error"): 1, ("Unreserve", "Success"): 1},
            id="the bind fails",
        ),
        pytest.param(
            ["held"],
            {("Permit", "Wait"): 1, ("Bind", "Success"): 1, ("PostBind", "Success"): 1},
            id="bound after it was held",
        ),
        pytest.param(
            ["failed-held"],
            {("Permit", "Wait"): 1, ("Bind", "Error"): 1, ("Unreserve", "Success"): 1},
            id="the bind fails after it was held",
        ),
        pytest.param(
            ["bound", "failed", "held", "bound", "failed-held", "held"],
            {
                ("Permit", "Success"): 3,
                ("Permit", "Wait"): 3,
                ("Bind", "Success"): 4,
                ("Bind", "Error"): 2,
                ("PostBind", "Success"): 4,
                ("Unreserve", "Success"): 2,
            },
            id="some of each",
        ),
    ],
)
def test_a_placed_pod_counts_at_the_points_that_it_went_through(fates, expected):
    driver = Driver(HoldSome)
    driver.put(make_node("n1"))
    for number, fate in enumerate(fates):
        driver.put(pod(f"{fate}-{number}"))
        driver.bind_error = CallError("no") if "failed" in fate else None
        driver.cycle()
        if "held" in fate:
            driver.do(PodAllowed(f"default/{fate}-{number}", "HoldSome"))
    seen = driver.seen()
    points = ("Permit", "Bind", "PostBind", "Unreserve")
    statuses = ("Success", "Wait", "Error", "Unschedulable")
    counts = {
        (point, status): seen.count(POINT, point, status, NAME)
        for point in points
        for status in statuses
    }
    assert {labels: count for labels, count in counts.items() if count} == expected
    assert seen.count(POINT, "Reserve", "Success", NAME) == len(fates)
    assert seen.count(POINT, "PreBindPreFlight", "Skip", NAME) == len(fates)


def test_an_attempt_lasts_from_its_own_cycle_whatever_was_tried_in_between():
    # Upstream: pkg/scheduler/schedule_one.go, handleBindingCycleError
    driver = Driver(Hold)
    driver.put(make_node("n1", cpu="1"))
    driver.put(pod("web", cpu="1"))
    driver.cycle()
    driver.put(pod("large", cpu="8"))
    driver.now_ns += 3 * SECOND_NS
    driver.cycle()
    driver.now_ns += SECOND_NS
    driver.do(PodRejected("default/web", "Hold", "no"))
    seen = driver.seen()
    assert seen.distribution(ATTEMPT, "unschedulable", NAME).total == 4 * SECOND_NS
    assert seen.count(ATTEMPTS, "unschedulable", NAME) == 2


def test_a_preemption(driver):
    driver.put(make_node("n1", cpu="2"))
    for name in ("a", "b"):
        driver.put(with_node_name(pod(name, cpu="1"), "n1"))
    driver.put(pod("vip", cpu="2", priority=1_000))
    driver.cycle()
    seen = driver.seen()
    assert seen.count("scheduler_preemption_attempts_total") == 1
    assert seen.distribution("scheduler_preemption_victims").total == 2
    assert seen.count("scheduler_preemption_goroutines_execution_total", "success") == 1
    took = seen.distribution("scheduler_preemption_goroutines_duration_seconds", "success")
    assert took.total == 2 * MS
    assert seen.count(POINT, "PostFilter", "Success", NAME) == 1
    assert seen.count("podwright_preempting_pods") == 0


class Numbering:
    """Numbers objects in order of appearance."""

    def __init__(self):
        self.objects = []

    def of(self, obj):
        if obj not in self.objects:
            self.objects.append(obj)
        return self.objects.index(obj)

    def of_all(self, objects):
        return list(map(self.of, objects))


def test_an_attempt_that_is_under_way_keeps_its_beginning_in_a_snapshot():
    first, second = Driver().machine, Driver().machine
    first.handle(ObjectPut(make_node("n1")), 0)
    first.handle(ObjectPut(pod("web")), SECOND_NS)
    (bind,) = first.handle(CycleDue(), 2 * SECOND_NS)
    assert isinstance(bind, Bind)
    numbering = Numbering()
    snapshot = first.snapshot(numbering)
    second.restore(snapshot, dict(enumerate(numbering.objects)))
    second.handle(CallDone(bind.call), 2 * SECOND_NS + 5 * MS)
    seen = second.metrics_snapshot()
    assert seen.distribution(ATTEMPT, "scheduled", NAME).total == 5 * MS


def test_a_machine_from_a_snapshot_goes_on_counting():
    first, second = Driver().machine, Driver().machine
    first.handle(ObjectPut(make_node("n1")), 0)
    for number in range(3):
        first.handle(ObjectPut(pod(f"p{number}", cpu="100")), number)
        first.handle(CycleDue(), number)
    numbering = Numbering()
    snapshot = first.snapshot(numbering)
    second.restore(snapshot, dict(enumerate(numbering.objects)))
    assert second.metrics_snapshot() == first.metrics_snapshot()
    assert render_text(second.metrics_snapshot()) == render_text(first.metrics_snapshot())
    for machine in (first, second):
        machine.handle(ObjectPut(pod("small")), SECOND_NS)
        machine.handle(CycleDue(), SECOND_NS)
    assert second.metrics_snapshot().count(ALGORITHM) == 4
    assert second.metrics_snapshot() == first.metrics_snapshot()


def test_the_same_events_give_the_same_text():
    def run():
        driver = Driver()
        for number in range(5):
            driver.put(make_node(f"n{number}", cpu="2"))
        for number in range(12):
            driver.put(pod(f"p{number}", cpu="1", priority=number % 3))
            driver.cycle()
        return driver.seen()

    first, second = run(), run()
    assert msgspec.json.encode(first) == msgspec.json.encode(second)
    assert render_text(first) == render_text(second)


def test_plugins_count_and_measure_in_the_metrics_of_the_scheduler():
    handles: list[Any] = []

    class Counts(Hold):
        name = "Counts"

        def permit(self, cycle, node_name):
            handles.append(self.handle)
            return Status()

    driver = Driver(Counts)
    driver.put(make_node("n1"))
    driver.put(pod("web"))
    driver.cycle()
    (handle,) = handles
    before = driver.seen().distribution(PERMIT, "Refused")
    for duration_ns in (3 * MS, 4 * MS):
        handle.observe(PERMIT, ("Refused",), duration_ns)
    handle.count("scheduler_batch_attempts_total", (NAME, "hint_used"))
    seen = driver.seen()
    after = seen.distribution(PERMIT, "Refused")
    assert (sum(before.counts), sum(after.counts), after.total) == (0, 2, 7 * MS)
    assert seen.count("scheduler_batch_attempts_total", NAME, "hint_used") == 1


@pytest.mark.parametrize(
    ("node", "is_assumed", "gone_from", "event"),
    [
        pytest.param("", False, "", "UnschedulablePodDelete", id="a pending pod"),
        pytest.param("", True, "", "UnschedulablePodDelete", id="one that waits at Permit"),
        pytest.param("n1", False, "n1", "AssignedPodDelete", id="a pod with a node"),
        pytest.param("", True, "n1", "AssignedPodDelete", id="a pod that got a node unseen"),
        pytest.param("n1", False, "", "AssignedPodDelete", id="one whose last state is an old one"),
    ],
)
def test_a_deleted_pod_was_assigned_if_it_was_ever_seen_with_a_node(
    node, is_assumed, gone_from, event
):
    driver = Driver(HoldSome)
    driver.put(make_node("n1", cpu="1"))
    put = pod("held", cpu="1")
    driver.put(with_node_name(put, node) if node else put)
    if is_assumed:
        driver.cycle()
    driver.put(pod("next", cpu="1"))
    driver.do(ObjectDeleted(with_node_name(put, gone_from) if gone_from else put))
    driver.machine.validate()
    seen = driver.seen()
    names = ("UnschedulablePodDelete", "AssignedPodDelete")
    assert {name: seen.count(HANDLING, name) for name in names} == {
        name: int(name == event) for name in names
    }
    driver.cycle()
    assert driver.machine.cluster.pods.keys() == {"default/next"}, "its room is free"


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        pytest.param(
            "",
            {("Permit", "Wait"): 1, ("PreBindPreFlight", "Skip"): 1, ("Unreserve", "Success"): 1},
            id="after the pre-flight, which comes first",
        ),
        pytest.param(
            "NominatedNodeNameForExpectation=false",
            {("Permit", "Wait"): 1, ("Unreserve", "Success"): 1},
            id="without a pre-flight",
        ),
    ],
)
def test_a_pod_that_is_rejected_while_it_waits_counts_at_the_points_that_it_went_through(
    gates, expected
):
    driver = GatedDriver(Hold, gates=gates)
    driver.put(make_node("n1"), pod("web"))
    driver.cycle()
    driver.deliver(PodRejected("default/web", "Hold", "no"))
    seen = driver.machine.metrics_snapshot()
    points = ("Permit", "PreBindPreFlight", "PreBind", "Bind", "PostBind", "Unreserve")
    counts = {
        (point, status): seen.count(POINT, point, status, NAME)
        for point in points
        for status in ("Success", "Skip", "Wait", "Error", "Unschedulable")
    }
    assert {labels: count for labels, count in counts.items() if count} == expected


def test_hints_of_plugins_are_counted_and_take_no_time(driver):
    driver.put(make_node("n1", cpu="1"))
    driver.put(pod("big", cpu="2"))
    driver.cycle()
    for name, cpu in (("n2", "1"), ("n3", "2")):
        driver.put(make_node(name, cpu=cpu))
    name = "scheduler_queueing_hint_execution_duration_seconds"
    seen = driver.seen()
    for hint, times in (("QueueSkip", 1), ("Queue", 1)):
        found = seen.distribution(name, "NodeResourcesFit", "NodeAdd", hint)
        assert (sum(found.counts), found.total) == (times, 0)
