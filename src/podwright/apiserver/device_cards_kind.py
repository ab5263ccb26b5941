"""The kind DeviceCards, which a cluster with simulated drivers serves."""

from __future__ import annotations

from podwright.objects import Document, Object
from podwright.schema import decode

_ANY: Document = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def device_cards_kind() -> Object:
    """Return the CustomResourceDefinition; the simulated driver checks the fields further."""
    spec = _ANY | {
        "required": ["driver", "count"],
        "properties": {
            "driver": {"type": "string"},
            "count": {"type": "integer", "minimum": 1},
            "nodeSelector": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
    columns = [
        {"name": name.capitalize(), "type": kind, "jsonPath": f".spec.{name}"}
        for name, kind in (("driver", "string"), ("count", "integer"))
    ]
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "required": ["spec"],
                "properties": {"spec": spec},
            }
        },
        "additionalPrinterColumns": columns,
    }
    names = {
        "kind": "DeviceCards",
        "listKind": "DeviceCardsList",
        "plural": "devicecards",
        "singular": "devicecards",
    }
    return decode(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "devicecards.podwright.dev"},
            "spec": {
                "group": "podwright.dev",
                "scope": "Cluster",
                "names": names,
                "versions": [version],
            },
        }
    )
