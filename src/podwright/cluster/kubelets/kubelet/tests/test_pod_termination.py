"""How pods end on simulated kubelets: deadlines and graceful deletion."""

from typing import Any

import pytest

from podwright.cluster.kubelets import read_stages
from podwright.cluster.kubelets.kubelet.image_behaviors import ImageBehavior
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import (
    KubeletDriver,
    container,
    pod_of,
    run_of,
)
from podwright.cluster.kubelets.pod_statuses import STOP_DELAY


def test_a_new_pod_that_is_deleted_already_is_not_rejected():
    deletion = {
        "deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30
    }  # fmt: skip
    for metadata in ({}, deletion):
        driver = KubeletDriver()
        driver.cluster.add("Node", "n1", status={"allocatable": {"cpu": "1", "pods": "10"}})
        large = container(resources={"requests": {"cpu": "2"}})
        given: dict[str, Any] = {f"__{name}": value for name, value in metadata.items()}
        driver.put(pod_of(large, **given))
        driver.run(0)
        assert any("OutOfcpu" in note for note in driver.notes) is not bool(metadata)


def test_the_deadline_of_a_pod():
    driver = run_of(pod_of(container("main", "sleep 1d"), activeDeadlineSeconds=60), 59)
    assert driver.status()["phase"] == "Running"
    assert driver.notes[-1] == "Normal Started: Container started"
    driver.run(89)
    assert driver.status()["phase"] == "Running"  # the shell ignores SIGTERM
    deadline = "DeadlineExceeded: Pod was active on the node longer than the specified deadline"
    assert driver.notes[-2:] == [f"Normal {deadline}", "Normal Killing: Stopping container main"]
    driver.run(90)
    status = driver.status()
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert status["message"] == "Pod was active on the node longer than the specified deadline"
    assert driver.state()["terminated"]["exitCode"] == 137


@pytest.mark.parametrize(
    ("script", "grace_seconds", "seconds"),
    [
        pytest.param(None, 30, 1, id="a program that handles SIGTERM"),
        pytest.param("sleep 1d", 30, 30, id="a shell is killed"),
        pytest.param("sleep 1d", 5, 5, id="with another grace period"),
        pytest.param("sleep 1d", 0, 2, id="at least two seconds"),
        pytest.param("sleep 1d", None, 2, id="without a grace period"),
        pytest.param("sleep 10", 30, 10, id="a program that ends before"),
    ],
)
def test_graceful_deletion(script, grace_seconds, seconds):
    driver = run_of(pod_of(container("main", script)))
    driver.remove(grace_seconds=grace_seconds)
    if seconds:
        driver.run(seconds - 0.1)
        assert "default/web" in driver.objects
        assert "Normal Killing: Stopping container main" in driver.notes
    driver.run(seconds)
    assert driver.objects == {}
    assert driver.story[-1] == (seconds, "kubelet", "default/web")


@pytest.mark.parametrize(
    ("main", "second", "first", "grace", "ends"),
    [
        pytest.param(None, None, None, 30, {"main": 1, "second": 2, "first": 3}, id="programs"),
        pytest.param(None, "sleep 1d", None, 30, {"main": 1, "second": 30, "first": 31},
                     id="one is killed, and the last one has the time to end"),
        pytest.param("sleep 1d", None, None, 5, {"main": 5, "second": 6, "first": 6},
                     id="after the grace period all stop at once"),
        pytest.param("sleep 1d", "sleep 1d", None, 5, {"main": 5, "second": 7, "first": 6},
                     id="for two seconds at least"),
    ],
)  # fmt: skip
def test_sidecars_stop_after_the_others_and_the_last_one_first(main, second, first, grace, ends):
    sidecars = [
        container(name, command) | {"restartPolicy": "Always"}
        for name, command in (("first", first), ("second", second))
    ]
    driver = run_of(pod_of(container("main", main), initContainers=sidecars))
    driver.remove(grace_seconds=grace)
    driver.run(0)
    found = [note.rpartition(" ")[2] for note in driver.notes if "Stopping container" in note]
    assert sorted(found) == sorted(ends), "all are reported at once"
    ended: dict[str, int] = {}
    for at in range(max(ends.values()) + 1):
        driver.run(at)
        for name in ends:
            if "default/web" not in driver.objects or "running" not in driver.state(name):
                ended.setdefault(name, at)
    assert ended == ends
    assert driver.objects == {}


