"""`podwright scheduler-perf`: executes workloads, and prints what they measured."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from podwright.apimachinery.objects import ArgumentError, FieldError, InputError
from podwright.cli.console import (
    announce_compilation,
    print_document,
    print_message,
    print_table,
    waiting,
    write,
)
from podwright.cli.planning.options import SchedulerPerfOptions
from podwright.online.benchmarks import scheduler_perf, topic_of
from podwright.simulation.scheduler_perf import (
    WorkloadResult,
    data_items_document,
    data_items_name,
)

_DATE = "%Y-%m-%dT%H:%M:%SZ"


def run_scheduler_perf(options: SchedulerPerfOptions) -> bool:
    """Execute workloads and print the results; return whether all have passed."""
    announce_compilation()
    results: list[WorkloadResult] = []
    for file in options.files:
        found = _results(file, options)
        results += found
        if options.data_items_dir is not None:
            topic = topic_of(file) if options.topic is None else options.topic
            options.data_items_dir.mkdir(parents=True, exist_ok=True)
            name = data_items_name(topic, time.strftime(_DATE, time.gmtime()))
            path = options.data_items_dir / name
            content = msgspec.json.format(msgspec.json.encode(data_items_document(found)), indent=2)
            path.write_bytes(content)
            print_message(f"wrote {path}")
    if options.output in ("json", "yaml"):
        print_document({"workloads": [_document(each) for each in results]}, options.output)
    elif options.output == "name":
        for each in results:
            if each.has_passed:
                write(f"{each.test_case}/{each.workload}")
    else:
        _print(results, is_wide=options.output == "wide")
    return all(each.has_passed for each in results)


def _results(file: str, options: SchedulerPerfOptions) -> list[WorkloadResult]:
    found: list[WorkloadResult] = []
    try:
        running = scheduler_perf(
            file,
            test_case=options.test_case,
            workload=options.workload,
            label_filter=options.label_filter,
            topic=options.topic,
        )
    except ArgumentError as error:
        raise InputError([FieldError(source=file, path="", message=str(error))]) from error
    while True:
        with waiting(f"{file}: workload {len(found) + 1}"):
            result = next(running, None)
        if result is None:
            return found
        for note in result.notes:
            print_message(f"{result.test_case}/{result.workload}: {note}")
        if result.error:
            print_message(f"{result.test_case}/{result.workload}: {result.error}")
        found.append(result)


def _document(result: WorkloadResult) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(result)
    return document | {"passed": result.has_passed}


def _print(results: Sequence[WorkloadResult], *, is_wide: bool) -> None:
    heads: tuple[str, ...] = (
        "TEST CASE",
        "WORKLOAD",
        "METRIC",
        "VALUE",
        "THRESHOLD",
        "RATIO",
        "RESULT",
    )
    if is_wide:
        heads = (*heads, "COLLECTION", "TIME")
    rows = [row if is_wide else row[: len(heads)] for each in results for row in _rows(each)]
    print_table(heads, rows)


def _rows(result: WorkloadResult) -> Iterator[tuple[str, ...]]:
    names = result.test_case, result.workload
    duration = f"{result.seconds:.1f}s"
    if result.error or not result.comparisons:
        verdict = "failed" if result.error else "passed"
        yield (*names, "<none>", "<none>", "<none>", "<none>", verdict, "<none>", duration)
    for each in result.comparisons:
        has_threshold = each.threshold > 0
        yield (
            *names,
            f"{each.metric} {each.bucket}",
            f"{each.value:.1f} {each.unit}",
            f"{each.threshold:g}" if has_threshold else "<none>",
            f"{each.value / each.threshold:.2f}" if has_threshold else "<none>",
            "passed" if each.is_met else "missed",
            each.name,
            duration,
        )
