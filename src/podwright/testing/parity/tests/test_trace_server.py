"""The fake API server of the traces: what users write, and how calls end."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Condition, with_fields
from podwright.scheduler.framework import ActionType, EventHint
from podwright.scheduler.machine import (
    Bind,
    DeletePod,
    Event,
    ObjectDeleted,
    ObjectPut,
    PatchPodStatus,
    UpdateClaim,
)
from podwright.simulation.world import EventHeap
from podwright.testing.parity.trace_server import Server, machine_of

START_NS = 946_684_800_000_000_000
"""2000-01-01T00:00:00Z."""
NAMED = {"name": "p", "namespace": "default", "uid": "u"}
SELECTED = "volume.kubernetes.io/selected-node"


class Watched:
    """A server, and what its watch has delivered."""

    def __init__(self, **script: Any) -> None:
        self.events: list[Event] = []
        self.server = Server(script, self.events.append, EventHeap(START_NS))

    @property
    def written(self) -> list[Any]:
        """All versions of objects, in order."""
        return [each.obj for each in self.events if isinstance(each, ObjectPut)]

    @property
    def last(self) -> Any:
        """The object that was written last."""
        return self.written[-1]

    @property
    def deleted(self) -> list[str]:
        """The names of deleted objects, in order."""
        return [each.obj.metadata.name for each in self.events if isinstance(each, ObjectDeleted)]

    def bound(self, name: str = "p") -> str:
        """Bind a pod; return the reason of an error."""
        error = self.server.finish(Bind(1, f"default/{name}", "u", "n")).error
        return "" if error is None else error.reason


def pod(name: str = "p", node: str = "", **spec: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}]} | spec
    if node:
        spec["nodeName"] = node
    metadata = NAMED | {"name": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def claim(name: str = "c", **annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": NAMED | {"name": name, "annotations": annotations},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "made",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


# ---------------------------------------------------------------------------- users


def test_a_user_cannot_move_or_revive_a_pod() -> None:
    watched = Watched(grace_seconds=30)
    server = watched.server
    server.update(pod())
    assert watched.events == [], "it does not exist"
    server.create(pod())
    assert watched.bound() == ""
    server.terminate("default/p")
    before = watched.last
    server.update(pod(priority=7))
    after = watched.last
    assert after.spec.priority == 7
    assert after.spec.node_name == "n"
    assert after.status == before.status
    assert after.metadata.deletion_timestamp == "2000-01-01T00:00:30Z"
    version = int(after.metadata.resource_version)
    assert version == int(before.metadata.resource_version) + 1
    server.terminate("default/p")
    assert watched.last is after, "it is going already"


@pytest.mark.parametrize(
    ("grace_seconds", "node", "is_gone"),
    [
        pytest.param(None, "n", True, id="without a grace period"),
        pytest.param(0, "n", False, id="at the end of one of no length"),
        pytest.param(1.5, "n", False, id="at the end of one"),
        pytest.param(1.5, "", True, id="it has not started"),
    ],
)
def test_a_pod_goes_after_its_grace_period(
    grace_seconds: float | None, node: str, is_gone: bool
) -> None:
    watched = Watched(grace_seconds=grace_seconds)
    for name in ("p", "o", "q"):
        watched.server.create(pod(name, node))
    watched.server.terminate("default/unknown")
    watched.server.create(claim())
    assert watched.server.names("Pod") == ("default/p", "default/o", "default/q")
    for name in ("p", "o"):
        watched.server.terminate(f"default/{name}")
    assert watched.deleted == (["p", "o"] if is_gone else [])
    watched.server.reap()
    assert watched.deleted == (["p", "o"] if is_gone else ["o", "p"])
    watched.server.delete("Pod", "default/p")
    assert len(watched.deleted) == 2, "it is gone"


# ------------------------------------------------------------------------ volumes


def test_volumes_are_made_on_the_selected_node() -> None:
    watched = Watched()
    watched.server.create(claim("there", **{SELECTED: "n"}))
    watched.server.create(claim("waiting"))
    bare = claim("bare")
    del bare["metadata"]["annotations"]
    watched.server.create(bare)
    count = len(watched.events)
    watched.server.bind_volumes()
    made, bound, volume = watched.written[count:]
    assert [made.metadata.name, bound.metadata.name, volume.metadata.name] == [
        "pv-there", "there", "pv-there",
    ]  # fmt: skip
    assert (bound.spec.volume_name, bound.status.phase) == ("pv-there", "Bound")
    assert bound.metadata.annotations == {
        SELECTED: "n",
        "pv.kubernetes.io/bind-completed": "yes",
    }
    assert volume.status.phase == "Bound"
    spec = volume.raw["spec"]
    (term,) = spec.pop("nodeAffinity")["required"]["nodeSelectorTerms"]
    of_node = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n"]}
    assert term == {"matchExpressions": [of_node]}
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **NAMED, "name": "there"}
    assert spec == {
        "storageClassName": "made",
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "claimRef": reference,
    }
    count = len(watched.events)
    watched.server.bind_volumes()
    assert len(watched.events) == count, "all that can be bound are"


def test_a_reserved_volume_is_bound_to_its_claim() -> None:
    watched = Watched()
    reserved = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "storageClassName": "made",
            "capacity": {"storage": "2Gi"},
            "claimRef": {"namespace": "default", "name": "c"},
        },
        "status": {"phase": "Available", "message": "kept"},
    }
    # A node may be selected, too: the volume that is reserved is not made.
    for each in (claim("c", **{SELECTED: "n"}), claim("other"), reserved):
        watched.server.create(each)
    count = len(watched.events)
    watched.server.bind_volumes()
    bound, volume = watched.written[count:]
    assert (bound.metadata.name, bound.spec.volume_name) == ("c", "v")
    assert (volume.metadata.name, volume.status.phase) == ("v", "Bound")
    assert volume.raw["status"] == {"phase": "Bound", "message": "kept"}


def test_the_choice_of_a_node_is_taken_off_where_nothing_is_bound() -> None:
    watched = Watched()
    for each in (claim("a", **{SELECTED: "n", "own": "x"}), claim("b", own="x"), claim("c")):
        watched.server.create(each)
    count = len(watched.events)
    watched.server.reset_volumes()
    (obj,) = watched.written[count:]
    assert (obj.metadata.name, obj.metadata.annotations) == ("a", {"own": "x"})


# -------------------------------------------------------------------------- calls


def test_a_pod_is_bound_once_while_it_stays() -> None:
    watched = Watched(grace_seconds=5)
    assert watched.bound() == "NotFound"
    watched.server.create(pod())
    assert [watched.bound(), watched.bound()] == ["", "Conflict"]
    leaving = pod("q")
    leaving["metadata"]["deletionTimestamp"] = "2000-01-01T00:00:00Z"
    watched.server.create(leaving)
    assert watched.bound("q") == "Conflict"


READY = {"type": "Ready", "status": "False", "lastProbeTime": None}
UNSCHEDULABLE = Condition(
    type="PodScheduled",
    status="False",
    reason="Unschedulable",
    message="no room",
    last_transition_time="2000-01-01T00:00:01Z",
)


def with_status(**status: Any) -> Watched:
    """Return a server with a pod that has this status."""
    watched = Watched()
    watched.server.create(pod() | {"status": status})
    return watched


def patched(watched: Watched, condition: Condition) -> list[dict[str, Any]]:
    """Patch a condition of the pod; return all."""
    call = PatchPodStatus(1, "default/p", "u", condition, None, ())
    assert watched.server.finish(call).error is None
    found: list[dict[str, Any]] = watched.last.raw["status"]["conditions"]
    return found


def test_a_condition_is_added_or_replaced_and_the_others_stay() -> None:
    watched = with_status(conditions=[READY])
    written = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
        "lastTransitionTime": "2000-01-01T00:00:01Z",
    }
    assert patched(watched, UNSCHEDULABLE) == [READY, written]
    later = msgspec.structs.replace(UNSCHEDULABLE, message="still none")
    assert patched(watched, later) == [READY, written | {"message": "still none"}]
    ready = msgspec.structs.replace(UNSCHEDULABLE, type="Ready", status="True")
    first, second = patched(watched, ready)
    assert (first["status"], first["lastProbeTime"]) == ("True", None)
    assert second["message"] == "still none"
    assert patched(with_status(), UNSCHEDULABLE) == [written]


def test_a_bound_pod_runs_and_is_nominated_no_more() -> None:
    old = {"type": "PodScheduled", "status": "False", "message": "no room"}
    watched = with_status(conditions=[old, READY], nominatedNodeName="m", qosClass="Burstable")
    assert watched.bound() == ""
    assert watched.last.raw["status"] == {
        "conditions": [
            READY,
            {
                "type": "PodScheduled",
                "status": "True",
                "lastTransitionTime": "2000-01-01T00:00:00Z",
            },
        ],
        "qosClass": "Burstable",
        "phase": "Running",
        "startTime": "2000-01-02T00:00:00Z",
    }


def test_what_a_patch_leaves_as_it_is_is_known_by_object_and_condition() -> None:
    watched = with_status(conditions=[READY])
    call = {"patch": {"conditions": [READY | {"status": "True"}]}}
    assert watched.server.unchanged("default/p", call) == {
        ("Ready", "type"),
        ("Ready", "lastProbeTime"),
    }
    assert watched.server.unchanged("default/q", call) == frozenset()
    assert watched.server.unchanged("default/p", {"call": "delete"}) == frozenset()


def test_a_write_of_an_older_version_is_a_conflict() -> None:
    watched = Watched()
    watched.server.create(claim())
    known = watched.last
    newer = with_fields(known, "metadata", annotations={"a": "b"})
    done = watched.server.finish(UpdateClaim(1, newer))
    assert done.error is None
    assert watched.last.metadata.annotations == {"a": "b"}
    assert done.obj is watched.last
    count = len(watched.events)
    error = watched.server.finish(UpdateClaim(2, newer)).error
    assert error is not None
    assert error.reason == "Conflict"
    assert len(watched.events) == count, "nothing was written"


@pytest.mark.parametrize(
    ("error", "reason", "text"),
    [
        ("conflict", "Conflict",
         'Operation cannot be fulfilled on pods "p": the object has been modified'),
        ("not_found", "NotFound", 'pods "p" not found'),
        ("forbidden", "Forbidden", 'pods "p" is forbidden: denied'),
        ("no route to host", "", "no route to host"),
    ],
)  # fmt: skip
def test_calls_fail_and_take_time_as_often_as_the_script_says(
    error: str, reason: str, text: str
) -> None:
    rules = [
        {"call": "bind", "name": "default/other", "times": 9, "error": "other"},
        {"call": "bind", "name": "default/p", "times": 1, "error": error, "delay": 1.5},
        {"call": "bind", "name": "*", "times": 1, "delay": 2},
        {"call": "delete", "name": "*", "times": 1, "error": "not_found"},
    ]
    watched = Watched(api=rules)
    watched.server.create(pod())
    taken, errors = [], []
    for number in range(3):
        call = Bind(number, "default/p", "u", "n")
        taken.append(watched.server.begin(call))
        errors.append(watched.server.finish(call).error)
    assert taken == [1_500_000_000, 2_000_000_000, 0]
    first, second, third = errors
    assert first is not None
    assert (first.reason, str(first.message)) == (reason, text)
    assert second is None
    assert third is not None, "it is bound"
    for number, is_there in ((4, True), (5, False)):
        deletion = DeletePod(number, "default/p", "u")
        assert watched.server.begin(deletion) == 0
        assert (watched.server.finish(deletion).error is not None) is is_there
        assert (watched.deleted == []) is is_there


def test_a_nomination_is_written_kept_and_taken_off() -> None:
    watched = Watched()
    watched.server.create(pod())
    found = []
    for number, node in enumerate(("n", None, "")):
        call = PatchPodStatus(number, "default/p", "u", None, node, ())
        assert watched.server.finish(call).error is None
        found.append(watched.last.status.nominated_node_name)
    assert found == ["n", "n", ""]


def test_scripted_plugins_register_the_events_of_the_script() -> None:
    enabled = {"multiPoint": {"enabled": [{"name": "StubA"}, {"name": "StubB"}]}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": enabled}],
    }
    hints = [EventHint("Node", ActionType.ADD), EventHint("Pod", ActionType.DELETE)]
    machine = machine_of({"config": config}, {"events": {"StubA": hints}}, {}, START_NS)
    stubs = {each.name: each for each in machine.profiles["default-scheduler"].reserve}
    assert tuple(stubs["StubA"].events_to_register()) == tuple(hints)
    assert not stubs["StubB"].implements("events_to_register"), "so that all events retry its pods"
