"""How many devices of a class a node has, and how many are allocated.

Upstream: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go,
calculateDRAResourceTotals
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Object
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.device_totals import device_totals

DRIVER = "d.example.com"
MODEL = f'device.attributes["{DRIVER}"].model == "a"'


def made(kind: str, name: str, spec: dict[str, Any], **more: Any) -> Object:
    metadata = {"name": name, "uid": name}
    if kind == "ResourceClaim":
        metadata["namespace"] = "default"
    head = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata}
    return decode(head | {"spec": spec} | more)


def slice_of(name: str, *models: str, **where: Any) -> Object:
    """Return a slice with a device for each model; "" has no model."""
    devices = [
        {"name": f"{name}{number}"}
        | ({"attributes": {"model": {"string": model}}} if model else {})
        for number, model in enumerate(models)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    return made("ResourceSlice", name, {"driver": DRIVER, "pool": pool, "devices": devices} | where)


def allocated(pool: str, *devices: str) -> Object:
    results = [
        {"driver": DRIVER, "pool": pool, "device": device, "request": "r"} for device in devices
    ]
    return made("ResourceClaim", "c", {}, status={"allocation": {"devices": {"results": results}}})


def node(name: str, **labels: str) -> Object:
    return decode(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    )


ON_N = {"nodeName": "n"}
SELECTED = {
    "nodeSelector": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
    }
}


@pytest.mark.parametrize(
    ("objects", "capacity", "used"),
    [
        pytest.param([slice_of("s", "a", "a", **ON_N)], [2, 0], [0, 0], id="of one node"),
        pytest.param(
            [slice_of("s", "b", "a", "b", "a", **ON_N)], [2, 0], [0, 0], id="of the class"
        ),
        pytest.param(
            [slice_of("s", "a", "a", **ON_N), allocated("s", "s1")], [2, 0], [1, 0], id="allocated"
        ),
        pytest.param(
            [slice_of("s", "a", "b", **ON_N), allocated("s", "s1")],
            [1, 0],
            [0, 0],
            id="one of another class is",
        ),
        pytest.param(
            [
                made(
                    "ResourceSlice",
                    "s",
                    {
                        "driver": DRIVER,
                        "pool": {"name": "s", "generation": 1, "resourceSliceCount": 1},
                        "perDeviceNodeSelection": True,
                        "devices": [
                            {"name": f"s{number}", "attributes": {"model": {"string": "a"}}}
                            | {"nodeName": name}
                            for number, name in enumerate("mnmn")
                        ],
                    },
                ),
                allocated("s", "s3"),
            ],
            [2, 2],
            [1, 0],
            id="of the node that each device names",
        ),
        pytest.param([slice_of("s", "a", allNodes=True)], [1, 1], [0, 0], id="of all nodes"),
        pytest.param([slice_of("s", "a", **SELECTED)], [0, 1], [0, 0], id="of those selected"),
        pytest.param([slice_of("s", "a")], [1, 1], [0, 0], id="without any choice of nodes"),
        pytest.param(
            [slice_of("s", "a", **ON_N), slice_of("t", "a", "a", allNodes=True)],
            [3, 2],
            [0, 0],
            id="of several slices",
        ),
        pytest.param(
            [slice_of("s", "a", "", **ON_N), slice_of("t", "a", nodeName="m")],
            [0, 1],
            [0, 0],
            id="the selector fails for a device: the node has none",
        ),
    ],
)
def test_the_devices_of_each_node(
    objects: list[Object], capacity: list[int], used: list[int]
) -> None:
    cluster = Cluster()
    selectors = [{"cel": {"expression": MODEL}}]
    for obj in (node("n"), node("m", zone="z"), made("DeviceClass", "a", {"selectors": selectors})):
        cluster.put(obj)
    for obj in objects:
        cluster.put(obj)
    found = device_totals(cluster, "a", cluster.live_slots())
    assert [each.tolist() for each in found] == [capacity, used]
