"""The phase and the conditions of a pod, from its record; upstream: kubelet_pods_test.go."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod, decode
from podwright.cluster.kubelets.kubelet.kubelet_node import Rejection
from podwright.cluster.kubelets.kubelet.pod_records import (
    ContainerRecord,
    Ended,
    PodRecord,
    RunRecord,
    container_id,
    containers_of,
)
from podwright.cluster.kubelets.kubelet.pod_status import (
    conditions_of,
    phase_of,
    rejected_status,
    status_of,
    with_status,
)

START_NS = 1_767_225_600 * 10**9
NOW = "2026-01-01T00:01:00Z"
BEFORE = "2026-01-01T00:00:00Z"


def run(*, is_started=True, is_ready=True):
    return RunRecord(
        started_ns=START_NS, container_id="c", ends_ns=None, exit_code=0, spec={},
        is_started=is_started, is_ready=is_ready,
    )  # fmt: skip


def ended(code=0):
    return Ended(
        exit_code=code, reason="", message="", started_ns=START_NS, finished_ns=START_NS,
        container_id="c",
    )  # fmt: skip


STATES: dict[str, Any] = {
    "run": {"running": run()}, "starts": {"running": run(is_started=False, is_ready=False)},
    "unready": {"running": run(is_ready=False)}, "ok": {"ended": ended()},
    "error": {"ended": ended(1)}, "waits": {},
    "backs off": {"ended": ended(1), "waiting": ("CrashLoopBackOff", "")},
}  # fmt: skip


def record_with(**states):
    """Return a record: containers by name, the kind by the first letter."""
    kinds: dict[str, Any] = {"i": "init", "s": "sidecar", "c": "app", "e": "ephemeral"}
    containers = {
        name: ContainerRecord(name=name, kind=kinds[name[0]], **STATES[state])
        for name, state in states.items()
        if state
    }
    record = PodRecord(uid="u", node="n", start_ns=START_NS)
    record.containers = containers
    return record


def spec_with(policy, names):
    fields: dict[str, Any] = {"restartPolicy": policy}
    for name in names:
        container = {"name": name, "image": "i"}
        if name[0] == "s":
            container["restartPolicy"] = "Always"
        field = {"c": "containers", "e": "ephemeralContainers"}.get(name[0], "initContainers")
        fields.setdefault(field, []).append(container)
    return fields


@pytest.mark.parametrize(
    ("policy", "states", "phase"),
    [
        # Upstream: kubelet_pods_test.go, TestPodPhaseWithRestartAlways and the tables after it
        ("Always", {"c": "waits"}, "Pending"),
        ("Always", {"c1": "run", "c2": "run"}, "Running"),
        ("Always", {"c1": "ok", "c2": "ok"}, "Running"),
        ("Always", {"c1": "error", "c2": "error"}, "Running"),
        ("Always", {"c1": "run", "c2": "ok"}, "Running"),
        ("Always", {"c1": "run", "c2": "waits"}, "Pending"),
        ("Always", {"c1": "", "c2": ""}, "Pending"),
        ("Never", {"c1": "run", "c2": "run"}, "Running"),
        ("Never", {"c1": "ok", "c2": "ok"}, "Succeeded"),
        ("Never", {"c1": "error", "c2": "error"}, "Failed"),
        ("Never", {"c1": "ok", "c2": "error"}, "Failed"),
        ("Never", {"c1": "run", "c2": "error"}, "Running"),
        ("Never", {"c1": "run", "c2": "waits"}, "Pending"),
        ("OnFailure", {"c1": "run", "c2": "run"}, "Running"),
        ("OnFailure", {"c1": "ok", "c2": "ok"}, "Succeeded"),
        ("OnFailure", {"c1": "error", "c2": "error"}, "Running"),
        ("OnFailure", {"c1": "ok", "c2": "error"}, "Running"),
        ("OnFailure", {"c1": "run", "c2": "ok"}, "Running"),
        # Init containers
        ("Always", {"i": "run", "c": ""}, "Pending"),
        ("Always", {"i": "error", "c": ""}, "Pending"),
        ("Never", {"i": "error", "c": ""}, "Failed"),
        ("OnFailure", {"i": "error", "c": ""}, "Pending"),
        ("Never", {"i": "ok", "c": "run"}, "Running"),
        ("Never", {"i": "ok", "c": "ok"}, "Succeeded"),
        ("Never", {"i": "waits", "c": "run"}, "Pending"),
        ("Always", {"i": "error", "c": "run"}, "Pending"),
        ("OnFailure", {"i1": "error", "i2": "ok", "c": "run"}, "Pending"),
        ("Never", {"i1": "error", "i2": "ok", "c": "run"}, "Failed"),
        ("Never", {"i1": "ok", "i2": "ok", "c": "run"}, "Running"),
        ("Never", {"i1": "ok", "i2": "run", "c": ""}, "Pending"),
        # Sidecars
        ("Never", {"s": "waits", "c": ""}, "Pending"),
        ("Never", {"s": "run", "c": ""}, "Running"),
        ("Never", {"s": "run", "c": "ok"}, "Running"),
        ("Always", {"s": "starts", "c1": "run", "c2": "backs off"}, "Running"),
        ("Always", {"s": "starts", "c1": "backs off"}, "Pending"),
        ("Never", {"s": "ok", "c": "ok"}, "Succeeded"),
        ("Never", {"s": "error", "c": "ok"}, "Succeeded"),
        ("Never", {"s": "error", "c": "run"}, "Running"),
        ("Never", {"s": "waits", "c": "run"}, "Pending"),
        ("Never", {"s": "waits", "c1": "run", "c2": "waits"}, "Pending"),
        ("Never", {"s": "waits", "c1": "ok", "c2": "waits"}, "Pending"),
        ("Always", {"s": "backs off", "c": "run"}, "Running"),
        ("Always", {"c1": "ok", "c2": "error", "c3": "ok"}, "Running"),
        # Ephemeral containers do not count.
        ("Never", {"c": "ok", "e": "run"}, "Succeeded"),
        ("Never", {"c": "run", "e": "error"}, "Running"),
    ],
)
def test_the_phase_is_that_of_upstream(policy, states, phase):
    spec = spec_with(policy, states)
    assert phase_of(spec, record_with(**states), is_terminal=False) == phase


def test_a_container_that_no_record_has_is_left_out_of_the_phase():
    for names in (["c1", "c2"], ["i", "c2"], ["s", "c2"]):
        record = record_with(c2="run")
        assert phase_of(spec_with("Never", names), record, is_terminal=False) == "Running"


@pytest.mark.parametrize(
    ("policy", "states", "phase"),
    [
        ("Always", {"c1": "ok", "c2": "ok"}, "Succeeded"),
        ("Always", {"c1": "ok", "c2": "error"}, "Failed"),
        ("OnFailure", {"c": "error"}, "Failed"),
        ("Always", {"c1": "run", "c2": "error"}, "Running"),
    ],
)
def test_a_pod_of_which_nothing_starts_any_more_ends(policy, states, phase):
    spec = spec_with(policy, states)
    assert phase_of(spec, record_with(**states), is_terminal=True) == phase


@pytest.mark.parametrize(
    ("app", "phase"), [("run", "Running"), ("error", "Running"), ("backs off", "Pending")]
)
def test_a_sidecar_that_starts_holds_up_a_pod_of_which_all_other_containers_wait(app, phase):
    """Upstream: kubelet_pods.go, getPhase; container/helpers.go, HasAnyRegularContainerStarted"""
    states = {"s": "starts", "c": app}
    record = record_with(**states)
    assert phase_of(spec_with("Always", states), record, is_terminal=False) == phase


# ---------------------------------------------------------------------------------- conditions


def conditions(states, phase="Running", *, gates=(), present=(), generation=None, **fields):
    spec = spec_with("Never", states)
    spec["readinessGates"] = [{"conditionType": name} for name in gates]
    pod: dict[str, Any] = {"metadata": {}, "spec": spec, "status": {"conditions": list(present)}}
    if generation is not None:
        pod["metadata"]["generation"] = generation
    record = record_with(**states)
    record.has_sandbox = fields.pop("has_sandbox", True)
    for name, value in fields.items():
        setattr(record, name, value)
    statuses: dict[str, Any] = {"containerStatuses": [], "initContainerStatuses": []}
    for name, state in states.items():
        if state:
            field = "containerStatuses" if name[0] == "c" else "initContainerStatuses"
            statuses[field].append({"name": name, "ready": state == "run"})
    return conditions_of(pod, record, phase, statuses, NOW)


def brief(found):
    return {
        each["type"]: (each["status"], each.get("reason", ""), each.get("message", ""))
        for each in found
    }


TRUE = ("True", "", "")


def test_the_conditions_of_a_pod_that_runs():
    found = conditions({"c": "run"}, generation=7)
    assert [each["type"] for each in found] == [
        "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled",
    ]  # fmt: skip
    assert set(brief(found).values()) == {TRUE}
    assert found[0] == {
        "type": "PodReadyToStartContainers", "status": "True", "lastProbeTime": None,
        "observedGeneration": 7, "lastTransitionTime": NOW,
    }  # fmt: skip
    assert "observedGeneration" not in conditions({"c": "run"})[0]


@pytest.mark.parametrize(
    ("states", "why"),
    [
        ({"c": "unready"}, "containers with unready status: [c]"),
        ({"c1": "unready", "c2": "run", "c3": "unready"},
         "containers with unready status: [c1 c3]"),
        ({"c1": "", "c2": ""}, "containers with unknown status: [c1 c2]"),
        ({"c1": "", "c2": "unready"},
         "containers with unknown status: [c1], containers with unready status: [c2]"),
        ({"s": "unready", "c": "run"}, "containers with unready status: [s]"),
        ({"i": "ok", "c": "run"}, ""),
    ],
)  # fmt: skip
def test_a_pod_is_ready_when_its_containers_and_sidecars_are(states, why):
    """Upstream: pkg/kubelet/status/generate.go, GenerateContainersReadyCondition"""
    found = brief(conditions(states))
    expected = ("False", "ContainersNotReady", why) if why else TRUE
    assert found["ContainersReady"] == expected
    assert found["Ready"] == expected


@pytest.mark.parametrize(
    ("phase", "reason"), [("Succeeded", "PodCompleted"), ("Failed", "PodFailed")]
)
def test_a_pod_that_ended_is_not_ready(phase, reason):
    found = brief(conditions({"c": "ok"}, phase))
    assert found["Ready"] == found["ContainersReady"] == ("False", reason, "")
    assert found["PodReadyToStartContainers"] == ("False", "", "")
    is_done = phase == "Succeeded"
    assert found["Initialized"] == (("True", "PodCompleted", "") if is_done else TRUE)


def test_a_pod_without_a_sandbox_cannot_start():
    assert brief(conditions({"c": "waits"}, "Pending"))["PodReadyToStartContainers"] == TRUE
    found = brief(conditions({"c": "waits"}, "Pending", has_sandbox=False))
    assert found["PodReadyToStartContainers"] == ("False", "", "")


@pytest.mark.parametrize(
    ("present", "why"),
    [
        ([], 'corresponding condition of pod readiness gate "a/b" does not exist.'),
        ([{"type": "a/b", "status": "False"}],
         'the status of pod readiness gate "a/b" is not "True", but False'),
        ([{"type": "a/b", "status": "True"}], ""),
    ],
)  # fmt: skip
def test_readiness_gates_are_conditions_of_others(present, why):
    """Upstream: pkg/kubelet/status/generate.go, GeneratePodReadyCondition"""
    found = conditions({"c": "run"}, gates=["a/b"], present=present)
    assert found[: len(present)] == present, "the conditions of others come first"
    assert brief(found)["Ready"] == (("False", "ReadinessGatesNotReady", why) if why else TRUE)
    assert brief(found)["ContainersReady"] == TRUE


@pytest.mark.parametrize(
    ("states", "incomplete"),
    [
        ({"i1": "run", "i2": "", "c": ""}, "[i1]"),
        ({"i1": "ok", "i2": "error", "c": ""}, "[i2]"),
        ({"i1": "run", "i2": "waits", "c": ""}, "[i1 i2]"),
        ({"s": "starts", "c": ""}, "[s]"),
        ({"s": "run", "c": ""}, ""),
        ({"i": "ok", "c": ""}, ""),
        ({"c": ""}, ""),
        ({"s": "starts", "c": "waits"}, "[s]"),
        ({"s": "starts", "c": "run"}, ""),
        ({"i": "error", "c": "error"}, ""),
        ({"s": "starts", "e": "run"}, "[s]"),
    ],
)
def test_a_pod_is_initialized_when_its_init_containers_are_done(states, incomplete):
    found = brief(conditions(states, "Pending"))["Initialized"]
    why = f"containers with incomplete status: {incomplete}"
    assert found == (("False", "ContainersNotInitialized", why) if incomplete else TRUE)
    present = [{"type": "Initialized", "status": "True", "lastTransitionTime": BEFORE}]
    again = brief(conditions(states, "Pending", present=present))
    assert again["Initialized"] == TRUE, "once it was"


def test_a_condition_keeps_its_time_until_its_status_changes():
    present = [
        {"type": "Ready", "status": "True", "lastTransitionTime": BEFORE},
        {"type": "ContainersReady", "status": "False", "lastTransitionTime": BEFORE},
        {"type": "PodScheduled", "status": "True"},
        {"type": "PodResizePending", "status": "True", "lastTransitionTime": BEFORE},
    ]
    found = {
        each["type"]: each["lastTransitionTime"]
        for each in conditions({"c": "run"}, present=present)
    }
    assert found == {
        "PodReadyToStartContainers": NOW, "Initialized": NOW, "Ready": BEFORE,
        "ContainersReady": NOW, "PodScheduled": NOW,
    }  # fmt: skip


def test_a_resize_that_waits_is_a_condition_of_its_generation():
    first, second, *_ = conditions({"c": "run"}, generation=4, resize=("Deferred", "no room", 3))
    assert (first["type"], first["status"]) == ("PodResizePending", "True")
    assert (first["reason"], first["message"]) == ("Deferred", "no room")
    assert (first["observedGeneration"], second["observedGeneration"]) == (3, 4)


# -------------------------------------------------------------------------------------- status


def pod_with(states, status=None, policy="Never", **metadata):
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "u", **metadata},
        "spec": spec_with(policy, states), "status": status or {},
    }  # fmt: skip


def written(states, status=None, now=60, **fields):
    record = record_with(**states)
    for name, value in fields.items():
        setattr(record, name, value)
    return status_of(pod_with(states, status), record, "10.0.0.1", START_NS + now * 10**9)


def test_the_addresses_and_the_start_of_a_pod():
    found = written({"c": "run"}, pod_ip="10.1.0.2")
    assert (found["hostIP"], found["hostIPs"]) == ("10.0.0.1", [{"ip": "10.0.0.1"}])
    assert (found["podIP"], found["podIPs"]) == ("10.1.0.2", [{"ip": "10.1.0.2"}])
    assert found["startTime"] == BEFORE
    assert written({"c": "run"}, {"startTime": NOW})["startTime"] == NOW
    assert not {"podIP", "podIPs"} & written({"c": "run"}).keys()


@pytest.mark.parametrize("parts", [{}, {"spec": None}, {"spec": {}, "status": None}])
def test_a_pod_without_a_spec_or_a_status_waits(parts):
    pod = {"metadata": {"name": "p", "uid": "u"}, **parts}
    found = status_of(pod, record_with(), "10.0.0.1", START_NS)
    assert (found["phase"], found["startTime"]) == ("Pending", BEFORE)
    assert "containerStatuses" not in found


def test_a_container_whose_last_id_is_not_known_has_that_of_its_restarts():
    """As of a status that was read from a file."""
    record = record_with(c="ok")
    known = record.containers["c"]
    known.restart_count = 2
    known.ended = msgspec.structs.replace(ended(), container_id="")
    (status,) = status_of(pod_with({"c": "ok"}), record, "", START_NS)["containerStatuses"]
    assert status["containerID"] == container_id(record.uid, "c", 2)
    assert "containerID" not in status["state"]["terminated"]


@pytest.mark.parametrize("state", ["run", "ok", "backs off"])
def test_the_id_of_a_container_is_that_of_its_last_run(state):
    (status,) = written({"c": state})["containerStatuses"]
    assert status["containerID"] == "c"
    ended = (status["state"] | status["lastState"]).get("terminated")
    assert ended is None or ended["containerID"] == "c"


@pytest.mark.parametrize(
    ("states", "fields", "before", "phase"),
    [
        ({"c": "run"}, {}, "Pending", "Running"),
        ({"c": "ok"}, {"is_finished": True}, "Running", "Succeeded"),
        ({"c": "ok"}, {"is_finished": True, "stop": ("Evicted", "m")}, "Running", "Failed"),
        ({"c": "ok"}, {"stop": ("Evicted", "m")}, "Running", "Failed"),
        ({"c": "run"}, {"stop": ("Evicted", "m")}, "Running", "Running"),
        ({"c": "ok", "e": "run"}, {}, "Running", "Running"),
        ({"c": "ok", "e": "run"}, {}, "", "Running"),
        ({"c": "ok", "e": "run"}, {}, "Pending", "Pending"),
    ],
)
def test_a_pod_is_not_terminal_before_its_last_container_has_ended(states, fields, before, phase):
    assert written(states, {"phase": before}, **fields)["phase"] == phase


@pytest.mark.parametrize(
    ("sidecars", "is_failed"),
    [
        ({"s": "run"}, True),
        ({"s": "starts"}, False),
        ({"s1": "starts", "s2": "run"}, True),
        ({"s1": "run", "s2": "starts"}, False),
        ({"i": "ok", "s": "starts"}, False),
        ({"s": "run", "i": "ok"}, True),
        ({"s": "run", "i": "error"}, False),
    ],
)
def test_a_container_after_a_sidecar_that_started_has_failed_with_its_pod(sidecars, is_failed):
    """Upstream: pkg/kubelet/status/status_manager.go, hasPodInitialized"""
    states = {**sidecars, "c": "waits"}
    found = written(states, {"phase": "Running"}, is_finished=True, stop=("Evicted", "m"))
    (container,) = found["containerStatuses"]
    assert ("terminated" in container["state"]) is is_failed


@pytest.mark.parametrize(
    ("states", "is_failed"),
    [
        ({"i1": "waits", "i2": "waits"}, [True, False]),
        ({"i1": "ok", "i2": "waits"}, [True, False]),
        ({"i1": "ok", "i2": "backs off", "i3": "waits"}, [True, True, False]),
        ({"i1": "ok", "i2": "ok"}, [True, True]),
    ],
)
def test_init_containers_up_to_the_last_that_started_have_ended_with_their_pod(states, is_failed):
    """Upstream: pkg/kubelet/status/status_manager.go, initializedContainers"""
    parts: dict[str, Any] = {"is_finished": True, "stop": ("Evicted", "m")}
    found = written({**states, "c": "waits"}, {"phase": "Pending"}, **parts)
    inits = found["initContainerStatuses"]
    assert ["terminated" in each["state"] for each in inits] == is_failed
    bare = written(states, {"phase": "Pending"}, **parts)
    assert (bare["initContainerStatuses"], "containerStatuses" in bare) == (inits, False)


def test_app_containers_of_which_one_started_have_ended_with_their_pod():
    """Upstream: pkg/kubelet/status/status_manager.go, hasPodInitialized"""
    parts: dict[str, Any] = {"is_finished": True, "stop": ("Evicted", "m")}
    for first, is_failed in (("ok", True), ("waits", False)):
        states = {"i": "waits", "c1": first, "c2": "waits"}
        _, second = written(states, {"phase": "Running"}, **parts)["containerStatuses"]
        assert ("terminated" in second["state"]) is is_failed


def test_statuses_of_containers_that_are_gone_are_left_out():
    fields = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    before = {field: [{"name": "gone"}] for field in fields}
    found = written({"c": "run"}, {**before, "qosClass": "Burstable"})
    assert [[each["name"] for each in found.get(field, ())] for field in fields] == [[], ["c"], []]
    assert found["qosClass"] == "Burstable"


def test_the_reason_of_a_pod_is_that_of_its_phase():
    old = {"phase": "Running", "reason": "R", "message": "M", "qosClass": "Burstable"}
    same = written({"c": "run"}, old)
    assert (same["reason"], same["message"], same["qosClass"]) == ("R", "M", "Burstable")
    ended = written({"c": "error"}, old)
    assert ended["phase"] == "Failed"
    assert not {"reason", "message"} & ended.keys()
    stopped = written({"c": "error"}, old, stop=("Evicted", "m"), is_finished=True)
    assert (stopped["reason"], stopped["message"]) == ("Evicted", "m")


def test_a_rejected_pod_has_failed():
    rejection = Rejection("OutOfcpu", "no room")
    others = [{"type": "example.com/ready", "status": "True"}]
    before = {
        "qosClass": "Burstable", "phase": "Pending", "hostIP": "10.0.0.1",
        "conditions": [
            {"type": name, "status": "True"}
            for name in ("PodScheduled", "Ready", "PodResizePending", "PodResizeInProgress")
        ] + others,
    }  # fmt: skip
    pod = pod_with({"c": "waits"}, before, generation=3)
    assert rejected_status(pod, rejection, START_NS + 60 * 10**9) == {
        "qosClass": "Burstable", "phase": "Failed", "reason": "OutOfcpu",
        "message": "Pod was rejected: no room", "startTime": NOW, "observedGeneration": 3,
        "conditions": others,
    }  # fmt: skip
    started = pod_with({"c": "waits"}, {"startTime": BEFORE})
    assert "conditions" not in rejected_status(started, rejection, START_NS)
    found = rejected_status(started, rejection, START_NS + 60 * 10**9)
    assert found["startTime"] == BEFORE
    assert "observedGeneration" not in found


def test_a_typed_pod_has_the_status_of_its_document():
    pod = decode(pod_with({"s": "run", "c": "run"}))
    assert isinstance(pod, Pod)
    entry = {"name": "c", "allocatedResources": {}, "resources": {}, "ready": True}
    status = {
        "phase": "Running", "containerStatuses": [entry], "initContainerStatuses": [{"name": "s"}],
    }  # fmt: skip
    of_pod = status | {"resources": {"limits": {"cpu": "1"}}, "allocatedResources": {"cpu": "1"}}
    resized = with_status(pod, of_pod, record_with(s="run", c="run"))
    assert resized.status.resources is not None
    assert (resized.status.resources.limits, resized.status.allocated_resources) == (
        {"cpu": "1"}, {"cpu": "1"},
    )  # fmt: skip
    found = with_status(pod, status, record_with(s="run", c="run"))
    assert found.raw["status"] == status
    assert found.status.phase == "Running"
    (container,), (sidecar,) = found.status.container_statuses, found.status.init_container_statuses
    assert container.name == "c"
    assert container.allocated_resources is not None
    assert container.resources is not None
    assert (sidecar.name, sidecar.allocated_resources, sidecar.resources) == ("s", None, None)


def test_containers_in_the_order_in_which_they_start():
    spec = spec_with("Never", ["c1", "i1", "s1", "e1", "i2"])
    assert [(kind, each["name"]) for kind, each in containers_of(spec)] == [
        ("ephemeral", "e1"), ("init", "i1"), ("sidecar", "s1"), ("init", "i2"), ("app", "c1"),
    ]  # fmt: skip
    ids = {
        container_id(uid, name, count) for uid in "ab" for name in "cd" for count in (0, 1)
    }  # fmt: skip
    assert len(ids) == 8
    assert all(each.startswith("containerd://") and len(each) == 13 + 64 for each in ids)