def test_the_hook_of_a_sidecar_runs_while_the_others_stop():
    hook = {"lifecycle": {"preStop": {"sleep": {"seconds": 4}}}}
    sidecar = container("side") | {"restartPolicy": "Always"} | hook
    driver = run_of(pod_of(container("main", "sleep 3"), initContainers=[sidecar]))
    driver.remove(grace_seconds=30)
    driver.run(4.9)
    assert "running" in driver.state("side")
    driver.run(5)
    assert driver.objects == {}, "four seconds after the deletion, and one to end"


def test_an_init_container_that_waits_to_be_restarted_has_failed_at_the_deadline():
    inits = [container("a", "true"), container("b", "exit 3"), container("c", "true")]
    driver = run_of(pod_of(container(), initContainers=inits, activeDeadlineSeconds=60), 59)
    assert "waiting" in driver.state("b")
    driver.run(61)
    assert driver.status()["phase"] == "Failed"
    found = [next(iter(driver.state(name))) for name in ("a", "b", "c", "main")]
    assert found == ["terminated", "terminated", "waiting", "waiting"]


def test_a_pod_past_its_deadline_is_not_ready_while_it_stops():
    driver = run_of(pod_of(container("main", "sleep 1d"), activeDeadlineSeconds=60), 61)
    conditions = {each["type"]: each for each in driver.status()["conditions"]}
    found = {name: (each["status"], each.get("reason")) for name, each in conditions.items()}
    assert driver.status()["phase"] == "Running"
    assert not {"reason", "message"} & set(driver.status())
    assert found["Ready"] == found["ContainersReady"] == ("False", "PodFailed")
    assert found["PodReadyToStartContainers"] == ("True", None)


def test_a_container_of_a_deleted_pod_waits_for_nothing():
    crashing = container("other", "exit 1")
    driver = run_of(pod_of(container("main", "sleep 1d"), crashing), 1)
    assert driver.state("other")["waiting"]["reason"] == "CrashLoopBackOff"
    driver.remove()
    driver.run(1)
    assert driver.state("other")["terminated"]["exitCode"] == 1


UNKNOWN = ("terminated", 137, "ContainerStatusUnknown")
KILLED = ("terminated", 137, "Error")


