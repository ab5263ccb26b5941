"""Generated nodes (`podwright up --nodes N`) and a default class, for clusters that have none."""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import PLATFORM_LABELS, Document, Object
from podwright.apimachinery.schema import decode

ZONES: Final = ("zone-a", "zone-b", "zone-c")
RESOURCES: Final = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}


def generated_nodes(count: int) -> list[Object]:
    """Return nodes of one shape, in three zones in turn."""
    return [decode(_node(number)) for number in range(count)]


def _node(number: int) -> Document:
    name = f"node-{number}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                **PLATFORM_LABELS,
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/region": "region-1",
                "topology.kubernetes.io/zone": ZONES[number % len(ZONES)],
            },
        },
        "spec": {},
        "status": {
            "capacity": dict(RESOURCES),
            "allocatable": dict(RESOURCES),
            # The API server writes the port in each node, also where no kubelet has set it.
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        },
    }


# The default StorageClass of a cluster that has no other class, as kind and minikube create it.

PROVISIONER: Final = "simulated.podwright.dev"
"""The persistent-volume controller takes the part of any provisioner."""


def standard_storage_class() -> Object:
    """Return the class `standard`: volumes are created where their pods are scheduled."""
    return decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {
                "name": "standard",
                "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
            },
            "provisioner": PROVISIONER,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    )
