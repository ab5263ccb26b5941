"""Single decisions with extenders, drawn from a seed.

The extenders are rules, in the form of the vectors of family extenders.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.real_parts.decisions.generated_pods import DrawnCluster

Document = dict[str, Any]

_API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
_VERBS: Final = ("filter", "prioritize", "preempt", "bind")
_RESOURCES = ("example.com/gpu", "example.org/fpga", "example.com/odd")
_REASONS = ("gpu busy", "rack full", "not in pool")
_RAW = ("", "{}", "null", "[]", "{", '"x"', '{"NodeNames": null}', '{"Error": "raw"}')


def draw_extender_case(seed: int) -> Document:
    """Return a case without what upstream makes of it."""
    return _Drawn(seed).case()


class _Drawn:
    def __init__(self, seed: int) -> None:
        self._random = Random(f"extenders {seed}")
        self._cluster = DrawnCluster(f"extenders {seed}")
        self._managed: list[str] = []

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def case(self) -> Document:
        """Return the whole case."""
        pod = self._cluster.pod
        pod["spec"]["schedulerName"] = "default-scheduler"
        # Pods that are held back or that fail in a filter have other families.
        pod["spec"].pop("schedulingGates", None)
        if self._chance(0.6):
            # Extenders score and bind pods that fit on several nodes.
            for constraint in ("affinity", "nodeSelector", "topologySpreadConstraints", "nodeName"):
                pod["spec"].pop(constraint, None)
            for container in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
                container.pop("ports", None)
                amounts = {"cpu": "10m"} | ({"example.com/gpu": "0"} if self._chance(0.3) else {})
                container["resources"] = {"requests": amounts}
        count = self._random.randint(1, 3)
        config: Document = {"apiVersion": _API_VERSION, "kind": "KubeSchedulerConfiguration"}
        config["profiles"] = [{"schedulerName": "default-scheduler"}]
        extenders = [self._draw_extender(index) for index in range(count)]
        binders = [each for each in extenders if "bindVerb" in each]
        for each in binders[1:]:
            del each["bindVerb"]
        config["extenders"] = extenders
        return {
            "family": "extenders", "config": config, "objects": self._cluster.objects, "pod": pod,
            "extenders_behaviour": [self._draw_rules() for _ in range(count)],
        }  # fmt: skip

    def _draw_extender(self, index: int) -> Document:
        random = self._random
        shares = {"filter": 0.7, "prioritize": 0.6, "preempt": 0.4, "bind": 0.25}
        extender: Document = {"urlPrefix": f"http://extender-{index}.example:8100/x"}
        extender["weight"] = random.choice([1, 1, 2, 10, 100])
        extender |= {f"{verb}Verb": verb for verb in _VERBS if self._chance(shares[verb])}
        if self._chance(0.5):
            extender["nodeCacheCapable"] = True
        if self._chance(0.3):
            extender["ignorable"] = True
        if self._chance(0.35):
            free = [name for name in _RESOURCES if name not in self._managed]
            named = random.sample(free, min(len(free), random.randint(1, 2)))
            self._managed += named
            extender["managedResources"] = [{"name": n} | self._draw_ignored() for n in named]
        return extender

    def _draw_ignored(self) -> Document:
        return {"ignoredByScheduler": True} if self._chance(0.4) else {}

    def _draw_rules(self) -> Document:
        return {verb: self._draw_rule(verb) for verb in _VERBS}

    def _draw_rule(self, verb: str) -> Document:
        random = self._random
        nodes = self._cluster.nodes
        if self._chance(0.06):
            return random.choice([{"drop": True}, {"status": 500}, {"status": 404, "raw": "{}"}])
        if self._chance(0.05):
            return {"raw": random.choice(_RAW)}
        match verb:
            case "filter":
                return self._draw_filter(nodes)
            case "prioritize":
                scores = [0, 1, 5, 10, 10, 100, -3]
                named = random.sample(nodes, random.randint(0, len(nodes)))
                if self._chance(0.1):
                    named += random.choices([*nodes, "ghost"], k=2)
                return {"scores": [[name, random.choice(scores)] for name in named]}
            case "preempt":
                rule: Document = {}
                if self._chance(0.5):
                    rule["keep"] = random.sample(nodes, random.randint(0, len(nodes)))
                if self._chance(0.15):
                    rule["victims"] = {random.choice(nodes): self._draw_victims()}
                return rule
            case _:
                return {"error": "taken"} if self._chance(0.15) else {}

    def _draw_victims(self) -> Document:
        pods = [each for each in self._cluster.objects if each["kind"] == "Pod"]
        uids = [each["metadata"]["uid"] for each in pods] or ["u-unknown"]
        return {"uids": self._random.sample(uids, 1), "pdb_violations": self._random.randint(0, 2)}

    def _draw_filter(self, nodes: list[str]) -> Document:
        random = self._random
        rule: Document = {}
        if self._chance(0.5):
            rule["failed"] = self._draw_failed([*nodes, "ghost"])
        if self._chance(0.25):
            rule["unresolvable"] = self._draw_failed(nodes)
        if self._chance(0.25):
            rule["nodes"] = random.sample(nodes, random.randint(0, len(nodes)))
        if self._chance(0.08):
            rule["form"] = random.choice(["nodes", "node_names", "both", "none"])
        if self._chance(0.05):
            rule["error"] = "no answer today"
        return rule

    def _draw_failed(self, nodes: list[str]) -> dict[str, str]:
        random = self._random
        named = random.sample(nodes, random.randint(0, max(1, len(nodes) // 2)))
        return {name: random.choice(_REASONS) for name in named}