@pytest.mark.parametrize(
    ("main", "inits", "states"),
    [
        pytest.param(True, [], {"main": UNKNOWN}, id="its image cannot be pulled"),
        pytest.param(False, [("a", "sleep 1d"), ("b", "true")],
                     {"a": KILLED, "b": ("waiting", None, "PodInitializing"),
                      "main": ("waiting", None, "PodInitializing")},
                     id="before it was initialized"),
        pytest.param(False, [("a", "false")],
                     {"a": ("terminated", 1, "Error"),
                      "main": ("waiting", None, "PodInitializing")},
                     id="its init container fails"),
        pytest.param(True, [("a", "true")],
                     {"a": ("terminated", 0, "Completed"), "main": UNKNOWN},
                     id="after its init containers"),
        pytest.param(True, [("a", "true"),
                            ("side", "trap 'exit 0' TERM; while :; do sleep 1; done")],
                     {"side": ("terminated", 0, "Completed"),
                      "main": ("waiting", None, "PodInitializing")},
                     id="a sidecar that has ended has not initialized it"),
        pytest.param(False, [("side", "sleep 5"), ("b", None)],
                     {"b": ("waiting", None, "PodInitializing"),
                      "main": ("waiting", None, "PodInitializing")},
                     id="before its last init container, after another has succeeded"),
    ],
)  # fmt: skip
def test_a_pod_that_is_deleted_before_it_starts_fails(main, inits, states, monkeypatch):
    driver = KubeletDriver(images=[ImageBehavior(image="*/none:*", pull_error="not found")])
    first = container(image="none:1") if main else container()
    given: Any = [
        container(name, command)
        | ({"restartPolicy": "Always"} if name == "side" else {})
        | ({"image": "none:1"} if command is None else {})
        for name, command in inits
    ]
    pod = pod_of(first, initContainers=given, __finalizers=["example.com/keep"])
    driver.put(pod)
    driver.run(20)
    monkeypatch.setattr(driver, "delete", lambda _: None)
    driver.remove(grace_seconds=5)
    driver.run(100)
    assert driver.status()["phase"] == "Failed"
    assert driver.condition("Ready") == ("False", "PodFailed", "")
    found = {}
    for name in states:
        ((state, part),) = driver.state(name).items()
        found[name] = (state, part.get("exitCode"), part["reason"])
        if part["reason"] == "ContainerStatusUnknown":
            assert (part["startedAt"], part["finishedAt"]) == (None, None)
    assert found == states


def test_a_container_that_would_end_when_it_is_killed_is_killed():
    limits: Any = {"activeDeadlineSeconds": 10, "terminationGracePeriodSeconds": 10}
    driver = run_of(pod_of(container("main", "sleep 20; exit 3"), **limits), 100)
    ended = driver.state()["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["finishedAt"]) == (
        137,
        "Error",
        "2026-01-01T00:00:20Z",
    )


def test_a_container_that_ends_before_a_shorter_grace_period_is_not_killed():
    driver = run_of(pod_of(container()))
    driver.remove(grace_seconds=30)
    driver.run(0.5)
    driver.remove(grace_seconds=10)
    driver.run(0.9)
    assert "default/web" in driver.objects
    driver.run(1)
    assert driver.objects == {}


@pytest.mark.parametrize(
    ("graces", "ended"),
    [
        pytest.param([(0, 30)], (0, "2026-01-01T00:00:20Z"), id="in its time"),
        pytest.param([(0, 30), (3, 25)], (0, "2026-01-01T00:00:20Z"), id="long enough"),
        pytest.param([(0, 30), (3, 5)], (137, "2026-01-01T00:00:08Z"), id="killed before"),
    ],
)
def test_a_container_that_would_end_after_a_shorter_grace_period_is_killed(graces, ended):
    # The kubelet is called each second.
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1}
    metadata: Any = {"__annotations": {STOP_DELAY: "20s"}, "__finalizers": ["example.com/keep"]}
    driver = run_of(pod_of(container(readinessProbe=probe), **metadata))
    driver.delete = lambda _: None
    for at, grace in graces:
        driver.run(at)
        driver.remove(grace_seconds=grace)
    driver.run(100)
    state = driver.state()["terminated"]
    assert (state["exitCode"], state["finishedAt"]) == ended


