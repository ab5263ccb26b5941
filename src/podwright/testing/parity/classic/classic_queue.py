"""The classic queue, step by step."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from podwright.apimachinery.objects import decode_pod
from podwright.scheduler.classic import ClassicQueue
from podwright.scheduler.queueing import SECOND_NS, QueueName
from podwright.testing.parity.comparison import Case, Check, equal


def check_classic_queue(case: Case) -> Check:
    """Compare the whole state after each step."""
    queue = ClassicQueue()
    now_ns = 0
    for step in case["steps"]:
        now_ns += _to_ns(step["dt"])
        fields = _do(queue, step, now_ns)
        queue.validate()
        for field in ("popped", "error"):
            yield equal(field, step.get(field), fields.get(field))
        actual = _state(queue, now_ns)
        expected = {"nominated": {}, "records": {}} | step["expect"]
        for field in sorted(expected.keys() | actual.keys()):
            yield equal(field, expected.get(field), actual.get(field))


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
        case "add":
            queue.add(pod, now_ns)
        case "add_if_not_present":
            queue.add_if_not_present(pod, now_ns)
        case "add_unschedulable_if_not_present":
            error = queue.add_unschedulable_if_not_present(pod, step["cycle"], now_ns)
            return {"error": error} if error else {}
        case "update":
            queue.update(decode_pod(step["old"]), pod, now_ns)
        case "delete":
            queue.delete(pod, now_ns)
        case "assigned_pod_added":
            queue.assigned_pod_added(pod, now_ns)
        case "assigned_pod_updated":
            queue.assigned_pod_updated(pod, now_ns)
        case "update_nominated_pod_for_node":
            queue.update_nominated_pod_for_node(pod, step["node"])
        case "delete_nominated_pod_if_exists":
            queue.delete_nominated_pod_if_exists(pod)
        case _:
            raise AssertionError(f"an operation that is not in the format: {op}")
    return {}


_WITHOUT_POD = {
    "tick": lambda _queue, _now_ns: None,
    "move_all_to_active_queue": ClassicQueue.move_all_to_active_queue,
    "flush_backoff_q_completed": ClassicQueue.flush_backoff,
    "flush_unschedulable_q_leftover": ClassicQueue.flush_unschedulable,
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


def _to_ns(seconds: float) -> int:
    return int(Fraction(str(seconds)) * SECOND_NS)


def _seconds(time_ns: int) -> float:
    return time_ns / SECOND_NS
