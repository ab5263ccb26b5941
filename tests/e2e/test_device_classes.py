"""Extended resources that a DeviceClass backs are refused, by every command alike."""

from __future__ import annotations

import json

import pytest
from tests.e2e.command_line import NODES, pod, run

CLASS = """
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {extendedResourceName: example.com/gpu}
"""
GPU_NODE = """
---
apiVersion: v1
kind: Node
metadata: {name: gpus}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110", example.com/gpu: "4"}}
"""
NO_PLUGIN = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {disabled: [{name: DISABLED}]}}
"""
TEXT = "extended resources of device classes are not supported"
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu.example.com"


def with_device(name: str, resource: str = "example.com/gpu", amount: str = "1") -> str:
    return f"""
---
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers:
  - {{name: main, image: app, resources: {{limits: {{cpu: "1", {resource}: "{amount}"}}}}}}
"""


@pytest.mark.parametrize("resource", ["example.com/gpu", IMPLICIT])
def test_the_pod_waits_with_the_reason_and_the_others_are_scheduled(write, resource):
    # A node that has the resource itself could be chosen, or another one through the class.
    text = NODES + GPU_NODE + CLASS + with_device("trained", resource) + pod("web", "1")
    files = write("cluster.yaml", text)
    reason = f'{TEXT}: {resource} of DeviceClass "gpu.example.com"'
    decisions = json.loads(run(f"schedule {files} -o json", status=1).stdout)["decisions"]
    by_pod = {one["pod"]: one for one in decisions}
    assert by_pod["default/web"]["outcome"] == "Scheduled"
    assert by_pod["default/trained"]["outcome"] == "Unschedulable"
    assert by_pod["default/trained"]["rejections"][0]["reasons"] == [reason]
    assert reason in run(f"explain trained {files}", status=1).stdout
    assert reason in run(f"simulate {files}", status=1).stdout


@pytest.mark.parametrize("disabled", ["DynamicResources", "NodeResourcesFit"])
def test_either_plugin_refuses_alone(write, disabled):
    files = write("cluster.yaml", NODES + CLASS + with_device("trained"))
    config = write("config.yaml", NO_PLUGIN.replace("DISABLED", disabled))
    assert TEXT in run(f"schedule {files} --config {config}", status=1).stdout


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(NODES + GPU_NODE + with_device("trained"), id="no class"),
        pytest.param(
            NODES + GPU_NODE + CLASS.replace("example.com/gpu}", "example.com/other}")
            + with_device("trained"),
            id="a class of another resource",
        ),
        pytest.param(NODES + CLASS + with_device("trained", amount="0"), id="an amount of 0"),
        pytest.param(NODES + CLASS + pod("trained", "1"), id="no such resource"),
    ],
)  # fmt: skip
def test_what_needs_no_class_is_scheduled(write, text):
    assert run(f"schedule {write('cluster.yaml', text)} -o name").stdout == "default/trained\n"


def test_without_the_gate_a_class_backs_nothing(write):
    files = write("cluster.yaml", NODES + GPU_NODE + CLASS + with_device("trained"))
    line = f"schedule {files} --feature-gates DRAExtendedResource=false"
    assert run(f"{line} -o jsonpath={{.decisions[0].node}}").stdout == "gpus"


def test_a_class_that_goes_away_is_noticed(write):
    files = write("cluster.yaml", NODES + GPU_NODE + CLASS + with_device("trained"))
    events = write("events.jsonl", '{"at": "1m", "delete": "deviceclass/gpu.example.com"}\n')
    # No event of a deleted class moves pods, in upstream neither; they are retried in time.
    report = json.loads(run(f"simulate {files} --events {events} --until 10m -o json").stdout)
    assert report["counts"]["placed"] == 1
