from __future__ import annotations

import random

import msgspec
import pytest

from podwright.scheduler.framework import Plugin
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.status import Code
from podwright.scheduler.machine.cycles.plugin_calls import binding_path, path_through
from podwright.scheduler.machine.metrics.machine_metrics import Metrics
from podwright.scheduler.machine.metrics.metric_snapshot import (
    Counts,
    Histogram,
    Levels,
    MetricsSnapshot,
    bounds_of,
    render_text,
)
from podwright.scheduler.machine.metrics.metric_table import METRIC_BY_NAME, METRICS_PATH
from podwright.scheduler.queueing import QueuedPod, QueueMetrics
from podwright.testing import make_pod

SECOND_NS = 1_000_000_000
MS = 1_000_000
NAME = "default-scheduler"
ATTEMPT = "scheduler_scheduling_attempt_duration_seconds"
ALGORITHM = "scheduler_scheduling_algorithm_duration_seconds"
POINT = "scheduler_framework_extension_point_duration_seconds"
SLI = "scheduler_pod_scheduling_sli_duration_seconds"
HANDLING = "scheduler_event_handling_duration_seconds"


class Fit(Plugin):
    name = "Fit"


class Spread(Plugin):
    name = "Spread"


PROFILE = Profile(
    scheduler_name=NAME,
    pre_filter=(Spread(), Fit()),
    filter=(Spread(), Fit()),
    pre_score=(Spread(),),
    score=((Spread(), 2), (Fit(), 1)),
)
SCORED = path_through(
    ("PreFilter", "Success"), ("Filter", "Success"), ("PreScore", "Success"), ("Score", "Success")
)


@pytest.fixture
def metrics():
    return Metrics({NAME: PROFILE})


def taken(metrics: Metrics, queue=None, levels=None) -> MetricsSnapshot:
    return metrics.snapshot(queue or QueueMetrics(), levels or Levels())


def queued_pod(attempts=1, initial_ns=0):
    queued = QueuedPod(make_pod("web"), 0, initial_ns)
    queued.attempts = attempts
    queued.initial_attempt_ns = initial_ns
    return queued


# -------------------------------------------------------------------- histograms


@pytest.mark.parametrize(
    ("value", "bucket"),
    [
        pytest.param(0, 0, id="zero is in the first bucket"),
        pytest.param(10, 0, id="a bound belongs to its bucket"),
        pytest.param(11, 1, id="just past a bound"),
        pytest.param(21, 2, id="past the last bound"),
    ],
)
def test_a_value_falls_into_one_bucket(value, bucket):
    histogram = Histogram([10, 20])
    histogram.observe(value)
    assert histogram.counts.index(1) == bucket
    assert sum(histogram.counts) == 1
    assert histogram.total == value


@pytest.mark.parametrize(
    "metric", [m for m in METRIC_BY_NAME.values() if m.kind == "histogram"], ids=lambda m: m.name
)
def test_bounds_in_nanoseconds_sort_as_seconds_do(metric):
    unit = SECOND_NS if metric.is_duration else 1
    for bound, last in zip(metric.bounds, bounds_of(metric), strict=True):
        assert last / unit <= bound < (last + 1) / unit


def test_a_histogram_counts_what_a_list_would(metrics):
    values = [random.Random(7).randrange(20 * SECOND_NS) >> shift for shift in range(40)]
    for value in values:
        metrics.observe("scheduler_permit_wait_duration_seconds", ("Success",), value)
    series = taken(metrics).distribution("scheduler_permit_wait_duration_seconds", "Success")
    bounds = METRIC_BY_NAME["scheduler_permit_wait_duration_seconds"].bounds
    for index, bound in enumerate(bounds):
        below = sum(value / SECOND_NS <= bound for value in values)
        assert sum(series.counts[: index + 1]) == below
    assert (series.count, series.total) == (len(values), sum(values))


# -------------------------------------------------------------------- attempts


