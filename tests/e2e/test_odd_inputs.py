"""Files without objects, and with unknown kinds."""

from __future__ import annotations

import json

import pytest
from tests.e2e.command_line import NODES, pod, run

CUSTOM = """---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: first}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: second}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
"""
STAGE = """---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: up}
spec:
  resourceRef: {apiGroup: monitoring.coreos.com/v1, kind: ServiceMonitor}
  selector: {matchExpressions: [{key: .status.up, operator: DoesNotExist}]}
  next: {statusTemplate: "up: true"}
"""
WARNING = (
    "ServiceMonitor (monitoring.coreos.com/v1) is not a known kind, which only custom plugins read"
)


@pytest.mark.parametrize("command", ["schedule", "simulate"])
def test_a_custom_kind_is_named_once_with_its_place(write, command):
    files = write("cluster.yaml", NODES + pod("web", "1") + CUSTOM)
    warnings = [line for line in run(f"{command} {files}").stderr.splitlines() if "warning" in line]
    assert warnings == [f"warning: {files}: document 4 (line {warnings_line()}): {WARNING}"]


TAINT_RULE = """---
apiVersion: resource.k8s.io/v1beta2
kind: DeviceTaintRule
metadata: {name: broken}
spec: {deviceSelector: {pool: p}, taint: {key: k, effect: NoSchedule}}
"""


@pytest.mark.parametrize("command", ["schedule", "simulate", "explain web -f"])
def test_a_kind_whose_feature_gate_is_off_is_reported(write, command):
    files = write("cluster.yaml", NODES + pod("web", "1") + TAINT_RULE)
    warnings = [line for line in run(f"{command} {files}").stderr.splitlines() if "warning" in line]
    assert warnings == [
        f"warning: {files}: document 4 (line {warnings_line()}): DeviceTaintRule broken: needs the"
        " feature gate DRADeviceTaintRules, which is off"
    ]
    gates = "--feature-gates DRADeviceTaintRules=true"
    assert "which is off" not in run(f"{command} {files} {gates}").stderr


def warnings_line() -> int:
    before = NODES + pod("web", "1") + "---\n"
    return before.count("\n") + 1


def test_a_custom_kind_with_a_stage_has_its_part_in_a_simulation(write):
    files = write("cluster.yaml", NODES + pod("web", "1") + CUSTOM + STAGE)
    assert "not known here" not in run(f"simulate {files}").stderr
    assert WARNING in run(f"schedule {files}").stderr


@pytest.mark.parametrize("command", ["schedule", "simulate", "explain web"])
def test_a_kind_that_a_built_in_group_does_not_have_is_refused(write, command):
    files = write("odd.yaml", "apiVersion: apps/v1\nkind: Deploymnt\nmetadata: {name: web}\n")
    refused = run(f"{command} {files}", status=2).stderr
    assert refused == (
        f'error: {files}: document 1 (line 2): kind: no matches for kind "Deploymnt" in version'
        ' "apps/v1"; did you mean "Deployment"?\n'
    )


@pytest.mark.parametrize("command", ["schedule", "simulate"])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="no text"),
        pytest.param("---\n# later\n---\n", id="comments"),
        pytest.param("apiVersion: v1\nkind: List\nitems: []\n", id="an empty list"),
    ],
)
def test_files_without_objects_are_rejected(write, command, text):
    empty = write("empty.yaml", text)
    assert run(f"{command} {empty}", status=2).stderr == f"error: {empty}: contains no objects\n"
    # A file without objects is no error beside other files.
    full = write("full.yaml", NODES + pod("web", "1"))
    assert "no objects" not in run(f"{command} {empty} {full}").stderr


def test_an_idle_simulation_prints_a_sentence(write):
    expected = "Nothing to simulate: no pods, no workloads and no events."
    nodes = write("nodes.yaml", NODES)
    assert run(f"simulate {nodes}").stderr == f"{expected}\n"
    events = write("events.jsonl", '{"at": "1m", "drain": "small"}\n')
    assert expected not in run(f"simulate {nodes} --events {events}").stderr
    empty = write("empty.yaml", "")
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    first = write("first.jsonl", json.dumps({"at": "1m", "apply": node}) + "\n")
    assert expected not in run(f"simulate {empty} --events {first}").stderr


GPU_NODE = NODES.replace('pods: "110"}}', 'pods: "110", nvidia.com/gpu: "2"}}', 1)
GPU_POD = """---
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec: {containers: [{name: c, image: app, resources: {limits: {nvidia.com/gpus: "1"}}}]}
"""


@pytest.mark.parametrize("command", ["schedule", "simulate"])
def test_a_resource_that_no_node_has_is_named_once(write, command):
    pods = "".join(GPU_POD.replace("NAME", name) for name in "ab")
    files = write("cluster.yaml", GPU_NODE + pods)
    stderr = run(f"{command} {files}", status=1).stderr.splitlines()
    expected = '2 pods request nvidia.com/gpus, which no node has; did they mean "nvidia.com/gpu"?'
    assert [line for line in stderr if "warning" in line] == [f"warning: {expected}"]
    assert "warning" not in run(f"{command} {files} --output json", status=1).stderr


@pytest.mark.parametrize("command", ["schedule", "simulate"])
def test_a_resource_that_is_not_looked_at_is_not_named(write, command):
    files = write("cluster.yaml", GPU_NODE + GPU_POD.replace("NAME", "a"))
    config = write(
        "config.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{pluginConfig: [{name: NodeResourcesFit,"
        " args: {ignoredResources: [nvidia.com/gpus]}}]}]\n",
    )
    assert "warning" not in run(f"{command} {files} --config {config}").stderr


DEEP = "[" * 20_000 + "]" * 20_000


@pytest.mark.parametrize(
    "command",
    [
        "schedule",
        "explain web",
        "simulate",
        "compare-rules",
        "diff --to-seed 1",
        "convert",
        "parity",
    ],
)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("deep.json", DEEP, id="JSON"),
        pytest.param("deep.yaml", f"a:\n  {DEEP}", id="YAML"),
        pytest.param("deep.jsonl", f'{{"time": {DEEP}}}\n', id="a record"),
    ],
)
def test_deeply_nested_input_is_an_error_of_its_file(write, command, name, text):
    file = write(name, text)
    result = run(f"{command} {file}", status=2)
    lines = result.stderr.splitlines()
    assert lines
    assert all(line.startswith(f"error: {file}: ") for line in lines)
    assert name.endswith(".yaml") or len(lines) == 1
    assert not result.stdout


@pytest.mark.parametrize("delay", ["1e300", "inf", "1000000001"])
def test_a_delay_out_of_range_is_an_error_of_its_option(delay):
    result = run(f"shadow examples/shadow --no-scheduler-log --delay {delay}", status=2)
    assert "Invalid value for '--delay': must be a number from 0 to 1,000,000,000." in result.stderr
