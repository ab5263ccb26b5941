"""The life of pods on simulated kubelets."""

from ipaddress import ip_address
from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api import PatchObject
from podwright.cluster.kubelets import ImageBehavior, default_stages, read_stages
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.kubelet import NodeLeases
from podwright.cluster.kubelets.kubelet.image_behaviors import ImageBehaviors
from podwright.cluster.kubelets.kubelet.kubelet_node import KubeletNode
from podwright.cluster.kubelets.kubelet.pod_records import has_all_statuses
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import (
    NEVER,
    KubeletDriver,
    container,
    pod_of,
    pod_with_status,
    run_of,
)
from podwright.cluster.kubelets.tests.lifecycle_driver import a_node, at
from podwright.simulation.world import World
from podwright.testing import make_node


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


def test_the_whole_status_of_a_pod_while_it_runs_and_when_it_has_ended():
    user = {"linux": {"uid": 0, "gid": 0, "supplementalGroups": [0]}}
    mount = {"name": "v", "mountPath": "/v", "readOnly": True}
    requests, limits = {"cpu": "1"}, {"cpu": "2"}
    parts = {"resources": {"requests": requests, "limits": limits}, "volumeMounts": [mount]}
    inits = [container("init", "exit 0"), container("side", "sleep 1d", restartPolicy="Always")]
    driver: Any = KubeletDriver()
    driver.put(
        pod_of(
            container("main", "sleep 1d", **parts, securityContext={"runAsUser": 5}),
            initContainers=inits,
            volumes=[{"name": "v", "emptyDir": {}}],
            __generation=2,
        )
    )
    driver.run(3)
    running = {"running": {"startedAt": at(0)}}
    ids = {name: driver.container(name)["containerID"] for name in ("init", "side", "main")}
    assert len(set(ids.values())) == 3
    images = {name: driver.container()[name] for name in ("image", "imageID")}
    assert images["image"] == "docker.io/library/nginx:1"
    assert images["imageID"].startswith("docker.io/library/nginx@sha256:")

    def condition(name, status="True", since=0, **reason):
        return {
            "type": name, "status": status, "lastProbeTime": None, "observedGeneration": 2,
            "lastTransitionTime": at(since), **reason,
        }  # fmt: skip

    def ended(name, code, reason, seconds):
        return {
            "terminated": {
                "exitCode": code, "reason": reason, "startedAt": at(0), "finishedAt": at(seconds),
                "containerID": ids[name],
            }
        }  # fmt: skip

    def one(name, state, *, is_ready=True, is_started=True, **more):
        return {
            "name": name, "state": state, "lastState": {}, "ready": is_ready, "restartCount": 0,
            **images, "containerID": ids[name], "started": is_started, "resources": {},
            "user": user, **more,
        }  # fmt: skip

    of_main = {
        "allocatedResources": requests, "resources": {"requests": requests, "limits": limits},
        "volumeMounts": [mount | {"recursiveReadOnly": "Disabled"}],
        "user": {"linux": {"uid": 5, "gid": 0, "supplementalGroups": [0]}},
    }  # fmt: skip
    init = one("init", ended("init", 0, "Completed", 0), is_started=False)
    while_running = {
        "phase": "Running", "observedGeneration": 2,
        "conditions": [
            condition("PodReadyToStartContainers"), condition("Initialized"), condition("Ready"),
            condition("ContainersReady"), condition("PodScheduled"),
        ],
        "hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}],
        "podIP": "10.64.0.1", "podIPs": [{"ip": "10.64.0.1"}], "startTime": at(0),
        "initContainerStatuses": [init, one("side", running)],
        "containerStatuses": [one("main", running, **of_main)],
    }  # fmt: skip
    assert driver.status() == while_running
    driver.delete = lambda _: None
    driver.remove()
    driver.run(60)
    stopped = {"is_ready": False, "is_started": False}
    failed = {"status": "False", "since": 30, "reason": "PodFailed"}
    assert driver.status() == while_running | {
        "phase": "Failed",
        "conditions": [
            condition("PodReadyToStartContainers", "False", 32), condition("Initialized"),
            condition("Ready", **failed), condition("ContainersReady", **failed),
            condition("PodScheduled"),
        ],
        "initContainerStatuses": [
            init, one("side", ended("side", 137, "Error", 32), **stopped),
        ],
        "containerStatuses": [one("main", ended("main", 137, "Error", 30), **stopped, **of_main)],
    }  # fmt: skip


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


@pytest.mark.parametrize("policy", ["IfNotPresent", "Never"])
def test_a_second_pod_finds_the_image_on_the_node(policy):
    driver = run_of(pod_of(container()))
    driver.put(pod_of(container(imagePullPolicy=policy), name="other"))
    driver.run(0)
    assert (
        'Normal Pulled: Container image "nginx:1" already present on machine and can be accessed '
        "by the pod"
    ) in driver.notes


