"""Changes of objects beside a pod that waits, drawn from a seed, for queueing hints.

An update changes few fields of the old object, so that most hints see a difference that matters to
some plugin only. Values come from few choices, odd ones among them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any, Final

from podwright.apimachinery.schema import decode
from podwright.scheduler.framework import UNSCHEDULABLE_POD
from podwright.scheduler.queueing import derive_events

Document = dict[str, Any]

_HOSTNAME = "kubernetes.io/hostname"
_ZONE = "topology.kubernetes.io/zone"
_REGION = "topology.kubernetes.io/region"
_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_KEYS: Final = (_HOSTNAME, _ZONE, "rack", "disk")
_GPU: Final = "example.com/gpu"
_CPU: Final = ("0", "100m", "0.1", "500m", "1", "1000m", "2", "100u", "1500u", "1e0", "8")
_MEMORY: Final = ("0", "64Mi", "67108864", "1Gi", "1500m", "1", "1Ki", "2G", "1e9")
_COUNT: Final = ("0", "1", "2", "500m", "1k")
_NAMESPACES: Final = ("default", "prod", "dev", "bare")
_LABELS: Final = {
    "app": ("web", "db", "cache", "job", ""),
    "tier": ("front", "back"),
    "ver": ("v1", "v2", "1", "2"),
}
_STORAGE = "storage.k8s.io/v1"
_DRIVERS: Final = ("csi.a.com", "ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com")
_FEATURES: Final = ("GuaranteedQoSPodCPUResize", "RestartAllContainersOnContainerExits", "Other")


def draw_hints_case(seed: int) -> Document:
    """Return a case of family hints."""
    return HintObjects(f"hints {seed}").case()


class HintObjects:
    """Objects and changes, drawn from a seed."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def pod(self, name: str, namespace: str) -> Document:
        """Return a pending pod."""
        return self._draw_pod(name, namespace)

    def node(self, name: str) -> Document:
        """Return a node."""
        node = self._draw_node()
        node["metadata"]["name"] = name
        node["metadata"].setdefault("labels", {})[_HOSTNAME] = name
        return node

    def namespace(self, name: str) -> Document:
        """Return a namespace of the cluster."""
        return _namespace(name)

    def placed_pod(self, name: str, namespace: str) -> Document:
        """Return a pod on a node, sometimes in the middle of a resize."""
        return self._draw_placed(name, namespace)

    def change_pod(self, pod: Document) -> None:
        """Change a field or two of a pod."""
        self._change_pod(pod)

    def event(self) -> Document:
        """Return a cluster event, with its objects, that is not of a pending pod."""
        while True:
            change: Document = self._pick([self._draw_node_change, self._draw_pod_change])()
            old, new = (_typed(change.get(side)) for side in ("old", "new"))
            events = derive_events(old, new)
            if events and events[0].resource != UNSCHEDULABLE_POD:
                event = self._pick(events)
                return {"resource": event.resource, "action": event.action.label} | change

    def case(self) -> Document:
        """Return a case of family hints."""
        pod = self._draw_pod("pending", self._pick(_NAMESPACES))
        change = self._draw_change(pod)
        objects = [_namespace(name) for name in _NAMESPACES]
        kept = change["new"] if "new" in change else change["old"]
        if self._chance(0.3):
            others = [self._draw_claim(name) for name in ("c1", "c2")]
            others += [self._draw_volume("pv1"), self._draw_csi_node("n1")]
            objects += [each for each in others if _identity(each) != _identity(kept)]
        return {"family": "hints", "objects": objects, "pod": pod, "change": change}

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _pick(self, choices: Any) -> Any:
        return self.random.choice(list(choices))

    # What changes

    def _draw_change(self, pod: Document) -> Document:
        draw = self._pick(
            [self._draw_node_change] * 4
            + [self._draw_pod_change] * 4
            + [self._draw_storage_change] * 3
            + [self._draw_device_change]
            + [lambda: self._draw_self_change(pod)] * 3
        )
        found: Document = draw()
        return found

    def _draw_some(self, draw: Any, change: Any) -> Document:
        """Return an object that is added, deleted, or changed."""
        old = draw()
        kind = self.random.random()
        if kind < 0.25:
            return {"new": old}
        if kind < 0.5:
            return {"old": old}
        new = copy.deepcopy(old)
        new["metadata"]["resourceVersion"] = "9"
        for _ in range(self.random.choice([0, 1, 1, 1, 2, 3])):
            change(new)
        return {"old": old, "new": new}

    def _draw_node_change(self) -> Document:
        return self._draw_some(self._draw_node, self._change_node)

    def _draw_pod_change(self) -> Document:
        name = "other"
        namespace = self._pick(_NAMESPACES)
        found = self._draw_some(lambda: self._draw_placed(name, namespace), self._change_pod)
        if self._chance(0.08):
            for side in found.values():
                side["spec"].pop("nodeName", None)
            if ("new" in found and "old" not in found) or ("new" in found and self._chance(0.5)):
                found["new"]["spec"]["nodeName"] = "n1"
        return found

    def _draw_self_change(self, pod: Document) -> Document:
        new = copy.deepcopy(pod)
        new["metadata"]["resourceVersion"] = "9"
        for _ in range(self.random.choice([0, 1, 1, 1, 2, 3])):
            self._change_pod(new)
        return {"old": copy.deepcopy(pod), "new": new}

    def _draw_storage_change(self) -> Document:
        draws = {
            "claim": lambda: self._draw_claim(self._pick(["c1", "c2", "pending-e", "x"])),
            "volume": lambda: self._draw_volume("pv1"),
            "class": self._draw_class,
            "csi node": lambda: self._draw_csi_node("n1"),
            "driver": self._draw_driver,
            "capacity": self._draw_capacity,
            "attachment": self._draw_attachment,
        }
        name = self._pick(draws)
        return self._draw_some(draws[name], lambda obj: self._change_storage(obj, draws[name]))

    def _change_storage(self, obj: Document, draw: Any) -> None:
        """Take one field of another drawn object."""
        other = draw()
        parts = [key for key in other if key not in ("apiVersion", "kind", "metadata")]
        part = self._pick([*parts, "metadata"])
        if part == "metadata":
            for field in ("labels", "annotations"):
                obj["metadata"].pop(field, None)
                if field in other["metadata"]:
                    obj["metadata"][field] = other["metadata"][field]
            return
        if isinstance(other[part], dict) and isinstance(obj.get(part), dict) and other[part]:
            field = self._pick(other[part])
            obj[part][field] = other[part][field]
        else:
            obj[part] = other[part]

    def _draw_device_change(self) -> Document:
        draw = self._pick([self._draw_device_class, self._draw_slice, self._draw_device_claim])
        return self._draw_some(draw, lambda obj: self._change_storage(obj, draw))

    # Nodes

    def _draw_node(self) -> Document:
        labels = {_HOSTNAME: "n1"} if self._chance(0.9) else {}
        labels |= self._draw_node_labels()
        node: Document = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1", "labels": labels},
            "spec": {},
            "status": {"allocatable": self._draw_allocatable()},
        }
        if not labels and self._chance(0.5):
            del node["metadata"]["labels"]
        if self._chance(0.5):
            node["spec"]["taints"] = self._draw_taints()
        if self._chance(0.25):
            node["spec"]["unschedulable"] = True
        if self._chance(0.3):
            node["status"]["conditions"] = self._draw_conditions()
        if self._chance(0.2):
            node["status"]["declaredFeatures"] = self._draw_features()
        return node

    def _draw_features(self) -> list[str]:
        return sorted(self.random.sample(_FEATURES, self.random.randint(0, 2)))

    def _draw_node_labels(self) -> dict[str, str]:
        choices = {
            _ZONE: ("z0", "z1"),
            _REGION: ("r0",),
            "rack": ("r0", "r1"),
            "disk": ("ssd", "hdd"),
            "gen": ("1", "2", "x", "03"),
        }
        return {key: self._pick(choices[key]) for key in choices if self._chance(0.5)}

    def _draw_allocatable(self) -> dict[str, str]:
        found = {"cpu": self._pick(_CPU), "memory": self._pick(_MEMORY)}
        found["pods"] = self._pick(["0", "1", "110", "110", "110"])
        if self._chance(0.4):
            found[_GPU] = self._pick(_COUNT)
        if self._chance(0.2):
            found["ephemeral-storage"] = self._pick(_MEMORY)
        if self._chance(0.1):
            found["hugepages-2Mi"] = self._pick(["0", "2Mi", "4Mi"])
        if self._chance(0.05):
            del found[self._pick(found)]
        return found

    def _draw_taints(self) -> list[Document]:
        taints = []
        for _ in range(self.random.choice([0, 1, 1, 2])):
            taint = {
                "key": self._pick(["dedicated", "spot", "node.kubernetes.io/unschedulable"]),
                "effect": self._pick(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
            }
            if self._chance(0.6):
                taint["value"] = self._pick(["a", "b", "1", ""])
            if self._chance(0.1):
                taint["timeAdded"] = "2026-01-01T00:00:00Z"
            taints.append(taint)
        return taints

    def _draw_conditions(self) -> list[Document]:
        return [
            {
                "type": self._pick(["Ready", "MemoryPressure"]),
                "status": self._pick(["True", "False", "Unknown"]),
                "lastHeartbeatTime": f"2026-01-01T00:00:0{self.random.randint(0, 9)}Z",
            }
            for _ in range(self.random.randint(0, 2))
        ]

    def _change_node(self, node: Document) -> None:
        spec, status, metadata = node["spec"], node["status"], node["metadata"]
        match self.random.randrange(10):
            case 0:
                metadata["labels"] = {_HOSTNAME: "n1"} | self._draw_node_labels()
            case 1:
                spec["taints"] = self._draw_taints()
            case 2:
                spec["unschedulable"] = not spec.get("unschedulable", False)
            case 3:
                status["allocatable"] = self._draw_allocatable()
            case 4 | 5:
                one = self._draw_allocatable()
                name = self._pick(one)
                status["allocatable"][name] = one[name]
            case 6:
                status["conditions"] = self._draw_conditions()
            case 7:
                metadata["annotations"] = self._pick([{}, {"a": "1"}, {"a": "2"}])
            case 8:
                status["declaredFeatures"] = self._draw_features()
            case _:
                labels = metadata.setdefault("labels", {})
                key = self._pick(_KEYS)
                if labels.pop(key, None) is None:
                    labels[key] = "z0"

    # Pods

    def _draw_labels(self) -> dict[str, str]:
        return {key: self._pick(values) for key, values in _LABELS.items() if self._chance(0.5)}

    def _draw_pod(self, name: str, namespace: str) -> Document:
        spec: Document = {"schedulerName": "default-scheduler", "containers": []}
        spec["containers"] = [
            self._draw_container(f"c{i}") for i in range(self.random.choice([1, 1, 2]))
        ]
        draws: list[tuple[float, str, Callable[[], Any]]] = [
            (0.5, "priority", lambda: self._pick([0, 10, -5])),
            (0.15, "initContainers", lambda: [self._draw_init_container()]),
            (0.1, "overhead", lambda: {"cpu": self._pick(_CPU)}),
            (0.1, "resources", lambda: {"requests": self._draw_requests(pod_level=True)}),
            (0.3, "nodeSelector", lambda: {"disk": self._pick(["ssd", "hdd"])}),
            (0.7, "affinity", self._draw_affinity),
            (0.4, "topologySpreadConstraints", lambda: self._some(self._draw_spread)),
            (0.4, "tolerations", self._draw_tolerations),
            (0.5, "volumes", self._draw_volumes),
            (0.1, "schedulingGates", lambda: [{"name": "g"}]),
            (0.15, "resourceClaims", lambda: [self._draw_pod_claim()]),
        ]
        spec |= {field: draw() for share, field, draw in draws if self._chance(share)}
        if self._chance(0.06):
            self._use_host_network(spec)
        pod: Document = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "uid": f"u-{namespace}-{name}"},
            "spec": spec,
        }
        labels = self._draw_labels()
        if labels or self._chance(0.3):
            pod["metadata"]["labels"] = labels
        if self._chance(0.06):
            pod.setdefault("status", {})["nominatedNodeName"] = "n1"
        if "resourceClaims" in spec and self._chance(0.6):
            statuses = self._draw_claim_statuses()
            pod.setdefault("status", {})["resourceClaimStatuses"] = statuses
        return pod

    def _some(self, draw: Callable[[], Document]) -> list[Document]:
        return [draw() for _ in range(self.random.randint(1, 2))]

    def _use_host_network(self, spec: Document) -> None:
        spec["hostNetwork"] = True
        for container in spec["containers"]:
            for port in container.get("ports", ()):
                port["hostPort"] = port["containerPort"]

    def _draw_init_container(self) -> Document:
        container = self._draw_container("i")
        if self._chance(0.5):
            container["restartPolicy"] = "Always"
        return container

    def _draw_placed(self, name: str, namespace: str) -> Document:
        pod = self._draw_pod(name, namespace)
        pod["spec"].pop("schedulingGates", None)
        pod["spec"]["nodeName"] = "n1"
        status = {"phase": "Running", "startTime": "2026-01-01T00:00:05Z"}
        pod["status"] = pod.get("status", {}) | status
        if self._chance(0.25):
            self._resize_status(pod)
        return pod

    def _resize_status(self, pod: Document) -> None:
        statuses = []
        for container in pod["spec"]["containers"]:
            status: Document = {"name": container["name"], "ready": True, "restartCount": 0}
            status |= {"image": "i", "imageID": "i"}
            if self._chance(0.7):
                status["resources"] = {"requests": self._draw_requests()}
            if self._chance(0.6):
                status["allocatedResources"] = self._draw_requests()
            statuses.append(status)
        pod.setdefault("status", {})["containerStatuses"] = statuses
        if self._chance(0.4):
            reason = self._pick(["Infeasible", "Deferred"])
            condition = {"type": "PodResizePending", "status": "True", "reason": reason}
            pod["status"]["conditions"] = [condition]

    def _draw_container(self, name: str) -> Document:
        container: Document = {"name": name, "image": "app:1", "resources": {}}
        if self._chance(0.85):
            container["resources"] = {"requests": self._draw_requests()}
        if self._chance(0.4):
            port: Document = {"containerPort": 80, "protocol": self._pick(["TCP", "UDP"])}
            if self._chance(0.8):
                port["hostPort"] = self._pick([80, 81])
            if self._chance(0.4):
                port["hostIP"] = self._pick(["0.0.0.0", "10.0.0.1", "10.0.0.2", ""])
            container["ports"] = [port]
        return container

    def _draw_requests(self, *, pod_level: bool = False) -> dict[str, str]:
        found = {}
        if self._chance(0.8):
            found["cpu"] = self._pick(_CPU)
        if self._chance(0.8):
            found["memory"] = self._pick(_MEMORY)
        if self._chance(0.2) and not pod_level:
            found[_GPU] = self._pick(_COUNT)
        if self._chance(0.06) and not pod_level:
            found[f"deviceclass.resource.kubernetes.io/{self._pick(['gpu', 'x'])}"] = "1"
        if self._chance(0.1) and not pod_level:
            found["ephemeral-storage"] = self._pick(_MEMORY)
        return found

    def _draw_selector(self) -> Document | None:
        if self._chance(0.05):
            return None
        selector: Document = {}
        if self._chance(0.6):
            key = self._pick(_LABELS)
            selector["matchLabels"] = {key: self._pick(_LABELS[key])}
        if self._chance(0.5):
            key = self._pick(_LABELS)
            operator = self._pick(["In", "NotIn", "Exists", "DoesNotExist"])
            term: Document = {"key": key, "operator": operator}
            if operator in ("In", "NotIn"):
                term["values"] = self.random.sample(_LABELS[key], self.random.randint(1, 2))
            selector["matchExpressions"] = [term]
        return selector

    def _draw_affinity(self) -> Document:
        affinity: Document = {}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        if self._chance(0.3):
            terms = [self._draw_node_term() for _ in range(self.random.randint(1, 2))]
            affinity["nodeAffinity"] = {required: {"nodeSelectorTerms": terms}}
        for kind in ("podAffinity", "podAntiAffinity"):
            if self._chance(0.35):
                terms = [self._draw_term() for _ in range(self.random.choice([0, 1, 1, 2]))]
                affinity[kind] = {required: terms}
        return affinity

    def _draw_node_term(self) -> Document:
        if self._chance(0.15):
            operator = self._pick(["In", "NotIn"])
            field = {"key": "metadata.name", "operator": operator, "values": ["n1"]}
            return {"matchFields": [field]}
        if self._chance(0.1):
            return {}
        key, values = self._pick(
            [(_ZONE, ["z0"]), ("disk", ["ssd", "nvme"]), ("gen", ["1"]), ("gen", ["x"])]
        )
        operator = self._pick(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
        if operator in ("Gt", "Lt"):
            key, values = "gen", [self._pick(["0", "1", "2", "x", "-1"])]
        expression: Document = {"key": key, "operator": operator}
        if operator not in ("Exists", "DoesNotExist"):
            expression["values"] = values
        return {"matchExpressions": [expression]}

    def _draw_term(self) -> Document:
        term: Document = {"topologyKey": self._pick(_KEYS)}
        selector = self._draw_selector()
        if selector is not None:
            term["labelSelector"] = selector
        if self._chance(0.3):
            term["namespaces"] = self.random.sample(_NAMESPACES, self.random.randint(1, 2))
        if self._chance(0.3):
            term["namespaceSelector"] = self._pick(
                [{}, {"matchLabels": {"team": "a"}}, {"matchLabels": {"env": "nope"}},
                 {"matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]}]
            )  # fmt: skip
        return term

    def _draw_spread(self) -> Document:
        spread: Document = {
            "maxSkew": self.random.randint(1, 2),
            "topologyKey": self._pick(_KEYS),
            "whenUnsatisfiable": self._pick(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
        }
        selector = self._draw_selector()
        if selector is not None:
            spread["labelSelector"] = selector
        for policy in ("nodeTaintsPolicy", "nodeAffinityPolicy"):
            if self._chance(0.3):
                spread[policy] = self._pick(["Honor", "Ignore"])
        if self._chance(0.1):
            spread["matchLabelKeys"] = [self._pick(["ver", "tier"])]
        if self._chance(0.1):
            spread["minDomains"] = 2
        return spread

    def _draw_tolerations(self) -> list[Document]:
        found = []
        for _ in range(self.random.choice([0, 1, 1, 2])):
            toleration: Document = {"operator": self._pick(["Exists", "Equal"])}
            keys = ["dedicated", "spot", "node.kubernetes.io/unschedulable"]
            if toleration["operator"] == "Equal" or self._chance(0.8):
                toleration["key"] = self._pick(keys)
            if toleration["operator"] == "Equal":
                toleration["value"] = self._pick(["a", "1", ""])
            if self._chance(0.6):
                effects = ["NoSchedule", "NoExecute", "PreferNoSchedule"]
                toleration["effect"] = self._pick(effects)
            if self._chance(0.2):
                del toleration["operator"]
                toleration.setdefault("key", "dedicated")
            found.append(toleration)
        return found

    def _draw_volumes(self) -> list[Document]:
        return [self._draw_pod_volume(f"v{i}") for i in range(self.random.randint(1, 2))]

    def _draw_pod_volume(self, name: str) -> Document:
        read_only = self._pick([{}, {"readOnly": True}, {"readOnly": False}])
        sources: list[Document] = [
            {"persistentVolumeClaim": {"claimName": self._pick(["c1", "c2"])}},
            {"persistentVolumeClaim": {"claimName": self._pick(["c1", "c2"])}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
            {"gcePersistentDisk": {"pdName": self._pick(["d1", "d2"])} | read_only},
            {"awsElasticBlockStore": {"volumeID": self._pick(["e1", "e2"])} | read_only},
            {"iscsi": {"iqn": self._pick(["q1", "q2"]), "targetPortal": "p", "lun": 0} | read_only},
            {"rbd": {"monitors": self.random.sample(["m1", "m2", "m3"], 2), "pool": "p",
                     "image": self._pick(["i1", "i2"])} | read_only},
            {"azureDisk": {"diskName": "a", "diskURI": "a"}},
            {"csi": {"driver": self._pick(_DRIVERS)}},
            {"emptyDir": {}},
            {"secret": {"secretName": "s"}},
        ]  # fmt: skip
        source: Document = self._pick(sources)
        return {"name": "e" if "ephemeral" in source else name} | source

    def _draw_pod_claim(self) -> Document:
        if self._chance(0.5):
            return {"name": "r", "resourceClaimName": "rc1"}
        return {"name": "r", "resourceClaimTemplateName": "t"}

    def _draw_claim_statuses(self) -> list[Document]:
        claims = [{}, {"resourceClaimName": "rc1"}, {"resourceClaimName": "rc2"}]
        statuses: list[list[Document]] = [[], *([{"name": "r"} | claim] for claim in claims)]
        return self.random.choice(statuses)

    def _change_pod(self, pod: Document) -> None:
        spec, metadata = pod["spec"], pod["metadata"]
        match self.random.randrange(13):
            case 0 | 1:
                metadata["labels"] = self._draw_labels()
            case 2:
                spec["tolerations"] = spec.get("tolerations", []) + self._draw_tolerations()
            case 3:
                spec.pop("schedulingGates", None)
            case 4 | 5:
                self._pick(spec["containers"])["resources"] = {"requests": self._draw_requests()}
            case 6:
                metadata["annotations"] = {"a": self._pick(["1", "2"])}
            case 7:
                self._resize_status(pod)
            case 8:
                pod.setdefault("status", {})["nominatedNodeName"] = self._pick(["n1", "n2"])
            case 9:
                statuses = self._draw_claim_statuses()
                pod.setdefault("status", {})["resourceClaimStatuses"] = statuses
            case 10:
                spec["schedulingGates"] = self._pick([[], [{"name": "h"}]])
            case 11:
                spec["tolerations"] = self._draw_tolerations()
            case _:
                metadata["deletionTimestamp"] = "2026-01-01T00:00:09Z"
                metadata["deletionGracePeriodSeconds"] = 30

    # Storage

    def _draw_claim(self, name: str) -> Document:
        claim: Document = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "namespace": self._pick(["default", "default", "prod"]),
                "uid": f"u-{name}",
            },
            "spec": {"accessModes": [self._pick(["ReadWriteOnce", "ReadWriteOncePod"])]},
            "status": {"phase": self._pick(["Pending", "Bound"])},
        }
        if self._chance(0.5):
            claim["spec"]["volumeName"] = "pv1"
        if self._chance(0.5):
            claim["spec"]["storageClassName"] = self._pick(["fast", "", "slow"])
        if self._chance(0.3):
            claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        return claim

    def _draw_volume(self, name: str) -> Document:
        sources: list[Document] = [
            {"csi": {"driver": self._pick(_DRIVERS), "volumeHandle": self._pick(["h1", "h2"])}},
            {"awsElasticBlockStore": {"volumeID": "e1"}},
            {"hostPath": {"path": "/x"}},
        ]
        labels = {
            key: self._pick(["z0", "z1", "z0__z1", "z1__z0", "", "z0__", "a__ b"])
            for key in (_ZONE, _REGION, _BETA_ZONE)
            if self._chance(0.4)
        }
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": labels},
            "spec": self._pick(sources)
            | {
                "capacity": {"storage": self._pick(["1Gi", "2Gi"])},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": self._pick(["fast", "slow", ""]),
            },
            "status": {"phase": self._pick(["Available", "Bound"])},
        }

    def _draw_class(self) -> Document:
        found: Document = {
            "apiVersion": _STORAGE,
            "kind": "StorageClass",
            "metadata": {"name": self._pick(["fast", "slow"])},
            "provisioner": self._pick(_DRIVERS),
        }
        if self._chance(0.8):
            modes = ["WaitForFirstConsumer", "Immediate"]
            found["volumeBindingMode"] = self._pick(modes)
        if self._chance(0.5):
            expression = {"key": _ZONE, "values": self._pick([["z0"], ["z0", "z1"], ["z1", "z0"]])}
            terms = [{"matchLabelExpressions": [expression]}]
            found["allowedTopologies"] = self._pick([terms, [], terms * 2])
        return found

    def _draw_csi_node(self, name: str) -> Document:
        drivers = []
        for driver in self.random.sample(_DRIVERS, self.random.randint(0, 3)):
            entry: Document = {"name": driver, "nodeID": name}
            entry["topologyKeys"] = self._pick([[], [_ZONE]])
            if self._chance(0.7):
                entry["allocatable"] = self._pick([{"count": 0}, {"count": 1}, {"count": 2}, {}])
            drivers.append(entry)
        metadata: Document = {"name": name, "uid": "u-cn"}
        if self._chance(0.4):
            plugins = self._pick(
                ["kubernetes.io/aws-ebs", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd", ""]
            )
            key = "storage.alpha.kubernetes.io/migrated-plugins"
            metadata["annotations"] = {key: plugins}
        return {
            "apiVersion": _STORAGE,
            "kind": "CSINode",
            "metadata": metadata,
            "spec": {"drivers": drivers},
        }

    def _draw_driver(self) -> Document:
        return {
            "apiVersion": _STORAGE,
            "kind": "CSIDriver",
            "metadata": {"name": self._pick(_DRIVERS)},
            "spec": self._pick(
                [
                    {},
                    {"storageCapacity": True},
                    {"storageCapacity": False},
                    {"podInfoOnMount": True},
                ]
            ),
        }

    def _draw_capacity(self) -> Document:
        capacity: Document = {
            "apiVersion": _STORAGE,
            "kind": "CSIStorageCapacity",
            "metadata": {"name": "sc1", "namespace": "default"},
            "storageClassName": self._pick(["fast", "slow"]),
        }
        for field in ("capacity", "maximumVolumeSize"):
            if self._chance(0.6):
                capacity[field] = self._pick(["0", "1Gi", "1024Mi", "2Gi", "1"])
        if self._chance(0.4):
            capacity["nodeTopology"] = {"matchLabels": {_ZONE: self._pick(["z0", "z1"])}}
        return capacity

    def _draw_attachment(self) -> Document:
        source: Document = {"persistentVolumeName": self._pick(["pv1", "pv2"])}
        if self._chance(0.2):
            source = {"inlineVolumeSpec": {"csi": {"driver": _DRIVERS[0], "volumeHandle": "h1"}}}
            source["inlineVolumeSpec"] |= {"accessModes": ["ReadWriteOnce"]}
        return {
            "apiVersion": _STORAGE,
            "kind": "VolumeAttachment",
            "metadata": {"name": "va1"},
            "spec": {
                "attacher": self._pick(_DRIVERS),
                "nodeName": self._pick(["n1", "n2"]),
                "source": source,
            },
            "status": {"attached": self._pick([True, False])},
        }

    # Devices

    def _draw_device_class(self) -> Document:
        spec = self._pick(
            [{}, {"extendedResourceName": _GPU}, {"extendedResourceName": "example.com/other"}]
        )
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": self._pick(["gpu", "x"])},
            "spec": dict(spec),
        }

    def _draw_slice(self) -> Document:
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s1"},
            "spec": {
                "driver": "gpu.example.com",
                "nodeName": "n1",
                "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": self._pick(["d1", "d2"])}],
            },
        }

    def _draw_device_claim(self) -> Document:
        claim: Document = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {
                "name": self._pick(["rc1", "rc1", "rc2"]),
                "namespace": self._pick(["default", "prod"]),
            },
            "spec": {"devices": {"requests": [{"name": "q"}]}},
            "status": {},
        }
        claim["spec"]["devices"]["requests"][0]["exactly"] = {
            "deviceClassName": "gpu",
            "allocationMode": "ExactCount",
            "count": 1,
        }
        metadata = claim["metadata"]
        metadata["uid"] = f"u-{metadata['namespace']}-{metadata['name']}"
        if self._chance(0.3):
            owner: Document = {"apiVersion": "v1", "kind": "Pod", "name": "pending"}
            owner |= {"uid": f"u-{metadata['namespace']}-pending", "controller": True}
            metadata["ownerReferences"] = [owner]
        if self._chance(0.5):
            result = {"request": "q", "driver": "gpu.example.com", "pool": "n1", "device": "d1"}
            claim["status"]["allocation"] = {"devices": {"results": [result]}}
            if self._chance(0.5):
                claim["status"]["reservedFor"] = [{"resource": "pods", "name": "a", "uid": "u-a"}]
        return claim


def _typed(obj: Document | None) -> Any:
    return None if obj is None else decode(obj)


def _namespace(name: str) -> Document:
    labels = {"kubernetes.io/metadata.name": name}
    if name in ("default", "prod"):
        labels["team"] = "a"
    if name in ("prod", "dev"):
        labels["env"] = name
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _identity(obj: Document) -> tuple[str, str, str]:
    metadata = obj["metadata"]
    return obj["kind"], metadata.get("namespace", ""), metadata["name"]
