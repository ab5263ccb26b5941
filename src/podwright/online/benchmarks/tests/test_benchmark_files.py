"""The benchmark files of scheduler_perf on the processor time of this process."""

from __future__ import annotations

import pytest

import podwright as pw
from podwright.online.benchmarks import topic_of

EXAMPLE = "examples/scheduler-perf/performance-config.yaml"


def test_the_workloads_of_a_file_are_executed_in_order():
    results = list(pw.scheduler_perf(EXAMPLE))
    assert [(each.test_case, each.error) for each in results] == [("Basic", ""), ("Gates", "")]
    assert all(each.has_passed for each in results)
    (memory,) = [
        each.data["Max"]
        for each in results[0].items
        if each.labels["Metric"] == "heap_memory_usage"
    ]
    assert memory > 10


def test_a_name_that_no_workload_has_gets_a_suggestion():
    with pytest.raises(pw.ArgumentError, match="did you mean Basic/20Nodes"):
        pw.scheduler_perf(EXAMPLE, test_case="Basic", workload="20Node")


@pytest.mark.parametrize(
    ("path", "topic"),
    [
        ("/x/scheduler_perf/dra/extendedresource/performance-config.yaml", "dra_extendedresource"),
        ("/x/benchmarks/misc/performance-config.yaml", "misc"),
    ],
)
def test_the_topic_is_the_folders_of_a_file(path, topic):
    assert topic_of(path) == topic
