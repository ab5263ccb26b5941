"""What `podwright scheduler-perf` prints of results that are given."""

from __future__ import annotations

from podwright.cli.planning.scheduler_perf_run import _markdown, _rows
from podwright.cli.tests.served import command
from podwright.simulation.scheduler_perf import WorkloadResult
from podwright.simulation.scheduler_perf.results import Comparison


def comparison(value, threshold, *, expect_lower=False, name="pods"):
    return Comparison(
        name=name,
        metric="SchedulingThroughput",
        bucket="Average",
        unit="pods/s",
        value=value,
        threshold=threshold,
        expect_lower=expect_lower,
    )


def result(*comparisons, error=""):
    return WorkloadResult(
        topic="misc",
        test_case="Basic",
        workload="20Nodes",
        items=(),
        comparisons=comparisons,
        error=error,
        seconds=1.25,
    )


METRIC = ("SchedulingThroughput Average",)
NAMES = ("misc", "Basic", "20Nodes")
NOTHING = ("<none>",) * 4


def test_each_comparison_is_a_row_with_its_ratio():
    upper = comparison(10.0, 20, expect_lower=True)
    found = result(comparison(50.04, 20), comparison(9.96, 20), upper)
    assert [row[3:] for row in _rows(found)] == [
        (*METRIC, "50.0 pods/s", "20", "2.50", "passed", "pods", "1.2s"),
        (*METRIC, "10.0 pods/s", "20", "0.50", "missed", "pods", "1.2s"),
        (*METRIC, "10.0 pods/s", "20", "0.50", "passed", "pods", "1.2s"),
    ]
    assert {row[:3] for row in _rows(found)} == {NAMES}
    (free,) = _rows(result(comparison(5, 0)))
    assert free == (*NAMES, *METRIC, "5.0 pods/s", "<none>", "<none>", "passed", "pods", "1.2s")


def test_a_workload_that_measured_nothing_or_failed_is_a_row():
    assert [*_rows(result())] == [(*NAMES, *NOTHING, "passed", "<none>", "1.2s")]
    failed = [*_rows(result(comparison(50, 20), error="no node"))]
    assert failed[0] == (*NAMES, *NOTHING, "failed", "<none>", "1.2s")
    assert [row[7] for row in failed] == ["failed", "passed"]


def test_the_summary_is_a_table_in_markdown_whose_cells_are_escaped():
    assert _markdown("1 of 2 workloads passed.", [("a|b", "<c>")]) == (
        "### podwright scheduler-perf: 1 of 2 workloads passed.\n\n"
        "| TOPIC | TEST CASE | WORKLOAD | METRIC | VALUE | THRESHOLD | RATIO | RESULT | COLLECTION"
        " | TIME |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| a&#124;b | &lt;c&gt; |\n"
    )


def test_workloads_are_executed_and_their_results_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "performance-config.yaml").write_text(
        "- name: Small\n  workloadTemplate:\n  - {opcode: createNodes, count: 2}\n"
        "  - {opcode: createPods, countParam: $pods, collectMetrics: true}\n"
        "  workloads:\n"
        "  - {name: few, labels: [short], params: {pods: 3}}\n"
        "  - {name: none, labels: [long], threshold: 1e12, params: {pods: 1}}\n"
    )
    line = "scheduler-perf performance-config.yaml"
    printed, _, status = command(f"{line} --label-filter short")
    heads, row, verdict = printed.splitlines()
    assert heads.split()[-1] == "RESULT"
    assert row.endswith("  <none>     <none>  passed")
    assert verdict == "1 of 1 workloads passed."
    assert status == 0
    printed, _, status = command(f"{line} -o name --summary s.md --data-items-dir out")
    assert (printed, status) == ("Small/few\n", 1)
    summary = (tmp_path / "s.md").read_text()
    assert summary.startswith("### podwright scheduler-perf: 1 of 2 workloads passed.\n")
    assert len(list((tmp_path / "out").iterdir())) == 1
    wide, _, _ = command(f"{line} -o wide --workload few")
    assert wide.splitlines()[0].split()[-2:] == ["COLLECTION", "TIME"]
    _, errors, status = command(f"{line} --test-case None")
    assert errors.startswith("error: performance-config.yaml: ")
    assert status == 2
