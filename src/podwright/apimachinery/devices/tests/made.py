"""Objects of device tests, and a search over them in one call."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.devices import (
    Devices,
    Features,
    NodeDevices,
    Refused,
    Search,
    Solution,
)
from podwright.apimachinery.devices.index import DeviceIndex
from podwright.apimachinery.objects import (
    AllocationResult,
    DeviceClass,
    DeviceTaintRule,
    Object,
    ResourceClaim,
    ResourceSlice,
    with_fields,
)
from podwright.apimachinery.schema import decode

DRIVER = "gpu.example.com"
NODE = "n"


def _made(kind: str, name: str, spec: dict[str, Any], **metadata: Any) -> Object:
    of = {"name": name, "uid": f"uid-of-{name}"} | metadata
    return decode({"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": of, "spec": spec})


def cel(*expressions: str) -> list[dict[str, Any]]:
    """Return selectors."""
    return [{"cel": {"expression": each}} for each in expressions]


def has_model(model: str) -> list[dict[str, Any]]:
    """Return selectors of the devices of a model."""
    return cel(f'device.attributes["{DRIVER}"].model == "{model}"')


def device_class(name: str = "gpu", *selectors: str, **spec: Any) -> DeviceClass:
    """Return a class; without selectors it has all devices."""
    found = _made("DeviceClass", name, {"selectors": cel(*selectors)} | spec)
    assert isinstance(found, DeviceClass)
    return found


def exactly(name: str = "r", count: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a request without alternatives."""
    usual = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    if fields.get("allocationMode") == "All":
        del usual["count"]
    return {"name": name, "exactly": usual | fields}


def first_available(name: str, *alternatives: dict[str, Any]) -> dict[str, Any]:
    """Return a request for the first of some requests."""
    several = [{"name": each["name"]} | each["exactly"] for each in alternatives]
    return {"name": name, "firstAvailable": several}


def claim(name: str, *requests: dict[str, Any], **devices: Any) -> ResourceClaim:
    """Return a claim in namespace `default`."""
    spec = {"devices": {"requests": list(requests)} | devices}
    found = _made("ResourceClaim", name, spec, namespace="default")
    assert isinstance(found, ResourceClaim)
    return found


def of_model(name: str, model: str, **fields: Any) -> dict[str, Any]:
    """Return a device with the attribute `model`."""
    return {"name": name, "attributes": {"model": {"string": model}}} | fields


def consuming(name: str, amount: int, **fields: Any) -> dict[str, Any]:
    """Return a device that takes `slots` of the counter set `card`."""
    taken = {"counterSet": "card", "counters": {"slots": {"value": str(amount)}}}
    return {"name": name, "consumesCounters": [taken]} | fields


def published(
    *devices: dict[str, Any] | str,
    name: str = "s",
    pool: str = "p",
    driver: str = DRIVER,
    generation: int = 1,
    slices: int = 1,
    **spec: Any,
) -> ResourceSlice:
    """Return a slice, of node `n` if nothing else is said; a text is a device with only a name."""
    own: dict[str, Any] = {
        "driver": driver,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": slices},
    }
    if devices:
        own["devices"] = [{"name": each} if isinstance(each, str) else each for each in devices]
    if not {"nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection"} & spec.keys():
        own["nodeName"] = NODE
    found = _made("ResourceSlice", name, own | spec)
    assert isinstance(found, ResourceSlice)
    return found


def counters(amount: int, name: str = "counters", **spec: Any) -> ResourceSlice:
    """Return the slice with the counter set `card` of a pool of two slices."""
    sets = [{"name": "card", "counters": {"slots": {"value": str(amount)}}}]
    fields: dict[str, Any] = {"sharedCounters": sets, "slices": 2} | spec
    return published(name=name, **fields)


def taint_rule(name: str, key: str, **selector: str) -> DeviceTaintRule:
    """Return a rule that taints devices."""
    spec: dict[str, Any] = {"taint": {"key": key, "effect": "NoSchedule"}}
    if selector:
        spec["deviceSelector"] = selector
    found = decode(
        {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": name},
            "spec": spec,
        }
    )
    assert isinstance(found, DeviceTaintRule), found
    return found


def result(device: str, pool: str = "p", **fields: Any) -> dict[str, Any]:
    """Return one allocated device."""
    return {"request": "r", "driver": DRIVER, "pool": pool, "device": device} | fields


def allocation(*results: dict[str, Any] | str) -> AllocationResult:
    """Return an allocation; a text is a device of the pool `p`."""
    several = [result(each) if isinstance(each, str) else each for each in results]
    document = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"devices": {}},
        "status": {"allocation": {"devices": {"results": several}}},
    }
    found = decode(document)
    assert isinstance(found, ResourceClaim)
    assert found.status.allocation is not None
    return found.status.allocation


def allocated(name: str, *results: dict[str, Any] | str, **status: Any) -> ResourceClaim:
    """Return a claim that has devices."""
    return with_fields(claim(name, exactly()), "status", allocation=allocation(*results), **status)


def index_of(*objects: Object, **options: Any) -> DeviceIndex:
    """Return an index of a class `gpu` of all devices, and of the objects."""
    index = DeviceIndex(**options)
    for obj in (device_class(), *objects):
        index.put(obj)
    return index


def search(
    index: DeviceIndex,
    *claims: ResourceClaim,
    node: str = NODE,
    labels: dict[str, str] | None = None,
    on_refusal: Refused | None = None,
    most_steps: int = 0,
    **features: bool,
) -> Search:
    """Return a search on a node; `features` are those that differ from the default."""
    known = Features(**features)
    labels = labels or {}
    pools = index.pools_of(node, labels, with_partitions=known.partitionable_devices)
    return Search(
        NodeDevices(node, labels, pools),
        claims,
        Devices(index.classes, index.allocated, index.selection),
        features=known,
        most_steps=most_steps,
        on_refusal=on_refusal,
    )


def chosen(solution: Solution | None) -> list[list[tuple[str, str]]] | None:
    """Return of each claim the names of requests and devices, in the order of choice."""
    if solution is None:
        return None
    return [
        [(each.choice.full_name, each.device.id.device) for each in of_claim]
        for of_claim in solution.chosen
    ]


def devices_of(solution: Solution | None) -> str | None:
    """Return the names of the devices of all claims; None without a solution."""
    found = chosen(solution)
    return None if found is None else " ".join(name for each in found for _, name in each)
