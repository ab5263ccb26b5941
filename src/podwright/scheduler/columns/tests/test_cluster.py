"""The cluster as events change it: pods before their nodes, new slots, devices, dry runs."""

import numpy as np
import pytest

from podwright.apimachinery.objects import Namespace, ObjectMeta, with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.cluster import DryRunCache
from podwright.scheduler.columns.placement import PlacedPod
from podwright.scheduler.preemption.tests.situations import budget, cluster_of, node, pod

OLDER, NEWER = "uid-p", "uid-other"
HUGE = "9223372036854775807"


def requested(cluster, slot=0):
    """Return the requested milli-CPU of a slot, and the one with the defaults of scoring."""
    nodes = cluster.nodes
    return int(nodes.requested[slot, 0]), int(nodes.non_zero_requested[slot, 0])


def test_a_namespace_that_is_deleted_twice_changes_once():
    cluster = Cluster()
    namespace = Namespace(metadata=ObjectMeta(name="a", labels={"x": "y"}))
    versions = []
    for change in (cluster.put, cluster.delete, cluster.delete):
        change(namespace)
        versions.append(cluster.namespaces_version)
    assert versions == [1, 2, 2]
    assert cluster.namespaces == {}


# ----------------------------------------------------------------------- missing nodes


def missing(cluster):
    return {
        name: [one.metadata.name for one in pods]
        for name, pods in cluster.pods_on_missing_nodes().items()
    }


def test_pods_wait_for_their_node():
    cluster = cluster_of(pod("p", on="n"), pod("q", on="n"), pod("r", on="other"))
    assert missing(cluster) == {"n": ["p", "q"], "other": ["r"]}
    assert cluster.pods == {}
    cluster.put(node("n"))
    assert missing(cluster) == {"other": ["r"]}
    assert list(cluster.pods_on[0]) == ["default/p", "default/q"]
    assert requested(cluster) == (2000, 2000)


def test_the_pods_of_a_deleted_node_wait_for_a_new_one():
    cluster = cluster_of(node("n"), pod("p", on="n"), node("empty"))
    cluster.delete(node("n"))
    cluster.delete(node("empty"))
    cluster.delete(node("unknown"))
    assert missing(cluster) == {"n": ["p"]}
    assert requested(cluster) == (0, 0)
    cluster.put(node("n"))
    assert requested(cluster, 2) == (1000, 1000)
    assert cluster.pods["default/p"].slot == 2


@pytest.mark.parametrize(
    ("change", "left"),
    [
        pytest.param(lambda c: c.delete(pod("p", on="n")), {"n": ["q"]}, id="deleted"),
        pytest.param(
            lambda c: c.put(with_fields(pod("p", on="n"), "status", phase="Failed")),
            {"n": ["q"]},
            id="ended",
        ),
        pytest.param(lambda c: c.put(pod("p")), {"n": ["q"]}, id="pending again"),
        pytest.param(
            lambda c: c.put(pod("p", on="m")), {"n": ["q"], "m": ["p"]}, id="on another node"
        ),
        pytest.param(
            lambda c: c.forget_pod_on_missing_node("default/p"), {"n": ["q"]}, id="forgotten"
        ),
        pytest.param(
            lambda c: c.forget_pod_on_missing_node("default/p", OLDER),
            {"n": ["q"]},
            id="forgotten by its uid",
        ),
        pytest.param(
            lambda c: c.forget_pod_on_missing_node("default/p", NEWER),
            {"n": ["p", "q"]},
            id="not by another uid",
        ),
        pytest.param(
            lambda c: [c.delete(pod(name, on="n")) for name in "pq"], {}, id="the last one"
        ),
        pytest.param(
            lambda c: c.restore_pods_on_missing_nodes("n", [pod("q", on="n"), pod("p", on="n")]),
            {"n": ["q", "p"]},
            id="restored in another order",
        ),
    ],
)
def test_pods_of_missing_nodes_change(change, left):
    cluster = cluster_of(pod("p", on="n"), pod("q", on="n"))
    change(cluster)
    assert missing(cluster) == left


