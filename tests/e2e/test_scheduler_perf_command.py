"""The table of `podwright scheduler-perf`, for readers and as Markdown."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.e2e.command_line import run

EXAMPLE = Path("examples/scheduler-perf")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with two topics; the first misses its threshold."""
    found = tmp_path / "scheduler_perf"
    for topic in ("a", "b"):
        shutil.copytree(EXAMPLE, found / topic)
    file = found / "a/performance-config.yaml"
    file.write_text(file.read_text().replace("threshold: 1", "threshold: 1000000000"))
    return found


def test_one_table_has_the_workloads_of_all_files_in_a_folder(root: Path, tmp_path: Path) -> None:
    summary, items = tmp_path / "summary.md", tmp_path / "items"
    options = f"--test-case Basic --summary {summary} --data-items-dir {items}"
    found = run(f"scheduler-perf {root} {options}", status=1)
    heads, missed, passed, verdict = found.stdout.splitlines()
    assert heads.split()[:2] == ["TOPIC", "TEST"]
    assert missed.split()[:3] == ["a", "Basic", "20Nodes"]
    assert missed.endswith("missed")
    assert passed.split()[0] == "b"
    assert passed.endswith("passed")
    assert verdict == "1 of 2 workloads passed."
    title, _, head, rule, *rows = summary.read_text().splitlines()
    assert title == f"### podwright scheduler-perf: {verdict}"
    assert head.startswith("| TOPIC | TEST CASE | WORKLOAD |")
    assert rule.count("---") == len(head.strip("|").split("|"))
    assert [row.split(" | ")[7] for row in rows] == ["missed", "passed"]
    topics = sorted(each.name.split("_")[2] for each in items.iterdir())
    assert topics == ["a", "b"]


def test_the_folder_of_the_summary_must_exist(root: Path, tmp_path: Path) -> None:
    summary = tmp_path / "missing" / "summary.md"
    found = run(f"scheduler-perf {root} --test-case Gates --summary {summary}", status=2)
    assert found.stderr.endswith(
        f"error: {summary}: cannot be written: No such file or directory\n"
    )
