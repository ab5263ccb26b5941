"""The rules of a sync for claims and their devices, one test each."""

import json
from functools import partial

import pytest

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online.client import BoundPods, SyncPolicies
from podwright.online.sync.mirror import Mirror
from podwright.online.sync.operations import (
    AllocateClaim,
    AllocateExtended,
    BindPod,
    Create,
    Delete,
    Settle,
)
from podwright.online.sync.tests.source_changes import change, taken


def test_claims_that_were_made_for_a_pod_are_made_anew():
    owner = {"kind": "Pod", "name": "p", "uid": "u1", "controller": True}
    made = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    mirror = Mirror(SyncPolicies())
    claim = partial(change, uid="u2", kind="resourceclaims")
    generated = {"ownerReferences": [owner], "annotations": made}
    assert not taken(mirror, claim("Add", "p-gpu-x7", metadata=generated))
    assert not taken(mirror, claim("Delete", "p-gpu-x7", metadata=generated))
    (created,) = taken(mirror, claim("Add", "shared"))
    assert (created.kind.resource, created.key) == ("resourceclaims", "default/shared")


ALLOCATION = {"devices": {"results": [{"driver": "d", "pool": "n1", "device": "gpu-0"}]}}
OWNER = {"kind": "Pod", "name": "p", "uid": "u1", "controller": True}
FINALIZERS = ["resource.kubernetes.io/delete-protection"]
ALLOCATED = {"allocation": ALLOCATION, "reservedFor": [{"resource": "pods", "uid": "u1"}]}
DAEMON = {"ownerReferences": [{"kind": "DaemonSet", "name": "d"}]}
STATIC = {"annotations": {"kubernetes.io/config.mirror": "x"}}
FROM_TEMPLATE = {
    "resourceClaims": [
        {"name": "gpu", "resourceClaimTemplateName": "t"},
        {"name": "shared", "resourceClaimName": "s"},
    ]
}
MADE = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-x7"}]}
EXTENDED = {
    "resourceClaimName": "p-extended-resources-x7",
    "requestMappings": [
        {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "container-0"}
    ],
}


def shared_claim(**options):
    return change("Add", "s", uid="u3", kind="resourceclaims", status=ALLOCATED, **options)


def claim_of_template(**options):
    made = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    return change(
        "Add", "p-gpu-x7", uid="u2", kind="resourceclaims",
        metadata={"ownerReferences": [OWNER], "annotations": made, "generateName": "p-gpu-"},
        spec={}, status=ALLOCATED, **options,
    )  # fmt: skip


def claim_of_extended_resources():
    made = {"resource.kubernetes.io/extended-resource-claim": "true"}
    return change(
        "Add", "p-extended-resources-x7", uid="u4", kind="resourceclaims", initial=True,
        metadata={"ownerReferences": [OWNER], "annotations": made}, spec={}, status=ALLOCATED,
    )  # fmt: skip


def user(event="Add", *, node="n1", initial=True, metadata=None, **status):
    """Return a pod with a claim of a template, and one with a name of its own."""
    return change(
        event, "p", node=node, initial=initial, metadata=metadata, spec=FROM_TEMPLATE,
        status={**MADE, **status},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("policies", "options", "keeps_devices"),
    [
        pytest.param(SyncPolicies(), {}, True, id="it keeps its node"),
        pytest.param(SyncPolicies(), {"node": ""}, False, id="pending"),
        pytest.param(SyncPolicies(), {"initial": False}, False, id="later"),
        pytest.param(SyncPolicies(bound=BoundPods.kss), {"initial": False}, True, id="kss"),
        pytest.param(SyncPolicies(bound=BoundPods.none), {}, False, id="rescheduled"),
        pytest.param(SyncPolicies(bound=BoundPods.none), {"metadata": DAEMON}, True, id="daemon"),
        pytest.param(SyncPolicies(bound=BoundPods.none), {"metadata": STATIC}, True, id="static"),
        pytest.param(SyncPolicies(excludes_running=True), {}, False, id="it is left out"),
    ],
)
def test_claims_have_the_devices_of_pods_that_keep_their_nodes(policies, options, keeps_devices):
    mirror = Mirror(policies)
    (created,) = taken(mirror, shared_claim())
    assert isinstance(created, Create), "devices follow with the first of its pods"
    operations = taken(mirror, user(**options))
    given = [each.obj for each in operations if isinstance(each, Settle)]
    assert [each["status"] for each in given] == [{"allocation": ALLOCATION}] * keeps_devices
    # The controller of claims frees the devices of claims that have the finalizer.
    assert [each["metadata"]["finalizers"] for each in given] == [FINALIZERS] * keeps_devices
    # The devices precede the pod, and have no second time.
    assert not given or isinstance(operations[0], Settle)
    again = change("Add", "q", uid="u9", node="n1", initial=True, spec=FROM_TEMPLATE)
    assert not keeps_devices or all(isinstance(each, Create) for each in taken(mirror, again))


