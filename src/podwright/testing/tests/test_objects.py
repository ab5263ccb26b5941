"""The constructors return the same objects as manifests."""

import pytest

from podwright.apimachinery.objects import InvalidObject, pending_requests
from podwright.testing import make_node, make_pod


def test_a_node_has_the_given_fields_and_its_hostname():
    node = make_node("n", cpu="1500m", gpu=2, zone="a", labels={"disk": "ssd"}, unschedulable=True)
    assert node.status.allocatable["nvidia.com/gpu"] == "2"
    assert node.metadata.labels == {
        "kubernetes.io/hostname": "n", "topology.kubernetes.io/zone": "a", "disk": "ssd",
    }  # fmt: skip
    assert node.spec.unschedulable


def test_a_pod_has_the_given_requests():
    pod = make_pod("p", cpu="500m", memory="1Gi", gpu=1, resources={"example.com/x": 3})
    assert pending_requests(pod) == {
        "cpu": 500, "memory": 1 << 30, "nvidia.com/gpu": 1, "example.com/x": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("gpu=yes:NoSchedule", ("gpu", "Equal", "yes", "NoSchedule"), id="all"),
        pytest.param("gpu:NoExecute", ("gpu", "Exists", "", "NoExecute"), id="any value"),
        pytest.param("gpu=yes", ("gpu", "Equal", "yes", ""), id="any effect"),
        pytest.param("gpu", ("gpu", "Exists", "", ""), id="the key alone"),
        pytest.param("", ("", "Exists", "", ""), id="everything"),
    ],
)
def test_tolerations_are_written_as_kubectl_writes_taints(text, parts):
    (toleration,) = make_pod("p", tolerations=[text]).spec.tolerations
    assert (
        toleration.key, toleration.operator, toleration.value, toleration.effect,
    ) == parts  # fmt: skip


def test_nonsense_is_refused_with_its_path():
    with pytest.raises(InvalidObject, match=r"make_node\('n'\): spec\.taints\[0\]\.effect"):
        make_node("n", taints=["gpu:Never"])


def test_a_made_pod_is_one_that_the_default_profile_decides_for():
    assert make_pod("web").spec.scheduler_name == "default-scheduler"
    assert make_pod("web", scheduler="other").spec.scheduler_name == "other"
    assert make_pod("web", spec={"schedulerName": "third"}).spec.scheduler_name == "third"


@pytest.mark.parametrize(
    ("options", "requests", "limits"),
    [
        ({}, {}, None),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, None),
        ({"cpu": 2}, {"cpu": "2"}, None),
        ({"gpu": 3}, {"nvidia.com/gpu": "3"}, {"nvidia.com/gpu": "3"}),
        ({"resources": {"example.com/x": 7, "cpu": "1"}, "cpu": "2"},
         {"example.com/x": "7", "cpu": "2"}, {"example.com/x": "7"}),
    ],
)  # fmt: skip
def test_a_pod_that_requests_an_extended_resource_has_it_as_its_limit(options, requests, limits):
    (container,) = make_pod("p", **options).raw["spec"]["containers"]
    assert container["resources"]["requests"] == requests
    assert container["resources"].get("limits") == limits


def test_a_node_has_what_is_given_and_nothing_else():
    plain = make_node("n").raw
    assert "nvidia.com/gpu" not in plain["status"]["allocatable"]
    assert plain["metadata"]["labels"] == {"kubernetes.io/hostname": "n"}
    assert "unschedulable" not in plain["spec"]
    assert "images" not in plain["status"]
    full = make_node(
        "n", gpu=2, zone="z", labels={"kubernetes.io/hostname": "h"}, unschedulable=True,
        images={"i": "300Mi"}, resources={"example.com/x": 1}, pods=7,
    ).raw  # fmt: skip
    amounts = full["status"]["allocatable"]
    assert amounts == full["status"]["capacity"]
    assert (amounts["nvidia.com/gpu"], amounts["example.com/x"], amounts["pods"]) == (
        "2", "1", "7"
    )  # fmt: skip
    assert full["metadata"]["labels"] == {
        "kubernetes.io/hostname": "h", "topology.kubernetes.io/zone": "z"
    }  # fmt: skip
    assert full["spec"]["unschedulable"] is True
    assert full["status"]["images"] == [{"names": ["i"], "sizeBytes": 300 << 20}]


def test_a_pod_has_what_is_given_and_nothing_else():
    plain = make_pod("p").raw
    assert plain["metadata"] == {
        "name": "p", "namespace": "default", "uid": "default/p", "labels": {}
    }  # fmt: skip
    assert set(plain["spec"]) == {"containers", "schedulerName"}
    full = make_pod(
        "p", namespace="a", duration="90s", host_port=80, gates=["g"], node_selector={"a": "b"},
        annotations={"x": "y"}, priority=7, scheduler="s", image="i", spec={"hostNetwork": True},
    ).raw  # fmt: skip
    assert full["metadata"]["annotations"] == {
        "x": "y", "pod-complete.stage.kwok.x-k8s.io/delay": "1m30s"
    }  # fmt: skip
    spec = full["spec"]
    assert spec["restartPolicy"] == "Never"
    assert spec["containers"][0]["ports"] == [{"containerPort": 80, "hostPort": 80}]
    assert spec["containers"][0]["image"] == "i"
    assert (spec["schedulingGates"], spec["nodeSelector"]) == ([{"name": "g"}], {"a": "b"})
    assert (spec["priority"], spec["schedulerName"], spec["hostNetwork"]) == (7, "s", True)
