import pytest

from podwright.apimachinery.objects import encode
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.tests.storage_objects import csi_node
from podwright.scheduler.preemption.tests.situations import node


def columns_of(*objects):
    cluster = Cluster()
    for obj in objects:
        cluster.put(obj)
    return cluster, cluster.storage.csi_nodes


def test_limits_drivers_and_migrated_plugins_of_a_node():
    _, columns = columns_of(
        node("a"), node("b"), csi_node("b", csi_x=3, migrated="kubernetes.io/x")
    )
    assert columns.limits("csi.x").tolist() == [-1, 3], "a negative number is no limit"
    assert columns.installed("csi.x").tolist() == [0, 1]
    assert columns.migrated("kubernetes.io/x").tolist() == [0, 1]
    assert not columns.has_limits(0)
    assert columns.has_limits(1)


@pytest.mark.parametrize("allocatable", [{}, {"allocatable": None}, {"allocatable": {}}])
def test_a_driver_that_names_no_limit_has_none(allocatable):
    described = csi_node("a").raw
    drivers = [{"name": "csi.x", "nodeID": "a", **allocatable}]
    _, columns = columns_of(node("a"), decode(described | {"spec": {"drivers": drivers}}))
    assert columns.limits("csi.x") is None
    assert columns.installed("csi.x").tolist() == [1]
    assert not columns.has_limits(0)


def test_a_changed_csi_node_replaces_all_values():
    cluster, columns = columns_of(node("a"), csi_node("a", csi_x=3, migrated="kubernetes.io/x"))
    cluster.put(csi_node("a", csi_y=1))
    assert columns.installed("csi.x").tolist() == [0]
    assert columns.installed("csi.y").tolist() == [1]
    assert columns.migrated("kubernetes.io/x").tolist() == [0]


def test_a_deleted_csi_node_leaves_no_limits():
    described = csi_node("a", csi_x=3)
    cluster, columns = columns_of(node("a"), described)
    cluster.delete(described)
    assert columns.installed("csi.x").tolist() == [0]
    assert not columns.has_limits(0)


def test_a_copy_has_the_drivers_of_its_model_and_another_name():
    like = encode(csi_node("a", csi_x=3, csi_y=0, migrated="kubernetes.io/x,kubernetes.io/w"))
    for driver in like["spec"]["drivers"]:
        driver["topologyKeys"] = ["zone"]
    cluster, columns = columns_of(node("a"), decode(like))
    assert columns.copy_for("b", "c") is None
    copied = columns.copy_for("a", "c")
    assert copied is not None
    assert copied.metadata.name == "c"
    assert [driver.node_id for driver in copied.spec.drivers] == ["c", "c"]
    assert [driver.topology_keys for driver in copied.spec.drivers] == [("zone",), ("zone",)]
    assert columns.names() == {"a"}
    cluster.put(copied)
    cluster.put(node("c"))
    assert {name: columns.limits(name).tolist() for name in ("csi.x", "csi.y")} == {
        "csi.x": [3, 3],
        "csi.y": [0, 0],
    }
    assert columns.migrated("kubernetes.io/x").tolist() == [1, 1]
    assert columns.migrated("kubernetes.io/w").tolist() == [1, 1]
    unlimited = csi_node("d")
    cluster.put(unlimited)
    bare = columns.copy_for("d", "e")
    assert bare is not None
    assert (bare.spec.drivers, bare.metadata.annotations) == ((), {})