def test_a_scheduled_pod_counts_once_everywhere(metrics):
    metrics.decided(NAME, SCORED)
    metrics.scheduled(
        NAME, queued_pod(3, initial_ns=SECOND_NS), 3 * SECOND_NS, 3 * SECOND_NS + 5 * MS
    )
    seen = taken(metrics)
    assert seen.count("scheduler_schedule_attempts_total", "scheduled", NAME) == 1
    assert seen.distribution(ATTEMPT, "scheduled", NAME).total == 5 * MS
    assert (
        seen.distribution("scheduler_pod_scheduling_sli_duration_seconds", "3").total == 2_005 * MS
    )
    assert seen.distribution("scheduler_pod_scheduling_attempts").counts == (0, 0, 1, 0, 0, 0)
    assert seen.distribution("scheduler_pod_scheduling_attempts").total == 3
    assert seen.count(ALGORITHM) == 1
    for point in ("PreFilter", "Filter", "PreScore", "Score", "Reserve", "Bind", "PostBind"):
        assert seen.count(POINT, point, "Success", NAME) == 1
    assert seen.count("scheduler_pod_scheduled_after_flush_total") == 0


@pytest.mark.parametrize(("attempts", "label"), [(14, "14"), (15, "15+"), (40, "15+")])
def test_many_attempts_share_a_label(metrics, attempts, label):
    metrics.scheduled(NAME, queued_pod(attempts), 0, 0)
    seen = taken(metrics)
    assert seen.count(SLI, label) == 1
    assert seen.distribution("scheduler_pod_scheduling_attempts").total == attempts


def test_a_pod_that_waited_was_held_at_permit(metrics):
    metrics.scheduled(NAME, queued_pod(), 0, 0)
    path = binding_path("PostBind", Code.SUCCESS, has_waited=True)
    metrics.scheduled(NAME, queued_pod(), 0, 0, path)
    seen = taken(metrics)
    assert [seen.count(POINT, "Permit", status, NAME) for status in ("Success", "Wait")] == [1, 1]
    assert seen.count(POINT, "Reserve", "Success", NAME) == 2


def flushed_pod():
    queued = queued_pod()
    queued.was_flushed = True
    return queued


def test_a_pod_that_only_a_time_out_moved_is_counted(metrics):
    metrics.scheduled(NAME, flushed_pod(), 0, 0)
    assert taken(metrics).count("scheduler_pod_scheduled_after_flush_total") == 1


def test_a_failed_attempt_counts_by_its_result(metrics):
    metrics.decided(NAME, path_through(("PreFilter", "Unschedulable")))
    metrics.failed(NAME, "unschedulable", started_ns=5, now_ns=5)
    path = binding_path("Bind", Code.ERROR)
    metrics.failed(NAME, "error", started_ns=5, now_ns=5 + 20 * MS, path=path)
    seen = taken(metrics)
    assert seen.count("scheduler_schedule_attempts_total", "unschedulable", NAME) == 1
    assert seen.count("scheduler_schedule_attempts_total", "error", NAME) == 1
    assert seen.count("scheduler_schedule_attempts_total", "scheduled", NAME) == 0
    assert seen.distribution(ATTEMPT, "error", NAME).total == 20 * MS
    assert seen.count(POINT, "Bind", "Error", NAME) == 1
    assert seen.count(POINT, "Unreserve", "Success", NAME) == 1


def test_a_plugin_that_skips_does_not_take_part(metrics):
    metrics.decided(NAME, SCORED)
    metrics.decided(NAME, SCORED, frozenset({"Spread"}), frozenset({"Spread"}))
    seen = taken(metrics)

    def evaluations(plugin, point):
        return seen.count("scheduler_plugin_evaluation_total", plugin, point, NAME)

    assert [evaluations("Fit", point) for point in ("PreFilter", "Filter", "Score")] == [2, 2, 2]
    assert [evaluations("Spread", point) for point in ("Filter", "PreScore", "Score")] == [1, 1, 1]
    assert evaluations("Fit", "PreScore") == 0


# -------------------------------------------------------------------- time that a driver reports


