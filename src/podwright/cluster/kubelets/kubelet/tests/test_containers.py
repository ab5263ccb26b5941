"""When containers start, restart and end on simulated kubelets."""

from copy import copy
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from podwright.apimachinery.objects import SECOND_NS
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets.kubelet.containers.container_statuses import (
    count_restart,
    restart_ns,
)
from podwright.cluster.kubelets.kubelet.pod_records import ContainerRecord
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import (
    NEVER,
    container,
    pod_of,
    pod_with_status,
    run_of,
)


@pytest.mark.parametrize(
    ("policy", "script", "phase", "reason"),
    [
        ("Never", "exit 0", "Succeeded", "PodCompleted"),
        ("Never", "exit 3", "Failed", "PodFailed"),
        ("OnFailure", "exit 0", "Succeeded", "PodCompleted"),
    ],
)
def test_the_exit_code_decides_how_a_pod_ends(policy, script, phase, reason):
    driver = run_of(pod_of(container("main", script), restartPolicy=policy))
    assert driver.status()["phase"] == phase
    assert driver.condition("Ready") == ("False", reason, "")
    assert driver.condition("PodReadyToStartContainers") == ("False", "", "")
    state = driver.state()["terminated"]
    assert state["exitCode"] == int(script.split()[1])
    assert state["reason"] == ("Completed" if phase == "Succeeded" else "Error")


def test_a_container_that_fails_waits_twice_as_long_each_time_up_to_five_minutes():
    driver = run_of(pod_of(container("main", "exit 1")), 1)
    begun = {driver.container()["restartCount"]: 0}
    for second in range(1, 1_600):
        driver.run(second)
        begun.setdefault(driver.container()["restartCount"], second)
    times = list(begun.values())[1:]
    waits = [second - before for before, second in pairwise(times)]
    assert waits == [20, 40, 80, 160, 300, 300, 300, 300]


def test_a_container_that_ran_for_ten_minutes_restarts_without_a_wait():
    record = ContainerRecord("main", "app")
    record.back_off_ns, record.back_off_at_ns = 80 * SECOND_NS, 0
    for seconds, wait_seconds, next_seconds in ((600, 80, 160), (601, 0, 10)):
        finished_ns = seconds * SECOND_NS
        ended: Any = SimpleNamespace(finished_ns=finished_ns)
        record.ended = ended
        assert restart_ns(record) - finished_ns == wait_seconds * SECOND_NS
        counted = copy(record)
        count_restart(counted, finished_ns)
        assert counted.back_off_ns == next_seconds * SECOND_NS


def test_a_failing_container_restarts_with_back_off():
    driver = run_of(pod_of(container("main", "exit 1")))
    assert driver.container()["restartCount"] == 1  # the first restart is immediate
    assert driver.state()["waiting"] == {
        "reason": "CrashLoopBackOff",
        "message": "back-off 10s restarting failed container=main pod=web_default(uid-web)",
    }
    assert driver.container()["lastState"]["terminated"]["exitCode"] == 1
    driver.run(9.9)
    assert driver.container()["restartCount"] == 1
    driver.run(10)
    assert driver.container()["restartCount"] == 2
    driver.run(29.9)
    assert driver.container()["restartCount"] == 2
    driver.run(30)
    assert driver.container()["restartCount"] == 3
    assert driver.status()["phase"] == "Running"


def test_a_container_that_ran_for_long_restarts_immediately():
    driver = run_of(pod_of(container("main", "sleep 700; exit 1")), 1401)
    assert driver.container()["restartCount"] == 2
    assert "running" in driver.state()


def test_init_containers_run_in_order():
    init = [container("first", "sleep 5"), container("second", "sleep 5")]
    driver = run_of(pod_of(container(), initContainers=init), 4)
    assert "running" in driver.state("first")
    assert driver.state("second") == {"waiting": {"reason": "PodInitializing"}}
    message = "containers with incomplete status: [first second]"
    assert driver.condition("Initialized") == ("False", "ContainersNotInitialized", message)
    assert driver.status()["phase"] == "Pending"
    driver.run(5)
    assert "running" in driver.state("second")
    driver.run(10)
    assert driver.condition("Initialized")[0] == "True"
    assert driver.status()["phase"] == "Running"


