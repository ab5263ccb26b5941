"""Execution of the requests of a world's components, and what observers receive of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from podwright.apimachinery.objects import InvalidObject, NamespacedName, Pod
from podwright.cluster.api import (
    SCHEDULER_USER,
    Api,
    CreateObject,
    DeleteObject,
    EvictionRejected,
    EvictPod,
    Forbidden,
    NamespaceTerminating,
    RecordEvent,
    TooLarge,
    WriteRequest,
)
from podwright.cluster.controllers import CreateRejected, WriteRejected
from podwright.cluster.store import ObjectError, ObjectStore
from podwright.scheduler.machine import CallDone, DeletePod, EmitEvent
from podwright.simulation.world.clock import EventHeap
from podwright.simulation.world.observers import EventObserver, Observer, RemovalObserver, event_of
from podwright.simulation.world.scheduler_requests import ApiCall, execute
from podwright.simulation.world.world_components import DueEvent


class WorldRequests:
    """Executes the API calls of the scheduler, and the requests of controllers and stages.

    Parameters
    ----------
    api : Api
        The door of the store.
    store : ObjectStore
    heap : EventHeap
        Has the present time.
    observers : iterable of Observer
    handle_rejection : callable
        Receives the writes that the API rejected, and returns whether a controller made them and
        tries them again.
    reject_stage_write : callable
        Receives other writes that the API rejected, and returns their Events; none if the error is
        to be raised.

    Attributes
    ----------
    replies : list of CallDone
        The results of the scheduler's API calls that it has not received yet.
    """

    def __init__(
        self,
        api: Api,
        store: ObjectStore,
        heap: EventHeap[DueEvent],
        observers: Iterable[Observer],
        handle_rejection: Callable[[CreateRejected | WriteRejected], bool],
        reject_stage_write: Callable[[WriteRequest, Exception], list[RecordEvent]],
    ) -> None:
        self._api = api
        self._store = store
        self._heap = heap
        self._handle_rejection = handle_rejection
        self._reject_stage_write = reject_stage_write
        observers = tuple(observers)
        self._event_observers = [e for e in observers if isinstance(e, EventObserver)]
        self._removal_observers = [e for e in observers if isinstance(e, RemovalObserver)]
        self.replies: list[CallDone] = []

    def call(self, action: ApiCall) -> None:
        """Execute an API call of the scheduler."""
        if type(action) is DeletePod and self._removal_observers:
            self._preempt(action)
            return
        self.replies.append(execute(self._api, action, self._heap.now_ns))

    def _preempt(self, action: DeletePod) -> None:
        """Delete a victim of preemption, and deliver the request to observers."""
        now_ns, pod = self._heap.now_ns, self._store.get(Pod, action.pod)
        reply = execute(self._api, action, now_ns)
        self.replies.append(reply)
        if pod is not None and reply.error is None:
            request = DeleteObject("", "Pod", action.pod, action.uid, SCHEDULER_USER)
            for observer in self._removal_observers:
                observer.removal_handled(pod, request, None, now_ns)

    def record(self, action: EmitEvent | RecordEvent) -> None:
        """Deliver a Kubernetes Event to observers."""
        if self._event_observers:
            event = event_of(action)
            for observer in self._event_observers:
                observer.event_recorded(event, self._heap.now_ns)

    def delete(self, request: DeleteObject) -> None:
        """Execute a deletion by a controller or a stage."""
        if request.object_kind == "Pod" and self._removal_observers:
            self._remove_pod(request, request.key)
        else:
            self.write(request)

    def evict(self, request: EvictPod) -> None:
        """Execute an eviction."""
        self._remove_pod(request, request.pod)

    def _remove_pod(self, request: DeleteObject | EvictPod, key: NamespacedName) -> None:
        """Execute a request that removes a pod, and deliver it to observers."""
        pod = self._store.get(Pod, key)
        error = self.write(request)
        if pod is not None:
            for observer in self._removal_observers:
                observer.removal_handled(pod, request, error, self._heap.now_ns)

    def write(self, request: WriteRequest) -> Exception | None:
        """Execute a controller's or a stage's request; return the error that is ignored, if any."""
        match self._api.handle(request, request.user, self._heap.now_ns).error:
            case None | ObjectError() | NamespaceTerminating() | EvictionRejected() as error:
                # Upstream records no Event for a namespace that is being deleted either.
                return error
            case (Forbidden() | InvalidObject() | TooLarge()) as error if isinstance(
                request, CreateObject
            ):
                self._handle_rejection(CreateRejected(request, str(error)))
                return error
            case error if self._handle_rejection(WriteRejected(request.user, str(error))):
                return error
            case TooLarge() as error:  # of a kubelet, which logs it
                return error
            case error:
                events = self._reject_stage_write(request, error)
                if not events:
                    raise error
                for event in events:
                    self.record(event)
                return error
