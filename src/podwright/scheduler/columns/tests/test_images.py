"""Sizes of images, as upstream's cache keeps them."""

from __future__ import annotations

from podwright.apimachinery.objects import Object
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster


def node(name: str, size_bytes: int) -> Object:
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"images": [{"names": ["registry/a:v1"], "sizeBytes": size_bytes}]},
        }
    )


def size_of(cluster: Cluster) -> int:
    state = cluster.images.find("registry/a:v1")
    assert state is not None
    return state.size_bytes


def test_an_update_of_the_only_node_with_an_image_replaces_its_size() -> None:
    cluster = Cluster()
    cluster.put(node("first", 100))
    cluster.put(node("second", 200))
    cluster.put(node("second", 200))
    assert size_of(cluster) == 100
    cluster.delete(node("first", 100))
    assert size_of(cluster) == 100
    cluster.put(node("second", 200))
    assert size_of(cluster) == 200


def test_the_nodes_with_an_image_are_known_after_some_have_gone() -> None:
    cluster = Cluster()
    for name in ("a", "b", "c", "d"):
        cluster.put(node(name, 100))
    state = cluster.images.find("registry/a:v1")
    assert state is not None
    for name, left in (("b", [0, 2, 3]), ("d", [0, 2]), ("a", [2])):
        cluster.delete(node(name, 100))
        assert sorted(state.slots().tolist()) == sorted(state.nodes) == left
    cluster.put(node("e", 100))
    assert sorted(state.slots().tolist()) == [2, 4]