def test_a_pod_that_keeps_its_node_has_the_devices_of_its_templates():
    mirror = Mirror(SyncPolicies())
    assert not taken(mirror, claim_of_template()), "its pod may not come"
    claim, status, pod = taken(mirror, user())
    assert (claim.kind.resource, claim.key) == ("resourceclaims", "default/p-gpu-x7")
    metadata = claim.obj["metadata"]
    assert metadata["annotations"] == {SOURCE_UID: "u2"}
    assert not {"ownerReferences", "generateName"} & set(metadata)
    assert metadata["finalizers"] == FINALIZERS
    assert status.obj["status"] == {"allocation": ALLOCATION}
    assert pod.obj["spec"]["resourceClaims"] == [
        {"name": "gpu", "resourceClaimName": "p-gpu-x7"},
        {"name": "shared", "resourceClaimName": "s"},
    ]
    assert not taken(mirror, claim_of_template()), "it is there"
    (deleted,) = taken(mirror, change("Delete", "p-gpu-x7", uid="u2", kind="resourceclaims"))
    assert (deleted.kind.resource, deleted.key) == ("resourceclaims", "default/p-gpu-x7")


@pytest.mark.parametrize(
    ("policies", "node", "is_initial"),
    [
        pytest.param(SyncPolicies(), "", True, id="pending"),
        pytest.param(SyncPolicies(), "n1", False, id="later"),
        pytest.param(SyncPolicies(bound=BoundPods.none), "n1", True, id="rescheduled"),
    ],
)
def test_a_pod_that_is_scheduled_here_gets_new_claims(policies, node, is_initial):
    mirror = Mirror(policies)
    (pod,) = taken(
        mirror,
        claim_of_template(),
        claim_of_extended_resources(),
        user(node=node, initial=is_initial, extendedResourceClaimStatus=EXTENDED),
    )
    assert pod.obj["spec"]["resourceClaims"] == FROM_TEMPLATE["resourceClaims"]


def test_devices_that_were_freed_before_their_pod_is_seen_stay_free():
    mirror = Mirror(SyncPolicies(bound=BoundPods.kss))
    freed = change("Update", "p-gpu-x7", uid="u2", kind="resourceclaims", metadata={
        "ownerReferences": [OWNER], "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"}
    }, status={})  # fmt: skip
    deleted = change("Delete", "s", uid="u3", kind="resourceclaims")
    taken(mirror, claim_of_template(), shared_claim(), freed, deleted)
    assert [type(each) for each in taken(mirror, user())] == [Create]


def test_a_claim_of_extended_resources_follows_its_pod():
    mirror = Mirror(SyncPolicies())
    assert not taken(mirror, claim_of_extended_resources())
    pod, claim = taken(mirror, user(extendedResourceClaimStatus=EXTENDED))
    assert isinstance(pod, Create)
    assert isinstance(claim, AllocateExtended)
    assert (claim.key, claim.pod, claim.node) == ("default/p-extended-resources-x7", "p", "n1")
    assert claim.status == EXTENDED
    assert claim.obj["status"]["allocation"] == ALLOCATION
    # An earlier sync that was killed may have created the pod without it.
    mirror = Mirror(SyncPolicies())
    taken(mirror, claim_of_extended_resources())
    here = json.dumps({**pod.obj, "status": {}}).encode()
    listed = [user(extendedResourceClaimStatus=EXTENDED)]
    compared = mirror.compare(pod.kind, listed, {"default/p": here})
    ((_, operations),) = compared
    assert operations[-1] == claim
    # Upstream's scheduler writes the status of a pod before it binds the pod.
    mirror = Mirror(SyncPolicies())
    taken(mirror, claim_of_extended_resources())
    waiting = user(node="", extendedResourceClaimStatus=EXTENDED)
    unbound = {**pod.obj, "spec": FROM_TEMPLATE, "status": {}}
    compared = mirror.compare(pod.kind, [waiting], {"default/p": json.dumps(unbound).encode()})
    assert [type(each) for _, operations in compared for each in operations] == [Settle]


@pytest.mark.parametrize(
    ("node_here", "status_here", "is_made"),
    [
        pytest.param("n1", {}, True, id="it has none here"),
        pytest.param("n1", {"extendedResourceClaimStatus": EXTENDED}, False, id="it has it here"),
        pytest.param("n2", {}, False, id="it has another node here"),
    ],
)
def test_the_claim_of_a_pod_that_is_there_is_made_if_it_is_missing(node_here, status_here, is_made):
    mirror = Mirror(SyncPolicies())
    taken(mirror, claim_of_extended_resources())
    (pod,) = taken(Mirror(SyncPolicies()), user())
    spec = {**pod.obj["spec"], "nodeName": node_here}
    here = json.dumps({**pod.obj, "spec": spec, "status": status_here}).encode()
    listed = [user(extendedResourceClaimStatus=EXTENDED)]
    compared = mirror.compare(pod.kind, listed, {"default/p": here})
    found = [type(each) for _, operations in compared for each in operations]
    assert found == [Settle] + [AllocateExtended] * is_made