@pytest.mark.parametrize(
    ("image", "reason", "later"),
    [
        ("none", "ErrImagePull", "ImagePullBackOff"),
        ("Not An Image", "InvalidImageName", "InvalidImageName"),
    ],
)
def test_an_image_that_cannot_be_pulled_keeps_the_pod_pending(image, reason, later):
    entry = ImageBehavior(image="*/none:*", pull_error="not found")
    driver = KubeletDriver(images=[entry])
    driver.put(pod_of({"name": "main", "image": image}))
    driver.run(0)
    assert driver.state()["waiting"]["reason"] == reason
    assert (driver.container()["image"], driver.container()["imageID"]) == (image, "")
    driver.run(1.9)
    assert driver.state()["waiting"]["reason"] == reason
    driver.run(2)
    assert driver.state()["waiting"]["reason"] == later
    assert driver.status()["phase"] == "Pending"
    assert f"Warning Failed: Error: {reason}" in driver.notes


PULLING = 'Normal Pulling: Pulling image "{}"'
FAILED = "Warning Failed: Error: {}"
NON_ROOT = {"securityContext": {"runAsNonRoot": True, "runAsUser": 0}}


@pytest.mark.parametrize(
    ("parts", "notes"),
    [
        pytest.param(
            {"image": "none:1"},
            [
                PULLING.format("none:1"),
                'Warning Failed: Failed to pull image "none:1": not found',
                FAILED.format("ErrImagePull"),
                'Normal BackOff: Back-off pulling image "none:1"',
                FAILED.format("ImagePullBackOff"),
            ],
            id="its image cannot be pulled",
        ),
        pytest.param(
            {"image": "none:1", "imagePullPolicy": "Never"},
            [
                'Warning ErrImageNeverPull: Container image "none:1" is not present with pull '
                "policy of Never",
                FAILED.format("ErrImageNeverPull"),
            ],
            id="its image is not to be pulled",
        ),
        pytest.param(
            {"image": "a:1", "imagePullPolicy": "Never"} | NON_ROOT,
            [
                'Normal Pulled: Container image "a:1" already present on machine and can be '
                "accessed by the pod",
                FAILED.format(
                    "container's runAsUser breaks non-root policy (pod: "
                    '"web_default(uid-web)", container: main)'
                ),
            ],
            id="its user is root",
        ),
    ],
)
def test_the_events_of_a_container_that_cannot_be_created(parts, notes):
    """Upstream: pkg/kubelet/images/image_manager.go, EnsureImageExists"""
    driver = KubeletDriver(images=[ImageBehavior(image="*/none:*", pull_error="not found")])
    driver.put(pod_of(container() | parts))
    driver.run(9)
    assert driver.notes == notes


def test_a_wrong_name_of_an_image_is_reported_until_it_is_another_one():
    driver = KubeletDriver()
    driver.put(pod_of({"name": "main", "image": "Not An Image"}))
    driver.run(30)
    text = (
        'Failed to apply default image tag "Not An Image": couldn\'t parse image name '
        '"Not An Image": invalid reference format'
    )
    assert driver.state()["waiting"] == {"reason": "InvalidImageName", "message": text}
    reported = [f"Warning InspectFailed: {text}", "Warning Failed: Error: InvalidImageName"]
    assert [each for each in driver.notes if each.startswith("Warning")][:2] == reported
    assert {each for each in driver.notes if each.startswith("Warning")} == set(reported)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"image": "Not a name"}, "InvalidImageName"),
        ({"imagePullPolicy": "Never", "image": "none:1"}, "ErrImageNeverPull"),
    ],
)
def test_what_a_container_waits_for_is_reported_once(parts, reason):
    driver = KubeletDriver(images=[ImageBehavior(image="*/none:*", pull_error="not found")])
    driver.put(pod_of(container() | parts))
    driver.run(1)
    before = list(driver.notes)
    assert sum(reason in note for note in before) > 0
    driver.edit(annotations={"a": "b"})
    driver.run(2)
    assert driver.state()["waiting"]["reason"] == reason
    assert driver.notes == before


@pytest.mark.parametrize(
    ("pattern", "image", "is_missing"),
    [
        ("docker.io/library/x:*", "x@sha256:" + "0" * 64, True),
        ("x:*", "x@sha256:" + "0" * 64, False),
        ("x:1", "x:1", True),
        ("docker.io/library/x:1", "x:1", True),
        ("docker.io/library/x:latest", "x", True),
        ("docker.io/x:1", "x:1", False),
    ],
)
def test_an_image_is_declared_by_its_name_in_the_pod_or_in_full(pattern, image, is_missing):
    driver = KubeletDriver(images=[ImageBehavior(image=pattern, pull_error="not found")])
    driver.put(pod_of(container(image=image)))
    driver.run(1)
    assert ("waiting" in driver.state()) is is_missing


