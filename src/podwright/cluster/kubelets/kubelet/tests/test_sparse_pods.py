"""What a kubelet makes of a pod that lacks one of its optional fields, for each of many fields."""

from __future__ import annotations

import copy
import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import KubeletDriver, container, pod_of

TEXT = Path(__file__).with_name("sparse_pods.txt")
PROBE: dict[str, Any] = {
    "exec": {"command": ["cat", "/etc/config/key"]}, "initialDelaySeconds": 1, "periodSeconds": 2,
    "timeoutSeconds": 1, "failureThreshold": 2, "successThreshold": 1,
}  # fmt: skip
HTTP: dict[str, Any] = {
    "httpGet": {"port": "web", "path": "/", "httpHeaders": [{"name": "a", "value": "b"}]},
    "periodSeconds": 3, "terminationGracePeriodSeconds": 4,
}  # fmt: skip
ENVIRONMENT: list[Any] = [
    {"name": "PLAIN", "value": "1"}, {"name": "NO_VALUE"},
    {"name": "NODE", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}},
    {"name": "CPU", "valueFrom": {"resourceFieldRef": {
        "resource": "limits.cpu", "containerName": "main", "divisor": "1m"}}},
    {"name": "KEY", "valueFrom": {"configMapKeyRef": {
        "name": "cfg", "key": "key", "optional": True}}},
    {"name": "SECRET", "valueFrom": {"secretKeyRef": {
        "name": "cfg", "key": "key", "optional": True}}},
]  # fmt: skip
MAIN = container(
    "main",
    "echo $PLAIN $NODE $CPU $KEY $P_key $0; cat /etc/config/key /all/a/b /all/labels; sleep 9;"
    " exit 3",
    args=["a"],
    workingDir="/tmp",
    env=ENVIRONMENT,
    envFrom=[
        {"configMapRef": {"name": "cfg", "optional": True}, "prefix": "P_"},
        {"secretRef": {"name": "none", "optional": True}},
    ],
    imagePullPolicy="Always",
    ports=[{"name": "web", "containerPort": 80, "protocol": "TCP", "hostPort": 8080}],
    resources={"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1"}},
    volumeMounts=[
        {"name": "config", "mountPath": "/etc/config", "readOnly": True, "subPath": ""},
        {"name": "tmp", "mountPath": "/tmp", "recursiveReadOnly": "Disabled"},
        {"name": "all", "mountPath": "/all"},
        {"name": "image", "mountPath": "/image"},
    ],
    readinessProbe=PROBE,
    livenessProbe=HTTP,
    startupProbe=PROBE,
    lifecycle={
        "postStart": {"exec": {"command": ["true"]}},
        "preStop": {"sleep": {"seconds": 1}},
    },
    securityContext={"runAsUser": 5, "runAsGroup": 6, "runAsNonRoot": True},
    terminationMessagePath="/dev/termination-log",
    terminationMessagePolicy="FallbackToLogsOnError",
    restartPolicy="Always",
    restartPolicyRules=[
        {"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}},
    ],
)
SPEC: dict[str, Any] = {
    "initContainers": [
        container("first", "exit 0", resources={"limits": {"cpu": "1"}}),
        container("side", "sleep 1d", restartPolicy="Always", startupProbe=PROBE | {
            "exec": {"command": ["true"]}}),
    ],
    "ephemeralContainers": [container("debug", "sleep 1", targetContainerName="main")],
    "volumes": [
        {"name": "config", "configMap": {
            "name": "cfg", "optional": True, "defaultMode": 420,
            "items": [{"key": "key", "path": "key", "mode": 256}]}},
        {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        {"name": "image", "image": {"reference": "nginx:1", "pullPolicy": "IfNotPresent"}},
        {"name": "all", "projected": {"defaultMode": 420, "sources": [
            {"secret": {"name": "none", "optional": True,
                        "items": [{"key": "k", "path": "k"}]}},
            {"configMap": {"name": "cfg", "items": [{"key": "key", "path": "a/b"}]}},
            {"downwardAPI": {"items": [
                {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}}]}},
    ],
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a"]}],
    "hostNetwork": False,
    "nodeSelector": {"kubernetes.io/hostname": "n1"},
    "securityContext": {"runAsUser": 7, "fsGroup": 8, "supplementalGroups": [9]},
    "terminationGracePeriodSeconds": 5,
    "activeDeadlineSeconds": 50,
    "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute"}],
    "readinessGates": [{"conditionType": "example.com/ready"}],
    "overhead": {"cpu": "10m"},
    "hostname": "h",
    "subdomain": "s",
    "restartPolicy": "OnFailure",
}  # fmt: skip
METADATA: dict[str, Any] = {
    "labels": {"kubernetes.io/hostname": "n1"}, "annotations": {"podwright.dev/liveness-probe":
    "success"}, "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z",
}  # fmt: skip
REQUIRED = {
    "name", "image", "mountPath", "containerPort", "key", "path", "conditionType", "fieldPath",
    "resource", "action", "seconds", "port", "ip",
}  # fmt: skip
"""Fields without which an object is not valid wherever they are."""


def document() -> dict[str, Any]:
    made = pod_of(MAIN, **SPEC)
    raw: dict[str, Any] = copy.deepcopy(made.raw)
    raw["metadata"] |= copy.deepcopy(METADATA)
    return raw


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all optional fields."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name not in REQUIRED:
                yield (*path, name)
            yield from paths_of(part, (*path, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from paths_of(part, (*path, index))


PATHS = [
    path
    for part in ("metadata", "spec")
    for path in paths_of(document()[part], (part,))
    if path not in {
        ("metadata", "uid"), ("metadata", "namespace"), ("spec", "containers"),
        ("spec", "nodeName"),
    }
]  # fmt: skip


def without(path: tuple[Any, ...]) -> Any:
    found = made = document()
    for step in path[:-1]:
        found = found[step]
    del found[path[-1]]
    return decode(made, source="test")


def facts_of(pod: Any) -> tuple[str, list[str]]:
    """Return the states of a pod in eight seconds, a digest of all statuses, and all Events.

    It restarts after twelve seconds, and is deleted after twenty.
    """
    driver = KubeletDriver()
    driver.cluster.add("ConfigMap", "cfg", data={"key": "v"})
    driver.put(pod)
    statuses = []
    for seconds in (0, 0.5, 1, 2, 3, 5, 8):
        driver.run(seconds)
        statuses.append(driver.status())
    status = driver.status()
    states = [
        f"{entry['name']} {'/'.join(entry['state'])}{' ready' * entry['ready']}"
        for field in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        for entry in status.get(field) or ()
    ]
    for seconds in (11, 13, 16, 20):
        driver.run(seconds)
        statuses.append(driver.status())
    driver.remove(grace_seconds=3)
    for seconds in (20.5, 22, 23):
        driver.run(seconds)
        if driver.objects.get("default/web") is not None:
            statuses.append(driver.status())
    driver.run(40)
    digest = hashlib.sha256(msgspec.json.encode(statuses, order="sorted")).hexdigest()[:8]
    left = "" if driver.objects.get("default/web") is None else ", it stays"
    return f"{status['phase']} ({', '.join(states)}) {digest}{left}", driver.notes


def line_of(path: tuple[Any, ...], whole: list[str]) -> str:
    """Return a line about a pod without a field: its facts, and which Events differ."""
    facts, notes = facts_of(without(path))
    more, fewer = Counter(notes) - Counter(whole), Counter(whole) - Counter(notes)
    changes = [f"+{note}" for note in more.elements()] + [f"-{note}" for note in fewer.elements()]
    return " ".join((f"{'.'.join(map(str, path))}:", facts, *changes))


def group_of(path: tuple[Any, ...]) -> str:
    if path[0] == "metadata":
        return "metadata"
    return ".".join(map(str, path[: 4 if path[1] == "containers" else 2]))


@pytest.mark.parametrize("group", sorted({group_of(path) for path in PATHS}))
def test_a_pod_without_any_of_its_optional_fields(group):
    """All lines are recorded: `PODWRIGHT_UPDATE_STORIES=1` writes them; review the difference."""
    _, whole = facts_of(decode(document(), source="test"))
    found = [line_of(path, whole) for path in PATHS if group_of(path) == group]
    recorded = TEXT.read_text().splitlines() if TEXT.exists() else []
    of_group = [line for line in recorded if is_of(line, group)]
    if os.environ.get("PODWRIGHT_UPDATE_STORIES"):
        others = [line for line in recorded if not is_of(line, group)]
        TEXT.write_text("\n".join(sorted([*others, *found])) + "\n")
        return
    assert sorted(found) == of_group


def is_of(line: str, group: str) -> bool:
    """Whether a line is about a field of a group."""
    return line.startswith((f"{group}.", f"{group}:"))
