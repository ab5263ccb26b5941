"""Traces of the whole scheduler, drawn from a seed: pods come and go, and cycles run.

The steps are drawn without knowing what the scheduler does: a step about a pod that is gone by
then does nothing. The kinds of traces have the formats of the vectors: `cycle` (preemption, failing
calls, scripted plugins), `batching`, `gang`, and `sampling`, which is a `cycle` with a share of the
nodes of a larger cluster. `gang_preemption` and `gang_topology` are `gang` with one gate more.
"""

from __future__ import annotations

import copy
from fractions import Fraction
from random import Random
from typing import Any, Final

from tests.real_parts.decisions.generated_hints import HintObjects

Document = dict[str, Any]

GANG_GATES: Final = {"GenericWorkload": True, "GangScheduling": True}
GROUP_GATES: Final = {
    "gang": GANG_GATES,
    "gang_preemption": GANG_GATES | {"WorkloadAwarePreemption": True},
    "gang_topology": GANG_GATES | {"TopologyAwareWorkloadScheduling": True},
}
"""The gates of the kinds with groups."""
_API_VERSION = "kubescheduler.config.k8s.io/v1"
_HOSTNAME = "kubernetes.io/hostname"
_ZONE = "topology.kubernetes.io/zone"
_SECOND_NS = 10**9
_START = "2000-01-01T00:00:10Z"
_LABELS = ("a", "b", "c")
_ABSENT = ("resourceClaims", "volumes", "schedulingGates", "priority")
_CALLS = ("bind", "bind", "patch_status", "delete")
_ERRORS = ("conflict", "not_found", "forbidden", "etcd is slow")
_GROUP_SIZE = 10
_POINTS = ("reserve", "permit", "pre_bind_pre_flight", "pre_bind")


def draw_trace(kind: str, seed: int) -> Document:
    """Return a case of a kind, without what upstream makes of it."""
    return _Drawn(kind, seed).case()


def with_trace_states(case: Document, states: list[Document]) -> Document:
    """Return a trace with what upstream did in each step."""
    steps = [
        step | {"expect": _in_seconds(state, shows_batches=case["family"] == "batching")}
        for step, state in zip(case["steps"], states, strict=True)
    ]
    return case | {"steps": steps}


def _in_seconds(state: Document, *, shows_batches: bool) -> Document:
    found = {key: value for key, value in state.items() if value or key == "active"}
    found["now"] = float(Fraction(state["now"], _SECOND_NS))
    for place in ("backoff", "error_backoff"):
        found[place] = [
            [name, float(Fraction(end, _SECOND_NS))] for name, end in state.get(place) or ()
        ]
    for place in ("in_flight", "unschedulable"):
        found[place] = state.get(place) or []
    for attempt in found.get("attempts", ()):
        if not (shows_batches or "hint" in attempt["batch"]):
            del attempt["batch"]
    return found


