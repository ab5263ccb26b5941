"""The kind DeviceCards, which a cluster with simulated drivers serves.

The schema rejects what `read_cards` rejects in files, so that a wrong field is an error of the
request and not an Event later.
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document, Object
from podwright.apimachinery.schema import decode

_DURATION: Final = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"
_MAX_TEXTS: Final = 64
_MAX_PARTITIONS: Final = 128
_MAX_ENTRIES: Final = 64
"""Bounds of lists and maps, without which the rules would be too expensive to be accepted."""


def device_cards_kind() -> Object:
    """Return the CustomResourceDefinition; the simulated driver checks the slices it makes."""
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
                "description": "DeviceCards describe the devices, such as GPUs, that one driver"
                " finds in each of some nodes. The simulated driver publishes them in"
                " ResourceSlices.",
                "required": ["spec"],
                "properties": {"spec": _spec()},
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


def _spec() -> Document:
    return _object(
        "The cards of each node.",
        {
            "driver": _text("The driver, as in ResourceSlices and in selectors of devices."),
            "count": _number("How many cards a node has."),
            "nodeSelector": {
                "type": "object",
                "description": "The labels of the nodes that have the cards. Without it, all nodes"
                " have them.",
                "additionalProperties": {"type": "string"},
            },
            "name": _text("The cards are named NAME-0, NAME-1 and so on. Defaults to gpu."),
            "attributes": _attributes("The attributes of each card. Each also gets index."),
            "capacity": _capacity("The capacities of each card."),
            "taints": _list(
                "The taints of each card.",
                _object(
                    "A taint, as in a ResourceSlice.",
                    {
                        "key": _text("The key of the taint."),
                        "value": _text("The value of the taint."),
                        "effect": {
                            "type": "string",
                            "description": "NoExecute also evicts the pods that use the device.",
                            "enum": ["None", "NoSchedule", "NoExecute"],
                        },
                        "timeAdded": {
                            "type": "string",
                            "format": "date-time",
                            "description": "When the taint was added.",
                        },
                    },
                    required=("key", "effect"),
                ),
            ),
            "bindingConditions": _texts(
                "The conditions of an allocated card that must be true before the pod is bound."
            ),
            "bindingFailureConditions": _texts(
                "The conditions of an allocated card with which the binding fails."
            ),
            "allowMultipleAllocations": {
                "type": "boolean",
                "description": "Whether several claims can have a card, each a part of its"
                " capacity.",
            },
            "links": _object(
                "Groups of linked cards.",
                {
                    "attribute": _text(
                        "The attribute of each card that has the number of its group, from 0."
                    ),
                    "size": _number("How many cards a group has."),
                },
                required=("attribute", "size"),
            ),
            "binding": _object(
                "How the driver sets the binding conditions. Without it, others set them.",
                {
                    "delay": _duration(
                        "How long after the allocation it sets the binding conditions, such as 5s."
                    ),
                    "failure": _text(
                        "The message with which it sets the first binding failure condition"
                        " instead, at once."
                    ),
                },
            ),
            "prepare": _object(
                "How the driver prepares claims on the node.",
                {"delay": _duration("How long it takes, such as 5s.")},
                required=("delay",),
            ),
            "parts": {
                "type": "integer",
                "format": "int64",
                "minimum": 0,
                "description": "Into how many parts a card can be divided; partitions consume"
                " them. 0: cards are allocated whole.",
            },
            "partitions": {
                "maxItems": _MAX_PARTITIONS,
                **_list(
                    "What a card can be divided into.",
                    _object(
                        "Partitions of one size.",
                        {
                            "name": _text("The partitions are named CARD-NAME-0 and so on."),
                            "parts": _number("How many parts of the card each takes."),
                            "count": _number(
                                "How many of them a card can be divided into, if it has no others."
                            ),
                            "attributes": _attributes(
                                "The attributes of each partition, besides those of the card."
                            ),
                            "capacity": _capacity("The capacities of each partition."),
                        },
                        required=("name", "parts", "count"),
                    ),
                ),
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
        },
        required=("driver", "count"),
    ) | {"x-kubernetes-validations": [_rule(*each) for each in _RULES]}


_PARTITIONED: Final = "has(self.partitions) && self.partitions.size() > 0"
_IN_PARTS: Final = "has(self.parts) && self.parts > 0"
_RULES: Final = (
    (
        f"!({_PARTITIONED}) || ({_IN_PARTS})",
        "parts is required with partitions: into how many parts a card can be divided",
    ),
    (
        f"!({_IN_PARTS}) || ({_PARTITIONED})",
        "partitions is required with parts: what a card can be divided into",
    ),
    (
        f"!({_PARTITIONED}) || !({_IN_PARTS}) || self.partitions.all(p, p.parts <= self.parts)",
        "partitions[*].parts must be between 1 and the parts of a card",
    ),
    (
        "!has(self.binding) || (has(self.bindingConditions) && self.bindingConditions.size() > 0)",
        "binding has no effect without bindingConditions",
    ),
    (
        "!has(self.binding) || has(self.binding.delay) !="
        " (has(self.binding.failure) && self.binding.failure != '')",
        "binding needs a delay or a failure, and not both",
    ),
    (
        "!has(self.binding) || !has(self.binding.failure) || self.binding.failure == '' ||"
        " (has(self.bindingFailureConditions) && self.bindingFailureConditions.size() > 0)",
        "binding.failure has no effect without bindingFailureConditions",
    ),
)
"""The rules between fields, as in `read_cards`, each with its message."""


def _rule(rule: str, message: str) -> Document:
    return {"rule": rule, "message": message}


def _object(
    description: str, properties: dict[str, Document], *, required: tuple[str, ...] = ()
) -> Document:
    of: Document = {"type": "object", "description": description, "properties": properties}
    return of | ({"required": list(required)} if required else {})


def _text(description: str) -> Document:
    return {"type": "string", "description": description}


def _duration(description: str) -> Document:
    return _text(description) | {"pattern": _DURATION}


def _number(description: str) -> Document:
    return {"type": "integer", "format": "int64", "minimum": 1, "description": description}


def _list(description: str, items: Document) -> Document:
    return {"type": "array", "description": description, "items": items}


def _texts(description: str) -> Document:
    return _list(description, {"type": "string"}) | {"maxItems": _MAX_TEXTS}


def _attributes(description: str) -> Document:
    """Return the schema of attributes.

    Upstream: staging/src/k8s.io/api/resource/v1/types.go, `DeviceAttribute`
    """
    values: dict[str, Document] = {
        "bool": {"type": "boolean", "description": "A value that is true or false."},
        "int": {"type": "integer", "format": "int64", "description": "A number."},
        "string": _text("A text of at most 64 characters."),
        "version": _text("A semantic version."),
    }
    lists = {
        f"{name}s": _list(f"Several values of {name}.", value) for name, value in values.items()
    }
    return {
        "type": "object",
        "description": description,
        "maxProperties": _MAX_ENTRIES,
        "additionalProperties": _object("One of the fields is set.", values | lists)
        | {"minProperties": 1, "maxProperties": 1},
    }


def _capacity(description: str) -> Document:
    """Return the schema of capacities.

    Upstream: staging/src/k8s.io/api/resource/v1/types.go, `DeviceCapacity`
    """
    valid_range = _object(
        "A range of amounts.",
        {
            "min": _quantity("The smallest amount."),
            "max": _quantity("The greatest amount."),
            "step": _quantity("The difference between two amounts."),
        },
        required=("min",),
    )
    policy = _object(
        "Which amounts claims can request of a device with several allocations.",
        {
            "default": _quantity("The amount of a claim that requests none."),
            "validValues": _list("The amounts that can be requested.", _quantity("An amount.")),
            "validRange": valid_range,
        },
    )
    return {
        "type": "object",
        "description": description,
        "maxProperties": _MAX_ENTRIES,
        "additionalProperties": _object(
            "An amount.",
            {"value": _quantity("How much the device has."), "requestPolicy": policy},
            required=("value",),
        ),
    }


def _quantity(description: str) -> Document:
    return {"x-kubernetes-int-or-string": True, "description": description}
