"""Steps of a scheduling queue, drawn from a seed.

podwright's queue takes part in the drawing, so that the steps fit its state: what is popped comes
back. Upstream's queue then does the same steps; where the two differ, later steps may not fit it.
"""

from __future__ import annotations

import copy
from fractions import Fraction
from random import Random
from typing import Any, Final

from tests.real_parts.decisions.generated_hints import HintObjects

from podwright.testing.parity.queue import QueueReplay

Document = dict[str, Any]

_STEPS: Final = 90
_PLUGINS: Final = ("PlugA", "PlugB", "PlugC", "PlugD")
_DEFAULT_PLUGINS: Final = (
    "NodeResourcesFit", "NodeAffinity", "TaintToleration", "InterPodAffinity", "PodTopologySpread",
    "NodePorts", "NodeUnschedulable", "NodeName", "VolumeBinding", "DynamicResources",
    "DefaultPreemption", "NodeVolumeLimits", "SchedulingGates", "Unknown",
)  # fmt: skip
_EVENTS: Final = (
    ("Node", "Add"), ("Node", "Delete"), ("Node", "UpdateNodeAllocatable"),
    ("Node", "UpdateNodeLabel"), ("Node", "UpdateNodeTaint"), ("AssignedPod", "Add"),
    ("AssignedPod", "Update"), ("AssignedPod", "UpdatePodLabel"), ("AssignedPod", "Delete"),
    ("AssignedPod", "UpdatePodScaleDown"), ("PersistentVolumeClaim", "Add"),
    ("storage.k8s.io/StorageClass", "Add"), ("*", "All"),
)  # fmt: skip
_ACTIONS: Final = {
    "Node": (["Add"], ["Update"], ["Add", "UpdateNodeLabel"], ["Delete"], ["All"]),
    "Pod": (["Delete"], ["Update"], ["Add", "UpdatePodLabel", "Delete"], ["UpdatePodToleration"]),
    "PersistentVolumeClaim": (["Add"], ["Update"]),
    "storage.k8s.io/StorageClass": (["Add"], ["Add", "Update"]),
    "*": (["All"], ["Add"]),
}
_SHARES: Final = {
    "add": 14, "update": 14, "delete": 4, "pop": 22, "fail": 16, "done": 4, "move": 16,
    "flush_backoff": 6, "flush_unschedulable": 4, "activate": 4, "nominate": 4, "tick": 1,
}  # fmt: skip
_SECOND_NS = 10**9


def draw_queue_case(seed: int) -> Document:
    """Return a case of family queue, whose steps have no `expect` yet."""
    return _Drawn(seed).case()


def with_states(case: Document, states: list[Document]) -> Document:
    """Return a case with the states that upstream's queue had after each step."""
    steps = [
        step | {"expect": _in_seconds(state)}
        for step, state in zip(case["steps"], states, strict=True)
    ]
    return case | {"steps": steps}


def _in_seconds(state: Document) -> Document:
    if "impossible" in state:
        return {"now": 0} | state
    found = dict(state)
    found["now"] = Fraction(state["now"], _SECOND_NS)
    for place in ("backoff", "error_backoff"):
        found[place] = [(name, Fraction(end, _SECOND_NS)) for name, end in state[place]]
    for optional in ("error_backoff", "gated", "nominated"):
        if not found[optional]:
            del found[optional]
    return found


