import numpy as np
import pytest

from podwright.apimachinery.objects.decode import decode_node
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.nodes import (
    ABSENT,
    CPU,
    EPHEMERAL_STORAGE,
    FIXED_RESOURCES,
    MEMORY,
    PODS,
    Interner,
    Journal,
    SlotColumns,
)
from podwright.scheduler.framework import Reads
from podwright.testing import make_node, make_pod

NODE = {
    "labels": {"zone": "x"},
    "annotations": {},
    "spec": {},
    "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
    "images": [{"names": ["app:1"], "sizeBytes": 100}],
    "features": [],
}


def node(name, **changed):
    fields = NODE | changed
    return decode_node(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": fields["labels"],
                "annotations": fields["annotations"],
                "resourceVersion": fields.get("version", "1"),
            },
            "spec": fields["spec"],
            "status": {
                "allocatable": fields["allocatable"],
                "images": fields["images"],
                "declaredFeatures": fields["features"],
                "conditions": fields.get("conditions", []),
            },
        }
    )


def slots_since(journal, version):
    slots = journal.since(version)
    assert slots is not None
    return slots.tolist()


CHANGES = [
    pytest.param({"labels": {"zone": "y"}}, id="another label"),
    pytest.param({"labels": {}}, id="a label less"),
    pytest.param({"annotations": {"a": "b"}}, id="an annotation"),
    pytest.param({"spec": {"unschedulable": True}}, id="cordoned"),
    pytest.param({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}, id="a taint"),
    pytest.param({"allocatable": {"cpu": "5", "memory": "8Gi", "pods": "110"}}, id="more CPU"),
    pytest.param({"allocatable": {"cpu": "4", "memory": "8Gi"}}, id="a resource less"),
    pytest.param({"images": [{"names": ["app:1"], "sizeBytes": 101}]}, id="a larger image"),
    pytest.param({"images": [{"names": ["app:2"], "sizeBytes": 100}]}, id="another image"),
    pytest.param({"images": [{"names": ["app:1", "b"], "sizeBytes": 100}]}, id="one more name"),
    pytest.param({"images": []}, id="no image"),
    pytest.param({"features": ["f"]}, id="a feature"),
]


@pytest.mark.parametrize("changed", CHANGES)
def test_every_change_that_scheduling_reads_is_recorded_in_both_directions(changed):
    cluster = Cluster()
    cluster.put(node("other"))
    cluster.put(node("n"))
    journal = cluster.nodes.node_journal
    for version, fields in (("2", changed), ("3", {})):
        before = journal.version
        cluster.put(node("n", version=version, **fields))
        assert slots_since(journal, before) == [1]
    before = journal.version
    cluster.put(node("n", version="4"))
    assert journal.version == before


def test_changes_that_scheduling_does_not_read_are_stored_but_not_recorded():
    cluster = Cluster()
    cluster.put(node("n"))
    before = cluster.nodes.node_journal.version
    newer = node("n", version="2", conditions=[{"type": "Ready", "status": "False"}])
    cluster.put(newer)
    assert cluster.nodes.node_journal.version == before
    assert cluster.nodes.objects[0] is newer


# -------------------------------------------------------------------- images of a node


def images_of(cluster, *names):
    """Return per image name its size and the slots of its nodes."""
    found = {name: cluster.images.find(name) for name in names}
    return {
        name: state and (state.size_bytes, sorted(state.slots().tolist()))
        for name, state in found.items()
    }


def having(*images):
    return {"images": [{"names": names, "sizeBytes": size} for size, *names in images]}


def test_images_follow_the_node_from_version_to_version():
    cluster = Cluster()
    cluster.put(node("n", **having((10, "a", "b"))))
    cluster.put(node("m", **having((20, "b"), (30, "c"))))
    assert images_of(cluster, *"abc") == {"a": (10, [0]), "b": (10, [0, 1]), "c": (30, [1])}
    cluster.put(node("n", **having((11, "b"), (40, "d"))))
    # The first reported size is kept for as long as a node has the image.
    assert images_of(cluster, *"abcd") == {
        "a": None,
        "b": (10, [0, 1]),
        "c": (30, [1]),
        "d": (40, [0]),
    }
    cluster.put(node("n", images=[]))
    assert images_of(cluster, *"abcd") == {"a": None, "b": (10, [1]), "c": (30, [1]), "d": None}
    cluster.put(node("n", **having((12, "a"), (13, "b"))))
    assert images_of(cluster, *"ab") == {"a": (12, [0]), "b": (10, [0, 1])}
    cluster.put(node("m", images=[]))
    cluster.put(node("n", images=[]))
    assert len(cluster.images) == 0


