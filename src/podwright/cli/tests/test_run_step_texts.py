"""What `podwright run step` says of the events and actions of a scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Condition, decode
from podwright.cli.recorded.run_step import describe_action, describe_event
from podwright.scheduler.config import ExtenderCall, ExtenderReply
from podwright.scheduler.framework import CallError
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    CallExtender,
    CycleDue,
    DeletePod,
    EmitEvent,
    ExtenderReplied,
    FlushBackoff,
    FlushUnschedulable,
    ObjectDeleted,
    ObjectPut,
    PatchExtendedClaim,
    PatchPodGroupStatus,
    PatchPodMetadata,
    PatchPodStatus,
    PodActivated,
    PodAllowed,
    PodRejected,
    TimerFired,
    UpdateClaim,
    UpdateVolume,
    WakeAt,
    WriteResourceClaim,
)
from podwright.simulation.recording import Moment
from podwright.simulation.recording.log.log_format import Entry

WEB = "default/web"


def obj(kind: str, api_version: str = "v1", *, namespace: str = "", **fields: Any) -> Any:
    metadata = {"name": "web"} | ({"namespace": namespace} if namespace else {})
    metadata |= fields.pop("metadata", {})
    return decode({"apiVersion": api_version, "kind": kind, "metadata": metadata} | fields)


def pod(**fields: Any) -> Any:
    return obj("Pod", namespace="default", **fields)


def moment(
    event: Any,
    *,
    pods: tuple[str, ...] = (),
    is_new: bool | None = False,
    request: Any = None,
):
    entry = Entry(0, 0, event, b"", pods)
    return Moment(
        entry=entry, is_new=is_new, request=request, sizes={}, node_count=0, placed_count=0
    )


BIND = Bind(7, WEB, "u", "n1")
CALL = CallExtender(8, ExtenderCall(extender=2, verb="filter", url="u", body=b"", timeout_ns=1))


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (moment(ObjectPut(pod()), is_new=True), "pod default/web added: Pending"),
        (moment(ObjectPut(pod(spec={"nodeName": "n1"}, status={"phase": "Running"}))),
         "pod default/web updated: Running, on n1"),
        (moment(ObjectPut(pod(status={"nominatedNodeName": "n2"},
                              metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}))),
         "pod default/web updated: Pending, nominated to n2, terminating"),
        (moment(ObjectPut(pod(status={"phase": "Failed"})), is_new=None),
         "pod default/web added or updated: Failed"),
        (moment(ObjectPut(obj("Node")), is_new=True), "node web added or updated"),
        (moment(ObjectPut(obj("StorageClass", "storage.k8s.io/v1"))),
         "StorageClass web added or updated"),
        (moment(CycleDue()), "scheduling cycle due, none completed"),
        (moment(CycleDue(), pods=(WEB, "default/db")),
         "scheduling cycle for default/web, default/db"),
        (moment(TimerFired()), "timer fired"),
        (moment(FlushBackoff()),
         "flush of backoffQ: pods whose backoff has completed become active"),
        (moment(FlushUnschedulable()),
         "flush of unschedulable pods: pods parked for too long become active or back off"),
        (moment(CallDone(7), request=BIND),
         'result of "bind pod default/web to n1": done'),
        (moment(CallDone(7, CallError("no such pod", "NotFound"))),
         "result of call 7: failed: no such pod"),
        (moment(ExtenderReplied(8, ExtenderReply()), request=CALL),
         'result of "call filter of extenders[2]": replied'),
        (moment(ExtenderReplied(8, ExtenderReply(error="refused")), pods=(WEB,)),
         "result of call 8: failed: refused; completes the cycle for default/web"),
        (moment(PodActivated(WEB)), "pod default/web moved to the active queue by hand"),
        (moment(PodAllowed(WEB, "Own")), "Own allows waiting pod default/web"),
        (moment(PodRejected(WEB, "Own", "too late")),
         "Own rejects waiting pod default/web: too late"),
    ],
)  # fmt: skip
def test_an_event_is_a_line(shown, text):
    assert describe_event(shown) == text


def test_a_deleted_object_is_named():
    event = ObjectDeleted(pod())
    assert describe_event(moment(event)) == "pod default/web deleted"


def condition(reason: str = "Unschedulable") -> Condition:
    return Condition(type="PodScheduled", status="False", reason=reason, message="no room")


CLAIM = obj("ResourceClaim", "resource.k8s.io/v1", namespace="default", spec={})


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (BIND, "bind pod default/web to n1"),
        (PatchPodStatus(1, WEB, "u", condition()),
         "set the status of pod default/web: PodScheduled is False (Unschedulable)"),
        (PatchPodStatus(1, WEB, "u", condition(""), "n1"),
         "set the status of pod default/web: PodScheduled is False, nominated to n1"),
        (PatchPodStatus(1, WEB, "u", None, ""),
         "set the status of pod default/web: nomination cleared"),
        (PatchPodStatus(1, WEB, "u"), "set the status of pod default/web: no change"),
        (PatchPodGroupStatus(1, "default/group", condition()),
         "set the status of pod group default/group: PodScheduled is False (Unschedulable)"),
        (DeletePod(1, WEB, "u"), "delete pod default/web"),
        (UpdateVolume(1, obj("PersistentVolume")), "update PersistentVolume web"),
        (UpdateClaim(1, obj("PersistentVolumeClaim", namespace="default")),
         "update PersistentVolumeClaim default/web"),
        (WriteResourceClaim(1, "create", CLAIM), "create ResourceClaim default/web"),
        (WriteResourceClaim(1, "update", CLAIM), "update ResourceClaim default/web"),
        (WriteResourceClaim(1, "updateStatus", CLAIM),
         "update the status of ResourceClaim default/web"),
        (WriteResourceClaim(1, "release", CLAIM),
         "remove the pod from ResourceClaim default/web"),
        (WriteResourceClaim(1, "delete", CLAIM), "delete ResourceClaim default/web"),
        (PatchExtendedClaim(1, WEB, "u", "web-gpus", ()),
         "set the claim for extended resources of pod default/web: web-gpus"),
        (PatchPodMetadata(1, WEB, "u", {"a": "1"}, {"b": "2"}),
         "set metadata of pod default/web: a, b"),
        (CALL, "call filter of extenders[2]"),
        (EmitEvent(WEB, "u", "Warning", "FailedScheduling", "Scheduling", "no room", "s"),
         "Warning Event FailedScheduling of pod default/web: no room"),
        (WakeAt(1_767_225_600_500_000_000), "wake at 2026-01-01T00:00:00.5Z"),
    ],
)  # fmt: skip
def test_an_action_is_a_line(action, text):
    assert describe_action(action) == text
