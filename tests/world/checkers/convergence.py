"""After all faults have ended, every workload reaches its desired state."""

from __future__ import annotations

from tests.world.checkers import Checker

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.simulation.world.world import World

DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
SIZES = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
DAEMONS = ("desiredNumberScheduled", "numberAvailable", "updatedNumberScheduled")


def deployment(spec: Document, status: Document) -> bool:
    """Whether all pods of a deployment are updated and available."""
    sizes = {status.get(name, 0) for name in SIZES}
    return sizes == {spec["replicas"]} and not status.get("unavailableReplicas")


def is_left(obj: KubernetesObject, world: World) -> bool:
    """Whether upstream's controller leaves a deployment whose rollout is not complete.

    It handles a changed number of replicas before a rollout, and scales nothing if the strategy is
    Recreate and several ReplicaSets are active: those of a rolling update before.

    Upstream: pkg/controller/deployment/sync.go, isScalingEvent and scale
    """
    spec = obj.raw["spec"]
    active = [
        each
        for each in world.store.list(("apps", "ReplicaSet")).objects
        if (owner := each.metadata.controller) is not None
        and owner.uid == obj.uid
        and each.raw["spec"].get("replicas")
    ]
    requested = {each.metadata.annotations.get(DESIRED_REPLICAS) for each in active}
    is_recreate = (spec.get("strategy") or {}).get("type") == "Recreate"
    return is_recreate and len(active) > 1 and requested != {str(spec["replicas"])}


def stateful_set(spec: Document, status: Document) -> bool:
    """Whether all pods of a stateful set are updated and available."""
    sizes = {status.get(name, 0) for name in ("replicas", "availableReplicas")}
    is_new = status.get("currentRevision") == status.get("updateRevision")
    return sizes == {spec["replicas"]} and is_new


def daemon_set(spec: Document, status: Document) -> bool:
    """Whether every node has an updated pod that is available."""
    return {status.get(name, 0) for name in DAEMONS} == {spec["nodes"]}


def job(spec: Document, status: Document) -> bool:
    """Whether a job has failed, or has completed with its completions."""
    conditions = status.get("conditions") or ()
    over = {each["type"] for each in conditions if each["status"] == "True"}
    return "Failed" in over or (
        "Complete" in over and status.get("succeeded") == spec["completions"]
    )


WORKLOADS = (
    ("apps", "Deployment", deployment),
    ("apps", "StatefulSet", stateful_set),
    ("apps", "DaemonSet", daemon_set),
    ("batch", "Job", job),
)


class Convergence(Checker):
    """Compares the spec of workloads with their status."""

    def after_recovery(self, world: World) -> None:
        for group, kind, has_all in WORKLOADS:
            for obj in world.store.list((group, kind)).objects:
                spec, status = obj.raw.get("spec") or {}, obj.raw.get("status") or {}
                if kind == "Deployment" and is_left(obj, world):
                    continue
                if not has_all(spec | {"nodes": len(world.nodes)}, status):
                    self.report(f"{kind} {obj.key} requests {spec}: {status}", world.now_ns)
        for namespace in world.store.list(("", "Namespace")).objects:
            if namespace.metadata.deletion_timestamp is not None:
                self.report(f"Namespace {namespace.name} is still Terminating", world.now_ns)
        for node in world.nodes:
            if node.spec.taints:
                self.report(f"Node {node.name} has taints {node.spec.taints}", world.now_ns)