def test_an_image_that_only_one_node_has_gets_the_size_of_its_next_version():
    # The old version is taken out before the new one is put in.
    cluster = Cluster()
    cluster.put(node("n", **having((10, "a"))))
    cluster.put(node("n", **having((11, "a"))))
    assert images_of(cluster, "a") == {"a": (11, [0])}


def test_a_name_that_a_node_reports_twice_counts_once_with_the_first_size():
    cluster = Cluster()
    cluster.put(node("n", **having((10, "a"), (20, "a", "a"))))
    assert images_of(cluster, "a") == {"a": (10, [0])}
    cluster.put(node("n", images=[]))
    assert images_of(cluster, "a") == {"a": None}


def test_a_deleted_node_has_no_images_and_a_new_one_of_its_name_has_its_own():
    cluster = Cluster()
    cluster.put(node("n", **having((10, "a", "b"))))
    cluster.put(node("m", **having((20, "a"))))
    cluster.delete(node("n"))
    assert images_of(cluster, *"ab") == {"a": (10, [1]), "b": None}
    cluster.delete(node("n"))
    cluster.put(node("n", **having((30, "b"))))
    assert images_of(cluster, *"ab") == {"a": (10, [1]), "b": (30, [2])}
    cluster.delete(node("m"))
    cluster.delete(node("n"))
    assert len(cluster.images) == 0


def test_sizes_outlive_new_slots_and_are_forgotten_with_the_image():
    cluster = Cluster()
    cluster.put(node("gone", **having((5, "a", "b"))))
    cluster.put(node("first", **having((10, "a"))))
    cluster.put(node("second", **having((20, "a"))))
    cluster.delete(node("gone"))
    before = cluster.version_of(Reads.IMAGES)
    cluster._renumber()
    assert cluster.version_of(Reads.IMAGES) != before
    assert images_of(cluster, "a", "b") == {"a": (5, [0, 1]), "b": None}
    cluster.put(node("first", images=[]))
    cluster.put(node("second", images=[]))
    cluster.put(node("second", **having((20, "a"))))
    assert images_of(cluster, "a") == {"a": (20, [1])}


def test_results_that_read_images_are_outdated_when_a_node_changes_its_images():
    cluster = Cluster()
    cluster.put(node("n", images=[]))
    versions = [cluster.version_of(Reads.IMAGES)]
    for images in ([(10, "a")], [(10, "b")], [(10, "b")], []):
        cluster.put(node("n", **having(*images)))
        versions.append(cluster.version_of(Reads.IMAGES))
    assert versions[2] == versions[3]
    assert len(set(versions)) == 4
    cluster.put(node("n", **having((10, "b"))))
    before = cluster.version_of(Reads.IMAGES)
    cluster.delete(node("n"))
    assert cluster.version_of(Reads.IMAGES) != before, "the last image went with its node"


# -------------------------------------------------------------------- columns


