"""The machine as its plugins see it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, Pod
from podwright.scheduler.framework import ApiCall, Members
from podwright.scheduler.machine.cycles.binding_cycles import BindingCycles
from podwright.scheduler.machine.cycles.requesting import request_call
from podwright.scheduler.machine.events import object_key
from podwright.scheduler.machine.reporting import emit
from podwright.scheduler.machine.state import State

Kind = TypeVar("Kind", bound=KubernetesObject)


class MachineHandle:
    """What plugins can read and do in one machine; see `framework.handle`."""

    def __init__(self, state: State, bindings: BindingCycles) -> None:
        self._state = state
        self._bindings = bindings

    @property
    def binds(self) -> bool:
        """Always true: binding cycles follow."""
        return True

    @property
    def now_ns(self) -> int:
        """The time of the event that is being handled."""
        return self._state.now_ns

    def find(self, kind: type[Kind], name: NamespacedName) -> Kind | None:
        """Return an object by `namespace/name`; None if there is none."""
        found = self._state.objects.get(object_key(kind, name))
        return found if isinstance(found, kind) else None

    def members(self, plugin: str, group: Hashable) -> Members:
        """Return the pods for which a plugin's `group_of` returns `group`."""
        return self._state.groups.members(plugin, group)

    def waiting(self) -> tuple[str, ...]:
        """Return the uids of the pods that wait at Permit, in order of arrival."""
        return tuple(self._state.waiting)

    def allow(self, uid: str, plugin: str) -> None:
        """Allow a waiting pod on behalf of a plugin."""
        self._bindings.allow(uid, plugin)

    def reject(self, uid: str, plugin: str, message: str) -> None:
        """Reject a waiting pod on behalf of a plugin."""
        self._bindings.reject(uid, plugin, message)

    def device_class_of(self, resource: str) -> str:
        """Return the device class that backs an extended resource; "" if there is none."""
        return self._state.cluster.device_classes.class_of(resource)

    def request(self, call: ApiCall, pod: Pod | None = None) -> None:
        """Make a call to the API server for which nothing waits."""
        if pod is None:
            request_call(self._state, call)
        else:
            number = request_call(self._state, call, pod.key, pod.uid)
            self._state.requested[number] = pod

    def record_event(self, pod: Pod, reason: str, note: str) -> None:
        """Record a normal Event about a pod, with the action `Scheduling`."""
        emit(
            self._state,
            pod,
            "Normal",
            reason,
            "Scheduling",
            note,
            controller=pod.spec.scheduler_name,
        )

    def activate(self, pods: Iterable[Pod]) -> None:
        """Move pods to the active queue, whatever rejected them."""
        self._state.queue.activate(pods, self._state.now_ns)

    def count(self, metric: str, labels: tuple[str, ...]) -> None:
        """Add 1 to a counter."""
        self._state.metrics.count(metric, labels)

    def observe(self, metric: str, labels: tuple[str, ...], duration_ns: int) -> None:
        """Add a duration to a histogram."""
        self._state.metrics.observe(metric, labels, duration_ns)
