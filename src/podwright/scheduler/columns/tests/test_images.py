"""Sizes of images, as upstream's cache keeps them."""

from __future__ import annotations

import numpy as np
import pytest

from podwright.apimachinery.objects import Object
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.images import image_names, locality_scores
from podwright.scheduler.preemption.tests.situations import pod
from podwright.testing import make_node

MIB = 1 << 20


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


def test_nodes_without_images_change_no_version() -> None:
    cluster = Cluster()
    for name in ("first", "second"):
        cluster.put(make_node(name))
    cluster.delete(make_node("first"))
    assert cluster.images.version == 0
    cluster.put(node("third", 100))
    version = cluster.images.version
    cluster.delete(make_node("second"))
    assert cluster.images.version == version + 1, "an image is on more of the nodes"


def test_a_node_as_it_is_changes_no_version_whatever_size_others_report() -> None:
    cluster = Cluster()
    for name, size_bytes in (("first", 100), ("second", 200), ("third", 100)):
        cluster.put(node(name, size_bytes))
    for name, size_bytes in (("first", 100), ("second", 200), ("third", 100)):
        version = cluster.images.version
        cluster.put(node(name, size_bytes))
        assert cluster.images.version == version
    cluster.delete(node("first", 100))
    cluster.delete(node("third", 100))
    # Now it is the only one, and its size counts from its next update on.
    version = cluster.images.version
    cluster.put(node("second", 200))
    assert (size_of(cluster), cluster.images.version) == (200, version + 1)
    version = cluster.images.version
    cluster.put(node("second", 200))
    assert cluster.images.version == version


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


@pytest.mark.parametrize(
    ("image", "name"),
    [
        pytest.param("web", "web:latest", id="without a tag"),
        pytest.param("web:1", "web:1", id="with a tag"),
        pytest.param("web@sha256:0", "web@sha256:0", id="with a digest"),
        pytest.param("r.io:5000/web", "r.io:5000/web:latest", id="the port of a registry"),
        pytest.param("r.io:5000/web:1", "r.io:5000/web:1", id="a port and a tag"),
        pytest.param(":1", ":1", id="nothing but a tag"),
    ],
)
def test_images_without_a_tag_are_the_latest(image: str, name: str) -> None:
    assert image_names(pod("p", containers=[{"name": "c", "image": image}])) == (name,)


def test_the_images_of_a_pod_as_often_as_it_uses_them() -> None:
    one = pod(
        "p",
        containers=[{"name": "c", "image": "app:1"}, {"name": "d", "image": "app:1"}],
        initContainers=[{"name": "i", "image": "setup:1"}],
        volumes=[{"name": "v", "image": {"reference": "data"}}, {"name": "w", "emptyDir": {}}],
    )
    assert image_names(one) == ("setup:1", "app:1", "app:1", "data:latest")


@pytest.mark.parametrize(
    ("n_init", "n_containers", "size_bytes", "score"),
    [
        pytest.param(0, 1, 0, 0, id="no image"),
        pytest.param(0, 1, 23 * MIB, 0, id="up to 23 MiB are worth nothing"),
        # 977 MiB are worth 100.
        pytest.param(0, 1, 32 * MIB, 0, id="nine MiB more are not yet worth 1"),
        pytest.param(0, 1, 33 * MIB, 1, id="ten MiB more, rounded down"),
        pytest.param(0, 1, 1_000 * MIB - 1, 99, id="nearly 1000 MiB"),
        pytest.param(0, 1, 1_000 * MIB, 100, id="1000 MiB"),
        pytest.param(0, 1, 9_000 * MIB, 100, id="and not more"),
        pytest.param(0, 2, 1_000 * MIB, 49, id="1000 MiB for each container"),
        pytest.param(1, 1, 1_000 * MIB, 49, id="also for those of the beginning"),
        pytest.param(1, 1, 2_000 * MIB, 100, id="2000 MiB for two"),
    ],
)
def test_scores_of_the_bytes_that_a_node_has(
    n_init: int, n_containers: int, size_bytes: int, score: int
) -> None:
    container = {"name": "c", "image": "i"}
    one = pod("p", containers=[container] * n_containers, initContainers=[container] * n_init)
    sums = np.array([size_bytes, 0], dtype=np.int64)
    assert locality_scores(sums, one, 100).tolist() == [score, 0]


def test_one_image_of_another_size_is_enough() -> None:
    def second(**sizes: int) -> Object:
        images = [{"names": [name], "sizeBytes": size} for name, size in sizes.items()]
        head = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "second"}}
        return decode(head | {"status": {"images": images}})

    cluster = Cluster()
    first = node("first", 100)
    cluster.put(first)
    own = {"own": 5, "registry/a:v1": 200, "other": 6}
    cluster.put(second(**own))
    cluster.delete(first)
    assert size_of(cluster) == 100
    cluster.put(second(**own))
    assert size_of(cluster) == 200
