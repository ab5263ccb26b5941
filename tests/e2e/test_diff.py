"""`podwright diff`: its output, its exit statuses, and the inputs that it rejects."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from tests.e2e.command_line import QUICKSTART, pod as pod_of, run

import podwright as pw
from podwright.simulation.recording.tests.recorded import record_run

PACKED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: MostAllocated
            resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]
"""
NODES = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: a}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {topology.kubernetes.io/zone: b}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
"""
CLUSTER = NODES + pod_of("web-0", "1") + pod_of("web-1", "1") + pod_of("zoo", "4")
FIRST = "--tie-rule first --preemption-offset zero"

PLUGIN = '''
import podwright as pw


class KeepSecond(pw.Plugin):
    """Reject the node n1."""

    name = "KeepSecond"

    def filter(self, cycle, node):
        """Pass the node n2."""
        return pw.Status() if node.name == "n2" else pw.Status.unresolvable("node(s) not n2")
'''


@pytest.fixture
def cluster(tmp_path):
    """The folder of a cluster with two nodes and three pending pods, and a configuration."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "packed").write_text(PACKED)
    (tmp_path / "plugin.py").write_text(PLUGIN)
    return tmp_path


def test_two_configurations_as_a_table(cluster):
    result = run(f"diff {cluster}/cluster.yaml --to-config {cluster}/packed {FIRST}", status=1)
    head, moved, placed, *rest = result.stdout.splitlines()
    assert head == "NAMESPACE  POD    BEFORE  AFTER  CHANGE              REASON"
    assert moved == (
        "default    web-1  n2      n1     moved               "
        "before: NodeResourcesFit +14, NodeResourcesBalancedAllocation -1; "
        "after: NodeResourcesFit +14, NodeResourcesBalancedAllocation +1"
    )
    assert placed == (
        "default    zoo    <none>  n2     no longer pending*  "
        "before: NodeResourcesFit (Insufficient cpu)"
    )
    assert rest == [
        "",
        "Nodes in use: 2 before, 2 after",
        "",
        "Utilization (the spread is the standard deviation over the nodes):",
        "  RESOURCE  BEFORE  AFTER   SPREAD BEFORE  SPREAD AFTER",
        "  cpu       25.0 %  75.0 %  0.0 %          25.0 %",
        "  memory    0.0 %   0.0 %   0.0 %          0.0 %",
        "  pods      0.9 %   1.4 %   0.0 %          0.5 %",
        "",
        "Pods on nodes by zone:",
        "  ZONE  BEFORE  AFTER",
        "  a     1       2",
        "  b     1       1",
    ]
    assert result.stderr == (
        "2 of 3 pods differ: 1 moved, 1 no longer pending."
        " 1 of them (*) follows another difference: the clusters differed by then.\n"
    )


def test_several_configurations_are_one_table(cluster):
    same = cluster / "same.yaml"
    same.write_text(PACKED.replace("MostAllocated", "LeastAllocated"))
    options = f"--to-config {cluster}/packed --to-config {same}"
    result = run(f"diff {cluster}/cluster.yaml {options} {FIRST}", status=1)
    assert result.stdout.splitlines() == [
        "NAMESPACE  POD    BEFORE  packed  same.yaml",
        "default    web-1  n2      n1      n2",
        "default    zoo    <none>  n2*     <none>",
        "",
        "Figures (the spread is the standard deviation over the nodes):",
        "  CONFIGURATION  DIFFERENT  PENDING  NODES IN USE  CPU     SPREAD CPU  MEMORY  "
        "SPREAD MEMORY  PODS   SPREAD PODS",
        "  before         -          1        2             25.0 %  0.0 %       0.0 %   "
        "0.0 %          0.9 %  0.0 %",
        "  packed         2          0        2             75.0 %  25.0 %      0.0 %   "
        "0.0 %          1.4 %  0.5 %",
        "  same.yaml      0          1        2             25.0 %  0.0 %       0.0 %   "
        "0.0 %          0.9 %  0.0 %",
    ]
    assert "packed: 2 of 3 pods differ: 1 moved, 1 no longer pending." in result.stderr
    assert "same.yaml: No difference" in result.stderr
    names = run(f"diff {cluster}/cluster.yaml {options} {FIRST} -o name", status=1)
    assert names.stdout.split() == ["default/web-1", "default/zoo"]
    found = json.loads(
        run(f"diff {cluster}/cluster.yaml {options} {FIRST} -o json", status=1).stdout
    )
    alone = run(
        f"diff {cluster}/cluster.yaml --to-config {cluster}/packed {FIRST} -o json", status=1
    )
    first, second = found["configurations"]
    assert first == {"config": f"{cluster}/packed", **json.loads(alone.stdout)}
    assert second["summary"]["same"]
    equal = f"diff {cluster}/cluster.yaml --to-config {same} --to-config {same} {FIRST}"
    assert "before" in run(equal).stdout


