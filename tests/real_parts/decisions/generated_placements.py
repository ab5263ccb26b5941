"""Ordinary pods scheduled one after the other on a generated cluster, with deletions in between.

Upstream decides each step on its own, on the objects as they are then; podwright keeps its state
over the steps, so that its caches and counters are compared too.
"""

from __future__ import annotations

import copy
from random import Random
from typing import Any, Final

from tests.real_parts.decisions.generated_hints import HintObjects
from tests.real_parts.decisions.process import UpstreamDecisions, without_nulls

Document = dict[str, Any]

_STEPS: Final = 16
_ABSENT = ("resourceClaims", "volumes", "schedulingGates", "priority")


def recorded_placements(upstream: UpstreamDecisions, seed: int) -> Document:
    """Return a case of family sequence, decided by upstream."""
    drawn = _Drawn(seed)
    before = copy.deepcopy(drawn.objects)
    for number in range(_STEPS):
        drawn.step(upstream, number)
    return {"family": "sequence", "objects": before, "steps": drawn.steps}


class _Drawn:
    """The cluster between the steps.

    Attributes
    ----------
    objects, steps : list of dict
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(f"placements {seed}")
        self._drawn = HintObjects(f"placements {seed}")
        self.objects = [self._drawn.namespace("default")]
        self.objects += [self._draw_node(f"n{i}") for i in range(self._random.randint(2, 6))]
        self._templates = [self._draw_template() for _ in range(self._random.randint(1, 4))]
        self.steps: list[Document] = []
        self._placed: dict[str, Document] = {}

    def _draw_node(self, name: str) -> Document:
        node = self._drawn.node(name)
        sizes = {"cpu": ["2", "4", "3500m"], "memory": ["4Gi", "8Gi"], "pods": ["3", "110"]}
        node["status"]["allocatable"] |= {
            resource: self._random.choice(choices) for resource, choices in sizes.items()
        }
        if self._random.random() < 0.6:
            node["spec"].pop("taints", None)
            node["spec"].pop("unschedulable", None)
        return node

    def _draw_template(self) -> Document:
        pod = self._drawn.pod("p", "default")
        for field in _ABSENT:
            pod["spec"].pop(field, None)
        pod.pop("status", None)
        if self._random.random() < 0.7:
            pod["spec"].pop("nodeSelector", None)
            pod["spec"].get("affinity", {}).pop("nodeAffinity", None)
        if self._random.random() < 0.5:
            pod["spec"].get("affinity", {}).pop("podAffinity", None)
        # A port that every node has taken once would end the sequence early.
        for container in pod["spec"]["containers"]:
            if self._random.random() < 0.7:
                container.pop("ports", None)
        return pod

    def step(self, upstream: UpstreamDecisions, number: int) -> None:
        """Delete or schedule a pod."""
        if self._placed and self._random.random() < 0.2:
            name = self._random.choice(sorted(self._placed))
            self.objects.remove(self._placed.pop(name))
            self.steps.append({"op": "delete", "name": name})
            return
        pod = copy.deepcopy(self._random.choice(self._templates))
        pod["metadata"] |= {"name": f"p{number}", "uid": f"u-p{number}"}
        found = without_nulls(upstream.expected({"objects": self.objects, "pod": pod}))
        if "error" in found:
            return
        winners = found["winners"]
        chosen = self._random.choice(winners) if winners else None
        expect = {"winners": winners, "chosen": chosen, "feasible": len(found["feasible"])}
        if "total" in found:
            expect["max_score"] = max(found["total"].values())
        if chosen is None:
            expect["message"] = found["message"]
        else:
            placed = copy.deepcopy(pod)
            placed["spec"]["nodeName"] = chosen
            self.objects.append(placed)
            self._placed[f"default/p{number}"] = placed
        self.steps.append({"op": "schedule", "pod": pod, "expect": expect})
