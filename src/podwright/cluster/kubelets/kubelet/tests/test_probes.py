"""Probes of containers on simulated kubelets."""

import pytest

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
