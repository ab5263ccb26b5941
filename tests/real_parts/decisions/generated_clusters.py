"""Clusters with devices, claims and a pod, drawn from a seed: many features of DRA at once.

The objects are as the API server stores them. Values come from few choices, so that devices are
often equal in one attribute and different in another, and requests can often just be satisfied.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

Document = dict[str, Any]

GROUP: Final = "resource.k8s.io/v1"
GPU: Final = "gpu.example.com"
NIC: Final = "nic.example.com"
TPU: Final = "tpu.vendor.io"
DRIVERS: Final = (GPU, NIC, TPU)
EXTENDED: Final = "example.com/gpu"
_HOSTNAME = "kubernetes.io/hostname"
_ZONE = "topology.kubernetes.io/zone"
_PAST, _FUTURE = "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"


class Drawn:
    """One cluster, drawn from a seed.

    Attributes
    ----------
    objects : list of dict
        Everything but the pod.
    pod : dict
        The pending pod, with claims that are among the objects.
    """

    def __init__(self, seed: int | str) -> None:
        self.random = Random(seed)
        self.objects: list[Document] = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
        ]
        self._devices: list[tuple[str, str, Document, str | None]] = []
        self.nodes = [f"n{index}" for index in range(self.random.randint(1, 4))]
        self._draw_nodes()
        self._draw_classes()
        self._draw_pools()
        self._draw_users()
        self.pod = self.draw_pod("p0")
        self.random.shuffle(self.objects)

    def case(self) -> Document:
        """Return the cluster as a case for the comparison."""
        return {"family": "dra", "objects": self.objects, "pod": self.pod}

    def chance(self, share: float) -> bool:
        """Return true with a probability."""
        return self.random.random() < share

    def _draw_nodes(self) -> None:
        for index, name in enumerate(self.nodes):
            allocatable = {"cpu": "8", "memory": "16Gi", "pods": "110"}
            if self.chance(0.08):
                allocatable[EXTENDED] = self.random.choice(["0", "1", "4"])
            labels = {_HOSTNAME: name, _ZONE: f"z{index % 2}", "rack": f"r{index % 3}"}
            node: Document = {"apiVersion": "v1", "kind": "Node", "status": {}}
            node["metadata"] = {"name": name, "labels": labels}
            node["status"] = {"allocatable": allocatable}
            self.objects.append(node)

    def _draw_classes(self) -> None:
        driver_of = {"gpu": GPU, "nic": NIC, "tpu": TPU}
        for name, driver in driver_of.items():
            spec: Document = {"selectors": [cel(f'device.driver == "{driver}"')]}
            if self.chance(0.3):
                spec["config"] = [self._opaque(driver) for _ in range(self.random.randint(1, 2))]
            if self.chance(0.15):
                spec["selectors"].append(cel(self.draw_selector(driver)))
            if name == "gpu" and self.chance(0.5):
                spec["extendedResourceName"] = EXTENDED
            self._add_object("DeviceClass", name, spec)
        self._add_object("DeviceClass", "any", {})

    def _opaque(self, driver: str) -> Document:
        return {"opaque": {"driver": driver, "parameters": {"n": self.random.randint(0, 3)}}}

    def _add_object(self, kind: str, name: str, spec: Document, **metadata: Any) -> Document:
        made = {"apiVersion": GROUP, "kind": kind, "spec": spec}
        made["metadata"] = {"name": name, "uid": f"{kind[0].lower()}-{name}"} | metadata
        self.objects.append(made)
        return made

    # Pools

    def _draw_pools(self) -> None:
        for node in self.nodes:
            for _ in range(self.random.choice([0, 1, 1, 2, 2, 3])):
                self._draw_pool(node)
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            self._draw_pool(None)
        for entry in list(self.objects):
            if entry["kind"] == "ResourceSlice" and self.chance(0.06):
                self._break_pool(entry)

    def _draw_pool(self, node: str | None) -> None:
        random = self.random
        driver = random.choice([GPU, GPU, NIC, TPU])
        pool = (
            random.choice([node, f"{node}-b", "shared"])
            if node
            else random.choice(["net", "shared"])
        )
        if any(
            entry["kind"] == "ResourceSlice"
            and (entry["spec"]["driver"], entry["spec"]["pool"]["name"]) == (driver, pool)
            for entry in self.objects
        ) and not self.chance(0.1):
            pool = f"{pool}{len(self.objects)}"
        place = {"nodeName": node} if node else self._draw_place()
        if self.chance(0.35):
            self._draw_partitions(driver, pool, place)
            return
        per_device = not node and self.chance(0.3)
        if per_device:
            place = {"perDeviceNodeSelection": True}
        counts = [random.randint(1, 4) for _ in range(random.choice([1, 1, 1, 2]))]
        shared = self.chance(0.3)
        first = 0
        for number, count in enumerate(counts):
            devices = []
            for index in range(first, first + count):
                device = self._draw_device(f"d{index}", driver, shared=shared and self.chance(0.8))
                if per_device:
                    device |= self._draw_place(random.choice(self.nodes))
                devices.append(device)
            first += count
            self._add_slice(driver, pool, number, len(counts), place | {"devices": devices}, node)

    def _draw_place(self, node: str | None = None) -> Document:
        random = self.random
        if node and self.chance(0.4):
            return {"nodeName": node}
        if self.chance(0.35):
            return {"allNodes": True}
        key = random.choice([_ZONE, "rack"])
        values = ["z0", "z1"] if key == _ZONE else ["r0", "r1", "r2"]
        operator = random.choice(["In", "In", "NotIn", "Exists"])
        expression: Document = {"key": key, "operator": operator}
        if operator != "Exists":
            expression["values"] = random.sample(values, random.randint(1, len(values) - 1))
        term: Document = {"matchExpressions": [expression]}
        if self.chance(0.3):
            term["matchExpressions"].append({"key": _HOSTNAME, "operator": "Exists"})
        if self.chance(0.15):
            names = random.sample(self.nodes, 1)
            term["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": names}]
        return {"nodeSelector": {"nodeSelectorTerms": [term]}}

    def _add_slice(
        self, driver: str, pool: str, number: int, count: int, rest: Document, node: str | None
    ) -> None:
        pool_fields = {"name": pool, "generation": 1, "resourceSliceCount": count}
        spec = {"driver": driver, "pool": pool_fields} | rest
        name = f"{self.random.choice('abc')}-{len(self.objects)}-{number}"
        self._add_object("ResourceSlice", name, spec)
        for device in rest.get("devices", ()):
            self._devices.append((driver, pool, device, node))

    def _draw_partitions(self, driver: str, pool: str, place: Document) -> None:
        random = self.random
        cards = random.randint(1, 2)
        sets = [
            {"name": f"card{card}", "counters": {"mem": {"value": "40"}, "sm": {"value": "7"}}}
            for card in range(cards)
        ]
        devices = []
        shapes = [("full", 40, 7), ("half", 20, 3), ("half", 20, 3), ("quarter", 10, 2)]
        for card in range(cards):
            for index, (size, memory, sm) in enumerate(random.sample(shapes, random.randint(1, 4))):
                device = self._draw_device(f"c{card}-{index}", driver, shared=self.chance(0.15))
                device["attributes"]["size"] = {"string": size}
                counters = {"mem": {"value": str(memory)}, "sm": {"value": str(sm)}}
                if self.chance(0.2):
                    del counters["sm"]
                device["consumesCounters"] = [{"counterSet": f"card{card}", "counters": counters}]
                if cards > 1 and self.chance(0.1):
                    other = {"mem": {"value": "10"}}
                    entry = {"counterSet": f"card{1 - card}", "counters": other}
                    device["consumesCounters"].append(entry)
                devices.append(device)
        if self.chance(0.05):
            devices[-1]["consumesCounters"][0]["counterSet"] = "absent"
        halves = [devices] if self.chance(0.7) else [devices[:1], devices[1:]]
        node = place.get("nodeName")
        self._add_slice(driver, pool, 0, len(halves) + 1, place | {"sharedCounters": sets}, node)
        for number, part in enumerate(halves, start=1):
            self._add_slice(driver, pool, number, len(halves) + 1, place | {"devices": part}, node)

    def _draw_device(self, name: str, driver: str, *, shared: bool) -> Document:
        random = self.random
        attributes: Document = {
            "model": {"string": random.choice(["a100", "h100", "l4"])},
            "numa": {"int": random.randint(0, 1)},
            "healthy": {"bool": self.chance(0.9)},
            "fw": {"version": random.choice(["1.2.0", "1.10.0", "2.0.0-rc.1"])},
            "pcie.io/root": {"string": f"pci{random.randint(0, 1)}"},
        }
        for key in ("numa", "healthy", "fw", "pcie.io/root"):
            if self.chance(0.12):
                del attributes[key]
        if self.chance(0.06):
            attributes["numa"] = {"string": "0"}
        if self.chance(0.06):
            attributes[f"{driver}/family"] = {"string": random.choice(["x", "y"])}
        device: Document = {"name": name, "attributes": attributes}
        if shared or self.chance(0.4):
            device["capacity"] = self._draw_capacity(shared=shared)
        if shared:
            device["allowMultipleAllocations"] = True
        if self.chance(0.12):
            device["taints"] = [self._draw_taint() for _ in range(random.randint(1, 2))]
        if self.chance(0.06):
            device["bindingConditions"] = ["ready"]
            device["bindingFailureConditions"] = ["failed"]
            if self.chance(0.4):
                device["bindsToNode"] = True
        return device

    def _draw_taint(self) -> Document:
        taint: Document = {"key": self.random.choice(["dra/bad", "dra/slow"])}
        taint["effect"] = self.random.choice(["NoSchedule", "NoExecute", "None"])
        if self.chance(0.5):
            taint["value"] = self.random.choice(["yes", "no"])
        taint["timeAdded"] = self.random.choice([_PAST, _FUTURE])
        return taint

    def _draw_capacity(self, *, shared: bool) -> Document:
        random = self.random
        memory: Document = {"value": random.choice(["40Gi", "80Gi", "24Gi", "42949672960"])}
        if shared and self.chance(0.7):
            memory["requestPolicy"] = random.choice([
                {"default": "10Gi", "validRange": {"min": "5Gi", "step": "5Gi"}},
                {"default": "10Gi", "validRange": {"min": "10Gi", "max": "20Gi"}},
                {"default": "8Gi", "validValues": ["8Gi", "16Gi", "32Gi"]},
                {"default": "20Gi"},
                {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi", "max": "24Gi"}},
            ])  # fmt: skip
        capacity = {"memory": memory}
        if self.chance(0.4):
            cores: Document = {"value": random.choice(["4", "7", "100"])}
            if shared and self.chance(0.4):
                cores["requestPolicy"] = {"default": "1", "validValues": ["1", "2", "4"]}
            capacity[random.choice(["cores", f"{GPU}/cores"])] = cores
        return capacity

    def _break_pool(self, entry: Document) -> None:
        """Make a pool incomplete, invalid, or one of two generations."""
        pool = entry["spec"]["pool"]
        match self.random.randrange(4):
            case 0:
                pool["resourceSliceCount"] += 1
                for other in self.objects:
                    if _same_pool(other, entry):
                        other["spec"]["pool"]["resourceSliceCount"] = pool["resourceSliceCount"]
            case 1:
                for device in entry["spec"].get("devices", ())[1:2]:
                    device["name"] = entry["spec"]["devices"][0]["name"]
            case 2:
                newer = dict(entry["spec"], pool=dict(pool, generation=2, resourceSliceCount=1))
                newer.pop("devices", None)
                if "nodeName" in newer and self.chance(0.5):
                    newer["nodeName"] = self.random.choice(self.nodes)
                devices = [self._draw_device("new", entry["spec"]["driver"], shared=False)]
                newer.pop("sharedCounters", None)
                if "perDeviceNodeSelection" in newer:
                    del newer["perDeviceNodeSelection"]
                    newer["allNodes"] = True
                name = f"{entry['metadata']['name']}-new"
                self._add_object("ResourceSlice", name, newer | {"devices": devices})
            case _:
                pool["generation"] = 0

    # Claims and pods

    def _draw_users(self) -> None:
        """Draw claims of other pods that hold some of the devices."""
        random = self.random
        free = [entry for entry in self._devices if self.chance(0.25)]
        random.shuffle(free)
        number = 0
        while free:
            taken = [free.pop() for _ in range(min(len(free), random.randint(1, 2)))]
            name = f"held{number}"
            number += 1
            results = [self._held(driver, pool, device) for driver, pool, device, _ in taken]
            requests = [{"name": "r", "exactly": self._exactly("any", count=len(results))}]
            claim = self._add_object(
                "ResourceClaim", name, {"devices": {"requests": requests}}, namespace="default",
                finalizers=["resource.kubernetes.io/delete-protection"],
            )  # fmt: skip
            user = {"resource": "pods", "name": f"x{number}", "uid": f"u-x{number}"}
            allocation: Document = {"devices": {"results": results}}
            claim["status"] = {"allocation": allocation, "reservedFor": [user]}

    def _held(self, driver: str, pool: str, device: Document) -> Document:
        held: Document = {"request": "r", "driver": driver, "pool": pool, "device": device["name"]}
        if device.get("allowMultipleAllocations"):
            held["shareID"] = f"00000000-0000-4000-8000-{self.random.randrange(10**12):012d}"
            held["consumedCapacity"] = {
                name: self.random.choice(["1", "8Gi", "10Gi", "20Gi"])
                if name == "memory"
                else self.random.choice(["1", "2"])
                for name in device.get("capacity", {})
            }
        elif self.chance(0.1):
            held["adminAccess"] = True
        return held

    def _exactly(self, name: str, *, count: int = 1) -> Document:
        return {"deviceClassName": name, "allocationMode": "ExactCount", "count": count}

    def draw_pod(self, name: str) -> Document:
        """Return a pod whose claims are new objects of the cluster, or shared ones of it."""
        random = self.random
        entries: list[Document] = []
        statuses: list[Document] = []
        uid = f"u-{name}"
        for index in range(random.choice([0, 1, 1, 1, 1, 2, 2, 3])):
            entry = f"e{index}"
            claim = f"{name}-{entry}"
            if self.chance(0.4):
                entries.append({"name": entry, "resourceClaimTemplateName": "template"})
                if self.chance(0.02):
                    statuses.append({"name": entry})
                    continue
                statuses.append({"name": entry, "resourceClaimName": claim})
                owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}
                self._draw_claim(claim, name, ownerReferences=[owner | {"controller": True}])
                continue
            shared = [
                other["metadata"]["name"]
                for other in self.objects
                if other["kind"] == "ResourceClaim" and "ownerReferences" not in other["metadata"]
                and not other["metadata"]["name"].startswith("held")
            ]  # fmt: skip
            if shared and self.chance(0.3):
                claim = random.choice(shared)
            else:
                self._draw_claim(claim, name)
            if claim not in [e.get("resourceClaimName") for e in entries]:
                entries.append({"name": entry, "resourceClaimName": claim})
        spec: Document = {"schedulerName": "default-scheduler"}
        spec["containers"] = self._draw_containers("c", 2 if self.chance(0.2) else 1, entries)
        if self.chance(0.15):
            spec["initContainers"] = self._draw_containers("i", random.randint(1, 3), [])
        if entries:
            spec["resourceClaims"] = entries
        metadata = {"name": name, "namespace": "default", "uid": uid}
        pod: Document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        if statuses:
            pod["status"] = {"resourceClaimStatuses": statuses}
        return pod

    def _draw_containers(self, prefix: str, count: int, entries: list[Document]) -> list[Document]:
        containers = []
        for index in range(count):
            requests: Document = {"cpu": "100m"}
            if self.chance(0.2):
                requests[EXTENDED] = str(self.random.randint(1, 2))
            if self.chance(0.05):
                requests["deviceclass.resource.kubernetes.io/nic"] = "1"
            resources: Document = {"requests": requests}
            limits = {key: value for key, value in requests.items() if "/" in key}
            if limits:
                resources["limits"] = limits
            if entries:
                resources["claims"] = [{"name": entry["name"]} for entry in entries]
            container: Document = {"name": f"{prefix}{index}", "image": "app:1"}
            if prefix == "i" and self.chance(0.3):
                container["restartPolicy"] = "Always"
            containers.append(container | {"resources": resources})
        return containers

    def _draw_claim(self, name: str, pod: str, **metadata: Any) -> None:
        random = self.random
        names = [f"r{index}" for index in range(random.choice([1, 1, 1, 2, 2, 3]))]
        requests = [self._draw_request(each) for each in names]
        devices: Document = {"requests": requests}
        references = list(names)
        for request in requests:
            subrequests = request.get("firstAvailable", ())
            references += [f"{request['name']}/{sub['name']}" for sub in subrequests]
        if self.chance(0.3):
            devices["constraints"] = [
                self._draw_constraint(references) for _ in range(random.randint(1, 2))
            ]
        if self.chance(0.2):
            devices["config"] = [
                self._opaque(random.choice(DRIVERS))
                | ({} if self.chance(0.4) else {"requests": random.sample(references, 1)})
                for _ in range(random.randint(1, 2))
            ]
        claim = self._add_object(
            "ResourceClaim", name, {"devices": devices}, namespace="default", **metadata
        )
        if self._devices and self.chance(0.08):
            self._allocate(claim, pod)

    def _allocate(self, claim: Document, pod: str) -> None:
        """Give a claim an allocation, as if an earlier attempt had made it."""
        random = self.random
        driver, pool, device, node = random.choice(self._devices)
        request = claim["spec"]["devices"]["requests"][0]
        name = request["name"]
        if "firstAvailable" in request:
            name += f"/{random.choice(request['firstAvailable'])['name']}"
        result = self._held(driver, pool, device) | {"request": name}
        allocation: Document = {"devices": {"results": [result]}}
        if node:
            field = {"key": "metadata.name", "operator": "In", "values": [node]}
            term = {"matchFields": [field]}
            allocation["nodeSelector"] = {"nodeSelectorTerms": [term]}
        status: Document = {"allocation": allocation}
        if "bindingConditions" in device:
            result["bindingConditions"] = device["bindingConditions"]
            result["bindingFailureConditions"] = device["bindingFailureConditions"]
            allocation["allocationTimestamp"] = random.choice([_PAST, _FUTURE])
            if self.chance(0.7):
                kind = random.choice(["ready", "ready", "failed"])
                condition = {"type": kind, "status": random.choice(["True", "False"])}
                condition |= {"reason": "R", "message": "m", "lastTransitionTime": _PAST}
                entry = {"driver": driver, "pool": pool, "device": device["name"]}
                if "shareID" in result:
                    entry["shareID"] = result["shareID"]
                status["devices"] = [entry | {"conditions": [condition]}]
        match random.randrange(4):
            case 0:
                user = {"resource": "pods", "name": pod, "uid": f"u-{pod}"}
                status["reservedFor"] = [user]
            case 1:
                user = {"resource": "pods", "name": "other", "uid": "u-other"}
                status["reservedFor"] = [user]
            case _:
                pass
        claim["status"] = status
        claim["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]

    def _draw_request(self, name: str) -> Document:
        random = self.random
        if self.chance(0.3):
            subrequests = [
                {"name": f"s{index}"} | self._draw_ask(is_sub=True)
                for index in range(random.randint(1, 3))
            ]
            return {"name": name, "firstAvailable": subrequests}
        return {"name": name, "exactly": self._draw_ask(is_sub=False)}

    def _draw_ask(self, *, is_sub: bool) -> Document:
        random = self.random
        name = random.choice(["gpu", "gpu", "nic", "tpu", "any"])
        if self.chance(0.005):
            name = "absent"
        ask = self._exactly(name, count=random.choice([1, 1, 1, 2, 3]))
        if self.chance(0.01):
            ask["count"] = random.choice([20, 33])
        if self.chance(0.12):
            del ask["count"]
            ask["allocationMode"] = "All"
        selectors = [
            cel(self.draw_selector(random.choice([GPU, GPU, NIC, TPU])))
            for _ in range(random.choice([0, 0, 0, 1, 1, 2]))
        ]
        if selectors:
            ask["selectors"] = selectors
        if not is_sub and self.chance(0.07):
            ask["adminAccess"] = True
        if self.chance(0.15):
            ask["tolerations"] = [self._draw_toleration() for _ in range(random.randint(1, 2))]
        if self.chance(0.2):
            wanted = {"memory": random.choice(["1Gi", "6Gi", "10Gi", "12Gi", "20Gi", "30Gi"])}
            if self.chance(0.3):
                wanted["cores"] = random.choice(["1", "2", "3"])
            ask["capacity"] = {"requests": wanted}
        return ask

    def _draw_toleration(self) -> Document:
        random = self.random
        toleration: Document = {"operator": random.choice(["Exists", "Equal"])}
        if toleration["operator"] == "Equal" or self.chance(0.7):
            toleration["key"] = random.choice(["dra/bad", "dra/slow"])
        if toleration["operator"] == "Equal" and self.chance(0.7):
            toleration["value"] = random.choice(["yes", "no"])
        if self.chance(0.5):
            toleration["effect"] = random.choice(["NoSchedule", "NoExecute"])
            if toleration["effect"] == "NoExecute" and self.chance(0.5):
                toleration["tolerationSeconds"] = 60
        return toleration

    def _draw_constraint(self, references: list[str]) -> Document:
        random = self.random
        attribute = random.choice([
            f"{GPU}/model", f"{GPU}/numa", "pcie.io/root", f"{GPU}/fw", f"{NIC}/numa",
            f"{TPU}/size", "pcie.io/root", f"{GPU}/family",
        ])  # fmt: skip
        kind = random.choice(["matchAttribute", "matchAttribute", "distinctAttribute"])
        constraint: Document = {kind: attribute}
        if self.chance(0.6):
            count = random.randint(1, len(references))
            constraint["requests"] = random.sample(references, count)
        return constraint

    def draw_selector(self, driver: str) -> str:
        """Return an expression that some devices match."""
        random = self.random
        attributes, capacity = f'device.attributes["{driver}"]', f'device.capacity["{driver}"]'
        size = random.choice(["10Gi", "40Gi", "60Gi"])
        model = random.choice(["a100", "h100", "l4"])
        choices = [
            f'has({attributes}.model) && {attributes}.model == "{model}"',
            f'{attributes}.?model.orValue("") in ["{model}", "l4"]',
            f"has({attributes}.numa) && type({attributes}.numa) == int && "
            f"{attributes}.numa == {random.randint(0, 1)}",
            f"has({attributes}.fw) && {attributes}.fw.compareTo(semver('1.9.0')) > 0",
            f'has({capacity}.memory) && {capacity}.memory.compareTo(quantity("{size}")) >= 0',
            f'"memory" in {capacity}',
            f'device.attributes["pcie.io"].?root.orValue("none") == "pci{random.randint(0, 1)}"',
            f'device.driver in ["{driver}", "{GPU}"]',
            "device.allowMultipleAllocations",
            "!device.allowMultipleAllocations",
            f"{attributes}.?healthy.orValue(true)",
            f'{attributes}.?size.orValue("full") != "full"',
            f'device.attributes.exists(d, d == "{driver}")',
        ]
        if self.chance(0.04):
            choices = [f"{attributes}.healthy", f"{attributes}.absent == 1", "1 +", '"a" == 1']
        return random.choice(choices)


def cel(expression: str) -> Document:
    """Return a selector."""
    return {"cel": {"expression": expression}}


def _same_pool(one: Document, other: Document) -> bool:
    if one["kind"] != other["kind"]:
        return False
    first, second = one["spec"], other["spec"]
    return bool(
        (first["driver"], first["pool"]["name"]) == (second["driver"], second["pool"]["name"])
    )
