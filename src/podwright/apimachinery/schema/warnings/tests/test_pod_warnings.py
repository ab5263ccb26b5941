"""Warnings about parts of pods: a row is a part, and its whole list.

Upstream: pkg/api/pod/warnings.go
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.warnings import pods, workloads

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def files(*paths: str) -> list[dict[str, str]]:
    return [{"path": path} for path in paths]


def projected(*sources: dict[str, Any]) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "projected": {"sources": list(sources)}}]}


def noted(keys: list[str]) -> dict[str, Any]:
    annotations = dict.fromkeys(keys, "x")
    return {"metadata": {"annotations": annotations}, "spec": {"containers": [{}]}}


def ports(*found: dict[str, Any]) -> dict[str, Any]:
    return {"containers": [{"ports": [{"protocol": "TCP"} | each for each in found]}]}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"volumes": [{"photonPersistentDisk": {}}, {"gitRepo": {}}, {"scaleIO": {}},
         {"flocker": {}}, {"storageos": {}}, {"quobyte": {}}, {"glusterfs": {}}, {"cephfs":
         {}}, {"rbd": {}}]},
         ["spec.volumes[0].photonPersistentDisk: deprecated in v1.11, non-functional in"
          " v1.16+",
          "spec.volumes[1].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
          "spec.volumes[2].scaleIO: deprecated in v1.16, non-functional in v1.22+",
          "spec.volumes[3].flocker: deprecated in v1.22, non-functional in v1.25+",
          "spec.volumes[4].storageOS: deprecated in v1.22, non-functional in v1.25+",
          "spec.volumes[5].quobyte: deprecated in v1.22, non-functional in v1.25+",
          "spec.volumes[6].glusterfs: deprecated in v1.25, non-functional in v1.26+",
          "spec.volumes[7].cephfs: deprecated in v1.28, non-functional in v1.31+",
          "spec.volumes[8].rbd: deprecated in v1.28, non-functional in v1.31+"]),
        ({"volumes": [{"ephemeral": {}}, {"ephemeral": {"volumeClaimTemplate": {"spec":
         {"resources": {"requests": {"storage": "1m"}}}}}}]},
         ["spec.volumes[1].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]:"
          ' fractional byte value "1m" is invalid, must be an integer']),
        ({"hostAliases": [{}, {"ip": "1.1.1.1"}]}, []),
        ({"hostAliases": [{}, {}]}, ['spec.hostAliases[1].ip: duplicate ip ""']),
        ({"containers": [{"env": [{"name": "A"}, {"name": "A"}, {"name": "B", "value": "x"},
         {"name": "B", "value": "$(B)", "valueFrom": None}, {"name": "B", "value": "$(A)"}]}]},
         ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped'
          " when using apply",
          'spec.containers[0].env[3]: hides previous definition of "B", which may be dropped'
          " when using apply",
          'spec.containers[0].env[4]: hides previous definition of "B", which may be dropped'
          " when using apply"]),
        ({"affinity": None, "dnsConfig": {}, "imagePullSecrets": [{}, {}], "nodeSelector":
         None},
         ['spec.imagePullSecrets[1].name: duplicate name ""',
          'spec.imagePullSecrets[0].name: invalid empty name ""',
          'spec.imagePullSecrets[1].name: invalid empty name ""']),
        ({"affinity": {"podAffinity": {}, "podAntiAffinity": {PREFERRED: [{}], REQUIRED:
         [{}]}}},
         ["spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
          "[0].labelSelector:"
          " a null labelSelector results in matching no pod",
          "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecutio"
          "n[0].podAffinityTerm.labelSelector:"
          " a null labelSelector results in matching no pod"]),
        ({"affinity": {"nodeAffinity": {REQUIRED: {}, PREFERRED: [{"preference":
         {"matchExpressions": [{"key": "failure-domain.beta.kubernetes.io/zone"}]}}]}}},
         ["spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0"
          "].preference.matchExpressions[0].key:"
          " failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use"
          ' "topology.kubernetes.io/zone" instead']),
        ({"topologySpreadConstraints": [{"topologyKey": "a", "labelSelector": None}, {}]},
         ["spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in"
          " matching no pod",
          "spec.topologySpreadConstraints[1].labelSelector: a null labelSelector results in"
          " matching no pod"]),
        (ports({"containerPort": 80, "hostPort": 1, "hostIP": "1.1.1.1"}, {"containerPort":
         80, "hostPort": 1}, {"containerPort": 80, "hostPort": 1, "hostIP": "1.1.1.2"},
         {"containerPort": 80, "hostPort": 2, "hostIP": "1.1.1.1"}, {"containerPort": 80}),
         ["spec.containers[0].ports[1]: dangerously ambiguous port definition with"
          " spec.containers[0].ports[0]",
          "spec.containers[0].ports[2]: dangerously ambiguous port definition with"
          " spec.containers[0].ports[1]",
          "spec.containers[0].ports[4]: overlapping port definition with"
          " spec.containers[0].ports[0]",
          "spec.containers[0].ports[4]: overlapping port definition with"
          " spec.containers[0].ports[1]",
          "spec.containers[0].ports[4]: overlapping port definition with"
          " spec.containers[0].ports[2]",
          "spec.containers[0].ports[4]: overlapping port definition with"
          " spec.containers[0].ports[3]"]),
        (ports({"containerPort": 80}, {"containerPort": 80, "hostIP": "1.1.1.1"}),
         ["spec.containers[0].ports[1]: hostIP set without hostPort: {Name: HostPort:0"
          " ContainerPort:80 Protocol:TCP HostIP:1.1.1.1}",
          "spec.containers[0].ports[1]: overlapping port definition with"
          " spec.containers[0].ports[0]"]),
        (ports({"hostIP": "1.1.1.1"}),
         ["spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0"
          " ContainerPort:0 Protocol:TCP HostIP:1.1.1.1}"]),
        ({"containers": [{}, {"ports": [{"containerPort": 1, "name": "a"}]}],
         "initContainers": [{"ports": [{"containerPort": 2, "name": "a"}]}]},
         ['spec.containers[1].ports[0]: duplicate port name "a" with'
          " spec.initContainers[0].ports[0], services and probes that select ports by name"
          " will use spec.initContainers[0].ports[0]"]),
        ({"volumes": [{"name": "v", "secret": {"items": files("a", "a")}}, {"name": "w",
         "projected": {"sources": [{"secret": {"items": files("b", "b")}}]}}]},
         ['volume "v" (Secret ""): overlapping paths: "a" with "a"',
          'volume "w" (Projected): overlapping paths: "b" (Secret "") with "b" (Secret "")']),
        ({"volumes": [{"configMap": {"items": files("a", "a")}}, {"name": "w", "downwardAPI":
         {}}]},
         ['volume "" (ConfigMap ""): overlapping paths: "a" with "a"']),
        (projected({"clusterTrustBundle": {"name": "n", "signerName": "s", "path": "a"}},
         {"clusterTrustBundle": {"path": "a/b"}}),
         ['volume "v" (Projected): overlapping paths: "a/b" (ClusterTrustBundle "") with "a"'
          ' (ClusterTrustBundle "n")']),
        (projected({"serviceAccountToken": {"path": "t/"}}, {"podCertificate":
         {"credentialBundlePath": "t/x", "keyPath": "k", "certificateChainPath": "k"}},
         {"configMap": {"name": "m"}}, {"downwardAPI": {"items": files("k/y", "z")}}),
         ['volume "v" (Projected): overlapping paths: "k" (PodCertificate key) with "k"'
          " (PodCertificate chain)",
          'volume "v" (Projected): overlapping paths: "t/x" (PodCertificate credential'
          ' bundle) with "t" (ServiceAccountToken)',
          'volume "v" (Projected): overlapping paths: "k/y" (DownwardAPI) with "k"'
          " (PodCertificate chain)",
          'volume "v" (Projected): overlapping paths: "k/y" (DownwardAPI) with "k"'
          " (PodCertificate key)"]),
        (projected({"configMap": {"items": files("a/b/c")}}, {"secret": {"items": files("a/b",
         "a/b/c/d", "b")}}),
         ['volume "v" (Projected): overlapping paths: "a/b" (Secret "") with "a/b/c"'
          ' (ConfigMap "")',
          'volume "v" (Projected): overlapping paths: "a/b/c/d" (Secret "") with "a/b/c"'
          ' (ConfigMap "")',
          'volume "v" (Projected): overlapping paths: "a/b/c/d" (Secret "") with "a/b"'
          ' (Secret "")']),
        ({"volumes": [{"name": "v", "projected": {}}]}, []),
        ({"terminationGracePeriodSeconds": -1, "overhead": {"memory": "1m",
         "ephemeral-storage": "1m", "cpu": "1m"}},
         ['spec.overhead[memory]: fractional byte value "1m" is invalid, must be an integer',
          'spec.overhead[ephemeral-storage]: fractional byte value "1m" is invalid, must be'
          " an integer",
          "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and"
          " will be treated as 1"]),
        (ports({"containerPort": 1}, {"containerPort": 2, "name": "a"}, {"containerPort": 3,
         "name": "a"}),
         ['spec.containers[0].ports[2]: duplicate port name "a" with'
          " spec.containers[0].ports[1], services and probes that select ports by name will"
          " use spec.containers[0].ports[1]"]),
        (ports({"containerPort": 1}, {"containerPort": 1, "hostPort": 1}),
         ["spec.containers[0].ports[1]: overlapping port definition with"
          " spec.containers[0].ports[0]"]),
        (ports({"containerPort": 1, "hostPort": 1, "hostIP": "1.1.1.1"}, {"containerPort": 1,
         "hostPort": 1, "hostIP": "1.1.1.1"}, {"containerPort": 1, "hostPort": 2}),
         ["spec.containers[0].ports[1]: duplicate port definition with"
          " spec.containers[0].ports[0]"]),
    ],
)  # fmt: skip
def test_specs(row: Any, expected: list[str]) -> None:
    assert pods.template_warnings("", {"spec": row}) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (["scheduler.alpha.kubernetes.io/critical-pod",
         "security.alpha.kubernetes.io/sysctls",
         "security.alpha.kubernetes.io/unsafe-sysctls"],
         ["metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional"
          ' in v1.16+; use the "priorityClassName" field instead',
          "metadata.annotations[security.alpha.kubernetes.io/sysctls]: non-functional in"
          ' v1.11+; use the "sysctls" field instead',
          "metadata.annotations[security.alpha.kubernetes.io/unsafe-sysctls]: non-functional"
          ' in v1.11+; use the "sysctls" field instead']),
        (["container.seccomp.security.alpha.kubernetes.io/",
         "seccomp.security.alpha.kubernetes.io/pod"],
         ["metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in"
          ' v1.27+; use the "seccompProfile" field instead',
          "metadata.annotations[container.seccomp.security.alpha.kubernetes.io/]:"
          ' non-functional in v1.27+; use the "seccompProfile" field instead']),
    ],
)  # fmt: skip
def test_annotations(row: Any, expected: list[str]) -> None:
    assert pods.template_warnings("", noted(row)) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, []),
        ({"status": {"podIPs": [{}], "hostIPs": [{"ip": "01.1.1.1"}]}},
         ['status.hostIPs[0].ip: non-standard IP address "01.1.1.1" is invalid: use "1.1.1.1"']),
    ],
)  # fmt: skip
def test_statuses(row: Any, expected: list[str]) -> None:
    assert pods.pod_status_warnings(row, None) == expected


def of_workload(name: str, new: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    found: list[str] = getattr(workloads, f"{name}_warnings")(new, old)
    return [line.partition(" is used")[0] for line in found]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("deployment", {}), ["metadata.name: this"]),
        (("daemon_set", {}), []),
        (("daemon_set", {"spec": {}}, {"spec": {"template": {"spec": {"containers": []}}}}), []),
        (("stateful_set", {"metadata": {"name": "A"}, "spec": {"revisionHistoryLimit": -1,
         "volumeClaimTemplates": [{}]}}),
         ["spec.revisionHistoryLimit: a negative value retains all historical revisions; a"
          " value >= 0 is recommended"]),
        (("stateful_set", {}, {}), []),
        (("stateful_set", {"spec": {"revisionHistoryLimit": 0}}), []),
        (("replication_controller", {"metadata": {"name": "a"}}), []),
        (("replication_controller", {"metadata": {"generation": 2}}, {"metadata":
         {"generation": 1}}),
         []),
        (("pod_template", {}), []),
        (("pod_template", {"metadata": {"generation": 1}}, {"metadata": {"generation": 1},
         "template": {}}),
         []),
        (("job", {"metadata": {"name": "a"}}), []),
        (("job", {"metadata": {"name": "a"}, "spec": {"completionMode": "Indexed",
         "completions": 100001}}),
         []),
        (("job", {"metadata": {"name": "a"}, "spec": {"completionMode": "Indexed",
         "parallelism": 10001}}),
         []),
        (("job", {"metadata": {"name": "A"}, "spec": {"completionMode": "Indexed",
         "completions": 100001, "parallelism": 10001}}, {"metadata": {"generation": 1}}),
         ["spec: In Indexed Jobs with a number of completions higher than 10^5 and a"
          " parallelism higher than 10^4, Kubernetes might not be able to track"
          " completedIndexes when a big number of indexes fail"]),
        (("cron_job", {"metadata": {"name": "a"}}), []),
        (("cron_job", {"metadata": {"name": "a"}, "spec": {"jobTemplate": {"spec":
         {"completionMode": "Indexed", "completions": 100001, "parallelism": 10001}},
         "schedule": "TZ=UTC"}}),
         ["spec.jobTemplate.spec: In Indexed Jobs with a number of completions higher than"
          " 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track"
          " completedIndexes when a big number of indexes fail"]),
        (("cron_job", {"metadata": {"generation": 1}, "spec": {"jobTemplate": {}}}, {}), []),
        (("cron_job", {}, {}), []),
    ],
)  # fmt: skip
def test_workloads(row: Any, expected: list[str]) -> None:
    assert of_workload(*row) == expected


def test_pods_that_share_a_spec_have_the_same_warnings() -> None:
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    container = {"name": "c", "image": "a", "env": [{"name": "A"}, {"name": "A"}]}

    def made(name: str) -> Any:
        written = {"metadata": {"name": name}, "spec": {"containers": [container]}}
        return kind.checked(written)[0]

    first = pods.pod_warnings(made("a"), None)
    assert len(first) == 1
    assert pods.pod_warnings(made("b"), None) == first
    assert len(pods.pod_warnings(made("a.b"), None)) == 2
    assert len(pods.pod_warnings({"spec": {}}, None)) == 1
