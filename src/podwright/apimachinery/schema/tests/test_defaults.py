"""Defaults that the golden exchanges do not have."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in

Document = dict[str, Any]


def completed(api_version: str, kind: str, document: Document) -> Document:
    found = built_in().find(api_version, kind)
    assert found is not None
    once = found.with_defaults(document)
    assert found.with_defaults(once) is once
    return once


def test_a_node_allocates_its_capacity() -> None:
    node = completed("v1", "Node", {"status": {"capacity": {"cpu": "4", "pods": "110"}}})
    assert node["status"]["allocatable"] == {"cpu": "4", "pods": "110"}


def test_a_node_keeps_what_it_allocates() -> None:
    status = {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}
    assert completed("v1", "Node", {"status": status})["status"] == status


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"containers": [{"resources": {"limits": {"cpu": "1"}}}]},
            {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
            id="requests are the limits",
        ),
        pytest.param(
            {"containers": [{"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}]},
            {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}},
            id="unless they are given",
        ),
        pytest.param(
            {"containers": [{"resources": {"requests": {"cpu": "100u"}}}]},
            {"requests": {"cpu": "1m"}},
            id="amounts are rounded up to thousandths",
        ),
    ],
)
def test_resources_of_containers(spec: Document, expected: Document) -> None:
    pod = completed("v1", "Pod", {"spec": spec})
    assert pod["spec"]["containers"][0]["resources"] == expected


def test_a_template_keeps_requests_open() -> None:
    template = {"spec": {"containers": [{"resources": {"limits": {"cpu": "1"}}}]}}
    document = completed("apps/v1", "ReplicaSet", {"spec": {"template": template}})
    container = document["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"] == {"limits": {"cpu": "1"}}
    assert "enableServiceLinks" not in document["spec"]["template"]["spec"]


def test_the_requests_of_a_pod_are_those_of_its_containers() -> None:
    container = {"resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}}
    spec = {"containers": [container] * 2, "resources": {"limits": {"cpu": "2"}}}
    pod = completed("v1", "Pod", {"spec": spec})
    assert pod["spec"]["resources"] == {
        "limits": {"cpu": "2"},
        "requests": {"cpu": "500m", "memory": "2Gi"},
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("registry:5000/nginx:latest", "Always"),
        ("registry:5000/nginx:1.2", "IfNotPresent"),
        ("nginx@sha256:0123", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_the_pull_policy_depends_on_the_tag(image: str, policy: str) -> None:
    pod = completed("v1", "Pod", {"spec": {"containers": [{"image": image}]}})
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_ports_of_a_pod_in_the_network_of_its_host() -> None:
    ports = [{"containerPort": 80}]
    spec = {"hostNetwork": True, "containers": [{"ports": ports}]}
    (port,) = completed("v1", "Pod", {"spec": spec})["spec"]["containers"][0]["ports"]
    assert port == {"protocol": "TCP", "containerPort": 80, "hostPort": 80}
    assert ports == [{"containerPort": 80}]


def test_null_is_absent() -> None:
    spec = {"replicas": None, "strategy": None}
    deployment = completed("apps/v1", "Deployment", {"spec": spec})["spec"]
    assert deployment["replicas"] == 1
    assert deployment["strategy"]["rollingUpdate"] == {"maxUnavailable": "25%", "maxSurge": "25%"}


def test_zero_replicas_are_a_value() -> None:
    assert completed("apps/v1", "Deployment", {"spec": {"replicas": 0}})["spec"]["replicas"] == 0


def test_a_container_limit_follows_from_its_bounds() -> None:
    limit = {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}
    document = completed("v1", "LimitRange", {"spec": {"limits": [limit]}})
    assert document["spec"]["limits"][0] == limit | {
        "default": {"cpu": "2"},
        "defaultRequest": {"cpu": "2", "memory": "1Mi"},
    }


@pytest.mark.parametrize(
    ("names", "account"),
    [
        ({"serviceAccount": "a"}, "a"),
        ({"serviceAccountName": "b"}, "b"),
        ({"serviceAccount": "a", "serviceAccountName": "b"}, "b"),
        ({"serviceAccount": "a", "serviceAccountName": ""}, "a"),
    ],
)
def test_the_deprecated_name_of_an_account_is_that_of_the_current_field(
    names: Document, account: str
) -> None:
    template = {"spec": {"containers": [], **names}}
    document = completed("apps/v1", "ReplicaSet", {"spec": {"template": template}})
    spec = document["spec"]["template"]["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == (account, account)
