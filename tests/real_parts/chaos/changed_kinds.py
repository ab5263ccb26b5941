"""What is made of each mirrored kind, and how it is changed then."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

Document = dict[str, Any]
Names = Mapping[str, list[str]]
"""The names that were created, by resource; namespaces are left out of them."""

ZONES: Final = ("a", "b", "c")
GATE: Final = "chaos/ready"
NODE_COUNT_MIN: Final = 3


class Patch(msgspec.Struct, frozen=True):
    """A change of an object.

    Attributes
    ----------
    make : callable
        Returns the merge patch.
    subresource : str
    """

    make: Callable[[random.Random, Names], Document]
    subresource: str = ""


class ChangedKind(msgspec.Struct, frozen=True):
    """A kind whose objects are created, changed and deleted.

    Attributes
    ----------
    resource : str
    weight : int
        How often it is drawn.
    make : callable
        Returns an object without its name and namespace.
    patches : tuple of Patch
        None for a kind whose objects never change.
    kept : int
        How many objects are not deleted.
    """

    resource: str
    weight: int
    make: Callable[[random.Random, Names], Document]
    patches: tuple[Patch, ...] = ()
    kept: int = 0


def _labels(drawn: random.Random, _names: Names) -> Document:
    """Set one label, and remove another one."""
    keys = drawn.sample(("app", "tier", "team"), 2)
    return {"metadata": {"labels": {keys[0]: drawn.choice("xyz"), keys[1]: None}}}


def _annotations(drawn: random.Random, _names: Names) -> Document:
    keys = drawn.sample(("chaos/one", "chaos/two"), 2)
    return {"metadata": {"annotations": {keys[0]: str(drawn.randrange(9)), keys[1]: None}}}


_METADATA: Final = (Patch(_labels), Patch(_annotations))


def _one_of(drawn: random.Random, names: Names, resource: str) -> str:
    """Return the name of an object that may be there."""
    return drawn.choice(names.get(resource) or ["absent"])


def _namespace(drawn: random.Random, _names: Names) -> Document:
    return {"metadata": {"labels": {"team": drawn.choice("xyz")}}}


def _priority_class(drawn: random.Random, _names: Names) -> Document:
    policy = drawn.choice(("Never", "PreemptLowerPriority"))
    return {"value": drawn.randrange(-10, 1000), "preemptionPolicy": policy}


def _storage_class(drawn: random.Random, _names: Names) -> Document:
    mode = drawn.choice(("Immediate", "WaitForFirstConsumer"))
    return {"provisioner": "chaos.example.com", "volumeBindingMode": mode}


def _default_class(drawn: random.Random, _names: Names) -> Document:
    is_default = drawn.choice(("true", "false"))
    name = "storageclass.kubernetes.io/is-default-class"
    return {"metadata": {"annotations": {name: is_default}}}


def _claim(drawn: random.Random, names: Names) -> Document:
    storage_class = drawn.choice(("", _one_of(drawn, names, "storageclasses"), None))
    spec: Document = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{drawn.randint(1, 4)}Gi"}},
    }
    return {"spec": spec if storage_class is None else spec | {"storageClassName": storage_class}}


def _volume(drawn: random.Random, names: Names) -> Document:
    return {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": f"{drawn.randint(1, 4)}Gi"},
            "storageClassName": _one_of(drawn, names, "storageclasses"),
            "hostPath": {"path": "/data"},
        }
    }


def _capacity_of_volume(drawn: random.Random, _names: Names) -> Document:
    return {"spec": {"capacity": {"storage": f"{drawn.randint(5, 9)}Gi"}}}


def _node(drawn: random.Random, _names: Names) -> Document:
    return {
        "metadata": {"labels": {"topology.kubernetes.io/zone": drawn.choice(ZONES)}},
        "status": _resources(drawn) | {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def _resources(drawn: random.Random) -> Document:
    resources = {"cpu": str(drawn.choice((4, 8))), "memory": "16Gi", "pods": "110"}
    return {"capacity": resources, "allocatable": resources}


def _node_status(drawn: random.Random, _names: Names) -> Document:
    return {"status": _resources(drawn)}


def _taints(drawn: random.Random, _names: Names) -> Document:
    effect = drawn.choice(("NoSchedule", "PreferNoSchedule", None))
    taints = None if effect is None else [{"key": "chaos", "value": "x", "effect": effect}]
    return {"spec": {"taints": taints, "unschedulable": drawn.random() < 0.2 or None}}


def _pod(drawn: random.Random, names: Names) -> Document:
    requests = {"cpu": drawn.choice(("50m", "100m", "300m")), "memory": "64Mi"}
    spec: Document = {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
        "terminationGracePeriodSeconds": 0,
    }
    if drawn.random() < 0.3:
        spec["schedulingGates"] = [{"name": GATE}]
    if drawn.random() < 0.2:
        spec["nodeSelector"] = {"topology.kubernetes.io/zone": drawn.choice(ZONES)}
    if drawn.random() < 0.2:
        spec["tolerations"] = [{"key": "chaos", "operator": "Exists"}]
    if drawn.random() < 0.1:
        spec["priorityClassName"] = _one_of(drawn, names, "priorityclasses")
    if drawn.random() < 0.1:
        claim = _one_of(drawn, names, "persistentvolumeclaims")
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    labels = {"app": drawn.choice("xyz"), "tier": drawn.choice("xyz")}
    return {"metadata": {"labels": labels}, "spec": spec}


def _no_gates(_drawn: random.Random, _names: Names) -> Document:
    return {"spec": {"schedulingGates": None}}


def _node_selector(drawn: random.Random, _names: Names) -> Document:
    """Restrict the nodes further, which only a gated pod allows."""
    return {"spec": {"nodeSelector": {"topology.kubernetes.io/zone": drawn.choice(ZONES)}}}


def _tolerations(drawn: random.Random, _names: Names) -> Document:
    """Replace the tolerations; the server refuses it where one is lost."""
    seconds = drawn.randint(60, 600)
    added = {"key": "chaos", "operator": "Exists"}
    defaults = [
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute",
         "tolerationSeconds": 300}
        for name in ("not-ready", "unreachable")
    ]  # fmt: skip
    extra = {"key": f"extra-{seconds}", "operator": "Exists", "effect": "NoSchedule"}
    return {"spec": {"tolerations": [*defaults, added, extra]}}


def _resize(drawn: random.Random, _names: Names) -> Document:
    requests = {"cpu": drawn.choice(("60m", "120m")), "memory": "64Mi"}
    return {
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}
    }


def _image(drawn: random.Random, _names: Names) -> Document:
    return {"spec": {"containers": [{"name": "c", "image": f"i:{drawn.randrange(9)}"}]}}


def _runtime_class(drawn: random.Random, _names: Names) -> Document:
    return {"handler": "runc", "overhead": {"podFixed": {"cpu": f"{drawn.randint(1, 9)}m"}}}


def _csi_driver(drawn: random.Random, _names: Names) -> Document:
    return {"spec": {"attachRequired": False, "storageCapacity": drawn.random() < 0.5}}


def _csi_driver_spec(drawn: random.Random, _names: Names) -> Document:
    return {"spec": {"storageCapacity": drawn.random() < 0.5}}


def _csi_node(drawn: random.Random, _names: Names) -> Document:
    count = drawn.randint(1, 9)
    driver = {"name": f"d{count}.example.com", "nodeID": "n", "allocatable": {"count": count}}
    return {"spec": {"drivers": [driver] if drawn.random() < 0.8 else []}}


def _capacity(drawn: random.Random, names: Names) -> Document:
    return {
        "storageClassName": _one_of(drawn, names, "storageclasses"),
        "capacity": f"{drawn.randint(1, 9)}Gi",
        "nodeTopology": {"matchLabels": {"topology.kubernetes.io/zone": drawn.choice(ZONES)}},
    }


def _capacity_size(drawn: random.Random, _names: Names) -> Document:
    return {"capacity": f"{drawn.randint(1, 9)}Gi"}


def _budget(drawn: random.Random, _names: Names) -> Document:
    selector = {"matchLabels": {"app": drawn.choice("xyz")}}
    return {"spec": {"minAvailable": drawn.randint(0, 3), "selector": selector}}


def _budget_status(drawn: random.Random, _names: Names) -> Document:
    counts = dict.fromkeys(("currentHealthy", "desiredHealthy", "expectedPods"), 1)
    return {"status": counts | {"disruptionsAllowed": drawn.randint(0, 3)}}


def _device_class(drawn: random.Random, _names: Names) -> Document:
    driver = drawn.choice(("gpu.example.com", "nic.example.com"))
    return {"spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]}}


def _slice(drawn: random.Random, names: Names) -> Document:
    node = _one_of(drawn, names, "nodes")
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{number}"} for number in range(drawn.randint(1, 4))]
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": devices}
    return {"spec": spec}


def _slice_devices(drawn: random.Random, _names: Names) -> Document:
    return {"spec": {"devices": [{"name": f"gpu-{n}"} for n in range(drawn.randint(1, 4))]}}


def _device_request(drawn: random.Random, names: Names) -> Document:
    exactly = {"deviceClassName": _one_of(drawn, names, "deviceclasses"), "count": 1}
    return {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}


def _resource_claim(drawn: random.Random, names: Names) -> Document:
    return {"spec": _device_request(drawn, names)}


def _claim_template(drawn: random.Random, names: Names) -> Document:
    return {"spec": {"spec": _device_request(drawn, names)}}


CHANGED_KINDS: Final = (
    ChangedKind("namespaces", 1, _namespace, _METADATA),
    ChangedKind("priorityclasses", 1, _priority_class, _METADATA),
    ChangedKind("storageclasses", 1, _storage_class, (*_METADATA, Patch(_default_class))),
    ChangedKind("persistentvolumeclaims", 2, _claim, _METADATA),
    ChangedKind("persistentvolumes", 2, _volume, (*_METADATA, Patch(_capacity_of_volume))),
    ChangedKind(
        "nodes", 3, _node, (*_METADATA, Patch(_taints), Patch(_node_status, "status")),
        kept=NODE_COUNT_MIN,
    ),
    ChangedKind("runtimeclasses", 1, _runtime_class, _METADATA),
    ChangedKind("csidrivers", 1, _csi_driver, (*_METADATA, Patch(_csi_driver_spec))),
    ChangedKind("csinodes", 2, _csi_node, (*_METADATA, Patch(_csi_node))),
    ChangedKind("csistoragecapacities", 2, _capacity, (*_METADATA, Patch(_capacity_size))),
    ChangedKind(
        "poddisruptionbudgets", 2, _budget,
        (*_METADATA, Patch(_budget), Patch(_budget_status, "status")),
    ),
    ChangedKind("deviceclasses", 1, _device_class, (*_METADATA, Patch(_device_class))),
    ChangedKind("resourceslices", 2, _slice, (*_METADATA, Patch(_slice_devices))),
    ChangedKind("resourceclaimtemplates", 1, _claim_template, _METADATA),
    ChangedKind("resourceclaims", 2, _resource_claim, _METADATA),
    ChangedKind(
        "pods", 12, _pod,
        (
            *_METADATA, Patch(_no_gates), Patch(_no_gates), Patch(_node_selector),
            Patch(_tolerations), Patch(_resize, "resize"), Patch(_image),
        ),
    ),
)  # fmt: skip
"""Every kind that `podwright sync` mirrors, in the order of `source_kinds`."""
