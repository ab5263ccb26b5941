"""The rights in `deploy/` are those that podwright uses, no more and no less.

kube-apiserver writes down the requests of each service account. A request that is rejected, and a
verb of a rule that no request needs, fail the test.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from tests.e2e_real.audit import Requests, Right, audited, own_kubeconfig
from tests.e2e_real.cluster_processes import embedded, kubectl
from tests.e2e_real.test_sync import add_nodes, apply, pod, pods, running
from tests.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

DEPLOY = Path(__file__).parents[2] / "deploy"
GROUPS = "GenericWorkload=true,GangScheduling=true"
GROUP_FLAGS = (f"--feature-gates={GROUPS}", "--runtime-config=scheduling.k8s.io/v1alpha2=true")
GROUP_KIND = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "podgroups.scheduling.x-k8s.io",
        "annotations": {
            "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins"
        },
    },
    "spec": {
        "group": "scheduling.x-k8s.io",
        "names": {"kind": "PodGroup", "plural": "podgroups"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}  # fmt: skip
COSCHEDULING = {
    "schedulerName": "podwright",
    "plugins": {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "Coscheduling"}]},
    },
}
ELECTION = {"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "1s"}


def obj(api_version: str, kind: str, name: str, **fields):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def ours(name: str, *, cpu: str = "100m", claims=(), volumes=(), limits=None, **spec):
    """Return a pod for the scheduler in question."""
    made = pod(name, cpu=cpu)
    made["spec"] |= {"schedulerName": "podwright", "volumes": list(volumes), **spec}
    container = made["spec"]["containers"][0]
    if claims:
        made["spec"]["resourceClaims"] = [
            {"name": each, "resourceClaimName": each} for each in claims
        ]
        container["resources"]["claims"] = [{"name": each} for each in claims]
    if limits:
        container["resources"] |= {"limits": limits}
        container["resources"]["requests"] |= limits
    return made


def volume(claim: str):
    return {"name": "v", "persistentVolumeClaim": {"claimName": claim}}


def volume_claim(name: str, storage_class: str):
    spec = {
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    return obj("v1", "PersistentVolumeClaim", name, spec=spec)


def storage_class(name: str, provisioner: str):
    fields = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    return obj("storage.k8s.io/v1", "StorageClass", name, **fields)


def storage():
    on_node = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n0"]}
    local = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "local": {"path": "/v"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
    }
    yield storage_class("local", "kubernetes.io/no-provisioner")
    yield storage_class("made", "example.com/provisioner")
    yield obj("v1", "PersistentVolume", "local-0", spec=local)
    yield volume_claim("stays", "local")
    yield volume_claim("is-made", "made")


def devices():
    version = "resource.k8s.io/v1"
    classes = {"extendedResourceName": "example.com/gpu"}
    yield obj(version, "DeviceClass", "gpu", spec=classes)
    request = {"name": "one", "exactly": {"deviceClassName": "gpu"}}
    for name in ("device", "denied-device"):
        yield obj(version, "ResourceClaim", name, spec={"devices": {"requests": [request]}})
    spec = {
        "driver": "gpu.example.com",
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"d{number}"} for number in range(4)],
    }
    yield obj(version, "ResourceSlice", "n1", spec=spec)


def denial():
    """Return what rejects each binding of a pod whose name begins with `denied`."""
    rule = {
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
        "resources": ["pods/binding"],
    }  # fmt: skip
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "!object.metadata.name.startsWith('denied')"}],
    }
    version = "admissionregistration.k8s.io/v1"
    yield obj(version, "ValidatingAdmissionPolicy", "deny", spec=spec)
    binding = {"policyName": "deny", "validationActions": ["Deny"]}
    yield obj(version, "ValidatingAdmissionPolicyBinding", "deny", spec=binding)


def is_denied(cluster: Path) -> bool:
    """Whether the policy is in force."""
    binding = obj("v1", "Binding", "denied", target={"kind": "Node", "name": "n0"})
    path = "/api/v1/namespaces/default/pods/denied/binding?dryRun=All"
    done = kubectl(cluster, "create", "--raw", path, "-f", "-", stdin=json.dumps(binding))
    return "ValidatingAdmissionPolicy" in done.stderr


def rights_of(manifest: Path) -> set[Right]:
    """Return the rights of the ClusterRole in a file."""
    documents = yaml.safe_load_all(manifest.read_text())
    role = next(each for each in documents if each["kind"] == "ClusterRole")
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def until_all_used(expected: set[Right], requests: Requests, output: Path) -> None:
    """Wait until requests have needed all rights, or one was rejected."""
    try:
        until(lambda: requests.rejected() or not expected - requests.rights())
    except AssertionError:
        unused = sorted(expected - requests.rights())
        pytest.fail(f"no request needs {unused}; {output.read_text()[-4000:]}")


def with_groups(folder: Path) -> Sequence[str]:
    """Return options of a scheduler that has the plugins of both kinds of groups."""
    config = folder / "scheduler.yaml"
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    document = {**head, "leaderElection": ELECTION, "profiles": [COSCHEDULING]}
    config.write_text(yaml.safe_dump(document))
    return "--config", str(config), "--feature-gates", GROUPS


def test_the_rights_of_the_scheduler(tmp_path):
    with audited(tmp_path, *GROUP_FLAGS) as (cluster, log):
        applied = kubectl(cluster, "apply", "-k", str(DEPLOY / "scheduler"))
        assert applied.returncode == 0, applied.stderr
        apply(cluster, GROUP_KIND, *denial())
        add_nodes(cluster)
        for name in ("n0", "n3"):
            kubectl(cluster, "label", "node", name, f"kubernetes.io/hostname={name}")
        apply(cluster, *storage(), *devices())
        # No controller of volumes runs.
        available = json.dumps({"status": {"phase": "Available"}})
        kubectl(cluster, "patch", "pv", "local-0", "--subresource=status", "-p", available)
        until(lambda: is_denied(cluster))
        options = with_groups(tmp_path)
        apply(cluster, ours("small"))
        requests = Requests(log, "podwright-scheduler")
        expected = rights_of(DEPLOY / "scheduler" / "cluster-role.yaml")
        own = own_kubeconfig(cluster, tmp_path, "podwright-scheduler")
        command = ("scheduler", "--kubeconfig", str(own), *options)
        with running(tmp_path, "scheduler", *command) as output:
            _use_every_right(cluster)
            until_all_used(expected, requests, output)
        assert requests.rejected() == []
        assert requests.rights() == expected


def test_the_rights_of_what_reads(tmp_path):
    with (
        audited(tmp_path, *GROUP_FLAGS) as (cluster, log),
        embedded(tmp_path / "copy", "--no-scheduler", "--no-controllers") as copy,
    ):
        applied = kubectl(cluster, "apply", "-k", str(DEPLOY / "reader"))
        assert applied.returncode == 0, applied.stderr
        apply(cluster, GROUP_KIND)
        add_nodes(cluster)
        apply(cluster, ours("small"))
        own = own_kubeconfig(cluster, tmp_path, "podwright-reader")
        source = ("--kubeconfig", str(own))
        options = with_groups(tmp_path)
        requests = Requests(log, "podwright-reader")
        expected = rights_of(DEPLOY / "reader" / "cluster-role.yaml")
        with (
            running(tmp_path, "sync", "sync", *source, "--to", str(copy)),
            running(tmp_path, "dry", "scheduler", *source, "--dry-run", *options) as decisions,
        ):
            until_all_used(expected, requests, decisions)
            until(lambda: "default/small" in decisions.read_text())
            until(lambda: "small" in pods(copy))
        for command in ("import", "record"):
            times = ("--duration", "1s", "--out", "record") if command == "record" else ()
            done = podwright(tmp_path, command, *source, *times)
            assert done.returncode == 0, done.stderr
            assert "warning" not in done.stderr
        assert requests.rejected() == []
        assert requests.rights() == expected


def podwright(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of podwright to its end."""
    command = [str(Path(sys.executable).with_name("podwright")), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _use_every_right(cluster: Path) -> None:
    group = obj(
        "scheduling.k8s.io/v1alpha2", "PodGroup", "gang",
        spec={"schedulingPolicy": {"gang": {"minCount": 2}}},
    )  # fmt: skip
    member = {"schedulingGroup": {"podGroupName": "gang"}}
    apply(cluster, group)
    filler = ours("filler", cpu="8", nodeName="n3")
    apply(cluster, filler, ours("local", volumes=[volume("stays")]))
    high = {"priorityClassName": "podwright-scheduler", "priority": 1_000_000_000}
    apply(
        cluster,
        ours("big", cpu="100"),
        ours("gang-0", cpu="100", **member),
        ours("gang-1", cpu="100", **member),
        ours("provisioned", volumes=[volume("is-made")]),
        ours("device", claims=["device"]),
        ours("denied-device", claims=["denied-device"]),
        ours("denied-extended", limits={"example.com/gpu": "1"}),
        ours("high", cpu="7", nodeSelector={"kubernetes.io/hostname": "n3"}, **high),
    )
    until(lambda: "Insufficient cpu" in kubectl(cluster, "describe", "pod", "big").stdout)
    # The pod is tried again, with the same result: its Event becomes a series.
    kubectl(cluster, "delete", "pod", "small", "--grace-period=0", "--force")
