"""`podwright scheduler-perf`: executes workloads, and prints what they measured."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from html import escape
from itertools import chain, count, groupby
from pathlib import Path

import msgspec

from podwright.apimachinery.objects import ArgumentError, FieldError, InputError
from podwright.cli.console import (
    announce_compilation,
    append_to_file,
    print_data,
    print_message,
    print_table,
    waiting,
    write,
    write_file,
)
from podwright.cli.planning.options import SchedulerPerfOptions
from podwright.online.benchmarks import scheduler_perf
from podwright.simulation.scheduler_perf import (
    WorkloadResult,
    data_items_document,
    data_items_name,
)

_HEADS = (
    "TOPIC", "TEST CASE", "WORKLOAD", "METRIC", "VALUE", "THRESHOLD", "RATIO", "RESULT",
    "COLLECTION", "TIME",
)  # fmt: skip
_DATE = "%Y-%m-%dT%H:%M:%SZ"


def run_scheduler_perf(options: SchedulerPerfOptions) -> bool:
    """Execute workloads and print the results; return whether all have passed."""
    announce_compilation()
    results: list[WorkloadResult] = []
    for file in options.files:
        for topic, found in groupby(_results(file, options), key=lambda each: each.topic):
            results += (of_topic := list(found))
            if options.data_items_dir is not None:
                _write_data_items(options.data_items_dir, topic, of_topic)
    passed = [each for each in results if each.has_passed]
    verdict = f"{len(passed)} of {len(results)} workloads passed."
    rows = [*chain.from_iterable(map(_rows, results))]
    names = (f"{each.test_case}/{each.workload}" for each in passed)
    workloads = {"workloads": [each.document() for each in results]}
    if not print_data(options.output, lambda: workloads, names):
        shown = len(_HEADS) if options.output == "wide" else -2
        print_table(_HEADS[:shown], [row[:shown] for row in rows])
        write(verdict)
    if options.summary is not None:
        append_to_file(options.summary, _markdown(verdict, rows))
    return len(passed) == len(results)


def _markdown(verdict: str, rows: Sequence[Sequence[str]]) -> str:
    lines = (_HEADS, ("---",) * len(_HEADS), *rows)
    cells = ((escape(cell).replace("|", "&#124;") for cell in line) for line in lines)
    text = "".join(f"| {' | '.join(line)} |\n" for line in cells)
    return f"### podwright scheduler-perf: {verdict}\n\n{text}"


def _write_data_items(folder: Path, topic: str, results: Sequence[WorkloadResult]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / data_items_name(topic, time.strftime(_DATE, time.gmtime()))
    content = msgspec.json.format(msgspec.json.encode(data_items_document(results)), indent=2)
    write_file(path, content)
    print_message(f"wrote {path}")


def _results(file: str, options: SchedulerPerfOptions) -> Iterator[WorkloadResult]:
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
    for number in count(1):
        with waiting(f"{file}: workload {number}"):
            result = next(running, None)
        if result is None:
            return
        for note in result.notes:
            print_message(f"{result.test_case}/{result.workload}: {note}")
        if result.error:
            print_message(f"{result.test_case}/{result.workload}: {result.error}")
        yield result


def _rows(result: WorkloadResult) -> Iterator[tuple[str, ...]]:
    names = result.topic, result.test_case, result.workload
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
