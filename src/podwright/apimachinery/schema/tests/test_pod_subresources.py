"""Validation of the subresources `resize` and `ephemeralcontainers` of pods."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from podwright.apimachinery.schema import built_in, ephemeral_container_problems, resize_problems

Document = dict[str, Any]


def container(name: str = "c", **fields: Any) -> Document:
    return {"name": name, "image": "a:1"} | fields


def resources(cpu: str = "1", **more: str) -> Document:
    return {"requests": {"cpu": cpu, "memory": "1Gi", **more}}


def pod(**spec: Any) -> Document:
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    spec = {"containers": [container(resources=resources())], **spec}
    return kind.with_defaults({"metadata": {"name": "x", "namespace": "d"}, "spec": spec})


def resized(old: Document, changes: Document, **more: Any) -> list[str]:
    """Return the errors of a resize that sets fields of the spec."""
    new = copy.deepcopy(old)
    new["spec"] |= changes
    found = resize_problems(new, old, qos_class=more.get("qos_class", "Burstable"))
    return [f"{path}: {message}".partition("\n")[0] for path, message, _ in found]


INIT = {"initContainers": [container("i", resources=resources())]}
RESTARTED = {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}
POLICY = (
    'spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must'
    " not be set to 'RestartContainer' for non-sidecar initContainers"
)
LIMITS = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}


def one(**fields: Any) -> Document:
    return {"containers": pod(containers=[container(**fields)])["spec"]["containers"]}


def init(**fields: Any) -> Document:
    made = pod(initContainers=[container("i", **fields)])
    return {"initContainers": made["spec"]["initContainers"]}


@pytest.mark.parametrize(
    ("spec", "changes", "expected"),
    [
        pytest.param({}, {}, [], id="nothing"),
        pytest.param({}, one(resources=resources("2")), [], id="more CPU"),
        pytest.param(
            {},
            one(resources=resources("2"), image="b:1"),
            ["spec: Forbidden: only cpu and memory resources are mutable"],
            id="an image",
        ),
        pytest.param(
            {},
            one(
                resources=resources(**{"example.com/gpu": "1"})
                | {"limits": {"example.com/gpu": "1"}}
            ),
            ["spec: Forbidden: only cpu and memory resources are mutable"],
            id="a device",
        ),
        pytest.param(
            {},
            one(resources={"requests": {"cpu": "1"}}),
            [
                "spec.containers[0].resources.requests: Forbidden: resource requests cannot be"
                " removed"
            ],
            id="no memory any more",
        ),
        pytest.param(
            {"containers": [container(resources=LIMITS)]},
            one(resources={"requests": {"cpu": "1"}}),
            ["spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed"],
            id="no limit any more",
        ),
        pytest.param(
            {},
            {"containers": [*pod()["spec"]["containers"], *one(name="d")["containers"]]},
            ["spec.containers: Forbidden: containers may not be added or removed on resize"],
            id="one more container",
        ),
        pytest.param(
            {},
            one(name="d", resources=resources()),
            [
                "spec.containers[0].name: Forbidden: containers may not be renamed or"
                " reordered on resize"
            ],
            id="another name",
        ),
        pytest.param(
            INIT,
            {"initContainers": []},
            [
                "spec.initContainers: Forbidden: initContainers may not be added or removed on"
                " resize"
            ],
            id="no init container",
        ),
        pytest.param(INIT, init(resources=resources("2")), [], id="an init container"),
        pytest.param(
            INIT,
            init(resources=resources("2"), image="b:1"),
            [
                "spec.initContainers[0]: Forbidden: only cpu and memory resources for init or"
                " sidecar containers are mutable"
            ],
            id="an init container's image",
        ),
        pytest.param(
            {"initContainers": [container("i", resources=resources(), **RESTARTED)]},
            init(resources=resources("2"), **RESTARTED),
            [
                POLICY,
                "spec.initContainers[0]: Forbidden: non-sidecar init containers with a"
                " resize policy of RestartContainer cannot be resized",
            ],
            id="it cannot restart",
        ),
        pytest.param(
            {"initContainers": [container("i", resources=resources(), **RESTARTED)]},
            init(resources=resources(), **RESTARTED),
            [POLICY],
            id="it is not resized",
        ),
        pytest.param(
            {"os": {"name": "windows"}},
            one(resources=resources("2")),
            [": Forbidden: windows pods cannot be resized"],
            id="Windows",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "3"}}},
            {"resources": None},
            ["spec.resources: Forbidden: pod-level resources cannot be removed"],
            id="the pod's own",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "3", "memory": "2Gi"}}},
            {"resources": {"requests": {"cpu": "3"}}},
            ["spec.resources.requests: Forbidden: pod-level resource requests cannot be removed"],
            id="the pod's own memory",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "3"}}},
            {"resources": {"requests": {"cpu": "4"}}},
            [],
            id="the pod's own CPU",
        ),
    ],
)
def test_a_resize_changes_requests_and_limits_only(
    spec: Document, changes: Document, expected: list[str]
) -> None:
    assert resized(pod(**spec), changes) == expected


def test_a_mirror_pod_is_not_resized() -> None:
    old = pod()
    old["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert resized(old, {}) == [": Forbidden: static pods cannot be resized"]


@pytest.mark.parametrize(
    ("status", "qos_class", "expected"),
    [
        ({}, "Guaranteed", []),
        ({"qosClass": "Guaranteed"}, "Guaranteed", []),
        (
            {"qosClass": "Burstable"},
            "Guaranteed",
            [
                'spec: Invalid value: "Burstable": Pod QOS Class may not change as a'
                " result of resizing"
            ],
        ),
        ({"containerStatuses": [{"state": {"waiting": {}}}]}, "Burstable", []),
        ({"containerStatuses": [{"state": {"running": {}}, "resources": {}}]}, "Burstable", []),
        (
            {"containerStatuses": [{"state": {"running": {}}}]},
            "Burstable",
            ["spec: Forbidden: Pod running on node without support for resize"],
        ),
    ],
)
def test_a_resize_keeps_the_class_and_needs_a_kubelet_that_resizes(
    status: Document, qos_class: str, expected: list[str]
) -> None:
    assert resized(pod() | {"status": status}, {}, qos_class=qos_class) == expected


@pytest.mark.parametrize(
    ("names", "changed", "expected"),
    [
        (["a"], {}, []),
        (["a", "b"], {}, []),
        (
            [],
            {},
            [
                'spec.ephemeralContainers: Forbidden: existing ephemeral containers "a" may not be'
                " removed"
            ],
        ),
        (
            ["a"],
            {"image": "b:1"},
            [
                "spec.ephemeralContainers: Forbidden: existing ephemeral containers"
                ' "a" may not be changed'
            ],
        ),
    ],
)
def test_ephemeral_containers_are_only_added(
    names: list[str], changed: Document, expected: list[str]
) -> None:
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    old, new = (
        pod(ephemeralContainers=[container("a")]),
        pod(ephemeralContainers=[container(name, **changed) for name in names]),
    )
    found = ephemeral_container_problems(new, old)
    assert [f"{path}: {text}".partition("\n")[0] for path, text, _ in found] == expected
    old["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    # Nothing else is reported for a static pod.
    mirrored = [text for _, text, _ in ephemeral_container_problems(new, old)]
    assert mirrored == ["Forbidden: static pods do not support ephemeral containers"]
