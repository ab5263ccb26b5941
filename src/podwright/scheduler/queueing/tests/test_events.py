"""The cluster events of one change of a node or a pod.

Upstream: pkg/scheduler/framework/events.go
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import (
    Node,
    PodResourceClaim,
    decode_as,
    decode_pod,
    with_fields,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.framework.events import NODE, ActionType, ClusterEvent, EventHint
from podwright.scheduler.queueing import HintTable, derive_events
from podwright.scheduler.queueing.subqueues import _named_claims
from podwright.scheduler.queueing.tests.pods import at, make_pod, make_queue

TAINT = {"key": "k", "effect": "NoSchedule"}
READY = {"type": "Ready", "status": "True"}


def node(**fields: Any) -> Node:
    metadata = {"name": "n"} | fields.pop("metadata", {})
    return decode_as({"metadata": metadata, **fields}, Node)


@pytest.mark.parametrize(
    ("before", "after", "labels"),
    [
        pytest.param({}, {}, [], id="nothing"),
        pytest.param(
            {"status": {"allocatable": {"cpu": "1"}}},
            {"status": {"allocatable": {"cpu": "1000m"}}},
            [],
            id="the same amount, written otherwise",
        ),
        pytest.param(
            {"status": {"allocatable": {"cpu": "1"}}},
            {"status": {"allocatable": {"cpu": "2"}}},
            ["UpdateNodeAllocatable"],
            id="another amount",
        ),
        pytest.param(
            {"status": {"allocatable": {"cpu": "1"}}},
            {"status": {"allocatable": {"cpu": "1", "example.com/gpu": "0"}}},
            ["UpdateNodeAllocatable"],
            id="one more resource",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "b"}}},
            {"metadata": {"labels": {"a": "c"}}},
            ["UpdateNodeLabel"],
            id="a label",
        ),
        pytest.param({"spec": {"taints": [TAINT]}}, {}, ["UpdateNodeTaint"], id="a taint goes"),
        pytest.param({}, {"spec": {"taints": [TAINT]}}, ["UpdateNodeTaint"], id="a taint comes"),
        pytest.param(
            {"spec": {"unschedulable": True}}, {}, ["UpdateNodeTaint"], id="it is uncordoned"
        ),
        pytest.param({}, {"spec": {"unschedulable": True}}, [], id="it is cordoned"),
        pytest.param(
            {"status": {"conditions": [READY]}},
            {"status": {"conditions": [READY | {"status": "False"}]}},
            ["UpdateNodeCondition"],
            id="a condition",
        ),
        pytest.param(
            {"status": {"conditions": [READY]}},
            {"status": {"conditions": [READY | {"lastHeartbeatTime": "2026-01-01T00:00:00Z"}]}},
            [],
            id="a heartbeat",
        ),
        pytest.param(
            {},
            {"metadata": {"annotations": {"a": "b"}}},
            ["UpdateNodeAnnotation"],
            id="an annotation",
        ),
        pytest.param(
            {},
            {"status": {"declaredFeatures": ["F"]}},
            ["UpdateNodeDeclaredFeature"],
            id="a declared feature",
        ),
        pytest.param(
            {"spec": {"taints": [TAINT]}, "metadata": {"labels": {"a": "b"}}},
            {"status": {"allocatable": {"cpu": "1"}, "conditions": [READY]}},
            [
                "UpdateNodeAllocatable",
                "UpdateNodeLabel",
                "UpdateNodeTaint",
                "UpdateNodeCondition",
            ],
            id="several, in upstream's order",
        ),
    ],
)
def test_the_events_of_a_changed_node(
    before: dict[str, Any], after: dict[str, Any], labels: list[str]
) -> None:
    events = derive_events(node(**before), node(**after))
    assert [event.label for event in events] == [f"Node{label}" for label in labels]


@pytest.mark.parametrize(
    ("api_version", "kind", "resource"),
    [
        ("v1", "Node", "Node"),
        ("v1", "PersistentVolume", "PersistentVolume"),
        ("v1", "PersistentVolumeClaim", "PersistentVolumeClaim"),
        ("storage.k8s.io/v1", "CSINode", "storage.k8s.io/CSINode"),
        ("storage.k8s.io/v1", "CSIDriver", "storage.k8s.io/CSIDriver"),
        ("storage.k8s.io/v1", "CSIStorageCapacity", "storage.k8s.io/CSIStorageCapacity"),
        ("storage.k8s.io/v1", "VolumeAttachment", "storage.k8s.io/VolumeAttachment"),
        ("storage.k8s.io/v1", "StorageClass", "storage.k8s.io/StorageClass"),
        ("resource.k8s.io/v1", "ResourceClaim", "resource.k8s.io/ResourceClaim"),
        ("resource.k8s.io/v1", "ResourceSlice", "resource.k8s.io/ResourceSlice"),
        ("resource.k8s.io/v1", "DeviceClass", "resource.k8s.io/DeviceClass"),
        ("v1", "Namespace", None),
    ],
)
def test_the_events_of_an_object(api_version: str, kind: str, resource: str | None) -> None:
    obj = decode({"apiVersion": api_version, "kind": kind, "metadata": {"name": "o"}})
    found = [derive_events(*versions) for versions in ((None, obj), (obj, obj), (obj, None))]
    if resource is None:
        assert found == [(), (), ()]
        return
    actions = [ActionType.ADD, ActionType.UPDATE, ActionType.DELETE]
    expected: list[tuple[ClusterEvent, ...]] = [
        (ClusterEvent(resource, action),) for action in actions
    ]
    if resource == NODE:
        expected[1] = ()  # nothing has changed that plugins read
    assert found == expected
    assert derive_events(None, None) == ()


CLAIM = {"name": "c", "resourceClaimName": "claim"}
EXTENDED = {"resourceClaimName": "claim", "requestMappings": []}
ONE_CPU = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}


def occupying(cpu: str) -> dict[str, Any]:
    """Return the status of a container that occupies so much, whatever its spec says."""
    resources = {"requests": {"cpu": cpu}}
    return {"containerStatuses": [{"name": "c", "resources": resources}]}


@pytest.mark.parametrize(
    ("before", "after", "labels"),
    [
        pytest.param({}, {}, ["Update"], id="nothing that plugins read"),
        pytest.param(
            {},
            {"status": {"resourceClaimStatuses": [CLAIM]}},
            ["UpdatePodGeneratedResourceClaim"],
            id="the first status, with a claim",
        ),
        pytest.param(
            {"status": {"resourceClaimStatuses": [CLAIM]}},
            {"status": {"resourceClaimStatuses": [CLAIM], "phase": "Pending"}},
            ["Update"],
            id="the same claim",
        ),
        pytest.param(
            {"status": {"resourceClaimStatuses": [CLAIM]}},
            {"status": {"phase": "Pending"}},
            ["UpdatePodGeneratedResourceClaim"],
            id="a claim goes",
        ),
        pytest.param(
            {"status": {"phase": "Pending"}},
            {"status": {"extendedResourceClaimStatus": EXTENDED}},
            ["UpdatePodGeneratedResourceClaim"],
            id="a claim of extended resources",
        ),
        pytest.param(
            {"spec": {"schedulingGates": [{"name": "a"}, {"name": "b"}]}},
            {"spec": {"schedulingGates": [{"name": "a"}]}},
            ["Update"],
            id="one of two gates goes",
        ),
        pytest.param(
            {"spec": {"schedulingGates": [{"name": "a"}]}},
            {},
            ["UpdatePodSchedulingGatesEliminated"],
            id="the last gate goes",
        ),
        pytest.param(
            {},
            {"spec": {"tolerations": [{"operator": "Exists"}]}},
            ["UpdatePodToleration"],
            id="a toleration more",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "b"}}},
            {"spec": {"tolerations": [{"operator": "Exists"}]}},
            ["UpdatePodLabel", "UpdatePodToleration"],
            id="a label, too",
        ),
        pytest.param(
            {"spec": ONE_CPU, "status": occupying("2")},
            {"spec": ONE_CPU, "status": occupying("1")},
            ["UpdatePodScaleDown"],
            id="a resize to less ends",
        ),
        pytest.param(
            {"spec": ONE_CPU, "status": occupying("2")},
            {"spec": ONE_CPU, "status": occupying("3")},
            ["Update"],
            id="it occupies more",
        ),
    ],
)
@pytest.mark.parametrize("on", ["", "n1"])
def test_the_events_of_a_changed_pod(
    before: dict[str, Any], after: dict[str, Any], labels: list[str], on: str
) -> None:
    def pod(fields: dict[str, Any]) -> Any:
        metadata = {"name": "p", "namespace": "default"} | fields.get("metadata", {})
        spec = {"nodeName": on} | fields.get("spec", {})
        return decode_pod({**fields, "metadata": metadata, "spec": spec})

    kind = "AssignedPod" if on else "UnschedulablePod"
    events = derive_events(pod(before), pod(after))
    assert [event.label for event in events] == [f"{kind}{label}" for label in labels]


def test_the_plugins_that_an_event_concerns_are_sorted() -> None:
    names = [f"P{number}" for number in range(8)]
    table = HintTable({name: (EventHint(NODE, ActionType.ADD),) for name in reversed(names)})
    queue = make_queue(hints={"default-scheduler": table})
    queue.add(make_pod("p"), at(0))
    queue.park(queue.pop(at(0)), at(0), unschedulable_plugins=reversed(names))
    assert queue.moving_events(queue.get("default/p")) == {"NodeAdd": tuple(names)}


def test_the_claims_that_a_pod_names_are_those_that_exist_already() -> None:
    entries = [
        PodResourceClaim(name="a", resource_claim_name="one"),
        PodResourceClaim(name="b", resource_claim_template_name="template"),
        PodResourceClaim(name="c", resource_claim_name="two"),
        PodResourceClaim(name="d", resource_claim_name="one"),
    ]
    pod = with_fields(make_pod("p"), "spec", resource_claims=tuple(entries))
    assert _named_claims(pod) == ["default/one", "default/two"]
    assert _named_claims(make_pod("p")) == []