def test_reported_time_is_that_of_the_decision_and_of_an_attempt_that_ended_with_it(metrics):
    metrics.decided(NAME, SCORED)
    metrics.failed(NAME, "unschedulable", started_ns=9, now_ns=9)
    metrics.report_spent(3 * MS)
    metrics.report_spent(4 * MS)
    metrics.decided(NAME, SCORED)
    seen = taken(metrics)
    assert (seen.count(ALGORITHM), seen.distribution(ALGORITHM).total) == (2, 3 * MS)
    unschedulable = seen.distribution(ATTEMPT, "unschedulable", NAME)
    assert (unschedulable.count, unschedulable.total) == (1, 3 * MS)


def test_reported_time_is_not_added_to_attempts_that_ended_before(metrics):
    metrics.decided(NAME, SCORED)
    metrics.failed(NAME, "unschedulable", started_ns=9, now_ns=9)
    metrics.decided(NAME, SCORED)
    metrics.report_spent(3 * MS)
    assert taken(metrics).distribution(ATTEMPT, "unschedulable", NAME).total == 0


def test_reported_time_of_a_change_is_that_of_its_event(metrics):
    metrics.handled("NodeAdd")
    metrics.report_spent(250_000)
    metrics.handled("NodeAdd")
    metrics.handled("AssignedPodDelete")
    seen = taken(metrics)
    assert seen.distribution(HANDLING, "NodeAdd").counts[:3] == (1, 0, 1)
    assert seen.distribution(HANDLING, "NodeAdd").total == 250_000
    assert seen.distribution(HANDLING, "AssignedPodDelete").counts[0] == 1


def test_a_cycle_that_waited_has_its_time_from_the_events(metrics):
    metrics.decided(NAME, SCORED, duration_ns=2 * MS)
    metrics.report_spent(1)
    assert taken(metrics).distribution(ALGORITHM).total == 2 * MS


# -------------------------------------------------------------------- beside the cycle


def test_preemption_counts_attempts_victims_and_how_it_ended(metrics):
    metrics.preemption_tried()
    metrics.preemption_tried(3)
    metrics.victims_removed(has_failed=False, duration_ns=30 * MS)
    seen = taken(metrics)
    assert seen.count("scheduler_preemption_attempts_total") == 2
    assert seen.distribution("scheduler_preemption_victims").total == 3
    assert seen.count("scheduler_preemption_goroutines_execution_total", "success") == 1
    ended = seen.distribution("scheduler_preemption_goroutines_duration_seconds", "success")
    assert ended.total == 30 * MS


def test_groups_and_waits_are_counted(metrics):
    metrics.permit_waited("Unschedulable", 2 * SECOND_NS)
    metrics.pod_group_ended(NAME, "scheduled", 7)
    seen = taken(metrics)
    waited = seen.distribution("scheduler_permit_wait_duration_seconds", "Unschedulable")
    assert waited.total == 2 * SECOND_NS
    assert seen.count("scheduler_podgroup_schedule_attempts_total", "scheduled", NAME) == 1


def test_the_queues_numbers_are_the_queues(metrics):
    queue = QueueMetrics()
    queue.queue_incoming_pods_total["active", "PodAdd"] = 4
    queue.pending_pods = {"active": 1, "backoff": 0, "unschedulable": 2, "gated": 0}
    queue.unschedulable_pods["Fit", NAME] = 2
    queue.queueing_hint_executions_total["Fit", "NodeAdd", "Queue"] = 5
    queue.inflight_events = {"PodPopped": 1}
    seen = taken(metrics, queue)
    assert seen.count("scheduler_queue_incoming_pods_total", "active", "PodAdd") == 4
    assert seen.count("scheduler_pending_pods", "unschedulable") == 2
    assert seen.count("scheduler_unschedulable_pods", "Fit", NAME) == 2
    assert seen.count("scheduler_inflight_events", "PodPopped") == 1
    hint = "scheduler_queueing_hint_execution_duration_seconds"
    assert seen.distribution(hint, "Fit", "NodeAdd", "Queue").counts[0] == 5


