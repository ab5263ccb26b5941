"""Pod Security: what the standards forbid, and which namespaces use them."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.admission.pod_security import PodSecurity, plugin
from podwright.cluster.api.admission.pod_security.namespace_policy import (
    LEVELS,
    Standard,
    policy_of,
)
from podwright.cluster.api.admission.pod_security.standards import details
from podwright.cluster.api.admission.tests.contexts import (
    a_context,
    a_store,
    a_write,
    named,
    outcome,
)
from podwright.cluster.api.endpoints import HttpReply
from podwright.cluster.api.endpoints.tests.conftest import pod

PREFIX = "pod-security.kubernetes.io/"
PODS = "/api/v1/namespaces/default/pods"
SAFE: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def container(name: str = "c", **context: Any) -> dict[str, Any]:
    return {"name": name, "image": "a:1", "securityContext": context}


def safe_spec(**fields: Any) -> dict[str, Any]:
    return {"containers": [container(**SAFE)], **fields}


def label(server: Any, **labels: str) -> None:
    named = {PREFIX + name.replace("_", "-"): value for name, value in labels.items()}
    patch = {"metadata": {"labels": named}}
    status, reply = server.patch("/api/v1/namespaces/default", patch)
    assert status == 200, reply


def warnings(server: Any, method: str, path: str, body: Any) -> list[str]:
    headers = {"content-type": "application/merge-patch+json"} if method == "PATCH" else {}
    found = server.send(method, path, body, headers=headers)
    assert isinstance(found, HttpReply)
    assert found.status < 300, found.body
    return [value for name, value in found.headers if name == "warning"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"hostNetwork": True, "hostIPC": True},
            "host namespaces (hostNetwork=true, hostIPC=true)",
            id="host namespaces",
        ),
        pytest.param(
            {"volumes": [{"name": "a", "hostPath": {}}, {"name": "b", "hostPath": {}}]},
            'hostPath volumes (volumes "a", "b")',
            id="volumes",
        ),
        pytest.param(
            {
                "containers": [
                    {"name": "b", "ports": [{"hostPort": 0}]},
                    {"name": "c", "ports": [{"hostPort": 9}, {"hostPort": 0}, {"hostPort": 10}]},
                ]
            },
            'hostPort (container "c" uses hostPorts 10, 9)',
            id="ports",
        ),
        pytest.param(
            {
                "containers": [
                    {
                        "name": "c",
                        "livenessProbe": {"httpGet": {"host": "b"}},
                        "lifecycle": {"preStop": {"tcpSocket": {"host": "a"}}},
                    }
                ]
            },
            'probe or lifecycle host (container "c" uses probe or lifecycle hosts "a", "b")',
            id="hosts of probes",
        ),
        pytest.param(
            {
                "containers": [
                    {"name": name, "readinessProbe": {"tcpSocket": {"host": "a"}}} for name in "dc"
                ]
            },
            'probe or lifecycle host (containers "c", "d" use probe or lifecycle host "a")',
            id="a host of probes of two containers",
        ),
        pytest.param(
            {"containers": [{"name": name, "ports": [{"hostPort": 9}]} for name in "dc"]},
            'hostPort (containers "d", "c" use hostPort 9)',
            id="a port of two containers",
        ),
        pytest.param(
            {"containers": [container("a", privileged=True), container("b", privileged=True)]},
            'privileged (containers "a", "b" must not set securityContext.privileged=true)',
            id="privileged",
        ),
        pytest.param(
            {"containers": [container(capabilities={"add": ["SYS_ADMIN", "CHOWN"]})]},
            'non-default capabilities (container "c" must not include "SYS_ADMIN" in'
            " securityContext.capabilities.add)",
            id="capabilities",
        ),
        pytest.param(
            {
                "securityContext": {"seLinuxOptions": {"type": "x", "user": "u"}},
                "containers": [container(seLinuxOptions={"role": "r"})],
            },
            'seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions:'
            ' type "x"; user may not be set; role may not be set)',
            id="SELinux",
        ),
        pytest.param(
            {"containers": [container(procMount="Unmasked")]},
            'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
            id="masks",
        ),
        pytest.param(
            {"hostUsers": False, "containers": [container(procMount="Unmasked")]},
            "",
            id="masks in a user namespace",
        ),
        pytest.param(
            {
                "securityContext": {
                    "seccompProfile": {"type": "Unconfined"},
                    "sysctls": [{"name": "kernel.x"}, {"name": "net.ipv4.tcp_rmem"}],
                    "windowsOptions": {"hostProcess": True},
                    "appArmorProfile": {"type": "Unconfined"},
                }
            },
            'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined"),'
            " seccompProfile (pod must not set securityContext.seccompProfile.type to"
            ' "Unconfined"), forbidden sysctls (kernel.x), hostProcess (pod must not set'
            " securityContext.windowsOptions.hostProcess=true)",
            id="fields of the pod",
        ),
    ],
)
def test_what_baseline_forbids(spec, expected):
    assert details(Standard("baseline"), {}, spec) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(safe_spec(), "", id="a safe pod"),
        pytest.param(
            {"containers": [container()]},
            'allowPrivilegeEscalation != false (container "c" must set'
            " securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container"
            ' "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or'
            ' container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or'
            ' container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or'
            ' "Localhost")',
            id="nothing set",
        ),
        pytest.param(
            safe_spec(volumes=[{"name": "v", "nfs": {}}, {"name": "e", "emptyDir": {}}]),
            'restricted volume types (volume "v" uses restricted volume type "nfs")',
            id="volumes",
        ),
        pytest.param(
            {
                "securityContext": {"runAsNonRoot": False, "runAsUser": 0},
                "containers": [container(**SAFE | {"runAsUser": 0})],
            },
            "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false),"
            ' runAsUser=0 (pod and container "c" must not set runAsUser=0)',
            id="root",
        ),
        pytest.param(
            {
                "os": {"name": "windows"},
                "containers": [container(runAsNonRoot=True)],
            },
            "",
            id="Windows",
        ),
    ],
)
def test_what_restricted_forbids(spec, expected):
    assert details(Standard("restricted"), {}, spec) == expected


@pytest.mark.parametrize(
    ("standard", "expected"),
    [
        pytest.param(Standard("restricted", 0), "runAsNonRoot != true", id="the first"),
        pytest.param(Standard("restricted", 7), "runAsNonRoot != true", id="before escalation"),
        pytest.param(Standard("restricted", 8), "allowPrivilegeEscalation", id="with escalation"),
        pytest.param(Standard("restricted", 24), "allowPrivilegeEscalation", id="before Windows"),
        pytest.param(Standard("restricted", 99), "allowPrivilegeEscalation", id="after the last"),
        pytest.param(Standard("baseline", 18), "", id="before the field"),
    ],
)
def test_a_version_has_its_own_checks(standard, expected):
    found = details(standard, {}, {"containers": [container(seccompProfile={"type": "x"})]})
    assert found.startswith(expected) if expected else not found


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param(
            24,
            "allowPrivilegeEscalation != false|unrestricted capabilities|seccompProfile",
            id="until 1.24 also on Windows",
        ),
        pytest.param(25, "", id="since 1.25 not on Windows"),
        pytest.param(None, "", id="nor in the latest"),
    ],
)
def test_what_windows_does_not_have_is_not_required_there(version, expected):
    """Upstream: pod-security-admission, policy/check_seccompProfile_restricted.go"""
    spec = {"os": {"name": "windows"}, "containers": [container(runAsNonRoot=True)]}
    found = details(Standard("restricted", version), {}, spec)
    parts = expected.split("|") if expected else []
    assert all(part in found for part in parts)
    assert bool(found) == bool(parts)


def test_old_annotations_count_where_they_were_used():
    name = "container.apparmor.security.beta.kubernetes.io/c"
    metadata = {
        "annotations": {name: "unconfined", "seccomp.security.alpha.kubernetes.io/pod": "x"}
    }
    assert details(Standard("baseline", 10), metadata, safe_spec()) == (
        "forbidden AppArmor profile (annotation must not set AppArmor profile type to"
        f' "{name}="unconfined""), seccompProfile (forbidden annotation'
        ' seccomp.security.alpha.kubernetes.io/pod="x")'
    )


@pytest.mark.parametrize(
    ("profiles", "expected"),
    [
        pytest.param(["", "runtime/default", "localhost/mine"], "", id="those that are allowed"),
        pytest.param(
            ["localhost/mine", "localhost"],
            'profile (annotation must not set AppArmor profile type to "c1="localhost"")',
            id="no profile of the node",
        ),
        pytest.param(
            ["unconfined", "", "runtime/other"],
            "profiles (annotations must not set AppArmor profile type to"
            ' "c0="unconfined"", "c2="runtime/other"")',
            id="several",
        ),
    ],
)
def test_old_annotations_name_app_armor_profiles(profiles, expected):
    """Upstream: pod-security-admission, policy/check_appArmorProfile.go, allowedAnnotationValue"""
    prefix = "container.apparmor.security.beta.kubernetes.io/"
    annotations = {f"{prefix}c{index}": profile for index, profile in enumerate(profiles)}
    found = details(Standard("baseline"), {"annotations": annotations}, safe_spec())
    assert found.replace(prefix, "") == (f"forbidden AppArmor {expected}" if expected else "")


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        pytest.param({}, "privileged:latest privileged:latest privileged:latest", id="none"),
        pytest.param(
            {"enforce": "baseline", "enforce-version": "v1.30"},
            "baseline:v1.30 privileged:latest baseline:v1.30",
            id="warns of what it enforces",
        ),
        pytest.param(
            {"enforce": "restricted", "warn": "baseline", "audit": "bad"},
            "restricted:latest privileged:latest baseline:latest",
            id="an own level for warnings",
        ),
        pytest.param(
            {"enforce": "bad", "enforce-version": "1.30"},
            "restricted:latest privileged:latest privileged:latest",
            id="bad labels",
        ),
    ],
)
def test_labels_choose_standards(labels, shown):
    policy = policy_of({PREFIX + name: value for name, value in labels.items()})
    assert f"{policy.enforce} {policy.audit} {policy.warn}" == shown


@pytest.mark.parametrize(
    ("labels", "is_privileged"),
    [
        pytest.param({}, True, id="none"),
        pytest.param(dict.fromkeys(("enforce", "audit", "warn"), "privileged"), True, id="all"),
        pytest.param({"enforce": "privileged", "enforce-version": "v1.30"}, True, id="a version"),
        pytest.param({"enforce": "baseline", "warn": "privileged"}, False, id="enforces"),
        pytest.param({"audit": "baseline"}, False, id="audits"),
        pytest.param({"warn": "restricted"}, False, id="warns"),
        # A bad label is a reason for a warning, whatever is allowed.
        pytest.param({"audit": "bad"}, False, id="a bad level"),
        pytest.param({"enforce": "privileged", "warn-version": "x"}, False, id="a bad version"),
    ],
)
def test_a_policy_that_allows_everything_has_no_bad_labels(labels, is_privileged):
    policy = policy_of({PREFIX + name: value for name, value in labels.items()})
    assert policy.is_privileged is is_privileged


def test_a_violation_is_forbidden_and_a_warning_is_not(server):
    label(server, enforce="baseline", warn="restricted", warn_version="v1.20")
    status, error = server.reply("POST", PODS, pod("p", hostPID=True))
    assert (status, error["message"]) == (
        403,
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces'
        " (hostPID=true)",
    )
    found = warnings(server, "POST", PODS, pod("p"))
    assert len(found) == 1
    assert 'would violate PodSecurity \\"restricted:v1.20\\": allowPrivilege' in found[0]


def test_a_pod_that_a_later_plugin_rejects_is_warned_of_too(server):
    label(server, enforce="privileged", warn="restricted")
    found = server.send("POST", PODS, pod("p", overhead={"cpu": "1"}), headers={})
    assert found.status == 403
    assert "Pod Overhead set without corresponding RuntimeClass" in str(found.body)
    assert 'would violate PodSecurity \\"restricted:latest\\"' in found.header("warning")


def test_workloads_are_warned_of_by_their_template(server):
    label(server, enforce="baseline")
    spec = {"hostPID": True, "containers": [{"name": "c", "image": "a:1"}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    body = {
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    found = warnings(server, "POST", "/apis/apps/v1/namespaces/default/deployments", body)
    assert "host namespaces (hostPID=true)" in found[0]


def test_only_changes_of_images_are_checked_again(server):
    initial = [{"name": "i", "image": "app:1"}]
    server.reply("POST", PODS, pod("p", hostPID=True, initContainers=initial))
    label(server, enforce="baseline")
    patch: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}}
    assert server.patch(f"{PODS}/p", patch)[0] == 200
    for field in ("containers", "initContainers"):
        patch = {"spec": {field: [{"name": field[0], "image": "b:1"}]}}
        assert server.patch(f"{PODS}/p", patch, "strategic-merge-patch+json")[0] == 403


def test_a_stricter_namespace_warns_of_its_pods(server):
    for name in ("c", "a", "b"):
        server.reply("POST", PODS, pod(name, hostPID=True))
    server.reply("POST", PODS, pod("d", hostNetwork=True))
    patch = {"metadata": {"labels": {f"{PREFIX}enforce": "baseline"}}}
    found = warnings(server, "PATCH", "/api/v1/namespaces/default", patch)
    assert [text.split(" ", 2)[2][1:-1] for text in found] == [
        'existing pods in namespace \\"default\\" violate the new PodSecurity enforce level'
        ' \\"baseline:latest\\"',
        "a (and 3 other pods): host namespaces",
    ]


def test_only_a_stricter_namespace_warns_and_of_its_own_pods(server):
    server.reply("POST", PODS, pod("p", hostPID=True))
    server.reply("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})

    def enforced(namespace: str, level: str) -> list[str]:
        patch = {"metadata": {"labels": {f"{PREFIX}enforce": level}}}
        return warnings(server, "PATCH", f"/api/v1/namespaces/{namespace}", patch)

    assert enforced("other", "restricted") == []
    assert len(enforced("default", "restricted")) == 2
    assert enforced("default", "baseline") == []
    assert len(enforced("default", "restricted")) == 2
    assert enforced("default", "privileged") == []


def test_of_many_pods_one_of_each_controller_is_checked_first(server, monkeypatch):
    monkeypatch.setattr(plugin, "PODS_CHECKED", 2)
    for name, owner in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        body = pod(name, hostPID=True)
        reference = {"apiVersion": "v1", "kind": "ReplicationController", "name": owner}
        body["metadata"]["ownerReferences"] = [reference | {"uid": owner, "controller": True}]
        if owner == "b":
            ports = [{"containerPort": 80, "hostPort": 80}]
            body["spec"] = {"containers": [{"name": "c", "image": "a:1", "ports": ports}]}
        assert server.reply("POST", PODS, body)[0] == 201
    patch = {"metadata": {"labels": {f"{PREFIX}enforce": "baseline"}}}
    found = warnings(server, "PATCH", "/api/v1/namespaces/default", patch)
    assert "only checked against the first 2 of 3 existing pods" in found[0]
    shown = " ".join(found)
    assert "a1: host namespaces" in shown
    assert "b1: hostPort" in shown


def test_a_bad_label_is_invalid_only_when_it_changes(server):
    body: dict[str, Any] = {"metadata": {"name": "n", "labels": {f"{PREFIX}enforce": "high"}}}
    status, error = server.reply("POST", "/api/v1/namespaces", body)
    assert (status, error["message"]) == (
        422,
        'Namespace "n" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid'
        f' value: "high": must be one of {", ".join(LEVELS)}',
    )
    version = {"metadata": {"labels": {f"{PREFIX}warn-version": "1.2"}}}
    status, error = server.patch("/api/v1/namespaces/default", version)
    assert (status, 'must be "latest" or "v1.x"' in error["message"]) == (422, True)


@pytest.mark.parametrize("field", ["containers", "initContainers", "ephemeralContainers"])
@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_every_kind_of_container_is_checked(field, level):
    spec = safe_spec()
    spec[field] = [*spec.get(field, ()), container("bad", **SAFE, privileged=True)]
    assert 'privileged (container "bad" must not set' in details(Standard(level, 40), {}, spec)


def test_an_ephemeral_container_that_is_added_is_checked(server):
    server.reply("POST", PODS, pod("p"))
    label(server, enforce="baseline")
    path = f"{PODS}/p/ephemeralcontainers"
    kind = "strategic-merge-patch+json"
    for name, privileged, status in (("a", True, 403), ("b", False, 200)):
        body = {"spec": {"ephemeralContainers": [container(name, privileged=privileged)]}}
        assert server.patch(path, body, kind)[0] == status


# ------------------------------------------------------------------------------ single writes


def images(field: str, *given: str) -> dict[str, Any]:
    """Return a part of a spec: containers `c0`, `c1` of images, or of a name and an image."""
    pairs = [each.split("=") if "=" in each else (f"c{n}", each) for n, each in enumerate(given)]
    return {field: [{"name": name, "image": image} for name, image in pairs]}


@pytest.mark.parametrize(
    ("new", "old", "is_checked"),
    [
        pytest.param(images("containers", "a"), images("containers", "a"), False, id="the same"),
        pytest.param(images("containers", "b"), images("containers", "a"), True, id="an image"),
        pytest.param(
            images("containers", "a", "b"), images("containers", "a"), True, id="a container"
        ),
        pytest.param(
            images("initContainers", "b"), images("initContainers", "a"), True, id="an init image"
        ),
        pytest.param(images("initContainers", "a"), {}, True, id="an init container"),
        pytest.param(
            images("ephemeralContainers", "e=a"), images("ephemeralContainers", "e=a"), False,
            id="the same ephemeral container",
        ),
        pytest.param(
            images("ephemeralContainers", "e=b"), images("ephemeralContainers", "e=a"), True,
            id="the image of an ephemeral container",
        ),
        pytest.param(
            images("ephemeralContainers", "e=a", "f=a"), images("ephemeralContainers", "e=a"),
            True, id="an ephemeral container",
        ),
        pytest.param(
            images("ephemeralContainers", "f=b", "e=a"),
            images("ephemeralContainers", "e=a", "f=b"), False, id="another order of them",
        ),
        pytest.param({}, images("ephemeralContainers", "e=a"), False, id="one less of them"),
        pytest.param({"hostIPC": True}, {}, False, id="anything else"),
    ],
)  # fmt: skip
def test_a_changed_pod_is_checked_if_its_images_change(
    new: dict[str, Any], old: dict[str, Any], is_checked: bool
) -> None:
    labels = {f"{PREFIX}enforce": "baseline"}
    checks = PodSecurity(a_context(a_store(named("v1 Namespace", "default", metadata={
        "labels": labels}))))  # fmt: skip
    bad = {"hostNetwork": True}
    pods = [{"metadata": {"name": "p"}, "spec": bad | spec} for spec in (new, old)]
    for subresource, is_rejected in (("", is_checked), ("status", False)):
        found = outcome(checks, a_write("v1 Pod", *pods, subresource=subresource))
        assert isinstance(found, str) is is_rejected
    # A new pod is always checked.
    assert isinstance(outcome(checks, a_write("v1 Pod", pods[1])), str)
