"""A test driver of controllers: a store, stages for nodes and pods, and a trivial scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    Node,
    ObjectDeleted,
    ObjectPut,
    Pod,
)
from podwright.apimachinery.objects.texts.times import timestamp_text
from podwright.apimachinery.schema import decode
from podwright.cluster.api import Api, CreateObject, DeleteObject, EvictPod, Rejection, UpdateObject
from podwright.cluster.api.requests import RecordEvent
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.controllers.controller_loop import ControllerLoop
from podwright.cluster.controllers.interface import (
    Controller,
    DrainNode,
    NodeEvent,
    ReportedWrite,
    SyncAt,
    SyncNext,
    WriteRejected,
)
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.kubelets import Lifecycle, ScheduleStage
from podwright.cluster.kubelets.stages.stage import Stage
from podwright.simulation.world import EventHeap, Turn

SECOND = 1_000_000_000
NOW = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z

Makers = Iterable[Callable[[Lister], Controller]]


def at(seconds: float) -> str:
    return timestamp_text(NOW + int(seconds * SECOND))


def document(kind: str, name: str, *, api: str = "v1", namespace: str = "", **parts: Any) -> Any:
    """Return an object of any kind; `metadata` adds to its own."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata |= parts.pop("metadata", {})
    return decode({"apiVersion": api, "kind": kind, "metadata": metadata, **parts}, source="test")


def a_pod(name: str, *, namespace: str = "default", **spec: Any) -> Any:
    """Return a pod; `labels`, `annotations` and `owners` are its metadata, all else its spec."""
    metadata = {"labels": spec.pop("labels", {}), "annotations": spec.pop("annotations", {})}
    metadata |= {"ownerReferences": spec.pop("owners", [])}
    spec = {"containers": [{"name": "main", "image": "app"}]} | spec
    return document("Pod", name, namespace=namespace, metadata=metadata, spec=spec)


