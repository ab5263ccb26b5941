"""Sizes of images, as upstream's cache keeps them."""

from __future__ import annotations

from podwright.columns import Cluster
from podwright.objects import Object
from podwright.schema import decode


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