def test_the_columns_contain_the_latest_version():
    cluster = Cluster()
    nodes = cluster.nodes
    cluster.put(node("other"))
    zones = nodes.label_ids("zone")
    assert nodes.label_values.values[zones[0]] == "x"
    taint = {"key": "k", "effect": "NoSchedule"}
    cluster.put(
        node(
            "n",
            labels={},
            spec={"unschedulable": True, "taints": [taint]},
            allocatable={"cpu": "1500m", "example.com/gpu": "3"},
            features=["f"],
        )
    )
    gpu = nodes.resource_index("example.com/gpu")
    assert nodes.allocatable[:, [CPU, MEMORY, PODS, gpu]].tolist() == [
        [4000, 8 << 30, 110, 0],
        [1500, 0, 0, 3],
    ]
    assert nodes.label_ids("zone")[1] == ABSENT
    assert nodes.unschedulable.tolist() == [False, True]
    assert [len(nodes.taint_sets.values[i]) for i in nodes.taint_set_ids] == [0, 1]
    assert [len(nodes.feature_sets.values[i]) for i in nodes.feature_set_ids] == [0, 1]
    cluster.put(node("n", labels={"zone": "y"}))
    assert nodes.allocatable[1, [CPU, MEMORY, PODS, gpu]].tolist() == [4000, 8 << 30, 110, 0]
    assert nodes.has_label("zone", "y").tolist() == [False, True]
    assert nodes.has_label("zone", "unknown").tolist() == [False, False]
    assert nodes.unschedulable.tolist() == [False, False]
    assert [len(nodes.taint_sets.values[i]) for i in nodes.taint_set_ids] == [0, 0]
    assert [len(nodes.feature_sets.values[i]) for i in nodes.feature_set_ids] == [0, 0]
    cluster.put(node("n", labels={"rack": "r"}))
    assert nodes.label_ids("zone")[1] == ABSENT
    assert nodes.has_label("zone", "unknown").tolist() == [False, False]
    assert nodes.has_label("rack", "r").tolist() == [False, True]


def test_only_labels_that_a_node_has_get_a_column():
    nodes = Cluster().nodes
    nodes.put(node("a", labels={"zone": "x"}))
    before = nodes.label_ids("never-1")
    assert before.tolist() == [ABSENT]
    assert nodes.label_ids("never-2") is before, "no memory for a key that no node has"
    nodes.put(node("b", labels={"zone": "y", "never-1": "v"}))
    assert nodes.has_label("never-1", "v").tolist() == [False, True]
    column = nodes.label_ids("never-1")
    assert nodes.label_ids("never-1") is column, "kept while a node has the label"
    nodes.put(node("b", labels={"zone": "y"}))
    assert nodes.label_ids("never-1") is nodes.label_ids("never-2"), "the last node lost it"
    assert nodes.label_ids("never-1").tolist() == [ABSENT, ABSENT]
    nodes.put(node("a", labels={"zone": "x", "never-1": "w"}))
    assert nodes.has_label("never-1", "w").tolist() == [True, False]
    zones = nodes.label_ids("zone").tolist()
    nodes.remove("a")
    assert nodes.label_ids("never-1") is nodes.label_ids("never-2")
    assert nodes.label_ids("zone")[1] == zones[1], "a node that is left has it"


@pytest.mark.parametrize("count", [15, 16, 17, 32, 33])
def test_columns_keep_their_content_when_they_grow(count):
    cluster = Cluster()
    nodes = cluster.nodes
    nodes.label_ids("zone")
    for i in range(count):
        spec = {"unschedulable": i % 2 == 0, "taints": [{"key": f"{i}", "effect": "NoSchedule"}]}
        cpu = {"cpu": str(i + 1), "pods": "110"}
        cluster.put(
            node(f"n{i}", labels={"zone": f"z{i}"}, spec=spec, allocatable=cpu, features=[f"{i}"])
        )
    assert nodes.n_slots == nodes.n_alive == count
    assert nodes.allocatable[:, CPU].tolist() == [1000 * (i + 1) for i in range(count)]
    assert nodes.unschedulable.tolist() == [i % 2 == 0 for i in range(count)]
    assert nodes.alive.all()
    values = nodes.label_values.values
    assert [values[i] for i in nodes.label_ids("zone")] == [f"z{i}" for i in range(count)]
    assert nodes.label_ids("rack").tolist() == [ABSENT] * count
    taints = [nodes.taint_sets.values[i][0].key for i in nodes.taint_set_ids]
    assert taints == [f"{i}" for i in range(count)]
    features = [nodes.feature_sets.values[i] for i in nodes.feature_set_ids]
    assert features == [{f"{i}"} for i in range(count)]


