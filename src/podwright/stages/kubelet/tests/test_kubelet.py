"""The life of pods on simulated kubelets."""

import pytest

from podwright.schema import decode
from podwright.simulation import World
from podwright.stages import default_stages, read_stages
from podwright.stages.kubelet.tests.kubelet_driver import KubeletDriver, container, pod_of, run_of
from podwright.stages.tests.lifecycle_driver import a_node
from podwright.testing import make_node

NEVER = {"restartPolicy": "Never"}


def test_a_pod_runs_with_everything_that_its_status_shows():
    driver = run_of(pod_of(container(resources={"requests": {"cpu": "1"}}), __generation=3))
    status = driver.status()
    assert status["phase"] == "Running"
    assert status["observedGeneration"] == 3
    assert status["hostIPs"] == [{"ip": status["hostIP"]}]
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert [entry["type"] for entry in status["conditions"]] == [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    assert all(entry["observedGeneration"] == 3 for entry in status["conditions"])
    (main,) = status["containerStatuses"]
    assert main["image"] == "docker.io/library/nginx:1"
    assert main["imageID"].startswith("docker.io/library/nginx@sha256:")
    assert main["containerID"].startswith("containerd://")
    assert main["ready"]
    assert main["started"]
    assert main["allocatedResources"] == {"cpu": "1"}
    assert main["resources"] == {"requests": {"cpu": "1"}}
    assert main["user"] == {"linux": {"uid": 0, "gid": 0, "supplementalGroups": [0]}}
    assert [note.split(":")[0] for note in driver.notes] == [
        "Normal Pulling",
        "Normal Pulled",
        "Normal Created",
        "Normal Started",
    ]


def test_pods_share_the_equal_parts_of_their_statuses():
    driver = run_of(pod_of(container()))
    driver.put(pod_of(container(), name="other"))
    driver.run(0)
    first, second = driver.status(), driver.status("default/other")
    assert first["conditions"] == second["conditions"]
    for one, other in zip(first["conditions"], second["conditions"], strict=True):
        assert one is other
    assert first["hostIPs"] is second["hostIPs"]
    (one,), (other,) = first["containerStatuses"], second["containerStatuses"]
    for name in ("state", "lastState", "user"):
        assert one[name] is other[name]
    assert one["containerID"] != other["containerID"]


def test_a_second_pod_finds_the_image_on_the_node():
    driver = run_of(pod_of(container()))
    driver.put(pod_of(container(), name="other"))
    driver.run(0)
    assert (
        'Normal Pulled: Container image "nginx:1" already present on machine and can be accessed '
        "by the pod"
    ) in driver.notes


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
        pytest.param("perl:5", ["perl", "-e", "1"], False, "Running", id="anything else"),
    ],
)
def test_programs_that_are_not_understood(image, command, is_job, phase):
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    main = {"name": "main", "image": image} | ({"command": command} if command else {})
    driver = run_of(pod_of(main, __ownerReferences=[owner] if is_job else [], **NEVER))
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


@pytest.mark.parametrize(
    ("image", "reason", "later"),
    [
        ("nginx:404", "ErrImagePull", "ImagePullBackOff"),
        ("foo:non-existent", "ErrImagePull", "ImagePullBackOff"),
        ("localhost/some-image-that-doesnt-exist", "ErrImagePull", "ImagePullBackOff"),
        ("Not An Image", "InvalidImageName", "InvalidImageName"),
    ],
)
def test_an_image_that_cannot_be_pulled_keeps_the_pod_pending(image, reason, later):
    driver = run_of(pod_of({"name": "main", "image": image}))
    assert driver.state()["waiting"]["reason"] == reason
    driver.run(5)
    assert driver.state()["waiting"]["reason"] == later
    assert driver.status()["phase"] == "Pending"
    assert f"Warning Failed: Error: {reason}" in driver.notes


def test_another_image_ends_the_wait():
    driver = run_of(pod_of({"name": "main", "image": "nginx:404"}), 3)
    driver.put(pod_of(container(), __generation=2))
    driver.run(13)
    assert driver.status()["phase"] == "Running"


