"""Probes of containers on simulated kubelets."""

import pytest

from podwright.apimachinery.objects import SECOND_NS
from podwright.cluster.kubelets.kubelet.containers.container_programs import CommandRun
from podwright.cluster.kubelets.kubelet.containers.probes import (
    ProbeResult,
    count_result,
    execute_probe,
)
from podwright.cluster.kubelets.kubelet.pod_records import ProbeRecord
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import container, pod_of, run_of


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
    probe = {"exec": {"command": ["check"]}}
    if timeout is not None:
        probe["timeoutSeconds"] = timeout
    run = CommandRun(duration_ns, 0, "", reads_files=False)
    pod = pod_of(container(livenessProbe=probe)).raw
    result = execute_probe("liveness", container(livenessProbe=probe), pod, lambda _: run)
    assert result.is_success is is_success
    assert (f"timed out after {timeout or 1}s" in result.output) is not is_success


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
    assert count_result(state, ProbeResult(is_success=True), {"periodSeconds": 3}, 7)
    assert state.next_ns is None
    assert count_result(state, ProbeResult(is_success=False), {"failureThreshold": 1}, 7)
    assert state.next_ns == 10 * SECOND_NS + 7


def test_a_liveness_probe_restarts_a_container():
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 10, "failureThreshold": 3}
    driver = run_of(pod_of(container(livenessProbe=probe), terminationGracePeriodSeconds=5), 20)
    assert "Normal Killing: Container main failed liveness probe, will be restarted" in driver.notes
    driver.run(21)
    assert driver.container()["restartCount"] == 1


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
