"""Reports of simulations as text: evictions, drains, and sections with many rows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from podwright.cli.recorded import check_run, report_run
from podwright.cli.recorded.report_run import _by_interest
from podwright.cli.recorded.run_show import _use, _use_document
from podwright.cli.recorded.simulate_report import _blocked_by, _print_rows, print_evictions
from podwright.cli.tests.served import command
from podwright.simulation.world.runs.disruptions import BlockedEviction, Evictions, NodeDrain
from podwright.testing import make_node, make_pod

START_NS = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z
SINCE = "2026-01-01T00:01:05Z"


@pytest.mark.parametrize(("evictions", "text"), [
    (Evictions(), ""),
    (Evictions(evicted=2), "Evictions: 2 by drains.\n"),
    (Evictions(rejected=1), "Evictions: 0 by drains (1 attempt rejected).\n"),
    (Evictions(evicted=1, rejected=2, by_taint=3, node_deleted=4),
     "Evictions: 1 by drains (2 attempts rejected), 3 by taints, 4 with deleted nodes.\n"),
    (Evictions(node_deleted=1), "Evictions: 1 with deleted nodes.\n"),
    (Evictions(by_taint=1), "Evictions: 1 by taints.\n"),
])  # fmt: skip
def test_evictions_in_a_sentence(evictions, text, capsys):
    print_evictions(evictions)
    assert capsys.readouterr().out == text


def blocked(*pods: str, by: tuple[str, ...] = (), since: str | None = None) -> NodeDrain:
    messages = tuple(
        BlockedEviction(pod=pod, budgets=(), message=f"{pod} is kept", since=SINCE) for pod in pods
    )
    return NodeDrain(
        node="n",
        status="blocked",
        since="2026-01-01T00:00:30Z",
        blocked_by=by,
        blocked_since=since,
        blocked_pods=messages,
    )


@pytest.mark.parametrize(("drain", "text"), [
    (blocked(), ""),
    (blocked("a/x"), ""),
    (blocked(since=SINCE), ""),
    (blocked("a/x", since=SINCE), "a/x is kept since 1m5s, 1 pod left"),
    (blocked("a/x", "a/y", by=("a/one", "b/two"), since=SINCE),
     "poddisruptionbudget/a/one, poddisruptionbudget/b/two since 1m5s, 2 pods left"),
])  # fmt: skip
def test_what_blocks_a_drain(drain, text):
    assert _blocked_by(drain, START_NS) == text


def test_the_use_of_a_resource_that_no_node_has_is_no_share():
    columns: Any = SimpleNamespace(
        resources={"cpu": 0, "memory": 1},
        requested=np.array([[500, 0], [1000, 0]]),
        allocatable=np.array([[2000, 0], [1000, 0]]),
    )
    assert _use_document(columns, np.array([0, 1]), ("cpu", "memory")) == {
        "cpu": {"requested": "1500m", "allocatable": "3000m", "share": 0.5},
        "memory": {"requested": "0", "allocatable": "0", "share": None},
    }
    assert _use(columns, np.array([0]), "cpu") == "500m/2 25%"
    assert _use(columns, np.array([0]), "memory") == "0/0"


ROWS = [(f"p{i}", "", str(i)) for i in range(12)]


@pytest.mark.parametrize(("rows", "shown", "text"), [
    ([], 10, ""),
    (ROWS[:2], 2, "\nTitle:\n  POD  COUNT\n  p0   0\n  p1   1\n"),
    (ROWS[:2], 1, "\nTitle:\n  POD  COUNT\n  p0   0\n  and 1 more (--output wide)\n"),
    (ROWS[:2], None, "\nTitle:\n  POD  COUNT\n  p0   0\n  p1   1\n"),
    ([("p", "n", "")], None, "\nTitle:\n  POD  NODE\n  p    n\n"),
])  # fmt: skip
def test_a_section_leaves_out_empty_columns_and_counts_what_is_not_shown(rows, shown, text, capsys):
    _print_rows("Title:", ("POD", "NODE", "COUNT"), rows, shown)
    assert capsys.readouterr().out == text


def test_pods_that_wait_at_the_end_are_reported_first_and_then_the_last_ones():
    placed = [make_pod(name, node="n") for name in ("a", "b", "c")]
    waiting = [make_pod(name) for name in ("w", "x", "untried")]
    machine: Any = SimpleNamespace(objects=lambda: [make_node("n"), *placed, *waiting])
    tried = ["default/a", "default/w", "default/gone", "default/b", "default/x", "default/c"]
    cycles: Any = SimpleNamespace(pods=tried)
    assert list(_by_interest(machine, cycles)) == [
        "default/w", "default/x", "default/c", "default/b", "default/gone", "default/a",
    ]  # fmt: skip


@pytest.mark.parametrize(("size_mib", "is_written"), [(4, True), (5, False)])
def test_a_report_that_is_too_large_is_not_written(size_mib, is_written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("node.yaml").write_text("{apiVersion: v1, kind: Node, metadata: {name: n1}}")
    assert command("simulate node.yaml --until 1m --out run --no-tables --exit-zero")[2] == 0
    monkeypatch.setattr(report_run, "REPORT_MAX_BYTES", 4 << 20)
    monkeypatch.setattr(report_run, "report_html", lambda _: b"x" * (size_mib << 20))
    _, errors, status = command("report run --out r.html")
    assert status == (0 if is_written else 2)
    assert Path("r.html").exists() is is_written
    text = "wrote r.html; open it in a browser" if is_written else (
        "error: Invalid value for '--pods': the report would have 5 MiB, and has at most 4:"
        " explain fewer pods, or report a shorter run"
    )  # fmt: skip
    assert errors.splitlines()[-1] == text


@pytest.mark.parametrize(
    ("failed", "warned"),
    [
        ((), ["a", "b"]),
        (("a",), ["b"]),
        (("a", "x"), ["b"]),
        (("x", "b", "a"), []),
    ],
)
def test_a_remark_that_is_a_failed_expectation_is_no_warning(failed, warned, capsys):
    results = tuple(
        SimpleNamespace(
            passed=False, scenario="s", configuration="c", expectation=f"e-{each}", message=each
        )
        for each in failed
    )
    run = SimpleNamespace(scenario="s", summary=SimpleNamespace(report=None), warnings=("a", "b"))
    report: Any = SimpleNamespace(results=results, failed=results, runs=(run,))
    check_run._print(report, "table")
    printed = capsys.readouterr()
    assert printed.err == "".join(f"warning: s: {each}\n" for each in warned)
    assert printed.out.endswith(f"0 of {len(failed)} expectations are met.\n")


QUOTA_SCENARIO = """
apiVersion: podwright.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  cluster:
    nodes: [{name: node, count: 1, cpu: "4", memory: 4Gi}]
    objects:
      - {apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: "1"}}}
      - apiVersion: apps/v1
        kind: ReplicaSet
        metadata: {name: web}
        spec:
          replicas: 2
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}}
            spec: {containers: [{name: c, image: i}]}
  stop: {at: 1m}
  expectations: [{pendingAtMost: 0}]
"""


def test_a_check_names_what_could_not_be_created(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(QUOTA_SCENARIO)
    _, errors, status = command("check s.yaml")
    assert status == 0, errors
    about = next(line for line in errors.splitlines() if "web" in line)
    assert about.startswith("warning: s: replicaset/default/web could not create a Pod: pods ")
    assert "exceeded quota: q" in about
