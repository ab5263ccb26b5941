"""The benchmark files of scheduler_perf on the processor time of this process."""

from __future__ import annotations

import shutil
from pathlib import Path

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
    ],
)
def test_the_topic_is_the_folders_of_a_file(path, topic):
    assert topic_of(path) == topic
