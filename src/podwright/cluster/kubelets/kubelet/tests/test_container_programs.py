"""What containers, probes and hooks do with the files and variables of their pods."""

import base64
from typing import Any

import pytest

from podwright.apimachinery.objects import InputError
from podwright.cluster.kubelets import read_image_behaviors
from podwright.cluster.kubelets.kubelet.containers.process import Process, Program
from podwright.cluster.kubelets.kubelet.image_behaviors import ImageBehavior, ImageBehaviors, Run
from podwright.cluster.kubelets.kubelet.shell import Script
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import (
    NEVER,
    KubeletDriver,
    container,
    pod_of,
    pod_with_status,
)
from podwright.cluster.kubelets.kubelet.tests.shell_runs import facts
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW, SECOND

MOUNT = [{"name": "v", "mountPath": "/mnt/v"}]
CONFIG = {"name": "v", "configMap": {"name": "cfg"}}


def ended(script, *, volume=None, mount=None, labels=None, **parts):
    """Return the exit code of a container that runs a script."""
    driver = KubeletDriver()
    driver.cluster.add("ConfigMap", "cfg", data={"key": "hello", "b": "2"})
    secret = {"token": base64.b64encode(b"s3cret").decode()}
    driver.cluster.add("Secret", "sec", data=secret)
    parts |= {"volumeMounts": mount or MOUNT} if volume else {}
    spec: Any = NEVER | ({"volumes": [volume]} if volume else {}) | {"__labels": labels or {}}
    driver.put(pod_of(container("main", script, **parts), **spec))
    driver.run(20)
    state = driver.state()
    assert "terminated" in state, [note for note in driver.notes if "NotSimulated" in note]
    return state["terminated"]["exitCode"]


@pytest.mark.parametrize(
    ("volume", "script"),
    [
        ({"name": "v", "projected": {}}, '[ -z "$(ls /mnt/v)" ] && [ -d /mnt/v ]'),
        (CONFIG, '[ "$(ls /mnt/v)" = "b\nkey" ] && [ $(cat /mnt/v/key) = hello ]'),
        (CONFIG, "[ ! -e /mnt/v/none ] && ! echo x > /mnt/v/key"),
        (
            {"name": "v", "configMap": {"name": "cfg", "items": [{"key": "b", "path": "d/two"}]}},
            "cd /mnt/v/d && [ $(cat two) = 2 ] && [ -d ../d ] && [ ! -f ../key ]",
        ),
        ({"name": "v", "secret": {"secretName": "sec"}}, "[ $(cat /mnt/v/token) = s3cret ]"),
        (
            {
                "name": "v",
                "projected": {
                    "sources": [
                        {"configMap": {"name": "cfg"}},
                        {"secret": {"name": "sec", "items": [{"key": "token", "path": "t"}]}},
                        {"serviceAccountToken": {"path": "sa"}},
                    ]
                },
            },
            '[ -s /mnt/v/t ] && [ -f /mnt/v/sa ] && [ "$(ls /mnt/v)" = "b\nkey\nsa\nt" ]',
        ),
        (
            {
                "name": "v",
                "downwardAPI": {
                    "items": [
                        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
                        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
                    ]
                },
            },
            "[ $(cat /mnt/v/name) = web ] && [ $(cat /mnt/v/labels) = 'app=\"x\"' ]",
        ),
        ({"name": "v", "emptyDir": {}}, "cd /mnt/v; mkdir a; echo 1 > a/f; rm a/f; ls a; rmdir=1"),
    ],
)
def test_volumes_have_the_files_that_the_api_defines(volume, script):
    code = ended(script, volume=volume, labels={"app": "x"})
    assert code == 0


def test_a_volume_has_the_limits_of_a_container():
    limit = {"containerName": "main", "resource": "limits.memory", "divisor": "1Mi"}
    volume = {"name": "v", "downwardAPI": {"items": [{"path": "mem", "resourceFieldRef": limit}]}}
    resources = {"limits": {"memory": "3Mi"}}
    assert ended("[ $(cat /mnt/v/mem) = 3 ]", volume=volume, resources=resources) == 0