def test_the_visiting_order_is_that_of_before_unless_a_node_changes_its_zone():
    nodes = Cluster().nodes
    zone = "topology.kubernetes.io/zone"
    for name, where in (("a", "x"), ("b", "x"), ("c", "y")):
        nodes.put(make_node(name, labels={zone: where}))
    order = nodes.visiting_order()
    assert order.tolist() == [0, 2, 1]
    nodes.put(make_node("b", labels={zone: "x", "color": "red"}, cpu="3"))
    assert nodes.visiting_order() is order
    nodes.put(make_node("b", labels={zone: "z"}))
    assert nodes.visiting_order().tolist() == [0, 2, 1]
    nodes.put(make_node("a", labels={zone: "y"}))
    assert nodes.visiting_order().tolist() == [2, 1, 0]


def test_a_deleted_node_is_dead_and_a_new_one_of_its_name_gets_a_new_slot():
    cluster = Cluster()
    nodes = cluster.nodes
    for name in ("b", "a"):
        cluster.put(node(name))
    before = nodes.node_journal.version
    assert nodes.visiting_order().tolist() == [0, 1]
    cluster.delete(node("b"))
    assert slots_since(nodes.node_journal, before) == [0]
    assert (nodes.n_slots, nodes.n_alive) == (2, 1)
    assert nodes.alive.tolist() == [False, True]
    assert nodes.visiting_order().tolist() == [1]
    assert nodes.labels_of(0) == {}
    cluster.put(node("b"))
    assert nodes.slot_of == {"a": 1, "b": 2}
    assert nodes.alive.tolist() == [False, True, True]
    assert nodes.visiting_order().tolist() == [1, 2]
    assert nodes.name_ranks().argsort(kind="stable").tolist()[0] == 1


def test_names_have_ranks_that_change_with_new_nodes():
    cluster = Cluster()
    for name in ("b", "c"):
        cluster.put(node(name))
    assert cluster.nodes.name_ranks().tolist() == [0, 1]
    cluster.put(node("a"))
    assert cluster.nodes.name_ranks().tolist() == [1, 2, 0]


def test_names_have_other_ranks_in_other_slots():
    cluster = Cluster()
    for name in ("gone", "b", "c"):
        cluster.put(node(name))
    assert cluster.nodes.name_ranks().tolist() == [2, 0, 1]
    cluster.delete(node("gone"))
    cluster._renumber()
    cluster.put(node("a"))
    assert cluster.nodes.names == ["b", "c", "a"]
    assert cluster.nodes.name_ranks().tolist() == [1, 2, 0]


def test_no_slot_is_left_when_all_nodes_are_gone():
    cluster = Cluster()
    for name in "abc":
        cluster.put(node(name, labels={"zone": "x"}))
    nodes = cluster.nodes
    assert nodes.label_ids("zone").tolist() == [0, 0, 0]
    for name in "abc":
        cluster.delete(node(name))
    cluster._renumber()
    assert (nodes.n_slots, nodes.n_alive, nodes.names) == (0, 0, [])
    for column in (
        nodes.alive, nodes.unschedulable, nodes.allocatable, nodes.requested,
        nodes.non_zero_requested, nodes.taint_set_ids, nodes.feature_set_ids,
        nodes.label_ids("zone"), nodes.label_ids("none"),
    ):  # fmt: skip
        assert len(column) == 0
    cluster.put(node("d"))
    assert (nodes.slot_of, nodes.alive.tolist()) == ({"d": 0}, [True])


def test_nodes_are_visited_zone_by_zone_also_after_one_has_moved():
    cluster = Cluster()
    key = "topology.kubernetes.io/zone"
    for name, zone in (("a", "x"), ("b", "x"), ("c", "y")):
        cluster.put(node(name, labels={key: zone}))
    assert cluster.nodes.visiting_order().tolist() == [0, 2, 1]
    cluster.put(node("a", labels={key: "y"}))
    assert cluster.nodes.visiting_order().tolist() == [1, 2, 0]


