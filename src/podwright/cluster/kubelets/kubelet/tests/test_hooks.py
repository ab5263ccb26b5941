"""Post-start and pre-stop hooks of containers on simulated kubelets."""

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets.kubelet.containers.container_programs import CommandRun
from podwright.cluster.kubelets.kubelet.containers.probes import start_hook
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import container, pod_of, run_of
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW

NEVER = {"restartPolicy": "Never"}


@pytest.mark.parametrize(
    ("hook", "grace_seconds", "seconds"),
    [
        pytest.param({"sleep": {"seconds": 4}}, 30, 5, id="a hook before SIGTERM"),
        pytest.param({"sleep": {"seconds": 0}}, 30, 1, id="a hook that does not sleep"),
        pytest.param({"sleep": {}}, 30, 1, id="a hook that does not say how long"),
        pytest.param({"sleep": {"seconds": 9}}, 0, 2, id="for one second at least"),
        pytest.param({"sleep": {"seconds": 9}}, 5, 6, id="SIGTERM also after the grace period"),
        pytest.param({"exec": {"command": ["sleep", "2"]}}, 30, 3, id="a command"),
        pytest.param({"exec": {"command": ["sleep", "infinity"]}}, 5, 6, id="one that never ends"),
        pytest.param({"httpGet": {"port": 80}}, 30, 1, id="others end at once"),
    ],
)
def test_a_pre_stop_hook_delays_sigterm(hook, grace_seconds, seconds):
    driver = run_of(pod_of(container(lifecycle={"preStop": hook})))
    driver.remove(grace_seconds=grace_seconds)
    driver.run(seconds - 0.1)
    assert "default/web" in driver.objects
    driver.run(seconds)
    assert driver.objects == {}


def test_a_program_has_two_seconds_to_end_after_its_hook():
    hook = {"preStop": {"sleep": {"seconds": 9}}}
    driver = run_of(pod_of(container("main", "sleep 1d", lifecycle=hook)))
    driver.remove(grace_seconds=5)
    driver.run(6.9)
    assert "default/web" in driver.objects
    driver.run(7)
    assert driver.objects == {}


@pytest.mark.parametrize(("grace_seconds", "ends"), [(0, 11), (1, 12), (5, 15)])
def test_a_hook_is_not_executed_before_a_restart_without_a_grace_period(grace_seconds, ends):
    """Upstream: kuberuntime_container.go, killContainer"""
    hook = {"preStop": {"sleep": {"seconds": 4}}}
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 10, "failureThreshold": 2}
    main = container(lifecycle=hook, livenessProbe=probe)
    driver = run_of(pod_of(main, terminationGracePeriodSeconds=grace_seconds), ends - 0.1)
    assert driver.container()["restartCount"] == 0
    driver.run(ends)
    assert driver.container()["restartCount"] == 1


@pytest.mark.parametrize("names", [("main", "slow"), ("slow", "main")])
def test_a_container_runs_after_its_hook_beside_others(names):
    hook = {"lifecycle": {"postStart": {"sleep": {"seconds": 4}}}}
    containers = [container(each) | (hook if each == "slow" else {}) for each in names]
    driver = run_of(pod_of(*containers), 3.9)
    assert "running" not in driver.state("slow")
    assert ("running" in driver.state("main")) is (names[0] == "main")
    driver.run(4)
    assert ["running" in driver.state(each) for each in names] == [True, True]


def test_the_error_of_a_hook_has_its_command_and_its_output():
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "echo no; exit 3"]}}}
    run = CommandRun(0, 3, "no\n", reads_files=False)
    pod = pod_of(container(lifecycle=hook)).raw
    found = start_hook("postStart", container(lifecycle=hook), pod, lambda _: run, NOW)
    assert (found.ends_ns, found.error) == (
        NOW,
        'Exec lifecycle hook ([sh -c echo no; exit 3]) for Container "main" in Pod '
        "\"web_default(uid-web)\" failed - error: command 'sh -c echo no; exit 3' exited with 3: , "
        'message: "no\\n"',
    )


def test_a_failed_pre_stop_hook_is_reported():
    hook = {"preStop": {"exec": {"command": ["false"]}}}
    driver = run_of(pod_of(container(lifecycle=hook)))
    driver.remove()
    driver.run(1)
    assert driver.notes[-2:] == [
        "Normal Killing: Stopping container main",
        "Warning FailedPreStopHook: PreStopHook failed",
    ]
    assert driver.objects == {}


