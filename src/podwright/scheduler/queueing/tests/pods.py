"""Helpers: pods and hint tables for the tests of this room."""

from __future__ import annotations

from podwright.apimachinery.objects import ObjectMeta, Pod, PodSchedulingGate, PodSpec, PodStatus
from podwright.scheduler.framework.events import (
    NODE,
    POD,
    ActionType,
    ClusterEvent,
    EventHint,
    Hint,
)
from podwright.scheduler.queueing import SECOND_NS, HintTable, SchedulingQueue

NODE_ADD = ClusterEvent(NODE, ActionType.ADD)
NODE_LABEL = ClusterEvent(NODE, ActionType.UPDATE_NODE_LABEL)


def make_pod(name, *, priority=0, gates=(), nominated="", uid="", node=""):
    return Pod(
        metadata=ObjectMeta(namespace="default", name=name, uid=uid or f"uid-{name}"),
        spec=PodSpec(
            scheduler_name="default-scheduler",
            priority=priority,
            node_name=node,
            scheduling_gates=tuple(PodSchedulingGate(gate) for gate in gates),
        ),
        status=PodStatus(nominated_node_name=nominated),
    )


def is_itself(pod, _old, new):
    return Hint.QUEUE if new.metadata.uid == pod.metadata.uid else Hint.SKIP


def always_skip(_pod, _old, _new):
    return Hint.SKIP


def hold_gated(pod):
    return ("SchedulingGates", ("gated",)) if pod.spec.scheduling_gates else None


def make_queue(settings=None, **options):
    """A queue whose plugin `Fit` registers nodes; `Stubborn` always returns Skip."""
    table = HintTable(
        {
            "Fit": (EventHint(NODE, ActionType.ADD),),
            "Stubborn": (EventHint(NODE, ActionType.ADD, always_skip),),
            "SchedulingGates": (
                EventHint(POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, is_itself),
            ),
        }
    )
    options.setdefault("hints", {"default-scheduler": table})
    options.setdefault("pre_enqueue", hold_gated)
    return SchedulingQueue(settings, **options)


def at(seconds):
    """Return a time in nanoseconds: whole seconds plus an offset in seconds."""
    return round((1_000_000 + seconds) * SECOND_NS)


def names(queued_pods):
    return [queued.pod.metadata.name for queued in queued_pods]
