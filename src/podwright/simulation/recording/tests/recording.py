"""A recorded run for tests: what the machine wants is done at once, unless a test holds it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podwright.apimachinery.objects import (
    Object,
    Pod,
    with_condition,
    with_node_name,
    with_nominated_node_name as with_nomination,
)
from podwright.scheduler.config import ExtenderCall, ExtenderReply, read_configuration
from podwright.scheduler.framework import Plugin
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    CallExtender,
    CycleDue,
    DeletePod,
    Event,
    ExtenderReplied,
    ObjectDeleted,
    ObjectPut,
    PatchPodStatus,
)
from podwright.simulation.recording.log.record import record
from podwright.simulation.recording.timelines.columns import REFERENCES, Subject, Timeline

SECOND_NS = 1_000_000_000
KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


class Recorded:
    """A machine and its log, driven.

    Attributes
    ----------
    holds : set of str
        Kinds of action that are not answered.
    errors : dict of str to CallError
        What calls fail with, by the kind of action; used once.
    call_extender : callable
        Answers extenders.
    """

    def __init__(self, *plugins: type[Plugin], seed: int = 0, **configuration: Any) -> None:
        read = read_configuration(KIND | configuration, source="c") if configuration else None
        self.run = record(None, read, plugins=plugins, seed=seed)
        self.plugins = plugins
        self.now_ns = 0
        self.holds: set[str] = set()
        self.held: list[Any] = []
        self.errors: dict[str, CallError] = {}
        self.call_extender: Callable[[ExtenderCall], ExtenderReply] | None = None
        self.pods: dict[str, Pod] = {}

    def put(self, *objects: Object) -> None:
        """Let the machine see objects."""
        for obj in objects:
            if isinstance(obj, Pod):
                self.pods[obj.key] = obj
            self.tell(ObjectPut(obj))

    def remove(self, pod: Pod) -> None:
        """Let the machine see that a pod is gone."""
        self.tell(ObjectDeleted(self.pods.pop(pod.key, pod)))

    def cycle(self) -> None:
        """Run one scheduling cycle, a second later."""
        self.now_ns += SECOND_NS
        self.tell(CycleDue())

    def attempt(self, *objects: Object) -> None:
        """Put objects, and run a cycle."""
        self.put(*objects)
        self.cycle()

    def tell(self, event: Event) -> None:
        """Give the machine an event, and do what it wants."""
        for action in self.run.handle(event, self.now_ns):
            if type(action).__name__ in self.holds:
                self.held.append(action)
            else:
                self.answer(action)

    def answer(self, action: Any) -> None:
        """Do what an action asks for."""
        error = self.errors.pop(type(action).__name__, None)
        pod = self.pods.get(getattr(action, "pod", ""))
        match action:
            case Bind(node=node) if error is None and pod is not None:
                self.put(with_nomination(with_node_name(pod, node), ""))
            case PatchPodStatus(condition=condition, nominated_node=node) if pod is not None:
                if condition is not None:
                    pod = with_condition(pod, condition)
                self.put(pod if node is None else with_nomination(pod, node))
            case DeletePod() if pod is not None:
                self.remove(pod)
            case CallExtender(call, request):
                assert self.call_extender is not None, request
                self.tell(ExtenderReplied(call, self.call_extender(request)))
            case _:
                pass
        if isinstance(action, Bind | PatchPodStatus | DeletePod):
            self.tell(CallDone(action.call, error))


def named_state(timeline: Timeline, at_ns: int) -> dict[tuple[Subject, str], Subject | int]:
    """Return a state of a timeline with names in place of the indexes of subjects."""
    return {
        (subject, field): timeline.subjects[value - 1] if field in REFERENCES else value
        for (subject, field), value in timeline.state_at(at_ns).items()
    }
