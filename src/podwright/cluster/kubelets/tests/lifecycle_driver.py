"""A driver of the lifecycle for tests, with an event heap and objects in a dictionary."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import Object, ObjectDeleted, ObjectPut
from podwright.apimachinery.objects.texts.times import timestamp_text
from podwright.apimachinery.schema import decode
from podwright.cluster.api import ApplyObject, CreateObject, DeleteObject, PatchObject, UpdateObject
from podwright.cluster.kubelets import (
    Lifecycle,
    LifecycleAction,
    RecordEvent,
    ScheduleStage,
    StageDue,
)
from podwright.cluster.store import GroupKind, kind_of
from podwright.simulation.world import EventHeap, Turn

SECOND = 1_000_000_000
NOW = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z


def stage_of(request: UpdateObject | DeleteObject) -> str:
    return request.user.removeprefix("kwok:")


def at(seconds: float) -> str:
    return timestamp_text(NOW + int(seconds * SECOND))


def a_pod(name: str = "web", *, status: Any = None, spec: Any = None, **metadata: Any) -> Any:
    parts = {"nodeName": "n1", "containers": [{"name": "main", "image": "app:1"}]} | (spec or {})
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **metadata},
        "spec": {key: value for key, value in parts.items() if value is not None},
    }
    return decode(document | ({"status": status} if status else {}), source="test")


def a_node(name: str = "n1", **parts: Any) -> Any:
    metadata = {"name": name, "uid": f"uid-{name}"} | parts.pop("metadata", {})
    return decode({"apiVersion": "v1", "kind": "Node", "metadata": metadata, **parts}, source="t")


class LifecycleDriver:
    """Executes the actions of a lifecycle until nothing is due."""

    def __init__(self, life: Lifecycle) -> None:
        self.life = life
        self.heap = EventHeap[StageDue](NOW)
        self.objects: dict[str, Object] = {}
        self.story: list[tuple[float, str, str]] = []
        self.notes: list[str] = []
        self.created: dict[tuple[GroupKind, str], Any] = {}

    def put(self, obj: Object) -> None:
        self.objects[obj.key] = obj
        self.execute(self.life.handle(ObjectPut(obj), self.heap.now_ns))

    def delete(self, obj: Object) -> None:
        del self.objects[obj.key]
        self.execute(self.life.handle(ObjectDeleted(obj), self.heap.now_ns))

    def execute(self, actions: list[LifecycleAction]) -> None:
        for action in actions:
            match action:
                case ScheduleStage():
                    self.heap.push(action.due_ns, Turn.STAGE, action.event)
                case UpdateObject():
                    assert action.obj == decode(action.obj.raw), "equal to a decoded one"
                    self.record(stage_of(action), action.obj.key)
                    self.put(action.obj)
                case DeleteObject():
                    self.record(stage_of(action), action.key)
                    if action.key in self.objects:
                        kind = (action.group, action.object_kind)
                        assert kind == kind_of(self.objects[action.key]), action
                        self.delete(self.objects[action.key])
                case ApplyObject():
                    self.record(action.user, action.obj.key)
                case CreateObject():
                    self.record(action.user, action.obj.key)
                    self.created[kind_of(action.obj), action.obj.key] = action.obj
                case PatchObject():
                    self.record(action.user, action.key)
                case RecordEvent():
                    self.notes.append(f"{action.type} {action.reason}: {action.note}")
            self.life.validate()

    def record(self, stage: str, key: str) -> None:
        self.story.append(((self.heap.now_ns - NOW) / SECOND, stage, key))

    def run(self, seconds: float = 86_400) -> None:
        while due := self.heap.pop(NOW + int(seconds * SECOND)):
            self.execute(self.life.handle(due.event, due.due_ns))
            self.life.validate()

    def status(self, key: str = "default/web") -> Any:
        return self.objects[key].raw["status"]
