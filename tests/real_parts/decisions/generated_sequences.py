"""Pods scheduled one after the other on a generated cluster, with changes in between.

Upstream decides each step on its own, on the objects as they are then; podwright keeps its state
over the steps, so that what it caches is compared too.
"""

from __future__ import annotations

import copy
from typing import Any

from tests.real_parts.decisions.generated_clusters import EXTENDED, Drawn
from tests.real_parts.decisions.process import (
    UpstreamDecisions,
    without_nulls,
)

Document = dict[str, Any]
_STEPS = 14


def recorded_sequence(upstream: UpstreamDecisions, seed: int) -> Document:
    """Return a case of family dra_sequence, decided by upstream."""
    drawn = Drawn(f"sequence {seed}")
    recorder = _Recorder(drawn)
    before = copy.deepcopy(drawn.objects)
    for number in range(1, _STEPS + 1):
        if not recorder.step(upstream, number):
            break
    return {"family": "dra_sequence", "objects": before, "steps": recorder.steps}


class _Recorder:
    """The state of the cluster between the steps.

    Attributes
    ----------
    steps : list of dict
        The steps until now, with what upstream decided.
    """

    def __init__(self, drawn: Drawn) -> None:
        self._drawn = drawn
        self.steps: list[Document] = []
        self._placed: dict[str, Document] = {}

    @property
    def _objects(self) -> list[Document]:
        return self._drawn.objects

    def step(self, upstream: UpstreamDecisions, number: int) -> bool:
        """Add one step; return false if the sequence must end."""
        random = self._drawn.random
        kind = random.random()
        if kind < 0.12 and self._placed:
            self._delete(random.choice(sorted(self._placed)))
            return True
        if kind < 0.3:
            self._change()
            return True
        return self._schedule(upstream, number)

    def _change(self) -> None:
        """Change, remove or add back a slice or a class."""
        random = self._drawn.random
        found = [o for o in self._objects if o["kind"] in ("ResourceSlice", "DeviceClass", "Node")]
        obj = random.choice(found)
        if obj["kind"] == "ResourceSlice" and random.random() < 0.3:
            self._objects.remove(obj)
            name = obj["metadata"]["name"]
            self.steps.append({"op": "remove", "kind": "ResourceSlice", "name": name})
            return
        changed = copy.deepcopy(obj)
        match obj["kind"]:
            case "DeviceClass":
                changed["spec"]["selectors"] = [
                    {"cel": {"expression": self._drawn.draw_selector("gpu.example.com")}}
                ]
            case "Node":
                changed["status"]["allocatable"][EXTENDED] = random.choice(["0", "2"])
                changed["metadata"]["labels"]["rack"] = random.choice(["r0", "r1", "r2"])
            case _:
                self._change_slice(changed["spec"])
        self._put(changed)
        self.steps.append({"op": "apply", "object": copy.deepcopy(changed)})

    def _change_slice(self, spec: Document) -> None:
        random = self._drawn.random
        devices = spec.get("devices", [])
        if not devices:
            return
        device = random.choice(devices)
        match random.randrange(4):
            case 0:
                device["taints"] = [{"key": "dra/bad", "effect": "NoSchedule"}]
                device["taints"][0]["timeAdded"] = "2020-01-01T00:00:00Z"
            case 1:
                device.pop("taints", None)
            case 2:
                device.setdefault("attributes", {})["model"] = {"string": "h100"}
            case _ if len(devices) > 1:
                devices.remove(device)
            case _:
                spec["pool"]["generation"] += 1

    def _put(self, obj: Document) -> None:
        for index, other in enumerate(self._objects):
            if _key(other) == _key(obj):
                self._objects[index] = obj
                return
        self._objects.append(obj)

    def _schedule(self, upstream: UpstreamDecisions, number: int) -> bool:
        known = [_key(obj) for obj in self._objects]
        pod = self._drawn.draw_pod(f"q{number}")
        for obj in self._objects:
            if _key(obj) not in known:
                self.steps.append({"op": "apply", "object": copy.deepcopy(obj)})
        case = {"objects": self._objects, "pod": pod}
        found = upstream.expected(case)
        found = without_nulls(found)
        if "error" in found:
            # The errors of several nodes are given in any order; family dra compares them.
            return True
        if found.pop("varies", False):
            return False
        if "error" in found.get("dra", {}).get("bind", {}):
            return False
        self.steps.append({"op": "schedule", "pod": pod, "expect": self._expected(found)})
        if found["winners"]:
            self._place(pod, found)
        return True

    def _expected(self, found: Document) -> Document:
        winners = found["winners"]
        chosen = winners[0] if winners else None
        expect: Document = {"winners": winners, "chosen": chosen}
        if "pre_enqueue" in found:
            return expect | {"pre_enqueue": found["pre_enqueue"]["reasons"]}
        expect["feasible"] = len(found["feasible"])
        if "total" in found:
            expect["max_score"] = max(found["total"].values())
        devices = found.get("dra", {})
        if chosen is None:
            expect["message"] = found["message"]
            action = devices.get("post_filter", {})
            if action.get("action") == "deallocate":
                expect["deallocated"] = action["any_of"]
                self._free(action["any_of"][0])
            return expect
        if chosen in devices.get("allocations", {}):
            expect["allocations"] = devices["allocations"][chosen]
        if devices.get("bind", {}).get("writes"):
            expect["writes"] = devices["bind"]["writes"]
        return expect

    def _place(self, pod: Document, found: Document) -> None:
        for write in found.get("dra", {}).get("bind", {}).get("writes", []):
            if write["resource"] != "resourceclaims":
                continue
            if write["verb"] == "create":
                claim = copy.deepcopy(write["object"])
                name = f"{claim['metadata']['generateName']}00001"
                claim["metadata"] |= {"name": name, "uid": name}
                self._put({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"} | claim)
                continue
            claim = self._claim(write["name"])
            if "finalizers" in write:
                claim["metadata"]["finalizers"] = write["finalizers"]
            else:
                claim["status"] = copy.deepcopy(write["status"])
        placed = copy.deepcopy(pod)
        placed["spec"]["nodeName"] = found["winners"][0]
        self._put(placed)
        self._placed[f"default/{pod['metadata']['name']}"] = placed

    def _claim(self, key: str) -> Document:
        return next(obj for obj in self._objects if _key(obj) == ("ResourceClaim", key))

    def _free(self, key: str) -> None:
        self._claim(key)["status"] = {}

    def _delete(self, key: str) -> None:
        pod = self._placed.pop(key)
        self.steps.append({"op": "delete", "name": key})
        self._objects.remove(pod)
        uid = pod["metadata"]["uid"]
        for obj in list(self._objects):
            if obj["kind"] != "ResourceClaim":
                continue
            owners = obj["metadata"].get("ownerReferences", [])
            if any(owner["uid"] == uid for owner in owners):
                self._objects.remove(obj)
                continue
            users = obj.get("status", {}).get("reservedFor", [])
            left = [user for user in users if user["uid"] != uid]
            if len(left) == len(users):
                continue
            if left:
                obj["status"]["reservedFor"] = left
            else:
                obj["status"] = {}
                obj["metadata"].pop("finalizers", None)


def _key(obj: Document) -> tuple[str, str]:
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    return obj["kind"], f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