def test_a_sub_path_is_one_file():
    mount = [{"name": "v", "mountPath": "/etc/app.conf", "subPath": "key"}]
    assert ended("[ $(cat /etc/app.conf) = hello ]", volume=CONFIG, mount=mount) == 0


@pytest.mark.parametrize("script", ["cat /etc/hosts", "[ $(cat /etc/hostname) = web ]", "ls /tmp"])
def test_a_container_has_the_files_of_its_kubelet(script):
    assert ended(script) == 0


@pytest.mark.parametrize(
    ("mounts", "script"),
    [
        ([{"mountPath": "/mnt/v", "readOnly": True}], "! echo x > /mnt/v/f && [ -d /mnt/v ]"),
        (
            [{"mountPath": "/mnt"}, {"mountPath": "/mnt/v", "subPath": "sub"}],
            "echo x > /mnt/v/f && [ -f /mnt/sub/f ] && [ ! -e /mnt/f ]",
        ),
        (
            [{"mountPath": "/mnt"}, {"mountPath": "/mnt/v", "subPath": "sub"}],
            "touch /mnt/v/f && rm /mnt/v/f && [ ! -e /mnt/v/f ] && [ -d /mnt/sub ]",
        ),
        (
            [{"mountPath": "/v"}],
            'mkdir /v/a && touch /v/a/x /v/b && [ "$(ls /v/a) $(echo /v/*)" = "x /v/a /v/b" ]',
        ),
        ([{"mountPath": "/v"}], "mkdir /v/d && [ -d /v/d ] && rm -r /v/d && [ ! -e /v/d ]"),
    ],
)
def test_mounts_of_an_empty_volume(mounts, script):
    named = [{"name": "v", **each} for each in mounts]
    assert ended(script, volume={"name": "v", "emptyDir": {}}, mount=named) == 0


def test_a_script_starts_in_the_working_directory_of_its_container():
    script = "[ $(pwd) = /mnt/v ] && [ $(cat key) = hello ] && exit 3"
    assert ended(script, volume=CONFIG, workingDir="/mnt/v") == 3


def test_the_name_of_the_host_is_that_of_the_spec_or_of_the_pod():
    for spec, name in (
        ({"hostname": "db"}, "db"),
        ({}, "web"),
        ({"hostNetwork": True}, "n1"),
        ({"hostnameOverride": "a.b", "hostname": "db", "subdomain": "s"}, "a.b"),
        ({"subdomain": "s"}, "web"),
        ({"setHostnameAsFQDN": True}, "web"),
        ({"subdomain": "s", "setHostnameAsFQDN": True}, "web.s.default.svc.cluster.local"),
        ({"hostname": "x" * 62 + "-y"}, "x" * 62),
    ):
        driver = KubeletDriver()
        driver.put(
            pod_of(container("main", f"[ $(hostname)$HOSTNAME = {name}{name} ]"), **NEVER, **spec)
        )
        driver.run(1)
        assert driver.status()["phase"] == "Succeeded"


@pytest.mark.parametrize(
    ("spec", "end"),
    [
        ({}, "\tweb"),
        ({"hostname": "db", "subdomain": "s"}, "\tdb.s.default.svc.cluster.local\tdb"),
        ({"hostnameOverride": "a.b", "subdomain": "s"}, "\ta.b"),
        ({"subdomain": "s", "setHostnameAsFQDN": True}, "\tweb.s.default.svc.cluster.local\tweb"),
        (
            {"hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a", "b"]}, {"ip": "1.2.3.5"}]},
            "\tweb\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n1.2.3.5",
        ),
    ],
)
def test_the_hosts_of_a_pod(spec, end):
    """Upstream: kubelet_pods.go, managedHostsFileContent"""
    log = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    driver = KubeletDriver()
    driver.put(pod_of(container("main", "cat /etc/hosts; exit 1", **log), **NEVER, **spec))
    driver.run(1)
    assert driver.state()["terminated"]["message"] == (
        "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost"
        " ip6-loopback\nfe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes"
        f"\nfe00::2\tip6-allrouters\n{driver.status()['podIP']}{end}\n"
    )


