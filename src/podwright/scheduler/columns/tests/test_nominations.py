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