@pytest.mark.parametrize(
    "hook", [{"sleep": {"seconds": 4}}, {"exec": {"command": ["sh", "-c", "sleep 4"]}}]
)
def test_a_container_is_not_running_before_its_post_start_hook_ends(hook):
    probe = {"httpGet": {"port": 80}, "initialDelaySeconds": 2}
    first = container(lifecycle={"postStart": hook}, readinessProbe=probe)
    driver = run_of(pod_of(first, container("next")))
    driver.run(3.9)
    assert driver.status()["phase"] == "Pending"
    assert driver.state() == {"waiting": {"reason": "ContainerCreating"}}
    assert driver.notes[-1] == "Normal Started: Container started"
    assert len(driver.notes) == 4
    driver.run(4)
    assert driver.status()["phase"] == "Running"
    assert driver.state() == {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    assert driver.state("next") == {"running": {"startedAt": "2026-01-01T00:00:04Z"}}
    assert driver.container()["ready"]


def test_a_failed_post_start_hook_restarts_the_container():
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "sleep 2; exit 3"]}}}
    driver = run_of(pod_of(container(lifecycle=hook)), 2)
    assert driver.notes[-2:] == [
        "Warning FailedPostStartHook: PostStartHook failed",
        "Normal Killing: FailedPostStartHook",
    ]
    assert driver.state() == {"waiting": {"reason": "ContainerCreating"}}
    driver.run(3)
    found = driver.container()
    assert found["state"]["waiting"]["reason"] == "PostStartHookError"
    assert found["state"]["waiting"]["message"].startswith(
        'Exec lifecycle hook ([sh -c sleep 2; exit 3]) for Container "main" in Pod "web_default('
    )
    assert found["lastState"]["terminated"]["exitCode"] == 0
    assert found["restartCount"] == 0
    driver.run(6)
    assert driver.state()["waiting"]["reason"] == "CrashLoopBackOff"
    assert driver.container()["restartCount"] == 1


def test_a_pod_that_never_restarts_fails_after_its_post_start_hook():
    hook = {"postStart": {"exec": {"command": ["false"]}}}
    driver = run_of(pod_of(container("main", "sleep 1d", lifecycle=hook), **NEVER))
    driver.run(30)
    assert driver.status()["phase"] == "Failed"
    assert driver.state()["terminated"]["exitCode"] == 137


def test_a_deletion_interrupts_a_post_start_hook():
    hook = {"postStart": {"exec": {"command": ["sleep", "infinity"]}}}
    driver = run_of(pod_of(container(lifecycle=hook)), 5)
    driver.remove()
    driver.run(6)
    assert driver.notes[-2:] == [
        "Warning FailedPostStartHook: PostStartHook failed",
        "Normal Killing: Stopping container main",
    ]
    assert driver.objects == {}


def test_a_deletion_follows_a_failed_post_start_hook():
    hook = {"postStart": {"exec": {"command": ["false"]}}, "preStop": {"sleep": {"seconds": 9}}}
    driver = run_of(pod_of(container(lifecycle=hook)), 3)
    driver.remove()
    driver.run(4)
    assert (driver.container()["ready"], driver.container()["started"]) == (False, False)
    driver.run(10)
    assert driver.objects == {}
    assert [note for note in driver.notes if "Hook" in note] == [
        "Warning FailedPostStartHook: PostStartHook failed",
        "Normal Killing: FailedPostStartHook",
    ]


def test_a_pod_that_somebody_ends_during_a_hook_is_finished():
    hook = {"postStart": {"sleep": {"seconds": 9}}}
    driver = run_of(pod_of(container(lifecycle=hook)), 3)
    raw = driver.objects["default/web"].raw
    driver.put(decode(raw | {"status": raw["status"] | {"phase": "Failed"}}, source="test"))
    driver.run(20)
    assert driver.status()["phase"] == "Failed"
    assert driver.state() == {"waiting": {"reason": "ContainerCreating"}}


def test_a_post_start_hook_that_is_not_simulated_succeeds_at_once():
    hook = {"postStart": {"exec": {"command": ["curl", "localhost"]}}}
    driver = run_of(pod_of(container(lifecycle=hook)))
    assert driver.status()["phase"] == "Running"
    assert any("the probe or hook succeeds" in note for note in driver.notes)
