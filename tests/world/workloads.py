"""Random workloads and changes of them."""

from __future__ import annotations

from random import Random
from typing import Any

from podwright.apimachinery.objects import KubernetesObject
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets.pod_statuses import EXIT_CODE, RUN_DELAY
from podwright.simulation.world.inputs.operations import Apply, Scale
from podwright.simulation.world.world import World

DEPLOYMENTS = (("default", "web"), ("shop", "api"))
SETS = (("apps", "Deployment"), ("apps", "StatefulSet"))


def an_object(kind: str, api: str, namespace: str, name: str, spec: Any) -> KubernetesObject:
    """Return an object of a kind."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return decode({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec})


def a_template(app: str, cpu: str, version: int = 0, **spec: Any) -> dict[str, Any]:
    """Return the pod template of a workload."""
    container: dict[str, Any] = {"name": "main", "image": f"{app}:{version}"}
    container |= {"resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container]} | spec}


def a_deployment(draw: Random, namespace: str, name: str) -> KubernetesObject:
    """Return a deployment, to create it or to roll it out."""
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": draw.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": {"matchLabels": {"app": name}},
    }
    template = a_template(name, draw.choice(("300m", "800m")), draw.randrange(3))
    if draw.random() < 0.5:
        template["spec"]["topologySpreadConstraints"] = [spread]
    strategy: dict[str, Any] = {"type": "Recreate"}
    if draw.random() < 0.8:
        most = draw.choice(({"maxSurge": 0, "maxUnavailable": 1}, {"maxSurge": "50%"}))
        strategy = {"type": "RollingUpdate", "rollingUpdate": most}
    return an_object(
        "Deployment",
        "apps/v1",
        namespace,
        name,
        {
            "replicas": draw.randrange(1, 5),
            "selector": {"matchLabels": {"app": name}},
            "strategy": strategy,
            "template": template,
        },
    )


def a_stateful_set(draw: Random) -> KubernetesObject:
    """Return a stateful set with claims."""
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    return an_object(
        "StatefulSet",
        "apps/v1",
        "default",
        "db",
        {
            "replicas": draw.randrange(1, 4),
            "serviceName": "db",
            "podManagementPolicy": draw.choice(("OrderedReady", "Parallel")),
            "selector": {"matchLabels": {"app": "db"}},
            "template": a_template("db", "500m", draw.randrange(2)),
            "volumeClaimTemplates": [claim],
        },
    )


def a_daemon_set(draw: Random) -> KubernetesObject:
    """Return a daemon set."""
    template = a_template("agent", "100m", draw.randrange(2))
    selector = {"matchLabels": {"app": "agent"}}
    return an_object(
        "DaemonSet", "apps/v1", "default", "agent", {"selector": selector, "template": template}
    )


def a_job(draw: Random, number: int) -> KubernetesObject:
    """Return a job."""
    template = a_template(f"job{number}", "500m", restartPolicy="Never")
    exit_code = "1" if draw.random() < 0.2 else "0"
    delay = f"{draw.randrange(1, 200)}s"
    template["metadata"]["annotations"] = {RUN_DELAY: delay, EXIT_CODE: exit_code}
    spec: dict[str, Any] = {
        "completions": draw.randrange(1, 5),
        "parallelism": draw.randrange(1, 4),
    }
    if draw.random() < 0.5:
        spec |= {"completionMode": "Indexed"}
        if draw.random() < 0.5:
            spec |= {"backoffLimitPerIndex": 1}
    return an_object("Job", "batch/v1", "default", f"j{number}", spec | {"template": template})


def a_budget(draw: Random, namespace: str, name: str) -> KubernetesObject:
    """Return a disruption budget of a deployment."""
    wish = draw.choice(({"minAvailable": 1}, {"maxUnavailable": 1}, {"minAvailable": "50%"}))
    spec = {"selector": {"matchLabels": {"app": name}}} | wish
    return an_object("PodDisruptionBudget", "policy/v1", namespace, name, spec)


def fill(draw: Random, world: World) -> None:
    """Add the first workloads to a cluster."""
    world.add(
        decode(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": "fast"},
                "provisioner": "csi.example.com",
                "reclaimPolicy": "Delete",
                "volumeBindingMode": "WaitForFirstConsumer",
            }
        )
    )
    for namespace, name in DEPLOYMENTS:
        world.add(a_deployment(draw, namespace, name), a_budget(draw, namespace, name))
    world.add(a_stateful_set(draw), a_daemon_set(draw), a_job(draw, 0))


# --------------------------------------------------------------------------- changes of workloads


def roll_out(draw: Random, world: World) -> None:
    """Apply another version of a deployment."""
    namespace, name = draw.choice(DEPLOYMENTS)
    there = world.store.get(("", "Namespace"), namespace)
    if there is None or there.metadata.deletion_timestamp is None:
        world.do(Apply(a_deployment(draw, namespace, name)))


def update_set(draw: Random, world: World) -> None:
    """Apply another template of the daemon set."""
    world.do(Apply(a_daemon_set(draw)))


def update_stateful_set(draw: Random, world: World) -> None:
    """Apply another template of the stateful set; its other fields are immutable."""
    there = world.store.get(("apps", "StatefulSet"), "default/db")
    if there is not None:
        template = a_template("db", "500m", draw.randrange(3))
        spec = there.raw["spec"] | {"template": template}
        world.do(Apply(an_object("StatefulSet", "apps/v1", "default", "db", spec)))


def suspend(draw: Random, world: World) -> None:
    """Suspend or resume a job."""
    jobs = world.store.list(("batch", "Job")).objects
    if jobs:
        job = draw.choice(jobs)
        spec = job.raw["spec"] | {"suspend": draw.random() < 0.5}
        world.do(Apply(decode(job.raw | {"spec": spec})))


def scale(draw: Random, world: World) -> None:
    """Scale a workload."""
    group, kind = draw.choice(SETS)
    found = world.store.list((group, kind)).objects
    if found:
        world.do(Scale((group, kind), draw.choice(found).key, draw.randrange(6)))


def start_job(draw: Random, world: World) -> None:
    """Create a job."""
    number = draw.randrange(1, 5)
    if world.store.get(("batch", "Job"), f"default/j{number}") is None:
        world.add(a_job(draw, number))


def delete_workload(draw: Random, world: World) -> None:
    """Delete a workload or a namespace."""
    kind = draw.choice(
        (("apps", "Deployment"), ("apps", "ReplicaSet"), ("batch", "Job"), ("", "Namespace"))
    )
    found = [obj for obj in world.store.list(kind).objects if kind[1] != "Namespace"]
    shop = world.store.get(("", "Namespace"), "shop")
    if kind[1] == "Namespace" and shop is not None:
        found = [shop]
    if found:
        world.remove(draw.choice(found))


WORKLOAD_CHANGES = (
    roll_out,
    roll_out,
    update_set,
    update_stateful_set,
    suspend,
    scale,
    scale,
    start_job,
    delete_workload,
)
