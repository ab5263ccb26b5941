"""What a run has counted, read by the library of Prometheus itself."""

import math

from prometheus_client.parser import text_string_to_metric_families

from podwright.scheduler.machine import render_text, resource_snapshot
from podwright.scheduler.machine.metrics.metric_snapshot import Distribution
from podwright.scheduler.machine.metrics.metric_table import METRIC_BY_NAME
from podwright.scheduler.machine.tests.driving import Driver
from podwright.testing import make_node, make_pod


def families_of(text):
    return {family.name: family for family in text_string_to_metric_families(text)}


def a_snapshot():
    driver = Driver()
    driver.put(make_node("n1", cpu="2"), make_node("n2", cpu="1"))
    for name, cpu in (("small", "1"), ("large", "2"), ("huge", "100")):
        driver.put(make_pod(name, cpu=cpu))
        driver.cycle()
    return driver.machine.metrics_snapshot()


def test_every_family_and_every_sample_of_a_run_is_read():
    snapshot = a_snapshot()
    read = families_of(render_text(snapshot))
    assert len(snapshot.families) > 10
    for family in snapshot.families:
        metric = METRIC_BY_NAME[family.name]
        # The library takes this ending off the names of counters.
        found = read.pop(family.name.removesuffix("_total"))
        assert found.type == metric.kind
        assert found.documentation.endswith(metric.help)
        per_series = 1
        if isinstance(family.series[0], Distribution):
            per_series = len(metric.bounds) + 3
        assert len(found.samples) == per_series * len(family.series)
        for sample in found.samples:
            assert set(sample.labels) - {"le"} == set(metric.labels)
            assert math.isfinite(sample.value)
    assert not read


def test_buckets_only_grow_and_end_at_all():
    for family in families_of(render_text(a_snapshot())).values():
        if family.type != "histogram":
            continue
        last: dict[str, tuple[float, float]] = {}
        for sample in family.samples:
            labels = {key: value for key, value in sample.labels.items() if key != "le"}
            key = repr(sorted(labels.items()))
            if sample.name.endswith("_bucket"):
                limit = float(sample.labels["le"])
                before = last.get(key, (-math.inf, 0.0))
                assert before[0] < limit
                assert before[1] <= sample.value
                last[key] = (limit, sample.value)
            elif sample.name.endswith("_count"):
                assert last[key] == (math.inf, sample.value)


def test_labels_that_need_escapes_come_back():
    name = 'a"b\\c'
    pod = make_pod(name, cpu="1")
    samples = [
        sample
        for family in families_of(render_text(resource_snapshot([pod]))).values()
        for sample in family.samples
    ]
    assert {sample.labels["pod"] for sample in samples} == {name}
