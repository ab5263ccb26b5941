"""Which objects kubelets sync, and when: pods on nodes, and the leases of nodes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api import RecordEvent
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import Objects
from podwright.cluster.kubelets.object_state import KUBELET, KubeletSyncs, ScheduledStage
from podwright.cluster.kubelets.pod_statuses import EXIT_CODE, RUN_DELAY
from podwright.cluster.kubelets.stages.stage_play import StageError
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW, SECOND, a_node, a_pod, at

RUNNING = {"command": ["sleep", "100"], "name": "main", "image": "app:1"}


def syncs(*, has_heartbeats: bool = True) -> KubeletSyncs:
    cluster = Objects()
    cluster.add("Namespace", "kube-node-lease")
    cluster.add("Node", "n1", status={"allocatable": {"cpu": "4", "pods": "9"}})
    return KubeletSyncs(Addresses(), cluster, seed=1, has_heartbeats=has_heartbeats)


def scheduled(stage: int, due_ns: int) -> Any:
    fields: dict[str, Any] = dict.fromkeys(ScheduledStage.__struct_fields__, 0)
    return ScheduledStage(**fields | {"stage": stage, "due_ns": due_ns, "basis": ""})


@pytest.mark.parametrize(
    ("obj", "with_leases", "without"),
    [
        pytest.param(a_pod(), True, True, id="a pod on a node"),
        pytest.param(a_pod(spec={"nodeName": None}), False, False, id="a pod on no node"),
        pytest.param(a_node(), True, False, id="a node"),
    ],
)
def test_bound_pods_have_a_kubelet_and_nodes_with_leases(obj, with_leases, without):
    assert syncs().has_kubelet(obj) is with_leases
    assert syncs(has_heartbeats=False).has_kubelet(obj) is without


def test_a_lease_is_renewed_at_its_times_only():
    made, node = syncs(), a_node()
    assert made.is_needed(node, None, NOW)
    assert made.is_needed(node, scheduled(0, NOW + 5), NOW), "a stage that no longer applies"
    for due_ns in (NOW - 5, NOW, NOW + 5):
        assert not made.is_needed(node, scheduled(KUBELET, due_ns), NOW)
    found = made.sync(node, NOW)
    assert found.obj is node
    assert found.due_ns is not None
    assert NOW < found.due_ns <= NOW + 10 * SECOND
    assert not found.is_removed


def test_a_pod_is_synced_when_it_has_changed_or_its_time_has_come():
    made, pod = syncs(), a_pod(spec={"containers": [RUNNING], "restartPolicy": "Never"})
    assert made.is_needed(pod, None, NOW)
    found = made.sync(pod, NOW)
    due_ns = found.due_ns
    assert due_ns is not None
    assert due_ns >= NOW + SECOND
    written: Any = found.obj
    assert not made.is_needed(written, None, NOW)
    assert made.is_needed(written, scheduled(0, NOW + 5), NOW), "a stage that no longer applies"
    assert not made.is_needed(written, scheduled(KUBELET, NOW + 5), NOW)
    # What has changed is synced now, unless it is due now anyway.
    assert made.is_needed(pod, scheduled(KUBELET, NOW + 1), NOW)
    assert not made.is_needed(pod, scheduled(KUBELET, NOW), NOW)
    made.forget(written)
    assert made.is_needed(written, None, NOW)


def test_a_node_that_is_forgotten_has_its_pods_no_more():
    made, node = syncs(), a_node()
    made.sync(a_pod(), NOW)
    made.forget(node)
    assert made.sync(a_pod("other"), NOW).obj.key == "default/other"


@pytest.mark.parametrize("seconds", [0, 1, 30])
def test_a_sync_leaves_nothing_that_is_due_at_its_time(seconds):
    """A process receives its SIGTERM in the sync that stops it."""
    made, pod = syncs(), a_pod(spec={"containers": [RUNNING]})
    started: Any = made.sync(pod, NOW).obj
    deleted = started.raw["metadata"] | {
        "deletionTimestamp": at(0),
        "deletionGracePeriodSeconds": seconds,
    }
    due_ns = made.sync(decode(started.raw | {"metadata": deleted}), NOW).due_ns
    assert due_ns is not None
    assert due_ns >= NOW + SECOND


def test_containers_that_all_end_at_once_end_one_after_another():
    """A sync starts many of them, and the next one goes on."""
    once = RUNNING | {"command": ["true"]}
    inits = [once | {"name": f"i{number}"} for number in range(150)]
    made = syncs()
    obj: Any = a_pod(spec={"initContainers": inits, "containers": [RUNNING]})
    due_ns, count = NOW, 0
    while obj.status.phase != "Running":
        found = made.sync(obj, due_ns)
        assert found.due_ns is not None
        assert found.due_ns > due_ns
        obj, due_ns, count = found.obj, found.due_ns, count + 1
    assert 1 < count < 5
    assert due_ns > NOW + SECOND


def test_another_pod_of_the_same_name_has_the_room_of_the_former():
    made = syncs()
    half = {"resources": {"requests": {"cpu": "3"}}}
    for uid in ("a", "b"):
        pod = a_pod(spec={"containers": [RUNNING | half]}, uid=uid)
        written: Any = made.sync(pod, NOW).obj
        assert written.status.phase == "Running"
        made.forget(pod)


def test_a_pod_whose_annotations_cannot_be_read_is_an_error_with_its_name():
    pod = a_pod(annotations={RUN_DELAY: "5s", EXIT_CODE: "x"})
    text = f'kubelet: Pod default/web: {EXIT_CODE}: invalid exit code "x": must be a number'
    with pytest.raises(StageError, match=re.escape(text)):
        syncs().sync(pod, NOW)


def test_the_events_of_a_kubelet_name_the_pod_and_its_container():
    once = RUNNING | {"command": ["true"]}
    spec = {
        "initContainers": [
            once | {"name": "first"},
            RUNNING | {"name": "side", "restartPolicy": "Always"},
        ],
        "containers": [RUNNING],
        "ephemeralContainers": [once | {"name": "debug"}],
        "activeDeadlineSeconds": 5,
    }
    made, pod = syncs(), a_pod(spec=spec)
    found = made.sync(pod, NOW)
    events = [each for each in found.requests if isinstance(each, RecordEvent)]
    assert [each.field_path for each in events if each.reason == "Started"] == [
        "spec.ephemeralContainers{debug}",
        "spec.initContainers{first}",
        "spec.initContainers{side}",
        "spec.containers{main}",
    ]
    events += [
        each
        for each in made.sync(found.obj, NOW + 5 * SECOND).requests
        if isinstance(each, RecordEvent)
    ]
    assert [each.field_path for each in events if each.reason == "DeadlineExceeded"] == [""]
    assert {
        (each.group, each.object_kind, each.key, each.uid, each.source, each.host)
        for each in events
    } == {("", "Pod", "default/web", "uid-web", "kubelet", "n1")}
