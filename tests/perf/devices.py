"""The speed of device allocation in the whole machine: 5,000 nodes with devices.

Every pod has a claim of its own, as from a template. A case counts all events of a pod: its claim
and its addition, the cycle, the finalizer and the status of the claim, and the binding.

Upstream: test/integration/scheduler_perf/dra/performance-config.yaml
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec
from tests.perf import templates
from tests.perf.case import PODS_PER_SECOND, Case
from tests.perf.machine import Driver

from podwright._garbage import frozen_creations
from podwright.apimachinery.objects import Object, Pod, ResourceClaim, decode_as
from podwright.apimachinery.schema import decode
from podwright.scheduler.machine import Action, CallDone, WriteResourceClaim

_NODES, _INITIAL, _MEASURED = 5_000, 500, 5_000
_GROUP = "resource.k8s.io/v1"
_DRIVER = "gpu.example.com"
_MODEL = f'device.attributes["{_DRIVER}"].model == "h100"'

Document = dict[str, Any]


def selected() -> float:
    """Eight devices per node; a claim for one that a CEL expression selects."""
    exactly = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": _MODEL}}]}
    return _rate({"devices": {"requests": [_request("gpu", exactly)]}}, _whole_devices)


def partitions() -> float:
    """Two cards of four partitions per node; a claim for two partitions of one card."""
    of_card = {"matchAttribute": f"{_DRIVER}/card"}
    exactly = {
        "deviceClassName": "gpu",
        "selectors": [{"cel": {"expression": f'device.attributes["{_DRIVER}"].size == "quarter"'}}],
    }
    devices = {
        "requests": [_request("first", exactly), _request("second", exactly)],
        "constraints": [of_card],
    }
    return _rate({"devices": devices}, _cards)


def _request(name: str, exactly: Document) -> Document:
    return {"name": name, "exactly": exactly | {"allocationMode": "ExactCount", "count": 1}}


def _object(kind: str, name: str, spec: Document) -> Object:
    return decode({"apiVersion": _GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec})


def _slice(node: str, name: str, slice_count: int, **spec: Any) -> Object:
    pool = {"name": node, "generation": 1, "resourceSliceCount": slice_count}
    return _object(
        "ResourceSlice", name, {"driver": _DRIVER, "nodeName": node, "pool": pool} | spec
    )


def _whole_devices(node: str) -> Iterator[Object]:
    models = ("a100", "h100")
    devices = [
        {
            "name": f"gpu-{index}",
            "attributes": {"model": {"string": models[index % 2]}, "index": {"int": index}},
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for index in range(8)
    ]
    yield _slice(node, f"{node}-gpus", 1, devices=devices)


def _cards(node: str) -> Iterator[Object]:
    cards = ("card-0", "card-1")
    counters = [{"name": card, "counters": {"quarters": {"value": "4"}}} for card in cards]
    yield _slice(node, f"{node}-counters", 2, sharedCounters=counters)
    devices = []
    for card in cards:
        for name, size, quarters in (
            ("whole", "whole", "4"),
            *((f"half-{i}", "half", "2") for i in range(2)),
            *((f"quarter-{i}", "quarter", "1") for i in range(4)),
        ):
            taken = {"counterSet": card, "counters": {"quarters": {"value": quarters}}}
            attributes = {"card": {"string": card}, "size": {"string": size}}
            devices.append(
                {
                    "name": f"{card}-{name}",
                    "attributes": attributes,
                    "consumesCounters": [taken],
                }
            )
    yield _slice(node, f"{node}-devices", 2, devices=devices)


class DeviceDriver(Driver):
    """A driver that also writes claims."""

    def follow(self, action: Action, waiting: deque[Action]) -> None:
        """Execute the writes of claims."""
        if isinstance(action, WriteResourceClaim):
            self._version += 1
            claim = action.claim
            metadata = msgspec.structs.replace(claim.metadata, resource_version=str(self._version))
            claim = msgspec.structs.replace(claim, metadata=metadata)
            self.put(claim)
            waiting.extend(self.machine.handle(CallDone(action.call, obj=claim), self.now_ns))


def _rate(claim_spec: Document, slices: Any) -> float:
    # As the commands do with the objects that they read.
    with frozen_creations():
        driver = _driver(slices)
    like = decode_as(
        {"apiVersion": _GROUP, "kind": "ResourceClaim", "metadata": {}, "spec": claim_spec},
        ResourceClaim,
    )
    for pod in _with_claims(driver, like, _INITIAL, "initial"):
        driver.put(pod)
        driver.cycle()
    return driver.rate(_with_claims(driver, like, _MEASURED, "measured"))


def _driver(slices: Any) -> DeviceDriver:
    driver = DeviceDriver(templates.nodes(_NODES))
    expression = f'device.driver == "{_DRIVER}"'
    driver.put(_object("DeviceClass", "gpu", {"selectors": [{"cel": {"expression": expression}}]}))
    for index in range(_NODES):
        for obj in slices(f"scheduler-perf-{index}"):
            driver.put(obj)
    return driver


def _with_claims(driver: Driver, like: ResourceClaim, count: int, prefix: str) -> list[Pod]:
    """Return pods with a claim each; the claims are put when the pods are made."""
    found = []
    replace = msgspec.structs.replace
    document = templates.pod_document(
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    )
    for pod in templates.pods(document, count, prefix):
        name = f"{pod.name}-gpu"
        status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": name}]}
        found.append(replace(pod, raw=pod.raw | {"status": status}))
        owner = {"kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
        metadata = {
            "name": name,
            "namespace": pod.namespace,
            "uid": f"uid-{name}",
            "ownerReferences": [owner],
        }
        claim = decode_as(like.raw | {"metadata": metadata}, ResourceClaim)
        driver.put(replace(claim, spec=like.spec))
    return found


CASES = (
    Case(name="machine_dra_5000", unit=PODS_PER_SECOND, measure=selected, target=5_000),
    Case(
        name="machine_dra_partitions_5000",
        unit=PODS_PER_SECOND,
        measure=partitions,
        target=2_000,
    ),
)