class Cluster:
    """A world with a trivial scheduler, which binds pods to the first schedulable node.

    Parameters
    ----------
    makers : iterable of callable
        The controllers.
    schedules : bool
        Whether pods are bound.
    stages : iterable of Stage, optional
        The stages of nodes and pods; the default ones if None.
    start_ns : int
        The start time.
    """

    def __init__(
        self,
        makers: Makers,
        *,
        schedules: bool = True,
        stages: Iterable[Stage] | None = None,
        start_ns: int = NOW,
    ) -> None:
        self.makers = tuple(makers)
        self.stages = None if stages is None else tuple(stages)
        self.store = WritableStore(seed=1)
        self.api = Api(self.store)
        self.life = Lifecycle(self.stages, seed=1)
        self.controllers = ControllerLoop(self.makers)
        self.start_ns = start_ns
        self.heap = EventHeap[Any](start_ns)
        self.changes = self.store.watch()
        self.schedules = schedules
        self.events: list[tuple[float, str, str, str]] = []
        self.warnings: set[str] = set()
        self.creations: list[KubernetesObject] = []
        self.writes: list[CreateObject | UpdateObject | DeleteObject] = []
        self.invariants: list[Callable[[Cluster], None]] = []

    # --------------------------------------------------------------------- actions of a test

    @property
    def now(self) -> float:
        return (self.heap.now_ns - self.start_ns) / SECOND

    def add(self, *objects: KubernetesObject) -> None:
        for obj in objects:
            self.store.create(self.api.admission.admit_new(obj), self.heap.now_ns)
        self.settle()

    def put(self, obj: KubernetesObject, scope: Any = "main") -> None:
        self.store.update(obj, scope=scope)
        self.settle()

    def edit(self, kind: tuple[str, str], key: str, section: str, **fields: Any) -> None:
        obj = self.get(kind, key)
        part = {**(obj.raw.get(section) or {}), **fields}
        part = {name: value for name, value in part.items() if value is not None}
        scope = "status" if section == "status" else "main"
        self.put(decode(obj.raw | {section: part}, source="test"), scope)

    def delete(self, kind: tuple[str, str], key: str, **options: Any) -> None:
        self.store.delete(kind, key, self.heap.now_ns, **options)
        self.settle()

    def send(self, event: NodeEvent) -> None:
        self.controllers.handle(event, self.heap.now_ns)
        if not isinstance(event, DrainNode):
            self.do(self.life.handle(event, self.heap.now_ns))
        self.settle()

    # ---------------------------------------------------------------------------- reading

    def get(self, kind: tuple[str, str], key: str) -> KubernetesObject:
        found = self.store.get(kind, key)
        assert found is not None, f"no {kind[1]} {key}"
        return found

    def has(self, kind: tuple[str, str], key: str) -> bool:
        return self.store.get(kind, key) is not None

    def raw(self, kind: tuple[str, str], key: str) -> Document:
        return self.get(kind, key).raw

    def status(self, kind: tuple[str, str], key: str) -> Document:
        return cast(Document, self.raw(kind, key).get("status") or {})

    def all(self, kind: tuple[str, str]) -> list[KubernetesObject]:
        return list(self.store.list(kind).objects)

    def pods(self) -> list[Pod]:
        return cast(list[Pod], self.all(("", "Pod")))

    def nodes(self) -> list[Node]:
        return cast(list[Node], self.all(("", "Node")))

    def event_notes(self, reason: str) -> list[str]:
        """Return the notes of the Events with a reason."""
        return [note for _, _, each, note in self.events if each == reason]

    # ---------------------------------------------------------------------------- the run

    def run(self, seconds: float) -> None:
        """Advance to a time, in seconds since the start."""
        until_ns = self.start_ns + int(seconds * SECOND)
        self.settle()
        while due := self.heap.pop(until_ns):
            if due.turn == Turn.STAGE:
                self.do(self.life.handle(due.event, due.due_ns))
            else:
                self.controllers.handle(due.event, due.due_ns)
            self.settle()
        self.heap.advance(until_ns)

    def settle(self) -> None:
        """Deliver changes and execute actions, until none is due now."""
        for _ in range(200_000):
            if self._deliver_changes():
                continue
            next_ns = self.heap.next_ns
            if next_ns is not None and next_ns <= self.heap.now_ns:
                due = self.heap.pop()
                assert due is not None, "something was due"
                if due.turn == Turn.STAGE:
                    self.do(self.life.handle(due.event, due.due_ns))
                else:
                    self.controllers.handle(due.event, due.due_ns)
            elif not self._schedule() and not self._sync():
                return
        raise AssertionError(f"no end at {self.now}: {self.events[-5:]}")

    def _deliver_changes(self) -> bool:
        events = list(self.changes.poll())
        for event in events:
            obj: Any = event.object
            if obj is None:
                continue
            change = ObjectDeleted(obj) if event.type == "DELETED" else ObjectPut(obj)
            if event.type == "ADDED":
                self.creations.append(obj)
            self.do(self.life.handle(change, self.heap.now_ns))
            self.controllers.handle(change, self.heap.now_ns)
        if events:
            for check in self.invariants:
                check(self)
        return bool(events)

    def _sync(self) -> bool:
        if not self.controllers.has_next:
            return False
        for action in self.controllers.handle(SyncNext(), self.heap.now_ns):
            self.do([action])
            while self._deliver_changes():
                pass
        return True

    def _schedule(self) -> bool:
        if not self.schedules:
            return False
        bound = False
        nodes = [node for node in self.nodes() if _is_open(node)]
        for pod in self.pods() if nodes else ():
            if not pod.spec.node_name and not pod.is_terminating and not pod.is_terminal:
                self.store.bind(pod.key, nodes[0].name, self.heap.now_ns)
                bound = True
        return bound

    def do(self, actions: Iterable[Any]) -> None:
        now_ns = self.heap.now_ns
        for action in actions:
            match action:
                case ScheduleStage():
                    self.heap.push(max(action.due_ns, now_ns), Turn.STAGE, action.event)
                case SyncAt():
                    self.heap.push(max(action.due_ns, now_ns), Turn.CONTROLLER, action.event)
                case RecordEvent():
                    about = f"{action.object_kind} {action.key}"
                    if action.type == "Warning":
                        self.warnings.add(action.reason)
                    self.events.append((self.now, about, action.reason, action.note))
                case CreateObject() | UpdateObject() | DeleteObject() | EvictPod():
                    self._write(action)
                case ReportedWrite():
                    action.execute(self._write, lambda event: self.do([event]))
                case _:
                    raise AssertionError(f"unknown: {action}")

    def _write(
        self, request: CreateObject | UpdateObject | DeleteObject | EvictPod
    ) -> Exception | None:
        if not isinstance(request, EvictPod) and not request.user.startswith("kwok:"):
            self.writes.append(request)
        now_ns = self.heap.now_ns
        match self.api.handle(request, request.user, now_ns).error:
            case None | Rejection(reason="NotFound" | "AlreadyExists") as error:
                return error
            case Rejection() as error if type(request) is EvictPod:
                return error
            case Rejection(reason="Conflict") as error if type(request) is DeleteObject:
                return error
            case error if type(request) is CreateObject:
                rejection = WriteRejected(request, str(error))
                self.do(self.controllers.handle(rejection, now_ns))
                return error
            case error:
                # A conflict is an error: two writes of one sync contradict each other.
                raise error

    # ------------------------------------------------------------------------ checkpoints

    def replace_controllers(self) -> None:
        """Continue with new controllers, restored from the state of the old ones."""
        state = self.controllers.state()
        other = ControllerLoop(self.makers)
        other.restore(state, list(self._everything()))
        assert other.state() == state
        self.controllers = other

    def _everything(self) -> Iterator[KubernetesObject]:
        for kind in self.controllers.lister.kinds():
            yield from self.controllers.lister.all(kind).values()


def _is_open(node: Node) -> bool:
    return not node.spec.unschedulable and not any(
        taint.effect in {"NoSchedule", "NoExecute"} for taint in node.spec.taints
    )
