"""Changes of objects under the v1.16 rules.

What an object's change does to the cluster and to assumed pods is the same under all rules. What
it does to the queue is `classic.queue_calls`, which is all of 1.16's event handlers.

Upstream: pkg/scheduler/eventhandlers.go (1.16)
"""

from __future__ import annotations

from podwright.apimachinery.objects import KubernetesObject, Object, Pod
from podwright.scheduler.classic import ClassicQueue, queue_calls
from podwright.scheduler.machine import (
    Binding,
    EventHandlers,
    forget,
    has_lost_its_node,
    object_key,
)


class ClassicEventHandlers(EventHandlers):
    """Handles changes of objects as 1.16 does."""

    def put(self, obj: Object) -> None:
        """Handle a new object or a new version of one."""
        if isinstance(obj, Pod):
            self._put_pod(obj)
            return
        state = self._state
        key = object_key(obj, obj.key)
        old = state.objects.get(key)
        state.objects[key] = obj
        state.cluster.put(obj)
        self._call_queue(old, obj)

    def delete(self, obj: Object) -> None:
        """Handle a deleted object; unknown ones are ignored."""
        if isinstance(obj, Pod):
            self._delete_pod(obj)
            return
        state = self._state
        old = state.objects.pop(object_key(obj, obj.key), None)
        if old is not None:
            state.cluster.delete(old)
            self._call_queue(old, None)

    def _put_pod(self, pod: Pod) -> None:
        state = self._state
        old = state.pods.get(pod.key)
        if old is not None and old.metadata.uid != pod.metadata.uid:
            # Deleted and created again; the deletion was not observed.
            self._delete_pod(old)
            old = None
        if has_lost_its_node(old, pod):
            return
        if pod.is_terminal:
            if old is not None:
                self._delete_pod(pod)
            return
        version = pod.metadata.resource_version
        if old is not None and version and version == old.metadata.resource_version:
            return
        self._keep(pod.key, old, pod)
        binding = state.assumed.get(pod.metadata.uid)
        if pod.spec.node_name:
            state.cluster.put(pod)
            state.assumed.pop(pod.metadata.uid, None)
        elif binding is not None and pod.is_terminating and old is not None:
            self._assumed_pod_goes(binding)
            return
        self._call_queue(old, pod, assumed=None if binding is None else binding.assumed_pod)

    def _delete_pod(self, pod: Pod) -> None:
        state = self._state
        old = state.pods.get(pod.key)
        if old is None or old.metadata.uid != pod.metadata.uid:
            # An outdated event: the pod is gone already, and another one may have its name.
            return
        del state.pods[pod.key]
        state.expired.discard(old.metadata.uid)
        if old.spec.node_name or pod.spec.node_name:
            state.cluster.delete(pod)
            state.assumed.pop(pod.metadata.uid, None)
        elif (binding := state.assumed.get(old.metadata.uid)) is not None:
            self._assumed_pod_goes(binding)
        self._call_queue(old, None)

    def _assumed_pod_goes(self, binding: Binding) -> None:
        """Free the node of a deleted assumed pod; 1.16 makes no move request then."""
        if not self._bindings.reject(binding.uid, "", "removed"):
            forget(self._state, binding)

    def _call_queue(
        self,
        old: KubernetesObject | None,
        new: KubernetesObject | None,
        *,
        assumed: Pod | None = None,
    ) -> None:
        state = self._state
        queue, now_ns = state.queue, state.now_ns
        assert isinstance(queue, ClassicQueue), type(queue).__name__
        changed = old if new is None else new
        name = changed.spec.scheduler_name if isinstance(changed, Pod) else ""
        calls = queue_calls(
            old,
            new,
            # No scheduler name is "\0", so other schedulers' pods make no calls.
            scheduler_name=name if name in state.profiles else "\0",
            unschedulable_count=queue.unschedulable_count,
            assumed=assumed,
        )
        for call in calls:
            if call.pod is None:
                queue.move_all_to_active_queue(now_ns)
            elif call.name == "Add":
                queue.add(call.pod, now_ns)
            elif call.name == "Update":
                queue.update(call.old, call.pod, now_ns)
            elif call.name == "Delete":
                queue.delete(call.pod, now_ns)
            elif call.name == "AssignedPodAdded":
                queue.assigned_pod_added(call.pod, now_ns)
            else:
                assert call.name == "AssignedPodUpdated", call.name
                queue.assigned_pod_updated(call.pod, now_ns)
