"""The errors of the security and of the containers of pods: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.pod_errors import (
    APPARMOR,
    SECCOMP,
    SECCOMP_POD,
    c,
    env,
    host,
    of_container,
    of_field,
    of_own_security,
    of_profile,
    of_resource,
    of_security,
    of_spec,
    of_user,
)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (({"fsGroup": -1, "runAsUser": -2, "runAsGroup": -3, "supplementalGroups": [1, -4]},
         {}),
         ["fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive",
          "runAsUser: Invalid value: -2: must be between 0 and 2147483647, inclusive",
          "runAsGroup: Invalid value: -3: must be between 0 and 2147483647, inclusive",
          "supplementalGroups[1]: Invalid value: -4: must be between 0 and 2147483647,"
          " inclusive"]),
        (({}, {"shareProcessNamespace": True, "hostPID": True}),
         ["shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID"
          " cannot both be enabled"]),
        (({}, {"shareProcessNamespace": True, "hostIPC": True, "hostNetwork": True}), []),
        (({"fsGroupChangePolicy": "x", "supplementalGroupsPolicy": "y",
         "seLinuxChangePolicy": "z"}, {}),
         ['fsGroupChangePolicy: Unsupported value: "x": supported values: "Always",'
          ' "OnRootMismatch"',
          'supplementalGroupsPolicy: Unsupported value: "y": supported values: "Merge",'
          ' "Strict"',
          'seLinuxChangePolicy: Unsupported value: "z": supported values: "Recursive"']),
        (({"fsGroupChangePolicy": "Always", "supplementalGroupsPolicy": "Strict"}, {}), []),
        (({"seccompProfile": {"type": "Localhost"}, "appArmorProfile": {"type": "Localhost"}},
          {}),
         ["seccompProfile.localhostProfile: Required value: must be set when seccomp type is"
          " Localhost",
          "appArmorProfile.localhostProfile: Required value: must be set when AppArmor type"
          " is Localhost"]),
        (({"sysctls": [{}, {"name": "a_b"}, {"name": "a/b.c"}, {"name": "a_b"},
         {"name": "A"}]}, {}),
         ["sysctls[0].name: Required value",
          'sysctls[3].name: Duplicate value: "a_b"',
          'sysctls[4].name: Invalid value: "A": SYSCTL']),
        (({"sysctls": [{"name": "a" * 253}, {"name": "b" * 254}, {"name": "a."},
         {"name": "-a"}]}, {}),
         ['sysctls[1].name: Invalid value: "bb*254": SYSCTL',
          'sysctls[2].name: Invalid value: "a.": SYSCTL',
          'sysctls[3].name: Invalid value: "-a": SYSCTL']),
        (({"sysctls": [{"name": "net.a"}, {"name": "kernel.msgmax"}]}, {}), []),
        (({"sysctls": [{"name": "net.a"}, {"name": "kernel.msgmax"}]}, {"hostNetwork": True}),
         ["sysctls[0].name: Invalid value: \"net.a\": may not be specified when 'hostNetwork'"
          " is true"]),
        (({"sysctls": [{"name": "net.a"}, {"name": "kernel.shm_b"}, {"name": "kernel.msgmax"},
          {"name": "kernel.sem"}, {"name": "fs.mqueue.a"}, {"name": "kernel.a"}]},
         {"hostIPC": True}),
         ['sysctls[1].name: Invalid value: "kernel.shm_b": may not be specified when'
          " 'hostIPC' is true",
          'sysctls[2].name: Invalid value: "kernel.msgmax": may not be specified when'
          " 'hostIPC' is true",
          "sysctls[3].name: Invalid value: \"kernel.sem\": may not be specified when 'hostIPC'"
          " is true",
          "sysctls[4].name: Invalid value: \"fs.mqueue.a\": may not be specified when 'hostIPC'"
          " is true"]),
        (({"sysctls": [{"name": "net.a"}, {"name": "kernel.sem"}]}, {"hostIPC": True,
         "hostNetwork": True}),
         ["sysctls[0].name: Invalid value: \"net.a\": may not be specified when 'hostNetwork'"
          " is true",
          "sysctls[1].name: Invalid value: \"kernel.sem\": may not be specified when 'hostIPC'"
          " is true"]),
        (({"sysctls": [{}]}, {"hostNetwork": True}), ["sysctls[0].name: Required value"]),
    ],
)  # fmt: skip
def test_security_of_pods(row: Any, expected: list[str]) -> None:
    assert of_security(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (({"runAsUser": -1, "runAsGroup": 2**31, "procMount": "x"}, {}),
         [".runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
          ".runAsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive",
          '.procMount: Unsupported value: "x": supported values: "Default", "Unmasked"']),
        (({"procMount": "Unmasked"}, {}),
         ['.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`']),
        (({"procMount": "Unmasked"}, {"hostUsers": False}), []),
        (({"procMount": "Default"}, {}), []),
        (({"allowPrivilegeEscalation": False, "privileged": True}, {}),
         [": Invalid value:"
          ' {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":nul'
          'l,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":'
          'null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppA'
          'rmorProfile":null}: cannot set `allowPrivilegeEscalation` to false and'
          " `privileged` to true"]),
        (({"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}},
         {}),
         [": Invalid value:"
          ' {"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},"Privileged":null,"SELinuxO'
          'ptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoo'
          't":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount"'
          ':null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set'
          " `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"]),
        (({"allowPrivilegeEscalation": False, "capabilities": {"add": ["X"],
         "drop": ["CAP_SYS_ADMIN"]}}, {}),
         []),
        (({"allowPrivilegeEscalation": True, "privileged": True}, {}), []),
        (({"seccompProfile": {}}, {}),
         [".seccompProfile.type: Required value: type is required when seccompProfile is set"]),
        (({"seccompProfile": {"type": "x"}}, {}),
         ['.seccompProfile.type: Unsupported value: "x": supported values: "Localhost",'
          ' "RuntimeDefault", "Unconfined"']),
        (({"seccompProfile": {"type": "Localhost"}}, {}),
         [".seccompProfile.localhostProfile: Required value: must be set when seccomp type is"
          " Localhost"]),
        (({"seccompProfile": {"type": "Localhost", "localhostProfile": ""}}, {}), []),
        (({"seccompProfile": {"type": "Localhost", "localhostProfile": "/a"}}, {}),
         ['.seccompProfile.localhostProfile: Invalid value: "/a": must be a relative path']),
        (({"seccompProfile": {"type": "Localhost", "localhostProfile": "a/../b"}}, {}),
         [".seccompProfile.localhostProfile: Invalid value: \"a/../b\": must not contain '..'"]),
        (({"seccompProfile": {"type": "Localhost", "localhostProfile": "a/b"}}, {}), []),
        (({"seccompProfile": {"type": "Unconfined", "localhostProfile": "a"}}, {}),
         [".seccompProfile.localhostProfile: Invalid value:"
          ' {"Type":"Unconfined","LocalhostProfile":"a"}: can only be set when seccomp type'
          " is Localhost"]),
        (({"appArmorProfile": {}}, {}),
         [".appArmorProfile.type: Required value: type is required when appArmorProfile is set"]),
        (({"appArmorProfile": {"type": "x"}}, {}),
         ['.appArmorProfile.type: Unsupported value: "x": supported values: "Localhost",'
          ' "RuntimeDefault", "Unconfined"']),
        (({"appArmorProfile": {"type": "Localhost"}}, {}),
         [".appArmorProfile.localhostProfile: Required value: must be set when AppArmor type"
          " is Localhost"]),
        (({"appArmorProfile": {"type": "Localhost", "localhostProfile": " "}}, {}),
         [".appArmorProfile.localhostProfile: Required value: must be set when AppArmor type"
          " is Localhost"]),
        (({"appArmorProfile": {"type": "Localhost", "localhostProfile": " a"}}, {}),
         ['.appArmorProfile.localhostProfile: Invalid value: " a": must not be padded with'
          " whitespace"]),
        (({"appArmorProfile": {"type": "Localhost", "localhostProfile": "a"}}, {}), []),
        (({"appArmorProfile": {"type": "RuntimeDefault", "localhostProfile": "a"}}, {}),
         ['.appArmorProfile.localhostProfile: Invalid value: "a": can only be set when'
          " AppArmor type is Localhost"]),
        (({"windowsOptions": {"gmsaCredentialSpecName": "A", "gmsaCredentialSpec": ""}}, {}),
         ['.windowsOptions.gmsaCredentialSpecName: Invalid value: "A": SUBDOMAIN',
          '.windowsOptions.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot'
          " be an empty string"]),
        (({"windowsOptions": {"gmsaCredentialSpec": "a" * 65537}}, {}),
         ['.windowsOptions.gmsaCredentialSpec: Invalid value: "aa*65536a": gmsaCredentialSpec'
          " size must be under 64 KiB"]),
        (({"windowsOptions": {"gmsaCredentialSpec": "a" * 65536,
         "gmsaCredentialSpecName": "a"}}, {}),
         []),
        (({"windowsOptions": {"gmsaCredentialSpec": "é" * 32769}}, {}),
         ['.windowsOptions.gmsaCredentialSpec: Invalid value: "éé*32768é": gmsaCredentialSpec'
          " size must be under 64 KiB"]),
    ],
)  # fmt: skip
def test_security_of_containers(row: Any, expected: list[str]) -> None:
    assert of_own_security(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("", ['"": runAsUserName cannot be an empty string']),
        ("a", []),
        ("a\tb", ['"a\\tb": runAsUserName cannot contain control characters']),
        ("a\x7f", ['"a\\x7f": runAsUserName cannot contain control characters']),
        ("a\\b\\c", ['"a\\\\b\\\\c": runAsUserName cannot contain more than one backslash']),
        ("a\\", ["\"a\\\\\": runAsUserName's User cannot be empty"]),
        ("\\a",
         ["\"\\\\a\": runAsUserName's Domain doesn't match the NetBios nor the DNS format"]),
        ("a:b\\c",
         ["\"a:b\\\\c\": runAsUserName's Domain doesn't match the NetBios nor the DNS format"]),
        ("a.b\\c", []),
        (".a\\c",
         ["\".a\\\\c\": runAsUserName's Domain doesn't match the NetBios nor the DNS format"]),
        ("a_b.c\\d", []),
        ("-a.b\\c", []),
        ("a" * 16 + "\\c", []),
        ("_" + "a" * 15 + "\\c",
         ["\"_aaaaaaaaaaaaaaa\\\\c\": runAsUserName's Domain doesn't match the NetBios nor the"
          " DNS format"]),
        ("_" + "a" * 14 + "\\c", []),
        ("a." * 128 + "\\c",
         ["\"a.*256\\\\c\": runAsUserName's Domain length must be under 256 characters",
          "\"a.*256\\\\c\": runAsUserName's Domain doesn't match the NetBios nor the DNS format"]),
        ("a." * 127 + "a\\c", []),
        ("u" * 104, []),
        ("u" * 105,
         ["\"uu*104u\": runAsUserName's User length must not be longer than 104 characters"]),
        ("...", ["\"...\": runAsUserName's User cannot contain only periods or spaces"]),
        (". .", ["\". .\": runAsUserName's User cannot contain only periods or spaces"]),
        (".a", []),
        ("a,b",
         ["\"a,b\": runAsUserName's User cannot contain the following characters:"
          ' "/\\:;|=,+*?<>@[]']),
        ("a@b",
         ["\"a@b\": runAsUserName's User cannot contain the following characters:"
          ' "/\\:;|=,+*?<>@[]']),
        ("é" * 128 + "\\c",
         ["\"éé*128\\\\c\": runAsUserName's Domain length must be under 256 characters",
          "\"éé*128\\\\c\": runAsUserName's Domain doesn't match the NetBios nor the DNS"
          " format"]),
        ("é" * 53,
         ["\"é*53\": runAsUserName's User length must not be longer than 104 characters"]),
    ],
)  # fmt: skip
def test_users_of_windows(row: Any, expected: list[str]) -> None:
    assert of_user(row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"containers": [c("a", True), c("b", True)], "hostNetwork": True}, []),
        ({"containers": [c("a", True), c("b", True)]},
         ["hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any"
          " hostProcess containers"]),
        ({"containers": [c("a", True), c("b", False)], "hostNetwork": True},
         ['spec: Invalid value: "": ALL']),
        ({"containers": [c("a", True), c("b")], "hostNetwork": True},
         ['spec: Invalid value: "": ALL']),
        ({"containers": [c("a"), c("b", True)], "hostNetwork": True, **host(value=True)}, []),
        ({"containers": [c("a", False), c("b", True)], "hostNetwork": True,
         **host(value=True)},
         ["containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false:"
          " pod hostProcess value must be identical if both are specified, was true",
          'spec: Invalid value: "": ALL']),
        ({"containers": [c("a", False), c("b", True)], "hostNetwork": True,
         **host(value=False)},
         ["containers[1].securityContext.windowsOptions.hostProcess: Invalid value: true: pod"
          " hostProcess value must be identical if both are specified, was false",
          'spec: Invalid value: "": ALL']),
        ({"containers": [c("a")], "initContainers": [c("b", True)], "hostNetwork": True},
         ['spec: Invalid value: "": ALL']),
        ({"containers": [c("a", False)]}, []),
    ],
)  # fmt: skip
def test_processes_of_the_host(row: Any, expected: list[str]) -> None:
    assert of_spec(row) == expected


def test_an_empty_runtime_class_or_preemption_policy_is_not_absent() -> None:
    spec = {"containers": [{"name": "a", "image": "i"}], "priorityClassName": ""}
    assert of_spec(spec) == []
    first, second = of_spec(spec | {"runtimeClassName": "", "preemptionPolicy": ""})
    assert first.startswith('runtimeClassName: Invalid value: "": ')
    assert second == "preemptionPolicy: Required value"


def test_rules_of_an_init_container_without_a_policy_are_not_read() -> None:
    plain = {"name": "a", "image": "i"}
    rules = {"name": "b", "image": "i", "restartPolicyRules": [{"action": "x"}]}
    missing = (
        "restartPolicy: Required value: must specify restartPolicy when restart rules are used"
    )
    assert of_spec({"containers": [plain], "initContainers": [rules]}) == [
        f"initContainers[0].{missing}"
    ]
    assert of_spec({"containers": [rules]}) == [
        f"containers[0].{missing}",
        'containers[0].restartPolicyRules[0].action: Unsupported value: "x": supported values:'
        ' "Restart", "RestartAllContainers"',
        "containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified",
    ]


def test_fields_that_an_ephemeral_container_cannot_have_are_checked_too() -> None:
    policies = [{"resourceName": "x", "restartPolicy": "NotRequired"}]
    debugger = {"name": "e", "image": "i", "ports": [{"containerPort": 0}]}
    spec = {"containers": [{"name": "a", "image": "i"}]}
    forbidden = "Forbidden: cannot be set for an Ephemeral Container"
    found = of_spec(spec | {"ephemeralContainers": [debugger | {"resizePolicy": policies}]})
    assert found[:-1] == [
        "ephemeralContainers[0].ports[0].containerPort: Required value",
        'ephemeralContainers[0].resizePolicy: Unsupported value: "x": supported values: "cpu",'
        ' "memory"',
        f"ephemeralContainers[0].ports: {forbidden}",
        f"ephemeralContainers[0].resizePolicy: {forbidden}",
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((SECCOMP_POD, "unconfined", "Unconfined"), []),
        ((SECCOMP_POD, "unconfined", "RuntimeDefault"),
         ["securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and"
          " field must match"]),
        ((SECCOMP_POD, "docker/default", "RuntimeDefault"), []),
        ((SECCOMP_POD, "runtime/default", "Localhost", "a"),
         ["securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and"
          " field must match"]),
        ((SECCOMP_POD, "localhost/a", "Localhost", "a"), []),
        ((SECCOMP_POD, "localhost/b", "Localhost", "a"),
         ["securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile in"
          " annotation and field must match"]),
        ((SECCOMP_POD, "localhost/a", "Unconfined"),
         ["securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and"
          " field must match"]),
        ((SECCOMP_POD, "x", "Unconfined"),
         ['metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "x":'
          " must be a valid seccomp profile",
          "securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and"
          " field must match"]),
        ((SECCOMP_POD, "localhost//a", "Localhost", "/a"),
         ["metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value:"
          ' "/a": must be a relative path',
          'securityContext.seccompProfile.localhostProfile: Invalid value: "/a": must be a'
          " relative path"]),
        ((f"{SECCOMP}c", "localhost/a", "Localhost", "a"), []),
        ((f"{SECCOMP}c", "localhost/b", "Localhost", "a", "windows"),
         ["containers[0].securityContext.seccompProfile: Forbidden: cannot be set for a"
          " windows pod",
          "containers[0].securityContext.seccompProfile.localhostProfile: Forbidden: seccomp"
          " profile in annotation and field must match"]),
        ((f"{SECCOMP}c", "unconfined", "RuntimeDefault"),
         ["containers[0].securityContext.seccompProfile.type: Forbidden: seccomp type in"
          " annotation and field must match"]),
        ((f"{SECCOMP}d", "unconfined", "RuntimeDefault"), []),
        ((f"{APPARMOR}c", "runtime/default", "RuntimeDefault"), []),
        ((f"{APPARMOR}c", "docker/default", "RuntimeDefault"),
         ["metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Invalid"
          ' value: "docker/default": invalid AppArmor profile name: "docker/default"',
          "containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in"
          " annotation and field must match"]),
        ((f"{APPARMOR}c", "localhost/b", "Localhost", "a"),
         ["containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden:"
          " apparmor profile in annotation and field must match"]),
        ((f"{APPARMOR}c", "unconfined", "RuntimeDefault"),
         ["containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in"
          " annotation and field must match"]),
        ((f"{APPARMOR}c", "unconfined", "RuntimeDefault", "", "windows"),
         ["containers[0].securityContext.appArmorProfile: Forbidden: cannot be set for a"
          " windows pod"]),
        ((f"{APPARMOR}d", "", "RuntimeDefault"),
         ["metadata.annotations[container.apparmor.security.beta.kubernetes.io/d]: Invalid"
          ' value: "d": container not found']),
        ((f"{APPARMOR}c", "x", "x"),
         ["metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Invalid"
          ' value: "x": invalid AppArmor profile name: "x"',
          'containers[0].securityContext.appArmorProfile.type: Unsupported value: "x":'
          ' supported values: "Localhost", "RuntimeDefault", "Unconfined"']),
        ((f"{APPARMOR}c", "runtime/default", "Unconfined"),
         ["containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in"
          " annotation and field must match"]),
        ((f"{APPARMOR}c", "localhost/a", ""),
         ["containers[0].securityContext.appArmorProfile.type: Required value: type is"
          " required when appArmorProfile is set"]),
    ],
)  # fmt: skip
def test_profiles_of_annotations_and_fields_match(row: Any, expected: list[str]) -> None:
    assert of_profile(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("", ""), [".fieldPath: Required value"]),
        (("", "v2"), [".fieldPath: Required value"]),
        (("metadata.name", "v1"), []),
        (("metadata.name", "v2"),
         ['.fieldPath: Invalid value: "metadata.name": error converting fieldPath:'
          " unsupported pod version: v2"]),
        (("spec.nodeName", ""), []),
        (("spec.restartPolicy", ""),
         ['.fieldPath: Unsupported value: "spec.restartPolicy": supported values:'
          ' "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",'
          ' "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP",'
          ' "status.podIPs"']),
        (("status.phase", ""),
         ['.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name",'
          ' "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",'
          ' "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"']),
        (("spec.x", ""),
         ['.fieldPath: Invalid value: "spec.x": error converting fieldPath: field label not'
          " supported: spec.x"]),
        (("metadata.labels", ""),
         ['.fieldPath: Unsupported value: "metadata.labels": supported values:'
          ' "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",'
          ' "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP",'
          ' "status.podIPs"']),
        (("metadata.labels['a']", ""), []),
        (("metadata.labels['A/B/C']", ""),
         [': Invalid value: "A/B/C": a valid label key must consist of alphanumeric'
          " characters, '-', '_' or '.', and must start and end with an alphanumeric"
          " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation"
          " is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain"
          " prefix and '/' (e.g. 'example.com/MyName')"]),
        (("metadata.labels['']", ""),
         [': Invalid value: "": name part must be non-empty',
          ': Invalid value: "": NAME PART']),
        (("metadata.labels[a]", ""),
         ['.fieldPath: Invalid value: "metadata.labels[a]": error converting fieldPath: field'
          " label not supported: metadata.labels[a]"]),
        (("metadata.labels['a", ""),
         [".fieldPath: Invalid value: \"metadata.labels['a\": error converting fieldPath: field"
          " label not supported: metadata.labels['a"]),
        (("metadata.annotations['A.b/C']", ""), []),
        (("metadata.annotations['-']", ""), [': Invalid value: "-": NAME PART']),
        (("metadata.name['a']", ""),
         [': Invalid value: "metadata.name": does not support subscript']),
        (("spec.x['a']", ""),
         [".fieldPath: Invalid value: \"spec.x['a']\": error converting fieldPath: field label"
          " not supported: spec.x['a']"]),
        (("status.podIPs", ""), []),
        (("metadata.labels[a']", ""),
         [".fieldPath: Invalid value: \"metadata.labels[a']\": error converting fieldPath:"
          " field label not supported: metadata.labels[a']"]),
        (("metadata.annotations['A/B/c']", ""),
         [': Invalid value: "a/b/c": a valid label key must consist of alphanumeric'
          " characters, '-', '_' or '.', and must start and end with an alphanumeric"
          " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation"
          " is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain"
          " prefix and '/' (e.g. 'example.com/MyName')"]),
    ],
)  # fmt: skip
def test_references_to_fields(row: Any, expected: list[str]) -> None:
    assert of_field(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("", ""), [".resource: Required value"]),
        (("cpu", ""), ['.resource: Unsupported value: "cpu": supported values: RESOURCES']),
        (("requests.cpu", ""), []),
        (("limits.hugepages-2Mi", ""), []),
        (("hugepages-2Mi", ""),
         ['.resource: Unsupported value: "hugepages-2Mi": supported values: RESOURCES']),
        (("limits.cpu", "1m"), []),
        (("limits.cpu", "1"), []),
        (("limits.cpu", "0"), []),
        (("limits.cpu", "2"),
         [".divisor: Invalid value: \"limits.cpu\": only divisor's values 1m and 1 are"
          " supported with the cpu resource"]),
        (("limits.cpu", "1Mi"),
         [".divisor: Invalid value: \"limits.cpu\": only divisor's values 1m and 1 are"
          " supported with the cpu resource"]),
        (("limits.memory", "1"), []),
        (("limits.memory", "1Ki"), []),
        (("limits.memory", "1m"),
         ['.divisor: Invalid value: "limits.memory": DIVISORS memory resource']),
        (("limits.memory", "2Mi"),
         ['.divisor: Invalid value: "limits.memory": DIVISORS memory resource']),
        (("requests.ephemeral-storage", "1E"), []),
        (("requests.ephemeral-storage", "2"),
         ['.divisor: Invalid value: "requests.ephemeral-storage": DIVISORS local ephemeral'
          " storage resource"]),
        (("requests.hugepages-1Gi", "1Mi"), []),
        (("requests.hugepages-1Gi", "3"),
         ['.divisor: Invalid value: "requests.hugepages-1Gi": DIVISORS hugepages resource']),
        (("limits.x", "3"),
         ['.resource: Unsupported value: "limits.x": supported values: RESOURCES']),
        (("limits.cpu", "-1"),
         [".divisor: Invalid value: \"limits.cpu\": only divisor's values 1m and 1 are"
          " supported with the cpu resource"]),
        (("limits.cpu", "1x"),
         ['.divisor: Invalid value: "1x": quantities are numbers with an optional suffix,'
          " such as 500m, 2, 1.5Gi or 1e3"]),
    ],
)  # fmt: skip
def test_references_to_resources(row: Any, expected: list[str]) -> None:
    assert of_resource(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (env(configMapKeyRef={}),
         ['env[0].valueFrom.configMapKeyRef.name: Invalid value: "": SUBDOMAIN',
          "env[0].valueFrom.configMapKeyRef.key: Required value"]),
        (env(configMapKeyRef={"name": "A", "key": "a b"}),
         ['env[0].valueFrom.configMapKeyRef.name: Invalid value: "A": SUBDOMAIN',
          'env[0].valueFrom.configMapKeyRef.key: Invalid value: "a b": a valid config key'
          " must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or"
          " 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"]),
        (env(secretKeyRef={"name": "a", "key": ".."}),
         ["env[0].valueFrom.secretKeyRef.key: Invalid value: \"..\": must not be '..'"]),
        (env(secretKeyRef={"name": "a", "key": "..."}, configMapKeyRef={"name": "a",
         "key": "b"}),
         ["env[0].valueFrom.secretKeyRef.key: Invalid value: \"...\": must not start with '..'",
          'env[0].valueFrom: Invalid value: "": may not have more than one field specified at'
          " a time"]),
        (env(fileKeyRef={}),
         ["env[0].valueFrom.fileKeyRef.key: Required value",
          "env[0].valueFrom.fileKeyRef.volumeName: Required value",
          "env[0].valueFrom.fileKeyRef.path: Required value",
          'env[0].valueFrom.fileKeyRef.volumeName: Not found: ""']),
        (env(fileKeyRef={"key": "=", "volumeName": "A", "path": "../a"}),
         ['env[0].valueFrom.fileKeyRef.key: Invalid value: "=": VARIABLE',
          'env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "A": LABEL',
          "env[0].valueFrom.fileKeyRef.path: Invalid value: \"../a\": must not contain '..'",
          'env[0].valueFrom.fileKeyRef.volumeName: Not found: "A"']),
        (env(fileKeyRef={"key": "A", "volumeName": "v", "path": "a"}),
         ['env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"']),
        (env(fieldRef={"fieldPath": "metadata.name"},
         resourceFieldRef={"resource": "limits.cpu"}),
         ['env[0].valueFrom: Invalid value: "": may not have more than one field specified at'
          " a time"]),
        ({"env": [{"name": "A", "value": "a", "valueFrom": {"secretKeyRef": {"name": "a",
         "key": "b"}}}]},
         ['env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty']),
        ({"env": [{"name": "A", "valueFrom": {}}, {"name": ""}, {"name": "a=b"},
         {"name": "1 2"}]},
         ['env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`,'
          " `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
          "env[1].name: Required value",
          'env[2].name: Invalid value: "a=b": VARIABLE']),
        ({"envFrom": [{}]},
         ['envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`']),
        ({"envFrom": [{"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}]},
         ['envFrom: Invalid value: "": may not have more than one field specified at a time']),
        ({"envFrom": [{"prefix": "=", "configMapRef": {}}, {"prefix": "A",
         "secretRef": {"name": "A"}}]},
         ['envFrom[0].prefix: Invalid value: "=": VARIABLE',
          "envFrom[0].configMapRef.name: Required value",
          'envFrom[1].secretRef.name: Invalid value: "A": SUBDOMAIN']),
        ({"envFrom": [{"configMapRef": {"name": "a-"}}, {"secretRef": {"name": "-"}}]},
         ['envFrom[1].secretRef.name: Invalid value: "-": SUBDOMAIN']),
        ({"ports": [{}, {"containerPort": 65536, "hostPort": -1, "protocol": "x"}]},
         ["ports[0].containerPort: Required value",
          "ports[1].containerPort: Invalid value: 65536: must be between 1 and 65535,"
          " inclusive",
          "ports[1].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive",
          'ports[1].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"']),
        ({"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 1, "name": "a"}]},
         ['ports[1].name: Duplicate value: "a"']),
        ({"ports": [{"containerPort": 1, "name": "A_"}, {"containerPort": 65535,
         "name": "1"}]},
         ['ports[0].name: Invalid value: "A_": must contain only alpha-numeric characters'
          " (a-z, 0-9), and hyphens (-)",
          'ports[0].name: Invalid value: "A_": must contain at least one letter (a-z)',
          'ports[1].name: Invalid value: "1": must contain at least one letter (a-z)']),
        ({"ports": [{"containerPort": 1, "hostPort": 2}, {"containerPort": 3,
         "hostPort": 2}]},
         ['ports[1].hostPort: Duplicate value: "TCP//2"']),
        ({"terminationMessagePolicy": "x"},
         ['terminationMessagePolicy: Unsupported value: "x": supported values: "File",'
          ' "FallbackToLogsOnError"']),
        ({"terminationMessagePolicy": "FallbackToLogsOnError"}, []),
        ({"imagePullPolicy": "x"},
         ['imagePullPolicy: Unsupported value: "x": supported values: "Always",'
          ' "IfNotPresent", "Never"']),
        ({"image": ""}, ["image: Required value"]),
        ({"image": " a"},
         ['image: Invalid value: " a": must not have leading or trailing whitespace']),
        ({"name": ""}, ["name: Required value"]),
        ({"name": "A"}, ['name: Invalid value: "A": LABEL']),
        ({"restartPolicy": "x"},
         ['restartPolicy: Unsupported value: "x": supported values: "Always", "Never",'
          ' "OnFailure"']),
        ({"lifecycle": {"postStart": {}, "preStop": {"exec": {"command": []}}}},
         ["lifecycle.postStart: Required value: must specify a handler type",
          "lifecycle.preStop.exec.command: Required value"]),
        ({"lifecycle": {"postStart": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}}},
         ["lifecycle.postStart.tcpSocket: Forbidden: may not specify more than 1 handler type"]),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": -1}}}},
         ["lifecycle.preStop.sleep: Invalid value: -1: must be non-negative and less than"
          " terminationGracePeriodSeconds (30)"]),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
         ["lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than"
          " terminationGracePeriodSeconds (30)"]),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 30}}}}, []),
        ({"livenessProbe": {}}, ["livenessProbe: Required value: must specify a handler type"]),
        ({"livenessProbe": {"httpGet": {"port": 0, "path": "a", "scheme": "x"},
         "successThreshold": 2}},
         ["livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535,"
          " inclusive",
          'livenessProbe.httpGet.scheme: Unsupported value: "x": supported values: "HTTP",'
          ' "HTTPS"',
          "livenessProbe.successThreshold: Invalid value: 2: must be 1"]),
        ({"livenessProbe": {"httpGet": {"port": "a_b", "httpHeaders": [{"name": "a b"}]}}},
         ['livenessProbe.httpGet.port: Invalid value: "a_b": must contain only alpha-numeric'
          " characters (a-z, 0-9), and hyphens (-)",
          'livenessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must'
          " consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for"
          " validation is '[-A-Za-z0-9]+')"]),
        ({"readinessProbe": {"grpc": {"port": 0}, "terminationGracePeriodSeconds": 1}},
         ["readinessProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive",
          "readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set"
          " for readinessProbes"]),
        ({"startupProbe": {"tcpSocket": {"port": "a"}, "terminationGracePeriodSeconds": 0}},
         ["startupProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than"
          " 0"]),
        ({"readinessProbe": {"exec": {"command": ["a"]}, "periodSeconds": -1,
         "timeoutSeconds": -1, "initialDelaySeconds": -1, "failureThreshold": -1,
         "successThreshold": -1}},
         ["readinessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or"
          " equal to 0",
          "readinessProbe.timeoutSeconds: Invalid value: -1: must be greater than or equal to"
          " 0",
          "readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
          "readinessProbe.successThreshold: Invalid value: -1: must be greater than or equal"
          " to 0",
          "readinessProbe.failureThreshold: Invalid value: -1: must be greater than or equal"
          " to 0"]),
        ({"resizePolicy": [{}, {"resourceName": "x", "restartPolicy": "y"}]},
         ["resizePolicy: Required value",
          "resizePolicy: Required value",
          'resizePolicy: Unsupported value: "x": supported values: "cpu", "memory"',
          'resizePolicy: Unsupported value: "y": supported values: "NotRequired",'
          ' "RestartContainer"']),
        ({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2},
         ['resizePolicy[1]: Duplicate value: "cpu"']),
        ({"resources": {"claims": [{}, {"name": "a"}]}},
         ["resources.claims[0]: Required value",
          'resources.claims[1]: Not found: "a": must be one of the names in'
          " pod.spec.resourceClaims which is empty"]),
        ({"resources": {"limits": {"cpu": "-1", "x": "1", "a/b": "1.5"},
         "requests": {"cpu": "1"}}},
         ['resources.limits[a/b]: Invalid value: "1500m": must be an integer',
          'resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
          'resources.limits[x]: Invalid value: "x": must be a standard resource type or fully'
          " qualified",
          'resources.limits[x]: Invalid value: "x": must be a standard resource for containers',
          'resources.requests[a/b]: Invalid value: "1500m": must be an integer',
          'resources.requests: Invalid value: "1": must be less than or equal to cpu limit of'
          " -1",
          'resources.requests[x]: Invalid value: "x": must be a standard resource type or'
          " fully qualified",
          'resources.requests[x]: Invalid value: "x": must be a standard resource for'
          " containers"]),
        ({"resources": {"limits": {"memory": "1"}, "requests": {"memory": "2", "a/b": "1"}}},
         ["resources.limits: Required value: Limit must be set for non overcommitable"
          " resources",
          'resources.requests: Invalid value: "2": must be less than or equal to memory limit'
          " of 1"]),
        ({"resources": {"limits": {"hugepages-2Mi": "1Mi"}}},
         ['resources.limits[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive integer'
          " multiple of hugepages-2Mi",
          'resources.requests[hugepages-2Mi]: Invalid value: "1Mi": 1Mi is not positive'
          " integer multiple of hugepages-2Mi",
          "resources: Forbidden: HugePages require cpu or memory"]),
        ({"ports": [{"containerPort": 1, "hostPort": 2, "hostIP": "1.1.1.1", "protocol": "UDP"},
         {"containerPort": 1, "hostPort": 2, "hostIP": "1.1.1.2", "protocol": "UDP"},
         {"containerPort": 1, "hostPort": 2, "hostIP": "1.1.1.1"},
         {"containerPort": 3, "hostPort": 2, "hostIP": "1.1.1.1", "protocol": "UDP"}]},
         ['ports[3].hostPort: Duplicate value: "UDP/1.1.1.1/2"']),
        ({"ports": [{"containerPort": 1, "hostPort": 2, "protocol": ""}, {"containerPort": 1,
         "hostPort": 2, "protocol": "SCTP"}]},
         []),
        ({"terminationMessagePolicy": "", "imagePullPolicy": "", "livenessProbe": {"httpGet":
         {"port": 1, "scheme": ""}, "successThreshold": 0}, "startupProbe": {"exec": {"command":
         ["a"]}, "successThreshold": 2}},
         ["startupProbe.successThreshold: Invalid value: 2: must be 1"]),
        ({"envFrom": [{"configMapRef": {"name": "ab_-"}}, {"secretRef": {"name": "ab_c-"}},
         {"secretRef": {"name": "a_b-"}}]},
         ['envFrom[1].secretRef.name: Invalid value: "ab_c-": SUBDOMAIN',
          'envFrom[2].secretRef.name: Invalid value: "a_b-": SUBDOMAIN']),
        ({"lifecycle": {"postStart": {"exec": {"command": []}, "tcpSocket": {"port": 1}}}},
         ["lifecycle.postStart.exec.command: Required value",
          "lifecycle.postStart.tcpSocket: Forbidden: may not specify more than 1 handler type"]),
        ({"lifecycle": {"preStop": {"tcpSocket": {"port": 1}, "sleep": {"seconds": 31}}}},
         ["lifecycle.preStop.sleep: Forbidden: may not specify more than 1 handler type"]),
        ({"livenessProbe": {"httpGet": {"port": 1, "httpHeaders": [{"value": "a"}]}}},
         ['livenessProbe.httpGet.httpHeaders: Invalid value: "": a valid HTTP header must'
          " consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for"
          " validation is '[-A-Za-z0-9]+')"]),
        ({"resizePolicy": [{"restartPolicy": "NotRequired"}, {"restartPolicy": "NotRequired"}]},
         ["resizePolicy: Required value",
          'resizePolicy[1]: Duplicate value: ""',
          "resizePolicy: Required value"]),
        ({"restartPolicy": "Never", "restartPolicyRules": []}, []),
        ({"restartPolicyRules": []}, []),
        ({"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart", "exitCodes":
         {"operator": "In", "values": [1] * 255}}] * 20},
         []),
        ({"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart", "exitCodes":
         {"operator": "x", "values": [1] * 256}}, *[{"action": "Restart", "exitCodes": {"operator":
         "NotIn"}}] * 20]},
         ["restartPolicyRules: Too many: 21: must have at most 20 items",
          'restartPolicyRules[0].exitCodes.operator: Unsupported value: "x": supported'
          ' values: "In", "NotIn"',
          "restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items"]),
        ({"resources": {"requests": {"a.kubernetes.io/b": "1"}}}, []),
        ({"resources": {"requests": {"a/b": "1"}}},
         ["resources.limits: Required value: Limit must be set for non overcommitable"
          " resources"]),
        ({"resources": {"limits": {"hugepages-1500m": "4", "hugepages-1": "3", "cpu": "1"}}},
         ['resources.limits[hugepages-1500m]: Invalid value: "4": 4 is not positive integer'
          " multiple of hugepages-1500m",
          'resources.requests[hugepages-1500m]: Invalid value: "4": 4 is not positive integer'
          " multiple of hugepages-1500m"]),
        ({"resources": {"limits": {"cpu": "1x"}, "requests": {"cpu": "1"}}},
         ['resources.limits[cpu]: Invalid value: "1x": quantities are numbers with an'
          " optional suffix, such as 500m, 2, 1.5Gi or 1e3"]),
        ({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1x"}}},
         ['resources.requests[cpu]: Invalid value: "1x": quantities are numbers with an'
          " optional suffix, such as 500m, 2, 1.5Gi or 1e3"]),
    ],
)  # fmt: skip
def test_containers(row: Any, expected: list[str]) -> None:
    assert of_container(row) == expected
