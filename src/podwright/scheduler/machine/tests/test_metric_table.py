"""The table against kube-scheduler's list, written down here a second time."""

from __future__ import annotations

import re

import pytest

from podwright.scheduler.machine.metrics.metric_table import METRIC_BY_NAME, METRICS, exponential

# name | kind | labels | start, factor, count of buckets | stability
UPSTREAM = """
schedule_attempts_total | counter | result, profile | | STABLE
scheduling_attempt_duration_seconds | histogram | result, profile | 0.001, 2, 15 | STABLE
scheduling_algorithm_duration_seconds | histogram | | 0.001, 2, 15 | ALPHA
pod_scheduling_sli_duration_seconds | histogram | attempts | 0.01, 2, 20 | BETA
pod_scheduling_attempts | histogram | | 1, 2, 5 | STABLE
framework_extension_point_duration_seconds | histogram | extension_point, status, profile \
| 0.0001, 2, 12 | STABLE
plugin_execution_duration_seconds | histogram | plugin, extension_point, status \
| 0.00001, 1.5, 20 | ALPHA
plugin_evaluation_total | counter | plugin, extension_point, profile | | BETA
queue_incoming_pods_total | counter | queue, event | | STABLE
pending_pods | gauge | queue | | STABLE
unschedulable_pods | gauge | plugin, profile | | BETA
preemption_attempts_total | counter | | | STABLE
preemption_victims | histogram | | 1, 2, 7 | STABLE
preemption_goroutines_duration_seconds | histogram | result | 0.01, 2, 20 | ALPHA
preemption_goroutines_execution_total | counter | result | | ALPHA
permit_wait_duration_seconds | histogram | result | 0.001, 2, 15 | BETA
event_handling_duration_seconds | histogram | event | 0.0001, 2, 12 | ALPHA
queueing_hint_execution_duration_seconds | histogram | plugin, event, hint \
| 0.00001, 1.5, 20 | ALPHA
inflight_events | gauge | event | | ALPHA
goroutines | gauge | operation | | BETA
cache_size | gauge | type | | ALPHA
pod_scheduled_after_flush_total | counter | | | ALPHA
batch_attempts_total | counter | profile, result | | ALPHA
batch_cache_flushed_total | counter | profile, reason | | ALPHA
get_node_hint_duration_seconds | histogram | hinted, profile | 0.00001, 2, 12 | ALPHA
store_schedule_results_duration_seconds | histogram | profile | 0.00001, 2, 12 | ALPHA
async_api_call_execution_total | counter | call_type, result | | ALPHA
async_api_call_execution_duration_seconds | histogram | call_type, result \
| 0.001, 2, 15 | ALPHA
pending_async_api_calls | gauge | call_type | | ALPHA
resourceclaim_creates_total | counter | status | | ALPHA
dra_bindingconditions_allocations_total | counter | profile, driver, status | | ALPHA
dra_bindingconditions_wait_duration_seconds | histogram | profile, driver, status \
| 0.1, 2, 14 | ALPHA
podgroup_schedule_attempts_total | counter | result, profile | | ALPHA
podgroup_scheduling_attempt_duration_seconds | histogram | result, profile \
| 0.001, 2, 15 | ALPHA
podgroup_scheduling_algorithm_duration_seconds | histogram | | 0.001, 2, 15 | ALPHA
volume_binder_cache_requests_total | counter | operation | | ALPHA
volume_scheduling_stage_error_total | counter | operation | | ALPHA
"""

RESOURCES = ["namespace", "pod", "node", "scheduler", "priority", "resource", "unit"]


def rows():
    for line in UPSTREAM.strip().splitlines():
        name, kind, labels, buckets, stability = [cell.strip() for cell in line.split("|")]
        yield pytest.param(
            f"scheduler_{name}",
            kind,
            re.findall(r"\w+", labels),
            [float(number) for number in buckets.split(",")] if buckets else [],
            stability,
            id=name,
        )


@pytest.mark.parametrize(("name", "kind", "labels", "buckets", "stability"), list(rows()))
def test_the_metric_is_upstreams(name, kind, labels, buckets, stability):
    metric = METRIC_BY_NAME[name]
    assert metric.kind == kind
    assert list(metric.labels) == labels
    assert metric.stability == stability
    assert metric.path == "/metrics"
    if buckets:
        start, factor, count = buckets
        expected = [start * factor**index for index in range(int(count))]
        assert list(metric.bounds) == pytest.approx(expected, rel=1e-12)
    else:
        assert metric.bounds == ()


@pytest.mark.parametrize("name", ["kube_pod_resource_request", "kube_pod_resource_limit"])
def test_pods_resources_are_scraped_apart(name):
    metric = METRIC_BY_NAME[name]
    assert (metric.kind, metric.stability) == ("gauge", "STABLE")
    assert list(metric.labels) == RESOURCES
    assert metric.path == "/metrics/resources"


def test_no_other_metric_has_an_upstream_name():
    known = {row.values[0] for row in rows()}
    known |= {"kube_pod_resource_request", "kube_pod_resource_limit"}
    ours = [metric.name for metric in METRICS if metric.name not in known]
    assert all(name.startswith("podwright_") for name in ours), ours
    assert all(METRIC_BY_NAME[name].stability == "" for name in ours)


def test_every_name_appears_once_and_is_explained():
    assert len(METRIC_BY_NAME) == len(METRICS)
    assert all(metric.help.endswith(".") for metric in METRICS)


def test_bounds_have_upstreams_last_digits():
    assert exponential(0.00001, 1.5, 3) == (1e-05, 1.5000000000000002e-05, 2.2500000000000005e-05)
    assert exponential(1, 2, 5) == (1, 2, 4, 8, 16)
