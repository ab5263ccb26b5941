"""Preparing the resource claims of pods."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, ResourceClaim
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets.kubelet.sandbox import PrepareError, prepared_claims
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import (
    KubeletDriver,
    Objects,
    container,
    pod_of,
)

DRIVER = "gpu.example.com"
KIND = ("resource.k8s.io", "ResourceClaim")


def claim(user: str = "uid-web", **metadata: Any) -> ResourceClaim:
    result = {"request": "r", "driver": DRIVER, "pool": "n", "device": "gpu-0"}
    document = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default", "uid": "u"} | metadata,
        "spec": {},
        "status": {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": "web", "uid": user}],
        },
    }
    found = decode(document)
    assert isinstance(found, ResourceClaim)
    return found


def pod() -> Any:
    entry = {"name": "gpu", "resourceClaimName": "c"}
    return pod_of(container(), resourceClaims=[entry])


def prepare(found: ResourceClaim | None, of: Any = None) -> list[Any]:
    objects = Objects()
    if found is not None:
        objects.found[KIND, found.key] = found
    given = pod() if of is None else of
    assert isinstance(given, Pod)
    return [
        write.obj.raw["status"]["devices"] for write in prepared_claims(given, objects, 0).writes
    ]


def test_prepared_devices_are_ready() -> None:
    ((device,),) = prepare(claim())
    (condition,) = device.pop("conditions")
    assert device == {"driver": DRIVER, "pool": "n", "device": "gpu-0"}
    assert (condition["type"], condition["status"]) == ("Ready", "True")


def test_a_prepared_share_of_a_device_has_its_id() -> None:
    given = claim().raw
    (result,) = given["status"]["allocation"]["devices"]["results"]
    shares = [result | {"shareID": share} for share in ("s-1", "s-2")]
    status = given["status"] | {"allocation": {"devices": {"results": shares}}}
    shared = decode(given | {"status": status})
    assert isinstance(shared, ResourceClaim)
    (devices,) = prepare(shared)
    assert [device["shareID"] for device in devices] == ["s-1", "s-2"]


def test_conditions_of_the_driver_are_kept_and_a_prepared_claim_is_not_written() -> None:
    present = claim()
    attached = {"type": "Attached", "status": "True"}
    device = {"driver": DRIVER, "pool": "n", "device": "gpu-0", "conditions": [attached]}
    document = present.raw | {"status": present.raw["status"] | {"devices": [device]}}
    changed = decode(document)
    assert isinstance(changed, ResourceClaim)
    (devices,) = prepare(changed)
    assert [each["type"] for each in devices[0]["conditions"]] == ["Attached", "Ready"]
    written = decode(document | {"status": document["status"] | {"devices": devices}})
    assert isinstance(written, ResourceClaim)
    assert prepare(written) == []


def without_allocation() -> ResourceClaim:
    found = decode(claim().raw | {"status": {"reservedFor": claim().raw["status"]["reservedFor"]}})
    assert isinstance(found, ResourceClaim)
    return found


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, 'fetch ResourceClaim c: resourceclaims.resource.k8s.io "c" not found'),
        (claim("other"), "pod web (uid-web) is not allowed to use ResourceClaim c (u)"),
        (without_allocation(), "ResourceClaim c: not allocated"),
        (
            claim(annotations={"podwright.dev/prepare-error": "no such device"}),
            "NodePrepareResources failed for ResourceClaim c: no such device",
        ),
    ],
)
def test_a_claim_that_cannot_be_prepared(found: ResourceClaim | None, message: str) -> None:
    with pytest.raises(PrepareError) as raised:
        prepare(found)
    assert str(raised.value) == message


def test_a_claim_of_a_template_has_to_exist_and_to_belong_to_the_pod() -> None:
    entry = {"name": "gpu", "resourceClaimTemplateName": "t"}
    of = pod_of(container(), resourceClaims=[entry])
    with pytest.raises(PrepareError, match='pod "default/web": ResourceClaim not created yet'):
        prepare(claim(), of)
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}
    named = decode(of.raw | {"status": status})
    user = {"apiVersion": "v1", "kind": "Pod", "name": "web", "controller": True}
    for owners in ([], [user | {"uid": "uid-of-another"}]):
        with pytest.raises(PrepareError, match="Pod is not owner"):
            prepare(claim(ownerReferences=owners), named)
    assert len(prepare(claim(ownerReferences=[user | {"uid": "uid-web"}]), named)) == 1


def test_a_pod_waits_until_its_devices_are_prepared() -> None:
    driver = KubeletDriver()
    driver.put(pod())
    driver.run(1)
    assert driver.state() == {"waiting": {"reason": "ContainerCreating"}}
    assert (
        "Warning FailedPrepareDynamicResources: Failed to prepare dynamic resources: fetch"
        ' ResourceClaim c: resourceclaims.resource.k8s.io "c" not found'
    ) in driver.notes
    driver.cluster.found[KIND, "default/c"] = claim()
    driver.run(9)
    assert driver.status()["phase"] == "Pending"
    driver.run(10)
    assert driver.status()["phase"] == "Running"
