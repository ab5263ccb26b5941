from podwright.scheduler.columns.nodes import FIXED_RESOURCES
from podwright.scheduler.preemption.tests.situations import budget, cluster_of, node, pod

START = "2026-01-01T00:00:00Z"


def ranked_after(cluster):
    ranked = cluster.ranked_pods
    ranked.bring_up_to_date(cluster.live_slots())
    return ranked


def with_gpu(name, **fields):
    requests = {"cpu": "1", "x.com/gpu": "2"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    return pod(name, on="n", containers=[container], **fields)


def test_a_pod_without_an_extended_resource_requests_none_in_a_reused_row():
    gpu_pod = with_gpu("a")
    cluster = cluster_of(node("n"), gpu_pod)
    assert ranked_after(cluster).requests[0].tolist()[len(FIXED_RESOURCES) :] == [2]
    cluster.delete_pod(gpu_pod.key, gpu_pod)
    plain = pod("b", on="n")
    cluster.put_pod(plain.key, plain)
    assert ranked_after(cluster).requests[0].tolist()[len(FIXED_RESOURCES) :] == [0]


def test_the_latest_start_ignores_pods_that_have_not_started():
    cluster = cluster_of(node("n"), pod("a", on="n"))
    assert ranked_after(cluster).latest_start_ns == 0
    started = pod("b", on="n", started=START)
    cluster.put_pod(started.key, started)
    assert ranked_after(cluster).latest_start_ns == 1_767_225_600_000_000_000


def test_pods_are_in_no_budget_after_the_last_one_is_deleted():
    only = budget("b", 1, {"a": "1"})
    cluster = cluster_of(node("n"), pod("p", on="n", labels={"a": "1"}), only)
    assert ranked_after(cluster).budget_sets[0] == 1
    cluster.delete(only)
    assert ranked_after(cluster).budget_sets[0] == 0
