"""Probes of containers on simulated kubelets."""

from typing import Any

import pytest

from podwright.apimachinery.objects import SECOND_NS
from podwright.cluster.kubelets.kubelet.containers.container_programs import CommandRun
from podwright.cluster.kubelets.kubelet.containers.probes import (
    ProbeResult,
    count_result,
    execute_probe,
    new_probe,
)
from podwright.cluster.kubelets.kubelet.pod_records import ProbeRecord
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import container, pod_of, run_of
from podwright.cluster.kubelets.pod_statuses import STOP_DELAY


def test_a_readiness_probe_reads_a_file_that_the_container_writes():
    probe = {"exec": {"command": ["cat", "/var/tmp/ok"]}, "periodSeconds": 5, "failureThreshold": 1}
    script = "sleep 12; touch /var/tmp/ok; sleep 20; rm /var/tmp/ok; sleep 600"
    driver = run_of(pod_of(container("main", script, readinessProbe=probe)), 11)
    message = "containers with unready status: [main]"
    assert driver.condition("Ready") == ("False", "ContainersNotReady", message)
    driver.run(15)
    assert driver.condition("Ready")[0] == "True"
    driver.run(34)
    assert driver.condition("Ready")[0] == "True"
    driver.run(35)
    assert driver.condition("Ready")[0] == "False"
    assert "Warning Unhealthy: Readiness probe failed: " in driver.notes


@pytest.mark.parametrize(
    ("delay", "startup_delay", "ready_at"),
    [(0, 0, 20), (15, 0, 20), (33, 0, 33), (15, 30, 30), (33, 30, 33)],
)
def test_the_initial_delay_is_that_since_the_start_of_the_container(delay, startup_delay, ready_at):
    """Upstream: pkg/kubelet/prober/worker.go, doProbe"""
    startup = {
        "exec": {"command": ["cat", "/var/tmp/up"]}, "periodSeconds": 10, "failureThreshold": 9,
        "initialDelaySeconds": startup_delay,
    }  # fmt: skip
    readiness = {"exec": {"command": ["true"]}, "initialDelaySeconds": delay}
    main = container("main", "sleep 15; touch /var/tmp/up; sleep 600")
    driver = run_of(pod_of(main | {"startupProbe": startup, "readinessProbe": readiness}))
    driver.run(ready_at - 1)
    assert driver.container()["ready"] is False
    driver.run(ready_at)
    assert driver.container()["ready"] is True


@pytest.mark.parametrize(
    ("probe_type", "is_success"),
    [
        pytest.param("startup", False, id="a container that is not known to have started has not"),
        pytest.param("readiness", False, id="nor is it ready"),
        pytest.param("liveness", True, id="but it is alive"),
    ],
)
@pytest.mark.parametrize(
    ("delay", "now_seconds", "next_seconds"),
    [
        pytest.param({}, 40, 40, id="without a delay it is executed at once"),
        pytest.param({"initialDelaySeconds": 0}, 40, 40, id="a delay of 0"),
        pytest.param({"initialDelaySeconds": 9}, 40, 40, id="the delay is over"),
        pytest.param({"initialDelaySeconds": 11}, 40, 41, id="the rest of the delay"),
    ],
)
def test_a_new_probe(probe_type, is_success, delay, now_seconds, next_seconds):
    """Upstream: pkg/kubelet/prober/worker.go, newWorker"""
    probed = container(**{f"{probe_type}Probe": {"exec": {"command": ["true"]}} | delay})
    state = new_probe(probe_type, probed, 30 * SECOND_NS, now_seconds * SECOND_NS)
    assert state == ProbeRecord(next_seconds * SECOND_NS, is_success=is_success)
    assert new_probe(probe_type, container(), 0, 0) is None


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_a_probe_without_a_delay_is_executed_when_its_container_starts(kind):
    probe = {"exec": {"command": ["true"]}}
    probed = container("probed", "sleep 600", readinessProbe=probe)
    side = {"restartPolicy": "Always"} if kind == "initContainers" else {}
    spec: Any = {"containers": [container("main", "sleep 600")]}
    spec[kind] = [*spec.get(kind, []), probed | side]
    driver = run_of(pod_of(*spec.pop("containers"), **spec))
    assert driver.container("probed")["ready"] is True
    assert driver.condition("Ready")[0] == "True"