def test_new_slots_count_the_requests_of_each_pod_once():
    cluster = Cluster()
    for name in ("gone", "n", "idle"):
        cluster.put(node(name))
    cluster.put(make_pod("web", cpu="500m", memory="1Gi", node="n"))
    cluster.put(make_pod("more", cpu="250m", node="n"))
    cluster.delete(node("gone"))
    cluster._renumber()
    nodes = cluster.nodes
    assert nodes.names == ["n", "idle"]
    assert nodes.requested[:, CPU].tolist() == [750, 0]
    assert nodes.requested[:, MEMORY].tolist() == [1024**3, 0]
    assert nodes.requested[:, PODS].tolist() == [2, 0]
    assert nodes.non_zero_requested[0].tolist() == [750, 1024**3 + 200 * 1024**2]
    assert nodes.non_zero_requested[1].tolist() == [0, 0]


def test_the_columns_of_the_fixed_resources():
    indexes = {"cpu": CPU, "memory": MEMORY, "ephemeral-storage": EPHEMERAL_STORAGE, "pods": PODS}
    assert {name: i for i, name in enumerate(FIXED_RESOURCES)} == indexes


def test_a_result_that_reads_nothing_is_always_valid():
    cluster = Cluster()
    before = cluster.version_of(Reads.NOTHING)
    cluster.put(node("a"))
    assert cluster.version_of(Reads.NOTHING) == before == (0,) * 9


def test_the_columns_of_many_resources_are_added_at_once():
    cluster = Cluster()
    cluster.put(node("n"))
    nodes = cluster.nodes
    names = [f"example.com/r{number}" for number in range(100)]
    nodes.add_resources(names)
    first = nodes.resource_index(names[0])
    assert [nodes.resource_index(name) for name in names] == list(range(first, first + 100))
    assert nodes.allocatable.shape == (1, first + 100)
    before = nodes.allocatable
    nodes.add_resources(names)
    assert nodes.allocatable is before
    cluster.put(node("n", allocatable=dict.fromkeys(names, "2")))
    assert nodes.allocatable[0, first:].tolist() == [2] * 100


def test_what_is_free_may_be_negative():
    cluster = Cluster()
    cluster.put(make_pod("web", cpu="5", node="n"))
    cluster.put(node("n"))
    nodes = cluster.nodes
    assert nodes.free[0].tolist() == (nodes.allocatable - nodes.requested)[0].tolist()
    assert nodes.free[0, CPU] == -1000


def test_the_order_of_visits_is_restored():
    nodes = Cluster().nodes
    key = "topology.kubernetes.io/zone"
    for name, zone in (("a", "x"), ("b", "y"), ("c", "x"), ("d", "y")):
        nodes.put(node(name, labels={key: zone}))
    assert nodes.names_by_zone() == [["a", "c"], ["b", "d"]]
    assert nodes.visiting_order().tolist() == [0, 1, 2, 3]
    nodes.reorder([["d", "b"], [], ["c", "a"]])
    assert nodes.names_by_zone() == [["d", "b"], ["c", "a"]]
    assert nodes.visiting_order().tolist() == [3, 2, 1, 0]
    nodes.put(node("e", labels={key: "x"}))
    assert nodes.names_by_zone() == [["d", "b"], ["c", "a", "e"]]
    nodes.remove("d")
    nodes.remove("b")
    assert nodes.names_by_zone() == [["c", "a", "e"]]


@pytest.mark.parametrize(
    ("node_count", "kept"),
    [
        pytest.param(1, 1_024, id="at least so many"),
        pytest.param(4_400, 1_100, id="a quarter of the nodes"),
    ],
)
def test_each_journal_keeps_changes_of_a_quarter_of_the_nodes(node_count, kept):
    nodes = Cluster().nodes
    for number in range(node_count):
        nodes.put(make_node(f"n{number}"))
    for journal in (
        nodes.node_journal, nodes.pods_journal, nodes.topology_journal, nodes.condition_journal,
    ):  # fmt: skip
        journal.forget()
        for _ in range(2 * kept + 1):
            journal.record(0)
        assert journal.since(journal.version - kept - 2) is None
        assert slots_since(journal, journal.version - kept - 1) == [0] * (kept + 1)


