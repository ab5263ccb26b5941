"""All warnings about an object, as whole lists, by upstream's rules.

Upstream: pkg/api/pod/warnings.go; pkg/registry/*/*/strategy.go
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from podwright.apimachinery.schema.apparmor_annotations import (
    USE_APPARMOR,
    apparmor_profile,
    with_apparmor_profiles,
)
from podwright.apimachinery.schema.container_totals import container_totals
from podwright.apimachinery.schema.warnings import configuration, pods, workloads

NULL = "a null labelSelector results in matching no pod"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
USE_ZONE = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
MASTER = "node-role.kubernetes.io/master"
USE_MASTER = 'use "node-role.kubernetes.io/control-plane" instead'
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or"
    " '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def term(key: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "a"}, {"key": key, "values": list(values)}]}


SPECS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"nodeSelector": {OLD_ZONE: "z", "x": "y", MASTER: ""}},
     [f"spec.nodeSelector[{OLD_ZONE}]: {USE_ZONE}", f"spec.nodeSelector[{MASTER}]: {USE_MASTER}"]),
    ({"affinity": {"nodeAffinity": {
        REQUIRED: {"nodeSelectorTerms": [{}, term(OLD_ZONE, "-")]},
        PREFERRED: [{"weight": 1}, {"preference": term(MASTER, "ok", "-")}]}}},
     [f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[1].matchExpressions[1].key:"
      f" {OLD_ZONE} is {USE_ZONE}",
      f"spec.affinity.nodeAffinity.{PREFERRED}[1].preference.matchExpressions[1].key:"
      f" {MASTER} is {USE_MASTER}",
      f"spec.affinity.nodeAffinity.{PREFERRED}[1].preference.matchExpressions[1].values[1]: - is"
      f" invalid, {WORDS}"]),
    ({"topologySpreadConstraints": [{"topologyKey": "zone", "labelSelector": {}},
                                    {"topologyKey": OLD_ZONE}]},
     [f"spec.topologySpreadConstraints[1].topologyKey: {OLD_ZONE} is {USE_ZONE}",
      f"spec.topologySpreadConstraints[1].labelSelector: {NULL}"]),
    ({"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "storageos": {}, "rbd": {}},
                  {"name": "c", "gitRepo": {}, "cephfs": None}]},
     ["spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+",
      "spec.volumes[1].rbd: deprecated in v1.28, non-functional in v1.31+",
      "spec.volumes[2].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"]),
    ({"volumes": [{"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {
        "requests": {"storage": "1.5"}, "limits": {"storage": "1500m", "memory": "1m"}}}}}}]},
     ["spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional"
      ' byte value "1.5" is invalid, must be an integer',
      "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.limits[storage]: fractional"
      ' byte value "1500m" is invalid, must be an integer']),
    ({"hostAliases": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.5"}, {"ip": "1.2.3.4"}, {"ip": "01.2.3.4"}]},
     ['spec.hostAliases[2].ip: duplicate ip "1.2.3.4"',
      'spec.hostAliases[3].ip: non-standard IP address "01.2.3.4" is invalid: use "1.2.3.4"']),
    ({"imagePullSecrets": [{"name": "a"}, {}, {"name": "a"}]},
     ['spec.imagePullSecrets[2].name: duplicate name "a"',
      'spec.imagePullSecrets[1].name: invalid empty name ""']),
    ({"overhead": {"memory": "100m", "cpu": "100m", "ephemeral-storage": "1"}},
     ['spec.overhead[memory]: fractional byte value "100m" is invalid, must be an integer']),
    ({"terminationGracePeriodSeconds": -1},
     ["spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be"
      " treated as 1"]),
    ({"terminationGracePeriodSeconds": 0}, []),
    ({"affinity": {"podAffinity": {REQUIRED: [{"labelSelector": {}}, {}],
                                   PREFERRED: [{"podAffinityTerm": {}}]},
                   "podAntiAffinity": {REQUIRED: [{}], PREFERRED: [
                       {"podAffinityTerm": {"labelSelector": {}}}, {}]}}},
     [f"spec.affinity.podAffinity.{REQUIRED}[1].labelSelector: {NULL}",
      f"spec.affinity.podAffinity.{PREFERRED}[0].podAffinityTerm.labelSelector: {NULL}",
      f"spec.affinity.podAntiAffinity.{REQUIRED}[0].labelSelector: {NULL}",
      f"spec.affinity.podAntiAffinity.{PREFERRED}[1].podAffinityTerm.labelSelector: {NULL}"]),
    ({"dnsConfig": {"nameservers": ["1.1.1.1", "1.1.1.01"]}},
     ['spec.dnsConfig.nameservers[1]: non-standard IP address "1.1.1.01" is invalid: use'
      ' "1.1.1.1"']),
]  # fmt: skip


def test_the_warnings_about_the_spec_of_a_pod() -> None:
    for spec, expected in SPECS:
        assert pods.template_warnings("", {"spec": spec}) == expected, spec
        below = [each.replace("spec.", "spec.template.spec.", 1) for each in expected]
        assert pods.template_warnings("spec.template", {"spec": spec}) == below, spec


CRITICAL = "scheduler.alpha.kubernetes.io/critical-pod"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
USE_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'


@pytest.mark.parametrize(
    ("notes", "spec", "in_pod", "in_template"),
    [
        ([CRITICAL], {}, [f'{CRITICAL}]: non-functional in v1.16+; use the "priorityClassName"'
                          " field instead"], None),
        ([SECCOMP_POD], {}, [f"{SECCOMP_POD}]: {USE_SECCOMP}"], None),
        ([SECCOMP_POD], {"securityContext": {"seccompProfile": {}}}, [], None),
        ([f"{SECCOMP}c", f"{SECCOMP}x"], {}, [f"{SECCOMP}c]: {USE_SECCOMP}"], None),
        ([f"{SECCOMP}c"],
         {"containers": [{"name": "c", "securityContext": {"seccompProfile": {}}}]},
         [], None),
        ([f"{APPARMOR}c"], {}, [], [f"{APPARMOR}c]: {USE_APPARMOR}"]),
        ([f"{APPARMOR}c"], {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
         [], []),
        ([f"{APPARMOR}c"], {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}, [],
         [f"{APPARMOR}c]: {USE_APPARMOR}"]),
        ([f"{APPARMOR}c"],
         {"containers": [{"name": "c", "securityContext": {"appArmorProfile": {}}}]},
         [], []),
    ],
)  # fmt: skip
def test_annotations_that_have_become_fields(notes, spec, in_pod, in_template) -> None:
    template = {
        "metadata": {"annotations": dict.fromkeys(notes, "unconfined")},
        "spec": {"containers": [{"name": "c"}]} | spec,
    }
    at = "metadata.annotations["
    assert pods.template_warnings("", template) == [f"{at}{each}" for each in in_pod]
    expected = in_pod if in_template is None else in_template
    found = pods.template_warnings("spec.template", template)
    assert found == [f"spec.template.{at}{each}" for each in expected]


def test_the_warnings_about_containers() -> None:
    def env(*pairs: Any) -> list[Any]:
        return [{"name": name, "value": value} for name, value in pairs]

    spec = {
        "initContainers": [{"resources": {"limits": {"memory": "0.5", "cpu": "0.5"},
                                          "requests": {"ephemeral-storage": "1m"}}}],
        "containers": [{"env": [
            *env(("A", "1"), ("A", "2"), ("A", "$(A):x"), ("A", "$(A)"), ("B", "")),
            {"name": "B", "valueFrom": {}}, {},
        ]}],
        "ephemeralContainers": [{"resources": {"requests": {"memory": "1.5"}}}],
    }  # fmt: skip
    hides = "hides previous definition of"
    dropped = "which may be dropped when using apply"
    assert pods.template_warnings("", {"spec": spec}) == [
        'spec.initContainers[0].resources.limits[memory]: fractional byte value "0.5" is invalid,'
        " must be an integer",
        'spec.initContainers[0].resources.requests[ephemeral-storage]: fractional byte value "1m"'
        " is invalid, must be an integer",
        f'spec.containers[0].env[1]: {hides} "A", {dropped}',
        f'spec.containers[0].env[3]: {hides} "A", {dropped}',
        f'spec.containers[0].env[5]: {hides} "B", {dropped}',
        'spec.ephemeralContainers[0].resources.requests[memory]: fractional byte value "1.5" is'
        " invalid, must be an integer",
    ]


def port(number: int, **more: Any) -> dict[str, Any]:
    return {"containerPort": number, "protocol": "TCP", **more}


P0, P1 = "spec.containers[0].ports[0]", "spec.containers[0].ports[1]"


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        ([port(80)], []),
        ([port(80), port(81)], []),
        ([port(80), port(80, protocol="UDP")], []),
        ([port(80), port(80)], [f"{P1}: duplicate port definition with {P0}"]),
        ([port(80), port(80, hostPort=1)], [f"{P1}: overlapping port definition with {P0}"]),
        ([port(80, hostPort=1), port(80)], [f"{P1}: overlapping port definition with {P0}"]),
        ([port(80, hostPort=1), port(80, hostPort=2)], []),
        ([port(80, hostPort=1), port(80, hostPort=1)],
         [f"{P1}: duplicate port definition with {P0}"]),
        ([port(80, hostPort=1), port(80, hostPort=1, hostIP="1.1.1.1")],
         [f"{P1}: dangerously ambiguous port definition with {P0}"]),
        ([port(80, hostPort=1, hostIP="1.1.1.1"), port(80, hostPort=1)],
         [f"{P1}: dangerously ambiguous port definition with {P0}"]),
        ([port(80, hostPort=1, hostIP="1.1.1.1"), port(80, hostPort=1, hostIP="1.1.1.2")], []),
        ([port(80, hostIP="1.1.1.1", name="web")],
         [f"{P0}: hostIP set without hostPort: {{Name:web HostPort:0 ContainerPort:80 Protocol:TCP"
          " HostIP:1.1.1.1}"]),
        ([port(80, name="web"), port(81, name="web"), port(82, name="web")],
         [f'spec.containers[0].ports[{n}]: duplicate port name "web" with {P0}, services and probes'
          f" that select ports by name will use {P0}" for n in (1, 2)]),
    ],
)  # fmt: skip
def test_ports_that_repeat_or_contradict_others(ports, expected) -> None:
    spec = {"containers": [{"name": "c", "ports": ports}]}
    assert pods.template_warnings("", {"spec": spec}) == expected


def files(*paths: str) -> list[dict[str, str]]:
    return [{"path": path} for path in paths]


PROJECTED: dict[str, Any] = {"name": "v", "projected": {"sources": [
    {"configMap": {"name": "m", "items": files("a")}},
    {"secret": {"name": "s", "items": files("a/b")}},
    {"downwardAPI": {"items": files("c")}}, {"serviceAccountToken": {"path": "c/d"}},
    {"clusterTrustBundle": {"signerName": "x", "path": "a"}}, {},
    {"podCertificate": {"keyPath": "k", "certificateChainPath": "k/x"}},
]}}  # fmt: skip


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"name": "v", "configMap": {"name": "m", "items": files("a", "b", "ab")}}, []),
        ({"name": "v", "configMap": {"name": "m", "items": files("a", "a/", "")}},
         ['volume "v" (ConfigMap "m"): overlapping paths: "a" with "a"']),
        ({"name": "v", "secret": {"secretName": "s", "items": files("a/b", "a", "a/b/c")}},
         ['volume "v" (Secret "s"): overlapping paths: "a" with "a/b"',
          'volume "v" (Secret "s"): overlapping paths: "a/b/c" with "a/b"',
          'volume "v" (Secret "s"): overlapping paths: "a/b/c" with "a"']),
        ({"name": "v", "downwardAPI": {"items": files("x", "x")}},
         ['volume "v" (DownwardAPI): overlapping paths: "x" with "x"']),
        (PROJECTED, [
            'volume "v" (Projected): overlapping paths: "a/b" (Secret "s") with "a"'
            ' (ConfigMap "m")',
            'volume "v" (Projected): overlapping paths: "c/d" (ServiceAccountToken) with "c"'
            " (DownwardAPI)",
            'volume "v" (Projected): overlapping paths: "a" (ClusterTrustBundle "x") with "a"'
            ' (ConfigMap "m")',
            'volume "v" (Projected): overlapping paths: "a" (ClusterTrustBundle "x") with "a/b"'
            ' (Secret "s")',
            'volume "v" (Projected) has no sources provided',
            'volume "v" (Projected): overlapping paths: "k" (PodCertificate key) with "k/x"'
            " (PodCertificate chain)",
        ]),
    ],
)  # fmt: skip
def test_files_of_a_volume_that_hide_each_other(volume, expected) -> None:
    assert pods.path_warnings([{"name": "other", "emptyDir": {}}, volume]) == expected


def test_names_of_pods_and_workloads_are_dns_labels() -> None:
    found = pods.pod_warnings({"metadata": {"name": "a.b"}}, None)
    assert len(found) == 1
    assert found[0].startswith(
        "metadata.name: this is used in the Pod's hostname, which can result in surprising"
        " behavior; a DNS label is recommended: ["
    )
    assert pods.pod_warnings({"metadata": {"name": "a.b"}}, {}) == []
    assert pods.pod_warnings({"metadata": {"name": "ab"}}, None) == []
    status = {"podIPs": [{"ip": "1.1.1.1"}, {"ip": "01.1.1.1"}], "hostIPs": [{"ip": "::FF"}, {}]}
    assert pods.pod_status_warnings({"status": status}, None) == [
        'status.podIPs[1].ip: non-standard IP address "01.1.1.1" is invalid: use "1.1.1.1"',
        'status.hostIPs[0].ip: IPv6 address "::FF" should be in RFC 5952 canonical format ("::ff")',
    ]


# ------------------------------------------------------------------------------- workloads

GRACE = "terminationGracePeriodSeconds"
NEGATIVE = f"spec.{GRACE}: must be >= 0; negative values are invalid and will be treated as 1"


def a_workload(name: str = "a.b", generation: int = 1, *, bad: bool = True, **spec: Any) -> Any:
    template = {"spec": {GRACE: -1}} if bad else {"spec": {}}
    return {"metadata": {"name": name, "generation": generation},
            "spec": {"template": template, **spec}}  # fmt: skip


def shown(warnings: list[str]) -> list[str]:
    """Return warnings; of the one about the name only the field."""
    return [each.partition(":")[0] if each.startswith("metadata.name") else each
            for each in warnings]  # fmt: skip


BAD = f"spec.template.{NEGATIVE}"


@pytest.mark.parametrize(
    ("warn", "new", "same", "changed"),
    [
        (workloads.deployment_warnings, ["metadata.name", BAD], [], [BAD]),
        (workloads.daemon_set_warnings, [BAD], [], []),
        (workloads.stateful_set_warnings, [BAD], [], [BAD]),
        (workloads.replication_controller_warnings, ["metadata.name", BAD], [], [BAD]),
        (workloads.job_warnings, ["metadata.name", BAD], [], [BAD]),
        (workloads.pod_template_warnings, [], [], []),
    ],
)
def test_templates_are_looked_at_when_they_change(warn, new, same, changed) -> None:
    assert shown(warn(a_workload(), None)) == new
    assert shown(warn(a_workload(), a_workload())) == same
    assert shown(warn(a_workload(generation=2), a_workload())) == changed
    template = {"metadata": {"generation": 1}, "template": {"spec": {GRACE: -1}}}
    assert workloads.pod_template_warnings(template, None) == [f"template.{NEGATIVE}"]
    assert workloads.daemon_set_warnings(a_workload(), a_workload(bad=False)) == [BAD]
    before = workloads.replication_controller_warnings(
        a_workload(generation=2, bad=False), a_workload()
    )
    assert before == [BAD]


def test_the_warnings_about_stateful_sets_and_jobs() -> None:
    claims = [{}, {"spec": {"resources": {"requests": {"storage": "1.5"}}}}]
    fields: dict[str, Any] = {
        "bad": False,
        "volumeClaimTemplates": claims,
        "revisionHistoryLimit": -1,
    }
    fraction = 'fractional byte value "1.5" is invalid, must be an integer'
    history = (
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0"
        " is recommended"
    )
    new = a_workload("s", **fields)
    path = "spec.volumeClaimTemplates[1]"
    assert workloads.stateful_set_warnings(new, None) == [
        f"{path}.resources.requests[storage]: {fraction}", history,
    ]  # fmt: skip
    assert workloads.stateful_set_warnings(new, new) == [
        f"{path}.Spec.resources.requests[storage]: {fraction}", history,
    ]  # fmt: skip
    assert workloads.stateful_set_warnings(a_workload("s", bad=False, revisionHistoryLimit=0),
                                           None) == []  # fmt: skip
    many = (
        "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher"
        " than 10^4, Kubernetes might not be able to track completedIndexes when a big number of"
        " indexes fail"
    )
    rows = [
        ("Indexed", 100_001, 10_001, [f"spec: {many}"]), ("Indexed", 100_000, 10_001, []),
        ("Indexed", 100_001, 10_000, []), ("NonIndexed", 100_001, 10_001, []),
    ]  # fmt: skip
    for mode, completions, parallelism, expected in rows:
        job = a_workload("j", bad=False, completionMode=mode, completions=completions,
                         parallelism=parallelism)  # fmt: skip
        assert workloads.job_warnings(job, None) == expected


def test_the_warnings_about_cron_jobs() -> None:
    def a_cron_job(schedule: str, generation: int = 1) -> Any:
        inner = a_workload()["spec"]
        return {"metadata": {"name": "c", "generation": generation},
                "spec": {"schedule": schedule, "jobTemplate": {"spec": inner}}}  # fmt: skip

    zone = (
        "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see"
        " https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
    )
    bad = f"spec.jobTemplate.spec.template.{NEGATIVE}"
    assert workloads.cron_job_warnings(a_cron_job("TZ=UTC 0 * * * *"), None) == [bad]
    old = a_cron_job("0 * * * *")
    assert workloads.cron_job_warnings(a_cron_job("CRON_TZ=UTC 0 * * * *", 2), old) == [bad, zone]
    assert workloads.cron_job_warnings(a_cron_job("TZ=UTC 0 * * * *"), old) == [zone]
    assert workloads.cron_job_warnings(old, old) == []


# --------------------------------------------------------------------------- configuration


def pem(*kinds: str) -> str:
    text = "".join(f"-----BEGIN {kind}-----\nx\n-----END {kind}-----\n" for kind in kinds)
    return b64encode(text.encode()).decode()


CERTIFICATE, KEY = pem("CERTIFICATE"), pem("RSA PRIVATE KEY")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"tls.crt": CERTIFICATE, "tls.key": KEY}, ""),
        ({"tls.crt": pem("X", "CERTIFICATE"), "tls.key": pem("PRIVATE KEY")}, ""),
        ({"tls.key": KEY}, "tls: failed to find any PEM data in certificate input"),
        ({"tls.crt": "?", "tls.key": KEY}, "tls: failed to find any PEM data in certificate input"),
        ({"tls.crt": KEY, "tls.key": KEY}, "tls: failed to find certificate PEM data in certificate"
         " input, but did find a private key; PEM inputs may have been switched"),
        ({"tls.crt": pem("X", "Y"), "tls.key": KEY}, 'tls: failed to find "CERTIFICATE" PEM block'
         " in certificate input after skipping PEM blocks of the following types: [X Y]"),
        ({"tls.crt": CERTIFICATE}, "tls: failed to find any PEM data in key input"),
        ({"tls.crt": CERTIFICATE, "tls.key": CERTIFICATE},
         "tls: found a certificate rather than a key in the PEM for the private key"),
        ({"tls.crt": CERTIFICATE, "tls.key": pem("A", "MYPRIVATE KEY")},
         'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after'
         " skipping PEM blocks of the following types: [A MYPRIVATE KEY]"),
    ],
)  # fmt: skip
def test_the_certificate_and_the_key_of_a_secret(data, expected) -> None:
    secret = {"type": "kubernetes.io/tls", "data": data}
    assert configuration.secret_warnings(secret, None) == ([expected] if expected else [])
    assert configuration.secret_warnings(secret | {"type": "Opaque"}, None) == []


MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"
STATIC = (
    'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based'
    " configurations and cannot be managed via the API"
)
TOKENS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to"
    " prevent possible logging of tokens in volume attributes"
)
ASKS: Any = {"spec": {"tokenRequests": [{"audience": "a"}]}}


def noted(*keys: str) -> dict[str, Any]:
    return {"metadata": {"annotations": dict.fromkeys(keys, "")}}


QUOTA = {
    "cpu": "2", "limits.cpu": "1500m", "requests.memory": "2Gi", "memory": "1",
    "limits.memory": "1Gi", "requests.ephemeral-storage": "2", "limits.ephemeral-storage": "1",
}  # fmt: skip

CONFIGURATION: list[tuple[Any, Any, Any, list[str]]] = [
    (configuration.service_account_warnings, noted(), None, []),
    (configuration.service_account_warnings, noted(MOUNTABLE), None,
     [f"metadata.annotations[{MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to"
      " isolate access to mounted secrets"]),
    (configuration.service_account_warnings, noted(MOUNTABLE), noted(MOUNTABLE), []),
    (configuration.slice_warnings, {"spec": {"driver": "a.b"}}, None, []),
    (configuration.slice_warnings, {"spec": {"driver": "A.b"}}, None,
     ['spec.driver: driver names should be lowercase; "A.b" contains uppercase characters']),
    (configuration.admission_warnings, {"metadata": {"name": "a.static.k8s.io"}}, None, [STATIC]),
    (configuration.admission_warnings, {"metadata": {"name": "a.static.k8s.io"}}, {}, [STATIC]),
    (configuration.admission_warnings, {"metadata": {"name": "a.k8s.io"}}, None, []),
    (configuration.quota_warnings, {"spec": {}}, None, []),
    (configuration.quota_warnings, {"spec": {"hard": QUOTA}}, None,
     ["ResourceQuota cpu (2) should be less than limits.cpu (1500m)",
      "ResourceQuota requests.memory (2Gi) should be less than limits.memory (1Gi)",
      "ResourceQuota requests.ephemeral-storage (2) should be less than"
      " limits.ephemeral-storage (1)"]),
    (configuration.quota_warnings, {"spec": {"hard": QUOTA}}, {"spec": {}}, []),
    (configuration.quota_warnings,
     {"spec": {"hard": {"requests.cpu": "1", "cpu": "2", "limits.cpu": "1",
                        "storage": "2", "limits.storage": "1", "memory": "1"}}}, None, []),
    (configuration.node_warnings, {}, None, []),
    (configuration.node_warnings,
     {"spec": {"configSource": {}, "externalID": "x", "podCIDRs": ["10.0.0.0/8", "10.0.0.1/8"]}},
     None,
     ["spec.configSource: the feature is removed",
      "spec.externalID: this field is deprecated, and is unused by Kubernetes",
      'spec.podCIDRs[1]: CIDR value "10.0.0.1/8" is ambiguous in this context (should be'
      ' "10.0.0.0/8" or "10.0.0.1/32"?)']),
    (configuration.runtime_class_warnings,
     {"scheduling": {"nodeSelector": {"x": "", MASTER: ""}}}, None,
     [f"scheduling.nodeSelector: {USE_MASTER}"]),
    (configuration.volume_warnings, {}, None, []),
    (configuration.volume_warnings,
     noted("volume.beta.kubernetes.io/mount-options", "volume.beta.kubernetes.io/storage-class")
     | {"spec": {"persistentVolumeReclaimPolicy": "Recycle", "rbd": {}, "storageos": {},
                 "nodeAffinity": {"required": {"nodeSelectorTerms": [term(OLD_ZONE)]}}}}, None,
     ['metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use'
      ' "storageClassName" attribute instead',
      'metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use'
      ' "mountOptions" attribute instead',
      "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the"
      " recommended approach is to use dynamic provisioning.",
      "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[1].key:"
      f" {OLD_ZONE} is {USE_ZONE}",
      "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
      "spec.rbd: deprecated in v1.28, non-functional in v1.31+"]),
    (configuration.class_warnings,
     {"allowedTopologies": [{}, {"matchLabelExpressions": [{"key": "a"}, {"key": OLD_ZONE}]}]},
     None,
     [f"allowedTopologies[1].matchLabelExpressions[1].key: {USE_ZONE}"]),
    (configuration.capacity_warnings,
     {"nodeTopology": {"matchLabels": {OLD_ZONE: "", "x": ""}, **term(MASTER, "-")}}, None,
     [f"nodeTopology.matchExpressions[1].key: {MASTER} is {USE_MASTER}",
      f"nodeTopology.matchLabels.{OLD_ZONE}: {USE_ZONE}"]),
    (configuration.driver_warnings, {}, None, []),
    (configuration.driver_warnings, ASKS, None, [TOKENS]),
    (configuration.driver_warnings, ASKS, ASKS, []),
    (configuration.driver_warnings, ASKS, {}, [TOKENS]),
    (configuration.driver_warnings,
     {"spec": ASKS["spec"] | {"serviceAccountTokenInSecrets": False}}, None, []),
    (pods.claim_warnings, {}, None, []),
    (pods.claim_warnings, noted("volume.beta.kubernetes.io/storage-class")
     | {"spec": {"resources": {"limits": {"storage": "1m"}}}}, None,
     ['metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use'
      ' "storageClassName" attribute instead',
      'spec.resources.limits[storage]: fractional byte value "1m" is invalid, must be an integer']),
]  # fmt: skip


def test_the_warnings_about_configuration() -> None:
    for warn, new, old, expected in CONFIGURATION:
        assert warn(new, old) == expected, f"{warn.__name__} of {new}"


@pytest.mark.parametrize(
    ("amount", "is_fraction"),
    [("1", False), ("1.0", False), ("1Ki", False), ("1.5Ki", False), ("0.1Ki", True), ("1m", True),
     ("1000m", False), ("1500m", True), (1.5, True), (2, False), ("1e-1", True), ("1e3", False),
     ("123456789012345", False), ("999999Ti", False)],
)  # fmt: skip
def test_a_fraction_of_a_byte_is_named(amount, is_fraction) -> None:
    found = pods.fraction_warnings("a", {"memory": amount, "cpu": "1m"})
    assert len(found) == is_fraction
    assert pods.fraction_warnings("a", None) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fd00::/8", ""),
        ("fd00::1/8", 'CIDR value "fd00::1/8" is ambiguous in this context (should be "fd00::/8" or'
         ' "fd00::1/128"?)'),
        ("FD00::/8",
         'IPv6 CIDR value "FD00::/8" should be in RFC 5952 canonical format ("fd00::/8")'),
        ("::ffff:10.0.0.0/104", 'non-standard CIDR value "::ffff:10.0.0.0/104" is invalid: use'
         ' "10.0.0.0/8"'),
        ("10.0.0.0/0", 'CIDR value "10.0.0.0/0" is ambiguous in this context (should be "0.0.0.0/0"'
         ' or "10.0.0.0/32"?)'),
        ("10.0.0.0", ""), ("10.0.0.0/", ""),
    ],
)  # fmt: skip
def test_networks_in_other_forms(text, expected) -> None:
    assert configuration.cidr_warnings("a", text) == ([f"a: {expected}"] if expected else [])


# --------------------------------------------------------------- AppArmor and the sums


@pytest.mark.parametrize(
    ("annotation", "profile"),
    [
        ("unconfined", {"type": "Unconfined"}),
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("localhost/x", {"type": "Localhost", "localhostProfile": "x"}),
        ("localhost/a/b", {"type": "Localhost", "localhostProfile": "a/b"}),
        ("localhost/" + "x" * 4095, {"type": "Localhost", "localhostProfile": "x" * 4095}),
        ("localhost/" + "x" * 4096, None),
        ("localhost/", None),
        ("localhost/ x", None),
        ("localhost", None),
        ("other/x", None),
        ("", None),
    ],
)
def test_the_profile_of_an_annotation(annotation, profile) -> None:
    assert apparmor_profile(annotation) == profile
    pod = {"metadata": {"annotations": {f"{APPARMOR}c": annotation}},
           "spec": {"containers": [{"name": "c"}, {"name": "d"}]}}  # fmt: skip
    found, warned = with_apparmor_profiles(pod)
    security = {} if profile is None else {"securityContext": {"appArmorProfile": profile}}
    assert found["spec"]["containers"] == [{"name": "c", **security}, {"name": "d"}]
    assert warned == [f"metadata.annotations[{APPARMOR}c]: {USE_APPARMOR}"]


def test_profiles_that_are_fields_already_stay() -> None:
    notes = {f"{APPARMOR}{name}": "unconfined" for name in "ice"}
    unconfined = {"type": "Unconfined"}
    own = {"name": "c", "securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}
    spec = {"initContainers": [{"name": "i", "securityContext": {"runAsUser": 1}}],
            "containers": [own], "ephemeralContainers": [{"name": "e"}]}  # fmt: skip
    found, warned = with_apparmor_profiles({"metadata": {"annotations": notes}, "spec": spec})
    assert found["spec"] == {
        "initContainers": [
            {"name": "i", "securityContext": {"runAsUser": 1, "appArmorProfile": unconfined}}
        ],
        "containers": [own],
        "ephemeralContainers": [{"name": "e", "securityContext": {"appArmorProfile": unconfined}}],
    }
    assert [each.partition("]")[0][-1] for each in warned] == ["i", "e"]
    of_pod = {"securityContext": {"appArmorProfile": unconfined}}
    for unchanged in (spec | of_pod, spec | {"os": {"name": "windows"}}):
        pod = {"metadata": {"annotations": notes}, "spec": unchanged}
        assert with_apparmor_profiles(pod) == (pod, [])
    linux = {"metadata": {"annotations": notes}, "spec": spec | {"os": {"name": "linux"}}}
    assert len(with_apparmor_profiles(linux)[1]) == 2
    plain = {"metadata": {"annotations": {"a": "b"}}}
    assert with_apparmor_profiles(plain)[0] is plain


def test_the_sum_of_containers_and_the_steps_before_them() -> None:
    def container(restarts: str = "", **requests: str) -> dict[str, Any]:
        policy = {"restartPolicy": restarts} if restarts else {}
        return {"resources": {"requests": requests}} | policy

    unit = 10**9
    spec = {
        "containers": [container(cpu="1"), container(cpu="500m", memory="1"), {}],
        "initContainers": [
            container(cpu="2"), container("Always", cpu="1", disk="3"), container(cpu="2"),
            container(memory="5"),
        ],
    }  # fmt: skip
    assert container_totals(spec, "requests") == {
        "cpu": 3 * unit, "memory": 5 * unit, "disk": 3 * unit,
    }  # fmt: skip
    assert container_totals(spec, "limits") == {}
    assert container_totals({}, "requests") == {}
    more = spec | {"containers": [container(cpu="4")]}
    assert container_totals(more, "requests")["cpu"] == 5 * unit
