"""Extended resources that a DeviceClass backs are allocated as devices, or wait for them."""

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
TEXT = "cannot allocate all claims"
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


SLICE = """
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: small-gpus}
spec:
  driver: gpu.example.com
  nodeName: large
  pool: {name: large, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
"""


@pytest.mark.parametrize("resource", ["example.com/gpu", IMPLICIT])
def test_a_pod_waits_for_devices_and_the_others_are_scheduled(write, resource):
    text = NODES + CLASS + with_device("trained", resource) + pod("web", "1")
    files = write("cluster.yaml", text)
    decisions = json.loads(run(f"schedule {files} -o json", status=1).stdout)["decisions"]
    by_pod = {one["pod"]: one for one in decisions}
    assert by_pod["default/web"]["outcome"] == "Scheduled"
    assert by_pod["default/trained"]["outcome"] == "Unschedulable"
    assert by_pod["default/trained"]["rejections"][0]["reasons"] == [TEXT]
    assert TEXT in run(f"explain trained {files}", status=1).stdout
    assert TEXT in run(f"simulate {files}", status=1).stdout


@pytest.mark.parametrize("resource", ["example.com/gpu", IMPLICIT])
def test_the_pod_gets_a_device_and_the_next_one_waits(write, resource):
    pods = with_device("first", resource) + with_device("second", resource)
    files = write("cluster.yaml", NODES + CLASS + SLICE + pods)
    decisions = json.loads(run(f"schedule {files} -o json", status=1).stdout)["decisions"]
    assert [one.get("node") for one in decisions] == ["large", None]


def test_a_node_that_has_the_resource_itself_needs_no_device(write):
    files = write("cluster.yaml", NODES + GPU_NODE + CLASS + with_device("trained"))
    assert run(f"schedule {files} -o jsonpath={{.decisions[0].node}}").stdout == "gpus"


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