def test_slots_and_names_of_nodes_are_found_once_until_one_comes_or_goes():
    cluster = cluster_of()
    assert (cluster.live_slots().tolist(), cluster.live_names()) == ([], ())
    assert cluster.live_slots().dtype == np.int32
    for change, slots, names in (
        (lambda: cluster.put(node("a")), [0], ("a",)),
        (lambda: cluster.put(node("b")), [0, 1], ("a", "b")),
        (lambda: cluster.delete(node("a")), [1], ("b",)),
        (lambda: cluster.put(node("a")), [1, 2], ("b", "a")),
    ):
        change()
        found, named = cluster.live_slots(), cluster.live_names()
        assert (found.tolist(), named) == (slots, names)
        cluster.put(node(names[-1], "9"))
        cluster.put(pod("p", on=names[-1]))
        assert cluster.live_slots() is found
        assert cluster.live_names() is named


def test_names_of_nodes_follow_changes():
    cluster = cluster_of(node("b"), node("a"))
    assert cluster.live_names() == ("b", "a")
    cluster.delete(node("b"))
    cluster.put(node("c"))
    assert cluster.live_names() == ("a", "c")
    assert cluster.live_slots().tolist() == [1, 2]


def test_nodes_get_new_slots_when_many_have_gone():
    port = [{"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 80}]}]
    cluster = cluster_of(node("first"), pod("p", on="first"), node("last"), pod("q", on="last"))
    cluster.put(pod("r", on="last", containers=port))
    names = ["first", *(f"n{i}" for i in range(1_024))]
    for name in names[1:]:
        cluster.put(node(name))
    for name in names:
        cluster.delete(node(name))
    assert cluster.numbering == 0, "a slot per node, besides as many as are kept"
    assert requested(cluster, 1) == (1000, 1100)
    cluster.put(node("one more"))
    version = cluster.storage.version
    nodes = cluster.nodes
    journals = (
        nodes.node_journal, nodes.pods_journal, nodes.topology_journal, nodes.condition_journal,
    )  # fmt: skip
    versions = [journal.version for journal in journals]
    cluster.delete(node("one more"))
    assert cluster.numbering == 1
    assert cluster.storage.version == version + 1, "results per slot that read storage are outdated"
    assert cluster.live_names() == ("last",)
    assert cluster.nodes.n_slots == 1
    assert list(cluster.pods) == ["default/q", "default/r"]
    assert [list(there) for there in cluster.pods_on] == [["default/q", "default/r"]]
    assert cluster.ports.slots() == [0]
    for journal, before in zip(journals, versions, strict=True):
        assert journal.since(before) is None, "readers start over"
    assert missing(cluster) == {"first": ["p"]}
    assert requested(cluster) == (1000, 1100)
    assert cluster.has_pods_below(1)
    cluster.delete(pod("q", on="last"))
    cluster.delete(pod("r", on="last", containers=port))
    assert list(map(list, cluster.pods_on)) == [[]]
    assert requested(cluster) == (0, 0)
    assert not cluster.has_pods_below(1)


# ------------------------------------------------------------------------------ amounts


def test_sums_of_huge_requests_wrap_around_as_in_go():
    huge = {"name": "c", "image": "i", "resources": {"requests": {"memory": HUGE}}}
    pods = [pod(name, on="n", containers=[huge]) for name in "ab"]
    cluster = cluster_of(node("n"), *pods)
    assert cluster.nodes.requested[0, 1] == -2
    assert cluster.nodes.non_zero_requested[0].tolist() == [200, -2]
    for one in pods:
        cluster.delete(one)
    assert cluster.nodes.requested[0].tolist() == [0] * len(cluster.nodes.resources)
    assert cluster.nodes.non_zero_requested[0].tolist() == [0, 0]


def test_a_pod_is_placed_with_the_keys_that_are_given():
    cluster = cluster_of(node("n"))
    first = pod("p", labels={"index": "0"})
    cluster.keys_of(first)
    one = with_fields(first, "metadata", labels={"index": "1"})
    keys = cluster.keys_of(one)
    assert cluster.keys_of(one) is not keys, "nothing is kept for a label of one pod"
    assert cluster.place(one, 0, keys=keys).keys is keys
    assert cluster.pods["default/p"].keys is keys


@pytest.mark.parametrize(
    ("priorities", "below"),
    [
        pytest.param([], [False, False, False], id="no pods"),
        pytest.param([0], [False, True, True], id="equal is not below"),
        pytest.param([0, 5], [False, True, True], id="one of them is enough"),
        pytest.param([5, 5], [False, False, False], id="all above"),
    ],
)
def test_whether_pods_of_lower_priority_are_placed(priorities, below):
    pods = [pod(f"p{i}", on="n", priority=p) for i, p in enumerate(priorities)]
    cluster = cluster_of(node("n"), *pods)
    assert [cluster.has_pods_below(p) for p in (0, 1, 5)] == below
    for one in pods:
        cluster.delete(one)
    assert not cluster.has_pods_below(9)


# --------------------------------------------------------------------- nominations, devices


@pytest.mark.parametrize(
    ("change", "left"),
    [
        pytest.param(lambda c: c.put(pod("p")), ["q"], id="its nomination is gone"),
        pytest.param(lambda c: c.put(pod("p", nominated="b")), ["q"], id="it has another one"),
        pytest.param(lambda c: c.put(pod("p", on="a")), ["q"], id="it is bound"),
        pytest.param(lambda c: c.delete(pod("p", nominated="a")), ["q"], id="it is deleted"),
        pytest.param(lambda c: c.put(pod("r", nominated="a")), ["p", "q", "r"], id="one more"),
        pytest.param(lambda c: c.put(pod("r")), ["p", "q"], id="another pod"),
    ],
)
def test_nominations_follow_the_pods(change, left):
    cluster = cluster_of(node("a"), node("b"), pod("p", nominated="a"), pod("q", nominated="a"))
    change(cluster)
    assert sorted(one.metadata.name for one in cluster.nominated["a"].values()) == left


def test_a_pending_pod_without_a_nomination_has_none():
    cluster = cluster_of(node("a"), pod("p"), pod("q", nominated="a"), pod("r"))
    assert {name: list(pods) for name, pods in cluster.nominated.items()} == {"a": ["default/q"]}


def test_the_same_object_again_changes_nothing():
    placed = pod("p", on="a")
    cluster = cluster_of(node("a"), placed)
    version = cluster.nodes.pods_journal.version
    cluster.put(placed)
    assert cluster.nodes.pods_journal.version == version


def device_slice(name, node_name):
    return decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": name},
            "spec": {
                "driver": "d.example.com",
                "nodeName": node_name,
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": "d"}],
            },
        }
    )


