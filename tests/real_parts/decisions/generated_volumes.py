"""Volumes, claims and what belongs to them, drawn from a generator."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.real_parts.decisions.generated_terms import HOSTNAME, REGION, ZONE

Document = dict[str, Any]

DRIVERS: Final = ("csi.a.com", "csi.b.com")
_BETA_ZONE, _BETA_REGION = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
_SIZES = ("1Gi", "5Gi", "10Gi", "12Gi", "1G")
_ACCESS = ("ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod")


class DrawnVolumes:
    """Classes, drivers and free volumes of a cluster, and claims for its pods.

    Attributes
    ----------
    objects : list of dict
    """

    def __init__(self, random: Random, nodes: list[str]) -> None:
        self.random = random
        self.objects: list[Document] = []
        self._nodes = nodes
        self._claims: dict[str, list[str]] = {}
        self._count = 0
        self._draw_classes()
        self._draw_drivers()
        for _ in range(random.choice([0, 1, 2, 4])):
            self._draw_free_volume()

    def chance(self, share: float) -> bool:
        """Return true with a probability."""
        return self.random.random() < share

    def draw_for(self, pod: str, namespace: str, uid: str, spec: Document) -> None:
        """Give a pod one to three volumes, with the objects that they need."""
        random = self.random
        volumes = []
        for index in range(random.choice([1, 1, 2, 3])):
            share = random.random()
            if share < 0.25:
                source = self._draw_in_tree()
            elif share < 0.35:
                source = self._draw_ephemeral(pod, namespace, uid, f"v{index}")
            elif share < 0.4:
                source = random.choice([{"emptyDir": {}}, {"configMap": {"name": "m"}}, {"image": {
                    "reference": "registry/app-1:v1"}}])  # fmt: skip
            else:
                known = self._claims.setdefault(namespace, [])
                name = random.choice(known) if known and self.chance(0.35) else ""
                if not name:
                    name = self._draw_claim(namespace)
                source = {"persistentVolumeClaim": {"claimName": name}}
                if self.chance(0.1):
                    source["persistentVolumeClaim"]["readOnly"] = True
            volumes.append({"name": f"v{index}"} | source)
        spec["volumes"] = volumes

    def _add_object(self, kind: str, name: str, rest: Document, **metadata: Any) -> Document:
        groups = {"PersistentVolume": "v1", "PersistentVolumeClaim": "v1"}
        made: Document = {"apiVersion": groups.get(kind, "storage.k8s.io/v1"), "kind": kind}
        made["metadata"] = {"name": name, "uid": f"u-{kind}-{name}"} | metadata
        made |= rest
        self.objects.append(made)
        return made

    def _draw_classes(self) -> None:
        provisioners = {"dyn": "csi.a.com", "local": "kubernetes.io/no-provisioner",
                        "fast": "csi.a.com", "other": "csi.b.com"}  # fmt: skip
        for name, provisioner in provisioners.items():
            mode = "Immediate" if name == "fast" else "WaitForFirstConsumer"
            fields: Document = {"provisioner": provisioner, "reclaimPolicy": "Delete"}
            if not self.chance(0.03):
                fields["volumeBindingMode"] = mode
            if self.chance(0.25):
                expressions = [{"key": ZONE, "values": self.random.sample(["z0", "z1", "z2"], 2)}]
                if self.chance(0.3):
                    expressions.append({"key": "disk", "values": ["ssd"]})
                fields["allowedTopologies"] = [{"matchLabelExpressions": expressions}]
            self._add_object("StorageClass", name, fields)

    def _draw_drivers(self) -> None:
        for driver in DRIVERS:
            if self.chance(0.4):
                spec = {"attachRequired": self.chance(0.8), "storageCapacity": self.chance(0.6)}
                self._add_object("CSIDriver", driver, {"spec": spec})
        for name in self._nodes:
            if self.chance(0.6):
                drivers = [self._draw_limit(name, each) for each in DRIVERS if self.chance(0.7)]
                annotations = {}
                if self.chance(0.2):
                    key = "storage.alpha.kubernetes.io/migrated-plugins"
                    annotations[key] = "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"
                self._add_object(
                    "CSINode", name, {"spec": {"drivers": drivers}}, annotations=annotations
                )
        self._draw_storage_capacities()

    def _draw_limit(self, node: str, driver: str) -> Document:
        entry: Document = {"name": driver, "nodeID": node, "topologyKeys": []}
        if self.chance(0.8):
            entry["allocatable"] = {"count": self.random.choice([0, 1, 1, 2, 3])}
        return entry

    def _draw_storage_capacities(self) -> None:
        random = self.random
        for zone in ("z0", "z1", "z2"):
            if self.chance(0.4):
                fields: Document = {"storageClassName": random.choice(["dyn", "other"])}
                fields["nodeTopology"] = {"matchLabels": {ZONE: zone}}
                if self.chance(0.9):
                    fields["capacity"] = random.choice(["0", "1Gi", "10Gi", "100Gi"])
                if self.chance(0.4):
                    fields["maximumVolumeSize"] = random.choice(["1Gi", "5Gi", "50Gi"])
                if self.chance(0.1):
                    del fields["nodeTopology"]
                self._add_object(
                    "CSIStorageCapacity", f"cap-{zone}", fields, namespace="kube-system"
                )

    # Volumes

    def _source(self, name: str) -> Document:
        random = self.random
        choices: list[Document] = [
            {"csi": {"driver": random.choice(DRIVERS), "volumeHandle": f"h-{name}"}},
            {"csi": {"driver": "csi.a.com", "volumeHandle": "h-shared"}},
            {"local": {"path": f"/mnt/{name}"}},
            {"hostPath": {"path": f"/x/{name}"}},
            {"awsElasticBlockStore": {"volumeID": random.choice(["vol-a", "vol-b"])}},
            {"gcePersistentDisk": {"pdName": random.choice(["a", "b"])}},
        ]
        return random.choice(choices)

    def _draw_volume(self, name: str, class_name: str) -> Document:
        random = self.random
        spec: Document = {"capacity": {"storage": random.choice(_SIZES)}}
        spec["accessModes"] = random.sample(_ACCESS, random.randint(1, 2))
        spec |= {"persistentVolumeReclaimPolicy": "Retain", "storageClassName": class_name}
        if self.chance(0.9):
            spec["volumeMode"] = random.choice(["Filesystem"] * 5 + ["Block"])
        spec |= self._source(name)
        if self.chance(0.5):
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": self._place()}}
        labels: Document = {}
        if self.chance(0.3):
            labels["media"] = random.choice(["ssd", "hdd"])
        if self.chance(0.3):
            key = random.choice([ZONE, _BETA_ZONE])
            labels[key] = random.choice(["z0", "z1", "z0__z1", "z2", "", "z1__", "__"])
        if self.chance(0.1):
            labels[random.choice([REGION, _BETA_REGION])] = random.choice(["r0", "r0__r1"])
        return self._add_object(
            "PersistentVolume", name, {"spec": spec, "status": {}}, labels=labels
        )

    def _place(self) -> list[Document]:
        random = self.random
        terms = []
        for _ in range(random.choice([1, 1, 2])):
            key, values = random.choice([
                (HOSTNAME, self._nodes), (ZONE, ["z0", "z1"]), ("disk", ["ssd", "hdd"]),
            ])  # fmt: skip
            expression: Document = {"key": key, "operator": random.choice(["In", "In", "NotIn"])}
            expression["values"] = random.sample(values, random.randint(1, min(2, len(values))))
            terms.append({"matchExpressions": [expression]})
        return terms

    def _draw_free_volume(self) -> None:
        self._count += 1
        name = f"free{self._count}"
        volume = self._draw_volume(name, self.random.choice(["local", "local", "dyn", "", "other"]))
        volume["status"]["phase"] = self.random.choice(["Available"] * 5 + ["Released", "Failed"])
        if self.chance(0.1):
            reference = {"kind": "PersistentVolumeClaim", "namespace": "default"}
            reference["name"] = self.random.choice(["p1", "p2", "elsewhere"])
            volume["spec"]["claimRef"] = reference

    # Claims

    def _draw_claim(self, namespace: str, **metadata: Any) -> str:
        random = self.random
        self._count += 1
        name = f"p{self._count}"
        self._claims.setdefault(namespace, []).append(name)
        if self.chance(0.03):
            return name
        spec: Document = {"accessModes": [random.choice(_ACCESS)]}
        spec["resources"] = {"requests": {"storage": random.choice(_SIZES)}}
        class_name = random.choice(["dyn", "dyn", "local", "local", "fast", "other", "", "nope"])
        spec["storageClassName"] = class_name
        if self.chance(0.9):
            spec["volumeMode"] = random.choice(["Filesystem"] * 6 + ["Block"])
        if self.chance(0.15):
            spec["selector"] = {"matchLabels": {"media": random.choice(["ssd", "hdd"])}}
        annotations: Document = {}
        status: Document = {"phase": "Pending"}
        if self.chance(0.5):
            self._bind(name, namespace, class_name, spec, annotations)
            status["phase"] = random.choice(["Bound"] * 15 + ["Lost"])
        elif self.chance(0.15):
            node = random.choice([*self._nodes, "ghost"])
            annotations["volume.kubernetes.io/selected-node"] = node
        if self.chance(0.03):
            metadata["deletionTimestamp"] = "2026-01-01T00:08:20Z"
            metadata["finalizers"] = ["kubernetes.io/pvc-protection"]
        if annotations:
            metadata["annotations"] = annotations
        self._add_object(
            "PersistentVolumeClaim", name, {"spec": spec, "status": status}, namespace=namespace,
            **metadata,
        )  # fmt: skip
        return name

    def _bind(
        self, name: str, namespace: str, class_name: str, spec: Document, annotations: Document
    ) -> None:
        random = self.random
        volume = f"pv-{name}"
        spec["volumeName"] = volume
        if not self.chance(0.1):
            annotations["pv.kubernetes.io/bind-completed"] = "yes"
        if self.chance(0.04):
            return
        made = self._draw_volume(volume, class_name)
        made["spec"]["accessModes"] = spec["accessModes"]
        made["status"]["phase"] = "Bound"
        reference = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}
        made["spec"]["claimRef"] = reference | {"uid": f"u-PersistentVolumeClaim-{name}"}
        if "csi" in made["spec"] and self.chance(0.2):
            attachment = {"attacher": made["spec"]["csi"]["driver"]}
            attachment["nodeName"] = random.choice(self._nodes)
            attachment |= {"source": {"persistentVolumeName": volume}}
            self._add_object(
                "VolumeAttachment", f"va-{name}",
                {"spec": attachment, "status": {"attached": self.chance(0.8)}},
            )  # fmt: skip

    def _draw_ephemeral(self, pod: str, namespace: str, uid: str, volume: str) -> Document:
        spec: Document = {"accessModes": ["ReadWriteOnce"], "storageClassName": "dyn"}
        spec["resources"] = {"requests": {"storage": "1Gi"}}
        if not self.chance(0.2):
            owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "controller": True}
            owner["uid"] = "u-other" if self.chance(0.2) else uid
            self._add_object(
                "PersistentVolumeClaim", f"{pod}-{volume}",
                {"spec": spec, "status": {"phase": "Pending"}}, namespace=namespace,
                ownerReferences=[owner],
            )  # fmt: skip
        return {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}

    def _draw_in_tree(self) -> Document:
        random = self.random
        read_only = {"readOnly": True} if self.chance(0.3) else {}
        choices: list[Document] = [
            {"gcePersistentDisk": {"pdName": random.choice(["a", "b"])} | read_only},
            {"awsElasticBlockStore": {"volumeID": random.choice(["vol-a", "vol-b"])} | read_only},
            {"iscsi": {"iqn": random.choice(["iqn.2026-01.com.example:a", "b"]), "lun": 0,
                       "targetPortal": random.choice(["1.2.3.4:3260", "1.2.3.5:3260"])}
             | read_only},
            {"rbd": {"monitors": random.sample(["m1", "m2", "m3"], random.randint(1, 2)),
                     "image": "i", "pool": random.choice(["p", "rbd"])} | read_only},
            {"azureDisk": {"diskName": "d", "diskURI": random.choice(["u1", "u2"])}},
            {"csi": {"driver": "csi.a.com"}},
        ]  # fmt: skip
        return random.choice(choices)
