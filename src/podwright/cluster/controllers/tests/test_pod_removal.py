"""What the garbage collector of pods and the protections delete, and when."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.cluster.controllers.core import pod_gc
from podwright.cluster.controllers.core.pod_gc import PodGarbageCollector
from podwright.cluster.controllers.core.protections import (
    PodGroupProtectionController,
    VolumeProtectionController,
)
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import at, document

OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}


def a_node(name: str = "n", ready: str | None = "Unknown", taints: Any = (OUT_OF_SERVICE,)) -> Any:
    conditions = [{"type": "DiskPressure", "status": "True"}]
    conditions += [] if ready is None else [{"type": "Ready", "status": ready}]
    return document("Node", name, spec={"taints": list(taints)}, status={"conditions": conditions})


def a_pod(
    name: str = "p",
    node: str = "n",
    phase: str = "Running",
    created: int = 0,
    reason: str = "",
    **metadata: Any,
) -> Any:
    """Return a pod; the metadata may have `gone` instead of a deletion timestamp."""
    if metadata.pop("gone", False):
        metadata["deletionTimestamp"] = at(0)
    spec = {"containers": [{"name": "c", "image": "i"}], **metadata.pop("spec", {})}
    status = {"phase": phase} | ({"reason": reason} if reason else {})
    return document(
        "Pod", name, namespace="shop", metadata={"creationTimestamp": at(created), **metadata},
        spec=spec | ({"nodeName": node} if node else {}), status=status,
    )  # fmt: skip


def condition(seconds: float, reason: str, message: str) -> str:
    since = {"lastTransitionTime": at(seconds), "reason": reason, "message": message}
    return json.dumps({"type": "DisruptionTarget", "status": "True", **since})


def plain(actions: list[str]) -> list[str]:
    """Return actions, of the update of a status only the condition."""
    found = []
    for each in actions:
        _, _, fields = each.partition(" status: status.conditions=")
        if fields:
            (written,), _ = json.JSONDecoder().raw_decode(fields)
            kept = ("type", "status", "lastTransitionTime", "reason", "message")
            found.append(json.dumps({name: written[name] for name in kept}))
        else:
            found.append(each)
    return found


def failed(name: str) -> str:
    return f'update Pod shop/{name} status: status.phase="Failed"'


def deleted(name: str) -> str:
    return f"delete Pod shop/{name} within 0s"


# ----------------------------------------------------------------------- removed nodes


def test_the_pods_of_a_removed_node_are_deleted_after_forty_seconds() -> None:
    bench = SingleSync(PodGarbageCollector, a_node(taints=()))
    for name in ("b", "a"):
        assert bench.put(a_pod(name)) == []
    bench.put(a_pod("done", phase="Succeeded"))
    bench.put(a_pod("elsewhere", "m"))
    assert bench.remove(a_node()) == ["n"]
    assert bench.sync("n") == ["sync n at 40"]
    assert bench.sync("n", 39.5) == ["sync n at 40"]
    first, *others = bench.sync("n", 40)
    assert plain([first]) == [
        condition(40, "DeletionByPodGC", "PodGC: node no longer exists"),
    ]
    assert first.endswith(' status.phase="Failed"')
    assert others == [deleted("a"), others[1], deleted("b"), deleted("done")]
    # The quarantine begins anew.
    assert bench.sync("n", 41) == ["sync n at 81"]


def test_the_status_of_a_failed_pod_is_that_of_its_generation() -> None:
    bench = SingleSync(PodGarbageCollector, a_pod(generation=3), a_node(taints=()))
    bench.remove(a_node())
    bench.sync("n")
    update, _ = bench.sync("n", 40)
    assert " status.observedGeneration=3" in update


def test_a_node_that_returns_ends_the_quarantine() -> None:
    bench = SingleSync(PodGarbageCollector, a_node(taints=()), a_pod())
    bench.remove(a_node())
    bench.sync("n")
    assert bench.put(a_node(taints=())) == []
    assert bench.sync("n", 40) == []
    bench.remove(a_node())
    assert bench.sync("n", 50) == ["sync n at 90"]
    bench.lister.put(a_node(taints=()))
    assert bench.sync("n", 90) == []
    bench.lister.delete(a_node())
    assert bench.sync("n", 100) == ["sync n at 140"]
    bench.lister.delete(a_pod())
    assert bench.sync("n", 140) == []
    assert bench.controller.state()["gone_since_ns"] == {}


def test_a_node_without_pods_needs_no_quarantine_and_a_pod_may_come_to_a_missing_node() -> None:
    bench = SingleSync(PodGarbageCollector, a_node(taints=()))
    assert bench.remove(a_node()) == []
    assert bench.put(a_pod(node="")) == []
    assert bench.put(a_pod()) == ["n"]
    assert bench.put(a_pod()) == [], "it was bound before"
    assert bench.put(a_pod(node="m")) == ["m"]
    bench.put(a_node("k", taints=()))
    assert bench.put(a_pod("q", "k")) == []


# ---------------------------------------------------------------------- terminating pods


@pytest.mark.parametrize(
    ("node", "pod", "collected"),
    [
        pytest.param(a_node(), a_pod(gone=True), True, id="out of service"),
        pytest.param(a_node(ready="False"), a_pod(gone=True), True, id="not ready"),
        pytest.param(a_node(ready=None), a_pod(gone=True), True, id="never ready"),
        pytest.param(a_node(ready="True"), a_pod(gone=True), False, id="ready"),
        pytest.param(a_node(taints=()), a_pod(gone=True), False, id="no taint"),
        pytest.param(
            a_node(taints=[{"key": "other", "effect": "NoExecute"}]), a_pod(gone=True), False,
            id="another taint",
        ),
        pytest.param(
            a_node(taints=[{"key": "other", "effect": "NoExecute"}, OUT_OF_SERVICE]),
            a_pod(gone=True), True, id="two taints",
        ),
        pytest.param(a_node(), a_pod(), False, id="not terminating"),
        pytest.param(a_node(ready="True"), a_pod(node="", gone=True), True, id="never bound"),
        pytest.param(a_node(ready="True"), a_pod(node=""), False, id="not yet bound"),
    ],
)  # fmt: skip
def test_a_terminating_pod_that_no_kubelet_stops_is_deleted(node, pod, collected) -> None:
    bench = SingleSync(PodGarbageCollector, node)
    keys = ["shop/p"] if collected else []
    assert bench.put(pod) == keys
    assert bench.sync("shop/p") == ([failed("p"), deleted("p")] if collected else [])
    assert bench.sync("shop/none") == []


def test_a_pod_that_has_ended_keeps_its_phase() -> None:
    for phase in ("Succeeded", "Failed"):
        bench = SingleSync(PodGarbageCollector, a_node(), a_pod(phase=phase, gone=True))
        assert bench.sync("shop/p") == [deleted("p")]
    unknown = SingleSync(PodGarbageCollector, a_node(), a_pod(phase="Unknown", gone=True))
    assert unknown.sync("shop/p") == [failed("p"), deleted("p")]


def test_a_node_that_goes_out_of_service_frees_its_terminating_pods() -> None:
    pods = [a_pod("b", gone=True), a_pod("a", gone=True), a_pod("c"), a_pod("d", "m", gone=True)]
    bench = SingleSync(PodGarbageCollector, a_node(taints=()), *pods)
    assert bench.put(a_node()) == ["n"]
    assert bench.put(a_node()) == []
    assert bench.sync("n") == [failed("a"), deleted("a"), failed("b"), deleted("b")]
    assert bench.put(a_node("new")) == ["new"]
    assert bench.put(a_node(ready="True")) == []
    assert bench.sync("n") == []


# ----------------------------------------------------------------------- terminated pods


def test_the_oldest_terminated_pods_beyond_the_limit_are_deleted_after_a_period(
    monkeypatch,
) -> None:
    monkeypatch.setattr(pod_gc, "TERMINATED_PODS_MAX", 2)
    bench = SingleSync(PodGarbageCollector, a_node(taints=()))
    for name, created in (("a", 5), ("b", 3)):
        assert bench.put(a_pod(name, phase="Failed", created=created)) == []
    assert bench.put(a_pod("running")) == []
    assert bench.sync("*") == []
    assert bench.put(a_pod("c", phase="Succeeded", created=4)) == ["*"]
    assert bench.put(a_pod("c", phase="Succeeded", created=4)) == [], "known"
    assert bench.put(a_pod("d", phase="Failed", created=1)) == ["*"]
    assert bench.sync("*", 7) == ["sync * at 27"]
    assert bench.sync("*", 26) == ["sync * at 27"]
    assert bench.sync("*", 27) == [deleted("d"), deleted("b")]
    # They are still there: the next period.
    assert bench.sync("*", 28) == ["sync * at 48"]
    for name in ("d", "b"):
        assert bench.remove(a_pod(name)) == []
    assert bench.sync("*", 48) == []
    assert bench.put(a_pod("e", phase="Failed", created=9)) == ["*"]
    assert bench.sync("*", 50) == ["sync * at 70"]
    assert bench.sync("*", 70) == [deleted("c")]


def test_of_one_second_the_first_by_name_is_deleted_whatever_its_namespace(monkeypatch) -> None:
    """Upstream: gc_controller.go, byEvictionAndCreationTimestamp"""
    monkeypatch.setattr(pod_gc, "TERMINATED_PODS_MAX", 1)
    pods = [
        document("Pod", name, namespace=namespace, metadata={"creationTimestamp": at(1)},
                 spec={"containers": [{"name": "c", "image": "i"}]}, status={"phase": "Failed"})
        for name, namespace in (("z", "a"), ("b", "y"), ("c", "x"))
    ]  # fmt: skip
    bench = SingleSync(PodGarbageCollector, *pods)
    bench.sync("*")
    expected = ["delete Pod y/b within 0s", "delete Pod x/c within 0s"]
    assert bench.sync("*", 20) == expected
    again = SingleSync(PodGarbageCollector, *pods)
    again.controller.restore(bench.controller.state())
    again.sync("*", 30)
    assert again.sync("*", 50) == expected


def test_evicted_pods_are_deleted_before_older_ones(monkeypatch) -> None:
    monkeypatch.setattr(pod_gc, "TERMINATED_PODS_MAX", 1)
    evicted = a_pod("late", phase="Failed", created=9, reason="Evicted")
    bench = SingleSync(
        PodGarbageCollector, a_pod("a", phase="Failed", created=1), evicted,
        a_pod("b", phase="Succeeded", created=2),
    )  # fmt: skip
    bench.sync("*")
    assert bench.sync("*", 20) == [deleted("late"), deleted("a")]


def test_of_a_name_only_the_last_terminated_pod_counts(monkeypatch) -> None:
    monkeypatch.setattr(pod_gc, "TERMINATED_PODS_MAX", 1)
    monkeypatch.setattr(pod_gc, "_STALE_MAX", 1)
    bench = SingleSync(PodGarbageCollector, a_node(taints=()))
    bench.put(a_pod("other", phase="Failed", created=50))
    for created in range(10):
        assert bench.put(a_pod("a", phase="Failed", created=created)) == ["*"][: created == 0]
        if created != 9:
            bench.lister.delete(a_pod("a"))
    controller: Any = bench.controller
    assert len(controller._oldest) <= 5
    bench.sync("*")
    assert bench.sync("*", 20) == [deleted("a")]
    other = SingleSync(PodGarbageCollector, *bench.lister.all(("", "Pod")).values())
    other.controller.restore(bench.controller.state())
    other.sync("*", 30)
    assert other.sync("*", 50) == [deleted("a")]


# --------------------------------------------------------------------------- protections

CLAIM, VOLUME = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"


def a_claim(**metadata: Any) -> Any:
    return document("PersistentVolumeClaim", "my-data", namespace="shop", metadata=metadata)


def a_user(
    node: str = "n",
    phase: str = "Running",
    name: str = "p",
    claim: str = "my-data",
    **metadata: Any,
) -> Any:
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": claim}}]
    return a_pod(name, node, phase, spec={"volumes": volumes}, **metadata)


def an_owner(
    node: str = "n", phase: str = "Running", name: str = "my", uid: str = "ou", beside: str = "",
    **metadata: Any,
) -> Any:  # fmt: skip
    """Return a pod of an ephemeral volume, and of another claim."""
    volumes: list[Any] = [{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    volumes += [{"name": "b", "persistentVolumeClaim": {"claimName": beside}}] if beside else []
    return a_pod(name, node, phase, spec={"volumes": volumes}, uid=uid, **metadata)


GOING: Any = {"deletionTimestamp": at(0), "deletionGracePeriodSeconds": 30}
SHUT_DOWN: Any = GOING | {"deletionGracePeriodSeconds": 0}


def test_claims_and_volumes_get_their_finalizer() -> None:
    bench = SingleSync(VolumeProtectionController)
    assert bench.put(a_claim(finalizers=["x"])) == ["shop/my-data"]
    assert bench.sync("shop/my-data") == [
        "update PersistentVolumeClaim shop/my-data main:"
        f' metadata.finalizers=["x", "{CLAIM}"]'
    ]  # fmt: skip
    assert bench.put(a_claim(finalizers=[CLAIM])) == []
    assert bench.sync("shop/my-data") == []
    volume = document("PersistentVolume", "v")
    assert bench.put(volume) == ["v"]
    assert bench.sync("v") == [f'update PersistentVolume v main: metadata.finalizers=["{VOLUME}"]']
    assert bench.remove(volume) == []
    assert (bench.sync("v"), bench.sync("shop/none")) == ([], [])


@pytest.mark.parametrize(
    ("users", "is_freed"),
    [
        pytest.param([], True, id="none"),
        pytest.param([a_user()], False, id="a running pod"),
        pytest.param([a_user(phase="Pending")], False, id="a bound pod"),
        pytest.param([a_user(node="")], True, id="a pod without a node"),
        pytest.param([a_user(phase="Failed")], False, id="a pod that has ended"),
        pytest.param([a_user(node=""), a_user(name="q")], False, id="one of two"),
        pytest.param([a_user(claim="other")], True, id="a pod with another claim"),
        pytest.param([a_user(**SHUT_DOWN)], False, id="a pod that is shut down"),
        pytest.param([an_owner()], False, id="its pod"),
        pytest.param([an_owner(phase="Succeeded")], False, id="its pod, which has ended"),
        pytest.param([an_owner(**GOING)], False, id="its pod, which is going"),
        pytest.param([an_owner(**SHUT_DOWN)], True, id="its pod, which is shut down"),
        pytest.param([an_owner(node="")], True, id="its pod, without a node"),
        pytest.param([an_owner(beside="other", **SHUT_DOWN)], True, id="and has another claim"),
        pytest.param([an_owner(beside="my-data", **SHUT_DOWN)], False, id="and has it by name"),
        pytest.param([an_owner(beside="other", uid="x")], True, id="another pod with another one"),
        pytest.param([an_owner(uid="other")], True, id="the pod of another claim"),
    ],
)
def test_a_deleted_claim_is_freed_when_no_pod_with_a_node_has_it(users, is_freed) -> None:
    """Upstream: pvc_protection_controller.go, podUsesPVCForDeletion"""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "ou", "controller": True}
    claim = a_claim(deletionTimestamp=at(0), finalizers=["x", CLAIM], ownerReferences=[owner])
    bench = SingleSync(VolumeProtectionController, *users)
    assert bench.put(claim) == ["shop/my-data"]
    freed = ['update PersistentVolumeClaim shop/my-data main: metadata.finalizers=["x"]']
    assert bench.sync("shop/my-data") == (freed if is_freed else [])
    bench.put(a_claim(deletionTimestamp=at(0), finalizers=["x"]))
    assert bench.sync("shop/my-data") == []


def test_the_removal_of_a_pod_concerns_its_claims() -> None:
    bench = SingleSync(VolumeProtectionController)
    for a_pod_with in (a_user, an_owner):
        assert bench.put(a_pod_with()) == []
        assert bench.put(a_pod_with(phase="Succeeded")) == []
        assert bench.put(a_pod_with(**GOING)) == []
        assert bench.put(a_pod_with(**SHUT_DOWN)) == ["shop/my-data"]
        assert bench.remove(a_pod_with()) == ["shop/my-data"]
    assert bench.put(a_pod(phase="Succeeded")) == []


@pytest.mark.parametrize(("phase", "is_freed"), [("Bound", False), ("Released", True)])
def test_a_deleted_volume_is_freed_when_it_is_not_bound(phase, is_freed) -> None:
    metadata = {"deletionTimestamp": at(0), "finalizers": [VOLUME]}
    volume = document("PersistentVolume", "v", metadata=metadata, status={"phase": phase})
    bench = SingleSync(VolumeProtectionController, volume)
    freed = ["update PersistentVolume v main: -metadata.finalizers"]
    assert bench.sync("v") == (freed if is_freed else [])


GROUP = "scheduling.k8s.io/podgroup-protection"


def a_group(**metadata: Any) -> Any:
    return document(
        "PodGroup", "g", api="scheduling.k8s.io/v1alpha2", namespace="shop", metadata=metadata
    )


@pytest.mark.parametrize(
    ("group", "members", "is_freed"),
    [
        pytest.param({}, "", True, id="no pods"),
        pytest.param({}, "a:Running", False, id="a pod that runs"),
        pytest.param({}, "a:Pending", False, id="a pod that waits"),
        pytest.param({}, "a:Succeeded", True, id="a pod that has succeeded"),
        pytest.param({}, "a:Failed", True, id="a pod that has failed"),
        pytest.param({}, "a:Failed b:Running", False, id="one of two runs"),
        pytest.param({}, "a:Failed b:Succeeded", True, id="neither of two runs"),
        pytest.param({}, "a:Running a:Failed", True, id="a pod that ran"),
        pytest.param({}, "a:Running a:-", True, id="a pod that was removed"),
        pytest.param({}, "a:Running b:Running a:-", False, id="one of two was removed"),
        pytest.param({"deletionTimestamp": None}, "", False, id="a group that is not deleted"),
        pytest.param({"finalizers": ["x"]}, "", False, id="a group with another finalizer"),
        pytest.param({"finalizers": None}, "", False, id="a group without finalizers"),
    ],
)
def test_which_groups_are_freed(group: Any, members: str, is_freed: bool) -> None:
    bench = SingleSync(PodGroupProtectionController)
    for each in members.split():
        name, _, phase = each.partition(":")
        spec = {"schedulingGroup": {"podGroupName": "g"}}
        pod = a_pod(name, phase=phase.replace("-", "Running"), spec=spec)
        if phase == "-":
            assert bench.remove(pod) == ["shop/g"]
        else:
            ended = phase in ("Succeeded", "Failed")
            assert bench.put(pod) == (["shop/g"] if ended else [])
    metadata = {"deletionTimestamp": at(0), "finalizers": [GROUP]} | group
    bench.put(a_group(**{name: each for name, each in metadata.items() if each is not None}))
    freed = ["update PodGroup shop/g main: -metadata.finalizers"]
    assert bench.sync("shop/g") == (freed if is_freed else [])


def test_a_deleted_group_is_freed_after_its_last_pod() -> None:
    def member(name: str, phase: str = "Running", group: str = "g") -> Any:
        return a_pod(name, phase=phase, spec={"schedulingGroup": {"podGroupName": group}})

    going = a_group(deletionTimestamp=at(0), finalizers=[GROUP, "x"])
    freed = ['update PodGroup shop/g main: metadata.finalizers=["x"]']
    bench = SingleSync(PodGroupProtectionController)
    assert bench.put(a_group(finalizers=[GROUP])) == []
    assert bench.sync("shop/g") == []
    assert [bench.put(member(name)) for name in ("a", "b")] == [[], []]
    assert bench.put(member("c", group="other")) == []
    assert bench.put(a_pod("d")) == []
    assert bench.put(going) == ["shop/g"]
    assert bench.sync("shop/g") == []
    assert bench.put(member("a", "Failed")) == ["shop/g"]
    assert bench.sync("shop/g") == []
    assert bench.remove(member("b")) == ["shop/g"]
    assert bench.sync("shop/g") == freed
    bench.put(a_group(deletionTimestamp=at(0), finalizers=["x"]))
    assert bench.sync("shop/g") == []
    assert bench.remove(going) == []
    assert bench.sync("shop/g") == []