class _Drawn:
    def __init__(self, seed: int) -> None:
        self._random = Random(f"queue {seed}")
        self._objects = HintObjects(f"queue objects {seed}")
        self._explicit = self._random.random() < 0.5
        self._count = 0
        self._version = 0
        self._pods: dict[str, Document] = {}
        self._node: Document | None = None
        self._others: list[Document] = []

    def case(self) -> Document:
        random = self._random
        case: Document = {
            "family": "queue",
            "hint_mode": "explicit" if self._explicit else "default",
            "options": {
                "pod_initial_backoff_seconds": random.choice([1, 1, 2, 3]),
                "pod_max_backoff_seconds": random.choice([0, 1, 4, 10, 60]),
                "pod_max_in_unschedulable_pods_seconds": random.choice([5, 60, 300]),
            },
            "start": f"2026-01-01T00:00:00.{random.choice([0, 493, 999]):03}Z",
        }
        if case["options"]["pod_max_backoff_seconds"] == 0:
            case["options"]["pod_initial_backoff_seconds"] = random.choice([0, 1])
        if self._explicit:
            case["hints"] = [
                self._draw_hint(plugin) for plugin in _PLUGINS for _ in range(random.randint(0, 3))
            ]
        replay = QueueReplay(case)
        steps: list[Document] = []
        while len(steps) < _STEPS:
            step = self._draw_step(replay)
            if step is None:
                continue
            step["dt"] = self._draw_pause()
            replay.run(step)
            if step["op"] in ("delete", "done"):
                self._pods.pop(step["name"], None)
            steps.append(step)
        return case | {"steps": steps}

    def _draw_hint(self, plugin: str) -> Document:
        resource = self._random.choice(list(_ACTIONS))
        answers = ["Queue", "Queue", "Skip", "Error"]
        actions = self._random.choice(_ACTIONS[resource])
        return {"plugin": plugin, "resource": resource, "actions": actions,
                "hint": self._random.choice(answers)}  # fmt: skip

    def _draw_pause(self) -> float:
        random = self._random
        kind = random.random()
        if kind < 0.6:
            return random.randint(1, 30) / 1000
        if kind < 0.75:
            return 1.0
        if kind < 0.95:
            return random.randint(100, 4000) / 1000
        return random.choice([5.0, 10.0, 31.5, 61.0, 301.0])

    def _draw_step(self, replay: QueueReplay) -> Document | None:
        """Return a step; None if there is no pod for it."""
        op = self._random.choices(list(_SHARES), list(_SHARES.values()))[0]
        if op in ("fail", "done"):
            return self._draw_end(op, sorted(replay.popped))
        if op in ("update", "delete", "nominate"):
            return self._draw_change(op, sorted(self._pods))
        step: Document = {"op": op}
        if op == "add":
            self._count += 1
            step["pod"] = self._draw_pod(f"p{self._count}", f"u-p{self._count}")
        elif op == "move":
            step |= self._draw_event()
        elif op == "activate":
            names = sorted({*self._pods, *replay.popped, "absent"})
            step["names"] = self._random.sample(names, self._random.randint(0, min(3, len(names))))
        return step

    def _draw_change(self, op: str, names: list[str]) -> Document | None:
        if not names:
            return None
        step: Document = {"op": op, "name": self._random.choice(names)}
        if op == "update":
            step["pod"] = self._change_pod(step["name"])
        elif op == "nominate":
            step["node"] = self._random.choice(["n1", "n2", "n3", ""])
        return step

    def _draw_end(self, op: str, names: list[str]) -> Document | None:
        if not names:
            return None
        name = self._random.choice(names)
        if op == "done" or name not in self._pods:
            # The scheduler does not return a deleted pod to the queue.
            return {"op": "done", "name": name}
        return {"op": "fail", "name": name} | self._draw_rejection()

    def _draw_rejection(self) -> Document:
        random = self._random
        plugins = _PLUGINS if self._explicit else _DEFAULT_PLUGINS
        kind = random.random()
        if kind < 0.15:
            return {}
        if kind < 0.75:
            return {"unschedulable_plugins": random.sample(plugins, random.randint(1, 3))}
        first, second = random.sample(plugins, 2)
        if kind < 0.88:
            return {"pending_plugins": [first]}
        return {"unschedulable_plugins": [first], "pending_plugins": [second]}

    def _draw_pod(self, name: str, uid: str) -> Document:
        pod = self._objects.pod(name, "default")
        # The replays have no claims, which the pod would wait for.
        pod["spec"].pop("resourceClaims", None)
        pod["metadata"]["uid"] = uid
        pod["metadata"]["resourceVersion"] = self._next_version()
        pod["spec"]["priority"] = self._random.choice([0, 0, 0, 10, -5, 100])
        if self._random.random() < 0.12:
            pod["spec"]["schedulingGates"] = [{"name": "g"}]
        if self._random.random() < 0.1:
            pod.setdefault("status", {})["nominatedNodeName"] = self._random.choice(["n1", "n2"])
        self._pods[name] = pod
        return copy.deepcopy(pod)

    def _next_version(self) -> str:
        self._version += 1
        return str(self._version)

    def _change_pod(self, name: str) -> Document:
        random = self._random
        pod = self._pods[name] = copy.deepcopy(self._pods[name])
        pod["metadata"]["resourceVersion"] = self._next_version()
        match random.randrange(8):
            case 0:
                pod["spec"]["priority"] = random.choice([0, 10, 50])
            case 1:
                pod["spec"].pop("schedulingGates", None)
            case 2:
                pod["spec"]["schedulingGates"] = random.choice([[], [{"name": "h"}]])
            case 3:
                node = random.choice(["n1", "n2", ""])
                pod.setdefault("status", {})["nominatedNodeName"] = node
            case 4:
                conditions = [{"type": "PodScheduled", "status": "False", "reason": "x"}]
                pod.setdefault("status", {})["conditions"] = conditions
            case _:
                self._objects.change_pod(pod)
        return copy.deepcopy(pod)

    def _draw_event(self) -> Document:
        random = self._random
        if self._explicit or random.random() < 0.06:
            resource, action = random.choice(_EVENTS if self._explicit else _EVENTS[-1:])
            return {"resource": resource, "action": action}
        return self._objects.event()
