"""The default StorageClass of a cluster that has no other class, as kind and minikube create it."""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Object
from podwright.apimachinery.schema import decode

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