@pytest.mark.parametrize(
    ("path", "written", "message"),
    [
        (None, "/dev/termination-log", "why"),
        ("", "/dev/termination-log", "why"),
        ("/var/tmp/end", "/var/tmp/end", "why"),
        (None, "/var/tmp/end", ""),
    ],
)
def test_the_message_of_an_end_is_in_the_file_of_the_spec(path, written, message):
    driver = KubeletDriver()
    main = container("main", f"printf why > {written}; exit 1", terminationMessagePath=path)
    driver.put(pod_of(main, **NEVER))
    driver.run(1)
    assert driver.state()["terminated"].get("message", "") == message


def test_files_outside_of_volumes_are_removed_as_others():
    """What else is in their directory is not known."""
    script = "mkdir /var/tmp/d; touch /var/tmp/f /var/tmp/d/a; rm /var/tmp/f; rm -r /var/tmp/d"
    assert ended(f"{script}; [ ! -e /var/tmp/f ] && [ ! -e /var/tmp/d ]") == 0


def test_a_read_only_file_system_refuses_writes():
    assert ended("touch /var/tmp/x", securityContext={"readOnlyRootFilesystem": True}) == 1


def test_variables_come_from_the_pod_and_from_objects():
    env = [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "cfg", "key": "key"}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "sec", "key": "token"}}},
        {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {
            "name": "D",
            "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}},
        },
        {"name": "E", "value": "$(A)-$$(A)"},
    ]
    values = "hello s3cret 2 hello-\\$$(A) 2 web"
    code = ended(
        f'[ "$A $B $D $E $P_b $HOSTNAME" = "{values}" ] && [ $C ]',
        env=env,
        envFrom=[{"prefix": "P_", "configMapRef": {"name": "cfg"}}],
        resources={"limits": {"memory": "2Mi"}},
    )
    assert code == 0


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("status.podIP", "podIP"), ("status.podIPs", "podIP"),
        ("status.hostIP", "hostIP"), ("status.hostIPs", "hostIP"),
    ],
)  # fmt: skip
def test_the_addresses_of_a_pod_are_known_before_its_status_has_them(path, field):
    driver = KubeletDriver()
    env = [{"name": "V", "valueFrom": {"fieldRef": {"fieldPath": path}}}]
    driver.put(pod_of(container("main", "echo -n $V > /dev/termination-log", env=env), **NEVER))
    driver.run(0)
    assert driver.state()["terminated"]["message"] == driver.status()[field]


def test_a_container_waits_for_a_file_of_another():
    driver = KubeletDriver()
    mounts = [{"name": "d", "mountPath": "/data"}]
    waiter = container(
        "waiter", "until [ -f /data/ok ]; do sleep 1; done; exit 7", volumeMounts=mounts
    )
    writer = container("writer", "sleep 3; touch /data/ok", volumeMounts=mounts)
    driver.put(pod_of(waiter, writer, volumes=[{"name": "d", "emptyDir": {}}], **NEVER))
    driver.run(2.5)
    assert "running" in driver.state("waiter")
    driver.run(4)
    assert driver.state("waiter")["terminated"]["exitCode"] == 7
    assert driver.status()["phase"] == "Failed"


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ({"command": ["python", "app.py"]}, 'program "python"'),
        ({"command": ["sh", "-c", "nope || exit 1"]}, 'command "nope"'),
        ({"args": ["--port=80"]}, "the program of the image with these arguments"),
        ({}, "the program of the image"),
        (
            {"command": ["sh", "-c", "sleep 1; cat /app/config"]},
            'the file "/app/config", which is not in what the pod defines',
        ),
    ],
)
def test_what_is_not_simulated_runs_until_it_is_stopped_and_says_so_once(part, what):
    driver = KubeletDriver()
    for name in ("web", "again"):
        driver.put(pod_of({"name": "main", "image": "my/app:1", **part}, name=name, **NEVER))
    driver.run(5)
    notes = [note for note in driver.notes if "NotSimulated" in note]
    assert notes == [
        f"Normal NotSimulated: Not simulated in image my/app:1: {what}; the container runs until "
        "it is stopped. See podwright up --images."
    ]
    assert driver.status()["phase"] == driver.status("default/again")["phase"] == "Running"
    driver.remove()
    driver.run(6)
    assert "default/web" not in driver.objects


