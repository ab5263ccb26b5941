"""Objects of a file: equal parts are one value, and each object is as if it were read alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import InvalidObject, decode_json
from podwright.apimachinery.schema import decode
from podwright.cluster.store import shared_reading
from podwright.cluster.store.shared_reading import SharedReading

CONTAINERS = [{"name": "web", "image": "nginx", "resources": {"requests": {"cpu": "1"}}}]


def _pod(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app": "web"},
            "resourceVersion": "7",
        },
        "spec": {"schedulerName": "mine", **spec, "containers": CONTAINERS},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _read(*documents: Any) -> list[Any]:
    reading = SharedReading()
    return [reading.read(msgspec.json.encode(each)) for each in documents]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(_pod("a"), id="a pod"),
        pytest.param(_pod("a", nodeName="n1"), id="a bound pod"),
        pytest.param(_pod("a", nodeName=""), id="a pod whose node is empty"),
        pytest.param(_pod("a") | {"spec": None}, id="a pod without a spec"),
        pytest.param(
            _pod("a") | {"metadata": {"name": "a", "labels": None}}, id="a pod with nulls"
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {}}, id="a node"
        ),
        pytest.param(
            {
                "apiVersion": "example.com/v1",
                "kind": "Thing",
                "metadata": {"name": "a"},
                "spec": {"nodeName": "n1"},
                "data": [1, 2.5, True, None, "text"],
            },
            id="an object of a custom kind",
        ),
    ],
)
def test_an_object_is_the_one_that_is_read_alone(document):
    first, second = _read(document, document)
    alone = decode(decode_json(msgspec.json.encode(document)))
    assert first == second == alone
    assert type(first) is type(alone)
    # In the same order too.
    assert msgspec.json.encode(second.raw) == msgspec.json.encode(alone.raw)


def test_equal_parts_are_one_value():
    one, other = _read(_pod("a"), _pod("b"))
    assert one.raw["spec"] is other.raw["spec"]
    assert one.spec is other.spec
    assert one.raw["status"] is other.raw["status"]
    assert one.raw["metadata"]["labels"] is other.raw["metadata"]["labels"]
    assert one.metadata.labels is other.metadata.labels is one.raw["metadata"]["labels"]
    assert (one.name, other.name) == ("a", "b")


def test_bound_pods_share_all_of_their_specs_but_the_nodes():
    one, other, free = _read(_pod("a", nodeName="n1"), _pod("b", nodeName="n2"), _pod("c"))
    assert (one.spec.node_name, other.spec.node_name, free.spec.node_name) == ("n1", "n2", "")
    assert one.spec.containers is other.spec.containers is free.spec.containers
    assert one.raw["spec"]["containers"] is other.raw["spec"]["containers"]


def test_parts_are_forgotten_when_there_are_many(monkeypatch):
    monkeypatch.setattr(shared_reading, "_SHARED_MAX", 50)
    reading = SharedReading()
    for number in range(100):
        found = reading.read(msgspec.json.encode(_pod(f"pod-{number}")))
        assert found.name == f"pod-{number}"
        assert len(reading._parts) < 100


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"1", b'{"kind":"Pod"}', b'{"kind":1}', b"\xff"]
)
def test_what_is_no_object_is_an_error(text):
    with pytest.raises(InvalidObject):
        SharedReading().read(text)


def test_a_wrong_field_of_a_bound_pod_is_an_error():
    with pytest.raises(InvalidObject, match="containers"):
        _read(_pod("a", nodeName="n1") | {"spec": {"nodeName": "n1", "containers": 1}})
    with pytest.raises(InvalidObject, match="nodeName"):
        _read(_pod("a", nodeName=1))