def test_nothing_differs_is_exit_status_0(cluster):
    result = run(f"diff {cluster}/cluster.yaml --to-seed 0 --to-feature-gates ''")
    assert result.stderr == "No difference: 3 pods on the same nodes on both sides.\n"
    assert result.stdout.startswith("\nNodes in use: 2 before, 2 after\n")


def test_exit_zero(cluster):
    line = f"diff {cluster}/cluster.yaml --to-config {cluster}/packed {FIRST} -o name"
    assert run(f"{line} --exit-zero").stdout == "default/web-1\ndefault/zoo\n"


def test_wide_lists_every_pod(cluster):
    line = f"diff {cluster}/cluster.yaml --to-config {cluster}/packed {FIRST} -o wide"
    rows = run(line, status=1).stdout.splitlines()
    assert rows[1].split() == ["default", "web-0", "n1", "n1"]
    assert rows[2].startswith("default    web-1  n2      n1     moved")


@pytest.mark.parametrize(("output", "parse"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_the_differences_as_a_document(cluster, output, parse):
    line = f"diff {cluster}/cluster.yaml --to-config {cluster}/packed {FIRST} -o {output}"
    found = parse(run(line, status=1).stdout)
    moved, placed = found["pods"]
    assert moved["change"] == "moved"
    assert moved["after"] == {"node": "n1", "nominatedNode": None, "message": None}
    reason = moved["reasons"]["after"]
    assert (reason["kind"], reason["rule"]) == ("priority", "NodeResourcesFit")
    assert reason["margin"] == sum(score["weighted"] for score in reason["scores"]) == 15
    assert placed["change"] == "noLongerPending"
    assert placed["before"]["message"].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert placed["followsOther"]
    assert found["nodes"] == {
        "used": {"before": 2, "after": 2}, "emptied": [], "newlyUsed": [], "added": [],
        "removed": [],
    }  # fmt: skip
    assert found["resources"][0] == {
        "resource": "cpu",
        "before": {"requested": 2000, "allocatable": 8000, "share": 0.25, "spread": 0.0},
        "after": {"requested": 6000, "allocatable": 8000, "share": 0.75, "spread": 0.25},
    }
    assert found["zones"][0] == {"zone": "a", "pods": {"before": 1, "after": 2}}
    assert found["summary"] == {
        "pods": 3, "different": 2, "followOthers": 1,
        "changes": {"moved": 1, "noLongerPending": 1}, "same": False,
    }  # fmt: skip


def test_a_plugin_of_the_second_side(cluster):
    line = f"diff {cluster}/cluster.yaml --to-plugin {cluster}/plugin.py {FIRST}"
    lines = run(line, status=1).stdout.splitlines()
    assert lines[1] == (
        "default    web-0  n1      n2     moved   before: tied, another node was drawn;"
        " after: KeepSecond (node(s) not n2)"
    )
    assert "  emptied: n1" in lines


def test_two_versions_of_the_manifests(tmp_path):
    (tmp_path / "nodes.yaml").write_text(NODES)
    (tmp_path / "v1.yaml").write_text(pod_of("web", "1") + pod_of("old", "1"))
    (tmp_path / "v2.yaml").write_text(pod_of("web", "5"))
    line = f"diff {tmp_path}/nodes.yaml --from {tmp_path}/v1.yaml --to {tmp_path}/v2.yaml {FIRST}"
    lines = run(line, status=1).stdout.splitlines()
    assert lines[1:3] == [
        "default    web  n1      <none>    newly pending"
        "  after: NodeResourcesFit (Insufficient cpu)",
        "default    old  n2      <absent>  removed*",
    ]
    stdin = run(
        f"diff {tmp_path}/nodes.yaml --from {tmp_path}/v1.yaml --to - {FIRST}",
        status=1,
        stdin=pod_of("web", "5"),
    )
    assert stdin.stdout.splitlines() == lines


CHART = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: "web:1", resources: {requests: {cpu: "1"}}}]
"""


def test_two_versions_of_a_chart(tmp_path):
    """Pods of one workload are matched, although the hash of the template is in their names."""
    (tmp_path / "nodes.yaml").write_text(NODES)
    (tmp_path / "v1.yaml").write_text(CHART)
    (tmp_path / "v2.yaml").write_text(
        CHART.replace("replicas: 2", "replicas: 3").replace('cpu: "1"', 'cpu: "3"')
    )
    line = f"diff {tmp_path}/nodes.yaml --from {tmp_path}/v1.yaml --to {tmp_path}/v2.yaml {FIRST}"
    result = run(line, status=1)
    assert result.stdout.splitlines()[1:2] == [
        "default    web-d9c8cc9f7-2  <absent>  <none>  added   0/2 nodes are available:"
        " 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available:"
        " 2 No preemption victims found for incoming pod."
    ]
    assert result.stderr == (
        "before: expanded 1 Deployment into 2 pods.\n"
        "after: expanded 1 Deployment into 3 pods.\n"
        "1 of 3 pods differs: 1 added.\n"
    )
    found = json.loads(run(f"{line.replace('v2', 'v1')} --to-seed 1 -o json").stdout)
    assert found["summary"]["pods"] == 2
    (tmp_path / "v2.yaml").write_text(CHART.replace('cpu: "1"', 'cpu: "5"'))
    first, second = json.loads(run(f"{line} -o json", status=1).stdout)["pods"]
    assert (first["change"], second["change"]) == ("newlyPending", "newlyPending")
    assert first["pod"].rpartition("-")[0] != first["counterpart"].rpartition("-")[0]
    assert (first["pod"][-2:], first["counterpart"][-2:]) == ("-0", "-0")
    assert first["reasons"]["after"]["rule"] == "NodeResourcesFit"


def test_workloads_of_both_sides_are_reported_once(tmp_path):
    (tmp_path / "cluster.yaml").write_text(NODES + "---" + CHART)
    result = run(f"diff {tmp_path}/cluster.yaml --to-seed 1 {FIRST}")
    assert result.stderr == (
        "Expanded 1 Deployment into 2 pods.\n"
        "No difference: 2 pods on the same nodes on both sides.\n"
    )


def test_pods_on_nodes_are_compared_on_request(tmp_path):
    placed = [pod_of(f"p{i}", "1", spec=f"nodeName: n{i + 1}") for i in (0, 1)]
    (tmp_path / "placed.yaml").write_text(NODES + "".join(placed))
    (tmp_path / "packed").write_text(PACKED)
    line = f"diff {tmp_path}/placed.yaml --to-config {tmp_path}/packed {FIRST}"
    assert (
        "has no pending pods; --reschedule schedules the 2 pods on nodes again."
        in run(line, status=2).stderr
    )
    lines = run(f"{line} --reschedule", status=1).stdout.splitlines()
    assert lines[1].startswith("default    p1   n2      n1     moved   before: NodeResourcesFit")
    assert "  emptied: n2" in lines


def test_each_score_reason_agrees_with_explain(tmp_path):
    """Compare the reasons of both sides with `podwright explain` for several pods."""
    (tmp_path / "packed").write_text(PACKED)
    line = f"diff {QUICKSTART} --to-config {tmp_path}/packed -o json"
    found = json.loads(run(line, status=1).stdout)["pods"]
    checked = 0
    for one in found[:8]:
        for side, config in (("before", ""), ("after", f"-c {tmp_path}/packed")):
            reason = one["reasons"][side]
            mine = one[side]["node"]
            theirs = one["after" if side == "before" else "before"]["node"]
            explained = json.loads(
                run(f"explain {one['pod']} {QUICKSTART} {config} -o json").stdout
            )
            assert explained["node"] == mine
            if reason["kind"] != "priority":
                continue
            totals = explained["totals"]
            assert reason["margin"] == totals[mine] - totals[theirs]
            expected = {
                scores["plugin"]: difference
                for scores in explained["scores"]
                if (
                    difference := scores["nodes"][mine]["weighted"]
                    - scores["nodes"][theirs]["weighted"]
                )
            }
            assert {s["rule"]: s["weighted"] for s in reason["scores"]} == expected
            checked += 1
    assert checked >= 6


# ------------------------------------------------------------------------------- runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folders of two runs of a day, with the default and with a packing configuration."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "packed").write_text(PACKED)
    line = "simulate examples/simulate --events examples/simulate/day.jsonl --until 2h --no-tables"
    run(f"{line} --out {folder}/spread")
    run(f"{line} --out {folder}/packed-run -c {folder}/packed")
    return folder


def test_two_runs(runs):
    result = run(f"diff {runs}/spread {runs}/packed-run", status=1)
    assert "NodeResourcesFit +" in result.stdout
    assert "moved" in result.stderr
    assert re.search(r"^  wait p90 +[\d,.]+s +[\d,.]+s +\S+$", result.stdout, re.MULTILINE)
    found = json.loads(run(f"diff {runs}/spread {runs}/packed-run -o json", status=1).stdout)
    compared = pw.compare(runs / "spread", runs / "packed-run")
    assert found["figures"] == compared.document()["figures"]
    names = {each["name"] for each in found["figures"]}
    assert names >= {
        "pending",
        "preemptions",
        "wait mean",
        "cpu mean",
        "cpu peak",
        "cpu fragmented",
    }
    moved = [one for one in found["pods"] if one["change"] == "moved"]
    assert moved
    for one in moved[:3]:
        explained = json.loads(run(f"explain --run {runs}/spread {one['pod']} -o json").stdout)
        reason = one["reasons"]["before"]
        assert explained["node"] == one["before"]["node"]
        if reason["kind"] == "priority":
            totals = explained["totals"]
            assert reason["margin"] == totals[one["before"]["node"]] - totals[one["after"]["node"]]


def test_a_run_equals_itself(runs):
    result = run(f"diff {runs}/spread {runs}/spread")
    assert result.stderr.startswith("No difference: ")


def test_the_folder_of_a_log_is_a_run(tmp_path):
    record_run(tmp_path)
    assert "No difference: 6 pods" in run(f"diff {tmp_path} {tmp_path}").stderr


# ------------------------------------------------------------------------------- wrong use


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("CLUSTER", "the two sides are equal: give --to-config,", id="equal sides"),
        pytest.param("CLUSTER --seed 1", "the two sides are equal", id="an option of both"),
        pytest.param("--to-seed 1", "are required on both sides", id="no files"),
        pytest.param("RUN CLUSTER", "is compared with exactly one other run", id="one run"),
        pytest.param("RUN", "is compared with exactly one other run", id="a run alone"),
        pytest.param("RUN absent", ", and absent does not exist; a run is", id="no other run"),
        pytest.param("RUN RUN --seed 1", "'--seed': has no effect", id="a seed with runs"),
        pytest.param(
            "RUN RUN --reschedule", "'--reschedule': has no effect", id="reschedule with runs"
        ),
        pytest.param("CLUSTER - --to CLUSTER", "'-' can be given once", id="stdin of both"),
        pytest.param("CLUSTER --to-config no-such-file", "cannot be read", id="no configuration"),
        pytest.param(
            "CLUSTER --to-feature-gates Swap=true", "unrecognized feature gate", id="a wrong gate"
        ),
    ],
)
def test_wrong_use_is_exit_status_2(cluster, line, message, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    record_run(folder)
    line = line.replace("CLUSTER", f"{cluster}/cluster.yaml").replace("RUN", str(folder))
    assert message in run(f"diff {line}", status=2, stdin="").stderr


def test_the_number_of_reasons_is_limited_and_said() -> None:
    line = "diff examples/quickstart --to-config examples/diff/packed.yaml"
    shown = run(line, status=1).stdout
    assert "NodeResourcesFit" in shown
    limited = run(f"{line} --reasons 0", status=1)
    assert "NodeResourcesFit" not in limited.stdout
    assert "reasons: those of the first 0 of" in limited.stdout + limited.stderr
    assert "--reasons NUMBER finds more" in limited.stdout + limited.stderr