def test_probes_and_hooks_that_are_not_simulated_succeed():
    probe = {"exec": {"command": ["curl", "localhost"]}}
    driver = KubeletDriver()
    driver.put(pod_of({"name": "main", "image": "nginx", "readinessProbe": probe}))
    driver.run(1)
    assert driver.container()["ready"]
    assert any("the probe or hook succeeds" in note for note in driver.notes)


def test_the_declared_end_of_what_is_not_simulated_is_reported():
    run = Run(duration="90s", exit_code=3)
    driver = KubeletDriver(images=[ImageBehavior(run=run)])
    driver.put(pod_of({"name": "main", "image": "my/app:1", "command": ["python"]}, **NEVER))
    driver.run(0)
    (note,) = [note for note in driver.notes if "NotSimulated" in note]
    assert note == (
        'Normal NotSimulated: Not simulated in image my/app:1: program "python"; the container ends'
        " after 90s with exit code 3. See podwright up --images."
    )
    driver.run(90)
    assert driver.state()["terminated"]["exitCode"] == 3


def test_a_trap_ends_a_container_before_its_grace_period_is_over():
    driver = KubeletDriver()
    driver.put(pod_of(container("main", "trap 'exit 0' TERM; while :; do sleep 2; done")))
    driver.run(5)
    driver.remove()
    driver.run(5.9)
    assert "default/web" in driver.objects
    driver.run(6)
    assert driver.objects == {}


@pytest.mark.parametrize(
    ("image", "code"),
    [
        pytest.param("debian:12", 3, id="an image without a program"),
        pytest.param(f"debian@sha256:{'0' * 64}", 3, id="the same by its digest"),
        pytest.param("my/app:1", None, id="an image that may have one"),
    ],
)
def test_arguments_alone_are_the_command_of_an_image_without_a_program(image, code):
    driver = KubeletDriver()
    part = {"name": "main", "image": image, "args": ["sh", "-c", "exit $(CODE)"]}
    driver.put(pod_of(part | {"env": [{"name": "CODE", "value": "3"}]}, **NEVER))
    driver.run(1)
    assert driver.state().get("terminated", {}).get("exitCode") == code


@pytest.mark.parametrize(
    ("grace_seconds", "ends", "code"),
    [
        pytest.param(6, "2026-01-01T00:00:10Z", 3, id="it ends before it would be killed"),
        pytest.param(2, "2026-01-01T00:00:07Z", 137, id="it is killed before its end"),
    ],
)
def test_a_deletion_does_not_prolong_what_a_program_runs(grace_seconds, ends, code):
    text = 'images: [{image: "*", run: {duration: 10s, exitCode: 3, ignoresSigterm: true}}]'
    driver: Any = KubeletDriver(images=read_image_behaviors(text, "images.yaml"))
    driver.put(pod_of(container(), **NEVER))
    driver.run(0)
    driver.heap.advance(NOW + 5 * SECOND)
    driver.delete = lambda _: None
    driver.remove(grace_seconds=grace_seconds)
    driver.run(30)
    found = driver.state()["terminated"]
    assert (found["finishedAt"], found["exitCode"]) == (ends, code)


DECLARED = """
images:
- {image: "*/job:*", run: {duration: 10s, exitCode: 3, message: done}}
- {image: "*/tool:*", command: [tool, wait], run: {ignoresSigterm: true}}
- {image: "*/tool:*", command: [tool], run: {duration: 1s}}
- {image: "*/gone:*", pullError: not found}
"""


