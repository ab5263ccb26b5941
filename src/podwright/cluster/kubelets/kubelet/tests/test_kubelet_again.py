"""What a kubelet does once more: pods of a known name, mounts that are retried, and restarts."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.kubelet.node_kubelets import Kubelet
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import (
    NEVER,
    KubeletDriver,
    container,
    pod_of,
    pod_with_status,
    run_of,
)
from podwright.cluster.kubelets.pod_statuses import container_names
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW, SECOND, a_node, a_pod, at

HALF = {"requests": {"cpu": "3"}}


def test_a_pod_of_a_known_name_with_another_uid_is_another_pod():
    """The room of the former one is free again."""
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", status={"allocatable": {"cpu": "4", "pods": "9"}})
    driver.put(pod_of(container(resources=HALF), __uid="a"))
    driver.run(5)
    before = driver.status()
    driver.heap.advance(NOW + 5 * SECOND)
    driver.put(pod_of(container(resources=HALF), __uid="b"))
    driver.run(10)
    after = driver.status()
    assert before["phase"] == after["phase"] == "Running"
    assert after["startTime"] > before["startTime"]
    driver.put(pod_of(container(resources=HALF), name="second"))
    driver.run(15)
    assert driver.status("default/second")["reason"] == "OutOfcpu"


def test_a_change_of_a_pod_does_not_mount_its_volumes_before_their_time():
    """Mounts are retried after half a second, and then after twice as long each time."""
    driver = KubeletDriver()
    volume = {"name": "data", "secret": {"secretName": "key"}}
    mounted = container(volumeMounts=[{"name": "data", "mountPath": "/data"}])
    driver.put(pod_of(mounted, volumes=[volume]))
    counts = []
    for seconds in (1, 1.4, 1.6, 3.4):
        driver.run(seconds)
        driver.edit(annotations={"at": f"{seconds}"})
        counts.append(sum("FailedMount" in note for note in driver.notes))
    assert counts == [2, 2, 3, 3]
    driver.cluster.add("Secret", "key")
    driver.edit(annotations={"at": "end"})
    driver.run(3.45)
    assert driver.state() == {"waiting": {"reason": "ContainerCreating"}}
    driver.run(3.6)
    assert "running" in driver.state()


@pytest.mark.parametrize(
    ("script", "at_s", "ended_at_s", "code"),
    [
        pytest.param("sleep 5; exit 3", 2, 5, 3, id="it ends when it would have ended"),
        pytest.param("sleep 5; exit 3", 60, 5, 3, id="it has ended meanwhile"),
        pytest.param("touch a; until [ -f b ]; do sleep 1; done", 60, None, None, id="it goes on"),
    ],
)
def test_a_script_goes_on_from_its_start_after_a_restart(script, at_s, ended_at_s, code):
    driver = run_of(pod_of(container("main", script), **NEVER), 1)
    other = KubeletDriver()
    other.heap.advance(NOW + at_s * SECOND)
    other.put(driver.objects["default/web"])
    other.run(90)
    if code is None:
        assert other.container() == driver.container()
        return
    found = other.state()["terminated"]
    assert found["exitCode"] == code
    assert found["finishedAt"] == at(ended_at_s)
    assert other.status()["phase"] == "Failed"


def test_a_kubelet_that_reads_no_objects_starts_containers_without_their_values():
    sources = [{"configMapRef": {"name": "cfg"}}, {"secretRef": {"name": "s"}}]
    env = [from_map("key", name="cfg"), {"name": "B", "value": "b"}]
    pod = pod_of(container("main", "[ $B = b ]; echo $?", env=env, envFrom=sources), **NEVER)
    result = Kubelet(Addresses()).sync(pod, NOW)
    assert result.pod.raw["status"]["phase"] == "Succeeded"


@pytest.mark.parametrize("at_s", [0.5, 60])
def test_what_is_not_simulated_is_not_reported_again_after_a_restart(at_s):
    """If the script has met it before."""
    driver = run_of(pod_of(container("main", "sleep 1; cat /etc/none; sleep 9"), **NEVER), at_s)
    other = KubeletDriver()
    other.heap.advance(NOW + int(at_s * SECOND))
    other.put(driver.objects["default/web"])
    other.run(90)
    notes = [sum("NotSimulated" in note for note in each.notes) for each in (driver, other)]
    assert notes == ([1, 0] if at_s == 60 else [0, 1])


def environment_of(*env: dict[str, Any], **parts: Any) -> tuple[Any, list[str]]:
    """Return how a container ends that compares A with a, and the events of its pod."""
    driver = KubeletDriver()
    driver.cluster.add("ConfigMap", "cfg", data={"key": "a"})
    script = '[ "$A" = a ]'
    driver.put(pod_of(container("main", script, env=[*env], **parts), **NEVER))
    driver.run(1)
    return driver.state(), driver.notes


def from_map(key: str, **source: Any) -> dict[str, Any]:
    return {"name": "A", "valueFrom": {"configMapKeyRef": {"key": key, **source}}}


@pytest.mark.parametrize(
    ("env", "code"),
    [
        pytest.param([from_map("key", name="cfg")], 0, id="of an object"),
        pytest.param(
            [from_map("none", name="cfg", optional=True)], None, id="a key that is not there"
        ),
        pytest.param([from_map("key", name="x", optional=True)], None, id="no object"),
        pytest.param(
            [{"name": "A", "value": "a"}, from_map("none", name="cfg", optional=True)],
            0,
            id="an optional key that is missing keeps the value before",
        ),
        pytest.param(
            [from_map("key", name="cfg"), {"name": "A", "value": "b"}], 1, id="the last one"
        ),
        pytest.param([{"name": "B", "value": "a"}, {"name": "A", "value": "$(B)"}], 0, id="before"),
        pytest.param([{"name": "A", "value": "$(B)"}, {"name": "B", "value": "a"}], 1, id="later"),
        pytest.param([{"name": "A"}], 1, id="no value"),
    ],
)
def test_a_variable_has_the_value_of_its_source(env, code):
    """Without one it has the value of the image, which is not known."""
    state, notes = environment_of(*env)
    assert state.get("terminated", {}).get("exitCode") == code
    assert any("NotSimulated" in note for note in notes) is (code is None)


@pytest.mark.parametrize(
    ("kind", "text"), [("configMapKeyRef", "configmap"), ("secretKeyRef", "secret")]
)
def test_a_reference_without_a_name_is_one_to_an_object_without_a_name(kind, text):
    main = container("main", env=[{"name": "A", "valueFrom": {kind: {"key": "k"}}}])
    driver = run_of(pod_of(main), 1)
    assert driver.state() == {
        "waiting": {"reason": "CreateContainerConfigError", "message": f'{text} "" not found'}
    }


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_ended_elsewhere_takes_no_room_and_is_not_rejected(phase):
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", status={"allocatable": {"cpu": "1", "pods": "9"}})
    large = container(resources={"requests": {"cpu": "1"}})
    for name in ("first", "second"):
        driver.put(pod_with_status(pod_of(large, name=name), {"phase": phase}))
        driver.run(0)
        assert driver.status(f"default/{name}") == {"phase": phase}
    driver.put(pod_of(large))
    driver.run(0)
    assert driver.status()["phase"] == "Running"
    assert not [note for note in driver.notes if "OutOf" in note]


def test_a_sync_goes_on_from_the_status_that_the_last_one_wrote():
    """Its update may come back later."""
    driver: Any = KubeletDriver()
    driver.put(pod_of(container("main", "sleep 5"), restartPolicy="Never"))
    written: list[Any] = []
    driver.put = written.append
    driver.run(10)
    conditions = {each["type"]: each for each in written[-1].raw["status"]["conditions"]}
    assert written[-1].raw["status"]["phase"] == "Succeeded"
    assert conditions["Ready"]["lastTransitionTime"] == at(5)
    assert conditions["PodScheduled"]["lastTransitionTime"] == at(0)


@pytest.mark.parametrize(
    ("env", "is_known"),
    [
        pytest.param({"name": "X", "value": "$(UNKNOWN)"}, False, id="refers to it"),
        pytest.param({"name": "X", "value": "$$(UNKNOWN)"}, True, id="escaped"),
        pytest.param({"name": "X", "value": "$(NONE)"}, True, id="a name that is not there"),
    ],
)
def test_a_value_that_depends_on_an_unknown_source_is_not_simulated(env, is_known):
    """A reference is replaced by a value, and stays if there is no such name."""
    source = {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}
    unknown = {"name": "UNKNOWN", "valueFrom": source}
    state, notes = environment_of({"name": "A", "value": "a"}, unknown, env)
    found = [note for note in notes if "NotSimulated" in note]
    if is_known:
        assert state["terminated"]["exitCode"] == 0
        assert not found
    else:
        assert "running" in state
        (note,) = found
        assert "the value of $(UNKNOWN); the container runs until it is stopped" in note


@pytest.mark.parametrize(
    ("change", "is_needed"),
    [
        pytest.param({}, False, id="none"),
        pytest.param({"labels": {"a": "b"}}, False, id="labels"),
        pytest.param({"generation": 2}, True, id="the spec"),
        pytest.param({"deletionTimestamp": "2026-01-01T00:01:00Z"}, True, id="deleted"),
        pytest.param({"deletionGracePeriodSeconds": 0}, True, id="another grace period"),
        pytest.param({"annotations": {"a": "b"}}, True, id="annotations"),
    ],
)
def test_a_pod_is_synced_again_if_what_a_sync_reads_has_changed(change, is_needed):
    kubelets = Kubelet(Addresses())
    pod = pod_of(container(), __generation=1)
    assert kubelets.needs_sync(pod)
    written = kubelets.sync(pod, NOW).pod
    assert not kubelets.needs_sync(written)
    metadata = written.raw["metadata"] | change
    changed: Any = decode(written.raw | {"metadata": metadata})
    assert kubelets.needs_sync(changed) is is_needed
    status = written.raw["status"] | {"message": "of another"}
    assert kubelets.needs_sync(pod_with_status(written, status))
    kubelets.forget(pod.key)
    assert kubelets.needs_sync(written)


@pytest.mark.parametrize(
    ("policy", "image", "is_pulled"),
    [
        ("Always", "nginx:1", (True, True)),
        ("IfNotPresent", "nginx:1", (True, False)),
        ("Never", "nginx:1", (False, False)),
        (None, "nginx:1", (True, False)),
        ("IfNotPresent", "nginx", (True, False)),
    ],
)
def test_an_image_is_pulled_by_its_policy(policy, image, is_pulled):
    driver = KubeletDriver()
    parts = {} if policy is None else {"imagePullPolicy": policy}
    present = f'Container image "{image}" already present on machine and can be accessed by the pod'
    found = []
    for name in ("first", "second"):
        driver.notes.clear()
        driver.put(pod_of(container() | {"image": image} | parts, name=name))
        driver.run(1)
        pulled = [note for note in driver.notes if note.startswith("Normal Pull")]
        has_begun = f'Normal Pulling: Pulling image "{image}"' in pulled
        assert (f"Normal Pulled: {present}" in pulled) is not has_begun
        assert len(pulled) == (2 if has_begun else 1)
        found.append(has_begun)
    assert tuple(found) == is_pulled


@pytest.mark.parametrize("is_node_gone", [False, True])
def test_the_images_of_a_node_that_is_gone_are_pulled_again(is_node_gone):
    driver = KubeletDriver()
    driver.put(a_node("n1"))
    driver.put(pod_of(container(), name="first"))
    driver.run(1)
    if is_node_gone:
        driver.delete(driver.objects["n1"])
        driver.put(a_node("n1", metadata={"uid": "another"}))
    driver.notes.clear()
    driver.put(pod_of(container(), name="second"))
    driver.run(2)
    pulls = [note for note in driver.notes if note.startswith("Normal Pulling")]
    assert len(pulls) == is_node_gone


def test_a_container_that_runs_again_is_not_completed_by_its_former_end():
    """Its liveness probe stopped it, and it ended with 0."""
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 5, "failureThreshold": 1}
    script = "trap 'exit 0' TERM; while :; do sleep 1; done"
    main = container("main", script, livenessProbe=probe)
    driver = run_of(pod_of(main, restartPolicy="OnFailure"), 1)
    assert driver.container()["lastState"]["terminated"]["exitCode"] == 0
    driver.edit(annotations={"a": "b"})
    driver.run(1.5)
    assert driver.container()["restartCount"] == 1
    assert driver.status()["phase"] == "Running"


def test_a_container_without_an_image_has_an_empty_one_in_its_status():
    driver = KubeletDriver()
    driver.put(pod_of({"name": "main"}))
    driver.run(1)
    assert driver.container()["image"] == driver.container()["imageID"] == ""
    assert driver.state()["waiting"]["reason"] == "InvalidImageName"
    assert container_names([{"name": "a"}, {"name": "b", "image": "x"}]) == (("a", ""), ("b", "x"))


def test_a_container_without_an_image_that_ran_before_a_restart_runs_on():
    status = {"name": "main", "state": {"running": {"startedAt": at(-5)}}, "ready": True}
    pod = pod_with_status(
        pod_of({"name": "main"}),
        {
            "phase": "Running",
            "podIP": "10.1.0.1",
            "startTime": at(-9),
            "containerStatuses": [status],
        },
    )
    driver = run_of(pod, 1)
    assert driver.state() == {"running": {"startedAt": at(-5)}}


def test_a_pod_without_containers_stops_no_kubelet():
    driver = KubeletDriver()
    specs: list[dict[str, Any]] = [{"containers": []}, {"containers": None}]
    for spec in specs:
        driver.put(a_pod("empty", spec=spec))
        driver.run(1)
        assert not driver.status("default/empty").get("containerStatuses")


def test_a_pod_that_its_kubelet_removed_is_not_synced_again_while_it_is_still_there():
    driver: Any = run_of(pod_of(container()))
    driver.delete = lambda _: None
    driver.remove()
    driver.run(60)
    story, notes = list(driver.story), list(driver.notes)
    assert story[-1][1:] == ("kubelet", "default/web")
    driver.edit(annotations={"a": "b"})
    driver.run(120)
    assert (driver.story, driver.notes) == (story, notes)
