"""The benchmark files of scheduler_perf on the processor time of this process."""

from __future__ import annotations

import gc
import resource
import shutil
from pathlib import Path

import pytest

import podwright as pw
from podwright.online.benchmarks import run_workloads, selected, topic_of
from podwright.online.benchmarks.benchmark_files import _ProcessClock
from podwright.simulation.scheduler_perf import load_test_cases

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
    with pytest.raises(pw.ArgumentError, match='did you mean "Basic/20Nodes"'):
        pw.scheduler_perf(EXAMPLE, test_case="Basic", workload="20Node")


def test_a_folder_is_all_files_in_it_in_the_order_of_their_names(copies):
    results = list(pw.scheduler_perf(copies, test_case="Gates"))
    assert [each.topic for each in results] == ["dra_scoring", "misc"]


def test_the_mistakes_of_all_files_of_a_folder_are_reported(copies):
    for file in copies.rglob("performance-config.yaml"):
        file.write_text("- name: Empty\n")
    with pytest.raises(pw.InputError) as caught:
        pw.scheduler_perf(copies)
    sources = [Path(each.source).parent.name for each in caught.value.errors]
    assert sources == ["scoring"] * 2 + ["misc"] * 2


def test_a_folder_without_files_is_an_error(tmp_path):
    with pytest.raises(pw.InputError, match=r"the folder has no performance-config\.yaml"):
        pw.scheduler_perf(tmp_path)


@pytest.fixture
def copies(tmp_path):
    """Return a folder with two copies of the example."""
    root = tmp_path / "scheduler_perf"
    for folder in ("misc", "dra/scoring"):
        shutil.copytree(Path(EXAMPLE).parent, root / folder)
    return root


@pytest.mark.parametrize(
    ("path", "topic"),
    [
        ("/x/scheduler_perf/dra/extendedresource/performance-config.yaml", "dra_extendedresource"),
        ("/x/benchmarks/misc/performance-config.yaml", "misc"),
        ("/x/scheduler_perf/performance-config.yaml", ""),
        ("/x/benchmarks/../scheduler_perf/a/b/c/d.yaml", "a_b_c"),
    ],
)
def test_the_topic_is_the_folders_of_a_file(path, topic):
    assert topic_of(path) == topic


CASES = b"""
- name: A
  workloadTemplate:
  - {opcode: startCollectingMetrics, name: m, namespaces: [a]}
  - {opcode: stopCollectingMetrics}
  workloads:
  - {name: small, labels: [short, fast], threshold: {"": 1, x: 2, misc: 3}}
  - {name: large, labels: [long]}
- name: B
  workloadTemplate:
  - {opcode: startCollectingMetrics, name: m, namespaces: [a]}
  - {opcode: stopCollectingMetrics}
  workloads: [{name: small, labels: [short]}]
"""


def cases(topic=""):
    return load_test_cases("cases.yaml", lambda _: CASES, topic=topic)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["A/small", "A/large", "B/small"]),
        ({"test_case": "A"}, ["A/small", "A/large"]),
        ({"workload": "small"}, ["A/small", "B/small"]),
        ({"test_case": "B", "workload": "small"}, ["B/small"]),
        ({"label_filter": "short"}, ["A/small", "B/small"]),
        ({"label_filter": "short,-fast"}, ["B/small"]),
        ({"test_case": "A", "label_filter": "-short"}, ["A/large"]),
        ({"label_filter": "none"}, 'none of 3 workloads is selected by "none"'),
        (
            {"test_case": "A", "workload": "smal", "label_filter": "short"},
            'none of 3 workloads is selected by "A", "smal", "short"; did you mean "A/small"?',
        ),
        (
            {"test_case": "A/small"},
            'none of 3 workloads is selected by "A/small"; did you mean "A/small"?',
        ),
        ({"workload": "zzz"}, 'none of 3 workloads is selected by "zzz"'),
        ({"test_case": "zzzzzzzz"}, 'none of 3 workloads is selected by "zzzzzzzz"'),
    ],
)
def test_workloads_are_selected_by_their_names_and_labels(options, names):
    if isinstance(names, str):
        with pytest.raises(pw.ArgumentError) as refused:
            selected(iter(cases()), **options)
        assert str(refused.value) == names
    else:
        found = selected(iter(cases()), **options)
        assert [f"{each.test_case}/{each.name}" for each in found] == names


def test_the_content_of_files_is_read_by_a_given_function_with_a_topic(copies, monkeypatch):
    read = []

    def content(path):
        read.append(Path(path).relative_to(copies).as_posix())
        return Path(path).read_bytes()

    (result, _) = pw.scheduler_perf(copies, test_case="Gates", topic="own", read=content)
    assert (result.topic, result.workload) == ("own", "10Pods")
    folders = [path.partition("/templates")[0] for path in read]
    assert {each for each in folders if each.endswith(".yaml")} == {
        "dra/scoring/performance-config.yaml", "misc/performance-config.yaml",
    }  # fmt: skip
    monkeypatch.chdir(copies / "misc")
    (result,) = pw.scheduler_perf(
        "performance-config.yaml", label_filter="short", workload="10Pods"
    )
    assert result.topic == "misc"


def test_an_empty_folder_is_named_in_the_error(tmp_path):
    with pytest.raises(pw.InputError) as caught:
        pw.scheduler_perf(str(tmp_path))
    assert caught.value.texts == [f"{tmp_path}: the folder has no performance-config.yaml"]


def test_what_a_workload_left_is_released_before_the_next_one(monkeypatch):
    events = []
    monkeypatch.setattr(gc, "collect", lambda: events.append("collect"))
    events += (each.workload for each in run_workloads(cases()[:2]))
    assert events == ["collect", "small", "collect", "large"]


def test_the_clock_is_the_processor_time_and_the_waits(monkeypatch):
    module = "podwright.online.benchmarks.benchmark_files"
    monkeypatch.setattr(f"{module}.time.process_time_ns", lambda: 100)
    clock = _ProcessClock()
    found = [clock.read_ns()]
    for duration_ns in (30, 7):
        clock.sleep(duration_ns)
        found.append(clock.read_ns())
    assert found == [100, 130, 137]


@pytest.mark.parametrize(
    ("content", "memory"), [(b"900 25 3 1 0 7 0\n", 25 * 4096), (None, 3_000 * 1024)]
)
def test_the_memory_is_that_of_now_and_elsewhere_than_on_linux_the_most_so_far(
    monkeypatch, content, memory
):
    module = "podwright.online.benchmarks.benchmark_files"

    def read(path):
        assert str(path) == "/proc/self/statm"
        if content is None:
            raise FileNotFoundError
        return content

    def used(who):
        assert who == resource.RUSAGE_SELF
        return resource.struct_rusage((0.0, 0.0, 3_000, *[0] * 13))

    monkeypatch.setattr(Path, "read_bytes", read)
    monkeypatch.setattr(f"{module}.os.sysconf", {"SC_PAGE_SIZE": 4096}.__getitem__)
    monkeypatch.setattr(f"{module}.resource.getrusage", used)
    assert _ProcessClock().read_memory() == memory