def test_a_failing_init_container_fails_a_pod_that_never_restarts():
    init = [container("first", "exit 1"), container("second", "true")]
    driver = run_of(pod_of(container(), initContainers=init, **NEVER))
    assert driver.status()["phase"] == "Failed"
    assert driver.state() == {"waiting": {"reason": "PodInitializing"}}
    message = "containers with incomplete status: [first second]"
    assert driver.condition("Initialized") == ("False", "ContainersNotInitialized", message)


def test_a_failing_init_container_restarts_otherwise():
    driver = run_of(pod_of(container(), initContainers=[container("first", "exit 1")]), 30)
    assert driver.container("first")["restartCount"] == 3
    assert driver.status()["phase"] == "Pending"


@pytest.mark.parametrize(
    ("image", "command", "is_job", "phase"),
    [
        pytest.param("busybox", None, False, "Succeeded", id="a shell without a command"),
        pytest.param("perl:5", ["perl", "-e", "1"], True, "Succeeded", id="a job"),
        pytest.param("pause:3", None, True, "Running", id="a server in a job"),
        pytest.param("nginx", ["perl", "-e", "1"], True, "Succeeded", id="not the server in a job"),
        pytest.param("nginx", ["perl", "-e", "1"], False, "Running", id="not the server"),
        pytest.param("perl:5", ["perl", "-e", "1"], False, "Running", id="anything else"),
    ],
)
def test_programs_that_are_not_understood(image, command, is_job, phase):
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    main = {"name": "main", "image": image} | ({"command": command} if command else {})
    driver = run_of(pod_of(main, __ownerReferences=[owner] if is_job else [], **NEVER))
    assert driver.status()["phase"] == phase


@pytest.mark.parametrize(
    ("owners", "phase"),
    [
        pytest.param([("Job", True)], "Succeeded", id="a job"),
        pytest.param([("Job", False)], "Running", id="a job that does not control it"),
        pytest.param([("ReplicaSet", True)], "Running", id="another controller"),
        pytest.param([("ReplicaSet", True), ("Job", False)], "Running", id="both, but neither"),
        pytest.param([("Other", False), ("Job", True)], "Succeeded", id="a job among others"),
    ],
)
def test_a_program_ends_in_a_pod_that_a_job_controls(owners, phase):
    references = [
        {"apiVersion": "v1", "kind": kind, "name": "o", "uid": kind, "controller": controls}
        for kind, controls in owners
    ]
    main = {"name": "main", "image": "perl:5", "command": ["perl", "-e", "1"]}
    driver = run_of(pod_of(main, __ownerReferences=references, **NEVER))
    assert driver.status()["phase"] == phase


def test_an_init_container_without_a_known_command_ends():
    driver = run_of(pod_of(container(), initContainers=[{"name": "first", "image": "own/setup"}]))
    assert driver.status()["phase"] == "Running"


def test_sidecars_start_first_and_stop_last():
    sidecar = container(
        "proxy", restartPolicy="Always", startupProbe={"httpGet": {}, "initialDelaySeconds": 7}
    )
    driver = run_of(pod_of(container("main", "sleep 20"), initContainers=[sidecar], **NEVER), 6)
    assert driver.state() == {"waiting": {"reason": "PodInitializing"}}
    assert not driver.container("proxy")["started"]
    driver.run(7)
    assert "running" in driver.state()
    assert driver.container("proxy")["ready"]
    driver.run(27)
    assert "terminated" in driver.state()
    assert driver.status()["phase"] == "Running"
    driver.run(28)
    assert driver.status()["phase"] == "Succeeded"
    assert driver.state("proxy")["terminated"]["exitCode"] == 0


