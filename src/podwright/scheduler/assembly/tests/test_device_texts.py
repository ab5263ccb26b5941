"""What is said of claims that cannot be used, and what then happens with their pods.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go;
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating
"""

from __future__ import annotations

from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import Object, ResourceClaim, decode_as, decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import Registry, build_machine
from podwright.scheduler.assembly.tests.test_device_metrics import DrivenCluster, schedule_claimed
from podwright.scheduler.machine import CycleDue, EmitEvent, ObjectPut
from podwright.testing import make_node
from podwright.testing.parity.sequence import effective_configuration

DRIVER = "gpu.example.com"
CEL = 'device.attributes["gpu.example.com"].model == "a"'


def document(kind: str, name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": name} | metadata
    if kind == "ResourceClaim":
        metadata["namespace"] = "default"
    api_version = "resource.k8s.io/v1"
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def claim(devices: dict[str, Any], **metadata: Any) -> Object:
    # Without validation: some of these claims are from an API server that is newer.
    return decode_as(
        document("ResourceClaim", "c", {"devices": devices}, **metadata), ResourceClaim
    )


def requests(count: int = 1, **fields: Any) -> list[dict[str, Any]]:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count} | fields
    return [{"name": "r", "exactly": exactly}]


def devices(*published: dict[str, Any]) -> Object:
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n", "pool": pool, "devices": list(published)}
    return decode(document("ResourceSlice", "n", spec))


def pod(name: str = "p", **entry: str) -> pw.Pod:
    spec = {"containers": [{"name": "c"}], "resourceClaims": [{"name": "gpu", **entry}]}
    metadata = {"name": name, "namespace": "default", "uid": name}
    scheduled = {"schedulerName": "default-scheduler"}
    return decode_pod({"metadata": metadata, "spec": spec | scheduled})


def message(*objects: Object, of: pw.Pod | None = None, args: dict[str, Any] | None = None) -> str:
    """Return why the pod is not scheduled."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "DynamicResources", "args": args or {}}]}],
    }
    scheduler = pw.Scheduler(pw.read_configuration(configuration, source="test"), seed=1)
    scheduler.add(make_node("n", cpu="8"), decode(document("DeviceClass", "gpu", {})), *objects)
    decision = scheduler.schedule(of or pod(resourceClaimName="c"))
    assert decision.node == ""
    return decision.message


DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/hold"]}
ONE = {"name": "d0"}


def test_a_claim_that_is_being_deleted_is_not_used() -> None:
    found = message(claim({"requests": requests()}, **DELETED), devices(ONE))
    assert 'resourceclaim "c" is being deleted' in found


def test_an_entry_without_a_claim_or_a_template_is_reported() -> None:
    found = message(devices(ONE), of=pod())
    text = 'pod "default/p", spec.resourceClaim "gpu": none of the supported fields are set'
    assert text in found


def test_a_request_of_an_unknown_type_is_reported() -> None:
    found = message(claim({"requests": [{"name": "r"}]}), devices(ONE))
    assert "resource claim default/c, request r: unknown request type" in found


def test_a_constraint_of_an_unknown_type_is_an_error() -> None:
    found = message(claim({"requests": requests(), "constraints": [{}]}), devices(ONE))
    assert found == (
        'running "DynamicResources" filter plugin: claim default/c, constraint #0: empty'
        " constraint (unsupported constraint type?)"
    )


def test_an_attribute_of_an_unknown_type_is_an_error() -> None:
    published: dict[str, Any] = ONE | {"attributes": {"model": {}}}
    selected = requests(selectors=[{"cel": {"expression": CEL}}])
    found = message(claim({"requests": selected}), devices(published))
    assert found == (
        'running "DynamicResources" filter plugin: claim default/c: selector #0: CEL runtime'
        " error: attribute model: unsupported attribute value"
    )


@pytest.mark.parametrize(
    ("timeout", "text"),
    [
        pytest.param(
            "1ms",
            "node n: timed out trying to allocate devices",
            id="too short",
        ),
        pytest.param("0s", "cannot allocate all claims", id="none"),
    ],
)
def test_a_search_ends_at_the_filter_timeout(timeout: str, text: str) -> None:
    # Eight devices have the same model: each choice of them is tried before the ninth fails.
    published: list[dict[str, Any]] = [
        {"name": f"d{number}", "attributes": {"model": {"int": number // 8}}}
        for number in range(24)
    ]
    constraints = [{"matchAttribute": f"{DRIVER}/model"}]
    wanted = claim({"requests": requests(9), "constraints": constraints})
    assert text in message(wanted, devices(*published), args={"filterTimeout": timeout})


def test_a_pod_waits_while_its_claim_is_being_allocated_for_another() -> None:
    registry = Registry()
    machine = build_machine(effective_configuration(None, registry), registry)
    now_ns = 1_700_000_000_000_000_000
    for obj in (
        make_node("n", cpu="8"),
        decode(document("DeviceClass", "gpu", {})),
        devices(ONE),
        claim({"requests": requests()}),
        pod("first", resourceClaimName="c"),
        pod("second", resourceClaimName="c"),
    ):
        machine.handle(ObjectPut(obj), now_ns)
    # Nobody answers the first pod's writes.
    machine.handle(CycleDue(), now_ns)
    notes = [
        action.note
        for action in machine.handle(CycleDue(), now_ns)
        if isinstance(action, EmitEvent)
    ]
    (note,) = notes
    assert "resource claim default/c is in the process of being allocated" in note


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("Failed", 'device binding failed: claim=c, reason=R, message="no \\"cable\\"\\n"'),
        ("Other", "device binding timeout: context deadline exceeded"),
    ],
)
def test_why_a_device_was_not_bound_is_said_in_the_pods_events(condition: str, text: str) -> None:
    cluster = DrivenCluster(conditions=condition, message='no "cable"\n')
    schedule_claimed(cluster)
    waiting = "waiting for binding conditions for device on node n"
    assert cluster.events == [("BindingConditionsPending", "Scheduling", waiting)]
    cluster.report()
    ends = cluster.now_ns + 700_000_000_000
    while len(cluster.events) == 1 and cluster.now_ns < ends:
        cluster.sleep()
    reason, _, note = cluster.events[1]
    assert (reason, cluster.bound) == ("FailedScheduling", [])
    assert note.startswith(f'running PreBind plugin "DynamicResources": {text}')