def test_another_image_ends_the_wait():
    driver = KubeletDriver(images=[ImageBehavior(image="*:404", pull_error="not found")])
    driver.put(pod_of({"name": "main", "image": "nginx:404"}))
    driver.run(3)
    assert driver.status()["phase"] == "Pending"
    driver.put(pod_of(container(), __generation=2))
    driver.run(13)
    assert driver.status()["phase"] == "Running"


def test_the_back_off_of_pulls_begins_anew_after_a_pull():
    driver = KubeletDriver(images=[ImageBehavior(image="*:404", pull_error="not found")])
    missing, there = pod_of(container(image="nginx:404")), pod_of(container())
    generations = iter(range(2, 9))
    for seconds, pod in ((0, missing), (50, there), (70, missing)):
        driver.run(seconds)
        raw = pod.raw | {"status": driver.status() if seconds else {}}
        raw["metadata"] = raw["metadata"] | {"generation": next(generations)}
        driver.put(decode(raw, source="test"))
    failed = 'Warning Failed: Failed to pull image "nginx:404": not found'
    counts = {}
    for seconds in (71, 79, 81, 99, 101):
        driver.run(seconds)
        counts[seconds] = driver.notes.count(failed)
    assert counts == {71: 4, 79: 4, 81: 5, 99: 5, 101: 6}


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


def test_a_pod_that_was_admitted_before_a_restart_is_not_rejected():
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", status={"allocatable": {"cpu": "1", "pods": "9"}})
    pod = pod_of(container(resources={"requests": {"cpu": "2"}}))
    status = {"phase": "Pending", "startTime": "2026-01-01T00:00:00Z"}
    driver.put(pod_with_status(pod, status))
    driver.run(1)
    assert driver.status()["phase"] == "Running"


def test_a_pod_of_a_dump_keeps_its_status_and_leaves_its_room():
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", status={"allocatable": {"cpu": "1", "pods": "9"}})
    half = {"requests": {"cpu": "600m"}}
    script = container("main", "sleep 30; exit 0", resources=half, image="mirror/tool:1")
    pod = pod_of(script, **NEVER)
    first = run_of(pod, 1)
    (status,) = first.status()["containerStatuses"]
    kept = first.status() | {"containerStatuses": [status | {"image": "another/name:2"}]}
    driver.put(pod_with_status(pod, kept))
    driver.run(20)
    assert driver.status() == kept
    driver.run(40)
    assert driver.status()["phase"] == "Succeeded"
    driver.put(pod_of(container(resources=half), name="next"))
    driver.run(41)
    assert driver.status("default/next")["phase"] == "Running"


@pytest.mark.parametrize("is_host", [False, True])
def test_a_pod_that_runs_without_an_address_gets_one(is_host):
    driver = KubeletDriver()
    driver.put(pod_with_status(pod_of(container(), hostNetwork=is_host), {"phase": "Running"}))
    driver.run(1)
    status = driver.status()
    assert ip_address(status["podIP"]).version == 4
    assert (status["podIP"] == status["hostIP"]) is is_host


def test_what_a_finished_pod_used_is_free_again():
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", status={"allocatable": {"cpu": "1", "pods": "10"}})
    large = {"requests": {"cpu": "1"}}
    driver.put(pod_of(container("main", "true", resources=large), name="first", **NEVER))
    driver.run(0)
    driver.put(pod_of(container(resources=large)))
    driver.run(0)
    assert driver.status()["phase"] == "Running"


def test_what_a_pod_used_that_is_gone_is_free_again():
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", status={"allocatable": {"cpu": "1", "pods": "10"}})
    large = {"requests": {"cpu": "1"}}
    driver.put(pod_of(container(resources=large), name="first"))
    driver.run(0)
    # It is deleted without a grace period, by another than its kubelet.
    driver.delete(driver.objects["default/first"])
    driver.put(pod_of(container(resources=large)))
    driver.run(0)
    assert driver.status()["phase"] == "Running"


@pytest.mark.parametrize(
    ("cidr", "addresses"),
    [
        pytest.param("10.9.1.0/30", ["10.9.1.2", "10.9.1.2"], id="not that of the broadcast"),
        pytest.param("10.9.1.9/30", ["10.9.1.10", "10.9.1.10"], id="of the network of an address"),
        pytest.param("10.9.1.0/31", ["10.9.1.1", "10.9.1.1"], id="two"),
        pytest.param("10.9.1.7/32", ["10.9.1.7", "10.9.1.7"], id="one"),
    ],
)
def test_pods_share_an_address_where_the_pod_cidr_has_no_other(cidr, addresses):
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", spec={"podCIDR": cidr})
    for name in "ab":
        driver.put(pod_of(container(), name=name))
    driver.run(0)
    assert [driver.status(f"default/{name}")["podIP"] for name in "ab"] == addresses


