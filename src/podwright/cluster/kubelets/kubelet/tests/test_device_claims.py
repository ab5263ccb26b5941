"""Preparing the resource claims of pods."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.devices import slice_name
from podwright.apimachinery.objects import Pod, ResourceClaim
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets.kubelet.sandbox import PrepareError, prepared_claims
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import (
    KubeletDriver,
    Objects,
    container,
    pod_of,
)
from podwright.cluster.kubelets.tests.lifecycle_driver import a_node

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


def test_a_claim_of_several_drivers_is_written_once_by_the_first_one() -> None:
    given = claim().raw
    (result,) = given["status"]["allocation"]["devices"]["results"]
    results = [result, result | {"driver": "nic.example.com"}]
    status = given["status"] | {"allocation": {"devices": {"results": results}}}
    objects = Objects()
    objects.found[KIND, "default/c"] = decode(given | {"status": status})
    (write,) = prepared_claims(pod(), objects, 0).writes
    assert write.user == DRIVER
    assert [each["driver"] for each in write.obj.raw["status"]["devices"]] == [
        DRIVER, "nic.example.com",
    ]  # fmt: skip


def test_a_claim_without_devices_is_prepared_and_not_written() -> None:
    given = claim().raw
    without: tuple[dict[str, Any], ...] = ({}, {"results": []})
    for devices in without:
        empty = decode(given | {"status": given["status"] | {"allocation": {"devices": devices}}})
        assert isinstance(empty, ResourceClaim)
        assert prepare(empty) == []


def test_a_device_without_a_pool_has_an_empty_one() -> None:
    given = claim().raw
    devices = {"devices": {"results": [{"request": "r", "driver": DRIVER, "device": "gpu-0"}]}}
    incomplete = decode(given | {"status": given["status"] | {"allocation": devices}})
    assert isinstance(incomplete, ResourceClaim)
    ((device,),) = prepare(incomplete)
    assert (device["driver"], device["pool"], device["device"]) == (DRIVER, "", "gpu-0")


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


# ---------------------------------------------------------------- which claims, and when

TEMPLATED = {"name": "gpu", "resourceClaimTemplateName": "t"}


def with_claims(*entries: Any, made: Any = None, extended: str | None = None) -> Any:
    """Return a pod with entries of claims, and the names in its status."""
    status: dict[str, Any] = {}
    if made is not None:
        status["resourceClaimStatuses"] = [
            {"name": name} | ({} if claim is None else {"resourceClaimName": claim})
            for name, claim in made.items()
        ]
    if extended is not None:
        status["extendedResourceClaimStatus"] = {"resourceClaimName": extended}
    given = pod_of(container(), resourceClaims=list(entries)).raw
    return decode(given | {"status": status})


def owned_by_the_pod(uid: str = "uid-web") -> list[dict[str, Any]]:
    return [{"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": uid, "controller": True}]


NOT_FOUND = 'fetch ResourceClaim {0}: resourceclaims.resource.k8s.io "{0}" not found'
NOT_OWNED = "ResourceClaim default/c was not created for Pod default/web (Pod is not owner)"


@pytest.mark.parametrize(
    ("of", "found", "message"),
    [
        pytest.param(with_claims(), None, "", id="no claims"),
        pytest.param(
            with_claims({"name": "gpu"}), claim(),
            'pod "default/web", spec.resourceClaim "gpu": none of the supported fields are set',
            id="neither a claim nor a template",
        ),
        pytest.param(
            with_claims(TEMPLATED), claim(),
            'pod "default/web": ResourceClaim not created yet', id="not created yet",
        ),
        pytest.param(
            with_claims(TEMPLATED, made={"other": "c"}), claim(),
            'pod "default/web": ResourceClaim not created yet', id="another one is created",
        ),
        pytest.param(
            with_claims(TEMPLATED, made={"gpu": "c"}),
            claim(ownerReferences=owned_by_the_pod()), "", id="created for the pod",
        ),
        pytest.param(
            with_claims(TEMPLATED, made={"gpu": "c"}), claim(), NOT_OWNED, id="without an owner",
        ),
        pytest.param(
            with_claims(TEMPLATED, made={"gpu": "c"}),
            claim(ownerReferences=owned_by_the_pod("former")), NOT_OWNED, id="of a former pod",
        ),
        pytest.param(
            with_claims(TEMPLATED, made={"gpu": "d"}), claim(), NOT_FOUND.format("d"), id="gone",
        ),
        pytest.param(with_claims(TEMPLATED, made={"gpu": None}), None, "", id="none is needed"),
        pytest.param(with_claims(extended="c"), claim(), "", id="of extended resources"),
        pytest.param(
            with_claims(extended="c"), None, NOT_FOUND.format("c"), id="that is gone",
        ),
        pytest.param(with_claims(extended=""), None, "", id="no name of an extended one"),
        pytest.param(pod_of(container()), None, "", id="none"),
    ],
)  # fmt: skip
def test_the_claims_of_a_pod_are_those_that_it_names_or_were_made_for_it(
    of: Any, found: ResourceClaim | None, message: str
) -> None:
    """Upstream: pkg/kubelet/cm/dra/manager.go, prepareResources"""
    if message:
        with pytest.raises(PrepareError) as raised:
            prepare(found, of)
        assert str(raised.value) == message
        return
    assert len(prepare(found, of)) == (found is not None)


SECOND = 1_000_000_000
DELAY = "podwright.dev/prepare-delay"


def bound_pod(second: int | None) -> Any:
    conditions = [] if second is None else [
        {"type": "PodScheduled", "status": "True",
         "lastTransitionTime": f"1970-01-01T00:00:{second:02}Z"}
    ]  # fmt: skip
    return decode(pod().raw | {"status": {"conditions": conditions}})


@pytest.mark.parametrize(
    ("delay", "bound", "now", "due"),
    [
        pytest.param(None, 0, 9, 9, id="at once"),
        pytest.param("0s", 0, 9, 9, id="no delay"),
        pytest.param("-5s", 0, 9, 9, id="less than none"),
        pytest.param("5s", 7, 9, 12, id="since the pod was bound"),
        pytest.param("2s", 7, 9, 9, id="it is over now"),
        pytest.param("1s", 7, 9, 9, id="it was over before"),
        pytest.param("5s", None, 9, 14, id="since now, if that is not known"),
    ],
)
def test_drivers_take_as_long_as_the_claim_says(
    delay: str | None, bound: int | None, now: int, due: int
) -> None:
    found = claim(annotations={} if delay is None else {DELAY: delay})
    objects = Objects()
    objects.found[KIND, found.key] = found
    preparation = prepared_claims(bound_pod(bound), objects, now * SECOND)
    assert preparation.due_ns == due * SECOND
    assert len(preparation.writes) == (due == now), "nothing is written before"


@pytest.mark.parametrize("delays", [("3s", "7s"), ("7s", "3s"), ("7s", None), (None, "7s")])
def test_the_slowest_driver_of_a_claim_decides(delays: tuple[str | None, ...]) -> None:
    given = claim().raw
    objects = Objects()
    results = []
    for number, delay in enumerate(delays):
        driver = f"gpu-{number}.example.com"
        results.append({"request": "r", "driver": driver, "pool": "n", "device": "gpu-0"})
        metadata: Any = {} if delay is None else {"metadata": {"annotations": {DELAY: delay}}}
        name = slice_name("n", driver, 0)
        objects.found[("resource.k8s.io", "ResourceSlice"), name] = a_node(name, **metadata)
    status = given["status"] | {"allocation": {"devices": {"results": results}}}
    found = decode(given | {"status": status})
    objects.found[KIND, "default/c"] = found
    assert prepared_claims(bound_pod(0), objects, SECOND).due_ns == 7 * SECOND


def test_a_delay_that_is_none_is_an_error_of_the_claim() -> None:
    with pytest.raises(PrepareError) as raised:
        prepare(claim(annotations={DELAY: "soon"}))
    assert str(raised.value) == (
        f'NodePrepareResources failed for ResourceClaim c: {DELAY}: "soon" is not a duration such'
        " as 5s"
    )


def test_a_pod_waits_as_long_as_the_drivers_of_its_devices() -> None:
    driver = KubeletDriver()
    driver.cluster.found[KIND, "default/c"] = claim(annotations={DELAY: "5s"})
    driver.put(pod())
    driver.run(4.9)
    assert driver.state() == {"waiting": {"reason": "ContainerCreating"}}
    assert driver.notes == []
    driver.run(5)
    assert driver.status()["phase"] == "Running"
    assert (5, DRIVER, "default/c") in driver.story
    (device,) = driver.status("default/c")["devices"]
    assert [each["type"] for each in device["conditions"]] == ["Ready"]
