"""Amounts that do not fit 64 bits are reported with what kube-scheduler reads."""

import pytest

from podwright.apimachinery.schema import decode
from podwright.simulation.files.manifests import overflows
from podwright.simulation.files.object_reader import Sourced
from podwright.testing import make_node


def warnings_of(*objects):
    return list(overflows([Sourced(f"f{index}", obj) for index, obj in enumerate(objects)]))


def pod(spec):
    containers = [{"name": "main", "image": "app"}]
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p"},
            "spec": {"containers": containers} | spec,
        }
    )


def requesting(name, amount):
    resources = {"requests": {name: amount}}
    return [{"name": "main", "image": "app", "resources": resources}]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"containers": requesting("cpu", "9Ei")},
            "spec.containers[0].resources.requests[cpu]: 9Ei does not fit 64 bits;"
            " kube-scheduler reads -1000m",
            id="a container",
        ),
        pytest.param(
            {"initContainers": requesting("memory", "1e30")},
            "spec.initContainers[0].resources.requests[memory]: 1e30 does not fit 64 bits;"
            " kube-scheduler reads 0",
            id="an init container",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "1E"}}},
            "spec.resources.requests[cpu]: 1E does not fit 64 bits; kube-scheduler reads 0m",
            id="the whole pod",
        ),
        pytest.param(
            {"overhead": {"memory": "1e30"}},
            "spec.overhead[memory]: 1e30 does not fit 64 bits; kube-scheduler reads 0",
            id="the overhead",
        ),
        pytest.param(
            {"containers": requesting("memory", "9223372036854775808")},
            "spec.containers[0].resources.requests[memory]: 9223372036854775808 does not fit 64"
            " bits; kube-scheduler reads -9223372036854775808",
            id="the first amount that does not fit",
        ),
        pytest.param(
            {"containers": requesting("memory", "-1e30")},
            "spec.containers[0].resources.requests[memory]: -1e30 does not fit 64 bits;"
            " kube-scheduler reads 0",
            id="less than nothing",
        ),
    ],
)
def test_a_pod_with_an_amount_that_does_not_fit_is_reported(spec, expected):
    assert warnings_of(pod(spec)) == [f"f0: {expected}"]


def test_a_node_is_reported():
    assert warnings_of(make_node("n", memory="1e30")) == [
        "f0: status.allocatable[memory]: 1e30 does not fit 64 bits; kube-scheduler reads 0"
    ]


@pytest.mark.parametrize(
    "amount", ["0", "1", "100m", "0.1m", "1.5", "-1.5", "4Ei", "9223372036854775807", "1e-30", 0.5]
)
def test_other_amounts_are_not_reported(amount):
    assert not warnings_of(pod({"containers": requesting("memory", amount)}))


def test_pods_of_one_template_are_reported_once():
    first = pod({"containers": requesting("cpu", "9Ei")})
    assert len(warnings_of(first, first)) == 1
