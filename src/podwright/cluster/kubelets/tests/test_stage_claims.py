"""The claims of pods that stages run: prepared before the first stage, tried again a few times."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets import Lifecycle, RecordEvent
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import Objects
from podwright.cluster.kubelets.lifecycle import ClaimPreparation, prepare_claims
from podwright.cluster.kubelets.tests.lifecycle_driver import (
    NOW,
    SECOND,
    LifecycleDriver,
    a_node,
    a_pod,
    at,
)

DEVICE = {"request": "r", "driver": "gpu.example.com", "pool": "n", "device": "gpu-0"}


def reader_of(*, delay: str | None = None, is_there: bool = True) -> Objects:
    """Return the objects: a claim for the pod `web`, or none."""
    objects = Objects()
    if is_there:
        objects.add(
            "ResourceClaim", "c", group="resource.k8s.io",
            metadata={
                "uid": "u",
                "annotations": {} if delay is None else {"podwright.dev/prepare-delay": delay},
            },
            spec={},
            status={
                "allocation": {"devices": {"results": [DEVICE]}},
                "reservedFor": [{"resource": "pods", "name": "web", "uid": "uid-web"}],
            },
        )  # fmt: skip
    return objects


def a_claiming_pod(phase: str | None = None, **metadata: Any) -> Any:
    claims = [{"name": "gpu", "resourceClaimName": "c"}]
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(0)}
    status = {"conditions": [scheduled]} | ({} if phase is None else {"phase": phase})
    return a_pod(spec={"resourceClaims": claims}, status=status, **metadata)


NONE = ClaimPreparation([])


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod(), id="no claims"),
        pytest.param(a_claiming_pod("Running"), id="it runs"),
        pytest.param(a_claiming_pod("Succeeded"), id="it has ended"),
        pytest.param(a_claiming_pod("Failed"), id="it has failed"),
        pytest.param(
            a_claiming_pod(deletionTimestamp=at(0), deletionGracePeriodSeconds=30), id="it is going"
        ),
    ],
)
def test_other_pods_have_nothing_to_prepare(pod):
    assert prepare_claims(pod, "", reader_of(is_there=False), NOW) == NONE


@pytest.mark.parametrize("phase", [None, "Pending"])
def test_a_pod_that_does_not_run_yet_has_its_devices_prepared(phase):
    found = prepare_claims(a_claiming_pod(phase), "", reader_of(), NOW)
    (write,) = found.actions
    assert (found.retry_ns, found.basis) == (None, "")
    assert not isinstance(write, RecordEvent)
    assert write.obj.key == "default/c"


@pytest.mark.parametrize(
    ("basis", "retry", "following"),
    [
        ("", 10, "prepare 1"),
        ("another", 10, "prepare 1"),
        ("prepare 0", 10, "prepare 1"),
        ("prepare 1", 10, "prepare 2"),
        ("prepare 4", 10, "prepare 5"),
        ("prepare 5", None, "prepare 6"),
        ("prepare 6", None, "prepare 7"),
    ],
)
def test_a_failure_is_an_event_and_is_tried_again_five_times(basis, retry, following):
    found = prepare_claims(a_claiming_pod(), basis, reader_of(is_there=False), NOW)
    (event,) = found.actions
    assert isinstance(event, RecordEvent)
    assert (event.type, event.reason, event.key, event.uid) == (
        "Warning", "FailedPrepareDynamicResources", "default/web", "uid-web",
    )  # fmt: skip
    assert event.note == (
        "Failed to prepare dynamic resources: fetch ResourceClaim c:"
        ' resourceclaims.resource.k8s.io "c" not found'
    )
    assert found.retry_ns == (0 if retry is None else NOW + retry * SECOND)
    assert found.basis == following


@pytest.mark.parametrize(
    ("delay", "now", "retry"), [("5s", 2, 5), ("5s", 5, None), ("5s", 6, None), (None, 0, None)]
)
@pytest.mark.parametrize(("basis", "kept"), [("", "prepare 0"), ("prepare 3", "prepare 3")])
def test_a_stage_waits_until_the_drivers_are_ready(delay, now, retry, basis, kept):
    """A wait is not a failure, and does not count as one."""
    now_ns = NOW + now * SECOND
    found = prepare_claims(a_claiming_pod(), basis, reader_of(delay=delay), now_ns)
    if retry is None:
        assert (len(found.actions), found.retry_ns) == (1, None)
        return
    assert found == ClaimPreparation([], NOW + retry * SECOND, kept)


def test_the_stage_of_a_pod_is_played_when_its_devices_are_ready():
    driver = LifecycleDriver(Lifecycle(claim_reader=reader_of(delay="5s")))
    driver.put(a_node())
    driver.put(a_claiming_pod())
    driver.run(4.9)
    assert driver.objects["default/web"].raw["status"].get("phase") is None
    driver.run(5)
    assert driver.status()["phase"] == "Running"
    assert driver.notes == []


def test_a_pod_whose_devices_cannot_be_prepared_is_given_up_until_it_changes():
    reader = reader_of(is_there=False)
    driver = LifecycleDriver(Lifecycle(claim_reader=reader))
    driver.put(a_node())
    driver.put(a_claiming_pod())
    counts = []
    for seconds in (0, 9.9, 10, 20, 49.9, 50, 500):
        driver.run(seconds)
        counts.append(len(driver.notes))
    assert counts == [1, 1, 2, 3, 5, 6, 6]
    reader.found |= reader_of().found
    pod = driver.objects["default/web"].raw
    driver.put(decode(pod | {"metadata": pod["metadata"] | {"labels": {"a": "b"}}}))
    driver.run(600)
    assert driver.status()["phase"] == "Running"
