"""Resources that pods request and no node has."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import (
    DeviceClass,
    DeviceClassSpec,
    Node,
    ObjectMeta,
    Pod,
    decode_node,
    decode_pod,
)
from podwright.scheduler.assembly.missing_resources import MissingResource, missing_resources


def node(**allocatable: str) -> Node:
    named = {name.replace("_", "/"): amount for name, amount in allocatable.items()}
    return decode_node({"metadata": {"name": "n"}, "status": {"allocatable": named}})


def pod(name: str, **requests: str) -> Pod:
    named = {resource.replace("_", "/"): amount for resource, amount in requests.items()}
    containers = [{"name": "c", "resources": {"requests": named}}]
    return decode_pod({"metadata": {"name": name}, "spec": {"containers": containers}})


PLAIN = node(cpu="4", memory="8Gi", pods="110")
CAPACITY = decode_node({"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}})
GPUS = node(cpu="500m", nvidia_gpu="1")


@pytest.mark.parametrize(
    ("nodes", "pods", "found"),
    [
        pytest.param([PLAIN], [pod("a", cpu="16")], [], id="too little is not missing"),
        pytest.param(
            [PLAIN, GPUS], [pod("a", nvidia_gpu="9")], [], id="one node that has it is enough"
        ),
        pytest.param(
            [GPUS],
            [pod("a", nvidia_gpus="1"), pod("b", nvidia_gpus="1")],
            [MissingResource("nvidia/gpus", 2, "nvidia/gpu")],
            id="once per resource, with the one that may have been meant",
        ),
        pytest.param(
            [PLAIN],
            [pod("a", x_nic="1", b_disk="1")],
            [MissingResource("b/disk", 1), MissingResource("x/nic", 1)],
            id="in order of name",
        ),
        pytest.param(
            [node(cpu="1", nvidia_gpu="0")],
            [pod("a", nvidia_gpu="1")],
            [MissingResource("nvidia/gpu", 1)],
            id="nothing of it is none",
        ),
        pytest.param([CAPACITY], [pod("a", cpu="8")], [], id="capacity counts as allocatable"),
        pytest.param([PLAIN], [pod("a", nvidia_gpu="0")], [], id="who asks for nothing of it"),
        pytest.param(
            [node(x_gpus="1", x_GPUS="1", x_Gpus="1", x_gPus="1", x_gpUs="1", x_gpuS="1")],
            [pod("a", x_gpu="1")],
            [MissingResource("x/gpu", 1, "x/gpus")],
            id="of several that are as similar, the same one each time",
        ),
        pytest.param([], [pod("a", cpu="1")], [], id="without nodes nothing is reported"),
    ],
)
def test_what_is_asked_for_and_nowhere(nodes, pods, found):
    assert missing_resources(pods, nodes) == found


def test_devices_of_a_class_are_allocated_for_its_resources():
    backed = DeviceClass(
        metadata=ObjectMeta(name="gpu"), spec=DeviceClassSpec(extended_resource_name="a/gpu")
    )
    names = ("a/gpu", "deviceclass.resource.kubernetes.io/gpu", "a/gpus")
    given = [pod("a", **dict.fromkeys(names, "1"))]
    found = missing_resources(given, [PLAIN], [backed])
    assert found == [MissingResource("a/gpus", 1, "a/gpu")]


def test_it_is_told_in_a_line():
    assert str(MissingResource("a/gpus", 1)) == "1 pod requests a/gpus, which no node has"
    assert str(MissingResource("a/gpus", 2, "a/gpu")) == (
        '2 pods request a/gpus, which no node has; did they mean "a/gpu"?'
    )
