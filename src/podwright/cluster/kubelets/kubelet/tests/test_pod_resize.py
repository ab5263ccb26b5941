"""Resizes of running pods on simulated kubelets."""

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import (
    NEVER,
    KubeletDriver,
    container,
    pod_of,
    pod_with_status,
    run_of,
)


def resized(driver, cpu, **parts):
    """Return the pod with another request of cpu."""
    status = driver.objects["default/web"].raw["status"]
    resources = {"requests": {"cpu": cpu}}
    return pod_with_status(pod_of(container(resources=resources, **parts), __generation=2), status)


def test_a_resize_changes_what_is_allocated():
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", status={"allocatable": {"cpu": "4", "pods": "10"}})
    driver.put(pod_of(container(resources={"requests": {"cpu": "1"}})))
    driver.run(0)
    driver.put(resized(driver, "3"))
    driver.run(0)
    main = driver.container()
    assert main["allocatedResources"] == main["resources"]["requests"] == {"cpu": "3"}
    assert main["restartCount"] == 0
    summary = '{"containers":[{"name":"main","resources":{"requests":{"cpu":"3"}}}],"generation":2}'
    assert driver.notes[-2:] == [
        f"Normal ResizeStarted: Pod resize started: {summary}",
        f"Normal ResizeCompleted: Pod resize completed: {summary}",
    ]


def test_a_resize_that_does_not_fit_is_deferred():
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", status={"allocatable": {"cpu": "4", "pods": "10"}})
    large = {"requests": {"cpu": "2"}}
    driver.put(pod_of(container("main", "sleep 25", resources=large), name="first", **NEVER))
    driver.put(pod_of(container(resources={"requests": {"cpu": "1"}})))
    driver.run(0)
    driver.put(resized(driver, "3"))
    driver.run(20)
    message = "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
    assert driver.condition("PodResizePending") == ("True", "Deferred", message)
    assert driver.container()["allocatedResources"] == {"cpu": "1"}
    (note,) = [each for each in driver.notes if "ResizeDeferred" in each]
    summary = '{"containers":[{"name":"main","resources":{"requests":{"cpu":"3"}}}],"generation":2,'
    assert note == f'Warning ResizeDeferred: Pod resize OutOfcpu: {summary}"error":"{message}"}}'
    # It is tried every ten seconds; the end of the other pod does not wake it.
    driver.run(29.999_999_999)
    assert driver.container()["allocatedResources"] == {"cpu": "1"}
    driver.run(30)
    assert driver.container()["allocatedResources"] == {"cpu": "3"}
    names = [entry["type"] for entry in driver.status()["conditions"]]
    assert "PodResizePending" not in names


def test_a_pod_without_a_generation_is_resized():
    pods = [pod_of(container(resources={"requests": {"cpu": cpu}})) for cpu in "12"]
    driver = run_of(pods[0])
    driver.put(pod_with_status(pods[1], driver.status()))
    driver.edit(annotations={"a": "b"})
    driver.run(1)
    assert driver.container()["allocatedResources"] == {"cpu": "2"}
    assert driver.notes[-1].endswith('"generation":0}')


def test_a_resize_ends_the_back_off_of_a_container_that_does_not_run():
    """Upstream: kuberuntime/helpers.go, GetBackoffKey"""
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    requests = {"requests": {"cpu": "1"}}
    driver = run_of(
        pod_of(container(command="exit 1", resources=requests, resizePolicy=policy)), 15
    )
    count = driver.container()["restartCount"]
    assert "waiting" in driver.state()
    driver.put(resized(driver, "3", command="exit 1", resizePolicy=policy))
    driver.run(16)
    assert driver.container()["restartCount"] == count + 1
    assert not any("resize requires restart" in note for note in driver.notes)


@pytest.mark.parametrize("restart_policy", ["Always", "OnFailure"])
def test_a_resize_policy_restarts_the_container(restart_policy):
    """The container ends with 0, which by itself restarts none on failure."""
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    requests = {"requests": {"cpu": "1"}}
    pod = pod_of(container(resources=requests, resizePolicy=policy), restartPolicy=restart_policy)
    driver = run_of(pod)
    larger = resized(driver, "3", resizePolicy=policy)
    driver.put(
        decode(larger.raw | {"spec": larger.raw["spec"] | {"restartPolicy": restart_policy}})
    )
    driver.run(1)
    assert driver.container()["restartCount"] == 1
    assert "Normal Killing: Container main resize requires restart" in driver.notes


def test_a_resize_policy_of_another_resource_restarts_nothing():
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    amounts = {"cpu": "1", "memory": "1Gi"}
    pods = [
        pod_of(
            container(
                resources={"requests": amounts | cpu, "limits": amounts}, resizePolicy=policy
            ),
            __generation=generation,
        )
        for generation, cpu in ((1, {}), (2, {"cpu": "500m"}))
    ]
    driver = run_of(pods[0])
    driver.put(pod_with_status(pods[1], driver.status()))
    driver.run(1)
    assert driver.container()["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert driver.container()["restartCount"] == 0


def test_a_first_request_is_a_change_of_it():
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    driver = run_of(pod_of(container(resizePolicy=policy)))
    driver.put(resized(driver, "3", resizePolicy=policy))
    driver.run(1)
    assert driver.container()["restartCount"] == 1
    assert driver.container()["allocatedResources"] == {"cpu": "3"}