def test_a_journal_keeps_the_newest_entries():
    journal = Journal()
    for slot in range(2_048):
        journal.record(slot)
    assert slots_since(journal, 0) == [*range(2_048)]
    journal.record(7)
    assert journal.since(1_023) is None
    assert slots_since(journal, 1_024) == [*range(1_024, 2_048), 7]
    assert slots_since(journal, 2_049) == []
    journal.keep(1_024)
    journal.keep(1_500)
    assert slots_since(journal, 1_024) == [*range(1_024, 2_048), 7]
    for slot in range(3_000):
        journal.record(slot)
    assert slots_since(journal, journal.version - 1_500) == [*range(1_500, 3_000)]
    version = journal.version
    journal.forget()
    assert journal.version == version + 1
    assert journal.since(version) is None
    assert slots_since(journal, journal.version) == []
    journal.record(3)
    assert slots_since(journal, journal.version - 1) == [3]


def test_there_is_room_for_the_nodes_and_at_most_for_twice_as_many():
    nodes = Cluster().nodes
    least = nodes.capacity
    for number in range(5 * least):
        nodes.put(make_node(f"n{number}"))
        assert nodes.n_slots <= nodes.capacity <= max(least, 2 * nodes.n_slots)


def test_columns_by_key_grow_with_the_nodes():
    nodes = Cluster().nodes
    columns = SlotColumns(nodes, fill=-1)
    assert columns.find("a") is None
    assert columns.of("a").tolist() == []
    nodes.put(node("n0"))
    columns.of("a")[0] = 5
    for i in range(1, 40):
        nodes.put(node(f"n{i}"))
        assert columns.of("a").tolist() == [5, *[-1] * i]
        assert np.shares_memory(columns.of("a"), columns.of("a")), "kept while it is long enough"
    found = columns.find("a")
    assert found is not None
    found[39] = 6
    assert columns.of("a")[39] == 6
    columns.clear()
    assert columns.find("a") is None
    assert columns.of("a").tolist() == [-1] * 40


def test_nodes_that_have_all_of_some_labels():
    nodes = Cluster().nodes
    for name, labels in (("a", {"zone": "x"}), ("b", {"zone": "y", "rack": "r"}), ("c", {})):
        nodes.put(node(name, labels=labels))
    expected = {
        (): [True, True, True],
        ("zone",): [True, True, False],
        ("zone", "rack"): [False, True, False],
        ("absent", "zone"): [False, False, False],
    }
    assert {keys: nodes.having(keys).tolist() for keys in expected} == expected
    keys = ("zone", "rack")
    for labels, has_both in (({"zone": "x", "rack": "r"}, True), ({"rack": "r"}, False)):
        nodes.put(node("a", labels=labels))
        assert nodes.having(keys).tolist() == [has_both, True, False]


def test_a_new_resource_gets_the_next_column():
    nodes = Cluster().nodes
    first = len(nodes.resources)
    assert [nodes.resource_index(name) for name in ("x.com/a", "x.com/b", "x.com/a", "cpu")] == [
        first, first + 1, first, CPU,
    ]  # fmt: skip


def test_values_are_numbered_in_the_order_in_which_they_appear():
    values: Interner[str] = Interner()
    assert (len(values), values.find("a")) == (0, -1)
    assert [values.id_of(value) for value in ("a", "b", "a", "")] == [0, 1, 0, 2]
    assert values.values == ["a", "b", ""]
    assert len(values) == 3
    assert [values.find(value) for value in ("a", "b", "", "c")] == [0, 1, 2, -1]


def test_ranks_of_names_are_found_once_until_a_node_comes():
    cluster = Cluster()
    for name in ("c", "a", "b"):
        cluster.put(node(name))
    ranks = cluster.nodes.name_ranks()
    assert (ranks.tolist(), ranks.dtype.name) == ([2, 0, 1], "int32")
    cluster.delete(node("a"))
    assert cluster.nodes.name_ranks() is ranks, "slots without a node keep their rank"
    cluster.put(node("a"))
    assert ranks.tolist() == [2, 0, 1]
    assert cluster.nodes.name_ranks().tolist() == [3, 0, 2, 1]
    cluster._renumber()
    assert cluster.nodes.name_ranks().tolist() == [2, 1, 0]
