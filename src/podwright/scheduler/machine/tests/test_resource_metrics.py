from __future__ import annotations

import pytest

from podwright.apimachinery.objects import Pod, decode_as
from podwright.scheduler.machine.metrics.metric_snapshot import render_text, resource_snapshot


def pod(*, name="web", node="n1", phase="Running", priority=7, **spec):
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {
            "schedulerName": "default-scheduler",
            "nodeName": node,
            "priority": priority,
            "containers": [
                {
                    "name": "c",
                    "resources": {
                        "requests": {"cpu": "500m", "memory": "64Mi", "nvidia.com/gpu": "1"},
                        "limits": {"memory": "128Mi", "nvidia.com/gpu": "1"},
                    },
                }
            ],
            **spec,
        },
        "status": {"phase": phase},
    }
    return decode_as(document, Pod)


def amounts(snapshot, name):
    return {
        value.labels[-2:]: value.value
        for family in snapshot.families
        if family.name == name
        for value in family.series
    }


def test_requests_and_limits_have_units():
    seen = resource_snapshot([pod()])
    assert amounts(seen, "kube_pod_resource_request") == {
        ("cpu", "cores"): 0.5,
        ("memory", "bytes"): 64 * 2**20,
        ("nvidia.com/gpu", "integer"): 1,
    }
    assert amounts(seen, "kube_pod_resource_limit") == {
        ("memory", "bytes"): 128 * 2**20,
        ("nvidia.com/gpu", "integer"): 1,
    }


def test_overhead_adds_to_limits_that_there_are():
    seen = resource_snapshot([pod(overhead={"cpu": "250m", "memory": "1Mi"})])
    assert amounts(seen, "kube_pod_resource_request")["cpu", "cores"] == 0.75
    assert amounts(seen, "kube_pod_resource_limit")["memory", "bytes"] == 129 * 2**20
    assert ("cpu", "cores") not in amounts(seen, "kube_pod_resource_limit")


def test_limits_of_the_whole_pod_replace_the_sum():
    seen = resource_snapshot([pod(resources={"limits": {"memory": "1Gi"}})])
    assert amounts(seen, "kube_pod_resource_limit")["memory", "bytes"] == 2**30


@pytest.mark.parametrize(
    ("node", "phase", "is_shown"),
    [
        ("n1", "Running", True),
        ("", "Pending", True),
        ("n1", "Succeeded", False),
        ("n1", "Failed", False),
        ("", "Failed", True),
    ],
)
def test_pods_that_ended_on_their_node_are_left_out(node, phase, is_shown):
    assert bool(resource_snapshot([pod(node=node, phase=phase)]).families) == is_shown


def test_the_text_names_the_pod():
    text = render_text(resource_snapshot([pod(name="b"), pod(name="a", priority=None, node="")]))
    lines = [line for line in text.splitlines() if line.startswith("kube_pod_resource_request{")]
    assert lines[0] == (
        'kube_pod_resource_request{namespace="default",node="",pod="a",priority="",'
        'resource="cpu",scheduler="default-scheduler",unit="cores"} 0.5'
    )
    assert 'pod="b"' in lines[-1]
    assert 'priority="7"' in lines[-1]


def test_pods_that_have_ended_on_their_node_hold_nothing():
    ended = pod(name="ended", phase="Succeeded")
    for pods in ([ended, pod()], [pod(), ended]):
        seen = resource_snapshot(pods)
        assert amounts(seen, "kube_pod_resource_request") == amounts(
            resource_snapshot([pod()]), "kube_pod_resource_request"
        )


def test_amounts_of_zero_are_left_out():
    resources = {
        "requests": {"cpu": "0", "memory": "1Ki", "nvidia.com/gpu": "0"},
        "limits": {"cpu": "1n", "memory": "0"},
    }
    seen = resource_snapshot([pod(containers=[{"name": "c", "resources": resources}])])
    assert amounts(seen, "kube_pod_resource_request") == {("memory", "bytes"): 1024}
    assert amounts(seen, "kube_pod_resource_limit") == {("cpu", "cores"): 1e-9}
    nothing = {"requests": {"cpu": "0"}}
    assert not resource_snapshot([pod(containers=[{"name": "c", "resources": nothing}])]).families