def test_a_pod_waits_for_its_config_map_and_its_volumes():
    driver = KubeletDriver()
    source = {"configMapRef": {"name": "settings"}}
    driver.put(pod_of(container(envFrom=[source])))
    volume = {"name": "data", "secret": {"secretName": "key"}}
    mounts = container(volumeMounts=[{"name": "data", "mountPath": "/data"}])
    driver.put(pod_of(mounts, name="mounts", volumes=[volume]))
    driver.run(1)
    assert driver.state()["waiting"] == {
        "reason": "CreateContainerConfigError",
        "message": 'configmap "settings" not found',
    }
    assert driver.state("main", "default/mounts") == {"waiting": {"reason": "ContainerCreating"}}
    assert driver.condition("PodReadyToStartContainers", "default/mounts")[0] == "False"
    assert (
        'Warning FailedMount: MountVolume.SetUp failed for volume "data" : secret "key" not found'
    ) in driver.notes
    driver.cluster.add("ConfigMap", "settings")
    driver.cluster.add("Secret", "key")
    driver.run(20)
    assert driver.status()["phase"] == "Running"
    assert driver.status("default/mounts")["phase"] == "Running"


@pytest.mark.parametrize(
    ("image", "user", "message"),
    [
        ("httpd", None, "container has runAsNonRoot and image will run as root"),
        ("httpd", 0, "container's runAsUser breaks non-root policy"),
        ("httpd", 1000, None),
        ("example.com/own", None, None),
    ],
)
def test_non_root(image, user, message):
    context = {"runAsNonRoot": True} | ({} if user is None else {"runAsUser": user})
    driver = run_of(pod_of({"name": "main", "image": image, "securityContext": context}))
    waiting = driver.state().get("waiting") or {}
    if message is None:
        assert not waiting
    else:
        where = '(pod: "web_default(uid-web)", container: main)'
        assert waiting == {
            "reason": "CreateContainerConfigError",
            "message": f"{message} {where}",
        }


def test_a_readiness_probe_reads_a_file_that_the_container_writes():
    probe = {"exec": {"command": ["cat", "/run/ok"]}, "periodSeconds": 5, "failureThreshold": 1}
    script = "sleep 12; touch /run/ok; sleep 20; rm /run/ok; sleep 600"
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


def test_readiness_gates_are_set_by_others():
    driver = run_of(pod_of(container(), readinessGates=[{"conditionType": "example.com/gate"}]))
    message = 'corresponding condition of pod readiness gate "example.com/gate" does not exist.'
    assert driver.condition("Ready") == ("False", "ReadinessGatesNotReady", message)
    assert driver.condition("ContainersReady")[0] == "True"
    pod = driver.objects["default/web"]
    gate = {"type": "example.com/gate", "status": "True"}
    status = pod.raw["status"] | {"conditions": [*pod.raw["status"]["conditions"], gate]}
    driver.put(pod_with_status(pod, status))
    driver.run(0)
    assert driver.condition("Ready")[0] == "True"


def pod_with_status(pod, status):
    return decode(pod.raw | {"status": status}, source="test")


def test_the_deadline_of_a_pod():
    driver = run_of(pod_of(container("main", "sleep 1d"), activeDeadlineSeconds=60), 59)
    assert driver.status()["phase"] == "Running"
    driver.run(89)
    assert driver.status()["phase"] == "Running"  # the shell ignores SIGTERM
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
        pytest.param("sleep 1d", 0, 0, id="at once"),
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


def test_a_second_deletion_shortens_the_first():
    driver = run_of(pod_of(container("main", "sleep 1d")))
    driver.remove(grace_seconds=30)
    driver.run(3)
    driver.remove(grace_seconds=0)
    driver.run(3)
    assert driver.objects == {}