@pytest.mark.parametrize(
    ("part", "at", "state"),
    [
        ({"image": "my/job:1"}, 9, "running"),
        ({"image": "my/job@sha256:" + "0" * 64}, 10, "terminated"),
        ({"image": "my/job:1", "command": ["sleep", "2"]}, 2, "terminated"),
        ({"image": "my/tool", "command": ["tool"], "args": ["wait"]}, 9, "running"),
        ({"image": "my/tool", "command": ["tool"]}, 1, "terminated"),
        ({"image": "my/tool", "command": ["tool"], "args": ["other"]}, 1, "terminated"),
        ({"image": "my/gone"}, 0, "waiting"),
    ],
)
def test_files_of_images_declare_what_containers_do(part, at, state):
    driver = KubeletDriver(images=read_image_behaviors(DECLARED, "images.yaml"))
    driver.put(pod_of({"name": "main", **part}, **NEVER))
    driver.run(at)
    assert list(driver.state()) == [state]
    assert not [note for note in driver.notes if "NotSimulated" in note]
    if state == "terminated" and at == 10:
        assert driver.state()["terminated"]["message"] == "done"
        assert driver.state()["terminated"]["exitCode"] == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("images: [", "images.yaml: not YAML"),
        ("images: [{image: 1}]", "images.yaml: images[0].image: must be a string"),
        ("images: [{imgae: x}]", "images[0].imgae: unknown field"),
        ("images: [{run: {duration: soon}}]", "images.yaml: images[0].run.duration: "),
        ("images: [{run: {duration: -1s}}]", "must not be negative"),
        ("kind: Pod", "images.yaml: "),
    ],
)
def test_a_wrong_file_of_images_is_an_error_with_its_place(text, message):
    with pytest.raises(InputError, match=None) as error:
        read_image_behaviors(text, "images.yaml")
    assert message in str(error.value)
    assert "\n" not in str(error.value), "on one line"


def test_a_script_that_is_far_behind_sleeps_over_the_rest():
    script = Script(["sh", "-c", "while i=$((i + 1)); do sleep 1; done"], facts())
    process = Process(0, Program(), script)
    process.advance(50 * SECOND)
    assert process.wake_ns == 51 * SECOND
    process.advance(100_000 * SECOND)
    assert process.wake_ns == 100_001 * SECOND
    process.advance(100_001 * SECOND)
    assert process.wake_ns == 100_002 * SECOND


def test_a_pod_that_is_read_without_a_sandbox_has_no_address():
    driver = KubeletDriver()
    waits = {"phase": "Pending", "startTime": "2026-01-01T00:00:00Z"}
    volumes = [{"name": "v", "secret": {"secretName": "none"}}]
    pod = pod_of(container("main", volumeMounts=MOUNT), volumes=volumes)
    driver.put(pod_with_status(pod, waits))
    driver.run(5)
    assert "podIP" not in driver.status()
    assert "waiting" in driver.state()


def test_random_numbers_of_a_container_are_its_own_and_always_the_same():
    log = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    script = "echo $RANDOM; echo $RANDOM; exit 1"
    found = []
    for _ in range(2):
        driver = KubeletDriver()
        parts = [container(name, script, **log, image="bash:5") for name in "ab"]
        driver.put(pod_of(*(part | {"command": ["bash", "-c", script]} for part in parts), **NEVER))
        driver.run(1)
        logs = [driver.state(name)["terminated"]["message"] for name in "ab"]
        found.append([int(number) for text in logs for number in text.split()])
    assert found[0] == found[1]
    assert len(set(found[0])) == 4
    assert all(0 <= number < 32_768 for number in found[0])


def test_what_is_not_simulated_is_noted_again_after_many_other_images():
    behaviors = ImageBehaviors()
    names = [f"image-{number}" for number in range(2_000)]
    assert all(behaviors.is_first(name) for name in names)
    assert not behaviors.is_first(names[-1])
    assert behaviors.is_first(names[0]), "the oldest ones are forgotten"


def random_numbers(name: str = "main") -> list[int]:
    """Return eight random numbers of a container, as a probe and its script print them."""
    log = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    command = "echo $RANDOM $RANDOM $RANDOM $RANDOM"
    probe = {"exec": {"command": ["bash", "-c", f"{command}; exit 1"]}}
    driver = KubeletDriver(images=[ImageBehavior(image="*", shell="bash")])
    main = container(name, f"{command}; sleep 1; exit 1", readinessProbe=probe, **log)
    driver.put(pod_of(main, **NEVER))
    driver.run(1)
    (failed,) = [each for each in driver.notes if "probe failed: " in each]
    message = driver.state(name)["terminated"]["message"]
    return [int(each) for text in (failed.rpartition(":")[2], message) for each in text.split()]


def test_random_numbers_have_15_bits_and_are_those_of_their_container():
    found = random_numbers()
    assert len(set(found)) == 8
    assert all(0 <= each < 1 << 15 for each in found)
    assert max(found) >= 1 << 13
    assert random_numbers() == found
    assert set(random_numbers("other")[4:]).isdisjoint(found)