class _Drawn:
    def __init__(self, kind: str, seed: int) -> None:
        self._gates = GROUP_GATES.get(kind, {})
        self._kind = "gang" if self._gates else kind
        self._random = Random(f"trace {kind} {seed}")
        self._rich = HintObjects(f"trace {kind} {seed}")
        self._pods: list[str] = []
        self._nodes: dict[str, Document] = {}
        self._groups: list[str] = []
        self._count = 0
        self._seed = seed
        self._steps: list[Document] = []
        self._profiles = ["default-scheduler"]
        self._has_stubs = self._kind in ("cycle", "gang") and self._chance(0.4)
        self._is_rich = self._chance(0.5)
        self._templates = [self._draw_template() for _ in range(self._random.randint(1, 4))]

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def case(self) -> Document:
        """Return the whole case."""
        config = self._draw_configuration()
        objects = self._draw_objects()
        case: Document = {"family": "cycle" if self._kind == "sampling" else self._kind}
        if self._kind == "gang":
            case["gates"] = self._gates
        if config:
            case["config"] = config
        length = 60 if self._kind == "sampling" else 45
        while len(self._steps) < length:
            self._draw_steps()
        script = self._draw_script()
        if script:
            case["script"] = script
        return case | {"start": _START, "objects": objects, "steps": self._steps}

    # The scheduler

    def _draw_configuration(self) -> Document | None:
        random = self._random
        if self._chance(0.3):
            self._profiles.append("second")
        config: Document = {"apiVersion": _API_VERSION, "kind": "KubeSchedulerConfiguration"}
        config["profiles"] = [self._draw_profile(name) for name in self._profiles]
        if self._kind == "sampling":
            config["percentageOfNodesToScore"] = random.choice([0, 1, 10, 30, 50, 70, 99, 100])
        elif self._kind == "gang" and self._gates != GANG_GATES:
            # The program changes the order of placements in a configuration.
            return config
        elif not self._has_stubs and len(self._profiles) == 1 and self._chance(0.5):
            return None
        return config

    def _draw_profile(self, name: str) -> Document:
        random = self._random
        profile: Document = {"schedulerName": name}
        plugins: Document = {}
        if self._has_stubs:
            for point in ("reserve", "permit", "preBind", "postBind"):
                enabled = [n for n in ("StubA", "StubB") if self._chance(0.4)]
                if enabled:
                    plugins[point] = {"enabled": [{"name": each} for each in enabled]}
            if self._chance(0.2):
                plugins["bind"] = {
                    "enabled": [{"name": "StubBind"}, {"name": "DefaultBinder"}],
                    "disabled": [{"name": "*"}],
                }
        if self._chance(0.15):
            plugins["score"] = {"disabled": [{"name": "ImageLocality"}]}
        if self._chance(0.1):
            plugins["postFilter"] = {"disabled": [{"name": "*"}]}
        if plugins:
            profile["plugins"] = plugins
        if self._chance(0.5 if self._kind == "batching" else 0.15):
            arguments: Document = {"apiVersion": _API_VERSION, "kind": "PodTopologySpreadArgs"}
            arguments["defaultingType"] = "List"
            profile["pluginConfig"] = [{"name": "PodTopologySpread", "args": arguments}]
        if self._chance(0.15):
            kind = random.choice(["MostAllocated", "LeastAllocated"])
            fit: Document = {"apiVersion": _API_VERSION, "kind": "NodeResourcesFitArgs"}
            fit["scoringStrategy"] = {"type": kind}
            profile.setdefault("pluginConfig", []).append({"name": "NodeResourcesFit", "args": fit})
        return profile

    def _draw_script(self) -> Document:
        random = self._random
        script: Document = {}
        if self._kind == "gang":
            # Threads bind the pods of a group, in any order.
            script["starts_by_name"] = True
        if self._kind in ("cycle", "gang") and self._chance(0.5):
            script["grace_seconds"] = random.choice([5, 30])
        if self._kind in ("cycle", "gang") and self._pods and self._chance(0.5):
            script["api"] = [self._draw_rule() for _ in range(random.randint(1, 5))]
        if self._has_stubs and self._pods:
            script["plugins"] = {
                plugin: self._draw_outcomes() for plugin in ("StubA", "StubB") if self._chance(0.8)
            }
            script["plugins"]["StubBind"] = {"bind": self._draw_pods_outcomes("bind")}
        return script

    def _draw_rule(self) -> Document:
        random = self._random
        call = random.choice(_CALLS)
        rule: Document = {"call": call, "name": random.choice(self._pods), "times": 1}
        # Which of the pods of a group uses up the rule is not certain.
        if self._kind == "cycle" and self._chance(0.15):
            rule |= {"name": "*", "times": random.randint(1, 3)}
        if call != "patch_status" and self._chance(0.4):
            rule["delay"] = random.choice([0.5, 2.5, 15, 40])
        if "delay" not in rule or self._chance(0.3):
            # A status patch that conflicts is tried again after a random time.
            errors = _ERRORS[1:] if call == "patch_status" else _ERRORS
            rule["error"] = random.choice(errors)
        return rule

    def _draw_outcomes(self) -> Document:
        return {p: self._draw_pods_outcomes(p) for p in _POINTS if self._chance(0.5)}

    def _draw_pods_outcomes(self, point: str) -> Document:
        random = self._random
        names = random.sample(self._pods, min(len(self._pods), random.randint(1, 5)))
        return {
            name: [self._draw_outcome(point) for _ in range(random.randint(1, 2))] for name in names
        }

    def _draw_outcome(self, point: str) -> Document:
        random = self._random
        # While a group is committed, a binding that fails there may be late.
        if point == "pre_bind_pre_flight" and self._kind == "gang":
            return {"status": "Skip"}
        match point:
            case "permit":
                status = random.choice(
                    ["Wait", "Wait", "Wait", "Success", "Unschedulable", "Error"]
                )
            case "pre_bind_pre_flight":
                status = random.choice(["Success", "Skip", "Skip", "Error"])
            case "bind":
                status = random.choice(["Success", "Skip", "Error"])
            case _:
                status = random.choice([
                    "Success", "Success", "Unschedulable", "UnschedulableAndUnresolvable", "Error",
                ])  # fmt: skip
        outcome: Document = {"status": status}
        if status not in ("Success", "Skip"):
            outcome["message"] = random.choice(["ledger down", "wait for the others"])
        if status == "Wait":
            outcome["timeout"] = random.choice([1.5, 4.25, 20, 300])
        if point in ("pre_bind", "bind") and self._chance(0.4):
            outcome["delay"] = random.choice([0.25, 3.5, 15])
        return outcome

    # Objects

    def _draw_objects(self) -> list[Document]:
        random = self._random
        objects = [self._rich.namespace("default")]
        count = random.randint(100, 130) if self._kind == "sampling" else random.randint(1, 6)
        objects += [self._draw_node(f"n{index}") for index in range(count)]
        if self._kind != "sampling":
            for index in range(random.choice([0, 0, 2, 4, 8])):
                pod = self._draw_pod(f"v{index}", random.choice(["default-scheduler", "other"]))
                pod["spec"]["nodeName"] = random.choice(list(self._nodes))
                # Of two pods with one port on a node, the first to go frees it upstream.
                for container in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
                    container.pop("ports", None)
                pod["status"] = {"phase": "Running", "startTime": f"2026-01-01T00:00:{index:02}Z"}
                self._pods.append(f"default/v{index}")
                objects.append(pod)
        count = random.choice([0, 0, 1, 2])
        return objects + [self._draw_budget(f"b{index}") for index in range(count)]

    def _draw_budget(self, name: str) -> Document:
        selector = {"matchLabels": {"app": self._random.choice(_LABELS)}}
        spec: Document = {"minAvailable": 1, "selector": selector}
        if self._chance(0.1):
            del spec["selector"]
        status = {"disruptionsAllowed": self._random.choice([0, 0, 1, 2]), "currentHealthy": 3}
        status |= {"desiredHealthy": 1, "expectedPods": 3}
        return {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec,
            "metadata": {"name": name, "namespace": "default"}, "status": status,
        }  # fmt: skip

    def _draw_node(self, name: str) -> Document:
        random = self._random
        zone = f"z{int(name[1:]) % random.choice([2, 3])}"
        labels = {_HOSTNAME: name, _ZONE: zone, "rack": random.choice(["r0", "r1"])}
        if self._chance(0.5):
            labels["disk"] = random.choice(["ssd", "hdd"])
        node: Document = {"apiVersion": "v1", "kind": "Node", "spec": {}}
        node["metadata"] = {"name": name, "labels": labels, "uid": f"u-{name}"}
        allocatable = {
            "cpu": random.choice(["1", "2", "2", "4", "3500m"]),
            "memory": random.choice(["4Gi", "8Gi"]),
            "pods": random.choice(["110", "110", "3", "1"]),
        }
        node["status"] = {"allocatable": allocatable}
        if self._chance(0.15):
            effect = random.choice(["NoSchedule", "PreferNoSchedule", "NoExecute"])
            node["spec"]["taints"] = [{"key": "gpu", "effect": effect}]
        if self._chance(0.05):
            node["spec"]["unschedulable"] = True
        self._nodes[name] = node
        return node

    def _draw_template(self) -> Document:
        if self._is_rich and self._chance(0.7):
            pod = self._rich.pod("p", "default")
            for field in _ABSENT:
                pod["spec"].pop(field, None)
            pod.pop("status", None)
            if self._chance(0.7):
                pod["spec"].pop("nodeSelector", None)
                pod["spec"].get("affinity", {}).pop("nodeAffinity", None)
            if self._chance(0.5):
                pod["spec"].get("affinity", {}).pop("podAffinity", None)
            if self._kind == "gang":
                # Upstream sees the terms of the group's own pods only on some nodes.
                pod["spec"].pop("affinity", None)
            for container in pod["spec"]["containers"]:
                if self._chance(0.7):
                    container.pop("ports", None)
        else:
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default"}}
            requests = {"cpu": self._random.choice(["300m", "500m", "900m", "1", "1500m", "2"])}
            if self._chance(0.5):
                requests["memory"] = self._random.choice(["64Mi", "1Gi", "3Gi"])
            container = {"name": "c", "image": "app:1", "resources": {"requests": requests}}
            pod["spec"] = {"containers": [container]}
            if self._chance(0.3):
                toleration = {"key": "gpu", "operator": "Exists"}
                pod["spec"]["tolerations"] = [toleration]
            if self._chance(0.2):
                pod["spec"]["nodeSelector"] = {"disk": "ssd"}
        if self._chance(0.7):
            pod["metadata"]["labels"] = {"app": self._random.choice(_LABELS)}
        return pod

    def _draw_pod(self, name: str, scheduler: str = "") -> Document:
        random = self._random
        pod = copy.deepcopy(random.choice(self._templates))
        pod["metadata"] |= {"name": name, "uid": f"u-{name}"}
        spec = pod["spec"]
        spec["schedulerName"] = scheduler or random.choice(self._profiles)
        if self._kind in ("cycle", "sampling") and self._chance(0.7):
            spec["priority"] = random.choice([0, 0, 1, 10, 100, -5])
        elif self._kind == "gang" and self._chance(0.2):
            spec["priority"] = random.choice([0, 10])
            if "WorkloadAwarePreemption" in self._gates and self._chance(0.1):
                spec["preemptionPolicy"] = "Never"
        if self._kind == "cycle" and self._chance(0.08):
            spec["preemptionPolicy"] = "Never"
        if self._chance(0.03):
            spec["schedulingGates"] = [{"name": "g"}]
        return pod

    # Steps

    def _add(self, op: str, **fields: Any) -> None:
        self._steps.append({"op": op, "dt": self._draw_pause(op)} | fields)

    def _draw_pause(self, op: str) -> float:
        random = self._random
        if op == "cycle" and self._kind in ("batching", "sampling"):
            return random.choice([5, 15, 40, 40, 213, 620]) / 1000
        kind = random.random()
        if kind < 0.75 or self._kind == "batching":
            return random.randint(2, 60) / 1000
        if kind < 0.9:
            return random.randint(200, 2900) / 1000
        return random.choice([5.517, 11.203, 31.401, 61.019, 301.077])

    def _draw_steps(self) -> None:
        random = self._random
        kind = random.random()
        if kind < 0.3:
            for _ in range(random.choice([1, 1, 2, 3, 5])):
                self._create()
        elif kind < 0.66:
            for _ in range(random.choice([1, 2, 3])):
                self._add("cycle")
        elif kind < 0.76:
            self._add("flush_backoff")
        elif kind < 0.8:
            self._add("flush_unschedulable")
        elif kind < 0.84:
            self._add("reap")
        elif kind < 0.87:
            self._add("tick")
        elif kind < 0.94:
            self._change_pods()
        else:
            self._change_nodes()

    def _create(self) -> None:
        self._count += 1
        if self._kind == "gang" and self._chance(0.8):
            self._create_member()
            return
        name = f"p{self._count}"
        self._pods.append(f"default/{name}")
        self._add("create", object=self._draw_pod(name))

    def _create_member(self) -> None:
        random = self._random
        if not self._groups or self._chance(0.25):
            name = f"g{len(self._groups)}"
            self._groups.append(name)
            policy: Document = {"gang": {"minCount": random.randint(1, 4)}}
            if self._chance(0.2):
                policy = {"basic": {}}
            group: Document = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}
            group["metadata"] = {"name": name, "namespace": "default", "uid": f"u-{name}"}
            group["spec"] = {"schedulingPolicy": policy} | self._draw_group_fields()
            if self._chance(0.9):
                self._add("create", object=group)
        group_name = random.choice(self._groups[-2:])
        # Upstream sorts more than twelve pods in an order that is not stable.
        if sum(name.startswith(f"default/{group_name}-") for name in self._pods) >= _GROUP_SIZE:
            return
        name = f"{group_name}-{self._count}"
        pod = self._draw_pod(name)
        pod["spec"]["schedulingGroup"] = {"podGroupName": group_name}
        if self._chance(0.9):
            pod["spec"]["schedulerName"] = self._profiles[0]
        self._pods.append(f"default/{name}")
        self._add("create", object=pod)

    def _draw_group_fields(self) -> Document:
        random = self._random
        fields: Document = {}
        if "TopologyAwareWorkloadScheduling" in self._gates and self._chance(0.8):
            key = random.choice([_ZONE, "rack", "disk", _HOSTNAME])
            fields["schedulingConstraints"] = {"topology": [{"key": key}]}
        if "WorkloadAwarePreemption" in self._gates:
            if self._chance(0.7):
                fields["priority"] = random.choice([0, 10, 100])
            if self._chance(0.6):
                fields["disruptionMode"] = random.choice(["Pod", "PodGroup", "PodGroup"])
        return fields

    def _change_pods(self) -> None:
        random = self._random
        if not self._pods:
            return
        name = random.choice(self._pods)
        match random.choice(["delete", "delete", "terminate", "update", "allow", "reject"]):
            case "update":
                created = [s["object"] for s in self._steps if s["op"] in ("create", "update")]
                pods = [each for each in created if each["kind"] == "Pod"]
                if pods:
                    pod = copy.deepcopy(random.choice(pods))
                    self._change_pod(pod)
                    self._add("update", object=pod)
            case "allow" | "reject" as op:
                if self._has_stubs:
                    plugin = random.choice(["StubA", "StubB"])
                    message = {} if op == "allow" else {"message": "told to"}
                    self._add(op, name=name, plugin=plugin, **message)
            case op:
                self._add(op, name=name)

    def _change_pod(self, pod: Document) -> None:
        random = self._random
        match random.randrange(4):
            case 0:
                pod["metadata"]["labels"] = {"app": random.choice(_LABELS)}
            case 1:
                pod["spec"].pop("schedulingGates", None)
            case 2:
                pod["spec"]["tolerations"] = [{"operator": "Exists"}]
            case _:
                pod["metadata"]["annotations"] = {"a": str(random.random())}

    def _change_nodes(self) -> None:
        random = self._random
        if self._chance(0.3) or not self._nodes:
            name = f"n{200 + self._count + len(self._nodes)}"
            self._add("create", object=copy.deepcopy(self._draw_node(name)))
            return
        name = random.choice(list(self._nodes))
        if self._chance(0.2):
            del self._nodes[name]
            self._add("delete", kind="Node", name=name)
            return
        node = copy.deepcopy(self._nodes[name])
        match random.randrange(4):
            case 0:
                node["status"]["allocatable"]["cpu"] = random.choice(["1", "2", "4", "8"])
            case 1:
                node["spec"].pop("taints", None)
            case 2:
                node["spec"]["unschedulable"] = True
            case _:
                node["metadata"]["labels"]["disk"] = random.choice(["ssd", "hdd"])
        self._nodes[name] = node
        self._add("update", object=copy.deepcopy(node))