def test_the_annotation_of_a_run_time_does_not_count_for_init_containers():
    init = container("init")
    annotations = {"pod-complete.stage.kwok.x-k8s.io/delay": "5s"}
    driver = run_of(pod_of(container(), initContainers=[init], __annotations=annotations, **NEVER))
    assert driver.status()["phase"] == "Running"
    driver.run(5)
    assert driver.status()["phase"] == "Succeeded"


def test_an_ephemeral_container_starts_once():
    driver = run_of(pod_of(container()))
    raw = driver.objects["default/web"].raw
    driver.put(
        pod_with_status(
            pod_of(
                container(), ephemeralContainers=[container("debug", "sleep 5")], __generation=2
            ),
            raw["status"],
        )
    )
    driver.run(0)
    assert "running" in driver.state("debug")
    assert driver.container("debug")["ready"] is False
    assert "started" not in driver.container("debug")
    driver.edit(annotations={"a": "b"})
    driver.run(100)
    assert "terminated" in driver.state("debug")
    assert driver.container("debug")["restartCount"] == 0
    assert driver.notes.count("Normal Started: Container started") == 2
    assert driver.status()["phase"] == "Running"


def test_an_ephemeral_container_starts_before_the_init_containers_have_ended():
    init, debug = container("init", "sleep 9"), container("debug", "sleep 5")
    driver = run_of(pod_of(container(), initContainers=[init], ephemeralContainers=[debug]), 1)
    assert "running" in driver.state("debug")
    assert "running" in driver.state("init")
    assert "waiting" in driver.state()


def test_a_rule_restarts_a_container_of_a_pod_that_never_restarts():
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    script = "if [ -r /data/done ]; then exit 0; else touch /data/done; exit 42; fi"
    main = container(
        "main",
        script,
        restartPolicy="Never",
        restartPolicyRules=[rule],
        volumeMounts=[{"name": "data", "mountPath": "/data"}],
    )
    driver = run_of(pod_of(main, volumes=[{"name": "data", "emptyDir": {}}], **NEVER), 10)
    assert driver.status()["phase"] == "Succeeded"
    assert driver.container()["restartCount"] == 1


@pytest.mark.parametrize(
    ("policy", "script", "message"),
    [
        ("File", "echo -n bye > /dev/termination-log", "bye"),
        ("FallbackToLogsOnError", "echo -n DONE; /bin/true", None),
        ("FallbackToLogsOnError", "echo -n DONE; /bin/false", "DONE"),
        (
            "FallbackToLogsOnError",
            "seq 100; exit 1",
            "".join(f"{each}\n" for each in range(21, 101)),
        ),
        ("FallbackToLogsOnError", "printf '%03000d' 1; exit 1", f"{1:02048d}"),
        ("File", "printf '%05000d' 1 > /dev/termination-log", f"{1:04096d}"),
        ("FallbackToLogsOnError", "echo -n a > /dev/termination-log; echo b; exit 1", "a"),
    ],
)
def test_termination_messages(policy, script, message):
    driver = run_of(pod_of(container("main", script, terminationMessagePolicy=policy), **NEVER))
    assert driver.state()["terminated"].get("message") == message


def test_a_container_that_is_killed_has_its_termination_message():
    of_file = "echo -n written > /dev/termination-log; while :; do sleep 1; done"
    of_log = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    containers = [
        container("file", of_file),
        container("log", "echo -n printed; sleep 100", **of_log),
        container("none", "sleep 100"),
    ]
    driver = run_of(
        pod_of(*containers, terminationGracePeriodSeconds=1, activeDeadlineSeconds=5), 9
    )
    found = {name: driver.state(name)["terminated"] for name in ("file", "log", "none")}
    assert {each["exitCode"] for each in found.values()} == {137}
    assert [each.get("message") for each in found.values()] == ["written", "printed", None]


