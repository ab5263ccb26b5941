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