def test_a_pod_with_a_finalizer_is_deleted_once():
    driver = run_of(pod_of(container(), __finalizers=["example.com/keep"]))
    pod = driver.objects["default/web"]
    deletions = []
    driver.delete = lambda obj: deletions.append(obj.key)
    driver.remove()
    driver.run(100)
    assert deletions == ["default/web"]
    assert driver.status()["phase"] == "Succeeded"
    assert pod.metadata.finalizers


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
    driver.run(100)
    assert "terminated" in driver.state("debug")
    assert driver.container("debug")["restartCount"] == 0
    assert driver.status()["phase"] == "Running"


def test_another_image_restarts_a_running_container():
    driver = run_of(pod_of(container()))
    status = driver.objects["default/web"].raw["status"]
    other = {"name": "main", "image": "httpd:2"}
    driver.put(pod_with_status(pod_of(other, __generation=2), status))
    driver.run(1)
    assert driver.container()["restartCount"] == 1
    assert driver.container()["image"] == "docker.io/library/httpd:2"
    assert "Normal Killing: Container main definition changed, will be restarted" in driver.notes


@pytest.mark.parametrize(
    ("pod", "reason", "message"),
    [
        pytest.param(
            pod_of(container(resources={"requests": {"cpu": "5"}})),
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 5000, used: 1000, capacity: 4000",
            id="cpu",
        ),
        pytest.param(
            pod_of(container(ports=[{"containerPort": 80, "hostPort": 8080}])),
            "NodePorts",
            "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod "
            "ports",
            id="host port",
        ),
        pytest.param(
            pod_of(container(), nodeSelector={"disk": "ssd"}),
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
            id="node selector",
        ),
        pytest.param(
            pod_of(container(), os={"name": "windows"}),
            "PodOSNotSupported",
            "Failed to admit pod as the OS field doesn't match node OS",
            id="operating system",
        ),
    ],
)
def test_a_kubelet_rejects_what_does_not_fit_its_node(pod, reason, message):
    driver = KubeletDriver()
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
    driver.cluster.add("Node", "n1", status=status)
    first = container(
        resources={"requests": {"cpu": "1"}}, ports=[{"containerPort": 80, "hostPort": 8080}]
    )
    driver.put(pod_of(first, name="first"))
    driver.put(pod)
    driver.run(0)
    assert driver.status("default/first")["phase"] == "Running"
    found = driver.status()
    assert (found["phase"], found["reason"]) == ("Failed", reason)
    assert found["message"] == f"Pod was rejected: {message}"
    assert f"Warning {reason}: {message}" in driver.notes


def test_what_a_finished_pod_used_is_free_again():
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", status={"allocatable": {"cpu": "1", "pods": "10"}})
    large = {"requests": {"cpu": "1"}}
    driver.put(pod_of(container("main", "true", resources=large), name="first", **NEVER))
    driver.run(0)
    driver.put(pod_of(container(resources=large)))
    driver.run(0)
    assert driver.status()["phase"] == "Running"


def test_addresses_come_from_the_pod_cidr_of_the_node():
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", spec={"podCIDR": "10.9.1.0/24"})
    driver.put(pod_of(container()))
    driver.put(pod_of(container(), name="other"))
    driver.put(pod_of(container(), name="host", hostNetwork=True))
    driver.run(0)
    assert driver.status()["podIP"] == "10.9.1.2"
    assert driver.status("default/other")["podIP"] == "10.9.1.3"
    host = driver.status("default/host")
    assert host["podIP"] == host["hostIP"]


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
    ],
)
def test_termination_messages(policy, script, message):
    driver = run_of(pod_of(container("main", script, terminationMessagePolicy=policy), **NEVER))
    assert driver.state()["terminated"].get("message") == message


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
    assert sum("ResizeDeferred" in note for note in driver.notes) == 1
    driver.run(40)
    assert driver.container()["allocatedResources"] == {"cpu": "3"}
    names = [entry["type"] for entry in driver.status()["conditions"]]
    assert "PodResizePending" not in names


def test_a_resize_policy_restarts_the_container():
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    driver = run_of(pod_of(container(resources={"requests": {"cpu": "1"}}, resizePolicy=policy)))
    driver.put(resized(driver, "3", resizePolicy=policy))
    driver.run(1)
    assert driver.container()["restartCount"] == 1
    assert "Normal Killing: Container main resize requires restart" in driver.notes


