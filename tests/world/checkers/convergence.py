"""When nothing goes wrong any more, everything becomes as it was asked for."""

from __future__ import annotations

from tests.world.checkers import Checker

from podwright.objects import Document
from podwright.simulation.world import World

SIZES = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
DAEMONS = ("desiredNumberScheduled", "numberAvailable", "updatedNumberScheduled")


def deployment(spec: Document, status: Document) -> bool:
    """Whether all pods of a deployment are new and available."""
    sizes = {status.get(name, 0) for name in SIZES}
    return sizes == {spec["replicas"]} and not status.get("unavailableReplicas")


def stateful_set(spec: Document, status: Document) -> bool:
    """Whether all pods of a stateful set are new and available."""
    sizes = {status.get(name, 0) for name in ("replicas", "availableReplicas")}
    is_new = status.get("currentRevision") == status.get("updateRevision")
    return sizes == {spec["replicas"]} and is_new


def daemon_set(spec: Document, status: Document) -> bool:
    """Whether every node has a new pod that is available."""
    return {status.get(name, 0) for name in DAEMONS} == {spec["nodes"]}


def job(spec: Document, status: Document) -> bool:
    """Whether a job is over, and has made its completions if it says so."""
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
    """Compares what workloads ask for with what they have."""

    def at_peace(self, world: World) -> None:
        for group, kind, has_all in WORKLOADS:
            for obj in world.store.list((group, kind)).objects:
                spec, status = obj.raw.get("spec") or {}, obj.raw.get("status") or {}
                if not has_all(spec | {"nodes": len(world.nodes)}, status):
                    self.breaks(f"{kind} {obj.key} asks for {spec}: {status}", world.now_ns)
        for namespace in world.store.list(("", "Namespace")).objects:
            if namespace.metadata.deletion_timestamp is not None:
                self.breaks(f"Namespace {namespace.name} is still Terminating", world.now_ns)
        for node in world.nodes:
            if node.spec.taints:
                self.breaks(f"Node {node.name} has taints {node.spec.taints}", world.now_ns)
