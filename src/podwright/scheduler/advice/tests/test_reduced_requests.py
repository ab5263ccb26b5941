"""Remedies that reduce a request: in which container, by how much, and what else changes."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Node, Pod, decode_pod, encode
from podwright.apimachinery.schema import decode
from podwright.scheduler.advice import Remedy, pod_edits
from podwright.scheduler.assembly import Scheduler
from podwright.testing import make_node

Document = dict[str, Any]


def container(name: str, limits: Document | None = None, **requests: str) -> Document:
    resources = {"requests": requests} | ({"limits": limits} if limits else {})
    return {"name": name, "image": "app", "resources": resources}


def pod(*containers: Document, **spec: Any) -> Pod:
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"containers": list(containers)} | spec,
    }
    found = decode(document)
    assert isinstance(found, Pod)
    return found


def reduction(pending: Pod, *nodes: Node) -> Remedy:
    """Return the first remedy that reduces a request."""
    scheduler = Scheduler()
    scheduler.add(*nodes, pending)
    found = scheduler.remedies(scheduler.explain(pending.key))
    return next(remedy for remedy in found if remedy.text.startswith("reduce"))


def requests_of(remedy: Remedy, field: str = "containers", resource: str = "cpu") -> list[str]:
    containers = encode(remedy.pod)["spec"][field]
    return [each["resources"]["requests"][resource] for each in containers]


def test_the_largest_container_is_reduced_first() -> None:
    remedy = reduction(
        pod(container("a", cpu="1"), container("b", cpu="3")), make_node("n", cpu="3")
    )
    assert remedy.text == "reduce the cpu request from 4 to 3"
    assert requests_of(remedy) == ["1", "2"]


def test_several_containers_are_reduced_if_one_is_not_enough() -> None:
    containers = [container(name, cpu="2") for name in "abc"]
    remedy = reduction(pod(*containers), make_node("n", cpu="3"))
    assert remedy.text == "reduce the cpu request from 6 to 3"
    assert requests_of(remedy) == ["0", "1", "2"], "none of them is less than nothing"


def test_an_init_container_with_the_largest_request_is_reduced() -> None:
    pending = pod(container("main", cpu="1"), initContainers=[container("load", cpu="4")])
    remedy = reduction(pending, make_node("n", cpu="2"))
    assert remedy.text == "reduce the cpu request from 4 to 2"
    assert requests_of(remedy) == ["1"]
    assert requests_of(remedy, "initContainers") == ["2"]


def test_the_request_of_the_whole_pod_is_reduced() -> None:
    pending = pod(container("main", cpu="1"), resources={"requests": {"cpu": "4"}})
    remedy = reduction(pending, make_node("n", cpu="3"))
    assert remedy.text == "reduce the cpu request from 4 to 3"
    assert encode(remedy.pod)["spec"]["resources"]["requests"] == {"cpu": "3"}
    assert requests_of(remedy) == ["1"]


@pytest.mark.parametrize(
    ("containers", "spec", "text", "whole", "each"),
    [
        pytest.param(
            ("2", "2"), {}, "from 4 to 3", "3", ["1", "2"], id="it covers those of the containers"
        ),
        pytest.param(
            ("1", "1"),
            {"overhead": {"cpu": "1"}},
            "from 5 to 3",
            "2",
            ["1", "1"],
            id="the overhead is not a part of it",
        ),
    ],
)
def test_the_request_of_the_whole_pod_stays_valid(
    containers: tuple[str, str], spec: Document, text: str, whole: str, each: list[str]
) -> None:
    first, second = (container(f"c{cpu}{n}", cpu=cpu) for n, cpu in enumerate(containers))
    pending = pod(first, second, resources={"requests": {"cpu": "4"}}, **spec)
    remedy = reduction(pending, make_node("n", cpu="3"))
    assert remedy.text == f"reduce the cpu request {text}"
    assert encode(remedy.pod)["spec"]["resources"]["requests"] == {"cpu": whole}
    assert requests_of(remedy) == each


LOADING = [container(name, cpu="2") for name in ("load", "check")]


@pytest.mark.parametrize(
    ("whole", "spec", "free"),
    [
        pytest.param("1", {"overhead": {"cpu": "4"}}, 3_000, id="the overhead exceeds it"),
        pytest.param("3", {"initContainers": LOADING}, 1_000, id="two init containers need it"),
    ],
)
def test_a_request_that_no_container_alone_determines_is_not_reduced(
    whole: str, spec: Document, free: int
) -> None:
    pending = pod(container("main"), resources={"requests": {"cpu": whole}}, **spec)
    assert pod_edits.shrink(pending, "cpu", free) is None


def test_the_limit_of_an_extended_resource_stays_equal_to_the_request() -> None:
    gpus = {"nvidia.com/gpu": "4"}
    remedy = reduction(pod(container("main", gpus, **gpus)), make_node("n", gpu=2))
    assert remedy.text == "reduce the nvidia.com/gpu request from 4 to 2"
    (main,) = encode(remedy.pod)["spec"]["containers"]
    assert main["resources"]["limits"] == main["resources"]["requests"] == {"nvidia.com/gpu": "2"}


def test_the_limit_of_cpu_is_kept() -> None:
    remedy = reduction(pod(container("main", {"cpu": "4"}, cpu="4")), make_node("n", cpu="2"))
    (main,) = encode(remedy.pod)["spec"]["containers"]
    assert main["resources"] == {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}


def test_a_container_keeps_what_scheduling_does_not_read():
    before: Document = {
        "name": "main",
        "image": "app",
        "command": ["run"],
        "env": [{"name": "A", "value": "b"}],
        "ports": [{"name": "http", "containerPort": 80, "hostPort": 80}],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "resources": {"requests": {"cpu": "3"}},
    }
    pod = decode_pod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"containers": [before], "volumes": [{"name": "data", "emptyDir": {}}]},
        }
    )
    edit = pod_edits.shrink(pod, "cpu", 1000)
    assert edit is not None
    for edits in (edit, pod_edits.remove_request(pod, "cpu"), pod_edits.drop_port(80)):
        assert edits.on_pod is not None
        (changed,) = encode(edits.on_pod(pod))["spec"]["containers"]
        untouched = {"name", "image", "command", "env", "volumeMounts"}
        assert {key: changed[key] for key in untouched} == {key: before[key] for key in untouched}


def test_one_container_beside_many_init_containers_is_reduced_like_them() -> None:
    before = ["4", "5", "6", "7"]
    loading = [container(f"load{number}", cpu=cpu) for number, cpu in enumerate(before)]
    pending = pod(container("main", cpu="3"), initContainers=loading)
    edit = pod_edits.shrink(pending, "cpu", 1_000)
    assert edit is not None
    assert edit.text == "reduce the cpu request from 7 to 1"
    assert edit.on_pod is not None
    after = encode(edit.on_pod(pending))["spec"]
    for field, count in (("containers", 1), ("initContainers", 4)):
        assert [each["resources"]["requests"]["cpu"] for each in after[field]] == ["1"] * count


def test_a_pod_that_another_change_left_without_the_request_stays_as_it_is() -> None:
    edit = pod_edits.shrink(pod(container("main", cpu="4", memory="1Gi")), "cpu", 1_000)
    assert edit is not None
    assert edit.on_pod is not None
    smaller, unreducible = (
        pod(container("main", memory="1Gi")),
        pod(container("main"), resources={"requests": {"cpu": "3"}}, overhead={"cpu": "4"}),
    )
    for given in (smaller, unreducible):
        assert edit.on_pod(given) == given
    assert edit.on_pod(pod(container("main", cpu="2"))) == pod(container("main", cpu="1"))