def test_nodes_whose_devices_change_are_recorded_once():
    cluster = cluster_of(node("a"), node("b"))
    journal = cluster.nodes.pods_journal

    def recorded(*objects):
        version = journal.version
        for obj in objects:
            cluster.put(obj)
        cluster.record_device_changes()
        cluster.record_device_changes()
        found = journal.since(version)
        return None if found is None else found.tolist()

    assert recorded() == []
    assert recorded(device_slice("s", "b")) == [1]
    assert recorded(device_slice("t", "a"), device_slice("u", "b"), device_slice("v", "a")) == [
        0,
        1,
    ]
    assert recorded(device_slice("w", "unknown")) == []
    metadata = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "c"},
    }
    assert recorded(decode(metadata | {"spec": {}})) is None, "a class concerns every node"
    assert recorded() == []


# ------------------------------------------------------------------------------ dry runs


def test_a_dry_run_restores_the_pods_in_their_order():
    cluster = cluster_of(node("n"), pod("p", on="n"), pod("q", on="n"))
    version = cluster.nodes.pods_journal.version
    with cluster.dry_run(0) as dry_run:
        placed = cluster.pods["default/p"]
        dry_run.remove(placed)
        added = dry_run.add(pod("r", "250m"))
        assert isinstance(added, PlacedPod)
        assert added.slot == 0
        assert list(cluster.pods_on[0]) == ["default/q", "default/r"]
        assert requested(cluster) == (1250, 1250)
        dry_run.add_back(placed)
        assert requested(cluster) == (2250, 2250)
    assert list(cluster.pods_on[0]) == ["default/p", "default/q"]
    assert requested(cluster) == (2000, 2000)
    assert cluster.nodes.pods_journal.version == version