def test_gauges_are_the_levels_of_the_moment(metrics):
    levels = Levels(
        nodes=3,
        pods=5,
        assumed_pods=2,
        binding=1,
        permit_waiting=1,
        preempting=4,
        prioritizing_extender=6,
    )
    seen = taken(metrics, levels=levels)
    sizes = [seen.count("scheduler_cache_size", kind) for kind in ("nodes", "pods", "assumed_pods")]
    assert sizes == [3, 5, 2]
    assert seen.count("scheduler_goroutines", "binding") == 1
    assert seen.count("scheduler_goroutines", "prioritizing_extender") == 6
    assert seen.count("podwright_permit_waiting_pods") == 1
    assert seen.count("podwright_preempting_pods") == 4


def test_histograms_without_labels_are_there_before_the_first_observation(metrics):
    seen = taken(metrics)
    names = [
        metric.name
        for metric in METRIC_BY_NAME.values()
        if metric.kind == "histogram" and not metric.labels and metric.path == METRICS_PATH
    ]
    families = {family.name: family.series for family in seen.families}
    assert names
    for name in names:
        assert [series.labels for series in families[name]] == [()]


def test_a_duration_of_nothing_is_ignored(metrics):
    metrics.report_spent(7)
    assert HANDLING not in {family.name for family in taken(metrics).families}


def test_a_driver_sets_what_only_it_knows(metrics):
    metrics.set_gauge("scheduler_pending_async_api_calls", ("pod_binding",), 2)
    metrics.observe(
        "scheduler_async_api_call_execution_duration_seconds", ("pod_binding", "success"), MS
    )
    metrics.count("scheduler_batch_attempts_total", (NAME, "hint_used"))
    seen = taken(metrics)
    assert seen.count("scheduler_pending_async_api_calls", "pod_binding") == 2
    calls = "scheduler_async_api_call_execution_total"
    assert seen.count(calls, "pod_binding", "success") == 1
    assert seen.count("scheduler_batch_attempts_total", NAME, "hint_used") == 1


@pytest.mark.parametrize(
    ("report", "complaint"),
    [
        (lambda m: m.count("scheduler_attempts"), "no metric has the name scheduler_attempts"),
        (lambda m: m.count("scheduler_pending_pods", ("active",)), "is a gauge, not a counter"),
        (
            lambda m: m.count("scheduler_schedule_attempts_total", ("error", NAME)),
            "is the count of scheduler_scheduling_attempt_duration_seconds",
        ),
        (
            lambda m: m.observe("scheduler_permit_wait_duration_seconds", (), 1),
            r"has labels \('result',\), not \(\)",
        ),
        (
            lambda m: [m.count("scheduler_batch_attempts_total", (NAME, "x")[:n]) for n in (2, 1)],
            r"has labels \('profile', 'result'\), not \('default-scheduler',\)",
        ),
        (
            lambda m: [
                m.observe("scheduler_permit_wait_duration_seconds", ("x",) * n, 1) for n in (1, 2)
            ],
            r"has labels \('result',\), not \('x', 'x'\)",
        ),
    ],
)
def test_what_is_not_in_the_table_is_refused(metrics, report, complaint):
    with pytest.raises(AssertionError, match=complaint):
        report(metrics)


# -------------------------------------------------------------------- determinism


def random_history(seed):
    metrics = Metrics({NAME: PROFILE})
    happen(metrics, random.Random(seed), 300)
    return taken(metrics)


def happen(metrics, draw, times):
    """Report something so many times."""
    waited = binding_path("PostBind", Code.SUCCESS, has_waited=True)
    reports = [
        lambda: metrics.decided(NAME, SCORED, frozenset(draw.sample(["Fit", "Spread"], 1))),
        lambda: metrics.scheduled(
            NAME, queued_pod(draw.randrange(1, 20)), 0, draw.randrange(10**9)
        ),
        lambda: metrics.failed(NAME, "error", started_ns=0, now_ns=draw.randrange(10**9)),
        lambda: metrics.handled(draw.choice(["NodeAdd", "NodeDelete", "AssignedPodAdd"])),
        lambda: metrics.permit_waited(draw.choice(["Success", "Unschedulable"]), 5),
        lambda: metrics.scheduled(NAME, queued_pod(), 0, 5, waited),
        lambda: metrics.scheduled(NAME, flushed_pod(), 0, 5),
        lambda: metrics.preemption_tried(draw.randrange(3)),
    ]  # fmt: skip
    for _ in range(times):
        draw.choice(reports)()


