"""A driver of the lifecycle with kubelets, for tests."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import KubernetesObject, ObjectPut
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets import Lifecycle, Stage
from podwright.cluster.kubelets.stages.built_in_stages import stages_beside_kubelet
from podwright.cluster.kubelets.tests.lifecycle_driver import LifecycleDriver, a_node, a_pod
from podwright.cluster.store import GroupKind

NEVER = {"restartPolicy": "Never"}


class Objects:
    """The objects that pods refer to."""

    def __init__(self) -> None:
        self.found: dict[tuple[GroupKind, str], KubernetesObject] = {}

    def get(self, kind: GroupKind, key: str) -> KubernetesObject | None:
        return self.found.get((kind, key))

    def add(self, kind: str, name: str, *, group: str = "", **parts: Any) -> None:
        metadata = {"name": name, **parts.pop("metadata", {})}
        if kind not in ("Node", "Namespace", "PersistentVolume", "CSIDriver"):
            metadata["namespace"] = "default"
        version = f"{group}/v1" if group else "v1"
        document = {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}
        obj = decode(document, source="test")
        self.found[(group, kind), obj.key] = obj

    def delete(self, kind: str, key: str) -> None:
        del self.found[("", kind), key]


class KubeletDriver(LifecycleDriver):
    """Runs pods on kubelets."""

    def __init__(self, *stages: Stage, report_failure: Any = None, images: Any = ()) -> None:
        self.cluster = Objects()
        every = (*stages_beside_kubelet(), *stages)
        life = Lifecycle(
            every,
            reader=self.cluster,
            has_heartbeats=True,
            report_failure=report_failure,
            images=images,
        )
        super().__init__(life)
        for name in ("n1", "n2"):
            # A test that puts its own node replaces this one; its stages and lease do not run.
            node = a_node(name, metadata={"uid": f"uid-of-the-driver-{name}"})
            life.handle(ObjectPut(node), self.heap.now_ns)

    def edit(self, key: str = "default/web", **metadata: Any) -> None:
        """Change the metadata of a pod, as the API does for a deletion."""
        raw = self.objects[key].raw
        self.put(decode(raw | {"metadata": raw["metadata"] | metadata}, source="test"))

    def remove(self, key: str = "default/web", *, grace_seconds: int | None = 30) -> None:
        """Delete a pod gracefully."""
        self.edit(
            key,
            deletionTimestamp="2026-01-01T00:01:00Z",
            deletionGracePeriodSeconds=grace_seconds,
        )

    def state(self, name: str = "main", key: str = "default/web") -> Any:
        """Return the state of a container."""
        return self.container(name, key)["state"]

    def container(self, name: str = "main", key: str = "default/web") -> Any:
        """Return the status of a container."""
        status = self.status(key)
        fields = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
        found = [entry for field in fields for entry in status.get(field) or ()]
        return next(entry for entry in found if entry["name"] == name)

    def condition(self, name: str, key: str = "default/web") -> tuple[str, str, str]:
        """Return status, reason and message of a condition."""
        for entry in self.status(key)["conditions"]:
            if entry["type"] == name:
                return entry["status"], entry.get("reason", ""), entry.get("message", "")
        raise AssertionError(f"no condition {name}")


def container(name: str = "main", command: str | None = None, **parts: Any) -> dict[str, Any]:
    """Return a container, with a shell script if one is given."""
    shell = {"command": ["sh", "-c", command]} if command is not None else {}
    return {"name": name, "image": "nginx:1", **shell, **parts}


def pod_of(*containers: dict[str, Any], name: str = "web", **spec: Any) -> Any:
    """Return a bound pod with these containers; names with `__` are fields of its metadata."""
    metadata = {key[2:]: spec.pop(key) for key in list(spec) if key.startswith("__")}
    return a_pod(name, spec={"containers": list(containers), **spec}, **metadata)


def run_of(pod: Any, seconds: float = 0.0) -> Any:
    """Return a driver that has run a pod for a time."""
    driver = KubeletDriver()
    driver.put(pod)
    driver.run(seconds)
    return driver


def pod_with_status(pod: Any, status: dict[str, Any]) -> Any:
    """Return a pod with another status."""
    return decode(pod.raw | {"status": status}, source="test")