def test_containers_have_equal_shares_of_the_termination_messages_of_a_pod():
    script = "printf '%05000d' 1 > /dev/termination-log"
    names = ("d", "b", "a", "c")
    driver = run_of(pod_of(*(container(name, script) for name in names), **NEVER))
    for name in names:
        assert driver.state(name)["terminated"]["message"] == f"{0:03072d}"


def test_a_status_has_the_mounts_and_the_resources_of_a_container():
    mounts = [{"name": "v", "mountPath": "/v", "subPath": "a"}]
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    for claims in ({}, {"claims": [{"name": "gpu"}]}):
        main = container(volumeMounts=mounts, resources=resources | claims)
        status = run_of(pod_of(main, volumes=[{"name": "v", "emptyDir": {}}])).container()
        assert status["volumeMounts"] == [{"name": "v", "mountPath": "/v"}]
        assert status["resources"] == resources
        assert status["allocatedResources"] == {"cpu": "1"}


def test_the_mount_of_an_image_has_the_digest_of_the_image():
    """Upstream: kubelet_pods.go, convertToAPIContainerStatuses"""
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("tagged", "pinned", "empty")]
    digest = f"sha256:{'a' * 64}"
    volumes = [
        {"name": "tagged", "image": {"reference": "tools:1"}},
        {"name": "pinned", "image": {"reference": f"tools@{digest}"}},
        {"name": "empty", "emptyDir": {}},
    ]
    driver = run_of(pod_of(container(volumeMounts=mounts), volumes=volumes))
    tagged, pinned, empty = driver.container()["volumeMounts"]
    assert pinned["volumeStatus"] == {"image": {"imageRef": digest}}
    assert tagged["volumeStatus"]["image"]["imageRef"].startswith("sha256:")
    assert empty == mounts[2]
    waiting = container(volumeMounts=mounts, envFrom=[{"configMapRef": {"name": "none"}}])
    assert run_of(pod_of(waiting, volumes=volumes)).container()["volumeMounts"] == mounts


def test_statuses_have_the_order_of_names_but_those_of_init_containers():
    """Upstream: status_manager.go, normalizeStatus"""
    inits = [container(name, "exit 0") for name in ("z", "i")]
    debug = [container(name, "sleep 9") for name in ("y", "e")]
    pod = pod_of(container("b"), container("a"), initContainers=inits, ephemeralContainers=debug)
    status = run_of(pod).status()
    fields = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    assert [[each["name"] for each in status[field]] for field in fields] == [
        ["z", "i"], ["a", "b"], ["e", "y"],
    ]  # fmt: skip


SIDE = {"restartPolicy": "Always"}


def test_a_sidecar_that_fails_does_not_hold_up_what_comes_after_a_later_init_container():
    side, setup = container("side", "sleep 1; exit 1", **SIDE), container("setup", "sleep 3")
    last = container("last", "sleep 1")
    driver = run_of(pod_of(container(), initContainers=[side, setup, last]), 2.5)
    assert driver.state("side")["waiting"]["reason"] == "CrashLoopBackOff"
    driver.run(3.5)
    assert "running" in driver.state("last")
    driver.run(4)
    assert "running" in driver.state("main")
    assert "waiting" in driver.state("side")
    driver.run(12)
    assert "running" in driver.state("side")


def test_app_containers_wait_for_the_last_sidecar_unless_one_of_them_runs():
    side = container("side", "sleep 1; exit 1", **SIDE)
    apps = [container("main", "sleep 3; exit 1"), container("other", "sleep 5; exit 1")]
    for containers, count in ((apps[:1], 0), (apps, 1)):
        driver = run_of(pod_of(*containers, initContainers=[side], restartPolicy="Always"), 3.5)
        assert driver.state("side")["waiting"]["reason"] == "CrashLoopBackOff"
        assert driver.container("main")["restartCount"] == count
        driver.run(12)
        assert driver.container("main")["restartCount"] >= 1


