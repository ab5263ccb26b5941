"""The metrics of binding conditions and of claims for extended resources, in a machine."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from podwright.apimachinery.objects import Object, ResourceClaim, decode_pod, with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import Registry, build_machine
from podwright.scheduler.framework import CallError
from podwright.scheduler.machine import (
    Action,
    Bind,
    CallDone,
    CycleDue,
    EmitEvent,
    Event,
    ObjectPut,
    TimerFired,
    WakeAt,
    WriteResourceClaim,
    render_text,
)
from podwright.testing import make_node
from podwright.testing.parity.sequence import effective_configuration

_SECOND_NS = 1_000_000_000
_DRIVER = "gpu.example.com"

Document = dict[str, Any]


def _object(kind: str, name: str, spec: Document) -> Object:
    metadata = {"name": name, "uid": name}
    if kind == "ResourceClaim":
        metadata["namespace"] = "default"
    api_version = "resource.k8s.io/v1"
    return decode({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})


class DrivenCluster:
    """A machine, and the minimum that executes its actions."""

    def __init__(
        self, *, conditions: str = "", message: str = "m", refuses_claims: bool = False
    ) -> None:
        registry = Registry()
        self.machine = build_machine(effective_configuration(None, registry), registry)
        self.now_ns = 1_700_000_000 * _SECOND_NS
        self.conditions = conditions
        self.message = message
        self.events: list[tuple[str, str, str]] = []
        self.refuses_claims = refuses_claims
        self.wake_ns = 0
        self.bound: list[str] = []
        self.reported = False
        device: Document = {"name": "d0"}
        if conditions:
            device |= {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}
        pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": _DRIVER, "nodeName": "n", "pool": pool, "devices": [device]}
        self.send(ObjectPut(make_node("n", cpu="4")))
        self.send(ObjectPut(_object("DeviceClass", "gpu", {"extendedResourceName": "a.com/gpu"})))
        self.send(ObjectPut(_object("ResourceSlice", "n", spec)))

    def send(self, event: Event) -> None:
        waiting: deque[Action] = deque(self.machine.handle(event, self.now_ns))
        while waiting:
            action = waiting.popleft()
            if isinstance(action, WakeAt):
                self.wake_ns = action.due_ns
            elif isinstance(action, WriteResourceClaim):
                waiting.extend(self.machine.handle(self._write(action), self.now_ns))
            elif isinstance(action, EmitEvent):
                self.events.append((action.reason, action.action, action.note))
            elif hasattr(action, "call"):
                if isinstance(action, Bind):
                    self.bound.append(action.node)
                waiting.extend(self.machine.handle(CallDone(action.call), self.now_ns))

    def _write(self, action: WriteResourceClaim) -> CallDone:
        if self.refuses_claims:
            return CallDone(action.call, error=CallError("no room"))
        claim = action.claim
        if action.operation == "create":
            claim = with_fields(claim, "metadata", name="made", uid="made")
        version = str(int(claim.metadata.resource_version or 0) + 1)
        claim = with_fields(claim, "metadata", resource_version=version)
        self.machine.handle(ObjectPut(claim), self.now_ns)
        return CallDone(action.call, obj=claim)

    def report(self) -> None:
        """Set the condition of the allocated device, as its driver does."""
        claim = self.machine.cluster.devices.claims["default/c"]
        condition = {"type": self.conditions, "status": "True", "reason": "R"}
        condition["message"] = self.message
        device = {"driver": _DRIVER, "pool": "n", "device": "d0", "conditions": [condition]}
        document = claim.raw | {"status": claim.raw["status"] | {"devices": [device]}}
        changed = decode(document)
        assert isinstance(changed, ResourceClaim)
        version = str(int(claim.metadata.resource_version) + 1)
        self.send(ObjectPut(with_fields(changed, "metadata", resource_version=version)))

    def sleep(self) -> None:
        """Continue at the time that the machine waits for."""
        self.now_ns = max(self.wake_ns, self.now_ns)
        self.send(TimerFired())

    def metrics(self, of: str) -> list[str]:
        lines = render_text(self.machine.metrics_snapshot()).splitlines()
        return [line for line in lines if line.startswith(of) and "_bucket" not in line]


def _pod(**spec: Any) -> Object:
    containers = [{"name": "main"}]
    document = {
        "metadata": {"name": "pod", "namespace": "default", "uid": "pod"},
        "spec": {"containers": containers, "schedulerName": "default-scheduler"} | spec,
    }
    return decode_pod(document)


def schedule_claimed(cluster: DrivenCluster) -> None:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    devices = {"requests": [{"name": "r", "exactly": exactly}]}
    cluster.send(ObjectPut(_object("ResourceClaim", "c", {"devices": devices})))
    entry = {"name": "gpu", "resourceClaimName": "c"}
    cluster.send(ObjectPut(_pod(resourceClaims=[entry])))
    cluster.send(CycleDue())


@pytest.mark.parametrize(
    ("condition", "status", "waited_s"),
    [
        pytest.param("Ready", "success", "5", id="the device becomes ready"),
        pytest.param("Failed", "failure", "5", id="the device fails"),
        pytest.param("Other", "timeout", "600", id="nothing happens"),
    ],
)
def test_waits_for_binding_conditions_are_counted(
    condition: str, status: str, waited_s: str
) -> None:
    cluster = DrivenCluster(conditions=condition)
    schedule_claimed(cluster)
    assert cluster.metrics("scheduler_dra_bindingconditions") == []
    cluster.report()
    ends = cluster.now_ns + 700 * _SECOND_NS
    while not cluster.metrics("scheduler_dra_bindingconditions") and cluster.now_ns < ends:
        cluster.sleep()
    labels = f'{{driver="{_DRIVER}",profile="default-scheduler",status="{status}"}}'
    assert cluster.metrics("scheduler_dra_bindingconditions") == [
        f"scheduler_dra_bindingconditions_allocations_total{labels} 1",
        f"scheduler_dra_bindingconditions_wait_duration_seconds_sum{labels} {waited_s}",
        f"scheduler_dra_bindingconditions_wait_duration_seconds_count{labels} 1",
    ]
    assert cluster.bound == (["n"] if status == "success" else [])


def test_devices_without_binding_conditions_are_not_counted() -> None:
    cluster = DrivenCluster()
    schedule_claimed(cluster)
    assert cluster.bound == ["n"]
    assert cluster.metrics("scheduler_dra_bindingconditions") == []


@pytest.mark.parametrize(("refuses_claims", "status"), [(False, "success"), (True, "failure")])
def test_claims_for_extended_resources_are_counted(refuses_claims: bool, status: str) -> None:
    cluster = DrivenCluster(refuses_claims=refuses_claims)
    requests = {"cpu": "1", "a.com/gpu": "1"}
    container = {"name": "main", "resources": {"requests": requests, "limits": requests}}
    cluster.send(ObjectPut(_pod(containers=[container])))
    cluster.send(CycleDue())
    assert cluster.metrics("scheduler_resourceclaim_creates_total") == [
        f'scheduler_resourceclaim_creates_total{{status="{status}"}} 1'
    ]
