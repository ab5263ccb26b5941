"""What admission makes of pods that lack one of many fields each, in a text beside the tests.

Each pod is created in namespaces with a limit range, with a quota, with standards and with
policies. `PODWRIGHT_UPDATE_STORIES=1` writes the text again, by namespace; review the difference.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.recorded_texts import RecordedText

from podwright.apimachinery.objects import InvalidObject
from podwright.apimachinery.schema import decode
from podwright.cluster.api import Api, BindPod, CreateObject, UpdateObject
from podwright.cluster.store import POD, ObjectStore

USER, NOW_NS = "tests", 1_767_225_600 * 10**9

CONTAINER: dict[str, Any] = {
    "name": "main", "image": "app:1",
    "resources": {"requests": {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1Gi"},
                  "limits": {"cpu": "2", "example.com/gpu": "1"}},
    "ports": [{"containerPort": 80, "hostPort": 80}, {"containerPort": 81}],
    "securityContext": {
        "privileged": True, "allowPrivilegeEscalation": True, "procMount": "Default",
        "capabilities": {"add": ["NET_ADMIN", "CHOWN"], "drop": ["KILL"]},
        "runAsUser": 0, "runAsNonRoot": False, "seccompProfile": {"type": "Unconfined"},
        "seLinuxOptions": {"type": "custom_t", "user": "u", "role": "r"},
        "windowsOptions": {"hostProcess": True}, "appArmorProfile": {"type": "Unconfined"},
    },
    "livenessProbe": {"httpGet": {"port": 80, "host": "127.0.0.1"}},
    "lifecycle": {"postStart": {"tcpSocket": {"port": 80, "host": "example.com"}}},
    "env": [{"name": "A", "value": "b"}],
}  # fmt: skip
SPEC: dict[str, Any] = {
    "containers": [
        CONTAINER, {"name": "plain", "image": "b", "resources": {"requests": {"cpu": "100m"}}},
    ],
    "initContainers": [
        {"name": "first", "image": "c", "resources": {"requests": {"cpu": "3"}},
         "securityContext": {"capabilities": {"add": ["SYS_TIME"]}}},
        {"name": "side", "image": "d", "restartPolicy": "Always",
         "resources": {"requests": {"cpu": "250m"}, "limits": {"memory": "64Mi"}}},
    ],
    "volumes": [
        {"name": "host", "hostPath": {"path": "/", "type": ""}},
        {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "nfs", "nfs": {"server": "s", "path": "/"}},
    ],
    "hostNetwork": True, "hostPID": True,
    "securityContext": {
        "runAsUser": 0, "runAsNonRoot": False, "seccompProfile": {"type": "Unconfined"},
        "sysctls": [{"name": "kernel.msgmax", "value": "1"}],
        "seLinuxOptions": {"user": "u"}, "appArmorProfile": {"type": "Unconfined"},
        "windowsOptions": {"hostProcess": True},
    },
    "priorityClassName": "high", "runtimeClassName": "gvisor",
    "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
    "nodeSelector": {"disk": "ssd"},
    "serviceAccountName": "default", "automountServiceAccountToken": True,
    "terminationGracePeriodSeconds": 0, "activeDeadlineSeconds": 9,
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
         "labelSelector": {}, "matchLabelKeys": ["app"]}
    ],
}  # fmt: skip
METADATA: dict[str, Any] = {
    "labels": {"app": "web"},
    "annotations": {
        "container.apparmor.security.beta.kubernetes.io/main": "unconfined",
        "container.seccomp.security.alpha.kubernetes.io/main": "unconfined",
        "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
    },
}  # fmt: skip
LIMITS = [
    {"type": "Container", "default": {"memory": "1Gi", "cpu": "3"},
     "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "4", "memory": "2Gi"},
     "min": {"cpu": "50m"}, "maxLimitRequestRatio": {"cpu": "30"}},
    {"type": "Pod", "max": {"memory": "4Gi"}, "min": {"cpu": "1"}},
]  # fmt: skip
HARD = {
    "pods": "3", "requests.cpu": "9", "requests.example.com/gpu": "2", "count/pods": "2",
    "requests.ephemeral-storage": "4Gi",
}  # fmt: skip
STANDARD = "pod-security.kubernetes.io"
SPACES: dict[str, dict[str, str]] = {
    "plain": {}, "limited": {}, "counted": {}, "policies": {"team": "a"},
    "baseline": {f"{STANDARD}/enforce": "baseline", f"{STANDARD}/warn": "restricted"},
    "restricted": {f"{STANDARD}/enforce": "restricted"},
    "restricted-old": {f"{STANDARD}/enforce": "restricted", f"{STANDARD}/enforce-version": "v1.18"},
}  # fmt: skip


def served() -> Api:
    """Return a cluster with all that the admission of pods reads."""
    store = ObjectStore(seed=3)
    group = "admissionregistration.k8s.io/v1"

    def put(kind: str, name: str, namespace: str = "", **parts: Any) -> None:
        version, _, kind = kind.partition(" ")
        metadata = {"name": name, **parts.pop("metadata", {})}
        metadata |= {"namespace": namespace} if namespace else {}
        store.put(decode({"apiVersion": version, "kind": kind, "metadata": metadata, **parts}))

    for name, labels in SPACES.items():
        put("v1 Namespace", name, metadata={"labels": labels})
        put("v1 ServiceAccount", "default", name, imagePullSecrets=[{"name": "pull"}])
    put("v1 LimitRange", "l", "limited", spec={"limits": LIMITS})
    status = {"hard": HARD, "used": dict.fromkeys(HARD, "0")}
    put("v1 ResourceQuota", "q", "counted", spec={"hard": HARD}, status=status)
    put("scheduling.k8s.io/v1 PriorityClass", "high", value=7, preemptionPolicy="Never")
    put("scheduling.k8s.io/v1 PriorityClass", "usual", value=2, globalDefault=True)
    scheduling = {"nodeSelector": {"runtime": "gvisor"}, "tolerations": [{"key": "g"}]}
    put("node.k8s.io/v1 RuntimeClass", "gvisor", handler="runsc", scheduling=scheduling,
        overhead={"podFixed": {"cpu": "125m"}})  # fmt: skip
    put("v1 Node", "n", metadata={"labels": {"topology.kubernetes.io/zone": "z"}})
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
            "resources": ["pods"]}  # fmt: skip
    constraints = {"resourceRules": [rule], "namespaceSelector": {"matchLabels": {"team": "a"}}}
    validations = [
        {"expression": "!has(object.spec.hostIPC)", "message": "no host processes"},
        {"expression": "object.metadata.labels['app'] == 'web'",
         "messageExpression": "'not ' + object.metadata.name", "reason": "Invalid"},
    ]  # fmt: skip
    spec = {"matchConstraints": constraints, "validations": validations, "failurePolicy": "Fail"}
    put(f"{group} ValidatingAdmissionPolicy", "v", spec=spec)
    binding = {"policyName": "v", "validationActions": ["Deny"]}
    put(f"{group} ValidatingAdmissionPolicyBinding", "v", spec=binding)
    return Api(store, is_served=True)


def document(namespace: str) -> dict[str, Any]:
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": METADATA, "spec": SPEC}
    found: dict[str, Any] = copy.deepcopy(made)
    found["metadata"] |= {"name": "p", "namespace": namespace}
    return found


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all fields and list entries."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for name, part in items:
        yield (*path, name)
        if isinstance(part, dict | list):
            yield from paths_of(part, (*path, name))


def outcome_of(made: dict[str, Any], namespace: str) -> str:
    """Return what becomes of a pod: why it is rejected, or a digest of its states."""
    api = served()
    try:
        reply = api.handle(CreateObject(decode(made), USER), USER, NOW_NS)
    except InvalidObject as error:
        return f"invalid: {error}"
    if reply.error is not None:
        return f"rejected: {reply.error}"
    assert reply.stored is not None
    states = [reply.stored.object.raw]
    quota = api.store.get(("", "ResourceQuota"), f"{namespace}/q")
    states += [] if quota is None else [quota.raw["status"]]
    labeled = states[0] | {"metadata": states[0]["metadata"] | {"labels": {"app": "other"}}}
    changed = api.handle(UpdateObject(decode(labeled), "main", USER), USER, NOW_NS)
    states.append({"changed": str(changed.error)})
    bound = api.handle(BindPod(f"{namespace}/p", "n", "", USER), USER, NOW_NS)
    states.append({"bound": str(bound.error)} | api.store.require(POD, f"{namespace}/p").raw)
    text = msgspec.json.encode(states, order="sorted")
    return f"stored {hashlib.sha256(text).hexdigest()[:8]}"


def lines_of(paths: Iterable[tuple[Any, ...]], namespace: str) -> Iterator[str]:
    """Yield the outcome for the whole pod, and how it differs without each field."""
    whole = outcome_of(document(namespace), namespace)
    yield whole
    for path in paths:
        made = found = document(namespace)
        for step in path[:-1]:
            found = found[step]
        del found[path[-1]]
        outcomes = outcome_of(made, namespace), whole
        parts, other = (Counter(re.split(r"[,;] ", each)) for each in outcomes)
        changes = [*(f"+{each}" for each in parts - other), *(f"-{each}" for each in other - parts)]
        text = " ".join(changes)
        if len(text) > 300:
            text = f"{text[:200]}... {hashlib.sha256(text.encode()).hexdigest()[:8]}"
        yield f"{'.'.join(map(str, path))}: {text}".rstrip()


PATHS = [path for part in ("metadata", "spec") for path in paths_of(document("x")[part], (part,))]
KEPT = {("metadata", "namespace"), ("metadata", "name"), ("spec", "containers")}
PARTS = ("metadata", "spec.containers", "spec")
TEXT = RecordedText(
    Path(__file__).with_name("recorded_admissions.txt"),
    [f"{namespace} {part}" for namespace in SPACES for part in PARTS],
)


@pytest.mark.parametrize("namespace", SPACES)
@pytest.mark.parametrize("part", PARTS)
def test_the_admission_of_a_pod_without_a_field(namespace: str, part: str) -> None:
    def group_of(path: tuple[Any, ...]) -> str:
        return path[0] if path[0] == "metadata" else ".".join(path[: 1 + (path[1] == "containers")])

    paths = [path for path in PATHS if path not in KEPT and group_of(path) == part]
    found = [*lines_of(paths, namespace)]
    TEXT.check(f"{namespace} {part}", found)