def test_a_container_that_is_stopped_is_probed_for_its_readiness_only():
    probe = {"exec": {"command": ["cat", "/var/tmp/ok"]}, "periodSeconds": 5, "failureThreshold": 1}
    script = "touch /var/tmp/ok; trap 'rm /var/tmp/ok; sleep 60' TERM; while true; do sleep 1; done"
    main = container("main", script, readinessProbe=probe, livenessProbe=probe)
    driver = run_of(pod_of(main), 5)
    assert driver.condition("Ready")[0] == "True"
    driver.remove(grace_seconds=30)
    driver.run(12)
    assert driver.condition("Ready")[0] == "False"
    assert "running" in driver.state()
    unhealthy = {each for each in driver.notes if "Unhealthy" in each}
    assert unhealthy == {"Warning Unhealthy: Readiness probe failed: "}


@pytest.mark.parametrize(
    ("timeout", "duration_ns", "is_success"),
    [
        (1, SECOND_NS, True),
        (1, SECOND_NS + 1, False),
        (3, 3 * SECOND_NS, True),
        (None, SECOND_NS, True),
        (None, 2 * SECOND_NS, False),
        (9, None, False),
    ],
)
def test_a_command_may_take_exactly_its_time(timeout, duration_ns, is_success):
    probe = {"exec": {"command": ["check", "-a"]}}
    if timeout is not None:
        probe["timeoutSeconds"] = timeout
    run = CommandRun(duration_ns, 0, "", reads_files=False)
    pod = pod_of(container(livenessProbe=probe)).raw
    result = execute_probe("liveness", container(livenessProbe=probe), pod, lambda _: run)
    assert result.is_success is is_success
    error = f'command timed out: "check -a" timed out after {timeout or 1}s'
    assert result.output == ("" if is_success else error)


@pytest.mark.parametrize(
    ("probe", "results", "states"),
    [
        pytest.param({}, "+", "+", id="one success"),
        pytest.param({}, "+--+--", "++++++", id="a success begins the count of failures again"),
        pytest.param({}, "+---", "+++-", id="three failures"),
        pytest.param({"failureThreshold": 2}, "+--+", "++-+", id="two failures"),
        pytest.param({"successThreshold": 2}, "+-++", "---+", id="two successes in a row"),
    ],
)
def test_results_count_in_a_row(probe, results, states):
    state = ProbeRecord(0, is_success=False)
    shown = ""
    for result in results:
        is_success = result == "+"
        count_result(state, ProbeResult(is_success=is_success, is_lasting=False), probe, 0)
        shown += "+" if state.is_success else "-"
    assert shown == states
    assert state.next_ns == 10 * SECOND_NS


def test_a_probe_whose_success_lasts_is_over():
    state = ProbeRecord(0, is_success=False)
    count_result(state, ProbeResult(is_success=True), {"periodSeconds": 3}, 7)
    assert (state.is_success, state.next_ns) == (True, None)
    count_result(state, ProbeResult(is_success=False), {"failureThreshold": 1}, 7)
    assert not state.is_success
    assert state.next_ns == 10 * SECOND_NS + 7


def test_a_liveness_probe_restarts_a_container():
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 10, "failureThreshold": 3}
    driver = run_of(pod_of(container(livenessProbe=probe), terminationGracePeriodSeconds=5), 20)
    assert "Normal Killing: Container main failed liveness probe, will be restarted" in driver.notes
    driver.run(21)
    assert driver.container()["restartCount"] == 1


FAILS = {"exec": {"command": ["false"]}, "periodSeconds": 5, "failureThreshold": 3}


@pytest.mark.parametrize(
    ("policy", "suffix", "restarts"),
    [
        pytest.param("Always", ", will be restarted", 1, id="always"),
        pytest.param("OnFailure", ", will be restarted", 1, id="on failure, with exit code 0 too"),
        pytest.param("Never", "", 0, id="never"),
    ],
)
def test_the_restart_policy_decides_whether_a_failed_probe_restarts(policy, suffix, restarts):
    driver = run_of(pod_of(container(livenessProbe=FAILS), restartPolicy=policy), 12)
    assert f"Normal Killing: Container main failed liveness probe{suffix}" in driver.notes
    assert driver.container()["restartCount"] == restarts


