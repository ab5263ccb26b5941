"""The invariants that hold between two events.

Each pod with the schedulerName of a profile is in exactly one place; every awaited answer belongs
to a call that was made; and no pod counts on a node twice.
"""

from __future__ import annotations

from podwright.scheduler.machine.state import State
from podwright.scheduler.queueing import SchedulingQueue


def validate(state: State, *, being_tried: frozenset[str] = frozenset()) -> None:
    """Assert every invariant.

    Parameters
    ----------
    being_tried : frozenset of str
        The uids of the pods whose cycle is suspended.

    Raises
    ------
    AssertionError
        With the pod and its story, if one is lost or is in two places.
    """
    state.queue.validate()
    assert not state.ready, f"{len(state.ready)} binding cycles were left behind"
    _no_pod_is_lost(state, being_tried)
    _bindings_agree(state)


def _no_pod_is_lost(state: State, being_tried: frozenset[str]) -> None:
    in_flight = {queued.uid for queued in state.queue.in_flight()}
    for key, pod in state.pods.items():
        if pod.spec.scheduler_name not in state.profiles:
            continue
        uid = pod.metadata.uid
        queued = state.queue.get(key)
        is_queued = queued is not None and queued.uid == uid
        is_under_way = uid in state.bindings_by_uid or uid in state.assumed or uid in being_tried
        if pod.spec.node_name:
            assert not is_queued, f"{key} has a node and is queued: {state.queue.story(key)}"
            continue
        if is_queued and uid in state.assumed and not isinstance(state.queue, SchedulingQueue):
            # Under the v1.16 rules an update queues an assumed pod again; its cycle is skipped.
            continue
        places = is_queued + is_under_way + (uid in state.expired)
        if uid in in_flight:
            assert is_under_way, f"{key} was popped and forgotten: {state.queue.story(key)}"
        if pod.metadata.deletion_timestamp is None:
            assert places == 1, f"{key} is in {places} places: {state.queue.story(key)}"
        else:
            assert places <= 1, f"{key} is in {places} places: {state.queue.story(key)}"


def _bindings_agree(state: State) -> None:
    for number, binding in state.bindings.items():
        assert number == binding.number, (number, binding.number)
    for uid, binding in state.assumed.items():
        assert uid == binding.uid, (uid, binding.uid)
        name = binding.queued.key
        placed = state.cluster.pods.get(name)
        if placed is None or placed.pod.metadata.uid != uid:
            # Its node is gone; it is counted again if the node comes back.
            assert binding.node not in state.cluster.nodes.slot_of or placed is not None, (
                f"{name} is assumed but counts nowhere"
            )
            continue
        node = state.cluster.nodes.names[placed.slot]
        assert node == binding.node, f"{name} is assumed on {binding.node}, not {node}"
    for call, caller in state.calls.items():
        waits = caller.call_numbers if hasattr(caller, "call_numbers") else caller.busy
        assert call in waits, f"nothing waits for call {call}"
