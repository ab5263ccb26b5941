"""Bound pods as `bound` returns them: what pods of one template share, and what they do not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.api.pods.binding import (
    NO_LABELS,
    Binding,
    bound,
    topology_labels,
    with_probe_times,
)
from podwright.cluster.api.stages.drafts import form_conditions
from podwright.cluster.store import ObjectStore
from podwright.cluster.store.tests.documents import NOW
from podwright.testing import make_node, make_pod

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


def store_of(nodes: dict[str, dict[str, str]]) -> ObjectStore:
    store = ObjectStore()
    for name, labels in nodes.items():
        metadata = {"name": name, "labels": labels}
        store.put(decode({"apiVersion": "v1", "kind": "Node", "metadata": metadata}))
    return store


def pods_of_a_template(*names: str) -> list[Pod]:
    metadata = {"namespace": "default", "labels": {"app": "web", ZONE: "own"}}
    like = decode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata | {"name": "web"}})
    assert isinstance(like, Pod)
    return [
        msgspec.structs.replace(like, metadata=msgspec.structs.replace(like.metadata, name=name))
        for name in names
    ]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({ZONE: "a", REGION: "r", "other": "x"}, {ZONE: "a", REGION: "r"}, id="both"),
        pytest.param({REGION: "r"}, {REGION: "r"}, id="a region only"),
        pytest.param({ZONE: ""}, {ZONE: ""}, id="an empty zone"),
        pytest.param({}, {}, id="none"),
    ],
)
def test_topology_labels_are_those_of_the_node(labels, expected):
    assert topology_labels(store_of({"n": labels}), "n") == expected


def test_an_unknown_node_has_no_topology_labels():
    assert topology_labels(store_of({}), "n") is NO_LABELS


def test_pods_of_a_template_share_the_labels_of_a_zone():
    store = store_of({"a-1": {ZONE: "a"}, "a-2": {ZONE: "a"}, "b-1": {ZONE: "b"}})
    pods = pods_of_a_template("x", "y", "z")
    made = [
        bound(
            pod,
            Binding(node=node, labels=topology_labels(store, node)),
            now_ns=NOW,
            version=7 + at,
        )
        for at, (pod, node) in enumerate(zip(pods, ("a-1", "a-2", "b-1"), strict=True))
    ]
    assert [pod.metadata.labels[ZONE] for pod in made] == ["a", "a", "b"]
    assert made[0].metadata.labels is made[1].metadata.labels
    assert [pod.raw["metadata"]["labels"] for pod in made] == [pod.metadata.labels for pod in made]
    # The pods before the binding are unchanged.
    assert {pod.metadata.labels[ZONE] for pod in pods} == {"own"}


def test_a_pod_without_new_labels_keeps_its_own():
    (pod,) = pods_of_a_template("x")
    made = bound(pod, Binding(node="n"), now_ns=NOW, version=7)
    assert made.metadata.labels is pod.metadata.labels
    assert made.metadata.resource_version == made.raw["metadata"]["resourceVersion"] == "7"


def test_conditions_in_go_form_have_a_probe_time():
    (pod,) = pods_of_a_template("x")
    made = [
        bound(pod, Binding(node="n"), now_ns=NOW, version=7, in_go_form=in_go_form)
        for in_go_form in (False, True)
    ]
    plain, go = ([list(each) for each in pod.raw["status"]["conditions"]] for pod in made)
    assert plain == [["type", "status", "lastTransitionTime"]]
    assert go == [["type", "status", "lastProbeTime", "lastTransitionTime"]]
    assert made[0].status == made[1].status


def pod_with(status: dict[str, Any]) -> Pod:
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": status}
    found = decode(made)
    assert isinstance(found, Pod)
    return found


def test_only_pods_with_a_condition_without_a_probe_time_are_changed() -> None:
    nothing: Any = None
    complete = pod_with({"conditions": [{"type": "A", "lastProbeTime": None}]})
    for pod in (complete, pod_with({}), pod_with({"conditions": []}), make_pod("p")):
        assert with_probe_times(pod) is pod
        write: Any = SimpleNamespace(body=pod)
        form_conditions(nothing, write)
        assert write.body is pod
    partial = pod_with({"conditions": [{"type": "A", "status": "True"}]})
    write = SimpleNamespace(body=partial)
    form_conditions(nothing, write)
    assert write.body.raw["status"]["conditions"] == [
        {"type": "A", "status": "True", "lastProbeTime": None}
    ]
    node = make_node("n")
    write = SimpleNamespace(body=node)
    form_conditions(nothing, write)
    assert write.body is node