def results(cluster, priority=0, pairs=(0, 1000)):
    """Return the kept results of a kind of preemptor."""
    return cluster.dry_run_cache.of(priority, np.array(pairs, dtype=np.int64))


def fill(tried):
    tried.rows[:, 0] = 7
    return tried


@pytest.mark.parametrize(
    ("change", "known"),
    [
        pytest.param(lambda _: None, [7, 7], id="nothing changed"),
        pytest.param(lambda c: c.put(pod("p", on="a")), [7, 7], id="pods have their own marks"),
        pytest.param(lambda c: c.put(node("a", "4")), [0, 7], id="a node changed"),
        pytest.param(lambda c: c.put(node("b", unschedulable=True)), [7, 0], id="the other one"),
        pytest.param(lambda c: c.put(node("c")), [0, 0, 0], id="a new node"),
        pytest.param(lambda c: c.nodes.node_journal.forget(), [0, 0], id="all nodes changed"),
        pytest.param(lambda c: c.put(budget("b", 1, {})), [0, 0], id="a budget"),
    ],
)
def test_results_of_dry_runs_are_kept_while_they_are_valid(change, known):
    cluster = cluster_of(node("a"), node("b"))
    fill(results(cluster))
    change(cluster)
    assert results(cluster).rows[:, 0].tolist() == known
    fill(results(cluster))
    assert set(results(cluster).rows[:, 0].tolist()) == {7}, "the change is noted once"


def test_results_are_kept_for_the_four_latest_kinds_of_preemptors():
    cluster = cluster_of(node("a"))
    kinds = [(0, (0, 1000)), (1, (0, 1000)), (0, (0, 500)), (0, (1, 1000))]
    for kind in kinds:
        fill(results(cluster, *kind))
    assert [results(cluster, *kind).rows.item(0) for kind in kinds] == [7] * 4
    results(cluster, *kinds[0])
    assert results(cluster, 9).rows.item(0) == 0
    assert results(cluster, *kinds[0]).rows.item(0) == 7, "it was used since"
    assert results(cluster, *kinds[1]).rows.item(0) == 0, "it was the oldest"


def test_the_marks_of_pods_are_kept_when_the_pool_grows():
    cluster = cluster_of(node("a"))
    tried = DryRunCache(cluster.nodes, cluster.budgets).of(0, np.array([0, 1], dtype=np.int64))
    tried.reserve(2)
    tried.marks[:] = [3, 4]
    before = tried.marks
    tried.reserve(2)
    assert tried.marks is before
    tried.reserve(5)
    assert len(tried.marks) == 5
    assert tried.marks[:2].tolist() == [3, 4]


@pytest.mark.parametrize(
    ("amounts", "are_huge"),
    [
        pytest.param((), False, id="none"),
        pytest.param((0,), False, id="zero"),
        pytest.param((-1,), True, id="negative"),
        pytest.param((2**48 - 1,), False, id="less than 256Ti"),
        pytest.param((2**48,), True, id="256Ti"),
        pytest.param((1, 2**60, 1), True, id="one of several"),
    ],
)
def test_amounts_are_noted_if_one_is_huge_or_negative(amounts, are_huge):
    nodes = cluster_of().nodes
    nodes.note_amounts(amounts)
    assert nodes.has_huge_amounts is are_huge
    nodes.note_amounts((1,))
    assert nodes.has_huge_amounts is are_huge, "it was so once"


@pytest.mark.parametrize(("amount", "is_huge"), [("1", False), (HUGE, True)])
def test_amounts_of_any_resource_may_be_huge(amount, is_huge):
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"x.com/gpu": amount}}}]
    cluster = cluster_of(node("n"), pod("p", on="n", containers=containers))
    assert cluster.nodes.has_huge_amounts is is_huge