STOLEN = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: stolen}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchLabels: {example.com/stolen: "true"}
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Pending]}
  delay: {durationMilliseconds: 5000}
  next:
    statusTemplate: |
      phase: Failed
      reason: Stolen
"""


def test_stages_of_users_take_precedence():
    driver = KubeletDriver(*read_stages(STOLEN, source="test"))
    stolen = pod_with_status(
        pod_of(container(), __labels={"example.com/stolen": "true"}), {"phase": "Pending"}
    )
    driver.put(stolen)
    driver.put(pod_of(container(), name="other"))
    driver.run(5)
    assert driver.status() == {"phase": "Failed", "reason": "Stolen"}
    assert driver.status("default/other")["phase"] == "Running"
    driver.remove()
    driver.run(5)
    assert list(driver.objects) == ["default/other"]


def test_built_in_stages_of_pods_are_replaced():
    driver = KubeletDriver(*default_stages())
    driver.put(pod_of(container("main", "exit 1"), **NEVER))
    driver.run(0)
    assert driver.status()["phase"] == "Failed"


def test_nodes_renew_their_leases():
    driver = KubeletDriver()
    driver.cluster.add("Namespace", "kube-node-lease")
    driver.put(a_node())
    driver.run(0)
    ((kind, key), lease) = next(iter(driver.created.items()))
    assert (kind, key) == (("coordination.k8s.io", "Lease"), "kube-node-lease/n1")
    assert lease.raw["spec"] == {
        "holderIdentity": "n1",
        "leaseDurationSeconds": 40,
        "renewTime": "2026-01-01T00:00:00.000000Z",
    }
    driver.cluster.found[kind, key] = lease
    driver.run(25)
    renewed = [at for at, user, name in driver.story if name == "kube-node-lease/n1"]
    assert renewed == [0, 10, 20]


def test_an_error_is_reported_and_becomes_an_event():
    failures = []
    driver = KubeletDriver(report_failure=lambda *failure: failures.append(failure))
    annotations = {
        "pod-complete.stage.kwok.x-k8s.io/delay": "1s",
        "pod-complete.stage.kwok.x-k8s.io/exit-code": "many",
    }
    driver.put(pod_of(container(), __annotations=annotations))
    driver.put(pod_of(container(), name="other"))
    driver.run(0)
    assert any(note.startswith("Warning StageFailed: kubelet: Pod") for note in driver.notes)
    assert [(what, key) for what, key, _ in failures] == [("stages", "default/web")]
    assert driver.status("default/other")["phase"] == "Running"


def test_a_world_with_kubelets_ends():
    world = World(has_kubelet=True)
    world.add(
        make_node("n1", cpu="4"),
        decode(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "web"},
                "spec": {
                    "containers": [container("main", "sleep 10")],
                    "initContainers": [container("first", "sleep 5")],
                    "restartPolicy": "Never",
                },
            },
            source="test",
        ),
    )
    world.run()
    assert world.pods[0].status.phase == "Succeeded"
    assert world.now_ns - world.start_ns == 15_000_000_000


def restarted(driver):
    """Return a driver that knows the pods of another one by their statuses only."""
    other = KubeletDriver()
    other.heap.advance(driver.heap.now_ns)
    for pod in list(driver.objects.values()):
        other.put(pod)
    return other


def test_pods_go_on_after_a_restart():
    driver = run_of(pod_of(container("main", "sleep 30; exit 4"), **NEVER), 10)
    started = driver.container()
    other = restarted(driver)
    other.run(29)
    assert other.container() == started
    other.run(30)
    assert other.status()["phase"] == "Failed"
    assert other.state()["terminated"]["exitCode"] == 4


def test_a_finished_pod_stays_finished_after_a_restart():
    driver = run_of(pod_of(container("main", "exit 1"), **NEVER))
    other = restarted(driver)
    other.run(600)
    assert other.status() == driver.status()
    assert other.story == []
