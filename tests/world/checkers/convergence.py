"""After all faults have ended, every workload reaches its desired state."""

from __future__ import annotations

from tests.world.checkers import Checker

from podwright.apimachinery.objects import Document
from podwright.simulation.world.world import World

SIZES = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
DAEMONS = ("desiredNumberScheduled", "numberAvailable", "updatedNumberScheduled")


def deployment(spec: Document, status: Document) -> bool:
    """Whether all pods of a deployment are updated and available."""
    sizes = {status.get(name, 0) for name in SIZES}
    return sizes == {spec["replicas"]} and not status.get("unavailableReplicas")


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
                if not has_all(spec | {"nodes": len(world.nodes)}, status):
                    self.report(f"{kind} {obj.key} requests {spec}: {status}", world.now_ns)
        for namespace in world.store.list(("", "Namespace")).objects:
            if namespace.metadata.deletion_timestamp is not None:
                self.report(f"Namespace {namespace.name} is still Terminating", world.now_ns)
        for node in world.nodes:
            if node.spec.taints:
                self.report(f"Node {node.name} has taints {node.spec.taints}", world.now_ns)
