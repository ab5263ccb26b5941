"""podwright's controllers leave the cluster as upstream's kube-controller-manager does.

Whole objects are compared, without what the table `NORMALIZATIONS` names.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest
from tests.e2e_real.cluster_processes import controller_manager, embedded, kubectl
from tests.e2e_real.normalizations import KUBELET, NORMALIZATIONS, differences, pointless
from tests.waiting import until

pytestmark = pytest.mark.e2e

SECONDS_MAX = 180
KINDS = (
    "deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "cronjobs", "pods",
    "controllerrevisions", "services", "endpoints", "endpointslices", "resourcequotas",
    "serviceaccounts", "configmaps", "poddisruptionbudgets", "replicationcontrollers",
)  # fmt: skip


def template(app, **spec):
    container = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": "100m"}}}
    container |= spec.pop("container", {})
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container], **spec},
    }


def workload(kind, name, *, api="apps/v1", **spec):
    selector = {"matchLabels": {"app": name}}
    spec = {"selector": selector, "template": template(name)} | spec
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def batch(kind, name, **spec):
    return {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def job_spec(command, **spec):
    container = {"image": "busybox", "command": ["sh", "-c", command]}
    return {"template": template("job", container=container, restartPolicy="Never")} | spec


def core(kind, name, api="v1", **fields):
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **fields}


LOAD = (
    core("ResourceQuota", "all", spec={"hard": {"pods": "40", "services": "9", "secrets": "4"}}),
    workload("Deployment", "web", replicas=4),
    workload("Deployment", "paused", replicas=2, paused=True),
    workload("ReplicaSet", "set", replicas=2),
    workload("StatefulSet", "db", replicas=3, serviceName="db"),
    workload("DaemonSet", "agent"),
    workload("ReplicationController", "old", api="v1", replicas=2, selector={"app": "old"}),
    batch("Job", "once", **job_spec("exit 0", completions=3, parallelism=2)),
    batch("Job", "indexed", **job_spec("exit 0", completions=2, completionMode="Indexed")),
    batch("Job", "failing", **job_spec("exit 1", backoffLimit=0)),
    batch("Job", "waiting", **job_spec("exit 0", suspend=True)),
    batch("CronJob", "later", schedule="0 0 1 1 *", jobTemplate={"spec": job_spec("exit 0")}),
    core("Service", "web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}),
    core("Service", "db", spec={"selector": {"app": "db"}, "clusterIP": "None"}),
    core(
        "PodDisruptionBudget", "web", api="policy/v1",
        spec={"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    ),
)  # fmt: skip


def run(kubeconfig, *arguments, stdin=None):
    result = kubectl(kubeconfig, *arguments, stdin=stdin)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def objects(kubeconfig):
    """Return the objects of each kind, with their managers."""
    shown = ("-o", "json", "--show-managed-fields")
    return json.loads(run(kubeconfig, "get", ",".join(KINDS), *shown))["items"]


def wait_for_service_account(kubeconfig, namespace):
    """Wait until pods of a namespace are admitted: they need its service account."""
    listed = ("-n", namespace, "get", "serviceaccounts", "--output", "name")
    until(lambda: "default" in kubectl(kubeconfig, *listed).stdout, SECONDS_MAX, pause_seconds=1)


def test_the_same_load_ends_in_the_same_state(tmp_path, record_property):
    counts: Counter[str] = Counter()
    load = "\n---\n".join(map(json.dumps, LOAD))
    with (
        embedded(tmp_path / "own", "--nodes", "3") as own,
        embedded(tmp_path / "real", "--nodes", "3", "--no-controllers") as real,
        controller_manager(tmp_path, real),
    ):
        both = (own, real)

        def agree(step):
            agreed: list[object] = []

            def have_agreed():
                mine, theirs = map(objects, both)
                if differences(mine, theirs, without={KUBELET}):
                    agreed.clear()
                    return False
                agreed.append((mine, theirs))
                return len(agreed) == 3  # for a while: both may still change

            until(
                have_agreed,
                SECONDS_MAX,
                pause_seconds=1,
                describe=lambda: "\n".join(
                    [step, *differences(*map(objects, both), without={KUBELET})]
                ),
            )
            mine, theirs = map(objects, both)
            differences(mine, theirs, counts, without={KUBELET})

        for kubeconfig in both:
            wait_for_service_account(kubeconfig, "default")
            run(kubeconfig, "create", "-f", "-", stdin=load)
        agree("created")
        for kubeconfig in both:
            run(kubeconfig, "scale", "deployment/web", "--replicas=2")
            run(kubeconfig, "set", "image", "statefulset/db", "main=nginx:2")
            run(kubeconfig, "set", "image", "daemonset/agent", "main=nginx:2")
            run(kubeconfig, "rollout", "resume", "deployment/paused")
            run(kubeconfig, "delete", "replicaset/set", "--wait=false")
            run(kubeconfig, "delete", "rc/old", "--cascade=orphan", "--wait=false")
            run(kubeconfig, "delete", "job/once", "--wait=false")
        agree("changed")
    for name in NORMALIZATIONS:
        record_property(name, counts[name])
    assert not pointless(counts, without={KUBELET}), "a normalization that hides nothing goes"


def test_a_namespace_is_deleted_with_its_content(tmp_path):
    content = (
        workload("Deployment", "web", replicas=2),
        batch("Job", "once", **job_spec("exit 0")),
        core("Service", "web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}),
        core("ConfigMap", "settings", data={"key": "value"}),
    )
    load = "\n---\n".join(map(json.dumps, content))
    with (
        embedded(tmp_path / "own", "--nodes", "2") as own,
        embedded(tmp_path / "real", "--nodes", "2", "--no-controllers") as real,
        controller_manager(tmp_path, real),
    ):
        for kubeconfig in (own, real):
            run(kubeconfig, "create", "namespace", "shop")
            wait_for_service_account(kubeconfig, "shop")
            run(kubeconfig, "-n", "shop", "create", "-f", "-", stdin=load)
            available = ("--for=condition=Available", "deployment/web")
            run(kubeconfig, "-n", "shop", "wait", *available, f"--timeout={SECONDS_MAX}s")
        for kubeconfig in (own, real):
            run(kubeconfig, "delete", "namespace", "shop", f"--timeout={SECONDS_MAX}s")
            gone = kubectl(kubeconfig, "get", "namespace", "shop")
            assert "not found" in gone.stderr
            left = run(kubeconfig, "-n", "shop", "get", ",".join(KINDS), "-o", "name")
            assert left == ""