def test_a_pod_gets_the_address_that_a_stage_has_assigned():
    addresses = Addresses()
    addresses.of_pod("uid-other")
    given = addresses.of_pod("uid-web")
    node = KubeletNode("n1", addresses, None, ImageBehaviors(()))
    assert node.new_pod_address(pod_of(container())) == given
    assert node.new_pod_address(pod_of(container(), name="next")) == "10.64.0.3"


def test_a_pod_may_be_gone_before_its_kubelet_knows_it_and_after_its_node():
    driver = KubeletDriver()
    driver.put(pod_of(container()))
    driver.delete(driver.objects["default/web"])
    driver.put(pod_of(container()))
    driver.run(0)
    driver.put(a_node("n1"))
    driver.delete(driver.objects["n1"])
    driver.delete(driver.objects["default/web"])
    driver.run(1)
    assert driver.objects == {}


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


def test_an_address_of_the_pod_cidr_has_one_pod_at_a_time():
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", spec={"podCIDR": "10.9.1.0/29"})
    kept = pod_of(container(), name="kept")
    driver.put(pod_with_status(kept, {"phase": "Running", "podIP": "10.9.1.3"}))
    names = ("a", "b", "c", "d")
    for name in names:
        driver.put(pod_of(container("main", "sleep infinity"), name=name))
    driver.run(0)
    found = [driver.status(f"default/{name}")["podIP"] for name in names]
    assert found == ["10.9.1.2", "10.9.1.4", "10.9.1.5", "10.9.1.6"]
    driver.remove("default/c", grace_seconds=0)
    driver.run(2)
    driver.put(pod_of(container(), name="next"))
    driver.run(3)
    assert driver.status("default/next")["podIP"] == "10.9.1.5"


@pytest.mark.parametrize(
    ("change", "has_all"),
    [
        pytest.param({}, True, id="as a kubelet writes it"),
        pytest.param({"phase": "Pending"}, False, id="not running"),
        pytest.param({"podIP": ""}, False, id="without an address"),
        pytest.param({"startTime": None}, False, id="without a start"),
        pytest.param({"containerStatuses": []}, False, id="without its containers"),
        pytest.param({"initContainerStatuses": []}, False, id="without its init containers"),
    ],
)
def test_a_running_pod_has_all_statuses_that_a_kubelet_writes(change, has_all):
    driver = run_of(pod_of(container(), initContainers=[container("init", "true")]), 5)
    status = driver.status() | change
    pod = {**driver.objects["default/web"].raw}
    pod["status"] = {name: value for name, value in status.items() if value is not None}
    assert has_all_statuses(pod) is has_all


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
    driver.run(30)
    first, second, *others = [at for at, _, name in driver.story if name == "kube-node-lease/n1"]
    assert first == 0
    assert 0 < second <= 10
    assert others == pytest.approx([second + 10, second + 20])
    again = NodeLeases(driver.cluster).renew(a_node(), driver.heap.now_ns).requests
    assert [type(request) for request in again] == [PatchObject]


def test_nodes_that_are_created_together_renew_at_different_times():
    driver = KubeletDriver()
    driver.cluster.add("Namespace", "kube-node-lease")
    for number in range(100):
        name = f"node-{number}"
        driver.put(a_node(name))
        driver.cluster.add(
            "Lease", name, group="coordination.k8s.io", metadata={"namespace": "kube-node-lease"}
        )
    driver.run(10)
    times = [at for at, _, name in driver.story if name.startswith("kube-node-lease/") and at]
    assert len(times) == 100
    # The kubelets of each second of the interval are about a tenth of all.
    assert all(len([at for at in times if second < at <= second + 1]) < 25 for second in range(10))


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


def test_a_startup_probe_goes_on_after_a_restart():
    probe = {"exec": {"command": ["cat", "/var/tmp/up"]}, "periodSeconds": 5,
             "failureThreshold": 9}  # fmt: skip
    main = container("main", "sleep 22; touch /var/tmp/up; sleep 600", startupProbe=probe)
    driver = run_of(pod_of(main), 10)
    assert driver.container()["started"] is False
    other = restarted(driver)
    other.run(24)
    assert other.container()["started"] is False, "until the next probe"
    other.run(25)
    assert (other.container()["started"], other.container()["ready"]) == (True, True)


def test_a_finished_pod_stays_finished_after_a_restart():
    driver = run_of(pod_of(container("main", "exit 1"), **NEVER))
    other = restarted(driver)
    other.run(600)
    assert other.status() == driver.status()
    assert other.story == []
