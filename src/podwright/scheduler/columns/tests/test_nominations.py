from itertools import pairwise

import numpy as np

from podwright.apimachinery.objects import with_fields
from podwright.scheduler.columns.nodes import FIXED_RESOURCES
from podwright.scheduler.preemption.tests.situations import cluster_of, node, pod

COUNT = 40
"""More pods than the arrays have rows for at first."""


def test_many_nominated_pods_and_their_requests():
    cluster = cluster_of(node("a"), node("b"))
    for i in range(COUNT):
        cluster.nominate(pod(f"p{i}", cpu=f"{i + 1}", priority=i), "b" if i % 2 else "a")
    slots, priorities, requests = cluster.nominations.columns()
    assert slots.tolist() == [i % 2 for i in range(COUNT)]
    assert priorities.tolist() == list(range(COUNT))
    assert requests[:, 0].tolist() == [1000 * (i + 1) for i in range(COUNT)]


def test_a_nominated_pod_with_a_new_resource():
    cluster = cluster_of(node("a"))
    cluster.nominate(pod("plain"), "a")
    container = {"name": "c", "image": "i", "resources": {"requests": {"x.com/gpu": "2"}}}
    cluster.nominate(pod("gpu", containers=[container]), "a")
    requests = cluster.nominations.columns()[2]
    assert requests[:, len(FIXED_RESOURCES)].tolist() == [0, 2]


def test_nominations_are_not_copied_when_they_are_read_or_few_are_added():
    cluster = cluster_of(node("a"))
    cluster.nominate(pod("p"), "a")
    before = cluster.nominations.columns()
    cluster.put(node("b"))
    cluster.nominate(pod("q"), "b")
    for old, new in zip(before, cluster.nominations.columns(), strict=True):
        assert np.shares_memory(old, new), "there is room for more"
    assert cluster.nominations.columns()[0].tolist() == [0, 1]


def test_each_time_there_is_room_for_as_many_nominations_again():
    cluster = cluster_of(node("a"))
    nominations = cluster.nominations
    lengths = []
    for number in range(COUNT):
        before = nominations.columns()[0]
        cluster.nominate(pod(f"p{number}"), "a")
        if not np.shares_memory(before, nominations.columns()[0]) and number:
            lengths.append(number)
    assert all(later >= 2 * early for early, later in pairwise(lengths))
    assert lengths


def test_nominations_end_in_any_order_and_leave_the_others():
    cluster = cluster_of(node("a"), node("b"))
    nominations = cluster.nominations
    pods = [pod(f"p{i}", cpu=f"{i + 1}", priority=i) for i in range(5)]
    expected = {}
    for i, one in enumerate(pods):
        cluster.nominate(one, "a" if i < 3 else "gone")
        expected[one.key] = ("a" if i < 3 else "gone", i)

    def rows():
        slots, priorities, requests = nominations.columns()
        assert requests[:, 0].tolist() == [1000 * (priority + 1) for priority in priorities]
        return sorted(zip(slots.tolist(), priorities.tolist(), strict=True))

    for i in (1, 4, 0, 3, 2):
        version = nominations.version
        cluster.clear_nomination(pods[i])
        assert nominations.version == version + 1
        cluster.clear_nomination(pods[i])
        del expected[pods[i].key]
        assert nominations.node_of() == {key: name for key, (name, _) in expected.items()}
        assert rows() == sorted(
            (0 if name == "a" else -1, priority) for name, priority in expected.values()
        )
        assert [nominations.row_of(one) >= 0 for one in pods] == [
            one.key in expected for one in pods
        ]
    assert nominations.by_node == {}


def test_a_nomination_follows_the_pod_and_the_node():
    cluster = cluster_of(node("a"))
    waiting, other = pod("p"), with_fields(pod("p"), "metadata", uid="another")
    cluster.nominate(waiting, "b")
    assert cluster.nominations.columns()[0].tolist() == [-1]
    cluster.put(node("b"))
    assert cluster.nominations.columns()[0].tolist() == [1]
    cluster.nominate(waiting, "a")
    assert cluster.nominations.columns()[0].tolist() == [0]
    assert {name: [*pods] for name, pods in cluster.nominated.items()} == {"a": ["default/p"]}
    # Another pod of the name does not own it.
    assert (cluster.nominations.row_of(waiting), cluster.nominations.row_of(other)) == (0, -1)


def test_the_slot_of_a_nomination_follows_its_node():
    cluster = cluster_of(node("a"), node("b"))
    assert cluster.nominations.columns()[0].tolist() == []
    cluster.nominate(pod("p"), "missing")
    cluster.nominate(pod("q"), "b")
    assert cluster.nominations.columns()[0].tolist() == [-1, 1]
    cluster.put(node("missing"))
    cluster.delete(node("b"))
    assert cluster.nominations.columns()[0].tolist() == [2, -1]


def test_each_nomination_is_a_version_and_so_is_its_end():
    cluster = cluster_of(node("a"))
    versions = [cluster.nominations.version]
    for name in ("p", "q"):
        cluster.nominate(pod(name), "a")
        versions.append(cluster.nominations.version)
        cluster.clear_nomination(pod(name))
        versions.append(cluster.nominations.version)
    assert versions == [*range(5)]