def test_bindings_of_the_source_bring_the_devices_of_all_claims():
    mirror = Mirror(SyncPolicies(bound=BoundPods.source))
    made = (claim_of_template(), shared_claim(), claim_of_extended_resources())
    taken(mirror, user(node="", initial=False), *made)
    bound = user("Update", initial=False, extendedResourceClaimStatus=EXTENDED)
    gpu, shared, binding, extended = taken(mirror, bound)
    assert isinstance(gpu, AllocateClaim)
    assert isinstance(shared, AllocateClaim)
    assert [(each.key, each.entry, each.node) for each in (gpu, shared)] == [
        ("default/p-gpu-x7", "gpu", "n1"), ("default/s", "shared", "n1"),
    ]  # fmt: skip
    assert isinstance(binding, BindPod)
    assert isinstance(extended, AllocateExtended)


@pytest.mark.parametrize("claim", [claim_of_template(), shared_claim()])
def test_devices_that_follow_a_binding_are_allocated_then(claim):
    mirror = Mirror(SyncPolicies(bound=BoundPods.source))
    taken(mirror, user(node="", initial=False), user("Update", initial=False))
    # The deletion of another pod has no effect on it.
    taken(mirror, change("Add", "q", uid="u9"), change("Delete", "q", uid="u9"))
    *_, late = taken(mirror, claim)
    assert isinstance(late, AllocateClaim)
    assert (late.key, late.pod) == (f"default/{claim.change.meta.name}", "p")
    assert not any(isinstance(each, AllocateClaim) for each in taken(mirror, claim))


def test_a_claim_of_extended_resources_that_follows_a_binding_is_made_then():
    mirror = Mirror(SyncPolicies(bound=BoundPods.source))
    bound = user("Update", initial=False, extendedResourceClaimStatus=EXTENDED)
    assert not any(
        isinstance(each, AllocateExtended)
        for each in taken(mirror, user(node="", initial=False), bound)
    )
    (late,) = taken(mirror, claim_of_extended_resources())
    assert isinstance(late, AllocateExtended)
    assert (late.key, late.pod, late.node) == ("default/p-extended-resources-x7", "p", "n1")
    assert not taken(mirror, claim_of_extended_resources())


def test_devices_that_follow_a_deleted_pod_are_not_allocated():
    mirror = Mirror(SyncPolicies(bound=BoundPods.source))
    taken(mirror, user(node="", initial=False), user("Update", initial=False))
    taken(mirror, change("Delete", "p"))
    assert not taken(mirror, claim_of_template())
    assert [type(each) for each in taken(mirror, shared_claim())] == [Create]


def test_a_pod_and_a_claim_may_have_one_name():
    mirror = Mirror(SyncPolicies())
    taken(mirror, shared_claim(), change("Add", "s", uid="u8"), change("Delete", "s", uid="u8"))
    given = [each for each in taken(mirror, user()) if isinstance(each, Settle)]
    assert [each.key for each in given] == ["default/s"]


def test_devices_that_a_claim_has_are_not_allocated_again_with_a_later_pod():
    mirror = Mirror(SyncPolicies(bound=BoundPods.source))
    taken(mirror, shared_claim(), user(node="", initial=False))
    allocated = taken(mirror, user("Update", initial=False))
    assert "default/s" in [each.key for each in allocated if isinstance(each, AllocateClaim)]
    shares = {"resourceClaims": [{"name": "shared", "resourceClaimName": "s"}]}

    def bound(name, uid):
        new = change("Add", name, uid=uid, spec=shares)
        return new, change("Update", name, uid=uid, node="n1", spec=shares)

    reserved = change("Update", "s", uid="u3", kind="resourceclaims", status={
        **ALLOCATED, "reservedFor": [{"resource": "pods", "uid": uid} for uid in ("u1", "u9")]
    })  # fmt: skip
    operations = taken(mirror, *bound("q", "u9"), reserved)
    assert not any(isinstance(each, AllocateClaim) for each in operations)
    # A new claim of the name has other devices.
    deleted = change("Delete", "s", uid="u3", kind="resourceclaims")
    new = change("Add", "s", uid="u7", kind="resourceclaims", status=ALLOCATED)
    operations = taken(mirror, deleted, *bound("r", "u10"), new)
    assert [each.pod for each in operations if isinstance(each, AllocateClaim)] == ["r"]


def test_claims_of_templates_that_an_earlier_sync_has_created_stay_until_they_are_deleted():
    before = Mirror(SyncPolicies())
    claim, _, pod = taken(before, claim_of_template(), user())
    here = json.dumps(claim.obj).encode()

    def compared(mirror, body):
        found = mirror.compare(claim.kind, [claim_of_template()], {claim.key: body})
        return [operation for _, operations in found for operation in operations]

    mirror = Mirror(SyncPolicies())
    assert not compared(mirror, here)
    assert not taken(mirror, claim_of_template()), "a change of its status is not mirrored"
    list(mirror.compare(pod.kind, [user()], {pod.key: json.dumps(pod.obj).encode()}))
    (deleted,) = taken(mirror, change("Delete", "p-gpu-x7", uid="u2", kind="resourceclaims"))
    assert isinstance(deleted, Delete)
    assert [
        type(each) for each in compared(Mirror(SyncPolicies()), here.replace(b"u2", b"u8"))
    ] == [Delete]
