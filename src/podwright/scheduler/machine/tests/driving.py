"""A machine with plugins of a test, and a driver that answers every call at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from podwright.apimachinery.objects import (
    Object,
    Pod,
    with_condition,
    with_fields,
    with_node_name,
    with_nominated_node_name as with_nomination,
)
from podwright.scheduler.assembly import Registry, build_machine
from podwright.scheduler.config import parse_gates
from podwright.scheduler.framework import Plugin
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import (
    Action,
    Bind,
    CallDone,
    CycleDue,
    DeletePod,
    EmitEvent,
    Event,
    Machine,
    ObjectDeleted,
    ObjectPut,
    PatchPodStatus,
    SchedulerOptions,
)
from podwright.testing import make_pod
from podwright.testing.parity.sequence import effective_configuration

SECOND_NS = 1_000_000_000
A = TypeVar("A")


class Driver:
    """Runs a machine: its actions are executed at once, unless a test holds them back.

    Attributes
    ----------
    actions : list of Action
        All actions that the machine returned so far.
    errors : dict of str to CallError
        What calls fail with, by the kind of action; used once.
    holds : set of str
        Kinds of action that are not answered.
    held : list of Action
        Those, to be answered with `answer`.
    """

    def __init__(
        self,
        *plugins: type[Plugin],
        config: dict[str, Any] | None = None,
        gates: str = "",
        assumed_pod_expiry_ns: int = 0,
    ) -> None:
        registry = Registry(plugins)
        configuration = effective_configuration(
            config or enabling(plugins), registry, parse_gates(gates)
        )
        self.machine: Machine = build_machine(
            configuration,
            registry,
            SchedulerOptions(assumed_pod_expiry_ns=assumed_pod_expiry_ns),
        )
        self.now_ns = 1_700_000_000 * SECOND_NS
        self.actions: list[Action] = []
        self.errors: dict[str, CallError] = {}
        self.holds: set[str] = set()
        self.held: list[Action] = []
        self._version = 0

    def put(self, *objects: Object) -> None:
        """Let the machine see objects, with new versions."""
        for obj in objects:
            self._version += 1
            version = str(self._version)
            self.deliver(ObjectPut(with_fields(obj, "metadata", resource_version=version)))

    def remove(self, obj: Object) -> None:
        """Let the machine see that an object is gone."""
        self.deliver(ObjectDeleted(obj))

    def cycle(self) -> None:
        """Run one scheduling cycle."""
        self.deliver(CycleDue())

    def deliver(self, event: Event) -> None:
        """Deliver an event, execute the actions, and check the invariants."""
        waiting = self.machine.handle(event, self.now_ns)
        self.machine.validate()
        self.actions += waiting
        for action in waiting:
            if type(action).__name__ in self.holds:
                self.held.append(action)
            else:
                self.answer(action)

    def answer(self, action: Action) -> None:
        """Execute an action."""
        if not isinstance(action, Bind | PatchPodStatus | DeletePod):
            return
        error = self.errors.pop(type(action).__name__, None)
        pod = self.machine.pod(action.pod)
        if error is None and pod is not None:
            match action:
                case Bind():
                    self.put(with_nomination(with_node_name(pod, action.node), ""))
                case PatchPodStatus():
                    if action.condition is not None:
                        pod = with_condition(pod, action.condition)
                    if action.nominated_node is not None:
                        pod = with_nomination(pod, action.nominated_node)
                    self.put(pod)
                case DeletePod():
                    self.remove(pod)
        self.deliver(CallDone(action.call, error))

    def all_of(self, kind: type[A]) -> list[A]:
        """Return the actions of a kind."""
        return [action for action in self.actions if isinstance(action, kind)]

    @property
    def notes(self) -> list[str]:
        """The Events so far: reason and note."""
        return [f"{event.reason}: {event.note}" for event in self.all_of(EmitEvent)]

    def condition(self, name: str) -> tuple[str, str]:
        """Return reason and message of a pod's PodScheduled condition."""
        pod = self.machine.pod(name)
        assert pod is not None, name
        return next(
            (c.reason, c.message) for c in pod.status.conditions if c.type == "PodScheduled"
        )

    def node_of(self, name: str) -> str:
        """Return where a pod is bound to; "" if nowhere."""
        pod = self.machine.pod(name)
        assert pod is not None, name
        return pod.spec.node_name

    def place_of(self, name: str) -> str:
        """Return where in the queue a pod waits; "" if nowhere."""
        queued = self.machine.queue.get(name)
        return "" if queued is None else queued.place.value


def enabling(plugins: Iterable[type[Plugin]]) -> dict[str, Any]:
    """Return a configuration in which the default profile has these plugins, too."""
    enabled = [{"name": plugin.name} for plugin in plugins]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"multiPoint": {"enabled": enabled}},
            }
        ],
    }


def pending(name: str, **fields: Any) -> Pod:
    """Make a pod for the default profile."""
    return make_pod(name, scheduler="default-scheduler", **fields)
