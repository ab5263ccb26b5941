"""Pods and nodes for single decisions, drawn from a seed: many features of the scheduler at once.

Values come from few choices, so that pods often just fit, and terms often match some of the
nodes. Objects are as the API server stores them; a share has values that it would refuse.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.real_parts.decisions.generated_profiles import draw_configuration
from tests.real_parts.decisions.generated_terms import (
    HOSTNAME,
    REGION,
    ZONE,
    draw_affinity,
    draw_pod_labels,
    draw_pod_selector,
    draw_spreading,
    draw_toleration,
)
from tests.real_parts.decisions.generated_volumes import DrawnVolumes

Document = dict[str, Any]

FEATURES: Final = (
    "resources", "odd quantities", "taints", "node affinity", "pod affinity", "spreading", "ports",
    "images", "volumes", "declared features", "preemption", "configuration", "odd objects",
)  # fmt: skip
"""Of each seed some are drawn; all at once would leave few feasible nodes."""

NAMESPACES: Final[dict[str, Document]] = {
    "default": {"team": "a"},
    "prod": {"team": "a", "env": "prod"},
    "dev": {"team": "b", "env": ""},
    "bare": {},
}
_GPU, _FPGA, _HUGE = "example.com/gpu", "example.org/fpga", "hugepages-2Mi"
_CPU = ("0", "1m", "100m", "250m", "500m", "999m", "1", "1.5", "2", "1e0")
_MEMORY = ("0", "1", "128Mi", "512Mi", "500M", "1Gi", "1G", "1.5Gi", "2Gi", "1e9")
_OVERFLOW = "9223372036854775807"
_WHOLE_MEMORY = ("0", "128Mi", "500M", "1536Mi", "2Gi")
_ODD_CPU = ("100u", "1n", "0.1m", "1500u", "1e-4", "1Mi", _OVERFLOW, "9E", "1E", "8Ei")
_ODD_MEMORY = ("1500m", "0.5", "1n", "1Pi", "1e15", _OVERFLOW, "8Ei", "7Ei", "1e18", "12E")
_NODE_CPU = ("1", "2", "2000m", "4", "3920m", "8")
_NODE_MEMORY = ("2Gi", "4Gi", "4096Mi", "7500Mi", "8589934592", "8G")
_SIZES = (0, 1, 23 << 20, 24 << 20, 100 << 20, 419430400, 943718400, 1 << 30, 3 << 30, 1 << 40)


class DrawnCluster:
    """One cluster and one pending pod, drawn from a seed.

    Attributes
    ----------
    objects : list of dict
        Everything but the pod.
    pod : dict
    configuration : dict or None
    """

    def __init__(self, seed: int | str) -> None:
        self.random = Random(seed)
        self.features = {each for each in FEATURES if self.chance(0.35)}
        self.objects: list[Document] = []
        count = self.random.choice([1, 2, 3, 3, 4, 5, 6, 8, 12])
        self.nodes = [f"n{index}" for index in range(count)]
        self._draw_namespaces()
        self._started = 0
        self._sizes = [self.random.choice(_SIZES) for _ in range(6)]
        zones = self.random.choice([0, 1, 2, 2, 3])
        for index, name in enumerate(self.nodes):
            self._draw_node(index, name, zones)
        self.volumes = DrawnVolumes(self.random, self.nodes) if self.has("volumes") else None
        self._draw_pods()
        self._draw_workloads()
        self._draw_budgets()
        self.pod = self._draw_pending("pending")
        if self.volumes is not None:
            self.objects += self.volumes.objects
        self.configuration = draw_configuration(self.random) if self.has("configuration") else None
        if self.configuration is not None and self.chance(0.3):
            profiles = [each["schedulerName"] for each in self.configuration["profiles"]]
            self.pod["spec"]["schedulerName"] = self.random.choice([*profiles, "unknown"])

    def case(self) -> Document:
        """Return the cluster as a case for the comparison."""
        case: Document = {"family": "mixed", "objects": self.objects, "pod": self.pod}
        if self.configuration is not None:
            case["config"] = self.configuration
        return case

    def has(self, feature: str) -> bool:
        """Return true if a feature was drawn."""
        return feature in self.features

    def chance(self, share: float) -> bool:
        """Return true with a probability."""
        return self.random.random() < share

    def _draw_namespaces(self) -> None:
        for name, labels in NAMESPACES.items():
            if self.has("odd objects") and self.chance(0.1):
                continue
            metadata = {"name": name, "labels": {"kubernetes.io/metadata.name": name} | labels}
            self.objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})

    # Nodes

    def _draw_node(self, index: int, name: str, zones: int) -> None:
        random = self.random
        labels = {HOSTNAME: name}
        if zones and not self.chance(0.1):
            labels[ZONE] = f"z{index % zones}"
        if self.chance(0.2):
            labels[REGION] = random.choice(["r0", "r1"])
        optional = {
            "disk": ["ssd", "hdd", ""], "rack": ["r0", "r1", "r2"], "arch": ["amd64", "arm64"],
            "gen": ["1", "2", "3", "05", "-1", "x", "", "9223372036854775807", "1.5", "+2"],
        }  # fmt: skip
        for key, values in optional.items():
            if self.chance(0.6):
                labels[key] = random.choice(values)
        if self.has("odd objects") and self.chance(0.1):
            del labels[HOSTNAME]
        node: Document = {"apiVersion": "v1", "kind": "Node"}
        node["metadata"] = {"name": name, "labels": labels}
        node["spec"] = self._node_spec()
        node["status"] = {"allocatable": self._draw_allocatable()}
        if self.has("odd objects") and self.chance(0.05):
            node["status"] = {}
        if self.has("images") or self.chance(0.05):
            node["status"]["images"] = self._draw_node_images()
        if self.has("declared features") and self.chance(0.7):
            declared = [
                "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport",
                "InPlacePodLevelResourcesVerticalScaling", "ExtendWebSocketsToKubelet",
                "GuaranteedQoSPodCPUResize", "SomethingElse",
            ]  # fmt: skip
            node["status"]["declaredFeatures"] = sorted(
                random.sample(declared, random.randint(0, 4))
            )
        self.objects.append(node)

    def _node_spec(self) -> Document:
        spec: Document = {}
        taints = []
        if self.has("taints"):
            taints = [self._draw_taint() for _ in range(self.random.choice([0, 0, 1, 1, 2, 3]))]
        if self.chance(0.15 if self.has("taints") else 0.03):
            spec["unschedulable"] = True
            if self.chance(0.7):
                taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
        if taints:
            spec["taints"] = taints
        return spec

    def _draw_taint(self) -> Document:
        random = self.random
        taint: Document = {"key": random.choice(["dedicated", "spot", "gpu", "tier"])}
        if self.chance(0.6):
            taint["value"] = random.choice(["a", "b", "1", "5", ""])
        taint["effect"] = random.choice([
            "NoSchedule", "NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute",
        ])  # fmt: skip
        return taint

    def _draw_allocatable(self) -> Document:
        random = self.random
        found = {
            "cpu": random.choice(_NODE_CPU),
            "memory": random.choice(_NODE_MEMORY),
            "pods": random.choice(["110", "110", "110", "10", "4", "3", "2"]),
        }
        if self.has("resources"):
            optional = {
                "ephemeral-storage": ["10Gi", "1Gi", "0", "5G"], _GPU: ["0", "1", "4", "8"],
                _FPGA: ["1", "2"], _HUGE: ["0", "4Mi", "64Mi"], "hugepages-1Gi": ["1Gi"],
                "example.com/odd": ["1500m", "3", "2500u"],
            }  # fmt: skip
            for key, values in optional.items():
                if self.chance(0.6):
                    found[key] = random.choice(values)
        if self.has("odd quantities") and self.chance(0.3):
            found["cpu"] = random.choice([self._draw_odd(_ODD_CPU), "0", "-1"])
        if self.has("odd quantities") and self.chance(0.3):
            found["memory"] = random.choice([self._draw_odd(_ODD_MEMORY), "0", "-1Gi"])
        if self.has("odd objects"):
            if self.chance(0.1):
                del found[random.choice(sorted(found))]
            if self.chance(0.05):
                found["pods"] = random.choice(["0", "1500m", "1e1", "-1", "3k"])
        return found

    def _draw_node_images(self) -> list[Document]:
        random = self.random
        images = []
        for index in range(6):
            if not self.chance(0.5):
                continue
            names = random.choice([
                [f"registry/app-{index}:v1"],
                [f"registry/app-{index}:latest", f"registry/app-{index}@sha256:{index:064d}"],
                [f"app-{index}:latest"],
                [f"docker.io/library/app-{index}:latest"],
                [f"registry:5000/app-{index}:latest", f"registry/app-{index}:v1"],
                [],
            ])  # fmt: skip
            # One size for each image: of several the node that comes first gives it.
            images.append({"names": names, "sizeBytes": self._sizes[index]})
        return images

    # Pods

    def _draw_pods(self) -> None:
        random = self.random
        crowded = self.has("preemption") and self.chance(0.7)
        for index, node in enumerate(self.nodes):
            for number in range(random.choice([1, 2, 3, 4, 5] if crowded else [0, 0, 1, 1, 2, 4])):
                pod = self._draw_pod(
                    f"e{index}-{number}", random.choice(["default"] * 3 + ["prod", "dev"])
                )
                pod["spec"]["nodeName"] = node
                self._draw_running(pod)
                self.objects.append(pod)
        for number in range(random.choice([0, 0, 1, 2, 3]) if self.has("preemption") else 0):
            pod = self._draw_pod(f"waiting-{number}", "default")
            pod["status"] = {"phase": "Pending"}
            pod["status"]["nominatedNodeName"] = random.choice([*self.nodes, "ghost"])
            self.objects.append(pod)

    def _draw_running(self, pod: Document) -> None:
        random = self.random
        self._started += 1
        minute, second = divmod(self._started * 7 % 3600, 60)
        status: Document = {"phase": random.choice(["Running"] * 6 + ["Pending"])}
        status["startTime"] = f"2026-01-01T00:{minute:02d}:{second:02d}Z"
        if self.chance(0.08):
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T01:23:20Z"
            pod["metadata"]["deletionGracePeriodSeconds"] = 30
            if self.chance(0.7):
                reason = random.choice(["PreemptionByScheduler", "EvictionByEvictionAPI"])
                condition = {"type": "DisruptionTarget", "status": "True", "reason": reason}
                status["conditions"] = [condition]
        if self.has("odd objects"):
            if self.chance(0.1):
                status["phase"] = random.choice(["Succeeded", "Failed", "Unknown"])
            if self.chance(0.05):
                pod["spec"]["nodeName"] = "ghost"
        if self.has("resources") and self.chance(0.3):
            self._draw_resize(pod, status)
        pod["status"] = status

    def _draw_resize(self, pod: Document, status: Document) -> None:
        random = self.random

        def requests() -> Document:
            return {"cpu": random.choice(_CPU), "memory": random.choice(_MEMORY)}

        def statuses(containers: list[Document]) -> list[Document]:
            found = []
            for container in containers:
                if self.chance(0.2):
                    continue
                entry: Document = {"name": container["name"], "ready": True, "restartCount": 0}
                if self.chance(0.8):
                    entry["resources"] = {"requests": requests()}
                if self.chance(0.6):
                    entry["allocatedResources"] = requests()
                found.append(entry)
            return found

        status["containerStatuses"] = statuses(pod["spec"]["containers"])
        status["initContainerStatuses"] = statuses(pod["spec"].get("initContainers", []))
        if self.chance(0.3):
            status["resources"] = {"requests": requests()}
        if self.chance(0.3):
            status["allocatedResources"] = requests()
        if self.chance(0.5):
            kind = random.choice(["PodResizePending", "PodResizeInProgress"])
            condition = {"type": kind, "status": "True"}
            condition["reason"] = random.choice(["Infeasible", "Deferred", ""])
            status.setdefault("conditions", []).append(condition)

    def _draw_pod(self, name: str, namespace: str) -> Document:
        random = self.random
        metadata: Document = {"name": name, "namespace": namespace, "uid": f"u-{namespace}-{name}"}
        labels = draw_pod_labels(random)
        if labels:
            metadata["labels"] = labels
        spec: Document = {"schedulerName": "default-scheduler"}
        self._draw_containers(spec)
        if self.chance(0.7 if self.has("preemption") else 0.1):
            spec["priority"] = random.choice([0, 0, 1, 5, 10, 10, 100, -5, 2000000000])
        share = 0.35 if name != "pending" else 0.8
        if self.has("pod affinity") and self.chance(share):
            draw_affinity(random, spec, of_pods=True)
        if self.has("node affinity") and self.chance(share):
            draw_affinity(random, spec, of_pods=False, nodes=self.nodes)
        if self.has("spreading") and self.chance(share):
            spec["topologySpreadConstraints"] = draw_spreading(random, labels)
        if self.has("taints") and self.chance(share):
            spec["tolerations"] = [draw_toleration(random) for _ in range(random.randint(1, 3))]
        if self.volumes is not None and self.chance(share):
            self.volumes.draw_for(name, namespace, metadata["uid"], spec)
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def _draw_pending(self, name: str) -> Document:
        random = self.random
        pod = self._draw_pod(name, random.choice(["default", "default", "default", "prod"]))
        spec = pod["spec"]
        if self.has("preemption"):
            spec["priority"] = random.choice([10, 10, 50, 100, 1000, 0])
            if self.chance(0.2):
                spec["preemptionPolicy"] = random.choice(["Never", "PreemptLowerPriority"])
            if self.chance(0.2):
                pod["status"] = {"nominatedNodeName": random.choice([*self.nodes, "ghost"])}
        if self.chance(0.02):
            spec["schedulingGates"] = [{"name": "example.com/a"}]
        if self.chance(0.03):
            spec["nodeName"] = random.choice([*self.nodes, "ghost"])
        if self.chance(0.1):
            owner = {"apiVersion": "apps/v1", "kind": random.choice(["ReplicaSet", "StatefulSet"])}
            owner |= {"name": "w", "uid": "u-w"}
            pod["metadata"]["ownerReferences"] = [owner | {"controller": self.chance(0.9)}]
        return pod

    # Containers

    def _draw_containers(self, spec: Document) -> None:
        random = self.random
        spec["containers"] = [
            self._draw_container(f"c{index}") for index in range(random.choice([1, 1, 1, 2, 3]))
        ]
        if self.chance(0.25):
            spec["initContainers"] = [
                self._draw_container(f"i{index}", init=True)
                for index in range(random.randint(1, 3))
            ]
        if self.has("resources"):
            if self.chance(0.15):
                spec["overhead"] = self._draw_requests()
            if self.chance(0.15):
                # Upstream adds overhead to a decimal amount in place, again and again.
                spec["resources"] = self._draw_resources(_WHOLE_MEMORY)
        if self.has("ports") and self.chance(0.2):
            spec["hostNetwork"] = True
        if self.has("declared features"):
            if self.chance(0.3):
                spec["hostUsers"] = self.chance(0.3)
                spec["hostNetwork"] = self.chance(0.7)
            if self.chance(0.4):
                rule = {"action": random.choice(["RestartAllContainers", "Restart"])}
                codes = {"operator": "In", "values": [3]}
                containers = [*spec["containers"], *spec.get("initContainers", [])]
                target = random.choice(containers)
                target["restartPolicyRules"] = [rule | {"exitCodes": codes}]
                target.setdefault("restartPolicy", "Never")

    def _draw_container(self, name: str, *, init: bool = False) -> Document:
        random = self.random
        container: Document = {"name": name, "image": self._draw_image()}
        if self.chance(0.85):
            container["resources"] = self._draw_resources()
        if init and self.chance(0.4):
            container["restartPolicy"] = "Always"
        if self.has("ports") and self.chance(0.5):
            container["ports"] = [self._draw_port() for _ in range(random.randint(1, 2))]
        return container

    def _draw_image(self) -> str:
        index = self.random.randrange(6)
        return self.random.choice([
            f"registry/app-{index}:v1", f"registry/app-{index}", f"app-{index}",
            f"registry/app-{index}@sha256:{index:064d}", f"registry:5000/app-{index}",
            f"registry/app-{index}:latest", f"docker.io/library/app-{index}:latest", "",
        ])  # fmt: skip

    def _draw_port(self) -> Document:
        random = self.random
        port: Document = {"containerPort": random.choice([80, 443, 8080])}
        if self.chance(0.85):
            port["hostPort"] = random.choice([80, 443, 8080, 0])
        if self.chance(0.9):
            port["protocol"] = random.choice(["TCP", "TCP", "UDP", "SCTP"])
        if self.chance(0.5):
            port["hostIP"] = random.choice(["0.0.0.0", "10.0.0.1", "127.0.0.1", "::", "::1", ""])
        return port

    def _draw_resources(self, memory: tuple[str, ...] = ()) -> Document:
        requests = self._draw_requests()
        if memory:
            requests["cpu"] = self.random.choice(_CPU)
            requests["memory"] = self.random.choice(memory)
            if self.chance(0.3):
                del requests[self.random.choice(["cpu", "memory"])]
        found: Document = {"requests": requests}
        limits = {key: value for key, value in requests.items() if "/" in key or key == _HUGE}
        if self.chance(0.2):
            limits |= requests
        if limits:
            found["limits"] = limits
        return found

    def _draw_requests(self) -> Document:
        random = self.random
        found = {}
        if self.chance(0.85):
            found["cpu"] = random.choice(_CPU)
        if self.chance(0.85):
            found["memory"] = random.choice(_MEMORY)
        if self.has("resources"):
            optional = {
                "ephemeral-storage": ["0", "100Mi", "1Gi", "1k"], _GPU: ["0", "1", "2"],
                _FPGA: ["1"], _HUGE: ["2Mi", "4Mi"], "example.com/odd": ["1", "500m", "1500u"],
                "absent.example/x": ["0", "1"],
            }  # fmt: skip
            for key, values in optional.items():
                if self.chance(0.06 if key == "absent.example/x" else 0.2):
                    found[key] = random.choice(values)
        if self.has("odd quantities") and self.chance(0.12):
            found["cpu"] = self._draw_odd(_ODD_CPU)
        if self.has("odd quantities") and self.chance(0.12):
            found["memory"] = self._draw_odd(_ODD_MEMORY)
        return found

    def _draw_odd(self, amounts: tuple[str, ...]) -> str:
        """Return an odd amount; one that overflows only where no dry run adds it up again."""
        limit = len(amounts) if "preemption" not in self.features else amounts.index(_OVERFLOW)
        return self.random.choice(amounts[:limit])

    # Other objects

    def _draw_workloads(self) -> None:
        random = self.random
        if not (self.has("configuration") or self.has("spreading") or self.chance(0.2)):
            return
        for index in range(random.choice([0, 1, 1, 2])):
            service: Document = {"apiVersion": "v1", "kind": "Service"}
            service["metadata"] = {
                "name": f"s{index}",
                "namespace": random.choice(["default", "prod"]),
            }
            service["spec"] = {"selector": draw_pod_labels(random)}
            self.objects.append(service)
        if self.chance(0.6):
            kind = random.choice(["ReplicaSet", "StatefulSet"])
            selector = draw_pod_selector(random) or {}
            workload: Document = {"apiVersion": "apps/v1", "kind": kind}
            workload["metadata"] = {"name": "w", "namespace": "default", "uid": "u-w"}
            labels = draw_pod_labels(random)
            template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c"}]}}
            workload["spec"] = {"replicas": 3, "selector": selector, "template": template}
            self.objects.append(workload)

    def _draw_budgets(self) -> None:
        random = self.random
        if not self.has("preemption"):
            return
        for index in range(random.choice([0, 1, 1, 2, 3])):
            budget: Document = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
            namespace = random.choice(["default", "default", "prod"])
            budget["metadata"] = {"name": f"b{index}", "namespace": namespace}
            budget["spec"] = {"minAvailable": 1}
            selector = draw_pod_selector(random)
            if selector is not None:
                budget["spec"]["selector"] = selector
            status: Document = {"disruptionsAllowed": random.choice([0, 0, 1, 2, -1])}
            status |= {"currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3}
            if self.chance(0.3):
                names = [each["metadata"]["name"] for each in self.objects if each["kind"] == "Pod"]
                chosen = random.sample(names, min(len(names), 2))
                status["disruptedPods"] = dict.fromkeys(chosen, "2026-01-01T00:00:10Z")
            budget["status"] = status
            self.objects.append(budget)
