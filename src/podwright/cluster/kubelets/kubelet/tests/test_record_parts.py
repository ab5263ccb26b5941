"""What a kubelet reads of a status after a restart, and what it decides about one container."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.kubelets.kubelet.containers.container_statuses import (
    INITIAL_NS,
    MAX_NS,
    _linux_user,
    _mount,
    _mounts,
    _user,
    _volume_images,
    count_restart,
    restart_ns,
    should_restart,
)
from podwright.cluster.kubelets.kubelet.containers.probes import ProbeResult, count_result
from podwright.cluster.kubelets.kubelet.pod_records import (
    ContainerRecord,
    Ended,
    PodRecord,
    ProbeRecord,
    RunRecord,
    container_id,
    has_all_statuses,
    record_of,
)
from podwright.cluster.kubelets.kubelet.sandbox import _identity
from podwright.cluster.kubelets.kubelet.shell import NotSimulatedError, Script
from podwright.cluster.kubelets.kubelet.tests.shell_runs import facts, refusal, result
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW, SECOND, at

CLAIMS = [{"name": "gpu"}]
SPEC: dict[str, Any] = {
    "nodeName": "n",
    "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
    "containers": [{"name": "a", "resources": {"claims": CLAIMS}}, {"name": "b"}],
    "ephemeralContainers": [{"name": "e"}],
}


def recorded(status: Any, spec: Any = None, **metadata: Any) -> Any:
    return record_of(
        {"metadata": {"name": "p", "uid": "u", **metadata}, "spec": spec or SPEC, "status": status},
        NOW,
    )


def states(record: Any) -> dict[str, Any]:
    return {
        name: "running" if one.running else ("ended" if one.ended else "")
        for name, one in record.containers.items()
    }


def test_a_pod_that_runs_without_statuses_has_run_since_its_start():
    found = recorded({"phase": "Running", "startTime": at(-60), "podIP": "1.2.3.4"})
    assert states(found) == {"i": "ended", "s": "running", "a": "running", "b": "running", "e": ""}
    assert (found.uid, found.node, found.start_ns, found.pod_ip) == (
        "u", "n", NOW - 60 * SECOND, "1.2.3.4",
    )  # fmt: skip
    assert (found.is_finished, found.has_sandbox) == (False, True)
    assert found.containers["i"].ended == Ended(
        0, "Completed", "", NOW - 60 * SECOND, NOW - 60 * SECOND, ""
    )
    run = found.containers["a"].running
    assert (run.started_ns, run.container_id, run.is_started, run.is_ready) == (
        NOW - 60 * SECOND, container_id("u", "a", 0), True, True,
    )  # fmt: skip
    unready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    late = recorded(unready, creationTimestamp=at(-9))
    assert late.containers["a"].running.started_ns == NOW - 9 * SECOND
    assert not late.containers["a"].running.is_ready
    assert (late.pod_ip, late.has_sandbox) == ("", True)
    assert late.start_ns == NOW
    never = recorded({"phase": "Running"})
    assert never.containers["a"].running.started_ns == 0


def test_a_record_has_what_the_statuses_say():
    terminated = {
        "exitCode": 3, "reason": "Error", "message": "m", "startedAt": at(-20),
        "finishedAt": at(-10), "containerID": "c",
    }  # fmt: skip
    ended = Ended(3, "Error", "m", NOW - 20 * SECOND, NOW - 10 * SECOND, "c")
    found = recorded({
        "phase": "Running", "podIP": "1.1.1.1",
        "initContainerStatuses": [
            {"name": "i", "state": {"terminated": terminated}},
            {"name": "s", "state": {"waiting": {}}, "lastState": {"terminated": terminated}},
        ],
        "containerStatuses": [
            {"name": "a", "restartCount": 2, "state": {"running": {"startedAt": at(-5)}},
             "lastState": {"terminated": terminated}, "started": True,
             "resources": {"requests": {"cpu": "1"}}},
            {"name": "b", "state": {"waiting": {}}},
        ],
        "ephemeralContainerStatuses": [
            {"name": "e", "state": {"running": {}}, "resources": {"requests": {"cpu": "1"}}}
        ],
    })  # fmt: skip
    assert states(found) == {
        "i": "ended", "s": "ended", "a": "running", "b": "", "e": "running"
    }  # fmt: skip
    assert (found.containers["i"].ended, found.containers["s"].ended) == (ended, ended)
    assert (found.containers["s"].last, found.containers["a"].last) == (None, ended)
    main = found.containers["a"]
    assert (main.restart_count, main.running.is_ready, main.running.is_started) == (2, False, True)
    assert main.running.container_id == container_id("u", "a", 2)
    bare = found.containers["e"].running
    assert (bare.is_ready, bare.is_started) == (False, False)
    assert found.allocated == {"a": {"requests": {"cpu": "1"}, "claims": CLAIMS}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"state": {"running": {}, "terminated": None, "waiting": None}}, ("running", None)),
        ({"state": {"running": None, "terminated": {"exitCode": 3}}}, (3, None)),
        ({"state": {"running": None, "terminated": {}}}, (0, None)),
        ({"state": {"running": None, "terminated": None, "waiting": {}}}, ("", None)),
        ({"state": {"running": {}}, "lastState": {"terminated": None}}, ("running", None)),
        ({"state": {"running": {}}, "lastState": {"terminated": {}}}, ("running", 0)),
        ({"state": {"running": None}, "lastState": {"terminated": {"exitCode": 4}}}, (4, None)),
        ({"state": None, "lastState": None}, ("", None)),
    ],
)
def test_a_state_that_is_null_is_none(given, expected):
    status = {"phase": "Running", "containerStatuses": [{"name": "a", **given}, {"name": "b"}]}
    found = recorded(status, {"containers": [{"name": "a"}, {"name": "b"}]}).containers["a"]
    state = "running" if found.running else found.ended.exit_code if found.ended else ""
    assert (state, found.last and found.last.exit_code) == expected


@pytest.mark.parametrize(
    ("status", "finished", "sandbox"),
    [
        ({}, False, False), ({"phase": "Pending"}, False, False),
        ({"phase": "Pending", "podIP": "1.1.1.1"}, False, True),
        ({"phase": "Succeeded", "podIP": "1.1.1.1"}, True, False),
        ({"phase": "Failed"}, True, False),
    ],
)  # fmt: skip
def test_a_pod_that_ended_has_no_sandbox(status, finished, sandbox):
    found = recorded(status)
    assert (found.is_finished, found.has_sandbox) == (finished, sandbox)
    assert set(states(found).values()) == {""}


def test_what_a_pod_without_fields_leaves_of_its_record():
    nulls = {"metadata": {"uid": None}, "spec": None, "status": None}
    pods: list[Any] = [{"metadata": {}}, nulls]
    for pod in pods:
        found = record_of(pod, NOW)
        assert (found.uid, found.node, found.start_ns, found.pod_ip) == ("", "", NOW, "")
        assert (found.is_finished, found.has_sandbox) == (False, False)
        assert (found.containers, found.allocated) == ({}, {})


@pytest.mark.parametrize(
    "record",
    [
        ContainerRecord("main", "app"),
        ProbeRecord(0, is_success=False),
        PodRecord(uid="u", node="n", start_ns=0),
        RunRecord(0, "", {}),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_new_record_has_counted_nothing_and_waits_for_nothing(record):
    values = [getattr(record, field) for field in record.__struct_fields__]
    assert {each for each in values if isinstance(each, int)} == {0}


def test_all_statuses_are_there():
    of = {"name": "x"}
    whole = {
        "phase": "Running", "podIP": "1.1.1.1", "startTime": at(0),
        "initContainerStatuses": [of] * 2, "containerStatuses": [of] * 2,
        "ephemeralContainerStatuses": [of],
    }  # fmt: skip
    assert has_all_statuses({"spec": SPEC, "status": whole})
    for name, value in (("phase", "Pending"), ("podIP", ""), ("containerStatuses", [of]),
                        ("ephemeralContainerStatuses", None)):  # fmt: skip
        assert not has_all_statuses({"spec": SPEC, "status": whole | {name: value}})
    without = {name: value for name, value in whole.items() if name != "startTime"}
    assert not has_all_statuses({"spec": SPEC, "status": without})
    assert has_all_statuses({"spec": {}, "status": whole})
    assert has_all_statuses({"spec": None, "status": whole})
    assert not has_all_statuses({})


# ------------------------------------------------------------------------------ one container


def ended_at(seconds: int, **fields: Any) -> ContainerRecord:
    found = ContainerRecord("main", "app")
    found.ended = Ended(1, "Error", "", 0, seconds * SECOND, "")
    for name, value in fields.items():
        setattr(found, name, value)
    return found


def test_back_offs_double_up_to_five_minutes_and_are_forgotten_after_ten():
    found = ended_at(100)
    assert restart_ns(found) == 100 * SECOND
    waits = []
    for _ in range(7):
        count_restart(found, 100 * SECOND)
        waits.append(found.back_off_ns // SECOND)
    assert waits == [10, 20, 40, 80, 160, 300, 300]
    assert (INITIAL_NS, MAX_NS) == (10 * SECOND, 300 * SECOND)
    assert restart_ns(found) == 400 * SECOND
    found.ended = Ended(1, "Error", "", 0, 700 * SECOND, "")
    assert restart_ns(found) == 1_000 * SECOND, "exactly ten minutes later"
    found.ended = Ended(1, "Error", "", 0, 700 * SECOND + 1, "")
    assert restart_ns(found) == 700 * SECOND + 1
    count_restart(found, 701 * SECOND)
    assert (found.back_off_ns, found.back_off_at_ns) == (10 * SECOND, 701 * SECOND)


RULE = {"exitCodes": {"operator": "In", "values": [42]}}
OTHERS = {"exitCodes": {"operator": "NotIn", "values": [42]}}


@pytest.mark.parametrize(
    ("kind", "container", "policy", "restarts"),
    [
        ("app", {}, None, (0, 1, 42)), ("app", {}, "Always", (0, 1, 42)),
        ("app", {}, "OnFailure", (1, 42)), ("app", {}, "Never", ()),
        ("init", {}, "Always", (1, 42)), ("init", {}, "Never", ()), ("init", {}, None, (1, 42)),
        ("sidecar", {"restartPolicy": "Always"}, "Never", (0, 1, 42)), ("ephemeral", {}, None, ()),
        ("app", {"restartPolicy": "Never", "restartPolicyRules": [RULE]}, "Always", (42,)),
        ("app", {"restartPolicy": "Never", "restartPolicyRules": [OTHERS]}, "Always", (0, 1)),
        ("app", {"restartPolicy": "OnFailure", "restartPolicyRules": [RULE]}, "Never", (1, 42)),
    ],
)  # fmt: skip
def test_containers_restart_by_policies_and_rules(kind, container, policy, restarts):
    spec = {} if policy is None else {"restartPolicy": policy}
    assert tuple(c for c in (0, 1, 42) if should_restart(kind, container, spec, c)) == restarts


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, {}), ({"readOnly": False, "recursiveReadOnly": "Enabled"}, {}),
        ({"readOnly": True}, {"readOnly": True, "recursiveReadOnly": "Disabled"}),
        ({"readOnly": True, "recursiveReadOnly": "Enabled"},
         {"readOnly": True, "recursiveReadOnly": "Enabled"}),
        ({"readOnly": True, "recursiveReadOnly": "IfPossible"},
         {"readOnly": True, "recursiveReadOnly": "Enabled"}),
    ],
)  # fmt: skip
def test_mounts_in_a_status(parts, expected):
    mount = {"name": "v", "mountPath": "/v"}
    images = {"w": "sha256:1"}
    found = _mounts((_mount(mount | {"subPath": "x"} | parts, images),))
    assert found == [mount | expected]
    of_image = {"volumeStatus": {"image": {"imageRef": "sha256:1"}}}
    both = (_mount(mount | parts, images), _mount(mount | parts | {"name": "w"}, images))
    assert _mounts(both) == [mount | expected, mount | expected | {"name": "w"} | of_image]
    assert list(_mounts(both)[1]) == ["name", "mountPath", *expected, "volumeStatus"]


def test_only_volumes_of_images_say_something_about_their_mounts():
    assert _volume_images({}) == {}
    images: Any = (("b", {"reference": "nginx:1"}), ("c", {}), ("d", {"reference": "redis:7"}))
    volumes = [{"name": "a", "emptyDir": {}}, *({"name": n, "image": i} for n, i in images)]
    found = _volume_images({"volumes": volumes})
    assert list(found) == ["b", "d"]
    assert all(each.startswith("sha256:") for each in found.values())
    assert len(set(found.values())) == 2


def test_the_user_of_a_container():
    of_pod = {"runAsUser": 5, "runAsGroup": 6, "supplementalGroups": [9, 6], "fsGroup": 7}
    assert _user({}, {}) == _linux_user(0, 0, (0,))
    assert _user({"securityContext": of_pod}, {}) == _linux_user(5, 6, (6, 7, 9))
    own = {"securityContext": {"runAsUser": 0, "runAsGroup": 1}}
    assert _user({"securityContext": of_pod}, own) == _linux_user(0, 1, (1, 6, 7, 9))
    assert _linux_user(1, 2, (3,)) == {
        "linux": {"uid": 1, "gid": 2, "supplementalGroups": [3]}
    }  # fmt: skip


def test_results_of_probes_are_counted_in_a_row():
    probe = {"successThreshold": 2, "failureThreshold": 2, "periodSeconds": 5}
    good, bad = ProbeResult(is_success=True), ProbeResult(is_success=False)
    state = ProbeRecord(0, is_success=False)
    seen = []
    for outcome in (good, bad, good, good, bad, good, bad, bad):
        count_result(state, outcome, probe, NOW)
        seen.append((state.is_success, state.successes, state.failures))
    assert seen == [
        (False, 1, 0), (False, 0, 1), (False, 1, 0), (True, 2, 0),
        (True, 0, 1), (True, 1, 0), (True, 0, 1), (False, 0, 2),
    ]  # fmt: skip
    assert state.next_ns == NOW + 5 * SECOND
    lasting = ProbeResult(is_success=True, is_lasting=True)
    for _, next_ns in ((1, NOW + 5 * SECOND), (2, None)):
        count_result(state, lasting, probe, NOW)
        assert state.next_ns == next_ns
    defaults = ProbeRecord(0, is_success=True)
    for outcome, is_success in ((bad, True), (bad, True), (bad, False), (good, True)):
        count_result(defaults, outcome, {}, NOW)
        assert defaults.is_success is is_success
        assert defaults.next_ns == (None if outcome is good else NOW + 10 * SECOND)


def test_devices_are_known_by_all_their_names():
    names = {"driver": "a", "pool": "b", "device": "c", "shareID": "d"}
    assert _identity(names | {"x": "y"}) == ("a", "b", "c", "d")


# -------------------------------------------------------------------- further words of scripts


def test_what_scripts_do_further():
    for script, status, output in (
        ("cd /; echo $?", 0, "0\n"), ("set -- a; shift; echo $?", 0, "0\n"),
        ("export a=1; echo $?", 0, "0\n"), ("unset a; echo $?", 0, "0\n"),
        ("cat <<E'O'F\n$x\nEOF", 0, "$x\n"), ("cat <<EO\"F\"\n$x\nEOF", 0, "$x\n"),
        ("mkdir a; mkdir a; echo $?", 0, "1\n"), ("mkdir -p a/b a/b; echo $?", 0, "0\n"),
        ("mkdir none/b; echo $?", 0, "1\n"), ("echo $((7 / 2)) $((-8 / 2)) $((0 / -5))", 0,
         "3 -4 0\n"), ("echo {a} {} a,b", 0, "{a} {} a,b\n"),
    ):  # fmt: skip
        assert result(script) == (status, output), script
    for script, what in (
        ("echo {a,b}", "the expansion of braces"), ("echo {1..3}", "the expansion of braces"),
        ("echo ${x[0]}", "this form of ${"), ("echo ${x:1}", "this form of ${"),
        ("set -x; echo a 2>/dev/null", "the redirection of the errors after set -x"),
        ("echo a >&3", "the redirection >&3"), ("cat 2< f", "reading from another file descriptor"),
        ("mkdir", '"mkdir"'), ("eval a", "eval"),
    ):  # fmt: skip
        assert what in refusal(script), script


def test_the_name_and_the_parameters_of_a_script():
    for words, output in (
        (["sh", "-c", "echo $0 $1 $#", "name", "a", "b"], "name a 2\n"),
        (["sh", "-c", "echo $0 $#", "name"], "name 0\n"), (["sh", "-c", "echo $0"], "sh\n"),
        (["sh", "-eu", "-c", "echo a"], "a\n"), (["sh", "-e", "-u", "-c", "echo a"], "a\n"),
        (["sh", "-c", "-x", "echo a"], "a\n"), (["sh", "-c", "-e", "false; echo a"], ""),
        (["sh", "-c", "-xe", "--", "false; echo a"], ""), (["sh", "-c"], None),
        (["bash", "-euo", "pipefail", "-c", "false | true; echo a"], ""),
        (["bash", "-eu", "-c", "false | true; echo a"], "a\n"),
        (["bash", "-c", "-o", "pipefail", "-e", "false | true; echo $0", "b"], ""),
        (["sh", "-ex", "-c", "+e", "false; echo a", "b", "-c"], "a\n"),
        (["dash", "-o", "pipefail", "-c", "echo a"], None), (["sh", "-l", "-c", "echo a"], None),
        (["sh", "-e", "echo a"], None), (["sh", "-c", "-", "echo a"], None),
        (["sh", "-o"], None), (["sh", "+c", "echo a"], None), (["sh", "--", "-c", "echo a"], None),
    ):  # fmt: skip
        if output is None:
            with pytest.raises(NotSimulatedError):
                Script(words, facts())
            continue
        script = Script(words, facts())
        for _ in script.steps():
            pass
        assert script.output == output


@pytest.mark.parametrize(
    ("terminated", "ended"),
    [
        ({}, Ended(0, "", "", 0, 0, "")),
        (
            dict.fromkeys(
                ("exitCode", "reason", "message", "startedAt", "finishedAt", "containerID")
            ),
            Ended(0, "", "", 0, 0, ""),
        ),
        ({"exitCode": 0, "startedAt": at(1)}, Ended(0, "", "", NOW + SECOND, 0, "")),
        ({"exitCode": 137, "finishedAt": at(2)}, Ended(137, "", "", 0, NOW + 2 * SECOND, "")),
        ({"reason": "Error", "message": "m"}, Ended(0, "Error", "m", 0, 0, "")),
    ],
)
def test_what_a_status_does_not_say_of_an_end_is_nothing(terminated, ended):
    statuses = [
        {"name": "a", "state": {"terminated": terminated}},
        {"name": "b", "state": {"running": {}}, "lastState": {"terminated": terminated}},
    ]
    found = recorded({"phase": "Running", "containerStatuses": statuses}).containers
    assert (found["a"].ended, found["a"].running) == (ended, None)
    assert (found["b"].last, found["b"].running.started_ns) == (ended, 0)


@pytest.mark.parametrize("state", [{}, {"waiting": {}}, {"waiting": {"reason": "x"}}])
def test_a_container_whose_state_says_nothing_waits(state):
    statuses = [{"name": "a", "state": state}, {"name": "b", "state": {"running": {}}}]
    record = recorded({"phase": "Running", "containerStatuses": statuses})
    assert states(record)["b"] == "running"
    assert states(record)["a"] == ""
