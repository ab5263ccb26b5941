import pytest

from podwright.scheduler.framework import Cycle, Reads
from podwright.scheduler.plugins.image_locality import ImageLocality
from podwright.scheduler.plugins.tests.one_node_at_a_time import (
    cluster_of,
    cycle_of,
    node,
    pod,
    scored,
)

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
    incoming = pod(containers=[{"name": "c", "image": image}])
    cycle = cycle_of(incoming, having("a", 500, *names), node("b"))
    assert scored(ImageLocality(), cycle) == {"a": 100 * (250 - 23) // 977, "b": 0}


def test_the_scale_grows_with_the_containers():
    init = [{"name": "i", "image": "other"}]
    incoming = pod(initContainers=init)
    cycle = cycle_of(incoming, having("a", 3000, "app:1"), node("b"))
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


def test_results_are_outdated_when_an_image_or_a_node_is_added_or_removed():
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


def test_results_stay_valid_when_only_pods_or_labels_change():
    cluster = cluster_of(having("a", 800, "app:1"), node("b"))
    before = cluster.version_of(Reads.IMAGES)
    cluster.put(pod("there", nodeName="a"))
    cluster.put(node("b", labels={"new": "label"}))
    assert cluster.version_of(Reads.IMAGES) == before


def scores_of(cluster):
    return scored(ImageLocality(), Cycle(pod(), cluster))


def worth(mib):
    """Return the score of a node that has so many MiB, scaled, for a pod with one container."""
    return 100 * (mib - 23) // 977


def test_deleted_nodes_do_not_make_an_image_rarer():
    cluster = cluster_of(having("a", 800, "app:1"), node("b"), node("c"), node("d"))
    assert scores_of(cluster)["a"] == worth(200)
    cluster.delete(node("b"))
    cluster.delete(node("d"))
    assert scores_of(cluster) == {"a": worth(400), "c": 0}
    cluster.delete(node("c"))
    assert scores_of(cluster) == {"a": worth(800)}
    cluster.put(node("b"))
    assert scores_of(cluster) == {"a": worth(400), "b": 0}


def test_an_image_is_no_more_common_for_the_nodes_that_had_it():
    nodes = [having(name, 800, "app:1") for name in "abc"]
    cluster = cluster_of(*nodes, node("d"))
    assert scores_of(cluster) == {**dict.fromkeys("abc", worth(600)), "d": 0}
    cluster.delete(nodes[0])
    assert scores_of(cluster) == {**dict.fromkeys("bc", worth(800 * 2 // 3)), "d": 0}
    cluster.delete(nodes[1])
    assert scores_of(cluster) == {"c": worth(400), "d": 0}
    cluster.delete(nodes[2])
    assert scores_of(cluster) == {"d": 0}


def test_a_recreated_node_has_the_images_that_it_reports():
    cluster = cluster_of(having("a", 800, "app:1"), having("b", 800, "app:1"))
    cluster.delete(node("a"))
    cluster.put(node("a"))
    assert scores_of(cluster) == {"b": worth(400), "a": 0}
    cluster.put(having("a", 100, "app:1"))
    assert scores_of(cluster) == {"b": worth(800), "a": worth(800)}


def test_a_node_that_loses_an_image_scores_zero_and_makes_it_rarer():
    cluster = cluster_of(having("a", 800, "app:1"), having("b", 800, "app:1"))
    assert scores_of(cluster) == {"a": worth(800), "b": worth(800)}
    cluster.put(node("a"))
    assert scores_of(cluster) == {"a": 0, "b": worth(400)}
    cluster.put(having("a", 800, "app:2"))
    assert scores_of(cluster) == {"a": 0, "b": worth(400)}


@pytest.mark.parametrize(
    ("size_mib", "score"),
    [
        pytest.param(22, 0, id="too small to count"),
        pytest.param(23, 0, id="the least"),
        pytest.param(33, 1, id="more than the least"),
        pytest.param(999, 99, id="nearly the most"),
        pytest.param(1000, 100, id="the most"),
        pytest.param(5000, 100, id="more than the most"),
    ],
)
def test_scores_run_from_23_to_1000_mib(size_mib, score):
    assert scores_of(cluster_of(having("a", size_mib, "app:1"))) == {"a": score}


def test_an_image_counts_as_often_as_the_pod_uses_it():
    twice = pod(containers=[{"name": "c", "image": "app:1"}, {"name": "d", "image": "app:1"}])
    cycle = cycle_of(twice, having("a", 800, "app:1"))
    assert scored(ImageLocality(), cycle) == {"a": 100 * (1600 - 23) // 1977}


@pytest.mark.parametrize(
    ("size_bytes", "with_image", "nodes", "score"),
    [
        # 373642581 * 3 / 4 is a quarter less than what is worth 25.
        pytest.param(373_642_581, 3, 4, 24, id="a quarter less"),
        pytest.param(373_642_582, 3, 4, 25, id="one byte more"),
        # 1966604288 * 3 / 11 is what is worth 50; as a product of floats it is a little less.
        pytest.param(1_966_604_288, 3, 11, 49, id="floats, as upstream"),
        pytest.param(1_966_604_292, 3, 11, 50, id="one byte more on each"),
    ],
)
def test_bytes_are_scaled_as_floats_and_cut_down(size_bytes, with_image, nodes, score):
    images = {"images": [{"names": ["app:1"], "sizeBytes": size_bytes}]}
    cluster = cluster_of(
        *[node(f"has{i}", status=images) for i in range(with_image)],
        *[node(f"lacks{i}") for i in range(nodes - with_image)],
    )
    found = scores_of(cluster)
    assert {found[f"has{i}"] for i in range(with_image)} == {score}
    assert {found[f"lacks{i}"] for i in range(nodes - with_image)} == {0}


def test_images_of_init_containers_count():
    incoming = pod(initContainers=[{"name": "i", "image": "init:1"}])
    cycle = cycle_of(incoming, having("a", 1500, "init:1"), having("b", 500, "app:1"))
    assert scored(ImageLocality(), cycle) == {
        "a": 100 * (750 - 23) // 1977,
        "b": 100 * (250 - 23) // 1977,
    }


def test_pods_share_results_and_signatures_only_with_equal_images_and_containers():
    plugin = ImageLocality()
    two = [{"name": "c", "image": "app:1"}, {"name": "d", "image": "data:1"}]
    volume = [{"name": "v", "image": {"reference": "data:1"}}]
    pods = [
        pod(),
        pod(containers=[{"name": "c", "image": "app:2"}]),
        pod(containers=two),
        pod(volumes=volume),
        pod(containers=[two[0], two[0]]),
    ]
    keys = [plugin.pod_key(one) for one in pods]
    assert len(set(keys)) == len(pods)
    assert plugin.pod_key(pod(containers=two)) == keys[2]
    signs = [plugin.sign_pod(one) for one in pods]
    assert signs[2] == plugin.sign_pod(pod(containers=[*reversed(two)]))
    assert signs[0] != signs[4], "the same image twice is another signature"


@pytest.mark.parametrize(
    ("size_bytes", "score"),
    [
        pytest.param(2**63 - 513, 100, id="the greatest size below 2**63 as a float"),
        pytest.param(2**63 - 512, 0, id="the least one that becomes 2**63, and wraps around"),
        pytest.param(2**63 - 1, 0, id="the greatest of all"),
        pytest.param(-(2**63), 0, id="the least of all"),
    ],
)
def test_sizes_that_no_image_has_are_no_error(size_bytes, score):
    """Upstream: image_locality.go, scaledImageScore."""
    images = [{"names": ["app:1"], "sizeBytes": size_bytes}]
    nodes = [node(name, status={"images": images}) for name in "ab"]
    assert scored(ImageLocality(), cycle_of(pod(), *nodes)) == {"a": score, "b": score}


def test_images_of_a_pod_add_up_wherever_nodes_have_some_of_them():
    cluster = cluster_of(
        having("a", 800, "app:1", "db:1"), having("b", 400, "app:1"), having("c", 10, "db:2")
    )
    cluster.put(node("d"))
    incoming = pod(containers=[{"name": n, "image": f"{n}:1"} for n in ("app", "db")])
    both = 800 * 2 // 4 + 800 * 1 // 4
    assert scored(ImageLocality(), Cycle(incoming, cluster)) == {
        "a": 100 * (both - 23) // (2_000 - 23),
        "b": 100 * (800 * 2 // 4 - 23) // (2_000 - 23),
        "c": 0,
        "d": 0,
    }