def test_the_same_history_gives_the_same_bytes():
    first, second = random_history(3), random_history(3)
    assert msgspec.json.encode(first) == msgspec.json.encode(second)
    assert render_text(first) == render_text(second)


def test_the_order_of_series_does_not_depend_on_the_order_of_events(metrics):
    other = Metrics({NAME: PROFILE})
    for status in ("Success", "Unschedulable", "Error"):
        metrics.permit_waited(status, 1)
    for status in ("Error", "Unschedulable", "Success"):
        other.permit_waited(status, 1)
    assert taken(metrics) == taken(other)


def test_a_snapshot_is_plain_data_and_does_not_change(metrics):
    metrics.decided(NAME, SCORED)
    before = taken(metrics)
    raw = msgspec.msgpack.encode(before)
    assert msgspec.msgpack.decode(raw, type=MetricsSnapshot) == before
    metrics.decided(NAME, SCORED)
    assert msgspec.msgpack.encode(before) == raw
    assert taken(metrics) == taken(metrics)


def test_metrics_that_are_restored_go_on_as_if_nothing_had_happened():
    draw, whole = random.Random(5), Metrics({NAME: PROFILE})
    happen(whole, draw, 200)
    raw = msgspec.msgpack.encode(whole.capture())
    later = draw.getstate()
    happen(whole, draw, 200)
    again = Metrics({NAME: PROFILE})
    again.restore(msgspec.msgpack.decode(raw, type=Counts))
    assert msgspec.msgpack.encode(again.capture()) == raw
    draw.setstate(later)
    happen(again, draw, 200)
    assert taken(again) == taken(whole)
    assert again.capture() == whole.capture()


def test_what_is_written_down_does_not_depend_on_the_order_of_events(metrics):
    other = Metrics({NAME: PROFILE})
    failing = binding_path("Reserve", Code.ERROR), binding_path("Bind", Code.ERROR)
    for one, order in ((metrics, 1), (other, -1)):
        for path in failing[::order]:
            one.decided(NAME, SCORED, frozenset({"Fit", "Spread"}))
            one.failed(NAME, "error", started_ns=0, now_ns=5, path=path)
        for event in ("NodeAdd", "NodeDelete")[::order]:
            one.handled(event)
            one.decided(NAME, SCORED, skipped_scores=frozenset({event}))
            one.permit_waited(event, 1)
            one.failed(event, "error", started_ns=0, now_ns=5)
        for attempts in (2, 20)[::order]:
            one.scheduled(NAME, queued_pod(attempts), 0, 9)
        for profile in ("first", "second")[::order]:
            one.scheduled(profile, queued_pod(1), 0, 9)
    assert msgspec.msgpack.encode(metrics.capture()) == msgspec.msgpack.encode(other.capture())


def test_what_a_driver_reported_is_not_written_down(metrics):
    silent = Metrics({NAME: PROFILE})
    for one in (metrics, silent):
        one.handled("NodeAdd")
        one.decided(NAME, SCORED)
        one.failed(NAME, "error", started_ns=9, now_ns=9)
    metrics.report_spent(3 * MS)
    metrics.set_gauge("scheduler_pending_async_api_calls", ("pod_binding",), 2)
    assert metrics.capture() == silent.capture()
    again = Metrics({NAME: PROFILE})
    again.restore(metrics.capture())
    assert taken(again).distribution(ATTEMPT, "error", NAME).counts[0] == 1
    assert taken(again) == taken(silent) != taken(metrics)


def test_only_new_metrics_are_restored(metrics):
    metrics.decided(NAME, SCORED)
    with pytest.raises(AssertionError, match="only new metrics"):
        metrics.restore(metrics.capture())