def test_a_sidecar_that_waits_for_its_restart_has_ended_with_its_pod():
    side = container("side", "exit 3", **SIDE)
    driver = run_of(pod_of(container("main", "sleep 4"), initContainers=[side], **NEVER), 5)
    assert driver.status()["phase"] == "Succeeded"
    assert driver.state("side")["terminated"]["exitCode"] == 3


def test_a_sidecar_that_ends_with_the_pod_is_not_started_again():
    side = container("side", "sleep 2", **SIDE)
    driver = run_of(pod_of(container("main", "sleep 2"), initContainers=[side], **NEVER), 2)
    assert driver.status()["phase"] == "Succeeded"
    assert driver.container("side")["restartCount"] == 0
    assert driver.notes.count("Normal Started: Container started") == 2


@pytest.mark.parametrize(
    ("name", "restarts", "note"),
    [
        ("main", 1, "Container main definition changed, will be restarted"),
        ("side", 1, "Init container side definition changed"),
        ("setup", 0, ""),
    ],
)
def test_another_image_restarts_app_containers_and_sidecars(name, restarts, note):
    def pod(image: str, **metadata: Any) -> Any:
        images = {name: {"image": image}}
        main = container() | images.get("main", {})
        side = container("side", **SIDE) | images.get("side", {})
        setup = container("setup", "sleep 9" if name == "setup" else "true")
        setup |= images.get("setup", {})
        return pod_of(main, initContainers=[side, setup], **metadata)

    driver = run_of(pod("nginx:1"), 1)
    status = driver.objects["default/web"].raw["status"]
    driver.put(pod_with_status(pod("httpd:2", __generation=2), status))
    driver.run(3)
    assert driver.container(name)["restartCount"] == restarts
    assert ("httpd:2" in driver.container(name)["image"]) is bool(restarts)
    killed = [each for each in driver.notes if "Killing" in each]
    assert killed == ([f"Normal Killing: {note}"] if note else [])


def test_another_image_restarts_a_sidecar_once_it_has_started():
    """Upstream: kuberuntime_container.go, computeInitContainerActions"""
    side = container("side", startupProbe={"httpGet": {}, "initialDelaySeconds": 7}, **SIDE)
    driver = run_of(pod_of(container(), initContainers=[side]), 1)
    status = driver.objects["default/web"].raw["status"]
    after = pod_of(container(), initContainers=[side | {"image": "httpd:2"}], __generation=2)
    driver.put(pod_with_status(after, status))
    driver.run(6)
    assert not any("Killing" in note for note in driver.notes)
    driver.run(20)
    assert driver.container("side")["restartCount"] == 1


def changed(driver: Any, **parts: Any) -> None:
    """Change the only container of the pod."""
    raw = driver.objects["default/web"].raw
    (main,) = raw["spec"]["containers"]
    spec = raw["spec"] | {"containers": [main | parts]}
    metadata = raw["metadata"] | {"generation": 2}
    driver.put(decode(raw | {"metadata": metadata, "spec": spec}, source="test"))


def test_another_image_restarts_a_container_of_a_pod_that_never_restarts():
    driver = run_of(pod_of(container("main", "sleep 1d"), **NEVER), 1)
    changed(driver, image="nginx:2")
    driver.run(31)
    assert driver.container()["restartCount"] == 1
    assert driver.status()["phase"] == "Running"


@pytest.mark.parametrize(
    ("parts", "restarts"),
    [
        pytest.param({"image": "nginx:2"}, 5, id="another image"),
        pytest.param({"resources": {"requests": {"cpu": "1m"}}}, 5, id="other resources"),
        pytest.param({"terminationMessagePath": "/log"}, 4, id="anything else"),
    ],
)
def test_a_changed_container_does_not_wait_for_the_back_off(parts, restarts):
    """Upstream: kuberuntime/helpers.go, GetBackoffKey"""
    driver = run_of(pod_of(container("main", "exit 1")), 80)
    assert driver.container()["restartCount"] == 4
    changed(driver, **parts)
    driver.run(79)
    assert driver.container()["restartCount"] == restarts
