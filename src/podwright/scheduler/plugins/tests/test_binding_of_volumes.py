"""PreBind of VolumeBinding: objects are written one by one, and claims checked once per second.

Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go, bindAPIUpdate, checkBindings
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import (
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    decode_as,
)
from podwright.scheduler.config import VolumeBindingArgs
from podwright.scheduler.framework import Cycle, Status
from podwright.scheduler.framework.binding import (
    Answer,
    CallError,
    ClaimUpdate,
    Pending,
    Progress,
    VolumeUpdate,
)
from podwright.scheduler.plugins.tests.one_node_at_a_time import cycle_of, node, pod
from podwright.scheduler.plugins.volume_binding import ASSUMED, Assumed, VolumeBinding

SELECTED = {"volume.kubernetes.io/selected-node": "n"}
COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}
NEXT_LOOK = Pending(delay_ns=1_000_000_000)
ELSEWHERE = {
    "required": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["other"]}]}
        ]
    }
}


def volume(version: str = "5", uid: str | None = "c", **spec: Any) -> PersistentVolume:
    reference = (
        {} if uid is None else {"claimRef": {"name": "c", "namespace": "default", "uid": uid}}
    )
    metadata = {"name": "v", "resourceVersion": version}
    return decode_as({"metadata": metadata, "spec": reference | spec}, PersistentVolume)


def claim(version: str = "5", name: str = "c", **fields: Any) -> PersistentVolumeClaim:
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": name}
    metadata |= {"resourceVersion": version}
    if "annotations" in fields:
        metadata["annotations"] = fields.pop("annotations")
    return decode_as({"metadata": metadata, "spec": fields}, PersistentVolumeClaim)


BOUND = claim(volumeName="v", annotations=COMPLETED)
PLACED = pod(nodeName="n")
NODE = node("n", labels={"zone": "here"})


def begun(
    assumed: Assumed, *objects: Any, seconds: int = 600
) -> tuple[VolumeBinding, Cycle, Status | Pending]:
    cycle = cycle_of(pod(), *objects)
    cycle.write(ASSUMED, assumed)
    plugin = VolumeBinding(VolumeBindingArgs(bind_timeout_seconds=seconds))
    assert plugin.pre_bind_pre_flight(cycle, "n") == Status.OK
    return plugin, cycle, plugin.pre_bind(cycle, "n")


def looked(assumed: Assumed, written: Any, *objects: Any) -> Status | Pending:
    """Write the one object, and return what the first look at the claims gives."""
    plugin, cycle, first = begun(assumed, *objects)
    assert isinstance(first, Pending)
    (call,) = first.calls
    assert isinstance(call, VolumeUpdate if assumed.bindings else ClaimUpdate)
    answered = Progress(now_ns=1, answers=(Answer(obj=written),))
    assert plugin.continue_pre_bind(cycle, "n", answered) == NEXT_LOOK
    return plugin.continue_pre_bind(cycle, "n", Progress(now_ns=2))


def failure(text: str) -> Status:
    return Status.error(f"binding volumes: {text}")


@pytest.mark.parametrize(
    ("objects", "outcome"),
    [
        pytest.param((NODE, PLACED, volume(), BOUND), Status.OK, id="the claim is bound"),
        pytest.param((NODE, PLACED, volume(), claim()), NEXT_LOOK, id="not yet"),
        pytest.param((NODE, PLACED, volume(), claim(volumeName="v")), NEXT_LOOK, id="hardly begun"),
        pytest.param(
            (NODE, PLACED, volume("4", None), claim()), NEXT_LOOK, id="the write is not seen yet"
        ),
        pytest.param(
            (NODE, PLACED, volume("5", None), claim()),
            failure('ClaimRef got reset for pv "v"'),
            id="the volume was taken from the claim",
        ),
        pytest.param(
            (NODE, PLACED, volume("6", ""), claim()),
            failure('ClaimRef got reset for pv "v"'),
            id="it names no claim that exists",
        ),
        pytest.param(
            (NODE, PLACED, claim()),
            failure('failed to check binding: persistentvolumes "v" not found'),
            id="the volume is gone",
        ),
        pytest.param(
            (NODE, PLACED, volume()),
            failure('failed to check binding: persistentvolumeclaims "default/c" not found'),
            id="the claim is gone",
        ),
        pytest.param(
            (NODE, PLACED, volume(nodeAffinity=ELSEWHERE), BOUND),
            failure('pv "v" node affinity doesn\'t match node "n": no matching NodeSelectorTerms'),
            id="the volume cannot be reached from the node",
        ),
        pytest.param(
            (PLACED, volume(), BOUND),
            failure('failed to get node "n": node "n" not found'),
            id="the node is gone",
        ),
        pytest.param(
            (NODE, volume(), BOUND),
            failure('pod does not exist any more: pod "p" not found'),
            id="the pod is gone",
        ),
        pytest.param(
            (NODE, pod("q", nodeName="n"), volume(), BOUND),
            failure('pod does not exist any more: pod "p" not found'),
            id="another pod is there",
        ),
    ],
)
def test_a_claim_that_is_bound_to_a_volume(
    objects: tuple[Any, ...], outcome: Status | Pending
) -> None:
    assumed = Assumed(((claim(), volume()),), ())
    assert looked(assumed, volume(), *objects) == outcome


@pytest.mark.parametrize(
    ("present", "outcome"),
    [
        pytest.param(
            (claim(volumeName="v", annotations=SELECTED | COMPLETED), volume()),
            Status.OK,
            id="the claim is bound",
        ),
        pytest.param((claim(annotations=SELECTED),), NEXT_LOOK, id="not yet"),
        pytest.param(
            (claim(volumeName="v", annotations=SELECTED | COMPLETED),),
            NEXT_LOOK,
            id="its volume is not seen yet",
        ),
        pytest.param((claim("4"),), NEXT_LOOK, id="the write is not seen yet"),
        pytest.param(
            (claim(volumeName="v", annotations=SELECTED), volume()),
            NEXT_LOOK,
            id="its volume is there, and the binding is not complete",
        ),
        pytest.param(
            (),
            failure(
                'failed to check provisioning pvc: persistentvolumeclaims "default/c" not found'
            ),
            id="the claim is gone",
        ),
        pytest.param(
            (claim(),),
            failure('selectedNode annotation reset for PVC "c"'),
            id="it has no annotation at all",
        ),
        pytest.param(
            (claim(annotations=COMPLETED),),
            failure('provisioning failed for PVC "c"'),
            id="the provisioner gave up",
        ),
        pytest.param(
            (PersistentVolumeClaim(metadata=ObjectMeta(name="c", namespace="default")),),
            failure('provisioning failed for PVC "c"'),
            id="of a claim that was never a document it is not known whether it had annotations",
        ),
        pytest.param(
            (claim(annotations={"volume.kubernetes.io/selected-node": "other"}),),
            failure('provisioning failed for PVC "c"'),
            id="another node was selected",
        ),
        pytest.param(
            (
                claim(volumeName="v", annotations=SELECTED | COMPLETED),
                volume(nodeAffinity=ELSEWHERE),
            ),
            failure('pv "v" node affinity doesn\'t match node "n": no matching NodeSelectorTerms'),
            id="the volume cannot be reached from the node",
        ),
    ],
)
def test_a_claim_whose_volume_is_provisioned(
    present: tuple[Any, ...], outcome: Status | Pending
) -> None:
    assumed = Assumed((), (claim(annotations=SELECTED),))
    assert looked(assumed, claim(), NODE, PLACED, *present) == outcome


def test_objects_are_written_one_after_the_other_and_an_error_ends_that() -> None:
    assumed = Assumed(((claim(), volume()),), (claim(name="d"), claim(name="e")))
    plugin, cycle, step = begun(assumed, NODE, PLACED)
    written: list[Any] = []
    for obj in (volume("7"), claim("8", "d")):
        assert isinstance(step, Pending)
        written += step.calls
        answered = Progress(now_ns=1, answers=(Answer(obj=obj),))
        step = plugin.continue_pre_bind(cycle, "n", answered)
    assert written == [VolumeUpdate(volume()), ClaimUpdate(claim(name="d"))]
    failed = Progress(now_ns=1, answers=(Answer(CallError("conflict", "Conflict")),))
    assert plugin.continue_pre_bind(cycle, "n", failed) == Status.error("conflict")


@pytest.mark.parametrize(("is_provisioned", "outcome"), [(True, Status.OK), (False, NEXT_LOOK)])
def test_every_claim_must_be_bound(is_provisioned: bool, outcome: Status | Pending) -> None:
    made = claim(name="d", annotations=SELECTED)
    done = claim(name="d", volumeName="v", annotations=SELECTED | COMPLETED)
    objects = NODE, PLACED, volume(), BOUND, done if is_provisioned else made
    plugin, cycle, step = begun(Assumed(((claim(), volume()),), (made,)), *objects)
    for obj in (volume(), made):
        assert isinstance(step, Pending)
        answered = Progress(now_ns=1, answers=(Answer(obj=obj),))
        step = plugin.continue_pre_bind(cycle, "n", answered)
    assert step == NEXT_LOOK
    assert plugin.continue_pre_bind(cycle, "n", Progress(now_ns=2)) == outcome


@pytest.mark.parametrize("seconds", [1, 3])
def test_the_look_at_the_end_of_the_timeout_is_the_last(seconds: int) -> None:
    assumed = Assumed(((claim(), volume()),), ())
    plugin, cycle, _ = begun(assumed, NODE, PLACED, volume(), claim(), seconds=seconds)
    plugin.continue_pre_bind(cycle, "n", Progress(now_ns=1, answers=(Answer(obj=volume()),)))
    looks = [
        plugin.continue_pre_bind(cycle, "n", Progress(now_ns=1 + look)) for look in range(seconds)
    ]
    assert looks[:-1] == [NEXT_LOOK] * (seconds - 1)
    assert looks[-1] == failure("context deadline exceeded")


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        pytest.param(BOUND, Status.OK, id="bound at last"),
        pytest.param(claim(volumeName="v"), failure("context deadline exceeded"), id="nearly"),
        pytest.param(
            volume("6", ""), failure('ClaimRef got reset for pv "v"'), id="failed at last"
        ),
    ],
)
@pytest.mark.parametrize("seconds", [1, 3])
def test_what_the_last_look_shows_counts(
    last: Any, outcome: Status | Pending, seconds: int
) -> None:
    assumed = Assumed(((claim(), volume()),), ())
    plugin, cycle, _ = begun(assumed, NODE, PLACED, volume(), claim(), seconds=seconds)
    plugin.continue_pre_bind(cycle, "n", Progress(now_ns=1, answers=(Answer(obj=volume()),)))
    for look in range(seconds - 1):
        assert plugin.continue_pre_bind(cycle, "n", Progress(now_ns=1 + look)) == NEXT_LOOK
    cycle.cluster.put(last)
    assert plugin.continue_pre_bind(cycle, "n", Progress(now_ns=seconds)) == outcome


def test_a_pod_that_waits_for_no_volume_is_not_held() -> None:
    cycle = cycle_of(pod(), NODE, PLACED)
    plugin = VolumeBinding()
    assert plugin.pre_bind_pre_flight(cycle, "n") == Status.SKIPPED
    assert plugin.pre_bind(cycle, "n") == Status.OK