@pytest.mark.parametrize("probe_type", ["liveness", "startup"])
@pytest.mark.parametrize(("of_probe", "restarts_at"), [(None, 18), (3, 13), (20, 30)])
def test_a_probe_may_have_its_own_grace_period(probe_type, of_probe, restarts_at):
    """Upstream: kuberuntime_container.go, setTerminationGracePeriod"""
    own = {} if of_probe is None else {"terminationGracePeriodSeconds": of_probe}
    main = container("main", "sleep 1d") | {f"{probe_type}Probe": FAILS | own}
    driver = run_of(pod_of(main, terminationGracePeriodSeconds=8), restarts_at - 0.1)
    assert driver.container()["restartCount"] == 0
    driver.run(restarts_at)
    assert driver.container()["restartCount"] == 1


def test_the_rules_of_a_container_do_not_count_for_a_failed_probe():
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [137]}}
    never = {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    script = container("main", "sleep 1d") | never | {"livenessProbe": FAILS}
    driver = run_of(pod_of(script, terminationGracePeriodSeconds=5), 16)
    assert "Normal Killing: Container main failed liveness probe" in driver.notes
    assert driver.container()["restartCount"] == 1, "its exit code 137 does"


def test_restarts_after_failed_probes_wait_for_the_back_off_since_the_run_before():
    # Each run fails after 10 s and takes one to end.
    driver = run_of(pod_of(container(livenessProbe=FAILS), restartPolicy="Always"))
    for at, count in ((10.9, 0), (11, 1), (22, 2), (33, 3), (44, 3), (63.9, 3), (64, 4)):
        driver.run(at)
        assert driver.container()["restartCount"] == count, at


@pytest.mark.parametrize("probe_type", ["liveness", "startup"])
def test_a_sidecar_whose_probe_fails_is_an_init_container(probe_type):
    sidecar = container("side", restartPolicy="Always") | {f"{probe_type}Probe": FAILS}
    driver = run_of(pod_of(container(), initContainers=[sidecar]), 12)
    assert f"Normal Killing: Init container side failed {probe_type} probe" in driver.notes
    assert driver.container("side")["restartCount"] == 1


@pytest.mark.parametrize("action", ["httpGet", "tcpSocket"])
@pytest.mark.parametrize(
    ("port", "is_ready"), [("web", True), ("80", True), (80, True), ("wbe", False)]
)
def test_a_probe_of_an_unknown_port_never_succeeds(action, port, is_ready):
    probe = {action: {"port": port}, "periodSeconds": 5}
    ports = [{"name": "web", "containerPort": 80}]
    driver = run_of(pod_of(container(ports=ports, readinessProbe=probe)), 5)
    assert driver.container()["ready"] is is_ready
    note = (
        "Warning Unhealthy: Readiness probe errored and resulted in unknown state: "
        'strconv.Atoi: parsing "wbe": invalid syntax'
    )
    assert driver.notes.count(note) == (0 if is_ready else 2)


def test_a_liveness_probe_of_an_unknown_port_restarts_nothing():
    probe = {"httpGet": {"port": "wbe"}}
    driver = run_of(pod_of(container(livenessProbe=probe)), 100)
    assert driver.container()["restartCount"] == 0


@pytest.mark.parametrize(
    ("probe", "output"),
    [
        ({"httpGet": {"port": 80}}, "HTTP probe failed with statuscode: 500"),
        ({"tcpSocket": {"port": 80}}, "connection refused"),
        ({"exec": {"command": ["curl"]}}, ""),
        ({"grpc": {"port": 80}}, 'service unhealthy (responded with "NOT_SERVING")'),
    ],
)
def test_the_event_of_a_failed_probe_says_what_was_found(probe, output):
    annotations = {"podwright.dev/readiness-probe": "failure"}
    driver = run_of(pod_of(container(readinessProbe=probe), __annotations=annotations))
    assert f"Warning Unhealthy: Readiness probe failed: {output}" in driver.notes


def test_a_probe_that_reads_a_file_is_executed_in_its_period_alone():
    volumes = [{"name": "v", "emptyDir": {}}]
    mounts = [{"name": "v", "mountPath": "/mnt/v"}]
    script = "cd /mnt/v; touch f; sleep 25; rm f; sleep 20; touch f; sleep 1d"
    probe = {"exec": {"command": ["test", "-f", "/mnt/v/f"]}, "failureThreshold": 1}
    main = container("main", script, volumeMounts=mounts, readinessProbe=probe)
    driver = run_of(pod_of(main, volumes=volumes))
    found = []
    for seconds in (1, 29, 31, 49, 51):
        driver.run(seconds)
        found.append(driver.container()["ready"])
    assert found == [True, True, False, False, True]


def test_a_container_that_a_probe_restarted_is_not_restarted_again_when_it_succeeds():
    volumes = [{"name": "v", "emptyDir": {}}]
    mounts = [{"name": "v", "mountPath": "/mnt/v"}]
    script = "cd /mnt/v; [ -f again ] && exit 0; touch again; sleep 1d"
    probe = {"exec": {"command": ["false"]}, "failureThreshold": 1, "initialDelaySeconds": 5}
    main = container("main", script, volumeMounts=mounts, livenessProbe=probe)
    driver = run_of(pod_of(main, volumes=volumes, restartPolicy="OnFailure"), 600)
    assert (driver.status()["phase"], driver.container()["restartCount"]) == ("Succeeded", 1)


def test_annotations_decide_other_probes():
    driver = run_of(
        pod_of(
            container(readinessProbe={"httpGet": {"port": 80}, "periodSeconds": 5}),
            __annotations={"podwright.dev/readiness-probe": "failure"},
        )
    )
    assert driver.condition("Ready")[0] == "False"
    driver.edit(annotations={})
    driver.run(10)
    assert driver.condition("Ready")[0] == "True"
    driver.edit(annotations={"podwright.dev/readiness-probe": "failure"})
    driver.run(30)
    assert driver.condition("Ready")[0] == "False"


def test_a_port_that_is_no_port_of_the_container_is_an_error_and_no_failure():
    """Upstream: pkg/probe/util.go, ResolveContainerPort"""
    ports = [{"name": "web", "containerPort": 80}]
    for port, error in (("web", ""), ("80", ""), (80, ""), ("none", "none"), ("8o", "8o")):
        probe = container(readinessProbe={"httpGet": {"port": port}}, ports=ports)
        found = execute_probe("readiness", probe, {"metadata": {}}, lambda _: None)
        text = f'strconv.Atoi: parsing "{error}": invalid syntax' if error else ""
        assert found == ProbeResult(is_success=not error, error=text)


def test_a_container_that_succeeded_is_not_restarted_after_a_wait_for_the_back_off():
    """Upstream: kuberuntime_manager.go, computePodActions: its probe counts at once only."""
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}
    script = "trap 'exit 0' TERM; while :; do sleep 1; done"
    main = container("main", script, livenessProbe=probe)
    driver = run_of(pod_of(main, restartPolicy="OnFailure"), 600)
    assert driver.status()["phase"] == "Succeeded"
    assert driver.container()["restartCount"] == 2, "at once after the first two runs"


def test_a_command_with_very_many_steps_takes_longer_than_any_probe():
    command = ["sh", "-c", "while i=$((i + 1)); do sleep 0.001; done"]
    probe = {"exec": {"command": command}, "failureThreshold": 1, "timeoutSeconds": 1_000_000}
    driver = run_of(pod_of(container(readinessProbe=probe)), 1)
    assert driver.container()["ready"] is False
    assert any("Readiness probe" in note for note in driver.notes)


def test_the_delay_before_a_stop_is_that_of_pods_that_are_removed():
    """A container that is restarted has the time of its program."""
    main = container("main", "sleep 1d", livenessProbe=FAILS)
    driver = run_of(pod_of(main, __annotations={STOP_DELAY: "3s"}, terminationGracePeriodSeconds=8))
    driver.run(17.9)
    assert driver.container()["restartCount"] == 0
    driver.run(18)
    assert driver.container()["restartCount"] == 1
    driver.remove(grace_seconds=8)
    driver.run(20.9)
    assert "running" in driver.state()
    driver.run(21)
    assert not driver.objects
