"""The results of workloads: thresholds, and files for the dashboard of scheduler_perf.

Upstream: test/integration/scheduler_perf/scheduler_perf.go, applyThreshold; util.go,
dataItems2JSONFile
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import SECOND_NS
from podwright.simulation.scheduler_perf.execution import Clock, Execution
from podwright.simulation.scheduler_perf.measuring import DataItem
from podwright.simulation.scheduler_perf.test_cases import PerfWorkload, labels_match
from podwright.simulation.scheduler_perf.tested_cluster import WorkloadError

BENCHMARK: Final = "BenchmarkPerfScheduling"
VERSION: Final = "v1"
NOT_APPLICABLE: Final = "not applicable"


class Comparison(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A measured value beside its threshold.

    Attributes
    ----------
    name : str
        Of the collection, such as a namespace.
    metric, bucket, unit : str
    value : float
    threshold : float
        0 for none.
    expect_lower : bool
        Whether the threshold is an upper bound.
    """

    name: str
    metric: str
    bucket: str
    unit: str
    value: float
    threshold: float
    expect_lower: bool

    @property
    def is_met(self) -> bool:
        """Whether there is no threshold, or the value is on its right side."""
        if not self.threshold:
            return True
        if self.expect_lower:
            return self.value < self.threshold
        return self.value > self.threshold


class WorkloadResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What came out of a workload.

    Attributes
    ----------
    topic, test_case, workload : str
    items : tuple of DataItem
    comparisons : tuple of Comparison
        One for each collection of metrics that measured what the threshold is about.
    error : str
        Why the workload was not executed to its end; "" if it was.
    notes : tuple of str
    seconds : float
        The duration of the whole workload.
    """

    topic: str
    test_case: str
    workload: str
    items: tuple[DataItem, ...]
    comparisons: tuple[Comparison, ...]
    error: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def has_passed(self) -> bool:
        """Whether the workload was executed, and each threshold is met."""
        return not self.error and all(each.is_met for each in self.comparisons)

    def document(self) -> dict[str, Any]:
        """Return the result for JSON, with whether it has passed."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found | {"passed": self.has_passed}


def run_workload(workload: PerfWorkload, clock: Clock) -> WorkloadResult:
    """Execute `workload` by `clock`, and compare what is measured with its threshold."""
    name = f"{BENCHMARK}/{workload.test_case}/{workload.name}"
    began_ns = clock.read_ns()
    execution = Execution(workload, clock, name)
    error = ""
    try:
        execution.run()
    except WorkloadError as failure:
        error = str(failure)
    threshold, selector = workload.threshold, workload.selector
    comparisons = []
    for item in execution.items:
        labels, bucket = item.labels, selector.data_bucket
        if labels["Metric"] != selector.name or not labels_match(labels, selector.labels):
            continue
        if bucket not in item.data:
            if threshold:
                error = error or f"{selector.name} has no {bucket}"
            continue
        comparison = Comparison(
            name=labels["Name"].removeprefix(f"{name}/"),
            metric=selector.name,
            bucket=bucket,
            unit=item.unit,
            value=item.data[bucket],
            threshold=threshold,
            expect_lower=selector.expect_lower,
        )
        comparisons.append(comparison)
        if threshold:
            item.data[f"{bucket}Threshold"] = threshold
    return WorkloadResult(
        topic=workload.topic,
        test_case=workload.test_case,
        workload=workload.name,
        items=tuple(execution.items),
        comparisons=tuple(comparisons),
        error=error,
        notes=tuple(execution.cluster.notes),
        seconds=(clock.read_ns() - began_ns) / SECOND_NS,
    )


def data_items_document(results: Iterable[WorkloadResult]) -> dict[str, Any]:
    """Return the results in the form of scheduler_perf: all items have the same labels."""
    items = [item for result in results for item in result.items]
    names = sorted({name for item in items for name in item.labels})
    found = [
        {
            "data": item.data,
            "unit": item.unit,
            "labels": {name: item.labels.get(name, NOT_APPLICABLE) for name in names},
        }
        for item in items
    ]
    return {"version": VERSION, "dataItems": found}


def data_items_name(topic: str, now: str) -> str:
    """Return the name of the file of results, as the dashboard expects it."""
    return f"{BENCHMARK}_benchmark_{topic}_{now}.json"