@pytest.mark.parametrize(
    ("deadline", "deletions", "ends"),
    [
        pytest.param(None, [(0, 30), (3, 0)], 5, id="two seconds at least"),
        pytest.param(None, [(0, 30), (3, 10)], 13, id="a shorter one counts from then on"),
        pytest.param(None, [(0, 30), (25, 20)], 45, id="also if it ends later than the first"),
        pytest.param(None, [(0, 30), (3, 30)], 30, id="the same one again"),
        pytest.param(None, [(0, 30), (3, 10), (5, 5)], 10, id="three"),
        pytest.param(None, [(0, 30), (3, 10), (5, 20)], 13, id="a longer one does not count"),
        pytest.param(60, [(70, 10)], 80, id="that of a deadline becomes shorter"),
        pytest.param(60, [(70, 40)], 90, id="that of a deadline stays"),
    ],
)
def test_a_grace_period_becomes_shorter_from_then_on(deadline, deletions, ends):
    """Upstream: pod_workers.go, calculateEffectiveGracePeriod"""
    spec = {} if deadline is None else {"activeDeadlineSeconds": deadline}
    # The kubelet is called each second.
    probe = {"exec": {"command": ["false"]}, "periodSeconds": 1}
    driver = run_of(pod_of(container("main", "sleep 1d", readinessProbe=probe), **spec))
    for at, grace in deletions:
        driver.run(at)
        driver.remove(grace_seconds=grace)
    driver.run(ends - 0.1)
    assert "default/web" in driver.objects
    driver.run(ends)
    assert driver.objects == {}


def test_a_shorter_grace_period_leaves_a_sidecar_its_turn():
    sidecar = container("side", "trap 'exit 0' TERM; while true; do sleep 1; done")
    driver = run_of(
        pod_of(
            container("main", "sleep 1d"),
            initContainers=[sidecar | {"restartPolicy": "Always"}],
            __finalizers=["example.com/keep"],
        )
    )
    driver.remove(grace_seconds=60)
    driver.run(3)
    driver.remove(grace_seconds=20)
    driver.run(19)
    assert "running" in driver.state("side")
    driver.delete = lambda _: None
    driver.run(40)
    codes = {name: driver.state(name)["terminated"]["exitCode"] for name in ("main", "side")}
    assert codes == {"main": 137, "side": 0}


def test_a_pod_with_a_finalizer_is_deleted_once():
    driver = run_of(pod_of(container(), __finalizers=["example.com/keep"]))
    pod = driver.objects["default/web"]
    deletions = []
    driver.delete = lambda obj: deletions.append(obj.key)
    driver.remove()
    driver.run(100)
    driver.edit(annotations={"changed": "since"})
    driver.run(200)
    assert deletions == ["default/web"]
    assert driver.status()["phase"] == "Succeeded"
    assert pod.metadata.finalizers


GONE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: gone}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .metadata.annotations.gone, operator: Exists}]}
  next: {delete: true}
"""


def test_a_pod_that_a_stage_has_removed_is_synced_no_more():
    driver: Any = KubeletDriver(*read_stages(GONE, source="gone.yaml"))
    driver.delete = lambda _: None
    driver.put(pod_of(container(), __finalizers=["example.com/keep"]))
    driver.run(1)
    before = list(driver.notes)
    driver.edit(annotations={"gone": "now"})
    driver.run(2)
    removal = driver.story[-1]
    assert removal[1:] == ("gone", "default/web")
    driver.edit(annotations={}, deletionTimestamp="2026-01-01T00:01:00Z")
    driver.run(100)
    assert driver.notes == before
    assert driver.story[-1] == removal


IGNORES = container("other", "trap '' TERM; while :; do sleep 1; done")
SIDE = container("side", "trap 'exit 0' TERM; while :; do sleep 1; done", restartPolicy="Always")


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"initContainers": [SIDE, IGNORES]}, id="an init container after it"),
        pytest.param({"initContainers": [SIDE], "ephemeralContainers": [IGNORES]}, id="ephemeral"),
    ],
)
def test_a_sidecar_waits_for_no_containers_but_those_of_the_app(spec):
    """Upstream: kuberuntime_termination_order.go, newTerminationOrdering"""
    driver = run_of(pod_of(container("main", "exit 1"), **spec), 3)
    driver.delete = lambda _: None
    driver.remove(grace_seconds=20)
    driver.run(60)
    ended = {name: driver.state(name)["terminated"] for name in ("side", "other")}
    assert [(each["exitCode"], each["finishedAt"][-3:-1]) for each in ended.values()] == [
        (0, "04"), (137, "23"),
    ]  # fmt: skip
