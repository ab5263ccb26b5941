"""Which extended resources device classes back."""

from podwright.apimachinery.objects import decode
from podwright.scheduler.columns import Cluster
from podwright.testing import make_node


def device_class(name, resource="", created=None, api_version="resource.k8s.io/v1"):
    spec = {"extendedResourceName": resource} if resource else {}
    metadata = {"name": name} | ({"creationTimestamp": created} if created else {})
    return decode(
        {"apiVersion": api_version, "kind": "DeviceClass", "metadata": metadata, "spec": spec}
    )


def cluster_of(*objects):
    cluster = Cluster()
    for obj in objects:
        cluster.put(obj)
    return cluster


def test_a_class_backs_the_resource_that_it_names_and_the_implicit_one():
    classes = cluster_of(device_class("gpu", "example.com/gpu"), device_class("nic")).device_classes
    assert classes.class_of("example.com/gpu") == "gpu"
    assert classes.class_of("deviceclass.resource.kubernetes.io/gpu") == "gpu"
    assert classes.class_of("deviceclass.resource.kubernetes.io/nic") == "nic"
    assert classes.class_of("example.com/nic") == ""
    assert classes.class_of("deviceclass.resource.kubernetes.io/none") == ""


def test_of_several_classes_the_newest_counts_and_then_the_first_by_name():
    classes = cluster_of(
        device_class("c", "example.com/gpu", "2026-01-02T00:00:00Z"),
        device_class("b", "example.com/gpu", "2026-01-02T00:00:00Z"),
        device_class("a", "example.com/gpu", "2026-01-01T00:00:00Z"),
        device_class("d", "example.com/gpu", "2026-01-01T00:00:00Z"),
        device_class("e", "example.com/nic", "2026-01-03T00:00:00Z"),
    ).device_classes
    assert classes.class_of("example.com/gpu") == "b"


def test_a_class_without_a_time_is_older_than_one_with_one():
    classes = [device_class(name, "example.com/gpu") for name in "ba"]
    assert cluster_of(*classes).device_classes.class_of("example.com/gpu") == "a"
    newer = device_class("c", "example.com/gpu", "2026-01-01T00:00:00Z")
    assert cluster_of(*classes, newer).device_classes.class_of("example.com/gpu") == "c"


def test_other_kinds_of_that_name_are_ignored():
    cluster = cluster_of(device_class("gpu", "example.com/gpu", api_version="example.com/v1"))
    assert cluster.device_classes.class_of("example.com/gpu") == ""
    cluster = cluster_of(device_class("gpu", "example.com/gpu"))
    cluster.device_classes.delete(make_node("gpu"))
    assert cluster.device_classes.class_of("example.com/gpu") == "gpu"


def test_the_version_grows_with_what_is_backed():
    cluster = Cluster()
    for change, growth in [
        (lambda: cluster.put(device_class("gpu")), 1),
        (lambda: cluster.put(device_class("gpu")), 0),
        (lambda: cluster.put(device_class("gpu", "example.com/gpu")), 1),
        (lambda: cluster.delete(device_class("nic")), 0),
        (lambda: cluster.delete(device_class("gpu")), 1),
    ]:
        before, of_all = cluster.device_classes.version, cluster.objects_version
        change()
        assert cluster.device_classes.version == before + growth
        assert (cluster.objects_version > of_all) is bool(growth)
