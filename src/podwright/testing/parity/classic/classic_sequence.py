"""Sequences of v1.16 decisions: pods, preemption, deletions, node order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podwright.apimachinery.objects import (
    Pod,
    decode_node,
    decode_pod,
    with_fields,
    with_node_name,
    with_nominated_node_name,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.classic import (
    ClassicQueue,
    ClassicScheduler,
    NodeTree,
    nodes_to_find,
    preempt,
    queue_calls,
)
from podwright.scheduler.queueing import SECOND_NS, QueueName
from podwright.testing.parity.classic.classic_setup import (
    classic_cluster_of,
    classic_scheduler_of,
)
from podwright.testing.parity.comparison import (
    Case,
    Check,
    compared,
    equal,
    nanoseconds,
    only,
    start_time,
)

_FIELDS = frozenset({"best", "chosen", "feasible", "max_score", "message", "preemption"})
_PREEMPTION = frozenset({
    "acceptable", "clear_nominations", "eligible", "nominated_node", "pdb_violations", "victims",
})  # fmt: skip


def check_classic_sequence(case: Case) -> Check:
    """Compare each step, then place the pod as the vector does, so that ties do not diverge."""
    cluster = classic_cluster_of(case["objects"])
    scheduler = classic_scheduler_of(case, cluster)
    placed: dict[str, Pod] = {}
    scheduled_count = 0
    for step in case["steps"]:
        if step["op"] == "delete":
            cluster.remove(placed.pop(_key(step["name"])))
            continue
        pod = decode_pod(step["pod"])
        expect = step["expect"]
        cluster.nominator.remove(pod.metadata.uid)
        decision = scheduler.decide(pod)
        yield from only("", expect, _FIELDS)
        yield equal("feasible", expect.get("feasible", 0), len(decision.feasible))
        yield equal("best", expect.get("best", []), sorted(decision.best))
        yield equal("message", expect.get("message", ""), decision.message)
        top = None if decision.table is None else max(decision.table.totals)
        yield equal("max_score", expect.get("max_score"), top)
        yield equal("chosen", expect["chosen"] is None, not decision.node)
        if expect["chosen"] is not None:
            pod = with_fields(pod, "status", start_time=start_time(scheduled_count))
            placed[pod.key] = with_node_name(pod, expect["chosen"])
            cluster.put(placed[pod.key])
        else:
            expected = expect.get("preemption", {})
            yield from _preempt(scheduler, pod, decision.failed, expected, placed)
        scheduled_count += 1


def _preempt(
    scheduler: ClassicScheduler,
    pod: Pod,
    failed: dict[str, Any],
    expect: dict[str, Any],
    placed: dict[str, Pod],
) -> Check:
    yield from only("preemption", expect, _PREEMPTION)
    node_name = expect.get("nominated_node")

    def as_recorded(names: Any) -> str:
        return str(node_name) if node_name in names else str(min(names))

    found = preempt(scheduler, pod, failed, pick=as_recorded)
    yield equal("eligible", expect.get("eligible"), found.is_eligible)
    yield equal("acceptable", expect.get("acceptable", []), sorted(found.choice.node_names))
    yield equal("nominated_node", node_name or "", found.node)
    yield equal("victims", expect.get("victims") or [], [victim.key for victim in found.victims])
    if not found.node:
        return
    violations = found.candidates[found.node].violations_count
    yield equal("pdb_violations", expect["pdb_violations"], violations)
    cleared = sorted(other.key for other in found.clear)
    yield equal("clear_nominations", expect.get("clear_nominations") or [], cleared)
    cluster = scheduler.cluster
    for victim in found.victims:
        cluster.remove(placed.pop(victim.key))
    for other in found.clear:
        cluster.nominator.remove(other.metadata.uid)
    cluster.put(with_nominated_node_name(pod, found.node))


def _key(name: str) -> str:
    return name if "/" in name else f"default/{name}"


def check_classic_node_tree(case: Case) -> Check:
    """Compare the order of nodes, and the number of feasible nodes to find."""
    yield from only("", case["expect"], ("nodes_to_find", "tree"))
    tree = NodeTree()
    for step, expected in zip(case["tree_steps"], case["expect"]["tree"], strict=True):
        match step["op"]:
            case "add":
                tree.add(decode_node(step["node"]))
            case "remove":
                tree.remove(decode_node(step["node"]))
            case "update":
                tree.update(decode_node(step["old"]), decode_node(step["node"]))
            case "next":
                names = [tree.next() for _ in range(step["count"])]
                yield equal("next", expected, names)
                continue
            case _:
                raise AssertionError(f"an operation that is not in the format: {step['op']}")
        yield equal(step["op"], expected, len(tree))
    counts = [nodes_to_find(*arguments) for arguments in case["nodes_to_find"]]
    yield equal("nodes_to_find", case["expect"]["nodes_to_find"], counts)


def check_classic_events(case: Case) -> Check:
    """Compare the calls on the queue that one event makes; they have no order."""
    event = case["event"]
    old, new = (decode(event[key]) if event.get(key) else None for key in ("old", "new"))
    calls = queue_calls(
        old,
        new,
        unschedulable_count=event.get("unschedulable_pods", 0),
        assumed=decode_pod(event["assumed"]) if event.get("assumed") else None,
    )
    shown = [
        {"call": call.name}
        | (
            {}
            if call.pod is None
            else {
                "pod": call.pod.key,
                "resource_version": call.pod.metadata.resource_version,
            }
        )
        for call in calls
    ]
    yield from only("", case["expect"], ("calls",))
    yield equal("calls", _sorted(case["expect"]["calls"]), _sorted(shown))


def _sorted(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(calls, key=lambda call: (call["call"], call.get("pod", "")))


# The classic queue, step by step.


def check_classic_queue(case: Case) -> Check:
    """Compare the whole state after each step."""
    queue = ClassicQueue()
    now_ns = 0
    for step in case["steps"]:
        now_ns += nanoseconds(step["dt"])
        fields = _do(queue, step, now_ns)
        queue.validate()
        for field in ("popped", "error"):
            yield equal(field, step.get(field), fields.get(field))
        actual = _state(queue, now_ns)
        expected = {"nominated": {}, "records": {}} | step["expect"]
        yield from compared("", expected, actual)


def _do(queue: ClassicQueue, step: dict[str, Any], now_ns: int) -> dict[str, str]:
    """Do one step; return the result of the queue."""
    op = step["op"]
    if op in _WITHOUT_POD:
        _WITHOUT_POD[op](queue, now_ns)
        return {}
    if op == "pop":
        queued = queue.pop(now_ns)
        return {"popped": queued.key} if queued is not None else {}
    pod = decode_pod(step["pod"])
    match op:
        case "add_unschedulable_if_not_present":
            error = queue.add_unschedulable_if_not_present(pod, step["cycle"], now_ns)
            return {"error": error} if error else {}
        case "update":
            queue.update(decode_pod(step["old"]), pod, now_ns)
        case "update_nominated_pod_for_node":
            queue.update_nominated_pod_for_node(pod, step["node"])
        case "delete_nominated_pod_if_exists":
            queue.delete_nominated_pod_if_exists(pod)
        case _:
            _OF_POD[op](queue, pod, now_ns)
    return {}


_WITHOUT_POD = {
    "tick": lambda _queue, _now_ns: None,
    "move_all_to_active_queue": ClassicQueue.move_all_to_active_queue,
    "flush_backoff_q_completed": ClassicQueue.flush_backoff,
    "flush_unschedulable_q_leftover": ClassicQueue.flush_unschedulable,
}
_OF_POD: dict[str, Callable[[ClassicQueue, Pod, int], object]] = {
    "add": ClassicQueue.add,
    "add_if_not_present": ClassicQueue.add_if_not_present,
    "delete": ClassicQueue.delete,
    "assigned_pod_added": ClassicQueue.assigned_pod_added,
    "assigned_pod_updated": ClassicQueue.assigned_pod_updated,
}


def _state(queue: ClassicQueue, now_ns: int) -> dict[str, Any]:
    records = queue.backoff_records()
    backoff = []
    for queued in queue.pods_in(QueueName.BACKOFF):
        record = records.get(queued.key)
        backoff.append([queued.key, None if record is None else _seconds(record.end_ns)])
    return {
        "now": _seconds(now_ns),
        "active": [queued.key for queued in queue.pods_in(QueueName.ACTIVE)],
        "backoff": sorted(backoff, key=lambda pair: (pair[1] is not None, pair[1] or 0, pair[0])),
        "unschedulable": sorted(
            [queued.key, _seconds(queued.timestamp_ns)]
            for queued in queue.pods_in(QueueName.UNSCHEDULABLE)
        ),
        "scheduling_cycle": queue.scheduling_cycle,
        "move_request_cycle": queue.move_request_cycle,
        "nominated": {
            node: [pod.key for pod in pods] for node, pods in queue.nominator.nodes().items()
        },
        "records": {
            name: [record.attempts, _seconds(record.updated_ns), _seconds(record.end_ns)]
            for name, record in records.items()
        },
    }


def _seconds(time_ns: int) -> float:
    return time_ns / SECOND_NS
