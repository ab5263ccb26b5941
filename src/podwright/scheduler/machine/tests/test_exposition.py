from __future__ import annotations

import math
import re
from typing import Any

import pytest

from podwright.scheduler.machine.cycles.plugin_calls import ExtensionPath
from podwright.scheduler.machine.metrics.machine_metrics import Metrics
from podwright.scheduler.machine.metrics.metric_snapshot import (
    CONTENT_TYPE,
    Distribution,
    Family,
    Levels,
    MetricsSnapshot,
    Value,
    render_text,
)
from podwright.scheduler.machine.metrics.metric_table import METRIC_BY_NAME
from podwright.scheduler.queueing import QueuedPod, QueueMetrics
from podwright.testing import make_pod

SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
UNESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def unescape(text):
    return re.sub(r"\\.", lambda match: UNESCAPED[match[0]], text)


def parse(text):
    """Read the text format: (help and type by family, samples in order)."""
    assert text == "" or text.endswith("\n")
    families, samples = {}, []
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, _, words = line.removeprefix("# HELP ").partition(" ")
            assert name not in families, f"{name} appears twice"
            families[name] = [unescape(words), None]
        elif line.startswith("# TYPE "):
            name, kind = line.removeprefix("# TYPE ").split(" ")
            families[name][1] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            raw = match["labels"] or ""
            assert LABEL.sub("", raw) == "", line
            labels = {name: unescape(value) for name, value in LABEL.findall(raw)}
            samples.append((match["name"], labels, float(match["value"])))
    return families, samples


def read_back(text):
    """Turn the text into families of series again, bucket by bucket."""
    families, samples = parse(text)
    found: dict[str, Any] = {}
    for name, labels, value in samples:
        family = next(
            family
            for family in (name, *(name.removesuffix(end) for end in ("_bucket", "_sum", "_count")))
            if family in families
        )
        metric = METRIC_BY_NAME[family]
        limit = labels.pop("le", None)
        key = tuple(labels[label] for label in metric.labels)
        series = found.setdefault(family, {}).setdefault(key, {"buckets": []})
        if limit is not None:
            series["buckets"].append((float(limit), value))
        else:
            series[name.removeprefix(family)] = value
    return families, found


def snapshot_of(*families):
    return MetricsSnapshot(families)


def sample_snapshot():
    name = "default-scheduler"
    metrics = Metrics({})
    queued = QueuedPod(make_pod("web"), 0, 0)
    queued.attempts = 2
    metrics.scheduled(name, queued, 0, 1_500_000)
    metrics.failed(name, "error", started_ns=0, now_ns=3, path=ExtensionPath(("Bind", "Error")))
    metrics.permit_waited("Success", 99_000_000_000)
    metrics.preemption_tried(100)
    queue = QueueMetrics()
    queue.pending_pods = {"active": 3, "gated": 0}
    return metrics.snapshot(queue, Levels(nodes=2))


def test_the_text_can_be_read_back():
    snapshot = sample_snapshot()
    families, found = read_back(render_text(snapshot))
    assert list(families) == [family.name for family in snapshot.families]
    for family in snapshot.families:
        metric = METRIC_BY_NAME[family.name]
        promise = f"[{metric.stability}] " if metric.stability else ""
        assert families[family.name] == [promise + metric.help, metric.kind]
        assert list(found[family.name]) == [series.labels for series in family.series]
        for series in family.series:
            read = found[family.name][series.labels]
            if isinstance(series, Value):
                assert read[""] == series.value
                continue
            limits = [limit for limit, _ in read["buckets"]]
            assert limits == [*metric.bounds, math.inf]
            counts = [count for _, count in read["buckets"]]
            assert counts == [sum(series.counts[: i + 1]) for i in range(len(series.counts))]
            assert read["_count"] == counts[-1] == series.count
            unit = 10**9 if metric.is_duration else 1
            assert read["_sum"] * unit == pytest.approx(series.total)


def test_a_histogram_looks_like_upstreams():
    waits = Distribution(("Success",), (0, 2, *[0] * 13, 1), 99_003_000_000)
    lines = render_text(
        snapshot_of(Family("scheduler_permit_wait_duration_seconds", (waits,)))
    ).splitlines()
    name = "scheduler_permit_wait_duration_seconds"
    assert lines[:5] == [
        f"# HELP {name} [BETA] Time that a pod waited at Permit.",
        f"# TYPE {name} histogram",
        f'{name}_bucket{{result="Success",le="0.001"}} 0',
        f'{name}_bucket{{result="Success",le="0.002"}} 2',
        f'{name}_bucket{{result="Success",le="0.004"}} 2',
    ]
    assert lines[-4:] == [
        f'{name}_bucket{{result="Success",le="16.384"}} 2',
        f'{name}_bucket{{result="Success",le="+Inf"}} 3',
        f'{name}_sum{{result="Success"}} 99.003',
        f'{name}_count{{result="Success"}} 3',
    ]


def test_whole_bounds_have_no_point_and_small_ones_an_exponent():
    victims = Distribution((), (1, *[0] * 7), 1)
    hints = Distribution(("Fit", "NodeAdd", "Queue"), (1, *[0] * 20), 0)
    text = render_text(
        snapshot_of(
            Family("scheduler_preemption_victims", (victims,)),
            Family("scheduler_queueing_hint_execution_duration_seconds", (hints,)),
        )
    )
    assert 'scheduler_preemption_victims_bucket{le="64"} 1\n' in text
    assert "scheduler_preemption_victims_sum 1\n" in text
    assert 'hint="Queue",plugin="Fit",le="1.5000000000000002e-05"} 1\n' in text


def test_labels_are_in_order_of_name():
    value = Value(("scheduled", "mine"), 7)
    text = render_text(snapshot_of(Family("scheduler_schedule_attempts_total", (value,))))
    assert text.endswith('_total{profile="mine",result="scheduled"} 7\n')


def test_odd_characters_survive():
    odd = 'say "hi"\\ there\nnow'
    value = Value((odd, "active"), 1)
    text = render_text(snapshot_of(Family("scheduler_queue_incoming_pods_total", (value,))))
    assert len(text.splitlines()) == 3
    _, samples = parse(text)
    assert samples == [
        ("scheduler_queue_incoming_pods_total", {"event": "active", "queue": odd}, 1.0)
    ]


def test_metrics_without_labels_begin_at_zero_and_those_with_labels_when_they_happen():
    text = render_text(Metrics({}).snapshot(QueueMetrics(), Levels()))
    assert "scheduler_preemption_attempts_total 0\n" in text
    assert "scheduler_scheduling_algorithm_duration_seconds_count 0\n" in text
    assert "scheduler_permit_wait_duration_seconds" not in text
    _, samples = parse(text)
    assert {value for _, _, value in samples} == {0.0}


def test_nothing_is_nothing():
    assert render_text(snapshot_of()) == ""
    assert "version=0.0.4" in CONTENT_TYPE
