import pytest

from podwright.framework import Reads
from podwright.plugins.image_locality import ImageLocality
from podwright.plugins.tests.one_node_at_a_time import cluster_of, cycle_of, node, pod, scored

MIB = 1024 * 1024


def having(name, size_mib, *images):
    entry = {"names": list(images), "sizeBytes": size_mib * MIB}
    return node(name, status={"images": [entry]})


@pytest.mark.parametrize(
    ("image", "names"),
    [
        pytest.param("app:1", ["app:1"], id="tag"),
        pytest.param("app", ["app:latest"], id="no tag means latest"),
        pytest.param("host:5000/app", ["host:5000/app:latest"], id="a port is no tag"),
        pytest.param("app@sha256:00", ["x", "app@sha256:00"], id="digest, second name"),
    ],
)
def test_a_node_that_has_the_image_scores(image, names):
    wanted = pod(containers=[{"name": "c", "image": image}])
    cycle = cycle_of(wanted, having("a", 500, *names), node("b"))
    assert scored(ImageLocality(), cycle) == {"a": 100 * (250 - 23) // 977, "b": 0}


def test_the_scale_grows_with_the_containers():
    init = [{"name": "i", "image": "other"}]
    wanted = pod(initContainers=init)
    cycle = cycle_of(wanted, having("a", 3000, "app:1"), node("b"))
    assert scored(ImageLocality(), cycle) == {"a": 100 * (1500 - 23) // 1977, "b": 0}


def test_an_image_volume_counts_and_does_not_stretch_the_scale():
    volumes = [{"name": "v", "image": {"reference": "data:1"}}]
    cycle = cycle_of(pod(volumes=volumes), having("a", 900, "data:1"))
    assert scored(ImageLocality(), cycle) == {"a": 100 * (900 - 23) // 977}


def test_the_size_is_the_one_seen_first():
    cluster = cluster_of(having("a", 800, "app:1"), having("b", 100, "app:1"))
    state = cluster.images.find("app:1")
    assert state is not None
    assert state.size_bytes == 800 * MIB
    cluster.delete(node("a"))
    assert state.size_bytes == 800 * MIB
    cluster.delete(node("b"))
    assert cluster.images.find("app:1") is None


def test_answers_are_out_of_date_when_an_image_or_a_node_comes_or_goes():
    cluster = cluster_of(having("a", 800, "app:1"))
    versions = [cluster.version_of(Reads.IMAGES)]
    for change in (
        lambda: cluster.put(node("b")),
        lambda: cluster.put(having("b", 10, "app:1")),
        lambda: cluster.delete(node("b")),
    ):
        change()
        versions.append(cluster.version_of(Reads.IMAGES))
    assert len(set(versions)) == 4


def test_answers_stay_right_when_only_pods_or_labels_change():
    cluster = cluster_of(having("a", 800, "app:1"), node("b"))
    before = cluster.version_of(Reads.IMAGES)
    cluster.put(pod("there", nodeName="a"))
    cluster.put(node("b", labels={"new": "label"}))
    assert cluster.version_of(Reads.IMAGES) == before
