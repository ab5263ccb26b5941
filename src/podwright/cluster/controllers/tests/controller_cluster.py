"""A test driver of controllers: a real store, and pods with a simple simulated life.

The driver executes the actions of the controllers on the store and delivers its changes to them.
A pod is bound as soon as it is added, ready `ready_after` seconds later, and removed
`removed_after` seconds after its deletion (None: only when a test does it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from typing import Any, cast

import msgspec
import yaml

from podwright.apimachinery.objects import (
    KubernetesObject,
    Node,
    ObjectDeleted,
    ObjectPut,
    Pod,
    encode,
    node_selector,
)
from podwright.apimachinery.objects.texts.times import timestamp_text
from podwright.apimachinery.schema import decode
from podwright.cluster.api import Api, CreateObject, DeleteObject, EvictPod, Rejection, UpdateObject
from podwright.cluster.api.object_edits import with_defaults
from podwright.cluster.api.requests import RecordEvent
from podwright.cluster.api.stages.draft_admission import prepared_change
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.controllers.controller_loop import ControllerLoop
from podwright.cluster.controllers.interface import (
    Controller,
    ControllerAction,
    ReportedWrite,
    SyncAt,
    SyncDue,
    SyncNext,
    WriteRejected,
)
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.workload_fields import status_of
from podwright.cluster.store import AlreadyExists
from podwright.cluster.store.errors import GroupKind

SECOND = 1_000_000_000
NOW = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z

POD: GroupKind = ("", "Pod")
KINDS: dict[str, GroupKind] = {
    "deployment": ("apps", "Deployment"),
    "replicaset": ("apps", "ReplicaSet"),
    "statefulset": ("apps", "StatefulSet"),
    "daemonset": ("apps", "DaemonSet"),
    "revision": ("apps", "ControllerRevision"),
    "rc": ("", "ReplicationController"),
    "pvc": ("", "PersistentVolumeClaim"),
    "pod": POD,
    "node": ("", "Node"),
    "class": ("scheduling.k8s.io", "PriorityClass"),
}

Maker = Callable[[Lister], Controller]


class Cluster:
    """A cluster with controllers, and a bind-first scheduler."""

    def __init__(
        self,
        makers: Iterable[Maker],
        *,
        nodes: int = 3,
        ready_after: float | None = 1,
        removed_after: float | None = 1,
        seed: int = 1,
    ) -> None:
        self.makers = tuple(makers)
        self.store = WritableStore(seed=seed, window=1_000_000)
        self.api = Api(self.store)
        self.admission = self.api.admission
        self.controllers = self._new_controllers()
        self.ready_after = ready_after
        self.removed_after = removed_after
        self.now_ns = NOW
        self.binds = True
        self.story: list[str] = []
        self.actions: list[ControllerAction] = []
        self.before_each: Callable[[], None] = lambda: None
        self._changes = self.store.watch()
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._bound = 0
        for index in range(nodes):
            self.add_node(f"n{index}")

    # --------------------------------------------------------------------- actions of a test

    def add_node(self, name: str, **spec: Any) -> None:
        labels = {"kubernetes.io/hostname": name} | spec.pop("labels", {})
        self.create(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
            | ({"spec": spec} if spec else {})
        )

    def apply(self, text: str) -> None:
        """Create or patch the objects of a YAML text."""
        for document in yaml.safe_load_all(text):
            new = decode(document)
            kind = (new.api_version.rpartition("/")[0], new.kind)
            old = self.store.get(kind, new.key)
            if old is None:
                self.create(document)
            else:
                changed = with_defaults(decode(merged(encode(old), document)))
                self.store.update(self._counted(changed, old))
        self.settle()

    def create(self, document: dict[str, Any]) -> KubernetesObject:
        obj = decode(document)
        return self.store.create(self.admission.admit_new(obj), self.now_ns).object

    def patch(
        self, kind: str, name: str, change: Mapping[str, Any], *, status: bool = False
    ) -> None:
        obj = self.get(kind, name)
        new: KubernetesObject = with_defaults(decode(merged(encode(obj), change)))
        if not status:
            new = self._counted(new, obj)
        self.store.update(new, scope="status" if status else "main")
        self.settle()

    def _counted(self, new: KubernetesObject, old: KubernetesObject) -> KubernetesObject:
        """Count the templates of a daemon set, as its strategy does.

        That of a stateful set would drop the field `maxUnavailable`, which has an alpha gate.
        """
        return prepared_change(new, old, self.now_ns) if new.kind == "DaemonSet" else new

    def scale(self, kind: str, name: str, replicas: int) -> None:
        self.patch(kind, name, {"spec": {"replicas": replicas}})

    def delete(self, kind: str, name: str, *, grace: int | None = None) -> None:
        self.store.delete(KINDS[kind], key_of(kind, name), self.now_ns, grace_seconds=grace)
        self.settle()

    def get(self, kind: str, name: str) -> KubernetesObject:
        found = self.find(kind, name)
        assert found is not None, f"no {kind} {name}"
        return found

    def find(self, kind: str, name: str) -> KubernetesObject | None:
        return self.store.get(KINDS[kind], key_of(kind, name))

    def status(self, kind: str, name: str) -> dict[str, Any]:
        return status_of(self.get(kind, name))

    def all(self, kind: str) -> list[KubernetesObject]:
        return sorted(self.store.list(KINDS[kind]).objects, key=lambda obj: obj.key)

    def pods(self, prefix: str = "") -> list[Pod]:
        return [p for p in self.all("pod") if isinstance(p, Pod) and p.name.startswith(prefix)]

    def names(self, kind: str = "pod") -> list[str]:
        return [obj.name for obj in self.all(kind)]

    def run(self, seconds: float) -> None:
        """Advance the time, and process what is due."""
        until_ns = self.now_ns + int(seconds * SECOND)
        self.settle()
        while self._heap and self._heap[0][0] <= until_ns:
            due_ns, _, do = heappop(self._heap)
            self.now_ns = max(self.now_ns, due_ns)
            do()
            self.settle()
        self.now_ns = until_ns

    def ready(self, name: str) -> None:
        """Set a pod to ready now."""
        self._set_status(name, "Running", "True")

    def unready(self, name: str) -> None:
        self._set_status(name, "Running", "False")

    def fail(self, name: str) -> None:
        self._set_status(name, "Failed", "False")

    def new_events(self) -> list[str]:
        """Return the Events since the last call."""
        events, self.story = self.story, []
        return events

    # ---------------------------------------------------------------------------- processing

    def at(self, due_ns: int, do: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._heap, (due_ns, self._count, do))

    def settle(self) -> None:
        while True:
            for event in self._changes.poll():
                if event.object is None:
                    continue
                obj: Any = event.object
                is_removed = event.type == "DELETED"
                change = ObjectDeleted(obj) if is_removed else ObjectPut(obj)
                self.controllers.handle(change, self.now_ns)
                if isinstance(obj, Pod) and not is_removed:
                    self._run_pod(obj, event.old)
            if self._changes.is_behind:
                continue
            self.before_each()
            if not self.controllers.has_next:
                return
            for action in self.controllers.handle(SyncNext(), self.now_ns):
                self._do(action)

    def _do(self, action: ControllerAction) -> Exception | None:
        """Execute an action; return the error of one whose outcome is reported."""
        self.actions.append(action)
        match action:
            case ReportedWrite():
                self.actions.pop()
                return action.execute(self._do, self._do)
            case CreateObject():
                return self._create(action)
            case UpdateObject(obj, scope):
                self.store.update(obj, scope=scope)
            case DeleteObject():
                reply = self.api.handle(action, action.user, self.now_ns)
                if reply.error is not None:
                    self.story.append(f"! {action.object_kind} {action.key} is gone")
                return reply.error
            case EvictPod():
                self.api.handle(action, action.user, self.now_ns)
            case RecordEvent():
                name = action.key.rpartition("/")[2]
                self.story.append(f"{name}: {action.reason}: {action.note}")
            case SyncAt(due_ns, event):
                self.at(due_ns, lambda: self._requeue(event))
        return None

    def _create(self, request: CreateObject) -> Exception | None:
        obj = request.obj
        try:
            self.store.create(self.admission.admit_new(obj), self.now_ns)
        except AlreadyExists as error:
            self.story.append(f"! {obj.kind} {obj.key} exists")
            return error
        except Rejection as error:
            self.story.append(f"! {error}")
            rejection = WriteRejected(request, str(error))
            for following in self.controllers.handle(rejection, self.now_ns):
                self._do(following)
            return error
        return None

    def _requeue(self, event: SyncDue) -> None:
        self.controllers.handle(event, self.now_ns)

    def _run_pod(self, pod: Pod, old: KubernetesObject | None) -> None:
        name, uid = pod.key, pod.uid
        if pod.is_terminating:
            has_changed = not isinstance(old, Pod) or not old.is_terminating
            if has_changed and self.removed_after is not None and not pod.metadata.finalizers:
                self.at(self.now_ns + int(self.removed_after * SECOND), lambda: self.end(name, uid))
        elif not pod.spec.node_name and not pod.spec.scheduling_gates:
            node = self._node_for(pod) if self.binds else ""
            present = self.find("pod", name)
            if node and isinstance(present, Pod) and not present.spec.node_name:
                self.store.bind(pod.key, node, self.now_ns)
        elif pod.status.phase == "Pending" and self.ready_after is not None:
            was_bound = isinstance(old, Pod) and old.spec.node_name
            if not was_bound:
                due_ns = self.now_ns + int(self.ready_after * SECOND)
                self.at(due_ns, lambda: self._start(name, uid))

    def _node_for(self, pod: Pod) -> str:
        nodes = [n for n in self.all("node") if isinstance(n, Node)]
        affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
        required = affinity and affinity.required_during_scheduling_ignored_during_execution
        if required:
            terms = node_selector(required)
            nodes = [n for n in nodes if terms.matches(n.name, n.metadata.labels)]
        if not nodes:
            return ""
        self._bound += 1
        return nodes[self._bound % len(nodes)].name

    def _start(self, name: str, uid: str) -> None:
        pod = self.find("pod", name)
        if pod is not None and pod.uid == uid and not pod.metadata.deletion_timestamp:
            self._set_status(name, "Running", "True", settle=False)

    def end(self, name: str, uid: str = "") -> None:
        """Remove a pod that is being deleted."""
        pod = self.find("pod", name)
        if pod is not None and uid in ("", pod.uid):
            self.store.delete(POD, pod.key, self.now_ns, grace_seconds=0)

    def _set_status(self, name: str, phase: str, ready: str, *, settle: bool = True) -> None:
        pod = self.get("pod", name)
        now = timestamp_text(self.now_ns)
        condition = {"type": "Ready", "status": ready, "lastTransitionTime": now}
        status = {**status_of(pod), "phase": phase, "conditions": [condition]}
        self.store.update(decode({**encode(pod), "status": status}), scope="status")
        if settle:
            self.settle()

    # -------------------------------------------------------------------------- checkpoints

    def _new_controllers(self) -> ControllerLoop:
        kinds = self.admission.admission.template_kinds
        return ControllerLoop(self.makers, admission_kinds=kinds)

    def restart(self) -> None:
        """Continue with new controllers, restored from the state of the old ones."""
        state = msgspec.json.decode(msgspec.json.encode(self.controllers.state()))
        other = self._new_controllers()
        objects = [obj for kind in sorted(KINDS.values()) for obj in self.store.list(kind).objects]
        other.restore(msgspec.convert(state, type(self.controllers.state())), objects)
        self.controllers = other


def counting(maker: Maker, syncs: list[Counter[str]]) -> Maker:
    """Return a maker whose controller counts its created and deleted pods in each sync."""

    def make(lister: Lister) -> Controller:
        controller: Any = maker(lister)
        sync = controller.sync

        def count(key: str, now_ns: int) -> list[ControllerAction]:
            actions: list[ControllerAction] = sync(key, now_ns)
            writes = [a.request if isinstance(a, ReportedWrite) else a for a in actions]
            created = sum(isinstance(a, CreateObject) and type(a.obj) is Pod for a in writes)
            deleted = sum(isinstance(a, DeleteObject) and a.object_kind == "Pod" for a in writes)
            syncs.append(Counter(created=created, deleted=deleted))
            return actions

        controller.sync = count
        return cast(Controller, controller)

    return make


def counts(syncs: Iterable[Counter[str]], what: str) -> list[int]:
    """Return the counts that are not 0."""
    return [each_sync[what] for each_sync in syncs if each_sync[what]]


def key_of(kind: str, name: str) -> str:
    return name if kind == "node" or "/" in name else f"default/{name}"


def merged(document: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with a JSON merge patch."""
    result = dict(document)
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result
